/*
 * tests/sample/filters.c - which tokens are kept, and what is drawn of them
 *
 * The token is the best score of those that are kept, with the noise of
 * philox_gumbel_at().
 */
#include <math.h>
#include <stdlib.h>
#include "lib/base/base.h"
#include "lib/sample/filter.h"
#include "tests/sample/known.h"
#include "tests/support/models/rows.h"

/* --- sums ------------------------------------------------------------------ */

__extension__ typedef unsigned __int128 u128;

static uint64_t next_long(uint32_t *x)
{
	uint64_t high = *x = *x * 1664525u + 1013904223u;

	return high << 32 | (*x = *x * 1664525u + 1013904223u);
}

static u128 wide(struct filter_sum sum)
{
	return (u128)sum.high << 64 | sum.low;
}

/* Some numbers have all ones in their lower digits, so that all of them carry. */
Test(filters, sums_of_masses_and_shares_of_them_have_all_digits)
{
	uint32_t x = 31;

	for (int i = 0; i < 200000; i++) {
		uint64_t upper = next_long(&x) >> (4 + next_long(&x) % 60);
		uint64_t lower =
			i % 3 ? next_long(&x) >> 5 : (1ull << (i % 59)) - 1;
		struct filter_sum total = filter_join(upper, lower);
		uint32_t digits = (uint32_t)(next_long(&x) >> 41);
		uint32_t shift = 24 + (uint32_t)(next_long(&x) % 126);
		float p =
			i % 5 ? ldexpf((float)(digits | 0x800000), -(int)shift)
			      : 0x1p-64f;
		u128 product, least;

		cr_assert(wide(total) == ((u128)upper << 28) + lower);
		if (total.high >> 24)
			continue;
		digits = i % 5 ? digits | 0x800000 : 0x800000;
		shift = i % 5 ? shift : 87;
		product = wide(total) * digits;
		least = shift < 128 ? product >> shift : 0;
		if (shift >= 128 || least << shift != product || !least)
			least++;
		cr_assert(wide(filter_share(total, p)) == least,
			  "%llx of %llx, %llx", (unsigned long long)digits,
			  (unsigned long long)upper, (unsigned long long)lower);
	}
}

/* --- what is kept --------------------------------------------------------- */

/* Whether column c is kept, if column `last` is the last that is. */
static int is_kept(const struct known *of, uint32_t c, uint32_t last)
{
	const float x = known_logit(of, c), least = known_logit(of, last);

	return x > least || (x == least && c <= last);
}

static int32_t token_of(const struct known *of, struct philox_state state)
{
	const uint32_t last = (uint32_t)(of->last - of->first);
	const int greedy = of->temperature < 0x1p-100f;
	float best = -INFINITY;
	int32_t token = -1;

	for (uint32_t c = 0; of->kept && c < of->vocab; c++) {
		const uint32_t v = of->first + c;
		float score = known_logit(of, c);

		if (!is_kept(of, c, last))
			continue;
		if (!greedy)
			score = fmaf(score, 1 / of->temperature,
				     philox_gumbel_at(state, v));
		if (score > best) {
			best = score;
			token = (int32_t)v;
		}
	}
	return token;
}

/* --- what is sampled ------------------------------------------------------ */

static uint32_t count_kept(const struct known *of, uint64_t cut)
{
	uint32_t n = 0;

	for (uint32_t c = 0; c < of->vocab; c++)
		n += philox_sample_order(known_logit(of, c), of->first + c) >=
		     cut;
	return n;
}

/* The indices are those of the kept tokens, ascending, while there is room. */
static void lists_kept(const struct known *of,
		       const struct known_memory *memory,
		       const struct philox_sample_desc *sample, int line)
{
	const uint32_t last = (uint32_t)(of->last - of->first);
	uint32_t n = 0;

	cr_assert_eq(memory->kept, of->kept, "line %d: %u kept, not %u", line,
		     memory->kept, of->kept);
	for (uint32_t c = 0; of->kept && c < of->vocab; c++)
		if (is_kept(of, c, last) && n++ < sample->kept_pitch)
			cr_assert_eq(sample->kept[n - 1],
				     (int32_t)(of->first + c),
				     "line %d: number %u is %d", line, n - 1,
				     sample->kept[n - 1]);
	for (uint32_t i = of->kept; i < of->vocab; i++)
		cr_assert_eq(sample->kept[i], -2);
	for (uint64_t i = sample->kept_pitch; i < of->vocab; i++)
		cr_assert_eq(sample->kept[i], -2);
}

