/*
 * alloc/ids.h - what belongs to an id: a hash table
 */
#ifndef ALLOC_IDS_H
#define ALLOC_IDS_H

#include <stddef.h>
#include <stdint.h>

struct ids_entry {
	uint64_t id; /* 0: free */
	void *value;
};

/* All zero: empty. */
struct ids {
	struct ids_entry *entries;
	size_t count;
	size_t capacity; /* a power of two, or 0 */
	unsigned shift;
};

void ids_finish(struct ids *ids);

/* Makes room for `count` ids in all; 0: no memory. */
int ids_reserve(struct ids *ids, size_t count);

/* pre: there is room, and the id is not there. */
void ids_put(struct ids *ids, uint64_t id, void *value);

/* The same for an id that may be there: then it stays as it is, and 0 is
 * returned. */
int ids_add(struct ids *ids, uint64_t id, void *value);

/* NULL: no such id. The entry stays in place until the next put or remove. */
struct ids_entry *ids_find(const struct ids *ids, uint64_t id);

/* Returns the value; NULL: there was none. */
void *ids_remove(struct ids *ids, uint64_t id);

/*
 * Ids count the blocks of the process: ids_issue() returns a new one, from 1 on,
 * and ids_last() the last one, 0 if there was none. Any thread.
 */
uint64_t ids_issue(void);
uint64_t ids_last(void);

#endif
