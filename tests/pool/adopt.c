/*
 * tests/pool/adopt.c - graphs that keep a pool's memory
 */
#include <inttypes.h>
#include <stdio.h>
#include "tests/support/beds/pool.h"

enum { BYTES = 5 << 20 };

/* A capture with a session and no pass. */
static struct native capture_only(struct fixture *f, struct philox_pool *pool)
{
	struct philox_pool_session *session;
	struct native native;

	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_THREAD_LOCAL));
	OK(philox_stream_capture_info(f->device, f->stream, NULL, &native.id));
	OK(philox_pool_session_begin(pool, f->stream, &session));
	OK(philox_pool_free(pool, f->stream,
			    make_block(pool, f->stream, BYTES).address));
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
	OK(philox_stream_end_capture(f->device, f->stream, &native.graph));
	OK(philox_native_graph_instantiate(f->device, native.graph,
					   &native.exec));
	return native;
}

POOL_PROMISE(pool_adopt, takes_a_capture_with_a_session_and_no_pass)
{
	struct native native = capture_only(f, pool);
	struct philox_graph *graph, *again;

	OK(philox_graph_adopt(f->context, native.id, native.graph, native.exec,
			      &graph));
	cr_assert_eq(philox_graph_pass_count(graph), 0);
	FAILS(philox_graph_adopt(f->context, native.id, native.graph,
				 native.exec, &again),
	      PHILOX_ERROR_EXISTS);
	NAMES(philox_graph_name(graph));
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	OK(philox_graph_launch(graph, f->side, NULL, 0));
	cr_assert_eq(pool_look(pool).waits, 1);
	OK(philox_device_synchronize(f->device));
	OK(philox_graph_destroy(graph));
	OK(philox_graph_adopt(f->context, native.id, native.graph, native.exec,
			      &graph));
	OK(philox_graph_destroy(graph));
	FAILS(philox_capture_drop(f->context, native.id), PHILOX_ERROR_STATE);
	NAMES("philox_pool_session_end()");
	FAILS(philox_graph_adopt(f->context, native.id + 1000, native.graph,
				 native.exec, &graph),
	      PHILOX_ERROR_NOT_FOUND);
	NAMES("no session");
	destroy_native(f, &native);
	FAILS(philox_graph_adopt(f->context, native.id, (void *)f, (void *)f,
				 &graph),
	      PHILOX_ERROR_NOT_FOUND);
}

POOL_PROMISE(pool_adopt, a_living_graph_s_memory_is_not_trimmed)
{
	struct philox_graph *graph =
		record_user(f, pool, BYTES, 1, make_memory(f, BYTES));
	uint64_t trimmed = 99, pinned = pool_look(pool).pinned;

	cr_assert_eq(pinned, pool_look(pool).mapped);
	OK(philox_pool_reserve(pool, 2 * BYTES));
	cr_assert_gt(pool_look(pool).mapped, pinned);
	cr_assert_eq(pool_look(pool).pinned, pinned);
	OK(philox_pool_trim(pool, &trimmed));
	cr_assert_eq(trimmed, pool_look(pool).mapped_peak - pinned);
	cr_assert_eq(pool_look(pool).mapped, pinned);
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	OK(philox_device_synchronize(f->device));
	if (f->own) /* the native graph is the caller's */
		return;
	OK(philox_graph_destroy(graph));
	OK(philox_pool_trim(pool, &trimmed));
	cr_assert_eq(trimmed, pinned);
	cr_assert_eq(pool_look(pool).mapped, 0);
}

POOL_PROMISE(pool_adopt, a_native_graph_keeps_its_memory_by_itself)
{
	struct native native = capture_only(f, pool);
	struct philox_graph *graph;
	uint64_t trimmed;

	OK(philox_graph_adopt(f->context, native.id, native.graph, native.exec,
			      &graph));
	OK(philox_graph_destroy(graph));
	OK(philox_native_graph_destroy(f->device, native.graph));
	FAILS(philox_pool_destroy(pool), PHILOX_ERROR_BUSY);
	NAMES("capture");
	NAMES("'pool'");
	OK(philox_pool_trim(pool, &trimmed));
	cr_assert_eq(trimmed, 0, "an executable graph lives");
	OK(philox_native_exec_launch(f->device, f->stream, native.exec));
	OK(philox_stream_synchronize(f->device, f->stream));
	OK(philox_native_exec_destroy(f->device, native.exec));
	OK(philox_pool_destroy(pool));
}

