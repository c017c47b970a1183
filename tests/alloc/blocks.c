/*
 * tests/alloc/blocks.c - where blocks lie, and who may have their memory
 */
#include <stdio.h>
#include "tests/support/beds/pools.h"

Test(pool_blocks, the_smallest_piece_that_fits_is_taken)
{
	struct pool_test t;
	struct pool_block a, b, c, d;

	ON_BOTH_KINDS(t)
	{
		a = take(&t, 8, 0);
		take(&t, 1, 0);
		b = take(&t, 4, 0);
		take(&t, 1, 0);
		put(&t, a, 0);
		put(&t, b, 0);
		PICTURE(&t, "F8/0 L1 F4/0 L1 F114/0");
		c = take(&t, 3, 0);
		cr_assert(c.offset == b.offset);
		d = take(&t, 5, 0);
		cr_assert(d.offset == a.offset);
		PICTURE(&t, "L5 F3/0 L1 L3 F1/0 L1 F114/0");
	}
}

Test(pool_blocks, of_pieces_of_one_size_the_lowest_is_taken)
{
	struct pool_test t;
	struct pool_block a, b, c;

	ON_BOTH_KINDS(t)
	{
		a = take(&t, 4, 0);
		take(&t, 1, 0);
		b = take(&t, 4, 0);
		take(&t, 1, 0);
		put(&t, b, 0);
		put(&t, a, 0);
		c = take(&t, 4, 0);
		cr_assert(c.offset == a.offset);
	}
}

Test(pool_blocks, the_tail_is_taken_last_though_it_is_the_smallest)
{
	struct pool_test t;
	struct pool_block a;

	ON_BOTH_KINDS(t)
	{
		a = take(&t, 60, 0);
		take(&t, 58, 0);
		put(&t, a, 0);
		PICTURE(&t, "F60/0 L58 F10/0");
		take(&t, 10, 0);
		PICTURE(&t, "L10 F50/0 L58 F10/0");
		take(&t, 51, 0); /* does not fit: 128 more are mapped */
		if (kind_ == POOL_PLAIN)
			PICTURE(&t, "L10 F50/0 L58 F10/0 | L51 F77/0");
		else
			PICTURE(&t, "L10 F50/0 L58 L51 F87/0");
	}
}

Test(pool_blocks, a_tail_of_two_owners_is_taken_as_one)
{
	struct pool_test t;
	struct pool_block a;

	ON_BOTH_KINDS(t)
	{
		take(&t, 100, 0);
		a = take(&t, 8, 0);
		put(&t, a, 3);
		PICTURE(&t, "L100 F8/3 F20/0");
		take(&t, 20, 3);
		PICTURE(&t, "L100 L20 F8/0");
	}
}

