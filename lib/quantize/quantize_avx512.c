/*
 * lib/quantize/quantize_avx512.c - the loops that round, with AVX-512
 *
 * The Makefile compiles only this file for it.
 */
#ifdef __x86_64__
#define LOOPS_NAME(name) name##_avx512
#include "lib/quantize/loops.h"
#else
typedef int quantize_avx512_nothing; /* a file must not be empty */
#endif
