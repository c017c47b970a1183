/*
 * tests/support/oracles/counters.h - the owners of Philox blocks
 *
 * A block is named by its key and its 128-bit counter, {low, high}. This is a
 * model of the comments of philox/state.h and philox/region.h only: the blocks
 * that an operator may consume, listed one by one, and a set that knows the
 * owner of each.
 */
#ifndef TESTS_SUPPORT_COUNTERS_H
#define TESTS_SUPPORT_COUNTERS_H

#include <stdint.h>
#include <philox.h>

struct counter_set;

struct counter_set *counter_set_new(void);
void counter_set_free(struct counter_set *set);
size_t counter_set_size(const struct counter_set *set);

/*
 * counter_set_put() gives a block to an owner and returns the owner before:
 * `owner` itself if there was none. Owners are numbered from 1.
 */
uint32_t counter_set_put(struct counter_set *set, uint64_t key, uint64_t low,
			 uint64_t high, uint32_t owner);

/* A call of an operator: it draws elements of 32-bit or of 64-bit draws. */
struct counter_span {
	uint64_t first, count;
	uint64_t advance; /* words per subsequence, a multiple of 4 */
	int wide;         /* 64-bit draws */
};

/*
 * counter_set_draw() gives an owner all blocks that it may draw from a state,
 * retries of integers included, and returns an owner that had one of them
 * before, or `owner`.
 */
uint32_t counter_set_draw(struct counter_set *set, struct philox_state state,
			  const struct counter_span *span, uint32_t owner);

#endif
