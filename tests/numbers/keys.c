/*
 * tests/numbers/keys.c - derived keys: none occurs twice, and every bit counts
 *
 * Ten million operator seeds are taken from regions of a real context, over
 * operators, calls, region names, generator seeds and ranks. Among so many
 * random 64-bit keys two are equal with probability 2.7e-6, so none may be.
 *
 * The avalanche: one bit of a fold's input changes each bit of its output with
 * probability 1/2. Inputs come from SplitMix64, which has nothing in common
 * with Philox, and are the same in every run; the bounds are chosen so that all
 * checks of a test together fail for a random function with probability 10^-9.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/programs/sanitized.h"
#include "tests/support/support.h"

/* --- collisions ----------------------------------------------------------- */

enum {
	REGIONS = 100,
	KEY_OPS = 1000,
	KEY_CALLS = SANITIZED ? 1 : 90,
	RANKS = 64,
	SEEDS = 36,
	SOME_OPS = 100, /* of each region, for each rank and seed */
	ROOTS = 1 + RANKS + SEEDS,
	KEYS = REGIONS * (KEY_OPS * KEY_CALLS + (RANKS + SEEDS) * SOME_OPS),
	ALL = KEYS + ROOTS * (REGIONS + 1) /* with the parts they derive from */
};

struct keys {
	uint64_t *key;
	size_t n;
	struct philox_generator *generator;
	struct philox_region *region[REGIONS];
};

static void add_key(struct keys *keys, uint64_t key)
{
	cr_assert_lt(keys->n, ALL);
	keys->key[keys->n++] = key;
}

static void make_regions(struct fixture *f, struct keys *keys)
{
	static struct philox_op_desc ops[KEY_OPS];
	char name[32];
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = name,
					     .ops = ops,
					     .n_ops = KEY_OPS};

	for (int i = 0; i < KEY_OPS; i++)
		ops[i].calls = KEY_CALLS;
	for (int i = 0; i < REGIONS; i++) {
		snprintf(name, sizeof(name), "block %d", i);
		OK(philox_region_create(f->context, &options,
					&keys->region[i]));
	}
	keys->generator = philox_context_generator(f->context);
}

/* The seeds of a region, as one forward of it gives them. */
static void add_region(struct fixture *f, struct keys *keys,
		       struct philox_region *region, uint32_t ops,
		       uint32_t calls)
{
	struct philox_pass pass;
	struct philox_rng rng;

	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	add_key(keys, pass.state.seed);
	for (uint32_t op = 0; op < ops; op++)
		for (uint32_t call = 0; call < calls; call++) {
			OK(philox_pass_rng(&pass, op, call, &rng));
			add_key(keys, rng.state.seed);
		}
	OK(philox_pass_commit(&pass, 0, NULL));
}

static void add_root(struct fixture *f, struct keys *keys, uint32_t ops,
		     uint32_t calls)
{
	struct philox_state state;

	OK(philox_generator_get_state(keys->generator, &state));
	add_key(keys, state.seed);
	for (int i = 0; i < REGIONS; i++)
		add_region(f, keys, keys->region[i], ops, calls);
}

static int compare_keys(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

Test(keys, ten_million_seeds_of_all_levels_are_different, .timeout = 300)
{
	struct keys keys = {malloc(ALL * sizeof(*keys.key)), 0, NULL, {0}};
	struct fixture f;

	cr_assert_not_null(keys.key);
	cr_assert_geq(KEYS, SANITIZED ? 1000000 : 10000000);
	fixture_open(&f, "host:sync");
	make_regions(&f, &keys);
	OK(philox_generator_seed(keys.generator, 42));
	add_root(&f, &keys, KEY_OPS, KEY_CALLS);
	for (uint64_t rank = 0; rank < RANKS; rank++) {
		OK(philox_generator_seed(keys.generator, 42));
		OK(philox_generator_fold(keys.generator, rank));
		add_root(&f, &keys, SOME_OPS, 1);
	}
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		OK(philox_generator_seed(keys.generator, seed));
		add_root(&f, &keys, SOME_OPS, 1);
	}
	cr_assert_eq(keys.n, ALL);
	qsort(keys.key, ALL, sizeof(*keys.key), compare_keys);
	for (size_t i = 1; i < ALL; i++)
		cr_assert(keys.key[i - 1] != keys.key[i],
			  "%" PRIx64 " comes twice", keys.key[i]);
	fixture_close(&f);
	free(keys.key);
}

