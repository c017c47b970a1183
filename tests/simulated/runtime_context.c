/*
 * tests/simulated/runtime_context.c - contexts, and which is current
 *
 * As in the driver: a stack of contexts for each thread, and a primary context
 * for each GPU, which is active while it is retained. The runtime acts in the
 * context that is current. Without one it makes the primary context of the
 * thread's device current; and one that it has not used before it retains, for
 * the rest of the process (CUDA Runtime API, "Interactions with the CUDA Driver
 * API"). A GPU's contexts share the objects made in them, which CUDA's do not.
 */
#include <cudaTypedefs.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "tests/simulated/gpu.h"
#include "tests/simulated/runtime.h"

#define DEPTH 16 /* of a thread's stack */

struct CUctx_st {
	int gpu;
	int primary;
	int retained;   /* how often, for a primary one */
	int by_runtime; /* one of these */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int initialised;
static struct CUctx_st primaries[RUNTIME_GPUS];
static _Thread_local CUcontext stack[DEPTH];
static _Thread_local int depth;
static _Thread_local int chosen; /* by cudaSetDevice() */

static CUcontext top(void)
{
	return depth ? stack[depth - 1] : NULL;
}

static int is_gpu(CUdevice gpu)
{
	return gpu >= RUNTIME_FIRST && gpu < RUNTIME_FIRST + RUNTIME_GPUS;
}

/* --- the driver ----------------------------------------------------------- */

static CUresult init(unsigned flags)
{
	gpu_call();
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	initialised = 1;
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

static CUresult device_get(CUdevice *gpu, int index)
{
	gpu_call();
	if (!initialised)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (index < 0 || index >= RUNTIME_GPUS)
		return CUDA_ERROR_INVALID_DEVICE;
	*gpu = RUNTIME_FIRST + index;
	return CUDA_SUCCESS;
}

static CUresult retain(CUcontext *context, CUdevice gpu)
{
	gpu_call();
	if (!initialised)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!is_gpu(gpu))
		return CUDA_ERROR_INVALID_DEVICE;
	*context = &primaries[gpu - RUNTIME_FIRST];
	pthread_mutex_lock(&lock);
	(*context)->gpu = gpu - RUNTIME_FIRST;
	(*context)->primary = 1;
	(*context)->retained++;
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

static CUresult release(CUdevice gpu)
{
	CUresult result = CUDA_SUCCESS;

	gpu_call();
	if (!is_gpu(gpu))
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&lock);
	if (primaries[gpu - RUNTIME_FIRST].retained > 0)
		primaries[gpu - RUNTIME_FIRST].retained--;
	else
		result = CUDA_ERROR_INVALID_CONTEXT;
	pthread_mutex_unlock(&lock);
	return result;
}

static int is_destroyed(CUcontext context)
{
	int destroyed;

	pthread_mutex_lock(&lock);
	destroyed = context->primary && !context->retained;
	pthread_mutex_unlock(&lock);
	return destroyed;
}

static CUresult get_state(CUdevice gpu, unsigned *flags, int *active)
{
	gpu_call();
	if (!is_gpu(gpu))
		return CUDA_ERROR_INVALID_DEVICE;
	*flags = 0;
	*active = !is_destroyed(&primaries[gpu - RUNTIME_FIRST]) &&
		  primaries[gpu - RUNTIME_FIRST].primary;
	return CUDA_SUCCESS;
}

static CUresult get_current(CUcontext *context)
{
	gpu_call();
	*context = top();
	return initialised ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

static CUresult push(CUcontext context)
{
	gpu_call();
	if (!context)
		return CUDA_ERROR_INVALID_VALUE;
	if (is_destroyed(context))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	if (depth == DEPTH)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stack[depth++] = context;
	return CUDA_SUCCESS;
}

static CUresult pop(CUcontext *context)
{
	gpu_call();
	if (!depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	*context = stack[--depth];
	return CUDA_SUCCESS;
}

static CUresult create(CUcontext *context, CUexecAffinityParam *affinity,
		       int count, unsigned flags, CUdevice gpu)
{
	gpu_call();
	if (affinity || count || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!is_gpu(gpu))
		return CUDA_ERROR_INVALID_DEVICE;
	*context = calloc(1, sizeof(**context));
	if (!*context)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*context)->gpu = gpu - RUNTIME_FIRST;
	return push(*context);
}

static CUresult destroy(CUcontext context)
{
	gpu_call();
	if (!context || context->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (context == top())
		depth--;
	free(context);
	return CUDA_SUCCESS;
}

static cudaError_t find(const char *name, void **function,
			enum cudaDriverEntryPointQueryResult *found)
{
	static const struct {
		const char *name;
		void *function;
	} functions[] = {
		{"cuInit", init},
		{"cuDeviceGet", device_get},
		{"cuDevicePrimaryCtxRetain", retain},
		{"cuDevicePrimaryCtxRelease", release},
		{"cuDevicePrimaryCtxGetState", get_state},
		{"cuCtxGetCurrent", get_current},
		{"cuCtxPushCurrent", push},
		{"cuCtxPopCurrent", pop},
		{"cuCtxCreate", create},
		{"cuCtxDestroy", destroy},
	};

	*function = runtime_space_function(name);
	*found = *function ? cudaDriverEntryPointSuccess
			   : cudaDriverEntryPointSymbolNotFound;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (!strcmp(functions[i].name, name)) {
			*function = functions[i].function;
			*found = cudaDriverEntryPointSuccess;
		}
	return cudaSuccess;
}

/* The functions above are those of CUDA 12.0. */
#if CUDART_VERSION >= 12050
cudaError_t cudaGetDriverEntryPointByVersion(
	const char *name, void **function, unsigned version,
	unsigned long long flags, enum cudaDriverEntryPointQueryResult *found)
{
	if (version != 12000 || flags)
		return runtime_error(cudaErrorNotSupported);
	return find(name, function, found);
}
#else
cudaError_t cudaGetDriverEntryPoint(const char *name, void **function,
				    unsigned long long flags,
				    enum cudaDriverEntryPointQueryResult *found)
{
	if (flags)
		return runtime_error(cudaErrorNotSupported);
	return find(name, function, found);
}
#endif

/* --- the runtime ---------------------------------------------------------- */

/* The primary context, retained once for the runtime. */
static CUcontext of_runtime(int gpu)
{
	CUcontext context = &primaries[gpu];

	pthread_mutex_lock(&lock);
	initialised = 1;
	context->gpu = gpu;
	context->primary = 1;
	context->retained += !context->by_runtime;
	context->by_runtime = 1;
	pthread_mutex_unlock(&lock);
	return context;
}

int runtime_index(void)
{
	if (!depth)
		stack[depth++] = of_runtime(chosen);
	if (top()->primary)
		of_runtime(top()->gpu);
	return top()->gpu;
}

CUcontext runtime_context(void)
{
	runtime_index();
	return top()->primary ? NULL : top();
}

/* Those who have retained it have a context that is destroyed. */
void runtime_reset_context(int gpu)
{
	pthread_mutex_lock(&lock);
	primaries[gpu].retained = 0;
	primaries[gpu].by_runtime = 0;
	pthread_mutex_unlock(&lock);
}

cudaError_t cudaGetDevice(int *device)
{
	gpu_call();
	*device = depth ? top()->gpu : chosen;
	return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
	gpu_call();
	if (device < 0 || device >= RUNTIME_GPUS)
		return runtime_error(cudaErrorInvalidDevice);
	chosen = device;
	if (!depth)
		depth++;
	stack[depth - 1] = of_runtime(device);
	return cudaSuccess;
}
