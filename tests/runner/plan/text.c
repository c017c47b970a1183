/*
 * tests/runner/plan/text.c - the text of a plan, and texts that are refused
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tests/support/allocations.h"
#include "tests/support/beds/runner_again.h"

static const struct philox_policy plain = {0};

/* --- a runner with one of everything -------------------------------------- */

enum change {
	NOTHING,
	NAME,
	MODE,
	FLAGS,
	INPUT_LESS,
	INPUT_NAME,
	INPUT_KIND,
	INPUT_FLAGS,
	INPUT_ALIGNMENT,
	INPUT_ELEMENTS,
	OUTPUT_LESS,
	OUTPUT_NAME,
	OUTPUT_ELEMENTS,
	VALUE_LESS,
	VALUE_NAME,
	VALUE_SIZE,
	POLICY, /* and the fields of a policy after it */
	CHANGES = POLICY + 9
};

static const char *const named[CHANGES] = {
	[NAME] = "function 'whole' of the plan is not in this runner",
	[MODE] = "function 'whole': its mode is 0 in the plan, but 2 here",
	[FLAGS] = "function 'whole': flags is 0 in the plan, but 1 here",
	[INPUT_LESS] = "how many inputs it has is 2 in the plan, but 1 here",
	[INPUT_NAME] = "input 1 is 'rest' in the plan, but 'other' here",
	[INPUT_KIND] = "the kind of input 'rest' is 0 in the plan, but 2 here",
	[INPUT_FLAGS] = "flags of input 'rest' is 0 in the plan, but 1 here",
	[INPUT_ALIGNMENT] =
		"the alignment of input 'rest' is 4 in the plan, but 8 here",
	[INPUT_ELEMENTS] =
		"elements of input 'rest' is 1 in the plan, but 2 here",
	[OUTPUT_LESS] = "how many outputs it has is 1 in the plan, but 0 here",
	[OUTPUT_NAME] = "output 0 is 'y' in the plan, but 'other' here",
	[OUTPUT_ELEMENTS] =
		"elements of output 'y' is 1 in the plan, but 0 here",
	[VALUE_LESS] = "how many values it has is 1 in the plan, but 0 here",
	[VALUE_NAME] = "value 0 is 'rate' in the plan, but 'other' here",
	[VALUE_SIZE] = "the size of value 'rate' is 4 in the plan, but 8 here",
	[POLICY] = "policy.refused is 0 in the plan, but 1 here",
	[POLICY + 1] = "policy.recordings is 64 in the plan, but 6 here",
	[POLICY + 2] = "policy.warmups is 1 in the plan, but 0 here",
	[POLICY + 3] = "policy.dry is 0 in the plan, but 1 here",
	[POLICY + 4] = "policy.retry is 16 in the plan, but 2 here",
	[POLICY + 5] = "policy.keys is 0 in the plan, but 2 here",
	[POLICY + 6] = "policy.verify is 0 in the plan, but 2 here",
	[POLICY + 7] = "policy.differs is 0 in the plan, but 1 here",
	[POLICY + 8] = "policy.bytes is 68719476736 in the plan, but 100000000 "
		       "here",
};

struct whole {
	struct fixture *f;
	struct philox_region *region;
	struct philox_function *function;
	int refuses;
};

static enum philox_status body(void *user, struct philox_run *run)
{
	struct whole *whole = user;
	struct philox_ticket ticket;
	struct philox_pass pass;
	const void *rate;
	void *y, *more;

	OK(philox_run_param(run, 0, &rate));
	OK(philox_run_alloc(run, 128, 0, "y", &y));
	OK(philox_run_alloc(run, 300, 64, "more", &more));
	OK(philox_run_forward_begin(run, whole->region, 0, &pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_run_backward_begin(run, whole->region, ticket,
				     PHILOX_PASS_RETAIN, &pass));
	OK(philox_pass_commit(&pass, 0, NULL));
	OK(philox_run_backward_begin(run, whole->region,
				     (struct philox_ticket){0}, 0, &pass));
	OK(philox_pass_commit(&pass, 0, NULL));
	OK(philox_run_free(run, more));
	if (whole->refuses)
		OK(philox_run_refuse(run, "as it likes"));
	return philox_run_output(run, 0, y, 128);
}

static void change_policy(struct philox_policy *policy, int field)
{
	uint32_t *const numbers[] = {&policy->refused, &policy->recordings,
				     &policy->warmups, &policy->dry,
				     &policy->retry,   &policy->keys,
				     &policy->verify,  &policy->differs};
	static const uint32_t changed[] = {1, 6, PHILOX_NEVER, 1, 2, 2, 2, 1};

	if (field == 8)
		policy->bytes = 100000000;
	else if (field >= 0)
		*numbers[field] = changed[field];
}

static void make_whole(struct whole *whole, struct fixture *f,
		       struct philox_runner *r, int change)
{
	struct philox_input_desc inputs[] = {
		{.name = "x", .kind = PHILOX_INPUT_STATIC},
		{.name = change == INPUT_NAME ? "other" : "rest",
		 .kind = change == INPUT_KIND ? PHILOX_INPUT_COPIED
					      : PHILOX_INPUT_AUTOMATIC,
		 .flags = change == INPUT_FLAGS ? PHILOX_INPUT_MUTATED : 0,
		 .alignment = change == INPUT_ALIGNMENT ? 8 : 4,
		 .elements = change == INPUT_ELEMENTS ? 2 : 1}};
	struct philox_output_desc outputs[] = {
		{.name = change == OUTPUT_NAME ? "other" : "y",
		 .elements = change == OUTPUT_ELEMENTS ? 0 : 1}};
	struct philox_param_desc values[] = {
		{.name = change == VALUE_NAME ? "other" : "rate",
		 .bytes = change == VALUE_SIZE ? 8 : 4}};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);

