/*
 * tests/split/rounds.c - rounds of whole servers: rows advance, tokens are
 * noted, and all of it is captured, in loops and branches too; what is mistaken
 * is named
 */
#include <stdlib.h>
#include <philox/penalties.h>
#include <philox/split.h>
#include "tests/sample/known.h"
#include "tests/support/loops.h"

enum { PARTS = 3, ENTRIES = 9, ROWS = 8, VOCAB = 211, BIASES = 4 };
enum { MASK_WORDS = (VOCAB + 31) / 32 };

/* What ranks have of their own: a table, a history, and results. */
struct rank {
	struct philox_rows *rows;
	struct philox_history history;
	struct philox_penalty_desc penalties;
	struct philox_sample_desc sample;
	struct philox_split_desc split;
};

/* What they share. */
struct scene {
	struct rank ranks[PARTS + 1]; /* the last has all columns */
	struct philox_row_list list;
	struct philox_bias_desc bias;
	float *logits, *biases;
	uint32_t *allowed;
};

/* --- scenes --------------------------------------------------------------- */

static void make_rank(struct fixture *f, struct rank *rank, uint32_t number)
{
	const char name[] = {'r', (char)('0' + number), 0};
	struct philox_rows_desc desc = {
		.size = sizeof(desc), .name = name, .count = ROWS};
	struct philox_state states[ROWS];
	uint32_t indices[ROWS];
	uint32_t *memory =
		make_memory(f, ROWS * (VOCAB + MASK_WORDS) * 4 + ENTRIES * 4);

	OK(philox_rows_create(f->context, &desc, &rank->rows));
	for (uint32_t i = 0; i < ROWS; i++) {
		indices[i] = i;
		states[i] = (struct philox_state){77 + i, 4 * i};
	}
	states[6].offset = 0xfffffffffffffffcULL; /* it is used up */
	OK(philox_rows_set(rank->rows, f->stream, indices, states, ROWS));
	memset(memory, 0, ROWS * (VOCAB + MASK_WORDS) * 4 + ENTRIES * 4);
	rank->history = (struct philox_history){.size = sizeof(rank->history),
						.counts = memory,
						.counts_pitch = VOCAB,
						.seen = memory + ROWS * VOCAB,
						.seen_pitch = MASK_WORDS,
						.rows = ROWS,
						.vocab = VOCAB};
	rank->penalties =
		(struct philox_penalty_desc){.size = sizeof(rank->penalties),
					     .repetition = 1.2,
					     .frequency = 0.7,
					     .presence = 0.2};
	rank->sample.tokens = (int32_t *)(memory + ROWS * (VOCAB + MASK_WORDS));
}

/* Two entries are one row; one takes no part, one is out of range. */
static void make_list(struct fixture *f, struct philox_row_list *list)
{
	uint32_t *indices = make_memory(f, ENTRIES * 5);
	uint8_t *mask = (uint8_t *)(indices + ENTRIES);

	for (uint32_t i = 0; i < ENTRIES; i++) {
		indices[i] = i == 4 ? ROWS + 3 : i == 5 ? 2 : i % ROWS;
		mask[i] = i != 3;
	}
	*list = (struct philox_row_list){.size = sizeof(*list),
					 .indices = indices,
					 .mask = mask,
					 .count = ENTRIES};
}

static void make_scene(struct fixture *f, struct scene *s)
{
	int32_t *ids;

	memset(s, 0, sizeof(*s));
	make_list(f, &s->list);
	s->logits = make_memory(f, ENTRIES * VOCAB * 4);
	s->allowed = make_memory(f, ENTRIES * MASK_WORDS * 4);
	ids = make_memory(f, ENTRIES * BIASES * 8);
	s->biases = (float *)(ids + ENTRIES * BIASES);
	for (int32_t i = 0; i < ENTRIES * BIASES; i++)
		ids[i] = i % BIASES * 50 + i * 7 % 50;
	s->bias = (struct philox_bias_desc){.size = sizeof(s->bias),
					    .ids = ids,
					    .biases = s->biases,
					    .count = BIASES};
	for (uint32_t i = 0; i <= PARTS; i++)
		make_rank(f, &s->ranks[i], i);
}

