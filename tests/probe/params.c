/*
 * tests/probe/params.c - setting parameters and launching
 *
 * Note [If setting parameters waits]
 * ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
 * A replay of philox is one cudaGraphExecKernelNodeSetParams() of the head and
 * one cudaGraphLaunch(). CUDA says that new parameters apply to later launches
 * only, and not whether the call waits for the launches that are in flight. If
 * the rows set-parameters-in-flight-* say that it does, replays no longer queue up, and another
 * way for the states to reach the head must take its place. None of these is
 * built:
 *
 * 1. A ring of messages in mapped host memory. The head's parameters never
 *    change. They name a ring of messages, each with a sequence number and the
 *    states of one launch, and a counter in device memory that says which is
 *    next. A launch writes its message into a free place, the number last, and
 *    launches; the head reads the place that its counter names over PCIe (2,040
 *    states are 32 KiB, about 2 us), and advances the counter. A place is free
 *    again when the head has written its number back to mapped memory. A launch
 *    without philox finds no new number and writes poison, as today. The host
 *    must see that the order of its messages is that of its launches: it holds
 *    the graph's lock over both, as it does now. A launch that CUDA refused
 *    leaves a message, which the host takes back before the next one. When the
 *    ring is full a launch waits, or takes a longer ring.
 *
 * 2. Some executable graphs of one capture in rotation. Only the one that has
 *    ended is set and launched, so that the call has nothing to wait for. This
 *    needs the memory of each (row exec-memory), cannot hold graphs that
 *    allocate, and CUDA no longer orders the launches of one graph after each
 *    other: that becomes an event from each launch to the next. Graphs that the
 *    caller has instantiated would need copies of which he does not know.
 *
 * 3. A head that is updated from the device. cudaGraphKernelNodeSetParam() in a
 *    kernel that runs before the graph changes the head's message without the
 *    host. The node must be made for it (cudaLaunchAttributeDeviceUpdatable-
 *    KernelNode, CUDA 12.4), and then the graph can be instantiated only once
 *    and its head no longer be set by the host. The message goes to that kernel
 *    as its own parameters, by value: a launch on the stream, one more for each
 *    replay.
 *
 * 4. The message as the source of a copy: a memcpy node from pinned memory in
 *    place of the parameters. It has the same question, since its source would
 *    have to change for each launch, or be a ring as in 1.
 *
 * The first would be built: it leaves the graph, its launches and who may own
 * them as they are. It costs the head one read over the bus, and the host a
 * store in place of a call.
 */
#include "tests/probe/probe.h"

#include <stdlib.h>
#include <string.h>

enum {
	ROUNDS = 32,        /* launches that are queued up */
	MOST_ROUNDS = 2048, /* the most that the last question queues */
	BUSY_US = 100000,
	AT_ONCE_US = 5000 /* a call that takes longer waits for something */
};

/* One graph of one node with a message, and its launches. */
struct replay {
	cudaGraphNode_t node;
	cudaGraphExec_t exec;
	cudaStream_t stream;
	struct probe_launch launch;
	struct probe_message_2040 message; /* cut after the last state */
	uint64_t *log;
	double set[MOST_ROUNDS], call[MOST_ROUNDS];
};

static const void *message_kernel(int capacity)
{
	switch (capacity) {
	case 1:
		return probe_message_1;
	case 64:
		return probe_message_64;
	default:
		return probe_message_2040;
	}
}

static struct replay *make_replay(int capacity)
{
	struct replay *replay = calloc(1, sizeof(*replay));
	cudaGraph_t graph;

	if (!replay)
		abort();
	replay->stream = probe_stream();
	replay->log = probe_memory((2 * MOST_ROUNDS + 1) * sizeof(uint64_t));
	replay->message.log = (unsigned long long *)replay->log;
	probe_load(probe_spin);
	probe_kernel(&replay->launch, message_kernel(capacity), 1, 1,
		     &replay->message);
	MUST(cudaGraphCreate(&graph, 0));
	replay->node = probe_node(graph, NULL, 0, &replay->launch);
	replay->exec = probe_exec(graph);
	return replay;
}

/* Launch i: how long each of the two calls took. */
static void set_and_launch(struct replay *replay, int i)
{
	double begun = probe_us(), between;

	replay->message.sequence++;
	MUST(cudaGraphExecKernelNodeSetParams(replay->exec, replay->node,
					      &replay->launch.params));
	between = probe_us();
	MUST(cudaGraphLaunch(replay->exec, replay->stream));
	replay->set[i] = between - begun;
	replay->call[i] = probe_us() - between;
}

