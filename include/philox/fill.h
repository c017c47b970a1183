/*
 * philox/fill.h - filling arrays with numbers
 *
 * Every value depends on (seed, offset, element index) only: not on the device,
 * the launch shape, the dtype's alignment or how a tensor is cut into spans.
 * Device and host agree bit for bit. With w the element's 32-bit word, w64 its
 * 64-bit draw (philox/kernel.h has the layout and the source of the formulas):
 *
 *   bits       u32  w
 *              u64  w64
 *   uniform    f32  (w >> 8) * 2^-24                 in [0, 1)
 *              bf16 (w >> 24) * 2^-8                 in [0, 1)
 *   normal     f32  Box-Muller on the words (0, 1) and (2, 3) of a block, sine
 *                   first, within 7e-7 of exact (1.2e-6 where the
 *                   radius is 4 or more); |x| <= 6.77
 *              bf16 the f32 value, rounded to nearest even
 *   bernoulli  f32, bf16: 1 if w < T, else 0
 *   dropout    f32, bf16: 0 if w < T (a NaN too), else the input times
 *                   (float)(1 / (1 - p)) in f32, rounded to the dtype; a kept
 *                   NaN becomes the quiet NaN 0x7fc00000 (bf16 0x7fc0)
 *
 * T is round(p * 2^32), a 33-bit number, so p = 0 and p = 1 are exact; dropout
 * with p = 1 drops everything. bf16 arrays are uint16_t in C.
 *
 * Thread rule: every function here may be called from any thread, at the same
 * time as any other, unless its comment says otherwise.
 */
#ifndef PHILOX_FILL_H
#define PHILOX_FILL_H

#include <stddef.h>
#include <stdint.h>
#include <philox/device.h>
#include <philox/kernel.h>
#include <philox/pass.h>

#ifdef __cplusplus
extern "C" {
#endif

enum philox_dist {
	PHILOX_BITS = 0,
	PHILOX_UNIFORM = 1,
	PHILOX_NORMAL = 2,
	PHILOX_BERNOULLI = 3,
	PHILOX_DROPOUT = 4
};

enum philox_dtype {
	PHILOX_U32 = 0,
	PHILOX_U64 = 1,
	PHILOX_F32 = 2,
	PHILOX_BF16 = 3
};

/*
 * struct philox_span says which elements of an operator's output an array
 * holds: its element i is element first + i. A whole tensor is {0, n}; a shard
 * or a chunk draws exactly the numbers the whole would have had there.
 */
struct philox_span {
	uint64_t first;
	uint64_t count; /* 0 is allowed: nothing is done */
};

/* struct philox_fill describes one fill. Zero it, then set `size`. */
struct philox_fill {
	size_t size; /* sizeof(this struct) */
	enum philox_dist dist;
	enum philox_dtype dtype;
	struct philox_span span;
	double p;       /* bernoulli, dropout: in [0, 1] */
	const void *in; /* dropout: span.count elements; may equal out */
	void *out;      /* span.count elements of device memory, aligned to
			   the dtype */
};

/*
 * philox_rng_fill() puts a fill from an explicit state on a stream: nothing is
 * folded and nothing advances. The state is given by value (its offset a
 * multiple of 4) or as the device address of one (aligned to 8), which is read
 * when the work runs; a poisoned one gives NaN, or all-ones for bits. One
 * kernel node during capture, where it is legal; arrays must not overlap unless
 * in == out. Errors: PHILOX_ERROR_INVALID (names the field: p outside [0, 1] or
 * NaN, a null or misaligned pointer, an unknown or unsupported dist or dtype),
 * PHILOX_ERROR_OVERFLOW (first + count, or the size in bytes, past 2^64), those
 * of the device.
 */
PHILOX_API enum philox_status philox_rng_fill(struct philox_device *device,
					      philox_stream stream,
					      struct philox_rng rng,
					      const struct philox_fill *fill);

/*
 * philox_pass_fill() puts a fill of call `call` of operator `op` on the stream
 * of an open pass. In a backward pass it gives what the forward gave, as often
 * as it is asked. Errors: as philox_rng_fill(), naming region and operator;
 * PHILOX_ERROR_INVALID for an op or call out of range, PHILOX_ERROR_STATE for a
 * pass that is not open, PHILOX_ERROR_STALE for one of a destroyed region,
 * PHILOX_ERROR_MISMATCH if its stream has begun or ended a capture meanwhile.
 * Legal during capture.
 */
PHILOX_API enum philox_status philox_pass_fill(const struct philox_pass *pass,
					       uint32_t op, uint32_t call,
					       const struct philox_fill *fill);

/*
 * The same by name, for call 0 of an operator: fill `out` with `span` of the
 * operator's numbers. Dropout reads `in`, which may equal `out`; applied to a
 * gradient in the backward pass it is its own derivative. Errors as
 * philox_pass_fill(). Legal during capture.
 */
PHILOX_API enum philox_status philox_bits(const struct philox_pass *pass,
					  uint32_t op, enum philox_dtype dtype,
					  struct philox_span span, void *out);
PHILOX_API enum philox_status philox_uniform(const struct philox_pass *pass,
					     uint32_t op,
					     enum philox_dtype dtype,
					     struct philox_span span,
					     void *out);
PHILOX_API enum philox_status philox_normal(const struct philox_pass *pass,
					    uint32_t op,
					    enum philox_dtype dtype,
					    struct philox_span span, void *out);
PHILOX_API enum philox_status philox_bernoulli(const struct philox_pass *pass,
					       uint32_t op,
					       enum philox_dtype dtype,
					       struct philox_span span,
					       double p, void *out);
PHILOX_API enum philox_status philox_dropout(const struct philox_pass *pass,
					     uint32_t op,
					     enum philox_dtype dtype,
					     struct philox_span span, double p,
					     const void *in, void *out);

#ifdef __cplusplus
}
#endif
#endif
