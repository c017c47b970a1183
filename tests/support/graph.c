/*
 * tests/support/graph.c - recordings in both ways, and launches of them
 */
#include <inttypes.h>
#include <stdio.h>
#include "tests/support/support.h"

void record_begin(struct fixture *f)
{
	if (f->own)
		OK(philox_stream_begin_capture(f->device, f->stream,
					       PHILOX_CAPTURE_GLOBAL));
	else
		OK(philox_capture_begin(f->context, f->stream));
	OK(philox_stream_capture_info(f->device, f->stream, NULL,
				      &f->capture_id));
}

/*
 * The host device runs the nodes of each executable graph made from one native
 * graph in another legal order, so that missing edges show.
 */
static void skip_orders(struct fixture *f, philox_native_graph native)
{
	for (unsigned i = 0; i < f->order; i++) {
		philox_native_exec exec;

		OK(philox_native_graph_instantiate(f->device, native, &exec));
		OK(philox_native_exec_destroy(f->device, exec));
	}
}

struct philox_graph *record_end(struct fixture *f)
{
	struct philox_graph *graph;
	size_t i = f->n_natives;

	if (!f->own) {
		OK(philox_capture_end(f->context, f->stream, &graph));
		return graph;
	}
	cr_assert(i < sizeof(f->natives) / sizeof(f->natives[0]));
	OK(philox_stream_end_capture(f->device, f->stream, &f->natives[i]));
	skip_orders(f, f->natives[i]);
	OK(philox_native_graph_instantiate(f->device, f->natives[i],
					   &f->execs[i]));
	OK(philox_graph_adopt(f->context, f->capture_id, f->natives[i],
			      f->execs[i], &graph));
	f->n_natives++;
	return graph;
}

static void keep_message(struct fixture *f)
{
	snprintf(f->message, sizeof(f->message), "%s", philox_error_message());
}

/* Makes a graph of it, which must fail, and gets rid of it. */
static enum philox_status adopt_failing(struct fixture *f,
					philox_native_graph native)
{
	philox_native_exec exec;
	struct philox_graph *graph = NULL;
	enum philox_status status;

	status = philox_native_graph_instantiate(f->device, native, &exec);
	if (status == PHILOX_OK) {
		status = philox_graph_adopt(f->context, f->capture_id, native,
					    exec, &graph);
		keep_message(f);
		OK(philox_native_exec_destroy(f->device, exec));
	} else {
		keep_message(f);
	}
	cr_assert(status != PHILOX_OK && !graph);
	OK(philox_native_graph_destroy(f->device, native));
	return status;
}

enum philox_status record_end_failing(struct fixture *f)
{
	enum philox_capture_status capture;
	enum philox_status status;
	philox_native_graph native = NULL;
	struct philox_graph *graph = NULL;

	if (f->own) {
		status = philox_stream_end_capture(f->device, f->stream,
						   &native);
		if (status == PHILOX_OK)
			status = adopt_failing(f, native);
		else
			keep_message(f);
		FAILS_EITHER(philox_capture_drop(f->context, f->capture_id),
			     PHILOX_OK, PHILOX_ERROR_NOT_FOUND);
	} else {
		status = philox_capture_end(f->context, f->stream, &graph);
		keep_message(f);
		cr_assert_null(graph);
	}
	cr_assert_neq(status, PHILOX_OK);
	OK(philox_stream_capture_info(f->device, f->stream, &capture, NULL));
	cr_assert_eq(capture, PHILOX_CAPTURE_NONE);
	return status;
}

struct philox_ticket captured_forward(struct fixture *f,
				      struct philox_region *region,
				      unsigned flags, uint32_t *array)
{
	struct philox_pass pass;
	struct philox_ticket ticket;

	OK(philox_forward_begin(region, f->stream, flags, &pass));
	draw(&pass, array);
	OK(philox_pass_commit(&pass, 0, &ticket));
	return ticket;
}

void captured_backward(struct fixture *f, struct philox_region *region,
		       struct philox_ticket ticket, unsigned flags,
		       uint32_t *array)
{
	struct philox_pass pass;

	OK(philox_backward_begin(region, f->stream, ticket, flags, &pass));
	draw(&pass, array);
	OK(philox_pass_commit(&pass, 0, NULL));
}

struct philox_graph *record_forward(struct fixture *f,
				    struct philox_region *region,
				    unsigned flags, uint32_t *array)
{
	record_begin(f);
	captured_forward(f, region, flags, array);
	return record_end(f);
}

struct philox_graph *record_backward(struct fixture *f,
				     struct philox_region *region,
				     uint32_t *array)
{
	const struct philox_ticket named_at_launch = {0, 0};

	record_begin(f);
	captured_backward(f, region, named_at_launch, 0, array);
	return record_end(f);
}

struct philox_graph *record_pair(struct fixture *f,
				 struct philox_region *region,
				 uint32_t *forward_array,
				 uint32_t *backward_array)
{
	struct philox_ticket ticket;

	record_begin(f);
	ticket = captured_forward(f, region, 0, forward_array);
	captured_backward(f, region, ticket, 0, backward_array);
	return record_end(f);
}

struct forward launch_forward(struct fixture *f, struct philox_graph *graph,
			      struct philox_region *region,
			      const uint32_t *array)
{
	struct forward made = {.region = region};
	struct philox_launch_pass use = {{0, 0}, 0, 0};

	OK(philox_graph_launch(graph, f->stream, &use, 1));
	made.ticket = use.ticket;
	made.saw = read_numbers(f, array);
	return made;
}

void launch_backward(struct fixture *f, struct philox_graph *graph,
		     const struct forward *of, unsigned flags,
		     const uint32_t *array)
{
	struct philox_launch_pass use = {of->ticket, flags, 0};

	OK(philox_graph_launch(graph, f->stream, &use, 1));
	SAME(read_numbers(f, array), of->saw,
	     "the captured backward of forward %" PRIu64 " drew other numbers",
	     of->ticket.serial);
}

philox_native_exec native_exec(struct philox_graph *graph)
{
	philox_native_exec exec;

	OK(philox_graph_native(graph, NULL, &exec));
	return exec;
}

struct native capture_natively(struct fixture *f, struct philox_region *region,
			       uint32_t *array,
			       const struct philox_state **cells)
{
	struct native native;
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_THREAD_LOCAL));
	OK(philox_stream_capture_info(f->device, f->stream, NULL, &native.id));
	if (region) {
		OK(philox_forward_begin(region, f->stream, 0, &pass));
		if (cells)
			OK(philox_pass_states(&pass, cells));
		draw(&pass, array);
		OK(philox_pass_commit(&pass, 0, &ticket));
	}
	OK(philox_stream_end_capture(f->device, f->stream, &native.graph));
	OK(philox_native_graph_instantiate(f->device, native.graph,
					   &native.exec));
	return native;
}

void destroy_native(struct fixture *f, struct native *native)
{
	OK(philox_native_exec_destroy(f->device, native->exec));
	OK(philox_native_graph_destroy(f->device, native->graph));
}
