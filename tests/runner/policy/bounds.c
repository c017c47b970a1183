/*
 * tests/runner/policy/bounds.c - how many recordings a key keeps, what becomes
 * of the others, and which inputs are copied
 *
 * The programs of the first section are those that the defaults are for.
 */
#include <stdlib.h>
#include "tests/support/beds/runner_scene.h"

#define W PHILOX_CALL_WARMUP
#define E PHILOX_CALL_EAGER
#define R PHILOX_CALL_RECORD
#define P PHILOX_CALL_REPLAY

enum { MOVES = PHILOX_AUTOMATIC_MOVES };

static void make_places(struct fixture *f, uint32_t *x[], uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		x[i] = make_words(f, i);
}

static void make_with_input(struct layer *layer, struct philox_runner *r,
			    const char *name, uint32_t kind, uint32_t flags,
			    const struct philox_policy *policy)
{
	const struct philox_input_desc x = {
		.name = "x", .kind = kind, .flags = flags};
	struct philox_function_desc options = layer_options(name, layer);

	options.inputs = &x;
	if (policy)
		options.policy = *policy;
	make_function_of(layer, r, &options);
}

/* --- programs that the defaults are for ----------------------------------- */

enum { STEPS = 50, FORWARDS = 4 };

RUNNER_PROMISE(runner_bounds, four_forwards_and_four_backwards_are_replayed)
{
	struct duo duo;
	struct layer_call forths[FORWARDS], back;

	make_duo(f, r, &duo);
	for (unsigned step = 0; step < STEPS; step++) {
		for (int i = 0; i < FORWARDS; i++)
			forths[i] = made_call(&duo.forth, duo.x, 0);
		for (int i = 0; i < FORWARDS; i++) {
			back = made_backward(&duo.back, &forths[i], 0);
			release_outputs(&duo.back, &back);
			release_outputs(&duo.forth, &forths[i]);
		}
	}
	cr_assert_eq(counts_of(&duo.forth).eager, 0);
	cr_assert_eq(counts_of(&duo.back).eager, 0);
	cr_assert_eq(counts_of(&duo.forth).recordings, FORWARDS);
	cr_assert_eq(counts_of(&duo.forth).replay,
		     STEPS * FORWARDS - FORWARDS - 1);
	cr_assert_geq(counts_of(&duo.back).replay,
		      STEPS * FORWARDS - 2 * FORWARDS - 1);
}

enum { FUNCTIONS = 5, HELD = 6, CALLS = 3000 };

struct held_call {
	struct layer *layer;
	struct layer_call call;
};

static void drop_held(struct held_call *held)
{
	release_outputs(held->layer, &held->call);
	OK(philox_ticket_release(held->layer->region, held->layer->f->stream,
				 held->call.use.ticket));
}

/* Calls of some functions, whose outputs are released in any order. */
static void call_at_random(struct fixture *f, struct philox_runner *r,
			   struct layer layers[FUNCTIONS])
{
	static const char *const names[FUNCTIONS] = {"a", "b", "c", "d", "e"};
	struct held_call held[HELD];
	uint32_t *x = make_words(f, 3);
	unsigned n = 0;

	srand(20);
	for (int i = 0; i < FUNCTIONS; i++) {
		layers[i] = make_layer(f, r, names[i]);
		make_function(&layers[i], r, names[i]);
	}
	for (int i = 0; i < CALLS; i++) {
		struct layer *layer = &layers[rand() % FUNCTIONS];

		if (n == HELD || (n && rand() % 2)) {
			const unsigned k = (unsigned)rand() % n;

			drop_held(&held[k]);
			held[k] = held[--n];
		}
		held[n].layer = layer;
		held[n++].call = made_call(layer, x, 0);
	}
	while (n)
		drop_held(&held[--n]);
}

RUNNER_PROMISE(runner_bounds, functions_in_random_order_are_replayed)
{
	struct layer layers[FUNCTIONS];
	uint64_t replays = 0, records = 0;

	call_at_random(f, r, layers);
	for (int i = 0; i < FUNCTIONS; i++) {
		const struct philox_function_stats counts =
			counts_of(&layers[i]);

		cr_assert_eq(counts.eager, 0);
		cr_assert_leq(counts.recordings, 64);
		replays += counts.replay;
		records += counts.record;
	}
	cr_assert_geq(1000 * replays, 970 * CALLS, "%d replays, %d records",
		      (int)replays, (int)records);
}

