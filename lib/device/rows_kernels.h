/*
 * lib/device/rows_kernels.h - kernels on tables of rows, and arguments
 *
 * Part of lib/device/kernels.h. Their definitions are in lib/rows/elements.h
 * and lib/rows/sample_elements.h; the loops are in lib/rows/host.c, the CUDA
 * kernels in lib/rows/cuda.cu.
 */
#ifndef LIB_DEVICE_ROWS_KERNELS_H
#define LIB_DEVICE_ROWS_KERNELS_H

#include <stdint.h>
#include <philox/state.h>

/*
 * Every draw a table has: dist_dtype, dtype, elements a block. Its vector loop
 * is in lib/fill/simd/keyed.h.
 */
#define ROWS_DRAW_LIST(X)      \
	X(bits_u32, u32, 4)    \
	X(bits_u64, u64, 2)    \
	X(uniform_f32, f32, 4) \
	X(uniform_f64, f64, 2) \
	X(normal_f32, f32, 4)

/* Every dtype of logits, and its type in memory. */
#define SAMPLE_LIST(X)    \
	X(f32, float)     \
	X(bf16, uint16_t) \
	X(f16, uint16_t)

/* All of these kernels: name, arguments, threads of a CUDA block. */
#define ROWS_KERNEL_LIST(X)                         \
	X(rows_seed, rows_seed_args, 256)           \
	X(rows_set, rows_set_args, 64)              \
	X(rows_advance, rows_draw_args, 256)        \
	X(rows_bits_u32, rows_draw_args, 256)       \
	X(rows_bits_u64, rows_draw_args, 256)       \
	X(rows_uniform_f32, rows_draw_args, 256)    \
	X(rows_uniform_f64, rows_draw_args, 256)    \
	X(rows_normal_f32, rows_draw_args, 256)     \
	X(sample_f32, sample_args, SAMPLE_THREADS)  \
	X(sample_bf16, sample_args, SAMPLE_THREADS) \
	X(sample_f16, sample_args, SAMPLE_THREADS)

/* Threads of a block that samples one entry, or a part of it. */
#define SAMPLE_THREADS 512

/*
 * A launch that samples few entries divides each between blocks, up to this
 * many in all: about two for each multiprocessor of a large GPU. More entries
 * than SAMPLE_SHARED_MAX have one block each.
 */
#define SAMPLE_BLOCKS     256
#define SAMPLE_SHARED_MAX (SAMPLE_BLOCKS / 2)

/* --- a table -------------------------------------------------------------- */

/*
 * Note [Rows that advance once]
 * ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
 * One kernel draws from rows and advances them. Many threads draw for one row,
 * and a list may name it several times, but all must see the state from before
 * the launch, and it must advance once. There is no barrier between the blocks
 * of a kernel, so the old state is kept where late readers find it:
 *
 *  - The table counts its launches. Each thread reads the count when it begins;
 *    each block reports when it is done, and the last one to do so counts the
 *    launch: the report releases the block's writes and acquires those of the
 *    blocks that reported before. So a launch has a number of its own, although
 *    a replayed graph passes the same arguments each time.
 *  - A thread that advances a row writes, in this order: the old offset into
 *    the row's turn; the launch's number into the turn; the new offset into the
 *    state. The last two are releases (lib/rows/order.h). Several threads may
 *    do so at once: all write the same values.
 *  - A thread that reads a row reads, in this order: the offset of the state;
 *    the number in the turn; and, if that is this launch's, the offset in the
 *    turn, which it uses instead. The first is an acquire, and so is the second
 *    where the number is this launch's. So a reader that saw the new offset also
 *    sees the number, and one that sees the number also sees the old offset.
 *  - Where entries advance by counts of their own, a row that is in the list
 *    several times goes to the furthest of the offsets, which all are counted
 *    from the old one: the new offset is written by an atomic maximum, a
 *    release like the store, and since the old offset is the least of all, the
 *    result does not depend on who comes first.
 *  - Entries that draw at a step of their own read the row as below and add to
 *    what they found. Such a launch advances nothing.
 *
 * An acquire makes a multiprocessor forget all that it has cached, so none is
 * done without need. A thread reads a row once for all units of an entry that it
 * draws, never in the loop over them. And it only reads and writes the state,
 * nothing else, where no other block can have advanced the row: in launches that
 * advance nothing, and in those without indices, whose entries are rows of their
 * own, unless several warps share an entry. Lanes of one warp that share an
 * entry have all read its row before one of them advances it.
 *
 * A state that other code wrote between two launches needs nothing special: its
 * turn has the number of an earlier launch.
 *
 * If several blocks share an entry that is sampled, none can write its token or
 * advance its row before all are done. Each adds its greatest key to `best`, by
 * an atomic maximum, in a place that belongs to the entry and not to the row,
 * which may be in the list twice; the last block to finish takes the keys from
 * there, does the rest for all entries, and leaves zeros, the least key, for
 * the next launch. So a launch begins with zeros: the table was made with them,
 * a launch that was refused has not written, one that crashed has made the
 * device unusable, and no two launches on a table overlap (philox/rows.h).
 * Whether an entry takes part is read by each of its blocks and again at the
 * end; the answer is the same, since nothing has advanced yet.
 */
