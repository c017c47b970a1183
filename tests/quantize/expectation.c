/*
 * tests/quantize/expectation.c - the expectation of a rounded number, by
 * enumeration
 *
 * The numbers of a format are made here by its table's formula, in f64, which
 * has all of them and all fractions exactly.
 */
#include <math.h>
#include <stdlib.h>
#include <philox/round.h>
#include "lib/quantize/quantize.h"
#include "tests/support/support.h"

enum { FORMATS = 5 };

static const struct form {
	int digits, least, sign;
	uint32_t largest; /* its bits */
} forms[FORMATS] = {{7, -126, 0x8000, 0x7f7f},
		    {10, -14, 0x8000, 0x7bff},
		    {3, -6, 0x80, 0x7e},
		    {2, -14, 0x80, 0x7b},
		    {1, 0, 0x8, 0x7}};

/* The magnitude that has these bits, as if the format went on. */
static double magnitude(uint32_t format, uint32_t code)
{
	const struct form *form = &forms[format];
	const int power = (int)(code >> form->digits);
	const int digits = (int)(code & ((1u << form->digits) - 1));

	if (!power)
		return ldexp(digits, form->least - form->digits);
	return ldexp(digits + (1 << form->digits),
		     form->least - form->digits + power - 1);
}

/* The largest code whose magnitude is not above a number, by bisection. */
static uint32_t find_below(uint32_t format, double x)
{
	uint32_t low = 0, high = 2 * forms[format].largest + 2;

	while (high - low > 1) {
		const uint32_t middle = (low + high) / 2;

		if (magnitude(format, middle) <= x)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static double fraction(uint32_t format, uint32_t below, double x)
{
	const double a = magnitude(format, below);

	return (x - a) / (magnitude(format, below + 1) - a);
}

static uint32_t rounded(uint32_t format, uint32_t bits, float x, uint32_t field)
{
	const struct philox_rounding how = {format, PHILOX_ROUND_FIXED, bits,
					    1};
	const struct philox_state none = {0, 0};

	return philox_round_of(none, 0, x, field, how);
}

/* How many fields of those that there are give the larger neighbour. */
static uint64_t threshold_of(uint32_t format, uint32_t bits, float x,
			     uint32_t below)
{
	uint64_t low = 0, high = (uint64_t)1 << bits;
	const uint32_t mask = (uint32_t)forms[format].sign - 1;

	while (low < high) {
		const uint64_t middle = (low + high) / 2;
		const uint32_t code =
			rounded(format, bits, x, (uint32_t)middle) & mask;

		cr_assert(code == below || code == below + 1,
			  "format %u, %a: 0x%x is no neighbour", format,
			  (double)x, code);
		if (code == below + 1)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Fields below the threshold go up, and no others do. */
static void is_monotone(uint32_t format, uint32_t bits, float x, uint32_t below,
			uint64_t threshold)
{
	const uint32_t mask = (uint32_t)forms[format].sign - 1;

	for (uint32_t field = 0; field < 1u << bits; field++)
		cr_assert_eq(rounded(format, bits, x, field) & mask,
			     below + (field < threshold),
			     "format %u, %a, field %u", format, (double)x,
			     field);
}

/*
 * All fields of 8 bits, and for some numbers of 16; else only where the results
 * change.
 */
static void check_number(uint32_t format, float x)
{
	const double size = fabs((double)x);
	const uint32_t below = find_below(format, size);
	const double f = fraction(format, below, size);
	static unsigned numbers;

	if (below >= forms[format].largest)
		return; /* it saturates: known.c */
	for (uint32_t bits = 8; bits <= 32; bits *= 2) {
		const uint64_t threshold = threshold_of(format, bits, x, below);

		cr_assert_eq((double)threshold, floor(ldexp(f, (int)bits)),
			     "format %u, %u bits, %a", format, bits, (double)x);
		if (bits == 8 || (bits == 16 && numbers++ % 511 == 0))
			is_monotone(format, bits, x, below, threshold);
	}
	cr_assert_eq(rounded(format, 32, x, 0) >> 31, 0);
	cr_assert_eq(
		!!(rounded(format, 8, x, 255) & (uint32_t)forms[format].sign),
		!!signbit(x));
}

Test(quantize, fields_go_up_with_the_probability_of_the_fraction)
{
	for (uint32_t format = 0; format < FORMATS; format++)
		for (uint32_t bits = 0; bits < 0x10000; bits++) {
			const float bf16 = philox_bf16_to_f32((uint16_t)bits);
			const float f16 = philox_f16_to_f32((uint16_t)bits);

			if (isfinite(bf16))
				check_number(format, bf16);
			if (isfinite(f16))
				check_number(format, f16);
		}
}

/* All exponents of f32, at the ends of their numbers, and some between. */
Test(quantize, fields_go_up_with_the_probability_of_the_fraction_of_any_f32)
{
	for (uint32_t format = 0; format < FORMATS; format++)
		for (uint32_t i = 0; i < 256 * 64; i++) {
			const uint32_t k = i % 64;
			const uint32_t digits =
				k < 24   ? 1u << k % 23
				: k < 47 ? 0x7fffffu - (1u << (k - 24))
				: k < 48 ? 0
					 : i * 2654435761u >> 9;
			const float x =
				philox_f32_from_bits(i / 64 << 23 | digits);

			if (isfinite(x))
				check_number(format, i & 1 ? x : -x);
		}
}

/* --- every field of 16 bits ----------------------------------------------- */

enum { FIELDS = 1 << 16, LANES = 1 << 12 };

static const struct quantize_loops *fastest(void)
{
#ifdef __x86_64__
	if (simd_has(SIMD_AVX512))
		return &quantize_loops_avx512;
	if (simd_has(SIMD_AVX2))
		return &quantize_loops_avx2;
#endif
	return &quantize_loops_scalar;
}

/* All fields of one number; those below its threshold go up. */
static void check_fields(uint32_t format, float x)
{
	static uint32_t fields[FIELDS], codes[LANES];
	static float same[LANES];
	const uint32_t mask = (uint32_t)forms[format].sign - 1;
	const uint32_t below = find_below(format, fabs((double)x));
	const uint32_t threshold =
		(uint32_t)ldexp(fraction(format, below, fabs((double)x)), 16);
	uint32_t wrong = 0;

	if (below >= forms[format].largest)
		return;
	for (uint32_t i = fields[1] ? FIELDS : 0; i < FIELDS; i++)
		fields[i] = i;
	for (uint32_t i = 0; i < LANES; i++)
		same[i] = x;
	for (uint32_t i = 0; i < FIELDS; i += LANES) {
		fastest()->round[format][1](1, same, fields + i, LANES, codes);
		for (uint32_t k = 0; k < LANES; k++)
			wrong |= (codes[k] & mask) ^
				 (below + (i + k < threshold));
	}
	cr_assert_eq(wrong, 0, "format %u, %a", format, (double)x);
}

/* 4 10^10 results, a minute: by hand. */
Test(quantize, every_field_of_16_bits_of_every_bf16_and_f16, .timeout = 3600)
{
	if (!getenv("PHILOX_TEST_ALL_FIELDS"))
		cr_skip_test("set PHILOX_TEST_ALL_FIELDS");
	for (uint32_t format = 0; format < FORMATS; format++)
		for (uint32_t bits = 0; bits < 0x10000; bits++) {
			const float bf16 = philox_bf16_to_f32((uint16_t)bits);
			const float f16 = philox_f16_to_f32((uint16_t)bits);

			if (isfinite(bf16))
				check_fields(format, bf16);
			if (isfinite(f16))
				check_fields(format, f16);
		}
}

/*
 * With a binade of E4M3, 2^20 fractions k 2^-20 between two neighbours: of 256
 * fields floor(k / 2^12) go up, so FIXED is short by (1 - 2^-12) step / 512 on
 * average, and EXACT, which adds what is left, by nothing.
 */
Test(quantize, a_binade_is_short_by_a_512th_of_a_step_with_8_bits_unless_exact)
{
	uint64_t ups = 0, lefts = 0, wanted = 0;

	for (uint32_t k = 0; k < 1u << 20; k++) {
		const float x = philox_f32_from_bits(0x3f800000u + k);
		const struct philox_place place =
			philox_place_of(PHILOX_FORMAT_E4M3, x);

		ups += threshold_of(PHILOX_FORMAT_E4M3, 8, x, 0x38);
		lefts += philox_fraction_left(place.rest, place.shift, 8);
		cr_assert_eq(place.shift - 8, 12);
		wanted += k;
	}
	/* in units of step 2^-20: the mean is short by 4095 / 2 */
	cr_assert_eq(wanted - (ups << 12), (uint64_t)4095 << 19);
	cr_assert_eq(wanted, (ups << 12) + lefts);
}

/*
 * What is left of a fraction after a field is compared, bit for bit, with the
 * words of the retries as one long number: below it goes up.
 */
static int goes_up(struct philox_state state, uint64_t element, uint32_t rest,
		   uint32_t shift)
{
	for (uint64_t t = 0; t < 8; t++) {
		const struct philox_state retry = philox_retry_state(state, t);
		const struct philox_words words =
			philox_draw4(retry, element / 4);

		for (uint32_t bit = 0; bit < 32; bit++, shift--) {
			const uint32_t drawn =
				words.w[element % 4] >> (31 - bit) & 1;
			const uint32_t of_f = shift && shift <= 31
						      ? rest >> (shift - 1) & 1
						      : 0;

			if (drawn != of_f)
				return drawn < of_f;
			if (!shift)
				return 0;
		}
	}
	return 0;
}

Test(quantize, what_is_left_of_a_fraction_is_compared_with_the_retries)
{
	const struct philox_state state = {42, 8};
	uint32_t ups = 0;

	for (uint64_t e = 0; e < 200000; e++) {
		const struct philox_words words = philox_draw4(state, e);
		const uint32_t shift = 1 + words.w[0] % 140;
		const uint32_t size = shift < 24 ? shift : 24;
		uint32_t rest = (words.w[1] & ((1u << size) - 1)) | 1;

		/* of short ones all; of long ones those that are near a word */
		if (shift <= 32 && e % 2)
			rest = (philox_word_at(philox_retry_state(state, 0),
					       e) >>
				(32 - shift)) &
			       0xffffffu;
		cr_assert_eq(!!philox_round_again(state, e, rest, shift),
			     goes_up(state, e, rest, shift),
			     "element %llu: 0x%x 2^-%u", (unsigned long long)e,
			     rest, shift);
		ups += (uint32_t)goes_up(state, e, rest, shift);
	}
	cr_assert_gt(ups, 5000);
}

/* --- to nearest ----------------------------------------------------------- */

Test(quantize, scales_are_rounded_to_nearest_even)
{
	for (uint32_t bits = 0; bits < 0x7f800000u; bits += 0x1357) {
		const float x = philox_f32_from_bits(bits);
		const uint32_t below = find_below(PHILOX_FORMAT_E4M3, x);
		const double f = fraction(PHILOX_FORMAT_E4M3, below, x);
		const uint32_t up = f > 0.5 || (f == 0.5 && below % 2);
		const uint32_t code = below + up > 0x7e ? 0x7e : below + up;

		cr_assert_eq(philox_round_nearest(PHILOX_FORMAT_E4M3, x), code,
			     "%a", (double)x);
	}
	for (uint32_t code = 0; code < 0x7e; code++) {
		const double half = (magnitude(PHILOX_FORMAT_E4M3, code) +
				     magnitude(PHILOX_FORMAT_E4M3, code + 1)) /
				    2;

		cr_assert_eq(
			philox_round_nearest(PHILOX_FORMAT_E4M3, (float)half),
			code + code % 2);
	}
}

Test(quantize, numbers_of_a_format_stay_what_they_are)
{
	for (uint32_t format = 0; format < FORMATS; format++)
		for (uint32_t code = 0; code <= forms[format].largest; code++) {
			const float x = philox_format_to_f32(format, code);

			cr_assert_eq((double)x, magnitude(format, code));
			for (uint32_t k = 0; k < 3; k++)
				cr_assert_eq(rounded(format, 8u << k, x,
						     0 - (code & 1)),
					     code);
			cr_assert_eq(
				philox_format_to_f32(
					format,
					code | (uint32_t)forms[format].sign),
				-x);
		}
}
