/*
 * lib/split/split.h - samples of a vocabulary that is split, for host loop and
 * kernel alike
 *
 * Note [Rounds]
 * ~~~~~~~~~~~~~
 * philox/split.h says what a caller does: it launches the rounds of a sample,
 * and adds up, or takes the maximum of, what the parts have written after each.
 * What is next never depends on logits, so that all rounds can be captured:
 *
 *   first    the greatest key, and that of the logits as they are
 *   level    what is searched for the last token that is kept: how many tokens,
 *            and what masses, are in each of the buckets that its keys are
 *            divided into
 *   draw     the greatest score of what is kept; sums of masses; the logits of
 *            tokens whose logprobs are wanted, from the part that has them; the
 *            first tokens of each part
 *   token    the logit of the token that is drawn
 *   end      nothing more is added up: what is left is written, rows advance
 *
 * A round begins with what came out of the one before, from which each part
 * finds the same, and keeps it in the entry's place of `work`. A search is as
 * in lib/sample/filter.h, but with fewer buckets, since they travel; and the
 * keys have no bits that are the same in all of them, so that fewer levels are
 * enough: SPLIT_BITS of a key for each after the first, which has steps of t.
 */
#ifndef LIB_SPLIT_SPLIT_H
#define LIB_SPLIT_SPLIT_H

#include <philox/split.h>
#include "lib/change/change.h"
#include "lib/sample/logprob.h"

enum {
	SPLIT_BITS = 8,
	SPLIT_BUCKETS = 1 << SPLIT_BITS,
	SPLIT_STEPS = 4 /* of the first level, in a unit of t */
};

/* --- rounds --------------------------------------------------------------- */

enum split_kind {
	SPLIT_BEGIN, /* before the first */
	SPLIT_FIRST,
	SPLIT_LEVEL,
	SPLIT_DRAW,
	SPLIT_TOKEN,
	SPLIT_END
};

enum split_by { SPLIT_BY_COUNT, SPLIT_BY_MASS, SPLIT_SEARCHES };

/* Whether the searches of a round are by count, by mass. */
PHILOX_FN int split_is_by(const struct split_round *round, uint32_t by)
{
	return round->searches >> by & 1;
}

/* How many sums and maxima a round writes for each entry. */
PHILOX_FN uint64_t split_sums(const struct split_args *args,
			      const struct split_round *round)
{
	const struct sample_args *sample = &args->sample;

	if (round->kind == SPLIT_LEVEL)
		return SPLIT_BUCKETS * (split_is_by(round, SPLIT_BY_COUNT) +
					2 * split_is_by(round, SPLIT_BY_MASS));
	if (round->kind == SPLIT_DRAW)
		return 2 * logprob_are_wanted(&sample->logprobs) +
		       2 * logprob_are_wanted(&sample->raw) +
		       (sample->filters.kept_counts != NULL);
	return 0;
}

PHILOX_FN uint64_t split_ids(const struct sample_logprobs *to, uint32_t n_parts)
{
	return to->n_ids + (uint64_t)to->n_top * n_parts;
}

PHILOX_FN uint64_t split_maxima(const struct split_args *args,
				const struct split_round *round)
{
	const struct sample_args *sample = &args->sample;

	switch (round->kind) {
	case SPLIT_FIRST:
		return 1 + logprob_are_wanted(&sample->raw);
	case SPLIT_DRAW:
		return 1 + (sample->filters.cuts != NULL) +
		       split_ids(&sample->logprobs, args->n_parts) +
		       split_ids(&sample->raw, args->n_parts);
	case SPLIT_TOKEN:
		return 2;
	default:
		return 0;
	}
}

/* Where the sums and maxima of an entry begin, in round `now` or before it. */
PHILOX_FN uint64_t *split_sums_of(const struct split_args *args,
				  const struct split_round *round,
				  uint64_t entry)
{
	return round->sums + entry * split_sums(args, round);
}

PHILOX_FN uint64_t *split_maxima_of(const struct split_args *args,
				    const struct split_round *round,
				    uint64_t entry)
{
	return round->maxima + entry * split_maxima(args, round);
}

/* --- keys without the bits that all have ---------------------------------- */