/* Numbers of a step. */
static void make_step(struct scene *s, uint32_t *x)
{
	for (uint32_t i = 0; i < ENTRIES * VOCAB; i++)
		s->logits[i] = known_bell(x, PHILOX_DTYPE_F32);
	for (uint32_t i = 0; i < ENTRIES * MASK_WORDS; i++)
		s->allowed[i] = known_below(x, 0xffffffffu) |
				known_below(x, 0xffffffffu);
	for (uint32_t i = 0; i < ENTRIES * BIASES; i++)
		s->biases[i] = known_bell(x, PHILOX_DTYPE_F32);
}

static void describe(struct scene *s, uint32_t order, int is_plain)
{
	static const uint32_t ends[] = {0, 70, 71, VOCAB};

	for (uint32_t k = 0; k <= PARTS; k++) {
		struct rank *rank = &s->ranks[k];
		const uint32_t begin = k < PARTS ? ends[k] : 0;
		const uint32_t end = k < PARTS ? ends[k + 1] : VOCAB;
		int32_t *tokens = rank->sample.tokens;

		rank->penalties.history = &rank->history;
		rank->sample = (struct philox_sample_desc){
			.size = sizeof(rank->sample),
			.logits = s->logits + begin,
			.dtype = PHILOX_DTYPE_F32,
			.vocab = end - begin,
			.first = begin,
			.pitch = VOCAB,
			.temperature = 0.9,
			.tokens = tokens,
			.allowed = is_plain ? NULL : s->allowed,
			.allowed_pitch = is_plain ? 0 : MASK_WORDS,
			.filters = is_plain ? 0
					    : PHILOX_FILTER_TOP_K |
						      PHILOX_FILTER_TOP_P,
			.filter_order = order,
			.top_k = is_plain ? 0 : 40,
			.top_p = is_plain ? 0 : 0.9,
			.bias = is_plain ? NULL : &s->bias,
			.penalties = is_plain ? NULL : &rank->penalties};
	}
}

static void destroy(struct scene *s)
{
	for (int k = 0; k <= PARTS; k++)
		OK(philox_rows_destroy(s->ranks[k].rows));
}

/* --- rounds --------------------------------------------------------------- */

static uint64_t combined(uint64_t a, uint64_t b, int is_sum)
{
	if (is_sum)
		return a + b;
	return a > b ? a : b;
}

static void combine(uint64_t *const numbers[PARTS], uint64_t n, uint32_t parts,
		    int is_sum)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t all = 0;

		for (uint32_t k = 0; k < parts; k++)
			all = combined(all, numbers[k][i], is_sum);
		for (uint32_t k = 0; k < parts; k++)
			numbers[k][i] = all;
	}
}

/* Puts a round of some ranks on a stream. */
static void put_round(philox_stream stream, struct scene *s, uint32_t parts,
		      uint64_t *sums[PARTS], uint64_t *maxima[PARTS],
		      struct philox_split_info *info)
{
	for (uint32_t k = 0; k < parts; k++) {
		struct rank *rank = &s->ranks[parts == 1 ? PARTS : k];

		OK(philox_rows_sample_round(rank->rows, stream, &s->list,
					    &rank->split));
		OK(philox_split_plan(&rank->split, ENTRIES, info));
		sums[k] = info->sums;
		maxima[k] = info->maxima;
		rank->split.round++;
	}
}

