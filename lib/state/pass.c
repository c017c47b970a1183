/*
 * lib/state/pass.c - passes: begin, commit, abort
 *
 * An eager pass carries its state by value and meets only the ledger. A pass on
 * a stream that is capturing, and one that wants cells, goes on through the
 * context's hooks. Which of the two it is, is asked of the stream at begin and
 * stands in the pass from then on.
 */
#include <stddef.h>
#include <string.h>
#include "lib/state/journal.h"
#include "lib/state/pass.h"
#include "lib/state/region.h"
#include "lib/state/spans.h"

/* Forwards that draw without owing a backward. */
static int is_untracked(const struct philox_pass *pass)
{
	return pass->flags & (PHILOX_INFERENCE | PHILOX_WARMUP);
}

static enum philox_status finish(const struct philox_region *region,
				 enum philox_status status,
				 struct philox_ticket ticket,
				 uint64_t capture_id)
{
	struct philox_log_entry subject;

	if (status == PHILOX_OK)
		return context_report(region->context, PHILOX_OK, NULL);
	subject = (struct philox_log_entry){.region = region->name,
					    .capture_id = capture_id};
	if (!(ticket.serial & SERIAL_PLACEHOLDER))
		subject.ticket = ticket;
	return context_report(region->context, status, &subject);
}

enum philox_status pass_finish(const struct philox_pass *pass,
			       enum philox_status status)
{
	return finish(pass->region, status, pass->ticket, pass->capture_id);
}

static enum philox_status check_flags(const struct philox_region *region,
				      unsigned flags, unsigned allowed)
{
	if (flags & ~allowed)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': unknown or unfit flags 0x%x",
				  region->name, flags & ~allowed);
	if ((flags & PHILOX_INFERENCE) && (flags & PHILOX_WARMUP))
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': INFERENCE and WARMUP exclude "
				  "each other",
				  region->name);
	return PHILOX_OK;
}

static enum philox_status ask(const struct philox_region *region,
			      philox_stream stream, struct capture_info *info)
{
	enum philox_status status;

	status = device_capture_info(region->context->device, stream, info);
	if (status != PHILOX_OK)
		return status_prefix(status, "region '%s': ", region->name);
	if (info->status == PHILOX_CAPTURE_INVALIDATED)
		return status_set(PHILOX_ERROR_CAPTURE_INVALIDATED,
				  "region '%s': the capture on this stream was "
				  "invalidated and must be ended",
				  region->name);
	if (info->status == PHILOX_CAPTURE_NONE)
		info->id = 0;
	return PHILOX_OK;
}

/* Asks a stream for its capture; an invalidated one is an error. */
enum philox_status pass_query(const struct philox_region *region,
			      philox_stream stream, const char *call,
			      struct capture_info *info)
{
	enum philox_status status = ask(region, stream, info);

	context_broken(region->context, stream, status, call, region->name);
	return status;
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
	return pass;
}

static enum ledger_use use_of(const struct philox_pass *pass)
{
	return pass->flags & PHILOX_RETAIN ? LEDGER_RETAIN : LEDGER_CONSUME;
}

/* --- begin ---------------------------------------------------------------- */

static enum philox_status begin_eager_forward(struct philox_pass *pass)
{
	struct philox_region *region = pass->region;
	enum philox_status status = region_check_exclusive(region);

	if (status != PHILOX_OK)
		return status;
	if (pass->flags & PHILOX_WARMUP) {
		status = region_check_offset(region);
		pass->state = *region_next(region);
	} else if (pass->flags & PHILOX_INFERENCE) {
		status = region_reserve(region, &pass->state);
	} else {
		status =
			region_open(region, &pass->ticket.serial, &pass->state);
		pass->ticket.region_key = region->key;
	}
	if (status == PHILOX_OK)
		region_set_open(region, 1);
	return status;
}

static enum philox_status begin_eager_backward(struct philox_pass *pass)
{
	struct philox_region *region = pass->region;
	enum philox_status status = region_check_ticket(region, pass->ticket);

	if (status != PHILOX_OK)
		return status;
	status = ledger_begin(&region->ledger, pass->ticket.serial,
			      use_of(pass), &pass->state);
	if (status != PHILOX_OK)
		status_prefix(status, "region '%s': ", region->name);
	return status;
}

/* Takes back what begin_eager_*() did; a forward's numbers are burnt. */
static enum philox_status end_eager(struct philox_pass *pass, int consume,
				    struct saved_context *released)
{
	struct ledger *ledger = &pass->region->ledger;
	enum philox_status status = PHILOX_OK;

