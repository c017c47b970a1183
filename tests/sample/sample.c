/*
 * tests/sample/sample.c - tokens depend on the state and logits of their row only
 *
 * The oracle is the rule of philox/rows.h in doubles, on words of a Philox
 * written again (tests/support/models/rows.h).
 */
#include <math.h>
#include <stdlib.h>
#include <philox/rows.h>
#include "tests/support/models/rows.h"
#include "tests/support/support.h"

enum { VOCAB = 203, ENTRIES = 24 };

/* Numbers in [-6, 6), of 8 bits, so that bf16 and f16 hold them as well. */
static float logit(uint32_t entry, uint32_t v)
{
	uint32_t word[4];

	model_block(99, v, entry, word);
	return (float)((int)(word[0] % 192) - 96) / 16;
}

static float *make_logits(struct fixture *f)
{
	float *logits = make_memory(f, ENTRIES * VOCAB * sizeof(*logits));

	for (uint32_t i = 0; i < ENTRIES; i++)
		for (uint32_t v = 0; v < VOCAB; v++)
			logits[i * VOCAB + v] = logit(i, v);
	return logits;
}

static struct philox_sample_desc new_sample(const void *logits, int32_t *tokens)
{
	return (struct philox_sample_desc){
		.size = sizeof(struct philox_sample_desc),
		.logits = logits,
		.dtype = PHILOX_DTYPE_F32,
		.vocab = VOCAB,
		.pitch = VOCAB,
		.temperature = 1,
		.tokens = tokens};
}

static struct philox_rows *make_rows(struct fixture *f, uint32_t count)
{
	struct philox_rows_desc options = {
		.size = sizeof(options), .name = "a", .count = count};
	struct philox_rows *rows;

	OK(philox_rows_create(f->context, &options, &rows));
	return rows;
}

static void sample(struct fixture *f, struct philox_rows *rows,
		   const struct philox_row_list *list,
		   const struct philox_sample_desc *sample)
{
	OK(philox_sample_rows(rows, f->stream, list, sample));
	OK(philox_stream_synchronize(f->device, f->stream));
}

/* --- the rule ------------------------------------------------------------- */

static double model_score(struct philox_state state, float x, double t,
			  uint32_t v)
{
	double u = ((double)model_word(state, v) + 0.5) / 4294967296.0;

	return x / t - log(-log1p(-u));
}

/* The token's score is the highest, except for rounding in f32. */
static void is_best(int32_t token, struct philox_state state,
		    const float *logits, uint32_t vocab, double t)
{
	double best = -INFINITY, drawn;

	cr_assert(token >= 0 && token < (int32_t)vocab, "token %d", token);
	for (uint32_t v = 0; v < vocab; v++)
		best = fmax(best, model_score(state, logits[v], t, v));
	drawn = model_score(state, logits[token], t, (uint32_t)token);
	cr_assert(drawn > best - 1e-5 * (1 + fabs(best)),
		  "token %d has score %.9g, the best is %.9g", token, drawn,
		  best);
}

PROMISE(sample, a_token_has_the_best_score_of_its_row)
{
	static const double temperatures[] = {1, 0.7, 0.01, 3, 1e4};
	struct philox_rows *rows = make_rows(f, ENTRIES);
	float *logits = make_logits(f);
	int32_t *tokens = make_memory(f, ENTRIES * sizeof(*tokens));
	struct philox_sample_desc s = new_sample(logits, tokens);

	for (uint64_t k = 0; k < 5; k++) {
		s.temperature = temperatures[k];
		sample(f, rows, NULL, &s);
		for (uint32_t i = 0; i < ENTRIES; i++)
			is_best(tokens[i],
				(struct philox_state){model_row_seed(0, "a", i),
						      4 * k},
				logits + i * VOCAB, VOCAB, s.temperature);
	}
}

/* Pearson's statistic of 100,000 draws; nothing varies between runs. */
static double chi_square(const uint32_t *hits, const double *p, uint32_t n,
			 double draws)
{
	double sum = 0;

	for (uint32_t v = 0; v < n; v++) {
		double expected = p[v] * draws, off = hits[v] - expected;

		sum += off * off / expected;
	}
	return sum;
}

static void softmax(const float *logits, uint32_t n, double t, double *p)
{
	double sum = 0;

	for (uint32_t v = 0; v < n; v++)
		sum += p[v] = exp(logits[v] / t);
	for (uint32_t v = 0; v < n; v++)
		p[v] /= sum;
}

