/*
 * tools/plan/summary.c - a plan summed up in words
 */
#include <inttypes.h>
#include <stdio.h>
#include "lib/state/state.h"
#include "tools/cli/cli.h"
#include "tools/plan/plan.h"

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
	fprintf(out, "    key %s: calls %" PRIu64, plan_key_words(key).text,
		key->calls);
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
		journal_name(function->name).text, plan_modes[function->mode],
		function->flags & PHILOX_FUNCTION_EAGER ? ", eager" : "",
		function->flags & PHILOX_FUNCTION_COLLECTIVE ? ", collective"
							     : "",
		function->n_inputs, function->n_outputs, function->n_values);
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
