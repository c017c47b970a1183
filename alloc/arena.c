/*
 * alloc/arena.c - see alloc/arena.h
 *
 * Each chunk has a list of pieces in order of address, free and used, which
 * covers it without gaps; no two neighbours are both free. The records are host
 * memory, so nothing here touches device memory.
 */
#include <stdlib.h>
#include "alloc/arena.h"
#include "lib/base/status.h"
#include "lib/device/captures.h"

struct piece {
	struct piece *next; /* the next higher address */
	size_t offset;
	size_t size;
	int used;
};

struct arena_chunk {
	struct arena_chunk *next; /* in order of creation */
	char *device;
	char *host;
	struct piece *pieces;
};

void arena_init(struct arena *arena, struct philox_device *device,
		enum arena_kind kind, size_t chunk_size)
{
	*arena = (struct arena){device, kind, chunk_size, NULL};
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
	status_keep(&kept);
	chunk_free_memory(arena, chunk);
	status_restore(&kept);
	return restored;
}

static enum philox_status grow(struct arena *arena, size_t size,
			       struct arena_chunk **made)
{
	size_t bytes = size > arena->chunk_size ? size : arena->chunk_size;
	struct arena_chunk *chunk = calloc(1, sizeof(*chunk)), **link;
	enum philox_status status = PHILOX_ERROR_MEMORY;

	if (chunk)
		chunk->pieces = calloc(1, sizeof(*chunk->pieces));
	if (!chunk || !chunk->pieces) {
		status_set(status, "no memory to record %zu bytes of cells",
			   bytes);
		goto free_chunk;
	}
	chunk->pieces->size = bytes;
	status = chunk_memory(arena, bytes, chunk);
	if (status != PHILOX_OK)
		goto free_chunk;
	for (link = &arena->chunks; *link; link = &(*link)->next)
		;
	*link = chunk;
	*made = chunk;
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
	struct piece *piece;

	while ((chunk = arena->chunks)) {
		arena->chunks = chunk->next;
		while ((piece = chunk->pieces)) {
			chunk->pieces = piece->next;
			free(piece);
		}
		chunk_free_memory(arena, chunk);
		free(chunk);
	}
}

/* --- pieces --------------------------------------------------------------- */

static struct piece *find_free(const struct arena_chunk *chunk, size_t size)
{
	struct piece *piece = chunk->pieces;

	while (piece && (piece->used || piece->size < size))
		piece = piece->next;
	return piece;
}

/* Cuts a free piece down to the size needed. */
static enum philox_status split(struct piece *piece, size_t size)
{
	struct piece *rest;

	if (piece->size == size)
		return PHILOX_OK;
	rest = calloc(1, sizeof(*rest));
	if (!rest)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory to record a piece of cells");
	rest->offset = piece->offset + size;
	rest->size = piece->size - size;
	rest->next = piece->next;
	piece->next = rest;
	piece->size = size;
	return PHILOX_OK;
}

static void join_next(struct piece *piece)
{
	struct piece *next = piece->next;

	if (!next || next->used || piece->used)
		return;
	piece->size += next->size;
	piece->next = next->next;
	free(next);
}

enum philox_status arena_alloc(struct arena *arena, size_t size,
			       struct arena_block *block)
{
	struct arena_chunk *chunk = arena->chunks;
	struct piece *piece = NULL;
	enum philox_status status = PHILOX_OK;

	if (size > SIZE_MAX - ARENA_ALIGNMENT)
		return status_set(PHILOX_ERROR_OVERFLOW, "%zu bytes of cells",
				  size);
	size = (size + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
	for (; chunk; chunk = chunk->next)
		if ((piece = find_free(chunk, size)))
			break;
	if (!piece) {
		status = grow(arena, size, &chunk);
		if (status != PHILOX_OK)
			return status;
		piece = chunk->pieces;
	}
	status = split(piece, size);
	if (status != PHILOX_OK)
		return status;
	piece->used = 1;
	block->device = chunk->device + piece->offset;
	block->host = chunk->host ? chunk->host + piece->offset : NULL;
	block->size = size;
	return PHILOX_OK;
}

static int chunk_holds(const struct arena_chunk *chunk, const char *address,
		       const struct piece *piece)
{
	return chunk->device + piece->offset == address && piece->used;
}

void arena_free(struct arena *arena, struct arena_block *block)
{
	struct arena_chunk *chunk = arena->chunks;
	struct piece *piece = NULL, *previous = NULL;

	for (; block->size && chunk; chunk = chunk->next) {
		previous = NULL;
		piece = chunk->pieces;
		while (piece && !chunk_holds(chunk, block->device, piece)) {
			previous = piece;
			piece = piece->next;
		}
		if (piece)
			break;
	}
	if (piece) {
		piece->used = 0;
		join_next(piece);
		if (previous)
			join_next(previous);
	}
	*block = (struct arena_block){0};
}
