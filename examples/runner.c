/*
 * examples/runner.c - functions that are captured and replayed by themselves
 *
 * Two layers share the functions "forward" and "backward", an optimiser is a
 * third one, with the learning rate as a value, and tokens are sampled by a
 * fourth, for one request or for four. The first call of a function runs its
 * body, the second one captures it, and calls after that launch the graph. All
 * of it is done twice, the second time with PHILOX_RUNNER=eager, where every
 * call runs the body: both ways give the same bits.
 */
#define _POSIX_C_SOURCE 200809L /* setenv() */
#include <string.h>
#include "try.h"

enum { WIDTH = 256, STEPS = 12, REQUESTS = 4, VOCAB = 16, LENGTH = 24 };
enum { BYTES = WIDTH * sizeof(float) };

/* Errors of a body are for its caller. */
#define DO(call)                                     \
	do {                                         \
		enum philox_status status_ = (call); \
                                                     \
		if (status_ != PHILOX_OK)            \
			return status_;              \
	} while (0)

struct model {
	struct philox_device *device;
	struct philox_context *context;
	struct philox_region *layer, *sampler;
	struct philox_runner *runner;
	struct philox_function *forward, *backward, *update, *decode;
	philox_stream stream;
	void *weights[2], *x, *tokens;
};

struct results {
	float weights[2][WIDTH];
	int32_t tokens[2][LENGTH][REQUESTS];
};

/* --- kernels; on the host device they are callbacks ----------------------- */

struct work {
	const float *in, *rate;
	float *weights, *out, *slopes;
	const int32_t *last;
	int32_t *next;
	int n;
};

static void multiply(const void *args)
{
	const struct work *w = args;

	for (int i = 0; i < WIDTH; i++)
		w->out[i] = w->weights[i] * w->in[i];
}

static void multiply_back(const void *args)
{
	const struct work *w = args;

	for (int i = 0; i < WIDTH; i++) {
		w->slopes[i] = w->out[i] * w->in[i];
		w->out[i] *= w->weights[i];
	}
}

static void descend(const void *args)
{
	const struct work *w = args;

	for (int i = 0; i < WIDTH; i++)
		w->weights[i] -= *w->rate * w->in[i];
}

/* Of n requests: the weights are scores, and what is drawn is added. */
static void choose(const void *args)
{
	const struct work *w = args;

	for (int i = 0; i < w->n; i++) {
		const float *noise = w->in + i * VOCAB;
		const float *scores = w->weights + w->last[i] * VOCAB;
		int32_t best = 0;

		for (int v = 1; v < VOCAB; v++)
			if (scores[v] + noise[v] > scores[best] + noise[best])
				best = v;
		w->next[i] = best;
	}
}

static enum philox_status launch(struct model *m, philox_stream stream,
				 void (*kernel)(const void *args),
				 const struct work *work)
{
	return philox_stream_launch_host(m->device, stream, kernel, work,
					 sizeof(*work));
}

/* --- bodies --------------------------------------------------------------- */

static enum philox_status forward(void *user, struct philox_run *run)
{
	struct model *m = user;
	struct philox_ticket ticket;
	struct philox_pass pass;
	void *x, *weights, *y;

	DO(philox_run_input(run, 0, &x, NULL));
	DO(philox_run_input(run, 1, &weights, NULL));
	DO(philox_run_alloc(run, BYTES, 0, "y", &y));
	DO(launch(m, philox_run_stream(run), multiply,
		  &(struct work){.in = x, .weights = weights, .out = y}));
	DO(philox_run_forward_begin(run, m->layer, 0, &pass));
	DO(philox_pass_dropout(&pass, 0, PHILOX_DTYPE_F32,
			       philox_span_elements(0, WIDTH), 0.1, y, y));
	DO(philox_pass_commit(&pass, 0, &ticket));
	return philox_run_output(run, 0, y, BYTES);
}

/* The mask is that of the ticket that the call names. */
static enum philox_status backward(void *user, struct philox_run *run)
{
	const struct philox_ticket named_by_call = {0, 0};
	struct model *m = user;
	struct philox_pass pass;
	void *x, *weights, *dy, *dx, *slopes;

