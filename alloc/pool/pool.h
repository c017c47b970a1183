/*
 * alloc/pool/pool.h - device memory in blocks, which can be put back as it was
 *
 * Note [Pool]
 * ~~~~~~~~~~~
 * A pool takes extents from the device and hands out blocks of them, in units of
 * POOL_UNIT bytes. An extent is mapped by one call and given back by one call.
 * In a PLAIN pool each is a segment of its own, an allocation; in an EXPANDABLE
 * pool they lie in one reserved range of addresses, segment 0, and neighbours
 * make one piece of memory.
 *
 * Blocks cover the mapped memory of each segment without gaps. A free block has
 * an owner, a number that names a stream: work that used the block before is
 * ordered before all that the owner does next. POOL_SHARED owns memory that any
 * stream may use (memory that was never used, for example). Neighbours that are
 * free and have one owner are always one block, however they came to be: so if
 * all free memory has one owner, the state of a pool is a function of its
 * extents and its live blocks, and nothing else.
 *
 * The block taken for a request is the smallest that fits, of several the one
 * with the lowest place (segment, then offset), among those of the request's
 * owner and, if it may use that, SHARED's. If none fits, but a run of neighbours
 * of these owners does, the smallest run is taken in the same way; the rest of it
 * keeps its owners. A request begins at the lowest place of its piece that is
 * aligned. The tail, the run of these owners that ends where the last segment's
 * mapped memory ends, is no such piece: it is taken, as one, only if nothing else
 * fits. So in one piece of memory the places of requests that may use SHARED's do
 * not depend on how much of it is mapped. Else the pool must grow. Nothing here
 * depends on time or on addresses: the same calls give the same places on each
 * device. (Segments of a PLAIN pool have the lowest number that is not in use.)
 *
 * Core only: it uses the device contract, knows no context, has no lock (its
 * user has one) and posts nothing: what happened is in its results.
 */
#ifndef ALLOC_POOL_POOL_H
#define ALLOC_POOL_POOL_H

#include <stddef.h>
#include <stdint.h>
#include "lib/names/intern.h"
#include "lib/containers/ranges.h"
#include "lib/device/contract.h"

#define POOL_UNIT          512
#define POOL_ALIGNMENT_MAX 65536
#define POOL_SHARED        0 /* an owner */
#define POOL_TAG_SIZE      TAG_SIZE
#define POOL_OWNERS_MAX    (1 << 18) /* owners are below it */

enum pool_kind { POOL_PLAIN, POOL_EXPANDABLE };

struct pool_settings {
	enum pool_kind kind;
	size_t reserve; /* EXPANDABLE: bytes of addresses; 0: 9/8 of the
			   device's memory; rounded up to the granularity */
	size_t step;    /* size of an extent, if a request does not need more
			   and the limit or the gap do not leave less; 0: 2
			   MiB; rounded up to a multiple of POOL_UNIT or of
			   the granularity */
	size_t limit;   /* most bytes mapped; 0: none */
	unsigned traits; /* EXPANDABLE: enum space_trait, of all memory */
	size_t margin;  /* bytes kept free of use before and after each block,
			   a multiple of POOL_UNIT; 0: none */
};

struct pool;
struct block; /* a live one, inside of the pool */

/* A live block, or one that was. Addresses and sizes without the margins. */
struct pool_block {
	uint64_t id; /* counts the blocks of the process from 1: never reused */
	void *address;
	size_t size;  /* as asked for */
	size_t bytes; /* taken, with margins: a multiple of POOL_UNIT */
	uint32_t segment;
	size_t offset;    /* in the segment, of the address */
	uint32_t session; /* that allocated it; 0: none */
	int live;
	char tag[POOL_TAG_SIZE];
};

struct pool_request {
	size_t size;      /* > 0 */
	size_t alignment; /* power of two <= POOL_ALIGNMENT_MAX; 0: POOL_UNIT */
	const char *tag;  /* NULL: "" */
	uint32_t owner;
	int shared; /* may use SHARED's memory, too */
};

