/*
 * philox/kernel.h - the numbers, for host code and kernels alike
 *
 * One definition of everything that turns a state and an element index into a
 * value. It compiles as C11, C++, CUDA and under NVRTC; nothing in it needs
 * the library. The same source gives the same bits everywhere: only integer
 * arithmetic and IEEE additions, products, fused multiply-adds, square roots
 * and conversions are used, each written out so that no compiler option can
 * fuse or reorder them.
 *
 * The generator is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random
 * numbers: as easy as 1, 2, 3", SC11) in cuRAND's convention: the key is the
 * seed, the low 64 bits of the counter are offset / 4, the high 64 bits are
 * the subsequence.
 *
 * Element layout: element e of an operator's output uses subsequence e / 4 and
 * word e % 4 of it; a 64-bit draw uses subsequence e / 2 and the words
 * 2 (e % 2) (low half) and 2 (e % 2) + 1 (high half). One call consumes one
 * block of every subsequence, so it advances the offset by 4 whatever its
 * size.
 */
#ifndef PHILOX_KERNEL_H
#define PHILOX_KERNEL_H

#ifdef __CUDACC_RTC__
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef unsigned short uint16_t;
#else
#include <stdint.h>
#endif

#ifdef __CUDACC__
#define PHILOX_FN static __host__ __device__ __forceinline__
#else
#define PHILOX_FN static inline __attribute__((always_inline, unused))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * struct philox_state is where a stream of numbers stands: 16 bytes, the bytes
 * of a PyTorch CUDA generator state, and the int64[2] that FlashAttention and
 * Transformer Engine read. The offset counts 32-bit words and is a multiple of
 * 4; an odd offset is poison and never a state (see philox_is_poison()).
 */
struct philox_state {
	uint64_t seed;   /* the Philox key, low word first */
	uint64_t offset; /* in 32-bit words, a multiple of 4 */
};

/*
 * struct philox_rng is what a kernel takes as its argument: a state by value,
 * or the device address of one (a cell of a captured pass). Resolve it once per
 * thread with philox_resolve().
 */
struct philox_rng {
	struct philox_state state;       /* used when cell is a null pointer */
	const struct philox_state *cell; /* device address, or a null pointer */
};

/* struct philox_words is one Philox block: four 32-bit words. */
struct philox_words {
	uint32_t w[4];
};

/* The offset of a poisoned cell; every odd offset counts as poison. */
#define PHILOX_POISON_OFFSET 0xffffffffffffffffULL

/* philox_resolve() returns the state an rng argument stands for. */
PHILOX_FN struct philox_state philox_resolve(struct philox_rng rng)
{
	return rng.cell ? *rng.cell : rng.state;
}

/*
 * philox_is_poison() says whether a state is one that no pass has filled: the
 * graph was launched without the library. Kernels write NaN or all-ones then.
 */
PHILOX_FN int philox_is_poison(struct philox_state state)
{
	return (int)(state.offset & 1);
}

PHILOX_FN uint32_t philox_mulhi(uint32_t a, uint32_t b)
{
#ifdef __CUDA_ARCH__
	return __umulhi(a, b);
#else
	return (uint32_t)((uint64_t)a * b >> 32);
#endif
}

/*
 * philox_block() is Philox4x32-10 itself: the block of key `seed` at the
 * 128-bit counter {low, high}. Known answers: Random123's kat_vectors.
 */
