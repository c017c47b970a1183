/*
 * tests/subset/subset.c - subsets by weight, without replacement
 *
 * What is chosen is compared with a sort of all items by logit plus Gumbel
 * number, which a fill has drawn.
 */
#include <math.h>
#include <philox/subset.h>
#include <stdlib.h>
#include <string.h>
#include "lib/base/base.h"
#include "lib/subset/subset.h"
#include "tests/support/support.h"

enum { MOST = 20000 };

static const struct philox_state state = {77, 12};

/* What one draw writes, on the host. */
struct drawn {
	uint32_t count;
	int32_t chosen[MOST];
	uint64_t keys[MOST];
};

static struct philox_subset_desc make_subset(struct fixture *f,
					     const void *weights,
					     uint32_t dtype, uint32_t items,
					     uint32_t wanted)
{
	struct philox_subset_desc subset =
		PHILOX_INIT(struct philox_subset_desc);
	uint64_t bytes;

	subset.weights =
		upload(f, weights,
		       (dtype == PHILOX_DTYPE_F32 ? 4 : 2) * (size_t)items);
	subset.dtype = dtype;
	subset.items = items;
	subset.wanted = wanted;
	subset.chosen = make_memory(f, 4 * (size_t)wanted);
	subset.keys = make_memory(f, 8 * (size_t)wanted);
	subset.count = make_memory(f, 4);
	OK(philox_subset_scratch_size(&subset, &bytes));
	subset.scratch = make_memory(f, bytes);
	OK(philox_memory_set(f->device, f->stream, subset.scratch, 0x5a,
			     bytes)); /* it need not be 0 */
	return subset;
}

static void read_back(struct fixture *f, void *to, const void *from,
		      size_t size)
{
	OK(philox_memory_copy(f->device, f->stream, to, from, size));
	OK(philox_stream_synchronize(f->device, f->stream));
}

static void read_drawn(struct fixture *f,
		       const struct philox_subset_desc *subset,
		       struct drawn *drawn)
{
	read_back(f, drawn->chosen, subset->chosen, 4 * (size_t)subset->wanted);
	read_back(f, drawn->keys, subset->keys, 8 * (size_t)subset->wanted);
	read_back(f, &drawn->count, subset->count, 4);
}

static void choose(struct fixture *f, const struct philox_subset_desc *subset,
		   struct philox_state from, struct drawn *drawn)
{
	OK(philox_rng_subset(f->device, f->stream,
			     (struct philox_rng){.state = from}, subset));
	read_drawn(f, subset, drawn);
}

/* Different numbers, some of them 0: not the library's. */
static float weight_of(uint32_t i)
{
	const uint32_t mixed = i * 2654435761u ^ i << 7;

	return mixed % 11 == 0 ? 0.0f : (float)(mixed >> 9) * 1e-4f + 1e-6f;
}

/* --- the reference -------------------------------------------------------- */

struct item {
	float score;
	int32_t index;
};

static int by_score(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->score != y->score)
		return x->score < y->score ? 1 : -1;
	return (x->index > y->index) - (x->index < y->index);
}

