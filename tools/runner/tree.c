/*
 * tools/runner/tree.c - what there is to draw of a runner
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/cli/cli.h"
#include "tools/pool/pool.h"
#include "tools/runner/runner.h"

/* A recording, and its index. */
struct ranked {
	uint64_t number;
	size_t index;
};

/* While it is made: the node of each recording, and those of each function. */
struct growing {
	struct tree *tree;
	size_t *nodes;        /* of each recording, by its index */
	struct ranked *order; /* recordings, by number */
	size_t *calls;        /* of each function; SIZE_MAX: none */
	size_t *gone;         /* likewise */
	size_t *groups;       /* of each key, or function */
};

/* --- recordings by number --------------------------------------------------- */

static int by_number(const void *one, const void *other)
{
	const struct ranked *a = one, *b = other;

	return (a->number > b->number) - (a->number < b->number);
}

static void order_recordings(struct growing *growing)
{
	const struct runner_text *text = growing->tree->text;

	for (size_t i = 0; i < text->n_recordings; i++)
		growing->order[i] =
			(struct ranked){text->recordings[i].number, i};
	qsort(growing->order, text->n_recordings, sizeof(*growing->order),
	      by_number);
}

/* SIZE_MAX: it is gone. */
static size_t find_recording(const struct growing *growing, uint64_t number)
{
	const struct ranked wanted = {.number = number};
	const struct ranked *found = bsearch(&wanted, growing->order,
					     growing->tree->text->n_recordings,
					     sizeof(wanted), by_number);

	return found ? found->index : SIZE_MAX;
}

/* --- nodes ---------------------------------------------------------------- */

static size_t add_node(struct tree *tree, enum tree_kind kind, size_t function)
{
	struct tree_node *node = &tree->nodes[tree->n_nodes];

	*node = (struct tree_node){.kind = kind, .function = function};
	return tree->n_nodes++;
}

/* The function's node for what is no recording. */
static size_t find_other(struct growing *growing,
			 const struct text_source *source)
{
	const size_t function = (size_t)source->function - 1;
	size_t *node = source->recording ? &growing->gone[function]
					 : &growing->calls[function];

	if (*node == SIZE_MAX)
		*node = add_node(growing->tree,
				 source->recording ? TREE_GONE : TREE_CALLS,
				 function);
	return *node;
}

static size_t group_place(const struct tree *tree,
			  const struct text_recording *recording)
{
	const struct text_function *function =
		&tree->text->functions[recording->function];

	return tree->level == TREE_BY_KEY
		       ? function->keys.first + recording->key - 1
		       : recording->function;
}

/* How many nodes recordings take at a level. */
static size_t count_nodes(struct growing *growing, enum tree_level level)
{
	const struct runner_text *text = growing->tree->text;
	size_t n = 0;

	growing->tree->level = level;
	if (level == TREE_EACH)
		return text->n_recordings;
	for (size_t i = 0; i < text->n_keys + text->n_functions; i++)
		growing->groups[i] = SIZE_MAX;
	for (size_t i = 0; i < text->n_recordings; i++) {
		size_t *group = &growing->groups[group_place(
			growing->tree, &text->recordings[i])];

		n += *group == SIZE_MAX;
		*group = 0;
	}
	return n;
}

static void choose_level(struct growing *growing)
{
	if (count_nodes(growing, TREE_EACH) > TREE_MOST &&
	    count_nodes(growing, TREE_BY_KEY) > TREE_MOST)
		count_nodes(growing, TREE_BY_FUNCTION);
	for (size_t i = 0;
	     i < growing->tree->text->n_keys + growing->tree->text->n_functions;
	     i++)
		growing->groups[i] = SIZE_MAX;
}

static void add_to_node(struct tree *tree, size_t index,
			const struct text_recording *recording)
{
	struct tree_node *node = &tree->nodes[index];

	if (!node->recordings++) {
		node->number = recording->number;
		node->key = recording->key - 1;
	} else if (node->key != recording->key - 1) {
		node->key = SIZE_MAX;
	}
	node->replays += recording->replays;
	node->unplayed += !recording->replays;
	node->bytes += recording->bytes;
	node->writes += recording->writes;
}

