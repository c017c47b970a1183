/*
 * tests/pool/blocks.c - blocks outside sessions, and what they are refused for
 */
#include <stdlib.h>
#include "lib/device/contract.h"
#include "tests/support/beds/pool.h"

/* --- streams -------------------------------------------------------------- */

POOL_PROMISE(pool_blocks, freed_memory_is_the_stream_s_own_until_ordered)
{
	struct philox_pool_block home = make_block(pool, f->stream, 600);
	struct philox_pool_block one = make_block(pool, f->side, 600), two,
				 three;

	OK(philox_pool_free(pool, f->stream, home.address));
	OK(philox_pool_free(pool, f->side, one.address));
	two = make_block(pool, f->stream, 600);
	cr_assert_eq(two.address, home.address);
	three = make_block(pool, f->stream, 600);
	cr_assert_neq(three.address, one.address);
	OK(philox_pool_join_streams(pool, f->side, f->stream));
	two = make_block(pool, f->stream, 600);
	cr_assert_eq(two.address, one.address);
	cr_assert_eq(pool_look(pool).waits, 0);
}

POOL_PROMISE(pool_blocks, home_can_be_moved)
{
	struct philox_pool_block block = make_block(pool, f->stream, 600);

	OK(philox_pool_free(pool, f->stream, block.address));
	OK(philox_pool_join_streams(pool, f->stream, f->side));
	cr_assert_eq(make_block(pool, f->side, 600).address, block.address);
}

/* Two blocks that fill a pool; the second is freed on the other stream. */
static void fill_and_free(struct fixture *f, struct philox_pool *limited)
{
	struct philox_pool_block one = make_block(limited, f->stream, 1 << 20);
	struct philox_pool_block two = make_block(limited, f->side, 1 << 20);

	OK(philox_pool_free(limited, f->stream, one.address));
	OK(philox_pool_free(limited, f->side, two.address));
	make_block(limited, f->stream, 1 << 20);
}

POOL_PROMISE(pool_blocks, a_full_pool_waits_for_another_stream)
{
	struct philox_pool *limited = make_limited(f, 0, 2 << 20);
	uint64_t waits;

	fill_and_free(f, limited);
	waits = calls_of(f, "event_wait");
	log_events(f);
	make_block(limited, f->stream, 1 << 20);
	cr_assert_eq(calls_of(f, "event_wait"), waits + 1);
	cr_assert_eq(pool_look(limited).waits, 1);
	cr_assert_str_eq(logged_events(), "pool wait");
	cr_assert_eq(calls_of(f, "event_query"), 0);
	cr_assert_eq(calls_of(f, "stream_query"), 0);
}

POOL_PROMISE(pool_blocks, another_stream_waits_for_the_last_one)
{
	struct philox_pool *limited = make_limited(f, 0, 2 << 20);
	struct philox_pool_block block =
		make_block(limited, f->stream, 2 << 20);

	OK(philox_pool_free(limited, f->stream, block.address));
	make_block(limited, f->side, 2 << 20);
	cr_assert_eq(pool_look(limited).waits, 1);
}

POOL_PROMISE(pool_blocks, a_stream_waits_for_another_one_and_the_last_one)
{
	struct philox_pool *limited = make_limited(f, 0, 2 << 20);
	struct philox_pool_block one = make_block(limited, f->stream, 1 << 20);
	struct philox_pool_block two = make_block(limited, f->side, 1 << 20);
	philox_stream third;

	OK(philox_stream_create(f->device, 0, &third));
	OK(philox_pool_free(limited, f->stream, one.address));
	OK(philox_pool_free(limited, f->side, two.address));
	cr_assert_eq(make_block(limited, third, 1 << 20).address, two.address);
	cr_assert_eq(make_block(limited, third, 1 << 20).address, one.address);
	cr_assert_eq(pool_look(limited).waits, 2);
	OK(philox_stream_destroy(f->device, third));
}

POOL_PROMISE(pool_blocks, a_strict_pool_does_not_wait)
{
	struct philox_pool *limited =
		make_limited(f, PHILOX_POOL_STRICT, 2 << 20);
	struct philox_pool_block block;

	fill_and_free(f, limited);
	FAILS(philox_pool_alloc(limited, f->stream, 1 << 20, 0, "late", &block),
	      PHILOX_ERROR_LIMIT);
	NAMES("'limited'");
	OK(philox_pool_join_streams(limited, f->side, f->stream));
	make_block(limited, f->stream, 1 << 20);
}

