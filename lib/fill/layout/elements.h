/*
 * lib/fill/layout/elements.h - other libraries' elements, for host and GPU
 *
 * layout_<type>(args, state, e, x) is element e of an op in one of the layouts
 * of philox/fill.h, which has their formulas: lib/fill/layout/places.h finds
 * its words, the rest makes the value as the original does. x is the input of
 * dropout. One block is made for one element: here only correctness counts.
 */
#ifndef LIB_FILL_LAYOUT_ELEMENTS_H
#define LIB_FILL_LAYOUT_ELEMENTS_H

#include "lib/dist/blocks.h"
#include "lib/fill/layout/places.h"

/* --- uniform numbers of a layout ------------------------------------------ */

/* cuRAND's, in (0, 1]. */
PHILOX_FN float layout_u_curand(uint32_t w)
{
	return philox_multiply_add((float)w, 2.32830644e-10f, 1.16415322e-10f);
}

/* Triton's, in [0, 1): the magnitude, or its complement, of an int32. */
PHILOX_FN float layout_u_triton(uint32_t w)
{
	uint32_t size = w ^ (0u - (w >> 31));

	return philox_multiply((float)size, 4.6566127342e-10f);
}

/* JAX's, in [0, 1): as many bits as the dtype has after the point. */
PHILOX_FN float layout_u_jax(const struct layout_args *args,
			     struct layout_words words)
{
	uint32_t w = layout_jax_word(words);

	if (args->dtype == PHILOX_DTYPE_BF16)
		return (float)((w & 0xffu) >> 1) * 0.0078125f;
	if (args->dtype == PHILOX_DTYPE_F16)
		return (float)((w & 0xffffu) >> 6) * 0.0009765625f;
	return (float)(w >> 9) * 1.1920929e-07f;
}

PHILOX_FN float layout_u_f32(const struct layout_args *args,
			     struct layout_words words)
{
	float u;

	if (args->kind == PHILOX_LAYOUT_TRITON)
		return layout_u_triton(layout_word(words));
	if (args->kind == PHILOX_LAYOUT_JAX)
		return layout_u_jax(args, words);
	u = layout_u_curand(layout_word(words));
	return args->no_one && u == 1.0f ? 0.0f : u;
}

PHILOX_FN double layout_u_f64(const struct layout_args *args,
			      struct layout_words words)
{
	double u;

	if (args->kind == PHILOX_LAYOUT_JAX)
		return (double)(long long)(layout_pair(words) >> 12) *
		       2.2204460492503131e-16;
	if (args->one_word) /* exact */
		return philox_multiply_add_f64((double)layout_word(words),
					       2.3283064365386963e-10,
					       2.3283064365386963e-10);
	u = philox_open_f64(layout_pair_z(words));
	return args->no_one && u == 1.0 ? 0.0 : u;
}

/* --- normal numbers ------------------------------------------------------- */

/*
 * nvFuser replaces a uniform number of 1 by 0, both for the radius, which is
 * then infinite, and for the angle.
 */
PHILOX_FN float layout_z_nvfuser(uint32_t w0, uint32_t w1, uint32_t odd)
{
	float sine, cosine, radius = philox_root(philox_minus_2_ln(w0));

	philox_sin_cos(w1, &sine, &cosine);
	if (layout_u_curand(w1) == 1.0f) {
		sine = 0.0f;
		cosine = 1.0f;
	}
	if (layout_u_curand(w0) == 1.0f)
		radius = philox_f32_from_bits(0x7f800000u);
	return philox_multiply(radius, odd ? cosine : sine);
}

/* Triton's angle has 31 bits; the word that represents it is one half off. */
PHILOX_FN float layout_z_triton(struct layout_words words)
{
	float u = layout_u_triton(words.block.w[0]), sine, cosine;
	uint32_t w1 = words.block.w[1];

	u = u < 1e-7f ? 1e-7f : u;
	philox_sin_cos((w1 ^ (0u - (w1 >> 31))) << 1, &sine, &cosine);
	return philox_multiply(philox_root(-2.0f * philox_ln_f32(u)), cosine);
}

PHILOX_FN float layout_z_f32(const struct layout_args *args,
			     struct layout_words words)
{
	struct layout_two two = layout_half(words.block, words.word & 2);
	uint32_t odd = words.word % 2;
	float x, y;