static void place_recording(struct growing *growing, size_t index)
{
	struct tree *tree = growing->tree;
	const struct text_recording *recording = &tree->text->recordings[index];
	size_t *group = &growing->groups[group_place(tree, recording)];

	if (tree->level == TREE_EACH) {
		growing->nodes[index] =
			add_node(tree, TREE_RECORDING, recording->function);
	} else {
		if (*group == SIZE_MAX)
			*group =
				add_node(tree, TREE_GROUP, recording->function);
		growing->nodes[index] = *group;
	}
	add_to_node(tree, growing->nodes[index], recording);
}

/* Those that are not recordings are before all others: nothing is above them. */
static void place_others(struct growing *growing)
{
	const struct runner_text *text = growing->tree->text;

	for (size_t i = 0; i < text->n_functions; i++)
		if (!text->functions[i].recordings.n &&
		    !text->functions[i].destroyed)
			growing->calls[i] =
				add_node(growing->tree, TREE_CALLS, i);
	for (size_t i = 0; i < text->n_sources; i++)
		if (text->sources[i].function &&
		    find_recording(growing, text->sources[i].recording) ==
			    SIZE_MAX)
			find_other(growing, &text->sources[i]);
}

static void count_live(struct growing *growing)
{
	const struct runner_text *text = growing->tree->text;

	for (size_t i = 0; i < text->n_live; i++) {
		const struct text_output *live = &text->live[i];
		const size_t found =
			live->recording
				? find_recording(growing, live->recording)
				: SIZE_MAX;
		const size_t function = (size_t)live->function - 1;
		const size_t other = live->recording ? growing->gone[function]
						     : growing->calls[function];

		if (found != SIZE_MAX)
			growing->tree->nodes[growing->nodes[found]].live++;
		else if (other != SIZE_MAX)
			growing->tree->nodes[other].live++;
	}
}

/* --- edges ---------------------------------------------------------------- */

static void add_edge(struct growing *growing, size_t from, size_t to,
		     const struct text_source *source, size_t input)
{
	const struct runner_text *text = growing->tree->text;
	const struct text_function *parent =
		&text->functions[source->function - 1];
	const struct text_function *child =
		&text->functions[growing->tree->nodes[to].function];

	growing->tree->edges[growing->tree->n_edges++] = (struct tree_edge){
		.from = from,
		.to = to,
		.output =
			text->parts[parent->outputs.first + source->output - 1]
				.name,
		.input = text->parts[child->inputs.first + input].name,
		.place = input,
		.inputs = 1,
		.back = from > to};
}

static void add_edges(struct growing *growing, size_t index)
{
	struct tree *tree = growing->tree;
	const struct text_recording *recording = &tree->text->recordings[index];
	const size_t to = growing->nodes[index];

	for (size_t i = 0; i < recording->sources.n; i++) {
		const struct text_source *source =
			&tree->text->sources[recording->sources.first + i];
		size_t found, from;

		if (!source->function)
			continue;
		found = find_recording(growing, source->recording);
		from = found == SIZE_MAX ? find_other(growing, source)
					 : growing->nodes[found];
		if (from == to)
			tree->nodes[to].loops++;
		else
			add_edge(growing, from, to, source, i);
	}
}

static int by_ends(const void *one, const void *other)
{
	const struct tree_edge *a = one, *b = other;

	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->place > b->place) - (a->place < b->place);
}

static void join_edges(struct tree *tree)
{
	size_t joined = 0;

	if (!tree->n_edges)
		return;
	qsort(tree->edges, tree->n_edges, sizeof(*tree->edges), by_ends);
	for (size_t i = 1; i < tree->n_edges; i++) {
		struct tree_edge *last = &tree->edges[joined];

		if (last->from == tree->edges[i].from &&
		    last->to == tree->edges[i].to)
			last->inputs++;
		else
			tree->edges[++joined] = tree->edges[i];
	}
	tree->n_edges = joined + 1;
}

/* --- rows ----------------------------------------------------------------- */

