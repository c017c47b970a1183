/*
 * tests/probe/shape.c - the shape of a graph: what it costs to launch, and how
 * much memory an executable graph takes
 */
#include "tests/probe/probe.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 50, TURNS = 4 };

/* Where the head of a straight graph of passes is. */
enum shape {
	IN_LINE, /* the first of the line */
	STAR,    /* a root, with an edge to each pass */
	NEEDED,  /* a root, with an edge to the first pass, in the middle */
	BARE,    /* there is none */
	SHAPES
};

static cudaGraphNode_t count_node(cudaGraph_t graph, cudaGraphNode_t *deps,
				  size_t n)
{
	static unsigned long long *count;
	struct probe_launch launch;

	if (!count)
		count = probe_memory(sizeof(*count));
	probe_kernel(&launch, probe_count, 1, 1, &count);
	return probe_node(graph, deps, n, &launch);
}

/* A line of n nodes; deps[0] is the node before, deps[1] the head. */
static cudaGraph_t make_graph(enum shape shape, int n)
{
	cudaGraphNode_t deps[2], head = NULL, last = NULL;
	cudaGraph_t graph;

	MUST(cudaGraphCreate(&graph, 0));
	if (shape != BARE)
		head = count_node(graph, NULL, 0);
	if (shape == IN_LINE)
		last = head;
	for (int i = 0; i < n; i++) {
		size_t count = 0;

		if (last)
			deps[count++] = last;
		if (shape == STAR || (shape == NEEDED && i == n / 2))
			deps[count++] = head;
		last = count_node(graph, deps, count);
	}
	return graph;
}

struct cost {
	double call, whole; /* us: of the host's call, and of a whole replay */
};

static double whole_replay(cudaGraphExec_t exec, cudaStream_t stream)
{
	cudaEvent_t begun, ended;
	float ms;

	MUST(cudaEventCreate(&begun));
	MUST(cudaEventCreate(&ended));
	MUST(cudaEventRecord(begun, stream));
	for (int i = 0; i < ROUNDS; i++)
		MUST(cudaGraphLaunch(exec, stream));
	MUST(cudaEventRecord(ended, stream));
	MUST(cudaEventSynchronize(ended));
	MUST(cudaEventElapsedTime(&ms, begun, ended));
	return 1e3 * (double)ms / ROUNDS;
}

static struct cost measure(enum shape shape, int n)
{
	cudaStream_t stream = probe_stream();
	cudaGraphExec_t exec = probe_exec(make_graph(shape, n));
	double calls[ROUNDS];
	struct cost cost;

	MUST(cudaGraphLaunch(exec, stream));
	MUST(cudaStreamSynchronize(stream));
	for (int i = 0; i < ROUNDS; i++) {
		double begun = probe_us();

		MUST(cudaGraphLaunch(exec, stream));
		calls[i] = probe_us() - begun;
		MUST(cudaStreamSynchronize(stream));
	}
	cost.call = probe_median(calls, ROUNDS);
	cost.whole = whole_replay(exec, stream);
	return cost;
}

/* The least of some runs in turn; the first warms up. */
static void measure_all(struct cost *cost, int n)
{
	for (int turn = 0; turn < TURNS; turn++)
		for (int shape = 0; shape < SHAPES; shape++) {
			struct cost one = measure((enum shape)shape, n);
			struct cost *least = &cost[shape];

			if (turn < 2 || one.call < least->call)
				least->call = one.call;
			if (turn < 2 || one.whole < least->whole)
				least->whole = one.whole;
		}
}

static void ask_shape(int n)
{
	struct cost cost[SHAPES];

	probe_load(probe_count);
	measure_all(cost, n);
	/* Not slower, within what two runs of the same may differ by */
	answer(cost[IN_LINE].call < 1.2 * cost[STAR].call &&
			       cost[IN_LINE].whole < 1.2 * cost[STAR].whole
		       ? PASS
		       : DIFFERS,
	       "call, replay in us: in line %.2f, %.1f; star %.2f, %.1f; where "
	       "needed %.2f, %.1f; no head %.2f, %.1f",
	       cost[IN_LINE].call, cost[IN_LINE].whole, cost[STAR].call,
	       cost[STAR].whole, cost[NEEDED].call, cost[NEEDED].whole,
	       cost[BARE].call, cost[BARE].whole);
}

/* --- memory --------------------------------------------------------------- */

static double free_kib(void)
{
	size_t left, all;

	MUST(cudaDeviceSynchronize());
	MUST(cudaMemGetInfo(&left, &all));
	return (double)left / 1024;
}

/* What CUDA takes from the GPU at once, it may use for later graphs, too. */
static void ask_memory_of_exec(int which)
{
	cudaStream_t stream = probe_stream();
	char text[512];
	int length = 0;

	(void)which;
	probe_load(probe_count);
	for (int n = 10; n <= 10000; n *= 10) {
		cudaGraph_t graph = make_graph(IN_LINE, n);
		double before = free_kib(), made, launched;
		cudaGraphExec_t exec = probe_exec(graph);

		made = free_kib();
		MUST(cudaGraphLaunch(exec, stream));
		launched = free_kib();
		length += snprintf(text + length, sizeof(text) - (size_t)length,
				   "%s%d nodes %.0f + %.0f", length ? ", " : "",
				   n, before - made, made - launched);
	}
	answer(INFO, "KiB of the GPU, made + launched first: %s", text);
}

const struct question shape_questions[] = {
	{"line-or-star-10", "a line launches no slower than a star", ask_shape,
	 10},
	{"line-or-star-100", "a line launches no slower than a star", ask_shape,
	 100},
	{"line-or-star-1000", "a line launches no slower than a star",
	 ask_shape, 1000},
	{"exec-memory", "nobody knows what an executable graph takes",
	 ask_memory_of_exec, 0},
	{NULL, NULL, NULL, 0},
};
