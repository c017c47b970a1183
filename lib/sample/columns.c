/*
 * lib/sample/columns.c - the columns of an entry that is filtered, for loops
 *
 * The columns are seen as keys, some at a time, so that nothing but fetching
 * them depends on the dtype. Logits that are changed by biases or penalties are
 * made some at a time, in f32, whenever they are looked at.
 */
#include <math.h>
#include <string.h>
#include "lib/sample/host.h"

/* --- logits --------------------------------------------------------------- */

/* Changes the tokens that a row has seen, of n columns from `from` on. */
static void change_seen(const struct filter_job *job, uint32_t from, uint32_t n,
			const float *logits, float *changed)
{
	const struct change *change = job->change;
	const uint32_t first = job->args->first + from;

	for (uint32_t i = 0; i < n;) {
		const uint32_t v = first + i, left = 32 - v % 32;
		const uint32_t bits = change->seen[v / 32] >> v % 32;
		const uint32_t some = left < n - i ? left : n - i;

		for (uint32_t k = 0; k < some && bits >> k; k++)
			if (bits >> k & 1)
				changed[i + k] = change_logit(change, v + k,
							      logits[i + k]);
		i += some;
	}
}

/* The n logits from column `from` on, with what is changed. */
void filter_logits(const struct filter_job *job, uint32_t from, uint32_t n,
		   float *logits)
{
	const struct change *change = job->change;
	const uint32_t first = job->args->first + from;
	float as_they_are[FILTER_CHANGED];

	job->fetch(job->args, job->entry, from, n, logits);
	if (!change)
		return;
	memcpy(as_they_are, logits, n * sizeof(*logits));
	if (change->seen)
		change_seen(job, from, n, as_they_are, logits);
	for (uint32_t i = change_place(change, first);
	     i < change->n_biases && (uint32_t)change->ids[i] - first < n;
	     i++) {
		const uint32_t c = (uint32_t)change->ids[i] - first;

		logits[c] = change_logit(change, first + c, as_they_are[c]);
	}
	for (uint32_t i = 0; change->seen && i < change->n_drafts; i++) {
		const uint32_t c = (uint32_t)change->drafts[i] - first;

		if (change->drafts[i] >= 0 && c < n)
			logits[c] =
				change_logit(change, first + c, as_they_are[c]);
	}
}

void filter_take_part(const struct filter_job *job, uint32_t from, uint32_t n,
		      struct filter_part *part)
{
	part->columns = simd_columns_after(job->columns, from, job->size);
	part->columns.count = n;
	part->kernel = job->kernel;
	if (!job->change)
		return;
	filter_logits(job, from, n, part->logits);
	part->columns.logits = part->logits;
	part->kernel = KERNEL_sample_f32;
}

/* filter_next_part() makes the next part; `at` begins with 0; 0 after the last. */
int filter_next_part(const struct filter_job *job, struct filter_part *part)
{
	const uint32_t left = job->args->vocab - part->at;
	const uint32_t n = left < FILTER_CHANGED ? left : FILTER_CHANGED;

	if (!left)
		return 0;
	filter_take_part(job, part->at, job->change ? n : left, part);
	part->at += part->columns.count;
	return 1;
}

/* The greatest key of a job's columns, by vectors. */
uint64_t filter_best(const struct filter_job *job)
{
	struct filter_part part;
	uint64_t key = 0;

	part.at = 0;
	while (filter_next_part(job, &part)) {
		const struct simd_columns *columns = &part.columns;
		const struct simd_best best =
			columns->inverse == 0.0f
				? job->loops->greedy[part.kernel](columns)
				: job->loops->sample[part.kernel](columns);
		const uint64_t its =
			sample_key(best.score, columns->first + best.column);

		key = its > key ? its : key;
	}
	return key;
}

/* --- keys ----------------------------------------------------------------- */

/* The keys of n columns from `from` on; 0 where none may be drawn. */
void filter_keys(const struct filter_job *job, uint32_t from, uint32_t n,
		 uint64_t *keys)
{
	const uint32_t first = job->args->first + from;
	float logits[FILTER_SPAN];

	filter_logits(job, from, n, logits);
	for (uint32_t i = 0; i < n; i++)
		keys[i] = sample_place(job->args, job->entry, logits[i],
				       first + i);
}

