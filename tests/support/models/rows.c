/*
 * tests/support/models/rows.c - see tests/support/models/rows.h
 */
#include "tests/support/models/rows.h"

void model_block(uint64_t key, uint64_t low, uint64_t high, uint32_t word[4])
{
	uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);

	word[0] = (uint32_t)low;
	word[1] = (uint32_t)(low >> 32);
	word[2] = (uint32_t)high;
	word[3] = (uint32_t)(high >> 32);
	for (int round = 0; round < 10; round++) {
		uint64_t a = (uint64_t)0xD2511F53 * word[0];
		uint64_t b = (uint64_t)0xCD9E8D57 * word[2];

		word[0] = (uint32_t)(b >> 32) ^ word[1] ^ k0;
		word[1] = (uint32_t)b;
		word[2] = (uint32_t)(a >> 32) ^ word[3] ^ k1;
		word[3] = (uint32_t)a;
		k0 += 0x9E3779B9;
		k1 += 0xBB67AE85;
	}
}

/* In planes 5 and 6, whose counters no draw reaches. */
static uint64_t fold(uint64_t seed, uint64_t plane, uint64_t index)
{
	uint32_t word[4];

	model_block(seed, index, (uint64_t)1 << 63 | plane, word);
	return (uint64_t)word[1] << 32 | word[0];
}

uint64_t model_row_seed(uint64_t generator_seed, const char *table,
			uint32_t row)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (; *table; table++)
		hash = (hash ^ (unsigned char)*table) * 0x100000001b3;
	return fold(fold(generator_seed, 5, hash), 6, row);
}

uint32_t model_word(struct philox_state state, uint64_t e)
{
	uint32_t word[4];

	model_block(state.seed, state.offset / 4, e / 4, word);
	return word[e % 4];
}