	DO(philox_run_input(run, 0, &x, NULL));
	DO(philox_run_input(run, 1, &weights, NULL));
	DO(philox_run_input(run, 2, &dy, NULL));
	DO(philox_run_alloc(run, BYTES, 0, "dx", &dx));
	DO(philox_run_alloc(run, BYTES, 0, "slopes", &slopes));
	DO(philox_run_backward_begin(run, m->layer, named_by_call, 0, &pass));
	DO(philox_pass_dropout(&pass, 0, PHILOX_DTYPE_F32,
			       philox_span_elements(0, WIDTH), 0.1, dy, dx));
	DO(philox_pass_commit(&pass, 0, NULL));
	DO(launch(m, philox_run_stream(run), multiply_back,
		  &(struct work){.in = x,
				 .weights = weights,
				 .out = dx,
				 .slopes = slopes}));
	DO(philox_run_output(run, 0, dx, BYTES));
	return philox_run_output(run, 1, slopes, BYTES);
}

static enum philox_status update(void *user, struct philox_run *run)
{
	void *weights, *slopes;
	const void *rate;

	DO(philox_run_input(run, 0, &weights, NULL));
	DO(philox_run_input(run, 1, &slopes, NULL));
	DO(philox_run_param(run, 0, &rate));
	return launch(
		user, philox_run_stream(run), descend,
		&(struct work){.in = slopes, .weights = weights, .rate = rate});
}

/* How many requests there are, the input's size says; it is in the key, too. */
static enum philox_status decode(void *user, struct philox_run *run)
{
	struct model *m = user;
	struct philox_pass pass;
	void *last, *weights, *noise, *next;
	uint64_t n;
	size_t bytes;

	DO(philox_run_input(run, 0, &last, &bytes));
	DO(philox_run_input(run, 1, &weights, NULL));
	n = bytes / sizeof(int32_t);
	DO(philox_run_alloc(run, n * VOCAB * sizeof(float), 0, "noise",
			    &noise));
	DO(philox_run_alloc(run, bytes, 0, "next", &next));
	DO(philox_run_forward_begin(run, m->sampler, PHILOX_PASS_INFERENCE,
				    &pass));
	DO(philox_pass_gumbel(&pass, 0, PHILOX_DTYPE_F32,
			      philox_span_elements(0, n * VOCAB), noise));
	DO(philox_pass_commit(&pass, 0, NULL));
	DO(launch(m, philox_run_stream(run), choose,
		  &(struct work){.in = noise,
				 .weights = weights,
				 .last = last,
				 .next = next,
				 .n = (int)n}));
	return philox_run_output(run, 0, next, bytes);
}

/* --- functions ------------------------------------------------------------ */

static const struct philox_input_desc of_forward[] = {
	{.name = "x", .origin = PHILOX_ORIGIN},
	{.name = "weights", .origin = PHILOX_ORIGIN}};
static const struct philox_input_desc of_backward[] = {
	{.name = "x", .origin = PHILOX_ORIGIN},
	{.name = "weights", .origin = PHILOX_ORIGIN},
	{.name = "dy", .origin = PHILOX_ORIGIN}};
static const struct philox_input_desc of_update[] = {
	{.name = "weights", .flags = PHILOX_INPUT_MUTATED},
	{.name = "slopes", .origin = PHILOX_ORIGIN}};
/* A copied one may be elsewhere in each call */
static const struct philox_input_desc of_decode[] = {
	{.name = "last", .kind = PHILOX_INPUT_COPIED},
	{.name = "weights", .origin = PHILOX_ORIGIN}};
static const struct philox_output_desc given[] = {{.name = "first"},
						  {.name = "second"}};
static const struct philox_param_desc rate = {.name = "rate",
					      .bytes = sizeof(float)};

static struct philox_function *make(
	struct model *m, const char *name, enum philox_function_mode mode,
	enum philox_status (*body)(void *user, struct philox_run *run),
	const struct philox_input_desc *inputs, size_t n_inputs,
	size_t n_outputs)
{
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_function *function;

	options.name = name;
	options.mode = mode;
	options.body = body;
	options.user = m;
	options.inputs = inputs;
	options.n_inputs = n_inputs;
	options.outputs = given;
	options.n_outputs = n_outputs;
	options.params = &rate;
	options.n_params = body == update;
	TRY(philox_function_create(m->runner, &options, &function));
	return function;
}