/* A branch that waits for another one: an edge, and no capture is broken. */
POOL_PROMISE(pool_blocks, a_branch_waits_for_another_one)
{
	struct philox_pool *limited = make_limited(f, 0, 2 << 20);
	struct philox_pool_session *session = pool_record(f, limited);
	philox_event event;

	OK(philox_event_create(f->device, &event));
	OK(philox_event_record(f->device, f->stream, event));
	OK(philox_event_wait(f->device, f->side, event));
	fill_and_free(f, limited);
	make_block(limited, f->stream, 1 << 20);
	cr_assert_eq(pool_look(limited).waits, 1);
	OK(philox_event_record(f->device, f->side, event));
	OK(philox_event_wait(f->device, f->stream, event));
	pool_recorded(f, session);
	OK(philox_event_destroy(f->device, event));
}

/* Nothing outside a capture can be waited for in it. */
POOL_PROMISE(pool_blocks, a_capture_waits_for_nothing_outside)
{
	struct philox_pool *limited = make_limited(f, 0, 2 << 20);
	struct philox_pool_session *session;
	struct philox_pool_block block;

	fill_and_free(f, limited);
	session = pool_record(f, limited);
	FAILS(philox_pool_alloc(limited, f->stream, 1 << 20, 0, "late", &block),
	      PHILOX_ERROR_LIMIT);
	pool_recorded(f, session);
}

POOL_PROMISE(pool_blocks, restoring_needs_memory_that_is_ordered)
{
	struct philox_pool_block one = make_block(pool, f->stream, 600);
	struct philox_pool_block two = make_block(pool, f->side, 600);
	struct philox_pool_checkpoint *checkpoint;

	OK(philox_pool_checkpoint_create(pool, &checkpoint));
	OK(philox_pool_free(pool, f->stream, one.address));
	OK(philox_pool_free(pool, f->side, two.address));
	FAILS(philox_pool_restore(pool, checkpoint, &one.id, 1, NULL, 0),
	      PHILOX_ERROR_BUSY);
	NAMES("'pool'");
	OK(philox_pool_join_streams(pool, f->side, f->stream));
	OK(philox_pool_restore(pool, checkpoint, &one.id, 1, NULL, 0));
	cr_assert_eq(pool_look(pool).blocks, 1);
	philox_pool_checkpoint_destroy(checkpoint);
}

static void alloc_and_free(struct philox_pool *pool, philox_stream stream)
{
	struct philox_pool_block block = make_block(pool, stream, 600);

	OK(philox_pool_free(pool, stream, block.address));
}

/* A warm-up on the first stream, in which `stream` alone has memory. */
static void warm_up(struct fixture *f, struct philox_pool *pool,
		    philox_stream stream)
{
	struct philox_pool_session *session;

	OK(philox_pool_session_begin(pool, f->stream, &session));
	alloc_and_free(pool, stream);
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
}

POOL_PROMISE(pool_blocks,
	     what_a_stream_freed_is_found_after_it_was_in_a_session)
{
	struct philox_pool_checkpoint *checkpoint;
	philox_stream other;

	OK(philox_stream_create(f->device, 0, &other));
	OK(philox_pool_checkpoint_create(pool, &checkpoint));
	warm_up(f, pool, f->stream);
	alloc_and_free(pool, other);
	alloc_and_free(pool, f->side);
	OK(philox_pool_join_streams(pool, other, f->stream));
	warm_up(f, pool, f->side);
	OK(philox_pool_join_streams(pool, f->side, f->stream));
	OK(philox_pool_join_streams(pool, other, f->stream));
	OK(philox_pool_restore(pool, checkpoint, NULL, 0, NULL, 0));
	philox_pool_checkpoint_destroy(checkpoint);
	OK(philox_stream_destroy(f->device, other));
}

/* --- checkpoints ---------------------------------------------------------- */

POOL_PROMISE(pool_blocks, a_session_forbids_checkpoints)
{
	struct philox_pool_checkpoint *checkpoint, *second;
	struct philox_pool_session *session;

	OK(philox_pool_checkpoint_create(pool, &checkpoint));
	OK(philox_pool_session_begin(pool, f->stream, &session));
	FAILS(philox_pool_checkpoint_create(pool, &second), PHILOX_ERROR_BUSY);
	FAILS(philox_pool_restore(pool, checkpoint, NULL, 0, NULL, 0),
	      PHILOX_ERROR_BUSY);
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
	OK(philox_pool_restore(pool, checkpoint, NULL, 0, NULL, 0));
	philox_pool_checkpoint_destroy(checkpoint);
	philox_pool_checkpoint_destroy(NULL);
	cr_assert_eq(pool_look(pool).checkpoints, 1);
	cr_assert_eq(pool_look(pool).restores, 1);
}