/* Whether all keys from `least` to `most` are listed. */
int filter_is_listed(const struct filter_job *job, uint64_t least,
		     uint64_t most)
{
	return least >= job->least && most <= job->most;
}

/*
 * filter_some() writes the next keys of an entry that include all from `least`
 * to `most`, and returns how many there are; 0 after the last. *at begins with
 * 0.
 */
uint32_t filter_some(const struct filter_job *job, uint64_t least,
		     uint64_t most, uint32_t *at, const uint64_t **keys,
		     uint64_t room[FILTER_SPAN])
{
	const uint32_t vocab = job->args->vocab;
	uint32_t n;

	if (filter_is_listed(job, least, most)) {
		n = *at ? 0 : job->n;
		*keys = job->keys;
		*at = 1;
		return n;
	}
	n = vocab - *at < FILTER_SPAN ? vocab - *at : FILTER_SPAN;
	filter_keys(job, *at, n, room);
	*keys = room;
	*at += n;
	return n;
}

/* The greatest key: that of a NaN if there is one. */
uint64_t filter_first(const struct filter_job *job)
{
	uint64_t room[FILTER_SPAN], first = 0;
	const uint64_t *keys;
	uint32_t at = 0, n;

	while ((n = filter_some(job, 0, FILTER_TOP, &at, &keys, room)) != 0)
		for (uint32_t i = 0; i < n; i++)
			first = keys[i] > first ? keys[i] : first;
	return first;
}

/* What an entry with a cut keeps. */
struct filter_kept filter_kept_of(const struct filter_job *job, uint64_t cut)
{
	struct filter_kept kept = {.last = FILTER_TOP};
	uint64_t room[FILTER_SPAN];
	const uint64_t *keys;
	uint32_t at = 0, n;

	while ((n = filter_some(job, cut, FILTER_TOP, &at, &keys, room)) != 0)
		for (uint32_t i = 0; i < n; i++) {
			if (keys[i] < cut)
				continue;
			filter_keep(&job->args->filters, job->entry,
				    kept.count++,
				    0xffffffffu - (uint32_t)keys[i]);
			if (keys[i] < kept.last)
				kept.last = keys[i];
		}
	return kept;
}

/* --- lists ---------------------------------------------------------------- */

/* The number below the logit of a key. */
float filter_below(uint64_t key)
{
	uint64_t place = key >> 32;

	place -= place == 0x80000000u ? 2 : 1; /* -0 equals 0 */
	return filter_logit(place << 32);
}

/* The same as the loops of struct simd_loops, one by one. */
static uint32_t filter_list_plain(struct filter_job *job, uint64_t least,
				  uint64_t most)
{
	uint64_t room[FILTER_SPAN];
	const uint64_t *keys;
	uint32_t at = 0, n = 0, some;

	while (n <= FILTER_ROOM &&
	       (some = filter_some(job, least, most, &at, &keys, room)) != 0)
		for (uint32_t i = 0; i < some; i++) {
			if (keys[i] < least || keys[i] > most)
				continue;
			if (n < FILTER_ROOM)
				job->keys[n] = keys[i];
			n++;
		}
	return n;
}

/* The same by vectors. */
static uint32_t filter_list_across(struct filter_job *job, uint64_t least,
				   uint64_t most)
{
	const float upto = most == FILTER_TOP ? INFINITY : filter_logit(most);
	struct filter_part part;
	uint32_t n = 0;

	part.at = 0;
	while (n <= FILTER_ROOM && filter_next_part(job, &part))
		n += job->loops->list[part.kernel](
			&part.columns, filter_below(least), upto, job->keys + n,
			FILTER_ROOM - n);
	return n;
}

/* Lists all keys from one to another, if there is room; says whether it did. */
int filter_list(struct filter_job *job, uint64_t least, uint64_t most)
{
	uint32_t n;

	if (filter_is_listed(job, least, most))
		return 1;
	least &= 0xffffffff00000000u; /* all of a logit */
	most |= 0xffffffffu;
	if (job->loops)
		n = filter_list_across(job, least, most);
	else
		n = filter_list_plain(job, least, most);
	job->n = n <= FILTER_ROOM ? n : 0;
	job->least = job->n ? least : FILTER_TOP;
	job->most = job->n ? most : 0;
	return n <= FILTER_ROOM;
}
