/*
 * tools/train/runs.c - the schedules: eager, captured, recomputed, out of
 * order, looped, through a runner
 *
 * Every schedule puts the same arithmetic on the stream; they differ in what is
 * captured, what is kept, and when a backward comes. No input of a step is
 * passed by value: samples are drawn inside the step, and AdamW's clock is in
 * device memory.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "tools/train/train.h"

#define GRAPHS_MAX (2 * TRAIN_SLOTS + 1)

/* The current run. */
struct run {
	struct train_model *model;
	struct train_result *result;
	struct train_graph graphs[GRAPHS_MAX];
	unsigned n_graphs;
	uint64_t done; /* steps */
	int halfway;   /* in the middle of the next one: it was resumed there */
};

/* struct schedule is how one run does its steps. */
struct schedule {
	const char *name;
	void (*prepare)(struct run *run); /* captures, or NULL */
	void (*step)(struct run *run);
	int own_pool; /* arrays of a step come from a pool of its own */
	int masters;  /* weights are kept in f32, whatever the options say */
};

/* --- captured parts ------------------------------------------------------- */

static void whole_step(struct train_model *model, unsigned slot)
{
	(void)slot;
	for (unsigned i = 0; i < TRAIN_SLOTS; i++) {
		train_forward(model, i);
		train_backward(model, i);
	}
	train_update(model);
}

static void forwards_then_forget(struct train_model *model, unsigned slot)
{
	(void)slot;
	for (unsigned i = 0; i < TRAIN_SLOTS; i++) {
		train_forward(model, i);
		train_forget(model, i);
	}
}

static void recomputed_backwards(struct train_model *model, unsigned slot)
{
	(void)slot;
	for (unsigned i = 0; i < TRAIN_SLOTS; i++) {
		train_recompute(model, i);
		train_backward(model, i);
	}
	train_update(model);
}

static void looped_step(struct train_model *model, unsigned slot)
{
	(void)slot;
	train_loop(model);
	train_update(model);
}

static void only_update(struct train_model *model, unsigned slot)
{
	(void)slot;
	train_update(model);
}

/* --- graphs and their figures --------------------------------------------- */

static struct train_graph *capture(struct run *run,
				   enum train_capturer capturer,
				   train_body body, unsigned slot)
{
	struct train_graph *graph = &run->graphs[run->n_graphs++];
	struct train_result *result = run->result;

	train_capture(run->model, capturer, body, slot, graph);
	if (!graph->n_passes)
		return graph;
	if (!result->graphs || graph->nodes_added < result->nodes_added[0])
		result->nodes_added[0] = graph->nodes_added;
	if (graph->nodes_added > result->nodes_added[1])
		result->nodes_added[1] = graph->nodes_added;
	if (graph->n_passes > result->passes)
		result->passes = graph->n_passes;
	result->graphs++;
	return graph;
}

static struct train_calls calls_so_far(const struct train_model *model)
{
	const struct philox_device *device = model->device;

	return (struct train_calls){
		philox_device_call_count(device, NULL),
		philox_device_call_count(device, "exec_launch"),
		philox_device_call_count(device, "exec_set_kernel"),
		philox_device_call_count(device, "capture_info"),
		philox_device_call_count(device, "event_record")};
}

static void least_and_most(uint64_t *least, uint64_t *most, uint64_t value,
			   int first)
{
	if (first || value < *least)
		*least = value;
	if (first || value > *most)
		*most = value;
}

/* A graph's first launch, which makes one more, counts only beside no other. */
static void count_calls(struct train_result *result, struct train_calls before,
			struct train_calls after, int again)
{
	struct train_calls *calls = result->calls;
	int first = result->replays++ == 0 || (again && !result->again);

	if (result->again && !again)
		return;
	result->again |= again;

	least_and_most(&calls[0].all, &calls[1].all, after.all - before.all,
		       first);
	least_and_most(&calls[0].launch, &calls[1].launch,
		       after.launch - before.launch, first);
	least_and_most(&calls[0].set_kernel, &calls[1].set_kernel,
		       after.set_kernel - before.set_kernel, first);
	least_and_most(&calls[0].capture_info, &calls[1].capture_info,
		       after.capture_info - before.capture_info, first);
	least_and_most(&calls[0].record, &calls[1].record,
		       after.record - before.record, first);
}

