/*
 * graph/verify/callback.c - passes that a callback begins: a body of a runner,
 * or an eager form
 */
#include "graph/capture/context.h"
#include "graph/verify/verify.h"

uintptr_t callback_this_thread(void)
{
	static _Thread_local char here;

	return (uintptr_t)&here;
}

void callback_begin(struct philox_run *callback, struct philox_context *context)
{
	callback->context = context;
	context_lock(context);
	callback->n_passes = 0;
	callback->next = context->graphs->callbacks;
	context->graphs->callbacks = callback;
	context_unlock(context);
}

void callback_end(struct philox_run *callback)
{
	struct philox_run **link = &callback->context->graphs->callbacks;

	context_lock(callback->context);
	while (*link != callback)
		link = &(*link)->next;
	*link = callback->next;
	callback->n_passes = 0;
	context_unlock(callback->context);
}

/* The innermost callback that this thread is in. */
static _Thread_local struct philox_run *innermost;

void callback_enter(struct philox_run *callback)
{
	callback->outer = innermost;
	innermost = callback;
	atomic_store(&callback->thread, callback_this_thread());
}

void callback_leave(struct philox_run *callback)
{
	atomic_store(&callback->thread, 0);
	innermost = callback->outer;
}

int callback_is_here(const struct philox_run *callback)
{
	return atomic_load(&callback->thread) == callback_this_thread();
}

/* --- passes ------------------------------------------------------------------------ */

struct philox_ticket callback_placeholder(const struct philox_run *callback,
					  const struct philox_region *region)
{
	return (struct philox_ticket){
		region->key, SERIAL_PLACEHOLDER | (callback->n_passes + 1)};
}

void callback_add(struct philox_run *callback, struct philox_pass *pass,
		  const struct callback_pass *made, int numbered)
{
	struct graph_context *graphs = callback->context->graphs;
	struct callback_pass *added = &callback->passes[callback->n_passes];

	context_lock(callback->context);
	*added = *made;
	added->ticket = pass->ticket;
	if (numbered)
		added->number = ++graphs->run_passes;
	callback->n_passes++;
	context_unlock(callback->context);
	pass->run = added->number;
}

void callback_give_cells(struct callback_pass *pass)
{
	struct philox_context *context = pass->pass.region->context;

	context_lock(context);
	if (pass->pass.cells)
		context->hooks->give(&pass->pass);
	context_unlock(context);
}

/* --- the ends of passes, with the context's lock ----------------------------- */

/* Numbers go up within a callback, and are 0 in all of a recording. */
static struct callback_pass *find_pass(const struct philox_run *callback,
				       uint64_t number)
{
	size_t low = 0, high = callback->n_passes;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (callback->passes[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < callback->n_passes &&
			       callback->passes[low].number == number
		       ? &callback->passes[low]
		       : NULL;
}

/* What a body draws by itself is in no recording. */
enum philox_status callback_admit(const struct philox_region *region)
{
	if (!innermost || innermost->beginning)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_STATE,
			  "region '%s': this thread is in %s, which begins its "
			  "passes through its run: no other pass of it would "
			  "be recorded or repeated",
			  region->name,
			  callback_is_form(innermost) ? "an eager form"
						      : "a body of a runner");
}

/* The ticket can be repeated at once, though its commit is put off. */
static void retain_pass(struct callback_pass *ended)
{
	struct philox_pass *pass = &ended->pass;

	if (!ended->backward || ended->dry || pass->flags & PHILOX_PASS_RETAIN)
		return;
	ledger_retain(&pass->region->ledger, pass->ticket.serial);
	pass->flags |= PHILOX_PASS_RETAIN;
}

/* Whoever ran the callback has ended it by then, and given its cells back. */
static enum philox_status refuse_end(const struct philox_pass *pass)
{
	return status_set(PHILOX_ERROR_STATE,
			  "region '%s': the pass is not open: it has ended "
			  "already, or the body that began it has returned",
			  pass->region->name);
}

enum philox_status callback_pass_ended(const struct philox_pass *pass,
				       int committed, unsigned flags, int *kept)
{
	struct philox_run *callback = pass->region->context->graphs->callbacks;
	struct callback_pass *ended = NULL;

	for (; callback && !ended; callback = callback->next)
		ended = find_pass(callback, pass->run);
	*kept = 1;
	if (!ended || ended->state != CALLBACK_PASS_OPEN)
		return refuse_end(pass);
	ended->state =
		committed ? CALLBACK_PASS_COMMITTED : CALLBACK_PASS_ABORTED;
	ended->commit = flags;
	if (committed && flags & PHILOX_PASS_RETAIN)
		retain_pass(ended);
	*kept = ended->given || (ended->backward && (committed || ended->dry));
	return PHILOX_OK;
}
