/*
 * tools/train/train.c - `philox train`: trains a small language model four ways
 *
 * Eager, captured, recomputed and out of order must give the same bits, and
 * with --loop and --runner a run more each, too. With --weights bf16 there is one
 * with f32 masters, whose loss is printed beside theirs. Exit status: 0 they do
 * and the model learned, 1 they do not or something failed, 2 the command line
 * or a file is wrong.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/cli/cli.h"
#include "tools/tools.h"
#include "tools/train/train.h"

/* --- verdict -------------------------------------------------------------- */

/* The first step, counted from 1, in which two runs' losses differ; or 0. */
static uint64_t differing_step(const struct train_result *a,
			       const struct train_result *b, uint64_t steps)
{
	for (uint64_t i = 0; i < steps * TRAIN_SLOTS; i++)
		if (memcmp(&a->losses[i], &b->losses[i], sizeof(float)) != 0)
			return i / TRAIN_SLOTS + 1;
	return 0;
}

static int same(const struct train_result *a, const struct train_result *b)
{
	return a->loss_checksum == b->loss_checksum &&
	       a->parameter_checksum == b->parameter_checksum &&
	       a->extra_checksum == b->extra_checksum;
}

static void compare_runs(const struct train_result *results, unsigned n,
			 uint64_t steps, struct train_verdict *verdict)
{
	verdict->agree = 1;
	for (unsigned i = 0; i < n; i++) {
		if (same(&results[0], &results[i]) && results[i].extra_paired &&
		    results[i].retained_same)
			continue;
		verdict->agree = 0;
		verdict->differs = &results[i];
		verdict->differs_step =
			differing_step(&results[0], &results[i], steps);
		return;
	}
}

static double last_tenth(const struct train_result *result, uint64_t steps)
{
	uint64_t n = steps < 10 ? 1 : steps / 10;
	double sum = 0;

	for (uint64_t step = steps - n; step < steps; step++)
		sum += train_step_loss(result, step);
	return sum / (double)n;
}

static int compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t count_distinct(uint64_t *numbers, uint64_t n)
{
	uint64_t distinct = 1;

	qsort(numbers, n, sizeof(*numbers), compare_numbers);
	for (uint64_t i = 1; i < n; i++)
		distinct += numbers[i] != numbers[i - 1];
	return distinct;
}

/* The last run keeps its weights in f32, to be compared with by its loss. */
static int has_masters(const struct train_options *options)
{
	return options->weights == TRAIN_WEIGHTS_BF16 && !options->only_given;
}

static struct train_verdict judge(const struct train_model *model,
				  struct train_result *results, unsigned n)
{
	uint64_t steps = model->options->steps;
	struct train_verdict verdict = {0};

	if (has_masters(model->options)) {
		verdict.masters = &results[--n];
		verdict.masters_last_tenth = last_tenth(verdict.masters, steps);
	}
	compare_runs(results, n, steps, &verdict);
	for (unsigned i = 0; i < n; i++)
		if (results[i].called && !results[i].replays)
			verdict.not_replayed = &results[i];
	verdict.last_tenth = last_tenth(&results[0], steps);
	verdict.learned =
		verdict.last_tenth <= TRAIN_LEARNED * model->text->entropy;
	for (unsigned i = 0; i < 2 && model->options->naive; i++)
		verdict.distinct[i] = count_distinct(results[i].numbers, steps);
	return verdict;
}

/* --- the runs ------------------------------------------------------------- */

static void allocate_result(struct train_model *model,
			    struct train_result *result)
{
	const struct train_options *options = model->options;

	result->losses = calloc(options->steps * TRAIN_SLOTS, sizeof(float));
	if (options->naive)
		result->numbers = calloc(options->steps, sizeof(uint64_t));
	if (!result->losses || (options->naive && !result->numbers))
		train_fail(model,
			   "no memory for the losses of %" PRIu64 " steps",
			   options->steps);
}

static int report_runs(struct train_model *model, struct train_result *results,
		       unsigned n)
{
	const struct train_options *options = model->options;
	struct train_verdict verdict = judge(model, results, n);

	if (options->naive)
		train_report_naive(model, results, &verdict);
	else if (options->only_given)
		train_report_only(model, results, &verdict);
	else
		train_report(model, results, n, &verdict);
	if (options->json)
		train_report_json(model, results, n, &verdict);
	if (options->naive)
		return 0;
	return !verdict.agree || verdict.not_replayed ||
	       !(verdict.learned || options->steps_given);
}

/* Chooses the runs that the options ask for: returns how many they are. */
static unsigned choose_runs(const struct train_options *options,
			    enum train_schedule runs[TRAIN_SCHEDULES])
{
	static const enum train_schedule always[] = {
		TRAIN_EAGER, TRAIN_CAPTURED, TRAIN_RECOMPUTED, TRAIN_REORDERED};
	unsigned n = sizeof(always) / sizeof(*always);

