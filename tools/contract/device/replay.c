/*
 * tools/contract/device/replay.c - launches of captured graphs
 *
 * Every graph here is instantiated several times: the host device runs each
 * executable graph in another legal order, so a lost edge shows.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include "tools/contract/contract.h"

#define SIZE  16384
#define WORDS (SIZE / 4)
#define EXECS 6

/* A call that fills `out` with the words of one state. */
struct fill {
	struct fill_args args;
	struct kernel_call call;
};

static void fill_init(struct fill *fill, void *out, uint64_t offset)
{
	memset(fill, 0, sizeof(*fill));
	fill->args.rng.state.seed = 1;
	fill->args.rng.state.offset = offset;
	fill->args.count = WORDS;
	fill->args.rows = 1;
	fill->args.threads = 1;
	fill->args.out = out;
	fill->call.kernel = KERNEL_bits_u32;
	fill->call.args = &fill->args;
	fill->call.size = sizeof(fill->args);
	fill->call.work = WORDS / 4;
}

/* Notes a failure unless `memory` holds the words of a fill at `offset`. */
static void expect_fill(struct contract *c, philox_stream stream,
			const void *memory, uint64_t offset)
{
	struct philox_state state = {1, offset};
	uint32_t words[WORDS];

	EXPECT_OK(contract_read(c, stream, memory, words, SIZE));
	for (uint64_t i = 0; i < WORDS; i++)
		EXPECT_TEXT(words[i] == philox_draw4(state, i / 4).w[i % 4],
			    "word %" PRIu64 " is not that of offset %" PRIu64,
			    i, offset);
}

static void launched_kernels_run(struct contract *c)
{
	philox_stream stream;
	struct fill fill;
	void *memory;

	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_memory(c, SIZE, &memory));
	for (uint64_t offset = 0; offset < 12; offset += 4) {
		fill_init(&fill, memory, offset);
		EXPECT_OK(device_launch(c->device, stream, &fill.call));
		memset(&fill, 0xff, sizeof(fill)); /* it has a copy */
		EXPECT_PART(expect_fill(c, stream, memory, offset));
	}
}

static void captured_work_runs_at_replay_alone(struct contract *c)
{
	philox_native_graph graph;
	philox_native_exec exec;
	philox_stream stream;
	void *memory;
	size_t nodes;

	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_memory(c, SIZE, &memory));
	EXPECT_OK(contract_set(c, memory, 1, SIZE, stream));
	EXPECT_OK(contract_begin(c, stream));
	EXPECT_OK(contract_set(c, memory, 2, SIZE, stream));
	EXPECT_OK(contract_end_capture(c, stream, &graph));
	EXPECT_OK(philox_native_graph_node_count(c->device, graph, &nodes));
	EXPECT(nodes == 1);
	EXPECT_BYTES(stream, memory, 1, SIZE);
	EXPECT_OK(contract_instantiate(c, graph, &exec));
	EXPECT_BYTES(stream, memory, 1, SIZE);
	for (int i = 0; i < 2; i++) {
		EXPECT_OK(philox_native_exec_launch(c->device, stream, exec));
		EXPECT_BYTES(stream, memory, 2, SIZE);
		EXPECT_OK(
			philox_memory_set(c->device, stream, memory, 1, SIZE));
	}
}

static void an_empty_capture_is_a_graph(struct contract *c)
{
	philox_native_graph graph;
	philox_native_exec exec;
	philox_stream stream;
	size_t nodes = 1;

	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(philox_stream_begin_capture(c->device, stream,
					      PHILOX_CAPTURE_RELAXED));
	EXPECT_OK(contract_end_capture(c, stream, &graph));
	EXPECT_OK(philox_native_graph_node_count(c->device, graph, &nodes));
	EXPECT(nodes == 0);
	EXPECT_OK(contract_instantiate(c, graph, &exec));
	EXPECT_OK(philox_native_exec_launch(c->device, stream, exec));
	EXPECT_OK(philox_stream_synchronize(c->device, stream));
}

