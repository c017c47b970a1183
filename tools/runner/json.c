/*
 * tools/runner/json.c - all of a runner's snapshot as JSON
 */
#include "tools/common/runner_json.h"
#include "tools/pool/pool.h"
#include "tools/runner/runner.h"
#include "tools/runner/words.h"

/* --- functions ------------------------------------------------------------ */

static void json_misses(struct json *json,
			const struct philox_function_counts *counts)
{
	struct miss misses[MISS_KINDS];

	words_misses(counts, misses);
	json_object(json, "misses");
	for (size_t i = 0; i < MISS_KINDS; i++)
		json_unsigned(json, misses[i].name, misses[i].calls);
	json_close(json);
}

static void json_counts(struct json *json,
			const struct philox_function_counts *counts)
{
	json_object(json, "calls");
	json_unsigned(json, "eager", counts->eager);
	json_unsigned(json, "warmup", counts->warmup);
	json_unsigned(json, "record", counts->record);
	json_unsigned(json, "replay", counts->replay);
	json_unsigned(json, "failed", counts->failed);
	json_close(json);
	json_misses(json, counts);
	json_object(json, "bodies");
	json_unsigned(json, "all", counts->bodies);
	json_unsigned(json, "dry", counts->dry);
	json_unsigned(json, "checking", counts->checking);
	json_close(json);
	json_unsigned(json, "verified", counts->verified);
	json_unsigned(json, "differed", counts->differed);
	json_unsigned(json, "unverified", counts->unverified);
	json_unsigned(json, "prepared", counts->prepared);
	json_unsigned(json, "keys_dropped", counts->keys_dropped);
	json_unsigned(json, "unplayed", counts->unplayed);
	json_unsigned(json, "bytes", counts->bytes);
	json_unsigned(json, "copies", counts->copies);
}

static void json_part(struct json *json, const struct text_part *part)
{
	json_object(json, NULL);
	json_string(json, "name", part->name);
	if (part->is == TEXT_INPUT) {
		json_string(json, "kind", words_input(part->kind));
		json_input_flags(json, part->flags);
		json_unsigned(json, "alignment", part->alignment);
	}
	if (part->is == TEXT_VALUE) {
		json_unsigned(json, "bytes", part->alignment);
	} else {
		json_unsigned(json, "elements", part->elements);
		json_string(json, "origin", part->origin);
	}
	json_close(json);
}

static void json_parts(struct json *json, const char *name,
		       const struct runner_text *text,
		       struct text_part_of parts)
{
	json_array(json, name);
	for (size_t i = 0; i < parts.n; i++)
		json_part(json, &text->parts[parts.first + i]);
	json_close(json);
}

/* --- keys and recordings ---------------------------------------------------- */

static void json_key(struct json *json, const struct text_key *key)
{
	json_object(json, NULL);
	json_key_bytes(json, key->bytes, key->size);
	json_unsigned(json, "calls", key->calls);
	json_unsigned(json, "warmups", key->warmups);
	json_unsigned(json, "dry", key->dry);
	json_times(json, "wait", key->wait);
	json_string(json, "refused", key->refused);
	json_close(json);
}

static void json_source(struct json *json, const struct text_source *source)
{
	json_object(json, NULL);
	json_bool(json, "copied", source->copied);
	if (source->function) {
		json_unsigned(json, "function", source->function);
		json_unsigned(json, "output", source->output);
		json_unsigned(json, "recording", source->recording);
	} else {
		json_unsigned(json, "memory", source->id);
	}
	json_close(json);
}

static void json_range(struct json *json, const struct text_range *range)
{
	json_object(json, NULL);
	json_unsigned(json, "segment", range->segment);
	json_unsigned(json, "offset", range->offset);
	json_unsigned(json, "bytes", range->bytes);
	json_close(json);
}

static void json_recording(struct json *json, const struct runner_text *text,
			   const struct text_recording *recording)
{
	json_object(json, NULL);
	json_unsigned(json, "number", recording->number);
	json_unsigned(json, "key", recording->key + 1);
	json_unsigned(json, "replays", recording->replays);
	json_bool(json, "prepared", recording->prepared);
	json_unsigned(json, "bytes", recording->bytes);
	json_unsigned(json, "passes", recording->passes);
	json_unsigned(json, "writes", recording->writes);
	json_array(json, "inputs");
	for (size_t i = 0; i < recording->sources.n; i++)
		json_source(json, &text->sources[recording->sources.first + i]);
	json_close(json);
	json_array(json, "ranges");
	for (size_t i = 0; i < recording->ranges.n; i++)
		json_range(json, &text->ranges[recording->ranges.first + i]);
	json_close(json);
	json_close(json);
}

/* --- the whole ------------------------------------------------------------ */

static void json_function(struct json *json, const struct runner_text *text,
			  const struct text_function *function)
{
	json_object(json, NULL);
	json_string(json, "name", function->name);
	json_string(json, "mode", words_mode(function));
	json_bool(json, "destroyed", function->gone);
	json_function_flags(json, function->flags);
	json_string(json, "reason", function->reason);
	json_counts(json, &function->counts);
	json_policy(json, &function->policy);
	json_parts(json, "inputs", text, function->inputs);
	json_parts(json, "outputs", text, function->outputs);
	json_parts(json, "values", text, function->values);
	json_array(json, "keys");
	for (size_t i = 0; i < function->keys.n; i++)
		json_key(json, &text->keys[function->keys.first + i]);
	json_close(json);
	json_array(json, "recordings");
	for (size_t i = 0; i < function->recordings.n; i++)
		json_recording(
			json, text,
			&text->recordings[function->recordings.first + i]);
	json_close(json);
	json_close(json);
}

static void json_live(struct json *json, const struct text_output *output)
{
	json_object(json, NULL);
	json_unsigned(json, "function", output->function);
	json_unsigned(json, "output", output->output);
	json_unsigned(json, "recording", output->recording);
	json_unsigned(json, "block", output->block);
	json_unsigned(json, "bytes", output->bytes);
	json_unsigned(json, "call", output->call);
	json_bool(json, "tied", output->tied);
	json_close(json);
}

int runner_json(const struct runner_text *text, struct json *json)
{
	static const char *const modes[] = {"plain", "eager", "verify"};
	int status;

	json_string(json, "kind", "runner");
	json_string(json, "name", text->name);
	json_string(json, "mode", modes[text->mode]);
	json_unsigned(json, "calls", text->calls);
	json_unsigned(json, "made", text->made);
	json_array(json, "functions");
	for (size_t i = 0; i < text->n_functions; i++)
		json_function(json, text, &text->functions[i]);
	json_close(json);
	json_array(json, "live");
	for (size_t i = 0; i < text->n_live; i++)
		json_live(json, &text->live[i]);
	json_close(json);
	json_object(json, "pool");
	status = pool_json(&text->pool, json);
	json_close(json);
	return status;
}
