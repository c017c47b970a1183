/*
 * tests/stress/device_cuda.c - every call of CUDA, failing in turn
 *
 * The CUDA device over our own runtime: the functions below replace
 * libcudart's, and the driver's that it hands out, record their calls and fail
 * when told to. So a machine without a GPU shows what
 * lib/device/cuda/on.c, device.c, space.c, graph.c and conditional.c do with
 * each error, but not that CUDA behaves as its documentation says.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>
#include "lib/device/device.h"
#include "lib/device/cuda/cuda.h"
#include "lib/kernels/cuda/cuda.h"

/* The runtime's signatures are given; not every fake reads its arguments. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define CHECK(condition)                                                      \
	do {                                                                  \
		if (!(condition)) {                                           \
			fprintf(stderr,                                       \
				"%s:%d: not so: %s (%s; message "             \
				"\"%s\")\n",                                  \
				__FILE__, __LINE__, #condition, fake.failing, \
				philox_error_message());                      \
			exit(1);                                              \
		}                                                             \
	} while (0)

/* --- the runtime ---------------------------------------------------------- */

enum { DEVICES = 4, GPU = 40 };               /* the driver's number of GPU 0 */
enum { DEPENDENCIES = 20, PROGRAMMATIC = 2 }; /* of any node; one of them */

/* The caller's context, and the primary ones, by their addresses. */
static char here, primary[DEVICES];
#define HERE  ((CUcontext)&here)
#define THERE ((CUcontext)&primary[1])

static struct {
	CUcontext stack[4]; /* of the thread, with the current one at `top` */
	int top;
	cudaError_t last;    /* the result of cudaGetLastError() */
	const char *failing; /* name of the call that is to fail, or "" */
	cudaError_t error;   /* with which it does */
	const char *called;  /* the last that acted on a device */
	unsigned calls;      /* of `counted` */
	const char *counted;
	CUcontext where; /* the context that was current then, */
	enum cudaStreamCaptureMode relaxed; /* and the thread's mode */
	enum cudaStreamCaptureMode mode;    /* now */
	enum cudaStreamCaptureStatus capture;
	cudaGraphNode_t depends; /* the capturing stream's dependencies */
	int programmatic;        /* it is, in the edge's data */
	cudaGraph_t graph;       /* given by the end of a capture */
	void (*destroy)(void *); /* of the user object */
	void *object;
	dim3 grid, block;
	unsigned cluster;
	unsigned largest_cluster; /* that the GPU runs */
	int ptx;                  /* version that kernels are compiled for */
	const void *function;
	int crowded;         /* no kernel fits */
	int old;             /* the GPU has no virtual memory management */
	int lacks;           /* an attribute */
	CUmemAllocationProp prop; /* of the memory made last */
	size_t allowed;           /* GPUs that may use it */
	int driver;          /* its version; 0: 13.1 */
	const void *unknown; /* the kernel that the driver cannot load */
	size_t blocks_alive; /* of host memory */
} fake;

static int retained[DEVICES]; /* how often each primary context is */

/* What is alive of spaces, in units, and of handles of memory and events. */
static struct {
	size_t reserved, mapped, allowed;
	int handles, events;
} alive;

enum { UNIT = 1 << 21 };
#define SPACE ((CUdeviceptr)UNIT * 1000) /* where the only one is */

static int fails(const char *name)
{
	if (!strcmp(fake.counted, name))
		fake.calls++;
	return !strcmp(fake.failing, name);
}

static cudaError_t call(const char *name)
{
	fake.called = name;
	fake.where = fake.stack[fake.top];
	fake.relaxed = fake.mode;
	if (!fails(name))
		return cudaSuccess;
	fake.last = fake.error;
	return fake.error;
}

#define FAKE(name, ...)               \
	cudaError_t name(__VA_ARGS__) \
	{                             \
		return call(#name);   \
	}

/* A function that returns a handle, the same for all, unless it fails. */
#define FAKE_HANDLE(name, type, ...)                                       \
	cudaError_t name(type *handle, __VA_ARGS__)                        \
	{                                                                  \
		cudaError_t error = call(#name);                           \
                                                                           \
		*handle = error == cudaSuccess ? (type)0x40 : (type)0x666; \
		return error;                                              \
	}

cudaError_t cudaGetLastError(void)
{
	cudaError_t last = fake.last;

	fake.last = cudaSuccess;
	return last;
}

const char *cudaGetErrorString(cudaError_t error)
{
	return "in CUDA's words";
}

cudaError_t cudaGetDeviceCount(int *count)
{
	*count = DEVICES;
	return call("cudaGetDeviceCount");
}

/* The last one reaches none. */
cudaError_t cudaDeviceCanAccessPeer(int *can, int from, int to)
{
	CHECK(from != to && from < DEVICES && to == 1);
	*can = from != DEVICES - 1;
	return call("cudaDeviceCanAccessPeer");
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
	memset(prop, 0, sizeof(*prop));
	strcpy(prop->name, "Imagined");
	prop->major = 9;
	prop->totalGlobalMem = (size_t)3 << 29;
	prop->multiProcessorCount = 10;
	return call("cudaGetDeviceProperties");
}

cudaError_t cudaDriverGetVersion(int *version)
{
	*version = fake.driver ? fake.driver : 13010;
	return call("cudaDriverGetVersion");
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
	*version = 12040;
	return call("cudaRuntimeGetVersion");
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes,
				  const void *function)
{
	cudaError_t error = call("cudaFuncGetAttributes");

	attributes->ptxVersion = fake.ptx;
	if (error != cudaSuccess || function != fake.unknown)
		return error;
	fake.last = fake.error;
	return fake.error;
}

static const char head_of_4, head_of_max, condition, fill, filters;

/* A kernel of many registers: of 2048 threads a multiprocessor holds 1280. */
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
							  const void *function,
							  int threads,
							  size_t shared)
{
	*blocks = fake.crowded ? 0 : function == &fill ? 5 : 2;
	CHECK(threads == (function == &fill ? 256 : 128) && shared == 0);
	return call("cudaOccupancyMaxActiveBlocksPerMultiprocessor");
}

static unsigned cluster_size(const cudaLaunchConfig_t *config)
{
	CHECK(config->numAttrs == 1 && config->dynamicSmemBytes == 0);
	CHECK(config->attrs->id == cudaLaunchAttributeClusterDimension);
	CHECK(config->attrs->val.clusterDim.y == 1);
	CHECK(config->attrs->val.clusterDim.z == 1);
	return config->attrs->val.clusterDim.x;
}

cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, const void *function,
					   const cudaLaunchConfig_t *config)
{
	const unsigned size = cluster_size(config);

	CHECK(function == &filters && config->blockDim.x == 128);
	CHECK(config->gridDim.x == size);
	*clusters = size <= fake.largest_cluster;
	return call("cudaOccupancyMaxActiveClusters");
}

FAKE_HANDLE(cudaMalloc, void *, size_t size)
FAKE(cudaFree, void *memory)

cudaError_t cudaHostAlloc(void **memory, size_t size, unsigned flags)
{
	cudaError_t error = call("cudaHostAlloc");

	if (error == cudaSuccess) {
		*memory = memset(malloc(size), 0xee, size);
		fake.blocks_alive++;
	}
	return error;
}

FAKE_HANDLE(cudaHostGetDevicePointer, void *, void *host, unsigned flags)

cudaError_t cudaFreeHost(void *memory)
{
	cudaError_t error = call("cudaFreeHost");

	if (error == cudaSuccess) {
		free(memory);
		fake.blocks_alive--;
	}
	return error;
}

FAKE(cudaMemcpyAsync, void *destination, const void *source, size_t size,
     enum cudaMemcpyKind kind, cudaStream_t stream)
FAKE(cudaMemsetAsync, void *memory, int value, size_t size, cudaStream_t stream)
FAKE_HANDLE(cudaStreamCreateWithFlags, cudaStream_t, unsigned flags)
FAKE(cudaStreamDestroy, cudaStream_t stream)
FAKE(cudaStreamGetPriority, cudaStream_t stream, int *priority)
FAKE(cudaStreamSynchronize, cudaStream_t stream)
FAKE(cudaStreamQuery, cudaStream_t stream)
FAKE(cudaDeviceSynchronize, void)

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
	cudaError_t error = call("cudaEventCreateWithFlags");

	*event = error == cudaSuccess ? (cudaEvent_t)0x40 : (cudaEvent_t)0x666;
	alive.events += error == cudaSuccess;
	return error;
}

/* Ours fails when told to, and what it was for is still destroyed. */
cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	alive.events--;
	return call("cudaEventDestroy");
}

FAKE(cudaEventRecord, cudaEvent_t event, cudaStream_t stream)
FAKE(cudaStreamWaitEvent, cudaStream_t stream, cudaEvent_t event,
     unsigned flags)
