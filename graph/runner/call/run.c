/*
 * graph/runner/call/run.c - one run of a body, in whatever kind of call
 */
#include <stdio.h>
#include <string.h>
#include "graph/pool/pool.h"
#include "graph/runner/function/function.h"
#include "graph/runner/state/state.h"
#include "graph/runner/call/call.h"

/* --- beginning and end ---------------------------------------------------------- */

static enum philox_status reserve_run(struct run *run,
				      const struct philox_function *function)
{
	size_t room = run->input_room;
	enum philox_status status =
		runner_room(&run->inputs, &run->input_room, function->n_inputs,
			    sizeof(*run->inputs));

	if (status == PHILOX_OK)
		status = runner_room(&run->copied, &room, function->n_inputs,
				     sizeof(*run->copied));
	if (status != PHILOX_OK)
		run->input_room = room;
	if (status == PHILOX_OK)
		status = runner_room(&run->params, &run->param_room,
				     function->n_params, sizeof(*run->params));
	if (status == PHILOX_OK)
		status =
			runner_room(&run->outputs, &run->output_room,
				    function->n_outputs, sizeof(*run->outputs));
	return status;
}

enum philox_status run_begin(const struct request *request,
			     enum philox_call_kind kind)
{
	struct philox_function *function = request->function;
	struct run *run = &function->runner->run;
	enum philox_status status = reserve_run(run, function);

	if (status != PHILOX_OK)
		return status;
	run->runner = function->runner;
	run->function = function;
	run->call = request->call;
	run->key = request->key;
	run->kind = kind;
	run->stream = request->stream;
	run->why = "";
	run->pool = run->runner->pool;
	run->verify = NULL;
	run->dry = 0;
	run->status = PHILOX_OK;
	run->refused = run->again = 0;
	run->taken = 0;
	run->reason[0] = '\0';
	run->entries = run->n_blocks = run->numbered = 0;
	run->nested = NULL;
	run->steps.n = 0;
	run->steps.lost = 0;
	if (function->n_params)
		memset(run->params, 0,
		       function->n_params * sizeof(*run->params));
	if (function->n_outputs)
		memset(run->outputs, 0,
		       function->n_outputs * sizeof(*run->outputs));
	run->callback.kind = CALLBACK_BODY;
	callback_begin(&run->callback, run->runner->context);
	script_begin(run);
	return PHILOX_OK;
}

/* What an autotuner did that is not done need not be done again. */
void run_end(struct run *run, enum philox_status went)
{
	if (went != PHILOX_OK)
		script_forget(run);
	else if (run->verify)
		run->verify = NULL; /* the script is that of its recording */
	else if (run->again)
		script_free(&run->key->script);
	else
		run->key->script.known = 1;
	run->function = NULL;
	callback_end(&run->callback);
}

/* --- the body -------------------------------------------------------------------- */

enum philox_status run_name_function(const struct run *run,
				     const struct status_message *before,
				     enum philox_status status)
{
	const char *name = run->function->name;
	char begin[80];

	snprintf(begin, sizeof(begin), "function '%s'", name);
	if (!status_is_other(before))
		return status_set(status, "%s: its body returned %s", begin,
				  philox_status_name(status));
	if (strncmp(philox_error_message(), begin, strlen(begin)) == 0)
		return status;
	return status_prefix(status, "%s: ", begin);
}

enum philox_status run_outputs_whole(struct run *run)
{
	const struct philox_function *function = run->function;

	for (size_t i = 0; i < function->n_outputs; i++)
		if (!run->outputs[i].address)
			return run_fail(
				run,
				status_set(PHILOX_ERROR_STATE,
					   "function '%s': its body did not "
					   "declare output '%s'%s%s%s",
					   function->name,
					   function->outputs[i].name,
					   *function->outputs[i].origin ? " ("
									: "",
					   function->outputs[i].origin,
					   *function->outputs[i].origin ? ")"
									: ""));
	return PHILOX_OK;
}

enum philox_status run_body(struct run *run)
{
	struct philox_function *function = run->function;
	enum philox_status status;
	const struct status_message before = status_kept();
	const struct status_message said = run->runner->said;

	function->counts.bodies++;
	status_restore(&said);
	callback_enter(&run->callback);
	status = function->body(function->user, &run->callback);
	callback_leave(&run->callback);
	runner_said(run->runner, &said);
	if (run->status != PHILOX_OK) {
		status_restore(&run->message);
		status = run->status;
	}
	if (status == PHILOX_OK &&
	    !(run->refused && run->kind == PHILOX_CALL_RECORD)) {
		status = script_end(run);
		if (status == PHILOX_OK)
			status = run_passes_whole(run);
		if (status == PHILOX_OK)
			status = run_outputs_whole(run);
	}
	if (status != PHILOX_OK)
		return run_name_function(run, &said, status);
	status_restore(&before);
	return PHILOX_OK;
}

