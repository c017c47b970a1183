/*
 * tools/bench/graphs/loop_graph.h - a graph with a loop, and one with its work
 *
 * One graph has a WHILE node, whose body has a forward of one small fill; the
 * other has the work of the body once, in no node. The body's condition is the
 * first word of a queue, which each iteration moves on by one: so no kernel of
 * our own is needed, and how often the body runs is a matter of what lies in
 * memory.
 */
#ifndef TOOLS_BENCH_GRAPHS_LOOP_GRAPH_H
#define TOOLS_BENCH_GRAPHS_LOOP_GRAPH_H

#include "tools/bench/bench.h"
#include "tools/bench/race.h"

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
