/*
 * lib/trace/timeline_rows.h - rows and lanes
 *
 * See Note [Trace] in lib/trace/timeline.h.
 */
#ifndef LIB_TRACE_TIMELINE_ROWS_H
#define LIB_TRACE_TIMELINE_ROWS_H

#include "lib/trace/parts.h"

/* Each returns NULL if there is no memory. */
struct timeline_row *timeline_find_row(struct timeline *timeline,
				       enum timeline_group group,
				       struct written_word name);

/* The first lane of a row, or the first one on which nothing is open. */
struct timeline_lane *timeline_find_lane(struct timeline *timeline,
					 enum timeline_group group,
					 struct written_word name, int idle);

void timeline_free_rows(struct timeline *timeline);

#endif
