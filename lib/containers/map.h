/*
 * lib/containers/map.h - what belongs to a number: a hash map
 *
 * A key may be there several times: what is kept by texts or bytes has their
 * hashes for keys, and who looks for it compares all that have one.
 */
#ifndef LIB_CONTAINERS_MAP_H
#define LIB_CONTAINERS_MAP_H

#include <stddef.h>
#include <stdint.h>

struct map_entry {
	uint64_t key;
	void *value; /* NULL: free */
};

/* All zero: empty. */
struct map {
	struct map_entry *entries;
	size_t count;
	size_t capacity; /* a power of two, or 0 */
	unsigned shift;
};

/* Fibonacci hashing: the high bits of a product with 2^64 / golden ratio. */
static inline size_t map_home(const struct map *map, uint64_t key)
{
	return (size_t)(key * 0x9e3779b97f4a7c15ULL >> map->shift);
}

void map_finish(struct map *map);

/* Empties it; the room stays. */
void map_clear(struct map *map);

/* Makes room for `count` entries in all; 0: no memory. */
int map_enlarge(struct map *map, size_t count);

static inline int map_reserve(struct map *map, size_t count)
{
	return count <= map->capacity / 3 * 2 || map_enlarge(map, count);
}

/* pre: there is room. The value is not NULL. */
void map_put(struct map *map, uint64_t key, void *value);

/*
 * The first entry of a key, the one that was put first; the next one of the same
 * key. NULL: there is none. Entries stay in place until the next put or remove.
 */
struct map_entry *map_find(const struct map *map, uint64_t key);
struct map_entry *map_find_next(const struct map *map,
				const struct map_entry *entry);

/* Has the entry of a key brought near, which is wanted soon. */
static inline void map_expect(const struct map *map, uint64_t key)
{
	if (map->capacity)
		__builtin_prefetch(&map->entries[map_home(map, key)]);
}

/* The value of the first entry of a key; NULL: there is none. */
static inline void *map_value(const struct map *map, uint64_t key)
{
	const struct map_entry *entry = map_find(map, key);

	return entry ? entry->value : NULL;
}

/* Removes the entry with this value. pre: it is there. */
void map_remove(struct map *map, uint64_t key, const void *value);

#endif
