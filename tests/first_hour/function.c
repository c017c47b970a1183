/*
 * tests/first_hour/function.c - a function that a runner captures and replays
 *
 * A whole training step is one call, with a learning rate and two batch sizes.
 * Every replay is verified. Run with PHILOX_RUNNER=eager it prints the same
 * weights; otherwise most of its calls must be replays.
 */
#include "try.h"

enum { WIDTH = 48, STEPS = 24, LARGEST = 8 };

#define DO(call)                                     \
	do {                                         \
		enum philox_status status_ = (call); \
                                                     \
		if (status_ != PHILOX_OK)            \
			return status_;              \
	} while (0)

static struct philox_device *device;
static struct philox_region *layer;

struct work {
	const float *x, *rate;
	float *weights, *h;
	size_t n;
};

static void forth(const void *args)
{
	const struct work *w = args;

	for (size_t i = 0; i < w->n; i++)
		w->h[i] = w->weights[i % WIDTH] * w->x[i];
}

static void back(const void *args)
{
	const struct work *w = args;

	for (size_t i = 0; i < w->n; i++)
		w->weights[i % WIDTH] -= *w->rate * w->h[i] * w->x[i];
}

static enum philox_status step(void *user, struct philox_run *run)
{
	const philox_stream stream = philox_run_stream(run);
	struct philox_ticket ticket;
	struct philox_pass pass;
	struct philox_span span;
	struct work work;
	const void *rate;
	void *x, *weights, *h;
	size_t bytes;

	(void)user;
	DO(philox_run_input(run, 0, &x, &bytes));
	DO(philox_run_input(run, 1, &weights, NULL));
	DO(philox_run_param(run, 0, &rate));
	DO(philox_run_alloc(run, bytes, 0, "h", &h));
	work = (struct work){x, rate, weights, h, bytes / sizeof(float)};
	span = philox_span_elements(0, work.n);

	DO(philox_stream_launch_host(device, stream, forth, &work,
				     sizeof(work)));
	DO(philox_run_forward_begin(run, layer, 0, &pass));
	DO(philox_pass_dropout(&pass, 0, PHILOX_DTYPE_F32, span, 0.2, h, h));
	DO(philox_pass_commit(&pass, 0, &ticket));
	DO(philox_run_backward_begin(run, layer, ticket, 0, &pass));
	DO(philox_pass_dropout(&pass, 0, PHILOX_DTYPE_F32, span, 0.2, h, h));
	DO(philox_pass_commit(&pass, 0, NULL));
	DO(philox_stream_launch_host(device, stream, back, &work,
				     sizeof(work)));
	return philox_run_output(run, 0, h, bytes);
}

static void *array(philox_stream stream, size_t n)
{
	float values[LARGEST * WIDTH];
	void *memory;

	for (size_t i = 0; i < n; i++)
		values[i] = 1 + (float)(i % 5) / 8;
	TRY(philox_memory_alloc(device, n * sizeof(float), &memory));
	TRY(philox_memory_copy(device, stream, memory, values,
			       n * sizeof(float)));
	TRY(philox_stream_synchronize(device, stream));
	return memory;
}

int main(void)
{
	const struct philox_input_desc inputs[] = {
		{.name = "x"},
		{.name = "weights", .flags = PHILOX_INPUT_MUTATED}};
	const struct philox_output_desc output = {.name = "h"};
	const struct philox_param_desc param = {.name = "rate",
						.bytes = sizeof(float)};
	const char *op = "dropout";
	struct philox_runner_desc made = PHILOX_INIT(struct philox_runner_desc);
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_function_stats stats =
		PHILOX_INIT(struct philox_function_stats);
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_launch_pass pass;
	struct philox_call_input given[2];
	struct philox_call_param value;
	struct philox_output h;
	struct philox_context *context;
	struct philox_runner *runner;
	struct philox_function *function;
	float weights[WIDTH], rate;
	double sum = 0;

	TRY(philox_device_open("host", &device));
	TRY(philox_context_create(device, &context));
	TRY(philox_region_create_named(context, "layer", &op, 1, &layer));
	TRY(philox_stream_create(device, 0, &call.stream));
	made.name = "model";
	TRY(philox_runner_create(context, &made, &runner));
	options.name = "step";
	options.body = step;
	options.inputs = inputs;
	options.n_inputs = 2;
	options.outputs = &output;
	options.n_outputs = 1;
	options.params = &param;
	options.n_params = 1;
	options.policy.verify = 1;
	TRY(philox_function_create(runner, &options, &function));

	given[0] = (struct philox_call_input){
		.address = array(call.stream, LARGEST * WIDTH)};
	given[1] = (struct philox_call_input){
		.address = array(call.stream, WIDTH), .bytes = sizeof(weights)};
	value = (struct philox_call_param){&rate, sizeof(rate)};
	call.inputs = given;
	call.n_inputs = 2;
	call.params = &value;
	call.n_params = 1;
	call.passes = &pass;
	call.n_passes = 1; /* of the forward; the backward is its own */
	call.outputs = &h;
	call.n_outputs = 1;
	for (int i = 0; i < STEPS; i++) {
		const size_t rows = i % 3 ? LARGEST : LARGEST / 2;

		rate = 0.001f * (float)(STEPS - i);
		given[0].bytes = rows * WIDTH * sizeof(float);
		call.key = &given[0].bytes;
		call.key_bytes = sizeof(given[0].bytes);
		pass = (struct philox_launch_pass){{0, 0}, 0, 0};
		TRY(philox_function_call(function, &call));
		TRY(philox_output_release(runner, call.stream, &h));
	}
	TRY(philox_memory_copy(device, call.stream, weights, given[1].address,
			       sizeof(weights)));
	TRY(philox_stream_synchronize(device, call.stream));
	for (int i = 0; i < WIDTH; i++)
		sum += weights[i] * (double)(i + 1);
	printf("%.17g\n", sum);

	TRY(philox_function_get_stats(function, &stats));
	fprintf(stderr, "%d eager, %d to warm up, %d recorded, %d replayed\n",
		(int)stats.eager, (int)stats.warmup, (int)stats.record,
		(int)stats.replay);
	TRY(philox_context_destroy(context));
	for (int i = 0; i < 2; i++)
		TRY(philox_memory_free(device, given[i].address));
	TRY(philox_stream_destroy(device, call.stream));
	TRY(philox_device_close(device));
	return getenv("PHILOX_RUNNER") ? 0 : stats.replay != STEPS - 4;
}
