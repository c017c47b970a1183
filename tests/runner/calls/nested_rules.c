/*
 * tests/runner/calls/nested_rules.c - what a body that calls a function may
 * give it, what it gets, and how it fails
 */
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/beds/runner_scene.h"

TestSuite(runner_nested_rules, .timeout = 120);

enum { BYTES = WORDS * sizeof(uint32_t) };

#define TRY(call)                                   \
	do {                                        \
		enum philox_status tried_ = (call); \
		if (tried_ != PHILOX_OK)            \
			return tried_;              \
	} while (0)

/*
 * A function "outer" with inputs "x" and "m", of which m is mutated, parameters
 * "rate" of 4 bytes and "wide" of 8, and an output "y". Its body does something
 * with function "inner", a layer.
 */
struct outer {
	struct layer inner;
	struct fixture *f;
	struct philox_runner *runner;
	struct philox_function *function;
	enum philox_status (*does)(struct outer *o, struct philox_run *run);
	size_t passes;
	void *words[2]; /* what it is called with */
	/* of the body */
	char *x, *m, *y;
	struct philox_nested_call call; /* of "inner": x, without a list */
	struct philox_nested_array input, outputs[2];
	struct philox_launch_pass pass;
	enum philox_status inner_status;
	unsigned bodies, depth;
};

static enum philox_status outer_body(void *user, struct philox_run *run)
{
	struct outer *o = user;
	void *x, *m, *y;

	o->bodies++;
	TRY(philox_run_input(run, 0, &x, NULL));
	TRY(philox_run_input(run, 1, &m, NULL));
	TRY(philox_run_alloc(run, BYTES, 0, "y", &y));
	TRY(philox_memory_set(o->f->device, philox_run_stream(run), y, 1,
			      BYTES));
	o->x = x;
	o->m = m;
	o->y = y;
	o->call = PHILOX_INIT(struct philox_nested_call);
	o->input = (struct philox_nested_array){x, BYTES};
	o->pass = (struct philox_launch_pass){.flags = 0};
	o->call.inputs = &o->input;
	o->call.n_inputs = 1;
	o->call.outputs = o->outputs;
	o->call.n_outputs = 2;
	TRY(o->does(o, run));
	return philox_run_output(run, 0, o->y, BYTES);
}

static enum philox_status nest(struct outer *o, struct philox_run *run)
{
	o->inner_status = philox_run_call(run, o->inner.function, &o->call);
	return o->inner_status;
}

static const struct philox_input_desc outer_inputs[] = {
	{.name = "x"}, {.name = "m", .flags = PHILOX_INPUT_MUTATED}};
static const struct philox_param_desc outer_params[] = {
	{.name = "rate", .bytes = 4}, {.name = "wide", .bytes = 8}};
static const struct philox_output_desc outer_output = {.name = "y"};

static struct philox_function_desc outer_options(struct outer *o)
{
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);

	options.name = "outer";
	options.body = outer_body;
	options.user = o;
	options.inputs = outer_inputs;
	options.n_inputs = 2;
	options.params = outer_params;
	options.n_params = 2;
	options.outputs = &outer_output;
	options.n_outputs = 1;
	return options;
}

static void make_outer(struct outer *o, struct fixture *f,
		       struct philox_runner *r,
		       enum philox_status (*does)(struct outer *o,
						  struct philox_run *run))
{
	struct philox_function_desc options = outer_options(o);

	*o = (struct outer){.f = f, .runner = r, .does = does, .passes = 1};
	for (uint32_t i = 0; i < 2; i++)
		o->words[i] = make_words(f, 5 + i);
	o->inner = make_layer(f, r, "in");
	make_function(&o->inner, r, "inner");
	OK(philox_function_create(r, &options, &o->function));
}

static uint32_t outer_kind;
static struct philox_ticket outer_tickets[8];
static struct numbers outer_y;

/* The output and the tickets are released. */
static enum philox_status call_outer(struct outer *o)
{
	const uint64_t number = 7;
	const struct philox_call_param params[] = {{&number, 4}, {&number, 8}};
	struct philox_call_input inputs[2];
	struct philox_launch_pass passes[8] = {{.flags = 0}};
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_output output;
	enum philox_status status;

	for (int i = 0; i < 2; i++)
		inputs[i] = (struct philox_call_input){.address = o->words[i],
						       .bytes = BYTES};
	call.stream = o->f->stream;
	call.inputs = inputs;
	call.n_inputs = 2;
	call.params = params;
	call.n_params = 2;
	call.passes = passes;
	call.n_passes = o->passes;
	call.outputs = &output;
	call.n_outputs = 1;
	status = philox_function_call(o->function, &call);
	outer_kind = call.kind;
	if (status != PHILOX_OK)
		return status;
	outer_y = read_numbers(o->f, output.address);
	OK(philox_output_release(o->runner, o->f->stream, &output));
	for (size_t i = 0; i < o->passes; i++) {
		outer_tickets[i] = passes[i].ticket;
		if (passes[i].ticket.serial)
			OK(philox_ticket_release(o->inner.region, o->f->stream,
						 passes[i].ticket));
	}
	return PHILOX_OK;
}

#define CALLED(o, kind_)                                                \
	do {                                                            \
		OK(call_outer(o));                                      \
		cr_assert(outer_kind == (kind_), "kind %u, not %u: %s", \
			  outer_kind, (unsigned)(kind_),                \
			  philox_function_reason((o)->function));       \
	} while (0)

