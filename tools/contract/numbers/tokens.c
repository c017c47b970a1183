/*
 * tools/contract/numbers/tokens.c - checks that a device's tokens are the
 * host's
 */
#include <stdlib.h>
#include "tools/contract/numbers/tokens.h"

/* --- tokens --------------------------------------------------------------- */

/* Random bits with exponents near 0, in 32 or twice 16; some rows are odd. */
void tokens_make_logits(uint32_t *logits, uint32_t random, uint32_t exponent)
{
	for (uint32_t i = 0; i < LOGIT_ROWS * LOGITS; i++)
		logits[i] = (site_word(4, i) & random) + exponent;
	for (uint32_t i = 0; i < LOGITS; i++) {
		logits[i] = 0xff800000u;              /* all -inf */
		logits[LOGITS + i] = site_word(5, i); /* NaN among them */
		logits[2 * LOGITS + i] = i << 31;     /* 0 and -0 */
		if (i % 1000 == 999)                  /* large */
			logits[3 * LOGITS + i] |= 0x7f000000u;
	}
	logits[4 * LOGITS + 3001] = 0x7f800000u; /* +inf, twice */
	logits[4 * LOGITS + 3007] = 0x7f800000u;
}

void tokens_make_history(struct contract *c, struct site *site, uint32_t vocab,
			 const uint32_t *counts, const uint32_t *seen,
			 struct philox_history *history)
{
	const uint32_t words = (vocab + 31) / 32;
	void *memory[2];

	EXPECT_PART(site_upload(c, site, counts,
				(size_t)SITE_ROWS * vocab * sizeof(*counts),
				&memory[0]));
	EXPECT_PART(site_upload(c, site, seen,
				(size_t)SITE_ROWS * words * sizeof(*seen),
				&memory[1]));
	*history = (struct philox_history){.size = sizeof(*history),
					   .counts = memory[0],
					   .counts_pitch = vocab,
					   .seen = memory[1],
					   .seen_pitch = words,
					   .rows = SITE_ROWS,
					   .vocab = vocab};
}

void tokens_put_logit(void *to, uint32_t i, enum philox_dtype dtype, float x)
{
	if (dtype == PHILOX_DTYPE_F32)
		((float *)to)[i] = x;
	else if (dtype == PHILOX_DTYPE_BF16)
		((uint16_t *)to)[i] = philox_number_to_bf16(x);
	else
		((uint16_t *)to)[i] = philox_f32_to_f16(x);
}

/*
 * Lists of LOGIT_ROWS entries: rows occur twice, do not exist, are used up, are
 * masked; lists of few entries, which many blocks share; and of MANY, with rows
 * of logits as long as there is room for.
 */
static const struct batch {
	uint32_t n;
	int listed; /* by indices and mask */
	uint32_t vocab;
} batches[] = {{LOGIT_ROWS, 0, LOGITS}, {LOGIT_ROWS, 1, LOGITS},
	       {3, 1, LOGITS},          {1, 0, LOGITS},
	       {LOGIT_ROWS, 1, 97},     {MANY, 1, LOGIT_ROWS *LOGITS / MANY}};

void tokens_make_batch(struct contract *c, struct site *site,
		       struct philox_row_list *list)
{
	uint32_t indices[MANY];
	uint8_t mask[MANY];
	void *memory[2];

	for (uint32_t i = 0; i < MANY; i++) {
		indices[i] = i % 3 ? site_word(6, i) % (SITE_ROWS + 4)
				   : 5 + i % 2 * 6;
		mask[i] = i % 7 != 1;
	}
	EXPECT_PART(site_upload(c, site, indices, sizeof(indices), &memory[0]));
	EXPECT_PART(site_upload(c, site, mask, sizeof(mask), &memory[1]));
	*list = (struct philox_row_list){.size = sizeof(*list),
					 .indices = memory[0],
					 .mask = memory[1],
					 .count = MANY};
}

void tokens_note(struct contract *c, struct site *site,
		 const struct philox_sample_desc *sample)
{
	EXPECT_PART(site_note_memory(c, site, sample->keys, MANY * 8));
	EXPECT_PART(site_note_memory(c, site, sample->tokens, MANY * 4));
	EXPECT_PART(site_note_states(c, site));
}

static void sample_some(struct contract *c, struct site *site,
			const struct philox_row_list *all,
			struct philox_sample_desc *sample, size_t size)
{
	for (size_t k = 0; k < sizeof(batches) / sizeof(batches[0]); k++) {
		struct philox_row_list list = {.size = sizeof(list),
					       .count = batches[k].n};

		if (batches[k].listed) {
			list.indices = all->indices;
			list.mask = all->mask;
		}
		/* other columns and addresses from launch to launch */
		sample->first = (uint32_t)k * 7;
		sample->vocab = batches[k].vocab - (uint32_t)k;
		sample->pitch = batches[k].vocab + (size == 2 ? 3 : 0);
		EXPECT_OK(philox_sample_rows(site->rows, site->stream, &list,
					     sample));
		EXPECT_PART(tokens_note(c, site, sample));
		sample->logits = (const char *)sample->logits + size;
	}
}

