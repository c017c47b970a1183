/*
 * graph/capture/topology.c - what comes before what in a graph that is being
 * captured
 *
 * These questions are asked of the graph itself, by walking it back from a
 * stream's present dependencies: a stream may have joined the capture at any
 * point, and its dependencies may have been set by anyone. Their answer may be
 * "unsure", after too long a walk or an error of the device, which is not
 * reported. All are legal during capture.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "graph/capture/capture.h"
#include "lib/containers/array.h"

/* A walk of this many nodes has taken too long. */
#define WALK_MAX ((size_t)1 << 16)

/* Nodes met, in order, and a table that finds them: half of it is empty. */
struct walk {
	struct philox_device *device;
	device_node *met;
	size_t n_met, next; /* the first whose dependencies are not known */
	device_node *table;
	size_t size; /* a power of two */
};

static size_t place_of(const struct walk *walk, device_node node)
{
	uint64_t hash = (uintptr_t)node * UINT64_C(0x9e3779b97f4a7c15);
	size_t place = (size_t)(hash >> 20) & (walk->size - 1);

	while (walk->table[place] && walk->table[place] != node)
		place = (place + 1) & (walk->size - 1);
	return place;
}

static void walk_free(struct walk *walk)
{
	free(walk->met);
	free(walk->table);
}

/* Makes room for twice as many nodes; 0 without memory. */
static int walk_grow(struct walk *walk)
{
	size_t size = walk->size ? 2 * walk->size : 64;
	device_node *table = calloc(size, sizeof(*table));

	if (!table || !array_grow(&walk->met, walk->n_met,
				  size / 2 - walk->n_met, sizeof(*walk->met))) {
		free(table);
		return 0;
	}
	free(walk->table);
	walk->table = table;
	walk->size = size;
	for (size_t i = 0; i < walk->n_met; i++)
		table[place_of(walk, walk->met[i])] = walk->met[i];
	return 1;
}

/* Notes a node once; 0 if there is no room for it. */
static int walk_meet(struct walk *walk, device_node node)
{
	size_t place;

	if (walk->n_met == walk->size / 2 &&
	    (walk->n_met >= WALK_MAX || !walk_grow(walk)))
		return 0;
	place = place_of(walk, node);
	if (walk->table[place])
		return 1;
	walk->table[place] = node;
	walk->met[walk->n_met++] = node;
	return 1;
}

static int walk_meet_all(struct walk *walk, const device_node *nodes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!walk_meet(walk, nodes[i]))
			return 0;
	return 1;
}

/* Whether the device tells what a node depends on; it need not say why not. */
static int deps_known(struct philox_device *device, device_node node,
		      device_node *deps, size_t *n)
{
	const struct status_message kept = status_kept();

	if (device_node_deps(device, node, deps, n) == PHILOX_OK)
		return 1;
	status_restore(&kept);
	return 0;
}

/* Goes on to what the next node depends on; 0 if that cannot be known. */
static int walk_on(struct walk *walk)
{
	device_node few[CAPTURE_TIPS], *many, node = walk->met[walk->next++];
	size_t n = CAPTURE_TIPS;
	int known;

	if (!deps_known(walk->device, node, few, &n))
		return 0;
	if (n <= CAPTURE_TIPS)
		return walk_meet_all(walk, few, n);
	many = malloc(n * sizeof(*many));
	known = many && deps_known(walk->device, node, many, &n) &&
		walk_meet_all(walk, many, n);
	free(many);
	return known;
}

static int walk_begin(struct walk *walk, struct philox_device *device,
		      const struct capture_tips *tips)
{
	*walk = (struct walk){.device = device};
	return tips->n <= CAPTURE_TIPS &&
	       walk_meet_all(walk, tips->nodes, tips->n);
}

static int holds(const device_node *nodes, size_t n, device_node node)
{
	for (size_t i = 0; i < n; i++)
		if (nodes[i] == node)
			return 1;
	return 0;
}

/*
 * Whether one of the nodes `known` is among the tips or comes before one of
 * them; 0 if unsure.
 */
