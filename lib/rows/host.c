/*
 * lib/rows/host.c - the kernels of lib/device/kernels.h as plain loops
 *
 * As in lib/kernels/host/host.c each loop runs on the thread of its stream,
 * with arguments of its own. Where there are vectors, draws are made by
 * lib/rows/across.c instead. Samples with filters are in lib/rows/filter.c.
 */
#define PHILOX_BUILTIN_FMA /* real.h: let a function's target decide */
#include <math.h>
#include "lib/fill/fill.h"
#include "lib/fill/simd/tables.h"
#include "lib/rows/rows.h"
#include "lib/rows/host.h"

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

/* --- samples -------------------------------------------------------------- */

struct simd_columns sample_columns(const struct sample_args *args,
				   const struct sample_row *row, uint64_t entry,
				   unsigned size)
{
	return (struct simd_columns){
		.state = row->state,
		.inverse = row->inverse,
		.first = args->first,
		.count = args->vocab,
		.allowed = args->allowed
				   ? args->allowed + entry * args->allowed_pitch
				   : NULL,
		.logits = (const char *)args->logits +
			  entry * args->pitch * size};
}

uint64_t sample_across(const struct simd_loops *loops, enum kernel kernel,
		       const struct sample_args *args,
		       const struct sample_row *row, uint64_t entry,
		       unsigned size)
{
	const struct simd_columns columns =
		sample_columns(args, row, entry, size);
	struct simd_best best = row->inverse == 0.0f
					? loops->greedy[kernel](&columns)
					: loops->sample[kernel](&columns);

	return sample_key(best.score, args->first + best.column);
}

/* Without vectors, the same with noise and without. */
#define DEFINE_SAMPLE(storage, attribute, loop, name, logit_type)              \
	attribute static uint64_t loop##_greedy(                               \
		const struct sample_args *args, uint64_t entry)                \
	{                                                                      \
		const logit_type *logits = (const logit_type *)args->logits +  \
					   entry * args->pitch;                \
		float most = -INFINITY;                                        \
		uint32_t column = 0;                                           \
                                                                               \
		for (uint32_t i = 0; i < args->vocab; i++) {                   \
			float logit = sample_widen_##name(logits[i]);          \
                                                                               \
			if (logit <= most ||                                   \
			    !sample_is_allowed(args, entry, args->first + i))  \
				continue;                                      \
			if (isnan(logit))                                      \
				return SAMPLE_NO_TOKEN;                        \
			most = logit;                                          \
			column = i;                                            \
		}                                                              \
		return sample_key(most, args->first + column);                 \
	}                                                                      \
                                                                               \
	attribute static uint64_t loop##_quads(const struct sample_args *args, \
					       const struct sample_row *row,   \
					       uint64_t entry)                 \
	{                                                                      \
		const uint32_t first = sample_first_quad(args);                \
		const uint32_t quads = sample_quads(args);                     \
		struct sample_best best = SAMPLE_NO_BEST;                      \
                                                                               \
		for (uint32_t q = 0; q < quads; q++)                           \
			sample_##name##_quad(args, row, entry, first + q,      \
					     &best);                           \
		return best.key;                                               \
	}                                                                      \
                                                                               \
	attribute storage void loop(const void *pointer)                       \
	{                                                                      \
		const struct sample_args *args = pointer;                      \
		const struct simd_loops *loops = simd_loops_used();            \
		const uint64_t launch = sample_launch(args);                   \
		const int others = rows_others(&args->list, args->words, 0);   \
                                                                               \
		for (uint64_t i = 0; i < args->list.n; i++) {                  \
			struct sample_row row;                                 \
			uint64_t best = SAMPLE_NO_TOKEN;                       \
                                                                               \
			if (!sample_begin(args, launch, others, i, &row))      \
				continue;                                      \
			if (row.valid && loops)                                \
				best = sample_across(                          \
					loops, KERNEL_sample_##name, args,     \
					&row, i, sizeof(logit_type));          \
			else if (row.valid && row.inverse == 0.0f)             \
				best = loop##_greedy(args, i);                 \
			else if (row.valid)                                    \
				best = loop##_quads(args, &row, i);            \
			sample_end(args, launch, others, i, &row, best);       \
		}                                                              \
		if (args->table.control)                                       \
			rows_end(args->table.control);                         \
	}

DEFINE_TWICE(DEFINE_SAMPLE, sample_f32, f32, float)
DEFINE_TWICE(DEFINE_SAMPLE, sample_bf16, bf16, uint16_t)
DEFINE_TWICE(DEFINE_SAMPLE, sample_f16, f16, uint16_t)
