/*
 * tools/bench/runner_bed.c - see tools/bench/runner_bed.h
 */
#include "tools/bench/runner_bed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/bench/pool.h"
#include "tools/common/complain.h"

#define ELEMENTS 16 /* of a fill */

/* The key of the recordings, and that of the one more. */
enum { KEY, OTHER_KEY };

static uint32_t all_inputs(const struct runner_bed *bed)
{
	return bed->inputs + bed->copied;
}

static uint32_t all_recordings(const struct runner_bed *bed)
{
	return bed->recordings ? bed->recordings : 1;
}

/* --- the body ------------------------------------------------------------- */

static enum philox_status draw_and_commit(struct philox_pass *pass, void *out)
{
	const struct philox_span span = {.count = ELEMENTS};
	enum philox_status status = philox_bits(pass, 0, PHILOX_U32, span, out);

	return status == PHILOX_OK ? philox_forward_commit(pass, NULL) : status;
}

static enum philox_status declare_outputs(const struct runner_bed *bed,
					  struct philox_run *run)
{
	enum philox_status status = PHILOX_OK;
	void *output;

	for (uint32_t i = 0; status == PHILOX_OK && i < bed->outputs; i++) {
		status = philox_run_alloc(run, RUNNER_BED_BYTES, 0, "output",
					  &output);
		if (status == PHILOX_OK)
			status = philox_run_output(run, i, output,
						   RUNNER_BED_BYTES);
	}
	return status;
}

static enum philox_status run_body(void *user, struct philox_run *run)
{
	const struct runner_bed *bed = user;
	struct philox_pass pass;
	const void *value;
	void *numbers;
	enum philox_status status = philox_run_alloc(
		run, ELEMENTS * sizeof(uint32_t), 0, "numbers", &numbers);

	if (status == PHILOX_OK)
		status = declare_outputs(bed, run);
	for (uint32_t i = 0; status == PHILOX_OK && i < bed->values; i++)
		status = philox_run_value(run, i, &value);
	if (status == PHILOX_OK)
		status = philox_run_forward_begin(run, bed->region,
						  PHILOX_INFERENCE, &pass);
	return status == PHILOX_OK ? draw_and_commit(&pass, numbers) : status;
}

/* --- the same in a capture ------------------------------------------------ */

static enum philox_status capture_values(const struct runner_bed *bed)
{
	static const unsigned char initial[RUNNER_BED_VALUE];
	enum philox_status status = PHILOX_OK;
	char name[32];
	void *cell;

	for (uint32_t i = 0; status == PHILOX_OK && i < bed->values; i++) {
		snprintf(name, sizeof(name), "value %u", i);
		status = philox_capture_value(bed->bench->context,
					      bed->bench->stream, name, initial,
					      sizeof(initial), &cell);
	}
	return status;
}

static enum philox_status capture_bed_draw(const struct runner_bed *bed)
{
	philox_stream stream = bed->bench->stream;
	struct philox_pool_session *session;
	struct philox_pool_block block;
	struct philox_pass pass;
	enum philox_status status =
		philox_pool_begin(bed->pool, stream, &session);
	enum philox_status ended;

	if (status != PHILOX_OK)
		return status;
	status = philox_pool_alloc(bed->pool, stream,
				   ELEMENTS * sizeof(uint32_t), 0, "numbers",
				   &block);
	if (status == PHILOX_OK)
		status = philox_forward_begin(bed->region, stream,
					      PHILOX_INFERENCE, &pass);
	if (status == PHILOX_OK)
		status = draw_and_commit(&pass, block.address);
	if (status == PHILOX_OK)
		status = philox_pool_free(bed->pool, stream, block.address);
	ended = philox_pool_end(session, status, NULL);
	return status == PHILOX_OK ? ended : status;
}

/* The first launch makes a copy of the message's place. */
static enum philox_status make_bed_graph(struct runner_bed *bed,
					 struct philox_graph **graph)
{
	struct bench *bench = bed->bench;
	struct philox_use use = {0};
	enum philox_status status =
		philox_capture_begin(bench->context, bench->stream);

	if (status == PHILOX_OK)
		status = capture_values(bed);
	if (status == PHILOX_OK)
		status = capture_bed_draw(bed);
	if (status == PHILOX_OK)
		status = philox_capture_end(bench->context, bench->stream,
					    graph);
	if (status == PHILOX_OK)
		status = philox_graph_launch(*graph, bench->stream, &use, 1);
	return status;
}

