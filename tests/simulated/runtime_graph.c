/*
 * tests/simulated/runtime_graph.c - captures, kernels and graphs
 *
 * For the host device all kernels are one, which runs a simulated launch: the
 * kernel, the grid, and the packed parameters after them.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "lib/device/cuda/compat.h"
#include "tests/simulated/gpu.h"
#include "tests/simulated/runtime.h"
#include "tests/simulated/simulated.h"

#define MOST_PARAMETERS 32764 /* bytes that a kernel takes, */
#define OLD_PARAMETERS  4096  /* and with drivers before 12.1 */
#define MOST_THREADS    1024  /* of a block */

/* gpu.c runs kernels thread by thread. */
static void never_called(const void *launch)
{
	(void)launch;
	abort();
}

void (*const runtime_kernels[KERNEL_COUNT])(const void *args) = {
	[KERNEL_HEAD] = never_called};

/* --- captures ------------------------------------------------------------- */

cudaError_t cudaStreamBeginCapture(cudaStream_t stream,
				   enum cudaStreamCaptureMode mode)
{
	return RUNTIME(capture_begin, runtime_stream(stream),
		       (enum philox_capture_mode)mode);
}

/*
 * [end-on-another-thread] It ends all the same: a host device does that on any thread if
 * the capture is relaxed.
 */
static void end_elsewhere(philox_stream stream)
{
	struct host_device *device = host_of(runtime_gpu());
	philox_native_graph graph;
	struct host_stream *found;

	host_lock(device);
	if (host_stream_find(device, stream, "", &found) == PHILOX_OK)
		found->capture->mode = PHILOX_CAPTURE_RELAXED;
	host_unlock(device);
	if (RUNTIME(capture_end, stream, &graph) == cudaSuccess)
		RUNTIME(graph_destroy, graph);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
	cudaError_t error = RUNTIME(capture_end, runtime_stream(stream), graph);

	if (error == cudaErrorStreamCaptureWrongThread)
		end_elsewhere(runtime_stream(stream));
	if (error != cudaSuccess)
		*graph = NULL;
	return error;
}

/* Calls that ask a stream for its capture, of all threads. */
static atomic_ullong queries;

unsigned long long simulated_queries(void)
{
	return atomic_load(&queries);
}

static cudaError_t query(cudaStream_t stream, struct capture_info *info)
{
	atomic_fetch_add(&queries, 1);
	return RUNTIME(capture_info, runtime_stream(stream), info);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
				  enum cudaStreamCaptureStatus *status)
{
	struct capture_info info;
	cudaError_t error = query(stream, &info);

	if (error == cudaSuccess)
		*status = (enum cudaStreamCaptureStatus)info.status;
	return error;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(
	enum cudaStreamCaptureMode *mode)
{
	enum philox_capture_mode exchanged = (enum philox_capture_mode) * mode;
	cudaError_t error = RUNTIME(capture_mode, &exchanged);

