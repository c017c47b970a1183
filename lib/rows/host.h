/*
 * lib/rows/host.h - what the loops of tables and samples have in common
 *
 * Where the compiler may not assume fused multiply-adds, loops that need them
 * come in two versions: fmaf() of the C library gives the same bits, only
 * slower.
 */
#ifndef LIB_ROWS_HOST_H
#define LIB_ROWS_HOST_H

#include "lib/fill/simd/tables.h"
#include "lib/rows/sample_elements.h"

#define NO_ATTRIBUTE

#if defined(__x86_64__) && !defined(__FMA__)
#define DEFINE_TWICE(DEFINE, kernel, name, size)                               \
	DEFINE(static, __attribute__((target("fma"))), run_fma_##kernel, name, \
	       size)                                                           \
	DEFINE(static, NO_ATTRIBUTE, run_plain_##kernel, name, size)           \
	void run_##kernel(const void *args)                                    \
	{                                                                      \
		if (__builtin_cpu_supports("fma"))                             \
			run_fma_##kernel(args);                                \
		else                                                           \
			run_plain_##kernel(args);                              \
	}
#else
#define DEFINE_TWICE(DEFINE, kernel, name, size) \
	DEFINE(, NO_ATTRIBUTE, run_##kernel, name, size)
#endif

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