static void sample_all(struct contract *c, struct site *site)
{
	static const double temperatures[] = {1, 0.3, 0, 20};
	static uint32_t bits[LOGIT_ROWS * LOGITS];
	struct philox_sample_desc sample = {.size = sizeof(sample)};
	void *of_32, *of_16, *keys, *tokens;
	struct philox_row_list all;

	EXPECT_PART(tokens_make_batch(c, site, &all));
	EXPECT_PART(site_allocate(c, site, MANY * 8, &keys));
	EXPECT_PART(site_allocate(c, site, MANY * 4, &tokens));
	sample.keys = keys;
	sample.tokens = tokens;
	tokens_make_logits(bits, 0x80ffffffu, 0x3f800000u);
	EXPECT_PART(site_upload(c, site, bits, sizeof(bits), &of_32));
	tokens_make_logits(bits, 0x80ff80ffu, 0x3f803f80u);
	EXPECT_PART(site_upload(c, site, bits, sizeof(bits), &of_16));
	for (size_t i = 0; i < 4; i++) {
		sample.temperature = temperatures[i];
		sample.logits = of_32;
		sample.dtype = PHILOX_DTYPE_F32;
		EXPECT_PART(sample_some(c, site, &all, &sample, 4));
		sample.logits = of_16;
		sample.dtype = PHILOX_DTYPE_BF16;
		EXPECT_PART(sample_some(c, site, &all, &sample, 2));
		sample.logits = of_16;
		sample.dtype = PHILOX_DTYPE_F16;
		EXPECT_PART(sample_some(c, site, &all, &sample, 2));
	}
}

/* Columns whose words are below 256 (philox/draw.h), of a vocabulary's part. */
static void sample_small(struct contract *c, struct site *site)
{
	static const struct philox_state states[] = {
		{0x0123456789abcdef, 4096}, {0, 0}, {0x0123456789abcdef, 4096}};
	static const uint32_t columns[] = {39894912, 41030319, 37494257};
	static uint32_t bits[LOGIT_ROWS * LOGITS];
	struct philox_sample_desc sample = {.size = sizeof(sample),
					    .dtype = PHILOX_DTYPE_F32,
					    .vocab = LOGITS,
					    .pitch = LOGITS,
					    .temperature = 1};
	void *of_states, *logits, *keys, *tokens;

	tokens_make_logits(bits, 0x80ffffffu, 0x3f800000u);
	EXPECT_PART(site_upload(c, site, states, sizeof(states), &of_states));
	EXPECT_PART(site_upload(c, site, bits, sizeof(bits), &logits));
	EXPECT_PART(site_allocate(c, site, MANY * 8, &keys));
	EXPECT_PART(site_allocate(c, site, MANY * 4, &tokens));
	sample.logits = (const char *)logits + 5 * LOGITS * sizeof(bits[0]);
	sample.keys = keys;
	sample.tokens = tokens;
	for (uint32_t k = 0; k < 3; k++) {
		sample.first = columns[k] - 3000 - k;
		EXPECT_OK(philox_sample_states(site->device, site->stream,
					       of_states, 3, &sample));
		EXPECT_PART(tokens_note(c, site, &sample));
	}
}

/* Masks of random bits, for each entry and for all; a NaN is left out. */
static void sample_masked(struct contract *c, struct site *site)
{
	enum { WORDS = (LOGITS + 31 + 9) / 32 };
	static uint32_t bits[LOGIT_ROWS * LOGITS], masks[MANY * WORDS];
	struct philox_sample_desc sample = {.size = sizeof(sample),
					    .dtype = PHILOX_DTYPE_F32,
					    .first = 9,
					    .temperature = 0.8};
	void *logits, *allowed, *keys, *tokens;
	struct philox_row_list list;

	tokens_make_logits(bits, 0x80ffffffu, 0x3f800000u);
	bits[7 * LOGITS] = 0x7fc00000u;
	for (uint32_t i = 0; i < MANY * WORDS; i++)
		masks[i] = site_word(11, i) & site_word(12, i % 7) &
			   (i % WORDS ? 0xffffffffu : ~(1u << 9));
	EXPECT_PART(site_upload(c, site, bits, sizeof(bits), &logits));
	EXPECT_PART(site_upload(c, site, masks, sizeof(masks), &allowed));
	EXPECT_PART(tokens_make_batch(c, site, &list));
	EXPECT_PART(site_allocate(c, site, MANY * 8, &keys));
	EXPECT_PART(site_allocate(c, site, MANY * 4, &tokens));
	sample.logits = logits;
	sample.allowed = allowed;
	sample.keys = keys;
	sample.tokens = tokens;
	for (uint32_t k = 0; k < 4; k++) {
		list.count = k % 2 ? LOGIT_ROWS : 9;
		sample.vocab = k % 2 ? 4001 : LOGITS;
		sample.pitch = sample.vocab;
		sample.allowed_pitch = k < 2 ? WORDS : 0;
		EXPECT_OK(philox_sample_rows(site->rows, site->stream, &list,
					     &sample));
		EXPECT_PART(tokens_note(c, site, &sample));
		sample.temperature = k ? 0 : 1.5;
	}
}

