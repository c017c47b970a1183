/*
 * lib/device/host/graph.c - graphs: nodes, edges and what they keep alive
 *
 * A node depends on nodes that were made before it, so indices rise along
 * every edge and no graph has a cycle. Objects handed to graph_retain belong to
 * a struct host_keep that the graph shares with its executable graphs and their
 * launches; the last of them releases the objects. Guarded by the device's
 * lock.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/containers/array.h"
#include "lib/device/host/host.h"

static uint64_t next_graph_id(void)
{
	static atomic_uint_fast64_t last;

	return atomic_fetch_add(&last, 1) + 1;
}

/* --- sets of nodes -------------------------------------------------------- */

int host_nodes_reserve(struct host_nodes *nodes, size_t more)
{
	return !more || array_grow(&nodes->items, nodes->count, more,
				   sizeof(*nodes->items));
}

void host_nodes_add(struct host_nodes *nodes, struct host_node *node)
{
	for (size_t i = 0; i < nodes->count; i++)
		if (nodes->items[i] == node)
			return;
	nodes->items[nodes->count++] = node;
}

int host_nodes_copy(struct host_nodes *to, const struct host_nodes *from)
{
	size_t more = from->count > to->count ? from->count - to->count : 0;

	if (!host_nodes_reserve(to, more))
		return 0;
	if (from->count)
		memcpy(to->items, from->items,
		       from->count * sizeof(*to->items));
	to->count = from->count;
	return 1;
}

void host_nodes_free(struct host_nodes *nodes)
{
	free(nodes->items);
	*nodes = (struct host_nodes){0};
}

/* --- graphs and nodes ----------------------------------------------------- */

struct host_graph *host_graph_create(struct host_device *device)
{
	struct host_graph *graph = calloc(1, sizeof(*graph));
	struct host_keep *keep = calloc(1, sizeof(*keep));

	if (!graph || !keep) {
		free(graph);
		free(keep);
		return NULL;
	}
	keep->refs = 1;
	graph->keep = keep;
	graph->id = next_graph_id();
	graph->number = ++device->graphs_made;
	host_register(device, &graph->object, HOST_GRAPH, graph);
	return graph;
}

struct host_node *host_graph_add(struct host_device *device,
				 struct host_graph *graph,
				 struct host_work *work,
				 const struct host_nodes *deps)
{
	struct host_node *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	if (!host_nodes_copy(&node->deps, deps) ||
	    !host_nodes_reserve(&graph->nodes, 1)) {
		host_nodes_free(&node->deps);
		free(node);
		return NULL;
	}
	node->graph = graph;
	node->index = graph->nodes.count;
	node->work = *work;
	graph->nodes.items[graph->nodes.count++] = node;
	host_register(device, &node->object, HOST_NODE, node);
	return node;
}

/* --- the end of graphs, and of captures into them -------------------------- */

void host_forget_nodes(const struct host_capture *capture)
{
	for (struct host_stream *stream = capture->streams; stream;
	     stream = stream->also)
		stream->deps.count = 0;
}

void host_invalidate(struct host_device *device, struct host_capture *capture,
		     const char *reason, ...)
{
	va_list arguments;

	if (!capture->graph)
		return;
	va_start(arguments, reason);
	vsnprintf(capture->reason, sizeof(capture->reason), reason, arguments);
	va_end(arguments);
	host_forget_nodes(capture);
	capture->graph->broken = 1;
	capture->graph->capturing = 0;
	if (!capture->into)
		host_graph_free(device, capture->graph);
	capture->graph = NULL;
}

static void invalidate_within(struct host_device *device,
			      const struct host_graph *body)
{
	for (struct host_capture *capture = device->captures;
	     body->capturing && capture; capture = capture->next)
		if (capture->graph == body)
			host_invalidate(device, capture,
					"the end of the graph around it");
}

void host_conditional_free(struct host_device *device,
			   struct host_conditional *conditional)
{
	for (uint32_t i = 0; i < conditional->what.bodies; i++) {
		struct host_graph *body = conditional->bodies[i];

		if (!body)
			continue;
		invalidate_within(device, body);
		host_graph_free(device, body);
	}
	free(conditional);
}

