/*
 * tests/runner/verify/differs.c - what becomes of a call whose replay differs
 * from what its body does
 */
#include <inttypes.h>
#include <stdio.h>
#include "tests/support/beds/verify.h"

enum { BYTES = ACT_BYTES };

/*
 * Sets word 2 of x and all of z from act->n, which a recording freezes; y has a
 * forward, v a backward that is named at launch, if there are so many.
 */
static enum philox_status frozen_script(struct act *act, struct props *props)
{
	const struct philox_ticket none = {0, 0};
	struct philox_ticket made;
	struct philox_pass pass;

	if (!act->n_uses)
		TRY_(prop_copy(act, props, props->out[0], props->in[0]));
	if (act->n_uses > 0) {
		TRY_(philox_run_forward_begin(props->run, act->region, 0,
					      &pass));
		TRY_(draw_or_fail(&pass, props->out[0]));
		TRY_(philox_pass_commit(&pass, 0, &made));
	}
	if (act->n_uses > 1) {
		TRY_(philox_run_backward_begin(props->run, act->other, none, 0,
					       &pass));
		TRY_(draw_or_fail(&pass, props->out[2]));
		TRY_(philox_pass_commit(&pass, 0, NULL));
	}
	TRY_(prop_copy(act, props, props->out[1], props->in[0]));
	if (act->inputs[0].flags & PHILOX_INPUT_MUTATED)
		return philox_memory_set(act->f->device, props->stream,
					 props->in[0] + 2, (int)act->n, 4);
	return philox_memory_set(act->f->device, props->stream,
				 props->out[1] + 5, (int)act->n, 4);
}

static struct act make_frozen(struct fixture *f, struct philox_runner *r,
			      uint32_t differs)
{
	struct act act = new_act(f, r, frozen_script);

	act.region = make_region(f, "layer");
	act.other = make_region(f, "other");
	act.n_uses = 2;
	act.n_outputs = 3;
	act.n = 1;
	act.in[0].address = make_words(f, 3);
	act.policy.differs = differs;
	return act;
}

static struct numbers z_of(uint32_t x, unsigned n)
{
	struct numbers z = all_words(x);

	memset(&z.word[5], (int)n, 4);
	return z;
}

/* A call with a ticket for its backward; on success all of it is right. */
static enum philox_status call_frozen(struct act *act, struct forward *one,
				      uint32_t x)
{
	enum philox_status status;

	act->uses[0] = (struct philox_launch_pass){{5, 5}, 0, 0};
	act->uses[1] = (struct philox_launch_pass){one->ticket, 0, 0};
	status = call_act(act);
	if (status != PHILOX_OK)
		return status;
	SAME(read_numbers(act->f, act->out[1].address), z_of(x, act->n), "z");
	SAME(read_numbers(act->f, act->out[2].address), one->saw, "v");
	return PHILOX_OK;
}

/* The forward's ticket is owed, with the numbers of y; then it is used up. */
static void y_is_owed(struct act *act)
{
	struct forward made = {
		.region = act->region,
		.ticket = act->uses[0].ticket,
		.saw = read_numbers(act->f, act->out[0].address)};

	PENDING(act->region, 1);
	backward(act->f, &made, 0);
}

static void goes_well(struct act *act, enum philox_call_kind kind)
{
	struct forward one = forward(act->f, act->other);

	OK(call_frozen(act, &one, 3));
	cr_assert_eq(act->call.kind, (uint32_t)kind, "kind %u: %s",
		     act->call.kind, philox_function_reason(act->function));
	y_is_owed(act);
	PENDING(act->other, 0);
	release_act(act);
}

/* --- as an error ---------------------------------------------------------- */

