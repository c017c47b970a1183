/*
 * tools/runner/label.c - what stands in the boxes of a runner's picture
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "tools/cli/cli.h"
#include "tools/pool/totals.h"
#include "tools/runner/tree.h"
#include "tools/runner/words.h"

static const struct text_key *key_of(const struct tree *tree,
				     const struct tree_node *node)
{
	const struct text_function *function =
		&tree->text->functions[node->function];

	return node->key == SIZE_MAX
		       ? NULL
		       : &tree->text->keys[function->keys.first + node->key];
}

static void write_key(const struct tree *tree, const struct tree_node *node,
		      char *text, size_t size)
{
	const struct text_key *key = key_of(tree, node);
	char bytes[36];

	if (!key) {
		snprintf(text, size, "several keys");
		return;
	}
	words_key(key, bytes, sizeof(bytes));
	snprintf(text, size, "key %zu: %s", node->key + 1, bytes);
}

/* Of a node for what is no recording. */
static struct tree_label label_other(const struct tree *tree,
				     const struct tree_node *node)
{
	const struct philox_function_counts *counts =
		&tree->text->functions[node->function].counts;
	struct tree_label label = {{""}};

	if (node->kind == TREE_GONE) {
		snprintf(label.lines[0], sizeof(label.lines[0]),
			 "recordings that are gone");
		return label;
	}
	snprintf(label.lines[0], sizeof(label.lines[0]), "eager calls");
	snprintf(label.lines[1], sizeof(label.lines[1]),
		 "%" PRIu64 " eager, %" PRIu64 " warm-up%s", counts->eager,
		 counts->warmup, plural(counts->warmup));
	return label;
}

struct tree_label tree_label(const struct tree *tree,
			     const struct tree_node *node)
{
	struct tree_label label = {{""}};
	char live[32] = "";

	if (node->kind == TREE_CALLS || node->kind == TREE_GONE)
		return label_other(tree, node);
	if (node->live)
		snprintf(live, sizeof(live), ", %" PRIu64 " live", node->live);
	if (node->kind == TREE_GROUP)
		snprintf(label.lines[0], sizeof(label.lines[0]),
			 "%zu recording%s%s", node->recordings,
			 plural(node->recordings), live);
	else
		snprintf(label.lines[0], sizeof(label.lines[0]),
			 "recording %" PRIu64 "%s", node->number, live);
	write_key(tree, node, label.lines[1], sizeof(label.lines[1]));
	snprintf(label.lines[2], sizeof(label.lines[2]),
		 "%" PRIu64 " replay%s, %s", node->replays,
		 plural(node->replays), totals_bytes(node->writes).text);
	return label;
}

void tree_title(const struct tree *tree, const struct tree_node *node,
		char *text, size_t size)
{
	const struct text_function *function =
		&tree->text->functions[node->function];
	struct tree_label label = tree_label(tree, node);
	char key[80];

	if (node->kind == TREE_CALLS || node->kind == TREE_GONE) {
		snprintf(text, size, "%s\n%s%s%s", function->name,
			 label.lines[0], *label.lines[1] ? "\n" : "",
			 label.lines[1]);
		return;
	}
	write_key(tree, node, key, sizeof(key));
	snprintf(text, size,
		 "%s\n%s\n%s\n%" PRIu64 " replay%s\nwrites %" PRIu64
		 " bytes of the pool\ntakes %" PRIu64 " bytes beside it%s%s%s",
		 function->name, label.lines[0], key, node->replays,
		 plural(node->replays), node->writes, node->bytes,
		 node->loops ? "\nreads outputs of its own" : "",
		 *function->reason ? "\nlast reason: " : "", function->reason);
}
