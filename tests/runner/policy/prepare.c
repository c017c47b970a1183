/*
 * tests/runner/policy/prepare.c - calls that are recorded ahead
 */
#include "tests/support/beds/runner_scene.h"

enum { BYTES = WORDS * sizeof(uint32_t) };

/* --- what it is for ------------------------------------------------------- */

RUNNER_PROMISE(runner_prepare, makes_first_calls_replays)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call calls[4];
	struct philox_function_stats counts;

	make_function(&layer, r, "layer");
	for (uint32_t i = 0; i < 4; i++)
		calls[i] = new_call(&layer, x, i);
	PREPARED(&layer, calls, 4, 4);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(calls[i].call.kind, PHILOX_CALL_RECORD);
	counts = counts_of(&layer);
	cr_assert_eq(layer.bodies, 4);
	cr_assert_eq(counts.bodies, 4);
	cr_assert_eq(counts.prepared, 4);
	cr_assert_eq(counts.recordings, 4);
	cr_assert_eq(counts.keys, 4);
	cr_assert_eq(counts.unplayed, 0, "prepared ones do not count");
	cr_assert_eq(counts.record + counts.warmup + counts.eager +
			     counts.replay + counts.failed,
		     0, "no call was made");
	PENDING(layer.region, 0);
	LIVE(f, r, 0);
	for (unsigned i = 0; i < 8; i++)
		SAME(call_forward(&layer, x, i % 4).saw,
		     predict(0, "layer", 4 * i), "call %u", i);
	counts = counts_of(&layer);
	cr_assert_eq(counts.replay, 8);
	cr_assert_eq(counts.bodies, 4);
	cr_assert_eq(counts.missed_new, 0);
}

RUNNER_PROMISE(runner_prepare, may_be_done_again_and_twice_in_a_list)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call calls[3];

	make_function(&layer, r, "layer");
	for (uint32_t i = 0; i < 3; i++)
		calls[i] = new_call(&layer, x, i / 2);
	PREPARED(&layer, calls, 3, 3);
	cr_assert_eq(calls[0].call.kind, PHILOX_CALL_RECORD);
	cr_assert_eq(calls[1].call.kind, PHILOX_CALL_NONE, "it is the first");
	cr_assert_eq(calls[2].call.kind, PHILOX_CALL_RECORD);
	PREPARED(&layer, calls, 3, 3);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(calls[i].call.kind, PHILOX_CALL_NONE);
	cr_assert_eq(layer.bodies, 2);
	KIND(&layer, x, 2, PHILOX_CALL_WARMUP);
	KIND(&layer, x, 2, PHILOX_CALL_RECORD);
	calls[0] = new_call(&layer, x, 2);
	PREPARED(&layer, calls, 1, 1);
	cr_assert_eq(calls[0].call.kind, PHILOX_CALL_NONE);
	cr_assert_eq(counts_of(&layer).prepared, 2);
	OK(try_prepare(&layer, calls, 1, NULL));
	OK(philox_function_prepare(layer.function, NULL, 0, NULL));
	KIND(&layer, x, 1, PHILOX_CALL_REPLAY);
}

/* --- what it does not do -------------------------------------------------- */

static enum philox_status touch(struct layer *layer, struct philox_run *run)
{
	return philox_memory_set(layer->f->device, philox_run_stream(run),
				 layer->f->scratch, 0x55, BYTES);
}

RUNNER_PROMISE(runner_prepare, launches_nothing)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call call = new_call(&layer, x, 0);
	uint64_t launched = calls_of(f, "exec_launch");

	layer.hook = touch;
	make_function(&layer, r, "layer");
	OK(philox_memory_set(f->device, f->stream, f->scratch, 0x11, BYTES));
	PREPARED(&layer, &call, 1, 1);
	cr_assert_eq(calls_of(f, "exec_launch"), launched);
	cr_assert(holds_value(f, f->scratch, BYTES, 0x11));
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
	cr_assert(holds_value(f, f->scratch, BYTES, 0x55));
}

