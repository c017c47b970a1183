/*
 * tests/sample/logprobs.c - logprobs are those of the law
 *
 * The oracle is logprobs.py, in integers and fractions; its answers for the
 * cases of filters.txt are in logprobs.txt.
 */
#include <math.h>
#include <stdlib.h>
#include "lib/base/base.h"
#include "lib/sample/logprob.h"
#include "tests/sample/known.h"

enum { IDS = 6, TOP = 5, LINE = 1024 };

/* What is written for one entry, in device memory. */
struct values {
	float drawn, of_ids[IDS], of_top[TOP];
	int32_t ids[IDS], top[TOP];
};

static struct philox_logprob_desc ask(struct values *values)
{
	return (struct philox_logprob_desc){
		.size = sizeof(struct philox_logprob_desc),
		.drawn = &values->drawn,
		.ids = values->ids,
		.of_ids = values->of_ids,
		.top = values->top,
		.of_top = values->of_top,
		.n_ids = IDS,
		.n_top = TOP};
}

/* Bit by bit, but all NaNs are one. */
static int is_same(float a, float b)
{
	return philox_f32_bits(a) == philox_f32_bits(b) ||
	       (isnan(a) && isnan(b));
}

/* --- the table ------------------------------------------------------------ */

/* Of a line of logprobs.txt: processed, or raw. */
struct answer {
	float of_ids[4], of_top[TOP];
	int32_t top[TOP];
};

static float read_bits(char **line)
{
	return philox_f32_from_bits((uint32_t)strtoul(*line, line, 16));
}

static void read_answer(char **line, struct answer *answer)
{
	for (int i = 0; i < 4; i++)
		answer->of_ids[i] = read_bits(line);
	for (int i = 0; i < TOP; i++) {
		answer->top[i] = (int32_t)strtol(*line, line, 10);
		answer->of_top[i] = read_bits(line);
	}
}

static void read_answers(FILE *file, struct answer answers[2])
{
	char line[LINE], *at = line;

	do
		cr_assert(fgets(line, sizeof(line), file));
	while (line[0] == '#');
	read_answer(&at, &answers[0]);
	read_answer(&at, &answers[1]);
	cr_assert_str_eq(at, "\n");
}

/* The last is no column's. */
static void set_ids(const struct known *of, int32_t token, int32_t ids[IDS])
{
	const int32_t first = (int32_t)of->first, vocab = (int32_t)of->vocab;
	const int32_t outside[] = {-1, first - 1, first + vocab, INT32_MIN,
				   INT32_MAX};

	ids[0] = first;
	ids[1] = first + vocab / 2;
	ids[2] = first + vocab - 1;
	ids[3] = of->last < 0 ? first : (int32_t)of->last;
	ids[4] = token;
	ids[5] = outside[of->seed % 5];
}

static void is_answer(const struct values *values, const struct answer *answer,
		      int32_t token, int line, const char *what)
{
	for (int i = 0; i < 4; i++)
		cr_assert(is_same(values->of_ids[i], answer->of_ids[i]),
			  "line %d, %s: id %d has %a, not %a", line, what,
			  values->ids[i], values->of_ids[i], answer->of_ids[i]);
	for (int i = 0; i < TOP; i++) {
		cr_assert_eq(values->top[i], answer->top[i],
			     "line %d, %s: number %d is %d, not %d", line, what,
			     i, values->top[i], answer->top[i]);
		cr_assert(is_same(values->of_top[i], answer->of_top[i]),
			  "line %d, %s: number %d has %a, not %a", line, what,
			  i, values->of_top[i], answer->of_top[i]);
	}
	cr_assert(isnan(values->of_ids[5]), "line %d, %s", line, what);
	cr_assert(token < 0 ? isnan(values->drawn)
			    : is_same(values->drawn, values->of_ids[4]),
		  "line %d, %s: token %d has %a, and as an id %a", line, what,
		  token, values->drawn, values->of_ids[4]);
}

