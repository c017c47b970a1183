/*
 * lib/sample/filter.c - samples with filters as plain loops
 *
 * See Note [Kept tokens are a prefix] in lib/sample/filter.h. The keys that a
 * search is among are listed first, which most often are few, and the list is
 * searched, and drawn from, instead of the row.
 */
#define PHILOX_BUILTIN_FMA /* real.h: let a function's target decide */
#include <math.h>
#include "lib/rows/rows.h"
#include "lib/change/change.h"
#include "lib/sample/filter.h"
#include "lib/sample/host.h"
#include "lib/sample/logprob.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum { FILTER_FEW = 64 /* tokens of which each finds its rank */ };

/* --- lists ---------------------------------------------------------------- */

/* Whether what a search looks for is among the keys that are listed. */
ALWAYS_INLINE int filter_list_has(const struct filter_job *job,
				  const struct filter_search *search)
{
	uint64_t upper = 0, lower = 0;

	if (!search->by_mass)
		return job->n > search->count;
	for (uint32_t i = 0; i < job->n; i++) {
		const uint64_t mass = filter_mass_of(&job->row, job->keys[i]);

		upper += filter_upper(mass);
		lower += filter_lower(mass);
	}
	return !filter_is_less(filter_join(upper, lower), search->below);
}

/*
 * Before the first level of a search: lists the keys that it is among, or the
 * first of them with the one that it looks for, if they are few. Then it need
 * not look at others.
 */
ALWAYS_INLINE void filter_list_search(struct filter_job *job,
				      struct filter_search *search)
{
	float t = -4, by = 0;

	if (filter_list(job, search->floor, FILTER_TOP))
		return;
	while (t < -0.1f && t > -20) {
		const uint64_t least = filter_lowest(&job->row, t);
		int fits;

		if (least <= search->floor)
			return;
		fits = filter_list(job, least, FILTER_TOP);
		if (fits && filter_list_has(job, search)) {
			search->low = least;
			return;
		}
		if (by != 0 && by != (fits ? 2.0f : 0.5f))
			return; /* between two of these */
		by = fits ? 2.0f : 0.5f;
		t *= by;
	}
}

/* --- sums ----------------------------------------------------------------- */

/*
 * By vectors: those of one logit are kept up to an index, so that the columns
 * up to it and those after it have limits of their own.
 */
static void filter_sum_part(const struct filter_job *job,
			    const struct filter_part *part, uint64_t base,
			    uint64_t sums[2])
{
	const uint32_t last = 0xffffffffu - (uint32_t)base;
	const size_t size = job->change ? sizeof(float) : job->size;
	struct simd_columns upto = part->columns, after;
	simd_total *total = job->loops->total[part->kernel];

	if (last < upto.first)
		upto.count = 0;
	else if (last - upto.first < upto.count)
		upto.count = last - upto.first + 1;
	if (upto.count)
		total(&upto, job->row.most, filter_below(base), sums);
	if (part->columns.count == upto.count)
		return;
	after = simd_columns_after(part->columns, upto.count, size);
	total(&after, job->row.most, filter_logit(base), sums);
}

static void filter_sum_across(const struct filter_job *job, uint64_t base,
			      uint64_t sums[2])
{
	struct filter_part part;

	part.at = 0;
	while (filter_next_part(job, &part))
		filter_sum_part(job, &part, base, sums);
}

/* The same of some columns; one by one without vectors, or beside infinities. */
ALWAYS_INLINE void filter_sum_some(const struct filter_job *job, uint64_t base,
				   uint32_t from, uint32_t n, uint64_t sums[2])
{
	uint64_t keys[FILTER_SPAN];
	struct filter_part part;

	if (job->loops && !isinf(job->row.most)) {
		filter_take_part(job, from, n, &part);
		filter_sum_part(job, &part, base, sums);
		return;
	}
	filter_keys(job, from, n, keys);
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t mass =
			keys[i] < base ? 0 : filter_mass_of(&job->row, keys[i]);

		sums[0] += filter_upper(mass);
		sums[1] += filter_lower(mass);
	}
}

