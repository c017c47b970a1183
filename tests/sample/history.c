/*
 * tests/sample/history.c - which tokens rows have had: what is noted, and when
 */
#include <philox/penalties.h>
#include "tests/sample/known.h"

/* --- what is noted -------------------------------------------------------- */

enum { ROWS = 6, SMALL = 90 };

static struct philox_history new_history(struct fixture *f)
{
	struct philox_history history = {
		.size = sizeof(history),
		.counts = make_memory(f, ROWS * SMALL * 4),
		.counts_pitch = SMALL,
		.seen = make_memory(f, ROWS * 12),
		.seen_pitch = 3,
		.rows = ROWS,
		.vocab = SMALL};

	memset(history.counts, 0, ROWS * SMALL * 4);
	memset(history.seen, 0, ROWS * 12);
	return history;
}

/* The counts of a row, and that just these tokens were seen. */
static void has_counts(const struct philox_history *history, uint32_t row,
		       const uint32_t count[SMALL], const uint8_t prompt[SMALL])
{
	for (uint32_t v = 0; v < SMALL; v++) {
		const uint32_t bit =
			history->seen[row * 3 + v / 32] >> v % 32 & 1;

		cr_assert_eq(history->counts[row * SMALL + v], count[v],
			     "row %u, token %u: %u, not %u", row, v,
			     history->counts[row * SMALL + v], count[v]);
		cr_assert_eq(bit, count[v] || (prompt && prompt[v]),
			     "row %u, token %u", row, v);
	}
}

/* Entries of one row see the same history, and each adds its token. */
PROMISE(history, is_seen_as_it_was_before_the_call)
{
	static const uint32_t rows_of[] = {2, 0, 2, 5, 2, 99, 1, 3};
	enum { N = sizeof(rows_of) / sizeof(rows_of[0]) };
	struct philox_rows *rows = known_rows(f, ROWS);
	struct philox_history history = new_history(f);
	struct philox_penalty_desc penalties = {.size = sizeof(penalties),
						.history = &history,
						.presence = 100};
	struct philox_sample_desc s = known_sample(f, N, SMALL);
	uint8_t *mask = make_memory(f, N);
	const struct philox_row_list list = {
		.size = sizeof(list),
		.indices = memcpy(make_memory(f, sizeof(rows_of)), rows_of,
				  sizeof(rows_of)),
		.mask = mask,
		.count = N};
	float *temperatures = make_memory(f, N * 4);
	uint32_t count[ROWS][SMALL] = {{0}};

	memset(mask, 1, N);
	mask[1] = 0;
	for (uint32_t i = 0; i < N; i++)
		temperatures[i] = i == 7 ? -1 : 0; /* -1 has no token */
	for (uint32_t i = 2; i < N; i++) /* all of one row want one token */
		memcpy((float *)(uintptr_t)s.logits + i * SMALL, s.logits,
		       SMALL * 4);
	s.temperatures = temperatures;
	s.penalties = &penalties;
	s.flags = 0;
	for (uint32_t round = 0; round < SMALL; round++) {
		OK(philox_sample_rows(rows, f->stream, &list, &s));
		OK(philox_stream_synchronize(f->device, f->stream));
		for (uint32_t i = 0; i < N; i++)
			if (rows_of[i] < ROWS && mask[i] && i != 7) {
				cr_assert_lt((uint32_t)s.tokens[i],
					     (uint32_t)SMALL);
				count[rows_of[i]][s.tokens[i]]++;
			}
		cr_assert_eq(s.tokens[0], s.tokens[2]);
		cr_assert_eq(s.tokens[0], s.tokens[4]);
		cr_assert_eq(s.tokens[7], -1);
		for (uint32_t row = 0; row < ROWS; row++)
			has_counts(&history, row, count[row], NULL);
	}
	for (uint32_t v = 0; v < SMALL; v++) { /* none before all had been */
		cr_assert_eq(count[2][v], 3u);
		cr_assert_eq(count[5][v], 1u);
	}
	FAILS(philox_rows_check(rows, NULL), PHILOX_ERROR_OVERFLOW);
}