	*whole = (struct whole){.f = f, .region = make_region(f, "layer")};
	options.name = change == NAME ? "hole" : "whole";
	options.mode =
		change == MODE ? PHILOX_MODE_INFERENCE : PHILOX_MODE_FORWARD;
	options.flags = change == FLAGS ? PHILOX_FUNCTION_EAGER : 0;
	options.body = body;
	options.user = whole;
	options.inputs = inputs;
	options.n_inputs = change == INPUT_LESS ? 1 : 2;
	options.outputs = outputs;
	options.n_outputs = change != OUTPUT_LESS;
	options.params = values;
	options.n_params = change != VALUE_LESS;
	change_policy(&options.policy, change - POLICY);
	OK(philox_function_create(r, &options, &whole->function));
}

static void call_whole(struct whole *whole, const void *x, const void *rest,
		       const char *key)
{
	const struct philox_call_input inputs[] = {
		{.address = (void *)(uintptr_t)x, .bytes = 128},
		{.address = (void *)(uintptr_t)rest, .bytes = 64}};
	const struct philox_call_param value = {"rate", 4};
	struct forward made = forward(whole->f, whole->region);
	struct philox_launch_pass uses[2] = {{.flags = 0},
					     {.ticket = made.ticket}};
	struct philox_call call = PHILOX_INIT(struct philox_call);

	call.stream = whole->f->stream;
	call.key = key;
	call.key_bytes = strlen(key);
	call.inputs = inputs;
	call.n_inputs = 2;
	call.params = &value;
	call.n_params = 1;
	call.passes = uses;
	call.n_passes = 2;
	OK(philox_function_call(whole->function, &call));
	if (uses[0].ticket.serial)
		OK(philox_ticket_release(whole->region, whole->f->stream,
					 uses[0].ticket));
}

/* Keys that were recorded, that are copied, that wait, and that are new. */
static void use_whole(struct whole *whole)
{
	enum { CALLS = PHILOX_AUTOMATIC_MOVES + 4 };
	uint32_t *x[CALLS];

	for (uint32_t i = 0; i < CALLS; i++)
		x[i] = make_words(whole->f, i);
	for (int i = 0; i < 3; i++)
		call_whole(whole, x[0], x[1], "one");
	for (int i = 0; i < CALLS; i++)
		call_whole(whole, x[0], x[i], "\xff moves");
	whole->refuses = 1;
	call_whole(whole, x[0], x[1], "waits");
	whole->refuses = 0;
	call_whole(whole, x[0], x[1], "");
}

/* The plan of such a runner, which is in another process. */
static char *whole_plan(struct fixture *f)
{
	struct whole whole;
	struct again other;
	char *text;

	again_fixture(&other, f);
	make_whole(&whole, &other.f, other.r, NOTHING);
	use_whole(&whole);
	text = plan_of(other.r);
	again_close(&other);
	return text;
}

/* --- what it says --------------------------------------------------------- */

RUNNER_PROMISE(runner_plan_text, has_a_line_for_each_thing)
{
	char *text = whole_plan(f);
	static const char *const lines[] = {
		"\nfunction \"whole\" forward flags 0\n"
		"input \"x\" static flags 0 alignment 0 elements 0\n"
		"input \"rest\" automatic flags 0 alignment 4 elements 1\n"
		"output \"y\" elements 1\n"
		"value \"rate\" bytes 4\n"
		"policy refused eager recordings 64 warmups 1 dry 0 retry 16 "
		"keys 0 verify 0 differs error bytes 68719476736\n"
		"waste wasted 0 patience 0\n"
		"script 0\n"
		"step value 0\n"
		"step alloc 128 alignment 0\n"
		"step alloc 300 alignment 64\n"
		"step forward \"layer\" flags 0\n"
		"step backward \"layer\" of 0 flags 4\n"
		"step backward \"layer\" flags 0\n"
		"step free 1\n"
		"step output 0 bytes 128\n"
		"key 6f6e65 script 0 calls 3 warmups 0 dry 0 wasted 0 "
		"patience 0 "
		"recordings 1 unplayed 0 prepared 0 bytes ",
		" wait 0\ntakes 128 moves 0\ntakes 64 moves 0\n"
		"key ff206d6f766573 script 0 calls 20 warmups 0 dry 0 wasted 0 "
		"patience 0 "
		"recordings 1 unplayed 0 prepared 0 bytes ",
		" wait 0\ntakes 128 moves 0\ntakes 64 moves 16 copied\n"
		"key 7761697473 script 0 calls 1 warmups 0 dry 0 wasted 0 "
		"patience 0 "
		"recordings 0 unplayed 0 prepared 0 bytes 0 wait 16 refused "
		"\"its body refused to be recorded: as it likes\"\n"
		"takes 128 moves 0\ntakes 64 moves 0\n"
		"key - script 0 calls 1 warmups 0 dry 0 wasted 0 "
		"patience 0 recordings 0 "
		"unplayed 0 prepared 0 bytes 0 wait 0\n"
		"takes 128 moves 0\ntakes 64 moves 0\n",
		"\nchecksum "};
	const char *at = text;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const char *found = strstr(at, lines[i]);

		cr_assert(found, "no\n%s\nin\n%s", lines[i], text);
		at = found + strlen(lines[i]) - 1;
	}
	cr_assert(strstr(text, philox_version()));
	free(text);
}

