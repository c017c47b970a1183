/*
 * lib/containers/order.c - see lib/containers/order.h
 *
 * The sums are a Fenwick tree (P. Fenwick, A New Data Structure for Cumulative
 * Frequency Tables, 1994): an entry with number k from 1 has the sum of the
 * entries after k - lowest_bit(k), up to itself.
 */
#include <stdlib.h>
#include <string.h>
#include "lib/containers/order.h"

#define ROOM_FIRST 16

void order_finish(struct order *order)
{
	free(order->entries);
	memset(order, 0, sizeof(*order));
}

static size_t lowest_bit(size_t k)
{
	return k & (0 - k);
}

static size_t sum_before(const struct order *order, size_t at)
{
	size_t sum = 0;

	for (size_t k = at; k; k -= lowest_bit(k))
		sum += order->entries[k - 1].sum;
	return sum;
}

/* Lets go of those that have left; the others move up. */
static void pack(struct order *order)
{
	size_t n = 0;

	for (size_t i = 0; i < order->n; i++)
		if (order->entries[i].thing) {
			order->entries[n] = order->entries[i];
			*order->entries[n].at = n;
			n++;
		}
	for (size_t k = 1; k <= n; k++)
		order->entries[k - 1].sum = lowest_bit(k);
	order->n = n;
}

/* At least half of the room is free then: packing is rare. */
int order_reserve(struct order *order)
{
	const size_t room = order->room ? 2 * order->room : ROOM_FIRST;
	struct order_entry *entries;

	if (order->n < order->room)
		return 1;
	if (2 * order->there < order->room) {
		pack(order);
		return 1;
	}
	entries = realloc(order->entries, room * sizeof(*entries));
	if (!entries)
		return 0;
	order->entries = entries;
	order->room = room;
	return 1;
}

void order_add(struct order *order, void *thing, size_t *at)
{
	const size_t k = order->n + 1;
	const size_t before = sum_before(order, k - lowest_bit(k));

	*at = order->n++;
	order->entries[*at] = (struct order_entry){
		thing, at, order->there++ - before + 1};
}

void order_remove(struct order *order, size_t at)
{
	order->entries[at].thing = NULL;
	order->there--;
	for (size_t k = at + 1; k <= order->n; k += lowest_bit(k))
		order->entries[k - 1].sum--;
}

size_t order_place(const struct order *order, size_t at)
{
	return sum_before(order, at);
}

void *order_next(const struct order *order, size_t *i)
{
	while (*i < order->n)
		if (order->entries[(*i)++].thing)
			return order->entries[*i - 1].thing;
	return NULL;
}