RUNNER_PROMISE(runner_verify_differs, as_an_error_changes_nothing)
{
	struct act act = make_frozen(f, r, PHILOX_DIFFERS_ERROR);
	struct philox_function_stats counts;
	struct forward one;
	struct numbers next;

	make_act(&act, "act");
	goes_well(&act, PHILOX_CALL_WARMUP);
	goes_well(&act, PHILOX_CALL_RECORD);
	goes_well(&act, PHILOX_CALL_REPLAY);
	one = forward(f, act.other);
	next = peek(f, act.region);
	memset(act.out, 7, sizeof(act.out));
	act.n = 2;
	FAILS(call_frozen(&act, &one, 3), PHILOX_ERROR_DIFFERS);
	act.n = 1;
	cr_assert_eq(act.uses[0].ticket.serial, 5, "uses are not written");
	cr_assert_eq(act.uses[1].ticket.serial, one.ticket.serial);
	cr_assert_eq(act.out[0].index, 0x07070707, "nor are outputs");
	PENDING(act.region, 0);
	PENDING(act.other, 1);
	LIVE(f, r, 0);
	FRESH(peek(f, act.region), next, "its numbers are burnt");
	counts = act_counts(&act);
	cr_assert_eq(counts.failed, 1);
	cr_assert_eq(counts.verified, 2);
	cr_assert_eq(counts.differed, 1);
	cr_assert_eq(counts.replay, 1, "it is no replay");
	cr_assert_eq(counts.eager, 0);
	backward(f, &one, 0);
	goes_well(&act, PHILOX_CALL_RECORD);
	goes_well(&act, PHILOX_CALL_REPLAY);
	VERIFIED(&act, 3, 1, 0);
}

/* Each wrong replay is found, not the first one only, and recorded again. */
RUNNER_PROMISE(runner_verify_differs, is_found_each_time)
{
	struct act act = make_frozen(f, r, PHILOX_DIFFERS_ERROR);
	struct forward one;

	make_act(&act, "act");
	goes_well(&act, PHILOX_CALL_WARMUP);
	goes_well(&act, PHILOX_CALL_RECORD);
	for (unsigned i = 2; i < 6; i++) {
		one = forward(f, act.other);
		act.n = i;
		FAILS(call_frozen(&act, &one, 3), PHILOX_ERROR_DIFFERS);
		backward(f, &one, 0);
		act.n = 1;
		goes_well(&act, PHILOX_CALL_RECORD);
	}
	goes_well(&act, PHILOX_CALL_REPLAY);
	VERIFIED(&act, 5, 4, 0);
	cr_assert_eq(act_counts(&act).recordings, 1);
}

static void mutated_is_put_back(struct fixture *f, struct philox_runner *r,
				const char *name, uint32_t kind, uint32_t flags,
				unsigned odd)
{
	struct act act = new_act(f, r, frozen_script);
	uint32_t *x = (uint32_t *)make_memory(f, 2 * BYTES) + odd;
	struct numbers words = all_words(3), before;

	OK(philox_memory_copy(f->device, f->stream, x, &words, BYTES));
	act.n_uses = 0;
	act.n_outputs = 2;
	act.n = 1;
	act.inputs[0].kind = kind;
	act.inputs[0].flags = PHILOX_INPUT_MUTATED | flags;
	act.inputs[0].alignment = odd ? 64 : 0;
	act.in[0].address = x;
	act.no_alloc = 0;
	make_act(&act, name);
	rehearse(&act);
	play_act(&act, PHILOX_CALL_REPLAY);
	before = read_numbers(f, x);
	act.n = 2;
	FAILS(call_act(&act), PHILOX_ERROR_DIFFERS);
	NAMES("input 'x'");
	NAMES("element 2");
	NAMES("16843009");
	NAMES("33686018");
	SAME(read_numbers(f, x), before, "x is not put back");
	VERIFIED(&act, 2, 1, 0);
	play_act(&act, PHILOX_CALL_RECORD);
	play_act(&act, PHILOX_CALL_REPLAY);
	VERIFIED(&act, 3, 1, 0);
	LIVE(f, r, 0);
}

