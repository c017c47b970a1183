/*
 * lib/fill/simd/tables.h - the tables of vector loops
 *
 * The loops of lib/fill/simd/loops.h exist once for each instruction set, in
 * one table each. All give the same bits as the plain loop. lib/base/base.h
 * decides which set is used.
 */
#ifndef LIB_FILL_SIMD_TABLES_H
#define LIB_FILL_SIMD_TABLES_H

#include "lib/device/kernels.h"

/*
 * A loop that makes `chunks` chunks of whole blocks, from number `block` on; in
 * and out are those of the first chunk's first element. All blocks have the
 * same number divided by 2^32, though the chunk after them may not.
 */
typedef void simd_fill(const struct fill_args *args, struct philox_state state,
		       uint64_t block, uint64_t chunks, const void *in,
		       void *out);

/*
 * Blocks with keys of their own, as philox_block() takes them (keyed.h). A loop
 * computes whole vectors: what is past the last block may be anything.
 */
#define SIMD_KEYED_MAX 64

struct simd_keyed {
	_Alignas(64) uint64_t seed[SIMD_KEYED_MAX];
	uint64_t low[SIMD_KEYED_MAX];
	uint64_t high[SIMD_KEYED_MAX];
};

/*
 * A loop that makes the elements of the first `n` blocks, of a plain fill. Those
 * of block i are at 16 * simd_keyed_place(lanes, i) of `out`, which has room
 * for SIMD_KEYED_MAX blocks of 16 bytes.
 */
typedef void simd_keyed_fill(const struct simd_keyed *blocks, unsigned n,
			     void *out);

/*
 * A loop that makes the elements of block `at` of each of `n` states, in order,
 * or element `at` alone, and takes the states `words` further. It stops before
 * vectors with an offset above `limit`, or poison, and where less is left than
 * they take, and returns how many states it has done.
 */
typedef unsigned simd_rows_fill(struct philox_state *states, uint64_t at,
				uint64_t words, uint64_t limit, unsigned n,
				void *out);

/* A loop that makes the words 1 and 0 of `n` blocks, in order: philox_fold(). */
typedef void simd_fold(const struct simd_keyed *blocks, unsigned n,
		       uint64_t out[SIMD_KEYED_MAX]);

/* What filters keep of a row: logits above `cut`, and at it, up to a token. */
struct simd_kept {
	float cut;
	float above; /* the next lower number */
	uint32_t last;
};

/* The columns of a row of logits, and what their scores are made of. */
struct simd_columns {
	struct philox_state state; /* of the noise */
	float inverse;             /* 1 / temperature */
	uint32_t first;            /* vocabulary index of column 0 */
	uint32_t count;            /* at least 1; first + count < 2^31 */
	const uint32_t *allowed;   /* a bit for each token; NULL: all */
	const struct simd_kept *kept; /* NULL: all */
	const void *logits;
};

/* simd_columns_after() returns those after the first n; `size` is a logit's. */
static inline struct simd_columns simd_columns_after(
	struct simd_columns columns, uint32_t n, size_t size)
{
	columns.first += n;
	columns.count -= n;
	columns.logits = (const char *)columns.logits + n * size;
	return columns;
}

/* The highest score: a NaN if there is one, and -infinity if all are. */
struct simd_best {
	float score;
	uint32_t column; /* the lowest that has it */
};

/* A loop that finds the best column; columns.h. */
typedef struct simd_best simd_sample(const struct simd_columns *columns);

/*
 * A loop that adds the masses of columns (lib/sample/filter.h) whose logit is above
 * a number to sums: in units of 2^28, and what is left. The highest logit of the
 * row is `most`, which is finite.
 */
typedef void simd_total(const struct simd_columns *columns, float most,
			float above, uint64_t sums[2]);

/*
 * A loop that lists the keys of the columns whose logit is above a number, and
 * not above `most`, ascending by index. Returns how many there are; above
 * `room`, only that there are more.
 */
typedef uint32_t simd_list(const struct simd_columns *columns, float above,
			   float most, uint64_t *keys, uint32_t room);

/*
 * A loop that adds columns whose logit is above a number to buckets: those of
 * filter_step(), whose unit of t has `steps` and whose last is `last`. All three
 * are in kept.h.
 */
struct simd_buckets {
	float steps;
	uint32_t last;
	uint64_t *upper, *lower; /* of their masses */
	uint32_t *count;
};

typedef void simd_steps(const struct simd_columns *columns, float most,
			float above, const struct simd_buckets *buckets);

/* The loops of one instruction set: one for every fill but
 * permutations, truncated normal numbers and categories. */
struct simd_loops {
	unsigned chunk; /* blocks in a chunk, at most SIMD_CHUNK_MAX */
	unsigned lanes; /* blocks in a vector */
	simd_fill *fill[KERNEL_COUNT];
	simd_keyed_fill *keyed[KERNEL_COUNT]; /* of ROWS_DRAW_LIST */
	simd_rows_fill *rows[KERNEL_COUNT];
	simd_rows_fill *one[KERNEL_COUNT]; /* one element: NULL for most */
	simd_fold *fold;
	simd_sample *greedy[KERNEL_COUNT]; /* of SAMPLE_LIST; logits alone */
	simd_sample *sample[KERNEL_COUNT];
	simd_total *total[KERNEL_COUNT];
	simd_list *list[KERNEL_COUNT];
	simd_steps *steps[KERNEL_COUNT];
};

#define SIMD_CHUNK_MAX 64

extern const struct simd_loops simd_avx2;   /* fill_avx2.c */
extern const struct simd_loops simd_avx512; /* fill_avx512.c */

/*
 * simd_keyed_place() returns where the zips of a vector of `lanes` blocks put
 * block i: vl_order().
 */
static inline unsigned simd_keyed_place(unsigned lanes, unsigned i)
{
	const unsigned lane = i & (lanes - 1);

	return i - lane + lane / 2 + (lane & 1) * lanes / 2;
}

/*
 * simd_loops_used() returns the loops of the instruction set that is in use,
 * NULL for scalar.
 */
const struct simd_loops *simd_loops_used(void);

#endif
