/*
 * tests/tools/draw.c - your own kernels draw the numbers of fills
 *
 * The words come from fills of bits, the expected numbers from the formulas of
 * philox/fill.h.
 */
#include <math.h>
#include "tests/support/support.h"

enum { BLOCK_COUNT = 64, ELEMENTS = 4 * BLOCK_COUNT };

static const struct philox_state state = {0x123456789abcdef0ULL, 44};
static const struct philox_state poison = {1, PHILOX_POISON_OFFSET};

/* Fills an array with elements `first` on. */
static void fill(struct fixture *f, enum philox_dist dist,
		 enum philox_dtype dtype, uint64_t first, uint64_t count,
		 const void *in, double p, void *out)
{
	struct philox_fill_desc fill;
	struct philox_rng rng = {.state = state};

	memset(&fill, 0, sizeof(fill));
	fill.size = sizeof(fill);
	fill.dist = dist;
	fill.dtype = dtype;
	fill.span.first = first;
	fill.span.count = count;
	fill.p = p;
	fill.in = in;
	fill.out = out;
	OK(philox_rng_fill(f->device, f->stream, rng, &fill));
	OK(philox_stream_synchronize(f->device, f->stream));
}

static const uint64_t firsts[] = {0, 4 * (0xffffffffULL - 10),
				  UINT64_MAX - ELEMENTS + 1};

PROMISE(draw, words_are_those_of_fills)
{
	uint32_t *words = make_memory(f, ELEMENTS * sizeof(*words));

	for (size_t k = 0; k < 3; k++) {
		fill(f, PHILOX_DIST_BITS, PHILOX_DTYPE_U32, firsts[k], ELEMENTS,
		     NULL, 0, words);
		for (uint64_t i = 0; i < ELEMENTS; i++) {
			uint64_t e = firsts[k] + i;
			struct philox_words four = philox_words4(state, e / 4);

			cr_assert_eq(philox_word_at(state, e), words[i]);
			cr_assert_eq(four.w[e % 4], words[i]);
		}
	}
}

PROMISE(draw, words_of_64_bits_are_those_of_fills)
{
	uint64_t *words = make_memory(f, ELEMENTS * sizeof(*words));

	for (size_t k = 0; k < 3; k++) {
		fill(f, PHILOX_DIST_BITS, PHILOX_DTYPE_U64, firsts[k], ELEMENTS,
		     NULL, 0, words);
		for (uint64_t i = 0; i < ELEMENTS; i++)
			cr_assert_eq(philox_word64_at(state, firsts[k] + i),
				     words[i]);
	}
}

PROMISE(draw, uniform_numbers_follow_the_formula)
{
	uint32_t *words = make_memory(f, ELEMENTS * sizeof(*words));

	fill(f, PHILOX_DIST_BITS, PHILOX_DTYPE_U32, 0, ELEMENTS, NULL, 0,
	     words);
	for (uint64_t e = 0; e < ELEMENTS; e++) {
		struct philox_f32x4 four = philox_uniform4(state, e / 4);
		double u = (double)(words[e] >> 8) / 16777216.0;

		cr_assert_eq(philox_uniform_at(state, e), u);
		cr_assert_eq(four.v[e % 4], u);
	}
}

PROMISE(draw, normal_numbers_follow_the_formula)
{
	uint32_t *words = make_memory(f, ELEMENTS * sizeof(*words));

	fill(f, PHILOX_DIST_BITS, PHILOX_DTYPE_U32, 0, ELEMENTS, NULL, 0,
	     words);
	for (uint64_t e = 0; e < ELEMENTS; e++) {
		struct philox_f32x4 four = philox_normal4(state, e / 4);
		const uint32_t *w = &words[e & ~1ULL];
		double radius = sqrt(-2 * log(ldexp(w[0] + 0.5, -32)));
		double angle = 2 * M_PI * ldexp(w[1] + 0.5, -32);
		double x = radius * (e % 2 ? cos(angle) : sin(angle));

		cr_assert_float_eq(philox_normal_at(state, e), x, 1.2e-6);
		cr_assert_eq(four.v[e % 4], philox_normal_at(state, e));
	}
}

static const double probabilities[] = {0, 0.1, 0.5, 1};

PROMISE(draw, dropout_and_masks_are_those_of_fills)
{
	float *x = make_memory(f, ELEMENTS * sizeof(*x));
	float *y = make_memory(f, ELEMENTS * sizeof(*y));

	for (int i = 0; i < ELEMENTS; i++)
		x[i] = 0.37f * (float)(i + 1);
	for (size_t k = 0; k < 4; k++) {
		double p = probabilities[k];
		uint64_t threshold = philox_threshold(p);
		float scale = philox_dropout_scale(p);

		fill(f, PHILOX_DIST_DROPOUT, PHILOX_DTYPE_F32, 0, ELEMENTS, x,
		     p, y);
		for (uint64_t e = 0; e < ELEMENTS; e++) {
			uint64_t b = e / 4;
			struct philox_f32x4 four;

			memcpy(four.v, x + 4 * b, sizeof(four.v));
			four = philox_dropout4(state, b, four, threshold,
					       scale);
			cr_assert_eq(four.v[e % 4], y[e]);
			cr_assert_eq(philox_dropout_at(state, e, x[e],
						       threshold, scale),
				     y[e]);
			cr_assert_eq(philox_keep_at(state, e, threshold),
				     y[e] != 0);
			cr_assert_eq(philox_keep_mask4(state, b, threshold) >>
						     e % 4 &
					     1,
				     y[e] != 0);
		}
	}
}

Test(draw, a_poisoned_state_gives_nan_or_all_ones)
{
	struct philox_f32x4 x = {{1, 2, 3, 4}};
	struct philox_f32x4 fours[] = {philox_uniform4(poison, 3),
				       philox_normal4(poison, 3),
				       philox_dropout4(poison, 3, x, 0, 1)};

	for (int i = 0; i < 12; i++)
		cr_assert(isnan(fours[i / 4].v[i % 4]));
	for (uint64_t e = 0; e < 8; e++) {
		cr_assert(isnan(philox_uniform_at(poison, e)));
		cr_assert(isnan(philox_normal_at(poison, e)));
		cr_assert(isnan(philox_dropout_at(poison, e, 1, 0, 1)));
		cr_assert_eq(philox_word_at(poison, e), UINT32_MAX);
		cr_assert_eq(philox_word64_at(poison, e), UINT64_MAX);
		cr_assert_eq(philox_words4(poison, e).w[e % 4], UINT32_MAX);
		cr_assert_eq(philox_keep_at(poison, e, 0), 0);
		cr_assert_eq(philox_keep_mask4(poison, e, 0), 0);
	}
}