/* --- replays -------------------------------------------------------------- */

struct samples {
	struct philox_row_list list;
	struct philox_sample_desc sample;
};

static enum philox_status put_samples(struct site *site, const void *work)
{
	const struct samples *samples = work;

	return philox_sample_rows(site->rows, site->stream, &samples->list,
				  &samples->sample);
}

/* Few entries, so that blocks share them. */
static void replay_samples(struct contract *c, struct site *site)
{
	static uint32_t bits[LOGIT_ROWS * LOGITS];
	struct samples work = {.sample = {.size = sizeof(work.sample),
					  .dtype = PHILOX_DTYPE_F32,
					  .vocab = LOGITS,
					  .pitch = LOGITS,
					  .temperature = 0.8}};
	void *logits, *keys, *tokens;

	tokens_make_logits(bits, 0x80ffffffu, 0x3f800000u);
	EXPECT_PART(site_upload(c, site, bits, sizeof(bits), &logits));
	EXPECT_PART(tokens_make_batch(c, site, &work.list));
	EXPECT_PART(site_allocate(c, site, MANY * 8, &keys));
	EXPECT_PART(site_allocate(c, site, MANY * 4, &tokens));
	work.list.count = 6;
	work.sample.logits = logits;
	work.sample.keys = keys;
	work.sample.tokens = tokens;
	EXPECT_PART(site_replay(c, site, put_samples, &work, 1));
	EXPECT_PART(tokens_note(c, site, &work.sample));
}

/* --- tokens of seeds, and at steps ---------------------------------------- */

enum { VOCAB_OF_SEEDS = 1300 };

static void make_seeds(struct contract *c, struct site *site,
		       struct philox_seed_list *slots)
{
	uint64_t seeds[SITE_ROWS];
	uint32_t positions[SITE_ROWS];
	void *memory[2];

	for (uint32_t i = 0; i < SITE_ROWS; i++) {
		seeds[i] = site_word(9, i) * (uint64_t)0x100000001;
		positions[i] = i % 5 ? site_word(10, i) : UINT32_MAX - i;
	}
	EXPECT_PART(site_upload(c, site, seeds, sizeof(seeds), &memory[0]));
	EXPECT_PART(
		site_upload(c, site, positions, sizeof(positions), &memory[1]));
	*slots = (struct philox_seed_list){.size = sizeof(*slots),
					   .seeds = memory[0],
					   .positions = memory[1],
					   .count = SITE_ROWS};
}

/* Few entries, which blocks share where there is a table, and MANY. */
static void sample_seeds(struct contract *c, struct site *site)
{
	static uint32_t bits[LOGIT_ROWS * LOGITS];
	struct philox_sample_desc sample = {.size = sizeof(sample),
					    .dtype = PHILOX_DTYPE_F32,
					    .vocab = VOCAB_OF_SEEDS,
					    .pitch = VOCAB_OF_SEEDS,
					    .temperature = 0.7};
	struct philox_seed_list slots;
	struct philox_row_list list;
	uint32_t *steps, *unused;
	void *logits, *keys, *tokens;

	tokens_make_logits(bits, 0x80ffffffu, 0x3f800000u);
	EXPECT_PART(site_upload(c, site, bits, sizeof(bits), &logits));
	EXPECT_PART(make_seeds(c, site, &slots));
	EXPECT_PART(tokens_make_batch(c, site, &list));
	EXPECT_PART(site_make_steps(c, site, MANY, &steps, &unused));
	EXPECT_PART(site_allocate(c, site, MANY * 8, &keys));
	EXPECT_PART(site_allocate(c, site, MANY * 4, &tokens));
	sample.logits = logits;
	sample.keys = keys;
	sample.tokens = tokens;
	list.steps = steps;
	for (list.count = 3; list.count <= MANY; list.count += MANY - 3) {
		sample.flags = 0;
		EXPECT_OK(philox_sample_seeds(site->device, site->stream,
					      &slots, &list, &sample));
		EXPECT_PART(tokens_note(c, site, &sample));
		sample.flags = PHILOX_ROWS_KEEP;
		EXPECT_OK(philox_sample_rows(site->rows, site->stream, &list,
					     &sample));
		EXPECT_PART(tokens_note(c, site, &sample));
	}
}

const struct contract_check contract_tokens[] = {
	{"sampled tokens and their scores are the host's",
	 .on_both = sample_all},
	{"columns with small words are sampled as on the host",
	 .on_both = sample_small},
	{"masked tokens are not sampled, as on the host",
	 .on_both = sample_masked},
	{"replays sample what eager calls would", .on_both = replay_samples},
	{"tokens of seeds, and at steps, are the host's",
	 .on_both = sample_seeds},
	{0},
};