/* Adds up the masses of the keys from `base` on, in halves. */
ALWAYS_INLINE void filter_sum(struct filter_job *job, uint64_t base,
			      uint64_t sums[2])
{
	const int listed =
		base != LOGPROB_ALL && filter_list(job, base, FILTER_TOP);
	uint64_t room[FILTER_SPAN];
	const uint64_t *keys;
	uint32_t at = 0, n;

	sums[0] = sums[1] = 0;
	if (!listed && job->loops && !isinf(job->row.most)) {
		filter_sum_across(job, base, sums);
		return;
	}
	while ((n = filter_some(job, base, FILTER_TOP, &at, &keys, room)) != 0)
		for (uint32_t i = 0; i < n; i++) {
			uint64_t mass;

			if (keys[i] < base)
				continue;
			mass = filter_mass_of(&job->row, keys[i]);
			sums[0] += filter_upper(mass);
			sums[1] += filter_lower(mass);
		}
}

/* --- searches ------------------------------------------------------------- */

/* The first level of a search in the whole row, by vectors, if there are. */
static int filter_step_across(const struct filter_job *job,
			      const struct filter_search *search,
			      struct filter_buckets *buckets)
{
	const struct simd_buckets to = {.steps = FILTER_STEPS,
					.last = FILTER_BUCKETS - 1,
					.upper = buckets->upper,
					.lower = buckets->lower,
					.count = buckets->count};
	struct filter_part part;

	/* a cut between columns of one logit, or infinite logits, are rare */
	if (!job->loops || search->level || (uint32_t)search->low ||
	    isinf(job->row.most) ||
	    filter_is_listed(job, search->low, search->high))
		return 0;
	part.at = 0;
	while (filter_next_part(job, &part))
		job->loops->steps[part.kernel](&part.columns, job->row.most,
					       filter_below(search->low), &to);
	return 1;
}

ALWAYS_INLINE void filter_level(struct filter_job *job,
				struct filter_search *search)
{
	struct filter_bucket groups[FILTER_GROUPS];
	struct filter_buckets buckets;
	uint64_t room[FILTER_SPAN];
	const uint64_t *keys;
	uint32_t at = 0, n;

	if (search->level == 0)
		filter_list_search(job, search);
	else if (search->left <= FILTER_ROOM)
		filter_list(job, search->low, search->high);
	filter_clear(&buckets, 0, 1);
	if (filter_step_across(job, search, &buckets))
		at = job->args->vocab;
	while ((n = filter_some(job, search->low, search->high, &at, &keys,
				room)) != 0)
		for (uint32_t i = 0; i < n; i++)
			if (filter_is_in(search, keys[i]))
				filter_count(search, &job->row, keys[i],
					     &buckets);
	for (uint32_t i = 0; i < FILTER_GROUPS; i++)
		groups[i] = filter_group(&buckets, i);
	filter_level_end(search, &job->row, &buckets, groups);
}

ALWAYS_INLINE void filter_rank(const struct filter_job *job,
			       struct filter_search *search)
{
	uint64_t room[FILTER_SPAN], few[FILTER_FEW];
	const uint64_t *keys;
	uint32_t at = 0, n, listed = 0;

	while ((n = filter_some(job, search->low, search->high, &at, &keys,
				room)) != 0)
		for (uint32_t i = 0; i < n; i++)
			if (filter_is_in(search, keys[i]) &&
			    listed < FILTER_FEW)
				few[listed++] = keys[i];
	for (uint32_t i = 0; i < listed && !search->done; i++)
		if (filter_is_last(search, &job->row, few, listed, i)) {
			search->low = few[i];
			search->done = 1;
		}
}

/* Goes on with the searches of an entry, and returns its cut. */
ALWAYS_INLINE uint64_t filter_find(struct filter_job *job,
				   struct filter *filter,
				   struct filter_search *search)
{
	uint64_t sums[2];

	for (;;)
		switch (filter_proceed(filter, &job->row, search, FILTER_FEW)) {
		case FILTER_TOTAL:
			filter_sum(job, search->base, sums);
			filter_know_total(search, sums[0], sums[1]);
			break;
		case FILTER_LEVEL:
			filter_level(job, search);
			break;
		case FILTER_LIST:
			filter_rank(job, search);
			break;
		default:
			return filter->cut;
		}
}

