/*
 * tools/bench/runner/bed.c - a function of a runner, and the same graphs alone
 */
#include "tools/bench/runner/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include "tools/cli/cli.h"

/* The key of the recordings, and that of the one more. */
enum { KEY, OTHER_KEY };

static uint32_t all_inputs(const struct runner_bed *bed)
{
	return bed->shape.statics + bed->shape.copied;
}

static uint32_t all_recordings(const struct runner_bed *bed)
{
	return bed->recordings ? bed->recordings : 1;
}

/* --- the body ------------------------------------------------------------- */

static enum philox_status declare_outputs(const struct runner_bed *bed,
					  struct philox_run *run)
{
	enum philox_status status = PHILOX_OK;
	void *output;

	for (uint32_t i = 0; status == PHILOX_OK && i < bed->shape.outputs;
	     i++) {
		status = philox_run_alloc(run, RUNNER_BYTES, 0, "output",
					  &output);
		if (status == PHILOX_OK)
			status =
				philox_run_output(run, i, output, RUNNER_BYTES);
	}
	return status;
}

static enum philox_status run_bed_body(void *user, struct philox_run *run)
{
	const struct runner_bed *bed = user;
	enum philox_status status = declare_outputs(bed, run);
	const void *value;

	for (uint32_t i = 0; status == PHILOX_OK && i < bed->shape.values; i++)
		status = philox_run_param(run, i, &value);
	return status == PHILOX_OK ? runner_draw(&bed->parts, run) : status;
}

/* --- calls ---------------------------------------------------------------- */

static enum philox_status release_all(const struct runner_bed *bed)
{
	enum philox_status status = PHILOX_OK;

	for (uint32_t i = 0; status == PHILOX_OK && i < bed->shape.outputs; i++)
		status = philox_output_release(
			bed->parts.runner, bed->bench->stream, &bed->out[i]);
	return status;
}

/* With the addresses of the recording whose turn it is. */
static enum philox_status call_once(struct runner_bed *bed, uint32_t key,
				    uint32_t *kind)
{
	struct philox_launch_pass use = {0};
	struct philox_call call = {.size = sizeof(call),
				   .stream = bed->bench->stream,
				   .key = &key,
				   .key_bytes = sizeof(key),
				   .inputs = bed->in,
				   .n_inputs = all_inputs(bed),
				   .params = bed->given,
				   .n_params = bed->shape.values,
				   .passes = &use,
				   .n_passes = 1,
				   .outputs = bed->out,
				   .n_outputs = bed->shape.outputs};
	enum philox_status status;

	if (bed->shape.statics)
		bed->in[0].address =
			bed->memory + (size_t)bed->turn * RUNNER_BYTES;
	if (++bed->turn == all_recordings(bed))
		bed->turn = 0;
	status = philox_function_call(bed->function, &call);
	*kind = call.kind;
	return status == PHILOX_OK ? release_all(bed) : status;
}

/* Until nothing is left to record: a warm-up, a recording, and a replay. */
static int record_all(struct runner_bed *bed)
{
	const uint32_t calls = 3 * all_recordings(bed);
	uint32_t kind = PHILOX_CALL_NONE;

	if (bench_try("call", call_once(bed, OTHER_KEY, &kind)) ||
	    bench_try("call", call_once(bed, OTHER_KEY, &kind)))
		return -1;
	bed->turn = 0;
	for (uint32_t i = 0; i < calls; i++)
		if (bench_try("call", call_once(bed, KEY, &kind)))
			return -1;
	if (kind == PHILOX_CALL_REPLAY)
		return 0;
	complain("bench", "a call was not replayed: %s",
		 philox_function_reason(bed->function));
	return -1;
}

/* --- made and cleaned ----------------------------------------------------- */

