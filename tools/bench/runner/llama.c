/*
 * tools/bench/runner/llama.c - a step of a model whose layers share a function
 *
 * Beside it the same graphs are launched one after the other. What a step takes
 * longer is the runner's.
 */
#include <stdio.h>
#include "tools/bench/runner/runner.h"
#include "tools/cli/cli.h"

#define BUDGET 1e9 /* nanoseconds of the race, about */

/* --- a model whose layers share two functions ------------------------------ */

/*
 * A forward and a backward function are called for each of 32 layers, with the
 * layer's weights as static inputs: the shape of Llama 7B, with a few numbers
 * for each tensor, since only the host's time is measured. A layer has two
 * dropouts. Activations go from layer to layer as outputs, and are released by
 * the backward that reads them.
 */

#define LAYERS 32

/* wq, wk, wv, wo, w1, w2, w3 and two norms. */
#define N_WEIGHTS 9

enum { FORWARD, BACKWARD, WAYS };

/* Inputs after the weights; a backward has gradients of the weights, too. */
enum { X = N_WEIGHTS, FORWARD_INPUTS };
enum {
	DY = N_WEIGHTS,
	KEPT,
	GRADIENTS,
	BACKWARD_INPUTS = GRADIENTS + N_WEIGHTS
};

/* Outputs: the result, and what the backward reads. */
enum { Y, SAVED, FORWARD_OUTPUTS };
enum { DX, BACKWARD_OUTPUTS };

enum { ATTENTION, FEED_FORWARD, OPS };

struct model {
	struct bench *bench;
	struct runner_parts parts;
	struct philox_function *functions[WAYS];
	struct philox_graph *graphs[LAYERS][WAYS];
	char *memory; /* x, the gradient of the loss, weights, gradients */
	struct philox_call_input inputs[LAYERS][WAYS][BACKWARD_INPUTS];
	struct philox_output activations[LAYERS][FORWARD_OUTPUTS];
	struct philox_ticket tickets[LAYERS];
	int replayed; /* calls of the last step */
};

#define BYTES    64 /* of a tensor */
#define ELEMENTS 16 /* of it */
#define STEPS    8  /* until all is replayed, at most */

static const char *const ways[WAYS] = {"forward", "backward"};

static size_t inputs_of(int way)
{
	return way == FORWARD ? FORWARD_INPUTS : BACKWARD_INPUTS;
}

static size_t outputs_of(int way)
{
	return way == FORWARD ? FORWARD_OUTPUTS : BACKWARD_OUTPUTS;
}

/* --- the work of a layer -------------------------------------------------- */

static enum philox_status draw_dropouts(struct philox_pass *pass, void *out)
{
	const struct philox_span span = {.count = ELEMENTS};
	enum philox_status status =
		philox_pass_bits(pass, ATTENTION, PHILOX_DTYPE_U32, span, out);

	return status == PHILOX_OK
		       ? philox_pass_bits(pass, FEED_FORWARD, PHILOX_DTYPE_U32,
					  span, out)
		       : status;
}

static enum philox_status commit(struct philox_pass *pass, int way)
{
	struct philox_ticket ticket;

	return way == FORWARD ? philox_pass_commit(pass, 0, &ticket)
			      : philox_pass_commit(pass, 0, NULL);
}

static enum philox_status run_llama_layer(const struct model *of,
					  struct philox_run *run, int way)
{
	static const char *const names[WAYS][FORWARD_OUTPUTS] = {{"y", "saved"},
								 {"dx"}};
	const struct philox_ticket none = {0, 0};
	const size_t n = outputs_of(way);
	enum philox_status status = PHILOX_OK;
	struct philox_pass pass;
	void *output = NULL;

	for (size_t i = 0; status == PHILOX_OK && i < n; i++) {
		status =
			philox_run_alloc(run, BYTES, 0, names[way][i], &output);
		if (status == PHILOX_OK)
			status = philox_run_output(run, i, output, BYTES);
	}
	if (status == PHILOX_OK)
		status = way == FORWARD
				 ? philox_run_forward_begin(
					   run, of->parts.region, 0, &pass)
				 : philox_run_backward_begin(run,
							     of->parts.region,
							     none, 0, &pass);
	if (status == PHILOX_OK)
		status = draw_dropouts(&pass, output);
	return status == PHILOX_OK ? commit(&pass, way) : status;
}

static enum philox_status run_forward(void *user, struct philox_run *run)
{
	return run_llama_layer(user, run, FORWARD);
}

static enum philox_status run_backward(void *user, struct philox_run *run)
{
	return run_llama_layer(user, run, BACKWARD);
}

/* --- a step of the runner ------------------------------------------------- */

