/*
 * tools/bench/graphs/graph.h - a graph that draws through passes, and a bare
 * one
 *
 * Both hold the same work, small fills: one draws through passes and is
 * launched by philox_graph_launch(), the bare one draws from states by value
 * and is launched as it is. The passes are inference passes, so that any number
 * of launches can follow one another. The time of the call alone is the host's
 * cost; with the wait it is a replay's time.
 */
#ifndef TOOLS_BENCH_GRAPHS_GRAPH_H
#define TOOLS_BENCH_GRAPHS_GRAPH_H

#include "tools/bench/bench.h"
#include "tools/bench/race.h"

#define BENCH_VALUE 12 /* three floats */

struct bench_graph {
	struct bench *bench;
	uint32_t ops;    /* of the region */
	uint32_t passes; /* in the graph */
	uint32_t draws;  /* of a pass: one each of its first operators */
	uint32_t values; /* in the graph, of BENCH_VALUE bytes; in the bare one
			    there is none */

	struct philox_region *region;
	struct philox_graph *graph;
	philox_native_graph bare;
	philox_native_exec bare_exec;
	struct philox_use *uses;
	void *out;
};

/* bench_graph_make() captures both: 0, or -1 after printing what failed. */
int bench_graph_make(struct bench_graph *of);
void bench_graph_clean(struct bench_graph *of);

/* Launches of one of the two, waited for; as a status with a message. */
enum philox_status bench_graph_run(struct bench_graph *of, int bare, int times,
				   struct race_time *time);

#endif
