/*
 * lib/kernels/host/host.c - the library's kernels as functions
 *
 * Each calls the inline definitions that the CUDA kernel uses too. It runs on
 * the thread of its stream and takes no lock; the arguments are its own copy.
 */
#include <string.h>
#include "lib/device/contract.h"
#include "lib/fill/fill.h"
#include "lib/fill/layout/layout.h"
#include "lib/kernels/host/host.h"

#define HEAD_FILL(args, entries, n, taken) \
	head_fill_cells(args, entries, n, taken)
#include "lib/kernels/head/head_elements.h"
#include "lib/kernels/head/body_elements.h"

#define FILL_RUN(name, out, in, n, traits)          \
	static void run_##name(const void *args)    \
	{                                           \
		fill_host_run(KERNEL_##name, args); \
	}
FILL_LIST(FILL_RUN)
#undef FILL_RUN

/* --- the head ------------------------------------------------------------- */

static void run_head(const void *pointer)
{
	const struct head_args *args = pointer;
	const struct head_cells cells = head_find_cells(args);

	for (uint64_t part = 0; part < cells.parts; part++)
		head_run_part(args, &cells, part);
}

static void run_store(const void *pointer)
{
	const struct store_args *args = pointer;

	*args->to = args->state;
}

static void run_copies(const void *pointer)
{
	const struct copies_args *args = pointer;

	for (uint64_t i = 0; i < args->count; i++)
		memcpy(args->items[i].to, args->items[i].from,
		       args->items[i].bytes);
}

static void compare_item(const struct compare_item *item)
{
	const unsigned char *one = item->one, *other = item->other;

	if (memcmp(one, other, item->bytes) == 0)
		return;
	for (uint64_t k = 0; k < item->bytes && k < *item->first; k++)
		if (one[k] != other[k])
			*item->first = k;
}

static void run_compare(const void *pointer)
{
	const struct compare_args *args = pointer;

	for (uint64_t i = 0; i < args->count; i++)
		compare_item(&args->items[i]);
}

static void run_condition(const void *pointer)
{
	const struct condition_args *args = pointer;
	uint32_t value;

	if (condition_find(args, &value))
		*(uint32_t *)(uintptr_t)args->condition = value;
}

static void run_body(const void *pointer)
{
	const struct body_args *args = pointer;
	const struct philox_state control = philox_read_cell(args->control);
	const struct body_map *map = body_map_of(control);
	const struct body_cell *cells = (const struct body_cell *)(map + 1);

	if (!map) {
		body_poison_run(args->control);
		return;
	}
	for (uint64_t k = 0; k < map->cells; k++)
		body_move(map, &cells[k], body_runs(control));
	body_count(args, map, control);
}

static void run_at(const void *pointer)
{
	const struct at_args *args = pointer;
	const uint64_t index = *args->word;

	for (uint64_t k = 0; k < args->n; k++)
		at_fill(args, index, k);
	if (at_is_missing(args, index))
		body_report(args->report, args->number);
}

/* Tables of rows, and samples: lib/rows, lib/sample, lib/accept, lib/split. */
#define ROWS_LOOP(name, args, threads) void run_##name(const void *args);
ROWS_KERNEL_LIST(ROWS_LOOP)
#undef ROWS_LOOP

void (*const kernels_host[KERNEL_COUNT])(const void *args) = {
	[KERNEL_HEAD] = run_head,
	[KERNEL_STORE] = run_store,
	[KERNEL_CONDITION] = run_condition,
	[KERNEL_BODY] = run_body,
	[KERNEL_AT] = run_at,
	[KERNEL_COPIES] = run_copies,
	[KERNEL_COMPARE] = run_compare,
#define FILL_LOOP(name, out, in, n, traits) [KERNEL_##name] = run_##name,
	FILL_LIST(FILL_LOOP)
#undef FILL_LOOP
#define LAYOUT_LOOP(type) [KERNEL_layout_##type] = run_layout_##type,
		LAYOUT_LIST(LAYOUT_LOOP)
#undef LAYOUT_LOOP
#define ROWS_LOOP(name, args, threads) [KERNEL_##name] = run_##name,
			ROWS_KERNEL_LIST(ROWS_LOOP)
#undef ROWS_LOOP
};
