/*
 * tests/alloc/sessions.c - sessions: what they measure and undo
 */
#include <inttypes.h>
#include "tests/support/beds/pools.h"

static struct pool_session_figures end(struct pool_test *t, int undo)
{
	const uint32_t owners[] = {1, 2};
	struct pool_session_figures f;

	pool_session_end(t->pool, owners, 2, undo, &f);
	whole(t);
	return f;
}

Test(pool_sessions, blocks_have_the_number_of_the_session_that_made_them)
{
	struct pool_block a, b, c;
	struct pool_test t;

	ON_BOTH_KINDS(t)
	{
		cr_assert(take(&t, 1, 0).session == 0);
		pool_session_begin(t.pool);
		a = take(&t, 1, 0);
		end(&t, 0);
		b = take(&t, 1, 0);
		pool_session_begin(t.pool);
		c = take(&t, 1, 0);
		end(&t, 0);
		cr_assert(a.session == 1 && b.session == 0 && c.session == 2);
		cr_assert(find_id(t.pool, a.id, &a) && a.session == 1);
	}
}

Test(pool_sessions, what_its_owners_have_goes_home_at_the_end)
{
	struct pool_test t;

	ON_BOTH_KINDS(t)
	{
		put(&t, take(&t, 4, 0), 3);
		pool_session_begin(t.pool);
		put(&t, take(&t, 6, 0), 1);
		put(&t, take(&t, 6, 2), 2);
		end(&t, 0);
		cr_assert(pool_owns(t.pool, 1) == 0 &&
			  pool_owns(t.pool, 2) == 0 &&
			  pool_owns(t.pool, 3) == UNITS(4));
		PICTURE(&t, "F4/3 F124/0");
	}
}

Test(pool_sessions, undoing_frees_its_blocks_and_revives_those_of_before)
{
	struct pool_block before[3], own, again;
	uint64_t ids[4], twice[4];
	struct pool_test t;

	ON_BOTH_KINDS(t)
	{
		for (int i = 0; i < 3; i++)
			before[i] = take_tagged(&t, 10, "before");
		pool_session_begin(t.pool);
		put(&t, before[0], 0);
		put(&t, before[1], 1);
		own = take(&t, 15, 1);
		cr_assert(own.offset == 0);
		take(&t, 300, 2); /* grows */
		put(&t, take(&t, 40, 2), 2);
		put(&t, before[2], 2);
		end(&t, 1);
		if (kind_ == POOL_PLAIN)
			PICTURE(&t, "L10 L10 L10 F98/0 | F300/0");
		else
			PICTURE(&t, "L10 L10 L10 F354/0");
		for (int i = 0; i < 3; i++) {
			cr_assert(pool_find(t.pool, before[i].address, &again));
			cr_assert(same_block(&again, &before[i]));
			ids[i] = before[i].id;
		}
		cr_assert(!find_id(t.pool, own.id, &again));
		cr_assert(pool_is_live(t.pool, ids, 3));
		cr_assert(live_ids(&t, twice, 4) == 3 &&
			  !memcmp(ids, twice, 3 * sizeof(*ids)));
		cr_assert(figures(&t).undone == 1);
	}
}

Test(pool_sessions, undoing_revives_many_blocks_in_whatever_order_they_died)
{
	struct pool_block b[100];
	struct pool_test t;
	uint64_t ids[100];

	ON_BOTH_KINDS(t)
	{
		for (int i = 0; i < 100; i++) {
			b[i] = take(&t, 1 + (size_t)i % 3, 0);
			ids[i] = b[i].id;
		}
		pool_session_begin(t.pool);
		for (int i = 0; i < 100; i++) {
			put(&t, b[i * 37 % 100], (uint32_t)i % 5);
			if (i % 3 == 0)
				take(&t, 2, (uint32_t)i % 5);
		}
		end(&t, 1);
		cr_assert(pool_is_live(t.pool, ids, 100));
	}
}

Test(pool_sessions, memory_mapped_in_one_that_is_undone_is_home_s)
{
	const struct pool_request request = {.size = UNITS(10), .owner = 4};
	struct pool_block block;
	struct pool_test t;
	size_t mapped;

	ON_BOTH_KINDS(t)
	{
		put(&t, take(&t, 128, 0), 4);
		pool_session_begin(t.pool);
		OK(pool_grow(t.pool, &request, &mapped));
		OK(pool_take(t.pool, &request, &block));
		cr_assert(pool_owns(t.pool, 4) == UNITS(246));
		end(&t, 1);
		cr_assert(pool_owns(t.pool, 4) <= UNITS(128));
		cr_assert(pool_owns(t.pool, 0) >= UNITS(128));
		cr_assert(figures(&t).mapped == UNITS(256));
	}
}

Test(pool_sessions, without_undo_what_died_stays_dead)
{
	struct pool_block a, b, found;
	struct pool_test t;

	ON_BOTH_KINDS(t)
	{
		a = take(&t, 10, 0);
		pool_session_begin(t.pool);
		b = take(&t, 10, 0);
		put(&t, a, 0);
		end(&t, 0);
		cr_assert(!find_id(t.pool, a.id, &found));
		cr_assert(find_id(t.pool, b.id, &found));
		PICTURE(&t, "F10/0 L10 F108/0");
		cr_assert(figures(&t).undone == 0);
	}
}

