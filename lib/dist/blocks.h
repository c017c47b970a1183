/*
 * lib/dist/blocks.h - the values that one Philox block makes
 *
 * block_<name>(args, source, block, x, v) makes the elements of one block: the
 * inputs are in x (zeros where there is none), the outputs go to v. The source
 * is what fill_begin_<name>(args, state) makes of a state, once for many blocks:
 * the state itself, but for orders and categories. Host loop, CUDA kernel and
 * tests of vector code share these.
 */
#ifndef LIB_DIST_BLOCKS_H
#define LIB_DIST_BLOCKS_H

#include "lib/dist/ranges.h"

typedef uint32_t fill_u32;
typedef uint64_t fill_u64;
typedef float fill_f32;
typedef double fill_f64;
typedef uint16_t fill_bf16;
typedef uint16_t fill_f16;

/* A loop of whose body nvcc makes one copy. */
#ifdef __NVCC__
#define FILL_ONE_BY_ONE _Pragma("unroll 1")
#else
#define FILL_ONE_BY_ONE
#endif

#define FILL_BLOCK(name, out, in)                                              \
	typedef struct philox_state fill_source_##name;                        \
                                                                               \
	PHILOX_FN struct philox_state fill_begin_##name(                       \
		const struct fill_args *args, struct philox_state state)       \
	{                                                                      \
		(void)args;                                                    \
		return state;                                                  \
	}                                                                      \
                                                                               \
	PHILOX_FN void block_##name(const struct fill_args *args,              \
				    struct philox_state state, uint64_t block, \
				    const in *x, out *v)

/* --- bits and integers ---------------------------------------------------- */

PHILOX_FN uint64_t fill_word64(struct philox_words words, int i)
{
	return (uint64_t)words.w[2 * i + 1] << 32 | words.w[2 * i];
}

FILL_BLOCK(bits_u32, uint32_t, uint32_t)
{
	struct philox_words words = philox_draw4(state, block);

	(void)args, (void)x;
	for (int i = 0; i < 4; i++)
		v[i] = words.w[i];
}

FILL_BLOCK(bits_u64, uint64_t, uint64_t)
{
	struct philox_words words = philox_draw4(state, block);

	(void)args, (void)x;
	for (int i = 0; i < 2; i++)
		v[i] = fill_word64(words, i);
}

/*
 * fill_first_<type>() makes the integers of a block from its first draws; bit i
 * of the result says that draw i was rejected. fill_again_<type>() makes such a
 * value.
 */
PHILOX_FN uint32_t fill_first_u32(const struct fill_args *args,
				  struct philox_state state, uint64_t block,
				  uint32_t *v)
{
	struct philox_words words = philox_draw4(state, block);
	uint32_t reject = (uint32_t)args->reject, rejected = 0;

	for (int i = 0; i < 4; i++) {
		int is_rejected;

		v[i] = (uint32_t)args->from +
		       philox_integer_u32(words.w[i], args->range, reject,
					  &is_rejected);
		rejected |= (uint32_t)is_rejected << i;
	}
	return rejected;
}

PHILOX_FN uint32_t fill_first_u64(const struct fill_args *args,
				  struct philox_state state, uint64_t block,
				  uint64_t *v)
{
	struct philox_words words = philox_draw4(state, block);
	uint32_t rejected = 0;

	for (int i = 0; i < 2; i++) {
		int is_rejected;

		v[i] = args->from +
		       philox_integer_u64(fill_word64(words, i), args->range,
					  args->reject, &is_rejected);
		rejected |= (uint32_t)is_rejected << i;
	}
	return rejected;
}

PHILOX_FN uint32_t fill_again_u32(const struct fill_args *args,
				  struct philox_state state, uint64_t block,
				  unsigned i)
{
	return (uint32_t)args->from +
	       philox_integer_again(state, 4 * block + i, args->range,
				    (uint32_t)args->reject);
}

PHILOX_FN uint64_t fill_again_u64(const struct fill_args *args,
				  struct philox_state state, uint64_t block,
				  unsigned i)
{
	return args->from + philox_integer64_again(state, 2 * block + i,
						   args->range, args->reject);
}

