/*
 * tools/contract/numbers/tokens.c - checks that a device's tokens are the
 * host's
 */
#include <stdlib.h>
#include "tools/contract/numbers/numbers.h"

enum {
	LOGIT_ROWS = 40,
	LOGITS = 7001, /* not a round number */
	MANY = 130     /* entries with at most a block each */
};

/* --- tokens --------------------------------------------------------------- */

/* Random bits with exponents near 0, in 32 or twice 16; some rows are odd. */
static void make_logits(uint32_t *logits, uint32_t random, uint32_t exponent)
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

static void make_batch(struct contract *c, struct site *site,
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

static void note_tokens(struct contract *c, struct site *site,
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
		EXPECT_PART(note_tokens(c, site, sample));
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

	EXPECT_PART(make_batch(c, site, &all));
	EXPECT_PART(site_allocate(c, site, MANY * 8, &keys));
	EXPECT_PART(site_allocate(c, site, MANY * 4, &tokens));
	sample.keys = keys;
	sample.tokens = tokens;
	make_logits(bits, 0x80ffffffu, 0x3f800000u);
	EXPECT_PART(site_upload(c, site, bits, sizeof(bits), &of_32));
	make_logits(bits, 0x80ff80ffu, 0x3f803f80u);
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

	make_logits(bits, 0x80ffffffu, 0x3f800000u);
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
		EXPECT_PART(note_tokens(c, site, &sample));
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

	make_logits(bits, 0x80ffffffu, 0x3f800000u);
	bits[7 * LOGITS] = 0x7fc00000u;
	for (uint32_t i = 0; i < MANY * WORDS; i++)
		masks[i] = site_word(11, i) & site_word(12, i % 7) &
			   (i % WORDS ? 0xffffffffu : ~(1u << 9));
	EXPECT_PART(site_upload(c, site, bits, sizeof(bits), &logits));
	EXPECT_PART(site_upload(c, site, masks, sizeof(masks), &allowed));
	EXPECT_PART(make_batch(c, site, &list));
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
		EXPECT_PART(note_tokens(c, site, &sample));
		sample.temperature = k ? 0 : 1.5;
	}
}

/* --- filters -------------------------------------------------------------- */

enum { KEPT = 900 }; /* indices of an entry that are kept, at most */

static void note_kept(struct contract *c, struct site *site,
		      const struct philox_sample_desc *sample)
{
	EXPECT_PART(site_note_memory(c, site, sample->cuts, MANY * 8));
	EXPECT_PART(site_note_memory(c, site, sample->kept_counts, MANY * 4));
	EXPECT_PART(site_note_memory(c, site, sample->kept, MANY * KEPT * 4));
}

/* Parameters of each entry; some entries are greedy, or keep all, or are bad. */
static void make_filters(struct contract *c, struct site *site,
			 struct philox_sample_desc *sample)
{
	static const uint32_t ks[] = {0, 1, 40, 700, 3000, 0xffffffffu};
	static const float temperatures[] = {1, 2, 0, 0.05f, 8, -1, 20};
	static const float ps[] = {1, 0, 0.5f, 0.9f, 0.7f, 0.3f, 2};
	static const float ms[] = {0, 0.05f, 0.3f, 0, 0.6f};
	uint32_t k[MANY];
	float t[MANY], p[MANY], m[MANY];
	void *memory[7];

	for (uint32_t i = 0; i < MANY; i++) {
		k[i] = ks[site_word(21, i) % 6];
		t[i] = temperatures[site_word(22, i) % 7];
		p[i] = ps[site_word(23, i) % 7];
		m[i] = ms[site_word(24, i) % 5];
		if (i % 8)
			continue;
		/* each keeps less than the one before, with a mask or without */
		t[i] = 20;
		k[i] = i % 32 ? 1500 : 3000;
		m[i] = 0.8f;
		p[i] = 0.5f;
	}
	EXPECT_PART(site_upload(c, site, k, sizeof(k), &memory[0]));
	EXPECT_PART(site_upload(c, site, t, sizeof(t), &memory[1]));
	EXPECT_PART(site_upload(c, site, p, sizeof(p), &memory[2]));
	EXPECT_PART(site_upload(c, site, m, sizeof(m), &memory[3]));
	EXPECT_PART(site_allocate(c, site, MANY * 8, &memory[4]));
	EXPECT_PART(site_allocate(c, site, MANY * 4, &memory[5]));
	EXPECT_PART(site_allocate(c, site, MANY * KEPT * 4, &memory[6]));
	sample->top_ks = memory[0];
	sample->temperatures = memory[1];
	sample->top_ps = memory[2];
	sample->min_ps = memory[3];
	sample->cuts = memory[4];
	sample->kept_counts = memory[5];
	sample->kept = memory[6];
	sample->kept_pitch = KEPT;
	sample->filters =
		PHILOX_FILTER_TOP_K | PHILOX_FILTER_TOP_P | PHILOX_FILTER_MIN_P;
}