RUNNER_PROMISE(runner_verify_differs, puts_mutated_inputs_back)
{
	mutated_is_put_back(f, r, "static", PHILOX_INPUT_STATIC, 0, 0);
	mutated_is_put_back(f, r, "copied", PHILOX_INPUT_COPIED,
			    PHILOX_INPUT_WRITE_BACK, 0);
	mutated_is_put_back(f, r, "odd", PHILOX_INPUT_STATIC,
			    PHILOX_INPUT_WRITE_BACK, 1);
	mutated_is_put_back(f, r, "automatic", PHILOX_INPUT_AUTOMATIC, 0, 0);
}

static enum philox_status rows_script(struct act *act, struct props *props)
{
	struct philox_row_fill_desc fill =
		PHILOX_INIT(struct philox_row_fill_desc);

	fill.dist = PHILOX_DIST_BITS;
	fill.dtype = PHILOX_DTYPE_U32;
	fill.count = fill.pitch = 4;
	fill.out = props->out[0];
	TRY_(philox_memory_set(act->f->device, props->stream, props->out[0],
			       (int)act->n, BYTES));
	return philox_rows_fill(act->prop, props->stream, NULL, &fill);
}

static struct philox_state row_of(struct fixture *f, struct philox_rows *rows)
{
	struct philox_state state;

	OK(philox_rows_get(rows, f->stream, 2, 1, &state));
	OK(philox_stream_synchronize(f->device, f->stream));
	return state;
}

static void rows_and_a_difference(struct fixture *f, struct philox_runner *r,
				  uint32_t differs)
{
	struct philox_rows_desc options = PHILOX_INIT(struct philox_rows_desc);
	struct act act = new_act(f, r, rows_script);
	struct philox_rows *rows;
	enum philox_status status;
	uint64_t before;

	options.name = differs ? "one" : "two";
	options.count = 4;
	OK(philox_rows_create(f->context, &options, &rows));
	act.prop = rows;
	act.n_uses = 0;
	act.n = 1;
	act.in[0].address = make_words(f, 3);
	act.policy.differs = differs;
	make_act(&act, options.name);
	rehearse(&act);
	play_act(&act, PHILOX_CALL_REPLAY);
	before = row_of(f, rows).offset;
	cr_assert_eq(before, 12);
	act.n = 2;
	status = call_act(&act);
	cr_assert_eq(status, differs ? PHILOX_OK : PHILOX_ERROR_DIFFERS);
	cr_assert_eq(row_of(f, rows).offset, before + (differs ? 4 : 0));
	if (differs)
		release_act(&act);
	VERIFIED(&act, 2, 1, 0);
}

RUNNER_PROMISE(runner_verify_differs, puts_tables_of_rows_back)
{
	rows_and_a_difference(f, r, PHILOX_DIFFERS_ERROR);
}

RUNNER_PROMISE(runner_verify_differs, advances_tables_of_rows_once)
{
	rows_and_a_difference(f, r, PHILOX_DIFFERS_EAGER);
}

/* A body that is not deterministic: what the launch made of the table stays. */
static enum philox_status random_rows_script(struct act *act,
					     struct props *props)
{
	struct philox_row_fill_desc fill =
		PHILOX_INIT(struct philox_row_fill_desc);

	fill.dist = PHILOX_DIST_BITS;
	fill.dtype = PHILOX_DTYPE_U32;
	fill.count = fill.pitch = 4;
	fill.out = props->out[0];
	TRY_(philox_memory_set(act->f->device, props->stream, props->out[0],
			       (int)act->bodies, BYTES));
	return philox_rows_fill(act->prop, props->stream, NULL, &fill);
}

RUNNER_PROMISE(runner_verify_differs, keeps_what_a_replay_made_that_is_as_good)
{
	struct philox_rows_desc options = PHILOX_INIT(struct philox_rows_desc);
	struct act act = new_act(f, r, random_rows_script);
	struct philox_rows *rows;

	options.name = "requests";
	options.count = 4;
	OK(philox_rows_create(f->context, &options, &rows));
	act.prop = rows;
	act.n_uses = 0;
	act.in[0].address = make_words(f, 3);
	act.policy.differs = PHILOX_DIFFERS_EAGER;
	make_act(&act, "act");
	rehearse(&act);
	for (unsigned i = 1; i < 4; i++) {
		play_act(&act, PHILOX_CALL_REPLAY);
		VERIFIED(&act, i, i, 0);
		cr_assert_eq(row_of(f, rows).offset, 4 * (2 + i));
	}
}