/*
 * pool_create() makes an empty pool; an expandable one reserves its addresses.
 * pool_destroy() gives everything back, blocks in use included; not legal during
 * capture. ERROR_INVALID names the setting; ERROR_UNSUPPORTED (EXPANDABLE on a
 * device without address spaces), ERROR_MEMORY, those of the device.
 */
enum philox_status pool_create(struct philox_device *device,
			       const struct pool_settings *settings,
			       struct pool **pool);
void pool_destroy(struct pool *pool);

/* --- pool.c: blocks ------------------------------------------------------- */

/*
 * pool_take() takes a block from the memory that is mapped: NOT_READY, with
 * nothing changed and no message, if none fits. pool_grow() maps one extent, so
 * that the request fits after it; the new memory belongs to SHARED, or to the
 * owner if the request may not use SHARED's. *mapped is its size. In an
 * expandable pool free memory before and after the gap counts if the request may
 * use it; the lowest gap that will do is filled, from its beginning. A growth that
 * fails half-way is undone whole. Legal during capture (the device's calls are made
 * in relaxed mode). Both check the request: ERROR_INVALID, ERROR_OVERFLOW.
 * Growing: ERROR_LIMIT, ERROR_MEMORY (of the device or of the reservation, or
 * the host's), those of the device. No call to the device in pool_take(); its
 * ERROR_MEMORY is the host's.
 */
enum philox_status pool_take(struct pool *pool,
			     const struct pool_request *request,
			     struct pool_block *block);
enum philox_status pool_grow(struct pool *pool,
			     const struct pool_request *request,
			     size_t *mapped);

/*
 * pool_locate() finds the live block that begins at `address`. NULL, with
 * ERROR_INVALID set, if there is none: the message tells what the address is
 * instead: inside a block or its margins (its tag and offset), freed already
 * (the id and tag of the block that was there last, unless thousands of others
 * were freed since), or not the pool's. pool_show() describes one that was
 * found.
 *
 * pool_put() frees a block that pool_locate() found, and that is still live; its
 * memory belongs to `owner` from now on. ERROR_INVALID: the owner. ERROR_MEMORY:
 * the host has none to record free memory, which is seldom needed.
 */
struct block *pool_locate(const struct pool *pool, void *address);
void pool_show(const struct pool *pool, const struct block *block,
	       struct pool_block *shown);
enum philox_status pool_put(struct pool *pool, struct block *block,
			    uint32_t owner);

/*
 * pool_find() finds the live block that an address lies in, its margins
 * excluded. 0: none, *block is as before.
 */
int pool_find(const struct pool *pool, const void *address,
	      struct pool_block *block);

/*
 * pool_find_freed() finds the latest block that a free address was in; *offset
 * is how far behind its beginning. It writes the id and the tag. 0: none is
 * known, since none was, or thousands were freed later.
 */
int pool_find_freed(const struct pool *pool, const void *address,
		    struct pool_block *block, size_t *offset);

/*
 * pool_span() returns the least range of addresses that has all memory which
 * the pool has had so far, and of an expandable pool its reserved addresses; it
 * never shrinks. pool_has() tells whether a part of a range of addresses, which
 * is not empty, is mapped or reserved for the pool now.
 */
struct range pool_span(const struct pool *pool);
int pool_has(const struct pool *pool, struct range range);

/*
 * pool_give() gives all free memory of one owner to another (there are none
 * from POOL_OWNERS_MAX on, and nothing is given to them); pool_owns() tells
 * how much an owner has. pool_lender() returns the lowest owner from `from` on,
 * except SHARED and the request's own, whose memory would make the request fit
 * if it were given to the request's owner, UINT32_MAX if there is none.
 * pool_lenders() is told by lends[] which owners below n lend: 1 if the request
 * fits with the memory of all of them; lends[] has those then that it takes.
 */
void pool_give(struct pool *pool, uint32_t from, uint32_t to);
size_t pool_owns(const struct pool *pool, uint32_t owner);
uint32_t pool_lender(const struct pool *pool,
		     const struct pool_request *request, uint32_t from);