/* x moves at every second call, and never comes back. */
static void move_every_second_call(struct layer *layer, int calls)
{
	for (int i = 0; i < calls / 2; i++) {
		uint32_t *x = make_words(layer->f, 3);

		kind_of_call(layer, x, 0);
		kind_of_call(layer, x, 0);
	}
}

RUNNER_PROMISE(runner_bounds, an_automatic_input_that_moves_is_copied)
{
	struct layer layer = make_layer(f, r, "layer");

	make_with_input(&layer, r, "layer", PHILOX_INPUT_AUTOMATIC, 0, NULL);
	move_every_second_call(&layer, 400);
	cr_assert_eq(counts_of(&layer).warmup, 1);
	cr_assert_eq(counts_of(&layer).eager, 0);
	cr_assert_eq(counts_of(&layer).recordings, 1);
	/* where it was first, each move, and the copy */
	cr_assert_eq(counts_of(&layer).record, 1 + MOVES + 1);
	cr_assert_eq(counts_of(&layer).replay, 400 - 1 - (1 + MOVES + 1));
}

RUNNER_PROMISE(runner_bounds, a_static_input_that_moves_keeps_to_the_bound)
{
	struct layer layer = make_layer(f, r, "layer");

	make_with_input(&layer, r, "layer", PHILOX_INPUT_STATIC, 0, NULL);
	move_every_second_call(&layer, 400);
	cr_assert_eq(counts_of(&layer).copies, 0, "it is never copied");
	cr_assert_eq(counts_of(&layer).recordings, PHILOX_RECORDINGS);
	cr_assert_eq(counts_of(&layer).eager, 0, "each is replayed once");
	cr_assert_eq(counts_of(&layer).record, 200);
	cr_assert_eq(counts_of(&layer).replay, 199);
	cr_assert_eq(counts_of(&layer).evicted, 200 - PHILOX_RECORDINGS);
}

/* --- recordings of a key -------------------------------------------------- */

RUNNER_PROMISE(runner_bounds, the_least_recently_used_recording_is_evicted)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x[3];

	make_places(f, x, 3);
	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.recordings = 2});
	KIND(&layer, x[0], 0, W);
	for (int i = 0; i < 2; i++) {
		KIND(&layer, x[i], 0, R);
		KIND(&layer, x[i], 0, P);
	}
	KIND(&layer, x[0], 0, P);
	log_texts(f);
	KIND(&layer, x[2], 0, R); /* 1 goes */
	LOGGED("evicted|-|-|function 'layer' evicts recording 2 for "
	       "policy.recordings; it was replayed 1 time\n");
	KIND(&layer, x[2], 0, P);
	KIND(&layer, x[0], 0, P);
	cr_assert_eq(counts_of(&layer).missed_evicted, 0);
	KIND(&layer, x[1], 0, R); /* and is recorded again; 2 goes */
	cr_assert_eq(counts_of(&layer).missed_evicted, 1);
	cr_assert_str_eq(philox_function_reason(layer.function),
			 "its recording was evicted, for policy.recordings");
	KIND(&layer, x[0], 0, P);
	KIND(&layer, x[1], 0, P);
	cr_assert_eq(counts_of(&layer).evicted, 2);
	cr_assert_eq(counts_of(&layer).missed_bound, 0);
}

RUNNER_PROMISE(runner_bounds, recordings_with_live_outputs_go_last)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x[3];
	struct layer_call kept;

	make_places(f, x, 3);
	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.recordings = 2});
	settle(&layer, x[0], 0);
	kept = made_call(&layer, x[0], 0);
	KIND(&layer, x[1], 0, R);
	KIND(&layer, x[1], 0, P);
	KIND(&layer, x[2], 0, R); /* 1 goes, though 0 was used before it */
	KIND(&layer, x[2], 0, P);
	release_outputs(&layer, &kept);
	KIND(&layer, x[0], 0, P);
	KIND(&layer, x[1], 0, R);
	cr_assert_eq(counts_of(&layer).missed_evicted, 1);
}