enum { FACES = 8, MANY = 4000, STEPS = 25 };

static void draws_softmax(struct fixture *f, struct philox_rows *rows,
			  double temperature)
{
	static const float faces[FACES] = {0,  1,    -1,    2.5f,
					   -2, 0.5f, -3.5f, 1.25f};
	struct philox_sample_desc s =
		new_sample(upload(f, faces, sizeof(faces)),
			   make_memory(f, MANY * sizeof(int32_t)));
	uint32_t hits[FACES] = {0};
	double p[FACES], statistic;

	s.vocab = FACES;
	s.pitch = FACES;
	s.temperature = temperature;
	s.logits = make_memory(f, MANY * sizeof(faces));
	for (uint32_t i = 0; i < MANY; i++)
		memcpy((char *)s.logits + i * sizeof(faces), faces,
		       sizeof(faces));
	for (int step = 0; step < STEPS; step++) {
		sample(f, rows, NULL, &s);
		for (uint32_t i = 0; i < MANY; i++)
			hits[s.tokens[i]]++;
	}
	softmax(faces, FACES, temperature, p);
	statistic = chi_square(hits, p, FACES, (double)MANY * STEPS);
	/* 7 degrees of freedom: exceeded once in 10,000 by chance */
	cr_assert(statistic < 29.9, "temperature %g: chi-square %g",
		  temperature, statistic);
}

Test(sample, tokens_come_with_the_probabilities_of_a_softmax, .timeout = 120)
{
	struct philox_rows *rows;
	struct fixture f;

	fixture_open(&f, "host:sync");
	rows = make_rows(&f, MANY);
	draws_softmax(&f, rows, 1);
	draws_softmax(&f, rows, 0.5);
	draws_softmax(&f, rows, 4);
	fixture_close(&f);
}

/* --- a token does not depend on ... --------------------------------------- */

PROMISE(sample, a_token_is_the_same_wherever_its_row_is)
{
	struct philox_rows *rows = make_rows(f, ENTRIES);
	float *logits = make_logits(f), *moved;
	int32_t *tokens = make_memory(f, ENTRIES * sizeof(*tokens));
	int32_t *other = make_memory(f, ENTRIES * sizeof(*other));
	uint32_t *indices = make_memory(f, ENTRIES * sizeof(*indices));
	struct philox_row_list list = {.size = sizeof(list),
				       .indices = indices};
	struct philox_sample_desc s = new_sample(logits, tokens);

	s.flags = PHILOX_ROWS_KEEP;
	sample(f, rows, NULL, &s);
	moved = make_memory(f, ENTRIES * (VOCAB + 5) * sizeof(*moved));
	s.pitch = VOCAB + 5;
	s.logits = moved;
	s.tokens = other;
	for (list.count = 1; list.count <= ENTRIES; list.count += 7) {
		for (uint32_t i = 0; i < list.count; i++) {
			indices[i] = (5 * i + 3 * list.count) % ENTRIES;
			memcpy(moved + i * s.pitch, logits + indices[i] * VOCAB,
			       VOCAB * sizeof(*moved));
		}
		sample(f, rows, &list, &s);
		for (uint32_t i = 0; i < list.count; i++)
			cr_assert_eq(other[i], tokens[indices[i]],
				     "batch of %u, entry %u", list.count, i);
	}
}

PROMISE(sample, a_token_is_the_same_whatever_the_dtype_of_its_logits)
{
	struct philox_rows *rows = make_rows(f, ENTRIES);
	float *logits = make_logits(f);
	uint16_t *bf16 = make_memory(f, ENTRIES * VOCAB * 2);
	uint16_t *f16 = make_memory(f, ENTRIES * VOCAB * 2);
	int32_t *tokens = make_memory(f, 3 * ENTRIES * sizeof(*tokens));
	struct philox_sample_desc s = new_sample(logits, tokens);

	for (uint32_t i = 0; i < ENTRIES * VOCAB; i++) {
		int e;
		double m = frexp(fabs(logits[i]), &e);

		bf16[i] = philox_f32_to_bf16(logits[i]);
		/* all of them are normal numbers of f16, or 0 */
		f16[i] = (uint16_t)((logits[i] < 0) << 15);
		if (m > 0)
			f16[i] |= (uint16_t)((e + 14) << 10 |
					     ((int)(m * 2048) - 1024));
	}
	s.flags = PHILOX_ROWS_KEEP;
	s.temperature = 0.8;
	sample(f, rows, NULL, &s);
	s.dtype = PHILOX_DTYPE_BF16;
	s.logits = bf16;
	s.tokens = tokens + ENTRIES;
	sample(f, rows, NULL, &s);
	s.dtype = PHILOX_DTYPE_F16;
	s.logits = f16;
	s.tokens = tokens + 2 * ENTRIES;
	sample(f, rows, NULL, &s);
	cr_assert(!memcmp(tokens, tokens + ENTRIES, ENTRIES * 4));
	cr_assert(!memcmp(tokens, tokens + 2 * ENTRIES, ENTRIES * 4));
}

