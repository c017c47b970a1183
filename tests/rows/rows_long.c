/*
 * tests/rows/rows_long.c - rows that draw many numbers, and large vocabularies
 *
 * A loop over many numbers at a time must not show where it begins and ends.
 * The words are those of tests/support/models/rows.h, the numbers those of
 * single elements.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <philox/kernel.h>
#include "tests/support/models/rows.h"
#include "tests/support/support.h"

/* Rows: one is used up, the others are not; entries name some of them twice. */
enum { ROWS = 4, USED_UP = 2, ENTRIES = 5, MOST = 1200, VOCAB = 3001 };

static const uint32_t indices[ENTRIES] = {1, 0, 1, USED_UP, 3};
static const uint32_t counts[ENTRIES] = {MOST, 0, 67, MOST, 900};

static struct philox_rows *make_rows(struct fixture *f)
{
	const struct philox_rows_desc options = {
		.size = sizeof(options), .name = "a", .count = ROWS};
	const struct philox_state last = {1, UINT64_MAX - 3};
	struct philox_rows *rows;

	OK(philox_rows_create(f->context, &options, &rows));
	OK(philox_rows_set(rows, f->stream, (uint32_t[]){USED_UP}, &last, 1));
	return rows;
}

static struct philox_state row_state(uint32_t row, uint64_t offset)
{
	return (struct philox_state){model_row_seed(0, "a", row), offset};
}

/* --- draws ---------------------------------------------------------------- */

static const struct kind {
	enum philox_dist dist;
	enum philox_dtype dtype;
	size_t size;
} kinds[] = {{PHILOX_DIST_BITS, PHILOX_DTYPE_U32, 4},
	     {PHILOX_DIST_BITS, PHILOX_DTYPE_U64, 8},
	     {PHILOX_DIST_UNIFORM, PHILOX_DTYPE_F32, 4},
	     {PHILOX_DIST_UNIFORM, PHILOX_DTYPE_F64, 8},
	     {PHILOX_DIST_NORMAL, PHILOX_DTYPE_F32, 4}};

static uint64_t model_word64(struct philox_state state, uint64_t e)
{
	return (uint64_t)model_word(state, 2 * e + 1) << 32 |
	       model_word(state, 2 * e);
}

/* Element e of a row's draw, in the bits of its dtype. */
static uint64_t model_element(const struct kind *kind,
			      struct philox_state state, uint64_t e)
{
	uint64_t bits = 0;
	double real;
	float x;

	if (kind->dist == PHILOX_DIST_BITS)
		return kind->size == 8 ? model_word64(state, e)
				       : model_word(state, e);
	if (kind->size == 8) {
		real = philox_uniform_f64(model_word64(state, e));
		memcpy(&bits, &real, 8);
		return bits;
	}
	x = kind->dist == PHILOX_DIST_UNIFORM
		    ? philox_uniform_f32(model_word(state, e))
		    : philox_normal_at(state, e);
	memcpy(&bits, &x, 4);
	return bits;
}

static uint64_t poison(const struct kind *kind)
{
	if (kind->dist == PHILOX_DIST_BITS)
		return kind->size == 8 ? UINT64_MAX : UINT32_MAX;
	return kind->size == 8 ? 0x7ff8000000000000 : 0x7fc00000;
}

static void is_entry(const struct kind *kind, const unsigned char *out,
		     uint32_t i, struct philox_row_fill_desc *fill,
		     uint64_t offset)
{
	uint32_t count = fill->counts ? counts[i] : MOST;
	uint64_t untouched = 0;

	memset(&untouched, 0xee, kind->size);
	for (uint32_t j = 0; j < fill->count; j++) {
		uint64_t expected = untouched, found = 0;

		if (j < count && indices[i] == USED_UP)
			expected = poison(kind);
		else if (j < count)
			expected = model_element(kind,
						 row_state(indices[i], offset),
						 fill->first + j);
		memcpy(&found, out + (i * fill->pitch + j) * kind->size,
		       kind->size);
		cr_assert(found == expected,
			  "dist %d, dtype %d, first %d, entry %u, value %u: "
			  "%" PRIx64 ", not %" PRIx64,
			  kind->dist, kind->dtype, (int)fill->first, i, j,
			  found, expected);
	}
}

static void draws_of_kind(struct fixture *f, const struct kind *kind)
{
	const size_t size = (size_t)ENTRIES * (MOST + 3) * kind->size;
	struct philox_rows *rows = make_rows(f);
	struct philox_row_list list = {
		.size = sizeof(list),
		.indices = upload(f, indices, sizeof(indices)),
		.count = ENTRIES};
	void *out = make_memory(f, size);
	struct philox_row_fill_desc fill = {.size = sizeof(fill),
					    .dist = kind->dist,
					    .dtype = kind->dtype,
					    .pitch = MOST + 3,
					    .count = MOST,
					    .out = out};

	for (uint64_t first = 0; first < 6; first++) {
		fill.first = first;
		fill.counts =
			first % 2 ? upload(f, counts, sizeof(counts)) : NULL;
		OK(philox_memory_set(f->device, f->stream, out, 0xee, size));
		OK(philox_rows_fill(rows, f->stream, &list, &fill));
		OK(philox_stream_synchronize(f->device, f->stream));
		for (uint32_t i = 0; i < ENTRIES; i++)
			is_entry(kind, out, i, &fill, 4 * first);
	}
	OK(philox_rows_destroy(rows));
}

