/*
 * tests/runner/agree/errors.c - what goes wrong here, elsewhere, and in
 * agreeing
 *
 * Others are asked in each call whatever goes wrong: none waits in vain.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tests/support/ranks/agree.h"

/* --- what goes wrong here ------------------------------------------------- */

/* A call that is refused: the others are told so, once. */
#define TELLS_NONE(team, made, expected, text)                               \
	do {                                                                 \
		const unsigned bodies_ = (team)->layer.bodies;               \
		const uint64_t failed_ = counts_of(&(team)->layer).failed;   \
		FAILS(try_call(&(team)->layer, (made)), expected);           \
		NAMES(text);                                                 \
		ASKED(team, "0");                                            \
		cr_assert_eq((team)->layer.bodies, bodies_);                 \
		cr_assert_eq(counts_of(&(team)->layer).failed, failed_ + 1); \
	} while (0)

static void refuses_arguments(struct team *team, const uint32_t *x)
{
	struct fixture *f = team->layer.f;
	const struct layer_call good = new_call(&team->layer, x, 0);
	struct philox_graph *graph;
	struct layer_call call;

	call = good;
	call.call.n_inputs = 2;
	TELLS_NONE(team, &call, PHILOX_ERROR_INVALID, "1 input, not 2");
	call = good;
	call.call.size = 1;
	TELLS_NONE(team, &call, PHILOX_ERROR_INVALID, "size");
	call = good;
	call.call.key_bytes = 5000;
	TELLS_NONE(team, &call, PHILOX_ERROR_INVALID, "4096");
	call = good;
	call.use.reserved = 1;
	TELLS_NONE(team, &call, PHILOX_ERROR_INVALID, "reserved");
	call = good;
	call.x.address = NULL;
	TELLS_NONE(team, &call, PHILOX_ERROR_INVALID, "'x' is at NULL");
	OK(philox_capture_begin(f->context, f->stream));
	call = good;
	TELLS_NONE(team, &call, PHILOX_ERROR_CAPTURE_UNSUPPORTED, "cannot be");
	OK(philox_capture_end(f->context, f->stream, &graph));
	OK(philox_graph_destroy(graph));
	FAILS(philox_function_call(team->layer.function, NULL),
	      PHILOX_ERROR_INVALID);
	NAMES("call is NULL");
	ASKED(team, "0");
}

RUNNER_PROMISE(runner_agree_errors,
	       of_arguments_are_told_whatever_would_be_next)
{
	struct team team;
	uint32_t *x = make_words(f, 3);

	make_team(&team, f, r, "layer", NULL);
	for (unsigned i = 0; i < 5; i++) {
		refuses_arguments(&team, x);
		SAME(call_forward(&team.layer, x, 0).saw,
		     predict(0, "layer", 4 * i), "call %u", i);
		ASKED(&team, i == 0 ? "2" : i == 1 ? "33" : "4");
	}
}

RUNNER_PROMISE(runner_agree_errors, of_sizes_and_handles_are_told)
{
	struct team team;
	uint32_t *x = make_words(f, 3);
	struct layer_call call, from;

	make_team(&team, f, r, "layer", NULL);
	from = made_call(&team.layer, x, 0);
	ASKED(&team, "2");
	call = new_call(&team.layer, x, 0);
	call.x.bytes -= 4;
	TELLS_NONE(&team, &call, PHILOX_ERROR_INVALID, "in earlier calls");
	call = new_call(&team.layer, from.outputs[1].address, 0);
	call.x.output = &from.outputs[1];
	release_outputs(&team.layer, &from);
	TELLS_NONE(&team, &call, PHILOX_ERROR_STALE, "input 'x'");
}

RUNNER_PROMISE(runner_agree_errors, of_inputs_that_must_not_move_are_told)
{
	struct team team;
	uint32_t *x = make_words(f, 3);
	struct layer_call call;

	make_fixed_team(&team, f, r, "layer");
	settle(&team.layer, x, 0);
	team.asked[0] = '\0';
	call = new_call(&team.layer, make_words(f, 4), 0);
	TELLS_NONE(&team, &call, PHILOX_ERROR_MISMATCH, "inputs moved");
}

