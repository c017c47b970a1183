/*
 * tests/support/oracles/curand.h - cuRAND's device generator, run on the host
 */
#ifndef TESTS_SUPPORT_ORACLE_CURAND_H
#define TESTS_SUPPORT_ORACLE_CURAND_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The results of curand4() and curand_normal4() after curand_init(). */
void oracle_curand4(uint64_t seed, uint64_t subsequence, uint64_t offset,
		    uint32_t words[4]);
void oracle_curand_normal4(uint64_t seed, uint64_t subsequence, uint64_t offset,
			   float normals[4]);

#ifdef __cplusplus
}
#endif
#endif
