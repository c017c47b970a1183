/*
 * tests/runner/calls/given.c - inputs in memory of the runner's pool that are
 * given without their handle
 */
#include <string.h>
#include "graph/pool/pool.h"
#include "tests/support/beds/verify.h"

enum { BYTES = WORDS * sizeof(uint32_t), HALF = BYTES / 2 };

/* The second half of an output, by its handle or without. */
static void give_half(struct act *act, const struct philox_output *output,
		      int by_handle)
{
	act->in[0] = (struct philox_call_input){
		.address = (char *)output->address + HALF,
		.bytes = HALF,
		.output = by_handle ? output : NULL};
}

static void give(struct act *act, void *address, size_t bytes)
{
	act->in[0] = (struct philox_call_input){.address = address,
						.bytes = bytes};
}

/* --- an output that is alive ---------------------------------------------- */

/* y is x, whose first word it sets. */
static enum philox_status within_script(struct act *act, struct props *props)
{
	props->out[0] = props->in[0];
	props->bytes[0] = HALF;
	return philox_memory_set(act->f->device, props->stream, props->in[0], 9,
				 4);
}

static struct act make_within(struct fixture *f, struct philox_runner *r)
{
	struct act act = new_act(f, r, within_script);

	act.n_uses = 0;
	act.no_alloc = 1;
	act.inputs[0].flags = PHILOX_INPUT_MUTATED;
	return act;
}

static struct numbers ends_as(struct numbers words)
{
	memset(&words.word[WORDS / 2], 9, 4);
	return words;
}

/*
 * The source's replays would write there: they go on beside what was made of
 * their output, whose memory is free when the last of both is released.
 */
static void share_memory(struct fixture *f, struct philox_runner *r,
			 int by_handle)
{
	struct layer source = make_layer(
		f, r, by_handle ? "by handle" : "by address");
	struct act within = make_within(f, r);
	uint32_t *x = make_words(f, 6);

	make_function(&source, r, philox_region_name(source.region));
	make_act(&within, by_handle ? "of a handle" : "of an address");
	for (unsigned i = 0; i < 6; i++) {
		struct layer_call first = made_call(&source, x, 0);

		let_go(&source, &first);
		give_half(&within, &first.outputs[1], by_handle);
		OK(call_act(&within));
		cr_assert_eq(within.out[0].id, first.outputs[1].id, "call %u",
			     i);
		release_outputs(&source, &first);
		for (unsigned k = 0; k < 3; k++)
			call_forward(&source, x, 0);
		SAME(read_numbers(f, (uint32_t *)within.out[0].address -
					     WORDS / 2),
		     ends_as(all_words(6)), "call %u", i);
		LIVE(f, r, 1);
		release_act(&within);
		LIVE(f, r, 0);
	}
	cr_assert_gt(act_counts(&within).replay, 1);
	VERIFIED(&within, act_counts(&within).replay, 0, 0);
}

RUNNER_PROMISE(runner_given, in_an_output_shares_its_memory_as_by_its_handle)
{
	share_memory(f, r, 1);
	share_memory(f, r, 0);
}

/* What it was made of is owed a backward, and so both stay. */
RUNNER_PROMISE(runner_given, in_an_output_is_of_its_path)
{
	struct layer a = make_layer(f, r, "a"), c = make_layer(f, r, "c");
	uint32_t *x = make_words(f, 3);

	make_function(&a, r, "a");
	make_function(&c, r, "c");
	for (unsigned i = 0; i < 4; i++) {
		struct layer_call owed = made_call(&a, x, 0), reader, other;

		reader = made_call(&c, owed.outputs[i % 2].address, 0);
		other = made_call(&c, x, 1);
		let_go(&c, &reader);
		let_go(&c, &other);
		STEP(r, f->stream, 4);
		GOOD(r, &owed);
		GOOD(r, &reader);
		OVER(r, &other);
		let_go(&a, &owed);
		STEP(r, f->stream, 0);
	}
}

/* The call that uses the ticket up releases its input; what is in it stays. */
RUNNER_PROMISE(runner_given, in_an_output_that_the_call_releases_is_kept)
{
	struct layer source = make_layer(f, r, "layer");
	struct act back = new_act(f, r, backward_script);
	uint32_t *x = make_words(f, 3);

	back.n_outputs = 2;
	back.region = source.region;
	make_function(&source, r, "forth");
	make_act(&back, "back");
	for (unsigned i = 0; i < 5; i++) {
		struct layer_call first = made_call(&source, x, 0);

		tie_outputs(&source, &first, source.region, first.use.ticket);
		give(&back, first.outputs[1].address, BYTES);
		back.uses[0] = first.use;
		OK(call_act(&back));
		OVER(r, &first);
		SAME(read_numbers(f, back.out[1].address), all_words(3),
		     "call %u", i);
		release_act(&back);
	}
	LIVE(f, r, 0);
}

