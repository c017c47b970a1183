/*
 * tests/probe/bodies.c - bodies of conditional nodes (CUDA 12.3)
 *
 * Whether a head in a body could get its message as others do, and whether cells
 * could live as long as the body, decides how random operators could be there.
 * Of conditions, and of bodies that are empty or broken, philox takes the worse:
 * host devices and the simulated GPU refuse them.
 */
#include "tests/probe/probe.h"

#include <stdio.h>
#include <string.h>
#include "lib/device/contract.h"
#include "lib/device/cuda/compat.h"
#include "lib/device/cuda/cuda.h"
#include "lib/kernels/cuda/cuda.h"

#if CUDART_VERSION < 12030

static void ask_nothing(int which)
{
	(void)which;
	answer(INFO, "not asked: this was built with CUDA before 12.3");
}
#define ask_params      ask_nothing
#define ask_objects     ask_nothing
#define ask_versions    ask_nothing
#define ask_empty       ask_nothing
#define ask_second_node ask_nothing
#define ask_unused      ask_nothing
#define ask_default     ask_nothing
#define ask_alone       ask_nothing
#define ask_second_exec ask_nothing
#define ask_broken      ask_nothing
#define ask_ends        ask_nothing

#else

/* A graph of one conditional node, whose body runs at each launch. */
struct one_node {
	cudaGraph_t graph, body;
	cudaGraphConditionalHandle handle;
	cudaGraphNode_t node; /* the only one of the body */
	struct probe_launch launch;
	unsigned long long *count;
};

static cudaError_t add_node(cudaGraph_t graph,
			    cudaGraphConditionalHandle handle, int kind,
			    cudaGraphNode_t *node, cudaGraph_t *body)
{
	return compat_add_conditional(node, graph, NULL, 0, handle, kind, 1,
				      body);
}

static void add_conditional(struct one_node *made)
{
	cudaGraphNode_t node;

	MUST(compat_condition_create(&made->handle, made->graph, 1, 1));
	MUST(add_node(made->graph, made->handle, cudaGraphCondTypeIf, &node,
		      &made->body));
}

static void make_conditional(struct one_node *made)
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
	struct one_node made;
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
	struct one_node made;
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

/* --- which nodes there are ------------------------------------------------ */

static cudaError_t try_node(int kind, unsigned count)
{
	cudaGraphConditionalHandle handle;
	cudaGraph_t graph, bodies[3];
	cudaGraphNode_t node;
	cudaError_t error;

	MUST(cudaGraphCreate(&graph, 0));
	MUST(compat_condition_create(&handle, graph, 0, 0));
	error = compat_add_conditional(&node, graph, NULL, 0, handle, kind,
				       count, bodies);
	cudaGetLastError();
	return error;
}

static void ask_versions(int which)
{
	static const struct {
		int kind;
		unsigned bodies;
		int since;
		const char *name;
	} rows[] = {{CONDITIONAL_IF, 1, 12030, "IF"},
		    {CONDITIONAL_WHILE, 1, 12040, "WHILE"},
		    {CONDITIONAL_IF, 2, 12080, "IF with two bodies"},
		    {CONDITIONAL_SWITCH, 3, 12080, "SWITCH"}};
	int driver, version;

	(void)which;
	MUST(cudaDriverGetVersion(&driver));
	version = driver < CUDART_VERSION ? driver : CUDART_VERSION;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cudaError_t error = try_node(rows[i].kind, rows[i].bodies);

		if ((error == cudaSuccess) == (version >= rows[i].since))
			continue;
		answer(DIFFERS, "%s with CUDA %d.%d: %s", rows[i].name,
		       version / 1000, version % 1000 / 10,
		       cudaGetErrorName(error));
		return;
	}
	answer(PASS, "so it is with CUDA %d.%d", version / 1000,
	       version % 1000 / 10);
}

/* --- what host devices refuse --------------------------------------------- */

/* The outcome of an instantiation, with one launch if there is one. */
static const char *outcome(cudaGraph_t graph)
{
	cudaGraphExec_t exec;
	cudaError_t error = cudaGraphInstantiate(&exec, graph, 0);

	cudaGetLastError();
	if (error != cudaSuccess)
		return cudaGetErrorName(error);
	launch_once(exec);
	return "instantiated and launched";
}

static void ask_empty(int which)
{
	struct one_node made;

	(void)which;
	MUST(cudaGraphCreate(&made.graph, 0));
	add_conditional(&made);
	answer(INFO, "%s", outcome(made.graph));
}

