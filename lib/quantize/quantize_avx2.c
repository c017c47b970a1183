/*
 * lib/quantize/quantize_avx2.c - the loops that round, with AVX2
 *
 * The Makefile compiles only this file for it.
 */
#ifdef __x86_64__
#define LOOPS_NAME(name) name##_avx2
#include "lib/quantize/loops.h"
#else
typedef int quantize_avx2_nothing; /* a file must not be empty */
#endif