int pool_lenders(const struct pool *pool, const struct pool_request *request,
		 unsigned char *lends, uint32_t n);

/*
 * pool_know_owner() makes room for an owner below POOL_OWNERS_MAX; 0: no memory.
 * pool_take(), pool_grow() and pool_put() call it. An owner without room is given
 * nothing. pool_hold_owner() keeps one that is known in use, though it has no
 * memory, until pool_drop_owner(). pool_new_owner() returns the lowest owner,
 * except SHARED, that has no memory and is not kept; POOL_OWNERS_MAX: there is
 * none.
 */
int pool_know_owner(struct pool *pool, uint32_t owner);
void pool_hold_owner(struct pool *pool, uint32_t owner);
void pool_drop_owner(struct pool *pool, uint32_t owner);
uint32_t pool_new_owner(const struct pool *pool);

/* --- pool.c: extents ------------------------------------------------------ */

/*
 * pool_reserve() makes at least `bytes` of mapped memory free in one piece
 * owned by SHARED, by mapping one extent if need be (*mapped is its size, or
 * 0); errors as of pool_grow().
 *
 * Extents are numbered from 1 in order of mapping, over the life of the pool;
 * pool_newest() returns the last number. pool_trim() gives back the extents
 * with a number above `pinned` that are wholly free, whoever owns them, the
 * newest first, until `enough` bytes were given back (SIZE_MAX: all there are);
 * it ends at the first error of the device: extents before that are gone.
 * *trimmed is written in any case. Extents with blocks that an open session may
 * bring back stay. Not legal during capture.
 */
enum philox_status pool_reserve(struct pool *pool, size_t bytes,
				size_t *mapped);
uint64_t pool_newest(const struct pool *pool);
enum philox_status pool_trim(struct pool *pool, uint64_t pinned, size_t enough,
			     size_t *trimmed);

/*
 * pool_unmap() gives back all extents that are wholly free, as pool_trim() does,
 * but checkpoints can be restored afterwards, unless a block that is wanted was
 * in one of them (ERROR_STALE).
 */
enum philox_status pool_unmap(struct pool *pool, size_t *unmapped);

/* --- session.c: sessions -------------------------------------------------- */

/*
 * A session remembers how to undo what happens to the blocks between its two
 * calls. While one is open, blocks get its number (counted from 1 in each
 * pool), and blocks of before that are freed are kept in a list.
 * pool_session_end() ends it: what the owners in `owners` (n of them) have goes
 * to SHARED, and it writes the session's figures. With `undo` the blocks that
 * were live when it began are live again, with their ids, and no others are;
 * memory that was mapped meanwhile stays, as SHARED's. Undoing cannot fail.
 * pre: none is open; one is open.
 */
struct pool_session_figures {
	size_t peak;      /* bytes that its blocks take in one piece of memory:
			      the end of the highest one if the same takes and
			      puts were made in an empty pool with one extent
			      (computed in that way, not estimated; for a
			      request that may not use SHARED's memory it grows,
			      by what is missing) */
	size_t live_peak; /* most bytes live at a time, of its own blocks */
	size_t live;      /* at its end, of the same */
	size_t mapped;    /* by growth in it */
	uint64_t allocations, frees, growths;
};

void pool_session_begin(struct pool *pool);
void pool_session_end(struct pool *pool, const uint32_t *owners, size_t n,
		      int undo, struct pool_session_figures *figures);

/* --- checkpoints ---------------------------------------------------------- */

struct pool_checkpoint; /* at most 64 bytes a live block */

