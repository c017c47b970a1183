/*
 * tools/inspect/follow.h - a journal as a timeline
 *
 * A journal has no times, by design: the place of an event in the journal,
 * counted from 1 over all contexts, is its time. In a journal of one context
 * that is the number of the event.
 */
#ifndef TOOLS_INSPECT_FOLLOW_H
#define TOOLS_INSPECT_FOLLOW_H

#include "lib/trace/trace.h"
#include "tools/common/written.h"

struct follow {
	void (*context)(void *user, uint64_t context); /* a new one */
	void (*take)(void *user, uint64_t context,
		     const struct timeline_item *item);
	void *user;
	uint64_t scale; /* of times */
};

/* follow_last() returns the place of the last event; 0: there is none. */
uint64_t follow_last(const struct written *journal);

/*
 * follow_journal() hands on what becomes of all events up to the place `last`;
 * what is open there ends at the place after it. Returns 0, or -1: out of
 * memory.
 */
int follow_journal(const struct written *journal, const struct follow *follow,
		   uint64_t last);

#endif
