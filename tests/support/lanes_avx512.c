/*
 * tests/support/lanes_avx512.c - tests/support/lanes.h with AVX-512
 */
#ifdef __x86_64__
#include "lib/fill/simd/avx512.h"
#include "tests/support/lanes.h"

int (*const lanes_avx512[LANE_CHECKS])(void) = LANES_TABLE;
#else
#include "tests/support/lanes_list.h"

int (*const lanes_avx512[LANE_CHECKS])(void);
#endif
