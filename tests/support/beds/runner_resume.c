/*
 * tests/support/beds/runner_resume.c - see tests/support/beds/runner_resume.h
 */
#include "tests/support/beds/runner_resume.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/left.h"

enum { BYTES = WORDS * sizeof(uint32_t) };

/* --- functions ------------------------------------------------------------ */

struct adding {
	uint32_t *sum;
	const uint32_t *more;
};

static void add_words(const void *args)
{
	const struct adding *adding = args;

	for (int i = 0; i < WORDS; i++)
		adding->sum[i] = 3 * adding->sum[i] + adding->more[i];
}

/* The sum stays where it is. */
static enum philox_status add_body(void *user, struct philox_run *run)
{
	struct accum *t = user;
	struct adding args;
	void *sum, *more;

	OK(philox_run_input(run, 0, &sum, NULL));
	OK(philox_run_input(run, 1, &more, NULL));
	args = (struct adding){sum, more};
	OK(philox_stream_launch_host(t->f->device, philox_run_stream(run),
				     add_words, &args, sizeof(args)));
	return philox_run_output(run, 0, sum, BYTES);
}

static enum philox_status zero_body(void *user, struct philox_run *run)
{
	struct accum *t = user;
	void *sum;

	OK(philox_run_alloc(run, BYTES + 100, 1024, "grad", &sum));
	OK(philox_memory_set(t->f->device, philox_run_stream(run), sum, 0,
			     BYTES));
	return philox_run_output(run, 0, sum, BYTES);
}

void accum_make(struct accum *t, struct fixture *f, struct philox_runner *r)
{
	static const struct philox_input_desc inputs[] = {
		{.name = "sum", .flags = PHILOX_INPUT_MUTATED},
		{.name = "more"}};
	static const struct philox_output_desc output = {
		.name = "sum", .elements = PHILOX_ELEMENTS(PHILOX_DTYPE_F32)};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);

	*t = (struct accum){.f = f, .r = r};
	for (uint32_t i = 0; i < MICROS; i++)
		t->x[i] = make_words(f, 10 + i);
	t->forth = make_layer(f, r, "layer");
	t->back = t->forth;
	t->back.backward = 1;
	make_function(&t->forth, r, "forth");
	make_function(&t->back, r, "back");
	options.user = t;
	options.outputs = &output;
	options.n_outputs = 1;
	options.name = "zero";
	options.body = zero_body;
	OK(philox_function_create(r, &options, &t->zero));
	options.name = "add";
	options.body = add_body;
	options.inputs = inputs;
	options.n_inputs = 2;
	OK(philox_function_create(r, &options, &t->add));
}

/* --- a step --------------------------------------------------------------- */

void accum_begin(struct accum *t)
{
	struct philox_call call = PHILOX_INIT(struct philox_call);

	call.stream = t->f->stream;
	call.outputs = &t->grad;
	call.n_outputs = 1;
	OK(philox_function_call(t->zero, &call));
	OK(philox_output_set_label(t->r, &t->grad, "grad"));
}

void accum_forward(struct accum *t, int micro)
{
	struct layer_call call = made_call(&t->forth, t->x[micro], 0);
	char label[16];

	snprintf(label, sizeof(label), "micro %d", micro);
	tie_outputs(&t->forth, &call, t->forth.region, call.use.ticket);
	for (int i = 0; i < 2; i++)
		OK(philox_output_set_label(t->r, &call.outputs[i], label));
	t->y[micro] = call.outputs[0];
	t->echo[micro] = call.outputs[1];
	t->ticket[micro] = call.use.ticket;
}

static void add_to_grad(struct accum *t, const struct philox_output *more)
{
	const struct philox_call_input inputs[] = {
		{.address = t->grad.address,
		 .bytes = BYTES,
		 .output = &t->grad},
		{.address = more->address, .bytes = BYTES, .output = more}};
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_output sum;

	call.stream = t->f->stream;
	call.inputs = inputs;
	call.n_inputs = 2;
	call.outputs = &sum;
	call.n_outputs = 1;
	OK(philox_function_call(t->add, &call));
	OK(philox_output_release(t->r, t->f->stream, &t->grad));
	OK(philox_output_set_label(t->r, &sum, "grad"));
	t->grad = sum;
}

void accum_backward(struct accum *t, int micro)
{
	struct layer_call call = new_call(&t->back, t->echo[micro].address, 0);

	call.x.output = &t->echo[micro];
	call.use.ticket = t->ticket[micro];
	OK(try_call(&t->back, &call));
	add_to_grad(t, &call.outputs[0]);
	add_to_grad(t, &call.outputs[1]);
	release_outputs(&t->back, &call);
}

struct numbers accum_end(struct accum *t)
{
	struct numbers sum = read_numbers(t->f, t->grad.address);

	OK(philox_output_release(t->r, t->f->stream, &t->grad));
	return sum;
}

void accum_stop(struct accum *t)
{
	accum_begin(t);
	for (int micro = 0; micro < 3; micro++)
		accum_forward(t, micro);
	accum_backward(t, 0);
}

