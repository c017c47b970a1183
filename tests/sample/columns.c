/*
 * tests/sample/columns.c - columns that are left out could not have won
 *
 * The oracle makes the noise of every column (philox_gumbel_at(), which has
 * tests of its own) and takes the first of the highest scores. Every instruction
 * set must find it, and its score, for logits in any order.
 */
#include <math.h>
#include <stdio.h>
#include <philox/rows.h>
#include "lib/base/base.h"
#include "lib/fill/simd/tables.h"
#include "lib/sample/elements.h"
#include "tests/support/support.h"

enum {
	COLUMNS = 2500,
	TRIES = 1200,
	FAR = 1000003, /* the first column of some rows with a mask */
	MASK_WORDS = (FAR + COLUMNS) / 32 + 1
};

static uint32_t random_below(uint32_t n)
{
	static uint32_t x = 90403;

	x = x * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)(x >> 8) * n >> 24);
}

/* --- the bound ------------------------------------------------------------ */

/* Neither goes up with the word, so a step is right if its ends are. */
static void bound_holds(uint32_t from, uint32_t to)
{
	float noise = from < PHILOX_SMALL_WORD
			      ? philox_gumbel_of_exponential(
					philox_exponential_small(from, 0))
			      : philox_gumbel_of_exponential(
					philox_minus_ln1m_f32(from));

	cr_assert_leq(noise, noise_most(to),
		      "words %u to %u: the noise %a, the bound %a", from, to,
		      noise, noise_most(to));
}

Test(columns, no_noise_is_above_its_bound)
{
	uint64_t w = 0, next;

	for (; w >> 32 == 0; w = next) {
		next = w + 1 + (w >> 13);
		bound_holds((uint32_t)w, (uint32_t)(next - 1));
	}
}

/* --- rows of logits ------------------------------------------------------- */

struct row {
	struct philox_state state;
	float temperature;
	uint32_t first, count;
	float logit[COLUMNS];
	int masked;
	uint32_t allowed[MASK_WORDS];
};

/* Numbers of 8 bits or fewer, so that bf16 and f16 hold them as well. */
static float logit_of(uint32_t kind, uint32_t c)
{
	switch (kind) {
	case 0: /* up, and down, in steps */
		return (float)(c / 20) - 100;
	case 1:
		return 100 - (float)(c / 20);
	case 2: /* all the same, or nearly */
		return 3;
	case 3:
		return random_below(50) ? 0.5f : 1;
	case 4: /* nearly all are never drawn */
		return random_below(100) ? -INFINITY : -2;
	case 5:
		return -INFINITY;
	case 6: /* one is far above */
		return random_below(1000) ? -60 : 60;
	default:
		return (float)random_below(192) / 16 - 6;
	}
}

/* All bits, none, or some, and any outside of the columns. */
static void make_mask(struct row *row)
{
	const uint32_t kind = random_below(5);

	row->masked = row->first <= FAR && random_below(2);
	if (!row->masked)
		return;
	for (uint32_t v = row->first; v < row->first + row->count; v++) {
		uint32_t bit = kind == 0   ? 1
			       : kind == 1 ? random_below(400) == 0
			       : kind == 2 ? v % 32 == 31
					   : random_below(kind);

		row->allowed[v / 32] &= ~(1u << v % 32);
		row->allowed[v / 32] |= bit << v % 32;
	}
}

static int is_masked(const struct row *row, uint32_t c)
{
	const uint32_t v = row->first + c;

	return row->masked && !(row->allowed[v / 32] >> v % 32 & 1);
}

