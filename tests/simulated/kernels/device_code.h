/*
 * tests/simulated/kernels/device_code.h - CUDA's device code as C++ for the CPU
 *
 * The built-ins of nvcc, as macros and functions: included before the source of
 * kernels. Device code is compiled with __CUDA_ARCH__ set, and so is host code
 * of the same file, as in nvcc's second pass.
 */
#ifndef TESTS_SIMULATED_DEVICE_CODE_H
#define TESTS_SIMULATED_DEVICE_CODE_H

/* These depend on the macros below, or have names that they use. */
#include <fenv.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <algorithm>
#include <tuple>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include "tests/simulated/simulated.h"

/* A file may ask for another one, to have its PTX. */
#ifndef SIMULATED_ARCH
#define SIMULATED_ARCH 900
#endif

#undef __CUDA_ARCH__
#define __CUDACC__    1
#define __CUDA_ARCH__ SIMULATED_ARCH

/* switches.c stands for the sanitizer: a cell is read as one, as on a GPU. */
#undef __SANITIZE_THREAD__

#undef __host__
#undef __device__
#undef __global__
#undef __shared__
#undef __forceinline__
#undef __noinline__
#undef __launch_bounds__
#undef __grid_constant__
#define __host__
#define __device__
#define __global__
#define __shared__      static __attribute__((section("simulated_shared"), used))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__    __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__

#define threadIdx simulated_thread
#define blockIdx  simulated_block
#define blockDim  simulated_threads
#define gridDim   simulated_blocks

/* --- who waits for whom --------------------------------------------------- */

#define __syncthreads()        simulated_barrier(__FILE__, __LINE__)
#define __threadfence()        simulated_fence()

/* A thread waits where it arrives. */
#define __cluster_barrier_arrive()            simulated_cluster_barrier(__FILE__, __LINE__)
#define __cluster_barrier_wait()              (void)0
#define __clusterSizeInBlocks()               simulated_cluster_size()
#define __clusterRelativeBlockRank()          simulated_cluster_rank()
#define __cluster_map_shared_rank(mine, rank) simulated_shared_of(mine, rank)
#define __threadfence_system() simulated_fence()
#define __syncwarp() \
	(void)simulated_shuffle(0xffffffffu, 0, 0, __FILE__, __LINE__)
#define __shfl_xor_sync(mask, value, apart) \
	simulated_shuffle(mask, value, (unsigned)(apart), __FILE__, __LINE__)

/* From any lane. */
#define __shfl_sync(mask, value, from)                                         \
	((decltype(value))simulated_shuffle(mask, (unsigned long long)(value), \
					    simulated_thread.x % 32 ^          \
						    (unsigned)(from),          \
					    __FILE__, __LINE__))

#define __any_sync(mask, predicate) \
	simulated_any(mask, !!(predicate), __FILE__, __LINE__)

static inline int simulated_any(unsigned mask, unsigned long long any,
				const char *file, int line)
{
	for (unsigned apart = 1; apart < 32; apart *= 2)
		any |= simulated_shuffle(mask, any, apart, file, line);
	return any != 0;
}

/* A function in which no other thread goes on but at its fences. */
#define SIMULATED_ATOMIC __attribute__((no_sanitize("thread"), noinline))

template <typename T, typename U>
SIMULATED_ATOMIC static T atomicAdd(T *to, U value)
{
	T before = *to;

	*to = before + (T)value;
	simulated_fence();
	return before;
}

template <typename T, typename U>
SIMULATED_ATOMIC static T atomicMin(T *to, U value)
{
	T before = *to;

	if ((T)value < before)
		*to = (T)value;
	simulated_fence();
	return before;
}

template <typename T, typename U>
SIMULATED_ATOMIC static T atomicMax(T *to, U value)
{
	T before = *to;

	if ((T)value > before)
		*to = (T)value;
	simulated_fence();
	return before;
}

template <typename T, typename U>
SIMULATED_ATOMIC static T atomicOr(T *to, U value)
{
	T before = *to;

	*to |= (T)value;
	simulated_fence();
	return before;
}

/* --- arithmetic ----------------------------------------------------------- */

static inline int __ffs(int bits)
{
	return __builtin_ffs(bits);
}

static inline float __fmaf_ieee_rn(float a, float b, float c)
{
	return __builtin_fmaf(a, b, c);
}

static inline double __fma_rn(double a, double b, double c)
{
	return __builtin_fma(a, b, c);
}

static inline double __dmul_rn(double a, double b)
{
	return a * b;
}