/* One call for all values, each of which is a register on a GPU. */
#define FILL_INTEGERS(type, n)                                                \
	FILL_BLOCK(integers_##type, fill_##type, fill_##type)                 \
	{                                                                     \
		uint32_t rejected = fill_first_##type(args, state, block, v); \
                                                                              \
		(void)x;                                                      \
		for (unsigned i = 0; rejected; i++, rejected >>= 1) {         \
			fill_##type value;                                    \
                                                                              \
			if (!(rejected & 1))                                  \
				continue;                                     \
			value = fill_again_##type(args, state, block, i);     \
			for (unsigned k = 0; k < n; k++)                      \
				v[k] = k == i ? value : v[k];                 \
		}                                                             \
	}

FILL_INTEGERS(u32, 4)
FILL_INTEGERS(u64, 2)
#undef FILL_INTEGERS

/* --- orders --------------------------------------------------------------- */

/* Elements that are not below n are outside of every row. */
#define FILL_ORDER(type, n)                                                    \
	typedef struct philox_permutation fill_source_permutation_##type;      \
                                                                               \
	PHILOX_FN struct philox_permutation fill_begin_permutation_##type(     \
		const struct fill_args *args, struct philox_state state)       \
	{                                                                      \
		return philox_permutation_of(state, args->range);              \
	}                                                                      \
                                                                               \
	PHILOX_FN void block_permutation_##type(                               \
		const struct fill_args *args, struct philox_permutation order, \
		uint64_t block, const fill_##type *x, fill_##type *v)          \
	{                                                                      \
		(void)args, (void)x;                                           \
		for (unsigned i = 0; i < n; i++)                               \
			v[i] = (fill_##type)philox_permuted(&order,            \
							    n * block + i);    \
	}

FILL_ORDER(u32, 4)
FILL_ORDER(u64, 2)
#undef FILL_ORDER

/* --- categories ----------------------------------------------------------- */

/* The range of the sums, which are read when the work runs. */
struct fill_categories {
	struct philox_state state;
	struct philox_interval interval;
};

/*
 * That of philox_integer64_at(), in one loop for all tries: a call would take a
 * GPU some 20 registers more.
 */
PHILOX_FN uint64_t fill_integer_of(struct philox_state state, uint64_t element,
				   struct philox_interval interval)
{
	struct philox_state from = state;
	uint64_t x = 0;
	int rejected = 1;

	FILL_ONE_BY_ONE
	for (uint64_t t = 0; rejected; t++) {
		x = philox_integer_u64(philox_word64_at(from, element),
				       interval.n, interval.reject, &rejected);
		if (rejected)
			from = philox_retry_state(state, t);
	}
	return x;
}

/* One search after the other: together they take a GPU many registers. */
#define FILL_CATEGORICAL(type, n)                                             \
	typedef struct fill_categories fill_source_categorical_##type;        \
                                                                              \
	PHILOX_FN struct fill_categories fill_begin_categorical_##type(       \
		const struct fill_args *args, struct philox_state state)      \
	{                                                                     \
		struct fill_categories from;                                  \
                                                                              \
		from.state = state;                                           \
		from.interval =                                               \
			philox_categorical_interval(args->sums, args->range); \
		return from;                                                  \
	}                                                                     \
                                                                              \
	PHILOX_FN void block_categorical_##type(                              \
		const struct fill_args *args, struct fill_categories from,    \
		uint64_t block, const fill_##type *x, fill_##type *v)         \
	{                                                                     \
		(void)x;                                                      \
		for (unsigned k = 0; k < n; k++)                              \
			v[k] = 0;                                             \
		FILL_ONE_BY_ONE                                               \
		for (unsigned i = 0; i < n; i++) {                            \
			const fill_##type value =                             \
				(fill_##type)philox_categorical_of(           \
					fill_integer_of(from.state,           \
							n * block + i,        \
							from.interval),       \
					args->sums, args->range);             \
                                                                              \
			for (unsigned k = 0; k < n; k++)                      \
				v[k] = k == i ? value : v[k];                 \
		}                                                             \
	}

