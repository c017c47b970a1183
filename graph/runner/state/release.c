/*
 * graph/runner/state/release.c - outputs in the caller's hands
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/pool/pool.h"
#include "graph/runner/state/state.h"
#include "lib/pass/pass.h"

static enum philox_status leave(struct philox_runner *runner,
				enum philox_status status, int within)
{
	return within ? runner_report(runner, NULL, status)
		      : runner_leave(runner, NULL, status);
}

/*
 * What the functions below begin with, which calls may call, too: the output's
 * slot. What goes well is ended by leave().
 */
static enum philox_status enter(struct philox_runner *runner,
				const struct philox_output *output, int *within,
				struct output_slot **slot)
{
	enum philox_status status = PHILOX_OK;

	if (!runner)
		return context_null(NULL, "runner");
	if (!output)
		return context_null(runner->context, "output");
	NEED_PROCESS(runner->context);
	*within = runner_is_here(runner);
	if (*within)
		runner_drain(runner, 1);
	else
		status = runner_acquire(runner);
	if (status != PHILOX_OK)
		return runner_report(runner, NULL, status);
	status = outputs_find(runner, output, slot);
	return status == PHILOX_OK ? PHILOX_OK : leave(runner, status, *within);
}

/*
 * The next call comes after the fills, too. A fill that fails is left to it;
 * contents must not change by a release that fails, so a fence is tried twice.
 */
static enum philox_status note_fills(struct philox_runner *runner,
				     philox_stream stream)
{
	enum philox_status status = fences_note(runner, stream);

	if (status != PHILOX_OK)
		status = fences_note(runner, stream);
	for (size_t i = 0; status != PHILOX_OK && i < runner->n_slots; i++)
		runner->slots[i]->filled = 0;
	return status;
}

static enum philox_status fill_released(struct philox_runner *runner,
					philox_stream stream,
					struct output_slot *slot)
{
	const struct status_message kept = status_kept();

	if (pool_fill_begin(runner->pool, stream))
		outputs_fill(slot, stream);
	status_restore(&kept);
	return slot->filled ? note_fills(runner, stream) : PHILOX_OK;
}

/* The pool unmaps what it knows to be free. */
static void unmap_released(struct philox_runner *runner)
{
	struct status_message kept;

	if (!(runner->pool->flags & PHILOX_POOL_UNMAP))
		return;
	kept = status_kept();
	live_settle(runner);
	status_restore(&kept);
}

enum philox_status philox_output_release(struct philox_runner *runner,
					 philox_stream stream,
					 const struct philox_output *output)
{
	struct output_slot *slot;
	int within;
	enum philox_status status = enter(runner, output, &within, &slot);

	if (status != PHILOX_OK)
		return status;
	status = fences_note(runner, stream);
	if (status == PHILOX_OK && !within)
		status = fill_released(runner, stream, slot);
	if (status == PHILOX_OK && within)
		outputs_drop_later(slot);
	else if (status == PHILOX_OK)
		outputs_drop(slot);
	if (status == PHILOX_OK && !within)
		unmap_released(runner);
	return leave(runner, status, within);
}

enum philox_status philox_output_check(struct philox_runner *runner,
				       const struct philox_output *output)
{
	struct output_slot *slot;
	int within;
	enum philox_status status = enter(runner, output, &within, &slot);

	return status == PHILOX_OK ? leave(runner, status, within) : status;
}

static enum philox_status tie_output(struct philox_runner *runner,
				     struct output_slot *slot,
				     struct philox_region *region,
				     struct philox_ticket ticket)
{
	enum philox_status status = PHILOX_OK;

	if (region->context != runner->context)
		status = status_set(PHILOX_ERROR_MISMATCH,
				    "region '%s' is of another context than "
				    "runner '%s'",
				    region->name, runner->name);
	if (status == PHILOX_OK)
		status = step_reserve(runner, 1);
	if (status == PHILOX_OK)
		status = ties_make(slot, region, ticket);
	if (status == PHILOX_OK)
		step_owe(runner, (struct owed_ticket){.region = region,
						      .ticket = ticket,
						      .path = slot->path});
	return status;
}

enum philox_status philox_output_tie(struct philox_runner *runner,
				     const struct philox_output *output,
				     struct philox_region *region,
				     struct philox_ticket ticket)
{
	struct output_slot *slot;
	int within;
	enum philox_status status;

	if (!region)
		return context_null(runner ? runner->context : NULL, "region");
	status = enter(runner, output, &within, &slot);
	if (status != PHILOX_OK)
		return status;
	return leave(runner, tie_output(runner, slot, region, ticket), within);
}

enum philox_status philox_output_set_data(struct philox_runner *runner,
					  const struct philox_output *output,
					  void *data)
{
	struct output_slot *slot;
	int within;
	enum philox_status status = enter(runner, output, &within, &slot);

	if (status != PHILOX_OK)
		return status;
	slot->data = data;
	return leave(runner, PHILOX_OK, within);
}

