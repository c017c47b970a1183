/*
 * tests/runner/outputs/steps.c - outputs that are released with their step
 */
#include <stdio.h>
#include "tests/support/beds/runner_scene.h"

enum { BYTES = WORDS * sizeof(uint32_t) };

/* --- a step that ends ----------------------------------------------------- */

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
		OK(philox_runner_step_begin(r, f->stream, 0, NULL));
		OVER(r, &call);
		FAILS(philox_output_release(r, f->stream, &call.outputs[0]),
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
	OK(philox_run_forward_begin(run, layer->region, PHILOX_PASS_INFERENCE,
				    &pass));
	OK(philox_pass_commit(&pass, 0, NULL));
	OK(philox_run_forward_begin(run, layer->region, 0, &pass));
	draw(&pass, y);
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_run_backward_begin(run, layer->region, ticket, 0, &pass));
	OK(philox_pass_commit(&pass, 0, NULL));
	return philox_run_output(run, 0, y, BYTES);
}

RUNNER_PROMISE(runner_steps, end_for_calls_that_owe_nothing)
{
	struct layer layer = make_layer(f, r, "layer");
	static const struct philox_output_desc y = {.name = "y"};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_launch_pass uses[2];
	struct philox_output out;

	options.name = "layer";
	options.body = owes_nothing;
	options.user = &layer;
	options.outputs = &y;
	options.n_outputs = 1;
	make_function_of(&layer, r, &options);
	call.stream = f->stream;
	call.passes = uses;
	call.n_passes = 2;
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

/* --- what keeps a path, and what does not --------------------------------- */

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
		OK(philox_runner_step_begin(r, f->stream,
					    PHILOX_STEP_RELEASE_ALL, &kept));
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
		OK(philox_output_release(r, f->stream, &call.outputs[0]));
		OK(philox_output_tie(r, &next.outputs[0], duo.forth.region,
				     call.use.ticket));
		STEP(r, f->stream, 3);
		OK(philox_output_release(r, f->stream, &next.outputs[1]));
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
			OK(philox_runner_step_begin(
				mine, f->side, PHILOX_STEP_RELEASE_ALL, NULL));
		OVER(mine, &call);
	}
	OK(philox_device_synchronize(f->device));
	log_texts(f);
	OK(philox_runner_destroy(mine));
	cr_assert(!strstr(logged_texts(), "live block"), "%s", logged_texts());
}

/* --- the message ---------------------------------------------------------- */

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
