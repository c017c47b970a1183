/*
 * tools/matrix/bed/calls.c - making a runner's functions and calling them
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/matrix/bed/bed.h"

/* --- functions ------------------------------------------------------------ */

static int make_caller_runner(struct matrix_bed *bed, struct caller *caller)
{
	struct philox_runner_desc options =
		PHILOX_INIT(struct philox_runner_desc);

	options.name = "matrix";
	options.pool_step = 65536;
	TRY(bed, philox_runner_create(bed->context, &options, &caller->runner));
	return 0;
}

struct caller *calls_need(struct matrix_bed *bed)
{
	if (!bed->caller)
		bed->caller = calloc(1, sizeof(*bed->caller));
	if (!bed->caller) {
		bed_complain(bed, "out of memory");
		return NULL;
	}
	bed->caller->bed = bed;
	if (!bed->caller->runner && make_caller_runner(bed, bed->caller))
		return NULL;
	return bed->caller;
}

static int make_called(struct caller *caller, const struct matrix_event *event,
		       struct matrix_function at,
		       struct philox_function **function)
{
	static const struct philox_output_desc output = {.name = "numbers"};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct matrix_event plain = {.kind = at.kind, .how = event->how};
	char word[24], name[64];

	matrix_event_text(&plain, word, sizeof(word));
	snprintf(name, sizeof(name), "%s, regions %u and %u", word, at.region,
		 at.other);
	options.name = name;
	options.body = call_body;
	options.user = caller;
	options.outputs = &output;
	options.n_outputs = 1;
	if (event->how == MATRIX_CALL_EAGER)
		options.flags = PHILOX_FUNCTION_EAGER;
	else if (event->how != MATRIX_CALL_AGAIN)
		options.policy.warmups = PHILOX_NEVER;
	TRY(caller->bed,
	    philox_function_create(caller->runner, &options, function));
	return 0;
}

struct called *calls_function(struct caller *caller,
			      const struct matrix_event *event)
{
	struct matrix_view view;
	struct matrix_function at;
	struct called *called;

	matrix_look(&caller->bed->run, &view);
	at = matrix_function(&view, event);
	called = &caller->called[event->how - MATRIX_CALL_EAGER][at.kind]
				[at.region][at.other];
	if (!called->function &&
	    make_called(caller, event, at, &called->function))
		return NULL;
	return called;
}

static uint64_t key_of_call(struct caller *caller,
			    const struct matrix_event *event)
{
	if (event->how == MATRIX_CALL_RECORD)
		return ++caller->keys;
	if (event->how == MATRIX_CALL_AGAIN && !caller->run)
		caller->run = ++caller->keys;
	return event->how == MATRIX_CALL_AGAIN ? caller->run : 0;
}

/* --- calls ---------------------------------------------------------------- */

/* Entries are for forwards, and for backwards that are named at launch. */
static int has_entry(const struct captured *pass)
{
	return pass->role != MATRIX_REPEAT || pass->named;
}

/*
 * The first backward retains its ticket if the event says so; without `named`
 * no ticket is.
 */
size_t calls_entries(const struct caller *caller, int named,
		     struct philox_launch_pass *uses)
{
	uint32_t retain =
		caller->event->fate == MATRIX_KEPT ? PHILOX_PASS_RETAIN : 0;
	size_t n = 0;

	memset(uses, 0, PASSES * sizeof(*uses));
	for (unsigned i = 0; i < caller->n; i++) {
		const struct captured *pass = &caller->passes[i];

		if (pass->named && named)
			uses[n].ticket = caller->bed->tickets[pass->ticket];
		if (pass->named) {
			uses[n].flags = retain;
			retain = 0;
		}
		n += has_entry(pass);
	}
	return n;
}

/*
 * A device call fails that the runner makes, not the body. Graphs are poisoned
 * when they are made, and so the first launch sets a kernel for the second
 * time.
 */
static void order_for_call(struct matrix_bed *bed,
			   const struct matrix_event *event)
{
	if (event->fate == MATRIX_UNCAPTURED)
		bed_order_failure(bed, "exec_create");
	if (matrix_runs_body(event))
		return;
	if (event->fate == MATRIX_ABORTED)
		bed_order_failure(bed, "exec_launch");
	if (event->fate == MATRIX_BROKEN)
		philox_device_fail(bed->device, "exec_set_kernel",
				   1 + (event->call == PHILOX_CALL_RECORD),
				   PHILOX_ERROR_DEVICE);
}

