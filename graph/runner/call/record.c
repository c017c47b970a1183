/*
 * graph/runner/call/record.c - recording a call
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <philox/graph.h>
#include "graph/launch/launch.h"
#include "graph/pool/pool.h"
#include "graph/runner/function/function.h"
#include "graph/runner/state/state.h"
#include "graph/runner/call/call.h"

/* --- what a recording has to know, after its capture --------------------------------- */

static enum philox_status no_room(const struct recording *recording)
{
	return status_set(PHILOX_ERROR_MEMORY,
			  "function '%s': no memory for a recording",
			  recording->function->name);
}

/* All memory that the capture was given. */
static enum philox_status keep_ranges(struct recording *recording,
				      const struct run *run)
{
	const struct philox_function *function = recording->function;
	const size_t most = run->n_blocks + function->n_inputs;
	size_t n = 0;

	recording->ranges = calloc(most + 1, sizeof(*recording->ranges));
	if (!recording->ranges)
		return no_room(recording);
	for (size_t i = 0; i < run->n_blocks; i++)
		recording->ranges[n++] = run->blocks[i].range;
	for (size_t i = 0; i < function->n_inputs; i++)
		if (recording->buffers[i] && ++recording->copied)
			recording->ranges[n++] = live_range(
				function->runner, recording->buffers[i],
				run->call->inputs[i].bytes);
	recording->n_ranges = live_join(recording->ranges, n);
	return PHILOX_OK;
}

/* Another thread may begin passes in the capture, with tickets of nobody. */
static enum philox_status check_passes(const struct recording *recording,
				       const struct run *run)
{
	if (philox_graph_pass_count(recording->graph) == run->callback.n_passes)
		return PHILOX_OK;
	return status_set(
		PHILOX_ERROR_STATE,
		"function '%s': its body began %zu pass%s by the run, "
		"but its capture has %zu: see "
		"philox_run_forward_begin()",
		run->function->name, run->callback.n_passes,
		status_es(run->callback.n_passes),
		philox_graph_pass_count(recording->graph));
}

static enum philox_status keep_uses(struct recording *recording,
				    const struct run *run)
{
	enum philox_status status = check_passes(recording, run);

	if (status != PHILOX_OK)
		return status;
	recording->n_uses = run->callback.n_passes;
	recording->n_entries = run->entries;
	recording->uses = calloc(run->callback.n_passes + 1,
				 sizeof(struct philox_launch_pass));
	recording->entries =
		calloc(run->entries + 1, sizeof(*recording->entries));
	if (!recording->uses || !recording->entries)
		return no_room(recording);
	for (size_t i = 0; i < run->callback.n_passes; i++) {
		const struct callback_pass *pass = &run->callback.passes[i];

		if (pass->entry != UINT32_MAX)
			recording->entries[pass->entry] =
				(struct recorded_entry){pass->pass.index,
							!pass->backward,
							pass->pass.region};
	}
	return PHILOX_OK;
}

static enum philox_status keep_params(struct recording *recording,
				      const struct run *run)
{
	const struct philox_function *function = recording->function;
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < function->n_params; i++) {
		recording->params[i] = SIZE_MAX;
		if (run->params[i])
			status = philox_graph_param_index(
				recording->graph, function->params[i].name,
				&recording->params[i]);
	}
	return status;
}

static int by_id(const void *one, const void *other)
{
	const uint64_t *a = one, *b = other;

	return (*a > *b) - (*a < *b);
}

/*
 * Of the blocks that are live now only those of its outputs are its own. With
 * the pool's lock.
 */
static enum philox_status keep_outputs(struct recording *recording,
				       const struct run *run,
				       const struct pool_checkpoint *all)
{
	uint64_t *ids = calloc(run->n_blocks + 1, sizeof(*ids));
	enum philox_status status;
	size_t n = 0;

	if (!ids)
		return no_room(recording);
	for (size_t i = 0; i < run->n_blocks; i++)
		if (run->blocks[i].outputs)
			ids[n++] = run->blocks[i].block.id;
	qsort(ids, n, sizeof(*ids), by_id);
	status = pool_checkpoint_join(&all, 1, ids, n, &recording->checkpoint);
	free(ids);
	return status;
}

