/*
 * lib/rows/across.c - see lib/rows/across.h
 */
#include <string.h>
#include "lib/fill/host.h"
#include "lib/fill/simd/tables.h"
#include "lib/rows/across.h"
#include "lib/rows/elements.h"

#define MANY 64 /* elements that a fill makes faster */

/* What becomes of a block: `bytes` of it, after the first `skip`, go to `to`. */
struct place {
	char *to;
	uint8_t skip;
	uint8_t bytes;
	uint8_t poison;
};

/* A launch, and the blocks that have been collected for the next vectors. */
struct across {
	const struct simd_loops *loops;
	const struct rows_draw_args *args;
	enum kernel kernel;
	unsigned size; /* of an element, in bytes */
	int others;
	uint64_t launch;
	unsigned n;
	struct place place[SIMD_KEYED_MAX];
	struct simd_keyed blocks;
};

/* --- blocks --------------------------------------------------------------- */

/* The ends of a memcpy() of some other length would be a call. */
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

/* Poison of f32 and f64 is a NaN, of bits all ones. */
static void poison_values(const struct across *across,
			  const struct place *place)
{
	const uint64_t f64 = 0x7ff8000000000000u;
	const uint32_t f32 = 0x7fc00000u;
	char block[16];

	memset(block, 0xff, sizeof(block));
	for (unsigned i = 0; i < sizeof(block); i += across->size)
		if (across->kernel == KERNEL_uniform_f64)
			memcpy(block + i, &f64, sizeof(f64));
		else if (across->kernel == KERNEL_uniform_f32 ||
			 across->kernel == KERNEL_normal_f32)
			memcpy(block + i, &f32, sizeof(f32));
	copy_values(place->to, block, place->bytes);
}

/* Makes the blocks that have been collected. */
static void make_blocks(struct across *across)
{
	_Alignas(64) char out[SIMD_KEYED_MAX * 16];

	across->loops->keyed[across->kernel](&across->blocks, across->n, out);
	for (unsigned i = 0; i < across->n; i++) {
		const struct place *place = &across->place[i];
		const char *from =
			out + 16 * simd_keyed_place(across->loops, i);

		if (place->poison)
			poison_values(across, place);
		else
			copy_values(place->to, from + place->skip,
				    place->bytes);
	}
	across->n = 0;
}

/* Collects a block of an entry: a unit that has at least one element of it. */
static inline void add_block(struct across *across, const struct rows_entry *e,
			     uint64_t unit, int poison)
{
	const struct rows_draw_args *args = across->args;
	const unsigned size = across->size, per_block = 16 / size;
	const uint64_t first = args->first % per_block;
	const uint64_t from = unit ? unit * per_block - first : 0;
	const uint64_t room = unit ? per_block : per_block - first;
	const uint64_t left = e->count - from;
	const unsigned i = across->n++;

	across->place[i].to =
		(char *)args->out + (e->entry * args->pitch + from) * size;
	across->place[i].skip = (uint8_t)(unit ? 0 : first * size);
	across->place[i].bytes = (uint8_t)((left < room ? left : room) * size);
	across->place[i].poison = (uint8_t)poison;
	across->blocks.seed[i] = e->state.seed;
	across->blocks.low[i] = e->state.offset / 4;
	across->blocks.high[i] = args->first / per_block + unit;
	if (across->n == SIMD_KEYED_MAX)
		make_blocks(across);
}

/* --- entries -------------------------------------------------------------- */

/* The elements of an entry from index `begin` on; its state has them. */
static void fill_entry(const struct across *across, const struct rows_entry *e,
		       uint64_t begin)
{
	const struct rows_draw_args *args = across->args;
	struct fill_args fill = {
		.rng = {.state = e->state},
		.first = args->first + begin,
		.count = e->count - begin,
		.rows = 1,
		.threads = 1,
		.out = (char *)args->out +
		       (e->entry * args->pitch + begin) * across->size,
	};

	rows_set_plain(&fill);
	fill_host_run(across->kernel, &fill);
}

static inline void draw_entry(struct across *across, const struct rows_entry *e)
{
	const unsigned per_block = 16 / across->size;
	const uint64_t begin = per_block - across->args->first % per_block;
	const int poison = !rows_can_advance(e->state, across->args->words);
	uint64_t blocks = e->blocks;

	if (e->count >= begin + MANY && !poison) {
		fill_entry(across, e, begin);
		blocks = 1;
	}
	for (uint64_t unit = 0; unit < blocks; unit++)
		add_block(across, e, unit, poison);
}

int rows_draw_across(const struct rows_draw_args *args, enum kernel kernel,
		     unsigned size)
{
	struct across across = {.loops = simd_loops_used(),
				.args = args,
				.kernel = kernel,
				.size = size,
				.launch = rows_launch(&args->table)};
	struct rows_entry e;

	if (!across.loops)
		return 0;
	across.others = rows_others(&args->list, args->words, 0);
	for (uint64_t i = 0; i < args->list.n; i++) {
		if (!rows_begin(args, across.launch, across.others, 16 / size,
				i, 0, &e))
			continue;
		draw_entry(&across, &e);
		rows_advance(&args->table, e.row, across.launch, e.state,
			     args->words, across.others);
	}
	make_blocks(&across);
	rows_end(args->table.control);
	return 1;
}
