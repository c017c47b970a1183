/*
 * lib/containers/ranges.c - see lib/containers/ranges.h
 */
#include <stdlib.h>
#include <string.h>
#include "lib/containers/array.h"
#include "lib/containers/ranges.h"

void ranges_finish(struct ranges *ranges)
{
	free(ranges->items);
	*ranges = (struct ranges){.items = NULL};
}

/* The first range that ends at an address or above. */
static size_t first_up_to(const struct ranges *ranges, uintptr_t address)
{
	size_t low = 0, high = ranges->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->items[middle].end < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Puts `more` ranges in the place of those from `first` up to `last`. */
static void replace(struct ranges *ranges, size_t first, size_t last,
		    const struct range *with, size_t more)
{
	memmove(ranges->items + first + more, ranges->items + last,
		(ranges->n - last) * sizeof(*ranges->items));
	memcpy(ranges->items + first, with, more * sizeof(*with));
	ranges->n = ranges->n + more - (last - first);
}

static int make_room(struct ranges *ranges)
{
	if (ranges->n < ranges->room)
		return 1;
	if (!array_grow(&ranges->items, ranges->n, 1, sizeof(*ranges->items)))
		return 0;
	ranges->room = ranges->n + 1;
	return 1;
}

int ranges_add(struct ranges *ranges, struct range range)
{
	size_t first = first_up_to(ranges, range.begin), last = first;

	if (range_is_empty(range))
		return 1;
	for (; last < ranges->n && ranges->items[last].begin <= range.end;
	     last++) {
		if (ranges->items[last].begin < range.begin)
			range.begin = ranges->items[last].begin;
		if (ranges->items[last].end > range.end)
			range.end = ranges->items[last].end;
	}
	if (last == first && !make_room(ranges))
		return 0;
	replace(ranges, first, last, &range, 1);
	return 1;
}

void ranges_remove(struct ranges *ranges, struct range range)
{
	size_t first = first_up_to(ranges, range.begin), last = first, n = 0;
	struct range left[2];

	if (range_is_empty(range))
		return;
	for (; last < ranges->n && ranges->items[last].begin < range.end;
	     last++) {
		const struct range item = ranges->items[last];

		if (item.begin < range.begin)
			left[n++] = (struct range){item.begin, range.begin};
		if (item.end > range.end)
			left[n++] = (struct range){range.end, item.end};
	}
	if (last == first)
		return;
	if (n > last - first && !make_room(ranges))
		n = 0;
	replace(ranges, first, last, left, n);
}

struct range ranges_meet(const struct ranges *ranges, struct range range)
{
	size_t first = first_up_to(ranges, range.begin);
	struct range item;

	if (first < ranges->n && ranges->items[first].end == range.begin)
		first++;
	if (range_is_empty(range) || first == ranges->n ||
	    ranges->items[first].begin >= range.end)
		return (struct range){range.end, range.end};
	item = ranges->items[first];
	return (struct range){
		item.begin > range.begin ? item.begin : range.begin,
		item.end < range.end ? item.end : range.end};
}

struct range ranges_gap(const struct ranges *ranges, struct range range)
{
	struct range met = ranges_meet(ranges, range);

	if (met.begin > range.begin)
		return (struct range){range.begin, met.begin};
	range.begin = met.end;
	return (struct range){range.begin,
			      ranges_meet(ranges, range).begin};
}
