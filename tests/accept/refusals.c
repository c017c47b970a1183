/*
 * tests/accept/refusals.c - calls that accept drafts and are refused name the
 * field, and change nothing
 */
#include <math.h>
#include <philox/accept.h>
#include <philox/penalties.h>
#include "tests/sample/known.h"
#include "tests/support/loops.h"

enum { ENTRIES = 4, N = 2, VOCAB = 9, ROWS = 4, SENTINEL = -77 };

struct scene {
	struct philox_rows *rows;
	struct philox_row_list list;
	struct philox_sample_desc target, draft;
	struct philox_accept_desc accept;
};

static void make_scene(struct fixture *f, struct scene *s)
{
	const struct philox_accept_desc accept = {
		.size = sizeof(accept),
		.target = &s->target,
		.draft = &s->draft,
		.drafts = make_memory(f, ENTRIES * N * 4),
		.tokens = make_memory(f, ENTRIES * (N + 1) * 4),
		.counts = make_memory(f, ENTRIES * 4),
		.n_drafts = N};

	s->rows = known_rows(f, ROWS);
	s->list = (struct philox_row_list){.size = sizeof(s->list),
					   .indices = make_memory(f, 16),
					   .count = ENTRIES};
	s->target = known_sample(f, ENTRIES * (N + 1), VOCAB);
	s->draft = known_sample(f, ENTRIES * N, VOCAB);
	s->target.tokens = s->draft.tokens = NULL;
	s->target.flags = s->draft.flags = 0;
	s->accept = accept;
	for (uint32_t i = 0; i < ENTRIES * (N + 1); i++)
		accept.tokens[i] = SENTINEL;
}

static void refuses(struct fixture *f, const struct scene *s,
		    enum philox_status status, const char *text)
{
	FAILS(philox_rows_accept(s->rows, f->stream, &s->list, &s->accept),
	      status);
	NAMES(text);
	OK(philox_stream_synchronize(f->device, f->stream));
	for (uint32_t i = 0; i < ENTRIES * (N + 1); i++)
		cr_assert_eq(s->accept.tokens ? s->accept.tokens[i] : SENTINEL,
			     SENTINEL);
}

/* Refused with a change, and as it was again. */
#define REFUSES_AS(status, text, ...)          \
	do {                                   \
		const struct scene before = s; \
                                               \
		__VA_ARGS__;                   \
		refuses(f, &s, status, text);  \
		s = before;                    \
	} while (0)
#define REFUSES(text, ...) REFUSES_AS(PHILOX_ERROR_INVALID, text, __VA_ARGS__)

static void accepts(struct fixture *f, const struct scene *s)
{
	OK(philox_rows_accept(s->rows, f->stream, &s->list, &s->accept));
	OK(philox_stream_synchronize(f->device, f->stream));
}