static void is_known(const struct known *of, const struct known_memory *memory,
		     int line, const char *set)
{
	cr_assert_eq(memory->token, token_of(of, memory->state),
		     "line %d, %s: token %d, not %d", line, set, memory->token,
		     token_of(of, memory->state));
	if (!of->kept) {
		cr_assert_eq(memory->cut, UINT64_MAX, "line %d, %s", line, set);
		return;
	}
	cr_assert_eq(0xffffffff - (uint32_t)memory->cut, of->last,
		     "line %d, %s: the last is %u, not %d", line, set,
		     0xffffffff - (uint32_t)memory->cut, (int)of->last);
	cr_assert_eq(count_kept(of, memory->cut), of->kept,
		     "line %d, %s: keeps %u, not %u", line, set,
		     count_kept(of, memory->cut), of->kept);
}

static void check_known(struct fixture *f, const struct known *of,
			struct known_memory *memory, int line)
{
	struct philox_sample_desc sample = known_describe(f, of, memory);

	FOR_EACH_SIMD(simd)
	{
		memory->token = 12345;
		for (uint32_t c = 0; c < of->vocab; c++)
			sample.kept[c] = -2;
		known_run(f, memory, &sample);
		is_known(of, memory, line, simd_name(simd));
		lists_kept(of, memory, &sample, line);
	}
	known_undescribe(f, &sample);
}

/* The first set is that without vectors, of which the table speaks. */
static void all_sets_agree(struct fixture *f, const struct known *of,
			   struct known_memory *memory, int row)
{
	struct philox_sample_desc sample = known_describe(f, of, memory);
	struct known_memory first = {.token = 0};

	FOR_EACH_SIMD(simd)
	{
		known_run(f, memory, &sample);
		if (simd == SIMD_SCALAR)
			first = *memory;
		cr_assert_eq(memory->cut, first.cut, "row %d, %s", row,
			     simd_name(simd));
		cr_assert_eq(memory->token, first.token, "row %d, %s", row,
			     simd_name(simd));
		cr_assert_eq(memory->kept, first.kept, "row %d, %s", row,
			     simd_name(simd));
	}
	known_undescribe(f, &sample);
}

/* --- the table ------------------------------------------------------------ */

PROMISE(filters, what_is_kept_and_drawn_is_what_the_law_says)
{
	struct known_memory *memory = make_memory(f, sizeof(*memory));
	FILE *file = fopen("tests/sample/filters.txt", "r");
	struct known known = {.line = 0};
	int rows = 0;

	cr_assert(file);
	for (; known_next(file, &known); rows++) {
		check_known(f, &known, memory, known.line);
		known_free(&known);
	}
	fclose(file);
	cr_assert_gt(rows, 700);
}

/*
 * -0 equals 0, also where it is the last logit that is kept, of few columns or
 * of more than are listed: three of four columns are one or the other, or a
 * little more.
 */
static void ends_at_0(struct fixture *f, struct known_memory *memory,
		      const float logits[4], uint32_t kept, uint32_t last)
{
	struct known of = {.dtype = PHILOX_DTYPE_F32,
			   .vocab = 2 * kept,
			   .filters = PHILOX_FILTER_TOP_K,
			   .k = kept,
			   .temperature = 1,
			   .kept = kept,
			   .last = last};

	of.logits = malloc(of.vocab * sizeof(*of.logits));
	for (uint32_t c = 0; c < of.vocab; c++)
		of.logits[c] = logits[c % 4];
	for (of.seed = 0; of.seed < 20; of.seed++)
		check_known(f, &of, memory, (int)of.seed);
	known_free(&of);
}

PROMISE(filters, that_end_at_0_keep_0_and_its_negative)
{
	static const float zeros[] = {0, -0.0f, 0, -1};
	static const float above[] = {0x1p-20f, -0.0f, 0, -1};
	struct known_memory *memory = make_memory(f, sizeof(*memory));

	ends_at_0(f, memory, zeros, 30, 38);
	ends_at_0(f, memory, zeros, 4500, 5998);
	ends_at_0(f, memory, above, 9000, 8998);
}

