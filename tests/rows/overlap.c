/*
 * tests/rows/overlap.c - an array that a call writes is apart from its others
 *
 * All arrays are parts of one piece of memory, so that they can be moved onto
 * each other. A refusal names the two, and queues nothing.
 */
#include <stdio.h>
#include <philox/penalties.h>
#include "tests/support/support.h"

enum { ROWS = 4, VOCAB = 8, PITCH = 12, PART = 1024, PARTS = 35 };
enum { IDS = 2, TOP = 3 };

struct scene {
	struct philox_rows *rows;
	char *memory; /* PARTS of them */
	struct philox_state *states;
	struct philox_row_list list;
	struct philox_logprob_desc logprobs, raw;
	struct philox_history history;
	struct philox_penalty_desc penalties;
	struct philox_bias_desc bias;
	struct philox_sample_desc sample;
	struct philox_row_fill_desc fill;
	struct philox_seed_list slots;
};

static void *part(const struct scene *s, unsigned number)
{
	return s->memory + number * PART;
}

static struct philox_logprob_desc logprobs_at(const struct scene *s,
					      unsigned number)
{
	return (struct philox_logprob_desc){
		.size = sizeof(struct philox_logprob_desc),
		.drawn = part(s, number),
		.ids = part(s, number + 1),
		.of_ids = part(s, number + 2),
		.top = part(s, number + 3),
		.of_top = part(s, number + 4),
		.n_ids = IDS,
		.n_top = TOP};
}

static void make_changes(struct scene *s)
{
	s->history = (struct philox_history){.size = sizeof(s->history),
					     .counts = part(s, 27),
					     .counts_pitch = VOCAB,
					     .seen = part(s, 28),
					     .seen_pitch = 1,
					     .rows = ROWS,
					     .vocab = VOCAB};
	s->penalties =
		(struct philox_penalty_desc){.size = sizeof(s->penalties),
					     .history = &s->history,
					     .repetitions = part(s, 29),
					     .frequencies = part(s, 30),
					     .presences = part(s, 31),
					     .drafts = part(s, 32),
					     .n_drafts = 1};
	s->bias = (struct philox_bias_desc){.size = sizeof(s->bias),
					    .ids = part(s, 33),
					    .biases = part(s, 34),
					    .count = 1};
}

static void open_scene(struct fixture *f, struct scene *s)
{
	const struct philox_rows_desc options = {
		.size = sizeof(options), .name = "a", .count = ROWS};

	OK(philox_rows_create(f->context, &options, &s->rows));
	OK(philox_rows_states(s->rows, &s->states));
	s->memory = make_memory(f, PARTS * PART);
	OK(philox_memory_set(f->device, f->stream, s->memory, 0, PARTS * PART));
	s->logprobs = logprobs_at(s, 17);
	s->raw = logprobs_at(s, 22);
	make_changes(s);
	s->list = (struct philox_row_list){.size = sizeof(s->list),
					   .indices = part(s, 0),
					   .mask = part(s, 1),
					   .count = ROWS,
					   .steps = part(s, 2)};
	s->sample = (struct philox_sample_desc){.size = sizeof(s->sample),
						.logits = part(s, 3),
						.dtype = PHILOX_DTYPE_F32,
						.vocab = VOCAB,
						.pitch = PITCH,
						.temperatures = part(s, 4),
						.allowed = part(s, 10),
						.allowed_pitch = 1,
						.filters = 7,
						.top_ks = part(s, 11),
						.top_ps = part(s, 12),
						.min_ps = part(s, 13),
						.cuts = part(s, 14),
						.kept_counts = part(s, 15),
						.kept = part(s, 16),
						.kept_pitch = 1,
						.logprobs = &s->logprobs,
						.raw_logprobs = &s->raw,
						.bias = &s->bias,
						.penalties = &s->penalties,
						.tokens = part(s, 5),
						.keys = part(s, 6),
						.flags = PHILOX_ROWS_KEEP};
	s->fill = (struct philox_row_fill_desc){.size = sizeof(s->fill),
						.dist = PHILOX_DIST_BITS,
						.dtype = PHILOX_DTYPE_U32,
						.count = VOCAB,
						.pitch = PITCH,
						.out = part(s, 7),
						.flags = PHILOX_ROWS_KEEP};
	s->slots = (struct philox_seed_list){.size = sizeof(s->slots),
					     .seeds = part(s, 8),
					     .positions = part(s, 9),
					     .count = ROWS};
}