RUNNER_PROMISE(runner_plan_text, is_the_same_after_a_load)
{
	char *text = whole_plan(f), *again;
	struct whole whole;

	make_whole(&whole, f, r, NOTHING);
	for (int i = 0; i < 2; i++) { /* and over a plan */
		OK(philox_plan_load_text(r, text, strlen(text)));
		again = plan_of(r);
		cr_assert_str_eq(again, text);
		free(again);
	}
	/* a NUL is not counted, and need not be there */
	again = malloc(strlen(text));
	memcpy(again, text, strlen(text));
	OK(philox_plan_load_text(r, again, strlen(text)));
	free(again);
	free(text);
}

RUNNER_PROMISE(runner_plan_text, of_a_new_runner_is_empty)
{
	char *text = plan_of(r);

	cr_assert(strstr(text, "\nrunner live 0 mapped 0\nchecksum "), "%s",
		  text);
	OK(philox_plan_load_text(r, text, strlen(text)));
	free(text);
}

/* Two runners with the same past, at other addresses. */
RUNNER_PROMISE(runner_plan_text, has_nothing_of_its_process)
{
	char *one = whole_plan(f), *other;

	make_words(f, 3);
	other = whole_plan(f);
	cr_assert_str_eq(one, other);
	cr_assert_not(strstr(one, "0x"));
	free(one);
	free(other);
}

/* --- what does not fit ---------------------------------------------------- */

RUNNER_PROMISE(runner_plan_text, is_refused_by_a_runner_with_other_functions)
{
	char *text = whole_plan(f);

	for (int change = 1; change < CHANGES; change++) {
		struct whole whole;
		struct again other;

		again_fixture(&other, f);
		make_whole(&whole, &other.f, other.r, change);
		REFUSES(other.r, text, PHILOX_ERROR_MISMATCH);
		NAMES(named[change]);
		again_close(&other);
	}
	REFUSES(r, text, PHILOX_ERROR_MISMATCH);
	NAMES("function 'whole' of the plan is not in this runner");
	free(text);
}

/* Origins are for messages alone. */
RUNNER_PROMISE(runner_plan_text, fits_a_function_from_elsewhere)
{
	struct layer layer = make_layer(f, r, "layer");
	struct philox_function_desc options = layer_options("layer", &layer);
	struct philox_input_desc x = {.name = "x",
				      .kind = PHILOX_INPUT_STATIC,
				      .origin = "elsewhere.c:1"};
	struct again other;

	make_function_of(&layer, r, &options);
	settle(&layer, make_words(f, 3), 0);
	again_fixture(&other, f);
	other.layer = make_layer(&other.f, other.r, "layer");
	options.user = &other.layer;
	options.inputs = &x;
	make_function_of(&other.layer, other.r, &options);
	again_load(&other, f, r);
	again_close(&other);
}

RUNNER_PROMISE(runner_plan_text, of_another_version_is_refused)
{
	char *text = whole_plan(f), library[40];
	struct whole whole;

	make_whole(&whole, f, r, NOTHING);
	snprintf(library, sizeof(library), "\"%s\"", philox_version());
	REFUSES(r, plan_changed(text, library, "\"0.0.9\""),
		PHILOX_ERROR_UNSUPPORTED);
	NAMES("the plan is of version '0.0.9' of the library, this is '");
	REFUSES(r, plan_changed(text, "philox plan 2", "philox plan 3"),
		PHILOX_ERROR_UNSUPPORTED);
	NAMES("line 1: the text has version 3, the newest this library reads "
	      "is 2");
	REFUSES(r, "philox plan 3\nwhatever", PHILOX_ERROR_UNSUPPORTED);
	free(text);
}

static void refused_as_late(struct philox_runner *r, const char *text)
{
	REFUSES(r, text, PHILOX_ERROR_STATE);
	NAMES("a function of this runner was called or prepared");
}

RUNNER_PROMISE(runner_plan_text, is_loaded_before_calls)
{
	struct layer layer = make_layer(f, r, "layer");
	struct layer other = make_layer(f, r, "other");
	struct layer_call call;
	char *text;

	make_function(&layer, r, "layer");
	make_function(&other, r, "other");
	text = plan_of(r);
	OK(philox_plan_load_text(r, text, strlen(text)));
	call = new_call(&layer, make_words(f, 3), 0);
	PREPARED(&layer, &call, 1, 1);
	refused_as_late(r, text);
	free(text);
	text = plan_of(r);
	refused_as_late(r, text);
	KIND(&other, make_words(f, 3), 0, PHILOX_CALL_WARMUP);
	refused_as_late(r, text);
	OK(philox_device_synchronize(f->device));
	OK(philox_function_destroy(layer.function));
	OK(philox_function_destroy(other.function));
	refused_as_late(r, text);
	free(text);
}