static enum philox_status call_layer(struct model *of, int layer, int way,
				     struct philox_output *outputs)
{
	struct philox_launch_pass use = {.ticket = of->tickets[layer]};
	struct philox_call call = {.size = sizeof(call),
				   .stream = of->bench->stream,
				   .inputs = of->inputs[layer][way],
				   .n_inputs = inputs_of(way),
				   .passes = &use,
				   .n_passes = 1,
				   .outputs = outputs,
				   .n_outputs = outputs_of(way)};
	enum philox_status status =
		philox_function_call(of->functions[way], &call);

	of->tickets[layer] = use.ticket;
	of->replayed += call.kind == PHILOX_CALL_REPLAY;
	return status;
}

static void read_output(struct philox_call_input *input,
			const struct philox_output *output)
{
	input->address = output->address;
	input->output = output;
}

static enum philox_status release(const struct model *of,
				  const struct philox_output *output)
{
	return philox_output_release(of->parts.runner, of->bench->stream,
				     output);
}

static enum philox_status step_forward(struct model *of)
{
	enum philox_status status = PHILOX_OK;

	for (int i = 0; status == PHILOX_OK && i < LAYERS; i++) {
		if (i)
			read_output(&of->inputs[i][FORWARD][X],
				    &of->activations[i - 1][Y]);
		status = call_layer(of, i, FORWARD, of->activations[i]);
	}
	return status;
}

/* The gradients of two layers are there at once. */
static enum philox_status step_backward(struct model *of)
{
	struct philox_output gradients[2];
	enum philox_status status = PHILOX_OK;

	for (int i = LAYERS; status == PHILOX_OK && i-- > 0;) {
		struct philox_output *dx = &gradients[i % 2];
		struct philox_output *dy = &gradients[(i + 1) % 2];

		read_output(&of->inputs[i][BACKWARD][KEPT],
			    &of->activations[i][SAVED]);
		if (i < LAYERS - 1)
			read_output(&of->inputs[i][BACKWARD][DY], dy);
		status = call_layer(of, i, BACKWARD, dx);
		for (int k = 0; status == PHILOX_OK && k < FORWARD_OUTPUTS; k++)
			status = release(of, &of->activations[i][k]);
		if (status == PHILOX_OK && i < LAYERS - 1)
			status = release(of, dy);
	}
	return status == PHILOX_OK ? release(of, &gradients[0]) : status;
}

static enum philox_status model_step(void *user)
{
	struct model *of = user;
	enum philox_status status;

	of->replayed = 0;
	status = step_forward(of);
	return status == PHILOX_OK ? step_backward(of) : status;
}

/* --- the same graphs, launched -------------------------------------------- */

static enum philox_status capture_layer(const struct model *of, int way)
{
	const struct philox_ticket none = {0, 0};
	const struct runner_parts *parts = &of->parts;
	philox_stream stream = of->bench->stream;
	struct philox_pool_block block;
	struct philox_pass pass;
	enum philox_status status = philox_pool_alloc(
		parts->pool, stream, BYTES, 0, ways[way], &block);

	if (status == PHILOX_OK)
		status = way == FORWARD
				 ? philox_forward_begin(parts->region, stream,
							0, &pass)
				 : philox_backward_begin(parts->region, stream,
							 none, 0, &pass);
	if (status == PHILOX_OK)
		status = draw_dropouts(&pass, block.address);
	if (status == PHILOX_OK)
		status = commit(&pass, way);
	return status == PHILOX_OK
		       ? philox_pool_free(parts->pool, stream, block.address)
		       : status;
}

static enum philox_status capture_forward(void *user)
{
	return capture_layer(user, FORWARD);
}

static enum philox_status capture_backward(void *user)
{
	return capture_layer(user, BACKWARD);
}

static enum philox_status launch_layer(struct model *of, int layer, int way)
{
	struct philox_launch_pass use = {.ticket = of->tickets[layer]};
	enum philox_status status = philox_graph_launch(
		of->graphs[layer][way], of->bench->stream, &use, 1);

	of->tickets[layer] = use.ticket;
	return status;
}

static enum philox_status model_launch(void *user)
{
	struct model *of = user;
	enum philox_status status = PHILOX_OK;

	for (int i = 0; status == PHILOX_OK && i < LAYERS; i++)
		status = launch_layer(of, i, FORWARD);
	for (int i = LAYERS; status == PHILOX_OK && i-- > 0;)
		status = launch_layer(of, i, BACKWARD);
	return status;
}

/* --- made ----------------------------------------------------------------- */

static int make_llama_function(struct model *of, int way)
{
	const struct runner_shape shape = {.statics = (uint32_t)inputs_of(way),
					   .outputs =
						   (uint32_t)outputs_of(way)};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);

	options.name = ways[way];
	options.mode =
		way == FORWARD ? PHILOX_MODE_FORWARD : PHILOX_MODE_BACKWARD;
	options.body = way == FORWARD ? run_forward : run_backward;
	options.user = of;
	options.policy.recordings = LAYERS;
	return runner_function_make(&of->parts, &shape, options,
				    &of->functions[way]);
}

