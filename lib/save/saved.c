/*
 * lib/save/saved.c - see lib/save/saved.h
 */
#include <stdlib.h>
#include <string.h>
#include "lib/save/saved.h"

static enum philox_status no_room(void)
{
	return status_set(PHILOX_ERROR_MEMORY,
			  "no memory for the contents of a text");
}

/*
 * Makes room for `more` entries behind `count`. A table has the least power of
 * two that holds its entries, so that its room need not be kept.
 */
static int room_for_more(void **table, size_t count, size_t more, size_t size)
{
	size_t room = 1;
	void *larger;

	if (!more)
		return 1;
	while (room < count)
		room *= 2;
	if (*table && count && count + more <= room)
		return 1;
	while (room < count + more)
		room *= 2;
	larger = realloc(*table, room * size);
	if (larger)
		*table = larger;
	return larger != NULL;
}

#define ROOM(saved, table, more)                                          \
	room_for_more((void **)&(saved)->table, (saved)->n_##table, more, \
		      sizeof(*(saved)->table))

void saved_init(struct saved *saved)
{
	memset(saved, 0, sizeof(*saved));
	saved->mesh.size = sizeof(saved->mesh);
}

enum philox_status saved_add_generator(struct saved *saved,
				       struct philox_state state)
{
	if (!ROOM(saved, generators, 1))
		return no_room();
	saved->generators[saved->n_generators++] = state;
	return PHILOX_OK;
}

/* --- regions -------------------------------------------------------------- */

enum philox_status saved_add_region(struct saved *saved,
				    const struct saved_region *like)
{
	struct saved_region region = *like;

	region.name = strdup(like->name);
	if (!region.name || !ROOM(saved, regions, 1)) {
		free(region.name);
		return no_room();
	}
	region.calls = 0;
	region.axis = saved->n_axes;
	region.op = saved->n_ops;
	region.ticket = saved->n_tickets;
	region.n_axes = region.n_ops = region.n_tickets = 0;
	saved->regions[saved->n_regions++] = region;
	return PHILOX_OK;
}

static struct saved_region *last_region(struct saved *saved)
{
	return &saved->regions[saved->n_regions - 1];
}

enum philox_status saved_add_axis(struct saved *saved, const char *name)
{
	char *copy = strdup(name);

	if (!copy || !ROOM(saved, axes, 1)) {
		free(copy);
		return no_room();
	}
	saved->axes[saved->n_axes++] = copy;
	last_region(saved)->n_axes++;
	return PHILOX_OK;
}

enum philox_status saved_add_op(struct saved *saved, const struct saved_op *op)
{
	struct saved_op copy = *op;

	if (op->name)
		copy.name = strdup(op->name);
	if ((op->name && !copy.name) || !ROOM(saved, ops, 1)) {
		free(copy.name);
		return no_room();
	}
	saved->ops[saved->n_ops++] = copy;
	last_region(saved)->n_ops++;
	last_region(saved)->calls += op->calls;
	return PHILOX_OK;
}

enum philox_status saved_add_ticket(struct saved *saved,
				    const struct saved_ticket *ticket)
{
	if (!ROOM(saved, tickets, 1))
		return no_room();
	saved->tickets[saved->n_tickets++] = *ticket;
	last_region(saved)->n_tickets++;
	return PHILOX_OK;
}

/* --- tables of rows ------------------------------------------------------- */

enum philox_status saved_add_table(struct saved *saved,
				   const struct saved_table *like,
				   const struct philox_state *rows)
{
	struct saved_table table = *like;
	size_t n = rows ? (size_t)like->count : 0;

	table.name = strdup(like->name);
	if (!table.name || !ROOM(saved, tables, 1) || !ROOM(saved, rows, n)) {
		free(table.name);
		return no_room();
	}
	table.row = saved->n_rows;
	table.n_rows = n;
	if (n)
		memcpy(&saved->rows[saved->n_rows], rows, n * sizeof(*rows));
	saved->n_rows += n;
	saved->tables[saved->n_tables++] = table;
	return PHILOX_OK;
}

/* --- from another text ---------------------------------------------------- */

enum philox_status saved_copy_ops(struct saved *saved, const struct saved *from,
				  const struct saved_region *region)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < region->n_ops; i++)
		status = saved_add_op(saved, &from->ops[region->op + i]);
	return status;
}

enum philox_status saved_copy_tickets(struct saved *saved,
				      const struct saved *from,
				      const struct saved_region *region)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < region->n_tickets; i++)
		status = saved_add_ticket(saved,
					  &from->tickets[region->ticket + i]);
	return status;
}

enum philox_status saved_copy_region(struct saved *saved,
				     const struct saved *from,
				     const struct saved_region *region)
{
	enum philox_status status = saved_add_region(saved, region);

	for (size_t i = 0; status == PHILOX_OK && i < region->n_axes; i++)
		status = saved_add_axis(saved, from->axes[region->axis + i]);
	if (status == PHILOX_OK)
		status = saved_copy_ops(saved, from, region);
	if (status == PHILOX_OK)
		status = saved_copy_tickets(saved, from, region);
	return status;
}

/* --- keys ----------------------------------------------------------------- */

static int compare_saved_keys(const void *a, const void *b)
{
	const struct saved_region *const *left = a, *const *right = b;

	return ((*left)->key > (*right)->key) - ((*left)->key < (*right)->key);
}

enum philox_status saved_find_twins(const struct saved *saved,
				    const struct saved_region *twins[2])
{
	const struct saved_region **order =
		calloc(saved->n_regions + 1, sizeof(*order));

	if (!order)
		return status_set(PHILOX_ERROR_MEMORY, "no memory for regions");
	twins[0] = twins[1] = NULL;
	for (size_t i = 0; i < saved->n_regions; i++)
		order[i] = &saved->regions[i];
	qsort(order, saved->n_regions, sizeof(*order), compare_saved_keys);
	for (size_t i = 1; !twins[0] && i < saved->n_regions; i++) {
		if (order[i - 1]->key != order[i]->key)
			continue;
		twins[0] = order[i - 1];
		twins[1] = order[i];
	}
	free(order);
	return PHILOX_OK;
}
