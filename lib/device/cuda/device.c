/*
 * lib/device/cuda/device.c - lib/device/contract.h on the CUDA runtime
 *
 * Thin: an operation is one call of the runtime, or a check and that call, made
 * through ON() (lib/device/cuda/cuda.h). Here are devices, memory, streams and
 * events; captures and graphs are in lib/device/cuda/graph.c, spaces in
 * lib/device/cuda/space.c. But for those a device does not change after open,
 * so nothing is locked; CUDA may be called from any thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/device/cuda/cuda.h"
#include "lib/base/base.h"

/* --- memory --------------------------------------------------------------- */

enum philox_status cuda_mem_alloc(struct philox_device *device, size_t size,
				  void **memory)
{
	void *result;
	enum philox_status status = ON(device, cudaMalloc, &result, size);

	if (status == PHILOX_OK)
		*memory = result;
	return status;
}

enum philox_status cuda_mem_free(struct philox_device *device, void *memory)
{
	return ON(device, cudaFree, memory);
}

enum philox_status cuda_mapped_alloc(struct philox_device *device, size_t size,
				     void **host, void **mapped)
{
	const unsigned flags = cudaHostAllocMapped | cudaHostAllocPortable;
	void *memory, *address;
	enum philox_status status;

	status = ON(device, cudaHostAlloc, &memory, size, flags);
	if (status != PHILOX_OK)
		return status;
	status = ON(device, cudaHostGetDevicePointer, &address, memory, 0);
	if (status != PHILOX_OK)
		goto free_memory;
	memset(memory, 0, size);
	*host = memory;
	*mapped = address;
	return PHILOX_OK;

free_memory:
	cuda_mapped_free(device, memory);
	return status;
}

enum philox_status cuda_mapped_free(struct philox_device *device, void *host)
{
	return ON(device, cudaFreeHost, host);
}

enum philox_status cuda_copy(struct philox_device *device, void *destination,
			     const void *source, size_t size,
			     philox_stream stream)
{
	return ON(device, cudaMemcpyAsync, destination, source, size,
		  cudaMemcpyDefault, stream);
}

enum philox_status cuda_set(struct philox_device *device, void *memory,
			    int value, size_t size, philox_stream stream)
{
	return ON(device, cudaMemsetAsync, memory, value, size, stream);
}

/* --- streams and events --------------------------------------------------- */

enum philox_status cuda_stream_create(struct philox_device *device,
				      unsigned flags, philox_stream *stream)
{
	unsigned kind = flags & PHILOX_STREAM_BLOCKING ? cudaStreamDefault
						       : cudaStreamNonBlocking;
	cudaStream_t result;
	enum philox_status status =
		ON(device, cudaStreamCreateWithFlags, &result, kind);

	if (status == PHILOX_OK)
		*stream = result;
	return status;
}

/*
 * CUDA does not say what destroying a capturing stream does. A query, which is
 * documented to be refused and to invalidate the capture, gives the contract's
 * answer.
 */
enum philox_status cuda_stream_destroy(struct philox_device *device,
				       philox_stream stream)
{
	int capturing;
	enum philox_status status =
		cuda_is_capturing(device, stream, &capturing);

	if (status != PHILOX_OK)
		return status;
	if (!capturing)
		return ON(device, cudaStreamDestroy, stream);
	(void)ON(device, cudaStreamQuery, stream);
	return status_set(PHILOX_ERROR_CAPTURE_UNSUPPORTED,
			  "cudaStreamDestroy: the stream is capturing");
}

enum philox_status cuda_stream_priority(struct philox_device *device,
					philox_stream stream, int *priority)
{
	return ON(device, cudaStreamGetPriority, stream, priority);
}

enum philox_status cuda_stream_sync(struct philox_device *device,
				    philox_stream stream)
{
	return ON_RELAXED(device, cudaStreamSynchronize, stream);
}

enum philox_status cuda_stream_query(struct philox_device *device,
				     philox_stream stream)
{
	return ON_RELAXED(device, cudaStreamQuery, stream);
}

enum philox_status cuda_device_sync(struct philox_device *device)
{
	return ON(device, cudaDeviceSynchronize);
}

static enum philox_status create_event(struct philox_device *device,
				       unsigned flags, philox_event *event)
{
	cudaEvent_t result;
	enum philox_status status =
		ON(device, cudaEventCreateWithFlags, &result, flags);

	if (status == PHILOX_OK)
		*event = result;
	return status;
}

enum philox_status cuda_event_create(struct philox_device *device,
				     philox_event *event)
{
	return create_event(device, cudaEventDisableTiming, event);
}

enum philox_status cuda_event_create_timed(struct philox_device *device,
					   philox_event *event)
{
	return create_event(device, cudaEventDefault, event);
}