enum philox_status philox_output_get_data(struct philox_runner *runner,
					  const struct philox_output *output,
					  void **data)
{
	struct output_slot *slot;
	int within;
	enum philox_status status = enter(runner, output, &within, &slot);

	if (status != PHILOX_OK)
		return status;
	if (data)
		*data = slot->data;
	else
		status = status_set(PHILOX_ERROR_INVALID, "data is NULL");
	return leave(runner, status, within);
}

static enum philox_status check_label(const struct output_slot *slot,
				      const char *label)
{
	const struct philox_function *function = slot->function;
	const char *name = function->outputs[slot->output].name;
	const size_t length = strlen(label);

	if (length >= sizeof(slot->label))
		return status_set(PHILOX_ERROR_INVALID,
				  "output '%s' of function '%s': a label has "
				  "at most %zu bytes, not %zu",
				  name, function->name, sizeof(slot->label) - 1,
				  length);
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)label[i] < ' ' || label[i] == 0x7f)
			return status_set(PHILOX_ERROR_INVALID,
					  "output '%s' of function '%s': byte "
					  "%zu of its label is a control "
					  "character",
					  name, function->name, i);
	return PHILOX_OK;
}

enum philox_status philox_output_set_label(struct philox_runner *runner,
					   const struct philox_output *output,
					   const char *label)
{
	struct output_slot *slot;
	int within;
	enum philox_status status = enter(runner, output, &within, &slot);

	if (status != PHILOX_OK)
		return status;
	if (!label)
		label = "";
	status = check_label(slot, label);
	if (status == PHILOX_OK) {
		memset(slot->label, 0, sizeof(slot->label));
		memcpy(slot->label, label, strlen(label));
	}
	return leave(runner, status, within);
}

enum philox_status philox_output_get_tie(struct philox_runner *runner,
					 const struct philox_output *output,
					 struct philox_region **region,
					 struct philox_ticket *ticket)
{
	struct output_slot *slot;
	int within;
	enum philox_status status = enter(runner, output, &within, &slot);

	if (status != PHILOX_OK)
		return status;
	if (region && ticket)
		ties_ticket(slot, region, ticket);
	else
		status = status_set(PHILOX_ERROR_INVALID, "%s is NULL",
				    region ? "ticket" : "region");
	return leave(runner, status, within);
}

/* --- step: the outputs of a step, and what keeps them --------------------- */

/*
 * See Paths in Note [Runner], graph/runner/state/state.h.
 */

/* --- tickets that are owed ---------------------------------------------------- */

static int is_owed(const struct owed_ticket *owed)
{
	struct ledger_entry *entry;

	return ticket_pending(owed->region, owed->ticket, &entry) == PHILOX_OK;
}

void step_strike_off(struct philox_runner *runner)
{
	size_t left = 0;
	const struct status_message kept = status_kept();

	context_lock(runner->context);
	for (size_t i = 0; i < runner->n_owed; i++)
		if (is_owed(&runner->owed[i]))
			runner->owed[left++] = runner->owed[i];
	context_unlock(runner->context);
	runner->n_owed = left;
	status_restore(&kept);
}

/* At least half of the room is free after looking, so that is done rarely. */
enum philox_status step_reserve(struct philox_runner *runner, size_t n)
{
	if (runner->n_owed + n <= runner->owed_room)
		return PHILOX_OK;
	step_strike_off(runner);
	return runner_room(&runner->owed, &runner->owed_room,
			   2 * (runner->n_owed + n), sizeof(*runner->owed));
}

void step_owe(struct philox_runner *runner, struct owed_ticket owed)
{
	runner->owed[runner->n_owed++] = owed;
}

/* --- paths ---------------------------------------------------------------------- */

static void join_paths(struct philox_runner *runner, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < runner->n_slots; i++)
		if (runner->slots[i]->path == from)
			runner->slots[i]->path = to;
	for (size_t i = 0; i < runner->n_owed; i++)
		if (runner->owed[i].path == from)
			runner->owed[i].path = to;
}

void step_follow(struct philox_runner *runner, size_t n_inputs)
{
	uint64_t path = 0, of;

	for (size_t i = 0; runner->handles && i < n_inputs; i++) {
		if (!runner->input_slots[i])
			continue;
		of = runner->input_slots[i]->path;
		if (!path)
			path = of;
		else if (of != path)
			join_paths(runner, of, path);
	}
	runner->path = path ? path : ++runner->paths;
}