static void check_answers(struct fixture *f, const struct known *of,
			  struct known_memory *memory, struct values *values,
			  const struct answer answers[2])
{
	const struct philox_sample_desc described =
		known_describe(f, of, memory);
	const struct philox_logprob_desc processed = ask(&values[0]);
	const struct philox_logprob_desc raw = ask(&values[1]);
	struct philox_sample_desc sample = described;

	if (of->seed % 2) { /* the cut is needed all the same */
		sample.cuts = NULL;
		sample.kept_counts = NULL;
		sample.kept = NULL;
	}
	known_run(f, memory, &sample);
	set_ids(of, memory->token, values[0].ids);
	set_ids(of, memory->token, values[1].ids);
	sample.logprobs = &processed;
	sample.raw_logprobs = &raw;
	FOR_EACH_SIMD(simd)
	{
		known_run(f, memory, &sample);
		cr_assert_eq(memory->token, values[0].ids[4]);
		is_answer(&values[0], &answers[0], memory->token, of->line,
			  simd_name(simd));
		is_answer(&values[1], &answers[1], memory->token, of->line,
			  simd_name(simd));
	}
	known_undescribe(f, &described);
}

PROMISE(logprobs, are_what_the_law_says)
{
	struct known_memory *memory = make_memory(f, sizeof(*memory));
	struct values *values = make_memory(f, 2 * sizeof(*values));
	FILE *cases = fopen("tests/sample/filters.txt", "r");
	FILE *file = fopen("tests/sample/logprobs.txt", "r");
	struct known known = {.line = 0};
	int rows = 0;

	cr_assert(cases && file);
	for (; known_next(cases, &known); rows++) {
		struct answer answers[2];

		read_answers(file, answers);
		check_answers(f, &known, memory, values, answers);
		known_free(&known);
	}
	fclose(cases);
	fclose(file);
	cr_assert_gt(rows, 700);
}

/* --- long rows ------------------------------------------------------------ */

enum { MANY = 1024 };

/* The logprobs of the first tokens, and of the same as ids. */
struct lists {
	float of_top[MANY], of_ids[MANY];
	int32_t top[MANY], ids[MANY];
};

static struct philox_logprob_desc ask_top(struct lists *lists, uint32_t n)
{
	return (struct philox_logprob_desc){
		.size = sizeof(struct philox_logprob_desc),
		.ids = lists->ids,
		.of_ids = lists->of_ids,
		.top = lists->top,
		.of_top = lists->of_top,
		.n_ids = n,
		.n_top = n};
}

static int comes_first(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x < *y) - (*x > *y);
}

/* The first n tokens of those from a cut on: found by sorting all. */
static void sort_first(const struct known *of, int raw, uint64_t cut,
		       uint32_t n, int32_t *ids)
{
	uint64_t *keys = malloc(of->vocab * sizeof(*keys));

	for (uint32_t c = 0; c < of->vocab; c++)
		keys[c] = philox_sample_order(raw ? of->logits[c]
						  : known_logit(of, c),
					      of->first + c);
	qsort(keys, of->vocab, sizeof(*keys), comes_first);
	for (uint32_t i = 0; i < n; i++)
		ids[i] = i < of->vocab && keys[i] && keys[i] >= cut
				 ? philox_sample_token(keys[i])
				 : -1;
	free(keys);
}

static void are_sorted(const struct lists *lists, uint32_t n, int row,
		       const char *set)
{
	for (uint32_t i = 0; i < n; i++) {
		cr_assert_eq(lists->top[i], lists->ids[i],
			     "row %d, %s: number %u of %u is %d, not %d", row,
			     set, i, n, lists->top[i], lists->ids[i]);
		if (lists->ids[i] < 0)
			cr_assert(isinf(lists->of_top[i]));
		else
			cr_assert(is_same(lists->of_top[i], lists->of_ids[i]));
	}
}

