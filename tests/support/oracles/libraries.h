/*
 * tests/support/oracles/libraries.h - other libraries' numbers, made as they
 * make them
 *
 * Each is a copy of the original's loops: a grid of threads, each with one of
 * cuRAND's own generators (see oracle_curand.h), from which it draws in its
 * turn. No formula gives the place of an element.
 *
 *   curand_device  curand_init(seed, thread, offset) and one draw after the
 *                  other in a grid-stride loop; with threads 0 one curand4()
 *                  (or curand_uniform2_double()) per thread. CUDA 13.0.
 *   pytorch        aten/src/ATen/native/cuda/DistributionTemplates.h at
 *                  0140b62d, core/TransformationHelper.h, and Dropout.cu since
 *                  pull request 145746 (vectors of up to 8)
 *   nvfuser        runtime/random_numbers.cu at 10488988
 */
#ifndef TESTS_SUPPORT_ORACLE_LAYOUTS_H
#define TESTS_SUPPORT_ORACLE_LAYOUTS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One op of another library. */
struct layout_case {
	char layout[16], dist[16], dtype[8];
	uint64_t seed, offset, elements;
	uint32_t sms, threads_per_sm; /* pytorch */
	uint32_t threads;             /* curand_device */
	uint32_t vector;              /* pytorch dropout */
	double low, high;             /* uniform */
	double mean, std;             /* normal */
	double p;                     /* bernoulli, dropout */
	double rate;                  /* exponential */
	uint64_t from, to;            /* integer: both included */
	int follows; /* the offset is where the case before it ended */
	double near; /* how far values may be off; 0: not at all */
};

/* The input of dropout: whole numbers that exist in every dtype. */
static inline double layout_input(uint64_t element)
{
	return (double)(element % 251) - 125;
}

/*
 * oracle_layout() fills `out` with all elements of a case and writes how many
 * words the generator advances. Returns 0 for an unknown case.
 */
int oracle_layout(const struct layout_case *c, void *out, uint64_t *advance);

#ifdef __cplusplus
}
#endif
#endif
