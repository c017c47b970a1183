/*
 * lib/sample/elements.h - sampling a token, for host loop and kernel alike
 *
 * An entry is sampled as the maximum of keys (philox/rows.h), one for each
 * column, so columns may be taken in any order and by any threads: the unit is
 * a quad, the four columns whose words come from one Philox block.
 */
#ifndef LIB_SAMPLE_ELEMENTS_H
#define LIB_SAMPLE_ELEMENTS_H

#include <philox/rows.h>
#include "lib/dist/noise.h"
#include "lib/rows/elements.h"

#define SAMPLE_NO_TOKEN (~(uint64_t)0)

/* The values that the columns of an entry share. */
struct sample_row {
	uint64_t index; /* of its state; ROWS_NONE: out of range */
	struct philox_state state;
	float inverse; /* 1 / temperature; 0: greedy */
	int valid;     /* 0: the entry has no token */
	uint64_t cut; /* columns whose logit has a key below it are not drawn */
};

/* --- scores --------------------------------------------------------------- */

/* sample_key() is the place of a column in the order of philox/rows.h. */
PHILOX_FN uint64_t sample_key(float score, uint32_t index)
{
	return philox_sample_order(score, index);
}

/*
 * sample_score() is the value that columns are compared by; `noise` is
 * Gumbel's.
 */
PHILOX_FN float sample_score(const struct sample_row *row, float logit,
			     float noise)
{
	if (row->inverse == 0.0f)
		return logit;
	return philox_multiply_add(logit, row->inverse, noise);
}

/* sample_is_kept() says whether the filters of an entry keep a column. */
PHILOX_FN int sample_is_kept(const struct sample_row *row, float logit,
			     uint32_t v)
{
	return sample_key(logit, v) >= row->cut;
}

/* sample_noise() returns the noise of column v, whose word is w. */
PHILOX_FN float sample_noise(const struct sample_row *row, uint32_t v,
			     uint32_t w)
{
	return row->inverse == 0.0f ? 0.0f : philox_gumbel_of(row->state, v, w);
}

/* --- entries -------------------------------------------------------------- */

PHILOX_FN float sample_reciprocal(float x)
{
#ifdef __CUDA_ARCH__
	return __frcp_rn(x);
#else
	return 1.0f / x;
#endif
}

/*
 * A temperature is judged by its bits: comparisons would have to except NaN.
 * One below 2^-100 is 0: its inverse would push common logits past the largest
 * f32.
 */
#define SAMPLE_COLDEST 0x0d800000u /* 2^-100 */

PHILOX_FN void sample_set_temperature(struct sample_row *row, float temperature)
{
	uint32_t bits = philox_f32_bits(temperature);

	row->inverse = 0.0f;
	if (bits == 0x80000000u) /* -0 */
		return;
	if (bits >= 0x7f800000u)
		row->valid = 0;
	else if (bits >= SAMPLE_COLDEST)
		row->inverse = sample_reciprocal(temperature);
}

/* sample_launch() returns the launch in progress, 0 without a table. */
PHILOX_FN uint64_t sample_launch(const struct sample_args *args)
{
	return args->table.control ? rows_launch(&args->table) : 0;
}

/*
 * sample_others() says whether another block may have advanced a row that an
 * entry reads. Blocks that share entries advance nothing before all are done,
 * but the host's loop, which has all parts of an entry, does.
 */
PHILOX_FN int sample_others(const struct sample_args *args)
{
	return args->parts == 1 && rows_others(&args->list, args->words, 0);
}

/* sample_state() returns the state that an entry of `index` draws from. */
PHILOX_FN struct philox_state sample_state(const struct sample_args *args,
					   uint64_t launch, int others,
					   uint64_t entry, uint64_t index)
{
	struct philox_state state;

	if (args->table.control)
		state = rows_state(&args->table, index, launch, others);
	else if (args->table.states)
		state = args->table.states[index];
	else {
		state.seed = args->seeds[index];
		state.offset = 4 * (uint64_t)args->positions[index];
	}
	return rows_step(&args->list, entry, state);
}

