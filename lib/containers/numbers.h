/*
 * lib/containers/numbers.h - a set of numbers, which knows the least that it
 * has not
 *
 * A bit for each number, and one for each full word of 64 such bits, and so on:
 * the least that is missing is found in as many steps as there are levels.
 */
#ifndef LIB_CONTAINERS_NUMBERS_H
#define LIB_CONTAINERS_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

#define NUMBERS_LEVELS 4
#define NUMBERS_END    (UINT32_C(1) << (6 * NUMBERS_LEVELS)) /* all are below */

/* All zero: empty. */
struct number_set {
	uint64_t *levels[NUMBERS_LEVELS];
	uint32_t room; /* of the numbers below it each may be put */
};

void numbers_finish(struct number_set *numbers);

/* Makes room for the numbers below `end`; 0: no memory, or above the end. */
int numbers_enlarge(struct number_set *numbers, uint32_t end);

static inline int numbers_reserve(struct number_set *numbers, uint32_t end)
{
	return end <= numbers->room || numbers_enlarge(numbers, end);
}

/* pre: there is room. It may be there already, or missing already. */
void numbers_put(struct number_set *numbers, uint32_t number);
void numbers_remove(struct number_set *numbers, uint32_t number);

/* Whether a number is there. */
int numbers_has(const struct number_set *numbers, uint32_t number);

/* The least number that is not there, NUMBERS_END at most. */
uint32_t numbers_missing(const struct number_set *numbers);

#endif