/* y and z are halves of one block. */
static enum philox_status halves_script(struct act *act, struct props *props)
{
	TRY_(prop_copy(act, props, props->out[0], props->in[0]));
	props->out[1] = props->out[0] + WORDS / 2;
	props->bytes[0] = props->bytes[1] = HALF;
	return PHILOX_OK;
}

/* It is of the block, though in no output whole. */
RUNNER_PROMISE(runner_given, across_the_outputs_of_a_block_is_of_the_block)
{
	struct act halves = new_act(f, r, halves_script);
	struct act within = make_within(f, r);

	halves.n_uses = 0;
	halves.n_outputs = 2;
	halves.in[0].address = make_words(f, 5);
	make_act(&halves, "halves");
	make_act(&within, "within");
	for (unsigned i = 0; i < 4; i++) {
		OK(call_act(&halves));
		give(&within, (char *)halves.out[0].address + HALF / 2, HALF);
		OK(call_act(&within));
		cr_assert_eq(within.out[0].id, halves.out[0].id);
		release_act(&halves);
		LIVE(f, r, 1);
		release_act(&within);
		LIVE(f, r, 0);
	}
}

/* The header says so: nobody can tell it from a pointer to the new one. */
RUNNER_PROMISE(runner_given, to_an_old_place_is_the_output_that_has_it_now)
{
	struct layer source = make_layer(f, r, "source");
	struct act within = make_within(f, r);
	uint32_t *x = make_words(f, 3);
	struct layer_call now;
	void *old;

	make_function(&source, r, "source");
	make_act(&within, "within");
	settle(&source, x, 0);
	now = made_call(&source, x, 0);
	old = now.outputs[1].address;
	let_go(&source, &now);
	release_outputs(&source, &now);
	now = made_call(&source, x, 0);
	cr_assert_eq(now.outputs[1].address, old);
	give(&within, old, HALF);
	OK(call_act(&within));
	cr_assert_eq(within.out[0].id, now.outputs[1].id);
}

/* --- what is no output that is alive -------------------------------------- */

/* Refused in a call and ahead of one; nothing changes. */
static void refused(struct act *act, enum philox_status status,
		    const char *what)
{
	struct philox_runner *r = act->runner;
	struct philox_pool_stats before = pool_look(philox_runner_pool(r));
	struct philox_pool_stats after;
	const unsigned bodies = act->bodies;
	struct philox_call call;
	size_t prepared = 7;

	FAILS(call_act(act), status);
	NAMES("function 'reader', input 'x': ");
	NAMES(what);
	call = act->call;
	FAILS(philox_function_prepare(act->function, &call, 1, &prepared),
	      status);
	NAMES(what);
	after = pool_look(philox_runner_pool(r));
	cr_assert(!memcmp(&before, &after, sizeof(before)));
	cr_assert_eq(act->bodies, bodies);
}

/* y is x, by way of memory of the run. */
static void *scratch;

static enum philox_status scratch_script(struct act *act, struct props *props)
{
	TRY_(philox_run_alloc(props->run, BYTES, 0, "scratch", &scratch));
	TRY_(prop_copy(act, props, scratch, props->in[0]));
	return prop_copy(act, props, props->out[0], scratch);
}

static struct act make_reader(struct fixture *f, struct philox_runner *r)
{
	struct act reader = new_act(f, r, echo_script);

	reader.n_uses = 0;
	return reader;
}

RUNNER_PROMISE(runner_given, in_an_output_that_was_released_is_stale)
{
	struct layer source = make_layer(f, r, "source");
	struct act reader = make_reader(f, r);
	uint32_t *x = make_words(f, 3);

	make_function(&source, r, "source");
	make_act(&reader, "reader");
	for (unsigned i = 0; i < 4; i++) {
		struct layer_call made = made_call(&source, x, 0);

		let_go(&source, &made);
		give(&reader, made.outputs[1].address, BYTES);
		OK(call_act(&reader));
		release_act(&reader);
		release_outputs(&source, &made);
		refused(&reader, PHILOX_ERROR_STALE, "output 'echo'");
		NAMES("of function 'source', which was released");
		give_half(&reader, &made.outputs[0], 0);
		refused(&reader, PHILOX_ERROR_STALE, "output 'y'");
	}
}

RUNNER_PROMISE(runner_given, in_memory_of_a_body_is_refused)
{
	struct act source = make_reader(f, r), reader = make_reader(f, r);

	source.script = scratch_script;
	source.in[0].address = make_words(f, 3);
	source.policy.verify = 0;
	make_act(&source, "source");
	make_act(&reader, "reader");
	OK(call_act(&source)); /* a warm-up, which left it in the pool */
	give(&reader, scratch, BYTES);
	FAILS(call_act(&reader), PHILOX_ERROR_INVALID);
	NAMES("block 'scratch' of 128 bytes of pool 'runner', which is no "
	      "output");
	release_act(&source);
	for (unsigned i = 0; i < 2; i++) {
		OK(call_act(&source));
		LIVE(f, r, 1);
		give(&reader, scratch, BYTES);
		refused(&reader, PHILOX_ERROR_INVALID,
			"memory of recording 1 of function 'source', which is "
			"no output");
		release_act(&source);
	}
	cr_assert_eq(source.call.kind, PHILOX_CALL_REPLAY);
}

