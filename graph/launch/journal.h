/*
 * graph/launch/journal.h - the events of launches in a context's journal
 *
 * See Note [Journal] in lib/state/journal.h. With the context's lock held.
 */
#ifndef GRAPH_LAUNCH_JOURNAL_H
#define GRAPH_LAUNCH_JOURNAL_H

#include "graph/capture/journal.h"
#include "graph/launch/graph.h"

/* journal_claimed() writes a launch that has taken its tickets; with uses. */
void journal_claimed(const struct philox_graph *graph,
		     const struct launch *launch);

/* journal_refused() writes a launch that was refused for a use. */
void journal_refused(const struct philox_graph *graph, uint32_t use,
		     enum philox_status status);

/* journal_launched() writes how that launch ended. */
void journal_launched(const struct philox_graph *graph,
		      enum philox_status status);

#endif
