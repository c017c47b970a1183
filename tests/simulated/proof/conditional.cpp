/*
 * tests/simulated/proof/conditional.cpp - conditional nodes of the simulated
 * GPU
 *
 * That bodies run as they should is in the device contract; here is what CUDA
 * refuses, or may, and what it leaves undefined.
 */
#include "tests/simulated/proof/proof.h"

#if CUDART_VERSION < 13000
void conditions(cudaStream_t *streams)
{
	(void)streams; /* the calls had other forms */
}
#else

/* A graph with one node, and its bodies. */
struct conditional {
	cudaGraph_t graph;
	cudaGraphConditionalHandle condition;
	cudaGraphNode_t node;
	cudaGraph_t bodies[2];
};

static unsigned *runs;
static cudaStream_t *at; /* two streams to capture on */

static void count_run(unsigned *counter)
{
	++*counter;
}
SIMULATED_KERNEL(count_run)

static cudaError_t add_node(struct conditional *to, cudaGraph_t graph,
			    cudaGraphConditionalNodeType kind, unsigned size)
{
	cudaGraphNodeParams params = {};
	cudaError_t error;

	params.type = cudaGraphNodeTypeConditional;
	params.conditional.handle = to->condition;
	params.conditional.type = kind;
	params.conditional.size = size;
	error = cudaGraphAddNode(&to->node, graph, NULL, NULL, 0, &params);
	for (unsigned i = 0; error == cudaSuccess && i < size && i < 2; i++)
		to->bodies[i] = params.conditional.phGraph_out[i];
	return error;
}

static cudaGraph_t empty_graph(void)
{
	cudaGraph_t graph;

	DO(cudaStreamBeginCapture(at[0], cudaStreamCaptureModeGlobal));
	DO(cudaStreamEndCapture(at[0], &graph));
	return graph;
}

static struct conditional make(unsigned value, unsigned flags)
{
	struct conditional made = {};

	made.graph = empty_graph();
	DO(cudaGraphConditionalHandleCreate(&made.condition, made.graph, value,
					    flags));
	DO(add_node(&made, made.graph, cudaGraphCondTypeIf, 1));
	return made;
}

static cudaGraphNode_t fill_body(cudaGraph_t body)
{
	void *parameters[] = {&runs};
	const cudaKernelNodeParams params = {
		(void *)count_run, dim3(1), dim3(1), 0, parameters, NULL};
	cudaGraphNode_t node;

	DO(cudaGraphAddKernelNode(&node, body, NULL, 0, &params));
	return node;
}

/* How often the body ran in so many launches. */
static unsigned runs_in(cudaGraph_t graph, int launches)
{
	cudaGraphExec_t exec;

	*runs = 0;
	DO(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < launches; i++)
		DO(cudaGraphLaunch(exec, at[0]));
	DO(cudaStreamSynchronize(at[0]));
	DO(cudaGraphExecDestroy(exec));
	return *runs;
}

static void values(void)
{
	struct conditional assigned = make(1, cudaGraphCondAssignDefault);
	struct conditional undefined = make(1, 0);
	unsigned some;

	fill_body(assigned.bodies[0]);
	fill_body(undefined.bodies[0]);
	shows("condition-default: assigned at each launch",
	      runs_in(assigned.graph, 9) == 9);
	some = runs_in(undefined.graph, 40);
	shows("condition-undefined: without, it is 0 or not",
	      some && some < 40);
	DO(cudaGraphDestroy(assigned.graph));
	DO(cudaGraphDestroy(undefined.graph));
}

static cudaError_t instantiating(cudaGraph_t graph)
{
	cudaGraphExec_t exec;
	cudaError_t error = cudaGraphInstantiate(&exec, graph, 0);

	if (error == cudaSuccess)
		DO(cudaGraphExecDestroy(exec));
	return error;
}

static void refused_graphs(void)
{
	struct conditional made = make(0, cudaGraphCondAssignDefault), again;
	const cudaError_t refused = cudaErrorInvalidValue;
	cudaGraphConditionalHandle handle;
	cudaUserObject_t user;
	cudaGraphExec_t exec;

	shows("body-empty: not instantiated",
	      instantiating(made.graph) == refused);
	fill_body(made.bodies[0]);
	again = made;
	shows("condition-one-node: not for a second",
	      add_node(&again, made.graph, cudaGraphCondTypeIf, 1) == refused);
	shows("condition-of-body: no value is assigned",
	      cudaGraphConditionalHandleCreate(&handle, made.bodies[0], 1,
					       cudaGraphCondAssignDefault) ==
		      refused);
	shows("body-alone: neither instantiated nor destroyed",
	      instantiating(made.bodies[0]) == refused &&
		      cudaGraphDestroy(made.bodies[0]) == refused);
	DO(cudaUserObjectCreate(
		&user, NULL, [](void *) {}, 1, cudaUserObjectNoDestructorSync));
	shows("user-object-on-body: refused",
	      cudaGraphRetainUserObject(made.bodies[0], user, 1,
					cudaGraphUserObjectMove) == refused);
	DO(cudaUserObjectRelease(user, 1));
	DO(cudaGraphInstantiate(&exec, made.graph, 0));
	shows("conditional-one-exec: no second",
	      instantiating(made.graph) == cudaErrorNotSupported);
	DO(cudaGraphExecDestroy(exec));
	DO(cudaGraphConditionalHandleCreate(&handle, made.graph, 0, 0));
	shows("condition-unused: not instantiated",
	      instantiating(made.graph) == refused);
	DO(cudaGraphDestroy(made.graph));
}

