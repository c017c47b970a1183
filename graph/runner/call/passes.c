/*
 * graph/runner/call/passes.c - the passes of a body, and the tickets of its
 * call
 *
 * See Note [Runner] in graph/runner/state/state.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include "graph/runner/call/call.h"
#include "graph/runner/function/function.h"
#include "graph/runner/state/state.h"
#include "graph/verify/verify.h"
#include "lib/state/state.h"

#define NO_ENTRY UINT32_MAX

static int is_recording(const struct run *run)
{
	return run->kind == PHILOX_CALL_RECORD;
}

/* --- beginning ---------------------------------------------------------------- */

static enum philox_status refuse_more(struct run *run,
				      const struct philox_function *function,
				      size_t n)
{
	return run_fail(run,
			status_set(PHILOX_ERROR_INVALID,
				   "function '%s': passes has %zu "
				   "entr%s, but its body begins more "
				   "passes",
				   function->name, n, n == 1 ? "y" : "ies"));
}

static enum philox_status take_entry(struct run *run, uint32_t *entry)
{
	if (run->entries >= run->call->n_passes)
		return refuse_more(run, run_called(run), run->call->n_passes);
	*entry = (uint32_t)run->entries++;
	return PHILOX_OK;
}

/* --- entries of calls within bodies -------------------------------------------- */

static unsigned depth_of(const struct nested *nested)
{
	return nested ? nested->depth : 0;
}

/* The function of a nested call is known to its run alone, or the one in it. */
static const struct philox_function *function_of(const struct run *run,
						 const struct nested *nested)
{
	const struct nested *inner = run->nested;

	if (inner == nested)
		return run->function;
	while (inner->around != nested)
		inner = inner->around;
	return inner->function;
}

/* NULL: the call lists no passes. */
static enum philox_status take_nested_entry(struct run *run,
					    struct nested *nested,
					    struct philox_launch_pass **entry)
{
	*entry = NULL;
	if (!nested->call->passes)
		return PHILOX_OK;
	if (nested->entries >= nested->call->n_passes)
		return refuse_more(run, function_of(run, nested),
				   nested->call->n_passes);
	*entry = &nested->call->passes[nested->entries++];
	return PHILOX_OK;
}

static enum philox_status take_forward_entries(struct run *run)
{
	struct philox_launch_pass *entry;
	enum philox_status status = PHILOX_OK;

	for (struct nested *nested = run->nested; status == PHILOX_OK && nested;
	     nested = nested->around) {
		status = take_nested_entry(run, nested, &entry);
		if (status == PHILOX_OK && entry && entry->flags)
			status = run_fail(
				run,
				status_set(PHILOX_ERROR_INVALID,
					   "function '%s': entry %zu of passes "
					   "is a forward's, and has flags",
					   function_of(run, nested)->name,
					   nested->entries - 1));
	}
	return status;
}

static int is_zero_ticket(struct philox_ticket ticket)
{
	return !ticket.region_key && !ticket.serial;
}

/*
 * The ticket that a body around gives for a backward of the zero ticket, and
 * which body that is; NULL and the zero ticket: the call's entries will tell.
 */
static enum philox_status take_backward_entries(struct run *run,
						struct philox_ticket *ticket,
						unsigned *flags,
						const struct nested **namer)
{
	struct nested *nested = run->nested;
	struct philox_launch_pass *entry;
	enum philox_status status = PHILOX_OK;

	while (status == PHILOX_OK && nested && is_zero_ticket(*ticket)) {
		status = take_nested_entry(run, nested, &entry);
		if (status == PHILOX_OK && entry) {
			*ticket = entry->ticket;
			*flags |= entry->flags & PHILOX_PASS_RETAIN;
		}
		nested = nested->around;
	}
	*namer = nested;
	return status;
}

static enum philox_status reserve_run_pass(struct run *run)
{
	struct philox_context *context = run->runner->context;
	enum philox_status status;

	context_lock(context);
	status = runner_room(&run->callback.passes, &run->callback.pass_room,
			     run->callback.n_passes + 1,
			     sizeof(*run->callback.passes));
	context_unlock(context);
	return run_fail(run, status);
}

