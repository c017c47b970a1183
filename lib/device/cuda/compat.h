/*
 * lib/device/cuda/compat.h - the CUDA runtime, 12.1 and later, in one spelling
 *
 * CUDA 12.3 gave the edges of a graph data of their own and the functions that
 * show edges a suffix; CUDA 13 dropped the suffixes. 12.5 requires the version
 * of a driver's function to be named. 12.1 is the first version whose kernels
 * take the head's message (lib/device/kernels.h).
 */
#ifndef LIB_DEVICE_CUDA_COMPAT_H
#define LIB_DEVICE_CUDA_COMPAT_H

#include <cuda_runtime_api.h>
#include <string.h>

#if CUDART_VERSION < 12010
#error "philox needs CUDA 12.1 or later"
#endif

#if CUDART_VERSION < 12030
typedef struct {
	char unused;
} cudaGraphEdgeData;
typedef unsigned long long cudaGraphConditionalHandle;
#endif

/*
 * compat_is_plain() tells whether the next node begins when the node at edge i
 * has ended: across a programmatic edge it may begin before. No data: all edges
 * are plain.
 */
static inline int compat_is_plain(const cudaGraphEdgeData *edges, size_t i)
{
#if CUDART_VERSION >= 12030
	return !edges || edges[i].type == cudaGraphDependencyTypeDefault;
#else
	(void)edges;
	(void)i;
	return 1;
#endif
}

/*
 * compat_capture_info() is cudaStreamGetCaptureInfo() with the stream's
 * dependencies. It asks for their edge data, since without it a stream with a
 * programmatic dependency returns cudaErrorLossyQuery.
 */
static inline cudaError_t compat_capture_info(
	cudaStream_t stream, enum cudaStreamCaptureStatus *status,
	unsigned long long *id, cudaGraph_t *graph,
	const cudaGraphNode_t **nodes, const cudaGraphEdgeData **edges,
	size_t *count)
{
#if CUDART_VERSION >= 13000
	return cudaStreamGetCaptureInfo(stream, status, id, graph, nodes, edges,
					count);
#elif CUDART_VERSION >= 12030
	return cudaStreamGetCaptureInfo_v3(stream, status, id, graph, nodes,
					   edges, count);
#else
	*edges = NULL;
	return cudaStreamGetCaptureInfo(stream, status, id, graph, nodes,
					count);
#endif
}

/*
 * compat_capture_depend() is cudaStreamUpdateCaptureDependencies() of one plain
 * dependency, which is added or, with cudaStreamSetCaptureDependencies,
 * replaces the others.
 */
static inline cudaError_t compat_capture_depend(cudaStream_t stream,
						cudaGraphNode_t node,
						unsigned how)
{
#if CUDART_VERSION >= 13000
	return cudaStreamUpdateCaptureDependencies(stream, &node, NULL, 1, how);
#elif CUDART_VERSION >= 12030
	return cudaStreamUpdateCaptureDependencies_v2(stream, &node, NULL, 1,
						      how);
#else
	return cudaStreamUpdateCaptureDependencies(stream, &node, 1, how);
#endif
}

/* A launch of clusters of blocks, and its attribute. */
struct compat_cluster {
	cudaLaunchConfig_t config;
	cudaLaunchAttribute size;
};

/*
 * compat_cluster() fills in such a launch, of `blocks` in clusters of `size`,
 * and returns it as cudaLaunchKernelExC() takes it.
 */
static inline const cudaLaunchConfig_t *compat_cluster(
	struct compat_cluster *cluster, unsigned blocks, unsigned threads,
	cudaStream_t stream, unsigned size)
{
	memset(cluster, 0, sizeof(*cluster));
	cluster->size.id = cudaLaunchAttributeClusterDimension;
	cluster->size.val.clusterDim.x = size;
	cluster->size.val.clusterDim.y = 1;
	cluster->size.val.clusterDim.z = 1;
	cluster->config.gridDim = (dim3){blocks, 1, 1};
	cluster->config.blockDim = (dim3){threads, 1, 1};
	cluster->config.stream = stream;
	cluster->config.attrs = &cluster->size;
	cluster->config.numAttrs = 1;
	return &cluster->config;
}

/*
 * compat_node_deps() is cudaGraphNodeGetDependencies() with room for the edges'
 * data, since without it a node with a programmatic dependency returns
 * cudaErrorLossyQuery.
 */