/* split_key() returns a key's place, in the order of keys. */
PHILOX_FN uint64_t split_key(const struct split_args *args, uint64_t key)
{
	const uint64_t low = ((uint64_t)1 << args->index_bits) - 1;

	return key >> 32 << args->index_bits | (key & low);
}

/* split_key_of() returns the key of a place. */
PHILOX_FN uint64_t split_key_of(const struct split_args *args, uint64_t place)
{
	const uint64_t low = ((uint64_t)1 << args->index_bits) - 1;

	return place >> args->index_bits << 32 | (0xffffffffu & ~low) |
	       (place & low);
}

/* --- entries -------------------------------------------------------------- */

/* A search for the last token that is kept: see struct filter_search. */
struct split_search {
	uint64_t low, high; /* places that it is among */
	uint64_t left;      /* by count: how many are kept from `high` on */
	struct filter_sum below; /* by mass */
	uint32_t is_on;          /* 0: all are kept */
};

/* What is known of an entry between rounds. */
struct split_entry {
	uint64_t first;     /* the greatest key */
	uint64_t raw_first; /* of the logits as they are */
	uint64_t cut;       /* 0: the entry has no logprobs */
	uint64_t by_count;  /* the cut of top-k alone */
	struct split_search search[SPLIT_SEARCHES];
	uint64_t key; /* of the token */
	double ln, raw_ln;
};

PHILOX_FN struct split_entry *split_entry_of(const struct split_args *args,
					     uint64_t entry)
{
	return (struct split_entry *)args->work + entry;
}

/* What t is made of; of an entry that keeps something. */
PHILOX_FN struct filter_row split_row(const struct split_entry *e,
				      const struct sample_row *row)
{
	struct filter_row of;

	of.most = filter_logit(e->first);
	of.inverse = row->inverse == 0.0f ? 1.0f : row->inverse;
	return of;
}

PHILOX_FN struct filter_row split_raw_row(const struct split_entry *e)
{
	struct filter_row of;

	of.most = filter_logit(e->raw_first);
	of.inverse = 1.0f;
	return of;
}

/* split_begin() knows nothing of an entry: all is kept. */
PHILOX_FN void split_begin(struct split_entry *e)
{
	e->first = e->raw_first = 0;
	e->cut = e->by_count = 0;
	for (uint32_t by = 0; by < SPLIT_SEARCHES; by++) {
		struct split_search *s = &e->search[by];

		s->low = s->high = s->left = 0;
		s->below.high = s->below.low = 0;
		s->is_on = 0;
	}
	e->key = SAMPLE_NO_TOKEN;
	e->ln = e->raw_ln = 0;
}

/* split_has_token() says whether an entry keeps something. */
PHILOX_FN int split_has_token(const struct split_entry *e)
{
	return philox_sample_token(e->first) >= 0;
}

/* split_know_first() takes the greatest keys of all parts. */
PHILOX_FN void split_know_first(const struct split_args *args, uint64_t entry,
				const struct sample_row *row,
				struct split_entry *e)
{
	const struct sample_args *sample = &args->sample;
	const uint64_t *maxima = split_maxima_of(args, &args->before, entry);
	struct filter_row of;
	struct filter filter;

	e->first = maxima[0];
	e->raw_first = logprob_are_wanted(&sample->raw) ? maxima[1] : 0;
	if (!split_has_token(e) ||
	    !filter_begin(&sample->filters, entry, &filter))
		return;
	of = split_row(e, row);
	e->cut = filter_least(&filter, &of);
	e->by_count = LOGPROB_ALL;
	e->search[SPLIT_BY_COUNT].is_on = filter.k != 0;
	e->search[SPLIT_BY_MASS].is_on = filter.p != 1.0f;
}

/* --- levels --------------------------------------------------------------- */

/* The least key that a search counts for its total, which is its goal's. */
PHILOX_FN uint64_t split_base(const struct split_args *args,
			      const struct split_entry *e, uint32_t by)
{
	const uint32_t order = args->sample.filters.order;

	if (by == SPLIT_BY_COUNT || order == PHILOX_FILTER_ORDER_JOINT)
		return LOGPROB_ALL;
	return order == PHILOX_FILTER_ORDER_MKP ? e->cut : e->by_count;
}

