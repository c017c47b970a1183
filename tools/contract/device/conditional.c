/*
 * tools/contract/device/conditional.c - conditions of graphs, and nodes with
 * bodies
 *
 * The words that decide are shifted by copies in a body: after n runs the first
 * word of a table is what its word n was, on a device that no test can give a
 * kernel of its own. What CUDA does not say is checked on host devices, which
 * refuse it, and asked of a GPU by tests/probe.
 */
#include <string.h>
#include "tools/contract/contract.h"

#define TABLE 8
#define SIZE  (TABLE * sizeof(uint32_t))

#define HOST_ONLY()                                \
	SKIP_IF(!philox_device_is_host(c->device), \
		"CUDA does not say what becomes of this")

/* Tables of words in device memory, and streams for a graph and a body. */
struct branching {
	philox_stream stream, inner;
	uint32_t *word;  /* decides */
	uint32_t *count; /* 0, 1, 2, ...: its first word says how often */
	uint32_t *spare;
	device_condition condition;
	philox_native_graph graph; /* while it is captured, and later */
	device_node node;
	philox_native_graph body[4];
};

static void write_table(struct contract *c, struct branching *at,
			uint32_t *table, const uint32_t *words)
{
	EXPECT_OK(
		philox_memory_copy(c->device, at->stream, table, words, SIZE));
	EXPECT_OK(philox_stream_synchronize(c->device, at->stream));
}

static void write_count(struct contract *c, struct branching *at)
{
	static const uint32_t words[TABLE] = {0, 1, 2, 3, 4, 5, 6, 7};

	EXPECT_PART(write_table(c, at, at->count, words));
}

/* Skips a check of what CUDA or its driver is too old for. */
static void need_conditions(struct contract *c)
{
	philox_native_graph graph;
	device_condition condition;
	philox_stream stream;
	enum philox_status status;

	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_begin(c, stream));
	EXPECT_OK(contract_end_capture(c, stream, &graph));
	status = device_condition_create(c->device, graph, 0, 0, &condition);
	SKIP_IF(status == PHILOX_ERROR_UNSUPPORTED, "%s",
		philox_error_message());
	EXPECT_OK(status);
}

static void make_tables(struct contract *c, struct branching *at)
{
	memset(at, 0, sizeof(*at));
	EXPECT_PART(need_conditions(c));
	EXPECT_OK(contract_stream(c, 0, &at->stream));
	EXPECT_OK(contract_stream(c, 0, &at->inner));
	EXPECT_OK(contract_memory(c, SIZE, (void **)&at->word));
	EXPECT_OK(contract_memory(c, SIZE, (void **)&at->count));
	EXPECT_OK(contract_memory(c, SIZE, (void **)&at->spare));
	EXPECT_PART(write_count(c, at));
}

/* --- parts of captures ---------------------------------------------------- */

static void begin_graph(struct contract *c, struct branching *at)
{
	struct capture_info info;

	EXPECT_OK(contract_begin(c, at->stream));
	EXPECT_OK(device_capture_info(c->device, at->stream, &info));
	at->graph = info.graph;
}

/* Adds a node after all that the stream has, and the stream goes on after it. */
static void branch_here(struct contract *c, struct branching *at,
			philox_native_graph graph, philox_stream stream,
			enum conditional_kind kind, uint32_t bodies)
{
	const struct conditional what = {at->condition, kind, bodies};
	device_node tips[4];
	size_t n = 4;
	enum philox_status status;

	EXPECT_OK(device_capture_tips(c->device, stream, tips, &n));
	EXPECT(n <= 4);
	status = device_graph_add_conditional(c->device, graph, tips, n, &what,
					      &at->node, at->body);
	SKIP_IF(status == PHILOX_ERROR_UNSUPPORTED, "%s",
		philox_error_message());
	EXPECT_OK(status);
	EXPECT_OK(device_capture_after(c->device, stream, at->node));
}

/* A graph that begins with a node which the first word decides. */
static void begin_branch(struct contract *c, struct branching *at,
			 enum conditional_kind kind, uint32_t bodies)
{
	EXPECT_PART(make_tables(c, at));
	EXPECT_PART(begin_graph(c, at));
	EXPECT_OK(device_condition_create(c->device, at->graph, 0, 0,
					  &at->condition));
	EXPECT_OK(device_condition_record(c->device, at->stream, at->condition,
					  at->word));
	EXPECT_PART(branch_here(c, at, at->graph, at->stream, kind, bodies));
}

static void begin_body(struct contract *c, struct branching *at,
		       philox_native_graph body)
{
	EXPECT_OK(device_capture_begin_to(c->device, at->inner, body,
					  PHILOX_CAPTURE_THREAD_LOCAL));
}

static void end_body(struct contract *c, struct branching *at,
		     philox_native_graph body)
{
	philox_native_graph ended = NULL;

	EXPECT_OK(philox_stream_end_capture(c->device, at->inner, &ended));
	EXPECT(ended == body);
}

/* Moves a table down by one word. */
static void shift(struct contract *c, struct branching *at, uint32_t *table,
		  philox_stream stream)
{
	EXPECT_OK(contract_copy(c, at->spare, table + 1, SIZE - sizeof(*table),
				stream));
	EXPECT_OK(contract_copy(c, table, at->spare, SIZE - sizeof(*table),
				stream));
}

/* A body that counts. */
static void counting_body(struct contract *c, struct branching *at,
			  philox_native_graph body)
{
	EXPECT_PART(begin_body(c, at, body));
	EXPECT_PART(shift(c, at, at->count, at->inner));
	EXPECT_PART(end_body(c, at, body));
}

