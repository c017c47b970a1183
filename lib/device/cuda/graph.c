/*
 * lib/device/cuda/graph.c - captures, kernels and graphs of the CUDA device
 *
 * Only this file decides which kernel a call means and how its threads are
 * arranged; results never depend on the layout. As in lib/device/cuda/device.c
 * nothing is locked; the objects that graphs retain are released on one of
 * CUDA's threads.
 */
#include <stdlib.h>
#include <string.h>
#include <philox/graph.h>
#include "lib/device/cuda/cuda.h"
#include "lib/base/base.h"

/* One kernel launch as the graph functions take it. */
struct launch {
	struct cudaKernelNodeParams params;
	void *arguments[1];
	unsigned cluster; /* blocks that share their work */
};

/* An object that a graph owns through cuda_graph_retain(). */
struct retained {
	void (*release)(void *object); /* NULL: not to be called */
	void *object;
};

_Static_assert((int)PHILOX_CAPTURE_GLOBAL == (int)cudaStreamCaptureModeGlobal &&
		       (int)PHILOX_CAPTURE_THREAD_LOCAL ==
			       (int)cudaStreamCaptureModeThreadLocal &&
		       (int)PHILOX_CAPTURE_RELAXED ==
			       (int)cudaStreamCaptureModeRelaxed,
	       "capture modes are CUDA's");
_Static_assert((int)PHILOX_CAPTURE_NONE == (int)cudaStreamCaptureStatusNone &&
		       (int)PHILOX_CAPTURE_ACTIVE ==
			       (int)cudaStreamCaptureStatusActive &&
		       (int)PHILOX_CAPTURE_INVALIDATED ==
			       (int)cudaStreamCaptureStatusInvalidated,
	       "capture statuses are CUDA's");
_Static_assert((int)PHILOX_INSTANTIATE_AUTO_FREE ==
			       (int)cudaGraphInstantiateFlagAutoFreeOnLaunch &&
		       (int)PHILOX_INSTANTIATE_NODE_PRIORITY ==
			       (int)cudaGraphInstantiateFlagUseNodePriority,
	       "flags of executable graphs are CUDA's");

/* --- capture -------------------------------------------------------------- */

enum philox_status cuda_capture_begin(struct philox_device *device,
				      philox_stream stream,
				      enum philox_capture_mode mode)
{
	return ON(device, cudaStreamBeginCapture, stream,
		  (enum cudaStreamCaptureMode)mode);
}

enum philox_status cuda_capture_end(struct philox_device *device,
				    philox_stream stream,
				    philox_native_graph *graph)
{
	cudaGraph_t result = NULL;
	enum philox_status status =
		ON(device, cudaStreamEndCapture, stream, &result);

	if (status != PHILOX_OK)
		return status;
	/* CUDA documents this outcome of an invalidated capture. */
	if (!result)
		return status_set(PHILOX_ERROR_CAPTURE_INVALIDATED,
				  "cudaStreamEndCapture: no graph, since the "
				  "capture was invalidated");
	*graph = result;
	return PHILOX_OK;
}

/* A stream's capture, and what its next node depends on. */
struct asked {
	enum cudaStreamCaptureStatus status;
	unsigned long long id;
	cudaGraph_t graph;
	const cudaGraphNode_t *nodes;
	const cudaGraphEdgeData *edges;
	size_t count;
};

static cudaError_t ask(cudaStream_t stream, struct asked *asked)
{
	*asked = (struct asked){.status = cudaStreamCaptureStatusNone};
	return compat_capture_info(stream, &asked->status, &asked->id,
				   &asked->graph, &asked->nodes, &asked->edges,
				   &asked->count);
}

/* The nodes across plain edges; returns how many others there are. */
static size_t show_nodes(const cudaGraphNode_t *nodes,
			 const cudaGraphEdgeData *edges, size_t count,
			 device_node *shown, size_t *n)
{
	size_t plain = 0;

	for (size_t i = 0; i < count; i++) {
		if (!compat_is_plain(edges, i))
			continue;
		if (plain < *n)
			shown[plain] = nodes[i];
		plain++;
	}
	*n = plain;
	return count - plain;
}

