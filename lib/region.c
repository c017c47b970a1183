/*
 * lib/region.c - regions: names, seeds, offsets, tables of operators
 *
 * Invariant: a region's state is the state of its next forward; whatever is
 * below its offset has been issued under its seed and never is again, until its
 * generator is seeded anew. Locked by the context.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "options.h"
#include "journal.h"
#include "region.h"

#define CELLS_MAX       (1u << 20)
#define PENDING_DEFAULT 64
/* The size of the struct's first version. */
#define OPTIONS_SIZE_FIRST \
	(offsetof(struct philox_region_options, flags) + sizeof(uint32_t))
#define ADVANCE_DEFAULT 4
#define ADVANCE_MAX     (1ULL << 56)
#define WORDS_MAX       (1ULL << 60) /* of all calls together */

/* FNV-1a, 64 bits: Fowler, Noll, Vo; draft-eastlake-fnv, section 5. */
uint64_t region_hash(const char *bytes, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	while (size--)
		hash = (hash ^ (unsigned char)*bytes++) * 0x100000001b3ULL;
	return hash;
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
			  "region '%s' was destroyed meanwhile", region->name);
}

struct philox_state *region_next(struct philox_region *region)
{
	return region->flags & PHILOX_SHARED ? &region->generator->state
					     : &region->state;
}

struct philox_state region_cell_state(const struct philox_region *region,
				      struct philox_state forward, uint32_t op,
				      uint32_t call)
{
	const struct region_op *of = &region->ops[op];

	if (region->flags & PHILOX_SHARED)
		forward.offset += of->shift + call * of->advance;
	else
		forward.seed = philox_op_seed(forward.seed, op, call);
	return forward;
}

enum philox_status region_check_exclusive(const struct philox_region *region)
{
	if (!(region->flags & PHILOX_SHARED) || !region->generator->open)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_BUSY,
			  "region '%s' is SHARED, and a forward of region "
			  "'%s' is open on its generator",
			  region->name, region->generator->open->name);
}

void region_set_open(struct philox_region *region, int open)
{
	if (region->flags & PHILOX_SHARED)
		region->generator->open = open ? region : NULL;
}

enum philox_status region_check_offset(struct philox_region *region)
{
	if (region_next(region)->offset <= UINT64_MAX - 3 - region->advance)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_OVERFLOW,
			  "the offset of region '%s' has reached 2^64: seed "
			  "its generator anew",
			  region->name);
}

enum philox_status region_reserve(struct philox_region *region,
				  struct philox_state *state)
{
	enum philox_status status = region_check_offset(region);

	if (status != PHILOX_OK)
		return status;
	*state = *region_next(region);
	region_next(region)->offset += region->advance;
	return PHILOX_OK;
}

enum philox_status region_open(struct philox_region *region, uint64_t *serial,
			       struct philox_state *state)
{
	enum philox_status status = region_check_offset(region);

	if (status != PHILOX_OK)
		return status;
	status = ledger_open(&region->ledger, region->serial,
			     *region_next(region));
	if (PHILOX_BUG(22) && status != PHILOX_OK)
		region->state.offset += region->advance;
	if (status != PHILOX_OK)
		return status_prefix(status, "region '%s': ", region->name);
	*serial = region->serial++;
	return region_reserve(region, state);
}

void region_restart(struct philox_region *region)
{
	region->state.seed = philox_fold(region->generator->state.seed,
					 PHILOX_FOLD_REGION, region->key);
	if (!PHILOX_BUG(21))
		region->state.offset = 0;
}

