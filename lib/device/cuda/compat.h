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

#if CUDART_VERSION < 12010
#error "philox needs CUDA 12.1 or later"
#endif

/*
 * compat_capture_info() is cudaStreamGetCaptureInfo() with the stream's
 * dependencies. It asks for their edge data, since without it a stream with a
 * programmatic dependency returns cudaErrorLossyQuery.
 */
static inline cudaError_t compat_capture_info(
	cudaStream_t stream, enum cudaStreamCaptureStatus *status,
	unsigned long long *id, cudaGraph_t *graph,
	const cudaGraphNode_t **nodes, size_t *count)
{
#if CUDART_VERSION >= 13000
	const cudaGraphEdgeData *edges;

	return cudaStreamGetCaptureInfo(stream, status, id, graph, nodes,
					&edges, count);
#elif CUDART_VERSION >= 12030
	const cudaGraphEdgeData *edges;

	return cudaStreamGetCaptureInfo_v3(stream, status, id, graph, nodes,
					   &edges, count);
#else
	return cudaStreamGetCaptureInfo(stream, status, id, graph, nodes,
					count);
#endif
}

/*
 * compat_capture_depend() is cudaStreamUpdateCaptureDependencies(), adding one
 * plain dependency.
 */
static inline cudaError_t compat_capture_depend(cudaStream_t stream,
						cudaGraphNode_t node)
{
	const unsigned add = cudaStreamAddCaptureDependencies;

#if CUDART_VERSION >= 13000
	return cudaStreamUpdateCaptureDependencies(stream, &node, NULL, 1, add);
#elif CUDART_VERSION >= 12030
	return cudaStreamUpdateCaptureDependencies_v2(stream, &node, NULL, 1,
						      add);
#else
	return cudaStreamUpdateCaptureDependencies(stream, &node, 1, add);
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
