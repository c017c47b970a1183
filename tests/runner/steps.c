/*
 * tests/runner/steps.c - outputs that are released with their step
 */
#include <stdio.h>
#include "tests/support/runner_scene.h"

enum { BYTES = WORDS * sizeof(uint32_t) };

/* Begins a step, which keeps so many outputs. */
#define STEP(r, stream, expected)                            \
	do {                                                 \
		size_t kept_ = 99;                           \
		OK(philox_step_begin(r, stream, 0, &kept_)); \
		cr_assert_eq(kept_, (size_t)(expected),      \
			     "%zu are kept, "                \
			     "not %zu",                      \
			     kept_, (size_t)(expected));     \
	} while (0)

static void let_go(struct layer *layer, const struct layer_call *call)
{
	OK(philox_ticket_release(layer->region, call->use.ticket,
				 layer->f->stream));
}

/* A function that reads two inputs and makes z; no pass. */
static enum philox_status joins(void *user, struct philox_run *run)
{
	struct layer *layer = user;
	void *a, *b, *z;

	layer->bodies++;
	OK(philox_run_input(run, 0, &a, NULL));
	OK(philox_run_input(run, 1, &b, NULL));
	OK(philox_run_alloc(run, BYTES, 0, "z", &z));
	OK(philox_memory_copy(layer->f->device, z, a, BYTES / 2,
			      philox_run_stream(run)));
	OK(philox_memory_copy(layer->f->device, (char *)z + BYTES / 2, b,
			      BYTES / 2, philox_run_stream(run)));
	OK(philox_run_output(run, 0, z, BYTES));
	return layer->returns;
}

static void make_join(struct layer *join, struct fixture *f,
		      struct philox_runner *r)
{
	static const struct philox_input inputs[] = {{.name = "a"},
						     {.name = "b"}};
	static const struct philox_output_info z = {.name = "z"};
	struct philox_function_options options =
		PHILOX_INIT(struct philox_function_options);

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
	call.key_size = 1;
	call.outputs = z;
	call.n_outputs = 1;
	return philox_function_call(join->function, &call);
}

/* --- a step that ends ----------------------------------------------------------- */

RUNNER_PROMISE(runner_steps, release_what_calls_gave_so_far)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	make_function(&layer, r, "layer");
	for (unsigned i = 0; i < 6; i++) {
		struct layer_call call;

		STEP(r, f->stream, 0);
		LIVE(f, r, 0);
		call = made_call(&layer, x, 0);
		let_go(&layer, &call);
		GOOD(r, &call);
		SAME(read_numbers(f, call.outputs[0].address),
		     predict(0, "layer", 4 * i), "step %u", i);
		OK(philox_step_begin(r, f->stream, 0, NULL));
		OVER(r, &call);
		FAILS(philox_output_release(r, &call.outputs[0], f->stream),
		      PHILOX_ERROR_STALE);
		NAMES("'y'");
	}
	cr_assert_eq(counts_of(&layer).replay, 4);
	cr_assert_eq(counts_of(&layer).missed_live, 0);
}

/* A forward with INFERENCE owes nothing, and neither does one whose backward
 * was in its body. */
static enum philox_status owes_nothing(void *user, struct philox_run *run)
{
	struct layer *layer = user;
	struct philox_ticket ticket;
	struct philox_pass pass;
	void *y;

	OK(philox_run_alloc(run, BYTES, 0, "y", &y));
	OK(philox_run_forward_begin(run, layer->region, PHILOX_INFERENCE,
				    &pass));
	OK(philox_forward_commit(&pass, NULL));
	OK(philox_run_forward_begin(run, layer->region, 0, &pass));
	draw(&pass, y);
	OK(philox_forward_commit(&pass, &ticket));
	OK(philox_run_backward_begin(run, layer->region, ticket, 0, &pass));
	OK(philox_backward_commit(&pass, 0));
	return philox_run_output(run, 0, y, BYTES);
}