static void replay(struct run *run, unsigned graph, unsigned flags)
{
	struct train_calls before = calls_so_far(run->model);

	train_replay(run->model, &run->graphs[graph], flags);
	if (run->graphs[graph].n_passes)
		count_calls(run->result, before, calls_so_far(run->model),
			    run->graphs[graph].launched);
	run->graphs[graph].launched = 1;
}

static void note_pending(struct run *run)
{
	size_t pending = train_count_pending(run->model);

	if (pending > run->result->pending)
		run->result->pending = pending;
}

/* --- the schedules -------------------------------------------------------- */

static void step_eager(struct run *run)
{
	whole_step(run->model, 0);
}

static void prepare_captured(struct run *run)
{
	capture(run, TRAIN_OURS, whole_step, 0);
}

static void step_captured(struct run *run)
{
	replay(run, 0, 0);
}

static void prepare_recomputed(struct run *run)
{
	run->model->shared = 1;
	capture(run, TRAIN_CALLERS, forwards_then_forget, 0);
	capture(run, TRAIN_CALLERS, recomputed_backwards, 0);
}

static void step_recomputed(struct run *run)
{
	replay(run, 0, 0);
	note_pending(run);
	replay(run, 1, 0);
}

/* Graphs: the forwards, the backwards, the update. */
#define FORWARD(slot)  (slot)
#define BACKWARD(slot) (TRAIN_SLOTS + (slot))
#define UPDATE         (2 * TRAIN_SLOTS)

/*
 * All slots' activations live at once, to the end of the last backward. A
 * backward may be launched twice, so none may use another's, and the memory of
 * its own is for all of them.
 */
static void prepare_reordered(struct run *run)
{
	struct train_model *model = run->model;

	for (unsigned slot = 0; slot < TRAIN_SLOTS; slot++)
		capture(run, TRAIN_OURS, train_forward, slot);
	train_take_gradients(model);
	train_pool_mark(model);
	for (unsigned slot = 0; slot < TRAIN_SLOTS; slot++) {
		capture(run, TRAIN_CALLERS, train_backward, slot);
		train_pool_return(model);
	}
	train_pool_return_gradients(model);
	capture(run, TRAIN_OURS, only_update, 0);
	train_pool_return(model);
}

#define TWICE 2 /* the slot whose backward runs twice */

/* All forwards are pending then, and one of them has had a backward. */
static void half_step_reordered(struct run *run)
{
	for (unsigned slot = 0; slot < TRAIN_SLOTS; slot++)
		replay(run, FORWARD(slot), 0);
	note_pending(run);
	replay(run, BACKWARD(TWICE), PHILOX_PASS_RETAIN);
	train_keep_gradient(run->model, TWICE);
}

static void step_reordered(struct run *run)
{
	static const unsigned order[] = {0, 3, 1};

	if (!run->halfway)
		half_step_reordered(run);
	run->halfway = 0;
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		replay(run, BACKWARD(order[i]), 0);
	replay(run, BACKWARD(TWICE), 0);
	train_same_gradient(run->model, TWICE);
	replay(run, UPDATE, 0);
}

static void prepare_looped(struct run *run)
{
	run->result->looped = 1;
	capture(run, TRAIN_OURS, looped_step, 0);
}

static void prepare_runner(struct run *run)
{
	train_runner_open(run->model);
}

static void step_runner(struct run *run)
{
	train_runner_step(run->model, run->done - 1, run->result);
}

static void prepare_naive(struct run *run)
{
	struct train_graph *graph = &run->graphs[run->n_graphs++];

	train_capture_baked(run->model, whole_step, graph);
}

static void step_naive(struct run *run)
{
	struct train_model *model = run->model;

	if (!model->status)
		train_check(model, philox_native_exec_launch(
					   model->device, model->stream,
					   run->graphs[0].exec));
	run->result->replays++;
}