PROMISE(history, has_tokens_of_no_other_samples)
{
	struct philox_rows *rows = known_rows(f, ROWS);
	struct philox_history history = new_history(f);
	struct philox_penalty_desc penalties = {.size = sizeof(penalties),
						.history = &history};
	struct philox_sample_desc s = known_sample(f, ROWS, SMALL);
	struct philox_state *states = make_memory(f, ROWS * sizeof(*states));
	const struct philox_seed_list slots = {
		.size = sizeof(slots),
		.seeds = make_memory(f, ROWS * 8),
		.positions = make_memory(f, ROWS * 4),
		.count = ROWS};
	static const uint32_t none[SMALL];

	s.penalties = &penalties;
	s.flags = PHILOX_ROWS_KEEP;
	OK(philox_sample_rows(rows, f->stream, NULL, &s));
	s.flags = 0;
	OK(philox_sample_states(f->device, f->stream, states, ROWS, &s));
	OK(philox_sample_seeds(f->device, f->stream, &slots, NULL, &s));
	s.keys = make_memory(f, ROWS * sizeof(*s.keys));
	s.tokens = NULL;
	OK(philox_sample_rows(rows, f->stream, NULL, &s));
	OK(philox_stream_synchronize(f->device, f->stream));
	for (uint32_t row = 0; row < ROWS; row++)
		has_counts(&history, row, none, NULL);
}

PROMISE(history, has_prompts_and_drafts_that_were_kept)
{
	static const int32_t given[4][5] = {{3, 3, 89, 90, -1},
					    {3, 4, 5, 6, 7},
					    {-7, 33, 3, INT32_MAX, 64},
					    {8, 8, 8, 8, 8}};
	static const uint32_t rows_of[] = {4, 1, 4, 6}, counts[] = {5, 2, 9, 5};
	struct philox_history history = new_history(f);
	const struct philox_row_list list = {
		.size = sizeof(list),
		.indices = memcpy(make_memory(f, 16), rows_of, 16),
		.count = 4};
	struct philox_token_list tokens = {
		.size = sizeof(tokens),
		.tokens = memcpy(make_memory(f, sizeof(given)), given,
				 sizeof(given)),
		.pitch = 5,
		.counts = memcpy(make_memory(f, 16), counts, 16),
		.count = 5};
	uint32_t count[SMALL] = {[3] = 3, [89] = 1, [33] = 1, [64] = 1};
	static const uint32_t one[SMALL] = {[3] = 1, [4] = 1}, none[SMALL];
	static const uint8_t first[SMALL] = {[3] = 1}, last[SMALL] = {[8] = 1};

	OK(philox_history_add(f->device, f->stream, &history, &list, &tokens));
	OK(philox_stream_synchronize(f->device, f->stream));
	has_counts(&history, 4, count, NULL);
	has_counts(&history, 1, one, NULL);
	for (uint32_t row = 0; row < ROWS; row++)
		if (row != 1 && row != 4)
			has_counts(&history, row, none, NULL);
	/* of all rows, the first ones of each entry, as prompts */
	history.rows = 4;
	tokens.prompt = 1;
	tokens.counts = NULL;
	tokens.count = 1;
	OK(philox_history_add(f->device, f->stream, &history, NULL, &tokens));
	OK(philox_stream_synchronize(f->device, f->stream));
	has_counts(&history, 0, none, first);
	has_counts(&history, 1, one, first);
	has_counts(&history, 2, none, NULL);
	has_counts(&history, 3, none, last);
	tokens.count = 0;
	OK(philox_history_add(f->device, f->stream, &history, NULL, &tokens));
}

/* A slot's history is that of its index, whatever entry it is. */
PROMISE(history, of_a_slot_is_that_of_its_index)
{
	static const uint32_t slots_of[] = {4, 0, 5, 2};
	struct philox_history history = new_history(f);
	struct philox_penalty_desc penalties = {.size = sizeof(penalties),
						.history = &history,
						.presence = 1000};
	struct philox_sample_desc s = known_sample(f, 4, SMALL);
	const struct philox_seed_list slots = {
		.size = sizeof(slots),
		.seeds = make_memory(f, ROWS * 8),
		.positions = make_memory(f, ROWS * 4),
		.count = ROWS};
	const struct philox_row_list list = {
		.size = sizeof(list),
		.indices = memcpy(make_memory(f, sizeof(slots_of)), slots_of,
				  sizeof(slots_of)),
		.count = 4};

	s.penalties = &penalties;
	s.flags = 0;
	for (uint32_t i = 0; i < 4; i++) /* all but one token were drawn */
		for (uint32_t v = 0; v < SMALL; v++)
			if (v != 10 + slots_of[i]) {
				uint32_t row = slots_of[i];

				history.counts[row * SMALL + v] = 1;
				history.seen[row * 3 + v / 32] |= 1u << v % 32;
			}
	OK(philox_sample_seeds(f->device, f->stream, &slots, &list, &s));
	OK(philox_stream_synchronize(f->device, f->stream));
	for (uint32_t i = 0; i < 4; i++)
		cr_assert_eq(s.tokens[i], (int32_t)(10 + slots_of[i]));
}

