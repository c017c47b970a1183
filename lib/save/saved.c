/*
 * lib/save/saved.c - putting the contents of a text together
 */
#include <stdlib.h>
#include <string.h>
#include "lib/containers/array.h"
#include "lib/data/data.h"
#include "lib/mesh/mesh.h"
#include "lib/rows/rows.h"
#include "lib/save/part.h"
#include "lib/save/save.h"
#include "lib/state/state.h"

static enum philox_status no_room(void)
{
	return status_set(PHILOX_ERROR_MEMORY,
			  "no memory for the contents of a text");
}

/* Adds an item to a table of a text. */
#define ADD(saved, table, item)                              \
	add_item(&(saved)->table, &(saved)->n_##table, item, \
		 sizeof(*(saved)->table))

static int add_item(void *table, size_t *n, const void *item, size_t size)
{
	void *added = array_grow(table, *n, 1, size);

	if (!added)
		return 0;
	memcpy(added, item, size);
	++*n;
	return 1;
}

void saved_init(struct saved *saved)
{
	memset(saved, 0, sizeof(*saved));
	saved->mesh.size = sizeof(saved->mesh);
}

void saved_finish(struct saved *saved)
{
	for (size_t i = 0; i < saved->n_regions; i++)
		free(saved->regions[i].name);
	for (size_t i = 0; i < saved->n_ops; i++)
		free(saved->ops[i].name);
	for (size_t i = 0; i < saved->n_tables; i++)
		free(saved->tables[i].name);
	for (size_t i = 0; i < saved->n_axes; i++)
		free(saved->axes[i]);
	for (size_t i = 0; i < saved->n_data; i++)
		free(saved->data[i].name);
	for (size_t i = 0; i < saved->n_outputs; i++)
		free(saved->outputs[i].runner);
	mesh_finish(&saved->mesh);
	free(saved->axes);
	free(saved->generators);
	free(saved->regions);
	free(saved->ops);
	free(saved->tickets);
	free(saved->tables);
	free(saved->rows);
	free(saved->data);
	free(saved->outputs);
	memset(saved, 0, sizeof(*saved));
}

enum philox_status saved_add_generator(struct saved *saved,
				       struct saved_generator generator)
{
	return ADD(saved, generators, &generator) ? PHILOX_OK : no_room();
}

/* --- regions -------------------------------------------------------------- */

enum philox_status saved_add_region(struct saved *saved,
				    const struct saved_region *like)
{
	struct saved_region region = *like;

	region.name = strdup(like->name);
	region.calls = 0;
	region.axis = saved->n_axes;
	region.op = saved->n_ops;
	region.ticket = saved->n_tickets;
	region.n_axes = region.n_ops = region.n_tickets = 0;
	if (region.name && ADD(saved, regions, &region))
		return PHILOX_OK;
	free(region.name);
	return no_room();
}

static struct saved_region *newest_region(struct saved *saved)
{
	return &saved->regions[saved->n_regions - 1];
}

enum philox_status saved_add_axis(struct saved *saved, const char *name)
{
	char *copy = strdup(name);

	if (!copy || !ADD(saved, axes, &copy)) {
		free(copy);
		return no_room();
	}
	newest_region(saved)->n_axes++;
	return PHILOX_OK;
}

enum philox_status saved_add_op(struct saved *saved, const struct saved_op *op)
{
	struct saved_op copy = *op;

	if (op->name)
		copy.name = strdup(op->name);
	if ((op->name && !copy.name) || !ADD(saved, ops, &copy)) {
		free(copy.name);
		return no_room();
	}
	newest_region(saved)->n_ops++;
	newest_region(saved)->calls += op->calls;
	return PHILOX_OK;
}

enum philox_status saved_add_ticket(struct saved *saved,
				    const struct saved_ticket *ticket)
{
	if (!ADD(saved, tickets, ticket))
		return no_room();
	newest_region(saved)->n_tickets++;
	return PHILOX_OK;
}

/* --- tables of rows ------------------------------------------------------- */

/* Behind those that there are: they are counted with their table. */
static int add_states(struct saved *saved, const struct philox_state *rows,
		      size_t n)
{
	struct philox_state *added =
		array_grow(&saved->rows, saved->n_rows, n, sizeof(*rows));

	if (added)
		memcpy(added, rows, n * sizeof(*rows));
	return added != NULL;
}

enum philox_status saved_add_table(struct saved *saved,
				   const struct saved_table *like,
				   const struct philox_state *rows)
{
	struct saved_table table = *like;
	size_t n = rows ? (size_t)like->count : 0;

	table.name = strdup(like->name);
	table.row = saved->n_rows;
	table.n_rows = n;
	if (!table.name || (n && !add_states(saved, rows, n)) ||
	    !ADD(saved, tables, &table)) {
		free(table.name);
		return no_room();
	}
	saved->n_rows += n;
	return PHILOX_OK;
}