struct rows_turn {
	uint64_t offset; /* before launch `launch` advanced the row */
	uint64_t launch;
};

/*
 * The reports of launches, written only by the device in mapped host memory:
 * totals[count % 2] are those of the first `count` launches. The next launch
 * writes the other totals and then counts itself. So a reader that gets a
 * count, its totals, and the same count again has read values that belong
 * together.
 */
struct rows_totals {
	uint64_t outside;
	uint64_t used_up;
};

struct rows_notice {
	uint64_t count; /* of launches with something to report */
	struct rows_totals totals[2];
};

/* In device memory, in front of the states. */
struct rows_control {
	uint64_t launch;  /* number of the launch in progress, from 1 */
	uint64_t outside; /* entries of this launch, see the report */
	uint64_t used_up;
	struct rows_notice *notice; /* device address */
	uint32_t done;              /* blocks of this launch */
	uint32_t reserved[7];
	uint64_t best[SAMPLE_SHARED_MAX]; /* of each entry that is shared */
};

/* Where a table is: device addresses. */
struct rows_table {
	struct philox_state *states;
	struct rows_turn *turns;
	struct rows_control *control;
	uint64_t count;
};

/* --- arguments ------------------------------------------------------------ */

/* Derives all rows. */
struct rows_seed_args {
	struct philox_state *states;
	uint64_t count;
	uint64_t seed; /* of the table */
};

/* Under the 4096 bytes of parameters that every driver takes. */
#define ROWS_SET_MAX 192

/* Sets `n` rows: struct of arrays, so that there are no gaps. */
struct rows_set_args {
	struct philox_state *states; /* of the table */
	uint64_t n;
	uint64_t seed[ROWS_SET_MAX];
	uint64_t offset[ROWS_SET_MAX];
	uint32_t row[ROWS_SET_MAX];
};

/* Which rows take part: struct philox_row_list with its n resolved. */
struct rows_list {
	const uint32_t *indices;
	const uint8_t *mask;
	const uint32_t *steps; /* only where nothing advances */
	uint64_t n;
};

/*
 * Draws, and advances by `words`, which may be 0. A launch that only advances
 * does so by words x counts[entry], if there are counts.
 */
struct rows_draw_args {
	struct rows_table table;
	struct rows_list list;
	uint64_t first;
	uint64_t count;
	uint64_t pitch;
	const uint32_t *counts;
	void *out;
	uint64_t words;
};

/*
 * Samples; with table.control NULL from table.states or, where that is NULL
 * too, from seeds and positions, advancing nothing.
 */
struct sample_args {
	struct rows_table table;
	const uint64_t *seeds;
	const uint32_t *positions;
	struct rows_list list;
	const void *logits;
	uint64_t pitch;
	uint32_t vocab;
	uint32_t first;
	const float *temperatures; /* or NULL */
	float temperature;
	uint32_t words; /* to advance by: 4 or 0 */
	uint32_t parts; /* CUDA blocks for an entry, at least 1 */
	int32_t *tokens;
	uint64_t *keys;
};

#endif
