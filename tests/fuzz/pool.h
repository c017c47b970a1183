/*
 * tests/fuzz/pool.h - see tests/fuzz/pool.c
 */
#ifndef TESTS_FUZZ_POOL_H
#define TESTS_FUZZ_POOL_H

#include <stddef.h>
#include <stdint.h>

/* Ends the program if a pool and its model differ. */
void fuzz_pool(const uint8_t *data, size_t size);

#endif
