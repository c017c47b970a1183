/*
 * lib/device/fill_kernels.h - the distributions, their kernels, and arguments
 *
 * Part of lib/device/kernels.h. The table below is the only list of
 * distributions: kernels, loops, names, checks and tools are made from it.
 * README.md says how one is added.
 */
#ifndef LIB_DEVICE_FILL_KERNELS_H
#define LIB_DEVICE_FILL_KERNELS_H

#include <stdint.h>
#include <philox/kernel.h>

/*
 * Every distribution: D(dist, name, parameters, kernels).
 *
 *   dist        PHILOX_<dist> of philox/fill.h
 *   name        in messages, and for tools
 *   parameters  which it has: <parameters>_parameters of lib/dist/dists.c
 *               checks them and puts them into struct fill_args
 *   kernels     X() of each, as below
 */
#define FILL_DISTS(D, X)                                                  \
	D(BITS, "bits", no, KERNELS_WORDS(X, bits, 0))                    \
	D(INTEGERS, "integers", integers,                                 \
	  KERNELS_WORDS(X, integers, FILL_SIGNED))                        \
	D(UNIFORM, "uniform", range, KERNELS_UNIFORM(X, uniform))         \
	D(NORMAL, "normal", mean_std, KERNELS_REAL(X, normal, 2, 0))      \
	D(LOG_NORMAL, "log-normal", mean_std,                             \
	  KERNELS_REAL(X, log_normal, 2, 0))                              \
	D(EXPONENTIAL, "exponential", rate,                               \
	  KERNELS_REAL(X, exponential, 2, 0))                             \
	D(GUMBEL, "gumbel", no, KERNELS_REAL(X, gumbel, 2, FILL_LONG))    \
	D(BERNOULLI, "bernoulli", p, KERNELS_REAL(X, bernoulli, 4, 0))    \
	D(DROPOUT, "dropout", p, KERNELS_REAL(X, dropout, 4, FILL_READS)) \
	D(STOCHASTIC_ROUND, "rounding", no, KERNELS_NARROW(X, round))

/*
 * The kernels of a distribution, one for each dtype: X(name, type of the
 * output, type of the input or of the output again if there is none, elements
 * that one block makes, traits).
 */
#define KERNELS_WORDS(X, name, traits)     \
	X(name##_u32, u32, u32, 4, traits) \
	X(name##_u64, u64, u64, 2, traits)

#define KERNELS_REAL(X, name, n_f64, traits)   \
	X(name##_f32, f32, f32, 4, traits)     \
	X(name##_f64, f64, f64, n_f64, traits) \
	X(name##_bf16, bf16, bf16, 4, traits)  \
	X(name##_f16, f16, f16, 4, traits)

#define KERNELS_UNIFORM(X, name)                  \
	X(name##_f32, f32, f32, 4, FILL_PLAIN)    \
	X(name##_f64, f64, f64, 2, 0)             \
	X(name##_bf16, bf16, bf16, 4, FILL_PLAIN) \
	X(name##_f16, f16, f16, 4, FILL_PLAIN)

#define KERNELS_NARROW(X, name)                  \
	X(name##_bf16, bf16, f32, 4, FILL_READS) \
	X(name##_f16, f16, f32, 4, FILL_READS)

/* Their traits, or 0. */
enum {
	FILL_READS = 1,  /* there is an input */
	FILL_PLAIN = 2,  /* it looks at `plain` of its arguments */
	FILL_SIGNED = 4, /* integers, of i32 or i64, too; draws are rejected */
	FILL_LONG = 8,   /* in f64 it takes a GPU many registers */
};

/* Every kernel of a fill. */
#define FILL_KERNELS_OF(dist, name, parameters, kernels) kernels
#define FILL_LIST(X)                                     FILL_DISTS(FILL_KERNELS_OF, X)

/* Fills in other libraries' layouts, by the size and kind of an element. */
#define LAYOUT_LIST(X) X(u32) X(u64) X(f32) X(f64) X(bf16) X(f16)

/* --- arguments ------------------------------------------------------------ */

/*
 * Parameters of real numbers. A value is scale * x + shift, and a uniform
 * number is then kept within [bottom, top]. Exponential numbers and dropout
 * have only a scale.
 */
struct fill_f32_args {
	float scale, shift, bottom, top;
};

struct fill_f64_args {
	double scale, shift, bottom, top;
};

struct fill_args {
	struct philox_rng rng;
	uint64_t first; /* element of out[0] */
	uint64_t count; /* elements of a row; no element is past 2^64 - 1 */
	uint64_t rows;  /* at least 1 */
	uint64_t row_stride;
	uint64_t threshold; /* Bernoulli, dropout: T, 0 .. 2^32 */
	uint64_t range;     /* integers: n, or 0 for 2^64 */
	uint64_t reject;    /* integers: 2^32 or 2^64 mod n */
	uint64_t from;      /* integers: the least */
	struct fill_f32_args f32;
	struct fill_f64_args f64;
	uint32_t plain;   /* scale 1, shift 0, [0, 1): a shorter way is exact */
	uint32_t threads; /* host: threads to use at most; at least 1 */
	const void *in;
	void *out;
};

/* How other libraries map elements to counters: lib/fill/layout/places.h. */
enum layout_map {
	LAYOUT_BLOCKS,
	LAYOUT_GRID,
	LAYOUT_VECTORS,
	LAYOUT_HOST,
	LAYOUT_HOST_F64,
	LAYOUT_COUNTER,
	LAYOUT_SWAPPED
};

/*
 * Of the fill's arguments, f32 and f64 have scale and shift as always; top is
 * `high` (uniform), p (Bernoulli) or the probability to keep (dropout); bottom
 * is p (TRITON dropout).
 */
struct layout_args {
	struct fill_args fill;
	uint64_t threads;  /* T; at least 1 */
	uint32_t kind;     /* enum philox_layout_kind */
	uint32_t map;      /* enum layout_map */
	uint32_t dist;     /* enum philox_dist */
	uint32_t dtype;    /* enum philox_dtype */
	uint32_t unroll;   /* U: elements of a block; at least 1 */
	uint32_t vector;   /* V; at least 1 */
	uint32_t no_one;   /* u = 1 becomes 0 */
	uint32_t no_top;   /* a value equal to `top` becomes `shift` */
	uint32_t one_word; /* f64 uniform numbers use one word */
	uint32_t nothing;  /* dropout keeps nothing: zeros */
};

#endif