void calls_begin(struct caller *caller, const struct matrix_event *event)
{
	caller->event = event;
	caller->n = bed_captured(caller->bed, event, caller->passes);
	caller->bodies = 0;
	caller->failed = 0;
	memset(caller->is_read, 0, sizeof(caller->is_read));
	memset(caller->made, 0, sizeof(caller->made));
}

/* Forwards of a body that failed have tickets no more. */
static int check_undone(struct caller *caller)
{
	for (unsigned i = 0; i < caller->n; i++) {
		const struct site *site =
			&caller->bed->sites[caller->passes[i].region];
		enum philox_status status;

		if (!caller->made[i].serial)
			continue;
		status = philox_ticket_release(site->region, site->stream,
					       caller->made[i]);
		if (status != PHILOX_ERROR_RELEASED)
			return bed_complain(caller->bed,
					    "the ticket of a forward of a body "
					    "that failed gave %s",
					    philox_status_name(status));
	}
	return 0;
}

static const char *const kind_names[] = {"not at all", "eager", "a warm-up",
					 "a recording", "a replay"};

/* A body runs twice if its recording is given up. */
static int check_bodies(struct caller *caller, const struct matrix_event *event)
{
	unsigned bodies = event->call != PHILOX_CALL_REPLAY;

	bodies += event->fate == MATRIX_DECLINED ||
		  event->fate == MATRIX_UNCAPTURED;
	if (caller->bodies == bodies)
		return 0;
	return bed_complain(caller->bed, "the body ran %u times, not %u",
			    caller->bodies, bodies);
}

static int take_call(struct caller *caller, philox_stream stream,
		     const struct philox_launch_pass *uses,
		     const struct philox_output *output)
{
	const struct matrix_numbers *numbers = output->address;
	struct matrix_bed *bed = caller->bed;

	for (unsigned i = 0; i < caller->n; i++) {
		const struct captured *pass = &caller->passes[i];
		const struct philox_state *states =
			caller->is_read[i] ? caller->states[i] : NULL;

		if (bed_see_device(bed, pass, &numbers[i], states, stream))
			return -1;
		if (has_entry(pass) &&
		    bed_take_ticket(bed, pass, uses++->ticket))
			return -1;
	}
	TRY(bed, philox_output_release(caller->runner, stream, output));
	return 0;
}

static int check_call(struct caller *caller, const struct matrix_event *event,
		      const struct philox_call *call, enum philox_status status)
{
	struct matrix_bed *bed = caller->bed;

	if (caller->failed || bed_check_status(bed, event, status))
		return -1;
	if (status == PHILOX_OK && call->kind != event->call)
		return bed_complain(bed, "the call was %s, not %s",
				    kind_names[call->kind],
				    kind_names[event->call]);
	if (check_bodies(caller, event))
		return -1;
	if (status != PHILOX_OK)
		return check_undone(caller);
	bed->called++;
	bed->replayed += call->kind == PHILOX_CALL_REPLAY;
	return take_call(caller, call->stream, call->passes, call->outputs);
}

int bed_do_call(struct matrix_bed *bed, const struct matrix_event *event)
{
	struct caller *caller = calls_need(bed);
	struct called *called = caller ? calls_function(caller, event) : NULL;
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_launch_pass uses[PASSES];
	struct philox_output output;
	enum philox_status status;
	uint64_t key;

	if (!called)
		return -1;
	calls_begin(caller, event);
	key = key_of_call(caller, event);
	call.stream = bed->sites[event->region].stream;
	call.key = &key;
	call.key_bytes = sizeof(key);
	call.passes = uses;
	call.n_passes = calls_entries(caller, 1, uses);
	call.outputs = &output;
	call.n_outputs = 1;
	order_for_call(bed, event);
	status = philox_function_call(called->function, &call);
	bed_cancel_failure(bed);
	if (event->call == PHILOX_CALL_RECORD) {
		called->recorded = 1;
		called->stale = 0;
	}
	return check_call(caller, event, &call, status);
}