/* A warm-up, a recording, a replay. */
static void call_three(struct outer *o)
{
	CALLED(o, PHILOX_CALL_WARMUP);
	CALLED(o, PHILOX_CALL_RECORD);
	CALLED(o, PHILOX_CALL_REPLAY);
}

/* --- how it fails --------------------------------------------------------- */

static enum philox_status ignore(struct outer *o, struct philox_run *run)
{
	nest(o, run);
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_nested_rules, an_error_within_is_that_of_the_call)
{
	struct outer o;

	make_outer(&o, f, r, ignore);
	for (uint32_t kind = PHILOX_CALL_WARMUP; kind <= PHILOX_CALL_RECORD;
	     kind++) {
		o.inner.returns = PHILOX_ERROR_FILE;
		FAILS(call_outer(&o), PHILOX_ERROR_FILE);
		NAMES("function 'outer': function 'inner': its body returned ");
		cr_assert_eq(o.inner_status, PHILOX_ERROR_FILE);
		PENDING(o.inner.region, 0);
		o.inner.returns = PHILOX_OK;
		CALLED(&o, kind);
	}
	CALLED(&o, PHILOX_CALL_REPLAY);
}

static enum philox_status fail_within(struct layer *layer,
				      struct philox_run *run)
{
	void *nothing;

	(void)layer;
	philox_run_input(run, 9, &nothing, NULL);
	FAILS(philox_function_get_stats(NULL, NULL), PHILOX_ERROR_INVALID);
	return PHILOX_OK;
}

static enum philox_status look_at_failure(struct outer *o,
					  struct philox_run *run)
{
	FAILS(nest(o, run), PHILOX_ERROR_INVALID);
	NAMES("function 'inner' has 1 input: there is no input 9");
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_nested_rules, a_failed_request_within_fails_the_call)
{
	struct outer o;

	make_outer(&o, f, r, look_at_failure);
	o.inner.hook = fail_within;
	FAILS(call_outer(&o), PHILOX_ERROR_INVALID);
	NAMES("function 'inner' has 1 input: there is no input 9");
	PENDING(o.inner.region, 0);
}

static struct philox_pass left_open;

static enum philox_status leave_open(struct layer *layer,
				     struct philox_run *run)
{
	return philox_run_forward_begin(run, layer->region, 0, &left_open);
}

static enum philox_status declare_nothing(void *user, struct philox_run *run)
{
	(void)user;
	(void)run;
	return PHILOX_OK;
}

static enum philox_status call_idle(struct outer *o, struct philox_run *run)
{
	o->call.n_inputs = 0;
	o->call.outputs = NULL;
	o->call.n_outputs = 0;
	return nest(o, run);
}

RUNNER_PROMISE(runner_nested_rules, a_body_within_ends_whole)
{
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct outer o;

	make_outer(&o, f, r, nest);
	o.passes = 2;
	o.inner.hook = leave_open;
	FAILS(call_outer(&o), PHILOX_ERROR_STATE);
	NAMES("function 'inner': its body has succeeded, but a forward of "
	      "region 'in' is open");
	o.inner.hook = NULL;
	options.name = "idle";
	options.body = declare_nothing;
	options.outputs = &outer_output;
	options.n_outputs = 1;
	OK(philox_function_create(r, &options, &o.inner.function));
	o.does = call_idle;
	o.passes = 0;
	FAILS(call_outer(&o), PHILOX_ERROR_STATE);
	NAMES("function 'idle': its body did not declare output 'y'");
}

/* --- what may be called ----------------------------------------------------- */

static struct philox_function *other_function;

static enum philox_status call_other(struct outer *o, struct philox_run *run)
{
	return philox_run_call(run, other_function, &o->call);
}

RUNNER_PROMISE(runner_nested_rules, only_functions_of_the_runner_are_called)
{
	struct philox_runner *others = make_runner_of(f, "others", 0);
	struct layer other = make_layer(f, others, "other");
	struct outer o;

	make_function(&other, others, "inner");
	make_outer(&o, f, r, call_other);
	other_function = other.function;
	FAILS(call_outer(&o), PHILOX_ERROR_MISMATCH);
	NAMES("function 'inner' is of another runner than function 'outer'");
	other_function = NULL;
	FAILS(call_outer(&o), PHILOX_ERROR_INVALID);
	NAMES("function is NULL");
	other_function = o.inner.function;
	OK(philox_function_destroy(o.inner.function));
	FAILS(call_outer(&o), PHILOX_ERROR_STALE);
	NAMES("function 'inner' was destroyed");
}

/* How many calls of itself are still to come. */
static unsigned to_come, deepest;

static enum philox_status call_itself(struct outer *o, struct philox_run *run)
{
	struct philox_nested_call call = PHILOX_INIT(struct philox_nested_call);
	struct philox_nested_array inputs[2] = {{o->x, BYTES}, {o->m, BYTES}};
	struct philox_nested_array output;
	const void *params[2];
	char *own = o->y;
	struct philox_pass pass;
	struct philox_ticket ticket;
	unsigned left = to_come;

