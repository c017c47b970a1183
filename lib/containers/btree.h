/*
 * lib/containers/btree.h - an ordered index: a B+ tree with keys of two numbers
 *
 * Nodes are wide, so that a search among a million entries misses the cache a
 * few times. They come from a slab that several indexes share; index_nodes()
 * says how many of them suffice for entries that are in these indexes, however
 * they came there, so that an insertion never fails after a reservation.
 *
 * If a node is left with INDEX_LEAST entries or less, and has INDEX_JOIN or less
 * together with a neighbour under the same parent, both become one, and so do
 * two that become neighbours as their parents do. A split leaves INDEX_FANOUT
 * entries together. So neighbours have more than INDEX_LEAST together, which is
 * what index_nodes() relies on.
 */
#ifndef LIB_CONTAINERS_BTREE_H
#define LIB_CONTAINERS_BTREE_H

#include <stddef.h>
#include <stdint.h>
#include "lib/containers/slab.h"

#define INDEX_FANOUT 30
#define INDEX_JOIN   22
#define INDEX_LEAST  (INDEX_FANOUT / 2)

struct index_key {
	uint64_t high, low; /* compared in this order; high < UINT64_MAX */
};

struct index_node {
	uint32_t n;
	uint32_t wide;                     /* as its index */
	struct index_node *before, *after; /* leaves only */
	uint64_t high[INDEX_FANOUT], low[INDEX_FANOUT];
	void *values[INDEX_FANOUT]; /* of an inner node: children, whose keys
				       are not below its key for them */
};

/* All zero: empty. */
struct index {
	struct index_node *root;
	size_t count;
	unsigned height; /* 1: the root is a leaf */
	struct index_node *last; /* leaf as of the last insertion, or NULL */
	uint32_t wide; /* 0: all keys have the low part 0, which is not kept */
};

struct index_cursor {
	const struct index_node *leaf; /* NULL: past the end */
	uint32_t slot;
};

/* Nodes that suffice for `entries` entries in `indexes` indexes. */
static inline size_t index_nodes(size_t entries, size_t indexes)
{
	return entries / 4 + indexes;
}

/* pre: the key is not there, and the slab has nodes. */
void index_insert(struct index *index, struct slab *nodes, struct index_key key,
		  void *value);

/* pre: the key is there. */
void index_replace(struct index *index, struct index_key key, void *value);

/* Returns the value; NULL: there is no such key. */
void *index_remove(struct index *index, struct slab *nodes,
		   struct index_key key);

/* Gives all nodes back. */
void index_clear(struct index *index, struct slab *nodes);

/* The first entry, the least >= key, the greatest <= key, the last. */
struct index_cursor index_first(const struct index *index);
struct index_cursor index_at_least(const struct index *index,
				   struct index_key key);
struct index_cursor index_at_most(const struct index *index,
				  struct index_key key);
struct index_cursor index_last(const struct index *index);

static inline struct index_cursor index_next(struct index_cursor cursor)
{
	if (++cursor.slot < cursor.leaf->n)
		return cursor;
	return (struct index_cursor){cursor.leaf->after, 0};
}

static inline void *index_value(struct index_cursor cursor)
{
	return cursor.leaf->values[cursor.slot];
}

static inline struct index_key index_key_at(struct index_cursor cursor)
{
	return (struct index_key){
		cursor.leaf->high[cursor.slot],
		cursor.leaf->wide ? cursor.leaf->low[cursor.slot] : 0};
}

/* NULL, or which invariant does not hold; adds to *nodes those in use. */
const char *index_check(const struct index *index, size_t *nodes);

#endif
