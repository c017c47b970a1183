/*
 * tests/probe/calls.c - which calls a capture of another stream forbids
 *
 * A call that CUDA takes for unsafe (cudaThreadExchangeStreamCaptureMode) is
 * refused while its thread captures in mode global or thread-local, or any
 * thread in mode global, and breaks these captures; no document names all such
 * calls. Each is tried in each situation on things that were made before the
 * capture began, and that have nothing to do with it.
 */
#include "tests/probe/probe.h"

#include <stdio.h>
#include <string.h>
#include "lib/device/cuda/compat.h"

struct things {
	cudaStream_t plain;
	cudaEvent_t event; /* recorded on `plain` */
	cudaGraph_t graph; /* of one node */
	cudaGraphNode_t node;
	cudaGraphExec_t launched, fresh;
	struct probe_launch launch;
	unsigned long long *count;
	void *host;
};

static void make_things(struct things *made)
{
	probe_load(probe_count);
	made->count = probe_memory(sizeof(*made->count));
	made->plain = probe_stream();
	MUST(cudaHostAlloc(&made->host, 64, 0));
	MUST(cudaEventCreateWithFlags(&made->event, cudaEventDisableTiming));
	MUST(cudaEventRecord(made->event, made->plain));
	MUST(cudaGraphCreate(&made->graph, 0));
	probe_kernel(&made->launch, probe_count, 1, 1, &made->count);
	made->node = probe_node(made->graph, NULL, 0, &made->launch);
	made->launched = probe_exec(made->graph);
	made->fresh = probe_exec(made->graph);
	MUST(cudaGraphLaunch(made->launched, made->plain));
	MUST(cudaStreamSynchronize(made->plain));
}

/* --- the calls ------------------------------------------------------------ */

static cudaError_t query_stream(struct things *on)
{
	return cudaStreamQuery(on->plain);
}

static cudaError_t synchronize_stream(struct things *on)
{
	return cudaStreamSynchronize(on->plain);
}

static cudaError_t query_event(struct things *on)
{
	return cudaEventQuery(on->event);
}

static cudaError_t synchronize_event(struct things *on)
{
	return cudaEventSynchronize(on->event);
}

static cudaError_t record_event(struct things *on)
{
	return cudaEventRecord(on->event, on->plain);
}

static cudaError_t wait_event(struct things *on)
{
	return cudaStreamWaitEvent(on->plain, on->event, 0);
}

static cudaError_t make_event(struct things *on)
{
	cudaEvent_t event;
	cudaError_t error =
		cudaEventCreateWithFlags(&event, cudaEventDisableTiming);

	(void)on;
	return error ? error : cudaEventDestroy(event);
}

static cudaError_t make_stream(struct things *on)
{
	cudaStream_t stream;
	cudaError_t error =
		cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);

	(void)on;
	return error ? error : cudaStreamDestroy(stream);
}

static cudaError_t set_memory(struct things *on)
{
	return cudaMemsetAsync(on->count, 0, 8, on->plain);
}

static cudaError_t copy_memory(struct things *on)
{
	return cudaMemcpyAsync(on->host, on->count, 8, cudaMemcpyDeviceToHost,
			       on->plain);
}

static cudaError_t run_kernel(struct things *on)
{
	return probe_run(&on->launch, on->plain);
}

static cudaError_t make_graph(struct things *on)
{
	cudaGraph_t graph;
	cudaGraphNode_t node;
	cudaError_t error = cudaGraphCreate(&graph, 0);

	if (error == cudaSuccess)
		error = cudaGraphAddKernelNode(&node, graph, NULL, 0,
					       &on->launch.params);
	return error ? error : cudaGraphDestroy(graph);
}

static cudaError_t instantiate(struct things *on)
{
	cudaGraphExec_t exec;

	return cudaGraphInstantiate(&exec, on->graph, 0);
}

static cudaError_t set_parameters(struct things *on)
{
	return cudaGraphExecKernelNodeSetParams(on->launched, on->node,
						&on->launch.params);
}

static cudaError_t launch_again(struct things *on)
{
	return cudaGraphLaunch(on->launched, on->plain);
}