/* A body that writes a byte to the first word of a table. */
static void marking_body(struct contract *c, struct branching *at,
			 philox_native_graph body, uint32_t *table, int mark)
{
	EXPECT_PART(begin_body(c, at, body));
	EXPECT_OK(contract_set(c, table, mark, sizeof(*table), at->inner));
	EXPECT_PART(end_body(c, at, body));
}

/* A body that counts and takes the next word for the next run. */
static void looping_body(struct contract *c, struct branching *at,
			 device_condition condition, philox_native_graph body)
{
	EXPECT_PART(begin_body(c, at, body));
	EXPECT_PART(shift(c, at, at->count, at->inner));
	EXPECT_PART(shift(c, at, at->word, at->inner));
	EXPECT_OK(device_condition_record(c->device, at->inner, condition,
					  at->word));
	EXPECT_PART(end_body(c, at, body));
}

static void end_graph(struct contract *c, struct branching *at,
		      philox_native_exec *exec)
{
	philox_native_graph ended = NULL;

	EXPECT_OK(contract_end_capture(c, at->stream, &ended));
	EXPECT(ended == at->graph);
	EXPECT_OK(contract_instantiate(c, at->graph, exec));
}

/* --- parts of launches ---------------------------------------------------- */

static void read_first(struct contract *c, struct branching *at,
		       const uint32_t *table, uint32_t *first)
{
	EXPECT_OK(contract_read(c, at->stream, table, first, sizeof(*first)));
}

/* A launch with these words, in which the counting bodies run `times`. */
static void launch_runs(struct contract *c, struct branching *at,
			philox_native_exec exec, const uint32_t *words,
			uint32_t times)
{
	uint32_t seen;

	EXPECT_PART(write_table(c, at, at->word, words));
	EXPECT_PART(write_count(c, at));
	EXPECT_OK(philox_native_exec_launch(c->device, at->stream, exec));
	EXPECT_PART(read_first(c, at, at->count, &seen));
	EXPECT_TEXT(seen == times, "the body ran %u times, not %u", seen,
		    times);
}

/* A launch with this word, which leaves a mark of bytes in the first count. */
static void launch_marks(struct contract *c, struct branching *at,
			 philox_native_exec exec, uint32_t word, int mark)
{
	const uint32_t words[TABLE] = {word};
	uint32_t seen, wanted;

	memset(&wanted, mark, sizeof(wanted));
	EXPECT_PART(write_table(c, at, at->word, words));
	EXPECT_PART(write_count(c, at));
	EXPECT_OK(philox_native_exec_launch(c->device, at->stream, exec));
	EXPECT_PART(read_first(c, at, at->count, &seen));
	EXPECT_TEXT(seen == wanted, "word %u: 0x%x was left, not 0x%x", word,
		    seen, wanted);
}

/* --- what runs ------------------------------------------------------------ */

static void an_if_runs_its_body_if_the_word_is_not_0(struct contract *c)
{
	static const uint32_t words[][TABLE] = {{0}, {1},       {UINT32_MAX},
						{0}, {0x10000}, {0}};
	struct branching at;
	philox_native_exec exec;

	EXPECT_PART(begin_branch(c, &at, CONDITIONAL_IF, 1));
	EXPECT_PART(counting_body(c, &at, at.body[0]));
	EXPECT_PART(end_graph(c, &at, &exec));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		EXPECT_PART(
			launch_runs(c, &at, exec, words[i], words[i][0] != 0));
}

static void an_if_runs_its_second_body_if_the_word_is_0(struct contract *c)
{
	struct branching at;
	philox_native_exec exec;

	EXPECT_PART(begin_branch(c, &at, CONDITIONAL_IF, 2));
	EXPECT_PART(marking_body(c, &at, at.body[0], at.count, 1));
	EXPECT_PART(marking_body(c, &at, at.body[1], at.count, 2));
	EXPECT_PART(end_graph(c, &at, &exec));
	EXPECT_PART(launch_marks(c, &at, exec, 0, 2));
	EXPECT_PART(launch_marks(c, &at, exec, 1, 1));
	EXPECT_PART(launch_marks(c, &at, exec, 2, 1));
	EXPECT_PART(launch_marks(c, &at, exec, 0, 2));
}

static void a_switch_runs_the_body_of_the_word(struct contract *c)
{
	struct branching at;
	philox_native_exec exec;

	EXPECT_PART(begin_branch(c, &at, CONDITIONAL_SWITCH, 3));
	for (int i = 0; i < 3; i++)
		EXPECT_PART(marking_body(c, &at, at.body[i], at.count, i + 1));
	EXPECT_PART(end_graph(c, &at, &exec));
	for (uint32_t word = 3; word--;)
		EXPECT_PART(launch_marks(c, &at, exec, word, (int)word + 1));
	EXPECT_PART(launch_marks(c, &at, exec, 3, 0));
	EXPECT_PART(launch_marks(c, &at, exec, UINT32_MAX, 0));
}

static void a_while_runs_until_the_word_is_0(struct contract *c)
{
	static const uint32_t words[][TABLE] = {
		{1, 1, 1}, {0, 1}, {7}, {1, UINT32_MAX}, {0}, {1, 2, 3, 4, 5}};
	static const uint32_t times[] = {3, 0, 1, 2, 0, 5};
	struct branching at;
	philox_native_exec exec;

	EXPECT_PART(begin_branch(c, &at, CONDITIONAL_WHILE, 1));
	EXPECT_PART(looping_body(c, &at, at.condition, at.body[0]));
	EXPECT_PART(end_graph(c, &at, &exec));
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		EXPECT_PART(launch_runs(c, &at, exec, words[i], times[i]));
}