PROMISE(history, that_is_mistaken_is_named)
{
	struct philox_history good = new_history(f), h;
	int32_t *given = make_memory(f, ROWS * 8);
	struct philox_token_list all = {.size = sizeof(all),
					.tokens = given,
					.pitch = 2,
					.count = 2},
				 t;
	const struct philox_row_list none = {.size = sizeof(none)};

#define WITH(change, text)                                                    \
	do {                                                                  \
		h = good;                                                     \
		t = all;                                                      \
		change;                                                       \
		FAILS(philox_history_add(f->device, f->stream, &h, NULL, &t), \
		      PHILOX_ERROR_INVALID);                                  \
		NAMES(text);                                                  \
	} while (0)
	WITH(h.size = 0, "history: size");
	WITH(h.counts = NULL, "history: counts is NULL");
	WITH(h.seen_pitch = 2, "history: seen_pitch is 2, below the 3");
	WITH(h.rows = (1 << 24) + 1, "history: rows is 16777217");
	WITH(t.size = 0, "tokens: size");
	WITH(t.tokens = NULL, "tokens: tokens is NULL");
	WITH(t.pitch = 1, "tokens: pitch is 1, below count 2");
	WITH(t.prompt = 2, "tokens: prompt is 2, not 0 or 1");
#undef WITH
	FAILS(philox_history_add(NULL, f->stream, &good, NULL, &all),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_history_add(f->device, f->stream, NULL, NULL, &all),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_history_add(f->device, f->stream, &good, NULL, NULL),
	      PHILOX_ERROR_INVALID);
	t = all;
	t.pitch = UINT64_MAX / 8;
	FAILS(philox_history_add(f->device, f->stream, &good, NULL, &t),
	      PHILOX_ERROR_OVERFLOW);
	/* without entries there need be no arrays */
	h = good;
	h.counts = h.seen = NULL;
	OK(philox_history_add(f->device, f->stream, &h, &none, &all));
}

/* One piece of memory for each row: its counts, and then what it has seen. */
PROMISE(history, of_a_row_may_be_in_one_piece)
{
	struct philox_rows *rows = known_rows(f, ROWS);
	uint32_t *memory = make_memory(f, ROWS * (SMALL + 3) * 4);
	struct philox_history history = {.size = sizeof(history),
					 .counts = memory,
					 .counts_pitch = SMALL + 3,
					 .seen = memory + SMALL,
					 .seen_pitch = SMALL + 3,
					 .rows = ROWS,
					 .vocab = SMALL};
	struct philox_penalty_desc penalties = {.size = sizeof(penalties),
						.history = &history};
	struct philox_sample_desc s = known_sample(f, ROWS, SMALL);

	memset(memory, 0, ROWS * (SMALL + 3) * 4);
	s.penalties = &penalties;
	s.flags = 0;
	OK(philox_sample_rows(rows, f->stream, NULL, &s));
	OK(philox_stream_synchronize(f->device, f->stream));
	for (uint32_t row = 0; row < ROWS; row++)
		cr_assert_eq(
			memory[row * (SMALL + 3) + (uint32_t)s.tokens[row]],
			1u);
	history.seen--;
	FAILS(philox_sample_rows(rows, f->stream, NULL, &s),
	      PHILOX_ERROR_INVALID);
	NAMES("history: counts (0x");
	NAMES("history: seen (0x");
	history.seen = memory + SMALL + 1; /* the next row's first count */
	FAILS(philox_sample_rows(rows, f->stream, NULL, &s),
	      PHILOX_ERROR_INVALID);
}

/* --- drafts --------------------------------------------------------------- */

enum { POSITIONS = 4 };

/*
 * Rows 0 and 1 begin with one state: 0 is decoded one by one, 1 at once, with
 * the tokens before each position as its drafts, which are then all noted.
 */
