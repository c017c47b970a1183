/*
 * lib/rows_host.c - the kernels of lib/rows_kernels.h as plain loops
 *
 * As in lib/kernels_host.c each loop runs on the thread of its stream, with
 * arguments of its own. Where the compiler may not assume fused multiply-adds,
 * those that need them come in two versions of the same loop: fmaf() of the C
 * library gives the same bits, only slower.
 */
#define PHILOX_BUILTIN_FMA /* real.h: let a function's target decide */
#include "sample_elements.h"

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

#define DEFINE_DRAW(storage, attribute, loop, name, size)            \
	attribute storage void loop(const void *pointer)             \
	{                                                            \
		const struct rows_draw_args *args = pointer;         \
		const uint64_t launch = rows_launch(&args->table);   \
                                                                     \
		for (uint64_t i = 0; i < args->list.n; i++) {        \
			uint64_t unit = 0;                           \
                                                                     \
			do                                           \
				name##_unit(args, launch, i, unit);  \
			while (++unit < rows_blocks(args, i, size)); \
		}                                                    \
		rows_end(args->table.control);                       \
	}

DEFINE_DRAW(, NO_ATTRIBUTE, run_rows_bits_u32, rows_bits_u32, 4)
DEFINE_DRAW(, NO_ATTRIBUTE, run_rows_bits_u64, rows_bits_u64, 2)
DEFINE_TWICE(DEFINE_DRAW, rows_uniform_f32, 4)
DEFINE_TWICE(DEFINE_DRAW, rows_uniform_f64, 2)
DEFINE_TWICE(DEFINE_DRAW, rows_normal_f32, 4)

/* --- samples -------------------------------------------------------------- */

#define DEFINE_SAMPLE(storage, attribute, loop, name, size)                   \
	attribute static uint64_t best_of_##loop(                             \
		const struct sample_args *args, const struct sample_row *row, \
		uint64_t entry)                                               \
	{                                                                     \
		const uint32_t first = sample_first_quad(args);               \
		const uint32_t quads = sample_quads(args);                    \
		uint64_t best = 0;                                            \
                                                                              \
		for (uint32_t i = 0; i < quads; i++) {                        \
			uint64_t key =                                        \
				name##_quad(args, row, entry, first + i);     \
                                                                              \
			best = key > best ? key : best;                       \
		}                                                             \
		return best;                                                  \
	}                                                                     \
                                                                              \
	attribute storage void loop(const void *pointer)                      \
	{                                                                     \
		const struct sample_args *args = pointer;                     \
		const uint64_t launch = sample_launch(args);                  \
                                                                              \
		for (uint64_t i = 0; i < args->list.n; i++) {                 \
			struct sample_row row;                                \
			uint64_t best = SAMPLE_NO_TOKEN;                      \
                                                                              \
			if (!sample_begin(args, launch, i, &row))             \
				continue;                                     \
			if (row.valid)                                        \
				best = best_of_##loop(args, &row, i);         \
			sample_end(args, launch, i, &row, best);              \
		}                                                             \
		if (args->table.control)                                      \
			rows_end(args->table.control);                        \
	}

DEFINE_TWICE(DEFINE_SAMPLE, sample_f32, 4)
DEFINE_TWICE(DEFINE_SAMPLE, sample_bf16, 4)
DEFINE_TWICE(DEFINE_SAMPLE, sample_f16, 4)
