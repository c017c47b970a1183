/*
 * tests/pool/failures.c - calls of the device that fail once
 *
 * A fixed program makes one call of the device after the other; in run n the
 * n-th fails. Whichever it is, the call of philox that made it says so or does
 * without, nothing has changed, and its second attempt succeeds.
 */
#include <stdio.h>
#include "tests/support/beds/pool.h"

enum { BYTES = 3 << 20 };

static unsigned failures;
static uint64_t calls; /* of the device, in a run that ended */

/* The call fails at most once, with the error that was ordered. */
#define TWICE(call)                                                       \
	do {                                                              \
		enum philox_status once_ = (call);                        \
		if (once_ != PHILOX_OK) {                                 \
			cr_assert_eq(once_, PHILOX_ERROR_DEVICE, "%s %s", \
				     #call, philox_error_message());      \
			well_said(#call);                                 \
			failures++;                                       \
			OK(call);                                         \
		}                                                         \
	} while (0)

static void use_session(struct fixture *f, struct philox_pool *pool,
			unsigned char *out, int value)
{
	struct philox_pool_block one, two;

	TWICE(philox_pool_alloc(pool, f->stream, BYTES, 0, "one", &one));
	TWICE(philox_pool_alloc(pool, f->stream, 5000, 0, "two", &two));
	TWICE(philox_memory_set(f->device, f->stream, one.address, value,
				BYTES));
	TWICE(philox_memory_copy(f->device, f->stream, out, one.address,
				 BYTES));
	TWICE(philox_pool_free(pool, f->stream, one.address));
	TWICE(philox_pool_free(pool, f->stream, two.address));
}

static struct philox_graph *capture(struct fixture *f, struct philox_pool *pool,
				    unsigned char *out, int value)
{
	struct philox_pool_session *session;
	philox_native_graph native;
	philox_native_exec exec;
	struct philox_graph *graph;
	uint64_t id;

	TWICE(philox_stream_begin_capture(f->device, f->stream,
					  PHILOX_CAPTURE_THREAD_LOCAL));
	TWICE(philox_stream_capture_info(f->device, f->stream, NULL, &id));
	TWICE(philox_pool_session_begin(pool, f->stream, &session));
	use_session(f, pool, out, value);
	TWICE(philox_pool_session_end(session, PHILOX_OK, NULL));
	TWICE(philox_stream_end_capture(f->device, f->stream, &native));
	TWICE(philox_native_graph_instantiate(f->device, native, &exec));
	TWICE(philox_graph_adopt(f->context, id, native, exec, &graph));
	f->natives[f->n_natives] = native;
	f->execs[f->n_natives++] = exec;
	return graph;
}

static void use_eagerly(struct fixture *f, struct philox_pool *pool)
{
	struct philox_pool_session *session;
	struct philox_pool_block block;

	TWICE(philox_pool_session_begin(pool, f->side, &session));
	TWICE(philox_pool_alloc(pool, f->side, BYTES, 0, "warm", &block));
	TWICE(philox_pool_free(pool, f->side, block.address));
	TWICE(philox_pool_session_end(session, PHILOX_OK, NULL));
	TWICE(philox_pool_reserve(pool, 4 * BYTES));
	TWICE(philox_pool_trim(pool, NULL));
	TWICE(philox_pool_check(pool, f->side));
}

/* After a launch whose end could not be recorded, its stream is the only one. */
static void launch_after(struct fixture *f, struct philox_graph *graph)
{
	enum philox_status status =
		philox_graph_launch(graph, f->side, NULL, 0);

	if (status == PHILOX_ERROR_BUSY)
		OK(philox_graph_launch(graph, f->stream, NULL, 0));
	else if (status != PHILOX_OK)
		OK(philox_graph_launch(graph, f->side, NULL, 0));
	failures += status != PHILOX_OK;
}

/* Returns how many calls of the device failed. */
static unsigned program(const char *device, uint32_t flags, unsigned n)
{
	struct philox_pool_desc options = PHILOX_INIT(struct philox_pool_desc);
	struct fixture f;
	struct philox_pool *pool;
	struct philox_graph *one, *two;
	unsigned char *out[2];
	uint64_t before;

	fixture_open(&f, device);
	f.injected = 1;
	out[0] = make_memory(&f, BYTES);
	out[1] = make_memory(&f, BYTES);
	options.name = "pool";
	options.flags = flags;
	options.range = flags & PHILOX_POOL_EXPANDABLE ? 1 << 28 : 0;
	failures = 0;
	before = philox_device_call_count(f.device, NULL);
	OK(philox_device_fail(f.device, NULL, n, PHILOX_ERROR_DEVICE));
	TWICE(philox_pool_create(f.context, &options, &pool));
	one = capture(&f, pool, out[0], 1);
	two = capture(&f, pool, out[1], 2);
	TWICE(philox_graph_launch(one, f.stream, NULL, 0));
	launch_after(&f, two);
	use_eagerly(&f, pool);
	OK(philox_device_fail(f.device, NULL, 0, PHILOX_OK));
	cr_assert(holds_value(&f, out[0], BYTES, 1), "call %u", n);
	cr_assert(holds_value(&f, out[1], BYTES, 2), "call %u", n);
	cr_assert_eq(pool_look(pool).blocks, 0);
	cr_assert_eq(pool_look(pool).graphs, 2);
	if (flags & PHILOX_POOL_EXPANDABLE)
		cr_assert_eq(pool_look(pool).largest_free,
			     pool_look(pool).mapped);
	OK(philox_graph_destroy(one));
	OK(philox_graph_destroy(two));
	calls = philox_device_call_count(f.device, NULL) - before;
	fixture_close(&f);
	return failures;
}

static void fail_each(const char *device, uint32_t flags)
{
	unsigned n = 0, failed = 0;

	do
		failed += program(device, flags, ++n);
	while (n < calls); /* then no call has failed */
	cr_assert_gt(failed, 40, "%u failures", failed);
}

Test(pool_failures, of_each_call_change_nothing, .timeout = 240)
{
	fail_each("host:sync", 0);
	fail_each("host:sync", PHILOX_POOL_EXPANDABLE);
	fail_each("host:strict", PHILOX_POOL_GUARDS | PHILOX_POOL_FILL);
}
