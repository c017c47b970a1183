/*
 * tools/train/json.c - the figures of `philox train` as one JSON object
 *
 * Checksums are strings of 16 hex digits: 64 bits do not fit into the numbers
 * of every reader.
 */
#include <inttypes.h>
#include <stdio.h>
#include "tools/cli/cli.h"
#include "tools/train/train.h"

static void write_calls(struct json *json, const struct train_calls *calls)
{
	json_object(json, "device_calls_per_replay");
	json_unsigned(json, "all", calls->all);
	json_unsigned(json, "exec_launch", calls->launch);
	json_unsigned(json, "exec_set_kernel", calls->set_kernel);
	json_unsigned(json, "capture_info", calls->capture_info);
	json_unsigned(json, "event_record", calls->record);
	json_close(json);
}

static void write_graphs(struct json *json, const struct train_result *result)
{
	json_unsigned(json, "graphs", result->graphs);
	json_unsigned(json, "passes_most", result->passes);
	json_unsigned(json, "nodes_added_least", result->nodes_added[0]);
	json_unsigned(json, "nodes_added_most", result->nodes_added[1]);
	json_unsigned(json, "replays", result->replays);
	json_number(json, "replays_per_second",
		    (double)result->replays / result->seconds);
	json_unsigned(json, "pending_most", result->pending);
	write_calls(json, &result->calls[1]);
}

static void write_pool(struct json *json, const struct philox_pool_stats *pool)
{
	json_object(json, "pool");
	json_unsigned(json, "mapped_peak", pool->mapped_peak);
	json_unsigned(json, "live_peak", pool->live_peak);
	json_unsigned(json, "growths", pool->growths);
	json_unsigned(json, "allocations", pool->allocations);
	json_unsigned(json, "restores", pool->restores);
	json_unsigned(json, "waits", pool->waits);
	json_close(json);
}

static void write_counts(struct json *json, const struct train_counts *counts)
{
	json_unsigned(json, "eager", counts->eager);
	json_unsigned(json, "warmups", counts->warmups);
	json_unsigned(json, "recordings", counts->recordings);
	json_unsigned(json, "replays", counts->replays);
	json_unsigned(json, "device_calls_per_replay_most",
		      counts->device_calls);
}

/* How the calls of a runner's functions were executed. */
static void write_functions(struct json *json,
			    const struct train_result *result)
{
	json_object(json, "calls");
	write_counts(json, &result->all_counts);
	json_close(json);
	json_array(json, "functions");
	for (int i = 0; i < TRAIN_FUNCTIONS; i++) {
		if (!result->counts[i].name)
			continue;
		json_object(json, NULL);
		json_string(json, "name", result->counts[i].name);
		write_counts(json, &result->counts[i]);
		json_close(json);
	}
	json_close(json);
	json_unsigned(json, "replays", result->replays);
	json_number(json, "replays_per_second",
		    (double)result->replays / result->seconds);
	json_unsigned(json, "pending_most", result->pending);
}

static void write_run(struct json *json, const struct train_result *result,
		      const struct train_options *options)
{
	json_object(json, NULL);
	json_string(json, "name", result->name);
	json_hash(json, "loss_checksum", result->loss_checksum);
	json_hash(json, "parameter_checksum", result->parameter_checksum);
	if (options->ops) {
		json_hash(json, "extra_checksum", result->extra_checksum);
		json_bool(json, "extra_paired", result->extra_paired);
	}
	json_bool(json, "retained_same", result->retained_same);
	json_number(json, "seconds", result->seconds);
	json_number(json, "steps_per_second",
		    (double)result->steps / result->seconds);
	if (result->graphs)
		write_graphs(json, result);
	if (result->called)
		write_functions(json, result);
	if (options->pool_given || result->called)
		write_pool(json, &result->pool);
	json_close(json);
}

static void write_text(struct json *json, const struct train_model *model)
{
	json_string(json, "file", model->options->file);
	json_unsigned(json, "bytes", model->text->size);
	json_unsigned(json, "vocabulary", model->text->vocabulary);
	json_number(json, "entropy", model->text->entropy);
}

