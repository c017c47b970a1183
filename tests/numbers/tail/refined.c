/*
 * tests/numbers/tail/refined.c - small words are refined wherever they are drawn
 *
 * The oracle is the rule of philox/fill.h in long double, on words of a Philox
 * written again (tests/support/models/rows.h). Small words are rare: those
 * below were found by trying 2^26 elements of each state.
 */
#include <math.h>
#include <philox/rows.h>
#include "lib/base/base.h"
#include "tests/support/models/rows.h"
#include "tests/support/support.h"

static const struct small {
	struct philox_state state;
	uint64_t element;
} smalls[] = {
	{{0, 0}, 37494257},
	{{0, 0}, 59770873},
	{{0x0123456789abcdef, 4096}, 39894912},
	{{0x0123456789abcdef, 4096}, 55109696},
	{{0xffffffffffffffff, 0x400000008}, 7814694},
	{{0xffffffffffffffff, 0x400000008}, 20222537},
	{{0xdeadbeefcafef00d, 0xfffffffffffffffc}, 54221628},
	{{0xdeadbeefcafef00d, 0xfffffffffffffffc}, 40275734},
};

enum { SMALLS = sizeof(smalls) / sizeof(smalls[0]) };

/* --- the rule ------------------------------------------------------------- */

/* The element's word at philox_retry_state(state, 0), as philox/state.h says. */
static uint32_t model_more(struct philox_state state, uint64_t e)
{
	struct philox_state retry = {0, 0};
	uint32_t word[4];

	model_block(state.seed, state.offset / 4, 0x8000000000000004, word);
	retry.seed = (uint64_t)word[1] << 32 | word[0];
	return model_word(retry, e);
}

static long double model_exponential(struct philox_state state, uint64_t e)
{
	long double w = model_word(state, e), rest = 0.5L;

	if (w < 256)
		rest = (model_more(state, e) + 0.5L) / 0x1p32L;
	return -log1pl(-(w + rest) / 0x1p32L);
}

static void is_exponential(float x, struct philox_state state, uint64_t e,
			   const char *what)
{
	long double exact = model_exponential(state, e);

	cr_assert(fabsl(x - exact) <= exact * 2e-7L,
		  "%s: the exponential number of element %llu is %a, not %La",
		  what, (unsigned long long)e, x, exact);
}

static void is_gumbel(float x, struct philox_state state, uint64_t e,
		      const char *what)
{
	long double exact = -logl(model_exponential(state, e));

	cr_assert(fabsl(x - exact) <= fmaxl(1, fabsl(exact)) * 3e-7L,
		  "%s: the Gumbel number of element %llu is %a, not %La", what,
		  (unsigned long long)e, x, exact);
}

Test(tail, the_elements_of_these_tests_have_small_words)
{
	for (int i = 0; i < SMALLS; i++)
		cr_assert_lt(model_word(smalls[i].state, smalls[i].element),
			     256);
}

/* --- in your kernels ------------------------------------------------------ */

Test(tail, your_kernels_draw_refined_numbers)
{
	for (int i = 0; i < SMALLS; i++) {
		struct philox_state s = smalls[i].state;
		uint64_t e = smalls[i].element, block = e / 4;
		uint32_t w = model_word(s, e);
		struct philox_f32x4 four = philox_exponential4(s, block);
		struct philox_f32x4 noise = philox_gumbel4(s, block);

		is_exponential(philox_exponential_at(s, e), s, e, "at");
		is_gumbel(philox_gumbel_at(s, e), s, e, "at");
		is_exponential(philox_exponential_of(s, e, w), s, e, "of");
		is_gumbel(philox_gumbel_of(s, e, w), s, e, "of");
		for (uint64_t k = 0; k < 4; k++) {
			is_exponential(four.v[k], s, 4 * block + k, "4");
			is_gumbel(noise.v[k], s, 4 * block + k, "4");
		}
	}
}

Test(tail, a_poisoned_state_is_not_refined)
{
	struct philox_state s = {smalls[0].state.seed, PHILOX_POISON_OFFSET};

	cr_assert(isnan(philox_exponential_at(s, smalls[0].element)));
	cr_assert(isnan(philox_gumbel_at(s, smalls[0].element)));
	cr_assert(isnan(philox_gumbel4(s, smalls[0].element / 4).v[1]));
}

/* --- in fills ------------------------------------------------------------- */

/* Enough for the tiles of a GPU and the chunks of vectors, or for neither. */
static const uint64_t counts[] = {1, 7, 400, 70000};

struct drawn {
	enum philox_dist dist;
	enum philox_dtype dtype;
	const char *what;
};

