/*
 * graph/runner/state/tie.c - outputs that are released with a ticket
 *
 * See Locks in Note [Runner], graph/runner/state/state.h. With the context's
 * lock, but for a slot's own `tie`.
 */
#include <stdlib.h>
#include "graph/runner/state/state.h"
#include "lib/pass/pass.h"

/* What the ledger has of a ticket's outputs. */
struct tie_list {
	struct philox_context *context;
	struct output_tie *first;
};

struct output_tie {
	struct tie_list *list;    /* NULL: the ticket is used up */
	struct output_tie *next;  /* of the ticket */
	struct output_tie **link; /* to this one */
	struct output_tie
		*next_in_runner; /* of the runner: `ties` or `untied` */
	struct output_tie **runner_link;
	struct philox_runner *runner;
	struct output_slot *slot; /* NULL: released in another way */
	struct philox_region *region;
	struct philox_ticket ticket;
	philox_stream stream; /* that the ticket was used up on */
	int noted;            /* it has a fence there */
};

/* --- lists ------------------------------------------------------------------- */

static void add_to_ticket(struct output_tie *tie, struct tie_list *list)
{
	tie->list = list;
	tie->next = list->first;
	tie->link = &list->first;
	if (tie->next)
		tie->next->link = &tie->next;
	list->first = tie;
}

static void add_to_runner(struct output_tie *tie)
{
	struct philox_runner *runner = tie->runner;

	tie->next_in_runner = runner->ties;
	tie->runner_link = &runner->ties;
	if (tie->next_in_runner)
		tie->next_in_runner->runner_link = &tie->next_in_runner;
	runner->ties = tie;
}

static void remove_tie(struct output_tie *tie)
{
	*tie->link = tie->next;
	if (tie->next)
		tie->next->link = tie->link;
	*tie->runner_link = tie->next_in_runner;
	if (tie->next_in_runner)
		tie->next_in_runner->runner_link = tie->runner_link;
}

/* --- tickets that are used up, on any thread ----------------------------------- */

static void untie_one(struct output_tie *tie, philox_stream stream, int noted)
{
	struct philox_runner *runner = tie->runner;

	remove_tie(tie);
	tie->list = NULL;
	tie->stream = stream;
	tie->noted = noted;
	tie->next_in_runner = atomic_load(&runner->untied);
	atomic_store(&runner->untied, tie);
}

/* What struct saved_context calls. */
static void untie_all(void *tied, philox_stream stream)
{
	struct tie_list *list = tied;
	struct philox_context *context = list->context;
	struct philox_runner *before = NULL;
	int noted = 0;
	const struct status_message kept = status_kept();

	context_lock(context);
	while (list->first) {
		struct philox_runner *runner = list->first->runner;

		if (runner != before)
			noted = fences_note(runner, stream) == PHILOX_OK;
		before = runner;
		untie_one(list->first, stream, noted);
	}
	context_unlock(context);
	free(list);
	status_restore(&kept);
}

/* --- made and ended -------------------------------------------------------------- */

static enum philox_status make_locked(struct output_tie *tie,
				      struct tie_list *list,
				      struct philox_region *region,
				      struct philox_ticket ticket, int *used)
{
	struct ledger_entry *entry;
	enum philox_status status = ticket_pending(region, ticket, &entry);

	if (status != PHILOX_OK)
		return status;
	if (!entry->context.untie) {
		entry->context.tied = list;
		entry->context.untie = untie_all;
		*used = 1;
	}
	add_to_ticket(tie, entry->context.tied);
	add_to_runner(tie);
	return PHILOX_OK;
}

static enum philox_status refuse_tie(const struct output_slot *slot,
				     enum philox_status status, const char *why)
{
	const struct philox_function *function = slot->function;

	return status_set(status, "output '%s' of function '%s' %s",
			  function->outputs[slot->output].name, function->name,
			  why);
}

enum philox_status ties_make(struct output_slot *slot,
			     struct philox_region *region,
			     struct philox_ticket ticket)
{
	struct philox_context *context = region->context;
	struct tie_list *list;
	struct output_tie *tie;
	int used = 0;
	enum philox_status status;