/* What reads nothing is right above the first that reads it. */
static void lower_sources(struct tree *tree, int *reads)
{
	for (size_t i = 0; i < tree->n_nodes; i++)
		if (!reads[i])
			tree->nodes[i].row = UINT32_MAX;
	for (size_t i = 0; i < tree->n_edges; i++) {
		const struct tree_edge *edge = &tree->edges[i];
		unsigned row = tree->nodes[edge->to].row;

		if (!edge->back && !reads[edge->from] && row &&
		    row - 1 < tree->nodes[edge->from].row)
			tree->nodes[edge->from].row = row - 1;
	}
	for (size_t i = 0; i < tree->n_nodes; i++)
		if (tree->nodes[i].row == UINT32_MAX)
			tree->nodes[i].row = 0;
}

/* Edges are in order of the node that they end at, and that of its rows. */
static int give_rows(struct tree *tree)
{
	int *reads = calloc(tree->n_nodes + 1, sizeof(*reads));

	if (!reads)
		return -1;
	for (size_t i = 0; i < tree->n_edges; i++) {
		const struct tree_edge *edge = &tree->edges[i];
		struct tree_node *to = &tree->nodes[edge->to];
		const unsigned above = tree->nodes[edge->from].row;

		if (edge->back)
			continue;
		reads[edge->to] = 1;
		if (to->row <= above)
			to->row = above + 1;
	}
	lower_sources(tree, reads);
	for (size_t i = 0; i < tree->n_nodes; i++)
		if (tree->nodes[i].row >= tree->rows)
			tree->rows = tree->nodes[i].row + 1;
	free(reads);
	return 0;
}

/* --- the whole ------------------------------------------------------------ */

static int reserve(struct growing *growing)
{
	const struct runner_text *text = growing->tree->text;
	const size_t functions = text->n_functions + 1;
	const size_t recordings = text->n_recordings + 1;

	growing->nodes = calloc(recordings, sizeof(size_t));
	growing->order = calloc(recordings, sizeof(*growing->order));
	growing->calls = malloc(functions * sizeof(size_t));
	growing->gone = malloc(functions * sizeof(size_t));
	growing->groups = malloc((text->n_keys + functions) * sizeof(size_t));
	growing->tree->nodes = calloc(recordings + 2 * functions,
				      sizeof(*growing->tree->nodes));
	growing->tree->edges =
		calloc(text->n_sources + 1, sizeof(*growing->tree->edges));
	if (!growing->nodes || !growing->order || !growing->calls ||
	    !growing->gone || !growing->groups || !growing->tree->nodes ||
	    !growing->tree->edges)
		return -1;
	for (size_t i = 0; i < functions; i++)
		growing->calls[i] = growing->gone[i] = SIZE_MAX;
	return 0;
}

static int grow(struct growing *growing)
{
	struct tree *tree = growing->tree;

	order_recordings(growing);
	choose_level(growing);
	place_others(growing);
	for (size_t i = 0; i < tree->text->n_recordings; i++)
		place_recording(growing, growing->order[i].index);
	for (size_t i = 0; i < tree->text->n_recordings; i++)
		add_edges(growing, i);
	count_live(growing);
	join_edges(tree);
	return give_rows(tree);
}

int tree_make(const struct runner_text *text, struct tree *tree)
{
	struct growing growing = {.tree = tree};
	int result;

	memset(tree, 0, sizeof(*tree));
	tree->text = text;
	result = reserve(&growing);
	if (!result)
		result = grow(&growing);
	free(growing.nodes);
	free(growing.order);
	free(growing.calls);
	free(growing.gone);
	free(growing.groups);
	if (result)
		tree_finish(tree);
	return result;
}

void tree_finish(struct tree *tree)
{
	free(tree->nodes);
	free(tree->edges);
	memset(tree, 0, sizeof(*tree));
}

/* --- what stands in boxes -------------------------------------------------- */

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
	char words[KEY_WORDS];

	if (!key) {
		snprintf(text, size, "several keys");
		return;
	}
	words_key(key, words, 36);
	snprintf(text, size, "key %zu: %s", node->key + 1, words);
}

/* Of a node for what is no recording. */
static struct tree_label label_other(const struct tree *tree,
				     const struct tree_node *node)
{
	const struct philox_function_stats *counts =
		&tree->text->functions[node->function].counts;
	struct tree_label label = {{""}};

	if (node->kind == TREE_GONE) {
		snprintf(label.lines[0], sizeof(label.lines[0]),
			 "destroyed recordings");
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
		 node->loops ? "\nreads its own outputs" : "",
		 *function->reason ? "\nlast reason: " : "", function->reason);
}