RUNNER_PROMISE(runner_plan_text, is_not_loaded_over_calls_of_a_plan)
{
	struct again then;
	struct layer layer;
	uint32_t *x[AGAIN_PLACES];
	char *text;

	again_make(f, r, &layer, &plain, x);
	settle(&layer, x[0], 0);
	again_open(&then, f, r, &plain);
	text = plan_of(r);
	OK(philox_plan_load_text(then.r, text, strlen(text)));
	KIND(&then.layer, then.x[0], 0, PHILOX_CALL_WARMUP);
	refused_as_late(then.r, text);
	free(text);
	again_close(&then);
}

/* --- damage --------------------------------------------------------------- */

RUNNER_PROMISE(runner_plan_text, that_is_cut_is_refused)
{
	char *text = whole_plan(f);
	const size_t size = strlen(text);
	struct whole whole;

	make_whole(&whole, f, r, NOTHING);
	for (size_t cut = 0; cut < size; cut++) {
		/* memory of its own, for a sanitizer */
		char *part = malloc(cut ? cut : 1);

		memcpy(part, text, cut);
		plan_refused(r, part, cut, PHILOX_ERROR_INVALID);
		NAMES("line ");
		NAMES("where the text ends");
		free(part);
	}
	free(text);
}

RUNNER_PROMISE(runner_plan_text, that_has_a_bit_flipped_is_refused)
{
	char *text = whole_plan(f);
	const size_t size = strlen(text);
	struct whole whole;

	make_whole(&whole, f, r, NOTHING);
	for (size_t bit = 0; bit < 8 * size; bit++) {
		enum philox_status status;

		text[bit / 8] ^= (char)(1 << bit % 8);
		status = text[12] > '2' && text[12] <= '9'
				 ? PHILOX_ERROR_UNSUPPORTED
				 : PHILOX_ERROR_INVALID;
		FAILS(philox_plan_load_text(r, text, size), status);
		NAMES("line ");
		text[bit / 8] ^= (char)(1 << bit % 8);
	}
	OK(philox_plan_load_text(r, text, size));
	free(text);
}

