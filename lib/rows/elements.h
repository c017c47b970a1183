/*
 * lib/rows/elements.h - the work on one row, for CPU and GPU
 */
#ifndef LIB_ROWS_ELEMENTS_H
#define LIB_ROWS_ELEMENTS_H

#include <stdint.h>
#include <string.h>
#include "lib/dist/elements.h"

/* --- order: how threads of one launch see each other's writes ------------- */

/*
 * Part of lib/rows/elements.h; Note [Rows that advance once] in
 * lib/device/kernels.h says why. On a GPU each is one instruction of the
 * PTX memory model: a whole fence, __threadfence(), costs more than the reads
 * around it. A host loop runs alone. The tests, whose threads are of another
 * kind, define all of these first.
 *
 *   ROWS_LOAD(from)           *from, before all that the thread does later
 *   ROWS_PEEK(from)           *from, in no order
 *   ROWS_STORE(to, value)     *to = value, after all that it did before
 *   ROWS_RAISE(to, value)     *to becomes the greater of the two, after all that
 *                             it did before
 *   ROWS_TELL(to, value)      *to = value, the same as the host sees it
 *   ROWS_ADD(to, value)       *to += value, in no order
 *   ROWS_MAX(to, value)       *to becomes the greater of the two, in no order
 *   ROWS_ARRIVE(to)           (*to)++, before all later and after all before
 */

#if defined(ROWS_LOAD)
/* defined before, see above */
#elif defined(__CUDA_ARCH__)

static __device__ __forceinline__ uint64_t rows_load(const uint64_t *from)
{
	uint64_t value;

	asm volatile("ld.acquire.gpu.u64 %0, [%1];"
		     : "=l"(value)
		     : "l"(from)
		     : "memory");
	return value;
}

static __device__ __forceinline__ uint64_t rows_peek(const uint64_t *from)
{
	uint64_t value;

	asm volatile("ld.relaxed.gpu.u64 %0, [%1];"
		     : "=l"(value)
		     : "l"(from)
		     : "memory");
	return value;
}

static __device__ __forceinline__ void rows_store(uint64_t *to, uint64_t value)
{
	asm volatile("st.release.gpu.u64 [%0], %1;"
		     :
		     : "l"(to), "l"(value)
		     : "memory");
}

static __device__ __forceinline__ void rows_raise(uint64_t *to, uint64_t value)
{
	asm volatile("red.release.gpu.max.u64 [%0], %1;"
		     :
		     : "l"(to), "l"(value)
		     : "memory");
}

static __device__ __forceinline__ void rows_tell(uint64_t *to, uint64_t value)
{
	asm volatile("st.release.sys.u64 [%0], %1;"
		     :
		     : "l"(to), "l"(value)
		     : "memory");
}

static __device__ __forceinline__ uint32_t rows_arrive(uint32_t *to)
{
	uint32_t before;

	asm volatile("atom.acq_rel.gpu.add.u32 %0, [%1], 1;"
		     : "=r"(before)
		     : "l"(to)
		     : "memory");
	return before;
}

#define ROWS_LOAD(from)       rows_load(from)
#define ROWS_PEEK(from)       rows_peek(from)
#define ROWS_STORE(to, value) rows_store(to, value)
#define ROWS_RAISE(to, value) rows_raise(to, value)
#define ROWS_TELL(to, value)  rows_tell(to, value)
#define ROWS_ADD(to, value) \
	atomicAdd((unsigned long long *)(to), (unsigned long long)(value))
#define ROWS_MAX(to, value) \
	atomicMax((unsigned long long *)(to), (unsigned long long)(value))
#define ROWS_ARRIVE(to) rows_arrive(to)

#else

#define ROWS_LOAD(from)       (*(from))
#define ROWS_PEEK(from)       (*(from))
#define ROWS_STORE(to, value) (*(to) = (value))
#define ROWS_RAISE(to, value) (*(to) = *(to) < (value) ? (value) : *(to))
#define ROWS_TELL(to, value)  __atomic_store_n(to, value, __ATOMIC_RELEASE)
#define ROWS_ADD(to, value)   (*(to) += (value))
#define ROWS_MAX(to, value)   (*(to) = *(to) < (value) ? (value) : *(to))
#define ROWS_ARRIVE(to)       ((*(to))++)

