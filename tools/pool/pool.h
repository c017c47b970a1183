/*
 * tools/pool/pool.h - what philox inspect shows of the snapshot of a pool
 */
#ifndef TOOLS_POOL_POOL_H
#define TOOLS_POOL_POOL_H

#include <stdio.h>
#include "tools/cli/cli.h"
#include "tools/formats/formats.h"

/* --- what is shown --------------------------------------------------------- */

/*
 * pool_print() sums a snapshot up in words, pool_json() adds all of it to an open
 * object, pool_svg() draws it. All return 0, or the exit status after
 * saying what is wrong.
 */
int pool_print(const struct snapshot *snapshot, FILE *out);
int pool_json(const struct snapshot *snapshot, struct json *json);
int pool_svg(const struct snapshot *snapshot, FILE *out);

/* --- totals: what the blocks of a pool come to ----------------------------- */

/* The live blocks of a tag. */
struct tag_total {
	const char *tag; /* in the snapshot */
	uint64_t blocks, bytes, requested;
};

/* The free blocks of an owner: 0 is home. */
struct owner_total {
	uint64_t blocks, bytes;
};

struct totals {
	struct tag_total *tags; /* most bytes first */
	size_t n_tags;
	struct owner_total *owners; /* by number; home may have nothing */
	size_t n_owners;
	uint64_t free, largest; /* the largest free block, of any owner */
	uint64_t free_blocks;
	double fragmentation; /* 1 - largest / free; 0 if nothing is free */
};

/* totals_make() returns 0, or -1: out of memory. */
int totals_make(const struct snapshot *snapshot, struct totals *totals);
void totals_finish(struct totals *totals);

/* totals_find() is the place of a tag among the totals. */
size_t totals_find(const struct totals *totals, const char *tag);

/*
 * totals_bytes() writes a size for people: "512 B", "1.5 KiB"; totals_place()
 * one that must not be rounded: "1536 B". owner_name() writes "home" or "stream
 * N".
 */
struct short_text {
	char text[32];
};
struct short_text totals_bytes(uint64_t bytes);
struct short_text totals_place(uint64_t bytes);
struct short_text owner_name(uint64_t owner);

#endif
