/*
 * graph/runner/call/replay.c - launching a recording for a call
 */
#include <philox/graph.h>
#include "graph/pool/pool.h"
#include "graph/runner/function/function.h"
#include "graph/runner/call/call.h"
#include "graph/runner/state/state.h"
#include "lib/device/device.h"

static enum philox_status set_params(const struct recording *recording,
				     const struct philox_call *call)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0;
	     status == PHILOX_OK && i < recording->function->n_params; i++)
		if (recording->params[i] != SIZE_MAX)
			status = philox_graph_set_param(
				recording->graph, recording->params[i],
				call->params[i].data, call->params[i].bytes);
	return status;
}

static enum philox_status check_entries(const struct recording *recording,
					const struct philox_call *call)
{
	const char *name = recording->function->name;

	if (call->n_passes == recording->n_entries)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "function '%s': passes has %zu entr%s, but its body "
			  "takes %zu",
			  name, call->n_passes,
			  call->n_passes == 1 ? "y" : "ies",
			  recording->n_entries);
}

static void fill_uses(struct recording *recording,
		      const struct philox_call *call)
{
	for (size_t i = 0; i < recording->n_entries; i++)
		recording->uses[recording->entries[i].use] = call->passes[i];
}

static void write_tickets(const struct recording *recording,
			  struct philox_call *call)
{
	struct philox_runner *runner = recording->function->runner;

	for (size_t i = 0; i < recording->n_entries; i++) {
		const struct recorded_entry *entry = &recording->entries[i];
		const struct philox_ticket ticket =
			recording->uses[entry->use].ticket;

		if (!entry->forward)
			continue;
		call->passes[i].ticket = ticket;
		if (ticket.serial)
			step_owe(runner,
				 (struct owed_ticket){
					 entry->region, ticket, runner->path,
					 recording->function, recording->number,
					 runner->calls});
	}
}

/* What the graph was given is free for all others. */
static struct free_use use_memory(const struct recording *recording, int reads,
				  int writes)
{
	return device_use_free((struct free_use){
		recording->ranges, recording->n_ranges, reads, writes});
}

static enum philox_status copy_in(const struct request *request,
				  const struct recording *recording,
				  void *const *buffers)
{
	const struct free_use before = use_memory(recording, 0, 1);
	const enum philox_status status =
		inputs_copy_in(request->function, request->call, buffers,
			       request->stream);

	device_use_free(before);
	return status;
}

static enum philox_status copy_back(const struct request *request,
				    const struct recording *recording,
				    void *const *buffers)
{
	const struct free_use before = use_memory(recording, 1, 0);
	const enum philox_status status =
		inputs_copy_back(request->function, request->call, buffers,
				 request->stream);

	device_use_free(before);
	return status;
}

/* Between prologue and epilogue the memory of the graph is this launch's. */
static enum philox_status queue_untimed(const struct request *request,
					struct recording *recording)
{
	struct philox_function *function = request->function;
	void *const *buffers = recording->copied ? recording->buffers : NULL;
	enum philox_status status = copy_in(request, recording, buffers);

	if (status != PHILOX_OK)
		return status;
	status = philox_native_exec_launch(runner_device(function->runner),
					   request->stream,
					   recording->graph->exec);
	if (status != PHILOX_OK) {
		recording->spoiled = status == PHILOX_ERROR_INVALID;
		return status_prefix(status, "function '%s': ", function->name);
	}
	return copy_back(request, recording, buffers);
}

static enum philox_status queue_work(const struct request *request,
				     struct recording *recording)
{
	const int timed = timer_begin(recording, request->stream);
	enum philox_status status = queue_untimed(request, recording);

	if (timed && status == PHILOX_OK)
		timer_end(recording, request->stream);
	return status;
}

/* The body first; the numbers are those of the launch. */
static enum philox_status queue_checked(const struct request *request,
					struct recording *recording,
					struct replay_check *check)
{
	const struct free_use before = use_memory(recording, 1, 1);
	enum philox_status status = replay_check_begin(check);

	if (status == PHILOX_OK)
		status = queue_work(request, recording);
	status = replay_check_end(check, status);
	device_use_free(before);
	return status;
}

/* Whatever was queued, even of a launch that failed, is joined. */
static enum philox_status queue_and_join(const struct request *request,
					 struct recording *recording,
					 struct replay_check *check)
{
	const enum philox_status status =
		check ? queue_checked(request, recording, check)
		      : queue_work(request, recording);
	const struct status_message kept = status_kept();

	return status_first(status, &kept,
			    legacy_join(request->function->runner,
					request->call->stream, 1));
}

static enum philox_status launch_between(const struct request *request,
					 struct recording *recording,
					 struct replay_check *check,
					 int *queued)
{
	struct philox_runner *runner = request->function->runner;
	enum philox_status status = fences_await(runner, request->stream);

	if (status == PHILOX_OK)
		status = legacy_join(runner, request->call->stream, 0);
	if (status == PHILOX_OK)
		status = pool_fill_rest(runner->pool, request->stream);
	if (status != PHILOX_OK)
		return status;
	*queued = 1;
	return queue_and_join(request, recording, check);
}

static void place_outputs(struct recording *recording,
			  const struct philox_call *call)
{
	const struct philox_function *function = recording->function;

	for (size_t i = 0; i < function->n_outputs; i++) {
		const struct recorded_output *output = &recording->outputs[i];

		recording->slots[i] = output->slot;
		recording->places[i] = run_output_place(
			function, call, &output->place, recording);
	}
}