static const struct schedule schedules[] = {
	[TRAIN_EAGER] = {.name = "eager", .step = step_eager},
	[TRAIN_CAPTURED] = {.name = "captured",
			    .prepare = prepare_captured,
			    .step = step_captured},
	[TRAIN_RECOMPUTED] = {.name = "recomputed",
			      .prepare = prepare_recomputed,
			      .step = step_recomputed},
	[TRAIN_REORDERED] = {.name = "out of order",
			     .prepare = prepare_reordered,
			     .step = step_reordered},
	[TRAIN_LOOPED] = {.name = "looped",
			  .prepare = prepare_looped,
			  .step = step_captured},
	[TRAIN_RUNNER] = {.name = "runner",
			  .prepare = prepare_runner,
			  .step = step_runner,
			  .own_pool = 1},
	[TRAIN_MASTERS] = {.name = "f32 masters",
			   .prepare = prepare_captured,
			   .step = step_captured,
			   .masters = 1},
	[TRAIN_NAIVE] = {
		.name = "naive", .prepare = prepare_naive, .step = step_naive}};

/* --- running -------------------------------------------------------------- */

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Fetches the losses of steps `from` .. `to` - 1. */
static void fetch_losses(struct run *run, uint64_t from, uint64_t to)
{
	size_t first = from * TRAIN_SLOTS;

	train_download(run->model, run->result->losses + first,
		       run->model->history + first,
		       (to - from) * TRAIN_SLOTS * sizeof(float));
}

static void steps_until(struct run *run, const struct schedule *schedule,
			uint64_t last)
{
	uint64_t steps = run->model->options->steps, fetched = run->done;
	uint64_t stride = steps / 50 < 1    ? 1
			  : steps / 50 > 64 ? 64
					    : steps / 50;

	train_progress(run->result, run->done, run->done, steps);
	while (run->done < last && !run->model->status) {
		uint64_t done = ++run->done;

		schedule->step(run);
		if (run->result->numbers)
			run->result->numbers[done - 1] =
				train_fingerprint(run->model);
		if (done % stride && done != last)
			continue;
		fetch_losses(run, fetched, done);
		if (!run->model->status)
			train_progress(run->result, fetched, done, steps);
		fetched = done;
	}
}

static struct run begin_run(struct train_model *model,
			    const struct schedule *how,
			    struct train_result *result)
{
	struct run run = {.model = model, .result = result};

	result->name = how->name;
	model->shared = 0;
	model->rounded =
		model->options->weights == TRAIN_WEIGHTS_BF16 && !how->masters;
	memset(model->tickets, 0, sizeof(model->tickets));
	train_model_start(model);
	if (!how->own_pool)
		train_pool_open(model);
	if (how->prepare)
		how->prepare(&run);
	return run;
}

static void end_run(struct run *run)
{
	struct train_model *model = run->model;

	train_check(model, philox_device_synchronize(model->device));
	for (unsigned i = 0; i < run->n_graphs; i++)
		train_graph_close(model, &run->graphs[i]);
	train_pool_close(model, run->result);
	train_runner_close(model, run->result);
}

/* Takes the remaining steps and fetches their results. */
static void run_to_end(struct run *run, const struct schedule *how)
{
	struct train_result *result = run->result;
	uint64_t before = run->done;
	double begin = seconds_now();

	steps_until(run, how, run->model->options->steps);
	result->seconds = seconds_now() - begin;
	result->steps = run->done - before;
	train_finish_result(run->model, result);
}

void train_run(struct train_model *model, enum train_schedule schedule,
	       struct train_result *result)
{
	const struct schedule *how = &schedules[schedule];
	struct run run = begin_run(model, how, result);

	run_to_end(&run, how);
	end_run(&run);
}

void train_try(struct train_model *model, enum train_schedule schedule)
{
	struct train_result result = {0};
	struct run run = begin_run(model, &schedules[schedule], &result);

	end_run(&run);
}

void train_run_to_save(struct train_model *model, struct train_result *result)
{
	const struct schedule *how = &schedules[TRAIN_REORDERED];
	struct run run = begin_run(model, how, result);

	steps_until(&run, how, model->options->save_at - 1);
	half_step_reordered(&run);
	train_save(model);
	end_run(&run);
}

void train_run_resumed(struct train_model *model, struct train_result *result)
{
	const struct schedule *how = &schedules[TRAIN_REORDERED];
	struct run run = begin_run(model, how, result);

	result->name = "resumed";
	train_load(model);
	note_pending(&run);
	run.done = model->saved->step - 1;
	run.halfway = 1;
	run_to_end(&run, how);
	end_run(&run);
}
