/*
 * philox/fill.h - filling arrays with numbers
 *
 * Every value depends only on (seed, offset, element index): not on the device,
 * the launch shape, the dtype's alignment or how a tensor is cut into spans.
 * Device and host agree bit for bit. So two fills of a forward by one call of
 * one operator have the same numbers where their spans overlap, whatever they
 * fill: random sites that are to differ are two operators (philox/pass.h says
 * who reports it).
 *
 * With w the element's 32-bit word, w64 its
 * 64-bit draw, v = (w + 1/2) 2^-32 and z a standard normal number
 * (philox/state.h has the layout, philox/values.h the formulas' code):
 *
 *   dist         value                                    range (rounded last)
 *   bits         w (u32) or w64 (u64)                     all
 *   uniform      low + u (high - low)                     [low, high)
 *   normal       mean + std z                             mean +- 6.77 std
 *   log-normal   exp(mean + std z)                        above 0
 *   exponential  -ln(1 - v) (1 / rate)                    (0, 22.9 / rate]
 *   Gumbel       -ln(-ln(1 - v))                          [-3.14, 22.9]
 *   Bernoulli    1 if w < T, else 0                       {0, 1}
 *   dropout      0 if w < T (a NaN too), else in times
 *                (float)(1 / (1 - p)); a NaN is quiet
 *   integers     from + floor(w n 2^-32), n = to - from
 *                + 1; without bias, see below             [from, to]
 *   rounding     of an f32 to one of its two neighbours
 *                in the dtype, see below                  the neighbours
 *
 * u has as many bits as the dtype has digits: (w >> 8) 2^-24 for f32, (w >> 24)
 * 2^-8 for bf16, (w >> 21) 2^-11 for f16, (w64 >> 11) 2^-53 for f64. z comes
 * from Box-Muller on the words (0, 1) and (2, 3) of a block, the sine first, or
 * on its two 64-bit draws for f64. T is round(p 2^32), a 33-bit number, so p =
 * 0 and p = 1 are exact. In f64, exponential and Gumbel take v = ((w64 >> 11) +
 * 1/2) 2^-53: their ranges end at 37.5, and Gumbel's begins at -3.63; normals
 * end at 8.7; Bernoulli and dropout use w, so a mask is the same in every
 * dtype, and dropout's scale is 1 / (1 - p) in f64.
 *
 * Parameters are rounded to f32, or to f64 for f64; a product and the addition
 * that follows it are one fused multiply-add, rounded once. f16 and bf16 are
 * computed in f32 and rounded to nearest even. In every dtype a value beyond
 * the largest number becomes infinite and one near 0 becomes 0: in f32 a third
 * of the numbers are infinite for a rate of 3e-39, a quarter for a std of 3e38,
 * and all for a log-normal mean of 100 and std of 1. Uniform numbers are kept
 * within [low, high) however they are rounded.
 *
 * A uniform number in [0, 1) is 0 once in 2^24 draws of f32, but once in 256 of
 * bf16 and 2048 of f16: take the logarithm of 1 - u and not of u, or draw
 * exponential numbers.
 *
 * Words consumed per element: one (bits u32, Bernoulli, dropout, rounding,
 * integers u32 and i32, everything in f32, f16 and bf16) or two (bits u64,
 * integers u64 and i64, uniform, normal, log-normal, exponential and Gumbel in
 * f64). Everything that one call of an operator draws is at the same offset: it
 * takes 4 words of it.
 *
 * Integers are drawn by the method of Lemire ("Fast random integer generation
 * in an interval", ACM TOMACS 29(1), 2019), 64-bit ones with w64 and 2^64: a
 * word is rejected when w n mod 2^32 < 2^32 mod n. Try t = 0, 1, 2 ... for a
 * rejected element is the element's word at the state philox_retry_state(state,
 * t), so the advance stays the same.
 *
 * Rounding is stochastic: x lies between the magnitudes a <= |x| < b of two
 * neighbours in the dtype (f16's denormals are among them, and infinity follows
 * the largest); the result is b if w < floor((|x| - a) / (b - a) 2^32), else a,
 * with the sign of x. So its expectation is x, up to 2^-32. Infinities stay, a
 * NaN becomes quiet.
 *
 * bf16 and f16 arrays are uint16_t in C; i32 and i64 integers are two's
 * complement.
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
#include <philox/sized.h>

#ifdef __cplusplus
extern "C" {
#endif

enum philox_dist {
	PHILOX_BITS = 0,
	PHILOX_UNIFORM = 1,
	PHILOX_NORMAL = 2,
	PHILOX_BERNOULLI = 3,
	PHILOX_DROPOUT = 4,
	PHILOX_LOG_NORMAL = 5,
	PHILOX_EXPONENTIAL = 6,
	PHILOX_GUMBEL = 7,
	PHILOX_INTEGERS = 8,
	PHILOX_STOCHASTIC_ROUND = 9
};

/* Which dists have which dtypes:
 *   bits                  u32 u64
 *   integers              u32 u64 i32 i64
 *   rounding              bf16 f16 (of an f32 input)
 *   all others            f32 f64 bf16 f16 */
