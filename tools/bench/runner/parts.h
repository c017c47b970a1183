/*
 * tools/bench/runner/parts.h - what the groups of part runner measure with
 */
#ifndef TOOLS_BENCH_RUNNER_PARTS_H
#define TOOLS_BENCH_RUNNER_PARTS_H

#include "tools/bench/bench.h"

/* A region of two operators, a runner, and a pool for graphs that are captured without it. */
struct runner_parts {
	struct bench *bench;
	struct philox_region *region;
	struct philox_runner *runner;
	struct philox_pool *pool;
};

/*
 * runner_parts_make() makes them: 0, or -1 after printing what failed.
 * runner_parts_clean() waits for the stream and destroys them, in either case;
 * graphs of the pool have been destroyed.
 */
int runner_parts_make(struct runner_parts *parts, struct bench *bench);
void runner_parts_clean(struct runner_parts *parts);

#define RUNNER_BYTES   64 /* of an input */
#define RUNNER_VALUE   12 /* bytes of a value */
#define RUNNER_PENDING 64 /* tickets of the region, at most */

/* How many of each a function has; they are named by numbers. */
struct runner_shape {
	uint32_t statics, copied; /* inputs */
	uint32_t values, outputs;
};

/* runner_function_make() makes one: 0, or -1 after printing what failed. */
int runner_function_make(const struct runner_parts *parts,
			 const struct runner_shape *shape,
			 struct philox_function_options options,
			 struct philox_function **function);

/*
 * runner_draw() is the work of a body: it draws once, in an inference pass, so
 * that any number of calls can follow one another. runner_capture_draw()
 * captures the same with `values` values.
 */
enum philox_status runner_draw(const struct runner_parts *parts,
			       struct philox_run *run);
enum philox_status runner_capture_draw(const struct runner_parts *parts,
				       uint32_t values,
				       struct philox_graph **graph);

/* runner_capture() captures what `work` does, in a session of the pool. */
enum philox_status runner_capture(const struct runner_parts *parts,
				  enum philox_status (*work)(void *user),
				  void *user, struct philox_graph **graph);

#endif