static void a_chain_keeps_its_order(struct contract *c)
{
	philox_native_graph graph;
	philox_native_exec exec;
	philox_stream stream;
	void *memory[9];
	size_t nodes;

	EXPECT_OK(contract_stream(c, 0, &stream));
	for (int i = 0; i < 9; i++)
		EXPECT_OK(contract_memory(c, SIZE, &memory[i]));
	EXPECT_OK(contract_begin(c, stream));
	for (int i = 1; i < 9; i++) {
		EXPECT_OK(contract_set(c, memory[0], i, SIZE, stream));
		EXPECT_OK(contract_copy(c, memory[i], memory[0], SIZE, stream));
	}
	EXPECT_OK(contract_end_capture(c, stream, &graph));
	EXPECT_OK(philox_native_graph_node_count(c->device, graph, &nodes));
	EXPECT(nodes == 16);
	for (int k = 0; k < EXECS; k++) {
		EXPECT_OK(contract_instantiate(c, graph, &exec));
		EXPECT_OK(philox_native_exec_launch(c->device, stream, exec));
		for (int i = 1; i < 9; i++)
			EXPECT_BYTES(stream, memory[i], i, SIZE);
	}
}

/*
 * a = 1, then on two streams b = a, d = a, then a = 2 on the first: every edge
 * of the fork and of the join is needed for b and d to be 1.
 */
static void capture_diamond(struct contract *c, philox_stream first,
			    philox_stream second, void *const *memory,
			    philox_native_graph *graph)
{
	philox_event forked, joined;

	EXPECT_OK(contract_event(c, &forked));
	EXPECT_OK(contract_event(c, &joined));
	EXPECT_OK(contract_begin(c, first));
	EXPECT_OK(contract_set(c, memory[0], 1, SIZE, first));
	EXPECT_OK(contract_order(c, forked, first, second));
	EXPECT_OK(contract_copy(c, memory[1], memory[0], SIZE, first));
	EXPECT_OK(contract_copy(c, memory[2], memory[0], SIZE, second));
	EXPECT_OK(contract_order(c, joined, second, first));
	EXPECT_OK(contract_set(c, memory[0], 2, SIZE, first));
	EXPECT_OK(contract_end_capture(c, first, graph));
}

static void a_fork_and_its_join_are_edges(struct contract *c)
{
	philox_stream first, second;
	philox_native_graph graph;
	philox_native_exec exec;
	void *memory[3];
	size_t nodes;

	EXPECT_OK(contract_stream(c, 0, &first));
	EXPECT_OK(contract_stream(c, 0, &second));
	for (int i = 0; i < 3; i++)
		EXPECT_OK(contract_memory(c, SIZE, &memory[i]));
	EXPECT_PART(capture_diamond(c, first, second, memory, &graph));
	EXPECT_OK(philox_native_graph_node_count(c->device, graph, &nodes));
	EXPECT(nodes == 4);
	for (int k = 0; k < EXECS; k++) {
		EXPECT_OK(contract_instantiate(c, graph, &exec));
		EXPECT_OK(philox_native_exec_launch(c->device, second, exec));
		EXPECT_BYTES(second, memory[0], 2, SIZE);
		EXPECT_BYTES(second, memory[1], 1, SIZE);
		EXPECT_BYTES(second, memory[2], 1, SIZE);
	}
}

static void a_graph_outlived_by_its_execs_still_runs(struct contract *c)
{
	philox_native_graph graph;
	philox_native_exec exec;
	philox_stream stream;
	void *memory;

	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_memory(c, SIZE, &memory));
	EXPECT_OK(contract_begin(c, stream));
	EXPECT_OK(contract_set(c, memory, 3, SIZE, stream));
	EXPECT_OK(philox_stream_end_capture(c->device, stream, &graph));
	EXPECT_OK(contract_instantiate(c, graph, &exec));
	EXPECT_OK(philox_native_graph_destroy(c->device, graph));
	EXPECT_OK(philox_native_exec_launch(c->device, stream, exec));
	EXPECT_BYTES(stream, memory, 3, SIZE);
}

static void an_exec_destroyed_in_flight_still_runs(struct contract *c)
{
	philox_native_graph graph;
	philox_native_exec exec;
	philox_stream stream;
	void *memory;

	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_memory(c, SIZE, &memory));
	EXPECT_OK(contract_begin(c, stream));
	EXPECT_OK(contract_set(c, memory, 3, SIZE, stream));
	EXPECT_OK(contract_end_capture(c, stream, &graph));
	EXPECT_OK(philox_native_graph_instantiate(c->device, graph, &exec));
	EXPECT_OK(contract_delay(c, stream));
	EXPECT_OK(philox_native_exec_launch(c->device, stream, exec));
	EXPECT_OK(philox_native_exec_destroy(c->device, exec));
	EXPECT_BYTES(stream, memory, 3, SIZE);
}

