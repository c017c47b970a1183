/*
 * graph/capture/journal.h - the events that graph/ writes into a context's journal
 *
 * See Note [Journal] in lib/state/journal.h. With the context's lock held.
 */
#ifndef GRAPH_CAPTURE_JOURNAL_H
#define GRAPH_CAPTURE_JOURNAL_H

#include "lib/state/journal.h"
#include "graph/launch/graph.h"

/* journal_captured() writes that a pass, the newest one, was recorded. */
void journal_captured(const struct capture *capture);

/* journal_conditional() writes that a conditional node was, the newest one. */
void journal_conditional(const struct capture *capture);

/* journal_ended() writes that a recorded pass was committed or aborted. */
void journal_ended(const struct capture *capture,
		   const struct captured_pass *captured);

/* journal_capture() writes how a capture ended: "adopt" or "drop". */
void journal_capture(const struct capture *capture, const char *event);

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