RUNNER_PROMISE(runner_given, in_free_memory_is_refused)
{
	struct layer source = make_layer(f, r, "source");
	struct act reader = make_reader(f, r);
	struct layer_call made;

	make_function(&source, r, "source");
	make_act(&reader, "reader");
	made = made_call(&source, make_words(f, 3), 0);
	give(&reader, (char *)made.outputs[1].address + (1 << 20), 4);
	refused(&reader, PHILOX_ERROR_INVALID, "free memory of pool 'runner'");
	release_outputs(&source, &made);
}

RUNNER_PROMISE(runner_given, that_leaves_the_block_is_refused)
{
	struct act source = make_reader(f, r), reader = make_reader(f, r);
	char *y;

	source.in[0].address = make_words(f, 3);
	make_act(&source, "source");
	make_act(&reader, "reader");
	OK(call_act(&source));
	y = source.out[0].address;
	give(&reader, y, BYTES + 1);
	refused(&reader, PHILOX_ERROR_INVALID,
		"begin in the block of output 'y' of function 'source', and "
		"leave it");
	give(&reader, y + 4, BYTES);
	refused(&reader, PHILOX_ERROR_INVALID, "leave it");
	give(&reader, y, SIZE_MAX);
	refused(&reader, PHILOX_ERROR_INVALID, "leave it");
	give(&reader, y + BYTES, 4);
	refused(&reader, PHILOX_ERROR_INVALID, "");
	give(&reader, y + BYTES, 0); /* of no bytes, and of nothing */
	reader.key = 1;
	reader.script = scratch_script;
	give(&reader, y, BYTES);
	OK(call_act(&reader));
	release_act(&reader);
	release_act(&source);
}

/* Memory of others, but for its end. */
RUNNER_PROMISE(runner_given, that_reaches_into_the_pool_is_refused)
{
	struct act source = make_reader(f, r), reader = make_reader(f, r);
	struct range span;

	source.in[0].address = make_words(f, 3);
	make_act(&source, "source");
	make_act(&reader, "reader");
	OK(call_act(&source));
	span = pool_span(philox_runner_pool(r)->blocks);
	cr_assert(span.begin <= (uintptr_t)source.out[0].address &&
		  span.end >= (uintptr_t)source.out[0].address + BYTES);
	give(&reader, (void *)(span.begin - 8), 9);
	refused(&reader, PHILOX_ERROR_INVALID,
		"begin outside of pool 'runner' and end in it");
	give(&reader, (void *)(span.begin - 8), SIZE_MAX);
	refused(&reader, PHILOX_ERROR_INVALID, "begin outside of pool");
	release_act(&source);
}

RUNNER_PROMISE(runner_given, in_an_output_has_no_id)
{
	struct act source = make_reader(f, r), reader = make_reader(f, r);

	source.in[0].address = make_words(f, 3);
	make_act(&source, "source");
	make_act(&reader, "reader");
	OK(call_act(&source));
	give(&reader, source.out[0].address, BYTES);
	reader.in[0].id = 6;
	refused(&reader, PHILOX_ERROR_INVALID, "an id is for other memory");
	release_act(&source);
}

/* --- memory that bodies return -------------------------------------------- */

static void *returned;

static enum philox_status returns_script(struct act *act, struct props *props)
{
	(void)act;
	props->out[0] = returned;
	return PHILOX_OK;
}

/* In no input, it would be nobody's to keep. */
RUNNER_PROMISE(runner_given, by_a_body_is_in_its_run_or_in_an_input)
{
	struct act source = make_reader(f, r), giver = make_reader(f, r);

	giver.script = returns_script;
	giver.no_alloc = 1;
	giver.in[0].address = source.in[0].address = make_words(f, 3);
	make_act(&source, "source");
	make_act(&giver, "giver");
	for (unsigned i = 0; i < 3; i++) {
		OK(call_act(&source));
		returned = source.out[0].address;
		FAILS(call_act(&giver), PHILOX_ERROR_INVALID);
		NAMES("function 'giver': output 'y' is neither in memory of "
		      "this run nor in an input, but in output 'y' of function "
		      "'source'");
		release_act(&source);
		FAILS(call_act(&giver), PHILOX_ERROR_INVALID);
		NAMES("but in output 'y' of function 'source', which was "
		      "released");
	}
	returned = make_words(f, 3);
	FAILS(call_act(&giver), PHILOX_ERROR_INVALID);
	NAMES("nor in an input");
	LIVE(f, r, 0);
}