/* Its outputs are the caller's, whatever becomes of it. */
RUNNER_PROMISE(runner_bounds, outputs_of_a_recording_that_was_evicted_stay)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x[6];
	struct layer_call kept[6];

	make_places(f, x, 6);
	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.recordings = 1,
						    .warmups = PHILOX_NEVER});
	for (unsigned i = 0; i < 6; i++)
		kept[i] = made_call(&layer, x[i], 0);
	for (unsigned i = 0; i < 6; i++) {
		GOOD(r, &kept[i]);
		SAME(read_numbers(f, kept[i].outputs[0].address),
		     predict(0, "layer", 4 * i), "call %u", i);
		SAME(read_numbers(f, kept[i].outputs[1].address), all_words(i),
		     "call %u", i);
		release_outputs(&layer, &kept[i]);
	}
	LIVE(f, r, 0);
}

/* One place more than the bound, in turn: all but one are replayed. */
RUNNER_PROMISE(runner_bounds, a_key_that_wastes_recordings_keeps_them)
{
	struct layer layer = make_layer(f, r, "layer");
	struct philox_function_stats before, after;
	uint32_t *x[5];

	make_places(f, x, 5);
	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.recordings = 4});
	log_texts(f);
	for (int i = 0; i < 20; i++)
		kind_of_call(&layer, x[i % 5], 0);
	before = counts_of(&layer);
	for (int i = 0; i < 400; i++)
		kind_of_call(&layer, x[i % 5], 0);
	after = counts_of(&layer);
	cr_assert_eq(after.record, before.record);
	cr_assert_eq(after.replay - before.replay, 4 * 80);
	cr_assert_eq(after.eager - before.eager, 80);
	cr_assert_eq(after.missed_bound - before.missed_bound, 80);
	LOGGED("; its key keeps the recordings that it has");
	cr_assert_null(strstr(strstr(logged_texts(), "its key keeps") + 1,
			      "its key keeps"),
		       "it is said once");
}

/* What never comes back is tried again more and more rarely. */
RUNNER_PROMISE(runner_bounds, a_key_that_only_wastes_ends_with_its_body)
{
	struct layer layer = make_layer(f, r, "layer");
	uint64_t records[3];
	uint32_t *x[64];

	make_places(f, x, 64);
	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.recordings = 2});
	for (int k = 0; k < 3; k++) {
		for (int i = 0; i < 640 << k; i++)
			kind_of_call(&layer, x[i % 64], 0);
		records[k] = counts_of(&layer).record;
	}
	cr_assert_leq(records[0], 16, "%d", (int)records[0]);
	cr_assert_leq(records[1] - records[0], 4);
	cr_assert_leq(records[2] - records[1], 4);
	cr_assert_leq(counts_of(&layer).recordings, 2);
}

/* Places of another phase of the program are recorded in the end. */
RUNNER_PROMISE(runner_bounds, recordings_that_are_no_longer_used_go)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x[16];

	make_places(f, x, 16);
	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.recordings = 4});
	for (int i = 0; i < 10; i++)
		kind_of_call(&layer, x[i], 0); /* wasted */
	for (int i = 0; i < 100; i++)
		kind_of_call(&layer, x[12 + i % 4], 0);
	for (int i = 0; i < 4; i++)
		KIND(&layer, x[12 + i], 0, P);
}

/* --- bytes ---------------------------------------------------------------- */

enum { LARGE = 3 << 20 };

static enum philox_status large_body(void *user, struct philox_run *run)
{
	void *y;
	enum philox_status status = philox_run_alloc(run, LARGE, 0, "y", &y);

	(void)user;
	return status == PHILOX_OK ? philox_run_output(run, 0, y, LARGE)
				   : status;
}

static struct philox_function *make_large(struct philox_runner *r,
					  uint64_t bytes)
{
	static const struct philox_output_desc output = {.name = "y"};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_function *function;

	options.name = "large";
	options.body = large_body;
	options.outputs = &output;
	options.n_outputs = 1;
	options.policy.bytes = bytes;
	options.policy.warmups = PHILOX_NEVER;
	OK(philox_function_create(r, &options, &function));
	return function;
}

static struct philox_output call_large(struct fixture *f,
				       struct philox_function *function,
				       enum philox_call_kind kind)
{
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_output output;

	call.stream = f->stream;
	call.outputs = &output;
	call.n_outputs = 1;
	OK(philox_function_call(function, &call));
	cr_assert_eq(call.kind, (uint32_t)kind, "%s",
		     philox_function_reason(function));
	return output;
}

static struct philox_function_stats stats_of(struct philox_function *function)
{
	struct philox_function_stats stats =
		PHILOX_INIT(struct philox_function_stats);

