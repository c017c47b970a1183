/*
 * philox/integers.h - integers of a range, for your own kernels
 *
 *   struct philox_interval die = philox_interval_u32(1, 6);    on the host
 *   uint32_t x = philox_integer_at(state, e, die);
 *
 * Every integer of the range is equally likely, and each element has the same
 * integer as in fills (philox/fill.h). As in philox/draw.h a block makes four
 * 32-bit integers, or two 64-bit ones. i32 and i64 are two's complement: cast.
 *
 * A word that would favour some integers is rejected, and its element is drawn
 * again at philox_retry_state(); so an element may take several blocks, each
 * after the first being less than 1/2 as likely as the one before, and the
 * advance stays the same. A poisoned state gives all-ones.
 */
#ifndef PHILOX_INTEGERS_H
#define PHILOX_INTEGERS_H

#include <philox/draw.h>

#ifdef __cplusplus
extern "C" {
#endif

/* struct philox_interval is a range of integers, its ends included. */
struct philox_interval {
	uint64_t from;
	uint64_t n;      /* how many; 0 means 2^64 */
	uint64_t reject; /* 2^32 or 2^64 mod n */
};

/* philox_interval_u32() is `from` .. `to` for draws of 32 bits, from <= to. */
PHILOX_FN struct philox_interval philox_interval_u32(uint32_t from, uint32_t to)
{
	struct philox_interval interval;

	interval.from = from;
	interval.n = PHILOX_CAST(uint64_t, to - from) + 1;
	interval.reject = 0x100000000ULL % interval.n;
	return interval;
}

/*
 * philox_interval_u64() is the same for draws of 64 bits: 2^64 mod n is (2^64 -
 * n) mod n.
 */
PHILOX_FN struct philox_interval philox_interval_u64(uint64_t from, uint64_t to)
{
	struct philox_interval interval;

	interval.from = from;
	interval.n = to - from + 1;
	interval.reject = interval.n ? (0 - interval.n) % interval.n : 0;
	return interval;
}

/* --- drawing again -------------------------------------------------------- */

/*
 * philox_integer_again() is the place in the range of an element whose first
 * draw was rejected. It ends with probability 1; each try fails with a
 * probability of less than 1/2.
 */
PHILOX_RARE uint32_t philox_integer_again(struct philox_state state,
					  uint64_t element, uint64_t n,
					  uint32_t reject)
{
	uint32_t place = 0;
	int rejected = 1;

	for (uint64_t t = 0; rejected; t++) {
		struct philox_state retry = philox_retry_state(state, t);

		place = philox_integer_u32(philox_word_at(retry, element), n,
					   reject, &rejected);
	}
	return place;
}

PHILOX_RARE uint64_t philox_integer64_again(struct philox_state state,
					    uint64_t element, uint64_t n,
					    uint64_t reject)
{
	uint64_t place = 0;
	int rejected = 1;

	for (uint64_t t = 0; rejected; t++) {
		struct philox_state retry = philox_retry_state(state, t);

		place = philox_integer_u64(philox_word64_at(retry, element), n,
					   reject, &rejected);
	}
	return place;
}

/* philox_integer_of() is the integer that an element gets from its word. */
PHILOX_FN uint32_t philox_integer_of(struct philox_state state,
				     uint64_t element, uint32_t w,
				     struct philox_interval interval)
{
	uint32_t reject = PHILOX_CAST(uint32_t, interval.reject), place;
	int rejected;

	place = philox_integer_u32(w, interval.n, reject, &rejected);
	if (rejected)
		place = philox_integer_again(state, element, interval.n,
					     reject);
	return PHILOX_CAST(uint32_t, interval.from) + place;
}

PHILOX_FN uint64_t philox_integer64_of(struct philox_state state,
				       uint64_t element, uint64_t w64,
				       struct philox_interval interval)
{
	uint64_t place;
	int rejected;

	place = philox_integer_u64(w64, interval.n, interval.reject, &rejected);
	if (rejected)
		place = philox_integer64_again(state, element, interval.n,
					       interval.reject);
	return interval.from + place;
}

/* --- a block, or one element ---------------------------------------------- */

/* philox_integers4() draws the four 32-bit integers of a block. */
PHILOX_FN struct philox_words philox_integers4(struct philox_state state,
					       uint64_t block,
					       struct philox_interval interval)
{
	struct philox_words words = philox_draw4(state, block);

	for (unsigned i = 0; i < 4; i++) {
		words.w[i] = philox_integer_of(state, 4 * block + i, words.w[i],
					       interval);
		words.w[i] |=
			0u - PHILOX_CAST(uint32_t, philox_is_poison(state));
	}
	return words;
}

/* philox_integers2() draws the two 64-bit integers of a block. */
PHILOX_FN struct philox_words64 philox_integers2(
	struct philox_state state, uint64_t block,
	struct philox_interval interval)
{
	struct philox_words64 words = philox_words2(state, block);

	for (unsigned i = 0; i < 2; i++) {
		words.w[i] = philox_integer64_of(state, 2 * block + i,
						 words.w[i], interval);
		words.w[i] |=
			0u - PHILOX_CAST(uint64_t, philox_is_poison(state));
	}
	return words;
}

/* philox_integer_at() draws the 32-bit integer of one element. */
PHILOX_FN uint32_t philox_integer_at(struct philox_state state,
				     uint64_t element,
				     struct philox_interval interval)
{
	uint32_t x = philox_integer_of(
		state, element, philox_word_at(state, element), interval);

	return x | (0u - PHILOX_CAST(uint32_t, philox_is_poison(state)));
}

/* philox_integer64_at() draws the 64-bit integer of one element. */
PHILOX_FN uint64_t philox_integer64_at(struct philox_state state,
				       uint64_t element,
				       struct philox_interval interval)
{
	uint64_t x = philox_integer64_of(
		state, element, philox_word64_at(state, element), interval);

	return x | (0u - PHILOX_CAST(uint64_t, philox_is_poison(state)));
}

#ifdef __cplusplus
}
#endif
#endif