PHILOX_FN struct philox_words philox_block(uint64_t seed, uint64_t low,
					   uint64_t high)
{
	const uint32_t mult_a = 0xD2511F53u, mult_b = 0xCD9E8D57u;
	const uint32_t step_a = 0x9E3779B9u, step_b = 0xBB67AE85u;
	uint32_t key_a = (uint32_t)seed, key_b = (uint32_t)(seed >> 32);
	uint32_t c0 = (uint32_t)low, c1 = (uint32_t)(low >> 32);
	uint32_t c2 = (uint32_t)high, c3 = (uint32_t)(high >> 32);
	struct philox_words out;

	for (int round = 0; round < 10; round++) {
		uint32_t hi_a = philox_mulhi(mult_a, c0), lo_a = mult_a * c0;
		uint32_t hi_b = philox_mulhi(mult_b, c2), lo_b = mult_b * c2;

		c0 = hi_b ^ c1 ^ key_a;
		c1 = lo_b;
		c2 = hi_a ^ c3 ^ key_b;
		c3 = lo_a;
		key_a += step_a;
		key_b += step_b;
	}
	out.w[0] = c0;
	out.w[1] = c1;
	out.w[2] = c2;
	out.w[3] = c3;
	return out;
}

/*
 * philox_draw4() returns the four words of one subsequence at a state:
 * elements 4 * subsequence .. 4 * subsequence + 3 of an operator's output.
 * Equals curand4() after curand_init(seed, subsequence, offset) for offsets
 * that are multiples of 4.
 */
PHILOX_FN struct philox_words philox_draw4(struct philox_state state,
					   uint64_t subsequence)
{
	return philox_block(state.seed, state.offset / 4, subsequence);
}

/*
 * Key derivation. A fold is one Philox block whose counter has its highest bit
 * set: a draw's subsequence is at most 2^63 - 1 (element 2^64 - 1 of a 64-bit
 * draw), so no draw of the same seed can reach it. Each level has a plane of
 * its own.
 */
#define PHILOX_FOLD_REGION 0x8000000000000001ULL
#define PHILOX_FOLD_OP     0x8000000000000002ULL
#define PHILOX_FOLD_RANK   0x8000000000000003ULL

/* philox_fold() derives the seed of `index` in one of the planes above. */
PHILOX_FN uint64_t philox_fold(uint64_t seed, uint64_t plane, uint64_t index)
{
	struct philox_words block = philox_block(seed, index, plane);

	return (uint64_t)block.w[1] << 32 | block.w[0];
}

/*
 * philox_op_seed() derives the seed of one call of one operator from its
 * region's seed.
 */
PHILOX_FN uint64_t philox_op_seed(uint64_t region_seed, uint32_t op,
				  uint32_t call)
{
	return philox_fold(region_seed, PHILOX_FOLD_OP,
			   (uint64_t)call << 32 | op);
}

/*
 * Arithmetic with one rounding per operation, whatever the compiler's options.
 * A product that someone may add to is hidden from the compiler behind an empty
 * asm, or it might become a fused multiply-add. A host without fused
 * multiply-add instructions calls fmaf() of the C library, which is exact (link
 * with -lm); clang must not know it by its name, for with -ffast-math it would
 * make two operations of it.
 */
#if defined(__clang__) && defined(__x86_64__) && !defined(__FMA__) && \
	!defined(PHILOX_BUILTIN_FMA)
float philox_fmaf(float a, float b, float c) __asm__("fmaf");
#else
#define philox_fmaf(a, b, c) __builtin_fmaf(a, b, c)
#endif

PHILOX_FN float philox_multiply(float a, float b)
{
	float product;

#ifdef __CUDA_ARCH__
	/* Unlike __fmul_rn(), this keeps denormals under --use_fast_math. */
	asm("mul.rn.f32 %0, %1, %2;" : "=f"(product) : "f"(a), "f"(b));
#else
	product = a * b;
#if defined(__x86_64__)
	__asm__("" : "+x"(product));
#elif defined(__aarch64__)
	__asm__("" : "+w"(product));
#else
	__asm__("" : "+m"(product));
#endif
#endif
	return product;
}

PHILOX_FN float philox_multiply_add(float a, float b, float c)
{
#ifdef __CUDA_ARCH__
	return __fmaf_rn(a, b, c);
#else
	return philox_fmaf(a, b, c);
#endif
}

