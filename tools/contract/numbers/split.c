/*
 * tools/contract/numbers/split.c - checks that samples of a vocabulary that is
 * split are the host's, and those of one call
 */
#include <stdlib.h>
#include <string.h>
#include <philox/split.h>
#include "tools/contract/numbers/tokens.h"

enum { COLUMNS = 5000, FIRST = 7, ALL = FIRST + COLUMNS, PARTS = 3 };
enum { ENTRIES = 24, WORDS = (ALL + 31) / 32, TOP = 9, IDS = 4 };

/* What a sample writes, in device memory, an array of each. */
struct written {
	uint64_t *keys, *cuts;
	int32_t *tokens, *top[2];
	uint32_t *kept_counts;
	float *drawn[2], *of_ids[2], *of_top[2];
};

struct splitting {
	struct philox_row_list list;
	struct philox_history history;
	struct philox_penalty_desc penalties;
	struct philox_sample_desc sample;
	const int32_t *ids;
	void *logits[3]; /* of each dtype */
	void *work[PARTS];
	struct written written[PARTS + 1];
};

static const enum philox_dtype dtypes[3] = {PHILOX_DTYPE_F32, PHILOX_DTYPE_BF16,
					    PHILOX_DTYPE_F16};

/* --- memory --------------------------------------------------------------- */

/* Some rows are odd. */
static float split_logit(uint32_t i)
{
	const uint32_t row = i / COLUMNS, column = i % COLUMNS;

	if (row == 3)
		return philox_f32_from_bits(0xff800000u);
	if (row == 5 && column == 4000)
		return philox_f32_from_bits(0x7fc00000u);
	if (row == 6 && column % 1200 == 700)
		return philox_f32_from_bits(0x7f800000u);
	return (float)(int)(site_word(81, i) >> 9) * 0x1p-18f - 16;
}

static void make_split_logits(struct contract *c, struct site *site,
			      struct splitting *s)
{
	static float logits[ENTRIES * COLUMNS];

	for (int k = 0; k < 3; k++) {
		for (uint32_t i = 0; i < ENTRIES * COLUMNS; i++)
			tokens_put_logit(logits, i, dtypes[k], split_logit(i));
		EXPECT_PART(site_upload(c, site, logits, sizeof(logits),
					&s->logits[k]));
	}
}

/* One piece of memory for what a sample writes. */
static void make_written(struct contract *c, struct site *site,
			 struct written *to)
{
	const size_t each = 8 * ENTRIES;
	void *memory;
	char *at;

	EXPECT_PART(site_allocate(c, site, each * (16 + 2 * IDS + 4 * TOP),
				  &memory));
	at = memory;
	to->keys = (void *)at;
	to->cuts = (void *)(at += each);
	to->tokens = (void *)(at += each);
	to->kept_counts = (void *)(at += each);
	for (int raw = 0; raw < 2; raw++) {
		to->drawn[raw] = (void *)(at += each);
		to->of_ids[raw] = (void *)(at += each);
		to->top[raw] = (void *)(at += each * IDS);
		to->of_top[raw] = (void *)(at += each * TOP);
		at += each * TOP;
	}
}

static void make_split_history(struct contract *c, struct site *site,
			       struct splitting *s)
{
	static uint32_t counts[SITE_ROWS * ALL], seen[SITE_ROWS * WORDS];

	for (uint32_t i = 0; i < SITE_ROWS * ALL; i++)
		counts[i] = 1 + site_below(82, i, 3);
	for (uint32_t i = 0; i < SITE_ROWS * WORDS; i++)
		seen[i] = site_word(83, i) & site_word(84, i);
	EXPECT_PART(
		tokens_make_history(c, site, ALL, counts, seen, &s->history));
	s->penalties =
		(struct philox_penalty_desc){.size = sizeof(s->penalties),
					     .history = &s->history,
					     .repetition = 1.1,
					     .presence = 0.5};
}

