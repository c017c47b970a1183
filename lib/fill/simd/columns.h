/*
 * lib/fill/simd/columns.h - the best column of a row of logits, in vectors
 *
 * For tokens (lib/sample/host.c). Without noise the columns are taken in spans:
 * only the highest of each is kept, and the column is looked for in the best
 * span. With noise they are taken in chunks of Philox blocks, and what cannot win
 * is left out: see Note [Noise that cannot win] in lib/dist/noise.h. Columns go
 * up, so one whose score is that of the best so far cannot win either.
 */
#ifndef LIB_FILL_SIMD_COLUMNS_H
#define LIB_FILL_SIMD_COLUMNS_H

#include <math.h>
#include "lib/dist/noise.h"
#include "lib/fill/simd/fills.h"

enum {
	V_SUMS = 4,                    /* maxima in progress */
	V_SPAN = 4 * V_SUMS * V_LANES, /* columns */
	V_COLUMNS = 4 * V_CHUNK        /* of a chunk */
};

static const fill_f32 lowest_f32 = -INFINITY;
static const fill_bf16 lowest_bf16 = 0xff80;
static const fill_f16 lowest_f16 = 0xfc00;

SIMD_FN float one_f32(fill_f32 x)
{
	return x;
}

SIMD_FN float one_bf16(fill_bf16 x)
{
	return philox_bf16_to_f32(x);
}

SIMD_FN float one_f16(fill_f16 x)
{
	return philox_f16_to_f32(x);
}

/* --- what may be drawn ---------------------------------------------------- */

SIMD_FN int is_allowed(const struct simd_columns *columns, uint32_t column)
{
	const uint32_t v = columns->first + column;

	return !columns->allowed || columns->allowed[v / 32] >> v % 32 & 1;
}

/*
 * The logits of tokens v and on, -infinity for those that are not allowed. No
 * word after that of the last is read.
 */
SIMD_FN vf v_allowed(const uint32_t *allowed, uint64_t v, vf x)
{
	uint64_t words;

	if (!allowed)
		return x;
	words = (uint64_t)allowed[(v + V_LANES - 1) / 32] << 32 |
		allowed[v / 32];
	return vf_allow((uint32_t)(words >> v % 32), x, vf_set(-INFINITY));
}

/* --- without noise -------------------------------------------------------- */

/* The highest lane, none of them a NaN. */
SIMD_FN float v_highest(vf a)
{
	float lane[V_LANES], highest;

	vf_store(lane, a);
	highest = lane[0];
	for (int i = 1; i < V_LANES; i++)
		highest = lane[i] > highest ? lane[i] : highest;
	return highest;
}

/*
 * v_raise_<dtype>() takes a span that is above *best into it, and says whether
 * it did. A NaN makes *best one. `v` is the index of its first token.
 */
#define SIMD_RAISE(type)                                                      \
	SIMD_FN int v_raise_##type(const fill_##type *logits,                 \
				   const uint32_t *allowed, uint32_t v,       \
				   float *best)                               \
	{                                                                     \
		vf most = vf_set(*best), high[V_SUMS], x[V_SUMS];             \
		vmask above, nan = vm_none();                                 \
                                                                              \
		SIMD_UNROLL                                                   \
		for (int i = 0; i < V_SUMS; i++)                              \
			high[i] = most;                                       \
		SIMD_UNROLL                                                   \
		for (uint32_t k = 0; k < V_SPAN; k += V_SUMS * V_LANES) {     \
			SIMD_UNROLL                                           \
			for (uint32_t i = 0; i < V_SUMS; i++) {               \
				uint32_t at = k + i * V_LANES;                \
                                                                              \
				x[i] = v_allowed(allowed, v + at,             \
						 v_load_##type(logits + at)); \
				high[i] = vf_max(x[i], high[i]);              \
			}                                                     \
			SIMD_UNROLL                                           \
			for (int i = 0; i < V_SUMS; i += 2)                   \
				nan = vm_or(nan,                              \
					    vf_unordered(x[i], x[i + 1]));    \
		}                                                             \
		SIMD_UNROLL                                                   \
		for (int i = 1; i < V_SUMS; i++)                              \
			high[0] = vf_max(high[i], high[0]);                   \
		above = vf_above(high[0], most);                              \
		if (!vi_any(vm_or(nan, above)))                               \
			return 0;                                             \
		*best = vi_any(nan) ? NAN : v_highest(high[0]);               \
		return 1;                                                     \
	}

/* The same columns for a mask that is there, or known to be NULL. */
#define SIMD_GREEDY(type)                                                      \
	SIMD_RAISE(type)                                                       \
                                                                               \
	SIMD_FN uint32_t v_raise_spans_##type(const struct simd_columns *all,  \
					      const uint32_t *allowed,         \
					      struct simd_best *best)          \
	{                                                                      \
		const fill_##type *logits = all->logits;                       \
		uint32_t i;                                                    \
                                                                               \
		for (i = 0; all->count - i >= V_SPAN; i += V_SPAN)             \
			if (v_raise_##type(logits + i, allowed,                \
					   all->first + i, &best->score))      \
				best->column = i;                              \
		return i;                                                      \
	}                                                                      \
                                                                               \
	static struct simd_best greedy_##type(                                 \
		const struct simd_columns *columns)                            \
	{                                                                      \
		const struct simd_columns all = *columns;                      \
		const fill_##type *logits = all.logits;                        \
		struct simd_best best = {-INFINITY, 0};                        \
		fill_##type rest[V_SPAN];                                      \
		uint32_t i =                                                   \
			all.allowed ? v_raise_spans_##type(&all, all.allowed,  \
							   &best)              \
				    : v_raise_spans_##type(&all, NULL, &best); \
                                                                               \
		for (uint32_t k = 0; i < all.count && k < V_SPAN; k++)         \
			rest[k] = lowest_##type;                               \
		for (uint32_t k = i; k < all.count; k++)                       \
			if (is_allowed(&all, k))                               \
				rest[k - i] = logits[k];                       \
		if (i < all.count &&                                           \
		    v_raise_##type(rest, NULL, 0, &best.score))                \
			best.column = i;                                       \
		while (best.column + 1 < all.count &&                          \
		       (one_##type(logits[best.column]) != best.score ||       \
			!is_allowed(&all, best.column)))                       \
			best.column++;                                         \
		return best;                                                   \
	}

