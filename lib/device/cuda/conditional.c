/*
 * lib/device/cuda/conditional.c - conditions and conditional nodes of CUDA
 *
 * Not every CUDA has them, nor every driver: what is too old, the one that the
 * library was built with or the driver, is named by the error.
 */
#include "lib/device/cuda/cuda.h"
#include "lib/base/base.h"

_Static_assert(sizeof(device_condition) == sizeof(cudaGraphConditionalHandle),
	       "a condition is CUDA's handle");
#if CUDART_VERSION >= 12030
_Static_assert((int)CONDITIONAL_IF == (int)cudaGraphCondTypeIf &&
		       (int)CONDITIONAL_WHILE == (int)cudaGraphCondTypeWhile,
	       "kinds of nodes are CUDA's");
#endif
#if CUDART_VERSION >= 12080
_Static_assert((int)CONDITIONAL_SWITCH == (int)cudaGraphCondTypeSwitch,
	       "kinds of nodes are CUDA's");
#endif

static enum philox_status refuse_version(const char *feature, int needed,
					 const char *whose, int found)
{
	return status_set(PHILOX_ERROR_UNSUPPORTED,
			  "%s need CUDA %d.%d, and the %s is of %d.%d", feature,
			  needed / 1000, needed % 1000 / 10, whose,
			  found / 1000, found % 1000 / 10);
}

/* `feature` is a plural. */
static enum philox_status need_version(const struct philox_device *device,
				       const char *feature, int needed)
{
	const struct cuda_device *cuda = (const struct cuda_device *)device;

	if (CUDART_VERSION < needed)
		return refuse_version(feature, needed,
				      "runtime in this library",
				      CUDART_VERSION);
	if (cuda->driver < needed)
		return refuse_version(feature, needed, "driver", cuda->driver);
	return PHILOX_OK;
}

enum philox_status cuda_capture_begin_to(struct philox_device *device,
					 philox_stream stream,
					 philox_native_graph graph,
					 enum philox_capture_mode mode)
{
	enum philox_status status = need_version(
		device, "captures into a graph that is there", 12030);

	if (status != PHILOX_OK)
		return status;
	return ON_AS(device, "cudaStreamBeginCaptureToGraph",
		     compat_capture_to(stream, graph,
				       (enum cudaStreamCaptureMode)mode));
}

static enum philox_status need_conditions(const struct philox_device *device)
{
	const struct cuda_device *cuda = (const struct cuda_device *)device;
	enum philox_status status =
		need_version(device, "conditional nodes", 12030);

	if (status != PHILOX_OK || !cuda->condition_why[0])
		return status;
	return status_set(PHILOX_ERROR_UNSUPPORTED,
			  "conditional nodes: the driver does not load the "
			  "kernel that sets conditions (%s)",
			  cuda->condition_why);
}

enum philox_status cuda_condition_create(struct philox_device *device,
					 philox_native_graph graph,
					 uint32_t value, int assigned,
					 device_condition *condition)
{
	cudaGraphConditionalHandle handle;
	enum philox_status status = need_conditions(device);

	if (status == PHILOX_OK)
		status = ON_AS(device, "cudaGraphConditionalHandleCreate",
			       compat_condition_create(&handle, graph, value,
						       assigned));
	if (status == PHILOX_OK)
		*condition = handle;
	return status;
}

static enum philox_status need_kind(const struct philox_device *device,
				    const struct conditional *what)
{
	switch (what->kind) {
	case CONDITIONAL_WHILE:
		return need_version(device, "WHILE nodes", 12040);
	case CONDITIONAL_SWITCH:
		return need_version(device, "SWITCH nodes", 12080);
	case CONDITIONAL_IF:
		break;
	}
	if (what->bodies > 1)
		return need_version(device, "IF nodes with two bodies", 12080);
	return need_version(device, "IF nodes", 12030);
}

/* Every kind needs conditions, whose refusal says more. */
enum philox_status cuda_conditional_check(struct philox_device *device,
					  const struct conditional *what)
{
	enum philox_status status = need_conditions(device);

	return status == PHILOX_OK ? need_kind(device, what) : status;
}

enum philox_status cuda_graph_add_conditional(struct philox_device *device,
					      philox_native_graph graph,
					      const device_node *deps, size_t n,
					      const struct conditional *what,
					      device_node *node,
					      philox_native_graph *bodies)
{
	cudaGraphNode_t result;
	enum philox_status status = need_kind(device, what);

	if (status == PHILOX_OK)
		status = ON_AS(device, "cudaGraphAddNode",
			       compat_add_conditional(
				       &result, graph, deps, n, what->condition,
				       (int)what->kind, what->bodies, bodies));
	if (status == PHILOX_OK)
		*node = result;
	return status;
}