FAKE(cudaEventSynchronize, cudaEvent_t event)
FAKE(cudaEventQuery, cudaEvent_t event)

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end)
{
	*ms = 1.5f;
	return call("cudaEventElapsedTime");
}

FAKE(cudaStreamBeginCapture, cudaStream_t stream,
     enum cudaStreamCaptureMode mode)
/* The call between two exchanges is the last that counts. */
cudaError_t cudaThreadExchangeStreamCaptureMode(
	enum cudaStreamCaptureMode *mode)
{
	static const char name[] = "cudaThreadExchangeStreamCaptureMode";
	enum cudaStreamCaptureMode before = fake.mode;

	if (!*fake.called) {
		fake.called = name;
		fake.where = fake.stack[fake.top];
	}
	if (fails(name))
		return fake.last = fake.error;
	fake.mode = *mode;
	*mode = before;
	return cudaSuccess;
}

FAKE(cudaPointerGetAttributes, struct cudaPointerAttributes *attributes,
     const void *pointer)

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
	*free_bytes = 1;
	*total_bytes = 2;
	return call("cudaMemGetInfo");
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
	*graph = fake.graph;
	return call("cudaStreamEndCapture");
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
				  enum cudaStreamCaptureStatus *status)
{
	*status = fake.capture;
	return call("cudaStreamIsCapturing");
}

static cudaError_t capture_info(enum cudaStreamCaptureStatus *status,
				unsigned long long *id, cudaGraph_t *graph,
				const cudaGraphNode_t **nodes, size_t *count)
{
	*status = fake.capture;
	if (fake.capture == cudaStreamCaptureStatusActive) {
		*id = 7;
		*graph = (cudaGraph_t)0x40;
		*nodes = &fake.depends;
		*count = fake.depends ? 1 : 0;
	}
	return call("cudaStreamGetCaptureInfo");
}

static cudaError_t add_dependency(const cudaGraphNode_t *nodes)
{
	fake.depends = *nodes;
	return call("cudaStreamUpdateCaptureDependencies");
}

#if CUDART_VERSION >= 12030
#if CUDART_VERSION < 13000
#undef cudaGraphNodeGetDependencies
#undef cudaStreamGetCaptureInfo
#undef cudaStreamUpdateCaptureDependencies
#define cudaGraphNodeGetDependencies cudaGraphNodeGetDependencies_v2
#define cudaStreamGetCaptureInfo     cudaStreamGetCaptureInfo_v3
#define cudaStreamUpdateCaptureDependencies \
	cudaStreamUpdateCaptureDependencies_v2
#endif
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
				     enum cudaStreamCaptureStatus *status,
				     unsigned long long *id, cudaGraph_t *graph,
				     const cudaGraphNode_t **nodes,
				     const cudaGraphEdgeData **edges,
				     size_t *count)
{
	static cudaGraphEdgeData edge;

	if (nodes && !edges)
		return cudaErrorLossyQuery;
	edge.type = (unsigned char)fake.programmatic;
	*edges = &edge;
	return capture_info(status, id, graph, nodes, count);
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
						cudaGraphNode_t *nodes,
						const cudaGraphEdgeData *edges,
						size_t count, unsigned flags)
{
	return add_dependency(nodes);
}

/* A node with more dependencies than a first query has room for. */
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node,
					 cudaGraphNode_t *nodes,
					 cudaGraphEdgeData *edges,
					 size_t *count)
{
	if (!edges)
		return cudaErrorLossyQuery;
	for (size_t i = 0; i < *count; i++) {
		nodes[i] = i < DEPENDENCIES ? (cudaGraphNode_t)(i + 1) : NULL;
		edges[i] = (cudaGraphEdgeData){.type = i == PROGRAMMATIC};
	}
	if (*count > DEPENDENCIES)
		*count = DEPENDENCIES;
	return call("cudaGraphNodeGetDependencies");
}
#else
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
				     enum cudaStreamCaptureStatus *status,
				     unsigned long long *id, cudaGraph_t *graph,
				     const cudaGraphNode_t **nodes,
				     size_t *count)
{
	return capture_info(status, id, graph, nodes, count);
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
						cudaGraphNode_t *nodes,
						size_t count, unsigned flags)
{
	return add_dependency(nodes);
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node,
					 cudaGraphNode_t *nodes, size_t *count)
{
	for (size_t i = 0; i < *count; i++)
		nodes[i] = i < DEPENDENCIES ? (cudaGraphNode_t)(i + 1) : NULL;
	if (*count > DEPENDENCIES)
		*count = DEPENDENCIES;
	return call("cudaGraphNodeGetDependencies");
}
#endif

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block,
			     void **arguments, size_t shared,
			     cudaStream_t stream)
{
	fake.function = function;
	fake.grid = grid;
	fake.block = block;
	fake.cluster = 1;
	return call("cudaLaunchKernel");
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config,
				const void *function, void **arguments)
{
	fake.function = function;
	fake.grid = config->gridDim;
	fake.block = config->blockDim;
	fake.cluster = cluster_size(config);
	CHECK(config->stream == (cudaStream_t)0x40 && *arguments);
	return call("cudaLaunchKernelExC");
}

FAKE_HANDLE(cudaGraphAddKernelNode, cudaGraphNode_t, cudaGraph_t graph,
	    const cudaGraphNode_t *nodes, size_t count,
	    const struct cudaKernelNodeParams *params)
FAKE(cudaGraphKernelNodeSetParams, cudaGraphNode_t node,
     const struct cudaKernelNodeParams *params)

cudaError_t cudaGraphKernelNodeSetAttribute(
	cudaGraphNode_t node, cudaLaunchAttributeID attribute,
	const cudaLaunchAttributeValue *value)
{
	CHECK(attribute == cudaLaunchAttributePriority);
	CHECK(value->priority == -3);
	return call("cudaGraphKernelNodeSetAttribute");
}
FAKE(cudaGraphExecKernelNodeSetParams, cudaGraphExec_t exec,
     cudaGraphNode_t node, const struct cudaKernelNodeParams *params)
FAKE(cudaGraphGetNodes, cudaGraph_t graph, cudaGraphNode_t *nodes,
     size_t *count)
FAKE(cudaGraphNodeGetType, cudaGraphNode_t node, enum cudaGraphNodeType *type)
FAKE(cudaGraphKernelNodeGetParams, cudaGraphNode_t node,
     struct cudaKernelNodeParams *params)
FAKE(cudaFuncGetName, const char **name, const void *function)
FAKE(cudaGraphDestroy, cudaGraph_t graph)
FAKE_HANDLE(cudaGraphInstantiate, cudaGraphExec_t, cudaGraph_t graph,
	    unsigned long long flags)
FAKE(cudaGraphLaunch, cudaGraphExec_t exec, cudaStream_t stream)
FAKE(cudaGraphExecDestroy, cudaGraphExec_t exec)

#if CUDART_VERSION >= 12030
#if CUDART_VERSION >= 13000
#define EDGES const cudaGraphEdgeData *edges,
#else
#define EDGES
#endif
enum { BODIES = 3 };
#define BODY(i) ((cudaGraph_t)(uintptr_t)(0x70 + (i)))

static struct {
	unsigned value, flags;
	struct cudaConditionalNodeParams node;
} asked;

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle,
					     cudaGraph_t graph, unsigned value,
					     unsigned flags)
{
	asked.value = value;
	asked.flags = flags;
	*handle = 0x666;
	return call("cudaGraphConditionalHandleCreate");
}

FAKE(cudaStreamBeginCaptureToGraph, cudaStream_t stream, cudaGraph_t graph,
     const cudaGraphNode_t *nodes, const cudaGraphEdgeData *edges, size_t count,
     enum cudaStreamCaptureMode mode)

cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph,
			     const cudaGraphNode_t *nodes, EDGES size_t count,
			     struct cudaGraphNodeParams *params)
{
	static cudaGraph_t bodies[BODIES] = {BODY(0), BODY(1), BODY(2)};

	CHECK(params->type == cudaGraphNodeTypeConditional);
	asked.node = params->conditional;
	params->conditional.phGraph_out = bodies;
	*node = (cudaGraphNode_t)0x666;
	return call("cudaGraphAddNode");
}

#define CONDITIONAL_OPERATIONS(X)                                             \
	X(cudaStreamBeginCaptureToGraph,                                      \
	  device_capture_begin_to(device, s, handle, PHILOX_CAPTURE_GLOBAL))  \
	X(cudaGraphConditionalHandleCreate,                                   \
	  device_condition_create(device, handle, 5, 1, &made))               \
	X(cudaGraphAddNode,                                                   \
	  device_graph_add_conditional(device, handle, NULL, 0, &conditional, \
				       &node, bodies))
