/*
 * tests/simulated/runtime.c - GPUs, errors, memory, streams and events
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "tests/simulated/gpu.h"
#include "tests/simulated/runtime.h"
#include "tests/simulated/simulated.h"

/* --- GPUs ----------------------------------------------------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct philox_device *gpus[RUNTIME_GPUS];
static _Thread_local cudaError_t last_error;

/* Opens a GPU, or NULL, with units of memory that are not the host's. */
static struct philox_device *open_gpu(void)
{
	struct philox_device *gpu;

	if (device_host.open(0, "", runtime_kernels, &gpu))
		return NULL;
	atomic_store(&gpu->memory_limit, RUNTIME_MEMORY);
	host_of(gpu)->spaces.granularity = RUNTIME_UNIT;
	gpu_add(host_of(gpu));
	return gpu;
}

static void open_gpus(void)
{
	for (int i = 0; i < RUNTIME_GPUS; i++)
		gpus[i] = open_gpu();
}

struct host_device *simulated_gpu(unsigned index)
{
	return index < RUNTIME_GPUS && gpus[index] ? host_of(gpus[index])
						   : NULL;
}

struct philox_device *runtime_gpu(void)
{
	pthread_once(&once, open_gpus);
	gpu_call();
	return gpus[runtime_index()];
}

cudaError_t runtime_lost(void)
{
	struct philox_device *gpu = gpus[runtime_index()];

	return gpu && gpu_is_lost(host_of(gpu)) ? cudaErrorIllegalAddress
						: cudaSuccess;
}

/*
 * [lost-reset] Another GPU takes its place, which knows no handle of the one
 * before; that ends its work by itself.
 */
cudaError_t cudaDeviceReset(void)
{
	const int index = runtime_index();
	struct philox_device *fresh;

	if (!runtime_gpu())
		return runtime_error(cudaErrorMemoryAllocation);
	fresh = open_gpu();
	if (!fresh)
		return runtime_error(cudaErrorMemoryAllocation);
	gpus[index] = fresh;
	runtime_reset_context(index);
	return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
	gpu_call();
	*count = RUNTIME_GPUS;
	return cudaSuccess;
}

/* Every GPU reaches every other one. */
cudaError_t cudaDeviceCanAccessPeer(int *can, int from, int to)
{
	gpu_call();
	if (from < 0 || from >= RUNTIME_GPUS || to < 0 || to >= RUNTIME_GPUS)
		return runtime_error(cudaErrorInvalidDevice);
	*can = from != to;
	return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
	gpu_call();
	if (device < 0 || device >= RUNTIME_GPUS)
		return runtime_error(cudaErrorInvalidDevice);
	memset(prop, 0, sizeof(*prop));
	strcpy(prop->name, "simulated GPU");
	prop->major = 9;
	prop->totalGlobalMem = RUNTIME_MEMORY;
	prop->multiProcessorCount = RUNTIME_MPS;
	prop->maxThreadsPerMultiProcessor = RUNTIME_THREADS;
	return cudaSuccess;
}

/* [shared-parts] It is shared with no other process. */
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute,
				   int device)
{
	gpu_call();
	if (device < 0 || device >= RUNTIME_GPUS)
		return runtime_error(cudaErrorInvalidDevice);
#if CUDART_VERSION >= 12040
	*value = 0;
	if (attribute == cudaDevAttrMpsEnabled)
		return cudaSuccess;
#endif
	return runtime_error(cudaErrorInvalidValue);
}

int runtime_driver(void)
{
	const char *version = getenv("SIMULATED_DRIVER");

	return version ? atoi(version) : CUDART_VERSION;
}

cudaError_t cudaDriverGetVersion(int *version)
{
	gpu_call();
	*version = runtime_driver();
	return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
	gpu_call();
	*version = CUDART_VERSION;
	return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes,
				  const void *function)
{
	cudaError_t error = runtime_load(function);

	if (error == cudaSuccess) {
		memset(attributes, 0, sizeof(*attributes));
		attributes->ptxVersion = 90;
	}
	return error;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
							  const void *function,
							  int threads,
							  size_t shared)
{
	cudaError_t error = runtime_load(function);

	if (error != cudaSuccess)
		return error;
	if (threads < 1 || threads > RUNTIME_THREADS || shared)
		return runtime_error(cudaErrorInvalidValue);
	*blocks = RUNTIME_THREADS / threads;
	return cudaSuccess;
}

