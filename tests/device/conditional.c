/*
 * tests/device/conditional.c - conditional nodes of host devices
 *
 * Trees of nodes, nested at random, run as a model of them does. Each node has
 * a word, which takes the next of a tape before the node and at the end of each
 * run of a WHILE's body; what runs leaves a mark.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include "lib/device/device.h"
#include "tests/support/support.h"

enum { TAPE = 64, NODES = 24, MARKS = 4096, DEPTH = 4 };

struct tree {
	enum conditional_kind kind;
	uint32_t bodies;
	uint32_t number;
	struct tree *inner[3]; /* one for each body, or NULL */
	struct tree *after;    /* in the same graph, or NULL */
};

struct world {
	struct philox_device *device;
	uint64_t random;
	uint32_t tape[TAPE], next; /* zeros after the end */
	uint32_t *words;           /* device memory: NODES */
	uint32_t marks[MARKS], count;
	struct tree trees[NODES];
	uint32_t made;
	philox_stream streams[DEPTH + 1];
};

static uint32_t below(struct world *w, uint32_t n)
{
	w->random = w->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(w->random >> 33) % n;
}

static struct tree *make_tree(struct world *w, int depth)
{
	struct tree *tree;

	if (w->made == NODES || depth == DEPTH || !below(w, 4))
		return NULL;
	tree = &w->trees[w->made];
	memset(tree, 0, sizeof(*tree));
	tree->number = w->made++;
	tree->kind = (enum conditional_kind)below(w, 3);
	tree->bodies = tree->kind == CONDITIONAL_WHILE ? 1
		       : tree->kind == CONDITIONAL_IF  ? 1 + below(w, 2)
						       : 1 + below(w, 3);
	for (uint32_t i = 0; i < tree->bodies; i++)
		tree->inner[i] = make_tree(w, depth + 1);
	tree->after = make_tree(w, depth);
	return tree;
}

/* --- what both do --------------------------------------------------------- */

static void leave_mark(struct world *w, uint32_t mark)
{
	if (w->count < MARKS)
		w->marks[w->count] = mark;
	w->count++;
}

static uint32_t take_word(struct world *w)
{
	return w->next < TAPE ? w->tape[w->next++] : 0;
}

/* --- the model ------------------------------------------------------------ */

static void run_tree(struct world *w, const struct tree *tree);

static void run_body(struct world *w, const struct tree *tree, uint32_t body)
{
	if (body >= tree->bodies)
		return;
	leave_mark(w, 4 * tree->number + body);
	run_tree(w, tree->inner[body]);
}

static void run_tree(struct world *w, const struct tree *tree)
{
	uint32_t word;

	if (!tree)
		return;
	word = take_word(w);
	if (tree->kind == CONDITIONAL_IF)
		run_body(w, tree, word ? 0 : 1);
	else if (tree->kind == CONDITIONAL_SWITCH)
		run_body(w, tree, word);
	else
		for (; word; word = take_word(w))
			run_body(w, tree, 0);
	run_tree(w, tree->after);
}

/* --- the graph ------------------------------------------------------------ */

struct step {
	struct world *world;
	uint32_t number; /* of a node's word, or a mark */
};

static void take_step(const void *args)
{
	const struct step *step = args;

	step->world->words[step->number] = take_word(step->world);
}

static void mark_step(const void *args)
{
	const struct step *step = args;

	leave_mark(step->world, step->number);
}

static void record_word(struct world *w, const struct tree *tree, int depth,
			device_condition condition)
{
	const struct step step = {w, tree->number};
	philox_stream stream = w->streams[depth];

	OK(philox_stream_launch_host(w->device, stream, take_step, &step,
				     sizeof(step)));
	OK(device_condition_record(w->device, stream, condition,
				   w->words + tree->number));
}

static void record_tree(struct world *w, const struct tree *tree, int depth);

