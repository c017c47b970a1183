/*
 * tests/probe/overlap.c - launches that run at the same time, or must not
 */
#include "tests/probe/probe.h"

#include <math.h>
#include <philox.h>
#include <stdlib.h>

/* --- a wide head and the consumers before it ------------------------------ */

enum {
	LAUNCHES = 64,
	BLOCKS = 64,
	THREADS = 256,
	GRID_US = 20 /* of one grid */
};

/* A graph of two wide grids, one after the other, each with its span. */
struct pair {
	cudaGraphNode_t nodes[2];
	cudaGraphExec_t exec;
	struct probe_spin_args args[2];
	struct probe_launch launches[2];
};

static void make_pair(struct pair *pair)
{
	cudaGraph_t graph;

	MUST(cudaGraphCreate(&graph, 0));
	for (int i = 0; i < 2; i++) {
		pair->args[i].ns = 1000ull * GRID_US;
		probe_kernel(&pair->launches[i], probe_spin, BLOCKS, THREADS,
			     &pair->args[i]);
		pair->nodes[i] = probe_node(graph, pair->nodes, (size_t)i,
					    &pair->launches[i]);
	}
	pair->exec = probe_exec(graph);
}

/* spans[2 i] and spans[2 i + 1] are those of launch i. */
static void launch_pair(struct pair *pair, struct probe_span *spans, int i,
			cudaStream_t stream)
{
	for (int k = 0; k < 2; k++) {
		pair->args[k].span = &spans[2 * i + k];
		MUST(cudaGraphExecKernelNodeSetParams(
			pair->exec, pair->nodes[k], &pair->launches[k].params));
	}
	MUST(cudaGraphLaunch(pair->exec, stream));
}

/* A head that begins before the consumer of the launch before it has ended. */
static int count_overlaps(const struct probe_span *spans)
{
	int overlaps = 0;

	for (int i = 1; i < LAUNCHES; i++)
		overlaps += ~spans[2 * i].first < spans[2 * i - 1].last;
	return overlaps;
}

/* One executable graph, on its streams in turn. */
static int run_pairs(int n_streams)
{
	const size_t size = 2 * LAUNCHES * sizeof(struct probe_span);
	static struct probe_span seen[2 * LAUNCHES];
	struct probe_span *spans = probe_memory(size);
	cudaStream_t streams[2] = {probe_stream(), probe_stream()};
	static struct pair pair;

	make_pair(&pair);
	for (int i = 0; i < LAUNCHES; i++)
		launch_pair(&pair, spans, i, streams[i % n_streams]);
	MUST(cudaDeviceSynchronize());
	MUST(cudaMemcpy(seen, spans, size, cudaMemcpyDeviceToHost));
	return count_overlaps(seen);
}

static void ask_wide_head(int n_streams)
{
	int overlaps;

	probe_load(probe_spin);
	overlaps = run_pairs(n_streams);
	answer(overlaps ? DIFFERS : PASS,
	       "of %d launches of one executable graph %d began before the one "
	       "before them had ended",
	       LAUNCHES, overlaps);
}

/* --- a second executable graph of a capture ------------------------------- */

enum {
	TRIES = 100,
	COUNT = 4096,
	BETWEEN_US = 200 /* from the head to what it is for */
};

/* A graph with some work between its head and its consumer, made twice. */
struct twice {
	struct philox_context *context;
	struct philox_graph *graph;
	cudaGraphExec_t second;
	philox_stream streams[2];
	float *out;
};

static void capture_twice(struct twice *twice, struct philox_region *region)
{
	const struct philox_span whole = {.count = COUNT};
	philox_stream stream = twice->streams[0];
	philox_native_graph native;
	struct philox_pass pass;

	TRY(philox_capture_begin(twice->context, stream));
	TRY(philox_forward_begin(region, stream, PHILOX_PASS_INFERENCE, &pass));
	probe_spin_on((cudaStream_t)stream, BETWEEN_US, 0);
	TRY(philox_pass_uniform(&pass, 0, PHILOX_DTYPE_F32, whole, 0, 1,
				twice->out));
	TRY(philox_pass_commit(&pass, 0, NULL));
	TRY(philox_capture_end(twice->context, stream, &twice->graph));
	TRY(philox_graph_native(twice->graph, &native, NULL));
	twice->second = probe_exec((cudaGraph_t)native);
}

static void open_twice(struct twice *twice)
{
	const char *op = "op";
	struct philox_device *device;
	struct philox_region *region;
	void *out;

	TRY(philox_device_open("cuda", &device));
	TRY(philox_context_create(device, &twice->context));
	TRY(philox_region_create_named(twice->context, "region", &op, 1,
				       &region));
	for (int i = 0; i < 2; i++)
		TRY(philox_stream_create(device, 0, &twice->streams[i]));
	TRY(philox_memory_alloc(device, COUNT * sizeof(float), &out));
	twice->out = out;
	probe_load(probe_spin);
	capture_twice(twice, region);
}

static void copy_out(const struct twice *twice, float *out)
{
	MUST(cudaDeviceSynchronize());
	MUST(cudaMemcpy(out, twice->out, COUNT * sizeof(*out),
			cudaMemcpyDeviceToHost));
}

/* What the launches of all tries left. */
struct found {
	int overlapped, unseen; /* launches: at the same time; not reported */
	int poison, numbers;    /* outputs: with NaN; all numbers */
};

static void note_output(const struct twice *twice, struct found *found)
{
	static float out[COUNT];
	int poisoned = 0;

	copy_out(twice, out);
	for (int i = 0; i < COUNT; i++)
		poisoned |= isnan(out[i]);
	found->poison += poisoned;
	found->numbers += !poisoned;
}

/* An announced launch, and the second one `later` us after it. */
static void try_twice(struct twice *twice, double later, struct found *found)
{
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	enum philox_status status;
	double begun = probe_us();

	TRY(philox_graph_launch(twice->graph, twice->streams[0], &use, 1));
	while (probe_us() - begun < later)
		;
	found->overlapped += cudaStreamQuery((cudaStream_t)twice->streams[0]) ==
			     cudaErrorNotReady;
	MUST(cudaGraphLaunch(twice->second, (cudaStream_t)twice->streams[1]));
	note_output(twice, found);
	status = philox_context_check(twice->context, NULL);
	found->unseen += status == PHILOX_OK;
	if (status != PHILOX_OK && status != PHILOX_ERROR_UNANNOUNCED)
		TRY(status);
}

static void ask_second_exec(int which)
{
	struct found found = {0};
	struct twice twice;

	(void)which;
	open_twice(&twice);
	for (int i = 0; i < TRIES; i++)
		try_twice(&twice, 1.5 * BETWEEN_US * i / TRIES, &found);
	answer(found.unseen ? DIFFERS : PASS,
	       "%d of %d launches overlapped an announced one; %d were not "
	       "reported; the output they shared held poison %d times, numbers "
	       "%d times",
	       found.overlapped, TRIES, found.unseen, found.poison,
	       found.numbers);
}

const struct question overlap_questions[] = {
	{"second-exec-overlaps",
	 "one that overlaps an announced launch is always reported",
	 ask_second_exec, 0},
	{"one-exec-at-a-time-one-stream",
	 "launches of one executable graph run one after the other",
	 ask_wide_head, 1},
	{"one-exec-at-a-time-two-streams",
	 "launches of one executable graph run one after the other",
	 ask_wide_head, 2},
	{NULL, NULL, NULL, 0},
};
