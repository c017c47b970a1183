/*
 * lib/containers/btree.c - see lib/containers/btree.h
 *
 * Full nodes are split on the way down, so an insertion never comes back up.
 */
#include <string.h>
#include "lib/containers/btree.h"

#define HEIGHT_MAX 16

#define GROUP      6 /* slots; a node has five groups */

/*
 * How many keys of a node have a lower high part. First the group, then in it:
 * comparisons do not wait for each other, and no branch depends on them, which
 * could not be predicted. Slots that are not in use have keys above all others.
 */
static inline uint32_t count_below(const uint64_t *high, uint64_t bound)
{
	uint32_t n = (uint32_t)(high[GROUP - 1] < bound) +
		     (uint32_t)(high[2 * GROUP - 1] < bound) +
		     (uint32_t)(high[3 * GROUP - 1] < bound) +
		     (uint32_t)(high[4 * GROUP - 1] < bound);

	high += n * GROUP;
	return n * GROUP + (uint32_t)(high[0] < bound) +
	       (uint32_t)(high[1] < bound) + (uint32_t)(high[2] < bound) +
	       (uint32_t)(high[3] < bound) + (uint32_t)(high[4] < bound) +
	       (uint32_t)(high[5] < bound);
}

/* How many keys of a node are <= key. */
static inline uint32_t count_up_to(const struct index_node *node,
				   struct index_key key)
{
	uint32_t n = count_below(node->high, key.high), end, middle;

	if (n == INDEX_FANOUT || node->high[n] != key.high)
		return n;
	if (!node->wide)
		return n + 1;
	if (node->low[n] > key.low)
		return n;
	/* Most high parts are there once */
	if (++n == INDEX_FANOUT || node->high[n] != key.high)
		return n;
	end = count_below(node->high, key.high + 1);
	while (n < end) {
		middle = (n + end) / 2;
		if (node->low[middle] <= key.low)
			n = middle + 1;
		else
			end = middle;
	}
	return n;
}

_Static_assert(INDEX_FANOUT == 5 * GROUP, "groups cover a node");

/* The child that a key belongs to: keys below all are the first one's. */
static uint32_t child_of(const struct index_node *node, struct index_key key)
{
	uint32_t n = count_up_to(node, key);

	return n ? n - 1 : 0;
}

static void move_entries(struct index_node *to, uint32_t at,
			 const struct index_node *from, uint32_t first,
			 uint32_t n)
{
	memmove(to->high + at, from->high + first, n * sizeof(to->high[0]));
	if (to->wide)
		memmove(to->low + at, from->low + first,
			n * sizeof(to->low[0]));
	memmove(to->values + at, from->values + first,
		n * sizeof(to->values[0]));
}

static void put_entry(struct index_node *node, uint32_t slot,
		      struct index_key key, void *value)
{
	move_entries(node, slot + 1, node, slot, node->n - slot);
	node->high[slot] = key.high;
	node->low[slot] = key.low;
	node->values[slot] = value;
	node->n++;
}

/* From now on a node has so many entries; the slots behind them are unused. */
static void set_count(struct index_node *node, uint32_t n)
{
	for (uint32_t slot = n; slot < node->n; slot++)
		node->high[slot] = node->low[slot] = UINT64_MAX;
	node->n = n;
}

static void cut_entry(struct index_node *node, uint32_t slot)
{
	move_entries(node, slot, node, slot + 1, node->n - 1 - slot);
	set_count(node, node->n - 1);
}

static struct index_node *make_node(struct slab *nodes, uint32_t wide)
{
	struct index_node *node = slab_take(nodes);

	node->wide = wide;
	node->n = INDEX_FANOUT;
	set_count(node, 0);
	node->before = NULL;
	node->after = NULL;
	return node;
}

static void link_after(struct index_node *left, struct index_node *right)
{
	right->before = left;
	right->after = left->after;
	if (left->after)
		left->after->before = right;
	left->after = right;
}

static void unlink_leaf(struct index_node *leaf)
{
	if (leaf->before)
		leaf->before->after = leaf->after;
	if (leaf->after)
		leaf->after->before = leaf->before;
}

/* --- inserting ------------------------------------------------------------ */

static void split_child(struct index_node *parent, uint32_t slot,
			struct slab *nodes, int is_leaf)
{
	struct index_node *left = parent->values[slot];
	struct index_node *right = make_node(nodes, left->wide);

