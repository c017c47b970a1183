/*
 * tests/alloc/refusals.c - what pools refuse, and what they say
 */
#include <stdio.h>
#include <philox/device.h>
#include "tests/support/beds/pools.h"

Test(pool_refusals, settings_that_no_pool_can_have_are_named)
{
	static const struct {
		struct pool_settings settings;
		const char *name;
	} wrong[] = {
		{{.kind = (enum pool_kind)7}, "kind 7"},
		{{.margin = 100}, "margin of 100 bytes"},
		{{.margin = SIZE_MAX / 512 * 512}, "margin"},
		{{.step = SIZE_MAX}, "step"},
		{{.kind = POOL_EXPANDABLE, .reserve = SIZE_MAX}, "reserve"}};
	struct philox_device *device;
	struct pool *pool = NULL;

	OK(philox_device_open("host", &device));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		FAILS(pool_create(device, &wrong[i].settings, &pool),
		      PHILOX_ERROR_INVALID);
		NAMES(wrong[i].name);
		cr_assert(!pool);
	}
	OK(philox_device_close(device));
}

/* A device without address spaces. */
static enum philox_status no_spaces(struct philox_device *device, size_t *bytes)
{
	(void)device;
	(void)bytes;
	return PHILOX_ERROR_UNSUPPORTED;
}

Test(pool_refusals, an_expandable_pool_needs_a_device_with_spaces)
{
	const struct pool_settings expandable = {.kind = POOL_EXPANDABLE},
				   plain = {.kind = POOL_PLAIN};
	struct philox_device *device;
	const struct device_ops *ops;
	struct device_ops without;
	struct pool *pool = NULL;

	OK(philox_device_open("host", &device));
	ops = device->ops;
	without = *ops;
	without.space_granularity = no_spaces;
	device->ops = &without;
	cr_assert(pool_create(device, &expandable, &pool) ==
		  PHILOX_ERROR_UNSUPPORTED);
	OK(pool_create(device, &plain, &pool));
	pool_destroy(pool);
	device->ops = ops;
	OK(philox_device_fail(device, "space_reserve", 1, PHILOX_ERROR_MEMORY));
	FAILS(pool_create(device, &expandable, &pool), PHILOX_ERROR_MEMORY);
	OK(pool_create(device, &expandable, &pool));
	pool_destroy(pool);
	pool_destroy(NULL);
	OK(philox_device_close(device));
}

Test(pool_refusals, an_expandable_pool_reserves_more_than_the_device_has)
{
	const struct pool_settings settings = {.kind = POOL_EXPANDABLE};
	struct philox_device *device;
	struct pool_figures f;
	struct pool *pool;

	OK(philox_device_open("host", &device));
	OK(philox_device_limit_memory(device, 8 << 20));
	OK(pool_create(device, &settings, &pool));
	pool_figures(pool, &f);
	cr_assert(f.reserved == 9 << 20 && f.mapped == 0);
	pool_destroy(pool);
	OK(philox_device_close(device));
}

Test(pool_refusals, a_destroyed_pool_has_given_all_back)
{
	size_t before, after;
	struct pool_test t;

	ON_BOTH_KINDS(t)
	{
		const struct pool_settings settings = {
			.kind = (enum pool_kind)kind_, .reserve = 1 << 20};
		struct pool *mine = t.pool;

		OK(philox_device_limit_memory(t.device, 64 << 20));
		OK(philox_device_memory_info(t.device, &before, NULL));
		OK(pool_create(t.device, &settings, &t.pool));
		take(&t, 100, 0);
		take(&t, 1000, 0);
		pool_session_begin(t.pool);
		take(&t, 1, 0);
		pool_destroy(t.pool);
		t.pool = mine;
		OK(philox_device_memory_info(t.device, &after, NULL));
		cr_assert(before == after);
	}
}

