/*
 * alloc/arena.c - small blocks of device memory that never move
 *
 * Each chunk has a list of pieces in order of address, free and used, which
 * covers it without gaps; no two neighbours are both free, and the free ones of
 * all chunks are in a tree. The records are host memory, so nothing here touches
 * device memory.
 */
#include <stdlib.h>
#include "alloc/arena.h"
#include "lib/base/base.h"
#include "lib/device/device.h"

struct arena_chunk {
	struct arena_chunk *next; /* in order of creation */
	char *device;
	char *host;
	struct arena_piece *pieces;
};

void arena_init(struct arena *arena, struct philox_device *device,
		enum arena_kind kind, size_t chunk_size)
{
	*arena = (struct arena){
		.device = device, .kind = kind, .chunk_size = chunk_size};
}

/* --- chunks --------------------------------------------------------------- */

static void chunk_free_memory(struct arena *arena, struct arena_chunk *chunk)
{
	if (arena->kind == ARENA_MAPPED)
		device_mapped_free(arena->device, chunk->host);
	else
		philox_memory_free(arena->device, chunk->device);
}

static enum philox_status allocate_memory(struct arena *arena, size_t size,
					  struct arena_chunk *chunk)
{
	void *device, *host = NULL;
	enum philox_status status;

	if (arena->kind == ARENA_MAPPED)
		status = device_mapped_alloc(arena->device, size, &host,
					     &device);
	else
		status = philox_memory_alloc(arena->device, size, &device);
	if (status != PHILOX_OK)
		return status;
	chunk->device = device;
	chunk->host = host;
	return PHILOX_OK;
}

/* Memory may be allocated while captures are in progress. */
static enum philox_status chunk_memory(struct arena *arena, size_t size,
				       struct arena_chunk *chunk)
{
	struct status_message kept;
	enum philox_capture_mode mode;
	enum philox_status restored, status;

	status = device_relaxed_begin(arena->device, &mode);
	if (status != PHILOX_OK)
		return status;
	status = allocate_memory(arena, size, chunk);
	restored = device_relaxed_end(arena->device, mode, status);
	if (status != PHILOX_OK || restored == PHILOX_OK)
		return restored;
	kept = status_kept();
	chunk_free_memory(arena, chunk);
	status_restore(&kept);
	return restored;
}

/* SplitMix64 of a count. */
static uint64_t next_priority(struct arena *arena)
{
	uint64_t mixed = (arena->priorities += 0x9e3779b97f4a7c15);

	mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
	mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
	return mixed ^ (mixed >> 31);
}

/* Has a new record stand for memory of a chunk. */
static void place_piece(struct arena *arena, struct arena_piece *piece,
			struct arena_chunk *chunk, uint64_t number,
			size_t offset, size_t size)
{
	piece->chunk = chunk;
	piece->offset = offset;
	piece->size = size;
	piece->number = number;
	piece->priority = next_priority(arena);
}

static void append_chunk(struct arena *arena, struct arena_chunk *chunk,
			 size_t bytes)
{
	if (arena->last)
		arena->last->next = chunk;
	else
		arena->chunks = chunk;
	arena->last = chunk;
	place_piece(arena, chunk->pieces, chunk, arena->n_chunks++, 0, bytes);
	arena_tree_put(&arena->free, chunk->pieces);
}

static enum philox_status grow(struct arena *arena, size_t size,
			       struct arena_piece **made)
{
	size_t bytes = size > arena->chunk_size ? size : arena->chunk_size;
	struct arena_chunk *chunk = calloc(1, sizeof(*chunk));
	enum philox_status status = PHILOX_ERROR_MEMORY;

	if (chunk)
		chunk->pieces = calloc(1, sizeof(*chunk->pieces));
	if (!chunk || !chunk->pieces) {
		status_set(status, "no memory to record %zu bytes of cells",
			   bytes);
		goto free_chunk;
	}
	status = chunk_memory(arena, bytes, chunk);
	if (status != PHILOX_OK)
		goto free_chunk;
	append_chunk(arena, chunk, bytes);
	*made = chunk->pieces;
	return PHILOX_OK;

free_chunk:
	if (chunk)
		free(chunk->pieces);
	free(chunk);
	return status;
}

void arena_finish(struct arena *arena)
{
	struct arena_chunk *chunk;
	struct arena_piece *piece;

	while ((chunk = arena->chunks)) {
		arena->chunks = chunk->next;
		while ((piece = chunk->pieces)) {
			chunk->pieces = piece->after;
			free(piece);
		}
		chunk_free_memory(arena, chunk);
		free(chunk);
	}
	arena->last = NULL;
	arena->free = NULL;
}

/* --- pieces --------------------------------------------------------------- */