	deepest++;
	TRY(philox_run_forward_begin(run, o->inner.region, 0, &pass));
	TRY(draw_or_fail(&pass, (uint32_t *)o->y));
	TRY(philox_pass_commit(&pass, 0, &ticket));
	if (!left)
		return PHILOX_OK;
	for (size_t i = 0; i < 2; i++)
		TRY(philox_run_param(run, i, &params[i]));
	call.inputs = inputs;
	call.n_inputs = 2;
	call.params = params;
	call.n_params = 2;
	call.outputs = &output;
	call.n_outputs = 1;
	to_come--;
	TRY(philox_run_call(run, o->function, &call));
	to_come = left;
	if (left % 2) /* one's own, or the one of the call */
		o->y = own;
	else
		o->y = output.address;
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_nested_rules, a_function_calls_itself_but_not_for_ever)
{
	struct outer o;

	make_outer(&o, f, r, call_itself);
	to_come = 3;
	o.passes = 4;
	for (int i = 0; i < 4; i++) {
		deepest = 0;
		OK(call_outer(&o));
		cr_assert_eq(deepest,
			     outer_kind == PHILOX_CALL_REPLAY ? 0u : 4u);
		for (int k = 1; k < 4; k++)
			cr_assert_eq(outer_tickets[k].serial,
				     outer_tickets[k - 1].serial + 1);
	}
	cr_assert_eq(outer_kind, PHILOX_CALL_REPLAY);
}

static enum philox_status only_recurse(struct outer *o, struct philox_run *run)
{
	struct philox_nested_call call = PHILOX_INIT(struct philox_nested_call);
	struct philox_nested_array inputs[2] = {{o->x, BYTES}, {o->m, BYTES}};
	const void *params[2];

	deepest++;
	for (size_t i = 0; i < 2; i++)
		TRY(philox_run_param(run, i, &params[i]));
	call.inputs = inputs;
	call.n_inputs = 2;
	call.params = params;
	call.n_params = 2;
	return philox_run_call(run, o->function, &call);
}

RUNNER_PROMISE(runner_nested_rules, bodies_are_at_most_64_calls_deep)
{
	struct outer o;

	make_outer(&o, f, r, only_recurse);
	o.passes = 0;
	deepest = 0;
	FAILS(call_outer(&o), PHILOX_ERROR_LIMIT);
	NAMES("function 'outer' is called 64 bodies deep, which is the most");
	cr_assert_eq(deepest, 65);
}

static unsigned asked;

static enum philox_status agree(void *user, uint32_t wanted, uint32_t *agreed)
{
	asked += user == &asked;
	*agreed = wanted;
	return PHILOX_OK;
}

static enum philox_status give_word(void *user, struct philox_run *run)
{
	void *y;

	(void)user;
	TRY(philox_run_alloc(run, 16, 0, "word", &y));
	return philox_run_output(run, 0, y, 16);
}

static enum philox_status call_plain(struct outer *o, struct philox_run *run)
{
	o->call.inputs = NULL;
	o->call.n_inputs = 0;
	o->call.n_outputs = 1;
	return philox_run_call(run, other_function, &o->call);
}

RUNNER_PROMISE(runner_nested_rules, collective_functions_are_asked_for_once)
{
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct outer o;

	make_outer(&o, f, r, call_plain);
	o.passes = 0;
	options.name = "speaks";
	options.flags = PHILOX_FUNCTION_COLLECTIVE;
	options.body = give_word;
	options.user = &asked;
	options.agree = agree;
	options.outputs = &outer_output;
	options.n_outputs = 1;
	OK(philox_function_create(r, &options, &other_function));
	FAILS(call_outer(&o), PHILOX_ERROR_INVALID);
	NAMES("function 'speaks' is PHILOX_FUNCTION_COLLECTIVE, but function "
	      "'outer', whose body calls it, is not");
	OK(philox_function_destroy(o.function));
	options = outer_options(&o);
	options.flags = PHILOX_FUNCTION_COLLECTIVE;
	options.agree = agree;
	OK(philox_function_create(r, &options, &o.function));
	call_three(&o);
	cr_assert_eq(asked, 0);
}

RUNNER_PROMISE(runner_nested_rules, an_eager_function_keeps_its_caller_eager)
{
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct outer o;

	make_outer(&o, f, r, call_plain);
	o.passes = 0;
	options.name = "eager";
	options.flags = PHILOX_FUNCTION_EAGER;
	options.body = give_word;
	options.outputs = &outer_output;
	options.n_outputs = 1;
	OK(philox_function_create(r, &options, &other_function));
	CALLED(&o, PHILOX_CALL_WARMUP);
	for (int i = 0; i < 3; i++)
		CALLED(&o, PHILOX_CALL_EAGER);
	PENDING(o.inner.region, 0);
	cr_assert(strstr(philox_function_reason(o.function),
			 "it calls function 'eager', which is "
			 "PHILOX_FUNCTION_EAGER"),
		  "%s", philox_function_reason(o.function));
}

static enum philox_status refuse(struct layer *layer, struct philox_run *run)
{
	(void)layer;
	return philox_run_refuse(run, "it looks at a clock");
}

RUNNER_PROMISE(runner_nested_rules, a_refusal_within_is_that_of_the_caller)
{
	struct outer o;

	make_outer(&o, f, r, nest);
	CALLED(&o, PHILOX_CALL_WARMUP);
	o.inner.hook = refuse;
	CALLED(&o, PHILOX_CALL_EAGER);
	cr_assert_eq(o.bodies, 3, "once while it was recorded");
	cr_assert(strstr(philox_function_reason(o.function),
			 "its body refused to be recorded: function 'inner': "
			 "it looks at a clock"),
		  "%s", philox_function_reason(o.function));
	PENDING(o.inner.region, 0);
}

