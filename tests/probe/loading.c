/*
 * tests/probe/loading.c - kernels that CUDA, or cuBLAS, has not loaded yet
 *
 * CUDA loads a kernel when it is first used, unless CUDA_MODULE_LOADING says
 * otherwise. What does that during a capture? Each question is asked in a new
 * process, in which no kernel of this program is loaded.
 */
#include "tests/probe/probe.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/train/model/cublas.h"

enum { OTHER_THREAD = 16 }; /* added to the mode */

struct first_use {
	unsigned long long *count;
	cudaStream_t stream;
	cudaError_t error;
};

static void use_first(void *pointer)
{
	struct first_use *use = pointer;
	struct probe_launch launch;

	probe_kernel(&launch, probe_unloaded, 1, 1, &use->count);
	use->error = probe_run(&launch, use->stream);
	cudaGetLastError();
}

static void ask_unloaded(int which)
{
	int others = which & OTHER_THREAD, allowed;
	struct first_use use = {probe_memory(sizeof(*use.count)),
				probe_stream(), cudaSuccess};
	cudaStream_t stream = probe_capture_begin(cudaStreamNonBlocking,
						  which & ~OTHER_THREAD);
	const char *mode = getenv("CUDA_MODULE_LOADING");
	const char *after;

	if (others) {
		probe_beside(use_first, &use);
	} else {
		use.stream = stream;
		use_first(&use);
	}
	after = probe_capture_end(stream);
	allowed = use.error == cudaSuccess && after[0] == 'w';
	answer(INFO, "%s, capture %s: %s (CUDA_MODULE_LOADING is %s)",
	       cudaGetErrorName(use.error), after,
	       allowed ? "a kernel may be loaded" : "it must be loaded before",
	       mode ? mode : "not set");
}

/* A kernel with more parameters than drivers before 12.1 take. */
static void ask_module(int which)
{
	struct cudaFuncAttributes attributes;
	cudaError_t large, other;
	int driver;

	(void)which;
	MUST(cudaDriverGetVersion(&driver));
	large = cudaFuncGetAttributes(&attributes, probe_message_2040);
	cudaGetLastError();
	other = cudaFuncGetAttributes(&attributes, probe_count);
	cudaGetLastError();
	answer(INFO,
	       "with a driver of CUDA %d.%d a kernel of %zu bytes: %s; another "
	       "of its file: %s",
	       driver / 1000, driver % 1000 / 10,
	       sizeof(struct probe_message_2040), cudaGetErrorName(large),
	       cudaGetErrorName(other));
}

/* --- cuBLAS --------------------------------------------------------------- */

#define PRODUCTS "unknown: training makes each product once before it captures"

enum { SIDE = 128, WORKSPACE = 32 << 20 };

/* The functions that a product needs; handles are pointers. */
struct cublas {
	int (*create)(void **handle);
	int (*set_stream)(void *handle, cudaStream_t stream);
	int (*set_workspace)(void *handle, void *workspace, size_t size);
	int (*sgemm)(void *handle, int turn_a, int turn_b, int m, int n, int k,
		     const float *alpha, const float *a, int stride_a,
		     const float *b, int stride_b, const float *beta, float *c,
		     int stride_c);
	char name[256];
};

static int find(void *library, const char *name, void *function)
{
	void *symbol = dlsym(library, name);

	memcpy(function, &symbol, sizeof(symbol));
	return symbol != NULL;
}

static int find_all(void *data, const char *name)
{
	struct cublas *cublas = data;
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return -1;
	snprintf(cublas->name, sizeof(cublas->name), "%s", name);
	return find(library, "cublasCreate_v2", &cublas->create) &&
			       find(library, "cublasSetStream_v2",
				    &cublas->set_stream) &&
			       find(library, "cublasSetWorkspace_v2",
				    &cublas->set_workspace) &&
			       find(library, "cublasSgemm_v2", &cublas->sgemm)
		       ? 0
		       : -1;
}

/* The first product of a process, in a capture. */
static void ask_product(int mode)
{
	const float one = 1, zero = 0;
	struct cublas cublas = {0};
	cudaStream_t stream;
	const char *after;
	float *matrix;
	void *handle, *workspace;
	int failed;

	if (train_cublas_search(find_all, &cublas))
		answer(INFO, "no cuBLAS was found");
	if (cublas.create(&handle))
		answer(DIFFERS, "could not be asked: %s gives no handle",
		       cublas.name);
	matrix = probe_memory(3 * sizeof(*matrix) * SIDE * SIDE);
	workspace = probe_memory(WORKSPACE);
	stream = probe_capture_begin(cudaStreamNonBlocking, mode);
	failed = cublas.set_stream(handle, stream);
	/* setting a stream takes the workspace away */
	if (!failed)
		failed = cublas.set_workspace(handle, workspace, WORKSPACE);
	if (!failed)
		failed = cublas.sgemm(handle, 0, 0, SIDE, SIDE, SIDE, &one,
				      matrix, SIDE, matrix + SIDE * SIDE, SIDE,
				      &zero, matrix + 2 * SIDE * SIDE, SIDE);
	after = probe_capture_end(stream);
	answer(INFO, "%s: status %d, capture %s: %s", cublas.name, failed,
	       after,
	       !failed && after[0] == 'w'
		       ? "the first product may be captured"
		       : "a product must have been made before");
}

const struct question loading_questions[] = {
	{"lazy-loading-own-global", "unknown: philox loads its kernels at open",
	 ask_unloaded, cudaStreamCaptureModeGlobal},
	{"lazy-loading-own-thread-local",
	 "unknown: philox loads its kernels at open", ask_unloaded,
	 cudaStreamCaptureModeThreadLocal},
	{"lazy-loading-own-relaxed",
	 "unknown: philox loads its kernels at open", ask_unloaded,
	 cudaStreamCaptureModeRelaxed},
	{"lazy-loading-other-global",
	 "unknown: philox loads its kernels at open", ask_unloaded,
	 OTHER_THREAD | cudaStreamCaptureModeGlobal},
	{"lazy-loading-other-thread-local",
	 "unknown: philox loads its kernels at open", ask_unloaded,
	 OTHER_THREAD | cudaStreamCaptureModeThreadLocal},
	{"lazy-loading-other-relaxed",
	 "unknown: philox loads its kernels at open", ask_unloaded,
	 OTHER_THREAD | cudaStreamCaptureModeRelaxed},
	{"module-of-a-file",
	 "nobody knows what a driver before 12.1 does with a large kernel",
	 ask_module, 0},
	{"cublas-in-captures-global", PRODUCTS, ask_product,
	 cudaStreamCaptureModeGlobal},
	{"cublas-in-captures-thread-local", PRODUCTS, ask_product,
	 cudaStreamCaptureModeThreadLocal},
	{"cublas-in-captures-relaxed", PRODUCTS, ask_product,
	 cudaStreamCaptureModeRelaxed},
	{NULL, NULL, NULL, 0},
};