static void consumes_nothing(struct fixture *f, struct philox_runner *r,
			     const char *name, uint32_t shared, unsigned flags,
			     uint32_t dry)
{
	char other[32] = "other ";
	struct rich rich = {.f = f, .flags = flags};
	const struct philox_policy policy = {.dry = dry};
	struct ledger_view own, named;
	struct forward of;
	size_t prepared;

	strcat(other, name);
	rich.own = make_region_with(f, name, 1, shared);
	rich.other = make_region_with(f, other, 1, shared);
	make_rich(&rich, r, name, &policy);
	of = forward(f, rich.other); /* no room for another */
	own = look(f, rich.own);
	named = look(f, rich.other);
	rich.call.passes = NULL;
	OK(philox_function_prepare(rich.function, &rich.call, 1, &prepared));
	cr_assert_eq(prepared, 1);
	cr_assert_eq(rich.call.kind, PHILOX_CALL_RECORD);
	cr_assert_eq(rich.bodies, 1 + dry);
	unchanged(f, rich.own, &own);
	unchanged(f, rich.other, &named);
	LIVE(f, r, 0);
	rich.call.passes = rich.uses;
	call_rich(&rich, &of, PHILOX_PASS_RETAIN, PHILOX_CALL_REPLAY);
	call_rich(&rich, &of, 0, PHILOX_CALL_REPLAY);
	cr_assert_eq(rich.bodies, 1 + dry);
}

RUNNER_PROMISE(runner_prepare, consumes_no_number_and_no_ticket)
{
	consumes_nothing(f, r, "plain", 0, 0, 0);
	consumes_nothing(f, r, "shared", PHILOX_REGION_SHARED, 0, 0);
	consumes_nothing(f, r, "cells", 0, PHILOX_PASS_ON_DEVICE, 0);
	consumes_nothing(f, r, "dry", 0, 0, 2);
	consumes_nothing(f, r, "dry shared", PHILOX_REGION_SHARED, 0, 2);
	consumes_nothing(f, r, "dry cells", 0, PHILOX_PASS_ON_DEVICE, 2);
}

/* What stands in `uses` and `outputs` is neither read nor written. */
RUNNER_PROMISE(runner_prepare, reads_no_ticket)
{
	struct duo duo;
	struct forward made;
	struct layer_call call, back;
	struct philox_output before;
	size_t prepared;

	make_duo(f, r, &duo);
	made = forward(f, duo.forth.region);
	for (uint32_t key = 0; key < 2; key++) {
		back = new_call(&duo.back, duo.x, key);
		memset(&back.outputs, 0x77, sizeof(back.outputs));
		before = back.outputs[1];
		back.call.inputs = &back.x;
		back.call.passes = &back.use;
		back.call.outputs = back.outputs;
		back.use.ticket = (struct philox_ticket){8, 123456};
		OK(philox_function_prepare(duo.back.function, &back.call, 1,
					   &prepared));
		cr_assert_eq(prepared, 1);
		cr_assert_eq(back.use.ticket.serial, 123456);
		cr_assert_eq(memcmp(&before, &back.outputs[1], sizeof(before)),
			     0);
		PENDING(duo.forth.region, 1);
		call = new_call(&duo.back, duo.x, key);
		call.use.ticket = made.ticket;
		call.use.flags = key ? 0 : PHILOX_PASS_RETAIN;
		OK(try_call(&duo.back, &call));
		cr_assert_eq(call.call.kind, PHILOX_CALL_REPLAY);
		SAME(read_numbers(f, call.outputs[0].address), made.saw,
		     "back");
		release_outputs(&duo.back, &call);
	}
	PENDING(duo.forth.region, 0);
}

/* A list of calls that are to come may say how many outputs they will have. */
RUNNER_PROMISE(runner_prepare, needs_no_room_for_outputs)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call call = new_call(&layer, x, 0);

	make_function(&layer, r, "layer");
	call.call.inputs = &call.x;
	call.call.passes = NULL;
	call.call.outputs = NULL;
	call.call.n_outputs = 2;
	OK(philox_function_prepare(layer.function, &call.call, 1, NULL));
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
}