static void make_row(struct row *row)
{
	static const float temperatures[] = {0,    0,     1,  1,
					     0.7f, 0.05f, 30, 1e20f};
	static const uint32_t firsts[] = {0, 1, 2, 3, 4, FAR, 0x7fff0000};
	const uint32_t kind = random_below(12);

	row->state.seed = random_below(1u << 20);
	row->state.offset = 4 * random_below(1u << 20);
	row->temperature = temperatures[random_below(8)];
	row->first = firsts[random_below(7)];
	row->count = 1 + random_below(random_below(3) ? 600 : COLUMNS);
	for (uint32_t c = 0; c < row->count; c++)
		row->logit[c] = logit_of(kind, c);
	if (!random_below(8))
		row->logit[random_below(row->count)] = INFINITY;
	if (!random_below(8))
		row->logit[random_below(row->count)] = INFINITY;
	if (!random_below(10))
		row->logit[random_below(row->count)] = NAN;
	make_mask(row);
}

/* The score of a column as philox/rows.h says. */
static float score_of(const struct row *row, uint32_t c)
{
	if (is_masked(row, c))
		return -INFINITY;
	if (row->temperature == 0)
		return row->logit[c];
	return fmaf(row->logit[c], 1 / row->temperature,
		    philox_gumbel_at(row->state, row->first + c));
}

/* Returns the token, and its score. */
static int32_t expected(const struct row *row, float *most)
{
	int32_t token = -1;

	*most = -INFINITY;
	for (uint32_t c = 0; c < row->count; c++) {
		float score = score_of(row, c);

		if (isnan(score))
			return -1;
		if (score > *most) {
			*most = score;
			token = (int32_t)(row->first + c);
		}
	}
	return token;
}

/* --- what is sampled ------------------------------------------------------ */

/* To a format with `exponent` and `digits` bits, of numbers that it holds. */
static uint16_t narrow(float x, int exponent, int digits)
{
	const int bias = (1 << (exponent - 1)) - 1;
	uint16_t sign = (uint16_t)((signbit(x) != 0) << 15);
	uint16_t top = (uint16_t)(((1 << exponent) - 1) << digits);
	int e;
	float m = frexpf(fabsf(x), &e);

	if (isnan(x))
		return (uint16_t)(top | 1);
	if (isinf(x))
		return (uint16_t)(sign | top);
	if (x == 0)
		return sign;
	return (uint16_t)(sign | (e - 1 + bias) << digits |
			  ((int)ldexpf(m, digits + 1) - (1 << digits)));
}

/* The logits in a dtype, at a place that is aligned to an element only. */
static const void *logits_in(const struct row *row, enum philox_dtype dtype,
			     void *memory)
{
	float *f32 = (float *)memory + 1;
	uint16_t *narrowed = (uint16_t *)memory + 3;

	if (dtype == PHILOX_DTYPE_F32)
		return memcpy(f32, row->logit, row->count * sizeof(*f32));
	for (uint32_t c = 0; c < row->count; c++)
		narrowed[c] = dtype == PHILOX_DTYPE_BF16
				      ? narrow(row->logit[c], 8, 7)
				      : narrow(row->logit[c], 5, 10);
	return narrowed;
}

/* Device memory of one call. */
struct memory {
	float logits[COLUMNS + 4];
	uint32_t allowed[MASK_WORDS];
	struct philox_state state;
	uint64_t key;
};

static uint64_t sampled(struct fixture *f, const struct row *row,
			enum philox_dtype dtype, struct memory *memory)
{
	struct philox_sample_desc sample = {
		.size = sizeof(sample),
		.logits = logits_in(row, dtype, memory->logits),
		.dtype = dtype,
		.vocab = row->count,
		.first = row->first,
		.pitch = row->count,
		.temperature = row->temperature,
		.keys = &memory->key};

	if (row->masked)
		memcpy(memory->allowed, row->allowed, sizeof(row->allowed));
	sample.allowed = row->masked ? memory->allowed : NULL;
	memory->state = row->state;
	memory->key = 12345;
	OK(philox_sample_states(f->device, f->stream, &memory->state, 1,
				&sample));
	OK(philox_stream_synchronize(f->device, f->stream));
	return memory->key;
}