static int by_index(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

/* Sorts items by their scores; returns how many may be chosen. */
static uint32_t sort_items(struct fixture *f, const float *logits,
			   uint32_t items, struct philox_state from,
			   struct item *sorted)
{
	struct philox_fill_desc gumbel = {.size = sizeof(gumbel),
					  .dist = PHILOX_DIST_GUMBEL,
					  .dtype = PHILOX_DTYPE_F32,
					  .span = {.count = items}};
	float *noise = malloc(4 * (size_t)items);
	uint32_t possible = 0;

	gumbel.out = make_memory(f, 4 * (size_t)items);
	OK(philox_rng_fill(f->device, f->stream,
			   (struct philox_rng){.state = from}, &gumbel));
	read_back(f, noise, gumbel.out, 4 * (size_t)items);
	for (uint32_t i = 0; i < items; i++) {
		const volatile float score = logits[i] + noise[i];

		if (logits[i] != -INFINITY)
			sorted[possible++] = (struct item){score, (int32_t)i};
	}
	free(noise);
	qsort(sorted, possible, sizeof(*sorted), by_score);
	return possible;
}

/* Compares a draw with the reference. */
static void is_reference(struct fixture *f, const float *logits,
			 const struct philox_subset_desc *subset,
			 const struct drawn *drawn)
{
	static struct item sorted[MOST];
	const uint32_t possible =
		sort_items(f, logits, subset->items, state, sorted);
	const uint32_t n =
		possible < subset->wanted ? possible : subset->wanted;

	qsort(sorted, n, sizeof(*sorted), by_index);
	cr_assert_eq(drawn->count, n, "%u of %u", drawn->count, n);
	for (uint32_t i = 0; i < subset->wanted; i++) {
		const int32_t item = i < n ? sorted[i].index : -1;
		const uint64_t key =
			i < n ? philox_sample_order(sorted[i].score,
						    (uint32_t)item)
			      : 0;

		cr_assert_eq(drawn->chosen[i], item, "place %u: %d, not %d", i,
			     drawn->chosen[i], item);
		cr_assert_eq(drawn->keys[i], key, "key of item %d", item);
	}
}

/* --- promises ------------------------------------------------------------- */

PROMISE(subset, has_the_items_of_the_greatest_keys)
{
	static const uint32_t sizes[] = {1,    2,    3,    4,    5,   63,
					 4095, 4096, 4097, 8193, MOST};
	static float logits[MOST];
	static struct drawn drawn;

	for (uint32_t i = 0; i < MOST; i++)
		logits[i] = weight_of(i) == 0.0f ? -INFINITY
						 : (float)log(weight_of(i));
	for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++)
		for (uint32_t part = 0; part < 4; part++) {
			const uint32_t n = sizes[k];
			const uint32_t wanted = part == 0   ? 1
						: part == 1 ? n / 7 + 1
						: part == 2 ? n - n / 9
							    : n;
			struct philox_subset_desc subset = make_subset(
				f, logits, PHILOX_DTYPE_F32, n, wanted);

			subset.is_log = 1;
			choose(f, &subset, state, &drawn);
			is_reference(f, logits, &subset, &drawn);
		}
}

/* Weights of 16 bits are numbers of f32, whose logarithms are taken. */
PROMISE(subset, takes_weights_of_every_dtype)
{
	static float logits[5000];
	static uint16_t narrow[5000];
	static struct drawn drawn;

	for (int dtype = PHILOX_DTYPE_BF16; dtype <= PHILOX_DTYPE_F16;
	     dtype++) {
		struct philox_subset_desc subset;

		for (uint32_t i = 0; i < 5000; i++) {
			const int is_bf16 = dtype == PHILOX_DTYPE_BF16;

			narrow[i] =
				is_bf16 ? (uint16_t)(i * 6) : (uint16_t)(i * 5);
			logits[i] = philox_weight_ln(
				is_bf16 ? philox_bf16_to_f32(narrow[i])
					: philox_f16_to_f32(narrow[i]));
		}
		subset = make_subset(f, narrow, (uint32_t)dtype, 5000, 700);
		choose(f, &subset, state, &drawn);
		is_reference(f, logits, &subset, &drawn);
	}
}

/*
 * Scores that are all the same are ordered by index, which takes all the digits
 * of a key.
 */
PROMISE(subset, breaks_ties_by_the_lowest_index)
{
	static float logits[MOST];
	static struct drawn drawn;

	for (uint32_t i = 0; i < MOST; i++)
		logits[i] = i % 3 == 1 ? 1e30f : i % 3 == 2 ? -1e30f : -2e30f;
	for (uint32_t wanted = 1; wanted < MOST; wanted += 1 + wanted * 3 / 2) {
		struct philox_subset_desc subset =
			make_subset(f, logits, PHILOX_DTYPE_F32, MOST, wanted);

		subset.is_log = 1;
		choose(f, &subset, state, &drawn);
		is_reference(f, logits, &subset, &drawn);
	}
}

