/*
 * lib/quantize/loops.h - the loops that round, for compilers to make vectors of
 *
 * Included by one file for each instruction set, after LOOPS_NAME() says how its
 * names end. They call the functions of philox/round.h, so all give the same
 * bits. The trip counts of the inner loops are known.
 */
#include "lib/quantize/elements.h"
#include "lib/quantize/quantize.h"

/* As quantize_fixed(). */
static inline __attribute__((always_inline)) void round_some(
	uint32_t format, uint32_t bits, uint32_t saturate, const float *x,
	const uint32_t *fields, uint32_t n, uint32_t *codes)
{
	const struct philox_rounding how = {format, PHILOX_ROUND_FIXED, bits,
					    saturate};

	for (uint32_t i = 0; i < n; i += QUANTIZE_LANES)
		for (uint32_t k = i; k < i + QUANTIZE_LANES; k++)
			codes[k] = quantize_fixed(how, x[k], fields[k]);
}

#define LOOP(format, bits)                                               \
	static void LOOPS_NAME(round_##format##_##bits)(                 \
		uint32_t saturate, const float *x, const uint32_t *f,    \
		uint32_t n, uint32_t *codes)                             \
	{                                                                \
		round_some(PHILOX_FORMAT_##format, bits, saturate, x, f, \
			   n, codes);                                    \
	}
#define LOOPS(format) LOOP(format, 32) LOOP(format, 16) LOOP(format, 8)

LOOPS(BF16)
LOOPS(F16)
LOOPS(E4M3)
LOOPS(E5M2)
LOOPS(E2M1)

static void LOOPS_NAME(divide)(float *x, uint32_t n, float scale)
{
	for (uint32_t i = 0; i < n; i += 16)
		for (uint32_t k = i; k < i + 16; k++)
			x[k] = philox_scaled_down(x[k], scale);
}

#define ROW(format)                                        \
	[PHILOX_FORMAT_##format] = {                       \
		LOOPS_NAME(round_##format##_32),           \
		LOOPS_NAME(round_##format##_16),           \
		LOOPS_NAME(round_##format##_8),            \
	}
const struct quantize_loops LOOPS_NAME(quantize_loops) = {
	.divide = LOOPS_NAME(divide),
	.round = {ROW(BF16), ROW(F16), ROW(E4M3), ROW(E5M2), ROW(E2M1)},
};
#undef ROW
#undef LOOPS
#undef LOOP
