/*
 * tests/pool/said.c - calls on pools that succeed at a second attempt leave
 * the message of the last call that failed
 *
 * All calls of all tests are asked for this (tests/support/said/said.h). These have a
 * failure in them each time.
 */
#include "tests/support/beds/pool.h"

/* A message that can be told from others. */
static void fail(struct philox_pool *pool)
{
	FAILS(philox_pool_free(pool, NULL, &pool), PHILOX_ERROR_INVALID);
}

#define KEPT(call)                                                      \
	do {                                                            \
		char before_[512];                                      \
		strcpy(before_, philox_error_message());                \
		OK(call);                                               \
		cr_assert_str_eq(philox_error_message(), before_,       \
				 "%s succeeded and left \"%s\"", #call, \
				 philox_error_message());               \
	} while (0)

POOL_PROMISE(pool_said, nothing_by_an_allocation_that_grows_the_pool)
{
	struct philox_pool_block block;

	fail(pool);
	KEPT(philox_pool_alloc(pool, f->stream, 1000, 0, "a", &block));
	KEPT(philox_pool_alloc(pool, f->stream, 5 << 20, 0, "b", &block));
	KEPT(philox_pool_alloc(pool, f->stream, 40 << 20, 0, "c", &block));
}

POOL_PROMISE(pool_said, nothing_by_an_allocation_that_others_give_memory_to)
{
	struct philox_pool *hoard = make_pool(f, "hoard", pool_kind());
	struct philox_pool_block block;

	OK(philox_pool_reserve(hoard, 6 << 20));
	OK(philox_device_limit_memory(f->device, 8 << 20));
	fail(pool);
	KEPT(philox_pool_alloc(pool, f->stream, 4 << 20, 0, "a", &block));
	cr_assert_eq(pool_look(hoard).mapped, 0);
	OK(philox_device_limit_memory(f->device, 0));
	f->injected = 1; /* calls that failed are no leaks */
}

/* No pass of it is known: it is looked for among captures first. */
POOL_PROMISE(pool_said, nothing_by_a_graph_of_a_capture_without_passes)
{
	struct philox_pool_session *session;
	struct philox_graph *graph;
	char before[512];

	fail(pool);
	strcpy(before, philox_error_message());
	session = pool_record(f, pool);
	graph = pool_recorded(f, session);
	cr_assert_str_eq(philox_error_message(), before);
	OK(philox_graph_destroy(graph));
}
