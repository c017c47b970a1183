/*
 * tests/probe/support.c - what the probe's questions share
 */
#include "tests/probe/probe.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* --- time ----------------------------------------------------------------- */

void probe_sleep(double us)
{
	const struct timespec time = {(time_t)(us / 1e6),
				      (long)(us * 1e3) % 1000000000};

	nanosleep(&time, NULL);
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double probe_median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare);
	return values[count / 2];
}

double probe_most(const double *values, size_t count)
{
	double most = values[0];

	for (size_t i = 1; i < count; i++)
		most = values[i] > most ? values[i] : most;
	return most;
}

/* --- CUDA ----------------------------------------------------------------- */

void probe_spin_on(cudaStream_t stream, double us, int wide)
{
	struct probe_spin_args args = {(unsigned long long)(1e3 * us), NULL};
	struct probe_launch launch;
	int processors = 1;

	if (wide)
		MUST(cudaDeviceGetAttribute(&processors,
					    cudaDevAttrMultiProcessorCount, 0));
	probe_kernel(&launch, probe_spin, wide ? 2 * (unsigned)processors : 1,
		     wide ? 1024 : 1, &args);
	MUST(probe_run(&launch, stream));
}

void probe_load(const void *function)
{
	struct cudaFuncAttributes attributes;

	MUST(cudaFuncGetAttributes(&attributes, function));
}

cudaGraphNode_t probe_node(cudaGraph_t graph, const cudaGraphNode_t *deps,
			   size_t n, const struct probe_launch *launch)
{
	cudaGraphNode_t node;

	MUST(cudaGraphAddKernelNode(&node, graph, deps, n, &launch->params));
	return node;
}

cudaGraphExec_t probe_exec(cudaGraph_t graph)
{
	cudaGraphExec_t exec;

	MUST(cudaGraphInstantiate(&exec, graph, 0));
	return exec;
}

cudaStream_t probe_capture_begin(unsigned flags, int mode)
{
	cudaStream_t stream;

	MUST(cudaStreamCreateWithFlags(&stream, flags));
	MUST(cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode)mode));
	return stream;
}

const char *probe_capture_end(cudaStream_t stream)
{
	cudaGraph_t graph = NULL;
	cudaError_t error = cudaStreamEndCapture(stream, &graph);

	if (graph)
		MUST(cudaGraphDestroy(graph));
	cudaGetLastError();
	return error == cudaSuccess ? "whole" : cudaGetErrorName(error);
}

/* --- objects of graphs ---------------------------------------------------- */

static void CUDART_CB note_release(void *object)
{
	struct probe_release *release = object;

	release->at = probe_us();
	release->own_thread = release->thread == syscall(SYS_gettid);
	atomic_store(&release->done, 1);
}

cudaError_t probe_retain(cudaGraph_t graph, struct probe_release *release)
{
	cudaUserObject_t object;

	release->thread = syscall(SYS_gettid);
	MUST(cudaUserObjectCreate(&object, release, note_release, 1,
				  cudaUserObjectNoDestructorSync));
	return cudaGraphRetainUserObject(graph, object, 1,
					 cudaGraphUserObjectMove);
}

int probe_released(struct probe_release *release)
{
	const double begun = probe_us();

	while (!atomic_load(&release->done) && probe_us() - begun < 1e6)
		probe_sleep(10);
	return atomic_load(&release->done);
}
