/*
 * tests/support/beds/runner_scene.c - see tests/support/beds/runner_scene.h
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include "tests/support/beds/runner_scene.h"

enum { BYTES = WORDS * sizeof(uint32_t) };

/* --- layers --------------------------------------------------------------- */

void make_function_under(struct layer *layer, struct philox_runner *r,
			 const char *name, const struct philox_policy *policy)
{
	struct philox_function_desc options = layer_options(name, layer);

	options.policy = *policy;
	make_function_of(layer, r, &options);
}

void make_duo(struct fixture *f, struct philox_runner *r, struct duo *duo)
{
	duo->x = make_words(f, 3);
	duo->forth = make_layer(f, r, "layer");
	duo->back = duo->forth;
	duo->back.backward = 1;
	make_function(&duo->forth, r, "forth");
	make_function(&duo->back, r, "back");
}

struct layer_call made_call(struct layer *layer, const void *x, uint32_t key)
{
	struct layer_call call = new_call(layer, x, key);

	OK(try_call(layer, &call));
	return call;
}

struct layer_call made_call_on(struct layer *layer,
			       const struct layer_call *from, int i)
{
	struct layer_call call = new_call(layer, from->outputs[i].address, 0);

	call.x.output = &from->outputs[i];
	OK(try_call(layer, &call));
	return call;
}

struct layer_call made_backward(struct layer *layer,
				const struct layer_call *of, uint32_t flags)
{
	struct layer_call call = new_call(layer, of->outputs[1].address, 0);

	call.x.output = &of->outputs[1];
	call.use.ticket = of->use.ticket;
	call.use.flags = flags;
	OK(try_call(layer, &call));
	return call;
}

void plain_backward(struct layer *layer, struct philox_ticket ticket,
		    philox_stream stream, unsigned flags)
{
	struct philox_pass pass;

	OK(philox_backward_begin(layer->region, stream, ticket, flags, &pass));
	OK(philox_pass_commit(&pass, 0, NULL));
}

void let_go(struct layer *layer, const struct layer_call *call)
{
	OK(philox_ticket_release(layer->region, layer->f->stream,
				 call->use.ticket));
}

void settle(struct layer *layer, const void *x, uint32_t key)
{
	for (int i = 0; i < 4; i++)
		kind_of_call(layer, x, key);
	KIND(layer, x, key, PHILOX_CALL_REPLAY);
}

void tie_outputs(struct layer *layer, const struct layer_call *call,
		 struct philox_region *region, struct philox_ticket ticket)
{
	for (int i = 0; i < 2; i++)
		OK(philox_output_tie(layer->runner, &call->outputs[i], region,
				     ticket));
}

enum philox_status try_prepare(struct layer *layer, struct layer_call *calls,
			       size_t n, size_t *prepared)
{
	struct philox_call list[16];
	enum philox_status status;

	cr_assert_leq(n, 16);
	for (size_t i = 0; i < n; i++) {
		list[i] = calls[i].call;
		list[i].inputs = &calls[i].x;
		list[i].outputs = NULL;
		list[i].n_outputs = 0;
		list[i].passes = NULL;
	}
	status = philox_function_prepare(layer->function, list, n, prepared);
	for (size_t i = 0; i < n; i++)
		calls[i].call.kind = list[i].kind;
	return status;
}

struct philox_region *make_region_with(struct fixture *f, const char *name,
				       uint32_t pending, uint32_t flags)
{
	const struct philox_op_desc ops[OPS] = {
		{"first", 0, 0}, {"second", 2, 0}, {"third", 1, 4}};
	struct philox_region_desc options =
		PHILOX_INIT(struct philox_region_desc);
	struct philox_region *region;

	options.name = name;
	options.ops = ops;
	options.n_ops = OPS;
	options.pending = pending;
	options.flags = flags;
	OK(philox_region_create(f->context, &options, &region));
	return region;
}

static enum philox_status do_nothing(void *user, struct philox_run *run)
{
	(void)user;
	(void)run;
	return PHILOX_OK;
}

uint64_t live_blocks(struct fixture *f, struct philox_runner *r)
{
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_function *function;

	options.name = "nothing";
	options.body = do_nothing;
	options.flags = PHILOX_FUNCTION_EAGER;
	OK(philox_function_create(r, &options, &function));
	call.stream = f->stream;
	OK(philox_function_call(function, &call));
	OK(philox_function_destroy(function));
	return pool_look(philox_runner_pool(r)).blocks;
}

int good_outputs(struct philox_runner *r, const struct layer_call *call)
{
	int good = 0;

	for (int i = 0; i < 2; i++) {
		enum philox_status status =
			philox_output_check(r, &call->outputs[i]);

		cr_assert(status == PHILOX_OK || status == PHILOX_ERROR_STALE,
			  "%s", philox_error_message());
		good += status == PHILOX_OK;
	}
	return good;
}

/* --- rich bodies ---------------------------------------------------------- */

#define TRY(call)                          \
	do {                               \
		enum philox_status tried_; \
                                           \
		tried_ = (call);           \
		if (tried_ != PHILOX_OK)   \
			return tried_;     \
	} while (0)

