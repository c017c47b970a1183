/*
 * tests/alloc/arena.c - pieces of an arena against a plain map of its memory
 */
#include <stdlib.h>
#include "alloc/arena.h"
#include "tests/support/allocations.h"
#include "tests/support/support.h"

enum {
	CHUNK = 4096,
	UNITS = CHUNK / ARENA_ALIGNMENT,
	CHUNKS = 600,
	HELD = 3000
};

static struct philox_device *open_device(void)
{
	struct philox_device *device;

	OK(philox_device_open("host:sync", &device));
	return device;
}

/* --- the lowest place that fits ------------------------------------------- */

struct map {
	char *base[CHUNKS];
	unsigned char used[CHUNKS][UNITS];
	unsigned chunks;
};

static unsigned run_at(const struct map *map, unsigned chunk, unsigned unit)
{
	unsigned n = 0;

	while (unit + n < UNITS && !map->used[chunk][unit + n])
		n++;
	return n;
}

/* The first run of free units of so many, or the begin of a new chunk. */
static void find_place(struct map *map, unsigned units, unsigned *chunk,
		       unsigned *unit)
{
	for (*chunk = 0; *chunk < map->chunks; ++*chunk)
		for (*unit = 0; *unit < UNITS; ++*unit)
			if (run_at(map, *chunk, *unit) >= units)
				return;
	cr_assert_lt(*chunk, (unsigned)CHUNKS);
	map->chunks++;
	*unit = 0;
}

static void place_is_right(struct map *map, const struct arena_block *block,
			   unsigned size)
{
	const unsigned units = (size + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT;
	unsigned chunk, unit;
	char *begin;

	find_place(map, units, &chunk, &unit);
	memset(&map->used[chunk][unit], 1, units);
	begin = (char *)block->device - unit * ARENA_ALIGNMENT;
	if (!map->base[chunk])
		map->base[chunk] = begin;
	cr_assert(map->base[chunk] == begin, "a piece of %u bytes", size);
	cr_assert_eq(block->size, units * ARENA_ALIGNMENT);
}

static void forget_piece(struct map *map, const struct arena_block *block)
{
	for (unsigned i = 0; i < map->chunks; i++) {
		const ptrdiff_t at = (char *)block->device - map->base[i];

		if (at >= 0 && at < CHUNK)
			memset(&map->used[i][at / ARENA_ALIGNMENT], 0,
			       block->size / ARENA_ALIGNMENT);
	}
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

Test(arena, takes_the_lowest_place_that_fits, .timeout = 120)
{
	static struct map map;
	static struct arena_block held[HELD];
	struct philox_device *device = open_device();
	struct arena arena;
	uint32_t state = 7;

	arena_init(&arena, device, ARENA_DEVICE, CHUNK);
	for (unsigned i = 0; i < 40000; i++) {
		struct arena_block *block = &held[next_random(&state) % HELD];
		unsigned size = 1 + next_random(&state) % 300;

		if (next_random(&state) % 32 == 0)
			size = 1 + next_random(&state) % CHUNK;
		if (block->size) {
			forget_piece(&map, block);
			arena_free(&arena, block);
			cr_assert(!block->size && !block->device);
		} else {
			OK(arena_alloc(&arena, size, block));
			place_is_right(&map, block, size);
		}
	}
	for (unsigned i = 0; i < HELD; i++)
		arena_free(&arena, &held[i]);
	/* all is one piece in each chunk again */
	for (unsigned i = 0; i < map.chunks; i++) {
		OK(arena_alloc(&arena, CHUNK, &held[i]));
		cr_assert(held[i].device == map.base[i], "chunk %u", i);
	}
	arena_finish(&arena);
	OK(philox_device_close(device));
}

Test(arena, has_a_chunk_for_a_piece_that_is_larger)
{
	struct philox_device *device = open_device();
	struct arena_block small, large, next;
	struct arena arena;

	arena_init(&arena, device, ARENA_MAPPED, CHUNK);
	OK(arena_alloc(&arena, 1, &small));
	OK(arena_alloc(&arena, 3 * CHUNK, &large));
	OK(arena_alloc(&arena, 1, &next));
	cr_assert_eq((char *)next.host - (char *)small.host, ARENA_ALIGNMENT);
	arena_free(&arena, &large);
	arena_free(&arena, &small);
	OK(arena_alloc(&arena, 2 * CHUNK, &large));
	OK(arena_alloc(&arena, ARENA_ALIGNMENT, &small));
	cr_assert_eq((char *)next.host - (char *)small.host, ARENA_ALIGNMENT);
	FAILS(arena_alloc(&arena, SIZE_MAX, &next), PHILOX_ERROR_OVERFLOW);
	arena_finish(&arena);
	OK(philox_device_close(device));
}

/* --- failures, and time --------------------------------------------------- */

Test(arena, is_as_it_was_if_there_is_no_memory_for_a_record)
{
	struct philox_device *device = open_device();
	struct arena_block first, failed = {0}, again;
	struct arena arena;

	arena_init(&arena, device, ARENA_DEVICE, CHUNK);
	OK(arena_alloc(&arena, 100, &first));
	if (allocations_fail(1)) {
		FAILS(arena_alloc(&arena, 100, &failed), PHILOX_ERROR_MEMORY);
		cr_assert(!failed.size && !failed.device);
	}
	OK(arena_alloc(&arena, 100, &again));
	cr_assert_eq((char *)again.device - (char *)first.device, 128);
	arena_free(&arena, &first);
	arena_free(&arena, &again);
	OK(arena_alloc(&arena, CHUNK, &again));
	arena_finish(&arena);
	OK(philox_device_close(device));
}

/* One by one through all of them this would take an hour. */
Test(arena, of_many_pieces_is_fast, .timeout = 60)
{
	enum { MANY = 400000 };
	struct philox_device *device = open_device();
	struct arena_block *blocks = calloc(MANY, sizeof(*blocks));
	struct arena arena;

	cr_assert(blocks);
	arena_init(&arena, device, ARENA_DEVICE, 65536);
	for (unsigned i = 0; i < MANY; i++)
		OK(arena_alloc(&arena, 64, &blocks[i]));
	for (unsigned i = 0; i < MANY; i += 2)
		arena_free(&arena, &blocks[i]);
	for (unsigned i = 0; i < MANY; i += 2)
		OK(arena_alloc(&arena, 128, &blocks[i]));
	for (unsigned i = 0; i < MANY; i++)
		arena_free(&arena, &blocks[MANY - 1 - i]);
	arena_finish(&arena);
	free(blocks);
	OK(philox_device_close(device));
}