	if (pass->kind == PASS_BACKWARD)
		status = ledger_end(ledger, pass->ticket.serial, use_of(pass),
				    consume, released);
	else if (!is_untracked(pass))
		status = ledger_abort(ledger, pass->ticket.serial);
	if (status != PHILOX_OK)
		return status_prefix(status,
				     "region '%s': ", pass->region->name);
	if (pass->kind == PASS_FORWARD)
		region_set_open(pass->region, 0);
	return PHILOX_OK;
}

static enum philox_status begin_eager(struct philox_pass *pass)
{
	const struct context_hooks *hooks = pass->region->context->hooks;
	struct saved_context none = {0};
	enum philox_status status;

	status = pass->kind == PASS_FORWARD ? begin_eager_forward(pass)
					    : begin_eager_backward(pass);
	if (status != PHILOX_OK || !(pass->flags & PHILOX_ON_DEVICE))
		return status;
	status = hooks->take(pass);
	if (status != PHILOX_OK)
		end_eager(pass, 0, &none);
	return status;
}

static enum philox_status begin(struct philox_pass *pass)
{
	struct philox_region *region = pass->region;
	struct capture_info info;
	const char *call = pass->kind == PASS_FORWARD ? "philox_forward_begin"
						      : "philox_backward_begin";
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

static enum philox_status null_begin(const struct philox_region *region)
{
	if (!region)
		return status_set(PHILOX_ERROR_INVALID, "region is NULL");
	return context_null(region->context, "pass");
}

enum philox_status philox_forward_begin(struct philox_region *region,
					philox_stream stream, unsigned flags,
					struct philox_pass *pass)
{
	struct philox_pass made;
	enum philox_status status;

	if (!region || !pass)
		return null_begin(region);
	made = new_pass(region, stream, PASS_FORWARD, flags);
	status = check_flags(region, flags,
			     PHILOX_INFERENCE | PHILOX_WARMUP |
				     PHILOX_ON_DEVICE);
	if (status == PHILOX_OK)
		status = begin(&made);
	if (status == PHILOX_OK)
		*pass = made;
	return pass_finish(&made, status);
}

enum philox_status philox_backward_begin(struct philox_region *region,
					 struct philox_ticket ticket,
					 philox_stream stream, unsigned flags,
					 struct philox_pass *pass)
{
	struct philox_pass made;
	enum philox_status status;

	if (!region || !pass)
		return null_begin(region);
	made = new_pass(region, stream, PASS_BACKWARD, flags);
	made.ticket = ticket;
	status = check_flags(region, flags, PHILOX_RETAIN | PHILOX_ON_DEVICE);
	if (status == PHILOX_OK)
		status = begin(&made);
	if (status == PHILOX_OK)
		*pass = made;
	return pass_finish(&made, status);
}

enum philox_status philox_recompute_begin(struct philox_region *region,
					  struct philox_ticket ticket,
					  philox_stream stream, unsigned flags,
					  struct philox_pass *pass)
{
	return philox_backward_begin(region, ticket, stream,
				     flags | PHILOX_RETAIN, pass);
}

/* --- end ------------------------------------------------------------------ */

/* Whether a pass is open and of this kind (0: any, but not a view). */
enum philox_status pass_check_open(const struct philox_pass *pass,
				   uint16_t kind)
{
	if (!pass)
		return status_set(PHILOX_ERROR_INVALID, "pass is NULL");
	if (!pass->region)
		return status_set(PHILOX_ERROR_STATE, "the pass is not open");
	if (pass->kind & PASS_VIEW)
		return status_set(PHILOX_ERROR_STATE,
				  "region '%s': this is a view of a pass for "
				  "another stream: end the pass itself",
				  pass->region->name);
	if (kind && pass->kind != kind)
		return status_set(
			PHILOX_ERROR_STATE, "region '%s': not a %s pass",
			pass->region->name,
			kind == PASS_FORWARD ? "forward" : "backward");
	return PHILOX_OK;
}

/* Logs through the pass's context if there is one. */
enum philox_status pass_finish_unopened(const struct philox_pass *pass,
					enum philox_status status)
{
	return pass && pass->region ? pass_finish(pass, status) : status;
}

static void give_cells(struct philox_pass *pass)
{
	if (pass->cells && !pass->capture_id)
		pass->region->context->hooks->give(pass);
}

static enum philox_status commit_eager_forward(struct philox_pass *pass)
{
	struct philox_region *region = pass->region;
	enum philox_status status = PHILOX_OK;