static void write_options(struct json *json, const struct train_model *model)
{
	const struct train_options *options = model->options;

	json_string(json, "version", philox_version());
	json_string(json, "device", philox_device_name(model->device));
	json_string(json, "device_description",
		    philox_device_description(model->device));
	if (model->backend->products)
		json_string(json, "products", model->backend->products);
	json_unsigned(json, "steps", options->steps);
	json_unsigned(json, "seed", options->seed);
	json_number(json, "dropout", options->dropout);
	json_unsigned(json, "ops", options->ops);
	json_bool(json, "naive", options->naive);
	if (options->loop)
		json_bool(json, "loop", 1);
	if (options->runner)
		json_bool(json, "runner", 1);
	if (options->weights == TRAIN_WEIGHTS_BF16)
		json_string(json, "weights", "bf16");
	if (options->pool_given) {
		json_string(json, "pool", options->pool_given);
		json_unsigned(json, "bytes_without_pool", model->arrays_size);
	}
	json_unsigned(json, "parameters", model->n_parameters);
	json_unsigned(json, "mask_bytes_not_stored_per_step",
		      train_mask_bytes());
}

static void write_verdict(struct json *json, const struct train_model *model,
			  const struct train_verdict *verdict)
{
	if (model->saved) {
		json_string(json, "resumed", model->options->resume);
		json_unsigned(json, "resumed_in_step", model->saved->step);
	} else if (model->options->only_given) {
		json_string(json, "only", model->options->only_given);
	} else {
		json_bool(json, "agree", verdict->agree);
	}
	if (!model->saved && !verdict->agree) {
		json_string(json, "differs", verdict->differs->name);
		json_unsigned(json, "differs_step", verdict->differs_step);
	}
	if (verdict->not_replayed)
		json_string(json, "not_replayed",
			    verdict->not_replayed->not_replayed);
	json_number(json, "last_tenth_loss", verdict->last_tenth);
	if (verdict->masters)
		json_number(json, "masters_last_tenth_loss",
			    verdict->masters_last_tenth);
	json_bool(json, "learned", verdict->learned);
	if (model->options->naive) {
		json_unsigned(json, "distinct_eager", verdict->distinct[0]);
		json_unsigned(json, "distinct_naive", verdict->distinct[1]);
	}
}

/* The steps are counted from 1. */
static void write_losses(struct json *json, const struct train_model *model,
			 const struct train_result *result)
{
	uint64_t shown[TRAIN_LOSS_STEPS];
	unsigned n = train_loss_steps(model->options->steps, shown);

	json_array(json, "loss_steps");
	for (unsigned i = 0; i < n; i++)
		json_unsigned(json, NULL, shown[i]);
	json_close(json);
	json_array(json, "losses");
	for (unsigned i = 0; i < n; i++)
		json_number(json, NULL, train_step_loss(result, shown[i] - 1));
	json_close(json);
}

void train_report_json(const struct train_model *model,
		       const struct train_result *results, unsigned n,
		       const struct train_verdict *verdict)
{
	struct json json;

	json_begin(&json, stdout);
	json_object(&json, NULL);
	write_text(&json, model);
	write_options(&json, model);
	write_verdict(&json, model, verdict);
	write_losses(&json, model, &results[0]);
	json_array(&json, "runs");
	for (unsigned i = 0; i < n; i++)
		write_run(&json, &results[i], model->options);
	json_close(&json);
	json_close(&json);
	json_end(&json);
}

void train_report_saved_json(const struct train_model *model,
			     const struct train_result *result)
{
	struct json json;

	json_begin(&json, stdout);
	json_object(&json, NULL);
	write_text(&json, model);
	write_options(&json, model);
	json_string(&json, "saved", model->options->save);
	json_unsigned(&json, "saved_in_step", model->options->save_at);
	json_unsigned(&json, "pending", result->pending);
	json_close(&json);
	json_end(&json);
}
