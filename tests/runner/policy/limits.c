/*
 * tests/runner/policy/limits.c - how many keys and bytes a function keeps
 */
#include "tests/support/beds/runner_scene.h"

enum { BYTES = WORDS * sizeof(uint32_t) };

static uint64_t graphs(struct philox_runner *r)
{
	return pool_look(philox_runner_pool(r)).graphs;
}

/* --- keys ----------------------------------------------------------------- */

RUNNER_PROMISE(runner_limits, drop_the_key_that_was_called_longest_ago)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.keys = 3});
	for (uint32_t key = 0; key < 3; key++)
		settle(&layer, x, key);
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY); /* now 1 is the oldest */
	cr_assert_eq(counts_of(&layer).keys_dropped, 0);
	KIND(&layer, x, 3, PHILOX_CALL_WARMUP);
	cr_assert_eq(counts_of(&layer).keys, 3);
	cr_assert_eq(counts_of(&layer).keys_dropped, 1);
	cr_assert_eq(counts_of(&layer).recordings, 2);
	OK(philox_device_synchronize(f->device));
	KIND(&layer, x, 2, PHILOX_CALL_REPLAY);
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
	cr_assert_eq(graphs(r), 2, "its graphs went, too: %d", (int)graphs(r));
	KIND(&layer, x, 3, PHILOX_CALL_RECORD);
	KIND(&layer, x, 1, PHILOX_CALL_WARMUP); /* new again; 2 goes */
	cr_assert_eq(counts_of(&layer).keys_dropped, 2);
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
	KIND(&layer, x, 3, PHILOX_CALL_REPLAY);
	KIND(&layer, x, 2, PHILOX_CALL_WARMUP);
	cr_assert_eq(counts_of(&layer).keys, 3);
}

/* What is drawn does not depend on what is kept. */
RUNNER_PROMISE(runner_limits, change_no_number)
{
	uint32_t *x = make_words(f, 3);
	static const char *const names[] = {"none", "one", "two", "three"};

	for (uint32_t keys = 0; keys < 4; keys++) {
		struct layer layer = make_layer(f, r, names[keys]);

		make_function_under(&layer, r, names[keys],
				    &(struct philox_policy){.keys = keys});
		for (unsigned i = 0; i < 40; i++) {
			struct forward made =
				call_forward(&layer, x, i * i / 3 % 5);

			SAME(made.saw, predict(0, names[keys], 4 * i),
			     "%s, call %u", names[keys], i);
			OK(philox_ticket_release(layer.region, f->stream,
						 made.ticket));
			cr_assert(!keys || counts_of(&layer).keys <= keys);
		}
		if (!keys)
			cr_assert_eq(counts_of(&layer).keys_dropped, 0);
		else
			cr_assert_gt(counts_of(&layer).keys_dropped, 0);
	}
}

RUNNER_PROMISE(runner_limits, never_drop_the_key_of_the_call)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.keys = 1, .bytes = 1});
	settle(&layer, x, 0);
	cr_assert_eq(counts_of(&layer).keys_dropped, 0);
	for (int i = 0; i < 4; i++) {
		KIND(&layer, x, 1, PHILOX_CALL_WARMUP);
		KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	}
	cr_assert_eq(counts_of(&layer).keys, 1);
	cr_assert_eq(counts_of(&layer).keys_dropped, 8);
	cr_assert_eq(graphs(r), 0);
	settle(&layer, x, 1);
}

RUNNER_PROMISE(runner_limits, of_0_keep_everything)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	make_function(&layer, r, "layer");
	for (uint32_t round = 0; round < 3; round++)
		for (uint32_t key = 0; key < 100; key++) {
			struct layer_call call = new_call(&layer, x, 0);

			call.call.key = &key;
			OK(try_call(&layer, &call));
			release_outputs(&layer, &call);
			OK(philox_ticket_release(layer.region, f->stream,
						 call.use.ticket));
		}
	cr_assert_eq(counts_of(&layer).keys, 100);
	cr_assert_eq(counts_of(&layer).replay, 100);
	cr_assert_eq(counts_of(&layer).keys_dropped, 0);
}

/* What is counted is what there is. */
RUNNER_PROMISE(runner_limits, take_what_was_counted_of_a_key)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct philox_function_stats counts;

	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.keys = 1});
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	KIND(&layer, x, 0, PHILOX_CALL_RECORD);
	counts = counts_of(&layer);
	cr_assert_eq(counts.unplayed, 1);
	cr_assert_gt(counts.bytes, 0);
	KIND(&layer, x, 1, PHILOX_CALL_WARMUP);
	counts = counts_of(&layer);
	cr_assert_eq(counts.unplayed, 0);
	cr_assert_eq(counts.recordings, 0);
	cr_assert_eq(counts.bytes, 0);
	cr_assert_eq(counts.keys, 1);
	cr_assert_eq(counts.record, 1, "calls are calls");
}

