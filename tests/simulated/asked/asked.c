/*
 * tests/simulated/asked/asked.c - a GPU that others use too, or that is lost,
 * on the simulated one
 *
 * The questions of tests/probe/shared.c, each in a process of its own. Real GPUs
 * are asked them by tests/probe/probe.c. A line for each: its key, what was
 * seen, and whether that is what is assumed.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <philox/status.h>
#include "tests/probe/probe.h"

enum { SECONDS = 120 }; /* for one question */

/* --- what questions use: tests/probe/probe.h ------------------------------ */

static const struct question *asked;

void answer(enum verdict verdict, const char *seen, ...)
{
	static const char *const words[] = {"PASS", "DIFFERS", "INFO"};
	va_list arguments;

	printf("%s: ", asked->key);
	va_start(arguments, seen);
	vprintf(seen, arguments);
	va_end(arguments);
	printf(": %s\n", words[verdict]);
	fflush(stdout);
	_exit(verdict == DIFFERS);
}

void must(const char *call, cudaError_t error)
{
	if (error != cudaSuccess)
		answer(DIFFERS, "%s: %s", call, cudaGetErrorString(error));
}

void must_philox(const char *call, int status)
{
	if (status != PHILOX_OK)
		answer(DIFFERS, "%s: %s", call, philox_error_message());
}

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

struct beside {
	void (*call)(void *);
	void *argument;
};

static void *run_beside(void *pointer)
{
	const struct beside *beside = pointer;

	beside->call(beside->argument);
	return NULL;
}

void probe_beside(void (*call)(void *), void *argument)
{
	struct beside beside = {call, argument};
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_beside, &beside))
		answer(DIFFERS, "no thread could be made");
	pthread_join(thread, NULL);
}

/* --- one question after the other ----------------------------------------- */

static int ask(const struct question *question)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		alarm(SECONDS);
		asked = question;
		question->ask(question->which);
		answer(DIFFERS, "no answer");
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
		printf("FAILED  %s: status %x\n", question->key, status);
		return 1;
	}
	return 0;
}

int main(void)
{
	int failed = 0;

	for (const struct question *q = shared_questions; q->key; q++)
		failed += ask(q);
	return failed != 0;
}
