/*
 * tests/runner/calls/nested.c - a program whose body calls functions draws the
 * numbers, and gets the tickets, of the same program with these lines in place,
 * in whatever kind of call
 */
#include <stdlib.h>
#include "tests/support/beds/runner.h"

TestSuite(runner_nested, .timeout = 120);

enum { BYTES = WORDS * sizeof(uint32_t), OUTPUTS = 6, PASSES = 3 };

#define TRY(call)                                   \
	do {                                        \
		enum philox_status tried_ = (call); \
		if (tried_ != PHILOX_OK)            \
			return tried_;              \
	} while (0)

/*
 * One of the two programs: a context with its runner. Its function "outer"
 * draws a forward of its own, a forward of "in" with a recompute in its lines,
 * a backward of "in" that each call names, and a recompute of this call's
 * forward of "in". What concerns "in" is in the functions "inner" and "back",
 * or in place.
 */
struct program {
	struct fixture *f;
	struct philox_context *context;
	struct philox_runner *runner;
	struct philox_region *own, *in;
	struct philox_function *outer, *inner, *back, *between;
	int flat, deep; /* "inner" is called by "between" */
	unsigned fail;  /* where the body fails; 0: it does not */
	unsigned bodies;
};

/* What came of one call. */
struct step {
	enum philox_status status;
	uint32_t kind;
	struct philox_ticket own, in;
	struct numbers saw[OUTPUTS];
};

/* --- lines that are in a function, or in place ---------------------------- */

static enum philox_status fails_at(const struct program *p, unsigned place)
{
	return p->fail == place ? PHILOX_ERROR_INVALID : PHILOX_OK;
}

/* Two outputs of numbers, one of the rate and x. */
static enum philox_status inner_lines(struct program *p, struct philox_run *run,
				      void *x, const void *rate, void *y[3],
				      struct philox_ticket *ticket)
{
	struct philox_device *device = p->f->device;
	philox_stream stream = philox_run_stream(run);
	struct philox_pass pass;
	void *between, *left;

	for (int i = 0; i < 3; i++)
		TRY(philox_run_alloc(run, BYTES, 0, "inner", &y[i]));
	TRY(philox_run_alloc(run, BYTES, 0, "between", &between));
	TRY(philox_run_alloc(run, 4096, 0, "left", &left));
	TRY(philox_run_forward_begin(run, p->in, 0, &pass));
	TRY(draw_or_fail(&pass, y[0]));
	TRY(fails_at(p, 2));
	TRY(philox_pass_commit(&pass, 0, ticket));
	TRY(philox_run_backward_begin(run, p->in, *ticket, PHILOX_PASS_RETAIN,
				      &pass));
	TRY(draw_or_fail(&pass, y[1]));
	TRY(philox_pass_commit(&pass, 0, NULL));
	TRY(philox_memory_copy(device, stream, between, x, BYTES));
	TRY(philox_memory_copy(device, stream, y[2], between, BYTES));
	TRY(philox_memory_copy(device, stream, y[2], rate, 4));
	return philox_run_free(run, between);
}

static enum philox_status back_lines(struct program *p, struct philox_run *run,
				     struct philox_ticket ticket,
				     unsigned flags, void **y)
{
	struct philox_pass pass;

	TRY(philox_run_alloc(run, BYTES, 0, "back", y));
	TRY(fails_at(p, 3));
	TRY(philox_run_backward_begin(run, p->in, ticket, flags, &pass));
	TRY(draw_or_fail(&pass, *y));
	return philox_pass_commit(&pass, 0, NULL);
}

/* --- functions ------------------------------------------------------------ */

static enum philox_status inner_body(void *user, struct philox_run *run)
{
	struct program *p = user;
	struct philox_ticket ticket;
	const void *rate;
	void *x, *y[3];
	size_t bytes;

	TRY(philox_run_input(run, 0, &x, &bytes));
	cr_assert_eq(bytes, (size_t)BYTES);
	TRY(philox_run_param(run, 0, &rate));
	TRY(inner_lines(p, run, x, rate, y, &ticket));
	for (size_t i = 0; i < 3; i++)
		TRY(philox_run_output(run, i, y[i], BYTES));
	return PHILOX_OK;
}