RUNNER_PROMISE(runner_steps, end_for_calls_that_owe_nothing)
{
	struct layer layer = make_layer(f, r, "layer");
	static const struct philox_output_info y = {.name = "y"};
	struct philox_function_options options =
		PHILOX_INIT(struct philox_function_options);
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_use uses[2];
	struct philox_output out;

	options.name = "layer";
	options.body = owes_nothing;
	options.user = &layer;
	options.outputs = &y;
	options.n_outputs = 1;
	make_function_of(&layer, r, &options);
	call.stream = f->stream;
	call.uses = uses;
	call.n_uses = 2;
	call.outputs = &out;
	call.n_outputs = 1;
	for (int i = 0; i < 5; i++) {
		memset(uses, 0, sizeof(uses));
		OK(philox_function_call(layer.function, &call));
		PENDING(layer.region, 0);
		STEP(r, f->stream, 0);
		FAILS(philox_output_check(r, &out), PHILOX_ERROR_STALE);
	}
	cr_assert_eq(call.kind, PHILOX_CALL_REPLAY);
}

/* --- paths whose backward is owed ------------------------------------------------- */

/* a gives its output to b; c is another path. */
RUNNER_PROMISE(runner_steps, keep_the_outputs_of_a_path_that_has_not_ended)
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

/* Several forwards, one path: it ends with its last ticket, in any order. */
RUNNER_PROMISE(runner_steps, keep_a_path_until_the_last_of_its_backwards)
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
RUNNER_PROMISE(runner_steps, end_each_path_by_itself)
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
			OK(philox_step_begin(r, f->stream, 0, NULL));
			for (unsigned k = 0; k < 3; k++)
				cr_assert_eq(good_outputs(r, &calls[order[k]]),
					     k <= i ? 0 : 2);
		}
	}
}

