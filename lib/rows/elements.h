/*
 * lib/rows/elements.h - the work of kernels on rows, for host loop and kernel
 *
 * See Note [Rows that advance once] in lib/device/rows_kernels.h. The unit of a
 * draw is one Philox block of one entry; units may be done in any order, by any
 * threads. A launch ends with rows_end(), once, when all of it is done.
 */
#ifndef LIB_ROWS_ELEMENTS_H
#define LIB_ROWS_ELEMENTS_H

#include "lib/fill/elements.h"
#include "lib/rows/order.h"

/* --- rows ----------------------------------------------------------------- */

/* rows_derive() returns the state a row begins with. */
PHILOX_FN struct philox_state rows_derive(uint64_t table_seed, uint64_t row)
{
	struct philox_state state;

	state.seed = philox_fold(table_seed, PHILOX_FOLD_ROW, row);
	state.offset = 0;
	return state;
}

/* rows_set() sets row number i of a batch. */
PHILOX_FN void rows_set(const struct rows_set_args *args, uint64_t i)
{
	struct philox_state *state = &args->states[args->row[i]];

	state->seed = args->seed[i];
	state->offset = args->offset[i];
}

/* rows_launch() returns the number of the launch in progress. */
PHILOX_FN uint64_t rows_launch(const struct rows_table *table)
{
	return *(const volatile uint64_t *)&table->control->launch;
}

/* rows_state() returns a row's state as it was before the launch. */
PHILOX_FN struct philox_state rows_state(const struct rows_table *table,
					 uint64_t row, uint64_t launch)
{
	struct philox_state *state = &table->states[row];
	struct rows_turn *turn = &table->turns[row];
	struct philox_state found;

	found.seed = state->seed;
	found.offset = ROWS_LOAD(&state->offset);
	if (ROWS_LOAD(&turn->launch) == launch)
		found.offset = *(volatile uint64_t *)&turn->offset;
	return found;
}

/* rows_can_advance() says whether a state has `words` words left. */
PHILOX_FN int rows_can_advance(struct philox_state state, uint64_t words)
{
	return !philox_is_poison(state) &&
	       words <= 0xfffffffffffffffcULL - state.offset;
}

/* rows_can_advance_by() says whether it has `words` words left `count` times. */
PHILOX_FN int rows_can_advance_by(struct philox_state state, uint64_t words,
				  uint32_t count)
{
	return rows_can_advance(state, 0) &&
	       (!count ||
		words <= (0xfffffffffffffffcULL - state.offset) / count);
}

/* rows_keep_old() keeps the offset from before the launch for late readers. */
PHILOX_FN void rows_keep_old(const struct rows_table *table, uint64_t row,
			     uint64_t launch, struct philox_state before)
{
	struct rows_turn *turn = &table->turns[row];

	*(volatile uint64_t *)&turn->offset = before.offset;
	ROWS_STORE(&turn->launch, launch);
}

/* rows_advance() advances a row whose state before the launch was `before`. */
PHILOX_FN void rows_advance(const struct rows_table *table, uint64_t row,
			    uint64_t launch, struct philox_state before,
			    uint64_t words)
{
	if (!rows_can_advance(before, words))
		ROWS_ADD(&table->control->used_up, 1);
	else if (words) {
		rows_keep_old(table, row, launch, before);
		ROWS_STORE(&table->states[row].offset, before.offset + words);
	}
}

/*
 * rows_advance_by() does so `count` times; the entries of a row may have other
 * counts, of which the greatest is done.
 */
PHILOX_FN void rows_advance_by(const struct rows_table *table, uint64_t row,
			       uint64_t launch, struct philox_state before,
			       uint64_t words, uint32_t count)
{
	if (!rows_can_advance_by(before, words, count))
		ROWS_ADD(&table->control->used_up, 1);
	else if (words && count) {
		rows_keep_old(table, row, launch, before);
		ROWS_RAISE(&table->states[row].offset,
			   before.offset + words * count);
	}
}

/* rows_end() counts the launch and reports entries it could not draw for. */
PHILOX_FN void rows_end(struct rows_control *control)
{
	volatile struct rows_control *c = control;
	volatile struct rows_totals *before;
	struct rows_notice *notice = c->notice;
	struct rows_totals *after;
	uint64_t count;

	c->launch = c->launch + 1;
	if (!(c->outside | c->used_up))
		return;
	count = *(volatile uint64_t *)&notice->count;
	before = &notice->totals[count % 2];
	after = &notice->totals[(count + 1) % 2];
	ROWS_TELL(&after->outside, before->outside + c->outside);
	ROWS_TELL(&after->used_up, before->used_up + c->used_up);
	ROWS_TELL(&notice->count, count + 1);
	c->outside = 0;
	c->used_up = 0;
}

/* --- entries -------------------------------------------------------------- */

#define ROWS_NONE (~(uint64_t)0)

/* rows_of_entry() returns the row of an entry, ROWS_NONE if it is masked. */
PHILOX_FN uint64_t rows_of_entry(const struct rows_list *list, uint64_t entry)
{
	if (list->mask && !list->mask[entry])
		return ROWS_NONE;
	return list->indices ? list->indices[entry] : entry;
}

