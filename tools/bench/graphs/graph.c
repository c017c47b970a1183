/*
 * tools/bench/graphs/graph.c - a graph that draws through passes, and a bare
 * one
 */
#include "tools/bench/graphs/graphs.h"

#include <stdio.h>
#include <stdlib.h>

#define ELEMENTS 16 /* of a fill */

static const struct philox_span span = {.count = ELEMENTS};

static enum philox_status record_passes(struct bench_graph *of)
{
	struct bench *bench = of->bench;
	enum philox_status status = PHILOX_OK;
	struct philox_pass pass;

	for (uint32_t i = 0; status == PHILOX_OK && i < of->passes; i++) {
		status = philox_forward_begin(of->region, bench->stream,
					      PHILOX_PASS_INFERENCE, &pass);
		if (status != PHILOX_OK)
			break;
		for (uint32_t j = 0; status == PHILOX_OK && j < of->draws; j++)
			status = philox_pass_bits(&pass, j, PHILOX_DTYPE_U32,
						  span, of->out);
		if (status == PHILOX_OK)
			status = philox_pass_commit(&pass, 0, NULL);
	}
	return status;
}

static enum philox_status record_bare(struct bench_graph *of)
{
	struct philox_fill_desc fill = {.size = sizeof(fill),
					.dist = PHILOX_DIST_BITS,
					.dtype = PHILOX_DTYPE_U32,
					.span = span,
					.out = of->out};
	struct philox_rng rng = {{1, 0}, NULL};
	enum philox_status status = PHILOX_OK;

	for (uint32_t i = 0; status == PHILOX_OK && i < of->passes * of->draws;
	     i++)
		status = philox_rng_fill(of->bench->device, of->bench->stream,
					 rng, &fill);
	return status;
}

static enum philox_status capture(struct bench_graph *of)
{
	struct bench *bench = of->bench;
	enum philox_status status;

	status = philox_capture_begin(bench->context, bench->stream);
	if (status == PHILOX_OK)
		status = bench_capture_values(bench, of->values, BENCH_VALUE);
	if (status == PHILOX_OK)
		status = record_passes(of);
	if (status == PHILOX_OK)
		status = philox_capture_end(bench->context, bench->stream,
					    &of->graph);
	return status;
}

static enum philox_status capture_bare(struct bench_graph *of)
{
	struct bench *bench = of->bench;
	enum philox_status status;

	status = philox_stream_begin_capture(bench->device, bench->stream,
					     PHILOX_CAPTURE_THREAD_LOCAL);
	if (status == PHILOX_OK)
		status = record_bare(of);
	if (status == PHILOX_OK)
		status = philox_stream_end_capture(bench->device, bench->stream,
						   &of->bare);
	if (status == PHILOX_OK)
		status = philox_native_graph_instantiate(
			bench->device, of->bare, &of->bare_exec);
	return status;
}

static int make_graph_region(struct bench_graph *of)
{
	struct philox_op_desc *ops = calloc(of->ops, sizeof(*ops));
	char name[32];
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = name,
					     .ops = ops,
					     .n_ops = of->ops};
	int failed;

	if (!ops) {
		perror("philox bench");
		return -1;
	}
	/* two graphs, with values and without, may be there at once */
	snprintf(name, sizeof(name), "bench, %u values", of->values);
	failed = bench_try("region",
			   philox_region_create(of->bench->context, &options,
						&of->region));
	free(ops);
	return failed;
}

int bench_graph_make(struct bench_graph *of)
{
	struct bench *bench = of->bench;

	if (make_graph_region(of))
		return -1;
	of->uses = calloc(of->passes, sizeof(*of->uses));
	if (!of->uses) {
		perror("philox bench");
		return -1;
	}
	return bench_try("memory",
			 philox_memory_alloc(bench->device, ELEMENTS * 4,
					     &of->out)) ||
			       bench_try("capture", capture(of)) ||
			       bench_try("bare capture", capture_bare(of))
		       ? -1
		       : 0;
}

void bench_graph_clean(struct bench_graph *of)
{
	struct philox_device *device = of->bench->device;

	free(of->uses);
	philox_native_exec_destroy(device, of->bare_exec);
	philox_native_graph_destroy(device, of->bare);
	philox_graph_destroy(of->graph);
	philox_memory_free(device, of->out);
	philox_region_destroy(of->region);
}

static enum philox_status launch_bare(void *user)
{
	const struct bench_graph *of = user;

	return philox_native_exec_launch(of->bench->device, of->bench->stream,
					 of->bare_exec);
}

static enum philox_status launch_ours(void *user)
{
	const struct bench_graph *of = user;

	return philox_graph_launch(of->graph, of->bench->stream, of->uses,
				   of->passes);
}

enum philox_status bench_graph_run(struct bench_graph *of, int bare, int times,
				   struct race_time *time)
{
	return race_repeat(of->bench, times, bare ? launch_bare : launch_ours,
			   of, time);
}
