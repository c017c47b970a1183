/*
 * tests/pool/programs.c - memory of pools in the text of a graph's program
 */
#include <stdlib.h>
#include <string.h>
#include "tests/support/beds/pool.h"

/* Nodes come after the steps, if there are any. */
static void steps_are(const struct philox_graph *graph, const char *expected)
{
	const size_t n = strlen(expected);
	char *text;

	OK(philox_graph_explain_text(graph, 0, &text, NULL));
	cr_assert(!strncmp(text, expected, n) &&
			  (!text[n] || !strncmp(text + n, "  nodes", 7)),
		  "\n%s\nis not\n%s", text, expected);
	free(text);
}

static void *take(struct philox_pool *pool, philox_stream stream, size_t bytes,
		  size_t alignment, const char *tag)
{
	struct philox_pool_block block;

	OK(philox_pool_alloc(pool, stream, bytes, alignment, tag, &block));
	return block.address;
}

static void forward_to(struct fixture *f, struct philox_region *region,
		       void *array)
{
	struct philox_pass pass;

	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	OK(philox_pass_bits(&pass, 0, PHILOX_DTYPE_U32,
			    philox_span_elements(0, 4), array));
	OK(philox_pass_commit(&pass, 0, NULL));
}

POOL_PROMISE(pool_programs, have_allocations_and_frees_among_the_passes)
{
	struct philox_region *region = make_region(f, "a");
	void *before = take(pool, f->stream, 1000, 0, "before"), *x, *y;
	struct philox_pool_session *session;
	struct philox_graph *graph;

	OK(philox_capture_begin(f->context, f->stream));
	OK(philox_pool_session_begin(pool, f->stream, &session));
	x = take(pool, f->stream, 64, 0, "x");
	forward_to(f, region, x);
	y = take(pool, f->stream, 4096, 2048, NULL);
	OK(philox_pool_free(pool, f->stream, x));
	forward_to(f, region, y);
	OK(philox_pool_free(pool, f->stream, before));
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
	OK(philox_capture_end(f->context, f->stream, &graph));
	steps_are(
		graph,
		"graph 'graph 1'\n"
		"  %1 = alloc 64 bytes  'x'  pool 'pool'  segment 0 [1024, "
		"1088)\n"
		"  %2 = forward region 'a', inference\n"
		"  %3 = draw bits u32 [0, 4)  region 'a' op 0 'first'  cells "
		"%2\n"
		"  %4 = commit %2\n"
		"  %5 = alloc 4096 bytes alignment 2048  pool 'pool'  segment "
		"0 [2048, 6144)\n"
		"  %6 = free %1\n"
		"  %7 = forward region 'a', inference\n"
		"  %8 = draw bits u32 [0, 4)  region 'a' op 0 'first'  cells "
		"%7\n"
		"  %9 = commit %7\n"
		"  %10 = free 1000 bytes  'before'  pool 'pool'  segment 0 [0, "
		"1000)\n");
	OK(philox_graph_destroy(graph));
}

POOL_PROMISE(pool_programs,
	     name_the_pool_of_each_block_in_the_order_of_the_calls)
{
	struct philox_pool *other = make_pool(f, "other", 0);
	struct philox_pool_session *session, *second;
	struct philox_graph *graph;
	void *x, *y;

	OK(philox_capture_begin(f->context, f->stream));
	OK(philox_pool_session_begin(pool, f->stream, &session));
	OK(philox_pool_session_begin(other, f->stream, &second));
	x = take(pool, f->stream, 64, 0, "x");
	y = take(other, f->stream, 32, 0, "y");
	OK(philox_pool_free(pool, f->stream, x));
	take(pool, f->stream, 16, 0, "z");
	OK(philox_pool_free(other, f->stream, y));
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
	OK(philox_pool_session_end(second, PHILOX_OK, NULL));
	OK(philox_capture_end(f->context, f->stream, &graph));
	steps_are(
		graph,
		"graph 'graph 1'\n"
		"  %1 = alloc 64 bytes  'x'  pool 'pool'  segment 0 [0, 64)\n"
		"  %2 = alloc 32 bytes  'y'  pool 'other'  segment 0 [0, 32)\n"
		"  %3 = free %1\n"
		"  %4 = alloc 16 bytes  'z'  pool 'pool'  segment 0 [0, 16)\n"
		"  %5 = free %2\n");
	OK(philox_graph_destroy(graph));
	OK(philox_pool_destroy(other));
}

POOL_PROMISE(pool_programs, of_adopted_graphs_without_a_pass_have_them_too)
{
	struct philox_pool_session *session;
	struct philox_graph *graph;
	struct native native;

	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_THREAD_LOCAL));
	OK(philox_stream_capture_info(f->device, f->stream, NULL, &native.id));
	OK(philox_pool_session_begin(pool, f->stream, &session));
	take(pool, f->stream, 64, 0, "x");
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
	OK(philox_stream_end_capture(f->device, f->stream, &native.graph));
	OK(philox_native_graph_instantiate(f->device, native.graph,
					   &native.exec));
	OK(philox_graph_adopt(f->context, native.id, native.graph, native.exec,
			      &graph));
	steps_are(graph,
		  "graph 'graph 1'\n"
		  "  %1 = alloc 64 bytes  'x'  pool 'pool'  segment 0 [0, "
		  "64)\n");
	OK(philox_graph_destroy(graph));
	destroy_native(f, &native);
}