/* Some entry of the three calls keeps another set in each order of filters. */
static void orders_differ(struct contract *c, struct site *site,
			  const struct philox_sample_desc *sample, uint32_t n,
			  uint64_t cuts[3][MANY])
{
	uint32_t others = 0;

	EXPECT_OK(philox_memory_copy(site->device, site->stream,
				     cuts[sample->filter_order], sample->cuts,
				     n * 8));
	EXPECT_OK(philox_stream_synchronize(site->device, site->stream));
	for (uint32_t i = 0; i < n && sample->filter_order == 2; i++)
		others += cuts[0][i] != cuts[1][i] && cuts[1][i] != cuts[2][i];
	EXPECT(sample->filter_order < 2 || others > 0);
}

/* Filters of all entries, in each order, with a mask at times. */
static void sample_in_orders(struct contract *c, struct site *site,
			     struct philox_sample_desc *sample,
			     const struct philox_row_list *list,
			     const uint32_t *allowed)
{
	uint64_t cuts[3][MANY];

	for (uint32_t order = 0; order < 3; order++) {
		sample->filter_order = order;
		sample->flags = order < 2 ? PHILOX_ROWS_KEEP : 0;
		sample->allowed =
			sample->dtype == PHILOX_DTYPE_BF16 ? allowed : NULL;
		EXPECT_OK(philox_sample_rows(site->rows, site->stream, list,
					     sample));
		EXPECT_PART(note_tokens(c, site, sample));
		EXPECT_PART(note_kept(c, site, sample));
		EXPECT_PART(orders_differ(c, site, sample, list->count, cuts));
	}
}

/* Logits from -8 to 8: of few values, many equal, for the 16-bit types. */
static void make_even_logits(void *to, enum philox_dtype dtype)
{
	for (uint32_t i = 0; i < LOGIT_ROWS * LOGITS; i++) {
		const uint32_t w = site_word(25, i);
		const float x = (float)(int)(w >> 8) * 0x1p-20f - 8;

		if (dtype == PHILOX_DTYPE_F32)
			((float *)to)[i] = x;
		else if (dtype == PHILOX_DTYPE_BF16)
			((uint16_t *)to)[i] = philox_number_to_bf16(x);
		else
			((uint16_t *)to)[i] = philox_f32_to_f16(x);
	}
}

static void sample_filtered(struct contract *c, struct site *site)
{
	static const enum philox_dtype dtypes[] = {
		PHILOX_DTYPE_F32, PHILOX_DTYPE_BF16, PHILOX_DTYPE_F16};
	enum { WORDS = LOGITS / 32 + 2 };
	static float x[LOGIT_ROWS * LOGITS];
	static uint32_t masks[WORDS];
	struct philox_sample_desc sample = {.size = sizeof(sample),
					    .vocab = LOGITS - 4,
					    .first = 13,
					    .pitch = LOGITS};
	void *logits, *allowed, *keys, *tokens;
	struct philox_row_list list;

	for (uint32_t i = 0; i < WORDS; i++)
		masks[i] = site_word(26, i);
	EXPECT_PART(site_upload(c, site, masks, sizeof(masks), &allowed));
	EXPECT_PART(site_allocate(c, site, sizeof(x), &logits));
	EXPECT_PART(make_batch(c, site, &list));
	EXPECT_PART(site_allocate(c, site, MANY * 8, &keys));
	EXPECT_PART(site_allocate(c, site, MANY * 4, &tokens));
	EXPECT_PART(make_filters(c, site, &sample));
	sample.keys = keys;
	sample.tokens = tokens;
	list.count = LOGIT_ROWS;
	for (uint32_t i = 0; i < 3; i++) {
		make_even_logits(x, dtypes[i]);
		EXPECT_OK(philox_memory_copy(site->device, site->stream, logits,
					     x, sizeof(x)));
		sample.dtype = dtypes[i];
		sample.logits = (const char *)logits + 4 * i;
		EXPECT_PART(sample_in_orders(c, site, &sample, &list, allowed));
	}
}

