/*
 * tests/graph/bodies/ends.c - bodies whose capture, or whose graph's first
 * launch, ends otherwise than it should
 */
#include <philox/device.h>
#include "tests/support/loops.h"

enum { LIMIT = 3 };

static uint64_t capture_of(struct fixture *f, philox_stream stream)
{
	enum philox_capture_status status;
	uint64_t id = 0;

	OK(philox_stream_capture_info(f->device, stream, &status, &id));
	return status == PHILOX_CAPTURE_NONE ? 0 : id;
}

/* --- the capture of a body ------------------------------------------------ */

PROMISE(bodies_ends, a_capture_that_is_not_the_bodys_goes_on)
{
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_conditional node;
	philox_native_graph body;
	struct philox_graph *other, *graph;
	uint32_t *array = make_array(f);
	uint64_t id;

	OK(philox_capture_begin(f->context, f->stream));
	begin_if(f, f->stream, f->side, tape, &node);
	OK(philox_stream_end_capture(f->device, f->side, &body));
	OK(philox_capture_begin(f->context, f->side));
	id = capture_of(f, f->side);
	FAILS(philox_conditional_end(&node), PHILOX_ERROR_STATE);
	NAMES("ended by somebody else");
	cr_assert_eq(capture_of(f, f->side), id);
	{
		philox_stream stream = f->stream;

		f->stream = f->side;
		captured_forward(f, region, 0, array);
		f->stream = stream;
	}
	OK(philox_capture_end(f->context, f->side, &other));
	FAILS(philox_capture_end(f->context, f->stream, &graph),
	      PHILOX_ERROR_STATE);
	OK(philox_graph_destroy(other));
}

PROMISE(bodies_ends, a_dropped_capture_gives_its_streams_back)
{
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_conditional node;
	const uint32_t *iteration;
	struct philox_graph *graph;
	struct philox_pass pass;

	OK(philox_capture_begin(f->context, f->stream));
	begin_while(f, f->stream, f->side, LIMIT, tape, &node);
	OK(philox_capture_drop(f->context, capture_of(f, f->stream)));
	runs(f, f->side);
	FAILS(philox_forward_begin(region, f->stream, 0, &pass),
	      PHILOX_ERROR_STATE);
	FAILS(philox_conditional_iteration(&node, 0, &iteration),
	      PHILOX_ERROR_STATE);
	FAILS(philox_conditional_body(&node, 0, f->side), PHILOX_ERROR_STATE);
	runs(f, f->side);
	FAILS(philox_conditional_end(&node), PHILOX_ERROR_STATE);
	FAILS(philox_capture_end(f->context, f->stream, &graph),
	      PHILOX_ERROR_STATE);
	runs(f, f->stream);
}

/* --- what a failed call leaves -------------------------------------------- */

GRAPH_PROMISE(bodies_ends, a_view_that_fails_needs_no_iteration)
{
	const struct philox_ticket named_at_launch = {0, 0};
	struct philox_region *region = make_region(f, "layer");
	struct forward kept = forward(f, region);
	struct philox_graph_pass_info info =
		PHILOX_INIT(struct philox_graph_pass_info);
	struct philox_launch_pass use = {kept.ticket, 0, 0};
	struct philox_graph *graph;
	struct philox_pass pass, view;
	uint32_t *array = make_array(f);

	record_begin(f);
	OK(philox_backward_begin(region, f->stream, named_at_launch, 0, &pass));
	OK(philox_device_fail(f->device, "capture_tips", 1,
			      PHILOX_ERROR_DEVICE));
	FAILS(philox_pass_at(&pass, 9, &view), PHILOX_ERROR_DEVICE);
	draw(&pass, array);
	OK(philox_pass_commit(&pass, 0, NULL));
	graph = record_end(f);
	OK(philox_graph_get_pass_info(graph, 0, &info));
	cr_assert_eq(info.iterations, 1);
	OK(philox_graph_launch(graph, f->stream, &use, 1));
	SAME(read_numbers(f, array), kept.saw, "the backward");
}

/* Whatever of the first message was copied when its launch failed. */
GRAPH_PROMISE(bodies_ends, copies_of_a_launch_that_failed_are_made_good)
{
	static const unsigned counts[] = {2};
	struct philox_region *region = make_wide(f, "layer", 0);
	struct tape tape = make_tape(f);

	for (unsigned failing = 1; failing <= 2; failing++) {
		struct philox_launch_pass use = {{0, 0}, 0, 0};
		struct philox_graph *graph;
		struct log log;

		make_log(f, &log);
		graph = record_while(f, region, LIMIT, tape, &log);
		set_counts(f, tape, counts, 1);
		clear_log(f, &log);
		OK(philox_device_fail(f->device, "copy", failing,
				      PHILOX_ERROR_DEVICE));
		FAILS(philox_graph_launch(graph, f->stream, &use, 1),
		      PHILOX_ERROR_DEVICE);
		use = launch_one(f, graph);
		read_log(f, &log);
		LOGGED_IN_ALL(&log, 2);
		for (unsigned i = 0; i < 2; i++)
			LOGGED(&log, i, iteration_of(f, region, use.ticket, i));
	}
	nothing_wrong(f);
}