/* The first `from` becomes `to`, and the message names the line and `what`. */
static const struct {
	const char *from, *to;
	int line;
	const char *what;
} damages[] = {
	{"philox plan 2", "philox plan 0", 1, "too small"},
	{"philox plan 2\n", "philox plan 2 \n", 1, "the end of the line"},
	{"library \"", "library ", 2, "'\"' expected"},
	{"runner live ", "runner live -", 3, "a number expected"},
	{"runner live ", "runner live 0", 3, "no further digit"},
	{" mapped ", " mapped 99999999999999", 3, "no further digit"},
	{"function \"whole\"", "function \"\"", 4, "without a name"},
	{"function \"whole\"",
	 "function \"0123456789012345678901234567890123456789012345678901234567"
	 "890123\"",
	 4, "a text of more than 63 bytes"},
	{"forward flags", "forwards flags", 4, "' flags ' expected"},
	{" forward flags", " sideways flags", 4, "a mode of functions"},
	{"flags 0\n", "flags 00\n", 4, "no further digit"},
	{"function \"whole\"",
	 "function \"whole\" forward flags 0\nfunction \"whole\"", 5,
	 "function 'whole' has no policy"},
	{"function \"whole\" forward", "input \"x\" forward", 4,
	 "there is no function for it above"},
	{" static", " statical", 5, "' flags ' expected"},
	{" static", " stati", 5, "a kind of inputs"},
	{"alignment 4 ", "alignment -4 ", 6, "a number"},
	{"input \"rest\"", "output \"y\" elements 1\ninput \"rest\"", 7,
	 "it comes too late"},
	{"output \"y\" elements 1", "output \"y\" elements 4294967296", 7,
	 "no further digit"},
	{"value \"rate\" bytes 4", "value \"rate\" size 4", 8, "' bytes '"},
	{"refused eager", "refused eage", 9, "'eager' or 'error' expected"},
	{"retry 16", "retry 4294967295", 9, "no further digit"},
	{"recordings 64", "recordings 0", 9, "a key has 1 recording at least"},
	{"recordings 64", "recordings many", 9, "a number"},
	{"waste wasted", "waste waste", 10, "' wasted ' expected"},
	{"waste wasted 0 patience 0\n", "", 10, "'waste' expected"},
	{"patience 0\n", "patience -1\n", 10, "a number"},
	{"differs error", "differs not", 9, "'error' or 'eager'"},
	{"script 0\n", "policy refused eager\nscript 0\n", 11,
	 "it comes too late"},
	{"script 0\n", "value \"more\" bytes 4\nscript 0\n", 11,
	 "it comes too late"},
	{"script 0\n", "", 11, "there is no script for it above"},
	{"script 0\n", "script 1\n", 11, "script 0 has to come first"},
	{"step value 0", "step value 1", 12, "there is no value 1"},
	{"step alloc 300 alignment 64", "step alloc 300", 14, "' alignment '"},
	{"of 0 flags", "of 1 flags", 16, "there is no pass 1"},
	{"step free 1", "step free 2", 18, "there is no allocation 2"},
	{"step output 0", "step output 1", 19, "there is no output 1"},
	{"step value 0", "step dance 0", 12, "a known kind of step"},
	{"step value 0", "step return \"inner\"", 12,
	 "there is no call for it above"},
	{"step value 0", "step reads \"rate\"", 12,
	 "there is no call for it above"},
	{"step value 0", "step gives \"y\" bytes 4", 12,
	 "there is no call for it above"},
	{"step value 0", "step call inner", 12, "'\"'"},
	{"step value 0", "step call \"inner\"", 20,
	 "script 0 above ends within a call"},
	{"step forward \"layer\"", "step forward layer", 15, "'\"'"},
	{"key 6f6e65 ", "script 1\nkey 6f6e65 ", 20, NULL}, /* of no key */
	{"key 6f6e65 ", "key 6f6e6 ", 20, "a digit of 0-9 and a-f"},
	{"key 6f6e65 ", "key 6F6e65 ", 20, "a digit of 0-9 and a-f"},
	{"key 6f6e65 ", "key  ", 20, "a digit of 0-9 and a-f"},
	{"key 6f6e65 ", "key 6f6e65- ", 20, "' script '"},
	{"script 0 calls", "script 1 calls", 20, "there is no script 1"},
	{"calls 3 ", "calls 9223372036854775808 ", 20, "no further digit"},
	{"dry 0 wasted", "dry 1001 wasted", 20, "no further digit"},
	{"warmups 0 dry 0 wasted", "warmups 4294967295 dry 0 wasted", 20,
	 "no further digit"},
	{"recordings 1 unplayed 0", "recordings 1 unplayed 2", 20,
	 "1 recording cannot be so many"},
	{"prepared 0", "prepared 2", 20, "1 recording cannot be so many"},
	{"recordings 1 ", "recordings 0 ", 20, "bytes of no recording"},
	{"recordings 1 ", "recordings 65 ", 20, "a key has 64 at most"},
	{"wait 0\n", "wait 0 refused \"why\"\n", 20, "the end of the line"},
	{"wait 0\n", "wait 0 label \"\"\n", 20, "a label is not empty"},
	{"wait 0\n", "wait 0 label  \"L\"\n", 20, "'\"' expected"},
	{"wait 0\n", "wait 0 label \"L\" label \"L\"\n", 20,
	 "the end of the line"},
	{"wait 0\n", "wait 0 label \"two\\x0alines\"\n", 20,
	 "line 20: a label has a control character, 0x0a, after 'two'"},
	{"wait 0\n",
	 "wait 0 label \"012345678901234567890123456789012345678901234567890123"
	 "4567890123\"\n",
	 20, "a label of more than 63 bytes"},
	{"wait 16 refused", "wait 16 label \"L\" refused", 26, "' refused '"},
	{"wait 0\n", "wait 1\n", 20, "' refused '"},
	{"wait 0\n", "wait 4294967295 refused \"why\"\n", 20,
	 "no further digit"},
	{"takes 128 moves 0\n", "", 22,
	 "takes 2 inputs, but there are lines "
	 "for 1"},
	{"takes 128 moves 0\n", "takes 128 moves 0\ntakes 128 moves 0\n", 23,
	 "there is no key for it above"},
	{"takes 128 moves 0\n", "takes 128 moves 0 copied\n", 21,
	 "this input is not copied"},
	{"takes 128 moves 0\n", "takes 128 moves 0 pinned\n", 21,
	 "this input is not pinned"},
	{"takes 128 moves 0\n", "takes 128 moves\n", 21, "' moves ' expected"},
	{"key ff206d6f766573 ", "key 6f6e65 ", 23,
	 "its function has that key above"},
	{"key - ", "step value 0\nkey - ", 29, "it comes too late"},
	{"key - ", "policy refused\nkey - ", 29, "it comes too late"},
	{"key - ", "\nkey - ", 29, "a known kind of line"},
	{"checksum ", "script 1\nchecksum ", 33, "it comes too late"},
	{"checksum ", "barred 1 ", 33, "a digit of 0-9 and a-f"},
	{"checksum ",
	 "barred 9f86d081884c7d65 0 by \"whole\" alive for \"\"\nchecksum ", 33,
	 "0 is too small"},
	{"checksum ",
	 "barred 9f86d081884c7d65 1 by \"other\" alive for \"\"\nchecksum ", 33,
	 "there is no function 'other' above"},
	{"checksum ",
	 "barred 9f86d081884c7d65 1 by \"other\" undead for \"\"\nchecksum ",
	 33, "' destroyed'"},
	{"checksum ",
	 "barred 9f86d081884c7d65 1 by \"other\" destroyed for \"\"\n"
	 "function \"x\" forward flags 0\nchecksum ",
	 34, "a function after barred tickets"},
};

