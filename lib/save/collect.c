/*
 * lib/save/collect.c - what a context has, as the contents of a text
 *
 * Called with the context's lock held.
 */
#include <stdlib.h>
#include <string.h>
#include "lib/mesh/mesh.h"
#include "lib/save/save.h"
#include "lib/save/part.h"
#include "lib/state/state.h"

static int compare_region_names(const void *a, const void *b)
{
	const struct philox_region *const *left = a, *const *right = b;

	return strcmp((*left)->name, (*right)->name);
}

/* LEDGER_FREE: tickets in every phase. */
static enum philox_status collect_tickets(struct saved *saved,
					  const struct ledger *ledger,
					  enum ledger_phase phase)
{
	const struct ledger_entry **entries;
	uint32_t n;
	enum philox_status status = ledger_list(ledger, phase, &entries, &n);

	if (status != PHILOX_OK)
		return status;
	for (uint32_t i = 0; status == PHILOX_OK && i < n; i++) {
		const struct saved_ticket ticket = {
			.serial = entries[i]->serial,
			.state = entries[i]->state,
			.iterations = entries[i]->iterations,
			.phase = entries[i]->phase,
			.readers = entries[i]->readers,
			.consuming = entries[i]->consuming};

		status = saved_add_ticket(saved, &ticket);
	}
	free(entries);
	return status;
}

/* What only a region that is alive has. */
static enum philox_status collect_alive(struct saved *saved,
					const struct philox_region *region,
					enum ledger_phase phase)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < region->axes.n; i++)
		status = saved_add_axis(saved, region->axes.names[i]);
	for (uint32_t i = 0; status == PHILOX_OK && i < region->n_ops; i++) {
		const struct region_op *op = &region->ops[i];
		const struct saved_op made = {.name = op->name,
					      .calls = op->calls,
					      .advance = op->advance};

		status = saved_add_op(saved, &made);
	}
	return status == PHILOX_OK
		       ? collect_tickets(saved, &region->ledger, phase)
		       : status;
}

static enum philox_status collect_region(struct saved *saved,
					 const struct save_lists *lists,
					 const struct philox_region *region,
					 enum ledger_phase phase)
{
	const struct region_axes *axes = &region->axes;
	struct saved_region made = {
		.name = region->name,
		.key = region->key,
		.alive = region->alive,
		.generator = save_lists_number(lists, region->generator),
		.flags = region->alive ? region->flags : 0,
		.state = region->state,
		.serial = region->serial,
		.open = region->alive && region->generator->open == region};
	enum philox_status status;

	if (axes->offset > region->state.offset ||
	    axes->serial > region->serial) {
		made.issued = axes->offset;
		made.issued_serial = axes->serial;
	}
	status = saved_add_region(saved, &made);
	if (status == PHILOX_OK && region->alive)
		status = collect_alive(saved, region, phase);
	return status;
}

/* --- all of a context, or some of it -------------------------------------- */

/* What is collected; `part` only where that matters. */
typedef enum philox_status collect_fn(struct saved *saved,
				      const struct save_lists *lists,
				      const struct save_part *part);

static enum philox_status collect_all(struct saved *saved,
				      const struct save_lists *lists,
				      const struct save_part *part)
{
	enum philox_status status = PHILOX_OK;

	(void)part;
	for (size_t i = 0; status == PHILOX_OK && i < lists->n_regions; i++)
		status = collect_region(saved, lists, lists->regions[i],
					LEDGER_PENDING);
	return status == PHILOX_OK ? save_collect_rows(saved, lists) : status;
}

static enum philox_status collect_part(struct saved *saved,
				       const struct save_lists *lists,
				       const struct save_part *part)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < lists->n_regions; i++) {
		const struct philox_region *region = lists->regions[i];

		if (region->alive &&
		    save_part_has(part,
				  save_item_key(SAVE_REGION, region->key)))
			status = collect_region(saved, lists, region,
						LEDGER_FREE);
	}
	return status == PHILOX_OK ? save_collect_tables(saved, lists, part)
				   : status;
}

static enum philox_status collect_name(struct saved *saved,
				       const struct philox_region *region)
{
	const struct saved_region wanted = {
		.name = region->name, .key = region->key, .alive = 1};
	enum philox_status status = saved_add_region(saved, &wanted);

	for (size_t i = 0; status == PHILOX_OK && i < region->axes.n; i++)
		status = saved_add_axis(saved, region->axes.names[i]);
	return status;
}

static enum philox_status collect_names(struct saved *saved,
					const struct save_lists *lists,
					const struct save_part *part)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < lists->n_regions; i++)
		if (lists->regions[i]->alive)
			status = collect_name(saved, lists->regions[i]);
	return status == PHILOX_OK ? save_collect_tables(saved, lists, part)
				   : status;
}

static enum philox_status collect_by(const struct philox_context *context,
				     collect_fn *collect,
				     const struct save_part *part,
				     struct saved *saved)
{
	struct save_lists lists;
	enum philox_status status;

	status = save_lists_init(&lists, context, compare_region_names);
	if (status != PHILOX_OK)
		return status;
	saved_init(saved);
	status = mesh_copy(&context->mesh, &saved->mesh);
	for (size_t i = 0; status == PHILOX_OK && i < lists.n_generators; i++)
		status = saved_add_generator(saved, lists.generators[i]->state);
	if (status == PHILOX_OK)
		status = collect(saved, &lists, part);
	save_lists_finish(&lists);
	if (status != PHILOX_OK)
		saved_finish(saved);
	return status;
}

enum philox_status save_collect(const struct philox_context *context,
				struct saved *saved)
{
	return collect_by(context, collect_all, NULL, saved);
}

enum philox_status save_collect_wanted(const struct philox_context *context,
				       struct saved *saved)
{
	const struct save_part all = {0};

	return collect_by(context, collect_names, &all, saved);
}

enum philox_status save_write_part(const struct philox_context *context,
				   const struct save_part *part,
				   struct text *text)
{
	struct saved saved;
	enum philox_status status =
		collect_by(context, collect_part, part, &saved);

	if (status != PHILOX_OK)
		return status;
	status = save_write_rank(&saved, text);
	saved_finish(&saved);
	return status;
}
