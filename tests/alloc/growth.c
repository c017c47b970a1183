/*
 * tests/alloc/growth.c - how pools grow, and what they give back
 */
#include <philox/device.h>
#include "lib/base/base.h"
#include "tests/support/beds/pools.h"

static struct pool_request of_units(size_t units)
{
	return (struct pool_request){.size = UNITS(units), .shared = 1};
}

Test(pool_growth, an_extent_has_the_step_s_size_or_what_is_needed)
{
	struct pool_test t;

	ON_BOTH_KINDS(t)
	{
		take(&t, 1, 0);
		cr_assert(figures(&t).mapped == UNITS(128));
		take(&t, 300, 0);
		if (kind_ == POOL_PLAIN)
			PICTURE(&t, "L1 F127/0 | L300");
		else
			PICTURE(&t, "L1 L300 F83/0");
		cr_assert(pool_newest(t.pool) == 2);
	}
}

Test(pool_growth, the_lowest_gap_that_will_do_is_filled)
{
	const struct pool_settings settings = {.kind = POOL_EXPANDABLE};
	struct pool_block b[4];
	struct pool_test t;
	size_t trimmed;

	pool_test_open(&t, &settings);
	for (int i = 0; i < 4; i++)
		b[i] = take(&t, 128, 0);
	put(&t, b[0], 0);
	put(&t, b[2], 0);
	OK(pool_trim(t.pool, 0, SIZE_MAX, &trimmed));
	cr_assert(trimmed == UNITS(256));
	PICTURE(&t, "L128 | L128");
	take(&t, 129, 0); /* in neither gap */
	PICTURE(&t, "L128 | L128 L129 F127/0");
	take(&t, 128, 0);
	PICTURE(&t, "L128 L128 | L128 L129 F127/0");
	pool_test_close(&t);
}

Test(pool_growth, free_memory_before_and_after_a_gap_counts)
{
	const struct pool_settings settings = {.kind = POOL_EXPANDABLE,
					       .limit = UNITS(512)};
	struct pool_block b[4];
	struct pool_test t;
	size_t trimmed, mapped;
	struct pool_request request = of_units(150);

	pool_test_open(&t, &settings);
	b[0] = take(&t, 100, 0);
	b[1] = take(&t, 28, 0);
	b[2] = take(&t, 128, 0);
	b[3] = take(&t, 100, 0);
	put(&t, b[2], 0);
	OK(pool_trim(t.pool, 0, SIZE_MAX, &trimmed));
	put(&t, b[1], 0);
	PICTURE(&t, "L100 F28/0 | L100 F28/0");
	OK(pool_grow(t.pool, &request, &mapped));
	cr_assert(mapped == UNITS(128));
	PICTURE(&t, "L100 F156/0 L100 F28/0");
	OK(pool_trim(t.pool, 0, SIZE_MAX, &trimmed));
	put(&t, b[3], 0);
	take(&t, 284, 0); /* what is left on both sides, and the gap */
	PICTURE(&t, "L100 L284");
	pool_test_close(&t);
}

Test(pool_growth, free_memory_of_others_beside_a_gap_does_not_count)
{
	const struct pool_settings settings = {.kind = POOL_EXPANDABLE};
	struct pool_test t;

	pool_test_open(&t, &settings);
	take(&t, 100, 0);
	put(&t, take(&t, 28, 0), 2);
	take(&t, 129, 1);
	PICTURE(&t, "L100 F28/2 L129 F127/0");
	pool_test_close(&t);
}

Test(pool_growth, the_limit_makes_an_extent_smaller_and_then_refuses)
{
	const struct pool_settings kinds[] = {
		{.kind = POOL_PLAIN, .limit = UNITS(640), .step = UNITS(512)},
		{.kind = POOL_EXPANDABLE,
		 .limit = UNITS(640),
		 .step = UNITS(512)}};
	struct pool_request request = of_units(120);
	struct pool_test t;
	size_t mapped = 77;

	for (int i = 0; i < 2; i++) {
		pool_test_open(&t, &kinds[i]);
		take(&t, 512, 0);
		take(&t, 10, 0);
		cr_assert(figures(&t).mapped == UNITS(640));
		FAILS(pool_grow(t.pool, &request, &mapped), PHILOX_ERROR_LIMIT);
		NAMES("327680 bytes");
		cr_assert(mapped == 77 && figures(&t).growths == 2);
		pool_test_close(&t);
	}
}