/* Ranks with `width` columns each, the last one with the rest. */
static void shards_agree(struct fixture *f, struct philox_rows *rows,
			 const float *logits, uint32_t width,
			 const int32_t *expected)
{
	uint64_t *keys = make_memory(f, ENTRIES * sizeof(*keys));
	uint64_t best[ENTRIES] = {0};
	struct philox_sample_desc s = new_sample(logits, NULL);

	s.keys = keys;
	s.flags = PHILOX_ROWS_KEEP;
	for (s.first = 0; s.first < VOCAB; s.first += width) {
		s.vocab = VOCAB - s.first < width ? VOCAB - s.first : width;
		s.logits = logits + s.first;
		sample(f, rows, NULL, &s);
		for (uint32_t i = 0; i < ENTRIES; i++)
			best[i] = keys[i] > best[i] ? keys[i] : best[i];
	}
	for (uint32_t i = 0; i < ENTRIES; i++)
		cr_assert_eq(philox_sample_token(best[i]), expected[i],
			     "shards of %u columns, entry %u", width, i);
}

PROMISE(sample, shards_of_the_vocabulary_agree_with_the_whole)
{
	struct philox_rows *rows = make_rows(f, ENTRIES);
	float *logits = make_logits(f);
	int32_t *tokens = make_memory(f, ENTRIES * sizeof(*tokens));
	struct philox_sample_desc s = new_sample(logits, tokens);

	logits[3 * VOCAB + 150] = NAN;
	for (uint32_t v = 0; v < VOCAB; v++)
		logits[5 * VOCAB + v] = v < 100 ? -INFINITY : -2;
	s.flags = PHILOX_ROWS_KEEP;
	sample(f, rows, NULL, &s);
	cr_assert_eq(tokens[3], -1);
	cr_assert_geq(tokens[5], 100);
	for (uint32_t width = 1; width <= VOCAB; width += 17)
		shards_agree(f, rows, logits, width, tokens);
}

PROMISE(sample, your_own_states_give_the_tokens_of_rows)
{
	struct philox_rows *rows = make_rows(f, ENTRIES);
	float *logits = make_logits(f);
	int32_t *tokens = make_memory(f, 2 * ENTRIES * sizeof(*tokens));
	struct philox_sample_desc s = new_sample(logits, tokens);
	struct philox_state *states, *poisoned;

	OK(philox_rows_states(rows, &states));
	s.flags = PHILOX_ROWS_KEEP;
	sample(f, rows, NULL, &s);
	s.flags = 0;
	s.tokens = tokens + ENTRIES;
	OK(philox_sample_states(f->device, f->stream, states, ENTRIES, &s));
	OK(philox_stream_synchronize(f->device, f->stream));
	cr_assert(!memcmp(tokens, tokens + ENTRIES, ENTRIES * 4));
	poisoned = upload(f, states, 2 * sizeof(*states));
	poisoned[1].offset = PHILOX_POISON_OFFSET;
	OK(philox_sample_states(f->device, f->stream, poisoned, 2, &s));
	OK(philox_stream_synchronize(f->device, f->stream));
	cr_assert_eq(s.tokens[0], tokens[0]);
	cr_assert_eq(s.tokens[1], -1);
}

/*
 * --- values that are not numbers -------------------------------------------
 */

static int32_t token_of(struct fixture *f, struct philox_rows *rows,
			const float *values, uint32_t n, double temperature)
{
	int32_t *token = make_memory(f, sizeof(*token));
	struct philox_sample_desc s =
		new_sample(upload(f, values, n * sizeof(*values)), token);
	struct philox_row_list list = {.size = sizeof(list), .count = 1};

	*token = 12345;
	s.vocab = n;
	s.temperature = temperature;
	sample(f, rows, &list, &s);
	return *token;
}