enum philox_status region_check_ticket(const struct philox_region *region,
				       struct philox_ticket ticket)
{
	if (!ticket.region_key && !ticket.serial)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "region '%s': no ticket is given: a backward "
				  "needs that of its forward",
				  region->name);
	if (ticket.region_key != region->key)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "ticket {%016llx, %llu} is not of region "
				  "'%s' {%016llx}",
				  (unsigned long long)ticket.region_key,
				  (unsigned long long)ticket.serial,
				  region->name,
				  (unsigned long long)region->key);
	if (ticket.serial & SERIAL_PLACEHOLDER)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "the ticket of region '%s' is a placeholder, "
				  "valid in its capture only",
				  region->name);
	return PHILOX_OK;
}

void region_check(const struct philox_region *region)
{
	assert(region->state.offset % 4 == 0);
	assert(region->serial > 0 && !(region->serial & SERIAL_PLACEHOLDER));
	if (!region->alive)
		return;
	assert(region->ops && region->cells >= region->n_ops);
	assert(region->advance >= 4 && region->advance % 4 == 0);
	ledger_check(&region->ledger);
}

const char *region_op_name(const struct philox_region *region, uint32_t op)
{
	if (op < region->n_ops && region->ops[op].name)
		return region->ops[op].name;
	return "(unnamed)";
}

/* --- making --------------------------------------------------------------- */

static enum philox_status check_op(const struct philox_region_options *options,
				   size_t index, uint64_t *cells,
				   uint64_t *words)
{
	const struct philox_op *op = &options->ops[index];
	uint64_t calls = op->calls ? op->calls : 1;

	*cells += calls;
	if (op->advance > ADVANCE_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s', op %zu: advance %llu is above "
				  "2^56",
				  options->name, index,
				  (unsigned long long)op->advance);
	if (op->advance % 4)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s', op %zu: advance %llu is no "
				  "multiple of 4",
				  options->name, index,
				  (unsigned long long)op->advance);
	if (*cells > CELLS_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': more than %u calls in all",
				  options->name, CELLS_MAX);
	if (op->advance > (WORDS_MAX - *words) / calls)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': all calls together advance by "
				  "more than 2^60 words",
				  options->name);
	*words += calls * op->advance;
	return PHILOX_OK;
}

static enum philox_status check_options(
	const struct philox_context *context,
	const struct philox_region_options *options)
{
	uint64_t cells = 0, words = 0;
	enum philox_status status;

	status = options_check_size("region options", options, options->size,
				    OPTIONS_SIZE_FIRST, sizeof(*options));
	if (status != PHILOX_OK)
		return status;
	if (!options->name || !*options->name)
		return status_set(PHILOX_ERROR_INVALID,
				  "region options: no name");
	if (!options->ops || !options->n_ops || options->n_ops > CELLS_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': ops is NULL, or n_ops (%zu) is "
				  "not in 1 .. %u",
				  options->name, options->n_ops, CELLS_MAX);
	if (options->pending > LEDGER_CAPACITY_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': pending %u is above %u",
				  options->name, options->pending,
				  LEDGER_CAPACITY_MAX);
	if (options->flags & ~(uint32_t)PHILOX_SHARED)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': unknown flags 0x%x",
				  options->name, options->flags);
	if (options->generator && options->generator->context != context)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': the generator is of another "
				  "context",
				  options->name);
	for (size_t i = 0; status == PHILOX_OK && i < options->n_ops; i++)
		status = check_op(options, i, &cells, &words);
	return status;
}

static void free_ops(struct region_op *ops, uint32_t n_ops)
{
	for (uint32_t i = 0; ops && i < n_ops; i++)
		free(ops[i].name);
	free(ops);
}

static struct region_op *copy_ops(const struct philox_region_options *options)
{
	struct region_op *ops = calloc(options->n_ops, sizeof(*ops));
	uint32_t cell = 0;

	for (size_t i = 0; ops && i < options->n_ops; i++) {
		const struct philox_op *from = &options->ops[i];

		ops[i].calls = from->calls ? from->calls : 1;
		ops[i].advance =
			from->advance ? from->advance : ADVANCE_DEFAULT;
		ops[i].cell = cell;
		cell += ops[i].calls;
		if (!from->name)
			continue;
		ops[i].name = strdup(from->name);
		if (!ops[i].name) {
			free_ops(ops, (uint32_t)i);
			return NULL;
		}
	}
	return ops;
}