enum philox_dtype {
	PHILOX_U32 = 0,
	PHILOX_U64 = 1,
	PHILOX_F32 = 2,
	PHILOX_BF16 = 3,
	PHILOX_F16 = 4,
	PHILOX_F64 = 5,
	PHILOX_I32 = 6,
	PHILOX_I64 = 7
};

/* A dtype, where 0 says that there is none (philox/runner.h). */
#define PHILOX_ELEMENTS(dtype) ((uint32_t)(dtype) + 1)

/*
 * struct philox_span says which elements of an operator's output an array
 * holds. A plain span has rows = 0 or 1: its element i is element first + i. A
 * shard of a matrix has `rows` rows of `count` elements: its element (r, c) is
 * element first + r * row_stride + c. So any part of a tensor draws exactly the
 * numbers that the whole would have there. row_stride is the tensor's, not the
 * array's: the array is contiguous, and its row r begins at r * count. To fill
 * a part of a larger array, fill it row by row, each with a plain span.
 */
struct philox_span {
	uint64_t first;
	uint64_t count;      /* of a row; 0 is allowed: nothing is done */
	uint64_t rows;       /* 0 means 1 */
	uint64_t row_stride; /* elements from row to row, at least count */
};

/* philox_elements() makes the span of `count` elements beginning at `first`. */
static inline struct philox_span philox_elements(uint64_t first, uint64_t count)
{
	struct philox_span span = {first, count, 1, count};

	return span;
}

/*
 * philox_shard() makes the span of rows x cols elements whose corner is element
 * `first` of a tensor with `row_stride` elements a row.
 */
static inline struct philox_span philox_shard(uint64_t first, uint64_t rows,
					      uint64_t cols,
					      uint64_t row_stride)
{
	struct philox_span span = {first, cols, rows, row_stride};

	return span;
}

struct philox_layout;

/*
 * struct philox_fill describes one fill. Begin with PHILOX_INIT(), then set the
 * fields common to all, and the parameters of its dist; other parameters are
 * ignored.
 */
struct philox_fill {
	size_t size; /* sizeof(this struct) */
	enum philox_dist dist;
	enum philox_dtype dtype;
	struct philox_span span;
	void *out;      /* the span's elements of device memory, aligned to
			   the dtype */
	const void *in; /* dropout: as many of the dtype, may equal out;
			   rounding: of f32, apart from out */
	double p;       /* Bernoulli, dropout: in [0, 1] */
	double low;     /* uniform: finite in the dtype */
	double high;    /*   finite in the dtype, above low; high - low is
			     finite in f32 (f64: in f64) */
	double mean;    /* normal, log-normal: finite in f32 (f64: in f64) */
	double std;     /*   finite and above 0 in f32 (f64: in f64) */
	double rate;    /* exponential: above 0; rate and 1 / rate are finite
			     in f32 (f64: in f64) */
	uint64_t from;  /* integers: the least; i32 and i64 as int64_t */
	uint64_t to;    /*   the largest, not below `from`; 32-bit dtypes: both
			     in range. All 2^64 of a 64-bit dtype is fine. */
	const struct philox_layout *layout; /* NULL: as above, or another
			     library's numbers (philox/layout.h) */
};

