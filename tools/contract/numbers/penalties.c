/*
 * tools/contract/numbers/penalties.c - checks that biases, penalties and what is
 * noted of tokens are the host's
 */
#include "tools/contract/numbers/tokens.h"

/* Vocabularies of many entries, and of few; of a history. */
enum { SHORT = 3000, LONG = 12000, FIRST = 9, ALL = FIRST + LONG };
enum { WORDS = (ALL + 31) / 32 };
enum { CALLS = 12, FEW_CALLS = 9 };
enum { BIASES = 40, DRAFTS = 5, TOP = 20, PROMPT = 30, KEPT = 300 };

/* A call, and where its history is. */
struct change {
	struct philox_row_list list;
	struct philox_history history;
	struct philox_penalty_desc penalties;
	struct philox_bias_desc bias;
	struct philox_logprob_desc logprobs;
	struct philox_sample_desc sample;
};

/* Rows that have seen nothing. */
static void make_history(struct contract *c, struct site *site,
			 struct philox_history *history)
{
	static const uint32_t zeros[SITE_ROWS * ALL];

	EXPECT_PART(tokens_make_history(c, site, ALL, zeros, zeros, history));
}

static void make_bias(struct contract *c, struct site *site,
		      struct philox_bias_desc *bias)
{
	static int32_t ids[MANY * BIASES];
	static float biases[MANY * BIASES];
	void *memory[2];

	for (uint32_t i = 0; i < MANY * BIASES; i++) {
		const uint32_t entry = i / BIASES, k = i % BIASES;

		/* of some entries few, and all over the vocabulary */
		ids[i] = k < entry ? (int32_t)(k * (LONG / BIASES) +
					       site_below(41, i, LONG / BIASES))
				   : -1 - (int32_t)site_below(42, i, 99);
		biases[i] = (float)((int)site_below(43, i, 64) - 32) / 4;
	}
	EXPECT_PART(site_upload(c, site, ids, sizeof(ids), &memory[0]));
	EXPECT_PART(site_upload(c, site, biases, sizeof(biases), &memory[1]));
	*bias = (struct philox_bias_desc){.size = sizeof(*bias),
					  .ids = memory[0],
					  .biases = memory[1],
					  .count = BIASES};
}

/* Some are out of range. */
static void make_penalties(struct contract *c, struct site *site,
			   struct philox_penalty_desc *penalties)
{
	static const float rs[] = {1.1f, 0, 1, 0.7f, 3, -1, 1.3f};
	static const float fs[] = {0.5f, -0.25f, 0, 0.1f, 3e38f};
	static int32_t drafts[MANY * DRAFTS];
	float r[MANY], f[MANY], p[MANY];
	void *memory[4];

	for (uint32_t i = 0; i < MANY; i++) {
		r[i] = rs[site_below(44, i, 7)];
		f[i] = fs[site_below(45, i, 5)];
		p[i] = (float)site_below(46, i, 9) / 4 - 1;
		for (uint32_t k = 0; k < DRAFTS; k++)
			drafts[i * DRAFTS + k] =
				(int32_t)site_below(47, i * DRAFTS + k, SHORT) -
				(int32_t)(k % 2 * SHORT / 2);
	}
	EXPECT_PART(site_upload(c, site, r, sizeof(r), &memory[0]));
	EXPECT_PART(site_upload(c, site, f, sizeof(f), &memory[1]));
	EXPECT_PART(site_upload(c, site, p, sizeof(p), &memory[2]));
	EXPECT_PART(site_upload(c, site, drafts, sizeof(drafts), &memory[3]));
	*penalties = (struct philox_penalty_desc){.size = sizeof(*penalties),
						  .repetitions = memory[0],
						  .frequencies = memory[1],
						  .presences = memory[2],
						  .drafts = memory[3],
						  .n_drafts = DRAFTS};
}

/* A mask of some tokens, which calls take or not. */
static void make_mask(struct contract *c, struct site *site, void **allowed)
{
	static uint32_t mask[MANY * WORDS];

	for (uint32_t i = 0; i < MANY * WORDS; i++)
		mask[i] = site_word(50, i) | site_word(51, i);
	EXPECT_PART(site_upload(c, site, mask, sizeof(mask), allowed));
}

