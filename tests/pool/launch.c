/*
 * tests/pool/launch.c - launches of graphs that share a pool
 */
#include <pthread.h>
#include <stdatomic.h>
#include "tests/support/beds/pool.h"

enum { BYTES = 4096 };

/* --- one call more -------------------------------------------------------- */

static uint64_t all_calls(const struct fixture *f)
{
	uint64_t calls = 0;

	for (size_t i = 0; device_operations[i]; i++)
		calls += calls_of(f, device_operations[i]);
	return calls;
}

static uint64_t launch_calls(struct fixture *f, struct philox_graph *graph,
			     philox_stream stream)
{
	uint64_t before = all_calls(f);

	OK(philox_graph_launch(graph, stream, NULL, 0));
	return all_calls(f) - before;
}

POOL_PROMISE(pool_launch, costs_one_call_more_and_none_in_a_strict_pool)
{
	struct philox_pool *strict =
		make_pool(f, "strict", pool_kind() | PHILOX_POOL_STRICT);
	void *out = make_memory(f, BYTES);
	struct philox_graph *shared = record_user(f, pool, BYTES, 1, out);
	struct philox_graph *alone = record_user(f, strict, BYTES, 2, out);
	struct philox_graph *without;
	uint64_t calls;

	record_begin(f);
	OK(philox_memory_set(f->device, f->stream, out, 3, BYTES));
	without = record_end(f);
	calls = launch_calls(f, without, f->stream);
	cr_assert_eq(launch_calls(f, shared, f->stream), calls + 1);
	cr_assert_eq(launch_calls(f, shared, f->stream), calls + 1);
	cr_assert_eq(launch_calls(f, shared, f->side), calls + 2,
		     "on another stream it also waits");
	cr_assert_eq(launch_calls(f, alone, f->stream), calls);
	cr_assert_eq(launch_calls(f, alone, f->stream), calls);
}

/* --- order ---------------------------------------------------------------- */

enum { GRAPHS = 3, ROUNDS = 60, LARGE = 1 << 16 };

/* The same memory, several streams, work that takes a while: never at once. */
static void share(const char *device, uint32_t flags)
{
	struct fixture f;
	struct philox_pool *pool;
	struct philox_graph *graphs[GRAPHS];
	void *out[GRAPHS];

	fixture_open(&f, device);
	pool = make_pool(&f, "pool", flags);
	for (int i = 0; i < GRAPHS; i++) {
		out[i] = make_memory(&f, LARGE);
		graphs[i] = record_user(&f, pool, LARGE, i + 1, out[i]);
	}
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < GRAPHS; i++)
			OK(philox_memory_set(f.device,
					     i % 2 ? f.stream : f.side, out[i],
					     99, LARGE));
		OK(philox_device_synchronize(f.device));
		for (unsigned i = 0; i < GRAPHS; i++)
			OK(philox_graph_launch(graphs[(i + round) % GRAPHS],
					       (i + round / 3) % 2 ? f.stream
								   : f.side,
					       NULL, 0));
		for (int i = 0; i < GRAPHS; i++)
			cr_assert(holds_value(&f, out[i], LARGE, i + 1),
				  "graph %d, round %u", i, round);
	}
	cr_assert_gt(pool_look(pool).waits, 0);
	fixture_close(&f);
}

Test(pool_launch, on_several_streams_never_overlap, .timeout = 120)
{
	if (named_device()) {
		share(named_device(), 0);
		return;
	}
	share("host", 0);
	share("host", PHILOX_POOL_EXPANDABLE);
	share("host:strict", 0);
}

struct racer {
	struct fixture *f;
	struct philox_graph *graph;
	philox_stream stream;
	atomic_int failures;
};

static void *race(void *user)
{
	struct racer *racer = user;

	for (unsigned i = 0; i < 500; i++)
		if (philox_graph_launch(racer->graph, racer->stream, NULL, 0) !=
		    PHILOX_OK)
			racer->failures++;
	return NULL;
}