static void fill_around(struct fixture *f, const struct small *small,
			const struct drawn *drawn, uint64_t before,
			uint64_t count, void *out)
{
	struct philox_fill_desc fill = {
		.size = sizeof(fill),
		.dist = drawn->dist,
		.dtype = drawn->dtype,
		.rate = 1,
		.span = philox_span_elements(small->element - before, count),
		.out = out};

	OK(philox_rng_fill(f->device, f->stream,
			   (struct philox_rng){.state = small->state}, &fill));
	OK(philox_stream_synchronize(f->device, f->stream));
}

/* The element and its neighbours, as far as they are in the span. */
static void is_refined(const struct small *small, const struct drawn *drawn,
		       uint64_t before, uint64_t count, const void *out)
{
	uint64_t first = small->element - before;
	uint64_t begin = before < 5 ? 0 : before - 5;
	uint64_t end = before + 6 < count ? before + 6 : count;
	int is_e = drawn->dist == PHILOX_DIST_EXPONENTIAL;

	for (uint64_t i = begin; i < end; i++) {
		struct philox_state s = small->state;
		float x = is_e ? philox_exponential_at(s, first + i)
			       : philox_gumbel_at(s, first + i);
		uint16_t half = drawn->dtype == PHILOX_DTYPE_BF16
					? philox_f32_to_bf16(x)
					: philox_f32_to_f16(x);

		if (drawn->dtype != PHILOX_DTYPE_F32)
			cr_assert_eq(((const uint16_t *)out)[i], half,
				     "%s: element %llu of %a", drawn->what,
				     (unsigned long long)(first + i), x);
		else if (is_e)
			is_exponential(((const float *)out)[i], s, first + i,
				       drawn->what);
		else
			is_gumbel(((const float *)out)[i], s, first + i,
				  drawn->what);
	}
}

static void fills_are_refined(struct fixture *f, void *out)
{
	static const struct drawn all[] = {
		{PHILOX_DIST_EXPONENTIAL, PHILOX_DTYPE_F32, "f32"},
		{PHILOX_DIST_EXPONENTIAL, PHILOX_DTYPE_BF16, "bf16"},
		{PHILOX_DIST_EXPONENTIAL, PHILOX_DTYPE_F16, "f16"},
		{PHILOX_DIST_GUMBEL, PHILOX_DTYPE_F32, "f32"},
		{PHILOX_DIST_GUMBEL, PHILOX_DTYPE_BF16, "bf16"},
		{PHILOX_DIST_GUMBEL, PHILOX_DTYPE_F16, "f16"},
	};

	for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
		for (int i = 0; i < SMALLS; i++)
			for (size_t c = 0; c < 4; c++) {
				uint64_t count = counts[c];
				uint64_t before = count * (uint64_t)i / SMALLS;

				fill_around(f, &smalls[i], &all[k], before,
					    count, out);
				is_refined(&smalls[i], &all[k], before, count,
					   out);
			}
}

PROMISE(tail, fills_draw_refined_numbers_with_all_instructions)
{
	void *out = make_memory(f, 4 * counts[3]);

	for (enum simd simd = SIMD_SCALAR; simd < SIMD_COUNT; simd++)
		if (simd_has(simd)) {
			simd_use(simd);
			fills_are_refined(f, out);
		}
}

/* Elements end with 2^64 - 1, and so does the last chunk of any vectors. */
PROMISE(tail, the_last_elements_of_all_are_refined)
{
	enum { LAST = 1536 };
	static const struct small last[] = {
		{{25367, 0}, UINT64_MAX - 6}, {{1864843, 0}, UINT64_MAX}};
	static const struct drawn gumbel = {PHILOX_DIST_GUMBEL,
					    PHILOX_DTYPE_F32, "the last"};
	float *out = make_memory(f, LAST * sizeof(*out));

	for (enum simd simd = SIMD_SCALAR; simd < SIMD_COUNT; simd++)
		for (int i = 0; simd_has(simd) && i < 2; i++)
			for (uint64_t n = LAST; n > 6; n = n > 900 ? n - 1 : 6) {
				uint64_t before =
					n - 1 - (UINT64_MAX - last[i].element);

				simd_use(simd);
				cr_assert_lt(model_word(last[i].state,
							last[i].element),
					     256);
				fill_around(f, &last[i], &gumbel, before, n,
					    out);
				is_gumbel(out[before], last[i].state,
					  last[i].element, "the last");
			}
}