/* A launch would be refused for these: it is too late to find them there. */
RUNNER_PROMISE(runner_agree_errors, of_launches_are_found_before_the_question)
{
	struct team team, back;
	struct philox_function_desc options;
	uint32_t *x = make_words(f, 3);
	struct layer_call call, made;
	struct ledger_view before;

	make_team(&team, f, r, "layer", NULL);
	settle(&team.layer, x, 0);
	team.asked[0] = '\0';
	before = look(f, team.layer.region);
	call = new_call(&team.layer, x, 0);
	call.call.n_passes = 0;
	TELLS_NONE(&team, &call, PHILOX_ERROR_INVALID, "passes has 0 entries");
	unchanged(f, team.layer.region, &before);

	back = (struct team){.layer = team.layer, .others = PHILOX_CALL_REPLAY};
	back.layer.backward = 1;
	options = team_options("back", &back);
	make_function_of(&back.layer, r, &options);
	for (int i = 0; i < 4; i++) {
		made = made_call(&team.layer, x, 0);
		release_outputs(&team.layer, &made);
		call = new_call(&back.layer, x, 0);
		call.use.ticket = made.use.ticket;
		OK(try_call(&back.layer, &call));
		release_outputs(&back.layer, &call);
	}
	cr_assert_eq(call.call.kind, PHILOX_CALL_REPLAY);
	ASKED(&back, "23344");
	before = look(f, team.layer.region);
	call = new_call(&back.layer, x, 0);
	call.use.ticket = made.use.ticket;
	TELLS_NONE(&back, &call, PHILOX_ERROR_RELEASED, "pass 0");
	call.use.ticket = (struct philox_ticket){0, 0};
	TELLS_NONE(&back, &call, PHILOX_ERROR_MISMATCH, "pass 0");
	unchanged(f, team.layer.region, &before);
}

/* A recording has no tickets yet: its first launch would be refused. */
RUNNER_PROMISE(runner_agree_errors,
	       of_first_launches_are_told_after_the_capture)
{
	struct team back;
	struct philox_function_desc options;
	uint32_t *x = make_words(f, 3);
	struct layer_call call;
	struct forward of;
	struct ledger_view before;

	back = (struct team){.layer = make_layer(f, r, "layer"),
			     .others = PHILOX_CALL_REPLAY};
	back.layer.backward = 1;
	options = team_options("back", &back);
	options.policy.warmups = PHILOX_NEVER;
	make_function_of(&back.layer, r, &options);
	of = forward(f, back.layer.region);
	backward(f, &of, 0);
	before = look(f, back.layer.region);
	call = new_call(&back.layer, x, 0);
	call.use.ticket = of.ticket;
	FAILS(try_call(&back.layer, &call), PHILOX_ERROR_RELEASED);
	ASKED(&back, "30");
	unchanged(f, back.layer.region, &before);
	cr_assert_eq(counts_of(&back.layer).recordings, 1);
	of = forward(f, back.layer.region);
	call.use.ticket = of.ticket;
	OK(try_call(&back.layer, &call));
	ASKED(&back, "4");
	SAME(read_numbers(f, call.outputs[0].address), of.saw, "backward");
	release_outputs(&back.layer, &call);
}

static enum philox_status fail_recording(struct layer *layer,
					 struct philox_run *run)
{
	(void)layer;
	return philox_run_kind(run) == PHILOX_CALL_RECORD ? PHILOX_ERROR_INVALID
							  : PHILOX_OK;
}

RUNNER_PROMISE(runner_agree_errors, of_a_body_in_its_capture_are_told)
{
	struct team team;
	uint32_t *x = make_words(f, 3);
	struct layer_call call;

	make_team(&team, f, r, "layer", NULL);
	AGREED(&team, x, 0, PHILOX_CALL_WARMUP, "2");
	team.layer.hook = fail_recording;
	call = new_call(&team.layer, x, 0);
	SAYS(try_call(&team.layer, &call), PHILOX_ERROR_INVALID,
	     "function 'layer': its body returned PHILOX_ERROR_INVALID");
	ASKED(&team, "30");
	team.layer.hook = NULL;
	SAME(call_forward(&team.layer, x, 0).saw, predict(0, "layer", 4),
	     "nothing is burnt");
	ASKED(&team, "33");
}

