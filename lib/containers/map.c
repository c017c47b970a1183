/*
 * lib/containers/map.c - see lib/containers/map.h
 *
 * Linear probing; at most two thirds of the entries are in use. An entry that is
 * removed leaves no mark: those behind it move up, and entries of one key keep
 * their order.
 */
#include <stdlib.h>
#include <string.h>
#include "lib/containers/map.h"
#include "lib/containers/slab.h"

#define CAPACITY_LEAST 64

static size_t slot_after(const struct map *map, size_t slot)
{
	return (slot + 1) & (map->capacity - 1);
}

/* From a slot on: the first entry of a key, or the free one behind them all. */
static size_t search_from(const struct map *map, size_t slot, uint64_t key)
{
	while (map->entries[slot].value && map->entries[slot].key != key)
		slot = slot_after(map, slot);
	return slot;
}

static struct map_entry *entry_from(const struct map *map, size_t slot,
				    uint64_t key)
{
	struct map_entry *entry = &map->entries[search_from(map, slot, key)];

	return entry->value ? entry : NULL;
}

void map_finish(struct map *map)
{
	free(map->entries);
	*map = (struct map){0};
}

void map_clear(struct map *map)
{
	if (map->count)
		memset(map->entries, 0, map->capacity * sizeof(*map->entries));
	map->count = 0;
}

/* From behind a free entry on, since entries of one key are in their order then. */
static void move_entries_to(struct map *to, const struct map *map)
{
	size_t start = 0, slot;

	while (map->entries[start].value)
		start++;
	for (size_t i = 0; i < map->capacity; i++) {
		slot = (start + i) & (map->capacity - 1);
		if (map->entries[slot].value)
			map_put(to, map->entries[slot].key,
				map->entries[slot].value);
	}
}

int map_enlarge(struct map *map, size_t count)
{
	struct map larger = {.capacity = CAPACITY_LEAST, .shift = 64};

	if (count > SIZE_MAX / 8 / sizeof(*larger.entries))
		return 0;
	while (larger.capacity / 3 * 2 < count)
		larger.capacity *= 2;
	for (size_t left = larger.capacity; left >>= 1;)
		larger.shift--;
	larger.entries = slab_memory(larger.capacity * sizeof(*larger.entries));
	if (!larger.entries)
		return 0;
	memset(larger.entries, 0, larger.capacity * sizeof(*larger.entries));
	if (map->capacity)
		move_entries_to(&larger, map);
	free(map->entries);
	*map = larger;
	return 1;
}

void map_put(struct map *map, uint64_t key, void *value)
{
	size_t slot = map_home(map, key);

	while (map->entries[slot].value)
		slot = slot_after(map, slot);
	map->entries[slot] = (struct map_entry){key, value};
	map->count++;
}

struct map_entry *map_find(const struct map *map, uint64_t key)
{
	return map->capacity ? entry_from(map, map_home(map, key), key) : NULL;
}

struct map_entry *map_find_next(const struct map *map,
				const struct map_entry *entry)
{
	return entry_from(map, slot_after(map, (size_t)(entry - map->entries)),
			  entry->key);
}

/* Whether an entry at `slot` may move up to `gap`: its home is not between. */
static int may_move(const struct map *map, size_t gap, size_t slot)
{
	size_t home = map_home(map, map->entries[slot].key);
	size_t mask = map->capacity - 1;

	return ((slot - home) & mask) >= ((slot - gap) & mask);
}

void map_remove(struct map *map, uint64_t key, const void *value)
{
	size_t gap = search_from(map, map_home(map, key), key), slot;

	while (map->entries[gap].value != value)
		gap = search_from(map, slot_after(map, gap), key);
	slot = gap;
	while (map->entries[slot = slot_after(map, slot)].value)
		if (may_move(map, gap, slot)) {
			map->entries[gap] = map->entries[slot];
			gap = slot;
		}
	map->entries[gap] = (struct map_entry){0};
	map->count--;
}