/* What is not shown counts as more than there is room for. */
static void show_tips(const struct asked *asked, device_node *shown, size_t *n)
{
	const size_t room = *n;

	if (show_nodes(asked->nodes, asked->edges, asked->count, shown, n) &&
	    *n <= room)
		*n = room + 1;
}

enum philox_status cuda_capture_info(struct philox_device *device,
				     philox_stream stream,
				     struct capture_info *info)
{
	struct asked asked;
	enum philox_status status =
		ON_AS(device, "cudaStreamGetCaptureInfo", ask(stream, &asked));
	int active = asked.status == cudaStreamCaptureStatusActive;

	if (status != PHILOX_OK)
		return status;
	info->status = (enum philox_capture_status)asked.status;
	info->id = asked.status == cudaStreamCaptureStatusNone ? 0 : asked.id;
	info->graph = active ? asked.graph : NULL;
	info->tips.n = CAPTURE_TIPS;
	if (active)
		show_tips(&asked, info->tips.nodes, &info->tips.n);
	return PHILOX_OK;
}

enum philox_status cuda_capture_tips(struct philox_device *device,
				     philox_stream stream, device_node *shown,
				     size_t *n)
{
	struct asked asked;
	enum philox_status status =
		ON_AS(device, "cudaStreamGetCaptureInfo", ask(stream, &asked));

	if (status != PHILOX_OK)
		return status;
	if (asked.status != cudaStreamCaptureStatusActive)
		return status_set(PHILOX_ERROR_STATE,
				  "cudaStreamGetCaptureInfo: the stream is not "
				  "capturing");
	show_tips(&asked, shown, n);
	return PHILOX_OK;
}

/*
 * A node may not be named twice among the dependencies of another, so one that
 * the stream depends on already is not added again.
 */
static cudaError_t depend_once(cudaStream_t stream, cudaGraphNode_t node)
{
	struct asked asked;
	cudaError_t error = ask(stream, &asked);

	if (error != cudaSuccess)
		return error;
	if (asked.status == cudaStreamCaptureStatusActive)
		for (size_t i = 0; i < asked.count; i++)
			if (asked.nodes[i] == node)
				return cudaSuccess;
	return compat_capture_depend(stream, node,
				     cudaStreamAddCaptureDependencies);
}

enum philox_status cuda_capture_depend(struct philox_device *device,
				       philox_stream stream, device_node node)
{
	return ON_AS(device, "cudaStreamUpdateCaptureDependencies",
		     depend_once(stream, node));
}

enum philox_status cuda_capture_after(struct philox_device *device,
				      philox_stream stream, device_node node)
{
	return ON_AS(device, "cudaStreamUpdateCaptureDependencies",
		     compat_capture_depend(stream, node,
					   cudaStreamSetCaptureDependencies));
}

enum philox_status cuda_capture_mode(struct philox_device *device,
				     enum philox_capture_mode *mode)
{
	enum cudaStreamCaptureMode exchanged =
		(enum cudaStreamCaptureMode)(*mode);
	enum philox_status status =
		ON(device, cudaThreadExchangeStreamCaptureMode, &exchanged);

	if (status == PHILOX_OK)
		*mode = (enum philox_capture_mode)exchanged;
	return status;
}

/* --- kernels -------------------------------------------------------------- */

static const struct kernel_cuda *find_kernel(const struct kernels_cuda *kernels,
					     const struct kernel_call *call)
{
	for (size_t i = 0; i < kernels->count; i++)
		if (kernels->items[i].kernel == call->kernel &&
		    kernels->items[i].size == call->size)
			return &kernels->items[i];
	return NULL;
}

#define WARP 32

