/*
 * lib/save/lists.c - see lib/save/lists.h
 *
 * Called with the context's lock held.
 */
#include <stdlib.h>
#include <string.h>
#include "lib/rows/rows.h"
#include "lib/save/lists.h"
#include "lib/save/text.h"
#include "lib/state/region.h"

static int is_there(const struct philox_rows *rows)
{
	return rows->alive && !rows->leaving;
}

static void count_all(const struct philox_context *context,
		      struct save_lists *lists)
{
	for (const struct philox_generator *generator = context->generators;
	     generator; generator = generator->next)
		lists->n_generators++;
	for (const struct philox_region *region = context->regions; region;
	     region = region->next)
		lists->n_regions++;
	for (const struct philox_rows *rows = context->rows; rows;
	     rows = rows->next)
		lists->n_rows += is_there(rows);
}

/* A context's lists are newest first. */
static void fill_lists(const struct philox_context *context,
		       struct save_lists *lists)
{
	size_t generators = lists->n_generators, regions = lists->n_regions;
	size_t tables = lists->n_rows;

	for (struct philox_generator *generator = context->generators;
	     generator; generator = generator->next)
		lists->generators[--generators] = generator;
	for (struct philox_region *region = context->regions; region;
	     region = region->next)
		lists->regions[--regions] = region;
	for (struct philox_rows *rows = context->rows; rows; rows = rows->next)
		if (is_there(rows))
			lists->rows[--tables] = rows;
}

static int compare_tables(const void *a, const void *b)
{
	const struct philox_rows *const *left = a, *const *right = b;

	return strcmp((*left)->name, (*right)->name);
}

enum philox_status save_lists_init(struct save_lists *lists,
				   const struct philox_context *context,
				   int (*compare)(const void *, const void *))
{
	memset(lists, 0, sizeof(*lists));
	count_all(context, lists);
	lists->generators =
		calloc(lists->n_generators + 1, sizeof(*lists->generators));
	lists->regions = calloc(lists->n_regions + 1, sizeof(*lists->regions));
	lists->rows = calloc(lists->n_rows + 1, sizeof(*lists->rows));
	if (!lists->generators || !lists->regions || !lists->rows) {
		save_lists_finish(lists);
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory to list a context");
	}
	fill_lists(context, lists);
	qsort(lists->regions, lists->n_regions, sizeof(*lists->regions),
	      compare);
	qsort(lists->rows, lists->n_rows, sizeof(*lists->rows), compare_tables);
	return PHILOX_OK;
}

void save_lists_finish(struct save_lists *lists)
{
	free(lists->generators);
	free(lists->regions);
	free(lists->rows);
	memset(lists, 0, sizeof(*lists));
}

uint32_t save_lists_number(const struct save_lists *lists,
			   const struct philox_generator *generator)
{
	uint32_t number = 0;

	if (!generator)
		return SAVE_NO_GENERATOR;
	while (lists->generators[number] != generator)
		number++;
	return number;
}
