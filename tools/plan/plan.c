/*
 * tools/plan/plan.c - a plan summed up in words, and all of it as JSON
 */
#include <inttypes.h>
#include <stdio.h>
#include "graph/runner/function/function.h"
#include "lib/state/state.h"
#include "tools/cli/cli.h"
#include "tools/formats/formats.h"
#include "tools/plan/plan.h"

/* --- keys and steps in words ----------------------------------------------- */

/* A longer one is cut in words, as nobody reads it whole. */
#define BYTES_SHOWN 24

static int is_text(const struct plan_key *key)
{
	for (size_t i = 0; i < key->size; i++)
		if (key->bytes[i] < ' ' || key->bytes[i] > '~')
			return 0;
	return key->size > 0;
}

struct key_words plan_key_words(const struct plan_key *key)
{
	struct key_words words = {"-"};
	const size_t shown = key->size < BYTES_SHOWN ? key->size : BYTES_SHOWN;
	size_t at = 0;

	for (size_t i = 0; i < shown; i++)
		at += (size_t)snprintf(words.text + at, sizeof(words.text) - at,
				       "%02x", key->bytes[i]);
	if (shown < key->size)
		snprintf(words.text + at, sizeof(words.text) - at,
			 "... (%zu bytes)", key->size);
	else if (is_text(key))
		snprintf(words.text + at, sizeof(words.text) - at, " '%.*s'",
			 (int)key->size, (const char *)key->bytes);
	return words;
}

static void describe_pass(const struct step *step, struct step_words *words)
{
	char of[40] = "";

	if (step->kind == STEP_BACKWARD && step->a != UINT64_MAX)
		snprintf(of, sizeof(of), " of its pass %" PRIu64, step->a);
	snprintf(words->text, sizeof(words->text),
		 "%s%s of region %s, flags %u",
		 step->kind == STEP_FORWARD ? "a forward" : "a backward", of,
		 journal_name(step->region).text, step->flags);
}

struct step_words plan_step_words(const struct plan_function *function,
				  const struct step *step)
{
	struct step_words words;

	switch (step->kind) {
	case STEP_FORWARD:
	case STEP_BACKWARD:
		describe_pass(step, &words);
		break;
	case STEP_ALLOC:
		snprintf(words.text, sizeof(words.text),
			 "an allocation of %" PRIu64
			 " bytes, alignment %" PRIu64,
			 step->a, step->b);
		break;
	case STEP_FREE:
		snprintf(words.text, sizeof(words.text),
			 "a free of its allocation %" PRIu64, step->a);
		break;
	case STEP_OUTPUT:
		snprintf(words.text, sizeof(words.text),
			 "output %s of %" PRIu64 " bytes",
			 journal_name(function->outputs[step->a].name).text,
			 step->b);
		break;
	case STEP_VALUE:
		snprintf(words.text, sizeof(words.text), "value %s",
			 journal_name(function->params[step->a].name).text);
		break;
	case STEP_CALL:
		snprintf(words.text, sizeof(words.text),
			 "a call of function %s",
			 journal_name(step->region).text);
		break;
	case STEP_INNER_OUTPUT:
		snprintf(words.text, sizeof(words.text),
			 "its output %s of %" PRIu64 " bytes",
			 journal_name(step->region).text, step->b);
		break;
	case STEP_INNER_VALUE:
		snprintf(words.text, sizeof(words.text), "its value %s",
			 journal_name(step->region).text);
		break;
	case STEP_RETURN:
		snprintf(words.text, sizeof(words.text),
			 "the return from function %s",
			 journal_name(step->region).text);
	}
	return words;
}

/* --- the plan in words ------------------------------------------------------ */

/* Lines for keys of a function, and for barred tickets; the rest is counted. */
#define LINES_MAX 12

/* What all keys of a function have, or all functions. */
struct plan_totals {
	uint64_t keys, calls, recordings, unplayed, prepared, bytes;
	uint64_t waiting, copied;
};

