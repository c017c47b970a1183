/*
 * tools/common/snapshot_segments.h - reading segments, extents and blocks of
 * the text of a pool
 */
#ifndef TOOLS_COMMON_SNAPSHOT_SEGMENTS_H
#define TOOLS_COMMON_SNAPSHOT_SEGMENTS_H

#include "graph/pool/pool.h"
#include "lib/text/text.h"

/* The segment that is being read, and what all came to so far. */
struct segment_reader {
	struct reader *reader;
	struct snapshot *snapshot;
	const char *inner; /* the line after the pool's, in another text */
	size_t first;      /* line of the pool's */
	uint64_t segments, last; /* how many, and the last one's number */
	size_t extent;           /* its extent that the next block is in */
	uint64_t next;           /* where the next block begins */
	uint64_t end; /* of the extents that lie side by side from there */
	uint64_t mapped, pinned, live, requested, blocks, largest, streams;
};

/* snapshot_number() takes a space, a word, a space and a number. */
uint64_t snapshot_number(struct reader *reader, const char *word);

/* snapshot_name() takes a name of less than `size` bytes. */
void snapshot_name(struct reader *reader, const char *what, char *name,
		   size_t size);

/*
 * segment_read() takes the rest of a segment's line and its extents,
 * segment_read_block() the rest of a block's line. segment_check_end() insists
 * that the blocks of the last segment cover it.
 */
void segment_read(struct segment_reader *at);
void segment_read_block(struct segment_reader *at);
void segment_check_end(struct segment_reader *at);

#endif