/* philox_root() is the square root of x >= 0; no call of sqrtf() for errno. */
PHILOX_FN float philox_root(float x)
{
#ifdef __CUDA_ARCH__
	return __fsqrt_rn(x);
#elif defined(__x86_64__)
	float root;

#ifdef __AVX__
	__asm__("vsqrtss %1, %1, %0" : "=x"(root) : "x"(x));
#else
	__asm__("sqrtss %1, %0" : "=x"(root) : "x"(x));
#endif
	return root;
#else
	return __builtin_sqrtf(x);
#endif
}

PHILOX_FN uint32_t philox_f32_bits(float x)
{
#ifdef __CUDA_ARCH__
	return __float_as_uint(x);
#else
	uint32_t bits;

	__builtin_memcpy(&bits, &x, sizeof(bits));
	return bits;
#endif
}

PHILOX_FN float philox_f32_from_bits(uint32_t bits)
{
#ifdef __CUDA_ARCH__
	return __uint_as_float(bits);
#else
	float x;

	__builtin_memcpy(&x, &bits, sizeof(x));
	return x;
#endif
}

/* philox_bf16_to_f32() widens a bf16, given by its bits; exact. */
PHILOX_FN float philox_bf16_to_f32(uint16_t bits)
{
	return philox_f32_from_bits((uint32_t)bits << 16);
}

/*
 * philox_f32_to_bf16() rounds to the nearest bf16, ties to even. A NaN keeps
 * its sign and becomes quiet.
 */
