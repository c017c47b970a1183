/*
 * tools/matrix/bed/calls.h - passes as functions of a runner, for their parts
 *
 *  call_body.c  the body of all functions
 *  calls.c      making functions, calling them, what comes of it
 *  ready.c      what is recorded before a run, and what is lost
 *
 * A function does what an event does, in a body. Each way of calling one has
 * functions of its own: some are never recorded; some get a new key with each
 * call, and so are recorded by it; some have the same key always, and were
 * recorded before the run, by a call whose launch failed; and some have a key
 * for each run, under which they are warmed up, recorded and replayed in it.
 *
 * The numbers are an output of the function, which is released when they are
 * copied. Keys stay, so there is a new runner now and then.
 */
#ifndef TOOLS_MATRIX_BED_CALLS_H
#define TOOLS_MATRIX_BED_CALLS_H

#include "tools/matrix/bed/bed.h"

enum { WAYS = MATRIX_CALL_AGAIN - MATRIX_CALL_EAGER + 1 };

struct called {
	struct philox_function *function;
	int recorded; /* under the key of all runs */
	int stale;    /* ... with a region that was destroyed after that */
};

struct caller {
	struct matrix_bed *bed;
	struct philox_runner *runner;
	struct called called[WAYS][MATRIX_PLAIN][MATRIX_REGIONS]
			    [MATRIX_REGIONS];
	uint64_t keys; /* given out */
	uint64_t run;  /* the key of this run */

	/* the call on its way */
	const struct matrix_event *event;
	struct captured passes[PASSES];
	unsigned n;
	struct matrix_numbers *numbers; /* device memory: the output */
	struct philox_state states[PASSES][MATRIX_CELLS]; /* read by the body */
	int is_read[PASSES];
	struct philox_ticket made[PASSES]; /* by a body that is run */
	unsigned bodies;
	int failed; /* the bed has the message */
};

/* call_body() is the body of all functions; `user` is the caller. */
enum philox_status call_body(void *user, struct philox_run *run);

/* calls_need() makes the runner, calls_function() an event's function. */
struct caller *calls_need(struct matrix_bed *bed);
struct called *calls_function(struct caller *caller,
			      const struct matrix_event *event);

/* calls_begin() puts an event in place for the body. */
void calls_begin(struct caller *caller, const struct matrix_event *event);

/*
 * calls_entries() fills the uses of a call, PASSES of them, and returns their number; without
 * `named` no ticket is in them.
 */
size_t calls_entries(const struct caller *caller, int named,
		     struct philox_use *uses);

#endif