/* Values of entries, of which one is out of range. */
static void make_split_values(struct contract *c, struct site *site,
			      struct splitting *s)
{
	uint32_t ks[ENTRIES];
	float ps[ENTRIES], temperatures[ENTRIES];
	int32_t ids[ENTRIES * IDS];
	void *memory[4];

	for (uint32_t i = 0; i < ENTRIES; i++) {
		ks[i] = site_below(85, i, i % 2 ? 6000 : 60);
		ps[i] = i == 9 ? -1 : (float)(20 - site_below(86, i, 16)) / 20;
		temperatures[i] = (float)site_below(87, i, 5) / 2;
	}
	for (uint32_t i = 0; i < ENTRIES * IDS; i++)
		ids[i] = (int32_t)site_below(88, i, ALL + 20) - 5;
	EXPECT_PART(site_upload(c, site, ks, sizeof(ks), &memory[0]));
	EXPECT_PART(site_upload(c, site, ps, sizeof(ps), &memory[1]));
	EXPECT_PART(site_upload(c, site, temperatures, sizeof(temperatures),
				&memory[2]));
	EXPECT_PART(site_upload(c, site, ids, sizeof(ids), &memory[3]));
	s->sample.top_ks = memory[0];
	s->sample.top_ps = memory[1];
	s->sample.temperatures = memory[2];
	s->ids = memory[3];
}

static void make_splitting(struct contract *c, struct site *site,
			   struct splitting *s)
{
	*s = (struct splitting){.sample = {.size = sizeof(s->sample),
					   .vocab = COLUMNS,
					   .first = FIRST,
					   .pitch = COLUMNS}};
	EXPECT_PART(tokens_make_batch(c, site, &s->list));
	s->list.count = ENTRIES;
	EXPECT_PART(make_split_logits(c, site, s));
	EXPECT_PART(make_split_history(c, site, s));
	EXPECT_PART(make_split_values(c, site, s));
	for (int i = 0; i <= PARTS; i++)
		EXPECT_PART(make_written(c, site, &s->written[i]));
	for (int i = 0; i < PARTS; i++)
		EXPECT_PART(site_allocate(c, site, 1 << 20, &s->work[i]));
}

/* --- calls ---------------------------------------------------------------- */

/* A sample, of a part or of all, and its logprobs. */
struct part {
	struct philox_sample_desc sample;
	struct philox_logprob_desc logprobs[2];
	struct philox_split_desc split;
};

static void describe(const struct splitting *s, uint32_t k, int n,
		     struct part *part)
{
	const struct written *to = &s->written[n];

	for (int raw = 0; raw < 2; raw++)
		part->logprobs[raw] = (struct philox_logprob_desc){
			.size = sizeof(part->logprobs[raw]),
			.drawn = to->drawn[raw],
			.ids = s->ids,
			.of_ids = to->of_ids[raw],
			.n_ids = IDS,
			.top = to->top[raw],
			.of_top = to->of_top[raw],
			.n_top = TOP};
	part->sample = s->sample;
	part->sample.keys = to->keys;
	part->sample.tokens = to->tokens;
	part->sample.cuts = to->cuts;
	part->sample.kept_counts = to->kept_counts;
	part->sample.logprobs = k % 3 ? &part->logprobs[0] : NULL;
	part->sample.raw_logprobs = k % 2 ? &part->logprobs[1] : NULL;
	part->sample.flags = PHILOX_ROWS_KEEP;
}

