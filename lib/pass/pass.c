/*
 * lib/pass/pass.c - passes: begin, commit, abort
 *
 * An eager pass carries its state by value and uses only the ledger. A pass on
 * a stream that is capturing, and a pass with cells, also uses the context's
 * hooks. At begin the stream is asked whether it is capturing; the pass keeps
 * the answer.
 */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include "lib/pass/pass.h"

#define FORWARD_FLAGS \
	(PHILOX_PASS_INFERENCE | PHILOX_PASS_WARMUP | PHILOX_PASS_ON_DEVICE)
#define BACKWARD_FLAGS \
	(PHILOX_PASS_RETAIN | PHILOX_PASS_ON_DEVICE | PHILOX_PASS_REVERSED)

/* --- checks --------------------------------------------------------------- */

enum philox_status pass_finish(const struct philox_pass *pass,
			       enum philox_status status)
{
	struct philox_log_entry subject;

	if (status == PHILOX_OK) /* often, so without a subject */
		return context_report(pass->region->context, PHILOX_OK, NULL);
	subject = (struct philox_log_entry){.region = pass->region->name,
					    .capture_id = pass->capture_id};
	if (!(pass->ticket.serial & SERIAL_PLACEHOLDER))
		subject.ticket = pass->ticket;
	return context_report(pass->region->context, status, &subject);
}

/* The id is 0 if the stream is not capturing. */
static enum philox_status pass_query(const struct philox_region *region,
				     philox_stream stream, const char *call,
				     struct capture_info *info)
{
	enum philox_status status =
		device_ask_capture(region->context->device, stream, info);

	status = region_status(region, status);
	context_broken(region->context, stream, status, call, region->name);
	return status;
}

static enum philox_status refuse_stream(const struct philox_pass *pass,
					uint64_t id)
{
	const char *name = pass->region->name;

	if (!id)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "region '%s': the pass is in capture %" PRIu64
				  ", the stream in none",
				  name, pass->capture_id);
	if (!pass->capture_id)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "region '%s': the stream is in capture "
				  "%" PRIu64 ", the pass in none",
				  name, id);
	return status_set(PHILOX_ERROR_MISMATCH,
			  "region '%s': the pass is in capture %" PRIu64
			  ", the stream in capture %" PRIu64,
			  name, pass->capture_id, id);
}

enum philox_status pass_check_stream(const struct philox_pass *pass,
				     const char *call)
{
	struct philox_region *region = pass->region;
	struct capture_info info;
	enum philox_status status =
		pass_query(region, pass->stream, call, &info);

	if (status != PHILOX_OK || info.id == pass->capture_id)
		return status;
	return refuse_stream(pass, info.id);
}

/* Whether a pass is open and of this kind (0: any, but not a view). */
static enum philox_status pass_check_open(const struct philox_pass *pass)
{
	if (!pass)
		return context_null(NULL, "pass");
	if (!pass->region)
		return status_set(PHILOX_ERROR_STATE,
				  "the pass is not open: its begin "
				  "failed, or it has ended already");
	NEED_PROCESS(pass->region->context);
	if (pass->kind & PASS_VIEW)
		return status_set(PHILOX_ERROR_STATE,
				  "region '%s': this is a view of a pass for "
				  "another stream: end the pass itself",
				  pass->region->name);
	return PHILOX_OK;
}

/* A view can draw as well as its pass. */
enum philox_status pass_check_drawn(const struct philox_pass *pass)
{
	if (!pass)
		return context_null(NULL, "pass");
	if (!pass->region)
		return status_set(PHILOX_ERROR_STATE,
				  "the pass is not open: its begin "
				  "failed, or it has ended already");
	NEED_PROCESS(pass->region->context);
	return PHILOX_OK;
}

/* Logs through the pass's context if there is one. */
enum philox_status pass_finish_unopened(const struct philox_pass *pass,
					enum philox_status status)
{
	return pass && pass->region ? pass_finish(pass, status) : status;
}

/* Why a flag does not fit where another function takes it. */
static const struct {
	unsigned flag;
	const char *name;
	const char *why;
} misfits[] = {
	{PHILOX_PASS_INFERENCE, "PHILOX_PASS_INFERENCE",
	 "it says of a forward that no backward will come"},
	{PHILOX_PASS_WARMUP, "PHILOX_PASS_WARMUP",
	 "only a forward can be tried without reserving numbers"},
	{PHILOX_PASS_RETAIN, "PHILOX_PASS_RETAIN",
	 "its ticket is kept anyway, until a backward uses it up"},
	{PHILOX_PASS_REVERSED, "PHILOX_PASS_REVERSED",
	 "only a backward in the body of a captured loop runs through the "
	 "iterations of its forward"},
	{PHILOX_PASS_ON_DEVICE, "PHILOX_PASS_ON_DEVICE",
	 "a pass gets its cells when it begins"},
};

