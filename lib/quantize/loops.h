/*
 * lib/quantize/loops.h - the loops that round, for compilers to make vectors of
 *
 * Included by one file for each instruction set, after LOOPS_NAME() says how
 * its names end. They call the functions of philox/round.h, so all give the
 * same bits.
 */
#define PHILOX_VECTOR_QUOTIENT /* round.h: this file has no such options */
#include <string.h>
#include "lib/quantize/elements.h"
#include "lib/quantize/quantize.h"

/* As quantize_fixed(). */
static inline __attribute__((always_inline)) void round_some(
	uint32_t format, uint32_t bits, uint32_t saturate, const float *x,
	const uint32_t *fields, uint32_t n, uint32_t *codes)
{
	const struct philox_rounding how = {format, PHILOX_ROUND_FIXED, bits,
					    saturate};

	for (uint32_t i = 0; i < n; i++)
		codes[i] = quantize_fixed(how, x[i], fields[i]);
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

/* --- what is before and after it ------------------------------------------ */

static void LOOPS_NAME(widen)(uint32_t dtype, const void *in, uint32_t n,
			      float *x)
{
	const uint16_t *halves = (const uint16_t *)in;

	if (dtype == PHILOX_DTYPE_F32)
		memcpy(x, in, n * sizeof(*x));
	else if (dtype == PHILOX_DTYPE_BF16)
		for (uint32_t i = 0; i < n; i++)
			x[i] = philox_bf16_to_f32(halves[i]);
	else
		for (uint32_t i = 0; i < n; i++)
			x[i] = philox_f16_to_f32(halves[i]);
}

/*
 * The halves or bytes of words, from number `skip` of the first on. Where the
 * lowest byte of a word is the first they follow one another in memory.
 */
static void LOOPS_NAME(part)(uint32_t bits, const uint32_t *words,
			     uint32_t skip, uint32_t n, uint32_t *fields)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	typedef uint16_t half __attribute__((may_alias));
	const half *halves = (const half *)words + skip;
	const uint8_t *bytes = (const uint8_t *)words + skip;

	if (bits == 16)
		for (uint32_t i = 0; i < n; i++)
			fields[i] = halves[i];
	else
		for (uint32_t i = 0; i < n; i++)
			fields[i] = bytes[i];
#else
	const uint32_t each = 32 / bits;

	for (uint32_t i = 0; i < n; i++)
		fields[i] = words[(i + skip) / each] >>
				    (i + skip) % each * bits &
			    ((1u << bits) - 1);
#endif
}

/* Magnitudes, but those of NaNs, have the order of their bits. */
static float LOOPS_NAME(largest)(const float *x, uint32_t n)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t bits = philox_f32_bits(x[i]) & 0x7fffffffu;
		const uint32_t size = bits > 0x7f800000u ? 0 : bits;

		most = size > most ? size : most;
	}
	return philox_f32_from_bits(most);
}

static uint32_t LOOPS_NAME(beyond)(uint32_t format, const float *x, uint32_t n)
{
	const uint32_t largest = philox_format_largest_f32(format);
	const uint32_t last = format == PHILOX_FORMAT_E2M1 ? 0x7fffffffu
							   : 0x7f800000u;
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t size = philox_f32_bits(x[i]) & 0x7fffffffu;

		count += size > largest && size <= last;
	}
	return count;
}

/* The results of n elements, an even number in E2M1, without marks of ties. */
static void LOOPS_NAME(pack)(uint32_t format, const uint32_t *codes, uint32_t n,
			     void *out)
{
	uint8_t *bytes = (uint8_t *)out;

	if (format <= PHILOX_FORMAT_F16)
		for (uint32_t i = 0; i < n; i++)
			((uint16_t *)out)[i] = (uint16_t)codes[i];
	else if (format != PHILOX_FORMAT_E2M1)
		for (uint32_t i = 0; i < n; i++)
			bytes[i] = (uint8_t)codes[i];
	else
		for (uint32_t i = 0; i < n / 2; i++)
			bytes[i] = (uint8_t)((codes[2 * i] & 0xf) |
					     codes[2 * i + 1] << 4);
}

static void LOOPS_NAME(divide)(float *x, uint32_t n, float scale)
{
	for (uint32_t i = 0; i < n; i++)
		x[i] = philox_scaled_down(x[i], scale);
}

#define ROW(format)                                        \
	[PHILOX_FORMAT_##format] = {                       \
		LOOPS_NAME(round_##format##_32),           \
		LOOPS_NAME(round_##format##_16),           \
		LOOPS_NAME(round_##format##_8),            \
	}
const struct quantize_loops LOOPS_NAME(quantize_loops) = {
	.widen = LOOPS_NAME(widen),
	.part = LOOPS_NAME(part),
	.largest = LOOPS_NAME(largest),
	.beyond = LOOPS_NAME(beyond),
	.divide = LOOPS_NAME(divide),
	.pack = LOOPS_NAME(pack),
	.round = {ROW(BF16), ROW(F16), ROW(E4M3), ROW(E5M2), ROW(E2M1)},
};
#undef ROW
#undef LOOPS
#undef LOOP