static void add_key(struct plan_totals *totals, const struct plan_key *key)
{
	totals->keys++;
	totals->calls += key->calls;
	totals->recordings += key->expected.n;
	totals->unplayed += key->expected.unplayed;
	totals->prepared += key->expected.prepared;
	totals->bytes += key->expected.bytes;
	totals->waiting += key->wait != 0;
}

static struct plan_totals total_of(const struct plan_function *function)
{
	struct plan_totals totals = {0};

	for (size_t i = 0; i < function->n_keys; i++)
		add_key(&totals, &function->keys[i]);
	for (size_t i = 0; i < function->n_takes; i++)
		totals.copied += function->takes[i].copied != 0;
	return totals;
}

static void print_wait(FILE *out, const struct plan_key *key)
{
	if (!key->wait)
		return;
	if (key->wait == PHILOX_NEVER)
		fputs(", not recorded any more", out);
	else
		fprintf(out, ", not recorded for %" PRIu32 " call%s", key->wait,
			plural(key->wait));
	fprintf(out, ": %s", journal_name(key->refused).text);
}

static void print_key(FILE *out, const struct plan_key *key)
{
	fprintf(out, "    key %s", plan_key_words(key).text);
	if (*key->label)
		fprintf(out, ", label %s", journal_name(key->label).text);
	fprintf(out, ": calls %" PRIu64, key->calls);
	if (key->expected.n)
		fprintf(out, ", recordings %" PRIu32, key->expected.n);
	if (key->expected.unplayed)
		fprintf(out, " (never replayed %" PRIu32 ")",
			key->expected.unplayed);
	if (key->warmups || key->dry)
		fprintf(out, ", warm-ups to come %" PRIu64,
			(uint64_t)key->warmups + key->dry);
	print_wait(out, key);
	fputc('\n', out);
}

/* Those that wait first: the others are as they should be. */
static void print_keys(FILE *out, const struct plan_function *function)
{
	size_t lines = 0;

	for (int waits = 1; waits >= 0; waits--)
		for (size_t i = function->n_keys; i-- && lines < LINES_MAX;)
			if ((function->keys[i].wait != 0) == waits) {
				print_key(out, &function->keys[i]);
				lines++;
			}
	if (lines < function->n_keys)
		fprintf(out, "    and %zu more\n", function->n_keys - lines);
}

static void print_totals(FILE *out, const struct plan_totals *totals)
{
	fprintf(out,
		"keys %" PRIu64 ", calls %" PRIu64 ", recordings %" PRIu64
		" (never replayed %" PRIu64 ", prepared %" PRIu64
		"), bytes %" PRIu64 "\n",
		totals->keys, totals->calls, totals->recordings,
		totals->unplayed, totals->prepared, totals->bytes);
}

static void print_function(FILE *out, const struct plan_function *function)
{
	const struct plan_totals totals = total_of(function);

	fprintf(out, "  %s: %s%s%s, inputs %zu, outputs %zu, values %zu\n    ",
		journal_name(function->name).text,
		function_modes[function->mode],
		function->flags & PHILOX_FUNCTION_EAGER ? ", eager" : "",
		function->flags & PHILOX_FUNCTION_COLLECTIVE ? ", collective"
							     : "",
		function->n_inputs, function->n_outputs, function->n_params);
	print_totals(out, &totals);
	if (totals.copied)
		fprintf(out,
			"    automatic inputs that are copied %" PRIu64 "\n",
			totals.copied);
	print_keys(out, function);
}

static void print_barred(FILE *out, const struct plan *plan)
{
	if (!plan->n_barred)
		return;
	fprintf(out, "\nbarred tickets %zu\n", plan->n_barred);
	for (size_t i = 0; i < plan->n_barred && i < LINES_MAX; i++) {
		const struct plan_barred *barred = &plan->barred[i];

		fprintf(out,
			"  ticket %" PRIu64 " of region %016" PRIx64
			", by %s%s: %s\n",
			barred->ticket.serial, barred->ticket.region_key,
			journal_name(barred->function).text,
			barred->alive ? "" : ", destroyed",
			journal_name(barred->reason).text);
	}
	if (plan->n_barred > LINES_MAX)
		fprintf(out, "  and %zu more\n", plan->n_barred - LINES_MAX);
}