/* ... and in a body that is run nobody is asked any more. */
RUNNER_PROMISE(runner_agree_errors, of_a_body_that_is_run_are_not_told)
{
	struct team team;
	uint32_t *x = make_words(f, 3);
	struct layer_call call;

	make_team(&team, f, r, "layer", NULL);
	team.layer.returns = PHILOX_ERROR_LIMIT;
	call = new_call(&team.layer, x, 0);
	FAILS(try_call(&team.layer, &call), PHILOX_ERROR_LIMIT);
	ASKED(&team, "2");
}

/* Its own error says what went wrong here, whatever the others say to that. */
RUNNER_PROMISE(runner_agree_errors, of_its_own_come_before_those_of_others)
{
	struct team team;
	uint32_t *x = make_words(f, 3);
	struct layer_call call;

	make_team(&team, f, r, "layer", NULL);
	call = new_call(&team.layer, x, 0);
	call.call.n_inputs = 2;
	team.fails = PHILOX_ERROR_DEVICE;
	team.says = 1;
	SAYS(try_call(&team.layer, &call), PHILOX_ERROR_INVALID,
	     "function 'layer' has 1 input, not 2");
	ASKED(&team, "0");
	team.fails = PHILOX_OK;
	team.raw = 1;
	team.others = PHILOX_CALL_REPLAY;
	SAYS(try_call(&team.layer, &call), PHILOX_ERROR_INVALID,
	     "function 'layer' has 1 input, not 2");
	ASKED(&team, "0");
}

/* --- what goes wrong elsewhere -------------------------------------------- */

/* A way in which the others, or agree(), spoil a call, and what it then says. */
struct spoiler {
	const char *function;
	uint32_t others;
	int raw, silent, says;
	enum philox_status fails, expected;
	const char *text;
};

static void spoil(struct team *team, const struct spoiler *how, unsigned spared)
{
	*team = (struct team){.layer = team->layer,
			      .others = how->others,
			      .raw = how->raw,
			      .silent = how->silent,
			      .says = how->says,
			      .fails = how->fails,
			      .spared = spared};
}

/* Nothing has changed after a call that failed, of what a caller can see. */
static void fails_so(struct team *team, const uint32_t *x,
		     const struct spoiler *how, const char *digits)
{
	struct fixture *f = team->layer.f;
	const struct ledger_view before = look(f, team->layer.region);
	const unsigned bodies = team->layer.bodies;
	struct layer_call call = new_call(&team->layer, x, 0);

	spoil(team, how, (unsigned)strlen(digits) - 1);
	call.use.ticket.serial = 6;
	call.call.kind = 77;
	call.outputs[0].index = 55;
	SAYS(try_call(&team->layer, &call), how->expected, how->text);
	ASKED(team, digits);
	cr_assert_eq(team->layer.bodies, bodies + (strlen(digits) == 2));
	cr_assert_eq(call.use.ticket.serial, 6, "nothing is written");
	cr_assert_eq(call.call.kind, 77);
	cr_assert_eq(call.outputs[0].index, 55);
	unchanged(f, team->layer.region, &before);
	LIVE(f, team->layer.runner, 2);
	*team = (struct team){.layer = team->layer,
			      .others = PHILOX_CALL_REPLAY};
}

/* In each kind of call and in the second question, beside outputs that live. */
static void spoils_each_kind(struct fixture *f, struct philox_runner *r,
			     const struct spoiler *how)
{
	static const char *const digits[] = {"2", "3", "33", "4"};
	const char *name = how->function;
	struct team team;
	uint32_t *x = make_words(f, 3);
	char other[32];
	struct layer beside;
	struct layer_call kept;
	struct numbers saw;

	snprintf(other, sizeof(other), "beside %s", name);
	beside = make_layer(f, r, other);
	make_function(&beside, r, other);
	settle(&beside, x, 0);
	kept = made_call(&beside, x, 0);
	saw = read_numbers(f, kept.outputs[0].address);
	make_team(&team, f, r, name, NULL);
	for (unsigned i = 0; i < 4; i++) {
		fails_so(&team, x, how, digits[i]);
		SAME(read_numbers(f, kept.outputs[0].address), saw, "kept");
		GOOD(r, &kept);
		if (i == 0 || i == 3)
			SAME(call_forward(&team.layer, x, 0).saw,
			     predict(0, name, i ? 4 : 0), "%s %u", name, i);
	}
	cr_assert_eq(counts_of(&team.layer).failed, 4);
	cr_assert_eq(counts_of(&team.layer).replay, 1);
	release_outputs(&beside, &kept);
}

