/*
 * graph/runner/explain/runner.c - the programs of a runner, printed: see Note
 * [Program]
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "graph/runner/explain/explain.h"
#include "graph/runner/function/function.h"
#include "lib/names/groups.h"

/* What is printed, and of which text. */
struct explaining {
	FILE *out;
	const struct runner_text *text;
	const struct explain_choice *choice;
	const char **names;       /* of all functions */
	struct groups of_key;     /* recordings, by the index of their key */
	struct groups numbers;    /* recordings, by number */
	struct groups tickets;    /* by recording */
	struct groups unrecorded; /* tickets without, by function */
	struct groups live;       /* outputs, by recording */
	long printed;
	int failed;
};

static const char *mode_of(const struct text_function *function)
{
	return function_modes[function->mode];
}

static const struct text_key *key_of(const struct explaining *e,
				     const struct text_function *function,
				     size_t number)
{
	return &e->text->keys[function->keys.first + number - 1];
}

static void print_key_name(const struct explaining *e,
			   const struct text_function *function, size_t number)
{
	const struct text_key *key = key_of(e, function, number);

	fputs("function ", e->out);
	explain_name(e->out, function->name);
	fprintf(e->out, " (%s), key", mode_of(function));
	if (!e->choice->bare)
		fprintf(e->out, " %zu", number);
	fputc(' ', e->out);
	explain_key(e->out, key->bytes, key->size, key->label);
	fputc('\n', e->out);
}

/* --- tickets, and what they keep ------------------------------------------ */

static void print_kept(const struct explaining *e,
		       const struct philox_kept_item *item)
{
	fputs("    ", e->out);
	explain_name(e->out, item->name);
	if (*item->function) {
		fputs(" of function ", e->out);
		explain_name(e->out, item->function);
	}
	fputs("  ", e->out);
	explain_size(e->out, item->bytes, item->elements);
	fputc('\n', e->out);
}

static void print_ticket_name(const struct explaining *e, uint64_t serial,
			      const char *region)
{
	if (e->choice->bare)
		fputs("ticket of region ", e->out);
	else
		fprintf(e->out, "ticket %" PRIu64 " of region ", serial);
	explain_name(e->out, region);
}

static void print_ticket(const struct explaining *e,
			 const struct text_ticket *ticket)
{
	fputs("  ", e->out);
	print_ticket_name(e, ticket->serial, ticket->region);
	if (ticket->call && !e->choice->bare)
		fprintf(e->out, ", given out by call %" PRIu64 ",",
			ticket->call);
	fprintf(e->out, " keeps %zu item%s, ", ticket->items.n,
		status_s(ticket->items.n));
	explain_size(e->out, ticket->bytes, 0);
	fputc('\n', e->out);
	for (size_t i = 0; i < ticket->items.n; i++)
		print_kept(e, &e->text->items[ticket->items.first + i]);
}

static void print_tickets_of(const struct explaining *e,
			     const struct text_recording *recording)
{
	size_t n;
	const struct group_member *of =
		groups_find(&e->tickets, recording->number, &n);

	for (size_t i = 0; i < n; i++)
		print_ticket(e, &e->text->tickets[of[i].index]);
}

/* Function 0: of no call that is known. */
static void print_giver(const struct explaining *e, size_t function)
{
	fputs("tickets of ", e->out);
	if (function) {
		fputs("function ", e->out);
		explain_name(e->out, e->names[function - 1]);
		fputs(", without a recording\n", e->out);
	} else {
		fputs("no call that is known\n", e->out);
	}
}

static void print_unrecorded_tickets(const struct explaining *e,
				     size_t function)
{
	size_t n;
	const struct group_member *of =
		groups_find(&e->unrecorded, function, &n);

	if (n)
		print_giver(e, function);
	for (size_t i = 0; i < n; i++)
		print_ticket(e, &e->text->tickets[of[i].index]);
	if (n)
		fputc('\n', e->out);
}

/* --- one recording -------------------------------------------------------- */

static void print_tie(const struct explaining *e,
		      const struct text_output *live)
{
	if (live->region) {
		fputs(", tied to ", e->out);
		print_ticket_name(e, live->serial, live->region);
	} else if (live->tied) {
		fputs(", tied to a ticket", e->out);
	}
	fputc('\n', e->out);
}

