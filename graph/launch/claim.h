/*
 * graph/launch/claim.h - taking what a launch needs from ledgers and generators
 *
 * Between claiming and settling, or undoing, a launch holds an open forward for
 * each forward it will make and a reader of each ticket it will use. All
 * functions are called with the graph's and the context's lock held.
 */
#ifndef GRAPH_LAUNCH_CLAIM_H
#define GRAPH_LAUNCH_CLAIM_H

#include "graph/launch/graph.h"

/*
 * claim_all() applies every use of a launch in order and writes the states into
 * the graph's message. If a use is refused, all uses before it are undone,
 * numbers included, since no other call could take any in between.
 */
enum philox_status claim_all(struct philox_graph *graph, struct launch *launch);

/*
 * claim_try() does so, and undoes it: whether a launch would be refused. Nothing
 * of it is in the journal.
 */
enum philox_status claim_try(struct philox_graph *graph, struct launch *launch);

/* claim_settle_all() makes tickets live or used up, after a launch. */
void claim_settle_all(struct philox_graph *graph, struct launch *launch);

/*
 * claim_abort_all() takes back the claims of a launch that failed; the numbers
 * of its forwards are burnt. Both functions leave the saved contexts to release
 * in the claims.
 */
void claim_abort_all(struct philox_graph *graph, struct launch *launch);

#endif