PROMISE(subset, of_fewer_items_is_part_of_one_of_more)
{
	static float weights[3000];
	static struct drawn few, many;
	struct philox_subset_desc subset;
	uint32_t found = 0;

	for (uint32_t i = 0; i < 3000; i++)
		weights[i] = weight_of(i);
	subset = make_subset(f, weights, PHILOX_DTYPE_F32, 3000, 500);
	choose(f, &subset, state, &many);
	subset.wanted = 123;
	choose(f, &subset, state, &few);
	cr_assert_eq(few.count, 123);
	for (uint32_t i = 0; i < 500; i++)
		found += found < 123 && many.chosen[i] == few.chosen[found];
	cr_assert_eq(found, 123);
}

PROMISE(subset, never_has_an_item_of_weight_0)
{
	static float weights[4000];
	static struct drawn drawn;
	struct philox_subset_desc subset;

	for (uint32_t i = 0; i < 4000; i++)
		weights[i] = i % 40 == 7 ? 1e-45f : i % 2 ? 0.0f : -0.0f;
	subset = make_subset(f, weights, PHILOX_DTYPE_F32, 4000, 150);
	choose(f, &subset, state, &drawn);
	cr_assert_eq(drawn.count, 100);
	for (uint32_t i = 0; i < 150; i++) {
		cr_assert_eq(drawn.chosen[i],
			     i < 100 ? (int32_t)(40 * i + 7) : -1);
		cr_assert_eq(drawn.keys[i] != 0, i < 100);
	}
}

PROMISE(subset, of_no_weights_is_empty)
{
	static const float weights[10];
	static struct drawn drawn;
	struct philox_subset_desc subset =
		make_subset(f, weights, PHILOX_DTYPE_F32, 10, 3);

	choose(f, &subset, state, &drawn);
	cr_assert_eq(drawn.count, 0);
	for (int i = 0; i < 3; i++)
		cr_assert(drawn.chosen[i] == -1 && drawn.keys[i] == 0);
}

static void is_none(const struct drawn *drawn, uint32_t wanted)
{
	cr_assert_eq(drawn->count, UINT32_MAX);
	for (uint32_t i = 0; i < wanted; i++)
		cr_assert(drawn->chosen[i] == -1 &&
			  drawn->keys[i] == UINT64_MAX);
}

PROMISE(subset, is_none_if_a_weight_is_no_weight)
{
	static const float bad[] = {NAN, -NAN, -1e-45f, -1, -INFINITY};
	static float weights[6000];
	static struct drawn drawn;

	for (uint32_t k = 0; k < 5; k++) {
		struct philox_subset_desc subset;

		for (uint32_t i = 0; i < 6000; i++)
			weights[i] = weight_of(i);
		weights[k * 1499] = bad[k];
		subset = make_subset(f, weights, PHILOX_DTYPE_F32, 6000, 9);
		choose(f, &subset, state, &drawn);
		is_none(&drawn, 9);
	}
}

PROMISE(subset, of_a_poisoned_state_is_none)
{
	const struct philox_state poison = {3, PHILOX_POISON_OFFSET};
	static const float weights[] = {1, 2, 3};
	static struct drawn drawn;
	struct philox_subset_desc subset =
		make_subset(f, weights, PHILOX_DTYPE_F32, 3, 2);
	struct philox_rng rng = {.cell = upload(f, &poison, sizeof(poison))};

	OK(philox_rng_subset(f->device, f->stream, rng, &subset));
	read_drawn(f, &subset, &drawn);
	is_none(&drawn, 2);
	cr_assert_eq(philox_subset_key(poison, 1, 0), UINT64_MAX);
}

PROMISE(subset, takes_infinite_weights_first)
{
	static float weights[100];
	static struct drawn drawn;
	struct philox_subset_desc subset;

	for (uint32_t i = 0; i < 100; i++)
		weights[i] = i == 20 || i == 70 ? INFINITY : 1;
	subset = make_subset(f, weights, PHILOX_DTYPE_F32, 100, 2);
	choose(f, &subset, state, &drawn);
	cr_assert(drawn.chosen[0] == 20 && drawn.chosen[1] == 70);
}