#endif

/* --- elements: the work of kernels on rows, for host loop and kernel ------ */

/*
 * See Note [Rows that advance once] in lib/device/kernels.h. The unit of a
 * draw is one Philox block of one entry. A thread looks an entry up once and
 * does some of its units; entries and units may be done in any order. A launch
 * ends with rows_end(), once, when all of it is done.
 */

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

/*
 * rows_state() returns a row's state as it was before the launch. Where no
 * other block advances the row (`others`) it is only a read. The number in the
 * turn is looked at without waiting for it: whoever saw the new offset also
 * sees that number, and only then is the old offset read, after it.
 */
PHILOX_FN struct philox_state rows_state(const struct rows_table *table,
					 uint64_t row, uint64_t launch,
					 int others)
{
	struct philox_state *state = &table->states[row];
	struct rows_turn *turn = &table->turns[row];
	struct philox_state found;

	if (!others)
		return *state;
	found.seed = state->seed;
	found.offset = ROWS_LOAD(&state->offset);
	if (ROWS_PEEK(&turn->launch) == launch &&
	    ROWS_LOAD(&turn->launch) == launch)
		found.offset = *(volatile uint64_t *)&turn->offset;
	return found;
}

/* rows_can_advance() says whether a state has `words` words left. */
PHILOX_FN int rows_can_advance(struct philox_state state, uint64_t words)
{
	return !philox_is_poison(state) &&
	       words <= 0xfffffffffffffffcULL - state.offset;
}

/*
 * rows_can_advance_by() says whether it has `words` words left `count` times.
 * The product is made in two parts: its upper one shows where it is too large.
 */
PHILOX_FN int rows_can_advance_by(struct philox_state state, uint64_t words,
				  uint32_t count)
{
	uint64_t low = (words & 0xffffffffu) * count;
	uint64_t high = (words >> 32) * count + (low >> 32);

	return !(high >> 32) && rows_can_advance(state, words * count);
}

/* rows_keep_old() keeps the offset from before the launch for late readers. */
PHILOX_FN void rows_keep_old(const struct rows_table *table, uint64_t row,
			     uint64_t launch, struct philox_state before)
{
	struct rows_turn *turn = &table->turns[row];

	*(volatile uint64_t *)&turn->offset = before.offset;
	ROWS_STORE(&turn->launch, launch);
}

/*
 * rows_advance() advances a row whose state before the launch was `before`;
 * `others` as in rows_state().
 */
PHILOX_FN void rows_advance(const struct rows_table *table, uint64_t row,
			    uint64_t launch, struct philox_state before,
			    uint64_t words, int others)
{
	if (!rows_can_advance(before, words))
		ROWS_ADD(&table->control->used_up, 1);
	else if (words && others) {
		rows_keep_old(table, row, launch, before);
		ROWS_STORE(&table->states[row].offset, before.offset + words);
	} else if (words)
		table->states[row].offset = before.offset + words;
}

/*
 * rows_advance_by() does so `count` times; the entries of a row may have other
 * counts, of which the greatest is done.
 */