static int make_bed_arrays(struct runner_bed *bed)
{
	static const char value[RUNNER_VALUE];
	const uint32_t first = all_recordings(bed); /* addresses of input 0 */
	const size_t cells = (size_t)all_inputs(bed) + first;
	void *memory;

	bed->in = calloc(all_inputs(bed) + 1u, sizeof(*bed->in));
	bed->given = calloc(bed->shape.values + 1u, sizeof(*bed->given));
	bed->out = calloc(bed->shape.outputs + 1u, sizeof(*bed->out));
	bed->graphs = calloc(first + 1u, sizeof(*bed->graphs));
	if (!bed->in || !bed->given || !bed->out || !bed->graphs) {
		perror("philox bench");
		return -1;
	}
	if (bench_try("memory",
		      philox_memory_alloc(bed->bench->device,
					  cells * RUNNER_BYTES, &memory)))
		return -1;
	bed->memory = memory;
	for (uint32_t i = 0; i < all_inputs(bed); i++)
		bed->in[i] = (struct philox_call_input){
			.address = bed->memory +
				   (size_t)(first + i) * RUNNER_BYTES,
			.bytes = RUNNER_BYTES};
	for (uint32_t i = 0; i < bed->shape.values; i++)
		bed->given[i] =
			(struct philox_call_param){value, sizeof(value)};
	return 0;
}

static int make_bed_function(struct runner_bed *bed)
{
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);

	options.name = "bench";
	options.mode = PHILOX_MODE_INFERENCE;
	options.body = run_bed_body;
	options.user = bed;
	options.policy.recordings = all_recordings(bed) + 1;
	return runner_function_make(&bed->parts, &bed->shape, options,
				    &bed->function);
}

/* The first launch makes a copy of the message's place. */
static enum philox_status make_bed_graph(struct runner_bed *bed,
					 struct philox_graph **graph)
{
	struct philox_launch_pass use = {0};
	enum philox_status status =
		runner_capture_draw(&bed->parts, bed->shape.values, graph);

	return status == PHILOX_OK
		       ? philox_graph_launch(*graph, bed->bench->stream, &use,
					     1)
		       : status;
}

static enum philox_status make_bed_graphs(struct runner_bed *bed)
{
	const uint32_t count = all_recordings(bed) + 1;
	enum philox_status status = PHILOX_OK;

	for (uint32_t i = 0; status == PHILOX_OK && i < count; i++)
		status = make_bed_graph(bed, &bed->graphs[i]);
	return status;
}

int runner_bed_make(struct runner_bed *bed)
{
	if (runner_parts_make(&bed->parts, bed->bench) ||
	    make_bed_arrays(bed) || make_bed_function(bed) || record_all(bed) ||
	    bench_try("graphs", make_bed_graphs(bed)))
		return -1;
	return bench_try("wait", bench_wait(bed->bench));
}

void runner_bed_clean(struct runner_bed *bed)
{
	struct bench *bench = bed->bench;

	bench_wait(bench);
	for (uint32_t i = 0; bed->graphs && i <= all_recordings(bed); i++)
		philox_graph_destroy(bed->graphs[i]);
	runner_parts_clean(&bed->parts);
	philox_memory_free(bench->device, bed->memory);
	free(bed->in);
	free(bed->given);
	free(bed->out);
	free(bed->graphs);
}

/* --- raced ---------------------------------------------------------------- */

static enum philox_status call_again(void *user)
{
	uint32_t kind;

	return call_once(user, KEY, &kind);
}

static enum philox_status launch_once(void *user)
{
	struct runner_bed *bed = user;
	struct philox_launch_pass use = {0};
	struct philox_graph *graph = bed->graphs[bed->turn];

	if (++bed->turn == all_recordings(bed))
		bed->turn = 0;
	return philox_graph_launch(graph, bed->bench->stream, &use, 1);
}

enum philox_status runner_bed_call(struct runner_bed *bed, int times,
				   struct race_time *time)
{
	return race_repeat(bed->bench, times, call_again, bed, time);
}

enum philox_status runner_bed_launch(struct runner_bed *bed, int times,
				     struct race_time *time)
{
	return race_repeat(bed->bench, times, launch_once, bed, time);
}
