/*
 * alloc/pool/inner.h - shared by the files of a pool
 */
#ifndef ALLOC_POOL_INNER_H
#define ALLOC_POOL_INNER_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include "alloc/pool/pool.h"
#include "lib/containers/btree.h"
#include "lib/names/intern.h"
#include "lib/containers/map.h"
#include "lib/containers/numbers.h"
#include "lib/containers/slab.h"

/* --- block: a block of a pool, live or free ------------------------------- */

/*
 * A place is a segment and an offset in it, in units, as one number that sorts
 * by both.
 */

#define PLACE_BITS 40 /* of the offset */

/* One line of cache. */
struct block {
	struct block *before, *after; /* in order of place */
	uint64_t place;
	uint64_t units;
	uint64_t id;    /* 0: free */
	uint64_t size;  /* as asked for */
	uint32_t owner; /* free: its owner; live: the session it is from */
	uint32_t tag;
	uintptr_t address; /* of the place, as memory is mapped there */
};

static inline uint64_t place_of(uint32_t segment, uint64_t offset)
{
	return (uint64_t)segment << PLACE_BITS | offset;
}

static inline uint32_t place_segment(uint64_t place)
{
	return (uint32_t)(place >> PLACE_BITS);
}

static inline uint64_t place_offset(uint64_t place)
{
	return place & ((UINT64_C(1) << PLACE_BITS) - 1);
}

static inline uint64_t block_end(const struct block *block)
{
	return block->place + block->units;
}

/* Whether b follows a without a gap; either may be NULL. */
static inline int are_neighbours(const struct block *a, const struct block *b)
{
	return a && b && block_end(a) == b->place;
}

/* --- blocks.c: the free blocks of one owner, by size and place ------------ */

/*
 * Those of up to BINS_EXACT units are in an index for each size, by place;
 * larger ones in one by size and place.
 */

#define BINS_EXACT 128 /* units, a multiple of 64 */
#define BINS_WORDS (BINS_EXACT / 64)

struct bins {
	struct bins *next; /* spare ones */
	size_t count;      /* blocks */
	uint64_t used
		[BINS_WORDS]; /* a bit for each of those that is not empty */
	struct index large;   /* by units and place; wide */
	struct index exact[BINS_EXACT]; /* of n units: exact[n - 1] */
};

void bins_init(struct bins *bins); /* empty */

/* pre: the slab has nodes. */
void bins_put(struct bins *bins, struct slab *nodes, struct block *block);
void bins_remove(struct bins *bins, struct slab *nodes, struct block *block);

/*
 * bins_used() returns the least size of at least `units` > 0 up to BINS_EXACT of
 * which there are blocks, 0 if there are none.
 */
uint64_t bins_used(const struct bins *bins, uint64_t units);

/* Units of the largest block; 0: none. */
uint64_t bins_largest(const struct bins *bins);

/*
 * All blocks in order of size and place: the first one, the one behind another.
 * NULL: none. The bins must not change meanwhile.
 */
struct bins_cursor {
	uint64_t units; /* of those in the index; 0: it is the large ones' */
	struct index_cursor at;
};

struct block *bins_first(const struct bins *bins, struct bins_cursor *cursor);
struct block *bins_next(const struct bins *bins, struct bins_cursor *cursor);

/* NULL, or which invariant does not hold; adds to *nodes those in use. */
const char *bins_check(const struct bins *bins, size_t *nodes);

/* --- blocks: the blocks of a pool and their indexes (Note [Pool]) --------- */

/*
 * All blocks are in one list in order of place. Live ones are in a map by
 * address, free ones in their owner's bins. What lies at any other place is
 * found by way of the list (alloc/pool/inner.h).
 *
 * Functions here cannot fail: blocks_reserve() goes before.
 */

struct owner {
	struct bins *bins; /* NULL: it has no memory */
	uint64_t units;
	int is_held; /* see pool_hold_owner() */
};

/* Up to these numbers there is room for all that blocks_reserve() sees to. */
struct room {
	uint64_t entries, units;
	size_t owners, extents;
};

struct blocks {
	struct slab records, nodes, bins;
	struct bins *spare; /* empty ones, to be used again */
	struct block *first, *last;
	struct map live;             /* by address */
	struct index starts;         /* by chunk: the first that begins there */
	struct owner *owners;        /* those below owners_room */
	uint32_t owners_room;
	uint32_t owners_end;         /* those from here on never had memory */
	struct number_set *in_use;   /* owners; NULL: nobody asks */
	size_t n_owners;             /* that have memory */
	size_t n_free;               /* blocks */
	size_t n_extents;            /* in two indexes that share the nodes */
	size_t undo_free, undo_live; /* room that blocks_reserve() adds to all
					that is asked for */
	uint64_t live_units, free_units;
	struct room room;
	uint32_t credit; /* blocks that there is room for: see below */
	int is_held; /* see blocks_hold() */
};

