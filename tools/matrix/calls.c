/*
 * tools/matrix/calls.c - passes as functions of a runner
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/matrix/bed.h"

enum { WAYS = MATRIX_CALL_AGAIN - MATRIX_CALL_EAGER + 1, KEYS_MAX = 100 };

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

/* --- bodies --------------------------------------------------------------- */

static int is_recorded(const struct philox_run *run)
{
	return philox_run_kind(run) == PHILOX_CALL_RECORD;
}

/* Half of the functions ask for cells when their bodies are run, too. */
static unsigned flags_of(const struct caller *caller, unsigned i)
{
	const struct matrix_event *event = caller->event;
	int cells = (event->kind + event->region) & 1;

	return caller->passes[i].flags |
	       (cells ? (unsigned)PHILOX_ON_DEVICE : 0);
}

/* `ticket` is first that of the pass before, then of this one. */
static enum philox_status begin_in_run(struct caller *caller,
				       struct philox_run *run, unsigned i,
				       struct philox_ticket *ticket,
				       struct philox_pass *pass)
{
	const struct captured *captured = &caller->passes[i];
	struct philox_region *region =
		caller->bed->sites[captured->region].region;
	unsigned flags = flags_of(caller, i);
	int fails = caller->event->fate == MATRIX_BROKEN && !is_recorded(run) &&
		    i + 1 == caller->n;
	enum philox_status status;

	if (captured->named)
		*ticket = (struct philox_ticket){0};
	if (fails)
		bed_order_failure(caller->bed, "capture_info");
	status = captured->role == MATRIX_REPEAT
			 ? philox_run_backward_begin(run, region, *ticket,
						     flags, pass)
			 : philox_run_forward_begin(run, region, flags, pass);
	if (fails)
		bed_cancel_failure(caller->bed);
	if (status == PHILOX_OK && !(flags & PHILOX_INFERENCE))
		status = philox_pass_ticket(pass, ticket);
	return status;
}

static int see_in_run(struct caller *caller, const struct philox_run *run,
		      unsigned i, const struct philox_pass *pass)
{
	struct matrix_bed *bed = caller->bed;
	struct matrix_numbers *numbers = &caller->numbers[i], host;

	caller->is_read[i] = !pass->states && !is_recorded(run);
	if (!caller->is_read[i]) {
		if (bed_copy_cells(bed, pass, numbers))
			return -1;
	} else {
		if (bed_read_states(bed, pass, &host))
			return -1;
		memcpy(caller->states[i], host.cell, sizeof(host.cell));
	}
	return bed->shape.draw ? bed_draw_words(bed, pass, &numbers->word[0][0])
			       : 0;
}

static enum philox_status end_in_run(struct caller *caller,
				     const struct philox_run *run, unsigned i,
				     struct philox_pass *pass)
{
	struct philox_ticket ticket;
	enum philox_status status;

	if (caller->passes[i].role == MATRIX_REPEAT)
		return philox_backward_commit(pass, 0);
	status = philox_forward_commit(pass, &ticket);
	if (status == PHILOX_OK && !is_recorded(run) &&
	    !(caller->passes[i].flags & PHILOX_INFERENCE))
		caller->made[i] = ticket;
	return status;
}

static enum philox_status run_pass(struct caller *caller,
				   struct philox_run *run, unsigned i,
				   struct philox_ticket *ticket)
{
	struct philox_pass pass;
	enum philox_status status = begin_in_run(caller, run, i, ticket, &pass);

	if (status != PHILOX_OK)
		return status;
	if (see_in_run(caller, run, i, &pass)) {
		caller->failed = 1;
		return PHILOX_ERROR_STATE;
	}
	if (caller->passes[i].holds)
		status = run_pass(caller, run, i + 1, ticket);
	return status == PHILOX_OK ? end_in_run(caller, run, i, &pass) : status;
}

static size_t output_size(const struct caller *caller)
{
	return caller->n * sizeof(*caller->numbers);
}

/* What the fate of the event makes of a body that has done its passes. */
static enum philox_status end_of_body(struct caller *caller,
				      struct philox_run *run)
{
	unsigned fate = caller->event->fate;

