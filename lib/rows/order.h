/*
 * lib/rows/order.h - how threads of one launch see each other's writes
 *
 * Part of lib/rows/elements.h; Note [Rows that advance once] in
 * lib/device/rows_kernels.h says why. On a GPU each is one instruction of the
 * PTX memory model: a whole fence, __threadfence(), costs more than the reads
 * around it. A host loop runs alone. The tests, whose threads are of another
 * kind, define all of these first.
 *
 *   ROWS_LOAD(from)           *from, before all that the thread does later
 *   ROWS_PEEK(from)           *from, in no order
 *   ROWS_STORE(to, value)     *to = value, after all that it did before
 *   ROWS_RAISE(to, value)     *to becomes the greater of the two, after all that
 *                             it did before
 *   ROWS_TELL(to, value)      *to = value, the same as the host sees it
 *   ROWS_ADD(to, value)       *to += value, in no order
 *   ROWS_MAX(to, value)       *to becomes the greater of the two, in no order
 *   ROWS_ARRIVE(to)           (*to)++, before all later and after all before
 */
#ifndef LIB_ROWS_ORDER_H
#define LIB_ROWS_ORDER_H

#include <stdint.h>

#if defined(ROWS_LOAD)
/* defined before, see above */
#elif defined(__CUDA_ARCH__)

static __device__ __forceinline__ uint64_t rows_load(const uint64_t *from)
{
	uint64_t value;

	asm volatile("ld.acquire.gpu.u64 %0, [%1];"
		     : "=l"(value)
		     : "l"(from)
		     : "memory");
	return value;
}

static __device__ __forceinline__ uint64_t rows_peek(const uint64_t *from)
{
	uint64_t value;

	asm volatile("ld.relaxed.gpu.u64 %0, [%1];"
		     : "=l"(value)
		     : "l"(from)
		     : "memory");
	return value;
}

static __device__ __forceinline__ void rows_store(uint64_t *to, uint64_t value)
{
	asm volatile("st.release.gpu.u64 [%0], %1;"
		     :
		     : "l"(to), "l"(value)
		     : "memory");
}

static __device__ __forceinline__ void rows_raise(uint64_t *to, uint64_t value)
{
	asm volatile("red.release.gpu.max.u64 [%0], %1;"
		     :
		     : "l"(to), "l"(value)
		     : "memory");
}

static __device__ __forceinline__ void rows_tell(uint64_t *to, uint64_t value)
{
	asm volatile("st.release.sys.u64 [%0], %1;"
		     :
		     : "l"(to), "l"(value)
		     : "memory");
}

static __device__ __forceinline__ uint32_t rows_arrive(uint32_t *to)
{
	uint32_t before;

	asm volatile("atom.acq_rel.gpu.add.u32 %0, [%1], 1;"
		     : "=r"(before)
		     : "l"(to)
		     : "memory");
	return before;
}

#define ROWS_LOAD(from)       rows_load(from)
#define ROWS_PEEK(from)       rows_peek(from)
#define ROWS_STORE(to, value) rows_store(to, value)
#define ROWS_RAISE(to, value) rows_raise(to, value)
#define ROWS_TELL(to, value)  rows_tell(to, value)
#define ROWS_ADD(to, value) \
	atomicAdd((unsigned long long *)(to), (unsigned long long)(value))
#define ROWS_MAX(to, value) \
	atomicMax((unsigned long long *)(to), (unsigned long long)(value))
#define ROWS_ARRIVE(to) rows_arrive(to)

#else

#define ROWS_LOAD(from)       (*(from))
#define ROWS_PEEK(from)       (*(from))
#define ROWS_STORE(to, value) (*(to) = (value))
#define ROWS_RAISE(to, value) (*(to) = *(to) < (value) ? (value) : *(to))
#define ROWS_TELL(to, value)  __atomic_store_n(to, value, __ATOMIC_RELEASE)
#define ROWS_ADD(to, value)   (*(to) += (value))
#define ROWS_MAX(to, value)   (*(to) = *(to) < (value) ? (value) : *(to))
#define ROWS_ARRIVE(to)       ((*(to))++)

#endif

#endif
