/*
 * tools/train/model/cuda.cu - the kernels on a GPU
 *
 * One CUDA kernel per function of kernels.h, and matrix products through
 * cuBLAS, which is looked for when a GPU is asked for; where there is none that
 * works, a plain kernel does them. Runs agree in every bit because nothing is
 * summed by atomics, each stream has a cuBLAS handle with a workspace of its
 * own, and products stay in full f32.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime.h>
#include "tools/cli/gpu.h"
#include "tools/train/model/cublas.h"
#include "tools/train/model/model.h"

/* --- kernels -------------------------------------------------------------- */

#define CUDA_KERNEL(name)                                                 \
	static __global__ void kernel_##name(struct train_##name args,    \
					     size_t count)                \
	{                                                                 \
		size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; \
		size_t stride = gridDim.x * (size_t)blockDim.x;           \
                                                                          \
		for (; i < count; i += stride)                            \
			train_##name(&args, i);                           \
	}
TRAIN_KERNEL_LIST(CUDA_KERNEL)
#undef CUDA_KERNEL

static const void *const cuda_kernels[] = {
#define CUDA_ENTRY(name) (const void *)kernel_##name,
	TRAIN_KERNEL_LIST(CUDA_ENTRY)
#undef CUDA_ENTRY
};

#define THREADS    128
#define BLOCKS_MAX 1024

/* A thread for each element of the result; sums in one fixed order. */
static __global__ void kernel_product(struct train_product p)
{
	size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	size_t row = i / p.columns, column = i % p.columns;
	float sum = 0;

	if (row >= p.rows)
		return;
	for (size_t k = 0; k < p.depth; k++) {
		size_t left = p.form == TRAIN_LEFT_TURN ? k * p.rows + row
							: row * p.depth + k;
		size_t right = p.form == TRAIN_RIGHT_TURN
				       ? column * p.depth + k
				       : k * p.columns + column;

		sum = philox_multiply_add(p.left[left], p.right[right], sum);
	}
	p.out[i] = sum;
}

/* --- cuBLAS --------------------------------------------------------------- */

/* As in cublas_api.h: that header may be missing where this is built. */
typedef struct cublasContext *cublas_handle;
enum { CUBLAS_SUCCESS = 0, CUBLAS_OP_PLAIN = 0, CUBLAS_OP_TURN = 1 };
enum { CUBLAS_FULL_F32 = 2 }; /* CUBLAS_PEDANTIC_MATH: never TF32 */

/* NVIDIA's recommendation for a workspace on Hopper. */
#define WORKSPACE_SIZE ((size_t)32 << 20)

/* The functions of cuBLAS: member, its name there, its arguments. */
#define CUBLAS_LIST(X)                                                     \
	X(create, "cublasCreate_v2", (cublas_handle *))                    \
	X(destroy, "cublasDestroy_v2", (cublas_handle))                    \
	X(set_stream, "cublasSetStream_v2", (cublas_handle, cudaStream_t)) \
	X(set_workspace, "cublasSetWorkspace_v2",                          \
	  (cublas_handle, void *, size_t))                                 \
	X(set_math, "cublasSetMathMode", (cublas_handle, int))             \
	X(sgemm, "cublasSgemm_v2",                                         \
	  (cublas_handle, int, int, int, int, int, const float *,          \
	   const float *, int, const float *, int, const float *, float *, \
	   int))

struct cublas {
	void *library;
#define CUBLAS_MEMBER(member, name, arguments) int(*member) arguments;
	CUBLAS_LIST(CUBLAS_MEMBER)
#undef CUBLAS_MEMBER
};

static int find_symbol(void *library, const char *name, void *pointer)
{
	void *symbol = dlsym(library, name);

	memcpy(pointer, &symbol, sizeof(symbol));
	return symbol != NULL;
}

/* Returns 0, or -1 for a library that is not there or lacks a function. */
static int cublas_load(struct cublas *cublas, const char *name)
{
	cublas->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!cublas->library)
		return -1;
#define CUBLAS_FIND(member, name, arguments)                      \
	if (!find_symbol(cublas->library, name, &cublas->member)) \
		return -1;
	CUBLAS_LIST(CUBLAS_FIND)