	if (fate == (is_recorded(run) ? MATRIX_FAILED : MATRIX_ABORTED))
		return PHILOX_ERROR_DEVICE;
	if (fate == MATRIX_DECLINED && is_recorded(run))
		return philox_run_refuse(run, "it is said to be so");
	return philox_run_output(run, 0, caller->numbers, output_size(caller));
}

static enum philox_status body(void *user, struct philox_run *run)
{
	struct caller *caller = user;
	struct philox_ticket ticket = {0};
	enum philox_status status =
		philox_run_alloc(run, output_size(caller), 0, "numbers",
				 (void **)&caller->numbers);

	caller->bodies++;
	memset(caller->made, 0, sizeof(caller->made));
	for (unsigned i = 0; status == PHILOX_OK && i < caller->n;
	     i += 1 + caller->passes[i].holds)
		status = run_pass(caller, run, i, &ticket);
	return status == PHILOX_OK ? end_of_body(caller, run) : status;
}

/* --- functions ------------------------------------------------------------ */

static int make_caller_runner(struct matrix_bed *bed, struct caller *caller)
{
	struct philox_runner_options options =
		PHILOX_INIT(struct philox_runner_options);

	options.name = "matrix";
	options.pool_step = 65536;
	TRY(bed, philox_runner_create(bed->context, &options, &caller->runner));
	return 0;
}

static struct caller *need_caller(struct matrix_bed *bed)
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
	static const struct philox_output_info output = {.name = "numbers"};
	struct philox_function_options options =
		PHILOX_INIT(struct philox_function_options);
	char name[48];

	snprintf(name, sizeof(name), "kind %u, %u, %u, called as %u", at.kind,
		 at.region, at.other, event->how);
	options.name = name;
	options.body = body;
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

static struct called *need_called(struct caller *caller,
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
static size_t fill_entries(const struct caller *caller, int named,
			   struct philox_use *uses)
{
	uint32_t retain =
		caller->event->fate == MATRIX_KEPT ? PHILOX_RETAIN : 0;
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
 * when they are made, and so the first launch sets a kernel for the second time.
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

static void begin_call(struct caller *caller, const struct matrix_event *event)
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
		status = philox_ticket_release(site->region, caller->made[i],
					       site->stream);
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
		     const struct philox_use *uses,
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
	TRY(bed, philox_output_release(caller->runner, output, stream));
	return 0;
}

static int check_call(struct caller *caller, const struct matrix_event *event,
		      const struct philox_call *call, enum philox_status status)
{
	struct matrix_bed *bed = caller->bed;

	if (caller->failed || bed_check_status(bed, event, status) ||
	    check_bodies(caller, event))
		return -1;
	if (status != PHILOX_OK)
		return check_undone(caller);
	if (call->kind != event->call)
		return bed_complain(bed, "the call was %s, not %s",
				    kind_names[call->kind],
				    kind_names[event->call]);
	bed->called++;
	bed->replayed += call->kind == PHILOX_CALL_REPLAY;
	return take_call(caller, call->stream, call->uses, call->outputs);
}

int bed_do_call(struct matrix_bed *bed, const struct matrix_event *event)
{
	struct caller *caller = need_caller(bed);
	struct called *called = caller ? need_called(caller, event) : NULL;
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_use uses[PASSES];
	struct philox_output output;
	enum philox_status status;
	uint64_t key;

	if (!called)
		return -1;
	begin_call(caller, event);
	key = key_of_call(caller, event);
	call.stream = bed->sites[event->region].stream;
	call.key = &key;
	call.key_size = sizeof(key);
	call.uses = uses;
	call.n_uses = fill_entries(caller, 1, uses);
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

/* --- before a run --------------------------------------------------------- */

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
	struct philox_use uses[PASSES];
	enum philox_status status;
	uint64_t key = 0;

	plain.fate = MATRIX_DONE;
	begin_call(caller, &plain);
	call.stream = bed->sites[event->region].stream;
	call.key = &key;
	call.key_size = sizeof(key);
	call.uses = uses;
	call.n_uses = fill_entries(caller, 0, uses);
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
	struct caller *caller = need_caller(bed);
	struct called *called = caller ? need_called(caller, event) : NULL;

	if (!called)
		return -1;
	if (called->stale) {
		TRY(bed, philox_function_destroy(called->function));
		memset(called, 0, sizeof(*called));
		caller->keys++;
		called = need_called(caller, event);
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
