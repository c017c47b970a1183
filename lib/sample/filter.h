/*
 * lib/sample/filter.h - which tokens of an entry are kept, for host loop and
 * kernel alike
 *
 * Note [Kept tokens are a prefix]
 * ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
 * philox/rows.h says what a filter keeps. In every order of filters each keeps
 * the first tokens of what there is, in the order of sample_key() of the logit
 * itself. So an entry needs no set: one key, its cut, divides what is kept from
 * what is not, and the sampler compares.
 *
 * A cut is found without a sort. All columns are counted into buckets, which
 * are in the order of tokens; a walk over the buckets finds the one with the
 * last token that is kept; what is before it is taken off the goal, and the
 * next level divides that bucket. The first level has steps of t, since the bits
 * of logits have few values where most logits are; the others have bits of the
 * key, so that the last can tell columns of one logit apart, by index. When few
 * tokens are left they are listed, and each finds its rank.
 *
 * Masses are integers, so their sums are the same in any order. One has 57 bits
 * at most and is added in two halves, of 28 bits and the rest: for 2^31 columns
 * neither sum is above 2^60. Columns of one logit have one mass: so how many of
 * them are kept follows from a product, and the rest is counting.
 */
#ifndef LIB_SAMPLE_FILTER_H
#define LIB_SAMPLE_FILTER_H

#include "lib/sample/elements.h"

/* --- t and mass ----------------------------------------------------------- */

/* What t of the columns of an entry is made of. */
struct filter_row {
	float most;    /* the highest logit */
	float inverse; /* 1 / temperature; never 0 */
};

/* filter_t() returns t of philox/rows.h for a logit above -infinity. */
PHILOX_FN float filter_t(const struct filter_row *row, float logit)
{
	if (logit == row->most)
		return 0.0f;
	return philox_multiply(philox_subtract(logit, row->most), row->inverse);
}

/* filter_mass() returns floor(exp(t) 2^56) for t <= 0. */
PHILOX_FN uint64_t filter_mass(float t)
{
	const uint32_t bits = philox_f32_bits(philox_exp_f32(t));
	const uint64_t digits = (bits & 0x7fffffu) | 0x800000u;
	const uint32_t power = bits >> 23; /* 127 for 1 */

	/* exp(t) is digits 2^(power - 150) */
	if (power >= 94)
		return digits << (power - 94);
	return power >= 71 ? digits >> (94 - power) : 0;
}

/* A sum of masses: high 2^64 + low. */
struct filter_sum {
	uint64_t high, low;
};

#define FILTER_HALF 28 /* bits of a mass's lower half */

PHILOX_FN uint64_t filter_lower(uint64_t mass)
{
	return mass & ((1u << FILTER_HALF) - 1);
}

PHILOX_FN uint64_t filter_upper(uint64_t mass)
{
	return mass >> FILTER_HALF;
}

/* filter_join() returns upper 2^28 + lower, of sums of halves. */
PHILOX_FN struct filter_sum filter_join(uint64_t upper, uint64_t lower)
{
	struct filter_sum sum;

	sum.low = (upper << FILTER_HALF) + lower;
	sum.high = (upper >> (64 - FILTER_HALF)) + (sum.low < lower);
	return sum;
}

PHILOX_FN int filter_is_less(struct filter_sum a, struct filter_sum b)
{
	return a.high < b.high || (a.high == b.high && a.low < b.low);
}

PHILOX_FN struct filter_sum filter_minus(struct filter_sum a,
					 struct filter_sum b)
{
	struct filter_sum sum;

	sum.low = a.low - b.low;
	sum.high = a.high - b.high - (a.low < b.low);
	return sum;
}

/*
 * filter_share() returns p `total` rounded up, but 1 at least, for p in [0, 1)
 * or -0, and total < 2^88. A sum of masses is below p `total` if it is below
 * this.
 */
