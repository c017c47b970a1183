/*
 * tests/probe/captures.c - what may be called while a stream is capturing
 */
#include "tests/probe/probe.h"

#include <philox.h>
#include <stdlib.h>
#include "lib/device/cuda/compat.h"

/* --- synchronising the device --------------------------------------------- */

static void synchronize(void *error)
{
	*(cudaError_t *)error = cudaDeviceSynchronize();
	cudaGetLastError();
}

static void ask_synchronize(int mode)
{
	cudaStream_t stream;
	cudaError_t own, other;
	const char *after_own, *after_other;

	MUST(cudaFree(NULL));
	stream = probe_capture_begin(cudaStreamNonBlocking, mode);
	synchronize(&own);
	after_own = probe_capture_end(stream);
	stream = probe_capture_begin(cudaStreamNonBlocking, mode);
	probe_beside(synchronize, &other);
	after_other = probe_capture_end(stream);
	answer(own != cudaSuccess && other != cudaSuccess ? PASS : DIFFERS,
	       "by the capturing thread: %s, capture %s; by another: %s, "
	       "capture %s",
	       cudaGetErrorName(own), after_own, cudaGetErrorName(other),
	       after_other);
}

/* --- the legacy stream ---------------------------------------------------- */

static void ask_legacy_info(int which)
{
	enum cudaStreamCaptureStatus status, its;
	const cudaGraphEdgeData *edges;
	const cudaGraphNode_t *nodes;
	unsigned long long id;
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaError_t error;
	size_t n;

	(void)which;
	MUST(cudaFree(NULL));
	stream = probe_capture_begin(cudaStreamDefault,
				     cudaStreamCaptureModeThreadLocal);
	error = compat_capture_info(cudaStreamLegacy, &status, &id, &graph,
				    &nodes, &edges, &n);
	cudaGetLastError();
	MUST(cudaStreamIsCapturing(stream, &its));
	answer(error == cudaErrorStreamCaptureImplicit &&
			       its == cudaStreamCaptureStatusActive
		       ? PASS
		       : DIFFERS,
	       "%s, and the capture is %s", cudaGetErrorName(error),
	       its == cudaStreamCaptureStatusActive ? "whole" : "invalidated");
}

static void ask_legacy_work(int which)
{
	void *memory = probe_memory(16);
	enum cudaStreamCaptureStatus its;
	cudaStream_t stream;
	cudaError_t error;

	(void)which;
	stream = probe_capture_begin(cudaStreamDefault,
				     cudaStreamCaptureModeThreadLocal);
	error = cudaMemsetAsync(memory, 0, 16, cudaStreamLegacy);
	cudaGetLastError();
	MUST(cudaStreamIsCapturing(stream, &its));
	answer(error == cudaErrorStreamCaptureImplicit &&
			       its == cudaStreamCaptureStatusInvalidated
		       ? PASS
		       : DIFFERS,
	       "%s, and the capture is %s", cudaGetErrorName(error),
	       its == cudaStreamCaptureStatusActive ? "whole" : "invalidated");
}

/* --- the stream itself ---------------------------------------------------- */

static cudaGraphNode_t captured_node(cudaStream_t stream)
{
	enum cudaStreamCaptureStatus status;
	const cudaGraphEdgeData *edges;
	const cudaGraphNode_t *nodes;
	unsigned long long id;
	cudaGraph_t graph;
	size_t n = 0;

	MUST(compat_capture_info(stream, &status, &id, &graph, &nodes, &edges,
				 &n));
	return n == 1 ? nodes[0] : NULL;
}

/* The stream depends on the node already when it is added. */
static void ask_dependency_twice(int which)
{
	void *memory = probe_memory(16);
	cudaStream_t stream;
	cudaError_t error;

	(void)which;
	stream = probe_capture_begin(cudaStreamNonBlocking,
				     cudaStreamCaptureModeThreadLocal);
	MUST(cudaMemsetAsync(memory, 0, 16, stream));
	error = compat_capture_depend(stream, captured_node(stream),
				      cudaStreamAddCaptureDependencies);
	cudaGetLastError();
	(void)cudaMemsetAsync(memory, 0, 16, stream);
	cudaGetLastError();
	answer(INFO, "%s, and after one more node the capture ends %s",
	       cudaGetErrorName(error), probe_capture_end(stream));
}