Test(pool_growth, a_full_reservation_is_an_error_that_names_its_size)
{
	const struct pool_settings settings = {.kind = POOL_EXPANDABLE,
					       .reserve = UNITS(300)};
	struct pool_request request = of_units(257);
	struct pool_test t;
	size_t mapped;

	pool_test_open(&t, &settings);
	cr_assert(figures(&t).reserved == UNITS(384));
	take(&t, 128, 0);
	FAILS(pool_grow(t.pool, &request, &mapped), PHILOX_ERROR_MEMORY);
	NAMES("196608 bytes");
	take(&t, 256, 0);
	pool_test_close(&t);
}

Test(pool_growth, one_that_fails_at_any_call_is_undone_whole)
{
	struct pool_request request = of_units(200);
	size_t mapped, calls;
	struct pool_figures was, is;
	enum philox_status status;
	struct pool_test t;

	ON_BOTH_KINDS(t)
	{
		take(&t, 100, 0);
		was = figures(&t);
		for (calls = 0;; calls++) {
			OK(philox_device_fail(t.device, NULL, calls + 1,
					      PHILOX_ERROR_DEVICE));
			status = pool_grow(t.pool, &request, &mapped);
			if (status == PHILOX_OK)
				break;
			cr_assert(status == PHILOX_ERROR_DEVICE);
			is = figures(&t);
			cr_assert(!memcmp(&is, &was, sizeof(is)));
			PICTURE(&t, "L100 F28/0");
			whole(&t);
		}
		OK(philox_device_fail(t.device, NULL, 0, PHILOX_ERROR_DEVICE));
		cr_assert(calls >= 2, "%zu calls failed", calls);
		take(&t, 200, 0);
		cr_assert(pool_newest(t.pool) == 2);
	}
}

/* A device that cannot be put back into the mode it had. */
static enum philox_status stay_relaxed(struct philox_device *device,
				       enum philox_capture_mode *mode)
{
	(void)device;
	if (*mode != PHILOX_CAPTURE_RELAXED)
		return status_set(PHILOX_ERROR_DEVICE, "stuck");
	*mode = PHILOX_CAPTURE_GLOBAL;
	return PHILOX_OK;
}

Test(pool_growth, what_a_failure_undoes_is_given_back_to_the_device)
{
	struct pool_request request = of_units(2048);
	const struct device_ops *ops;
	struct device_ops stuck;
	size_t before, after, mapped;
	struct pool_test t;

	ON_BOTH_KINDS(t)
	{
		ops = t.device->ops;
		stuck = *ops;
		stuck.capture_mode = stay_relaxed;
		OK(philox_device_limit_memory(t.device, 16 << 20));
		OK(philox_device_memory_info(t.device, &before, NULL));
		t.device->ops = &stuck;
		FAILS(pool_grow(t.pool, &request, &mapped),
		      PHILOX_ERROR_DEVICE);
		NAMES("stuck");
		t.device->ops = ops;
		OK(philox_device_memory_info(t.device, &after, NULL));
		cr_assert(before == after, "%zu bytes lost", before - after);
		OK(pool_grow(t.pool, &request, &mapped));
		OK(philox_device_memory_info(t.device, &after, NULL));
		cr_assert(before - after == UNITS(2048));
	}
}

Test(pool_growth, memory_that_the_device_does_not_have_is_its_error)
{
	struct pool_request request = of_units(2048);
	struct pool_test t;
	size_t mapped;

	ON_BOTH_KINDS(t)
	{
		OK(philox_device_limit_memory(t.device, 512 << 10));
		take(&t, 128, 0);
		FAILS(pool_grow(t.pool, &request, &mapped),
		      PHILOX_ERROR_MEMORY);
		PICTURE(&t, "L128");
	}
}

Test(pool_growth, pools_grow_while_captures_are_in_progress)
{
	static const enum philox_capture_mode modes[] = {
		PHILOX_CAPTURE_GLOBAL, PHILOX_CAPTURE_THREAD_LOCAL,
		PHILOX_CAPTURE_RELAXED};
	philox_native_graph graph;
	philox_stream stream;
	struct pool_test t;

	for (int mode = 0; mode < 3; mode++)
		ON_BOTH_KINDS(t)
		{
			OK(philox_stream_create(t.device, 0, &stream));
			OK(philox_stream_begin_capture(t.device, stream,
						       modes[mode]));
			take(&t, 100, 0);
			take(&t, 100, 0);
			OK(philox_stream_end_capture(t.device, stream, &graph));
			OK(philox_native_graph_destroy(t.device, graph));
			OK(philox_stream_destroy(t.device, stream));
		}
}