static char said[256];

static void keep_said(void *user, const struct philox_log_entry *entry)
{
	(void)user;
	snprintf(said, sizeof(said), "%s", entry->text);
}

POOL_PROMISE(pool_adopt, a_pool_that_is_destroyed_counts_what_is_left)
{
	struct philox_pool_block blocks[3];
	char text[256];

	for (size_t i = 0; i < 3; i++)
		blocks[i] = make_block(pool, f->stream, 1000 * (i + 1));
	OK(philox_pool_free(pool, f->stream, blocks[1].address));
	OK(philox_context_set_log(f->context, keep_said, NULL));
	OK(philox_pool_destroy(pool));
	OK(philox_context_set_log(f->context, NULL, NULL));
	snprintf(text, sizeof(text),
		 "pool 'pool' is destroyed with 2 live blocks of 4000 bytes, "
		 "the first with tag 'block' and id %" PRIu64,
		 blocks[0].id);
	cr_assert_str_eq(said, text);
}

POOL_PROMISE(pool_adopt, a_pool_with_graphs_is_not_destroyed)
{
	struct philox_graph *graph =
		record_user(f, pool, BYTES, 1, make_memory(f, BYTES));
	struct philox_pool_session *session;

	OK(philox_graph_set_name(graph, "decode"));
	FAILS(philox_pool_destroy(pool), PHILOX_ERROR_BUSY);
	NAMES("'decode'");
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	OK(philox_device_synchronize(f->device));
	OK(philox_graph_destroy(graph));
	OK(philox_pool_session_begin(pool, f->stream, &session));
	FAILS(philox_pool_destroy(pool), PHILOX_ERROR_BUSY);
	NAMES("warm-up");
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
	make_block(pool, f->stream, 100);
	log_events(f);
	OK(philox_pool_destroy(pool));
	cr_assert_str_eq(logged_events(), "blocks left");
	make_pool(f, "pool", pool_kind());
}

POOL_PROMISE(pool_adopt, another_exec_of_the_caller_keeps_memory)
{
	struct philox_graph *graph =
		record_user(f, pool, BYTES, 1, make_memory(f, BYTES));
	philox_native_graph native;
	philox_native_exec exec;

	OK(philox_graph_native(graph, &native, NULL));
	OK(philox_native_graph_instantiate(f->device, native, &exec));
	OK(philox_graph_destroy(graph));
	FAILS(philox_pool_destroy(pool), PHILOX_ERROR_BUSY);
	OK(philox_native_exec_launch(f->device, f->stream, exec));
	OK(philox_stream_synchronize(f->device, f->stream));
	OK(philox_native_exec_destroy(f->device, exec));
	OK(philox_pool_destroy(pool));
}

POOL_PROMISE(pool_adopt, a_graph_may_use_several_pools)
{
	struct philox_pool *second = make_pool(f, "second", pool_kind());
	struct philox_pool_session *one, *two;
	struct philox_graph *graph;
	uint64_t records;

	record_begin(f);
	OK(philox_pool_session_begin(pool, f->stream, &one));
	OK(philox_pool_session_begin(second, f->stream, &two));
	make_block(pool, f->stream, 600);
	make_block(second, f->stream, 600);
	OK(philox_pool_session_end(one, PHILOX_OK, NULL));
	OK(philox_pool_session_end(two, PHILOX_OK, NULL));
	graph = record_end(f);
	records = calls_of(f, "event_record");
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	cr_assert_eq(calls_of(f, "event_record"), records + 2);
	OK(philox_graph_launch(graph, f->side, NULL, 0));
	cr_assert_eq(pool_look(pool).waits, 1);
	cr_assert_eq(pool_look(second).waits, 1);
}

/* A save waits for the device, which would break the capture. */
POOL_PROMISE(pool_adopt, a_context_with_an_open_session_is_not_saved)
{
	struct philox_pool_session *session;
	philox_native_graph native;
	char *text;

	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_THREAD_LOCAL));
	OK(philox_pool_session_begin(pool, f->stream, &session));
	FAILS(philox_context_save_text(f->context, &text, NULL),
	      PHILOX_ERROR_BUSY);
	NAMES("'pool'");
	FAILS(philox_pool_trim(pool, NULL), PHILOX_ERROR_BUSY);
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
	OK(philox_stream_end_capture(f->device, f->stream, &native));
	OK(philox_native_graph_destroy(f->device, native));
}