static cudaError_t launch_first(struct things *on)
{
	return cudaGraphLaunch(on->fresh, on->plain);
}

static cudaError_t upload(struct things *on)
{
	return cudaGraphUpload(on->fresh, on->plain);
}

static cudaError_t destroy_exec(struct things *on)
{
	return cudaGraphExecDestroy(on->launched);
}

static cudaError_t free_memory(struct things *on)
{
	return cudaFree(on->count);
}

static cudaError_t free_host(struct things *on)
{
	return cudaFreeHost(on->host);
}

static cudaError_t ask_memory(struct things *on)
{
	size_t left, all;

	(void)on;
	return cudaMemGetInfo(&left, &all);
}

enum { SAFE, UNSAFE, UNKNOWN };

static const struct {
	cudaError_t (*call)(struct things *on);
	int assumed;
} calls[] = {
	{query_stream, UNSAFE}, {synchronize_stream, UNSAFE},
	{query_event, UNSAFE},  {synchronize_event, UNSAFE},
	{record_event, SAFE},   {wait_event, SAFE},
	{make_event, SAFE},     {make_stream, SAFE},
	{set_memory, SAFE},     {copy_memory, SAFE},
	{run_kernel, SAFE},     {make_graph, SAFE},
	{instantiate, UNSAFE},  {set_parameters, SAFE},
	{launch_again, SAFE},   {launch_first, SAFE},
	{upload, UNKNOWN},      {destroy_exec, UNSAFE},
	{free_memory, UNSAFE},  {free_host, UNSAFE},
	{ask_memory, UNKNOWN},
};

/* --- the situations ------------------------------------------------------- */

static const struct situation {
	const char *name;
	int mode, other, exchanged, forbids;
} situations[] = {
	{"global", cudaStreamCaptureModeGlobal, 0, 0, 1},
	{"thread-local", cudaStreamCaptureModeThreadLocal, 0, 0, 1},
	{"relaxed", cudaStreamCaptureModeRelaxed, 0, 0, 0},
	{"global, called in relaxed mode", cudaStreamCaptureModeGlobal, 0, 1,
	 0},
	{"another thread's global", cudaStreamCaptureModeGlobal, 1, 0, 1},
	{"another's thread-local", cudaStreamCaptureModeThreadLocal, 1, 0, 0},
};

struct calling {
	struct things *on;
	int which, exchanged;
	cudaError_t error;
};

static void call_it(void *pointer)
{
	enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
	struct calling *calling = pointer;

	MUST(cudaSetDevice(0)); /* a new thread has none */
	if (calling->exchanged)
		MUST(cudaThreadExchangeStreamCaptureMode(&mode));
	calling->error = calls[calling->which].call(calling->on);
	cudaGetLastError();
	if (calling->exchanged)
		MUST(cudaThreadExchangeStreamCaptureMode(&mode));
}

/* Adds what became of the call and of the capture; 1 if that was assumed. */
static int call_during(const struct situation *at, int which, char *text,
		       size_t size)
{
	struct things things;
	struct calling calling = {&things, which, at->exchanged, cudaSuccess};
	int forbidden = at->forbids && calls[which].assumed == UNSAFE;
	size_t length = strlen(text);
	cudaStream_t stream;
	const char *after;
	int whole;

	make_things(&things);
	stream = probe_capture_begin(cudaStreamNonBlocking, at->mode);
	if (at->other)
		probe_beside(call_it, &calling);
	else
		call_it(&calling);
	after = probe_capture_end(stream);
	whole = strcmp(after, "whole") == 0;
	snprintf(text + length, size - length, "%s%s: %s, capture %s",
		 length ? "; " : "", at->name,
		 calling.error ? cudaGetErrorName(calling.error) : "done",
		 whole ? after : "broken");
	return whole == !forbidden &&
	       (calling.error == cudaSuccess) == !forbidden;
}

