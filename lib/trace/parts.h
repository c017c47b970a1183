/*
 * lib/trace/parts.h - what is on its way through a timeline
 *
 * See Note [Trace] in lib/trace/timeline.h. What has begun is a slice. Eager
 * passes, captures and launches are in a list, where their end finds them by a
 * key: the words that begin and end have in common. Passes of a capture and of
 * a launch are parts of its slice, by their number, until it is over: later
 * ones may repeat them.
 */
#ifndef LIB_TRACE_PARTS_H
#define LIB_TRACE_PARTS_H

#include "lib/trace/timeline.h"

struct timeline_slice {
	struct timeline_slice *next; /* newest first */
	enum timeline_kind kind;
	enum timeline_mode mode;
	struct timeline_lane *lane;
	uint64_t since;
	const struct timeline_lane *from; /* of a use: its ticket's forward */
	uint64_t from_time;
	int over;
	struct timeline_slice **parts;
	size_t n_parts;
	char *text; /* of a use: its event; else the key */
};

struct timeline {
	timeline_take *take;
	void *user;
	struct timeline_row *rows, **last_row;
	struct timeline_slice *slices;
	unsigned lanes;
	uint64_t arrows;
};

/* An event on its way through a timeline. */
struct timeline_step {
	uint64_t time;
	const char *text;
	size_t length;
	struct written_word words[WRITTEN_WORDS_MAX];
	size_t n;
};

static inline uint64_t step_number(const struct timeline_step *step,
				   const char *field)
{
	return written_number(step->words, step->n, field);
}

static inline struct written_word step_word(const struct timeline_step *step,
					    const char *field)
{
	return written_field(step->words, step->n, field);
}

#endif