static void conditions_free(struct host_device *device,
			    struct host_graph *graph)
{
	struct host_condition *condition = graph->conditions;

	while (condition) {
		struct host_condition *next = condition->next;

		host_forget(device, &condition->object);
		condition->graph = NULL;
		host_condition_drop(condition);
		condition = next;
	}
}

void host_graph_free(struct host_device *device, struct host_graph *graph)
{
	host_forget(device, &graph->object);
	for (size_t i = 0; i < graph->nodes.count; i++) {
		struct host_node *node = graph->nodes.items[i];

		host_forget(device, &node->object);
		host_work_drop(device, &node->work);
		host_nodes_free(&node->deps);
		if (node->conditional)
			host_conditional_free(device, node->conditional);
		free(node);
	}
	host_nodes_free(&graph->nodes);
	conditions_free(device, graph);
	host_keep_drop(device, graph->keep);
	free(graph);
}

/* --- graphs around a graph, and bodies in it -------------------------------- */

struct host_graph *host_root_of(struct host_graph *graph)
{
	while (graph->parent)
		graph = graph->parent->graph;
	return graph;
}

enum philox_status host_root_check(const struct host_graph *graph,
				   const char *what)
{
	if (!graph->parent)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "%s: the graph is a body of node %zu, and goes with "
			  "it",
			  what, graph->parent->index);
}

enum philox_status host_each_body(
	const struct host_graph *graph, const char *what,
	enum philox_status (*check)(const struct host_graph *, const char *))
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; i < graph->nodes.count; i++) {
		const struct host_conditional *made =
			graph->nodes.items[i]->conditional;
		uint32_t bodies = made ? made->what.bodies : 0;

		for (uint32_t k = 0; status == PHILOX_OK && k < bodies; k++)
			status = check(made->bodies[k], what);
	}
	return status;
}

enum philox_status host_open_check(const struct host_graph *graph,
				   const char *what)
{
	if (graph->capturing)
		return status_set(PHILOX_ERROR_STATE,
				  "%s: the graph%s is still being captured",
				  what, graph->parent ? ", or a body," : "");
	return host_each_body(graph, what, host_open_check);
}

/* --- conditions ----------------------------------------------------------- */

struct host_condition *host_condition_find(struct host_device *device,
					   device_condition handle,
					   const char *what)
{
	struct host_object *object = host_find(device, HOST_CONDITION,
					       (const void *)(uintptr_t)handle);

	if (!object)
		status_set(PHILOX_ERROR_INVALID,
			   "%s: 0x%" PRIx64 " is not a live condition of a "
			   "graph of device %s",
			   what, handle, device->base.name);
	return (struct host_condition *)object;
}

enum philox_status host_condition_check(struct host_device *device,
					const struct host_work *work,
					struct host_graph *graph)
{
	static const char what[] = "kernel that sets a condition";
	const struct condition_args *args;
	const struct host_condition *condition;

	if (work->kind != HOST_KERNEL ||
	    work->function != device->kernels[KERNEL_CONDITION])
		return PHILOX_OK;
	args = (const struct condition_args *)work->args->bytes;
	condition = host_condition_find(device, args->condition, what);
	if (!condition)
		return PHILOX_ERROR_INVALID;
	if (!graph)
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: it is launched outside of a graph",
				  what);
	if (host_root_of(graph) != host_root_of(condition->graph))
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: the condition is of another graph",
				  what);
	return PHILOX_OK;
}

/* --- operations ----------------------------------------------------------- */

enum philox_status host_find_deps(struct host_device *device,
				  const struct host_graph *graph,
				  const device_node *handles, size_t n,
				  const char *what, struct host_nodes *deps)
{
	enum philox_status status = PHILOX_OK;
	struct host_node *node;

	if (!host_nodes_reserve(deps, n))
		return host_no_memory("a node's dependencies");
	for (size_t i = 0; status == PHILOX_OK && i < n; i++) {
		status = host_node_find(device, handles[i], what, &node);
		if (status == PHILOX_OK && node->graph != graph)
			status = status_set(PHILOX_ERROR_INVALID,
					    "%s: node %zu is of another graph",
					    what, i);
		if (status == PHILOX_OK)
			host_nodes_add(deps, node);
	}
	return status;
}

