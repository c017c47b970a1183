/*
 * tests/support/oracles/counters.c - see tests/support/oracles/counters.h
 *
 * The set is a table with open addressing, at most half full.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include "tests/support/oracles/counters.h"

/* A rejected integer draws again, from a key folded from offset / 4. */
#define RETRIES 2 /* that are looked at */

struct entry {
	uint64_t key, low, high;
	uint32_t owner; /* 0: free */
};

struct counter_set {
	size_t used, room; /* room is a power of two */
	struct entry *entries;
};

struct counter_set *counter_set_new(void)
{
	struct counter_set *set = calloc(1, sizeof(*set));

	cr_assert_not_null(set);
	set->room = 1024;
	set->entries = calloc(set->room, sizeof(*set->entries));
	cr_assert_not_null(set->entries);
	return set;
}

void counter_set_free(struct counter_set *set)
{
	free(set->entries);
	free(set);
}

size_t counter_set_size(const struct counter_set *set)
{
	return set->used;
}

static size_t hash(uint64_t key, uint64_t low, uint64_t high)
{
	uint64_t h = key * 0x9e3779b97f4a7c15;

	h = (h ^ h >> 29 ^ low) * 0xbf58476d1ce4e5b9;
	h = (h ^ h >> 32 ^ high) * 0x94d049bb133111eb;
	return (size_t)(h ^ h >> 31);
}

/* Where a block is, or would be. */
static struct entry *find(const struct counter_set *set, uint64_t key,
			  uint64_t low, uint64_t high)
{
	size_t i = hash(key, low, high) & (set->room - 1);
	struct entry *entry = &set->entries[i];

	while (entry->owner && (entry->key != key || entry->low != low ||
				entry->high != high)) {
		i = (i + 1) & (set->room - 1);
		entry = &set->entries[i];
	}
	return entry;
}

static void grow(struct counter_set *set)
{
	struct counter_set old = *set;

	set->room = 2 * old.room;
	set->entries = calloc(set->room, sizeof(*set->entries));
	cr_assert_not_null(set->entries);
	for (size_t i = 0; i < old.room; i++) {
		const struct entry *entry = &old.entries[i];

		if (entry->owner)
			*find(set, entry->key, entry->low, entry->high) =
				*entry;
	}
	free(old.entries);
}

uint32_t counter_set_put(struct counter_set *set, uint64_t key, uint64_t low,
			 uint64_t high, uint32_t owner)
{
	struct entry *entry = find(set, key, low, high);

	if (entry->owner)
		return entry->owner;
	*entry = (struct entry){key, low, high, owner};
	if (2 * ++set->used > set->room)
		grow(set);
	return owner;
}

/* One subsequence: a block for every 4 words of the advance, and retries. */
static uint32_t draw_subsequence(struct counter_set *set,
				 struct philox_state state, uint64_t advance,
				 uint64_t high, uint32_t owner)
{
	uint64_t low = state.offset / 4;
	uint64_t retry = philox_fold(state.seed, PHILOX_FOLD_RETRY, low);
	uint32_t was = owner;

	for (uint64_t i = 0; was == owner && i < advance / 4; i++)
		was = counter_set_put(set, state.seed, low + i, high, owner);
	for (uint64_t i = 0; was == owner && i < RETRIES; i++)
		was = counter_set_put(set, retry, i, high, owner);
	return was;
}

uint32_t counter_set_draw(struct counter_set *set, struct philox_state state,
			  const struct counter_span *span, uint32_t owner)
{
	uint64_t elements = span->wide ? 2 : 4;
	uint64_t high = span->first / elements;
	uint64_t last = (span->first + (span->count - 1)) / elements;
	uint32_t was = owner;

	for (; was == owner && high <= last; high++)
		was = draw_subsequence(set, state, span->advance, high, owner);
	return was;
}