PHILOX_FN uint16_t philox_f32_to_bf16(float x)
{
	uint32_t bits = philox_f32_bits(x);

	if ((bits & 0x7fffffffu) > 0x7f800000u)
		return (uint16_t)(bits >> 16 | 0x40u);
	return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/*
 * Uniform numbers in [0, 1), all of them exact: 24 bits of a word as f32, 8
 * bits as bf16, 53 bits of a 64-bit draw as f64.
 */
PHILOX_FN float philox_uniform_f32(uint32_t w)
{
	return (float)(w >> 8) * 5.96046448e-08f;
}

PHILOX_FN uint16_t philox_uniform_bf16(uint32_t w)
{
	return philox_f32_to_bf16((float)(w >> 24) * 0.00390625f);
}

PHILOX_FN double philox_uniform_f64(uint64_t w64)
{
	return (double)(w64 >> 11) * 1.1102230246251565e-16;
}

/*
 * philox_minus_2_ln() is -2 ln(u) for the uniform number u in (0, 1] that a
 * word stands for, (w + 1/2) 2^-32 rounded to f32. u = m 2^k with m in [2/3,
 * 4/3), and ln(m) is a polynomial in m - 1, which is exact. tests/fit_normal.py
 * finds the coefficients.
 */
PHILOX_FN float philox_minus_2_ln(uint32_t w)
{
	const float ln_2 = 0.693147182f;
	const uint32_t two_thirds = 0x3f2aaaabu;
	float u =
		philox_multiply_add((float)w, 2.32830644e-10f, 1.16415322e-10f);
	uint32_t bits = philox_f32_bits(u);
	/* 64 is added and taken off so that nothing negative is shifted */
	uint32_t power = (bits - two_thirds + (64u << 23)) >> 23;
	float k = (float)((int)power - 64);
	float f =
		philox_f32_from_bits(bits - (power << 23) + (64u << 23)) - 1.0f;
	float p = -0.122539788f;

	p = philox_multiply_add(p, f, 0.141343907f);
	p = philox_multiply_add(p, f, -0.123200983f);
	p = philox_multiply_add(p, f, 0.139725998f);
	p = philox_multiply_add(p, f, -0.166714787f);
	p = philox_multiply_add(p, f, 0.200124875f);
	p = philox_multiply_add(p, f, -0.249999702f);
	p = philox_multiply_add(p, f, 0.333331794f);
	p = philox_multiply_add(p, f, -0.5f);
	p = philox_multiply_add(philox_multiply(f, f), p, f);
	return -2.0f * philox_multiply_add(k, ln_2, p);
}

/*
 * philox_sin_cos() gives sine and cosine of the angle that a word stands for, 2
 * pi (w + 1/2) 2^-32. The nearest multiple q of pi/2 is taken off in integers,
 * which leaves |t| <= pi/4 and never 0; q then swaps and negates.
 */
PHILOX_FN void philox_sin_cos(uint32_t w, float *sine, float *cosine)
{
	const float two_pi_by_2_33 = 7.3145906e-10f;
	uint32_t q = (w + (1u << 29)) >> 30;
	float rest = (float)(int)((w - (q << 30)) * 2u + 1u);
	float t = philox_multiply(rest, two_pi_by_2_33);
	float y = philox_multiply(t, t);
	float s = -0.000194961365f, c = 2.44306702e-05f;
	uint32_t s_bits, c_bits, swap = 0u - (q & 1u), differ;

	s = philox_multiply_add(s, y, 0.00833198335f);
	s = philox_multiply_add(s, y, -0.166666508f);
	s = philox_multiply_add(philox_multiply(t, y), s, t);
	c = philox_multiply_add(c, y, -0.00138873013f);
	c = philox_multiply_add(c, y, 0.0416666456f);
	c = philox_multiply_add(c, y, -0.5f);
	c = philox_multiply_add(c, y, 1.0f);

	s_bits = philox_f32_bits(s);
	c_bits = philox_f32_bits(c);
	differ = (s_bits ^ c_bits) & swap;
	s_bits ^= differ ^ (q & 2u) << 30;
	c_bits ^= differ ^ ((q + 1u) & 2u) << 30;
	*sine = philox_f32_from_bits(s_bits);
	*cosine = philox_f32_from_bits(c_bits);
}

/*
 * philox_normal_pair() makes two independent normal numbers of two words
 * (Box-Muller), the sine first as cuRAND does, within 7e-7 of the exact values
 * of the formula, or 1.2e-6 (2.5 units in the last place) where the radius is 4
 * or more. |x| <= 6.77, and no result is -0.
 */
PHILOX_FN void philox_normal_pair(uint32_t w0, uint32_t w1, float *x, float *y)
{
	float radius = philox_root(philox_minus_2_ln(w0));
	float sine, cosine;

	philox_sin_cos(w1, &sine, &cosine);
	/* adding 0 to the product makes 0 of -0 */
	*x = philox_multiply_add(radius, sine, 0.0f);
	*y = philox_multiply_add(radius, cosine, 0.0f);
}

/*
 * A threshold T = round(p * 2^32), in 33 bits, decides with probability 1 - p
 * whether a word's element is kept; the same T makes Bernoulli numbers, which
 * are 1 where nothing is kept. philox_threshold() is for p in [0, 1].
 */
PHILOX_FN uint64_t philox_threshold(double p)
{
	double exact = p * 4294967296.0;
	uint64_t whole = (uint64_t)exact;

	return whole + (exact - (double)whole >= 0.5);
}

PHILOX_FN int philox_keep(uint32_t w, uint64_t threshold)
{
	return w >= threshold;
}

/*
 * philox_dropout_f32() drops or scales x; what is dropped is 0, even a NaN. A
 * NaN that is kept becomes the one with bits 0x7fc00000, since machines differ
 * in what a product makes of it. The scale of probability p is
 * philox_dropout_scale(p); for p = 1, which keeps nothing, it is 0.
 */
PHILOX_FN float philox_dropout_f32(float x, uint32_t w, uint64_t threshold,
				   float scale)
{
	uint32_t bits = philox_f32_bits(philox_multiply(x, scale));

	if ((bits & 0x7fffffffu) > 0x7f800000u)
		bits = 0x7fc00000u;
	/* no branch: which are kept cannot be predicted */
	return philox_f32_from_bits(bits &
				    (0u - (uint32_t)philox_keep(w, threshold)));
}

PHILOX_FN float philox_dropout_scale(double p)
{
	return p < 1.0 ? (float)(1.0 / (1.0 - p)) : 0.0f;
}

#ifdef __cplusplus
}
#endif
#endif
