/*
 * lib/ranks/merge_place.c - see lib/ranks/merge_place.h
 */
#include <inttypes.h>
#include <string.h>
#include "lib/mesh/mesh.h"
#include "lib/ranks/merge.h"
#include "lib/ranks/merge_place.h"

/*
 * Along an axis that the texts' mesh lacks, which only a text without a mesh can
 * name, there is one coordinate only: nothing has differed yet.
 */
const char *merge_axis(const struct merge *merge, const struct saved *saved,
		       const struct saved_region *region,
		       const struct saved_region *wanted, size_t i)
{
	for (size_t j = 0; j < region->n_axes; j++) {
		const char *name = saved->axes[region->axis + j];

		if (!mesh_find(&merge->from, name))
			continue;
		if (!i)
			return name;
		i--;
	}
	return i < wanted->n_axes ? merge->wanted->axes[wanted->axis + i]
				  : NULL;
}

static int region_has_axis(const struct saved *saved,
			   const struct saved_region *region, const char *name)
{
	for (size_t i = 0; i < region->n_axes; i++)
		if (!strcmp(saved->axes[region->axis + i], name))
			return 1;
	return 0;
}

enum philox_status merge_check_axes(const struct merge *merge,
				    const struct saved *saved,
				    const struct saved_region *region,
				    const struct saved_region *wanted,
				    uint64_t rank)
{
	for (uint32_t i = 0; i < merge->from.n_axes; i++) {
		const char *name = merge->from.axes[i].name;
		int differs = region_has_axis(saved, region, name);

		if (!mesh_find(&merge->wanted->mesh, name) ||
		    differs == region_has_axis(merge->wanted, wanted, name))
			continue;
		return status_set(PHILOX_ERROR_MISMATCH,
				  "region '%s': %s along axis '%s' in the text "
				  "of rank %" PRIu64 ", and is %sto be loaded "
				  "as one that differs along it",
				  region->name,
				  differs ? "differs" : "is shared", name, rank,
				  differs ? "not " : "");
	}
	return PHILOX_OK;
}

enum merge_lie merge_find_lie(const struct merge *merge,
			      const struct saved *saved,
			      const struct saved_region *region,
			      const struct saved_region *wanted)
{
	const struct philox_mesh *to = &merge->wanted->mesh;
	enum merge_lie lie = MERGE_HERE;
	const char *name;

	for (size_t i = 0; (name = merge_axis(merge, saved, region, wanted, i));
	     i++) {
		uint32_t here = mesh_coordinate(&saved->mesh, name);

		if (here >= mesh_size_along(to, name))
			return MERGE_GONE;
		if (here != mesh_coordinate(to, name))
			lie = MERGE_ELSEWHERE;
	}
	return lie;
}

const char *merge_changed_axis(const struct merge *merge,
			       const struct merge_region *of)
{
	const struct saved_region *shape = &merge->kept.regions[of->shape];
	const char *name;

	for (size_t i = 0;
	     (name = merge_axis(merge, &merge->kept, shape, of->wanted, i));
	     i++)
		if (mesh_size_along(&merge->from, name) !=
		    mesh_size_along(&merge->wanted->mesh, name))
			return name;
	return NULL;
}

const char *merge_new_axis(const struct merge *merge,
			   const struct merge_region *region,
			   uint32_t *coordinate)
{
	const struct saved_region *shape = &merge->kept.regions[region->shape];
	const char *name;

	for (size_t i = 0;
	     (name = merge_axis(merge, &merge->kept, shape, region->wanted, i));
	     i++) {
		*coordinate = mesh_coordinate(&merge->wanted->mesh, name);
		if (*coordinate >= mesh_size_along(&merge->from, name))
			return name;
	}
	return NULL;
}
