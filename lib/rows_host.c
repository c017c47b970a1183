/*
 * lib/rows_host.c - the kernels of lib/rows_kernels.h as plain loops
 *
 * As in lib/kernels_host.c each loop runs on the thread of its stream, with
 * arguments of its own. Where the compiler may not assume fused multiply-adds,
 * those that need them come in two versions of the same loop: fmaf() of the C
 * library gives the same bits, only slower.
 */
#define PHILOX_BUILTIN_FMA /* real.h: let a function's target decide */
#include "rows_elements.h"

#define NO_ATTRIBUTE

#if defined(__x86_64__) && !defined(__FMA__)
#define DEFINE_TWICE(DEFINE, name, size)                                     \
	DEFINE(static, __attribute__((target("fma"))), run_fma_##name, name, \
	       size)                                                         \
	DEFINE(static, NO_ATTRIBUTE, run_plain_##name, name, size)           \
	void run_##name(const void *args)                                    \
	{                                                                    \
		if (__builtin_cpu_supports("fma"))                           \
			run_fma_##name(args);                                \
		else                                                         \
			run_plain_##name(args);                              \
	}
#else
#define DEFINE_TWICE(DEFINE, name, size) \
	DEFINE(, NO_ATTRIBUTE, run_##name, name, size)
#endif

/* --- rows ----------------------------------------------------------------- */

void run_rows_seed(const void *pointer)
{
	const struct rows_seed_args *args = pointer;

	for (uint64_t row = 0; row < args->count; row++)
		args->states[row] = rows_derive(args->seed, row);
}

void run_rows_set(const void *pointer)
{
	const struct rows_set_args *args = pointer;

	for (uint64_t i = 0; i < args->n; i++)
		rows_set(args, i);
}

void run_rows_advance(const void *pointer)
{
	const struct rows_draw_args *args = pointer;
	const uint64_t launch = rows_launch(&args->table);

	for (uint64_t i = 0; i < args->list.n; i++)
		rows_advance_entry(args, launch, i);
	rows_end(args->table.control);
}

/* --- draws ---------------------------------------------------------------- */

#define DEFINE_DRAW(storage, attribute, loop, name, size)                      \
	attribute storage void loop(const void *pointer)                       \
	{                                                                      \
		const struct rows_draw_args *args = pointer;                   \
		const uint64_t launch = rows_launch(&args->table);             \
		const uint64_t units = args->list.n * rows_blocks(args, size); \
                                                                               \
		for (uint64_t i = 0; i < units; i++)                           \
			name##_unit(args, launch, i);                          \
		rows_end(args->table.control);                                 \
	}

DEFINE_DRAW(, NO_ATTRIBUTE, run_rows_bits_u32, rows_bits_u32, 4)
DEFINE_DRAW(, NO_ATTRIBUTE, run_rows_bits_u64, rows_bits_u64, 2)
DEFINE_DRAW(, NO_ATTRIBUTE, run_rows_uniform_f32, rows_uniform_f32, 4)
DEFINE_DRAW(, NO_ATTRIBUTE, run_rows_uniform_f64, rows_uniform_f64, 2)
DEFINE_TWICE(DEFINE_DRAW, rows_normal_f32, 4)