/* Keys are in the order of scores (philox/rows.h), -0 being 0. */
static float score_in(uint64_t key)
{
	uint32_t bits = (uint32_t)(key >> 32);

	return philox_f32_from_bits(bits >> 31 ? bits & 0x7fffffff : ~bits);
}

static void is_found(struct fixture *f, const struct row *row,
		     struct memory *memory, const char *what)
{
	static const enum philox_dtype dtypes[] = {
		PHILOX_DTYPE_F32, PHILOX_DTYPE_BF16, PHILOX_DTYPE_F16};
	float most;
	const int32_t token = expected(row, &most);

	FOR_EACH_SIMD(simd)
	for (int d = 0; d < 3; d++) {
		uint64_t key = sampled(f, row, dtypes[d], memory);

		cr_assert_eq(philox_sample_token(key), token,
			     "%s, dtype %d, %s: %d, not %d", what, d,
			     simd_name(simd), philox_sample_token(key), token);
		cr_assert(token < 0 || score_in(key) == most,
			  "%s, dtype %d, %s: score %a, not %a", what, d,
			  simd_name(simd), score_in(key), most);
	}
}

PROMISE(columns, the_best_of_all_columns_is_found)
{
	struct memory *memory = make_memory(f, sizeof(*memory));
	static struct row row;
	char what[64];

	for (int i = 0; i < TRIES; i++) {
		make_row(&row);
		snprintf(what, sizeof(what), "row %d, %u columns from %u", i,
			 row.count, row.first);
		is_found(f, &row, memory, what);
	}
}

/*
 * Quads in any order, as threads take them that tell each other their highest
 * score: a column with the same score and a lower index still wins.
 */
Test(columns, the_best_of_all_columns_is_found_in_any_order)
{
	static struct row row;
	float most;

	for (int i = 0; i < TRIES; i++) {
		struct sample_best best = SAMPLE_NO_BEST;
		struct sample_args of = {.logits = row.logit};
		struct sample_row entry = {.valid = 1};
		uint32_t quads, turn;

		make_row(&row);
		of.first = row.first;
		of.vocab = row.count;
		entry.state = row.state;
		sample_set_temperature(&entry, row.temperature);
		of.allowed = row.masked ? row.allowed : NULL;
		quads = sample_quads(&of);
		turn = random_below(quads);
		for (uint32_t q = quads; q-- > 0;)
			sample_f32_quad(&of, &entry, 0,
					sample_first_quad(&of) +
						(q + turn) % quads,
					&best);
		cr_assert_eq(philox_sample_token(best.key),
			     expected(&row, &most), "row %d", i);
	}
}

/* Element 37494257 of state 0, 0 has a word below 256 (tests/numbers/tail). */
PROMISE(columns, a_small_word_wins_with_its_refined_noise)
{
	static const uint32_t small = 37494257;
	struct memory *memory = make_memory(f, sizeof(*memory));
	static struct row row = {.temperature = 1};

	for (uint32_t c = 0; c < 700; c += 13) {
		row.first = small - c;
		row.count = 700;
		for (uint32_t i = 0; i < row.count; i++)
			row.logit[i] = i == c ? -4 : 1;
		is_found(f, &row, memory, "a small word");
		cr_assert_eq(expected(&row, &(float){0}), (int32_t)small);
	}
}

/* Addresses alone: so many logits are more than 4 GiB. */
Test(columns, after_the_first_2_to_the_30_are_4_gib_further)
{
	const uint32_t n = 1u << 30;
	const struct simd_columns all = {
		.first = 7, .count = n + 5, .logits = (const void *)64};
	const struct simd_columns after = simd_columns_after(all, n, 4);

	cr_assert_eq((uintptr_t)after.logits, 64 + 4 * (uint64_t)n);
	cr_assert_eq(after.first, n + 7);
	cr_assert_eq(after.count, 5u);
}