struct decoding {
	struct philox_rows *rows;
	struct philox_history history;
	struct philox_penalty_desc penalties;
	struct philox_sample_desc one, all;
	struct philox_row_list first, second, drafts;
	int32_t *tokens; /* of entry 0, and of the drafts */
};

static void begin_decoding(struct fixture *f, struct decoding *d)
{
	static const uint32_t rows[2] = {0, 1};
	const struct philox_state states[2] = {{77, 0}, {77, 0}};
	uint32_t *indices = make_memory(f, POSITIONS * 4);
	uint32_t *steps = make_memory(f, POSITIONS * 4);

	d->rows = known_rows(f, 2);
	OK(philox_rows_set(d->rows, f->stream, rows, states, 2));
	d->history = new_history(f);
	d->penalties = (struct philox_penalty_desc){
		.size = sizeof(d->penalties),
		.history = &d->history,
		.repetition = 1.5,
		.frequency = 0.7,
		.presence = 0.4,
		.drafts = make_memory(f, POSITIONS * POSITIONS * 4)};
	d->all = known_sample(f, POSITIONS, SMALL);
	d->all.temperature = 0.3;
	d->all.pitch = SMALL;
	d->all.flags = PHILOX_ROWS_KEEP;
	for (uint32_t j = 1; j < POSITIONS; j++) /* penalties decide */
		memcpy((float *)(uintptr_t)d->all.logits + j * SMALL,
		       d->all.logits, SMALL * 4);
	d->all.penalties = &d->penalties;
	d->one = d->all;
	d->one.flags = 0;
	d->one.tokens = make_memory(f, 4);
	for (uint32_t j = 0; j < POSITIONS; j++) {
		indices[j] = 1;
		steps[j] = j;
	}
	d->first =
		(struct philox_row_list){.size = sizeof(d->first), .count = 1};
	d->second = d->first;
	d->second.indices = indices;
	d->drafts = d->second;
	d->drafts.steps = steps;
	d->drafts.count = POSITIONS;
}

static void decode_one_by_one(struct fixture *f, struct decoding *d,
			      int32_t tokens[POSITIONS])
{
	d->penalties.n_drafts = 0;
	d->one.penalties = &d->penalties;
	for (uint32_t j = 0; j < POSITIONS; j++) {
		const int32_t *drafts = d->penalties.drafts;

		d->penalties.drafts = NULL;
		OK(philox_sample_rows(d->rows, f->stream, &d->first, &d->one));
		OK(philox_stream_synchronize(f->device, f->stream));
		d->penalties.drafts = drafts;
		tokens[j] = d->one.tokens[0];
	}
}

static void decode_at_once(struct fixture *f, struct decoding *d,
			   const int32_t guess[POSITIONS])
{
	int32_t *drafts = (int32_t *)(uintptr_t)d->penalties.drafts;
	const struct philox_token_list kept = {.size = sizeof(kept),
					       .tokens = d->all.tokens,
					       .pitch = POSITIONS,
					       .count = POSITIONS};

	for (uint32_t i = 0; i < POSITIONS * POSITIONS; i++)
		drafts[i] = i % POSITIONS < i / POSITIONS ? guess[i % POSITIONS]
							  : -1;
	d->penalties.n_drafts = POSITIONS;
	OK(philox_sample_rows(d->rows, f->stream, &d->drafts, &d->all));
	OK(philox_history_add(f->device, f->stream, &d->history, &d->second,
			      &kept));
	OK(philox_rows_advance(d->rows, f->stream, &d->second, 4 * POSITIONS));
	OK(philox_stream_synchronize(f->device, f->stream));
}

PROMISE(history, and_drafts_give_the_tokens_of_one_by_one)
{
	int32_t tokens[POSITIONS];
	struct decoding d;
	uint32_t again = 0;

	begin_decoding(f, &d);
	for (int round = 0; round < 40; round++) {
		decode_one_by_one(f, &d, tokens);
		decode_at_once(f, &d, tokens);
		cr_assert(!memcmp(d.all.tokens, tokens, sizeof(tokens)),
			  "round %d", round);
		cr_assert(!memcmp(d.history.counts, d.history.counts + SMALL,
				  SMALL * 4));
		cr_assert(!memcmp(d.history.seen, d.history.seen + 3, 12));
		for (int j = 1; j < POSITIONS; j++)
			again += tokens[j] == tokens[j - 1];
	}
	cr_assert_lt(again, 40u, "they are penalised");
}
