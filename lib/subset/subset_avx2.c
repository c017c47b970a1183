/*
 * lib/subset/subset_avx2.c - the keys of items, with AVX2
 *
 * The Makefile compiles only this file for it.
 */
#ifdef __x86_64__
#define LOOPS_NAME(name) name##_avx2
#include "lib/subset/loops.h"
#else
typedef int subset_avx2_nothing; /* a file must not be empty */
#endif
