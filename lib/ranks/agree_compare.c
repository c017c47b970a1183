/*
 * lib/ranks/agree_compare.c - the digests of all ranks, compared
 *
 * Along an axis, every rank is compared with that at its coordinate 0.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "lib/mesh/mesh.h"
#include "lib/ranks/agree.h"
#include "lib/state/context.h"

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
		stride *= mesh->axes[i].size;
	return stride;
}

int agree_compare_part(const struct agree_digests *all, uint32_t axis,
		       unsigned word, struct agree_found *found)
{
	const uint64_t stride = stride_of(all->mesh, axis);
	const uint64_t size = all->mesh->axes[axis].size;

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
	if (all->digests[0].mesh != agree_mesh(all->mesh))
		return status_set(PHILOX_ERROR_MISMATCH,
				  "digest 0, of rank %" PRIu64
				  ", is of another mesh than the one given",
				  all->digests[0].rank);
	return agree_compare(all, &found);
}

enum philox_status philox_mesh_compare(const struct philox_mesh *mesh,
				       const struct philox_rank_digest *digests,
				       size_t n)
{
	struct agree_digests all = {.digests = digests, .n = n};
	struct philox_mesh taken;
	enum philox_status status = mesh_take(mesh, &taken);

	if (status != PHILOX_OK)
		return status;
	if (!digests)
		return status_set(PHILOX_ERROR_INVALID, "digests is NULL");
	if (n != mesh_world(&taken))
		return status_set(PHILOX_ERROR_INVALID,
				  "the number of digests is %zu, that of the "
				  "mesh's ranks %" PRIu64,
				  n, mesh_world(&taken));
	all.mesh = &taken;
	all.order = calloc(n, sizeof(*all.order));
	status = compare_given(&all);
	free(all.order);
	return status;
}