PHILOX_FN struct filter_sum filter_share(struct filter_sum total, float p)
{
	/* p is digits 2^-shift; below 2^-88 any p has one token */
	const uint32_t bits = philox_f32_bits(p), shift = 150 - (bits >> 23);
	const uint32_t digits = (bits & 0x7fffffu) | 0x800000u;
	uint64_t low = (total.low & 0xffffffffu) * digits;
	uint64_t middle = (total.low >> 32) * digits + (low >> 32), lost = 0;
	struct filter_sum sum;

	sum.high = total.high * digits + (middle >> 32);
	sum.low = middle << 32 | (low & 0xffffffffu);
	if (shift < 64) {
		lost = sum.low << (64 - shift);
		sum.low = sum.low >> shift | sum.high << (64 - shift);
		sum.high >>= shift;
	} else if (shift < 128) {
		lost = sum.low | (shift > 64 ? sum.high << (128 - shift) : 0);
		sum.low = sum.high >> (shift - 64);
		sum.high = 0;
	} else {
		sum.low = sum.high = 0;
	}
	if (lost || !(sum.low | sum.high))
		sum.high += ++sum.low == 0;
	return sum;
}

/* --- places --------------------------------------------------------------- */

/* The upper half of a key, in the order of logits: that of -f32's largest. */
#define FILTER_LOWEST 0x00800000u

/* filter_logit() returns the logit of a key. */
PHILOX_FN float filter_logit(uint64_t key)
{
	const uint32_t place = (uint32_t)(key >> 32);

	return philox_f32_from_bits(place >> 31 ? place & 0x7fffffffu : ~place);
}

/*
 * filter_lowest() returns the first key that the lowest logit with t >= `least`
 * may have, for least <= 0: t never goes down with the logit.
 */
PHILOX_FN uint64_t filter_lowest(const struct filter_row *row, float least)
{
	uint32_t low = FILTER_LOWEST;
	uint32_t high = (uint32_t)(sample_key(row->most, 0) >> 32);

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (filter_t(row, filter_logit((uint64_t)middle << 32)) >=
		    least)
			high = middle;
		else
			low = middle + 1;
	}
	return (uint64_t)low << 32;
}

/* filter_mass_of() returns the mass of a token by its key. */
PHILOX_FN uint64_t filter_mass_of(const struct filter_row *row, uint64_t key)
{
	return filter_mass(filter_t(row, filter_logit(key)));
}

/* --- buckets -------------------------------------------------------------- */

enum {
	FILTER_BUCKETS = 2048,
	FILTER_GROUP = 64, /* buckets that a walk takes together */
	FILTER_GROUPS = FILTER_BUCKETS / FILTER_GROUP,
	FILTER_STEPS = 32 /* of the first level, in a unit of t */
};

/* Of tokens: how many, and their mass in halves; 0 where it is not asked for. */
struct filter_bucket {
	uint64_t upper, lower;
	uint32_t count;
};

struct filter_buckets {
	uint64_t upper[FILTER_BUCKETS], lower[FILTER_BUCKETS];
	uint32_t count[FILTER_BUCKETS];
};

#ifdef __CUDA_ARCH__
#define FILTER_ADD(to, value) \
	atomicAdd((unsigned long long *)(to), (unsigned long long)(value))
#define FILTER_COUNT(to) atomicAdd(to, 1u)
#else
#define FILTER_ADD(to, value) (*(to) += (value))
#define FILTER_COUNT(to)      ((*(to))++)
#endif

/*
 * filter_step() returns the bucket of a first level, of which a unit of t has
 * `steps`, a power of 2, and whose last has all that is left.
 */
PHILOX_FN uint32_t filter_step(float t, int steps, uint32_t last)
{
	const float step = philox_multiply(t, -(float)steps);

	return step < (float)last ? (uint32_t)step : last;
}

/* filter_step_least() returns the lowest t of a step but the last. */
PHILOX_FN float filter_step_least(uint32_t step, int steps)
{
	const float next = (float)(step + 1) * (-1.0f / (float)steps);

	return philox_f32_from_bits(philox_f32_bits(next) - 1);
}

PHILOX_FN void filter_clear(struct filter_buckets *buckets, uint32_t from,
			    uint32_t by)
{
	for (uint32_t i = from; i < FILTER_BUCKETS; i += by) {
		buckets->count[i] = 0;
		buckets->upper[i] = 0;
		buckets->lower[i] = 0;
	}
}

/* filter_group() adds up the buckets of a group. */
PHILOX_FN struct filter_bucket filter_group(
	const struct filter_buckets *buckets, uint32_t group)
{
	struct filter_bucket sum = {0, 0, 0};

	for (uint32_t i = 0; i < FILTER_GROUP; i++) {
		sum.upper += buckets->upper[group * FILTER_GROUP + i];
		sum.lower += buckets->lower[group * FILTER_GROUP + i];
		sum.count += buckets->count[group * FILTER_GROUP + i];
	}
	return sum;
}

