/*
 * lib/state/region_create.c - making regions
 *
 * The options are checked, then everything is made, and only then does the
 * name's record become alive. Locked by the context.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/state/state.h"

#define CELLS_MAX       (1u << 20)
#define PENDING_DEFAULT 64
/* The size of the struct's first version. */
#define OPTIONS_SIZE_FIRST \
	(offsetof(struct philox_region_desc, flags) + sizeof(uint32_t))
/* A shorter op has a name and nothing else. */
#define OP_SIZE_LEAST   sizeof(const char *)
#define ADVANCE_DEFAULT 4
#define ADVANCE_MAX     (UINT64_C(1) << 56)
#define WORDS_MAX       (UINT64_C(1) << 60) /* of all calls together */

/* --- the table of ops ----------------------------------------------------- */

/*
 * Without op_size, ops have the size they have in the header whose options have
 * this size: whoever lets struct philox_op_desc grow lets the options grow too,
 * so that `size` tells which ops they are.
 */
OPTIONS_NO_PADDING(struct philox_region_desc, n_differs);
_Static_assert(sizeof(struct philox_op_desc) ==
		       OPTIONS_FIRST(struct philox_op_desc, advance),
	       "options of all versions so far have the same ops");

static enum philox_status find_op_size(struct philox_region_desc *options)
{
	size_t known = sizeof(struct philox_op_desc);

	if (!options->op_size && options->size > sizeof(*options))
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': op_size is 0, and the options "
				  "are those of a later version (size %zu): "
				  "how large its ops are is not known",
				  options->name, options->size);
	if (!options->op_size)
		options->op_size = known;
	if (options->op_size < OP_SIZE_LEAST ||
	    options->op_size > OPTIONS_SIZE_MAX ||
	    options->op_size % _Alignof(struct philox_op_desc))
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': op_size is %zu, not that of "
				  "struct philox_op_desc (%zu)",
				  options->name, options->op_size, known);
	return PHILOX_OK;
}

static enum philox_status take_op(const struct philox_region_desc *options,
				  size_t index, struct philox_op_desc *op)
{
	const char *ops = (const char *)options->ops;
	enum philox_status status;
	char what[32];

	snprintf(what, sizeof(what), "op %zu", index);
	status = options_copy(what, ops + index * options->op_size,
			      options->op_size, OP_SIZE_LEAST, sizeof(*op), op);
	if (status != PHILOX_OK)
		status_prefix(status, "region '%s', ", options->name);
	return status;
}

static enum philox_status check_op(const struct philox_region_desc *options,
				   size_t index,
				   const struct philox_op_desc *op,
				   uint64_t *cells, uint64_t *words)
{
	uint64_t calls = op->calls ? op->calls : 1;

	*cells += calls;
	if (op->advance > ADVANCE_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s', op %zu: advance is %" PRIu64
				  ", above 2^56",
				  options->name, index, op->advance);
	if (op->advance % 4)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s', op %zu: advance is %" PRIu64
				  ", not a multiple of 4",
				  options->name, index, op->advance);
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

static enum philox_status check_ops(const struct philox_region_desc *options)
{
	uint64_t cells = 0, words = 0;
	enum philox_status status = PHILOX_OK;
	struct philox_op_desc op;

	for (size_t i = 0; status == PHILOX_OK && i < options->n_ops; i++) {
		status = take_op(options, i, &op);
		if (status == PHILOX_OK)
			status = name_check(op.name,
					    "region '%s': the name of "
					    "op %zu",
					    options->name, i);
		if (status == PHILOX_OK)
			status = check_op(options, i, &op, &cells, &words);
	}
	return status;
}

/* --- the options ---------------------------------------------------------- */

