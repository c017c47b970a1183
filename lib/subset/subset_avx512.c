/*
 * lib/subset/subset_avx512.c - the keys of items, with AVX-512
 *
 * The Makefile compiles only this file for it.
 */
#ifdef __x86_64__
#define LOOPS_NAME(name) name##_avx512
#include "lib/subset/loops.h"
#else
typedef int subset_avx512_nothing; /* a file must not be empty */
#endif
