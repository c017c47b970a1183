/*
 * tests/fuzz/runner.h - see tests/fuzz/runner.c
 */
#ifndef TESTS_FUZZ_RUNNER_H
#define TESTS_FUZZ_RUNNER_H

#include <stddef.h>
#include <stdint.h>

/* Ends the program if the bytes are not read as they should be. */
void fuzz_runner(const uint8_t *data, size_t size);

#endif
