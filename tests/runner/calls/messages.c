/*
 * tests/runner/calls/messages.c - whom and what the reasons of calls name
 */
#include <stdio.h>
#include "tests/support/beds/verify.h"

#define REASON(layer) philox_function_reason((layer)->function)

#define BEGINS(text, begin)                                     \
	cr_assert(strncmp((text), (begin), strlen(begin)) == 0, \
		  "\"%s\" does not begin with \"%s\"", (text), (begin))
#define CONTAINS(text, part) \
	cr_assert(strstr((text), (part)), "not in \"%s\": %s", (text), (part))

/* --- outputs that are alive ----------------------------------------------- */

RUNNER_PROMISE(runner_messages, name_the_output_that_is_alive_and_its_call)
{
	struct layer layer = make_layer(f, r, "step");
	uint32_t *x = make_words(f, 3);
	struct layer_call one, two;
	char expected[300];

	make_function(&layer, r, "step");
	kind_of_call(&layer, x, 1);
	kind_of_call(&layer, x, 1);
	one = made_call(&layer, x, 1);
	cr_assert_eq(one.call.kind, PHILOX_CALL_REPLAY);
	OK(philox_output_release(r, f->stream, &one.outputs[0]));
	log_texts(f);
	two = made_call(&layer, x, 1);
	cr_assert_neq(two.call.kind, PHILOX_CALL_REPLAY);
	snprintf(expected, sizeof(expected),
		 "block %llu of its recording's memory holds output 'echo' of "
		 "function 'step', from call 3 of that, which is not released",
		 (unsigned long long)one.outputs[1].id);
	BEGINS(REASON(&layer), expected);
	OK(philox_output_release(r, f->stream, &one.outputs[1]));
	release_outputs(&layer, &two);
}

/* What is logged goes on from the name with a colon. */
RUNNER_PROMISE(runner_messages, go_on_from_the_function_s_name_with_a_colon)
{
	struct layer layer = make_layer(f, r, "step");
	uint32_t *x = make_words(f, 3);
	struct layer_call one, two;

	make_function(&layer, r, "step");
	kind_of_call(&layer, x, 1);
	kind_of_call(&layer, x, 1);
	one = made_call(&layer, x, 1);
	log_texts(f);
	two = made_call(&layer, x, 1);
	cr_assert(strstr(logged_texts(), "function 'step': block ") ||
			  strstr(logged_texts(),
				 "function 'step' is recorded: block "),
		  "%s", logged_texts());
	CONTAINS(logged_texts(),
		 " of its recording's memory holds output 'y' (layer.c:1) of "
		 "function 'step', from call 3 of that, which is not released");
	release_outputs(&layer, &one);
	release_outputs(&layer, &two);
}

/* Both outputs are one block. */
static enum philox_status one_block(void *user, struct philox_run *run)
{
	enum philox_status status;
	void *y;

	(void)user;
	status = philox_run_alloc(run, 1024, 0, "y", &y);
	if (status == PHILOX_OK)
		status = philox_run_output(run, 0, y, 512);
	return status == PHILOX_OK
		       ? philox_run_output(run, 1, (char *)y + 512, 512)
		       : status;
}

RUNNER_PROMISE(runner_messages, count_the_outputs_that_share_a_block)
{
	struct layer layer = make_layer(f, r, "step");
	struct philox_function_desc options = layer_options("step", &layer);
	uint32_t *x = make_words(f, 3);
	struct layer_call calls[4];

	options.body = one_block;
	make_function_of(&layer, r, &options);
	for (int i = 0; i < 4; i++) {
		calls[i] = new_call(&layer, x, 1);
		calls[i].call.n_passes = 0;
		OK(try_call(&layer, &calls[i]));
		if (i < 2)
			release_outputs(&layer, &calls[i]);
	}
	CONTAINS(REASON(&layer),
		 "holds output 'y' (layer.c:1) of function 'step', from call 3 "
		 "of that, which is not released, and 1 more output");
	release_outputs(&layer, &calls[2]);
	release_outputs(&layer, &calls[3]);
}

/* --- inputs that moved ---------------------------------------------------- */

enum { MANY = 40 };

static enum philox_status nothing(void *user, struct philox_run *run)
{
	(void)user;
	(void)run;
	return PHILOX_OK;
}

struct many {
	struct philox_function *function;
	char names[MANY][24];
	struct philox_input_desc inputs[MANY];
	struct philox_call_input given[MANY];
	struct philox_call call;
};

