/*
 * tests/lanes_avx2.c - tests/lanes.h with AVX2
 */
#ifdef __x86_64__
#include "../lib/simd_avx2.h"
#include "lanes.h"

int (*const lanes_avx2[LANE_CHECKS])(void) = LANES_TABLE;
#else
#include "lanes_list.h"

int (*const lanes_avx2[LANE_CHECKS])(void);
#endif
