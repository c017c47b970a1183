/*
 * lib/state/timeline_tickets.h - pending tickets, arrows
 *
 * See Note [Trace] in lib/state/timeline.h.
 */
#ifndef LIB_STATE_TIMELINE_TICKETS_H
#define LIB_STATE_TIMELINE_TICKETS_H

#include "lib/state/timeline_parts.h"

/* An arrow to a slice, from the forward of its ticket or from a part. */
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
