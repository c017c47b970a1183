/*
 * tools/bench_replay.c - what a launch with tickets costs over a bare one
 *
 * Two graphs hold the same work, one small fill per pass: one draws through
 * passes and is launched by philox_graph_launch(), its peer draws from states
 * by value and is launched as it is. The passes are inference passes, so that
 * any number of launches can follow one another. The time of the call alone is
 * what the host pays; with the wait it is what a replay takes.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

#define ROUNDS         15
#define ELEMENTS       16

#define LAUNCHES_LEAST 5
#define LAUNCHES_MOST  200
#define CELLS          200000 /* of the launches of a round, about */

struct replay_bench {
	struct bench *bench;
	struct philox_region *region;
	struct philox_graph *graph;
	philox_native_graph bare;
	philox_native_exec bare_exec;
	struct philox_use *uses;
	uint32_t ops, passes;
	int launches; /* of a round */
	void *out;
};

static const struct philox_span span = {.count = ELEMENTS};

static enum philox_status record_passes(struct replay_bench *of)
{
	struct bench *bench = of->bench;
	enum philox_status status = PHILOX_OK;
	struct philox_pass pass;

	for (uint32_t i = 0; status == PHILOX_OK && i < of->passes; i++) {
		status = philox_forward_begin(of->region, bench->stream,
					      PHILOX_INFERENCE, &pass);
		if (status != PHILOX_OK)
			break;
		status = philox_bits(&pass, 0, PHILOX_U32, span, of->out);
		if (status == PHILOX_OK)
			status = philox_forward_commit(&pass, NULL);
	}
	return status;
}

static enum philox_status record_values(struct replay_bench *of)
{
	struct philox_fill fill = {.size = sizeof(fill),
				   .dist = PHILOX_BITS,
				   .dtype = PHILOX_U32,
				   .span = span,
				   .out = of->out};
	struct philox_rng rng = {{1, 0}, NULL};
	enum philox_status status = PHILOX_OK;

	for (uint32_t i = 0; status == PHILOX_OK && i < of->passes; i++)
		status = philox_rng_fill(of->bench->device, of->bench->stream,
					 rng, &fill);
	return status;
}

static enum philox_status capture(struct replay_bench *of)
{
	struct bench *bench = of->bench;
	enum philox_status status;

	status = philox_capture_begin(bench->context, bench->stream);
	if (status == PHILOX_OK)
		status = record_passes(of);
	if (status == PHILOX_OK)
		status = philox_capture_end(bench->context, bench->stream,
					    &of->graph);
	return status;
}

static enum philox_status capture_bare(struct replay_bench *of)
{
	struct bench *bench = of->bench;
	enum philox_status status;

	status = philox_stream_begin_capture(bench->device, bench->stream,
					     PHILOX_CAPTURE_THREAD_LOCAL);
	if (status == PHILOX_OK)
		status = record_values(of);
	if (status == PHILOX_OK)
		status = philox_stream_end_capture(bench->device, bench->stream,
						   &of->bare);
	if (status == PHILOX_OK)
		status = philox_native_instantiate(bench->device, of->bare,
						   &of->bare_exec);
	return status;
}

/* Nanoseconds per launch: of the calls alone, and with the work done. */
static int time_launches(struct replay_bench *of, int bare, double *call,
			 double *whole)
{
	struct bench *bench = of->bench;
	enum philox_status status = PHILOX_OK;
	double start = bench_now();

	for (int i = 0; status == PHILOX_OK && i < of->launches; i++)
		status = bare ? philox_native_launch(bench->device,
						     of->bare_exec,
						     bench->stream)
			      : philox_graph_launch(of->graph, bench->stream,
						    of->uses, of->passes);
	*call = (bench_now() - start) / of->launches;
	if (status == PHILOX_OK)
		status =
			philox_stream_synchronize(bench->device, bench->stream);
	*whole = (bench_now() - start) / of->launches;
	return bench_try("launch", status);
}

static void print_rows(struct replay_bench *of, double *call, double *bare_call,
		       double *whole, double *bare_whole)
{
	char shape[48], name[64];

	snprintf(shape, sizeof(shape), "%u op%s, %u pass%s", of->ops,
		 bench_plural(of->ops), of->passes,
		 of->passes == 1 ? "" : "es");
	snprintf(name, sizeof(name), "launch call, %s", shape);
	bench_row(of->bench, name, bench_median(call, ROUNDS), "ns", "bare",
		  bench_median(bare_call, ROUNDS));
	snprintf(name, sizeof(name), "replay, %s", shape);
	bench_row(of->bench, name, bench_median(whole, ROUNDS), "ns", "bare",
		  bench_median(bare_whole, ROUNDS));
}

static int measure(struct replay_bench *of)
{
	double call[ROUNDS], whole[ROUNDS], bare_call[ROUNDS],
		bare_whole[ROUNDS];

	/* the first round is written over by the second */
	for (int i = -1; i < ROUNDS; i++) {
		int at = i < 0 ? 0 : i;

		if (time_launches(of, 0, &call[at], &whole[at]) ||
		    time_launches(of, 1, &bare_call[at], &bare_whole[at]))
			return -1;
	}
	print_rows(of, call, bare_call, whole, bare_whole);
	return 0;
}

static int make_region(struct replay_bench *of)
{
	struct philox_op *ops = calloc(of->ops, sizeof(*ops));
	struct philox_region_options options = {.size = sizeof(options),
						.name = "bench",
						.ops = ops,
						.n_ops = of->ops};
	int failed;

	if (!ops) {
		perror("philox bench");
		return -1;
	}
	failed = bench_try("region",
			   philox_region_create(of->bench->context, &options,
						&of->region));
	free(ops);
	return failed;
}

static void clean_up(struct replay_bench *of)
{
	struct philox_device *device = of->bench->device;

	free(of->uses);
	philox_native_exec_destroy(device, of->bare_exec);
	philox_native_graph_destroy(device, of->bare);
	philox_graph_destroy(of->graph);
	philox_memory_free(device, of->out);
	philox_region_destroy(of->region);
}

/* Graphs of many cells take long: they are launched less often. */
static int launches_of(uint32_t ops, uint32_t passes)
{
	uint32_t launches = CELLS / (ops * passes);

	if (launches < LAUNCHES_LEAST)
		return LAUNCHES_LEAST;
	return launches > LAUNCHES_MOST ? LAUNCHES_MOST : (int)launches;
}

static int bench_shape(struct bench *bench, uint32_t ops, uint32_t passes)
{
	struct replay_bench of = {.bench = bench,
				  .ops = ops,
				  .passes = passes,
				  .launches = launches_of(ops, passes)};
	int failed = make_region(&of);

	of.uses = calloc(passes, sizeof(*of.uses));
	failed = failed || !of.uses ||
		 bench_try("memory",
			   philox_memory_alloc(bench->device, ELEMENTS * 4,
					       &of.out)) ||
		 bench_try("capture", capture(&of)) ||
		 bench_try("bare capture", capture_bare(&of)) || measure(&of);
	clean_up(&of);
	return failed ? -1 : 0;
}

int bench_replay(struct bench *bench)
{
	static const uint32_t ops[] = {1, 96, 4096}, passes[] = {1, 100};

	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 2; j++)
			if (bench_shape(bench, ops[i], passes[j]))
				return -1;
	return 0;
}