struct numbers accum_go_on(struct accum *t)
{
	accum_forward(t, 3);
	for (int micro = 1; micro < MICROS; micro++)
		accum_backward(t, micro);
	return accum_end(t);
}

struct numbers accum_step(struct accum *t)
{
	accum_stop(t);
	return accum_go_on(t);
}

void accum_find(struct accum *t)
{
	struct philox_region *region;
	char label[16];

	OK(philox_outputs_find(t->r, "add", "sum", "grad", 0, &t->grad));
	for (int micro = 1; micro < 3; micro++) {
		snprintf(label, sizeof(label), "micro %d", micro);
		OK(philox_outputs_find(t->r, "forth", "y", label, 0,
				       &t->y[micro]));
		OK(philox_outputs_find(t->r, "forth", "echo", label, 0,
				       &t->echo[micro]));
		OK(philox_output_get_tie(t->r, &t->echo[micro], &region,
					 &t->ticket[micro]));
		cr_assert_eq(region, t->forth.region);
	}
}

/* --- saved and resumed ---------------------------------------------------- */

void stopped_save(struct stopped *stopped, struct accum *t)
{
	OK(philox_outputs_save_text(t->r, t->f->stream, &stopped->outputs,
				    &stopped->bytes));
	OK(philox_context_save_text(t->f->context, &stopped->context, NULL));
	OK(philox_plan_save_text(t->r, &stopped->plan, NULL));
	left_keep(stopped->outputs);
	left_keep(stopped->context);
	left_keep(stopped->plan);
}

void stopped_free(struct stopped *stopped)
{
	free(stopped->outputs);
	free(stopped->context);
	free(stopped->plan);
}

void resumed_open(struct resumed *resumed, struct fixture *like,
		  uint32_t pool_flags)
{
	fixture_open(&resumed->f, philox_device_name(like->device));
	make_words(&resumed->f, 1); /* so that nothing is where it was */
	accum_make(&resumed->t, &resumed->f,
		   make_runner_of(&resumed->f, "runner", pool_flags));
}

void resumed_close(struct resumed *resumed)
{
	fixture_close(&resumed->f);
}

enum philox_status try_outputs(struct accum *t, const struct stopped *stopped)
{
	return philox_outputs_load_text(t->r, t->f->stream, stopped->outputs,
					stopped->bytes);
}

void outputs_refused(struct accum *t, const char *text, size_t bytes,
		     enum philox_status expected)
{
	char *before, *after, message[512];
	struct philox_output found;

	OK(philox_context_save_text(t->f->context, &before, NULL));
	FAILS(philox_outputs_load_text(t->r, t->f->stream, text, bytes),
	      expected);
	snprintf(message, sizeof(message), "%s", philox_error_message());
	FAILS(philox_outputs_find(t->r, "forth", "y", NULL, 0, &found),
	      PHILOX_ERROR_NOT_FOUND);
	LIVE(t->f, t->r, 0);
	OK(philox_context_save_text(t->f->context, &after, NULL));
	cr_assert_str_eq(before, after, "the context changed");
	free(before);
	free(after);
	/* for NAMES(): the same message once more */
	FAILS(philox_outputs_load_text(t->r, t->f->stream, text, bytes),
	      expected);
	cr_assert_str_eq(philox_error_message(), message);
}

static uint64_t hash_bytes(const char *bytes, size_t n)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)bytes[i]) *
		       UINT64_C(0x100000001b3);
	return hash;
}

/* The bytes with one thing replaced and their checksum; *size is their size. */
static char *replaced(const char *text, size_t *size, const char *from,
		      const char *to, uint64_t *checksum)
{
	const size_t old = strlen(from), new = strlen(to);
	const char *found = memmem(text, *size, from, old);
	char *made = malloc(*size + new + 64);
	size_t n, last = *size;

	cr_assert(made && found, "no '%s'", from);
	while (memcmp(text + last - 9, "checksum ", 9) != 0)
		last--;
	last -= 9;
	n = (size_t)(found - text);
	memcpy(made, text, n);
	memcpy(made + n, to, new);
	memcpy(made + n + new, found + old, last - n - old);
	n = last - old + new;
	*checksum = hash_bytes(made, n);
	*size = n + (size_t)sprintf(made + n,
				    "checksum %016" PRIx64 " bytes %zu\n",
				    *checksum, n);
	return made;
}

void stopped_change(struct stopped *stopped, const char *from, const char *to)
{
	char before[64], after[64];
	uint64_t checksum;
	char *outputs = replaced(stopped->outputs, &stopped->bytes, from, to,
				 &checksum);
	size_t size = strlen(stopped->context);
	const char *line = strstr(stopped->context, "outputs \"runner\"");
	char *context;

	cr_assert(line, "the context names no outputs");
	snprintf(before, sizeof(before), "%.*s", (int)strcspn(line, "\n"),
		 line);
	snprintf(after, sizeof(after), "outputs \"runner\" digest %016" PRIx64,
		 checksum);
	context = replaced(stopped->context, &size, before, after, &checksum);
	free(stopped->outputs);
	free(stopped->context);
	stopped->outputs = outputs;
	stopped->context = context;
}