static void *make_array(struct model *m, const float *values)
{
	void *array;

	TRY(philox_memory_alloc(m->device, BYTES, &array));
	TRY(philox_memory_copy(m->device, m->stream, array, values, BYTES));
	return array;
}

static void begin(struct model *m)
{
	const char *dropout = "dropout", *gumbel = "gumbel";
	struct philox_runner_desc options =
		PHILOX_INIT(struct philox_runner_desc);
	static float ones[WIDTH], zeros[WIDTH];

	for (int i = 0; i < WIDTH; i++)
		ones[i] = 1 + (float)(i % 5) / 8;
	TRY(philox_device_open("host", &m->device));
	TRY(philox_context_create(m->device, &m->context));
	TRY(philox_region_create_named(m->context, "layer", &dropout, 1,
				       &m->layer));
	TRY(philox_region_create_named(m->context, "sampler", &gumbel, 1,
				       &m->sampler));
	TRY(philox_stream_create(m->device, 0, &m->stream));
	for (int i = 0; i < 2; i++)
		m->weights[i] = make_array(m, ones);
	m->x = make_array(m, ones);
	m->tokens = make_array(m, zeros);
	options.name = "model";
	TRY(philox_runner_create(m->context, &options, &m->runner));
	m->forward = make(m, "forward", PHILOX_MODE_FORWARD, forward,
			  of_forward, 2, 1);
	m->backward = make(m, "backward", PHILOX_MODE_BACKWARD, backward,
			   of_backward, 3, 2);
	m->update = make(m, "update", PHILOX_MODE_INFERENCE, update, of_update,
			 2, 0);
	m->decode = make(m, "decode", PHILOX_MODE_INFERENCE, decode, of_decode,
			 2, 1);
}

static void end(struct model *m)
{
	TRY(philox_stream_synchronize(m->device, m->stream));
	philox_context_destroy(m->context); /* and the runner */
	TRY(philox_memory_free(m->device, m->tokens));
	TRY(philox_memory_free(m->device, m->x));
	for (int i = 0; i < 2; i++)
		TRY(philox_memory_free(m->device, m->weights[i]));
	TRY(philox_stream_destroy(m->device, m->stream));
	TRY(philox_device_close(m->device));
}

/* --- calls ---------------------------------------------------------------- */

/* What a call is for; what a function does not have is 0. */
struct call {
	struct philox_function *function;
	struct philox_call_input inputs[3];
	size_t n_inputs;
	struct philox_launch_pass *use; /* one, or none */
	struct philox_output *outputs;
	size_t n_outputs;
	float rate;   /* of "update" */
	uint32_t key; /* under which it is recorded */
};

static void do_call(struct model *m, const struct call *c)
{
	const struct philox_call_param value = {&c->rate, sizeof(c->rate)};
	struct philox_call call = PHILOX_INIT(struct philox_call);

	call.stream = m->stream;
	call.key = &c->key;
	call.key_bytes = sizeof(c->key);
	call.inputs = c->inputs;
	call.n_inputs = c->n_inputs;
	call.params = &value;
	call.n_params = c->function == m->update;
	call.passes = c->use;
	call.n_passes = c->use != NULL;
	call.outputs = c->outputs;
	call.n_outputs = c->n_outputs;
	TRY(philox_function_call(c->function, &call));
}

static struct philox_call_input memory(void *address, size_t bytes)
{
	return (struct philox_call_input){.address = address, .bytes = bytes};
}

static struct philox_call_input result(const struct philox_output *output)
{
	return (struct philox_call_input){.address = output->address,
					  .bytes = output->bytes,
					  .output = output};
}

static void release(struct model *m, const struct philox_output *output)
{
	TRY(philox_output_release(m->runner, m->stream, output));
}

static struct philox_ticket call_forward(struct model *m, int layer,
					 struct philox_call_input x,
					 struct philox_output *y)
{
	struct philox_launch_pass use = {{0, 0}, 0, 0};

	do_call(m,
		&(struct call){.function = m->forward,
			       .inputs = {x, memory(m->weights[layer], BYTES)},
			       .n_inputs = 2,
			       .use = &use,
			       .outputs = y,
			       .n_outputs = 1});
	return use.ticket;
}

