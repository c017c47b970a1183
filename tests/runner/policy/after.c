/*
 * tests/runner/policy/after.c - which call is recorded: `after` and `again`
 */
#include "tests/support/beds/runner_scene.h"

enum { PLACES = 66 };

#define W PHILOX_CALL_WARMUP
#define E PHILOX_CALL_EAGER
#define R PHILOX_CALL_RECORD
#define P PHILOX_CALL_REPLAY

static void make_places(struct fixture *f, uint32_t *x[], uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		x[i] = make_words(f, i);
}

/* Calls with x[places[i]], whose kinds are these, and the numbers right. */
static void kinds_are(struct layer *layer, const char *name, uint32_t *x[],
		      const unsigned *places, const int *expected, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct layer_call call = made_call(layer, x[places[i]], 0);

		cr_assert_eq(call.call.kind, (uint32_t)expected[i],
			     "call %u is of kind %u, not %d: %s", i,
			     call.call.kind, expected[i],
			     philox_function_reason(layer->function));
		SAME(read_numbers(layer->f, call.outputs[0].address),
		     predict(0, name, 4 * i), "call %u", i);
		SAME(read_numbers(layer->f, call.outputs[1].address),
		     all_words(places[i]), "call %u", i);
		release_outputs(layer, &call);
		OK(philox_ticket_release(layer->region, layer->f->stream,
					 call.use.ticket));
	}
}

#define KINDS(layer, name, x, places, expected)     \
	kinds_are(layer, name, x, places, expected, \
		  sizeof(places) / sizeof((places)[0]))

/* --- after ---------------------------------------------------------------- */

RUNNER_PROMISE(runner_after, records_the_call_of_that_number)
{
	static const unsigned same[6] = {0};
	static const int kinds[5][6] = {{W, R, P, P, P, P},
					{W, R, P, P, P, P},
					{W, E, R, P, P, P},
					{W, E, E, R, P, P},
					{W, E, E, E, R, P}};
	static const char *const names[] = {"0", "1", "2", "3", "4"};
	uint32_t *x[1];

	make_places(f, x, 1);
	for (uint32_t after = 0; after < 5; after++) {
		struct layer layer = make_layer(f, r, names[after]);
		struct philox_function_stats counts;
		uint64_t early = after ? after - 1 : 0;

		make_function_under(&layer, r, names[after],
				    &(struct philox_policy){.after = after});
		KINDS(&layer, names[after], x, same, kinds[after]);
		counts = counts_of(&layer);
		cr_assert_eq(counts.eager, early);
		cr_assert_eq(counts.missed_early, early);
		cr_assert_eq(counts.missed_new, early + 1);
		cr_assert_eq(counts.missed_moved, 0);
		cr_assert_eq(counts.missed_limit, 0);
	}
}

RUNNER_PROMISE(runner_after, counts_each_set_of_addresses_by_itself)
{
	static const unsigned places[] = {0, 0, 1, 2, 1, 0, 2, 3, 2, 1, 0, 3};
	static const int kinds[] = {W, E, E, E, R, R, R, E, P, P, P, R};
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x[4];

	make_places(f, x, 4);
	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.after = 2});
	KINDS(&layer, "layer", x, places, kinds);
	cr_assert_eq(counts_of(&layer).missed_early, 4);
	cr_assert_eq(counts_of(&layer).missed_new, 4);
	cr_assert_eq(counts_of(&layer).missed_moved, 4);
}

RUNNER_PROMISE(runner_after, counts_each_key_by_itself)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	make_function_under(
		&layer, r, "layer",
		&(struct philox_policy){.after = 2, .warmups = PHILOX_NEVER});
	for (uint32_t key = 0; key < 3; key++)
		KIND(&layer, x, key, E);
	for (uint32_t key = 0; key < 3; key++)
		KIND(&layer, x, key, R);
	for (uint32_t key = 0; key < 3; key++)
		KIND(&layer, x, key, P);
}

/* An input that moves at each call is recorded for nothing. */
RUNNER_PROMISE(runner_after, never_records_what_always_moves)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x[PLACES];

	make_places(f, x, PLACES);
	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.after = 2});
	KIND(&layer, x[0], 0, W);
	for (int i = 0; i < PLACES; i++)
		KIND(&layer, x[i], 0, E);
	cr_assert_eq(counts_of(&layer).recordings, 0);
	cr_assert_eq(counts_of(&layer).missed_early, PLACES);
	cr_assert_eq(counts_of(&layer).missed_limit, 0);
}

/* 64 sets are remembered, and a 65th pushes the first one out. */
RUNNER_PROMISE(runner_after, remembers_64_sets)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x[PLACES];

	make_places(f, x, PLACES);
	make_function_under(
		&layer, r, "layer",
		&(struct philox_policy){.after = 2, .warmups = PHILOX_NEVER});
	for (int i = 0; i < 64; i++)
		KIND(&layer, x[i], 0, E);
	KIND(&layer, x[0], 0, R);
	for (int i = 0; i < 65; i++)
		KIND(&layer, x[i], 1, E);
	KIND(&layer, x[0], 1, E);
	KIND(&layer, x[0], 1, R);
}

