/*
 * philox/state.h - states, Philox blocks and the derivation of keys
 *
 * The generator is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random
 * numbers: as easy as 1, 2, 3", SC11) in cuRAND's convention. The key is the
 * seed, the low 64 bits of the counter are offset / 4, the high 64 bits are the
 * subsequence.
 *
 * Element layout: element e of an operator's output uses subsequence e / 4 and
 * word e % 4 of it. A 64-bit draw uses subsequence e / 2 and the words 2 (e %
 * 2) (low half) and 2 (e % 2) + 1 (high half). One call consumes one block of
 * every subsequence, so it advances the offset by 4 whatever its size.
 *
 * During capture: all functions here are legal.
 * Threads: any, at any time.
 */
#ifndef PHILOX_STATE_H
#define PHILOX_STATE_H

/*
 * Under NVRTC there is no <stdint.h>. The types are CUDA's own, those of
 * <cuda/std/cstdint>, which may come before or after. Include other definitions
 * before this header; their UINT64_MAX shows that they are there.
 */
#ifndef __CUDACC_RTC__
#if defined(__SIZEOF_POINTER__) && __SIZEOF_POINTER__ != 8
#error "philox is for 64-bit machines: compile without -m32"
#endif
#include <stdint.h>
#elif !defined(UINT64_MAX)
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#endif

/*
 * PHILOX_FN is for all functions except those that few elements need.
 * PHILOX_RARE functions are compiled once, not at each place that may need
 * them. clang defines __CUDA__.
 */
#if defined(__CUDACC__) || defined(__CUDA__)
#define PHILOX_FN   static __host__ __device__ __forceinline__
#define PHILOX_RARE static __host__ __device__ __attribute__((noinline, unused))
#else
#define PHILOX_FN   static inline __attribute__((always_inline, unused))
#define PHILOX_RARE static __attribute__((noinline, unused))
#endif

/* A conversion that C and C++ both write, also with -Wold-style-cast. */
#ifdef __cplusplus
#define PHILOX_CAST(type, value) static_cast<type>(value)
#else
#define PHILOX_CAST(type, value) ((type)(value))
#endif

/*
 * How philox_resolve() reads a cell with one access of 16 bytes; without either
 * it takes two of 8. PTX is for real compilers of device code: __CUDA_ARCH__
 * alone may be a simulation. ThreadSanitizer knows atomics only.
 */
#if defined(__CUDA_ARCH__) && \
	(defined(__NVCC__) || defined(__CUDACC_RTC__) || defined(__CUDA__))
#define PHILOX_CELL_PTX
#elif defined(__SSE2__) && !defined(__SANITIZE_THREAD__)
#define PHILOX_CELL_PAIR
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#undef PHILOX_CELL_PAIR
#endif
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A position in a stream of numbers: 16 bytes, the bytes of a PyTorch CUDA
 * generator state, and the int64[2] that FlashAttention and Transformer Engine
 * read. The offset counts 32-bit words and is a multiple of 4. An odd offset is
 * poison and never a state (see philox_is_poison()).
 */
struct philox_state {
	uint64_t seed;   /* the Philox key, low word first */
	uint64_t offset; /* in 32-bit words, a multiple of 4 */
};

/*
 * The argument of a kernel that draws: a state by value, or the device address
 * of one (a cell of a captured pass). Resolve it once per thread with
 * philox_resolve().
 */
struct philox_rng {
	struct philox_state state;       /* used when cell is a null pointer */
	const struct philox_state *cell; /* device address, or a null pointer */
};

/* One Philox block: four 32-bit words. */
struct philox_words {
	uint32_t w[4];
};

/* The offset of a poisoned cell; every odd offset counts as poison. */
#define PHILOX_POISON_OFFSET 0xffffffffffffffffULL

#ifdef PHILOX_CELL_PAIR
typedef unsigned long long philox_pair
	__attribute__((vector_size(16), may_alias));
#endif

/* An address as a number. */
#ifdef __cplusplus
#define PHILOX_ADDRESS(pointer) reinterpret_cast<uint64_t>(pointer)
#else
#define PHILOX_ADDRESS(pointer) ((uint64_t)(uintptr_t)(pointer))
#endif

