/*
 * tools/contract/numbers/filters.c - checks that what a device filters, and its
 * logprobs, are the host's
 */
#include "tools/contract/numbers/tokens.h"

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
		EXPECT_PART(tokens_note(c, site, sample));
		EXPECT_PART(note_kept(c, site, sample));
		EXPECT_PART(orders_differ(c, site, sample, list->count, cuts));
	}
}

/* Logits from -8 to 8: of few values, many equal, for the 16-bit types. */
static void make_even_logits(void *to, enum philox_dtype dtype)
{
	for (uint32_t i = 0; i < LOGIT_ROWS * LOGITS; i++) {
		const uint32_t w = site_word(25, i);

		tokens_put_logit(to, i, dtype,
				 (float)(int)(w >> 8) * 0x1p-20f - 8);
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
	EXPECT_PART(tokens_make_batch(c, site, &list));
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

	tokens_make_logits(bits, 0x80ffffffu, 0x3f800000u);
	EXPECT_PART(site_upload(c, site, bits, sizeof(bits), &logits));
	EXPECT_PART(tokens_make_batch(c, site, &list));
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
	EXPECT_PART(tokens_make_batch(c, site, &list));
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
			tokens_make_logits(bits, 0x80ffffffu, 0x3f800000u);
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

/* --- entries that blocks share -------------------------------------------- */

/* One or two entries, from a later one on. */
static void sample_few(struct contract *c, struct site *site,
		       struct philox_sample_desc sample,
		       struct philox_row_list list, uint32_t from)
{
	list.indices += from;
	list.mask += from;
	list.count = 1 + from % 2;
	sample.top_ks += from;
	sample.top_ps += from;
	sample.min_ps += from;
	sample.temperatures += from;
	sample.filter_order = from % 3;
	EXPECT_OK(philox_sample_rows(site->rows, site->stream, &list, &sample));
	EXPECT_PART(tokens_note(c, site, &sample));
	EXPECT_PART(note_kept(c, site, &sample));
	EXPECT_PART(note_logprobs(c, site, sample.logprobs));
	EXPECT_PART(note_logprobs(c, site, sample.raw_logprobs));
}

/* Rows of common logits, and last odd ones: on a GPU with clusters of blocks. */
static void sample_shared(struct contract *c, struct site *site)
{
	static const enum philox_dtype dtypes[] = {
		PHILOX_DTYPE_BF16, PHILOX_DTYPE_F16, PHILOX_DTYPE_F32};
	enum { VOCAB = 9001, FEW = 14 };
	static uint32_t bits[LOGIT_ROWS * LOGITS];
	struct philox_sample_desc sample = {
		.size = sizeof(sample), .vocab = VOCAB, .first = 6};
	struct philox_logprob_desc logprobs[2];
	void *logits, *keys, *tokens;
	struct philox_row_list list;

	EXPECT_PART(site_allocate(c, site, sizeof(bits), &logits));
	EXPECT_PART(tokens_make_batch(c, site, &list));
	EXPECT_PART(site_allocate(c, site, MANY * 8, &keys));
	EXPECT_PART(site_allocate(c, site, MANY * 4, &tokens));
	EXPECT_PART(make_filters(c, site, &sample));
	EXPECT_PART(make_logprobs(c, site, &logprobs[0]));
	EXPECT_PART(make_logprobs(c, site, &logprobs[1]));
	sample.logits = logits;
	sample.keys = keys;
	sample.tokens = tokens;
	sample.pitch = VOCAB;
	sample.logprobs = &logprobs[0];
	sample.raw_logprobs = &logprobs[1];
	for (uint32_t from = 0; from < FEW; from++) {
		sample.dtype = dtypes[from % 3];
		if (from < FEW / 2)
			make_even_logits(bits, sample.dtype);
		else
			tokens_make_logits(bits, 0x80ffffffu, 0x3f800000u);
		EXPECT_OK(philox_memory_copy(site->device, site->stream, logits,
					     bits, sizeof(bits)));
		EXPECT_PART(sample_few(c, site, sample, list, from));
	}
}

/* --- replays -------------------------------------------------------------- */

struct samples {
	struct philox_row_list list;
	struct philox_sample_desc sample;
};

/* Draws the shares that filters keep. */
static enum philox_status put_shares(struct site *site, const void *work)
{
	const struct samples *samples = work;
	const struct philox_row_fill_desc shares = {
		.size = sizeof(shares),
		.dist = PHILOX_DIST_UNIFORM,
		.dtype = PHILOX_DTYPE_F32,
		.count = 1,
		.pitch = 1,
		.out = (void *)(uintptr_t)samples->sample.top_ps};

	return philox_rows_fill(site->rows, site->stream, &samples->list,
				&shares);
}

static enum philox_status put_kept(struct site *site, const void *work)
{
	const struct samples *samples = work;

	return philox_sample_rows(site->rows, site->stream, &samples->list,
				  &samples->sample);
}

static enum philox_status put_filtered(struct site *site, const void *work)
{
	enum philox_status status = put_shares(site, work);

	return status == PHILOX_OK ? put_kept(site, work) : status;
}

static void replay_filtered(struct contract *c, struct site *site)
{
	static uint32_t bits[LOGIT_ROWS * LOGITS];
	struct samples work = {.sample = {.size = sizeof(work.sample),
					  .dtype = PHILOX_DTYPE_F32,
					  .vocab = 700,
					  .pitch = LOGITS}};
	void *logits, *tokens;

	tokens_make_logits(bits, 0x80ffffffu, 0x3f800000u);
	EXPECT_PART(site_upload(c, site, bits, sizeof(bits), &logits));
	EXPECT_PART(tokens_make_batch(c, site, &work.list));
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

/* --- bodies --------------------------------------------------------------- */

static void note_filtered(struct contract *c, struct site *site,
			  const void *work)
{
	const struct philox_sample_desc *sample =
		&((const struct samples *)work)->sample;

	EXPECT_PART(note_kept(c, site, sample));
	EXPECT_PART(note_logprobs(c, site, sample->logprobs));
	EXPECT_PART(site_note_memory(c, site, sample->tokens, MANY * 4));
	EXPECT_PART(site_note_states(c, site));
}

/* Each run draws the shares of filters, and samples if it is picked. */
static void sample_in_bodies(struct contract *c, struct site *site)
{
	static float x[LOGIT_ROWS * LOGITS];
	struct samples work = {.sample = {.size = sizeof(work.sample),
					  .dtype = PHILOX_DTYPE_F32,
					  .vocab = 700,
					  .pitch = LOGITS}};
	struct philox_logprob_desc logprobs[2];
	void *logits, *tokens;

	make_even_logits(x, PHILOX_DTYPE_F32);
	EXPECT_PART(site_upload(c, site, x, sizeof(x), &logits));
	EXPECT_PART(tokens_make_batch(c, site, &work.list));
	EXPECT_PART(make_filters(c, site, &work.sample));
	EXPECT_PART(make_logprobs(c, site, &logprobs[0]));
	EXPECT_PART(site_allocate(c, site, MANY * 4, &tokens));
	work.list.count = 12;
	work.sample.logits = logits;
	work.sample.tokens = tokens;
	work.sample.logprobs = &logprobs[0];
	EXPECT_PART(site_run_loop(c, site,
				  &(struct site_loop){.each = put_shares,
						      .some = put_kept,
						      .note = note_filtered,
						      .work = &work}));
}

const struct contract_check contract_filters[] = {
	{"what filters keep, and what is drawn of it, are the host's",
	 .on_both = sample_filtered},
	{"odd rows are filtered as on the host", .on_both = sample_odd},
	{"logprobs are the host's", .on_both = sample_logprobs},
	{"entries that several blocks share are filtered as on the host",
	 .on_both = sample_shared},
	{"replays filter by what the device wrote before",
	 .on_both = replay_filtered},
	{"a branch in a loop filters by what each run drew before",
	 .on_both = sample_in_bodies},
	{0},
};
