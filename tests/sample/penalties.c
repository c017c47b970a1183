/*
 * tests/sample/penalties.c - biases and penalties change logits as their law says
 *
 * The model is the law of philox/penalties.h over whole rows: a bias and a count
 * for each token. What a sample does with changed logits must be what it does
 * without changes, if it is given the model's logits.
 */
#include <math.h>
#include <stdlib.h>
#include <philox/penalties.h>
#include "lib/base/base.h"
#include "tests/sample/known.h"

enum { ENTRIES = 12, BIASES = 5, DRAFTS = 3, TOP = 6, VOCAB_MAX = 5000 };

/* --- the model ------------------------------------------------------------ */

/* What an entry's tokens have, by vocabulary index. */
struct model {
	float bias[VOCAB_MAX];
	uint8_t has_bias[VOCAB_MAX], seen[VOCAB_MAX];
	uint32_t count[VOCAB_MAX];
	float repetition, frequency, presence;
};

static float model_logit(const struct model *of, uint32_t v, float logit)
{
	volatile float l = logit, product; /* rounded to f32 each time */

	if (of->has_bias[v])
		l = l + of->bias[v];
	if ((of->seen[v] || of->count[v]) && of->repetition != 0)
		l = l > 0 ? l / of->repetition : l * of->repetition;
	if (!of->count[v])
		return l;
	product = of->frequency * (float)of->count[v];
	l = l - product;
	l = l - of->presence;
	return l;
}

/*
 * What transformers (RepetitionPenaltyLogitsProcessor) and vLLM (all three, in
 * its order) make of logits, each step rounded to f32: computed in Python.
 */
PROMISE(penalties, are_those_of_other_samplers)
{
	static const struct {
		float logit, r, f, p;
		uint32_t seen, count;
		uint32_t bits;
	} known[] = {
		{2.5f, 1.3f, 0.0f, 0.0f, 1, 0, 0x3ff62763},
		{-2.5f, 1.3f, 0.0f, 0.0f, 1, 0, 0xc0500000},
		{0.0f, 1.3f, 0.0f, 0.0f, 1, 3, 0x00000000},
		{2.5f, 1.3f, 0.0f, 0.0f, 0, 5, 0x40200000},
		{2.5f, 0.0f, 0.5f, 0.25f, 1, 3, 0x3f400000},
		{-7.1f, 1.1f, 0.3f, 1.7f, 1, 7, 0xc139c28f},
		{7.1f, 1.1f, -0.3f, -1.7f, 1, 7, 0x4124129e},
		{0.1f, 3.0f, 0.1f, 0.1f, 1, 1, 0xbe2aaaaa},
		{12.3f, 0.6f, 2.0f, -2.0f, 1, 1000001, 0xc9f4235c},
		{0.001f, 1.05f, 0.9f, 0.0f, 1, 2, 0xbfe64731},
		{3e+38f, 0.5f, 0.0f, 0.0f, 1, 0, 0x7f800000},
		{5.0f, 1.0f, 0.0f, 0.2f, 1, 1, 0x4099999a},
	};
	struct philox_rows *rows = known_rows(f, 1);
	uint32_t *memory = make_memory(f, 4096);
	float *logit = make_memory(f, 8);
	uint64_t *key = make_memory(f, 8);
	struct philox_history history = {.size = sizeof(history),
					 .counts = memory,
					 .counts_pitch = 2,
					 .seen = memory + 2,
					 .seen_pitch = 1,
					 .rows = 1,
					 .vocab = 2};
	struct philox_penalty_desc penalties = {.size = sizeof(penalties),
						.history = &history};
	const struct philox_sample_desc s = {.size = sizeof(s),
					     .logits = logit,
					     .dtype = PHILOX_DTYPE_F32,
					     .vocab = 2,
					     .pitch = 2,
					     .penalties = &penalties,
					     .keys = key};

	logit[0] = -INFINITY;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		logit[1] = known[i].logit;
		memory[1] = known[i].count;
		memory[2] = known[i].seen << 1;
		penalties.repetition = (double)known[i].r;
		penalties.frequency = (double)known[i].f;
		penalties.presence = (double)known[i].p;
		OK(philox_sample_rows(rows, f->stream, NULL, &s));
		OK(philox_stream_synchronize(f->device, f->stream));
		cr_assert_eq(*key,
			     philox_sample_order(
				     philox_f32_from_bits(known[i].bits), 1),
			     "case %zu: %llx", i, (unsigned long long)*key);
	}
}

