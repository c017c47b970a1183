/*
 * lib/pass/pass.c - passes: begin, commit, abort
 *
 * An eager pass carries its state by value and uses only the ledger. A pass on
 * a stream that is capturing, and a pass with cells, also uses the context's
 * hooks. At begin the stream is asked whether it is capturing; the pass keeps
 * the answer.
 */
#include <stddef.h>
#include <string.h>
#include "lib/pass/hold.h"
#include "lib/state/journal.h"
#include "lib/pass/pass_check.h"
#include "lib/pass/spans.h"

#define FORWARD_FLAGS  (PHILOX_INFERENCE | PHILOX_WARMUP | PHILOX_ON_DEVICE)
#define BACKWARD_FLAGS (PHILOX_RETAIN | PHILOX_ON_DEVICE | PHILOX_REVERSED)

static enum philox_status check_flags(const struct philox_region *region,
				      unsigned flags, unsigned allowed,
				      const char *where)
{
	if (flags & ~allowed)
		return pass_refuse_flags(region, flags & ~allowed, where);
	if ((flags & PHILOX_INFERENCE) && (flags & PHILOX_WARMUP))
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': PHILOX_INFERENCE and "
				  "PHILOX_WARMUP exclude each other: one takes "
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
		hold.use = pass->flags & PHILOX_RETAIN ? LEDGER_RETAIN
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
	if (status == PHILOX_OK && hold->kind == HOLD_FORWARD)
		pass->ticket =
			(struct philox_ticket){pass->region->key, hold->serial};
	return status;
}

/* An order of iterations is for passes that run several times. */
static enum philox_status check_eager(const struct philox_pass *pass)
{
	if (!(pass->flags & PHILOX_REVERSED))
		return PHILOX_OK;
	return pass_refuse_flags(pass->region, PHILOX_REVERSED,
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
	if (status != PHILOX_OK || !(pass->flags & PHILOX_ON_DEVICE))
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
	if (status != PHILOX_OK)
		goto unlock;
	pass->life = region->life;
	pass->capture_id = info.id;
	status = info.id ? region->context->hooks->begin(pass, &info)
			 : begin_eager(pass);
	if (status == PHILOX_OK && !info.id)
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
static enum philox_status begin_backward(struct philox_region *region,
					 struct philox_ticket ticket,
					 philox_stream stream, unsigned flags,
					 struct philox_pass *pass,
					 const char *call)
{
	struct philox_pass made;
	enum philox_status status;

	if (!region || !pass)
		return null_begin(region, pass);
	made = new_pass(region, stream, PASS_BACKWARD, flags);
	made.ticket = ticket;
	status = check_flags(region, flags, BACKWARD_FLAGS, "a backward");
	if (status == PHILOX_OK)
		status = begin(&made, call);
	*pass = status == PHILOX_OK ? made : not_open;
	return pass_finish(&made, status);
}

enum philox_status philox_backward_begin(struct philox_region *region,
					 struct philox_ticket ticket,
					 philox_stream stream, unsigned flags,
					 struct philox_pass *pass)
{
	return begin_backward(region, ticket, stream, flags, pass, __func__);
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
		made->state = region->flags & PHILOX_SHARED
				      ? region->generator->state
				      : region->state;
	if (status == PHILOX_OK && made->flags & PHILOX_ON_DEVICE)
		status = region->context->hooks->take(made);
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

enum philox_status philox_recompute_begin(struct philox_region *region,
					  struct philox_ticket ticket,
					  philox_stream stream, unsigned flags,
					  struct philox_pass *pass)
{
	return begin_backward(region, ticket, stream, flags | PHILOX_RETAIN,
			      pass, __func__);
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
	status = hold_commit(&hold, flags & PHILOX_RETAIN, released);
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

enum philox_status philox_forward_commit(struct philox_pass *pass,
					 struct philox_ticket *ticket)
{
	struct philox_ticket made = {0};
	enum philox_status status = pass_check_open(pass, PASS_FORWARD);

	if (status == PHILOX_OK && !ticket &&
	    hold_kind(pass->flags) == HOLD_FORWARD)
		status = status_set(PHILOX_ERROR_INVALID,
				    "region '%s': ticket is NULL",
				    pass->region->name);
	if (status != PHILOX_OK)
		return pass_finish_unopened(pass, status);
	status = end_pass(pass, 0, &made);
	if (status == PHILOX_OK && ticket)
		*ticket = made;
	return status;
}

enum philox_status philox_backward_commit(struct philox_pass *pass,
					  unsigned flags)
{
	struct philox_ticket unused;
	enum philox_status status = pass_check_open(pass, PASS_BACKWARD);

	if (status == PHILOX_OK)
		status = check_flags(pass->region, flags, PHILOX_RETAIN,
				     "the end of a backward");
	if (status != PHILOX_OK)
		return pass_finish_unopened(pass, status);
	return end_pass(pass, flags, &unused);
}

enum philox_status philox_pass_abort(struct philox_pass *pass)
{
	enum philox_status status = pass_check_open(pass, 0);

	if (status != PHILOX_OK)
		return pass_finish_unopened(pass, status);
	return end_pass(pass, 0, NULL);
}
