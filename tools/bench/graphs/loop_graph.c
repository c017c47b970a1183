/*
 * tools/bench/graphs/loop_graph.c - a graph with a loop, and one with its work
 */
#include "tools/bench/graphs/graphs.h"

#include <stdio.h>

#define ELEMENTS 16 /* of a fill */
#define QUEUED   32 /* launches at most: with many, a call waits for room */

/* Device memory. Words are not 0 while the body is to run again. */
struct cells {
	uint32_t all[LOOP_LIMIT + 1], queue[LOOP_LIMIT + 1], moved[LOOP_LIMIT];
	uint32_t ran; /* number of the last iteration */
	uint32_t out[ELEMENTS];
};

/* --- two graphs ----------------------------------------------------------- */

static enum philox_status copy_words(struct loop_graphs *of,
				     philox_stream stream, uint32_t *to,
				     const uint32_t *from, size_t n)
{
	return philox_memory_copy(of->bench->device, stream, to, from,
				  n * sizeof(*to));
}

/* What an iteration does, but for the condition. */
static enum philox_status record_iteration(struct loop_graphs *of,
					   philox_stream stream)
{
	const struct philox_span span = {.count = ELEMENTS};
	struct cells *cells = of->cells;
	struct philox_pass pass;
	enum philox_status status = philox_forward_begin(
		of->region, stream, PHILOX_PASS_INFERENCE, &pass);

	if (status == PHILOX_OK)
		status = philox_pass_bits(&pass, 0, PHILOX_DTYPE_U32, span,
					  cells->out);
	if (status == PHILOX_OK)
		status = philox_pass_commit(&pass, 0, NULL);
	if (status == PHILOX_OK)
		status = copy_words(of, stream, cells->moved, cells->queue + 1,
				    LOOP_LIMIT);
	return status == PHILOX_OK ? copy_words(of, stream, cells->queue,
						cells->moved, LOOP_LIMIT)
				   : status;
}

static enum philox_status record_body(struct loop_graphs *of,
				      struct philox_conditional *node)
{
	struct cells *cells = of->cells;
	const uint32_t *iteration = NULL;
	enum philox_status status = philox_conditional_body(node, 0, of->inner);

	if (status == PHILOX_OK)
		status = philox_conditional_iteration(node, 0, &iteration);
	if (status == PHILOX_OK)
		status = record_iteration(of, of->inner);
	if (status == PHILOX_OK)
		status = copy_words(of, of->inner, &cells->ran, iteration, 1);
	return status == PHILOX_OK
		       ? philox_conditional_set(node, of->inner, cells->queue)
		       : status;
}

static enum philox_status record_loop(struct loop_graphs *of)
{
	const struct philox_conditional_desc options = {
		.size = sizeof(options),
		.kind = PHILOX_CONDITIONAL_WHILE,
		.limit = LOOP_LIMIT};
	struct philox_conditional node;
	enum philox_status status = philox_conditional_begin(
		of->bench->context, of->bench->stream, &options, &node);

	if (status == PHILOX_OK)
		status = record_body(of, &node);
	return status == PHILOX_OK ? philox_conditional_end(&node) : status;
}

static enum philox_status capture_loop_graph(struct loop_graphs *of,
					     int without,
					     struct philox_graph **graph)
{
	struct bench *bench = of->bench;
	struct cells *cells = of->cells;
	enum philox_status status =
		philox_capture_begin(bench->context, bench->stream);

	if (status == PHILOX_OK)
		status = copy_words(of, bench->stream, cells->queue, cells->all,
				    LOOP_LIMIT + 1);
	if (status == PHILOX_OK)
		status = without ? record_iteration(of, bench->stream)
				 : record_loop(of);
	if (status == PHILOX_OK)
		status = philox_capture_end(bench->context, bench->stream,
					    graph);
	return status;
}

/* --- launches ------------------------------------------------------------- */

/* The next launches run the body so often. */
static enum philox_status set_count(struct loop_graphs *of, uint32_t count)
{
	struct bench *bench = of->bench;
	struct cells *cells = of->cells;
	uint32_t all[LOOP_LIMIT + 1];
	enum philox_status status;

	for (uint32_t i = 0; i <= LOOP_LIMIT; i++)
		all[i] = i < count;
	status = copy_words(of, bench->stream, cells->all, all, LOOP_LIMIT + 1);
	return status == PHILOX_OK ? bench_wait(bench) : status;
}

enum philox_status loop_graphs_run(struct loop_graphs *of, uint32_t count,
				   int times, struct race_time *time)
{
	struct bench *bench = of->bench;
	struct philox_graph *graph = count ? of->loop : of->without;
	enum philox_status status = set_count(of, count);
	double first = bench_now(), start;

	time->call = 0;
	for (int i = 0; status == PHILOX_OK && i < times; i++) {
		struct philox_launch_pass use = {{0, 0}, 0, 0};

		start = bench_now();
		status = philox_graph_launch(graph, bench->stream, &use, 1);
		time->call += bench_now() - start;
		if (status == PHILOX_OK && (i % QUEUED == QUEUED - 1))
			status = bench_wait(bench);
	}
	if (status == PHILOX_OK)
		status = bench_wait(bench);
	time->whole = bench_now() - first;
	return status;
}

enum philox_status loop_graphs_ran(struct loop_graphs *of, uint32_t *count)
{
	struct bench *bench = of->bench;
	struct cells *cells = of->cells;
	uint32_t last = 0;
	enum philox_status status =
		copy_words(of, bench->stream, &last, &cells->ran, 1);

	if (status == PHILOX_OK)
		status = bench_wait(bench);
	*count = last + 1;
	return status == PHILOX_OK ? philox_context_check(bench->context, NULL)
				   : status;
}

/* --- made and cleaned ----------------------------------------------------- */

/* The capture is ended for nothing; it may say again what is missing. */
static void end_for_nothing(struct loop_graphs *of)
{
	struct bench *bench = of->bench;

	philox_capture_end(bench->context, bench->stream, &of->loop);
}

int loop_graphs_make(struct loop_graphs *of, char note[RACE_NOTE_MAX])
{
	struct bench *bench = of->bench;
	const char *op = "op";
	enum philox_status status;

	if (bench_try("region",
		      philox_region_create_named(bench->context, "bench loops",
						 &op, 1, &of->region)) ||
	    bench_try("stream",
		      philox_stream_create(bench->device, 0, &of->inner)) ||
	    bench_try("memory",
		      philox_memory_alloc(bench->device, sizeof(struct cells),
					  &of->cells)))
		return -1;
	status = capture_loop_graph(of, 0, &of->loop);
	if (status == PHILOX_ERROR_UNSUPPORTED) {
		snprintf(note, RACE_NOTE_MAX, "%s", philox_error_message());
		end_for_nothing(of);
		return 1;
	}
	return bench_try("capture", status) ||
			       bench_try(
				       "capture",
				       capture_loop_graph(of, 1, &of->without))
		       ? -1
		       : 0;
}

void loop_graphs_clean(struct loop_graphs *of)
{
	struct philox_device *device = of->bench->device;

	philox_graph_destroy(of->without);
	philox_graph_destroy(of->loop);
	philox_memory_free(device, of->cells);
	if (of->inner)
		philox_stream_destroy(device, of->inner);
	philox_region_destroy(of->region);
}
