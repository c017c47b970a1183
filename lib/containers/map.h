/*
 * lib/containers/map.h - what belongs to a number: a hash table
 */
#ifndef LIB_CONTAINERS_MAP_H
#define LIB_CONTAINERS_MAP_H

#include <stddef.h>
#include <stdint.h>

#define TABLE_LINE 4 /* entries in a line of cache */

struct table_entry {
	uint64_t key; /* 0: free */
	void *value;
};

/* All zero: empty. */
struct table {
	struct table_entry *entries; /* aligned to TABLE_LINE of them */
	size_t count;
	size_t capacity; /* a power of two, or 0 */
	unsigned shift;
};

void table_finish(struct table *table);

/* Empties it; the room stays. */
void table_clear(struct table *table);

/* Makes room for `count` keys in all; 0: no memory. */
int table_enlarge(struct table *table, size_t count);

static inline int table_reserve(struct table *table, size_t count)
{
	return count <= table->capacity / 3 * 2 || table_enlarge(table, count);
}

/* pre: there is room, and the key, not 0, is not there. */
void table_put(struct table *table, uint64_t key, void *value);

/* The same for a key that may be there: then it stays as it is, and 0 is
 * returned. */
int table_add(struct table *table, uint64_t key, void *value);

/* NULL: no such key. The entry stays in place until the next put or remove. */
struct table_entry *table_find(const struct table *table, uint64_t key);

/* Returns the value; NULL: there was none. */
void *table_remove(struct table *table, uint64_t key);

#endif
