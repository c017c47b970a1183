/*
 * lib/sample/host.c - samples without filters as plain loops, and by vectors
 */
#define PHILOX_BUILTIN_FMA /* real.h: let a function's target decide */
#include <math.h>
#include "lib/rows/rows.h"
#include "lib/change/change.h"
#include "lib/sample/host.h"

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

/* --- histories ------------------------------------------------------------ */

void run_sample_note(const void *pointer)
{
	const struct sample_note_args *args = pointer;

	for (uint64_t i = 0; i < args->list.n; i++)
		for (uint32_t k = 0; k < change_note_count(args, i); k++)
			change_note_given(args, i, k);
}
