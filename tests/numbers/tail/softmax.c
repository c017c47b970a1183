/*
 * tests/numbers/tail/softmax.c - a token far below the head has its probability
 *
 * Nothing is sampled. Where the head's noise is known, the tail wins with the
 * largest of its noises, and how many there are is found by bisection, since
 * noise does not rise with its word. The head's words are cut into intervals;
 * its noise at their ends bounds the probability from below and above.
 */
#include <math.h>
#include "tests/support/support.h"

/*
 * Noise number i, from the largest on: small words with each 32 bits after
 * them, then the other words.
 */
#define SMALL ((uint64_t)PHILOX_SMALL_WORD << 32)
#define ALL   (SMALL + ((uint64_t)1 << 32) - PHILOX_SMALL_WORD)

static float noise(uint64_t i)
{
	const struct philox_state none = {0, 0};

	if (i < SMALL)
		return philox_gumbel_of_exponential(philox_exponential_small(
			(uint32_t)(i >> 32), (uint32_t)i));
	return philox_gumbel_of(none, 0,
				(uint32_t)(i - SMALL + PHILOX_SMALL_WORD));
}

static uint64_t number_of_word(uint64_t w)
{
	return w < PHILOX_SMALL_WORD ? w << 32 : w - PHILOX_SMALL_WORD + SMALL;
}

/* The probability of the noises before number i. */
static double share(uint64_t i)
{
	return i < SMALL ? (double)i * 0x1p-64
			 : (double)(i - SMALL + PHILOX_SMALL_WORD) * 0x1p-32;
}

/* Two tokens: the head's logit is 0 and the tail's -gap. */
struct pair {
	float gap;
	int tail_first; /* in index: it wins ties */
};

static int tail_wins(const struct pair *pair, uint64_t i, float head)
{
	float tail = fmaf(-pair->gap, 1, noise(i));

	return pair->tail_first ? tail >= head : tail > head;
}

/* Near the first number that is not enough for the tail. */
static uint64_t guess(const struct pair *pair, float head)
{
	double v = -expm1(-exp(-(double)head - (double)pair->gap));

	return v < 0x1p-24 ? (uint64_t)(v * 0x1p64)
	       : v < 1     ? number_of_word((uint64_t)(v * 0x1p32))
			   : ALL - 1;
}

/* The probability that the tail wins against this noise of the head. */
static double share_of_tail(const struct pair *pair, float head)
{
	uint64_t begin = guess(pair, head), end = begin, step = begin >> 24 | 1;

	for (; begin && !tail_wins(pair, begin - 1, head); step *= 2)
		begin = begin > step ? begin - step : 0;
	for (; end < ALL && tail_wins(pair, end, head); step *= 2)
		end = ALL - end > step ? end + step : ALL;
	/* all before `begin` win, and none from `end` on does */
	while (begin < end) {
		uint64_t middle = begin + (end - begin) / 2;

		if (tail_wins(pair, middle, head))
			begin = middle + 1;
		else
			end = middle;
	}
	return share(begin);
}

enum { INTERVALS = 1 << 15 };

/*
 * The head's word where interval i begins. Intervals are narrow where the
 * tail's share changes much, so that the bounds differ by 4 / INTERVALS.
 */
static uint64_t interval(int i)
{
	double rest = 1 - (double)i / INTERVALS;

	return (uint64_t)((1 - rest * rest) * 0x1p32);
}

static void tail_is_exact(const struct pair *pair, const float *head)
{
	double gap = (double)pair->gap, softmax = exp(-gap) / (1 + exp(-gap));
	double least = 0, most = 0, before, after = 0;

	for (int i = 0; i <= INTERVALS; i++) {
		double width = i ? (double)(interval(i) - interval(i - 1)) : 0;

		before = after;
		after = share_of_tail(pair, head[i]);
		least += width * before * 0x1p-32;
		most += width * after * 0x1p-32;
	}
	cr_assert(least > softmax * (1 - 1e-4) && most < softmax * (1 + 1e-4),
		  "a token %g below the head, %s it: %.9g to %.9g of %.9g", gap,
		  pair->tail_first ? "before" : "after", least / softmax,
		  most / softmax, softmax);
}

static void all_tails_are_exact(int tail_first)
{
	static float head[INTERVALS + 1];

	for (int i = 0; i <= INTERVALS; i++)
		head[i] = noise(i < INTERVALS ? number_of_word(interval(i))
					      : ALL - 1);
	for (int quarter = 0; quarter <= 160; quarter++) {
		struct pair pair = {(float)quarter / 4, tail_first};

		tail_is_exact(&pair, head);
	}
}

Test(tail, a_token_before_the_head_has_its_softmax_probability, .timeout = 300)
{
	all_tails_are_exact(1);
}

Test(tail, a_token_after_the_head_has_its_softmax_probability, .timeout = 300)
{
	all_tails_are_exact(0);
}

/* What the bisection relies on, most of all where refined words end. */
Test(tail, noise_does_not_rise_with_its_word)
{
	float before = noise(0), x;

	cr_assert(before > 45.05f && before < 45.06f, "%a", before);
	for (uint64_t i = 1; i < SMALL; i += i / 50000 + 1, before = x) {
		x = noise(i);
		cr_assert(x <= before, "%llx: %a after %a",
			  (unsigned long long)i, x, before);
	}
	cr_assert(noise(SMALL) < noise(SMALL - 1));
	for (uint64_t i = SMALL; i < ALL; i += 4001, before = x) {
		x = noise(i);
		cr_assert(x <= before, "%llx: %a after %a",
			  (unsigned long long)i, x, before);
	}
	cr_assert(noise(ALL - 1) > -3.14f && noise(ALL - 1) < -3.12f);
}