PROMISE(subset, key_is_that_of_the_inline_function)
{
	static float logits[4000];
	static struct drawn drawn;
	struct philox_subset_desc subset;

	for (uint32_t i = 0; i < 4000; i++)
		logits[i] = (float)(i % 17) / 5;
	subset = make_subset(f, logits, PHILOX_DTYPE_F32, 4000, 4000);
	subset.is_log = 1;
	choose(f, &subset, state, &drawn);
	for (uint32_t i = 0; i < 4000; i++)
		cr_assert_eq(drawn.keys[i],
			     philox_subset_key(state, i, logits[i]));
}

/* A sample of one is the token of a row at temperature 1. */
PROMISE(subset, of_one_is_a_sample)
{
	static float logits[1000];
	static struct drawn drawn;
	const struct philox_state *row = upload(f, &state, sizeof(state));
	struct philox_sample_desc sample =
		PHILOX_INIT(struct philox_sample_desc);
	struct philox_subset_desc subset;
	int32_t token;

	for (uint32_t i = 0; i < 1000; i++)
		logits[i] = (float)(i % 29) / 7;
	subset = make_subset(f, logits, PHILOX_DTYPE_F32, 1000, 1);
	subset.is_log = 1;
	choose(f, &subset, state, &drawn);
	sample.logits = subset.weights;
	sample.dtype = PHILOX_DTYPE_F32;
	sample.vocab = 1000;
	sample.pitch = 1000;
	sample.temperature = 1;
	sample.tokens = make_memory(f, 4);
	OK(philox_sample_states(f->device, f->stream, row, 1, &sample));
	read_back(f, &token, sample.tokens, 4);
	cr_assert_eq(drawn.chosen[0], token);
}

/* --- instruction sets ----------------------------------------------------- */

#ifdef __x86_64__
static void are_the_same_keys(subset_keys_of *keys_of, const char *name)
{
	static uint32_t weights[3000];
	static float noise[3000];
	static uint64_t plain[3000], keys[3000];
	struct subset_args args = {.weights = weights, .items = 3000};

	for (uint32_t k = 0; k < 12; k++) {
		args.dtype = PHILOX_DTYPE_F32 + k % 3;
		args.is_log = k / 3 % 2;
		for (uint32_t i = 0; i < 3000; i++) {
			weights[i] = i * 1431655u * (k + 1) ^ i << 20;
			noise[i] = (float)(int)(i * 2654435761u) * 0x1p-27f;
		}
		subset_keys_scalar(&args, 7 * k, 2000 + k, noise, plain);
		keys_of(&args, 7 * k, 2000 + k, noise, keys);
		cr_assert_arr_eq(keys, plain, (2000 + k) * sizeof(*keys), "%s",
				 name);
	}
}
#endif

Test(subset, has_the_same_keys_with_each_instruction_set)
{
	if (!simd_has(SIMD_AVX2))
		cr_skip("this CPU has no AVX2");
#ifdef __x86_64__
	are_the_same_keys(subset_keys_avx2, "AVX2");
	if (simd_has(SIMD_AVX512))
		are_the_same_keys(subset_keys_avx512, "AVX-512");
#endif
}

/* --- statistics ----------------------------------------------------------- */

/*
 * How often each pair of five items is chosen, over seeds, against its
 * probability: that of one first and the other then, and the other way round.
 * Chi-square of 10 pairs has 9 degrees of freedom, and is above 43 once in 10^6.
 */
Test(subset_statistics, pairs_are_as_likely_as_drawn_one_after_another)
{
	static const double weights[] = {1, 2, 0.5, 4, 0.25};
	const double all = 7.75, seeds = 300000;
	double seen[5][5] = {{0}}, sum = 0;

	for (uint64_t seed = 0; seed < 300000; seed++) {
		const struct philox_state from = {seed, 0};
		uint64_t key[5];
		int first = 0, second;

		for (uint32_t i = 0; i < 5; i++)
			key[i] = philox_subset_key(
				from, i, philox_weight_ln((float)weights[i]));
		for (int i = 1; i < 5; i++)
			first = key[i] > key[first] ? i : first;
		second = first == 0;
		for (int i = 0; i < 5; i++)
			if (i != first && key[i] > key[second])
				second = i;
		seen[first][second]++;
	}
	for (int i = 0; i < 5; i++)
		for (int k = 0; k < 5; k++) {
			const double expected = seeds * weights[i] / all *
						weights[k] / (all - weights[i]);
			const double off = seen[i][k] - expected;

			sum += i == k ? 0 : off * off / expected;
		}
	/* 20 ordered pairs: 19 degrees, above 66 once in 10^6 */
	cr_assert_lt(sum, 66, "chi-square %g", sum);
}

