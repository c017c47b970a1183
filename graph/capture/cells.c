/*
 * graph/capture/cells.c - cells of eager passes begun with
 * PHILOX_PASS_ON_DEVICE
 */
#include <stdlib.h>
#include "graph/capture/capture.h"

struct cell_block {
	struct cell_block *next;
	struct philox_region *region;
	uint64_t life;
	struct head head;
	struct arena_block cells;
	struct head_message message;
	struct cell_block *pass; /* of a view: that of its pass */
	struct cell_block *view; /* of a pass: that of a view, which has the
				    next in its own */
	philox_event ended;      /* recorded when the last pass ended */
	int recorded;
	int busy; /* held by a pass */
};

static struct philox_device *block_device(const struct cell_block *block)
{
	return block->region->context->device;
}

/* Whether the device is done with a block. */
static int is_idle(const struct cell_block *block)
{
	return !block->busy &&
	       (!block->recorded ||
		device_event_reached(block_device(block), block->ended));
}

static void free_block(struct graph_context *graphs, struct cell_block *block)
{
	if (block->ended)
		philox_event_destroy(graphs->context->device, block->ended);
	head_message_finish(&block->message);
	arena_free(&graphs->cells, &block->cells);
	head_destroy(graphs, &block->head);
	free(block);
}

/*
 * Unlinks and frees the idle blocks of regions that were destroyed. A busy one
 * is not the caller's error.
 */
static void reap_blocks(struct graph_context *graphs)
{
	struct cell_block **link = &graphs->blocks, *block;
	const struct status_message kept = status_kept();

	while ((block = *link)) {
		if (!region_is_life(block->region, block->life) &&
		    is_idle(block) && head_is_idle(graphs, &block->head)) {
			*link = block->next;
			free_block(graphs, block);
		} else {
			link = &block->next;
		}
	}
	status_restore(&kept);
}

static enum philox_status take_memory(struct graph_context *graphs,
				      struct cell_block *block)
{
	const struct philox_region *region = block->region;
	enum philox_status status;

	status = head_reserve(graphs, &block->head, region->cells);
	if (status == PHILOX_OK)
		status =
			arena_alloc(&graphs->cells,
				    region->cells * sizeof(struct philox_state),
				    &block->cells);
	if (status != PHILOX_OK)
		return status;
	head_add_region(&block->head, region, block->cells.device, 0, 0);
	return head_seal(graphs, &block->head);
}

static enum philox_status fill_block(struct graph_context *graphs,
				     struct cell_block *block)
{
	enum philox_status status = head_create(graphs, &block->head);

	if (status == PHILOX_OK)
		status = take_memory(graphs, block);
	if (status == PHILOX_OK)
		status = head_message_init(&block->message, &block->head, 1);
	if (status == PHILOX_OK)
		status =
			philox_event_create(block_device(block), &block->ended);
	return status;
}

static enum philox_status create_block(struct graph_context *graphs,
				       struct philox_region *region,
				       struct cell_block **out)
{
	struct cell_block *block = calloc(1, sizeof(*block));
	enum philox_status status;

	if (!block)
		return status_set(PHILOX_ERROR_MEMORY,
				  "region '%s': no memory for cells",
				  region->name);
	block->region = region;
	block->life = region->life;
	status = fill_block(graphs, block);
	if (status != PHILOX_OK) {
		free_block(graphs, block);
		return status;
	}
	block->next = graphs->blocks;
	graphs->blocks = block;
	*out = block;
	return PHILOX_OK;
}

static struct cell_block *find_block(struct graph_context *graphs,
				     const struct philox_region *region)
{
	struct cell_block *block = graphs->blocks;

	while (block && (block->region != region ||
			 block->life != region->life || !is_idle(block)))
		block = block->next;
	return block;
}

enum philox_status cells_take(struct philox_pass *pass)
{
	struct graph_context *graphs = pass->region->context->graphs;
	struct cell_block *block;
	struct kernel_call call;
	enum philox_status status = PHILOX_OK;

	reap_blocks(graphs);
	block = find_block(graphs, pass->region);
	if (!block)
		status = create_block(graphs, pass->region, &block);
	if (status != PHILOX_OK)
		return status;
	head_message_number(&block->message, &block->head,
			    block->message.args->sequence + 1);
	block->message.args->states[0] = pass->state;
	call = head_call(&block->head, &block->message);
	status = head_send(block_device(block), &block->head, pass->stream);
	if (status == PHILOX_OK)
		status =
			device_launch(block_device(block), pass->stream, &call);
	head_sent(block_device(block), &block->head, pass->stream, status);
	if (status != PHILOX_OK)
		return status;
	block->busy = 1;
	block->pass = block->view = NULL;
	pass->cells = block;
	pass->index = (uint32_t)block->message.args->sequence;
	pass->states = block->cells.device;
	return PHILOX_OK;
}

/* An event recorded in a capture would belong to it, not to the pass. */
static enum philox_status record_end(const struct philox_pass *pass,
				     const struct cell_block *block)
{
	struct philox_device *device = block_device(block);
	enum philox_status status = device_refuse_capture(device, pass->stream);

	if (status != PHILOX_OK)
		return status;
	return philox_event_record(device, pass->stream, block->ended);
}

/* A block whose end could not be recorded is never used again. */
static void give_block(const struct philox_pass *pass, struct cell_block *block)
{
	const struct philox_region *region = pass->region;
	const struct status_message kept = status_kept();
	enum philox_status status = record_end(pass, block);

	if (status == PHILOX_OK) {
		block->recorded = 1;
		block->busy = 0;
		return;
	}
	block->message.args->sequence++; /* no pass has it now */
	log_post(region->context, PHILOX_LOG_WARNING, "cells lost",
		 &(struct philox_log_entry){.region = region->name,
					    .status = status},
		 "region '%s': the end of a pass could not be recorded (%s); "
		 "its cells are not used again",
		 region->name, status_bare());
	status_restore(&kept);
}

void cells_give(struct philox_pass *pass)
{
	struct cell_block *block = pass->cells, *next;

	for (; block; block = next) {
		next = block->view;
		give_block(pass, block);
	}
}

enum philox_status cells_at(const struct philox_pass *pass,
			    struct philox_pass *view)
{
	struct cell_block *of = pass->cells, *block;
	enum philox_status status = cells_live(pass);

	if (status == PHILOX_OK)
		status = cells_take(view);
	if (status != PHILOX_OK)
		return status;
	block = view->cells;
	if (of->pass)
		of = of->pass;
	block->pass = of;
	block->view = of->view;
	of->view = block;
	return PHILOX_OK;
}

enum philox_status cells_live(const struct philox_pass *pass)
{
	const struct cell_block *block = pass->cells;

	if (block->busy &&
	    pass->index == (uint32_t)block->message.args->sequence)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_STATE,
			  "region '%s': the pass has ended, and its cells with "
			  "it",
			  pass->region->name);
}

void cells_free_all(struct graph_context *graphs)
{
	struct cell_block *block;

	while ((block = graphs->blocks)) {
		graphs->blocks = block->next;
		free_block(graphs, block);
	}
}
