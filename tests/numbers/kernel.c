/*
 * tests/numbers/kernel.c - the generator, key derivation and exact values
 *
 * Known answers are in the texts of tests/numbers/known; everything else is
 * checked against the comments of philox/kernel.h. Normal numbers have their own
 * file, normal.c.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <philox/kernel.h>
#include "lib/dist/elements.h"

/* --- known answers -------------------------------------------------------- */

struct answer {
	unsigned rounds;
	uint32_t counter[4], key[2], out[4];
};

static int parse_answer(const char *line, struct answer *a)
{
	return sscanf(line, "%u %x %x %x %x %x %x %x %x %x %x", &a->rounds,
		      &a->counter[0], &a->counter[1], &a->counter[2],
		      &a->counter[3], &a->key[0], &a->key[1], &a->out[0],
		      &a->out[1], &a->out[2], &a->out[3]) == 11;
}

static uint64_t join(uint32_t low, uint32_t high)
{
	return (uint64_t)high << 32 | low;
}

/* An offset has 64 bits, so a draw's low counter has 62. */
static void check_answer(const struct answer *a, const char *line)
{
	uint64_t seed = join(a->key[0], a->key[1]);
	uint64_t low = join(a->counter[0], a->counter[1]);
	uint64_t high = join(a->counter[2], a->counter[3]);
	struct philox_words got = philox_block(seed, low, high);

	cr_assert_eq(a->rounds, 10);
	cr_assert_arr_eq(got.w, a->out, sizeof(a->out), "%s", line);
	if (low < (uint64_t)1 << 62) {
		struct philox_state state = {seed, low * 4};

		got = philox_draw4(state, high);
		cr_assert_arr_eq(got.w, a->out, sizeof(a->out), "%s", line);
	}
}

static unsigned check_answers(const char *path)
{
	FILE *file = fopen(path, "r");
	unsigned rows = 0;
	char line[256];
	struct answer answer;

	cr_assert_not_null(file, "%s: run the tests from the top of the tree",
			   path);
	while (fgets(line, sizeof(line), file)) {
		if (line[0] == '#')
			continue;
		cr_assert(parse_answer(line, &answer), "%s: %s", path, line);
		check_answer(&answer, line);
		rows++;
	}
	fclose(file);
	return rows;
}

Test(kernel, gives_the_known_answers_of_random123)
{
	cr_assert_eq(check_answers("tests/numbers/known/kat_philox.txt"), 3);
}

Test(kernel, agrees_with_the_header_of_random123_where_counters_carry)
{
	cr_assert_geq(check_answers("tests/numbers/known/kat_random123.txt"),
		      36);
}

/* --- states --------------------------------------------------------------- */

Test(kernel, a_state_is_the_16_bytes_others_read)
{
	struct philox_state state = {0x0123456789abcdef, 0xfedcba9876543210};
	int64_t bytes[2];

	cr_assert_eq(sizeof(state), 16);
	cr_assert_eq(sizeof(struct philox_rng), 24);
	memcpy(bytes, &state, sizeof(bytes));
	cr_assert_eq((uint64_t)bytes[0], state.seed);
	cr_assert_eq((uint64_t)bytes[1], state.offset);
}

Test(kernel, an_rng_resolves_to_its_cell_or_else_its_value)
{
	struct philox_state cell = {1, 4}, value = {2, 8};
	struct philox_rng by_value = {value, NULL}, by_cell = {value, &cell};

	cr_assert_eq(philox_resolve(by_value).seed, 2);
	cr_assert_eq(philox_resolve(by_value).offset, 8);
	cr_assert_eq(philox_resolve(by_cell).seed, 1);
	cr_assert_eq(philox_resolve(by_cell).offset, 4);
}

Test(kernel, odd_offsets_are_poison_and_multiples_of_4_are_not)
{
	static const struct {
		uint64_t offset;
		int poison;
	} rows[] = {{0, 0},
		    {4, 0},
		    {(uint64_t)1 << 34, 0},
		    {UINT64_MAX - 3, 0},
		    {1, 1},
		    {UINT64_MAX, 1},
		    {PHILOX_POISON_OFFSET, 1}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct philox_state state = {7, rows[i].offset};

		cr_assert_eq(philox_is_poison(state), rows[i].poison, "%zu", i);
	}
}

/* --- key derivation ------------------------------------------------------- */