/* A cluster may have all blocks that the GPU runs at once. */
cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, const void *function,
					   const cudaLaunchConfig_t *config)
{
	cudaError_t error = runtime_load(function);
	unsigned size;

	if (error != cudaSuccess)
		return error;
	size = runtime_cluster(config);
	if (!size)
		return runtime_error(cudaErrorInvalidClusterSize);
	*clusters = (int)(RUNTIME_THREADS / config->blockDim.x * RUNTIME_MPS /
			  size);
	return cudaSuccess;
}

/* --- errors --------------------------------------------------------------- */

cudaError_t runtime_error(cudaError_t error)
{
	if (error != cudaSuccess && error != cudaErrorNotReady)
		last_error = error;
	return error;
}

cudaError_t cudaGetLastError(void)
{
	cudaError_t error = last_error, lost = runtime_lost();

	gpu_call();
	last_error = cudaSuccess;
	return lost ? lost : error;
}

/* Each status of a host device, and the error that it becomes. */
#define ERROR_LIST(X)                                                          \
	X(PHILOX_OK, cudaSuccess)                                              \
	X(PHILOX_NOT_READY, cudaErrorNotReady)                                 \
	X(PHILOX_ERROR_MEMORY, cudaErrorMemoryAllocation)                      \
	X(PHILOX_ERROR_INVALID, cudaErrorInvalidValue)                         \
	X(PHILOX_ERROR_STATE, cudaErrorIllegalState)                           \
	X(PHILOX_ERROR_UNSUPPORTED, cudaErrorNotSupported)                     \
	X(PHILOX_ERROR_CAPTURE_UNSUPPORTED, cudaErrorStreamCaptureUnsupported) \
	X(PHILOX_ERROR_CAPTURE_INVALIDATED, cudaErrorStreamCaptureInvalidated) \
	X(PHILOX_ERROR_CAPTURE_MERGE, cudaErrorStreamCaptureMerge)             \
	X(PHILOX_ERROR_CAPTURE_UNMATCHED, cudaErrorStreamCaptureUnmatched)     \
	X(PHILOX_ERROR_CAPTURE_UNJOINED, cudaErrorStreamCaptureUnjoined)       \
	X(PHILOX_ERROR_CAPTURE_ISOLATION, cudaErrorStreamCaptureIsolation)     \
	X(PHILOX_ERROR_CAPTURE_IMPLICIT, cudaErrorStreamCaptureImplicit)       \
	X(PHILOX_ERROR_CAPTURED_EVENT, cudaErrorCapturedEvent)                 \
	X(PHILOX_ERROR_CAPTURE_WRONG_THREAD, cudaErrorStreamCaptureWrongThread)

cudaError_t runtime_said(enum philox_status status)
{
	const cudaError_t lost = runtime_lost();

	if (lost)
		return lost;
	switch (status) {
#define ERROR_CASE(ours, cudas) \
	case ours:              \
		return runtime_error(cudas);
		ERROR_LIST(ERROR_CASE)
#undef ERROR_CASE
	default:
		return runtime_error(cudaErrorUnknown);
	}
}

cudaError_t runtime_unsafe(const char *what)
{
	struct philox_device *gpu = runtime_gpu();
	enum philox_status status;

	if (runtime_lost())
		return runtime_lost();
	if (!gpu)
		return runtime_error(cudaErrorMemoryAllocation);
	host_lock(host_of(gpu));
	status = host_unsafe(host_of(gpu), what);
	host_unlock(host_of(gpu));
	return runtime_said(status);
}