	if (args->kind == PHILOX_LAYOUT_TRITON)
		return layout_z_triton(words);
	if (args->kind == PHILOX_LAYOUT_NVFUSER)
		return layout_z_nvfuser(two.w0, two.w1, odd);
	philox_normal_pair(two.w0, two.w1, &x, &y);
	return odd ? y : x;
}

PHILOX_FN double layout_z_f64(const struct layout_args *args,
			      struct layout_words words)
{
	const uint32_t *w = words.block.w;
	uint64_t a = layout_z(w[0], w[1]), b = layout_z(w[2], w[3]);
	double radius = philox_root_f64(philox_minus_2_ln_f64(a));
	double sine, cosine;

	philox_sin_cos_f64(b, &sine, &cosine);
	if (args->no_one && philox_open_f64(b) == 1.0) {
		sine = 0.0;
		cosine = 1.0;
	}
	if (args->no_one && philox_open_f64(a) == 1.0)
		radius = philox_f64_from_bits(0x7ff0000000000000ULL);
	return philox_multiply_f64(radius, words.word % 2 ? cosine : sine);
}

/* --- values --------------------------------------------------------------- */

/* The nearest number of the dtype, by way of f32, as in c10 and XLA. */
PHILOX_FN float layout_to_dtype(uint32_t dtype, float x)
{
	if (dtype == PHILOX_DTYPE_BF16)
		return philox_bf16_to_f32(philox_f32_to_bf16(x));
	if (dtype == PHILOX_DTYPE_F16)
		return philox_f16_to_f32(philox_f32_to_f16(x));
	return x;
}

PHILOX_FN float layout_round(const struct layout_args *args, float x)
{
	return layout_to_dtype(args->dtype, x);
}

PHILOX_FN float layout_uniform_f32(const struct layout_args *args,
				   struct layout_words words)
{
	const struct fill_f32_args *f = &args->fill.f32;
	float x = layout_round(args,
			       philox_multiply_add(layout_u_f32(args, words),
						   f->scale, f->shift));

	return args->no_top && x == f->top ? f->shift : x;
}

PHILOX_FN double layout_uniform_f64(const struct layout_args *args,
				    struct layout_words words)
{
	const struct fill_f64_args *f = &args->fill.f64;
	double x = philox_multiply_add_f64(layout_u_f64(args, words), f->scale,
					   f->shift);

	return args->no_top && x == f->top ? f->shift : x;
}

/* PyTorch's log() of a number near 1 is half an epsilon below 0. */
PHILOX_FN float layout_exponential_f32(const struct layout_args *args,
				       struct layout_words words)
{
	uint32_t w = layout_word(words);
	float x = 0.5f * philox_minus_2_ln(w);

	if (layout_u_curand(w) >= 0.99999994f)
		x = 5.96046448e-08f;
	return philox_multiply(x, args->fill.f32.scale);
}

PHILOX_FN double layout_exponential_f64(const struct layout_args *args,
					struct layout_words words)
{
	uint64_t z = layout_pair_z(words);
	double x = 0.5 * philox_minus_2_ln_f64(z);

	if (philox_open_f64(z) >= 0.99999999999999989)
		x = 1.1102230246251565e-16;
	return philox_multiply_f64(x, args->fill.f64.scale);
}

/* 1 or 0, by which an input is multiplied before the scale. */
PHILOX_FN int layout_keeps(const struct layout_args *args,
			   struct layout_words words)
{
	float u = layout_u_f32(args, words);

	if (args->kind == PHILOX_LAYOUT_TRITON)
		return u > args->fill.f32.bottom;
	return args->dtype == PHILOX_DTYPE_F64 ? u < args->fill.f64.top
					       : u < args->fill.f32.top;
}

PHILOX_FN float layout_quiet(float x)
{
	return x == x ? x : philox_f32_from_bits(0x7fc00000u);
}

PHILOX_FN double layout_quiet_f64(double x)
{
	return x == x ? x : philox_f64_from_bits(0x7ff8000000000000ULL);
}

PHILOX_FN float layout_dropout_f32(const struct layout_args *args,
				   struct layout_words words, float x)
{
	if (args->nothing)
		return 0.0f;
	x = philox_multiply(x, layout_keeps(args, words) ? 1.0f : 0.0f);
	return layout_quiet(philox_multiply(x, args->fill.f32.scale));
}

