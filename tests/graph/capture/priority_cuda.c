/*
 * tests/graph/capture/priority_cuda.c - what draws on a stream of high priority
 * waits for no kernel of a lower one
 *
 * Asked of the nodes themselves, on a GPU or a simulated one.
 */
#include <criterion/criterion.h>
#include <cuda_runtime_api.h>
#include "lib/device/cuda/compat.h"
#include "tests/support/support.h"

enum { MANY = 40, NODES = 256 };

static void open_gpu(struct fixture *f)
{
	unsigned count;

	if (philox_device_count("cuda", &count) != PHILOX_OK)
		cr_skip_test("needs a GPU: %s", philox_error_message());
	fixture_open(f, "cuda");
}

#define CUDA(call) cr_assert_eq((call), cudaSuccess, "%s", #call)

static cudaStream_t make_stream(int priority)
{
	cudaStream_t stream;

	CUDA(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking,
					  priority));
	return stream;
}

static int highest(void)
{
	int least, greatest;

	CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	if (greatest > -2)
		cr_skip_test("this GPU has %d priorities", 1 - greatest);
	return greatest;
}

/* How many kernels of a graph have a priority. */
static unsigned count_nodes(cudaGraph_t graph, int priority)
{
	cudaGraphNode_t nodes[NODES];
	size_t n = NODES;
	unsigned found = 0;

	CUDA(cudaGraphGetNodes(graph, nodes, &n));
	for (size_t i = 0; i < n; i++) {
		cudaLaunchAttributeValue value;
		enum cudaGraphNodeType type;

		CUDA(cudaGraphNodeGetType(nodes[i], &type));
		if (type != cudaGraphNodeTypeKernel)
			continue;
		CUDA(cudaGraphKernelNodeGetAttribute(
			nodes[i], cudaLaunchAttributePriority, &value));
		found += value.priority == priority;
	}
	return found;
}

static cudaGraph_t graph_of(cudaStream_t stream)
{
	enum cudaStreamCaptureStatus status;
	const cudaGraphEdgeData *edges;
	const cudaGraphNode_t *nodes;
	unsigned long long id;
	cudaGraph_t graph;
	size_t n;

	CUDA(compat_capture_info(stream, &status, &id, &graph, &nodes, &edges,
				 &n));
	return graph;
}

/* One forward that draws once. */
static void draw_once(struct fixture *f, struct philox_region *region,
		      philox_stream stream)
{
	struct philox_pass pass;

	OK(philox_forward_begin(region, stream, PHILOX_PASS_INFERENCE, &pass));
	OK(philox_pass_bits(&pass, 0, PHILOX_DTYPE_U32,
			    philox_span_elements(0, 4), f->scratch));
	OK(philox_pass_commit(&pass, 0, NULL));
}

static void join(struct fixture *f, philox_stream from, philox_stream to)
{
	philox_event event;

	OK(philox_event_create(f->device, &event));
	OK(philox_event_record(f->device, from, event));
	OK(philox_event_wait(f->device, to, event));
	OK(philox_event_destroy(f->device, event));
}

Test(priority_cuda, the_head_has_the_highest_of_the_streams_that_draw,
     .timeout = 120)
{
	struct fixture fixture, *f = &fixture;
	struct philox_launch_pass uses[3 + MANY] = {0};
	struct philox_graph *graph;
	struct philox_region *region;
	philox_stream low, middle, high;
	int top;

	open_gpu(f);
	top = highest();
	region = make_region(f, "layer");
	low = make_stream(0);
	middle = make_stream(top + 1);
	high = make_stream(top);
	OK(philox_capture_begin(f->context, low));
	draw_once(f, region, low);
	cr_assert_eq(count_nodes(graph_of(low), 0), 2);
	join(f, low, middle);
	draw_once(f, region, middle);
	cr_assert_eq(count_nodes(graph_of(low), top + 1), 2);
	join(f, middle, high);
	draw_once(f, region, high);
	join(f, high, low);
	for (int i = 0; i < MANY; i++) /* its message grows */
		draw_once(f, region, low);
	cr_assert_eq(count_nodes(graph_of(low), top), 2);
	cr_assert_eq(count_nodes(graph_of(low), top + 1), 1);
	cr_assert_eq(count_nodes(graph_of(low), 0), 1 + MANY);
	OK(philox_capture_end(f->context, low, &graph));
	OK(philox_graph_launch(graph, low, uses, 3 + MANY));
	OK(philox_stream_synchronize(f->device, low));
	OK(philox_graph_destroy(graph));
	fixture_close(f);
}