static void record_body(struct world *w, const struct tree *tree, uint32_t i,
			int depth, device_condition condition,
			philox_native_graph body)
{
	const struct step mark = {w, 4 * tree->number + i};
	philox_stream stream = w->streams[depth];
	philox_native_graph ended;

	OK(device_capture_begin_to(w->device, stream, body,
				   PHILOX_CAPTURE_RELAXED));
	OK(philox_stream_launch_host(w->device, stream, mark_step, &mark,
				     sizeof(mark)));
	record_tree(w, tree->inner[i], depth);
	if (tree->kind == CONDITIONAL_WHILE)
		record_word(w, tree, depth, condition);
	OK(philox_stream_end_capture(w->device, stream, &ended));
	cr_assert_eq(ended, body);
}

static void record_tree(struct world *w, const struct tree *tree, int depth)
{
	struct conditional what;
	philox_native_graph bodies[3];
	struct capture_info info;
	device_node tip, node;
	size_t n = 1;

	if (!tree)
		return;
	what = (struct conditional){0, tree->kind, tree->bodies};
	OK(device_capture_info(w->device, w->streams[depth], &info));
	OK(device_condition_create(w->device, info.graph, 0, 0,
				   &what.condition));
	record_word(w, tree, depth, what.condition);
	OK(device_capture_tips(w->device, w->streams[depth], &tip, &n));
	OK(device_graph_add_conditional(w->device, info.graph, &tip, 1, &what,
					&node, bodies));
	OK(device_capture_after(w->device, w->streams[depth], node));
	for (uint32_t i = 0; i < tree->bodies; i++)
		record_body(w, tree, i, depth + 1, what.condition, bodies[i]);
	record_tree(w, tree->after, depth);
}

/* --- trees ---------------------------------------------------------------- */

static void open_world(struct world *w, const char *device, uint64_t seed)
{
	memset(w, 0, sizeof(*w));
	w->random = seed;
	OK(philox_device_open(device, &w->device));
	OK(philox_memory_alloc(w->device, NODES * sizeof(*w->words),
			       (void **)&w->words));
	for (int i = 0; i <= DEPTH; i++)
		OK(philox_stream_create(w->device, 0, &w->streams[i]));
}

/* The same tape again; the marks of a run. */
static uint32_t *marks_of(struct world *w)
{
	uint32_t *marks = calloc(MARKS + 1, sizeof(*marks));

	cr_assert(marks);
	marks[0] = w->count;
	memcpy(marks + 1, w->marks,
	       (w->count < MARKS ? w->count : MARKS) * sizeof(*marks));
	w->count = w->next = 0;
	return marks;
}

static uint32_t launches_run_as_the_model(struct world *w,
					  const struct tree *tree,
					  philox_native_exec exec)
{
	uint32_t runs = 0;

	for (int launch = 0; launch < 6; launch++) {
		uint32_t *wanted, *seen;

		for (uint32_t i = 0; i < TAPE; i++)
			w->tape[i] = below(w, 3) ? below(w, 4) : 0;
		run_tree(w, tree);
		wanted = marks_of(w);
		OK(philox_native_exec_launch(w->device, w->streams[0], exec));
		OK(philox_stream_synchronize(w->device, w->streams[0]));
		seen = marks_of(w);
		cr_assert_arr_eq(seen, wanted, (MARKS + 1) * sizeof(*seen));
		runs += seen[0];
		free(wanted);
		free(seen);
	}
	return runs;
}

static uint32_t tree_runs_as_the_model(const char *device, uint64_t seed)
{
	struct world *w = malloc(sizeof(*w));
	const struct tree *tree;
	philox_native_graph graph;
	philox_native_exec exec;
	uint32_t runs;

	cr_assert(w);
	open_world(w, device, seed);
	tree = make_tree(w, 0);
	OK(philox_stream_begin_capture(w->device, w->streams[0],
				       PHILOX_CAPTURE_RELAXED));
	record_tree(w, tree, 0);
	OK(philox_stream_end_capture(w->device, w->streams[0], &graph));
	OK(philox_native_graph_instantiate(w->device, graph, &exec));
	if (seed % 2)
		OK(philox_native_graph_destroy(w->device, graph));
	runs = launches_run_as_the_model(w, tree, exec);
	OK(philox_device_close(w->device)); /* with all that is left */
	free(w);
	return runs;
}