/* --- as an eager call ----------------------------------------------------- */

RUNNER_PROMISE(runner_verify_differs, gives_what_the_body_made)
{
	struct act act = make_frozen(f, r, PHILOX_DIFFERS_EAGER);
	struct philox_function_stats counts;

	make_act(&act, "act");
	goes_well(&act, PHILOX_CALL_WARMUP);
	goes_well(&act, PHILOX_CALL_RECORD);
	goes_well(&act, PHILOX_CALL_REPLAY);
	log_texts(f);
	act.n = 2;
	goes_well(&act, PHILOX_CALL_EAGER);
	SAME(peek(f, act.region), predict(0, "layer", 16),
	     "it has consumed the numbers of one call");
	LOGGED("differs|");
	LOGGED("'act'");
	LOGGED("'z'");
	counts = act_counts(&act);
	cr_assert_eq(counts.eager, 1);
	cr_assert_eq(counts.replay, 1);
	cr_assert_eq(counts.failed, 0);
	VERIFIED(&act, 2, 1, 0);
	LIVE(f, r, 0);
	OK(philox_context_set_log(f->context, NULL, NULL));
}

static void waits_for(struct fixture *f, struct philox_runner *r,
		      const char *name, uint32_t retry, unsigned calls)
{
	struct act act = make_frozen(f, r, PHILOX_DIFFERS_EAGER);
	unsigned eager = 0;

	act.policy.retry = retry;
	make_act(&act, name);
	goes_well(&act, PHILOX_CALL_WARMUP);
	goes_well(&act, PHILOX_CALL_RECORD);
	act.n = 2;
	for (unsigned i = 0; i < 40; i++) {
		struct forward one = forward(f, act.other);

		OK(call_frozen(&act, &one, 3));
		y_is_owed(&act);
		release_act(&act);
		if (act.call.kind != PHILOX_CALL_EAGER)
			break;
		eager++;
	}
	OK(philox_region_destroy(act.region));
	OK(philox_region_destroy(act.other));
	if (calls == 40) {
		cr_assert_eq(eager, 40);
		return;
	}
	cr_assert_eq(act.call.kind, PHILOX_CALL_RECORD, "%u", act.call.kind);
	cr_assert_eq(eager, calls, "%u calls", eager);
}

/* As after a recording that broke: see runner_policy. */
RUNNER_PROMISE(runner_verify_differs, records_again_after_some_calls)
{
	waits_for(f, r, "one", 1, 1 + 1);
	waits_for(f, r, "three", 3, 1 + 3);
	waits_for(f, r, "default", 0, 1 + 16);
	waits_for(f, r, "never", PHILOX_NEVER, 40);
}

RUNNER_PROMISE(runner_verify_differs, is_well_when_it_is_recorded_again)
{
	struct act act = make_frozen(f, r, PHILOX_DIFFERS_EAGER);

	act.policy.retry = 1;
	make_act(&act, "act");
	goes_well(&act, PHILOX_CALL_WARMUP);
	goes_well(&act, PHILOX_CALL_RECORD);
	act.n = 2;
	goes_well(&act, PHILOX_CALL_EAGER);
	goes_well(&act, PHILOX_CALL_EAGER);
	goes_well(&act, PHILOX_CALL_RECORD);
	goes_well(&act, PHILOX_CALL_REPLAY);
	VERIFIED(&act, 2, 1, 0);
	LIVE(f, r, 0);
}