static void launches_that_are_queued_have_words_of_their_own(struct contract *c)
{
	enum { LAUNCHES = 6 };
	struct branching at;
	philox_native_exec exec;
	uint32_t *seen, first[LAUNCHES];

	EXPECT_PART(begin_branch(c, &at, CONDITIONAL_WHILE, 1));
	EXPECT_PART(looping_body(c, &at, at.condition, at.body[0]));
	EXPECT_PART(end_graph(c, &at, &exec));
	EXPECT_OK(contract_memory(c, sizeof(first), (void **)&seen));
	EXPECT_OK(contract_delay(c, at.stream));
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		EXPECT_OK(contract_set(c, at.word, 0, SIZE, at.stream));
		if (i % 4)
			EXPECT_OK(contract_set(c, at.word, 1,
					       i % 4 * sizeof(*at.word),
					       at.stream));
		EXPECT_OK(
			philox_native_exec_launch(c->device, at.stream, exec));
		EXPECT_OK(contract_copy(c, seen + i, at.count, sizeof(*seen),
					at.stream));
	}
	EXPECT_OK(contract_read(c, at.stream, seen, first, sizeof(first)));
	/* The table of counts is not written again: 0, 1, 2, 3, 0, 1 more. */
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		static const uint32_t sums[LAUNCHES] = {0, 1, 3, 6, 6, 7};

		EXPECT_TEXT(first[i] == sums[i],
			    "after launch %u the body had run %u times, not %u",
			    i, first[i], sums[i]);
	}
}

static void an_assigned_value_begins_each_launch(struct contract *c)
{
	static const uint32_t zero[TABLE] = {0};
	struct branching at;
	philox_native_exec exec;

	EXPECT_PART(make_tables(c, &at));
	EXPECT_PART(begin_graph(c, &at));
	EXPECT_OK(device_condition_create(c->device, at.graph, 1, 1,
					  &at.condition));
	EXPECT_PART(
		branch_here(c, &at, at.graph, at.stream, CONDITIONAL_WHILE, 1));
	EXPECT_PART(looping_body(c, &at, at.condition, at.body[0]));
	EXPECT_PART(end_graph(c, &at, &exec));
	for (int i = 0; i < 3; i++)
		EXPECT_PART(launch_runs(c, &at, exec, zero, 1));
}

/* a = 1, b = a in the body, a = 2: each edge of the node is needed. */
static void a_node_waits_and_is_waited_for(struct contract *c)
{
	static const uint32_t words[TABLE] = {1};
	struct branching at;
	philox_native_exec exec;

	EXPECT_PART(make_tables(c, &at));
	for (int i = 0; i < 4; i++) {
		EXPECT_PART(begin_graph(c, &at));
		EXPECT_OK(device_condition_create(c->device, at.graph, 1, 1,
						  &at.condition));
		EXPECT_OK(contract_set(c, at.word, 1, SIZE, at.stream));
		EXPECT_PART(branch_here(c, &at, at.graph, at.stream,
					CONDITIONAL_IF, 1));
		EXPECT_OK(contract_set(c, at.word, 2, SIZE, at.stream));
		EXPECT_PART(begin_body(c, &at, at.body[0]));
		EXPECT_OK(contract_copy(c, at.count, at.word, SIZE, at.inner));
		EXPECT_PART(end_body(c, &at, at.body[0]));
		EXPECT_PART(end_graph(c, &at, &exec));
		EXPECT_PART(write_table(c, &at, at.count, words));
		EXPECT_OK(
			philox_native_exec_launch(c->device, at.stream, exec));
		EXPECT_BYTES(at.stream, at.count, 1, SIZE);
		EXPECT_BYTES(at.stream, at.word, 2, SIZE);
	}
}

/*
 * While the first table has words, the second decides in each run whether
 * memory is written: both shift. The inner condition is of the body.
 */
static void nested_nodes_run_in_each_run(struct contract *c)
{
	static const uint32_t outer[TABLE] = {1, 1, 1, 1};
	static const uint32_t inner[TABLE] = {0, 1, 0, 1};
	struct branching at, within;
	philox_native_exec exec;
	philox_stream third;
	uint32_t *choice;

	EXPECT_PART(begin_branch(c, &at, CONDITIONAL_WHILE, 1));
	EXPECT_OK(contract_stream(c, 0, &third));
	EXPECT_OK(philox_capture_exchange_mode(
		c->device,
		&(enum philox_capture_mode){PHILOX_CAPTURE_RELAXED}));
	EXPECT_OK(contract_memory(c, SIZE, (void **)&choice));
	EXPECT_OK(philox_capture_exchange_mode(
		c->device, &(enum philox_capture_mode){PHILOX_CAPTURE_GLOBAL}));
	EXPECT_PART(begin_body(c, &at, at.body[0]));
	within = at;
	within.inner = third;
	EXPECT_OK(device_condition_create(c->device, at.body[0], 0, 0,
					  &within.condition));
	EXPECT_OK(device_condition_record(c->device, at.inner, within.condition,
					  choice));
	EXPECT_PART(branch_here(c, &within, at.body[0], at.inner,
				CONDITIONAL_IF, 1));
	EXPECT_PART(counting_body(c, &within, within.body[0]));
	EXPECT_PART(shift(c, &at, choice, at.inner));
	EXPECT_PART(shift(c, &at, at.word, at.inner));
	EXPECT_OK(device_condition_record(c->device, at.inner, at.condition,
					  at.word));
	EXPECT_PART(end_body(c, &at, at.body[0]));
	EXPECT_PART(end_graph(c, &at, &exec));
	EXPECT_PART(write_table(c, &at, choice, inner));
	EXPECT_PART(launch_runs(c, &at, exec, outer, 2));
	EXPECT_PART(write_table(c, &at, choice, outer));
	EXPECT_PART(launch_runs(c, &at, exec, outer, 4));
}

