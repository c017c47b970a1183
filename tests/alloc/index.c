/*
 * tests/alloc/index.c - indexes, maps and arrays against plain arrays
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include "lib/containers/array.h"
#include "lib/containers/map.h"
#include "lib/containers/btree.h"

#define KEYS 30000

/*
 * Keys in order: in a wide index their high parts repeat, in runs of several
 * lengths.
 */
static struct index_key key_in(const struct index *index, size_t i)
{
	return index->wide ? (struct index_key){i / 7 * 3, i % 7 * 5}
			   : (struct index_key){i * 3, 0};
}

static uint32_t next_number(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

struct trial {
	struct index index;
	struct slab nodes;
	char there[KEYS];
	size_t count;
};

static void change(struct trial *t, size_t i)
{
	if (t->there[i]) {
		cr_assert(index_remove(&t->index, &t->nodes,
				       key_in(&t->index, i)) == &t->there[i]);
		cr_assert(!index_remove(&t->index, &t->nodes,
					key_in(&t->index, i)));
		t->count--;
	} else {
		cr_assert(
			slab_reserve(&t->nodes, index_nodes(t->count + 1, 1)));
		index_insert(&t->index, &t->nodes, key_in(&t->index, i),
			     &t->there[i]);
		t->count++;
	}
	t->there[i] ^= 1;
	cr_assert(t->index.count == t->count);
}

static void search(const struct trial *t, size_t i)
{
	struct index_cursor least =
		index_at_least(&t->index, key_in(&t->index, i));
	struct index_cursor most =
		index_at_most(&t->index, key_in(&t->index, i));
	size_t up = i, down = i + 1;

	while (up < KEYS && !t->there[up])
		up++;
	while (down > 0 && !t->there[down - 1])
		down--;
	cr_assert(up < KEYS ? least.leaf && index_value(least) == &t->there[up]
			    : !least.leaf);
	cr_assert(down ? most.leaf && index_value(most) == &t->there[down - 1]
		       : !most.leaf);
}

static void check(const struct trial *t)
{
	size_t nodes = 0, i = 0;
	const char *wrong = index_check(&t->index, &nodes);
	struct index_cursor cursor = index_first(&t->index);

	cr_assert(!wrong, "%s", wrong);
	cr_assert(nodes == t->nodes.used && nodes <= index_nodes(t->count, 1));
	for (; cursor.leaf; cursor = index_next(cursor), i++) {
		while (!t->there[i])
			i++;
		cr_assert(index_value(cursor) == &t->there[i]);
		cr_assert(index_key_at(cursor).low == key_in(&t->index, i).low);
	}
}

/* The share of keys that are there goes up and down, to nothing in the end. */
static void change_at_random(uint32_t wide)
{
	static struct trial t;
	uint32_t state = 1;
	size_t i;

	t.index.wide = wide;
	slab_init(&t.nodes, sizeof(struct index_node));
	for (size_t step = 0; step < 300000; step++) {
		i = next_number(&state) % KEYS;
		if (t.there[i] == (step / 60000 % 2 == 0) &&
		    next_number(&state) % 4)
			continue;
		change(&t, i);
		search(&t, next_number(&state) % KEYS);
		if (step % 5000 == 0)
			check(&t);
	}
	cr_assert(t.index.height >= 3);
	for (i = 0; i < KEYS; i++)
		if (t.there[i])
			change(&t, i);
	cr_assert(!t.index.root && !t.nodes.used);
	slab_finish(&t.nodes);
}

Test(pool_index, finds_what_an_array_finds)
{
	change_at_random(0);
	change_at_random(1);
}

/* Whole parts come and go, so that nodes of all levels are joined. */
Test(pool_index, joins_what_could_be_one_at_each_level)
{
	static struct trial t;
	uint32_t state = 5;

	t.index.wide = 1;
	slab_init(&t.nodes, sizeof(struct index_node));
	for (int run = 0; run < 3000; run++) {
		const size_t first = next_number(&state) % KEYS;
		const size_t n = next_number(&state) % 2000;
		const int there = next_number(&state) % 2;

		for (size_t i = first; i < first + n && i < KEYS; i++)
			if (t.there[i] != there)
				change(&t, i);
		check(&t);
	}
	cr_assert(t.index.height >= 3);
	index_clear(&t.index, &t.nodes);
	slab_finish(&t.nodes);
}

Test(pool_index, takes_keys_in_order_from_either_end)
{
	static struct trial t;

	t.index.wide = 1;
	slab_init(&t.nodes, sizeof(struct index_node));
	for (size_t i = 0; i < KEYS; i++)
		change(&t, i);
	check(&t);
	for (size_t i = 0; i < KEYS; i += 2)
		change(&t, i);
	check(&t);
	for (size_t i = KEYS; i > 0; i -= 2)
		change(&t, i - 1);
	check(&t);
	for (size_t i = KEYS; i-- > 0;)
		change(&t, i);
	check(&t);
	index_clear(&t.index, &t.nodes);
	cr_assert(!t.nodes.used && !t.index.count);
	slab_finish(&t.nodes);
}

/* --- maps and arrays --------------------------------------------------------- */

#define ENTRIES 3000

/* When each entry was put; 0: it is not there. Three have one key. */
struct map_trial {
	struct map map;
	size_t put[ENTRIES], n;
};

static uint64_t map_key(size_t i)
{
	return i % (ENTRIES / 3) * (i % 2 ? 1 : 0x9e3779b97f4a7c15u);
}

static size_t count_of_key(const struct map_trial *t, uint64_t key)
{
	size_t n = 0;

	for (size_t i = 0; i < ENTRIES; i++)
		n += t->put[i] && map_key(i) == key;
	return n;
}

/* All of a key are found, in the order in which they were put. */
static void check_key(const struct map_trial *t, uint64_t key)
{
	const struct map_entry *entry = map_find(&t->map, key);
	size_t n = 0, last = 0;

	for (; entry; entry = map_find_next(&t->map, entry), n++) {
		cr_assert(entry->key == key);
		cr_assert(*(size_t *)entry->value > last);
		last = *(size_t *)entry->value;
	}
	cr_assert(n == count_of_key(t, key));
}

static void change_map(struct map_trial *t, size_t i, size_t step)
{
	if (t->put[i]) {
		map_remove(&t->map, map_key(i), &t->put[i]);
		t->n--;
		t->put[i] = 0;
	} else {
		t->n++;
		cr_assert(map_reserve(&t->map, t->n));
		t->put[i] = step;
		map_put(&t->map, map_key(i), &t->put[i]);
	}
	cr_assert(t->map.count == t->n);
}

Test(pool_index, a_map_finds_what_it_has_in_the_order_of_putting)
{
	static struct map_trial t;
	uint32_t state = 3;

	cr_assert(!map_find(&t.map, 0) && !map_value(&t.map, 1));
	for (size_t step = 1; step < 60000; step++) {
		change_map(&t, next_number(&state) % ENTRIES, step);
		if (step % 8 == 0)
			check_key(&t, map_key(next_number(&state) % ENTRIES));
	}
	map_clear(&t.map);
	cr_assert(!t.map.count && !map_value(&t.map, map_key(1)));
	map_finish(&t.map);
}

Test(pool_index, an_array_grows_by_items_that_are_zero)
{
	uint32_t state = 7, *items = NULL, *before;
	size_t n = 0;

	for (size_t step = 0; step < 400; step++) {
		size_t more = next_number(&state) % 5;
		uint32_t *new = array_grow(&items, n, more, sizeof(*items));

		cr_assert(new == items + n);
		for (size_t i = 0; i < more; i++, n++) {
			cr_assert(!items[n]);
			items[n] = (uint32_t)n + 1;
		}
		if (step % 16 == 15) /* some are taken away */
			n /= 2;
		for (size_t i = 0; i < n; i++)
			cr_assert(items[i] == i + 1);
	}
	before = items;
	cr_assert(!array_grow(&items, n, SIZE_MAX / 2, sizeof(*items)));
	cr_assert(!array_grow(&items, n, SIZE_MAX - n / 2, sizeof(*items)));
	cr_assert(items == before);
	free(items);
}
