/*
 * tests/readme/step.c - the step of doc/runners.md, as it is there
 *
 * Before and after are two programs of this file: WITH_RUNNER is the second.
 * Each trains with two batch sizes in turn; with a runner x moves, which graphs
 * by hand could not follow. Both print all losses and weights: the same texts.
 * tests/scripts/readme.sh has written the page's blocks to the files that are
 * included in functions, and compares. The page leaves errors out; here a call
 * that fails ends the program.
 */
#include <string.h>
#include "../../examples/try.h"

enum { LARGEST = 96, STEPS = 10 };

static struct philox_device *device;
static struct philox_context *ctx;
static struct philox_region *layer[2];
static philox_stream stream;
static float *weights[2];

/* --- kernels: on the host device, callbacks ------------------------------- */

struct work {
	float *weights, *in, *out;
	const float *rate;
	size_t n;
};

static void multiply(const void *args)
{
	const struct work *w = args;

	for (size_t i = 0; i < w->n; i++)
		w->out[i] = w->weights[i] * w->in[i];
}

static void subtract(const void *args)
{
	const struct work *w = args;

	*w->out = 0;
	for (size_t i = 0; i < w->n; i++) {
		w->in[i] -= (float)(i % 5);
		*w->out += w->in[i] * w->in[i];
	}
}

static void descend(const void *args)
{
	const struct work *w = args;

	for (size_t i = 0; i < w->n; i++) {
		const float slope = w->out[i] * w->in[i];

		w->out[i] *= w->weights[i];
		w->weights[i] -= *w->rate * slope;
	}
}

static void launch(philox_stream on, void (*kernel)(const void *args),
		   struct work work)
{
	TRY(philox_stream_launch_host(device, on, kernel, &work, sizeof(work)));
}

static void forth(philox_stream on, int i, void *in, void *out, size_t bytes)
{
	launch(on, multiply,
	       (struct work){.weights = weights[i],
			     .in = in,
			     .out = out,
			     .n = bytes / sizeof(float)});
}

static void compare(philox_stream on, void *h, void *loss, size_t bytes)
{
	launch(on, subtract,
	       (struct work){.in = h, .out = loss, .n = bytes / sizeof(float)});
}

static void back(philox_stream on, int i, void *in, void *gradients,
		 const void *rate, size_t bytes)
{
	launch(on, descend,
	       (struct work){.weights = weights[i],
			     .in = in,
			     .out = gradients,
			     .rate = rate,
			     .n = bytes / sizeof(float)});
}

static void drop(const struct philox_pass *pass, void *h, size_t bytes)
{
	TRY(philox_pass_dropout(pass, 0, PHILOX_DTYPE_F32,
				philox_span_elements(0, bytes / sizeof(float)),
				0.5, h, h));
}

/* --- calls of the page, which must succeed -------------------------------- */

#define philox_backward_begin(...)  TRY(philox_backward_begin(__VA_ARGS__))
#define philox_pass_commit(...)     TRY(philox_pass_commit(__VA_ARGS__))
#define philox_capture_begin(...)   TRY(philox_capture_begin(__VA_ARGS__))
#define philox_capture_end(...)     TRY(philox_capture_end(__VA_ARGS__))
#define philox_capture_param(...)   TRY(philox_capture_param(__VA_ARGS__))
#define philox_forward_begin(...)   TRY(philox_forward_begin(__VA_ARGS__))
#define philox_function_call(...)   TRY(philox_function_call(__VA_ARGS__))
#define philox_function_create(...) TRY(philox_function_create(__VA_ARGS__))
#define philox_graph_launch(...)    TRY(philox_graph_launch(__VA_ARGS__))
#define philox_graph_set_param(...) TRY(philox_graph_set_param(__VA_ARGS__))
#define philox_pool_alloc(...)      TRY(philox_pool_alloc(__VA_ARGS__))
#define philox_pool_session_begin(...) \
	TRY(philox_pool_session_begin(__VA_ARGS__))
#define philox_pool_session_end(...) TRY(philox_pool_session_end(__VA_ARGS__))
#define philox_pool_restore(...)     TRY(philox_pool_restore(__VA_ARGS__))
#define philox_run_alloc(...)        TRY(philox_run_alloc(__VA_ARGS__))
#define philox_run_backward_begin(...) \
	TRY(philox_run_backward_begin(__VA_ARGS__))
#define philox_run_forward_begin(...) TRY(philox_run_forward_begin(__VA_ARGS__))
#define philox_run_input(...)         TRY(philox_run_input(__VA_ARGS__))
#define philox_run_param(...)         TRY(philox_run_param(__VA_ARGS__))
#define philox_runner_create(...)     TRY(philox_runner_create(__VA_ARGS__))

