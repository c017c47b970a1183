/*
 * lib/containers/order.h - things in the order in which they came, and places
 *
 * A thing's place is how many that came before it are still there: found in a
 * logarithm of steps, as are arrival and leaving. Each thing has a number that
 * says where it is (`at`), which the order changes when it makes room.
 */
#ifndef LIB_CONTAINERS_ORDER_H
#define LIB_CONTAINERS_ORDER_H

#include <stddef.h>

struct order_entry {
	void *thing; /* NULL: it has left */
	size_t *at;
	size_t sum; /* of those there: of a run of entries that ends here, as
		       long as the lowest bit of the entry's number from 1 */
};

/* All zero: empty. */
struct order {
	struct order_entry *entries;
	size_t n, room; /* entries, those that have left too */
	size_t there;
};

void order_finish(struct order *order);

/* Makes room for one more; 0: no memory. */
int order_reserve(struct order *order);

/* pre: there is room. *at stays where it is until the thing leaves. */
void order_add(struct order *order, void *thing, size_t *at);
void order_remove(struct order *order, size_t at);

/* How many that are there came before. */
size_t order_place(const struct order *order, size_t at);

/* The first thing from *i on, whose *i is put after it; NULL: no more. */
void *order_next(const struct order *order, size_t *i);

#endif