static void check_long(struct fixture *f, const struct known *of,
		       struct known_memory *memory, struct lists *lists,
		       uint32_t n)
{
	const struct philox_logprob_desc processed = ask_top(&lists[0], n);
	const struct philox_logprob_desc raw = ask_top(&lists[1], n);
	struct philox_sample_desc sample = known_describe(f, of, memory);
	static float first[2][MANY];

	known_run(f, memory, &sample);
	sort_first(of, 0, memory->cut, n, lists[0].ids);
	sort_first(of, 1, 0, n, lists[1].ids);
	sample.logprobs = &processed;
	sample.raw_logprobs = &raw;
	FOR_EACH_SIMD(simd)
	{
		known_run(f, memory, &sample);
		for (int i = 0; i < 2; i++) {
			are_sorted(&lists[i], n, of->line, simd_name(simd));
			if (simd == SIMD_SCALAR)
				memcpy(first[i], lists[i].of_top, n * 4);
			cr_assert(!memcmp(first[i], lists[i].of_top, n * 4),
				  "row %d, %s", of->line, simd_name(simd));
		}
	}
	known_undescribe(f, &sample);
}

/* Rows in which more is kept than what is listed, and of which less is. */
PROMISE(logprobs, of_the_first_tokens_of_long_rows_are_those_of_sorted_ones)
{
	static const uint32_t n[] = {1, 20, 300, 1024};
	static const float p[] = {1, 0.5f, 0.9f, 0.999f};
	struct known_memory *memory = make_memory(f, sizeof(*memory));
	struct lists *lists = make_memory(f, 2 * sizeof(*lists));
	struct known of = {.dtype = PHILOX_DTYPE_F32};
	uint32_t x = 99;

	for (uint32_t i = 0; i < 120; i++) {
		of.line = (int)i;
		of.kind = i % 6; /* without +infinity */
		of.seed = i;
		of.vocab = 500 + known_below(&x, 200) * 150;
		of.first = i % 4;
		of.mask = i % 3 ? 0 : 1;
		of.order = known_below(&x, 3);
		of.filters = known_below(&x, 8);
		of.k = known_below(&x, 2) ? 50 : known_below(&x, 255) * 120;
		of.temperature = i % 4 ? 1.5f : 0.05f;
		of.p = p[known_below(&x, 4)];
		of.m = i % 2 ? 0 : 1e-4f;
		known_make(&of);
		check_long(f, &of, memory, lists, n[known_below(&x, 4)]);
		known_free(&of);
	}
}

/* --- whole calls ---------------------------------------------------------- */

enum { VOCAB = 300, ENTRIES = 24 };

static struct philox_sample_desc new_sample(struct fixture *f)
{
	struct philox_sample_desc s = known_sample(f, ENTRIES, VOCAB);

	s.temperature = 0.8;
	s.filters = PHILOX_FILTER_TOP_P;
	s.top_p = 0.9;
	return s;
}

/* All arrays; each entry asks for other ids. */
static struct philox_logprob_desc new_logprobs(struct fixture *f)
{
	int32_t *ids = make_memory(f, ENTRIES * IDS * sizeof(*ids));

	for (int32_t i = 0; i < ENTRIES * IDS; i++)
		ids[i] = i * 37 % VOCAB;
	return (struct philox_logprob_desc){
		.size = sizeof(struct philox_logprob_desc),
		.drawn = make_memory(f, ENTRIES * sizeof(float)),
		.ids = ids,
		.of_ids = make_memory(f, ENTRIES * IDS * sizeof(float)),
		.top = make_memory(f, ENTRIES * TOP * sizeof(int32_t)),
		.of_top = make_memory(f, ENTRIES * TOP * sizeof(float)),
		.n_ids = IDS,
		.n_top = TOP};
}

static struct philox_logprob_desc after(struct philox_logprob_desc l,
					uint32_t entries)
{
	l.drawn += entries;
	l.ids += entries * IDS;
	l.of_ids += entries * IDS;
	l.top += entries * TOP;
	l.of_top += entries * TOP;
	return l;
}

