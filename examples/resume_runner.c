/*
 * examples/resume_runner.c - save in the middle of a step of a runner, and go
 * on elsewhere
 *
 * A step has four micro-batches, whose gradients are added up. The program
 * saves after three forwards and one backward: activations of two forwards and
 * the sum so far are in the runner's memory. Another process, or another
 * device, makes the same functions, loads, finds these outputs by name, and
 * ends the step. The sum is that of a program that was not interrupted.
 *
 *   resume_runner              all of it, one after the other
 *   resume_runner straight     without an interruption: prints the sum
 *   resume_runner save FOLDER  the first half
 *   resume_runner load FOLDER  the second one: prints the sum
 */
#include <string.h>
#include "try.h"

enum { N = 256, MICROS = 4, DONE = 3 };
enum { BYTES = N * sizeof(float) };

struct run {
	struct philox_device *device;
	struct philox_context *context;
	struct philox_region *layer;
	struct philox_runner *runner;
	struct philox_function *begin, *forward, *backward;
	philox_stream stream;
	void *x[MICROS];
	struct philox_output y[MICROS], sum;
	struct philox_ticket ticket[MICROS];
};

/* --- bodies --------------------------------------------------------------- */

static const struct philox_span all = {.count = N};

/* The sum of gradients, which is 0 */
static enum philox_status begin_body(void *user, struct philox_run *run)
{
	struct run *r = user;
	void *sum;

	TRY(philox_run_alloc(run, BYTES, 0, "sum", &sum));
	TRY(philox_memory_set(r->device, philox_run_stream(run), sum, 0,
			      BYTES));
	return philox_run_output(run, 0, sum, BYTES);
}

/* y = dropout(x) */
static enum philox_status forward_body(void *user, struct philox_run *run)
{
	struct run *r = user;
	struct philox_ticket ticket;
	struct philox_pass pass;
	void *x, *y;

	TRY(philox_run_input(run, 0, &x, NULL));
	TRY(philox_run_alloc(run, BYTES, 0, "y", &y));
	TRY(philox_run_forward_begin(run, r->layer, 0, &pass));
	TRY(philox_pass_dropout(&pass, 0, PHILOX_DTYPE_F32, all, 0.5, x, y));
	TRY(philox_pass_commit(&pass, 0, &ticket));
	return philox_run_output(run, 0, y, BYTES);
}

struct addition {
	float *sum;
	const float *more;
};

/* A kernel; on the host device, a callback */
static void add(const void *args)
{
	const struct addition *a = args;

	for (int i = 0; i < N; i++)
		a->sum[i] += a->more[i];
}

/* sum += dropout(y), with the forward's mask; the sum stays where it is */
static enum philox_status backward_body(void *user, struct philox_run *run)
{
	const struct philox_ticket named_at_launch = {0, 0};
	struct run *r = user;
	struct philox_pass pass;
	struct addition work;
	void *y, *sum, *dx;

	TRY(philox_run_input(run, 0, &sum, NULL));
	TRY(philox_run_input(run, 1, &y, NULL));
	TRY(philox_run_alloc(run, BYTES, 0, "dx", &dx));
	TRY(philox_run_backward_begin(run, r->layer, named_at_launch, 0,
				      &pass));
	TRY(philox_pass_dropout(&pass, 0, PHILOX_DTYPE_F32, all, 0.5, y, dx));
	TRY(philox_pass_commit(&pass, 0, NULL));
	work = (struct addition){sum, dx};
	TRY(philox_stream_launch_host(r->device, philox_run_stream(run), add,
				      &work, sizeof(work)));
	return philox_run_output(run, 0, sum, BYTES);
}

/* --- set-up --------------------------------------------------------------- */

