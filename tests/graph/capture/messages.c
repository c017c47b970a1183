/*
 * tests/graph/capture/messages.c - what graphs say that cannot be launched,
 * word for word; see tests/ledger/messages.c
 */
#include "tests/support/support.h"

PROMISE(graph_messages, uses_that_do_not_fit)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_graph *graph =
		record_forward(f, region, 0, make_array(f));
	struct philox_graph_pass_info info = {.size = sizeof(info)};
	struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}};

	SAYS(philox_graph_launch(graph, f->stream, uses, 2),
	     PHILOX_ERROR_INVALID, "'graph 1' has 1 pass, not 2");
	SAYS(philox_graph_launch(graph, f->stream, NULL, 1),
	     PHILOX_ERROR_INVALID, "'graph 1': passes is NULL");
	SAYS(philox_graph_get_pass_info(graph, 5, &info), PHILOX_ERROR_INVALID,
	     "'graph 1' has 1 pass: there is no pass 5");
	uses[0].reserved = 3;
	SAYS(philox_graph_launch(graph, f->stream, uses, 1),
	     PHILOX_ERROR_INVALID, "'graph 1', pass 0: reserved is 0x3, not 0");
	uses[0].reserved = 0;
	uses[0].flags = PHILOX_PASS_INFERENCE;
	SAYS(philox_graph_launch(graph, f->stream, uses, 1),
	     PHILOX_ERROR_INVALID,
	     "'graph 1', pass 0: flags is 0x1, but a launch pass takes PHILOX_PASS_RETAIN "
	     "only: other flags are those of the captured pass");
}

PROMISE(graph_messages, a_graph_of_two_uses)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *graph = record_pair(f, region, array, array);
	struct philox_launch_pass use = {0};

	SAYS(philox_graph_launch(graph, f->stream, &use, 1),
	     PHILOX_ERROR_INVALID, "'graph 1' has 2 passes, not 1");
}

PROMISE(graph_messages, a_ticket_that_a_launch_uses_up)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_graph *graph = record_backward(f, region, make_array(f));
	struct philox_launch_pass use = {.ticket = forward(f, region).ticket};

	OK(philox_graph_prologue(graph, f->stream, &use, 1));
	SAYS(philox_ticket_release(region, f->stream, use.ticket),
	     PHILOX_ERROR_BUSY,
	     "region 'layer': a launch is using up ticket 1");
	OK(philox_graph_epilogue(graph, PHILOX_ERROR_DEVICE));
}

PROMISE(graph_messages, launches_that_were_not_announced)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_graph *graph =
		record_forward(f, region, 0, make_array(f));

	OK(philox_native_exec_launch(f->device, f->stream, native_exec(graph)));
	OK(philox_stream_synchronize(f->device, f->stream));
	SAYS(philox_context_save(f->context, "/nowhere/x"),
	     PHILOX_ERROR_UNANNOUNCED,
	     "a context cannot be saved now: 'graph 1' (regions: layer) was "
	     "launched without philox: see philox_context_check()");
	SAYS(philox_context_check(f->context, NULL), PHILOX_ERROR_UNANNOUNCED,
	     "1 launch of 1 graph was made without philox, first of 'graph 1' "
	     "(regions: layer)");
	OK(philox_native_exec_launch(f->device, f->stream, native_exec(graph)));
	OK(philox_native_exec_launch(f->device, f->stream, native_exec(graph)));
	OK(philox_stream_synchronize(f->device, f->stream));
	SAYS(philox_context_check(f->context, NULL), PHILOX_ERROR_UNANNOUNCED,
	     "2 launches of 1 graph were made without philox, first of 'graph 1' "
	     "(regions: layer)");
}

PROMISE(graph_messages, a_capture_that_is_not_known)
{
	SAYS(philox_capture_drop(f->context, 12345), PHILOX_ERROR_NOT_FOUND,
	     "capture 12345 is not known: it had no philox pass and no session "
	     "in a pool, or it was dropped or destroyed");
}