enum philox_status cuda_event_destroy(struct philox_device *device,
				      philox_event event)
{
	return ON(device, cudaEventDestroy, event);
}

enum philox_status cuda_event_record(struct philox_device *device,
				     philox_event event, philox_stream stream)
{
	return ON(device, cudaEventRecord, event, stream);
}

enum philox_status cuda_event_wait(struct philox_device *device,
				   philox_stream stream, philox_event event)
{
	return ON(device, cudaStreamWaitEvent, stream, event, 0);
}

enum philox_status cuda_event_sync(struct philox_device *device,
				   philox_event event)
{
	return ON_RELAXED(device, cudaEventSynchronize, event);
}

enum philox_status cuda_event_query(struct philox_device *device,
				    philox_event event)
{
	return ON(device, cudaEventQuery, event);
}

enum philox_status cuda_event_elapsed(struct philox_device *device,
				      philox_event begin, philox_event end,
				      uint64_t *nanoseconds)
{
	float ms = 0;
	enum philox_status status =
		ON_RELAXED(device, cudaEventElapsedTime, &ms, begin, end);

	if (status == PHILOX_OK)
		*nanoseconds = ms > 0 ? (uint64_t)((double)ms * 1e6) : 0;
	return status;
}

/* --- the device ----------------------------------------------------------- */

static enum philox_status cuda_close(struct philox_device *device)
{
	struct cuda_device *cuda = (struct cuda_device *)device;

	cuda_spaces_close(cuda);
	cuda_context_close(&cuda->context);
	free(cuda);
	return PHILOX_OK;
}

static const struct device_ops cuda_ops = {
#define CUDA_OP(name, arguments) .name = cuda_##name,
	DEVICE_NEEDED_LIST(CUDA_OP)
#undef CUDA_OP
		.conditional_check = cuda_conditional_check,
	.is_memory = cuda_is_memory,
	.graph_list = cuda_graph_list,
	.close = cuda_close,
};

#define CLUSTER_MAX 8 /* that every GPU with clusters takes */

/*
 * Whether a kernel knows clusters depends on the architecture that it was
 * compiled for, which may be older than the GPU; how large they may be, on the
 * GPU and its partition.
 */
static void find_clusters(struct cuda_device *cuda, size_t i, int ptx)
{
	const struct kernel_cuda *kernel = &cuda->kernels->items[i];
	const struct status_message kept = status_kept();

	if (ptx < 90 || cuda->major < 9)
		return;
	for (unsigned size = CLUSTER_MAX; size > 1; size /= 2) {
		struct compat_cluster cluster;
		const cudaLaunchConfig_t *config = compat_cluster(
			&cluster, size, kernel->threads, NULL, size);
		int clusters = 0;

		if (ON(&cuda->base, cudaOccupancyMaxActiveClusters, &clusters,
		       kernel->function, config) == PHILOX_OK &&
		    clusters > 0) {
			cuda->room[i].cluster = size;
			break;
		}
		status_restore(&kept);
	}
}

/*
 * Querying a kernel's attributes loads it. Otherwise CUDA loads it lazily, at
 * the first launch, which may be inside a capture. How many blocks of it a
 * multiprocessor holds depends on its registers; a larger grid would wait for
 * free places and end in a wave that leaves some of them empty.
 */
static enum philox_status load_kernel(struct cuda_device *cuda, size_t i)
{
	const struct kernel_cuda *kernel = &cuda->kernels->items[i];
	struct cudaFuncAttributes attributes;
	int blocks = 0;
	enum philox_status status = ON(&cuda->base, cudaFuncGetAttributes,
				       &attributes, kernel->function);

	if (status == PHILOX_OK)
		status = ON(&cuda->base,
			    cudaOccupancyMaxActiveBlocksPerMultiprocessor,
			    &blocks, kernel->function, (int)kernel->threads, 0);
	if (status != PHILOX_OK)
		return status;
	if (blocks < 1)
		return status_set(PHILOX_ERROR_UNSUPPORTED,
				  "kernel %d: no multiprocessor holds %u "
				  "threads of it",
				  (int)kernel->kernel, kernel->threads);
	cuda->room[i].blocks = cuda->multiprocessors * (unsigned)blocks;
	cuda->room[i].cluster = 1;
	if (kernel_has_clusters(kernel->kernel))
		find_clusters(cuda, i, attributes.ptxVersion);
	return PHILOX_OK;
}

static uint32_t states_of(const struct kernel_cuda *head)
{
	return (uint32_t)((head->size - sizeof(struct head_args)) /
			  sizeof(struct philox_state));
}

/*
 * A large head that the driver cannot load, for whatever reason, lowers the
 * limit to the largest one before it, and is skipped with those after it. If
 * the device itself has failed, so will loading the kernels that follow.
 */