FILL_CATEGORICAL(u32, 4)
FILL_CATEGORICAL(u64, 2)
#undef FILL_CATEGORICAL

/* --- real numbers --------------------------------------------------------- */

/*
 * FILL_F32(dist) is followed by the body that makes four numbers in f32, y,
 * none of them a NaN; FILL_F64(dist, n) by the one that makes n in f64. The
 * first makes the blocks of f32, bf16 and f16, which differ only by a rounding
 * at the end.
 */
#define FILL_STORE(dist, type, from_type, n)                                \
	FILL_BLOCK(dist##_##type, fill_##type, fill_##type)                 \
	{                                                                   \
		from_type y[n];                                             \
                                                                            \
		(void)x;                                                    \
		make_##dist##_##from_type(args, philox_draw4(state, block), \
					  y);                               \
		fill_narrow_##type(y, v, n);                                \
	}

#define FILL_F32(dist)                                                   \
	PHILOX_FN void make_##dist##_float(const struct fill_args *args, \
					   struct philox_words words,    \
					   float *y);                    \
	FILL_STORE(dist, f32, float, 4)                                  \
	FILL_STORE(dist, bf16, float, 4)                                 \
	FILL_STORE(dist, f16, float, 4)                                  \
	PHILOX_FN void make_##dist##_float(const struct fill_args *args, \
					   struct philox_words words,    \
					   float *y)

#define FILL_F64(dist, n)                                                 \
	PHILOX_FN void make_##dist##_double(const struct fill_args *args, \
					    struct philox_words words,    \
					    double *y);                   \
	FILL_STORE(dist, f64, double, n)                                  \
	PHILOX_FN void make_##dist##_double(const struct fill_args *args, \
					    struct philox_words words,    \
					    double *y)

/*
 * Uniform numbers: each dtype has its own number of digits. On a GPU a range
 * that has a short form is made by it; the host's vectors prefer the long one.
 */
#ifdef __CUDA_ARCH__
#define FILL_IS_SHORT(args) (FILL_SHORT_RANGES && (args)->ends.is_short)
#else
#define FILL_IS_SHORT(args) 0
#endif