static enum philox_status more(struct layer *layer, struct philox_run *run)
{
	if (philox_run_kind(run) == PHILOX_CALL_RECORD)
		return PHILOX_OK;
	layer->hook = NULL;
	return philox_run_again(run);
}

RUNNER_PROMISE(runner_nested_rules, a_further_warm_up_can_be_asked_for_within)
{
	struct outer o;

	make_outer(&o, f, r, nest);
	o.inner.hook = more;
	CALLED(&o, PHILOX_CALL_WARMUP);
	call_three(&o);
}

/* --- memory that is given --------------------------------------------------- */

static enum {
	FOREIGN,
	FREED,
	BEYOND_BLOCK,
	BEYOND_INPUT,
	NOWHERE,
	MUTATES,
	GOOD_MUTATES,
	GOOD_EMPTY,
	GOOD_MEMORY
} given;
static uint32_t *foreign;

static enum philox_status give(struct outer *o, struct philox_run *run)
{
	void *freed, *memory;

	TRY(philox_run_alloc(run, 2 * BYTES, 0, "freed", &freed));
	TRY(philox_run_alloc(run, 2 * BYTES, 0, "memory", &memory));
	TRY(philox_run_free(run, freed));
	if (given == FOREIGN)
		o->input.address = foreign;
	else if (given == FREED)
		o->input.address = freed;
	else if (given == BEYOND_BLOCK)
		o->input = (struct philox_nested_array){(char *)memory + BYTES,
							BYTES + 1};
	else if (given == BEYOND_INPUT)
		o->input.bytes++;
	else if (given == NOWHERE)
		o->input.address = NULL;
	else if (given == GOOD_MUTATES)
		o->input.address = o->m;
	else if (given == GOOD_MEMORY)
		o->input.address = (char *)memory + BYTES;
	else if (given == GOOD_EMPTY)
		o->input = (struct philox_nested_array){NULL, 0};
	return nest(o, run);
}

static enum philox_status no_read(void *user, struct philox_run *run)
{
	struct philox_pass pass;
	struct philox_ticket ticket;
	struct layer *layer = user;
	void *y;

	TRY(philox_run_alloc(run, BYTES, 0, "y", &y));
	TRY(philox_run_forward_begin(run, layer->region, 0, &pass));
	TRY(draw_or_fail(&pass, y));
	TRY(philox_pass_commit(&pass, 0, &ticket));
	TRY(philox_run_output(run, 0, y, BYTES));
	return philox_run_output(run, 1, y, 1);
}

static void make_reader(struct outer *o, const char *name, uint32_t flags,
			size_t alignment,
			enum philox_status (*body)(void *, struct philox_run *))
{
	const struct philox_input_desc x = {
		.name = "x", .flags = flags, .alignment = alignment};
	struct philox_function_desc options = layer_options(name, &o->inner);

	options.inputs = &x;
	options.body = body;
	make_function_of(&o->inner, o->runner, &options);
}

RUNNER_PROMISE(runner_nested_rules, inputs_are_memory_that_the_caller_has)
{
	static const char *const messages[] = {
		[FOREIGN] = "is neither in memory of this run nor in an input",
		[FREED] = "is neither in memory of this run nor in an input",
		[BEYOND_BLOCK] = "ends beyond its memory",
		[BEYOND_INPUT] = "ends beyond the input that it is in",
		[NOWHERE] = "is at NULL",
		[MUTATES] = "is mutated, but is in an input that is not"};
	struct outer o;
	char message[200];

	make_outer(&o, f, r, give);
	foreign = make_words(f, 1);
	make_reader(&o, "reader", 0, 0, no_read);
	for (given = FOREIGN; given <= MUTATES; given++) {
		if (given == MUTATES)
			make_reader(&o, "mutator", PHILOX_INPUT_MUTATED, 0,
				    no_read);
		FAILS(call_outer(&o), PHILOX_ERROR_INVALID);
		snprintf(message, sizeof(message),
			 "function 'outer': input 'x' of function '%s', which "
			 "its body calls, %s",
			 given == MUTATES ? "mutator" : "reader",
			 messages[given]);
		NAMES(message);
	}
	OK(philox_function_destroy(o.function));
	for (given = GOOD_MUTATES; given <= GOOD_MEMORY; given++) {
		struct philox_function_desc options = outer_options(&o);

		OK(philox_function_create(r, &options, &o.function));
		call_three(&o);
		OK(philox_function_destroy(o.function));
	}
}

static enum philox_status read_rate(void *user, struct philox_run *run)
{
	struct outer *o = user;
	const void *rate;
	void *y;

	TRY(philox_run_param(run, 0, &rate));
	TRY(philox_run_alloc(run, 16, 0, "y", &y));
	TRY(philox_memory_copy(o->f->device, philox_run_stream(run), y, rate,
			       4));
	return philox_run_output(run, 0, y, 16);
}

static enum { RATE, WIDE, NOTHING, OUTSIDE, MADE } param;