static void skip_head(struct philox_device *device,
		      const struct kernel_cuda *head)
{
	if (device->head_max != HEAD_CAPACITY_MAX)
		return;
	device->head_max = states_of(head - 1);
	snprintf(device->head_why, sizeof(device->head_why),
		 "the driver does not load a head for %u (%.120s)",
		 states_of(head), philox_error_message());
}

static int is_large_head(const struct kernel_cuda *kernel)
{
	return kernel->kernel == KERNEL_HEAD && kernel->size > HEAD_SMALL_SIZE;
}

/* A kernel without which a device has fewer features. */
static enum philox_status do_without(struct cuda_device *cuda, size_t i,
				     enum philox_status status)
{
	const struct kernel_cuda *kernel = &cuda->kernels->items[i];

	if (i && is_large_head(kernel))
		skip_head(&cuda->base, kernel);
	else if (kernel->kernel == KERNEL_quantize_large &&
		 cuda->base.head_max != HEAD_CAPACITY_MAX)
		return PHILOX_OK; /* tensors go by the other kernel */
	else if (kernel->kernel == KERNEL_CONDITION)
		snprintf(cuda->condition_why, sizeof(cuda->condition_why),
			 "%.150s", philox_error_message());
	else
		return status;
	return PHILOX_OK;
}

static enum philox_status load_kernels(struct cuda_device *cuda)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < cuda->kernels->count;
	     i++) {
		status = load_kernel(cuda, i);
		if (status != PHILOX_OK)
			status = do_without(cuda, i, status);
	}
	return status;
}

/* Sets the properties that open must ask the device for. */
static enum philox_status describe_gpu(struct cuda_device *cuda)
{
	struct cudaDeviceProp prop;
	int driver = 0, runtime = 0;
	enum philox_status status =
		ON(&cuda->base, cudaGetDeviceProperties, &prop, cuda->index);

	if (status == PHILOX_OK)
		status = ON(&cuda->base, cudaDriverGetVersion, &driver);
	if (status == PHILOX_OK)
		status = ON(&cuda->base, cudaRuntimeGetVersion, &runtime);
	if (status != PHILOX_OK)
		return status;
	cuda->multiprocessors = (unsigned)prop.multiProcessorCount;
	cuda->major = prop.major;
	cuda->driver = driver;
	snprintf(cuda->base.description, sizeof(cuda->base.description),
		 "%.64s, compute capability %d.%d, %.1f GiB, CUDA driver "
		 "%d.%d, runtime %d.%d",
		 prop.name, prop.major, prop.minor,
		 (double)prop.totalGlobalMem / (1 << 30), driver / 1000,
		 driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
	return PHILOX_OK;
}

static enum philox_status cuda_count(unsigned *count)
{
	int devices = 0, driver = 0;
	cudaError_t error = cudaGetDeviceCount(&devices);

	if (error == cudaSuccess && devices > 0) {
		*count = (unsigned)devices;
		return PHILOX_OK;
	}
	cudaGetLastError();
	if (cudaDriverGetVersion(&driver) != cudaSuccess)
		cudaGetLastError();
	return status_set(PHILOX_ERROR_NO_DEVICE, "cudaGetDeviceCount: %s%s",
			  error == cudaSuccess ? "the driver shows no GPU"
					       : cudaGetErrorString(error),
			  driver ? "" : " (no NVIDIA driver was found)");
}

static enum philox_status open_context(struct cuda_device *cuda)
{
	const char *call;
	cudaError_t error =
		cuda_context_open(&cuda->context, cuda->index, &call);

	return cuda_leave(&cuda->context, 0, error, call);
}

/* The option is the same index, which lib/kernels/open.c has read. */
static enum philox_status cuda_open(unsigned index, const char *option,
				    const void *kernels,
				    struct philox_device **device)
{
	const struct kernels_cuda *table = kernels;
	struct cuda_device *cuda =
		calloc(1, sizeof(*cuda) + table->count * sizeof(cuda->room[0]));
	enum philox_status status;

	(void)option;
	if (!cuda)
		return status_set(PHILOX_ERROR_MEMORY,
				  "cuda:%u: no memory of the host", index);
	device_base_init(&cuda->base, &cuda_ops, 0);
	cuda->kernels = table;
	cuda->index = (int)index;
	status = open_context(cuda);
	if (status != PHILOX_OK)
		goto free_cuda;
	status = describe_gpu(cuda);
	if (status == PHILOX_OK)
		status = load_kernels(cuda);
	if (status != PHILOX_OK)
		goto close_context;
	cuda_spaces_open(cuda);
	*device = &cuda->base;
	return PHILOX_OK;

close_context:
	cuda_context_close(&cuda->context);
free_cuda:
	free(cuda);
	return status_prefix(status, "cuda:%u: ", index);
}

const struct device_opener device_cuda = {.count = cuda_count,
					  .open = cuda_open};
