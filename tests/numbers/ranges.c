/*
 * tests/numbers/ranges.c - short forms of uniform numbers have the bits of the
 * long ones
 *
 * philox_range_f32() and a rounding define a uniform number. lib/dist/ranges.h
 * has another form for GPUs, whose packed instructions are here what the PTX
 * manual says of them. Every word's digits are tried in bf16 and f16, and in
 * f32 in some ranges.
 */
#include <math.h>
#include "lib/dist/dist.h"
#include "lib/dist/ranges.h"
#include "tests/support/support.h"

/* --- ranges --------------------------------------------------------------- */

struct range {
	double low, high;
};

#define DENORMAL_F32  0x1p-149
#define DENORMAL_BF16 0x1p-133
#define DENORMAL_F16  0x1p-24

/* Ends that are 0, beside 0, of denormals, and as large as may be. */
static const struct range special[] = {
	{-1, 1},
	{0, 3},
	{-0.0, 0.5},
	{-3, 0},
	{-1, DENORMAL_F32},
	{-1, DENORMAL_BF16},
	{-1, 1.5 * DENORMAL_BF16},
	{-1, DENORMAL_F16},
	{-DENORMAL_F16, DENORMAL_F16},
	{-DENORMAL_F32, DENORMAL_F32},
	{-DENORMAL_F32, 1},
	{-DENORMAL_F32, 3 * DENORMAL_F32},
	{-3 * DENORMAL_F32, 2 * DENORMAL_F32},
	{-DENORMAL_BF16, 257 * DENORMAL_F32}, /* makes -0 of f32 */
	{-DENORMAL_BF16, 0x1.01p-124},
	{-3 * DENORMAL_BF16, 2 * DENORMAL_BF16},
	{0, DENORMAL_F32},
	{0, 7 * DENORMAL_BF16},
	{DENORMAL_BF16, 9 * DENORMAL_BF16},
	{-9 * DENORMAL_BF16, -DENORMAL_BF16},
	{1, 1 + 0x1p-7},
	{-0x1.fp-10, 0x1.ep-10},
	{0x1p-103, 0x1p-102},
	{0x1p-102, 0x1.8p-101},
	{0, 0x1.fffffep2},
	{-4, 4},
	{-60000, 1},
	{-65504, 65504},
	{0, 0x1.fep127},
	{-0x1.fep126, 0x1.fep126},
};

enum { N_SPECIAL = sizeof(special) / sizeof(special[0]) };

static uint64_t random_bits(void)
{
	static uint64_t x = 88172645463325252ULL;

	x ^= x << 13;
	x ^= x >> 7;
	return x ^= x << 17;
}

/* Of any size that a dtype has, of both signs. */
static double random_end(int least, int most)
{
	double digits = 1 + (double)(random_bits() >> 11) * 0x1p-53;
	int power = least + (int)(random_bits() % (uint64_t)(most - least));

	return ldexp(random_bits() % 2 ? digits : -digits, power);
}

/* The upper end may be near the lower one, and either may be 0. */
static struct range random_range(int least, int most)
{
	struct range range = {random_end(least, most), 0};
	uint64_t kind = random_bits() % 8;

	if (kind == 0)
		range.low = 0;
	if (kind < 4)
		range.high = range.low + fabs(random_end(least, most));
	else if (kind < 7)
		range.high = random_end(least, most);
	return range;
}

static struct range range_number(unsigned k, int least, int most)
{
	return k < N_SPECIAL ? special[k] : random_range(least, most);
}

/* Whether the range is one of the dtype, with the kernel's arguments. */
static int is_range(enum philox_dtype dtype, struct range range,
		    struct fill_args *args)
{
	struct philox_fill_desc fill = {.dist = PHILOX_DIST_UNIFORM,
					.dtype = dtype,
					.low = range.low,
					.high = range.high};

	*args = (struct fill_args){.rows = 1};
	if (fill_check_parameters(&fill) != PHILOX_OK)
		return 0;
	fill_set_parameters(&fill, args);
	return 1;
}

/* --- the definition ------------------------------------------------------- */

static float long_form(const struct fill_args *args, float u)
{
	return philox_range_f32(u, args->f32.scale, args->f32.shift,
				args->f32.bottom, args->f32.top);
}

static uint32_t long_bf16(const struct fill_args *args, uint32_t w)
{
	return philox_number_to_bf16(long_form(args, philox_uniform_8(w)));
}

static uint32_t long_f16(const struct fill_args *args, uint32_t w)
{
	return philox_number_to_f16(long_form(args, philox_uniform_11(w)));
}

static uint32_t long_f32(const struct fill_args *args, uint32_t w)
{
	return philox_f32_bits(long_form(args, philox_uniform_f32(w)));
}

/* --- and the short form --------------------------------------------------- */

static uint32_t bits_of_bf16(uint16_t x)
{
	return x;
}