/* --- searches ------------------------------------------------------------- */

/*
 * A search for the last token that is kept, of those whose key is `floor` or
 * above. It is one of those with a key from `low` to `high`, of which there are
 * `left`; the goal is counted from the first of them.
 */
struct filter_search {
	uint64_t base; /* by mass: the least key that counts for the total */
	uint64_t floor;
	uint64_t low, high;
	uint64_t left;
	struct filter_sum below; /* by mass: kept if the mass before is less */
	uint32_t count;          /* by count: how many are kept */
	float p;
	uint32_t shift; /* of keys into buckets */
	int by_mass;
	int needs_total; /* `below` is not known yet */
	int level;       /* 0: the first */
	int done;        /* the tokens from `low` on are kept */
};

PHILOX_FN void filter_search_begin(struct filter_search *s, uint64_t floor)
{
	s->base = s->floor = s->low = floor;
	s->high = SAMPLE_NO_TOKEN;
	s->left = 0;
	s->below.high = s->below.low = 0;
	s->count = 0;
	s->p = 0;
	s->shift = 0;
	s->by_mass = s->needs_total = 0;
	s->level = 0;
	s->done = 0;
}

/* filter_know_total() takes the sum of all masses from `base` on, in halves. */
PHILOX_FN void filter_know_total(struct filter_search *s, uint64_t upper,
				 uint64_t lower)
{
	s->below = filter_share(filter_join(upper, lower), s->p);
	s->needs_total = 0;
}

/* filter_is_in() says whether the search is among tokens like this one. */
PHILOX_FN int filter_is_in(const struct filter_search *s, uint64_t key)
{
	return key >= s->low && key <= s->high;
}

/* filter_count() counts a token that the search is among. */
PHILOX_FN void filter_count(const struct filter_search *s,
			    const struct filter_row *row, uint64_t key,
			    struct filter_buckets *buckets)
{
	float t = 0;
	uint64_t mass;
	uint32_t i;

	if (s->by_mass || s->level == 0)
		t = filter_t(row, filter_logit(key));
	i = s->level ? (uint32_t)((s->high - key) >> s->shift)
		     : filter_step(t, FILTER_STEPS, FILTER_BUCKETS - 1);
	FILTER_COUNT(&buckets->count[i]);
	if (!s->by_mass)
		return;
	mass = filter_mass(t);
	if (filter_lower(mass))
		FILTER_ADD(&buckets->lower[i], filter_lower(mass));
	if (filter_upper(mass))
		FILTER_ADD(&buckets->upper[i], filter_upper(mass));
}

/* filter_pass() says whether the goal is in a bucket, or takes it off. */
PHILOX_FN int filter_pass(struct filter_search *s, struct filter_bucket bucket)
{
	const struct filter_sum mass = filter_join(bucket.upper, bucket.lower);

	if (s->by_mass && !filter_is_less(mass, s->below))
		return 1;
	if (!s->by_mass && bucket.count >= s->count)
		return 1;
	if (s->by_mass)
		s->below = filter_minus(s->below, mass);
	else
		s->count -= bucket.count;
	return 0;
}

/* All tokens from `floor` on are kept where the goal is not among them. */
PHILOX_FN int filter_finds_all(const struct filter_search *s,
			       const struct filter_bucket groups[FILTER_GROUPS])
{
	struct filter_bucket total = {0, 0, 0};

	for (uint32_t i = 0; i < FILTER_GROUPS; i++) {
		total.upper += groups[i].upper;
		total.lower += groups[i].lower;
		total.count += groups[i].count;
	}
	return s->by_mass
		       ? filter_is_less(filter_join(total.upper, total.lower),
					s->below)
		       : total.count <= s->count;
}

/* Of tokens of one logit: how many are kept, where masses say so. */
PHILOX_FN void filter_turn_to_count(struct filter_search *s,
				    const struct filter_row *row)
{
	const uint64_t mass = filter_mass_of(row, s->low);
	uint64_t low = 1, high = s->left;

	while (low < high) {
		const uint64_t n = low + (high - low) / 2;
		const struct filter_sum sum = filter_join(
			n * filter_upper(mass), n * filter_lower(mass));

		if (filter_is_less(sum, s->below))
			low = n + 1;
		else
			high = n;
	}
	s->count = (uint32_t)low;
	s->by_mass = 0;
}

