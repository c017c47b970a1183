/*
 * tests/fuzz/plan.c - any bytes as the plan of a runner
 *
 * `make fuzz` builds it with clang's libFuzzer and sanitizers and runs it for a
 * while, starting from tests/fuzz/plans.
 *
 * An input is loaded as it is, and again as of this library and with the
 * checksum that makes its lines valid. A text that is refused must leave the
 * runner as it was. One that is loaded is what the runner saves, unless
 * functions are missing there, and can be shown, and the runner can be called
 * then.
 * tests/runner/plan/corpus.c runs the corpus and many changes of it.
 */
#include "tests/fuzz/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <philox.h>
#include "graph/runner/plan/plan.h"
#include "lib/state/state.h"
#include "tools/explain/explain.h"
#include "tools/plan/plan.h"

#define HEAD       "philox plan 2\nlibrary \""
#define IS_1(text) ((text)[12] == '1') /* what is saved is version 2 */

/* Anything that fails here is a finding. */
static void must(int holds)
{
	if (!holds)
		abort();
}

/* --- a runner ------------------------------------------------------------- */

static enum philox_status do_little(void *user, struct philox_run *run)
{
	void *memory;

	(void)user;
	return philox_run_alloc(run, 64, 0, "", &memory);
}

/* It never succeeds: it has an output, and declares none. */
static enum philox_status fail(void *user, struct philox_run *run)
{
	(void)user;
	(void)run;
	return PHILOX_ERROR_NOT_FOUND;
}

static struct philox_runner *make_runner(struct philox_context *context)
{
	struct philox_runner_desc options =
		PHILOX_INIT(struct philox_runner_desc);
	struct philox_runner *runner;

	options.name = "runner";
	options.pool_limit = 4 << 20; /* whatever a plan wants */
	must(!philox_runner_create(context, &options, &runner));
	return runner;
}

static struct philox_function *make_little(struct philox_runner *runner)
{
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_function *function;

	options.name = "a";
	options.mode = PHILOX_MODE_INFERENCE;
	options.body = do_little;
	options.policy.warmups = PHILOX_NEVER;
	options.policy.dry = 2;
	options.policy.keys = 3;
	options.policy.bytes = 100000;
	must(!philox_function_create(runner, &options, &function));
	return function;
}

static struct philox_function *make_whole(struct philox_runner *runner)
{
	const struct philox_input_desc inputs[] = {
		{.name = "x",
		 .kind = PHILOX_INPUT_STATIC,
		 .alignment = 16,
		 .elements = 1},
		{.name = "rest", .kind = PHILOX_INPUT_AUTOMATIC}};
	const struct philox_output_desc output = {.name = "y", .elements = 1};
	const struct philox_param_desc value = {.name = "rate", .bytes = 4};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_function *function;

	options.name = "whole";
	options.body = fail;
	options.inputs = inputs;
	options.n_inputs = 2;
	options.outputs = &output;
	options.n_outputs = 1;
	options.params = &value;
	options.n_params = 1;
	must(!philox_function_create(runner, &options, &function));
	return function;
}

/* --- loaded --------------------------------------------------------------- */

static void call_little(struct philox_function *function)
{
	static const char keys[] = {0, 1, 2, 3, 0, 1, 0};

	for (size_t i = 0; i < sizeof(keys); i++) {
		struct philox_call call = PHILOX_INIT(struct philox_call);

		call.key = &keys[i];
		call.key_bytes = 1;
		philox_function_call(function, &call);
	}
}

static void call_whole(struct philox_function *function)
{
	static char memory[128];
	const struct philox_call_input inputs[] = {
		{.address = memory, .bytes = 128},
		{.address = memory, .bytes = 64}};
	const struct philox_call_param value = {"rate", 4};
	struct philox_call call = PHILOX_INIT(struct philox_call);

	call.key = "one";
	call.key_bytes = 3;
	call.inputs = inputs;
	call.n_inputs = 2;
	call.params = &value;
	call.n_params = 1;
	for (int i = 0; i < 3; i++)
		philox_function_call(function, &call);
}

static char *save(struct philox_runner *runner)
{
	char *text;

	must(!philox_plan_save_text(runner, &text, NULL));
	return text;
}

/* Returns how many functions it has. */
static size_t show(const char *text, size_t size)
{
	static FILE *nowhere;
	struct plan plan;
	struct json json;
	size_t n;

	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	must(nowhere && !plan_read(text, size, &plan));
	must(!plan_print(&plan, nowhere));
	must(plan_explain(nowhere, &plan, &(struct explain_choice){.times = 1}) >=
	     0);
	json_begin(&json, nowhere);
	json_object(&json, NULL);
	must(!plan_json(&plan, &json));
	json_close(&json);
	must(!json_end(&json));
	n = plan.n_functions;
	plan_finish(&plan);
	return n;
}

static int load(struct philox_context *context, const char *text, size_t size)
{
	struct philox_runner *runner = make_runner(context);
	struct philox_function *little = make_little(runner);
	struct philox_function *whole = make_whole(runner);
	char *before = save(runner), *after;
	enum philox_status status = philox_plan_load_text(runner, text, size);

	after = save(runner);
	if (status == PHILOX_OK) {
		must(IS_1(text) ||
		     show(text, size) < 2 || /* functions are not in it */
		     (strlen(after) == size && !memcmp(after, text, size)));
		call_little(little);
		call_whole(whole);
		free(after);
		after = save(runner);
		show(after, strlen(after));
	} else {
		must(status != PHILOX_ERROR_MEMORY && !strcmp(before, after));
	}
	free(before);
	free(after);
	must(!philox_runner_destroy(runner));
	return status == PHILOX_OK;
}

/* --- texts ---------------------------------------------------------------- */

/* The lines, with the version of this library, and their checksum. */
static char *make_right(const uint8_t *data, size_t size, size_t *length)
{
	const size_t head = strlen(HEAD);
	const char *lines = (const char *)data;
	char *text = malloc(size + 128);
	const char *end = NULL;

	must(text != NULL);
	*length = 0;
	if (size > head && !memcmp(lines, HEAD, 12) &&
	    !memcmp(lines + 13, &HEAD[13], head - 13))
		end = memchr(lines + head, '"', size - head);
	if (end) {
		*length = (size_t)sprintf(text, HEAD "%s", philox_version());
		text[12] = lines[12];
		size -= (size_t)(end - lines);
		lines = end;
	}
	memcpy(text + *length, lines, size);
	*length += size;
	*length += (size_t)sprintf(text + *length,
				   "checksum %016" PRIx64 " bytes %zu\n",
				   hash_text(text, *length), *length);
	return text;
}

int fuzz_plan(const uint8_t *data, size_t size)
{
	static struct philox_device *device;
	struct philox_context *context;
	size_t length;
	char *right = make_right(data, size, &length);
	int loaded;

	must(device || !philox_device_open("host:sync", &device));
	must(!philox_context_create(device, &context));
	load(context, (const char *)data, size);
	loaded = load(context, right, length);
	philox_context_destroy(context);
	free(right);
	return loaded;
}

#ifdef PHILOX_FUZZ
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_plan(data, size);
	return 0;
}
#endif