#define REFUSES(call, message)                                              \
	do {                                                                \
		uint64_t launches =                                         \
			philox_device_call_count(f->device, "launch");      \
		FAILS(call, PHILOX_ERROR_INVALID);                          \
		NAMES("overlap");                                           \
		names_both(message);                                        \
		cr_assert_eq(philox_device_call_count(f->device, "launch"), \
			     launches);                                     \
	} while (0)

/* "one/other" */
static void names_both(const char *names)
{
	char one[64], other[64];

	cr_assert_eq(sscanf(names, "%63[^/]/%63[^\n]", one, other), 2);
	strcat(one, " (0x");
	strcat(other, " (0x");
	NAMES(one);
	NAMES(other);
}

#define ROWS_SAMPLED(s) \
	philox_sample_rows((s).rows, f->stream, &(s).list, &(s).sample)
#define ROWS_FILLED(s) \
	philox_rows_fill((s).rows, f->stream, &(s).list, &(s).fill)

PROMISE(rows_overlap, of_tokens_and_keys_is_refused_by_name)
{
	static const struct {
		unsigned part;
		const char *names;
	} cases[] = {{0, "list: indices/sample: tokens"},
		     {1, "list: mask/sample: tokens"},
		     {2, "list: steps/sample: tokens"},
		     {3, "sample: logits/sample: tokens"},
		     {4, "sample: temperatures/sample: tokens"},
		     {6, "sample: tokens/sample: keys"},
		     {10, "sample: allowed/sample: tokens"},
		     {11, "sample: top_ks/sample: tokens"},
		     {12, "sample: top_ps/sample: tokens"},
		     {13, "sample: min_ps/sample: tokens"},
		     {14, "sample: cuts/sample: tokens"},
		     {15, "sample: kept_counts/sample: tokens"},
		     {16, "sample: kept/sample: tokens"},
		     {27, "history: counts/sample: tokens"},
		     {28, "history: seen/sample: tokens"},
		     {29, "penalties: repetitions/sample: tokens"},
		     {30, "penalties: frequencies/sample: tokens"},
		     {31, "penalties: presences/sample: tokens"},
		     {32, "penalties: drafts/sample: tokens"},
		     {33, "bias: ids/sample: tokens"},
		     {34, "bias: biases/sample: tokens"}};
	struct scene good, bad;

	open_scene(f, &good);
	OK(ROWS_SAMPLED(good));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bad = good;
		bad.sample.tokens = part(&good, cases[i].part);
		REFUSES(ROWS_SAMPLED(bad), cases[i].names);
	}
	bad = good;
	bad.sample.keys = (uint64_t *)part(&good, 3);
	REFUSES(ROWS_SAMPLED(bad), "sample: logits/sample: keys");
	bad = good;
	bad.sample.tokens = (int32_t *)good.states;
	REFUSES(ROWS_SAMPLED(bad), "the table/sample: tokens");
	/* the turns behind the states, and the control block before them */
	bad.sample.tokens = (int32_t *)(good.states + ROWS);
	REFUSES(ROWS_SAMPLED(bad), "the table/sample: tokens");
	bad.sample.tokens = (int32_t *)good.states - ROWS;
	REFUSES(ROWS_SAMPLED(bad), "the table/sample: tokens");
	bad = good;
	bad.sample.logits = good.states;
	REFUSES(ROWS_SAMPLED(bad), "the table/sample: logits");
}

