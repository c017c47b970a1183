/*
 * lib/kernels/head/body_elements.h - the work of the kernels of bodies, for the
 * host's loop and the kernels
 *
 * See Note [Bodies] in graph/capture/capture.h.
 */
#ifndef LIB_KERNELS_HEAD_BODY_ELEMENTS_H
#define LIB_KERNELS_HEAD_BODY_ELEMENTS_H

#include "lib/kernels/head/head_elements.h"

/* body_report() reports that a run, or a view, found no iteration. */
PHILOX_FN void body_report(struct head_report *report, uint64_t number)
{
	uint64_t count = HEAD_ADD(&report->repeats, 1) + 1;
	uint64_t reported;

	do {
		reported = count;
		HEAD_TELL(&report->sequence, number);
		HEAD_TELL(&report->count, reported);
		count = HEAD_LOAD(&report->repeats);
	} while (count != reported);
}

/* body_state() is a cell in iteration `index`, of `limit`. */
PHILOX_FN struct philox_state body_state(const struct philox_state *first,
					 uint64_t index, uint64_t limit,
					 uint64_t advance)
{
	struct philox_state state = philox_read_cell(first);

	if (index >= limit) {
		state.seed = ~(uint64_t)0;
		state.offset = PHILOX_POISON_OFFSET;
	} else if (!philox_is_poison(state)) {
		state.offset += index * advance;
	}
	return state;
}

/* body_map_of() returns the map that a control leads to, NULL for poison. */
PHILOX_FN const struct body_map *body_map_of(struct philox_state control)
{
	const struct body_map *map = NULL;

	if (!philox_is_poison(control))
		memcpy(&map, &control.seed, sizeof(map));
	return map;
}

/* body_runs() returns how many runs a control has counted. */
PHILOX_FN uint64_t body_runs(struct philox_state control)
{
	return control.offset / BODY_RUN;
}

/* The iteration of a run, UINT64_MAX if there is none left. */
PHILOX_FN uint64_t body_index(const struct body_cell *entry, uint64_t run)
{
	uint64_t runs;

	if (!entry->turned)
		return run;
	runs = body_runs(philox_read_cell(entry->turned));
	return run < runs ? runs - 1 - run : ~(uint64_t)0;
}

/* body_move() sets a cell to what it is in a run. */
PHILOX_FN void body_move(const struct body_map *map,
			 const struct body_cell *entry, uint64_t run)
{
	uint64_t index = body_index(entry, run);

	if (run >= map->limit)
		index = ~(uint64_t)0;
	else if (index >= entry->limit && entry->tells)
		body_report(map->report, map->number);
	HEAD_STORE(entry->cell, body_state(entry->first, index, entry->limit,
					   entry->advance));
}

/* body_word() is a word of a control. */
PHILOX_FN volatile uint32_t *body_word(struct philox_state *control,
				       enum body_word which)
{
	void *words = control + 1;

	return PHILOX_CAST(volatile uint32_t *, words) + which;
}

/* body_set_run() tells a body's kernels the number of its run. */
PHILOX_FN void body_set_run(struct philox_state *control, uint32_t run,
			    int beyond)
{
	*body_word(control, BODY_WORD_RUN) = run;
	*body_word(control, BODY_WORD_BEYOND) = beyond != 0;
}

/* body_poison_run() does so in a launch that was not announced. */
PHILOX_FN void body_poison_run(struct philox_state *control)
{
	body_set_run(control, ~PHILOX_CAST(uint32_t, 0), 1);
}

/* body_count() ends the work of a run: with control as its kernel found it. */
PHILOX_FN void body_count(const struct body_args *args,
			  const struct body_map *map,
			  struct philox_state control)
{
	const uint64_t run = body_runs(control);

	control.offset += BODY_RUN;
	HEAD_STORE(args->control, control);
	body_set_run(args->control, PHILOX_CAST(uint32_t, run),
		     run >= map->limit);
	if (run >= map->limit)
		body_report(map->report, map->number);
}

/*
 * condition_at_limit() is 1 if a loop ends here whatever its condition is: its
 * body has had all its runs, which is reported if the condition holds, or the
 * launch was not announced and has had one.
 */
PHILOX_FN int condition_at_limit(const struct condition_args *args,
				 uint32_t holds)
{
	const struct philox_state control = philox_read_cell(args->control);
	const struct body_map *map = body_map_of(control);

	if (!map)
		return args->place != CONDITION_BEFORE;
	if (body_runs(control) < map->limit ||
	    (map->ends && args->place == CONDITION_WITHIN))
		return 0;
	if (holds)
		body_report(map->report + 1, map->number);
	return 1;
}

/* condition_find() writes what a condition is to be; 0: it stays. */
PHILOX_FN int condition_find(const struct condition_args *args, uint32_t *value)
{
	int last = args->control && args->place == CONDITION_LAST;

	if (last)
		*value = *body_word(args->control, BODY_WORD_HELD);
	else
		*value = args->word ? *args->word : 1;
	if (!args->control)
		return 1;
	*body_word(args->control, BODY_WORD_HELD) = *value;
	if (!condition_at_limit(args, *value))
		return !last;
	*value = 0;
	return 1;
}

/* at_limit() returns how many iterations there are. */
PHILOX_FN uint64_t at_limit(const struct at_args *args)
{
	return args->known ? philox_read_cell(args->known).seed : args->limit;
}

/* at_fill() sets cell number k to that of the iteration `index`. */
PHILOX_FN void at_fill(const struct at_args *args, uint64_t index, uint64_t k)
{
	HEAD_STORE(args->cells + k, body_state(args->first + k, index,
					       at_limit(args), args->advance));
}

/* at_is_missing() tells whether that is to be reported. */
PHILOX_FN int at_is_missing(const struct at_args *args, uint64_t index)
{
	return index >= at_limit(args) &&
	       !philox_is_poison(philox_read_cell(args->first));
}

#endif