PHILOX_FN void rows_advance_by(const struct rows_table *table, uint64_t row,
			       uint64_t launch, struct philox_state before,
			       uint64_t words, uint32_t count, int others)
{
	if (!rows_can_advance_by(before, words, count))
		ROWS_ADD(&table->control->used_up, 1);
	else if (words && count && others) {
		rows_keep_old(table, row, launch, before);
		ROWS_RAISE(&table->states[row].offset,
			   before.offset + words * count);
	} else if (words && count)
		table->states[row].offset = before.offset + words * count;
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

/*
 * rows_others() says whether other blocks may advance the rows that a block
 * reads, when an entry is shared by blocks or not: a row may be in a list
 * twice, but is in no two places without one.
 */
PHILOX_FN int rows_others(const struct rows_list *list, uint64_t words,
			  int shared)
{
	return words && (list->indices || shared);
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

/*
 * rows_units() returns how many units every entry has: as many as there are
 * blocks for `count` values, or one, which advances the row.
 */
PHILOX_FN uint64_t rows_units(const struct rows_draw_args *args, uint64_t n)
{
	uint64_t blocks = fill_units(n, args->first, args->count);

	return blocks ? blocks : 1;
}

/* An entry that takes part, and its row before the launch. */
struct rows_entry {
	uint64_t entry;
	uint64_t row;
	struct philox_state state;
	uint64_t count;  /* values */
	uint64_t blocks; /* that they lie in */
};

/*
 * rows_begin() looks an entry up for a thread whose first unit of it is `unit`.
 * Returns 0 if there is nothing to do: the row's state is then not read.
 */
PHILOX_FN int rows_begin(const struct rows_draw_args *args, uint64_t launch,
			 int others, uint64_t n, uint64_t entry, uint64_t unit,
			 struct rows_entry *e)
{
	e->entry = entry;
	e->row = rows_of_entry(&args->list, entry);
	if (e->row == ROWS_NONE)
		return 0;
	e->count = rows_entry_count(args, entry);
	e->blocks = fill_units(n, args->first, e->count);
	if (unit && unit >= e->blocks)
		return 0;
	if (e->row >= args->table.count) {
		if (unit == 0)
			ROWS_ADD(&args->table.control->outside, 1);
		return 0;
	}
	e->state = rows_step(&args->list, entry,
			     rows_state(&args->table, e->row, launch, others));
	return 1;
}

/*
 * rows_put() writes a whole unit at once where it may; elsewhere, and on a CPU,
 * each element is written by itself. nvcc splits a store that is written in C.
 */
#ifdef __CUDA_ARCH__
#define ROWS_MAY_PUT(address) (((uint64_t)(uintptr_t)(address) & 15) == 0)
#else
#define ROWS_MAY_PUT(address) 0
#endif

PHILOX_FN void rows_put(void *to, const void *unit)
{
#if defined(__NVCC__) && defined(__CUDA_ARCH__)
	uint4 all;

	memcpy(&all, unit, sizeof(all));
	asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
		     :
		     : "l"(__cvta_generic_to_global(to)), "r"(all.x),
		       "r"(all.y), "r"(all.z), "r"(all.w)
		     : "memory");
#else
	memcpy(to, unit, 16);
#endif
}

/*
 * rows_<name>_unit() draws one unit of an entry. As in lib/dist/elements.h an
 * element before the span has an index that is not below the count, since the
 * subtraction is modulo 2^64.
 *
 * rows_<name>_units() draws every step-th unit of an entry from `unit` on, for
 * one thread. The first unit is where the row advances, so all threads that
 * share the entry must have begun it by then, or `others` is set.
 */
#define ROWS_DRAW_FUNCTION(name, type, n)                                     \
	PHILOX_FN void rows_##name##_unit(const struct rows_draw_args *args,  \
					  const struct rows_entry *e,         \
					  uint64_t unit)                      \
	{                                                                     \
		fill_##type *out =                                            \
			(fill_##type *)args->out + e->entry * args->pitch;    \
		uint64_t block = args->first / n + unit;                      \
		uint64_t index = block * n - args->first;                     \
		const fill_##type none[n] = {0};                              \
		struct fill_args plain;                                       \
		fill_##type v[n];                                             \
                                                                              \
		rows_set_plain(&plain);                                       \
		block_##name(&plain, e->state, block, none, v);               \
		if (!rows_can_advance(e->state, args->words))                 \
			for (int i = 0; i < n; i++)                           \
				v[i] = fill_poison_##type();                  \
		if (index < e->count && e->count - index >= n &&              \
		    ROWS_MAY_PUT(out + index)) {                              \
			rows_put(out + index, v);                             \
			return;                                               \
		}                                                             \
		for (uint64_t i = 0; i < n; i++)                              \
			if (index + i < e->count)                             \
				out[index + i] = v[i];                        \
	}                                                                     \
                                                                              \
	PHILOX_FN void rows_##name##_units(const struct rows_draw_args *args, \
					   uint64_t launch, int others,       \
					   const struct rows_entry *e,        \
					   uint64_t unit, uint64_t step)      \
	{                                                                     \
		for (uint64_t i = unit; i < e->blocks; i += step)             \
			rows_##name##_unit(args, e, i);                       \
		if (unit == 0)                                                \
			rows_advance(&args->table, e->row, launch, e->state,  \
				     args->words, others);                    \
	}

