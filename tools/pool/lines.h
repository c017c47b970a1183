/*
 * tools/pool/lines.h - the lines of a picture of a pool
 *
 * A segment is drawn on lines of one length, as text is. A long stretch that
 * shows nothing but the inside of one block, or of one gap between extents, is
 * folded into one line.
 */
#ifndef TOOLS_POOL_LINES_H
#define TOOLS_POOL_LINES_H

#include "graph/pool/pool.h"

struct pool_line {
	uint64_t segment;
	uint64_t from, to; /* bytes of the segment */
	uint64_t folded;   /* how many lines it stands for; 1: itself */
	size_t extent;     /* the first that ends after `from` */
	size_t block;      /* the same */
};

struct pool_lines {
	uint64_t length; /* bytes of a line: a power of two */
	struct pool_line *lines;
	size_t n;
};

/* The most blocks that a line of small blocks should have. */
#define LINE_BLOCKS 48

/*
 * lines_make() finds a length at which most blocks can be seen and the picture
 * is not too long, and the lines. It returns 0, or -1: out of memory.
 */
int lines_make(const struct snapshot *snapshot, struct pool_lines *lines);
void lines_finish(struct pool_lines *lines);

#endif
