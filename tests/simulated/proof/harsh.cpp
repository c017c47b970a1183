/*
 * tests/simulated/proof/harsh.cpp - the simulated GPU is as harsh as it says
 *
 * What a row of assumptions.txt says the simulation does is seen to happen, by
 * a program that knows CUDA's runtime only. It prints a line for each row and a
 * digest of the orders in which kernels ran: the same for the same seed.
 */
#include <pthread.h>
#include <time.h>
#include "tests/simulated/proof/proof.h"

enum { THREADS = 64, TRACE = 4096, RELEASES = 40 };
enum { NEVER = 2, ALWAYS = 3 }; /* seeds of chance_pace() */

static int failures;

void shows(const char *row, int seen)
{
	printf("%-7s %s\n", seen ? "ok" : "FAILED", row);
	failures += !seen;
}

/*
 * What is queued stays queued for a while, but for seeds whose GPU is always
 * faster than the host: see chance.h.
 */
static int seed_has(int pace)
{
	const char *seed = getenv("SIMULATED_SEED");

	return seed && atoi(seed) % 8 == pace;
}

static void shows_late(const char *row, int seen)
{
	if (seed_has(ALWAYS))
		printf("skipped %s: not with this seed\n", row);
	else
		shows(row, seen);
}

/* --- kernels -------------------------------------------------------------- */

struct trace {
	unsigned count;
	unsigned char who[TRACE];
};

/* Each thread notes that it runs, twice. */
static __global__ void note(struct trace *trace, unsigned who)
{
	for (int i = 0; i < 2; i++)
		trace->who[atomicAdd(&trace->count, 1u)] = (unsigned char)who;
}
SIMULATED_KERNEL(note)

/* Not atomic: a GPU loses some. */
static __global__ void count_up(volatile unsigned *count)
{
	*count = *count + 1;
}
SIMULATED_KERNEL(count_up)

static __global__ void raise_flag(volatile unsigned *flag)
{
	*flag = 1;
}
SIMULATED_KERNEL(raise_flag)

static __global__ void never_used_before(unsigned *)
{
}
SIMULATED_KERNEL(never_used_before)

static __global__ void never_used_either(unsigned *)
{
}
SIMULATED_KERNEL(never_used_either)

struct large {
	unsigned char bytes[5000];
};

static __global__ void takes_much(struct large)
{
}
SIMULATED_KERNEL(takes_much)

template <typename... A>
static cudaError_t launch(const void *kernel, unsigned blocks, unsigned threads,
			  cudaStream_t stream, A... values)
{
	void *parameters[] = {&values...};

	return cudaLaunchKernel(kernel, dim3(blocks), dim3(threads), parameters,
				0, stream);
}

/* --- what runs at once ---------------------------------------------------- */

static struct trace *trace;
static cudaStream_t streams[2];
static unsigned long long digest = 14695981039346656037u;

/* How often one kernel was followed by another; they are begun anew. */
static int switches_seen(void)
{
	int switches = 0;

	DO(cudaDeviceSynchronize());
	for (unsigned i = 0; i < trace->count; i++) {
		switches += i && trace->who[i] != trace->who[i - 1];
		digest = (digest ^ trace->who[i]) * 1099511628211u;
	}
	trace->count = 0;
	return switches;
}

static void note_on(cudaStream_t stream, unsigned who)
{
	DO(launch((const void *)note, 2, THREADS, stream, trace, who));
}

/* 1 if in some of the attempts kernels ran at once. */
static int at_once(void (*attempt)(void))
{
	int seen = 0;

	for (int i = 0; i < 30; i++) {
		attempt();
		seen |= switches_seen() > 3;
	}
	return seen;
}

static void two_streams(void)
{
	note_on(streams[0], 1);
	note_on(streams[1], 2);
}

static cudaGraphExec_t instantiate(cudaGraph_t graph)
{
	cudaGraphExec_t exec;

	DO(cudaGraphInstantiate(&exec, graph, 0));
	DO(cudaGraphDestroy(graph));
	return exec;
}

static cudaGraphExec_t forked;