RUNNER_PROMISE(runner_plan_text, that_is_malformed_is_refused_by_its_line)
{
	char *text = whole_plan(f);
	struct whole whole;

	make_whole(&whole, f, r, NOTHING);
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		char line[32];

		REFUSES(r, plan_changed(text, damages[i].from, damages[i].to),
			PHILOX_ERROR_INVALID);
		snprintf(line, sizeof(line), "line %d", damages[i].line);
		if (!damages[i].what)
			continue;
		cr_assert(
			strstr(philox_error_message(), line) &&
				strstr(philox_error_message(), damages[i].what),
			"'%s' to '%s': %s", damages[i].from, damages[i].to,
			philox_error_message());
	}
	free(text);
}

/* --- labels --------------------------------------------------------------- */

/* After why a key waits, if it does. */
RUNNER_PROMISE(runner_plan_text, has_labels_of_keys_that_have_one)
{
	char *text = whole_plan(f), *again;
	struct whole whole;

	cr_assert_not(strstr(text, "label"), "%s", text);
	make_whole(&whole, f, r, NOTHING);
	for (int waits = 0; waits < 2; waits++) {
		const char *changed =
			waits ? plan_changed(text, "as it likes\"\n",
					     "as it likes\" label \"L \\x22\"\n")
			      : plan_changed(text, " wait 0\n",
					     " wait 0 label \"batch 32\"\n");

		OK(philox_plan_load_text(r, changed, strlen(changed)));
		again = plan_of(r);
		cr_assert_str_eq(again, changed);
		free(again);
	}
	free(text);
}

/* --- version 1 ------------------------------------------------------------ */

/* A policy of it, what is like it, and what the message names; NULL: it loads. */
static const struct old_policy {
	const char *fields;
	struct philox_policy now;
	uint32_t flags; /* of the input */
	const char *unlike;
} old_policies[] = {
	{"moved limit live eager refused eager limit 5 warmups 1 dry 0 after 1 "
	 "again never retry 16 keys 0 verify 0 differs error bytes 0",
	 {0},
	 0,
	 NULL},
	{"moved record live record refused error limit 7 warmups 0 dry 2 after "
	 "1 again never retry never keys 3 verify 4 differs eager bytes 1000",
	 {.refused = PHILOX_REFUSED_ERROR,
	  .recordings = 7,
	  .warmups = PHILOX_NEVER,
	  .dry = 2,
	  .retry = PHILOX_NEVER,
	  .keys = 3,
	  .verify = 4,
	  .differs = PHILOX_DIFFERS_EAGER,
	  .bytes = 1000},
	 0,
	 NULL},
	{"moved error live eager refused eager limit 0 warmups 1 dry 0 after 1 "
	 "again never retry 16 keys 0 verify 0 differs error bytes 0",
	 {.recordings = 1},
	 PHILOX_INPUT_FIXED,
	 NULL},
	{"moved limit live eager refused eager limit 5 warmups 1 dry 0 after 2 "
	 "again never retry 16 keys 0 verify 0 differs error bytes 0",
	 {0},
	 0,
	 "nothing is like policy.after of version 1"},
	{"moved limit live eager refused eager limit 5 warmups 1 dry 0 after 1 "
	 "again 9 retry 16 keys 0 verify 0 differs error bytes 0",
	 {0},
	 0,
	 "nothing is like policy.again of version 1"},
};

static const char *old_plan(const char *fields)
{
	static char lines[2000];

	snprintf(lines, sizeof(lines),
		 "philox plan 1\nlibrary \"%s\"\nrunner live 0 mapped 0\n"
		 "function \"old\" forward flags 0\n"
		 "input \"x\" static flags 0 alignment 0 elements 0\n"
		 "policy %s\n"
		 "key 00 script none calls 9 warmups 0 dry 0 limited 3 "
		 "recordings 6 unplayed 5 prepared 1 bytes 600 wait 0\n"
		 "takes 4 moves 8\n",
		 philox_version(), fields);
	return plan_signed(lines);
}

static enum philox_status nothing(void *user, struct philox_run *run)
{
	(void)user;
	(void)run;
	return PHILOX_OK;
}

static void loads_old(struct philox_runner *r, const struct old_policy *old)
{
	const struct philox_input_desc x = {
		.name = "x", .kind = PHILOX_INPUT_STATIC, .flags = old->flags};
	const char *text = old_plan(old->fields);
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_function *function;
	char *now;

	options.name = "old";
	options.body = nothing;
	options.inputs = &x;
	options.n_inputs = 1;
	options.policy = old->now;
	OK(philox_function_create(r, &options, &function));
	if (old->unlike) {
		FAILS(philox_plan_load_text(r, text, strlen(text)),
		      PHILOX_ERROR_UNSUPPORTED);
		NAMES(old->unlike);
		return;
	}
	OK(philox_plan_load_text(r, text, strlen(text)));
	now = plan_of(r);
	cr_assert(strstr(now, "philox plan 2\n"));
	cr_assert(strstr(now, old->now.recordings == 1
				      ? " wasted 0 patience 0 recordings 1 "
					"unplayed 0 prepared 1 bytes 100 "
				      : " wasted 0 patience 0 recordings 6 "
					"unplayed 5 prepared 1 bytes 600 "),
		  "%s", now);
	cr_assert(strstr(now, "\ntakes 4 moves 0\n"));
	free(now);
}

