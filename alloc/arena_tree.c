/*
 * alloc/arena_tree.c - see alloc/arena_tree.h
 */
#include "alloc/arena_tree.h"

static int is_before(const struct arena_piece *one,
		     const struct arena_piece *other)
{
	if (one->number != other->number)
		return one->number < other->number;
	return one->offset < other->offset;
}

static size_t largest_of(const struct arena_piece *piece)
{
	return piece ? piece->largest : 0;
}

static void measure(struct arena_piece *piece)
{
	const size_t left = largest_of(piece->left);
	const size_t right = largest_of(piece->right);

	piece->largest = piece->size;
	if (left > piece->largest)
		piece->largest = left;
	if (right > piece->largest)
		piece->largest = right;
}

/* Those before a piece, and those after it. */
static void split_tree(struct arena_piece *root,
		       const struct arena_piece *piece,
		       struct arena_piece **before, struct arena_piece **after)
{
	if (!root) {
		*before = *after = NULL;
	} else if (is_before(root, piece)) {
		*before = root;
		split_tree(root->right, piece, &root->right, after);
		measure(root);
	} else {
		*after = root;
		split_tree(root->left, piece, before, &root->left);
		measure(root);
	}
}

/* All of `before` are before those of `after`. */
static struct arena_piece *join_trees(struct arena_piece *before,
				      struct arena_piece *after)
{
	if (!before || !after)
		return before ? before : after;
	if (before->priority > after->priority) {
		before->right = join_trees(before->right, after);
		measure(before);
		return before;
	}
	after->left = join_trees(before, after->left);
	measure(after);
	return after;
}

void arena_tree_put(struct arena_piece **root, struct arena_piece *piece)
{
	struct arena_piece *at = *root;

	if (at && at->priority >= piece->priority) {
		arena_tree_put(is_before(at, piece) ? &at->right : &at->left,
			       piece);
		measure(at);
		return;
	}
	split_tree(at, piece, &piece->left, &piece->right);
	measure(piece);
	*root = piece;
}

void arena_tree_take(struct arena_piece **root, struct arena_piece *piece)
{
	struct arena_piece *at = *root;

	if (at == piece) {
		*root = join_trees(at->left, at->right);
		return;
	}
	arena_tree_take(is_before(at, piece) ? &at->right : &at->left, piece);
	measure(at);
}

struct arena_piece *arena_tree_find(struct arena_piece *root, size_t size)
{
	while (largest_of(root) >= size && largest_of(root)) {
		if (largest_of(root->left) >= size)
			root = root->left;
		else if (root->size >= size)
			return root;
		else
			root = root->right;
	}
	return NULL;
}
