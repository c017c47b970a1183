/*
 * graph/capture/slots.c - places in the message of a capture's head
 */
#include "graph/capture/capture.h"

/* Gives the head's node a message with room for one more slot. */
static enum philox_status reserve_slot(struct capture *capture)
{
	struct head_message message;
	struct kernel_call call;
	enum philox_status status;

	if (capture->slots < capture->node_capacity)
		return PHILOX_OK;
	status =
		head_message_init(&message, &capture->head, capture->slots + 1);
	if (status != PHILOX_OK)
		return status;
	call = head_call(&capture->head, &message);
	status = device_graph_set_kernel(capture_device(capture),
					 capture->first.node, &call);
	if (status == PHILOX_OK)
		capture->node_capacity = message.capacity;
	head_message_finish(&message);
	return status;
}

enum philox_status slots_take_cells(struct capture *capture, uint32_t cells,
				    struct arena_block *block)
{
	enum philox_status status =
		head_reserve(capture->graphs, &capture->head, cells);

	if (status != PHILOX_OK)
		return status;
	return arena_alloc(&capture->graphs->cells,
			   cells * sizeof(struct philox_state), block);
}

enum philox_status slots_take(struct capture *capture, uint32_t cells,
			      struct arena_block *block, uint32_t *slot)
{
	enum philox_status status = reserve_slot(capture);

	*slot = capture->slots;
	return status == PHILOX_OK ? slots_take_cells(capture, cells, block)
				   : status;
}