/* The record of a name: an old one, or a new one that is not listed yet. */
static enum philox_status find_record(struct philox_context *context,
				      const char *name,
				      struct philox_region **record)
{
	uint64_t key = region_hash(name, strlen(name));
	struct philox_region *region = context->regions;

	while (region && region->key != key)
		region = region->next;
	if (region && (region->alive || strcmp(region->name, name)))
		return status_set(PHILOX_ERROR_EXISTS,
				  "region '%s': %s '%s' %s", name,
				  region->alive ? "a region named" : "the name",
				  region->name,
				  region->alive ? "is alive"
						: "used before has its hash");
	if (!region) {
		region = calloc(1, sizeof(*region));
		if (region)
			region->name = strdup(name);
		if (!region || !region->name) {
			free(region);
			return status_set(PHILOX_ERROR_MEMORY,
					  "no memory for region '%s'", name);
		}
		region->context = context;
		region->key = key;
		region->serial = 1;
	}
	*record = region;
	return PHILOX_OK;
}

/* A forward advances by the largest op; SHARED ops draw one after another. */
static void set_sizes(struct philox_region *region,
		      const struct philox_region_options *options)
{
	uint32_t n_ops = (uint32_t)options->n_ops;
	const struct region_op *last = &region->ops[n_ops - 1];
	uint64_t largest = 0, sum = 0;

	for (uint32_t i = 0; i < n_ops; i++) {
		struct region_op *op = &region->ops[i];

		op->shift = sum;
		sum += op->calls * op->advance;
		largest = op->advance > largest ? op->advance : largest;
	}
	region->n_ops = n_ops;
	region->cells = last->cell + last->calls;
	region->flags = options->flags;
	region->advance = region->flags & PHILOX_SHARED ? sum : largest;
	region->advance =
		PHILOX_BUG(20) ? region->ops->advance : region->advance;
}

/* A new record begins at offset 0; an old one goes on where it was. */
static void begin_life(struct philox_region *region,
		       struct philox_generator *generator)
{
	uint64_t offset = region->state.offset;

	region->generator = generator;
	generator->regions++;
	region_restart(region);
	region->state.offset = PHILOX_BUG(11) ? 0 : offset;
	if (!region->life) {
		region->next = region->context->regions;
		region->context->regions = region;
	}
	region->life++;
	region->alive = 1;
}

/*
 * A name keeps one offset, so it stays with its generator: numbers issued under
 * two of them could not be told apart when one of the two is seeded anew.
 */
static enum philox_status check_generator(const struct philox_region *record,
					  const struct philox_generator *wanted)
{
	if (!record->life || !record->generator || record->generator == wanted)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_MISMATCH,
			  "region '%s' drew from another generator before",
			  record->name);
}

static enum philox_status create(struct philox_context *context,
				 const struct philox_region_options *options,
				 struct philox_region **out)
{
	struct philox_generator *generator =
		options->generator ? options->generator : context->generator;
	struct philox_region *region = NULL;
	uint32_t pending =
		options->pending ? options->pending : PENDING_DEFAULT;
	enum philox_status status;

	status = find_record(context, options->name, &region);
	if (status != PHILOX_OK)
		return status;
	status = check_generator(region, generator);
	if (status != PHILOX_OK)
		return status; /* an old record: nothing to free */
	status = ledger_init(&region->ledger, pending);
	if (status != PHILOX_OK)
		goto free_record;
	region->ops = copy_ops(options);
	if (!region->ops) {
		status = status_set(PHILOX_ERROR_MEMORY,
				    "no memory for the ops of region '%s'",
				    options->name);
		goto finish_ledger;
	}
	set_sizes(region, options);
	begin_life(region, generator);
	*out = region;
	return PHILOX_OK;

finish_ledger:
	ledger_finish(&region->ledger);
free_record:
	if (!region->life)
		region_free(region);
	return status;
}

