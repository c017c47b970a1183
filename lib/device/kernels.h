/*
 * lib/device/kernels.h - the library's own kernels: their names and arguments
 *
 * A kernel exists twice, as a loop (lib/kernels/host/host.c) and as a CUDA kernel
 * (lib/kernels/cuda/cuda.cu); both call the inline definitions of
 * philox/kernel.h and lib/dist/elements.h, so they cannot differ.
 */
#ifndef LIB_DEVICE_KERNELS_H
#define LIB_DEVICE_KERNELS_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <philox/kernel.h>
#include "lib/device/fill_kernels.h"
#include "lib/device/rows_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Every kernel. KERNEL_NONE is not a kernel; it is 0, so that a table has it in
 * its empty places.
 */
enum kernel {
	KERNEL_NONE,
	KERNEL_HEAD, /* struct head_args, cut after the last state */
#define KERNEL_ENUM(name, out, in, n, traits) KERNEL_##name, /* fill_args */
	FILL_LIST(KERNEL_ENUM)
#undef KERNEL_ENUM
#define KERNEL_ENUM(type) KERNEL_layout_##type, /* struct layout_args */
		LAYOUT_LIST(KERNEL_ENUM)
#undef KERNEL_ENUM
#define KERNEL_ENUM(name, args, threads) KERNEL_##name,
			ROWS_KERNEL_LIST(KERNEL_ENUM)
#undef KERNEL_ENUM
				KERNEL_STORE, /* struct store_args */
	KERNEL_CONDITION,                     /* struct condition_args */
	KERNEL_BODY,                          /* struct body_args */
	KERNEL_AT,                            /* struct at_args */
	KERNEL_COPIES,                        /* struct copies_args */
	KERNEL_COMPARE,                       /* struct compare_args */
	KERNEL_COUNT
};

/* --- arrays --------------------------------------------------------------- */

/*
 * An array of the caller that a kernel reads or writes. `name` is what messages
 * call it: a literal, as "fill: out".
 */
struct kernel_array {
	const char *name;
	const void *at;
	size_t size; /* bytes */
	int written;
};

#define KERNEL_ARRAYS_MAX 16

/* Those of one launch; begins with count 0. */
struct kernel_arrays {
	uint32_t count;
	struct kernel_array items[KERNEL_ARRAYS_MAX];
};

/* These add an array, unless it is NULL or empty. */
static inline void kernel_adds(struct kernel_arrays *arrays, const char *name,
			       const void *at, size_t size, int written)
{
	struct kernel_array *item = &arrays->items[arrays->count];

	if (!at || !size)
		return;
	assert(arrays->count < KERNEL_ARRAYS_MAX);
	item->name = name;
	item->at = at;
	item->size = size;
	item->written = written;
	arrays->count++;
}

static inline void kernel_reads(struct kernel_arrays *arrays, const char *name,
				const void *at, size_t size)
{
	kernel_adds(arrays, name, at, size, 0);
}

static inline void kernel_writes(struct kernel_arrays *arrays, const char *name,
				 const void *at, size_t size)
{
	kernel_adds(arrays, name, at, size, 1);
}

/* --- calls ---------------------------------------------------------------- */

/*
 * struct kernel_call is one launch. `args` and `arrays` are copied by the call
 * that takes it; `work` is how many units the kernel spreads over its threads
 * (rows x units of a row for a fill, cells for the head); results must not
 * depend on it. `arrays` are those of the caller that `args` points to, for
 * devices that know which memory is theirs.
 */
struct kernel_call {
	enum kernel kernel;
	const void *args;
	size_t size; /* of *args */
	uint64_t work;
	const struct kernel_arrays *arrays; /* NULL: none */
};

/* --- one state ------------------------------------------------------------ */

/* Writes a state to device memory. */
struct store_args {
	struct philox_state state;
	struct philox_state *to; /* device address */
};

/* --- many copies ---------------------------------------------------------- */

/*
 * Copies arrays that do not overlap, all at once. A host device looks at both
 * sides of each by itself: they are more than a call lists.
 */
#define COPIES_MAX 128

struct copy_item {
	void *to;         /* device addresses */
	const void *from;
	uint64_t bytes;
};

struct copies_args {
	uint64_t count;
	struct copy_item items[COPIES_MAX];
};

/* --- many comparisons ----------------------------------------------------- */

/*
 * Lowers the word of each two arrays to the place of the first byte in which
 * they differ: the words are all ones before. A host device looks at both sides
 * by itself.
 */
#define COMPARE_MAX 64

struct compare_item {
	const void *one; /* device addresses */
	const void *other;
	uint64_t bytes;
	uint64_t *first;
};

struct compare_args {
	uint64_t count;
	struct compare_item items[COMPARE_MAX];
};

/* --- conditions of graphs ------------------------------------------------- */

/*
 * Sets a condition to the value of a word, or to 0 if another word, if there
 * is one, is at its limit or above. On a host device the condition is the address
 * of its value.
 */
struct condition_args {
	uint64_t condition;   /* device_condition (lib/device/contract.h) */
	const uint32_t *word; /* device address; NULL: 1 */
	const uint32_t *run;  /* device address, or NULL */
	uint64_t limit;       /* of *run */
};

/* condition_value() is that value. */
PHILOX_FN uint32_t condition_value(const struct condition_args *args)
{
	if (args->run && *args->run >= args->limit)
		return 0;
	return args->word ? *args->word : 1;
}

/* --- the head ------------------------------------------------------------- */

