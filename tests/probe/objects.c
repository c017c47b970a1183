/*
 * tests/probe/objects.c - what graphs own, nodes that are not theirs, and
 * priorities
 */
#include "tests/probe/probe.h"

#include <philox.h>
#include <stdio.h>
#include <string.h>
#include "lib/device/device.h"

/* --- when retained objects are released ----------------------------------- */

enum { BUSY_US = 100000 };

/*
 * The graph and its executable graph are destroyed, perhaps while a launch is
 * in flight, which cannot end before BUSY_US from when the work in front of it
 * was queued.
 */
static void ask_release(int in_flight)
{
	cudaStream_t stream = probe_stream();
	struct probe_release release = {0};
	struct probe_launch launch;
	unsigned long long *count = probe_memory(sizeof(*count));
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	double begun, destroyed, earliest;

	probe_load(probe_spin);
	probe_kernel(&launch, probe_count, 1, 1, &count);
	MUST(cudaGraphCreate(&graph, 0));
	probe_node(graph, NULL, 0, &launch);
	MUST(probe_retain(graph, &release));
	exec = probe_exec(graph);
	earliest = in_flight ? probe_us() + BUSY_US : 0;
	if (in_flight)
		probe_spin_on(stream, BUSY_US, 0);
	MUST(cudaGraphLaunch(exec, stream));
	if (!in_flight)
		MUST(cudaStreamSynchronize(stream));
	begun = probe_us();
	MUST(cudaGraphDestroy(graph));
	MUST(cudaGraphExecDestroy(exec));
	destroyed = probe_us() - begun;
	if (!probe_released(&release))
		answer(DIFFERS, "it was not released within a second");
	answer(release.own_thread || release.at < earliest ? DIFFERS : PASS,
	       "destroying took %.0f us; the object was released after %.0f us "
	       "by %s thread, %s",
	       destroyed, release.at - begun,
	       release.own_thread ? "the destroying" : "another",
	       !in_flight              ? "no launch being in flight"
	       : release.at < earliest ? "BEFORE the launch had ended"
				       : "when the launch had ended");
}

/* --- nodes of another graph ----------------------------------------------- */

struct stored {
	struct philox_device *device;
	struct philox_state *to;
	philox_native_exec exec;
	device_node node;
};

static struct kernel_call store_call(struct store_args *args,
				     struct philox_state *to, uint64_t seed)
{
	*args = (struct store_args){{seed, 0}, to};
	return (struct kernel_call){.kernel = KERNEL_STORE,
				    .args = args,
				    .size = sizeof(*args),
				    .work = 1};
}

/* A graph whose only node stores a state with this seed. */
static struct stored make_stored(struct philox_device *device, uint64_t seed)
{
	struct stored stored = {.device = device};
	struct store_args args;
	struct kernel_call call;
	cudaGraph_t graph;

	stored.to = probe_memory(sizeof(*stored.to));
	call = store_call(&args, stored.to, seed);
	MUST(cudaGraphCreate(&graph, 0));
	TRY(device_graph_add_kernel(device, graph, NULL, 0, &call,
				    &stored.node));
	stored.exec = probe_exec(graph);
	return stored;
}

static uint64_t run_stored(const struct stored *stored)
{
	cudaStream_t stream = probe_stream();
	struct philox_state state;

	MUST(cudaGraphLaunch((cudaGraphExec_t)stored->exec, stream));
	MUST(cudaStreamSynchronize(stream));
	MUST(cudaMemcpy(&state, stored->to, sizeof(state),
			cudaMemcpyDeviceToHost));
	return state.seed;
}

/* A node that was added to the graph after it was instantiated. */
static void ask_later_node(int which)
{
	unsigned long long *count = probe_memory(sizeof(*count));
	struct probe_launch launch;
	cudaGraphNode_t later;
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	cudaError_t error;

	(void)which;
	probe_load(probe_count);
	probe_kernel(&launch, probe_count, 1, 1, &count);
	MUST(cudaGraphCreate(&graph, 0));
	probe_node(graph, NULL, 0, &launch);
	exec = probe_exec(graph);
	later = probe_node(graph, NULL, 0, &launch);
	error = cudaGraphExecKernelNodeSetParams(exec, later, &launch.params);
	answer(error != cudaSuccess ? PASS : DIFFERS, "%s",
	       cudaGetErrorName(error));
}

