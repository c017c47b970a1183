/*
 * tests/fuzz/outputs.h - see tests/fuzz/outputs.c
 */
#ifndef TESTS_FUZZ_OUTPUTS_H
#define TESTS_FUZZ_OUTPUTS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Ends the program if the bytes are not read as they should be. Returns whether
 * they were loaded, once their checksum was made right.
 */
int fuzz_outputs(const uint8_t *data, size_t size);

#endif
