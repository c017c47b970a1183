/*
 * tests/runner/verify/same.c - calls whose replays are verified give what they
 * give without: numbers, tickets, outputs, inputs and the future
 *
 * Each story is told twice: see tests/support/beds/verify.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tests/support/beds/verify.h"

enum { BYTES = ACT_BYTES };

/* --- passes --------------------------------------------------------------- */

STORY(runner_verify_same, forwards)
{
	struct act act = new_act(s->f, s->r, forward_script);

	act.region = make_region(s->f, "layer");
	act.n_outputs = 2;
	act.in[0].address = make_words(s->f, 3);
	cast(s, &act, "act");
	for (int i = 0; i < 6; i++) {
		scene_before_release(s, &act);
		SAME(read_numbers(s->f, act.out[0].address),
		     predict(0, "layer", 4 * (uint64_t)i), "call %d", i);
		release_act(&act);
	}
}

STORY(runner_verify_same, backwards_in_another_order)
{
	struct act forth = new_act(s->f, s->r, forward_script);
	struct act back = new_act(s->f, s->r, backward_script);
	struct philox_ticket tickets[8];

	forth.region = back.region = make_region(s->f, "layer");
	forth.in[0].address = back.in[0].address = make_words(s->f, 3);
	cast(s, &forth, "forth");
	cast(s, &back, "back");
	for (int i = 0; i < 8; i++) {
		scene_of(s, &forth);
		tickets[i] = forth.uses[0].ticket;
		forth.uses[0].ticket = (struct philox_ticket){0, 0};
	}
	for (int i = 7; i >= 0; i--)
		for (int twice = 0; twice < 2; twice++) {
			back.uses[0].ticket = tickets[i];
			back.uses[0].flags = twice ? 0 : PHILOX_PASS_RETAIN;
			scene_of(s, &back);
			tell_number(s, "pending", pending(back.region));
		}
}

/* A forward with a recompute and its backward, and linked ones of another. */
static enum philox_status both_script(struct act *act, struct props *props)
{
	const struct philox_ticket none = {0, 0};
	struct philox_ticket made, named;
	struct philox_pass pass;

	TRY_(philox_run_forward_begin(props->run, act->region, 0, &pass));
	TRY_(draw_or_fail(&pass, props->out[0]));
	TRY_(philox_pass_commit(&pass, 0, &made));
	TRY_(philox_run_backward_begin(props->run, act->other, none,
				       PHILOX_PASS_RETAIN, &pass));
	TRY_(philox_pass_ticket(&pass, &named));
	TRY_(philox_pass_commit(&pass, 0, NULL));
	TRY_(philox_run_backward_begin(props->run, act->region, made,
				       PHILOX_PASS_RETAIN, &pass));
	TRY_(draw_or_fail(&pass, props->out[1]));
	TRY_(philox_pass_commit(&pass, 0, NULL));
	TRY_(philox_run_backward_begin(props->run, act->region, made,
				       act->n ? PHILOX_PASS_RETAIN : 0, &pass));
	TRY_(philox_pass_commit(&pass, 0, NULL));
	TRY_(philox_run_backward_begin(props->run, act->other, named, 0,
				       &pass));
	TRY_(draw_or_fail(&pass, props->out[2]));
	return philox_pass_commit(&pass, 0, NULL);
}

static void tell_both(struct story *s, unsigned kept)
{
	struct act act = new_act(s->f, s->r, both_script);

	act.region = make_region(s->f, "own");
	act.other = make_region(s->f, "other");
	act.n = kept;
	act.n_uses = 2;
	act.n_outputs = 3;
	act.in[0].address = make_words(s->f, 3);
	cast(s, &act, "act");
	for (int i = 0; i < 6; i++) {
		struct forward one = forward(s->f, act.other);

		act.uses[0] = (struct philox_launch_pass){{0, 0}, 0, 0};
		act.uses[1] = (struct philox_launch_pass){
			one.ticket, i % 2 ? PHILOX_PASS_RETAIN : 0, 0};
		scene_of(s, &act);
		tell_number(s, "pending", pending(act.region));
		tell_number(s, "pending", pending(act.other));
	}
}

STORY(runner_verify_same, passes_that_belong_together)
{
	tell_both(s, 0);
}

