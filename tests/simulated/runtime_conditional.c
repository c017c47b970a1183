/*
 * tests/simulated/runtime_conditional.c - conditions, and nodes with bodies
 *
 * The host device has their rules; the bodies run in gpu.c.
 */
#include <stdlib.h>
#include "lib/device/cuda/compat.h"
#include "tests/simulated/runtime.h"
#include "tests/simulated/simulated.h"

/* A handle is the address of the value, as on host devices. */
void simulated_set_condition(unsigned long long condition, unsigned value)
{
	*(uint32_t *)(uintptr_t)condition = value;
}

#if CUDART_VERSION >= 12030
/* [conditional-versions] */
static int driver_is_older(int version)
{
	return runtime_driver() < version;
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle,
					     cudaGraph_t graph, unsigned value,
					     unsigned flags)
{
	device_condition condition;
	cudaError_t error;

	if (driver_is_older(12030))
		return runtime_error(cudaErrorCallRequiresNewerDriver);
	if (flags & ~(unsigned)cudaGraphCondAssignDefault)
		return runtime_error(cudaErrorInvalidValue);
	error = RUNTIME(condition_create, graph, value, flags != 0, &condition);
	if (error == cudaSuccess)
		*handle = condition;
	return error;
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream,
					  cudaGraph_t graph,
					  const cudaGraphNode_t *dependencies,
					  const cudaGraphEdgeData *edges,
					  size_t count,
					  enum cudaStreamCaptureMode mode)
{
	if (driver_is_older(12030))
		return runtime_error(cudaErrorCallRequiresNewerDriver);
	if (dependencies || edges || count)
		return runtime_error(cudaErrorNotSupported);
	return RUNTIME(capture_begin_to, runtime_stream(stream), graph,
		       (enum philox_capture_mode)mode);
}

/* The numbers that the header allows, with this driver. */
static int is_allowed(const struct cudaConditionalNodeParams *params)
{
	const int kind = (int)params->type;

	switch ((enum conditional_kind)kind) {
	case CONDITIONAL_IF:
		return params->size == 1 ||
		       (params->size == 2 && !driver_is_older(12080));
	case CONDITIONAL_WHILE:
		return params->size == 1 && !driver_is_older(12040);
	case CONDITIONAL_SWITCH:
		return params->size && !driver_is_older(12080);
	}
	return 0;
}

/* CUDA's array lives as long as the node; here, as all that is made of it. */
static int keep_array(cudaGraph_t graph, cudaGraph_t *array)
{
	struct host_device *gpu = host_of(runtime_gpu());
	struct host_release *entry = malloc(sizeof(*entry));
	struct host_graph *found;
	enum philox_status status;

	if (!entry)
		return 0;
	host_lock(gpu);
	status = host_graph_find(gpu, graph, "", &found);
	if (status == PHILOX_OK) {
		struct host_keep *keep = host_root_of(found)->keep;

		*entry = (struct host_release){free, array, keep->releases};
		keep->releases = entry;
	}
	host_unlock(gpu);
	if (status != PHILOX_OK)
		free(entry);
	return status == PHILOX_OK;
}

static cudaError_t add_conditional(cudaGraphNode_t *node, cudaGraph_t graph,
				   const cudaGraphNode_t *dependencies,
				   size_t count,
				   struct cudaConditionalNodeParams *params)
{
	const struct conditional what = {params->handle,
					 (enum conditional_kind)params->type,
					 params->size};
	cudaGraph_t *array = calloc(params->size, sizeof(*array));
	cudaError_t error;

	if (!array || !keep_array(graph, array)) {
		free(array);
		return runtime_error(cudaErrorInvalidValue);
	}
	error = RUNTIME(graph_add_conditional, graph, dependencies, count,
			&what, node, array);
	if (error == cudaSuccess)
		params->phGraph_out = array;
	return error;
}

#if CUDART_VERSION >= 13000
cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph,
			     const cudaGraphNode_t *dependencies,
			     const cudaGraphEdgeData *edges, size_t count,
			     struct cudaGraphNodeParams *params)
{
	if (edges)
		return runtime_error(cudaErrorNotSupported);
#else
cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph,
			     const cudaGraphNode_t *dependencies, size_t count,
			     struct cudaGraphNodeParams *params)
{
#endif
	if (params->type != cudaGraphNodeTypeConditional)
		return runtime_error(cudaErrorNotSupported);
	if (driver_is_older(12030) || !is_allowed(&params->conditional))
		return runtime_error(cudaErrorInvalidValue);
	return add_conditional(node, graph, dependencies, count,
			       &params->conditional);
}
#endif
