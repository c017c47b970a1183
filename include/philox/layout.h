/*
 * philox/layout.h - the numbers of other libraries, element for element
 *
 * philox's own layout gives element e of an op subsequence e / 4, word e % 4
 * (philox/state.h). A fill that names another layout draws the numbers that
 * another library draws at the same state, in its order of elements and with
 * its arithmetic: to check against it, to take its place in the middle of a
 * run, or to repeat one of its runs. With base = offset / 4, P(low, high) the
 * block at the counter {low, high} (philox_block()), and T threads:
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
 * every device. A NaN is the quiet one of philox/fill.h.
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
 *
 * Thread rule: every function here may be called from any thread at any time.
 */
#ifndef PHILOX_LAYOUT_H
#define PHILOX_LAYOUT_H

#include <stddef.h>
#include <stdint.h>
#include <philox/fill.h>
#include <philox/state.h>

#ifdef __cplusplus
extern "C" {
#endif

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
 * struct philox_layout says which numbers a fill draws (its field `layout`).
 * Begin with PHILOX_INIT(), then set `kind` and the fields that the kind needs;
 * the others are ignored.
 */
struct philox_layout {
	size_t size; /* sizeof(this struct) */
	enum philox_layout_kind kind;
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
 * philox_layout_advance() writes by how many 32-bit words the original moves
 * its generator for the op that a fill is a part of, a multiple of 4: the
 * `advance` of a struct philox_op, or the argument of
 * philox_generator_advance(). The fill's arrays and state do not matter;
 * without a layout the result is 4.
 *
 *   CURAND_DEVICE  the words a thread draws, rounded up to a block
 *   CURAND_HOST    `elements`, rounded up to a multiple of 4: the stream
 *                  continues where the original's does if `elements` is one
 *   PYTORCH        the words it reserves: 4 ceil(elements / (U T)), dropout
 *                  with U = 4; 0 for dropout with p = 1 (no op has that: 0
 *                  means 4 in struct philox_op)
 *   NVFUSER        4
 *   TRITON, JAX    4 elements; the originals leave it to the user, or have no
 *                  offset
 *
 * A PHILOX_SHARED region of ops with these advances draws the numbers of a
 * plain program that uses the original library. Errors:
 * PHILOX_ERROR_UNSUPPORTED for a dist, dtype, range or size that the layout
 * lacks, PHILOX_ERROR_INVALID for a wrong field of the layout or a span past
 * `elements`; PHILOX_ERROR_OVERFLOW for 2^62 elements or more, whose words do
 * not fit an offset; and as philox_rng_fill() for dist, dtype, parameters and
 * span. A fill in a layout fails in the same ways, and for its arrays and state
 * as philox_rng_fill(), but without `elements` its span may end past 2^62.
 * Legal during capture.
 */
PHILOX_API enum philox_status philox_layout_advance(
	const struct philox_fill *fill, uint64_t *words);

/* philox_layout_name() returns the name of a kind ("pytorch"), or "?". */
PHILOX_API const char *philox_layout_name(enum philox_layout_kind kind);

/*
 * The seeds of JAX. philox_jax_seed() is the seed of jax.random.key(seed,
 * impl="philox4x32"); philox_jax_fold_in() and philox_jax_split() derive other
 * seeds from it as jax.random.fold_in(key, data) and element i of
 * jax.random.split(key, n) do. Without jax_enable_x64, JAX takes only the low
 * 32 bits of a seed.
 */
PHILOX_FN uint64_t philox_jax_words(uint64_t seed, uint64_t low, uint64_t high)
{
	struct philox_words block = philox_block(seed, low, high);

	return philox_join(block.w[1], block.w[0]);
}

PHILOX_FN uint64_t philox_jax_seed(uint64_t seed)
{
	return philox_jax_words(0, seed << 32 | seed >> 32, 0);
}

PHILOX_FN uint64_t philox_jax_fold_in(uint64_t seed, uint32_t data)
{
	return philox_jax_words(seed, 0, philox_join(data, 0));
}

PHILOX_FN uint64_t philox_jax_split(uint64_t seed, uint64_t i)
{
	return philox_jax_words(seed, 0, i << 32 | i >> 32);
}

#ifdef __cplusplus
}
#endif
#endif
