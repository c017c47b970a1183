/*
 * tests/support/oracles/lanes_list.h - the checks of
 * tests/support/oracles/lanes.h, for each instruction set
 */
#ifndef TESTS_SUPPORT_LANES_LIST_H
#define TESTS_SUPPORT_LANES_LIST_H

enum { LANE_ARGUMENTS = 1 << 18, LANE_CHECKS = 13 };

/* Each is 1 if all its lanes have the scalar function's bits. */
extern int (*const lanes_avx2[LANE_CHECKS])(void);
extern int (*const lanes_avx512[LANE_CHECKS])(void);

#endif
