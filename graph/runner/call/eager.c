/*
 * graph/runner/call/eager.c - calls that run the body
 *
 * Everything that can fail comes before the pool's session is ended; after that
 * tickets are used up and outputs handed out, which cannot.
 */
#include <stdlib.h>
#include "graph/runner/call/call.h"
#include "graph/runner/function/function.h"
#include "graph/pool/pool.h"
#include "graph/runner/state/state.h"

/* What a call needs beside its run. */
struct eager {
	struct output_slot **slots;
	struct output_place *places;
	void **buffers; /* of inputs that are copied */
	size_t n_slots; /* that were taken */
};

static enum philox_status reserve_eager(struct philox_function *function,
					struct eager *eager, size_t n_uses)
{
	enum philox_status status = PHILOX_OK;

	eager->slots = calloc(function->n_outputs + 1, sizeof(*eager->slots));
	eager->places = calloc(function->n_outputs + 1, sizeof(*eager->places));
	eager->buffers = calloc(function->n_inputs + 1, sizeof(void *));
	if (!eager->slots || !eager->places || !eager->buffers)
		return status_set(PHILOX_ERROR_MEMORY,
				  "function '%s': no memory for a call",
				  function->name);
	while (status == PHILOX_OK && eager->n_slots < function->n_outputs) {
		status = outputs_take(function, eager->n_slots,
				      &eager->slots[eager->n_slots]);
		if (status == PHILOX_OK)
			eager->n_slots++;
	}
	if (status == PHILOX_OK)
		status = step_reserve(function->runner, n_uses);
	return status;
}

static void free_eager(struct eager *eager, int give)
{
	for (size_t i = 0; give && i < eager->n_slots; i++)
		outputs_give(eager->slots[i]);
	free(eager->slots);
	free(eager->places);
	free(eager->buffers);
}

static enum philox_status run_on_stream(struct run *run, void **buffers)
{
	struct philox_function *function = run->function;
	struct philox_call *call = run->call;
	enum philox_status status =
		pool_fill_rest(run->runner->pool, run->stream);

	if (status == PHILOX_OK)
		status = run_place_inputs(run, buffers, 0);
	if (status == PHILOX_OK)
		status = inputs_copy_in(function, call, buffers, run->stream);
	if (status == PHILOX_OK)
		status = run_body(run);
	if (status == PHILOX_OK)
		status = inputs_copy_back(function, call, buffers, run->stream);
	return status;
}

/* What was queued by a call that failed is joined, too. */
static enum philox_status run_and_join(struct run *run, void **buffers)
{
	const enum philox_status status = run_on_stream(run, buffers);
	const struct status_message kept = status_kept();

	return status_first(status, &kept,
			    legacy_join(run->runner, run->call->stream, 1));
}

/*
 * A session that cannot be ended well is ended badly; one that cannot be ended
 * at all, since the device refuses it, is left to the next call.
 */
static void end_badly_at_last(struct run *run,
			      struct philox_pool_session *session,
			      enum philox_status status)
{
	const struct status_message kept = status_kept();

	if (philox_pool_session_end(session, status, NULL) == PHILOX_OK)
		fences_passed(run->runner);
	else
		run->runner->stuck = session;
	status_restore(&kept);
}

static enum philox_status end_well(struct run *run,
				   struct philox_pool_session *session)
{
	enum philox_status status =
		philox_pool_session_end(session, PHILOX_OK, NULL);

	if (status != PHILOX_OK)
		end_badly_at_last(run, session, status);
	else
		fences_passed(run->runner);
	return status;
}

static enum philox_status run_in_session(struct run *run, void **buffers)
{
	struct philox_pool_session *session;
	enum philox_status status =
		pool_begin_session(run->runner->pool, run->stream, &session);

	if (status != PHILOX_OK)
		return status;
	status = run_and_join(run, buffers);
	if (status == PHILOX_OK && !run->dry)
		return end_well(run, session);
	end_badly_at_last(run, session,
			  status == PHILOX_OK ? PHILOX_ERROR_STATE : status);
	return status;
}

/*
 * The places are found while handles of inputs are as they were: a ticket that
 * is used up may release them.
 */
static void complete(struct run *run, struct eager *eager)
{
	const struct philox_function *function = run->function;

	for (size_t i = 0; i < function->n_outputs; i++)
		eager->places[i] = run_output_place(function, run->call,
						    &run->outputs[i], NULL);
	step_follow(run->runner, function->n_inputs);
	run_passes_settle(run);
	run_hand_out(function, run->call, eager->slots, eager->places);
}