	*mode = (enum cudaStreamCaptureMode)exchanged;
	return error;
}

/* The dependencies of the stream's next node, until the thread asks again. */
static cudaError_t dependencies(cudaStream_t stream,
				const cudaGraphNode_t **nodes, size_t *count)
{
	static _Thread_local cudaGraphNode_t *copies;
	struct host_device *gpu = host_of(runtime_gpu());
	struct host_stream *found;
	enum philox_status status;

	host_lock(gpu);
	status = host_stream_find(gpu, runtime_stream(stream), "", &found);
	*count = status ? 0 : found->deps.count;
	free(copies);
	copies = malloc((*count + 1) * sizeof(*copies));
	for (size_t i = 0; copies && i < *count; i++)
		copies[i] = (cudaGraphNode_t)found->deps.items[i];
	host_unlock(gpu);
	*nodes = copies;
	if (!status && !copies)
		status = PHILOX_ERROR_MEMORY;
	return runtime_said(status);
}

static cudaError_t capture_info(cudaStream_t stream,
				enum cudaStreamCaptureStatus *status,
				unsigned long long *id, cudaGraph_t *graph,
				const cudaGraphNode_t **nodes, size_t *count)
{
	struct capture_info info;
	cudaError_t error = query(stream, &info);

	if (error != cudaSuccess)
		return error;
	*status = (enum cudaStreamCaptureStatus)info.status;
	if (info.status != PHILOX_CAPTURE_ACTIVE)
		return cudaSuccess;
	*id = info.id;
	*graph = info.graph;
	return dependencies(stream, nodes, count);
}

/* CUDA does not define what naming a dependency twice does: it is not done. */
static cudaError_t depend(cudaStream_t stream, cudaGraphNode_t node)
{
	const cudaGraphNode_t *nodes;
	size_t count;
	cudaError_t error = dependencies(stream, &nodes, &count);

	for (size_t i = 0; error == cudaSuccess && i < count; i++)
		if (nodes[i] == node)
			return runtime_error(cudaErrorInvalidValue);
	if (error != cudaSuccess)
		return error;
	return RUNTIME(capture_depend, runtime_stream(stream), node);
}

static cudaError_t update(cudaStream_t stream, const cudaGraphNode_t *nodes,
			  size_t count, unsigned flags)
{
	cudaError_t error = cudaSuccess;

	if (flags == cudaStreamSetCaptureDependencies && count == 1)
		return RUNTIME(capture_after, runtime_stream(stream), *nodes);
	if (flags != cudaStreamAddCaptureDependencies)
		return runtime_error(cudaErrorNotSupported);
	for (size_t i = 0; error == cudaSuccess && i < count; i++)
		error = depend(stream, nodes[i]);
	return error;
}

/* Room that is left is cleared; if there is too little, it is all written. */
static cudaError_t node_deps(cudaGraphNode_t node, cudaGraphNode_t *nodes,
			     size_t *count)
{
	size_t room = nodes ? *count : 0, n = room;
	cudaError_t error = RUNTIME(node_deps, node, nodes, &n);

	if (error != cudaSuccess)
		return error;
	for (size_t i = n; i < room; i++)
		nodes[i] = NULL;
	*count = nodes && n > room ? room : n;
	return cudaSuccess;
}

/* The runtime's names for these changed twice: lib/device/cuda/compat.h. */
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
	*edges = NULL;
	return capture_info(stream, status, id, graph, nodes, count);
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
						cudaGraphNode_t *nodes,
						const cudaGraphEdgeData *edges,
						size_t count, unsigned flags)
{
	if (edges)
		return runtime_error(cudaErrorNotSupported);
	return update(stream, nodes, count, flags);
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node,
					 cudaGraphNode_t *nodes,
					 cudaGraphEdgeData *edges,
					 size_t *count)
{
	size_t room = *count;
	cudaError_t error = node_deps(node, nodes, count);

	for (size_t i = 0; nodes && i < room; i++)
		edges[i] = (cudaGraphEdgeData){0};
	return error;
}
#else
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
				     enum cudaStreamCaptureStatus *status,
				     unsigned long long *id, cudaGraph_t *graph,
				     const cudaGraphNode_t **nodes,
				     size_t *count)
{
	return capture_info(stream, status, id, graph, nodes, count);
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
						cudaGraphNode_t *nodes,
						size_t count, unsigned flags)
{
	return update(stream, nodes, count, flags);
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node,
					 cudaGraphNode_t *nodes, size_t *count)
{
	return node_deps(node, nodes, count);
}
#endif

/* --- kernels -------------------------------------------------------------- */

/*
 * [parameter-bytes] A driver that is too old for the parameters of one kernel
 * refuses the module that it is in.
 */
static int is_too_large(const struct simulated_kernel *kernel)
{
	size_t most =
		runtime_driver() < 12010 ? OLD_PARAMETERS : MOST_PARAMETERS;

	return simulated_largest_with(kernel) > most;
}

/*
 * [lazy-loading] A kernel is loaded by its first use on a GPU, which is refused,
 * like memory's allocation, while a capture forbids that; and ends the capture.
 */