Test(pool_sessions, figures_are_of_its_own_blocks)
{
	struct pool_session_figures f;
	struct pool_block old, a, b;
	struct pool_test t;

	ON_BOTH_KINDS(t)
	{
		old = take(&t, 50, 0);
		pool_session_begin(t.pool);
		a = take(&t, 20, 0);
		b = take(&t, 30, 0);
		put(&t, a, 0);
		put(&t, old, 0);
		take(&t, 5, 0);
		put(&t, b, 0);
		take(&t, 300, 0);
		f = end(&t, 0);
		cr_assert(f.peak == UNITS(305), "%zu", f.peak / POOL_UNIT);
		cr_assert(f.live_peak == UNITS(305) && f.live == UNITS(305));
		cr_assert(f.mapped ==
			  (kind_ == POOL_PLAIN ? UNITS(300) : UNITS(256)));
		cr_assert(f.allocations == 4 && f.frees == 3 && f.growths == 1);
		pool_session_begin(t.pool);
		f = end(&t, 1);
		cr_assert(!f.peak && !f.live_peak && !f.live && !f.mapped &&
			  !f.allocations && !f.frees && !f.growths);
	}
}

/* Takes and puts as a layer's forward and backward would. */
static void work(struct pool_test *t)
{
	struct pool_block held[6] = {{0}};
	const struct pool_request aligned = {
		.size = UNITS(7), .alignment = 8192, .owner = 2, .shared = 1};
	uint32_t state = 99;
	size_t mapped;

	while (pool_take(t->pool, &aligned, &held[0]))
		OK(pool_grow(t->pool, &aligned, &mapped));
	for (size_t i = 0; i < 120; i++) {
		state = state * 1664525 + 1013904223;
		if (held[state >> 16 & 3].live)
			put(t, held[state >> 16 & 3], state >> 30 & 1);
		held[state >> 16 & 3] =
			take(t, 1 + (state >> 8 & 31), state >> 30 & 1);
		if (i % 40 == 20)
			pool_give(t->pool, 1, 2);
	}
}

static void fill_holes(struct pool_test *t, struct pool_block *holes)
{
	for (int i = 0; i < 10; i++)
		holes[i] = take(t, 12, 0);
	for (int i = 0; i < 10; i += 2)
		put(t, holes[i], 0);
}

Test(pool_sessions, its_peak_is_what_it_takes_in_one_piece_byte_for_byte)
{
	struct pool_session_figures scattered, f;
	struct pool_block holes[10];
	struct pool_test t;
	size_t mapped;

	ON_BOTH_KINDS(t) /* measured where there are holes */
	{
		fill_holes(&t, holes);
		pool_session_begin(t.pool);
		work(&t);
		scattered = end(&t, 1);
	}
	ON_BOTH_KINDS(t) /* enough is mapped: nothing grows */
	{
		OK(pool_reserve(t.pool, scattered.peak, &mapped));
		pool_session_begin(t.pool);
		work(&t);
		f = end(&t, 0);
		cr_assert(f.growths == 0);
		cr_assert(f.peak == scattered.peak &&
			  f.live_peak == scattered.live_peak);
	}
}

Test(pool_sessions, with_one_unit_less_than_its_peak_it_grows)
{
	struct pool_settings settings = {.kind = POOL_PLAIN, .step = 1};
	struct pool_session_figures f;
	struct pool_test t;
	size_t mapped, peak;

	pool_test_open(&t, &settings);
	pool_session_begin(t.pool);
	work(&t);
	peak = end(&t, 1).peak;
	pool_test_close(&t);
	for (size_t less = 0; less < 2; less++) {
		pool_test_open(&t, &settings);
		OK(pool_reserve(t.pool, peak - UNITS(less), &mapped));
		cr_assert(mapped == peak - UNITS(less));
		pool_session_begin(t.pool);
		work(&t);
		f = end(&t, 0);
		cr_assert(f.growths == less, "%" PRIu64 " growths", f.growths);
		pool_test_close(&t);
	}
}

Test(pool_sessions, a_trim_leaves_what_undoing_needs)
{
	struct pool_block a, b;
	struct pool_test t;
	size_t trimmed;

	ON_BOTH_KINDS(t)
	{
		a = take(&t, 128, 0);
		b = take(&t, 128, 0);
		put(&t, b, 0);
		pool_session_begin(t.pool);
		put(&t, a, 0);
		OK(pool_trim(t.pool, 0, SIZE_MAX, &trimmed));
		cr_assert(trimmed == UNITS(128));
		end(&t, 1);
		PICTURE(&t, "L128");
		cr_assert(pool_is_live(t.pool, &a.id, 1));
	}
}

Test(pool_sessions, its_blocks_go_to_as_many_owners_as_there_are)
{
	enum { OWNERS = 300 };
	struct pool_block blocks[OWNERS];
	uint32_t owners[OWNERS];
	struct pool_session_figures f;
	struct pool_test t;

	ON_BOTH_KINDS(t)
	{
		pool_session_begin(t.pool);
		for (uint32_t i = 0; i < OWNERS; i++) {
			owners[i] = i + 1;
			blocks[i] = take(&t, 1, owners[i]);
		}
		for (uint32_t i = 0; i < OWNERS; i++)
			put(&t, blocks[i], owners[i]);
		pool_session_end(t.pool, owners, OWNERS, 0, &f);
		whole(&t);
		cr_assert(f.peak == UNITS(OWNERS) && f.frees == OWNERS);
	}
}