/* --- memory of the device ------------------------------------------------- */

POOL_PROMISE(pool_blocks, other_pools_give_back_what_no_graph_needs)
{
	struct philox_pool *hoard = make_pool(f, "hoard", pool_kind());
	struct philox_pool_block block;

	OK(philox_pool_reserve(hoard, 6 << 20));
	OK(philox_device_limit_memory(f->device, 8 << 20));
	log_events(f);
	make_block(pool, f->stream, 4 << 20);
	cr_assert_eq(pool_look(hoard).mapped, 0);
	cr_assert(strstr(logged_events(), "pool trimmed"), "%s",
		  logged_events());
	FAILS(philox_pool_alloc(pool, f->stream, 7 << 20, 0, "more", &block),
	      PHILOX_ERROR_MEMORY);
	NAMES("'more'");
	NAMES("'hoard' has");
	NAMES("'pool' has");
	NAMES("4194304 live");
	OK(philox_device_limit_memory(f->device, 0));
	f->injected = 1; /* calls that failed are no leaks */
}

/* Captures that philox does not know of, in the strictest mode. */
POOL_PROMISE(pool_blocks, giving_back_breaks_no_capture)
{
	struct philox_pool *hoard = make_pool(f, "hoard", pool_kind());
	struct philox_pool_block block = make_block(hoard, f->side, 600);
	philox_native_graph native;

	OK(philox_pool_free(hoard, f->side, block.address));
	OK(philox_pool_reserve(hoard, 6 << 20));
	OK(philox_device_limit_memory(f->device, 9 << 20));
	OK(philox_stream_begin_capture(f->device, f->side,
				       PHILOX_CAPTURE_GLOBAL));
	FAILS(philox_pool_alloc(pool, f->stream, 5 << 20, 0, "x", &block),
	      PHILOX_ERROR_MEMORY);
	OK(philox_stream_end_capture(f->device, f->side, &native));
	OK(philox_native_graph_destroy(f->device, native));
	OK(philox_pool_join_streams(hoard, f->side, f->stream));
	OK(philox_stream_begin_capture(f->device, f->side,
				       PHILOX_CAPTURE_GLOBAL));
	make_block(pool, f->stream, 5 << 20);
	OK(philox_stream_end_capture(f->device, f->side, &native));
	OK(philox_native_graph_destroy(f->device, native));
	OK(philox_device_limit_memory(f->device, 0));
	f->injected = 1; /* calls that failed are no leaks */
}

POOL_PROMISE(pool_blocks, in_a_capture_nothing_is_given_back)
{
	struct philox_pool *hoard = make_pool(f, "hoard", pool_kind());
	struct philox_pool_session *session;
	struct philox_pool_block block;

	OK(philox_pool_reserve(hoard, 6 << 20));
	OK(philox_device_limit_memory(f->device, 8 << 20));
	session = pool_record(f, pool);
	FAILS(philox_pool_alloc(pool, f->stream, 4 << 20, 0, "x", &block),
	      PHILOX_ERROR_MEMORY);
	pool_recorded(f, session);
	cr_assert_geq(pool_look(hoard).mapped, 6 << 20);
	OK(philox_device_limit_memory(f->device, 0));
	f->injected = 1; /* calls that failed are no leaks */
}

/* Growth is legal while others capture in the strictest mode. */
POOL_PROMISE(pool_blocks, growth_breaks_no_capture)
{
	struct philox_pool_session *session;
	philox_native_graph native;
	philox_stream other;

	OK(philox_stream_create(f->device, 0, &other));
	OK(philox_stream_begin_capture(f->device, other,
				       PHILOX_CAPTURE_GLOBAL));
	make_block(pool, f->side, 20 << 20);
	session = pool_record(f, pool);
	make_block(pool, f->stream, 20 << 20);
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
	record_end(f);
	OK(philox_stream_end_capture(f->device, other, &native));
	OK(philox_native_graph_destroy(f->device, native));
	OK(philox_stream_destroy(f->device, other));
}

/* --- zones and patterns --------------------------------------------------- */

static void write_at(struct fixture *f, struct philox_pool_block block,
		     size_t bytes, ptrdiff_t offset)
{
	(void)bytes;
	OK(philox_memory_set(f->device, f->stream,
			     (char *)block.address + offset, 7, 1));
}