#undef CUBLAS_FIND
	return 0;
}

/* --- the backend ---------------------------------------------------------- */

/* The objects of one stream. */
struct cuda_lane {
	cudaStream_t stream;
	cublas_handle handle;
	void *workspace;
};

struct cuda_backend {
	struct train_backend base;
	struct cublas cublas; /* without a library: our kernel */
	struct cuda_lane lanes[TRAIN_STREAMS];
	char message[128];
	char products[256];
};

static const char *cuda_kernel(struct train_backend *, philox_stream stream,
			       enum train_kernel kernel, const void *args,
			       size_t, size_t count)
{
	void *parameters[] = {(void *)args, &count};
	size_t blocks = (count + THREADS - 1) / THREADS;
	dim3 grid((unsigned)(blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX));
	cudaError_t error =
		cudaLaunchKernel(cuda_kernels[kernel], grid, dim3(THREADS),
				 parameters, 0, stream);

	return error == cudaSuccess ? NULL : cudaGetErrorString(error);
}

static struct cuda_lane *lane_of(struct cuda_backend *backend,
				 philox_stream stream)
{
	int i = TRAIN_STREAMS - 1;

	while (i && stream != backend->lanes[i].stream)
		i--;
	return &backend->lanes[i];
}

static const char *plain_product(struct train_backend *, philox_stream stream,
				 const struct train_product *product)
{
	void *parameters[] = {(void *)product};
	size_t count = product->rows * product->columns;
	dim3 grid((unsigned)((count + THREADS - 1) / THREADS));
	cudaError_t error =
		cudaLaunchKernel((const void *)kernel_product, grid,
				 dim3(THREADS), parameters, 0, stream);

	return error == cudaSuccess ? NULL : cudaGetErrorString(error);
}

/*
 * cuBLAS stores matrices by columns, so ours appear transposed: out transposed
 * = right transposed times left transposed.
 */
static const char *cublas_product(struct train_backend *base,
				  philox_stream stream,
				  const struct train_product *p)
{
	struct cuda_backend *backend = (struct cuda_backend *)base;
	int turn_left = p->form == TRAIN_LEFT_TURN;
	int turn_right = p->form == TRAIN_RIGHT_TURN;
	const float one = 1, zero = 0;
	int error = backend->cublas.sgemm(
		lane_of(backend, stream)->handle,
		turn_right ? CUBLAS_OP_TURN : CUBLAS_OP_PLAIN,
		turn_left ? CUBLAS_OP_TURN : CUBLAS_OP_PLAIN, (int)p->columns,
		(int)p->rows, (int)p->depth, &one, p->right,
		(int)(turn_right ? p->depth : p->columns), p->left,
		(int)(turn_left ? p->rows : p->depth), &zero, p->out,
		(int)p->columns);

	if (error == CUBLAS_SUCCESS)
		return NULL;
	snprintf(backend->message, sizeof(backend->message),
		 "cublasSgemm: status %d", error);
	return backend->message;
}

static void close_cublas(struct cuda_backend *backend)
{
	for (int i = 0; i < TRAIN_STREAMS; i++) {
		if (backend->lanes[i].handle)
			backend->cublas.destroy(backend->lanes[i].handle);
		cudaFree(backend->lanes[i].workspace);
	}
	if (backend->cublas.library)
		dlclose(backend->cublas.library);
	memset(&backend->cublas, 0, sizeof(backend->cublas));
	memset(backend->lanes, 0, sizeof(backend->lanes));
}

static void cuda_close(struct train_backend *base)
{
	close_cublas((struct cuda_backend *)base);
	free(base);
}

/* Setting a stream takes the workspace away: it comes first. */
static int open_lane(const struct cublas *cublas, cudaStream_t stream,
		     struct cuda_lane *lane)
{
	lane->stream = stream;
	if (cudaMalloc(&lane->workspace, WORKSPACE_SIZE) != cudaSuccess)
		return -1;
	if (cublas->create(&lane->handle) != CUBLAS_SUCCESS) {
		lane->handle = NULL;
		return -1;
	}
	return cublas->set_stream(lane->handle, stream) ||
	       cublas->set_workspace(lane->handle, lane->workspace,
				     WORKSPACE_SIZE) ||
	       cublas->set_math(lane->handle, CUBLAS_FULL_F32);
}

