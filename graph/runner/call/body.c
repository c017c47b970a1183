/*
 * graph/runner/call/body.c - what a body asks of its run
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <philox/graph.h>
#include "graph/pool/pool.h"
#include "graph/runner/call/call.h"
#include "graph/runner/state/state.h"
#include "graph/runner/function/function.h"
#include "graph/verify/verify.h"

/* The run of a body; NULL: none. */
static struct run *body_of(struct philox_run *run)
{
	return (struct run *)run; /* whose first member it is */
}

static const struct run *const_body_of(const struct philox_run *run)
{
	return (const struct run *)run;
}

philox_stream philox_run_stream(const struct philox_run *run)
{
	if (callback_is_form(run))
		return form_stream(run);
	return run ? const_body_of(run)->stream : NULL;
}

enum philox_call_kind philox_run_kind(const struct philox_run *run)
{
	if (callback_is_form(run))
		return PHILOX_CALL_EAGER;
	return run && const_body_of(run)->function ? const_body_of(run)->kind
						   : PHILOX_CALL_NONE;
}

/* A call of the body that failed, so that the run has. */
enum philox_status body_report(struct run *run, enum philox_status status)
{
	if (!run || status == PHILOX_OK)
		return status;
	run_fail(run, status);
	return runner_report(run->runner,
			     run_is_ours(run) ? run->function : NULL, status);
}

static enum philox_status refuse_number(const struct run *run, const char *what,
					size_t index, size_t n)
{
	return status_set(PHILOX_ERROR_INVALID,
			  "function '%s' has %zu %s%s: there is no %s %zu",
			  run->function->name, n, what, status_s(n), what,
			  index);
}

/* --- inputs ------------------------------------------------------------------ */

static enum philox_status find_input(struct run *run, size_t index,
				     void **address, size_t *bytes)
{
	enum philox_status status = run_check(run);

	if (status != PHILOX_OK)
		return status;
	if (!address)
		return status_set(PHILOX_ERROR_INVALID, "address is NULL");
	if (index >= run->function->n_inputs)
		return refuse_number(run, "input", index,
				     run->function->n_inputs);
	*address = run->inputs[index];
	if (bytes)
		*bytes = run_input_bytes(run, index);
	return PHILOX_OK;
}

enum philox_status philox_run_input(struct philox_run *run, size_t index,
				    void **address, size_t *bytes)
{
	if (callback_is_form(run))
		return form_input(run, index, address, bytes);
	return body_report(body_of(run),
			   find_input(body_of(run), index, address, bytes));
}

/* --- values ------------------------------------------------------------------ */

/* An eager call's cell is 16 bytes of the pool. */
static enum philox_status write_cell(struct run *run, size_t index, void **cell)
{
	const struct philox_call_param *value = &run->call->params[index];
	struct philox_pool_block block;
	enum philox_status status =
		pool_take_block(run->pool, run->stream, PHILOX_PARAM_BYTES, 0,
				run->function->params[index].name, &block);

	if (status != PHILOX_OK)
		return run->verify ? verify_paint(run->verify, NULL, 0, status)
				   : status;
	run->taken++;
	status = philox_param_write(run->runner->context, run->stream,
				    block.address, value->data, value->bytes);
	if (status == PHILOX_OK)
		*cell = block.address;
	return status;
}

static enum philox_status make_cell(struct run *run, size_t index, void **cell)
{
	const struct philox_call_param *value = &run->call->params[index];

	if (run->kind != PHILOX_CALL_RECORD)
		return write_cell(run, index, cell);
	return philox_capture_param(run->runner->context, run->stream,
				    run->function->params[index].name,
				    value->data, value->bytes, cell);
}

static enum philox_status find_param(struct run *run, size_t index,
				     const void **address)
{
	struct step step = {.kind = STEP_VALUE, .a = index};
	enum philox_status status = run_check(run);

	if (status != PHILOX_OK)
		return status;
	if (!address)
		return status_set(PHILOX_ERROR_INVALID, "address is NULL");
	if (index >= run->function->n_params)
		return refuse_number(run, "parameter", index,
				     run->function->n_params);
	if (run->nested)
		step = (struct step){.kind = STEP_INNER_VALUE,
				     .region =
					     run->function->params[index].name};
	status = script_step(run, &step);
	if (status == PHILOX_OK && run->params[index])
		steps_note(run,
			   &(struct body_step){
				   .kind = PROGRAM_VALUE,
				   .bytes = run->function->params[index].bytes},
			   run->function->params[index].name);
	/* the first time the capture notes it */
	else if (status == PHILOX_OK)
		status = make_cell(run, index, &run->params[index]);
	if (status == PHILOX_OK)
		*address = run->params[index];
	return status;
}

enum philox_status philox_run_param(struct philox_run *run, size_t index,
				    const void **address)
{
	if (callback_is_form(run))
		return form_refuse(run, "parameters");
	return body_report(body_of(run),
			   find_param(body_of(run), index, address));
}