/* A call that fails may leave a new key; that is one of them. */
RUNNER_PROMISE(runner_limits, hold_for_keys_of_calls_that_failed)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.keys = 2});
	for (uint32_t key = 0; key < 6; key++) {
		struct layer_call call = new_call(&layer, x, key);

		layer.returns = PHILOX_ERROR_LIMIT;
		FAILS(try_call(&layer, &call), PHILOX_ERROR_LIMIT);
		layer.returns = PHILOX_OK;
		cr_assert_leq(counts_of(&layer).keys, 2);
	}
	settle(&layer, x, 0);
	settle(&layer, x, 1);
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
}

/* --- outputs that live ---------------------------------------------------- */

/* Key 0 has an output, of its newest recording. */
static void outputs_live(struct fixture *f, struct philox_runner *r,
			 unsigned recordings)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call kept;
	struct numbers saw;

	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.keys = 3});
	for (unsigned i = 1; i < recordings; i++)
		settle(&layer, make_words(f, 3 + i), 0);
	for (uint32_t key = 0; key < 3; key++)
		settle(&layer, x, key);
	kept = made_call(&layer, x, 0);
	saw = read_numbers(f, kept.outputs[0].address);
	settle(&layer, x, 1);
	settle(&layer, x, 2);
	for (uint32_t key = 3; key < 6; key++) { /* 1, 2 and 3 go */
		settle(&layer, x, key);
		cr_assert_eq(counts_of(&layer).keys, 3);
		SAME(read_numbers(f, kept.outputs[0].address), saw, "key %u",
		     key);
	}
	release_outputs(&layer, &kept);
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
	KIND(&layer, x, 1, PHILOX_CALL_WARMUP);
}

RUNNER_PROMISE(runner_limits, drop_keys_whose_outputs_live_after_all_others)
{
	outputs_live(f, r, 1);
}

RUNNER_PROMISE(runner_limits, ask_all_recordings_of_a_key_for_outputs_that_live)
{
	outputs_live(f, r, 3);
}

/* If all have such outputs, the oldest goes; its outputs stay. */
RUNNER_PROMISE(runner_limits, leave_the_outputs_of_keys_that_go)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call kept[4];
	struct numbers saw[4];

	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.keys = 2});
	for (uint32_t key = 0; key < 4; key++) {
		settle(&layer, x, key);
		kept[key] = made_call(&layer, x, key);
		cr_assert_eq(kept[key].call.kind, PHILOX_CALL_REPLAY);
		saw[key] = read_numbers(f, kept[key].outputs[0].address);
		cr_assert_leq(counts_of(&layer).keys, 2);
		for (uint32_t i = 0; i <= key; i++) {
			GOOD(r, &kept[i]);
			SAME(read_numbers(f, kept[i].outputs[0].address),
			     saw[i], "key %u", i);
			SAME(read_numbers(f, kept[i].outputs[1].address),
			     all_words(3), "key %u", i);
		}
	}
	cr_assert_eq(counts_of(&layer).keys_dropped, 2);
	LIVE(f, r, 8);
	for (int i = 0; i < 4; i++)
		release_outputs(&layer, &kept[i]);
	LIVE(f, r, 0);
	KIND(&layer, x, 2, PHILOX_CALL_REPLAY);
	KIND(&layer, x, 3, PHILOX_CALL_REPLAY);
	KIND(&layer, x, 1, PHILOX_CALL_WARMUP);
}

/* Outputs of a warm-up are no recording's. */
RUNNER_PROMISE(runner_limits, drop_keys_whose_bodies_gave_outputs_as_any_other)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call kept;

	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.keys = 2});
	kept = made_call(&layer, x, 0);
	KIND(&layer, x, 1, PHILOX_CALL_WARMUP);
	KIND(&layer, x, 2, PHILOX_CALL_WARMUP); /* 0 goes */
	KIND(&layer, x, 1, PHILOX_CALL_RECORD);
	GOOD(r, &kept);
	SAME(read_numbers(f, kept.outputs[0].address), predict(0, "layer", 0),
	     "its outputs stay");
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	release_outputs(&layer, &kept);
}

/* A tie ends with its ticket, whatever became of the key. */
RUNNER_PROMISE(runner_limits, leave_the_ties_of_keys_that_go)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call kept;

	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.keys = 1});
	settle(&layer, x, 0);
	kept = made_call(&layer, x, 0);
	tie_outputs(&layer, &kept, layer.region, kept.use.ticket);
	settle(&layer, x, 1);
	GOOD(r, &kept);
	SAME(read_numbers(f, kept.outputs[0].address), predict(0, "layer", 20),
	     "kept");
	plain_backward(&layer, kept.use.ticket, f->stream, 0);
	OVER(r, &kept);
	LIVE(f, r, 0);
}

