/*
 * tests/alloc/index.c - indexes and hash tables of pools against plain arrays
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include "lib/containers/map.h"
#include "lib/containers/btree.h"

#define KEYS 30000

/* Keys in order: their high parts repeat, in runs of several lengths. */
static struct index_key key_of(size_t i)
{
	return (struct index_key){i / 7 * 3, i % 7 * 5};
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
		cr_assert(index_remove(&t->index, &t->nodes, key_of(i)) ==
			  &t->there[i]);
		cr_assert(!index_remove(&t->index, &t->nodes, key_of(i)));
		t->count--;
	} else {
		cr_assert(
			slab_reserve(&t->nodes, index_nodes(t->count + 1, 1)));
		index_insert(&t->index, &t->nodes, key_of(i), &t->there[i]);
		t->count++;
	}
	t->there[i] ^= 1;
	cr_assert(t->index.count == t->count);
}

static void search(const struct trial *t, size_t i)
{
	struct index_cursor least = index_at_least(&t->index, key_of(i));
	struct index_cursor most = index_at_most(&t->index, key_of(i));
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
		cr_assert(index_key_at(cursor).low == key_of(i).low);
	}
}

/* The share of keys that are there goes up and down, to nothing in the end. */
Test(pool_index, finds_what_an_array_finds)
{
	static struct trial t;
	uint32_t state = 1;
	size_t i;

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

Test(pool_index, takes_keys_in_order_from_either_end)
{
	static struct trial t;

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

Test(pool_index, ids_are_found_until_they_are_removed)
{
	static char there[KEYS];
	struct table ids = {0};
	struct table_entry *entry;
	uint32_t state = 3;

	cr_assert(!table_find(&ids, 1));
	for (size_t step = 0; step < 200000; step++) {
		size_t i = next_number(&state) % KEYS;

		if (there[i]) {
			cr_assert(table_remove(&ids, i + 1) == &there[i]);
			cr_assert(!table_remove(&ids, i + 1));
		} else {
			cr_assert(table_reserve(&ids, ids.count + 1));
			if (i % 2)
				table_put(&ids, i + 1, &there[i]);
			else
				cr_assert(table_add(&ids, i + 1, &there[i]));
			cr_assert(!table_add(&ids, i + 1, NULL));
		}
		there[i] ^= 1;
		i = next_number(&state) % KEYS;
		entry = table_find(&ids, i + 1);
		cr_assert(there[i] ? entry && entry->value == &there[i]
				   : !entry);
	}
	table_finish(&ids);
}