#else
#define CONDITIONAL_OPERATIONS(X)
#endif

cudaError_t cudaUserObjectCreate(cudaUserObject_t *owner, void *object,
				 cudaHostFn_t destroy, unsigned count,
				 unsigned flags)
{
	cudaError_t error = call("cudaUserObjectCreate");

	if (error == cudaSuccess) {
		fake.destroy = destroy;
		fake.object = object;
	}
	return error;
}

FAKE(cudaGraphRetainUserObject, cudaGraph_t graph, cudaUserObject_t owner,
     unsigned count, unsigned flags)

cudaError_t cudaUserObjectRelease(cudaUserObject_t owner, unsigned count)
{
	fake.destroy(fake.object);
	return call("cudaUserObjectRelease");
}

static const struct kernel_cuda table[] = {
	{KERNEL_HEAD, sizeof(struct head_args) + 64, &head_of_4, 128, 2, 1},
	{KERNEL_HEAD, sizeof(struct head_args) + 16 * HEAD_CAPACITY_MAX,
	 &head_of_max, 128, 2, 1},
	{KERNEL_CONDITION, sizeof(struct condition_args), &condition, 128, 1,
	 0},
	{KERNEL_bits_u32, sizeof(struct fill_args), &fill, 256, 1, 0},
	{KERNEL_filter_f32, sizeof(struct sample_args), &filters, 128, 1, 0},
};
const struct kernels_cuda kernels_cuda = {table, 5};

/* --- the driver ----------------------------------------------------------- */

