/*
 * lib/device/host/order.c - the order in which an executable graph runs nodes
 *
 * The order is legal, but not that of the capture: a small hash of the graph's
 * and the instantiation's numbers picks among the nodes that are ready. Two
 * executable graphs of the same work run in different orders, which are the
 * same on each run of a program, so that a missing edge shows up as a wrong
 * result. Called with the device's lock held; changes nothing in the graph.
 */
#include <stdlib.h>
#include "lib/device/host/host.h"

/* Scratch for ordering: one block for each node, edges as lists of users. */
struct ordering {
	size_t *missing;   /* by node: dependencies not placed yet */
	size_t *first_use; /* by node: where its users begin in `users` */
	size_t *users;     /* node indices */
	size_t *ready;     /* node indices, in no order */
	size_t ready_count;
};

static uint64_t mix_bits(uint64_t value)
{
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
	value = (value ^ value >> 27) * 0x94d049bb133111ebu;
	return value ^ value >> 31;
}

static size_t edge_count(const struct host_graph *graph)
{
	size_t edges = 0;

	for (size_t i = 0; i < graph->nodes.count; i++)
		edges += graph->nodes.items[i]->deps.count;
	return edges;
}

static int ordering_open(struct ordering *order, const struct host_graph *graph)
{
	size_t count = graph->nodes.count;
	size_t words = 3 * count + 2 + edge_count(graph);

	order->missing = calloc(words, sizeof(size_t));
	if (!order->missing)
		return 0;
	order->ready = order->missing + count;
	order->first_use = order->ready + count;
	order->users = order->first_use + count + 2;
	order->ready_count = 0;
	return 1;
}

/* Turns the nodes' lists of dependencies into lists of users. */
static void list_users(struct ordering *order, const struct host_graph *graph)
{
	size_t count = graph->nodes.count;
	size_t *place = order->first_use + 1; /* ends up shifted into shape */

	for (size_t i = 0; i < count; i++) {
		const struct host_nodes *deps = &graph->nodes.items[i]->deps;

		order->missing[i] = deps->count;
		for (size_t k = 0; k < deps->count; k++)
			place[deps->items[k]->index + 1]++;
	}
	for (size_t i = 1; i < count; i++)
		place[i] += place[i - 1];
	for (size_t i = 0; i < count; i++) {
		const struct host_nodes *deps = &graph->nodes.items[i]->deps;

		for (size_t k = 0; k < deps->count; k++)
			order->users[place[deps->items[k]->index]++] = i;
	}
}

static size_t take_ready(struct ordering *order, uint64_t seed)
{
	size_t pick = mix_bits(seed) % order->ready_count;
	size_t node = order->ready[pick];

	order->ready[pick] = order->ready[--order->ready_count];
	return node;
}

int host_order(const struct host_graph *graph, uint64_t seed, size_t *position)
{
	size_t count = graph->nodes.count;
	struct ordering order;

	if (!ordering_open(&order, graph))
		return 0;
	list_users(&order, graph);
	for (size_t i = 0; i < count; i++)
		if (!order.missing[i])
			order.ready[order.ready_count++] = i;
	for (size_t place = 0; place < count; place++) {
		size_t node = take_ready(&order, mix_bits(seed) + place);

		position[node] = place;
		for (size_t k = order.first_use[node];
		     k < order.first_use[node + 1]; k++)
			if (!--order.missing[order.users[k]])
				order.ready[order.ready_count++] =
					order.users[k];
	}
	free(order.missing);
	return 1;
}