/* --- before and after ----------------------------------------------------- */

static size_t bytes_of(int size)
{
	return LARGEST * sizeof(float) / (size ? 2 : 1);
}

static float rate_of(int number)
{
	return 0.0001f * (float)(1 + number % 3);
}

static void tell_loss(const void *address)
{
	float loss;

	TRY(philox_memory_copy(device, stream, &loss, address, sizeof(loss)));
	TRY(philox_stream_synchronize(device, stream));
	printf("loss %a\n", loss);
}

static float *make_array(float value)
{
	float values[LARGEST];
	void *array;

	for (int i = 0; i < LARGEST; i++)
		values[i] = value + (float)(i % 3);
	TRY(philox_memory_alloc(device, sizeof(values), &array));
	TRY(philox_memory_copy(device, stream, array, values, sizeof(values)));
	TRY(philox_stream_synchronize(device, stream));
	return array;
}

#ifdef WITH_RUNNER

#include "body.inc"

static void train(void *const places[2])
{
	static const struct philox_input_desc input = {
		.name = "x", .kind = PHILOX_INPUT_COPIED};
	static const struct philox_output_desc output = {.name = "loss"};
	static const struct philox_param_desc rate_value = {
		.name = "rate", .bytes = sizeof(float)};
	struct philox_runner_desc runner_options =
		PHILOX_INIT(struct philox_runner_desc);
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_call_param value = {.bytes = sizeof(float)};
	struct philox_call_input in = {0};
	struct philox_launch_pass passes[2] = {{{0, 0}, 0, 0}};
	struct philox_output out;
	struct philox_runner *runner;
	struct philox_function *function;
	int kinds[5] = {0};

	runner_options.name = options.name = "step";
	options.body = step;
	options.inputs = &input;
	options.outputs = &output;
	options.params = &rate_value;
	options.n_inputs = options.n_outputs = options.n_params = 1;
	call.stream = stream;
	call.inputs = &in;
	call.params = &value;
	call.passes = passes;
	call.outputs = &out;
	call.n_inputs = call.n_params = call.n_outputs = 1;
	call.n_passes = 2;
#include "once.inc"
	for (int i = 0; i < STEPS; i++) {
		const size_t bytes = bytes_of(i % 2);
		const float rate = rate_of(i);
		void *x = make_array(1);

#include "call.inc"
		tell_loss(out.address);
		TRY(philox_output_release(runner, stream, &out));
		kinds[call.kind]++;
	}
	if (!kinds[PHILOX_CALL_REPLAY])
		exit(1);
}

#else

static void train(void *const places[2])
{
	struct philox_pool_desc options = PHILOX_INIT(struct philox_pool_desc);
	struct philox_launch_pass passes[4] = {{{0, 0}, 0, 0}};
	struct philox_pool_block h[2], loss;
	struct philox_pool_checkpoint *empty;
	struct philox_pool_session *session;
	struct philox_graph *graph[2];
	struct philox_ticket ticket[2];
	struct philox_pass pass;
	struct philox_pool *pool;
	uint64_t dead[3];
	size_t n_dead = 0;
	void *at_rate, *losses[2];
	float rate = 0;

	options.name = "step";
	TRY(philox_pool_create(ctx, &options, &pool));
	TRY(philox_pool_checkpoint_create(pool, &empty));
	for (int size = 0; size < 2; size++) {
		const size_t bytes = bytes_of(size);
		void *const x = places[size];

#include "capture.inc"
		losses[size] = loss.address;
	}
	for (int i = 0; i < STEPS; i++) {
		const int size = i % 2;

		rate = rate_of(i);
#include "launch.inc"
		tell_loss(losses[size]);
	}
	TRY(philox_stream_synchronize(device, stream));
	philox_pool_checkpoint_destroy(empty);
}

#endif

int main(void)
{
	const char *op = "dropout";
	void *x[2];

	TRY(philox_device_open("host", &device));
	TRY(philox_context_create(device, &ctx));
	TRY(philox_region_create_named(ctx, "one", &op, 1, &layer[0]));
	TRY(philox_region_create_named(ctx, "two", &op, 1, &layer[1]));
	TRY(philox_stream_create(device, 0, &stream));
	for (int i = 0; i < 2; i++) {
		weights[i] = make_array((float)i);
		x[i] = make_array(1);
	}
	train(x);
	TRY(philox_stream_synchronize(device, stream));
	for (int i = 0; i < 2 * LARGEST; i++)
		printf("weight %a\n", weights[i / LARGEST][i % LARGEST]);
	philox_context_destroy(ctx);
	return 0;
}
