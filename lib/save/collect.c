/*
 * lib/save/collect.c - what a context has, as the contents of a text
 *
 * Called with the context's lock held.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "lib/data/data.h"
#include "lib/mesh/mesh.h"
#include "lib/rows/rows.h"
#include "lib/save/save.h"
#include "lib/save/part.h"
#include "lib/state/state.h"

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

/* What only a region that is alive has, or one that is unclaimed. */
static enum philox_status collect_whole(struct saved *saved,
					const struct philox_region *region)
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
	return status;
}

/* Without its tickets. */
static enum philox_status collect_region(struct saved *saved,
					 const struct philox_region *region)
{
	const struct region_axes *axes = &region->axes;
	struct saved_region made = {
		.name = region->name,
		.key = region->key,
		.alive = region_is_whole(region),
		.generator = save_number(region->generator),
		.flags = region_is_whole(region) ? region->flags : 0,
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
	if (status == PHILOX_OK && region_is_whole(region))
		status = collect_whole(saved, region);
	return status;
}

enum philox_status save_collect_shape(struct saved *saved,
				      const struct philox_region *region)
{
	enum philox_status status;

	saved_init(saved);
	status = collect_region(saved, region);
	if (status != PHILOX_OK)
		saved_finish(saved);
	return status;
}

/* --- tables of rows ------------------------------------------------------- */

static enum philox_status no_memory(const struct philox_rows *rows)
{
	return status_set(PHILOX_ERROR_MEMORY,
			  "rows '%s': no memory for %" PRIu64 " states",
			  rows->name, rows->table.count);
}

enum philox_status save_read_rows(const struct philox_rows *rows,
				  struct philox_state **states)
{
	struct philox_state *read = calloc(rows->table.count, sizeof(*read));
	enum philox_status status;

	if (!read)
		return no_memory(rows);
	status = rows_read(rows, read);
	if (status != PHILOX_OK) {
		free(read);
		return status_prefix(status, "rows '%s': ", rows->name);
	}
	*states = read;
	return PHILOX_OK;
}

static enum philox_status check_states(const struct philox_rows *rows,
				       const struct philox_state *states)
{
	for (uint64_t row = 0; row < rows->table.count; row++)
		if (states[row].offset % 4)
			return status_set(PHILOX_ERROR_STATE,
					  "rows '%s': row %" PRIu64
					  " has offset %" PRIu64
					  ", not a multiple of 4",
					  rows->name, row, states[row].offset);
	return PHILOX_OK;
}

/* NULL: without its states. */
static enum philox_status collect_table(struct saved *saved,
					const struct philox_rows *rows,
					const struct philox_state *states)
{
	const struct saved_table table = {
		.name = rows->name,
		.generator = save_number(rows->generator),
		.count = rows->table.count};

	return saved_add_table(saved, &table, states);
}

static enum philox_status collect_whole_table(struct saved *saved,
					      const struct philox_rows *rows)
{
	struct philox_state *states;
	enum philox_status status = save_read_rows(rows, &states);

	if (status != PHILOX_OK)
		return status;
	status = check_states(rows, states);
	if (status == PHILOX_OK)
		status = collect_table(saved, rows, states);
	free(states);
	return status;
}

static enum philox_status collect_rows(struct saved *saved,
				       const struct save_lists *lists)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < lists->n_rows; i++)
		status = collect_whole_table(saved, lists->rows[i]);
	return status;
}

static enum philox_status collect_tables(struct saved *saved,
					 const struct save_lists *lists,
					 const struct save_part *part)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < lists->n_rows; i++) {
		const struct philox_rows *rows = lists->rows[i];

		if (save_part_has(part, save_item_key(SAVE_TABLE, rows->key)))
			status = collect_table(saved, rows, NULL);
	}
	return status;
}

/* --- data ----------------------------------------------------------------- */

struct saved_data save_data_of(const struct philox_data *data)
{
	return (struct saved_data){.name = data->name,
				   .generator = save_number(data->generator),
				   .sources = data->n_sources,
				   .block = data->block,
				   .order = data->order,
				   .seed = data->seed,
				   .position = data->position};
}

/* NULL: all. */
static enum philox_status collect_data(struct saved *saved,
				       const struct save_lists *lists,
				       const struct save_part *part)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < lists->n_data; i++) {
		const struct philox_data *data = lists->data[i];
		const struct saved_data made = save_data_of(data);

		if (!part ||
		    save_part_has(part, save_item_key(SAVE_DATA, data->key)))
			status = saved_add_data(saved, &made);
	}
	return status;
}

/* --- all of a context, or some of it -------------------------------------- */

/* NULL: every region, and else only living ones. */
static int is_in(const struct philox_region *region,
		 const struct save_part *part)
{
	return !part ||
	       (region->alive &&
		save_part_has(part, save_item_key(SAVE_REGION, region->key)));
}

static enum philox_status collect_regions(struct saved *saved,
					  const struct save_lists *lists,
					  const struct save_part *part,
					  int with_tickets)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < lists->n_regions; i++) {
		const struct philox_region *region = lists->regions[i];

		if (!is_in(region, part))
			continue;
		status = collect_region(saved, region);
		if (status == PHILOX_OK && region_is_whole(region) &&
		    with_tickets)
			status = collect_tickets(saved, &region->ledger,
						 part ? LEDGER_FREE
						      : LEDGER_PENDING);
	}
	return status;
}

/* NULL: all that a saved context has. */
static enum philox_status collect(const struct philox_context *context,
				  const struct save_part *part,
				  int with_tickets, struct saved *saved)
{
	struct save_lists lists;
	enum philox_status status;

	status = save_lists_init(&lists, context, save_compare_names);
	if (status != PHILOX_OK)
		return status;
	saved_init(saved);
	status = mesh_copy(&context->mesh, &saved->mesh);
	for (size_t i = 0; status == PHILOX_OK && i < lists.n_generators; i++)
		status = saved_add_generator(
			saved, (struct saved_generator){
				       .state = lists.generators[i]->state,
				       .flags = lists.generators[i]->flags});
	if (status == PHILOX_OK)
		status = collect_regions(saved, &lists, part, with_tickets);
	if (status == PHILOX_OK)
		status = part ? collect_tables(saved, &lists, part)
			      : collect_rows(saved, &lists);
	if (status == PHILOX_OK)
		status = collect_data(saved, &lists, part);
	save_lists_finish(&lists);
	if (status != PHILOX_OK)
		saved_finish(saved);
	return status;
}

enum philox_status save_collect(const struct philox_context *context,
				struct saved *saved)
{
	return collect(context, NULL, 1, saved);
}

enum philox_status save_collect_wanted(const struct philox_context *context,
				       struct saved *saved)
{
	const struct save_part all = {0};

	return collect(context, &all, 0, saved);
}

enum philox_status save_write_part(const struct philox_context *context,
				   const struct save_part *part,
				   struct text *text)
{
	struct saved saved;
	enum philox_status status = collect(context, part, 1, &saved);

	if (status != PHILOX_OK)
		return status;
	status = save_write_rank(&saved, text);
	saved_finish(&saved);
	return status;
}