STORY(runner_verify_same, passes_that_belong_together_and_are_kept)
{
	tell_both(s, 1);
}

static enum philox_status inference_script(struct act *act, struct props *props)
{
	struct philox_pass pass;

	TRY_(philox_run_forward_begin(props->run, act->region,
				      PHILOX_PASS_INFERENCE, &pass));
	TRY_(draw_or_fail(&pass, props->out[0]));
	return philox_pass_commit(&pass, 0, NULL);
}

STORY(runner_verify_same, inference)
{
	struct act act = new_act(s->f, s->r, inference_script);

	act.region = make_region(s->f, "layer");
	act.in[0].address = make_words(s->f, 3);
	cast(s, &act, "act");
	for (int i = 0; i < 6; i++) {
		scene_of(s, &act);
		if (i == 3)
			OK(philox_generator_seed(
				philox_context_generator(s->f->context), 7));
	}
}

/* Two forwards of regions that share the generator, which it moves. */
static enum philox_status two_script(struct act *act, struct props *props)
{
	struct philox_region *regions[2] = {act->region, act->other};
	struct philox_generator *generator =
		philox_context_generator(act->f->context);

	for (int i = 0; i < 2; i++) {
		struct philox_ticket ticket;
		struct philox_pass pass;

		TRY_(philox_run_forward_begin(props->run, regions[i], 0,
					      &pass));
		TRY_(draw_or_fail(&pass, props->out[i]));
		TRY_(philox_pass_commit(&pass, 0, &ticket));
		TRY_(philox_generator_copy_state(
			generator, props->stream,
			(struct philox_state *)props->out[2] + i));
	}
	return prop_words(act, props, props->out[2] + 8, props->in[0],
			  WORDS - 8);
}

STORY(runner_verify_same, regions_that_share_a_generator)
{
	struct act act = new_act(s->f, s->r, two_script);

	act.region = make_region_with(s->f, "one", 64, PHILOX_REGION_SHARED);
	act.other = make_region_with(s->f, "two", 64, PHILOX_REGION_SHARED);
	act.n_uses = 2;
	act.n_outputs = 3;
	act.in[0].address = make_words(s->f, 3);
	cast(s, &act, "act");
	for (int i = 0; i < 6; i++) {
		struct philox_state state;

		memset(act.uses, 0, sizeof(act.uses));
		scene_of(s, &act);
		OK(philox_generator_get_state(
			philox_context_generator(s->f->context), &state));
		tell(s, "the generator", &state, sizeof(state));
		forward(s->f, act.region);
	}
}

/* Cells on the device, and states that kernels take by value or by address. */
static enum philox_status cells_script(struct act *act, struct props *props)
{
	const struct philox_state *cells;
	struct philox_fill_desc fill = PHILOX_INIT(struct philox_fill_desc);
	struct philox_ticket ticket;
	struct philox_pass pass;
	struct philox_rng rng;

	TRY_(philox_run_forward_begin(props->run, act->region,
				      PHILOX_PASS_ON_DEVICE, &pass));
	TRY_(philox_pass_states(&pass, &cells));
	TRY_(prop_words(act, props, props->out[0], cells, 4 * SITES));
	TRY_(prop_words(act, props, props->out[0] + 4 * SITES, cells,
			4 * SITES));
	TRY_(philox_pass_commit(&pass, 0, &ticket));
	TRY_(philox_run_forward_begin(props->run, act->other, 0, &pass));
	TRY_(philox_pass_rng(&pass, 1, 1, &rng));
	fill.dist = PHILOX_DIST_BITS;
	fill.dtype = PHILOX_DTYPE_U32;
	fill.span.count = WORDS;
	fill.out = props->out[1];
	TRY_(philox_rng_fill(act->f->device, props->stream, rng, &fill));
	return philox_pass_commit(&pass, 0, &ticket);
}

STORY(runner_verify_same, cells_and_states)
{
	struct act act = new_act(s->f, s->r, cells_script);

	act.region = make_region(s->f, "cells");
	act.other = make_region(s->f, "states");
	act.n_uses = 2;
	act.n_outputs = 2;
	act.in[0].address = make_words(s->f, 3);
	cast(s, &act, "act");
	for (int i = 0; i < 6; i++) {
		memset(act.uses, 0, sizeof(act.uses));
		scene_of(s, &act);
	}
}