/* split_open() opens a search, before its first level. */
PHILOX_FN void split_open(const struct split_args *args, struct split_entry *e,
			  uint32_t by)
{
	e->search[by].low = split_key(args, split_base(args, e, by));
	e->search[by].high = split_key(args, e->first);
}

/* How far keys are shifted into buckets: so that they are few enough. */
PHILOX_FN uint32_t split_shift(const struct split_search *s)
{
	uint32_t shift = 0;

	while ((s->high - s->low) >> shift >= SPLIT_BUCKETS)
		shift++;
	return shift;
}

/* split_bucket() returns the bucket of a token that a search is among. */
PHILOX_FN uint32_t split_bucket(const struct split_search *s, uint32_t level,
				uint32_t shift, float t, uint64_t place)
{
	return level ? (uint32_t)((s->high - place) >> shift)
		     : filter_step(t, SPLIT_STEPS, SPLIT_BUCKETS - 1);
}

/*
 * split_count() counts a token, by its key, into buckets: those by count first,
 * then the two halves of masses.
 */
PHILOX_FN void split_count(const struct split_args *args,
			   const struct split_entry *e,
			   const uint32_t shifts[SPLIT_SEARCHES],
			   const struct filter_row *row, uint64_t key,
			   uint64_t *buckets)
{
	const uint32_t level = args->now.level;
	const uint64_t place = split_key(args, key);
	float t = 0;
	uint64_t mass;

	for (uint32_t by = 0; by < SPLIT_SEARCHES; by++) {
		const struct split_search *s = &e->search[by];
		uint64_t *bucket = buckets;

		if (!split_is_by(&args->now, by))
			continue;
		buckets += SPLIT_BUCKETS;
		if (!s->is_on || place < s->low || place > s->high)
			continue;
		if (level == 0 || by == SPLIT_BY_MASS)
			t = filter_t(row, filter_logit(key));
		bucket += split_bucket(s, level, shifts[by], t, place);
		if (by == SPLIT_BY_COUNT) {
			FILTER_ADD(bucket, 1);
			continue;
		}
		mass = filter_mass(t);
		if (filter_upper(mass))
			FILTER_ADD(bucket, filter_upper(mass));
		if (filter_lower(mass))
			FILTER_ADD(bucket + SPLIT_BUCKETS, filter_lower(mass));
	}
}

/* The first place of a step, the lowest logit's. */
PHILOX_FN uint64_t split_step_begins(const struct split_args *args,
				     const struct filter_row *row,
				     uint32_t step)
{
	const float least = filter_step_least(step, SPLIT_STEPS);

	return split_key(args, filter_lowest(row, least));
}

/* Places from s->high down, or steps of t, that are in bucket i. */
PHILOX_FN void split_narrow(const struct split_args *args,
			    const struct filter_row *row,
			    struct split_search *s, uint32_t i)
{
	uint64_t low = s->low, high = s->high;

	if (args->before.level) {
		const uint32_t shift = split_shift(s);

		high = s->high - ((uint64_t)i << shift);
		if ((high - s->low) >> shift)
			low = high - (((uint64_t)1 << shift) - 1);
	} else {
		if (i < SPLIT_BUCKETS - 1)
			low = split_step_begins(args, row, i);
		if (i)
			high = split_step_begins(args, row, i - 1) - 1;
	}
	s->low = low > s->low ? low : s->low;
	s->high = high < s->high ? high : s->high;
}

/* Goes on by count, in one bucket, whose counts these are. */
PHILOX_FN void split_end_count(const struct split_args *args, uint64_t entry,
			       const struct filter_row *row,
			       const uint64_t *counts, struct split_search *s)
{
	const struct sample_filters *filters = &args->sample.filters;
	uint64_t all = 0;
	uint32_t i = 0;

	if (args->before.level == 0) {
		s->left = filters->top_ks ? filters->top_ks[entry]
					  : filters->top_k;
		for (uint32_t k = 0; k < SPLIT_BUCKETS; k++)
			all += counts[k];
		if (all <= s->left) {
			s->is_on = 0;
			return;
		}
	}
	for (; i < SPLIT_BUCKETS - 1 && counts[i] < s->left; i++)
		s->left -= counts[i];
	split_narrow(args, row, s, i);
}

