/*
 * lib/dist/noise.h - a bound of Gumbel noise, which costs less than the noise
 */
#ifndef LIB_DIST_NOISE_H
#define LIB_DIST_NOISE_H

#include <philox/real.h>

/*
 * Note [Noise that cannot win]
 * ~~~~~~~~~~~~~~~~~~~~~~~~~~~~
 * A token is the column of the highest score, fma(logit, 1 / temperature,
 * noise) (philox/rows.h), and nearly all columns are out of the question
 * before their noise is made: noise_most() is a number that the noise of a word
 * is not above, and a sum that is rounded once does not go down where a term
 * goes up. So a column is looked at more closely only if fma(logit, 1 /
 * temperature, noise_most(w)) is not below the best score so far. That is a
 * test of what is done, not of what comes out: the tokens and keys are those of
 * all the noise, in any order of columns.
 *
 * The bound: with x = w >> 1, v is at least x 2^-31, also for small words, whose
 * refined v is at least w 2^-32. The noise is -ln(-ln(1 - v)), which is at most
 * -ln(v). The bits of a float x, as an integer, are at most (127 + log2(x))
 * 2^23, since log2(1 + m) is at least m from 0 to 1. So the noise is at most
 *
 *     158 ln(2) - bits(x) ln(2) 2^-23
 *
 * and NOISE_TOP has 0.001 more, for what conversions, fma and the noise itself
 * round (2e-5 in all). x = 0 has 109.5; no noise is above 45.1. For words from 2
 * to 2^31 the bound is at most 0.7 too high, 0.2 on average; for the largest
 * words 3.2.
 */
#define NOISE_TOP   109.518257f    /* 158 ln(2) + 0.001 */
#define NOISE_SLOPE 8.26295832e-8f /* ln(2) 2^-23 */

/* noise_most() returns a number that the Gumbel noise of a word is not above. */
PHILOX_FN float noise_most(uint32_t w)
{
	float x = PHILOX_CAST(float, PHILOX_CAST(int32_t, w >> 1));
	float bits =
		PHILOX_CAST(float, PHILOX_CAST(int32_t, philox_f32_bits(x)));

	return philox_multiply_add(bits, -NOISE_SLOPE, NOISE_TOP);
}

#endif
