/*
 * alloc/arena_tree.h - the free pieces of an arena, by place
 *
 * A treap: in order of place from left to right, and each piece knows the
 * largest one of those below it, so that the lowest piece that fits is found on
 * one way down. Priorities are mixed from a count of the pieces, so that the
 * same calls make the same tree.
 */
#ifndef ALLOC_ARENA_TREE_H
#define ALLOC_ARENA_TREE_H

#include <stddef.h>
#include <stdint.h>

struct arena_chunk;

struct arena_piece {
	struct arena_chunk *chunk;
	struct arena_piece *before, *after; /* its neighbours in the chunk */
	size_t offset;
	size_t size;
	int used;
	/* of a free one: */
	struct arena_piece *left, *right;
	uint64_t number; /* of the chunk */
	uint64_t priority;
	size_t largest; /* of it and those below it */
};

/*
 * arena_tree_put() adds a piece, arena_tree_take() takes one out that is there.
 * arena_tree_find() returns the lowest one of at least `size` bytes, or NULL.
 */
void arena_tree_put(struct arena_piece **root, struct arena_piece *piece);
void arena_tree_take(struct arena_piece **root, struct arena_piece *piece);
struct arena_piece *arena_tree_find(struct arena_piece *root, size_t size);

#endif