static enum philox_status keep_blocks(struct recording *recording,
				      const struct run *run)
{
	struct pool_checkpoint *all = NULL;
	const uint64_t began = runner_time();
	struct philox_function *function = recording->function;
	struct philox_pool *pool = function->runner->pool;
	enum philox_status status;

	pool_lock(pool);
	status = pool_keep_blocks(pool, &all);
	if (status == PHILOX_OK)
		status = keep_outputs(recording, run, all);
	pool_unlock(pool);
	pool_checkpoint_free(all);
	recording->times.checkpoint = runner_time() - began;
	function->counts.checkpoint_ns += recording->times.checkpoint;
	return status;
}

/* Who handed the inputs out; the call's handles are known while it lasts. */
static enum philox_status keep_sources(struct recording *recording,
				       const struct run *run)
{
	const struct philox_runner *runner = run->runner;
	const size_t n = recording->function->n_inputs;

	recording->sources = calloc(n + 1, sizeof(*recording->sources));
	if (!recording->sources)
		return no_room(recording);
	for (size_t i = 0; i < n; i++) {
		const struct output_slot *slot =
			input_slot(runner, i);
		struct recorded_source *source = &recording->sources[i];

		if (slot)
			*source = (struct recorded_source){
				.function = slot->function,
				.output = slot->output,
				.recording = slot->recording};
		else
			source->id = run->call->inputs[i].id;
	}
	return PHILOX_OK;
}

/* Its number, which its graph's name and the handles of its outputs have. */
static enum philox_status give_number(struct recording *recording)
{
	const struct philox_function *function = recording->function;
	char name[64];

	recording->number = ++function->runner->recordings;
	for (size_t i = 0; i < function->n_outputs; i++)
		recording->outputs[i].slot->recording = recording->number;
	snprintf(name, sizeof(name), "%.40s %" PRIu64, function->name,
		 recording->number);
	return philox_graph_set_name(recording->graph, name);
}

/* What a recording counts, whatever has become of its struct. */
#define RECORDING_BYTES 248

/* A block of a checkpoint takes 64 bytes at most. */
static uint64_t count_bytes(const struct recording *recording)
{
	const struct philox_function *function = recording->function;
	const size_t entry = sizeof(uint32_t) + 1 + sizeof(void *);

	return RECORDING_BYTES +
	       function->n_inputs *
		       (3 * sizeof(void *) + sizeof(struct recorded_source)) +
	       function->n_outputs * (sizeof(struct recorded_output) +
				      sizeof(struct output_slot) +
				      sizeof(struct output_slot *) +
				      sizeof(struct output_place)) +
	       function->n_params *
		       (sizeof(size_t) + sizeof(struct philox_state)) +
	       recording->n_ranges * sizeof(struct range) +
	       recording->n_pool_uses * sizeof(struct pool_use *) +
	       recording->steps.n * sizeof(struct body_step) +
	       recording->n_uses * sizeof(struct philox_launch_pass) +
	       recording->n_entries * entry +
	       pool_checkpoint_blocks(recording->checkpoint) * 64 +
	       graph_bytes(recording->graph);
}

static enum philox_status reserve(struct recording *recording)
{
	struct philox_pool *pool = recording->function->runner->pool;
	enum philox_status status;

	pool_lock(pool);
	status = recording_reserve(recording);
	pool_unlock(pool);
	return status;
}