/* Rows in which more is kept than what is listed, and of which less is. */
PROMISE(filters, of_long_rows_are_the_same_for_every_instruction_set)
{
	static const float t[] = {1, 0.7f, 30, 0.05f, 1e20f};
	static const float p[] = {1, 0.5f, 0.9f, 0.999f, 0x1.fffffep-1f};
	static const float m[] = {0, 0, 1e-3f, 0.05f};
	struct known_memory *memory = make_memory(f, sizeof(*memory));
	struct known of = {.dtype = PHILOX_DTYPE_F32};
	uint32_t x = 77;

	for (uint32_t i = 0; i < 150; i++) {
		of.kind = i % 7;
		of.seed = i;
		of.vocab = 3000 + known_below(&x, 200) * 150;
		of.first = i % 4;
		of.mask = i % 3 ? 0 : 1;
		of.order = known_below(&x, 3);
		of.filters = 1 + known_below(&x, 7);
		of.k = known_below(&x, 2) ? 50 : known_below(&x, 255) * 120;
		of.temperature = t[known_below(&x, 5)];
		of.p = p[known_below(&x, 5)];
		of.m = m[known_below(&x, 4)];
		known_make(&of);
		all_sets_agree(f, &of, memory, (int)i);
		known_free(&of);
	}
}

/* --- whole calls ---------------------------------------------------------- */

enum { VOCAB = 700, ENTRIES = 30 };

static void sample(struct fixture *f, struct philox_rows *rows,
		   const struct philox_sample_desc *sample)
{
	OK(philox_sample_rows(rows, f->stream, NULL, sample));
	OK(philox_stream_synchronize(f->device, f->stream));
}

/* Filters of all kinds, of entries that are greedy, filtered or neither. */
static void add_filters(struct fixture *f, struct philox_sample_desc *s)
{
	static const float temperatures[] = {1, 0, 0.6f, 3};
	uint32_t *k = make_memory(f, ENTRIES * 4);
	float *t = make_memory(f, ENTRIES * 4);
	float *p = make_memory(f, ENTRIES * 4);
	float *m = make_memory(f, ENTRIES * 4);

	for (uint32_t i = 0; i < ENTRIES; i++) {
		t[i] = temperatures[i % 4];
		k[i] = i % 5 ? i * 7 : 0;
		p[i] = i % 3 ? 1 - (float)i / 80 : 1;
		m[i] = i % 7 == 1 ? 0.01f : 0;
	}
	s->filters =
		PHILOX_FILTER_TOP_K | PHILOX_FILTER_TOP_P | PHILOX_FILTER_MIN_P;
	s->temperatures = t;
	s->top_ks = k;
	s->top_ps = p;
	s->min_ps = m;
	s->cuts = make_memory(f, ENTRIES * sizeof(*s->cuts));
}

static int is_among(const int32_t *tokens, uint32_t n, int32_t v)
{
	while (n && tokens[n - 1] != v)
		n--;
	return n != 0;
}

PROMISE(filters, only_remove_the_token_that_is_drawn_without_them)
{
	struct philox_rows *rows = known_rows(f, ENTRIES);
	struct philox_sample_desc s = known_sample(f, ENTRIES, VOCAB),
				  plain = s;
	const float *logits = s.logits;
	uint32_t same = 0, others = 0;

	add_filters(f, &s);
	s.kept_counts = make_memory(f, ENTRIES * sizeof(*s.kept_counts));
	s.kept = make_memory(f, ENTRIES * VOCAB * sizeof(*s.kept));
	s.kept_pitch = VOCAB;
	plain.temperatures = s.temperatures;
	plain.tokens = make_memory(f, ENTRIES * sizeof(int32_t));
	s.flags = 0; /* the next round has other numbers */
	for (int round = 0; round < 40; round++) {
		sample(f, rows, &plain);
		sample(f, rows, &s);
		for (uint32_t i = 0; i < ENTRIES; i++) {
			int32_t v = plain.tokens[i];
			int kept = philox_sample_order(
					   logits[i * VOCAB + (uint32_t)v],
					   (uint32_t)v) >= s.cuts[i];

			cr_assert_eq(kept, s.tokens[i] == v, "entry %u", i);
			cr_assert(is_among(s.kept + i * VOCAB, s.kept_counts[i],
					   s.tokens[i]));
			cr_assert_eq(is_among(s.kept + i * VOCAB,
					      s.kept_counts[i], v),
				     kept);
			same += (uint32_t)kept;
			others += (uint32_t)!kept;
		}
	}
	cr_assert_gt(same, 400u);
	cr_assert_gt(others, 200u);
}