/* Rows that are all -infinity, infinite, 0 or have a NaN. */
static void sample_odd(struct contract *c, struct site *site)
{
	static uint32_t bits[LOGIT_ROWS * LOGITS];
	struct philox_sample_desc sample = {.size = sizeof(sample),
					    .dtype = PHILOX_DTYPE_F32,
					    .vocab = LOGITS,
					    .pitch = LOGITS};
	void *logits, *tokens;
	struct philox_row_list list;

	make_logits(bits, 0x80ffffffu, 0x3f800000u);
	EXPECT_PART(site_upload(c, site, bits, sizeof(bits), &logits));
	EXPECT_PART(make_batch(c, site, &list));
	EXPECT_PART(site_allocate(c, site, MANY * 4, &tokens));
	EXPECT_PART(make_filters(c, site, &sample));
	list.mask = NULL;
	list.count = 8;
	sample.logits = logits;
	sample.tokens = tokens;
	EXPECT_OK(philox_sample_rows(site->rows, site->stream, &list, &sample));
	EXPECT_PART(note_kept(c, site, &sample));
	EXPECT_PART(site_note_memory(c, site, tokens, MANY * 4));
}

/* --- logprobs ------------------------------------------------------------- */

enum { IDS = 3, TOP = 40, TOP_MAX = 1024 };

/* Room for MANY entries with the fewer, or for few with all. */
static void make_logprobs(struct contract *c, struct site *site,
			  struct philox_logprob_desc *logprobs)
{
	int32_t ids[MANY * IDS];
	void *memory[5];

	for (uint32_t i = 0; i < MANY * IDS; i++)
		ids[i] = (int32_t)(site_word(27, i) % (LOGITS + 40)) - 10;
	EXPECT_PART(site_upload(c, site, ids, sizeof(ids), &memory[0]));
	EXPECT_PART(site_allocate(c, site, MANY * IDS * 4, &memory[1]));
	EXPECT_PART(site_allocate(c, site, MANY * TOP * 4, &memory[2]));
	EXPECT_PART(site_allocate(c, site, MANY * TOP * 4, &memory[3]));
	EXPECT_PART(site_allocate(c, site, MANY * 4, &memory[4]));
	*logprobs = (struct philox_logprob_desc){.size = sizeof(*logprobs),
						 .drawn = memory[4],
						 .ids = memory[0],
						 .of_ids = memory[1],
						 .top = memory[2],
						 .of_top = memory[3],
						 .n_ids = IDS,
						 .n_top = TOP};
}

static void note_logprobs(struct contract *c, struct site *site,
			  const struct philox_logprob_desc *l)
{
	EXPECT_PART(site_note_memory(c, site, l->drawn, MANY * 4));
	EXPECT_PART(site_note_memory(c, site, l->of_ids, MANY * IDS * 4));
	EXPECT_PART(site_note_memory(c, site, l->top, MANY * TOP * 4));
	EXPECT_PART(site_note_memory(c, site, l->of_top, MANY * TOP * 4));
}

/* Of many entries the first few tokens, then of few entries the first many. */
static void sample_with_logprobs(struct contract *c, struct site *site,
				 struct philox_sample_desc *sample,
				 struct philox_row_list *list,
				 struct philox_logprob_desc logprobs[2])
{
	static const uint32_t counts[] = {LOGIT_ROWS, 5}, n[] = {TOP, TOP_MAX};

	sample->logprobs = &logprobs[0];
	sample->raw_logprobs = &logprobs[1];
	for (int i = 0; i < 2; i++) {
		list->count = counts[i];
		logprobs[0].n_top = logprobs[1].n_top = n[i];
		EXPECT_OK(philox_sample_rows(site->rows, site->stream, list,
					     sample));
		EXPECT_PART(note_logprobs(c, site, &logprobs[0]));
		EXPECT_PART(note_logprobs(c, site, &logprobs[1]));
		EXPECT_PART(
			site_note_memory(c, site, sample->tokens, MANY * 4));
	}
}

