/*
 * lib/rows/host.h - a loop for CPUs that fuse, and one for others
 *
 * Where the compiler may not assume fused multiply-adds, loops that need them
 * come in two versions: fmaf() of the C library gives the same bits, only
 * slower.
 */
#ifndef LIB_ROWS_HOST_H
#define LIB_ROWS_HOST_H

#define NO_ATTRIBUTE

#if defined(__x86_64__) && !defined(__FMA__)
#define DEFINE_TWICE(DEFINE, kernel, name, size)                               \
	DEFINE(static, __attribute__((target("fma"))), run_fma_##kernel, name, \
	       size)                                                           \
	DEFINE(static, NO_ATTRIBUTE, run_plain_##kernel, name, size)           \
	void run_##kernel(const void *args)                                    \
	{                                                                      \
		if (__builtin_cpu_supports("fma"))                             \
			run_fma_##kernel(args);                                \
		else                                                           \
			run_plain_##kernel(args);                              \
	}
#else
#define DEFINE_TWICE(DEFINE, kernel, name, size) \
	DEFINE(, NO_ATTRIBUTE, run_##kernel, name, size)
#endif

#endif