/* Names the first and says why. */
static enum philox_status pass_refuse_flags(const struct philox_region *region,
					    unsigned flags, const char *where)
{
	unsigned unknown = flags;

	for (size_t i = 0; i < sizeof(misfits) / sizeof(misfits[0]); i++)
		unknown &= ~misfits[i].flag;
	if (unknown)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': passes have no flag 0x%x",
				  region->name, unknown);
	for (size_t i = 0;; i++)
		if (flags & misfits[i].flag)
			return status_set(PHILOX_ERROR_INVALID,
					  "region '%s': %s does not fit %s: %s",
					  region->name, misfits[i].name, where,
					  misfits[i].why);
}

static enum philox_status check_flags(const struct philox_region *region,
				      unsigned flags, unsigned allowed,
				      const char *where)
{
	if (flags & ~allowed)
		return pass_refuse_flags(region, flags & ~allowed, where);
	if ((flags & PHILOX_PASS_INFERENCE) && (flags & PHILOX_PASS_WARMUP))
		return status_set(
			PHILOX_ERROR_INVALID,
			"region '%s': PHILOX_PASS_INFERENCE and "
			"PHILOX_PASS_WARMUP exclude each other: one takes "
			"numbers, the other reserves none",
			region->name);
	return PHILOX_OK;
}

static struct philox_pass new_pass(struct philox_region *region,
				   philox_stream stream, enum pass_kind kind,
				   unsigned flags)
{
	struct philox_pass pass;

	memset(&pass, 0, sizeof(pass));
	pass.region = region;
	pass.stream = stream;
	pass.kind = (uint16_t)kind;
	pass.flags = (uint16_t)flags;
	pass.iterations = 1;
	return pass;
}

/* What an open eager pass holds: it is kept in the pass alone. */
static struct hold hold_of(const struct philox_pass *pass)
{
	struct hold hold = {.region = pass->region,
			    .life = pass->life,
			    .serial = pass->ticket.serial,
			    .iterations = pass->iterations};

	if (pass->kind == PASS_FORWARD) {
		hold.kind = hold_kind(pass->flags);
	} else {
		hold.kind = HOLD_BACKWARD;
		hold.use = pass->flags & PHILOX_PASS_RETAIN ? LEDGER_RETAIN
							    : LEDGER_CONSUME;
	}
	return hold;
}

/* --- begin ---------------------------------------------------------------- */

static enum philox_status take_hold(struct philox_pass *pass, struct hold *hold)
{
	enum philox_status status;

	if (pass->kind == PASS_BACKWARD) {
		status = hold_backward(hold, pass->ticket, &pass->state);
		pass->iterations = hold->iterations;
		return status;
	}
	status = hold_forward(hold, &pass->state);
	if (status == PHILOX_OK)
		hold_tell(hold);
	if (status == PHILOX_OK && hold->kind == HOLD_FORWARD)
		pass->ticket =
			(struct philox_ticket){pass->region->key, hold->serial};
	return status;
}

/* An order of iterations is for passes that run several times. */
static enum philox_status check_eager(const struct philox_pass *pass)
{
	if (!(pass->flags & PHILOX_PASS_REVERSED))
		return PHILOX_OK;
	return pass_refuse_flags(pass->region, PHILOX_PASS_REVERSED,
				 "an eager backward");
}

static enum philox_status begin_eager(struct philox_pass *pass)
{
	struct hold hold = hold_of(pass);
	struct saved_context
		none; /* a ticket keeps its own while a pass begins */
	enum philox_status status = check_eager(pass);

	if (status == PHILOX_OK)
		status = take_hold(pass, &hold);
	if (status != PHILOX_OK || !(pass->flags & PHILOX_PASS_ON_DEVICE))
		return status;
	status = pass->region->context->hooks->take(pass);
	if (status != PHILOX_OK)
		hold_abort(&hold, &none);
	return status;
}

static enum philox_status begin(struct philox_pass *pass, const char *call)
{
	struct philox_region *region = pass->region;
	struct capture_info info;
	enum philox_status status =
		pass_query(region, pass->stream, call, &info);

	if (status != PHILOX_OK)
		return status;
	context_lock(region->context);
	status = region_check_alive(region);
	if (status == PHILOX_OK)
		status = region->context->hooks->admit(region);
	if (status != PHILOX_OK)
		goto unlock;
	pass->life = region->life;
	pass->capture_id = info.id;
	status = info.id ? region->context->hooks->begin(pass, &info)
			 : begin_eager(pass);
	if (status != PHILOX_OK)
		goto unlock;
	context_settle(region->context, region);
	if (!info.id)
		journal_pass(pass, "begin", pass->flags);
unlock:
	context_unlock(region->context);
	context_broken(region->context, pass->stream, status, call,
		       region->name);
	return status;
}