/* Errors of the driver are not the runtime's last one. */
#define DRIVER_FAKE(name, effect, ...)               \
	static CUresult fake_##name(__VA_ARGS__)     \
	{                                            \
		if (fails(#name))                    \
			return (CUresult)fake.error; \
		effect;                              \
		return CUDA_SUCCESS;                 \
	}

DRIVER_FAKE(cuInit, (void)flags, unsigned flags)
DRIVER_FAKE(cuDeviceGet, *gpu = GPU + index, CUdevice *gpu, int index)
DRIVER_FAKE(cuDevicePrimaryCtxRetain,
	    (retained[gpu - GPU]++, *context = (CUcontext)&primary[gpu - GPU]),
	    CUcontext *context, CUdevice gpu)
DRIVER_FAKE(cuDevicePrimaryCtxRelease, retained[gpu - GPU]--, CUdevice gpu)
DRIVER_FAKE(cuCtxGetCurrent, *context = fake.stack[fake.top],
	    CUcontext *context)
DRIVER_FAKE(cuCtxPushCurrent, fake.stack[++fake.top] = context,
	    CUcontext context)
DRIVER_FAKE(cuCtxPopCurrent, *context = fake.stack[fake.top--],
	    CUcontext *context)

#define VMM CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED

/* Of one space and one extent, in the device's context. */
#define SPACE_FAKE(name, right, effect, ...)                   \
	DRIVER_FAKE(name, ({                                   \
			    CHECK(right);                      \
			    fake.where = fake.stack[fake.top]; \
			    effect;                            \
		    }),                                        \
		    __VA_ARGS__)

static int is_device_memory(const CUmemLocation *location)
{
	return location->type == CU_MEM_LOCATION_TYPE_DEVICE &&
	       (location->id == GPU + 1 || location->id == GPU + 2);
}

#define RDMA   CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED
#define EXPORT CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED
#define FABRIC 128 /* from CUDA 12.3 on in cuda.h */

static int is_asked(int attribute)
{
	return attribute == VMM || attribute == RDMA || attribute == EXPORT ||
	       attribute == FABRIC;
}

/* The GPU itself, then others, each once. */
static int are_gpus(const CUmemAccessDesc *access, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const CUmemLocation *location = &access[i].location;

		if (location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
		    access[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
			return 0;
		for (size_t k = 0; k < i; k++)
			if (access[k].location.id == location->id)
				return 0;
	}
	return is_device_memory(&access[0].location);
}

SPACE_FAKE(cuDeviceGetAttribute, is_asked((int)which),
	   *value = which == VMM ? !fake.old : (int)which != fake.lacks,
	   int *value, CUdevice_attribute which, CUdevice gpu)
SPACE_FAKE(cuMemGetAllocationGranularity,
	   is_device_memory(&prop->location) &&
		   option == CU_MEM_ALLOC_GRANULARITY_MINIMUM,
	   *unit = UNIT, size_t *unit, const CUmemAllocationProp *prop,
	   CUmemAllocationGranularity_flags option)
SPACE_FAKE(cuMemAddressReserve, alignment == UNIT && !hint && !flags,
	   (*address = SPACE, alive.reserved += size / UNIT),
	   CUdeviceptr *address, size_t size, size_t alignment,
	   CUdeviceptr hint, unsigned long long flags)
SPACE_FAKE(cuMemAddressFree, address == SPACE && !alive.mapped,
	   alive.reserved -= size / UNIT, CUdeviceptr address, size_t size)
SPACE_FAKE(cuMemCreate,
	   is_device_memory(&prop->location) &&
		   prop->type == CU_MEM_ALLOCATION_TYPE_PINNED && !flags,
	   (*handle = size, alive.handles++, fake.prop = *prop),
	   CUmemGenericAllocationHandle *handle, size_t size,
	   const CUmemAllocationProp *prop, unsigned long long flags)
SPACE_FAKE(cuMemRelease, alive.handles == 1, alive.handles--,
	   CUmemGenericAllocationHandle handle)
SPACE_FAKE(cuMemMap,
	   address == SPACE + UNIT && size == handle && !offset && !flags &&
		   alive.handles == 1,
	   alive.mapped += size / UNIT, CUdeviceptr address, size_t size,
	   size_t offset, CUmemGenericAllocationHandle handle,
	   unsigned long long flags)
SPACE_FAKE(cuMemSetAccess,
	   address == SPACE + UNIT && size == UNIT * alive.mapped &&
		   are_gpus(access, count),
	   (alive.allowed = alive.mapped, fake.allowed = count),
	   CUdeviceptr address, size_t size, const CUmemAccessDesc *access,
	   size_t count)
SPACE_FAKE(cuMemUnmap, address == SPACE + UNIT && size == UNIT * alive.mapped,
	   alive.mapped = alive.allowed = 0, CUdeviceptr address, size_t size)

/* A function that the driver lacks has the name `failing` and no error. */
static cudaError_t find_driver(const char *name, void **function,
			       enum cudaDriverEntryPointQueryResult *found)
{
	static const struct {
		const char *name;
		void *function;
	} functions[] = {
		{"cuInit", fake_cuInit},
		{"cuDeviceGet", fake_cuDeviceGet},
		{"cuDevicePrimaryCtxRetain", fake_cuDevicePrimaryCtxRetain},
		{"cuDevicePrimaryCtxRelease", fake_cuDevicePrimaryCtxRelease},
		{"cuCtxGetCurrent", fake_cuCtxGetCurrent},
		{"cuCtxPushCurrent", fake_cuCtxPushCurrent},
		{"cuCtxPopCurrent", fake_cuCtxPopCurrent},
		{"cuDeviceGetAttribute", fake_cuDeviceGetAttribute},
		{"cuMemGetAllocationGranularity",
		 fake_cuMemGetAllocationGranularity},
		{"cuMemAddressReserve", fake_cuMemAddressReserve},
		{"cuMemAddressFree", fake_cuMemAddressFree},
		{"cuMemCreate", fake_cuMemCreate},
		{"cuMemRelease", fake_cuMemRelease},
		{"cuMemMap", fake_cuMemMap},
		{"cuMemSetAccess", fake_cuMemSetAccess},
		{"cuMemUnmap", fake_cuMemUnmap},
	};

	*function = NULL;
	*found = cudaDriverEntryPointSymbolNotFound;
	if (!strcmp(fake.failing, name) && fake.error == cudaSuccess)
		return cudaSuccess;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (!strcmp(functions[i].name, name)) {
			*function = functions[i].function;
			*found = cudaDriverEntryPointSuccess;
		}
	return call("cudaGetDriverEntryPoint");
}

#if CUDART_VERSION >= 12050
cudaError_t cudaGetDriverEntryPointByVersion(
	const char *name, void **function, unsigned version,
	unsigned long long flags, enum cudaDriverEntryPointQueryResult *found)
{
	CHECK(version == 12000);
	return find_driver(name, function, found);
}
#else
cudaError_t cudaGetDriverEntryPoint(const char *name, void **function,
				    unsigned long long flags,
				    enum cudaDriverEntryPointQueryResult *found)
{
	return find_driver(name, function, found);
}
#endif

/* --- the calls ------------------------------------------------------------ */

static struct philox_device *device;
static int released; /* how often release() was called */

static void release(void *object)
{
	released += *(int *)object;
}

/* Our call, and CUDA's call in it whose failure it reports. */
#define OPERATIONS(X)                                                          \
	X(cudaMalloc, philox_memory_alloc(device, 64, &memory))                \
	X(cudaFree, philox_memory_free(device, handle))                        \
	X(cudaMemGetInfo, philox_device_memory_info(device, &n, NULL))         \
	X(cudaHostAlloc, device_mapped_alloc(device, 64, &host, &memory))      \
	X(cudaHostGetDevicePointer,                                            \
	  device_mapped_alloc(device, 64, &host, &memory))                     \
	X(cudaMemcpyAsync, philox_memory_copy(device, s, handle, &one, 4))     \
	X(cudaMemsetAsync, philox_memory_set(device, s, handle, 0, 4))         \
	X(cudaStreamCreateWithFlags, philox_stream_create(device, 0, &stream)) \
	X(cudaStreamIsCapturing, philox_stream_destroy(device, s))             \
	X(cudaStreamDestroy, philox_stream_destroy(device, s))                 \
	X(cudaStreamGetPriority, device_stream_priority(device, s, &priority)) \
	X(cudaStreamSynchronize, philox_stream_synchronize(device, s))         \
	X(cudaStreamQuery, philox_stream_query(device, s))                     \
	X(cudaDeviceSynchronize, philox_device_synchronize(device))            \
	X(cudaEventCreateWithFlags, philox_event_create(device, &event))       \
	X(cudaEventDestroy, philox_event_destroy(device, handle))              \
	X(cudaEventRecord, philox_event_record(device, s, handle))             \
	X(cudaStreamWaitEvent, philox_event_wait(device, s, handle))           \
	X(cudaEventSynchronize, philox_event_synchronize(device, handle))      \
	X(cudaEventQuery, philox_event_query(device, handle))                  \
	X(cudaEventElapsedTime,                                                \
	  device_event_elapsed(device, handle, handle, &out.ns))               \
	X(cudaStreamBeginCapture,                                              \
	  philox_stream_begin_capture(device, s, PHILOX_CAPTURE_GLOBAL))       \
	X(cudaStreamEndCapture, philox_stream_end_capture(device, s, &graph))  \
	X(cudaStreamGetCaptureInfo, device_capture_info(device, s, &info))     \
	X(cudaStreamUpdateCaptureDependencies,                                 \
	  device_capture_depend(device, s, handle))                            \
	X(cudaThreadExchangeStreamCaptureMode,                                 \
	  philox_capture_exchange_mode(device, &mode))                         \
	X(cudaGraphAddKernelNode,                                              \
	  device_graph_add_kernel(device, handle, NULL, 0, &kernel, &node))    \
	X(cudaGraphKernelNodeSetParams,                                        \
	  device_graph_set_kernel(device, handle, &kernel))                    \
	X(cudaUserObjectCreate,                                                \
	  device_graph_retain(device, handle, release, &one))                  \
	X(cudaGraphRetainUserObject,                                           \
	  device_graph_retain(device, handle, release, &one))                  \
	X(cudaGraphNodeGetDependencies,                                        \
	  device_node_deps(device, handle, &node, &n))                         \
	X(cudaGraphGetNodes,                                                   \
	  philox_native_graph_node_count(device, handle, &n))                  \
	X(cudaGraphKernelNodeSetAttribute,                                     \
	  device_node_priority(device, handle, -3))                            \
	X(cudaGraphDestroy, philox_native_graph_destroy(device, handle))       \
	X(cudaGraphInstantiate,                                                \
	  philox_native_graph_instantiate(device, handle, &exec))              \
	X(cudaGraphExecKernelNodeSetParams,                                    \
	  device_exec_set_kernel(device, handle, handle, &kernel))             \
	X(cudaGraphLaunch, philox_native_exec_launch(device, s, handle))       \
	X(cudaGraphExecDestroy, philox_native_exec_destroy(device, handle))    \
	X(cudaLaunchKernel, device_launch(device, s, &kernel))                 \
	X(cudaLaunchKernelExC, device_launch(device, s, &filter))              \
	CONDITIONAL_OPERATIONS(X)

enum operation {
#define OPERATION_ENUM(name, call) IN_##name,
	OPERATIONS(OPERATION_ENUM)
#undef OPERATION_ENUM
		OPERATION_COUNT
};

static const char *const names[] = {
#define OPERATION_NAME(name, call) #name,
	OPERATIONS(OPERATION_NAME)
#undef OPERATION_NAME
};

/* Outputs go here; a failing call must not change them. */
static struct {
	void *host, *memory;
	philox_stream stream;
	philox_event event;
	philox_native_graph graph;
	philox_native_exec exec;
	device_node node;
	struct capture_info info;
	enum philox_capture_mode mode;
	size_t n;
	uint64_t ns;
	device_condition made;
	philox_native_graph bodies[3];
} out;

static enum philox_status carry_out(enum operation operation)
{
	static int one = 1;
	static struct fill_args args;
	static struct sample_args sample;
	const struct kernel_call kernel = {
		KERNEL_bits_u32, &args, sizeof(args), 1000, NULL, 0};
	const struct kernel_call filter = {
		KERNEL_filter_f32, &sample, sizeof(sample), 1, NULL, 2};
	const struct conditional conditional = {7, CONDITIONAL_IF, 1};
	void *handle = (void *)0x40;
	philox_stream s = handle;
	int priority;

	(void)conditional; /* not before CUDA 12.3 */

#define made   out.made
#define bodies out.bodies
#define host   out.host
#define memory out.memory
#define stream out.stream
#define event  out.event
#define graph  out.graph
#define exec   out.exec
#define node   out.node
#define info   out.info
#define mode   out.mode
#define n      out.n
	switch (operation) {
#define OPERATION_CASE(name, call) \
	case IN_##name:            \
		return call;
		OPERATIONS(OPERATION_CASE)
#undef OPERATION_CASE
	default:
		abort();
	}
#undef made
#undef bodies
#undef host
#undef memory
#undef stream
#undef event
#undef graph
#undef exec
#undef node
#undef info
#undef mode
#undef n
}

static void begin(const char *failing, cudaError_t error)
{
	memset(&fake, 0, sizeof(fake));
	memset(&out, 0, sizeof(out));
	fake.stack[fake.top = 1] = HERE;
	fake.failing = failing;
	fake.error = error;
	fake.called = fake.counted = "";
	fake.graph = (cudaGraph_t)0x40;
	fake.largest_cluster = 8;
	fake.ptx = 90;
	released = 0;
}

/* --- the promises --------------------------------------------------------- */

/* Whether `context` is current and on the stack as it was. */
static int is_back(CUcontext context)
{
	return fake.top == 1 && fake.stack[1] == context;
}

/* A call acts on its device and leaves the thread's current context. */
static void act_from(CUcontext context)
{
	for (int i = 0; i < OPERATION_COUNT; i++) {
		begin("", cudaSuccess);
		fake.stack[1] = context;
		CHECK(carry_out(i) == PHILOX_OK);
		CHECK(!strcmp(fake.called, names[i]) || i == IN_cudaHostAlloc ||
		      i == IN_cudaStreamIsCapturing ||
		      i == IN_cudaUserObjectCreate);
		CHECK(fake.where == THERE);
		CHECK(is_back(context));
		if (fake.destroy)
			fake.destroy(fake.object);
		CHECK(released == (fake.destroy != NULL));
		if (fake.blocks_alive)
			free(out.host);
	}
}

static void calls_act_on_their_device(void)
{
	act_from(HERE);
	act_from(NULL);
	act_from(THERE);
}

/* If the context is already current, the cost is one query. */
static void where_the_context_is_current_it_is_not_pushed(void)
{
	static const struct {
		const char *name;
		CUcontext from;
		unsigned calls;
	} rows[] = {
		{"cuCtxGetCurrent", THERE, 1}, {"cuCtxPushCurrent", THERE, 0},
		{"cuCtxPopCurrent", THERE, 0}, {"cuCtxGetCurrent", HERE, 1},
		{"cuCtxPushCurrent", HERE, 1}, {"cuCtxPopCurrent", HERE, 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin("", cudaSuccess);
		fake.stack[1] = rows[i].from;
		fake.counted = rows[i].name;
		CHECK(carry_out(IN_cudaLaunchKernel) == PHILOX_OK);
		CHECK(fake.calls == rows[i].calls);
	}
}

/* A failure gives one status with CUDA's words; nothing else is left. */
static void failures_are_reported_and_cleared(void)
{
	static const char zeros[sizeof(out)];

	for (int i = 0; i < OPERATION_COUNT; i++) {
		char wanted[128];

		begin(names[i], cudaErrorStreamCaptureIsolation);
		snprintf(wanted, sizeof(wanted), "%s: in CUDA's words",
			 names[i]);
		CHECK(carry_out(i) == PHILOX_ERROR_CAPTURE_ISOLATION);
		CHECK(!strcmp(philox_error_message(), wanted));
		CHECK(fake.last == cudaSuccess);
		CHECK(is_back(HERE));
		CHECK(!memcmp(&out, zeros, sizeof(out)));
		CHECK(fake.blocks_alive == 0);
		CHECK(released == 0);

		begin("cuCtxPushCurrent", cudaErrorContextIsDestroyed);
		CHECK(carry_out(i) == PHILOX_ERROR_DEVICE);
		CHECK(!strcmp(philox_error_message(),
			      "cuCtxPushCurrent: in CUDA's words"));
		CHECK(!strcmp(fake.called, ""));
		CHECK(is_back(HERE));
		CHECK(!memcmp(&out, zeros, sizeof(out)));
	}
}

static void every_error_has_its_status(void)
{
	static const struct {
		cudaError_t error;
		enum philox_status status;
	} rows[] = {
		{cudaErrorNotReady, PHILOX_NOT_READY},
		{cudaErrorInvalidValue, PHILOX_ERROR_INVALID},
		{cudaErrorMemoryAllocation, PHILOX_ERROR_MEMORY},
		{cudaErrorIllegalState, PHILOX_ERROR_STATE},
		{cudaErrorNoDevice, PHILOX_ERROR_NO_DEVICE},
		{cudaErrorInsufficientDriver, PHILOX_ERROR_NO_DEVICE},
		{cudaErrorNotSupported, PHILOX_ERROR_UNSUPPORTED},
		{cudaErrorNoKernelImageForDevice, PHILOX_ERROR_UNSUPPORTED},
		{cudaErrorLaunchFailure, PHILOX_ERROR_DEVICE},
		{cudaErrorIllegalAddress, PHILOX_ERROR_DEVICE},
		{cudaErrorUnknown, PHILOX_ERROR_DEVICE},
		{(cudaError_t)900, PHILOX_ERROR_CAPTURE_UNSUPPORTED},
		{(cudaError_t)901, PHILOX_ERROR_CAPTURE_INVALIDATED},
		{(cudaError_t)902, PHILOX_ERROR_CAPTURE_MERGE},
		{(cudaError_t)903, PHILOX_ERROR_CAPTURE_UNMATCHED},
		{(cudaError_t)904, PHILOX_ERROR_CAPTURE_UNJOINED},
		{(cudaError_t)905, PHILOX_ERROR_CAPTURE_ISOLATION},
		{(cudaError_t)906, PHILOX_ERROR_CAPTURE_IMPLICIT},
		{(cudaError_t)907, PHILOX_ERROR_CAPTURED_EVENT},
		{(cudaError_t)908, PHILOX_ERROR_CAPTURE_WRONG_THREAD},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin("cudaStreamQuery", rows[i].error);
		CHECK(carry_out(IN_cudaStreamQuery) == rows[i].status);
	}
}

/* Nothing is launched into a capturing stream, and this breaks nothing. */
static void a_launch_into_a_capture_is_refused(void)
{
	for (int capture = cudaStreamCaptureStatusActive;
	     capture <= cudaStreamCaptureStatusInvalidated; capture++) {
		begin("", cudaSuccess);
		fake.capture = capture;
		CHECK(carry_out(IN_cudaGraphLaunch) ==
		      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
		CHECK(!strcmp(fake.called, "cudaStreamIsCapturing"));
	}
}

/* A capturing stream lives on, and a query has invalidated its capture. */
static void a_capturing_stream_is_not_destroyed(void)
{
	begin("cudaStreamQuery", cudaErrorStreamCaptureUnsupported);
	fake.capture = cudaStreamCaptureStatusActive;
	CHECK(carry_out(IN_cudaStreamDestroy) ==
	      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	CHECK(!strcmp(fake.called, "cudaStreamQuery"));
	CHECK(fake.last == cudaSuccess);
}

static void a_dependency_is_added_once(void)
{
	begin("", cudaSuccess);
	fake.capture = cudaStreamCaptureStatusActive;
	fake.counted = "cudaStreamUpdateCaptureDependencies";
	for (int i = 0; i < 3; i++)
		CHECK(carry_out(IN_cudaStreamUpdateCaptureDependencies) ==
		      PHILOX_OK);
	CHECK(fake.calls == 1);
	CHECK(fake.depends == (cudaGraphNode_t)0x40);
}

/* Those that have ended when the node begins, and all of them. */
static void dependencies_are_shown(void)
{
#if CUDART_VERSION >= 12030
	const size_t plain = DEPENDENCIES - 1;
#else
	const size_t plain = DEPENDENCIES;
#endif
	device_node shown[DEPENDENCIES + 1] = {NULL};
	size_t n = DEPENDENCIES + 1;

	begin("", cudaSuccess);
	CHECK(device_node_deps(device, (device_node)0x40, shown, &n) ==
	      PHILOX_OK);
	CHECK(n == plain && !shown[plain]);
	CHECK(shown[plain - 1] == (device_node)(size_t)DEPENDENCIES);
	for (size_t i = 0; i < n; i++)
		CHECK(plain == DEPENDENCIES ||
		      shown[i] != (device_node)(size_t)(PROGRAMMATIC + 1));
	n = 3;
	shown[3] = NULL;
	CHECK(device_node_deps(device, (device_node)0x40, shown, &n) ==
	      PHILOX_OK);
	CHECK(n == plain && !shown[3]);
}

/* One that is not shown must not be taken for none at all. */
static void a_stream_tells_of_dependencies_that_are_not_shown(void)
{
	for (int programmatic = 0; programmatic < 2; programmatic++) {
		struct capture_info info;
		device_node shown[4] = {NULL};
		size_t n = 4;

		begin("", cudaSuccess);
		fake.capture = cudaStreamCaptureStatusActive;
		fake.depends = (cudaGraphNode_t)0x48;
		fake.programmatic = programmatic;
		CHECK(device_capture_tips(device, (philox_stream)0x40, shown,
					  &n) == PHILOX_OK);
		CHECK(device_capture_info(device, (philox_stream)0x40, &info) ==
		      PHILOX_OK);
		if (programmatic && CUDART_VERSION >= 12030) {
			CHECK(n == 5 && !shown[0]);
			CHECK(info.tips.n == CAPTURE_TIPS + 1);
		} else {
			CHECK(n == 1 && shown[0] == (device_node)0x48);
			CHECK(info.tips.n == 1 &&
			      info.tips.nodes[0] == (device_node)0x48);
		}
	}
}

static void captures_are_described(void)
{
	begin("", cudaSuccess);
	CHECK(carry_out(IN_cudaStreamGetCaptureInfo) == PHILOX_OK);
	CHECK(out.info.status == PHILOX_CAPTURE_NONE && out.info.id == 0);
	fake.capture = cudaStreamCaptureStatusActive;
	CHECK(carry_out(IN_cudaStreamGetCaptureInfo) == PHILOX_OK);
	CHECK(out.info.status == PHILOX_CAPTURE_ACTIVE && out.info.id == 7);
	CHECK(out.info.graph == (philox_native_graph)0x40);
	fake.capture = cudaStreamCaptureStatusInvalidated;
	CHECK(carry_out(IN_cudaStreamGetCaptureInfo) == PHILOX_OK);
	CHECK(out.info.status == PHILOX_CAPTURE_INVALIDATED);
	CHECK(out.info.graph == NULL);
}

static void a_capture_without_a_graph_was_invalidated(void)
{
	begin("", cudaSuccess);
	fake.graph = NULL;
	CHECK(carry_out(IN_cudaStreamEndCapture) ==
	      PHILOX_ERROR_CAPTURE_INVALIDATED);
}

static void mapped_memory_is_zeroed(void)
{
	static const char zeros[64];

	begin("", cudaSuccess);
	CHECK(carry_out(IN_cudaHostAlloc) == PHILOX_OK);
	CHECK(!memcmp(out.host, zeros, sizeof(zeros)));
	CHECK(device_mapped_free(device, out.host) == PHILOX_OK);
	CHECK(fake.blocks_alive == 0);
}

/* The grid grows with the work up to the device's capacity: 10 x 5 blocks. */
static void grids_follow_the_work(void)
{
	static const struct {
		uint64_t work;
		unsigned blocks;
	} rows[] = {{0, 1},      {1, 1},      {256, 1},        {257, 2},
		    {12800, 50}, {12801, 50}, {UINT64_MAX, 50}};
	static struct fill_args args;

	begin("", cudaSuccess);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct kernel_call kernel = {
			KERNEL_bits_u32, &args, sizeof(args),
			rows[i].work,    NULL,  8};

		CHECK(device_launch(device, NULL, &kernel) == PHILOX_OK);
		CHECK(fake.function == &fill);
		CHECK(fake.grid.x == rows[i].blocks && fake.block.x == 256);
	}
}

/* The head's kernel is the one for the message's size. */
static void heads_are_chosen_by_size(void)
{
	static char args[sizeof(struct head_args) + 16 * HEAD_CAPACITY_MAX];
	struct kernel_call kernel = {KERNEL_HEAD, args, sizeof(args),
				     1,           NULL, 0};

	begin("", cudaSuccess);
	CHECK(device_launch(device, NULL, &kernel) == PHILOX_OK);
	CHECK(fake.function == &head_of_max);
	kernel.size = head_args_size(4);
	CHECK(device_launch(device, NULL, &kernel) == PHILOX_OK);
	CHECK(fake.function == &head_of_4);
	kernel.size += 16;
	CHECK(device_launch(device, NULL, &kernel) == PHILOX_ERROR_INVALID);
}

/* Few cells, few threads; many cells, many blocks, two cells for a thread. */
static void heads_are_as_wide_as_their_cells(void)
{
	static const struct {
		uint64_t cells;
		unsigned blocks, threads;
	} rows[] = {{0, 1, 32},      {1, 1, 32},       {64, 1, 32},
		    {65, 1, 64},     {192, 1, 96},     {193, 1, 128},
		    {256, 1, 128},   {257, 2, 128},    {4096, 16, 128},
		    {5120, 20, 128}, {409600, 20, 128}};
	static char args[sizeof(struct head_args) + 64];

	begin("", cudaSuccess);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct kernel_call kernel = {KERNEL_HEAD,  args,
						   sizeof(args), rows[i].cells,
						   NULL,         0};

		CHECK(device_launch(device, NULL, &kernel) == PHILOX_OK);
		CHECK(fake.grid.x == rows[i].blocks);
		CHECK(fake.block.x == rows[i].threads);
	}
}

/* Blocks share work as long as all of them run at once: 20 do. */
static void clusters_are_as_large_as_there_is_room(void)
{
	static const struct {
		unsigned entries, wanted, largest, blocks, cluster;
	} rows[] = {
		{1, 100, 8, 8, 8},   {2, 100, 8, 16, 8},  {3, 100, 8, 12, 4},
		{5, 100, 8, 20, 4},  {6, 100, 8, 12, 2},  {10, 100, 8, 20, 2},
		{11, 100, 8, 11, 1}, {50, 100, 8, 20, 1}, {1, 8, 8, 8, 8},
		{1, 7, 8, 4, 4},     {1, 1, 8, 1, 1},     {1, 0, 8, 1, 1},
		{1, 100, 4, 4, 4},   {1, 100, 1, 1, 1},
	};
	static struct sample_args args;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct kernel_call kernel = {
			KERNEL_filter_f32,     &args, sizeof(args),
			rows[i].entries * 128, NULL,  rows[i].wanted};

		philox_device_close(device);
		begin("", cudaSuccess);
		fake.largest_cluster = rows[i].largest;
		CHECK(philox_device_open("cuda:1", &device) == PHILOX_OK);
		CHECK(device_launch(device, (philox_stream)0x40, &kernel) ==
		      PHILOX_OK);
		CHECK(fake.function == &filters && fake.block.x == 128);
		CHECK(fake.grid.x == rows[i].blocks);
		CHECK(fake.cluster == rows[i].cluster);
	}
}

/* A kernel for older GPUs knows none, nor does a GPU that cannot say. */
static void clusters_are_those_of_the_kernel(void)
{
	static struct sample_args args;
	const struct kernel_call kernel = {
		KERNEL_filter_f32, &args, sizeof(args), 1, NULL, 8};

	for (int asked = 0; asked < 2; asked++) {
		philox_device_close(device);
		begin(asked ? "cudaOccupancyMaxActiveClusters" : "",
		      asked ? cudaErrorInvalidValue : cudaSuccess);
		fake.ptx = asked ? 90 : 80;
		CHECK(philox_device_open("cuda:1", &device) == PHILOX_OK);
		CHECK(device_launch(device, NULL, &kernel) == PHILOX_OK);
		CHECK(fake.grid.x == 1 && fake.cluster == 1);
	}
}

static void an_open_that_fails_leaves_nothing(void)
{
	static const char *const steps[] = {"cudaGetDriverEntryPoint",
					    "cuInit",
					    "cuDeviceGet",
					    "cuDevicePrimaryCtxRetain",
					    "cuCtxPushCurrent",
					    "cudaGetDeviceProperties",
					    "cudaDriverGetVersion",
					    "cudaRuntimeGetVersion",
					    "cudaFuncGetAttributes",
					    ("cudaOccupancyMaxActiveBlocks"
					     "PerMultiprocessor")};
	struct philox_device *other = NULL;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		begin(steps[i], cudaErrorNoKernelImageForDevice);
		CHECK(philox_device_open("cuda:2", &other) ==
		      PHILOX_ERROR_UNSUPPORTED);
		CHECK(strstr(philox_error_message(), "in CUDA's words"));
		CHECK(other == NULL && retained[2] == 0);
		CHECK(is_back(HERE) && fake.last == cudaSuccess);
	}
	begin("cudaGetDeviceCount", cudaErrorInsufficientDriver);
	CHECK(philox_device_open("cuda", &other) == PHILOX_ERROR_NO_DEVICE);
	CHECK(fake.last == cudaSuccess);
	begin("", cudaSuccess);
	fake.crowded = 1;
	CHECK(philox_device_open("cuda:2", &other) == PHILOX_ERROR_UNSUPPORTED);
	CHECK(other == NULL && retained[2] == 0 && is_back(HERE));
}

/* A driver before 530: the device works, with smaller graphs. */
static void a_driver_may_not_load_large_heads(void)
{
	struct philox_device *old = NULL;

	begin("", cudaErrorInvalidKernelImage);
	fake.unknown = &head_of_max;
	CHECK(philox_device_open("cuda:2", &old) == PHILOX_OK);
	CHECK(fake.last == cudaSuccess && is_back(HERE));
	CHECK(old->head_max == 4);
	CHECK(strstr(old->head_why, "2040"));
	CHECK(strstr(old->head_why, "in CUDA's words"));
	philox_device_close(old);
	fake.unknown = &head_of_4;
	CHECK(philox_device_open("cuda:2", &old) == PHILOX_ERROR_DEVICE);
	fake.unknown = &fill;
	CHECK(philox_device_open("cuda:2", &old) == PHILOX_ERROR_DEVICE);
	begin("", cudaSuccess);
	CHECK(philox_device_open("cuda:2", &old) == PHILOX_OK);
	CHECK(old->head_max == HEAD_CAPACITY_MAX && !*old->head_why);
	philox_device_close(old);
}

#if CUDART_VERSION >= 12080
static enum philox_status add_node(struct philox_device *to,
				   enum conditional_kind kind, uint32_t count)
{
	const struct conditional what = {7, kind, count};

	return device_graph_add_conditional(to, (void *)0x40, NULL, 0, &what,
					    &out.node, out.bodies);
}

static void conditions_are_made_as_asked(void)
{
	begin("", cudaSuccess);
	CHECK(carry_out(IN_cudaGraphConditionalHandleCreate) == PHILOX_OK);
	CHECK(out.made == 0x666 && asked.value == 5);
	CHECK(asked.flags == cudaGraphCondAssignDefault);
	CHECK(device_condition_create(device, (void *)0x40, 5, 0, &out.made) ==
	      PHILOX_OK);
	CHECK(asked.flags == 0);
	CHECK(add_node(device, CONDITIONAL_SWITCH, BODIES) == PHILOX_OK);
	CHECK(asked.node.handle == 7 && asked.node.size == 3);
	CHECK(asked.node.type == cudaGraphCondTypeSwitch);
	for (size_t i = 0; i < BODIES; i++)
		CHECK(out.bodies[i] == BODY(i));
}

/* The feature, the version that it needs and the one that is there. */
static void expect_too_old(enum philox_status status, const char *feature,
			   const char *needed, const char *found)
{
	char wanted[128];

	snprintf(wanted, sizeof(wanted),
		 "%s need CUDA %s, and the driver is of %s", feature, needed,
		 found);
	CHECK(status == PHILOX_ERROR_UNSUPPORTED);
	CHECK(!strcmp(philox_error_message(), wanted));
}

static void expect_kinds(struct philox_device *old, int driver)
{
	const char *found = driver == 12010   ? "12.1"
			    : driver == 12030 ? "12.3"
					      : "12.7";
	static const struct {
		enum conditional_kind kind;
		uint32_t count;
		int needed;
		const char *feature, *version;
	} rows[] = {
		{CONDITIONAL_IF, 1, 12030, "IF nodes", "12.3"},
		{CONDITIONAL_WHILE, 1, 12040, "WHILE nodes", "12.4"},
		{CONDITIONAL_SWITCH, 1, 12080, "SWITCH nodes", "12.8"},
		{CONDITIONAL_IF, 2, 12080, "IF nodes with two bodies", "12.8"}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum philox_status status =
			add_node(old, rows[i].kind, rows[i].count);

		if (driver >= rows[i].needed)
			CHECK(status == PHILOX_OK);
		else
			expect_too_old(status, rows[i].feature, rows[i].version,
				       found);
	}
}

static void a_driver_may_be_too_old_for_conditions(void)
{
	static const int drivers[] = {12010, 12030, 12070};
	struct philox_device *old;

	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		begin("", cudaSuccess);
		fake.driver = drivers[i];
		CHECK(philox_device_open("cuda:2", &old) == PHILOX_OK);
		expect_kinds(old, drivers[i]);
		if (drivers[i] < 12030) {
			expect_too_old(device_condition_create(old,
							       (void *)0x40, 0,
							       0, &out.made),
				       "conditional nodes", "12.3", "12.1");
			expect_too_old(device_capture_begin_to(
					       old, (void *)0x40, (void *)0x40,
					       PHILOX_CAPTURE_RELAXED),
				       "captures into a graph that is there",
				       "12.3", "12.1");
		}
		philox_device_close(old);
	}
}

/* The rest works. */
static void a_driver_may_not_load_the_kernel_of_conditions(void)
{
	struct philox_device *old;

	begin("", cudaErrorInvalidKernelImage);
	fake.unknown = &condition;
	CHECK(philox_device_open("cuda:2", &old) == PHILOX_OK);
	CHECK(old->head_max == HEAD_CAPACITY_MAX);
	CHECK(device_condition_create(old, (void *)0x40, 0, 0, &out.made) ==
	      PHILOX_ERROR_UNSUPPORTED);
	CHECK(strstr(philox_error_message(), "conditional nodes"));
	CHECK(strstr(philox_error_message(), "in CUDA's words"));
	CHECK(fake.last == cudaSuccess && is_back(HERE) && !out.made);
	philox_device_close(old);
}
#endif

/* No supported driver lacks one; the message has its name. */
static void a_driver_may_lack_a_function(void)
{
	static const char *const functions[] = {
		"cuInit",
		"cuDeviceGet",
		"cuDevicePrimaryCtxRetain",
		"cuDevicePrimaryCtxRelease",
		"cuCtxGetCurrent",
		"cuCtxPushCurrent",
		"cuCtxPopCurrent",
	};
	struct philox_device *other = NULL;
	char wanted[128];

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		begin(functions[i], cudaSuccess);
		CHECK(philox_device_open("cuda:2", &other) ==
		      PHILOX_ERROR_UNSUPPORTED);
		snprintf(wanted, sizeof(wanted), "cuda:2: %s: in CUDA's words",
			 functions[i]);
		CHECK(!strcmp(philox_error_message(), wanted));
		CHECK(other == NULL && retained[2] == 0);
	}
}

