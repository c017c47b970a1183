/*
 * lib/save/load.c - putting a text that was read into a context
 *
 * A plan is made first: each record of the context finds its counterpart in the
 * text, everything is compared, and new ledgers and records are made. Only then
 * is anything changed, by steps that cannot fail: the new ledgers are swapped
 * with the old ones, which are released after the context is unlocked.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <philox/save.h>
#include "lib/data/data.h"
#include "lib/rows/rows.h"
#include "lib/save/save.h"
#include "lib/state/state.h"

/* A record of the context with the text's record of its name. */
struct save_place {
	struct philox_region *region;
	const struct saved_region *saved; /* NULL: nothing */
	struct philox_region *unclaimed;  /* what it will be, or NULL */
	struct ledger ledger;             /* the new one, then the old one */
	int replaced;
};

static int compare_keys(const void *a, const void *b)
{
	const struct philox_region *const *left = a, *const *right = b;

	return ((*left)->key > (*right)->key) - ((*left)->key < (*right)->key);
}

/* --- comparing ------------------------------------------------------------ */

/* What to do about a text of another mesh. */
#define OTHER_MESH \
	"; philox_context_load_ranks() loads a set of texts of another mesh"

static enum philox_status mismatch_axis(const struct philox_axis *in_text,
					const struct philox_axis *in_context)
{
	if (strcmp(in_text->name, in_context->name))
		return status_set(PHILOX_ERROR_MISMATCH,
				  "mesh: axis '%s' of the text is '%s' in the "
				  "context" OTHER_MESH,
				  in_text->name, in_context->name);
	if (in_text->n_ranks != in_context->n_ranks)
		return status_set(
			PHILOX_ERROR_MISMATCH,
			"mesh: n_ranks of axis '%s' is %" PRIu32
			" in the text, %" PRIu32 " in the context" OTHER_MESH,
			in_text->name, in_text->n_ranks, in_context->n_ranks);
	if (in_text->coordinate != in_context->coordinate)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "mesh: the coordinate along axis '%s' is "
				  "%" PRIu32 " in the text, %" PRIu32
				  " in the context: it is the text of another "
				  "rank",
				  in_text->name, in_text->coordinate,
				  in_context->coordinate);
	if (in_text->flags != in_context->flags)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "mesh: axis '%s' has %sstages in the text, "
				  "%sstages in the context",
				  in_text->name, in_text->flags ? "" : "no ",
				  in_context->flags ? "" : "no ");
	return PHILOX_OK;
}

static enum philox_status compare_mesh(const struct philox_mesh *in_text,
				       const struct philox_mesh *in_context)
{
	enum philox_status status = PHILOX_OK;

	if (in_text->n_axes != in_context->n_axes)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "mesh: %" PRIu32 " ax%s in the text, %" PRIu32
				  " in the context" OTHER_MESH,
				  in_text->n_axes,
				  in_text->n_axes == 1 ? "is" : "es",
				  in_context->n_axes);
	for (uint32_t i = 0; status == PHILOX_OK && i < in_text->n_axes; i++)
		status = mismatch_axis(&in_text->axes[i], &in_context->axes[i]);
	return status;
}

/* A difference of the text and the context, in this order. */
static enum philox_status mismatch(const struct difference *found)
{
	char place[32] = "";

	if (found->part)
		snprintf(place, sizeof(place), ", op %" PRIu64, found->number);
	if (found->alone)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "region '%s': differs along axis '%s' in the "
				  "%s, not in the %s",
				  found->name, found->part_name,
				  found->in_b ? "context" : "text",
				  found->in_b ? "text" : "context");
	if (found->field->kind == FIELD_NAME)
		return status_set(
			PHILOX_ERROR_MISMATCH,
			"%s '%s'%s: %s '%s' in the text, '%s' in the context",
			found->object, found->name, place, found->field->spoken,
			found->names[0] ? found->names[0] : "(unnamed)",
			found->names[1] ? found->names[1] : "(unnamed)");
	return status_set(
		PHILOX_ERROR_MISMATCH,
		found->field->kind == FIELD_HEX
			? "%s '%s'%s: %s %016" PRIx64
			  " in the text, %016" PRIx64 " in the context"
			: "%s '%s'%s: %s %" PRIu64 " in the text, %" PRIu64
			  " in the context",
		found->object, found->name, place, found->field->spoken,
		found->numbers[0], found->numbers[1]);
}