void blocks_init(struct blocks *blocks);
void blocks_finish(struct blocks *blocks);
void blocks_clear(struct blocks *blocks); /* as if new */

/* Memory that was mapped; the range of free memory that was unmapped. */
void blocks_add(struct blocks *blocks, uint64_t place, uint64_t units,
		uintptr_t address, uint32_t owner);
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

/* Makes room for the owners below `end`; 0: no memory. */
int blocks_know_owners(struct blocks *blocks, uint32_t end);

extern const struct owner no_owner;

/* One that there is no room for has no memory. */
static inline const struct owner *owner_of(const struct blocks *blocks,
					   uint32_t owner)
{
	return owner < blocks->owners_room ? &blocks->owners[owner] : &no_owner;
}

/* Units of the largest block of an owner; 0: none. */
static inline uint64_t owner_largest(const struct blocks *blocks,
				     uint32_t owner)
{
	return owner_of(blocks, owner)->units
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

/* --- blocks.c: the list of a pool's blocks in order of place -------------- */

/*
 * The first block that begins in each chunk of 2^CHUNK_BITS units is in an
 * index. So a block at any place is found by a short walk, and most blocks come
 * and go without a change of the index.
 */

#define CHUNK_BITS 9

/* Behind `before`; NULL: as the first. pre: the index has room. */
void link_block(struct blocks *blocks, struct block *before,
		struct block *block);
void unlink_block(struct blocks *blocks, struct block *block);

/* Another record of the same memory takes the place of a block. */
void replace_block(struct blocks *blocks, struct block *block,
		   struct block *by);

/* The last block that begins at or before a place; NULL: none. */
struct block *block_at(const struct blocks *blocks, uint64_t place);

/* The same from a block on, which does. NULL: none. */
static inline struct block *block_at_from(struct block *block, uint64_t place)
{
	while (block && block->after && block->after->place <= place)
		block = block->after;
	return block;
}

/* --- blocks.c: room for changes of a pool's blocks, made before them ------ */

/*
 * Makes room for so many more free and live blocks, and extents. 0: no memory.
 */
int blocks_reserve(struct blocks *blocks, size_t more_free, size_t more_live,
		   size_t more_extents);

int blocks_reserve_credit(struct blocks *blocks);

/*
 * The same for one block that is taken or put. Room is made for many at a time:
 * the credit is lost with any other change.
 */
static inline int blocks_reserve_one(struct blocks *blocks)
{
	if (!blocks->credit)
		return blocks_reserve_credit(blocks);
	blocks->credit--;
	return 1;
}

/* Nodes that suffice for so many more blocks, and extents. */
size_t blocks_nodes(const struct blocks *blocks, size_t more,
		    size_t more_extents);

/* --- pool.c: ids count the blocks of the process -------------------------- */

/*
 * block_id_issue() returns a new one, from 1 on, and block_id_last() the last one, 0 if
 * there was none. Any thread.
 */
uint64_t block_id_issue(void);
uint64_t block_id_last(void);

/* --- fit: which memory a request gets (Note [Pool]) ----------------------- */

#define FIT_OWNERS_MAX 3

/* A request in units. The memory of these owners may be used. */
struct fit_need {
	uint64_t units; /* with both margins */
	uint64_t margin;
	uint64_t alignment; /* of what is between the margins; power of two */
	uint32_t owners[FIT_OWNERS_MAX];
	uint32_t n_owners;
	const unsigned char *lends; /* of fit_lenders(): more owners */
	uint32_t n_lends;
};

/* Whether a block is free and of one of these owners. */
int fit_may_use(const struct fit_need *need, const struct block *block);

/* Where the request would begin in memory from `place` on. */
uint64_t fit_place(const struct fit_need *need, uint64_t place);

/* The first of the neighbours that end with `last` and may all be used; `last`
 * may be used. */
struct block *fit_run_start(const struct fit_need *need, struct block *last);

/* Where a run that begins with `first` ends, which may be used. */
uint64_t fit_run_end(const struct fit_need *need, const struct block *first);

/*
 * fit_find() writes the place, and the free block that this is in; 0: nothing
 * fits.
 */
int fit_find(const struct blocks *blocks, const struct fit_need *need,
	     struct block **first, uint64_t *place);

/*
 * fit_lenders() looks at all blocks, for the lowest run in which the request
 * fits with the memory of all that lend; lends[] has those then whose blocks it
 * would take. 0: there is none, and lends[] is as it was.
 */
int fit_lenders(const struct blocks *blocks, const struct fit_need *need,
		unsigned char *lends);

/* --- extents: the mapped memory of a pool --------------------------------- */

/*
 * Where it lies, how the pool grows, and what is given back. Of a pool with one
 * endless extent (EXTENTS_ENDLESS) there is no memory: it grows by what is
 * needed, without calls to a device (alloc/pool/inner.h).
 */

enum extents_kind { EXTENTS_PLAIN, EXTENTS_EXPANDABLE, EXTENTS_ENDLESS };

struct extent {
	uint64_t number;
	uint64_t place, units;
	char *address;
	void *memory; /* PLAIN: what the device gave */
	struct extent *older, *newer;
};

struct extents {
	struct philox_device *device;
	enum extents_kind kind;
	uint64_t step, limit; /* units; limit UINT64_MAX: none */
	uint64_t granularity; /* units */
	void *space;          /* EXPANDABLE: as reserved */
	char *base;           /* the same, aligned; its first unit is place 0 */
	uint64_t range;       /* units from there on */
	struct index by_place, by_address;
	struct number_set segments; /* PLAIN: that there are */
	uint64_t whole; /* else: what is mapped from place 0 on without a gap */
	struct range span; /* see pool_span() */
	struct extent *oldest, *newest;
	uint64_t last_number;
	uint64_t units, units_peak;
	uint64_t growths, grown; /* times, units, over its life */
	uint64_t trims;
};

enum philox_status extents_init(struct extents *extents,
				struct philox_device *device,
				const struct pool_settings *settings);
void extents_init_endless(struct extents *extents);

/* Gives everything back to the device. */
void extents_finish(struct extents *extents);

/*
 * Maps an extent, so that the request fits, which does not; the memory belongs
 * to `owner`. pre: the blocks have room for two more free ones.
 */
enum philox_status extents_grow(struct extents *extents, struct blocks *blocks,
				const struct fit_need *need, uint32_t owner,
				uint64_t *units);

/*
 * Gives a wholly free extent back. pre: the blocks have room for one more free
 * one.
 */
enum philox_status extents_unmap(struct extents *extents, struct blocks *blocks,
				 struct extent *extent);

/* The extent that a place or an address is in; NULL: none. */
const struct extent *extents_at(const struct extents *extents, uint64_t place);
const struct extent *extents_holding(const struct extents *extents,
				     const void *address);

/* Whether a part of a range, which is not empty, is mapped or reserved. */
int extents_meet(const struct extents *extents, struct range range);

/* "1 extent of ...": NULL, or which invariant does not hold. */
const char *extents_check(const struct extents *extents, size_t *nodes);

/* --- extents.c: the calls that a pool makes to its device ----------------- */

/*
 * Those that map memory are made in relaxed mode, for captures may be in
 * progress, and are undone whole if they fail. Offsets in a segment are from an
 * address that is aligned to POOL_ALIGNMENT_MAX on every device, so that places
 * do not depend on addresses.
 */

/* Reserves the addresses of an EXPANDABLE pool; writes space, base, range. */
enum philox_status memory_reserve(struct extents *extents, size_t bytes,
				  unsigned traits);
void memory_release(struct extents *extents);

/* Fills in the extent's addresses. */
enum philox_status memory_map(struct extents *extents, struct extent *extent);
enum philox_status memory_unmap(struct extents *extents, struct extent *extent);

/* --- inner: what a pool consists of --------------------------------------- */

#define RECENT_COUNT 4096 /* at most; powers of two */
#define RECENT_LEAST 16

/* A block that was freed: what its memory is called when it is freed again. */
struct recent {
	uint64_t place;
	uint64_t id; /* 0: none */
	uint32_t tag;
	uint32_t units; /* UINT32_MAX: so many, or more */
};

/*
 * A session (alloc/pool/inner.h). The shadow is a pool of one endless extent,
 * in which the takes and puts of the session's own blocks are made again.
 */
struct session {
	int is_open;
	uint32_t number;    /* of the one that is open, or of the last one */
	uint64_t newest;    /* extent, when it began */
	struct block *dead; /* of before it, freed in it: linked by `after` */
	size_t n_dead;
	uint64_t units; /* live, of its own blocks */
	uint64_t units_peak;
	uint64_t end; /* of the highest block in the shadow */
	/* The pool's counts when it began */
	uint64_t grown, allocations, frees, growths;
	struct blocks shadow;
	struct map shadows; /* its live blocks, by the ids of their own */
	struct extents endless;
};

struct pool {
	uint64_t serial; /* never used again by another pool */
	uint64_t margin; /* units */
	struct extents extents;
	struct blocks blocks;
	struct number_set owners; /* that are in use */
	struct map ids; /* of pool_is_live(), while it runs; always has room */
	struct shared *shared;
	struct tags *tags; /* of `shared` */
	struct session session;
	uint64_t requested; /* bytes */
	uint64_t live_peak; /* units */
	uint64_t blocks_peak;
	uint64_t allocations, frees, restores, undone;
	uint64_t unmapped; /* extents, by pool_unmap() */
	unsigned skipped;  /* checks; see alloc/pool/inner.h */
	struct recent *recent; /* by the hash of the place */
	uint32_t n_recent;     /* a power of two, or 0 */
};

/* --- record: blocks as a pool's user sees them ---------------------------- */

void record_show(const struct pool *pool, const struct block *block,
		 struct pool_block *shown);

/* The live block that an address lies in, without its margins; NULL: none. */
struct block *record_around(const struct pool *pool, const void *address);

/* Whether a live block is freed is noted: by its place, with its tag. */
void record_freed(struct pool *pool, const struct block *block);

/* Live blocks get their ids, and lose them; the tag goes with the id. */
void record_born(struct pool *pool, struct block *block);
void record_dead(struct pool *pool, struct block *block);

/* --- checkpoint: what a checkpoint holds ---------------------------------- */

/*
 * Its blocks are sorted by place, as the list of blocks is, so that both are
 * gone through side by side.
 */

struct saved_block {
	uint64_t id, place, units, size;
	uint32_t session, tag;
};

struct pool_checkpoint {
	uint64_t serial; /* of the pool */
	uint64_t trims;  /* of it by then */
	struct shared *shared;
	struct pool_checkpoint *next; /* that has ended before this one */
	size_t n;
	struct saved_block blocks[];
};

/* --- shared: what a pool and its checkpoints share ------------------------ */

/*
 * A checkpoint holds the tags of its blocks, and ends in any thread, also after
 * its pool, without the pool's lock. So it is put aside as it ends, and the pool
 * lets go of its tags when it next looks at them.
 */

struct shared {
	atomic_size_t holders; /* the pool, and each of its checkpoints */
	struct tags *tags;     /* the pool's, with its lock */
	_Atomic(struct pool_checkpoint *) ended; /* the newest of them */
};

/* With one holder; NULL: no memory. */
struct shared *shared_create(void);
void shared_hold(struct shared *shared);
void shared_release(struct shared *shared);

/* Puts aside a checkpoint, which is a holder no longer. */
void shared_end(struct pool_checkpoint *checkpoint);

/* Frees what was put aside. shared_clear() is for each call that takes tags. */
void shared_reclaim(struct shared *shared);

static inline void shared_clear(struct shared *shared)
{
	if (atomic_load_explicit(&shared->ended, memory_order_relaxed))
		shared_reclaim(shared);
}

/* --- session: what a pool notes while a session is open ------------------- */

/*
 * The shadow of a pool's session is made with the pool, so that a session begins
 * and ends without errors; each call that may fail for want of memory makes room
 * before it changes anything. Outside sessions all of this does nothing.
 */

void session_init(struct session *session);
void session_finish(struct session *session);

/* Room for one more block of the session; 0: no memory. */
int session_reserve(struct pool *pool);

/* A block was taken for this need: it becomes one of the session. */
void session_took(struct pool *pool, const struct fit_need *need,
		  struct block *block);

/*
 * A live block will be freed. session_keeps() tells whether its record is kept
 * for undoing, after session_keep_reserve() (0: no memory). If it is not,
 * session_put_reserve() comes before session_put() (0: no memory).
 */
int session_keeps(const struct pool *pool, const struct block *block);
int session_keep_reserve(struct pool *pool);
int session_put_reserve(struct pool *pool);
void session_put(struct pool *pool, struct block *block, uint32_t owner);
void session_keep(struct pool *pool, struct block *block);

/* Room to undo a growth, before it; takes it back if that failed. */
void session_expect_growth(struct pool *pool);
void session_no_growth(struct pool *pool);

/* Memory was given to another owner. */
void session_gave(struct pool *pool, uint32_t from, uint32_t to);

/* Whether undoing needs memory of this extent. */
int session_needs(const struct pool *pool, const struct extent *extent);

/* --- check: the invariants of a pool, checked after each operation -------- */

/*
 * In builds with PHILOX_DEBUG check_now_and_then() calls pool_check(): each time
 * in a small pool, less often the more blocks there are; it ends the program if
 * an invariant does not hold. In other builds it does nothing.
 */
#ifdef PHILOX_DEBUG
void check_now_and_then(struct pool *pool);
#else
static inline void check_now_and_then(struct pool *pool)
{
	(void)pool;
}
#endif

#endif
