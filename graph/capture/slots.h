/*
 * graph/capture/slots.h - places in the message of a capture's head
 *
 * With the context's lock.
 */
#ifndef GRAPH_CAPTURE_SLOTS_H
#define GRAPH_CAPTURE_SLOTS_H

#include "graph/capture/capture.h"

/*
 * slots_take() takes new cells for the next slot, and room for both in the
 * capture's head; the caller then adds the cells there and counts the slot, or
 * frees them. ERROR_LIMIT, ERROR_MEMORY, those of the device.
 */
enum philox_status slots_take(struct capture *capture, uint32_t cells,
			      struct arena_block *block, uint32_t *slot);

/* slots_take_cells() takes further cells for a slot. */
enum philox_status slots_take_cells(struct capture *capture, uint32_t cells,
				    struct arena_block *block);

#endif