PHILOX_FN double layout_dropout_f64(const struct layout_args *args,
				    struct layout_words words, double x)
{
	if (args->nothing)
		return 0.0;
	x = philox_multiply_f64(x, layout_keeps(args, words) ? 1.0 : 0.0);
	return layout_quiet_f64(philox_multiply_f64(x, args->fill.f64.scale));
}

/* --- elements ------------------------------------------------------------- */

PHILOX_FN float layout_real_f32(const struct layout_args *args,
				struct layout_words words, float x)
{
	const struct fill_f32_args *f = &args->fill.f32;
	float z;

	switch (args->dist) {
	case PHILOX_DIST_UNIFORM:
		return layout_uniform_f32(args, words);
	case PHILOX_DIST_BERNOULLI:
		return layout_u_f32(args, words) < f->top ? 1.0f : 0.0f;
	case PHILOX_DIST_EXPONENTIAL:
		return layout_exponential_f32(args, words);
	case PHILOX_DIST_DROPOUT:
		return layout_dropout_f32(args, words, x);
	default: /* PHILOX_DIST_NORMAL, PHILOX_DIST_LOG_NORMAL */
		z = philox_multiply_add(layout_z_f32(args, words), f->scale,
					f->shift);
		return args->dist == PHILOX_DIST_NORMAL ? layout_quiet(z)
							: philox_exp_f32(z);
	}
}

PHILOX_FN double layout_real_f64(const struct layout_args *args,
				 struct layout_words words, double x)
{
	const struct fill_f64_args *f = &args->fill.f64;
	double z;

	switch (args->dist) {
	case PHILOX_DIST_UNIFORM:
		return layout_uniform_f64(args, words);
	case PHILOX_DIST_BERNOULLI:
		return layout_u_f64(args, words) < f->top ? 1.0 : 0.0;
	case PHILOX_DIST_EXPONENTIAL:
		return layout_exponential_f64(args, words);
	case PHILOX_DIST_DROPOUT:
		return layout_dropout_f64(args, words, x);
	default: /* PHILOX_DIST_NORMAL, PHILOX_DIST_LOG_NORMAL */
		z = philox_multiply_add_f64(layout_z_f64(args, words), f->scale,
					    f->shift);
		return args->dist == PHILOX_DIST_NORMAL ? layout_quiet_f64(z)
							: philox_exp_f64(z);
	}
}

/* PyTorch's integers: the remainder of 32 bits, or of 64 if the range is wide;
 * the whole range of 64 bits is the draw as it is. */
PHILOX_FN uint64_t layout_integer(const struct layout_args *args,
				  struct layout_words words)
{
	uint64_t range = args->fill.range;

	if (!range)
		return layout_pair(words);
	if (args->unroll == 2)
		return layout_pair(words) % range + args->fill.from;
	return layout_word(words) % (uint32_t)range + args->fill.from;
}

#define LAYOUT_ELEMENT(type)                                                \
	PHILOX_FN fill_##type layout_##type(const struct layout_args *args, \
					    struct philox_state state,      \
					    uint64_t e, fill_##type x)

LAYOUT_ELEMENT(u32)
{
	struct layout_words words = layout_draw(args, state, e);

	(void)x;
	if (args->dist == PHILOX_DIST_INTEGERS)
		return (uint32_t)layout_integer(args, words);
	return args->kind == PHILOX_LAYOUT_JAX ? layout_jax_word(words)
					       : layout_word(words);
}

LAYOUT_ELEMENT(u64)
{
	struct layout_words words = layout_draw(args, state, e);

	(void)x;
	return args->dist == PHILOX_DIST_INTEGERS ? layout_integer(args, words)
						  : layout_pair(words);
}

LAYOUT_ELEMENT(f32)
{
	return layout_real_f32(args, layout_draw(args, state, e), x);
}

LAYOUT_ELEMENT(f64)
{
	return layout_real_f64(args, layout_draw(args, state, e), x);
}

LAYOUT_ELEMENT(bf16)
{
	return philox_f32_to_bf16(layout_real_f32(
		args, layout_draw(args, state, e), philox_bf16_to_f32(x)));
}

LAYOUT_ELEMENT(f16)
{
	return philox_f32_to_f16(layout_real_f32(
		args, layout_draw(args, state, e), philox_f16_to_f32(x)));
}

#endif
