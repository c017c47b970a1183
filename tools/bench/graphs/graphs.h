/*
 * tools/bench/graphs/graphs.h - graphs that are measured
 */
#ifndef TOOLS_BENCH_GRAPHS_GRAPHS_H
#define TOOLS_BENCH_GRAPHS_GRAPHS_H

#include "tools/bench/bench.h"

/* --- graph: a graph that draws through passes, and a bare one ------------- */

/*
 * Both hold the same work, small fills: one draws through passes and is
 * launched by philox_graph_launch(), the bare one draws from states by value
 * and is launched as it is. The passes are inference passes, so that any number
 * of launches can follow one another. The time of the call alone is the host's
 * cost; with the wait it is a replay's time.
 */

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
	struct philox_launch_pass *uses;
	void *out;
};

/* bench_graph_make() captures both: 0, or -1 after printing what failed. */
int bench_graph_make(struct bench_graph *of);
void bench_graph_clean(struct bench_graph *of);

/* Launches of one of the two, waited for; as a status with a message. */
enum philox_status bench_graph_run(struct bench_graph *of, int bare, int times,
				   struct race_time *time);

/* --- loop_graph: a graph with a loop, and one with its work --------------- */

/*
 * One graph has a WHILE node, whose body has a forward of one small fill; the
 * other has the work of the body once, in no node. The body's condition is the
 * first word of a queue, which each iteration moves on by one: so no kernel of
 * our own is needed, and how often the body runs is a matter of what lies in
 * memory.
 */

#define LOOP_LIMIT 256 /* iterations */

struct loop_graphs {
	struct bench *bench;
	struct philox_region *region;
	philox_stream inner;
	void *cells;
	struct philox_graph *loop, *without;
};

/*
 * loop_graphs_make() captures both: 0; 1 with a note if the device has no such
 * nodes; -1 after printing what failed.
 */
int loop_graphs_make(struct loop_graphs *of, char note[RACE_NOTE_MAX]);
void loop_graphs_clean(struct loop_graphs *of);

/*
 * loop_graphs_run() launches the loop with `count` iterations, or the other
 * graph for 0, and waits now and then, so that no call waits for room in a
 * queue; as a status with a message.
 */
enum philox_status loop_graphs_run(struct loop_graphs *of, uint32_t count,
				   int times, struct race_time *time);

/* loop_graphs_ran() writes how many iterations the last launch had. */
enum philox_status loop_graphs_ran(struct loop_graphs *of, uint32_t *count);

#endif