/* What the body neither freed nor declared is still live in the pool. */
static int has_left_memory(const struct run *run)
{
	if (run->taken != run->n_blocks) /* copies, values */
		return 1;
	for (size_t i = 0; i < run->n_blocks; i++)
		if (!run->blocks[i].freed && !run->blocks[i].outputs)
			return 1;
	return 0;
}

static enum philox_status run_eagerly(struct run *run, struct eager *eager)
{
	struct philox_runner *runner = run->runner;
	enum philox_status status = function_settle(run->function);

	if (status == PHILOX_OK)
		status = fences_await(runner, run->stream);
	if (status == PHILOX_OK)
		status = legacy_join(runner, run->call->stream, 0);
	if (status == PHILOX_OK)
		status = run_in_session(run, eager->buffers);
	if (status == PHILOX_OK && !run->dry)
		complete(run, eager);
	else
		run_passes_undo(run);
	if (status != PHILOX_OK || has_left_memory(run))
		runner->unsettled = 1;
	return status;
}

static enum philox_status run_once(const struct request *request,
				   enum philox_call_kind kind, const char *why,
				   int dry)
{
	struct philox_function *function = request->function;
	struct eager eager = {0};
	struct run *run = &function->runner->run;
	enum philox_status status =
		reserve_eager(function, &eager, request->call->n_passes);

	if (status == PHILOX_OK)
		status = run_begin(request, kind);
	if (status == PHILOX_OK) {
		run->why = why;
		run->dry = dry;
		status = run_eagerly(run, &eager);
		run_end(run, status);
	}
	free_eager(&eager, status != PHILOX_OK || dry);
	return status;
}

static void note_refusal(const struct request *request,
			 struct decision *decision, enum philox_call_kind kind)
{
	const struct run *run = &request->function->runner->run;

	if (!run->refused)
		return;
	reason_write(&decision->reason, REFUSED_BEGIN "%s", run->reason);
	decision->reason.option =
		decision->refused ? OPTION_RUNS : OPTION_WAITS;
	key_refuse(request->function, request->key, kind,
		   decision->reason.text);
}

static void count_warmup(const struct request *request)
{
	struct philox_function *function = request->function;
	struct key *key = request->key;

	function->counts.warmup++;
	key->asked = function->runner->run.again;
	if (key->asked)
		return;
	key->body_not_run = 0;
	if (key->warmups) /* else of another process, or for a plan */
		key->warmups--;
}

static void count_eager(const struct request *request)
{
	struct philox_function *function = request->function;

	function->counts.eager++;
	request->key->body_not_run = 0;
	request->key->asked = function->runner->run.again;
	if (request->key->asked)
		request->key->warmups++;
}

enum philox_status eager_call(const struct request *request,
			      struct decision *decision)
{
	const int warmup = decision->kind == PHILOX_CALL_WARMUP;
	const uint64_t began = runner_time();
	struct philox_function_stats *counts = &request->function->counts;
	enum philox_status status =
		run_once(request, decision->kind, decision->reason.text, 0);

	*(warmup ? &counts->warmup_ns : &counts->eager_ns) +=
		runner_time() - began;
	if (status != PHILOX_OK)
		return status;
	request->call->kind = decision->kind;
	if (warmup)
		count_warmup(request);
	else
		count_eager(request);
	note_refusal(request, decision, decision->kind);
	return PHILOX_OK;
}

static enum philox_status run_dry(const struct request *request)
{
	const uint64_t began = runner_time();
	struct philox_function *function = request->function;
	enum philox_status status;

	function->counts.dry++;
	status = run_once(request, PHILOX_CALL_WARMUP, "", 1);
	function->counts.dry_ns += runner_time() - began;
	return status;
}

/* Some bodies are not done after one, and ask for more. */
enum philox_status eager_dry(const struct request *request,
			     struct decision *decision)
{
	struct philox_function *function = request->function;
	struct key *key = request->key;
	enum philox_status status = PHILOX_OK;

	expected_dry(key, &function->policy);
	for (int i = 0; status == PHILOX_OK && key->dry; i++) {
		if (i == DRY_MAX)
			return status_set(PHILOX_ERROR_LIMIT,
					  "function '%s': its body has asked "
					  "for more than %d dry warm-ups",
					  function->name, DRY_MAX);
		status = run_dry(request);
		if (status != PHILOX_OK)
			return status;
		if (!function->runner->run.again)
			key->dry--;
		note_refusal(request, decision, PHILOX_CALL_WARMUP);
	}
	return status;
}
