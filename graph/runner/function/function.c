/*
 * graph/runner/function/function.c - functions of a runner: made, destroyed,
 * counted
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <philox/fill.h>
#include <philox/graph.h>
#include "graph/runner/state/state.h"
#include "graph/runner/function/function.h"
#include "lib/base/base.h"
#include "lib/names/names.h"
#include "lib/device/device.h"

/* The sizes of the structs' first versions. */
#define FUNCTION_SIZE_FIRST OPTIONS_FIRST(struct philox_function_desc, agree)
OPTIONS_NO_PADDING(struct philox_function_desc, agree);
#define COUNTS_SIZE_FIRST OPTIONS_FIRST(struct philox_function_stats, nested)
OPTIONS_NO_PADDING(struct philox_function_stats, nested);

#define PARTS_MAX     (1u << 20)
#define ALIGNMENT_MAX 65536
#define ELEMENTS_MAX  PHILOX_ELEMENTS(PHILOX_DTYPE_I64)

/* --- checks ------------------------------------------------------------------- */

static enum philox_status refuse_part(const char *function, const char *what,
				      const char *name, const char *why)
{
	return status_set(PHILOX_ERROR_INVALID, "function '%s': %s '%s' %s",
			  function, what, name, why);
}

static enum philox_status check_name_of(const char *function, const char *what,
					size_t index, const char *name)
{
	if (name && *name)
		return name_check(name, "function '%s': the name of %s %zu",
				  function, what, index);
	return status_set(PHILOX_ERROR_INVALID,
			  "function '%s': the name of %s %zu is %s", function,
			  what, index, name ? "empty" : "NULL");
}

static enum philox_status check_input_info(const char *function,
					   const void *part)
{
	const struct philox_input_desc *input = part;

	if (input->kind > PHILOX_INPUT_COPIED)
		return refuse_part(function, "input", input->name,
				   "has a kind that is not known");
	if (input->flags &
	    ~(uint32_t)(PHILOX_INPUT_MUTATED | PHILOX_INPUT_WRITE_BACK |
			PHILOX_INPUT_FIXED))
		return refuse_part(function, "input", input->name,
				   "has flags that are not known");
	if (input->flags == PHILOX_INPUT_WRITE_BACK)
		return refuse_part(
			function, "input", input->name,
			"has PHILOX_INPUT_WRITE_BACK without MUTATED");
	if (input->flags & PHILOX_INPUT_FIXED &&
	    input->kind == PHILOX_INPUT_COPIED)
		return refuse_part(function, "input", input->name,
				   "is PHILOX_INPUT_FIXED, but is copied");
	if (input->alignment > ALIGNMENT_MAX ||
	    (input->alignment & (input->alignment - 1)))
		return refuse_part(
			function, "input", input->name,
			"has an alignment that is no power of two up "
			"to 65536");
	if (input->elements > ELEMENTS_MAX)
		return refuse_part(function, "input", input->name,
				   "has elements that are not known");
	if (input->reserved32 || input->reserved)
		return refuse_part(function, "input", input->name,
				   "has a reserved field that is not 0");
	return name_check(input->origin,
			  "function '%s': the origin of input "
			  "'%s'",
			  function, input->name);
}

static enum philox_status check_output_info(const char *function,
					    const void *part)
{
	const struct philox_output_desc *output = part;

	if (output->elements > ELEMENTS_MAX)
		return refuse_part(function, "output", output->name,
				   "has elements that are not known");
	if (output->reserved32 || output->reserved)
		return refuse_part(function, "output", output->name,
				   "has a reserved field that is not 0");
	return name_check(output->origin,
			  "function '%s': the origin of output "
			  "'%s'",
			  function, output->name);
}

static enum philox_status check_value_info(const char *function,
					   const void *part)
{
	const struct philox_param_desc *value = part;

	if (!value->bytes || value->bytes > PHILOX_PARAM_BYTES)
		return refuse_part(function, "parameter", value->name,
				   "has no size in 1 .. 16");
	if (value->reserved[0] || value->reserved[1])
		return refuse_part(function, "parameter", value->name,
				   "has a reserved field that is not 0");
	return PHILOX_OK;
}

static int by_text(const void *one, const void *other)
{
	return strcmp(*(const char *const *)one, *(const char *const *)other);
}

/* The names are sorted, so that many can be compared. */
static enum philox_status check_unique(const char *function, const char *what,
				       const char **names, size_t n)
{
	qsort(names, n, sizeof(*names), by_text);
	for (size_t i = 1; i < n; i++)
		if (strcmp(names[i - 1], names[i]) == 0)
			return refuse_part(function, what, names[i],
					   "is there twice");
	return PHILOX_OK;
}