/* Left by a begin that fails, so that commit and abort refuse it. */
static const struct philox_pass not_open = {.region = NULL};

static enum philox_status null_begin(const struct philox_region *region,
				     struct philox_pass *pass)
{
	if (region)
		return context_null(region->context, "pass");
	if (pass)
		*pass = not_open;
	return context_null(NULL, "region");
}

/* `call` is the function that the caller called. */
static enum philox_status begin_forward(struct philox_region *region,
					philox_stream stream, unsigned flags,
					uint32_t limit,
					struct philox_pass *pass,
					const char *call)
{
	struct philox_pass made;
	enum philox_status status;

	if (!region || !pass)
		return null_begin(region, pass);
	made = new_pass(region, stream, PASS_FORWARD, flags);
	made.iterations = limit;
	status = check_flags(region, flags, FORWARD_FLAGS, "a forward");
	if (status == PHILOX_OK && !limit)
		status = status_set(PHILOX_ERROR_INVALID,
				    "region '%s': limit is 0: a forward has at "
				    "least one iteration",
				    region->name);
	if (status == PHILOX_OK)
		status = begin(&made, call);
	*pass = status == PHILOX_OK ? made : not_open;
	return pass_finish(&made, status);
}

enum philox_status philox_forward_begin(struct philox_region *region,
					philox_stream stream, unsigned flags,
					struct philox_pass *pass)
{
	return begin_forward(region, stream, flags, 1, pass, __func__);
}

enum philox_status philox_forward_begin_loop(struct philox_region *region,
					     philox_stream stream,
					     unsigned flags, uint32_t limit,
					     struct philox_pass *pass)
{
	return begin_forward(region, stream, flags, limit, pass, __func__);
}

/* `call` is the function that the caller called. */
enum philox_status philox_backward_begin(struct philox_region *region,
					 philox_stream stream,
					 struct philox_ticket ticket,
					 unsigned flags,
					 struct philox_pass *pass)
{
	struct philox_pass made;
	enum philox_status status;

	if (!region || !pass)
		return null_begin(region, pass);
	made = new_pass(region, stream, PASS_BACKWARD, flags);
	made.ticket = ticket;
	status = check_flags(region, flags, BACKWARD_FLAGS, "a backward");
	if (status == PHILOX_OK)
		status = begin(&made, __func__);
	*pass = status == PHILOX_OK ? made : not_open;
	return pass_finish(&made, status);
}

/* It holds nothing, and so commits and aborts are its owner's alone. */
static enum philox_status begin_unheld(struct philox_pass *made,
				       const struct philox_state *state)
{
	struct philox_region *region = made->region;
	enum philox_status status;

	context_lock(region->context);
	status = region_check_alive(region);
	made->life = region->life;
	if (state)
		made->state = *state;
	else
		made->state = region->flags & PHILOX_REGION_SHARED
				      ? region->generator->state
				      : region->state;
	if (status == PHILOX_OK && made->flags & PHILOX_PASS_ON_DEVICE)
		status = region->context->hooks->take(made);
	if (status == PHILOX_OK)
		context_settle(region->context, region);
	context_unlock(region->context);
	return status;
}

enum philox_status pass_begin_dry(struct philox_region *region,
				  philox_stream stream, unsigned flags,
				  struct philox_pass *pass)
{
	struct philox_pass made =
		new_pass(region, stream, PASS_BACKWARD, flags);
	enum philox_status status =
		check_flags(region, flags, BACKWARD_FLAGS, "a backward");

	if (status == PHILOX_OK)
		status = check_eager(&made);
	if (status == PHILOX_OK)
		status = begin_unheld(&made, NULL);
	if (status == PHILOX_OK)
		*pass = made;
	return status;
}

enum philox_status pass_begin_given(struct philox_region *region,
				    philox_stream stream, int backward,
				    unsigned flags, struct philox_state state,
				    struct philox_pass *pass)
{
	struct philox_pass made = new_pass(
		region, stream, backward ? PASS_BACKWARD : PASS_FORWARD, flags);
	enum philox_status status = check_flags(
		region, flags, backward ? BACKWARD_FLAGS : FORWARD_FLAGS,
		backward ? "a backward" : "a forward");

	if (status == PHILOX_OK)
		status = check_eager(&made);
	if (status == PHILOX_OK)
		status = begin_unheld(&made, &state);
	if (status == PHILOX_OK)
		*pass = made;
	return status;
}