	OK(philox_function_get_stats(function, &stats));
	return stats;
}

/* Each is beside the outputs of those before it, so in memory of its own. */
RUNNER_PROMISE(runner_bounds, bytes_count_the_memory_that_one_recording_keeps)
{
	struct philox_function *large = make_large(r, 0);
	struct philox_output outputs[5];

	for (unsigned i = 0; i < 5; i++) {
		outputs[i] = call_large(f, large, R);
		cr_assert_geq(stats_of(large).pool_bytes, LARGE, "%u: %d bytes",
			      i, (int)stats_of(large).pool_bytes);
		cr_assert_leq(stats_of(large).pool_bytes,
			      pool_look(philox_runner_pool(r)).mapped);
		cr_assert_lt(stats_of(large).pool_bytes, stats_of(large).bytes);
	}
	cr_assert_geq(stats_of(large).pool_bytes, 5 * (uint64_t)(1 << 20));
	for (int i = 0; i < 5; i++)
		OK(philox_output_release(r, f->stream, &outputs[i]));
	OK(philox_device_synchronize(f->device));
	OK(philox_function_destroy(large));
}

RUNNER_PROMISE(runner_bounds, of_bytes_evict_what_has_memory_of_its_own)
{
	struct philox_function *large = make_large(r, 3 * LARGE + (1 << 20));
	struct philox_output outputs[5];

	for (int i = 0; i < 4; i++)
		outputs[i] = call_large(f, large, R);
	outputs[4] = call_large(f, large, E); /* one was wasted */
	cr_assert_eq(stats_of(large).recordings, 3);
	cr_assert_eq(stats_of(large).missed_bound, 1);
	cr_assert_leq(stats_of(large).bytes, 3 * LARGE + (1 << 20));
	cr_assert_eq(stats_of(large).evicted, 1);
	for (int i = 0; i < 5; i++)
		OK(philox_output_release(r, f->stream, &outputs[i]));
	OK(philox_device_synchronize(f->device));
	for (int i = 0; i < 3; i++) {
		outputs[0] = call_large(f, large, P);
		OK(philox_device_synchronize(f->device));
		OK(philox_output_release(r, f->stream, &outputs[0]));
	}
	cr_assert_eq(pool_look(philox_runner_pool(r)).graphs, 3);
}

/* Keys in turn that are too many for the bytes: the function keeps some. */
RUNNER_PROMISE(runner_bounds, a_function_that_wastes_recordings_keeps_them)
{
	struct layer layer = make_layer(f, r, "layer");
	struct layer other = make_layer(f, r, "other");
	struct philox_function_stats before, after;
	uint32_t *x[6];
	uint64_t bytes;

	make_places(f, x, 6);
	make_function(&other, r, "other"); /* has the first extent, too */
	settle(&other, x[0], 0);
	KIND(&other, x[1], 0, R);
	bytes = counts_of(&other).bytes / 2;
	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.bytes = 7 * bytes / 2});
	for (int i = 0; i < 60; i++)
		kind_of_call(&layer, x[0], (uint32_t)i % 6);
	before = counts_of(&layer);
	for (int i = 0; i < 60; i++)
		kind_of_call(&layer, x[0], (uint32_t)i % 6);
	after = counts_of(&layer);
	cr_assert_gt(after.replay - before.replay, 20, "%d replays",
		     (int)(after.replay - before.replay));
	cr_assert_leq(after.record - before.record, 6, "%d recordings",
		      (int)(after.record - before.record));
	cr_assert_gt(after.missed_bound, before.missed_bound);
	cr_assert(strstr(philox_function_reason(layer.function),
			 "the function keeps the recordings that it has, for "
			 "policy.bytes"));
}

/* --- automatic inputs ----------------------------------------------------- */

RUNNER_PROMISE(runner_bounds, an_automatic_input_that_comes_back_is_static)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x[8];

	make_places(f, x, 8);
	make_with_input(&layer, r, "layer", PHILOX_INPUT_AUTOMATIC, 0, NULL);
	KIND(&layer, x[0], 0, W);
	for (int round = 0; round < 8; round++)
		for (int i = 0; i < 8; i++)
			KIND(&layer, x[i], 0, round ? P : R);
	cr_assert_eq(counts_of(&layer).copies, 0);
	cr_assert_eq(counts_of(&layer).recordings, 8);
}