static void opening_loads_all(void)
{
	begin("", cudaSuccess);
	fake.counted = "cudaFuncGetAttributes";
	CHECK(philox_device_open("cuda:1", &device) == PHILOX_OK);
	CHECK(fake.calls == kernels_cuda.count && fake.where == THERE);
	CHECK(is_back(HERE) && retained[1] == 1);
	CHECK(!strcmp(philox_device_description(device),
		      "Imagined, compute capability 9.0, 1.5 GiB, CUDA driver "
		      "13.1, runtime 12.4"));
}

/* As the process ends the driver may go first. */
static void closing_releases_the_context(void)
{
	begin("cuDevicePrimaryCtxRelease", cudaErrorCudartUnloading);
	philox_device_close(device);
	begin("", cudaSuccess);
	CHECK(philox_device_open("cuda:1", &device) == PHILOX_OK);
	CHECK(retained[1] == 2);
	philox_device_close(device);
	CHECK(retained[1] == 1 && is_back(HERE));
}

/* --- spaces --------------------------------------------------------------- */

enum space_call { RESERVE, MAP, UNMAP, RELEASE };

/* The next of four calls, which make and take back a space and an extent. */
static enum philox_status call_space(enum space_call which, void **base)
{
	switch (which) {
	case RESERVE:
		return device_space_reserve_with(device, 4 * UNIT, SPACE_PEERS,
						 base);
	case MAP:
		return device_space_map(device, *base, UNIT, 2 * UNIT);
	case UNMAP:
		return device_space_unmap(device, *base, UNIT, 2 * UNIT);
	default:
		return device_space_release(device, *base);
	}
}