static void begin_rounds(struct fixture *f, struct scene *s, uint32_t parts,
			 struct philox_split_info *info)
{
	for (uint32_t k = 0; k < parts; k++) {
		struct rank *rank = &s->ranks[parts == 1 ? PARTS : k];

		rank->split =
			(struct philox_split_desc){.size = sizeof(rank->split),
						   .sample = &rank->sample,
						   .vocab = VOCAB,
						   .n_parts = parts,
						   .part = k};
		OK(philox_split_plan(&rank->split, ENTRIES, info));
		OK(philox_memory_alloc(f->device, info->work_bytes,
				       &rank->split.work));
	}
}

static void end_rounds(struct fixture *f, struct scene *s, uint32_t parts)
{
	for (uint32_t k = 0; k < parts; k++)
		OK(philox_memory_free(
			f->device,
			s->ranks[parts == 1 ? PARTS : k].split.work));
}

static void run_rounds(struct fixture *f, struct scene *s)
{
	struct philox_split_info info = PHILOX_INIT(struct philox_split_info);
	uint64_t *sums[PARTS], *maxima[PARTS];

	begin_rounds(f, s, PARTS, &info);
	while (s->ranks[0].split.round < info.n_rounds) {
		put_round(f->stream, s, PARTS, sums, maxima, &info);
		OK(philox_stream_synchronize(f->device, f->stream));
		combine(sums, info.n_sums, PARTS, 1);
		combine(maxima, info.n_maxima, PARTS, 0);
	}
	end_rounds(f, s, PARTS);
}

/* --- servers -------------------------------------------------------------- */

static void are_same_ranks(struct fixture *f, const struct scene *s,
			   uint32_t step)
{
	const struct rank *whole = &s->ranks[PARTS];
	struct philox_state expected[ROWS], states[ROWS];
	const size_t size = ROWS * (VOCAB + MASK_WORDS) * 4;

	OK(philox_rows_get(whole->rows, f->stream, 0, ROWS, expected));
	for (int k = 0; k < PARTS; k++) {
		const struct rank *rank = &s->ranks[k];

		for (int i = 0; i < ENTRIES; i++)
			cr_assert_eq(rank->sample.tokens[i],
				     whole->sample.tokens[i],
				     "step %u, part %d, entry %d: %d, not %d",
				     step, k, i, rank->sample.tokens[i],
				     whole->sample.tokens[i]);
		OK(philox_rows_get(rank->rows, f->stream, 0, ROWS, states));
		OK(philox_stream_synchronize(f->device, f->stream));
		cr_assert(!memcmp(states, expected, sizeof(states)),
			  "step %u, part %d: rows", step, k);
		cr_assert(!memcmp(rank->history.counts, whole->history.counts,
				  size),
			  "step %u, part %d: history", step, k);
	}
}

static void report_is_same(const struct scene *s)
{
	for (int k = 0; k <= PARTS; k++) {
		struct philox_rows_report report =
			PHILOX_INIT(struct philox_rows_report);

		FAILS(philox_rows_check(s->ranks[k].rows, &report),
		      PHILOX_ERROR_OVERFLOW);
		cr_assert_eq(report.launches, 12u, "part %d", k);
		cr_assert_eq(report.outside, 12u, "part %d", k);
		cr_assert_eq(report.used_up, 12u, "part %d", k);
	}
}

/* With penalties, biases and masks; rows advance and tokens are noted. */
PROMISE(split, of_a_server_is_what_one_rank_draws)
{
	struct scene s;
	uint32_t x = 9;

	make_scene(f, &s);
	for (uint32_t step = 0; step < 12; step++) {
		struct rank *whole = &s.ranks[PARTS];

		make_step(&s, &x);
		describe(&s, step % 3, step % 5 == 4);
		OK(philox_sample_rows(whole->rows, f->stream, &s.list,
				      &whole->sample));
		run_rounds(f, &s);
		are_same_ranks(f, &s, step);
	}
	report_is_same(&s);
	destroy(&s);
}

