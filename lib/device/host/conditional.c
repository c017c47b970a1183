/*
 * lib/device/host/conditional.c - conditions, and nodes with bodies
 *
 * A body is a graph whose parent is its node. A condition belongs to a graph;
 * executable graphs keep it alive after that, since kernels and nodes of theirs
 * use its value. How the bodies run is in lib/device/host/exec.c. Guarded by
 * the device's lock.
 */
#include <inttypes.h>
#include <stdlib.h>
#include "lib/device/host/host.h"

struct host_graph *host_root_of(struct host_graph *graph)
{
	while (graph->parent)
		graph = graph->parent->graph;
	return graph;
}

/* --- conditions ----------------------------------------------------------- */

void host_condition_drop(struct host_condition *condition)
{
	if (!--condition->refs)
		free(condition);
}

void host_conditions_free(struct host_device *device, struct host_graph *graph)
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

/* NULL: there is none, and the error is set. */
static struct host_condition *find_condition(struct host_device *device,
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

static enum philox_status condition_open(struct host_device *device,
					 struct host_graph *graph,
					 uint32_t value, int assigned,
					 device_condition *handle)
{
	struct host_condition *condition = calloc(1, sizeof(*condition));

	if (!condition)
		return host_no_memory("a condition");
	condition->refs = 1;
	condition->first = value;
	condition->assigned = assigned;
	condition->graph = graph;
	condition->next = graph->conditions;
	graph->conditions = condition;
	host_register(device, &condition->object, HOST_CONDITION,
		      &condition->value);
	*handle = (uintptr_t)&condition->value;
	return PHILOX_OK;
}

enum philox_status host_condition_create(struct philox_device *base,
					 philox_native_graph handle,
					 uint32_t value, int assigned,
					 device_condition *condition)
{
	static const char what[] = "condition_create";
	struct host_device *device = host_of(base);
	struct host_graph *graph;
	enum philox_status status;

	host_lock(device);
	status = host_graph_find(device, handle, what, &graph);
	if (status == PHILOX_OK && graph->parent && assigned)
		status = status_set(PHILOX_ERROR_INVALID,
				    "%s: the graph is a body; CUDA does not "
				    "say when it assigns a value there",
				    what);
	if (status == PHILOX_OK)
		status = condition_open(device, graph, value, assigned,
					condition);
	host_unlock(device);
	return status;
}

enum philox_status host_condition_check(struct host_device *device,
					const struct host_work *work,
					struct host_graph *graph)
{
	static const char what[] = "kernel that sets a condition";
	const struct condition_args *args;
	const struct host_condition *condition;

	if (work->kind != HOST_KERNEL ||
	    work->function != kernels_host[KERNEL_CONDITION])
		return PHILOX_OK;
	args = (const struct condition_args *)work->args->bytes;
	condition = find_condition(device, args->condition, what);
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

/* --- nodes ---------------------------------------------------------------- */

/* Whether a graph is another one or a body somewhere below it. */
static int is_within(const struct host_graph *graph,
		     const struct host_graph *around)
{
	while (graph != around && graph->parent)
		graph = graph->parent->graph;
	return graph == around;
}

static const char adding[] = "graph_add_conditional";

static enum philox_status check_free(const struct host_graph *graph,
				     const struct host_condition *condition)
{
	if (!is_within(graph, condition->graph))
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: the condition is of another graph, and "
				  "not of one around this",
				  adding);
	if (condition->used)
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: the condition is another node's already",
				  adding);
	return PHILOX_OK;
}