/* --- captures ------------------------------------------------------------- */

static void a_body_is_a_capture_of_its_own(struct contract *c)
{
	struct capture_info outer, inner;
	struct branching at;
	size_t nodes;

	EXPECT_PART(begin_branch(c, &at, CONDITIONAL_IF, 1));
	EXPECT(at.body[0] && at.body[0] != at.graph);
	EXPECT_PART(begin_body(c, &at, at.body[0]));
	EXPECT_OK(device_capture_info(c->device, at.stream, &outer));
	EXPECT_OK(device_capture_info(c->device, at.inner, &inner));
	EXPECT(inner.status == PHILOX_CAPTURE_ACTIVE);
	EXPECT(inner.graph == at.body[0] && outer.graph == at.graph);
	EXPECT(inner.id && inner.id != outer.id);
	EXPECT_PART(shift(c, &at, at.count, at.inner));
	EXPECT_PART(end_body(c, &at, at.body[0]));
	EXPECT_OK(
		philox_native_graph_node_count(c->device, at.body[0], &nodes));
	EXPECT(nodes == 2);
	EXPECT_OK(contract_end_capture(c, at.stream, &at.graph));
	EXPECT_OK(philox_native_graph_node_count(c->device, at.graph, &nodes));
	EXPECT(nodes == 2); /* the kernel and the node, not what is in it */
}

static void a_body_and_its_graph_do_not_wait_for_each_other(struct contract *c)
{
	struct branching at;
	philox_event event;

	SKIP_IF(!philox_device_is_host(c->device),
		"a process crashed in it with a driver of CUDA 13.0");
	EXPECT_PART(begin_branch(c, &at, CONDITIONAL_IF, 1));
	EXPECT_OK(contract_event(c, &event));
	EXPECT_PART(begin_body(c, &at, at.body[0]));
	EXPECT_OK(philox_event_record(c->device, at.stream, event));
	EXPECT_ERROR(CAPTURE_MERGE,
		     philox_event_wait(c->device, at.inner, event));
	EXPECT_ERROR(CAPTURE_INVALIDATED,
		     philox_stream_end_capture(c->device, at.inner, &at.graph));
	EXPECT_ERROR(
		CAPTURE_INVALIDATED,
		philox_stream_end_capture(c->device, at.stream, &at.graph));
}

static void a_capture_adds_to_a_graph_that_is_there(struct contract *c)
{
	philox_native_graph graph, again;
	struct branching at;
	philox_native_exec exec;
	size_t nodes;

	EXPECT_PART(make_tables(c, &at));
	EXPECT_PART(begin_graph(c, &at));
	EXPECT_OK(contract_set(c, at.word, 1, SIZE, at.stream));
	EXPECT_OK(contract_end_capture(c, at.stream, &graph));
	EXPECT_OK(device_capture_begin_to(c->device, at.stream, graph,
					  PHILOX_CAPTURE_THREAD_LOCAL));
	EXPECT_ERROR(STATE,
		     device_capture_begin_to(c->device, at.stream, graph,
					     PHILOX_CAPTURE_THREAD_LOCAL));
	EXPECT_OK(contract_set(c, at.count, 2, SIZE, at.stream));
	EXPECT_OK(philox_stream_end_capture(c->device, at.stream, &again));
	EXPECT(again == graph);
	EXPECT_OK(philox_native_graph_node_count(c->device, graph, &nodes));
	EXPECT(nodes == 2);
	EXPECT_OK(contract_instantiate(c, graph, &exec));
	EXPECT_OK(philox_native_exec_launch(c->device, at.stream, exec));
	EXPECT_BYTES(at.stream, at.word, 1, SIZE);
	EXPECT_BYTES(at.stream, at.count, 2, SIZE);
	EXPECT_ERROR(CAPTURE_UNSUPPORTED,
		     device_capture_begin_to(c->device, NULL, graph,
					     PHILOX_CAPTURE_THREAD_LOCAL));
	EXPECT_ERROR(INVALID,
		     device_capture_begin_to(c->device, at.stream, graph,
					     (enum philox_capture_mode)9));
}

static void a_graph_with_an_open_body_is_not_instantiated(struct contract *c)
{
	struct branching at;
	philox_native_exec exec;
	philox_native_graph body;

	SKIP_IF(!philox_device_is_host(c->device),
		"a process crashed in it with a driver of CUDA 13.0");
	EXPECT_PART(begin_branch(c, &at, CONDITIONAL_IF, 1));
	EXPECT_PART(begin_body(c, &at, at.body[0]));
	EXPECT_PART(shift(c, &at, at.count, at.inner));
	EXPECT_OK(contract_end_capture(c, at.stream, &at.graph));
	EXPECT(philox_native_graph_instantiate(c->device, at.graph, &exec));
	EXPECT_OK(philox_stream_end_capture(c->device, at.inner, &body));
	EXPECT_OK(contract_instantiate(c, at.graph, &exec));
}

/* --- graphs with bodies --------------------------------------------------- */