/* Of a dry backward: that of an earlier pass, if it names one. */
static struct philox_ticket dry_ticket(const struct philox_run *callback,
				       const struct callback_pass *pass)
{
	return pass->source < callback->n_passes
		       ? callback->passes[pass->source].ticket
		       : callback_placeholder(callback, pass->pass.region);
}

/* From now on the end of the body's pass is found. */
static void add_pass(struct run *run, struct philox_pass *pass,
		     struct callback_pass *made)
{
	made->pass = *pass;
	made->dry = run->dry;
	if (run->dry && !(made->flags & PHILOX_PASS_INFERENCE))
		pass->ticket = dry_ticket(&run->callback, made);
	callback_add(&run->callback, pass, made, !is_recording(run));
}

/* With the context's lock; NULL: the capture broke. */
static const struct captured_pass *captured_of_run(
	const struct run *run, const struct callback_pass *pass)
{
	const struct capture *capture = capture_find(
		run->runner->context->graphs, pass->pass.capture_id);

	return capture && pass->pass.index < capture->n_passes
		       ? &capture->passes[pass->pass.index]
		       : NULL;
}

/*
 * Whether a backward of the body uses the ticket of a pass up, with the
 * context's lock: the rules of Note [Ledger] hold among the backwards of a body
 * in whatever kind of call.
 */
static int is_run_used_up(const struct run *run, uint32_t source)
{
	const struct captured_pass *captured;

	if (is_recording(run)) {
		captured = captured_of_run(run, &run->callback.passes[source]);
		return captured && captured->consumed;
	}
	for (size_t i = 0; i < run->callback.n_passes; i++) {
		const struct callback_pass *pass = &run->callback.passes[i];

		if (pass->source == source && pass->backward &&
		    pass->state == CALLBACK_PASS_COMMITTED &&
		    !((pass->flags | pass->commit) & PHILOX_PASS_RETAIN))
			return 1;
	}
	return 0;
}

static int is_source_used_up(const struct run *run, uint32_t source)
{
	int used_up;

	context_lock(run->runner->context);
	used_up = is_run_used_up(run, source);
	context_unlock(run->runner->context);
	return used_up;
}

static enum philox_status check_run(struct run *run,
				    const struct philox_region *region,
				    const struct philox_pass *pass)
{
	enum philox_status status = run_check(run);

	if (status != PHILOX_OK)
		return status;
	if (!region || !pass)
		return run_fail(run, context_null(run->runner->context,
						  region ? "pass" : "region"));
	if (region->context != run->runner->context)
		return run_fail(run,
				status_set(PHILOX_ERROR_MISMATCH,
					   "region '%s' is of another context "
					   "than runner '%s'",
					   region->name, run->runner->name));
	return reserve_run_pass(run);
}

static enum philox_status no_warmup(struct run *run,
				    const struct philox_region *region,
				    unsigned flags)
{
	if (!(flags & PHILOX_PASS_WARMUP))
		return PHILOX_OK;
	return run_fail(run,
			status_set(PHILOX_ERROR_INVALID,
				   "region '%s': PHILOX_PASS_WARMUP is not for "
				   "bodies of a runner, which are run "
				   "with numbers of their own",
				   region->name));
}

static void not_open(struct philox_pass *pass)
{
	if (pass)
		*pass = (struct philox_pass){.region = NULL};
}

/* A pass of the launch that is verified, with its numbers. */
static enum philox_status begin_given(struct run *run,
				      struct philox_region *region,
				      unsigned flags, struct philox_pass *pass,
				      struct callback_pass *made)
{
	enum philox_status status = verify_begin_pass(
		run->verify, region, (uint32_t)run->callback.n_passes,
		made->backward, flags, pass);

	made->given = 1;
	if (run_fail(run, status) == PHILOX_OK)
		add_pass(run, pass, made);
	return status;
}

static enum philox_status begin_forward(struct run *run,
					struct philox_region *region,
					unsigned flags,
					struct philox_pass *pass)
{
	struct callback_pass made = {.flags = flags};
	const struct step step = {
		.kind = STEP_FORWARD, .flags = flags, .region = region->name};
	enum philox_status status = no_warmup(run, region, flags);