static void choose_sample(struct splitting *s, uint32_t k)
{
	static const uint32_t filters[] = {
		PHILOX_FILTER_TOP_K | PHILOX_FILTER_TOP_P, PHILOX_FILTER_TOP_P,
		PHILOX_FILTER_TOP_K};
	static const void *top_ks, *top_ps;

	top_ks = s->sample.top_ks ? s->sample.top_ks : top_ks;
	top_ps = s->sample.top_ps ? s->sample.top_ps : top_ps;
	s->sample.dtype = dtypes[k % 3];
	s->sample.logits = s->logits[k % 3];
	s->sample.filters = filters[k % 3];
	s->sample.filter_order = k % 4 % 3;
	s->sample.top_ks = filters[k % 3] & PHILOX_FILTER_TOP_K ? top_ks : NULL;
	s->sample.top_ps = filters[k % 3] & PHILOX_FILTER_TOP_P ? top_ps : NULL;
	s->sample.penalties = k % 2 ? &s->penalties : NULL;
}

/* A part has some columns; the last one advances the rows. */
static void cut_up(const struct splitting *s, uint32_t k, struct part *parts)
{
	static const uint32_t ends[PARTS + 1] = {0, 1203, 1204, COLUMNS};
	const size_t size = s->sample.dtype == PHILOX_DTYPE_F32 ? 4 : 2;

	for (uint32_t i = 0; i < PARTS; i++) {
		describe(s, k, (int)i, &parts[i]);
		parts[i].sample.logits =
			(const char *)s->sample.logits + ends[i] * size;
		parts[i].sample.first = FIRST + ends[i];
		parts[i].sample.vocab = ends[i + 1] - ends[i];
		if (i == PARTS - 1)
			parts[i].sample.flags = 0;
		parts[i].split =
			(struct philox_split_desc){.size = sizeof(parts->split),
						   .sample = &parts[i].sample,
						   .work = s->work[i],
						   .vocab = ALL,
						   .n_parts = PARTS,
						   .part = i};
	}
}

/* --- rounds --------------------------------------------------------------- */

static void copy(struct contract *c, struct site *site, void *to,
		 const void *from, uint64_t n)
{
	EXPECT_OK(philox_memory_copy(site->device, site->stream, to, from,
				     n * 8));
	EXPECT_OK(philox_stream_synchronize(site->device, site->stream));
}

/* Adds numbers of all parts up, or takes the greatest. */
static void combine(struct contract *c, struct site *site,
		    uint64_t *const numbers[PARTS], uint64_t n, int is_sum)
{
	uint64_t *all = calloc(n ? n : 1, 8), *one = calloc(n ? n : 1, 8);

	EXPECT(all && one);
	for (int k = 0; n && k < PARTS; k++) {
		EXPECT_PART(copy(c, site, one, numbers[k], n));
		for (uint64_t i = 0; i < n; i++)
			all[i] = is_sum            ? all[i] + one[i]
				 : one[i] > all[i] ? one[i]
						   : all[i];
	}
	for (int k = 0; n && k < PARTS; k++)
		EXPECT_PART(copy(c, site, numbers[k], all, n));
	free(all);
	free(one);
}

static void do_round(struct contract *c, struct site *site,
		     const struct splitting *s, struct part *parts,
		     struct philox_split_info *info)
{
	uint64_t *sums[PARTS], *maxima[PARTS];

	for (int i = 0; i < PARTS; i++) {
		EXPECT_OK(philox_rows_sample_round(site->rows, site->stream,
						   &s->list, &parts[i].split));
		EXPECT_OK(philox_split_plan(&parts[i].split, ENTRIES, info));
		EXPECT(info->work_bytes <= 1 << 20);
		sums[i] = info->sums;
		maxima[i] = info->maxima;
		parts[i].split.round++;
	}
	EXPECT_PART(combine(c, site, sums, info->n_sums, 1));
	EXPECT_PART(combine(c, site, maxima, info->n_maxima, 0));
}

static void note_written(struct contract *c, struct site *site,
			 const struct written *of)
{
	const size_t size = 8 * ENTRIES * (16 + 2 * IDS + 4 * TOP);

	EXPECT_PART(site_note_memory(c, site, of->keys, size));
}