	/* Keys that come in order fill each leaf */
	right->n = is_leaf && !left->after ? 1 : left->n / 2;
	move_entries(right, 0, left, left->n - right->n, right->n);
	set_count(left, left->n - right->n);
	if (is_leaf)
		link_after(left, right);
	put_entry(parent, slot + 1,
		  (struct index_key){right->high[0], right->low[0]}, right);
}

static void raise_root(struct index *index, struct slab *nodes)
{
	struct index_node *root = make_node(nodes, index->wide);
	struct index_node *child = index->root;

	put_entry(root, 0, (struct index_key){child->high[0], child->low[0]},
		  child);
	split_child(root, 0, nodes, index->height == 1);
	index->root = root;
	index->height++;
}

/* Lowers the bound of the first child if the key is below it. */
static void lower_bound_to(struct index_node *node, struct index_key key)
{
	if (key.high < node->high[0] ||
	    (key.high == node->high[0] && key.low < node->low[0])) {
		node->high[0] = key.high;
		node->low[0] = key.low;
	}
}

static struct index_node *step_down(struct index_node *node,
				    struct index_key key, struct slab *nodes,
				    int to_leaf)
{
	uint32_t slot = child_of(node, key);
	struct index_node *child = node->values[slot];

	lower_bound_to(node, key);
	if (child->n < INDEX_FANOUT)
		return child;
	split_child(node, slot, nodes, to_leaf);
	return node->values[child_of(node, key)];
}

static int is_above(const struct index_node *leaf, struct index_key key)
{
	const uint64_t high = leaf->high[leaf->n - 1];

	return key.high > high || (leaf->wide && key.high == high &&
				   key.low > leaf->low[leaf->n - 1]);
}

/* Behind the last entry, without a search. 0: it belongs elsewhere. */
static int append_entry(const struct index *index, struct index_key key,
			void *value)
{
	struct index_node *leaf = index->last;

	if (!leaf || leaf->after || leaf->n == INDEX_FANOUT ||
	    !is_above(leaf, key))
		return 0;
	leaf->high[leaf->n] = key.high;
	leaf->low[leaf->n] = key.low;
	leaf->values[leaf->n++] = value;
	return 1;
}

void index_insert(struct index *index, struct slab *nodes, struct index_key key,
		  void *value)
{
	struct index_node *node;

	index->count++;
	if (append_entry(index, key, value))
		return;
	if (!index->root) {
		index->root = make_node(nodes, index->wide);
		index->height = 1;
	}
	if (index->root->n == INDEX_FANOUT)
		raise_root(index, nodes);
	node = index->root;
	for (unsigned level = index->height; level > 1; level--)
		node = step_down(node, key, nodes, level == 2);
	put_entry(node, count_up_to(node, key), key, value);
	if (!node->after)
		index->last = node;
}

/* --- removing ------------------------------------------------------------- */

static int may_join(const struct index_node *left,
		    const struct index_node *right)
{
	return !left->n || !right->n || left->n + right->n <= INDEX_JOIN;
}

/*
 * Joins the children at slot and slot + 1, which are of that level; 1: leaves.
 * Where they meet, theirs have become neighbours.
 */
static void join_children(struct index_node *parent, uint32_t slot,
			  struct slab *nodes, unsigned level)
{
	struct index_node *left = parent->values[slot];
	struct index_node *right = parent->values[slot + 1];
	const uint32_t seam = left->n;

	move_entries(left, left->n, right, 0, right->n);
	left->n += right->n;
	if (level == 1)
		unlink_leaf(right);
	cut_entry(parent, slot + 1);
	slab_give(nodes, right);
	if (level > 1 && seam && seam < left->n &&
	    may_join(left->values[seam - 1], left->values[seam]))
		join_children(left, seam - 1, nodes, level - 1);
}

/* Whether the child at slot was joined, or is gone because it was empty. */
static int shrink(struct index_node *parent, uint32_t slot, struct slab *nodes,
		  unsigned level)
{
	struct index_node *child = parent->values[slot];

	/* With more it needs no neighbour: their counts are not looked up */
	if (child->n > INDEX_LEAST)
		return 0;
	if (slot + 1 < parent->n && may_join(child, parent->values[slot + 1])) {
		join_children(parent, slot, nodes, level);
		return 1;
	}
	if (slot && may_join(parent->values[slot - 1], child)) {
		join_children(parent, slot - 1, nodes, level);
		return 1;
	}
	if (child->n)
		return 0;
	if (level == 1)
		unlink_leaf(child);
	cut_entry(parent, slot);
	slab_give(nodes, child);
	return 1;
}

