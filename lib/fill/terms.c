/*
 * lib/fill/terms.c - see lib/fill/terms.h
 */
#include "lib/fill/terms.h"

static const char *const dist_names[] = {
	"bits",       "uniform",     "normal", "bernoulli", "dropout",
	"log-normal", "exponential", "gumbel", "integers",  "stochastic round"};
static const struct {
	const char *name;
	size_t size;
} dtypes[] = {{"u32", 4}, {"u64", 8}, {"f32", 4}, {"bf16", 2},
	      {"f16", 2}, {"f64", 8}, {"i32", 4}, {"i64", 8}};

#define N_DISTS  (sizeof(dist_names) / sizeof(dist_names[0]))
#define N_DTYPES (sizeof(dtypes) / sizeof(dtypes[0]))

_Static_assert(N_DISTS == PHILOX_STOCHASTIC_ROUND + 1, "a dist has no name");
_Static_assert(N_DTYPES == PHILOX_I64 + 1, "a dtype has no name");

const char *fill_dist_name(enum philox_dist dist)
{
	return dist_names[dist];
}

const char *fill_dtype_name(enum philox_dtype dtype)
{
	return dtypes[dtype].name;
}

size_t fill_dtype_size(enum philox_dtype dtype)
{
	return dtypes[dtype].size;
}

enum philox_status fill_check_dist(const char *what, enum philox_dist dist)
{
	if ((unsigned)dist < N_DISTS)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID, "%s: dist %u is unknown", what,
			  (unsigned)dist);
}

enum philox_status fill_check_dtype(const char *what, enum philox_dtype dtype)
{
	if ((unsigned)dtype < N_DTYPES)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID, "%s: dtype %u is unknown", what,
			  (unsigned)dtype);
}

enum philox_status fill_check_array(const char *what, const char *name,
				    const void *array, enum philox_dtype dtype)
{
	size_t size = fill_dtype_size(dtype);

	if (!array)
		return status_set(PHILOX_ERROR_INVALID, "%s: %s is NULL", what,
				  name);
	if ((uintptr_t)array % size)
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: %s (%p) is not aligned to the %zu bytes "
				  "of %s",
				  what, name, array, size,
				  fill_dtype_name(dtype));
	return PHILOX_OK;
}
