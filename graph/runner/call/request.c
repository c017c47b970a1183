/*
 * graph/runner/call/request.c - the arguments of a call, checked
 */
#include <inttypes.h>
#include <string.h>
#include "graph/pool/pool.h"
#include "graph/runner/call/call.h"
#include "graph/runner/function/function.h"
#include "graph/runner/state/state.h"
#include "lib/base/base.h"
#include "lib/device/device.h"

/* The size of the struct's first version. */
#define CALL_SIZE_FIRST OPTIONS_FIRST(struct philox_call, reserved)
OPTIONS_NO_PADDING(struct philox_call, label);

#define KEY_SIZE_MAX 4096

/* --- checks ---------------------------------------------------------------------------- */

static enum philox_status check_count(const struct philox_function *function,
				      const char *what, size_t n, size_t has,
				      const void *array)
{
	if (n != has)
		return status_set(PHILOX_ERROR_INVALID,
				  "function '%s' has %zu %s%s, not %zu",
				  function->name, has, what, status_s(has), n);
	if (n && !array)
		return status_set(PHILOX_ERROR_INVALID,
				  "function '%s': %ss is NULL", function->name,
				  what);
	return PHILOX_OK;
}

static enum philox_status check_param(const struct philox_function *function,
				      const struct philox_call *call, size_t i)
{
	const struct philox_call_param *value = &call->params[i];

	if (value->data && value->bytes == function->params[i].bytes)
		return PHILOX_OK;
	if (!value->data)
		return status_set(PHILOX_ERROR_INVALID,
				  "function '%s': parameter '%s' is NULL",
				  function->name, function->params[i].name);
	return status_set(
		PHILOX_ERROR_INVALID,
		"function '%s': parameter '%s' has %zu byte%s, not %zu",
		function->name, function->params[i].name,
		function->params[i].bytes, status_s(function->params[i].bytes),
		value->bytes);
}

static enum philox_status check_call_use(const struct philox_function *function,
					 const struct philox_call *call,
					 size_t i)
{
	const struct philox_launch_pass *use = &call->passes[i];

	if (!use->reserved && !(use->flags & ~(uint32_t)PHILOX_PASS_RETAIN))
		return PHILOX_OK;
	return status_set(
		PHILOX_ERROR_INVALID,
		"function '%s', pass %zu: %s is 0x%" PRIx32 ", but %s",
		function->name, i, use->reserved ? "reserved" : "flags",
		use->reserved ? use->reserved : use->flags,
		use->reserved ? "must be 0"
			      : "a launch pass takes PHILOX_PASS_RETAIN only");
}

static enum philox_status check_lists(const struct philox_function *function,
				      const struct philox_call *call,
				      int prepare)
{
	enum philox_status status =
		check_count(function, "input", call->n_inputs,
			    function->n_inputs, call->inputs);

	if (status == PHILOX_OK)
		status = check_count(function, "parameter", call->n_params,
				     function->n_params, call->params);
	if (status == PHILOX_OK &&
	    (call->outputs || (call->n_outputs && !prepare)))
		status = check_count(function, "output", call->n_outputs,
				     function->n_outputs, call->outputs);
	if (status == PHILOX_OK && !prepare && call->n_passes && !call->passes)
		status = status_set(PHILOX_ERROR_INVALID,
				    "function '%s': passes is NULL",
				    function->name);
	for (size_t i = 0; status == PHILOX_OK && i < call->n_params; i++)
		status = check_param(function, call, i);
	for (size_t i = 0;
	     status == PHILOX_OK && !prepare && i < call->n_passes; i++)
		status = check_call_use(function, call, i);
	return status;
}

/* Without a handle: what lies in an output is as with that output's. */
static enum philox_status find_by_address(
	const struct philox_function *function,
	const struct philox_call_input *input, struct output_slot **slot)
{
	enum philox_status status = outputs_at(
		function->runner, input->address, input->bytes, slot);

	if (status == PHILOX_OK && *slot && input->id)
		status = status_set(PHILOX_ERROR_INVALID,
				    "it has an id, but is in the block of an "
				    "output: an id is for other memory");
	return status;
}

/* The output that an input is in, by its handle or its address; NULL: none. */
static enum philox_status find_given(const struct philox_function *function,
				     const struct philox_call_input *input,
				     struct range pool,
				     struct output_slot **slot)
{
	*slot = NULL;
	if (input->output)
		return outputs_find(function->runner, input->output, slot);
	if (input_meets(pool, input))
		return find_by_address(function, input, slot);
	return PHILOX_OK;
}

static void hold_slot(struct philox_runner *runner, size_t n_inputs, size_t i,
		      struct output_slot *slot)
{
	if (!runner->handles++)
		memset(runner->input_slots, 0,
		       n_inputs * sizeof(*runner->input_slots));
	runner->input_slots[i] = slot;
}

