/*
 * lib/save/load.h - putting a text that was read into a context
 */
#ifndef LIB_SAVE_LOAD_H
#define LIB_SAVE_LOAD_H

#include "lib/save/lists.h"

struct saved;
struct save_place;

/* The changes that a load will make, and afterwards those it has replaced. */
struct save_plan {
	struct philox_context *context;
	const struct saved *saved;
	struct save_lists lists; /* regions sorted by key */
	struct save_place *places;
	struct philox_region *made; /* records of destroyed names */
};

/*
 * save_plan_init() compares a context with a text (ERROR_MISMATCH) and takes
 * all memory that the load needs; save_plan_commit() loads, and cannot fail.
 * Both with the lock held. save_plan_finish(), without, releases the saved
 * contexts of what was replaced, or undoes what was prepared.
 */
enum philox_status save_plan_init(struct save_plan *plan,
				  struct philox_context *context,
				  const struct saved *saved);
void save_plan_commit(struct save_plan *plan);
void save_plan_finish(struct save_plan *plan);

#endif