#define TOKEN(temperature, ...)                         \
	token_of(f, rows, (const float[]){__VA_ARGS__}, \
		 sizeof((const float[]){__VA_ARGS__}) / 4, temperature)

PROMISE(sample, infinities_and_nan_are_as_documented)
{
	const float inf = INFINITY, nan = NAN;
	struct philox_rows *rows = make_rows(f, 1);

	for (int k = 0; k < 3; k++) {
		double t = 0.5 * k;

		cr_assert_eq(TOKEN(t, 1, inf, 2, inf, 3, 4), 1);
		cr_assert_eq(TOKEN(t, -inf, -inf, -4, -inf, -inf), 2);
		cr_assert_eq(TOKEN(t, -inf, -inf), -1);
		cr_assert_eq(TOKEN(t, -inf), -1);
		cr_assert_eq(TOKEN(t, 1, 2, nan, 3, 4, 5), -1);
		cr_assert_eq(TOKEN(t, inf, -nan), -1);
		cr_assert_eq(TOKEN(t, nan, -inf), -1);
		cr_assert_eq(TOKEN(t, 7), 0);
	}
	/* a quotient past the largest float is infinite */
	cr_assert_eq(TOKEN(0.25, 1, 3e38f, 2e38f), 1);
	cr_assert_eq(TOKEN(0.25, -3e38f, -2e38f), -1);
}

PROMISE(sample, greedy_takes_the_lowest_of_the_highest)
{
	struct philox_rows *rows = make_rows(f, 1);

	cr_assert_eq(TOKEN(0, 1, 5, 3, 5, 5), 1);
	cr_assert_eq(TOKEN(0, -5, -1, -3, -1), 1);
	cr_assert_eq(TOKEN(0, -1, -0.0f, 0, -0.0f), 1);
	cr_assert_eq(TOKEN(0, 0, -0.0f), 0);
	cr_assert_eq(TOKEN(0, 1e-45f, 0, 4e-45f), 2);
	cr_assert_eq(TOKEN(0, -1e-45f, -4e-45f), 0);
	cr_assert_eq(TOKEN(1e-39, 1, 5, 3, 5, 5), 1);
}

/* --- temperatures --------------------------------------------------------- */

PROMISE(sample, each_entry_may_have_a_temperature_of_its_own)
{
	static const float values[12] = {
		1,   0.5f,   0,     INFINITY,   -1,         0x1p-101f,
		NAN, 1e-30f, 3e38f, -0x1p-130f, -0x1p-101f, -0.0f};
	struct philox_rows *rows = make_rows(f, ENTRIES);
	float *logits = make_logits(f);
	int32_t *tokens = make_memory(f, ENTRIES * sizeof(*tokens));
	int32_t *one = make_memory(f, ENTRIES * sizeof(*one));
	float *temperatures = make_memory(f, ENTRIES * sizeof(float));
	struct philox_sample_desc s = new_sample(logits, tokens);

	for (uint32_t i = 0; i < ENTRIES; i++)
		temperatures[i] = values[i % 12];
	s.flags = PHILOX_ROWS_KEEP;
	s.temperatures = temperatures;
	s.temperature = NAN; /* not looked at */
	sample(f, rows, NULL, &s);
	s.temperatures = NULL;
	s.tokens = one;
	for (uint32_t k = 0; k < 12; k++) {
		int valid = values[k] >= 0 && !isinf(values[k]);

		s.temperature = valid ? values[k] : 1;
		sample(f, rows, NULL, &s);
		for (uint32_t i = k; i < ENTRIES; i += 12)
			cr_assert_eq(tokens[i], valid ? one[i] : -1,
				     "temperature %g, entry %u", values[k], i);
	}
}

/* However low the temperature, a row of finite logits has its highest token. */
PROMISE(sample, a_temperature_next_to_0_is_greedy)
{
	static const double cold[] = {0x1p-126, 0x1.000002p-126, 0x1p-125,
				      0x1p-110, 0x1.fffffep-101, 0x1p-100,
				      0x1p-99};
	struct philox_rows *rows = make_rows(f, 1);

	for (size_t i = 0; i < sizeof(cold) / sizeof(cold[0]); i++) {
		cr_assert_eq(TOKEN(cold[i], -40, -100, -39, -70), 2, "%a",
			     cold[i]);
		cr_assert_eq(TOKEN(cold[i], 40, 100, 70, 99), 1, "%a", cold[i]);
		cr_assert_eq(TOKEN(cold[i], 0, 1, 1, -1), 1, "%a", cold[i]);
		cr_assert_eq(TOKEN(cold[i], 0, 0x1p26f, 0x1.8p26f, 1), 2, "%a",
			     cold[i]);
	}
	for (size_t i = 0; i < 5; i++) /* below 2^-100, with no Gumbel number */
		cr_assert_eq(TOKEN(cold[i], 0, 0x1p-130f, 0, 0, 0, 0), 1, "%a",
			     cold[i]);
}

