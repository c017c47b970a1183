/*
 * tests/law/compare/calls.c - functions of the headers that check.py calls
 *
 * It is built as a library, as words.c is.
 */
#include <philox/kernel.h>

void calls_mixture(struct philox_state state,
		   const struct philox_mixture_source *sources,
		   uint32_t n_sources, uint64_t first, uint32_t count,
		   struct philox_mixture_sample *samples);
void calls_mixture(struct philox_state state,
		   const struct philox_mixture_source *sources,
		   uint32_t n_sources, uint64_t first, uint32_t count,
		   struct philox_mixture_sample *samples)
{
	const struct philox_mixture mixture =
		philox_mixture_of(state, sources, n_sources);

	for (uint32_t i = 0; i < count; i++)
		samples[i] = philox_mixture_at(&mixture, first + i);
}

uint64_t calls_mixture_hash(const struct philox_mixture *mixture);
uint64_t calls_mixture_hash(const struct philox_mixture *mixture)
{
	return philox_mixture_hash(mixture);
}

void calls_round(struct philox_state state, struct philox_rounding how,
		 uint32_t count, const uint64_t *elements, const float *x,
		 uint32_t *out);
void calls_round(struct philox_state state, struct philox_rounding how,
		 uint32_t count, const uint64_t *elements, const float *x,
		 uint32_t *out)
{
	for (uint32_t i = 0; i < count; i++)
		out[i] = philox_round_at(state, elements[i], x[i], how);
}

/* t, s and its scale, of NVFP4, and x over that */
void calls_nvfp4(uint32_t count, const float *amax, const float *x, float *t,
		 uint32_t *s, float *scale, float *over);
void calls_nvfp4(uint32_t count, const float *amax, const float *x, float *t,
		 uint32_t *s, float *scale, float *over)
{
	for (uint32_t i = 0; i < count; i++) {
		t[i] = philox_nvfp4_tensor_scale(t[i]);
		s[i] = philox_nvfp4_scale(amax[i], t[i]);
		scale[i] = philox_nvfp4_scale_to_f32(s[i], t[i]);
		over[i] = philox_scaled_down(x[i], scale[i]);
	}
}

void calls_mx(uint32_t format, uint32_t up, uint32_t count, const float *amax,
	      const float *x, uint32_t *c, float *scale, float *over);
void calls_mx(uint32_t format, uint32_t up, uint32_t count, const float *amax,
	      const float *x, uint32_t *c, float *scale, float *over)
{
	for (uint32_t i = 0; i < count; i++) {
		c[i] = philox_mx_scale(format, up, amax[i]);
		scale[i] = philox_mx_scale_to_f32(c[i]);
		over[i] = philox_scaled_down(x[i], scale[i]);
	}
}

/* Items of an order at places, and their places */
void calls_order(struct philox_state state, uint64_t items, uint32_t count,
		 const uint64_t *places, uint64_t *at, uint64_t *back);
void calls_order(struct philox_state state, uint64_t items, uint32_t count,
		 const uint64_t *places, uint64_t *at, uint64_t *back)
{
	for (uint32_t i = 0; i < count; i++) {
		at[i] = philox_permute(state, items, places[i]);
		back[i] = philox_permute_inverse(state, items, at[i]);
	}
}

/* Categories of elements, by running sums */
void calls_categories(struct philox_state state, uint64_t count,
		      const uint64_t *sums, uint32_t n_elements,
		      const uint64_t *elements, uint64_t *out);
void calls_categories(struct philox_state state, uint64_t count,
		      const uint64_t *sums, uint32_t n_elements,
		      const uint64_t *elements, uint64_t *out)
{
	for (uint32_t i = 0; i < n_elements; i++)
		out[i] = philox_categorical_at(state, elements[i], sums, count);
}