RUNNER_PROMISE(runner_plan_text, of_version_1_is_read)
{
	const size_t n = sizeof(old_policies) / sizeof(*old_policies);

	for (size_t i = 0; i < n; i++) {
		struct again other;

		again_fixture(&other, f);
		loads_old(other.r, &old_policies[i]);
		again_close(&other);
	}
}

RUNNER_PROMISE(runner_plan_text, of_version_1_has_no_labels)
{
	const char *text = old_plan(old_policies[0].fields);
	char lines[2000];

	snprintf(lines, sizeof(lines), "%s", text);
	REFUSES(r, plan_changed(lines, "wait 0\n", "wait 0 label \"L\"\n"),
		PHILOX_ERROR_INVALID);
	NAMES("line 7: the end of the line expected");
}

/* --- functions and scripts of which there are several --------------------- */

static const char two[] = "philox plan 2\n"
			  "library \"0.1.0\"\n"
			  "runner live 1 mapped 1\n"
			  "function \"a\" forward flags 0\n"
			  "policy refused eager recordings 64 warmups 1 dry 0 "
			  "retry 16 keys 0 verify 0 differs error bytes 0\n"
			  "waste wasted 0 patience 0\n"
			  "script 0\n"
			  "script 1\n"
			  "step alloc 1 alignment 1\n"
			  "key 00 script 0 calls 1 warmups 0 dry 0 wasted 0 "
			  "patience 0 "
			  "recordings 0 unplayed 0 prepared 0 bytes 0 wait 0\n"
			  "key 01 script 1 calls 1 warmups 0 dry 0 wasted 0 "
			  "patience 0 "
			  "recordings 0 unplayed 0 prepared 0 bytes 0 wait 0\n"
			  "function \"b\" forward flags 0\n"
			  "policy refused eager recordings 64 warmups 1 dry 0 "
			  "retry 16 keys 0 verify 0 differs error bytes 0\n"
			  "waste wasted 0 patience 0\n";

static void refuses_two(struct philox_runner *r, const char *from,
			const char *to, const char *what)
{
	REFUSES(r, plan_changed(two, from, to), PHILOX_ERROR_INVALID);
	NAMES(what);
}

RUNNER_PROMISE(runner_plan_text, has_only_one_spelling)
{
	/* all of it fits but that these functions are not here */
	REFUSES(r, plan_changed(two, "0.1.0", philox_version()),
		PHILOX_ERROR_MISMATCH);
	NAMES("function 'a' of the plan is not in this runner");
	refuses_two(r, "function \"b\"", "function \"a\"",
		    "line 12: function 'a' has to come before 'a'");
	refuses_two(r, "function \"a\"", "function \"c\"",
		    "line 12: function 'b' has to come before 'c'");
	refuses_two(r, "key 00 script 0", "key 00 script 1",
		    "line 10: script 0 has to be named first");
	refuses_two(r, "key 01 script 1", "key 01 script 0",
		    "line 12: script 1 of function 'a' is of no key");
	refuses_two(r, "key 01 script 1", "key 01 script none",
		    "line 12: script 1 of function 'a' is of no key");
	refuses_two(r, "step alloc 1 alignment 1\n", "",
		    "scripts 0 and 1 above are the same");
	refuses_two(r, "key 01", "key 00", "line 11: its function has that ");
	refuses_two(r, "recordings 0 unplayed 0 prepared 0 bytes 0",
		    "recordings 1 unplayed 0 prepared 0 bytes "
		    "9223372036854775807\n",
		    "line 10: ' wait' expected");
}

/* --- in use, files, memory ------------------------------------------------ */

static enum philox_status use_plan(struct layer *layer, struct philox_run *run)
{
	char *text;

	(void)run;
	FAILS(philox_plan_save_text(layer->runner, &text, NULL),
	      PHILOX_ERROR_BUSY);
	FAILS(philox_plan_save(layer->runner, "/tmp/never"), PHILOX_ERROR_BUSY);
	FAILS(philox_plan_load_text(
		      layer->runner,
		      "philox plan 1\nlibrary \"x\"\nrunner live 0 mapped 0\n"
		      "checksum 0 bytes 0\n",
		      30),
	      PHILOX_ERROR_INVALID);
	text = (char *)(uintptr_t)layer->f->message;
	FAILS(philox_plan_load_text(layer->runner, text, strlen(text)),
	      PHILOX_ERROR_BUSY);
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_plan_text, is_neither_saved_nor_loaded_in_a_body)
{
	struct layer layer = make_layer(f, r, "layer");
	char *text = plan_of(r);

	make_function(&layer, r, "layer");
	snprintf(f->message, sizeof(f->message), "%s", text);
	free(text);
	layer.hook = use_plan;
	KIND(&layer, make_words(f, 3), 0, PHILOX_CALL_WARMUP);
}

struct elsewhere {
	struct philox_runner *runner;
	const char *plan;
	struct outcome saved, loaded;
};

static void use_elsewhere(void *user)
{
	struct elsewhere *here = user;
	char *text;

	here->saved =
		outcome_of(philox_plan_save_text(here->runner, &text, NULL));
	here->loaded = outcome_of(philox_plan_load_text(
		here->runner, here->plan, strlen(here->plan)));
}

