/*
 * lib/save/load.c - putting a text that was read into a context
 *
 * A plan is made first: each record of the context finds its counterpart in the
 * text, everything is compared, and new ledgers and records are made. Only then
 * is anything changed, by steps that cannot fail: the new ledgers are swapped
 * with the old ones, which are released after the context is unlocked.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "lib/save/save.h"
#include "lib/state/state.h"

/* A record of the context with the text's record of its name. */
struct save_place {
	struct philox_region *region;
	const struct saved_region *saved; /* NULL: nothing */
	struct ledger ledger;             /* the new one, then the old one */
	int replaced;
};

static int compare_keys(const void *a, const void *b)
{
	const struct philox_region *const *left = a, *const *right = b;

	return ((*left)->key > (*right)->key) - ((*left)->key < (*right)->key);
}

/* --- comparing ------------------------------------------------------------ */

static enum philox_status differ(const char *name, const char *field,
				 uint64_t in_text, uint64_t in_context)
{
	return status_set(PHILOX_ERROR_MISMATCH,
			  "region '%s': %s is %" PRIu64 " in the text, %" PRIu64
			  " in the context",
			  name, field, in_text, in_context);
}

static enum philox_status differ_op(const struct saved_region *saved,
				    size_t index, const struct saved_op *op,
				    const struct region_op *made)
{
	const char *in_text = op->name, *in_context = made->name;

	if ((!in_text != !in_context) ||
	    (in_text && strcmp(in_text, in_context)))
		return status_set(
			PHILOX_ERROR_MISMATCH,
			"region '%s', op %zu: the name is '%s' in the "
			"text, '%s' in the context",
			saved->name, index, in_text ? in_text : "(unnamed)",
			in_context ? in_context : "(unnamed)");
	if (op->calls != made->calls)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "region '%s', op %zu: calls is %u in the "
				  "text, %u in the context",
				  saved->name, index, op->calls, made->calls);
	if (op->advance != made->advance)
		return status_set(
			PHILOX_ERROR_MISMATCH,
			"region '%s', op %zu: advance is %" PRIu64 " in the "
			"text, %" PRIu64 " in the context",
			saved->name, index, op->advance, made->advance);
	return PHILOX_OK;
}

static enum philox_status compare_shape(const struct save_plan *plan,
					const struct saved_region *saved,
					const struct philox_region *region)
{
	uint32_t generator = save_lists_number(&plan->lists, region->generator);
	enum philox_status status;

	if (saved->generator != generator)
		return differ(saved->name, "generator", saved->generator,
			      generator);
	if (saved->flags != region->flags)
		return differ(saved->name, "flags", saved->flags,
			      region->flags);
	status = save_compare_axes(plan->saved, saved, region);
	for (size_t i = 0;
	     status == PHILOX_OK && i < saved->n_ops && i < region->n_ops; i++)
		status = differ_op(saved, i, &plan->saved->ops[saved->op + i],
				   &region->ops[i]);
	if (status == PHILOX_OK && saved->n_ops != region->n_ops)
		status = differ(saved->name, "the number of ops", saved->n_ops,
				region->n_ops);
	if (status == PHILOX_OK && saved->n_tickets > region->ledger.capacity)
		status = status_set(PHILOX_ERROR_MISMATCH,
				    "region '%s': %zu ticket%s %s pending in "
				    "the text, the context's pending is %u",
				    saved->name, saved->n_tickets,
				    status_s(saved->n_tickets),
				    status_is(saved->n_tickets),
				    region->ledger.capacity);
	return status;
}

static enum philox_status compare_region(const struct save_plan *plan,
					 const struct saved_region *saved,
					 const struct philox_region *region)
{
	if (strcmp(saved->name, region->name))
		return status_set(PHILOX_ERROR_MISMATCH,
				  "region '%s' of the text has the hash of "
				  "region '%s' of the context",
				  saved->name, region->name);
	if (saved->alive != region->alive)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "region '%s' is %s in the text, %s in the "
				  "context",
				  saved->name,
				  saved->alive ? "alive" : "destroyed",
				  region->alive ? "alive" : "destroyed");
	return saved->alive ? compare_shape(plan, saved, region) : PHILOX_OK;
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
				      struct save_place *place)
{
	const struct saved_region *saved = place->saved;
	enum philox_status status;

	status = ledger_init(&place->ledger, place->region->ledger.capacity);
	for (size_t i = 0; status == PHILOX_OK && i < saved->n_tickets; i++) {
		const struct saved_ticket *ticket =
			&plan->saved->tickets[saved->ticket + i];

		status = ledger_open(&place->ledger, ticket->serial,
				     ticket->state, ticket->iterations);
		if (status == PHILOX_OK)
			status = ledger_commit(&place->ledger, ticket->serial);
	}
	if (status != PHILOX_OK)
		status_prefix(status, "region '%s': ", saved->name);
	return status;
}

static void set_region(const struct save_plan *plan,
		       struct philox_region *region,
		       const struct saved_region *saved)
{
	region->state = saved->state;
	region->axes.offset = saved->issued;
	region->axes.serial = saved->issued_serial;
	if (region->serial < saved->serial)
		region->serial = saved->serial;
	region->generator = NULL;
	if (saved->generator != SAVE_NO_GENERATOR)
		region->generator = plan->lists.generators[saved->generator];
}

/* A record of a name that this context has never had. */
static enum philox_status make_record(struct save_plan *plan,
				      const struct saved_region *saved)
{
	struct philox_region *region;

	if (saved->alive)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "region '%s' of the text is not in the "
				  "context",
				  saved->name);
	region = region_new(plan->context, saved->name);
	if (!region)
		return PHILOX_ERROR_MEMORY;
	region->life = 1;
	set_region(plan, region, saved);
	region->next = plan->made;
	plan->made = region;
	return PHILOX_OK;
}

static enum philox_status plan_region(struct save_plan *plan,
				      const struct saved_region *saved)
{
	struct save_place *place = find_place(plan, saved->key);
	enum philox_status status;

	if (!place)
		return make_record(plan, saved);
	status = compare_region(plan, saved, place->region);
	if (status != PHILOX_OK)
		return status;
	place->saved = saved;
	return saved->alive ? fill_ledger(plan, place) : PHILOX_OK;
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
				  const struct saved *saved)
{
	enum philox_status status;

	memset(plan, 0, sizeof(*plan));
	plan->context = context;
	plan->saved = saved;
	status = save_lists_init(&plan->lists, context, compare_keys);
	if (status != PHILOX_OK)
		return status;
	status = save_compare_mesh(&saved->mesh, &context->mesh);
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
		status = save_compare_rows(plan);
	/* the last that can fail: its changes are not undone */
	return status == PHILOX_OK ? save_load_rows(plan) : status;
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
	struct ledger old = place->region->ledger;

	if (!place->saved) {
		restart_unknown(place->region);
		return;
	}
	set_region(plan, place->region, place->saved);
	place->region->ledger = place->ledger;
	place->ledger = old;
	place->replaced = 1;
}

static void commit_made(struct save_plan *plan)
{
	struct philox_region *region;

	while ((region = plan->made)) {
		plan->made = region->next;
		region->next = plan->context->regions;
		plan->context->regions = region;
	}
}

void save_plan_commit(struct save_plan *plan)
{
	for (size_t i = 0; i < plan->lists.n_generators; i++)
		plan->lists.generators[i]->state = plan->saved->generators[i];
	for (size_t i = 0; i < plan->lists.n_regions; i++)
		commit_place(plan, &plan->places[i]);
	commit_made(plan);
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
	save_lists_finish(&plan->lists);
}