/* --- samples with changes ------------------------------------------------- */

/* A call, with what its history, drafts and biases are by the model. */
struct scene {
	struct philox_sample_desc sample, plain;
	struct philox_history history;
	struct philox_penalty_desc penalties;
	struct philox_bias_desc bias;
	struct philox_logprob_desc logprobs, raw, plain_logprobs, plain_raw;
	struct philox_state *states;
	struct model *model; /* of each entry */
};

/* Logits with ties, from a grid that f16 and bf16 have. */
static float some_logit(uint32_t *x)
{
	return (float)((int)known_below(x, 256) - 128) / 16;
}

static void make_logits(struct scene *s, uint32_t *x)
{
	const uint32_t n = ENTRIES * s->sample.vocab;
	float *as_f32 = (float *)(uintptr_t)s->plain.logits;
	uint16_t *narrow = (uint16_t *)(uintptr_t)s->sample.logits;
	float *wide = (float *)(uintptr_t)s->sample.logits;

	for (uint32_t i = 0; i < n; i++) {
		as_f32[i] = some_logit(x);
		if (s->sample.dtype == PHILOX_DTYPE_BF16)
			narrow[i] = philox_f32_to_bf16(as_f32[i]);
		else if (s->sample.dtype == PHILOX_DTYPE_F16)
			narrow[i] = philox_f32_to_f16(as_f32[i]);
		else
			wide[i] = as_f32[i];
	}
}

/* Tokens that are seen, drawn, drafts, and have a bias; some are several. */
static void make_changes(struct scene *s, uint32_t entry, uint32_t *x)
{
	const uint32_t vocab = s->history.vocab;
	uint32_t *seen = s->history.seen + entry * s->history.seen_pitch;
	uint32_t *counts = s->history.counts + entry * s->history.counts_pitch;
	int32_t *drafts = (int32_t *)(uintptr_t)s->penalties.drafts;
	int32_t *ids = (int32_t *)(uintptr_t)s->bias.ids;
	float *biases = (float *)(uintptr_t)s->bias.biases;
	struct model *model = &s->model[entry];

	memset(model, 0, sizeof(*model));
	memset(seen, 0, s->history.seen_pitch * 4);
	for (uint32_t v = 0; v < vocab; v++) {
		counts[v] = known_below(x, 4);
		if (known_below(x, 6))
			continue; /* its count is not read */
		seen[v / 32] |= 1u << v % 32;
		model->seen[v] = 1;
		model->count[v] = counts[v];
	}
	for (uint32_t i = 0; i < DRAFTS; i++) {
		const uint32_t v = known_below(x, vocab);

		drafts[entry * DRAFTS + i] =
			known_below(x, 3) ? (int32_t)v : -1 - (int32_t)v;
		if (drafts[entry * DRAFTS + i] >= 0)
			model->count[v]++;
	}
	for (uint32_t i = 0, v = 0; i < BIASES; i++) {
		v += known_below(x, vocab / BIASES) + (i > 0);
		ids[entry * BIASES + i] = v < vocab ? (int32_t)v : -1;
		biases[entry * BIASES + i] =
			known_below(x, 5) ? some_logit(x) : -INFINITY;
		if (v >= vocab)
			continue;
		model->has_bias[v] = 1;
		model->bias[v] = biases[entry * BIASES + i];
	}
}

static void make_values(struct scene *s, uint32_t entry, uint32_t *x)
{
	static const float r[] = {0, 1, 1.3f, 0.7f, 2};
	static const float f[] = {0, 0.5f, -0.25f, 0.1f};
	static const float p[] = {0, 1, -0.75f, 0.3f};
	struct model *model = &s->model[entry];

	model->repetition = r[known_below(x, 5)];
	model->frequency = f[known_below(x, 4)];
	model->presence = p[known_below(x, 4)];
	((float *)(uintptr_t)s->penalties.repetitions)[entry] =
		model->repetition;
	((float *)(uintptr_t)s->penalties.frequencies)[entry] =
		model->frequency;
	((float *)(uintptr_t)s->penalties.presences)[entry] = model->presence;
}