/* Saved contexts are released once, when their tickets are used up. */
static unsigned let_go_of;

static void count_release(void *saved, philox_stream stream)
{
	(void)saved;
	(void)stream;
	let_go_of++;
}

STORY(runner_verify_same, saved_contexts)
{
	struct act act = new_act(s->f, s->r, backward_script);

	act.region = make_region(s->f, "layer");
	act.in[0].address = make_words(s->f, 3);
	cast(s, &act, "act");
	let_go_of = 0;
	for (int i = 0; i < 6; i++) {
		struct forward one = forward(s->f, act.region);

		OK(philox_ticket_attach(act.region, one.ticket, &act,
					count_release));
		act.uses[0] = (struct philox_launch_pass){
			one.ticket, i % 2 ? PHILOX_PASS_RETAIN : 0, 0};
		scene_of(s, &act);
		tell_number(s, "released", let_go_of);
	}
}

/* Outputs that go with the ticket of a forward, in another order. */
STORY(runner_verify_same, tied_outputs)
{
	struct act forth = new_act(s->f, s->r, forward_script);
	struct act back = new_act(s->f, s->r, backward_script);
	struct philox_launch_pass uses[3] = {{{0, 0}, 0, 0}};

	forth.region = back.region = make_region(s->f, "layer");
	forth.in[0].address = back.in[0].address = make_words(s->f, 3);
	cast(s, &forth, "forth");
	cast(s, &back, "back");
	for (int i = 0; i < 12; i++) {
		struct philox_launch_pass *use = &uses[i % 3];

		if (use->ticket.serial) {
			back.uses[0] = *use;
			scene_of(s, &back);
		}
		forth.uses[0] = (struct philox_launch_pass){{0, 0}, 0, 0};
		OK(call_act(&forth));
		*use = forth.uses[0];
		OK(philox_output_tie(s->r, &forth.out[0], forth.region,
				     use->ticket));
		tell_number(s, "the kind", forth.call.kind);
		tell_words(s, "a tied output", forth.out[0].address);
	}
	for (int i = 0; i < 3; i++)
		OK(philox_ticket_release(forth.region, s->f->stream,
					 uses[i].ticket));
	/* each of them was beside outputs that are not released */
	forth.uses[0].ticket = back.uses[0].ticket =
		(struct philox_ticket){0, 0};
	for (int i = 0; i < 6; i++) {
		scene_of(s, &forth);
		back.uses[0] = forth.uses[0];
		scene_of(s, &back);
		forth.uses[0].ticket = (struct philox_ticket){0, 0};
	}
}

/* Captures are numbered through all contexts of a process. */
static void cut_capture(char *line)
{
	char *number = strstr(line, " capture ");

	if (number)
		memset(number + 9, '?', strspn(number + 9, "0123456789"));
}

/* Two runs that agree have the same journal, but for the second pool. */
static void tell_journal(struct story *s, const char *path)
{
	FILE *file = fopen(path, "r");
	char line[4096];

	cr_assert(file, "%s", path);
	while (fgets(line, sizeof(line), file)) {
		const char *event = strchr(line, ' ');

		if (strstr(line, "(verifying)"))
			continue;
		cut_capture(line);
		/* the first numbers are the context's, and the event's */
		event = event && line[0] != 'p' ? strchr(event + 1, ' ') : line;
		for (size_t at = 0; at < strlen(event); at += ACT_BYTES)
			tell(s, "the journal", event + at,
			     strnlen(event + at, ACT_BYTES));
	}
	fclose(file);
}

STORY(runner_verify_same, journals)
{
	struct act act = new_act(s->f, s->r, both_script);
	char path[] = "/tmp/philox-journal-XXXXXX";
	int file = mkstemp(path);

	cr_assert_geq(file, 0);
	OK(philox_context_set_journal(s->f->context, path));
	act.region = make_region(s->f, "own");
	act.other = make_region(s->f, "other");
	act.n_uses = 2;
	act.n_outputs = 3;
	act.in[0].address = make_words(s->f, 3);
	cast(s, &act, "act");
	for (int i = 0; i < 5; i++) {
		struct forward one = forward(s->f, act.other);

		act.uses[0] = (struct philox_launch_pass){{0, 0}, 0, 0};
		act.uses[1] = (struct philox_launch_pass){one.ticket, 0, 0};
		scene_of(s, &act);
	}
	OK(philox_context_set_journal(s->f->context, NULL));
	tell_journal(s, path);
	close(file);
	unlink(path);
}