/*
 * One cell of a graph: where it is and which seed it holds. The alignment lets a
 * GPU read an entry in two accesses.
 */
struct __attribute__((aligned(16))) head_cell {
	struct philox_state *cell; /* device address, a multiple of 16 */
	uint64_t shift;            /* added to the slot's offset */
	uint32_t slot;             /* which state of the message */
	uint32_t plain;            /* the slot's seed as it is, not folded */
	uint32_t op;
	uint32_t call;
};

/*
 * The report of a head that was launched without a new message: one for each
 * control block, in mapped host memory, written only by the device. The payload is written
 * first, then, after a system-wide fence, the count. While heads that report
 * run at the same time, the count may go back for a moment.
 */
struct head_report {
	uint64_t count;    /* unannounced launches so far, for the host */
	uint64_t sequence; /* of the last message that was taken */
	uint64_t repeats;  /* unannounced launches so far, for heads alone */
	uint64_t reserved[5];
};

/*
 * A graph has two of them: one in mapped memory, for messages of number 0, and
 * one in device memory for others (Note [Head]).
 */
struct __attribute__((aligned(16))) head_control {
	uint64_t sequence;           /* of the last message taken; 0: none */
	struct head_report *report;  /* device address */
	const struct head_cell *map; /* device address */
	uint64_t cells;              /* entries of map */
};

/*
 * The cells that a warp of a head fills at a time, a part of the map. Each part
 * takes the message for itself: after the map in device memory there is a
 * number for each, of the last message that it took; part 0 uses that of the
 * control block.
 */
#define HEAD_PART 64

/* head_parts() returns how many parts cells make; at least the first. */
PHILOX_FN uint64_t head_parts(uint64_t cells)
{
	return cells > HEAD_PART ? (cells - 1) / HEAD_PART + 1 : 1;
}

/* head_map_size() returns the bytes of a map with the numbers after it. */
static inline size_t head_map_size(uint64_t cells)
{
	return (size_t)(cells * sizeof(struct head_cell) +
			head_parts(cells) * sizeof(uint64_t));
}

/*
 * What the kernel of a body finds in device memory: see Note [Bodies] in
 * graph/capture/bodies.h. A map is followed by its cells.
 */
struct __attribute__((aligned(16))) body_map {
	struct head_report *report; /* device address */
	uint64_t number;            /* of the body, for reports */
	uint64_t limit;             /* runs in one launch */
	uint64_t cells;
};

/* A cell of a pass in a body: what it is in each run. */
struct __attribute__((aligned(16))) body_cell {
	struct philox_state *cell;         /* what the body's kernels read */
	const struct philox_state *first;  /* its state in iteration 0 */
	const struct philox_state *turned; /* REVERSED: the control of the
					      forward's body, else NULL */
	uint64_t advance;                  /* from one iteration to the next */
	uint64_t limit;                    /* iterations there are */
	uint64_t tells;                    /* reports if there is none left */
};

/*
 * A body's control: two states. The head sets the first to the address of the
 * body's map and a count of 0 runs, or to poison; each run adds BODY_RUN to its
 * offset, which stays even. The number of the present run is in the first word
 * of the second.
 */
#define BODY_RUN 4

struct body_args {
	struct philox_state *control; /* device address */
};

/* Fills cells from others, for the iteration that a word says. */
struct at_args {
	struct philox_state *cells;       /* device addresses */
	const struct philox_state *first; /* the same in iteration 0 */
	uint64_t n;                       /* cells of each */
	uint64_t advance, limit;          /* as in struct body_cell */
	const struct philox_state *known; /* its seed: the limit; or NULL */
	const uint32_t *word;
	struct head_report *report;
	uint64_t number; /* of the pass, for reports */
};

/*
 * The message: the head's parameters, by value. Kernels take up to 32,764 bytes
 * of parameters (CUDA C++ Programming Guide, from CUDA 12.1 on sm_70), and the
 * largest capacity below needs fewer. A CUDA kernel has parameters of a fixed
 * size, so there is one for each capacity; a message is padded up to the next.
 * Drivers before 530 take 4,096 bytes, and load no module in which a kernel has
 * more: such heads, the large ones, are in a module of their own.
 */
struct head_args {
	struct head_control *control;
	uint64_t sequence; /* above control->sequence, or the launch repeats */
	struct philox_state states[]; /* as many as the graph has slots */
};

#define HEAD_SMALL_LIST(X)    X(1) X(4) X(16) X(64)
#define HEAD_LARGE_LIST(X)    X(256) X(1024) X(2040)
#define HEAD_CAPACITY_LIST(X) HEAD_SMALL_LIST(X) HEAD_LARGE_LIST(X)
#define HEAD_CAPACITY_MAX     2040
#define HEAD_SMALL_SIZE       4096 /* bytes of a small head's message, at most */

/* head_capacity() returns the capacity that holds `slots` states, 0: none. */
static inline uint32_t head_capacity(uint64_t slots)
{
#define HEAD_CAPACITY_FITS(capacity) \
	if (slots <= (capacity))     \
		return capacity;
	HEAD_CAPACITY_LIST(HEAD_CAPACITY_FITS)
#undef HEAD_CAPACITY_FITS
	return 0;
}

/* head_args_size() returns the size of a message of a given capacity. */
static inline size_t head_args_size(uint32_t capacity)
{
	return sizeof(struct head_args) +
	       capacity * sizeof(struct philox_state);
}

#ifdef __cplusplus
}
#endif
#endif