	if (!is_untracked(pass))
		status = ledger_commit(&region->ledger, pass->ticket.serial);
	if (status != PHILOX_OK)
		return status_prefix(status, "region '%s': ", region->name);
	region_set_open(region, 0);
	return PHILOX_OK;
}

static enum philox_status commit_forward(struct philox_pass *pass,
					 struct philox_ticket *ticket)
{
	struct philox_region *region = pass->region;
	enum philox_status status = region_check_life(region, pass->life);

	if (status != PHILOX_OK)
		return status;
	if (pass->capture_id)
		return region->context->hooks->commit(pass, 0, ticket);
	status = commit_eager_forward(pass);
	if (status != PHILOX_OK)
		return status;
	journal_pass(pass, "commit", pass->flags);
	give_cells(pass);
	*ticket = pass->ticket; /* zero if untracked */
	return PHILOX_OK;
}

enum philox_status philox_forward_commit(struct philox_pass *pass,
					 struct philox_ticket *ticket)
{
	struct philox_ticket made = {0};
	struct philox_region *region;
	enum philox_status status = pass_check_open(pass, PASS_FORWARD);

	if (status == PHILOX_OK && !ticket && !is_untracked(pass))
		status = status_set(PHILOX_ERROR_INVALID,
				    "region '%s': ticket is NULL",
				    pass->region->name);
	if (status != PHILOX_OK)
		return pass_finish_unopened(pass, status);
	region = pass->region;
	context_lock(region->context);
	status = commit_forward(pass, &made);
	if (status == PHILOX_OK)
		spans_forget(pass);
	context_unlock(region->context);
	if (status != PHILOX_OK)
		return pass_finish(pass, status);
	if (ticket)
		*ticket = made;
	pass->region = NULL;
	return finish(region, PHILOX_OK, made, 0);
}

static enum philox_status commit_backward(struct philox_pass *pass,
					  unsigned flags,
					  struct saved_context *released)
{
	struct philox_region *region = pass->region;
	enum philox_status status = region_check_life(region, pass->life);
	int consume = !((pass->flags | flags) & PHILOX_RETAIN);

	if (status != PHILOX_OK)
		return status;
	if (pass->capture_id)
		return region->context->hooks->commit(pass, flags, NULL);
	status = end_eager(pass, consume, released);
	if (status != PHILOX_OK)
		return status;
	journal_pass(pass, "commit", pass->flags | flags);
	give_cells(pass);
	return PHILOX_OK;
}

enum philox_status philox_backward_commit(struct philox_pass *pass,
					  unsigned flags)
{
	struct saved_context released = {0};
	struct philox_region *region;
	enum philox_status status = pass_check_open(pass, PASS_BACKWARD);

	if (status == PHILOX_OK)
		status = check_flags(pass->region, flags, PHILOX_RETAIN);
	if (status != PHILOX_OK)
		return pass_finish_unopened(pass, status);
	region = pass->region;
	context_lock(region->context);
	status = commit_backward(pass, flags, &released);
	context_unlock(region->context);
	if (status != PHILOX_OK)
		return pass_finish(pass, status);
	pass->region = NULL;
	saved_context_release(released, pass->stream); /* may free the pass */
	return context_report(region->context, PHILOX_OK, NULL);
}

static enum philox_status abort_pass(struct philox_pass *pass,
				     struct saved_context *released)
{
	struct philox_region *region = pass->region;
	enum philox_status status = PHILOX_OK;

	if (pass->capture_id)
		return region->context->hooks->abort(pass);
	if (region_is_life(region, pass->life))
		status = end_eager(pass, 0, released);
	if (status != PHILOX_OK)
		return status;
	journal_pass(pass, "abort", pass->flags);
	give_cells(pass);
	return PHILOX_OK;
}

enum philox_status philox_pass_abort(struct philox_pass *pass)
{
	struct saved_context released = {0};
	struct philox_region *region;
	enum philox_status status = pass_check_open(pass, 0);

	if (status != PHILOX_OK)
		return pass_finish_unopened(pass, status);
	region = pass->region;
	context_lock(region->context);
	status = abort_pass(pass, &released);
	if (status == PHILOX_OK)
		spans_forget(pass);
	context_unlock(region->context);
	if (status != PHILOX_OK)
		return pass_finish(pass, status);
	pass->region = NULL;
	saved_context_release(released, pass->stream); /* may free the pass */
	return context_report(region->context, PHILOX_OK, NULL);
}