POOL_PROMISE(pool_debug, zones_show_writes_outside)
{
	struct philox_pool *zoned =
		make_pool(f, "zoned", pool_kind() | PHILOX_POOL_GUARDS);
	struct philox_pool_block block, other;

	OK(philox_pool_alloc(zoned, f->stream, 1000, 0, "logits", &block));
	OK(philox_pool_alloc(zoned, f->stream, 512, 0, "other", &other));
	OK(philox_memory_set(f->device, f->stream, block.address, 1, 1000));
	OK(philox_memory_set(f->device, f->stream, other.address, 1, 512));
	OK(philox_pool_check(zoned, f->stream));
	OK(philox_pool_check(pool, f->stream));
	write_at(f, block, 1000, 1002);
	FAILS(philox_pool_check(zoned, f->stream), PHILOX_ERROR_STATE);
	NAMES("3 bytes after the end of");
	NAMES("'logits'");
	OK(philox_pool_free(zoned, f->stream, block.address));
	OK(philox_pool_check(zoned, f->stream));
	write_at(f, other, 512, -512);
	FAILS(philox_pool_check(zoned, f->stream), PHILOX_ERROR_STATE);
	NAMES("512 bytes before");
	NAMES("'other'");
	write_at(f, other, 512, -1);
	FAILS(philox_pool_check(zoned, f->stream), PHILOX_ERROR_STATE);
	NAMES("1 byte before");
}

POOL_PROMISE(pool_debug, patterns_are_nans)
{
	struct philox_pool *filled =
		make_pool(f, "filled", pool_kind() | PHILOX_POOL_FILL);
	struct philox_pool_block block = make_block(filled, f->stream, 1000);

	cr_assert(holds_value(f, block.address, 1000, 0xff));
	OK(philox_memory_set(f->device, f->stream, block.address, 1, 1000));
	OK(philox_pool_free(filled, f->stream, block.address));
	if (!device_is_strict(f->device)) /* where nobody may look */
		cr_assert(holds_value(f, block.address, 1000, 0xff));
}

/* --- bad input ------------------------------------------------------------ */

