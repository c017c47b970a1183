/*
 * tools/contract/numbers/accept.c - checks that drafts are accepted as on the
 * host
 */
#include <philox/accept.h>
#include "tools/contract/numbers/tokens.h"

/*
 * Calls of ENTRIES entries; of few with long rows, for the loops over columns;
 * of more entries than a GPU has blocks, with short ones.
 */
enum { COLUMNS = 700, FIRST = 5, ALL = FIRST + COLUMNS };
enum { DRAFTS = 3, POSITIONS = DRAFTS + 1, ENTRIES = LOGIT_ROWS };
enum { FEW = 2, LONG = COLUMNS * ENTRIES / FEW, MOST = 280 };
enum { SHORT = COLUMNS * ENTRIES / MOST };
enum { WORDS = (ALL + 31) / 32, BIASES = 20, KINDS = 3 };

static const enum philox_dtype dtypes[KINDS] = {
	PHILOX_DTYPE_F32, PHILOX_DTYPE_BF16, PHILOX_DTYPE_F16};

/* A call, what it may use, and where its history is. */
struct accepting {
	struct philox_row_list list;
	struct philox_history history;
	struct philox_penalty_desc penalties;
	struct philox_bias_desc bias;
	struct philox_sample_desc target, draft;
	struct philox_accept_desc accept;
	void *of_target[KINDS], *of_draft[KINDS]; /* logits of each dtype */
	void *allowed, *top_ks, *top_ps, *temperatures;
};

/* --- logits --------------------------------------------------------------- */

/*
 * A column that is likely at all positions of an entry but the first, where it
 * is the draft: so what is counted of one position matters to the next.
 */
static uint32_t favourite(uint32_t entry)
{
	return site_below(72, entry, SHORT);
}

/*
 * Those of a draft are near the target's, of which some rows are odd, so far
 * down that most of the long rows are not.
 */
static float logit_of(uint32_t row, uint32_t column, int is_draft)
{
	const uint64_t i = (uint64_t)row * COLUMNS + column;
	const float x = (float)(int)site_below(61, i, 1 << 20) * 0x1p-16f - 8;
	const float near = (float)(int)site_below(62, i, 1 << 10) * 0x1p-9f;

	if (row % POSITIONS && column == favourite(row / POSITIONS))
		return 13;
	if (row > 100 && row % 23 == 7 && column == 3)
		return philox_f32_from_bits(0x7fc00000u);
	if (row % 29 == 9)
		return philox_f32_from_bits(0xff800000u);
	if (row > 100 && row % 31 == 11 && column % 400 == 20)
		return philox_f32_from_bits(0x7f800000u);
	return is_draft ? x + near : x;
}

static void make_logits(struct contract *c, struct site *site,
			enum philox_dtype dtype, int is_draft, void **memory)
{
	static float logits[ENTRIES * POSITIONS * COLUMNS];
	const uint32_t each = is_draft ? DRAFTS : POSITIONS;

	for (uint32_t r = 0; r < ENTRIES * each; r++) {
		const uint32_t like = r / each * POSITIONS + r % each;

		for (uint32_t v = 0; v < COLUMNS; v++)
			tokens_put_logit(logits, r * COLUMNS + v, dtype,
					 logit_of(like, v, is_draft));
	}
	EXPECT_PART(site_upload(c, site, logits, sizeof(logits), memory));
}

/* The favourite, or the best of some columns; some are none. */
static int32_t draft_of(uint32_t entry, uint32_t position)
{
	const uint32_t row = entry * POSITIONS + position;
	int32_t best = -1;
	float most = -100;

	if (row % 17 == 5)
		return row % 2 ? -1 : ALL + 3;
	if (position)
		return (int32_t)(FIRST + favourite(entry));
	for (uint32_t i = 0; i < 60; i++) {
		const uint32_t v = site_below(63, row * 60 + i, COLUMNS);
		const float x = logit_of(row, v, 1);

		if (x > most) {
			most = x;
			best = (int32_t)(FIRST + v);
		}
	}
	return best;
}