/* What is alive after a call, and nothing else. */
static int has_done(enum space_call which)
{
	const size_t mapped = which == MAP ? 2 : 0;

	return alive.reserved == (which == RELEASE ? 0 : 4) &&
	       alive.mapped == mapped && alive.allowed == mapped &&
	       !alive.handles && !alive.events && is_back(HERE) &&
	       fake.where == THERE && fake.last == cudaSuccess;
}

static enum space_call before(enum space_call which)
{
	return which == RESERVE ? RELEASE : which - 1;
}

static const struct {
	enum space_call in;
	const char *name;
	int handles; /* that stay, as nothing else can be done */
} space_steps[] = {
	{RESERVE, "cudaEventCreateWithFlags", 0},
	{RESERVE, "cudaEventQuery", 0},
	{RESERVE, "cudaEventDestroy", 0},
	{RESERVE, "cuMemGetAllocationGranularity", 0},
	{RESERVE, "cuMemAddressReserve", 0},
	{MAP, "cudaEventQuery", 0},
	{MAP, "cuMemCreate", 0},
	{MAP, "cudaGetDeviceCount", 0},
	{MAP, "cudaDeviceCanAccessPeer", 0},
	{MAP, "cuDeviceGet", 0},
	{MAP, "cuMemMap", 0},
	{MAP, "cuMemSetAccess", 0},
	{MAP, "cuMemRelease", 1},
	{UNMAP, "cudaEventQuery", 0},
	{UNMAP, "cuMemUnmap", 0},
	{RELEASE, "cudaEventQuery", 0},
	{RELEASE, "cuMemAddressFree", 0},
};