static enum philox_status check_options(
	const struct philox_context *context,
	const struct philox_region_desc *options)
{
	enum philox_status status;

	if (!options->name || !*options->name)
		return status_set(PHILOX_ERROR_INVALID,
				  "region options: name is %s",
				  options->name ? "empty" : "NULL");
	status = name_check(options->name, "region options: name");
	if (status != PHILOX_OK)
		return status;
	if (!options->ops)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': ops is NULL", options->name);
	if (!options->n_ops || options->n_ops > CELLS_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': n_ops is %zu, not in 1 .. %u",
				  options->name, options->n_ops, CELLS_MAX);
	if (options->pending > LEDGER_CAPACITY_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': pending is %u, above %u",
				  options->name, options->pending,
				  LEDGER_CAPACITY_MAX);
	if (options->flags & ~(uint32_t)PHILOX_REGION_SHARED)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': flags 0x%x is not 0 or "
				  "PHILOX_REGION_SHARED",
				  options->name, options->flags);
	if (options->generator && options->generator->context != context)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': generator is of another "
				  "context",
				  options->name);
	return region_axes_check(options);
}

/* And sets op_size. */
enum philox_status region_check_options(const struct philox_context *context,
					struct philox_region_desc *options)
{
	enum philox_status status = check_options(context, options);

	if (status == PHILOX_OK)
		status = find_op_size(options);
	if (status == PHILOX_OK)
		status = check_ops(options);
	return status;
}

/* Copies the options with op_size set, and checks them. */
static enum philox_status take_options(const struct philox_context *context,
				       const struct philox_region_desc *given,
				       struct philox_region_desc *options)
{
	enum philox_status status;

	status = options_copy("region options", given, given->size,
			      OPTIONS_SIZE_FIRST, sizeof(*options), options);
	return status == PHILOX_OK ? region_check_options(context, options)
				   : status;
}

/* --- making --------------------------------------------------------------- */

static struct region_op *copy_ops(const struct philox_region_desc *options)
{
	struct region_op *ops = calloc(options->n_ops, sizeof(*ops));
	uint32_t cell = 0;

	for (size_t i = 0; ops && i < options->n_ops; i++) {
		struct philox_op_desc from;

		take_op(options, i, &from); /* it has been checked */
		ops[i].calls = from.calls ? from.calls : 1;
		ops[i].advance = from.advance ? from.advance : ADVANCE_DEFAULT;
		ops[i].cell = cell;
		cell += ops[i].calls;
		if (!from.name)
			continue;
		ops[i].name = strdup(from.name);
		if (!ops[i].name) {
			region_free_ops(ops, (uint32_t)i);
			return NULL;
		}
	}
	return ops;
}

static enum philox_status refuse_name(const struct philox_region *region,
				      const char *name)
{
	if (!strcmp(region->name, name))
		return status_set(PHILOX_ERROR_EXISTS,
				  "region '%s': a region of this name is alive",
				  name);
	return status_set(PHILOX_ERROR_EXISTS,
			  "region '%s': the name '%s', %s, has the same hash",
			  name, region->name,
			  region->alive ? "of a living region" : "used before");
}

/* The record of a name: an old one, or a new one that is not listed yet. */
static enum philox_status find_record(struct philox_context *context,
				      const char *name,
				      struct philox_region **record)
{
	struct philox_region *region =
		region_find(context, hash_text(name, strlen(name)));

	if (region && (region->alive || strcmp(region->name, name)))
		return refuse_name(region, name);
	*record = region ? region : region_new(context, name);
	return *record ? PHILOX_OK : PHILOX_ERROR_MEMORY;
}

/* A forward advances by the largest op; SHARED ops draw one after another. */
static void set_sizes(struct philox_region *region,
		      const struct philox_region_desc *options)
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
	region->advance = region->flags & PHILOX_REGION_SHARED ? sum : largest;
}

/* A new record begins at offset 0; an old one continues where it was. */
static void begin_life(struct philox_region *region,
		       struct philox_generator *generator)
{
	uint64_t offset = region->state.offset;

	region_set_generator(region, generator);
	generator->regions++;
	region_restart(region);
	region->state.offset = offset;
	if (!region->life)
		region_list(region);
	region->life++;
	region->alive = 1;
}