/* The zero ticket is the caller's, whoever that is. */
static enum philox_status back_body(void *user, struct philox_run *run)
{
	struct program *p = user;
	void *y;

	TRY(back_lines(p, run, (struct philox_ticket){0}, 0, &y));
	return philox_run_output(run, 0, y, BYTES);
}

/* A function between, which has what "inner" has. */
static enum philox_status between_body(void *user, struct philox_run *run)
{
	struct philox_nested_call call = PHILOX_INIT(struct philox_nested_call);
	struct philox_nested_array x, y[3];
	struct program *p = user;
	const void *rate;

	TRY(philox_run_input(run, 0, &x.address, &x.bytes));
	TRY(philox_run_param(run, 0, &rate));
	call.inputs = &x;
	call.n_inputs = 1;
	call.params = &rate;
	call.n_params = 1;
	call.outputs = y;
	call.n_outputs = 3;
	TRY(philox_run_call(run, p->inner, &call));
	for (size_t i = 0; i < 3; i++)
		TRY(philox_run_output(run, i, y[i].address, y[i].bytes));
	return PHILOX_OK;
}

static enum philox_status call_inner(struct program *p, struct philox_run *run,
				     void *x, const void *rate, void *y[3],
				     struct philox_ticket *ticket)
{
	struct philox_nested_call call = PHILOX_INIT(struct philox_nested_call);
	struct philox_nested_array input = {x, BYTES}, outputs[3];
	struct philox_launch_pass pass = {.flags = 0};

	call.inputs = &input;
	call.n_inputs = 1;
	call.params = &rate;
	call.n_params = 1;
	call.passes = &pass;
	call.n_passes = 1;
	call.outputs = outputs;
	call.n_outputs = 3;
	TRY(philox_run_call(run, p->deep ? p->between : p->inner, &call));
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(outputs[i].bytes, (size_t)BYTES);
		y[i] = outputs[i].address;
	}
	*ticket = pass.ticket;
	return PHILOX_OK;
}

static enum philox_status call_back(struct program *p, struct philox_run *run,
				    struct philox_ticket ticket, unsigned flags,
				    void **y)
{
	struct philox_nested_call call = PHILOX_INIT(struct philox_nested_call);
	struct philox_launch_pass pass = {.ticket = ticket, .flags = flags};
	struct philox_nested_array output;

	if (ticket.serial) {
		call.passes = &pass;
		call.n_passes = 1;
	}
	call.outputs = &output;
	call.n_outputs = 1;
	TRY(philox_run_call(run, p->back, &call));
	*y = output.address;
	return PHILOX_OK;
}

static enum philox_status outer_body(void *user, struct philox_run *run)
{
	const struct philox_ticket none = {0};
	struct program *p = user;
	struct philox_ticket ticket, own;
	struct philox_pass pass;
	const void *rate;
	void *x, *h, *y[OUTPUTS];

	p->bodies++;
	TRY(philox_run_input(run, 0, &x, NULL));
	TRY(philox_run_param(run, 0, &rate));
	TRY(philox_run_alloc(run, BYTES, 0, "own", &y[0]));
	TRY(philox_run_alloc(run, BYTES, 0, "h", &h));
	TRY(philox_memory_copy(p->f->device, philox_run_stream(run), h, x,
			       BYTES));
	TRY(philox_run_forward_begin(run, p->own, 0, &pass));
	TRY(draw_or_fail(&pass, y[0]));
	TRY(philox_pass_commit(&pass, 0, &own));
	TRY(fails_at(p, 1));
	TRY(p->flat ? inner_lines(p, run, h, rate, &y[1], &ticket)
		    : call_inner(p, run, h, rate, &y[1], &ticket));
	TRY(p->flat ? back_lines(p, run, none, 0, &y[4])
		    : call_back(p, run, none, 0, &y[4]));
	TRY(p->flat ? back_lines(p, run, ticket, PHILOX_PASS_RETAIN, &y[5])
		    : call_back(p, run, ticket, PHILOX_PASS_RETAIN, &y[5]));
	TRY(fails_at(p, 4));
	TRY(philox_run_free(run, h));
	for (size_t i = 0; i < OUTPUTS; i++)
		TRY(philox_run_output(run, i, y[i], BYTES));
	return PHILOX_OK;
}