/* --- values and inputs ---------------------------------------------------- */

static enum philox_status value_script(struct act *act, struct props *props)
{
	const void *rate;

	TRY_(philox_run_param(props->run, 0, &rate));
	TRY_(prop_copy(act, props, props->out[0], props->in[0]));
	return prop_words(act, props, props->out[0] + 4, rate, 4);
}

STORY(runner_verify_same, values)
{
	struct act act = new_act(s->f, s->r, value_script);

	act.n_uses = 0;
	act.has_rate = 1;
	act.in[0].address = make_words(s->f, 3);
	cast(s, &act, "act");
	for (uint32_t i = 0; i < 6; i++) {
		act.rate = 100 + i;
		scene_of(s, &act);
	}
}

static void tell_moving(struct story *s, uint32_t kind, size_t alignment,
			unsigned odd)
{
	struct act act = new_act(s->f, s->r, echo_script);
	uint32_t *x[4];

	for (uint32_t i = 0; i < 4; i++) {
		struct numbers words = all_words(30 + i);

		x[i] = make_memory(s->f, 2 * BYTES);
		x[i] += odd;
		OK(philox_memory_copy(s->f->device, s->f->stream, x[i], &words,
				      BYTES));
		OK(philox_stream_synchronize(s->f->device, s->f->stream));
	}
	act.n_uses = 0;
	act.inputs[0].kind = kind;
	act.inputs[0].alignment = alignment;
	cast(s, &act, "act");
	for (unsigned i = 0; i < 16; i++) {
		act.in[0].address = x[i / 3 % 4];
		scene_of(s, &act);
	}
}

STORY(runner_verify_same, static_inputs)
{
	tell_moving(s, PHILOX_INPUT_STATIC, 0, 0);
}

STORY(runner_verify_same, copied_inputs)
{
	tell_moving(s, PHILOX_INPUT_COPIED, 0, 0);
}

STORY(runner_verify_same, automatic_inputs)
{
	tell_moving(s, PHILOX_INPUT_AUTOMATIC, 0, 0);
}

STORY(runner_verify_same, inputs_that_are_not_aligned)
{
	tell_moving(s, PHILOX_INPUT_STATIC, 64, 1);
}

STORY(runner_verify_same, copied_inputs_that_are_not_aligned)
{
	tell_moving(s, PHILOX_INPUT_COPIED, 64, 1);
}

/* --- mutated inputs ------------------------------------------------------- */

/* x[0 .. 8) = x[4 .. 12), x[12 .. 14) = w[0 .. 2); y is x, before that. */
static enum philox_status update_script(struct act *act, struct props *props)
{
	uint32_t *x = props->in[0];

	TRY_(prop_copy(act, props, props->out[0], x));
	TRY_(prop_words(act, props, x, props->out[0] + 4, 8));
	return prop_words(act, props, x + 12, props->in[1], 2);
}

static uint32_t *make_row(struct fixture *f, unsigned odd)
{
	return (uint32_t *)make_memory(f, 4 * BYTES) + odd;
}

/* Words that are not the same in two calls, or in two places. */
static void fill_row(struct fixture *f, uint32_t *row, uint32_t call)
{
	uint32_t content[3 * WORDS];

	for (uint32_t i = 0; i < 3 * WORDS; i++)
		content[i] = 1000 * (call + 1) + i;
	OK(philox_memory_copy(f->device, f->stream, row, content,
			      sizeof(content)));
	OK(philox_stream_synchronize(f->device, f->stream));
}

static void tell_update(struct story *s, struct act *act, unsigned apart)
{
	uint32_t *row = make_row(s->f, act->n);

	act->n_uses = 0;
	act->n_inputs = 2;
	act->inputs[0].flags |= PHILOX_INPUT_MUTATED;
	act->in[0].address = row;
	act->in[1].address = row + apart;
	cast(s, act, "act");
	for (uint32_t i = 0; i < 8; i++) {
		fill_row(s->f, row, i);
		scene_of(s, act);
	}
}