/*
 * pool_checkpoint() records the live blocks, sorted by place: ERROR_MEMORY.
 * pool_checkpoint_free() ends one, in any thread, also beside other calls on the
 * pool or after its end; the pool frees the memory with its next block or
 * checkpoint. Everything else here is for one thread at a time.
 *
 * pool_restore() makes exactly those blocks live that are in the checkpoint and
 * whose ids are in `live` (n_live of them): with the places, sizes, tags and
 * ids they had. Live blocks that are not in the checkpoint must be in `dead`.
 * Free memory all belongs to SHARED afterwards. It checks everything first, and
 * changes nothing if it fails: ERROR_STATE (a session is open), ERROR_MISMATCH
 * (another pool's checkpoint), ERROR_STALE (a trim since that gave something
 * back), ERROR_BUSY (free memory that belongs to neither SHARED nor `owner`:
 * whose), ERROR_NOT_FOUND (an id of `live` that is not in the checkpoint, one
 * of `dead` that was never issued), ERROR_STATE (live blocks unknown to the
 * checkpoint that are not in `dead`: how many, with the tags of the first
 * ones), ERROR_INVALID (an id in both arrays or twice), ERROR_MEMORY; the first
 * of these that is true. *freed and *revived are the numbers of blocks that
 * died and that are live again.
 */
enum philox_status pool_checkpoint(const struct pool *pool,
				   struct pool_checkpoint **checkpoint);
void pool_checkpoint_free(struct pool_checkpoint *checkpoint);

/*
 * pool_checkpoint_join() makes one of the blocks with the n ids at `ids`,
 * sorted, each as it is in the first of the n_parts checkpoints that has it; ids
 * that none has are left out. The parts are of one pool, and the blocks do not
 * overlap; what was trimmed since did not hold them. ERROR_MEMORY.
 */
enum philox_status pool_checkpoint_join(
	const struct pool_checkpoint *const *parts, size_t n_parts,
	const uint64_t *ids, size_t n, struct pool_checkpoint **joined);
size_t pool_checkpoint_blocks(const struct pool_checkpoint *checkpoint);
enum philox_status pool_restore(struct pool *pool,
				const struct pool_checkpoint *checkpoint,
				uint32_t owner, const uint64_t *live,
				size_t n_live, const uint64_t *dead,
				size_t n_dead, size_t *freed, size_t *revived);

/*
 * pool_is_live() tells whether exactly these ids are live (in any order, each
 * once).
 */
int pool_is_live(struct pool *pool, const uint64_t *ids, size_t n);

/* --- to be seen ----------------------------------------------------------- */

struct pool_figures {
	size_t reserved; /* addresses: EXPANDABLE the range, PLAIN as mapped */
	size_t mapped, mapped_peak;
	size_t live, live_peak; /* bytes taken by live blocks */
	size_t requested;       /* what was asked for of that */
	size_t free;            /* mapped - live */
	size_t largest_free;    /* a run that SHARED's requests can use */
	uint64_t blocks, blocks_peak;
	uint64_t allocations, frees; /* taken, put */
	uint64_t growths, trims;     /* extents mapped, given back */
	uint64_t restores, undone;   /* undone: sessions */
};

void pool_figures(const struct pool *pool, struct pool_figures *figures);

/*
 * pool_walk_extents() and pool_walk_blocks() call `see` for each extent and each
 * block, free ones too (live is 0, `session` is the owner then), in order of
 * place. The pool must not change meanwhile. pool_extent_at() finds the extent
 * that an address is in, pool_newest_extent() the one that was mapped last of
 * those that there are: 0 if there is none.
 */
struct pool_extent {
	uint64_t number; /* see pool_trim() */
	uint32_t segment;
	size_t offset, bytes;
	const void *address;
};

int pool_extent_at(const struct pool *pool, const void *address,
		   struct pool_extent *extent);
int pool_newest_extent(const struct pool *pool, struct pool_extent *extent);
void pool_walk_extents(const struct pool *pool,
		       void (*see)(void *user,
				   const struct pool_extent *extent),
		       void *user);
void pool_walk_blocks(const struct pool *pool,
		      void (*see)(void *user, const struct pool_block *block),
		      void *user);

/*
 * pool_check() checks every invariant of Note [Pool] and of the indexes, and
 * returns NULL or a sentence about the first that does not hold. In builds with
 * PHILOX_DEBUG it is called after every operation, now and then in a large pool.
 */
const char *pool_check(const struct pool *pool);

#endif