/* --- avalanche ------------------------------------------------------------ */

enum { SAMPLES = 16384, INPUT_BITS = 128 };

/* Each coordinate but 0 has a plane. */
#define AXIS_PLANE(coordinate) (PHILOX_FOLD_AXIS | (uint64_t)(coordinate) << 8)

static const uint64_t planes[] = {
	PHILOX_FOLD_REGION, PHILOX_FOLD_OP,        PHILOX_FOLD_RANK,
	PHILOX_FOLD_RETRY,  PHILOX_FOLD_TABLE,     PHILOX_FOLD_ROW,
	PHILOX_FOLD_ACCEPT, PHILOX_FOLD_REST,      PHILOX_FOLD_ORDER,
	AXIS_PLANE(1),      AXIS_PLANE(UINT32_MAX)};

enum { PLANES = sizeof(planes) / sizeof(planes[0]) };

/* Steele, Lea, Flood: "Fast splittable pseudorandom number generators". */
static uint64_t splitmix64(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* Of two inputs: a generator's or region's seed, and the index folded in. */
static uint64_t derive(uint64_t plane, uint64_t seed, uint64_t index)
{
	if (plane == PHILOX_FOLD_OP)
		return philox_op_seed(seed, (uint32_t)index,
				      (uint32_t)(index >> 32));
	if ((plane & 0xff) == (PHILOX_FOLD_AXIS & 0xff))
		return philox_axis_seed(seed, index, (uint32_t)(plane >> 8));
	return philox_fold(seed, plane, index);
}

/*
 * The change in the output if one of 128 bits, those of the seed first,
 * changes.
 */
static uint64_t change(uint64_t plane, uint64_t seed, uint64_t index, int bit)
{
	uint64_t flip = (uint64_t)1 << bit % 64;

	return derive(plane, seed, index) ^
	       (bit < 64 ? derive(plane, seed ^ flip, index)
			 : derive(plane, seed, index ^ flip));
}

/*
 * 65536 counts: each may be off by 7.7 standard deviations, which a normal
 * number exceeds with probability 1.4e-14.
 */
Test(keys, each_bit_of_a_fold_depends_on_each_bit_that_goes_in, .timeout = 120)
{
	const double bound = 7.7 * sqrt(SAMPLES) / 2;

	for (int p = 0; p < PLANES; p++)
		for (int in = 0; in < INPUT_BITS; in++) {
			unsigned flips[64] = {0};
			uint64_t random = 1;

			for (int i = 0; i < SAMPLES; i++) {
				uint64_t seed = splitmix64(&random);
				uint64_t index = splitmix64(&random);
				uint64_t to =
					change(planes[p], seed, index, in);

				for (int out = 0; out < 64; out++)
					flips[out] += to >> out & 1;
			}
			for (int out = 0; out < 64; out++)
				cr_assert(fabs(flips[out] - SAMPLES / 2.0) <=
						  bound,
					  "plane %d, bit %d to bit %d: %u of "
					  "%d",
					  p, in, out, flips[out], SAMPLES);
		}
}

/* The probability that `changed` of 64 bits change: binomial. */
static double share_of(int changed)
{
	return exp(lgamma(65) - lgamma(changed + 1) - lgamma(65 - changed) -
		   64 * log(2));
}

/*
 * If bits changed together, the distribution of their number would change. Each
 * of 16 .. 48 is a class and the rest is one: 33 degrees of freedom, and
 * chi-squared exceeds 117 with probability 2.5e-11, in one of sixteen tests
 * 4e-10.
 */
static void check_number_of_changes(uint64_t plane, int from, int to)
{
	double seen[65] = {0}, tail = 0, expected_tail = 0, chi_squared = 0;
	const double n = (double)SAMPLES * (to - from);
	uint64_t random = 2;

	for (int i = 0; i < SAMPLES; i++) {
		uint64_t seed = splitmix64(&random);
		uint64_t index = splitmix64(&random);

		for (int in = from; in < to; in++)
			seen[__builtin_popcountll(
				change(plane, seed, index, in))]++;
	}
	for (int k = 0; k <= 64; k++) {
		double expected = n * share_of(k);

		if (k >= 16 && k <= 48) {
			chi_squared += (seen[k] - expected) *
				       (seen[k] - expected) / expected;
			continue;
		}
		tail += seen[k];
		expected_tail += expected;
	}
	chi_squared +=
		(tail - expected_tail) * (tail - expected_tail) / expected_tail;
	cr_assert_lt(chi_squared, 117, "plane %" PRIx64 ", bits %d .. %d",
		     plane, from, to - 1);
}

Test(keys, the_bits_of_a_fold_change_independently, .timeout = 120)
{
	for (int p = 0; p < PLANES; p++) {
		check_number_of_changes(planes[p], 0, 64);
		check_number_of_changes(planes[p], 64, 128);
	}
}

/* The same index in two planes: 32 bits differ, with deviation 4 / 128. */
Test(keys, planes_are_unrelated)
{
	for (int p = 0; p < PLANES; p++)
		for (int q = 0; q < p; q++) {
			uint64_t random = 3;
			double bits = 0;

			for (uint64_t i = 0; i < SAMPLES; i++) {
				uint64_t seed = splitmix64(&random);

				bits += __builtin_popcountll(
					derive(planes[p], seed, i) ^
					derive(planes[q], seed, i));
			}
			cr_assert_float_eq(bits / SAMPLES, 32, 6.5 * 4 / 128,
					   "planes %d, %d", p, q);
		}
}

/* --- axes of meshes ------------------------------------------------------- */

/* Like those of a seed and of an index, the bits of a coordinate all count. */
Test(keys, each_bit_of_a_seed_depends_on_each_bit_of_a_coordinate)
{
	const double bound = 7.7 * sqrt(SAMPLES) / 2;

	for (int in = 0; in < 32; in++) {
		unsigned flips[64] = {0};
		uint64_t random = 4;

		for (int i = 0; i < SAMPLES; i++) {
			uint64_t seed = splitmix64(&random);
			uint64_t axis = splitmix64(&random);
			uint32_t at = (uint32_t)splitmix64(&random);
			uint64_t to =
				philox_axis_seed(seed, axis, at) ^
				philox_axis_seed(seed, axis, at ^ 1u << in);

			for (int out = 0; out < 64; out++)
				flips[out] += to >> out & 1;
		}
		for (int out = 0; out < 64; out++)
			cr_assert(fabs(flips[out] - SAMPLES / 2.0) <= bound,
				  "bit %d to bit %d: %u of %d", in, out,
				  flips[out], SAMPLES);
	}
}

/* Of one axis, as the ranks of a program have them; 0 is the seed itself. */
Test(keys, neighbouring_coordinates_are_unrelated)
{
	static const char *const axes[] = {"data", "tensor", "a", "b"};

	for (size_t a = 0; a < sizeof(axes) / sizeof(axes[0]); a++)
		for (uint64_t seed = 0; seed < 4; seed++) {
			uint64_t axis = fnv1a(axes[a]);
			double bits = 0;

			for (uint32_t at = 0; at < SAMPLES; at++)
				bits += __builtin_popcountll(
					philox_axis_seed(seed, axis, at) ^
					philox_axis_seed(seed, axis, at + 1));
			cr_assert_float_eq(bits / SAMPLES, 32, 6.5 * 4 / 128,
					   "%s, seed %d", axes[a], (int)seed);
		}
}

/*
 * The second half of a fold's counter is its plane: that of a coordinate has
 * the highest bit, so no draw has it, and a low byte that no other level has.
 */
Test(keys, no_fold_of_a_coordinate_has_the_counter_of_another)
{
	static const uint32_t at[] = {1,      2,          3,         255,
				      256,    0x10000,    0x1000000, 1u << 31,
				      0xd1d1, 0x07070707, UINT32_MAX};
	enum { ATS = sizeof(at) / sizeof(at[0]) };

	for (int i = 0; i < ATS; i++) {
		uint64_t plane = AXIS_PLANE(at[i]);

		cr_assert_eq(philox_axis_seed(5, 9, at[i]),
			     philox_fold(5, plane, 9));
		cr_assert_eq(plane >> 40, 0x800000);
		for (int k = 0; k < i; k++)
			cr_assert_neq(plane, AXIS_PLANE(at[k]));
		for (int p = 0; p < PLANES; p++)
			cr_assert((planes[p] & 0xff) == 7 ||
				  (planes[p] & 0xff) != (plane & 0xff));
	}
	cr_assert_eq(PHILOX_FOLD_AXIS, 0x8000000000000007);
}