/* Each round is a node; there is one part, so that nothing is between them. */
PROMISE(split, is_captured_and_draws_at_each_launch)
{
	struct philox_split_info info = PHILOX_INIT(struct philox_split_info);
	uint64_t *sums[PARTS], *maxima[PARTS];
	philox_native_graph graph;
	philox_native_exec exec;
	struct scene s;
	size_t nodes;
	uint32_t x = 3;

	make_scene(f, &s);
	describe(&s, PHILOX_FILTER_ORDER_MKP, 0);
	begin_rounds(f, &s, 1, &info);
	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_GLOBAL));
	while (s.ranks[PARTS].split.round < info.n_rounds)
		put_round(f->stream, &s, 1, sums, maxima, &info);
	OK(philox_stream_end_capture(f->device, f->stream, &graph));
	OK(philox_native_graph_node_count(f->device, graph, &nodes));
	cr_assert_eq(nodes, info.n_rounds);
	OK(philox_native_graph_instantiate(f->device, graph, &exec));
	for (int launch = 0; launch < 5; launch++) {
		struct rank *one = &s.ranks[0];

		make_step(&s, &x);
		one->sample.logits = s.logits;
		one->sample.vocab = VOCAB;
		OK(philox_sample_rows(one->rows, f->stream, &s.list,
				      &one->sample));
		OK(philox_native_exec_launch(f->device, f->stream, exec));
		OK(philox_stream_synchronize(f->device, f->stream));
		for (int i = 0; i < ENTRIES; i++)
			cr_assert_eq(one->sample.tokens[i],
				     s.ranks[PARTS].sample.tokens[i],
				     "launch %d, entry %d", launch, i);
	}
	OK(philox_native_exec_destroy(f->device, exec));
	OK(philox_native_graph_destroy(f->device, graph));
	end_rounds(f, &s, 1);
	destroy(&s);
}

/* --- bodies --------------------------------------------------------------- */

/* What is to be combined when the stream comes to it. */
struct combination {
	uint64_t *numbers[PARTS];
	uint64_t n;
	int is_sum;
};

static void combine_then(const void *args)
{
	const struct combination *of = args;

	combine(of->numbers, of->n, PARTS, of->is_sum);
}

/* Puts all rounds of a token on a stream, with what is between them. */
static void put_token(struct fixture *f, philox_stream stream, struct scene *s)
{
	struct philox_split_info info = PHILOX_INIT(struct philox_split_info);
	struct combination sums = {.is_sum = 1}, maxima = {.is_sum = 0};

	do {
		put_round(stream, s, PARTS, sums.numbers, maxima.numbers,
			  &info);
		sums.n = info.n_sums;
		maxima.n = info.n_maxima;
		OK(philox_stream_launch_host(f->device, stream, combine_then,
					     &sums, sizeof(sums)));
		OK(philox_stream_launch_host(f->device, stream, combine_then,
					     &maxima, sizeof(maxima)));
	} while (s->ranks[0].split.round < info.n_rounds);
	for (int k = 0; k < PARTS; k++)
		s->ranks[k].split.round = 0;
}

/* A loop that draws a token in each run, and another one where it branches. */
static struct philox_graph *record_tokens(struct fixture *f, struct scene *s,
					  struct tape tape)
{
	struct philox_conditional loop, branch;
	philox_stream inmost;

	OK(philox_stream_create(f->device, 0, &inmost));
	record_begin(f);
	begin_while(f, f->stream, f->side, 3, tape, &loop);
	put_token(f, f->side, s);
	begin_if(f, f->side, inmost, tape, &branch);
	put_token(f, inmost, s);
	OK(philox_conditional_end(&branch));
	end_while(f, f->side, tape, &loop);
	OK(philox_stream_destroy(f->device, inmost));
	return record_end(f);
}