static void capture_fork(void)
{
	cudaEvent_t fork, join;
	cudaGraph_t graph;

	DO(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
	DO(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
	DO(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
	DO(cudaEventRecord(fork, streams[0]));
	DO(cudaStreamWaitEvent(streams[1], fork, 0));
	two_streams();
	DO(cudaEventRecord(join, streams[1]));
	DO(cudaStreamWaitEvent(streams[0], join, 0));
	DO(cudaStreamEndCapture(streams[0], &graph));
	forked = instantiate(graph);
	DO(cudaEventDestroy(fork));
	DO(cudaEventDestroy(join));
}

static void two_branches(void)
{
	DO(cudaGraphLaunch(forked, streams[0]));
}

static cudaGraphExec_t lines[2];

static void capture_lines(void)
{
	for (unsigned i = 0; i < 2; i++) {
		cudaGraph_t graph;

		DO(cudaStreamBeginCapture(streams[i],
					  cudaStreamCaptureModeGlobal));
		note_on(streams[i], 3 + i);
		DO(cudaStreamEndCapture(streams[i], &graph));
		lines[i] = instantiate(graph);
	}
}

static void two_graphs(void)
{
	for (unsigned i = 0; i < 2; i++)
		DO(cudaGraphLaunch(lines[i], streams[i]));
}

/* Of one graph, launches wait for each other. */
static void one_graph_twice(void)
{
	for (unsigned i = 0; i < 2; i++)
		DO(cudaGraphLaunch(lines[0], streams[i]));
	note_on(streams[1], 5);
}

static int updates_are_lost(void)
{
	unsigned *count, lost = 0;

	DO(cudaMalloc((void **)&count, sizeof(*count)));
	for (int i = 0; i < 30; i++) {
		*count = 0;
		DO(launch((const void *)count_up, 4, THREADS, streams[0],
			  count));
		DO(cudaStreamSynchronize(streams[0]));
		lost += 4 * THREADS - *count;
	}
	DO(cudaFree(count));
	return lost > 0;
}

static void runs_at_once(void)
{
	capture_fork();
	capture_lines();
	shows_late("interleaving: two streams", at_once(two_streams));
	shows("interleaving: branches of a graph", at_once(two_branches));
	shows_late("interleaving: two graphs", at_once(two_graphs));
	for (int i = 0; i < 30; i++) {
		one_graph_twice();
		switches_seen();
	}
#ifdef SIMULATED_SANITIZED
	(void)updates_are_lost;
	puts("skipped switch-at-access: not in builds with sanitizers");
#else
	shows("switch-at-access", updates_are_lost());
#endif
	printf("digest %016llx\n", digest);
}

/* --- late, and early ------------------------------------------------------ */

static int released;
static pthread_t releaser;

SIMULATED_ATOMIC static void not_released(void)
{
	__atomic_store_n(&released, 0, __ATOMIC_SEQ_CST);
}

SIMULATED_ATOMIC static int is_released(void)
{
	return __atomic_load_n(&released, __ATOMIC_SEQ_CST);
}

SIMULATED_ATOMIC static void released_now(void *unused)
{
	(void)unused;
	releaser = pthread_self();
	__atomic_store_n(&released, 1, __ATOMIC_SEQ_CST);
}

static void moment(void)
{
	const struct timespec time = {0, 1000000};

	nanosleep(&time, NULL);
}

static void user_objects(void)
{
	cudaUserObject_t user;
	cudaGraph_t graph;
	int early = 0;

	for (int i = 0; i < RELEASES; i++) {
		not_released();
		DO(cudaStreamBeginCapture(streams[0],
					  cudaStreamCaptureModeGlobal));
		DO(cudaStreamEndCapture(streams[0], &graph));
		DO(cudaUserObjectCreate(&user, &released, released_now, 1,
					cudaUserObjectNoDestructorSync));
		DO(cudaGraphRetainUserObject(graph, user, 1,
					     cudaGraphUserObjectMove));
		DO(cudaGraphDestroy(graph));
		early += is_released();
		for (int k = 0; k < 2000 && !is_released(); k++)
			moment();
	}
	shows("user-object-late: on another thread",
	      is_released() && !pthread_equal(releaser, pthread_self()));
	shows("user-object-late: after the call that destroys",
	      early < RELEASES / 2);
	shows("user-object-late: at times within it", early > 0);
}

static void streams_end(void)
{
	volatile unsigned *flag;
	unsigned late = 0;
	cudaStream_t stream;

	DO(cudaMalloc((void **)&flag, sizeof(*flag)));
	for (int i = 0; i < 30; i++) {
		*flag = 0;
		DO(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
		DO(launch((const void *)raise_flag, 1, 1, stream, flag));
		DO(cudaStreamDestroy(stream));
		late += !*flag;
		DO(cudaDeviceSynchronize());
		if (!*flag)
			shows("stream-destroy: its work runs all the same", 0);
	}
	shows_late("stream-destroy: its work is still to run", late > 0);
	*flag = 0;
	DO(launch((const void *)raise_flag, 1, 1, streams[0], flag));
	for (int i = 0; i < 10000 && !*flag; i++)
		moment();
	shows("gpu-stall: work runs without another call", *flag == 1);
	DO(cudaFree((void *)flag));
}

/* --- a stall between any two calls ---------------------------------------- */

static cudaEvent_t event;

/* Calls that put no work on a stream, and wait for none. */
static const struct {
	const char *name;
	void (*call)(void);
} calls[] = {
	{"cudaGetDeviceCount",
	 [] {
		 int n;
		 cudaGetDeviceCount(&n);
	 }},
	{"cudaGetDevice",
	 [] {
		 int n;
		 cudaGetDevice(&n);
	 }},
	{"cudaSetDevice", [] { cudaSetDevice(0); }},
	{"cudaDriverGetVersion",
	 [] {
		 int n;
		 cudaDriverGetVersion(&n);
	 }},
	{"cudaRuntimeGetVersion",
	 [] {
		 int n;
		 cudaRuntimeGetVersion(&n);
	 }},
	{"cudaGetLastError", [] { cudaGetLastError(); }},
	{"cudaStreamQuery", [] { cudaStreamQuery(streams[1]); }},
	{"cudaEventQuery", [] { cudaEventQuery(event); }},
	{"cudaFuncGetAttributes",
	 [] {
		 struct cudaFuncAttributes attributes;
		 cudaFuncGetAttributes(&attributes, (const void *)raise_flag);
	 }},
	{"cudaStreamIsCapturing",
	 [] {
		 cudaStreamCaptureStatus status;
		 cudaStreamIsCapturing(streams[1], &status);
	 }},
	{"cudaThreadExchangeStreamCaptureMode",
	 [] {
		 cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
		 cudaThreadExchangeStreamCaptureMode(&mode);
	 }},
	{"cudaHostGetDevicePointer",
	 [] {
		 void *same;
		 cudaHostGetDevicePointer(&same, &event, 0);
	 }},
	{"cudaUserObjectCreate",
	 [] {
		 cudaUserObject_t user;
		 cudaUserObjectCreate(&user, &released, released_now, 1,
				      cudaUserObjectNoDestructorSync);
		 cudaUserObjectRelease(user, 1);
	 }},
};

/*
 * 1 if work ran in such a call, though not always. That is far less than the
 * time after which it runs without one.
 */
static int runs_in(void (*call)(void), volatile unsigned *flag)
{
	int ran = 0, late = 0;

	for (int i = 0; i < 200; i++) {
		*flag = 0;
		DO(launch((const void *)raise_flag, 1, 1, streams[0], flag));
		late += !*flag;
		call();
		ran += late && *flag;
		DO(cudaStreamSynchronize(streams[0]));
	}
	return ran > 0 && late > 0;
}

static void stalls(void)
{
	volatile unsigned *flag;
	int all = 1;

	if (seed_has(NEVER) || seed_has(ALWAYS)) {
		puts("skipped gpu-stall: work runs in any call: not with this "
		     "seed");
		return;
	}
	DO(cudaMalloc((void **)&flag, sizeof(*flag)));
	DO(cudaEventCreate(&event));
	for (const auto &one : calls)
		if (!runs_in(one.call, flag)) {
			printf("not in %s\n", one.name);
			all = 0;
		}
	shows("gpu-stall: work runs in any call, or does not", all);
	DO(cudaEventDestroy(event));
	DO(cudaFree((void *)flag));
}

/* --- unsafe calls --------------------------------------------------------- */

struct unsafe {
	cudaEvent_t event;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
};

static cudaError_t call_unsafe(int which, struct unsafe *on)
{
	cudaGraphExec_t exec;

	switch (which) {
	case 0:
		return cudaStreamSynchronize(streams[1]);
	case 1:
		return cudaStreamQuery(streams[1]);
	case 2:
		return cudaEventSynchronize(on->event);
	case 3:
		return cudaEventQuery(on->event);
	case 4:
		return cudaGraphInstantiate(&exec, on->graph, 0);
	default:
		return cudaGraphExecDestroy(on->exec);
	}
}

/* The error of a call during a capture of another stream; the capture's own. */
static cudaError_t call_in(int which, cudaStreamCaptureMode thread,
			   struct unsafe *on, cudaError_t *own)
{
	cudaStreamCaptureMode mode = thread;
	cudaError_t error;
	cudaGraph_t graph;

	DO(cudaStreamBeginCapture(streams[0],
				  cudaStreamCaptureModeThreadLocal));
	DO(cudaThreadExchangeStreamCaptureMode(&mode));
	error = call_unsafe(which, on);
	DO(cudaThreadExchangeStreamCaptureMode(&mode));
	*own = cudaStreamEndCapture(streams[0], &graph);
	if (*own == cudaSuccess)
		DO(cudaGraphDestroy(graph));
	cudaGetLastError();
	return error;
}

static void unsafe_calls(void)
{
	int refused = 0, allowed = 0;
	cudaError_t own, error;
	struct unsafe on;

	DO(cudaStreamSynchronize(streams[1]));
	DO(cudaEventCreateWithFlags(&on.event, cudaEventDisableTiming));
	DO(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
	DO(cudaStreamEndCapture(streams[0], &on.graph));
	DO(cudaGraphInstantiate(&on.exec, on.graph, 0));
	for (int which = 0; which < 6; which++) {
		error = call_in(which, cudaStreamCaptureModeGlobal, &on, &own);
		refused += error == cudaErrorStreamCaptureUnsupported &&
			   own == cudaErrorStreamCaptureInvalidated;
		error = call_in(which, cudaStreamCaptureModeRelaxed, &on, &own);
		allowed += error == cudaSuccess && own == cudaSuccess;
	}
	shows("unsafe-calls: each is refused, and breaks the capture",
	      refused == 6);
	shows("unsafe-calls: none is in relaxed mode", allowed == 6);
	DO(cudaGraphDestroy(on.graph));
	DO(cudaEventDestroy(on.event));
}

static void *end_here(void *)
{
	cudaGraph_t graph;
	cudaError_t error = cudaStreamEndCapture(streams[0], &graph);

	return (void *)(uintptr_t)error;
}

static void end_on_another_thread(void)
{
	cudaStreamCaptureStatus status;
	pthread_t thread;
	void *error;

	DO(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
	pthread_create(&thread, NULL, end_here, NULL);
	pthread_join(thread, &error);
	DO(cudaStreamIsCapturing(streams[0], &status));
	shows("end-on-another-thread",
	      (uintptr_t)error == cudaErrorStreamCaptureWrongThread &&
		      status == cudaStreamCaptureStatusNone);
}

/* --- first use ------------------------------------------------------------ */

static void *first_use(void *kernel)
{
	unsigned *nothing = NULL;
	cudaStream_t stream;
	cudaError_t error;

	DO(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	error = launch(kernel, 1, 1, stream, nothing);
	DO(cudaStreamDestroy(stream));
	return (void *)(uintptr_t)error;
}

/* The error of another thread's use of a kernel in a capture; its own error. */
static cudaError_t use_in(enum cudaStreamCaptureMode mode, const void *kernel,
			  cudaError_t *own)
{
	cudaGraph_t graph;
	pthread_t thread;
	void *error;

	DO(cudaStreamBeginCapture(streams[0], mode));
	pthread_create(&thread, NULL, first_use, (void *)kernel);
	pthread_join(thread, &error);
	*own = cudaStreamEndCapture(streams[0], &graph);
	if (*own == cudaSuccess)
		DO(cudaGraphDestroy(graph));
	return (cudaError_t)(uintptr_t)error;
}

static void loading(void)
{
	const void *unused = (const void *)never_used_before;
	const void *loaded = (const void *)never_used_either;
	struct cudaFuncAttributes attributes;
	cudaError_t own, error;

	error = use_in(cudaStreamCaptureModeGlobal, unused, &own);
	shows("lazy-loading: refused during another thread's capture",
	      error == cudaErrorStreamCaptureUnsupported &&
		      own == cudaErrorStreamCaptureInvalidated);
	error = use_in(cudaStreamCaptureModeThreadLocal, unused, &own);
	shows("lazy-loading: not during one that is local to its thread",
	      error == cudaSuccess && own == cudaSuccess);
	DO(cudaFuncGetAttributes(&attributes, loaded));
	error = use_in(cudaStreamCaptureModeGlobal, loaded, &own);
	shows("lazy-loading: not once it is loaded",
	      error == cudaSuccess && own == cudaSuccess);
	cudaGetLastError();
}

/* --- limits --------------------------------------------------------------- */

static cudaError_t launch_of(dim3 blocks, dim3 threads)
{
	unsigned *nothing = NULL;
	void *parameters[] = {&nothing};

	return cudaLaunchKernel((const void *)never_used_either, blocks,
				threads, parameters, 0, streams[0]);
}

static void limits(void)
{
	const cudaError_t refused = cudaErrorInvalidConfiguration;
	struct large large = {{0}};

	shows("launch-limits",
	      launch_of(dim3(1), dim3(1024)) == cudaSuccess &&
		      launch_of(dim3(1), dim3(1025)) == refused &&
		      launch_of(dim3(0), dim3(1)) == refused &&
		      launch_of(dim3(1), dim3(0)) == refused &&
		      launch_of(dim3(0x80000000u), dim3(1)) == refused &&
		      launch_of(dim3(1, 65536), dim3(1)) == refused &&
		      launch_of(dim3(1), dim3(1, 1, 65)) == refused);
	shows("parameter-bytes: this driver takes 5000",
	      launch((const void *)takes_much, 1, 1, streams[0], large) ==
		      cudaSuccess);
	setenv("SIMULATED_DRIVER", "12000", 1);
	shows("parameter-bytes: that of CUDA 12.0 does not",
	      launch((const void *)takes_much, 1, 1, streams[0], large) ==
		      cudaErrorInvalidKernelImage);
	unsetenv("SIMULATED_DRIVER");
	static_assert(simulated_parameters<char, double, char>::size() == 17 &&
			      simulated_parameters<char, char, int>::size() ==
				      8,
		      "parameters are laid out as CUDA does it");
	DO(cudaDeviceSynchronize());
	cudaGetLastError();
}

/* --- streams without a handle --------------------------------------------- */

static void *its_stream(void *unused)
{
	cudaStreamCaptureStatus status = cudaStreamCaptureStatusInvalidated;

	(void)unused;
	DO(cudaStreamIsCapturing(cudaStreamPerThread, &status));
	return (void *)(uintptr_t)status;
}

static void handles(void)
{
	cudaStreamCaptureStatus own;
	cudaGraph_t graph;
	pthread_t thread;
	void *others;

	DO(cudaStreamBeginCapture(cudaStreamPerThread,
				  cudaStreamCaptureModeThreadLocal));
	DO(cudaStreamIsCapturing(cudaStreamPerThread, &own));
	pthread_create(&thread, NULL, its_stream, NULL);
	pthread_join(thread, &others);
	DO(cudaStreamEndCapture(cudaStreamPerThread, &graph));
	DO(cudaGraphDestroy(graph));
	shows("per-thread-stream: one for each thread, which may capture",
	      own == cudaStreamCaptureStatusActive &&
		      (uintptr_t)others == cudaStreamCaptureStatusNone);
	shows("per-thread-stream: the legacy stream may not",
	      cudaStreamBeginCapture(cudaStreamLegacy,
				     cudaStreamCaptureModeThreadLocal) ==
		      cudaErrorStreamCaptureUnsupported);
	cudaGetLastError();
}

int main()
{
	DO(cudaMalloc((void **)&trace, sizeof(*trace)));
	trace->count = 0;
	for (int i = 0; i < 2; i++)
		DO(cudaStreamCreateWithFlags(&streams[i],
					     cudaStreamNonBlocking));
	/* loads the kernel, before any capture */
	note_on(streams[0], 0);
	switches_seen();
	runs_at_once();
	user_objects();
	streams_end();
	stalls();
	unsafe_calls();
	end_on_another_thread();
	loading();
	limits();
	handles();
	conditions(streams);
	return failures != 0;
}