static void refused_parameters(void)
{
	struct conditional made = make(0, cudaGraphCondAssignDefault);
	cudaGraphNode_t node = fill_body(made.bodies[0]);
	void *parameters[] = {&runs};
	const cudaKernelNodeParams params = {
		(void *)count_run, dim3(1), dim3(1), 0, parameters, NULL};
	cudaGraphExec_t exec;

	DO(cudaGraphInstantiate(&exec, made.graph, 0));
	shows("set-parameters-on-body: refused",
	      cudaGraphExecKernelNodeSetParams(exec, node, &params) ==
		      cudaErrorInvalidValue);
	DO(cudaGraphExecDestroy(exec));
	DO(cudaGraphDestroy(made.graph));
}

/* A body into which a copy of this memory was captured, and its graph. */
static cudaError_t copying(unsigned *from)
{
	struct conditional made = make(0, cudaGraphCondAssignDefault);
	cudaGraph_t ended;
	cudaError_t error;

	DO(cudaStreamBeginCaptureToGraph(at[0], made.bodies[0], NULL, NULL, 0,
					 cudaStreamCaptureModeGlobal));
	DO(cudaMemcpyAsync(runs, from, sizeof(*runs), cudaMemcpyDefault,
			   at[0]));
	DO(cudaStreamEndCapture(at[0], &ended));
	error = instantiating(made.graph);
	DO(cudaGraphDestroy(made.graph));
	return ended == made.bodies[0] ? error : cudaErrorUnknown;
}

static void captures(void)
{
	struct conditional made = make(0, cudaGraphCondAssignDefault);
	unsigned plain = 0, *mapped;
	cudaStreamCaptureStatus status;
	const cudaGraphEdgeData *edges;
	const cudaGraphNode_t *nodes;
	unsigned long long id;
	cudaGraph_t graph;
	size_t count;

	DO(cudaHostAlloc((void **)&mapped, sizeof(*mapped),
			 cudaHostAllocMapped));
	shows("body-copies: of memory that is mapped, not of other memory",
	      copying(mapped) == cudaSuccess &&
		      copying(&plain) == cudaErrorInvalidValue);
	DO(cudaFreeHost(mapped));
	DO(cudaStreamBeginCaptureToGraph(at[0], made.bodies[0], NULL, NULL, 0,
					 cudaStreamCaptureModeGlobal));
	shows("body-capture-open: not instantiated",
	      instantiating(made.graph) != cudaSuccess);
	cudaStreamSynchronize(at[0]);
	cudaStreamEndCapture(at[0], &graph);
	shows("body-capture-broken: the body is of no use",
	      instantiating(made.graph) != cudaSuccess);
	DO(cudaGraphDestroy(made.graph));
	DO(cudaStreamBeginCapture(at[0], cudaStreamCaptureModeGlobal));
	DO(cudaStreamGetCaptureInfo(at[0], &status, &id, &graph, &nodes, &edges,
				    &count));
	DO(cudaGraphConditionalHandleCreate(&made.condition, graph, 0, 0));
	DO(add_node(&made, graph, cudaGraphCondTypeIf, 1));
	DO(cudaStreamBeginCaptureToGraph(at[1], made.bodies[0], NULL, NULL, 0,
					 cudaStreamCaptureModeGlobal));
	cudaStreamSynchronize(at[0]);
	DO(cudaStreamIsCapturing(at[1], &status));
	shows("body-capture-broken: that of the graph breaks that of a body",
	      status == cudaStreamCaptureStatusInvalidated);
	cudaStreamEndCapture(at[1], &graph);
	cudaStreamEndCapture(at[0], &graph);
}

static cudaError_t kind_with(const char *driver,
			     cudaGraphConditionalNodeType kind, unsigned size)
{
	struct conditional made = {};
	cudaError_t error;

	made.graph = empty_graph();
	DO(cudaGraphConditionalHandleCreate(&made.condition, made.graph, 0, 0));
	setenv("SIMULATED_DRIVER", driver, 1);
	error = add_node(&made, made.graph, kind, size);
	unsetenv("SIMULATED_DRIVER");
	DO(cudaGraphDestroy(made.graph));
	return error;
}

static void versions(void)
{
	const cudaError_t refused = cudaErrorInvalidValue;

	shows("conditional-versions",
	      kind_with("12030", cudaGraphCondTypeIf, 1) == cudaSuccess &&
		      kind_with("12030", cudaGraphCondTypeWhile, 1) ==
			      refused &&
		      kind_with("12040", cudaGraphCondTypeWhile, 1) ==
			      cudaSuccess &&
		      kind_with("12040", cudaGraphCondTypeIf, 2) == refused &&
		      kind_with("12040", cudaGraphCondTypeSwitch, 1) ==
			      refused &&
		      kind_with("12080", cudaGraphCondTypeIf, 2) ==
			      cudaSuccess &&
		      kind_with("12080", cudaGraphCondTypeSwitch, 9) ==
			      cudaSuccess &&
		      kind_with("12080", cudaGraphCondTypeWhile, 2) == refused);
}

void conditions(cudaStream_t *streams)
{
	cudaFuncAttributes attributes;

	DO(cudaMalloc((void **)&runs, sizeof(*runs)));
	DO(cudaFuncGetAttributes(&attributes, (const void *)count_run));
	at = streams;
	values();
	refused_graphs();
	refused_parameters();
	captures();
	versions();
	DO(cudaFree(runs));
	cudaGetLastError();
}

#endif
