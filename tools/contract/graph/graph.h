/*
 * tools/contract/graph/graph.h - captured passes: a rig for their checks
 */
#ifndef TOOLS_CONTRACT_GRAPH_GRAPH_H
#define TOOLS_CONTRACT_GRAPH_GRAPH_H

#include "tools/contract/contract.h"

enum {
	RIG_COUNT = 1003, /* elements drawn per operator, not a round number */
	RIG_OPERATORS = 3,
	RIG_WORDS = RIG_OPERATORS * RIG_COUNT,
	RIG_FORWARDS = 12 /* in the reference, and pending at most */
};

/* The numbers of a pass. */
struct contract_shot {
	uint32_t word[RIG_WORDS];
};

/* A context on one device, with memory for the numbers of a pass. */
struct contract_site {
	struct philox_device *device;
	struct philox_context *context;
	struct philox_region *region; /* "contract" */
	philox_stream stream;
	float *ones;    /* RIG_COUNT of them */
	uint32_t *out;  /* RIG_WORDS: the numbers of the last pass */
	uint32_t *back; /* the same, for a second pass */
};

struct contract_rig {
	struct contract_site at;         /* the device under test */
	philox_stream side;              /* a second stream on it */
	struct contract_shot *reference; /* RIG_FORWARDS of them */
	unsigned next;                   /* the next forward */
};

/* Runs a check with its own rig; afterwards the context is gone. */
void contract_with_rig(struct contract *c,
		       void (*check)(struct contract *c,
				     struct contract_rig *rig));

/*
 * Parts of such checks. The device memory at `out` holds the numbers that
 * forward k drew on the reference, or poison; the numbers of any pass; a graph of
 * one forward that draws
 * at rig->at.out, and a launch of it, which must be forward rig->next; an eager
 * backward that must see forward k's numbers; how many tickets are pending.
 */
void contract_is_forward(struct contract *c, struct contract_rig *rig,
			 const uint32_t *out, unsigned k);
void contract_is_poison(struct contract *c, struct contract_rig *rig,
			const uint32_t *out);
void contract_draw(struct contract *c, struct contract_rig *rig,
		   const struct philox_pass *pass, uint32_t *out);
void contract_record_forward(struct contract *c, struct contract_rig *rig,
			     struct philox_graph **graph);
void contract_launch_forward(struct contract *c, struct contract_rig *rig,
			     struct philox_graph *graph,
			     struct philox_ticket *ticket);
void contract_eager_backward(struct contract *c, struct contract_rig *rig,
			     struct philox_ticket ticket, unsigned flags,
			     unsigned k);
void contract_pending_is(struct contract *c, struct contract_rig *rig,
			 size_t expected);

#endif
