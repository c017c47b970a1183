/*
 * lib/kernels.h - the library's own kernels: their names and arguments
 *
 * A kernel exists twice, as a loop (lib/kernels_host.c) and as a CUDA kernel
 * (lib/kernels_cuda.cu); both call the inline definitions of
 * philox/kernel.h and lib/fill_elements.h, so they cannot differ.
 */
#ifndef KERNELS_H
#define KERNELS_H

#include <stddef.h>
#include <stdint.h>
#include <philox/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Every fill the library has: dist_dtype. */
#define FILL_LIST(X)      \
	X(bits_u32)       \
	X(bits_u64)       \
	X(uniform_f32)    \
	X(uniform_bf16)   \
	X(normal_f32)     \
	X(normal_bf16)    \
	X(bernoulli_f32)  \
	X(bernoulli_bf16) \
	X(dropout_f32)    \
	X(dropout_bf16)

enum kernel {
	KERNEL_HEAD, /* struct head_args, cut after the last state */
#define KERNEL_ENUM(name) KERNEL_##name,
	FILL_LIST(KERNEL_ENUM)
#undef KERNEL_ENUM
		KERNEL_STORE, /* struct store_args */
	KERNEL_COUNT
};

/*
 * struct kernel_call is one launch. `args` is copied by the call that takes
 * it; `work` is how many units the kernel spreads over its threads (blocks of
 * four words for a fill, cells for the head) and must not change results.
 */
struct kernel_call {
	enum kernel kernel;
	const void *args;
	size_t size; /* of *args */
	uint64_t work;
};

/* --- fills ---------------------------------------------------------------- */

struct fill_args {
	struct philox_rng rng;
	uint64_t first;     /* element index of out[0] */
	uint64_t count;     /* elements; first + count does not overflow */
	uint64_t threshold; /* bernoulli, dropout: T, 0 .. 2^32 */
	float scale;        /* dropout: of what is kept */
	uint32_t reserved;
	const void *in;
	void *out;
};

/* --- one state ------------------------------------------------------------ */

/* Writes a state to device memory. */
struct store_args {
	struct philox_state state;
	struct philox_state *to; /* device address */
};

/* --- the head ------------------------------------------------------------- */

/* One cell of a graph: where it is and which seed it holds. Device memory. */
struct head_cell {
	struct philox_state *cell; /* device address */
	uint64_t shift;            /* added to the slot's offset */
	uint32_t slot;             /* which state of the message */
	uint32_t plain;            /* the slot's seed as it is, not folded */
	uint32_t op;
	uint32_t call;
};

/*
 * What a head reports when it was launched without a new message: one per
 * graph, in mapped host memory, written by the device alone. The payload is
 * written first, then, after a system-wide fence, the count.
 */
struct head_report {
	uint64_t count;    /* unannounced launches so far */
	uint64_t sequence; /* of the last message that was taken */
	uint64_t reserved[6];
};

/* A graph's block in device memory, one per capture. */
struct head_control {
	uint64_t sequence;           /* of the last message taken; 0: none */
	struct head_report *report;  /* device address */
	const struct head_cell *map; /* device address; NULL before sealing */
	uint64_t cells;              /* entries of map */
};

/*
 * The message: the head's parameters, by value. Kernels take up to 32,764
 * bytes of parameters (CUDA C++ Programming Guide, from CUDA 12.1 on sm_70),
 * which the largest capacity below stays under. A CUDA kernel has parameters of
 * a fixed size, so there is one for each capacity; a message is padded up to
 * the next.
 */
struct head_args {
	struct head_control *control;
	uint64_t sequence; /* above control->sequence, or the launch repeats */
	struct philox_state states[]; /* as many as the graph has slots */
};

#define HEAD_CAPACITY_LIST(X) X(1) X(4) X(16) X(64) X(256) X(1024) X(2040)
#define HEAD_CAPACITY_MAX     2040

/* head_capacity() returns the capacity that holds `slots` states, 0 for none. */
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