/* Keys from s->high down, or steps of t, that are in bucket i. */
PHILOX_FN void filter_narrow(struct filter_search *s,
			     const struct filter_row *row, uint32_t i)
{
	uint64_t low = s->low, high = s->high;

	if (s->level) {
		high = s->high - ((uint64_t)i << s->shift);
		if ((high - s->low) >> s->shift)
			low = high - (((uint64_t)1 << s->shift) - 1);
	} else {
		if (i < FILTER_BUCKETS - 1)
			low = filter_lowest(row,
					    filter_step_least(i, FILTER_STEPS));
		if (i)
			high = filter_lowest(
				       row,
				       filter_step_least(i - 1, FILTER_STEPS)) -
			       1;
		else
			high = sample_key(row->most, 0);
	}
	s->low = low > s->low ? low : s->low;
	s->high = high;
}

/*
 * filter_level_end() ends a level: the search goes on in one of its buckets, or
 * is done.
 */
PHILOX_FN void filter_level_end(
	struct filter_search *s, const struct filter_row *row,
	const struct filter_buckets *buckets,
	const struct filter_bucket groups[FILTER_GROUPS])
{
	struct filter_bucket bucket = {0, 0, 0};
	uint32_t i = 0;

	if (s->level == 0 && filter_finds_all(s, groups)) {
		s->done = 1;
		return;
	}
	while (i < FILTER_GROUPS - 1 && !filter_pass(s, groups[i]))
		i++;
	for (i *= FILTER_GROUP; i < FILTER_BUCKETS; i++) {
		bucket.upper = buckets->upper[i];
		bucket.lower = buckets->lower[i];
		bucket.count = buckets->count[i];
		if (filter_pass(s, bucket))
			break;
	}
	filter_narrow(s, row, i);
	s->left = bucket.count;
	s->level++;
	if (s->by_mass && s->left > 1 && s->low >> 32 == s->high >> 32)
		filter_turn_to_count(s, row);
	s->done = s->left == 1 || (!s->by_mass && s->left == s->count);
	for (s->shift = 0; (s->high - s->low) >> s->shift >= FILTER_BUCKETS;)
		s->shift++;
}

/*
 * filter_is_last() says whether key i of the n that the search is among, in any
 * order, is the last that is kept.
 */
PHILOX_FN int filter_is_last(const struct filter_search *s,
			     const struct filter_row *row, const uint64_t *keys,
			     uint32_t n, uint32_t i)
{
	struct filter_bucket before = {0, 0, 0};
	struct filter_sum sum;
	uint64_t mass;

	for (uint32_t k = 0; k < n; k++) {
		if (keys[k] <= keys[i])
			continue;
		before.count++;
		if (!s->by_mass)
			continue;
		mass = filter_mass_of(row, keys[k]);
		before.upper += filter_upper(mass);
		before.lower += filter_lower(mass);
	}
	if (!s->by_mass)
		return before.count + 1 == s->count;
	mass = filter_mass_of(row, keys[i]);
	sum = filter_join(before.upper, before.lower);
	if (!filter_is_less(sum, s->below))
		return 0;
	sum = filter_join(before.upper + filter_upper(mass),
			  before.lower + filter_lower(mass));
	return !filter_is_less(sum, s->below);
}

/* --- the filters of an entry ---------------------------------------------- */

enum filter_by { FILTER_BY_COUNT, FILTER_BY_MASS, FILTER_BY_NOTHING };

#define FILTER_M_LEAST 1.17549435e-38f /* 2^-126: a min_p below it keeps all */

/* A filter that keeps all is 0, 1 or 0, whether it is used or not. */
struct filter {
	uint32_t k;
	float p, m;
	uint32_t order;
	enum filter_by next; /* what filter_next() begins */
	uint64_t cut;        /* the least key that may be kept */
	uint64_t base;       /* the least that top-p takes its share of */
};

/* For numbers in [0, 1] and -0; the bits of NaN are above. */
PHILOX_FN int filter_is_share(float x)
{
	const uint32_t bits = philox_f32_bits(x);

	return bits <= 0x3f800000u || bits == 0x80000000u;
}