/* x is changed once, as the body changes it. */
static void mutated_is_made(struct fixture *f, struct philox_runner *r,
			    const char *name, uint32_t kind, uint32_t flags,
			    unsigned odd)
{
	struct act act = new_act(f, r, frozen_script);
	uint32_t *x = (uint32_t *)make_memory(f, 2 * BYTES) + odd;
	struct numbers words = all_words(3);

	OK(philox_memory_copy(f->device, f->stream, x, &words, BYTES));
	act.n_uses = 0;
	act.n_outputs = 2;
	act.n = 1;
	act.inputs[0].kind = kind;
	act.inputs[0].flags = PHILOX_INPUT_MUTATED | flags;
	act.inputs[0].alignment = odd ? 64 : 0;
	act.in[0].address = x;
	act.policy.differs = PHILOX_DIFFERS_EAGER;
	make_act(&act, name);
	rehearse(&act);
	words.word[2] = 0x01010101;
	act.n = 2;
	OK(call_act(&act));
	cr_assert_eq(act.call.kind, PHILOX_CALL_EAGER);
	SAME(read_numbers(f, act.out[1].address), words, "z is x before");
	words.word[2] = 0x02020202;
	SAME(read_numbers(f, x), words, "x");
	release_act(&act);
	VERIFIED(&act, 1, 1, 0);
	LIVE(f, r, 0);
}

RUNNER_PROMISE(runner_verify_differs, gives_mutated_inputs_what_the_body_made)
{
	mutated_is_made(f, r, "static", PHILOX_INPUT_STATIC, 0, 0);
	mutated_is_made(f, r, "copied", PHILOX_INPUT_COPIED,
			PHILOX_INPUT_WRITE_BACK, 0);
	mutated_is_made(f, r, "odd", PHILOX_INPUT_STATIC,
			PHILOX_INPUT_WRITE_BACK, 1);
	mutated_is_made(f, r, "automatic", PHILOX_INPUT_AUTOMATIC, 0, 0);
}

/* Outputs that share a block, and one that lies in an input. */
static enum philox_status places_script(struct act *act, struct props *props)
{
	TRY_(philox_memory_set(act->f->device, props->stream, props->out[0],
			       (int)act->n, BYTES));
	props->out[1] = props->out[0] + WORDS / 2;
	props->bytes[1] = BYTES / 2;
	props->out[2] = props->in[0] + 4;
	props->bytes[2] = BYTES / 2;
	return philox_memory_set(act->f->device, props->stream,
				 props->in[0] + 4, (int)act->n + 1, 4);
}

RUNNER_PROMISE(runner_verify_differs, gives_outputs_their_places)
{
	struct act act = new_act(f, r, places_script);
	struct numbers x = all_words(3);

	act.n_uses = 0;
	act.n_outputs = 3;
	act.inputs[0].flags = PHILOX_INPUT_MUTATED;
	act.in[0].address = make_words(f, 3);
	act.in[0].id = 4711;
	act.policy.differs = PHILOX_DIFFERS_EAGER;
	act.n = 1;
	make_act(&act, "act");
	rehearse(&act);
	act.n = 2;
	OK(call_act(&act));
	cr_assert_eq(act.call.kind, PHILOX_CALL_EAGER);
	SAME(read_numbers(f, act.out[0].address), all_words(0x02020202), "y");
	cr_assert_eq((uint32_t *)act.out[1].address,
		     (uint32_t *)act.out[0].address + WORDS / 2);
	cr_assert_eq(act.out[0].id, act.out[1].id);
	cr_assert_eq(act.out[2].id, 4711);
	cr_assert_eq((uint32_t *)act.out[2].address,
		     (uint32_t *)act.in[0].address + 4);
	x.word[4] = 0x03030303;
	SAME(read_numbers(f, act.in[0].address), x, "x");
	/* they are the runner's as any other output */
	for (int i = 0; i < 3; i++)
		OK(philox_output_check(r, &act.out[i]));
	release_act(&act);
	for (int i = 0; i < 3; i++)
		FAILS(philox_output_check(r, &act.out[i]), PHILOX_ERROR_STALE);
	LIVE(f, r, 0);
}

