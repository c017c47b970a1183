/*
 * lib/trace/timeline_tickets.h - pending tickets, arrows
 *
 * See Note [Trace] in lib/trace/timeline.h.
 */
#ifndef LIB_TRACE_TIMELINE_TICKETS_H
#define LIB_TRACE_TIMELINE_TICKETS_H

#include "lib/trace/parts.h"

/*
 * timeline_find_forward() finds the forward of a backward's ticket, while it is
 * pending. timeline_link_ticket() tells the arrow from there to the slice,
 * timeline_link_part() one from a part.
 */
void timeline_find_forward(struct timeline_slice *slice,
			   const struct timeline_step *step);
void timeline_link_ticket(struct timeline *timeline,
			  const struct timeline_slice *slice,
			  const struct timeline_step *step);
void timeline_link_part(struct timeline *timeline,
			const struct timeline_slice *slice,
			const struct timeline_step *step,
			const struct timeline_slice *forward);

/* A pass that was committed makes its ticket, or uses it up. */
void timeline_settle_ticket(const struct timeline_slice *slice,
			    const struct timeline_step *step);
void timeline_lose_ticket(struct timeline_row *row, uint64_t serial);
void timeline_lose_tickets(struct timeline_row *row);

#endif
