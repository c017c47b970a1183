/*
 * lib/save/inspect.c - the digest of a context, and the states of tickets
 *
 * Everything that decides the future is folded, word by word, into 64 bits, in
 * an order that depends only on contents: generators by creation, which
 * identifies them, regions by name, tickets by serial. Locked by the context.
 */
#include <stdlib.h>
#include <string.h>
#include <philox/save.h>
#include "lib/rows/rows.h"
#include "lib/save/save.h"
#include "lib/pass/pass.h"

/* A plane of counters in which no key is derived: see philox_fold(). */
#define FOLD_DIGEST 0x80000000000000d1ULL

static void add_word(uint64_t *digest, uint64_t word)
{
	*digest = philox_fold(*digest, FOLD_DIGEST, word);
}

static void add_state(uint64_t *digest, struct philox_state state)
{
	add_word(digest, state.seed);
	add_word(digest, state.offset);
}

static void add_name(uint64_t *digest, const char *name)
{
	for (; name && *name; name++)
		add_word(digest, (unsigned char)*name);
	add_word(digest, name ? UINT64_MAX - 1 : UINT64_MAX);
}

static void add_generators(uint64_t *digest, const struct save_lists *lists)
{
	add_word(digest, lists->n_generators);
	for (size_t i = 0; i < lists->n_generators; i++) {
		const struct philox_generator *generator = lists->generators[i];

		add_state(digest, generator->state);
		add_word(digest, generator->open ? generator->open->key : 0);
	}
}

/* --- tickets -------------------------------------------------------------- */

static void add_entry(uint64_t *digest, const struct ledger_entry *entry)
{
	add_word(digest, entry->serial);
	add_state(digest, entry->state);
	add_word(digest, entry->phase);
	add_word(digest, entry->consuming);
	add_word(digest, entry->readers);
	if (entry->iterations > 1)
		add_word(digest, entry->iterations);
}

static enum philox_status add_ledger(uint64_t *digest,
				     const struct ledger *ledger)
{
	const struct ledger_entry **entries;
	uint32_t used;
	enum philox_status status =
		ledger_list(ledger, LEDGER_FREE, &entries, &used);

	if (status != PHILOX_OK)
		return status;
	add_word(digest, used);
	for (uint32_t i = 0; i < used; i++)
		add_entry(digest, entries[i]);
	free(entries);
	return PHILOX_OK;
}

/* --- regions -------------------------------------------------------------- */

static void add_ops(uint64_t *digest, const struct philox_region *region)
{
	add_word(digest, region->n_ops);
	for (uint32_t i = 0; i < region->n_ops; i++) {
		add_name(digest, region->ops[i].name);
		add_word(digest, region->ops[i].calls);
		add_word(digest, region->ops[i].advance);
	}
}

/* What coordinates that are gone have issued decides where new ones begin. */
static void add_issued(uint64_t *digest, const struct philox_region *region)
{
	const struct region_axes *axes = &region->axes;

	if (axes->offset <= region->state.offset &&
	    axes->serial <= region->serial)
		return;
	add_word(digest, axes->offset);
	add_word(digest, axes->serial);
}

/*
 * A destroyed name keeps offset and serial; its seed is derived again. An
 * unclaimed region counts as the one that it will be.
 */
static enum philox_status add_region(uint64_t *digest,
				     const struct philox_region *region)
{
	add_name(digest, region->name);
	add_word(digest, save_number(region->generator));
	add_word(digest, region->state.offset);
	add_word(digest, region->serial);
	add_word(digest, region_is_whole(region));
	if (!region_is_whole(region))
		return PHILOX_OK;
	add_word(digest, region->state.seed);
	add_word(digest, region->flags);
	for (size_t i = 0; i < region->axes.n; i++)
		add_name(digest, region->axes.names[i]);
	add_issued(digest, region);
	add_ops(digest, region);
	return add_ledger(digest, &region->ledger);
}

/* The states of rows are on the device, which is not asked. */
static void add_rows(uint64_t *digest, const struct save_lists *lists)
{
	for (size_t i = 0; i < lists->n_rows; i++) {
		const struct philox_rows *rows = lists->rows[i];

		add_name(digest, rows->name);
		add_word(digest, save_number(rows->generator));
		add_word(digest, rows->table.count);
	}
}

/* Without data the digest is as it was before there were any. */
static void add_data(uint64_t *digest, const struct save_lists *lists)
{
	if (lists->n_data)
		add_word(digest, lists->n_data);
	for (size_t i = 0; i < lists->n_data; i++) {
		const struct philox_data *data = lists->data[i];

		add_name(digest, data->name);
		add_word(digest, save_number(data->generator));
		add_word(digest, data->order);
		add_word(digest, data->seed);
		add_word(digest, data->position);
	}
}

/* A destroyed name that has issued nothing is as good as new. */
static int is_known(const struct philox_region *region)
{
	return region_is_whole(region) || region->state.offset ||
	       region->serial > 1;
}

enum philox_status inspect_digest(const struct philox_context *context,
				  uint64_t *digest)
{
	struct save_lists lists;
	uint64_t made = 0;
	enum philox_status status;

	status = save_lists_init(&lists, context, save_compare_names);
	if (status != PHILOX_OK)
		return status;
	add_generators(&made, &lists);
	for (size_t i = 0; status == PHILOX_OK && i < lists.n_regions; i++)
		if (is_known(lists.regions[i]))
			status = add_region(&made, lists.regions[i]);
	add_rows(&made, &lists);
	add_data(&made, &lists);
	save_lists_finish(&lists);
	if (status == PHILOX_OK)
		*digest = made;
	return status;
}

/* --- public --------------------------------------------------------------- */

enum philox_status philox_context_digest(struct philox_context *context,
					 uint64_t *digest)
{
	enum philox_status status;

	if (!context || !digest)
		return context_null(context, context ? "digest" : "context");
	NEED_PROCESS(context);
	context_lock(context);
	status = inspect_digest(context, digest);
	context_unlock(context);
	return context_report(context, status, NULL);
}

/* With the context's lock held. */
static enum philox_status find_state(struct philox_region *region,
				     struct philox_ticket ticket, uint32_t op,
				     uint32_t call, struct philox_state *state)
{
	struct ledger_entry *entry;
	enum philox_status status = region_check_alive(region);

	if (status == PHILOX_OK)
		status = ticket_check(region, ticket);
	if (status != PHILOX_OK)
		return status;
	status = ledger_pending(&region->ledger, ticket.serial, &entry);
	if (status != PHILOX_OK)
		return status_prefix(status, "region '%s': ", region->name);
	if (region_find_cell(region, op, call) == SIZE_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s' has no op %u, call %u",
				  region->name, op, call);
	*state = region_cell_state(region, entry->state, op, call);
	return PHILOX_OK;
}

enum philox_status philox_ticket_state(struct philox_region *region,
				       struct philox_ticket ticket, uint32_t op,
				       uint32_t call,
				       struct philox_state *state)
{
	struct philox_log_entry subject = {.ticket = ticket};
	enum philox_status status;

	if (!region)
		return context_null(NULL, "region");
	subject.region = region->name;
	if (!state)
		return context_report(region->context,
				      status_set(PHILOX_ERROR_INVALID,
						 "region '%s': state is NULL",
						 region->name),
				      &subject);
	NEED_PROCESS(region->context);
	context_lock(region->context);
	status = find_state(region, ticket, op, call, state);
	context_unlock(region->context);
	return context_report(region->context, status, &subject);
}
