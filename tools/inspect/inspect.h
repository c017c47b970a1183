/*
 * tools/inspect/inspect.h - journals, contexts and sets, as words and pictures
 */
#ifndef TOOLS_INSPECT_INSPECT_H
#define TOOLS_INSPECT_INSPECT_H

#include <stdio.h>
#include "lib/containers/btree.h"
#include "lib/names/keyed.h"
#include "lib/trace/trace.h"
#include "tools/formats/formats.h"

/* --- inspect: a journal's regions ----------------------------------------- */

/* One region of one context; times are in events of the context. */
struct inspect_region {
	uint64_t context;
	struct written_word name;
	size_t forwards, backwards; /* committed; launched ones included */
	size_t pending;
	uint64_t oldest, oldest_for; /* pending for longest; or 0, 0 */
	uint64_t longest_for;        /* the longest that a ticket waited */
};

struct inspect_regions {
	struct inspect_region *regions; /* context by context */
	size_t n;
};

/* inspect_regions() follows the tickets of a journal; -1: out of memory. */
int inspect_regions(const struct written *journal,
		    struct inspect_regions *regions);
void inspect_regions_finish(struct inspect_regions *regions);

/* --- follow: a journal as a timeline -------------------------------------- */

/*
 * A journal has no times, by design: the place of an event in the journal,
 * counted from 1 over all contexts, is its time. In a journal of one context
 * that is the number of the event.
 */

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

/* --- drawing: what a picture of a journal shows --------------------------- */

/*
 * The items of all contexts' timelines, kept until all is known that decides
 * where each is drawn.
 */

struct drawn_lane {
	uint64_t context;
	enum timeline_group group;
	unsigned order, place; /* see struct timeline_row and timeline_lane */
	unsigned number;
	char *name;
	double y;      /* of its middle */
	double lowest; /* that of the last of its context */
	size_t before; /* its index while it is not in order */
	int shown;     /* has anything in the picture */
};

struct drawn_slice {
	size_t lane;
	enum timeline_kind kind;
	enum timeline_mode mode;
	uint64_t since, until;
	const char *look; /* "plain", "repeat", "abort": what the box is like */
	char *label, *about;
};

/* From the end of the slice of a forward to the begin of another. */
struct drawn_arrow {
	size_t from, to; /* slices */
};

struct drawn_mark {
	size_t lane;
	uint64_t time;
	char *about;
};

struct drawing {
	uint64_t first, last;     /* places that are in the picture */
	struct drawn_lane *lanes; /* from top to bottom once it is made */
	size_t n_lanes;
	struct drawn_slice *slices;
	size_t n_slices;
	struct drawn_arrow *arrows;
	size_t n_arrows;
	struct drawn_mark *marks;
	size_t n_marks;
	struct keyed by_number; /* lanes, by context and number */
	struct keyed by_time;   /* of a lane, the newest slice from then on */
	int failed;             /* no memory */
};

/*
 * drawing_make() collects what places `first` to `last` of a journal show. It
 * returns 0, or -1: out of memory.
 */
int drawing_make(struct drawing *drawing, const struct written *journal,
		 uint64_t first, uint64_t last);
void drawing_finish(struct drawing *drawing);

/* --- pictures: pictures of a journal -------------------------------------- */

/*
 * trace_journal() writes a trace for ui.perfetto.dev and chrome://tracing to
 * the file `to`, which must not be `from`, the journal's. svg_journal() draws
 * the events from place `first` to place `last`, 0 for the end, on `out`; if
 * that is too long for one picture it is cut and a sentence says so.
 * Both return the exit status after saying what is wrong.
 */
int trace_journal(const struct written *journal, const char *from,
		  const char *to);
int svg_journal(const struct written *journal, const char *from, uint64_t first,
		uint64_t last, FILE *out);

#endif