Test(conditional, nodes_nested_at_random_run_as_a_model_of_them)
{
	static const char *const devices[] = {"host", "host:sync",
					      "host:strict"};
	uint32_t runs = 0;

	for (uint64_t seed = 1; seed <= 400; seed++)
		runs += tree_runs_as_the_model(devices[seed % 3], seed);
	cr_assert_gt(runs, 5000, "%u bodies ran", runs);
}

/* --- what is left --------------------------------------------------------- */

Test(conditional, a_device_is_closed_while_a_body_is_captured)
{
	struct conditional what = {0, CONDITIONAL_IF, 2};
	philox_native_graph bodies[2];
	struct capture_info info;
	struct world *w = malloc(sizeof(*w));
	device_node node;

	cr_assert(w);
	open_world(w, "host", 1);
	OK(philox_stream_begin_capture(w->device, w->streams[0],
				       PHILOX_CAPTURE_RELAXED));
	OK(device_capture_info(w->device, w->streams[0], &info));
	OK(device_condition_create(w->device, info.graph, 0, 0,
				   &what.condition));
	OK(device_graph_add_conditional(w->device, info.graph, NULL, 0, &what,
					&node, bodies));
	OK(device_capture_begin_to(w->device, w->streams[1], bodies[1],
				   PHILOX_CAPTURE_RELAXED));
	OK(philox_memory_set(w->device, w->streams[1], w->words, 0,
			     sizeof(*w->words)));
	OK(philox_device_close(w->device));
	free(w);
}

/* --- messages ------------------------------------------------------------- */

Test(conditional, a_refusal_says_what_is_wrong)
{
	struct conditional what = {0, CONDITIONAL_IF, 1};
	struct world *w = malloc(sizeof(*w));
	philox_native_graph graph, body;
	philox_native_exec exec;
	device_condition unused;
	device_node node;

	cr_assert(w);
	open_world(w, "host", 1);
	OK(philox_stream_begin_capture(w->device, w->streams[0],
				       PHILOX_CAPTURE_RELAXED));
	OK(philox_stream_end_capture(w->device, w->streams[0], &graph));
	what.condition = 0x50;
	FAILS(device_graph_add_conditional(w->device, graph, NULL, 0, &what,
					   &node, &body),
	      PHILOX_ERROR_INVALID);
	NAMES("0x50 is not a live condition of a graph of device host");
	OK(device_condition_create(w->device, graph, 0, 0, &what.condition));
	OK(device_graph_add_conditional(w->device, graph, NULL, 0, &what, &node,
					&body));
	FAILS(device_graph_add_conditional(w->device, graph, NULL, 0, &what,
					   &node, &body),
	      PHILOX_ERROR_INVALID);
	NAMES("the condition is another node's already");
	FAILS(philox_native_graph_instantiate(w->device, graph, &exec),
	      PHILOX_ERROR_INVALID);
	NAMES("a body of node 0 is empty");
	FAILS(philox_native_graph_destroy(w->device, body),
	      PHILOX_ERROR_INVALID);
	NAMES("the graph is a body of node 0");
	OK(device_condition_add(w->device, body, NULL, 0, what.condition,
				w->words, &node));
	OK(device_condition_create(w->device, graph, 0, 0, &unused));
	FAILS(philox_native_graph_instantiate(w->device, graph, &exec),
	      PHILOX_ERROR_INVALID);
	NAMES("no node looks at condition");
	FAILS(device_condition_record(w->device, w->streams[0], unused,
				      w->words),
	      PHILOX_ERROR_STATE);
	NAMES("the stream is not capturing");
	OK(philox_device_close(w->device));
	free(w);
}