/* What is in the text or the context alone. */
static enum philox_status mismatch_alone(const char *object, const char *name,
					 int in_text)
{
	return status_set(PHILOX_ERROR_MISMATCH,
			  "%s '%s' of the %s are not in the %s", object, name,
			  in_text ? "text" : "context",
			  in_text ? "context" : "text");
}

static enum philox_status compare_room(const struct philox_region *region,
				       size_t n)
{
	if (n <= region->ledger.capacity)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_MISMATCH,
			  "region '%s': %zu ticket%s %s pending in the text, "
			  "the context's pending is %u",
			  region->name, n, status_s(n), status_is(n),
			  region->ledger.capacity);
}

/* With a region of a text. */
static enum philox_status compare_shape(const struct saved *text,
					const struct saved_region *saved,
					const struct philox_region *region)
{
	struct difference found;
	struct saved own;
	enum philox_status status =
		save_collect_shape(&own, region);

	if (status != PHILOX_OK)
		return status;
	if (differ_region(text, saved, &own, own.regions, DIFFER_SHAPE, &found))
		status = mismatch(&found);
	saved_finish(&own);
	return status;
}

enum philox_status save_fits(const struct philox_region *unclaimed,
			     const struct philox_region *made)
{
	struct saved text;
	enum philox_status status = save_collect_shape(&text, unclaimed);

	if (status != PHILOX_OK)
		return status;
	status = compare_shape(&text, text.regions, made);
	saved_finish(&text);
	return status == PHILOX_OK ? compare_room(made, unclaimed->ledger.used)
				   : status;
}

static enum philox_status compare_name(const struct saved_region *saved,
				       const struct philox_region *region)
{
	if (!strcmp(saved->name, region->name))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_MISMATCH,
			  "region '%s' of the text has the hash of region '%s' "
			  "of the context",
			  saved->name, region->name);
}

static enum philox_status refuse_absent(const struct saved_region *saved)
{
	return status_set(PHILOX_ERROR_MISMATCH,
			  "region '%s' of the text is not in the context",
			  saved->name);
}

static enum philox_status compare_region(const struct save_plan *plan,
					 const struct saved_region *saved,
					 const struct philox_region *region)
{
	enum philox_status status;

	if (saved->alive && region->unclaimed)
		return refuse_absent(saved);
	if (saved->alive != region->alive)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "region '%s' is %s in the text, %s in the "
				  "context",
				  saved->name,
				  saved->alive ? "alive" : "destroyed",
				  region->alive ? "alive" : "destroyed");
	if (!saved->alive)
		return PHILOX_OK;
	status = compare_shape(plan->saved, saved, region);
	return status == PHILOX_OK ? compare_room(region, saved->n_tickets)
				   : status;
}

static enum philox_status compare_table(const struct saved_table *saved,
					const struct philox_rows *rows)
{
	const struct saved_table own = {
		.generator = save_number(rows->generator),
		.count = rows->table.count};
	struct difference found;

	return differ_table(NULL, saved, NULL, &own, DIFFER_SHAPE, &found)
		       ? mismatch(&found)
		       : PHILOX_OK;
}

/* Both are in order of name. */
static enum philox_status compare_rows(const struct save_plan *plan)
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
			return mismatch_alone("rows",
					      order < 0 ? saved->tables[i].name
							: lists->rows[i]->name,
					      order < 0);
		status = compare_table(&saved->tables[i], lists->rows[i]);
	}
	return status;
}

/* The same. */
static enum philox_status compare_data(const struct save_plan *plan)
{
	const struct saved *saved = plan->saved;
	const struct save_lists *lists = &plan->lists;
	struct difference found;