Test(pool_launch, from_two_threads_take_turns, .timeout = 120)
{
	struct fixture f;
	struct philox_pool *pool;
	void *out[2];
	struct racer racers[2];
	pthread_t threads[2];

	fixture_open(&f, named_device() ? named_device() : "host");
	pool = make_pool(&f, "pool", 0);
	for (int i = 0; i < 2; i++) {
		out[i] = make_memory(&f, LARGE);
		racers[i].f = &f;
		racers[i].graph = record_user(&f, pool, LARGE, i + 1, out[i]);
		racers[i].stream = i ? f.stream : f.side;
		racers[i].failures = 0;
	}
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, race, &racers[i]);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		cr_assert_eq(racers[i].failures, 0);
	}
	for (int i = 0; i < 2; i++)
		cr_assert(holds_value(&f, out[i], LARGE, i + 1));
	fixture_close(&f);
}

POOL_PROMISE(pool_launch, keeps_its_turn_until_its_epilogue)
{
	void *out = make_memory(f, BYTES);
	struct philox_graph *one = record_user(f, pool, BYTES, 1, out);
	struct philox_graph *two = record_user(f, pool, BYTES, 2, out);
	struct philox_pool_session *session;
	philox_native_exec exec = native_exec(one);

	OK(philox_graph_set_name(one, "one"));
	OK(philox_graph_prologue(one, f->stream, NULL, 0));
	FAILS(philox_graph_launch(two, f->stream, NULL, 0), PHILOX_ERROR_BUSY);
	NAMES("'one'");
	NAMES("'pool'");
	FAILS(philox_pool_session_begin(pool, f->side, &session),
	      PHILOX_ERROR_BUSY);
	NAMES("'one'");
	OK(philox_native_exec_launch(f->device, f->stream, exec));
	OK(philox_graph_epilogue(one, PHILOX_OK));
	OK(philox_graph_launch(two, f->stream, NULL, 0));
	cr_assert(holds_value(f, out, BYTES, 2));
	OK(philox_graph_prologue(one, f->stream, NULL, 0));
	OK(philox_graph_epilogue(one, PHILOX_ERROR_DEVICE));
	OK(philox_graph_launch(two, f->side, NULL, 0));
}

POOL_PROMISE(pool_launch, that_is_refused_gives_the_turn_back)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	void *out = make_memory(f, BYTES);
	struct philox_pool_session *session = pool_record(f, pool);
	struct philox_pool_block block = make_block(pool, f->stream, BYTES);
	struct philox_launch_pass use = {{1, 2}, 0, 0};
	struct philox_graph *other, *graph;

	captured_backward(f, region, (struct philox_ticket){0, 0}, 0, array);
	OK(philox_pool_free(pool, f->stream, block.address));
	graph = pool_recorded(f, session);
	other = record_user(f, pool, BYTES, 2, out);
	FAILS(philox_graph_launch(graph, f->stream, &use, 1),
	      PHILOX_ERROR_MISMATCH);
	FAILS(philox_graph_prologue(graph, f->stream, &use, 1),
	      PHILOX_ERROR_MISMATCH);
	OK(philox_graph_launch(other, f->stream, NULL, 0));
}

/* --- strict pools --------------------------------------------------------- */

POOL_PROMISE(pool_launch, of_a_strict_pool_stays_on_its_stream)
{
	struct philox_pool *strict =
		make_pool(f, "strict", pool_kind() | PHILOX_POOL_STRICT);
	void *out = make_memory(f, BYTES);
	struct philox_graph *graph = record_user(f, strict, BYTES, 1, out);
	struct philox_pool_session *session;
	uint64_t events = calls_of(f, "event_record");

	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	FAILS(philox_graph_launch(graph, f->side, NULL, 0), PHILOX_ERROR_BUSY);
	NAMES("philox_pool_join_streams()");
	FAILS(philox_pool_session_begin(strict, f->side, &session),
	      PHILOX_ERROR_BUSY);
	OK(philox_stream_synchronize(f->device, f->stream));
	OK(philox_pool_join_streams(strict, f->stream, f->side));
	OK(philox_graph_launch(graph, f->side, NULL, 0));
	FAILS(philox_graph_launch(graph, f->stream, NULL, 0),
	      PHILOX_ERROR_BUSY);
	cr_assert_eq(calls_of(f, "event_record"), events);
	cr_assert_eq(pool_look(strict).waits, 0);
}

/* --- failures ------------------------------------------------------------- */