RUNNER_PROMISE(runner_agree_errors, of_others_fail_the_call_and_change_nothing)
{
	spoils_each_kind(f, r,
			 &(struct spoiler){.function = "a",
					   .others = PHILOX_CALL_NONE,
					   .expected = PHILOX_ERROR_STATE,
					   .text = "function 'a': other "
						   "processes cannot make the "
						   "call"});
}

RUNNER_PROMISE(runner_agree_errors, of_agree_are_the_call_s)
{
	spoils_each_kind(
		f, r,
		&(struct spoiler){
			.function = "a",
			.fails = PHILOX_ERROR_DEVICE,
			.expected = PHILOX_ERROR_DEVICE,
			.text = "function 'a': its processes cannot agree: "
				"agree() returned PHILOX_ERROR_DEVICE"});
	spoils_each_kind(
		f, r,
		&(struct spoiler){
			.function = "b",
			.fails = PHILOX_ERROR_FILE,
			.says = 1,
			.expected = PHILOX_ERROR_FILE,
			.text = "function 'b': its processes cannot agree: "
				"region is NULL"});
}

/* --- answers that are none ------------------------------------------------ */

static void answers(struct fixture *f, struct philox_runner *r,
		    const char *name, uint32_t others, int silent,
		    const char *text)
{
	struct team team;
	uint32_t *x = make_words(f, 3);

	make_team(&team, f, r, name, NULL);
	fails_so(&team, x,
		 &(struct spoiler){.others = others,
				   .raw = 1,
				   .silent = silent,
				   .expected = PHILOX_ERROR_INVALID,
				   .text = text},
		 "2");
	AGREED(&team, x, 0, PHILOX_CALL_WARMUP, "2");
}

RUNNER_PROMISE(runner_agree_errors, of_answers_say_what_was_asked_and_written)
{
	struct layer beside = make_layer(f, r, "beside");
	struct layer_call kept;

	make_function(&beside, r, "beside");
	kept = made_call(&beside, make_words(f, 3), 0);
	answers(f, r, "a", PHILOX_CALL_RECORD, 0,
		"function 'a': its processes cannot agree: agree() was asked "
		"with 2 and wrote 3, but it writes the least of what all ask "
		"with");
	answers(f, r, "b", 5, 0,
		"function 'b': its processes cannot agree: agree() was asked "
		"with 2 and wrote 5, which is no kind of call");
	answers(f, r, "c", 0, 1,
		"function 'c': its processes cannot agree: agree() was asked "
		"with 2 and wrote 4294967295, which is no kind of call");
	release_outputs(&beside, &kept);
}

/* --- in the callback ------------------------------------------------------ */

static struct philox_output *to_release;

static void call_the_runner(struct team *team, uint32_t wanted)
{
	struct philox_runner *r = team->layer.runner;
	struct layer_call call =
		new_call(&team->layer, team->layer.f->scratch, 0);
	struct philox_function_stats counts =
		PHILOX_INIT(struct philox_function_stats);
	struct team *none = team;

	(void)wanted;
	none->hook = NULL;
	FAILS(try_call(&team->layer, &call), PHILOX_ERROR_BUSY);
	NAMES("agree() of it");
	FAILS(try_prepare(&team->layer, &call, 1, NULL), PHILOX_ERROR_BUSY);
	FAILS(philox_function_get_stats(team->layer.function, &counts),
	      PHILOX_ERROR_BUSY);
	FAILS(philox_runner_step_begin(r, team->layer.f->stream, 0, NULL),
	      PHILOX_ERROR_BUSY);
	FAILS(philox_function_destroy(team->layer.function), PHILOX_ERROR_BUSY);
	OK(philox_output_release(r, team->layer.f->stream, to_release));
}

