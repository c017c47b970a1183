/*
 * graph/runner/call/nested.c - a body that calls a function, whose body runs
 * within the same run
 *
 * See Bodies within bodies in Note [Runner], graph/runner/state/state.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "graph/pool/pool.h"
#include "graph/runner/call/call.h"
#include "graph/runner/function/function.h"
#include "graph/runner/state/state.h"
#include "lib/base/base.h"

/* The size of the struct's first version. */
#define NESTED_SIZE_FIRST OPTIONS_FIRST(struct philox_nested_call, n_outputs)
OPTIONS_NO_PADDING(struct philox_nested_call, n_outputs);

#define DEPTH_MAX 64

/* What the body within has, while it runs. */
struct inner {
	struct nested nested;
	struct philox_function *function;
	void **inputs;
	uint8_t *copied;
	void **params;
	struct run_output *outputs;
	size_t first_copy; /* of an input, among the blocks of the run */
};

/* --- whether it can be called ------------------------------------------------- */

static enum philox_status check_function(const struct run *run,
					 const struct philox_function *function)
{
	const unsigned depth = run->nested ? run->nested->depth : 0;

	if (function->runner != run->runner)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "function '%s' is of another runner than "
				  "function '%s', whose body calls it",
				  function->name, run->function->name);
	if (function->destroyed)
		return status_set(PHILOX_ERROR_STALE,
				  "function '%s' was destroyed",
				  function->name);
	if (function->agree && !run->function->agree)
		return status_set(
			PHILOX_ERROR_INVALID,
			"function '%s' is PHILOX_FUNCTION_COLLECTIVE, "
			"but function '%s', whose body calls it, is "
			"not",
			function->name, run->function->name);
	if (depth < DEPTH_MAX)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_LIMIT,
			  "function '%s' is called %u bodies deep, which is "
			  "the most",
			  function->name, depth);
}

static enum philox_status check_nested_count(
	const struct philox_function *function, const char *what, size_t n,
	size_t has, const void *array)
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

static enum philox_status check_listed(const struct philox_function *function,
				       const struct philox_nested_call *call)
{
	if (call->n_passes && !call->passes)
		return status_set(PHILOX_ERROR_INVALID,
				  "function '%s': passes is NULL",
				  function->name);
	for (size_t i = 0; i < call->n_passes; i++) {
		const struct philox_launch_pass *entry = &call->passes[i];

		if (entry->reserved ||
		    entry->flags & ~(uint32_t)PHILOX_PASS_RETAIN)
			return status_set(
				PHILOX_ERROR_INVALID,
				"function '%s', pass %zu: %s is 0x%" PRIx32
				", but %s",
				function->name, i,
				entry->reserved ? "reserved" : "flags",
				entry->reserved ? entry->reserved
						: entry->flags,
				entry->reserved ? "must be 0"
						: "a pass takes "
						  "PHILOX_PASS_RETAIN only");
	}
	return PHILOX_OK;
}

static enum philox_status check_nested_call(
	const struct philox_function *function,
	const struct philox_nested_call *call)
{
	enum philox_status status = options_check_size(
		"call", call, call->size, NESTED_SIZE_FIRST, sizeof(*call));

	if (status == PHILOX_OK)
		status = check_nested_count(function, "input", call->n_inputs,
					    function->n_inputs, call->inputs);
	if (status == PHILOX_OK)
		status = check_nested_count(function, "parameter",
					    call->n_params, function->n_params,
					    call->params);
	if (status == PHILOX_OK && (call->outputs || call->n_outputs))
		status = check_nested_count(function, "output", call->n_outputs,
					    function->n_outputs, call->outputs);
	return status == PHILOX_OK ? check_listed(function, call) : status;
}

/* --- memory of the body around ------------------------------------------------ */

/* Whether a range is in one input of the body around that has these flags. */
static int is_in_input(const struct run *run, const void *address, size_t bytes,
		       uint32_t flags)
{
	for (size_t i = 0; i < run->function->n_inputs; i++)
		if ((run->function->inputs[i].flags & flags) == flags &&
		    range_is_in(address, bytes, run->inputs[i],
				run_input_bytes(run, i)))
			return 1;
	return 0;
}

