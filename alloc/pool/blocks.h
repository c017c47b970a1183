/*
 * alloc/pool/blocks.h - the blocks of a pool and their indexes (Note [Pool])
 *
 * All blocks are in one list in order of place. Live ones are in a hash table
 * by place, free ones in their owner's bins. What lies at any other place is
 * found by way of the list (alloc/pool/order.h).
 *
 * Functions here cannot fail: room_reserve() goes before.
 */
#ifndef ALLOC_POOL_BLOCKS_H
#define ALLOC_POOL_BLOCKS_H

#include <stddef.h>
#include <stdint.h>
#include "alloc/pool/bins.h"
#include "alloc/pool/block.h"
#include "lib/containers/btree.h"
#include "alloc/pool/places.h"
#include "alloc/pool/pool.h"
#include "lib/containers/slab.h"
#include "lib/containers/intern.h"

struct owner {
	struct bins *bins; /* NULL: it has no memory */
	uint64_t units;
};

/* Up to these numbers there is room for all that room_reserve() sees to. */
struct room {
	uint64_t entries, units;
	size_t owners, extents;
};

struct blocks {
	struct slab records, nodes, pages, bins;
	struct bins *spare; /* empty ones, to be used again */
	struct block *first, *last;
	struct places live;
	struct index starts;         /* by chunk: the first that begins there */
	struct owner *owners;        /* POOL_OWNERS_MAX */
	uint32_t owners_end;         /* those from here on never had memory */
	size_t n_owners;             /* that have memory */
	size_t n_free;               /* blocks */
	size_t n_extents;            /* in two indexes that share the nodes */
	size_t undo_free, undo_live; /* room that room_reserve() adds to all
					that is asked for */
	uint64_t live_units, free_units;
	struct room room;
	int is_held; /* see blocks_hold() */
};

int blocks_init(struct blocks *blocks); /* 0: no memory */
void blocks_finish(struct blocks *blocks);
void blocks_clear(struct blocks *blocks); /* as if new */

/* Memory that was mapped; the range of free memory that was unmapped. */
void blocks_add(struct blocks *blocks, uint64_t place, uint64_t units,
		uint32_t owner);
void blocks_drop(struct blocks *blocks, uint64_t place, uint64_t units);

/*
 * blocks_claim() makes a live block of free memory, whoever owns it; `first` is
 * the free block that the place is in. The caller fills in all but its place
 * and units. blocks_claim_record() is the same with a record that is there.
 * blocks_release() frees a live block: it returns the free one that this is part
 * of then, and *block may be no more.
 */
struct block *blocks_claim(struct blocks *blocks, struct block *first,
			   uint64_t place, uint64_t units);
void blocks_claim_record(struct blocks *blocks, struct block *first,
			 struct block *record);
struct block *blocks_release(struct blocks *blocks, struct block *block,
			     uint32_t owner);

/* The same, but the record goes to the caller; another takes its place. */
void blocks_release_but_keep(struct blocks *blocks, struct block *block,
			     uint32_t owner);

/* Units of the largest block of an owner; 0: none. */
static inline uint64_t owner_largest(const struct blocks *blocks,
				     uint32_t owner)
{
	return blocks->owners[owner].units
		       ? bins_largest(blocks->owners[owner].bins)
		       : 0;
}

/*
 * From blocks_hold() on until blocks_unhold() free blocks are in no bins, which
 * pays if more of them come and go than there are. Nothing is searched for then,
 * and nothing given.
 */
void blocks_hold(struct blocks *blocks);
void blocks_unhold(struct blocks *blocks);

/* Gives free memory to another owner: all of one, or a range. */
void blocks_give(struct blocks *blocks, uint32_t from, uint32_t to);
void blocks_give_range(struct blocks *blocks, uint64_t place, uint64_t units,
		       uint32_t to);

#endif