static enum philox_status give_param(struct outer *o, struct philox_run *run)
{
	const void *cells[2];
	const void *cell;
	void *made;

	for (size_t i = 0; i < 2; i++)
		TRY(philox_run_param(run, i, &cells[i]));
	TRY(philox_run_alloc(run, 16, 0, "made", &made));
	TRY(philox_memory_set(o->f->device, philox_run_stream(run), made, 2,
			      16));
	cell = param == RATE      ? cells[0]
	       : param == WIDE    ? cells[1]
	       : param == NOTHING ? NULL
	       : param == OUTSIDE ? foreign
				  : made;
	o->call.inputs = NULL;
	o->call.n_inputs = 0;
	o->call.params = &cell;
	o->call.n_params = 1;
	o->call.n_outputs = 1;
	TRY(philox_run_call(run, other_function, &o->call));
	return philox_memory_copy(o->f->device, philox_run_stream(run), o->y,
				  o->outputs[0].address, 4);
}

RUNNER_PROMISE(runner_nested_rules, parameters_are_the_caller_s_or_its_memory)
{
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct outer o;

	make_outer(&o, f, r, give_param);
	o.passes = 0;
	foreign = make_words(f, 1);
	options.name = "rated";
	options.body = read_rate;
	options.user = &o;
	options.params = outer_params;
	options.n_params = 1;
	options.outputs = &outer_output;
	options.n_outputs = 1;
	OK(philox_function_create(r, &options, &other_function));
	for (param = WIDE; param <= OUTSIDE; param++) {
		FAILS(call_outer(&o), PHILOX_ERROR_INVALID);
		NAMES("parameter 'rate' of function 'rated', which its body "
		      "calls, ");
		NAMES(param == WIDE      ? "is of another size than the "
					   "parameter that is given"
		      : param == NOTHING ? "is at NULL"
					 : "is neither in memory of this run");
	}
	param = MADE;
	call_three(&o);
	cr_assert_eq(outer_y.word[0], 0x02020202u);
	OK(philox_function_destroy(o.function));
	options = outer_options(&o);
	OK(philox_function_create(r, &options, &o.function));
	param = RATE;
	call_three(&o);
	cr_assert_eq(outer_y.word[0], 7u);
}

/* x is one word beyond what is aligned, and comes back with another. */
static enum philox_status mutate(void *user, struct philox_run *run)
{
	struct layer *layer = user;
	struct philox_device *device = layer->f->device;
	philox_stream stream = philox_run_stream(run);
	size_t bytes;
	void *x, *y;

	TRY(philox_run_input(run, 0, &x, &bytes));
	cr_assert_eq((uintptr_t)x % 256, 0u);
	TRY(philox_run_alloc(run, BYTES, 0, "y", &y));
	TRY(philox_memory_copy(device, stream, y, x, bytes));
	TRY(philox_memory_set(device, stream, x, 9, bytes));
	TRY(philox_run_output(run, 0, y, BYTES));
	return philox_run_output(run, 1, y, 1);
}

static enum philox_status give_odd(struct outer *o, struct philox_run *run)
{
	philox_stream stream = philox_run_stream(run);
	void *memory, *again;

	TRY(philox_run_alloc(run, 2 * BYTES, 256, "memory", &memory));
	TRY(philox_memory_set(o->f->device, stream, memory, 3, BYTES));
	o->input = (struct philox_nested_array){(char *)memory + 4, 64};
	TRY(nest(o, run));
	TRY(philox_run_alloc(run, BYTES, 0, "again", &again));
	TRY(philox_memory_copy(o->f->device, stream, o->y, memory, 72));
	TRY(philox_memory_copy(o->f->device, stream, o->y + 72,
			       o->outputs[0].address, 64));
	TRY(philox_run_free(run, again));
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_nested_rules, inputs_that_are_not_aligned_are_copied)
{
	struct outer o;

	make_outer(&o, f, r, give_odd);
	o.passes = 0;
	make_reader(&o, "mutator",
		    PHILOX_INPUT_MUTATED | PHILOX_INPUT_WRITE_BACK, 256,
		    mutate);
	setenv("PHILOX_RUNNER", "", 1);
	for (int i = 0; i < 4; i++) {
		OK(call_outer(&o));
		cr_assert_eq(outer_y.word[0], 0x03030303u);
		cr_assert_eq(outer_y.word[1], 0x09090909u);
		cr_assert_eq(outer_y.word[16], 0x09090909u);
		cr_assert_eq(outer_y.word[17], 0x03030303u);
		cr_assert_eq(outer_y.word[18], 0x03030303u);
	}
	cr_assert_eq(outer_kind, PHILOX_CALL_REPLAY);
	unsetenv("PHILOX_RUNNER");
	make_reader(&o, "careless", PHILOX_INPUT_MUTATED, 256, mutate);
	OK(philox_function_destroy(o.function));
	{
		struct philox_function_desc options = outer_options(&o);

		OK(philox_function_create(r, &options, &o.function));
	}
	FAILS(call_outer(&o), PHILOX_ERROR_INVALID);
	NAMES("input 'x' of function 'careless', which its body calls, is "
	      "mutated, and is not aligned as it says");
}

/* --- memory that comes back --------------------------------------------------- */

static enum philox_status free_input(struct layer *layer,
				     struct philox_run *run)
{
	void *x;

