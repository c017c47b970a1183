/*
 * philox/fill.h - filling arrays with numbers
 *
 * Every value depends only on (seed, offset, element index): not on the device,
 * the launch shape, the dtype's alignment or how a tensor is cut into spans.
 * Device and host agree bit for bit. So two fills of a forward by one call of
 * one operator have the same numbers where their spans overlap, whatever they
 * fill. Two random sites need two operators (philox/pass.h says which devices
 * report it).
 *
 * With w the element's 32-bit word, w64 its 64-bit draw, v = (w + 1/2) 2^-32
 * and z a standard normal number (philox/state.h has the layout,
 * philox/values.h the formulas' code):
 *
 *   dist         value                                    range (rounded last)
 *   bits         w (u32) or w64 (u64)                     all
 *   uniform      low + u (high - low)                     [low, high)
 *   normal       mean + std z                             mean +- 6.77 std
 *   log-normal   exp(mean + std z)                        above 0
 *   exponential  -ln(1 - v) (1 / rate)                    (0, 22.9 / rate]
 *   Gumbel       -ln(-ln(1 - v))                          [-3.14, 45.1]
 *   Bernoulli    1 if w < T, else 0                       {0, 1}
 *   dropout      0 if w < T (a NaN too), else in times
 *                (float)(1 / (1 - p)); a NaN is quiet
 *   integers     from + floor(w n 2^-32), n = to - from
 *                + 1; without bias, see below             [from, to]
 *   rounding     of an f32 to one of its two neighbours
 *                in the dtype, see below                  the neighbours
 *   signs        -1 if w < 2^31, else 1; in u32 bit i of
 *                element e is 1 if element 32 e + i of
 *                the others is -1                         {-1, 1}, or bits
 *   permutation  the item at place e of an order of n     [0, n)
 *   truncated    of the normal numbers in [low, high] the
 *   normal       one with the part (w64 + 1/2) 2^-64 of
 *                them below it                            [low, high]
 *   categorical  one of n categories by weight            [0, n)
 *
 * u has as many bits as the dtype has digits: (w >> 8) 2^-24 for f32, (w >> 24)
 * 2^-8 for bf16, (w >> 21) 2^-11 for f16, (w64 >> 11) 2^-53 for f64. z comes
 * from Box-Muller on the words (0, 1) and (2, 3) of a block, the sine first, or
 * on its two 64-bit draws for f64. T is round(p 2^32), a 33-bit number, so p =
 * 0 and p = 1 are exact. In f64, exponential and Gumbel take v = ((w64 >> 11) +
 * 1/2) 2^-53: their ranges end at 37.5, and Gumbel's begins at -3.63. Normals
 * end at 8.7. Bernoulli and dropout use w, so a mask is the same in every
 * dtype, and dropout's scale is 1 / (1 - p) in f64.
 *
 * Exponential and Gumbel numbers in f32, bf16 and f16 are refined where w is
 * below 256, which one word in 16.8 million is: v is (w + (w' + 1/2) 2^-32)
 * 2^-32, with w' the element's word at the state philox_retry_state(state, 0).
 * So the least exponential number is 2^-65 / rate, and the distribution of the
 * highest of many Gumbel numbers has no visible end: a sampler multiplies what
 * is lost there by its number of tokens. The other ends, where 1 - v is 2^-33,
 * stay: 22.9 / rate and -3.14 cut off 1.2e-10 of the numbers, and so do the
 * ends of normals, where u is 2^-33. The largest of n exponential numbers, the
 * least of n Gumbel numbers and either extreme of n normals are cut about n
 * times as often: draw these of many numbers in f64.
 *
 * Parameters are rounded to f32, or to f64 for f64. A product and the addition
 * that follows it are one fused multiply-add, rounded once. f16 and bf16 are
 * computed in f32 and rounded to nearest even. In every dtype a value beyond
 * the largest number becomes infinite and one near 0 becomes 0. In f32 a third
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
 * integers u64 and i64, categorical, truncated normal, and uniform, normal,
 * log-normal, exponential and Gumbel in f64). Everything that one call of an
 * operator draws is at the same offset: it takes 4 words of it.
 *
 * Integers are drawn by the method of Lemire ("Fast random integer generation
 * in an interval", ACM TOMACS 29(1), 2019), 64-bit ones with w64 and 2^64: a
 * word is rejected when w n mod 2^32 < 2^32 mod n. Try t = 0, 1, 2 ... for a
 * rejected element is the element's word at the state philox_retry_state(state,
 * t). So the advance stays the same.
 *
 * Rounding is stochastic: x lies between the magnitudes a <= |x| < b of two
 * neighbours in the dtype. f16's denormals are among them, and infinity follows
 * the largest. The result is b if w < floor((|x| - a) / (b - a) 2^32), else a,
 * with the sign of x. So its expectation is x, up to 2^-32. Infinities stay, a
 * NaN becomes quiet.
 *
 * Signs are those of a random Hadamard transform: -1 where Bernoulli(1/2) is 1.
 * Both operands of a product have the same if they are drawn from one state. As
 * bits they are drawn for words below 2^59. philox/round.h has more of them,
 * and philox/quantize.h rounding to 8 and 4 bits.
 *
 * A permutation is the order of n items that philox/permute.h describes:
 * element e is philox_permute(state, n, e). So its spans end at element n - 1,
 * any shard of it has the items that the whole would have there, and elements
 * 0 .. k - 1 are a sample of k items without replacement. It consumes none of
 * the operator's words. A host computes item by item, not in vectors.
 *
 * Truncated normal numbers are those of philox/truncated.h, from the inverse of
 * their distribution: within 4 units in the last place of f32, also far out on
 * one side. Parameters stay f64, ends need not be numbers of the dtype, and
 * each result is a number of the dtype that is in [low, high]. A host computes
 * number by number, not in vectors, and a call first prepares the interval,
 * which takes it some microseconds.
 *
 * Categories are those of philox/weights.h: element e is
 * philox_categorical_at(state, e, in, n), where `in` has the n running sums of
 * the categories' integer weights. They are read when the work runs, so a
 * captured graph follows sums that are written between its launches. Sums that
 * are 0 in all give all ones; sums that go down give some category below n. A
 * host computes number by number, not in vectors.
 *
 * bf16 and f16 arrays are uint16_t in C; i32 and i64 integers are two's
 * complement.
 */