	if (slot->tie)
		return refuse_tie(slot, PHILOX_ERROR_EXISTS,
				  "is tied to a ticket already");
	list = calloc(1, sizeof(*list));
	tie = calloc(1, sizeof(*tie));
	if (!list || !tie) {
		free(list);
		free(tie);
		return refuse_tie(slot, PHILOX_ERROR_MEMORY,
				  "cannot be tied: no memory");
	}
	list->context = context;
	tie->runner = slot->function->runner;
	tie->slot = slot;
	tie->region = region;
	tie->ticket = ticket;
	context_lock(context);
	status = make_locked(tie, list, region, ticket, &used);
	context_unlock(context);
	if (!used)
		free(list);
	if (status == PHILOX_OK)
		slot->tie = tie;
	else
		free(tie);
	return status;
}

void ties_forget(struct output_slot *slot)
{
	struct output_tie *tie = slot->tie;
	struct philox_context *context;

	if (!tie)
		return;
	slot->tie = NULL;
	context = tie->runner->context;
	context_lock(context);
	if (tie->list) {
		remove_tie(tie);
		free(tie);
	} else { /* ties_next() frees it */
		tie->slot = NULL;
	}
	context_unlock(context);
}

/* The list has the newest first. */
void ties_list(const void *tied, struct kept_list *list)
{
	const struct tie_list *ties = tied;
	size_t place;

	for (const struct output_tie *tie = ties->first; tie; tie = tie->next)
		list->n++;
	place = list->n;
	for (const struct output_tie *tie = ties->first; tie; tie = tie->next) {
		const struct output_slot *slot = tie->slot;
		const struct philox_function *function = slot->function;

		kept_put(list, --place, function->outputs[slot->output].name,
			 function->name,
			 function->outputs[slot->output].elements,
			 slot->handle.bytes);
	}
}

int ties_ticket(const struct output_slot *slot, struct philox_region **region,
		struct philox_ticket *ticket)
{
	const struct output_tie *tie = slot->tie;
	int pending;

	*region = NULL;
	*ticket = (struct philox_ticket){0, 0};
	if (!tie)
		return 1;
	context_lock(tie->runner->context);
	pending = tie->list != NULL;
	context_unlock(tie->runner->context);
	if (pending) {
		*region = tie->region;
		*ticket = tie->ticket;
	}
	return pending;
}

/* Whether the next call comes after what read the output. */
static int can_go(struct output_tie *tie)
{
	if (!tie->noted && tie->slot)
		tie->noted = fences_note(tie->runner, tie->stream) == PHILOX_OK;
	return tie->noted || !tie->slot;
}

static void unlink_untied(struct philox_runner *runner,
			  struct output_tie *before, struct output_tie *tie)
{
	if (before)
		before->next_in_runner = tie->next_in_runner;
	else
		atomic_store(&runner->untied, tie->next_in_runner);
}

/* With the context's lock. */
static struct output_slot *take_next(struct philox_runner *runner)
{
	struct output_tie *tie = atomic_load(&runner->untied), *next;
	struct output_tie *before = NULL;
	struct output_slot *slot = NULL;

	for (; tie && !slot; tie = next) {
		next = tie->next_in_runner;
		if (!can_go(tie)) {
			before = tie;
			continue;
		}
		slot = tie->slot;
		unlink_untied(runner, before, tie);
		free(tie);
	}
	return slot;
}

struct output_slot *ties_next(struct philox_runner *runner)
{
	struct output_slot *slot;
	struct status_message kept;

	if (!atomic_load_explicit(&runner->untied, memory_order_relaxed))
		return NULL; /* as a rule */
	kept = status_kept();
	context_lock(runner->context);
	slot = take_next(runner);
	context_unlock(runner->context);
	status_restore(&kept);
	if (slot)
		slot->tie = NULL;
	return slot;
}

void ties_finish(struct philox_runner *runner)
{
	struct output_tie *tie;

	context_lock(runner->context);
	while ((tie = runner->ties)) {
		remove_tie(tie);
		free(tie);
	}
	while ((tie = atomic_load(&runner->untied))) {
		atomic_store(&runner->untied, tie->next_in_runner);
		free(tie);
	}
	context_unlock(runner->context);
}
