/*
 * tests/numbers/weights/categories.c - draws by weight, as functions and fills
 *
 * The model goes through the sums one by one, and draws integers by products of
 * 128 bits; it has the words of a state from the library and nothing else.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <philox/weights.h>
#include "tests/support/support.h"

static const struct philox_state state = {0x0123456789abcdef, 4096};
static const struct philox_state poison = {7, PHILOX_POISON_OFFSET};

#define ONES UINT64_MAX

static const struct {
	enum philox_dtype dtype;
	size_t size;
	uint64_t most;
	const char *name;
} types[] = {{PHILOX_DTYPE_U32, 4, (uint64_t)1 << 32, "u32"},
	     {PHILOX_DTYPE_I32, 4, (uint64_t)1 << 31, "i32"},
	     {PHILOX_DTYPE_U64, 8, (uint64_t)1 << 60, "u64"},
	     {PHILOX_DTYPE_I64, 8, (uint64_t)1 << 60, "i64"}};

enum { TYPES = sizeof(types) / sizeof(types[0]) };

/* --- the model ------------------------------------------------------------ */

typedef unsigned __int128 wide;

/* An integer below the total: words of which 2^64 is no multiple are left. */
static uint64_t model_integer(uint64_t e, uint64_t total)
{
	const uint64_t rest = (uint64_t)(((wide)1 << 64) % total);
	uint64_t word = philox_word64_at(state, e);

	for (uint64_t t = 0; (uint64_t)((wide)word * total) < rest; t++)
		word = philox_word64_at(philox_retry_state(state, t), e);
	return (uint64_t)((wide)word * total >> 64);
}

static uint64_t model_category(uint64_t e, const uint64_t *sums, uint64_t n)
{
	const uint64_t x = model_integer(e, sums[n - 1]);
	uint64_t i = 0;

	while (sums[i] <= x)
		i++;
	return i;
}

/* --- integers and their categories ---------------------------------------- */

/* All x of small totals, of all lists of up to 6 weights below 4. */
Test(categorical, every_category_has_as_many_integers_as_its_weight)
{
	for (unsigned list = 0; list < 6 * 4096; list++) {
		const uint64_t n = 1 + list / 4096;
		uint64_t sums[6], sum = 0, counts[6] = {0};

		for (unsigned i = 0; i < n; i++)
			sums[i] = sum += list >> 2 * i & 3;
		for (uint64_t x = 0; x < sum; x++) {
			const uint64_t c = philox_categorical_of(x, sums, n);

			cr_assert_lt(c, n, "list %u, x %" PRIu64, list, x);
			counts[c]++;
		}
		for (unsigned i = 0; i < n; i++)
			cr_assert_eq(counts[i], list >> 2 * i & 3,
				     "list %u, category %u", list, i);
		cr_assert_eq(philox_categorical_of(sum, sums, n), ONES);
	}
}

Test(categorical, the_ends_of_each_category_are_its_own)
{
	enum { N = 1000003 };
	uint64_t *sums = malloc(N * sizeof(*sums)), sum = 0;

	cr_assert_not_null(sums);
	for (uint64_t i = 0; i < N; i++)
		sums[i] = sum += i % 4 * (i * 2654435761u % (1 << 20));
	for (uint64_t n = 1; n <= N; n = n * 3 / 2 + 1) {
		for (uint64_t i = 0; i < n; i++) {
			uint64_t from = i ? sums[i - 1] : 0;

			if (sums[i] == from)
				continue;
			cr_assert_eq(philox_categorical_of(from, sums, n), i);
			cr_assert_eq(
				philox_categorical_of(sums[i] - 1, sums, n), i);
		}
		cr_assert_eq(philox_categorical_of(sums[n - 1], sums, n), ONES);
		cr_assert_eq(philox_categorical_of(ONES, sums, n), ONES);
	}
	free(sums);
}

/* --- elements ------------------------------------------------------------- */

