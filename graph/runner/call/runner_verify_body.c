/*
 * graph/runner/call/runner_verify_body.c - the body of a replay that is verified
 *
 * See Note [Verification] in graph/verify/verify.h.
 */
#include "graph/pool/pool.h"
#include "graph/runner/function/inputs.h"
#include "graph/runner/call/passes.h"
#include "graph/runner/call/run.h"
#include "graph/runner/call/runner_verify_parts.h"

static enum philox_status place_input(struct replay_check *check,
				      struct philox_run *run, uint32_t index)
{
	const struct philox_function *function = run->function;
	const struct philox_call_input *input = &run->call->inputs[index];
	void *copy = replay_copy_of(check, index);
	enum philox_status status;

	run->copied[index] =
		(uint8_t)inputs_misaligned(function, run->call, index);
	run->inputs[index] = copy ? copy : input->address;
	if (copy || !run->copied[index] || !input->bytes)
		return PHILOX_OK;
	status = run_take_buffer(run, index, &run->inputs[index]);
	if (status != PHILOX_OK)
		return verify_paint(&check->verify, NULL, 0, status);
	return philox_memory_copy(runner_device(run->runner),
				  run->inputs[index], input->address,
				  input->bytes, run->stream);
}

static enum philox_status place_all_inputs(struct replay_check *check,
					   struct philox_run *run)
{
	enum philox_status status = PHILOX_OK;

	/* until it is placed, none has memory of the run */
	for (uint32_t i = 0; i < run->function->n_inputs; i++)
		run->inputs[i] = run->call->inputs[i].address;
	for (uint32_t i = 0; status == PHILOX_OK && i < run->function->n_inputs;
	     i++)
		status = place_input(check, run, i);
	return status;
}

/* In an input that is as it was, there is nothing to compare. */
static enum philox_status add_output(struct replay_check *check,
				     const struct philox_run *run, size_t i)
{
	const struct philox_output_info *info = &run->function->outputs[i];
	const struct verify_item item = {
		.what = "output",
		.name = info->name,
		.origin = info->origin,
		.elements = info->elements,
		.bytes = run->outputs[i].bytes,
		.real = check->recording->outputs[i].place.address,
		.copies = {run->outputs[i].address, NULL}};

	return verify_add(&check->verify, &item);
}

static enum philox_status add_input(struct replay_check *check, uint32_t i)
{
	const struct philox_input *info =
		&check->recording->function->inputs[i];
	const struct philox_call_input *input = &check->call->inputs[i];
	const struct verify_item item = {
		.what = "input",
		.name = info->name,
		.origin = info->origin,
		.elements = info->elements,
		.bytes = input->bytes,
		.real = input->address,
		.copies = {replay_copy_of(check, i), NULL}};

	if (!input->bytes || !replay_is_mutated(check, i))
		return PHILOX_OK;
	return verify_add(&check->verify, &item);
}

/* Outputs first, then inputs that are mutated: the same in each run. */
static enum philox_status add_items(struct replay_check *check,
				    const struct philox_run *run)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < run->function->n_outputs;
	     i++)
		status = add_output(check, run, i);
	for (uint32_t i = 0; status == PHILOX_OK && i < run->function->n_inputs;
	     i++)
		status = add_input(check, i);
	return status;
}

static void place_items(struct replay_check *check,
			const struct philox_run *run)
{
	struct verify_item *item = check->verify.items;

	for (size_t i = 0; i < run->function->n_outputs; i++)
		(item++)->copies[1] = run->outputs[i].address;
	for (uint32_t i = 0; i < run->function->n_inputs; i++)
		if (check->call->inputs[i].bytes && replay_is_mutated(check, i))
			(item++)->copies[1] = replay_copy_of(check, i);
}

static void free_one(const struct replay_check *check, void *address)
{
	struct philox_runner *runner = check->recording->function->runner;

	philox_pool_free(runner->spare, check->stream, address);
}

/* What it allocated, cells of values, and buffers of inputs. */
static void free_run_memory(const struct replay_check *check,
			    const struct philox_run *run)
{
	const struct philox_function *function = check->recording->function;

	for (size_t i = 0; i < run->n_blocks; i++)
		if (!run->blocks[i].freed)
			free_one(check, run->blocks[i].block.address);
	for (size_t i = 0; i < function->n_values; i++)
		if (run->values[i])
			free_one(check, run->values[i]);
	for (uint32_t i = 0; i < function->n_inputs; i++)
		if (run->inputs[i] != check->call->inputs[i].address &&
		    !replay_copy_of(check, i))
			free_one(check, run->inputs[i]);
}

/* Memory of a later run is free before the next one; that of the first stays. */
static void free_later(struct replay_check *check, struct philox_run *run)
{
	struct status_message kept;

	if (!check->verify.turn || !check->reruns++)
		return;
	status_keep(&kept);
	free_run_memory(check, run);
	status_restore(&kept);
}

static uint64_t allocations_of(struct philox_pool *pool)
{
	struct pool_figures figures;

	pool_lock(pool);
	pool_figures(pool->blocks, &figures);
	pool_unlock(pool);
	return figures.allocations;
}

/* Memory of the runner's own pool would stay. */
static enum philox_status run_body_checked(struct philox_run *run)
{
	struct philox_runner *runner = run->runner;
	const uint64_t before = allocations_of(runner->pool);
	enum philox_status status;

	run->function->counts.checking++;
	status = run_body(run);
	if (allocations_of(runner->pool) == before)
		return status;
	runner->unsettled = 1;
	return status == PHILOX_OK ? run_check_memory(run, run->taken + 1)
				   : status;
}

static enum philox_status run_checked(struct replay_check *check,
				      struct philox_run *run)
{
	enum philox_status status;

	run->pool = run->runner->spare;
	run->verify = &check->verify;
	run->dry = 1;
	status = place_all_inputs(check, run);
	if (status == PHILOX_OK)
		status = run_body_checked(run);
	if (status == PHILOX_OK && !check->verify.turn)
		status = add_items(check, run);
	else if (status == PHILOX_OK)
		place_items(check, run);
	return status;
}

enum philox_status replay_run_body(struct philox_verify *verify)
{
	struct replay_check *check = verify->user;
	struct recording *recording = check->recording;
	struct philox_function *function = recording->function;
	struct philox_run *run = &function->runner->run;
	enum philox_status status;

	free_later(check, run);
	status = run_begin(function, check->call, recording->key,
			   PHILOX_CALL_EAGER, check->stream);
	if (status != PHILOX_OK)
		return status;
	status = run_checked(check, run);
	run_passes_undo(run);
	run_end(run, status);
	return status;
}
