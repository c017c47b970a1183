/*
 * tests/support/oracles/curand.cpp - cuRAND's device header compiled for the
 * host
 *
 * The functions of curand_kernel.h are declared with QUALIFIERS, which can be
 * defined so that a host compiler takes them.
 */
#ifdef PHILOX_ORACLE_CURAND

#define QUALIFIERS static inline __attribute__((unused))
#include <cuda_runtime.h>
#include <curand_kernel.h>
#include "tests/support/oracles/curand.h"

void oracle_curand4(uint64_t seed, uint64_t subsequence, uint64_t offset,
		    uint32_t words[4])
{
	curandStatePhilox4_32_10_t state;

	curand_init(seed, subsequence, offset, &state);
	uint4 block = curand4(&state);
	words[0] = block.x;
	words[1] = block.y;
	words[2] = block.z;
	words[3] = block.w;
}

void oracle_curand_normal4(uint64_t seed, uint64_t subsequence, uint64_t offset,
			   float normals[4])
{
	curandStatePhilox4_32_10_t state;

	curand_init(seed, subsequence, offset, &state);
	float4 block = curand_normal4(&state);
	normals[0] = block.x;
	normals[1] = block.y;
	normals[2] = block.z;
	normals[3] = block.w;
}

#endif
