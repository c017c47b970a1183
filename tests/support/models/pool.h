/*
 * tests/support/models/pool.h - a pool that knows units of memory, not blocks
 *
 * Written from the comments of alloc/pool/pool.h alone: an array says for each
 * unit of each segment whether it is mapped, who owns it and which block is
 * there. Everything is found by looking at all of them.
 */
#ifndef TESTS_SUPPORT_POOL_MODEL_H
#define TESTS_SUPPORT_POOL_MODEL_H

#include <stddef.h>
#include <stdint.h>

#define MODEL_SEGMENTS 256
#define MODEL_UNITS    6144 /* of a segment */
#define MODEL_EXTENTS  512
#define MODEL_OWNERS   8

enum model_kind { MODEL_PLAIN, MODEL_EXPANDABLE, MODEL_ENDLESS };

struct model_cell {
	int32_t block; /* -1: not mapped, 0: free, else a number of a block */
	uint32_t owner;
};

struct model_block {
	uint64_t id;
	uint32_t segment, tag, session;
	size_t at, units; /* with margins */
	size_t size;      /* bytes */
	int is_live, is_written;
	size_t place_in_list; /* of the live ones */
};

struct model_extent {
	uint64_t number;
	uint32_t segment;
	size_t at, units;
};

/* A request, in units. */
struct model_need {
	size_t units; /* without margins */
	size_t alignment;
	uint32_t owners[MODEL_OWNERS + 2];
	size_t n_owners;
};

/* What a session did, to be done again. */
struct model_act {
	enum { MODEL_TAKE, MODEL_PUT, MODEL_GIVE } what;
	struct model_need need;
	size_t block; /* PUT: the number of the TAKE, counted from 0 */
	uint32_t from, to;
};

struct model {
	enum model_kind kind;
	size_t step, granularity, limit, range, margin; /* units */
	struct model_cell (*cells)[MODEL_UNITS];
	size_t length[MODEL_SEGMENTS]; /* mapped cells are below it */
	uint32_t segments;             /* that there ever were */
	struct model_block *blocks;    /* from 1 on */
	size_t n_blocks, blocks_capacity;
	size_t *live;
	size_t n_live;
	struct model_extent extents[MODEL_EXTENTS]; /* in order of number */
	size_t n_extents;
	uint64_t last_extent;
	size_t mapped;
	int in_session;
	uint32_t session;
	uint64_t session_extent; /* the last one when it began */
	size_t session_block;    /* the same for blocks */
	struct model_act *acts;
	size_t n_acts, acts_capacity, n_takes;
	size_t *dead; /* blocks of before the session */
	size_t n_dead;
};

enum model_answer { MODEL_OK, MODEL_NO_FIT, MODEL_LIMIT, MODEL_NO_RANGE };

void model_init(struct model *model, enum model_kind kind);
void model_finish(struct model *model);

/* Where a request lies. */
int model_fit(const struct model *model, const struct model_need *need,
	      uint32_t *segment, size_t *at);

/* Takes what model_fit() found; returns the block's number. */
size_t model_take(struct model *model, const struct model_need *need,
		  uint32_t segment, size_t at);
void model_put(struct model *model, size_t block, uint32_t owner);
void model_give(struct model *model, uint32_t from, uint32_t to);

/* Where the next extent is and how long, for a request that does not fit. */
enum model_answer model_growth(const struct model *model,
			       const struct model_need *need,
			       struct model_extent *extent);
void model_map(struct model *model, const struct model_extent *extent,
	       uint32_t owner);

/* Whether it may be unmapped; unmaps the extent with this index. */
int model_may_unmap(const struct model *model, size_t extent);
void model_unmap(struct model *model, size_t extent);

/* The units that the owners below n have; the longest piece of SHARED's. */
void model_sums(const struct model *model, size_t *owned, uint32_t n,
		size_t *largest);
size_t model_owns(const struct model *model, uint32_t owner);
size_t model_largest(const struct model *model);

void model_session_begin(struct model *model);
void model_session_end(struct model *model, const uint32_t *owners, size_t n,
		       int undo);

/* The end of the highest block, had it all been made in one endless extent. */
size_t model_peak(const struct model *model);

/* A dead block is live again where it was. */
void model_revive(struct model *model, size_t block);
void model_kill(struct model *model, size_t block);

#endif