/*
 * What a failed launch has queued is the last link of the chain all the same.
 * Where that could not be recorded it is tried again when another stream asks:
 * streams of a runner live as long as it does.
 */
static int end_chain(struct philox_runner *runner, philox_stream stream,
		     enum philox_status launched)
{
	struct philox_pool *pool = runner->pool;
	int ordered;

	pthread_mutex_lock(&pool->lock);
	if (launched != PHILOX_OK)
		pool_set_last_stream(pool, stream);
	ordered = pool->ordered;
	if (!ordered)
		pool->touched = 1;
	pthread_mutex_unlock(&pool->lock);
	return ordered;
}

/* After it was launched, well or not, or what comes before a launch failed. */
static void settle_launch(const struct request *request,
			  struct recording *recording,
			  enum philox_status launched, int queued)
{
	const struct status_message kept = status_kept();
	struct philox_runner *runner = request->function->runner;

	place_outputs(recording, request->call);
	if (launched == PHILOX_OK) /* a call that fails joins no paths */
		step_follow(runner, recording->function->n_inputs);
	philox_graph_epilogue(recording->graph, launched);
	if (queued && end_chain(runner, request->stream, launched))
		fences_passed(runner);
	status_restore(&kept);
}

static enum philox_status launch_graph(const struct request *request,
				       struct recording *recording,
				       struct replay_check *check)
{
	int queued = 0;
	enum philox_status status =
		philox_graph_prologue(recording->graph, request->stream,
				      recording->uses, recording->n_uses);

	if (status != PHILOX_OK)
		return status_prefix(
			status, "function '%s': ", recording->function->name);
	/* which is joined */
	recording->graph->open->release = request->call->stream;
	status = launch_between(request, recording, check, &queued);
	settle_launch(request, recording, status, queued);
	return status;
}

static void complete_launch(struct recording *recording,
			    struct philox_call *call)
{
	struct philox_function *function = recording->function;

	write_tickets(recording, call);
	run_hand_out(function, call, recording->slots, recording->places);
	recording->launched = 1;
}

static enum philox_status make_ready(struct recording *recording,
				     const struct philox_call *call)
{
	struct philox_function *function = recording->function;
	struct philox_runner *runner = function->runner;
	enum philox_status status = check_entries(recording, call);

	if (status == PHILOX_OK)
		status = step_reserve(runner, recording->n_entries);
	for (size_t i = 0; status == PHILOX_OK && i < function->n_outputs; i++)
		status = outputs_renew(&recording->outputs[i].slot);
	if (status == PHILOX_OK)
		status = set_params(recording, call);
	if (status == PHILOX_OK)
		fill_uses(recording, call);
	return status;
}

enum philox_status replay_ready(const struct request *request,
				struct recording *recording)
{
	enum philox_status status = make_ready(recording, request->call);

	if (status != PHILOX_OK)
		return status;
	status = graph_would_launch(recording->graph, request->stream,
				    recording->uses, recording->n_uses);
	if (status == PHILOX_OK)
		return PHILOX_OK;
	return status_prefix(status,
			     "function '%s': ", recording->function->name);
}

/* `check`: how it is verified; NULL: it is not. */
static enum philox_status launch_recording(const struct request *request,
					   struct recording *recording,
					   struct replay_check *check)
{
	const int first = !recording->launched;
	const uint64_t began = runner_time();
	struct philox_function_stats *counts = &request->function->counts;
	struct recording_times *times = &recording->times;
	uint64_t took;
	enum philox_status status = make_ready(recording, request->call);

	if (status == PHILOX_OK)
		status = launch_graph(request, recording, check);
	if (status == PHILOX_OK)
		complete_launch(recording, request->call);
	took = runner_time() - began;
	*(first ? &counts->first_ns : &counts->replay_ns) += took;
	*(first ? &times->first : &times->replay) += took;
	return status;
}

enum philox_status replay_first(const struct request *request,
				struct recording *recording)
{
	return launch_recording(request, recording, NULL);
}

static void count_replay(const struct request *request,
			 struct recording *recording)
{
	recording_played(recording);
	request->call->kind = PHILOX_CALL_REPLAY;
	request->function->counts.replay++;
}

/* The caller has what the body made, as of a call that ran it. */
static void fall_back(const struct request *request, struct decision *decision)
{
	struct philox_function *function = request->function;

	reason_write(&decision->reason, "%s", RECORDING_DIFFERED);
	decision->reason.option = "the call has what its body made, for "
				  "policy.differs; " OPTION_WAITS;
	key_refuse(function, request->key, PHILOX_CALL_EAGER,
		   decision->reason.text);
	recording_retire(decision->recording, RECORDING_DIFFERED);
	request->call->kind = PHILOX_CALL_EAGER;
	function->counts.eager++;
}

static enum philox_status replay_checked(const struct request *request,
					 struct decision *decision)
{
	struct replay_check check = {.request = request,
				     .recording = decision->recording};
	enum philox_status status =
		launch_recording(request, decision->recording, &check);

	if (status != PHILOX_OK)
		return status;
	if (check.fell_back)
		fall_back(request, decision);
	else
		count_replay(request, decision->recording);
	return PHILOX_OK;
}

enum philox_status replay_call(const struct request *request,
			       struct decision *decision)
{
	enum philox_status status;

	if (replay_is_due(request->function))
		return replay_checked(request, decision);
	status = launch_recording(request, decision->recording, NULL);
	if (status == PHILOX_OK)
		count_replay(request, decision->recording);
	return status;
}