int plan_print(const struct plan *plan, FILE *out)
{
	struct plan_totals totals = {0};

	for (size_t i = 0; i < plan->n_functions; i++)
		for (size_t k = 0; k < plan->functions[i].n_keys; k++)
			add_key(&totals, &plan->functions[i].keys[k]);
	fprintf(out,
		"plan\n\nlibrary %s\npool at its peak: live %" PRIu64
		", mapped %" PRIu64 "\n\nfunctions %zu, ",
		journal_name(plan->library).text, plan->live, plan->mapped,
		plan->n_functions);
	print_totals(out, &totals);
	for (size_t i = 0; i < plan->n_functions; i++)
		print_function(out, &plan->functions[i]);
	print_barred(out, plan);
	return 0;
}

/* --- the plan as JSON ------------------------------------------------------- */

static void json_parts(struct json *json, const struct plan_function *function)
{
	for (size_t i = 0; i < PLAN_PARTS; i++) {
		const struct plan_part *part = &plan_parts[i];
		const size_t n = plan_part_count(part, function);

		json_array(json, field_name(&part->count));
		for (size_t k = 0; k < n; k++)
			json_line(json, NULL, part->fields,
				  plan_part_at(part, function, k));
		json_close(json);
	}
}

static void json_scripts(struct json *json,
			 const struct plan_function *function)
{
	json_array(json, "scripts");
	for (size_t i = 0; i < function->n_scripts; i++) {
		json_array(json, NULL);
		for (size_t k = 0; k < function->scripts[i].n; k++)
			json_string(
				json, NULL,
				plan_step_words(function,
						&function->scripts[i].steps[k])
					.text);
		json_close(json);
	}
	json_close(json);
}

static void json_plan_key(struct json *json,
			  const struct plan_function *function, size_t index)
{
	const struct plan_key *key = &function->keys[index];
	const size_t n = function->n_inputs;

	json_object(json, NULL);
	json_key_bytes(json, key->bytes, key->size);
	if (*key->label)
		json_fields(json, plan_label_fields, key);
	json_fields(json, plan_script_fields, key);
	json_fields(json, plan_key_fields, key);
	json_string(json, "refused", key->refused ? key->refused : "");
	if (n)
		json_array(json, "inputs");
	for (size_t i = 0; i < n; i++)
		json_line(json, NULL, plan_input_fields,
			  &function->takes[index * n + i]);
	if (n)
		json_close(json);
	json_close(json);
}

static void json_plan_function(struct json *json,
			       const struct plan_function *function)
{
	json_object(json, NULL);
	json_fields(json, plan_function_fields, function);
	json_parts(json, function);
	json_object(json, "policy");
	json_fields(json, policy_fields, &function->policy);
	json_close(json);
	json_fields(json, plan_waste_fields, function);
	json_scripts(json, function);
	json_array(json, "keys");
	for (size_t i = 0; i < function->n_keys; i++)
		json_plan_key(json, function, i);
	json_close(json);
	json_close(json);
}

int plan_json(const struct plan *plan, struct json *json)
{
	json_string(json, "kind", "plan");
	json_string(json, "library", plan->library);
	json_fields(json, plan_peak_fields, plan);
	json_array(json, "functions");
	for (size_t i = 0; i < plan->n_functions; i++)
		json_plan_function(json, &plan->functions[i]);
	json_close(json);
	json_array(json, "barred");
	for (size_t i = 0; i < plan->n_barred; i++)
		json_line(json, NULL, plan_barred_fields, &plan->barred[i]);
	json_close(json);
	return 0;
}