SIMD_GREEDY(f32)
SIMD_GREEDY(bf16)
SIMD_GREEDY(f16)

/* --- with noise ----------------------------------------------------------- */

/* noise_most(), lane by lane */
SIMD_FN vf v_noise_most(vi w)
{
	vi bits = vf_bits(vf_from_int(vi_shr(w, 1)));

	return vf_fma(vf_from_int(bits), vf_set(-NOISE_SLOPE),
		      vf_set(NOISE_TOP));
}

/* The lanes that may have a score above `most`. */
SIMD_FN vmask v_may_win(vf logit, vf inverse, vi w, vf most)
{
	return vf_above(vf_fma(logit, inverse, v_noise_most(w)), most);
}

/* A chunk of columns. */
struct v_columns {
	const struct v_stream *stream;
	struct philox_state state;
	float inverse;
	const uint32_t *allowed;      /* of the whole row; NULL: all */
	const struct simd_kept *kept; /* NULL: all */
	uint64_t block;
};

/* -infinity in place of what is not above. */
SIMD_FN vf v_above(vf x, vf above)
{
	return vf_from_bits(vi_select(vf_above(x, above), vf_bits(x),
				      vf_bits(vf_set(-INFINITY))));
}

/* -infinity in place of what is below a cut; what is equal may have no place. */
SIMD_FN vf v_kept(const struct simd_kept *kept, vf x)
{
	return kept ? v_above(x, vf_set(kept->above)) : x;
}

/* Takes the lanes of a vector, whose first is column `at` of the chunk. */
static __attribute__((noinline)) void v_take(const struct v_columns *chunk,
					     vf logit, vi w, unsigned at,
					     struct simd_best *best)
{
	float x[V_LANES], score[V_LANES];
	uint32_t word[V_LANES];
	vf noise[2], all;

	v_gumbel(NULL, w, w, noise);
	all = vf_fma(logit, vf_set(chunk->inverse), noise[0]);
	if (!vi_any(vf_above(all, vf_set(best->score))) &&
	    !vi_any(vi_less(w, vi_set(PHILOX_SMALL_WORD))))
		return;
	vf_store(x, logit);
	vf_store(score, all);
	vi_store(word, w);
	for (unsigned i = 0; i < V_LANES; i++) {
		const uint64_t element = 4 * chunk->block + at + i;

		if (word[i] < PHILOX_SMALL_WORD)
			score[i] = philox_multiply_add(
				x[i], chunk->inverse,
				philox_gumbel_of(chunk->state, element,
						 word[i]));
		if (score[i] <= best->score || isnan(best->score))
			continue;
		if (chunk->kept && x[i] == chunk->kept->cut &&
		    element > chunk->kept->last)
			continue;
		best->score = score[i];
		best->column = (uint32_t)element;
	}
}

