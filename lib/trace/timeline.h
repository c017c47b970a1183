/*
 * lib/trace/timeline.h - what the events of a context look like over time
 *
 * Note [Trace]
 * ~~~~~~~~~~~~
 * A timeline is made of the events of Note [Journal], by the library while they
 * happen (PHILOX_TRACE, NVTX) or by `philox inspect` from a journal, so that
 * all pictures show the same. It has
 *
 *  rows    one for what happens to the context, one for captures, one for
 *          launches, one for each runner and one for each region. What overlaps
 *          in a row is on several lanes of it; slices of one lane never overlap.
 *  slices  a pass from its begin to its commit or abort; a capture from its
 *          first pass to the graph that is made from it; a launch, from taking
 *          tickets to settling them; a call of a runner's function. A pass of a
 *          capture is a slice, too.
 *  uses    the passes that a launch executes. Only the device knows when they
 *          run: they are shown one after another, with equal shares of the
 *          launch, when it ends.
 *  arrows  from the forward to every pass that repeats it: by its ticket, by a
 *          placeholder within a capture, or within a launch.
 *  marks   every other event. Those of a runner's pool are on the runner's row,
 *          and so is a call that was no replay, with the reason's name.
 *
 * An event that ends what was not seen to begin is a mark, and there are no
 * arrows from forwards that were not seen. Times are the caller's; each event
 * has a later one than the event before it.
 */
#ifndef LIB_TRACE_TIMELINE_H
#define LIB_TRACE_TIMELINE_H

#include "lib/trace/words.h"

enum timeline_group {
	TIMELINE_CONTEXT,
	TIMELINE_CAPTURES,
	TIMELINE_LAUNCHES,
	TIMELINE_RUNNER,
	TIMELINE_REGION
};

struct timeline_row {
	struct timeline_row *next; /* in order of appearance */
	enum timeline_group group;
	unsigned order;           /* among those of its group, from 0 */
	struct written_word name; /* as in a journal; its own copy */
	struct timeline_lane *lanes;
	struct timeline_ticket *tickets; /* of a region: newest first */
};

struct timeline_lane {
	struct timeline_lane *next;
	struct timeline_row *row;
	unsigned number; /* in its context, from 1 */
	unsigned place;  /* in its row, from 0 */
	int busy;
	uint64_t range; /* of who takes the items, for the slice that is open */
};

enum timeline_what {
	TIMELINE_LANE,  /* a new lane: before anything on it */
	TIMELINE_BEGIN, /* a slice begins on its lane, which is not busy */
	TIMELINE_END,   /* it ends, with an outcome */
	TIMELINE_USE,   /* a whole slice, from `time` to `until` */
	TIMELINE_ARROW, /* from `from` at `from_time` to lane and time */
	TIMELINE_MARK
};

enum timeline_kind {
	TIMELINE_FORWARD,
	TIMELINE_BACKWARD,
	TIMELINE_CAPTURE,
	TIMELINE_LAUNCH,
	TIMELINE_CALL,
	TIMELINE_OTHER
};

/* How a pass runs. */
enum timeline_mode { TIMELINE_EAGER, TIMELINE_CAPTURED, TIMELINE_LAUNCHED };

/* "forward", 12, " (retained)". */
struct timeline_label {
	char name[384];
	uint64_t number; /* 0: none */
	const char *note;
};

/* Valid during the call that it is given to. */
struct timeline_item {
	enum timeline_what what;
	enum timeline_kind kind;
	enum timeline_mode mode;
	struct timeline_lane *lane;
	uint64_t time, until;
	const struct timeline_label *label; /* if it is no end, no lane */
	const char *outcome; /* of TIMELINE_END, TIMELINE_USE: "commit", ... */
	const struct timeline_lane *from;
	uint64_t from_time;
	uint64_t arrow;                   /* counts a context's arrows from 1 */
	const struct written_word *words; /* the event */
	size_t n;
};

/* timeline_write_label() writes it as text, cut to its room. */
void timeline_write_label(const struct timeline_label *label, char *text,
			  size_t size);

typedef void timeline_take(void *user, const struct timeline_item *item);

/* timeline_create() makes an empty one for a context; NULL: no memory. */
struct timeline *timeline_create(timeline_take *take, void *user);

/*
 * timeline_event() takes the next event and hands on what becomes of it. What
 * there is no memory for is left out.
 */
void timeline_event(struct timeline *timeline, uint64_t time, const char *text,
		    size_t length);

/*
 * timeline_finish() ends what is open, with the outcome "open", at a time that
 * is later than all events, and frees the timeline; NULL is allowed.
 */
void timeline_finish(struct timeline *timeline, uint64_t time);

#endif