/* Rows of a shard of which each has the element at another place. */
PROMISE(tail, shards_draw_refined_numbers)
{
	enum { ROWS = 24, WIDTH = 37 };
	float *out = make_memory(f, ROWS * WIDTH * sizeof(*out));

	for (int i = 0; i < SMALLS; i++) {
		uint64_t e = smalls[i].element;
		/* element e is in row 3, a different one with each stride */
		struct philox_fill_desc fill = {
			.size = sizeof(fill),
			.dist = PHILOX_DIST_GUMBEL,
			.dtype = PHILOX_DTYPE_F32,
			.span = philox_span_elements(0, WIDTH),
			.out = out};

		fill.span.first = e - 3 * 101 - (uint64_t)i;
		fill.span.rows = ROWS;
		fill.span.row_stride = 101;
		OK(philox_rng_fill(
			f->device, f->stream,
			(struct philox_rng){.state = smalls[i].state}, &fill));
		OK(philox_stream_synchronize(f->device, f->stream));
		is_gumbel(out[3 * WIDTH + i], smalls[i].state, e, "shard");
	}
}

/* --- in the sampler ------------------------------------------------------- */

enum { COLUMNS = 64 };

/* The score of a key, as philox/rows.h orders them, of a score above 0. */
static float score_of(uint64_t key)
{
	return philox_f32_from_bits((uint32_t)(key >> 32) & 0x7fffffffu);
}

static void *logits_of(struct fixture *f, enum philox_dtype dtype,
		       uint32_t column, int others)
{
	float *x = make_memory(f, COLUMNS * sizeof(*x));
	uint16_t *half = (uint16_t *)x;
	uint16_t minus = dtype == PHILOX_DTYPE_BF16 ? 0xff80 : 0xfc00;

	for (uint32_t i = 0; i < COLUMNS; i++)
		if (dtype == PHILOX_DTYPE_F32)
			x[i] = others || i == column ? 0 : -INFINITY;
		else
			half[i] = others || i == column ? 0 : minus;
	return x;
}

static void samples_refined(struct fixture *f, const struct small *small,
			    enum philox_dtype dtype, uint32_t column,
			    int others)
{
	struct philox_state *state = make_memory(f, sizeof(*state));
	uint64_t *key = make_memory(f, sizeof(*key));
	struct philox_sample_desc sample = {
		.size = sizeof(sample),
		.logits = logits_of(f, dtype, column, others),
		.dtype = dtype,
		.vocab = COLUMNS,
		.pitch = COLUMNS,
		.first = (uint32_t)small->element - column,
		.temperature = 1,
		.keys = key};

	*state = small->state;
	OK(philox_sample_states(f->device, f->stream, state, 1, &sample));
	OK(philox_stream_synchronize(f->device, f->stream));
	cr_assert_eq(philox_sample_token(*key), (int32_t)small->element);
	is_gumbel(score_of(*key), small->state, small->element, "sample");
}

PROMISE(tail, tokens_have_refined_noise)
{
	static const enum philox_dtype dtypes[] = {
		PHILOX_DTYPE_F32, PHILOX_DTYPE_BF16, PHILOX_DTYPE_F16};

	for (int i = 0; i < SMALLS; i++) {
		if (smalls[i].state.offset > UINT64_MAX - 8)
			continue; /* a row that is used up */
		for (size_t k = 0; k < 3; k++)
			for (uint32_t column = 0; column < COLUMNS;
			     column += 21) {
				samples_refined(f, &smalls[i], dtypes[k],
						column, 0);
				samples_refined(f, &smalls[i], dtypes[k],
						column, 1);
			}
	}
}

/* Its noise is used, but a token far above it still wins. */
PROMISE(tail, a_refined_token_can_lose)
{
	uint32_t column = 20;
	float *logits = logits_of(f, PHILOX_DTYPE_F32, column, 1);
	struct philox_state *state = make_memory(f, sizeof(*state));
	int32_t *token = make_memory(f, sizeof(*token));
	struct philox_sample_desc sample = {
		.size = sizeof(sample),
		.logits = logits,
		.dtype = PHILOX_DTYPE_F32,
		.vocab = COLUMNS,
		.pitch = COLUMNS,
		.first = (uint32_t)smalls[0].element - column,
		.temperature = 1,
		.tokens = token};

	*state = smalls[0].state;
	for (uint32_t i = 0; i < COLUMNS; i++)
		logits[i] = i == 41 ? 30 : 0;
	OK(philox_sample_states(f->device, f->stream, state, 1, &sample));
	OK(philox_stream_synchronize(f->device, f->stream));
	cr_assert_eq(*token, (int32_t)sample.first + 41);
}
