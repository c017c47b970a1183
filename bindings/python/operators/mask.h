/*
 * bindings/python/operators/mask.h - one element of the masked operators, the
 * same on a CPU and on a GPU
 */
#ifndef BINDINGS_PYTHON_OPERATORS_MASK_H
#define BINDINGS_PYTHON_OPERATORS_MASK_H

#include <cstdint>
#include <philox/kernel.h>

namespace philox
{

/* bf16 and f16 are computed in f32 and rounded once. */
struct bf16 {
	uint16_t bits;
};
struct f16 {
	uint16_t bits;
};

PHILOX_FN float widen(float x)
{
	return x;
}
PHILOX_FN double widen(double x)
{
	return x;
}
PHILOX_FN float widen(bf16 x)
{
	return philox_bf16_to_f32(x.bits);
}
PHILOX_FN float widen(f16 x)
{
	return philox_f16_to_f32(x.bits);
}

PHILOX_FN void narrow(float x, float *to)
{
	*to = x;
}
PHILOX_FN void narrow(double x, double *to)
{
	*to = x;
}
PHILOX_FN void narrow(float x, bf16 *to)
{
	to->bits = philox_f32_to_bf16(x);
}
PHILOX_FN void narrow(float x, f16 *to)
{
	to->bits = philox_f32_to_f16(x);
}

/*
 * Two roundings, on every device: neither is fused with the other. On a host
 * -ffp-contract=off says so, and lets loops be vectors.
 */
#ifdef __CUDA_ARCH__
PHILOX_FN float multiply_add(float x, float scale, float shift)
{
	return philox_multiply(x, scale) + shift;
}
PHILOX_FN double multiply_add(double x, double scale, double shift)
{
	return philox_multiply_f64(x, scale) + shift;
}
#else
template <typename Wide>
PHILOX_FN Wide multiply_add(Wide x, Wide scale, Wide shift)
{
	return x * scale + shift;
}
#endif

/* The parameters of `masked`, in the type it computes in. */
template <typename Wide> struct mask {
	uint64_t threshold; /* philox_threshold(p) */
	Wide scale, shift, dropped;
	uint64_t first, inner;
};

/* Writes the value of an element x whose mask has the word w. */
template <typename T, typename Wide>
PHILOX_FN void mask_element(T x, uint32_t w, const mask<Wide> &mask, T *to)
{
	Wide kept = multiply_add(widen(x), mask.scale, mask.shift);

	narrow(philox_keep(w, mask.threshold) ? kept : mask.dropped, to);
}

/* Writes 1 with probability p, else 0; NaN for a p that is no probability. */
template <typename T, typename Wide>
PHILOX_FN void bernoulli_element(Wide p, uint32_t w, T *to)
{
	Wide one = 1, zero = 0;

	if (p >= zero && p <= one)
		narrow(w < philox_threshold(p) ? one : zero, to);
	else
		narrow(zero / zero, to);
}

} // namespace philox
#endif