static struct elsewhere *elsewhere;

static enum philox_status use_on_thread(struct layer *layer,
					struct philox_run *run)
{
	(void)layer;
	(void)run;
	on_thread(use_elsewhere, elsewhere);
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_plan_text, is_neither_saved_nor_loaded_beside_a_call)
{
	struct layer layer = make_layer(f, r, "layer");
	char *text = plan_of(r);
	struct elsewhere here = {.runner = r, .plan = text};

	make_function(&layer, r, "layer");
	elsewhere = &here;
	layer.hook = use_on_thread;
	KIND(&layer, make_words(f, 3), 0, PHILOX_CALL_WARMUP);
	GAVE(here.saved, PHILOX_ERROR_BUSY);
	GAVE(here.loaded, PHILOX_ERROR_BUSY);
	free(text);
}

RUNNER_PROMISE(runner_plan_text, needs_its_arguments)
{
	char *text = NULL;

	FAILS(philox_plan_save_text(NULL, &text, NULL), PHILOX_ERROR_INVALID);
	NAMES("runner is NULL");
	FAILS(philox_plan_save_text(r, NULL, NULL), PHILOX_ERROR_INVALID);
	NAMES("text is NULL");
	FAILS(philox_plan_save(NULL, "x"), PHILOX_ERROR_INVALID);
	FAILS(philox_plan_save(r, NULL), PHILOX_ERROR_INVALID);
	NAMES("path is NULL");
	FAILS(philox_plan_load_text(NULL, "x", 1), PHILOX_ERROR_INVALID);
	FAILS(philox_plan_load_text(r, NULL, 0), PHILOX_ERROR_INVALID);
	NAMES("text is NULL");
	FAILS(philox_plan_load(NULL, "x"), PHILOX_ERROR_INVALID);
	FAILS(philox_plan_load(r, NULL), PHILOX_ERROR_INVALID);
	NAMES("path is NULL");
	cr_assert_null(text);
}

RUNNER_PROMISE(runner_plan_text, is_kept_in_files)
{
	char folder[] = "/tmp/philox-plan-XXXXXX", path[80], wrong[80];
	char *text = whole_plan(f), *again;
	struct whole whole;
	FILE *file;

	cr_assert(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/plan", folder);
	snprintf(wrong, sizeof(wrong), "%s/none/plan", folder);
	make_whole(&whole, f, r, NOTHING);
	OK(philox_plan_load_text(r, text, strlen(text)));
	OK(philox_plan_save(r, path));
	OK(philox_plan_load(r, path));
	again = plan_of(r);
	cr_assert_str_eq(again, text);
	FAILS(philox_plan_save(r, wrong), PHILOX_ERROR_FILE);
	NAMES("none/plan");
	FAILS(philox_plan_load(r, wrong), PHILOX_ERROR_FILE);
	file = fopen(path, "w");
	cr_assert(file && fputs("philox plan 1\n", file) > 0 && !fclose(file));
	FAILS(philox_plan_load(r, path), PHILOX_ERROR_INVALID);
	NAMES("/plan': line 2, where the text ends: 'library ' expected");
	cr_assert(!unlink(path) && !rmdir(folder));
	free(text);
	free(again);
}

/* Each allocation of the library fails once; nothing has changed then. */
RUNNER_PROMISE(runner_plan_text, is_loaded_whole_or_not_at_all)
{
	char *text = whole_plan(f);
	enum philox_status status = PHILOX_ERROR_MEMORY;
	struct whole whole;
	unsigned n = 0;

	make_whole(&whole, f, r, NOTHING);
	while (status != PHILOX_OK && allocations_fail(n + 1)) {
		char *now;

		n++;
		status = philox_plan_load_text(r, text, strlen(text));
		allocations_fail(0);
		now = plan_of(r);
		cr_assert_eq(strcmp(now, text) == 0, status == PHILOX_OK,
			     "allocation %u: %s", n, now);
		cr_assert_eq(strstr(now, "key ") != NULL, status == PHILOX_OK);
		cr_assert(status == PHILOX_OK || status == PHILOX_ERROR_MEMORY,
			  "allocation %u: %s", n, philox_error_message());
		free(now);
	}
	cr_assert(n > 40 || !allocations_fail(0), "only %u allocations", n);
	free(text);
}

RUNNER_PROMISE(runner_plan_text, is_saved_whole_or_not_at_all)
{
	enum philox_status status = PHILOX_ERROR_MEMORY;
	char *untouched = (char *)(uintptr_t) "untouched", *text;
	struct whole whole;
	unsigned n = 0;

	make_whole(&whole, f, r, NOTHING);
	use_whole(&whole);
	while (status != PHILOX_OK && allocations_fail(n + 1)) {
		size_t size = 7;

		n++;
		text = untouched;
		status = philox_plan_save_text(r, &text, &size);
		allocations_fail(0);
		if (status == PHILOX_OK)
			break;
		cr_assert_eq(status, PHILOX_ERROR_MEMORY, "allocation %u", n);
		cr_assert(text == untouched && size == 7);
	}
	cr_assert(n > 5 || !allocations_fail(0), "only %u allocations", n);
	if (n)
		free(text);
}