/* --- inputs ----------------------------------------------------------------------- */

static unsigned set_pool_flags(struct philox_pool *pool, unsigned flags)
{
	unsigned before;

	pool_lock(pool);
	before = pool->flags;
	pool->flags = flags;
	pool_unlock(pool);
	return before;
}

/*
 * A recording's buffer is written before its graph runs, which must not fill it
 * then: a pool that fills its blocks does so by a node.
 */
enum philox_status run_take_buffer(struct run *run, size_t index, void **buffer)
{
	struct philox_pool *pool = run->pool;
	const struct philox_input_desc *input = &run->function->inputs[index];
	struct philox_pool_block block;
	const unsigned flags =
		set_pool_flags(pool, pool->flags & ~(unsigned)PHILOX_POOL_FILL);
	enum philox_status status = pool_take_block(
		pool, run->stream, run->call->inputs[index].bytes,
		input->alignment, input->name, &block);

	set_pool_flags(pool, flags);
	if (status != PHILOX_OK)
		return status;
	run->taken++;
	*buffer = block.address;
	steps_note(run,
		   &(struct body_step){.kind = PROGRAM_BUFFER,
				       .index = index,
				       .bytes = run->call->inputs[index].bytes,
				       .alignment = input->alignment,
				       .address = (uintptr_t)block.address},
		   NULL);
	return PHILOX_OK;
}

enum philox_status run_place_inputs(struct run *run, void **buffers,
				    int recorded)
{
	const struct philox_function *function = run->function;
	const struct philox_call *call = run->call;
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < function->n_inputs; i++) {
		buffers[i] = NULL;
		run->copied[i] =
			recorded
				? (uint8_t)inputs_copied(function, run->key,
							 call, i)
				: (uint8_t)inputs_misaligned(function, call, i);
		if (run->copied[i] && call->inputs[i].bytes)
			status = run_take_buffer(run, i, &buffers[i]);
		run->inputs[i] =
			buffers[i] ? buffers[i] : call->inputs[i].address;
	}
	return status;
}

/* --- memory ----------------------------------------------------------------------- */

int range_is_in(const void *address, size_t bytes, const void *base,
		size_t size)
{
	uintptr_t at = (uintptr_t)address, begin = (uintptr_t)base;

	return at >= begin && at - begin <= size &&
	       bytes <= size - (at - begin);
}

size_t run_input_bytes(const struct run *run, size_t index)
{
	return run->nested ? run->nested->call->inputs[index].bytes
			   : run->call->inputs[index].bytes;
}

struct run_block *run_block_at(const struct run *run, const void *address)
{
	const size_t first = run->nested ? run->nested->first_block : 0;

	for (size_t i = first; i < run->n_blocks; i++) {
		struct run_block *block = &run->blocks[i];

		if (!block->freed &&
		    range_is_in(address, 1, block->block.address,
				block->block.bytes))
			return block;
	}
	return NULL;
}

/* --- outputs ---------------------------------------------------------------------- */

static struct output_place place_in_input(
	const struct philox_function *function,
	const struct philox_call_input *input, const struct run_output *output)
{
	struct output_place place = {.address = output->address,
				     .bytes = output->bytes,
				     .id = input->id};
	const struct philox_runner *runner = function->runner;
	const struct output_slot *slot = input_slot(runner, output->input);
	const struct live_block *block;

	if (!slot)
		return place;
	place.id = slot->handle.id;
	place.in_pool = slot->in_pool;
	block = slot->in_pool ? live_find(runner, place.id) : NULL;
	if (block) {
		place.range = block->range;
		place.block_bytes = block->bytes;
		place.from = block->from;
	}
	return place;
}

struct output_place run_output_place(const struct philox_function *function,
				     const struct philox_call *call,
				     const struct run_output *output,
				     struct recording *from)
{
	if (output->input != UINT32_MAX)
		return place_in_input(function, &call->inputs[output->input],
				      output);
	return (struct output_place){.address = output->address,
				     .bytes = output->bytes,
				     .id = output->id,
				     .in_pool = 1,
				     .range = output->range,
				     .block_bytes = output->block_bytes,
				     .from = from};
}

void run_hand_out(const struct philox_function *function,
		  struct philox_call *call, struct output_slot *const *slots,
		  const struct output_place *places)
{
	for (size_t i = 0; i < function->n_outputs; i++) {
		outputs_hand(slots[i], &places[i]);
		if (call->outputs)
			call->outputs[i] = slots[i]->handle;
	}
	for (size_t i = 0; !call->outputs && i < function->n_outputs; i++)
		outputs_drop(slots[i]);
}