/*
 * A name keeps one offset, so it stays with its generator: if a name had used
 * two of them and one were given a new seed, the numbers issued under each
 * could not be told apart.
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

enum philox_status region_fill(struct philox_region *region,
			       const struct philox_region_desc *options)
{
	enum philox_status status = ledger_init(
		&region->ledger,
		options->pending ? options->pending : PENDING_DEFAULT);

	if (status != PHILOX_OK)
		return status;
	region->ops = copy_ops(options);
	if (!region->ops) {
		status = status_set(PHILOX_ERROR_MEMORY,
				    "no memory for the ops of region '%s'",
				    options->name);
		goto finish_ledger;
	}
	status = region_axes_init(&region->axes, options);
	if (status != PHILOX_OK)
		goto free_ops;
	set_sizes(region, options);
	return PHILOX_OK;

free_ops:
	region_free_ops(region->ops, (uint32_t)options->n_ops);
	region->ops = NULL;
finish_ledger:
	ledger_finish(&region->ledger);
	return status;
}

/* A record that is not alive, an old one or a new one, begins a life. */
static enum philox_status revive(struct philox_region *region,
				 const struct philox_region_desc *options,
				 struct philox_generator *generator)
{
	enum philox_status status = check_generator(region, generator);

	if (status == PHILOX_OK)
		status = region_fill(region, options);
	if (status == PHILOX_OK)
		begin_life(region, generator);
	return status;
}

/* All is there but the room for more tickets than a text had. */
static void come_alive(struct philox_region *region, struct ledger *room)
{
	ledger_move(&region->ledger, room);
	region->ledger = *room;
	memset(room, 0, sizeof(*room));
	region->unclaimed = 0;
	region->alive = 1;
	region->life++;
}

/* What would be made is compared with what a text says, which is then it. */
static enum philox_status claim(struct philox_region *region,
				const struct philox_region_desc *options,
				struct philox_generator *generator)
{
	struct philox_region *made = region_new(region->context, options->name);
	enum philox_status status;

	if (!made)
		return PHILOX_ERROR_MEMORY;
	status = region_fill(made, options);
	made->generator = generator;
	made->alive = 1;
	if (status == PHILOX_OK)
		status = region->context->hooks->fits(region, made);
	if (status == PHILOX_OK)
		come_alive(region, &made->ledger);
	region_free(made);
	return status;
}

static enum philox_status create(struct philox_context *context,
				 const struct philox_region_desc *options,
				 struct philox_region **out)
{
	struct philox_generator *generator =
		options->generator ? options->generator : context->generator;
	struct philox_region *region = NULL;
	enum philox_status status;

	status = region_axes_find(&context->mesh, options->name,
				  options->differs, options->n_differs);
	if (status == PHILOX_OK)
		status = region_reserve(context, 1);
	if (status == PHILOX_OK)
		status = find_record(context, options->name, &region);
	if (status != PHILOX_OK)
		return status;
	status = region->unclaimed ? claim(region, options, generator)
				   : revive(region, options, generator);
	if (status == PHILOX_OK)
		*out = region;
	else if (!region->life)
		region_free(region);
	return status;
}

enum philox_status philox_region_create(
	struct philox_context *context,
	const struct philox_region_desc *options, struct philox_region **region)
{
	struct philox_region_desc taken = {0};
	struct philox_log_entry subject = {0};
	enum philox_status status;

	if (!context)
		return context_null(NULL, "context");
	if (!options || !region)
		return context_null(context, options ? "region" : "options");
	NEED_PROCESS(context);
	status = take_options(context, options, &taken);
	subject.region = taken.name;
	if (status == PHILOX_OK) {
		context_lock(context);
		status = create(context, &taken, region);
		if (status == PHILOX_OK)
			journal_region(*region);
		context_unlock(context);
	}
	return context_report(context, status, &subject);
}

/* A name is an op that has nothing else. */
enum philox_status philox_region_create_named(struct philox_context *context,
					      const char *name,
					      const char *const *op_names,
					      size_t n_ops,
					      struct philox_region **region)
{
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = name,
					     .ops = (const void *)op_names,
					     .n_ops = n_ops,
					     .op_size = sizeof(*op_names)};

	if (context && !op_names)
		return context_null(context, "op_names");
	return philox_region_create(context, &options, region);
}