/* --- the library's own nodes ---------------------------------------------- */

/* A graph in which a root fills `a` and, depending on it, `a` goes to `b`. */
static void capture_root(struct contract *c, philox_stream stream, void *a,
			 void *b, uint64_t offset, device_node *root,
			 philox_native_graph *graph)
{
	struct capture_info info;
	struct fill fill;

	fill_init(&fill, a, offset);
	EXPECT_OK(contract_begin(c, stream));
	EXPECT_OK(device_capture_info(c->device, stream, &info));
	EXPECT(info.status == PHILOX_CAPTURE_ACTIVE && info.id && info.graph);
	EXPECT_OK(device_graph_add_kernel(c->device, info.graph, NULL, 0,
					  &fill.call, root));
	EXPECT_OK(device_capture_depend(c->device, stream, *root));
	EXPECT_OK(contract_copy(c, b, a, SIZE, stream));
	EXPECT_OK(contract_set(c, a, 0, SIZE, stream));
	EXPECT_OK(contract_end_capture(c, stream, graph));
}

static void a_root_runs_before_what_depends_on_it(struct contract *c)
{
	philox_native_graph graph;
	philox_native_exec exec;
	philox_stream stream;
	device_node root;
	void *a, *b;
	size_t nodes;

	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_memory(c, SIZE, &a));
	EXPECT_OK(contract_memory(c, SIZE, &b));
	EXPECT_PART(capture_root(c, stream, a, b, 8, &root, &graph));
	EXPECT_OK(philox_native_graph_node_count(c->device, graph, &nodes));
	EXPECT(nodes == 3);
	for (int k = 0; k < EXECS; k++) {
		EXPECT_OK(contract_instantiate(c, graph, &exec));
		EXPECT_OK(philox_native_exec_launch(c->device, stream, exec));
		EXPECT_PART(expect_fill(c, stream, b, 8));
		EXPECT_BYTES(stream, a, 0, SIZE);
	}
}

static void a_node_takes_new_arguments_in_a_graph(struct contract *c)
{
	philox_native_graph graph;
	philox_native_exec exec;
	philox_stream stream;
	device_node root;
	struct fill fill;
	void *a, *b;

	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_memory(c, SIZE, &a));
	EXPECT_OK(contract_memory(c, SIZE, &b));
	EXPECT_PART(capture_root(c, stream, a, b, 8, &root, &graph));
	fill_init(&fill, a, 12);
	EXPECT_OK(device_graph_set_kernel(c->device, root, &fill.call));
	EXPECT_OK(contract_instantiate(c, graph, &exec));
	EXPECT_OK(philox_native_exec_launch(c->device, stream, exec));
	EXPECT_PART(expect_fill(c, stream, b, 12));
}

static void an_update_affects_later_launches_alone(struct contract *c)
{
	enum { LAUNCHES = 8 };
	philox_native_graph graph;
	philox_native_exec exec;
	philox_stream stream;
	device_node root;
	struct fill fill;
	void *a, *b, *seen[LAUNCHES];

	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_memory(c, SIZE, &a));
	EXPECT_OK(contract_memory(c, SIZE, &b));
	for (int i = 0; i < LAUNCHES; i++)
		EXPECT_OK(contract_memory(c, SIZE, &seen[i]));
	EXPECT_PART(capture_root(c, stream, a, b, 0, &root, &graph));
	EXPECT_OK(contract_instantiate(c, graph, &exec));
	EXPECT_OK(contract_delay(c, stream));
	for (int i = 0; i < LAUNCHES; i++) {
		if (i) {
			fill_init(&fill, a, (uint64_t)i * 4);
			EXPECT_OK(device_exec_set_kernel(c->device, exec, root,
							 &fill.call));
		}
		EXPECT_OK(philox_native_exec_launch(c->device, stream, exec));
		EXPECT_OK(contract_copy(c, seen[i], b, SIZE, stream));
	}
	for (int i = 0; i < LAUNCHES; i++)
		EXPECT_PART(expect_fill(c, stream, seen[i], (uint64_t)i * 4));
}

