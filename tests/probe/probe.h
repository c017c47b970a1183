/*
 * tests/probe/probe.h - questions that only a real GPU answers
 *
 * philox relies on some things about CUDA that no document says, or on which
 * documents, headers and other projects' tests disagree. Each is a question:
 * a key, what philox assumes, and a function that tries it. The program asks
 * each in a process of its own, since one may hang, or leave an error behind
 * that only a new process is free of, and prints one row of a Markdown table
 * for each:
 *
 *   | key | assumed | seen | PASS, DIFFERS or INFO |
 *
 *   build/tests/gpu-probe            all; 77 if there is no GPU, 1 if one differs
 *   build/tests/gpu-probe KEY...     those whose keys begin so
 *   build/tests/gpu-probe --list     keys and what is assumed; needs no GPU
 *
 * tests/gpu.sh runs it. The simulated GPU answers by assumption, so it is asked
 * only whether it does what shared.c assumes: tests/simulated/asked.
 */
#ifndef TESTS_PROBE_PROBE_H
#define TESTS_PROBE_PROBE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <cuda_runtime_api.h>
#include "tests/probe/kernels.h"

enum verdict {
	PASS,    /* as assumed */
	DIFFERS, /* not so, or there was no answer */
	INFO     /* nothing is assumed: a figure, or what happens */
};

struct question {
	const char *key;
	const char *assumed;
	void (*ask)(int which); /* calls answer() once */
	int which;              /* one of several that share a function */
};

/* The questions of each file; one without a key ends a list. */
extern const struct question params_questions[];
extern const struct question shape_questions[];
extern const struct question overlap_questions[];
extern const struct question capture_questions[];
extern const struct question call_questions[];
extern const struct question loading_questions[];
extern const struct question memory_questions[];
extern const struct question object_questions[];
extern const struct question body_questions[];
extern const struct question shared_questions[];

/* answer() prints the row of the question that is being asked. */
void answer(enum verdict verdict, const char *seen, ...)
	__attribute__((format(printf, 2, 3)));

/* must() ends the process with an answer if a call failed that has to work. */
void must(const char *call, cudaError_t error);
#define MUST(call) must(#call, call)
#define TRY(call)  must_philox(#call, call)
void must_philox(const char *call, int status);

/* --- launch.c ------------------------------------------------------------- */

/* probe_us() reads a clock in microseconds. */
double probe_us(void);

/* A stream that does not block, and zeroed memory of the GPU. */
cudaStream_t probe_stream(void);
void *probe_memory(size_t size);

/* A launch of a kernel with one parameter; `launch` owns what it points to. */
struct probe_launch {
	struct cudaKernelNodeParams params;
	void *arguments[1];
};
void probe_kernel(struct probe_launch *launch, const void *function,
		  unsigned blocks, unsigned threads, void *argument);
cudaError_t probe_run(const struct probe_launch *launch, cudaStream_t stream);

/* probe_beside() calls a function on another thread and waits for it. */
void probe_beside(void (*call)(void *), void *argument);

/* --- support.c ------------------------------------------------------------ */

/* probe_sleep() sleeps for microseconds. */
void probe_sleep(double us);

/* The middle one and the largest of some figures; the first sorts them. */
double probe_median(double *values, size_t count);
double probe_most(const double *values, size_t count);

/* probe_spin_on() keeps a stream busy; with `wide` every multiprocessor. */
void probe_spin_on(cudaStream_t stream, double us, int wide);

/* probe_load() has CUDA load a kernel now, not at its first launch. */
void probe_load(const void *function);

/* probe_node() adds a kernel node. */
cudaGraphNode_t probe_node(cudaGraph_t graph, const cudaGraphNode_t *deps,
			   size_t n, const struct probe_launch *launch);

/* probe_exec() instantiates a graph. */
cudaGraphExec_t probe_exec(cudaGraph_t graph);

/*
 * probe_capture_begin() begins a capture on a new stream. probe_capture_end()
 * ends one, whatever became of it, and returns what did: "whole" or the error
 * of its end. The graph is destroyed.
 */
cudaStream_t probe_capture_begin(unsigned flags, int mode);
const char *probe_capture_end(cudaStream_t stream);

/*
 * probe_retain() has a graph own an object; probe_released() waits up to a
 * second for its release and says whether it came. `release` is zero at first.
 */
struct probe_release {
	atomic_int done;
	int own_thread; /* that which called probe_retain() released it */
	long thread;
	double at; /* us */
};
cudaError_t probe_retain(cudaGraph_t graph, struct probe_release *release);
int probe_released(struct probe_release *release);

#endif
