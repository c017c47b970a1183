/*
 * tests/alloc/bins.c - free blocks by size, live ones by place and id
 */
#include <criterion/criterion.h>
#include "alloc/pool/inner.h"
#include "tests/support/beds/pools.h"

#define BLOCKS 9000

static uint32_t next_number(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* Blocks in an order that has nothing to do with their places. */
struct trial {
	struct slab nodes;
	struct block blocks[BLOCKS];
	char there[BLOCKS];
	size_t count;
};

static void open_trial(struct trial *t)
{
	slab_init(&t->nodes, sizeof(struct index_node));
	for (size_t i = 0; i < BLOCKS; i++)
		t->blocks[i].place = i * 7919 % BLOCKS * 300;
}

static void close_trial(struct trial *t)
{
	cr_assert(!t->count && !t->nodes.used);
	slab_finish(&t->nodes);
}

/* One to change: their share goes up and down. */
static size_t choose(const struct trial *t, size_t step, uint32_t *state)
{
	size_t i = next_number(state) % BLOCKS;

	while (t->there[i] == (step / 40000 % 2 == 0) && next_number(state) % 4)
		i = next_number(state) % BLOCKS;
	return i;
}

static void change_bins(struct trial *t, struct bins *bins, size_t i)
{
	if (t->there[i]) {
		bins_remove(bins, &t->nodes, &t->blocks[i]);
		t->count--;
	} else {
		t->count++;
		cr_assert(slab_reserve(&t->nodes,
				       index_nodes(t->count, BINS_EXACT + 1)));
		bins_put(bins, &t->nodes, &t->blocks[i]);
	}
	t->there[i] ^= 1;
}

static void check_bins(const struct trial *t, const struct bins *bins)
{
	size_t nodes = 0, of_size[300] = {0};
	const char *wrong = bins_check(bins, &nodes);
	const struct block *last = NULL;
	struct bins_cursor cursor;
	uint64_t largest = 0, units;
	size_t seen = 0;

	cr_assert(!wrong, "%s", wrong);
	cr_assert(nodes == t->nodes.used &&
		  nodes <= index_nodes(t->count, BINS_EXACT + 1));
	for (size_t i = 0; i < BLOCKS; i++) {
		units = t->blocks[i].units;
		of_size[units] += t->there[i] != 0;
		if (t->there[i] && units > largest)
			largest = units;
	}
	cr_assert(bins->count == t->count && bins_largest(bins) == largest);
	for (uint64_t least = 1; least < 300; least++) {
		for (units = least; units <= BINS_EXACT && !of_size[units];)
			units++;
		cr_assert(bins_used(bins, least) ==
			  (units <= BINS_EXACT ? units : 0));
	}
	for (const struct block *block = bins_first(bins, &cursor); block;
	     block = bins_next(bins, &cursor)) {
		cr_assert(t->there[block - t->blocks] &&
			  of_size[block->units]-- > 0);
		cr_assert(!last || last->units < block->units ||
			  (last->units == block->units &&
			   last->place < block->place));
		last = block;
		seen++;
	}
	cr_assert(seen == t->count);
}

Test(pool_bins, find_each_size_and_all_blocks)
{
	static struct trial t;
	static struct bins bins;
	uint32_t state = 7;

	bins_init(&bins);
	open_trial(&t);
	for (size_t i = 0; i < BLOCKS; i++)
		t.blocks[i].units = 1 + next_number(&state) % 200;
	check_bins(&t, &bins);
	for (size_t i = 0; i < 300; i++) {
		change_bins(&t, &bins, next_number(&state) % 150);
		check_bins(&t, &bins);
	}
	for (size_t step = 0; step < 80000; step++) {
		change_bins(&t, &bins, choose(&t, step, &state));
		if (step % 2000 == 0)
			check_bins(&t, &bins);
	}
	for (size_t i = 0; i < BLOCKS; i++)
		if (t.there[i])
			change_bins(&t, &bins, i);
	check_bins(&t, &bins);
	close_trial(&t);
}

/* --- through a pool ------------------------------------------------------- */

#define SMALL 1000

Test(pool_bins, an_address_in_any_of_many_blocks_is_found)
{
	struct pool_block blocks[SMALL], found;
	struct pool_test t;

	ON_BOTH_KINDS(t)
	{
		for (size_t i = 0; i < SMALL; i++)
			blocks[i] = take(&t, i % 100 == 99 ? 90 : 1 + i % 3, 0);
		for (size_t i = 0; i < SMALL; i += 5)
			put(&t, blocks[i], 0);
		for (size_t i = 0; i < SMALL; i++) {
			char *last =
				(char *)blocks[i].address + blocks[i].size - 1;

			cr_assert(pool_find(t.pool, last, &found) ==
				  (i % 5 != 0));
			cr_assert(i % 5 == 0 || found.id == blocks[i].id);
		}
		whole(&t);
	}
}

Test(pool_bins, ids_are_known_however_long_nobody_asked_for_them)
{
	struct pool_block blocks[100];
	uint32_t state = 11;
	struct pool_test t;
	uint64_t ids[100], gone;
	size_t i;

	ON_BOTH_KINDS(t)
	{
		for (i = 0; i < 100; i++) {
			blocks[i] = take(&t, 1 + i % 7, 0);
			ids[i] = blocks[i].id;
		}
		for (size_t pairs = 1; pairs < 300; pairs++) {
			for (size_t n = 0; n < pairs; n++) {
				i = next_number(&state) % 100;
				put(&t, blocks[i], 0);
				gone = ids[i];
				blocks[i] = take(&t, 1 + n % 7, 0);
				ids[i] = blocks[i].id;
			}
			cr_assert(pool_is_live(t.pool, ids, 100));
			ids[i] = gone;
			cr_assert(!pool_is_live(t.pool, ids, 100));
			ids[i] = blocks[i].id;
		}
	}
}

/* Of many free blocks of one size the lowest that the alignment allows. */
Test(pool_bins, the_lowest_aligned_block_of_a_size_is_taken)
{
	const struct pool_settings settings = {.kind = POOL_EXPANDABLE,
					       .reserve = UNITS(16384)};
	struct pool_request request = {
		.size = UNITS(3), .shared = 1, .alignment = UNITS(8)};
	struct pool_block blocks[500], block;
	struct pool_test t;
	size_t next = 0;

	pool_test_open(&t, &settings);
	for (size_t i = 0; i < 500; i++) {
		blocks[i] = take(&t, 3, 0);
		take(&t, 1 + i % 4, 0);
	}
	for (size_t i = 0; i < 500; i++)
		put(&t, blocks[i * 7 % 500], 0);
	for (; next < 500; next++) {
		if (blocks[next].offset % UNITS(8))
			continue;
		OK(pool_take(t.pool, &request, &block));
		cr_assert(block.address == blocks[next].address);
	}
	whole(&t);
	request.alignment = 0;
	OK(pool_take(t.pool, &request, &block));
	for (next = 0; blocks[next].offset % UNITS(8) == 0;)
		next++;
	cr_assert(block.address == blocks[next].address);
	pool_test_close(&t);
}
