/*
 * tests/support/models/rows.h - Philox4x32-10 written again, from the paper,
 * with the seeds of rows as philox/rows.h describes them: an oracle that shares
 * no code with philox
 */
#ifndef TESTS_SUPPORT_ROWS_MODEL_H
#define TESTS_SUPPORT_ROWS_MODEL_H

#include <philox/state.h>

/* The block of a key at a 128-bit counter. */
void model_block(uint64_t key, uint64_t low, uint64_t high, uint32_t word[4]);

/* The seed that a row begins with, and element e of a row's draw. */
uint64_t model_row_seed(uint64_t generator_seed, const char *table,
			uint32_t row);
uint32_t model_word(struct philox_state state, uint64_t e);

#endif
