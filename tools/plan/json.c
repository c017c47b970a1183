/*
 * tools/plan/json.c - all of a plan as JSON
 */
#include <inttypes.h>
#include <stdio.h>
#include "tools/common/runner_json.h"
#include "tools/plan/plan.h"

static void json_descriptors(struct json *json,
			     const struct plan_function *function)
{
	json_array(json, "inputs");
	for (size_t i = 0; i < function->n_inputs; i++) {
		json_object(json, NULL);
		json_string(json, "name", function->inputs[i].name);
		json_string(json, "kind", plan_kinds[function->inputs[i].kind]);
		json_input_flags(json, function->inputs[i].flags);
		json_unsigned(json, "alignment", function->inputs[i].alignment);
		json_unsigned(json, "elements", function->inputs[i].elements);
		json_close(json);
	}
	json_close(json);
	json_array(json, "outputs");
	for (size_t i = 0; i < function->n_outputs; i++) {
		json_object(json, NULL);
		json_string(json, "name", function->outputs[i].name);
		json_unsigned(json, "elements", function->outputs[i].elements);
		json_close(json);
	}
	json_close(json);
	json_array(json, "values");
	for (size_t i = 0; i < function->n_values; i++) {
		json_object(json, NULL);
		json_string(json, "name", function->values[i].name);
		json_unsigned(json, "bytes", function->values[i].bytes);
		json_close(json);
	}
	json_close(json);
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

static void json_taken(struct json *json, const struct key_input *taken,
		       size_t n)
{
	json_array(json, "inputs");
	for (size_t i = 0; i < n; i++) {
		json_object(json, NULL);
		json_unsigned(json, "bytes", taken[i].bytes);
		json_unsigned(json, "moves", taken[i].moves);
		json_bool(json, "copied", taken[i].copied);
		json_close(json);
	}
	json_close(json);
}

static void json_plan_key(struct json *json,
			  const struct plan_function *function, size_t index)
{
	const struct plan_key *key = &function->keys[index];

	json_object(json, NULL);
	json_key_bytes(json, key->bytes, key->size);
	if (key->script != PLAN_NO_SCRIPT)
		json_unsigned(json, "script", key->script);
	json_unsigned(json, "calls", key->calls);
	json_unsigned(json, "warmups", key->warmups);
	json_unsigned(json, "dry", key->dry);
	json_unsigned(json, "limited", key->limited);
	json_unsigned(json, "recordings", key->expected.n);
	json_unsigned(json, "unplayed", key->expected.unplayed);
	json_unsigned(json, "prepared", key->expected.prepared);
	json_unsigned(json, "bytes", key->expected.bytes);
	json_times(json, "wait", key->wait);
	json_string(json, "refused", key->refused ? key->refused : "");
	if (function->n_inputs)
		json_taken(json, &function->takes[index * function->n_inputs],
			   function->n_inputs);
	json_close(json);
}

static void json_plan_function(struct json *json,
			       const struct plan_function *function)
{
	json_object(json, NULL);
	json_string(json, "name", function->name);
	json_string(json, "mode", plan_modes[function->mode]);
	json_function_flags(json, function->flags);
	json_descriptors(json, function);
	json_policy(json, &function->policy);
	json_scripts(json, function);
	json_array(json, "keys");
	for (size_t i = 0; i < function->n_keys; i++)
		json_plan_key(json, function, i);
	json_close(json);
	json_close(json);
}

static void json_barred(struct json *json, const struct plan_barred *barred)
{
	char region[17];

	snprintf(region, sizeof(region), "%016" PRIx64,
		 barred->ticket.region_key);
	json_object(json, NULL);
	json_string(json, "region", region);
	json_unsigned(json, "serial", barred->ticket.serial);
	json_string(json, "function", barred->function);
	json_bool(json, "alive", barred->alive);
	json_string(json, "reason", barred->reason);
	json_close(json);
}

int plan_json(const struct plan *plan, struct json *json)
{
	json_string(json, "kind", "plan");
	json_string(json, "library", plan->library);
	json_unsigned(json, "live_peak", plan->live);
	json_unsigned(json, "mapped_peak", plan->mapped);
	json_array(json, "functions");
	for (size_t i = 0; i < plan->n_functions; i++)
		json_plan_function(json, &plan->functions[i]);
	json_close(json);
	json_array(json, "barred");
	for (size_t i = 0; i < plan->n_barred; i++)
		json_barred(json, &plan->barred[i]);
	json_close(json);
	return 0;
}