static uint64_t divide_up(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

/* As many blocks as may share the work of each, while all run at once. */
static unsigned choose_cluster(const struct cuda_room *room,
			       const struct kernel_call *call, uint64_t blocks)
{
	unsigned size = room->cluster;

	while (size > 1 &&
	       (size > call->cluster || blocks > room->blocks / size))
		size /= 2;
	return size;
}

/*
 * As many threads as there is work for, or as the device runs at once. A block
 * that is alone and may be small is: a busy GPU has room for it at once.
 */
static void shape_grid(const struct cuda_room *room,
		       const struct kernel_cuda *kernel,
		       const struct kernel_call *call, struct launch *launch)
{
	struct cudaKernelNodeParams *params = &launch->params;
	uint64_t threads = divide_up(call->work ? call->work : 1, kernel->each);
	uint64_t blocks = divide_up(threads, kernel->threads);

	launch->cluster = choose_cluster(room, call, blocks);
	blocks *= launch->cluster;
	params->gridDim.x =
		blocks < room->blocks ? (unsigned)blocks : room->blocks;
	params->gridDim.y = params->gridDim.z = 1;
	params->blockDim = (dim3){kernel->threads, 1, 1};
	if (kernel->few && threads < kernel->threads)
		params->blockDim.x = (unsigned)divide_up(threads, WARP) * WARP;
}

static enum philox_status make_launch(const struct philox_device *device,
				      const struct kernel_call *call,
				      struct launch *launch)
{
	const struct cuda_device *cuda = (const struct cuda_device *)device;
	const struct kernel_cuda *kernel = find_kernel(cuda->kernels, call);

	if (!kernel)
		return status_set(PHILOX_ERROR_INVALID,
				  "kernel %d does not take %zu bytes",
				  (int)call->kernel, call->size);
	*launch = (struct launch){
		.params.func = (void *)kernel->function,
		.params.kernelParams = launch->arguments,
		.arguments = {(void *)call->args},
	};
	shape_grid(&cuda->room[kernel - cuda->kernels->items], kernel, call,
		   launch);
	return PHILOX_OK;
}

static enum philox_status launch_clusters(struct philox_device *device,
					  philox_stream stream,
					  struct launch *launch)
{
	struct compat_cluster cluster;
	const cudaLaunchConfig_t *config = compat_cluster(
		&cluster, launch->params.gridDim.x, launch->params.blockDim.x,
		stream, launch->cluster);

	return ON(device, cudaLaunchKernelExC, config, launch->params.func,
		  launch->arguments);
}

enum philox_status cuda_launch(struct philox_device *device,
			       philox_stream stream,
			       const struct kernel_call *call)
{
	struct launch launch;
	enum philox_status status = make_launch(device, call, &launch);

	if (status != PHILOX_OK)
		return status;
	if (launch.cluster > 1)
		return launch_clusters(device, stream, &launch);
	return ON(device, cudaLaunchKernel, launch.params.func,
		  launch.params.gridDim, launch.params.blockDim,
		  launch.arguments, 0, stream);
}

/* --- graphs --------------------------------------------------------------- */

enum philox_status cuda_graph_add_kernel(struct philox_device *device,
					 philox_native_graph graph,
					 const device_node *deps, size_t n,
					 const struct kernel_call *call,
					 device_node *node)
{
	struct launch launch;
	cudaGraphNode_t result;
	enum philox_status status = make_launch(device, call, &launch);

	if (status != PHILOX_OK)
		return status;
	status = ON(device, cudaGraphAddKernelNode, &result, graph, deps, n,
		    &launch.params);
	if (status == PHILOX_OK)
		*node = result;
	return status;
}

enum philox_status cuda_graph_set_kernel(struct philox_device *device,
					 device_node node,
					 const struct kernel_call *call)
{
	struct launch launch;
	enum philox_status status = make_launch(device, call, &launch);

	if (status != PHILOX_OK)
		return status;
	return ON(device, cudaGraphKernelNodeSetParams, node, &launch.params);
}

static void CUDART_CB retained_end(void *pointer)
{
	struct retained *retained = pointer;

	if (retained->release)
		retained->release(retained->object);
	free(retained);
}

enum philox_status cuda_graph_retain(struct philox_device *device,
				     philox_native_graph graph,
				     void (*release)(void *), void *object)
{
	struct retained *retained = malloc(sizeof(*retained));
	cudaUserObject_t owner;
	enum philox_status status;

	if (!retained)
		return status_set(PHILOX_ERROR_MEMORY,
				  "cudaUserObjectCreate: out of host memory");
	*retained = (struct retained){release, object};
	status = ON(device, cudaUserObjectCreate, &owner, retained,
		    retained_end, 1, cudaUserObjectNoDestructorSync);
	if (status != PHILOX_OK)
		goto free_retained;
	status = ON(device, cudaGraphRetainUserObject, graph, owner, 1,
		    cudaGraphUserObjectMove);
	if (status != PHILOX_OK)
		goto release_owner;
	return PHILOX_OK;

release_owner:
	/* retained_end() runs, perhaps later, on a thread of CUDA: disarm it. */
	retained->release = NULL;
	cudaUserObjectRelease(owner, 1);
	return status;
free_retained:
	free(retained);
	return status;
}

enum philox_status cuda_graph_nodes(struct philox_device *device,
				    philox_native_graph graph, size_t *nodes)
{
	size_t count;
	enum philox_status status =
		ON(device, cudaGraphGetNodes, graph, NULL, &count);

	if (status == PHILOX_OK)
		*nodes = count;
	return status;
}

/* Room for the nodes and edges that a query writes. */
struct room {
	cudaGraphNode_t *nodes;
	cudaGraphEdgeData *edges;
	size_t size;
};

static void room_free(struct room *room)
{
	free(room->nodes);
	free(room->edges);
}

static int room_make(struct room *room, size_t size)
{
	room_free(room);
	room->nodes = malloc(size * sizeof(*room->nodes));
	room->edges = malloc(size * sizeof(*room->edges));
	room->size = size;
	return room->nodes && room->edges;
}

/* CUDA tells that all were written by writing fewer than there was room for. */
enum philox_status cuda_node_deps(struct philox_device *device,
				  device_node node, device_node *shown,
				  size_t *n)
{
	struct room room = {0};
	enum philox_status status = PHILOX_OK;
	size_t count = 0;

	while (status == PHILOX_OK && count == room.size) {
		count = room.size ? 4 * room.size : 8;
		if (!room_make(&room, count))
			status = status_set(PHILOX_ERROR_MEMORY,
					    "no memory for %zu nodes", count);
		else
			status = ON_AS(device, "cudaGraphNodeGetDependencies",
				       compat_node_deps(node, room.nodes,
							room.edges, &count));
	}
	if (status == PHILOX_OK)
		show_nodes(room.nodes, room.edges, count, shown, n);
	room_free(&room);
	return status;
}

/* --- what nodes are --------------------------------------------------------- */

static enum device_node_kind kind_of_type(enum cudaGraphNodeType type)
{
	switch (type) {
	case cudaGraphNodeTypeKernel:
		return DEVICE_NODE_KERNEL;
	case cudaGraphNodeTypeHost:
		return DEVICE_NODE_HOST;
	case cudaGraphNodeTypeMemcpy:
		return DEVICE_NODE_COPY;
	case cudaGraphNodeTypeMemset:
		return DEVICE_NODE_SET;
	case cudaGraphNodeTypeGraph:
		return DEVICE_NODE_GRAPH;
	case cudaGraphNodeTypeWaitEvent:
	case cudaGraphNodeTypeEventRecord:
		return DEVICE_NODE_EVENT;
	case cudaGraphNodeTypeMemAlloc:
	case cudaGraphNodeTypeMemFree:
		return DEVICE_NODE_MEMORY;
	case cudaGraphNodeTypeEmpty:
		return DEVICE_NODE_EMPTY;
	default:
		return compat_is_conditional(type) ? DEVICE_NODE_CONDITIONAL
						   : DEVICE_NODE_OTHER;
	}
}

/* A kernel that was loaded by the driver's functions has no name here. */
static const char *name_of_kernel(cudaGraphNode_t node)
{
	struct cudaKernelNodeParams params;
	const char *name = NULL;

	if (cudaGraphKernelNodeGetParams(node, &params) == cudaSuccess &&
	    compat_kernel_name(params.func, &name) == cudaSuccess && name)
		return name;
	cudaGetLastError(); /* none of what follows */
	return "";
}

static enum philox_status list_nodes(struct philox_device *device,
				     const cudaGraphNode_t *nodes, size_t n,
				     void (*each)(void *user,
						  enum device_node_kind kind,
						  const char *name),
				     void *user)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < n; i++) {
		enum cudaGraphNodeType type;

		status = ON(device, cudaGraphNodeGetType, nodes[i], &type);
		if (status == PHILOX_OK)
			each(user, kind_of_type(type),
			     type == cudaGraphNodeTypeKernel
				     ? name_of_kernel(nodes[i])
				     : "");
	}
	return status;
}

