/*
 * tests/probe/launch.c - memory, streams and launches of questions, which the
 * simulated GPU is asked with, too
 */
#include "tests/probe/probe.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

double probe_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

cudaStream_t probe_stream(void)
{
	cudaStream_t stream;

	MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	return stream;
}

void *probe_memory(size_t size)
{
	void *memory;

	MUST(cudaMalloc(&memory, size));
	MUST(cudaMemsetAsync(memory, 0, size, NULL));
	MUST(cudaDeviceSynchronize());
	return memory;
}

void probe_kernel(struct probe_launch *launch, const void *function,
		  unsigned blocks, unsigned threads, void *argument)
{
	*launch = (struct probe_launch){
		.params.func = (void *)function,
		.params.gridDim = {blocks, 1, 1},
		.params.blockDim = {threads, 1, 1},
		.params.kernelParams = launch->arguments,
		.arguments = {argument},
	};
}

cudaError_t probe_run(const struct probe_launch *launch, cudaStream_t stream)
{
	return cudaLaunchKernel(launch->params.func, launch->params.gridDim,
				launch->params.blockDim,
				launch->params.kernelParams, 0, stream);
}

/* --- another thread ------------------------------------------------------- */

struct beside {
	void (*call)(void *);
	void *argument;
};

static void *beside_main(void *pointer)
{
	struct beside *beside = pointer;

	beside->call(beside->argument);
	return NULL;
}

void probe_beside(void (*call)(void *), void *argument)
{
	struct beside beside = {call, argument};
	pthread_t thread;

	if (pthread_create(&thread, NULL, beside_main, &beside) != 0)
		abort();
	pthread_join(thread, NULL);
}
