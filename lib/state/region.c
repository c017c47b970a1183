/*
 * lib/state/region.c - regions: names, seeds, offsets, tables of operators
 *
 * Invariant: a region's state is the state of its next forward; all offsets
 * below it have been issued under its seed and are never issued again, unless
 * its generator is given a new seed. Locked by the context.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/containers/list.h"
#include "lib/mesh/mesh.h"
#include "lib/state/state.h"

/* --- axes of a mesh along which a region differs --------------------------- */

/*
 * See philox/mesh.h. Along all other axes a region is shared.
 */

static enum philox_status check_name(const struct philox_region_desc *options,
				     size_t i)
{
	const char *name = options->differs[i];

	if (!name || !*name)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': differs[%zu] is %s",
				  options->name, i, name ? "empty" : "NULL");
	for (size_t j = 0; j < i; j++)
		if (!strcmp(name, options->differs[j]))
			return status_set(PHILOX_ERROR_INVALID,
					  "region '%s': differs names axis "
					  "'%s' twice",
					  options->name, name);
	return PHILOX_OK;
}

enum philox_status region_axes_check(const struct philox_region_desc *options)
{
	enum philox_status status = PHILOX_OK;

	if (options->n_differs > PHILOX_MESH_AXES)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': n_differs is %zu, above %d",
				  options->name, options->n_differs,
				  PHILOX_MESH_AXES);
	if (options->n_differs && !options->differs)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': differs is NULL",
				  options->name);
	for (size_t i = 0; status == PHILOX_OK && i < options->n_differs; i++)
		status = check_name(options, i);
	if (status == PHILOX_OK && options->n_differs &&
	    options->flags & PHILOX_REGION_SHARED)
		status = status_set(
			PHILOX_ERROR_INVALID,
			"region '%s': is PHILOX_REGION_SHARED, and is to "
			"differ along axis '%s': it draws from "
			"its generator, which all ranks share",
			options->name, options->differs[0]);
	return status;
}

/* "data, tensor" */
static void list_axes(const struct philox_mesh *mesh, char *text, size_t size)
{
	size_t length = 0;

	*text = '\0';
	for (uint32_t i = 0; i < mesh->n_axes && length < size; i++)
		length += (size_t)snprintf(text + length, size - length, "%s%s",
					   i ? ", " : "", mesh->axes[i].name);
}

enum philox_status region_axes_find(const struct philox_mesh *mesh,
				    const char *region, const char *const *axes,
				    size_t n)
{
	char list[128];

	for (size_t i = 0; mesh->n_axes && i < n; i++) {
		if (mesh_find(mesh, axes[i]))
			continue;
		list_axes(mesh, list, sizeof(list));
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': is to differ along '%s', which "
				  "is no axis of the context's mesh (%s)",
				  region, axes[i], list);
	}
	return PHILOX_OK;
}

static void region_axes_finish(struct region_axes *axes)
{
	for (size_t i = 0; i < axes->n; i++)
		free(axes->names[i]);
	free(axes->names);
	memset(axes, 0, sizeof(*axes));
}

static int compare_axes(const void *a, const void *b)
{
	const char *const *left = a, *const *right = b;

	return strcmp(*left, *right);
}

enum philox_status region_axes_init(struct region_axes *axes,
				    const struct philox_region_desc *options)
{
	memset(axes, 0, sizeof(*axes));
	if (!options->n_differs)
		return PHILOX_OK;
	axes->names = calloc(options->n_differs, sizeof(*axes->names));
	for (size_t i = 0; axes->names && i < options->n_differs; i++) {
		axes->names[i] = strdup(options->differs[i]);
		if (!axes->names[i])
			break;
		axes->n++;
	}
	if (axes->n < options->n_differs) {
		region_axes_finish(axes);
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for the axes of region '%s'",
				  options->name);
	}
	qsort(axes->names, axes->n, sizeof(*axes->names), compare_axes);
	return PHILOX_OK;
}

/* Folds the coordinates that a mesh has along them into a seed. */
static uint64_t region_axes_seed(const struct region_axes *axes,
				 const struct philox_mesh *mesh, uint64_t seed)
{
	for (size_t i = 0; i < axes->n; i++) {
		const char *name = axes->names[i];

		seed = philox_axis_seed(seed, hash_text(name, strlen(name)),
					mesh_coordinate(mesh, name));
	}
	return seed;
}

/* --- regions -------------------------------------------------------------- */

enum philox_status region_status(const struct philox_region *region,
				 enum philox_status status)
{
	if (status == PHILOX_OK)
		return PHILOX_OK;
	return status_prefix(status, "region '%s': ", region->name);
}

enum philox_status region_check_alive(const struct philox_region *region)
{
	if (region->alive)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_STALE, "region '%s' was destroyed",
			  region->name);
}

enum philox_status region_check_life(const struct philox_region *region,
				     uint64_t life)
{
	if (region_is_life(region, life))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_STALE,
			  "region '%s' has been destroyed since", region->name);
}