/* What one call for all columns gives comes first. */
static void sample_split(struct contract *c, struct site *site)
{
	struct philox_split_info info = PHILOX_INIT(struct philox_split_info);
	struct part whole, parts[PARTS];
	struct splitting s;

	EXPECT_PART(make_splitting(c, site, &s));
	for (uint32_t k = 0; k < 6; k++) {
		choose_sample(&s, k);
		describe(&s, k, PARTS, &whole);
		EXPECT_OK(philox_sample_rows(site->rows, site->stream, &s.list,
					     &whole.sample));
		cut_up(&s, k, parts);
		do
			EXPECT_PART(do_round(c, site, &s, parts, &info));
		while (parts[0].split.round < info.n_rounds);
		for (int i = 0; i <= PARTS; i++)
			EXPECT_PART(note_written(c, site, &s.written[i]));
		EXPECT_PART(site_note_states(c, site));
		EXPECT_PART(site_note_memory(c, site, s.history.counts,
					     SITE_ROWS * ALL * 4));
	}
}

/* --- bodies --------------------------------------------------------------- */

/*
 * Bodies have no kernels of ours that add up. So all likely columns are those
 * of one part: the others have 0 everywhere, and copies of its numbers are the
 * sums and maxima. The reference adds up.
 */
struct rounds {
	const struct splitting *of;
	struct part parts[2]
			 [PARTS]; /* as the last part has all, or the first */
	int by_copies;
};

static void combine_here(uint64_t *const numbers[PARTS], uint64_t n, int is_sum)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t all = 0;

		for (int k = 0; k < PARTS; k++)
			all = is_sum                ? all + numbers[k][i]
			      : numbers[k][i] > all ? numbers[k][i]
						    : all;
		for (int k = 0; k < PARTS; k++)
			numbers[k][i] = all;
	}
}

static enum philox_status copy_all(struct site *site,
				   uint64_t *const numbers[PARTS], uint64_t n,
				   int from)
{
	enum philox_status status = PHILOX_OK;

	for (int k = 0; n && k < PARTS && status == PHILOX_OK; k++)
		if (k != from)
			status = philox_memory_copy(site->device, site->stream,
						    numbers[k], numbers[from],
						    n * 8);
	return status;
}

/* Puts a round of all parts, with what is between it and the next. */
static enum philox_status put_round(struct site *site,
				    const struct rounds *rounds, int is_first,
				    uint32_t round,
				    struct philox_split_info *info)
{
	const int from = is_first ? 0 : PARTS - 1;
	uint64_t *sums[PARTS], *maxima[PARTS];
	enum philox_status status = PHILOX_OK;

	for (int k = 0; k < PARTS && status == PHILOX_OK; k++) {
		struct philox_split_desc split =
			rounds->parts[is_first][k].split;

		split.sample = &rounds->parts[is_first][k].sample;
		split.round = round;
		status = philox_rows_sample_round(site->rows, site->stream,
						  &rounds->of->list, &split);
		if (status == PHILOX_OK)
			status = philox_split_plan(&split, ENTRIES, info);
		sums[k] = info->sums;
		maxima[k] = info->maxima;
	}
	if (status == PHILOX_OK && !rounds->by_copies) {
		combine_here(sums, info->n_sums, 1);
		combine_here(maxima, info->n_maxima, 0);
		return PHILOX_OK;
	}
	if (status == PHILOX_OK)
		status = copy_all(site, sums, info->n_sums, from);
	return status == PHILOX_OK
		       ? copy_all(site, maxima, info->n_maxima, from)
		       : status;
}

static enum philox_status put_rounds(struct site *site, const void *work,
				     int is_first)
{
	struct philox_split_info info = PHILOX_INIT(struct philox_split_info);
	enum philox_status status;
	uint32_t round = 0;

	do
		status = put_round(site, work, is_first, round, &info);
	while (status == PHILOX_OK && ++round < info.n_rounds);
	return status;
}