static struct philox_logprob_desc new_logprobs(struct fixture *f)
{
	return (struct philox_logprob_desc){
		.size = sizeof(struct philox_logprob_desc),
		.drawn = make_memory(f, ENTRIES * 4),
		.top = make_memory(f, ENTRIES * TOP * 4),
		.of_top = make_memory(f, ENTRIES * TOP * 4),
		.n_top = TOP};
}

/* One of two samples that must agree. */
static struct philox_sample_desc new_sample(struct fixture *f, uint32_t vocab)
{
	float *temperatures = make_memory(f, ENTRIES * 4);
	uint32_t *k = make_memory(f, ENTRIES * 4);

	for (uint32_t i = 0; i < ENTRIES; i++) {
		temperatures[i] = (float)(i % 4) / 2;
		k[i] = i % 3 * 7;
	}
	return (struct philox_sample_desc){
		.size = sizeof(struct philox_sample_desc),
		.logits = make_memory(f, ENTRIES * vocab * 4),
		.dtype = PHILOX_DTYPE_F32,
		.vocab = vocab,
		.pitch = vocab,
		.temperatures = temperatures,
		.top_ks = k,
		.top_p = 0.9,
		.tokens = make_memory(f, ENTRIES * 4),
		.keys = make_memory(f, ENTRIES * 8),
		.cuts = make_memory(f, ENTRIES * 8),
		.kept_counts = make_memory(f, ENTRIES * 4)};
}

static void make_scene(struct fixture *f, struct scene *s, uint32_t first,
		       uint32_t vocab)
{
	const uint32_t all = first + vocab, words = (all + 31) / 32;

	s->sample = new_sample(f, vocab);
	s->plain = new_sample(f, vocab);
	s->sample.first = s->plain.first = first;
	s->history = (struct philox_history){
		.size = sizeof(s->history),
		.counts = make_memory(f, ENTRIES * (all + 3) * 4),
		.counts_pitch = all + 3,
		.seen = make_memory(f, ENTRIES * (words + 1) * 4),
		.seen_pitch = words + 1,
		.rows = ENTRIES,
		.vocab = all};
	s->penalties = (struct philox_penalty_desc){
		.size = sizeof(s->penalties),
		.history = &s->history,
		.repetitions = make_memory(f, ENTRIES * 4),
		.frequencies = make_memory(f, ENTRIES * 4),
		.presences = make_memory(f, ENTRIES * 4),
		.drafts = make_memory(f, ENTRIES * DRAFTS * 4),
		.n_drafts = DRAFTS};
	s->bias = (struct philox_bias_desc){
		.size = sizeof(s->bias),
		.ids = make_memory(f, ENTRIES * BIASES * 4),
		.biases = make_memory(f, ENTRIES * BIASES * 4),
		.count = BIASES};
	s->sample.penalties = &s->penalties;
	s->sample.bias = &s->bias;
	s->logprobs = new_logprobs(f);
	s->raw = new_logprobs(f);
	s->plain_logprobs = new_logprobs(f);
	s->plain_raw = new_logprobs(f);
	s->states = make_memory(f, ENTRIES * sizeof(*s->states));
	s->model = malloc(ENTRIES * sizeof(*s->model));
	for (uint32_t i = 0; i < ENTRIES; i++)
		s->states[i] = (struct philox_state){i, 4 * vocab};
}

static void add_mask(struct fixture *f, struct scene *s, uint32_t *x)
{
	const uint32_t words = (s->history.vocab + 31) / 32;
	uint32_t *allowed = make_memory(f, ENTRIES * words * 4);

	for (uint32_t i = 0; i < ENTRIES * words; i++)
		allowed[i] = known_below(x, 1 << 24) * 257;
	s->sample.allowed = s->plain.allowed = allowed;
	s->sample.allowed_pitch = s->plain.allowed_pitch = words;
}