static enum philox_status keep_all(struct recording *recording,
				   const struct run *run)
{
	enum philox_status status = keep_uses(recording, run);

	if (status == PHILOX_OK)
		status = keep_params(recording, run);
	if (status == PHILOX_OK)
		status = keep_ranges(recording, run);
	if (status == PHILOX_OK)
		status = keep_sources(recording, run);
	if (status == PHILOX_OK)
		status = steps_keep(recording, run);
	if (status == PHILOX_OK)
		status = keep_blocks(recording, run);
	if (status == PHILOX_OK)
		status = reserve(recording);
	if (status != PHILOX_OK)
		return status;
	for (size_t i = 0; i < recording->function->n_outputs; i++)
		recording->outputs[i].place = run->outputs[i];
	recording->bytes = count_bytes(recording);
	return give_number(recording);
}

/* --- the capture ---------------------------------------------------------------------- */

static enum philox_status capture_run(struct run *run,
				      struct recording *recording)
{
	const uint64_t began = runner_time();
	enum philox_status status =
		run_place_inputs(run, recording->buffers, 1);

	run->status = status;
	if (status == PHILOX_OK)
		status = run_body(run);
	recording->times.body = runner_time() - began;
	run->function->counts.record_ns += recording->times.body;
	return status;
}

static int is_whole(const struct run *run)
{
	struct capture_info info = {.status = PHILOX_CAPTURE_NONE};

	return device_capture_info(runner_device(run->runner), run->stream,
				   &info) == PHILOX_OK &&
	       info.status == PHILOX_CAPTURE_ACTIVE;
}

static enum philox_status refuse_recording(const struct run *run)
{
	return status_set(PHILOX_ERROR_UNSUPPORTED,
			  "function '%s': its body refused to be recorded%s%s",
			  run->function->name, *run->reason ? ": " : "",
			  run->reason);
}

/* What the run lacked, there may be enough of for an eager call. */
static int is_want(enum philox_status status)
{
	return status == PHILOX_ERROR_MEMORY || status == PHILOX_ERROR_LIMIT;
}

/*
 * A capture that broke says more than what the body returned, which is the
 * reason otherwise. What philox refused in a capture, an eager call may do.
 */
static enum philox_status end_badly(struct run *run, enum philox_status status,
				    int *broke)
{
	struct philox_context *context = run->runner->context;
	struct philox_graph *none = NULL;
	uint64_t id;
	const struct status_message kept = status_kept();

	if (is_whole(run)) {
		own_cancel(context, run->stream);
		status_restore(&kept);
		*broke = run->refused || is_want(run->status) ||
			 status == PHILOX_ERROR_CAPTURE_UNSUPPORTED;
		return run->refused ? refuse_recording(run) : status;
	}
	*broke = 1;
	status = own_end(context, run->stream, &none, &id);
	if (status == PHILOX_OK) {
		philox_graph_destroy(none);
		return status_set(PHILOX_ERROR_STATE,
				  "function '%s': its body ended its capture",
				  run->function->name);
	}
	return status_prefix(status, "function '%s': ", run->function->name);
}

static enum philox_status end_capture(struct run *run,
				      struct recording *recording,
				      enum philox_status status, int *broke)
{
	const uint64_t began = runner_time();
	uint64_t id;

	if (status != PHILOX_OK || run->refused)
		return end_badly(run, status, broke);
	status = own_end(run->runner->context, run->stream, &recording->graph,
			 &id);
	run->function->counts.instantiate_ns += runner_time() - began;
	if (status == PHILOX_OK)
		return PHILOX_OK;
	*broke = 1;
	return status_prefix(status, "function '%s': ", run->function->name);
}

/*
 * Whatever the device refuses, the stream is to run again: it may have refused
 * to end the capture, once.
 */
static void free_stream(const struct run *run)
{
	enum philox_capture_status capturing = PHILOX_CAPTURE_ACTIVE;
	const struct status_message kept = status_kept();

	for (int i = 0; i < 3 && capturing != PHILOX_CAPTURE_NONE; i++) {
		if (i)
			own_cancel(run->runner->context, run->stream);
		philox_stream_capture_info(runner_device(run->runner),
					   run->stream, &capturing, NULL);
	}
	status_restore(&kept);
}