	(void)layer;
	TRY(philox_run_input(run, 0, &x, NULL));
	return philox_run_free(run, x);
}

static enum philox_status give_own(struct outer *o, struct philox_run *run)
{
	o->input.address = o->y;
	return nest(o, run);
}

RUNNER_PROMISE(runner_nested_rules, a_body_within_frees_its_own_memory_alone)
{
	struct outer o;

	make_outer(&o, f, r, give_own);
	o.inner.hook = free_input;
	FAILS(call_outer(&o), PHILOX_ERROR_INVALID);
	NAMES("function 'inner': no memory that its body took begins at ");
}

/* The copy of an input is no memory that the body took. */
static enum philox_status free_copy(void *user, struct philox_run *run)
{
	void *x;

	(void)user;
	TRY(philox_run_input(run, 0, &x, NULL));
	return philox_run_free(run, x);
}

/* What was given to the caller is its own, and not what is around that. */
static enum philox_status give_on(void *user, struct philox_run *run)
{
	struct outer *o = user;

	o->input.address = o->y;
	return nest(o, run);
}

static enum philox_status call_giver(struct outer *o, struct philox_run *run)
{
	o->input = (struct philox_nested_array){o->x + 4, 64};
	return philox_run_call(run, other_function, &o->call);
}

RUNNER_PROMISE(runner_nested_rules, memory_within_is_of_one_body_alone)
{
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct outer o;

	make_outer(&o, f, r, call_giver);
	options = layer_options("giver", &o.inner);
	options.user = &o;
	options.body = give_on;
	OK(philox_function_create(r, &options, &other_function));
	FAILS(call_outer(&o), PHILOX_ERROR_INVALID);
	NAMES("function 'giver': input 'x' of function 'inner', which its body "
	      "calls, is neither in memory of this run nor in an input");
	make_reader(&o, "freer", 0, 256, free_copy);
	other_function = o.inner.function;
	FAILS(call_outer(&o), PHILOX_ERROR_INVALID);
	NAMES("function 'freer': no memory that its body took begins at ");
}

/* More in all than the pool may take, were it not free again. */
static enum philox_status call_often(struct outer *o, struct philox_run *run)
{
	for (int i = 0; i < 8; i++) {
		o->call.outputs = i % 2 ? o->outputs : NULL;
		o->call.n_outputs = i % 2 ? 2 : 0;
		TRY(nest(o, run));
		if (i % 2)
			for (int k = 0; k < 2; k++)
				TRY(philox_run_free(run,
						    o->outputs[k].address));
	}
	return PHILOX_OK;
}

static enum philox_status leave_much(struct layer *layer,
				     struct philox_run *run)
{
	void *left;

	(void)layer;
	return philox_run_alloc(run, 1 << 20, 0, "left", &left);
}

RUNNER_PROMISE(runner_nested_rules, memory_within_is_free_when_it_returns)
{
	struct philox_runner_desc options =
		PHILOX_INIT(struct philox_runner_desc);
	struct philox_runner *small;
	struct outer o;

	options.name = "small";
	options.pool_step = 1 << 20;
	options.pool_limit = 5 << 20;
	OK(philox_runner_create(f->context, &options, &small));
	make_outer(&o, f, small, call_often);
	o.inner.hook = leave_much;
	o.passes = 8;
	call_three(&o);
}

static enum philox_status pass_on(struct outer *o, struct philox_run *run)
{
	TRY(nest(o, run));
	TRY(philox_run_free(run, o->y));
	o->y = o->outputs[1].address; /* x */
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_nested_rules, an_output_within_may_be_the_caller_s_output)
{
	struct outer o;

	make_outer(&o, f, r, pass_on);
	for (int i = 0; i < 4; i++) {
		OK(call_outer(&o));
		SAME(outer_y, all_words(5), "call %d", i);
	}
	cr_assert_eq(outer_kind, PHILOX_CALL_REPLAY);
}

/* --- the list of passes ------------------------------------------------------- */

static enum {
	LISTED,
	TOO_FEW,
	TOO_MANY,
	WITH_FLAGS,
	BAD_FLAGS,
	UNKNOWN_TICKET,
	NO_LIST
} list;
static struct philox_ticket listed;

static enum philox_status give_list(struct outer *o, struct philox_run *run)
{
	struct philox_launch_pass passes[2] = {{.flags = 0}};

