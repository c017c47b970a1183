/*
 * tools/common/snapshot.h - reading the text of a pool
 */
#ifndef TOOLS_COMMON_SNAPSHOT_H
#define TOOLS_COMMON_SNAPSHOT_H

#include "graph/pool/pool.h"

/*
 * snapshot_read() reads a text and checks all that Note [Snapshot] says of it:
 * ERROR_INVALID, which names the line, ERROR_UNSUPPORTED, ERROR_MEMORY. The
 * memory it takes is in proportion to the text.
 */
enum philox_status snapshot_read(const char *text, size_t size,
				 struct snapshot *snapshot);

/*
 * snapshot_read_lines() reads those of a pool that stand in another text, without
 * a checksum, and the line after them, which begins with `inner`. To be finished,
 * whatever the reader's status.
 */
struct reader;
void snapshot_read_lines(struct reader *reader, struct snapshot *snapshot,
			 const char *inner);

#endif
