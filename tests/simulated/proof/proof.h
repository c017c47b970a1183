/*
 * tests/simulated/proof/proof.h - shared by the files of the proof
 */
#ifndef TESTS_SIMULATED_PROOF_PROOF_H
#define TESTS_SIMULATED_PROOF_PROOF_H

#include "tests/simulated/kernels/device_code.h"

/* Prints the line of a row. */
void shows(const char *row, int seen);

/* conditional.cpp; two streams to capture on. */
void conditions(cudaStream_t *streams);

#define DO(call)                                                             \
	do {                                                                 \
		cudaError_t error_ = (call);                                 \
                                                                             \
		if (error_ != cudaSuccess) {                                 \
			printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
			       cudaGetErrorString(error_));                  \
			exit(2);                                             \
		}                                                            \
	} while (0)

#endif