	made.source = (uint32_t)run->callback.n_passes;
	if (status == PHILOX_OK)
		status = take_forward_entries(run);
	if (status == PHILOX_OK)
		status = script_step(run, &step);
	if (status == PHILOX_OK)
		status = take_entry(run, &made.entry);
	if (run->verify)
		return status == PHILOX_OK
			       ? begin_given(run, region, flags, pass, &made)
			       : status;
	if (run->dry)
		flags = (flags & ~(unsigned)PHILOX_PASS_INFERENCE) |
			PHILOX_PASS_WARMUP;
	run->callback.beginning = 1;
	if (status == PHILOX_OK)
		status = run_fail(run, philox_forward_begin(region, run->stream,
							    flags, pass));
	run->callback.beginning = 0;
	if (status == PHILOX_OK)
		add_pass(run, pass, &made);
	return status;
}

static enum philox_status run_forward_begin(struct run *run,
					    struct philox_region *region,
					    unsigned flags,
					    struct philox_pass *pass)
{
	enum philox_status status;

	if (run)
		NEED_PROCESS(run->runner->context);
	status = check_run(run, region, pass);
	if (status == PHILOX_OK)
		status = begin_forward(run, region, flags, pass);
	if (status != PHILOX_OK)
		not_open(pass);
	return status;
}

enum philox_status philox_run_forward_begin(struct philox_run *run,
					    struct philox_region *region,
					    unsigned flags,
					    struct philox_pass *pass)
{
	if (callback_is_form(run))
		return form_forward_begin(run, region, flags, pass);
	return run_forward_begin((struct run *)run, region, flags, pass);
}

/* The earlier pass of a body, or of what it called, that a ticket is of. */
static enum philox_status find_run_source(struct run *run,
					  const struct nested *namer,
					  const struct philox_region *region,
					  struct philox_ticket ticket,
					  uint32_t *source)
{
	size_t found = 0;

	for (uint32_t i = namer ? (uint32_t)namer->first_pass : 0;
	     i < run->callback.n_passes; i++) {
		const struct callback_pass *pass = &run->callback.passes[i];

		if (pass->ticket.region_key == ticket.region_key &&
		    pass->ticket.serial == ticket.serial && pass->source == i &&
		    !found++)
			*source = i;
	}
	if (found == 1)
		return PHILOX_OK;
	return run_fail(run, status_set(PHILOX_ERROR_MISMATCH,
					found ? "region '%s': the ticket is "
						"that of two passes of this "
						"body, since two passes name it"
					      : "region '%s': the ticket is of "
						"no earlier pass of this body: "
						"those of other calls are in "
						"its passes",
					region->name));
}

static enum philox_status link_backward(struct run *run,
					const struct nested *namer,
					const struct philox_region *region,
					struct philox_ticket ticket,
					struct callback_pass *made)
{
	enum philox_status status =
		find_run_source(run, namer, region, ticket, &made->source);

	made->depth = depth_of(namer);
	if (status != PHILOX_OK)
		return status;
	made->entry = NO_ENTRY;
	if (!is_source_used_up(run, made->source))
		return PHILOX_OK;
	return run_fail(run, status_set(PHILOX_ERROR_RELEASED,
					"region '%s': the ticket was used up "
					"by an earlier backward of this body",
					region->name));
}

/* What the pass of an eager call begins with: the flags of the use count, too. */
static void as_eager(const struct run *run, const struct callback_pass *made,
		     struct philox_ticket *ticket, unsigned *flags)
{
	const struct callback_pass *source =
		made->entry == NO_ENTRY ? &run->callback.passes[made->source]
					: made;

	if (!source->backward)
		return;
	if (made->entry != NO_ENTRY)
		*ticket = run->call->passes[made->entry].ticket;
	*flags |= run->call->passes[source->entry].flags & PHILOX_PASS_RETAIN;
}

/*
 * A dry run has no ticket whose numbers it could repeat: it draws those of the
 * region's next forward, in a pass that looks like a backward to the body.
 */
static enum philox_status begin_dry_backward(struct run *run,
					     struct philox_region *region,
					     unsigned flags,
					     struct philox_pass *pass,
					     struct callback_pass *made)
{
	enum philox_status status =
		run_fail(run, pass_begin_dry(region, run->stream, flags, pass));

	if (status == PHILOX_OK)
		add_pass(run, pass, made);
	return status;
}

