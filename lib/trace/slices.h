/*
 * lib/trace/slices.h - what begins and ends
 *
 * See Note [Trace] in lib/trace/timeline.h.
 */
#ifndef LIB_TRACE_SLICES_H
#define LIB_TRACE_SLICES_H

#include "lib/trace/parts.h"

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

/* timeline_forget_slice() frees one, with its parts; in the list or not. */
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

#endif