static void ask_second_node(int which)
{
	struct one_node made;
	cudaGraphNode_t node;
	cudaGraph_t body = NULL;
	cudaError_t error;

	(void)which;
	make_conditional(&made);
	error = add_node(made.graph, made.handle, cudaGraphCondTypeIf, &node,
			 &body);
	cudaGetLastError();
	if (error == cudaSuccess)
		probe_node(body, NULL, 0, &made.launch);
	answer(INFO, "a second node: %s; the graph: %s",
	       cudaGetErrorName(error), outcome(made.graph));
}

static void ask_unused(int which)
{
	cudaGraphConditionalHandle unused;
	struct one_node made;

	(void)which;
	make_conditional(&made);
	MUST(compat_condition_create(&unused, made.graph, 0, 0));
	answer(INFO, "%s", outcome(made.graph));
}

/* A kernel of philox sets a condition from a word. */
static cudaGraphNode_t set_condition(cudaGraph_t graph, cudaGraphNode_t after,
				     cudaGraphConditionalHandle handle,
				     const uint32_t *word)
{
	struct condition_args args = {.condition = handle, .word = word};
	struct probe_launch launch;
	const struct kernel_cuda *kernel = kernels_cuda.items;

	while (kernel->kernel != KERNEL_CONDITION)
		kernel++;
	probe_load(kernel->function);
	probe_kernel(&launch, kernel->function, 1, 1, &args);
	return probe_node(graph, &after, 1, &launch);
}

/*
 * The body of a WHILE node runs twice: {1, 0} moves down in it. Within, an IF
 * node has a condition of the body, 1 by default, which its own body sets to 0.
 */
static void ask_default(int which)
{
	cudaGraphConditionalHandle outer, inner;
	static const uint32_t words[2] = {1, 0};
	unsigned long long seen, *count = probe_memory(sizeof(*count));
	uint32_t *word = probe_memory(sizeof(words));
	cudaGraph_t graph, body = NULL, within = NULL;
	struct probe_launch launch;
	cudaGraphNode_t node;
	cudaError_t error;

	(void)which;
	MUST(cudaMemcpy(word, words, sizeof(words), cudaMemcpyHostToDevice));
	probe_load(probe_count);
	probe_kernel(&launch, probe_count, 1, 1, &count);
	MUST(cudaGraphCreate(&graph, 0));
	MUST(compat_condition_create(&outer, graph, 1, 1));
	MUST(add_node(graph, outer, cudaGraphCondTypeWhile, &node, &body));
	error = compat_condition_create(&inner, body, 1, 1);
	if (error != cudaSuccess) {
		answer(INFO, "refused: %s", cudaGetErrorName(error));
		return;
	}
	MUST(add_node(body, inner, cudaGraphCondTypeIf, &node, &within));
	set_condition(within, probe_node(within, NULL, 0, &launch), inner,
		      word + 1);
	node = set_condition(body, node, outer, word);
	MUST(cudaGraphAddMemcpyNode1D(&node, body, &node, 1, word, word + 1,
				      sizeof(*word), cudaMemcpyDeviceToDevice));
	launch_once(probe_exec(graph));
	MUST(cudaMemcpy(&seen, count, sizeof(seen), cudaMemcpyDeviceToHost));
	answer(INFO, "in two runs of the body it was assigned %s",
	       seen == 2   ? "twice"
	       : seen == 1 ? "once, at the launch"
			   : "in another way");
}

static void ask_alone(int which)
{
	struct one_node made;

	(void)which;
	make_conditional(&made);
	answer(INFO, "%s", outcome(made.body));
}

static void ask_second_exec(int which)
{
	struct one_node made;
	cudaGraphExec_t first, second;
	cudaError_t error;

	(void)which;
	make_conditional(&made);
	first = probe_exec(made.graph);
	error = cudaGraphInstantiate(&second, made.graph, 0);
	cudaGetLastError();
	launch_once(first);
	answer(error == cudaErrorNotSupported ? PASS : DIFFERS, "%s",
	       cudaGetErrorName(error));
}

/* A capture of a graph, and in it one of a body. */
struct nested {
	cudaStream_t outer, inner;
	struct one_node made;
};