/* Outputs of this recording that are not released. */
static void print_alive(const struct explaining *e,
			const struct text_function *function,
			const struct text_recording *recording)
{
	const struct runner_text *text = e->text;
	size_t n;
	const struct group_member *of =
		groups_find(&e->live, recording->number, &n);

	for (size_t i = 0; i < n; i++) {
		const struct text_output *live = &text->live[of[i].index];

		fputs("  alive: ", e->out);
		explain_name(e->out, text->parts[function->outputs.first +
						 live->output - 1]
					     .name);
		fprintf(e->out, " of call %" PRIu64, live->call);
		print_tie(e, live);
	}
}

static void print_times(const struct explaining *e, size_t index)
{
	const struct text_times *times = &e->text->times[index];

	fprintf(e->out,
		"  times (ns): body %" PRIu64 ", capture end %" PRIu64
		", instantiate %" PRIu64 ", checkpoint %" PRIu64
		", first launch %" PRIu64 ", replays %" PRIu64 "\n",
		times->body, times->end, times->instantiate, times->checkpoint,
		times->first, times->replay);
	if (times->device_first || times->device_replays)
		fprintf(e->out,
			"  times of the device (ns): first launch %" PRIu64
			", %" PRIu64 " replays %" PRIu64 "\n",
			times->device_first, times->device_replays,
			times->device_replay);
}

/* A text may have the steps of all recordings, or none. */
static void print_steps(struct explaining *e,
			const struct text_function *function,
			const struct text_recording *recording,
			const struct text_program *program)
{
	const struct program_text *of = &e->text->program;
	const struct explained explained = {
		.parts = e->text->parts + function->inputs.first,
		.n_inputs = function->inputs.n,
		.n_outputs = function->outputs.n,
		.n_params = function->values.n,
		.sources = e->text->sources + recording->sources.first,
		.functions = e->names,
		.takes = of->takes + program->takes.first,
		.steps = of->steps + program->steps.first,
		.n_steps = program->steps.n,
		.nodes = of->nodes + program->nodes.first,
		.n_nodes = program->nodes.n,
		.lost = program->lost,
		.placed = 1};

	e->failed |= !explain_program(e->out, &explained);
}

static void print_recording(struct explaining *e,
			    const struct text_function *function, size_t index)
{
	const struct text_recording *recording = &e->text->recordings[index];
	const int bare = e->choice->bare;

	if (bare)
		fputs("recording of ", e->out);
	else
		fprintf(e->out, "recording %" PRIu64 " of ", recording->number);
	print_key_name(e, function, recording->key);
	if (index < e->text->program.n_programs)
		print_steps(e, function, recording,
			    &e->text->program.programs[index]);
	else
		fputs("  its steps are not in this text\n", e->out);
	if (!bare)
		fprintf(e->out, "  replays: %" PRIu64 "\n", recording->replays);
	if (!bare)
		print_alive(e, function, recording);
	print_tickets_of(e, recording);
	if (e->choice->times && index < e->text->n_times)
		print_times(e, index);
	fputc('\n', e->out);
	e->printed++;
}

/* --- one key -------------------------------------------------------------- */

static int is_key_chosen(const struct explain_choice *choice,
			 const struct text_key *key, size_t number)
{
	if (choice->key_number && choice->key_number != number)
		return 0;
	return !choice->key ||
	       (choice->key_bytes == key->size &&
		(!key->size || !memcmp(choice->key, key->bytes, key->size)));
}

static void print_unrecorded(struct explaining *e,
			     const struct text_function *function,
			     size_t number)
{
	const struct text_key *key = key_of(e, function, number);

	print_key_name(e, function, number);
	fputs(*key->refused ? "  nothing is recorded: "
			    : "  nothing is recorded",
	      e->out);
	explain_words(e->out, key->refused);
	fputs("\n\n", e->out);
	e->printed++;
}

static void print_key(struct explaining *e,
		      const struct text_function *function, size_t number)
{
	const struct explain_choice *choice = e->choice;
	size_t found;
	const struct group_member *of = groups_find(
		&e->of_key, function->keys.first + number - 1, &found);

	for (size_t i = 0; i < found; i++)
		if (!choice->recording ||
		    choice->recording ==
			    e->text->recordings[of[i].index].number)
			print_recording(e, function, of[i].index);
	if (!found && !choice->recording)
		print_unrecorded(e, function, number);
}

/* --- a function ----------------------------------------------------------- */