/* What the loop is told, and how many tokens that makes. */
static const struct telling {
	uint32_t words[8], n_words, tokens;
} tellings[] = {{{1, 1, 1, 0, 0}, 5, 3},
		{{1, 0, 0}, 3, 1},
		{{0}, 1, 0},
		{{1, 1, 1, 1, 1, 1, 0}, 7, 6},
		{{1, 0, 1, 1, 0}, 5, 3}};

PROMISE(split, draws_in_loops_and_branches_what_one_rank_draws_eagerly)
{
	struct philox_split_info info = PHILOX_INIT(struct philox_split_info);
	struct tape tape = make_tape(f);
	struct philox_graph *graph;
	struct scene s;
	struct rank *whole = &s.ranks[PARTS];
	uint32_t x = 5;

	if (!philox_device_is_host(f->device))
		return; /* combines by philox_stream_launch_host() */
	make_scene(f, &s);
	describe(&s, PHILOX_FILTER_ORDER_KPM, 0);
	begin_rounds(f, &s, PARTS, &info);
	graph = record_tokens(f, &s, tape);
	for (uint32_t i = 0; i < sizeof(tellings) / sizeof(tellings[0]); i++) {
		make_step(&s, &x);
		set_tape(f, tape, tellings[i].words, tellings[i].n_words);
		OK(philox_graph_launch(graph, f->stream, NULL, 0));
		OK(philox_stream_synchronize(f->device, f->stream));
		for (uint32_t k = 0; k < tellings[i].tokens; k++)
			OK(philox_sample_rows(whole->rows, f->stream, &s.list,
					      &whole->sample));
		OK(philox_stream_synchronize(f->device, f->stream));
		are_same_ranks(f, &s, i);
	}
	nothing_wrong(f);
	OK(philox_graph_destroy(graph));
	end_rounds(f, &s, PARTS);
	destroy(&s);
}

/* --- refusals ------------------------------------------------------------- */

static void refuses(struct fixture *f, const struct scene *s, int by_plan,
		    const char *text)
{
	const struct rank *rank = &s->ranks[PARTS];
	struct philox_split_info info = PHILOX_INIT(struct philox_split_info);

	FAILS(philox_rows_sample_round(rank->rows, f->stream, &s->list,
				       &rank->split),
	      PHILOX_ERROR_INVALID);
	NAMES(text);
	if (!by_plan)
		return;
	FAILS(philox_split_plan(&rank->split, ENTRIES, &info),
	      PHILOX_ERROR_INVALID);
	NAMES(text);
}

#define REFUSES(by_plan, text, ...)              \
	do {                                     \
		const struct rank before = *one; \
                                                 \
		__VA_ARGS__;                     \
		refuses(f, &s, by_plan, text);   \
		*one = before;                   \
	} while (0)