/* Entries in another order, further apart, and in two calls. */
PROMISE(filters, of_an_entry_do_not_depend_on_the_batch)
{
	enum { PITCH = VOCAB + 5 };
	struct philox_rows *rows = known_rows(f, ENTRIES);
	struct philox_sample_desc s = known_sample(f, ENTRIES, VOCAB),
				  other = s;
	uint32_t *indices = make_memory(f, ENTRIES * 4);
	float *logits = make_memory(f, ENTRIES * PITCH * sizeof(*logits));
	struct philox_row_list part = {.size = sizeof(part),
				       .indices = indices,
				       .count = ENTRIES - 11};

	add_filters(f, &s);
	add_filters(f, &other);
	other.logits = logits;
	other.pitch = PITCH;
	other.tokens = make_memory(f, ENTRIES * sizeof(int32_t));
	for (uint32_t i = 0; i < ENTRIES; i++) {
		const uint32_t of = ENTRIES - 1 - i;

		indices[i] = of;
		memcpy(logits + i * PITCH, (const float *)s.logits + of * VOCAB,
		       VOCAB * sizeof(*logits));
		((float *)(uintptr_t)other.temperatures)[i] =
			s.temperatures[of];
		((uint32_t *)(uintptr_t)other.top_ks)[i] = s.top_ks[of];
		((float *)(uintptr_t)other.top_ps)[i] = s.top_ps[of];
		((float *)(uintptr_t)other.min_ps)[i] = s.min_ps[of];
	}
	sample(f, rows, &s);
	OK(philox_sample_rows(rows, f->stream, &part, &other));
	other.logits = logits + part.count * PITCH;
	other.temperatures += part.count;
	other.top_ks += part.count;
	other.top_ps += part.count;
	other.min_ps += part.count;
	other.cuts += part.count;
	other.tokens += part.count;
	part.indices += part.count;
	part.count = ENTRIES - part.count;
	OK(philox_sample_rows(rows, f->stream, &part, &other));
	OK(philox_stream_synchronize(f->device, f->stream));
	for (uint32_t i = 0; i < ENTRIES; i++) {
		const uint32_t of = ENTRIES - 1 - i;
		const int32_t *tokens = other.tokens - (ENTRIES - part.count);
		const uint64_t *cuts = other.cuts - (ENTRIES - part.count);

		cr_assert_eq(tokens[i], s.tokens[of], "entry %u", of);
		cr_assert_eq(cuts[i], s.cuts[of], "entry %u", of);
	}
}

/* --- drafts --------------------------------------------------------------- */

enum { POSITIONS = 3, SLOTS = ENTRIES / POSITIONS };

/* A mask for each entry, that of a grammar at a position of a draft. */
static void add_masks(struct fixture *f, struct philox_sample_desc *s)
{
	enum { WORDS = (VOCAB + 31) / 32 };
	uint32_t *allowed = make_memory(f, ENTRIES * WORDS * 4);

	for (uint32_t i = 0; i < ENTRIES * WORDS; i++) {
		uint32_t word[4];

		model_block(5, i, 0, word);
		allowed[i] = word[0] & word[i / WORDS % 4];
	}
	s->allowed = allowed;
	s->allowed_pitch = WORDS;
}

/* Logprobs of an entry's token, and of the first four. */
static struct philox_logprob_desc some_logprobs(struct fixture *f)
{
	return (struct philox_logprob_desc){
		.size = sizeof(struct philox_logprob_desc),
		.drawn = make_memory(f, ENTRIES * sizeof(float)),
		.top = make_memory(f, ENTRIES * 4 * sizeof(int32_t)),
		.of_top = make_memory(f, ENTRIES * 4 * sizeof(float)),
		.n_top = 4};
}

/* The entries of a sample from `first` on, each POSITIONS-th of them. */
static struct philox_sample_desc every_position(
	struct fixture *f, const struct philox_sample_desc *all, uint32_t first)
{
	struct philox_sample_desc s = *all;
	float *values[3];
	uint32_t *k = make_memory(f, SLOTS * 4);

	for (int i = 0; i < 3; i++)
		values[i] = make_memory(f, SLOTS * 4);
	for (uint32_t i = 0; i < SLOTS; i++) {
		const uint32_t of = i * POSITIONS + first;

		values[0][i] = all->temperatures[of];
		values[1][i] = all->top_ps[of];
		values[2][i] = all->min_ps[of];
		k[i] = all->top_ks[of];
	}
	s.logits = (const float *)all->logits + first * all->pitch;
	s.pitch = POSITIONS * all->pitch;
	s.allowed = all->allowed + first * all->allowed_pitch;
	s.allowed_pitch = POSITIONS * all->allowed_pitch;
	s.temperatures = values[0];
	s.top_ps = values[1];
	s.min_ps = values[2];
	s.top_ks = k;
	s.tokens = make_memory(f, SLOTS * sizeof(*s.tokens));
	s.cuts = make_memory(f, SLOTS * sizeof(*s.cuts));
	s.flags = 0;
	return s;
}