Test(pool_refusals, requests_that_no_pool_can_meet)
{
	static const struct {
		struct pool_request request;
		enum philox_status status;
		const char *name;
	} wrong[] = {
		{{.size = 0}, PHILOX_ERROR_INVALID, "0 bytes"},
		{{.size = 1, .alignment = 3}, PHILOX_ERROR_INVALID, "3 bytes"},
		{{.size = 1, .alignment = 131072},
		 PHILOX_ERROR_INVALID,
		 "131072 bytes"},
		{{.size = 1, .alignment = SIZE_MAX / 2 + 1},
		 PHILOX_ERROR_INVALID,
		 "alignment"},
		{{.size = 1, .owner = POOL_OWNERS_MAX},
		 PHILOX_ERROR_INVALID,
		 "owner 262144"},
		{{.size = SIZE_MAX},
		 PHILOX_ERROR_OVERFLOW,
		 "18446744073709551615 bytes"},
		{{.size = SIZE_MAX - 510}, PHILOX_ERROR_OVERFLOW, "bytes"},
		{{.size = (size_t)1 << 63}, PHILOX_ERROR_OVERFLOW, "bytes"}};
	struct pool_figures was, is;
	struct pool_block block;
	struct pool_test t;
	size_t mapped;

	ON_BOTH_KINDS(t)
	{
		take(&t, 1, 0);
		was = figures(&t);
		for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
			FAILS(pool_take(t.pool, &wrong[i].request, &block),
			      wrong[i].status);
			NAMES(wrong[i].name);
			FAILS(pool_grow(t.pool, &wrong[i].request, &mapped),
			      wrong[i].status);
			cr_assert(pool_lender(t.pool, &wrong[i].request, 0) ==
				  UINT32_MAX);
		}
		is = figures(&t);
		cr_assert(!memcmp(&was, &is, sizeof(was)));
	}
}

Test(pool_refusals, a_size_that_memory_could_have_is_out_of_memory)
{
	const struct pool_request huge = {.size = (size_t)1 << 45, .shared = 1};
	struct pool_block block;
	struct pool_test t;
	size_t mapped;

	ON_BOTH_KINDS(t)
	{
		OK(philox_device_limit_memory(t.device, 1 << 30));
		cr_assert(pool_take(t.pool, &huge, &block) == PHILOX_NOT_READY);
		FAILS(pool_grow(t.pool, &huge, &mapped), PHILOX_ERROR_MEMORY);
	}
}

Test(pool_refusals, freeing_twice_names_what_was_freed)
{
	struct pool_block a, block;
	struct pool_test t;
	char text[80];

	ON_BOTH_KINDS(t)
	{
		a = take_tagged(&t, 4, "weights");
		take(&t, 1, 0);
		put(&t, a, 0);
		snprintf(
			text, sizeof(text),
			"was freed already: it was block %llu with tag 'weights'",
			(unsigned long long)a.id);
		FAILS(put_at(t.pool, a.address, 0, &block),
		      PHILOX_ERROR_INVALID);
		NAMES(text);
		/* Another block there is what is named then */
		a = take_tagged(&t, 2, "biases");
		put(&t, a, 0);
		FAILS(put_at(t.pool, a.address, 0, &block),
		      PHILOX_ERROR_INVALID);
		NAMES("'biases'");
	}
}

/* Of a handful as of hundreds: what is noted of one hides no other. */
Test(pool_refusals, each_of_many_that_were_freed_is_known)
{
	enum { MANY = 200 };
	struct pool_block blocks[MANY], block;
	struct pool_test t;
	char text[48];

	ON_BOTH_KINDS(t)
	for (int n = 12; n <= MANY; n += MANY - 12) {
		for (int i = 0; i < n; i++)
			blocks[i] = take_tagged(&t, 1, "one");
		for (int i = 0; i < n; i++)
			put(&t, blocks[i], 0);
		for (int i = 0; i < n; i++) {
			snprintf(text, sizeof(text),
				 "freed already: it was block %llu with",
				 (unsigned long long)blocks[i].id);
			FAILS(put_at(t.pool, blocks[i].address, 0, &block),
			      PHILOX_ERROR_INVALID);
			NAMES(text);
		}
	}
}