static void begin_nested(struct nested *nested)
{
	enum cudaStreamCaptureStatus status;
	const cudaGraphNode_t *nodes;
	const cudaGraphEdgeData *edges;
	unsigned long long id;
	size_t n;

	nested->outer = probe_capture_begin(cudaStreamNonBlocking,
					    cudaStreamCaptureModeThreadLocal);
	nested->inner = probe_stream();
	MUST(compat_capture_info(nested->outer, &status, &id,
				 &nested->made.graph, &nodes, &edges, &n));
	add_conditional(&nested->made);
	MUST(compat_capture_to(nested->inner, nested->made.body,
			       cudaStreamCaptureModeThreadLocal));
}

/* In a body, an event of its graph: an error, which breaks both captures. */
static cudaError_t merge(const struct nested *nested)
{
	cudaEvent_t event;

	MUST(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	MUST(cudaEventRecord(event, nested->outer));
	return cudaStreamWaitEvent(nested->inner, event, 0);
}

static cudaError_t instantiate_relaxed(cudaGraph_t graph)
{
	enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
	cudaGraphExec_t exec;
	cudaError_t error;

	MUST(cudaThreadExchangeStreamCaptureMode(&mode));
	error = cudaGraphInstantiate(&exec, graph, 0);
	MUST(cudaThreadExchangeStreamCaptureMode(&mode));
	return error;
}

static cudaError_t capture_again(cudaStream_t stream)
{
	cudaGraph_t graph;
	cudaError_t error = cudaStreamBeginCapture(
		stream, cudaStreamCaptureModeThreadLocal);

	if (error == cudaSuccess)
		error = cudaStreamEndCapture(stream, &graph);
	return error == cudaSuccess ? cudaGraphDestroy(graph) : error;
}

static const struct {
	char letter;
	const char *name;
} steps[] = {
	{'m', "the body waits for its graph"},
	{'o', "the stream of the graph is waited for"},
	{'i', "the stream of the body is waited for"},
	{'x', "instantiation"},
	{'r', "instantiation in relaxed mode"},
	{'g', "end of the graph's capture"},
	{'b', "end of the body's capture"},
	{'d', "the graph is destroyed"},
	{'s', "the body's stream is destroyed"},
	{'t', "the graph's stream is destroyed"},
	{'a', "another capture of the graph's stream"},
	{'c', "another capture of the body's stream"},
};

static cudaError_t take_step(char letter, struct nested *nested)
{
	cudaGraph_t body = NULL;
	cudaGraphExec_t exec;

	switch (letter) {
	case 'm':
		return merge(nested);
	case 'o':
		return cudaStreamSynchronize(nested->outer);
	case 'i':
		return cudaStreamSynchronize(nested->inner);
	case 'x':
		return cudaGraphInstantiate(&exec, nested->made.graph, 0);
	case 'r':
		return instantiate_relaxed(nested->made.graph);
	case 'g':
		return cudaStreamEndCapture(nested->outer, &body);
	case 'b':
		return cudaStreamEndCapture(nested->inner, &body);
	case 'd':
		return cudaGraphDestroy(nested->made.graph);
	case 's':
		return cudaStreamDestroy(nested->inner);
	case 't':
		return cudaStreamDestroy(nested->outer);
	case 'a':
		return capture_again(nested->outer);
	default:
		return capture_again(nested->inner);
	}
}

/*
 * What breaks captures, what ends them, and what is called then. A capture that
 * is broken frees its graph as it ends, it seems, or as its stream is destroyed:
 * that of a body does so too, although the graph around it still owns the body,
 * and whatever uses that graph then, or frees it, ends the process.
 */
static const char *const ends[] = {
	"mbg",   "mgb",  "mgsa", "mbt",   "mgc",   "gbx",  "gxbx",  "obga",
	"ogbc",  "ogsa", "ibgd", "ibgx",  "ibgac", "igbd", "igbac", "igsd",
	"igsad", "xbgd", "xbga", "xgsda", "grbx",  "grbd"};

/* Each step is told as it comes: the last one may end the process. */
static void ask_ends(int which)
{
	struct nested nested;
	char text[1024] = "";
	size_t end = 0;

	begin_nested(&nested);
	for (const char *letter = ends[which]; *letter; letter++)
		for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
			if (steps[i].letter != *letter)
				continue;
			fprintf(stderr, "gpu-probe: %s: %s", ends[which],
				steps[i].name);
			end += (size_t)snprintf(
				text + end, sizeof(text) - end, "; %s: %s",
				steps[i].name,
				cudaGetErrorName(take_step(*letter, &nested)));
			fprintf(stderr, "%s\n", strrchr(text, ':'));
			cudaGetLastError();
		}
	answer(INFO, "%s", text + 2);
}