/* An array of inputs, outputs or values: all begin with a name. */
struct parts {
	const char *what; /* "input" */
	const void *items;
	size_t n, size;
	enum philox_status (*check)(const char *function, const void *part);
};

static const void *part_at(const struct parts *parts, size_t index)
{
	return (const char *)parts->items + index * parts->size;
}

static enum philox_status check_each(const char *function,
				     const struct parts *parts,
				     const char **names)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < parts->n; i++) {
		names[i] = *(const char *const *)part_at(parts, i);
		status = check_name_of(function, parts->what, i, names[i]);
		if (status == PHILOX_OK)
			status = parts->check(function, part_at(parts, i));
	}
	if (status == PHILOX_OK)
		status = check_unique(function, parts->what, names, parts->n);
	return status;
}

static enum philox_status check_parts(const char *function,
				      const struct parts *parts)
{
	const char **names;
	enum philox_status status;

	if (parts->n > PARTS_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "function '%s': more than 2^20 %ss", function,
				  parts->what);
	if (parts->n && !parts->items)
		return status_set(PHILOX_ERROR_INVALID,
				  "function '%s': %ss is NULL", function,
				  parts->what);
	names = calloc(parts->n + 1, sizeof(*names));
	if (!names)
		return status_set(PHILOX_ERROR_MEMORY,
				  "function '%s': no memory for it", function);
	status = check_each(function, parts, names);
	free(names);
	return status;
}

static enum philox_status check_policy(const char *function,
				       const struct philox_policy *policy)
{
	const char *field = policy_wrong(policy);

	if (!field)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "function '%s': policy.%s has a value that it cannot "
			  "have",
			  function, field);
}

/* A dry warm-up would be one process's alone. */
static enum philox_status check_agreement(
	const struct philox_function_desc *options)
{
	const int collective =
		(options->flags & PHILOX_FUNCTION_COLLECTIVE) != 0;

	if (collective != (options->agree != NULL))
		return status_set(PHILOX_ERROR_INVALID,
				  "function '%s': agree is %s, but flags has %s"
				  "PHILOX_FUNCTION_COLLECTIVE",
				  options->name, collective ? "NULL" : "there",
				  collective ? "" : "no ");
	if (collective && options->policy.dry)
		return status_set(PHILOX_ERROR_INVALID,
				  "function '%s': policy.dry is not 0, but its "
				  "body speaks to other processes, which may "
				  "have no new key",
				  options->name);
	if (collective && options->policy.bytes)
		return status_set(PHILOX_ERROR_INVALID,
				  "function '%s': policy.bytes is not 0, but "
				  "its body speaks to other processes, which "
				  "may have other bytes",
				  options->name);
	return PHILOX_OK;
}

static enum philox_status check_function(
	const struct philox_function_desc *options)
{
	const char *name = options->name;
	enum philox_status status;

	if (!name || !*name)
		return status_set(PHILOX_ERROR_INVALID,
				  "function options: name is %s",
				  name ? "empty" : "NULL");
	status = name_check(name, "function options: name");
	if (status != PHILOX_OK)
		return status;
	if (strlen(name) >= sizeof(((struct philox_function *)0)->name))
		return status_set(PHILOX_ERROR_INVALID,
				  "function options: name has more than 63 "
				  "bytes");
	if (options->mode > PHILOX_MODE_INFERENCE)
		return status_set(PHILOX_ERROR_INVALID,
				  "function '%s': mode %" PRIu32
				  " is not known",
				  name, options->mode);
	if (options->flags &
	    ~(uint32_t)(PHILOX_FUNCTION_EAGER | PHILOX_FUNCTION_COLLECTIVE))
		return status_set(PHILOX_ERROR_INVALID,
				  "function '%s': flags is 0x%" PRIx32
				  ", but all that are known are 0x3",
				  name, options->flags);
	if (!options->body)
		return status_set(PHILOX_ERROR_INVALID,
				  "function '%s': body is NULL", name);
	status = check_policy(name, &options->policy);
	return status == PHILOX_OK ? check_agreement(options) : status;
}

