/*
 * lib/sample/host.h - what the loops of samples have in common
 */
#ifndef LIB_SAMPLE_HOST_H
#define LIB_SAMPLE_HOST_H

#include "lib/fill/simd/tables.h"
#include "lib/rows/host.h"
#include "lib/sample/elements.h"

/* sample_columns() returns the columns of an entry; `size` is a logit's. */
struct simd_columns sample_columns(const struct sample_args *args,
				   const struct sample_row *row, uint64_t entry,
				   unsigned size);

/* sample_across() returns the greatest key of an entry's columns, by vectors. */
uint64_t sample_across(const struct simd_loops *loops, enum kernel kernel,
		       const struct sample_args *args,
		       const struct sample_row *row, uint64_t entry,
		       unsigned size);

#endif