const char *cudaGetErrorString(cudaError_t error)
{
	switch (error) {
#define ERROR_NAME(ours, cudas) \
	case cudas:             \
		return #cudas;
		ERROR_LIST(ERROR_NAME)
#undef ERROR_NAME
	case cudaErrorIllegalAddress:
		return "cudaErrorIllegalAddress";
	default:
		return "simulated error";
	}
}

const char *cudaGetErrorName(cudaError_t error)
{
	return cudaGetErrorString(error);
}

/* --- memory --------------------------------------------------------------- */

cudaError_t cudaMalloc(void **memory, size_t size)
{
	return RUNTIME(mem_alloc, size, memory);
}

cudaError_t cudaFree(void *memory)
{
	return memory ? RUNTIME(mem_free, memory) : cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
	return RUNTIME(mem_info, free_bytes, total_bytes);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
				     const void *pointer)
{
	struct philox_device *gpu = runtime_gpu();

	gpu_call();
	if (!gpu)
		return runtime_error(cudaErrorMemoryAllocation);
	*attributes = (struct cudaPointerAttributes){
		.type = gpu->ops->is_memory(gpu, pointer)
				? cudaMemoryTypeDevice
				: cudaMemoryTypeUnregistered};
	return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **memory, size_t size, unsigned flags)
{
	void *mapped;

	if (!(flags & cudaHostAllocMapped))
		return runtime_error(cudaErrorNotSupported);
	return RUNTIME(mapped_alloc, size, memory, &mapped);
}

/* The host uses the same addresses as the host device. */
cudaError_t cudaHostGetDevicePointer(void **address, void *memory,
				     unsigned flags)
{
	gpu_call();
	if (flags)
		return runtime_error(cudaErrorInvalidValue);
	*address = memory;
	return cudaSuccess;
}

cudaError_t cudaFreeHost(void *memory)
{
	return memory ? RUNTIME(mapped_free, memory) : cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size,
			    enum cudaMemcpyKind kind, cudaStream_t stream)
{
	(void)kind;
	return RUNTIME(copy, to, from, size, runtime_stream(stream));
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t size,
		       enum cudaMemcpyKind kind)
{
	cudaError_t error = cudaMemcpyAsync(to, from, size, kind, NULL);

	return error ? error : cudaStreamSynchronize(NULL);
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t size,
			    cudaStream_t stream)
{
	return RUNTIME(set, memory, value, size, runtime_stream(stream));
}

/* --- streams -------------------------------------------------------------- */

/*
 * [per-thread-stream] cudaStreamPerThread is a blocking stream of the thread and
 * the GPU, which may capture.
 */
static philox_stream own_stream(void)
{
	static _Thread_local philox_stream streams[RUNTIME_GPUS];
	int gpu = runtime_index();

	if (!streams[gpu])
		RUNTIME(stream_create, PHILOX_STREAM_BLOCKING, &streams[gpu]);
	return streams[gpu];
}

/* Streams that were made in a context that is not a GPU's primary one. */
struct elsewhere {
	cudaStream_t stream;
	CUcontext context;
	struct elsewhere *next;
};

static pthread_mutex_t elsewhere_lock = PTHREAD_MUTEX_INITIALIZER;
static struct elsewhere *elsewhere;

static struct elsewhere **find_elsewhere(cudaStream_t stream)
{
	struct elsewhere **link = &elsewhere;

	while (*link && (*link)->stream != stream)
		link = &(*link)->next;
	return link;
}

/* A handle may be that of a stream that has gone. */
static void note_context(cudaStream_t stream)
{
	const CUcontext context = runtime_context();
	struct elsewhere **link, *of;

	pthread_mutex_lock(&elsewhere_lock);
	link = find_elsewhere(stream);
	of = *link ? *link : calloc(1, sizeof(*of));
	if (!of)
		abort();
	if (*link)
		*link = of->next;
	if (context) {
		*of = (struct elsewhere){stream, context, elsewhere};
		elsewhere = of;
	} else {
		free(of);
	}
	pthread_mutex_unlock(&elsewhere_lock);
}

