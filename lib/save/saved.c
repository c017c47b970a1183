/*
 * lib/save/saved.c - putting the contents of a text together
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "lib/rows/rows.h"
#include "lib/save/part.h"
#include "lib/save/save.h"
#include "lib/state/state.h"

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

/* --- by name -------------------------------------------------------------- */

const void *saved_item(const struct saved *saved, enum save_item item, size_t i)
{
	if (item == SAVE_TABLE)
		return i < saved->n_tables ? &saved->tables[i] : NULL;
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

static int is_there(const struct philox_rows *rows)
{
	return rows->alive && !rows->leaving;
}

static void count_all(const struct philox_context *context,
		      struct save_lists *lists)
{
	for (const struct philox_generator *generator = context->generators;
	     generator; generator = generator->next)
		lists->n_generators++;
	for (const struct philox_region *region = context->regions; region;
	     region = region->next)
		lists->n_regions++;
	for (const struct philox_rows *rows = context->rows; rows;
	     rows = rows->next)
		lists->n_rows += is_there(rows);
}

/* A context's lists are newest first. */
static void fill_lists(const struct philox_context *context,
		       struct save_lists *lists)
{
	size_t generators = lists->n_generators, regions = lists->n_regions;
	size_t tables = lists->n_rows;

	for (struct philox_generator *generator = context->generators;
	     generator; generator = generator->next)
		lists->generators[--generators] = generator;
	for (struct philox_region *region = context->regions; region;
	     region = region->next)
		lists->regions[--regions] = region;
	for (struct philox_rows *rows = context->rows; rows; rows = rows->next)
		if (is_there(rows))
			lists->rows[--tables] = rows;
}

static int compare_tables(const void *a, const void *b)
{
	const struct philox_rows *const *left = a, *const *right = b;

	return strcmp((*left)->name, (*right)->name);
}

enum philox_status save_lists_init(struct save_lists *lists,
				   const struct philox_context *context,
				   int (*compare)(const void *, const void *))
{
	memset(lists, 0, sizeof(*lists));
	count_all(context, lists);
	lists->generators =
		calloc(lists->n_generators + 1, sizeof(*lists->generators));
	lists->regions = calloc(lists->n_regions + 1, sizeof(*lists->regions));
	lists->rows = calloc(lists->n_rows + 1, sizeof(*lists->rows));
	if (!lists->generators || !lists->regions || !lists->rows) {
		save_lists_finish(lists);
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory to list a context");
	}
	fill_lists(context, lists);
	qsort(lists->regions, lists->n_regions, sizeof(*lists->regions),
	      compare);
	qsort(lists->rows, lists->n_rows, sizeof(*lists->rows), compare_tables);
	return PHILOX_OK;
}

void save_lists_finish(struct save_lists *lists)
{
	free(lists->generators);
	free(lists->regions);
	free(lists->rows);
	memset(lists, 0, sizeof(*lists));
}

uint32_t save_lists_number(const struct save_lists *lists,
			   const struct philox_generator *generator)
{
	uint32_t number = 0;

	if (!generator)
		return SAVE_NO_GENERATOR;
	while (lists->generators[number] != generator)
		number++;
	return number;
}

/* --- rows: tables of rows in saved contexts: see Note [Saved context] ----- */

/*
 * Rows live on the device. Saving copies them to the host; loading copies them
 * back, which is the only part of a load that a device can refuse: so it is
 * done last, and the old states are kept so that they can be restored.
 */

static enum philox_status no_memory(const struct philox_rows *rows)
{
	return status_set(PHILOX_ERROR_MEMORY,
			  "rows '%s': no memory for %" PRIu64 " states",
			  rows->name, rows->table.count);
}

static enum philox_status read_rows(const struct philox_rows *rows,
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

/* --- saving --------------------------------------------------------------- */

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
					const struct save_lists *lists,
					const struct philox_rows *rows,
					const struct philox_state *states)
{
	const struct saved_table table = {
		.name = rows->name,
		.generator = save_lists_number(lists, rows->generator),
		.count = rows->table.count};

	return saved_add_table(saved, &table, states);
}

static enum philox_status collect_whole_table(struct saved *saved,
					      const struct save_lists *lists,
					      const struct philox_rows *rows)
{
	struct philox_state *states;
	enum philox_status status = read_rows(rows, &states);

	if (status != PHILOX_OK)
		return status;
	status = check_states(rows, states);
	if (status == PHILOX_OK)
		status = collect_table(saved, lists, rows, states);
	free(states);
	return status;
}

enum philox_status save_collect_rows(struct saved *saved,
				     const struct save_lists *lists)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < lists->n_rows; i++)
		status = collect_whole_table(saved, lists, lists->rows[i]);
	return status;
}