static enum philox_status begin_backward(struct run *run,
					 struct philox_region *region,
					 struct philox_ticket ticket,
					 unsigned flags,
					 struct philox_pass *pass)
{
	struct callback_pass made = {
		.backward = 1, .source = (uint32_t)run->callback.n_passes};
	struct step step = {
		.kind = STEP_BACKWARD, .region = region->name, .a = UINT64_MAX};
	const struct nested *namer;
	enum philox_status status =
		take_backward_entries(run, &ticket, &flags, &namer);

	made.flags = step.flags = flags;
	if (status == PHILOX_OK && !is_zero_ticket(ticket)) {
		status = link_backward(run, namer, region, ticket, &made);
		step.a = made.source;
	}
	if (status == PHILOX_OK)
		status = script_step(run, &step);
	if (status == PHILOX_OK && is_zero_ticket(ticket))
		status = take_entry(run, &made.entry);
	if (status != PHILOX_OK)
		return status;
	if (run->verify)
		return begin_given(run, region, flags, pass, &made);
	if (run->dry)
		return begin_dry_backward(run, region, flags, pass, &made);
	if (!is_recording(run))
		as_eager(run, &made, &ticket, &flags);
	run->callback.beginning = 1;
	status = run_fail(run, philox_backward_begin(region, run->stream,
						     ticket, flags, pass));
	run->callback.beginning = 0;
	if (status == PHILOX_OK)
		add_pass(run, pass, &made);
	return status;
}

static enum philox_status run_backward_begin(struct run *run,
					     struct philox_region *region,
					     struct philox_ticket ticket,
					     unsigned flags,
					     struct philox_pass *pass)
{
	enum philox_status status;

	if (run)
		NEED_PROCESS(run->runner->context);
	status = check_run(run, region, pass);
	if (status == PHILOX_OK)
		status = begin_backward(run, region, ticket, flags, pass);
	if (status != PHILOX_OK)
		not_open(pass);
	return status;
}

enum philox_status philox_run_backward_begin(struct philox_run *run,
					     struct philox_region *region,
					     struct philox_ticket ticket,
					     unsigned flags,
					     struct philox_pass *pass)
{
	if (callback_is_form(run))
		return form_backward_begin(run, region, ticket, flags, pass);
	return run_backward_begin((struct run *)run, region, ticket, flags,
				  pass);
}

/* --- after the body ------------------------------------------------------------- */

/* A captured pass's state is the capture's. */
static enum callback_pass_state state_of(const struct run *run,
					 const struct callback_pass *pass)
{
	static const enum callback_pass_state states[] = {
		[CAPTURED_OPEN] = CALLBACK_PASS_OPEN,
		[CAPTURED_COMMITTED] = CALLBACK_PASS_COMMITTED,
		[CAPTURED_ABORTED] = CALLBACK_PASS_ABORTED};
	const struct captured_pass *captured;

	if (!is_recording(run))
		return pass->state;
	captured = captured_of_run(run, pass);
	/* of a capture that broke nothing is asked: it says so */
	return captured ? states[captured->phase] : CALLBACK_PASS_COMMITTED;
}

static enum philox_status check_ended(struct run *run,
				      const struct callback_pass *pass)
{
	enum callback_pass_state state;

	context_lock(run->runner->context);
	state = state_of(run, pass);
	context_unlock(run->runner->context);
	if (state == CALLBACK_PASS_COMMITTED)
		return PHILOX_OK;
	return run_fail(
		run, status_set(PHILOX_ERROR_STATE,
				"function '%s': its body has succeeded, but "
				"a %s of region '%s' %s",
				run->function->name,
				pass->backward ? "backward" : "forward",
				pass->pass.region->name,
				state == CALLBACK_PASS_OPEN ? "is open"
							    : "was aborted"));
}

/* A call within a body need not list its passes. */
static enum philox_status check_taken(struct run *run)
{
	const struct nested *nested = run->nested;
	const size_t n = nested ? nested->call->n_passes : run->call->n_passes;
	const size_t taken = nested ? nested->entries : run->entries;

	if (taken == n || (nested && !nested->call->passes))
		return PHILOX_OK;
	return run_fail(
		run, status_set(PHILOX_ERROR_INVALID,
				"function '%s': passes has %zu entr%s, but its "
				"body took %zu",
				run->function->name, n, n == 1 ? "y" : "ies",
				taken));
}