#define SIMD_SAMPLE(type)                                                      \
	SIMD_FN int v_chunk_may_win_##type(                                    \
		const struct v_columns *chunk, const uint32_t *allowed,        \
		const struct simd_kept *kept, const fill_##type *logits,       \
		float best)                                                    \
	{                                                                      \
		const struct v_stream *stream = chunk->stream;                 \
		vf inverse = vf_set(chunk->inverse), most = vf_set(best);      \
		vmask any = vm_none();                                         \
		struct v_blocks blocks;                                        \
		vi w[2];                                                       \
                                                                               \
		v_rounds(stream, chunk->block, &blocks);                       \
		SIMD_UNROLL                                                    \
		for (int g = 0; g < V_GROUPS; g++) {                           \
			v_ordered(&blocks, g, stream->key[9][0],               \
				  stream->key[9][1], w);                       \
			SIMD_UNROLL                                            \
			for (int i = 0; i < 2; i++) {                          \
				int at = (2 * g + i) * V_LANES;                \
				vf x = v_allowed(allowed,                      \
						 4 * chunk->block +            \
							 (uint64_t)at,         \
						 v_load_##type(logits + at));  \
                                                                               \
				x = v_kept(kept, x);                           \
				any = vm_or(any, v_may_win(x, inverse, w[i],   \
							   most));             \
			}                                                      \
		}                                                              \
		return vi_any(any);                                            \
	}                                                                      \
                                                                               \
	static __attribute__((noinline)) void chunk_##type(                    \
		const struct v_columns *chunk, const fill_##type *logits,      \
		struct simd_best *best)                                        \
	{                                                                      \
		const struct v_stream *stream = chunk->stream;                 \
		vf inverse = vf_set(chunk->inverse);                           \
		struct v_blocks blocks;                                        \
		vi w[2];                                                       \
                                                                               \
		v_rounds(stream, chunk->block, &blocks);                       \
		SIMD_ROLLED                                                    \
		for (unsigned at = 0; at < V_COLUMNS; at += V_LANES) {         \
			vf x = v_allowed(chunk->allowed,                       \
					 4 * chunk->block + at,                \
					 v_load_##type(logits + at));          \
                                                                               \
			x = v_kept(chunk->kept, x);                            \
			v_ordered(&blocks, (int)(at / (2 * V_LANES)),          \
				  stream->key[9][0], stream->key[9][1], w);    \
			w[0] = at & V_LANES ? w[1] : w[0];                     \
			if (vi_any(v_may_win(x, inverse, w[0],                 \
					     vf_set(best->score))))            \
				v_take(chunk, x, w[0], at, best);              \
		}                                                              \
	}                                                                      \
                                                                               \
	/* n columns from `begin` on, after `lead` that are none. */           \
	static void copy_edge_##type(const struct simd_columns *all,           \
				     uint32_t begin, uint32_t lead,            \
				     uint32_t n, fill_##type edge[V_COLUMNS])  \
	{                                                                      \
		const fill_##type *logits = all->logits;                       \
                                                                               \
		for (uint32_t i = 0; i < V_COLUMNS; i++)                       \
			edge[i] = lowest_##type;                               \
		for (uint32_t i = begin; i < begin + n; i++)                   \
			if (is_allowed(all, i))                                \
				edge[lead + i - begin] = logits[i];            \
	}                                                                      \
                                                                               \
	SIMD_FN struct simd_best v_sample_##type(                              \
		const struct simd_columns *columns, const uint32_t *allowed,   \
		const struct simd_kept *kept)                                  \
	{                                                                      \
		const struct simd_columns all = *columns;                      \
		const fill_##type *from = all.logits;                          \
		struct simd_best best = {-INFINITY, all.first};                \
		struct v_stream stream;                                        \
		struct v_columns chunk = {.stream = &stream,                   \
					  .state = all.state,                  \
					  .inverse = all.inverse,              \
					  .kept = kept,                        \
					  .block = all.first / 4};             \
		fill_##type edge[V_COLUMNS];                                   \
		uint32_t lead = all.first % 4, left = all.count, n;            \
                                                                               \
		v_stream_init(&stream, all.state, chunk.block);                \
		for (; left && !isnan(best.score);                             \
		     left -= n, from += n, lead = 0) {                         \
			const fill_##type *logits = from;                      \
                                                                               \
			chunk.allowed = allowed;                               \
			n = V_COLUMNS - lead < left ? V_COLUMNS - lead : left; \
			if (n < V_COLUMNS) {                                   \
				copy_edge_##type(&all, all.count - left, lead, \
						 n, edge);                     \
				logits = edge;                                 \
				chunk.allowed = NULL; /* it is in `edge` */    \
			}                                                      \
			if (v_chunk_may_win_##type(                            \
				    &chunk, allowed ? chunk.allowed : NULL,    \
				    kept, logits, best.score))                 \
				chunk_##type(&chunk, logits, &best);           \
			chunk.block += V_CHUNK;                                \
		}                                                              \
		best.column -= all.first;                                      \
		return best;                                                   \
	}                                                                      \
                                                                               \
	/* Apart: the loop without either keeps the registers. */              \
	static __attribute__((noinline)) struct simd_best masked_##type(       \
		const struct simd_columns *columns)                            \
	{                                                                      \
		return v_sample_##type(columns, columns->allowed,              \
				       columns->kept);                         \
	}                                                                      \
                                                                               \
	static struct simd_best sample_##type(                                 \
		const struct simd_columns *columns)                            \
	{                                                                      \
		return columns->allowed || columns->kept                       \
			       ? masked_##type(columns)                        \
			       : v_sample_##type(columns, NULL, NULL);         \
	}

SIMD_SAMPLE(f32)
SIMD_SAMPLE(bf16)
SIMD_SAMPLE(f16)

#endif