Test(pool_refusals, there_is_no_owner_more_than_can_be_told_apart)
{
	struct pool_test t;

	ON_BOTH_KINDS(t)
	{
		cr_assert(pool_know_owner(t.pool, POOL_OWNERS_MAX - 1));
		for (uint32_t owner = 1; owner < POOL_OWNERS_MAX; owner++) {
			cr_assert_eq(pool_new_owner(t.pool), owner);
			pool_hold_owner(t.pool, owner);
		}
		cr_assert_eq(pool_new_owner(t.pool), POOL_OWNERS_MAX);
		pool_drop_owner(t.pool, 77777);
		cr_assert_eq(pool_new_owner(t.pool), 77777);
	}
}

Test(pool_refusals, addresses_inside_a_block_name_it_and_the_offset)
{
	struct pool_block a, block;
	struct pool_test t;

	ON_BOTH_KINDS(t)
	{
		take(&t, 1, 0);
		a = take_tagged(&t, 4, "weights");
		FAILS(put_at(t.pool, (char *)a.address + 1, 0, &block),
		      PHILOX_ERROR_INVALID);
		NAMES("offset 1 of");
		NAMES("'weights'");
		FAILS(put_at(t.pool, (char *)a.address + 2047, 0, &block),
		      PHILOX_ERROR_INVALID);
		NAMES("offset 2047 of");
		FAILS(put_at(t.pool, (char *)a.address + 2048, 0, &block),
		      PHILOX_ERROR_INVALID);
		NAMES("free memory of the pool");
		FAILS(put_at(t.pool, a.address, POOL_OWNERS_MAX, &block),
		      PHILOX_ERROR_INVALID);
		cr_assert(pool_find(t.pool, (char *)a.address + 2047, &block));
		cr_assert(block.id == a.id);
		cr_assert(!pool_find(t.pool, (char *)a.address + 2048, &block));
		put(&t, a, 0);
	}
}

Test(pool_refusals, addresses_of_others_are_not_the_pool_s)
{
	struct pool_block a, block;
	struct pool_test t, other;
	char mine;

	open_kind(&other, POOL_PLAIN);
	a = take(&other, 4, 0);
	ON_BOTH_KINDS(t)
	{
		take(&t, 1, 0);
		FAILS(put_at(t.pool, &mine, 0, &block), PHILOX_ERROR_INVALID);
		NAMES("not memory of the pool");
		FAILS(put_at(t.pool, NULL, 0, &block), PHILOX_ERROR_INVALID);
		FAILS(put_at(t.pool, a.address, 0, &block),
		      PHILOX_ERROR_INVALID);
		NAMES("not memory of the pool");
		cr_assert(!pool_find(t.pool, a.address, &block));
		cr_assert(!find_id(t.pool, a.id, &block));
		cr_assert(!find_id(t.pool, 0, &block));
	}
	put(&other, a, 0);
	pool_test_close(&other);
}

Test(pool_refusals, owners_that_there_are_not_have_nothing)
{
	const uint32_t owners[] = {POOL_OWNERS_MAX, UINT32_MAX};
	struct pool_session_figures f;
	struct pool_test t;

	ON_BOTH_KINDS(t)
	{
		take(&t, 1, 0);
		pool_session_begin(t.pool);
		pool_give(t.pool, POOL_SHARED, POOL_OWNERS_MAX);
		pool_give(t.pool, UINT32_MAX, POOL_SHARED);
		pool_session_end(t.pool, owners, 2, 0, &f);
		cr_assert(pool_owns(t.pool, POOL_SHARED) == UNITS(127));
		cr_assert(pool_owns(t.pool, POOL_OWNERS_MAX) == 0);
		put(&t, take(&t, 1, POOL_OWNERS_MAX - 1), POOL_OWNERS_MAX - 1);
		cr_assert(pool_owns(t.pool, POOL_OWNERS_MAX - 1) == UNITS(1));
	}
}
