/*
 * lib/save/part.h - a part of what ranks compare: see Note [Agreement]
 */
#ifndef LIB_SAVE_PART_H
#define LIB_SAVE_PART_H

#include <stdint.h>
#include <philox/state.h>

enum save_item { SAVE_GENERATORS = 1, SAVE_REGION, SAVE_TABLE, SAVE_DATA };

/* The items whose keys end with these bits; {0, 0}: all of them. */
struct save_part {
	unsigned bits; /* below 64 */
	uint64_t value;
};

/* A plane of counters in which no key is derived: see philox_fold(). */
#define SAVE_FOLD_ITEM 0x80000000000000d2ULL

/* The key of an item; `name` is the hash of its name. */
static inline uint64_t save_item_key(enum save_item item, uint64_t name)
{
	return philox_fold(name, SAVE_FOLD_ITEM, item);
}

static inline int save_part_has(const struct save_part *part, uint64_t key)
{
	return !((key ^ part->value) & ((UINT64_C(1) << part->bits) - 1));
}

#endif
