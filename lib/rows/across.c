/*
 * lib/rows/across.c - draws by vectors that go across rows
 */
#include <string.h>
#include "lib/fill/fill.h"
#include "lib/fill/simd/tables.h"
#include "lib/rows/rows.h"
#include "lib/rows/elements.h"

#define MANY 64 /* elements that a fill makes faster */

/* What becomes of a block: `bytes` of it, after the first `skip`, go to `to`. */
struct place {
	char *to;
	uint16_t skip;
	uint16_t bytes;
	uint32_t poison;
};

/* A launch, and the blocks that have been collected for the next vectors. */
struct across {
	const struct simd_loops *loops;
	const struct rows_draw_args *args;
	enum kernel kernel;
	unsigned n;
	struct place place[SIMD_KEYED_MAX];
	struct simd_keyed blocks;
};

/* --- blocks --------------------------------------------------------------- */

/* A memcpy() of a length that is not a constant would be a call. */
static inline void copy_values(char *to, const char *from, unsigned bytes)
{
	if (bytes == 4)
		memcpy(to, from, 4);
	else if (bytes == 8)
		memcpy(to, from, 8);
	else if (bytes == 12)
		memcpy(to, from, 12);
	else
		memcpy(to, from, 16);
}

#define POISON_BLOCK(name, type, n)                                     \
	case KERNEL_##name:                                             \
		for (unsigned i = 0; i < n; i++) {                      \
			const fill_##type value = fill_poison_##type(); \
                                                                        \
			memcpy(block + i * sizeof(value), &value,       \
			       sizeof(value));                          \
		}                                                       \
		break;

static void poison_values(enum kernel kernel, const struct place *place)
{
	char block[16];

	switch (kernel) {
		ROWS_DRAW_LIST(POISON_BLOCK)
	default:
		return;
	}
	copy_values(place->to, block, place->bytes);
}

/* Makes the blocks that have been collected. */
static void make_blocks(struct across *across)
{
	const unsigned lanes = across->loops->lanes, n = across->n;
	_Alignas(64) char out[SIMD_KEYED_MAX * 16];

	across->loops->keyed[across->kernel](&across->blocks, n, out);
	for (unsigned i = 0; i < n; i++) {
		const struct place *place = &across->place[i];
		const char *from = out + 16 * simd_keyed_place(lanes, i);

		if (place->poison)
			poison_values(across->kernel, place);
		else
			copy_values(place->to, from + place->skip,
				    place->bytes);
	}
	across->n = 0;
}

/*
 * The functions below are compiled for each number of elements of a block, since
 * a division by it would take longer than all they do.
 */
#define FOR_EACH_SIZE static inline __attribute__((always_inline))

/* Collects a block of an entry: a unit that has at least one element of it. */
FOR_EACH_SIZE void add_block(struct across *across,
			     const struct rows_draw_args *args,
			     const struct rows_entry *e, uint64_t unit,
			     int poison, unsigned size)
{
	const unsigned per_block = 16 / size;
	const uint64_t first = args->first % per_block;
	const uint64_t from = unit ? unit * per_block - first : 0;
	const uint64_t room = unit ? per_block : per_block - first;
	const uint64_t left = e->count - from;
	const unsigned i = across->n++;

	across->place[i] = (struct place){
		.to = (char *)args->out +
		      (e->entry * args->pitch + from) * size,
		.skip = (uint16_t)(unit ? 0 : first * size),
		.bytes = (uint16_t)((left < room ? left : room) * size),
		.poison = (uint32_t)poison};
	across->blocks.seed[i] = e->state.seed;
	across->blocks.low[i] = e->state.offset / 4;
	across->blocks.high[i] = args->first / per_block + unit;
	if (across->n == SIMD_KEYED_MAX)
		make_blocks(across);
}

/* --- entries -------------------------------------------------------------- */

/* The elements of an entry from index `begin` on; its state has them. */
static void fill_entry(const struct across *across, const struct rows_entry *e,
		       uint64_t begin, unsigned size)
{
	const struct rows_draw_args *args = across->args;
	struct fill_args fill = {
		.rng = {.state = e->state},
		.first = args->first + begin,
		.count = e->count - begin,
		.rows = 1,
		.threads = 1,
		.out = (char *)args->out +
		       (e->entry * args->pitch + begin) * size,
	};

	rows_set_plain(&fill);
	fill_host_run(across->kernel, &fill);
}