static enum philox_status make_bed_graphs(struct runner_bed *bed)
{
	const uint32_t count = all_recordings(bed) + 1;
	enum philox_status status = bench_pool_make(bed->bench, 0, &bed->pool);

	for (uint32_t i = 0; status == PHILOX_OK && i < count; i++)
		status = make_bed_graph(bed, &bed->graphs[i]);
	return status;
}

/* --- calls ---------------------------------------------------------------- */

static enum philox_status release_all(const struct runner_bed *bed)
{
	enum philox_status status = PHILOX_OK;

	for (uint32_t i = 0; status == PHILOX_OK && i < bed->outputs; i++)
		status = philox_output_release(bed->runner, &bed->out[i],
					       bed->bench->stream);
	return status;
}

/* With the addresses of the recording whose turn it is. */
static enum philox_status call_once(struct runner_bed *bed, uint32_t key,
				    uint32_t *kind)
{
	struct philox_use use = {0};
	struct philox_call call = {.size = sizeof(call),
				   .stream = bed->bench->stream,
				   .key = &key,
				   .key_size = sizeof(key),
				   .inputs = bed->in,
				   .n_inputs = all_inputs(bed),
				   .values = bed->given,
				   .n_values = bed->values,
				   .uses = &use,
				   .n_uses = 1,
				   .outputs = bed->out,
				   .n_outputs = bed->outputs};
	enum philox_status status;

	if (bed->inputs)
		bed->in[0].address =
			bed->memory + (size_t)bed->turn * RUNNER_BED_BYTES;
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

static int make_bed_region(struct runner_bed *bed)
{
	static unsigned long made;
	const struct philox_op op = {.name = "op"};
	char name[40];
	const struct philox_region_options options = {.size = sizeof(options),
						      .name = name,
						      .ops = &op,
						      .n_ops = 1,
						      .pending = 1};

	snprintf(name, sizeof(name), "bench, runner %lu", ++made);
	return bench_try("region",
			 philox_region_create(bed->bench->context, &options,
					      &bed->region));
}

static int make_bed_arrays(struct runner_bed *bed)
{
	static const char value[RUNNER_BED_VALUE];
	const size_t cells = (size_t)all_inputs(bed) + all_recordings(bed);
	void *memory;

	bed->in = calloc(all_inputs(bed) + 1u, sizeof(*bed->in));
	bed->given = calloc(bed->values + 1u, sizeof(*bed->given));
	bed->out = calloc(bed->outputs + 1u, sizeof(struct philox_output));
	bed->graphs = calloc(all_recordings(bed) + 1u, sizeof(*bed->graphs));
	if (!bed->in || !bed->given || !bed->out || !bed->graphs) {
		perror("philox bench");
		return -1;
	}
	if (bench_try("memory",
		      philox_memory_alloc(bed->bench->device,
					  cells * RUNNER_BED_BYTES, &memory)))
		return -1;
	bed->memory = memory;
	for (uint32_t i = 0; i < all_inputs(bed); i++)
		bed->in[i] = (struct philox_call_input){
			.address = bed->memory +
				   (size_t)(all_recordings(bed) + i) *
					   RUNNER_BED_BYTES,
			.bytes = RUNNER_BED_BYTES};
	for (uint32_t i = 0; i < bed->values; i++)
		bed->given[i] =
			(struct philox_call_value){value, sizeof(value)};
	return 0;
}

/* Names of inputs, outputs and values. */
#define NAME_ROOM 16

struct descriptions {
	char (*names)[NAME_ROOM];
	struct philox_input *inputs;
	struct philox_output_info *outputs;
	struct philox_value *values;
};

static int describe(const struct runner_bed *bed, struct descriptions *to)
{
	const uint32_t n = all_inputs(bed) + bed->outputs + bed->values;

	to->names = calloc(n + 1u, sizeof(*to->names));
	to->inputs = calloc(all_inputs(bed) + 1u, sizeof(*to->inputs));
	to->outputs = calloc(bed->outputs + 1u, sizeof(*to->outputs));
	to->values = calloc(bed->values + 1u, sizeof(*to->values));
	if (!to->names || !to->inputs || !to->outputs || !to->values) {
		perror("philox bench");
		return -1;
	}
	for (uint32_t i = 0; i < n; i++)
		snprintf(to->names[i], NAME_ROOM, "%u", i);
	for (uint32_t i = 0; i < all_inputs(bed); i++)
		to->inputs[i] = (struct philox_input){
			.name = to->names[i],
			.alignment = 16,
			.kind = i < bed->inputs ? PHILOX_INPUT_STATIC
						: PHILOX_INPUT_COPIED};
	for (uint32_t i = 0; i < bed->outputs; i++)
		to->outputs[i].name = to->names[i];
	for (uint32_t i = 0; i < bed->values; i++)
		to->values[i] = (struct philox_value){
			.name = to->names[i], .bytes = RUNNER_BED_VALUE};
	return 0;
}

static void forget_descriptions(struct descriptions *of)
{
	free(of->names);
	free(of->inputs);
	free(of->outputs);
	free(of->values);
}

static int make_bed_function(struct runner_bed *bed)
{
	static unsigned long made;
	struct philox_runner_options runner =
		PHILOX_INIT(struct philox_runner_options);
	struct philox_function_options options =
		PHILOX_INIT(struct philox_function_options);
	struct descriptions descriptions = {NULL};
	char name[40];
	int failed = describe(bed, &descriptions);

	snprintf(name, sizeof(name), "bench runner %lu", ++made);
	runner.name = name;
	options.name = "bench";
	options.mode = PHILOX_MODE_INFERENCE;
	options.body = run_body;
	options.user = bed;
	options.inputs = descriptions.inputs;
	options.n_inputs = all_inputs(bed);
	options.outputs = descriptions.outputs;
	options.n_outputs = bed->outputs;
	options.values = descriptions.values;
	options.n_values = bed->values;
	options.policy.limit = all_recordings(bed) + 1;
	if (!failed)
		failed = bench_try("runner", philox_runner_create(
						     bed->bench->context,
						     &runner, &bed->runner)) ||
			 bench_try("function",
				   philox_function_create(bed->runner, &options,
							  &bed->function));
	forget_descriptions(&descriptions);
	return failed ? -1 : 0;
}

int runner_bed_make(struct runner_bed *bed)
{
	if (make_bed_region(bed) || make_bed_arrays(bed) ||
	    make_bed_function(bed) || record_all(bed) ||
	    bench_try("graphs", make_bed_graphs(bed)))
		return -1;
	return bench_try("wait", philox_stream_synchronize(bed->bench->device,
							   bed->bench->stream));
}

void runner_bed_clean(struct runner_bed *bed)
{
	struct bench *bench = bed->bench;

	philox_stream_synchronize(bench->device, bench->stream);
	philox_runner_destroy(bed->runner);
	for (uint32_t i = 0; bed->graphs && i <= all_recordings(bed); i++)
		philox_graph_destroy(bed->graphs[i]);
	philox_pool_destroy(bed->pool);
	philox_memory_free(bench->device, bed->memory);
	philox_region_destroy(bed->region);
	free(bed->in);
	free(bed->given);
	free(bed->out);
	free(bed->graphs);
}

/* --- raced ---------------------------------------------------------------- */

static enum philox_status launch_once(struct runner_bed *bed)
{
	struct philox_use use = {0};
	struct philox_graph *graph = bed->graphs[bed->turn];

	if (++bed->turn == all_recordings(bed))
		bed->turn = 0;
	return philox_graph_launch(graph, bed->bench->stream, &use, 1);
}

static enum philox_status wait_for_all(const struct runner_bed *bed,
				       enum philox_status status, double start,
				       struct race_time *time)
{
	time->call = bench_now() - start;
	if (status == PHILOX_OK)
		status = philox_stream_synchronize(bed->bench->device,
						   bed->bench->stream);
	time->whole = bench_now() - start;
	return status;
}

enum philox_status runner_bed_call(struct runner_bed *bed, int times,
				   struct race_time *time)
{
	enum philox_status status = PHILOX_OK;
	double start = bench_now();
	uint32_t kind;

	for (int i = 0; status == PHILOX_OK && i < times; i++)
		status = call_once(bed, KEY, &kind);
	return wait_for_all(bed, status, start, time);
}

enum philox_status runner_bed_launch(struct runner_bed *bed, int times,
				     struct race_time *time)
{
	enum philox_status status = PHILOX_OK;
	double start = bench_now();

	for (int i = 0; status == PHILOX_OK && i < times; i++)
		status = launch_once(bed);
	return wait_for_all(bed, status, start, time);
}