#define FILL_UNIFORM(type, uniform)                                         \
	PHILOX_FN void fill_long_range_##type(const struct fill_args *args, \
					      struct philox_words words,    \
					      fill_##type *v)               \
	{                                                                   \
		float y[4];                                                 \
                                                                            \
		for (int i = 0; i < 4; i++)                                 \
			y[i] = philox_range_f32(                            \
				uniform(words.w[i]), args->f32.scale,       \
				args->f32.shift, args->f32.bottom,          \
				args->f32.top);                             \
		fill_narrow_##type(y, v, 4);                                \
	}                                                                   \
                                                                            \
	FILL_BLOCK(uniform_##type, fill_##type, fill_##type)                \
	{                                                                   \
		struct philox_words words = philox_draw4(state, block);     \
                                                                            \
		(void)x;                                                    \
		if (args->plain)                                            \
			fill_plain_##type(words, v);                        \
		else if (FILL_IS_SHORT(args))                               \
			fill_short_range_##type(args, words, v);            \
		else                                                        \
			fill_long_range_##type(args, words, v);             \
	}

FILL_UNIFORM(f32, philox_uniform_f32)
FILL_UNIFORM(bf16, philox_uniform_8)
FILL_UNIFORM(f16, philox_uniform_11)

FILL_F64(uniform, 2)
{
	for (int i = 0; i < 2; i++)
		y[i] = philox_range_f64(
			philox_uniform_f64(fill_word64(words, i)),
			args->f64.scale, args->f64.shift, args->f64.bottom,
			args->f64.top);
}

PHILOX_FN void fill_scaled_normals(const struct fill_args *args,
				   struct philox_words words, float *y)
{
	philox_normal_pairs(words, y);
	for (int i = 0; i < 4; i++)
		y[i] = philox_multiply_add(y[i], args->f32.scale,
					   args->f32.shift);
}

/*
 * Only f32 looks whether there is nothing to multiply by and to add: nvcc would
 * make more of a second loop for 16 bits than that saves.
 */
#define FILL_NORMAL(type, is_plain)                                     \
	FILL_BLOCK(normal_##type, fill_##type, fill_##type)             \
	{                                                               \
		struct philox_words words = philox_draw4(state, block); \
		float y[4];                                             \
                                                                        \
		(void)x;                                                \
		if (is_plain)                                           \
			philox_normal_pairs(words, y);                  \
		else                                                    \
			fill_scaled_normals(args, words, y);            \
		fill_narrow_##type(y, v, 4);                            \
	}

FILL_NORMAL(f32, args->plain)
FILL_NORMAL(bf16, 0)
FILL_NORMAL(f16, 0)
#undef FILL_NORMAL

FILL_F64(normal, 2)
{
	philox_normal_pair_f64(fill_word64(words, 0), fill_word64(words, 1),
			       &y[0], &y[1]);
	for (int i = 0; i < 2; i++)
		y[i] = philox_multiply_add_f64(y[i], args->f64.scale,
					       args->f64.shift);
}

FILL_F32(log_normal)
{
	fill_scaled_normals(args, words, y);
	for (int i = 0; i < 4; i++)
		y[i] = philox_exp_f32(y[i]);
}

FILL_F64(log_normal, 2)
{
	make_normal_double(args, words, y);
	for (int i = 0; i < 2; i++)
		y[i] = philox_exp_f64(y[i]);
}

/* One element after the other: each takes a GPU many registers. */
#define FILL_TRUNCATED(type, n)                                            \
	FILL_BLOCK(truncated_normal_##type, fill_##type, fill_##type)      \
	{                                                                  \
		(void)x;                                                   \
		for (unsigned k = 0; k < n; k++)                           \
			v[k] = 0;                                          \
		FILL_ONE_BY_ONE                                            \
		for (unsigned i = 0; i < n; i++) {                         \
			const fill_##type value = philox_truncated_##type( \
				&args->truncated,                          \
				philox_word64_at(state, n * block + i));   \
                                                                           \
			for (unsigned k = 0; k < n; k++)                   \
				v[k] = k == i ? value : v[k];              \
		}                                                          \
	}

FILL_TRUNCATED(f32, 4)
FILL_TRUNCATED(bf16, 8)
FILL_TRUNCATED(f16, 8)
#undef FILL_TRUNCATED

/*
 * FILL_REFINED(dist) is followed by the body that makes a number y in f32 of an
 * exponential one of rate 1, x. fill_first_<dist>_<type>() makes a block as if
 * none of its words were small, and returns the least (philox/draw.h).
 * fill_again_<dist>_<type>() makes the value of such an element.
 */
#define FILL_REFINED_TYPE(dist, type)                                          \
	PHILOX_FN uint32_t fill_first_##dist##_##type(                         \
		const struct fill_args *args, struct philox_state state,       \
		uint64_t block, fill_##type *v)                                \
	{                                                                      \
		struct philox_words words = philox_draw4(state, block);        \
		float y[4];                                                    \
                                                                               \
		for (int i = 0; i < 4; i++)                                    \
			y[i] = make_##dist(args,                               \
					   philox_minus_ln1m_f32(words.w[i])); \
		fill_narrow_##type(y, v, 4);                                   \
		return philox_least_word(words);                               \
	}                                                                      \
                                                                               \
	PHILOX_FN fill_##type fill_again_##dist##_##type(                      \
		const struct fill_args *args, struct philox_state state,       \
		uint64_t element, uint32_t w)                                  \
	{                                                                      \
		float y[2];                                                    \
		fill_##type v[2];                                              \
                                                                               \
		y[0] = y[1] = make_##dist(                                     \
			args, philox_exponential_again(state, element, w));    \
		fill_narrow_##type(y, v, 2);                                   \
		return v[0];                                                   \
	}                                                                      \
                                                                               \
	FILL_BLOCK(dist##_##type, fill_##type, fill_##type)                    \
	{                                                                      \
		struct philox_f32x4 y = philox_exponential4_of(                \
			state, block, philox_draw4(state, block));             \
                                                                               \
		(void)x;                                                       \
		for (int i = 0; i < 4; i++)                                    \
			y.v[i] = make_##dist(args, y.v[i]);                    \
		fill_narrow_##type(y.v, v, 4);                                 \
	}

#define FILL_REFINED(dist)                                                  \
	PHILOX_FN float make_##dist(const struct fill_args *args, float x); \
	FILL_REFINED_TYPE(dist, f32)                                        \
	FILL_REFINED_TYPE(dist, bf16)                                       \
	FILL_REFINED_TYPE(dist, f16)                                        \
	PHILOX_FN float make_##dist(const struct fill_args *args, float x)

FILL_REFINED(exponential)
{
	return philox_multiply(x, args->f32.scale);
}

FILL_F64(exponential, 2)
{
	for (int i = 0; i < 2; i++)
		y[i] = philox_multiply_f64(
			philox_exponential_f64(fill_word64(words, i)),
			args->f64.scale);
}

FILL_REFINED(gumbel)
{
	(void)args;
	return philox_gumbel_of_exponential(x);
}

FILL_F64(gumbel, 2)
{
	(void)args;
	for (int i = 0; i < 2; i++)
		y[i] = philox_gumbel_f64(fill_word64(words, i));
}

/* The words are the same in every dtype, and so are the draws. */
#define FILL_BERNOULLI(type, one)                                              \
	FILL_BLOCK(bernoulli_##type, fill_##type, fill_##type)                 \
	{                                                                      \
		struct philox_words words = philox_draw4(state, block);        \
                                                                               \
		(void)x;                                                       \
		for (int i = 0; i < 4; i++)                                    \
			v[i] = philox_keep(words.w[i], args->threshold) ? 0    \
									: one; \
	}

FILL_BERNOULLI(f32, 1)
FILL_BERNOULLI(f64, 1)
FILL_BERNOULLI(bf16, 0x3f80)
FILL_BERNOULLI(f16, 0x3c00)

FILL_F32(signs)
{
	(void)args;
	for (int i = 0; i < 4; i++)
		y[i] = philox_sign_f32(words.w[i]);
}

/* Each word has the signs of 32 elements, of 8 Philox blocks. */
FILL_BLOCK(signs_u32, uint32_t, uint32_t)
{
	(void)args, (void)x;
	for (unsigned i = 0; i < 4; i++)
		v[i] = philox_sign_bits(state, 4 * block + i);
}

/* --- with an input -------------------------------------------------------- */

#define FILL_DROPOUT(type)                                              \
	FILL_BLOCK(dropout_##type, fill_##type, fill_##type)            \
	{                                                               \
		struct philox_words words = philox_draw4(state, block); \
		float y[4];                                             \
                                                                        \
		fill_widen_##type(x, y);                                \
		for (int i = 0; i < 4; i++)                             \
			y[i] = philox_drop_f32(                         \
				philox_multiply(y[i], args->f32.scale), \
				words.w[i], args->threshold);           \
		fill_narrow_quiet_##type(y, v);                         \
	}

FILL_DROPOUT(f32)
FILL_DROPOUT(bf16)
FILL_DROPOUT(f16)

FILL_BLOCK(dropout_f64, double, double)
{
	struct philox_words words = philox_draw4(state, block);

	for (int i = 0; i < 4; i++)
		v[i] = philox_dropout_f64(x[i], words.w[i], args->threshold,
					  args->f64.scale);
}

#define FILL_ROUND(type)                                                \
	FILL_BLOCK(round_##type, fill_##type, float)                    \
	{                                                               \
		struct philox_words words = philox_draw4(state, block); \
                                                                        \
		(void)args;                                             \
		fill_narrow_random_##type(x, words.w, v);               \
	}

FILL_ROUND(bf16)
FILL_ROUND(f16)

#endif
