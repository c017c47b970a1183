/*
 * lib/kernels/head/head_elements.h - the head's work, for the host's loop and
 * the kernel
 *
 * See Note [Head] in graph/capture/capture.h for the protocol.
 */
#ifndef LIB_KERNELS_HEAD_HEAD_ELEMENTS_H
#define LIB_KERNELS_HEAD_HEAD_ELEMENTS_H

#include "lib/kernels/head/head_order.h"

/* The cells of a graph, as a head found them in the control block. */
struct head_cells {
	struct head_control *control; /* that has them */
	const struct head_cell *map;
	uint64_t count;
	uint64_t parts;
	int follows; /* a head that ran ahead has filled them, or none has */
};

/* head_find_cells() reads the control block, or the one it leads to. */
PHILOX_FN struct head_cells head_find_cells(const struct head_args *args)
{
	struct head_cells cells;
	uint64_t other = args->sequence ? 0 : HEAD_LOAD(&args->control->other);

	cells.control = args->control;
	cells.follows = other != 0;
	if (other)
		cells.control = (struct head_control *)(uintptr_t)other;
	cells.map = cells.control->map;
	cells.count = cells.control->cells;
	cells.parts = head_parts(cells.count);
	return cells;
}

/* head_number() returns the number of the last message that a part took. */
PHILOX_FN uint64_t *head_number(const struct head_cells *cells, uint64_t part)
{
	const void *numbers;

	if (!part)
		return &cells->control->sequence;
	numbers = cells->map + cells->count;
	return (uint64_t *)numbers + part;
}

/* head_ran() returns the number that a head of a graph has found there last. */
PHILOX_FN uint64_t *head_ran(const struct head_cells *cells, uint64_t part)
{
	const void *numbers = cells->map + cells->count;

	return (uint64_t *)numbers + cells->parts + part;
}

/*
 * head_takes() tells whether the message is new, that is, announced. Number 0
 * is not, and comes with an open control block, which has no numbers of parts;
 * but a head that follows one that ran ahead takes the number which that left.
 */
PHILOX_FN int head_takes(const struct head_args *args,
			 const struct head_cells *cells, uint64_t part)
{
	uint64_t number = args->sequence;
	uint64_t *last = head_number(cells, part);

	if (cells->follows) {
		number = HEAD_LOAD(last);
		last = head_ran(cells, part);
	}
	return number && HEAD_RAISE(last, number) < number;
}

/* head_fill_cell() fills a cell of the graph from the message or poisons it. */
PHILOX_FN void head_fill_cell(const struct head_args *args,
			      const struct head_cell *entry, int taken)
{
	struct philox_state state;

	if (taken) {
		state = args->states[entry->slot];
		state.offset += entry->shift;
		if (!entry->plain)
			state.seed = philox_op_seed(state.seed, entry->op,
						    entry->call);
	} else {
		state.seed = ~(uint64_t)0;
		state.offset = PHILOX_POISON_OFFSET;
	}
	HEAD_STORE(entry->cell, state);
}

/*
 * head_report() reports an unannounced launch to the host. Several heads may do
 * so at once: whoever wrote an old count finds a newer one, and writes again.
 */
PHILOX_FN void head_report(struct head_control *control)
{
	struct head_report *report = control->report;
	uint64_t count = HEAD_ADD(&report->repeats, 1) + 1;
	uint64_t reported;

	do {
		reported = count;
		HEAD_TELL(&report->sequence, HEAD_LOAD(&control->sequence));
		HEAD_TELL(&report->count, reported);
		count = HEAD_LOAD(&report->repeats);
	} while (count != reported);
}

/* Fills the cells of n entries; the host does it with vectors. */
#ifndef HEAD_FILL
PHILOX_FN void head_fill_each(const struct head_args *args,
			      const struct head_cell *entries, uint64_t n,
			      int taken)
{
	for (uint64_t i = 0; i < n; i++)
		head_fill_cell(args, &entries[i], taken);
}
#define HEAD_FILL(args, entries, n, taken) \
	head_fill_each(args, entries, n, taken)
#endif

/* head_leads() tells the heads of a graph that another one runs ahead. */
PHILOX_FN void head_leads(const struct head_args *args)
{
	const uint64_t other = args->sequence ? args->control->other : 0;
	struct head_control *open = (struct head_control *)(uintptr_t)other;

	if (open)
		HEAD_TELL(&open->other, (uint64_t)(uintptr_t)args->control);
}

/* head_run_part() is the work of a part, but for the threads of a GPU. */
PHILOX_FN void head_run_part(const struct head_args *args,
			     const struct head_cells *cells, uint64_t part)
{
	const uint64_t first = part * HEAD_PART;
	const uint64_t left = cells->count - first;
	const int taken = head_takes(args, cells, part);

	if (!taken || !cells->follows)
		HEAD_FILL(args, cells->map + first,
			  left < HEAD_PART ? left : HEAD_PART, taken);
	if (!part && taken)
		head_leads(args);
	if (!part && !taken)
		head_report(args->control);
}

#endif
