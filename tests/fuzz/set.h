/*
 * tests/fuzz/set.h - see tests/fuzz/set.c
 */
#ifndef TESTS_FUZZ_SET_H
#define TESTS_FUZZ_SET_H

#include <stddef.h>
#include <stdint.h>

/*
 * Ends the program if the bytes are not read as they should be. Returns whether
 * they were, once their checksum was made right.
 */
int fuzz_set(const uint8_t *data, size_t size);

#endif
