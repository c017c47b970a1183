/*
 * philox/weights.h - draws by weight, with replacement
 *
 *   philox_weight_sums(weights, count, sums);
 *   uint64_t category = philox_categorical_at(state, e, sums, count);
 *
 * Category i is drawn with a probability of exactly W[i] / (W[0] + ... +
 * W[count - 1]), where W[i] is an integer. `sums` has the running sums of these
 * integers: sums[i] is W[0] + ... + W[i]. Elements are independent of each
 * other: these are draws with replacement (without: philox/subset.h). A draw
 * takes a search in the sums, of as many steps as count has binary digits, and
 * no memory of its own, so millions of categories are fine.
 *
 * Whoever has integer weights, such as counts, makes the sums of them; any
 * integers will do whose total is above 0 and below 2^64. For real weights
 * there is philox_weight_sums(). It gives the same integers on every machine.
 *
 * A fill of dist PHILOX_DIST_CATEGORICAL (philox/fill.h) draws the same from
 * sums in memory of the device.
 */
#ifndef PHILOX_WEIGHTS_H
#define PHILOX_WEIGHTS_H

#include <philox/draw.h>
#include <philox/state.h>
#ifndef __CUDACC_RTC__
#include <stddef.h>
#include <philox/status.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* --- with replacement: integer weights of real ones ----------------------- */

#ifndef __CUDACC_RTC__

/*
 * Make integer weights of real ones, and write their running sums.
 *
 *   weights  `count` of them, each finite and not below 0; one is above 0
 *   count    how many categories, at least 1
 *   sums     written: sums[i] is the sum of the integer weights 0 .. i; memory
 *            of the host, apart from weights
 *
 * Let S be the exact sum of all weights, and s the largest integer with S 2^s <
 * 2^62. The integer weight of w is floor(w 2^s + 1/2), computed exactly, but at
 * least 1 if w is above 0. So a category of weight 0 is never drawn, and any
 * other may be. No integer weight is off by as much as 1, in a total of some
 * 2^61 at least; it is below 2^63. Weights all of which are multiplied by one
 * power of two have the same sums, and whole numbers of a sum below 2^62 have
 * their exact ratios.
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID  a pointer is NULL; count is 0; a weight is below 0,
 *                         infinite or NaN: the message has its index and
 *                         value; all weights are 0
 * During capture: legal, and not recorded: it is done once, now.
 * Threads: any, at any time, on different sums.
 */
PHILOX_API enum philox_status philox_weight_sums(const double *weights,
						 size_t count, uint64_t *sums);

#endif

/* --- with replacement: a category ----------------------------------------- */

/*
 * Return the category that an integer x selects: how many sums are not above x.
 *
 *   x      below the total, sums[count - 1]; else the result is all ones
 *   sums   running sums of integer weights, none below the one before it
 *   count  how many, at least 1
 *
 * Of all x below the total, as many as a category's weight select it.
 *
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_FN uint64_t philox_categorical_of(uint64_t x, const uint64_t *sums,
					 uint64_t count)
{
	uint64_t low = 0, rest = count - 1;

	if (x >= sums[count - 1])
		return ~PHILOX_CAST(uint64_t, 0);
	while (rest) {
		const uint64_t half = rest / 2;

		if (sums[low + half] <= x) {
			low += half + 1;
			rest -= half + 1;
		} else {
			rest = half;
		}
	}
	return low;
}

/*
 * Return the range of the integers that select categories.
 *
 *   sums   running sums of integer weights
 *   count  how many, at least 1
 *
 * It is that of all integers below their total. A total of 0 has all of 2^64,
 * of which none selects a category.
 *
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_FN struct philox_interval philox_categorical_interval(
	const uint64_t *sums, uint64_t count)
{
	return philox_interval_u64(0, sums[count - 1] - 1);
}

/*
 * Return the category of an element.
 *
 *   state    the state
 *   element  the element, which takes two words as 64-bit integers do
 *   sums     running sums of integer weights, none below the one before it
 *   count    how many, at least 1
 *
 * x is the 64-bit integer from 0 to sums[count - 1] - 1 that the element has by
 * philox_integer64_at(), and philox_categorical_of() finds its category. A
 * total of 0 and a poisoned state give all ones.
 *
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_FN uint64_t philox_categorical_at(struct philox_state state,
					 uint64_t element, const uint64_t *sums,
					 uint64_t count)
{
	return philox_categorical_of(
		philox_integer64_at(state, element,
				    philox_categorical_interval(sums, count)),
		sums, count);
}

#ifdef __cplusplus
}
#endif
#endif