static inline double __dadd_rn(double a, double b)
{
	return a + b;
}

static inline double __ddiv_rn(double a, double b)
{
	return a / b;
}

static inline double __dsqrt_rn(double x)
{
	return __builtin_sqrt(x);
}

static inline float __frcp_rn(float x)
{
	return 1.0f / x;
}

static inline float __fdiv_rn(float x, float y)
{
	return x / y;
}

static inline unsigned __umulhi(unsigned a, unsigned b)
{
	return (unsigned)((unsigned long long)a * b >> 32);
}

static inline unsigned __funnelshift_r(unsigned low, unsigned high,
				       unsigned shift)
{
	return (unsigned)(((unsigned long long)high << 32 | low) >>
			  (shift & 31));
}

/* Bytes of b and a, chosen by the digits of `which`. */
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned which)
{
	unsigned long long bytes = (unsigned long long)b << 32 | a;
	unsigned result = 0;

	for (int i = 0; i < 4; i++)
		result |= (unsigned)(bytes >> (which >> 4 * i & 7) * 8 & 0xff)
			  << 8 * i;
	return result;
}

static inline unsigned long long __umul64hi(unsigned long long a,
					    unsigned long long b)
{
	return (unsigned long long)((unsigned __int128)a * b >> 64);
}

/* --- bits ----------------------------------------------------------------- */

template <typename To, typename From> static inline To simulated_bits(From x)
{
	To to;

	static_assert(sizeof(to) == sizeof(x), "the same bits");
	memcpy(&to, &x, sizeof(to));
	return to;
}

static inline unsigned __float_as_uint(float x)
{
	return simulated_bits<unsigned>(x);
}

static inline float __uint_as_float(unsigned x)
{
	return simulated_bits<float>(x);
}

static inline long long __double_as_longlong(double x)
{
	return simulated_bits<long long>(x);
}

static inline double __longlong_as_double(long long x)
{
	return simulated_bits<double>(x);
}

/* --- PTX ------------------------------------------------------------------ */

/*
 * The PTX instructions in philox/real.h, philox/values.h, lib/dist/narrow.h and
 * lib/dist/ranges.h, with their operands. Those of 16-bit numbers are functions
 * of NVIDIA's headers, whose C++ gives their results; but a NaN has any sign
 * where the PTX manual does not say which one it is. The inverse root is wrong
 * by up to 2^-22.95, about what that manual allows, one way or the other.
 */
