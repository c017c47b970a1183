/*
 * lib/pass/interop.c - see philox/interop.h
 *
 * Sizes are multiplied with saturation: UINT64_MAX means too large, and no
 * operator with such an advance can be made.
 */
#include <philox/interop.h>
#include "lib/pass/pass_check.h"

#define TOO_LARGE UINT64_MAX
/* The largest advance that philox_region_create() accepts. */
#define ADVANCE_MAX (1ULL << 56)
/* FlashAttention numbers 32 lanes for each head in an int. */
#define FLASH_HEADS_MAX (1ULL << 26)

static uint64_t product(uint64_t a, uint64_t b)
{
	uint64_t exact;

	return __builtin_mul_overflow(a, b, &exact) ? TOO_LARGE : exact;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t as_advance(uint64_t words)
{
	return words > ADVANCE_MAX ? TOO_LARGE : (words + 3) / 4 * 4;
}

uint64_t philox_advance_flash_attention(uint64_t batch, uint64_t heads)
{
	uint64_t all = product(batch, heads);

	return all > FLASH_HEADS_MAX ? TOO_LARGE : 32 * all;
}

uint64_t philox_advance_cudnn_sdpa(uint64_t batch, uint64_t heads,
				   uint64_t seq_q, uint64_t seq_kv)
{
	uint64_t all = product(batch, heads);
	uint64_t scores = product(seq_q, seq_kv);

	if (!all || !scores)
		return 0;
	return as_advance(product(all, larger(scores, 32)));
}

uint64_t philox_advance_transformer_engine(uint64_t batch, uint64_t heads,
					   uint64_t seq_q, uint64_t seq_kv)
{
	uint64_t cudnn = philox_advance_cudnn_sdpa(batch, heads, seq_q, seq_kv);
	uint64_t scores = product(seq_q, larger(seq_q, seq_kv));

	return cudnn ? larger(cudnn, as_advance(scores / 128 + 1)) : 0;
}

enum philox_status philox_pass_cell(const struct philox_pass *pass, uint32_t op,
				    uint32_t call,
				    const struct philox_state **cell)
{
	const struct philox_state *states;
	struct philox_rng rng;
	enum philox_status status = philox_pass_rng(pass, op, call, &rng);

	if (status == PHILOX_OK && !cell)
		return pass_finish(
			pass, status_set(PHILOX_ERROR_INVALID, "cell is NULL"));
	/* says why there are none, if there are none */
	if (status == PHILOX_OK)
		status = philox_pass_states(pass, &states);
	if (status == PHILOX_OK)
		*cell = rng.cell;
	return status;
}