Test(kernel, a_fold_is_one_block_of_its_plane)
{
	static const uint64_t planes[] = {
		PHILOX_FOLD_REGION, PHILOX_FOLD_OP,     PHILOX_FOLD_RANK,
		PHILOX_FOLD_RETRY,  PHILOX_FOLD_TABLE,  PHILOX_FOLD_ROW,
		PHILOX_FOLD_AXIS,   PHILOX_FOLD_ACCEPT, PHILOX_FOLD_REST,
		PHILOX_FOLD_ORDER};
#define LAST_BLOCK(name, out, in, n, traits) UINT64_MAX / n,
	static const uint64_t last[] = {FILL_LIST(LAST_BLOCK)};
#undef LAST_BLOCK

	for (size_t i = 0; i < sizeof(planes) / sizeof(planes[0]); i++) {
		for (size_t k = 0; k < sizeof(last) / sizeof(last[0]); k++)
			cr_assert_gt(planes[i], last[k], "fill %zu", k);
		for (size_t k = 0; k < i; k++)
			cr_assert_neq(planes[i], planes[k]);
	}
}

/* Bits that differ between two seeds: 32 on average if they are unrelated. */
static double mean_distance(uint64_t step_seed, uint64_t step_op,
			    uint64_t step_call)
{
	const unsigned n = 20000;
	unsigned long bits = 0;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t a = philox_op_seed(i, (uint32_t)i, 0);
		uint64_t b =
			philox_op_seed(i + step_seed, (uint32_t)(i + step_op),
				       (uint32_t)step_call);

		bits += (unsigned long)__builtin_popcountll(a ^ b);
	}
	return (double)bits / n;
}

/* One standard deviation of the mean is 4 / sqrt(20000) = 0.03. */
Test(kernel, neighbouring_seeds_are_unrelated)
{
	cr_assert_float_eq(mean_distance(1, 0, 0), 32, 0.15);
	cr_assert_float_eq(mean_distance(0, 1, 0), 32, 0.15);
	cr_assert_float_eq(mean_distance(0, 0, 1), 32, 0.15);
	cr_assert_float_eq(mean_distance((uint64_t)1 << 32, 0, 0), 32, 0.15);
}

/* --- values --------------------------------------------------------------- */

Test(kernel, uniform_numbers_are_their_high_bits_and_below_1)
{
	static const uint32_t words[] = {0,          1,          0xff,
					 0x100,      0x7fffffff, 0x80000000,
					 0xfeffffff, 0xff000000, 0xffffff00,
					 0xffffffff, 0x12345678, 0xdeadbeef};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		uint32_t w = words[i];
		uint64_t w64 = join(~w, w);
		double f32 = philox_uniform_f32(w);
		double bf16 = philox_bf16_to_f32(philox_uniform_bf16(w));
		double f64 = philox_uniform_f64(w64);

		cr_assert_eq(f32, floor(w / 256.0) / 16777216.0, "%x", w);
		cr_assert_eq(bf16, floor(w / 16777216.0) / 256.0, "%x", w);
		cr_assert_eq(f64, ldexp((double)(w64 >> 11), -53), "%x", w);
		cr_assert(f32 < 1 && bf16 < 1 && f64 < 1, "%x", w);
	}
	cr_assert_eq(philox_uniform_f64(UINT64_MAX), 1 - ldexp(1, -53));
}

Test(kernel, every_bf16_survives_widening)
{
	for (uint32_t bits = 0; bits < 0x10000; bits++) {
		float x = philox_bf16_to_f32((uint16_t)bits);
		uint16_t back = philox_f32_to_bf16(x);

		if (isnan(x))
			cr_assert_eq(back, bits | 0x40, "%x", bits);
		else
			cr_assert_eq(back, bits, "%x", bits);
	}
}

/* The bf16 below or above a finite x >= 0 that is nearer, else the even one. */
static uint16_t nearest_bf16(float x)
{
	uint16_t below = (uint16_t)(philox_f32_bits(x) >> 16);
	uint16_t above = (uint16_t)(below + 1);
	double down = x - (double)philox_bf16_to_f32(below);
	/* the number after the largest bf16 counts as infinity */
	double next = above == 0x7f80 ? ldexp(1, 128)
				      : (double)philox_bf16_to_f32(above);
	double up = next - x;

	if (down != up)
		return down < up ? below : above;
	return below & 1 ? above : below;
}

Test(kernel, rounding_to_bf16_is_to_nearest_even)
{
	uint64_t seed = 5;

	for (uint64_t i = 0; i < 200000; i++) {
		struct philox_words words = philox_block(seed, i, 0);
		/* every other one lies half-way between two */
		uint32_t bits = i % 2 ? words.w[0]
				      : (words.w[0] & 0xffff0000u) | 0x8000u;
		float x = philox_f32_from_bits(bits & 0x7fffffffu);

		if (!isfinite(x))
			continue;
		cr_assert_eq(philox_f32_to_bf16(x), nearest_bf16(x), "%a", x);
		cr_assert_eq(philox_f32_to_bf16(-x), nearest_bf16(x) | 0x8000,
			     "%a", -x);
	}
}

