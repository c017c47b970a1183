/*
 * tests/graph/bodies/programs.c - bodies in the text of a graph's program
 */
#include <stdlib.h>
#include <string.h>
#include "graph/capture/capture.h"
#include "tests/support/loops.h"

/* CUDA has the names of kernels in its source. */
static const char *on_device(const struct fixture *f, const char *host,
			     const char *cuda)
{
	return philox_device_is_host(f->device) ? host : cuda;
}

static void graph_is(const struct fixture *f, const struct philox_graph *graph,
		     const char *host, const char *cuda)
{
	const char *expected = on_device(f, host, cuda);
	char *text;
	size_t size;

	OK(philox_graph_explain_text(graph, 0, &text, &size));
	cr_assert_eq(strlen(text), size);
	cr_assert(!strcmp(text, expected), "\n%s\nis not\n%s", text, expected);
	free(text);
}

static void forward_of_two(struct philox_region *region, philox_stream stream,
			   uint32_t *array)
{
	const struct philox_span span = philox_span_elements(0, 4);
	struct philox_pass pass;

	OK(philox_forward_begin(region, stream, PHILOX_PASS_INFERENCE, &pass));
	OK(philox_pass_bits(&pass, 0, PHILOX_DTYPE_U32, span, array));
	OK(philox_pass_bits(&pass, 1, PHILOX_DTYPE_U32, span, array));
	OK(philox_pass_commit(&pass, 0, NULL));
}

PROMISE(programs, nodes_in_bodies_are_listed_at_the_end_of_their_body)
{
	struct philox_region *region = make_region(f, "a");
	uint32_t *array = make_array(f);
	struct tape tape = make_tape(f);
	struct philox_conditional loop, branch;
	struct philox_graph *graph;
	philox_stream inmost;

	OK(philox_stream_create(f->device, 0, &inmost));
	record_begin(f);
	begin_while(f, f->stream, f->side, 6, tape, &loop);
	forward_of_two(region, f->side, array);
	begin_if(f, f->side, inmost, tape, &branch);
	OK(philox_memory_set(f->device, inmost, array, 0, 4));
	OK(philox_conditional_end(&branch));
	end_while(f, f->side, tape, &loop);
	graph = record_end(f);
	graph_is(
		f, graph,
		"graph 'graph 1'\n"
		"  %1 = body 0 of while 0, at most 6 runs\n"
		"    %2 = forward region 'a', 6 iterations, inference\n"
		"    %3 = draw bits u32 [0, 4)  region 'a' op 0 'first'  "
		"cells %2\n"
		"    %4 = draw bits u32 [0, 4)  region 'a' op 1 'second'  "
		"cells %2\n"
		"    %5 = commit %2\n"
		"    %6 = body 1 of if 1, at most 6 runs\n"
		"      nodes: kernel 'body', set\n"
		"    %7 = end of body 1\n"
		"    nodes: 2 x kernel 'bits_u32', kernel 'body', 2 x kernel "
		"'condition', 4 x copy, conditional node\n"
		"  %8 = end of body 0\n"
		"  nodes: kernel 'condition', kernel 'head', 2 x copy, "
		"conditional node\n",
		"graph 'graph 1'\n"
		"  %1 = body 0 of while 0, at most 6 runs\n"
		"    %2 = forward region 'a', 6 iterations, inference\n"
		"    %3 = draw bits u32 [0, 4)  region 'a' op 0 'first'  "
		"cells %2\n"
		"    %4 = draw bits u32 [0, 4)  region 'a' op 1 'second'  "
		"cells %2\n"
		"    %5 = commit %2\n"
		"    %6 = body 1 of if 1, at most 6 runs\n"
		"      nodes: kernel 'philox_body', set\n"
		"    %7 = end of body 1\n"
		"    nodes: kernel 'philox_body', 2 x kernel "
		"'philox_condition', 2 x kernel 'philox_fill_bits_u32', 4 x "
		"copy, conditional node\n"
		"  %8 = end of body 0\n"
		"  nodes: kernel 'philox_condition', kernel 'philox_head_4', 2 "
		"x copy, conditional node\n");
	OK(philox_graph_destroy(graph));
	OK(philox_stream_destroy(f->device, inmost));
}

