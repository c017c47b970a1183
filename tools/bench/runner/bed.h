/*
 * tools/bench/runner/bed.h - a function of a runner, and the same graphs alone
 *
 * The body draws once, in an inference pass, so that any number of calls can
 * follow one another; the graphs are captures of the same work in a pool of
 * their own. Both share their pool with one more graph. Each recording is of a
 * set of static addresses, and calls and launches go through all of them in
 * turn.
 */
#ifndef TOOLS_BENCH_RUNNER_BED_H
#define TOOLS_BENCH_RUNNER_BED_H

#include "tools/bench/bench.h"
#include "tools/bench/race.h"
#include "tools/bench/runner/parts.h"

struct runner_bed {
	struct bench *bench;
	struct runner_shape shape; /* outputs are released after their call */
	uint32_t recordings; /* 0 means 1; for more there must be an input */

	struct runner_parts parts;
	struct philox_function *function;
	struct philox_graph **graphs; /* one for each recording, and one more */
	char *memory;                 /* that inputs are in */
	struct philox_call_input *in;
	struct philox_call_value *given;
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
