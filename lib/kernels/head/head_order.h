/*
 * lib/kernels/head/head_order.h - what heads do with memory that others use
 * meanwhile
 *
 * Part of lib/kernels/head/head_elements.h; Note [Head] in
 * graph/capture/capture.h says why this is enough. Tests, whose threads are of
 * another kind, define all of these first.
 *
 *   HEAD_RAISE(to, value)     *to becomes the greater of the two; what it was
 *   HEAD_ADD(to, value)       *to += value; what it was
 *   HEAD_LOAD(from)           *from
 *   HEAD_TELL(to, value)      *to = value, in memory that the host reads
 *   HEAD_STORE(cell, state)   *cell = state, in one piece
 *   HEAD_ENTRY(from)          *from, an entry of the map, which does not change
 *
 * HEAD_ADD, HEAD_LOAD and HEAD_TELL happen in the order of the program, the
 * same for all who look. HEAD_RAISE and HEAD_STORE have no order: a launch's
 * kernels come after its head.
 */
#ifndef LIB_KERNELS_HEAD_HEAD_ORDER_H
#define LIB_KERNELS_HEAD_HEAD_ORDER_H

#include <string.h>
#include "lib/device/kernels.h"

#if defined(HEAD_STORE)
/* defined before, see above */
#elif defined(__CUDA_ARCH__)

static __device__ __forceinline__ uint64_t head_raise(uint64_t *to,
						      uint64_t value)
{
	uint64_t before;

	asm volatile("atom.relaxed.gpu.global.max.u64 %0, [%1], %2;"
		     : "=l"(before)
		     : "l"(to), "l"(value)
		     : "memory");
	return before;
}

static __device__ __forceinline__ uint64_t head_add(uint64_t *to,
						    uint64_t value)
{
	__threadfence_system();
	return atomicAdd(reinterpret_cast<unsigned long long *>(to),
			 static_cast<unsigned long long>(value));
}

static __device__ __forceinline__ uint64_t head_load(const uint64_t *from)
{
	__threadfence_system();
	return *static_cast<const volatile uint64_t *>(from);
}

static __device__ __forceinline__ void head_tell(uint64_t *to, uint64_t value)
{
	__threadfence_system();
	*static_cast<volatile uint64_t *>(to) = value;
}

/* Without b128 it is a vector: see philox_read_cell() for what that needs. */
static __device__ __forceinline__ void head_store(philox_state *cell,
						  philox_state state)
{
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1203
	asm volatile("{\n\t"
		     ".reg .b128 pair;\n\t"
		     "mov.b128 pair, {%1, %2};\n\t"
		     "st.relaxed.gpu.global.b128 [%0], pair;\n\t"
		     "}"
		     :
		     : "l"(cell), "l"(state.seed), "l"(state.offset)
		     : "memory");
#else
	asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};"
		     :
		     : "l"(cell), "l"(state.seed), "l"(state.offset)
		     : "memory");
#endif
}

static __device__ __forceinline__ head_cell head_entry(const head_cell *from)
{
	const ulonglong2 *words = reinterpret_cast<const ulonglong2 *>(from);
	const ulonglong2 low = __ldg(words), high = __ldg(words + 1);
	head_cell entry;

	entry.cell = reinterpret_cast<philox_state *>(low.x);
	entry.shift = low.y;
	entry.slot = static_cast<uint32_t>(high.x);
	entry.plain = static_cast<uint32_t>(high.x >> 32);
	entry.op = static_cast<uint32_t>(high.y);
	entry.call = static_cast<uint32_t>(high.y >> 32);
	return entry;
}

#define HEAD_RAISE(to, value)   head_raise(to, value)
#define HEAD_ADD(to, value)     head_add(to, value)
#define HEAD_LOAD(from)         head_load(from)
#define HEAD_TELL(to, value)    head_tell(to, value)
#define HEAD_STORE(cell, state) head_store(cell, state)
#define HEAD_ENTRY(from)        head_entry(from)

#else

PHILOX_FN uint64_t head_raise(uint64_t *to, uint64_t value)
{
	uint64_t before = __atomic_load_n(to, __ATOMIC_RELAXED);

	while (before < value &&
	       !__atomic_compare_exchange_n(to, &before, value, 1,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
	return before;
}

/* Where this takes two stores it is the counterpart of philox_read_cell(). */
PHILOX_FN void head_store(struct philox_state *cell, struct philox_state state)
{
#ifdef PHILOX_CELL_PAIR
	void *to = cell;
	philox_pair pair;

	memcpy(&pair, &state, sizeof(pair));
	*PHILOX_CAST(volatile philox_pair *, to) = pair;
#else
	if (!philox_is_poison(state))
		__atomic_store_n(&cell->seed, state.seed, __ATOMIC_RELAXED);
	__atomic_store_n(&cell->offset, state.offset, __ATOMIC_RELEASE);
#endif
}

/* A value that looks like poison is a value: both halves are stored. */
PHILOX_FN void head_store_plain(struct philox_state *cell,
				struct philox_state state)
{
#ifdef PHILOX_CELL_PAIR
	head_store(cell, state);
#else
	__atomic_store_n(&cell->seed, state.seed, __ATOMIC_RELAXED);
	__atomic_store_n(&cell->offset, state.offset, __ATOMIC_RELEASE);
#endif
}

#define HEAD_RAISE(to, value)   head_raise(to, value)
#define HEAD_ADD(to, value)     __atomic_fetch_add(to, value, __ATOMIC_SEQ_CST)
#define HEAD_LOAD(from)         __atomic_load_n(from, __ATOMIC_SEQ_CST)
#define HEAD_TELL(to, value)    __atomic_store_n(to, value, __ATOMIC_SEQ_CST)
#define HEAD_STORE(cell, state) head_store(cell, state)
#define HEAD_ENTRY(from)        (*(from))

#endif

#endif
