/*
 * graph/runner/plan/lines.c - writing a plan: see Note [Plan]
 *
 * The text is written into a stream in memory, which remembers whether it ran
 * out of it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "graph/runner/plan/plan.h"
#include "lib/text/stream.h"
#include "lib/text/lines.h"

/* --- functions ---------------------------------------------------------------- */

static void write_descriptors(FILE *out, const struct plan_function *function)
{
	static const char *const kinds[] = {"static", "copied", "automatic"};

	for (size_t i = 0; i < function->n_inputs; i++) {
		const struct philox_input *input = &function->inputs[i];

		fputs("input ", out);
		save_write_name(out, input->name);
		fprintf(out,
			" %s flags %" PRIu32 " alignment %zu elements %" PRIu32
			"\n",
			kinds[input->kind], input->flags, input->alignment,
			input->elements);
	}
	for (size_t i = 0; i < function->n_outputs; i++) {
		fputs("output ", out);
		save_write_name(out, function->outputs[i].name);
		fprintf(out, " elements %" PRIu32 "\n",
			function->outputs[i].elements);
	}
	for (size_t i = 0; i < function->n_values; i++) {
		fputs("value ", out);
		save_write_name(out, function->values[i].name);
		fprintf(out, " bytes %zu\n", function->values[i].bytes);
	}
}

static void write_number(FILE *out, const char *word, uint32_t number)
{
	if (number == PHILOX_NEVER)
		fprintf(out, " %s never", word);
	else
		fprintf(out, " %s %" PRIu32, word, number);
}

static void write_plan_policy(FILE *out, const struct philox_policy *policy)
{
	static const char *const moved[] = {"limit", "record", "error"};
	static const char *const live[] = {"eager", "record"};
	static const char *const refused[] = {"eager", "error"};
	static const char *const differs[] = {"error", "eager"};

	fprintf(out, "policy moved %s live %s refused %s", moved[policy->moved],
		live[policy->live], refused[policy->refused]);
	write_number(out, "limit", policy->limit);
	write_number(out, "warmups", policy->warmups);
	write_number(out, "dry", policy->dry);
	write_number(out, "after", policy->after);
	write_number(out, "again", policy->again);
	write_number(out, "retry", policy->retry);
	write_number(out, "keys", policy->keys);
	write_number(out, "verify", policy->verify);
	fprintf(out, " differs %s bytes %" PRIu64 "\n",
		differs[policy->differs], policy->bytes);
}

/* --- scripts ------------------------------------------------------------------- */

static void write_region_step(FILE *out, const char *what,
			      const struct step *step)
{
	fprintf(out, "%s ", what);
	save_write_name(out, step->region);
	if (step->kind == STEP_BACKWARD && step->a != UINT64_MAX)
		fprintf(out, " of %" PRIu64, step->a);
	fprintf(out, " flags %u\n", step->flags);
}

static void write_step(FILE *out, const struct step *step)
{
	fputs("step ", out);
	switch (step->kind) {
	case STEP_FORWARD:
		write_region_step(out, "forward", step);
		break;
	case STEP_BACKWARD:
		write_region_step(out, "backward", step);
		break;
	case STEP_ALLOC:
		fprintf(out, "alloc %" PRIu64 " alignment %" PRIu64 "\n",
			step->a, step->b);
		break;
	case STEP_FREE:
		fprintf(out, "free %" PRIu64 "\n", step->a);
		break;
	case STEP_OUTPUT:
		fprintf(out, "output %" PRIu64 " bytes %" PRIu64 "\n", step->a,
			step->b);
		break;
	case STEP_VALUE:
		fprintf(out, "value %" PRIu64 "\n", step->a);
	}
}

static void write_scripts(FILE *out, const struct plan_function *function)
{
	for (size_t i = 0; i < function->n_scripts; i++) {
		const struct plan_script *script = &function->scripts[i];

		fprintf(out, "script %zu\n", i);
		for (size_t k = 0; k < script->n; k++)
			write_step(out, &script->steps[k]);
	}
}

/* --- keys ---------------------------------------------------------------------- */

static void write_key_bytes(FILE *out, const struct plan_key *key)
{
	static const char digits[] = "0123456789abcdef";

	fputs("key ", out);
	if (!key->size)
		fputc('-', out);
	for (size_t i = 0; i < key->size; i++) {
		fputc(digits[key->bytes[i] >> 4], out);
		fputc(digits[key->bytes[i] & 15], out);
	}
}

static void write_key(FILE *out, const struct plan_key *key)
{
	write_key_bytes(out, key);
	if (key->script == PLAN_NO_SCRIPT)
		fputs(" script none", out);
	else
		fprintf(out, " script %zu", key->script);
	fprintf(out,
		" calls %" PRIu64 " warmups %" PRIu32 " dry %" PRIu32
		" limited %" PRIu32 " recordings %" PRIu32 " unplayed %" PRIu32
		" prepared %" PRIu32 " bytes %" PRIu64,
		key->calls, key->warmups, key->dry, key->limited, key->debt.n,
		key->debt.unplayed, key->debt.prepared, key->debt.bytes);
	write_number(out, "wait", key->wait);
	if (key->refused) {
		fputs(" refused ", out);
		save_write_name(out, key->refused);
	}
	fputc('\n', out);
}

static void write_keys(FILE *out, const struct plan_function *function)
{
	const struct key_input *taken = function->takes;

	for (size_t i = 0; i < function->n_keys; i++) {
		write_key(out, &function->keys[i]);
		for (size_t k = 0; k < function->n_inputs; k++, taken++)
			fprintf(out, "takes %zu moves %" PRIu32 "%s\n",
				taken->bytes, taken->moves,
				taken->copied ? " copied" : "");
	}
}

/* --- all of it ------------------------------------------------------------------ */

static void write_plan_function(FILE *out, const struct plan_function *function)
{
	static const char *const modes[] = {"forward", "backward", "inference"};

	fputs("function ", out);
	save_write_name(out, function->name);
	fprintf(out, " %s flags %" PRIu32 "\n", modes[function->mode],
		function->flags);
	write_descriptors(out, function);
	write_plan_policy(out, &function->policy);
	write_scripts(out, function);
	write_keys(out, function);
}

static void write_barred(FILE *out, const struct plan_barred *barred)
{
	fprintf(out, "barred %016" PRIx64 " %" PRIu64 " by ",
		barred->ticket.region_key, barred->ticket.serial);
	save_write_name(out, barred->function);
	fprintf(out, " %s for ", barred->alive ? "alive" : "destroyed");
	save_write_name(out, barred->reason);
	fputc('\n', out);
}

static void write_lines(FILE *out, const struct plan *plan)
{
	fprintf(out, "philox plan %d\nlibrary ", PLAN_VERSION);
	save_write_name(out, plan->library);
	fprintf(out, "\nrunner live %" PRIu64 " mapped %" PRIu64 "\n",
		plan->live, plan->mapped);
	for (size_t i = 0; i < plan->n_functions; i++)
		write_plan_function(out, &plan->functions[i]);
	for (size_t i = 0; i < plan->n_barred; i++)
		write_barred(out, &plan->barred[i]);
}

enum philox_status plan_write(const struct plan *plan, char **text,
			      size_t *size)
{
	char *written = NULL;
	size_t length = 0;
	struct memory_file file;
	FILE *out = memory_file_open(&file, &written, &length);
	int whole = 0;

	if (out) {
		write_lines(out, plan);
		whole = save_write_checksum(out, &written, &length);
		fclose(out);
	}
	if (!whole) {
		free(written);
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for the text of a plan");
	}
	*text = written;
	*size = length;
	return PHILOX_OK;
}