static void an_update_leaves_other_execs_alone(struct contract *c)
{
	philox_native_exec first, second;
	philox_native_graph graph;
	philox_stream stream;
	device_node root;
	struct fill fill;
	void *a, *b;

	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_memory(c, SIZE, &a));
	EXPECT_OK(contract_memory(c, SIZE, &b));
	EXPECT_PART(capture_root(c, stream, a, b, 0, &root, &graph));
	EXPECT_OK(contract_instantiate(c, graph, &first));
	EXPECT_OK(contract_instantiate(c, graph, &second));
	fill_init(&fill, a, 4);
	EXPECT_OK(device_exec_set_kernel(c->device, first, root, &fill.call));
	EXPECT_OK(philox_native_exec_launch(c->device, stream, second));
	EXPECT_PART(expect_fill(c, stream, b, 0));
	EXPECT_OK(philox_native_exec_launch(c->device, stream, first));
	EXPECT_PART(expect_fill(c, stream, b, 4));
}

static void nodes_of_another_graph_are_refused(struct contract *c)
{
	philox_native_graph graph, other;
	philox_native_exec exec;
	philox_stream stream;
	device_node root, foreign;
	struct fill fill;
	void *a, *b;

	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_memory(c, SIZE, &a));
	EXPECT_OK(contract_memory(c, SIZE, &b));
	EXPECT_PART(capture_root(c, stream, a, b, 0, &root, &graph));
	EXPECT_PART(capture_root(c, stream, a, b, 0, &foreign, &other));
	EXPECT_OK(contract_instantiate(c, graph, &exec));
	fill_init(&fill, a, 4);
	EXPECT(device_exec_set_kernel(c->device, exec, foreign, &fill.call));
	EXPECT_OK(device_exec_set_kernel(c->device, exec, root, &fill.call));
	EXPECT_OK(philox_native_exec_launch(c->device, stream, exec));
	EXPECT_PART(expect_fill(c, stream, b, 4));
}

/* --- launches ------------------------------------------------------------- */

/*
 * Later launches win, whatever stream they are on and however slow the first.
 */
static void launches_of_one_exec_run_one_after_another(struct contract *c)
{
	philox_stream first, second;
	philox_native_graph graph;
	philox_native_exec exec;
	device_node root;
	struct fill fill;
	void *a, *b;

	EXPECT_OK(contract_stream(c, 0, &first));
	EXPECT_OK(contract_stream(c, 0, &second));
	EXPECT_OK(contract_memory(c, SIZE, &a));
	EXPECT_OK(contract_memory(c, SIZE, &b));
	EXPECT_PART(capture_root(c, first, a, b, 0, &root, &graph));
	EXPECT_OK(contract_instantiate(c, graph, &exec));
	for (uint64_t i = 0; i < 10; i++) {
		EXPECT_OK(contract_delay(c, i % 2 ? second : first));
		EXPECT_OK(philox_native_exec_launch(
			c->device, i % 2 ? second : first, exec));
		fill_init(&fill, a, 8 * i + 4);
		EXPECT_OK(device_exec_set_kernel(c->device, exec, root,
						 &fill.call));
		EXPECT_OK(philox_native_exec_launch(
			c->device, i % 2 ? first : second, exec));
		EXPECT_OK(philox_device_synchronize(c->device));
		EXPECT_PART(expect_fill(c, first, b, 8 * i + 4));
	}
}

static void release_one(void *object)
{
	atomic_fetch_add((atomic_int *)object, 1);
}

/* A device may release on a thread of its own: wait for a while. */
static int releases_reach(atomic_int *count, int wanted)
{
	const struct timespec moment = {.tv_nsec = 2000000};

	for (int i = 0; i < 1000 && atomic_load(count) < wanted; i++)
		nanosleep(&moment, NULL);
	return atomic_load(count) == wanted;
}

static void objects_live_as_long_as_their_graph(struct contract *c)
{
	static atomic_int released;
	struct capture_info info;
	philox_native_graph graph;
	philox_native_exec exec;
	philox_stream stream;
	void *memory;

	atomic_store(&released, 0);
	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_memory(c, SIZE, &memory));
	EXPECT_OK(contract_begin(c, stream));
	EXPECT_OK(contract_set(c, memory, 1, SIZE, stream));
	EXPECT_OK(device_capture_info(c->device, stream, &info));
	EXPECT_OK(device_graph_retain(c->device, info.graph, release_one,
				      &released));
	EXPECT_OK(philox_stream_end_capture(c->device, stream, &graph));
	EXPECT_OK(philox_native_graph_instantiate(c->device, graph, &exec));
	EXPECT_OK(philox_native_graph_destroy(c->device, graph));
	EXPECT_OK(philox_native_exec_launch(c->device, stream, exec));
	EXPECT_OK(philox_stream_synchronize(c->device, stream));
	EXPECT(atomic_load(&released) == 0);
	EXPECT_OK(contract_delay(c, stream));
	EXPECT_OK(philox_native_exec_launch(c->device, stream, exec));
	EXPECT_OK(philox_native_exec_destroy(c->device, exec));
	EXPECT_OK(philox_device_synchronize(c->device));
	EXPECT(releases_reach(&released, 1));
}