/* A function of many inputs that are static, with the origin of the first. */
static void make_many(struct fixture *f, struct philox_runner *r,
		      struct many *many, size_t n, const char *origin)
{
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);

	memset(many, 0, sizeof(*many));
	for (size_t i = 0; i < n; i++) {
		snprintf(many->names[i], sizeof(many->names[i]), "w%02zu", i);
		many->inputs[i].name = many->names[i];
		many->inputs[i].kind = PHILOX_INPUT_STATIC;
	}
	many->inputs[0].origin = origin;
	options.name = "many";
	options.body = nothing;
	options.inputs = many->inputs;
	options.n_inputs = n;
	OK(philox_function_create(r, &options, &many->function));
	many->call = PHILOX_INIT(struct philox_call);
	many->call.stream = f->stream;
	many->call.inputs = many->given;
	many->call.n_inputs = n;
}

/* All inputs are one after the other from x on. */
static void call_many(struct many *many, uint32_t *x,
		      enum philox_call_kind kind)
{
	for (size_t i = 0; i < many->call.n_inputs; i++) {
		many->given[i].address = x + i;
		many->given[i].bytes = 4;
	}
	OK(philox_function_call(many->function, &many->call));
	cr_assert_eq(many->call.kind, kind, "%u", many->call.kind);
}

/* A number in a text, after some words. */
static unsigned number_after(const char *text, const char *words)
{
	const char *at = strstr(text, words);
	unsigned number = 0;

	if (at)
		sscanf(at + strlen(words), "%u", &number);
	return number;
}

static unsigned times_in(const char *text, const char *part)
{
	unsigned times = 0;

	for (; (text = strstr(text, part)); text++)
		times++;
	return times;
}

RUNNER_PROMISE(runner_messages, name_inputs_that_moved_and_count_the_rest)
{
	struct many many;
	uint32_t *x[4];
	const char *reason;

	for (int i = 0; i < 4; i++)
		x[i] = make_words(f, 0);
	make_many(f, r, &many, 25, "model.c:7");
	call_many(&many, x[0], PHILOX_CALL_WARMUP);
	call_many(&many, x[0], PHILOX_CALL_RECORD);
	call_many(&many, x[1], PHILOX_CALL_RECORD);
	reason = philox_function_reason(many.function);
	BEGINS(reason, "its inputs moved: input 'w00' (model.c:7) from 0x");
	CONTAINS(reason, "; input 'w01' from 0x");
	CONTAINS(reason, " more; those of kind PHILOX_INPUT_COPIED may move");
	cr_assert_eq(times_in(reason, "input 'w") +
			     number_after(reason, "; and "),
		     25, "%s", reason);
}

/* Each time, in as many messages as it takes. */
RUNNER_PROMISE(runner_messages, log_all_inputs_that_moved_for_each_recording)
{
	struct many many;
	uint32_t *x[3];
	char name[32];

	for (int i = 0; i < 3; i++)
		x[i] = make_words(f, 0);
	make_many(f, r, &many, 30, "");
	call_many(&many, x[0], PHILOX_CALL_WARMUP);
	call_many(&many, x[0], PHILOX_CALL_RECORD);
	for (int again = 1; again < 3; again++) {
		log_texts(f);
		call_many(&many, x[again], PHILOX_CALL_RECORD);
		LOGGED("moved|-|w00|function 'many': its inputs moved: input "
		       "'w00' from 0x");
		for (int i = 0; i < 30; i++) {
			snprintf(name, sizeof(name), "input 'w%02d' from 0x",
				 i);
			LOGGED(name);
		}
	}
}

/* An input without an origin is described by the output that it is. */
RUNNER_PROMISE(runner_messages, describe_an_input_by_the_output_that_it_is)
{
	struct layer layer = make_layer(f, r, "step");
	uint32_t *x = make_words(f, 3);
	struct layer_call from;
	struct many many;

	make_function(&layer, r, "step");
	make_many(f, r, &many, 1, NULL);
	call_many(&many, x, PHILOX_CALL_WARMUP);
	call_many(&many, x, PHILOX_CALL_RECORD);
	from = made_call(&layer, x, 1);
	many.given[0].output = &from.outputs[0];
	call_many(&many, from.outputs[0].address, PHILOX_CALL_RECORD);
	BEGINS(philox_function_reason(many.function),
	       "its inputs moved: input 'w00' (output 'y' (layer.c:1) of "
	       "function 'step') from 0x");
	release_outputs(&layer, &from);
}

RUNNER_PROMISE(runner_messages, describe_an_input_by_its_origin_if_it_has_one)
{
	struct layer layer = make_layer(f, r, "step");
	uint32_t *x = make_words(f, 3);
	struct layer_call from;
	struct many many;

	make_function(&layer, r, "step");
	make_many(f, r, &many, 1, "model.c:7");
	call_many(&many, x, PHILOX_CALL_WARMUP);
	call_many(&many, x, PHILOX_CALL_RECORD);
	from = made_call(&layer, x, 1);
	many.given[0].output = &from.outputs[0];
	call_many(&many, from.outputs[0].address, PHILOX_CALL_RECORD);
	BEGINS(philox_function_reason(many.function),
	       "its inputs moved: input 'w00' (model.c:7) from 0x");
	release_outputs(&layer, &from);
}

