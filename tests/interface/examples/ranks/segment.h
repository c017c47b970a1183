/*
 * examples/ranks/segment.h - a piece of work between two communications: a
 * captured graph, or, with --eager, the same calls each time
 */
#ifndef RANKS_SEGMENT_H
#define RANKS_SEGMENT_H

#include "model.h"

enum { SEGMENT_PASSES = 2 }; /* that a segment has at most */

/*
 * The calls of a segment. If its first pass is a forward it writes *ticket;
 * else it begins that pass with *ticket, the zero ticket in a capture, and the
 * others with the ticket that philox_pass_ticket() gives for it.
 */
typedef void segment_body(struct model *model, void *work,
			  struct philox_ticket *ticket);

/*
 * Runs a segment. *graph is NULL at first; it belongs to the context. *ticket
 * is that of the forward which the segment makes or repeats.
 */
void segment_run(struct model *model, struct philox_graph **graph,
		 segment_body *body, void *work, struct philox_ticket *ticket);

#endif