	for (size_t i = 0; i < saved->n_data || i < lists->n_data; i++) {
		const int order = i == saved->n_data ? 1
				  : i == lists->n_data
					  ? -1
					  : strcmp(saved->data[i].name,
						   lists->data[i]->name);
		struct saved_data own;

		if (order)
			return mismatch_alone("data",
					      order < 0 ? saved->data[i].name
							: lists->data[i]->name,
					      order < 0);
		own = save_data_of(lists->data[i]);
		if (differ_data(&saved->data[i], &own, DIFFER_SHAPE, &found))
			return mismatch(&found);
	}
	return PHILOX_OK;
}

/* --- loading rows --------------------------------------------------------- */

/*
 * Rows live on the device, which can refuse to load them, and nothing else: so
 * it is done last, and the old states are kept so that they can be restored.
 */

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
	const struct status_message kept = status_kept();

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
		status = save_read_rows(plan->lists.rows[i], &before[i]);
	for (i = 0; status == PHILOX_OK && i < n; i++) {
		status = load_table(plan, i);
		if (status != PHILOX_OK)
			put_back(plan, before, i + 1);
	}
	return status;
}

static enum philox_status load_rows(const struct save_plan *plan)
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

/* --- preparing ------------------------------------------------------------ */

static struct save_place *find_place(const struct save_plan *plan, uint64_t key)
{
	size_t low = 0, high = plan->lists.n_regions;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (plan->places[middle].region->key < key)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == plan->lists.n_regions ||
	    plan->places[low].region->key != key)
		return NULL;
	return &plan->places[low];
}

static enum philox_status fill_ledger(const struct save_plan *plan,
				      const struct saved_region *saved,
				      struct ledger *ledger)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < saved->n_tickets; i++) {
		const struct saved_ticket *ticket =
			&plan->saved->tickets[saved->ticket + i];

		status = ledger_open(ledger, ticket->serial, ticket->state,
				     ticket->iterations);
		if (status == PHILOX_OK)
			status = ledger_commit(ledger, ticket->serial);
	}
	return status;
}

static enum philox_status make_ledger(const struct save_plan *plan,
				      struct save_place *place)
{
	enum philox_status status =
		ledger_init(&place->ledger, place->region->ledger.capacity);

	if (status == PHILOX_OK)
		status = fill_ledger(plan, place->saved, &place->ledger);
	return region_status(place->region, status);
}

static void set_region(struct philox_region *region,
		       const struct saved_region *saved)
{
	region->state = saved->state;
	region->axes.offset = saved->issued;
	region->axes.serial = saved->issued_serial;
	if (region->serial < saved->serial)
		region->serial = saved->serial;
}

static struct philox_generator *generator_of(const struct save_plan *plan,
					     const struct saved_region *saved)
{
	return saved->generator == SAVE_NO_GENERATOR
		       ? NULL
		       : plan->lists.generators[saved->generator];
}

/* The options of a region of a text, with room for its tickets only. */
static enum philox_status fill_as_saved(const struct save_plan *plan,
					const struct saved_region *saved,
					struct philox_op_desc *ops,
					struct philox_region *region)
{
	const struct saved *text = plan->saved;
	struct philox_region_desc options = {
		.size = sizeof(options),
		.name = saved->name,
		.ops = ops,
		.n_ops = saved->n_ops,
		.op_size = sizeof(*ops),
		.generator = generator_of(plan, saved),
		.pending = saved->n_tickets ? (uint32_t)saved->n_tickets : 1,
		.flags = saved->flags,
		.differs = saved->n_axes ? (const char *const *)text->axes +
						   saved->axis
					 : NULL,
		.n_differs = saved->n_axes};
	enum philox_status status;

	for (size_t i = 0; i < saved->n_ops; i++) {
		const struct saved_op *op = &text->ops[saved->op + i];

		ops[i] = (struct philox_op_desc){op->name, op->calls,
						 op->advance};
	}
	status = region_check_options(plan->context, &options);
	if (status != PHILOX_OK)
		return status_prefix(status, "line %zu: ", saved->line);
	status = region_fill(region, &options);
	return status == PHILOX_OK ? fill_ledger(plan, saved, &region->ledger)
				   : status;
}