/* 2^-100 is the lowest temperature at which Gumbel numbers decide. */
PROMISE(sample, the_coldest_temperature_is_not_greedy)
{
	struct philox_rows *rows = make_rows(f, 1);
	int others = 0;

	for (int i = 0; i < 20; i++)
		others += TOKEN(0x1p-100, 0, 0, 0, 0, 0, 0) != 0;
	cr_assert(others > 0);
	for (int i = 0; i < 20; i++)
		cr_assert_eq(TOKEN(0x1.fffffep-101, 0, 0, 0, 0, 0, 0), 0);
}

/* --- masks ---------------------------------------------------------------- */

enum { MASK_PITCH = (VOCAB + 31) / 32 + 2 };

/* Takes what a mask leaves out of the logits. */
static void take_out(float *logits, const uint32_t *allowed)
{
	for (uint32_t v = 0; v < VOCAB; v++)
		if (!(allowed[v / 32] >> v % 32 & 1))
			logits[v] = -INFINITY;
}

PROMISE(sample, each_entry_may_have_a_mask_of_its_own)
{
	struct philox_rows *rows = make_rows(f, ENTRIES);
	float *logits = make_logits(f);
	float *left = make_memory(f, ENTRIES * VOCAB * sizeof(*left));
	uint32_t *allowed = make_memory(f, ENTRIES * MASK_PITCH * 4);
	int32_t *tokens = make_memory(f, 2 * ENTRIES * sizeof(*tokens));
	struct philox_sample_desc s = new_sample(logits, tokens);
	struct philox_sample_desc other = new_sample(left, tokens + ENTRIES);

	for (uint32_t i = 0; i < ENTRIES * MASK_PITCH; i++) {
		uint32_t word[4];

		model_block(77, i, 0, word);
		allowed[i] = word[0] & (i % 3 ? word[1] : word[2] & word[3]);
	}
	memset(allowed + 5 * MASK_PITCH, 0, MASK_PITCH * 4);
	s.flags = other.flags = PHILOX_ROWS_KEEP;
	s.allowed = allowed;
	for (int shared = 0; shared < 2; shared++) {
		s.allowed_pitch = shared ? 0 : MASK_PITCH;
		memcpy(left, logits, ENTRIES * VOCAB * sizeof(*left));
		for (uint32_t i = 0; i < ENTRIES; i++)
			take_out(left + i * VOCAB,
				 allowed + i * s.allowed_pitch);
		sample(f, rows, NULL, &s);
		sample(f, rows, NULL, &other);
		cr_assert(!memcmp(tokens, tokens + ENTRIES, ENTRIES * 4));
		cr_assert_eq(tokens[5] == -1, !shared);
		cr_assert_geq(tokens[6], 0);
	}
}

/* Grammars change between launches of one graph. */
PROMISE(sample, a_captured_mask_is_read_at_each_launch)
{
	struct philox_rows *rows = make_rows(f, ENTRIES);
	uint32_t *allowed = make_memory(f, MASK_PITCH * 4);
	int32_t *tokens = make_memory(f, ENTRIES * sizeof(*tokens));
	struct philox_sample_desc s = new_sample(make_logits(f), tokens);
	philox_native_graph graph;
	philox_native_exec exec;

	s.allowed = allowed;
	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_GLOBAL));
	OK(philox_sample_rows(rows, f->stream, NULL, &s));
	OK(philox_stream_end_capture(f->device, f->stream, &graph));
	OK(philox_native_graph_instantiate(f->device, graph, &exec));
	for (int32_t v = 0; v < VOCAB; v += 29) {
		memset(allowed, 0, MASK_PITCH * 4);
		allowed[v / 32] = 1u << v % 32;
		OK(philox_native_exec_launch(f->device, f->stream, exec));
		OK(philox_stream_synchronize(f->device, f->stream));
		for (uint32_t i = 0; i < ENTRIES; i++)
			cr_assert_eq(tokens[i], v);
	}
	OK(philox_native_exec_destroy(f->device, exec));
	OK(philox_native_graph_destroy(f->device, graph));
}