cudaError_t runtime_load(const void *function)
{
	struct simulated_kernel *kernel = simulated_find(function);
	unsigned bit = 1u << runtime_index();
	struct philox_device *gpu = runtime_gpu();
	enum philox_status status = PHILOX_OK;

	if (!kernel)
		return runtime_error(cudaErrorInvalidDeviceFunction);
	if (is_too_large(kernel))
		return runtime_error(cudaErrorInvalidKernelImage);
	if (!gpu)
		return runtime_error(cudaErrorMemoryAllocation);
	host_lock(host_of(gpu));
	if (!(kernel->loaded & bit))
		status = host_unsafe(host_of(gpu), "loading a kernel");
	if (status == PHILOX_OK)
		__atomic_fetch_or(&kernel->loaded, bit, __ATOMIC_RELAXED);
	host_unlock(host_of(gpu));
	return runtime_said(status);
}

/* [launch-limits] */
static int fits(dim3 blocks, dim3 threads)
{
	return blocks.x && blocks.y && blocks.z && threads.x && threads.y &&
	       threads.z && blocks.x <= 0x7fffffffu && blocks.y <= 65535 &&
	       blocks.z <= 65535 && threads.z <= 64 &&
	       (unsigned long long)threads.x * threads.y * threads.z <=
		       MOST_THREADS;
}

unsigned runtime_cluster(const cudaLaunchConfig_t *config)
{
	unsigned size = 1;

	for (unsigned i = 0; i < config->numAttrs; i++) {
		const cudaLaunchAttribute *attribute = &config->attrs[i];

		if (attribute->id != cudaLaunchAttributeClusterDimension ||
		    attribute->val.clusterDim.y != 1 ||
		    attribute->val.clusterDim.z != 1)
			return 0;
		size = attribute->val.clusterDim.x;
	}
	if (!size || size > 8 || config->gridDim.x % size)
		return 0;
	return size;
}

/* A launch as the host device takes it; its arguments are to be freed. */
static cudaError_t make_call(const struct cudaKernelNodeParams *params,
			     unsigned cluster, struct kernel_call *call)
{
	const dim3 blocks = params->gridDim, threads = params->blockDim;
	const struct simulated_kernel *kernel = simulated_find(params->func);
	struct simulated_launch *launch;
	cudaError_t error = runtime_load(params->func);

	if (error != cudaSuccess)
		return error;
	if (!fits(blocks, threads))
		return runtime_error(cudaErrorInvalidConfiguration);
	if (params->sharedMemBytes || params->extra ||
	    blocks.y * blocks.z * threads.y * threads.z != 1)
		return runtime_error(cudaErrorNotSupported);
	launch = calloc(1, sizeof(*launch) + kernel->packed);
	if (!launch)
		return runtime_error(cudaErrorMemoryAllocation);
	launch->kernel = kernel;
	launch->blocks = params->gridDim.x;
	launch->threads = params->blockDim.x;
	launch->cluster = cluster;
	kernel->pack(launch + 1, params->kernelParams);
	*call = (struct kernel_call){.kernel = KERNEL_HEAD,
				     .args = launch,
				     .size = sizeof(*launch) + kernel->packed};
	return cudaSuccess;
}

/* The operation `name` of the current GPU; a launch is its last argument. */
#define WITH_CLUSTERS(params, cluster, call, name, ...)                   \
	({                                                                \
		cudaError_t error_ = make_call(params, cluster, &(call)); \
                                                                          \
		if (error_ == cudaSuccess) {                              \
			error_ = RUNTIME(name, __VA_ARGS__);              \
			free((void *)(call).args);                        \
		}                                                         \
		error_;                                                   \
	})
#define WITH_CALL(params, call, name, ...) \
	WITH_CLUSTERS(params, 1, call, name, __VA_ARGS__)