/* --- replays that differ -------------------------------------------------- */

/* What is added to x differs from what was captured. */
static enum philox_status frozen_mutation(struct act *act, struct props *props)
{
	TRY_(prop_copy(act, props, props->out[0], props->in[0]));
	return philox_memory_set(act->f->device, props->stream, props->in[0],
				 (int)act->n, 4);
}

RUNNER_PROMISE(runner_messages, describe_inputs_of_a_replay_that_differs_so_too)
{
	struct layer layer = make_layer(f, r, "step");
	struct act act = new_act(f, r, frozen_mutation);
	uint32_t *x = make_words(f, 3);
	struct layer_call from[2];

	make_function(&layer, r, "step");
	from[0] = made_call(&layer, x, 1);
	from[1] = made_call(&layer, x, 2);
	act.inputs[0].origin = NULL;
	act.inputs[0].kind = PHILOX_INPUT_COPIED;
	act.inputs[0].flags = PHILOX_INPUT_MUTATED | PHILOX_INPUT_WRITE_BACK;
	act.n_uses = 0;
	act.n = 1;
	act.in[0].address = from[0].outputs[1].address;
	act.in[0].output = &from[0].outputs[1];
	make_act(&act, "act");
	rehearse(&act);
	act.n = 2;
	act.in[0].address = from[1].outputs[0].address;
	act.in[0].output = &from[1].outputs[0];
	FAILS(call_act(&act), PHILOX_ERROR_DIFFERS);
	NAMES("input 'x' (output 'y' (layer.c:1) of function 'step'): element");
	NAMES("these changed: input 'x' (output 'y' (layer.c:1) of function "
	      "'step') from 0x");
	release_outputs(&layer, &from[0]);
	release_outputs(&layer, &from[1]);
}

/* --- labels of keys ------------------------------------------------------- */

static struct layer_call labelled(struct layer *layer, const void *x,
				  uint32_t key, const char *label)
{
	struct layer_call call = new_call(layer, x, key);

	call.call.label = label;
	OK(try_call(layer, &call));
	return call;
}

/* A function whose key has a label, after a call that was not replayed. */
static void make_labelled(struct fixture *f, struct philox_runner *r,
			  struct layer *layer)
{
	struct philox_function_desc options = layer_options("step", layer);
	const struct philox_input_desc x = {.name = "x",
					    .kind = PHILOX_INPUT_STATIC};
	uint32_t *place[2] = {make_words(f, 3), make_words(f, 3)};
	struct layer_call call;

	options.inputs = &x;
	make_function_of(layer, r, &options);
	for (int i = 0; i < 4; i++) {
		call = labelled(layer, place[i == 3], 1,
				i == 1 ? "batch 32" : NULL);
		release_outputs(layer, &call);
	}
}

RUNNER_PROMISE(runner_messages, have_the_label_that_a_key_was_given)
{
	struct layer layer = make_layer(f, r, "step");
	struct layer_call call;
	char *text;

	log_texts(f);
	make_labelled(f, r, &layer);
	BEGINS(REASON(&layer), "key 'batch 32': its inputs moved: input 'x' ");
	LOGGED("function 'step': key 'batch 32': its inputs moved: input 'x' ");
	LOGGED("function 'step' is recorded: key 'batch 32': its inputs moved");
	call = new_call(&layer, f->scratch, 1);
	call.x.bytes = 4;
	SAYS(try_call(&layer, &call), PHILOX_ERROR_INVALID,
	     "function 'step': input 'x' has 4 bytes, but 128 in earlier calls "
	     "under key 'batch 32'");
	OK(philox_runner_snapshot_text(r, &text, NULL));
	CONTAINS(text,
		 "\nkey 1 size 4 01000000 calls 4 warm-ups 0 dry 0 wait 0 "
		 "refused \"\" label \"batch 32\"\n");
	CONTAINS(text, "\nreason \"key 'batch 32': its inputs moved: input 'x' "
		       "from 0x.. to 0x..");
	free(text);
}

RUNNER_PROMISE(runner_messages, keep_the_first_label_of_a_key_and_say_so_once)
{
	struct layer layer = make_layer(f, r, "step");
	uint32_t *x = make_words(f, 3);
	struct layer_call call;

	make_labelled(f, r, &layer);
	log_texts(f);
	for (int i = 0; i < 3; i++) {
		call = labelled(&layer, x, 1, i ? "batch 64" : "batch 32");
		release_outputs(&layer, &call);
	}
	cr_assert_eq(
		times_in(logged_texts(),
			 "label|-|-|function 'step': key 'batch 32' is "
			 "called with label 'batch 64', and keeps its own"),
		1, "%s", logged_texts());
	cr_assert_eq(times_in(logged_texts(), "label|"), 1);
}