STORY(runner_verify_same, mutated_inputs)
{
	struct act act = new_act(s->f, s->r, update_script);

	tell_update(s, &act, 2 * WORDS);
}

STORY(runner_verify_same, mutated_inputs_that_are_copied_back)
{
	struct act act = new_act(s->f, s->r, update_script);

	act.inputs[0].kind = PHILOX_INPUT_COPIED;
	act.inputs[0].flags = PHILOX_INPUT_WRITE_BACK;
	tell_update(s, &act, 2 * WORDS);
}

STORY(runner_verify_same, mutated_inputs_that_are_not_aligned)
{
	struct act act = new_act(s->f, s->r, update_script);

	act.inputs[0].flags = PHILOX_INPUT_WRITE_BACK;
	act.inputs[0].alignment = 64;
	act.n = 1;
	tell_update(s, &act, 2 * WORDS);
}

/* What one input reads is what another one wrote. */
STORY(runner_verify_same, inputs_that_overlap_a_mutated_one)
{
	struct act act = new_act(s->f, s->r, update_script);

	tell_update(s, &act, 5);
}

STORY(runner_verify_same, inputs_that_are_a_mutated_one)
{
	struct act act = new_act(s->f, s->r, update_script);

	tell_update(s, &act, 0);
}

STORY(runner_verify_same, mutated_inputs_that_overlap)
{
	struct act act = new_act(s->f, s->r, update_script);

	act.inputs[1].flags = PHILOX_INPUT_MUTATED;
	tell_update(s, &act, 7);
}

/* --- outputs -------------------------------------------------------------- */

/* y is in x, which is updated; z is in w, which is not. */
static enum philox_status alias_script(struct act *act, struct props *props)
{
	uint32_t *x = props->in[0];

	props->out[0] = x + 4;
	props->bytes[0] = BYTES / 2;
	props->out[1] = props->in[1];
	return prop_words(act, props, x + 5, x, 2);
}

STORY(runner_verify_same, outputs_in_inputs)
{
	struct act act = new_act(s->f, s->r, alias_script);

	act.n_uses = 0;
	act.n_inputs = act.n_outputs = 2;
	act.no_alloc = 1;
	act.inputs[0].flags = PHILOX_INPUT_MUTATED;
	act.in[0].address = make_row(s->f, 0);
	act.in[1].address = make_words(s->f, 4);
	cast(s, &act, "act");
	for (uint32_t i = 0; i < 6; i++) {
		fill_row(s->f, act.in[0].address, i);
		scene_of(s, &act);
	}
}

/* Both outputs in one block: z is the upper half of y, v is all of it. */
static enum philox_status shared_script(struct act *act, struct props *props)
{
	TRY_(forward_script(act, props));
	props->out[1] = props->out[0] + WORDS / 2;
	props->bytes[1] = BYTES / 2;
	props->out[2] = props->out[0];
	return PHILOX_OK;
}

STORY(runner_verify_same, outputs_of_one_block)
{
	struct act act = new_act(s->f, s->r, shared_script);

	act.region = make_region(s->f, "layer");
	act.n_outputs = 3;
	act.in[0].address = make_words(s->f, 3);
	cast(s, &act, "act");
	for (int i = 0; i < 6; i++)
		scene_of(s, &act);
}

/* An input that is an output of the runner, and outputs that are not released. */
STORY(runner_verify_same, outputs_that_are_inputs)
{
	struct act one = new_act(s->f, s->r, forward_script);
	struct act two = new_act(s->f, s->r, echo_script);

	one.region = make_region(s->f, "layer");
	one.in[0].address = make_words(s->f, 3);
	two.n_uses = 0;
	cast(s, &one, "one");
	cast(s, &two, "two");
	for (int i = 0; i < 8; i++) {
		OK(call_act(&one));
		two.in[0].address = one.out[0].address;
		two.in[0].output = &one.out[0];
		scene_of(s, &two);
		release_act(&one);
		one.uses[0].ticket = (struct philox_ticket){0, 0};
	}
}