/*
 * Return a state from memory that a head, or another thread, may be writing.
 *
 *   cell       address of the state, aligned to 8
 *
 * The result is never half of a state. philox_resolve() calls this function.
 *
 * Cells of captured passes are aligned to 16 bytes, and are written and read
 * there by one access each. On a GPU that is a relaxed access of type b128,
 * which is atomic (PTX ISA, "Memory Consistency Model": a vector of two b64
 * would be two accesses). Compilers before CUDA 12.3 and GPUs before sm_70 have
 * only the vector, and rely on the hardware, which moves the 16 bytes that a
 * thread asks for in one piece. On x86 it is one aligned instruction, which is
 * atomic on CPUs with AVX (Intel's manual, vol. 3A, 9.1.1; AMD's, vol. 2,
 * 7.3.2). On other hosts the offset is read before the seed, and a head writes
 * the seed before the offset, and for poison the offset alone.
 *
 * A kernel that is launched programmatically (cudaLaunchAttributeProgrammatic-
 * StreamSerialization, or a programmatic edge of a graph) may begin before the
 * head that writes its cell has ended. So from sm_90 on this function waits for
 * the kernels before its own, with griddepcontrol.wait, as
 * cudaGridDependencySynchronize() does. That waits for "all prerequisite grids
 * in flight" (PTX ISA); in a kernel that was launched otherwise there are none
 * left, and it is one instruction. What such a kernel is to overlap with those
 * before it, it does before it resolves its state.
 */
PHILOX_FN struct philox_state philox_read_cell(const struct philox_state *cell)
{
	struct philox_state state;

#if defined(PHILOX_CELL_PTX)
#if __CUDA_ARCH__ >= 900
	asm volatile("griddepcontrol.wait;" : : : "memory");
#endif
	if (PHILOX_ADDRESS(cell) % 16)
		return *cell;
#if __CUDA_ARCH__ >= 700 && defined(__CUDACC_VER_MAJOR__) && \
	__CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1203
	asm volatile("{\n\t"
		     ".reg .b128 pair;\n\t"
		     "ld.relaxed.gpu.b128 pair, [%2];\n\t"
		     "mov.b128 {%0, %1}, pair;\n\t"
		     "}"
		     : "=l"(state.seed), "=l"(state.offset)
		     : "l"(cell)
		     : "memory");
#else
	asm volatile("ld.volatile.v2.u64 {%0, %1}, [%2];"
		     : "=l"(state.seed), "=l"(state.offset)
		     : "l"(cell)
		     : "memory");
#endif
#elif defined(PHILOX_CELL_PAIR)
	const void *from = cell;
	void *to = &state;

	if (PHILOX_ADDRESS(cell) % 16)
		return *cell;
	philox_pair pair = *PHILOX_CAST(const volatile philox_pair *, from);

	__builtin_memcpy(to, &pair, sizeof(state));
#else
	state.offset = __atomic_load_n(&cell->offset, __ATOMIC_ACQUIRE);
	state.seed = __atomic_load_n(&cell->seed, __ATOMIC_RELAXED);
#endif
	return state;
}

/*
 * Return the state that an argument of a kernel refers to.
 *
 *   rng        the argument
 *
 * If the graph of a cell is launched without philox while it runs, each call
 * may return another of the states that philox/graph.h names. No result is half
 * of one state and half of another.
 */
PHILOX_FN struct philox_state philox_resolve(struct philox_rng rng)
{
	return rng.cell ? philox_read_cell(rng.cell) : rng.state;
}

/*
 * Return whether a state is poison: 1 if no pass filled it, else 0.
 *
 *   state      the state
 *
 * A poisoned cell is one of a graph that was launched without philox. Kernels
 * then write NaN or all-ones.
 */
PHILOX_FN int philox_is_poison(struct philox_state state)
{
	return PHILOX_CAST(int, state.offset & 1);
}

/*
 * Return high 2^32 + low.
 *
 *   high       the upper 32 bits
 *   low        the lower 32 bits
 */
PHILOX_FN uint64_t philox_join(uint32_t high, uint32_t low)
{
	return PHILOX_CAST(uint64_t, high) << 32 | low;
}

/*
 * Return the upper half of a product of 64 bits.
 *
 *   a          the first factor
 *   b          the second factor
 */
PHILOX_FN uint32_t philox_mulhi(uint32_t a, uint32_t b)
{
#ifdef __CUDA_ARCH__
	return __umulhi(a, b);
#else
	return PHILOX_CAST(uint32_t, PHILOX_CAST(uint64_t, a) * b >> 32);
#endif
}

