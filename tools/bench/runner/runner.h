/*
 * tools/bench/runner/runner.h - runners that are measured
 */
#ifndef TOOLS_BENCH_RUNNER_RUNNER_H
#define TOOLS_BENCH_RUNNER_RUNNER_H

#include "tools/bench/bench.h"

/* --- runner: the groups of figures of part runner ------------------------- */

extern const struct bench_group runner_hits, /* calls that are replayed */
	runner_records,  /* recordings, by what else is live */
	runner_keys,     /* memory of recordings of several sizes */
	runner_plans,    /* saving and loading what was learned */
	runner_verified, /* replays that are verified */
	runner_llama;    /* a step of a model */

/* --- parts: what the groups of part runner measure with ------------------- */

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
			 struct philox_function_desc options,
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

/* runner_call_differs() complains of a call that was of the wrong kind. */
enum philox_status runner_call_differs(const struct philox_function *function,
				       uint32_t kind, uint32_t expected);

/* runner_capture() captures what `work` does, in a session of the pool. */
enum philox_status runner_capture(const struct runner_parts *parts,
				  enum philox_status (*work)(void *user),
				  void *user, struct philox_graph **graph);

/* --- bed: a function of a runner, and the same graphs alone --------------- */

/*
 * The body draws once, in an inference pass, so that any number of calls can
 * follow one another; the graphs are captures of the same work in a pool of
 * their own. Both share their pool with one more graph. Each recording is of a
 * set of static addresses, and calls and launches go through all of them in
 * turn.
 */

struct runner_bed {
	struct bench *bench;
	struct runner_shape shape; /* outputs are released after their call */
	uint32_t recordings; /* 0 means 1; for more there must be an input */

	struct runner_parts parts;
	struct philox_function *function;
	struct philox_graph **graphs; /* one for each recording, and one more */
	char *memory;                 /* that inputs are in */
	struct philox_call_input *in;
	struct philox_call_param *given;
	struct philox_output *out;
	uint32_t turn; /* whose turn it is */
};

/*
 * runner_bed_make() makes all of that: 0, or -1 after printing what failed.
 * runner_bed_clean() is for either case.
 */
int runner_bed_make(struct runner_bed *bed);
void runner_bed_clean(struct runner_bed *bed);

/*
 * Calls that are replayed, with the release of their outputs, and launches of
 * the graphs: `times` of them, waited for. As a status with a message.
 */
enum philox_status runner_bed_call(struct runner_bed *bed, int times,
				   struct race_time *time);
enum philox_status runner_bed_launch(struct runner_bed *bed, int times,
				     struct race_time *time);

#endif