static struct philox_function *make(
	struct run *run, const char *name,
	enum philox_status (*body)(void *, struct philox_run *),
	const struct philox_input_desc *inputs, size_t n_inputs)
{
	struct philox_output_desc output = {
		.name = "out", .elements = PHILOX_ELEMENTS(PHILOX_DTYPE_F32)};
	struct philox_function_desc options = {.size = sizeof(options),
					       .name = name,
					       .body = body,
					       .user = run,
					       .inputs = inputs,
					       .n_inputs = n_inputs,
					       .outputs = &output,
					       .n_outputs = 1};
	struct philox_function *made;

	TRY(philox_function_create(run->runner, &options, &made));
	return made;
}

static void make_functions(struct run *run)
{
	const struct philox_input_desc x = {.name = "x"};
	const struct philox_input_desc of_backward[] = {
		{.name = "sum", .flags = PHILOX_INPUT_MUTATED}, {.name = "y"}};

	run->begin = make(run, "begin", begin_body, NULL, 0);
	run->forward = make(run, "forward", forward_body, &x, 1);
	run->backward = make(run, "backward", backward_body, of_backward, 2);
}

static void set_up(struct run *run, const char *device)
{
	struct philox_runner_desc options = {.size = sizeof(options),
					     .name = "model"};
	const char *op = "dropout";
	float x[N];

	TRY(philox_device_open(device, &run->device));
	TRY(philox_context_create(run->device, &run->context));
	TRY(philox_region_create_named(run->context, "layer", &op, 1,
				       &run->layer));
	TRY(philox_stream_create(run->device, 0, &run->stream));
	TRY(philox_runner_create(run->context, &options, &run->runner));
	make_functions(run);
	for (int micro = 0; micro < MICROS; micro++) {
		for (int i = 0; i < N; i++)
			x[i] = (float)(micro * N + i);
		TRY(philox_memory_alloc(run->device, BYTES, &run->x[micro]));
		TRY(philox_memory_copy(run->device, run->stream, run->x[micro],
				       x, BYTES));
		TRY(philox_stream_synchronize(run->device, run->stream));
	}
}

static void take_down(struct run *run)
{
	TRY(philox_stream_synchronize(run->device, run->stream));
	philox_context_destroy(run->context);
	for (int micro = 0; micro < MICROS; micro++)
		TRY(philox_memory_free(run->device, run->x[micro]));
	TRY(philox_stream_destroy(run->device, run->stream));
	TRY(philox_device_close(run->device));
}

/* --- a step ----------------------------------------------------------------- */

static struct philox_output call(struct run *run,
				 struct philox_function *function,
				 const struct philox_call_input *inputs,
				 size_t n_inputs,
				 struct philox_launch_pass *pass)
{
	struct philox_output out;
	struct philox_call call = {.size = sizeof(call),
				   .stream = run->stream,
				   .inputs = inputs,
				   .n_inputs = n_inputs,
				   .passes = pass,
				   .n_passes = pass != NULL,
				   .outputs = &out,
				   .n_outputs = 1};

	TRY(philox_function_call(function, &call));
	return out;
}

/* The activations go with the ticket, and have a label to be found by */
static void forward(struct run *run, int micro)
{
	struct philox_call_input x = {.address = run->x[micro], .bytes = BYTES};
	struct philox_launch_pass pass = {{0, 0}, 0, 0};
	char label[16];

	run->y[micro] = call(run, run->forward, &x, 1, &pass);
	run->ticket[micro] = pass.ticket;
	snprintf(label, sizeof(label), "micro %d", micro);
	TRY(philox_output_set_label(run->runner, &run->y[micro], label));
	TRY(philox_output_tie(run->runner, &run->y[micro], run->layer,
			      pass.ticket));
}

static struct philox_call_input input_of(const struct philox_output *output)
{
	return (struct philox_call_input){.address = output->address,
					  .bytes = output->bytes,
					  .output = output};
}

static void backward(struct run *run, int micro)
{
	const struct philox_call_input inputs[] = {input_of(&run->sum),
						   input_of(&run->y[micro])};
	struct philox_launch_pass pass = {run->ticket[micro], 0, 0};
	struct philox_output sum = call(run, run->backward, inputs, 2, &pass);

	TRY(philox_output_release(run->runner, run->stream, &run->sum));
	run->sum = sum;
}