PROMISE(split, refuses_by_name_what_it_cannot_do)
{
	struct philox_split_info info = PHILOX_INIT(struct philox_split_info);
	struct scene s;
	struct rank *one = &s.ranks[PARTS];
	const struct philox_logprob_desc many = {.size = sizeof(many),
						 .top = (int32_t *)s.ranks,
						 .of_top = (float *)s.ranks,
						 .n_top = 65};
	int32_t kept[ENTRIES];

	make_scene(f, &s);
	describe(&s, 0, 0);
	begin_rounds(f, &s, 1, &info);
	REFUSES(1, "logprobs: n_top 65 of 1024 parts are more than 65536",
		one->sample.logprobs = &many, one->split.n_parts = 1024);
	REFUSES(1, "history is NULL", one->penalties.history = NULL);
	REFUSES(1, "history: vocab is 211, below the split's, 212",
		one->split.vocab = VOCAB + 1);
	REFUSES(1, "sample: vocab is 0", one->sample.vocab = 0);
	REFUSES(1, "sample: filter_order is 9", one->sample.filter_order = 9);
	REFUSES(1, "split: size is 3", one->split.size = 3);
	REFUSES(1, "split: n_parts is 0", one->split.n_parts = 0);
	REFUSES(1, "split: n_parts is 1025", one->split.n_parts = 1025);
	REFUSES(1, "split: part is 1, not below n_parts 1",
		one->split.part = 1);
	REFUSES(1, "split: vocab is 0", one->split.vocab = 0);
	REFUSES(1, "sample: first 0 + vocab 211 is past the split's vocab, 210",
		one->split.vocab = VOCAB - 1);
	REFUSES(1, "sample: first 1 + vocab 211 is past the split's vocab, 211",
		one->sample.first = 1, one->sample.penalties = NULL);
	REFUSES(0, "split: round is 21, not below the 9 of the sample",
		one->split.round = 21);
	REFUSES(1, "sample is NULL", one->split.sample = NULL);
	REFUSES(1, "sample: kept is not NULL", one->sample.kept = kept,
		one->sample.kept_counts = one->history.counts,
		one->sample.kept_pitch = 1);
	REFUSES(0, "split: work is NULL", one->split.work = NULL);
	REFUSES(0, "sample: logits is NULL", one->sample.logits = NULL);
	REFUSES(0, "split: work (", one->split.work = s.logits);
	REFUSES(0, "sample: tokens and keys are NULL",
		one->sample.tokens = NULL);
	FAILS(philox_rows_sample_round(NULL, f->stream, &s.list, &one->split),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_rows_sample_round(one->rows, f->stream, &s.list, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_split_plan(&one->split, ENTRIES, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_split_plan(&one->split, 1 << 25, &info),
	      PHILOX_ERROR_INVALID);
	info.size = 4;
	FAILS(philox_split_plan(&one->split, ENTRIES, &info),
	      PHILOX_ERROR_INVALID);
	end_rounds(f, &s, 1);
	destroy(&s);
}

/* The body has what was put there before and after, and nothing else. */
PROMISE(split, refuses_by_name_in_a_body_whose_capture_goes_on)
{
	struct philox_split_info info = PHILOX_INIT(struct philox_split_info);
	const uint32_t taken[] = {1};
	uint64_t *sums[PARTS], *maxima[PARTS];
	struct tape tape = make_tape(f);
	struct philox_conditional branch;
	struct philox_graph *graph;
	struct scene s;
	struct rank *whole = &s.ranks[PARTS], *other = &s.ranks[0];
	uint32_t x = 6;

	make_scene(f, &s);
	describe(&s, 0, 0);
	make_step(&s, &x);
	begin_rounds(f, &s, 1, &info);
	record_begin(f);
	begin_if(f, f->stream, f->side, tape, &branch);
	while (whole->split.round < info.n_rounds) {
		const struct rank before = *whole;

		whole->split.round += 40;
		FAILS(philox_rows_sample_round(whole->rows, f->side, &s.list,
					       &whole->split),
		      PHILOX_ERROR_INVALID);
		NAMES("split: round is ");
		*whole = before;
		whole->sample.temperature = -1;
		FAILS(philox_rows_sample_round(whole->rows, f->side, &s.list,
					       &whole->split),
		      PHILOX_ERROR_INVALID);
		NAMES("sample: temperature is -1");
		*whole = before;
		put_round(f->side, &s, 1, sums, maxima, &info);
	}
	OK(philox_conditional_end(&branch));
	graph = record_end(f);
	set_tape(f, tape, taken, 1);
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	other->sample.logits = s.logits;
	other->sample.vocab = VOCAB;
	OK(philox_sample_rows(other->rows, f->stream, &s.list, &other->sample));
	OK(philox_stream_synchronize(f->device, f->stream));
	for (int i = 0; i < ENTRIES; i++)
		cr_assert_eq(whole->sample.tokens[i], other->sample.tokens[i],
			     "entry %d", i);
	nothing_wrong(f);
	OK(philox_graph_destroy(graph));
	end_rounds(f, &s, 1);
	destroy(&s);
}