/*
 * Returns 0, or -1. CUDA loads a kernel at its first use, which not every driver
 * allows during a capture; and a run that goes on from a file begins with one.
 */
static int load_kernels(void)
{
	const size_t count = sizeof(cuda_kernels) / sizeof(cuda_kernels[0]);
	struct cudaFuncAttributes attributes;

	for (size_t i = 0; i < count; i++)
		if (cudaFuncGetAttributes(&attributes, cuda_kernels[i]) !=
		    cudaSuccess)
			return -1;
	return cudaFuncGetAttributes(
		       &attributes, (const void *)kernel_product) == cudaSuccess
		       ? 0
		       : -1;
}

/* A backend in the making, for a try. */
struct opening {
	struct cuda_backend *backend;
	const philox_stream *streams;
	char failed[128]; /* what the first library that was found lacked */
};

static const char *try_parts(struct opening *opening, const char *name)
{
	struct cuda_backend *backend = opening->backend;

	if (cublas_load(&backend->cublas, name))
		return backend->cublas.library ? "a function of it" : "it";
	for (int i = 0; i < TRAIN_STREAMS; i++)
		if (opening->streams[i] &&
		    open_lane(&backend->cublas, opening->streams[i],
			      &backend->lanes[i]))
			return "a handle with a workspace of 32 MiB";
	return NULL;
}

/* Leaves nothing if it fails, not even the runtime's last error. */
static int try_cublas(void *data, const char *name)
{
	struct opening *opening = (struct opening *)data;
	const char *missing = try_parts(opening, name);

	if (!missing) {
		snprintf(opening->backend->products,
			 sizeof(opening->backend->products), "cuBLAS, %s",
			 name);
		return 0;
	}
	if (!*opening->failed && opening->backend->cublas.library)
		snprintf(opening->failed, sizeof(opening->failed),
			 "%.60s does not give %s", name, missing);
	close_cublas(opening->backend);
	cudaGetLastError();
	return -1;
}

/* choose_products() returns 0, or -1 if what PHILOX_CUBLAS names fails. */
static int choose_products(struct opening *opening, char *message, size_t size)
{
	struct cuda_backend *backend = opening->backend;
	const char *named = train_cublas_named();

	backend->base.products = backend->products;
	backend->base.product = cublas_product;
	if (!train_cublas_search(try_cublas, opening))
		return 0;
	if (named && strcmp(named, "none")) {
		snprintf(message, size, "PHILOX_CUBLAS names '%.80s': %s",
			 named,
			 *opening->failed ? opening->failed
					  : "it cannot be loaded");
		return -1;
	}
	backend->base.product = plain_product;
	snprintf(backend->products, sizeof(backend->products),
		 "a simple kernel, as %s (PHILOX_CUBLAS may name a cuBLAS)",
		 named              ? "PHILOX_CUBLAS=none says"
		 : *opening->failed ? opening->failed
				    : "no cuBLAS was found");
	return 0;
}

struct train_backend *train_cuda_open(struct philox_device *device,
				      const philox_stream streams[TRAIN_STREAMS],
				      char *message, size_t size)
{
	struct cuda_backend *backend =
		(struct cuda_backend *)calloc(1, sizeof(*backend));
	struct opening opening = {backend, streams, ""};

	if (!backend) {
		snprintf(message, size, "out of memory");
		return NULL;
	}
	backend->base.kernel = cuda_kernel;
	backend->base.close = cuda_close;
	if (select_gpu(device) != cudaSuccess) {
		snprintf(message, size, "%s cannot be made the current GPU",
			 philox_device_name(device));
	} else if (load_kernels()) {
		snprintf(message, size, "%s cannot load the kernels: %s",
			 philox_device_name(device),
			 cudaGetErrorString(cudaGetLastError()));
	} else if (!choose_products(&opening, message, size)) {
		return &backend->base;
	}
	cuda_close(&backend->base);
	return NULL;
}
