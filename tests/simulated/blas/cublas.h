/*
 * tests/simulated/blas/cublas.h - the part of cuBLAS that
 * tools/train/model/cuda.cu loads
 *
 * The functions by name, for our own dlsym(). A product is a kernel with a
 * thread for each element of the result; matrices are stored by columns.
 */
#ifndef TESTS_SIMULATED_CUBLAS_H
#define TESTS_SIMULATED_CUBLAS_H

#include <dlfcn.h>
#include <unistd.h>
#include "tests/simulated/kernels/device_code.h"

struct simulated_cublas {
	cudaStream_t stream;
};

struct simulated_product {
	int turn_a, turn_b;
	int rows, columns, depth;
	const float *a, *b;
	int stride_a, stride_b, stride_c;
	float *c;
};

static void simulated_sgemm_kernel(simulated_product p)
{
	int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	int row = i % p.rows, column = i / p.rows;
	float sum = 0;

	if (column >= p.columns)
		return;
	for (int k = 0; k < p.depth; k++)
		sum += p.a[p.turn_a ? k + row * p.stride_a
				    : row + k * p.stride_a] *
		       p.b[p.turn_b ? column + k * p.stride_b
				    : k + column * p.stride_b];
	p.c[row + column * p.stride_c] = sum;
}
SIMULATED_KERNEL(simulated_sgemm_kernel)

/* [cublas-in-captures] The first product loads the kernel, not the handle. */
static int simulated_create(simulated_cublas **handle)
{
	*handle = (simulated_cublas *)calloc(1, sizeof(**handle));
	return *handle ? 0 : 3; /* CUBLAS_STATUS_ALLOC_FAILED */
}

static int simulated_destroy(simulated_cublas *handle)
{
	free(handle);
	return 0;
}

static int simulated_set_stream(simulated_cublas *handle, cudaStream_t stream)
{
	handle->stream = stream;
	return 0;
}

static int simulated_set_workspace(simulated_cublas *, void *, size_t)
{
	return 0;
}

static int simulated_set_math(simulated_cublas *, int)
{
	return 0;
}

static int simulated_sgemm(simulated_cublas *handle, int turn_a, int turn_b,
			   int rows, int columns, int depth, const float *alpha,
			   const float *a, int stride_a, const float *b,
			   int stride_b, const float *beta, float *c,
			   int stride_c)
{
	simulated_product p = {turn_a, turn_b,   rows,     columns,  depth, a,
			       b,      stride_a, stride_b, stride_c, c};
	void *parameters[] = {&p};
	unsigned threads = (unsigned)rows * (unsigned)columns;

	if (*alpha != 1 || *beta != 0)
		return 15; /* CUBLAS_STATUS_NOT_SUPPORTED */
	return cudaLaunchKernel((const void *)simulated_sgemm_kernel,
				dim3((threads + 255) / 256), dim3(256),
				parameters, 0, handle->stream)
		       ? 13 /* CUBLAS_STATUS_EXECUTION_FAILED */
		       : 0;
}

/* Any version by its bare name; by a path, a file that is there. */
static void *simulated_dlopen(const char *name, int)
{
	return strchr(name, '/') && access(name, R_OK) ? NULL : (void *)name;
}

static void *simulated_dlsym(void *, const char *name)
{
	static const struct {
		const char *name;
		void *function;
	} all[] = {
		{"cublasCreate_v2", (void *)simulated_create},
		{"cublasDestroy_v2", (void *)simulated_destroy},
		{"cublasSetStream_v2", (void *)simulated_set_stream},
		{"cublasSetWorkspace_v2", (void *)simulated_set_workspace},
		{"cublasSetMathMode", (void *)simulated_set_math},
		{"cublasSgemm_v2", (void *)simulated_sgemm},
	};

	for (const auto &one : all)
		if (!strcmp(one.name, name))
			return one.function;
	return NULL;
}

static int simulated_dlclose(void *)
{
	return 0;
}

#define dlopen  simulated_dlopen
#define dlsym   simulated_dlsym
#define dlclose simulated_dlclose

#endif