	memcpy(runs, always, sizeof(always));
	if (options->loop)
		runs[n++] = TRAIN_LOOPED;
	if (options->runner)
		runs[n++] = TRAIN_RUNNER;
	if (has_masters(options))
		runs[n++] = TRAIN_MASTERS;
	if (options->naive)
		runs[1] = TRAIN_NAIVE;
	if (options->only_given)
		runs[0] = (enum train_schedule)options->only;
	return options->only_given ? 1 : options->naive ? 2 : n;
}

/* What cannot be done is said before the first run. */
static void try_runs(struct train_model *model)
{
	if (model->options->loop)
		train_try(model, TRAIN_LOOPED);
	if (model->options->runner)
		train_try(model, TRAIN_RUNNER);
}

static int all_runs(struct train_model *model)
{
	enum train_schedule runs[TRAIN_SCHEDULES];
	unsigned n = choose_runs(model->options, runs);
	struct train_result results[TRAIN_SCHEDULES] = {0};
	int result = 1;

	if (n > 1)
		try_runs(model);
	if (model->status)
		return 1;
	train_report_begin(model);
	for (unsigned i = 0; i < n && !model->status; i++) {
		allocate_result(model, &results[i]);
		results[i].from = (double)i / n;
		results[i].to = (double)(i + 1) / n;
		if (!model->status)
			train_run(model, runs[i], &results[i]);
	}
	if (!model->status)
		result = report_runs(model, results, n);
	for (unsigned i = 0; i < n; i++) {
		free(results[i].losses);
		free(results[i].numbers);
	}
	return result;
}

static int run_to_save(struct train_model *model, struct train_result *result)
{
	train_run_to_save(model, result);
	if (model->status)
		return 1;
	train_report_saved(model, result);
	if (model->options->json)
		train_report_saved_json(model, result);
	return 0;
}

static int run_resumed(struct train_model *model, struct train_result *result)
{
	struct train_verdict verdict;

	train_run_resumed(model, result);
	if (model->status)
		return 1;
	verdict = judge(model, result, 1);
	train_report_resumed(model, result, &verdict);
	if (model->options->json)
		train_report_json(model, result, 1, &verdict);
	return !verdict.agree;
}

/* How much of a run's steps come before a step. */
static double part_before(const struct train_model *model, uint64_t step)
{
	return ((double)step - 1) / (double)model->options->steps;
}

/* One run, up to a save or on from one. */
static int part_of_a_run(struct train_model *model)
{
	struct train_result result = {.to = 1};
	double part;
	int status = 1;

	if (model->saved)
		train_load_check(model);
	if (model->status)
		return 1;
	if (model->saved && (part = part_before(model, model->saved->step)) < 1)
		result.from = -part / (1 - part);
	else if ((part = part_before(model, model->options->save_at)) > 0)
		result.to = 1 / part;
	train_report_begin(model);
	allocate_result(model, &result);
	if (!model->status)
		status = model->saved ? run_resumed(model, &result)
				      : run_to_save(model, &result);
	free(result.losses);
	return status;
}

/* train() trains on a text already read. The model closes the device. */
static int train(const struct train_options *options,
		 const struct train_text *text, const struct train_saved *saved,
		 struct philox_device *device)
{
	struct train_model *model = calloc(1, sizeof(*model));
	int result = 1;

	if (!model) {
		complain("train", "out of memory");
		philox_device_close(device);
		return 1;
	}
	model->options = options;
	model->text = text;
	model->saved = saved;
	model->device = device;
	train_model_open(model);
	train_warm_up(model);
	if (!model->status)
		result = saved || options->save ? part_of_a_run(model)
						: all_runs(model);
	progress_end();
	train_model_close(model);
	if (model->status)
		complain("train", "%s", model->message);
	if (model->status && result == 0)
		result = 1;
	if (model->file_failed)
		result = 2;
	free(model);
	return result;
}

/* Reads the files, then trains. */
static int read_and_train(struct train_options *options,
			  struct philox_device *device)
{
	struct train_saved saved = {0};
	struct train_text text = {0};
	char message[1024];
	int wrong = 0, result = 2;

	if (options->save)
		wrong = train_save_check(options, message, sizeof(message));
	if (!wrong)
		wrong = train_text_read(options->file, &text, message,
					sizeof(message));
	if (!wrong && options->resume)
		wrong = train_saved_read(options, &text, &saved, message,
					 sizeof(message));
	if (wrong) {
		complain("train", "%s", message);
		philox_device_close(device);
	} else {
		result = train(options, &text, options->resume ? &saved : NULL,
			       device);
	}
	train_saved_free(&saved);
	train_text_free(&text);
	return result;
}

int tool_train(int argc, char **argv)
{
	struct philox_device *device;
	struct train_options options;
	int result = train_parse_options(argc, argv, &options);

	if (result >= 0)
		return result;
	result = open_device("train", options.device, &device);
	return result ? result : read_and_train(&options, device);
}
