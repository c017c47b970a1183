/*
 * tools/matrix/bed/ready.c - what a runner records before a run, and what it
 * loses
 */
#include <stdlib.h>
#include <string.h>
#include "tools/matrix/bed/bed.h"

#define KEYS_MAX 100 /* of a runner */

/*
 * A recording stays when its launch fails: here for want of tickets, or by the
 * device.
 */
static int record_unlaunched(struct caller *caller,
			     const struct matrix_event *event,
			     struct called *called)
{
	struct matrix_bed *bed = caller->bed;
	struct matrix_event plain = *event;
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_launch_pass uses[PASSES];
	enum philox_status status;
	uint64_t key = 0;

	plain.fate = MATRIX_DONE;
	calls_begin(caller, &plain);
	call.stream = bed->sites[event->region].stream;
	call.key = &key;
	call.key_bytes = sizeof(key);
	call.passes = uses;
	call.n_passes = calls_entries(caller, 0, uses);
	bed_order_failure(bed, "exec_launch");
	status = philox_function_call(called->function, &call);
	bed_cancel_failure(bed);
	if (caller->failed)
		return -1;
	if (status == PHILOX_OK || caller->bodies != 1)
		return bed_complain(bed,
				    "a call whose launch was to fail gave %s, "
				    "its body ran %u times",
				    philox_status_name(status), caller->bodies);
	called->recorded = 1;
	return 0;
}

static int ready_call(struct matrix_bed *bed, const struct matrix_event *event)
{
	struct caller *caller = calls_need(bed);
	struct called *called = caller ? calls_function(caller, event) : NULL;

	if (!called)
		return -1;
	if (called->stale) {
		TRY(bed, philox_function_destroy(called->function));
		memset(called, 0, sizeof(*called));
		caller->keys++;
		called = calls_function(caller, event);
		if (!called)
			return -1;
	}
	return called->recorded ? 0 : record_unlaunched(caller, event, called);
}

static int renew_runner(struct matrix_bed *bed)
{
	struct caller *caller = bed->caller;

	if (!caller)
		return 0;
	caller->run = 0;
	if (caller->keys < KEYS_MAX)
		return 0;
	TRY(bed, philox_runner_destroy(caller->runner));
	memset(caller, 0, sizeof(*caller));
	return 0;
}

/* The model reads the events before each, as when they are carried out. */
int bed_ready_calls(struct matrix_bed *bed, const struct matrix_run *run)
{
	int status = renew_runner(bed);

	for (unsigned i = 0; !status && i < run->n; i++) {
		if (run->events[i].how == MATRIX_CALL_REPLAY)
			status = ready_call(bed, &run->events[i]);
		bed->run.events[bed->run.n++] = run->events[i];
	}
	bed->run.n = 0;
	return status;
}

/* --- what is lost --------------------------------------------------------- */

void bed_stale_calls(struct matrix_bed *bed, unsigned region)
{
	struct called(*functions)[MATRIX_REGIONS][MATRIX_REGIONS];

	if (!bed->caller)
		return;
	functions = bed->caller->called[MATRIX_CALL_REPLAY - MATRIX_CALL_EAGER];
	for (uint8_t k = 0; k < MATRIX_PLAIN; k++)
		for (uint8_t i = 0; i < MATRIX_REGIONS; i++)
			for (uint8_t j = 0; j < MATRIX_REGIONS; j++) {
				struct matrix_function at = {k, i, j};

				if (matrix_is_inside(&bed->limits, at, region))
					functions[k][i][j].stale = 1;
			}
}

void bed_lose_calls(struct matrix_bed *bed)
{
	free(bed->caller);
	bed->caller = NULL;
}