static enum philox_status put_first(struct site *site, const void *work)
{
	return put_rounds(site, work, 1);
}

/* After the shares that filters keep. */
static enum philox_status put_last(struct site *site, const void *work)
{
	const struct splitting *s = ((const struct rounds *)work)->of;
	const struct philox_row_fill_desc shares = {
		.size = sizeof(shares),
		.dist = PHILOX_DIST_UNIFORM,
		.dtype = PHILOX_DTYPE_F32,
		.count = 1,
		.pitch = 1,
		.out = (void *)(uintptr_t)s->sample.top_ps};
	enum philox_status status =
		philox_rows_fill(site->rows, site->stream, &s->list, &shares);

	return status == PHILOX_OK ? put_rounds(site, work, 0) : status;
}

/* Of the columns that are not a part's own, `lowest` is the logits. */
static void cut_for_copies(const struct splitting *s, const void *lowest,
			   struct rounds *rounds)
{
	for (int is_first = 0; is_first < 2; is_first++) {
		struct part *parts = rounds->parts[is_first];

		cut_up(s, 1, parts);
		for (int k = 0; k < PARTS; k++) {
			if (k != (is_first ? 0 : PARTS - 1))
				parts[k].sample.logits = lowest;
			parts[k].sample.penalties = &s->penalties;
			for (int raw = 0; raw < 2; raw++) {
				parts[k].logprobs[raw].ids = NULL;
				parts[k].logprobs[raw].of_ids = NULL;
				parts[k].logprobs[raw].n_ids = 0;
			}
		}
	}
}

static void change_rounds(struct contract *c, struct site *site,
			  const void *work, uint32_t launch)
{
	const struct splitting *s = ((const struct rounds *)work)->of;
	float temperatures[ENTRIES];

	for (uint32_t i = 0; i < ENTRIES; i++)
		temperatures[i] =
			(float)site_below(89, i + launch * ENTRIES, 5) / 2;
	EXPECT_OK(philox_memory_copy(site->device, site->stream,
				     (void *)(uintptr_t)s->sample.temperatures,
				     temperatures, sizeof(temperatures)));
	EXPECT_OK(philox_stream_synchronize(site->device, site->stream));
}

static void note_rounds(struct contract *c, struct site *site, const void *work)
{
	const struct splitting *s = ((const struct rounds *)work)->of;

	for (int i = 0; i < PARTS; i++)
		EXPECT_PART(note_written(c, site, &s->written[i]));
	EXPECT_PART(site_note_states(c, site));
	EXPECT_PART(site_note_memory(c, site, s->history.counts,
				     SITE_ROWS * ALL * 4));
}

static void split_in_bodies(struct contract *c, struct site *site)
{
	static float lowest[ENTRIES * COLUMNS];
	struct splitting s;
	struct rounds rounds = {.of = &s,
				.by_copies = site->device == c->device};
	void *memory;

	for (uint32_t i = 0; i < ENTRIES * COLUMNS; i++)
		lowest[i] = philox_f32_from_bits(0xff800000u);
	EXPECT_PART(make_splitting(c, site, &s));
	EXPECT_PART(site_upload(c, site, lowest, sizeof(lowest), &memory));
	/* no row ends: one that does is odd to the part that advances alone */
	EXPECT_OK(philox_rows_restart(site->rows, site->stream));
	choose_sample(&s, 0);
	cut_for_copies(&s, memory, &rounds);
	EXPECT_PART(site_run_loop(c, site,
				  &(struct site_loop){.each = put_last,
						      .some = put_first,
						      .change = change_rounds,
						      .note = note_rounds,
						      .work = &rounds}));
}

const struct contract_check contract_split[] = {
	{"samples of a split vocabulary are the host's",
	 .on_both = sample_split},
	{"rounds in a loop, and in a branch of it, are those of eager calls",
	 .on_both = split_in_bodies},
	{0},
};