enum philox_status host_graph_add_kernel(struct philox_device *base,
					 philox_native_graph handle,
					 const device_node *handles, size_t n,
					 const struct kernel_call *call,
					 device_node *result)
{
	struct host_device *device = host_of(base);
	struct host_nodes deps = {0};
	struct host_graph *graph;
	struct host_node *node;
	struct host_work work;
	enum philox_status status;

	status = host_work_kernel(device, &work, call);
	if (status != PHILOX_OK)
		return status;
	host_lock(device);
	status = host_graph_find(device, handle, "graph_add_kernel", &graph);
	if (status == PHILOX_OK)
		status = host_find_deps(device, graph, handles, n,
					"graph_add_kernel", &deps);
	if (status == PHILOX_OK)
		status = host_arrays_take(device, &work);
	if (status == PHILOX_OK)
		status = host_marks_check(device, &work);
	if (status == PHILOX_OK)
		status = host_condition_check(device, &work, graph);
	if (status == PHILOX_OK) {
		node = host_graph_add(device, graph, &work, &deps);
		status = node ? PHILOX_OK : host_no_memory("a node");
	}
	if (status == PHILOX_OK)
		*result = (device_node)node;
	else
		host_work_drop(device, &work);
	host_nodes_free(&deps);
	return host_leave(device, status);
}

void host_nodes_show(const struct host_nodes *nodes, device_node *handles,
		     size_t *n)
{
	for (size_t i = 0; i < nodes->count && i < *n; i++)
		handles[i] = (device_node)nodes->items[i];
	*n = nodes->count;
}

enum philox_status host_node_deps(struct philox_device *base,
				  device_node handle, device_node *nodes,
				  size_t *n)
{
	struct host_device *device = host_enter(base);
	struct host_node *node;
	enum philox_status status =
		host_node_find(device, handle, "node_deps", &node);

	if (status == PHILOX_OK)
		host_nodes_show(&node->deps, nodes, n);
	return host_leave(device, status);
}

enum philox_status host_node_priority(struct philox_device *base,
				      device_node handle, int priority)
{
	struct host_device *device = host_enter(base);
	struct host_node *node;
	enum philox_status status =
		host_node_find(device, handle, "node_priority", &node);

	if (status == PHILOX_OK)
		node->priority = priority;
	return host_leave(device, status);
}

enum philox_status host_graph_set_kernel(struct philox_device *base,
					 device_node handle,
					 const struct kernel_call *call)
{
	static const char what[] = "graph_set_kernel";
	struct host_device *device = host_of(base);
	struct host_work work, old;
	struct host_node *node;
	enum philox_status status;

	status = host_work_kernel(device, &work, call);
	if (status != PHILOX_OK)
		return status;
	host_lock(device);
	status = host_node_find(device, handle, what, &node);
	if (status == PHILOX_OK && node->work.kind != HOST_KERNEL)
		status = status_set(PHILOX_ERROR_INVALID,
				    "%s: node %zu is not a kernel", what,
				    node->index);
	if (status == PHILOX_OK)
		status = host_arrays_take(device, &work);
	if (status == PHILOX_OK)
		status = host_condition_check(device, &work, node->graph);
	if (status == PHILOX_OK) {
		old = node->work;
		node->work = work;
		node->priority = 0;
		work = old;
	}
	host_work_drop(device, &work); /* the new one, or the one replaced */
	return host_leave(device, status);
}

enum philox_status host_graph_retain(struct philox_device *base,
				     philox_native_graph handle,
				     void (*release)(void *), void *object)
{
	struct host_device *device = host_of(base);
	struct host_release *entry = malloc(sizeof(*entry));
	struct host_graph *graph;
	enum philox_status status;

	if (!entry)
		return host_no_memory("a retained object");
	host_lock(device);
	status = host_graph_find(device, handle, "graph_retain", &graph);
	if (status == PHILOX_OK)
		status = host_root_check(graph, "graph_retain");
	if (status == PHILOX_OK) {
		*entry = (struct host_release){release, object,
					       graph->keep->releases};
		graph->keep->releases = entry;
	}
	host_unlock(device);
	if (status != PHILOX_OK)
		free(entry);
	return status;
}

