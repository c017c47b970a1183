/*
 * lib/split/host.c - rounds of samples whose vocabulary is split, as plain loops
 */
#define PHILOX_BUILTIN_FMA /* real.h: let a function's target decide */
#include <string.h>
#include "lib/sample/host.h"
#include "lib/split/split.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* A launch, and the entry that it is at. */
struct split_job {
	const struct split_args *args;
	masses_open *open;
	uint64_t entry;
	struct sample_row row;
	struct change change;
	struct masses masses;
	uint64_t keys[FILTER_ROOM];
};

/* --- entries -------------------------------------------------------------- */

/* Looks an entry up; 0 if it does not take part. */
static int begin_entry(struct split_job *job, uint64_t launch, int others)
{
	const struct sample_args *sample = &job->args->sample;
	struct sample_row *row = &job->row;
	struct filter filter;

	if (!sample_begin(sample, launch, others, job->entry, row))
		return 0;
	if (row->valid && !filter_begin(&sample->filters, job->entry, &filter))
		row->valid = 0;
	if (row->valid && change_is_asked(sample))
		row->valid = change_begin(sample, job->entry, row->index,
					  &job->change);
	return 1;
}

/* Opens the masses of an entry, whose greatest key is known or not. */
static void open_kept(struct split_job *job, const struct sample_row *row,
		      uint64_t first)
{
	const struct sample_args *sample = &job->args->sample;

	job->open(&job->masses, job->keys, sample, job->entry, row,
		  change_is_asked(sample) ? &job->change : NULL, first);
}

/* Those of the logits as they are; *raw is the sample without its mask. */
static void open_raw(struct split_job *job, struct sample_args *raw,
		     const struct sample_row *row, uint64_t first)
{
	*raw = job->args->sample;
	raw->allowed = NULL;
	job->open(&job->masses, job->keys, raw, job->entry, row, NULL, first);
}

/* --- rounds --------------------------------------------------------------- */

static void do_first(struct split_job *job)
{
	const struct split_args *args = job->args;
	const struct sample_row one = {.inverse = 1.0f};
	uint64_t *maxima = split_maxima_of(args, &args->now, job->entry);
	struct sample_args raw;

	maxima[0] = SAMPLE_NO_TOKEN;
	if (job->row.valid) {
		open_kept(job, &job->row, 0);
		maxima[0] = job->masses.job.first;
	}
	if (!logprob_are_wanted(&args->sample.raw))
		return;
	open_raw(job, &raw, &one, 0);
	maxima[1] = job->masses.job.first;
}

ALWAYS_INLINE void do_level(struct split_job *job, struct split_entry *e)
{
	const struct split_args *args = job->args;
	const uint32_t vocab = args->sample.vocab;
	const struct filter_row row = split_row(e, &job->row);
	uint64_t *sums = split_sums_of(args, &args->now, job->entry);
	uint32_t shifts[SPLIT_SEARCHES];
	uint64_t keys[FILTER_SPAN];

	open_kept(job, &job->row, e->first);
	for (uint32_t by = 0; by < SPLIT_SEARCHES; by++) {
		if (args->now.level == 0 && split_is_by(&args->now, by))
			split_open(args, e, by);
		shifts[by] = split_shift(&e->search[by]);
	}
	for (uint32_t at = 0; at < vocab; at += FILTER_SPAN) {
		const uint32_t left = vocab - at;
		const uint32_t n = left < FILTER_SPAN ? left : FILTER_SPAN;

		filter_keys(&job->masses.job, at, n, keys);
		for (uint32_t i = 0; i < n; i++)
			split_count(args, e, shifts, &row, keys[i], sums);
	}
}

/* The keys of ids, and of the first tokens from a cut on, of one kind. */
static void put_ids(struct split_job *job, uint64_t cut, int raw)
{
	const struct split_args *args = job->args;
	const struct sample_logprobs *to =
		raw ? &args->sample.raw : &args->sample.logprobs;
	uint64_t *ids = split_ids_of(args, &args->now, job->entry, raw);
	const uint64_t at = job->entry * to->n_ids;

	for (uint32_t i = 0; i < to->n_ids; i++) {
		const int32_t v = to->ids[at + i];
		const uint32_t column = (uint32_t)v - args->sample.first;

		if (v < 0 || column >= args->sample.vocab)
			continue;
		filter_keys(&job->masses.job, column, 1, &ids[i]);
		ids[i] = split_sent(ids[i]);
	}
	if (to->n_top)
		masses_top(&job->masses, cut, to->n_top,
			   ids + to->n_ids + (uint64_t)args->part * to->n_top);
}

/* Of the logits as they are, to *sums. */
static void draw_raw(struct split_job *job, const struct split_entry *e,
		     uint64_t *sums)
{
	const struct sample_row one = {.inverse = 1.0f};
	struct sample_args raw;

	if (!logprob_are_wanted(&job->args->sample.raw) ||
	    philox_sample_token(e->raw_first) < 0)
		return;
	open_raw(job, &raw, &one, e->raw_first);
	masses_sum(&job->masses, LOGPROB_ALL, sums);
	put_ids(job, LOGPROB_ALL, 1);
}