POOL_PROMISE(pool_launch, whose_end_cannot_be_recorded_keeps_others_out)
{
	void *out = make_memory(f, BYTES);
	struct philox_graph *graph = record_user(f, pool, BYTES, 1, out);

	log_events(f);
	OK(philox_device_fail(f->device, "event_record", 1,
			      PHILOX_ERROR_DEVICE));
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	cr_assert_str_eq(logged_events(), "launch not recorded");
	FAILS(philox_graph_launch(graph, f->side, NULL, 0), PHILOX_ERROR_BUSY);
	NAMES("philox_pool_join_streams()");
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	OK(philox_graph_launch(graph, f->side, NULL, 0));
	f->injected = 1;
}

POOL_PROMISE(pool_launch, that_cannot_wait_is_refused)
{
	void *out = make_memory(f, BYTES);
	struct philox_graph *graph = record_user(f, pool, BYTES, 1, out);

	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	OK(philox_device_fail(f->device, "event_wait", 1, PHILOX_ERROR_DEVICE));
	FAILS(philox_graph_launch(graph, f->side, NULL, 0),
	      PHILOX_ERROR_DEVICE);
	NAMES("'pool'");
	OK(philox_graph_launch(graph, f->side, NULL, 0));
	f->injected = 1;
}

/* --- sharing -------------------------------------------------------------- */

/* Graphs of falling size take as much as the largest; apart, the sum. */
POOL_PROMISE(pool_launch, of_falling_sizes_share_memory)
{
	const size_t sizes[] = {12 << 20, 9 << 20, 5 << 20, 3 << 20, 1 << 20};
	void *out = make_memory(f, 12 << 20);
	struct philox_pool_checkpoint *empty;
	struct philox_graph *graphs[5];

	OK(philox_pool_checkpoint_create(pool, &empty));
	for (int i = 0; i < 5; i++) {
		OK(philox_pool_restore(pool, empty, NULL, 0, NULL, 0));
		graphs[i] = record_user(f, pool, sizes[i], i + 1, out);
	}
	philox_pool_checkpoint_destroy(empty);
	cr_assert_leq(pool_look(pool).mapped * 100, sizes[0] * 105);
	for (int i = 4; i >= 0; i--) {
		OK(philox_graph_launch(graphs[i], i % 2 ? f->side : f->stream,
				       NULL, 0));
		cr_assert(holds_value(f, out, sizes[i], i + 1), "graph %d", i);
	}
}

/*
 * Three graphs, of which the first makes what the others read: b reads one
 * result and dies, and c's memory is b's. Any order is right in which what is
 * read has been written by the last launch there.
 */
POOL_PROMISE(pool_launch, in_another_order_reads_what_is_live)
{
	void *out = make_memory(f, BYTES);
	struct philox_pool_session *session = pool_record(f, pool);
	struct philox_pool_block c = make_block(pool, f->stream, BYTES);
	struct philox_pool_block d = make_block(pool, f->stream, BYTES), e;
	struct philox_graph *first, *second, *third;

	OK(philox_memory_set(f->device, f->stream, c.address, 1, BYTES));
	OK(philox_memory_set(f->device, f->stream, d.address, 2, BYTES));
	first = pool_recorded(f, session);
	session = pool_record(f, pool);
	OK(philox_memory_copy(f->device, f->stream, out, c.address, BYTES));
	OK(philox_pool_free(pool, f->stream, c.address));
	second = pool_recorded(f, session);
	session = pool_record(f, pool);
	e = make_block(pool, f->stream, BYTES);
	cr_assert_eq(e.address, c.address);
	cr_assert_neq(e.id, c.id, "another buffer at the same address");
	OK(philox_memory_set(f->device, f->stream, e.address, 3, BYTES));
	OK(philox_memory_copy(f->device, f->stream, out, d.address, BYTES));
	third = pool_recorded(f, session);

	OK(philox_graph_launch(first, f->stream, NULL, 0));
	OK(philox_graph_launch(second, f->side, NULL, 0));
	cr_assert(holds_value(f, out, BYTES, 1));
	OK(philox_graph_launch(third, f->stream, NULL, 0));
	cr_assert(holds_value(f, out, BYTES, 2));
	OK(philox_graph_launch(second, f->stream, NULL, 0));
	cr_assert(holds_value(f, out, BYTES, 3), "c is overwritten, as said");
	OK(philox_graph_launch(first, f->stream, NULL, 0));
	OK(philox_graph_launch(third, f->stream, NULL, 0));
	cr_assert(holds_value(f, out, BYTES, 2), "d still lives");
}