/* Gives a new record all that a region of the text is alive with. */
static enum philox_status make_unclaimed(const struct save_plan *plan,
					 const struct saved_region *saved,
					 struct philox_region *region)
{
	struct philox_op_desc *ops = calloc(saved->n_ops, sizeof(*ops));
	enum philox_status status;

	if (!ops)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for what the text has of region "
				  "'%s'",
				  saved->name);
	status = fill_as_saved(plan, saved, ops, region);
	region->unclaimed = status == PHILOX_OK;
	free(ops);
	return status;
}

/* A record of a name, with what the text says of it. */
static enum philox_status new_record(const struct save_plan *plan,
				     const struct saved_region *saved,
				     struct philox_region **record)
{
	struct philox_region *region = region_new(plan->context, saved->name);
	enum philox_status status = PHILOX_OK;

	if (!region)
		return PHILOX_ERROR_MEMORY;
	if (saved->alive)
		status = make_unclaimed(plan, saved, region);
	if (status != PHILOX_OK) {
		region_free(region);
		return status;
	}
	region->life = 1;
	set_region(region, saved);
	region->generator = generator_of(plan, saved); /* listed later */
	*record = region;
	return PHILOX_OK;
}

/* A record of a name that this context has never had. */
static enum philox_status make_record(struct save_plan *plan,
				      const struct saved_region *saved)
{
	struct philox_region *region;
	enum philox_status status;

	if (saved->alive && !plan->ahead)
		return refuse_absent(saved);
	status = new_record(plan, saved, &region);
	if (status != PHILOX_OK)
		return status;
	region->next = plan->made;
	plan->made = region;
	plan->n_made++;
	return PHILOX_OK;
}

static enum philox_status plan_region(struct save_plan *plan,
				      const struct saved_region *saved)
{
	struct save_place *place = find_place(plan, saved->key);
	enum philox_status status;

	if (!place)
		return make_record(plan, saved);
	status = compare_name(saved, place->region);
	if (status != PHILOX_OK)
		return status;
	place->saved = saved;
	if (plan->ahead && saved->alive && !place->region->alive)
		return new_record(plan, saved, &place->unclaimed);
	status = compare_region(plan, saved, place->region);
	return status == PHILOX_OK && saved->alive ? make_ledger(plan, place)
						   : status;
}

static enum philox_status check_others(const struct save_plan *plan)
{
	for (size_t i = 0; i < plan->lists.n_regions; i++) {
		const struct save_place *place = &plan->places[i];

		if (place->region->alive && !place->saved)
			return status_set(PHILOX_ERROR_MISMATCH,
					  "region '%s' of the context is not "
					  "in the text",
					  place->region->name);
	}
	return PHILOX_OK;
}

static enum philox_status init_places(struct save_plan *plan)
{
	size_t n = plan->lists.n_regions;

	plan->places = calloc(n + 1, sizeof(*plan->places));
	if (!plan->places)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory to load %zu regions", n);
	for (size_t i = 0; i < n; i++)
		plan->places[i].region = plan->lists.regions[i];
	return PHILOX_OK;
}

enum philox_status save_plan_init(struct save_plan *plan,
				  struct philox_context *context,
				  const struct saved *saved, uint32_t flags)
{
	enum philox_status status;

	memset(plan, 0, sizeof(*plan));
	saved_init(&plan->outputs);
	plan->context = context;
	plan->saved = saved;
	plan->ahead = (flags & PHILOX_LOAD_AHEAD) != 0;
	status = save_lists_init(&plan->lists, context, compare_keys);
	if (status != PHILOX_OK)
		return status;
	status = compare_mesh(&saved->mesh, &context->mesh);
	if (status != PHILOX_OK)
		return status;
	if (saved->n_generators != plan->lists.n_generators)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "the text has %zu generator%s, the context "
				  "%zu",
				  saved->n_generators,
				  status_s(saved->n_generators),
				  plan->lists.n_generators);
	status = init_places(plan);
	for (size_t i = 0; status == PHILOX_OK && i < saved->n_regions; i++)
		status = plan_region(plan, &saved->regions[i]);
	if (status == PHILOX_OK)
		status = check_others(plan);
	if (status == PHILOX_OK)
		status = compare_rows(plan);
	if (status == PHILOX_OK)
		status = compare_data(plan);
	if (status == PHILOX_OK)
		status = saved_copy_outputs(&plan->outputs, saved);
	if (status == PHILOX_OK)
		status = region_reserve(context, plan->n_made);
	/* the last that can fail: its changes are not undone */
	return status == PHILOX_OK ? load_rows(plan) : status;
}

