/*
 * tests/fuzz/snapshot.h - see tests/fuzz/snapshot.c
 */
#ifndef TESTS_FUZZ_SNAPSHOT_H
#define TESTS_FUZZ_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

/* Ends the program if the bytes are not read as they should be. */
void fuzz_snapshot(const uint8_t *data, size_t size);

#endif