/* A synchronization breaks the capture around that of a body. */
static void ask_broken(int which)
{
	cudaStream_t stream = probe_capture_begin(
		cudaStreamNonBlocking, cudaStreamCaptureModeThreadLocal);
	enum cudaStreamCaptureStatus status;
	const cudaGraphNode_t *nodes;
	const cudaGraphEdgeData *edges;
	cudaStream_t inner = probe_stream();
	struct one_node made;
	unsigned long long id;
	const char *end;
	size_t n;

	(void)which;
	MUST(compat_capture_info(stream, &status, &id, &made.graph, &nodes,
				 &edges, &n));
	add_conditional(&made);
	MUST(compat_capture_to(inner, made.body,
			       cudaStreamCaptureModeThreadLocal));
	cudaStreamSynchronize(stream);
	cudaGetLastError();
	MUST(cudaStreamIsCapturing(inner, &status));
	end = probe_capture_end(stream);
	answer(INFO, "the body's capture is %s; the end of the outer one: %s",
	       status == cudaStreamCaptureStatusActive ? "whole" : "broken",
	       end);
}

#endif

#define TWO_ENDS "nobody knows: some orders ended the process"

const struct question body_questions[] = {
	{"set-parameters-on-body", "nobody knows: may a body's node be set?",
	 ask_params, 0},
	{"user-object-on-body",
	 "nobody knows: when does a body release what it owns?", ask_objects,
	 0},
	{"conditional-versions",
	 "IF with CUDA 12.3, WHILE with 12.4, two bodies and SWITCH with 12.8",
	 ask_versions, 0},
	{"body-empty",
	 "sources disagree: is a graph with an empty body refused?", ask_empty,
	 0},
	{"condition-one-node", "nobody knows: is a condition for one node?",
	 ask_second_node, 0},
	{"condition-unused", "nobody knows: is a condition of no node refused?",
	 ask_unused, 0},
	{"condition-of-body",
	 "nobody knows: when does a body's condition get its default?",
	 ask_default, 0},
	{"body-alone", "nobody knows: may a body be instantiated by itself?",
	 ask_alone, 0},
	{"conditional-one-exec",
	 "a second executable graph is cudaErrorNotSupported", ask_second_exec,
	 0},
	{"body-capture-broken",
	 "nobody knows: does a broken capture break those of its bodies?",
	 ask_broken, 0},
	{"body-capture-ends-mbg", TWO_ENDS, ask_ends, 0},
	{"body-capture-ends-mgb", TWO_ENDS, ask_ends, 1},
	{"body-capture-ends-mgsa", TWO_ENDS, ask_ends, 2},
	{"body-capture-ends-mbt", TWO_ENDS, ask_ends, 3},
	{"body-capture-ends-mgc", TWO_ENDS, ask_ends, 4},
	{"body-capture-ends-gbx", TWO_ENDS, ask_ends, 5},
	{"body-capture-ends-gxbx", TWO_ENDS, ask_ends, 6},
	{"body-capture-ends-obga", TWO_ENDS, ask_ends, 7},
	{"body-capture-ends-ogbc", TWO_ENDS, ask_ends, 8},
	{"body-capture-ends-ogsa", TWO_ENDS, ask_ends, 9},
	{"body-capture-ends-ibgd", TWO_ENDS, ask_ends, 10},
	{"body-capture-ends-ibgx", TWO_ENDS, ask_ends, 11},
	{"body-capture-ends-ibgac", TWO_ENDS, ask_ends, 12},
	{"body-capture-ends-igbd", TWO_ENDS, ask_ends, 13},
	{"body-capture-ends-igbac", TWO_ENDS, ask_ends, 14},
	{"body-capture-ends-igsd", TWO_ENDS, ask_ends, 15},
	{"body-capture-ends-igsad", TWO_ENDS, ask_ends, 16},
	{"body-capture-ends-xbgd", TWO_ENDS, ask_ends, 17},
	{"body-capture-ends-xbga", TWO_ENDS, ask_ends, 18},
	{"body-capture-ends-xgsda", TWO_ENDS, ask_ends, 19},
	{"body-capture-open-grbx", TWO_ENDS, ask_ends, 20},
	{"body-capture-open-grbd", TWO_ENDS, ask_ends, 21},
	{NULL, NULL, NULL, 0},
};