/* filter_begin() looks up the filters of an entry; 0 if one is out of range. */
PHILOX_FN int filter_begin(const struct sample_filters *args, uint64_t entry,
			   struct filter *filter)
{
	filter->k = args->top_ks ? args->top_ks[entry] : args->top_k;
	filter->p = args->top_ps ? args->top_ps[entry] : args->top_p;
	filter->m = args->min_ps ? args->min_ps[entry] : args->min_p;
	filter->order = args->order;
	filter->next = FILTER_BY_COUNT;
	filter->cut = filter->base = 0;
	return filter_is_share(filter->p) && filter_is_share(filter->m);
}

/* filter_keeps_all() says whether no filter of an entry can remove a token. */
PHILOX_FN int filter_keeps_all(const struct filter *filter)
{
	return !filter->k && filter->p == 1.0f && filter->m < FILTER_M_LEAST;
}

/* The lowest key above -infinity, or that min-p leaves. */
PHILOX_FN uint64_t filter_least(const struct filter *filter,
				const struct filter_row *row)
{
	if (filter->m < FILTER_M_LEAST)
		return (uint64_t)FILTER_LOWEST << 32;
	return filter_lowest(row, philox_ln_f32(filter->m));
}

/* A search for the last of the first k. */
PHILOX_FN void filter_begin_count(const struct filter *filter,
				  struct filter_search *s)
{
	filter_search_begin(s, (uint64_t)FILTER_LOWEST << 32);
	s->count = filter->k;
}

/* A search for the last of the share p, of what is kept already. */
PHILOX_FN void filter_begin_mass(const struct filter *filter,
				 struct filter_search *s)
{
	filter_search_begin(s, filter->cut);
	s->base = filter->base;
	s->p = filter->p;
	s->by_mass = s->needs_total = 1;
}

/*
 * filter_next() begins the next search for an entry's cut, after `s` is done,
 * or returns 0: then filter->cut is known.
 */
PHILOX_FN int filter_next(struct filter *filter, const struct filter_row *row,
			  struct filter_search *s)
{
	if (filter->next == FILTER_BY_COUNT) {
		filter->next = FILTER_BY_MASS;
		filter->cut = filter_least(filter, row);
		filter->base = filter->order == PHILOX_FILTER_ORDER_MKP
				       ? filter->cut
				       : (uint64_t)FILTER_LOWEST << 32;
		if (filter->k) {
			filter_begin_count(filter, s);
			return 1;
		}
		s->low = 0;
	}
	filter->cut = s->low > filter->cut ? s->low : filter->cut;
	if (filter->next == FILTER_BY_NOTHING || filter->p == 1.0f)
		return 0;
	filter->next = FILTER_BY_NOTHING;
	if (filter->order != PHILOX_FILTER_ORDER_JOINT && s->low > filter->base)
		filter->base = s->low;
	filter_begin_mass(filter, s);
	return 1;
}

enum filter_work {
	FILTER_DONE,  /* filter->cut is known */
	FILTER_TOTAL, /* add up the masses of the columns from `base` on */
	FILTER_LEVEL, /* count the columns into buckets */
	FILTER_LIST   /* list the columns that the search is among */
};

/* filter_proceed() says what is next; tokens up to `few` are listed. */
PHILOX_FN enum filter_work filter_proceed(struct filter *filter,
					  const struct filter_row *row,
					  struct filter_search *s, uint32_t few)
{
	if (s->done && !filter_next(filter, row, s))
		return FILTER_DONE;
	if (s->needs_total)
		return FILTER_TOTAL;
	return s->level && s->left <= few ? FILTER_LIST : FILTER_LEVEL;
}

/* filter_is_asked() says whether a call asks for what is kept. */
PHILOX_FN int filter_is_asked(const struct sample_filters *args)
{
	return args->cuts || args->kept_counts;
}

/* filter_keep() writes that token v is the one at a place of those kept. */
PHILOX_FN void filter_keep(const struct sample_filters *args, uint64_t entry,
			   uint32_t place, uint32_t v)
{
	if (args->kept && place < args->kept_pitch)
		args->kept[entry * args->kept_pitch + place] = (int32_t)v;
}

/* What an entry keeps: the last key, and how many tokens. */
struct filter_kept {
	uint64_t last;
	uint32_t count;
};

/* filter_end() writes it where it is asked for. */
PHILOX_FN void filter_end(const struct sample_filters *args, uint64_t entry,
			  const struct filter_kept *kept)
{
	if (args->cuts)
		args->cuts[entry] = kept->last;
	if (args->kept_counts)
		args->kept_counts[entry] = kept->count;
}

#endif