static void a_graph_with_bodies_has_one_exec_at_a_time(struct contract *c)
{
	static const uint32_t words[TABLE] = {1};
	struct branching at;
	philox_native_exec exec, second;

	EXPECT_PART(begin_branch(c, &at, CONDITIONAL_IF, 1));
	EXPECT_PART(counting_body(c, &at, at.body[0]));
	EXPECT_PART(end_graph(c, &at, &exec));
	EXPECT_ERROR(UNSUPPORTED, philox_native_graph_instantiate(
					  c->device, at.graph, &second));
	EXPECT_PART(launch_runs(c, &at, exec, words, 1));
	contract_forget(c, exec);
	EXPECT_OK(philox_native_exec_destroy(c->device, exec));
	EXPECT_OK(contract_instantiate(c, at.graph, &second));
	EXPECT_PART(launch_runs(c, &at, second, words, 1));
}

static void execs_outlive_graphs_with_bodies(struct contract *c)
{
	static const uint32_t words[TABLE] = {1, 1};
	struct branching at;
	philox_native_exec exec;
	uint32_t seen;

	EXPECT_PART(begin_branch(c, &at, CONDITIONAL_WHILE, 1));
	EXPECT_PART(looping_body(c, &at, at.condition, at.body[0]));
	EXPECT_OK(philox_stream_end_capture(c->device, at.stream, &at.graph));
	EXPECT_OK(philox_native_graph_instantiate(c->device, at.graph, &exec));
	EXPECT_OK(philox_native_graph_destroy(c->device, at.graph));
	EXPECT_PART(launch_runs(c, &at, exec, words, 2));
	EXPECT_PART(write_table(c, &at, at.word, words));
	EXPECT_OK(contract_delay(c, at.stream));
	EXPECT_OK(philox_native_exec_launch(c->device, at.stream, exec));
	EXPECT_OK(philox_native_exec_destroy(c->device, exec));
	EXPECT_PART(read_first(c, &at, at.count, &seen));
	EXPECT(seen == 4);
}

static void nodes_of_bodies_are_added_and_set_in_the_graph(struct contract *c)
{
	struct store_args args = {.state = {1, 2}};
	struct kernel_call call = {.kernel = KERNEL_STORE,
				   .args = &args,
				   .size = sizeof(args),
				   .work = 1};
	struct philox_state seen = {0};
	struct branching at;
	philox_native_exec exec;
	device_node first, second;

	EXPECT_PART(begin_branch(c, &at, CONDITIONAL_WHILE, 1));
	EXPECT_OK(contract_end_capture(c, at.stream, &at.graph));
	args.to = (struct philox_state *)at.count;
	EXPECT_OK(device_graph_add_kernel(c->device, at.body[0], NULL, 0, &call,
					  &first));
	args.state.seed = 3;
	EXPECT_OK(device_graph_set_kernel(c->device, first, &call));
	/* The word after the first one, which is 0. */
	EXPECT_OK(device_condition_add(c->device, at.body[0], &first, 1,
				       at.condition, at.word + 1, &second));
	EXPECT_OK(contract_instantiate(c, at.graph, &exec));
	EXPECT_PART(write_table(c, &at, at.word, (const uint32_t[TABLE]){1}));
	EXPECT_OK(philox_native_exec_launch(c->device, at.stream, exec));
	EXPECT_OK(contract_read(c, at.stream, at.count, &seen, sizeof(seen)));
	EXPECT(seen.seed == 3 && seen.offset == 2);
}

/* --- refusals ------------------------------------------------------------- */

static void numbers_of_bodies_are_those_of_the_kind(struct contract *c)
{
	static const struct conditional wrong[] = {
		{0, CONDITIONAL_IF, 0},     {0, CONDITIONAL_IF, 3},
		{0, CONDITIONAL_WHILE, 0},  {0, CONDITIONAL_WHILE, 2},
		{0, CONDITIONAL_SWITCH, 0}, {0, (enum conditional_kind)3, 1}};
	struct branching at;
	size_t nodes;

	EXPECT_PART(make_tables(c, &at));
	EXPECT_PART(begin_graph(c, &at));
	EXPECT_OK(contract_end_capture(c, at.stream, &at.graph));
	EXPECT_OK(device_condition_create(c->device, at.graph, 0, 0,
					  &at.condition));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct conditional what = wrong[i];

		what.condition = at.condition;
		EXPECT_ERROR(INVALID, device_graph_add_conditional(
					      c->device, at.graph, NULL, 0,
					      &what, &at.node, at.body));
	}
	EXPECT_OK(philox_native_graph_node_count(c->device, at.graph, &nodes));
	EXPECT(nodes == 0);
}

static void conditions_are_set_in_graphs_alone(struct contract *c)
{
	struct branching at;

	EXPECT_PART(begin_branch(c, &at, CONDITIONAL_IF, 1));
	EXPECT_ERROR(STATE, device_condition_record(c->device, at.inner,
						    at.condition, at.word));
	EXPECT_ERROR(INVALID, device_condition_record(
				      c->device, at.stream, at.condition,
				      (const uint32_t *)((char *)at.word + 1)));
	EXPECT_ERROR(INVALID, device_condition_record(c->device, at.stream,
						      at.condition, NULL));
	EXPECT_OK(contract_end_capture(c, at.stream, &at.graph));
}

/* On a GPU either call may refuse it. */
static void a_condition_decides_in_its_own_graph(struct contract *c)
{
	struct conditional what = {0, CONDITIONAL_IF, 1};
	philox_native_graph own, other;
	struct branching at;
	philox_native_exec exec;

	EXPECT_PART(make_tables(c, &at));
	EXPECT_PART(begin_graph(c, &at));
	EXPECT_OK(contract_end_capture(c, at.stream, &own));
	EXPECT_PART(begin_graph(c, &at));
	EXPECT_OK(contract_end_capture(c, at.stream, &other));
	EXPECT_OK(
		device_condition_create(c->device, own, 1, 1, &what.condition));
	if (device_graph_add_conditional(c->device, other, NULL, 0, &what,
					 &at.node, at.body) != PHILOX_OK)
		return;
	EXPECT(!philox_device_is_host(c->device));
	EXPECT_PART(counting_body(c, &at, at.body[0]));
	EXPECT(philox_native_graph_instantiate(c->device, other, &exec));
}