/* sample_begin() looks an entry up; 0 if it does not take part. */
PHILOX_FN int sample_begin(const struct sample_args *args, uint64_t launch,
			   int others, uint64_t entry, struct sample_row *row)
{
	uint64_t index = rows_of_entry(&args->list, entry);

	row->valid = 0;
	row->index = ROWS_NONE;
	row->inverse = 0.0f;
	row->cut = 0;
	row->state.seed = 0;
	row->state.offset = 0;
	if (index == ROWS_NONE)
		return 0;
	if (index >= args->table.count)
		return 1;
	row->index = index;
	row->state = sample_state(args, launch, others, entry, index);
	row->valid = rows_can_advance(row->state, args->words);
	sample_set_temperature(row, args->temperatures
					    ? args->temperatures[entry]
					    : args->temperature);
	return 1;
}

/*
 * sample_end() writes an entry's result and advances its row: for one thread.
 */
PHILOX_FN void sample_end(const struct sample_args *args, uint64_t launch,
			  int others, uint64_t entry,
			  const struct sample_row *row, uint64_t key)
{
	if (args->tokens)
		args->tokens[entry] = philox_sample_token(key);
	if (args->keys)
		args->keys[entry] = key;
	if (!args->table.control)
		return;
	if (row->index == ROWS_NONE)
		ROWS_ADD(&args->table.control->outside, 1);
	else
		rows_advance(&args->table, row->index, launch, row->state,
			     args->words, others);
}

/* --- parts ---------------------------------------------------------------- */

/* sample_part_end() ends one part of an entry, whose greatest key is `key`. */
PHILOX_FN void sample_part_end(const struct sample_args *args, uint64_t launch,
			       uint64_t entry, const struct sample_row *row,
			       uint64_t key)
{
	if (args->parts > 1)
		ROWS_MAX(&args->table.control->best[entry], key);
	else
		sample_end(args, launch, sample_others(args), entry, row, key);
}

/* sample_gather() ends an entry whose parts are all done. */
PHILOX_FN void sample_gather(const struct sample_args *args, uint64_t launch,
			     uint64_t entry)
{
	const int others = rows_others(&args->list, args->words, 0);
	volatile uint64_t *best = &args->table.control->best[entry];
	uint64_t key = *best;
	struct sample_row row;

	*best = 0;
	if (sample_begin(args, launch, others, entry, &row))
		sample_end(args, launch, others, entry, &row, key);
}

/* --- columns -------------------------------------------------------------- */

/* The quads that the columns of an entry lie in. */
PHILOX_FN uint32_t sample_first_quad(const struct sample_args *args)
{
	return args->first / 4;
}

PHILOX_FN uint32_t sample_quads(const struct sample_args *args)
{
	return (args->first + (args->vocab - 1)) / 4 - args->first / 4 + 1;
}

/* sample_is_allowed() says whether a token of an entry may be drawn. */
PHILOX_FN int sample_is_allowed(const struct sample_args *args, uint64_t entry,
				uint32_t v)
{
	return !args->allowed ||
	       (args->allowed[entry * args->allowed_pitch + v / 32] >> v % 32 &
		1);
}

/* sample_allowed() returns a bit for each column of a quad: it may be drawn. */
PHILOX_FN uint32_t sample_allowed(const struct sample_args *args,
				  uint64_t entry, uint32_t quad)
{
	/* a quad past the end, whose columns are none, may have no word */
	if (!args->allowed ||
	    quad - sample_first_quad(args) >= sample_quads(args))
		return 15;
	return args->allowed[entry * args->allowed_pitch + quad / 8] >>
	       quad % 8 * 4;
}

/* sample_place() returns the key of a column's logit: 0 where not allowed. */
PHILOX_FN uint64_t sample_place(const struct sample_args *args, uint64_t entry,
				float logit, uint32_t v)
{
	return sample_is_allowed(args, entry, v) ? sample_key(logit, v) : 0;
}

PHILOX_FN float sample_widen_f32(float logit)
{
	return logit;
}

PHILOX_FN float sample_lowest_f32(void)
{
	return philox_f32_from_bits(0xff800000u);
}

PHILOX_FN uint16_t sample_lowest_bf16(void)
{
	return 0xff80;
}

PHILOX_FN uint16_t sample_lowest_f16(void)
{
	return 0xfc00;
}

PHILOX_FN float sample_widen_bf16(uint16_t logit)
{
	return philox_bf16_to_f32(logit);
}

PHILOX_FN float sample_widen_f16(uint16_t logit)
{
	return philox_f16_to_f32(logit);
}

#ifdef __CUDA_ARCH__
#define SAMPLE_IS_ALIGNED(address, size) \
	(((unsigned long long)(address) & ((size)-1)) == 0)
#else
#define SAMPLE_IS_ALIGNED(address, size) 0
#endif

