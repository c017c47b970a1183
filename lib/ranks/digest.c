/*
 * lib/ranks/digest.c - what ranks ought to agree on, as digests
 *
 * See Note [Agreement]. The cost is that of a Philox block for two words of
 * what is digested.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "lib/base/base.h"
#include "lib/mesh/mesh.h"
#include "lib/ranks/ranks.h"
#include "lib/rows/rows.h"
#include "lib/save/save.h"
#include "lib/state/state.h"

#define DIGEST_SIZE_FIRST OPTIONS_FIRST(struct philox_rank_digest, along)
OPTIONS_NO_PADDING(struct philox_rank_digest, along);

static void add_pair(uint64_t *digest, uint64_t one, uint64_t other)
{
	struct philox_words block = philox_block(*digest, one, other);

	*digest = philox_join(block.w[1], block.w[0]);
}

/* No name is as good as a number that is the hash of one by chance only. */
static uint64_t name_word(const char *name)
{
	return name ? hash_text(name, strlen(name)) : 0;
}

/* --- sums ----------------------------------------------------------------- */

/* Which sums an item is added to. */
struct sums {
	const struct philox_context *context;
	uint32_t axis; /* PHILOX_MESH_AXES: one sum for each axis */
	struct save_part part;
	uint64_t *along;
};

/* An item: `shape` counts along the axes in `differs`, `whole` else. */
struct item {
	uint64_t key;
	int staged; /* does not count along axes with stages */
	const struct region_axes *differs;
	uint64_t shape, whole;
};

static int differs_along(const struct region_axes *axes, const char *name)
{
	for (size_t i = 0; axes && i < axes->n; i++)
		if (!strcmp(axes->names[i], name))
			return 1;
	return 0;
}

static uint64_t value_along(const struct item *item,
			    const struct philox_axis *axis)
{
	if (item->staged && (axis->flags & PHILOX_AXIS_STAGES))
		return 0;
	return differs_along(item->differs, axis->name) ? item->shape
							: item->whole;
}

static void add_item(const struct sums *sums, const struct item *item)
{
	const struct philox_mesh *mesh = &sums->context->mesh;
	const unsigned mask = (1u << AGREE_SPLIT_BITS) - 1;

	if (!save_part_has(&sums->part, item->key))
		return;
	if (sums->axis < PHILOX_MESH_AXES) {
		sums->along[(item->key >> sums->part.bits) & mask] +=
			value_along(item, &mesh->axes[sums->axis]);
		return;
	}
	for (uint32_t i = 0; i < mesh->n_axes; i++)
		sums->along[i] += value_along(item, &mesh->axes[i]);
}

/* --- items ---------------------------------------------------------------- */

#define NO_OFFSET UINT64_MAX /* offsets are multiples of 4 */

static void sum_generator(struct item *item,
			  const struct philox_generator *generator)
{
	if (generator->flags)
		add_pair(&item->whole, generator->flags, NO_OFFSET);
	else
		add_pair(&item->whole, generator->state.seed,
			 generator->state.offset);
}

static void sum_generators(const struct sums *sums)
{
	const struct order *all = &sums->context->generators;
	struct item item = {.key = save_item_key(SAVE_GENERATORS, 0)};

	item.whole = item.key;
	/* the newest first, as digests have always been */
	for (size_t i = all->n; i-- > 0;)
		if (all->entries[i].thing)
			sum_generator(&item, all->entries[i].thing);
	add_item(sums, &item);
}

static uint64_t region_shape(const struct philox_region *region, uint64_t key)
{
	uint64_t shape = key;

	add_pair(&shape, generator_number(region->generator), region->flags);
	add_pair(&shape, region->axes.n, region->n_ops);
	for (size_t i = 0; i < region->axes.n; i++)
		add_pair(&shape, name_word(region->axes.names[i]), 0);
	for (uint32_t i = 0; i < region->n_ops; i++) {
		const struct region_op *op = &region->ops[i];

		add_pair(&shape, name_word(op->name), op->calls);
		add_pair(&shape, op->advance, 0);
	}
	return shape;
}

static uint64_t entry_digest(const struct ledger_entry *entry)
{
	uint64_t digest = entry->serial;

	add_pair(&digest, entry->state.seed, entry->state.offset);
	add_pair(&digest, (uint64_t)entry->readers << 32 | entry->iterations,
		 (uint64_t)entry->phase << 8 | entry->consuming);
	return digest;
}

static uint64_t ledger_digest(const struct ledger *ledger)
{
	uint64_t sum = 0;
	uint32_t seen = 0;

	for (uint32_t i = 0; seen < ledger->used; i++) {
		if (ledger->entries[i].phase == LEDGER_FREE)
			continue;
		sum += entry_digest(&ledger->entries[i]);
		seen++;
	}
	return sum;
}