	o->call.passes = passes;
	o->call.n_passes = list == TOO_MANY ? 2 : list == TOO_FEW ? 0 : 1;
	if (list == WITH_FLAGS)
		passes[0].flags = PHILOX_PASS_RETAIN;
	if (list == BAD_FLAGS)
		passes[0].flags = PHILOX_PASS_INFERENCE;
	if (list == UNKNOWN_TICKET)
		passes[0].ticket = listed;
	if (list == NO_LIST)
		o->call.n_passes = 1, o->call.passes = NULL;
	TRY(nest(o, run));
	listed = passes[0].ticket;
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_nested_rules, lists_of_passes_fit_the_body_within)
{
	struct outer o;
	struct forward outside;

	make_outer(&o, f, r, give_list);
	list = LISTED;
	CALLED(&o, PHILOX_CALL_WARMUP);
	cr_assert_eq(listed.serial, outer_tickets[0].serial);
	cr_assert_eq(listed.region_key, outer_tickets[0].region_key);
	list = TOO_FEW;
	FAILS(call_outer(&o), PHILOX_ERROR_INVALID);
	NAMES("function 'inner': passes has 0 entries, but its body begins");
	list = TOO_MANY;
	FAILS(call_outer(&o), PHILOX_ERROR_INVALID);
	NAMES("function 'inner': passes has 2 entries, but its body took 1");
	list = WITH_FLAGS;
	FAILS(call_outer(&o), PHILOX_ERROR_INVALID);
	NAMES("function 'inner': entry 0 of passes is a forward's, and has "
	      "flags");
	list = BAD_FLAGS;
	FAILS(call_outer(&o), PHILOX_ERROR_INVALID);
	NAMES("function 'inner', pass 0: flags is 0x1, but a pass takes "
	      "PHILOX_PASS_RETAIN only");
	list = NO_LIST;
	FAILS(call_outer(&o), PHILOX_ERROR_INVALID);
	NAMES("function 'inner': passes is NULL");
	PENDING(o.inner.region, 0);
	/* a ticket of no pass of the caller's body */
	outside = forward(f, o.inner.region);
	listed = outside.ticket;
	list = UNKNOWN_TICKET;
	o.inner.backward = 1;
	{
		struct philox_function_desc options = outer_options(&o);

		OK(philox_function_destroy(o.function));
		OK(philox_function_create(r, &options, &o.function));
	}
	FAILS(call_outer(&o), PHILOX_ERROR_MISMATCH);
	NAMES("region 'in': the ticket is of no earlier pass of this body");
	PENDING(o.inner.region, 1);
}

static enum philox_status three_forwards(void *user, struct philox_run *run)
{
	struct layer *layer = user;
	struct philox_region *region = layer->region;
	struct philox_ticket first, last;
	struct philox_pass pass;

	TRY(philox_run_forward_begin(run, region, 0, &pass));
	TRY(philox_pass_commit(&pass, 0, &first));
	TRY(philox_run_backward_begin(run, region, first, 0, &pass));
	TRY(philox_pass_commit(&pass, 0, NULL));
	TRY(philox_run_forward_begin(run, region, PHILOX_PASS_INFERENCE,
				     &pass));
	TRY(philox_pass_commit(&pass, 0, NULL));
	TRY(philox_run_forward_begin(run, region, 0, &pass));
	return philox_pass_commit(&pass, 0, &last);
}

static struct philox_ticket three[4];

static enum philox_status list_three(struct outer *o, struct philox_run *run)
{
	struct philox_launch_pass passes[3] = {{.flags = 0}};

	o->call.inputs = NULL;
	o->call.outputs = NULL;
	o->call.n_inputs = o->call.n_outputs = 0;
	o->call.passes = passes;
	o->call.n_passes = 3;
	TRY(philox_run_call(run, other_function, &o->call));
	for (int i = 0; i < 3; i++)
		three[i] = passes[i].ticket;
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_nested_rules, lists_have_no_ticket_that_is_owed_nothing)
{
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct outer o;

	make_outer(&o, f, r, list_three);
	o.passes = 3;
	options.name = "three";
	options.body = three_forwards;
	options.user = &o.inner;
	OK(philox_function_create(r, &options, &other_function));
	for (uint32_t kind = PHILOX_CALL_WARMUP; kind <= PHILOX_CALL_REPLAY;
	     kind++) {
		CALLED(&o, kind);
		cr_assert(!three[0].serial && !three[1].serial);
		cr_assert(three[2].serial && outer_tickets[2].serial);
		cr_assert(kind != PHILOX_CALL_WARMUP ||
			  three[2].serial == outer_tickets[2].serial);
	}
}

/* The forward of "inner" is used up by a backward of a function. */
static struct layer back;

static enum philox_status there_and_back(struct outer *o,
					 struct philox_run *run)
{
	struct philox_launch_pass pass = {.flags = 0};
	struct philox_nested_array outputs[2];

	o->call.passes = &pass;
	o->call.n_passes = 1;
	TRY(nest(o, run));
	listed = pass.ticket;
	o->call.outputs = outputs;
	for (int i = 0; i < 2; i++) {
		pass.flags = i ? 0 : PHILOX_PASS_RETAIN;
		pass.ticket = listed;
		TRY(philox_run_call(run, back.function, &o->call));
	}
	TRY(philox_run_free(run, o->y));
	o->y = outputs[0].address;
	if (list == LISTED)
		return PHILOX_OK;
	pass.ticket = listed; /* it was used up */
	return philox_run_call(run, back.function, &o->call);
}

RUNNER_PROMISE(runner_nested_rules, a_backward_within_repeats_a_forward_within)
{
	struct outer o;

	make_outer(&o, f, r, there_and_back);
	back = (struct layer){
		.f = f, .runner = r, .region = o.inner.region, .backward = 1};
	make_function(&back, r, "back");
	list = LISTED;
	for (unsigned i = 0; i < 4; i++) {
		OK(call_outer(&o));
		SAME(outer_y, predict(0, "in", 4 * i), "call %u", i);
		cr_assert_eq(outer_tickets[0].serial, 0, "it was used up");
		PENDING(o.inner.region, 0);
	}
	cr_assert_eq(outer_kind, PHILOX_CALL_REPLAY);
	list = TOO_MANY;
	OK(philox_function_destroy(o.function));
	{
		struct philox_function_desc options = outer_options(&o);

		OK(philox_function_create(r, &options, &o.function));
	}
	FAILS(call_outer(&o), PHILOX_ERROR_RELEASED);
	NAMES("region 'in': the ticket was used up by an earlier backward");
	PENDING(o.inner.region, 0);
}