static void make_outputs(struct contract *c, struct site *site,
			 struct change *change)
{
	static const size_t sizes[] = {8, 4, 8,       4,      KEPT * 4,
				       4, 4, TOP * 4, TOP * 4};
	enum { OUTPUTS = sizeof(sizes) / sizeof(sizes[0]) };
	void *memory[OUTPUTS];

	for (int i = 0; i < OUTPUTS; i++)
		EXPECT_PART(
			site_allocate(c, site, MANY * sizes[i], &memory[i]));
	change->sample.keys = memory[0];
	change->sample.tokens = memory[1];
	change->sample.cuts = memory[2];
	change->sample.kept_counts = memory[3];
	change->sample.kept = memory[4];
	change->sample.kept_pitch = KEPT;
	change->logprobs =
		(struct philox_logprob_desc){.size = sizeof(change->logprobs),
					     .drawn = memory[5],
					     .ids = change->penalties.drafts,
					     .n_ids = 1,
					     .of_ids = memory[6],
					     .top = memory[7],
					     .of_top = memory[8],
					     .n_top = TOP};
}

static void make_change(struct contract *c, struct site *site,
			struct change *change)
{
	*change = (struct change){.sample = {.size = sizeof(change->sample),
					     .dtype = PHILOX_DTYPE_F32,
					     .vocab = SHORT,
					     .pitch = SHORT,
					     .first = FIRST,
					     .temperature = 0.9}};
	EXPECT_PART(tokens_make_batch(c, site, &change->list));
	EXPECT_PART(make_history(c, site, &change->history));
	EXPECT_PART(make_bias(c, site, &change->bias));
	EXPECT_PART(make_penalties(c, site, &change->penalties));
	EXPECT_PART(make_outputs(c, site, change));
	change->sample.bias = &change->bias;
	change->sample.penalties = &change->penalties;
	change->penalties.history = &change->history;
}

static void note_history(struct contract *c, struct site *site,
			 const struct change *change)
{
	EXPECT_PART(site_note_memory(c, site, change->history.counts,
				     SITE_ROWS * ALL * 4));
	EXPECT_PART(site_note_memory(c, site, change->history.seen,
				     SITE_ROWS * WORDS * 4));
}

static void note_change(struct contract *c, struct site *site,
			const struct change *change)
{
	const struct philox_sample_desc *sample = &change->sample;
	const struct philox_logprob_desc *logprobs = &change->logprobs;

	EXPECT_PART(tokens_note(c, site, sample));
	EXPECT_PART(site_note_memory(c, site, sample->cuts, MANY * 8));
	EXPECT_PART(site_note_memory(c, site, sample->kept_counts, MANY * 4));
	EXPECT_PART(site_note_memory(c, site, sample->kept, MANY * KEPT * 4));
	EXPECT_PART(site_note_memory(c, site, logprobs->drawn, MANY * 4));
	EXPECT_PART(site_note_memory(c, site, logprobs->of_ids, MANY * 4));
	EXPECT_PART(site_note_memory(c, site, logprobs->top, MANY * TOP * 4));
	EXPECT_PART(
		site_note_memory(c, site, logprobs->of_top, MANY * TOP * 4));
}

/* Prompts, of which some tokens are none and some entries have few. */
static void note_prompts(struct contract *c, struct site *site,
			 const struct change *change, uint32_t prompt)
{
	static int32_t tokens[MANY * PROMPT];
	uint32_t counts[MANY];
	struct philox_token_list list = {.size = sizeof(list),
					 .pitch = PROMPT,
					 .count = PROMPT - 1,
					 .prompt = prompt};
	void *memory[2];

	for (uint32_t i = 0; i < MANY * PROMPT; i++)
		tokens[i] =
			(int32_t)site_below(48, i, i % 2 ? SHORT : ALL + 200) -
			100;
	for (uint32_t i = 0; i < MANY; i++)
		counts[i] = site_below(49, i, 2 * PROMPT);
	EXPECT_PART(site_upload(c, site, tokens, sizeof(tokens), &memory[0]));
	EXPECT_PART(site_upload(c, site, counts, sizeof(counts), &memory[1]));
	list.tokens = memory[0];
	list.counts = memory[1];
	EXPECT_OK(philox_history_add(site->device, site->stream,
				     &change->history, &change->list, &list));
}