Test(pool_blocks, neighbours_that_are_free_are_one_block_in_whatever_order)
{
	static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
					 {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	struct pool_test t;
	struct pool_block b[3];

	for (int order = 0; order < 6; order++)
		ON_BOTH_KINDS(t)
		{
			take(&t, 1, 0);
			for (int i = 0; i < 3; i++)
				b[i] = take(&t, 5, 0);
			take(&t, 1, 0);
			for (int i = 0; i < 3; i++)
				put(&t, b[orders[order][i]], 0);
			PICTURE(&t, "L1 F15/0 L1 F111/0");
		}
}

Test(pool_blocks, memory_goes_to_the_owner_that_it_was_freed_for)
{
	struct pool_test t;
	struct pool_block a, b, c;

	ON_BOTH_KINDS(t)
	{
		a = take(&t, 4, 0);
		take(&t, 1, 0);
		put(&t, a, 2);
		PICTURE(&t, "F4/2 L1 F123/0");
		b = take(&t, 4, 1); /* is not 2 */
		cr_assert(b.offset == UNITS(5));
		c = take(&t, 4, 2);
		cr_assert(c.offset == a.offset);
		cr_assert(pool_owns(t.pool, 2) == 0);
	}
}

Test(pool_blocks, neighbours_of_two_owners_stay_two_blocks_until_one_has_both)
{
	struct pool_test t;
	struct pool_block a, b;

	ON_BOTH_KINDS(t)
	{
		a = take(&t, 4, 0);
		b = take(&t, 4, 0);
		take(&t, 1, 0);
		put(&t, a, 1);
		put(&t, b, 2);
		PICTURE(&t, "F4/1 F4/2 L1 F119/0");
		pool_give(t.pool, 2, 1);
		PICTURE(&t, "F8/1 L1 F119/0");
		cr_assert(pool_owns(t.pool, 1) == UNITS(8));
		pool_give(t.pool, 1, 1);
		pool_give(t.pool, 1, POOL_SHARED);
		PICTURE(&t, "F8/0 L1 F119/0");
	}
}

Test(pool_blocks, a_run_of_the_owner_and_home_is_taken_where_no_block_fits)
{
	struct pool_test t;
	struct pool_block b[4];

	ON_BOTH_KINDS(t)
	{
		for (int i = 0; i < 4; i++)
			b[i] = take(&t, 4, 0);
		take(&t, 112, 0);
		put(&t, b[0], 1);
		put(&t, b[1], 0);
		put(&t, b[2], 1);
		put(&t, b[3], 2);
		PICTURE(&t, "F4/1 F4/0 F4/1 F4/2 L112");
		take(&t, 10, 1);
		PICTURE(&t, "L10 F2/1 F4/2 L112");
	}
}

Test(pool_blocks, of_runs_the_smallest_is_taken)
{
	struct pool_test t;
	struct pool_block b[5];

	ON_BOTH_KINDS(t)
	{
		for (int i = 0; i < 5; i++) {
			b[i] = take(&t, i < 3 ? 4 : 3, 0);
			if (i == 2)
				take(&t, 1, 0);
		}
		take(&t, 109, 0);
		for (int i = 0; i < 5; i++)
			put(&t, b[i], i % 2 ? 1 : 0);
		PICTURE(&t, "F4/0 F4/1 F4/0 L1 F3/1 F3/0 L109");
		take(&t, 5, 1);
		PICTURE(&t, "F4/0 F4/1 F4/0 L1 L5 F1/0 L109");
	}
}

Test(pool_blocks, a_request_that_may_not_use_home_s_memory_does_not)
{
	struct pool_test t;
	const struct pool_request request = {.size = 1, .owner = 3};
	struct pool_block block;
	size_t mapped;

	ON_BOTH_KINDS(t)
	{
		take(&t, 1, 0);
		cr_assert(pool_take(t.pool, &request, &block) ==
			  PHILOX_NOT_READY);
		OK(pool_grow(t.pool, &request, &mapped));
		cr_assert(mapped == UNITS(128));
		cr_assert(pool_owns(t.pool, 3) == UNITS(128));
		OK(pool_take(t.pool, &request, &block));
		whole(&t);
	}
}

Test(pool_blocks, the_lender_is_the_lowest_owner_whose_memory_would_do)
{
	const struct pool_request eight = {.size = UNITS(8),
					   .owner = 1,
					   .shared = 1},
				  nine = {.size = UNITS(9),
					  .owner = 1,
					  .shared = 1},
				  alone = {.size = UNITS(8), .owner = 1};
	struct pool_test t;
	struct pool_block b[6], block;

	ON_BOTH_KINDS(t)
	{
		for (int i = 0; i < 6; i++)
			b[i] = take(&t, 4, 0);
		take(&t, 104, 0);
		cr_assert(pool_lender(t.pool, &eight, 0) == UINT32_MAX);
		put(&t, b[0], 2);
		put(&t, b[2], 5);
		put(&t, b[3], 0);
		put(&t, b[5], 7);
		PICTURE(&t, "F4/2 L4 F4/5 F4/0 L4 F4/7 L104");
		cr_assert(pool_lender(t.pool, &eight, 0) == 5);
		cr_assert(pool_lender(t.pool, &nine, 0) == UINT32_MAX);
		cr_assert(pool_lender(t.pool, &alone, 0) == UINT32_MAX);
		pool_give(t.pool, 5, 1);
		OK(pool_take(t.pool, &eight, &block));
		cr_assert(block.offset == b[2].offset);
	}
}

Test(pool_blocks, several_lenders_are_those_whose_memory_is_needed)
{
	const struct pool_request twelve = {.size = UNITS(12), .owner = 1},
				  five = {.size = UNITS(5), .owner = 1},
				  large = {.size = UNITS(17), .owner = 1};
	unsigned char lends[] = {1, 0, 1, 1, 1, 0, 0, 1};
	const unsigned char three[] = {1, 0, 1, 1, 0, 0, 0, 0};
	struct pool_test t;
	struct pool_block b[7];

	ON_BOTH_KINDS(t)
	{
		for (int i = 0; i < 7; i++)
			b[i] = take(&t, 4, 0);
		take(&t, 100, 0);
		put(&t, b[0], 4);
		for (uint32_t i = 2; i < 5; i++)
			put(&t, b[i], i == 4 ? 0 : i);
		put(&t, b[5], 7);
		PICTURE(&t, "F4/4 L4 F4/2 F4/3 F4/0 F4/7 L4 L100");
		memset(lends, 1, sizeof(lends));
		cr_assert(!pool_lenders(t.pool, &large, lends, 8));
		cr_assert(!memchr(lends, 0, sizeof(lends)), "as they were");
		lends[3] = 0;
		cr_assert(!pool_lenders(t.pool, &twelve, lends, 8));
		lends[3] = 1;
		cr_assert(!pool_lenders(t.pool, &twelve, lends, 3));
		cr_assert(pool_lenders(t.pool, &twelve, lends, 8));
		cr_assert_arr_eq(lends, three, sizeof(three));
		lends[4] = 1;
		cr_assert(pool_lenders(t.pool, &five, lends, 8));
		cr_assert(lends[2] && lends[3] && !lends[4] && !lends[0]);
	}
}

Test(pool_blocks, blocks_are_aligned_as_asked_and_the_rest_stays_free)
{
	struct pool_test t;
	struct pool_block block;
	struct pool_request request = {.size = 1, .shared = 1};

	ON_BOTH_KINDS(t)
	{
		take(&t, 1, 0);
		for (size_t a = 1; a <= POOL_ALIGNMENT_MAX; a *= 2) {
			request.alignment = a;
			while (pool_take(t.pool, &request, &block)) {
				size_t mapped;

				OK(pool_grow(t.pool, &request, &mapped));
			}
			cr_assert((uintptr_t)block.address % a == 0 &&
					  (uintptr_t)block.address %
							  POOL_UNIT ==
						  0,
				  "%p at %zu", block.address, a);
			whole(&t);
		}
		if (kind_ == POOL_EXPANDABLE)
			PICTURE(&t, "L1 L1 L1 L1 L1 L1 L1 L1 L1 L1 L1 F1/0 L1 "
				    "F3/0 L1 F7/0 L1 F7/0 L1 F31/0 L1 F63/0 L1 "
				    "F127/0 L1 F127/0");
	}
}

Test(pool_blocks, margins_lie_around_a_block_and_are_never_found)
{
	const struct pool_settings settings = {
		.kind = POOL_PLAIN, .step = UNITS(128), .margin = UNITS(2)};
	const struct pool_request request = {
		.size = 700, .alignment = 4096, .shared = 1, .tag = "m"};
	struct pool_block a, b, found;
	struct pool_test t;

	pool_test_open(&t, &settings);
	a = take(&t, 3, 0);
	cr_assert(a.offset == UNITS(2) && a.bytes == UNITS(7) &&
		  a.size == UNITS(3));
	OK(pool_take(t.pool, &request, &b));
	cr_assert((uintptr_t)b.address % 4096 == 0 && b.offset == UNITS(16) &&
		  b.bytes == UNITS(6));
	PICTURE(&t, "L7 F7/0 L6 F108/0");
	cr_assert(pool_find(t.pool, b.address, &found) && found.id == b.id);
	cr_assert(!pool_find(t.pool, (char *)b.address - 1, &found));
	cr_assert(pool_find(t.pool, (char *)b.address + UNITS(2) - 1, &found));
	cr_assert(!pool_find(t.pool, (char *)b.address + UNITS(2), &found));
	FAILS(put_at(t.pool, (char *)b.address - 1, 0, &found),
	      PHILOX_ERROR_INVALID);
	NAMES("margin");
	NAMES("'m'");
	pool_test_close(&t);
}

Test(pool_blocks, an_id_is_never_used_again_though_the_address_is)
{
	struct pool_block a, b, found;
	struct pool_test t, other;

	open_kind(&other, POOL_PLAIN);
	ON_BOTH_KINDS(t)
	{
		a = take_tagged(&t, 4, "first");
		put(&t, a, 0);
		cr_assert(!pool_find(t.pool, a.address, &found));
		b = take_tagged(&t, 4, "second");
		cr_assert(b.address == a.address && b.id > a.id);
		cr_assert(take(&other, 1, 0).id > b.id);
		cr_assert(!find_id(t.pool, a.id, &found));
		cr_assert(pool_find(t.pool, (char *)b.address + 5, &found));
		cr_assert(found.id == b.id && !strcmp(found.tag, "second") &&
			  found.live && found.address == b.address);
	}
	pool_test_close(&other);
}

Test(pool_blocks, tags_are_cut_and_shared)
{
	struct pool_test t;
	struct pool_block block, found;
	char tag[64], cut[POOL_TAG_SIZE];

	open_kind(&t, POOL_PLAIN);
	for (int i = 0; i < 300; i++) {
		snprintf(tag, sizeof(tag), "%08d a tag of many characters %d",
			 i % 100, i);
		memcpy(cut, tag, sizeof(cut) - 1);
		cut[sizeof(cut) - 1] = '\0';
		block = take_tagged(&t, 1, tag);
		cr_assert(!strcmp(block.tag, cut), "%s", block.tag);
		cr_assert(find_id(t.pool, block.id, &found) &&
			  !strcmp(found.tag, cut));
		if (i % 3)
			put(&t, block, 0);
	}
	pool_test_close(&t);
}
