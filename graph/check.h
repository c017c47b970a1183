/*
 * graph/check.h - launches made without philox, and quiet contexts
 *
 * With the context's lock held.
 */
#ifndef GRAPH_CHECK_H
#define GRAPH_CHECK_H

#include "graph/launch/graph.h"

/* check_regions() writes the names of a capture's regions, ", " between. */
void check_regions(const struct capture *capture, char *text, size_t size);

/*
 * check_capture() adds a capture's new unannounced launches to a report and
 * posts them to the log.
 */
void check_capture(struct capture *capture, struct philox_report *report);

/* The hook `quiet`: see lib/state/context.h. */
enum philox_status check_quiet(struct philox_context *context);

#endif