/* With their first byte, and with their last. */
PROMISE(rows_overlap, of_logprobs_is_refused_by_name)
{
	static const struct {
		unsigned part, n;
		const char *names;
	} cases[] = {{17, 1, "logprobs: drawn/sample: tokens"},
		     {18, IDS, "logprobs: ids/sample: tokens"},
		     {19, IDS, "logprobs: of_ids/sample: tokens"},
		     {20, TOP, "logprobs: top/sample: tokens"},
		     {21, TOP, "logprobs: of_top/sample: tokens"},
		     {22, 1, "raw_logprobs: drawn/sample: tokens"},
		     {23, IDS, "raw_logprobs: ids/sample: tokens"},
		     {24, IDS, "raw_logprobs: of_ids/sample: tokens"},
		     {25, TOP, "raw_logprobs: top/sample: tokens"},
		     {26, TOP, "raw_logprobs: of_top/sample: tokens"}};
	struct scene good, bad;

	open_scene(f, &good);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int32_t *array = part(&good, cases[i].part);

		bad = good;
		bad.sample.tokens = array - ROWS;
		OK(ROWS_SAMPLED(bad));
		bad.sample.tokens = array - ROWS + 1;
		REFUSES(ROWS_SAMPLED(bad), cases[i].names);
		bad.sample.tokens = array + ROWS * cases[i].n - 1;
		REFUSES(ROWS_SAMPLED(bad), cases[i].names);
		bad.sample.tokens = array + ROWS * cases[i].n;
		OK(ROWS_SAMPLED(bad));
	}
}

/* A history is written by samples that note tokens, and by its own function. */
PROMISE(rows_overlap, of_a_history_is_refused_by_name)
{
	struct scene s;
	struct philox_token_list tokens = {
		.size = sizeof(tokens), .pitch = 2, .count = 2};

	open_scene(f, &s);
	s.history.seen = part(&s, 29); /* it is read only */
	OK(ROWS_SAMPLED(s));
	s.list.steps = NULL;
	s.sample.flags = 0;
	REFUSES(ROWS_SAMPLED(s), "penalties: repetitions/history: seen");
	s.history.seen = part(&s, 28);
	s.history.counts = part(&s, 3);
	REFUSES(ROWS_SAMPLED(s), "sample: logits/history: counts");
	s.history.counts = part(&s, 27);
	OK(ROWS_SAMPLED(s));
	tokens.tokens = part(&s, 27);
	REFUSES(philox_history_add(f->device, f->stream, &s.history, &s.list,
				   &tokens),
		"tokens: tokens/history: counts");
	tokens.tokens = part(&s, 5);
	tokens.counts = part(&s, 28);
	REFUSES(philox_history_add(f->device, f->stream, &s.history, &s.list,
				   &tokens),
		"tokens: counts/history: seen");
	tokens.counts = part(&s, 6);
	s.list.mask = part(&s, 28);
	REFUSES(philox_history_add(f->device, f->stream, &s.history, &s.list,
				   &tokens),
		"history: seen/list: mask");
	s.list.mask = part(&s, 1);
	OK(philox_history_add(f->device, f->stream, &s.history, &s.list,
			      &tokens));
}

/* The last byte counts; the next may be another array's. */
PROMISE(rows_overlap, begins_with_the_first_byte_in_common)
{
	struct scene good, s;

	open_scene(f, &good);
	s = good;
	s.sample.tokens = (int32_t *)part(&s, 1) - ROWS;
	OK(ROWS_SAMPLED(s));
	s.sample.tokens += 1;
	REFUSES(ROWS_SAMPLED(s), "list: mask/sample: tokens");
	s.sample.tokens = (int32_t *)part(&s, 1) + 1; /* behind ROWS bytes */
	OK(ROWS_SAMPLED(s));
	s.sample.tokens -= 1;
	REFUSES(ROWS_SAMPLED(s), "list: mask/sample: tokens");
	/* arrays that are only read may lie on each other */
	s = good;
	s.list.steps = s.list.indices;
	s.sample.temperatures = s.sample.logits;
	OK(ROWS_SAMPLED(s));
}

/* Entries of a pitch leave room, which is nobody's. */
PROMISE(rows_overlap, is_not_in_the_room_between_entries)
{
	struct scene s;
	float *logits;

	open_scene(f, &s);
	logits = part(&s, 3);
	s.list.count = 1;
	s.sample.keys = NULL;
	for (unsigned entries = 1; entries <= ROWS; entries++) {
		s.list.count = entries;
		for (unsigned at = 0; at < ROWS * PITCH + 2; at++) {
			const unsigned last = at + entries - 1;
			int meets = 0;

			for (unsigned e = at; e <= last; e++)
				meets |= e / PITCH < entries &&
					 e % PITCH < VOCAB;
			s.sample.tokens = (int32_t *)logits + at;
			if (meets)
				REFUSES(ROWS_SAMPLED(s),
					"sample: logits/sample: tokens");
			else
				OK(ROWS_SAMPLED(s));
		}
		s.sample.tokens = (int32_t *)logits - entries;
		OK(ROWS_SAMPLED(s));
		s.sample.tokens += 1;
		REFUSES(ROWS_SAMPLED(s), "sample: logits/sample: tokens");
	}
}