/* A key is warmed up by dry warm-ups alone. */
RUNNER_PROMISE(runner_prepare, leaves_no_warm_up_to_calls)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x[3] = {make_words(f, 0), make_words(f, 1), make_words(f, 2)};
	struct layer_call calls[2];

	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.warmups = 3, .dry = 2});
	calls[0] = new_call(&layer, x[0], 0);
	calls[1] = new_call(&layer, x[1], 0);
	PREPARED(&layer, calls, 2, 2);
	cr_assert_eq(counts_of(&layer).dry, 2, "once for a key");
	cr_assert_eq(counts_of(&layer).bodies, 4);
	cr_assert_eq(counts_of(&layer).prepared, 2);
	KIND(&layer, x[2], 0, PHILOX_CALL_RECORD);
	cr_assert_eq(counts_of(&layer).missed_moved, 1);
	for (int i = 0; i < 3; i++)
		KIND(&layer, x[i], 0, PHILOX_CALL_REPLAY);
	KIND(&layer, x[0], 1, PHILOX_CALL_WARMUP);
	calls[0] = new_call(&layer, x[0], 1);
	PREPARED(&layer, calls, 1, 1);
	cr_assert_eq(counts_of(&layer).dry, 4, "that key was not new");
	KIND(&layer, x[0], 1, PHILOX_CALL_REPLAY);
	KIND(&layer, x[1], 1, PHILOX_CALL_RECORD);
	cr_assert_eq(counts_of(&layer).warmup, 1);
}

/* --- and the policy ------------------------------------------------------- */

/* What was prepared and never replayed was not wasted. */
RUNNER_PROMISE(runner_prepare, wastes_nothing)
{
	struct layer layer = make_layer(f, r, "layer");
	struct layer_call calls[4];
	uint32_t *x[8];

	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.recordings = 4});
	for (uint32_t i = 0; i < 8; i++)
		x[i] = make_words(f, i);
	for (int i = 0; i < 4; i++)
		calls[i] = new_call(&layer, x[i], 0);
	PREPARED(&layer, calls, 4, 4);
	cr_assert_eq(counts_of(&layer).unplayed, 0);
	for (int i = 4; i < 8; i++)
		KIND(&layer, x[i], 0, PHILOX_CALL_RECORD);
	cr_assert_eq(counts_of(&layer).unplayed, 4);
	cr_assert_eq(counts_of(&layer).evicted, 4);
	cr_assert_eq(counts_of(&layer).missed_bound, 0);
}

RUNNER_PROMISE(runner_prepare, of_more_than_the_bound_keeps_the_last_ones)
{
	struct layer layer = make_layer(f, r, "layer");
	struct layer_call calls[5];
	uint32_t *x[5];

	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.recordings = 3});
	for (uint32_t i = 0; i < 5; i++) {
		x[i] = make_words(f, i);
		calls[i] = new_call(&layer, x[i], 0);
	}
	PREPARED(&layer, calls, 5, 3);
	for (int i = 2; i < 5; i++)
		KIND(&layer, x[i], 0, PHILOX_CALL_REPLAY);
	KIND(&layer, x[0], 0, PHILOX_CALL_RECORD);
	cr_assert_eq(counts_of(&layer).missed_evicted, 1);
}

/* A body that asks for one more warm-up gets it, as a dry one. */
static enum philox_status tunes(struct layer *layer, struct philox_run *run)
{
	return layer->bodies <= 3 ? philox_run_again(run) : PHILOX_OK;
}

RUNNER_PROMISE(runner_prepare, gives_a_body_the_warm_ups_that_it_asks_for)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call call = new_call(&layer, x, 0);

	layer.hook = tunes;
	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.dry = 1});
	PREPARED(&layer, &call, 1, 1);
	cr_assert_eq(layer.bodies, 5, "%u runs", layer.bodies);
	cr_assert_eq(counts_of(&layer).dry, 4);
	SAME(call_forward(&layer, x, 0).saw, predict(0, "layer", 0), "first");
	cr_assert_eq(counts_of(&layer).replay, 1);
}

/* Of more keys than there may be the first ones go, and are not counted. */
RUNNER_PROMISE(runner_prepare, counts_what_is_left_of_too_many_keys)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call calls[5];

	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.keys = 3});
	for (uint32_t i = 0; i < 5; i++)
		calls[i] = new_call(&layer, x, i);
	PREPARED(&layer, calls, 5, 3);
	cr_assert_eq(counts_of(&layer).keys, 3);
	cr_assert_eq(counts_of(&layer).keys_dropped, 2);
	cr_assert_eq(counts_of(&layer).prepared, 5);
	for (uint32_t i = 2; i < 5; i++)
		KIND(&layer, x, i, PHILOX_CALL_REPLAY);
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
}
