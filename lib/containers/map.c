/*
 * lib/containers/map.c - see lib/containers/map.h
 *
 * Linear probing; at most two thirds of the entries are in use. An entry that is
 * removed leaves no mark: those behind it move up.
 */
#include <stdlib.h>
#include <string.h>
#include "lib/containers/slab.h"
#include "lib/containers/map.h"

#define CAPACITY_LEAST 64

/*
 * Fibonacci hashing: the high bits of a product with 2^64 / golden ratio. Keys
 * that follow each other, as ids do, share a line of cache.
 */
static size_t home_of(const struct table *table, uint64_t key)
{
	uint64_t product = key / TABLE_LINE * 0x9e3779b97f4a7c15ULL;

	return (size_t)(product >> table->shift) / TABLE_LINE * TABLE_LINE +
	       key % TABLE_LINE;
}

static size_t slot_after(const struct table *table, size_t slot)
{
	return (slot + 1) & (table->capacity - 1);
}

/* The entry of a key, or the free one where it would be. */
static struct table_entry *entry_of(const struct table *table, uint64_t key)
{
	size_t slot = home_of(table, key);

	while (table->entries[slot].key && table->entries[slot].key != key)
		slot = slot_after(table, slot);
	return &table->entries[slot];
}

void table_finish(struct table *table)
{
	free(table->entries);
	*table = (struct table){0};
}

void table_clear(struct table *table)
{
	if (table->count)
		memset(table->entries, 0,
		       table->capacity * sizeof(*table->entries));
	table->count = 0;
}

static int move_to(struct table *table, size_t capacity)
{
	struct table larger = {.capacity = capacity, .shift = 64};

	while (capacity >>= 1)
		larger.shift--;
	larger.entries = slab_memory(larger.capacity * sizeof(*larger.entries));
	if (!larger.entries)
		return 0;
	memset(larger.entries, 0, larger.capacity * sizeof(*larger.entries));
	for (size_t i = 0; i < table->capacity; i++)
		if (table->entries[i].key)
			table_put(&larger, table->entries[i].key,
				  table->entries[i].value);
	free(table->entries);
	*table = larger;
	return 1;
}

int table_enlarge(struct table *table, size_t count)
{
	size_t capacity = table->capacity ? table->capacity : CAPACITY_LEAST;

	if (count > SIZE_MAX / 8 / sizeof(*table->entries))
		return 0;
	while (capacity / 3 * 2 < count)
		capacity *= 2;
	return move_to(table, capacity);
}

void table_put(struct table *table, uint64_t key, void *value)
{
	*entry_of(table, key) = (struct table_entry){key, value};
	table->count++;
}

int table_add(struct table *table, uint64_t key, void *value)
{
	struct table_entry *entry = entry_of(table, key);

	if (entry->key)
		return 0;
	*entry = (struct table_entry){key, value};
	table->count++;
	return 1;
}

struct table_entry *table_find(const struct table *table, uint64_t key)
{
	struct table_entry *entry =
		table->capacity && key ? entry_of(table, key) : NULL;

	return entry && entry->key ? entry : NULL;
}

/* Whether an entry at `slot` may move up to `gap`: its home is not between. */
static int may_move(const struct table *table, size_t gap, size_t slot)
{
	size_t home = home_of(table, table->entries[slot].key);
	size_t mask = table->capacity - 1;

	return ((slot - home) & mask) >= ((slot - gap) & mask);
}

void *table_remove(struct table *table, uint64_t key)
{
	struct table_entry *entry = table_find(table, key);
	size_t gap, slot;
	void *value;

	if (!entry)
		return NULL;
	value = entry->value;
	gap = slot = (size_t)(entry - table->entries);
	while (table->entries[slot = slot_after(table, slot)].key)
		if (may_move(table, gap, slot)) {
			table->entries[gap] = table->entries[slot];
			gap = slot;
		}
	table->entries[gap] = (struct table_entry){0};
	table->count--;
	return value;
}