static void roll_back(struct philox_pool_session **session,
		      enum philox_status status)
{
	struct status_message kept;

	if (!*session)
		return;
	kept = status_kept();
	philox_pool_session_end(
		*session, status == PHILOX_OK ? PHILOX_ERROR_STATE : status,
		NULL);
	status_restore(&kept);
	*session = NULL;
}

static enum philox_status capture(struct run *run, struct recording *recording,
				  int *broke)
{
	struct philox_runner *runner = run->runner;
	struct philox_pool_session *session;
	struct status_message kept;
	enum philox_status status = own_begin(
		runner->context, run->stream, &run->capture);

	if (status != PHILOX_OK)
		return status_prefix(status,
				     "function '%s': ", run->function->name);
	status = pool_begin_session(runner->pool, run->stream, &session);
	if (status != PHILOX_OK) {
		kept = status_kept();
		own_cancel(runner->context, run->stream);
		status_restore(&kept);
		free_stream(run);
		return status;
	}
	runner->unsettled = 1;
	status = capture_run(run, recording);
	if (status != PHILOX_OK ||
	    run->refused) /* while the capture is whole */
		roll_back(&session, status);
	status = end_capture(run, recording, status, broke);
	if (status == PHILOX_OK)
		status = philox_pool_session_end(session, PHILOX_OK, NULL);
	else {
		free_stream(run);
		roll_back(&session, status);
	}
	if (status == PHILOX_OK)
		status = keep_all(recording, run);
	return status;
}

static enum philox_status make_recording(const struct request *request,
					 struct recording **out, int *broke)
{
	struct philox_function *function = request->function;
	struct philox_runner *runner = function->runner;
	struct philox_call *call = request->call;
	struct key *key = request->key;
	struct recording *recording;
	enum philox_status status = function_settle(function);

	if (status == PHILOX_OK)
		status = recording_make(function, key, call, &recording);
	if (status != PHILOX_OK)
		return status;
	status = run_begin(request, PHILOX_CALL_RECORD);
	if (status == PHILOX_OK) {
		status = capture(&runner->run, recording, broke);
		run_end(&runner->run, status);
	}
	if (status != PHILOX_OK) {
		recording_free(recording);
		return status;
	}
	recording->prepared = request->prepare;
	recording_keep(recording);
	for (size_t i = 0; i < call->n_inputs; i++) /* what it copies */
		key->inputs[i].bytes = call->inputs[i].bytes;
	*out = recording;
	return PHILOX_OK;
}

static const char *option_of_broken(const struct request *request)
{
	if (request->function->policy.refused == PHILOX_REFUSED_ERROR)
		return OPTION_FAILS;
	return request->prepare ? OPTION_WAITS : OPTION_RUNS;
}

/* The body refused, or broke its capture: the message says how. */
static void note_broken(const struct request *request,
			struct decision *decision)
{
	struct philox_function *function = request->function;
	char begin[96];
	const char *why = philox_error_message();

	snprintf(begin, sizeof(begin), "function '%s': ", function->name);
	if (strncmp(why, begin, strlen(begin)) == 0)
		why += strlen(begin);
	reason_write(&decision->reason, "%s", why);
	decision->reason.option = option_of_broken(request);
	key_refuse(function, request->key, PHILOX_CALL_RECORD,
		   decision->reason.text);
}

enum philox_status record_call(const struct request *request,
			       struct decision *decision,
			       struct recording **recording)
{
	int broke = 0;
	enum philox_status status = make_recording(request, recording, &broke);

	if (broke) {
		note_broken(request, decision);
		decision->refused = request->function->policy.refused !=
				    PHILOX_REFUSED_ERROR;
	}
	if (status != PHILOX_OK)
		return status;
	if (decision->recording)
		recording_retire(decision->recording, NULL);
	request->key->logged &= ~(unsigned)LOGGED_REFUSED;
	return PHILOX_OK;
}