static void ask_foreign_node(int which)
{
	struct philox_device *device;
	struct stored ours, other;
	struct store_args args;
	struct kernel_call call;
	enum philox_status status;
	cudaError_t left;
	uint64_t stored;

	(void)which;
	TRY(philox_device_open("cuda", &device));
	ours = make_stored(device, 1);
	other = make_stored(device, 2);
	call = store_call(&args, ours.to, 3);
	status = device_exec_set_kernel(device, ours.exec, other.node, &call);
	left = cudaGetLastError();
	stored = run_stored(&ours);
	answer(status != PHILOX_OK && left == cudaSuccess && stored == 1
		       ? PASS
		       : DIFFERS,
	       "%s%s%s; the error that it leaves: %s; a launch then %s",
	       philox_status_name(status), status ? ": " : "",
	       status ? philox_error_message() : "", cudaGetErrorName(left),
	       stored == 1   ? "has its own parameters"
	       : stored == 3 ? "HAS THE FOREIGN ONES"
			     : "has neither's");
}

/* --- priorities of nodes -------------------------------------------------- */

static int priority_of(cudaGraphNode_t node)
{
	cudaLaunchAttributeValue value;

	MUST(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributePriority,
					     &value));
	return value.priority;
}

static void set_priority(cudaGraphNode_t node, int priority)
{
	cudaLaunchAttributeValue value;

	memset(&value, 0, sizeof(value));
	value.priority = priority;
	MUST(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributePriority,
					     &value));
}

/* That of a kernel which a stream of the highest priority captures alone. */
static int captured_priority(const struct probe_launch *launch, int highest)
{
	cudaGraphNode_t node;
	cudaStream_t stream;
	cudaGraph_t graph;
	size_t n = 1;

	MUST(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking,
					  highest));
	MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	MUST(probe_run(launch, stream));
	MUST(cudaStreamEndCapture(stream, &graph));
	MUST(cudaGraphGetNodes(graph, &node, &n));
	return priority_of(node);
}

/* Whether new arguments take a priority away is asked only to know it. */
static void ask_priority(int which)
{
	unsigned long long *count = probe_memory(sizeof(*count));
	struct probe_launch launch;
	int least, highest, captured, added, set;
	cudaGraphNode_t node;
	cudaGraph_t graph;

	(void)which;
	MUST(cudaDeviceGetStreamPriorityRange(&least, &highest));
	probe_load(probe_count);
	probe_kernel(&launch, probe_count, 1, 1, &count);
	captured = captured_priority(&launch, highest);
	MUST(cudaGraphCreate(&graph, 0));
	node = probe_node(graph, NULL, 0, &launch);
	added = priority_of(node);
	set_priority(node, highest);
	set = priority_of(node);
	MUST(cudaGraphKernelNodeSetParams(node, &launch.params));
	answer(captured == highest && added == 0 && set == highest ? PASS
								   : DIFFERS,
	       "of %d to %d a stream of the highest captures %d, a node that is "
	       "added has %d, and %d once it is set, and %d after new arguments",
	       least, highest, captured, added, set, priority_of(node));
}

const struct question object_questions[] = {
	{"user-object-late", "it is released later, by another thread",
	 ask_release, 0},
	{"user-object-kept",
	 "it is released after the launch has ended, by another thread",
	 ask_release, 1},
	{"set-parameters-foreign",
	 "setting a node of another graph is refused, changes nothing and "
	 "leaves no error behind",
	 ask_foreign_node, 0},
	{"set-parameters-foreign-later",
	 "setting a node that was added later is refused", ask_later_node, 0},
	{"node-priority",
	 "captured kernels have the priority of their stream, added ones 0",
	 ask_priority, 0},
	{NULL, NULL, NULL, 0},
};
