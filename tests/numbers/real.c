/*
 * tests/numbers/real.c - conversions of f16 against its definition
 *
 * The oracle is a search through all values of f16, and the processor if it can
 * convert them.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <philox/kernel.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/*
 * The magnitude of an f16 by its definition; of infinity, the number that
 * rounds to it
 */
static double f16_magnitude(unsigned bits)
{
	int power = (int)(bits >> 10 & 31), fraction = bits & 1023;

	return power ? ldexp(1024 + fraction, power - 25)
		     : ldexp(fraction, -24);
}

/* The nearest of all finite f16s and 65536, ties to the even one */
static unsigned nearest_f16(double magnitude)
{
	unsigned low = 0, high = 0x7c00;

	if (magnitude >= f16_magnitude(high))
		return high;
	while (high - low > 1) {
		unsigned middle = (low + high) / 2;

		if (f16_magnitude(middle) <= magnitude)
			low = middle;
		else
			high = middle;
	}
	double below = magnitude - f16_magnitude(low);
	double above = f16_magnitude(high) - magnitude;

	return below < above || (below == above && low % 2 == 0) ? low : high;
}

static void check_f32_to_f16(uint32_t bits)
{
	float x = philox_f32_from_bits(bits);
	unsigned sign = bits >> 16 & 0x8000, expected;

	if (isnan(x))
		expected = 0x7e00 | (bits >> 13 & 0x3ff);
	else
		expected = nearest_f16(fabs(x));
	cr_assert_eq(philox_f32_to_f16(x), sign | expected,
		     "%08x: %04x, not %04x", bits, philox_f32_to_f16(x),
		     sign | expected);
}

Test(real, f16_to_f32_is_exact_for_all_f16s)
{
	for (unsigned bits = 0; bits <= 0xffff; bits++) {
		float x = philox_f16_to_f32((uint16_t)bits);
		uint32_t got = philox_f32_bits(x);
		unsigned magnitude = bits & 0x7fff;

		cr_assert_eq(got >> 31, bits >> 15, "%04x", bits);
		if (magnitude < 0x7c00)
			cr_assert_eq(fabs(x), f16_magnitude(magnitude), "%04x",
				     bits);
		else if (magnitude == 0x7c00)
			cr_assert_eq(fabsf(x), INFINITY, "%04x", bits);
		else
			cr_assert_eq(got & 0x7fffffff,
				     0x7fc00000 | (bits & 0x3ff) << 13, "%04x",
				     bits);
	}
}

Test(real, f16_to_f32_and_back_gives_the_same_bits)
{
	for (unsigned bits = 0; bits <= 0xffff; bits++) {
		float x = philox_f16_to_f32((uint16_t)bits);
		unsigned quiet = (bits & 0x7fff) > 0x7c00 ? 0x200 : 0;

		cr_assert_eq(philox_f32_to_f16(x), bits | quiet, "%04x", bits);
	}
}

Test(real, f32_to_f16_rounds_to_the_nearest)
{
	/* every power, with all of the upper bits and some of the lower */
	for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += 2039)
		check_f32_to_f16((uint32_t)bits);
	/* all f16s, the ties between them, and both neighbours of each */
	for (uint64_t half = 0x32000; half < 0x48000; half++)
		for (uint32_t i = 0; i < 3; i++)
			check_f32_to_f16((uint32_t)(half << 12) + i - 1);
	for (uint32_t denormal = 0; denormal <= 2048; denormal++)
		for (uint32_t i = 0; i < 3; i++) {
			float x = (float)denormal * 0x1p-25f;

			check_f32_to_f16(philox_f32_bits(x) + i);
			check_f32_to_f16(philox_f32_bits(x) - i);
		}
}

/* The conversions of numbers leave out NaNs only. */
static void check_number(uint32_t bits)
{
	float x = philox_f32_from_bits(bits);
	unsigned half = bits >> 16;

	if (!isnan(x)) {
		cr_assert_eq(philox_number_to_f16(x), philox_f32_to_f16(x),
			     "%08x", bits);
		cr_assert_eq(philox_number_to_bf16(x), philox_f32_to_bf16(x),
			     "%08x", bits);
	}
	x = philox_number_from_f16((uint16_t)half);
	if ((half & 0x7fff) > 0x7c00)
		cr_assert(isnan(x), "%04x", half);
	else
		cr_assert_eq(philox_f32_bits(x),
			     philox_f32_bits(philox_f16_to_f32((uint16_t)half)),
			     "%04x", half);
}

Test(real, conversions_of_numbers_agree_with_those_of_all_values)
{
	static const uint32_t low[] = {0,      1,      0x0fff, 0x1000, 0x1001,
				       0x2000, 0x7fff, 0x8000, 0x8001, 0xffff};

	for (uint32_t half = 0; half <= 0xffff; half++)
		for (size_t i = 0; i < sizeof(low) / sizeof(low[0]); i++)
			check_number(half << 16 | low[i]);
}

#if defined(__x86_64__)
__attribute__((target("f16c"))) static unsigned f16c_from_f32(float x)
{
	__m128i half = _mm_cvtps_ph(_mm_set_ss(x), _MM_FROUND_TO_NEAREST_INT);

	return (unsigned)_mm_cvtsi128_si32(half) & 0xffff;
}

__attribute__((target("f16c"))) static uint32_t f16c_to_f32(unsigned bits)
{
	__m128 x = _mm_cvtph_ps(_mm_cvtsi32_si128((int)bits));

	return (uint32_t)_mm_cvtsi128_si32(_mm_castps_si128(x));
}

Test(real, f16_is_as_the_processor_converts_it)
{
	if (!__builtin_cpu_supports("avx2"))
		cr_skip("this processor has no F16C");
	for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += 251) {
		float x = philox_f32_from_bits((uint32_t)bits);

		cr_assert_eq(philox_f32_to_f16(x), f16c_from_f32(x), "%08x",
			     (unsigned)bits);
	}
	for (unsigned bits = 0; bits <= 0xffff; bits++)
		cr_assert_eq(philox_f32_bits(philox_f16_to_f32((uint16_t)bits)),
			     f16c_to_f32(bits), "%04x", bits);
}
#endif