/*
 * Return the block of Philox4x32-10 of a key at a counter.
 *
 *   seed       the key
 *   low        the low 64 bits of the counter
 *   high       the high 64 bits of the counter
 *
 * Known answers: Random123's kat_vectors.
 */
PHILOX_FN struct philox_words philox_block(uint64_t seed, uint64_t low,
					   uint64_t high)
{
	const uint32_t mult_a = 0xD2511F53u, mult_b = 0xCD9E8D57u;
	const uint32_t step_a = 0x9E3779B9u, step_b = 0xBB67AE85u;
	uint32_t key_a = PHILOX_CAST(uint32_t, seed);
	uint32_t key_b = PHILOX_CAST(uint32_t, seed >> 32);
	uint32_t c0 = PHILOX_CAST(uint32_t, low);
	uint32_t c1 = PHILOX_CAST(uint32_t, low >> 32);
	uint32_t c2 = PHILOX_CAST(uint32_t, high);
	uint32_t c3 = PHILOX_CAST(uint32_t, high >> 32);
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
 * Return the four words of one subsequence at a state.
 *
 *   state         the state
 *   subsequence   the subsequence: of elements 4 * subsequence ..
 *                 4 * subsequence + 3 of an operator's output
 *
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
 * draw). So no draw of the same seed can reach it. Each level has its own
 * plane.
 */
#define PHILOX_FOLD_REGION 0x8000000000000001ULL
#define PHILOX_FOLD_OP     0x8000000000000002ULL
#define PHILOX_FOLD_RANK   0x8000000000000003ULL
#define PHILOX_FOLD_RETRY  0x8000000000000004ULL
#define PHILOX_FOLD_TABLE  0x8000000000000005ULL
#define PHILOX_FOLD_ROW    0x8000000000000006ULL
#define PHILOX_FOLD_AXIS   0x8000000000000007ULL
#define PHILOX_FOLD_ACCEPT 0x8000000000000008ULL
#define PHILOX_FOLD_REST   0x8000000000000009ULL
#define PHILOX_FOLD_ORDER  0x800000000000000aULL
#define PHILOX_FOLD_DATA   0x800000000000000bULL

/*
 * Return the seed that is derived from another for one index of a plane.
 *
 *   seed       the seed to derive from
 *   plane      one of the planes above
 *   index      the index
 */
PHILOX_FN uint64_t philox_fold(uint64_t seed, uint64_t plane, uint64_t index)
{
	struct philox_words block = philox_block(seed, index, plane);

	return philox_join(block.w[1], block.w[0]);
}

/*
 * Return the seed of one call of one operator.
 *
 *   region_seed   its region's seed
 *   op            the operator
 *   call          its call
 */
PHILOX_FN uint64_t philox_op_seed(uint64_t region_seed, uint32_t op,
				  uint32_t call)
{
	return philox_fold(region_seed, PHILOX_FOLD_OP, philox_join(call, op));
}

/*
 * Return the seed of one coordinate of an axis of a mesh (philox/mesh.h).
 *
 *   seed         the seed to derive from
 *   axis         the hash of the axis's name
 *   coordinate   the coordinate; 0 keeps the seed
 *
 * Any coordinate but 0 has a plane of its own, with the coordinate in bits 8 to
 * 39.
 */
PHILOX_FN uint64_t philox_axis_seed(uint64_t seed, uint64_t axis,
				    uint32_t coordinate)
{
	uint64_t plane = PHILOX_CAST(uint64_t, coordinate) << 8;

	return coordinate ? philox_fold(seed, PHILOX_FOLD_AXIS | plane, axis)
			  : seed;
}

/*
 * Return the state for one more try at drawing a rejected element.
 *
 *   state      the state of the element
 *   t          the number of the try: 0, 1, 2 ...
 *
 * Its key comes from the reserved subsequences, so retries consume none of the
 * operator's own words. Exponential and Gumbel numbers take the 32 bits that
 * refine a small word from t = 0 (philox/draw.h).
 */
PHILOX_FN struct philox_state philox_retry_state(struct philox_state state,
						 uint64_t t)
{
	struct philox_state retry;

	retry.seed =
		philox_fold(state.seed, PHILOX_FOLD_RETRY, state.offset / 4);
	retry.offset = 4 * t;
	return retry;
}

#ifdef __cplusplus
}
#endif
#endif
