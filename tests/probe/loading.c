/*
 * tests/probe/loading.c - kernels that CUDA has not loaded yet
 *
 * CUDA loads a kernel when it is first used, unless CUDA_MODULE_LOADING says
 * otherwise. What does that during a capture? Each question is asked in a new
 * process, in which no kernel of this program is loaded.
 */
#include "tests/probe/probe.h"

#include <stdlib.h>

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
	cudaStream_t stream = probe_capture_begin(cudaStreamNonBlocking,
						  which & ~OTHER_THREAD);
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

/* A kernel with more parameters than drivers before 12.1 take. */
static void ask_module(int which)
{
	struct cudaFuncAttributes attributes;
	cudaError_t large, other;
	int driver;

	(void)which;
	MUST(cudaDriverGetVersion(&driver));
	large = cudaFuncGetAttributes(&attributes, probe_message_2040);
	cudaGetLastError();
	other = cudaFuncGetAttributes(&attributes, probe_count);
	cudaGetLastError();
	answer(INFO,
	       "with a driver of CUDA %d.%d a kernel of %zu bytes: %s; another "
	       "of its file: %s",
	       driver / 1000, driver % 1000 / 10,
	       sizeof(struct probe_message_2040), cudaGetErrorName(large),
	       cudaGetErrorName(other));
}

const struct question loading_questions[] = {
	{"lazy-loading-own-global", "unknown: philox loads its kernels at open",
	 ask_unloaded, cudaStreamCaptureModeGlobal},
	{"lazy-loading-own-thread-local",
	 "unknown: philox loads its kernels at open", ask_unloaded,
	 cudaStreamCaptureModeThreadLocal},
	{"lazy-loading-own-relaxed",
	 "unknown: philox loads its kernels at open", ask_unloaded,
	 cudaStreamCaptureModeRelaxed},
	{"lazy-loading-other-global",
	 "unknown: philox loads its kernels at open", ask_unloaded,
	 OTHER_THREAD | cudaStreamCaptureModeGlobal},
	{"lazy-loading-other-thread-local",
	 "unknown: philox loads its kernels at open", ask_unloaded,
	 OTHER_THREAD | cudaStreamCaptureModeThreadLocal},
	{"lazy-loading-other-relaxed",
	 "unknown: philox loads its kernels at open", ask_unloaded,
	 OTHER_THREAD | cudaStreamCaptureModeRelaxed},
	{"module-of-a-file",
	 "nobody knows what a driver before 12.1 does with a large kernel",
	 ask_module, 0},
	{NULL, NULL, NULL, 0},
};