/* --- programs --------------------------------------------------------------- */

static const struct philox_input_desc x_desc = {.name = "x"};
static const struct philox_param_desc rate_desc = {.name = "rate", .bytes = 4};
static const struct philox_output_desc output_descs[OUTPUTS] = {
	{.name = "0"}, {.name = "1"}, {.name = "2"},
	{.name = "3"}, {.name = "4"}, {.name = "5"}};

static struct philox_function *make_function_in(
	struct program *p, const char *name,
	enum philox_status (*body)(void *, struct philox_run *), size_t takes,
	size_t gives, const struct philox_policy *policy)
{
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_function *function;

	options.name = name;
	options.body = body;
	options.user = p;
	options.inputs = &x_desc;
	options.n_inputs = takes;
	options.params = &rate_desc;
	options.n_params = takes;
	options.outputs = output_descs;
	options.n_outputs = gives;
	if (policy)
		options.policy = *policy;
	OK(philox_function_create(p->runner, &options, &function));
	return function;
}

static void make_program_runner(struct program *p,
				const struct philox_policy *policy)
{
	struct philox_runner_desc options =
		PHILOX_INIT(struct philox_runner_desc);

	options.name = "nested or flat";
	OK(philox_runner_create(p->context, &options, &p->runner));
	p->outer = make_function_in(p, "outer", outer_body, 1, OUTPUTS, policy);
	if (p->flat)
		return;
	p->inner = make_function_in(p, "inner", inner_body, 1, 3, NULL);
	p->back = make_function_in(p, "back", back_body, 0, 1, NULL);
	p->between = make_function_in(p, "between", between_body, 1, 3, NULL);
}

static void open_program(struct program *p, struct fixture *f, int flat,
			 const struct philox_policy *policy)
{
	*p = (struct program){.f = f, .flat = flat};
	OK(philox_context_create(f->device, &p->context));
	p->own = make_region_of(p->context, "own", 0, NULL);
	p->in = make_region_of(p->context, "in", 0, NULL);
	make_program_runner(p, policy);
}

static void close_program(struct program *p)
{
	OK(philox_context_destroy(p->context));
}

/* The ticket of the step before, which this one uses up. */
static struct step make_step(struct program *p, void *x,
			     struct philox_ticket before, uint32_t rate,
			     int keep)
{
	const struct philox_call_input input = {.address = x, .bytes = BYTES};
	const struct philox_call_param param = {&rate, 4};
	struct philox_launch_pass passes[PASSES] = {
		[2].ticket = before, [2].flags = keep ? PHILOX_PASS_RETAIN : 0};
	struct philox_output outputs[OUTPUTS];
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct step step = {0};

	call.stream = p->f->stream;
	call.inputs = &input;
	call.n_inputs = 1;
	call.params = &param;
	call.n_params = 1;
	call.passes = passes;
	call.n_passes = PASSES;
	call.outputs = outputs;
	call.n_outputs = OUTPUTS;
	step.status = philox_function_call(p->outer, &call);
	if (step.status != PHILOX_OK)
		return step;
	step.kind = call.kind;
	step.own = passes[0].ticket;
	step.in = passes[1].ticket;
	for (int i = 0; i < OUTPUTS; i++) {
		step.saw[i] = read_numbers(p->f, outputs[i].address);
		OK(philox_output_release(p->runner, p->f->stream, &outputs[i]));
	}
	OK(philox_ticket_release(p->own, p->f->stream, step.own));
	return step;
}

static int same_ticket(struct philox_ticket a, struct philox_ticket b)
{
	return a.region_key == b.region_key && a.serial == b.serial;
}

