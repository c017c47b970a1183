/*
 * tools/train/cuda.cu - the kernels on a GPU
 *
 * One CUDA kernel per function of kernels.h, and matrix products through
 * cuBLAS, which is loaded when a GPU is asked for: the tool starts without it.
 * Runs agree in every bit because nothing is summed by atomics, each stream has
 * a cuBLAS handle with a workspace of its own, and products stay in full f32.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime.h>
#include "tools/train/train.h"

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

/* cublas_load() returns NULL, or the name of the missing part. */
static const char *cublas_load(struct cublas *cublas)
{
	static const char *const names[] = {
		"libcublas.so.13", "libcublas.so.12", "libcublas.so",
		"/usr/local/cuda/lib64/libcublas.so"};

	for (size_t i = 0; i < 4 && !cublas->library; i++)
		cublas->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!cublas->library)
		return "libcublas.so.13 or .12";
#define CUBLAS_FIND(member, name, arguments)                      \
	if (!find_symbol(cublas->library, name, &cublas->member)) \
		return name;
	CUBLAS_LIST(CUBLAS_FIND)
#undef CUBLAS_FIND
	return NULL;
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
	struct cublas cublas;
	struct cuda_lane lanes[2];
	char message[128];
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
	return &backend->lanes[stream == backend->lanes[1].stream];
}

/*
 * cuBLAS stores matrices by columns, so ours appear transposed: out transposed
 * = right transposed times left transposed.
 */
static const char *cuda_product(struct train_backend *base,
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

static void cuda_close(struct train_backend *base)
{
	struct cuda_backend *backend = (struct cuda_backend *)base;

	for (int i = 0; i < 2; i++) {
		if (backend->lanes[i].handle)
			backend->cublas.destroy(backend->lanes[i].handle);
		cudaFree(backend->lanes[i].workspace);
	}
	if (backend->cublas.library)
		dlclose(backend->cublas.library);
	free(backend);
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

/* "cuda" is GPU 0, "cuda:3" is GPU 3. Launches go to the current device. */
static int select_gpu(struct philox_device *device)
{
	const char *colon = strchr(philox_device_name(device), ':');

	return cudaSetDevice(colon ? atoi(colon + 1) : 0) != cudaSuccess;
}

/* open_parts() returns NULL, or the name of the missing part. */
static const char *open_parts(struct cuda_backend *backend,
			      struct philox_device *device,
			      const philox_stream streams[2])
{
	const char *missing = cublas_load(&backend->cublas);

	if (missing)
		return missing;
	if (select_gpu(device))
		return "the GPU";
	for (int i = 0; i < 2; i++)
		if (open_lane(&backend->cublas, streams[i], &backend->lanes[i]))
			return "a cuBLAS handle with a workspace of 32 MiB";
	return NULL;
}

struct train_backend *train_cuda_open(struct philox_device *device,
				      const philox_stream streams[2],
				      char *message, size_t size)
{
	struct cuda_backend *backend =
		(struct cuda_backend *)calloc(1, sizeof(*backend));
	const char *missing;

	if (!backend) {
		snprintf(message, size, "out of memory");
		return NULL;
	}
	backend->base.kernel = cuda_kernel;
	backend->base.product = cuda_product;
	backend->base.close = cuda_close;
	missing = open_parts(backend, device, streams);
	if (!missing)
		return &backend->base;
	snprintf(message, size,
		 "matrix products on a GPU go through cuBLAS, and there is no "
		 "%s",
		 missing);
	cuda_close(&backend->base);
	return NULL;
}