/* --- tokens --------------------------------------------------------------- */

/* The key of the token that is drawn of those from a cut on. */
ALWAYS_INLINE uint64_t filter_draw_some(const struct filter_job *job,
					const struct sample_row *row,
					uint64_t cut)
{
	struct sample_best best = SAMPLE_NO_BEST;
	struct philox_words words = {{0, 0, 0, 0}};
	uint64_t room[FILTER_SPAN];
	const uint64_t *keys;
	uint32_t quad = 0xffffffffu, at = 0, n;

	while ((n = filter_some(job, cut, FILTER_TOP, &at, &keys, room)) != 0)
		for (uint32_t i = 0; i < n; i++) {
			const uint32_t v = 0xffffffffu - (uint32_t)keys[i];
			const float logit = filter_logit(keys[i]);

			if (keys[i] < cut)
				continue;
			if (v / 4 != quad) {
				quad = v / 4;
				words = philox_draw4(row->state, quad);
			}
			if (sample_may_win(row, logit, words.w[v % 4],
					   best.most))
				sample_take(
					row, logit,
					sample_noise(row, v, words.w[v % 4]), v,
					&best);
		}
	return best.key;
}

/* The same of many, by vectors. */
static uint64_t filter_draw_across(struct filter_job *job, uint64_t cut)
{
	const struct simd_kept kept = {.cut = filter_logit(cut),
				       .above = filter_below(cut),
				       .last = 0xffffffffu - (uint32_t)cut};
	uint64_t key;

	job->columns.kept = &kept;
	key = filter_best(job);
	job->columns.kept = NULL;
	return key;
}

/* The key of the token that is drawn; 0 is the cut of an entry that keeps all. */
ALWAYS_INLINE uint64_t filter_draw(struct filter_job *job,
				   const struct sample_row *row)
{
	const uint64_t cut = row->cut > LOGPROB_ALL ? row->cut : LOGPROB_ALL;

	if (cut == LOGPROB_ALL && job->loops) {
		job->columns = sample_columns(job->args, row, job->entry,
					      (unsigned)job->size);
		return filter_best(job);
	}
	if (cut == LOGPROB_ALL || filter_list(job, cut, FILTER_TOP) ||
	    !job->loops)
		return filter_draw_some(job, row, cut);
	return filter_draw_across(job, cut);
}

/*
 * filter_begin_job() returns the greatest key of an entry; it looks for it
 * unless it is known.
 */
ALWAYS_INLINE uint64_t filter_begin_job(struct filter_job *job,
					const struct sample_row *row)
{
	job->least = FILTER_TOP;
	job->most = 0;
	job->n = 0;
	if (job->loops)
		job->columns =
			sample_columns(job->args, row, job->entry, job->size);
	job->columns.inverse = 0.0f; /* look for the highest */
	if (!job->first && job->loops)
		job->first = filter_best(job);
	else if (!job->first)
		job->first = filter_first(job);
	job->row.most = filter_logit(job->first);
	job->row.inverse = row->inverse == 0.0f ? 1.0f : row->inverse;
	job->columns.inverse = job->row.inverse;
	return job->first;
}

/* The key of an entry's token, 0 if it is to be drawn; and what it keeps. */
ALWAYS_INLINE uint64_t filter_entry(struct filter_job *job,
				    struct sample_row *row,
				    struct filter_kept *kept)
{
	struct filter_search search = {.done = 1};
	struct filter filter;
	uint64_t first;

	if (!filter_begin(&job->args->filters, job->entry, &filter))
		return SAMPLE_NO_TOKEN;
	if (filter_keeps_all(&filter) && !logprob_needs_cut(job->args))
		return 0;
	first = filter_begin_job(job, row);
	if (philox_sample_token(first) < 0 ||
	    (row->inverse == 0.0f && !logprob_needs_cut(job->args)))
		return first;
	row->cut = filter_find(job, &filter, &search);
	if (filter_is_asked(&job->args->filters))
		*kept = filter_kept_of(job, row->cut);
	return row->inverse == 0.0f ? first : 0;
}

/* --- logprobs ------------------------------------------------------------- */