static void same_step(const struct step *flat, const struct step *nested,
		      unsigned i)
{
	cr_assert(flat->status == nested->status, "step %u: %s, flat %s", i,
		  philox_status_name(nested->status),
		  philox_status_name(flat->status));
	cr_assert(flat->kind == nested->kind, "step %u: kind %u, flat %u", i,
		  nested->kind, flat->kind);
	cr_assert(same_ticket(flat->own, nested->own) &&
			  same_ticket(flat->in, nested->in),
		  "step %u: other tickets", i);
	for (int k = 0; k < OUTPUTS; k++)
		SAME(flat->saw[k], nested->saw[k], "step %u, output %d", i, k);
}

/* The first ticket is of a forward that no runner knows. */
static struct philox_ticket first_ticket(struct program *p)
{
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin(p->in, p->f->stream, 0, &pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
	return ticket;
}

enum { STEPS = 10 };

/* Kinds seen, as bits. */
static unsigned run_both(struct fixture *f, struct program *flat,
			 struct program *nested, const unsigned *fails)
{
	void *x[2] = {make_words(f, 3), make_words(f, 4)};
	struct philox_ticket of_flat = first_ticket(flat);
	struct philox_ticket of_nested = first_ticket(nested);
	unsigned kinds = 0;

	for (unsigned i = 0; i < STEPS; i++) {
		void *at = x[i % 7 == 6];
		const int keep = i % 3 == 2;
		struct step one, other;

		flat->fail = nested->fail = fails ? fails[i] : 0;
		one = make_step(flat, at, of_flat, 100 + i, keep);
		other = make_step(nested, at, of_nested, 100 + i, keep);
		same_step(&one, &other, i);
		if (one.status != PHILOX_OK)
			continue;
		kinds |= 1u << one.kind;
		/* a recompute saw what its forward saw, and so on */
		SAME(one.saw[1], one.saw[2], "step %u", i);
		SAME(one.saw[1], one.saw[5], "step %u", i);
		cr_assert_eq(one.saw[3].word[0], 100 + i);
		if (keep)
			OK(philox_ticket_release(flat->in, f->stream, of_flat));
		if (keep)
			OK(philox_ticket_release(nested->in, f->stream,
						 of_nested));
		of_flat = one.in;
		of_nested = other.in;
	}
	OK(philox_ticket_release(flat->in, f->stream, of_flat));
	OK(philox_ticket_release(nested->in, f->stream, of_nested));
	cr_assert_eq(flat->bodies, nested->bodies);
	return kinds;
}

#define BIT(kind) (1u << PHILOX_CALL_##kind)

static unsigned compare(struct fixture *f, const struct philox_policy *policy,
			const unsigned *fails, int deep)
{
	struct program flat, nested;
	unsigned kinds;

	open_program(&flat, f, 1, policy);
	open_program(&nested, f, 0, policy);
	nested.deep = deep;
	kinds = run_both(f, &flat, &nested, fails);
	close_program(&flat);
	close_program(&nested);
	return kinds;
}

/* --- the same numbers, tickets and kinds ------------------------------------ */

RUNNER_PROMISE(runner_nested, programs_draw_what_flat_ones_do)
{
	for (int deep = 0; deep < 2; deep++)
		cr_assert_eq(compare(f, NULL, NULL, deep),
			     BIT(WARMUP) | BIT(RECORD) | BIT(REPLAY));
}

RUNNER_PROMISE(runner_nested, programs_are_warmed_up_dry_like_flat_ones)
{
	const struct philox_policy policy = {.dry = 2, .warmups = PHILOX_NEVER};

	for (int deep = 0; deep < 2; deep++)
		cr_assert_eq(compare(f, &policy, NULL, deep),
			     BIT(RECORD) | BIT(REPLAY));
}

RUNNER_PROMISE(runner_nested, programs_are_eager_like_flat_ones)
{
	setenv("PHILOX_RUNNER", "eager", 1);
	cr_assert_eq(compare(f, NULL, NULL, 0), BIT(EAGER));
	cr_assert_eq(compare(f, NULL, NULL, 1), BIT(EAGER));
	unsetenv("PHILOX_RUNNER");
}

RUNNER_PROMISE(runner_nested, programs_that_fail_in_the_middle_change_nothing)
{
	/* in each place, in each kind of call */
	static const unsigned fails[5][STEPS] = {
		{1, 0, 2, 0, 0, 0, 3, 0, 0, 0},
		{2, 0, 3, 0, 0, 0, 4, 0, 0, 0},
		{3, 0, 4, 0, 0, 0, 1, 0, 0, 0},
		{4, 0, 1, 0, 0, 0, 2, 0, 0, 0},
		{4, 3, 2, 1, 0, 0, 0, 0, 0, 0}};

	for (int i = 0; i < 5; i++)
		for (int deep = 0; deep < 2; deep++)
			compare(f, NULL, fails[i], deep);
}

RUNNER_PROMISE(runner_nested, programs_are_verified_like_flat_ones)
{
	struct philox_function_stats counts =
		PHILOX_INIT(struct philox_function_stats);
	struct program flat, nested;

	setenv("PHILOX_RUNNER", "verify", 1);
	for (int deep = 0; deep < 2; deep++) {
		open_program(&flat, f, 1, NULL);
		open_program(&nested, f, 0, NULL);
		nested.deep = deep;
		cr_assert(run_both(f, &flat, &nested, NULL) & BIT(REPLAY));
		OK(philox_function_get_stats(nested.outer, &counts));
		cr_assert(counts.verified > 4 && !counts.differed &&
			  !counts.unverified);
		OK(philox_function_get_stats(nested.inner, &counts));
		cr_assert_eq(counts.nested, nested.bodies);
		close_program(&flat);
		close_program(&nested);
	}
	unsetenv("PHILOX_RUNNER");
}

/* A plan has the steps of both, and the next runner decides as this would. */
RUNNER_PROMISE(runner_nested, programs_are_planned_like_flat_ones)
{
	struct program programs[2];
	char *text;
	size_t size;

	for (int i = 0; i < 2; i++) {
		struct program *p = &programs[i];

		open_program(p, f, i == 0, NULL);
		for (int k = 0; k < 4; k++) {
			struct philox_ticket ticket = first_ticket(p);
			struct step step =
				make_step(p, make_words(f, 1), ticket, 1, 0);

			OK(step.status);
			OK(philox_ticket_release(p->in, f->stream, step.in));
		}
		OK(philox_plan_save_text(p->runner, &text, &size));
		if (i)
			cr_assert(strstr(text, "\nstep call \"inner\"\n") &&
					  strstr(text,
						 "\nstep reads \"rate\"\n") &&
					  strstr(text,
						 "\nstep gives \"2\" bytes ") &&
					  strstr(text,
						 "\nstep return \"inner\"\n"),
				  "%s", text);
		OK(philox_runner_destroy(p->runner));
		make_program_runner(p, NULL);
		p->bodies = 0;
		OK(philox_plan_load_text(p->runner, text, size));
		free(text);
	}
	cr_assert(run_both(f, &programs[0], &programs[1], NULL) & BIT(REPLAY));
	for (int i = 0; i < 2; i++)
		close_program(&programs[i]);
}

RUNNER_PROMISE(runner_nested, runs_are_counted_apart)
{
	struct philox_function_stats counts =
		PHILOX_INIT(struct philox_function_stats);
	struct program flat, nested;

	open_program(&flat, f, 1, NULL);
	open_program(&nested, f, 0, NULL);
	run_both(f, &flat, &nested, NULL);
	OK(philox_function_get_stats(nested.outer, &counts));
	cr_assert(counts.bodies == nested.bodies && counts.nested == 0);
	OK(philox_function_get_stats(nested.inner, &counts));
	cr_assert(counts.nested == nested.bodies &&
		  counts.bodies == counts.nested && counts.keys == 0);
	cr_assert(!counts.eager && !counts.warmup && !counts.record);
	OK(philox_function_get_stats(nested.back, &counts));
	cr_assert_eq(counts.nested, 2 * nested.bodies);
	close_program(&flat);
	close_program(&nested);
}