static void ask_destroyed(int which)
{
	cudaStream_t stream;
	cudaError_t error;

	(void)which;
	MUST(cudaFree(NULL));
	stream = probe_capture_begin(cudaStreamNonBlocking,
				     cudaStreamCaptureModeThreadLocal);
	error = cudaStreamDestroy(stream);
	cudaGetLastError();
	if (error == cudaSuccess)
		answer(INFO, "the stream is destroyed without an error");
	answer(INFO, "%s, and the capture ends %s", cudaGetErrorName(error),
	       probe_capture_end(stream));
}

/* --- a pass on a GPU that is full ----------------------------------------- */

struct full {
	struct philox_context *context;
	struct philox_region *region;
	philox_stream stream;
	void *out;
};

static void open_full(struct full *full)
{
	const char *op = "op";
	struct philox_device *device;

	TRY(philox_device_open("cuda", &device));
	TRY(philox_context_create(device, &full->context));
	TRY(philox_region_create_named(full->context, "region", &op, 1,
				       &full->region));
	TRY(philox_stream_create(device, 0, &full->stream));
	TRY(philox_memory_alloc(device, 4096, &full->out));
}

static void capture_pass(const struct full *full)
{
	const struct philox_span span = {.count = 1024};
	struct philox_pass pass;

	TRY(philox_forward_begin(full->region, full->stream,
				 PHILOX_PASS_INFERENCE, &pass));
	TRY(philox_pass_uniform(&pass, 0, PHILOX_DTYPE_F32, span, 0, 1,
				full->out));
	TRY(philox_pass_commit(&pass, 0, NULL));
}

/* With one hardware queue all streams wait for each other's work. */
static void ask_full_gpu(int which)
{
	struct full full;
	struct philox_graph *graph;
	cudaStream_t busy;
	double begun, pass, end;
	cudaError_t asked;

	(void)which;
	setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1);
	open_full(&full);
	busy = probe_stream();
	probe_load(probe_spin);
	probe_spin_on(busy, 500000, 1);
	begun = probe_us();
	TRY(philox_capture_begin(full.context, full.stream));
	capture_pass(&full);
	pass = probe_us() - begun;
	TRY(philox_capture_end(full.context, full.stream, &graph));
	end = probe_us() - begun - pass;
	asked = cudaStreamQuery(busy); /* a capture would break by it */
	answer(asked == cudaErrorNotReady && pass < 100000 ? PASS : DIFFERS,
	       "a first pass was captured in %.0f us, its capture ended in %.0f "
	       "us, behind 500 ms of work%s",
	       pass, end,
	       asked == cudaErrorNotReady
		       ? ""
		       : ", which was over: the pass waited");
}

#define REFUSED "it is refused, to the capturing thread and to others"

const struct question capture_questions[] = {
	{"device-sync-in-capture-global", REFUSED, ask_synchronize,
	 cudaStreamCaptureModeGlobal},
	{"device-sync-in-capture-thread-local", REFUSED, ask_synchronize,
	 cudaStreamCaptureModeThreadLocal},
	{"device-sync-in-capture-relaxed", REFUSED, ask_synchronize,
	 cudaStreamCaptureModeRelaxed},
	{"legacy-query",
	 "cudaErrorStreamCaptureImplicit, and the capture stays whole",
	 ask_legacy_info, 0},
	{"legacy-query-work",
	 "cudaErrorStreamCaptureImplicit, and the capture is invalidated",
	 ask_legacy_work, 0},
	{"capture-dependency-twice", "philox does not name a dependency twice",
	 ask_dependency_twice, 0},
	{"capture-of-destroyed", "philox does not destroy a capturing stream",
	 ask_destroyed, 0},
	{"capture-on-full-gpu", "capturing a pass does not wait for the GPU",
	 ask_full_gpu, 0},
	{NULL, NULL, NULL, 0},
};