/* Memory that a space of a GPU with all traits has. */
static void memory_is_as_the_space_wants_it(void)
{
	const unsigned all =
		SPACE_RDMA | SPACE_EXPORT | SPACE_FABRIC | SPACE_PEERS;
	void *base;

	for (unsigned traits = 0; traits <= all; traits++) {
		unsigned handles = 0;

		begin("", cudaSuccess);
		CHECK(device_space_reserve_with(device, 4 * UNIT, traits,
						&base) == PHILOX_OK);
		CHECK(has_done(RESERVE));
		CHECK(call_space(MAP, &base) == PHILOX_OK);
		CHECK(has_done(MAP));
		handles |= traits & SPACE_EXPORT ? 1 : 0;
		handles |= traits & SPACE_FABRIC ? 8 : 0;
		CHECK((unsigned)fake.prop.requestedHandleTypes == handles);
		CHECK(fake.prop.allocFlags.gpuDirectRDMACapable ==
		      !!(traits & SPACE_RDMA));
		CHECK(fake.allowed == (traits & SPACE_PEERS ? DEVICES - 1 : 1));
		CHECK(call_space(UNMAP, &base) == PHILOX_OK);
		CHECK(call_space(RELEASE, &base) == PHILOX_OK);
		CHECK(has_done(RELEASE));
	}
}

/* What a GPU lacks, or its driver does not know, is said before. */
static void traits_that_a_gpu_lacks_are_refused(void)
{
	static const struct {
		unsigned trait;
		int attribute;
		const char *what;
	} rows[] = {{SPACE_RDMA, RDMA, "GPUDirect RDMA"},
		    {SPACE_EXPORT, EXPORT, "file descriptors"},
		    {SPACE_FABRIC, FABRIC, "fabric handles"}};
	void *base = NULL;

	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		begin(i % 2 ? "cuDeviceGetAttribute" : "",
		      cudaErrorInvalidValue);
		fake.lacks = rows[i / 2].attribute;
		CHECK(device_space_reserve_with(
			      device, 4 * UNIT, rows[i / 2].trait | SPACE_PEERS,
			      &base) == PHILOX_ERROR_UNSUPPORTED);
		CHECK(strstr(philox_error_message(), rows[i / 2].what));
		CHECK(!base && has_done(RELEASE));
	}
	begin("", cudaSuccess);
	fake.lacks = RDMA;
	CHECK(device_space_reserve_with(device, 4 * UNIT, SPACE_EXPORT,
					&base) == PHILOX_OK);
	CHECK(device_space_release(device, base) == PHILOX_OK);
}