/* --- lists and states ----------------------------------------------------- */

static uint64_t offset_of(struct fixture *f, struct philox_rows *rows,
			  uint32_t row)
{
	struct philox_state state;

	OK(philox_rows_get(rows, f->stream, row, 1, &state));
	OK(philox_stream_synchronize(f->device, f->stream));
	return state.offset;
}

PROMISE(sample, rows_advance_by_4_whatever_their_temperature)
{
	static const uint32_t indices[5] = {3, 1, 3, 9, 0};
	static const uint8_t mask[5] = {1, 1, 1, 1, 0};
	static const float temperatures[5] = {1, 0, 1, 1, 1};
	struct philox_rows *rows = make_rows(f, 4);
	struct philox_row_list list = {
		.size = sizeof(list),
		.indices = upload(f, indices, sizeof(indices)),
		.mask = upload(f, mask, sizeof(mask)),
		.count = 5};
	float *logits = make_logits(f);
	int32_t *tokens = make_memory(f, 5 * sizeof(*tokens));
	struct philox_sample_desc s = new_sample(logits, tokens);
	struct philox_rows_report report = {.size = sizeof(report)};

	memcpy(logits + 2 * VOCAB, logits, VOCAB * sizeof(*logits));
	tokens[4] = 4321;
	s.temperatures = upload(f, temperatures, sizeof(temperatures));
	for (int step = 0; step < 2; step++) {
		sample(f, rows, &list, &s);
		cr_assert_eq(tokens[0], tokens[2]); /* one row, twice */
		is_best(tokens[0],
			(struct philox_state){model_row_seed(0, "a", 3),
					      4 * (uint64_t)step},
			logits, VOCAB, 1);
		cr_assert_eq(tokens[3], -1);
		cr_assert_eq(tokens[4], 4321);
	}
	cr_assert_eq(offset_of(f, rows, 3), 8);
	cr_assert_eq(offset_of(f, rows, 1), 8);
	cr_assert_eq(offset_of(f, rows, 0), 0);
	FAILS(philox_rows_check(rows, &report), PHILOX_ERROR_OVERFLOW);
	cr_assert_eq(report.outside, 2);
}

PROMISE(sample, an_empty_batch_has_no_tokens_and_no_node)
{
	const struct philox_row_list none = {.size = sizeof(none), .count = 0};
	struct philox_rows *rows = make_rows(f, 4);
	int32_t *tokens = make_memory(f, 4 * sizeof(*tokens));
	struct philox_sample_desc s = new_sample(make_logits(f), tokens);
	philox_native_graph graph;
	struct philox_state *states;
	size_t nodes;

	memset(tokens, 0x55, 4 * sizeof(*tokens));
	OK(philox_rows_states(rows, &states));
	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_GLOBAL));
	OK(philox_sample_rows(rows, f->stream, &none, &s));
	OK(philox_sample_states(f->device, f->stream, states, 0, &s));
	OK(philox_stream_end_capture(f->device, f->stream, &graph));
	OK(philox_native_graph_node_count(f->device, graph, &nodes));
	cr_assert_eq(nodes, 0);
	OK(philox_native_graph_destroy(f->device, graph));
	sample(f, rows, &none, &s);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(tokens[i], 0x55555555);
	cr_assert_eq(offset_of(f, rows, 0), 0);
	s.logits = NULL;
	s.tokens = NULL;
	OK(philox_sample_rows(rows, f->stream, &none, &s));
	OK(philox_sample_states(f->device, f->stream, NULL, 0, &s));
	s.temperature = -1;
	FAILS(philox_sample_rows(rows, f->stream, &none, &s),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_sample_states(f->device, f->stream, NULL, 0, &s),
	      PHILOX_ERROR_INVALID);
}

PROMISE(sample, a_row_that_is_used_up_has_no_token)
{
	const struct philox_state last = {3, UINT64_MAX - 3};
	struct philox_rows *rows = make_rows(f, 1);
	float *logits = make_logits(f);
	int32_t *token = make_memory(f, sizeof(*token));
	struct philox_sample_desc s = new_sample(logits, token);

	OK(philox_rows_set(rows, f->stream, NULL, &last, 1));
	sample(f, rows, NULL, &s);
	cr_assert_eq(*token, -1);
	cr_assert_eq(offset_of(f, rows, 0), UINT64_MAX - 3);
	FAILS(philox_rows_check(rows, NULL), PHILOX_ERROR_OVERFLOW);
	s.flags = PHILOX_ROWS_KEEP;
	sample(f, rows, NULL, &s);
	is_best(*token, last, logits, VOCAB, 1);
}

