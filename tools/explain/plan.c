/*
 * tools/explain/plan.c - the programs of a plan, as far as it has them
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "graph/runner/function/function.h"
#include "tools/cli/cli.h"
#include "tools/explain/explain.h"

/* A function of a plan, as the texts of programs have one. */
struct planned {
	const struct plan_function *function;
	struct text_part *parts;
	struct text_step *steps;
	uint64_t *takes;
};

static char *as_name(const char *name)
{
	return (char *)(uintptr_t)name; /* is not written to */
}

static void describe_parts(struct planned *planned)
{
	const struct plan_function *function = planned->function;
	struct text_part *part = planned->parts;

	for (size_t i = 0; i < function->n_inputs; i++) {
		const struct philox_input_desc *input = &function->inputs[i];

		*part++ = (struct text_part){.is = TEXT_INPUT,
					     .name = as_name(input->name),
					     .kind = input->kind,
					     .flags = input->flags,
					     .elements = input->elements};
	}
	for (size_t i = 0; i < function->n_outputs; i++)
		*part++ = (struct text_part){
			.is = TEXT_OUTPUT,
			.name = as_name(function->outputs[i].name),
			.elements = function->outputs[i].elements};
}

/* Passes and allocations are counted as the script goes. */
static void describe_steps(const struct planned *planned,
			   const struct plan_script *script)
{
	const struct philox_param_desc *params = planned->function->params;
	uint32_t passes = 0;
	uint64_t allocations = 0;

	for (size_t i = 0; i < script->n; i++) {
		const struct step *step = &script->steps[i];
		struct text_step *to = &planned->steps[i];

		*to = (struct text_step){.flags = step->flags,
					 .name = as_name(step->region)};
		switch (step->kind) {
		case STEP_FORWARD:
		case STEP_BACKWARD:
			to->kind = step->kind == STEP_FORWARD
					   ? PROGRAM_FORWARD
					   : PROGRAM_BACKWARD;
			to->pass = passes++;
			to->of = step->a < UINT32_MAX ? (uint32_t)step->a
						      : UINT32_MAX;
			break;
		case STEP_ALLOC:
			to->kind = PROGRAM_ALLOC;
			to->index = ++allocations;
			to->bytes = step->a;
			to->alignment = step->b;
			break;
		case STEP_FREE:
			to->kind = PROGRAM_FREE;
			to->index = step->a + 1;
			break;
		case STEP_OUTPUT:
			to->kind = PROGRAM_OUTPUT;
			to->index = step->a + 1;
			to->bytes = step->b;
			break;
		case STEP_VALUE:
			to->kind = PROGRAM_VALUE;
			to->name = as_name(params[step->a].name);
			to->bytes = params[step->a].bytes;
			break;
		case STEP_CALL:
			to->kind = PROGRAM_CALL;
			break;
		case STEP_INNER_OUTPUT:
			to->kind = PROGRAM_INNER;
			to->bytes = step->b;
			break;
		case STEP_INNER_VALUE:
			to->kind = PROGRAM_VALUE;
			break;
		case STEP_RETURN:
			to->kind = PROGRAM_RETURN;
		}
	}
}

static size_t most_steps(const struct plan_function *function)
{
	size_t most = 0;

	for (size_t i = 0; i < function->n_scripts; i++)
		if (function->scripts[i].n > most)
			most = function->scripts[i].n;
	return most;
}

static int print_script(FILE *out, const struct planned *planned, size_t key)
{
	const struct plan_function *function = planned->function;
	const size_t script = function->keys[key].script;
	struct explained explained = {.parts = planned->parts,
				      .n_inputs = function->n_inputs,
				      .n_outputs = function->n_outputs,
				      .takes = planned->takes,
				      .steps = planned->steps};

	for (size_t i = 0; i < function->n_inputs; i++)
		planned->takes[i] =
			function->takes[key * function->n_inputs + i].bytes;
	if (script == PLAN_NO_SCRIPT) {
		fputs("  its body has not run\n", out);
		return 1;
	}
	describe_steps(planned, &function->scripts[script]);
	explained.n_steps = function->scripts[script].n;
	return explain_program(out, &explained);
}

static int print_key(FILE *out, const struct planned *planned, size_t index,
		     int bare)
{
	const struct plan_function *function = planned->function;
	const struct plan_key *key = &function->keys[index];
	int whole;

	fputs("function ", out);
	explain_name(out, function->name);
	fprintf(out, " (%s), key ", function_modes[function->mode]);
	if (!bare)
		fprintf(out, "%zu ", index + 1);
	explain_key(out, key->bytes, key->size, key->label);
	fputc('\n', out);
	whole = print_script(out, planned, index);
	if (key->refused && !bare) {
		fputs("  nothing is recorded: ", out);
		explain_words(out, key->refused);
		fputc('\n', out);
	}
	if (!bare)
		fprintf(out, "  calls: %" PRIu64 ", recordings: %" PRIu32 "\n",
			key->calls, key->expected.n);
	fputc('\n', out);
	return whole;
}

static int is_chosen(const struct explain_choice *choice,
		     const struct plan_key *key, size_t index)
{
	if (choice->recording ||
	    (choice->key_number && choice->key_number != index + 1))
		return 0;
	return !choice->key ||
	       (choice->key_bytes == key->size &&
		(!key->size || !memcmp(choice->key, key->bytes, key->size)));
}

static long print_function(FILE *out, const struct plan_function *function,
			   const struct explain_choice *choice)
{
	struct planned planned = {.function = function};
	long printed = 0;

	planned.parts = calloc(function->n_inputs + function->n_outputs + 1,
			       sizeof(*planned.parts));
	planned.steps = calloc(most_steps(function) + 1, sizeof(*planned.steps));
	planned.takes = calloc(function->n_inputs + 1, sizeof(*planned.takes));
	if (!planned.parts || !planned.steps || !planned.takes)
		printed = -1;
	else
		describe_parts(&planned);
	for (size_t i = 0; printed >= 0 && i < function->n_keys; i++)
		if (is_chosen(choice, &function->keys[i], i))
			printed = print_key(out, &planned, i, choice->bare)
					  ? printed + 1
					  : -1;
	free(planned.parts);
	free(planned.steps);
	free(planned.takes);
	return printed;
}

long plan_explain(FILE *out, const struct plan *plan,
		  const struct explain_choice *choice)
{
	long printed = 0;

	if (!choice->bare)
		fputs("A plan has the steps of bodies, without draws, commits, "
		      "places, nodes and times.\n\n",
		      out);
	for (size_t i = 0; printed >= 0 && i < plan->n_functions; i++) {
		const struct plan_function *function = &plan->functions[i];
		long n;

		if (choice->function &&
		    strcmp(choice->function, function->name) != 0)
			continue;
		n = print_function(out, function, choice);
		printed = n < 0 ? -1 : printed + n;
	}
	return printed;
}
