/*
 * tests/runner/outputs/step_paths.c - outputs of paths whose backward is still
 * owed
 */
#include "tests/support/beds/runner_scene.h"

enum { BYTES = WORDS * sizeof(uint32_t) };

/* --- paths whose backward is owed ----------------------------------------- */

/* a gives its output to b; c is another path. */
RUNNER_PROMISE(runner_step_paths, keep_the_outputs_of_a_path_that_has_not_ended)
{
	struct layer a = make_layer(f, r, "a"), b = make_layer(f, r, "b"),
		     c = make_layer(f, r, "c");
	uint32_t *x = make_words(f, 3);

	make_function(&a, r, "a");
	make_function(&b, r, "b");
	make_function(&c, r, "c");
	for (unsigned i = 0; i < 6; i++) {
		int owes_b = i % 2; /* b's ticket keeps it, or a's */
		struct layer_call first = made_call(&a, x, 0);
		struct layer_call second = made_call_on(&b, &first, 1);
		struct layer_call alone = made_call(&c, x, 0);
		struct layer_call *owed = owes_b ? &second : &first;
		struct layer *owner = owes_b ? &b : &a;

		let_go(&c, &alone);
		let_go(owes_b ? &a : &b, owes_b ? &first : &second);
		STEP(r, f->stream, 4);
		GOOD(r, &first);
		GOOD(r, &second);
		OVER(r, &alone);
		alone = made_call(&c, x, 0);
		let_go(&c, &alone);
		STEP(r, f->stream, 4);
		SAME(read_numbers(f, first.outputs[0].address),
		     predict(0, "a", 4 * i), "step %u", i);
		SAME(read_numbers(f, second.outputs[1].address), all_words(3),
		     "step %u", i);
		if (i % 3)
			plain_backward(owner, owed->use.ticket, f->stream, 0);
		else
			let_go(owner, owed);
		GOOD(r, &first);
		STEP(r, f->stream, 0);
		OVER(r, &first);
		OVER(r, &second);
	}
	LIVE(f, r, 0);
}

static enum philox_status do_nothing(void *user, struct philox_run *run)
{
	(void)user;
	(void)run;
	return PHILOX_OK;
}

static struct philox_function *make_joining(struct philox_runner *r)
{
	static const struct philox_input_desc inputs[] = {
		{.name = "one", .kind = PHILOX_INPUT_COPIED},
		{.name = "other", .kind = PHILOX_INPUT_COPIED}};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_function *function;

	options.name = "joining";
	options.body = do_nothing;
	options.inputs = inputs;
	options.n_inputs = 2;
	OK(philox_function_create(r, &options, &function));
	return function;
}

/* A call that reads outputs of both fails: they are on no path together. */
RUNNER_PROMISE(runner_step_paths, of_a_call_that_failed_are_not_joined)
{
	struct layer a = make_layer(f, r, "a"), c = make_layer(f, r, "c");
	struct philox_function *joining = make_joining(r);
	uint32_t *x = make_words(f, 3);
	struct layer_call owed, alone;

	make_function(&a, r, "a");
	make_function(&c, r, "c");
	owed = made_call(&a, x, 0);
	alone = made_call(&c, x, 0);
	let_go(&c, &alone);
	for (int i = 0; i < 4; i++) {
		struct philox_call_input inputs[] = {
			{.address = x, .bytes = BYTES},
			{.address = x, .bytes = BYTES}};
		struct philox_call call = PHILOX_INIT(struct philox_call);

		call.stream = f->stream;
		call.inputs = inputs;
		call.n_inputs = 2;
		if (i < 3) {
			OK(philox_function_call(joining, &call));
			continue;
		}
		inputs[0].address = owed.outputs[0].address;
		inputs[0].output = &owed.outputs[0];
		inputs[1].address = alone.outputs[0].address;
		inputs[1].output = &alone.outputs[0];
		f->injected = 1;
		OK(philox_device_fail(f->device, "exec_launch", 1,
				      PHILOX_ERROR_DEVICE));
		FAILS(philox_function_call(joining, &call),
		      PHILOX_ERROR_DEVICE);
	}
	STEP(r, f->stream, 2);
	GOOD(r, &owed);
	OVER(r, &alone);
	let_go(&a, &owed);
	STEP(r, f->stream, 0);
}

/* Several forwards, one path: it ends with its last ticket, in any order. */
RUNNER_PROMISE(runner_step_paths, keep_a_path_until_the_last_of_its_backwards)
{
	struct duo duo;

	make_duo(f, r, &duo);
	for (unsigned round = 0; round < 6; round++) {
		struct layer_call calls[3];
		unsigned order[3];

		permutation(round, 3, order);
		calls[0] = made_call(&duo.forth, duo.x, 0);
		calls[1] = made_call_on(&duo.forth, &calls[0], 1);
		calls[2] = made_call_on(&duo.forth, &calls[1], 1);
		for (unsigned i = 0; i < 3; i++) {
			STEP(r, f->stream, 6);
			plain_backward(&duo.back, calls[order[i]].use.ticket,
				       f->stream, 0);
			for (int k = 0; k < 3; k++)
				GOOD(r, &calls[k]);
		}
		STEP(r, f->stream, 0);
		for (int k = 0; k < 3; k++)
			OVER(r, &calls[k]);
	}
}

