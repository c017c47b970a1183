/*
 * tests/support/oracles/lanes_avx2.c - tests/support/oracles/lanes.h with AVX2
 */
#ifdef __x86_64__
#include "lib/fill/simd/avx2.h"
#include "tests/support/oracles/lanes.h"

int (*const lanes_avx2[LANE_CHECKS])(void) = LANES_TABLE;
#else
#include "tests/support/oracles/lanes_list.h"

int (*const lanes_avx2[LANE_CHECKS])(void);
#endif