/* Totals of 1, of 2^64 - 1, and of which nearly half of words are rejected. */
Test(categorical, elements_are_those_of_the_model)
{
	static const uint64_t lists[][5] = {
		{1, 1, 1, 1, 1},
		{0, 0, 0, 0, 1},
		{0, 0, ONES, ONES, ONES},
		{1, ONES / 3, ONES / 3, ONES - 1, ONES},
		{0, (uint64_t)1 << 62, (uint64_t)1 << 62, (uint64_t)1 << 63,
		 ((uint64_t)1 << 63) + 3},
		{3, 7, 7, 20, 21}};
	static const uint64_t firsts[] = {0, ((uint64_t)1 << 33) - 500,
					  0 - (uint64_t)1000};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		for (uint64_t k = 0; k < 3000; k++) {
			uint64_t e = firsts[k / 1000] + k % 1000;

			cr_assert_eq(
				philox_categorical_at(state, e, lists[i], 5),
				model_category(e, lists[i], 5),
				"list %zu, element %" PRIu64, i, e);
		}
}

Test(categorical, poison_and_a_total_of_0_give_all_ones)
{
	static const uint64_t zeros[3], sums[3] = {1, 2, ONES};

	for (uint64_t e = 0; e < 100; e++) {
		cr_assert_eq(philox_categorical_at(state, e, zeros, 3), ONES);
		cr_assert_eq(philox_categorical_at(poison, e, sums, 3), ONES);
		cr_assert_eq(philox_categorical_at(poison, e, sums, 1), ONES);
	}
}

/* Chi-square of 20 degrees of freedom is above 84.4 with probability 7e-10. */
Test(categorical, counts_of_many_draws_are_those_of_the_weights)
{
	enum { N = 21, DRAWS = 1000000 };
	double weights[N], total = 0, chi = 0;
	unsigned counts[N] = {0};
	uint64_t sums[N];

	for (int i = 0; i < N; i++)
		total += weights[i] = exp(-0.3 * i);
	OK(philox_weight_sums(weights, N, sums));
	for (uint64_t e = 0; e < DRAWS; e++)
		counts[philox_categorical_at(state, e, sums, N)]++;
	for (int i = 0; i < N; i++) {
		double mean = weights[i] / total * DRAWS;

		chi += (counts[i] - mean) * (counts[i] - mean) / mean;
	}
	cr_assert_lt(chi, 84.4, "%g", chi);
}

/* --- fills ---------------------------------------------------------------- */

static struct philox_fill_desc category_fill(int type, const void *sums,
					     uint64_t n,
					     struct philox_span span, void *out)
{
	return (struct philox_fill_desc){
		.size = sizeof(struct philox_fill_desc),
		.dist = PHILOX_DIST_CATEGORICAL,
		.dtype = types[type].dtype,
		.span = span,
		.in = sums,
		.out = out,
		.n = n};
}

static uint64_t read_category(int type, const void *out, size_t i)
{
	return types[type].size == 4 ? ((const uint32_t *)out)[i]
				     : ((const uint64_t *)out)[i];
}

static void fill(struct fixture *f, struct philox_state from,
		 const struct philox_fill_desc *fill)
{
	OK(philox_rng_fill(f->device, f->stream,
			   (struct philox_rng){.state = from}, fill));
	OK(philox_stream_synchronize(f->device, f->stream));
}

PROMISE(categorical_fills, a_million_categories_are_those_of_the_model)
{
	enum { N = 1000003, COUNT = 301 };
	uint64_t *here = malloc(N * sizeof(*here)), *sums, sum = 0;
	void *out = make_memory(f, COUNT * 8);

	cr_assert_not_null(here);
	for (uint64_t i = 0; i < N; i++)
		here[i] = sum += i % 3 * (i * 2654435761u % (9ull << 41));
	sums = upload(f, here, N * sizeof(*sums));
	for (int type = 0; type < TYPES; type++) {
		struct philox_fill_desc desc = category_fill(
			type, sums, N, philox_span_elements(5, COUNT), out);

		fill(f, state, &desc);
		for (uint64_t i = 0; i < COUNT; i++)
			cr_assert_eq(read_category(type, out, i),
				     model_category(5 + i, here, N),
				     "%s, element %" PRIu64, types[type].name,
				     5 + i);
	}
	free(here);
}