/* Calls that read nothing of each other are paths of their own. */
RUNNER_PROMISE(runner_step_paths, end_each_path_by_itself)
{
	struct duo duo;

	make_duo(f, r, &duo);
	for (unsigned round = 0; round < 6; round++) {
		struct layer_call calls[3];
		unsigned order[3];

		permutation(round, 3, order);
		for (int i = 0; i < 3; i++)
			calls[i] = made_call(&duo.forth, duo.x, 0);
		for (unsigned i = 0; i < 3; i++) {
			STEP(r, f->stream, 2 * (3 - i));
			plain_backward(&duo.back, calls[order[i]].use.ticket,
				       f->stream, 0);
			OK(philox_runner_step_begin(r, f->stream, 0, NULL));
			for (unsigned k = 0; k < 3; k++)
				cr_assert_eq(good_outputs(r, &calls[order[k]]),
					     k <= i ? 0 : 2);
		}
	}
}

/* The backward's own outputs are of the path while it is owed. */
RUNNER_PROMISE(runner_step_paths, keep_a_path_while_its_ticket_is_retained)
{
	struct duo duo;

	make_duo(f, r, &duo);
	for (unsigned i = 0; i < 5; i++) {
		struct layer_call call = made_call(&duo.forth, duo.x, 0),
				  after[2];

		after[0] = made_backward(&duo.back, &call, PHILOX_PASS_RETAIN);
		STEP(r, f->stream, 4);
		GOOD(r, &after[0]);
		after[1] = made_backward(&duo.back, &call, PHILOX_PASS_RETAIN);
		STEP(r, f->stream, 6);
		SAME(read_numbers(f, after[1].outputs[0].address),
		     read_numbers(f, call.outputs[0].address), "%u", i);
		release_outputs(&duo.back, &after[0]);
		STEP(r, f->stream, 4);
		release_outputs(&duo.back, &after[1]);
		after[0] = made_backward(&duo.back, &call, 0);
		STEP(r, f->stream, 0);
		OVER(r, &call);
		OVER(r, &after[0]);
	}
}

/* --- paths that meet ------------------------------------------------------ */

/* A function that reads two inputs and makes z; no pass. */
static enum philox_status joins(void *user, struct philox_run *run)
{
	struct layer *layer = user;
	void *a, *b, *z;

	layer->bodies++;
	OK(philox_run_input(run, 0, &a, NULL));
	OK(philox_run_input(run, 1, &b, NULL));
	OK(philox_run_alloc(run, BYTES, 0, "z", &z));
	OK(philox_memory_copy(layer->f->device, philox_run_stream(run), z, a,
			      BYTES / 2));
	OK(philox_memory_copy(layer->f->device, philox_run_stream(run),
			      (char *)z + BYTES / 2, b, BYTES / 2));
	OK(philox_run_output(run, 0, z, BYTES));
	return layer->returns;
}

static void make_join(struct layer *join, struct fixture *f,
		      struct philox_runner *r)
{
	static const struct philox_input_desc inputs[] = {{.name = "a"},
							  {.name = "b"}};
	static const struct philox_output_desc z = {.name = "z"};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);

	*join = (struct layer){.f = f, .runner = r};
	options.name = "join";
	options.body = joins;
	options.user = join;
	options.inputs = inputs;
	options.n_inputs = 2;
	options.outputs = &z;
	options.n_outputs = 1;
	make_function_of(join, r, &options);
}

static enum philox_status try_join(struct layer *join,
				   const struct layer_call *a,
				   const struct layer_call *b,
				   struct philox_output *z, const char *key)
{
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_call_input inputs[2] = {
		{a->outputs[1].address, BYTES, &a->outputs[1], 0},
		{b->outputs[1].address, BYTES, &b->outputs[1], 0}};

	call.stream = join->f->stream;
	call.inputs = inputs;
	call.n_inputs = 2;
	call.key = key;
	call.key_bytes = 1;
	call.outputs = z;
	call.n_outputs = 1;
	return philox_function_call(join->function, &call);
}

/* A call may make one path of two, and join one that waits since steps ago. */
RUNNER_PROMISE(runner_step_paths, keep_paths_that_were_joined)
{
	struct layer a = make_layer(f, r, "a"), b = make_layer(f, r, "b"), join;
	uint32_t *x = make_words(f, 3);

	make_function(&a, r, "a");
	make_function(&b, r, "b");
	make_join(&join, f, r);
	for (unsigned i = 0; i < 5; i++) {
		struct layer_call owed = made_call(&a, x, 0), free_, later;
		struct philox_output z;
		char key;

		STEP(r, f->stream, 2);
		free_ = made_call(&b, x, 0);
		let_go(&b, &free_);
		join.returns = PHILOX_ERROR_LIMIT;
		key = (char)('a' + i); /* new: the body runs */
		FAILS(try_join(&join, &owed, &free_, &z, &key),
		      PHILOX_ERROR_LIMIT);
		STEP(r, f->stream, 2);
		OVER(r, &free_);
		join.returns = PHILOX_OK;
		free_ = made_call(&b, x, 0);
		let_go(&b, &free_);
		OK(try_join(&join, &owed, &free_, &z, "z"));
		STEP(r, f->stream, 5);
		later = made_call_on(&b, &free_, 0);
		let_go(&b, &later);
		STEP(r, f->stream, 7);
		OK(philox_output_check(r, &z));
		let_go(&a, &owed);
		STEP(r, f->stream, 0);
		FAILS(philox_output_check(r, &z), PHILOX_ERROR_STALE);
		OVER(r, &later);
	}
}
