/*
 * lib/device/host/conditional.c - conditions, and nodes with bodies
 *
 * A body is a graph whose parent is its node. A condition belongs to a graph;
 * executable graphs keep it alive after that, since kernels and nodes of theirs
 * use its value. How the bodies run is in lib/device/host/work.c. Guarded by
 * the device's lock.
 */
#include <inttypes.h>
#include <stdlib.h>
#include "lib/device/host/host.h"

/* --- conditions ----------------------------------------------------------- */

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
	struct host_device *device = host_enter(base);
	struct host_graph *graph;
	enum philox_status status =
		host_graph_find(device, handle, what, &graph);

	if (status == PHILOX_OK && graph->parent && assigned)
		status = status_set(PHILOX_ERROR_INVALID,
				    "%s: the graph is a body; CUDA does not "
				    "say when it assigns a value there",
				    what);
	if (status == PHILOX_OK)
		status = condition_open(device, graph, value, assigned,
					condition);
	return host_leave(device, status);
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
		host_condition_find(device, what->condition, adding);
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
	struct host_device *device = host_enter(base);
	struct host_nodes deps = {0};
	struct host_graph *graph;
	struct host_node *node;
	enum philox_status status =
		host_graph_find(device, handle, adding, &graph);

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
	return host_leave(device, status);
}