#ifndef PHILOX_FILL_H
#define PHILOX_FILL_H

#include <stddef.h>
#include <stdint.h>
#include <philox/device.h>
#include <philox/kernel.h>
#include <philox/pass.h>
#include <philox/status.h>
#include <philox/state.h>

#ifdef __cplusplus
extern "C" {
#endif

enum philox_dist {
	PHILOX_DIST_BITS = 0,
	PHILOX_DIST_UNIFORM = 1,
	PHILOX_DIST_NORMAL = 2,
	PHILOX_DIST_BERNOULLI = 3,
	PHILOX_DIST_DROPOUT = 4,
	PHILOX_DIST_LOG_NORMAL = 5,
	PHILOX_DIST_EXPONENTIAL = 6,
	PHILOX_DIST_GUMBEL = 7,
	PHILOX_DIST_INTEGERS = 8,
	PHILOX_DIST_STOCHASTIC_ROUND = 9,
	PHILOX_DIST_SIGNS = 10,
	PHILOX_DIST_PERMUTATION = 11,
	PHILOX_DIST_TRUNCATED_NORMAL = 12,
	PHILOX_DIST_CATEGORICAL = 13
};

/* Which dists have which dtypes:
 *   bits                  u32 u64
 *   integers, permutation u32 u64 i32 i64
 *   categorical           u32 u64 i32 i64
 *   rounding              bf16 f16 (of an f32 input)
 *   signs                 f32 bf16 f16 u32
 *   truncated normal      f32 bf16 f16
 *   all others            f32 f64 bf16 f16 */
enum philox_dtype {
	PHILOX_DTYPE_U32 = 0,
	PHILOX_DTYPE_U64 = 1,
	PHILOX_DTYPE_F32 = 2,
	PHILOX_DTYPE_BF16 = 3,
	PHILOX_DTYPE_F16 = 4,
	PHILOX_DTYPE_F64 = 5,
	PHILOX_DTYPE_I32 = 6,
	PHILOX_DTYPE_I64 = 7
};

/* A dtype, where 0 says that there is none (philox/runner.h). */
#define PHILOX_ELEMENTS(dtype) ((uint32_t)(dtype) + 1)

/*
 * Which elements of an operator's output an array holds. A plain span has rows
 * = 0 or 1: its element i is element first + i. A shard of a matrix has `rows`
 * rows of `count` elements: its element (r, c) is element first + r *
 * row_stride + c. So any part of a tensor draws exactly the numbers that the
 * whole would have there. row_stride is the tensor's, not the array's: the
 * array is contiguous, and its row r begins at r * count. To fill a part of a
 * larger array, fill it row by row, each with a plain span.
 */
struct philox_span {
	uint64_t first;
	uint64_t count;      /* of a row; 0 is allowed: nothing is done */
	uint64_t rows;       /* 0 means 1 */
	uint64_t row_stride; /* elements from row to row, at least count */
};

/*
 * Return a span of consecutive elements.
 *
 *   first  the first element
 *   count  how many
 *
 * During capture: legal.
 * Threads: any, at any time.
 */
static inline struct philox_span philox_span_elements(uint64_t first,
						      uint64_t count)
{
	struct philox_span span = {first, count, 1, count};

	return span;
}

/*
 * Return a span of rows x cols elements of a tensor.
 *
 *   first       the element at its corner
 *   rows, cols  how many of each
 *   row_stride  elements of the tensor from row to row
 *
 * During capture: legal.
 * Threads: any, at any time.
 */
static inline struct philox_span philox_span_rows(uint64_t first, uint64_t rows,
						  uint64_t cols,
						  uint64_t row_stride)
{
	struct philox_span span = {first, cols, rows, row_stride};

	return span;
}

struct philox_layout_desc;

/*
 * One fill. Begin with PHILOX_INIT(), then set the fields common to all, and
 * the parameters of its dist; other parameters are ignored.
 */
struct philox_fill_desc {
	size_t size;    /* sizeof(this struct) */
	uint32_t dist;  /* enum philox_dist */
	uint32_t dtype; /* enum philox_dtype */
	struct philox_span span;
	void *out;      /* the span's elements of device memory, aligned to
			   the dtype */
	const void *in; /* dropout: as many of the dtype, may equal out;
			   rounding: of f32, apart from out; categorical: n
			   sums of u64, apart from out */
	double p;       /* Bernoulli, dropout: in [0, 1] */
	double low;     /* uniform: finite in the dtype; truncated normal:
			     finite, as low - mean is */
	double high;    /*   above low; uniform: finite in the dtype, and high
			     - low in f32 (f64: in f64); truncated normal:
			     finite, as high - mean is, and a number of the
			     dtype is in [low, high] */
	double mean;    /* normal, log-normal: finite in f32 (f64: in f64);
			     truncated normal: finite */
	double std;     /*   above 0, and as finite */
	double rate;    /* exponential: above 0; rate and 1 / rate are finite
			     in f32 (f64: in f64) */
	uint64_t from;  /* integers: the least; i32 and i64 as int64_t */
	uint64_t to;    /*   the largest, not below `from`; 32-bit dtypes: both
			     in range. All 2^64 of a 64-bit dtype is fine. */
	const struct philox_layout_desc *layout; /* NULL: as above; else another
			     library's numbers, see below */
	uint64_t n; /* permutation: how many items, at least 1 and at most
			     2^32 (u32), 2^31 (i32) or 2^63; categorical: how
			     many categories, the same, but 2^60 of 64 bits */
};

/*
 * Put a fill from an explicit state on a stream.
 *
 *   device  the device
 *   stream  the stream
 *   rng     the state by value (its offset a multiple of 4), or the device
 *           address of one (aligned to 8), which is read when the work runs; a
 *           poisoned one gives NaN, or all-ones for bits, integers,
 *           permutations and categories
 *   fill    what is drawn, and where it goes; arrays must not overlap unless in
 *           == out
 *
 * No seed is derived and no state advances.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID      a parameter is outside its range or NaN; a
 *                             pointer is NULL or misaligned; arrays overlap, or
 *                             rows of the span; an array is outside its memory
 *                             on a host device (philox/device.h); a dist or
 *                             dtype is unknown, or they do not fit; a
 *                             permutation has no element as high as the span's
 *                             last; the message names the field
 *   PHILOX_ERROR_OVERFLOW     the span's last element, or the size in bytes,
 *                             exceeds 2^64
 *   PHILOX_ERROR_UNSUPPORTED  the layout has no such dist, dtype or range
 *   those of the device
 * During capture: recorded, as one kernel node.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_rng_fill(
	struct philox_device *device, philox_stream stream,
	struct philox_rng rng, const struct philox_fill_desc *fill);

/*
 * Fill memory of the host with the numbers of a state, before returning.
 *
 *   state    its offset a multiple of 4, or poisoned (philox_is_poison()): then
 *            it gives NaN, or all-ones for bits, integers, permutations and
 *            categories
 *   fill     what is drawn, and where it goes: memory that the host can access;
 *            arrays must not overlap unless in == out
 *   threads  how many threads may share the work, at least 1: the caller's, and
 *            others that end before the call does, at most 256 and where the
 *            output has a MiB for each; fills with a layout use the caller's
 *            alone
 *
 * The numbers are those of philox_rng_fill() on any device, and do not depend
 * on `threads`. There is no device, stream or lock: calls of several threads
 * run at the same time. No seed is derived and no state advances.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID  threads is 0
 *   those of philox_rng_fill(), but for memory that is unknown and those of the
 *   device
 * During capture: legal, and not recorded: it is done once, now.
 * Threads: any, at any time, on different memory.
 */
PHILOX_API enum philox_status philox_state_fill(
	struct philox_state state, const struct philox_fill_desc *fill,
	uint32_t threads);

/*
 * Put a fill of an operator's numbers on the stream of an open pass.
 *
 *   pass  the pass, forward or backward
 *   op    the operator, by its place in the region
 *   call  which of the operator's calls
 *   fill  what is drawn, and where it goes
 *
 * In a backward pass it gives the numbers that the forward gave, any number of
 * times.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors: the message names region and operator.
 *   PHILOX_ERROR_INVALID   op or call is out of range
 *   PHILOX_ERROR_STATE     the pass is not open
 *   PHILOX_ERROR_STALE     its region was destroyed
 *   PHILOX_ERROR_MISMATCH  its stream has begun or ended a capture since
 *   those of philox_rng_fill()
 * During capture: recorded, as one kernel node.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_pass_fill(
	const struct philox_pass *pass, uint32_t op, uint32_t call,
	const struct philox_fill_desc *fill);

/*
 * Fill an array with numbers of call 0 of an operator, by the name of their
 * distribution.
 *
 *   pass       the pass, forward or backward
 *   op         the operator, by its place in the region
 *   dtype      of the array; enum philox_dtype says which a dist has
 *   span       which elements the array holds
 *   low, high  the range [low, high) of uniform numbers, [low, high] of
 *              truncated normal ones
 *   mean, std  of normal, log-normal and truncated normal numbers; std is above
 *              0
 *   rate       of exponential numbers, above 0
 *   from, to   the least and the largest integer
 *   p          probability in [0, 1]: of 1 (Bernoulli), of 0 (dropout)
 *   n          how many items a permutation has, how many categories there are
 *   in         dropout: as many of dtype, may equal out; rounding: as many f32;
 *              categorical: n sums of u64, read when the work runs
 *   out        device memory for the span's elements
 *
 * Dropout applied to a gradient in the backward pass is its own derivative.
 * Stochastic rounding reads f32 and writes bf16 or f16.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors: those of philox_pass_fill().
 * During capture: recorded, as one kernel node.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_pass_bits(const struct philox_pass *pass,
					       uint32_t op,
					       enum philox_dtype dtype,
					       struct philox_span span,
					       void *out);
PHILOX_API enum philox_status philox_pass_uniform(
	const struct philox_pass *pass, uint32_t op, enum philox_dtype dtype,
	struct philox_span span, double low, double high, void *out);
PHILOX_API enum philox_status philox_pass_normal(
	const struct philox_pass *pass, uint32_t op, enum philox_dtype dtype,
	struct philox_span span, double mean, double std, void *out);
PHILOX_API enum philox_status philox_pass_log_normal(
	const struct philox_pass *pass, uint32_t op, enum philox_dtype dtype,
	struct philox_span span, double mean, double std, void *out);
PHILOX_API enum philox_status philox_pass_exponential(
	const struct philox_pass *pass, uint32_t op, enum philox_dtype dtype,
	struct philox_span span, double rate, void *out);
PHILOX_API enum philox_status philox_pass_gumbel(const struct philox_pass *pass,
						 uint32_t op,
						 enum philox_dtype dtype,
						 struct philox_span span,
						 void *out);
PHILOX_API enum philox_status philox_pass_integers(
	const struct philox_pass *pass, uint32_t op, enum philox_dtype dtype,
	struct philox_span span, uint64_t from, uint64_t to, void *out);
PHILOX_API enum philox_status philox_pass_bernoulli(
	const struct philox_pass *pass, uint32_t op, enum philox_dtype dtype,
	struct philox_span span, double p, void *out);
PHILOX_API enum philox_status philox_pass_dropout(
	const struct philox_pass *pass, uint32_t op, enum philox_dtype dtype,
	struct philox_span span, double p, const void *in, void *out);
PHILOX_API enum philox_status philox_pass_stochastic_round(
	const struct philox_pass *pass, uint32_t op, enum philox_dtype dtype,
	struct philox_span span, const void *in, void *out);
PHILOX_API enum philox_status philox_pass_signs(const struct philox_pass *pass,
						uint32_t op,
						enum philox_dtype dtype,
						struct philox_span span,
						void *out);
PHILOX_API enum philox_status philox_pass_permutation(
	const struct philox_pass *pass, uint32_t op, enum philox_dtype dtype,
	struct philox_span span, uint64_t n, void *out);
PHILOX_API enum philox_status philox_pass_truncated_normal(
	const struct philox_pass *pass, uint32_t op, enum philox_dtype dtype,
	struct philox_span span, double mean, double std, double low,
	double high, void *out);
PHILOX_API enum philox_status philox_pass_categorical(
	const struct philox_pass *pass, uint32_t op, enum philox_dtype dtype,
	struct philox_span span, const void *in, uint64_t n, void *out);

/* --- numbers of other libraries ------------------------------------------- */

/*
 * philox's own layout gives element e of an op subsequence e / 4, word e % 4
 * (philox/state.h). A fill that names another layout draws the numbers that
 * another library draws at the same state, in its order of elements and with
 * its arithmetic. Use it to check against it, to take its place in the middle
 * of a run, or to repeat one of its runs. With base = offset / 4, P(low, high)
 * the block at the counter {low, high} (philox_block()), and T threads:
 *
 *   layout         element e is drawn from
 *   CURAND_DEVICE  curand_init(seed, e % T, offset), draw e / T: a grid-stride
 *                  loop of T threads. T = 0: curand4() and the like, once per
 *                  thread: P(base, e / 4), word e % 4 (f64: e / 2, pair e % 2)
 *   CURAND_HOST    the host API's stream of CURAND_RNG_PSEUDO_PHILOX4_32_10, as
 *                  curandCreateGeneratorHost() makes it in each of its
 *                  orderings: b = base + e / 4, P(b / 65536, b % 65536), word e
 *                  % 4; f64 draws two blocks of a subsequence in turn
 *   PYTORCH        curand_init(seed, t, offset) of thread t in a grid of T =
 *                  256 min(sms (threads_per_sm / 256), ceil(elements / 256)):
 *                  P(base + e / (U T), e % T), word e / T % U; U is 4, or 2 for
 *                  f64 and 64-bit integers. Dropout is native_dropout(): its
 *                  threads take vectors of V elements, P(base + max(V / 4, 1)
 *                  (e / (V T)) + e % V / 4, e % (V T) / V), word e % V % 4
 *   NVFUSER        P(base, e / 4), word e % 4 (f64: e / 2, pair e % 2)
 *   TRITON         tl.rand(seed, base + e) and the like: P(base + e, 0), word 0
 *   JAX            element base + e of an array of jax.random with the
 *                  implementation "philox4x32": P(e, 0), the halves of e
 *                  swapped; the seed is philox_jax_seed()
 *
 * Values, with w the word, u = w 2^-32 + 2^-33 rounded to f32, which is in (0,
 * 1], z = w0 ^ w1 2^21 and U = z 2^-53 + 2^-54 of a pair of words for f64:
 *
 *   CURAND_*       bits u32; uniform f32 u, f64 U (CURAND_DEVICE with T > 0: (w
 *                  + 1) 2^-32, as curand_uniform_double()); normal f32, f64
 *   PYTORCH        bits u32, u64 (words, the first one high): random_() before
 *                  its modulus. integers: w % n + from, n = to - from + 1, from
 *                  n = 2^28 on with a 64-bit draw: random_(from, to + 1).
 *                  uniform: u (high - low) + low fused, in the dtype, and low
 *                  where that is high: uniform_(). bernoulli: u < p:
 *                  bernoulli_(p). normal, log-normal, exponential: normal_(),
 *                  log_normal_(), exponential_(). dropout: x k (1 / (1 - p))
 *                  with k = u < 1 - p, so a dropped value keeps its sign, NaN
 *                  and infinity become NaN; all 0 for p = 1. f64 draws U
 *                  (dropout: u). All dtypes
 *   NVFUSER        uniform: as PYTORCH's in bf16 and f16; in f32 and f64 u or U
 *                  with 1 replaced by 0, then the same. normal, in all dtypes:
 *                  of u, again with 0 for 1, so infinite where w0 >=
 *                  0xffffff80. dropout f32: as PYTORCH's, with that u
 *   TRITON         bits u32: tl.randint(). uniform f32: tl.rand(), 31 bits.
 *                  normal f32: tl.randn(). dropout f32, bf16, f16: what
 *                  torch.compile makes of it, x k (1 / (1 - p)), k = u > p;
 *                  for p = 0 the input, for p = 1 all 0
 *   JAX            bits u32, u64: jax.random.bits(). uniform: 23, 52, 7 or 10
 *                  bits for f32, f64, bf16, f16. bernoulli: u < p, p in f32
 *                  (f64 for f64)
 *
 * These values are the original's bits, with one exception: where it takes
 * logarithms, sines or exponentials (normal, log-normal, exponential), which
 * differ between GPUs and from host to GPU, the words and the order are the
 * original's (sine first; TRITON: cosine only), and the functions are philox's
 * own. These values are within 3e-6 of the original's f32 numbers on a host
 * (TRITON: 6e-6; f64: 8e-15), for std 1 and rate 1, and still the same bits on
 * every device. A NaN is the quiet one, as above.
 *
 * CURAND_*, TRITON and JAX have no ranges: low = 0 and high = 1 (JAX also
 * allows low = 0 with any high, and ranges of a power of two, where it is
 * certain how its compiler rounds). PYTORCH's high - low is at most the largest
 * number of the dtype.
 *
 * Sources: cuRAND of CUDA 13.0; PyTorch's DistributionTemplates.h at 0140b62d
 * and Dropout.cu since pull request 145746 (2025), which brought vectors of 8;
 * nvFuser's random_numbers.cu at 10488988; Triton 3.9.0; JAX 0.10.2. Where a
 * library contradicts itself, these layouts follow the code that runs:
 *
 *   - PYTORCH: dropout's advance is too small where a thread draws two blocks
 *     but reserves one: V = 8 (bf16, f16) if ceil(elements / (4 T)) is odd, as
 *     it is up to 4 T elements; V = 2 (elements % 4 = 2) beyond 2 T. The next
 *     op then repeats numbers of this one. Twice the words of
 *     philox_layout_advance() are enough for freshness, but then later ops no
 *     longer draw PyTorch's numbers.
 *   - PYTORCH: u may be 1, so that dropout with p = 0 drops one element in
 *     2^25. (torch.nn.functional.dropout() does not reach this code: it returns
 *     its input for p = 0.)
 *   - PYTORCH, NVFUSER: products and sums are fused as nvcc does by default.
 *   - TRITON: offsets above 2^32 carry into the second word of the counter, as
 *     in Triton since pull request 6832.
 */

enum philox_layout_kind {
	PHILOX_LAYOUT_DEFAULT = 0, /* philox's own, same as no layout */
	PHILOX_LAYOUT_CURAND_DEVICE = 1,
	PHILOX_LAYOUT_CURAND_HOST = 2,
	PHILOX_LAYOUT_PYTORCH = 3,
	PHILOX_LAYOUT_NVFUSER = 4,
	PHILOX_LAYOUT_TRITON = 5,
	PHILOX_LAYOUT_JAX = 6
};

/*
 * Which library's numbers a fill draws (its field `layout`). Begin with
 * PHILOX_INIT(), then set `kind` and the fields that the kind needs; the others
 * are ignored.
 */
struct philox_layout_desc {
	size_t size;      /* sizeof(this struct) */
	uint32_t kind;    /* enum philox_layout_kind */
	uint32_t threads; /* CURAND_DEVICE: T, or 0 */
	/* PYTORCH: the GPU's multiprocessors, and how many threads each holds
	 * (cudaDevAttrMultiProcessorCount, MaxThreadsPerMultiProcessor): 132
	 * and 2048 for an H100 or H200, 108 and 2048 for an A100 */
	uint32_t sms;
	uint32_t threads_per_sm; /* at least 256 */
	/* PYTORCH: of the whole tensor, which is contiguous; all but dropout
	 * take at most 2^31 - 1 bytes, since PyTorch draws larger tensors in
	 * parts. The other kinds may have 0: up to the end of the span */
	uint64_t elements;
	/* PYTORCH dropout: the widest vector, 1, 2, 4 or 8, halved until it
	 * divides `elements`; 0: 16 bytes, as for a tensor aligned to that.
	 * Before 2025 16-bit types had at most 4. */
	uint32_t vector;
	uint32_t reserved; /* 0 */
};

/*
 * Write by how many 32-bit words the original library moves its generator for
 * the op that a fill is a part of.
 *
 *   fill   the fill; its arrays and state do not matter
 *   words  written: a multiple of 4; 4 without a layout
 *
 * It is the `advance` of a struct philox_op_desc, or the argument of
 * philox_generator_advance():
 *
 *     CURAND_DEVICE  the words a thread draws, rounded up to a block
 *     CURAND_HOST    `elements`, rounded up to a multiple of 4: the stream
 *                    continues where the original's does if `elements` is one
 *     PYTORCH        the words it reserves: 4 ceil(elements / (U T)), dropout
 *                    with U = 4; 0 for dropout with p = 1 (no op has that: 0
 *                    means 4 in struct philox_op_desc)
 *     NVFUSER        4
 *     TRITON, JAX    4 elements; the originals leave it to the user, or have no
 *                    offset
 *
 * A PHILOX_REGION_SHARED region of ops with these advances draws the numbers of
 * a plain program that uses the original library.
 *
 * A fill in a layout fails in the same ways, and for its arrays and state as
 * philox_rng_fill() says, but without `elements` its span may end past 2^62.
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_UNSUPPORTED  the layout lacks the dist, dtype, range or size
 *   PHILOX_ERROR_INVALID      a field of the layout is wrong, or the span ends
 *                             past `elements`
 *   PHILOX_ERROR_OVERFLOW     2^62 elements or more, whose words do not fit an
 *                             offset
 *   those of philox_rng_fill() for dist, dtype, parameters and span
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_layout_advance(
	const struct philox_fill_desc *fill, uint64_t *words);

/*
 * Return the name of a kind of layout, such as "pytorch".
 *
 *   kind  enum philox_layout_kind; another number has the name "?"
 *
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API const char *philox_layout_name(enum philox_layout_kind kind);

/*
 * Return the 64 bits of a block in the order that JAX reads them, the first
 * word high.
 *
 *   seed       the key
 *   low, high  the counter
 *
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_FN uint64_t philox_jax_words(uint64_t seed, uint64_t low, uint64_t high)
{
	struct philox_words block = philox_block(seed, low, high);

	return philox_join(block.w[1], block.w[0]);
}

/*
 * Return the seed of jax.random.key(seed, impl="philox4x32").
 *
 *   seed  JAX's; without jax_enable_x64, JAX takes only its low 32 bits
 *
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_FN uint64_t philox_jax_seed(uint64_t seed)
{
	return philox_jax_words(0, seed << 32 | seed >> 32, 0);
}

/*
 * Return the seed of jax.random.fold_in(key, data).
 *
 *   seed  that of the key
 *   data  as JAX's
 *
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_FN uint64_t philox_jax_fold_in(uint64_t seed, uint32_t data)
{
	return philox_jax_words(seed, 0, philox_join(data, 0));
}

/*
 * Return the seed of element i of jax.random.split(key, n), whatever n is.
 *
 *   seed  that of the key
 *   i     below n
 *
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_FN uint64_t philox_jax_split(uint64_t seed, uint64_t i)
{
	return philox_jax_words(seed, 0, i << 32 | i >> 32);
}

#ifdef __cplusplus
}
#endif
#endif
