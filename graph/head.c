/*
 * graph/head.c - see Note [Head] in graph/head.h
 *
 * Guarded by the context's lock.
 */
#include <stdlib.h>
#include <string.h>
#include "graph/head.h"
#include "graph/upload.h"

static enum philox_status upload_control(struct graph_context *graphs,
					 const struct head *head)
{
	struct head_control control = {.report = head->report.device};

	return upload_copy(graphs, head->control.device, &control,
			   sizeof(control));
}

enum philox_status head_create(struct graph_context *graphs, struct head *head)
{
	enum philox_status status;

	memset(head, 0, sizeof(*head));
	status = arena_alloc(&graphs->cells, sizeof(struct head_control),
			     &head->control);
	if (status == PHILOX_OK)
		status = arena_alloc(&graphs->reports,
				     sizeof(struct head_report), &head->report);
	if (status == PHILOX_OK) {
		memset(head->report.host, 0, sizeof(struct head_report));
		status = upload_control(graphs, head);
	}
	if (status != PHILOX_OK)
		head_destroy(graphs, head);
	return status;
}

void head_destroy(struct graph_context *graphs, struct head *head)
{
	arena_free(&graphs->cells, &head->map);
	arena_free(&graphs->reports, &head->report);
	arena_free(&graphs->cells, &head->control);
	head->cells = 0;
}

/* The stored sequence number belongs to the device and is kept. */
static enum philox_status point_at_map(struct graph_context *graphs,
				       const struct head *head, void *map,
				       uint64_t cells)
{
	const size_t from = offsetof(struct head_control, map);
	struct head_control control = {.map = map, .cells = cells};

	return upload_copy(graphs, (char *)head->control.device + from,
			   (const char *)&control + from,
			   sizeof(control) - from);
}

enum philox_status head_seal(struct graph_context *graphs, struct head *head,
			     const struct head_cell *map, uint64_t cells)
{
	enum philox_status status = PHILOX_OK;

	if (!cells)
		return PHILOX_OK;
	if (!head->map.size)
		status = arena_alloc(&graphs->cells, cells * sizeof(*map),
				     &head->map);
	if (status != PHILOX_OK)
		return status;
	status = upload_copy(graphs, head->map.device, map,
			     cells * sizeof(*map));
	if (status == PHILOX_OK)
		status = point_at_map(graphs, head, head->map.device, cells);
	if (status == PHILOX_OK)
		head->cells = cells;
	return status; /* the device may know the map: the head keeps it */
}

uint64_t head_unannounced(struct head *head, uint64_t *sequence)
{
	struct head_report *report = head->report.host;
	uint64_t count = __atomic_load_n(&report->count, __ATOMIC_ACQUIRE);
	uint64_t fresh = count - head->seen;

	if (!fresh)
		return 0;
	*sequence = __atomic_load_n(&report->sequence, __ATOMIC_RELAXED);
	head->seen = count;
	return fresh;
}

enum philox_status head_take_cells(struct graph_context *graphs, uint32_t cells,
				   struct arena_block *block)
{
	size_t size = cells * sizeof(struct philox_state);
	enum philox_status status = arena_alloc(&graphs->cells, size, block);

	if (status != PHILOX_OK)
		return status;
	status = upload_poison(graphs, block->device, size);
	if (status != PHILOX_OK)
		arena_free(&graphs->cells, block);
	return status;
}

struct head_cell *head_map_region(struct head_cell *map,
				  const struct philox_region *region,
				  void *cells, uint32_t slot)
{
	struct philox_state *cell = cells;

	uint32_t shared = region->flags & PHILOX_SHARED;

	for (uint32_t op = 0; op < region->n_ops; op++) {
		const struct region_op *of = &region->ops[op];

		for (uint32_t call = 0; call < of->calls; call++)
			*map++ = (struct head_cell){
				.cell = cell++,
				.shift = shared ? of->shift + call * of->advance
						: 0,
				.slot = slot,
				.plain = shared,
				.op = op,
				.call = call};
	}
	return map;
}

enum philox_status head_message_init(struct head_message *message,
				     const struct head *head, uint64_t slots)
{
	uint32_t capacity = head_capacity(slots);

	if (!capacity)
		return status_set(PHILOX_ERROR_LIMIT,
				  "a graph holds at most %u passes with their "
				  "own states",
				  HEAD_CAPACITY_MAX);
	message->args = calloc(1, head_args_size(capacity));
	if (!message->args)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for a message of %u states",
				  capacity);
	message->args->control = head->control.device;
	message->capacity = capacity;
	return PHILOX_OK;
}

void head_message_finish(struct head_message *message)
{
	free(message->args);
	message->args = NULL;
}

struct kernel_call head_call(const struct head *head,
			     const struct head_message *message)
{
	return (struct kernel_call){.kernel = KERNEL_HEAD,
				    .args = message->args,
				    .size = head_args_size(message->capacity),
				    .work = head->cells};
}