/* --- end ------------------------------------------------------------------ */

static void give_cells(struct philox_pass *pass)
{
	if (pass->cells && !pass->capture_id)
		pass->region->context->hooks->give(pass);
}

/* *kept: that is all for now, since a body that is running began it. */
static enum philox_status tell_body(const struct philox_pass *pass,
				    int committed, unsigned flags, int *kept)
{
	*kept = 0;
	if (!pass->run)
		return PHILOX_OK;
	return pass->region->context->hooks->ended(pass, committed, flags,
						   kept);
}

/* With the context's lock held; writes the zero ticket if none is owed. */
static enum philox_status commit_pass(struct philox_pass *pass, unsigned flags,
				      struct philox_ticket *ticket,
				      struct saved_context *released)
{
	struct philox_region *region = pass->region;
	int kept;
	struct hold hold = hold_of(pass);
	enum philox_status status = region_check_life(region, pass->life);

	if (status != PHILOX_OK)
		return status;
	if (pass->capture_id)
		return region->context->hooks->commit(pass, flags, ticket);
	status = tell_body(pass, 1, flags, &kept);
	if (status != PHILOX_OK)
		return status;
	*ticket = pass->ticket;
	if (pass->ticket.serial & SERIAL_PLACEHOLDER) /* of a dry run's body */
		pass->ticket = (struct philox_ticket){0};
	if (kept)
		return PHILOX_OK;
	status = hold_commit(&hold, flags & PHILOX_PASS_RETAIN, released);
	if (status != PHILOX_OK)
		return status;
	journal_pass(pass, "commit", pass->flags | flags);
	give_cells(pass);
	return PHILOX_OK;
}

static enum philox_status abort_pass(struct philox_pass *pass,
				     struct saved_context *released)
{
	struct hold hold = hold_of(pass);
	int kept;
	enum philox_status status;

	if (pass->capture_id)
		return pass->region->context->hooks->abort(pass);
	status = tell_body(pass, 0, 0, &kept);
	if (status != PHILOX_OK || kept)
		return status;
	status = hold_abort(&hold, released);
	if (status != PHILOX_OK)
		return status;
	journal_pass(pass, "abort", pass->flags);
	give_cells(pass);
	return PHILOX_OK;
}

/* Commits a pass or, without a ticket to write, aborts it. */
static enum philox_status end_pass(struct philox_pass *pass, unsigned flags,
				   struct philox_ticket *ticket)
{
	struct saved_context released = {0};
	struct philox_region *region = pass->region;
	enum philox_status status;

	context_lock(region->context);
	status = ticket ? commit_pass(pass, flags, ticket, &released)
			: abort_pass(pass, &released);
	if (status == PHILOX_OK)
		spans_forget(pass);
	context_unlock(region->context);
	if (status != PHILOX_OK)
		return pass_finish(pass, status);
	pass->region = NULL;
	saved_context_release(released, pass->stream); /* may free the pass */
	return context_report(region->context, PHILOX_OK, NULL);
}

/* What the end of an open pass is given. */
static enum philox_status check_commit(const struct philox_pass *pass,
				       unsigned flags,
				       const struct philox_ticket *ticket)
{
	const int backward = pass->kind == PASS_BACKWARD;
	enum philox_status status = check_flags(
		pass->region, flags, backward ? PHILOX_PASS_RETAIN : 0,
		backward ? "the end of a backward" : "the end of a forward");

	if (status == PHILOX_OK && !backward && !ticket &&
	    hold_kind(pass->flags) == HOLD_FORWARD)
		status = status_set(PHILOX_ERROR_INVALID,
				    "region '%s': ticket is NULL",
				    pass->region->name);
	return status;
}

enum philox_status philox_pass_commit(struct philox_pass *pass, unsigned flags,
				      struct philox_ticket *ticket)
{
	struct philox_ticket made = {0};
	enum philox_status status = pass_check_open(pass);
	int forward;

	if (status == PHILOX_OK)
		status = check_commit(pass, flags, ticket);
	if (status != PHILOX_OK)
		return pass_finish_unopened(pass, status);
	forward = pass->kind == PASS_FORWARD;
	status = end_pass(pass, flags, &made);
	if (status == PHILOX_OK && ticket)
		*ticket = forward ? made : (struct philox_ticket){0, 0};
	return status;
}

enum philox_status philox_pass_abort(struct philox_pass *pass)
{
	enum philox_status status = pass_check_open(pass);

	if (status != PHILOX_OK)
		return pass_finish_unopened(pass, status);
	return end_pass(pass, 0, NULL);
}