/* Cuts a piece that is in no tree down to the size needed. */
static enum philox_status split(struct arena *arena, struct arena_piece *piece,
				size_t size)
{
	struct arena_piece *rest;

	if (piece->size == size)
		return PHILOX_OK;
	rest = calloc(1, sizeof(*rest));
	if (!rest)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory to record a piece of cells");
	place_piece(arena, rest, piece->chunk, piece->number,
		    piece->offset + size, piece->size - size);
	rest->before = piece;
	rest->after = piece->after;
	if (rest->after)
		rest->after->before = rest;
	piece->after = rest;
	piece->size = size;
	arena_tree_put(&arena->free, rest);
	return PHILOX_OK;
}

/* A piece takes its neighbour behind it; neither is in the tree. */
static void take_after(struct arena_piece *piece)
{
	struct arena_piece *after = piece->after;

	piece->size += after->size;
	piece->after = after->after;
	if (piece->after)
		piece->after->before = piece;
	free(after);
}

static int is_free(const struct arena_piece *piece)
{
	return piece && !piece->used;
}

enum philox_status arena_alloc(struct arena *arena, size_t size,
			       struct arena_block *block)
{
	struct arena_piece *piece;
	enum philox_status status = PHILOX_OK;

	if (size > SIZE_MAX - ARENA_ALIGNMENT)
		return status_set(PHILOX_ERROR_OVERFLOW, "%zu bytes of cells",
				  size);
	size = (size + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
	piece = arena_tree_find(arena->free, size);
	if (!piece)
		status = grow(arena, size, &piece);
	if (status != PHILOX_OK)
		return status;
	arena_tree_take(&arena->free, piece);
	status = split(arena, piece, size);
	if (status != PHILOX_OK) {
		arena_tree_put(&arena->free, piece);
		return status;
	}
	piece->used = 1;
	block->device = piece->chunk->device + piece->offset;
	block->host =
		piece->chunk->host ? piece->chunk->host + piece->offset : NULL;
	block->size = size;
	block->piece = piece;
	return PHILOX_OK;
}

void arena_free(struct arena *arena, struct arena_block *block)
{
	struct arena_piece *piece = block->piece;

	*block = (struct arena_block){0};
	if (!piece)
		return;
	piece->used = 0;
	if (is_free(piece->after)) {
		arena_tree_take(&arena->free, piece->after);
		take_after(piece);
	}
	if (is_free(piece->before)) {
		piece = piece->before;
		arena_tree_take(&arena->free, piece);
		take_after(piece);
	}
	arena_tree_put(&arena->free, piece);
}

/* --- arena_tree: the free pieces of an arena, by place -------------------- */

static int is_before(const struct arena_piece *one,
		     const struct arena_piece *other)
{
	if (one->number != other->number)
		return one->number < other->number;
	return one->offset < other->offset;
}

static size_t largest_of(const struct arena_piece *piece)
{
	return piece ? piece->largest : 0;
}

static void measure(struct arena_piece *piece)
{
	const size_t left = largest_of(piece->left);
	const size_t right = largest_of(piece->right);

	piece->largest = piece->size;
	if (left > piece->largest)
		piece->largest = left;
	if (right > piece->largest)
		piece->largest = right;
}

/* Those before a piece, and those after it. */
static void split_tree(struct arena_piece *root,
		       const struct arena_piece *piece,
		       struct arena_piece **before, struct arena_piece **after)
{
	if (!root) {
		*before = *after = NULL;
	} else if (is_before(root, piece)) {
		*before = root;
		split_tree(root->right, piece, &root->right, after);
		measure(root);
	} else {
		*after = root;
		split_tree(root->left, piece, before, &root->left);
		measure(root);
	}
}

/* All of `before` are before those of `after`. */
static struct arena_piece *join_trees(struct arena_piece *before,
				      struct arena_piece *after)
{
	if (!before || !after)
		return before ? before : after;
	if (before->priority > after->priority) {
		before->right = join_trees(before->right, after);
		measure(before);
		return before;
	}
	after->left = join_trees(before, after->left);
	measure(after);
	return after;
}

void arena_tree_put(struct arena_piece **root, struct arena_piece *piece)
{
	struct arena_piece *at = *root;

	if (at && at->priority >= piece->priority) {
		arena_tree_put(is_before(at, piece) ? &at->right : &at->left,
			       piece);
		measure(at);
		return;
	}
	split_tree(at, piece, &piece->left, &piece->right);
	measure(piece);
	*root = piece;
}

void arena_tree_take(struct arena_piece **root, struct arena_piece *piece)
{
	struct arena_piece *at = *root;

	if (at == piece) {
		*root = join_trees(at->left, at->right);
		return;
	}
	arena_tree_take(is_before(at, piece) ? &at->right : &at->left, piece);
	measure(at);
}

struct arena_piece *arena_tree_find(struct arena_piece *root, size_t size)
{
	while (largest_of(root) >= size && largest_of(root)) {
		if (largest_of(root->left) >= size)
			root = root->left;
		else if (root->size >= size)
			return root;
		else
			root = root->right;
	}
	return NULL;
}