/* --- data ----------------------------------------------------------------- */

enum philox_status saved_add_data(struct saved *saved,
				  const struct saved_data *like)
{
	struct saved_data copy = *like;

	copy.name = strdup(like->name);
	if (copy.name && ADD(saved, data, &copy))
		return PHILOX_OK;
	free(copy.name);
	return no_room();
}

/* --- outputs of runners --------------------------------------------------- */

enum philox_status saved_add_outputs(struct saved *saved,
				     const struct saved_outputs *like)
{
	struct saved_outputs copy = *like;

	copy.runner = strdup(like->runner);
	if (copy.runner && ADD(saved, outputs, &copy))
		return PHILOX_OK;
	free(copy.runner);
	return no_room();
}

enum philox_status saved_copy_outputs(struct saved *saved,
				      const struct saved *from)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < from->n_outputs; i++)
		status = saved_add_outputs(saved, &from->outputs[i]);
	return status;
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

/* --- by name -------------------------------------------------------------- */

const void *saved_item(const struct saved *saved, enum save_item item, size_t i)
{
	if (item == SAVE_TABLE)
		return i < saved->n_tables ? &saved->tables[i] : NULL;
	if (item == SAVE_DATA)
		return i < saved->n_data ? &saved->data[i] : NULL;
	return i < saved->n_regions ? &saved->regions[i] : NULL;
}

const char *saved_name(const void *item)
{
	return *(char *const *)item;
}

int saved_next_pair(struct saved_pair *pair)
{
	const void *in_a = saved_item(pair->a, pair->item, pair->i);
	const void *in_b = saved_item(pair->b, pair->item, pair->j);
	int order = !in_a - !in_b;

	if (in_a && in_b)
		order = strcmp(saved_name(in_a), saved_name(in_b));
	pair->in_a = order <= 0 ? in_a : NULL;
	pair->in_b = order >= 0 ? in_b : NULL;
	pair->i += pair->in_a != NULL;
	pair->j += pair->in_b != NULL;
	return in_a || in_b;
}

/* --- lists: the contents of a context, in a reliable order ---------------- */

/*
 * Called with the context's lock held.
 */

static int fill_lists(const struct philox_context *context,
		      struct save_lists *lists)
{
	struct philox_generator *generator;
	int whole = 1;

	for (size_t i = 0;
	     whole && (generator = order_next(&context->generators, &i));)
		whole = ADD(lists, generators, &generator);
	for (struct philox_region *region = context->regions; whole && region;
	     region = region->next)
		whole = ADD(lists, regions, &region);
	for (struct philox_rows *rows = context->rows; whole && rows;
	     rows = rows->next)
		whole = rows->leaving || ADD(lists, rows, &rows);
	for (struct philox_data *data = context->data; whole && data;
	     data = data->next)
		whole = ADD(lists, data, &data);
	return whole;
}

static int compare_tables(const void *a, const void *b)
{
	const struct philox_rows *const *left = a, *const *right = b;

	return strcmp((*left)->name, (*right)->name);
}

static int compare_data_names(const void *a, const void *b)
{
	const struct philox_data *const *left = a, *const *right = b;

	return strcmp((*left)->name, (*right)->name);
}

enum philox_status save_lists_init(struct save_lists *lists,
				   const struct philox_context *context,
				   int (*compare)(const void *, const void *))
{
	memset(lists, 0, sizeof(*lists));
	if (!fill_lists(context, lists)) {
		save_lists_finish(lists);
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory to list a context");
	}
	if (lists->n_regions)
		qsort(lists->regions, lists->n_regions, sizeof(*lists->regions),
		      compare);
	if (lists->n_rows)
		qsort(lists->rows, lists->n_rows, sizeof(*lists->rows),
		      compare_tables);
	if (lists->n_data)
		qsort(lists->data, lists->n_data, sizeof(*lists->data),
		      compare_data_names);
	return PHILOX_OK;
}

int save_compare_names(const void *a, const void *b)
{
	const struct philox_region *const *left = a, *const *right = b;

	return strcmp((*left)->name, (*right)->name);
}

void save_lists_finish(struct save_lists *lists)
{
	free(lists->generators);
	free(lists->regions);
	free(lists->rows);
	free(lists->data);
	memset(lists, 0, sizeof(*lists));
}

uint32_t save_number(const struct philox_generator *generator)
{
	return generator ? (uint32_t)generator_number(generator)
			 : SAVE_NO_GENERATOR;
}
