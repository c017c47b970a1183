/*
 * tests/graph/capture/mesh.c - ranks cost a captured graph nothing
 *
 * One program is captured and launched twice: in a context without a mesh, and
 * in one with a mesh of all eight axes whose regions differ along all of them.
 * What the device is asked to do is the same, call by call: the nodes, the
 * kernels with the sizes of their parameters, the memory, the copies.
 */
#include <inttypes.h>
#include <stdio.h>
#include "lib/device/device.h"
#include "lib/device/contract.h"
#include "tests/support/ranks/mesh.h"

enum { MOST = 1024 };

/* A call of the device that has a size. */
struct asked {
	const char *what;
	int kernel;
	uint64_t size, work;
};

static struct asked asked[MOST];
static size_t n_asked;
static const struct device_ops *real;

static void note(const char *what, int kernel, uint64_t size, uint64_t work)
{
	cr_assert_lt(n_asked, MOST);
	asked[n_asked++] = (struct asked){what, kernel, size, work};
}

static void note_kernel(const char *what, const struct kernel_call *call)
{
	note(what, (int)call->kernel, call->size, call->work);
}

static enum philox_status see_launch(struct philox_device *device,
				     philox_stream stream,
				     const struct kernel_call *call)
{
	note_kernel("launch", call);
	return real->launch(device, stream, call);
}

static enum philox_status see_add(struct philox_device *device,
				  philox_native_graph graph,
				  const device_node *after, size_t n,
				  const struct kernel_call *call,
				  device_node *node)
{
	note_kernel("graph_add_kernel", call);
	note("its dependencies", 0, n, 0);
	return real->graph_add_kernel(device, graph, after, n, call, node);
}

static enum philox_status see_set(struct philox_device *device,
				  device_node node,
				  const struct kernel_call *call)
{
	note_kernel("graph_set_kernel", call);
	return real->graph_set_kernel(device, node, call);
}

static enum philox_status see_exec_set(struct philox_device *device,
				       philox_native_exec exec,
				       device_node node,
				       const struct kernel_call *call)
{
	note_kernel("exec_set_kernel", call);
	return real->exec_set_kernel(device, exec, node, call);
}

static enum philox_status see_copy(struct philox_device *device, void *to,
				   const void *from, size_t size,
				   philox_stream stream)
{
	note("copy", 0, size, 0);
	return real->copy(device, to, from, size, stream);
}

static enum philox_status see_alloc(struct philox_device *device, size_t size,
				    void **memory)
{
	note("mem_alloc", 0, size, 0);
	return real->mem_alloc(device, size, memory);
}

static enum philox_status see_mapped(struct philox_device *device, size_t size,
				     void **host, void **memory)
{
	note("mapped_alloc", 0, size, 0);
	return real->mapped_alloc(device, size, host, memory);
}

static void watch(struct fixture *f, struct device_ops *ops)
{
	real = f->device->ops;
	*ops = *real;
	ops->launch = see_launch;
	ops->graph_add_kernel = see_add;
	ops->graph_set_kernel = see_set;
	ops->exec_set_kernel = see_exec_set;
	ops->copy = see_copy;
	ops->mem_alloc = see_alloc;
	ops->mapped_alloc = see_mapped;
	f->device->ops = ops;
	n_asked = 0;
}

/* --- the program ---------------------------------------------------------- */

enum { LAYERS = 3 };

struct cost {
	struct asked asked[MOST];
	size_t n_asked, nodes, uses;
	uint64_t calls[DEVICE_OP_COUNT];
	struct numbers saw[LAYERS];
};

static size_t count_nodes(struct fixture *f, struct philox_graph *graph)
{
	philox_native_graph native;
	size_t n;

	OK(philox_graph_native(graph, &native, NULL));
	OK(philox_native_graph_node_count(f->device, native, &n));
	return n;
}

