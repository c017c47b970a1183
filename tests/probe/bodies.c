/*
 * tests/probe/bodies.c - bodies of conditional nodes (CUDA 12.3)
 *
 * philox does not support random operators there yet. Whether a head in a body
 * could get its message as others do, and whether cells could live as long as
 * the body, decides how it could.
 */
#include "tests/probe/probe.h"

#include "lib/device/cuda/compat.h"

#if CUDART_VERSION < 12030

static void ask_nothing(int which)
{
	(void)which;
	answer(INFO, "not asked: this was built with CUDA before 12.3");
}
#define ask_params  ask_nothing
#define ask_objects ask_nothing

#else

/* A graph of one conditional node, whose body runs at each launch. */
struct conditional {
	cudaGraph_t graph, body;
	cudaGraphNode_t node; /* the only one of the body */
	struct probe_launch launch;
	unsigned long long *count;
};

static void add_conditional(struct conditional *made)
{
	struct cudaGraphNodeParams params = {
		.type = cudaGraphNodeTypeConditional};
	cudaGraphConditionalHandle handle;
	cudaGraphNode_t node;

	MUST(cudaGraphConditionalHandleCreate(&handle, made->graph, 1,
					      cudaGraphCondAssignDefault));
	params.conditional.handle = handle;
	params.conditional.type = cudaGraphCondTypeIf;
	params.conditional.size = 1;
#if CUDART_VERSION >= 13000
	MUST(cudaGraphAddNode(&node, made->graph, NULL, NULL, 0, &params));
#else
	MUST(cudaGraphAddNode(&node, made->graph, NULL, 0, &params));
#endif
	made->body = params.conditional.phGraph_out[0];
}

static void make_conditional(struct conditional *made)
{
	probe_load(probe_count);
	made->count = probe_memory(2 * sizeof(*made->count));
	MUST(cudaGraphCreate(&made->graph, 0));
	add_conditional(made);
	probe_kernel(&made->launch, probe_count, 1, 1, &made->count);
	made->node = probe_node(made->body, NULL, 0, &made->launch);
}

static void launch_once(cudaGraphExec_t exec)
{
	cudaStream_t stream = probe_stream();

	MUST(cudaGraphLaunch(exec, stream));
	MUST(cudaStreamSynchronize(stream));
}

/* The first launch counts in one place, the second, if it can, in another. */
static void ask_params(int which)
{
	struct conditional made;
	unsigned long long seen[2], *second;
	struct probe_launch launch;
	cudaGraphExec_t exec;
	cudaError_t error;

	(void)which;
	make_conditional(&made);
	exec = probe_exec(made.graph);
	launch_once(exec);
	second = made.count + 1;
	probe_kernel(&launch, probe_count, 1, 1, &second);
	error = cudaGraphExecKernelNodeSetParams(exec, made.node,
						 &launch.params);
	cudaGetLastError();
	launch_once(exec);
	MUST(cudaMemcpy(seen, made.count, sizeof(seen),
			cudaMemcpyDeviceToHost));
	answer(INFO, "%s; the next launch %s", cudaGetErrorName(error),
	       seen[0] == 1 && seen[1] == 1   ? "had the new parameters"
	       : seen[0] == 2 && seen[1] == 0 ? "had the old parameters"
					      : "did something else");
}

static void ask_objects(int which)
{
	struct probe_release release = {0};
	struct conditional made;
	cudaGraphExec_t exec;
	cudaError_t error;
	int before, after;

	(void)which;
	make_conditional(&made);
	error = probe_retain(made.body, &release);
	cudaGetLastError();
	if (error != cudaSuccess)
		answer(INFO, "a body cannot own an object: %s",
		       cudaGetErrorName(error));
	exec = probe_exec(made.graph);
	launch_once(exec);
	MUST(cudaGraphDestroy(made.graph));
	before = probe_released(&release);
	MUST(cudaGraphExecDestroy(exec));
	after = probe_released(&release);
	answer(INFO,
	       "a body can own an object; it was released %s, by %s thread",
	       before  ? "with the graph, BEFORE the executable graph"
	       : after ? "after the executable graph"
		       : "not within a second of the executable graph's end",
	       release.own_thread ? "the destroying" : "another");
}

#endif

const struct question body_questions[] = {
	{"set-parameters-on-body", "nobody knows: may a body's node be set?",
	 ask_params, 0},
	{"user-object-on-body",
	 "nobody knows: when does a body release what it owns?", ask_objects,
	 0},
	{NULL, NULL, NULL, 0},
};