enum philox_status save_collect_tables(struct saved *saved,
				       const struct save_lists *lists,
				       const struct save_part *part)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < lists->n_rows; i++) {
		const struct philox_rows *rows = lists->rows[i];

		if (save_part_has(part, save_item_key(SAVE_TABLE, rows->key)))
			status = collect_table(saved, lists, rows, NULL);
	}
	return status;
}

/* --- comparing ------------------------------------------------------------ */

static enum philox_status compare_table(const struct save_lists *lists,
					const struct saved_table *saved,
					const struct philox_rows *rows)
{
	uint32_t generator = save_lists_number(lists, rows->generator);

	if (saved->generator != generator)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "rows '%s': generator is %" PRIu32
				  " in the text, %" PRIu32 " in the context",
				  rows->name, saved->generator, generator);
	if (saved->count != rows->table.count)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "rows '%s': count is %" PRIu64
				  " in the text, %" PRIu64 " in the context",
				  rows->name, saved->count, rows->table.count);
	return PHILOX_OK;
}

/* Both are in order of name. */
enum philox_status save_compare_rows(const struct save_plan *plan)
{
	const struct saved *saved = plan->saved;
	const struct save_lists *lists = &plan->lists;
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0;
	     status == PHILOX_OK && (i < saved->n_tables || i < lists->n_rows);
	     i++) {
		int order = i == saved->n_tables ? 1
			    : i == lists->n_rows ? -1
						 : strcmp(saved->tables[i].name,
							  lists->rows[i]->name);

		if (order)
			return status_set(PHILOX_ERROR_MISMATCH,
					  "rows '%s' of the %s are not in the "
					  "%s",
					  order < 0 ? saved->tables[i].name
						    : lists->rows[i]->name,
					  order < 0 ? "text" : "context",
					  order < 0 ? "context" : "text");
		status =
			compare_table(lists, &saved->tables[i], lists->rows[i]);
	}
	return status;
}

/* --- loading -------------------------------------------------------------- */

static enum philox_status load_table(const struct save_plan *plan, size_t i)
{
	const struct philox_rows *rows = plan->lists.rows[i];
	const struct philox_state *states =
		&plan->saved->rows[plan->saved->tables[i].row];
	enum philox_status status = rows_write(rows, states);

	if (status != PHILOX_OK)
		status_prefix(status, "rows '%s': ", rows->name);
	return status;
}

/* The first error is reported, whether or not restoring succeeds. */
static void put_back(const struct save_plan *plan, struct philox_state **before,
		     size_t n)
{
	struct status_message kept;

	status_keep(&kept);
	for (size_t i = 0; i < n; i++)
		rows_write(plan->lists.rows[i], before[i]);
	status_restore(&kept);
}

static enum philox_status load_tables(const struct save_plan *plan,
				      struct philox_state **before)
{
	const size_t n = plan->lists.n_rows;
	enum philox_status status = PHILOX_OK;
	size_t i;

	for (i = 0; status == PHILOX_OK && i < n; i++)
		status = read_rows(plan->lists.rows[i], &before[i]);
	for (i = 0; status == PHILOX_OK && i < n; i++) {
		status = load_table(plan, i);
		if (status != PHILOX_OK)
			put_back(plan, before, i + 1);
	}
	return status;
}

enum philox_status save_load_rows(const struct save_plan *plan)
{
	struct philox_state **before;
	enum philox_status status;

	if (!plan->lists.n_rows)
		return PHILOX_OK;
	before = calloc(plan->lists.n_rows, sizeof(*before));
	if (!before)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory to load %zu tables of rows",
				  plan->lists.n_rows);
	status = load_tables(plan, before);
	for (size_t i = 0; i < plan->lists.n_rows; i++)
		free(before[i]);
	free(before);
	return status;
}