PROMISE(accept, refuses_by_name_what_it_cannot_use)
{
	struct scene s;
	uint32_t steps[ENTRIES];

	make_scene(f, &s);
	REFUSES("rows 'a': accept: size is 3", s.accept.size = 3);
	REFUSES("accept: reserved", s.accept.reserved = 1);
	REFUSES("accept: n_drafts is 1024, above 1023",
		s.accept.n_drafts = 1024);
	REFUSES("accept: drafts is NULL", s.accept.drafts = NULL);
	REFUSES("accept: tokens is NULL", s.accept.tokens = NULL);
	REFUSES("accept: counts is NULL", s.accept.counts = NULL);
	REFUSES("accept: counts (0x",
		s.accept.counts = (void *)((char *)s.accept.counts + 2));
	REFUSES("target: sample is NULL", s.accept.target = NULL);
	REFUSES("list: steps is not NULL", s.list.steps = steps);
	REFUSES("accept: dtype is bf16 of the draft, but f32 of the target",
		s.draft.dtype = PHILOX_DTYPE_BF16);
	REFUSES("accept: vocab is 8 of the draft, but 9 of the target",
		s.draft.vocab = 8);
	REFUSES("accept: first is 1 of the draft, but 0 of the target",
		s.draft.first = 1);
	FAILS(philox_rows_accept(s.rows, f->stream, &s.list, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_rows_accept(NULL, f->stream, &s.list, &s.accept),
	      PHILOX_ERROR_INVALID);
	REFUSES_AS(PHILOX_ERROR_OVERFLOW,
		   "accept: 4194304 entries of 1024 positions",
		   s.list.count = 1 << 22, s.accept.n_drafts = 1023);
	accepts(f, &s);
	OK(philox_rows_destroy(s.rows));
}

/* What a sample has for results, and what the draft's is checked for too. */
PROMISE(accept, refuses_results_that_it_would_not_write)
{
	const struct philox_logprob_desc logprobs = {.size = sizeof(logprobs)};
	const int32_t drafts[ENTRIES] = {0};
	struct philox_history history = {.size = sizeof(history),
					 .counts_pitch = VOCAB,
					 .seen_pitch = 1,
					 .rows = ROWS,
					 .vocab = VOCAB};
	const struct philox_penalty_desc penalties = {.size = sizeof(penalties),
						      .history = &history,
						      .drafts = drafts,
						      .n_drafts = 1};
	struct scene s;
	uint64_t keys[ENTRIES];

	make_scene(f, &s);
	history.counts = make_memory(f, ROWS * VOCAB * 4);
	history.seen = make_memory(f, ROWS * 4);
	REFUSES("target: sample: tokens is not NULL",
		s.target.tokens = s.accept.tokens);
	REFUSES("draft: sample: keys is not NULL", s.draft.keys = keys);
	REFUSES("target: sample: cuts is not NULL", s.target.cuts = keys);
	REFUSES("draft: sample: kept_counts is not NULL",
		s.draft.kept_counts = s.accept.counts);
	REFUSES("draft: sample: logprobs is not NULL",
		s.draft.logprobs = &logprobs);
	REFUSES("target: sample: raw_logprobs is not NULL",
		s.target.raw_logprobs = &logprobs);
	REFUSES("draft: sample: flags is 0x1, not 0",
		s.draft.flags = PHILOX_ROWS_KEEP);
	REFUSES("target: penalties: drafts is not NULL",
		s.target.penalties = &penalties);
	REFUSES("draft: sample: temperature is -1", s.draft.temperature = -1);
	REFUSES("target: sample: logits is NULL", s.target.logits = NULL);
	accepts(f, &s);
	OK(philox_rows_destroy(s.rows));
}

PROMISE(accept, refuses_arrays_that_overlap)
{
	struct scene s;
	void *logits;

	make_scene(f, &s);
	logits = (void *)(uintptr_t)s.draft.logits;
	REFUSES("draft: logits (", s.accept.counts = logits);
	REFUSES("and accept: counts (", s.accept.counts = logits);
	REFUSES("accept: drafts (",
		s.accept.counts = (void *)(uintptr_t)s.accept.drafts);
	REFUSES("target: logits (",
		s.accept.counts = (void *)(uintptr_t)s.target.logits);
	REFUSES("list: indices (",
		s.accept.counts = (void *)(uintptr_t)s.list.indices);
	accepts(f, &s);
	OK(philox_rows_destroy(s.rows));
}

/* Neither is looked at where no entry has a draft. */
PROMISE(accept, needs_no_drafts_where_there_are_none)
{
	struct scene s;

	make_scene(f, &s);
	s.accept.n_drafts = 0;
	s.accept.drafts = NULL;
	s.draft.logits = NULL;
	s.list.indices = NULL;
	accepts(f, &s);
	for (uint32_t i = 0; i < ENTRIES; i++) {
		cr_assert_eq(s.accept.counts[i], 1u);
		cr_assert(s.accept.tokens[i] >= 0 && s.accept.tokens[i] < VOCAB,
			  "entry %u: token %d", i, s.accept.tokens[i]);
	}
	s.list.count = 0;
	accepts(f, &s);
	OK(philox_rows_destroy(s.rows));
}

/* All rows, each once, and a mask for all positions. */
PROMISE(accept, takes_all_rows_without_a_list)
{
	uint32_t *allowed;
	struct scene s;

	make_scene(f, &s);
	allowed = make_memory(f, 4);
	*allowed = 1 << 5;
	s.target.allowed = allowed;
	OK(philox_rows_accept(s.rows, f->stream, NULL, &s.accept));
	OK(philox_stream_synchronize(f->device, f->stream));
	for (uint32_t i = 0; i < ROWS; i++)
		for (uint32_t j = 0; j < s.accept.counts[i]; j++)
			cr_assert_eq(s.accept.tokens[i * (N + 1) + j], 5);
	OK(philox_rows_destroy(s.rows));
}

#define REFUSES_ON(stream, text, ...)                                         \
	do {                                                                  \
		const struct scene before = s;                                \
                                                                              \
		__VA_ARGS__;                                                  \
		FAILS(philox_rows_accept(s.rows, stream, &s.list, &s.accept), \
		      PHILOX_ERROR_INVALID);                                  \
		NAMES(text);                                                  \
		s = before;                                                   \
	} while (0)

/* The body has the call that was put there last, and nothing else. */
PROMISE(accept, refuses_by_name_in_a_body_whose_capture_goes_on)
{
	const uint32_t taken[] = {1};
	const size_t size = ENTRIES * (N + 1) * sizeof(int32_t);
	struct tape tape = make_tape(f);
	struct philox_conditional branch;
	struct philox_graph *graph;
	struct scene s;
	int32_t eager[ENTRIES * (N + 1)];
	uint32_t steps[ENTRIES];

	make_scene(f, &s);
	accepts(f, &s);
	memcpy(eager, s.accept.tokens, size);
	for (uint32_t i = 0; i < ENTRIES * (N + 1); i++)
		s.accept.tokens[i] = SENTINEL;
	record_begin(f);
	begin_if(f, f->stream, f->side, tape, &branch);
	REFUSES_ON(f->side, "accept: n_drafts is 1024, above 1023",
		   s.accept.n_drafts = 1024);
	REFUSES_ON(f->side, "list: steps is not NULL", s.list.steps = steps);
	REFUSES_ON(f->side, "draft: sample: temperature is -1",
		   s.draft.temperature = -1);
	OK(philox_rows_accept(s.rows, f->side, &s.list, &s.accept));
	OK(philox_conditional_end(&branch));
	graph = record_end(f);
	set_tape(f, tape, taken, 1);
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	OK(philox_stream_synchronize(f->device, f->stream));
	cr_assert(!memcmp(s.accept.tokens, eager, size));
	nothing_wrong(f);
	OK(philox_graph_destroy(graph));
	OK(philox_rows_destroy(s.rows));
}