/* --- memory ------------------------------------------------------------------- */

static enum philox_status take_block(struct run *run, size_t bytes,
				     size_t alignment, const char *tag,
				     void **address)
{
	const struct step step = {
		.kind = STEP_ALLOC, .a = bytes, .b = alignment};
	struct run_block made = {0};
	enum philox_status status = run_check(run);

	if (status != PHILOX_OK)
		return status;
	if (!address)
		return status_set(PHILOX_ERROR_INVALID, "address is NULL");
	status = runner_room(&run->blocks, &run->block_room, run->n_blocks + 1,
			     sizeof(*run->blocks));
	if (status == PHILOX_OK)
		status = script_step(run, &step);
	if (status == PHILOX_OK)
		status = pool_take_block(run->pool, run->stream, bytes,
					 alignment, tag, &made.block);
	if (run->verify)
		status = verify_paint(run->verify, made.block.address, bytes,
				      status);
	if (status != PHILOX_OK)
		return status;
	run->taken++;
	made.range = live_range(run->runner, made.block.address, bytes);
	made.number = run->numbered++;
	steps_note(run,
		   &(struct body_step){
			   .kind = PROGRAM_ALLOC,
			   .index = made.number,
			   .bytes = bytes,
			   .alignment = alignment,
			   .address = (uintptr_t)made.block.address},
		   tag);
	run->blocks[run->n_blocks++] = made;
	*address = made.block.address;
	return PHILOX_OK;
}

enum philox_status philox_run_alloc(struct philox_run *run, size_t bytes,
				    size_t alignment, const char *tag,
				    void **address)
{
	if (callback_is_form(run))
		return form_refuse(run, "memory of a pool");
	return body_report(body_of(run), take_block(body_of(run), bytes,
						    alignment, tag, address));
}

static enum philox_status free_run_block(struct run *run, void *address)
{
	struct step step = {.kind = STEP_FREE};
	struct run_block *block;
	enum philox_status status = run_check(run);

	if (status != PHILOX_OK || !address)
		return status;
	block = run_block_at(run, address);
	if (!block || block->block.address != address)
		return status_set(PHILOX_ERROR_INVALID,
				  "function '%s': no memory that its body took "
				  "begins at %p",
				  run->function->name, address);
	if (block->outputs)
		return status_set(PHILOX_ERROR_INVALID,
				  "function '%s': the memory at %p holds an "
				  "output",
				  run->function->name, address);
	step.a = block->number;
	status = script_step(run, &step);
	if (status == PHILOX_OK)
		status = pool_free_block(run->pool, run->stream, address);
	if (status != PHILOX_OK)
		return status;
	block->freed = 1;
	steps_note(run,
		   &(struct body_step){.kind = PROGRAM_FREE,
				       .index = block->number},
		   NULL);
	return PHILOX_OK;
}

enum philox_status philox_run_free(struct philox_run *run, void *address)
{
	if (callback_is_form(run))
		return form_refuse(run, "memory of a pool");
	return body_report(body_of(run), free_run_block(body_of(run), address));
}

/* --- outputs ------------------------------------------------------------------- */

static enum philox_status refuse_output(const struct run *run, size_t index,
					enum philox_status status,
					const char *why)
{
	const struct philox_output_desc *info = &run->function->outputs[index];

	return status_set(status, "function '%s': output '%s'%s%s%s %s",
			  run->function->name, info->name,
			  *info->origin ? " (" : "", info->origin,
			  *info->origin ? ")" : "", why);
}

static enum philox_status refuse_place(const struct run *run, size_t index,
				       const void *address)
{
	char text[OUTPUTS_TEXT + 80], what[OUTPUTS_TEXT];

	outputs_describe(run->runner, address, what);
	snprintf(text, sizeof(text),
		 "is neither in memory of this run nor in an input%s%s",
		 *what ? ", but in " : "", what);
	return refuse_output(run, index, PHILOX_ERROR_INVALID, text);
}

/* Whether a recording may have an input copied, although an output is in it. */
static int may_be_copied(const struct run *run, size_t index)
{
	return run->copied[index] ||
	       (!run->nested && run->key->inputs[index].copied) ||
	       run->function->inputs[index].kind == PHILOX_INPUT_COPIED;
}

/*
 * An input of the call that an address is in, one that stays there if there is
 * one; SIZE_MAX: none.
 */
static size_t input_at(const struct run *run, const void *address)
{
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < run->function->n_inputs; i++) {
		if (!run_input_bytes(run, i) ||
		    !range_is_in(address, 1, run->inputs[i],
				 run_input_bytes(run, i)))
			continue;
		if (!may_be_copied(run, i))
			return i;
		found = i;
	}
	return found;
}

/*
 * Memory of the run comes first: an address of an input may have been given
 * back by its owner, and then to the pool, but a live block of the pool is
 * nobody else's.
 */
