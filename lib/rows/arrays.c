/*
 * lib/rows/arrays.c - the arrays of one call, and whether they overlap
 */
#include <assert.h>
#include "lib/rows/rows.h"

/* --- collecting ----------------------------------------------------------- */

void rows_arrays_add(struct rows_arrays *arrays, struct rows_array array)
{
	if (!array.start || !array.n || !array.size)
		return;
	assert(arrays->count < ROWS_ARRAYS_MAX);
	arrays->array[arrays->count++] = array;
}

void rows_arrays_read(struct rows_arrays *arrays, const char *name,
		      const void *start, uint64_t n, uint64_t size)
{
	rows_arrays_add(arrays, (struct rows_array){.name = name,
						    .start = start,
						    .n = 1,
						    .size = n * size});
}

void rows_arrays_written(struct rows_arrays *arrays, const char *name,
			 const void *start, uint64_t n, uint64_t size)
{
	rows_arrays_add(arrays, (struct rows_array){.name = name,
						    .start = start,
						    .n = 1,
						    .size = n * size,
						    .written = 1});
}

void rows_arrays_add_list(struct rows_arrays *arrays,
			  const struct rows_list *list)
{
	rows_arrays_read(arrays, "list: indices", list->indices, list->n,
			 sizeof(*list->indices));
	rows_arrays_read(arrays, "list: mask", list->mask, list->n,
			 sizeof(*list->mask));
	rows_arrays_read(arrays, "list: steps", list->steps, list->n,
			 sizeof(*list->steps));
}

/* Control block, states and turns are one piece: lib/rows/rows.h. */
void rows_arrays_add_table(struct rows_arrays *arrays,
			   const struct rows_table *table)
{
	const char *end = (const char *)(table->turns + table->count);

	rows_arrays_add(
		arrays,
		(struct rows_array){
			.name = "the table",
			.start = table->control,
			.n = 1,
			.size = (uint64_t)(end - (const char *)table->control),
			.written = 1,
			.ours = 1});
}

void rows_arrays_list(const struct rows_arrays *arrays,
		      struct kernel_arrays *list)
{
	kernel_no_arrays(list);
	for (unsigned i = 0; i < arrays->count; i++) {
		const struct rows_array *array = &arrays->array[i];
		uint64_t last = array->room ? array->room : array->size;

		if (!array->ours)
			kernel_adds(list, array->name, array->start,
				    (array->n - 1) * array->pitch + last,
				    array->written);
	}
}

/* --- comparing ------------------------------------------------------------ */

/* `whole` is in one piece: it may lie between two pieces of the other. */
static int meet(const struct rows_array *whole, const struct rows_array *other)
{
	const uint64_t begin = (uintptr_t)whole->start;
	const uint64_t start = (uintptr_t)other->start;
	uint64_t apart, before;

	if (begin < start)
		return start - begin < whole->size;
	apart = begin - start;
	before = other->n > 1 ? apart / other->pitch : 0;
	if (before >= other->n)
		before = other->n - 1;
	if (apart - before * other->pitch < other->size)
		return 1;
	return before + 1 < other->n &&
	       (before + 1) * other->pitch - apart < whole->size;
}

/*
 * Of two arrays that are both in pieces the first counts as a whole. With one
 * pitch they may be interleaved: then what holds for the first piece of that
 * which begins later holds for its others.
 */
static int arrays_meet(const struct rows_array *a, const struct rows_array *b)
{
	struct rows_array whole = a->n > 1 && b->n == 1 ? *b : *a;

	if (a->n > 1 && b->n > 1 && a->pitch == b->pitch)
		return (uintptr_t)a->start < (uintptr_t)b->start ? meet(b, a)
								 : meet(a, b);
	whole.size += (whole.n - 1) * whole.pitch;
	return meet(&whole, a->n > 1 && b->n == 1 ? a : b);
}

enum philox_status rows_arrays_check(const struct rows_arrays *arrays)
{
	for (unsigned i = 0; i < arrays->count; i++)
		for (unsigned k = i + 1; k < arrays->count; k++) {
			const struct rows_array *a = &arrays->array[i];
			const struct rows_array *b = &arrays->array[k];

			if ((a->written || b->written) && arrays_meet(a, b))
				return status_set(PHILOX_ERROR_INVALID,
						  "%s (%p) and %s (%p) overlap",
						  a->name, a->start, b->name,
						  b->start);
		}
	return PHILOX_OK;
}