enum philox_status host_graph_nodes(struct philox_device *base,
				    philox_native_graph handle, size_t *nodes)
{
	struct host_device *device = host_enter(base);
	struct host_graph *graph;
	enum philox_status status;
	size_t count = 0;

	status = host_graph_find(device, handle,
				 "philox_native_graph_node_count", &graph);
	if (status == PHILOX_OK)
		count = graph->nodes.count;
	host_unlock(device);
	if (status == PHILOX_OK)
		*nodes = count;
	return status;
}

/* --- what nodes are --------------------------------------------------------- */

static const char *const kernel_names[KERNEL_COUNT] = {
	[KERNEL_NONE] = "",
	[KERNEL_HEAD] = "head",
#define NAME(name, out, in, n, traits) [KERNEL_##name] = #name,
	FILL_LIST(NAME)
#undef NAME
#define NAME(type) [KERNEL_layout_##type] = "layout_" #type,
		LAYOUT_LIST(NAME)
#undef NAME
#define NAME(name, args, threads) [KERNEL_##name] = #name,
			ROWS_KERNEL_LIST(NAME)
#undef NAME
				[KERNEL_STORE] = "store",
	[KERNEL_CONDITION] = "condition",
	[KERNEL_BODY] = "body",
	[KERNEL_AT] = "at",
	[KERNEL_COPIES] = "copies",
	[KERNEL_COMPARE] = "compare"};

static const char *name_of_kernel(const struct host_device *device,
				  const struct host_work *work)
{
	for (unsigned i = 1; i < KERNEL_COUNT; i++)
		if (device->kernels[i] == work->function)
			return kernel_names[i];
	return "";
}

static enum device_node_kind kind_of_node(const struct host_node *node)
{
	static const enum device_node_kind kinds[] = {
		[HOST_NOTHING] = DEVICE_NODE_EMPTY,
		[HOST_KERNEL] = DEVICE_NODE_KERNEL,
		[HOST_CALL] = DEVICE_NODE_HOST,
		[HOST_COPY] = DEVICE_NODE_COPY,
		[HOST_SET] = DEVICE_NODE_SET,
		[HOST_REPLAY] = DEVICE_NODE_GRAPH,
		[HOST_BRANCH] = DEVICE_NODE_CONDITIONAL};

	return node->conditional ? DEVICE_NODE_CONDITIONAL
				 : kinds[node->work.kind];
}

enum philox_status host_graph_list(struct philox_device *base,
				   philox_native_graph handle,
				   void (*each)(void *user,
						enum device_node_kind kind,
						const char *name),
				   void *user)
{
	struct host_device *device = host_of(base);
	struct host_graph *graph;
	enum philox_status status;

	host_lock(device);
	status = host_graph_find(device, handle, "graph_list", &graph);
	for (size_t i = 0; status == PHILOX_OK && i < graph->nodes.count; i++) {
		const struct host_node *node = graph->nodes.items[i];
		const enum device_node_kind kind = kind_of_node(node);

		each(user, kind,
		     kind == DEVICE_NODE_KERNEL
			     ? name_of_kernel(device, &node->work)
			     : "");
	}
	host_unlock(device);
	return status;
}

enum philox_status host_graph_destroy(struct philox_device *base,
				      philox_native_graph handle)
{
	static const char what[] = "philox_native_graph_destroy";
	struct host_device *device = host_enter(base);
	struct host_graph *graph;
	enum philox_status status =
		host_graph_find(device, handle, what, &graph);

	if (status == PHILOX_OK)
		status = host_root_check(graph, what);
	if (status == PHILOX_OK)
		status = host_open_check(graph, what);
	if (status == PHILOX_OK)
		host_graph_free(device, graph);
	return host_leave(device, status);
}
