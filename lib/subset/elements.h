/*
 * lib/subset/elements.h - subsets by weight, for host loops and kernels alike
 *
 * Note [The cut of a subset]
 * ~~~~~~~~~~~~~~~~~~~~~~~~~~
 * A subset has the items of the `wanted` greatest keys (philox/subset.h), and
 * all keys but 0 differ. So there is a cut, and what is chosen are the keys that
 * are not below it. It is found by its digits, the highest first: a level counts
 * how many keys that begin as the cut does have each next digit, and the last
 * block to finish goes down the counts until it has as many as are still wanted.
 * That digit belongs to the cut. Six levels have 64 bits; after three, those of
 * the score, few keys are left. Where all that are left are chosen, the cut is
 * known, and the kernels of further levels end at once.
 *
 * Keys are made again at each level: a draw costs less than to keep it. And a
 * key that noise_most() shows to be below the cut so far is not made at all.
 *
 * Then items are written in their order: each chunk is counted, the counts
 * become places by a running sum, and each chunk writes at its place.
 *
 * Everything that one kernel tells the next is in the scratch memory. The first
 * kernel clears it, and looks at the state: a poisoned one has no subset.
 */
#ifndef LIB_SUBSET_ELEMENTS_H
#define LIB_SUBSET_ELEMENTS_H

#include <philox/kernel.h>
#include <philox/subset.h>
#include "lib/device/kernels.h"
#include "lib/dist/noise.h"

enum { SUBSET_QUADS = SUBSET_CHUNK / 4 };

/* --- levels --------------------------------------------------------------- */

/* The digit of a level: how many bits, above how many lower ones. */
PHILOX_FN uint32_t subset_bits(uint32_t level)
{
	return level % 3 == 2 ? 10 : 11;
}

PHILOX_FN uint32_t subset_shift(uint32_t level)
{
	const uint32_t lower = level % 3 == 0 ? 21 : level % 3 == 1 ? 10 : 0;

	return level < 3 ? 32 + lower : lower;
}

/* subset_begins() says whether a key begins as the cut does at a level. */
PHILOX_FN int subset_begins(uint64_t key, uint64_t cut, uint32_t level)
{
	return key &&
	       !((key ^ cut) >> subset_shift(level) >> subset_bits(level));
}

PHILOX_FN uint32_t subset_digit(uint64_t key, uint32_t level)
{
	return PHILOX_CAST(uint32_t, key >> subset_shift(level)) &
	       ((1u << subset_bits(level)) - 1);
}

/* subset_group() adds up the buckets of a group. */
PHILOX_FN uint32_t subset_group(const uint32_t *buckets, uint32_t group)
{
	const uint32_t each = SUBSET_BUCKETS / SUBSET_GROUPS;
	uint32_t sum = 0;

	for (uint32_t i = 0; i < each; i++)
		sum += buckets[group * each + i];
	return sum;
}

/* Ends the search: keys that are not below the cut are chosen. */
PHILOX_FN void subset_end(struct subset_work *work, uint32_t level)
{
	work->level = level;
	if (!work->cut)
		work->cut = 1; /* no key is 0 */
}

/* subset_level_end() takes the digit of the cut from what a level counted. */
PHILOX_FN void subset_level_end(const struct subset_args *args,
				const uint32_t *buckets, const uint32_t *groups)
{
	const uint32_t each = SUBSET_BUCKETS / SUBSET_GROUPS;
	struct subset_work *work = args->work;
	uint32_t left = work->level ? work->left : args->wanted;
	uint32_t group = SUBSET_GROUPS, digit;

	if (work->is_invalid) {
		subset_end(work, SUBSET_INVALID);
		return;
	}
	while (group && groups[group - 1] < left)
		left -= groups[--group];
	if (!group) { /* fewer than wanted: all */
		subset_end(work, SUBSET_FOUND);
		return;
	}
	digit = group * each - 1;
	while (buckets[digit] < left)
		left -= buckets[digit--];
	work->cut |= PHILOX_CAST(uint64_t, digit) << subset_shift(work->level);
	work->left = left;
	work->level++;
	if (buckets[digit] == left)
		subset_end(work, SUBSET_FOUND);
}

