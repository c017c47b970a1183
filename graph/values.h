/*
 * graph/values.h - values: bytes that each launch of a graph brings along
 *
 * A value is a cell with a slot of the message, like the state of a generator
 * that a capture copies: the head stores the slot's 16 bytes as they are, or
 * poison (Note [Head]). The graph's message keeps the bytes that were set last,
 * from launch to launch.
 */
#ifndef GRAPH_VALUES_H
#define GRAPH_VALUES_H

#include "graph/capture.h"

struct philox_graph;

struct captured_value {
	char *name;
	uint32_t slot;
	uint32_t size;
	struct arena_block cell;
	struct philox_state initial; /* its bytes, zeros after them */
};

/* values_begin() writes the initial bytes into a new graph's message. */
void values_begin(struct philox_graph *graph);

/* values_free() frees a capture's values. */
void values_free(struct capture *capture);

#endif