static void do_draw(struct split_job *job, const struct split_entry *e)
{
	const struct split_args *args = job->args;
	const struct sample_filters *filters = &args->sample.filters;
	const int logprobs = logprob_are_wanted(&args->sample.logprobs);
	const int raw = logprob_are_wanted(&args->sample.raw);
	uint64_t *sums = split_sums_of(args, &args->now, job->entry);
	uint64_t *maxima = split_maxima_of(args, &args->now, job->entry);

	split_begin_top(args, job->entry, 0, 0, 1);
	split_begin_top(args, job->entry, 1, 0, 1);
	maxima[0] = e->first;
	if (e->cut) {
		open_kept(job, &job->row, e->first);
		job->row.cut = e->cut;
		if (logprobs) {
			masses_sum(&job->masses, e->cut, sums);
			put_ids(job, e->cut, 0);
		}
		if (filter_is_asked(filters)) {
			const struct filter_kept kept =
				filter_kept_of(&job->masses.job, e->cut);

			if (filters->cuts)
				maxima[1] = ~kept.last;
			if (filters->kept_counts)
				sums[2 * (logprobs + raw)] = kept.count;
		}
		if (job->row.inverse != 0.0f)
			maxima[0] = masses_draw(&job->masses, &job->row);
	}
	draw_raw(job, e, sums + 2 * logprobs);
}

/* The keys of the token that is drawn. */
static void do_token(struct split_job *job, const struct split_entry *e)
{
	const struct split_args *args = job->args;
	const struct sample_row one = {.inverse = 1.0f};
	uint64_t *maxima = split_maxima_of(args, &args->now, job->entry);
	const uint32_t column =
		(uint32_t)philox_sample_token(e->key) - args->sample.first;
	struct sample_args raw;

	if (philox_sample_token(e->key) < 0 || column >= args->sample.vocab)
		return;
	open_kept(job, &job->row, e->first);
	filter_keys(&job->masses.job, column, 1, &maxima[0]);
	maxima[0] = split_sent(maxima[0]);
	open_raw(job, &raw, &one, LOGPROB_ALL);
	filter_keys(&job->masses.job, column, 1, &maxima[1]);
	maxima[1] = split_sent(maxima[1]);
}

/* What came out of the round before. */
static void know(const struct split_job *job, struct split_entry *e)
{
	const struct split_args *args = job->args;

	switch (args->before.kind) {
	case SPLIT_BEGIN:
		split_begin(e);
		break;
	case SPLIT_FIRST:
		split_know_first(args, job->entry, &job->row, e);
		break;
	case SPLIT_LEVEL:
		split_end_level(args, job->entry, &job->row,
				split_sums_of(args, &args->before, job->entry),
				e);
		break;
	case SPLIT_DRAW:
		split_know_draw(args, job->entry, e);
		for (int raw = 0; raw < 2; raw++) {
			const struct logprob of = split_of(e, &job->row, raw);

			split_end_ids(args, job->entry, &of, raw, 0, 1);
		}
		break;
	default:
		split_know_token(args, job->entry, &job->row, e);
	}
	split_end_searches(args, e);
}

ALWAYS_INLINE void do_round(struct split_job *job, struct split_entry *e)
{
	switch (job->args->now.kind) {
	case SPLIT_FIRST:
		do_first(job);
		break;
	case SPLIT_LEVEL:
		if (e->cut)
			do_level(job, e);
		break;
	case SPLIT_DRAW:
		do_draw(job, e);
		break;
	case SPLIT_TOKEN:
		do_token(job, e);
		break;
	}
}

/* Zeros, which change no sum and no maximum. */
static void clear(const struct split_args *args, uint64_t entry)
{
	memset(split_sums_of(args, &args->now, entry), 0,
	       split_sums(args, &args->now) * sizeof(uint64_t));
	memset(split_maxima_of(args, &args->now, entry), 0,
	       split_maxima(args, &args->now) * sizeof(uint64_t));
}

#define DEFINE_SPLIT(storage, attribute, loop, name, type)                    \
	attribute storage void loop(const void *pointer)                      \
	{                                                                     \
		const struct split_args *args = pointer;                      \
		const struct sample_args *sample = &args->sample;             \
		const uint64_t launch = sample_launch(sample);                \
		const int is_end = args->now.kind == SPLIT_END;               \
		const int others = is_end && rows_others(&sample->list,       \
							 sample->words, 0);   \
		const uint64_t n = sample->list.n;                            \
		struct split_job job;                                         \
                                                                              \
		job.args = args;                                              \
		job.open = masses_open_##name;                                \
		for (job.entry = 0; job.entry < n; job.entry++) {             \
			struct split_entry *e =                               \
				split_entry_of(args, job.entry);              \
                                                                              \
			if (begin_entry(&job, launch, others)) {              \
				know(&job, e);                                \
				clear(args, job.entry);                       \
				do_round(&job, e);                            \
				if (is_end)                                   \
					sample_end(sample, launch, others,    \
						   job.entry, &job.row,       \
						   e->key);                   \
			} else {                                              \
				clear(args, job.entry);                       \
			}                                                     \
		}                                                             \
		for (uint64_t i = 0; is_end && sample->change.notes && i < n; \
		     i++)                                                     \
			change_note_drawn(sample, i);                         \
		rows_end(sample->table.control);                              \
	}

DEFINE_TWICE(DEFINE_SPLIT, split_f32, f32, float)
DEFINE_TWICE(DEFINE_SPLIT, split_bf16, bf16, uint16_t)
DEFINE_TWICE(DEFINE_SPLIT, split_f16, f16, uint16_t)