enum philox_status cuda_graph_list(struct philox_device *device,
				   philox_native_graph graph,
				   void (*each)(void *user,
						enum device_node_kind kind,
						const char *name),
				   void *user)
{
	cudaGraphNode_t *nodes;
	size_t n = 0;
	enum philox_status status = cuda_graph_nodes(device, graph, &n);

	if (status != PHILOX_OK)
		return status;
	nodes = malloc((n + 1) * sizeof(*nodes));
	if (!nodes)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for %zu nodes", n);
	status = ON(device, cudaGraphGetNodes, graph, nodes, &n);
	if (status == PHILOX_OK)
		status = list_nodes(device, nodes, n, each, user);
	free(nodes);
	return status;
}

enum philox_status cuda_node_priority(struct philox_device *device,
				      device_node node, int priority)
{
	union cudaLaunchAttributeValue value;

	memset(&value, 0, sizeof(value));
	value.priority = priority;
	return ON(device, cudaGraphKernelNodeSetAttribute, node,
		  cudaLaunchAttributePriority, &value);
}

enum philox_status cuda_graph_destroy(struct philox_device *device,
				      philox_native_graph graph)
{
	return ON(device, cudaGraphDestroy, graph);
}

enum philox_status cuda_exec_create(struct philox_device *device,
				    philox_native_graph graph, unsigned flags,
				    philox_native_exec *exec)
{
	cudaGraphExec_t result;
	enum philox_status status =
		ON_RELAXED(device, cudaGraphInstantiate, &result, graph, flags);

	if (status == PHILOX_OK)
		*exec = result;
	return status;
}

enum philox_status cuda_exec_set_kernel(struct philox_device *device,
					philox_native_exec exec,
					device_node node,
					const struct kernel_call *call)
{
	struct launch launch;
	enum philox_status status = make_launch(device, call, &launch);

	if (status != PHILOX_OK)
		return status;
	return ON(device, cudaGraphExecKernelNodeSetParams, exec, node,
		  &launch.params);
}

/* CUDA would record the launch into the capture, as a child graph. */
enum philox_status cuda_exec_launch(struct philox_device *device,
				    philox_native_exec exec,
				    philox_stream stream)
{
	int capturing;
	enum philox_status status =
		cuda_is_capturing(device, stream, &capturing);

	if (status != PHILOX_OK)
		return status;
	if (capturing)
		return status_set(PHILOX_ERROR_CAPTURE_UNSUPPORTED,
				  "cudaGraphLaunch: the stream is capturing");
	return ON(device, cudaGraphLaunch, exec, stream);
}

enum philox_status cuda_exec_destroy(struct philox_device *device,
				     philox_native_exec exec)
{
	return ON_RELAXED(device, cudaGraphExecDestroy, exec);
}