void region_end_life(struct philox_region *region, struct ledger *dropped)
{
	*dropped = region->ledger;
	memset(&region->ledger, 0, sizeof(region->ledger));
	free_ops(region->ops, region->n_ops);
	region->ops = NULL;
	region->n_ops = 0;
	if (region->generator->open == region)
		region->generator->open = NULL;
	region->generator->regions--;
	region->alive = 0;
}

void region_free(struct philox_region *region)
{
	free_ops(region->ops, region->n_ops);
	ledger_finish(&region->ledger);
	free(region->name);
	free(region);
}

/* --- public --------------------------------------------------------------- */

enum philox_status philox_region_create(
	struct philox_context *context,
	const struct philox_region_options *options,
	struct philox_region **region)
{
	struct philox_log_entry subject = {0};
	enum philox_status status;

	if (!context)
		return status_set(PHILOX_ERROR_INVALID, "context is NULL");
	if (!options || !region)
		return context_null(context, options ? "region" : "options");
	if (options->size >= OPTIONS_SIZE_FIRST)
		subject.region = options->name;
	status = check_options(context, options);
	if (status == PHILOX_OK) {
		context_lock(context);
		status = create(context, options, region);
		if (status == PHILOX_OK)
			journal_region(*region);
		context_unlock(context);
	}
	return context_report(context, status, &subject);
}

/* Releases the saved contexts of a ledger that nobody sees any more. */
static uint32_t release_dropped(struct ledger *dropped)
{
	uint32_t pending = dropped->used;

	for (uint32_t i = 0; i < dropped->capacity; i++)
		if (dropped->entries[i].phase != LEDGER_FREE && !PHILOX_BUG(24))
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
	context_lock(context);
	status = region_check_alive(region);
	if (status == PHILOX_OK) {
		region_end_life(region, &dropped);
		journal_write(context, "region-destroy region %s pending %u",
			      journal_name(region->name).text, dropped.used);
	}
	context_unlock(context);
	if (status != PHILOX_OK)
		return context_report(context, status, &subject);
	pending = release_dropped(&dropped);
	if (pending)
		log_post(context, PHILOX_LOG_WARNING, "destroyed with pending",
			 &subject,
			 "region '%s' was destroyed with %u tickets pending",
			 subject.region, pending);
	return context_report(context, PHILOX_OK, NULL);
}

const char *philox_region_name(const struct philox_region *region)
{
	return region ? region->name : "";
}

enum philox_status philox_region_pending(struct philox_region *region,
					 size_t *pending)
{
	enum philox_status status;

	if (!region)
		return status_set(PHILOX_ERROR_INVALID, "region is NULL");
	if (!pending)
		return context_null(region->context, "pending");
	context_lock(region->context);
	status = region_check_alive(region);
	if (status == PHILOX_OK)
		*pending = region->ledger.used;
	context_unlock(region->context);
	return context_report(
		region->context, status,
		&(struct philox_log_entry){.region = region->name});
}

size_t region_find_cell(const struct philox_region *region, uint32_t op,
			uint32_t call)
{
	if (op >= region->n_ops || call >= region->ops[op].calls)
		return SIZE_MAX;
	return (size_t)region->ops[op].cell + call;
}

size_t philox_region_cells(const struct philox_region *region)
{
	size_t cells;

	if (!region)
		return 0;
	context_lock(region->context);
	cells = region->alive ? region->cells : 0;
	context_unlock(region->context);
	return cells;
}

size_t philox_region_cell(const struct philox_region *region, uint32_t op,
			  uint32_t call)
{
	size_t cell;

	if (!region)
		return SIZE_MAX;
	context_lock(region->context);
	cell = region_find_cell(region, op, call);
	context_unlock(region->context);
	return cell;
}