static void a_condition_is_for_one_node(struct contract *c)
{
	struct branching at;
	struct conditional what = {0, CONDITIONAL_IF, 1};

	HOST_ONLY();
	EXPECT_PART(begin_branch(c, &at, CONDITIONAL_IF, 1));
	what.condition = at.condition;
	EXPECT_ERROR(INVALID,
		     device_graph_add_conditional(c->device, at.graph, NULL, 0,
						  &what, &at.node, at.body));
	what.condition ^= 1;
	EXPECT_ERROR(INVALID,
		     device_graph_add_conditional(c->device, at.graph, NULL, 0,
						  &what, &at.node, at.body));
	EXPECT_OK(contract_end_capture(c, at.stream, &at.graph));
}

/* Below, a condition of a graph around is as good as one of the body. */
static void a_condition_decides_in_bodies_of_its_graph(struct contract *c)
{
	struct conditional what = {0, CONDITIONAL_IF, 1};
	static const uint32_t one[TABLE] = {1}, zero[TABLE] = {0};
	struct branching at, within;
	philox_native_exec exec;
	device_condition own;

	EXPECT_PART(begin_branch(c, &at, CONDITIONAL_IF, 1));
	EXPECT_OK(device_condition_create(c->device, at.graph, 1, 1,
					  &what.condition));
	if (philox_device_is_host(c->device))
		EXPECT_ERROR(INVALID,
			     device_condition_create(c->device, at.body[0], 1,
						     1, &own));
	within = at;
	EXPECT_OK(device_graph_add_conditional(c->device, at.body[0], NULL, 0,
					       &what, &within.node,
					       within.body));
	EXPECT_PART(counting_body(c, &within, within.body[0]));
	EXPECT_PART(end_graph(c, &at, &exec));
	EXPECT_PART(launch_runs(c, &at, exec, one, 1));
	EXPECT_PART(launch_runs(c, &at, exec, zero, 0));
}

static void a_condition_of_the_body_decides_in_no_other(struct contract *c)
{
	struct conditional what = {0, CONDITIONAL_IF, 1};
	struct branching at;

	HOST_ONLY();
	EXPECT_PART(begin_branch(c, &at, CONDITIONAL_IF, 2));
	EXPECT_OK(device_condition_create(c->device, at.body[0], 0, 0,
					  &what.condition));
	EXPECT_ERROR(INVALID,
		     device_graph_add_conditional(c->device, at.body[1], NULL,
						  0, &what, &at.node, at.body));
	EXPECT_ERROR(INVALID,
		     device_graph_add_conditional(c->device, at.graph, NULL, 0,
						  &what, &at.node, at.body));
	EXPECT_OK(contract_end_capture(c, at.stream, &at.graph));
}

static void conditions_without_a_node_are_refused(struct contract *c)
{
	struct branching at;
	device_condition unused;
	philox_native_exec exec;

	HOST_ONLY();
	EXPECT_PART(begin_branch(c, &at, CONDITIONAL_IF, 1));
	EXPECT_OK(
		device_condition_create(c->device, at.body[0], 0, 0, &unused));
	EXPECT_PART(counting_body(c, &at, at.body[0]));
	EXPECT_OK(contract_end_capture(c, at.stream, &at.graph));
	EXPECT_ERROR(INVALID, philox_native_graph_instantiate(c->device,
							      at.graph, &exec));
}

static void empty_bodies_are_refused(struct contract *c)
{
	struct branching at;
	philox_native_exec exec;

	HOST_ONLY();
	EXPECT_PART(begin_branch(c, &at, CONDITIONAL_SWITCH, 2));
	EXPECT_PART(counting_body(c, &at, at.body[1]));
	EXPECT_OK(contract_end_capture(c, at.stream, &at.graph));
	EXPECT_ERROR(INVALID, philox_native_graph_instantiate(c->device,
							      at.graph, &exec));
	EXPECT_PART(counting_body(c, &at, at.body[0]));
	EXPECT_OK(contract_instantiate(c, at.graph, &exec));
}

static void copies_of_plain_memory_are_not_for_bodies(struct contract *c)
{
	static uint32_t plain[TABLE];
	struct branching at;
	philox_native_exec exec;

	HOST_ONLY();
	EXPECT_PART(begin_branch(c, &at, CONDITIONAL_IF, 1));
	EXPECT_PART(begin_body(c, &at, at.body[0]));
	EXPECT_OK(
		philox_memory_copy(c->device, at.inner, plain, at.word, SIZE));
	EXPECT_PART(end_body(c, &at, at.body[0]));
	EXPECT_OK(contract_end_capture(c, at.stream, &at.graph));
	EXPECT_ERROR(INVALID, philox_native_graph_instantiate(c->device,
							      at.graph, &exec));
}

static void not_called(void *object)
{
	*(int *)object = 1;
}