/* ... and what finds the runner in use asks nobody. */
RUNNER_PROMISE(runner_agree_errors, of_calls_within_agree_ask_nobody)
{
	struct team team;
	uint32_t *x = make_words(f, 3);

	make_team(&team, f, r, "layer", NULL);
	for (unsigned i = 0; i < 4; i++) {
		struct layer_call before = made_call(&team.layer, x, 1);

		team.asked[0] = '\0';
		to_release = &before.outputs[0];
		team.hook = call_the_runner;
		SAME(call_forward(&team.layer, x, 0).saw,
		     predict(0, "layer", 4 * (2 * i + 1)), "call %u", i);
		ASKED(&team, i == 0 ? "2" : i == 1 ? "33" : "4");
		FAILS(philox_output_check(r, &before.outputs[0]),
		      PHILOX_ERROR_STALE);
		OK(philox_output_release(r, f->stream, &before.outputs[1]));
	}
}

RUNNER_PROMISE(runner_agree_errors, of_functions_that_are_gone_ask_nobody)
{
	struct team team;
	uint32_t *x = make_words(f, 3);
	struct layer_call call;

	make_team(&team, f, r, "layer", NULL);
	kind_of_call(&team.layer, x, 0);
	ASKED(&team, "2");
	OK(philox_function_destroy(team.layer.function));
	call = new_call(&team.layer, x, 0);
	FAILS(try_call(&team.layer, &call), PHILOX_ERROR_STALE);
	ASKED(&team, "");
}

/* --- what was recorded is no more ----------------------------------------- */

RUNNER_PROMISE(runner_agree_errors, of_stale_recordings_are_found_before)
{
	struct team team;
	uint32_t *x = make_words(f, 3);

	make_team(&team, f, r, "layer", NULL);
	for (unsigned i = 0; i < 3; i++) {
		settle(&team.layer, x, 0);
		team.asked[0] = '\0';
		OK(philox_region_destroy(team.layer.region));
		team.layer.region = make_region(f, "layer");
		AGREED(&team, x, 0, PHILOX_CALL_RECORD, "33");
		cr_assert_eq(counts_of(&team.layer).missed_stale, i + 1);
	}
}

/* What is only tried is not in the journal as a launch that was refused. */
RUNNER_PROMISE(runner_agree_errors, of_stale_recordings_are_in_no_journal)
{
	char path[] = "/tmp/philox-agree-XXXXXX", line[512];
	int file = mkstemp(path), refused = 0, lines = 0;
	struct team team;
	uint32_t *x = make_words(f, 3);
	FILE *journal;

	cr_assert_geq(file, 0);
	make_team(&team, f, r, "layer", NULL);
	settle(&team.layer, x, 0);
	team.asked[0] = '\0';
	OK(philox_context_set_journal(f->context, path));
	OK(philox_region_destroy(team.layer.region));
	team.layer.region = make_region(f, "layer");
	AGREED(&team, x, 0, PHILOX_CALL_RECORD, "33");
	OK(philox_context_set_journal(f->context, NULL));
	journal = fdopen(file, "r");
	cr_assert(journal);
	while (fgets(line, sizeof(line), journal)) {
		lines++;
		refused += strstr(line, "launch-refuse") != NULL;
	}
	fclose(journal);
	unlink(path);
	cr_assert_gt(lines, 3);
	cr_assert_eq(refused, 0, "%d launches were refused", refused);
}

/* A body that draws to memory of the caller, which is freed. */
static uint32_t *lent;

static enum philox_status draw_to_lent(struct layer *layer,
				       struct philox_run *run)
{
	struct philox_ticket ticket;
	struct philox_pass pass;

	(void)layer;
	OK(philox_run_forward_begin(run, layer->region, 0, &pass));
	OK(draw_or_fail(&pass, lent));
	return philox_pass_commit(&pass, 0, &ticket);
}

