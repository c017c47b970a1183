/*
 * tests/pool/order.c - memory is given to nobody who does not come after its
 * work
 *
 * A wait is an event_wait on the stream that gets the memory, and the event
 * must have been recorded after the work.
 */
#include "tests/support/beds/pool.h"

enum { BYTES = 2 << 20 };

struct counts {
	uint64_t records, waits;
};

static struct counts count(const struct fixture *f)
{
	return (struct counts){calls_of(f, "event_record"),
			       calls_of(f, "event_wait")};
}

/* The last stream, with memory of its own that was freed. */
static void make_last_stream(struct fixture *f, struct philox_pool *pool)
{
	struct philox_pool_block block = make_block(pool, f->stream, 600);

	OK(philox_pool_free(pool, f->stream, block.address));
}

static struct philox_pool_block freed_on(struct philox_pool *pool,
					 philox_stream stream)
{
	struct philox_pool_block block = make_block(pool, stream, BYTES);

	OK(philox_pool_free(pool, stream, block.address));
	return block;
}

/* A capture on the side stream, which joins nothing that was eager there. */
static struct philox_pool_block capture_on_side(struct fixture *f,
						struct philox_pool *pool)
{
	struct philox_pool_session *session;
	struct philox_pool_block block;
	philox_native_graph native;

	OK(philox_stream_begin_capture(f->device, f->side,
				       PHILOX_CAPTURE_RELAXED));
	OK(philox_pool_session_begin(pool, f->side, &session));
	block = freed_on(pool, f->side);
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
	OK(philox_stream_end_capture(f->device, f->side, &native));
	OK(philox_native_graph_destroy(f->device, native));
	return block;
}

POOL_PROMISE(pool_order, a_capture_does_not_use_what_its_stream_freed_eagerly)
{
	struct philox_pool_block eager, captured;

	make_last_stream(f, pool);
	eager = freed_on(pool, f->side);
	captured = capture_on_side(f, pool);
	cr_assert_neq(captured.address, eager.address);
	cr_assert_neq(make_block(pool, f->stream, BYTES).address,
		      eager.address);
	cr_assert_eq(make_block(pool, f->side, BYTES).address, eager.address);
}

POOL_PROMISE(pool_order, home_that_was_ordered_is_waited_for_anew)
{
	struct philox_graph *graph =
		record_user(f, pool, 600, 1, make_memory(f, 600));
	struct counts before;

	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	freed_on(pool, f->side);
	OK(philox_pool_join_streams(pool, f->side, f->stream));
	before = count(f);
	OK(philox_graph_launch(graph, f->side, NULL, 0));
	cr_assert_eq(count(f).waits, before.waits + 1);
	cr_assert_eq(count(f).records, before.records + 2,
		     "at the last stream's end, then at the launch's");
}

POOL_PROMISE(pool_order, home_is_waited_for_anew_though_others_were_joined)
{
	struct philox_graph *graph =
		record_user(f, pool, 600, 1, make_memory(f, 600));
	philox_stream third;
	struct counts before;

	OK(philox_stream_create(f->device, 0, &third));
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	freed_on(pool, f->side);
	OK(philox_pool_join_streams(pool, f->side, f->stream));
	freed_on(pool, third);
	OK(philox_pool_join_streams(pool, third, f->side));
	before = count(f);
	OK(philox_graph_launch(graph, f->side, NULL, 0));
	cr_assert_eq(count(f).waits, before.waits + 1);
	cr_assert_eq(count(f).records, before.records + 2,
		     "at the last stream's end, then at the launch's");
	OK(philox_stream_destroy(f->device, third));
}

POOL_PROMISE(pool_order, nobody_has_the_memory_of_a_launch_on_its_way)
{
	struct philox_pool_block kept = make_block(pool, f->stream, BYTES);
	struct philox_graph *graph =
		record_user(f, pool, BYTES, 1, make_memory(f, BYTES));
	struct philox_pool_block block;

	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	OK(philox_graph_prologue(graph, f->side, NULL, 0));
	OK(philox_pool_free(pool, f->stream, kept.address));
	block = make_block(pool, f->stream, BYTES);
	cr_assert_eq(block.address, kept.address, "its own");
	OK(philox_pool_free(pool, f->stream, block.address));
	OK(philox_native_exec_launch(f->device, f->side, native_exec(graph)));
	OK(philox_graph_epilogue(graph, PHILOX_OK));
	block = make_block(pool, f->side, BYTES);
	cr_assert_neq(block.address, kept.address,
		      "freed on another stream during the launch");
}

POOL_PROMISE(pool_order, a_stream_that_becomes_home_has_what_it_freed)
{
	struct philox_graph *graph =
		record_user(f, pool, 600, 1, make_memory(f, 600));
	struct philox_pool_checkpoint *checkpoint;
	struct philox_pool_block block;
	uint64_t mapped;

	OK(philox_pool_checkpoint_create(pool, &checkpoint));
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	freed_on(pool, f->side);
	OK(philox_graph_launch(graph, f->side, NULL, 0));
	mapped = pool_look(pool).mapped;
	block = make_block(pool, f->side, BYTES);
	cr_assert_eq(pool_look(pool).mapped, mapped);
	OK(philox_pool_free(pool, f->side, block.address));
	OK(philox_pool_restore(pool, checkpoint, NULL, 0, NULL, 0));
	philox_pool_checkpoint_destroy(checkpoint);
}

POOL_PROMISE(pool_order, a_warm_up_does_not_end_in_a_capture)
{
	struct philox_pool_session *session;
	philox_native_graph native;

	OK(philox_pool_session_begin(pool, f->stream, &session));
	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_RELAXED));
	FAILS(philox_pool_session_end(session, PHILOX_OK, NULL),
	      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	OK(philox_stream_end_capture(f->device, f->stream, &native));
	OK(philox_native_graph_destroy(f->device, native));
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
}

POOL_PROMISE(pool_order, a_session_that_was_rolled_back_is_still_to_be_ended)
{
	struct philox_pool_session *session;
	philox_native_graph native;

	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_RELAXED));
	OK(philox_pool_session_begin(pool, f->stream, &session));
	OK(philox_stream_end_capture(f->device, f->stream, &native));
	OK(philox_native_graph_destroy(f->device, native));
	FAILS(philox_pool_destroy(pool), PHILOX_ERROR_BUSY);
	OK(philox_pool_session_end(session, PHILOX_ERROR_DEVICE, NULL));
	OK(philox_pool_destroy(pool));
}

/* A capture of ours without a pass or a session is known, too. */
POOL_PROMISE(pool_order, memory_is_not_trimmed_under_a_capture_of_ours)
{
	OK(philox_pool_reserve(pool, BYTES));
	OK(philox_capture_begin(f->context, f->stream));
	FAILS(philox_pool_trim(pool, NULL), PHILOX_ERROR_BUSY);
	{
		struct philox_graph *graph;

		OK(philox_capture_end(f->context, f->stream, &graph));
	}
	OK(philox_pool_trim(pool, NULL));
	cr_assert_eq(pool_look(pool).mapped, 0);
}
