/*
 * tests/mesh/shard/cuts.c - cuts as others make them
 *
 * What other libraries have is written down here from their documents and code,
 * in their own terms.
 */
#include <inttypes.h>
#include "tests/support/ranks/shard.h"

static void check_indices(const struct philox_shard_desc *shard,
			  const uint64_t expected[], size_t n)
{
	cr_assert_eq(shard_extent(shard, 0), n, "%s: %" PRIu64 ", not %zu",
		     shard_say(shard), shard_extent(shard, 0), n);
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(shard_index(shard, 0, i), expected[i], "%s: %zu",
			     shard_say(shard), i);
}

/*
 * torch.chunk(): all chunks have the same size, but the last one, which may be
 * smaller, and there may be fewer of them than asked for; its page has
 * arange(11), arange(12) and arange(13).chunk(6)
 * (docs.pytorch.org/docs/stable/generated/torch.chunk.html). DTensor's Shard
 * gives chunk r to rank r, and nothing to ranks beyond the last chunk
 * (torch/distributed/tensor/placement_types.py).
 */
Test(shard_cuts, ceil_is_torch_chunk)
{
	static const uint64_t chunks[3][6] = {
		{2, 2, 2, 2, 2, 1}, {2, 2, 2, 2, 2, 2}, {3, 3, 3, 3, 1, 0}};

	for (uint64_t n = 11; n <= 13; n++)
		for (uint32_t r = 0, i = 0; r < 6; r++) {
			struct philox_shard_desc shard =
				shard_line(n, PHILOX_CUT_CEIL, 6, r);
			uint64_t chunk[3] = {i, i + 1, i + 2};

			check_indices(&shard, chunk, chunks[n - 11][r]);
			i += (uint32_t)chunks[n - 11][r];
		}
}

/*
 * Megatron-LM's get_batch_on_this_cp_rank(): the sequence is viewed as [2 cp,
 * n / (2 cp)], of which a rank selects (rank, 2 cp - rank - 1). The tests of
 * ring-flash-attention have value.chunk(2 world) and cat([chunks[rank],
 * chunks[2 world - rank - 1]]) (test/test_zigzag_ring_flash_attn_func.py). Both
 * want 2 cp to divide n.
 */
Test(shard_cuts, zigzag_is_that_of_ring_attention)
{
	for (uint32_t cp = 1; cp <= 8; cp++)
		for (uint32_t rank = 0; rank < cp; rank++) {
			const uint64_t width = 5, n = 2 * cp * width;
			struct philox_shard_desc shard =
				shard_line(n, PHILOX_CUT_ZIGZAG, cp, rank);
			const uint64_t select[2] = {rank, 2 * cp - rank - 1};
			uint64_t expected[10];

			for (uint64_t i = 0; i < 2 * width; i++)
				expected[i] =
					select[i / width] * width + i % width;
			check_indices(&shard, expected, 2 * width);
		}
}

/* Causal attention has equal work on all ranks: what zigzag is for */
Test(shard_cuts, zigzag_gives_all_parts_the_same_work)
{
	for (uint32_t p = 1; p <= 9; p++) {
		uint64_t first = 0;

		for (uint32_t c = 0; c < p; c++) {
			struct philox_shard_desc shard =
				shard_line(4 * p, PHILOX_CUT_ZIGZAG, p, c);
			uint64_t work = 0;

			for (uint64_t i = 0; i < shard_extent(&shard, 0); i++)
				work += shard_index(&shard, 0, i) + 1;
			first = c ? first : work;
			cr_assert_eq(work, first, "part %" PRIu32, c);
		}
	}
}

/*
 * Cards dealt one at a time to p players, or b at a time: striped attention
 * (test/test_stripe_flash_attn_func.py of ring-flash-attention stacks
 * value.split(world) and takes column `rank`), block-cyclic matrices.
 */
Test(shard_cuts, strided_deals_indices_out_in_turn)
{
	for (uint32_t p = 1; p <= 5; p++)
		for (uint64_t b = 1; b <= 4; b++)
			for (uint64_t n = 0; n <= 40; n++) {
				uint64_t hand[5][40], held[5] = {0};
				uint32_t player = 0;

				for (uint64_t i = 0; i < n; i++) {
					hand[player][held[player]++] = i;
					if (i % b == b - 1)
						player = (player + 1) % p;
				}
				for (uint32_t c = 0; c < p; c++) {
					struct philox_shard_desc shard =
						shard_line(n,
							   PHILOX_CUT_STRIDED,
							   p, c);

					shard.dims[0].block = b;
					check_indices(&shard, hand[c], held[c]);
					shard.dims[0].block = 0;
					if (b == 1)
						check_indices(&shard, hand[c],
							      held[c]);
				}
			}
}

Test(shard_cuts, blocks_differ_by_one_at_most_and_the_longer_ones_are_first)
{
	for (uint32_t p = 1; p <= 9; p++)
		for (uint64_t n = 0; n <= 40; n++) {
			uint64_t at = 0, before = UINT64_MAX;

			for (uint32_t c = 0; c < p; c++) {
				struct philox_shard_desc shard =
					shard_line(n, PHILOX_CUT_BLOCK, p, c);
				uint64_t extent = shard_extent(&shard, 0);

				cr_assert(extent == n / p ||
					  extent == n / p + 1);
				cr_assert_leq(extent, before);
				if (extent)
					cr_assert_eq(shard_index(&shard, 0, 0),
						     at);
				at += extent;
				before = extent;
			}
			cr_assert_eq(at, n);
		}
}

/* As 3 ranks cut what 2 ranks have cut: part 3 a + b of 6 */
Test(shard_cuts, a_block_within_a_block_is_a_block_of_the_product)
{
	for (uint32_t a = 0; a < 2; a++)
		for (uint32_t b = 0; b < 3; b++) {
			struct philox_shard_desc outer =
				shard_line(24, PHILOX_CUT_BLOCK, 2, a);
			struct philox_shard_desc inner =
				shard_line(shard_extent(&outer, 0),
					   PHILOX_CUT_BLOCK, 3, b);
			struct philox_shard_desc both =
				shard_line(24, PHILOX_CUT_BLOCK, 6, 3 * a + b);

			cr_assert_eq(shard_extent(&both, 0), 4);
			cr_assert_eq(shard_extent(&inner, 0), 4);
			for (uint64_t i = 0; i < 4; i++)
				cr_assert_eq(
					shard_index(&both, 0, i),
					shard_index(&outer, 0,
						    shard_index(&inner, 0, i)));
		}
}
