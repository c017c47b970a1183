/*
 * graph/pool/pool_text.h - the snapshot of a pool, and writing it as a text
 *
 * Note [Snapshot]
 * ~~~~~~~~~~~~~~~
 *   philox pool 1
 *   pool "activations" expandable flags 1 unit 512 step 0 limit 0 range 0
 *   session none graphs 1
 *   mapped 4194304 peak 4194304 pinned 2097152
 *   live 3072 peak 4096 requested 2500 blocks 2
 *   free 4191232 largest 4190208
 *   counts allocations 3 frees 1 growths 2 trims 0 checkpoints 1 restores 0
 *       rollbacks 0 waits 0
 *   segment 0 extents 2 bytes 4194304
 *   extent 1 offset 0 bytes 2097152 pinned
 *   extent 2 offset 2097152 bytes 2097152 loose
 *   block offset 0 bytes 1024 live 1 size 1000 tag "hidden"
 *   block offset 1024 bytes 1024 free owner stream 1
 *   block offset 2048 bytes 2048 live 2 size 1500 tag ""
 *   block offset 4096 bytes 4190208 free owner home
 *   checksum 0123456789abcdef bytes 643
 *
 * Lines are as in Note [Saved context]: words with one space between, numbers
 * without leading zeros, names in quotation marks, one spelling for the same
 * contents. There are places and no addresses, and blocks have numbers of the
 * text's own: so the same calls give the same text on each device, whatever
 * else the process does, but for how large the extents of an expandable pool
 * are, if granularities differ. How many addresses are reserved, which may
 * depend on the device's memory, is not in it. All lines, each of the first seven
 * once (the longest is broken here):
 *
 *  philox pool V      The version, 1. A reader refuses a newer one, after which
 *                     anything may follow.
 *  pool NAME plain|expandable flags F unit 512 step S limit L [range R]
 *                     The options of philox_pool_create(), as they were given;
 *                     the range of an expandable pool only. Blocks are multiples
 *                     of the unit.
 *  session none|warm-up|capture graphs G
 *                     Which session is open, and how many graphs live.
 *  mapped M peak P pinned N
 *                     Bytes of the extents, the most there ever were, and those
 *                     that living graphs have seen.
 *  live L peak P requested R blocks B
 *                     Bytes that live blocks take, as asked for, how many there
 *                     are.
 *  free F largest L   Bytes of free blocks, and of the largest of them that has
 *                     the owner home.
 *  counts allocations A frees F growths G trims T checkpoints C restores R
 *      rollbacks B waits W
 *                     As in struct philox_pool_figures.
 *  segment N extents E bytes B
 *                     In ascending order; with E extents of B bytes. A segment
 *                     of a plain pool is one extent, which begins at 0; an
 *                     expandable pool has segment 0 and no other.
 *  extent N offset O bytes B pinned|loose
 *                     The extents of the segment above, in order of place,
 *                     numbered in order of mapping. Pinned are those up to some
 *                     number.
 *  block offset O bytes B live N size S tag T
 *  block offset O bytes B free owner home|stream K
 *                     The blocks of the segment above, in order of place: they
 *                     cover its extents without gaps, and may reach from one
 *                     extent into the next. The bytes are all that it takes:
 *                     with zones, which flags tell, the address that was given
 *                     out is one unit after the offset. Live blocks are numbered
 *                     from 1 in order of allocation, streams in order of
 *                     appearance. Free neighbours have different owners.
 *  checksum H bytes B As in a saved context. Nothing follows.
 *
 * But for the options, no number is above 2^63 - 1, nor is any sum of sizes.
 */
#ifndef GRAPH_POOL_POOL_TEXT_H
#define GRAPH_POOL_POOL_TEXT_H

#include <stdio.h>
#include <philox/pool.h>
#include "alloc/pool/pool.h"
#include "lib/base/status.h"

#define SNAPSHOT_VERSION 1
#define SNAPSHOT_MOST    (UINT64_MAX / 2)

enum snapshot_session { SNAPSHOT_NONE, SNAPSHOT_WARM_UP, SNAPSHOT_CAPTURE };

struct snapshot_extent {
	uint64_t number, segment, offset, bytes;
	int pinned;
	size_t line; /* of the text it was read from */
};

struct snapshot_block {
	uint64_t segment, offset, bytes;
	uint64_t number; /* 0: free */
	uint64_t size;
	uint64_t owner; /* of a free one: a stream, or 0, home */
	char tag[POOL_TAG_SIZE];
	size_t line;
};

/* What a text says, in its order. */
struct snapshot {
	char name[64];
	uint32_t flags;
	uint64_t step, limit, range;
	enum snapshot_session session;
	struct philox_pool_figures figures; /* but for `reserved` */
	struct snapshot_extent *extents;
	struct snapshot_block *blocks;
	size_t n_extents, n_blocks;
};

/* snapshot_finish() frees what a snapshot holds. */
void snapshot_finish(struct snapshot *snapshot);

/* snapshot_write() writes a snapshot as a text: ERROR_MEMORY. */
enum philox_status snapshot_write(const struct snapshot *snapshot, char **text,
				  size_t *size);

/* snapshot_write_lines() writes the lines above the checksum. */
void snapshot_write_lines(FILE *out, const struct snapshot *snapshot);

/* snapshot_margin() is how many bytes of a live block are before its address. */
static inline uint64_t snapshot_margin(const struct snapshot *snapshot)
{
	return snapshot->flags & PHILOX_POOL_ZONES ? POOL_UNIT : 0;
}

#endif