/* What is at an address that the body around gives; NULL: it is good. */
static const char *wrong_memory(const struct run *run, const void *address,
				size_t bytes, uint32_t flags)
{
	const struct run_block *block = run_block_at(run, address);

	if (block)
		return range_is_in(address, bytes, block->block.address,
				   block->block.bytes)
			       ? NULL
			       : "ends beyond its memory";
	if (is_in_input(run, address, bytes, flags))
		return NULL;
	if (is_in_input(run, address, bytes, 0))
		return "is mutated, but is in an input that is not";
	return is_in_input(run, address, 1, 0)
		       ? "ends beyond the input that it is in"
		       : "is neither in memory of this run nor in an input";
}

static enum philox_status refuse_part(const struct run *run,
				      const struct philox_function *function,
				      const char *what, const char *name,
				      const char *why)
{
	return status_set(PHILOX_ERROR_INVALID,
			  "function '%s': %s '%s' of function '%s', which its "
			  "body calls, %s",
			  run->function->name, what, name, function->name, why);
}

/* --- inputs ------------------------------------------------------------------- */

static int is_misaligned(const struct philox_input_desc *input,
			 const struct philox_nested_array *given)
{
	return given->bytes && input->alignment > 1 &&
	       ((uintptr_t)given->address & (input->alignment - 1)) != 0;
}

static enum philox_status check_input(const struct run *run,
				      const struct philox_function *function,
				      const struct philox_nested_array *given,
				      size_t index)
{
	const struct philox_input_desc *input = &function->inputs[index];
	const uint32_t mutated = input->flags & PHILOX_INPUT_MUTATED;
	const char *why = NULL;

	if (!given->bytes)
		return PHILOX_OK;
	if (!given->address)
		why = "is at NULL";
	else if (is_misaligned(input, given) &&
		 input->flags == PHILOX_INPUT_MUTATED)
		why = "is mutated, and is not aligned as it says";
	else
		why = wrong_memory(run, given->address, given->bytes, mutated);
	return why ? refuse_part(run, function, "input", input->name, why)
		   : PHILOX_OK;
}

/* Memory of the run that no body took; it is free when this body has ended. */
static enum philox_status take_buffer(struct run *run, const char *name,
				      size_t bytes, size_t alignment,
				      void **buffer)
{
	struct run_block made = {.number = SIZE_MAX};
	enum philox_status status =
		runner_room(&run->blocks, &run->block_room, run->n_blocks + 1,
			    sizeof(*run->blocks));

	if (status == PHILOX_OK)
		status = pool_take_block(run->pool, run->stream, bytes,
					 alignment, name, &made.block);
	if (status != PHILOX_OK)
		return run->verify ? verify_paint(run->verify, NULL, 0, status)
				   : status;
	run->taken++;
	made.range = live_range(run->runner, made.block.address, bytes);
	run->blocks[run->n_blocks++] = made;
	*buffer = made.block.address;
	return PHILOX_OK;
}

static enum philox_status copy_between(struct run *run, void *to,
				       const void *from, size_t bytes)
{
	return philox_memory_copy(runner_device(run->runner), run->stream, to,
				  from, bytes);
}

/* An address that is not aligned is copied in whatever kind of call. */
static enum philox_status place_inner_input(struct run *run,
					    struct inner *inner, size_t index)
{
	const struct philox_input_desc *input = &inner->function->inputs[index];
	const struct philox_nested_array *given =
		&inner->nested.call->inputs[index];
	enum philox_status status =
		check_input(run, inner->function, given, index);

	inner->inputs[index] = given->address;
	if (status != PHILOX_OK || !is_misaligned(input, given))
		return status;
	inner->copied[index] = 1;
	status = take_buffer(run, input->name, given->bytes, input->alignment,
			     &inner->inputs[index]);
	if (status == PHILOX_OK)
		status = copy_between(run, inner->inputs[index], given->address,
				      given->bytes);
	return status;
}

static enum philox_status copy_inner_back(struct run *run,
					  const struct inner *inner)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < inner->function->n_inputs;
	     i++) {
		const struct philox_nested_array *given =
			&inner->nested.call->inputs[i];

		if (inner->copied[i] &&
		    inner->function->inputs[i].flags & PHILOX_INPUT_WRITE_BACK)
			status = copy_between(run, given->address,
					      inner->inputs[i], given->bytes);
	}
	return status;
}