static enum philox_status check_closed(const struct philox_region *region,
				       const struct ledger_entry *entry)
{
	if (entry->phase == LEDGER_FORWARD_OPEN)
		return status_set(PHILOX_ERROR_BUSY,
				  "region '%s': forward %" PRIu64 " is open",
				  region->name, entry->serial);
	if (entry->readers)
		return status_set(PHILOX_ERROR_BUSY,
				  "region '%s': %s of ticket %" PRIu64
				  " %s open",
				  region->name,
				  entry->readers == 1 ? "a pass or launch"
						      : "passes or launches",
				  entry->serial, status_is(entry->readers));
	return PHILOX_OK;
}

enum philox_status region_check_quiet(const struct philox_region *region)
{
	const struct ledger *ledger = &region->ledger;
	enum philox_status status = PHILOX_OK;

	if (region->alive && (region->flags & PHILOX_REGION_SHARED) &&
	    region->generator->open == region)
		return status_set(PHILOX_ERROR_BUSY,
				  "region '%s': a forward is open",
				  region->name);
	for (uint32_t i = 0; status == PHILOX_OK && i < ledger->capacity; i++)
		if (ledger->entries[i].phase != LEDGER_FREE)
			status = check_closed(region, &ledger->entries[i]);
	return status;
}

struct philox_state region_cell_state(const struct philox_region *region,
				      struct philox_state forward, uint32_t op,
				      uint32_t call)
{
	const struct region_op *of = &region->ops[op];

	if (region->flags & PHILOX_REGION_SHARED)
		forward.offset += of->shift + call * of->advance;
	else
		forward.seed = philox_op_seed(forward.seed, op, call);
	return forward;
}

void region_restart(struct philox_region *region)
{
	uint64_t seed = philox_fold(region->generator->state.seed,
				    PHILOX_FOLD_REGION, region->key);

	region->state.seed =
		region_axes_seed(&region->axes, &region->context->mesh, seed);
	region->state.offset = 0;
	region->axes.offset = 0; /* no coordinate has issued any of these */
}

const char *region_op_name(const struct philox_region *region, uint32_t op)
{
	if (op < region->n_ops && region->ops[op].name)
		return region->ops[op].name;
	return "(unnamed)";
}

void region_free_ops(struct region_op *ops, uint32_t n_ops)
{
	for (uint32_t i = 0; ops && i < n_ops; i++)
		free(ops[i].name);
	free(ops);
}

/*
 * A name that is not alive has the same seed on all ranks, and continues after
 * what any coordinate may have issued.
 */
static void forget_axes(struct philox_region *region)
{
	uint64_t offset = region->state.offset;

	if (offset < region->axes.offset)
		offset = region->axes.offset;
	if (region->serial < region->axes.serial)
		region->serial = region->axes.serial;
	region_axes_finish(&region->axes);
	region_restart(region);
	region->state.offset = offset;
}

void region_end_life(struct philox_region *region, struct ledger *dropped)
{
	*dropped = region->ledger;
	memset(&region->ledger, 0, sizeof(region->ledger));
	region_free_ops(region->ops, region->n_ops);
	region->ops = NULL;
	region->n_ops = 0;
	forget_axes(region);
	if (region->generator->open == region)
		region->generator->open = NULL;
	region->generator->regions--;
	region->alive = region->unclaimed = 0;
}

void region_take(struct philox_region *region, struct philox_region *from)
{
	region->ops = from->ops;
	region->n_ops = from->n_ops;
	region->cells = from->cells;
	region->flags = from->flags;
	region->advance = from->advance;
	region->ledger = from->ledger;
	region->axes = from->axes;
	region->unclaimed = 1;
	region->generator->regions++;
	from->ops = NULL;
	from->n_ops = 0;
	memset(&from->ledger, 0, sizeof(from->ledger));
	memset(&from->axes, 0, sizeof(from->axes));
}

struct philox_region *region_new(struct philox_context *context,
				 const char *name)
{
	struct philox_region *region = calloc(1, sizeof(*region));

	if (region)
		region->name = strdup(name);
	if (!region || !region->name) {
		free(region);
		status_set(PHILOX_ERROR_MEMORY, "no memory for region '%s'",
			   name);
		return NULL;
	}
	region->context = context;
	region->key = hash_text(name, strlen(name));
	region->serial = 1;
	return region;
}

enum philox_status region_reserve(struct philox_context *context, size_t n)
{
	if (map_reserve(&context->names, context->names.count + n))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_MEMORY,
			  "no memory for the names of %zu region%s", n,
			  status_s(n));
}

void region_list(struct philox_region *region)
{
	struct philox_context *context = region->context;

	region->next = context->regions;
	context->regions = region;
	map_put(&context->names, region->key, region);
}

struct philox_region *region_find(const struct philox_context *context,
				  uint64_t key)
{
	return map_value(&context->names, key);
}

void region_set_generator(struct philox_region *region,
			  struct philox_generator *generator)
{
	if (region->link) {
		LIST_REMOVE_AS(region, next_of_generator, link);
		region->link = NULL;
	}
	region->generator = generator;
	if (generator)
		LIST_ADD_AS(&generator->first, region, next_of_generator, link);
}