/* rows_step() takes a state to the step of an entry: poison past the end. */
PHILOX_FN struct philox_state rows_step(const struct rows_list *list,
					uint64_t entry,
					struct philox_state state)
{
	const uint64_t words =
		list->steps ? 4 * (uint64_t)list->steps[entry] : 0;

	if (words <= ~state.offset)
		state.offset += words;
	else
		state.offset = PHILOX_POISON_OFFSET;
	return state;
}

/* rows_entry_state() returns the state that an entry of `row` draws from. */
PHILOX_FN struct philox_state rows_entry_state(const struct rows_table *table,
					       const struct rows_list *list,
					       uint64_t entry, uint64_t row,
					       uint64_t launch)
{
	return rows_step(list, entry, rows_state(table, row, launch));
}

/* --- draws ---------------------------------------------------------------- */

/* rows_set_plain() sets the parameters of a plain fill: [0, 1), or 0, 1. */
PHILOX_FN void rows_set_plain(struct fill_args *args)
{
	args->f32.scale = 1.0f;
	args->f32.shift = 0.0f;
	args->f32.bottom = 0.0f;
	args->f32.top = 0x1.fffffep-1f;
	args->f64.scale = 1.0;
	args->f64.shift = 0.0;
	args->f64.bottom = 0.0;
	args->f64.top = 0x1.fffffffffffffp-1;
	args->plain = 1;
}

/* rows_entry_count() returns how many values an entry gets. */
PHILOX_FN uint64_t rows_entry_count(const struct rows_draw_args *args,
				    uint64_t entry)
{
	uint64_t count = args->count;

	if (args->counts && args->counts[entry] < count)
		count = args->counts[entry];
	return count;
}

/* rows_blocks() returns in how many blocks of n an entry's values lie. */
PHILOX_FN uint64_t rows_blocks(const struct rows_draw_args *args,
			       uint64_t entry, uint64_t n)
{
	return fill_units(n, args->first, rows_entry_count(args, entry));
}

/*
 * rows_units() returns how many units every entry has: as many as there are
 * blocks for `count` values, or one, which advances the row.
 */
PHILOX_FN uint64_t rows_units(const struct rows_draw_args *args, uint64_t n)
{
	uint64_t blocks = fill_units(n, args->first, args->count);

	return blocks ? blocks : 1;
}

/*
 * rows_<name>_unit() does one unit of an entry: nothing if its values end
 * before it. The first advances its row. As in lib/fill/elements.h an element
 * before the span has an index that is not below the count, since the
 * subtraction is modulo 2^64.
 */
#define ROWS_DRAW_FUNCTION(name, type, n)                                    \
	PHILOX_FN void rows_store_##name(const struct rows_draw_args *args,  \
					 struct philox_state state,          \
					 uint64_t entry, uint64_t block)     \
	{                                                                    \
		fill_##type *out =                                           \
			(fill_##type *)args->out + entry * args->pitch;      \
		uint64_t index = block * n - args->first;                    \
		uint64_t count = rows_entry_count(args, entry);              \
		const fill_##type none[n] = {0};                             \
		struct fill_args plain;                                      \
		fill_##type v[n];                                            \
                                                                             \
		rows_set_plain(&plain);                                      \
		block_##name(&plain, state, block, none, v);                 \
		if (!rows_can_advance(state, args->words))                   \
			for (int i = 0; i < n; i++)                          \
				v[i] = fill_poison_##type();                 \
		for (uint64_t i = 0; i < n; i++)                             \
			if (index + i < count)                               \
				out[index + i] = v[i];                       \
	}                                                                    \
                                                                             \
	PHILOX_FN void rows_##name##_unit(const struct rows_draw_args *args, \
					  uint64_t launch, uint64_t entry,   \
					  uint64_t unit)                     \
	{                                                                    \
		int drawn = unit < rows_blocks(args, entry, n);              \
		uint64_t row = rows_of_entry(&args->list, entry);            \
		struct philox_state state;                                   \
                                                                             \
		if (row == ROWS_NONE || (unit && !drawn))                    \
			return;                                              \
		if (row >= args->table.count) {                              \
			if (unit == 0)                                       \
				ROWS_ADD(&args->table.control->outside, 1);  \
			return;                                              \
		}                                                            \
		state = rows_entry_state(&args->table, &args->list, entry,   \
					 row, launch);                       \
		if (drawn)                                                   \
			rows_store_##name(args, state, entry,                \
					  args->first / n + unit);           \
		if (unit == 0)                                               \
			rows_advance(&args->table, row, launch, state,       \
				     args->words);                           \
	}

ROWS_DRAW_LIST(ROWS_DRAW_FUNCTION)
#undef ROWS_DRAW_FUNCTION

/* rows_advance_entry() is one unit of a launch that only advances. */
PHILOX_FN void rows_advance_entry(const struct rows_draw_args *args,
				  uint64_t launch, uint64_t entry)
{
	uint64_t row = rows_of_entry(&args->list, entry);
	struct philox_state state;

	if (row == ROWS_NONE)
		return;
	if (row >= args->table.count) {
		ROWS_ADD(&args->table.control->outside, 1);
		return;
	}
	state = rows_state(&args->table, row, launch);
	if (args->counts)
		rows_advance_by(&args->table, row, launch, state, args->words,
				args->counts[entry]);
	else
		rows_advance(&args->table, row, launch, state, args->words);
}

#endif
