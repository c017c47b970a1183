/*
 * lib/containers/ranges.h - a set of addresses, as ranges
 *
 * The ranges are in order, and no two of them touch. Looking is by halving;
 * a change moves the ranges behind it.
 */
#ifndef LIB_CONTAINERS_RANGES_H
#define LIB_CONTAINERS_RANGES_H

#include <stddef.h>
#include <stdint.h>

/* Addresses [begin, end). */
struct range {
	uintptr_t begin, end;
};

/* Begins with zeros. */
struct ranges {
	struct range *items;
	size_t n, room; /* which does not shrink */
};

void ranges_finish(struct ranges *ranges);

/* ranges_add() adds a range; 0: no memory, and the set is as it was. */
int ranges_add(struct ranges *ranges, struct range range);

/*
 * ranges_remove() takes a range away. If there is no memory to cut one in two,
 * all of that one goes.
 */
void ranges_remove(struct ranges *ranges, struct range range);

/*
 * ranges_meet() returns the first part of a range that is in the set, and
 * ranges_gap() the first part that is not: empty if there is none.
 */
struct range ranges_meet(const struct ranges *ranges, struct range range);
struct range ranges_gap(const struct ranges *ranges, struct range range);

static inline int range_is_empty(struct range range)
{
	return range.begin >= range.end;
}

#endif