static enum philox_status check_all_parts(
	const struct philox_function_desc *options)
{
	const struct parts parts[] = {
		{"input", options->inputs, options->n_inputs,
		 sizeof(*options->inputs), check_input_info},
		{"output", options->outputs, options->n_outputs,
		 sizeof(*options->outputs), check_output_info},
		{"parameter", options->params, options->n_params,
		 sizeof(*options->params), check_value_info},
	};
	enum philox_status status = PHILOX_OK;

	for (int i = 0; status == PHILOX_OK && i < 3; i++)
		status = check_parts(options->name, &parts[i]);
	return status;
}

/* --- copies -------------------------------------------------------------------- */

/* A copy of a text; a failure is noted, and told once. */
static const char *copy_text(const char *text, int *failed)
{
	char *copy = strdup(text ? text : "");

	if (!copy)
		*failed = 1;
	return copy;
}

static void *copy_array(const void *items, size_t n, size_t size, int *failed)
{
	void *copy = calloc(n + 1, size);

	if (copy && n)
		memcpy(copy, items, n * size);
	if (!copy)
		*failed = 1;
	return copy;
}

/* On a failure what was copied is freed by function_free(). */
static int copy_parts(struct philox_function *function,
		      const struct philox_function_desc *options)
{
	int failed = 0;

	function->inputs = copy_array(options->inputs, options->n_inputs,
				      sizeof(*options->inputs), &failed);
	function->outputs = copy_array(options->outputs, options->n_outputs,
				       sizeof(*options->outputs), &failed);
	function->params = copy_array(options->params, options->n_params,
				      sizeof(*options->params), &failed);
	function->spare =
		calloc(options->n_outputs + 1, sizeof(*function->spare));
	if (failed || !function->spare)
		return 0;
	function->n_inputs = options->n_inputs;
	function->n_outputs = options->n_outputs;
	function->n_params = options->n_params;
	for (size_t i = 0; i < function->n_inputs; i++) {
		struct philox_input_desc *input = &function->inputs[i];

		function->automatic |= input->kind == PHILOX_INPUT_AUTOMATIC;
		function->mutated |= (input->flags & PHILOX_INPUT_MUTATED) != 0;
		input->name = copy_text(input->name, &failed);
		input->origin = copy_text(input->origin, &failed);
	}
	for (size_t i = 0; i < function->n_outputs; i++) {
		struct philox_output_desc *output = &function->outputs[i];

		output->name = copy_text(output->name, &failed);
		output->origin = copy_text(output->origin, &failed);
	}
	for (size_t i = 0; i < function->n_params; i++)
		function->params[i].name =
			copy_text(function->params[i].name, &failed);
	return !failed;
}

static void free_text(const char *text)
{
	free((void *)(uintptr_t)text);
}

void function_free(struct philox_function *function)
{
	for (size_t i = 0; i < function->n_inputs; i++) {
		free_text(function->inputs[i].name);
		free_text(function->inputs[i].origin);
	}
	for (size_t i = 0; i < function->n_outputs; i++) {
		free_text(function->outputs[i].name);
		free_text(function->outputs[i].origin);
	}
	for (size_t i = 0; i < function->n_params; i++)
		free_text(function->params[i].name);
	free(function->inputs);
	free(function->outputs);
	free(function->params);
	free(function->spare);
	free(function);
}

void function_end(struct philox_function *function)
{
	retired_free(function->runner, function);
	recordings_free(function);
	keys_free(function);
	if (!function->destroyed)
		map_remove(&function->runner->names, names_key(function->name),
			   function);
	function->destroyed = 1;
}

/* --- calls ---------------------------------------------------------------------- */

enum philox_status function_refuse_capture(
	const struct philox_function *function, philox_stream stream)
{
	enum philox_status status =
		device_refuse_capture(runner_device(function->runner), stream);

	if (status == PHILOX_OK)
		return PHILOX_OK;
	return status_prefix(
		status, "function '%s' cannot be called: ", function->name);
}

/* --- making ---------------------------------------------------------------------- */

static const char *name_of(const void *function)
{
	return ((const struct philox_function *)function)->name;
}

struct philox_function *function_find(const struct philox_runner *runner,
				      const char *name)
{
	return names_find(&runner->names, name, name_of);
}

/* And makes room for it. */
static enum philox_status check_free_name(struct philox_runner *runner,
					  const char *name)
{
	if (!names_reserve(&runner->names))
		return status_set(PHILOX_ERROR_MEMORY,
				  "function '%s': no memory for it", name);
	if (!function_find(runner, name))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_EXISTS,
			  "runner '%s' has a function '%s' already",
			  runner->name, name);
}

static void trace_made(const struct philox_function *function)
{
	struct philox_context *context = function->runner->context;

	context_lock(context);
	journal_trace(context, EVENT("function-times", FUNCTION_CREATE),
		      journal_name(function->runner->name).text,
		      journal_name(function->name).text,
		      function->counts.create_ns);
	context_unlock(context);
}