Test(priority_cuda, the_kernel_of_a_body_has_it_too, .timeout = 120)
{
	struct fixture fixture, *f = &fixture;
	struct philox_conditional_desc options = {.size = sizeof(options),
						  .kind = PHILOX_CONDITIONAL_IF,
						  .bodies = 1};
	struct philox_conditional node;
	struct philox_graph *graph;
	struct philox_region *region;
	philox_stream low, high;
	enum philox_status status;
	int top;

	open_gpu(f);
	top = highest();
	region = make_region(f, "layer");
	low = make_stream(0);
	high = make_stream(top);
	options.word = f->scratch;
	OK(philox_capture_begin(f->context, low));
	status = philox_conditional_begin(f->context, low, &options, &node);
	if (status == PHILOX_ERROR_UNSUPPORTED)
		cr_skip_test("%s", philox_error_message());
	OK(status);
	OK(philox_conditional_body(&node, 0, high));
	draw_once(f, region, high);
	cr_assert_eq(count_nodes(graph_of(high), top), 2);
	OK(philox_conditional_end(&node));
	cr_assert_eq(count_nodes(graph_of(low), top), 1);
	OK(philox_capture_end(f->context, low, &graph));
	OK(philox_graph_destroy(graph));
	fixture_close(f);
}

/* What draws in a body within a body waits for the kernels of both. */
Test(priority_cuda, the_kernels_of_bodies_around_a_body_have_it_too,
     .timeout = 120)
{
	struct fixture fixture, *f = &fixture;
	struct philox_conditional_desc options = {.size = sizeof(options),
						  .kind = PHILOX_CONDITIONAL_IF,
						  .bodies = 1};
	struct philox_conditional outer, inner;
	struct philox_graph *graph;
	struct philox_region *region;
	philox_stream low, middle, high;
	enum philox_status status;
	int top;

	open_gpu(f);
	top = highest();
	region = make_region(f, "layer");
	low = make_stream(0);
	middle = make_stream(0);
	high = make_stream(top);
	options.word = f->scratch;
	OK(philox_capture_begin(f->context, low));
	status = philox_conditional_begin(f->context, low, &options, &outer);
	if (status == PHILOX_ERROR_UNSUPPORTED)
		cr_skip_test("%s", philox_error_message());
	OK(status);
	OK(philox_conditional_body(&outer, 0, middle));
	OK(philox_conditional_begin(f->context, middle, &options, &inner));
	OK(philox_conditional_body(&inner, 0, high));
	draw_once(f, region, high);
	cr_assert_eq(count_nodes(graph_of(high), top), 2);
	OK(philox_conditional_end(&inner));
	cr_assert_eq(count_nodes(graph_of(middle), top), 1);
	OK(philox_conditional_end(&outer));
	cr_assert_eq(count_nodes(graph_of(low), top), 1);
	OK(philox_capture_end(f->context, low, &graph));
	OK(philox_graph_destroy(graph));
	fixture_close(f);
}

static unsigned long long flags_of_next(struct fixture *f)
{
	unsigned long long flags = 77;
	struct philox_graph *graph;
	philox_native_graph native;
	philox_native_exec exec;

	OK(philox_capture_begin(f->context, f->stream));
	OK(philox_capture_end(f->context, f->stream, &graph));
	OK(philox_graph_native(graph, &native, &exec));
	CUDA(cudaGraphExecGetFlags(exec, &flags));
	OK(philox_graph_destroy(graph));
	return flags;
}

Test(priority_cuda, graphs_are_instantiated_as_the_context_says, .timeout = 120)
{
	struct fixture fixture, *f = &fixture;

	open_gpu(f);
	cr_assert_eq(flags_of_next(f), 0);
	OK(philox_context_set_instantiate(f->context,
					  PHILOX_INSTANTIATE_NODE_PRIORITY));
	cr_assert_eq(flags_of_next(f), 8);
	FAILS(philox_context_set_instantiate(f->context, 4),
	      PHILOX_ERROR_INVALID);
	cr_assert(strstr(philox_error_message(), "flags"));
	OK(philox_context_set_instantiate(
		f->context, PHILOX_INSTANTIATE_NODE_PRIORITY |
				    PHILOX_INSTANTIATE_AUTO_FREE));
	cr_assert_eq(flags_of_next(f), 9);
	OK(philox_context_set_instantiate(f->context, 0));
	cr_assert_eq(flags_of_next(f), 0);
	fixture_close(f);
}