/* All dtypes, with filters and without, few entries, one or two, and many. */
static void choose(struct change *change, uint32_t k, const void *logits,
		   const void *allowed)
{
	static const uint32_t dtypes[] = {PHILOX_DTYPE_F32, PHILOX_DTYPE_BF16,
					  PHILOX_DTYPE_F16};
	struct philox_sample_desc *sample = &change->sample;
	const int is_few = k >= CALLS || k % 4 == 0;

	sample->dtype = dtypes[k % 3];
	sample->logits = logits;
	change->list.count = k >= CALLS ? 1 + k % 2 : is_few ? 7 : 90;
	sample->vocab = (is_few ? LONG : SHORT) - k;
	sample->pitch = is_few ? LONG : SHORT;
	sample->first = FIRST - k % 3;
	sample->filters = k % 2 ? PHILOX_FILTER_TOP_P : PHILOX_FILTER_TOP_K;
	sample->top_p = k % 2 ? 0.95 : 0;
	sample->top_k = k % 2 ? 0 : k % 5 * 100; /* 0: all */
	sample->temperature = k < 8 || k >= CALLS ? 0.9 : 0;
	sample->allowed = k % 5 < 2 ? allowed : NULL;
	sample->allowed_pitch = k % 5 < 2 ? WORDS : 0;
	sample->bias = k % 7 == 3 ? NULL : &change->bias;
	sample->penalties = k % 7 == 4 ? NULL : &change->penalties;
	sample->logprobs = k < 6 || k >= CALLS ? &change->logprobs : NULL;
	sample->raw_logprobs = sample->logprobs ? NULL : &change->logprobs;
	sample->flags = k == 5 ? PHILOX_ROWS_KEEP : 0;
}

/* The entries of a call are those from a later one on. */
static void move_on(struct change *change, uint32_t by)
{
	struct philox_penalty_desc *penalties = &change->penalties;

	change->list.indices += by;
	change->list.mask += by;
	change->bias.ids += by * BIASES;
	change->bias.biases += by * BIASES;
	penalties->repetitions += by;
	penalties->frequencies += by;
	penalties->presences += by;
	penalties->drafts += by * DRAFTS;
}

static void sample_changed(struct contract *c, struct site *site)
{
	static uint32_t bits[LOGIT_ROWS * LOGITS];
	struct change change;
	void *of_32, *of_16, *allowed;

	EXPECT_PART(make_change(c, site, &change));
	EXPECT_PART(make_mask(c, site, &allowed));
	EXPECT_PART(note_prompts(c, site, &change, 1));
	EXPECT_PART(note_prompts(c, site, &change, 0));
	tokens_make_logits(bits, 0x80ffffffu, 0x3f800000u);
	EXPECT_PART(site_upload(c, site, bits, sizeof(bits), &of_32));
	tokens_make_logits(bits, 0x80ff80ffu, 0x3f803f80u);
	EXPECT_PART(site_upload(c, site, bits, sizeof(bits), &of_16));
	for (uint32_t k = 0; k < CALLS + FEW_CALLS; k++) {
		if (k >= CALLS)
			move_on(&change, 5);
		choose(&change, k, k % 3 ? of_16 : of_32, allowed);
		EXPECT_OK(philox_sample_rows(site->rows, site->stream,
					     &change.list, &change.sample));
		EXPECT_PART(note_change(c, site, &change));
	}
	EXPECT_PART(note_history(c, site, &change));
}

static enum philox_status put_changed(struct site *site, const void *work)
{
	const struct change *change = work;

	return philox_sample_rows(site->rows, site->stream, &change->list,
				  &change->sample);
}

/* Each launch sees what the launches before it have noted. */
static void replay_changed(struct contract *c, struct site *site)
{
	static uint32_t bits[LOGIT_ROWS * LOGITS];
	struct change change;
	void *logits;

	EXPECT_PART(make_change(c, site, &change));
	tokens_make_logits(bits, 0x80ffffffu, 0x3f800000u);
	EXPECT_PART(site_upload(c, site, bits, sizeof(bits), &logits));
	change.sample.logits = logits;
	change.sample.logprobs = &change.logprobs;
	change.list.count = 20;
	EXPECT_PART(site_replay(c, site, put_changed, &change, 1));
	EXPECT_PART(note_change(c, site, &change));
	EXPECT_PART(note_history(c, site, &change));
}

const struct contract_check contract_penalties[] = {
	{"penalties, and tokens that are noted, are the host's",
	 .on_both = sample_changed},
	{"replays note and penalise what eager calls would",
	 .on_both = replay_changed},
	{0},
};
