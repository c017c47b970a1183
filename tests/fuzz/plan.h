/*
 * tests/fuzz/plan.h - see tests/fuzz/plan.c
 */
#ifndef TESTS_FUZZ_PLAN_H
#define TESTS_FUZZ_PLAN_H

#include <stddef.h>
#include <stdint.h>

/*
 * Ends the program if the bytes are not read as they should be. Returns whether
 * they were loaded, once their checksum and their library were made right.
 */
int fuzz_plan(const uint8_t *data, size_t size);

#endif
