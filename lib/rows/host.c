/*
 * lib/rows/host.c - the kernels of lib/device/kernels.h as plain loops
 *
 * As in lib/kernels/host/host.c each loop runs on the thread of its stream,
 * with arguments of its own. Where there are vectors, draws are made by
 * lib/rows/across.c instead.
 */
#define PHILOX_BUILTIN_FMA /* real.h: let a function's target decide */
#include <math.h>
#include "lib/fill/fill.h"
#include "lib/fill/simd/tables.h"
#include "lib/rows/elements.h"
#include "lib/rows/host.h"
#include "lib/rows/rows.h"

/* --- rows ----------------------------------------------------------------- */

void run_rows_seed(const void *pointer)
{
	const struct rows_seed_args *args = pointer;
	struct simd_keyed blocks;
	uint64_t seed[SIMD_KEYED_MAX];

	for (unsigned i = 0; i < SIMD_KEYED_MAX; i++) {
		blocks.seed[i] = args->seed;
		blocks.high[i] = PHILOX_FOLD_ROW;
	}
	for (uint64_t row = 0; row < args->count; row += SIMD_KEYED_MAX) {
		uint64_t left = args->count - row;
		unsigned n =
			left < SIMD_KEYED_MAX ? (unsigned)left : SIMD_KEYED_MAX;

		for (unsigned i = 0; i < SIMD_KEYED_MAX; i++)
			blocks.low[i] = row + i;
		keys_fold(&blocks, n, seed);
		for (unsigned i = 0; i < n; i++)
			args->states[row + i] =
				(struct philox_state){seed[i], 0};
	}
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
	const int others = rows_others(&args->list, args->words, 0);
	const uint64_t launch = rows_launch(&args->table);

	for (uint64_t i = 0; i < args->list.n; i++)
		rows_advance_entry(args, launch, others, i);
	rows_end(args->table.control);
}

/* --- draws ---------------------------------------------------------------- */

#define DEFINE_DRAW(storage, attribute, loop, name, per_block)                \
	attribute static void loop##_one_by_one(                              \
		const struct rows_draw_args *args)                            \
	{                                                                     \
		const int others = rows_others(&args->list, args->words, 0);  \
		const uint64_t launch = rows_launch(&args->table);            \
		struct rows_entry e;                                          \
                                                                              \
		for (uint64_t i = 0; i < args->list.n; i++)                   \
			if (rows_begin(args, launch, others, per_block, i, 0, \
				       &e))                                   \
				rows_##name##_units(args, launch, others, &e, \
						    0, 1);                    \
		rows_end(args->table.control);                                \
	}                                                                     \
                                                                              \
	storage void loop(const void *args)                                   \
	{                                                                     \
		if (!rows_draw_across(args, KERNEL_##name, 16 / per_block))   \
			loop##_one_by_one(args);                              \
	}

DEFINE_DRAW(, NO_ATTRIBUTE, run_rows_bits_u32, bits_u32, 4)
DEFINE_DRAW(, NO_ATTRIBUTE, run_rows_bits_u64, bits_u64, 2)
DEFINE_TWICE(DEFINE_DRAW, rows_uniform_f32, uniform_f32, 4)
DEFINE_TWICE(DEFINE_DRAW, rows_uniform_f64, uniform_f64, 2)
DEFINE_TWICE(DEFINE_DRAW, rows_normal_f32, normal_f32, 4)
