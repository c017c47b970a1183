/*
 * graph/head_elements.h - the head's work, for the host's loop and the kernel
 *
 * See Note [Head] in graph/head.h for the protocol.
 */
#ifndef GRAPH_HEAD_ELEMENTS_H
#define GRAPH_HEAD_ELEMENTS_H

#include "lib/device/kernels.h"

/* head_accepts() tells whether a message is new, that is, announced. */
PHILOX_FN int head_accepts(const struct head_args *args)
{
	return args->sequence > args->control->sequence;
}

/* head_fill_cell() fills cell i of the graph from the message or poisons it. */
PHILOX_FN void head_fill_cell(const struct head_args *args, uint64_t i,
			      int accepted)
{
	const struct head_cell *entry = &args->control->map[i];
	struct philox_state state;

	if (accepted) {
		state = args->states[entry->slot];
		state.offset += entry->shift;
		if (!entry->plain)
			state.seed = philox_op_seed(state.seed, entry->op,
						    entry->call);
	} else {
		state.seed = ~(uint64_t)0;
		state.offset = PHILOX_POISON_OFFSET;
	}
	*entry->cell = state;
}

#endif