/* Every row of a shard reads all of the sums, from their beginning. */
PROMISE(categorical_fills, rows_and_spans_read_the_same_sums)
{
	static const uint64_t here[] = {0, 5, 5, 9, 10, 40, 41};
	const void *sums = upload(f, here, sizeof(here));
	void *out = make_memory(f, 4 * 9 * 8);

	for (int type = 0; type < TYPES; type++) {
		struct philox_fill_desc desc = category_fill(
			type, sums, 7, philox_span_rows(3, 4, 9, 11), out);

		fill(f, state, &desc);
		for (uint64_t i = 0; i < 36; i++)
			cr_assert_eq(read_category(type, out, i),
				     model_category(3 + i / 9 * 11 + i % 9,
						    here, 7));
	}
}

PROMISE(categorical_fills, poison_and_sums_of_0_give_all_ones)
{
	static const uint64_t here[] = {0, 5, 9, 0, 0};
	const uint64_t *sums = upload(f, here, sizeof(here));
	struct philox_state *cell = make_memory(f, sizeof(*cell));
	void *out = make_memory(f, 9 * 8);

	*cell = poison;
	for (int type = 0; type < TYPES; type++) {
		struct philox_fill_desc desc = category_fill(
			type, sums, 3, philox_span_elements(3, 9), out);
		const uint64_t ones = ONES >> (64 - 8 * types[type].size);

		OK(philox_rng_fill(f->device, f->stream,
				   (struct philox_rng){.cell = cell}, &desc));
		OK(philox_stream_synchronize(f->device, f->stream));
		for (size_t i = 0; i < 9; i++)
			cr_assert_eq(read_category(type, out, i), ones);
		memset(out, 0, 9 * 8);
		desc.in = sums + 3;
		desc.n = 2;
		fill(f, state, &desc);
		for (size_t i = 0; i < 9; i++)
			cr_assert_eq(read_category(type, out, i), ones);
	}
}

/* --- refusals ------------------------------------------------------------- */

static void refuse(struct fixture *f, const struct philox_fill_desc *desc,
		   const char *said)
{
	struct philox_rng rng = {.state = state};

	FAILS(philox_rng_fill(f->device, f->stream, rng, desc),
	      PHILOX_ERROR_INVALID);
	NAMES(said);
	FAILS(philox_state_fill(state, desc, 1), PHILOX_ERROR_INVALID);
	NAMES(said);
}

PROMISE(categorical_fills, n_fits_the_dtype)
{
	static const uint64_t here[] = {1};
	const void *sums = upload(f, here, sizeof(here));
	void *out = make_memory(f, 64);

	for (int type = 0; type < TYPES; type++) {
		struct philox_fill_desc desc =
			category_fill(type, sums, types[type].most,
				      philox_span_elements(0, 0), out);

		fill(f, state, &desc);
		desc.n++;
		refuse(f, &desc, "n of dist categorical is");
		NAMES(types[type].name);
		desc.n = 0;
		refuse(f, &desc, "n of dist categorical is 0, not from 1 to");
		desc.n = 1;
		desc.span.count = 8;
		fill(f, state, &desc);
	}
}

/* The sums take 8 bytes each, whatever the span and the dtype are. */
PROMISE(categorical_fills, sums_that_overlap_the_output_are_refused)
{
	char *memory = make_memory(f, 4096);
	uint64_t *sums = (uint64_t *)(void *)(memory + 1024);

	for (uint64_t i = 0; i < 10; i++)
		sums[i] = i + 1;
	for (int type = 0; type < TYPES; type++) {
		const size_t size = types[type].size;
		struct philox_fill_desc desc = category_fill(
			type, sums, 10, philox_span_elements(0, 3), NULL);

		for (size_t at = 1024 - 3 * size + size; at < 1024 + 80;
		     at += size) {
			desc.out = memory + at;
			refuse(f, &desc, "overlap");
		}
		desc.out = memory + 1024 - 3 * size;
		fill(f, state, &desc);
		desc.out = memory + 1024 + 80;
		fill(f, state, &desc);
		for (uint64_t i = 0; i < 10; i++)
			cr_assert_eq(sums[i], i + 1);
	}
}