static uint64_t largest(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void sum_region(const struct sums *sums,
		       const struct philox_region *region)
{
	struct item item = {.key = save_item_key(SAVE_REGION, region->key),
			    .staged = 1,
			    .differs = &region->axes};

	if (!save_part_has(&sums->part, item.key))
		return;
	item.shape = region_shape(region, item.key);
	item.whole = item.shape;
	add_pair(&item.whole, region->state.seed, region->state.offset);
	add_pair(&item.whole, region->serial,
		 region->generator->open == region);
	add_pair(&item.whole,
		 largest(region->axes.offset, region->state.offset),
		 largest(region->axes.serial, region->serial));
	add_pair(&item.whole, ledger_digest(&region->ledger),
		 region->ledger.used);
	add_item(sums, &item);
}

static void sum_table(const struct sums *sums, const struct philox_rows *rows)
{
	struct item item = {.key = save_item_key(SAVE_TABLE, rows->key),
			    .staged = 1};

	item.whole = item.key;
	add_pair(&item.whole, generator_number(rows->generator),
		 rows->table.count);
	add_item(sums, &item);
}

static void sum_data(const struct sums *sums, const struct philox_data *data)
{
	struct item item = {.key = save_item_key(SAVE_DATA, data->key),
			    .staged = 1};

	item.whole = item.key;
	add_pair(&item.whole, generator_number(data->generator),
		 data->n_sources);
	add_pair(&item.whole, data->block, data->order);
	add_pair(&item.whole, data->seed, data->position);
	add_item(sums, &item);
}

static void sum_all(const struct sums *sums)
{
	sum_generators(sums);
	for (const struct philox_region *region = sums->context->regions;
	     region; region = region->next)
		if (region->alive)
			sum_region(sums, region);
	for (const struct philox_rows *rows = sums->context->rows; rows;
	     rows = rows->next)
		if (!rows->leaving)
			sum_table(sums, rows);
	for (const struct philox_data *data = sums->context->data; data;
	     data = data->next)
		sum_data(sums, data);
}

/* --- digests -------------------------------------------------------------- */

/* A digest's word for a mesh. */
static uint64_t mesh_word(const struct philox_mesh *mesh)
{
	uint64_t word = mesh->n_axes;

	for (uint32_t i = 0; i < mesh->n_axes; i++)
		add_pair(&word, name_word(mesh->axes[i].name),
			 (uint64_t)mesh->axes[i].n_ranks << 32 |
				 mesh->axes[i].flags);
	return word;
}

static void begin(const struct philox_context *context,
		  struct philox_rank_digest *digest)
{
	memset(digest, 0, sizeof(*digest));
	digest->size = sizeof(*digest);
	digest->rank = mesh_rank(&context->mesh);
	digest->mesh = mesh_word(&context->mesh);
}

void agree_digest(const struct philox_context *context,
		  struct philox_rank_digest *digest)
{
	const struct sums sums = {.context = context,
				  .axis = PHILOX_MESH_AXES,
				  .along = digest->along};

	begin(context, digest);
	sum_all(&sums);
}

void agree_split(const struct philox_context *context, uint32_t axis,
		 const struct save_part *part,
		 struct philox_rank_digest *digest)
{
	const struct sums sums = {.context = context,
				  .axis = axis,
				  .part = *part,
				  .along = digest->along};

	begin(context, digest);
	sum_all(&sums);
}

enum philox_status philox_context_rank_digest(struct philox_context *context,
					      struct philox_rank_digest *digest)
{
	struct philox_rank_digest made;
	enum philox_status status;

	if (!context || !digest)
		return context_null(context, context ? "digest" : "context");
	NEED_PROCESS(context);
	status = options_check_room("digest", digest->size, DIGEST_SIZE_FIRST,
				    sizeof(*digest));
	if (status == PHILOX_OK) {
		context_lock(context);
		agree_digest(context, &made);
		context_unlock(context);
		options_write(digest, &made, sizeof(made));
	}
	return context_report(context, status, NULL);
}

/* --- agree_compare: the digests of all ranks, compared -------------------- */

/*
 * Along an axis, every rank is compared with that at its coordinate 0.
 */

/* --- all ranks, once each ------------------------------------------------- */

/* In agree() all ranks find the same, so their own mesh does not count. */
static enum philox_status compare_meshes(const struct agree_digests *all,
					 struct agree_found *found)
{
	const struct philox_rank_digest *digests = all->digests;

	for (size_t i = 0; i < all->n; i++) {
		if (digests[i].size != sizeof(digests[i]))
			return status_set(PHILOX_ERROR_INVALID,
					  "digest %zu: size is %" PRIu64
					  ", not that of the struct (%zu)",
					  i, digests[i].size,
					  sizeof(digests[i]));
		if (digests[i].mesh == digests[0].mesh)
			continue;
		found->axis = PHILOX_MESH_AXES;
		found->ranks[0] = digests[0].rank;
		found->ranks[1] = digests[i].rank;
		return status_set(PHILOX_ERROR_MISMATCH,
				  "digests 0 and %zu are of different meshes: "
				  "they are of rank %" PRIu64
				  " of one and rank %" PRIu64 " of the other",
				  i, digests[0].rank, digests[i].rank);
	}
	return PHILOX_OK;
}

/* There are as many as ranks: if none comes twice, none is missing. */
static enum philox_status put_in_order(const struct agree_digests *all)
{
	const uint64_t world = mesh_world(all->mesh);

	for (uint64_t rank = 0; rank < world; rank++)
		all->order[rank] = SIZE_MAX;
	for (size_t i = 0; i < all->n; i++) {
		const uint64_t rank = all->digests[i].rank;

		if (rank >= world)
			return status_set(PHILOX_ERROR_INVALID,
					  "digest %zu is of rank %" PRIu64
					  ", the mesh has %" PRIu64 " rank%s",
					  i, rank, world, status_s(world));
		if (all->order[rank] != SIZE_MAX)
			return status_set(PHILOX_ERROR_INVALID,
					  "digests %zu and %zu are both of "
					  "rank %" PRIu64,
					  all->order[rank], i, rank);
		all->order[rank] = i;
	}
	return PHILOX_OK;
}

/* --- along an axis -------------------------------------------------------- */

/* From one rank to the next along an axis. */
static uint64_t stride_of(const struct philox_mesh *mesh, uint32_t axis)
{
	uint64_t stride = 1;

	for (uint32_t i = axis + 1; i < mesh->n_axes; i++)
		stride *= mesh->axes[i].n_ranks;
	return stride;
}

int agree_compare_part(const struct agree_digests *all, uint32_t axis,
		       unsigned word, struct agree_found *found)
{
	const uint64_t stride = stride_of(all->mesh, axis);
	const uint64_t size = all->mesh->axes[axis].n_ranks;

	for (uint64_t rank = 0; rank < all->n; rank++) {
		const uint64_t first = rank - rank / stride % size * stride;

		if (all->digests[all->order[rank]].along[word] ==
		    all->digests[all->order[first]].along[word])
			continue;
		*found = (struct agree_found){axis, {first, rank}};
		return 1;
	}
	return 0;
}

enum philox_status agree_compare(const struct agree_digests *all,
				 struct agree_found *found)
{
	enum philox_status status = compare_meshes(all, found);

	if (status == PHILOX_OK)
		status = put_in_order(all);
	if (status != PHILOX_OK)
		return status;
	for (uint32_t i = 0; i < all->mesh->n_axes; i++)
		if (agree_compare_part(all, i, i, found))
			return status_set(PHILOX_ERROR_MISMATCH,
					  "ranks %" PRIu64 " and %" PRIu64
					  " do not agree along axis '%s'",
					  found->ranks[0], found->ranks[1],
					  all->mesh->axes[i].name);
	return PHILOX_OK;
}

/* --- public --------------------------------------------------------------- */

static enum philox_status compare_given(const struct agree_digests *all)
{
	struct agree_found found;

	if (!all->order)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory to compare %zu digest%s", all->n,
				  status_s(all->n));
	if (all->digests[0].mesh != mesh_word(all->mesh))
		return status_set(PHILOX_ERROR_MISMATCH,
				  "digest 0, of rank %" PRIu64
				  ", is of another mesh than the one given",
				  all->digests[0].rank);
	return agree_compare(all, &found);
}

enum philox_status philox_mesh_compare(const struct philox_mesh *mesh,
				       const struct philox_rank_digest *digests,
				       size_t n_digests)
{
	struct agree_digests all = {.digests = digests, .n = n_digests};
	struct philox_mesh taken;
	enum philox_status status = mesh_take(mesh, &taken);

	if (status != PHILOX_OK)
		return status;
	if (!digests)
		return status_set(PHILOX_ERROR_INVALID, "digests is NULL");
	if (n_digests != mesh_world(&taken))
		return status_set(PHILOX_ERROR_INVALID,
				  "the number of digests is %zu, that of the "
				  "mesh's ranks %" PRIu64,
				  n_digests, mesh_world(&taken));
	all.mesh = &taken;
	all.order = calloc(n_digests, sizeof(*all.order));
	status = compare_given(&all);
	free(all.order);
	return status;
}