static enum philox_status place_output(struct run *run, size_t index,
				       struct run_output *made)
{
	struct run_block *block = run_block_at(run, made->address);
	size_t at;

	made->input = UINT32_MAX;
	if (block) {
		made->id = block->block.id;
		made->range = block->range;
		made->block_bytes = block->block.bytes;
		return range_is_in(made->address, made->bytes,
				   block->block.address, block->block.bytes)
			       ? PHILOX_OK
			       : refuse_output(run, index, PHILOX_ERROR_INVALID,
					       "ends beyond its memory");
	}
	at = input_at(run, made->address);
	if (at == SIZE_MAX)
		return refuse_place(run, index, made->address);
	if (may_be_copied(run, at))
		return refuse_output(run, index, PHILOX_ERROR_INVALID,
				     "is in an input that may be copied");
	if (!range_is_in(made->address, made->bytes, run->inputs[at],
			 run_input_bytes(run, at)))
		return refuse_output(run, index, PHILOX_ERROR_INVALID,
				     "ends beyond its input");
	made->input = (uint32_t)at;
	if (run->nested) /* whose inputs stay where they are */
		return PHILOX_OK;
	run->key->inputs[at].pinned |=
		run->function->inputs[at].kind == PHILOX_INPUT_AUTOMATIC;
	made->id = run->call->inputs[at].id; /* a handle's is looked up */
	return PHILOX_OK;
}

/* Where it is: in its block, or in its input. One of a body within has a name. */
static void note_output(struct run *run, size_t index,
			const struct run_block *block)
{
	const struct run_output *output = &run->outputs[index];
	const void *base =
		block ? block->block.address : run->inputs[output->input];

	steps_note(run,
		   &(struct body_step){
			   .kind = run->nested ? PROGRAM_INNER : PROGRAM_OUTPUT,
			   .index = index,
			   .of = block ? block->number : 0,
			   .input = output->input,
			   .bytes = output->bytes,
			   .offset = (size_t)((uintptr_t)output->address -
					      (uintptr_t)base)},
		   run->function->outputs[index].name);
}

static enum philox_status declare(struct run *run, size_t index, void *address,
				  size_t bytes)
{
	struct step step = {.kind = STEP_OUTPUT, .a = index, .b = bytes};
	struct run_output made = {.address = address, .bytes = bytes};
	struct run_block *block;
	enum philox_status status = run_check(run);

	if (status != PHILOX_OK)
		return status;
	if (index >= run->function->n_outputs)
		return refuse_number(run, "output", index,
				     run->function->n_outputs);
	if (!address)
		return refuse_output(run, index, PHILOX_ERROR_INVALID,
				     "is at NULL");
	if (run->outputs[index].address)
		return refuse_output(run, index, PHILOX_ERROR_EXISTS,
				     "was declared already");
	if (run->nested)
		step = (struct step){.kind = STEP_INNER_OUTPUT,
				     .region =
					     run->function->outputs[index].name,
				     .b = bytes};
	status = place_output(run, index, &made);
	if (status == PHILOX_OK)
		status = script_step(run, &step);
	if (status != PHILOX_OK)
		return status;
	block = run_block_at(run, address);
	if (block)
		block->outputs++;
	run->outputs[index] = made;
	note_output(run, index, block);
	return PHILOX_OK;
}

enum philox_status philox_run_output(struct philox_run *run, size_t index,
				     void *address, size_t bytes)
{
	if (callback_is_form(run))
		return form_refuse(run, "outputs");
	return body_report(body_of(run),
			   declare(body_of(run), index, address, bytes));
}

/* --- recordings ------------------------------------------------------------------ */

void body_refuse(struct run *run, const char *reason)
{
	run->refused = 1;
	if (run->nested)
		snprintf(run->reason, sizeof(run->reason), "function '%s': %s",
			 run->function->name, reason);
	else
		snprintf(run->reason, sizeof(run->reason), "%s", reason);
}

static enum philox_status refuse_run(struct run *run, const char *reason)
{
	enum philox_status status = run_check(run);

	if (status != PHILOX_OK)
		return body_report(run, status);
	body_refuse(run, reason ? reason : "");
	return PHILOX_OK;
}

enum philox_status philox_run_refuse(struct philox_run *run, const char *reason)
{
	if (callback_is_form(run))
		return form_refuse(run, "recordings");
	return refuse_run(body_of(run), reason);
}

static enum philox_status again_run(struct run *run)
{
	enum philox_status status = run_check(run);

	if (status == PHILOX_OK && run->kind == PHILOX_CALL_RECORD)
		status = status_set(PHILOX_ERROR_STATE,
				    "function '%s': a further warm-up is asked "
				    "for in a recording",
				    run->function->name);
	if (status != PHILOX_OK)
		return body_report(run, status);
	run->again = 1;
	return PHILOX_OK;
}

enum philox_status philox_run_again(struct philox_run *run)
{
	if (callback_is_form(run))
		return form_refuse(run, "warm-ups");
	return again_run(body_of(run));
}