/* A caller that was compiled with the struct's first version gives none. */
RUNNER_PROMISE(runner_messages, read_no_label_of_an_older_caller)
{
	struct layer layer = make_layer(f, r, "step");
	struct layer_call call;
	char *text;

	make_function(&layer, r, "step");
	call = new_call(&layer, make_words(f, 3), 1);
	call.call.size = offsetof(struct philox_call, label);
	call.call.label = "of an old caller";
	OK(try_call(&layer, &call));
	release_outputs(&layer, &call);
	OK(philox_runner_snapshot_text(r, &text, NULL));
	cr_assert_not(strstr(text, "label"), "%s", text);
	free(text);
}

RUNNER_PROMISE(runner_messages, refuse_a_label_that_cannot_be_shown)
{
	struct layer layer = make_layer(f, r, "step");
	struct layer_call call;
	char label[65];

	make_function(&layer, r, "step");
	call = new_call(&layer, make_words(f, 3), 1);
	memset(label, 'a', 64);
	label[64] = '\0';
	call.call.label = label;
	SAYS(try_call(&layer, &call), PHILOX_ERROR_INVALID,
	     "function 'step': label has more than 63 bytes");
	call.call.label = "two\nlines";
	SAYS(try_call(&layer, &call), PHILOX_ERROR_INVALID,
	     "function 'step': label has a control character, 0x0a, after "
	     "'two'");
	call.call.label = label + 1;
	OK(try_call(&layer, &call));
	release_outputs(&layer, &call);
}

/* --- bodies that fail ------------------------------------------------------ */

static enum philox_status ask_for_more(struct philox_run *run)
{
	void *none;

	return philox_run_input(run, 9, &none, NULL);
}

static enum philox_status end_region(struct layer *layer,
				     struct philox_run *run)
{
	OK(philox_region_destroy(layer->region));
	return ask_for_more(run);
}

/* Its ticket went with it, and cannot be released. */
RUNNER_PROMISE(runner_messages, of_a_failed_body_stay_if_its_region_went)
{
	struct layer layer = make_layer(f, r, "step");
	struct layer_call call = new_call(&layer, make_words(f, 3), 1);

	layer.hook = end_region;
	make_function(&layer, r, "step");
	SAYS(try_call(&layer, &call), PHILOX_ERROR_INVALID,
	     "function 'step' has 1 input: there is no input 9");
}

static uint64_t refused; /* which of the device's calls from then on */

static enum philox_status fail_before_the_device(struct layer *layer,
						 struct philox_run *run)
{
	enum philox_status status = PHILOX_OK;

	if (refused)
		status = ask_for_more(run);
	OK(philox_device_fail(layer->f->device, NULL, refused,
			      PHILOX_ERROR_DEVICE));
	return status;
}

/* ... whatever the device refuses while the call is undone. */
RUNNER_PROMISE(runner_messages, of_a_failed_body_stay_if_the_device_fails_too)
{
	struct layer layer = make_layer(f, r, "step");
	uint32_t *x = make_words(f, 3);

	f->injected = f->unfreed = 1;
	layer.hook = fail_before_the_device;
	for (uint64_t n = 2; n < 40; n++) {
		struct layer_call call = new_call(&layer, x, 1);

		refused = 0;
		make_function(&layer, r, "step");
		if (n % 2) /* the call is recorded, else it is a warm-up */
			KIND(&layer, x, 1, PHILOX_CALL_WARMUP);
		refused = n / 2;
		SAYS(try_call(&layer, &call), PHILOX_ERROR_INVALID,
		     "function 'step' has 1 input: there is no input 9");
		OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
		OK(philox_function_destroy(layer.function));
	}
}

/* --- replays that would overwrite what they read --------------------------- */

/* Verified or not, it is refused before anything is run. */
RUNNER_PROMISE(runner_messages, name_an_input_in_memory_that_its_replay_writes)
{
	struct act act = new_act(f, r, echo_script);

	act.n_uses = 0;
	act.inputs[0].kind = PHILOX_INPUT_COPIED;
	act.in[0].address = make_words(f, 3);
	make_act(&act, "act");
	rehearse(&act);
	play_act(&act, PHILOX_CALL_REPLAY);
	act.in[0].address = act.out[0].address;
	FAILS_EITHER(call_act(&act), PHILOX_ERROR_INVALID, PHILOX_ERROR_STALE);
	NAMES("function 'act', input 'x': its 128 bytes at ");
	NAMES("are in output 'y' of function 'act', which was released");
}