/* The plain sample gets the model's logits. */
static void apply_model(struct scene *s)
{
	float *logits = (float *)(uintptr_t)s->plain.logits;
	const uint32_t vocab = s->plain.vocab;

	for (uint32_t i = 0; i < ENTRIES; i++)
		for (uint32_t c = 0; c < vocab; c++)
			logits[i * vocab + c] =
				model_logit(&s->model[i], s->plain.first + c,
					    logits[i * vocab + c]);
}

static void are_same_logprobs(const struct philox_logprob_desc *a,
			      const struct philox_logprob_desc *b,
			      const char *what)
{
	cr_assert(!memcmp(a->drawn, b->drawn, ENTRIES * 4), "%s", what);
	cr_assert(!memcmp(a->top, b->top, ENTRIES * TOP * 4), "%s", what);
	cr_assert(!memcmp(a->of_top, b->of_top, ENTRIES * TOP * 4), "%s", what);
}

static void are_same(const struct scene *s, const char *what)
{
	const struct philox_sample_desc *a = &s->sample, *b = &s->plain;

	for (uint32_t i = 0; i < ENTRIES; i++) {
		cr_assert_eq(a->tokens[i], b->tokens[i], "%s: entry %u", what,
			     i);
		cr_assert_eq(a->keys[i], b->keys[i], "%s: entry %u", what, i);
		cr_assert_eq(a->cuts[i], b->cuts[i], "%s: entry %u", what, i);
		cr_assert_eq(a->kept_counts[i], b->kept_counts[i],
			     "%s: entry %u", what, i);
	}
}

static void run(struct fixture *f, const struct scene *s,
		const struct philox_sample_desc *sample)
{
	OK(philox_sample_states(f->device, f->stream, s->states, ENTRIES,
				sample));
	OK(philox_stream_synchronize(f->device, f->stream));
}

/* Biases alone, penalties alone, or both. */
static void leave_out(struct scene *s, uint32_t what)
{
	s->sample.bias = what == 1 ? NULL : &s->bias;
	s->sample.penalties = what == 2 ? NULL : &s->penalties;
}

/* What is left out changes nothing. */
static void forget(const struct scene *s, struct model *model)
{
	if (!s->sample.bias)
		memset(model->has_bias, 0, sizeof(model->has_bias));
	if (s->sample.penalties)
		return;
	memset(model->seen, 0, sizeof(model->seen));
	memset(model->count, 0, sizeof(model->count));
}

/* The raw logprob of the token, where it is among the first. */
static void raw_is_of_the_token(const struct scene *s)
{
	for (uint32_t i = 0; i < ENTRIES * TOP; i++)
		if (s->raw.top[i] == s->sample.tokens[i / TOP] &&
		    s->sample.tokens[i / TOP] >= 0)
			cr_assert_eq(s->raw.drawn[i / TOP], s->raw.of_top[i]);
}

/* The same in one dtype, by each instruction set. */
static void agrees(struct fixture *f, struct scene *s, uint32_t *x)
{
	make_logits(s, x);
	s->sample.raw_logprobs = &s->raw;
	s->plain.raw_logprobs = &s->plain_raw;
	s->plain.logprobs = NULL;
	run(f, s, &s->plain); /* its raw logprobs: of logits as they are */
	for (uint32_t i = 0; i < ENTRIES; i++) {
		make_changes(s, i, x);
		make_values(s, i, x);
		forget(s, &s->model[i]);
	}
	apply_model(s);
	s->plain.raw_logprobs = NULL;
	s->sample.logprobs = &s->logprobs;
	s->plain.logprobs = &s->plain_logprobs;
	FOR_EACH_SIMD(simd)
	{
		run(f, s, &s->plain);
		run(f, s, &s->sample);
		are_same(s, simd_name(simd));
		are_same_logprobs(&s->logprobs, &s->plain_logprobs, "logprobs");
		raw_is_of_the_token(s);
		cr_assert(!memcmp(s->raw.top, s->plain_raw.top,
				  ENTRIES * TOP * 4));
		cr_assert(!memcmp(s->raw.of_top, s->plain_raw.of_top,
				  ENTRIES * TOP * 4));
	}
}