cudaError_t cudaLaunchKernel(const void *function, dim3 blocks, dim3 threads,
			     void **parameters, size_t shared,
			     cudaStream_t stream)
{
	const struct cudaKernelNodeParams params = {.func = (void *)function,
						    .gridDim = blocks,
						    .blockDim = threads,
						    .sharedMemBytes =
							    (unsigned)shared,
						    .kernelParams = parameters};
	struct kernel_call call;

	return WITH_CALL(&params, call, launch, runtime_stream(stream), &call);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config,
				const void *function, void **parameters)
{
	const struct cudaKernelNodeParams params = {
		.func = (void *)function,
		.gridDim = config->gridDim,
		.blockDim = config->blockDim,
		.sharedMemBytes = (unsigned)config->dynamicSmemBytes,
		.kernelParams = parameters};
	const unsigned cluster = runtime_cluster(config);
	struct kernel_call call;

	if (!cluster)
		return runtime_error(cudaErrorInvalidClusterSize);
	return WITH_CLUSTERS(&params, cluster, call, launch,
			     runtime_stream(config->stream), &call);
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph,
				   const cudaGraphNode_t *dependencies,
				   size_t count,
				   const struct cudaKernelNodeParams *params)
{
	struct kernel_call call;

	return WITH_CALL(params, call, graph_add_kernel, graph, dependencies,
			 count, &call, node);
}

cudaError_t cudaGraphKernelNodeSetParams(
	cudaGraphNode_t node, const struct cudaKernelNodeParams *params)
{
	struct kernel_call call;

	return WITH_CALL(params, call, graph_set_kernel, node, &call);
}

/*
 * [node-priority] Captured kernels have their stream's, and new arguments take
 * it away again. Nothing is scheduled by it.
 */
cudaError_t cudaGraphKernelNodeSetAttribute(
	cudaGraphNode_t node, cudaLaunchAttributeID attribute,
	const cudaLaunchAttributeValue *value)
{
	if (attribute != cudaLaunchAttributePriority)
		return runtime_error(cudaErrorNotSupported);
	if (value->priority > 0 || value->priority < RUNTIME_PRIORITY)
		return runtime_error(cudaErrorInvalidValue);
	return RUNTIME(node_priority, node, value->priority);
}

cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node,
					    cudaLaunchAttributeID attribute,
					    cudaLaunchAttributeValue *value)
{
	struct host_device *gpu = host_of(runtime_gpu());
	struct host_node *found;
	enum philox_status status;

	if (attribute != cudaLaunchAttributePriority)
		return runtime_error(cudaErrorNotSupported);
	host_lock(gpu);
	status = host_node_find(gpu, node, "", &found);
	if (status == PHILOX_OK)
		value->priority = found->priority;
	host_unlock(gpu);
	return runtime_said(status);
}

cudaError_t cudaGraphExecKernelNodeSetParams(
	cudaGraphExec_t exec, cudaGraphNode_t node,
	const struct cudaKernelNodeParams *params)
{
	struct kernel_call call;

	return WITH_CALL(params, call, exec_set_kernel, exec, node, &call);
}

/* --- what nodes are: as on the host device -------------------------------- */

/* Events of a capture are edges in both. Room that is left is cleared. */
static void write_nodes(const struct host_nodes *from, cudaGraphNode_t *nodes,
			size_t *count)
{
	const size_t room = *count;

	if (from->count < room)
		*count = from->count;
	for (size_t i = 0; i < room; i++)
		nodes[i] = i < *count ? (cudaGraphNode_t)from->items[i] : NULL;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes,
			      size_t *count)
{
	struct host_device *gpu;
	struct host_graph *found;
	enum philox_status status;

	if (!nodes)
		return RUNTIME(graph_nodes, graph, count);
	gpu = host_of(runtime_gpu());
	host_lock(gpu);
	status = host_graph_find(gpu, graph, "", &found);
	if (status == PHILOX_OK)
		write_nodes(&found->nodes, nodes, count);
	host_unlock(gpu);
	return runtime_said(status);
}

static enum cudaGraphNodeType type_of(const struct host_node *node)
{
	static const enum cudaGraphNodeType types[] = {
		[HOST_NOTHING] = cudaGraphNodeTypeEmpty,
		[HOST_KERNEL] = cudaGraphNodeTypeKernel,
		[HOST_CALL] = cudaGraphNodeTypeHost,
		[HOST_COPY] = cudaGraphNodeTypeMemcpy,
		[HOST_SET] = cudaGraphNodeTypeMemset,
		[HOST_REPLAY] = cudaGraphNodeTypeGraph};

#if CUDART_VERSION >= 12030
	if (node->conditional)
		return cudaGraphNodeTypeConditional;
#endif
	return types[node->work.kind];
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t handle,
				 enum cudaGraphNodeType *type)
{
	struct host_device *gpu = host_of(runtime_gpu());
	struct host_node *node;
	enum philox_status status;