Test(kernel, rounding_to_bf16_keeps_infinity_and_nan)
{
	cr_assert_eq(philox_f32_to_bf16(INFINITY), 0x7f80);
	cr_assert_eq(philox_f32_to_bf16(-INFINITY), 0xff80);
	cr_assert_eq(philox_f32_to_bf16(0x1.fffffep127f), 0x7f80);
	cr_assert_eq(philox_f32_to_bf16(philox_f32_from_bits(0x7fc00000)),
		     0x7fc0);
	/* the whole payload is in the half that is cut off */
	cr_assert_eq(philox_f32_to_bf16(philox_f32_from_bits(0xff800001)),
		     0xffc0);
	cr_assert_eq(philox_f32_to_bf16(philox_f32_from_bits(0x7fffffff)),
		     0x7fff);
}

/* --- thresholds and dropout ----------------------------------------------- */

Test(kernel, a_threshold_is_p_in_units_of_2_to_the_minus_32_rounded)
{
	const struct {
		double p;
		uint64_t threshold;
	} rows[] = {
		{0, 0},
		{-0.0, 0},
		{1, (uint64_t)1 << 32},
		{0.5, (uint64_t)1 << 31},
		{0.25, (uint64_t)1 << 30},
		{0.1, 429496730},
		{0.9, 3865470566},
		{ldexp(1, -32), 1},
		{ldexp(1, -33), 1},
		{nextafter(ldexp(1, -33), 0), 0},
		{nextafter(ldexp(1, -33), 1), 1},
		{5e-324, 0},
		{nextafter(ldexp(3, -33), 0), 1},
		{ldexp(3, -33), 2},
		{1 - ldexp(1, -32), ((uint64_t)1 << 32) - 1},
		{1 - ldexp(1, -33), (uint64_t)1 << 32},
		{nextafter(1 - ldexp(1, -33), 0), ((uint64_t)1 << 32) - 1},
		{nextafter(1, 0), (uint64_t)1 << 32},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_eq(philox_threshold(rows[i].p), rows[i].threshold,
			     "p = %a", rows[i].p);
}

Test(kernel, a_word_is_kept_from_the_threshold_on)
{
	const uint64_t all = (uint64_t)1 << 32;

	cr_assert(philox_keep(0, 0));
	cr_assert(philox_keep(UINT32_MAX, 0));
	cr_assert_not(philox_keep(0, all));
	cr_assert_not(philox_keep(UINT32_MAX, all));
	cr_assert_not(philox_keep(41, 42));
	cr_assert(philox_keep(42, 42));
	cr_assert_not(philox_keep(UINT32_MAX - 1, all - 1));
	cr_assert(philox_keep(UINT32_MAX, all - 1));
}

Test(kernel, dropout_scales_what_it_keeps_and_zeroes_the_rest)
{
	const uint64_t half = philox_threshold(0.5);
	const struct {
		float x;
		uint32_t w;
		uint32_t bits;
	} rows[] = {
		{3, UINT32_MAX, 0x40c00000},
		{3, 0, 0},
		{-3, 0, 0},
		{NAN, 0, 0},
		{-INFINITY, 0, 0},
		{INFINITY, UINT32_MAX, 0x7f800000},
		{-0.0f, UINT32_MAX, 0x80000000},
		{0x1p-149f, UINT32_MAX, 0x00000002},
		{0x1p127f, UINT32_MAX, 0x7f800000},
		{NAN, UINT32_MAX, 0x7fc00000},
		{-NAN, UINT32_MAX, 0x7fc00000},
	};

	cr_assert_eq(philox_dropout_scale(0.5), 2);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_eq(philox_f32_bits(philox_dropout_f32(
				     rows[i].x, rows[i].w, half, 2)),
			     rows[i].bits, "row %zu", i);
}

Test(kernel, the_dropout_scale_is_1_over_1_minus_p)
{
	cr_assert_eq(philox_dropout_scale(0), 1);
	cr_assert_eq(philox_dropout_scale(0.1), (float)(1 / 0.9));
	cr_assert_eq(philox_dropout_scale(0.75), 4);
	cr_assert_eq(philox_dropout_scale(1), 0);
	cr_assert(isfinite(philox_dropout_scale(nextafter(1, 0))));
}