POOL_PROMISE(pool_refusals, of_sizes_and_addresses)
{
	struct philox_pool_block block,
		kept = make_block(pool, f->stream, 1000);
	struct philox_pool_block_info info =
		PHILOX_INIT(struct philox_pool_block_info);
	struct philox_pool *second = make_pool(f, "second", pool_kind());
	char *inside = (char *)kept.address + 512;

	FAILS(philox_pool_alloc(pool, f->stream, 0, 0, "t", &block),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_pool_alloc(pool, f->stream, SIZE_MAX, 0, "t", &block),
	      PHILOX_ERROR_OVERFLOW);
	FAILS(philox_pool_alloc(pool, f->stream, SIZE_MAX - 1024, 0, "t",
				&block),
	      PHILOX_ERROR_OVERFLOW);
	FAILS(philox_pool_alloc(pool, f->stream, 8, 3, "t", &block),
	      PHILOX_ERROR_INVALID);
	NAMES("'pool'");
	FAILS(philox_pool_alloc(pool, f->stream, 8, 131072, "t", &block),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_pool_alloc(pool, f->stream, 8, 0, "t", NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_pool_alloc(NULL, f->stream, 8, 0, "t", &block),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_pool_free(pool, f->stream, inside), PHILOX_ERROR_INVALID);
	NAMES("'block'");
	NAMES("512");
	FAILS(philox_pool_free(second, f->stream, kept.address),
	      PHILOX_ERROR_INVALID);
	NAMES("'second'");
	FAILS(philox_pool_free(pool, f->stream, f), PHILOX_ERROR_INVALID);
	OK(philox_pool_free(pool, f->stream, NULL));
	OK(philox_pool_find(pool, inside, &info));
	cr_assert_eq(info.id, kept.id);
	cr_assert_eq(info.base, kept.address);
	cr_assert_str_eq(info.tag, "block");
	OK(philox_pool_free(pool, f->stream, kept.address));
	FAILS(philox_pool_free(pool, f->stream, kept.address),
	      PHILOX_ERROR_INVALID);
	NAMES("'block'");
	NAMES("freed");
	FAILS(philox_pool_find(pool, inside, &info), PHILOX_ERROR_NOT_FOUND);
	info.size = 3;
	FAILS(philox_pool_find(pool, inside, &info), PHILOX_ERROR_INVALID);
	FAILS(philox_pool_find(pool, inside, NULL), PHILOX_ERROR_INVALID);
}

POOL_PROMISE(pool_refusals, of_options)
{
	struct philox_pool_desc options = PHILOX_INIT(struct philox_pool_desc);
	struct philox_pool *made;

	FAILS(philox_pool_create(f->context, &options, &made),
	      PHILOX_ERROR_INVALID);
	NAMES("name");
	options.name = "pool";
	FAILS(philox_pool_create(f->context, &options, &made),
	      PHILOX_ERROR_EXISTS);
	options.name = "a name of a pool that has more than the sixty-three "
		       "bytes it may have";
	FAILS(philox_pool_create(f->context, &options, &made),
	      PHILOX_ERROR_INVALID);
	options.name = "new";
	options.flags = 512;
	FAILS(philox_pool_create(f->context, &options, &made),
	      PHILOX_ERROR_INVALID);
	NAMES("flags");
	options.flags = 0;
	options.reserved = 1;
	FAILS(philox_pool_create(f->context, &options, &made),
	      PHILOX_ERROR_INVALID);
	options.reserved = 0;
	options.range = 1 << 20;
	FAILS(philox_pool_create(f->context, &options, &made),
	      PHILOX_ERROR_INVALID);
	NAMES("range");
	FAILS(philox_pool_create(f->context, NULL, &made),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_pool_create(f->context, &options, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_pool_create(NULL, &options, &made), PHILOX_ERROR_INVALID);
	options.size = 4;
	FAILS(philox_pool_create(f->context, &options, &made),
	      PHILOX_ERROR_INVALID);
	cr_assert_str_eq(philox_pool_name(pool), "pool");
	cr_assert_str_eq(philox_pool_name(NULL), "");
	OK(philox_pool_destroy(NULL));
}

POOL_PROMISE(pool_refusals, of_a_name_of_64_bytes)
{
	struct philox_pool_desc options = PHILOX_INIT(struct philox_pool_desc);
	struct philox_pool *longest = pool;
	char name[65] = "";

	memset(name, 'n', 64);
	options.name = name;
	FAILS(philox_pool_create(f->context, &options, &longest),
	      PHILOX_ERROR_INVALID);
	NAMES("name has more than 63 bytes");
	cr_assert_eq(longest, pool);
	name[63] = '\0';
	OK(philox_pool_create(f->context, &options, &longest));
	cr_assert_str_eq(philox_pool_name(longest), name);
	OK(philox_pool_destroy(longest));
}

POOL_PROMISE(pool_refusals, of_null_and_nothing)
{
	struct philox_pool_stats statistics =
		PHILOX_INIT(struct philox_pool_stats);
	struct philox_pool_checkpoint *checkpoint;
	uint64_t id = 1;
	int live;

	OK(philox_pool_checkpoint_create(pool, &checkpoint));
	FAILS(philox_pool_checkpoint_create(pool, NULL), PHILOX_ERROR_INVALID);
	FAILS(philox_pool_checkpoint_create(NULL, &checkpoint),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_pool_restore(pool, NULL, NULL, 0, NULL, 0),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_pool_restore(pool, checkpoint, NULL, 1, NULL, 0),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_pool_restore(pool, checkpoint, NULL, 0, NULL, 1),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_pool_restore(pool, checkpoint, &id, 1, NULL, 0),
	      PHILOX_ERROR_NOT_FOUND);
	FAILS(philox_pool_is_live(pool, NULL, 1, &live), PHILOX_ERROR_INVALID);
	FAILS(philox_pool_is_live(pool, &id, 1, NULL), PHILOX_ERROR_INVALID);
	OK(philox_pool_is_live(pool, &id, 1, &live));
	cr_assert_eq(live, 0);
	OK(philox_pool_is_live(pool, NULL, 0, &live));
	cr_assert_eq(live, 1);
	FAILS(philox_pool_reserve(pool, 0), PHILOX_ERROR_INVALID);
	FAILS(philox_pool_reserve(pool, UINT64_MAX), PHILOX_ERROR_OVERFLOW);
	FAILS(philox_pool_trim(NULL, NULL), PHILOX_ERROR_INVALID);
	FAILS(philox_pool_get_stats(pool, NULL), PHILOX_ERROR_INVALID);
	statistics.size = 0;
	FAILS(philox_pool_get_stats(pool, &statistics), PHILOX_ERROR_INVALID);
	FAILS(philox_pool_join_streams(NULL, f->stream, f->side),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_pool_check(NULL, f->stream), PHILOX_ERROR_INVALID);
	philox_pool_checkpoint_destroy(checkpoint);
}

POOL_PROMISE(pool_refusals, of_streams_in_different_captures)
{
	struct philox_pool_session *session = pool_record(f, pool);

	FAILS(philox_pool_join_streams(pool, f->stream, f->side),
	      PHILOX_ERROR_CAPTURE_ISOLATION);
	FAILS(philox_pool_check(pool, f->stream),
	      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	FAILS(philox_pool_check(pool, f->side), PHILOX_ERROR_BUSY);
	pool_recorded(f, session);
}
