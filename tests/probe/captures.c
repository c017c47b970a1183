/*
 * tests/probe/captures.c - what may be called while a stream is capturing
 */
#include "tests/probe/probe.h"

#include <philox.h>
#include <stdlib.h>
#include "lib/device/cuda/compat.h"

/* Begins a capture with one node in it, on a new stream. */
static cudaStream_t begin_capture(unsigned flags, int mode)
{
	cudaStream_t stream;

	MUST(cudaStreamCreateWithFlags(&stream, flags));
	MUST(cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode)mode));
	return stream;
}

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
	stream = begin_capture(cudaStreamNonBlocking, mode);
	synchronize(&own);
	after_own = probe_capture_end(stream);
	stream = begin_capture(cudaStreamNonBlocking, mode);
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
	stream = begin_capture(cudaStreamDefault,
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
	stream = begin_capture(cudaStreamDefault,
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

/* --- kernels that are not loaded yet -------------------------------------- */

enum { OTHER_THREAD = 16 }; /* added to the mode */

struct first_use {
	unsigned long long *count;
	cudaStream_t stream;
	cudaError_t error;
};

static void use_first(void *pointer)
{
	struct first_use *use = pointer;
	struct probe_launch launch;

	probe_kernel(&launch, probe_unloaded, 1, 1, &use->count);
	use->error = probe_run(&launch, use->stream);
	cudaGetLastError();
}

static void ask_unloaded(int which)
{
	int others = which & OTHER_THREAD, allowed;
	struct first_use use = {probe_memory(sizeof(*use.count)),
				probe_stream(), cudaSuccess};
	cudaStream_t stream =
		begin_capture(cudaStreamNonBlocking, which & ~OTHER_THREAD);
	const char *mode = getenv("CUDA_MODULE_LOADING");
	const char *after;

	if (others) {
		probe_beside(use_first, &use);
	} else {
		use.stream = stream;
		use_first(&use);
	}
	after = probe_capture_end(stream);
	allowed = use.error == cudaSuccess && after[0] == 'w';
	answer(INFO, "%s, capture %s: %s (CUDA_MODULE_LOADING is %s)",
	       cudaGetErrorName(use.error), after,
	       allowed ? "a kernel may be loaded" : "it must be loaded before",
	       mode ? mode : "not set");
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

	TRY(philox_forward_begin(full->region, full->stream, PHILOX_INFERENCE,
				 &pass));
	TRY(philox_uniform(&pass, 0, PHILOX_F32, span, 0, 1, full->out));
	TRY(philox_forward_commit(&pass, NULL));
}

/* With one hardware queue all streams wait for each other's work. */
static void ask_full_gpu(int which)
{
	struct full full;
	struct philox_graph *graph;
	cudaStream_t busy;
	double begun, pass, end;
	int still;

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
	still = cudaStreamQuery(busy) == cudaErrorNotReady;
	TRY(philox_capture_end(full.context, full.stream, &graph));
	end = probe_us() - begun - pass;
	answer(still && pass < 100000 ? PASS : DIFFERS,
	       "a first pass was captured in %.0f us, its capture ended in %.0f "
	       "us, behind 500 ms of work%s",
	       pass, end, still ? "" : ", which was over: the pass waited");
}

#define REFUSED "it is refused, to the capturing thread and to others"

const struct question capture_questions[] = {
	{"device-sync-global", REFUSED, ask_synchronize,
	 cudaStreamCaptureModeGlobal},
	{"device-sync-thread-local", REFUSED, ask_synchronize,
	 cudaStreamCaptureModeThreadLocal},
	{"device-sync-relaxed", REFUSED, ask_synchronize,
	 cudaStreamCaptureModeRelaxed},
	{"legacy-info",
	 "cudaErrorStreamCaptureImplicit, and the capture stays whole",
	 ask_legacy_info, 0},
	{"legacy-work",
	 "cudaErrorStreamCaptureImplicit, and the capture is invalidated",
	 ask_legacy_work, 0},
	{"lazy-own-global", "unknown: philox loads its kernels at open",
	 ask_unloaded, cudaStreamCaptureModeGlobal},
	{"lazy-own-thread-local", "unknown: philox loads its kernels at open",
	 ask_unloaded, cudaStreamCaptureModeThreadLocal},
	{"lazy-own-relaxed", "unknown: philox loads its kernels at open",
	 ask_unloaded, cudaStreamCaptureModeRelaxed},
	{"lazy-other-global", "unknown: philox loads its kernels at open",
	 ask_unloaded, OTHER_THREAD | cudaStreamCaptureModeGlobal},
	{"lazy-other-thread-local", "unknown: philox loads its kernels at open",
	 ask_unloaded, OTHER_THREAD | cudaStreamCaptureModeThreadLocal},
	{"lazy-other-relaxed", "unknown: philox loads its kernels at open",
	 ask_unloaded, OTHER_THREAD | cudaStreamCaptureModeRelaxed},
	{"full-gpu", "capturing a pass does not wait for the GPU", ask_full_gpu,
	 0},
	{NULL, NULL, NULL, 0},
};