static const uint32_t all_filters[] = {
	0, PHILOX_FILTER_TOP_K, PHILOX_FILTER_TOP_K | PHILOX_FILTER_TOP_P};

static void use_filters(struct scene *s, uint32_t filters)
{
	s->sample.filters = s->plain.filters = filters;
	s->sample.top_p = s->plain.top_p =
		filters & PHILOX_FILTER_TOP_P ? 0.9 : 0;
	s->sample.top_ks = s->plain.top_ks =
		filters & PHILOX_FILTER_TOP_K ? s->plain.top_ks : NULL;
}

PROMISE(penalties, change_logits_as_their_law_says)
{
	static const uint32_t firsts[] = {0, 3, 37}, vocabs[] = {5, 64, 700};
	static const uint32_t dtypes[] = {PHILOX_DTYPE_F32, PHILOX_DTYPE_BF16,
					  PHILOX_DTYPE_F16};
	uint32_t x = 31;

	for (uint32_t i = 0; i < 9; i++) {
		struct scene s;
		const uint32_t *top_ks;

		make_scene(f, &s, firsts[i % 3], vocabs[i / 3]);
		top_ks = s.plain.top_ks;
		if (i % 2)
			add_mask(f, &s, &x);
		for (uint32_t k = 0; k < 9; k++) {
			s.plain.top_ks = top_ks;
			use_filters(&s, all_filters[k % 3]);
			s.sample.dtype = dtypes[k / 3];
			leave_out(&s, (i + k) % 3);
			agrees(f, &s, &x);
		}
		free(s.model);
	}
}

/* More columns than are changed at a time, and levels of a search. */
PROMISE(penalties, of_long_rows_are_the_same_for_every_instruction_set)
{
	struct scene s;
	uint32_t x = 3;

	make_scene(f, &s, 5, VOCAB_MAX - 5);
	use_filters(&s, PHILOX_FILTER_TOP_K | PHILOX_FILTER_TOP_P);
	for (uint32_t i = 0; i < ENTRIES; i++)
		((uint32_t *)(uintptr_t)s.plain.top_ks)[i] = i % 2 ? 0 : 600;
	for (int round = 0; round < 3; round++)
		agrees(f, &s, &x);
	free(s.model);
}

/* --- other calls ---------------------------------------------------------- */

/* In a captured call values, biases and the history are those of each launch. */
PROMISE(penalties, of_a_captured_call_are_read_at_each_launch)
{
	struct scene s;
	philox_native_graph graph;
	philox_native_exec exec;
	uint32_t x = 8;

	make_scene(f, &s, 1, 300);
	use_filters(&s, PHILOX_FILTER_TOP_K);
	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_GLOBAL));
	OK(philox_sample_states(f->device, f->stream, s.states, ENTRIES,
				&s.sample));
	OK(philox_stream_end_capture(f->device, f->stream, &graph));
	OK(philox_native_graph_instantiate(f->device, graph, &exec));
	for (int round = 0; round < 8; round++) {
		make_logits(&s, &x);
		for (uint32_t i = 0; i < ENTRIES; i++) {
			make_changes(&s, i, &x);
			make_values(&s, i, &x);
		}
		apply_model(&s);
		OK(philox_native_exec_launch(f->device, f->stream, exec));
		run(f, &s, &s.plain);
		are_same(&s, "a launch");
	}
	OK(philox_native_exec_destroy(f->device, exec));
	OK(philox_native_graph_destroy(f->device, graph));
	free(s.model);
}

PROMISE(penalties, out_of_range_give_no_token)
{
	static const float bad[] = {NAN, INFINITY, -INFINITY, -1};
	struct scene s;
	uint32_t x = 8;

	make_scene(f, &s, 0, 50);
	use_filters(&s, 0);
	s.sample.logprobs = &s.logprobs;
	make_logits(&s, &x);
	for (uint32_t i = 0; i < ENTRIES; i++) {
		make_changes(&s, i, &x);
		make_values(&s, i, &x);
	}
	for (uint32_t i = 0; i < 4; i++) {
		((float *)(uintptr_t)s.penalties.repetitions)[i] = bad[i];
		((float *)(uintptr_t)s.penalties.frequencies)[4 + i] = bad[i];
		((float *)(uintptr_t)s.penalties.presences)[8 + i] = bad[i];
	}
	run(f, &s, &s.sample);
	for (uint32_t i = 0; i < ENTRIES; i++) {
		const int fits = i == 7 || i == 11; /* -1 is for r alone */

		cr_assert_eq(s.sample.tokens[i] < 0, !fits, "entry %u", i);
		cr_assert_eq(!!isnan(s.logprobs.drawn[i]), !fits, "entry %u",
			     i);
	}
	free(s.model);
}