/* Looks up the key of token v; says whether there is a column for it. */
static int filter_look_up(const struct filter_job *job, int32_t v,
			  uint64_t *key)
{
	const uint32_t column = (uint32_t)v - job->args->first;

	if (v < 0 || column >= job->args->vocab)
		return 0;
	filter_keys(job, column, 1, key);
	return 1;
}

ALWAYS_INLINE float filter_logprob(const struct filter_job *job,
				   const struct logprob *of, int32_t v)
{
	uint64_t key;

	return filter_look_up(job, v, &key) ? logprob_of(of, key)
					    : logprob_none();
}

/* The first n keys from a cut on. */
ALWAYS_INLINE uint32_t filter_first_of(struct filter_job *job, uint64_t cut,
				       uint32_t n, uint64_t *top)
{
	uint64_t room[FILTER_SPAN];
	struct filter_search search;
	struct filter filter;
	const uint64_t *keys;
	uint32_t at = 0, listed = 0, some;

	logprob_begin_top(cut, n, &filter, &search);
	cut = filter_find(job, &filter, &search);
	while ((some = filter_some(job, cut, FILTER_TOP, &at, &keys, room)) !=
	       0)
		for (uint32_t i = 0; i < some && listed < n; i++)
			if (keys[i] >= cut)
				top[listed++] = keys[i];
	return listed;
}

/* The first tokens of an entry. */
ALWAYS_INLINE void filter_top(struct filter_job *job,
			      const struct sample_logprobs *to,
			      const struct logprob *of)
{
	uint64_t top[LOGPROB_TOP_MAX];
	const uint32_t n = filter_first_of(job, of->cut, to->n_top, top);

	logprob_end_top(to, job->entry, of, top, n, 0, 1);
}

/* Writes the logprobs of an entry; its cut is 0 if it has none. */
ALWAYS_INLINE void filter_logprobs(struct filter_job *job,
				   const struct sample_logprobs *to,
				   uint64_t cut, int32_t token)
{
	const uint64_t at = job->entry * to->n_ids;
	struct logprob of = {.row = job->row, .cut = cut};
	uint64_t sums[2];

	if (!cut) {
		logprob_end_none(to, job->entry, 0, 1);
		return;
	}
	filter_sum(job, cut, sums);
	of.ln = logprob_ln(filter_join(sums[0], sums[1]));
	if (to->drawn)
		to->drawn[job->entry] = filter_logprob(job, &of, token);
	for (uint32_t i = 0; i < to->n_ids; i++)
		to->of_ids[at + i] = filter_logprob(job, &of, to->ids[at + i]);
	if (to->n_top)
		filter_top(job, to, &of);
}

/* The same of the logits as they are. */
ALWAYS_INLINE void filter_raw_logprobs(struct filter_job *job, int32_t token)
{
	const struct sample_args *args = job->args;
	const struct sample_row row = {.inverse = 1.0f};
	const struct change *change = job->change;
	struct sample_args raw = *args;
	uint64_t first;

	raw.allowed = NULL;
	job->args = &raw;
	job->change = NULL;
	job->first = args->allowed || change ? 0 : job->first;
	first = filter_begin_job(job, &row);
	filter_logprobs(job, &raw.raw,
			philox_sample_token(first) < 0 ? 0 : LOGPROB_ALL,
			token);
	job->args = args;
	job->change = change;
}

/* Writes what an entry asks for beside its token, whose key is `key`. */
ALWAYS_INLINE void filter_end_entry(struct filter_job *job, uint64_t cut,
				    const struct filter_kept *kept,
				    uint64_t key)
{
	const struct sample_args *args = job->args;
	const int32_t token = philox_sample_token(key);

	filter_end(&args->filters, job->entry, kept);
	if (logprob_are_wanted(&args->logprobs))
		filter_logprobs(job, &args->logprobs, cut, token);
	if (logprob_are_wanted(&args->raw))
		filter_raw_logprobs(job, token);
}

/* --- launches ------------------------------------------------------------- */

/* Looks up what changes the logits of the entry of a job. */
ALWAYS_INLINE void filter_begin_change(struct filter_job *job,
				       struct sample_row *row,
				       struct change *change)
{
	job->change = NULL;
	if (row->index == ROWS_NONE || !change_is_asked(job->args))
		return;
	row->valid &= change_begin(job->args, job->entry, row->index, change);
	job->change = change;
}

