/*
 * tools/runner/summary.c - a runner summed up in words
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/runner/function/function.h"
#include "lib/dist/dist.h"
#include "lib/state/state.h"
#include "tools/cli/cli.h"
#include "tools/pool/pool.h"
#include "tools/runner/runner.h"

/* --- figures in words ------------------------------------------------------ */

uint64_t words_calls(const struct philox_function_stats *counts)
{
	return counts->eager + counts->warmup + counts->record +
	       counts->replay + counts->failed;
}

double words_hits(const struct philox_function_stats *counts)
{
	uint64_t calls = words_calls(counts);

	return calls ? 100 * (double)counts->replay / (double)calls : 0;
}

void words_key(const struct text_key *key, char text[KEY_WORDS], size_t most)
{
	size_t bytes = key->size, at = 0;

	if (*key->label) {
		snprintf(text, KEY_WORDS, "'%s'", key->label);
		return;
	}
	if (!bytes) {
		snprintf(text, KEY_WORDS, "none");
		return;
	}
	if (2 * bytes + 1 > most)
		bytes = (most - 3) / 2;
	for (size_t i = 0; i < bytes; i++, at += 2)
		snprintf(text + at, KEY_WORDS - at, "%02x", key->bytes[i]);
	if (bytes < key->size)
		strcpy(text + at, "..");
}

/* --- the runner ------------------------------------------------------------ */

#define KEYS_SHOWN 8 /* of a function */

static const char *const modes[] = {[TEXT_PLAIN] = "",
				    [TEXT_EAGER] = ", PHILOX_RUNNER=eager",
				    [TEXT_VERIFY] = ", PHILOX_RUNNER=verify"};

/* --- the whole ------------------------------------------------------------ */

static struct philox_function_stats sum_counts(const struct runner_text *text)
{
	struct philox_function_stats sum = {.size = 0};

	for (size_t i = 0; i < text->n_functions; i++) {
		const struct philox_function_stats *one =
			&text->functions[i].counts;

		sum.eager += one->eager;
		sum.warmup += one->warmup;
		sum.record += one->record;
		sum.replay += one->replay;
		sum.failed += one->failed;
		sum.keys += one->keys;
		sum.bytes += text->functions[i].destroyed ? 0 : one->bytes;
	}
	return sum;
}

static void print_kinds(FILE *out, const char *before,
			const struct philox_function_stats *counts)
{
	fprintf(out,
		"%scalls %" PRIu64 ": eager %" PRIu64 ", warm-ups %" PRIu64
		", recordings %" PRIu64 ", replays %" PRIu64
		" (%.1f %%), failed %" PRIu64 "\n",
		before, words_calls(counts), counts->eager, counts->warmup,
		counts->record, counts->replay, words_hits(counts),
		counts->failed);
}

static void print_runner(FILE *out, const struct runner_text *text)
{
	const struct philox_function_stats sum = sum_counts(text);

	fprintf(out,
		"runner %s%s\n\nfunctions %zu, keys %" PRIu64
		", recordings %zu of %" PRIu64 " ever made, %" PRIu64
		" bytes (%s)\n",
		journal_name(text->name).text, modes[text->mode],
		text->n_functions, sum.keys, text->n_recordings, text->made,
		sum.bytes, totals_bytes(sum.bytes).text);
	print_kinds(out, "", &sum);
}

/* --- functions ------------------------------------------------------------ */

static void print_misses(FILE *out, const struct philox_function_stats *counts)
{
	const char *comma = "";

	fputs("  misses: ", out);
	for (const struct field *miss = count_misses; miss->kind; miss++) {
		if (!field_number(miss, counts))
			continue;
		fprintf(out, "%s%s %" PRIu64, comma, miss->word,
			field_number(miss, counts));
		comma = ", ";
	}
	fputs(*comma ? "\n" : "none\n", out);
}

static void print_verified(FILE *out,
			   const struct philox_function_stats *counts)
{
	if (counts->verified || counts->unverified)
		fprintf(out,
			"  verified %" PRIu64 ", of which %" PRIu64
			" differed; could not be verified %" PRIu64 "\n",
			counts->verified, counts->differed, counts->unverified);
}

static size_t count_key_recordings(const struct runner_text *text,
				   const struct text_function *function,
				   size_t key)
{
	size_t n = 0;

	for (size_t i = 0; i < function->recordings.n; i++)
		n += text->recordings[function->recordings.first + i].key ==
		     key + 1;
	return n;
}

static void print_wait(FILE *out, const struct text_key *key)
{
	if (key->warmups || key->dry)
		fprintf(out, ", warm-ups to come %" PRIu64,
			(uint64_t)key->warmups + key->dry);
	if (key->wait == PHILOX_NEVER)
		fputs(", is not recorded any more", out);
	else if (key->wait)
		fprintf(out, ", waits for %" PRIu32 " call%s", key->wait,
			plural(key->wait));
	if (key->wait)
		fprintf(out, ": %s", journal_name(key->refused).text);
}