/* Entry i of one is entry k of the other. */
static void is_entry(const struct philox_logprob_desc *a, uint32_t i,
		     const struct philox_logprob_desc *b, uint32_t k)
{
	const struct philox_logprob_desc x = after(*a, i), y = after(*b, k);

	cr_assert(is_same(*x.drawn, *y.drawn), "entry %u", i);
	cr_assert(!memcmp(x.of_ids, y.of_ids, IDS * 4), "entry %u", i);
	cr_assert(!memcmp(x.top, y.top, TOP * 4), "entry %u", i);
	cr_assert(!memcmp(x.of_top, y.of_top, TOP * 4), "entry %u", i);
}

/* Entries in another order, further apart, and in two calls. */
PROMISE(logprobs, of_an_entry_do_not_depend_on_the_batch)
{
	enum { PITCH = VOCAB + 5, PART = 15 };
	struct philox_rows *rows = known_rows(f, ENTRIES);
	struct philox_sample_desc s = new_sample(f), other = s;
	struct philox_logprob_desc l = new_logprobs(f), raw = new_logprobs(f);
	const struct philox_logprob_desc m = new_logprobs(f);
	const struct philox_logprob_desc raw_m = new_logprobs(f);
	const struct philox_logprob_desc rest = after(m, PART);
	const struct philox_logprob_desc raw_rest = after(raw_m, PART);
	uint32_t *indices = make_memory(f, ENTRIES * 4);
	float *logits = make_memory(f, ENTRIES * PITCH * sizeof(*logits));
	struct philox_row_list part = {
		.size = sizeof(part), .indices = indices, .count = PART};

	for (uint32_t i = 0; i < ENTRIES; i++) {
		const uint32_t of = indices[i] = ENTRIES - 1 - i;

		memcpy(logits + i * PITCH, (const float *)s.logits + of * VOCAB,
		       VOCAB * sizeof(*logits));
		memcpy((void *)(uintptr_t)after(m, i).ids, after(l, of).ids,
		       IDS * 4);
		memcpy((void *)(uintptr_t)after(raw_m, i).ids, after(l, of).ids,
		       IDS * 4);
	}
	s.logprobs = &l;
	s.raw_logprobs = &raw;
	OK(philox_sample_rows(rows, f->stream, NULL, &s));
	other.logits = logits;
	other.pitch = PITCH;
	other.logprobs = &m;
	other.raw_logprobs = &raw_m;
	OK(philox_sample_rows(rows, f->stream, &part, &other));
	other.logits = logits + PART * PITCH;
	other.logprobs = &rest;
	other.raw_logprobs = &raw_rest;
	part.indices += PART;
	part.count = ENTRIES - PART;
	OK(philox_sample_rows(rows, f->stream, &part, &other));
	OK(philox_stream_synchronize(f->device, f->stream));
	for (uint32_t i = 0; i < ENTRIES; i++) {
		is_entry(&m, i, &l, ENTRIES - 1 - i);
		is_entry(&raw_m, i, &raw, ENTRIES - 1 - i);
	}
}

/* Of either kind. */
PROMISE(logprobs, change_no_token_and_no_row)
{
	struct philox_rows *rows = known_rows(f, ENTRIES);
	struct philox_sample_desc plain = new_sample(f), s = plain;
	const struct philox_logprob_desc l = new_logprobs(f);
	struct philox_state states[ENTRIES];

	for (uint32_t i = 0; i < 8; i++) {
		const uint32_t filters = i & 1, cold = i & 2, raw = i & 4;

		plain.filters = filters * PHILOX_FILTER_TOP_P;
		plain.top_p = filters * 0.9;
		plain.temperature = cold ? 0 : 0.8;
		s = plain;
		s.tokens = make_memory(f, ENTRIES * sizeof(int32_t));
		s.logprobs = raw ? NULL : &l;
		s.raw_logprobs = raw ? &l : NULL;
		s.flags = 0;
		memset(l.drawn, 0, ENTRIES * 4);
		OK(philox_sample_rows(rows, f->stream, NULL, &plain));
		OK(philox_sample_rows(rows, f->stream, NULL, &s));
		OK(philox_stream_synchronize(f->device, f->stream));
		cr_assert(!memcmp(s.tokens, plain.tokens, ENTRIES * 4));
		for (uint32_t k = 0; k < ENTRIES; k++)
			cr_assert_lt(l.drawn[k], 0);
	}
	OK(philox_rows_get(rows, f->stream, 0, ENTRIES, states));
	OK(philox_stream_synchronize(f->device, f->stream));
	for (uint32_t i = 0; i < ENTRIES; i++)
		cr_assert_eq(states[i].offset, 32);
}