PROMISE(rows_long, draws_have_the_words_of_their_elements)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		draws_of_kind(f, &kinds[i]);
}

/* --- tokens --------------------------------------------------------------- */

/* As in tests/sample/sample.c, for columns that begin at index `first`. */
static double score(struct philox_state state, float x, uint32_t v)
{
	double u = ((double)model_word(state, v) + 0.5) / 4294967296.0;

	return x - log(-log1p(-u));
}

static void is_best(int32_t token, struct philox_state state,
		    const float *logits, uint32_t first)
{
	double best = -INFINITY, drawn;

	cr_assert(token >= (int32_t)first && token < (int32_t)(first + VOCAB));
	for (uint32_t v = 0; v < VOCAB; v++)
		best = fmax(best, score(state, logits[v], first + v));
	drawn = score(state, logits[token - (int32_t)first], (uint32_t)token);
	cr_assert(drawn > best - 1e-5 * (1 + fabs(best)),
		  "token %d has score %.9g, the best is %.9g", token, drawn,
		  best);
}

static struct philox_sample_desc new_sample(const float *logits, int32_t *token)
{
	return (struct philox_sample_desc){
		.size = sizeof(struct philox_sample_desc),
		.logits = logits,
		.dtype = PHILOX_DTYPE_F32,
		.vocab = VOCAB,
		.pitch = VOCAB,
		.temperature = 1,
		.tokens = token};
}

PROMISE(rows_long, tokens_are_the_best_of_all_columns)
{
	struct philox_rows *rows = make_rows(f);
	struct philox_row_list list = {.size = sizeof(list), .count = 1};
	float *logits = make_memory(f, VOCAB * sizeof(*logits));
	int32_t *token = make_memory(f, sizeof(*token));
	struct philox_sample_desc sample = new_sample(logits, token);

	for (uint32_t v = 0; v < VOCAB; v++)
		logits[v] = (float)sin(v * 0.7);
	for (uint64_t k = 0; k < 40; k++) {
		sample.first = (uint32_t)(k * 1021);
		OK(philox_sample_rows(rows, f->stream, &list, &sample));
		OK(philox_stream_synchronize(f->device, f->stream));
		is_best(*token, row_state(0, 4 * k), logits, sample.first);
	}
}

/* The last of many columns count as the first do; ties go to the first. */
PROMISE(rows_long, late_columns_are_seen)
{
	struct philox_rows *rows = make_rows(f);
	struct philox_row_list list = {.size = sizeof(list), .count = 1};
	float *logits = make_memory(f, VOCAB * sizeof(*logits));
	int32_t *token = make_memory(f, sizeof(*token));
	struct philox_sample_desc sample = new_sample(logits, token);
	static const struct {
		float at_2000, at_end;
		double temperature;
		int32_t token;
	} cases[] = {{1, 1, 0, 2000},
		     {1, 1.5f, 0, VOCAB - 1},
		     {INFINITY, INFINITY, 1, 2000},
		     {INFINITY, NAN, 1, -1},
		     {NAN, 5, 0, -1},
		     {-INFINITY, -INFINITY, 1, -1}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (uint32_t v = 0; v < VOCAB; v++)
			logits[v] = cases[i].at_2000 > 0 ? 0 : -INFINITY;
		logits[2000] = cases[i].at_2000;
		logits[VOCAB - 1] = cases[i].at_end;
		sample.temperature = cases[i].temperature;
		OK(philox_sample_rows(rows, f->stream, &list, &sample));
		OK(philox_stream_synchronize(f->device, f->stream));
		cr_assert_eq(*token, cases[i].token, "case %zu: token %d", i,
			     *token);
	}
}

/* On a GPU blocks would share these entries: so few, of so many columns. */
PROMISE(rows_long, a_row_twice_in_a_large_sample_gives_its_token_twice)
{
	enum { COLUMNS = 9000 };
	static const uint32_t twice[3] = {1, 0, 1};
	struct philox_rows *rows = make_rows(f);
	const struct philox_row_list list = {.size = sizeof(list),
					     .indices = upload(f, twice, 12),
					     .count = 3};
	float *logits = make_memory(f, 3 * COLUMNS * sizeof(*logits));
	uint64_t *keys = make_memory(f, 3 * sizeof(*keys));
	const struct philox_sample_desc sample = {.size = sizeof(sample),
						  .logits = logits,
						  .dtype = PHILOX_DTYPE_F32,
						  .vocab = COLUMNS,
						  .pitch = COLUMNS,
						  .temperature = 1,
						  .keys = keys};
	struct philox_state state;
	uint64_t seen[3];

	OK(philox_memory_set(f->device, f->stream, logits, 0,
			     3 * COLUMNS * sizeof(*logits)));
	OK(philox_sample_rows(rows, f->stream, &list, &sample));
	OK(philox_memory_copy(f->device, f->stream, seen, keys, sizeof(seen)));
	OK(philox_rows_get(rows, f->stream, 1, 1, &state));
	OK(philox_stream_synchronize(f->device, f->stream));
	cr_assert_eq(seen[0], seen[2]);
	cr_assert_neq(seen[0], seen[1]);
	cr_assert_eq(state.offset, 4);
}
