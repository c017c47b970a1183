/*
 * tools/inspect/inspect.h - a journal's regions
 */
#ifndef TOOLS_INSPECT_INSPECT_H
#define TOOLS_INSPECT_INSPECT_H

#include "tools/common/written.h"

/* A ticket that waits for its backward, or has waited. */
struct inspect_ticket {
	uint64_t serial;
	size_t since; /* index of the event that committed it */
	int over;
};

/* One region of one context; times are in events of the context. */
struct inspect_region {
	uint64_t context;
	struct written_word name;
	size_t forwards, backwards; /* committed; launched ones included */
	size_t pending;
	uint64_t oldest, oldest_for; /* pending for longest; or 0, 0 */
	uint64_t longest_for;        /* the longest that a ticket waited */
	struct inspect_ticket *tickets;
	size_t n_tickets, capacity;
};

struct inspect_regions {
	struct inspect_region *regions;
	size_t n;
};

/* inspect_regions() follows the tickets of a journal; -1: out of memory. */
int inspect_regions(const struct written *journal,
		    struct inspect_regions *regions);
void inspect_regions_finish(struct inspect_regions *regions);

#endif