/* The same by mass, of which these are both halves. */
PHILOX_FN void split_end_mass(const struct split_args *args, uint64_t entry,
			      const struct filter_row *row,
			      const uint64_t *upper, struct split_search *s)
{
	const struct sample_filters *filters = &args->sample.filters;
	const uint64_t *lower = upper + SPLIT_BUCKETS;
	uint64_t uppers = 0, lowers = 0;
	uint32_t i = 0;

	if (args->before.level == 0) {
		for (uint32_t k = 0; k < SPLIT_BUCKETS; k++) {
			uppers += upper[k];
			lowers += lower[k];
		}
		s->below = filter_share(filter_join(uppers, lowers),
					filters->top_ps ? filters->top_ps[entry]
							: filters->top_p);
	}
	for (; i < SPLIT_BUCKETS - 1; i++) {
		const struct filter_sum mass = filter_join(upper[i], lower[i]);

		if (!filter_is_less(mass, s->below))
			break;
		s->below = filter_minus(s->below, mass);
	}
	split_narrow(args, row, s, i);
}

/* split_end_level() goes on after a level, whose sums are those of all parts. */
PHILOX_FN void split_end_level(const struct split_args *args, uint64_t entry,
			       const struct sample_row *row,
			       const uint64_t *sums, struct split_entry *e)
{
	struct filter_row of;

	if (!split_has_token(e))
		return;
	of = split_row(e, row);
	if (split_is_by(&args->before, SPLIT_BY_COUNT)) {
		if (e->search[SPLIT_BY_COUNT].is_on)
			split_end_count(args, entry, &of, sums,
					&e->search[SPLIT_BY_COUNT]);
		sums += SPLIT_BUCKETS;
	}
	if (split_is_by(&args->before, SPLIT_BY_MASS) &&
	    e->search[SPLIT_BY_MASS].is_on)
		split_end_mass(args, entry, &of, sums,
			       &e->search[SPLIT_BY_MASS]);
}

/* split_end_searches() knows the cut, if the round is after the last level. */
PHILOX_FN void split_end_searches(const struct split_args *args,
				  struct split_entry *e)
{
	if (args->before.kind != SPLIT_LEVEL ||
	    (args->now.kind == SPLIT_LEVEL && args->now.level))
		return;
	for (uint32_t by = 0; by < SPLIT_SEARCHES; by++) {
		struct split_search *s = &e->search[by];
		uint64_t key;

		if (!split_is_by(&args->before, by) || !s->is_on)
			continue;
		key = split_key_of(args, s->low);
		if (by == SPLIT_BY_COUNT)
			e->by_count = key;
		e->cut = key > e->cut ? key : e->cut;
		s->is_on = 0;
	}
}

/* --- what was drawn ------------------------------------------------------- */

/*
 * A logit travels as its key. One that is not drawn, or not allowed, has no
 * key, and then SPLIT_LOWEST; 0 is that of no column of any part.
 */
#define SPLIT_LOWEST ((uint64_t)1)

PHILOX_FN uint64_t split_sent(uint64_t key)
{
	return key ? key : SPLIT_LOWEST;
}

/* split_logprob() returns the logprob of a token, by the key that came. */
PHILOX_FN float split_logprob(const struct logprob *of, uint64_t key)
{
	return key ? logprob_of(of, key) : logprob_none();
}

/* split_of() is what the logprobs of an entry are made of; its cut is 0: none. */
PHILOX_FN struct logprob split_of(const struct split_entry *e,
				  const struct sample_row *row, int raw)
{
	struct logprob of;

	of.row = raw ? split_raw_row(e) : split_row(e, row);
	of.ln = raw ? e->raw_ln : e->ln;
	of.cut = e->cut;
	if (raw)
		of.cut =
			philox_sample_token(e->raw_first) < 0 ? 0 : LOGPROB_ALL;
	return of;
}