/* The tickets are sorted by path: one that keeps a path; NULL: none. */
static const struct owed_ticket *keeper_of(const struct philox_runner *runner,
					   uint64_t path)
{
	size_t low = 0, high = runner->n_owed;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (runner->owed[middle].path < path)
			low = middle + 1;
		else
			high = middle;
	}
	return low < runner->n_owed && runner->owed[low].path == path
		       ? &runner->owed[low]
		       : NULL;
}

static int by_path(const void *one, const void *other)
{
	const struct owed_ticket *a = one, *b = other;

	if (a->path != b->path)
		return (a->path > b->path) - (a->path < b->path);
	return (a->ticket.serial > b->ticket.serial) -
	       (a->ticket.serial < b->ticket.serial);
}

/* --- steps ------------------------------------------------------------------------ */

static void tell_kept(size_t kept, const struct output_slot *slot,
		      const struct owed_ticket *keeper)
{
	const struct philox_function *function = slot->function;
	char maker[40] = "that was loaded";

	if (slot->call)
		snprintf(maker, sizeof(maker), "of call %" PRIu64, slot->call);
	runner_post(
		function, PHILOX_LOG_INFO, "step", PHILOX_CALL_NONE, NULL, 0,
		"has output '%s' %s kept, one of %zu, since a backward of "
		"its path is owed: that of ticket %" PRIu64 " of region '%s'",
		function->outputs[slot->output].name, maker, kept,
		keeper->ticket.serial, keeper->region->name);
}

/* Before the two below. */
static void sort_tickets(struct philox_runner *runner)
{
	step_strike_off(runner);
	if (runner->n_owed)
		qsort(runner->owed, runner->n_owed, sizeof(*runner->owed),
		      by_path);
}

static enum philox_status fill_paths(struct philox_runner *runner,
				     philox_stream stream, unsigned flags)
{
	const struct status_message kept = status_kept();
	int filled = 0;

	if (!pool_fill_begin(runner->pool, stream)) {
		status_restore(&kept);
		return PHILOX_OK;
	}
	for (size_t i = 0; i < runner->n_slots; i++) {
		struct output_slot *slot = runner->slots[i];

		if (!slot->live || (!(flags & PHILOX_STEP_RELEASE_ALL) &&
				    keeper_of(runner, slot->path)))
			continue;
		outputs_fill(slot, stream);
		filled |= slot->filled;
	}
	status_restore(&kept);
	return filled ? note_fills(runner, stream) : PHILOX_OK;
}

static size_t end_paths(struct philox_runner *runner, unsigned flags)
{
	const struct output_slot *first = NULL;
	const struct owed_ticket *keeper, *first_keeper = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < runner->n_slots; i++) {
		struct output_slot *slot = runner->slots[i];

		if (!slot->live)
			continue;
		keeper = flags & PHILOX_STEP_RELEASE_ALL
				 ? NULL
				 : keeper_of(runner, slot->path);
		if (!keeper) {
			outputs_drop(slot);
		} else if (!kept++) {
			first = slot;
			first_keeper = keeper;
		}
	}
	if (kept)
		tell_kept(kept, first, first_keeper);
	return kept;
}

static enum philox_status begin_step(struct philox_runner *runner,
				     philox_stream stream, unsigned flags,
				     size_t *kept)
{
	size_t n;
	enum philox_status status;

	if (flags & ~(unsigned)PHILOX_STEP_RELEASE_ALL)
		return status_set(PHILOX_ERROR_INVALID,
				  "runner '%s': flags of a step are 0x%x, but "
				  "all that are known are 0x1",
				  runner->name, flags);
	status = fences_note(runner, stream);
	sort_tickets(runner);
	if (status == PHILOX_OK)
		status = fill_paths(runner, stream, flags);
	if (status != PHILOX_OK)
		return status;
	n = end_paths(runner, flags);
	unmap_released(runner);
	if (kept)
		*kept = n;
	return PHILOX_OK;
}

enum philox_status philox_runner_step_begin(struct philox_runner *runner,
					    philox_stream stream,
					    unsigned flags, size_t *kept)
{
	enum philox_status status;

	if (!runner)
		return context_null(NULL, "runner");
	NEED_PROCESS(runner->context);
	status = runner_acquire(runner);
	if (status != PHILOX_OK)
		return runner_report(runner, NULL, status);
	return runner_leave(runner, NULL,
			    begin_step(runner, stream, flags, kept));
}

/* --- enter: a thread comes into a runner ---------------------------------- */

void runner_drain(struct philox_runner *runner, int within)
{
	struct output_slot *slot;

	while ((slot = ties_next(runner)))
		if (within)
			outputs_drop_later(slot);
		else
			outputs_drop(slot);
}

enum philox_status runner_acquire(struct philox_runner *runner)
{
	enum philox_status status = runner_lock(runner);

	if (status != PHILOX_OK)
		return status;
	outputs_drop_now(runner);
	runner_drain(runner, 0);
	return PHILOX_OK;
}
