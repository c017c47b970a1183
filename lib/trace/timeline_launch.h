/*
 * lib/trace/timeline_launch.h - launches and the passes they execute
 *
 * See Note [Trace] in lib/trace/timeline.h.
 */
#ifndef LIB_TRACE_TIMELINE_LAUNCH_H
#define LIB_TRACE_TIMELINE_LAUNCH_H

#include "lib/trace/parts.h"

void timeline_begin_launch(struct timeline *timeline,
			   const struct timeline_step *step);
void timeline_add_use(struct timeline *timeline,
		      const struct timeline_step *step);
void timeline_end_launch(struct timeline *timeline,
			 const struct timeline_step *step, const char *outcome);
/* The launch with this slice. */
void timeline_close_launch(struct timeline *timeline,
			   struct timeline_slice *launch,
			   const struct timeline_step *step,
			   const char *outcome);

#endif