/* --- changing ------------------------------------------------------------- */

/* A name unknown to the text begins again, but its serials were issued. */
static void restart_unknown(struct philox_region *region)
{
	region->state.offset = 0;
	if (region->generator)
		region_restart(region);
}

static void commit_place(const struct save_plan *plan, struct save_place *place)
{
	struct philox_region *region = place->region;
	struct ledger old = region->ledger;

	if (region->unclaimed) {
		region_end_life(region, &place->ledger);
		place->replaced = 1;
	}
	if (!place->saved) {
		restart_unknown(region);
		return;
	}
	region_set_generator(region, generator_of(plan, place->saved));
	if (region->alive) {
		region->ledger = place->ledger;
		place->ledger = old;
		place->replaced = 1;
	}
	if (place->unclaimed)
		region_take(region, place->unclaimed);
	set_region(region, place->saved);
}

static void commit_made(struct save_plan *plan)
{
	struct philox_region *region;

	while ((region = plan->made)) {
		plan->made = region->next;
		region_list(region);
		region_set_generator(region, region->generator);
		if (region->unclaimed)
			region->generator->regions++;
	}
}

static void commit_data(const struct save_plan *plan)
{
	for (size_t i = 0; i < plan->lists.n_data; i++) {
		plan->lists.data[i]->seed = plan->saved->data[i].seed;
		plan->lists.data[i]->position = plan->saved->data[i].position;
	}
}

static void commit_outputs(struct save_plan *plan)
{
	struct philox_context *context = plan->context;
	struct saved_outputs *before = context->loaded_outputs;
	const size_t n = context->n_loaded_outputs;

	context->loaded_outputs = plan->outputs.outputs;
	context->n_loaded_outputs = plan->outputs.n_outputs;
	plan->outputs.outputs = before;
	plan->outputs.n_outputs = n;
}

void save_plan_commit(struct save_plan *plan)
{
	plan->context->took_text = 1;
	for (size_t i = 0; i < plan->lists.n_generators; i++)
		generator_load(plan->lists.generators[i],
			       plan->saved->generators[i].state);
	for (size_t i = 0; i < plan->lists.n_regions; i++)
		commit_place(plan, &plan->places[i]);
	commit_made(plan);
	commit_data(plan);
	commit_outputs(plan);
}

/* --- taking apart --------------------------------------------------------- */

static void finish_place(struct save_plan *plan, struct save_place *place)
{
	const char *name = place->region->name;
	struct ledger *ledger = &place->ledger;

	if (place->replaced && ledger->used)
		log_post(
			plan->context, PHILOX_LOG_WARNING, "dropped by load",
			&(struct philox_log_entry){.region = name},
			"region '%s': %" PRIu32
			" ticket%s that were pending before the load %s dropped",
			name, ledger->used, status_s(ledger->used),
			status_is(ledger->used));
	for (uint32_t i = 0; i < ledger->capacity; i++)
		if (ledger->entries[i].phase != LEDGER_FREE)
			saved_context_release(ledger->entries[i].context, NULL);
	ledger_finish(ledger);
	if (place->unclaimed)
		region_free(place->unclaimed);
}

void save_plan_finish(struct save_plan *plan)
{
	struct philox_region *region;

	for (size_t i = 0; plan->places && i < plan->lists.n_regions; i++)
		finish_place(plan, &plan->places[i]);
	while ((region = plan->made)) {
		plan->made = region->next;
		region_free(region);
	}
	free(plan->places);
	saved_finish(&plan->outputs);
	save_lists_finish(&plan->lists);
}