static void a_body_goes_with_its_node(struct contract *c)
{
	static int released;
	struct branching at;
	philox_native_exec exec;
	size_t nodes;

	HOST_ONLY();
	EXPECT_PART(begin_branch(c, &at, CONDITIONAL_IF, 1));
	EXPECT_PART(counting_body(c, &at, at.body[0]));
	EXPECT_OK(philox_stream_end_capture(c->device, at.stream, &at.graph));
	EXPECT_ERROR(INVALID,
		     philox_native_graph_destroy(c->device, at.body[0]));
	EXPECT_ERROR(INVALID, philox_native_graph_instantiate(
				      c->device, at.body[0], &exec));
	EXPECT_ERROR(INVALID, device_graph_retain(c->device, at.body[0],
						  not_called, &released));
	EXPECT_OK(
		philox_native_graph_node_count(c->device, at.body[0], &nodes));
	EXPECT_OK(philox_native_graph_destroy(c->device, at.graph));
	EXPECT_ERROR(INVALID, philox_native_graph_node_count(
				      c->device, at.body[0], &nodes));
	EXPECT(!released);
}

static void nodes_of_bodies_keep_their_arguments(struct contract *c)
{
	struct store_args args = {.state = {1, 2}};
	struct kernel_call call = {.kernel = KERNEL_STORE,
				   .args = &args,
				   .size = sizeof(args),
				   .work = 1};
	struct branching at;
	philox_native_exec exec;
	device_node node;

	HOST_ONLY();
	EXPECT_PART(begin_branch(c, &at, CONDITIONAL_IF, 1));
	args.to = (struct philox_state *)at.count;
	EXPECT_OK(device_graph_add_kernel(c->device, at.body[0], NULL, 0, &call,
					  &node));
	EXPECT_PART(end_graph(c, &at, &exec));
	EXPECT_ERROR(INVALID,
		     device_exec_set_kernel(c->device, exec, node, &call));
}

static void kernels_set_conditions_of_their_graph(struct contract *c)
{
	struct condition_args args = {0};
	const struct kernel_call call = {.kernel = KERNEL_CONDITION,
					 .args = &args,
					 .size = sizeof(args),
					 .work = 1};
	philox_native_graph other;
	struct branching at;
	philox_native_exec exec;
	device_node first, stranger;

	HOST_ONLY();
	EXPECT_PART(begin_branch(c, &at, CONDITIONAL_IF, 1));
	args.word = at.word;
	args.condition = at.condition;
	EXPECT_ERROR(INVALID, device_launch(c->device, at.inner, &call));
	EXPECT_OK(device_condition_add(c->device, at.body[0], NULL, 0,
				       at.condition, at.word, &first));
	EXPECT_OK(device_condition_add(c->device, at.graph, NULL, 0,
				       at.condition, at.word, &first));
	EXPECT_PART(end_graph(c, &at, &exec));
	EXPECT_OK(contract_begin(c, at.stream));
	EXPECT_ERROR(INVALID, device_launch(c->device, at.stream, &call));
	EXPECT_OK(contract_end_capture(c, at.stream, &other));
	EXPECT_ERROR(INVALID,
		     device_condition_add(c->device, other, NULL, 0,
					  at.condition, at.word, &stranger));
	EXPECT_OK(device_exec_set_kernel(c->device, exec, first, &call));
	EXPECT_OK(device_condition_create(c->device, at.graph, 0, 0,
					  &args.condition));
	EXPECT_ERROR(INVALID,
		     device_exec_set_kernel(c->device, exec, first, &call));
	EXPECT_OK(device_graph_set_kernel(c->device, first, &call));
	args.condition = at.condition ^ 1;
	EXPECT_ERROR(INVALID, device_graph_set_kernel(c->device, first, &call));
}

/* Breaks the capture on a stream. */
static void break_capture(struct contract *c, philox_stream stream)
{
	EXPECT_ERROR(CAPTURE_UNSUPPORTED,
		     philox_stream_synchronize(c->device, stream));
}

static void a_broken_capture_takes_those_of_its_bodies(struct contract *c)
{
	enum philox_capture_status status;
	philox_native_graph graph;
	struct branching at;

	HOST_ONLY();
	EXPECT_PART(begin_branch(c, &at, CONDITIONAL_IF, 1));
	EXPECT_PART(begin_body(c, &at, at.body[0]));
	EXPECT_PART(shift(c, &at, at.count, at.inner));
	EXPECT_PART(break_capture(c, at.stream));
	EXPECT_OK(
		philox_stream_capture_info(c->device, at.inner, &status, NULL));
	EXPECT(status == PHILOX_CAPTURE_INVALIDATED);
	EXPECT_ERROR(CAPTURE_INVALIDATED,
		     philox_stream_end_capture(c->device, at.inner, &graph));
	EXPECT_ERROR(CAPTURE_INVALIDATED,
		     philox_stream_end_capture(c->device, at.stream, &graph));
}

static void a_body_whose_capture_broke_is_of_no_use(struct contract *c)
{
	philox_native_graph body;
	struct branching at;
	philox_native_exec exec;

	HOST_ONLY();
	EXPECT_PART(begin_branch(c, &at, CONDITIONAL_IF, 1));
	EXPECT_PART(begin_body(c, &at, at.body[0]));
	EXPECT_PART(shift(c, &at, at.count, at.inner));
	EXPECT_PART(break_capture(c, at.inner));
	EXPECT_ERROR(CAPTURE_INVALIDATED,
		     philox_stream_end_capture(c->device, at.inner, &body));
	EXPECT_ERROR(STATE,
		     device_capture_begin_to(c->device, at.inner, at.body[0],
					     PHILOX_CAPTURE_THREAD_LOCAL));
	EXPECT_OK(contract_end_capture(c, at.stream, &at.graph));
	EXPECT_ERROR(CAPTURE_INVALIDATED, philox_native_graph_instantiate(
						  c->device, at.graph, &exec));
}