/* Uses the ticket up, and updates the weights. */
static struct philox_output call_backward(struct model *m, int layer,
					  struct philox_call_input x,
					  struct philox_call_input dy,
					  struct philox_ticket ticket, float by)
{
	const struct philox_call_input weights =
		memory(m->weights[layer], BYTES);
	struct philox_launch_pass use = {ticket, 0, 0};
	struct philox_output outputs[2]; /* dx, slopes */

	do_call(m, &(struct call){.function = m->backward,
				  .inputs = {x, weights, dy},
				  .n_inputs = 3,
				  .use = &use,
				  .outputs = outputs,
				  .n_outputs = 2});
	do_call(m, &(struct call){.function = m->update,
				  .inputs = {weights, result(&outputs[1])},
				  .n_inputs = 2,
				  .rate = by});
	release(m, &outputs[1]);
	return outputs[0];
}

/*
 * The loss is half the square of y, whose gradient is y itself. An output is to
 * be released when it is not needed any more: with the ticket of the backward
 * that reads it last, by itself, or when the next step begins.
 */
static void train(struct model *m, float by)
{
	const struct philox_call_input x = memory(m->x, BYTES);
	struct philox_output y[2], dx;
	struct philox_ticket ticket[2];

	TRY(philox_runner_step_begin(m->runner, m->stream, 0, NULL));
	ticket[0] = call_forward(m, 0, x, &y[0]);
	ticket[1] = call_forward(m, 1, result(&y[0]), &y[1]);
	for (int i = 0; i < 2; i++)
		TRY(philox_output_tie(m->runner, &y[i], m->layer, ticket[1]));
	dx = call_backward(m, 1, result(&y[0]), result(&y[1]), ticket[1], by);
	call_backward(m, 0, x, result(&dx), ticket[0], by);
	release(m, &dx);
}

/* One more token for each of n requests, and one recording for each n. */
static void sample(struct model *m, uint32_t n, int32_t *tokens)
{
	const size_t bytes = n * sizeof(*tokens);
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	struct philox_output next;

	do_call(m, &(struct call){.function = m->decode,
				  .key = n,
				  .inputs = {memory(m->tokens, bytes),
					     memory(m->weights[1], BYTES)},
				  .n_inputs = 2,
				  .use = &use,
				  .outputs = &next,
				  .n_outputs = 1});
	TRY(philox_memory_copy(m->device, m->stream, m->tokens, next.address,
			       bytes));
	TRY(philox_memory_copy(m->device, m->stream, tokens, next.address,
			       bytes));
	release(m, &next);
}

static void tell(struct philox_function *function)
{
	struct philox_function_stats counts =
		PHILOX_INIT(struct philox_function_stats);

	TRY(philox_function_get_stats(function, &counts));
	printf("%-8s  %2d eager, %2d to warm up, %2d recorded, %2d replayed\n",
	       philox_function_name(function), (int)counts.eager,
	       (int)counts.warmup, (int)counts.record, (int)counts.replay);
}

static void run(struct results *results)
{
	struct model m;

	memset(results, 0, sizeof(*results));
	begin(&m);
	for (int i = 0; i < STEPS; i++)
		train(&m, 0.1f / (float)(i + 1));
	TRY(philox_runner_step_begin(m.runner, m.stream, 0, NULL));
	for (int i = 0; i < 2; i++) {
		TRY(philox_memory_set(m.device, m.stream, m.tokens, 0,
				      REQUESTS * sizeof(int32_t)));
		for (int k = 0; k < LENGTH; k++)
			sample(&m, i ? REQUESTS : 1, results->tokens[i][k]);
		TRY(philox_memory_copy(m.device, m.stream, results->weights[i],
				       m.weights[i], BYTES));
	}
	tell(m.forward);
	tell(m.backward);
	tell(m.update);
	tell(m.decode);
	end(&m);
}

int main(void)
{
	static struct results recorded, eager;

	run(&recorded);
	if (setenv("PHILOX_RUNNER", "eager", 1))
		return 1;
	puts("with PHILOX_RUNNER=eager:");
	run(&eager);
	if (memcmp(&recorded, &eager, sizeof(eager)) ||
	    recorded.weights[0][0] == 1 || !recorded.tokens[0][LENGTH - 1][0])
		return 1;
	puts("the same weights and tokens, bit for bit");
	return 0;
}
