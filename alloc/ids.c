/*
 * alloc/ids.c - see alloc/ids.h
 *
 * Linear probing; at most half of the entries are in use. An entry that is
 * removed leaves no mark: those behind it move up.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include "alloc/ids.h"

#define CAPACITY_LEAST 64

/* Fibonacci hashing: the high bits of a product with 2^64 / golden ratio. */
static size_t home_of(const struct ids *ids, uint64_t id)
{
	return (size_t)((id * 0x9e3779b97f4a7c15ULL) >> ids->shift);
}

static size_t slot_after(const struct ids *ids, size_t slot)
{
	return (slot + 1) & (ids->capacity - 1);
}

/* The entry of an id, or the free one where it would be. */
static struct ids_entry *entry_of(const struct ids *ids, uint64_t id)
{
	size_t slot = home_of(ids, id);

	while (ids->entries[slot].id && ids->entries[slot].id != id)
		slot = slot_after(ids, slot);
	return &ids->entries[slot];
}

void ids_finish(struct ids *ids)
{
	free(ids->entries);
	*ids = (struct ids){0};
}

static int enlarge(struct ids *ids, size_t capacity)
{
	struct ids larger = {.capacity = capacity, .shift = 64};

	while (capacity >>= 1)
		larger.shift--;
	larger.entries = calloc(larger.capacity, sizeof(*larger.entries));
	if (!larger.entries)
		return 0;
	for (size_t i = 0; i < ids->capacity; i++)
		if (ids->entries[i].id)
			ids_put(&larger, ids->entries[i].id,
				ids->entries[i].value);
	free(ids->entries);
	*ids = larger;
	return 1;
}

int ids_reserve(struct ids *ids, size_t count)
{
	size_t capacity = ids->capacity ? ids->capacity : CAPACITY_LEAST;

	if (count <= ids->capacity / 2)
		return 1;
	if (count > SIZE_MAX / 8 / sizeof(*ids->entries))
		return 0;
	while (capacity / 2 < count)
		capacity *= 2;
	return enlarge(ids, capacity);
}

void ids_put(struct ids *ids, uint64_t id, void *value)
{
	*entry_of(ids, id) = (struct ids_entry){id, value};
	ids->count++;
}

int ids_add(struct ids *ids, uint64_t id, void *value)
{
	struct ids_entry *entry = entry_of(ids, id);

	if (entry->id)
		return 0;
	*entry = (struct ids_entry){id, value};
	ids->count++;
	return 1;
}

struct ids_entry *ids_find(const struct ids *ids, uint64_t id)
{
	struct ids_entry *entry =
		ids->capacity && id ? entry_of(ids, id) : NULL;

	return entry && entry->id ? entry : NULL;
}

/* Whether an entry at `slot` may move up to `gap`: its home is not between. */
static int may_move(const struct ids *ids, size_t gap, size_t slot)
{
	size_t home = home_of(ids, ids->entries[slot].id);
	size_t mask = ids->capacity - 1;

	return ((slot - home) & mask) >= ((slot - gap) & mask);
}

void *ids_remove(struct ids *ids, uint64_t id)
{
	struct ids_entry *entry = ids_find(ids, id);
	size_t gap, slot;
	void *value;

	if (!entry)
		return NULL;
	value = entry->value;
	gap = slot = (size_t)(entry - ids->entries);
	while (ids->entries[slot = slot_after(ids, slot)].id)
		if (may_move(ids, gap, slot)) {
			ids->entries[gap] = ids->entries[slot];
			gap = slot;
		}
	ids->entries[gap] = (struct ids_entry){0};
	ids->count--;
	return value;
}

/* --- numbers -------------------------------------------------------------- */

static atomic_uint_fast64_t issued;

uint64_t ids_issue(void)
{
	return atomic_fetch_add_explicit(&issued, 1, memory_order_relaxed) + 1;
}

uint64_t ids_last(void)
{
	return atomic_load_explicit(&issued, memory_order_relaxed);
}
