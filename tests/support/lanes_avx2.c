/*
 * tests/support/lanes_avx2.c - tests/support/lanes.h with AVX2
 */
#ifdef __x86_64__
#include "lib/fill/simd/avx2.h"
#include "tests/support/lanes.h"

int (*const lanes_avx2[LANE_CHECKS])(void) = LANES_TABLE;
#else
#include "tests/support/lanes_list.h"

int (*const lanes_avx2[LANE_CHECKS])(void);
#endif
