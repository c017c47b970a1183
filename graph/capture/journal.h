/*
 * graph/capture/journal.h - the events that graph/ writes into a context's journal
 *
 * See Note [Journal] in lib/state/journal.h. With the context's lock held.
 */
#ifndef GRAPH_CAPTURE_JOURNAL_H
#define GRAPH_CAPTURE_JOURNAL_H

#include "lib/state/journal.h"
#include "graph/capture/capture.h"

/* journal_captured() writes that a pass, the newest one, was recorded. */
void journal_captured(const struct capture *capture);

/* journal_conditional() writes that a conditional node was, the newest one. */
void journal_conditional(const struct capture *capture);

/* journal_ended() writes that a recorded pass was committed or aborted. */
void journal_ended(const struct capture *capture,
		   const struct captured_pass *captured);

/* journal_capture() writes how a capture ended: "adopt" or "drop". */
void journal_capture(const struct capture *capture, const char *event);

#endif