static void print_spent(const struct explaining *e,
			const struct text_function *function)
{
	const struct philox_function_stats *counts = &function->counts;

	fputs("times of function ", e->out);
	explain_name(e->out, function->name);
	fprintf(e->out,
		" (ns): create %" PRIu64 ", dry %" PRIu64
		", eager %" PRIu64 ", warm-up %" PRIu64 ", record %" PRIu64
		", instantiate %" PRIu64 ", checkpoint %" PRIu64
		", restore %" PRIu64 ", first launch %" PRIu64
		", replay %" PRIu64 ", verify %" PRIu64 "\n",
		counts->create_ns, counts->dry_ns,
		counts->eager_ns, counts->warmup_ns, counts->record_ns,
		counts->instantiate_ns, counts->checkpoint_ns,
		counts->restore_ns, counts->first_ns, counts->replay_ns,
		counts->verify_ns);
}

/* Whether all of a function, or of a runner, is printed. */
static int is_whole(const struct explain_choice *choice)
{
	return !choice->key && !choice->key_number && !choice->recording;
}

static void print_function(struct explaining *e, size_t index)
{
	const struct text_function *function = &e->text->functions[index];
	const struct explain_choice *choice = e->choice;
	const long before = e->printed;

	if (choice->function && strcmp(choice->function, function->name) != 0)
		return;
	for (size_t i = 1; i <= function->keys.n; i++)
		if (is_key_chosen(choice, key_of(e, function, i), i))
			print_key(e, function, i);
	if (is_whole(choice))
		print_unrecorded_tickets(e, index + 1);
	if (choice->times && e->text->timed && e->printed > before)
		print_spent(e, function);
}

/* --- what belongs to what ------------------------------------------------- */

static int group_recordings(struct explaining *e)
{
	const struct runner_text *text = e->text;
	int whole = 1;

	for (size_t i = 0; whole && i < text->n_recordings; i++) {
		const struct text_recording *recording = &text->recordings[i];
		const struct text_function *function =
			&text->functions[recording->function];

		whole = groups_add(&e->numbers, recording->number, i) &&
			groups_add(&e->of_key,
				   function->keys.first + recording->key - 1,
				   i);
	}
	groups_order(&e->numbers);
	groups_order(&e->of_key);
	return whole;
}

/* What is of a recording, and what is of none that is there. */
static int group_tickets(struct explaining *e)
{
	const struct runner_text *text = e->text;
	int whole = 1;

	for (size_t i = 0; whole && i < text->n_live; i++)
		whole = groups_add(&e->live, text->live[i].recording, i);
	for (size_t i = 0; whole && i < text->n_tickets; i++) {
		const struct text_ticket *ticket = &text->tickets[i];

		whole = groups_has(&e->numbers, ticket->recording)
				? groups_add(&e->tickets, ticket->recording, i)
				: groups_add(&e->unrecorded, ticket->function,
					     i);
	}
	groups_order(&e->live);
	groups_order(&e->tickets);
	groups_order(&e->unrecorded);
	return whole;
}

static int group_all(struct explaining *e)
{
	const struct runner_text *text = e->text;

	e->names = calloc(text->n_functions + 1, sizeof(*e->names));
	if (!e->names)
		return 0;
	for (size_t i = 0; i < text->n_functions; i++)
		e->names[i] = text->functions[i].name;
	return group_recordings(e) && group_tickets(e);
}

static void free_groups(const struct explaining *e)
{
	free(e->names);
	free(e->of_key.members);
	free(e->numbers.members);
	free(e->tickets.members);
	free(e->unrecorded.members);
	free(e->live.members);
}

/* --- all of it ------------------------------------------------------------ */

static void print_runner(struct explaining *e)
{
	const struct runner_text *text = e->text;

	for (size_t i = 0; i < text->n_functions; i++)
		print_function(e, i);
	if (is_whole(e->choice) && !e->choice->function)
		print_unrecorded_tickets(e, 0);
	if (e->choice->times && text->timed && e->printed)
		fprintf(e->out,
			"times of the runner (ns): plan loads %" PRIu64 "\n",
			text->load_ns);
}

long explain_runner(FILE *out, const struct runner_text *text,
		    const struct explain_choice *choice)
{
	struct explaining e = {.out = out, .text = text, .choice = choice};

	e.failed = !group_all(&e);
	if (!e.failed)
		print_runner(&e);
	free_groups(&e);
	return e.failed ? -1 : e.printed;
}