PROMISE(rows_overlap, of_what_is_drawn_is_refused_by_name)
{
	struct scene good, bad;

	open_scene(f, &good);
	OK(ROWS_FILLED(good));
	bad = good;
	bad.fill.out = part(&good, 0);
	REFUSES(ROWS_FILLED(bad), "list: indices/fill: out");
	bad.fill.out = part(&good, 1);
	REFUSES(ROWS_FILLED(bad), "list: mask/fill: out");
	bad.fill.out = part(&good, 2);
	REFUSES(ROWS_FILLED(bad), "list: steps/fill: out");
	bad.fill.out = good.states;
	REFUSES(ROWS_FILLED(bad), "the table/fill: out");
	bad = good;
	bad.fill.counts = good.fill.out;
	REFUSES(ROWS_FILLED(bad), "fill: counts/fill: out");
	/* with counts the values after the first may be none */
	bad.fill.counts = (uint32_t *)good.fill.out + 2 * PITCH + 1;
	OK(ROWS_FILLED(bad));
	bad.fill.counts = (uint32_t *)good.states;
	REFUSES(ROWS_FILLED(bad), "the table/fill: counts");
	/* nothing is drawn, nothing overlaps */
	bad = good;
	bad.fill.out = part(&good, 1);
	bad.fill.count = 0;
	OK(ROWS_FILLED(bad));
	bad = good;
	bad.fill.out = part(&good, 1);
	bad.list.count = 0;
	OK(ROWS_FILLED(bad));
}

PROMISE(rows_overlap, of_an_advance_with_its_table_is_refused_by_name)
{
	struct scene s;

	open_scene(f, &s);
	s.list.steps = NULL;
	OK(philox_rows_advance(s.rows, f->stream, &s.list, 4));
	OK(philox_rows_advance_by(s.rows, f->stream, &s.list, 4,
				  s.list.indices));
	REFUSES(philox_rows_advance_by(s.rows, f->stream, &s.list, 4,
				       (uint32_t *)s.states),
		"the table/advance: counts");
	s.list.mask = (uint8_t *)s.states;
	REFUSES(philox_rows_advance(s.rows, f->stream, &s.list, 4),
		"the table/list: mask");
}

PROMISE(rows_overlap, of_rows_that_are_read_with_their_table_is_refused)
{
	struct scene s;

	open_scene(f, &s);
	OK(philox_rows_get(s.rows, f->stream, 0, 2, part(&s, 5)));
	FAILS(philox_rows_get(s.rows, f->stream, 0, 2, s.states + 2),
	      PHILOX_ERROR_INVALID);
	NAMES("rows 'a': states (0x");
	NAMES(" and the table (0x");
}

PROMISE(rows_overlap, of_tokens_and_states_or_seeds_is_refused_by_name)
{
	struct scene s;

	open_scene(f, &s);
	s.sample.flags = 0;
	/* a table's states are read as any others are */
	OK(philox_sample_states(f->device, f->stream, s.states, ROWS,
				&s.sample));
	REFUSES(philox_sample_states(f->device, f->stream, part(&s, 5), ROWS,
				     &s.sample),
		"sample: states/sample: tokens");
	OK(philox_sample_seeds(f->device, f->stream, &s.slots, &s.list,
			       &s.sample));
	s.sample.tokens = part(&s, 8);
	REFUSES(philox_sample_seeds(f->device, f->stream, &s.slots, &s.list,
				    &s.sample),
		"slots: seeds/sample: tokens");
	s.sample.tokens = part(&s, 9);
	REFUSES(philox_sample_seeds(f->device, f->stream, &s.slots, NULL,
				    &s.sample),
		"slots: positions/sample: tokens");
	s.sample.tokens = part(&s, 2);
	REFUSES(philox_sample_seeds(f->device, f->stream, &s.slots, &s.list,
				    &s.sample),
		"list: steps/sample: tokens");
	s.sample.tokens = part(&s, 3);
	REFUSES(philox_sample_states(f->device, f->stream, s.states, ROWS,
				     &s.sample),
		"sample: logits/sample: tokens");
}