PROMISE(penalties, that_make_a_logit_a_nan_give_no_token)
{
	struct scene s;
	uint32_t x = 5;

	make_scene(f, &s, 0, 50);
	use_filters(&s, 0);
	s.sample.penalties = NULL;
	make_logits(&s, &x);
	for (uint32_t i = 0; i < ENTRIES; i++) {
		make_changes(&s, i, &x);
		((int32_t *)(uintptr_t)s.bias.ids)[i * BIASES] = 0;
		((float *)(uintptr_t)s.bias.biases)[i * BIASES] = -INFINITY;
		((float *)(uintptr_t)s.sample.logits)[i * 50] =
			i % 2 ? INFINITY : 1;
	}
	run(f, &s, &s.sample);
	for (uint32_t i = 0; i < ENTRIES; i++)
		cr_assert_eq(s.sample.tokens[i] < 0, i % 2, "entry %u", i);
	free(s.model);
}

static void refuses(struct fixture *f, const struct scene *s, const char *text)
{
	FAILS(philox_sample_states(f->device, f->stream, s->states, ENTRIES,
				   &s->sample),
	      PHILOX_ERROR_INVALID);
	NAMES(text);
}

PROMISE(penalties, that_are_mistaken_are_named)
{
	struct scene good, s;

	make_scene(f, &good, 4, 60);
	use_filters(&good, 0);
#define WITH(change, text)                         \
	do {                                       \
		s = good;                          \
		s.sample.penalties = &s.penalties; \
		s.penalties.history = &s.history;  \
		s.sample.bias = &s.bias;           \
		change;                            \
		refuses(f, &s, text);              \
	} while (0)
	WITH(s.bias.count = 0, "bias: count is 0");
	WITH(s.bias.ids = NULL, "bias: ids is NULL");
	WITH(s.bias.biases = NULL, "bias: biases is NULL");
	WITH(s.bias.reserved = 1, "bias: reserved");
	WITH(s.bias.size = 3, "bias: size");
	WITH(s.penalties.size = 3, "penalties: size");
	WITH(s.penalties.reserved = 1, "penalties: reserved");
	WITH(s.penalties.history = NULL, "history is NULL");
	WITH(s.penalties.repetitions = NULL;
	     s.penalties.repetition = -1,
	     "penalties: repetition is -1, not 0 or more and finite");
	WITH(s.penalties.frequencies = NULL;
	     s.penalties.frequency = 1e39,
	     "penalties: frequency is 1e+39, not finite in f32");
	WITH(s.penalties.presences = NULL;
	     s.penalties.presence = NAN, "penalties: presence is nan");
	WITH(s.penalties.drafts = NULL, "penalties: drafts is NULL");
	WITH(s.penalties.n_drafts = 0, "penalties: n_drafts is 0");
	WITH(s.history.size = 0, "history: size");
	WITH(s.history.rows = 0, "history: rows is 0");
	WITH(s.history.rows = 11, "history: rows is 11, fewer than the 12");
	WITH(s.history.vocab = 0, "history: vocab is 0");
	WITH(s.history.vocab = 63, "history: vocab is 63, below first + vocab");
	WITH(s.history.counts = NULL, "history: counts is NULL");
	WITH(s.history.seen = NULL, "history: seen is NULL");
	WITH(s.history.counts_pitch = 63, "history: counts_pitch is 63, below");
	WITH(s.history.seen_pitch = 1, "history: seen_pitch is 1, below");
	WITH(s.history.counts = (uint32_t *)s.sample.tokens,
	     "history: counts (0x");
#undef WITH
	free(good.model);
}