static int order_is_after(struct philox_device *device,
			  const struct capture_tips *tips,
			  const device_node *known, size_t n_known)
{
	const struct status_message kept = status_kept();
	struct walk walk;
	size_t seen = 0;
	int sure, found = 0;

	sure = walk_begin(&walk, device, tips);
	while (sure && !found) {
		for (; !found && seen < walk.n_met; seen++)
			found = holds(known, n_known, walk.met[seen]);
		sure = walk.next < walk.n_met && !found && walk_on(&walk);
	}
	walk_free(&walk);
	status_restore(&kept);
	return found;
}

/*
 * Whether every node of a graph is among the tips or comes before one of them;
 * 0 if unsure.
 */
static int order_is_whole(struct philox_device *device,
			  philox_native_graph graph,
			  const struct capture_tips *tips)
{
	const struct status_message kept = status_kept();
	struct walk walk = {0};
	size_t nodes = 0;
	int sure;

	sure = philox_native_graph_node_count(device, graph, &nodes) ==
		       PHILOX_OK &&
	       walk_begin(&walk, device, tips);
	while (sure && walk.next < walk.n_met)
		sure = walk_on(&walk);
	sure = sure && walk.n_met == nodes;
	walk_free(&walk);
	status_restore(&kept);
	return sure;
}

/* --- depend: a kernel of ours that what a graph draws comes after --------- */

enum philox_status depend_add(struct philox_device *device,
			      philox_native_graph native,
			      const struct capture_tips *tips,
			      const struct kernel_call *call,
			      struct first_node *first)
{
	const int whole = order_is_whole(device, native, tips);

	first->n_after = 0;
	first->priority = 0;
	return device_graph_add_kernel(device, native, tips->nodes,
				       whole ? tips->n : 0, call, &first->node);
}

/* Walks end at nodes that are known to come after the kernel. */
static void note_after(struct first_node *first,
		       const struct capture_tips *tips)
{
	if (tips->n == 1)
		first->after[first->n_after++ % DEPEND_AFTER] = tips->nodes[0];
}

static int is_after_first(struct philox_device *device,
			  const struct first_node *first,
			  const struct capture_tips *tips)
{
	device_node known[1 + DEPEND_AFTER] = {first->node};
	size_t n =
		first->n_after < DEPEND_AFTER ? first->n_after : DEPEND_AFTER;

	memcpy(known + 1, first->after, n * sizeof(*known));
	return order_is_after(device, tips, known, 1 + n);
}

/* Whether the kernel itself waits for all that the stream waits for. */
static int is_before_first(struct philox_device *device,
			   const struct first_node *first,
			   const struct capture_tips *tips)
{
	device_node before[CAPTURE_TIPS];
	size_t n = CAPTURE_TIPS;

	if (tips->n > CAPTURE_TIPS ||
	    !deps_known(device, first->node, before, &n) || n > CAPTURE_TIPS)
		return 0;
	for (size_t i = 0; i < tips->n; i++)
		if (!holds(before, n, tips->nodes[i]))
			return 0;
	return 1;
}

enum philox_status depend_set(struct philox_device *device,
			      struct first_node *first,
			      const struct kernel_call *call)
{
	enum philox_status status =
		device_graph_set_kernel(device, first->node, call);

	if (status != PHILOX_OK || !first->priority)
		return status;
	status = device_node_priority(device, first->node, first->priority);
	if (status != PHILOX_OK)
		first->priority = 0;
	return status;
}

enum philox_status depend_raise(struct philox_device *device,
				struct first_node *first, philox_stream stream)
{
	int priority;
	enum philox_status status =
		device_stream_priority(device, stream, &priority);

	if (status != PHILOX_OK || priority >= first->priority)
		return status;
	status = device_node_priority(device, first->node, priority);
	if (status == PHILOX_OK)
		first->priority = priority;
	return status;
}

enum philox_status depend_on(struct philox_device *device,
			     struct first_node *first, philox_stream stream,
			     const struct capture_tips *tips)
{
	enum philox_status status = depend_raise(device, first, stream);

	if (status != PHILOX_OK)
		return status;
	if (is_after_first(device, first, tips)) {
		note_after(first, tips);
		return PHILOX_OK;
	}
	return is_before_first(device, first, tips)
		       ? device_capture_after(device, stream, first->node)
		       : device_capture_depend(device, stream, first->node);
}