/* Without an event its recordings wait, and no other call comes. */
RUNNER_PROMISE(runner_limits, leave_nothing_when_the_function_goes)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	f->injected = 1;
	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.keys = 1});
	settle(&layer, x, 0);
	OK(philox_device_fail(f->device, "event_create", 1,
			      PHILOX_ERROR_DEVICE));
	KIND(&layer, x, 1, PHILOX_CALL_WARMUP); /* 0 goes */
	cr_assert_eq(counts_of(&layer).recordings, 0);
	cr_assert_eq(graphs(r), 1, "nothing waits: %d", (int)graphs(r));
	OK(philox_function_destroy(layer.function));
	cr_assert_eq(graphs(r), 0, "its graph is left");
}

/* --- launches that are still running -------------------------------------- */

SLOW_PROMISE(runner_limits, do_not_hurt_launches_that_still_run)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	unsigned n = 0;

	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.keys = 1});
	for (unsigned round = 0; round < 5; round++) {
		struct numbers got[2];
		struct layer_call call;

		settle(&layer, x, 0);
		n += 5;
		delay(f, f->stream);
		call = made_call(&layer, x, 0);
		cr_assert_eq(call.call.kind, PHILOX_CALL_REPLAY);
		for (int k = 0; k < 2; k++)
			OK(philox_memory_copy(f->device, f->stream, &got[k],
					      call.outputs[k].address, BYTES));
		release_outputs(&layer, &call);
		OK(philox_ticket_release(layer.region, f->stream,
					 call.use.ticket));
		call = new_call(&layer, x, 1); /* now 0 goes */
		call.call.stream = round % 2 ? f->side : f->stream;
		OK(try_call(&layer, &call));
		OK(philox_device_synchronize(f->device));
		SAME(got[0], predict(0, "layer", 4 * n), "round %u", round);
		SAME(got[1], all_words(3), "round %u", round);
		SAME(read_numbers(f, call.outputs[0].address),
		     predict(0, "layer", 4 * n + 4), "round %u", round);
		release_outputs(&layer, &call);
		OK(philox_ticket_release(layer.region, f->stream,
					 call.use.ticket));
		n += 2;
	}
	cr_assert_eq(counts_of(&layer).keys_dropped, 9);
}

/* --- what else a key has -------------------------------------------------- */

/* A key that went is new: dry warm-ups, sizes of inputs, and what the body does. */
static enum philox_status any_size(void *user, struct philox_run *run)
{
	struct layer *layer = user;
	size_t bytes;
	void *x, *y;

	layer->bodies++;
	OK(philox_run_input(run, 0, &x, &bytes));
	return philox_run_alloc(run, bytes, 0, "y", &y);
}

RUNNER_PROMISE(runner_limits, forget_all_of_a_key)
{
	static const struct philox_input_desc input = {.name = "x"};
	struct layer layer = make_layer(f, r, "layer");
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	uint32_t *x = make_words(f, 3);
	struct layer_call call;

	options.name = "layer";
	options.body = any_size;
	options.user = &layer;
	options.inputs = &input;
	options.n_inputs = 1;
	options.policy.dry = 1;
	options.policy.keys = 1;
	make_function_of(&layer, r, &options);
	for (uint32_t i = 0; i < 6; i++) {
		call = new_call(&layer, x, i % 2);
		call.call.n_passes = 0;
		call.call.n_outputs = 0;
		call.x.bytes = 8 + 4 * i;
		OK(try_call(&layer, &call));
		cr_assert_eq(call.call.kind, PHILOX_CALL_WARMUP);
		cr_assert_eq(counts_of(&layer).dry, i + 1);
	}
	cr_assert_eq(layer.bodies, 12);
	call.x.bytes = 4;
	FAILS(try_call(&layer, &call), PHILOX_ERROR_INVALID);
	NAMES("under this key");
}

/* Backwards of forwards whose key went. */
RUNNER_PROMISE(runner_limits, leave_the_tickets_of_keys_that_go)
{
	struct layer forth = make_layer(f, r, "layer"), back = forth;
	uint32_t *x = make_words(f, 3);
	struct forward made[12];

	back.backward = 1;
	make_function_under(&forth, r, "forth",
			    &(struct philox_policy){.keys = 1});
	make_function_under(&back, r, "back",
			    &(struct philox_policy){.keys = 1});
	for (uint32_t i = 0; i < 12; i++)
		made[i] = call_forward(&forth, x, i / 3);
	for (uint32_t i = 12; i--;) {
		struct layer_call call = new_call(&back, x, i / 3);

		call.use.ticket = made[i].ticket;
		OK(try_call(&back, &call));
		SAME(read_numbers(f, call.outputs[0].address), made[i].saw,
		     "%u", i);
		release_outputs(&back, &call);
	}
	PENDING(forth.region, 0);
	cr_assert_eq(counts_of(&back).replay, 4);
}