/* --- keys ----------------------------------------------------------------- */

/* Four items, those of a Philox block. */
struct subset_keys {
	uint64_t key[4]; /* 0: none, or below the least that was asked for */
};

PHILOX_FN float subset_logit(const struct subset_args *args, uint32_t item)
{
	float x;

	if (args->dtype == PHILOX_DTYPE_F32)
		x = PHILOX_CAST(const float *, args->weights)[item];
	else if (args->dtype == PHILOX_DTYPE_BF16)
		x = philox_bf16_to_f32(
			PHILOX_CAST(const uint16_t *, args->weights)[item]);
	else
		x = philox_f16_to_f32(
			PHILOX_CAST(const uint16_t *, args->weights)[item]);
	return args->is_log ? x : philox_weight_ln(x);
}

/* On a GPU it is a function of its own, so that it takes no registers. */
#ifndef SUBSET_KEY
#define SUBSET_KEY(state, item, w, logit) subset_key(state, item, w, logit)
#endif

PHILOX_FN uint64_t subset_key(struct philox_state state, uint32_t item,
			      uint32_t w, float logit)
{
	return philox_subset_key_of(item, logit,
				    philox_gumbel_of(state, item, w));
}

/* subset_quad() returns the keys of a quad that are not below `least`. */
PHILOX_FN struct subset_keys subset_quad(const struct subset_args *args,
					 struct philox_state state,
					 uint32_t quad, uint64_t least)
{
	struct philox_words words = philox_draw4(state, quad);
	struct subset_keys keys = {{0, 0, 0, 0}};

	for (uint32_t i = 0; i < 4; i++) {
		const uint32_t item = 4 * quad + i;
		float logit, most;

		if (item >= args->items)
			break;
		logit = subset_logit(args, item);
		most = philox_multiply_add(logit, 1.0f, noise_most(words.w[i]));
		if (philox_sample_order(most, item) >= least)
			keys.key[i] =
				SUBSET_KEY(state, item, words.w[i], logit);
		if (keys.key[i] < least)
			keys.key[i] = 0;
	}
	return keys;
}

PHILOX_FN uint32_t subset_quads(const struct subset_args *args)
{
	return (args->items - 1) / 4 + 1;
}

/* subset_chunks() returns how many chunks the items are counted in. */
PHILOX_FN uint32_t subset_chunks(uint32_t items)
{
	return (items - 1) / SUBSET_CHUNK + 1;
}

/* The least key that a level looks at. */
PHILOX_FN uint64_t subset_least(const struct subset_work *work)
{
	return work->cut ? work->cut : 1;
}

/* --- results -------------------------------------------------------------- */

/* subset_write() writes a chosen item at its place. */
PHILOX_FN void subset_write(const struct subset_args *args, uint32_t place,
			    uint32_t item, uint64_t key)
{
	if (place >= args->wanted) /* somebody writes weights meanwhile */
		return;
	args->chosen[place] = PHILOX_CAST(int32_t, item);
	if (args->keys)
		args->keys[place] = key;
}

/* subset_none() writes what is where nothing is chosen. */
PHILOX_FN void subset_none(const struct subset_args *args, uint32_t place)
{
	args->chosen[place] = -1;
	if (args->keys)
		args->keys[place] = args->work->level == SUBSET_INVALID
					    ? 0xffffffffffffffffULL
					    : 0;
}

/* subset_total() returns how many items are chosen, as chunks were counted. */
PHILOX_FN uint32_t subset_total(const struct subset_args *args)
{
	return args->work->level == SUBSET_INVALID
		       ? 0
		       : args->work->places[subset_chunks(args->items)];
}

PHILOX_FN void subset_count_end(const struct subset_args *args)
{
	if (args->count)
		*args->count = args->work->level == SUBSET_INVALID
				       ? 0xffffffffu
				       : subset_total(args);
}

#endif