/* Nothing of the caller's is in one. */
PROMISE(programs, each_body_of_a_switch_has_its_own_nodes)
{
	uint32_t *array = make_array(f);
	struct tape tape = make_tape(f);
	struct philox_conditional node;
	struct philox_graph *graph;

	record_begin(f);
	begin_node(f, f->stream, PHILOX_CONDITIONAL_SWITCH, 3, 0, tape, &node);
	OK(philox_conditional_body(&node, 0, f->side));
	OK(philox_memory_set(f->device, f->side, array, 0, 4));
	OK(philox_conditional_body(&node, 1, f->side));
	OK(philox_conditional_body(&node, 2, f->side));
	OK(philox_memory_copy(f->device, f->side, array, array + 1, 4));
	OK(philox_conditional_end(&node));
	graph = record_end(f);
	graph_is(
		f, graph,
		"graph 'graph 1'\n"
		"  %1 = body 0 of switch 0, at most 1 run\n"
		"    nodes: kernel 'body', set\n"
		"  %2 = end of body 0\n"
		"  %3 = body 1 of switch 0, at most 1 run\n"
		"    nodes: kernel 'body'\n"
		"  %4 = end of body 1\n"
		"  %5 = body 2 of switch 0, at most 1 run\n"
		"    nodes: kernel 'body', copy\n"
		"  %6 = end of body 2\n"
		"  nodes: kernel 'condition', kernel 'head', 2 x copy, "
		"conditional node\n",
		"graph 'graph 1'\n"
		"  %1 = body 0 of switch 0, at most 1 run\n"
		"    nodes: kernel 'philox_body', set\n"
		"  %2 = end of body 0\n"
		"  %3 = body 1 of switch 0, at most 1 run\n"
		"    nodes: kernel 'philox_body'\n"
		"  %4 = end of body 1\n"
		"  %5 = body 2 of switch 0, at most 1 run\n"
		"    nodes: kernel 'philox_body', copy\n"
		"  %6 = end of body 2\n"
		"  nodes: kernel 'philox_condition', kernel 'philox_head_4', 2 "
		"x copy, conditional node\n");
	OK(philox_graph_destroy(graph));
}

/* The body's end is among the steps that are not kept. */
PROMISE(programs, nodes_of_a_body_whose_end_was_not_kept_are_listed_last)
{
	struct philox_region *region = make_region(f, "a");
	struct tape tape = make_tape(f);
	struct philox_conditional branch;
	struct philox_graph *graph;
	struct philox_pass pass;
	struct philox_rng rng;
	const char *end, *last;
	char *text;

	record_begin(f);
	begin_if(f, f->stream, f->side, tape, &branch);
	OK(philox_forward_begin(region, f->side, PHILOX_PASS_INFERENCE, &pass));
	for (unsigned i = 0; i < PROGRAM_MOST; i++)
		OK(philox_pass_rng(&pass, 0, 0, &rng));
	OK(philox_pass_commit(&pass, 0, NULL));
	OK(philox_conditional_end(&branch));
	graph = record_end(f);
	OK(philox_graph_explain_text(graph, 0, &text, NULL));
	end = strstr(text, "\n  and ");
	cr_assert(end);
	last = on_device(
		f,
		"\n  and 4 more steps that were not kept\n"
		"  nodes: kernel 'condition', kernel 'head', 2 x copy, "
		"conditional node\n"
		"  nodes of body 0: kernel 'body'\n",
		"\n  and 4 more steps that were not kept\n"
		"  nodes: kernel 'philox_condition', kernel "
		"'philox_head_4', 2 x copy, conditional node\n"
		"  nodes of body 0: kernel 'philox_body'\n");
	cr_assert(!strcmp(end, last), "%s", end);
	free(text);
	OK(philox_graph_destroy(graph));
}