/*
 * The best columns so far, in any order: the greatest key, and a score that is
 * not above the highest, here or in the columns of others; before there is one,
 * SAMPLE_LEAST.
 */
struct sample_best {
	uint64_t key;
	float most;
};

/* Above -infinity, so that columns that are never drawn cannot win. */
#define SAMPLE_LEAST (-3.402823466e38f)
#define SAMPLE_NO_BEST          \
	{                       \
		0, SAMPLE_LEAST \
	}

/*
 * sample_may_win() says whether a column whose word is `w` may have the greatest
 * key: see Note [Noise that cannot win] in lib/dist/noise.h. One whose score is
 * the highest so far may, if its index is lower; and a NaN.
 */
PHILOX_FN int sample_may_win(const struct sample_row *row, float logit,
			     uint32_t w, float most)
{
	return !(sample_score(row, logit, noise_most(w)) < most);
}

/* sample_take() takes column v, which may win, with its noise. */
PHILOX_FN void sample_take(const struct sample_row *row, float logit,
			   float noise, uint32_t v, struct sample_best *best)
{
	float score = sample_score(row, logit, noise);
	uint64_t key = sample_key(score, v);

	if (key <= best->key)
		return;
	best->key = key;
	best->most = score > best->most ? score : best->most;
}

/*
 * sample_<dtype>_load() loads the four columns of a quad, which counts from the
 * beginning of the vocabulary. Where there is none it gives -infinity, which is
 * never drawn: a column before `first` has an index that is not below `vocab`,
 * since the subtraction is modulo 2^32. sample_<dtype>_of() gives it where a
 * column is not allowed, too: apart, so that nobody waits for either before.
 *
 * sample_<dtype>_quad() takes the columns of a quad.
 */
#define SAMPLE_FUNCTION(name, type)                                            \
	struct __attribute__((aligned(4 * sizeof(type)))) sample_four_##name { \
		type v[4];                                                     \
	};                                                                     \
                                                                               \
	PHILOX_FN struct sample_four_##name sample_##name##_load(              \
		const struct sample_args *args, uint64_t entry, uint32_t quad) \
	{                                                                      \
		const type *logits =                                           \
			(const type *)args->logits + entry * args->pitch;      \
		const uint32_t index = quad * 4 - args->first;                 \
		struct sample_four_##name four;                                \
                                                                               \
		if (args->vocab >= 4 && index <= args->vocab - 4 &&            \
		    SAMPLE_IS_ALIGNED(logits + index, sizeof(four)))           \
			return *(const struct sample_four_##name *)(logits +   \
								    index);    \
		for (uint32_t i = 0; i < 4; i++)                               \
			four.v[i] = index + i < args->vocab                    \
					    ? logits[index + i]                \
					    : sample_lowest_##name();          \
		return four;                                                   \
	}                                                                      \
                                                                               \
	PHILOX_FN struct sample_four_##name sample_##name##_of(                \
		const struct sample_args *args,                                \
		struct sample_four_##name four, uint32_t allowed)              \
	{                                                                      \
		if (!args->allowed)                                            \
			return four;                                           \
		for (uint32_t i = 0; i < 4; i++)                               \
			four.v[i] = allowed >> i & 1 ? four.v[i]               \
						     : sample_lowest_##name(); \
		return four;                                                   \
	}                                                                      \
                                                                               \
	PHILOX_FN void sample_##name##_quad(                                   \
		const struct sample_args *args, const struct sample_row *row,  \
		uint64_t entry, uint32_t quad, struct sample_best *best)       \
	{                                                                      \
		struct sample_four_##name four = sample_##name##_of(           \
			args, sample_##name##_load(args, entry, quad),         \
			sample_allowed(args, entry, quad));                    \
		struct philox_words words = {{0, 0, 0, 0}};                    \
                                                                               \
		if (row->inverse != 0.0f)                                      \
			words = philox_draw4(row->state, quad);                \
		for (uint32_t i = 0; i < 4; i++) {                             \
			float logit = sample_widen_##name(four.v[i]);          \
			uint32_t v = quad * 4 + i, w = words.w[i];             \
                                                                               \
			if (sample_may_win(row, logit, w, best->most) &&       \
			    sample_is_kept(row, logit, v))                     \
				sample_take(row, logit,                        \
					    sample_noise(row, v, w), v, best); \
		}                                                              \
	}

SAMPLE_LIST(SAMPLE_FUNCTION)
#undef SAMPLE_FUNCTION

#endif