	host_lock(gpu);
	status = host_node_find(gpu, handle, "", &node);
	if (status == PHILOX_OK)
		*type = type_of(node);
	host_unlock(gpu);
	return runtime_said(status);
}

/* The kernel and its grid; its parameters are not shown. */
static struct cudaKernelNodeParams params_of(const struct host_work *work)
{
	const struct simulated_launch *launch = (const void *)work->args->bytes;

	return (struct cudaKernelNodeParams){
		.func = (void *)launch->kernel->function,
		.gridDim = {launch->blocks, 1, 1},
		.blockDim = {launch->threads, 1, 1}};
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t handle,
					 struct cudaKernelNodeParams *params)
{
	struct host_device *gpu = host_of(runtime_gpu());
	struct host_node *node;
	enum philox_status status;

	host_lock(gpu);
	status = host_node_find(gpu, handle, "", &node);
	if (status == PHILOX_OK && node->work.kind != HOST_KERNEL)
		status = PHILOX_ERROR_INVALID;
	if (status == PHILOX_OK)
		*params = params_of(&node->work);
	host_unlock(gpu);
	return runtime_said(status);
}

cudaError_t cudaFuncGetName(const char **name, const void *function)
{
	const struct simulated_kernel *kernel = simulated_find(function);

	gpu_call();
	if (!kernel)
		return runtime_error(cudaErrorInvalidDeviceFunction);
	*name = kernel->name;
	return cudaSuccess;
}

/* --- graphs --------------------------------------------------------------- */

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
	cudaError_t error = RUNTIME(graph_destroy, graph);

	late_destroyed();
	return error;
}

#define INSTANTIATE_ALL                             \
	(cudaGraphInstantiateFlagAutoFreeOnLaunch | \
	 cudaGraphInstantiateFlagUseNodePriority)

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec,
				  unsigned long long *flags)
{
	struct host_device *gpu = host_of(runtime_gpu());
	struct host_exec *found;
	enum philox_status status;

	host_lock(gpu);
	status = host_exec_find(gpu, exec, "", &found);
	if (status == PHILOX_OK)
		*flags = found->flags;
	host_unlock(gpu);
	return runtime_said(status);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
				 unsigned long long flags)
{
	if (flags & ~(unsigned long long)INSTANTIATE_ALL)
		return runtime_error(cudaErrorNotSupported);
	return RUNTIME_UNSAFE(exec_create, graph, (unsigned)flags, exec);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
	return RUNTIME(exec_launch, exec, runtime_stream(stream));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
	cudaError_t error = RUNTIME_UNSAFE(exec_destroy, exec);

	late_destroyed();
	return error;
}

/* --- user objects --------------------------------------------------------- */

struct user_object {
	cudaHostFn_t destroy;
	void *object;
};

static void end_user_object(void *pointer)
{
	struct user_object *user = pointer;

	late_release(user->destroy, user->object);
	free(user);
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t *result, void *object,
				 cudaHostFn_t destroy, unsigned count,
				 unsigned flags)
{
	struct user_object *user;

	gpu_call();
	if (count != 1 || flags != cudaUserObjectNoDestructorSync)
		return runtime_error(cudaErrorInvalidValue);
	user = malloc(sizeof(*user));
	if (!user)
		return runtime_error(cudaErrorMemoryAllocation);
	*user = (struct user_object){destroy, object};
	*result = (cudaUserObject_t)user;
	return cudaSuccess;
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t user,
				      unsigned count, unsigned flags)
{
	if (count != 1 || flags != cudaGraphUserObjectMove)
		return runtime_error(cudaErrorNotSupported);
	return RUNTIME(graph_retain, graph, end_user_object, user);
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t user, unsigned count)
{
	gpu_call();
	if (count != 1)
		return runtime_error(cudaErrorInvalidValue);
	end_user_object(user);
	late_destroyed();
	return cudaSuccess;
}