static int is_of_another(cudaStream_t stream)
{
	const CUcontext context = runtime_context();
	const struct elsewhere *of;
	int is_other;

	pthread_mutex_lock(&elsewhere_lock);
	of = *find_elsewhere(stream);
	is_other = of && of->context != context;
	pthread_mutex_unlock(&elsewhere_lock);
	return is_other;
}

/* [shared-other-context] A stream of another context is none here. */
philox_stream runtime_stream(cudaStream_t stream)
{
	static char none;

	if (stream == cudaStreamLegacy || !stream)
		return NULL;
	if (stream == cudaStreamPerThread)
		return own_stream();
	return is_of_another(stream) ? (philox_stream)&none : stream;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
	cudaError_t error = RUNTIME(
		stream_create,
		flags == cudaStreamNonBlocking ? 0 : PHILOX_STREAM_BLOCKING,
		stream);

	if (error == cudaSuccess)
		note_context(*stream);
	return error;
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
	return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	gpu_call();
	*least = 0;
	*greatest = RUNTIME_PRIORITY;
	return cudaSuccess;
}

/* One that is out of range is the nearest. */
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags,
					 int priority)
{
	struct host_device *gpu = host_of(runtime_gpu());
	cudaError_t error = cudaStreamCreateWithFlags(stream, flags);

	if (error != cudaSuccess)
		return error;
	if (priority < RUNTIME_PRIORITY)
		priority = RUNTIME_PRIORITY;
	host_lock(gpu);
	((struct host_stream *)*stream)->priority = priority < 0 ? priority : 0;
	host_unlock(gpu);
	return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
	return RUNTIME(stream_priority, runtime_stream(stream), priority);
}

/* [stream-destroy] At once, though its work may still have to run. */
static int destroyed_early(struct host_device *gpu, philox_stream handle)
{
	struct host_stream *stream;
	int early;

	host_lock(gpu);
	early = host_find(gpu, HOST_STREAM, handle) &&
		!host_stream_find(gpu, handle, "", &stream) &&
		!stream->capture && stream->head;
	if (early) {
		host_forget(gpu, &stream->object);
		stream->stopping = 1;
	}
	host_unlock(gpu);
	return early;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	struct philox_device *gpu = runtime_gpu();

	if (gpu && stream && stream != cudaStreamLegacy &&
	    stream != cudaStreamPerThread &&
	    destroyed_early(host_of(gpu), stream))
		return cudaSuccess;
	return RUNTIME(stream_destroy, runtime_stream(stream));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	return RUNTIME_UNSAFE(stream_sync, runtime_stream(stream));
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
	return RUNTIME_UNSAFE(stream_query, runtime_stream(stream));
}

cudaError_t cudaDeviceSynchronize(void)
{
	struct philox_device *gpu = runtime_gpu();

	if (runtime_lost())
		return runtime_lost();
	return runtime_said(gpu ? gpu->ops->device_sync(gpu)
				: PHILOX_ERROR_MEMORY);
}

/* --- events --------------------------------------------------------------- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
	philox_event made;
	cudaError_t error = flags & cudaEventDisableTiming
				    ? RUNTIME(event_create, &made)
				    : RUNTIME(event_create_timed, &made);

	if (error == cudaSuccess)
		*event = (cudaEvent_t)made;
	return error;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
	return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	return RUNTIME(event_destroy, (philox_event)event);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	return RUNTIME(event_record, (philox_event)event,
		       runtime_stream(stream));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
				unsigned flags)
{
	if (flags)
		return runtime_error(cudaErrorNotSupported);
	return RUNTIME(event_wait, runtime_stream(stream), (philox_event)event);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	return RUNTIME_UNSAFE(event_sync, (philox_event)event);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
	return RUNTIME(event_query, (philox_event)event);
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from,
				 cudaEvent_t to)
{
	uint64_t nanoseconds = 0;
	cudaError_t error = RUNTIME_UNSAFE(event_elapsed, (philox_event)from,
					   (philox_event)to, &nanoseconds);

	if (error == cudaSuccess)
		*milliseconds = (float)((double)nanoseconds * 1e-6);
	return error;
}
