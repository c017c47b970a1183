/*
 * tests/runner/policy/dry.c - dry warm-ups
 */
#include "tests/support/beds/runner_scene.h"

enum { BYTES = WORDS * sizeof(uint32_t) };

/* --- when they are -------------------------------------------------------- */

RUNNER_PROMISE(runner_dry, come_in_the_call_that_finds_a_new_key)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x[2] = {make_words(f, 3), make_words(f, 4)};

	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.dry = 2});
	KIND(&layer, x[0], 0, PHILOX_CALL_WARMUP);
	cr_assert_eq(layer.bodies, 3);
	cr_assert_eq(counts_of(&layer).dry, 2);
	cr_assert_eq(counts_of(&layer).bodies, 3);
	cr_assert_eq(counts_of(&layer).warmup, 1, "they are no calls");
	KIND(&layer, x[0], 0, PHILOX_CALL_RECORD);
	KIND(&layer, x[0], 0, PHILOX_CALL_REPLAY);
	KIND(&layer, x[1], 0, PHILOX_CALL_RECORD);
	cr_assert_eq(counts_of(&layer).dry, 2, "the key is known");
	cr_assert_eq(layer.bodies, 5);
	KIND(&layer, x[0], 1, PHILOX_CALL_WARMUP);
	cr_assert_eq(counts_of(&layer).dry, 4);
	cr_assert_eq(counts_of(&layer).bodies, 8);
	SAME(call_forward(&layer, x[0], 1).saw, predict(0, "layer", 20), "5th");
}

RUNNER_PROMISE(runner_dry, may_be_all_there_is_before_a_recording)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	make_function_under(
		&layer, r, "layer",
		&(struct philox_policy){.dry = 1, .warmups = PHILOX_NEVER});
	for (uint32_t key = 0; key < 3; key++) {
		KIND(&layer, x, key, PHILOX_CALL_RECORD);
		cr_assert_eq(counts_of(&layer).dry, key + 1);
		cr_assert_eq(counts_of(&layer).bodies, 2 * (key + 1));
		KIND(&layer, x, key, PHILOX_CALL_REPLAY);
	}
	SAME(call_forward(&layer, x, 0).saw, predict(0, "layer", 24), "7th");
}

static enum philox_call_kind kinds[8];

static enum philox_status note_kind(struct layer *layer, struct philox_run *run)
{
	kinds[(layer->bodies - 1) % 8] = philox_run_kind(run);
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_dry, are_warm_ups_to_the_body)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	layer.hook = note_kind;
	make_function_under(
		&layer, r, "layer",
		&(struct philox_policy){.dry = 2, .warmups = PHILOX_NEVER});
	KIND(&layer, x, 0, PHILOX_CALL_RECORD);
	cr_assert_eq(kinds[0], PHILOX_CALL_WARMUP);
	cr_assert_eq(kinds[1], PHILOX_CALL_WARMUP);
	cr_assert_eq(kinds[2], PHILOX_CALL_RECORD);
}

/* --- what they leave ------------------------------------------------------ */

RUNNER_PROMISE(runner_dry, throw_their_outputs_away)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.dry = 5});
	for (uint32_t key = 0; key < 4; key++) {
		struct layer_call call = made_call(&layer, x, key);

		LIVE(f, r, 2);
		GOOD(r, &call);
		SAME(read_numbers(f, call.outputs[0].address),
		     predict(0, "layer", 4 * key), "key %u", key);
		SAME(read_numbers(f, call.outputs[1].address), all_words(3),
		     "key %u", key);
		release_outputs(&layer, &call);
		LIVE(f, r, 0);
	}
}

/* Numbers of `n` runs of a rich body that were dry. */
static void saw(struct rich *rich, unsigned first, unsigned n,
		struct numbers own)
{
	for (unsigned i = first; i < first + n; i++) {
		SAME(read_numbers(rich->f, rich->seen[i][0]), own,
		     "run %u draws what the next forward will draw", i);
		SAME(read_numbers(rich->f, rich->seen[i][1]), own,
		     "run %u: a linked backward repeats its forward", i);
		SAME(read_numbers(rich->f, rich->seen[i][2]),
		     read_numbers(rich->f, rich->seen[i][3]),
		     "run %u: linked backwards repeat the same", i);
	}
}

/* One ticket at most: a dry forward has none. */
static void consume_nothing(struct fixture *f, struct philox_runner *r,
			    const char *name, uint32_t shared, unsigned flags,
			    uint32_t warmups)
{
	char other[32] = "other ";
	struct rich rich = {.f = f, .flags = flags};
	struct numbers next;
	struct forward of;

	strcat(other, name);
	rich.own = make_region_with(f, name, 1, shared);
	rich.other = make_region_with(f, other, 1, shared);
	make_rich(&rich, r, name,
		  &(struct philox_policy){.dry = 3, .warmups = warmups});
	of = forward(f, rich.other);
	next = peek(f, rich.own);
	call_rich(&rich, &of, PHILOX_PASS_RETAIN,
		  warmups ? PHILOX_CALL_RECORD : PHILOX_CALL_WARMUP);
	cr_assert_eq(rich.bodies, 4);
	saw(&rich, 0, 3, next);
	call_rich(&rich, &of, PHILOX_PASS_RETAIN,
		  warmups ? PHILOX_CALL_REPLAY : PHILOX_CALL_RECORD);
	call_rich(&rich, &of, 0, PHILOX_CALL_REPLAY);
	/* a new key, and a ticket that goes in the call that finds it */
	of = forward(f, rich.other);
	rich.call.key = "other";
	rich.call.key_bytes = 5;
	next = peek(f, rich.own);
	call_rich(&rich, &of, 0,
		  warmups ? PHILOX_CALL_RECORD : PHILOX_CALL_WARMUP);
	saw(&rich, warmups ? 4 : 5, 3, next);
}

