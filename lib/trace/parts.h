/*
 * lib/trace/parts.h - the parts of a timeline
 */
#ifndef LIB_TRACE_PARTS_H
#define LIB_TRACE_PARTS_H

#include "lib/containers/btree.h"
#include "lib/names/keyed.h"
#include "lib/trace/trace.h"

/* --- parts: what is on its way through a timeline ------------------------- */

/*
 * See Note [Trace] in lib/trace/trace.h. What has begun is a slice. Eager
 * passes, captures and launches are in a list, and their end finds them by a
 * key: the words that begin and end have in common. Passes of a capture and of
 * a launch are parts of its slice, by their number, until it ends: later
 * ones may repeat them.
 *
 * A timeline may have any number of rows, lanes, open slices and pending
 * tickets, so none is looked for one by one.
 */

struct timeline_slice {
	struct timeline_slice *newer, *older; /* in the list */
	struct timeline_slice *same; /* the next older one with its key */
	uint64_t number;             /* of a launch, from 1 */
	enum timeline_kind kind;
	enum timeline_mode mode;
	struct timeline_lane *lane;
	uint64_t since;
	const struct timeline_lane *from; /* of a use: its ticket's forward */
	uint64_t from_time;
	int ended;
	int listed; /* its text is its key */
	struct timeline_slice **parts;
	size_t n_parts;
	char *text; /* of a use: its event; else the key */
};

struct timeline {
	timeline_take *take;
	void *user;
	struct timeline_row *rows, **last_row;
	struct keyed by_name;                 /* rows, by group and name */
	unsigned groups[TIMELINE_REGION + 1]; /* how many rows each has */
	uint64_t n_rows;
	struct timeline_slice *slices; /* newest first */
	struct keyed by_key;           /* the newest with each key */
	struct slab nodes;
	struct index idle;    /* lanes that are, by row and place */
	struct index tickets; /* pending ones, by row and serial */
	unsigned lanes;
	uint64_t launches;
	uint64_t arrows;
};

/* An event on its way through a timeline. */
struct timeline_step {
	uint64_t time;
	const char *text;
	size_t length;
	struct written_word words[WRITTEN_WORDS_MAX];
	size_t n;
	int backward;        /* the event is one of a backward */
	const char *outcome; /* of one that ends something */
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

/* --- slices.c: rows and lanes --------------------------------------------- */

/*
 * See Note [Trace] in lib/trace/trace.h.
 */

/* Each returns NULL if there is no memory. */
struct timeline_row *timeline_find_row(struct timeline *timeline,
				       enum timeline_group group,
				       struct written_word name);

/* timeline_idle() says that nothing is open on a lane any more. */
void timeline_idle(struct timeline *timeline, struct timeline_lane *lane);

void timeline_free_rows(struct timeline *timeline);

/* --- slices: what begins and ends ----------------------------------------- */

/*
 * See Note [Trace] in lib/trace/trace.h.
 */

struct timeline_label timeline_pass_label(const struct timeline_step *step,
					  int backward);
struct timeline_label timeline_number_label(const char *name, uint64_t number);

/*
 * timeline_add_slice() takes an idle lane for a slice; NULL: no memory.
 * timeline_begin_slice() also puts it into the list, under a key, and tells
 * that it begins. timeline_end_slice() tells that it ends.
 */
struct timeline_slice *timeline_add_slice(struct timeline *timeline,
					  const struct timeline_slice *like,
					  enum timeline_group group,
					  struct written_word name);
struct timeline_slice *timeline_begin_slice(struct timeline *timeline,
					    const struct timeline_slice *like,
					    enum timeline_group group,
					    struct written_word name,
					    const struct timeline_step *step,
					    const char *key,
					    const struct timeline_label *label);
void timeline_end_slice(struct timeline *timeline, struct timeline_slice *slice,
			const struct timeline_step *step, const char *outcome);

struct timeline_slice *timeline_find_slice(const struct timeline *timeline,
					   const char *key);

/* timeline_forget_slice() frees one, with its parts; in the list if it has
 * a key. */
void timeline_forget_slice(struct timeline *timeline,
			   struct timeline_slice *slice);

/*
 * timeline_add_part() makes a slice part of another, which frees it; -1: no
 * memory. timeline_find_part() finds one that another one repeats.
 */
int timeline_add_part(struct timeline_slice *whole,
		      struct timeline_slice *part);
struct timeline_slice *timeline_find_part(const struct timeline_slice *whole,
					  const struct timeline_step *step,
					  const char *field);

struct timeline_item timeline_item(enum timeline_what what,
				   const struct timeline_slice *slice,
				   const struct timeline_step *step);
void timeline_mark(struct timeline *timeline, const struct timeline_step *step);

/* --- slices.c: pending tickets, arrows ------------------------------------ */

/*
 * See Note [Trace] in lib/trace/trace.h.
 */

/*
 * timeline_find_forward() finds the forward of a backward's ticket, while it is
 * pending. timeline_link_ticket() tells the arrow from there to the slice,
 * timeline_link_part() one from a part.
 */
void timeline_find_forward(const struct timeline *timeline,
			   struct timeline_slice *slice,
			   const struct timeline_step *step);
void timeline_link_ticket(struct timeline *timeline,
			  const struct timeline_slice *slice,
			  const struct timeline_step *step);
void timeline_link_part(struct timeline *timeline,
			const struct timeline_slice *slice,
			const struct timeline_step *step,
			const struct timeline_slice *forward);

/* A pass that was committed makes its ticket, or uses it up. */
void timeline_settle_ticket(struct timeline *timeline,
			    const struct timeline_slice *slice,
			    const struct timeline_step *step);
void timeline_lose_ticket(struct timeline *timeline,
			  const struct timeline_row *row, uint64_t serial);

/* Those of a row, or of all if that is NULL. */
void timeline_lose_tickets(struct timeline *timeline,
			   const struct timeline_row *row);

#endif
