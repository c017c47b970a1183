/*
 * lib/save/saved.h - putting the contents of a text together
 *
 * What is added goes to the end; the caller keeps the order that a text has.
 * All names are copied. ERROR_MEMORY: then nothing was added.
 */
#ifndef LIB_SAVE_SAVED_H
#define LIB_SAVE_SAVED_H

#include "lib/save/read.h"

/* saved_init() begins with nothing; saved_finish() is in lib/save/read.h. */
void saved_init(struct saved *saved);

enum philox_status saved_add_generator(struct saved *saved,
				       struct philox_state state);

/*
 * saved_add_region() adds a region without axes, ops and tickets, which are
 * added to the region that was added last.
 */
enum philox_status saved_add_region(struct saved *saved,
				    const struct saved_region *like);
enum philox_status saved_add_axis(struct saved *saved, const char *name);
enum philox_status saved_add_op(struct saved *saved, const struct saved_op *op);
enum philox_status saved_add_ticket(struct saved *saved,
				    const struct saved_ticket *ticket);

/* saved_add_table() adds a table with its rows; NULL: without them. */
enum philox_status saved_add_table(struct saved *saved,
				   const struct saved_table *like,
				   const struct philox_state *rows);

/*
 * saved_copy_ops() and saved_copy_tickets() add those of a region of another
 * text, saved_copy_region() the region with all it has.
 */
enum philox_status saved_copy_ops(struct saved *saved, const struct saved *from,
				  const struct saved_region *region);
enum philox_status saved_copy_tickets(struct saved *saved,
				      const struct saved *from,
				      const struct saved_region *region);
enum philox_status saved_copy_region(struct saved *saved,
				     const struct saved *from,
				     const struct saved_region *region);

/*
 * saved_find_twins() finds two regions whose names have the same hash; two NULL
 * if there are none.
 */
enum philox_status saved_find_twins(const struct saved *saved,
				    const struct saved_region *twins[2]);

#endif