static void a_graph_with_an_open_body_stays(struct contract *c)
{
	philox_native_graph body;
	struct branching at;

	HOST_ONLY();
	EXPECT_PART(begin_branch(c, &at, CONDITIONAL_IF, 1));
	EXPECT_PART(begin_body(c, &at, at.body[0]));
	EXPECT_ERROR(STATE,
		     device_capture_begin_to(c->device, at.inner, at.body[0],
					     PHILOX_CAPTURE_THREAD_LOCAL));
	EXPECT_OK(contract_end_capture(c, at.stream, &at.graph));
	EXPECT_ERROR(STATE,
		     device_capture_begin_to(c->device, at.stream, at.body[0],
					     PHILOX_CAPTURE_THREAD_LOCAL));
	EXPECT_ERROR(STATE, philox_native_graph_destroy(c->device, at.graph));
	EXPECT_OK(philox_stream_end_capture(c->device, at.inner, &body));
}

static void a_launch_finds_the_arrays_of_its_bodies(struct contract *c)
{
	static const uint32_t zero[TABLE] = {0};
	struct branching at;
	philox_native_exec exec;
	void *memory;

	HOST_ONLY();
	EXPECT_PART(make_tables(c, &at));
	EXPECT_OK(contract_memory(c, SIZE, &memory));
	EXPECT_PART(begin_graph(c, &at));
	EXPECT_OK(device_condition_create(c->device, at.graph, 0, 1,
					  &at.condition));
	EXPECT_PART(
		branch_here(c, &at, at.graph, at.stream, CONDITIONAL_IF, 1));
	EXPECT_PART(marking_body(c, &at, at.body[0], memory, 1));
	EXPECT_PART(end_graph(c, &at, &exec));
	EXPECT_PART(launch_runs(c, &at, exec, zero, 0));
	contract_forget(c, memory);
	EXPECT_OK(philox_memory_free(c->device, memory));
	EXPECT_ERROR(INVALID, device_exec_check(c->device, exec));
	EXPECT_ERROR(INVALID,
		     philox_native_exec_launch(c->device, at.stream, exec));
}

const struct contract_check contract_conditional[] = {
	{"an IF node runs its body if the word is not 0",
	 .run = an_if_runs_its_body_if_the_word_is_not_0},
	{"an IF node runs its second body if the word is 0",
	 .run = an_if_runs_its_second_body_if_the_word_is_0},
	{"a SWITCH node runs the body of the word, if there is one",
	 .run = a_switch_runs_the_body_of_the_word},
	{"a WHILE node runs its body until the word is 0",
	 .run = a_while_runs_until_the_word_is_0},
	{"launches that are queued decide one after the other",
	 .run = launches_that_are_queued_have_words_of_their_own},
	{"a condition begins each launch with the value assigned to it",
	 .run = an_assigned_value_begins_each_launch},
	{"a conditional node keeps its place among the others",
	 .run = a_node_waits_and_is_waited_for},
	{"a conditional node in a body runs in each run of that",
	 .run = nested_nodes_run_in_each_run},
	{"a body is captured with its own graph and id",
	 .run = a_body_is_a_capture_of_its_own},
	{"a body's capture does not merge with that of its graph",
	 .run = a_body_and_its_graph_do_not_wait_for_each_other},
	{"a capture adds to a graph that is there",
	 .run = a_capture_adds_to_a_graph_that_is_there},
	{"a graph with an open body is not instantiated",
	 .run = a_graph_with_an_open_body_is_not_instantiated},
	{"a graph with bodies has one executable graph at a time",
	 .run = a_graph_with_bodies_has_one_exec_at_a_time},
	{"an executable graph outlives its graph and bodies",
	 .run = execs_outlive_graphs_with_bodies},
	{"kernels are added to bodies, and take arguments there",
	 .run = nodes_of_bodies_are_added_and_set_in_the_graph},
	{"a node has as many bodies as its kind allows",
	 .run = numbers_of_bodies_are_those_of_the_kind},
	{"a condition is set from an aligned word, within a graph",
	 .run = conditions_are_set_in_graphs_alone},
	{"a condition decides in its own graph alone",
	 .run = a_condition_decides_in_its_own_graph},
	{"a condition decides in the bodies of its graph, too",
	 .run = a_condition_decides_in_bodies_of_its_graph},
	{"a condition is for one node", .run = a_condition_is_for_one_node},
	{"a body's condition decides in no other",
	 .run = a_condition_of_the_body_decides_in_no_other},
	{"a graph with a condition that no node looks at is refused",
	 .run = conditions_without_a_node_are_refused},
	{"a graph with an empty body is refused",
	 .run = empty_bodies_are_refused},
	{"a graph with a copy of plain memory in a body is refused",
	 .run = copies_of_plain_memory_are_not_for_bodies},
	{"a body lives with its node, and owns nothing",
	 .run = a_body_goes_with_its_node},
	{"nodes of bodies keep their arguments in executable graphs",
	 .run = nodes_of_bodies_keep_their_arguments},
	{"a kernel sets conditions of its own graph alone",
	 .run = kernels_set_conditions_of_their_graph},
	{"a broken capture breaks those of its bodies",
	 .run = a_broken_capture_takes_those_of_its_bodies},
	{"a body whose capture broke is of no use",
	 .run = a_body_whose_capture_broke_is_of_no_use},
	{"a graph stays while a body is open",
	 .run = a_graph_with_an_open_body_stays},
	{"a launch is refused if memory of a body is gone",
	 .run = a_launch_finds_the_arrays_of_its_bodies},
	{0}};
