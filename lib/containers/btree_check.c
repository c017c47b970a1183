/*
 * lib/containers/btree_check.c - see lib/containers/btree.h: the invariants of an index
 */
#include "lib/containers/btree.h"

struct tree_walk {
	size_t nodes, entries;
	const struct index_node *leaf; /* the last one seen */
	struct index_key last;
	const char *wrong;
};

static int is_below(struct index_key a, struct index_key b)
{
	return a.high < b.high || (a.high == b.high && a.low < b.low);
}

static struct index_key node_key(const struct index_node *node, uint32_t slot)
{
	return (struct index_key){node->high[slot], node->low[slot]};
}

static void walk_leaf(const struct index_node *leaf, struct tree_walk *walk)
{
	if (leaf->before != walk->leaf ||
	    (walk->leaf && walk->leaf->after != leaf))
		walk->wrong = "leaves of an index are linked in another order";
	walk->leaf = leaf;
	for (uint32_t i = 0; i < leaf->n; i++) {
		if (walk->entries++ && !is_below(walk->last, node_key(leaf, i)))
			walk->wrong = "keys of an index are out of order";
		walk->last = node_key(leaf, i);
	}
}

static void walk_node(const struct index_node *node, unsigned level,
		      struct tree_walk *walk)
{
	const struct index_node *child, *next;

	walk->nodes++;
	if (!node->n || node->n > INDEX_FANOUT)
		walk->wrong = "a node of an index is empty or too full";
	for (uint32_t i = node->n; i < INDEX_FANOUT; i++)
		if (node->high[i] != UINT64_MAX || node->low[i] != UINT64_MAX)
			walk->wrong = "an unused slot of an index has a key";
	if (level == 1) {
		walk_leaf(node, walk);
		return;
	}
	for (uint32_t i = 0; i < node->n; i++) {
		child = node->values[i];
		if (is_below(node_key(child, 0), node_key(node, i)))
			walk->wrong = "a key of an index is below its bound";
		next = i + 1 < node->n ? node->values[i + 1] : NULL;
		if (next && child->n + next->n <= INDEX_LEAST)
			walk->wrong = "two nodes of an index could be one";
		walk_node(child, level - 1, walk);
		if (next && !is_below(walk->last, node_key(node, i + 1)))
			walk->wrong = "a key of an index is in another node";
	}
}

const char *index_check(const struct index *index, size_t *nodes)
{
	struct tree_walk walk = {0};

	if (index->root)
		walk_node(index->root, index->height, &walk);
	if (!walk.wrong && walk.leaf && walk.leaf->after)
		walk.wrong = "an index has a leaf too many";
	if (!walk.wrong && walk.entries != index->count)
		walk.wrong = "the count of an index is wrong";
	*nodes += walk.nodes;
	return walk.wrong;
}