static enum philox_status draw_rich(struct rich *rich, struct philox_run *run,
				    void *y[4])
{
	struct philox_ticket none = {0, 0}, made, named;
	struct philox_pass pass;

	TRY(philox_run_forward_begin(run, rich->own, rich->flags, &pass));
	TRY(draw_or_fail(&pass, y[0]));
	TRY(philox_pass_commit(&pass, 0, &made));
	TRY(philox_run_backward_begin(run, rich->other, none,
				      rich->flags | PHILOX_PASS_RETAIN, &pass));
	TRY(philox_pass_ticket(&pass, &named));
	TRY(draw_or_fail(&pass, y[2]));
	TRY(philox_pass_commit(&pass, 0, NULL));
	TRY(philox_run_backward_begin(run, rich->own, made, rich->flags,
				      &pass));
	TRY(draw_or_fail(&pass, y[1]));
	TRY(philox_pass_commit(&pass, 0, NULL));
	TRY(philox_run_backward_begin(run, rich->other, named, rich->flags,
				      &pass));
	TRY(draw_or_fail(&pass, y[3]));
	return philox_pass_commit(&pass, 0, NULL);
}

static enum philox_status rich_body(void *user, struct philox_run *run)
{
	struct rich *rich = user;
	uint32_t *const *seen = rich->seen[rich->bodies++ % RICH_RUNS];
	void *y[4];

	for (int i = 0; i < 4; i++)
		TRY(philox_run_alloc(run, BYTES, 0, "y", &y[i]));
	TRY(draw_rich(rich, run, y));
	for (size_t i = 0; i < 4; i++) {
		TRY(philox_memory_copy(rich->f->device, philox_run_stream(run),
				       seen[i], y[i], BYTES));
		TRY(philox_run_output(run, i, y[i], BYTES));
	}
	return PHILOX_OK;
}

void make_rich(struct rich *rich, struct philox_runner *r, const char *name,
	       const struct philox_policy *policy)
{
	static const struct philox_output_desc outputs[] = {
		{.name = "forward"},
		{.name = "backward"},
		{.name = "named"},
		{.name = "named again"}};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);

	options.name = name;
	options.body = rich_body;
	options.user = rich;
	options.outputs = outputs;
	options.n_outputs = 4;
	options.policy = *policy;
	rich->runner = r;
	rich->bodies = 0;
	for (int i = 0; i < RICH_RUNS && !rich->seen[RICH_RUNS - 1][3]; i++)
		for (int k = 0; k < 4; k++)
			rich->seen[i][k] = make_array(rich->f);
	OK(philox_function_create(r, &options, &rich->function));
	rich->call = PHILOX_INIT(struct philox_call);
	rich->call.stream = rich->f->stream;
	rich->call.passes = rich->uses;
	rich->call.n_passes = 2;
	rich->call.outputs = rich->outputs;
	rich->call.n_outputs = 4;
}

void call_rich(struct rich *rich, const struct forward *of, uint32_t flags,
	       enum philox_call_kind kind)
{
	struct fixture *f = rich->f;
	struct numbers next = peek(f, rich->own);
	size_t before = pending(rich->other);

	rich->uses[0] = (struct philox_launch_pass){{5, 5}, 0, 0};
	rich->uses[1] = (struct philox_launch_pass){of->ticket, flags, 0};
	OK(philox_function_call(rich->function, &rich->call));
	cr_assert(!kind || rich->call.kind == (uint32_t)kind,
		  "kind %u, not %d: %s", rich->call.kind, kind,
		  philox_function_reason(rich->function));
	cr_assert_eq(rich->uses[0].ticket.serial, 0, "used up in the body");
	for (int i = 0; i < 4; i++) {
		SAME(read_numbers(f, rich->outputs[i].address),
		     i < 2 ? next : of->saw, "output %d", i);
		OK(philox_output_release(rich->runner, f->stream,
					 &rich->outputs[i]));
	}
	PENDING(rich->own, 0);
	PENDING(rich->other, before - (flags & PHILOX_PASS_RETAIN ? 0 : 1));
	FRESH(peek(f, rich->own), next, "the next forward");
}

/* --- slow streams --------------------------------------------------------- */

static void on_slow_runner(const char *device, uint32_t flags,
			   void (*promise)(struct fixture *,
					   struct philox_runner *))
{
	struct fixture f;

	fixture_open(&f, device);
	promise(&f, make_runner_of(&f, "runner", flags));
	fixture_close(&f);
}

void on_slow_runners(void (*promise)(struct fixture *f,
				     struct philox_runner *r))
{
	on_slow_runner("host", 0, promise);
	on_slow_runner("host:strict", PHILOX_POOL_EXPANDABLE, promise);
}

static void sleep_a_while(const void *args)
{
	const struct timespec while_ = {0, 30000000};

	(void)args;
	nanosleep(&while_, NULL);
}

void delay(struct fixture *f, philox_stream stream)
{
	OK(philox_stream_launch_host(f->device, stream, sleep_a_while, "", 1));
}

/* --- threads -------------------------------------------------------------- */

struct errand {
	void (*fn)(void *user);
	void *user;
};

static void *run_errand(void *user)
{
	struct errand *errand = user;

	errand->fn(errand->user);
	return NULL;
}

void on_thread(void (*fn)(void *user), void *user)
{
	struct errand errand = {fn, user};
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, run_errand, &errand), 0);
	pthread_join(thread, NULL);
}

struct outcome outcome_of(enum philox_status status)
{
	struct outcome outcome = {.status = status};

	if (status != PHILOX_OK)
		snprintf(outcome.message, sizeof(outcome.message), "%s",
			 philox_error_message());
	return outcome;
}