/*
 * philox_rng_fill() puts a fill from an explicit state on a stream: no seed is
 * derived and no state advances. The state is given by value (its offset a
 * multiple of 4) or as the device address of one (aligned to 8), which is read
 * when the work runs; a poisoned one gives NaN, or all-ones for bits and
 * integers. One kernel node during capture, where it is legal; arrays must not
 * overlap unless in == out. Errors: PHILOX_ERROR_INVALID (names the field: a
 * parameter outside its range or NaN, a null or misaligned pointer, overlapping
 * arrays, an array outside its memory on a host device (philox/device.h), rows
 * that overlap, an unknown or unsupported dist or dtype),
 * PHILOX_ERROR_OVERFLOW (the span's last element, or the size in bytes, exceeds
 * 2^64), PHILOX_ERROR_UNSUPPORTED (the layout has no such dist, dtype or
 * range), those of the device.
 */
PHILOX_API enum philox_status philox_rng_fill(struct philox_device *device,
					      philox_stream stream,
					      struct philox_rng rng,
					      const struct philox_fill *fill);

/*
 * philox_pass_fill() puts a fill of call `call` of operator `op` on the stream
 * of an open pass. In a backward pass it gives the numbers that the forward
 * gave, any number of times. Errors: as philox_rng_fill(), naming region and
 * operator; PHILOX_ERROR_INVALID for an op or call out of range,
 * PHILOX_ERROR_STATE for a pass that is not open, PHILOX_ERROR_STALE for a pass
 * of a destroyed region, PHILOX_ERROR_MISMATCH if its stream has begun or ended
 * a capture since. Legal during capture.
 */
PHILOX_API enum philox_status philox_pass_fill(const struct philox_pass *pass,
					       uint32_t op, uint32_t call,
					       const struct philox_fill *fill);

/*
 * The same by name, for call 0 of an operator: each fills `out` with `span` of
 * the operator's numbers. Dropout reads `in`, which may equal `out`; applied to
 * a gradient in the backward pass it is its own derivative. Stochastic rounding
 * reads f32 and writes bf16 or f16. Errors as philox_pass_fill(). Legal during
 * capture.
 */
PHILOX_API enum philox_status philox_bits(const struct philox_pass *pass,
					  uint32_t op, enum philox_dtype dtype,
					  struct philox_span span, void *out);
PHILOX_API enum philox_status philox_uniform(
	const struct philox_pass *pass, uint32_t op, enum philox_dtype dtype,
	struct philox_span span, double low, double high, void *out);
PHILOX_API enum philox_status philox_normal(const struct philox_pass *pass,
					    uint32_t op,
					    enum philox_dtype dtype,
					    struct philox_span span,
					    double mean, double std, void *out);
PHILOX_API enum philox_status philox_log_normal(
	const struct philox_pass *pass, uint32_t op, enum philox_dtype dtype,
	struct philox_span span, double mean, double std, void *out);
PHILOX_API enum philox_status philox_exponential(const struct philox_pass *pass,
						 uint32_t op,
						 enum philox_dtype dtype,
						 struct philox_span span,
						 double rate, void *out);
PHILOX_API enum philox_status philox_gumbel(const struct philox_pass *pass,
					    uint32_t op,
					    enum philox_dtype dtype,
					    struct philox_span span, void *out);
PHILOX_API enum philox_status philox_integers(
	const struct philox_pass *pass, uint32_t op, enum philox_dtype dtype,
	struct philox_span span, uint64_t from, uint64_t to, void *out);
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
PHILOX_API enum philox_status philox_stochastic_round(
	const struct philox_pass *pass, uint32_t op, enum philox_dtype dtype,
	struct philox_span span, const void *in, void *out);

#ifdef __cplusplus
}
#endif
#endif