ALWAYS_INLINE void filter_entries(struct filter_job *job)
{
	const struct sample_args *args = job->args;
	const uint64_t launch = sample_launch(args);
	const int others = rows_others(&args->list, args->words, 0);

	for (uint64_t i = 0; i < args->list.n; i++) {
		struct filter_kept kept = {SAMPLE_NO_TOKEN, 0};
		uint64_t best = SAMPLE_NO_TOKEN;
		struct sample_row row;
		struct change change;

		if (!sample_begin(args, launch, others, i, &row))
			continue;
		job->entry = i;
		job->first = 0;
		job->least = FILTER_TOP;
		job->most = 0;
		filter_begin_change(job, &row, &change);
		if (row.valid)
			best = filter_entry(job, &row, &kept);
		if (row.valid && !best)
			best = filter_draw(job, &row);
		filter_end_entry(job, row.cut, &kept, best);
		sample_end(args, launch, others, i, &row, best);
	}
	for (uint64_t i = 0; args->change.notes && i < args->list.n; i++)
		change_note_drawn(args, i);
	if (args->table.control)
		rows_end(args->table.control);
}

/* --- masses --------------------------------------------------------------- */

/* Knows what an entry keeps; says whether it is anything. */
ALWAYS_INLINE int filter_keep_masses(struct masses *masses,
				     const struct sample_row *row)
{
	struct filter_job *job = &masses->job;
	struct filter_search search = {.done = 1};
	struct filter filter;
	uint64_t sums[2];

	if (philox_sample_token(job->first) < 0 ||
	    !filter_begin(&job->args->filters, job->entry, &filter))
		return 0;
	masses->cut = row->inverse == 0.0f ? job->first
					   : filter_find(job, &filter, &search);
	filter_sum(job, masses->cut, sums);
	masses->all = filter_join(sums[0], sums[1]);
	return 1;
}

/* What is asked of masses, where a target makes it fast. */
struct masses_call {
	enum {
		MASSES_KEEP,
		MASSES_SUM,
		MASSES_SUM_OF,
		MASSES_DRAW,
		MASSES_TOP
	} what;
	struct masses *masses;
	const struct sample_row *row;
	uint64_t cut, *keys, *result;
	uint32_t from, n, *count;
};

ALWAYS_INLINE void filter_masses(const struct masses_call *call)
{
	struct masses *masses = call->masses;

	switch (call->what) {
	case MASSES_KEEP:
		if (!filter_keep_masses(masses, call->row))
			masses->cut = SAMPLE_NO_TOKEN;
		break;
	case MASSES_SUM:
		filter_sum(&masses->job, call->cut, call->result);
		break;
	case MASSES_SUM_OF:
		for (uint32_t at = 0; at < call->n; at += FILTER_SPAN) {
			const uint32_t left = call->n - at;

			filter_sum_some(&masses->job, call->cut,
					call->from + at,
					left < FILTER_SPAN ? left : FILTER_SPAN,
					call->result);
		}
		break;
	case MASSES_DRAW:
		*call->result = filter_draw(&masses->job, call->row);
		break;
	case MASSES_TOP:
		*call->count = filter_first_of(&masses->job, call->cut, call->n,
					       call->keys);
		break;
	}
}

#define DEFINE_MASSES(storage, attribute, loop, none, no_size) \
	attribute storage void loop(const void *call)          \
	{                                                      \
		filter_masses(call);                           \
	}

static void run_masses(const void *call);
DEFINE_TWICE(DEFINE_MASSES, masses, , 0)

void masses_keep(struct masses *masses, const struct sample_row *row)
{
	const struct masses_call call = {
		.what = MASSES_KEEP, .masses = masses, .row = row};

	run_masses(&call);
}

void masses_sum(struct masses *masses, uint64_t cut, uint64_t sums[2])
{
	const struct masses_call call = {.what = MASSES_SUM,
					 .masses = masses,
					 .cut = cut,
					 .result = sums};

	run_masses(&call);
}