static void lower_root(struct index *index, struct slab *nodes)
{
	struct index_node *root;

	while ((root = index->root)->n <= 1) {
		if (root->n && index->height == 1)
			return;
		index->root = root->n ? root->values[0] : NULL;
		index->height = root->n ? index->height - 1 : 0;
		slab_give(nodes, root);
		if (!index->root)
			return;
	}
}

void *index_remove(struct index *index, struct slab *nodes,
		   struct index_key key)
{
	struct index_node *path[HEIGHT_MAX], *node = index->root;
	uint32_t slots[HEIGHT_MAX], slot;
	unsigned depth = 0;
	void *value;

	if (!node)
		return NULL;
	for (unsigned level = index->height; level > 1; level--) {
		path[depth] = node;
		slots[depth] = child_of(node, key);
		node = node->values[slots[depth++]];
	}
	slot = count_up_to(node, key);
	if (!slot-- || node->high[slot] != key.high ||
	    (node->wide && node->low[slot] != key.low))
		return NULL;
	value = node->values[slot];
	cut_entry(node, slot);
	index->count--;
	if (node->n <= INDEX_LEAST)
		index->last = NULL; /* it may go */
	for (unsigned i = depth; i-- > 0;)
		if (!shrink(path[i], slots[i], nodes, depth - i))
			break;
	lower_root(index, nodes);
	return value;
}

static void clear_node(struct index_node *node, unsigned level,
		       struct slab *nodes)
{
	for (uint32_t i = 0; level > 1 && i < node->n; i++)
		clear_node(node->values[i], level - 1, nodes);
	slab_give(nodes, node);
}

void index_clear(struct index *index, struct slab *nodes)
{
	if (index->root)
		clear_node(index->root, index->height, nodes);
	*index = (struct index){.wide = index->wide};
}

/* --- searching ------------------------------------------------------------ */

static const struct index_node *leaf_of(const struct index *index,
					struct index_key key)
{
	const struct index_node *node = index->root;

	for (unsigned level = index->height; level > 1; level--)
		node = node->values[child_of(node, key)];
	return node;
}

void index_replace(struct index *index, struct index_key key, void *value)
{
	struct index_node *node = index->root;

	for (unsigned level = index->height; level > 1; level--)
		node = node->values[child_of(node, key)];
	node->values[count_up_to(node, key) - 1] = value;
}

struct index_cursor index_first(const struct index *index)
{
	const struct index_node *node = index->root;

	for (unsigned level = index->height; level > 1; level--)
		node = node->values[0];
	return (struct index_cursor){node, 0};
}

struct index_cursor index_at_least(const struct index *index,
				   struct index_key key)
{
	const struct index_node *leaf = leaf_of(index, key);
	uint32_t slot;

	if (!leaf)
		return (struct index_cursor){NULL, 0};
	slot = count_up_to(leaf, key);
	if (slot && leaf->high[slot - 1] == key.high &&
	    (!leaf->wide || leaf->low[slot - 1] == key.low))
		slot--;
	if (slot == leaf->n)
		return (struct index_cursor){leaf->after, 0};
	return (struct index_cursor){leaf, slot};
}

struct index_cursor index_at_most(const struct index *index,
				  struct index_key key)
{
	const struct index_node *leaf = leaf_of(index, key);
	uint32_t slot;

	if (!leaf)
		return (struct index_cursor){NULL, 0};
	slot = count_up_to(leaf, key);
	if (slot)
		return (struct index_cursor){leaf, slot - 1};
	leaf = leaf->before;
	return (struct index_cursor){leaf, leaf ? leaf->n - 1 : 0};
}

struct index_cursor index_last(const struct index *index)
{
	return index_at_most(index,
			     (struct index_key){UINT64_MAX - 1, UINT64_MAX});
}

/* --- btree_check: see lib/containers/btree.h: the invariants of an index -- */

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
	return (struct index_key){node->high[slot],
				  node->wide ? node->low[slot] : 0};
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