/* Forwards of all layers, then their backwards, on two streams in turn. */
static struct philox_graph *record(struct fixture *f,
				   struct philox_region *const *layers,
				   uint32_t *const *arrays)
{
	struct philox_ticket tickets[LAYERS];

	record_begin(f);
	for (int i = 0; i < LAYERS; i++)
		tickets[i] = captured_forward(f, layers[i], 0, arrays[i]);
	for (int i = LAYERS; i--;)
		captured_backward(f, layers[i], tickets[i], PHILOX_PASS_RETAIN,
				  f->scratch);
	return record_end(f);
}

static void run(struct fixture *f, const struct philox_mesh *mesh,
		const struct along *along, struct cost *cost)
{
	struct philox_region *layers[LAYERS];
	uint32_t *arrays[LAYERS];
	struct philox_context *own = f->context;
	struct philox_graph *graph;
	struct device_ops ops;
	uint64_t before[DEVICE_OP_COUNT];

	for (int i = 0; i < LAYERS; i++)
		arrays[i] = make_array(f);
	for (int i = 0; device_operations[i]; i++)
		before[i] = philox_device_call_count(f->device,
						     device_operations[i]);
	watch(f, &ops);
	OK(philox_context_create(f->device, &f->context));
	if (mesh)
		OK(philox_context_set_mesh(f->context, mesh));
	for (int i = 0; i < LAYERS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "layer %d", i);
		layers[i] = make_along(f->context, name, along);
	}
	graph = record(f, layers, arrays);
	for (int launch = 0; launch < 3; launch++) {
		struct philox_launch_pass uses[2 * LAYERS] = {{{0}, 0, 0}};

		OK(philox_graph_launch(graph, f->stream, uses, 2 * LAYERS));
		OK(philox_stream_synchronize(f->device, f->stream));
	}
	cost->uses = philox_graph_pass_count(graph);
	cost->nodes = count_nodes(f, graph);
	f->device->ops = real;
	memcpy(cost->asked, asked, sizeof(asked));
	cost->n_asked = n_asked;
	for (int i = 0; device_operations[i]; i++)
		cost->calls[i] = philox_device_call_count(
					 f->device, device_operations[i]) -
				 before[i];
	for (int i = 0; i < LAYERS; i++)
		cost->saw[i] = read_numbers(f, arrays[i]);
	philox_context_destroy(f->context);
	f->context = own;
}

GRAPH_PROMISE(graph_mesh, a_graph_of_a_rank_is_that_of_a_single_process)
{
	static struct cost alone, rank;
	struct philox_mesh mesh =
		mesh_of("a=1/2 b=3/4 c=1/3 d=1/2 e=2/3 f=9/16 g=1/2 h=1/2");
	struct along along = {{"a", "b", "c", "d", "e", "f", "g", "h"}, 8};
	const struct along none = {{0}, 0};

	run(f, NULL, &none, &alone);
	run(f, &mesh, &along, &rank);
	cr_assert_eq(alone.uses, rank.uses);
	cr_assert_eq(alone.nodes, rank.nodes, "%zu nodes, not %zu", rank.nodes,
		     alone.nodes);
	/* The head, and each site of each pass */
	cr_assert_eq(alone.nodes, 1 + 2 * LAYERS * SITES);
	for (int i = 0; device_operations[i]; i++)
		cr_assert_eq(alone.calls[i], rank.calls[i],
			     "%s: %" PRIu64 " calls, not %" PRIu64,
			     device_operations[i], rank.calls[i],
			     alone.calls[i]);
	cr_assert_eq(alone.n_asked, rank.n_asked);
	cr_assert_gt(alone.n_asked, 2 * LAYERS * SITES, "calls were seen");
	for (size_t i = 0; i < alone.n_asked; i++) {
		const struct asked *a = &alone.asked[i], *b = &rank.asked[i];

		cr_assert(!strcmp(a->what, b->what) && a->kernel == b->kernel &&
				  a->size == b->size && a->work == b->work,
			  "call %zu: %s of kernel %d, %" PRIu64
			  " bytes, not %s of kernel %d, %" PRIu64,
			  i, b->what, b->kernel, b->size, a->what, a->kernel,
			  a->size);
	}
	for (int i = 0; i < LAYERS; i++)
		FRESH(alone.saw[i], rank.saw[i], "and yet other numbers");
}