Test(subset, the_logarithm_of_a_weight_is_that_of_libm)
{
	for (uint32_t bits = 1; bits < 0x7f800000u; bits += 9973) {
		const float weight = philox_f32_from_bits(bits);
		const double ln = log((double)weight);
		const double off = fabs(philox_weight_ln(weight) - ln);

		cr_assert_leq(off, fmax(1.08e-7, fabs(ln) * 0x1p-23), "%a",
			      weight);
	}
	cr_assert_eq(philox_weight_ln(0.0f), -INFINITY);
	cr_assert_eq(philox_weight_ln(-0.0f), -INFINITY);
	cr_assert_eq(philox_weight_ln(INFINITY), INFINITY);
	cr_assert(isnan(philox_weight_ln(-1e-45f)));
	cr_assert(isnan(philox_weight_ln(-INFINITY)));
	cr_assert(isnan(philox_weight_ln(NAN)));
	cr_assert_eq(philox_weight_ln(1.0f), 0.0f);
}

/* --- passes and graphs ---------------------------------------------------- */

GRAPH_PROMISE(subset, of_a_graph_is_that_of_each_launch_and_its_weights)
{
	static float weights[2][3000];
	static struct drawn drawn, expected;
	struct philox_region *region = make_region(f, "subset");
	struct philox_subset_desc subset;
	struct philox_graph *graph;
	struct philox_pass pass;

	for (uint32_t i = 0; i < 3000; i++) {
		weights[0][i] = weight_of(i);
		weights[1][i] = weight_of(3 * i + 1);
	}
	subset = make_subset(f, weights[0], PHILOX_DTYPE_F32, 3000, 77);
	record_begin(f);
	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	OK(philox_pass_subset(&pass, 1, 0, &subset));
	OK(philox_pass_commit(&pass, 0, NULL));
	graph = record_end(f);
	for (uint64_t launch = 0; launch < 4; launch++) {
		struct philox_launch_pass use = {{0, 0}, 0, 0};

		OK(philox_memory_copy(f->device, f->stream,
				      (void *)subset.weights,
				      weights[launch % 2], sizeof(weights[0])));
		OK(philox_graph_launch(graph, f->stream, &use, 1));
		read_drawn(f, &subset, &drawn);
		choose(f, &subset, predict_cell(0, "subset", 1, 0, 4 * launch),
		       &expected);
		cr_assert_eq(drawn.count, 77);
		cr_assert_arr_eq(drawn.chosen, expected.chosen, 77 * 4,
				 "launch %d", (int)launch);
	}
	OK(philox_graph_destroy(graph));
}

PROMISE(subset, of_a_backward_is_that_of_its_forward)
{
	static float weights[3000];
	static struct drawn forward, backward;
	struct philox_region *region = make_region(f, "subset");
	struct philox_subset_desc subset;
	struct philox_ticket ticket;
	struct philox_pass pass;

	for (uint32_t i = 0; i < 3000; i++)
		weights[i] = weight_of(i);
	subset = make_subset(f, weights, PHILOX_DTYPE_F32, 3000, 40);
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	OK(philox_pass_subset(&pass, 0, 0, &subset));
	OK(philox_pass_commit(&pass, 0, &ticket));
	read_drawn(f, &subset, &forward);
	OK(philox_backward_begin(region, f->stream, ticket, 0, &pass));
	OK(philox_pass_subset(&pass, 0, 0, &subset));
	OK(philox_pass_commit(&pass, 0, NULL));
	read_drawn(f, &subset, &backward);
	cr_assert_arr_eq(forward.chosen, backward.chosen, 40 * 4);
}

/* --- refusals ------------------------------------------------------------- */