#define bits_of_f16 bits_of_bf16
#define bits_of_f32 philox_f32_bits

/* Words digits << shift .., with any bits below them. */
static struct philox_words words_from(uint32_t digits, int shift)
{
	struct philox_words words;

	for (unsigned i = 0; i < 4; i++)
		words.w[i] = (digits + i) << shift |
			     ((uint32_t)random_bits() & ((1u << shift) - 1));
	return words;
}

/* `every` 1 tries all digits; the result counts what differs. */
#define COMPARE(type, element, bits)                                          \
	static unsigned differ_##type(const struct fill_args *args,           \
				      uint32_t every)                         \
	{                                                                     \
		unsigned wrong = 0;                                           \
                                                                              \
		for (uint32_t d = 0; d < 1u << bits; d += 4 * every) {        \
			struct philox_words words = words_from(d, 32 - bits); \
			element v[4];                                         \
                                                                              \
			fill_short_range_##type(args, words, v);              \
			for (int i = 0; i < 4; i++)                           \
				wrong += bits_of_##type(v[i]) !=              \
					 long_##type(args, words.w[i]);       \
		}                                                             \
		return wrong;                                                 \
	}

COMPARE(bf16, uint16_t, 8)
COMPARE(f16, uint16_t, 11)
COMPARE(f32, float, 24)

#define TRY(type, dtype, ranges, least, most, every)                        \
	do {                                                                \
		unsigned n_short = 0, n_long = 0;                           \
                                                                            \
		for (unsigned k = 0; k < (ranges); k++) {                   \
			struct range range = range_number(k, least, most);  \
			struct fill_args args;                              \
			unsigned wrong;                                     \
                                                                            \
			if (!is_range(dtype, range, &args))                 \
				continue;                                   \
			n_short += args.ends.is_short;                      \
			n_long += !args.ends.is_short;                      \
			if (!args.ends.is_short)                            \
				continue;                                   \
			wrong = differ_##type(&args, every);                \
			cr_assert(wrong == 0, "[%a, %a): %u differ",        \
				  range.low, range.high, wrong);            \
		}                                                           \
		cr_assert(n_short > (ranges) / 8, "%u are short", n_short); \
		cr_assert(n_long > 0);                                      \
	} while (0)

Test(short_ranges, the_short_form_of_bf16_is_the_long_one)
{
	TRY(bf16, PHILOX_DTYPE_BF16, 20000, -149, 127, 1);
	TRY(bf16, PHILOX_DTYPE_BF16, 20000, -149, -110, 1);
}

Test(short_ranges, the_short_form_of_f16_is_the_long_one)
{
	TRY(f16, PHILOX_DTYPE_F16, 3000, -32, 15, 1);
}

Test(short_ranges, the_short_form_of_f32_is_the_long_one)
{
	TRY(f32, PHILOX_DTYPE_F32, 20000, -149, 127, 8191);
	TRY(f32, PHILOX_DTYPE_F32, 20000, -110, -90, 8191);
}

Test(short_ranges, all_digits_of_f32_in_some_ranges)
{
	static const struct range some[] = {
		{-1, 1}, {0.1, 0.2}, {-3e-5, 7e20}, {-0x1p-100, 0x1p-100}};

	for (size_t k = 0; k < sizeof(some) / sizeof(some[0]); k++) {
		struct fill_args args;

		cr_assert(is_range(PHILOX_DTYPE_F32, some[k], &args));
		cr_assert(args.ends.is_short);
		cr_assert(differ_f32(&args, 1) == 0, "range %zu", k);
	}
}

Test(short_ranges, ranges_that_people_use_are_short)
{
	static const struct range some[] = {
		{-1, 1}, {-0.05, 0.05}, {0, 2}, {-3.5, 4.25}, {-1, 0}};
	static const enum philox_dtype dtypes[] = {
		PHILOX_DTYPE_F32, PHILOX_DTYPE_BF16, PHILOX_DTYPE_F16};

	for (size_t k = 0; k < sizeof(some) / sizeof(some[0]); k++)
		for (size_t i = 0; i < 3; i++) {
			struct fill_args args;

			cr_assert(is_range(dtypes[i], some[k], &args));
			cr_assert(args.ends.is_short);
		}
}

/* --- plain numbers -------------------------------------------------------- */

/* All bytes, each with all others, and other bits below. */
Test(short_ranges, two_plain_numbers_of_bf16_at_once)
{
	for (uint32_t a = 0; a < 256; a++)
		for (uint32_t b = 0; b < 256; b++) {
			uint32_t w0 = a << 24 | (uint32_t)random_bits() >> 8;
			uint32_t w1 = b << 24 | (uint32_t)random_bits() >> 8;
			uint32_t two = fill_uniform_pair_bf16(w0, w1);

			cr_assert_eq(two & 0xffffu, philox_uniform_bf16(w0));
			cr_assert_eq(two >> 16, philox_uniform_bf16(w1));
		}
}