/* Eight new ones and an old one, again and again: none is in a row of 16. */
RUNNER_PROMISE(runner_bounds, moves_count_from_the_last_return)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x[33];

	make_places(f, x, 33);
	make_with_input(&layer, r, "layer", PHILOX_INPUT_AUTOMATIC, 0, NULL);
	KIND(&layer, x[0], 0, W);
	KIND(&layer, x[0], 0, R);
	for (int i = 1; i < 33; i++) {
		KIND(&layer, x[i], 0, R);
		if (i % 8 == 0)
			KIND(&layer, x[i - 1], 0, P);
	}
	cr_assert_eq(counts_of(&layer).copies, 0);
}

static void never_copied(struct fixture *f, struct philox_runner *r,
			 const char *name, uint32_t kind, uint32_t flags)
{
	struct layer layer = make_layer(f, r, name);

	make_with_input(&layer, r, name, kind, flags, NULL);
	for (int i = 0; i < 3 * MOVES; i++)
		kind_of_call(&layer, make_words(f, 3), 0);
	cr_assert_eq(counts_of(&layer).copies, 0, "%s", name);
	cr_assert_eq(counts_of(&layer).eager, 0, "%s", name);
}

RUNNER_PROMISE(runner_bounds, what_is_written_to_stays_in_place)
{
	never_copied(f, r, "static", PHILOX_INPUT_STATIC, 0);
	never_copied(f, r, "mutated", PHILOX_INPUT_AUTOMATIC,
		     PHILOX_INPUT_MUTATED);
}

static enum philox_status answer_in_x(void *user, struct philox_run *run)
{
	void *x;
	size_t bytes;

	(void)user;
	OK(philox_run_input(run, 0, &x, &bytes));
	return philox_run_output(run, 0, x, bytes);
}

/* An output may lie in an automatic input, which then stays static. */
RUNNER_PROMISE(runner_bounds, an_input_that_an_output_is_in_stays_in_place)
{
	struct layer layer = make_layer(f, r, "layer");
	const struct philox_input_desc x = {.name = "x"};
	struct philox_function_desc options = layer_options("layer", &layer);

	options.body = answer_in_x;
	options.inputs = &x;
	options.n_outputs = 1;
	make_function_of(&layer, r, &options);
	for (int i = 0; i < 2 * MOVES; i++) {
		uint32_t *at = make_words(f, 3);
		struct layer_call call = new_call(&layer, at, 0);

		call.call.n_passes = 0;
		call.call.n_outputs = 1;
		OK(try_call(&layer, &call));
		cr_assert_eq(call.outputs[0].address, (void *)at);
		OK(philox_output_release(r, f->stream, &call.outputs[0]));
	}
	cr_assert_eq(counts_of(&layer).copies, 0);
	cr_assert_eq(counts_of(&layer).eager, 0);
}

static enum philox_status read_a_word(void *user, struct philox_run *run)
{
	struct layer *layer = user;
	void *x, *y;

	OK(philox_run_input(run, 0, &x, NULL));
	OK(philox_run_alloc(run, 4, 0, "y", &y));
	return philox_memory_copy(layer->f->device, philox_run_stream(run), y,
				  x, 4);
}

/* Copies that take long are worth a recording. */
static uint64_t copies_of(struct fixture *f, struct philox_runner *r,
			  const char *name, size_t bytes)
{
	struct layer layer = {.f = f, .runner = r};
	const struct philox_input_desc x = {.name = "x"};
	struct philox_function_desc options = layer_options(name, &layer);
	char *memory = make_memory(f, bytes + 4096);
	struct layer_call call;

	options.body = read_a_word;
	options.inputs = &x;
	options.n_outputs = 0;
	make_function_of(&layer, r, &options);
	for (int i = 0; i < MOVES + 4; i++) {
		call = new_call(&layer, memory + 64 * i, 0);
		call.x.bytes = bytes;
		call.call.n_passes = 0;
		call.call.n_outputs = 0;
		OK(try_call(&layer, &call));
	}
	return counts_of(&layer).copies;
}

RUNNER_PROMISE(runner_bounds, large_inputs_stay_in_place)
{
	cr_assert_gt(copies_of(f, r, "fits", PHILOX_AUTOMATIC_BYTES), 0);
	cr_assert_eq(copies_of(f, r, "large", PHILOX_AUTOMATIC_BYTES + 1), 0);
}
