/*
 * lib/subset/host.c - subsets by weight on the host device
 *
 * Items are taken in pieces, whose Gumbel numbers are made first, by the vector
 * loops of fills.
 */
#include <string.h>
#include "lib/fill/fill.h"
#include "lib/subset/elements.h"
#include "lib/subset/subset.h"

#define LOOPS_NAME(name) name##_scalar
#include "lib/subset/loops.h"

enum { PIECE = 1024 }; /* items; chunks are a multiple */

/* A piece of the items, and their keys. */
struct piece {
	const struct subset_args *args;
	struct philox_state state;
	subset_keys_of *keys_of;
	uint32_t first, n; /* its items */
	float noise[PIECE];
	uint64_t keys[PIECE];
};

static subset_keys_of *keys_used(void)
{
#ifdef __x86_64__
	if (simd_used() == SIMD_AVX512)
		return subset_keys_avx512;
	if (simd_used() == SIMD_AVX2)
		return subset_keys_avx2;
#endif
	return subset_keys_scalar;
}

static void begin_pieces(struct piece *p, const struct subset_args *args)
{
	p->args = args;
	p->state = philox_resolve(args->rng);
	p->keys_of = keys_used();
	p->first = p->n = 0;
}

/* Makes the piece that begins with an item; keys are 0 below `least`. */
static void make_piece(struct piece *p, uint32_t first, uint64_t least)
{
	struct fill_args noise = {.rng = {.state = p->state},
				  .first = first,
				  .rows = 1,
				  .threads = 1,
				  .out = p->noise};
	const uint32_t left = p->args->items - first;

	p->first = first;
	p->n = left < PIECE ? left : PIECE;
	noise.count = p->n;
	fill_host_run(KERNEL_gumbel_f32, &noise);
	p->keys_of(p->args, first, p->n, p->noise, p->keys);
	for (uint32_t i = 0; i < p->n; i++)
		p->keys[i] = p->keys[i] < least ? 0 : p->keys[i];
}

/* --- the beginning -------------------------------------------------------- */

void run_subset_begin(const void *pointer);
void run_subset_count(const void *pointer);
void run_subset_place(const void *pointer);
void run_subset_write(const void *pointer);

void run_subset_begin(const void *pointer)
{
	const struct subset_args *args = pointer;

	memset(args->work, 0, sizeof(*args->work));
	args->work->is_invalid =
		(uint32_t)philox_is_poison(philox_resolve(args->rng));
}

/* --- the cut -------------------------------------------------------------- */

static void count_piece(const struct piece *p)
{
	struct subset_work *work = p->args->work;

	for (uint32_t i = 0; i < p->n; i++) {
		work->is_invalid |= p->keys[i] == UINT64_MAX;
		if (subset_begins(p->keys[i], work->cut, work->level))
			work->buckets[subset_digit(p->keys[i], work->level)]++;
	}
}

void run_subset_count(const void *pointer)
{
	const struct subset_args *args = pointer;
	struct subset_work *work = args->work;
	uint32_t groups[SUBSET_GROUPS];
	struct piece p;

	if (work->level >= SUBSET_FOUND)
		return;
	begin_pieces(&p, args);
	for (uint32_t first = 0; first < args->items; first += PIECE) {
		make_piece(&p, first, subset_least(work));
		count_piece(&p);
	}
	for (uint32_t i = 0; i < SUBSET_GROUPS; i++)
		groups[i] = subset_group(work->buckets, i);
	subset_level_end(args, work->buckets, groups);
	memset(work->buckets, 0, sizeof(work->buckets));
}

/* --- places --------------------------------------------------------------- */

/* Where a chunk of the items ends. */
static uint32_t chunk_end(const struct subset_args *args, uint32_t chunk)
{
	const uint32_t left = args->items - chunk * SUBSET_CHUNK;

	return left < SUBSET_CHUNK ? args->items : (chunk + 1) * SUBSET_CHUNK;
}

static uint32_t count_chunk(struct piece *p, uint32_t chunk)
{
	uint32_t n = 0;

	for (uint32_t first = chunk * SUBSET_CHUNK;
	     first < chunk_end(p->args, chunk); first += PIECE) {
		make_piece(p, first, p->args->work->cut);
		for (uint32_t i = 0; i < p->n; i++)
			n += p->keys[i] != 0;
	}
	return n;
}

void run_subset_place(const void *pointer)
{
	const struct subset_args *args = pointer;
	const uint32_t chunks = subset_chunks(args->items);
	uint32_t place = 0;
	struct piece p;

	if (args->work->level == SUBSET_INVALID)
		return;
	begin_pieces(&p, args);
	for (uint32_t chunk = 0; chunk < chunks; chunk++) {
		args->work->places[chunk] = place;
		place += count_chunk(&p, chunk);
	}
	args->work->places[chunks] = place;
}

/* --- results -------------------------------------------------------------- */

static void write_chunk(struct piece *p, uint32_t chunk)
{
	const struct subset_args *args = p->args;
	uint32_t place = args->work->places[chunk];

	if (place == args->work->places[chunk + 1])
		return;
	for (uint32_t first = chunk * SUBSET_CHUNK;
	     first < chunk_end(args, chunk); first += PIECE) {
		make_piece(p, first, args->work->cut);
		for (uint32_t i = 0; i < p->n; i++)
			if (p->keys[i])
				subset_write(args, place++, first + i,
					     p->keys[i]);
	}
}

void run_subset_write(const void *pointer)
{
	const struct subset_args *args = pointer;
	const uint32_t total = subset_total(args);
	struct piece p;

	begin_pieces(&p, args);
	for (uint32_t chunk = 0; total && chunk < subset_chunks(args->items);
	     chunk++)
		write_chunk(&p, chunk);
	for (uint32_t i = total; i < args->wanted; i++)
		subset_none(args, i);
	subset_count_end(args);
}