PROMISE(sample, a_replay_samples_what_the_next_eager_call_would)
{
	struct philox_rows *rows = make_rows(f, ENTRIES);
	float *logits = make_logits(f);
	int32_t *tokens = make_memory(f, ENTRIES * sizeof(*tokens));
	struct philox_sample_desc s = new_sample(logits, tokens);
	philox_native_graph graph;
	philox_native_exec exec;
	size_t nodes;

	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_GLOBAL));
	OK(philox_sample_rows(rows, f->stream, NULL, &s));
	OK(philox_stream_end_capture(f->device, f->stream, &graph));
	OK(philox_native_graph_node_count(f->device, graph, &nodes));
	cr_assert_eq(nodes, 1);
	OK(philox_native_graph_instantiate(f->device, graph, &exec));
	for (uint64_t step = 0; step < 9; step++) {
		if (step % 3 == 1)
			sample(f, rows, NULL, &s);
		else
			OK(philox_native_exec_launch(f->device, f->stream,
						     exec));
		OK(philox_stream_synchronize(f->device, f->stream));
		for (uint32_t i = 0; i < ENTRIES; i++)
			is_best(tokens[i],
				(struct philox_state){model_row_seed(0, "a", i),
						      4 * step},
				logits + i * VOCAB, VOCAB, 1);
	}
	OK(philox_native_exec_destroy(f->device, exec));
	OK(philox_native_graph_destroy(f->device, graph));
}

PROMISE(sample, columns_may_end_with_the_last_token_there_is)
{
	struct philox_rows *rows = make_rows(f, ENTRIES);
	float *logits = make_logits(f);
	int32_t *tokens = make_memory(f, ENTRIES * sizeof(*tokens));
	struct philox_sample_desc s = new_sample(logits, tokens);

	s.temperature = 0;
	s.first = 0x7fffffff - VOCAB;
	for (uint32_t i = 0; i < ENTRIES; i++)
		logits[i * VOCAB + VOCAB - 1] = 1000;
	sample(f, rows, NULL, &s);
	for (uint32_t i = 0; i < ENTRIES; i++)
		cr_assert_eq(tokens[i], 0x7ffffffe);
}

/* --- refusals ------------------------------------------------------------- */

static void refuses(struct fixture *f, struct philox_rows *rows,
		    struct philox_sample_desc bad, enum philox_status status,
		    const char *names)
{
	uint64_t launches = philox_device_call_count(f->device, "launch");
	struct philox_state *states;

	OK(philox_rows_states(rows, &states));
	FAILS(philox_sample_rows(rows, f->stream, NULL, &bad), status);
	NAMES(names);
	NAMES("rows 'a': sample: ");
	FAILS(philox_sample_states(f->device, f->stream, states, ENTRIES, &bad),
	      status);
	NAMES(names);
	cr_assert(!strstr(philox_error_message(), "sample: sample: "));
	cr_assert_eq(philox_device_call_count(f->device, "launch"), launches);
}

PROMISE(sample, mistakes_in_a_mask_are_named_before_the_device_is_called)
{
	struct philox_rows *rows = make_rows(f, ENTRIES);
	float *logits = make_logits(f);
	int32_t *tokens = make_memory(f, ENTRIES * sizeof(*tokens));
	struct philox_sample_desc bad = new_sample(logits, tokens);

	bad.allowed = (uint32_t *)((char *)logits + 2);
	refuses(f, rows, bad, PHILOX_ERROR_INVALID, "sample: allowed (0x");
	NAMES("is not aligned to the 4 bytes of u32");
	bad.allowed = (uint32_t *)logits;
	bad.allowed_pitch = (VOCAB + 31) / 32 - 1;
	refuses(f, rows, bad, PHILOX_ERROR_INVALID,
		"sample: allowed_pitch is 6, neither 0 nor 7 words or more");
	bad.allowed_pitch = UINT64_MAX / 4;
	refuses(f, rows, bad, PHILOX_ERROR_OVERFLOW, "allowed 7");
}