static void ask_call(int which)
{
	char text[1024] = "";
	int differ = 0;

	for (size_t i = 0; i < sizeof(situations) / sizeof(situations[0]); i++)
		differ +=
			!call_during(&situations[i], which, text, sizeof(text));
	answer(calls[which].assumed == UNKNOWN ? INFO
	       : differ                        ? DIFFERS
					       : PASS,
	       "%s", text);
}

/* --- the end of a capture on another thread ------------------------------- */

static void end_it(void *pointer)
{
	struct calling *calling = pointer;
	cudaGraph_t graph = NULL;

	MUST(cudaSetDevice(0));
	calling->error = cudaStreamEndCapture(calling->on->plain, &graph);
	cudaGetLastError();
}

static void ask_other_end(int mode)
{
	struct things things;
	struct calling calling = {&things, 0, 0, cudaSuccess};
	enum cudaStreamCaptureStatus status;
	const char *end;

	MUST(cudaFree(NULL));
	things.plain = probe_capture_begin(cudaStreamNonBlocking, mode);
	probe_beside(end_it, &calling);
	MUST(cudaStreamIsCapturing(things.plain, &status));
	end = probe_capture_end(things.plain);
	answer(calling.error == cudaErrorStreamCaptureWrongThread &&
			       status == cudaStreamCaptureStatusNone
		       ? PASS
		       : DIFFERS,
	       "%s; the stream is then %s; its own thread's end: %s",
	       cudaGetErrorName(calling.error),
	       status == cudaStreamCaptureStatusNone     ? "not capturing"
	       : status == cudaStreamCaptureStatusActive ? "capturing"
							 : "invalidated",
	       end);
}

#define NEEDS_RELAXED "it is unsafe: it needs relaxed mode"
#define IS_LEGAL      "it is legal, and the capture stays whole"
#define OPEN          "unknown: philox does not call it in captures"
#define OTHER_END     "cudaErrorStreamCaptureWrongThread, and the capture is gone"

const struct question call_questions[] = {
	{"unsafe-calls-of-stream-query", NEEDS_RELAXED, ask_call, 0},
	{"unsafe-calls-of-stream-synchronize", NEEDS_RELAXED, ask_call, 1},
	{"unsafe-calls-of-event-query", NEEDS_RELAXED, ask_call, 2},
	{"unsafe-calls-of-event-synchronize", NEEDS_RELAXED, ask_call, 3},
	{"unsafe-calls-of-event-record", IS_LEGAL, ask_call, 4},
	{"unsafe-calls-of-event-wait", IS_LEGAL, ask_call, 5},
	{"unsafe-calls-of-event-create", IS_LEGAL, ask_call, 6},
	{"unsafe-calls-of-stream-create", IS_LEGAL, ask_call, 7},
	{"unsafe-calls-of-memset", IS_LEGAL, ask_call, 8},
	{"unsafe-calls-of-memcpy", IS_LEGAL, ask_call, 9},
	{"unsafe-calls-of-kernel", IS_LEGAL, ask_call, 10},
	{"unsafe-calls-of-graph-create", IS_LEGAL, ask_call, 11},
	{"unsafe-calls-of-instantiate", NEEDS_RELAXED, ask_call, 12},
	{"unsafe-calls-of-set-parameters", IS_LEGAL, ask_call, 13},
	{"unsafe-calls-of-launch", IS_LEGAL, ask_call, 14},
	{"unsafe-calls-of-launch-first", IS_LEGAL, ask_call, 15},
	{"unsafe-calls-of-upload", OPEN, ask_call, 16},
	{"unsafe-calls-of-exec-destroy", NEEDS_RELAXED, ask_call, 17},
	{"unsafe-calls-of-free", NEEDS_RELAXED, ask_call, 18},
	{"unsafe-calls-of-free-host", NEEDS_RELAXED, ask_call, 19},
	{"unsafe-calls-of-memory-info", OPEN, ask_call, 20},
	{"end-on-another-thread-global", OTHER_END, ask_other_end,
	 cudaStreamCaptureModeGlobal},
	{"end-on-another-thread-local", OTHER_END, ask_other_end,
	 cudaStreamCaptureModeThreadLocal},
	{NULL, NULL, NULL, 0},
};