/*
 * Entry 0 takes no part, 1 has no row, 2 a temperature of -1, 3 a row that is
 * used up; the others are as ever.
 */
PROMISE(logprobs, of_an_entry_without_token_are_nan_but_raw_ones_are_there)
{
	struct philox_rows *rows = known_rows(f, ENTRIES);
	struct philox_sample_desc s = new_sample(f);
	const struct philox_logprob_desc l = new_logprobs(f);
	const struct philox_logprob_desc raw = new_logprobs(f);
	const struct philox_state used_up = {1, UINT64_MAX - 3};
	const uint32_t row = 3;
	uint32_t *indices = make_memory(f, ENTRIES * 4);
	uint8_t *mask = make_memory(f, ENTRIES);
	float *t = make_memory(f, ENTRIES * 4);
	struct philox_row_list list = {.size = sizeof(list),
				       .indices = indices,
				       .mask = mask,
				       .count = ENTRIES};

	for (uint32_t i = 0; i < ENTRIES; i++) {
		indices[i] = i == 1 ? ENTRIES : i;
		mask[i] = i != 0;
		t[i] = i == 2 ? -1 : 1;
	}
	l.drawn[0] = raw.of_top[0] = 42;
	s.temperatures = t;
	s.logprobs = &l;
	s.raw_logprobs = &raw;
	s.flags = 0;
	OK(philox_rows_set(rows, f->stream, &row, &used_up, 1));
	OK(philox_sample_rows(rows, f->stream, &list, &s));
	OK(philox_stream_synchronize(f->device, f->stream));
	cr_assert(l.drawn[0] == 42 && raw.of_top[0] == 42);
	for (uint32_t i = 1; i < ENTRIES; i++) {
		const int has_token = i > 3;

		cr_assert_eq(s.tokens[i] >= 0, has_token, "entry %u", i);
		cr_assert_eq(!isnan(l.drawn[i]), has_token, "entry %u", i);
		cr_assert_eq(!isnan(raw.drawn[i]), has_token, "entry %u", i);
		for (uint32_t k = 0; k < IDS; k++) {
			cr_assert_eq(!isnan(l.of_ids[i * IDS + k]), has_token);
			cr_assert(raw.of_ids[i * IDS + k] < 0);
		}
		for (uint32_t k = 0; k < TOP; k++) {
			cr_assert_eq(!isnan(l.of_top[i * TOP + k]), has_token);
			cr_assert_eq(l.top[i * TOP + k] >= 0, has_token);
			cr_assert(raw.of_top[i * TOP + k] < 0);
			cr_assert(raw.top[i * TOP + k] >= 0);
		}
	}
}

/* A server asks for other tokens at each launch of one graph. */
PROMISE(logprobs, of_ids_in_a_captured_call_are_those_at_each_launch)
{
	struct philox_rows *rows = known_rows(f, ENTRIES);
	struct philox_sample_desc s = new_sample(f), eager = s;
	const struct philox_logprob_desc l = new_logprobs(f);
	struct philox_logprob_desc other = new_logprobs(f);
	int32_t *ids = (int32_t *)(uintptr_t)l.ids;
	philox_native_graph graph;
	philox_native_exec exec;

	other.ids = ids;
	s.logprobs = &l;
	eager.tokens = make_memory(f, ENTRIES * sizeof(int32_t));
	eager.logprobs = &other;
	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_GLOBAL));
	OK(philox_sample_rows(rows, f->stream, NULL, &s));
	OK(philox_stream_end_capture(f->device, f->stream, &graph));
	OK(philox_native_graph_instantiate(f->device, graph, &exec));
	for (int32_t round = 0; round < 5; round++) {
		for (int32_t i = 0; i < ENTRIES * IDS; i++)
			ids[i] = (i * 41 + round * 7) % (VOCAB + 1);
		OK(philox_native_exec_launch(f->device, f->stream, exec));
		OK(philox_sample_rows(rows, f->stream, NULL, &eager));
		OK(philox_stream_synchronize(f->device, f->stream));
		for (uint32_t i = 0; i < ENTRIES; i++)
			is_entry(&l, i, &other, i);
	}
	OK(philox_native_exec_destroy(f->device, exec));
	OK(philox_native_graph_destroy(f->device, graph));
}