/* Did launch i read number i, for all that there were? */
static int each_had_its_own(struct replay *replay)
{
	const uint64_t n = replay->message.sequence;
	static uint64_t log[2 * MOST_ROUNDS + 1];

	MUST(cudaStreamSynchronize(replay->stream));
	MUST(cudaMemcpy(log, replay->log, (n + 1) * sizeof(*log),
			cudaMemcpyDeviceToHost));
	for (uint64_t i = 1; i <= n; i++)
		if (log[i] != i)
			return 0;
	return log[0] == n;
}

/* The medians of launches with nothing in flight. */
static void measure_idle(struct replay *replay, double *set, double *call)
{
	for (int i = 0; i < ROUNDS; i++) {
		set_and_launch(replay, i);
		MUST(cudaStreamSynchronize(replay->stream));
	}
	*set = probe_median(replay->set, ROUNDS);
	*call = probe_median(replay->call, ROUNDS);
}

static void ask_params(int capacity)
{
	struct replay *replay = make_replay(capacity);
	double idle_set, idle_call, set, call, most_set, most_call;
	int in_flight, own;

	measure_idle(replay, &idle_set, &idle_call);
	probe_spin_on(replay->stream, BUSY_US, 0);
	for (int i = 0; i < ROUNDS; i++)
		set_and_launch(replay, i);
	in_flight = cudaStreamQuery(replay->stream) == cudaErrorNotReady;
	most_set = probe_most(replay->set, ROUNDS);
	most_call = probe_most(replay->call, ROUNDS);
	set = probe_median(replay->set, ROUNDS);
	call = probe_median(replay->call, ROUNDS);
	own = each_had_its_own(replay);
	answer(own && in_flight && most_set + most_call < AT_ONCE_US ? PASS
								     : DIFFERS,
	       "idle: set %.2f us, launch %.2f us; %d launches behind %d ms of "
	       "work: set %.2f us (most %.1f), launch %.2f us (most %.1f)%s; %s",
	       idle_set, idle_call, ROUNDS, BUSY_US / 1000, set, most_set, call,
	       most_call,
	       in_flight ? "" : ", and the work was over: a call waited",
	       own ? "each read its own message"
		   : "A LAUNCH READ THE MESSAGE OF ANOTHER");
}

/* How many launches queue up before a call waits? */
static void ask_depth(int capacity)
{
	struct replay *replay = make_replay(capacity);
	double idle_set, idle_call;
	int n = 0, own;

	measure_idle(replay, &idle_set, &idle_call);
	probe_spin_on(replay->stream, 10.0 * BUSY_US, 0);
	do {
		set_and_launch(replay, n++);
	} while (n < MOST_ROUNDS &&
		 replay->set[n - 1] + replay->call[n - 1] < AT_ONCE_US);
	own = each_had_its_own(replay);
	answer(own ? INFO : DIFFERS,
	       "%d launches were queued%s; the last: set %.1f us, launch "
	       "%.1f us; %s",
	       n,
	       n < MOST_ROUNDS ? " before a call waited" : " and none waited",
	       replay->set[n - 1], replay->call[n - 1],
	       own ? "each read its own message"
		   : "A LAUNCH READ THE MESSAGE OF ANOTHER");
}

/*
 * The message of a launch of another stream's: parameters are set while the
 * graph itself is running, not queued.
 */
static void ask_running(int which)
{
	struct probe_spin_args args = {1000ull * BUSY_US, NULL};
	struct probe_launch spin;
	cudaStream_t stream = probe_stream();
	cudaGraphNode_t node;
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	double begun, set, call;
	int running;

	(void)which;
	probe_load(probe_spin);
	probe_kernel(&spin, probe_spin, 1, 1, &args);
	MUST(cudaGraphCreate(&graph, 0));
	node = probe_node(graph, NULL, 0, &spin);
	exec = probe_exec(graph);
	MUST(cudaGraphLaunch(exec, stream));
	probe_sleep(10000);
	args.ns = 1;
	begun = probe_us();
	MUST(cudaGraphExecKernelNodeSetParams(exec, node, &spin.params));
	set = probe_us() - begun;
	MUST(cudaGraphLaunch(exec, stream));
	call = probe_us() - begun - set;
	running = cudaStreamQuery(stream) == cudaErrorNotReady;
	answer(running && set + call < AT_ONCE_US ? PASS : DIFFERS,
	       "set %.2f us, launch %.2f us%s", set, call,
	       running ? "" : ", and the graph was done: a call waited");
}

#define AT_ONCE "both calls return at once, and each launch has its own message"

const struct question params_questions[] = {
	{"set-parameters-in-flight-1", AT_ONCE, ask_params, 1},
	{"set-parameters-in-flight-64", AT_ONCE, ask_params, 64},
	{"set-parameters-in-flight-2040", AT_ONCE, ask_params, 2040},
	{"set-parameters-in-flight-running",
	 "they return at once while the graph runs", ask_running, 0},
	{"set-parameters-in-flight-depth",
	 "nobody knows how many launches queue up", ask_depth, 64},
	{NULL, NULL, NULL, 0},
};