/* --- the script ----------------------------------------------------------------- */

static enum philox_status take_more(struct layer *layer, struct philox_run *run)
{
	void *more_memory;

	(void)layer;
	return philox_run_alloc(run, 8, 0, "more", &more_memory);
}

static enum philox_status maybe(struct outer *o, struct philox_run *run)
{
	return o->depth ? PHILOX_OK : nest(o, run);
}

RUNNER_PROMISE(runner_nested_rules, bodies_within_do_the_same_under_a_key)
{
	struct outer o;

	make_outer(&o, f, r, maybe);
	CALLED(&o, PHILOX_CALL_WARMUP);
	o.inner.hook = take_more;
	FAILS(call_outer(&o), PHILOX_ERROR_MISMATCH);
	NAMES("function 'outer': step 6 of its body is an allocation of 8 "
	      "bytes with alignment 0, but was a free of its allocation 3 in "
	      "earlier calls under this key");
	o.inner.hook = NULL;
	o.depth = 1;
	o.passes = 0;
	FAILS(call_outer(&o), PHILOX_ERROR_MISMATCH);
	NAMES("function 'outer': step 1 of its body is output 'y' of ");
	NAMES("but was a call of function 'inner' in earlier calls");
	o.depth = 0;
	o.passes = 1;
	CALLED(&o, PHILOX_CALL_RECORD);
}

RUNNER_PROMISE(runner_nested_rules, recordings_go_with_a_function_within)
{
	struct outer o;

	make_outer(&o, f, r, nest);
	call_three(&o);
	OK(philox_function_destroy(o.inner.function));
	o.inner.hook = take_more;
	make_function(&o.inner, r, "inner");
	for (int i = 0; i < 2; i++) {
		CALLED(&o, PHILOX_CALL_WARMUP);
		CALLED(&o, PHILOX_CALL_RECORD);
		cr_assert(strstr(philox_function_reason(o.function),
				 "a function that it calls was destroyed"),
			  "%s", philox_function_reason(o.function));
		CALLED(&o, PHILOX_CALL_REPLAY);
		OK(philox_function_destroy(o.inner.function));
		make_function(&o.inner, r, "inner");
	}
}

/* Functions that have not called one another since know it from a plan. */
RUNNER_PROMISE(runner_nested_rules, what_a_plan_says_goes_with_a_function_within)
{
	struct philox_runner_desc next = PHILOX_INIT(struct philox_runner_desc);
	struct philox_function_desc options;
	struct outer o;
	char *text;
	size_t size;

	make_outer(&o, f, r, nest);
	call_three(&o);
	OK(philox_plan_save_text(r, &text, &size));
	next.name = "next";
	OK(philox_runner_create(f->context, &next, &o.runner));
	make_function(&o.inner, o.runner, "inner");
	options = outer_options(&o);
	OK(philox_function_create(o.runner, &options, &o.function));
	OK(philox_plan_load_text(o.runner, text, size));
	free(text);
	OK(philox_function_destroy(o.inner.function));
	o.inner.hook = take_more;
	make_function(&o.inner, o.runner, "inner");
	CALLED(&o, PHILOX_CALL_WARMUP);
	OK(philox_runner_destroy(o.runner));
}

/* --- runs ------------------------------------------------------------------------- */

static struct philox_run *old_run;

static enum philox_status keep_run(struct outer *o, struct philox_run *run)
{
	(void)o;
	old_run = run;
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_nested_rules, nothing_is_called_without_a_body)
{
	struct outer o;

	make_outer(&o, f, r, keep_run);
	o.passes = 0;
	FAILS(philox_run_call(NULL, o.inner.function, &o.call),
	      PHILOX_ERROR_INVALID);
	NAMES("run is NULL");
	OK(call_outer(&o));
	FAILS(philox_run_call(old_run, o.inner.function, &o.call),
	      PHILOX_ERROR_STATE);
	NAMES("no body of it is running on this thread");
}

static enum philox_status wrong_counts(struct outer *o, struct philox_run *run)
{
	o->call.n_inputs = o->depth == 0 ? 0 : 1;
	o->call.n_params = o->depth == 1;
	o->call.n_outputs = o->depth == 2 ? 1 : 2;
	if (o->depth == 3)
		o->call.inputs = NULL;
	if (o->depth == 4)
		o->call.size = 8;
	return o->depth == 5 ? philox_run_call(run, o->inner.function, NULL)
			     : nest(o, run);
}

RUNNER_PROMISE(runner_nested_rules, calls_within_have_what_the_function_has)
{
	static const char *const messages[] = {
		"function 'inner' has 1 input, not 0",
		"function 'inner' has 0 parameters, not 1",
		"function 'inner' has 2 outputs, not 1",
		"function 'inner': inputs is NULL",
		"call: size is 8",
		"call is NULL"};
	struct outer o;

	make_outer(&o, f, r, wrong_counts);
	for (o.depth = 0; o.depth < 6; o.depth++) {
		FAILS(call_outer(&o), PHILOX_ERROR_INVALID);
		NAMES(messages[o.depth]);
	}
}