static void objects_of_a_capture_that_fails_are_released(struct contract *c)
{
	static atomic_int released;
	struct capture_info info;
	philox_native_graph graph;
	philox_stream stream;

	atomic_store(&released, 0);
	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_begin(c, stream));
	EXPECT_OK(device_capture_info(c->device, stream, &info));
	EXPECT_OK(device_graph_retain(c->device, info.graph, release_one,
				      &released));
	EXPECT_ERROR(CAPTURE_UNSUPPORTED,
		     philox_stream_synchronize(c->device, stream));
	EXPECT_ERROR(CAPTURE_INVALIDATED,
		     philox_stream_end_capture(c->device, stream, &graph));
	EXPECT(releases_reach(&released, 1));
}

static void destroyed_graphs_are_refused(struct contract *c)
{
	philox_native_graph graph;
	philox_native_exec exec;
	philox_stream stream;
	device_node root;
	struct fill fill;
	void *a, *b;
	size_t nodes;

	SKIP_IF(!philox_device_is_host(c->device),
		"CUDA leaves the use of destroyed handles undefined");
	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_memory(c, SIZE, &a));
	EXPECT_OK(contract_memory(c, SIZE, &b));
	EXPECT_PART(capture_root(c, stream, a, b, 0, &root, &graph));
	EXPECT_OK(philox_native_graph_instantiate(c->device, graph, &exec));
	contract_forget(c, graph);
	EXPECT_OK(philox_native_graph_destroy(c->device, graph));
	fill_init(&fill, a, 4);
	EXPECT_ERROR(INVALID,
		     device_exec_set_kernel(c->device, exec, root, &fill.call));
	EXPECT_OK(philox_native_exec_destroy(c->device, exec));
	EXPECT_ERROR(INVALID,
		     philox_native_graph_node_count(c->device, graph, &nodes));
	EXPECT_ERROR(INVALID,
		     philox_native_graph_instantiate(c->device, graph, &exec));
	EXPECT_ERROR(INVALID,
		     philox_native_exec_launch(c->device, stream, exec));
	EXPECT_ERROR(INVALID, philox_native_exec_destroy(c->device, exec));
}

const struct contract_check contract_replay[] = {
	{"launched kernels run", .run = launched_kernels_run},
	{"captured work runs at replay only",
	 .run = captured_work_runs_at_replay_alone},
	{"an empty capture is a graph", .run = an_empty_capture_is_a_graph},
	{"a chain keeps its order in replays", .run = a_chain_keeps_its_order},
	{"a fork and its join are edges", .run = a_fork_and_its_join_are_edges},
	{"an executable graph outlives its graph",
	 .run = a_graph_outlived_by_its_execs_still_runs},
	{"an executable graph destroyed in flight still runs",
	 .run = an_exec_destroyed_in_flight_still_runs},
	{"a root runs before what depends on it",
	 .run = a_root_runs_before_what_depends_on_it},
	{"a node of a graph takes new arguments",
	 .run = a_node_takes_new_arguments_in_a_graph},
	{"an update affects later launches alone",
	 .run = an_update_affects_later_launches_alone},
	{"an update leaves other executable graphs alone",
	 .run = an_update_leaves_other_execs_alone},
	{"nodes of another graph are refused",
	 .run = nodes_of_another_graph_are_refused},
	{"launches of one executable graph run in turn",
	 .run = launches_of_one_exec_run_one_after_another},
	{"retained objects live as long as their graph",
	 .run = objects_live_as_long_as_their_graph},
	{"retained objects of a failed capture are released",
	 .run = objects_of_a_capture_that_fails_are_released},
	{"destroyed graphs are refused", .run = destroyed_graphs_are_refused},
	{0}};