static void take_options(struct philox_function *made,
			 const struct philox_function_desc *options)
{
	snprintf(made->name, sizeof(made->name), "%s", options->name);
	made->mode = (enum philox_function_mode)options->mode;
	made->flags = options->flags;
	made->body = options->body;
	made->user = options->user;
	made->agree = options->agree;
	made->policy = options->policy;
	policy_fill(&made->policy);
}

static enum philox_status make_function(
	struct philox_runner *runner, const struct philox_function_desc *given,
	struct philox_function **out)
{
	const uint64_t began = runner_time();
	struct philox_function_desc options;
	struct philox_function *made;
	enum philox_status status =
		options_copy("function options", given, given->size,
			     FUNCTION_SIZE_FIRST, sizeof(options), &options);

	if (status == PHILOX_OK)
		status = check_function(&options);
	if (status == PHILOX_OK)
		status = check_all_parts(&options);
	if (status == PHILOX_OK)
		status = check_free_name(runner, options.name);
	if (status != PHILOX_OK)
		return status;
	made = calloc(1, sizeof(*made));
	if (!made || !copy_parts(made, &options)) {
		if (made)
			function_free(made);
		return status_set(PHILOX_ERROR_MEMORY,
				  "function '%s': no memory for it",
				  options.name);
	}
	take_options(made, &options);
	made->runner = runner;
	made->called = runner->plan_calls;
	made->next = runner->functions;
	runner->functions = made;
	map_put(&runner->names, names_key(made->name), made);
	made->counts.create_ns = runner_time() - began;
	trace_made(made);
	runner_post(made, PHILOX_LOG_INFO, "function", PHILOX_CALL_NONE, NULL,
		    made->counts.create_ns, "is made");
	*out = made;
	return PHILOX_OK;
}

enum philox_status philox_function_create(
	struct philox_runner *runner,
	const struct philox_function_desc *options,
	struct philox_function **function)
{
	enum philox_status status;

	if (!runner)
		return context_null(NULL, "runner");
	if (!options || !function)
		return context_null(runner->context,
				    options ? "function" : "options");
	NEED_PROCESS(runner->context);
	status = runner_acquire(runner);
	if (status != PHILOX_OK)
		return runner_report(runner, NULL, status);
	return runner_leave(runner, NULL,
			    make_function(runner, options, function));
}

/* A key of a function whose body called another one that is no more. */
static void forget_calls(struct philox_function *function,
			 const struct philox_function *gone)
{
	for (struct key *key = function->keys; key;
	     key = key->next_in_function) {
		if (!script_calls(&key->script, gone->name))
			continue;
		recordings_retire(key, function,
				  "a function that it calls was destroyed");
		script_free(&key->script);
		key->body_not_run = 1;
	}
}

/* The pool has what outputs of it need before its recordings go. */
enum philox_status philox_function_destroy(struct philox_function *function)
{
	struct philox_runner *runner;
	enum philox_status status;

	if (!function)
		return PHILOX_OK;
	runner = function->runner;
	NEED_PROCESS(runner->context);
	status = runner_acquire(runner);
	if (status != PHILOX_OK)
		return runner_report(runner, function, status);
	status = live_settle(runner);
	for (struct philox_function *other = runner->functions;
	     status == PHILOX_OK && function->called && other;
	     other = other->next)
		if (other != function)
			forget_calls(other, function);
	if (status == PHILOX_OK)
		function_end(function);
	return runner_leave(runner, function, status);
}

const char *philox_function_name(const struct philox_function *function)
{
	return function ? function->name : "";
}

const char *philox_function_reason(const struct philox_function *function)
{
	return function ? function->reason : "";
}

enum philox_status philox_function_get_stats(
	struct philox_function *function, struct philox_function_stats *counts)
{
	enum philox_status status;

	if (!function)
		return context_null(NULL, "function");
	if (!counts)
		return context_null(function->runner->context, "counts");
	NEED_PROCESS(function->runner->context);
	status = runner_acquire(function->runner);
	if (status != PHILOX_OK)
		return runner_report(function->runner, function, status);
	status = options_check_room("counts", counts->size, COUNTS_SIZE_FIRST,
				    sizeof(*counts));
	if (status == PHILOX_OK) {
		timers_read(function);
		options_write(counts, &function->counts, sizeof(*counts));
	}
	return runner_leave(function->runner, function, status);
}