static void refuses(struct fixture *f, const struct philox_subset_desc *subset,
		    const char *text)
{
	const uint64_t launches = philox_device_call_count(f->device, "launch");

	SAYS(philox_rng_subset(f->device, f->stream,
			       (struct philox_rng){.state = state}, subset),
	     PHILOX_ERROR_INVALID, text);
	cr_assert_eq(philox_device_call_count(f->device, "launch"), launches);
}

PROMISE(subset, says_which_field_is_wrong)
{
	static const float weights[16];
	const struct philox_subset_desc good =
		make_subset(f, weights, PHILOX_DTYPE_F32, 16, 4);
	struct philox_subset_desc bad;
	uint64_t bytes = 7;

#define REFUSES(member, value, text)    \
	do {                            \
		bad = good;             \
		bad.member = value;     \
		refuses(f, &bad, text); \
	} while (0)
	REFUSES(items, 0, "subset: items is 0, not 1 .. 2^31 - 1");
	REFUSES(items, 1U << 31,
		"subset: items is 2147483648, not 1 .. 2^31 - 1");
	REFUSES(wanted, 0, "subset: wanted is 0, not 1 .. 16 items");
	REFUSES(wanted, 17, "subset: wanted is 17, not 1 .. 16 items");
	REFUSES(dtype, PHILOX_DTYPE_F64,
		"subset: dtype is 5, not f32, bf16 or f16");
	REFUSES(is_log, 2, "subset: is_log is 2, not 0 or 1");
	REFUSES(weights, NULL, "subset: weights is NULL");
	REFUSES(chosen, NULL, "subset: chosen is NULL");
	REFUSES(scratch, NULL, "subset: scratch is NULL");
#undef REFUSES
	bad = good;
	bad.items = 0;
	SAYS(philox_subset_scratch_size(&bad, &bytes), PHILOX_ERROR_INVALID,
	     "subset: items is 0, not 1 .. 2^31 - 1");
	cr_assert_eq(bytes, 7);
	SAYS(philox_subset_scratch_size(&good, NULL), PHILOX_ERROR_INVALID,
	     "bytes is NULL");
	SAYS(philox_rng_subset(f->device, f->stream,
			       (struct philox_rng){.state = {1, 2}}, &good),
	     PHILOX_ERROR_INVALID,
	     "subset: rng.state.offset is 2, not a multiple of 4");
}

PROMISE(subset, refuses_arrays_that_overlap_or_are_not_aligned)
{
	static const float weights[16];
	const struct philox_subset_desc good =
		make_subset(f, weights, PHILOX_DTYPE_F32, 16, 4);
	struct philox_subset_desc bad = good;

	bad.chosen = (int32_t *)(uintptr_t)good.weights + 15;
	FAILS(philox_rng_subset(f->device, f->stream,
				(struct philox_rng){.state = state}, &bad),
	      PHILOX_ERROR_INVALID);
	NAMES("subset: chosen");
	NAMES("and weights");
	bad = good;
	bad.count = (uint32_t *)good.scratch + 2055;
	FAILS(philox_rng_subset(f->device, f->stream,
				(struct philox_rng){.state = state}, &bad),
	      PHILOX_ERROR_INVALID);
	NAMES("subset: count");
	NAMES("and scratch");
	bad = good;
	bad.keys = (uint64_t *)((char *)good.keys + 4);
	FAILS(philox_rng_subset(f->device, f->stream,
				(struct philox_rng){.state = state}, &bad),
	      PHILOX_ERROR_INVALID);
	NAMES("keys");
}

PROMISE(subset, of_a_pass_names_region_and_operator)
{
	static const float weights[16];
	struct philox_subset_desc subset =
		make_subset(f, weights, PHILOX_DTYPE_F32, 16, 4);
	struct philox_region *region = make_region(f, "subset");
	struct philox_pass pass;

	subset.wanted = 0;
	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	FAILS(philox_pass_subset(&pass, 1, 0, &subset), PHILOX_ERROR_INVALID);
	NAMES("region 'subset', op 1 '");
	NAMES("wanted is 0");
	OK(philox_pass_abort(&pass));
}
