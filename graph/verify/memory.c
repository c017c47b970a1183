/*
 * graph/verify/memory.c - what a graph changes, kept and copied
 *
 * See Note [Verification] in graph/verify/verify.h.
 */
#include <stdlib.h>
#include "graph/verify/internal.h"

enum philox_status verify_take(struct philox_verify *verify,
			       philox_stream stream, size_t bytes,
			       size_t alignment, void **address)
{
	struct philox_pool_block block;
	enum philox_status status = philox_pool_alloc(
		verify->pool, stream, bytes, alignment, "verified", &block);

	if (status == PHILOX_OK)
		*address = block.address;
	else
		verify->lacking = 1;
	return status;
}

enum philox_status verify_copy(const struct philox_verify *verify,
			       philox_stream stream, void *to, const void *from,
			       size_t bytes)
{
	return philox_memory_copy(verify_device(verify), to, from, bytes,
				  stream);
}

enum philox_status verify_room(struct philox_verify *verify, void *items,
			       size_t *room, size_t n, size_t size)
{
	void **array = items, *grown;

	if (n < *room)
		return PHILOX_OK;
	grown = realloc(*array, (2 * n + 8) * size);
	if (!grown) {
		verify->lacking = 1;
		return status_set(PHILOX_ERROR_MEMORY,
				  "'%s': no memory to verify it",
				  verify->graph->name);
	}
	*array = grown;
	*room = 2 * n + 8;
	return PHILOX_OK;
}

static enum philox_status take_kept(struct philox_verify *verify,
				    philox_stream stream,
				    const struct verify_memory *memory)
{
	struct verify_memory *made;
	enum philox_status status =
		verify_room(verify, &verify->memory, &verify->memory_room,
			    verify->n_memory, sizeof(*verify->memory));

	if (status != PHILOX_OK)
		return status;
	made = &verify->memory[verify->n_memory];
	*made = *memory;
	return verify_take(verify, stream, made->bytes, 0, &made->kept);
}

enum philox_status verify_keep_on(struct philox_verify *verify,
				  philox_stream stream,
				  const struct verify_memory *memory)
{
	enum philox_status status = take_kept(verify, stream, memory);

	if (status == PHILOX_OK)
		status = verify_copy(verify, stream,
				     verify->memory[verify->n_memory].kept,
				     memory->real, memory->bytes);
	if (status == PHILOX_OK)
		verify->n_memory++;
	return status;
}

static enum philox_status take_copy(struct philox_verify *verify,
				    struct verify_memory *memory)
{
	void **made = &memory->copies[verify->turn];
	enum philox_status status;

	if (*made)
		return PHILOX_OK;
	status = verify_take(verify, verify->stream,
			     memory->bytes + memory->shift, memory->alignment,
			     made);
	if (status == PHILOX_OK)
		*made = (char *)*made + memory->shift;
	return status;
}

/* A copy for a run, with what was there before it. */
enum philox_status verify_make_copy(struct philox_verify *verify,
				    struct verify_memory *memory)
{
	enum philox_status status = take_copy(verify, memory);

	if (status != PHILOX_OK)
		return status;
	return verify_copy(verify, verify->stream, memory->copies[verify->turn],
			   memory->kept, memory->bytes);
}

enum philox_status verify_reserve(struct philox_verify *verify, void *real,
				  size_t bytes, size_t alignment)
{
	const struct verify_memory memory = {
		.real = real, .bytes = bytes, .alignment = alignment};
	enum philox_status status = take_kept(verify, verify->stream, &memory);

	if (status == PHILOX_OK)
		status = take_copy(verify, &verify->memory[verify->n_memory]);
	if (status == PHILOX_OK)
		verify->n_memory++;
	return status;
}

enum philox_status verify_keep_reserved(struct philox_verify *verify, size_t i)
{
	struct verify_memory *memory = &verify->memory[i];
	enum philox_status status =
		verify_copy(verify, verify->stream, memory->kept, memory->real,
			    memory->bytes);

	return status == PHILOX_OK ? verify_make_copy(verify, memory) : status;
}

enum philox_status verify_keep(struct philox_verify *verify, void *real,
			       size_t bytes, size_t alignment, size_t shift)
{
	const struct verify_memory memory = {.real = real,
					     .bytes = bytes,
					     .alignment = alignment,
					     .shift = shift};
	enum philox_status status =
		verify_keep_on(verify, verify->stream, &memory);

	if (status != PHILOX_OK)
		return status;
	return verify_make_copy(verify, &verify->memory[verify->n_memory - 1]);
}

enum philox_status verify_add(struct philox_verify *verify,
			      const struct verify_item *item)
{
	enum philox_status status =
		verify_room(verify, &verify->items, &verify->item_room,
			    verify->n_items, sizeof(*verify->items));

	if (status == PHILOX_OK)
		verify->items[verify->n_items++] = *item;
	return status;
}

enum philox_status verify_paint(struct philox_verify *verify, void *address,
				size_t bytes, enum philox_status status)
{
	if (status == PHILOX_OK)
		return philox_memory_set(verify_device(verify), address,
					 verify->fill, bytes, verify->stream);
	if (status == PHILOX_ERROR_MEMORY || status == PHILOX_ERROR_LIMIT)
		verify->lacking = 1;
	return status;
}
