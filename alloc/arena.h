/*
 * alloc/arena.h - cells: small blocks of device memory that never move
 */
#ifndef ALLOC_ARENA_H
#define ALLOC_ARENA_H

#include <stddef.h>
#include <stdint.h>
#include "lib/device/contract.h"

/* --- arena.c: the free pieces of an arena, by place ----------------------- */

/*
 * A treap: in order of place from left to right, and each piece knows the
 * largest one of those below it, so that the lowest piece that fits is found on
 * one way down. Priorities are mixed from a count of the pieces, so that the
 * same calls make the same tree.
 */

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

/* --- arena: small blocks of device memory that never move ----------------- */

/*
 * Cells must stay at one address for as long as a graph reads them, and they
 * are needed in the middle of captures, where memory may be allocated (in
 * relaxed mode) but never freed or queried. An arena takes chunks from the
 * device, hands out pieces of them, and gives chunks back only when it is
 * destroyed. It uses the device contract and nothing else of the library.
 *
 * Pieces are aligned to ARENA_ALIGNMENT; the lowest free piece that fits is
 * taken, free neighbours are joined, so the layout depends on the sequence of
 * calls alone. An arena has no lock; its owner has one.
 */

#define ARENA_ALIGNMENT 64

enum arena_kind {
	ARENA_DEVICE, /* device memory: no host address */
	ARENA_MAPPED  /* host memory that the device reads and writes */
};

struct arena_chunk;
struct arena_piece;

struct arena {
	struct philox_device *device;
	enum arena_kind kind;
	size_t chunk_size;                 /* least size of a chunk */
	struct arena_chunk *chunks, *last; /* in order of creation */
	uint64_t n_chunks;
	uint64_t priorities;      /* what the next one is mixed from */
	struct arena_piece *free; /* those that are, as a tree */
};

/* One piece. `host` is NULL in an arena of kind DEVICE. */
struct arena_block {
	void *device;
	void *host;
	size_t size;
	struct arena_piece *piece; /* NULL: it is no piece */
};

void arena_init(struct arena *arena, struct philox_device *device,
		enum arena_kind kind, size_t chunk_size);

/* arena_finish() gives all chunks back, pieces in use included. */
void arena_finish(struct arena *arena);

/*
 * arena_alloc() takes a piece of at least `size` > 0 bytes; its old content
 * stays, so whoever reads it must come after who writes it. Legal during
 * capture. ERROR_MEMORY, or the device's error.
 *
 * Both take time that goes with the logarithm of the pieces.
 */
enum philox_status arena_alloc(struct arena *arena, size_t size,
			       struct arena_block *block);

/* arena_free() gives a piece back and zeroes *block; a zero block is fine. */
void arena_free(struct arena *arena, struct arena_block *block);

#endif