/* A caller who writes logits meanwhile gets wrong tokens, but no more of them. */
Test(logprobs, of_more_tokens_than_are_asked_for_stay_in_their_place)
{
	enum { LISTED = 9, ASKED = 4 };
	const struct logprob of = {.row = {.most = LISTED, .inverse = 1}};
	int32_t top[LISTED];
	float of_top[LISTED];
	const struct sample_logprobs to = {
		.top = top, .of_top = of_top, .n_top = ASKED};
	uint64_t keys[LISTED];

	for (uint32_t i = 0; i < LISTED; i++) {
		keys[i] = philox_sample_order((float)i, i);
		top[i] = -7;
	}
	logprob_end_top(&to, 0, &of, keys, LISTED, 0, 1);
	for (int32_t i = 0; i < LISTED; i++)
		cr_assert_eq(top[i], i < ASKED ? ASKED - 1 - i : -7);
}

/* --- misuse --------------------------------------------------------------- */

static void refuses(struct fixture *f, struct philox_rows *rows,
		    const struct philox_logprob_desc *l, int raw,
		    const char *text)
{
	struct philox_sample_desc s = new_sample(f);

	s.logprobs = raw ? NULL : l;
	s.raw_logprobs = raw ? l : NULL;
	FAILS(philox_sample_rows(rows, f->stream, NULL, &s),
	      PHILOX_ERROR_INVALID);
	NAMES(text);
}

PROMISE(logprobs, that_are_asked_for_wrongly_are_refused_by_name)
{
	struct philox_rows *rows = known_rows(f, ENTRIES);
	const struct philox_logprob_desc good = new_logprobs(f);
	const struct philox_row_list no_rows = {.size = sizeof(no_rows)};
	struct philox_sample_desc none = new_sample(f);
	struct philox_logprob_desc l = good;

	l.size = 3;
	refuses(f, rows, &l, 0, "logprobs: size");
	l = good;
	l.n_top = 1025;
	refuses(f, rows, &l, 1, "raw_logprobs: n_top is 1025, above 1024");
	none.logprobs = &l;
	FAILS(philox_sample_rows(rows, f->stream, &no_rows, &none),
	      PHILOX_ERROR_INVALID);
	l = good;
	l.n_ids = 0;
	refuses(f, rows, &l, 0, "logprobs: n_ids is 0, but ids is not NULL");
	l.ids = NULL;
	refuses(f, rows, &l, 0, "logprobs: n_ids is 0, but of_ids is not NULL");
	l = good;
	l.ids = NULL;
	refuses(f, rows, &l, 1, "raw_logprobs: ids is NULL");
	l = good;
	l.n_top = 0;
	refuses(f, rows, &l, 0, "logprobs: n_top is 0, but top is not NULL");
	l = good;
	l.of_top = NULL;
	refuses(f, rows, &l, 0, "logprobs: of_top is NULL");
	l = good;
	l.drawn = (float *)(void *)((char *)l.drawn + 1);
	refuses(f, rows, &l, 1, "raw_logprobs: drawn");
	l = good;
	l.of_top = l.of_ids;
	refuses(f, rows, &l, 0, "logprobs: of_ids (0x");
	NAMES("and logprobs: of_top (0x");
	l = good;
	l.top = (int32_t *)(uintptr_t)l.ids + 1;
	refuses(f, rows, &l, 1, "raw_logprobs: ids (0x");
	NAMES("and raw_logprobs: top (0x");
}