/* The backward's own outputs are of the path while it is owed. */
RUNNER_PROMISE(runner_steps, keep_a_path_while_its_ticket_is_retained)
{
	struct duo duo;

	make_duo(f, r, &duo);
	for (unsigned i = 0; i < 5; i++) {
		struct layer_call call = made_call(&duo.forth, duo.x, 0),
				  after[2];

		after[0] = made_backward(&duo.back, &call, PHILOX_RETAIN);
		STEP(r, f->stream, 4);
		GOOD(r, &after[0]);
		after[1] = made_backward(&duo.back, &call, PHILOX_RETAIN);
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

/* A call may make one path of two, and join one that waits since steps ago. */
RUNNER_PROMISE(runner_steps, keep_paths_that_were_joined)
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

RUNNER_PROMISE(runner_steps, keep_a_path_whose_function_or_region_went)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call call;

	make_function(&layer, r, "layer");
	for (int i = 0; i < 4; i++) {
		call = made_call(&layer, x, 0);
		OK(philox_stream_synchronize(f->device, f->stream));
		OK(philox_function_destroy(layer.function));
		STEP(r, f->stream, 2);
		GOOD(r, &call);
		if (i % 2) {
			OK(philox_region_destroy(layer.region));
			layer.region = make_region(f, "layer");
		} else
			let_go(&layer, &call);
		STEP(r, f->stream, 0);
		OVER(r, &call);
		make_function(&layer, r, "layer");
	}
}

RUNNER_PROMISE(runner_steps, may_release_everything_all_the_same)
{
	struct duo duo;

	make_duo(f, r, &duo);
	for (unsigned i = 0; i < 5; i++) {
		struct layer_call call = made_call(&duo.forth, duo.x, 0), next;
		struct numbers saw = read_numbers(f, call.outputs[0].address);
		size_t kept = 99;

		next = made_call_on(&duo.forth, &call, 1);
		tie_outputs(&duo.forth, &next, duo.forth.region,
			    call.use.ticket);
		OK(philox_step_begin(r, f->stream, PHILOX_STEP_ALL, &kept));
		cr_assert_eq(kept, 0);
		OVER(r, &call);
		OVER(r, &next);
		LIVE(f, r, 0);
		PENDING(duo.forth.region, 2);
		backward(f,
			 &(struct forward){duo.forth.region, call.use.ticket,
					   saw},
			 0);
		let_go(&duo.forth, &next);
	}
}

/* Of outputs released one by one nothing is counted; ties hold as they do. */
RUNNER_PROMISE(runner_steps, count_what_they_keep)
{
	struct duo duo;

	make_duo(f, r, &duo);
	for (unsigned i = 0; i < 4; i++) {
		struct layer_call call = made_call(&duo.forth, duo.x, 0), next;

		next = made_call_on(&duo.forth, &call, 1);
		let_go(&duo.forth, &next);
		OK(philox_output_release(r, &call.outputs[0], f->stream));
		OK(philox_output_tie(r, &next.outputs[0], duo.forth.region,
				     call.use.ticket));
		STEP(r, f->stream, 3);
		OK(philox_output_release(r, &next.outputs[1], f->stream));
		STEP(r, f->stream, 2);
		let_go(&duo.forth, &call);
		STEP(r, f->stream, 0);
		OVER(r, &next);
	}
}

/* Another runner's outputs are none of this one's step. */
RUNNER_PROMISE(runner_steps, are_of_one_runner)
{
	struct philox_runner *other = make_runner_of(f, "other", 0);
	struct layer here = make_layer(f, r, "here"),
		     there = make_layer(f, other, "there");
	uint32_t *x = make_words(f, 3);

	make_function(&here, r, "here");
	make_function(&there, other, "there");
	for (int i = 0; i < 4; i++) {
		struct layer_call one = made_call(&here, x, 0);
		struct layer_call two = made_call(&there, x, 0);

		let_go(&here, &one);
		let_go(&there, &two);
		STEP(r, f->stream, 0);
		OVER(r, &one);
		GOOD(other, &two);
		STEP(other, f->stream, 0);
		OVER(other, &two);
	}
	OK(philox_device_synchronize(f->device));
	OK(philox_runner_destroy(other));
}

RUNNER_PROMISE(runner_steps, leave_no_output_to_be_reported)
{
	struct philox_runner *mine = make_runner_of(f, "mine", 0);
	struct layer layer = make_layer(f, mine, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call call;

	make_function(&layer, mine, "layer");
	for (int i = 0; i < 4; i++) {
		call = made_call(&layer, x, 0);
		tie_outputs(&layer, &call, layer.region, call.use.ticket);
		if (i % 2)
			let_go(&layer, &call);
		else
			OK(philox_step_begin(mine, f->side, PHILOX_STEP_ALL,
					     NULL));
		OVER(mine, &call);
	}
	OK(philox_device_synchronize(f->device));
	log_texts(f);
	OK(philox_runner_destroy(mine));
	cr_assert(!strstr(logged_texts(), "live block"), "%s", logged_texts());
}

/* --- the message ------------------------------------------------------------------- */

struct heard {
	unsigned messages;
	enum philox_log_level level;
	char text[512];
};

static void hear(void *user, const struct philox_log_entry *entry)
{
	struct heard *heard = user;

	if (strcmp(entry->event, "step"))
		return;
	heard->messages++;
	heard->level = entry->level;
	snprintf(heard->text, sizeof(heard->text), "%s", entry->text);
}

RUNNER_PROMISE(runner_steps, say_what_they_keep_and_for_which_ticket)
{
	struct layer layer = make_layer(f, r, "attention");
	uint32_t *x = make_words(f, 3);
	struct heard heard = {0};
	struct layer_call call;
	char serial[32];

	make_function(&layer, r, "forth");
	for (unsigned i = 0; i < 4; i++) {
		call = made_call(&layer, x, 0);
		heard.messages = 0;
		OK(philox_context_set_log(f->context, hear, &heard));
		STEP(r, f->stream, 2);
		cr_assert_eq(heard.messages, 1);
		cr_assert_eq(heard.level, PHILOX_LOG_INFO);
		cr_assert(strstr(heard.text, "'y'") ||
				  strstr(heard.text, "'echo'"),
			  "no output: %s", heard.text);
		cr_assert_not_null(strstr(heard.text, "'forth'"));
		cr_assert(strstr(heard.text, "'attention'"), "no region: %s",
			  heard.text);
		snprintf(serial, sizeof(serial), "%u", i + 1);
		cr_assert(strstr(heard.text, serial), "no ticket: %s",
			  heard.text);
		let_go(&layer, &call);
		STEP(r, f->stream, 0);
		cr_assert_eq(heard.messages, 1, "nothing is kept");
		OK(philox_context_set_log(f->context, NULL, NULL));
	}
}