static void is_position(const struct philox_sample_desc *all, uint32_t of,
			const struct philox_sample_desc *one, uint32_t i)
{
	const struct philox_logprob_desc *a = all->logprobs, *b = one->logprobs;

	cr_assert_eq(all->tokens[of], one->tokens[i], "entry %u", of);
	cr_assert_eq(all->cuts[of], one->cuts[i], "entry %u", of);
	cr_assert(!memcmp(a->drawn + of, b->drawn + i, 4), "entry %u", of);
	cr_assert(!memcmp(a->top + 4 * of, b->top + 4 * i, 16), "entry %u", of);
	cr_assert(!memcmp(a->of_top + 4 * of, b->of_top + 4 * i, 16));
}

/* Positions of a draft at once, each with its mask, filters and logprobs. */
PROMISE(filters, of_draft_positions_are_those_of_one_by_one)
{
	struct philox_rows *rows = known_rows(f, SLOTS);
	struct philox_sample_desc s = known_sample(f, ENTRIES, VOCAB);
	struct philox_logprob_desc logprobs = some_logprobs(f);
	uint32_t *indices = make_memory(f, ENTRIES * 4);
	uint32_t *steps = make_memory(f, ENTRIES * 4);
	const struct philox_row_list list = {.size = sizeof(list),
					     .indices = indices,
					     .steps = steps,
					     .count = ENTRIES};

	add_filters(f, &s);
	add_masks(f, &s);
	s.logprobs = &logprobs;
	for (uint32_t i = 0; i < ENTRIES; i++) {
		indices[i] = i / POSITIONS;
		steps[i] = i % POSITIONS;
	}
	OK(philox_sample_rows(rows, f->stream, &list, &s));
	OK(philox_stream_synchronize(f->device, f->stream));
	for (uint32_t j = 0; j < POSITIONS; j++) {
		struct philox_sample_desc one = every_position(f, &s, j);
		struct philox_logprob_desc its = some_logprobs(f);

		one.logprobs = &its;
		sample(f, rows, &one);
		for (uint32_t i = 0; i < SLOTS; i++)
			is_position(&s, i * POSITIONS + j, &one, i);
	}
}

/* --- other calls ---------------------------------------------------------- */

PROMISE(filters, advance_rows_by_4_whatever_they_keep)
{
	struct philox_rows *rows = known_rows(f, ENTRIES);
	struct philox_sample_desc s = known_sample(f, ENTRIES, VOCAB);
	struct philox_state states[ENTRIES];

	add_filters(f, &s);
	((float *)(uintptr_t)s.top_ps)[3] = 2; /* token -1 */
	s.flags = 0;
	for (uint64_t round = 1; round < 4; round++) {
		sample(f, rows, &s);
		OK(philox_rows_get(rows, f->stream, 0, ENTRIES, states));
		OK(philox_stream_synchronize(f->device, f->stream));
		for (uint32_t i = 0; i < ENTRIES; i++)
			cr_assert_eq(states[i].offset, 4 * round);
		cr_assert_eq(s.tokens[3], -1);
		cr_assert_eq(s.cuts[3], UINT64_MAX);
	}
}

/* A value for all entries is that value for each. */
PROMISE(filters, may_be_the_same_for_all_entries)
{
	struct philox_rows *rows = known_rows(f, ENTRIES);
	struct philox_sample_desc s = known_sample(f, ENTRIES, VOCAB), each = s;

	add_filters(f, &each);
	each.tokens = make_memory(f, ENTRIES * sizeof(int32_t));
	each.temperatures = NULL;
	for (uint32_t i = 0; i < ENTRIES; i++) {
		((uint32_t *)(uintptr_t)each.top_ks)[i] = 90;
		((float *)(uintptr_t)each.top_ps)[i] = 0.7f;
		((float *)(uintptr_t)each.min_ps)[i] = 0.02f;
	}
	s.cuts = make_memory(f, ENTRIES * sizeof(*s.cuts));
	s.filters = each.filters;
	s.top_k = 90;
	s.top_p = 0.7;
	s.min_p = 0.02;
	for (uint32_t order = 0; order < 3; order++) {
		s.filter_order = each.filter_order = order;
		sample(f, rows, &s);
		sample(f, rows, &each);
		cr_assert(!memcmp(s.tokens, each.tokens, ENTRIES * 4));
		cr_assert(!memcmp(s.cuts, each.cuts, ENTRIES * 8));
	}
}