static void first_half(struct run *run)
{
	run->sum = call(run, run->begin, NULL, 0, NULL);
	for (int micro = 0; micro < DONE; micro++)
		forward(run, micro);
	backward(run, 0);
}

static double second_half(struct run *run)
{
	float sum[N];
	double total = 0;

	for (int micro = DONE; micro < MICROS; micro++)
		forward(run, micro);
	for (int micro = 1; micro < MICROS; micro++)
		backward(run, micro);
	TRY(philox_memory_copy(run->device, run->stream, sum, run->sum.address,
			       BYTES));
	TRY(philox_stream_synchronize(run->device, run->stream));
	TRY(philox_output_release(run->runner, run->stream, &run->sum));
	for (int i = 0; i < N; i++)
		total += (i + 1) * (double)sum[i];
	printf("the weighted sum of gradients is %.17g\n", total);
	return total;
}

/* --- saved and loaded ------------------------------------------------------- */

struct paths {
	char outputs[256], context[256], plan[256];
};

static struct paths paths_in(const char *folder)
{
	struct paths paths;

	snprintf(paths.outputs, sizeof(paths.outputs), "%s/step.outputs",
		 folder);
	snprintf(paths.context, sizeof(paths.context), "%s/step.philox",
		 folder);
	snprintf(paths.plan, sizeof(paths.plan), "%s/step.plan", folder);
	return paths;
}

static double straight(void)
{
	struct run run;
	double total;

	set_up(&run, "host");
	first_half(&run);
	total = second_half(&run);
	take_down(&run);
	return total;
}

/* Outputs first: the context's text then says which file belongs to it */
static void save(const char *folder)
{
	const struct paths paths = paths_in(folder);
	struct run run;

	set_up(&run, "host");
	first_half(&run);
	TRY(philox_outputs_save(run.runner, run.stream, paths.outputs));
	TRY(philox_context_save(run.context, paths.context));
	TRY(philox_plan_save(run.runner, paths.plan));
	take_down(&run);
}

/* The handles and tickets of what was not released */
static void find(struct run *run)
{
	struct philox_region *region;
	char label[16];

	TRY(philox_outputs_find(run->runner, "backward", "out", NULL, 0,
				&run->sum));
	for (int micro = 1; micro < DONE; micro++) {
		snprintf(label, sizeof(label), "micro %d", micro);
		TRY(philox_outputs_find(run->runner, "forward", "out", label, 0,
					&run->y[micro]));
		TRY(philox_output_get_tie(run->runner, &run->y[micro], &region,
					  &run->ticket[micro]));
	}
}

static double load(const char *folder)
{
	const struct paths paths = paths_in(folder);
	struct run run;
	double total;

	set_up(&run, "host:sync"); /* any other device */
	TRY(philox_context_load(run.context, paths.context));
	TRY(philox_plan_load(run.runner, paths.plan));
	TRY(philox_outputs_load(run.runner, run.stream, paths.outputs));
	find(&run);
	total = second_half(&run);
	take_down(&run);
	return total;
}

static int all_of_it(void)
{
	const struct paths paths = paths_in(".");
	double expected = straight(), total;

	save(".");
	total = load(".");
	remove(paths.outputs);
	remove(paths.context);
	remove(paths.plan);
	puts(total == expected ? "both are the same" : "they differ");
	return total != expected;
}

int main(int argc, char **argv)
{
	const char *half = argc > 1 ? argv[1] : "";

	if (!strcmp(half, "straight"))
		straight();
	else if (argc > 2 && !strcmp(half, "save"))
		save(argv[2]);
	else if (argc > 2 && !strcmp(half, "load"))
		load(argv[2]);
	else
		return all_of_it();
	return 0;
}