static void invalidate_within(struct host_device *device,
			      const struct host_graph *body)
{
	for (struct host_capture *capture = device->captures; capture;
	     capture = capture->next)
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

static struct host_conditional *conditional_create(
	struct host_device *device, const struct conditional *what,
	struct host_condition *condition)
{
	struct host_conditional *made =
		calloc(1, sizeof(*made) + what->bodies * sizeof(*made->bodies));

	if (!made)
		return NULL;
	made->what = *what;
	made->condition = condition;
	for (uint32_t i = 0; i < what->bodies; i++) {
		made->bodies[i] = host_graph_create(device);
		if (made->bodies[i])
			continue;
		host_conditional_free(device, made);
		return NULL;
	}
	return made;
}

static enum philox_status add_conditional(struct host_device *device,
					  struct host_graph *graph,
					  const struct host_nodes *deps,
					  const struct conditional *what,
					  struct host_node **node)
{
	struct host_work work = {.kind = HOST_BRANCH};
	struct host_condition *condition =
		find_condition(device, what->condition, adding);
	struct host_conditional *made;

	if (!condition || check_free(graph, condition) != PHILOX_OK)
		return PHILOX_ERROR_INVALID;
	made = conditional_create(device, what, condition);
	if (!made)
		return host_no_memory("bodies of a node");
	*node = host_graph_add(device, graph, &work, deps);
	if (!*node) {
		host_conditional_free(device, made);
		return host_no_memory("a node");
	}
	(*node)->conditional = made;
	condition->used = 1;
	for (uint32_t i = 0; i < what->bodies; i++)
		made->bodies[i]->parent = *node;
	return PHILOX_OK;
}

enum philox_status host_graph_add_conditional(
	struct philox_device *base, philox_native_graph handle,
	const device_node *handles, size_t n, const struct conditional *what,
	device_node *result, philox_native_graph *bodies)
{
	struct host_device *device = host_of(base);
	struct host_nodes deps = {0};
	struct host_graph *graph;
	struct host_node *node;
	enum philox_status status;

	host_lock(device);
	status = host_graph_find(device, handle, adding, &graph);
	if (status == PHILOX_OK)
		status = host_find_deps(device, graph, handles, n, adding,
					&deps);
	if (status == PHILOX_OK)
		status = add_conditional(device, graph, &deps, what, &node);
	host_nodes_free(&deps);
	if (status == PHILOX_OK) {
		*result = (device_node)node;
		for (uint32_t i = 0; i < what->bodies; i++)
			bodies[i] = (philox_native_graph)
					    node->conditional->bodies[i];
	}
	host_unlock(device);
	return status;
}

/* --- graphs with bodies --------------------------------------------------- */

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

/* Calls `check` for the bodies of a graph, not for those below. */
static enum philox_status each_body(
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
	return each_body(graph, what, host_open_check);
}

/* In a body, copies are of memory that the device uses in place. */
static enum philox_status check_copy(const struct host_work *work,
				     const char *what)
{
	if (work->kind != HOST_COPY)
		return PHILOX_OK;
	for (uint32_t i = 0; i < work->args->n_arrays; i++)
		if (!work->args->arrays[i].serial)
			return status_set(
				PHILOX_ERROR_INVALID,
				"%s: %s is plain memory (%p), which "
				"no copy in a body can use",
				what, work->args->arrays[i].of.name,
				(void *)(uintptr_t)work->args->arrays[i].of.at);
	return PHILOX_OK;
}

static enum philox_status check_body(const struct host_graph *body,
				     const char *what)
{
	enum philox_status status = PHILOX_OK;

	if (!body->nodes.count)
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: a body of node %zu is empty", what,
				  body->parent->index);
	for (size_t i = 0; status == PHILOX_OK && i < body->nodes.count; i++)
		status = check_copy(&body->nodes.items[i]->work, what);
	return status == PHILOX_OK ? host_bodies_check(body, what) : status;
}

enum philox_status host_bodies_check(const struct host_graph *graph,
				     const char *what)
{
	if (graph->broken)
		return status_set(PHILOX_ERROR_CAPTURE_INVALIDATED,
				  "%s: a capture into the graph%s was "
				  "invalidated",
				  what, graph->parent ? ", or a body," : "");
	for (const struct host_condition *condition = graph->conditions;
	     condition; condition = condition->next)
		if (!condition->used)
			return status_set(PHILOX_ERROR_INVALID,
					  "%s: no node looks at condition "
					  "0x%" PRIxPTR,
					  what, (uintptr_t)&condition->value);
	return each_body(graph, what, check_body);
}