PROMISE(sample, mistakes_are_named_before_the_device_is_called)
{
	struct philox_rows *rows = make_rows(f, ENTRIES);
	float *logits = make_logits(f);
	int32_t *tokens = make_memory(f, ENTRIES * sizeof(*tokens));
	const struct philox_sample_desc good = new_sample(logits, tokens);
	struct philox_sample_desc bad = good;
	struct philox_state *states;

	OK(philox_rows_states(rows, &states));
	bad.dtype = PHILOX_DTYPE_U32;
	refuses(f, rows, bad, PHILOX_ERROR_INVALID,
		"sample: dtype of logits is u32, not f32, bf16 or f16");
	bad.dtype = PHILOX_DTYPE_F64;
	refuses(f, rows, bad, PHILOX_ERROR_INVALID, "logits is f64");
	bad.dtype = (enum philox_dtype)8;
	refuses(f, rows, bad, PHILOX_ERROR_INVALID,
		"sample: dtype 8 is unknown");
	bad = good;
	bad.vocab = 0;
	refuses(f, rows, bad, PHILOX_ERROR_INVALID, "sample: vocab is 0");
	bad = good;
	bad.first = 0x7fffffff - VOCAB + 1;
	refuses(f, rows, bad, PHILOX_ERROR_INVALID, "sample: first 2147483");
	NAMES(" is past 2^31 - 1");
	bad = good;
	bad.pitch = VOCAB - 1;
	refuses(f, rows, bad, PHILOX_ERROR_INVALID, "sample: pitch is ");
	NAMES(", below vocab ");
	bad.pitch = UINT64_MAX / 4;
	refuses(f, rows, bad, PHILOX_ERROR_OVERFLOW,
		"pitch 4611686018427387903, of dtype f32 are past 2^64 bytes");
	bad = good;
	bad.temperature = -0.5;
	refuses(f, rows, bad, PHILOX_ERROR_INVALID,
		"sample: temperature is -0.5");
	bad.temperature = NAN;
	refuses(f, rows, bad, PHILOX_ERROR_INVALID, "temperature is nan");
	bad.temperature = 1e39;
	refuses(f, rows, bad, PHILOX_ERROR_INVALID, "temperature is 1e+39");
	bad = good;
	bad.temperatures = (float *)((char *)logits + 2);
	refuses(f, rows, bad, PHILOX_ERROR_INVALID, "sample: temperatures (0x");
	NAMES("is not aligned to the 4 bytes of f32");
	bad = good;
	bad.logits = NULL;
	refuses(f, rows, bad, PHILOX_ERROR_INVALID, "sample: logits is NULL");
	bad.logits = (char *)logits + 1;
	refuses(f, rows, bad, PHILOX_ERROR_INVALID, "sample: logits (0x");
	NAMES("is not aligned to the 4 bytes of f32");
	bad = good;
	bad.tokens = NULL;
	refuses(f, rows, bad, PHILOX_ERROR_INVALID,
		"sample: tokens and keys are NULL");
	bad.keys = (uint64_t *)(tokens + 1);
	refuses(f, rows, bad, PHILOX_ERROR_INVALID, "sample: keys (0x");
	NAMES("is not aligned to the 8 bytes of u64");
	bad = good;
	bad.flags = 6;
	refuses(f, rows, bad, PHILOX_ERROR_INVALID, "sample: flags is 0x6");
	bad = good;
	bad.size = 8;
	refuses(f, rows, bad, PHILOX_ERROR_INVALID, "sample: size is 8");
	FAILS(philox_sample_rows(NULL, f->stream, NULL, &good),
	      PHILOX_ERROR_INVALID);
	NAMES("rows is NULL");
	FAILS(philox_sample_rows(rows, f->stream, NULL, NULL),
	      PHILOX_ERROR_INVALID);
	NAMES("sample is NULL");
	FAILS(philox_sample_states(f->device, f->stream, NULL, 1, &good),
	      PHILOX_ERROR_INVALID);
	NAMES("sample: states is NULL");
	FAILS(philox_sample_states(f->device, f->stream, states, (1 << 24) + 1,
				   &good),
	      PHILOX_ERROR_INVALID);
	NAMES("sample: count is 16777217, above 2^24");
	bad = good;
	bad.flags = PHILOX_ROWS_KEEP; /* for a table's rows only */
	FAILS(philox_sample_states(f->device, f->stream, states, 1, &bad),
	      PHILOX_ERROR_INVALID);
	NAMES("sample: flags is 0x1, not 0");
	FAILS(philox_sample_states(NULL, f->stream, NULL, 1, &good),
	      PHILOX_ERROR_INVALID);
	NAMES("device is NULL");
}