/* A call of CUDA that fails leaves all as it was; then the call can be made. */
static void fail_once(size_t step, enum space_call which, void **base)
{
	if (space_steps[step].in != which)
		return;
	begin(space_steps[step].name, cudaErrorMemoryAllocation);
	fake.where = THERE;
	CHECK(call_space(which, base) == PHILOX_ERROR_MEMORY);
	CHECK(strstr(philox_error_message(), "in CUDA's words"));
	CHECK(alive.handles == space_steps[step].handles);
	alive.handles = 0;
	fake.where = THERE;
	CHECK(has_done(before(which)));
}

static void a_space_that_fails_is_as_it_was(void)
{
	const size_t steps = sizeof(space_steps) / sizeof(space_steps[0]);
	void *base = NULL;

	memset(&alive, 0, sizeof(alive));
	for (size_t step = 0; step < steps; step++)
		for (int which = RESERVE; which <= RELEASE; which++) {
			fail_once(step, which, &base);
			begin("", cudaSuccess);
			CHECK(call_space(which, &base) == PHILOX_OK);
			CHECK(has_done(which));
			CHECK(base == (void *)SPACE);
		}
}

/* Whatever the driver would say, which is not asked. */
static void wrong_calls_of_spaces_do_not_reach_the_driver(void)
{
	void *base = NULL;

	begin("", cudaSuccess);
	memset(&alive, 0, sizeof(alive));
	CHECK(call_space(RESERVE, &base) == PHILOX_OK);
	CHECK(call_space(MAP, &base) == PHILOX_OK);
	CHECK(device_space_map(device, base, 2 * UNIT, UNIT) ==
	      PHILOX_ERROR_INVALID);
	CHECK(device_space_unmap(device, base, UNIT, UNIT) ==
	      PHILOX_ERROR_INVALID);
	CHECK(device_space_release(device, base) == PHILOX_ERROR_STATE);
	CHECK(has_done(MAP));
	CHECK(call_space(UNMAP, &base) == PHILOX_OK);
	CHECK(call_space(RELEASE, &base) == PHILOX_OK);
}

/* An unsafe call of the driver's own comes first, and nothing after it. */
static void spaces_are_not_touched_in_captures(void)
{
	static const char *const calls[] = {"cuMemAddressReserve",
					    "cuMemCreate", "cuMemUnmap",
					    "cuMemAddressFree"};
	void *base = NULL;

	memset(&alive, 0, sizeof(alive));
	for (int which = RESERVE; which <= RELEASE; which++) {
		begin("cudaEventQuery", cudaErrorStreamCaptureUnsupported);
		fake.counted = calls[which];
		CHECK(call_space(which, &base) ==
		      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
		CHECK(fake.calls == 0 && !alive.events);
		begin("", cudaSuccess);
		CHECK(call_space(which, &base) == PHILOX_OK);
	}
}

/* Each of them is named, and all else works. */
static void a_driver_may_have_no_spaces(void)
{
	static const char *const lacking[] = {"cuDeviceGetAttribute",
					      "cuMemGetAllocationGranularity",
					      "cuMemAddressReserve",
					      "cuMemAddressFree",
					      "cuMemCreate",
					      "cuMemRelease",
					      "cuMemMap",
					      "cuMemSetAccess",
					      "cuMemUnmap",
					      "virtual memory management"};
	const size_t count = sizeof(lacking) / sizeof(lacking[0]);
	struct philox_device *kept = device;
	size_t unit = 5;
	void *base = NULL;

	for (size_t i = 0; i < count; i++) {
		begin(lacking[i], cudaSuccess);
		fake.old = i == count - 1;
		CHECK(philox_device_open("cuda:2", &device) == PHILOX_OK);
		for (int which = RESERVE; which <= RELEASE; which++) {
			void *some = which == RESERVE ? NULL : &base;

			CHECK(call_space(which, &some) ==
			      PHILOX_ERROR_UNSUPPORTED);
			CHECK(strstr(philox_error_message(), lacking[i]));
			CHECK(strstr(philox_error_message(), "cuda:2"));
		}
		CHECK(device_space_granularity(device, &unit) ==
		      PHILOX_ERROR_UNSUPPORTED);
		CHECK(unit == 5 && fake.last == cudaSuccess && is_back(HERE));
		CHECK(philox_device_memory_info(device, &unit, NULL) ==
		      PHILOX_OK);
		unit = 5;
		CHECK(philox_device_close(device) == PHILOX_OK);
	}
	device = kept;
	begin("cuMemGetAllocationGranularity", cudaErrorNotSupported);
	CHECK(philox_device_open("cuda:2", &device) == PHILOX_OK);
	CHECK(call_space(RESERVE, &base) == PHILOX_ERROR_UNSUPPORTED);
	CHECK(strstr(philox_error_message(), "in CUDA's words"));
	CHECK(philox_device_close(device) == PHILOX_OK);
	device = kept;
}

static int is_relaxed(enum operation operation)
{
	static const enum operation relaxed[] = {
		IN_cudaMemGetInfo,       IN_cudaStreamSynchronize,
		IN_cudaStreamQuery,      IN_cudaEventSynchronize,
		IN_cudaEventElapsedTime, IN_cudaGraphInstantiate,
		IN_cudaGraphExecDestroy};

	for (size_t i = 0; i < sizeof(relaxed) / sizeof(relaxed[0]); i++)
		if (relaxed[i] == operation)
			return 1;
	return 0;
}

/*
 * What CUDA refuses during captures though it harms none is called in relaxed
 * mode, and nothing else is; after it, whatever it returns, the mode is as it
 * was.
 */
static void harmless_calls_are_relaxed(void)
{
	const enum cudaStreamCaptureMode modes[] = {
		cudaStreamCaptureModeGlobal, cudaStreamCaptureModeRelaxed};

	for (int i = 0; i < OPERATION_COUNT; i++) {
		if (i == IN_cudaThreadExchangeStreamCaptureMode)
			continue;
		begin("", cudaSuccess);
		CHECK(carry_out(i) == PHILOX_OK);
		CHECK(fake.relaxed == modes[is_relaxed(i)]);
		CHECK(fake.mode == cudaStreamCaptureModeGlobal);
		if (fake.destroy)
			fake.destroy(fake.object);
		if (fake.blocks_alive)
			free(out.host);
		if (!is_relaxed(i))
			continue;
		begin(names[i], cudaErrorUnknown);
		CHECK(carry_out(i) == PHILOX_ERROR_DEVICE);
		CHECK(fake.mode == cudaStreamCaptureModeGlobal);
		begin("cudaThreadExchangeStreamCaptureMode", cudaErrorUnknown);
		CHECK(carry_out(i) == PHILOX_ERROR_DEVICE);
		CHECK(strcmp(fake.called, names[i]) != 0);
	}
}

static void (*const promises[])(void) = {
	an_open_that_fails_leaves_nothing,
	a_driver_may_lack_a_function,
	a_driver_may_not_load_large_heads,
	opening_loads_all,
#if CUDART_VERSION >= 12080
	conditions_are_made_as_asked,
	a_driver_may_be_too_old_for_conditions,
	a_driver_may_not_load_the_kernel_of_conditions,
#endif
	calls_act_on_their_device,
	where_the_context_is_current_it_is_not_pushed,
	failures_are_reported_and_cleared,
	every_error_has_its_status,
	a_launch_into_a_capture_is_refused,
	a_capturing_stream_is_not_destroyed,
	a_dependency_is_added_once,
	dependencies_are_shown,
	a_stream_tells_of_dependencies_that_are_not_shown,
	captures_are_described,
	a_capture_without_a_graph_was_invalidated,
	mapped_memory_is_zeroed,
	grids_follow_the_work,
	clusters_are_as_large_as_there_is_room,
	clusters_are_those_of_the_kernel,
	heads_are_chosen_by_size,
	heads_are_as_wide_as_their_cells,
	a_space_that_fails_is_as_it_was,
	memory_is_as_the_space_wants_it,
	traits_that_a_gpu_lacks_are_refused,
	wrong_calls_of_spaces_do_not_reach_the_driver,
	spaces_are_not_touched_in_captures,
	a_driver_may_have_no_spaces,
	harmless_calls_are_relaxed,
	closing_releases_the_context,
};

int main(void)
{
	const size_t count = sizeof(promises) / sizeof(promises[0]);

	for (size_t i = 0; i < count; i++)
		promises[i](); /* a broken one ends the program */
	printf("%zu passed, 0 failed, 0 skipped\n", count);
	return 0;
}