PROMISE(categorical_fills, null_and_misaligned_sums_are_refused)
{
	char *sums = make_memory(f, 256), *out = make_memory(f, 256);
	const struct philox_layout_desc layout = {.size = sizeof(layout),
						  .kind = PHILOX_LAYOUT_TRITON};

	for (int type = 0; type < TYPES; type++) {
		struct philox_fill_desc desc = category_fill(
			type, NULL, 5, philox_span_elements(0, 3), out);

		refuse(f, &desc, "in is NULL");
		for (size_t i = 1; i < 8; i++) {
			desc.in = sums + i;
			refuse(f, &desc, "is not aligned to the 8 bytes");
		}
		desc.in = sums;
		desc.layout = &layout;
		FAILS(philox_rng_fill(f->device, f->stream,
				      (struct philox_rng){.state = state},
				      &desc),
		      PHILOX_ERROR_UNSUPPORTED);
		NAMES("no dist categorical");
	}
}

/* host:strict knows where memory ends. */
Test(categorical_fills, sums_beyond_their_memory_are_refused)
{
	struct fixture f;
	struct philox_fill_desc desc;
	uint64_t *sums;

	fixture_open(&f, "host:strict");
	sums = make_memory(&f, 8 * sizeof(*sums));
	for (uint64_t i = 0; i < 8; i++)
		sums[i] = i + 1;
	desc = category_fill(2, sums, 8, philox_span_elements(0, 100),
			     make_memory(&f, 800));
	fill(&f, state, &desc);
	desc.n = 10000;
	FAILS(philox_rng_fill(f.device, f.stream,
			      (struct philox_rng){.state = state}, &desc),
	      PHILOX_ERROR_INVALID);
	NAMES("fill: in");
	fixture_close(&f);
}

/* --- passes --------------------------------------------------------------- */

enum { DRAWN = 1003, CHOICES = 5 };

static struct philox_graph *record(struct fixture *f,
				   struct philox_region *region,
				   const uint64_t *sums, int64_t *out)
{
	struct philox_graph *graph;
	struct philox_pass pass;

	OK(philox_capture_begin(f->context, f->stream));
	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	OK(philox_pass_categorical(&pass, 1, PHILOX_DTYPE_I64,
				   philox_span_elements(3, DRAWN), sums,
				   CHOICES, out));
	OK(philox_pass_commit(&pass, 0, NULL));
	OK(philox_capture_end(f->context, f->stream, &graph));
	return graph;
}

GRAPH_PROMISE(categorical_fills, a_graph_follows_sums_that_change)
{
	static const uint64_t lists[3][CHOICES] = {
		{0, 1, 2, 9, 20},
		{ONES, ONES, ONES, ONES, ONES},
		{0, 0, 7, 8, 9}};
	struct philox_region *region = make_region(f, "words");
	uint64_t *sums = make_memory(f, sizeof(lists[0]));
	int64_t *out = make_memory(f, DRAWN * sizeof(*out));
	struct philox_graph *graph = record(f, region, sums, out);
	struct philox_launch_pass use = {{0, 0}, 0, 0};

	for (uint64_t step = 0; step < 3; step++) {
		struct philox_state from =
			predict_cell(0, "words", 1, 0, 4 * step);

		OK(philox_memory_copy(f->device, f->stream, sums, lists[step],
				      sizeof(lists[step])));
		OK(philox_graph_launch(graph, f->stream, &use, 1));
		OK(philox_stream_synchronize(f->device, f->stream));
		for (uint64_t i = 0; i < DRAWN; i++)
			cr_assert_eq((uint64_t)out[i],
				     philox_categorical_at(from, 3 + i,
							   lists[step],
							   CHOICES));
	}
	OK(philox_graph_destroy(graph));
}