static inline cudaError_t compat_node_deps(cudaGraphNode_t node,
					   cudaGraphNode_t *nodes,
					   cudaGraphEdgeData *edges, size_t *n)
{
#if CUDART_VERSION >= 13000
	return cudaGraphNodeGetDependencies(node, nodes, edges, n);
#elif CUDART_VERSION >= 12030
	return cudaGraphNodeGetDependencies_v2(node, nodes, edges, n);
#else
	(void)edges;
	return cudaGraphNodeGetDependencies(node, nodes, n);
#endif
}

/* compat_kernel_name() is cudaFuncGetName(), which needs CUDA 12.3. */
static inline cudaError_t compat_kernel_name(const void *function,
					     const char **name)
{
#if CUDART_VERSION >= 12030
	return cudaFuncGetName(name, function);
#else
	(void)function;
	(void)name;
	return cudaErrorNotSupported;
#endif
}

/* compat_is_conditional() is whether a node is conditional: CUDA 12.3. */
static inline int compat_is_conditional(enum cudaGraphNodeType type)
{
#if CUDART_VERSION >= 12030
	return type == cudaGraphNodeTypeConditional;
#else
	(void)type;
	return 0;
#endif
}

/*
 * compat_capture_to() is cudaStreamBeginCaptureToGraph() without dependencies.
 * This and the next two need CUDA 12.3: what comes before is said to be not
 * supported.
 */
static inline cudaError_t compat_capture_to(cudaStream_t stream,
					    cudaGraph_t graph,
					    enum cudaStreamCaptureMode mode)
{
#if CUDART_VERSION >= 12030
	return cudaStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0,
					     mode);
#else
	(void)stream;
	(void)graph;
	(void)mode;
	return cudaErrorNotSupported;
#endif
}

/* compat_condition_create() is cudaGraphConditionalHandleCreate(). */
static inline cudaError_t compat_condition_create(
	cudaGraphConditionalHandle *handle, cudaGraph_t graph, unsigned value,
	int assigned)
{
#if CUDART_VERSION >= 12030
	return cudaGraphConditionalHandleCreate(
		handle, graph, value,
		assigned ? cudaGraphCondAssignDefault : 0);
#else
	(void)handle;
	(void)graph;
	(void)value;
	(void)assigned;
	return cudaErrorNotSupported;
#endif
}

/*
 * compat_add_conditional() is cudaGraphAddNode() of a conditional node of a kind
 * (enum cudaGraphConditionalNodeType), and shows its bodies.
 */
static inline cudaError_t compat_add_conditional(
	cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps,
	size_t n, cudaGraphConditionalHandle handle, int kind, unsigned count,
	cudaGraph_t *bodies)
{
#if CUDART_VERSION >= 12030
	struct cudaGraphNodeParams params = {
		.type = cudaGraphNodeTypeConditional};
	cudaError_t error;

	params.conditional.handle = handle;
	params.conditional.type = (enum cudaGraphConditionalNodeType)kind;
	params.conditional.size = count;
#if CUDART_VERSION >= 13000
	error = cudaGraphAddNode(node, graph, deps, NULL, n, &params);
#else
	error = cudaGraphAddNode(node, graph, deps, n, &params);
#endif
	for (unsigned i = 0; error == cudaSuccess && i < count; i++)
		bodies[i] = params.conditional.phGraph_out[i];
	return error;
#else
	(void)node;
	(void)graph;
	(void)deps;
	(void)n;
	(void)handle;
	(void)kind;
	(void)count;
	(void)bodies;
	return cudaErrorNotSupported;
#endif
}

/*
 * compat_driver_function() looks up a function of the driver by the name it has
 * without a suffix, as it was in CUDA 12.0: every driver that runs CUDA 12 has
 * that. With one that lacks it the error is cudaErrorCallRequiresNewerDriver.
 */
static inline cudaError_t compat_driver_function(const char *name,
						 void **function)
{
	enum cudaDriverEntryPointQueryResult found;
	cudaError_t error;

#if CUDART_VERSION >= 12050
	error = cudaGetDriverEntryPointByVersion(name, function, 12000,
						 cudaEnableDefault, &found);
#else
	error = cudaGetDriverEntryPoint(name, function, cudaEnableDefault,
					&found);
#endif
	if (error == cudaSuccess && found != cudaDriverEntryPointSuccess)
		error = cudaErrorCallRequiresNewerDriver;
	return error;
}

#endif