void masses_sum_of(struct masses *masses, uint64_t cut, uint32_t from,
		   uint32_t n, uint64_t sums[2])
{
	const struct masses_call call = {.what = MASSES_SUM_OF,
					 .masses = masses,
					 .cut = cut,
					 .from = from,
					 .n = n,
					 .result = sums};

	sums[0] = sums[1] = 0;
	run_masses(&call);
}

uint64_t masses_draw(struct masses *masses, const struct sample_row *row)
{
	uint64_t key;
	const struct masses_call call = {.what = MASSES_DRAW,
					 .masses = masses,
					 .row = row,
					 .result = &key};

	run_masses(&call);
	return key;
}

uint32_t masses_top(struct masses *masses, uint64_t cut, uint32_t n,
		    uint64_t *keys)
{
	uint32_t count;
	const struct masses_call call = {.what = MASSES_TOP,
					 .masses = masses,
					 .cut = cut,
					 .n = n,
					 .keys = keys,
					 .count = &count};

	run_masses(&call);
	return count;
}

/* --- dtypes --------------------------------------------------------------- */

/* How a dtype is fetched, and its vectors; the rest is the same for all. */
struct filter_dtype {
	filter_fetch *fetch;
	enum kernel kernel;
	size_t size;
};

static void filter_set_dtype(struct filter_job *job,
			     const struct sample_args *args,
			     const struct filter_dtype *dtype, uint64_t *keys)
{
	job->args = args;
	job->keys = keys;
	job->row = (struct filter_row){0, 1};
	job->fetch = dtype->fetch;
	job->kernel = dtype->kernel;
	job->loops = simd_loops_used();
	job->size = dtype->size;
}

/* A launch of a dtype. */
struct filter_launch {
	const struct sample_args *args;
	const struct filter_dtype *dtype;
};

#define DEFINE_ENTRIES(storage, attribute, loop, none, no_size)            \
	attribute storage void loop(const void *pointer)                   \
	{                                                                  \
		const struct filter_launch *launch = pointer;              \
		uint64_t keys[FILTER_ROOM];                                \
		struct filter_job job;                                     \
                                                                           \
		filter_set_dtype(&job, launch->args, launch->dtype, keys); \
		filter_entries(&job);                                      \
	}

static void run_filter(const void *launch);
DEFINE_TWICE(DEFINE_ENTRIES, filter, , 0)

static void open_masses(struct masses *masses, uint64_t *keys,
			const struct sample_args *args,
			const struct filter_dtype *dtype, uint64_t entry,
			const struct sample_row *row,
			const struct change *change, uint64_t first)
{
	filter_set_dtype(&masses->job, args, dtype, keys);
	masses->job.entry = entry;
	masses->job.first = first;
	masses->job.change = change;
	masses->cut = SAMPLE_NO_TOKEN;
	masses->all = (struct filter_sum){0, 0};
	filter_begin_job(&masses->job, row);
}

#define DEFINE_FILTER(name, logit_type)                                       \
	static void fetch_##name(const struct sample_args *args,              \
				 uint64_t entry, uint32_t from, uint32_t n,   \
				 float *to)                                   \
	{                                                                     \
		const logit_type *logits = (const logit_type *)args->logits + \
					   entry * args->pitch + from;        \
                                                                              \
		for (uint32_t i = 0; i < n; i++)                              \
			to[i] = sample_widen_##name(logits[i]);               \
	}                                                                     \
                                                                              \
	static const struct filter_dtype dtype_##name = {                     \
		.fetch = fetch_##name,                                        \
		.kernel = KERNEL_sample_##name,                               \
		.size = sizeof(logit_type)};                                  \
                                                                              \
	void run_filter_##name(const void *args)                              \
	{                                                                     \
		const struct filter_launch launch = {args, &dtype_##name};    \
                                                                              \
		run_filter(&launch);                                          \
	}                                                                     \
                                                                              \
	void masses_open_##name(struct masses *masses, uint64_t *keys,        \
				const struct sample_args *args,               \
				uint64_t entry, const struct sample_row *row, \
				const struct change *change, uint64_t first)  \
	{                                                                     \
		open_masses(masses, keys, args, &dtype_##name, entry, row,    \
			    change, first);                                   \
	}

SAMPLE_LIST(DEFINE_FILTER)