Test(pool_growth, no_call_to_the_device_is_made_once_memory_is_mapped)
{
	struct pool_test t;
	uint64_t calls;

	ON_BOTH_KINDS(t)
	{
		take(&t, 1, 0);
		calls = philox_device_call_count(t.device, NULL);
		for (int i = 0; i < 50; i++)
			put(&t, take(&t, 20, 1), i % 2 ? 0 : 1);
		cr_assert(philox_device_call_count(t.device, NULL) == calls);
	}
}

Test(pool_growth, memory_that_is_reserved_is_in_one_piece_of_home_s)
{
	struct pool_test t;
	size_t mapped;

	ON_BOTH_KINDS(t)
	{
		OK(pool_reserve(t.pool, 1, &mapped));
		cr_assert(mapped == UNITS(128));
		put(&t, take(&t, 128, 0), 1);
		OK(pool_reserve(t.pool, UNITS(300), &mapped));
		cr_assert(figures(&t).largest_free >= UNITS(300));
		cr_assert(mapped >= UNITS(300));
		OK(pool_reserve(t.pool, UNITS(300), &mapped));
		cr_assert(mapped == 0);
		FAILS(pool_reserve(t.pool, 0, &mapped), PHILOX_ERROR_INVALID);
		FAILS(pool_reserve(t.pool, SIZE_MAX, &mapped),
		      PHILOX_ERROR_OVERFLOW);
	}
}

/* --- trim ----------------------------------------------------------------- */

Test(pool_growth, a_trim_gives_back_what_is_wholly_free_the_newest_first)
{
	struct pool_block b[5];
	struct pool_test t;
	size_t trimmed;

	ON_BOTH_KINDS(t)
	{
		for (int i = 0; i < 5; i++)
			b[i] = take(&t, 128, 0);
		put(&t, b[0], 0);
		put(&t, b[1], 3);
		put(&t, b[3], 0);
		put(&t, b[4], 0);
		OK(pool_trim(t.pool, 0, 1, &trimmed));
		cr_assert(trimmed == UNITS(128) && figures(&t).trims == 1);
		cr_assert(figures(&t).mapped == UNITS(512));
		OK(pool_trim(t.pool, 1, SIZE_MAX, &trimmed));
		cr_assert(trimmed == UNITS(256));
		PICTURE(&t, "F128/0 | L128");
		cr_assert(pool_newest(t.pool) == 5);
		OK(pool_trim(t.pool, 0, SIZE_MAX, &trimmed));
		cr_assert(trimmed == UNITS(128));
		PICTURE(&t, "L128");
		take(&t, 128, 0);
		cr_assert(pool_newest(t.pool) == 6);
	}
}

Test(pool_growth, an_extent_that_a_live_block_touches_is_not_trimmed)
{
	const struct pool_settings settings = {.kind = POOL_EXPANDABLE};
	struct pool_block a, b, c;
	struct pool_test t;
	size_t trimmed;

	pool_test_open(&t, &settings);
	a = take(&t, 127, 0);
	b = take(&t, 130, 0); /* reaches one unit into a third extent */
	c = take(&t, 1, 0);
	put(&t, a, 0);
	put(&t, c, 0);
	OK(pool_trim(t.pool, 0, SIZE_MAX, &trimmed));
	cr_assert(trimmed == 0);
	put(&t, b, 0);
	OK(pool_trim(t.pool, 0, SIZE_MAX, &trimmed));
	PICTURE(&t, "");
	cr_assert(figures(&t).mapped == 0);
	pool_test_close(&t);
}

Test(pool_growth, a_trim_ends_at_an_error_and_says_what_is_gone)
{
	struct pool_block b[3];
	struct pool_test t;
	size_t trimmed;

	ON_BOTH_KINDS(t)
	{
		for (int i = 0; i < 3; i++)
			b[i] = take(&t, 128, 0);
		for (int i = 0; i < 3; i++)
			put(&t, b[i], 0);
		OK(philox_device_fail(t.device, NULL, 2, PHILOX_ERROR_DEVICE));
		FAILS(pool_trim(t.pool, 0, SIZE_MAX, &trimmed),
		      PHILOX_ERROR_DEVICE);
		cr_assert(trimmed == UNITS(128) && figures(&t).trims == 1);
		cr_assert(figures(&t).mapped == UNITS(256));
		whole(&t);
		OK(pool_trim(t.pool, 0, SIZE_MAX, &trimmed));
		cr_assert(figures(&t).mapped == 0);
	}
}

/* --- places --------------------------------------------------------------- */

static void churn(struct pool_test *t, size_t *places, size_t n)
{
	struct pool_block held[8] = {{0}};
	uint32_t state = 12345;

	for (size_t i = 0; i < n; i++) {
		state = state * 1664525 + 1013904223;
		if (held[state >> 29].live)
			put(t, held[state >> 29], (state >> 20) % 3);
		held[state >> 29] =
			take(t, 1 + (state >> 10) % 50, (state >> 24) % 3);
		places[i] = held[state >> 29].offset;
	}
}