enum philox_status run_passes_whole(struct run *run)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = run->nested ? run->nested->first_pass : 0;
	     status == PHILOX_OK && i < run->callback.n_passes; i++)
		status = check_ended(run, &run->callback.passes[i]);
	return status == PHILOX_OK ? check_taken(run) : status;
}

/* Passes that a body around named took an entry of the call, in order. */
void run_passes_give(struct run *run)
{
	const struct nested *nested = run->nested;
	size_t entry = 0;

	for (size_t i = nested->first_pass;
	     nested->call->passes && i < run->callback.n_passes; i++) {
		const struct callback_pass *pass = &run->callback.passes[i];
		struct philox_ticket ticket = pass->ticket;

		if (pass->depth >= nested->depth)
			continue;
		if (pass->flags & PHILOX_PASS_INFERENCE ||
		    is_source_used_up(run, (uint32_t)i))
			ticket = (struct philox_ticket){0};
		if (!pass->backward)
			nested->call->passes[entry].ticket = ticket;
		entry++;
	}
}

/* The ticket that a forward's use gets, as a launch gives it. */
static struct philox_ticket ticket_of(const struct run *run,
				      const struct callback_pass *pass)
{
	if (is_source_used_up(run, pass->source) ||
	    (pass->flags & PHILOX_PASS_INFERENCE))
		return (struct philox_ticket){0};
	return pass->pass.ticket;
}

/* A backward of it will not be recorded either. */
static void note_unrecorded(struct run *run, struct philox_ticket ticket)
{
	struct philox_runner *runner = run->runner;
	struct unrecorded_ticket *unrecorded;

	if (!runner->unrecorded && !run->refused)
		return;
	unrecorded = &runner->tickets[runner->n_tickets++ % UNRECORDED_TICKETS];
	*unrecorded = (struct unrecorded_ticket){ticket, run->function, "", ""};
	snprintf(unrecorded->name, sizeof(unrecorded->name), "%s",
		 run->function->name);
	if (run->refused)
		snprintf(unrecorded->reason, sizeof(unrecorded->reason),
			 REFUSED_BEGIN "%.90s", run->reason);
	else
		snprintf(unrecorded->reason, sizeof(unrecorded->reason),
			 "%.120s", run->why);
}

static void give_ticket(struct run *run, const struct callback_pass *pass,
			struct philox_ticket ticket)
{
	run->call->passes[pass->entry].ticket = ticket;
	if (!ticket.serial)
		return;
	note_unrecorded(run, ticket);
	step_owe(run->runner, (struct owed_ticket){.region = pass->pass.region,
						   .ticket = ticket,
						   .path = run->runner->path,
						   .function = run->function,
						   .call = run->runner->calls});
}

/* The stream that stood in for the caller's is joined. */
static void commit_backward(const struct run *run, struct callback_pass *pass)
{
	pass->pass.stream = run->call->stream;
	philox_pass_commit(&pass->pass, pass->commit, NULL);
}

/* Nothing can fail that matters: a region that is gone has taken its tickets. */
void run_passes_settle(struct run *run)
{
	for (size_t i = 0; i < run->callback.n_passes; i++) {
		struct callback_pass *pass = &run->callback.passes[i];

		if (!pass->backward)
			give_ticket(run, pass, ticket_of(run, pass));
		else
			commit_backward(run, pass);
	}
}

static void undo_pass(struct callback_pass *pass, philox_stream stream)
{
	if (pass->given || (pass->backward && pass->dry)) {
		callback_give_cells(pass);
		return;
	}
	if (pass->state == CALLBACK_PASS_ABORTED)
		return;
	if (pass->backward || pass->state == CALLBACK_PASS_OPEN)
		philox_pass_abort(&pass->pass);
	else if (pass->pass.ticket.serial)
		philox_ticket_release(pass->pass.region, stream,
				      pass->pass.ticket);
	pass->state = CALLBACK_PASS_ABORTED;
}

/* The newest first: backwards end before the forwards that they read. */
void run_passes_undo(struct run *run)
{
	const struct status_message kept = status_kept();

	for (size_t i = run->callback.n_passes; !is_recording(run) && i--;)
		undo_pass(&run->callback.passes[i], run->call->stream);
	status_restore(&kept);
}