ROWS_DRAW_LIST(ROWS_DRAW_FUNCTION)
#undef ROWS_DRAW_FUNCTION

/* rows_advance_entry() is one entry of a launch that only advances. */
PHILOX_FN void rows_advance_entry(const struct rows_draw_args *args,
				  uint64_t launch, int others, uint64_t entry)
{
	uint64_t row = rows_of_entry(&args->list, entry);
	struct philox_state state;

	if (row == ROWS_NONE)
		return;
	if (row >= args->table.count) {
		ROWS_ADD(&args->table.control->outside, 1);
		return;
	}
	state = rows_state(&args->table, row, launch, others);
	if (args->counts)
		rows_advance_by(&args->table, row, launch, state, args->words,
				args->counts[entry], others);
	else
		rows_advance(&args->table, row, launch, state, args->words,
			     others);
}

/* --- threads -------------------------------------------------------------- */

/*
 * How the threads of a launch share its units. A group of neighbouring threads,
 * `lanes` of a warp, takes an entry and its units in turn, as many as fill 128
 * bytes. Where there are more groups than entries, several share an entry. The
 * divisions are done once, in 32 bits: a list has at most 2^24 entries.
 */
struct rows_share {
	uint32_t groups;
	uint32_t parts; /* groups that share an entry */
	uint32_t entry; /* of this thread: its first; then + groups */
	uint64_t unit;  /* its first unit of each entry, of which it takes */
	uint64_t step;  /* every step-th */
	int others;
};

/* rows_lanes_shift() returns log2 of how many threads a group has. */
PHILOX_FN uint32_t rows_lanes_shift(uint64_t units)
{
	return units > 4 ? 3 : units > 2 ? 2 : units > 1;
}

/* rows_threads() returns how many threads an entry can use. */
PHILOX_FN uint64_t rows_threads(uint64_t units)
{
	uint32_t shift = rows_lanes_shift(units);

	return (((units - 1) >> shift) + 1) << shift;
}

/*
 * rows_is_apart() says whether some of an entry's threads are in another warp:
 * those of entry i are number i * threads and on.
 */
PHILOX_FN int rows_is_apart(uint32_t threads, uint32_t neighbours)
{
	return threads > neighbours || (threads & (threads - 1));
}

/*
 * rows_share_of() returns the share of thread `number` of `threads`. As many
 * `neighbours`, a warp, meet between reading and advancing; 1: none do.
 */
PHILOX_FN struct rows_share rows_share_of(const struct rows_draw_args *args,
					  uint64_t units, uint32_t shift,
					  uint32_t number, uint32_t threads,
					  uint32_t neighbours)
{
	uint64_t most = ((units - 1) >> shift) + 1; /* parts */
	uint32_t group = number >> shift, part = 0, n = (uint32_t)args->list.n;
	struct rows_share share;

	share.groups = threads >> shift;
	share.parts = n < share.groups ? share.groups / n : 1;
	if (share.parts > most)
		share.parts = (uint32_t)most;
	share.entry = group;
	if (share.parts > 1) {
		share.entry = group / share.parts;
		part = group % share.parts;
	}
	share.unit = ((uint64_t)part << shift) + (number & ((1u << shift) - 1));
	share.step = (uint64_t)share.parts << shift;
	share.others =
		rows_others(&args->list, args->words,
			    rows_is_apart(share.parts << shift, neighbours));
	return share;
}

#endif