/* split_know_draw() takes the key of the token, and the sums of masses. */
PHILOX_FN void split_know_draw(const struct split_args *args, uint64_t entry,
			       struct split_entry *e)
{
	const struct sample_args *sample = &args->sample;
	const uint64_t *sums = split_sums_of(args, &args->before, entry);
	const uint64_t *maxima = split_maxima_of(args, &args->before, entry);

	e->key = *maxima++;
	if (sample->filters.cuts)
		sample->filters.cuts[entry] =
			e->cut ? ~*maxima : SAMPLE_NO_TOKEN;
	if (logprob_are_wanted(&sample->logprobs)) {
		if (e->cut)
			e->ln = logprob_ln(filter_join(sums[0], sums[1]));
		sums += 2;
	}
	if (logprob_are_wanted(&sample->raw)) {
		if (philox_sample_token(e->raw_first) >= 0)
			e->raw_ln = logprob_ln(filter_join(sums[0], sums[1]));
		sums += 2;
	}
	if (sample->filters.kept_counts)
		sample->filters.kept_counts[entry] = (uint32_t)*sums;
}

/* Where the ids of an entry begin in what was drawn. */
PHILOX_FN uint64_t *split_ids_of(const struct split_args *args,
				 const struct split_round *round,
				 uint64_t entry, int raw)
{
	const struct sample_args *sample = &args->sample;
	uint64_t *maxima = split_maxima_of(args, round, entry) + 1 +
			   (sample->filters.cuts != NULL);

	return raw ? maxima + split_ids(&sample->logprobs, args->n_parts)
		   : maxima;
}

/*
 * split_end_ids() writes the logprobs of ids, and the first tokens, of one kind,
 * where the round before has written that there are none: what thread `from` of
 * `by` writes.
 */
PHILOX_FN void split_end_ids(const struct split_args *args, uint64_t entry,
			     const struct logprob *of, int raw, uint32_t from,
			     uint32_t by)
{
	const struct sample_logprobs *to =
		raw ? &args->sample.raw : &args->sample.logprobs;
	const uint64_t *ids = split_ids_of(args, &args->before, entry, raw);
	const uint32_t slots = to->n_top * args->n_parts;
	const uint64_t at = entry * to->n_top;

	if (!of->cut) {
		logprob_end_none(to, entry, from, by);
		return;
	}
	for (uint32_t i = from; i < to->n_ids; i += by)
		to->of_ids[entry * to->n_ids + i] = split_logprob(of, ids[i]);
	ids += to->n_ids;
	for (uint32_t i = from; i < slots; i += by) {
		uint32_t rank = 0;

		for (uint32_t k = 0; k < slots && rank < to->n_top; k++)
			rank += ids[k] > ids[i];
		if (!ids[i] || rank >= to->n_top)
			continue;
		to->top[at + rank] = philox_sample_token(ids[i]);
		to->of_top[at + rank] = logprob_of(of, ids[i]);
	}
}

/* split_begin_top() writes that there are no first tokens. */
PHILOX_FN void split_begin_top(const struct split_args *args, uint64_t entry,
			       int raw, uint32_t from, uint32_t by)
{
	const struct sample_logprobs *to =
		raw ? &args->sample.raw : &args->sample.logprobs;

	for (uint32_t i = from; i < to->n_top; i += by) {
		to->top[entry * to->n_top + i] = -1;
		to->of_top[entry * to->n_top + i] = logprob_lowest();
	}
}

/* split_know_token() writes the logprobs of the token that is drawn. */
PHILOX_FN void split_know_token(const struct split_args *args, uint64_t entry,
				const struct sample_row *row,
				const struct split_entry *e)
{
	const uint64_t *maxima = split_maxima_of(args, &args->before, entry);
	const int has_token = philox_sample_token(e->key) >= 0;

	for (int raw = 0; raw < 2; raw++) {
		const struct sample_logprobs *to =
			raw ? &args->sample.raw : &args->sample.logprobs;
		const struct logprob of = split_of(e, row, raw);

		if (to->drawn)
			to->drawn[entry] =
				has_token && of.cut
					? split_logprob(&of, maxima[raw])
					: logprob_none();
	}
}

#endif