#define SIMULATED_PTX(X)                                                      \
	X(multiply, "mul.rn.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b)) \
	X(subtract, "sub.rn.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b)) \
	X(sum, "add.rn.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b))      \
	X(down, "fma.rm.f32 %0, %1, %2, %3;"                                  \
	  : "=f"(result)                                                      \
	  : "f"(a), "f"(b), "f"(c))                                           \
	X(clipped, "fma.rn.sat.f32 %0, %1, %2, %3;"                           \
	  : "=f"(result)                                                      \
	  : "f"(a), "f"(b), "f"(c))                                           \
	X(pack, "mov.b64 %0, {%1, %2};" : "=l"(result) : "f"(a), "f"(b))      \
	X(first, "{.reg .f32 b; mov.b64 {%0, b}, %1;}"                        \
	  : "=f"(result)                                                      \
	  : "l"(a))                                                           \
	X(second, "{.reg .f32 b; mov.b64 {b, %0}, %1;}"                       \
	  : "=f"(result)                                                      \
	  : "l"(a))                                                           \
	X(two_sums, "add.rn.f32x2 %0, %1, %2;"                                \
	  : "=l"(result)                                                      \
	  : "l"(a), "l"(b))                                                   \
	X(two_products, "mul.rn.f32x2 %0, %1, %2;"                            \
	  : "=l"(result)                                                      \
	  : "l"(a), "l"(b))                                                   \
	X(two_near, "fma.rn.f32x2 %0, %1, %2, %3;"                            \
	  : "=l"(result)                                                      \
	  : "l"(a), "l"(b), "l"(c))                                           \
	X(two_down, "fma.rm.f32x2 %0, %1, %2, %3;"                            \
	  : "=l"(result)                                                      \
	  : "l"(a), "l"(b), "l"(c))                                           \
	X(quotient, "div.rn.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b)) \
	X(minus, "neg.f32 %0, %1;" : "=f"(result) : "f"(a))                   \
	X(lesser,                                                             \
	  "{.reg .pred p; setp.lt.f32 p, %1, %2; selp.f32 %0, %1, %2, p;}"    \
	  : "=f"(result)                                                      \
	  : "f"(a), "f"(b))                                                   \
	X(greater,                                                            \
	  "{.reg .pred p; setp.gt.f32 p, %1, %2; selp.f32 %0, %1, %2, p;}"    \
	  : "=f"(result)                                                      \
	  : "f"(a), "f"(b))                                                   \
	X(whole, "cvt.rzi.u32.f32 %0, %1;" : "=r"(result) : "f"(a))           \
	X(f32_of, "cvt.rn.f32.f64 %0, %1;" : "=f"(result) : "d"(a))           \
	X(f64_of, "cvt.f64.f32 %0, %1;" : "=d"(result) : "f"(a))              \
	X(root, "sqrt.rn.f32 %0, %1;" : "=f"(result) : "f"(a))                \
	X(inverse_root, "rsqrt.approx.ftz.f32 %0, %1;"                        \
	  : "=f"(result)                                                      \
	  : "f"(a))                                                           \
	X(to_bf16, "cvt.rn.bf16.f32 %0, %1;" : "=h"(result) : "f"(a))         \
	X(to_f16, "cvt.rn.f16.f32 %0, %1;" : "=h"(result) : "f"(a))           \
	X(from_f16, "cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(a))            \
	X(to_two_bf16, "cvt.rn.bf16x2.f32 %0, %1, %2;"                        \
	  : "=r"(result)                                                      \
	  : "f"(a), "f"(b))                                                   \
	X(to_two_f16, "cvt.rn.f16x2.f32 %0, %1, %2;"                          \
	  : "=r"(result)                                                      \
	  : "f"(a), "f"(b))                                                   \
	X(cut_two_f16, "cvt.rz.f16x2.f32 %0, %1, %2;"                         \
	  : "=r"(result)                                                      \
	  : "f"(a), "f"(b))                                                   \
	X(canonical_two_bf16, "min.NaN.bf16x2 %0, %1, %1;"                    \
	  : "=r"(result)                                                      \
	  : "r"(a))                                                           \
	X(canonical_two_f16, "min.NaN.f16x2 %0, %1, %1;"                      \
	  : "=r"(result)                                                      \
	  : "r"(a))                                                           \
	X(least_two, "min.s16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b)) \
	X(product_two, "{.reg .b32 c; mov.b32 c, 0x80008000; "                \
		       "fma.rn.bf16x2 %0, %1, %2, c;}"                        \
	  : "=r"(result)                                                      \
	  : "r"(a), "r"(b))                                                   \
	X(min, "min.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b))         \
	X(max, "max.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b))         \
	X(min_two, "min.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b))  \
	X(max_two, "max.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b))  \
	X(min_two_f16, "min.f16x2 %0, %1, %2;"                                \
	  : "=r"(result)                                                      \
	  : "r"(a), "r"(b))                                                   \
	X(max_two_f16, "max.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b))

static inline float simulated_multiply(float a, float b)
{
	return a * b;
}

static inline float simulated_quotient(float a, float b)
{
	return a / b;
}

static inline float simulated_subtract(float a, float b)
{
	return a - b;
}

static inline float simulated_sum(float a, float b)
{
	return a + b;
}

/* Rounding is the CPU's, so that this shares nothing with what it tests. */
static inline float simulated_down(float a, float b, float c)
{
	volatile float x = a, result;

	fesetround(FE_DOWNWARD);
	result = __builtin_fmaf(x, b, c);
	fesetround(FE_TONEAREST);
	return result;
}

static inline float simulated_clipped(float a, float b, float c)
{
	float x = __builtin_fmaf(a, b, c);

	return x > 0 ? x < 1 ? x : 1 : 0;
}

static inline uint64_t simulated_pack(float a, float b)
{
	return (uint64_t)__float_as_uint(b) << 32 | __float_as_uint(a);
}

static inline float simulated_first(uint64_t a)
{
	return __uint_as_float((unsigned)a);
}

static inline float simulated_second(uint64_t a)
{
	return __uint_as_float((unsigned)(a >> 32));
}

/* one(a, b, ...) of the first numbers, and of the second. */
template <typename F, typename... T>
static inline uint64_t simulated_each(F one, T... inputs)
{
	return simulated_pack(one(simulated_first(inputs)...),
			      one(simulated_second(inputs)...));
}

static inline uint64_t simulated_two_sums(uint64_t a, uint64_t b)
{
	return simulated_each(simulated_sum, a, b);
}

static inline uint64_t simulated_two_products(uint64_t a, uint64_t b)
{
	return simulated_each(simulated_multiply, a, b);
}

static inline uint64_t simulated_two_near(uint64_t a, uint64_t b, uint64_t c)
{
	return simulated_each(__fmaf_ieee_rn, a, b, c);
}

static inline uint64_t simulated_two_down(uint64_t a, uint64_t b, uint64_t c)
{
	return simulated_each(simulated_down, a, b, c);
}

static inline float simulated_minus(float a)
{
	return -a;
}

static inline float simulated_lesser(float a, float b)
{
	return a < b ? a : b;
}

static inline float simulated_greater(float a, float b)
{
	return a > b ? a : b;
}

static inline uint32_t simulated_whole(float a)
{
	return (uint32_t)a;
}

static inline float simulated_f32_of(double a)
{
	return (float)a;
}

static inline double simulated_f64_of(float a)
{
	return a;
}

static inline float simulated_root(float a)
{
	return __builtin_sqrtf(a);
}

static inline float simulated_inverse_root(float a)
{
	double wrong = __float_as_uint(a) & 1 ? 0x1.1p-24 : -0x1.1p-24;

	return (float)((1 + wrong) / __builtin_sqrt((double)a));
}

static inline uint16_t simulated_to_bf16(float a)
{
	return __nv_bfloat16_raw(__float2bfloat16_rn(a)).x;
}

static inline uint16_t simulated_to_f16(float a)
{
	return __half_raw(__float2half_rn(a)).x;
}

static inline float simulated_from_f16(uint16_t a)
{
	__half_raw raw;

	raw.x = a;
	return __half2float(raw);
}

/* x, or a NaN with the sign of a, which may be one. */
static inline uint32_t simulated_or_nan(float a, uint16_t x)
{
	return a == a ? x : __float_as_uint(a) >> 16 | 0x7fffu;
}

static inline uint32_t simulated_to_two_bf16(float a, float b)
{
	return simulated_or_nan(a, simulated_to_bf16(a)) << 16 |
	       simulated_or_nan(b, simulated_to_bf16(b));
}

static inline uint32_t simulated_to_two_f16(float a, float b)
{
	return simulated_or_nan(a, simulated_to_f16(a)) << 16 |
	       simulated_or_nan(b, simulated_to_f16(b));
}

/* Each half that is above infinity, without its sign, becomes the NaN. */
static inline uint32_t simulated_canonical(uint32_t a, uint32_t infinity)
{
	uint32_t high = (a >> 16 & 0x7fffu) > infinity ? 0x7fffu : a >> 16;
	uint32_t low = (a & 0x7fffu) > infinity ? 0x7fffu : a & 0xffffu;

	return high << 16 | low;
}

static inline uint32_t simulated_canonical_two_bf16(uint32_t a)
{
	return simulated_canonical(a, 0x7f80u);
}

static inline uint32_t simulated_canonical_two_f16(uint32_t a)
{
	return simulated_canonical(a, 0x7c00u);
}

static inline uint32_t simulated_cut_two_f16(float a, float b)
{
	return (uint32_t)__half_raw(__float2half_rz(a)).x << 16 |
	       __half_raw(__float2half_rz(b)).x;
}

static inline uint32_t simulated_least_two(uint32_t a, uint32_t b)
{
	int16_t high = std::min((int16_t)(a >> 16), (int16_t)(b >> 16));
	int16_t low = std::min((int16_t)a, (int16_t)b);

	return (uint32_t)(uint16_t)high << 16 | (uint16_t)low;
}

/*
 * The place of a number in their order, in which 0 follows -0; for NaNs there
 * is none. The order of bits is that of both 16-bit types.
 */
static inline int32_t simulated_place(uint32_t bits, uint32_t sign)
{
	return bits & sign ? -(int32_t)(bits & (sign - 1)) - 1 : (int32_t)bits;
}

static inline bool simulated_is_less(float a, float b)
{
	return simulated_place(__float_as_uint(a), 1u << 31) <
	       simulated_place(__float_as_uint(b), 1u << 31);
}

static inline float simulated_min(float a, float b)
{
	return simulated_is_less(a, b) ? a : b;
}

static inline float simulated_max(float a, float b)
{
	return simulated_is_less(a, b) ? b : a;
}

/* Of each two halves the lesser one, or the other. */
static inline uint32_t simulated_of_two(uint32_t a, uint32_t b, bool less)
{
	uint32_t result = 0;

	for (int at = 0; at < 32; at += 16) {
		uint32_t x = a >> at & 0xffffu, y = b >> at & 0xffffu;
		bool is_less = simulated_place(x, 0x8000u) <
			       simulated_place(y, 0x8000u);

		result |= (is_less == less ? x : y) << at;
	}
	return result;
}

static inline uint32_t simulated_min_two(uint32_t a, uint32_t b)
{
	return simulated_of_two(a, b, true);
}

static inline uint32_t simulated_max_two(uint32_t a, uint32_t b)
{
	return simulated_of_two(a, b, false);
}

#define simulated_min_two_f16 simulated_min_two
#define simulated_max_two_f16 simulated_max_two

/* Of numbers whose product is a bf16. */
static inline uint32_t simulated_product_two(uint32_t a, uint32_t b)
{
	uint32_t result = 0;

	for (int at = 0; at < 32; at += 16) {
		float x = __uint_as_float((a >> at & 0xffffu) << 16);
		float y = __uint_as_float((b >> at & 0xffffu) << 16);

		result |= (uint32_t)simulated_to_bf16(x * y) << at;
	}
	return result;
}

enum simulated_ptx {
#define SIMULATED_ENUM(name, ...) SIMULATED_PTX_##name,
	SIMULATED_PTX(SIMULATED_ENUM)
#undef SIMULATED_ENUM
};

constexpr bool simulated_same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

/* The place of an instruction in the list, or -1. */
constexpr int simulated_which(const char *text)
{
#define SIMULATED_LOOK(name, ...)               \
	if (simulated_same(text, #__VA_ARGS__)) \
		return SIMULATED_PTX_##name;
	SIMULATED_PTX(SIMULATED_LOOK)
#undef SIMULATED_LOOK
	return -1;
}

template <int which> struct simulated_instruction {
	static_assert(which >= 0, "PTX unknown to device_code.h");
};

#define SIMULATED_RUN(name, ...)                                         \
	template <> struct simulated_instruction<SIMULATED_PTX_##name> { \
		template <typename... T> static auto run(T... inputs)    \
		{                                                        \
			return simulated_##name(inputs...);              \
		}                                                        \
	};
SIMULATED_PTX(SIMULATED_RUN)
#undef SIMULATED_RUN

/* Only the inputs have commas between them; they are called a, b and c. */
#define asm(...)                                                            \
	result = simulated_instruction<simulated_which(#__VA_ARGS__)>::run( \
		SIMULATED_INPUTS(__VA_ARGS__, (a, b, c), (a, b), (a), ))
#define SIMULATED_INPUTS(first, second, third, inputs, ...) \
	SIMULATED_PLAIN inputs
#define SIMULATED_PLAIN(...) __VA_ARGS__

/* --- registering kernels -------------------------------------------------- */

template <typename... P> struct simulated_parameters {
	typedef void (*function)(P...);
	typedef std::tuple<P...> packed;

	/* [parameter-bytes] As CUDA lays them out, one after the other. */
	static constexpr size_t size()
	{
		size_t bytes = 0;

		((bytes = (bytes + alignof(P) - 1) / alignof(P) * alignof(P) +
			  sizeof(P)),
		 ...);
		return bytes;
	}

	template <size_t... i>
	static void make(void *to, void *const *from, std::index_sequence<i...>)
	{
		*(packed *)to = packed(*(P *)from[i]...);
	}

	static void pack(void *to, void *const *from)
	{
		make(to, from, std::index_sequence_for<P...>());
	}
};

template <typename... P>
simulated_parameters<P...> simulated_of(void (*)(P...));

/* One for each kernel: SIMULATED_KERNEL(function) at the end of its file. */
template <auto function> struct simulated_known {
	typedef decltype(simulated_of(function)) parameters;

	static void thread(const void *packed)
	{
		std::apply(function,
			   *(const typename parameters::packed *)packed);
	}

	explicit simulated_known(const char *name)
	{
		static struct simulated_kernel kernel = {
			(const void *)function,
			NULL,
			parameters::size(),
			__BASE_FILE__,
			0,
			sizeof(typename parameters::packed),
			parameters::pack,
			thread,
			NULL};

		kernel.name = name;
		simulated_register(&kernel);
	}
};

#define SIMULATED_JOIN(a, b) a##b
#define SIMULATED_NAME(a, b) SIMULATED_JOIN(a, b)
#define SIMULATED_KERNEL(...)                                     \
	static const simulated_known<__VA_ARGS__> SIMULATED_NAME( \
		known_, __COUNTER__)(#__VA_ARGS__);

#endif
