/*
 * lib/save/lists.h - the contents of a context, in a reliable order
 */
#ifndef LIB_SAVE_LISTS_H
#define LIB_SAVE_LISTS_H

#include <stddef.h>
#include <stdint.h>
#include "lib/base/status.h"

struct philox_context;
struct philox_generator;
struct philox_region;
struct philox_rows;

/*
 * Generators are in order of creation, regions in an order that the caller
 * chooses, tables of rows by name.
 */
struct save_lists {
	struct philox_generator **generators;
	struct philox_region **regions;
	struct philox_rows **rows;
	size_t n_generators;
	size_t n_regions;
	size_t n_rows;
};

/*
 * save_lists_init() lists what a context holds, its regions sorted by
 * `compare`, a function for qsort(). With the context's lock held.
 */
enum philox_status save_lists_init(struct save_lists *lists,
				   const struct philox_context *context,
				   int (*compare)(const void *, const void *));
void save_lists_finish(struct save_lists *lists);

/* save_lists_number() is a generator's number, SAVE_NO_GENERATOR for NULL. */
uint32_t save_lists_number(const struct save_lists *lists,
			   const struct philox_generator *generator);

#endif