RUNNER_PROMISE(runner_dry, consume_no_number_and_no_ticket)
{
	consume_nothing(f, r, "plain", 0, 0, 0);
	consume_nothing(f, r, "shared", PHILOX_REGION_SHARED, 0, 0);
	consume_nothing(f, r, "cells", 0, PHILOX_PASS_ON_DEVICE, 0);
	consume_nothing(f, r, "shared cells", PHILOX_REGION_SHARED,
			PHILOX_PASS_ON_DEVICE, 0);
	consume_nothing(f, r, "recorded", 0, 0, PHILOX_NEVER);
	consume_nothing(f, r, "recorded shared", PHILOX_REGION_SHARED, 0,
			PHILOX_NEVER);
	consume_nothing(f, r, "recorded cells", 0, PHILOX_PASS_ON_DEVICE,
			PHILOX_NEVER);
}

/* As the plain program does, in a region whose numbers all forwards share. */
RUNNER_PROMISE(runner_dry, leave_the_order_of_a_shared_generator)
{
	struct fixture plain;
	struct layer layer = {.f = f, .runner = r};
	struct philox_region *alone;
	uint32_t *x = make_words(f, 3);

	fixture_open(&plain, philox_device_name(f->device));
	layer.region = make_region_with(f, "layer", 0, PHILOX_REGION_SHARED);
	alone = make_region_with(&plain, "layer", 0, PHILOX_REGION_SHARED);
	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.dry = 2});
	for (unsigned i = 0; i < 10; i++)
		SAME(call_forward(&layer, x, i % 3).saw,
		     forward(&plain, alone).saw, "call %u", i);
	cr_assert_eq(counts_of(&layer).dry, 6);
	fixture_close(&plain);
}

static unsigned released;

static void count_release(void *saved, philox_stream stream)
{
	(void)saved;
	(void)stream;
	released++;
}

static enum philox_status none_released(struct layer *layer,
					struct philox_run *run)
{
	(void)run;
	cr_assert_eq(released, 0);
	PENDING(layer->region, 1);
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_dry, keep_the_ticket_and_what_is_attached_to_it)
{
	struct duo duo;
	struct layer back;

	make_duo(f, r, &duo);
	back = duo.back;
	back.hook = none_released;
	make_function_under(&back, r, "dry", &(struct philox_policy){.dry = 2});
	for (uint32_t key = 0; key < 3; key++) {
		struct layer_call made = made_call(&duo.forth, duo.x, 0), call;

		released = 0;
		OK(philox_ticket_attach(back.region, made.use.ticket, f,
					count_release));
		tie_outputs(&duo.forth, &made, back.region, made.use.ticket);
		call = new_call(&back, made.outputs[1].address, key);
		call.x.output = &made.outputs[1];
		call.use.ticket = made.use.ticket;
		OK(try_call(&back, &call));
		cr_assert_eq(released, 1);
		OVER(r, &made);
		SAME(read_numbers(f, call.outputs[0].address),
		     predict(0, "layer", 4 * key), "key %u", key);
		release_outputs(&back, &call);
	}
	cr_assert_eq(counts_of(&back).dry, 6);
}

/* A call with a ticket that is over fails as without dry warm-ups. */
RUNNER_PROMISE(runner_dry, do_not_hide_a_ticket_that_is_over)
{
	struct layer back = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call call;
	struct forward made;

	back.backward = 1;
	make_function_under(&back, r, "back",
			    &(struct philox_policy){.dry = 1});
	made = forward(f, back.region);
	backward(f, &made, 0);
	call = new_call(&back, x, 0);
	call.use.ticket = made.ticket;
	FAILS(try_call(&back, &call), PHILOX_ERROR_RELEASED);
	LIVE(f, r, 0);
	made = forward(f, back.region);
	call.use.ticket = made.ticket;
	OK(try_call(&back, &call));
	SAME(read_numbers(f, call.outputs[0].address), made.saw, "back");
	release_outputs(&back, &call);
}

/* --- inputs, streams ------------------------------------------------------ */

RUNNER_PROMISE(runner_dry, read_what_the_call_reads)
{
	const struct philox_input_desc input = {
		.name = "x", .kind = PHILOX_INPUT_COPIED, .alignment = 64};
	struct layer layer = make_layer(f, r, "layer");
	struct philox_function_desc options = layer_options("layer", &layer);
	uint32_t *x = make_memory(f, BYTES + 4);
	struct numbers nines = all_words(9);

	OK(philox_memory_copy(f->device, f->stream, x + 1, &nines, BYTES));
	OK(philox_stream_synchronize(f->device, f->stream));
	options.inputs = &input;
	options.policy.dry = 2;
	make_function_of(&layer, r, &options);
	for (unsigned i = 0; i < 6; i++) {
		struct layer_call call = new_call(&layer, x + 1, i % 2);

		call.call.stream = i < 2 ? NULL : f->stream;
		OK(try_call(&layer, &call));
		SAME(read_numbers(f, call.outputs[0].address),
		     predict(0, "layer", 4 * i), "call %u", i);
		SAME(read_numbers(f, call.outputs[1].address), nines, "call %u",
		     i);
		release_outputs(&layer, &call);
	}
	cr_assert_eq(counts_of(&layer).dry, 4);
	cr_assert_eq(counts_of(&layer).replay, 2);
}