/* Rows of common logits, with filters and without, and odd ones. */
static void sample_logprobs(struct contract *c, struct site *site)
{
	static const enum philox_dtype dtypes[] = {
		PHILOX_DTYPE_F32, PHILOX_DTYPE_BF16, PHILOX_DTYPE_F16};
	enum { WORDS = LOGITS / 32 + 2 };
	static uint32_t masks[WORDS], bits[LOGIT_ROWS * LOGITS];
	static float x[LOGIT_ROWS * LOGITS];
	struct philox_sample_desc sample = {.size = sizeof(sample),
					    .vocab = LOGITS - 4,
					    .first = 13,
					    .pitch = LOGITS};
	struct philox_logprob_desc logprobs[2];
	void *logits, *allowed, *tokens;
	struct philox_row_list list;

	for (uint32_t i = 0; i < WORDS; i++)
		masks[i] = site_word(26, i);
	EXPECT_PART(site_upload(c, site, masks, sizeof(masks), &allowed));
	EXPECT_PART(site_allocate(c, site, sizeof(x), &logits));
	EXPECT_PART(make_batch(c, site, &list));
	EXPECT_PART(site_allocate(c, site, MANY * 4, &tokens));
	EXPECT_PART(make_filters(c, site, &sample));
	EXPECT_PART(make_logprobs(c, site, &logprobs[0]));
	EXPECT_PART(make_logprobs(c, site, &logprobs[1]));
	sample.tokens = tokens;
	sample.cuts = NULL;
	sample.kept_counts = NULL;
	sample.kept = NULL;
	for (uint32_t i = 0; i < 4; i++) {
		sample.dtype = dtypes[i % 3];
		make_even_logits(x, sample.dtype);
		if (i == 3)
			make_logits(bits, 0x80ffffffu, 0x3f800000u);
		list.mask = i == 3 ? NULL : list.mask;
		EXPECT_OK(philox_memory_copy(site->device, site->stream, logits,
					     i == 3 ? (void *)bits : (void *)x,
					     sizeof(x)));
		sample.logits = (const char *)logits + 4 * (i % 3);
		sample.allowed = i == 1 ? allowed : NULL;
		EXPECT_PART(sample_with_logprobs(c, site, &sample, &list,
						 logprobs));
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

	make_logits(bits, 0x80ffffffu, 0x3f800000u);
	EXPECT_PART(site_upload(c, site, bits, sizeof(bits), &logits));
	EXPECT_PART(make_batch(c, site, &work.list));
	EXPECT_PART(site_allocate(c, site, MANY * 8, &keys));
	EXPECT_PART(site_allocate(c, site, MANY * 4, &tokens));
	work.list.count = 6;
	work.sample.logits = logits;
	work.sample.keys = keys;
	work.sample.tokens = tokens;
	EXPECT_PART(site_replay(c, site, put_samples, &work, 1));
	EXPECT_PART(note_tokens(c, site, &work.sample));
}

/* Each launch draws the shares that its filters keep. */
static enum philox_status put_filtered(struct site *site, const void *work)
{
	const struct samples *samples = work;
	const struct philox_row_fill_desc shares = {
		.size = sizeof(shares),
		.dist = PHILOX_DIST_UNIFORM,
		.dtype = PHILOX_DTYPE_F32,
		.count = 1,
		.pitch = 1,
		.out = (void *)(uintptr_t)samples->sample.top_ps};
	enum philox_status status = philox_rows_fill(site->rows, site->stream,
						     &samples->list, &shares);

	return status == PHILOX_OK
		       ? philox_sample_rows(site->rows, site->stream,
					    &samples->list, &samples->sample)
		       : status;
}

static void replay_filtered(struct contract *c, struct site *site)
{
	static uint32_t bits[LOGIT_ROWS * LOGITS];
	struct samples work = {.sample = {.size = sizeof(work.sample),
					  .dtype = PHILOX_DTYPE_F32,
					  .vocab = 700,
					  .pitch = LOGITS}};
	void *logits, *tokens;

	make_logits(bits, 0x80ffffffu, 0x3f800000u);
	EXPECT_PART(site_upload(c, site, bits, sizeof(bits), &logits));
	EXPECT_PART(make_batch(c, site, &work.list));
	EXPECT_PART(make_filters(c, site, &work.sample));
	EXPECT_PART(site_allocate(c, site, MANY * 4, &tokens));
	work.list.count = 12;
	work.sample.logits = logits;
	work.sample.tokens = tokens;
	EXPECT_PART(site_replay(c, site, put_filtered, &work, 2));
	EXPECT_PART(note_kept(c, site, &work.sample));
	EXPECT_PART(site_note_memory(c, site, tokens, MANY * 4));
	EXPECT_PART(site_note_states(c, site));
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

	make_logits(bits, 0x80ffffffu, 0x3f800000u);
	EXPECT_PART(site_upload(c, site, bits, sizeof(bits), &logits));
	EXPECT_PART(make_seeds(c, site, &slots));
	EXPECT_PART(make_batch(c, site, &list));
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
		EXPECT_PART(note_tokens(c, site, &sample));
		sample.flags = PHILOX_ROWS_KEEP;
		EXPECT_OK(philox_sample_rows(site->rows, site->stream, &list,
					     &sample));
		EXPECT_PART(note_tokens(c, site, &sample));
	}
}

const struct contract_check contract_tokens[] = {
	{"sampled tokens and their scores are the host's",
	 .on_both = sample_all},
	{"columns with small words are sampled as on the host",
	 .on_both = sample_small},
	{"masked tokens are not sampled, as on the host",
	 .on_both = sample_masked},
	{"what filters keep, and what is drawn of it, are the host's",
	 .on_both = sample_filtered},
	{"odd rows are filtered as on the host", .on_both = sample_odd},
	{"logprobs are the host's", .on_both = sample_logprobs},
	{"replays sample what eager calls would", .on_both = replay_samples},
	{"replays filter by what the device wrote before",
	 .on_both = replay_filtered},
	{"tokens of seeds, and at steps, are the host's",
	 .on_both = sample_seeds},
	{0},
};