/* Weights and gradients of a layer are beside each other. */
static void place_inputs(struct model *of)
{
	char *at = of->memory;

	for (int i = 0; i < LAYERS; i++)
		for (int way = 0; way < WAYS; way++)
			for (size_t k = 0; k < BACKWARD_INPUTS; k++) {
				of->inputs[i][way][k] =
					(struct philox_call_input){
						.address = at, .bytes = BYTES};
				at += BYTES;
			}
}

static int model_capture(struct model *of)
{
	for (int i = 0; i < LAYERS; i++)
		for (int way = 0; way < WAYS; way++)
			if (bench_try("capture",
				      runner_capture(&of->parts,
						     way == FORWARD
							     ? capture_forward
							     : capture_backward,
						     of, &of->graphs[i][way])))
				return -1;
	return bench_try("launch", model_launch(of));
}

static int model_make(struct model *of, struct bench *bench)
{
	void *memory = NULL;

	of->bench = bench;
	if (runner_parts_make(&of->parts, of->bench) ||
	    bench_try("memory",
		      philox_memory_alloc(of->bench->device, sizeof(of->inputs),
					  &memory)))
		return -1;
	of->memory = memory;
	place_inputs(of);
	return make_llama_function(of, FORWARD) ||
			       make_llama_function(of, BACKWARD) ||
			       model_capture(of)
		       ? -1
		       : 0;
}

static int model_is_replayed(const struct model *of)
{
	return of->replayed == WAYS * LAYERS;
}

/* A step warms up, or records, until one replays all of its calls. */
static int model_record(struct model *of)
{
	for (int i = 0; i < STEPS && !model_is_replayed(of); i++)
		if (bench_try("step", model_step(of)))
			return -1;
	if (model_is_replayed(of))
		return 0;
	complain("bench", "%d of %d calls were replayed: %s; %s", of->replayed,
		 WAYS * LAYERS, philox_function_reason(of->functions[FORWARD]),
		 philox_function_reason(of->functions[BACKWARD]));
	return -1;
}

static void model_clean(struct model *of)
{
	struct bench *bench = of->bench;

	bench_wait(bench);
	for (int i = 0; i < LAYERS * WAYS; i++)
		philox_graph_destroy(of->graphs[i / WAYS][i % WAYS]);
	runner_parts_clean(&of->parts);
	philox_memory_free(bench->device, of->memory);
}

/* --- raced ---------------------------------------------------------------- */

enum { RUNNER, LAUNCHES, RACERS };

static int race_runner(struct racer *racer, int times, struct race_time *time)
{
	const struct model *of = racer->of;

	return race_note(racer, race_repeat(of->bench, times, model_step,
					    racer->of, time));
}

static int race_launches(struct racer *racer, int times, struct race_time *time)
{
	const struct model *of = racer->of;

	return race_note(racer, race_repeat(of->bench, times, model_launch,
					    racer->of, time));
}

static void print_step(const struct model *of, const struct racer *racers)
{
	const double ours = racers[RUNNER].median.call;
	const double launches = racers[LAUNCHES].median.call;

	bench_print_wanted(of->bench,
			   &(struct bench_row){.name = "runner/llama/step",
					       .value = ours,
					       .unit = "ns",
					       .peer = "launches",
					       .peer_value = launches});
	bench_print_wanted(
		of->bench,
		&(struct bench_row){.name = "runner/llama/share",
				    .value = 100 * (1 - launches / ours),
				    .unit = "%"});
}

static int race_steps(struct model *of)
{
	struct racer racers[RACERS] = {
		[RUNNER] = {.name = "runner", .run = race_runner, .of = of},
		[LAUNCHES] = {
			.name = "launches", .run = race_launches, .of = of}};

	race(racers, RACERS, of->bench->quick ? 0 : BUDGET);
	if (race_failed(racers, RACERS))
		return -1;
	if (!model_is_replayed(of)) {
		complain("bench", "a step was not replayed");
		return -1;
	}
	print_step(of, racers);
	return 0;
}

/* --- the group ------------------------------------------------------------ */

static size_t llama_steps(const struct bench *bench)
{
	return bench_wants(bench, "runner/llama/step") ||
	       bench_wants(bench, "runner/llama/share");
}

static int run_llama(struct bench *bench)
{
	struct model of = {.bench = bench};
	int failed;

	bench_step(bench);
	failed = model_make(&of, bench) || model_record(&of) || race_steps(&of);
	model_clean(&of);
	return failed ? -1 : 0;
}

const struct bench_group runner_llama = {.run = run_llama,
					 .steps = llama_steps};
