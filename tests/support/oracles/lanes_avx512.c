/*
 * tests/support/oracles/lanes_avx512.c - tests/support/oracles/lanes.h with
 * AVX-512
 */
#ifdef __x86_64__
#include "lib/fill/simd/avx512.h"
#include "tests/support/oracles/lanes.h"

int (*const lanes_avx512[LANE_CHECKS])(void) = LANES_TABLE;
#else
#include "tests/support/oracles/lanes_list.h"

int (*const lanes_avx512[LANE_CHECKS])(void);
#endif