/* --- calls ---------------------------------------------------------------- */

/* Rows that do not exist, are used up or are there twice, and a mask. */
static void make_entries(struct contract *c, struct site *site,
			 struct philox_row_list *list)
{
	uint32_t indices[MOST];
	uint8_t mask[MOST];
	void *memory[2];

	for (uint32_t i = 0; i < MOST; i++) {
		indices[i] = site_below(71, i, SITE_ROWS + 4);
		mask[i] = i % 7 != 1;
	}
	EXPECT_PART(site_upload(c, site, indices, sizeof(indices), &memory[0]));
	EXPECT_PART(site_upload(c, site, mask, sizeof(mask), &memory[1]));
	*list = (struct philox_row_list){
		.size = sizeof(*list), .indices = memory[0], .mask = memory[1]};
}

static void make_drafts(struct contract *c, struct site *site,
			struct philox_accept_desc *accept)
{
	int32_t drafts[MOST * DRAFTS];
	void *memory[3];

	for (uint32_t i = 0; i < MOST * DRAFTS; i++)
		drafts[i] = draft_of(i / DRAFTS % ENTRIES, i % DRAFTS);
	EXPECT_PART(site_upload(c, site, drafts, sizeof(drafts), &memory[0]));
	EXPECT_PART(site_allocate(c, site, MOST * POSITIONS * 4, &memory[1]));
	EXPECT_PART(site_allocate(c, site, MOST * 4, &memory[2]));
	*accept = (struct philox_accept_desc){.size = sizeof(*accept),
					      .drafts = memory[0],
					      .tokens = memory[1],
					      .counts = memory[2],
					      .n_drafts = DRAFTS};
}

/* Values of positions, of which a few are out of range. */
static void make_values(struct contract *c, struct site *site,
			struct accepting *a)
{
	enum { N = MOST * POSITIONS };
	static uint32_t allowed[N * WORDS];
	float ps[N], temperatures[N];
	uint32_t ks[N];

	for (uint32_t i = 0; i < N * WORDS; i++)
		allowed[i] = site_word(64, i) | site_word(65, i);
	for (uint32_t i = 0; i < N; i++) {
		ks[i] = site_below(66, i, 150);
		ps[i] = i % 41 == 40 ? 1.5f
				     : (float)site_below(67, i, 101) / 100;
		temperatures[i] = (float)site_below(68, i, 5) / 2;
	}
	EXPECT_PART(
		site_upload(c, site, allowed, sizeof(allowed), &a->allowed));
	EXPECT_PART(site_upload(c, site, ks, sizeof(ks), &a->top_ks));
	EXPECT_PART(site_upload(c, site, ps, sizeof(ps), &a->top_ps));
	EXPECT_PART(site_upload(c, site, temperatures, sizeof(temperatures),
				&a->temperatures));
}

static void make_changes(struct contract *c, struct site *site,
			 struct accepting *a)
{
	enum { N = MOST * POSITIONS };
	static const uint32_t zeros[SITE_ROWS * ALL];
	static int32_t ids[N * BIASES];
	static float biases[N * BIASES];
	void *memory[2];

	for (uint32_t i = 0; i < N * BIASES; i++) {
		ids[i] = (int32_t)(i % BIASES * 30 + site_below(69, i, 30));
		biases[i] = (float)((int)site_below(70, i, 64) - 32) / 8;
	}
	EXPECT_PART(
		tokens_make_history(c, site, ALL, zeros, zeros, &a->history));
	EXPECT_PART(site_upload(c, site, ids, sizeof(ids), &memory[0]));
	EXPECT_PART(site_upload(c, site, biases, sizeof(biases), &memory[1]));
	a->penalties =
		(struct philox_penalty_desc){.size = sizeof(a->penalties),
					     .history = &a->history,
					     .repetition = 1.25,
					     .frequency = 2,
					     .presence = 0.25};
	a->bias = (struct philox_bias_desc){.size = sizeof(a->bias),
					    .ids = memory[0],
					    .biases = memory[1],
					    .count = BIASES};
}