FOR_EACH_SIZE void draw_entry(struct across *across,
			      const struct rows_draw_args *args,
			      const struct rows_entry *e, unsigned size)
{
	const unsigned per_block = 16 / size;
	const uint64_t begin = per_block - args->first % per_block;
	const int poison = !rows_can_advance(e->state, args->words);
	uint64_t blocks = e->blocks;

	if (e->count >= begin + MANY && !poison) {
		fill_entry(across, e, begin, size);
		blocks = 1;
	}
	for (uint64_t unit = 0; unit < blocks; unit++)
		add_block(across, args, e, unit, poison, size);
}

/*
 * Entries from `i` on that are the table's rows one after the other and have one
 * block each. Vectors stop before a group with a row that is used up; from there
 * to the next multiple of SIMD_KEYED_MAX entries are drawn one by one. Returns
 * the next entry.
 */
FOR_EACH_SIZE uint64_t draw_rows_in_order(struct across *across,
					  const struct rows_draw_args *args,
					  uint64_t i, unsigned size)
{
	const unsigned per_block = 16 / size;
	const unsigned skip = (unsigned)(args->first % per_block) * size;
	const unsigned bytes = (unsigned)args->count * size;
	const uint64_t limit = 0xfffffffffffffffcULL - args->words;
	simd_rows_fill *one = args->count == 1 && args->pitch == 1
				      ? across->loops->one[across->kernel]
				      : NULL;
	unsigned done = SIMD_KEYED_MAX;
	_Alignas(64) char out[SIMD_KEYED_MAX * 16];

	if (one && i == 0)
		i = one(args->table.states, args->first, args->words, limit,
			(unsigned)args->list.n, args->out);
	while (done && i % SIMD_KEYED_MAX == 0 && i < args->list.n) {
		const uint64_t left = args->list.n - i;
		char *to = (char *)args->out + i * args->pitch * size;

		done = across->loops->rows[across->kernel](
			args->table.states + i, args->first / per_block,
			args->words, limit,
			left < SIMD_KEYED_MAX ? (unsigned)left : SIMD_KEYED_MAX,
			out);
		for (unsigned k = 0; k < done; k++)
			copy_values(to + k * args->pitch * size,
				    out + 16 * k + skip, bytes);
		i += done;
	}
	return i;
}

/* Whether entry i is row i, for all entries, and none is left out. */
static int is_in_order(const struct rows_draw_args *args)
{
	const struct rows_list *list = &args->list;

	return !list->indices && !list->mask && !list->steps && args->count &&
	       list->n <= args->table.count;
}

/*
 * The arguments are a copy, which no store to memory changes. Where every entry
 * has one block (`single`), little of it differs from entry to entry.
 */
FOR_EACH_SIZE void draw_entries(struct across *across,
				struct rows_draw_args args, unsigned size,
				int single)
{
	const int others = rows_others(&args.list, args.words, 0);
	const uint64_t launch = rows_launch(&args.table);
	const int in_order = single && is_in_order(&args);
	struct rows_entry e;

	if (single)
		args.counts = NULL;
	for (uint64_t i = 0; i < args.list.n; i++) {
		if (in_order)
			i = draw_rows_in_order(across, &args, i, size);
		if (i == args.list.n)
			break;
		if (!rows_begin(&args, launch, others, 16 / size, i, 0, &e))
			continue;
		if (single)
			add_block(across, &args, &e, 0,
				  !rows_can_advance(e.state, args.words), size);
		else
			draw_entry(across, &args, &e, size);
		rows_advance(&args.table, e.row, launch, e.state, args.words,
			     others);
	}
}

FOR_EACH_SIZE void draw_launch(struct across *across, unsigned size)
{
	const struct rows_draw_args *args = across->args;

	if (!args->counts &&
	    fill_units(16 / size, args->first, args->count) == 1)
		draw_entries(across, *args, size, 1);
	else
		draw_entries(across, *args, size, 0);
}

int rows_draw_across(const struct rows_draw_args *args, enum kernel kernel,
		     unsigned size)
{
	struct across across = {
		.loops = simd_loops_used(), .args = args, .kernel = kernel};

	if (!across.loops)
		return 0;
	if (size == 4)
		draw_launch(&across, 4);
	else
		draw_launch(&across, 8);
	make_blocks(&across);
	rows_end(args->table.control);
	return 1;
}
