/*
 * lib/kernels/host/head.c - see lib/kernels/host/host.h
 */
#include <string.h>
#include "lib/kernels/host/host.h"
#include "lib/fill/fill.h"
#include "lib/kernels/head/head_elements.h"

/* A number of cells, whose states are taken apart for the keys. */
struct cells {
	const struct head_cell *map;
	unsigned n;
	uint64_t offset[SIMD_KEYED_MAX];
	struct simd_keyed blocks;
};

static void gather_cells(const struct head_args *args, struct cells *cells)
{
	for (unsigned i = 0; i < cells->n; i++) {
		const struct head_cell *entry = &cells->map[i];
		const struct philox_state *state = &args->states[entry->slot];

		cells->offset[i] = state->offset + entry->shift;
		cells->blocks.seed[i] = state->seed;
		cells->blocks.low[i] = philox_join(entry->call, entry->op);
	}
}

static void write_cells(const struct cells *cells)
{
	uint64_t key[SIMD_KEYED_MAX];

	keys_fold(&cells->blocks, cells->n, key);
	for (unsigned i = 0; i < cells->n; i++) {
		const struct head_cell *entry = &cells->map[i];
		const uint64_t seed = cells->blocks.seed[i];
		const struct philox_state state = {entry->plain ? seed : key[i],
						   cells->offset[i]};

		if (entry->plain)
			head_store_plain(entry->cell, state);
		else
			head_store(entry->cell, state);
	}
}

static void fill_taken(const struct head_args *args,
		       const struct head_cell *entries, uint64_t n)
{
	struct cells cells;

	memset(&cells.blocks, 0, sizeof(cells.blocks));
	for (unsigned i = 0; i < SIMD_KEYED_MAX; i++)
		cells.blocks.high[i] = PHILOX_FOLD_OP;
	for (uint64_t i = 0; i < n; i += cells.n) {
		uint64_t left = n - i;

		cells.map = entries + i;
		cells.n =
			left < SIMD_KEYED_MAX ? (unsigned)left : SIMD_KEYED_MAX;
		gather_cells(args, &cells);
		write_cells(&cells);
	}
}

void head_fill_cells(const struct head_args *args,
		     const struct head_cell *entries, uint64_t n, int taken)
{
	if (taken) {
		fill_taken(args, entries, n);
		return;
	}
	for (uint64_t i = 0; i < n; i++)
		head_fill_cell(args, &entries[i], 0);
}