/* Servers change them between launches of one graph. */
PROMISE(filters, of_a_captured_call_are_read_at_each_launch)
{
	struct philox_rows *rows = known_rows(f, ENTRIES);
	struct philox_sample_desc s = known_sample(f, ENTRIES, VOCAB),
				  eager = s;
	uint32_t *k;
	philox_native_graph graph;
	philox_native_exec exec;

	add_filters(f, &s);
	k = (uint32_t *)(uintptr_t)s.top_ks;
	eager = s;
	eager.tokens = make_memory(f, ENTRIES * sizeof(int32_t));
	eager.cuts = make_memory(f, ENTRIES * sizeof(*s.cuts));
	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_GLOBAL));
	OK(philox_sample_rows(rows, f->stream, NULL, &s));
	OK(philox_stream_end_capture(f->device, f->stream, &graph));
	OK(philox_native_graph_instantiate(f->device, graph, &exec));
	for (uint32_t round = 1; round < 10; round++) {
		for (uint32_t i = 0; i < ENTRIES; i++)
			k[i] = 1 + i % round;
		OK(philox_native_exec_launch(f->device, f->stream, exec));
		sample(f, rows, &eager);
		cr_assert(!memcmp(s.tokens, eager.tokens, ENTRIES * 4));
		cr_assert(!memcmp(s.cuts, eager.cuts, ENTRIES * 8));
	}
	OK(philox_native_exec_destroy(f->device, exec));
	OK(philox_native_graph_destroy(f->device, graph));
}

/* --- refusals ------------------------------------------------------------- */

static void refuses(struct fixture *f, struct philox_rows *rows,
		    struct philox_sample_desc bad, const char *names)
{
	uint64_t launches = philox_device_call_count(f->device, "launch");

	FAILS(philox_sample_rows(rows, f->stream, NULL, &bad),
	      PHILOX_ERROR_INVALID);
	NAMES(names);
	cr_assert_eq(philox_device_call_count(f->device, "launch"), launches);
}

PROMISE(filters, that_are_mistaken_are_named_before_the_device_is_called)
{
	struct philox_rows *rows = known_rows(f, ENTRIES);
	const struct philox_sample_desc good = known_sample(f, ENTRIES, VOCAB);
	struct philox_sample_desc bad = good;

	bad.filters = 8;
	refuses(f, rows, bad, "sample: filters is 0x8, with bits that");
	bad = good;
	bad.filter_order = 3;
	refuses(f, rows, bad, "sample: filter_order is 3, not in");
	bad = good;
	bad.top_k = 4;
	refuses(f, rows, bad, "sample: top_k is given, but its filter is not");
	bad = good;
	bad.top_p = 0.5;
	bad.filters = PHILOX_FILTER_TOP_K;
	refuses(f, rows, bad, "sample: top_p is given, but its filter is not");
	bad = good;
	bad.min_ps = good.logits;
	refuses(f, rows, bad, "sample: min_ps is given, but its filter is not");
	bad = good;
	bad.filters = PHILOX_FILTER_TOP_P | PHILOX_FILTER_MIN_P;
	bad.top_p = 1.5;
	refuses(f, rows, bad, "sample: top_p is 1.5, not in [0, 1]");
	bad.top_p = NAN;
	refuses(f, rows, bad, "sample: top_p is nan");
	bad.top_p = 1;
	bad.min_p = -0.25;
	refuses(f, rows, bad, "sample: min_p is -0.25");
	bad.top_ps = (const float *)((const char *)good.logits + 2);
	refuses(f, rows, bad, "sample: top_ps (0x");
	NAMES("is not aligned to the 4 bytes of f32");
	bad = good;
	bad.kept = good.tokens;
	refuses(f, rows, bad, "sample: kept_counts is NULL, but kept is not");
	bad.kept_counts = (uint32_t *)(uintptr_t)good.logits;
	refuses(f, rows, bad, "sample: kept_pitch is 0");
	bad.kept_counts = (uint32_t *)((char *)good.tokens + 2);
	refuses(f, rows, bad, "sample: kept_counts (0x");
	bad = good;
	bad.cuts = (uint64_t *)((char *)good.tokens + 4);
	refuses(f, rows, bad, "sample: cuts (0x");
	NAMES("is not aligned to the 8 bytes of u64");
}
