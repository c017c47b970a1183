/*
 * lib/ranks/agree_firsts.c - see lib/ranks/agree_firsts.h
 */
#include <stdlib.h>
#include "lib/ranks/agree_firsts.h"

struct place {
	uint64_t at;
	size_t number; /* of the rank there */
};

/* The rank with the same coordinates along these axes and 0 along others. */
static uint64_t place_of(const struct philox_mesh *mesh, uint64_t rank,
			 unsigned axes)
{
	uint64_t stride = 1, at = 0;

	for (uint32_t i = mesh->n_axes; i--;) {
		const uint64_t size = mesh->axes[i].size;

		if (axes & 1u << i)
			at += rank % size * stride;
		rank /= size;
		stride *= size;
	}
	return at;
}

static int compare_places(const void *a, const void *b)
{
	const struct place *left = a, *right = b;

	if (left->at != right->at)
		return left->at < right->at ? -1 : 1;
	return left->number < right->number ? -1 : left->number > right->number;
}

static void fill_firsts(const struct agree_firsts *firsts, unsigned axes,
			struct place *places, size_t *made)
{
	size_t first = 0;

	for (size_t i = 0; i < firsts->n; i++) {
		places[i].at = place_of(firsts->mesh, firsts->ranks[i], axes);
		places[i].number = i;
	}
	qsort(places, firsts->n, sizeof(*places), compare_places);
	for (size_t i = 0; i < firsts->n; i++) {
		if (places[i].at != places[first].at)
			first = i;
		made[places[i].number] = places[first].number;
	}
}

enum philox_status agree_firsts_make(struct agree_firsts *firsts, unsigned axes)
{
	struct place *places;
	size_t *made;

	if (firsts->along[axes])
		return PHILOX_OK;
	places = calloc(firsts->n, sizeof(*places));
	made = calloc(firsts->n, sizeof(*made));
	if (!places || !made) {
		free(places);
		free(made);
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory to compare %zu text%s", firsts->n,
				  status_s(firsts->n));
	}
	fill_firsts(firsts, axes, places, made);
	free(places);
	firsts->along[axes] = made;
	return PHILOX_OK;
}

void agree_firsts_finish(struct agree_firsts *firsts)
{
	for (unsigned i = 0; i < 1u << PHILOX_MESH_AXES; i++)
		free(firsts->along[i]);
}
