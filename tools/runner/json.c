/*
 * tools/runner/json.c - all of a runner's snapshot as JSON
 */
#include "graph/runner/function/function.h"
#include "tools/formats/formats.h"
#include "tools/pool/pool.h"
#include "tools/runner/runner.h"

/* --- functions ------------------------------------------------------------ */

static void json_counts(struct json *json,
			const struct philox_function_stats *counts)
{
	json_line(json, "calls", count_calls, counts);
	json_line(json, "misses", count_misses, counts);
	json_line(json, "bodies", count_bodies, counts);
	json_fields(json, count_verified, counts);
	json_fields(json, count_prepared, counts);
	json_fields(json, count_kept, counts);
}

static void json_parts(struct json *json, const char *name,
		       const struct runner_text *text,
		       struct text_part_of parts)
{
	json_array(json, name);
	for (size_t i = 0; i < parts.n; i++)
		json_line(json, NULL,
			  text_parts[text->parts[parts.first + i].is].fields,
			  &text->parts[parts.first + i]);
	json_close(json);
}

/* --- keys and recordings ---------------------------------------------------- */

static void json_key(struct json *json, const struct text_key *key)
{
	json_object(json, NULL);
	json_key_bytes(json, key->bytes, key->size);
	if (*key->label)
		json_fields(json, text_label_fields, key);
	json_fields(json, text_key_fields, key);
	json_close(json);
}

static void json_source(struct json *json, const struct text_source *source)
{
	json_object(json, NULL);
	json_fields(json, text_copied_fields, source);
	if (source->function) {
		json_unsigned(json, "function", source->function);
		json_fields(json, text_source_fields, source);
	} else {
		json_unsigned(json, "memory", source->id);
	}
	json_close(json);
}

static void json_recording(struct json *json, const struct runner_text *text,
			   const struct text_recording *recording)
{
	json_object(json, NULL);
	json_fields(json, text_recording_fields, recording);
	json_array(json, "inputs");
	for (size_t i = 0; i < recording->sources.n; i++)
		json_source(json, &text->sources[recording->sources.first + i]);
	json_close(json);
	json_array(json, "ranges");
	for (size_t i = 0; i < recording->ranges.n; i++)
		json_line(json, NULL, text_range_fields,
			  &text->ranges[recording->ranges.first + i]);
	json_close(json);
	json_close(json);
}

/* --- live outputs, and tickets ---------------------------------------------- */

static void json_live(struct json *json, const struct text_output *live)
{
	json_object(json, NULL);
	json_fields(json, text_live_fields, live);
	if (live->region)
		json_line(json, "ticket", text_tie_fields, live);
	json_close(json);
}

static void json_ticket(struct json *json, const struct runner_text *text,
			const struct text_ticket *ticket)
{
	json_object(json, NULL);
	json_fields(json, text_ticket_fields, ticket);
	json_array(json, "keeps");
	for (size_t i = 0; i < ticket->items.n; i++)
		json_line(json, NULL, text_kept_fields,
			  &text->items[ticket->items.first + i]);
	json_close(json);
	json_close(json);
}

/* --- the whole ------------------------------------------------------------ */

static void json_function(struct json *json, const struct runner_text *text,
			  const struct text_function *function)
{
	json_object(json, NULL);
	json_string(json, "name", function->name);
	json_string(json, "mode", function_modes[function->mode]);
	json_bool(json, "destroyed", function->destroyed);
	for (unsigned i = 0; function_flags[i]; i++)
		json_bool(json, function_flags[i], function->flags >> i & 1);
	json_fields(json, text_reason_fields, function);
	json_counts(json, &function->counts);
	json_line(json, "policy", policy_fields, &function->policy);
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

int runner_json(const struct runner_text *text, struct json *json)
{
	int status;

	json_string(json, "kind", "runner");
	json_fields(json, text_runner_fields, text);
	json_array(json, "functions");
	for (size_t i = 0; i < text->n_functions; i++)
		json_function(json, text, &text->functions[i]);
	json_close(json);
	json_array(json, "live");
	for (size_t i = 0; i < text->n_live; i++)
		json_live(json, &text->live[i]);
	json_close(json);
	json_array(json, "tickets");
	for (size_t i = 0; i < text->n_tickets; i++)
		json_ticket(json, text, &text->tickets[i]);
	json_close(json);
	json_object(json, "pool");
	status = pool_json(&text->pool, json);
	json_close(json);
	return status;
}
