/*
 * tests/law/compare/words.c - the headers' functions of one word, for many words
 *
 * check.py builds it as a library and compares it with law.py. F(name, type,
 * value) makes `name`, which writes the values of n words from `first` on.
 */
#include <math.h>
#include <philox/kernel.h>
#include <philox/subset.h>

static float sine(uint32_t w)
{
	float s, c;

	philox_sin_cos(w, &s, &c);
	return s;
}

static float cosine(uint32_t w)
{
	float s, c;

	philox_sin_cos(w, &s, &c);
	return c;
}

static float number(uint32_t bits)
{
	return philox_f32_from_bits(bits);
}

/* Words below 256 are refined, by the block of element 0 of a state */
static const struct philox_state state = {42, 8};

#define F(name, type, value)                                      \
	void words_##name(uint32_t first, uint32_t n, type *out); \
	void words_##name(uint32_t first, uint32_t n, type *out)  \
	{                                                         \
		for (uint32_t i = 0; i < n; i++) {                \
			const uint32_t w = first + i;             \
                                                                  \
			out[i] = value;                           \
		}                                                 \
	}

F(uniform_f32, float, philox_uniform_f32(w))
F(uniform_bf16, uint16_t, philox_uniform_bf16(w))
F(uniform_f16, uint16_t, philox_uniform_f16(w))
/* A normal number of a radius 0 has a sum with 0: its sign is not seen */
F(radius, float, philox_radius(w) + 0)
F(sine, float, sine(w))
F(cosine, float, cosine(w))
F(exponential, float, philox_exponential_of(state, 0, w))
F(gumbel, float, philox_gumbel_of(state, 0, w))
F(bernoulli, float, philox_bernoulli_f32(w, philox_threshold(0.3)))
F(dropout, float,
  philox_dropout_f32(0.7f, w, philox_threshold(0.1), philox_dropout_scale(0.1)))
F(round_bf16, uint16_t, philox_round_bf16(0.3f, w))
F(round_f16, uint16_t, philox_round_f16(-1e-6f, w))
F(to_bf16, uint16_t, philox_f32_to_bf16(number(w)))
F(to_f16, uint16_t, philox_f32_to_f16(number(w)))
F(refined, float, philox_exponential_small(50, w))
/* Of the number with these bits, or of 1 where it has none */
F(exp, float, philox_exp_f32((w & 0x7fffffff) > 0x7f800000 ? 1 : number(w)))
F(ln, float, philox_ln_f32(w - 0x800000 < 0x7f000000 ? number(w) : 1))
F(weight_ln, float,
  isnan(philox_weight_ln(number(w))) ? number(0x7fc00000)
				     : philox_weight_ln(number(w)))