static void make_accepting(struct contract *c, struct site *site,
			   struct accepting *a)
{
	*a = (struct accepting){.target = {.size = sizeof(a->target),
					   .vocab = COLUMNS,
					   .pitch = COLUMNS,
					   .first = FIRST,
					   .temperature = 0.8}};
	EXPECT_PART(make_entries(c, site, &a->list));
	for (int i = 0; i < KINDS; i++) {
		EXPECT_PART(
			make_logits(c, site, dtypes[i], 0, &a->of_target[i]));
		EXPECT_PART(
			make_logits(c, site, dtypes[i], 1, &a->of_draft[i]));
	}
	EXPECT_PART(make_drafts(c, site, &a->accept));
	EXPECT_PART(make_values(c, site, a));
	EXPECT_PART(make_changes(c, site, a));
	a->draft = a->target;
	a->accept.target = &a->target;
}

/* One shape in five has long rows, and one many entries; they share logits. */
static void choose_shape(struct accepting *a, uint32_t k)
{
	static const uint32_t counts[] = {FEW, ENTRIES, ENTRIES, MOST, ENTRIES};
	static const uint32_t columns[] = {LONG, COLUMNS, COLUMNS, SHORT,
					   COLUMNS};

	a->list.count = counts[k % 5];
	a->target.vocab = a->draft.vocab = columns[k % 5];
	a->target.pitch = a->draft.pitch = columns[k % 5];
}

/* All dtypes, point masses, and what a sample may have. */
static void choose_accepted(struct accepting *a, uint32_t k)
{
	const int filtered = k % 4 == 1 || k % 4 == 2;

	choose_shape(a, k);
	a->target.dtype = a->draft.dtype = dtypes[k % KINDS];
	a->target.logits = a->of_target[k % KINDS];
	a->draft.logits = a->of_draft[k % KINDS];
	a->accept.draft = k % 4 == 3 ? NULL : &a->draft;
	a->target.filters =
		filtered ? PHILOX_FILTER_TOP_K | PHILOX_FILTER_TOP_P : 0;
	a->target.filter_order = filtered ? k % 3 : 0;
	a->target.top_ks = filtered ? a->top_ks : NULL;
	a->target.top_ps = filtered ? a->top_ps : NULL;
	a->target.temperatures = k > 5 ? a->temperatures : NULL;
	a->target.allowed = k % 5 == 3 ? a->allowed : NULL;
	a->target.allowed_pitch = k % 5 == 3 ? WORDS : 0;
	a->target.penalties = k > 7 && k % 5 ? &a->penalties : NULL;
	a->target.bias = k % 3 ? NULL : &a->bias;
	a->draft.bias = k % 4 < 2 ? &a->bias : NULL;
	a->draft.temperature = k == 4 ? 0 : 1.1;
	a->draft.penalties = k > 8 && k % 5 ? &a->penalties : NULL;
	a->draft.filters = k % 2 ? PHILOX_FILTER_TOP_K : 0;
	a->draft.top_k = k % 2 ? 50 : 0;
}

static enum philox_status put_accepted(struct site *site, const void *work)
{
	const struct accepting *a = work;
	const struct philox_token_list tokens = {.size = sizeof(tokens),
						 .tokens = a->accept.tokens,
						 .pitch = POSITIONS,
						 .counts = a->accept.counts,
						 .count = POSITIONS};
	enum philox_status status = philox_rows_accept(site->rows, site->stream,
						       &a->list, &a->accept);

	if (status == PHILOX_OK)
		status = philox_rows_advance_by(site->rows, site->stream,
						&a->list, 4, a->accept.counts);
	return status == PHILOX_OK
		       ? philox_history_add(site->device, site->stream,
					    &a->history, &a->list, &tokens)
		       : status;
}