static enum philox_status check_input_handles(
	const struct philox_function *function, const struct philox_call *call)
{
	struct philox_runner *runner = function->runner;
	const struct range pool = pool_span(runner->pool->blocks);
	enum philox_status status =
		runner_room(&runner->input_slots, &runner->input_slot_room,
			    call->n_inputs, sizeof(*runner->input_slots));

	runner->handles = 0;
	for (size_t i = 0; status == PHILOX_OK && i < call->n_inputs; i++) {
		struct output_slot *slot;

		status = find_given(function, &call->inputs[i], pool, &slot);
		if (status != PHILOX_OK)
			status_prefix(status, "function '%s', input '%s': ",
				      function->name, function->inputs[i].name);
		else if (slot)
			hold_slot(runner, call->n_inputs, i, slot);
	}
	return status;
}

/* NULL: none. */
static const char *label_of(const struct philox_call *call)
{
	return call->size >= OPTIONS_FIRST(struct philox_call, label)
		       ? call->label
		       : NULL;
}

static enum philox_status check_label(const struct philox_function *function,
				      const char *label)
{
	const size_t most = sizeof(((struct key *)0)->label) - 1;

	if (label && strlen(label) > most)
		return status_set(
			PHILOX_ERROR_INVALID,
			"function '%s': label has more than %zu bytes",
			function->name, most);
	return name_check(label, "function '%s': label", function->name);
}

/* A key has the first label that is given for it. */
static void take_label(const struct philox_function *function, struct key *key,
		       const char *label)
{
	if (!label || !*label || strcmp(label, key->label) == 0)
		return;
	if (!*key->label) {
		memcpy(key->label, label, strlen(label) + 1);
		return;
	}
	if (key->logged & LOGGED_LABEL)
		return;
	key->logged |= LOGGED_LABEL;
	runner_post(function, PHILOX_LOG_WARNING, "label", PHILOX_CALL_NONE,
		    NULL, 0,
		    ": %s is called with label '%s', and keeps its own",
		    key_words(key).text, label);
}

/* What a recording of the same inputs was made for needs no checks. */
static enum philox_status check_inputs(struct request *request)
{
	struct philox_function *function = request->function;
	const struct philox_call *call = request->call;
	enum philox_status status;

	request->key = key_find(function, call->key, call->key_bytes);
	if (request->key && !request->prepare)
		request->guessed = guess_find(function, request->key, call);
	if (request->guessed) {
		function->runner->handles = 0;
		return PHILOX_OK;
	}
	status = inputs_check(function, call);
	return status == PHILOX_OK ? check_input_handles(function, call)
				   : status;
}

static enum philox_status check_call(const struct philox_function *function,
				     const struct philox_call *call,
				     int prepare)
{
	enum philox_status status = options_check_size(
		"call", call, call->size, CALL_SIZE_FIRST, sizeof(*call));

	if (status == PHILOX_OK)
		status = options_check_reserved("call", call->reserved);
	if (status == PHILOX_OK && call->key_bytes > KEY_SIZE_MAX)
		status = status_set(PHILOX_ERROR_INVALID,
				    "function '%s': a key has at most %d "
				    "bytes, not %zu",
				    function->name, KEY_SIZE_MAX,
				    call->key_bytes);
	if (status == PHILOX_OK && call->key_bytes && !call->key)
		status = status_set(PHILOX_ERROR_INVALID,
				    "function '%s': key is NULL",
				    function->name);
	if (status == PHILOX_OK)
		status = check_label(function, label_of(call));
	if (status == PHILOX_OK)
		status = check_lists(function, call, prepare);
	return status;
}

enum philox_status request_check(struct request *request)
{
	struct philox_function *function = request->function;
	struct philox_call *call = request->call;
	const uint64_t keys = function->counts.keys;
	enum philox_status status;

	if (!call)
		return status_set(PHILOX_ERROR_INVALID, "call is NULL");
	if (function->destroyed)
		return status_set(PHILOX_ERROR_STALE,
				  "function '%s' was destroyed",
				  function->name);
	status = check_call(function, call, request->prepare);
	if (status == PHILOX_OK)
		status = check_inputs(request);
	if (status == PHILOX_OK && !request->key)
		status = key_get(function, call->key, call->key_bytes,
				 &request->key);
	request->fresh = function->counts.keys > keys;
	if (status == PHILOX_OK && !request->guessed)
		status = inputs_fit(function, request->key, call);
	if (status == PHILOX_OK)
		status = legacy_stream(function->runner, call->stream,
				       &request->stream);
	if (status != PHILOX_OK)
		return status;
	take_label(function, request->key, label_of(call));
	request->key->used = ++function->runner->calls;
	function->runner->unrecorded = 0;
	return PHILOX_OK;
}