/* An output of such a call is an input as any other. */
RUNNER_PROMISE(runner_verify_differs, gives_outputs_that_others_read)
{
	struct act act = new_act(f, r, frozen_script);
	struct act next = new_act(f, r, echo_script);

	act.n_uses = next.n_uses = 0;
	act.n_outputs = 2;
	act.n = 1;
	act.in[0].address = make_words(f, 3);
	act.policy.differs = PHILOX_DIFFERS_EAGER;
	make_act(&act, "act");
	make_act(&next, "next");
	for (unsigned i = 0; i < 6; i++) {
		act.n = i < 2 ? 1 : 2;
		OK(call_act(&act));
		next.in[0].address = act.out[1].address;
		next.in[0].output = &act.out[1];
		OK(call_act(&next));
		release_act(&act);
		SAME(read_numbers(f, next.out[0].address), z_of(3, act.n),
		     "call %u", i);
		release_act(&next);
	}
	cr_assert_eq(act_counts(&act).differed, 1);
	LIVE(f, r, 0);
}

/* --- whom it hits --------------------------------------------------------- */

/* Another key of the function, and another function, are not concerned. */
RUNNER_PROMISE(runner_verify_differs, is_of_one_key)
{
	struct act act = make_frozen(f, r, PHILOX_DIFFERS_EAGER);

	make_act(&act, "act");
	for (act.key = 0; act.key < 2; act.key++) {
		goes_well(&act, PHILOX_CALL_WARMUP);
		goes_well(&act, PHILOX_CALL_RECORD);
	}
	act.key = 0;
	act.n = 2;
	goes_well(&act, PHILOX_CALL_EAGER);
	act.key = 1;
	act.n = 1;
	goes_well(&act, PHILOX_CALL_REPLAY);
	act.key = 0;
	goes_well(&act, PHILOX_CALL_EAGER);
	act.key = 1;
	goes_well(&act, PHILOX_CALL_REPLAY);
}

/* Replays that are not verified are as they were. */
RUNNER_PROMISE(runner_verify_differs, is_not_seen_where_nobody_looks)
{
	struct act act = make_frozen(f, r, PHILOX_DIFFERS_ERROR);
	struct forward one;

	act.policy.verify = 2;
	make_act(&act, "act");
	goes_well(&act, PHILOX_CALL_WARMUP);
	goes_well(&act, PHILOX_CALL_RECORD);
	goes_well(&act, PHILOX_CALL_REPLAY);
	one = forward(f, act.other);
	act.uses[0] = (struct philox_launch_pass){{5, 5}, 0, 0};
	act.uses[1] = (struct philox_launch_pass){one.ticket, 0, 0};
	act.n = 2;
	OK(call_act(&act));
	SAME(read_numbers(f, act.out[1].address), z_of(3, 1), "frozen");
	release_act(&act);
	VERIFIED(&act, 1, 0, 0);
}

/* Calls on the legacy stream, and without outputs, are no exception. */
RUNNER_PROMISE(runner_verify_differs, on_the_legacy_stream)
{
	struct act act = make_frozen(f, r, PHILOX_DIFFERS_EAGER);

	act.stream = NULL;
	make_act(&act, "act");
	goes_well(&act, PHILOX_CALL_WARMUP);
	goes_well(&act, PHILOX_CALL_RECORD);
	act.n = 2;
	goes_well(&act, PHILOX_CALL_EAGER);
	VERIFIED(&act, 1, 1, 0);
	LIVE(f, r, 0);
}

RUNNER_PROMISE(runner_verify_differs, without_outputs)
{
	struct act act = new_act(f, r, frozen_script);

	act.n_uses = 0;
	act.n_outputs = 2;
	act.n = 1;
	act.in[0].address = make_words(f, 3);
	make_act(&act, "act");
	rehearse(&act);
	act.n = 2;
	act.call.outputs = NULL;
	act.call.n_outputs = 0;
	FAILS(philox_function_call(act.function, &act.call),
	      PHILOX_ERROR_DIFFERS);
	NAMES("'z'");
	LIVE(f, r, 0);
}