static void note_accepted(struct contract *c, struct site *site,
			  const struct accepting *a)
{
	EXPECT_PART(site_note_memory(c, site, a->accept.tokens,
				     MOST * POSITIONS * 4));
	EXPECT_PART(site_note_memory(c, site, a->accept.counts, MOST * 4));
	EXPECT_PART(site_note_states(c, site));
}

static void accept_drafts(struct contract *c, struct site *site)
{
	struct accepting a;

	EXPECT_PART(make_accepting(c, site, &a));
	for (uint32_t k = 0; k < 12; k++) {
		choose_accepted(&a, k);
		EXPECT_OK(put_accepted(site, &a));
		EXPECT_PART(note_accepted(c, site, &a));
	}
}

static void replay_accepted(struct contract *c, struct site *site)
{
	struct accepting a;

	EXPECT_PART(make_accepting(c, site, &a));
	choose_accepted(&a, 9);
	EXPECT_PART(site_replay(c, site, put_accepted, &a, 3));
	EXPECT_PART(note_accepted(c, site, &a));
}

/* --- bodies --------------------------------------------------------------- */

/* Draws the shares that the target keeps at each position. */
static enum philox_status put_accepted_shares(struct site *site,
					      const void *work)
{
	const struct accepting *a = work;
	const struct philox_row_fill_desc shares = {.size = sizeof(shares),
						    .dist = PHILOX_DIST_UNIFORM,
						    .dtype = PHILOX_DTYPE_F32,
						    .count = POSITIONS,
						    .pitch = POSITIONS,
						    .out = a->top_ps};

	return philox_rows_fill(site->rows, site->stream, &a->list, &shares);
}

/* Other temperatures, and other entries without a last draft. */
static void change_accepted(struct contract *c, struct site *site,
			    const void *work, uint32_t launch)
{
	enum { N = ENTRIES * POSITIONS };
	const struct accepting *a = work;
	float temperatures[N];
	int32_t drafts[ENTRIES * DRAFTS];

	for (uint32_t i = 0; i < N; i++)
		temperatures[i] = (float)site_below(73, i + launch * N, 5) / 2;
	for (uint32_t i = 0; i < ENTRIES * DRAFTS; i++)
		drafts[i] = (i + launch) % (DRAFTS * 2) == DRAFTS - 1
				    ? -1
				    : draft_of(i / DRAFTS, i % DRAFTS);
	EXPECT_OK(philox_memory_copy(site->device, site->stream,
				     a->temperatures, temperatures,
				     sizeof(temperatures)));
	EXPECT_OK(philox_memory_copy(site->device, site->stream,
				     (void *)(uintptr_t)a->accept.drafts,
				     drafts, sizeof(drafts)));
	EXPECT_OK(philox_stream_synchronize(site->device, site->stream));
}

static void note_launch(struct contract *c, struct site *site, const void *work)
{
	const struct accepting *a = work;

	EXPECT_PART(note_accepted(c, site, a));
	EXPECT_PART(site_note_memory(c, site, a->history.counts,
				     SITE_ROWS * ALL * 4));
}

/* Each run draws the shares, and accepts and notes tokens if it is picked. */
static void accept_in_bodies(struct contract *c, struct site *site)
{
	struct accepting a;

	EXPECT_PART(make_accepting(c, site, &a));
	choose_accepted(&a, 9);
	EXPECT_PART(
		site_run_loop(c, site,
			      &(struct site_loop){.each = put_accepted_shares,
						  .some = put_accepted,
						  .change = change_accepted,
						  .note = note_launch,
						  .work = &a}));
}

const struct contract_check contract_accept[] = {
	{"drafts are accepted as on the host", .on_both = accept_drafts},
	{"replays accept drafts as eager calls would",
	 .on_both = replay_accepted},
	{"a branch in a loop accepts drafts by what each run drew before",
	 .on_both = accept_in_bodies},
	{0},
};