void region_free(struct philox_region *region)
{
	region_free_ops(region->ops, region->n_ops);
	region_axes_finish(&region->axes);
	ledger_finish(&region->ledger);
	free(region->name);
	free(region);
}

/* --- public --------------------------------------------------------------- */

/* Releases the saved contexts of a ledger that is no longer reachable. */
static uint32_t release_dropped(struct ledger *dropped)
{
	uint32_t pending = dropped->used;

	for (uint32_t i = 0; i < dropped->capacity; i++)
		if (dropped->entries[i].phase != LEDGER_FREE)
			saved_context_release(dropped->entries[i].context,
					      NULL);
	ledger_finish(dropped);
	return pending;
}

enum philox_status philox_region_destroy(struct philox_region *region)
{
	struct philox_context *context;
	struct ledger dropped;
	enum philox_status status;
	struct philox_log_entry subject = {0};
	uint32_t pending;

	if (!region)
		return PHILOX_OK;
	context = region->context;
	subject.region = region->name;
	NEED_PROCESS(context);
	context_lock(context);
	status = region_check_alive(region);
	if (status == PHILOX_OK) {
		region_end_life(region, &dropped);
		journal_write(context, EVENT("region-destroy", PENDING),
			      journal_name(region->name).text, dropped.used);
	}
	context_unlock(context);
	if (status != PHILOX_OK)
		return context_report(context, status, &subject);
	pending = release_dropped(&dropped);
	if (pending)
		log_post(context, PHILOX_LOG_WARNING, "destroyed with pending",
			 &subject,
			 "region '%s' was destroyed with %" PRIu32
			 " ticket%s pending",
			 subject.region, pending, status_s(pending));
	return context_report(context, PHILOX_OK, NULL);
}

const char *philox_region_name(const struct philox_region *region)
{
	return region ? region->name : "";
}

enum philox_status philox_region_pending_count(struct philox_region *region,
					       size_t *pending)
{
	enum philox_status status;

	if (!region)
		return context_null(NULL, "region");
	if (!pending)
		return context_null(region->context, "pending");
	NEED_PROCESS(region->context);
	context_lock(region->context);
	status = region_check_alive(region);
	if (status == PHILOX_OK)
		*pending = region->ledger.used;
	context_unlock(region->context);
	return context_report(
		region->context, status,
		&(struct philox_log_entry){.region = region->name});
}

/* --- room for tickets ------------------------------------------------------ */

static enum philox_status check_room(const struct philox_region *region,
				     uint32_t pending)
{
	const uint32_t now = region->ledger.capacity;

	if (pending < now)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': pending is %" PRIu32
				  ", and cannot become %" PRIu32
				  ": it is raised only",
				  region->name, now, pending);
	if (pending > LEDGER_CAPACITY_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': pending is %" PRIu32
				  ", above %u",
				  region->name, pending, LEDGER_CAPACITY_MAX);
	return PHILOX_OK;
}

/* Of the region no pass, and of its context no capture or launch. */
static enum philox_status check_still(const struct philox_region *region)
{
	struct philox_context *context = region->context;
	enum philox_status status = region_check_quiet(region);

	if (status == PHILOX_OK)
		status = context->hooks->still(context);
	if (status == PHILOX_OK)
		return PHILOX_OK;
	return status_prefix(
		PHILOX_ERROR_STATE,
		"pending of region '%s' cannot be raised now: ", region->name);
}

/* With the lock held. */
static enum philox_status raise_pending(struct philox_region *region,
					uint32_t pending)
{
	enum philox_status status = region_check_alive(region);

	if (status == PHILOX_OK)
		status = check_room(region, pending);
	if (status != PHILOX_OK || pending == region->ledger.capacity)
		return status;
	status = check_still(region);
	if (status != PHILOX_OK)
		return status;
	return region_status(region, ledger_grow(&region->ledger, pending));
}

enum philox_status philox_region_raise_pending(struct philox_region *region,
					       uint32_t pending)
{
	enum philox_status status;

	if (!region)
		return context_null(NULL, "region");
	NEED_PROCESS(region->context);
	context_lock(region->context);
	status = raise_pending(region, pending);
	context_unlock(region->context);
	return context_report(
		region->context, status,
		&(struct philox_log_entry){.region = region->name});
}

/* --- cells ----------------------------------------------------------------- */

size_t region_find_cell(const struct philox_region *region, uint32_t op,
			uint32_t call)
{
	if (op >= region->n_ops || call >= region->ops[op].calls)
		return SIZE_MAX;
	return (size_t)region->ops[op].cell + call;
}

size_t philox_region_cell_count(const struct philox_region *region)
{
	size_t cells;

	if (!region || fork_is_child(region->context->device))
		return 0;
	context_lock(region->context);
	cells = region->alive ? region->cells : 0;
	context_unlock(region->context);
	return cells;
}

size_t philox_region_cell_index(const struct philox_region *region, uint32_t op,
				uint32_t call)
{
	size_t cell;

	if (!region || fork_is_child(region->context->device))
		return SIZE_MAX;
	context_lock(region->context);
	cell = region->alive ? region_find_cell(region, op, call) : SIZE_MAX;
	context_unlock(region->context);
	return cell;
}
