/*
 * tools/bench/schedules.c - device calls per replay, by schedule
 *
 * `philox matrix` runs a schedule's stages and verifies all numbers; here it
 * also returns their cost. Counts do not depend on the machine.
 */
#include "tools/bench/bench.h"

#include "tools/cli/cli.h"
#include "tools/matrix/model/model.h"
#include "tools/matrix/matrix.h"

size_t bench_schedules_steps(const struct bench *bench)
{
	(void)bench;
	return 1; /* all of them are about as fast as one other piece of work */
}

int bench_schedules(struct bench *bench)
{
	const struct matrix_options options = {
		.device = philox_device_name(bench->device),
		.stages = 4,
		.microbatches = 8};

	bench_step(bench);
	for (const struct schedule *s = schedules; s->name; s++) {
		struct matrix_cost cost;

		if (matrix_schedule_cost(&options, s, &cost)) {
			complain("bench", "%s: %s", s->name, cost.message);
			return -1;
		}
		bench_row(bench,
			  bench_name("replay, %s, %u pending", s->name,
				     cost.pending),
			  cost.calls, "calls", NULL, 0);
	}
	return 0;
}