static void print_keys(FILE *out, const struct runner_text *text,
		       const struct text_function *function)
{
	for (size_t i = 0; i < function->keys.n && i < KEYS_SHOWN; i++) {
		const struct text_key *key =
			&text->keys[function->keys.first + i];
		const size_t n = count_key_recordings(text, function, i);
		char words[KEY_WORDS];

		words_key(key, words, 40);
		fprintf(out,
			"  key %zu (%s): calls %" PRIu64 ", recordings %zu",
			i + 1, words, key->calls, n);
		print_wait(out, key);
		fputc('\n', out);
	}
	if (function->keys.n > KEYS_SHOWN)
		fprintf(out, "  and %zu more key%s\n",
			function->keys.n - KEYS_SHOWN,
			plural(function->keys.n - KEYS_SHOWN));
}

static void print_function(FILE *out, const struct runner_text *text,
			   const struct text_function *function)
{
	const struct philox_function_stats *counts = &function->counts;

	fprintf(out, "\nfunction %s, %s%s%s%s\n",
		journal_name(function->name).text,
		function_modes[function->mode],
		function->flags & PHILOX_FUNCTION_EAGER ? ", always eager" : "",
		function->flags & PHILOX_FUNCTION_COLLECTIVE ? ", collective"
							     : "",
		function->destroyed ? ", destroyed" : "");
	print_kinds(out, "  ", counts);
	print_misses(out, counts);
	if (*function->reason)
		fprintf(out, "  last reason: %s\n",
			journal_name(function->reason).text);
	print_verified(out, counts);
	if (function->destroyed)
		return;
	fprintf(out,
		"  keys %zu, recordings %zu, of which never replayed %" PRIu64
		", %" PRIu64 " bytes (%s)\n",
		function->keys.n, function->recordings.n, counts->unplayed,
		counts->bytes, totals_bytes(counts->bytes).text);
	print_keys(out, text, function);
}

/* --- live outputs ----------------------------------------------------------- */

static int by_output(const void *one, const void *other)
{
	const struct text_output *a = one, *b = other;

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	return (a->output > b->output) - (a->output < b->output);
}

static void print_outputs(FILE *out, const struct runner_text *text,
			  const struct text_output *outputs, size_t n)
{
	const struct text_function *function =
		&text->functions[outputs->function - 1];
	const struct text_part *part =
		&text->parts[function->outputs.first + outputs->output - 1];
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += outputs[i].bytes;
	fprintf(out, "  %zu of output ", n);
	fprintf(out, "%s of ", journal_name(part->name).text);
	fprintf(out, "%s: %" PRIu64 " bytes\n",
		journal_name(function->name).text, bytes);
}

static int print_live(FILE *out, const struct runner_text *text)
{
	struct text_output *sorted;

	fprintf(out, "\noutputs that are not released %zu\n", text->n_live);
	if (!text->n_live)
		return 0;
	sorted = malloc(text->n_live * sizeof(*sorted));
	if (!sorted)
		return -1;
	memcpy(sorted, text->live, text->n_live * sizeof(*sorted));
	qsort(sorted, text->n_live, sizeof(*sorted), by_output);
	for (size_t i = 0, n; i < text->n_live; i += n) {
		for (n = 1; i + n < text->n_live &&
			    !by_output(&sorted[i], &sorted[i + n]);
		     n++)
			;
		print_outputs(out, text, &sorted[i], n);
	}
	free(sorted);
	return 0;
}

/* --- tickets, and what they keep --------------------------------------------- */

#define TICKETS_SHOWN 8

static void print_kept_item(FILE *out, const struct philox_kept_item *item)
{
	fprintf(out, "    %s", journal_name(item->name).text);
	if (*item->function)
		fprintf(out, " of %s", journal_name(item->function).text);
	fprintf(out, ", %s: %" PRIu64 " bytes\n",
		item->elements ? fill_dtype_name(item->elements - 1) : "bytes",
		item->bytes);
}

static void print_tickets(FILE *out, const struct runner_text *text)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < text->n_tickets; i++)
		bytes += text->tickets[i].bytes;
	if (text->n_tickets)
		fprintf(out,
			"\ntickets that keep something %zu, items %zu, "
			"%" PRIu64 " bytes (%s)\n",
			text->n_tickets, text->n_items, bytes,
			totals_bytes(bytes).text);
	for (size_t i = 0; i < text->n_tickets && i < TICKETS_SHOWN; i++) {
		const struct text_ticket *ticket = &text->tickets[i];

		fprintf(out,
			"  ticket %" PRIu64 " of region %s: %" PRIu64
			" bytes\n",
			ticket->serial, journal_name(ticket->region).text,
			ticket->bytes);
		for (size_t j = 0; j < ticket->items.n; j++)
			print_kept_item(out,
					&text->items[ticket->items.first + j]);
	}
	if (text->n_tickets > TICKETS_SHOWN)
		fprintf(out, "  and %zu more ticket%s\n",
			text->n_tickets - TICKETS_SHOWN,
			plural(text->n_tickets - TICKETS_SHOWN));
}

int runner_print(const struct runner_text *text, FILE *out)
{
	print_runner(out, text);
	for (size_t i = 0; i < text->n_functions; i++)
		print_function(out, text, &text->functions[i]);
	if (print_live(out, text)) {
		complain("inspect", "out of memory");
		return 1;
	}
	print_tickets(out, text);
	fputc('\n', out);
	return pool_print(&text->pool, out);
}
