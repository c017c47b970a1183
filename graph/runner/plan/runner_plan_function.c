/*
 * graph/runner/plan/runner_plan_function.c - a function of a plan, read, and its scripts
 */
#include <stdlib.h>
#include "graph/runner/plan/runner_plan_reader.h"

void plan_end_function(struct plan_reader *reader)
{
	const struct plan_function *function;

	if (!reader->plan->n_functions || reader->in.status != PHILOX_OK)
		return;
	function = planned_function(reader);
	if (reader->section < OF_SCRIPTS)
		reader_refuse(&reader->in, "function '%s' has no policy",
			      function->name);
	if (reader->named < function->n_scripts)
		reader_refuse(&reader->in,
			      "script %zu of function '%s' is of no key",
			      reader->named, function->name);
	plan_end_key(reader);
}

/* --- functions ------------------------------------------------------------------- */

void plan_begin_function(struct plan_reader *reader)
{
	static const char *const modes[] = {" forward", " backward",
					    " inference"};
	struct reader *in = &reader->in;
	struct plan *plan = reader->plan;
	struct plan_function read = {0};

	plan_end_function(reader);
	if (plan->n_barred)
		reader_refuse(in, "%s", "a function after barred tickets");
	read.name = plan_short_name(
		in, TEXT_OF(((struct philox_function *)0)->name));
	read.mode = plan_choice(in, modes, 3, "a mode of functions");
	read.flags = plan_number(in, " flags ");
	if (in->status == PHILOX_OK && !*read.name)
		reader_refuse(in, "%s", "a function without a name");
	if (in->status == PHILOX_OK && plan->n_functions &&
	    strcmp(planned_function(reader)->name, read.name) >= 0)
		reader_refuse(in, "function '%s' has to come before '%s'",
			      read.name, planned_function(reader)->name);
	reader_end_line(in);
	plan->functions = reader_grow(in, plan->functions, plan->n_functions,
				      sizeof(*plan->functions));
	if (in->status != PHILOX_OK) {
		free(read.name);
		return;
	}
	plan->functions[plan->n_functions++] = read;
	free(reader->keys.places);
	reader->keys = (struct plan_index){.same = plan_same_keys};
	reader->named = 0;
	reader->bytes = 0;
	reader->section = OF_INPUTS;
}

void plan_read_input(struct plan_reader *reader)
{
	static const char *const kinds[] = {" static", " copied", " automatic"};
	struct reader *in = &reader->in;
	struct plan_function *function;
	struct philox_input read = {0};
	char *name;

	if (!plan_line_fits(reader, OF_INPUTS))
		return;
	function = planned_function(reader);
	read.name = name = reader_name(in);
	read.kind = plan_choice(in, kinds, 3, "a kind of inputs");
	read.flags = plan_number(in, " flags ");
	read.alignment = (size_t)plan_size(in, " alignment ");
	read.elements = plan_number(in, " elements ");
	reader_end_line(in);
	function->inputs = reader_grow(in, function->inputs, function->n_inputs,
				       sizeof(read));
	if (in->status == PHILOX_OK)
		function->inputs[function->n_inputs++] = read;
	else
		free(name);
}

void plan_read_output(struct plan_reader *reader)
{
	struct reader *in = &reader->in;
	struct plan_function *function;
	struct philox_output_info read = {0};
	char *name;

	if (!plan_line_fits(reader, OF_OUTPUTS))
		return;
	function = planned_function(reader);
	read.name = name = reader_name(in);
	read.elements = plan_number(in, " elements ");
	reader_end_line(in);
	function->outputs = reader_grow(in, function->outputs,
					function->n_outputs, sizeof(read));
	if (in->status == PHILOX_OK)
		function->outputs[function->n_outputs++] = read;
	else
		free(name);
}

void plan_read_value(struct plan_reader *reader)
{
	struct reader *in = &reader->in;
	struct plan_function *function;
	struct philox_value read = {0};
	char *name;

	if (!plan_line_fits(reader, OF_VALUES))
		return;
	function = planned_function(reader);
	read.name = name = reader_name(in);
	read.bytes = (size_t)plan_size(in, " bytes ");
	reader_end_line(in);
	function->values = reader_grow(in, function->values, function->n_values,
				       sizeof(read));
	if (in->status == PHILOX_OK)
		function->values[function->n_values++] = read;
	else
		free(name);
}

void plan_read_policy(struct plan_reader *reader)
{
	static const char *const moved[] = {"limit", "record", "error"};
	static const char *const live[] = {"eager", "record"};
	static const char *const refused[] = {"eager", "error"};
	static const char *const differs[] = {"error", "eager"};
	struct reader *in = &reader->in;
	struct philox_policy *policy;

	if (!plan_line_fits(reader, OF_VALUES))
		return;
	policy = &planned_function(reader)->policy;
	reader_expect(in, "moved ");
	policy->moved = plan_choice(in, moved, 3, "what moved inputs do");
	reader_expect(in, " live ");
	policy->live = plan_choice(in, live, 2, "'eager' or 'record'");
	reader_expect(in, " refused ");
	policy->refused = plan_choice(in, refused, 2, "'eager' or 'error'");
	policy->limit = plan_or_never(in, " limit");
	policy->warmups = plan_or_never(in, " warmups");
	policy->dry = plan_or_never(in, " dry");
	policy->after = plan_or_never(in, " after");
	policy->again = plan_or_never(in, " again");
	policy->retry = plan_or_never(in, " retry");
	policy->keys = plan_or_never(in, " keys");
	policy->verify = plan_or_never(in, " verify");
	reader_expect(in, " differs ");
	policy->differs = plan_choice(in, differs, 2, "'error' or 'eager'");
	reader_expect(in, " bytes ");
	policy->bytes = reader_decimal(in, 0, UINT64_MAX);
	reader_end_line(in);
	reader->section = OF_SCRIPTS;
}

/* --- scripts --------------------------------------------------------------------- */

void plan_begin_script(struct plan_reader *reader)
{
	struct reader *in = &reader->in;
	struct plan_function *function;
	uint64_t number;

	if (!plan_line_fits(reader, OF_SCRIPTS))
		return;
	function = planned_function(reader);
	number = reader_decimal(in, 0, PLAN_MOST);
	if (number != function->n_scripts)
		reader_refuse(in, "script %zu has to come first",
			      function->n_scripts);
	reader_end_line(in);
	function->scripts =
		reader_grow(in, function->scripts, function->n_scripts,
			    sizeof(*function->scripts));
	reader->counts = (struct step_counts){.outputs = function->n_outputs,
					      .values = function->n_values};
	if (in->status == PHILOX_OK)
		function->scripts[function->n_scripts++] =
			(struct plan_script){0};
}

void plan_read_script_step(struct plan_reader *reader)
{
	struct reader *in = &reader->in;
	struct plan_script *script;
	struct step read;

	if (!plan_line_fits(reader, OF_SCRIPTS))
		return;
	if (!planned_function(reader)->n_scripts) {
		reader_refuse(in, "%s", "there is no script for it above");
		return;
	}
	script = &planned_function(reader)
			  ->scripts[planned_function(reader)->n_scripts - 1];
	read = plan_read_step(in, &reader->counts);
	script->steps = reader_grow(in, script->steps, script->n, sizeof(read));
	if (in->status == PHILOX_OK)
		script->steps[script->n++] = read;
	else
		free((void *)(uintptr_t)read.region);
}
