/*
 * tests/simulated/switches.c - threads of kernels switch at memory accesses
 *
 * [switch-at-access] The kernels are compiled with -fsanitize=thread, for which
 * the compiler calls a function before each access; these are such functions,
 * in place of the sanitizer's, which is not linked. A build with sanitizers has
 * the real ones, or none: there threads switch at fences only.
 */
#include <stddef.h>
#include <stdint.h>
#include "tests/simulated/simulated.h"

#ifndef SIMULATED_SANITIZED
static void access(void)
{
	if (!--simulated_accesses)
		simulated_switch();
}

/* The compiler's names have no header. */
#define ACCESS(name, ...)                \
	void __tsan_##name(__VA_ARGS__); \
	void __tsan_##name(__VA_ARGS__)  \
	{                                \
		access();                \
	}
#define NOTHING(name, ...)               \
	void __tsan_##name(__VA_ARGS__); \
	void __tsan_##name(__VA_ARGS__)  \
	{                                \
	}
#define SIZES(kind)                    \
	ACCESS(kind##1, void *address) \
	ACCESS(kind##2, void *address) \
	ACCESS(kind##4, void *address) \
	ACCESS(kind##8, void *address) \
	ACCESS(kind##16, void *address)

#pragma GCC diagnostic ignored "-Wunused-parameter"
SIZES(read)
SIZES(write)
SIZES(unaligned_read)
SIZES(unaligned_write)
SIZES(volatile_read)
SIZES(volatile_write)
ACCESS(read_range, void *address, size_t size)
ACCESS(write_range, void *address, size_t size)
NOTHING(init, void)
NOTHING(func_entry, void *pointer)
NOTHING(func_exit, void)
NOTHING(vptr_update, void **place, void *value)

/* clang calls these for the compiler's atomics, whatever the function. */
#define ATOMIC(bits)                                                       \
	uint##bits##_t __tsan_atomic##bits##_load(                         \
		const volatile uint##bits##_t *from, int order);           \
	uint##bits##_t __tsan_atomic##bits##_load(                         \
		const volatile uint##bits##_t *from, int order)            \
	{                                                                  \
		return __atomic_load_n(from, __ATOMIC_SEQ_CST);            \
	}                                                                  \
	void __tsan_atomic##bits##_store(volatile uint##bits##_t *to,      \
					 uint##bits##_t value, int order); \
	void __tsan_atomic##bits##_store(volatile uint##bits##_t *to,      \
					 uint##bits##_t value, int order)  \
	{                                                                  \
		__atomic_store_n(to, value, __ATOMIC_SEQ_CST);             \
	}
ATOMIC(32)
ATOMIC(64)
#endif
