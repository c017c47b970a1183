/*
 * tests/lanes_avx512.c - tests/lanes.h with AVX-512
 */
#ifdef __x86_64__
#include "../lib/simd_avx512.h"
#include "lanes.h"

int (*const lanes_avx512[LANE_CHECKS])(void) = LANES_TABLE;
#else
#include "lanes_list.h"

int (*const lanes_avx512[LANE_CHECKS])(void);
#endif