STORY(runner_verify_same, calls_without_outputs)
{
	struct act act = new_act(s->f, s->r, forward_script);

	act.region = make_region(s->f, "layer");
	act.in[0].address = make_words(s->f, 3);
	cast(s, &act, "act");
	for (int i = 0; i < 6; i++) {
		OK(call_act(&act));
		release_act(&act);
		act.uses[0].ticket = (struct philox_ticket){0, 0};
		act.call.passes = act.uses;
		act.call.outputs = NULL;
		act.call.n_outputs = 0;
		OK(philox_function_call(act.function, &act.call));
		tell(s, "a ticket", &act.uses[0].ticket,
		     sizeof(act.uses[0].ticket));
		act.uses[0].ticket = (struct philox_ticket){0, 0};
	}
}

/* There is nothing to compare, and so nothing differs. */
static enum philox_status alone_script(struct act *act, struct props *props)
{
	struct philox_ticket ticket;
	struct philox_pass pass;

	TRY_(philox_run_forward_begin(props->run, act->region, 0, &pass));
	TRY_(draw_or_fail(&pass, act->f->scratch));
	return philox_pass_commit(&pass, 0, &ticket);
}

STORY(runner_verify_same, functions_without_outputs)
{
	struct act act = new_act(s->f, s->r, alone_script);

	act.region = make_region(s->f, "layer");
	act.n_inputs = act.n_outputs = 0;
	cast(s, &act, "act");
	for (int i = 0; i < 5; i++) {
		scene_of(s, &act);
		tell_words(s, "numbers", s->f->scratch);
	}
}

/* --- streams and keys ----------------------------------------------------- */

STORY(runner_verify_same, the_legacy_stream)
{
	struct act act = new_act(s->f, s->r, forward_script);
	uint32_t *x = make_words(s->f, 0);

	act.region = make_region(s->f, "layer");
	act.n_outputs = 2;
	act.in[0].address = x;
	act.stream = NULL;
	cast(s, &act, "act");
	for (uint32_t i = 0; i < 6; i++) {
		struct numbers words = all_words(i);

		OK(philox_memory_copy(s->f->device, NULL, x, &words,
				      sizeof(words)));
		scene_of(s, &act);
	}
}

STORY(runner_verify_same, several_streams)
{
	struct act act = new_act(s->f, s->r, update_script);

	act.n_uses = 0;
	act.n_inputs = 2;
	act.inputs[0].flags = PHILOX_INPUT_MUTATED;
	act.in[0].address = make_row(s->f, 0);
	act.in[1].address = make_words(s->f, 9);
	cast(s, &act, "act");
	for (unsigned i = 0; i < 12; i++) {
		fill_row(s->f, act.in[0].address, i);
		act.stream = i / 2 % 2 ? s->f->side : s->f->stream;
		scene_of(s, &act);
		OK(philox_device_synchronize(s->f->device));
	}
}

STORY(runner_verify_same, several_keys)
{
	struct act act = new_act(s->f, s->r, forward_script);

	act.region = make_region(s->f, "layer");
	act.in[0].address = make_words(s->f, 3);
	act.policy.keys = 2;
	cast(s, &act, "act");
	for (uint32_t i = 0; i < 24; i++) {
		act.key = i / 6 % 3;
		scene_of(s, &act);
		act.uses[0].ticket = (struct philox_ticket){0, 0};
	}
}

STORY(runner_verify_same, prepared_calls)
{
	struct act act = new_act(s->f, s->r, forward_script);
	size_t prepared = 9;

	act.region = make_region(s->f, "layer");
	act.in[0].address = make_words(s->f, 3);
	act.policy.warmups = PHILOX_NEVER;
	cast(s, &act, "act");
	OK(call_act(&act));
	release_act(&act);
	act.key = 5;
	act.call.outputs = NULL;
	act.call.n_outputs = 0;
	OK(philox_function_prepare(act.function, &act.call, 1, &prepared));
	cr_assert_eq(prepared, 1);
	for (int i = 0; i < 4; i++) {
		act.uses[0].ticket = (struct philox_ticket){0, 0};
		scene_of(s, &act);
		cr_assert_eq(act.call.kind, PHILOX_CALL_REPLAY);
	}
}