/* The addresses of copied inputs are none of a set. */
RUNNER_PROMISE(runner_after, counts_no_address_of_a_copied_input)
{
	static const unsigned places[] = {0, 1, 2, 3, 0, 1};
	static const int kinds[] = {W, E, E, R, P, P};
	const struct philox_input_desc input = {.name = "x",
						.kind = PHILOX_INPUT_COPIED};
	struct layer layer = make_layer(f, r, "layer");
	struct philox_function_desc options = layer_options("layer", &layer);
	uint32_t *x[4];

	make_places(f, x, 4);
	options.inputs = &input;
	options.policy.after = 3;
	make_function_of(&layer, r, &options);
	KINDS(&layer, "layer", x, places, kinds);
}

/* With several warm-ups, and dry ones, it counts from the end of these. */
RUNNER_PROMISE(runner_after, does_not_count_warm_ups)
{
	static const unsigned same[8] = {0};
	static const int kinds[] = {W, W, W, E, E, R, P, P};
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x[1];

	make_places(f, x, 1);
	make_function_under(
		&layer, r, "layer",
		&(struct philox_policy){.after = 3, .warmups = 3, .dry = 2});
	KINDS(&layer, "layer", x, same, kinds);
}

/* --- tickets of forwards that wait ---------------------------------------- */

static enum philox_status refuses(struct layer *layer, struct philox_run *run)
{
	(void)layer;
	return philox_run_kind(run) == PHILOX_CALL_RECORD
		       ? philox_run_refuse(run, "host work")
		       : PHILOX_OK;
}

/* Backwards of the last 64 of them are not recorded; of one before they are. */
RUNNER_PROMISE(runner_after, remembers_64_tickets_of_forwards_that_wait)
{
	struct layer forth = {.f = f, .runner = r}, back;
	uint32_t *x[1];
	struct philox_ticket tickets[70];
	static const int order[] = {0, 69, 6, 30, 5};

	make_places(f, x, 1);
	forth.region = make_region_with(f, "layer", 100, 0);
	back = forth;
	back.backward = 1;
	forth.hook = refuses;
	make_function_under(&forth, r, "forth",
			    &(struct philox_policy){.retry = PHILOX_NEVER});
	make_function(&back, r, "back");
	for (int i = 0; i < 71; i++) {
		struct forward made = call_forward(&forth, x[0], 0);

		if (i) /* the first is a warm-up */
			tickets[i - 1] = made.ticket;
	}
	for (int i = 0; i < 5; i++) {
		struct layer_call call = new_call(&back, x[0], 0);

		call.use.ticket = tickets[order[i]];
		OK(try_call(&back, &call));
		cr_assert_eq(call.call.kind,
			     (uint32_t)(i == 0  ? W
					: i < 4 ? E
						: R),
			     "call %d: %s", i,
			     philox_function_reason(back.function));
		SAME(read_numbers(f, call.outputs[0].address),
		     predict(0, "layer", 4 * (uint64_t)(order[i] + 1)), "%d",
		     i);
		release_outputs(&back, &call);
	}
	cr_assert_eq(counts_of(&back).missed_refused, 3);
}

/* --- again ---------------------------------------------------------------- */

RUNNER_PROMISE(runner_again, records_one_more_after_so_many_calls)
{
	static const unsigned places[] = {0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 4, 8};
	static const int kinds[3][12] = {{W, R, E, E, E, R, E, E, E, R, P, P},
					 {W, R, E, E, E, E, E, E, E, E, E, E},
					 {W, R, E, E, E, E, E, E, E, E, E, E}};
	static const uint32_t again[3] = {3, 0, PHILOX_NEVER};
	static const char *const names[] = {"three", "none", "never"};
	uint32_t *x[10];

	make_places(f, x, 10);
	for (int i = 0; i < 3; i++) {
		struct layer layer = make_layer(f, r, names[i]);

		make_function_under(&layer, r, names[i],
				    &(struct philox_policy){
					    .limit = i == 2 ? PHILOX_NEVER : 1,
					    .again = again[i]});
		KINDS(&layer, names[i], x, places, kinds[i]);
		cr_assert_eq(counts_of(&layer).missed_limit,
			     counts_of(&layer).eager);
		cr_assert_eq(counts_of(&layer).missed_moved,
			     counts_of(&layer).eager +
				     counts_of(&layer).record - 1);
	}
}

/* It is for outputs that live, too, which `live` would record beside. */
RUNNER_PROMISE(runner_again, records_beside_outputs_that_live)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	static const int kinds[] = {R, E, E, R, E, E, R};
	struct layer_call calls[8];

	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.live = PHILOX_LIVE_RECORD,
						    .limit = 1,
						    .again = 2});
	KIND(&layer, x, 0, W);
	for (unsigned i = 0; i < 7; i++) {
		calls[i] = made_call(&layer, x, 0);
		cr_assert_eq(calls[i].call.kind, (uint32_t)kinds[i],
			     "call %u: kind %u", i, calls[i].call.kind);
	}
	for (unsigned i = 0; i < 7; i++) {
		SAME(read_numbers(f, calls[i].outputs[0].address),
		     predict(0, "layer", 4 * i + 4), "call %u", i);
		release_outputs(&layer, &calls[i]);
	}
	cr_assert_eq(counts_of(&layer).recordings, 3);
	cr_assert_eq(counts_of(&layer).missed_limit, 4);
}