RUNNER_PROMISE(runner_agree_errors, of_recordings_of_freed_memory_are_found)
{
	struct team team;
	uint32_t *x = make_words(f, 3);
	void *memory;

	make_team(&team, f, r, "layer", NULL);
	team.layer.hook = draw_to_lent;
	for (int i = 0; i < 8; i++) {
		struct layer_call call = new_call(&team.layer, x, 0);
		struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0},
						     {{0, 0}, 0, 0}};

		if (i % 4 == 0) {
			if (i)
				OK(philox_memory_free(f->device, lent));
			OK(philox_memory_alloc(
				f->device, WORDS * sizeof(uint32_t), &memory));
			lent = memory;
		}
		call.call.inputs = &call.x;
		call.call.passes = uses;
		call.call.n_passes = 2;
		call.call.outputs = call.outputs;
		OK(philox_function_call(team.layer.function, &call.call));
		release_outputs(&team.layer, &call);
		ASKED(&team, i == 0 ? "2" : i == 1 || i == 4 ? "33" : "4");
	}
	cr_assert_eq(counts_of(&team.layer).missed_stale, 1);
	OK(philox_device_synchronize(f->device));
	OK(philox_memory_free(f->device, lent));
}

static void remake_region(struct team *team, uint32_t wanted)
{
	(void)wanted;
	OK(philox_region_destroy(team->layer.region));
	team->layer.region = make_region(team->layer.f, "layer");
	team->hook = NULL;
}

/* Others replay by now: this call fails, and the next one is decided anew. */
RUNNER_PROMISE(runner_agree_errors, of_what_went_while_they_agreed_are_its_own)
{
	struct team team;
	uint32_t *x = make_words(f, 3);
	struct layer_call call;
	unsigned bodies;

	make_team(&team, f, r, "layer", NULL);
	settle(&team.layer, x, 0);
	team.asked[0] = '\0';
	team.hook = remake_region;
	bodies = team.layer.bodies;
	call = new_call(&team.layer, x, 0);
	FAILS(try_call(&team.layer, &call), PHILOX_ERROR_STALE);
	ASKED(&team, "4");
	cr_assert_eq(team.layer.bodies, bodies);
	AGREED(&team, x, 0, PHILOX_CALL_RECORD, "33");
	AGREED(&team, x, 0, PHILOX_CALL_REPLAY, "4");
}

/* --- any failure ---------------------------------------------------------- */

/* The questions of a call: one, or two if it was agreed to record. */
static void asked_as_all_do(const struct team *team, uint64_t n)
{
	const char *asked = team->asked;
	const size_t wanted = asked[0] == '3' ? 2 : 1;

	cr_assert_eq(strlen(asked), wanted, "device call %d: \"%s\" (%s)",
		     (int)n, asked, philox_error_message());
}

static int fails_at(struct fixture *f, struct team *team, const uint32_t *x,
		    uint64_t n)
{
	struct layer_call call = new_call(&team->layer, x, 0);
	uint64_t calls = philox_device_call_count(f->device, NULL);
	enum philox_status status;

	OK(philox_device_fail(f->device, NULL, n, PHILOX_ERROR_DEVICE));
	status = try_call(&team->layer, &call);
	calls = philox_device_call_count(f->device, NULL) - calls;
	OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
	asked_as_all_do(team, n);
	team->asked[0] = '\0';
	if (status == PHILOX_OK)
		release_outputs(&team->layer, &call);
	return n <= calls;
}

RUNNER_PROMISE(runner_agree_errors, of_each_device_call_leave_nobody_waiting)
{
	uint32_t *x = make_words(f, 3);
	unsigned made = 0;

	f->injected = 1;
	for (unsigned before = 0; before < 3; before++) {
		int more = 1;

		for (uint64_t n = 1; more; n++) {
			struct team team;
			char name[16];

			snprintf(name, sizeof(name), "layer %u", made++);
			make_team(&team, f, r, name, NULL);
			for (unsigned i = 0; i < before; i++)
				kind_of_call(&team.layer, x, 0);
			team.asked[0] = '\0';
			more = fails_at(f, &team, x, n);
			fails_at(f, &team, x, 1); /* what is stuck, too */
			fails_at(f, &team, x, 2);
			for (int i = 0; i < 4; i++) {
				call_forward(&team.layer, x, 0);
				asked_as_all_do(&team, n);
				team.asked[0] = '\0';
			}
			OK(philox_stream_synchronize(f->device, f->stream));
			OK(philox_function_destroy(team.layer.function));
		}
	}
	cr_assert_gt(made, 12);
}