Test(pool_growth, in_one_piece_places_do_not_depend_on_what_is_mapped)
{
	const size_t steps[] = {128, 384, 1024, 4096};
	struct pool_settings settings = {.kind = POOL_EXPANDABLE};
	size_t first[200], places[200];
	struct pool_test t;

	for (int i = 0; i < 4; i++) {
		settings.step = UNITS(steps[i]);
		pool_test_open(&t, &settings);
		churn(&t, i ? places : first, 200);
		cr_assert(!i || !memcmp(first, places, sizeof(first)),
			  "steps of %zu units", steps[i]);
		pool_test_close(&t);
	}
}

Test(pool_growth, a_plain_pool_in_small_extents_is_aligned_all_the_same)
{
	const struct pool_settings settings = {.kind = POOL_PLAIN, .step = 1};
	const struct pool_request request = {
		.size = 1, .alignment = POOL_ALIGNMENT_MAX, .shared = 1};
	struct pool_block block;
	struct pool_test t;
	size_t mapped;

	pool_test_open(&t, &settings);
	for (int i = 0; i < 20; i++) {
		OK(pool_grow(t.pool, &request, &mapped));
		cr_assert(mapped == POOL_UNIT);
		OK(pool_take(t.pool, &request, &block));
		cr_assert((uintptr_t)block.address % POOL_ALIGNMENT_MAX == 0);
		cr_assert(block.segment == (uint32_t)i && !block.offset);
	}
	pool_test_close(&t);
}

Test(pool_growth, a_segment_s_number_is_used_again_when_it_is_gone)
{
	const struct pool_settings settings = {.kind = POOL_PLAIN};
	struct pool_block b[3];
	struct pool_test t;
	size_t trimmed;

	pool_test_open(&t, &settings);
	for (int i = 0; i < 3; i++)
		b[i] = take(&t, 128, 0);
	put(&t, b[1], 0);
	OK(pool_trim(t.pool, 0, SIZE_MAX, &trimmed));
	cr_assert(take(&t, 128, 0).segment == 1);
	cr_assert(take(&t, 128, 0).segment == 3);
	pool_test_close(&t);
}

/* --- addresses ------------------------------------------------------------ */

static int has(const struct pool_test *t, const char *address, size_t before,
	       size_t bytes)
{
	const uintptr_t begin = (uintptr_t)address - before;

	return pool_has(t->pool, (struct range){begin, begin + bytes});
}

/* All of it, and what reaches into it from either side. */
static void has_block(const struct pool_test *t, struct pool_block block)
{
	const struct range span = pool_span(t->pool);
	const char *begin = block.address, *end = begin + block.bytes;

	cr_assert(has(t, begin, 0, 1) && has(t, begin, 0, block.bytes));
	cr_assert(has(t, begin, 8, 9), "its end is the first byte");
	cr_assert(has(t, end, 1, 9), "its beginning is the last byte");
	cr_assert((uintptr_t)begin >= span.begin);
	cr_assert((uintptr_t)end <= span.end);
}

/* Of eight extents, each of which a system may well put before the last one. */
static void span_of(enum pool_kind kind)
{
	const struct pool_settings settings = {.kind = kind,
					       .reserve = UNITS(8 * 4096),
					       .step = UNITS(4096)};
	struct pool_block b[8];
	struct range span, later;
	struct pool_test t;
	size_t trimmed;

	pool_test_open(&t, &settings);
	cr_assert(kind == POOL_EXPANDABLE || !pool_span(t.pool).end);
	for (int i = 0; i < 8; i++) {
		b[i] = take(&t, 4096, 0);
		for (int k = 0; k <= i; k++)
			has_block(&t, b[k]);
	}
	span = pool_span(t.pool);
	cr_assert(!has(&t, (const char *)span.begin, 8, 8));
	cr_assert(!has(&t, (const char *)span.end, 0, 8));
	for (int i = 0; i < 8; i++)
		put(&t, b[i], 0);
	has_block(&t, b[0]);
	OK(pool_trim(t.pool, 0, SIZE_MAX, &trimmed));
	later = pool_span(t.pool);
	cr_assert(later.begin == span.begin && later.end == span.end);
	cr_assert(has(&t, b[0].address, 0, 1) == (kind == POOL_EXPANDABLE));
	pool_test_close(&t);
}

Test(pool_growth, the_span_has_all_memory_that_there_was)
{
	span_of(POOL_PLAIN);
	span_of(POOL_EXPANDABLE);
}