/* --- parameters --------------------------------------------------------------- */

static int is_param(const struct run *run, const void *cell, size_t *index)
{
	for (size_t i = 0; i < run->function->n_params; i++) {
		*index = i;
		if (cell && run->params[i] == cell)
			return 1;
	}
	return 0;
}

static enum philox_status place_inner_param(struct run *run,
					    struct inner *inner, size_t index)
{
	const struct philox_function *function = inner->function;
	const void *cell = inner->nested.call->params[index];
	const char *why = NULL;
	size_t at;

	if (!cell)
		why = "is at NULL";
	else if (!is_param(run, cell, &at))
		why = wrong_memory(run, cell, PHILOX_PARAM_BYTES, 0);
	else if (run->function->params[at].bytes !=
		 function->params[index].bytes)
		why = "is of another size than the parameter that is given";
	if (why)
		return refuse_part(run, function, "parameter",
				   function->params[index].name, why);
	inner->params[index] = (void *)(uintptr_t)cell;
	return PHILOX_OK;
}

/* --- the body within ------------------------------------------------------------ */

static enum philox_status make_inner(struct inner *inner)
{
	const struct philox_function *function = inner->function;

	inner->inputs = calloc(function->n_inputs + 1, sizeof(void *));
	inner->copied = calloc(function->n_inputs + 1, 1);
	inner->params = calloc(function->n_params + 1, sizeof(void *));
	inner->outputs =
		calloc(function->n_outputs + 1, sizeof(*inner->outputs));
	if (inner->inputs && inner->copied && inner->params && inner->outputs)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_MEMORY,
			  "function '%s': no memory for a call",
			  function->name);
}

static void free_inner(struct inner *inner)
{
	free(inner->inputs);
	free(inner->copied);
	free(inner->params);
	free(inner->outputs);
}

static enum philox_status place_all(struct run *run, struct inner *inner)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < inner->function->n_inputs;
	     i++)
		status = place_inner_input(run, inner, i);
	for (size_t i = 0; status == PHILOX_OK && i < inner->function->n_params;
	     i++)
		status = place_inner_param(run, inner, i);
	return status;
}

/* From here to leave() the run is the inner body's. */
static void enter(struct run *run, struct inner *inner)
{
	struct nested *nested = &inner->nested;

	nested->around = run->nested;
	nested->depth = run->nested ? run->nested->depth + 1 : 1;
	nested->function = run->function;
	nested->inputs = run->inputs;
	nested->copied = run->copied;
	nested->params = run->params;
	nested->outputs = run->outputs;
	run->nested = nested;
	run->function = inner->function;
	run->inputs = inner->inputs;
	run->copied = inner->copied;
	run->params = inner->params;
	run->outputs = inner->outputs;
}

static void leave(struct run *run)
{
	const struct nested *nested = run->nested;

	run->function = nested->function;
	run->inputs = nested->inputs;
	run->copied = nested->copied;
	run->params = nested->params;
	run->outputs = nested->outputs;
	run->nested = nested->around;
}

static enum philox_status end_refused(const struct run *run)
{
	return status_set(PHILOX_ERROR_UNSUPPORTED,
			  "its body refused to be recorded: %s", run->reason);
}

static enum philox_status check_whole(struct run *run)
{
	enum philox_status status = run_passes_whole(run);

	return status == PHILOX_OK ? run_outputs_whole(run) : status;
}

/* Its failure is the run's. */
static enum philox_status run_inner_body(struct run *run)
{
	struct philox_function *function = run->function;
	const struct status_message before = status_kept();
	struct status_message said;
	enum philox_status status;

	function->counts.bodies++;
	function->counts.nested++;
	status = function->body(function->user, &run->callback);
	said = status_kept();
	if (run->status != PHILOX_OK) {
		status_restore(&run->message);
		status = run->status;
	} else if (run->refused && run->kind == PHILOX_CALL_RECORD) {
		status = end_refused(run);
	}
	if (status == PHILOX_OK)
		status = check_whole(run);
	if (status != PHILOX_OK)
		return run_name_function(run, &before, status);
	status_restore(&said);
	return PHILOX_OK;
}

