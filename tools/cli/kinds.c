/*
 * tools/cli/kinds.c - every kind of fill: a distribution in a dtype
 */
#include "tools/cli/cli.h"
#include "lib/dist/dist.h"

/* Integers before real numbers, short before long. */
static const enum philox_dtype dtypes[] = {PHILOX_DTYPE_U32,  PHILOX_DTYPE_U64,
					   PHILOX_DTYPE_I32,  PHILOX_DTYPE_I64,
					   PHILOX_DTYPE_F32,  PHILOX_DTYPE_F64,
					   PHILOX_DTYPE_BF16, PHILOX_DTYPE_F16};

#define N_DTYPES (sizeof(dtypes) / sizeof(dtypes[0]))

/* Room for the largest number: each dist may have each dtype. */
#define KIND_ROOM(dist, name, function, parameters, kernels) +N_DTYPES
static struct fill_kind kinds[FILL_DISTS(KIND_ROOM, ) + 1];

static void find_kinds(void)
{
	struct fill_kind *kind = kinds;

	for (enum philox_dist dist = 0; dist < fill_dists(); dist++)
		for (size_t i = 0; fill_dist_name(dist) && i < N_DTYPES; i++) {
			const struct fill_form *form =
				fill_form(dist, dtypes[i]);

			if (!form)
				continue;
			*kind++ = (struct fill_kind){
				.dist = dist,
				.dtype = dtypes[i],
				.dist_name = fill_dist_name(dist),
				.dtype_name = fill_dtype_name(dtypes[i]),
				.reads = form->traits & FILL_READS,
				.in_size = fill_dtype_size(form->in),
				.size = fill_dtype_size(dtypes[i])};
		}
}

const struct fill_kind *fill_kinds(void)
{
	if (!kinds[0].size)
		find_kinds();
	return kinds;
}

const struct fill_kind *fill_kind_of(enum philox_dist dist,
				     enum philox_dtype dtype)
{
	for (const struct fill_kind *kind = fill_kinds(); kind->size; kind++)
		if (kind->dist == dist && kind->dtype == dtype)
			return kind;
	return NULL;
}