/* What is no output of it is free; its outputs are the body's around. */
static enum philox_status free_rest(struct run *run, const struct inner *inner)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = inner->first_copy;
	     status == PHILOX_OK && i < run->n_blocks; i++) {
		struct run_block *block = &run->blocks[i];
		const int stays = block->outputs && inner->nested.call->outputs;

		block->outputs = 0;
		if (block->freed || stays)
			continue;
		status = pool_free_block(run->pool, run->stream,
					 block->block.address);
		block->freed = status == PHILOX_OK;
	}
	return status;
}

static void give_outputs(const struct run *run)
{
	const struct philox_nested_call *call = run->nested->call;

	for (size_t i = 0; i < call->n_outputs; i++)
		call->outputs[i] = (struct philox_nested_array){
			run->outputs[i].address, run->outputs[i].bytes};
}

static enum philox_status run_inner(struct run *run, const struct inner *inner)
{
	const struct step end = {.kind = STEP_RETURN,
				 .region = inner->function->name};
	enum philox_status status = run_inner_body(run);

	if (status == PHILOX_OK)
		status = copy_inner_back(run, inner);
	if (status == PHILOX_OK)
		status = free_rest(run, inner);
	if (status == PHILOX_OK)
		status = script_step(run, &end);
	if (status != PHILOX_OK)
		return status;
	steps_note(run, &(struct body_step){.kind = PROGRAM_RETURN},
		   inner->function->name);
	run_passes_give(run);
	give_outputs(run);
	return PHILOX_OK;
}

static enum philox_status call_inner(struct run *run, struct inner *inner)
{
	const struct step begin = {.kind = STEP_CALL,
				   .region = inner->function->name};
	enum philox_status status = make_inner(inner);

	inner->function->called = 1;
	if (status == PHILOX_OK)
		status = script_step(run, &begin);
	if (status == PHILOX_OK) {
		steps_note(run, &(struct body_step){.kind = PROGRAM_CALL},
			   inner->function->name);
		inner->first_copy = run->n_blocks;
		status = place_all(run, inner);
	}
	if (status == PHILOX_OK) {
		inner->nested.first_pass = run->callback.n_passes;
		inner->nested.first_block = run->n_blocks;
		enter(run, inner);
		status = run_inner(run, inner);
		leave(run);
	}
	free_inner(inner);
	return status;
}

/* --- calls ---------------------------------------------------------------------- */

/* A function that is never recorded keeps those that call it from that. */
static enum philox_status refuse_eager(struct run *run,
				       const struct philox_function *function)
{
	char reason[160];

	if (!(function->flags & PHILOX_FUNCTION_EAGER) ||
	    run_called(run)->flags & PHILOX_FUNCTION_EAGER)
		return PHILOX_OK;
	snprintf(reason, sizeof(reason),
		 "it calls function '%s', which is PHILOX_FUNCTION_EAGER",
		 function->name);
	body_refuse(run, reason);
	if (run->kind != PHILOX_CALL_RECORD)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_UNSUPPORTED, "function '%s': %s",
			  run->function->name, reason);
}

static enum philox_status call_within(struct run *run,
				      struct philox_function *function,
				      struct philox_nested_call *call)
{
	struct inner inner = {.nested.call = call, .function = function};
	enum philox_status status = run_check(run);

	if (status != PHILOX_OK)
		return status;
	if (!function || !call)
		return status_set(PHILOX_ERROR_INVALID, "%s is NULL",
				  function ? "call" : "function");
	status = check_function(run, function);
	if (status == PHILOX_OK)
		status = check_nested_call(function, call);
	if (status == PHILOX_OK)
		status = refuse_eager(run, function);
	return status == PHILOX_OK ? call_inner(run, &inner) : status;
}

enum philox_status philox_run_call(struct philox_run *run,
				   struct philox_function *function,
				   struct philox_nested_call *call)
{
	struct run *body = (struct run *)run; /* whose first member it is */

	if (callback_is_form(run))
		return form_refuse(run, "calls of functions");
	if (run)
		NEED_PROCESS(body->runner->context);
	return body_report(body, call_within(body, function, call));
}
