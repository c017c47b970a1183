/*
 * tools/formats/runner.c - reading the text of a runner: see Note [Runner
 * snapshot]
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/runner/function/function.h"
#include "tools/formats/formats.h"

struct runner_reader {
	struct reader *reader;
	struct runner_text *text;
};

/* The first word of a line, with the space before a number that comes next. */
static void expect_first(struct reader *reader, const char *word,
			 const struct field *fields)
{
	const int number = fields->kind == FIELD_NUMBER && !fields->word;
	char first[32];

	snprintf(first, sizeof(first), "%s%s", word, number ? " " : "");
	reader_expect(reader, first);
}

/* All of a line but its end. */
static void read_line(struct reader *reader, const char *word,
		      const struct field *fields, void *object)
{
	expect_first(reader, word, fields);
	fields_read(reader, fields, object, FIELDS_APART);
}

/* --- parts of a function --------------------------------------------------- */

static void read_count_lines(struct reader *reader,
			     struct philox_function_stats *counts)
{
	for (size_t i = 0; i < TEXT_COUNTS; i++) {
		if (i && text_counts[i].word)
			reader_end_line(reader);
		if (text_counts[i].word)
			expect_first(reader, text_counts[i].word,
				     text_counts[i].fields);
		fields_read(reader, text_counts[i].fields, counts,
			    FIELDS_APART);
	}
	reader_end_line(reader);
}

static void read_part(struct runner_reader *at, enum text_part_kind kind)
{
	struct reader *reader = at->reader;
	struct runner_text *text = at->text;
	struct text_part part = {.is = kind};

	read_line(reader, text_parts[kind].word, text_parts[kind].fields,
		  &part);
	if (part.name && !*part.name)
		reader_refuse(reader, "%s", "a name that is empty");
	reader_end_line(reader);
	if (!reader_put(reader, &text->parts, &text->n_parts, &part,
			sizeof(part)))
		fields_free(text_parts[kind].fields, &part);
}

static void read_parts(struct runner_reader *at, enum text_part_kind kind,
		       struct text_part_of *parts)
{
	parts->first = at->text->n_parts;
	for (size_t i = 0; at->reader->status == PHILOX_OK && i < parts->n; i++)
		read_part(at, kind);
}

/* --- keys ------------------------------------------------------------------ */

static void read_key_line(struct reader *reader, size_t number,
			  struct text_key *key)
{
	reader_expect(reader, "key ");
	if (reader_decimal(reader, 1, UINT64_MAX) != number)
		reader_refuse(reader, "keys count from 1: this is key %zu",
			      number);
	reader_expect_apart(reader, "size");
	key->size = (size_t)reader_decimal(reader, 0, RUNNER_TEXT_KEY_MAX);
	key->bytes = calloc(key->size + 1, 1);
	if (!key->bytes && reader->status == PHILOX_OK)
		reader->status =
			status_set(PHILOX_ERROR_MEMORY, "no memory for a key");
	if (key->size)
		reader_expect(reader, " ");
	if (reader->status == PHILOX_OK)
		reader_bytes(reader, key->bytes, key->size);
	fields_read(reader, text_key_fields, key, FIELDS_APART);
	if (reader_accept(reader, " label")) {
		fields_read(reader, text_label_fields, key, FIELDS_APART);
		if (!*key->label)
			reader_refuse(reader, "a label is not empty");
	}
	reader_end_line(reader);
}

static void read_keys(struct runner_reader *at, struct text_part_of *keys)
{
	struct reader *reader = at->reader;
	struct runner_text *text = at->text;

	keys->first = text->n_keys;
	for (size_t i = 0; reader->status == PHILOX_OK && i < keys->n; i++) {
		struct text_key key = {.bytes = NULL};

		read_key_line(reader, i + 1, &key);
		if (!reader_put(reader, &text->keys, &text->n_keys, &key,
				sizeof(key)))
			free(key.bytes);
	}
}

/* --- where inputs are from -------------------------------------------------- */

static void read_source(struct runner_reader *at,
			const struct text_recording *recording)
{
	struct reader *reader = at->reader;
	struct runner_text *text = at->text;
	struct text_source source = {.function = 0};

	reader_expect(reader, "from ");
	if (reader_accept(reader, "memory ")) {
		source.id = reader_decimal(reader, 0, UINT64_MAX);
	} else {
		reader_expect(reader, "function ");
		source.function = reader_decimal(reader, 1, UINT64_MAX);
		fields_read(reader, text_source_fields, &source, FIELDS_APART);
	}
	if (source.recording >= recording->number)
		reader_refuse(reader,
			      "recording %" PRIu64 " is not older than %" PRIu64
			      ", which reads what it gave",
			      source.recording, recording->number);
	fields_read(reader, text_copied_fields, &source, FIELDS_APART);
	reader_end_line(reader);
	reader_put(reader, &text->sources, &text->n_sources, &source,
		   sizeof(source));
}

/* --- ranges ------------------------------------------------------------------ */

static void check_range(struct runner_reader *at,
			const struct text_range *range, size_t first)
{
	const struct runner_text *text = at->text;
	const struct text_range *last =
		text->n_ranges > first ? &text->ranges[text->n_ranges - 1]
				       : NULL;

	if (range->offset % POOL_UNIT || range->bytes % POOL_UNIT ||
	    !range->bytes || range->offset > SNAPSHOT_MOST ||
	    range->bytes > SNAPSHOT_MOST - range->offset)
		reader_refuse(at->reader,
			      "offset %" PRIu64 " and bytes %" PRIu64
			      " are not whole units of %d bytes",
			      range->offset, range->bytes, POOL_UNIT);
	else if (last && (range->segment < last->segment ||
			  (range->segment == last->segment &&
			   range->offset <= last->offset + last->bytes)))
		reader_refuse(at->reader, "%s",
			      "a range that touches the one before, or is out "
			      "of order");
}

static void read_text_range(struct runner_reader *at,
			    struct text_recording *recording, uint64_t *left)
{
	struct reader *reader = at->reader;
	struct runner_text *text = at->text;
	struct text_range range;

	read_line(reader, "range", text_range_fields, &range);
	check_range(at, &range, recording->ranges.first);
	if (range.bytes > *left)
		reader_refuse(reader,
			      "its ranges have more than %" PRIu64
			      " bytes, as it says",
			      recording->writes);
	*left -= range.bytes;
	reader_end_line(reader);
	reader_put(reader, &text->ranges, &text->n_ranges, &range,
		   sizeof(range));
}

/* --- recordings -------------------------------------------------------------- */

static void read_recording_line(struct runner_reader *at,
				const struct text_function *function,
				struct text_recording *recording)
{
	struct reader *reader = at->reader;

	read_line(reader, "recording", text_recording_fields, recording);
	if (recording->number > at->text->made)
		reader_refuse(reader,
			      "recording %" PRIu64 ", but %" PRIu64
			      " were made",
			      recording->number, at->text->made);
	if (!recording->key || recording->key > function->keys.n)
		reader_refuse(reader, "the function has no key %zu",
			      recording->key);
	recording->function = at->text->n_functions;
	reader_end_line(reader);
}

static void read_recording(struct runner_reader *at,
			   const struct text_function *function,
			   struct text_recording *recording)
{
	struct reader *reader = at->reader;
	uint64_t left;

	read_recording_line(at, function, recording);
	recording->sources =
		(struct text_part_of){at->text->n_sources, function->inputs.n};
	recording->ranges.first = at->text->n_ranges;
	left = recording->writes;
	for (size_t i = 0;
	     reader->status == PHILOX_OK && i < recording->sources.n; i++)
		read_source(at, recording);
	for (size_t i = 0;
	     reader->status == PHILOX_OK && i < recording->ranges.n; i++)
		read_text_range(at, recording, &left);
	if (left)
		reader_refuse(reader,
			      "its ranges have less than %" PRIu64
			      " bytes, as it says",
			      recording->writes);
}

static void read_recordings(struct runner_reader *at,
			    struct text_function *function)
{
	struct reader *reader = at->reader;
	struct runner_text *text = at->text;
	uint64_t last = 0;

	function->recordings.first = text->n_recordings;
	for (size_t i = 0;
	     reader->status == PHILOX_OK && i < function->recordings.n; i++) {
		struct text_recording recording;

		memset(&recording, 0, sizeof(recording));
		read_recording(at, function, &recording);
		if (recording.number <= last)
			reader_refuse(reader,
				      "recording %" PRIu64
				      " comes twice or is out of order",
				      recording.number);
		last = recording.number;
		reader_put(reader, &text->recordings, &text->n_recordings,
			   &recording, sizeof(recording));
	}
}
/* --- the whole function ----------------------------------------------------- */

static void read_function_line(struct runner_reader *at,
			       struct text_function *function)
{
	struct reader *reader = at->reader;

	reader_expect(reader, "function ");
	if (reader_decimal(reader, 1, UINT64_MAX) != at->text->n_functions + 1)
		reader_refuse(reader,
			      "functions count from 1: this is function %zu",
			      at->text->n_functions + 1);
	fields_read(reader, text_function_fields, function, FIELDS_APART);
	if (function->destroyed && (function->keys.n || function->recordings.n))
		reader_refuse(reader, "%s",
			      "a destroyed function has neither keys nor "
			      "recordings");
	reader_end_line(reader);
}

static void read_function(struct runner_reader *at)
{
	struct reader *reader = at->reader;
	struct runner_text *text = at->text;
	struct text_function function;

	memset(&function, 0, sizeof(function));
	read_function_line(at, &function);
	read_line(reader, "policy", policy_fields, &function.policy);
	reader_end_line(reader);
	read_count_lines(reader, &function.counts);
	function.counts.keys = function.keys.n;
	function.counts.recordings = function.recordings.n;
	read_line(reader, "reason", text_reason_fields, &function);
	reader_end_line(reader);
	read_parts(at, TEXT_INPUT, &function.inputs);
	read_parts(at, TEXT_OUTPUT, &function.outputs);
	read_parts(at, TEXT_VALUE, &function.values);
	read_keys(at, &function.keys);
	read_recordings(at, &function);
	reader_put(reader, &text->functions, &text->n_functions, &function,
		   sizeof(function));
}

/* --- the first lines ------------------------------------------------------- */

static void read_runner_version(struct reader *reader)
{
	reader_expect(reader, "philox runner ");
	reader->version = reader_decimal(reader, 1, UINT64_MAX);
	if (reader->version > RUNNER_TEXT_VERSION) {
		reader->status =
			status_set(PHILOX_ERROR_UNSUPPORTED,
				   "line 1: the text has version %" PRIu64
				   ", the newest this philox reads is %d",
				   reader->version, RUNNER_TEXT_VERSION);
		return;
	}
	if (reader->status == PHILOX_OK &&
	    reader->version < RUNNER_TEXT_VERSION) {
		reader->status = status_set(
			PHILOX_ERROR_UNSUPPORTED,
			"line 1: the text has version %" PRIu64
			", which this philox reads no more: it reads %d",
			reader->version, RUNNER_TEXT_VERSION);
		return;
	}
	reader_end_line(reader);
}

/* How many functions and live outputs are to follow. */
struct runner_sizes {
	uint64_t functions, live;
};

static struct runner_sizes read_runner(struct runner_reader *at)
{
	struct reader *reader = at->reader;
	struct runner_text *text = at->text;
	struct runner_sizes sizes;

	read_line(reader, "runner", text_runner_fields, text);
	sizes = (struct runner_sizes){text->n_functions, text->n_live};
	text->n_functions = text->n_live = 0;
	if (!*text->name)
		reader_refuse(reader, "%s", "a runner without a name");
	reader_end_line(reader);
	return sizes;
}

/* --- live outputs ---------------------------------------------------------- */

/* Who handed out an output, or gave out a ticket. */
static void check_call(struct runner_reader *at, uint64_t function,
		       uint64_t recording, uint64_t call)
{
	const struct runner_text *text = at->text;
	struct reader *reader = at->reader;

	if (!function || function > text->n_functions)
		reader_refuse(reader, "there is no function %" PRIu64,
			      function);
	else if (recording > text->made)
		reader_refuse(reader,
			      "%" PRIu64 " recording%s were made, but this is "
			      "of recording %" PRIu64,
			      text->made, status_s(text->made), recording);
	else if (call > text->calls)
		reader_refuse(reader,
			      "%" PRIu64 " call%s began, but this is of call "
			      "%" PRIu64,
			      text->calls, status_s(text->calls), call);
}

static void check_live_output(struct runner_reader *at,
			      const struct text_output *output)
{
	const struct runner_text *text = at->text;
	struct reader *reader = at->reader;
	const struct text_function *function;

	if (reader->status == PHILOX_OK)
		check_call(at, output->function, output->recording,
			   output->call);
	if (reader->status != PHILOX_OK)
		return;
	function = &text->functions[output->function - 1];
	if (!output->output || output->output > function->outputs.n)
		reader_refuse(reader,
			      "function %" PRIu64 " has no output %" PRIu64,
			      output->function, output->output);
}

static void read_live_output(struct runner_reader *at)
{
	struct reader *reader = at->reader;
	struct runner_text *text = at->text;
	struct text_output output;

	read_line(reader, "live", text_live_fields, &output);
	output.region = NULL;
	output.serial = 0;
	if (output.tied && reader_accept(reader, " to"))
		fields_read(reader, text_tie_fields, &output, FIELDS_APART);
	check_live_output(at, &output);
	reader_end_line(reader);
	if (!reader_put(reader, &text->live, &text->n_live, &output,
			sizeof(output)))
		free(output.region);
}

/* --- what tickets keep ------------------------------------------------------ */

static void read_kept_items(struct runner_reader *at,
			    const struct text_ticket *ticket)
{
	struct reader *reader = at->reader;
	struct runner_text *text = at->text;
	uint64_t left = ticket->bytes;

	for (size_t i = 0; reader->status == PHILOX_OK && i < ticket->items.n;
	     i++) {
		struct philox_kept_item item;

		memset(&item, 0, sizeof(item));
		read_line(reader, "keep", text_kept_fields, &item);
		if (item.bytes > left)
			reader_refuse(reader,
				      "the ticket's items have more than "
				      "%" PRIu64 " bytes, as it says",
				      ticket->bytes);
		left -= item.bytes;
		reader_end_line(reader);
		reader_put(reader, &text->items, &text->n_items, &item,
			   sizeof(item));
	}
	if (left)
		reader_refuse(reader,
			      "the ticket's items have less than %" PRIu64
			      " bytes, as it says",
			      ticket->bytes);
}

static void check_ticket_order(struct runner_reader *at,
			       const struct text_ticket *ticket)
{
	const struct runner_text *text = at->text;
	const struct text_ticket *last =
		text->n_tickets ? &text->tickets[text->n_tickets - 1] : NULL;
	int order;

	if (!last || !ticket->region)
		return;
	order = strcmp(last->region, ticket->region);
	if (order > 0 || (!order && last->serial >= ticket->serial))
		reader_refuse(at->reader, "%s",
			      "a ticket that comes twice, or is out of order");
}

/* A text may not say which call gave it out. */
static void check_ticket_call(struct runner_reader *at,
			      const struct text_ticket *ticket)
{
	if (at->reader->status == PHILOX_OK &&
	    (ticket->function || ticket->recording || ticket->call))
		check_call(at, ticket->function, ticket->recording,
			   ticket->call);
}

static void read_tickets(struct runner_reader *at)
{
	struct reader *reader = at->reader;
	struct runner_text *text = at->text;

	while (reader->status == PHILOX_OK && reader_accept(reader, "ticket")) {
		struct text_ticket ticket = {.items.first = text->n_items};

		fields_read(reader, text_ticket_fields, &ticket, FIELDS_APART);
		check_ticket_order(at, &ticket);
		check_ticket_call(at, &ticket);
		reader_end_line(reader);
		read_kept_items(at, &ticket);
		if (!reader_put(reader, &text->tickets, &text->n_tickets,
				&ticket, sizeof(ticket)))
			free(ticket.region);
	}
}

/* --- programs -------------------------------------------------------------- */

/* As a rule that of the next program. */
static const struct text_recording *find_recording(
	const struct runner_text *text, uint64_t number)
{
	const size_t next = text->program.n_programs;

	if (next < text->n_recordings &&
	    text->recordings[next].number == number)
		return &text->recordings[next];
	for (size_t i = 0; i < text->n_recordings; i++)
		if (text->recordings[i].number == number)
			return &text->recordings[i];
	return NULL;
}

static uint32_t read_kind(struct reader *reader)
{
	for (uint32_t i = 0; i < TEXT_STEPS; i++)
		if (reader_accept_word(reader, text_steps[i].word))
			return i;
	reader_expected(reader, "a step of a program");
	return 0;
}

static void check_step(struct reader *reader, const struct text_step *step)
{
	if (step->kind == PROGRAM_OUTPUT && !step->from == !step->input)
		reader_refuse(reader, "%s",
			      "an output is in an allocation or in an input");
	if (step->kind == PROGRAM_DRAW && (step->rows == 1 ||
					   (!step->rows && step->stride)))
		reader_refuse(reader, "%s",
			      "a span without rows has neither one row nor a "
			      "stride");
}

static void read_step(struct runner_reader *at)
{
	struct reader *reader = at->reader;
	struct program_text *text = &at->text->program;
	struct text_step step = {.kind = 0};

	reader_expect(reader, "step ");
	step.kind = read_kind(reader);
	if (reader->status != PHILOX_OK)
		return;
	fields_read(reader, text_steps[step.kind].fields, &step, 0);
	check_step(reader, &step);
	reader_end_line(reader);
	if (!reader_put(reader, &text->steps, &text->n_steps, &step,
			sizeof(step)))
		fields_free(text_steps[step.kind].fields, &step);
}

static void read_node(struct runner_reader *at)
{
	struct reader *reader = at->reader;
	struct program_text *text = &at->text->program;
	struct text_node node = {.name = NULL};

	reader_expect(reader, "nodes ");
	fields_read(reader, text_node_fields, &node, 0);
	reader_end_line(reader);
	if (!reader_put(reader, &text->nodes, &text->n_nodes, &node,
			sizeof(node)))
		fields_free(text_node_fields, &node);
}

static void read_take(struct runner_reader *at)
{
	struct reader *reader = at->reader;
	struct program_text *text = &at->text->program;
	uint64_t bytes;

	reader_expect(reader, "takes ");
	bytes = reader_decimal(reader, 0, UINT64_MAX);
	reader_end_line(reader);
	reader_put(reader, &text->takes, &text->n_takes, &bytes, sizeof(bytes));
}

static void read_program_line(struct runner_reader *at,
			      struct text_program *program)
{
	struct reader *reader = at->reader;
	const struct runner_text *text = at->text;
	const struct text_recording *recording;

	reader_expect(reader, "program ");
	fields_read(reader, text_program_fields, program, 0);
	recording = find_recording(text, program->recording);
	if (reader->status == PHILOX_OK && !recording)
		reader_refuse(reader, "there is no recording %" PRIu64,
			      program->recording);
	else if (reader->status == PHILOX_OK &&
		 program->takes.n != recording->sources.n)
		reader_refuse(reader,
			      "recording %" PRIu64 " has %zu input%s, not %zu",
			      program->recording, recording->sources.n,
			      status_s(recording->sources.n), program->takes.n);
	reader_end_line(reader);
}

static int begins_with(const struct reader *reader, const char *word)
{
	const size_t length = strlen(word);

	return reader->status == PHILOX_OK &&
	       (size_t)(reader->end - reader->at) >= length &&
	       !memcmp(reader->at, word, length);
}

static void read_program(struct runner_reader *at)
{
	struct reader *reader = at->reader;
	struct program_text *text = &at->text->program;
	struct text_program program = {.recording = 0};

	read_program_line(at, &program);
	program.takes.first = text->n_takes;
	program.steps.first = text->n_steps;
	program.nodes.first = text->n_nodes;
	for (size_t i = 0;
	     reader->status == PHILOX_OK && i < program.takes.n; i++)
		read_take(at);
	for (size_t i = 0;
	     reader->status == PHILOX_OK && i < program.steps.n; i++)
		read_step(at);
	for (size_t i = 0;
	     reader->status == PHILOX_OK && i < program.nodes.n; i++)
		read_node(at);
	reader_put(reader, &text->programs, &text->n_programs, &program,
		   sizeof(program));
}

/* One for each recording, in their order, or none at all. */
static void read_programs(struct runner_reader *at)
{
	const struct runner_text *text = at->text;

	if (!begins_with(at->reader, "program "))
		return;
	for (size_t i = 0; at->reader->status == PHILOX_OK &&
			   i < text->n_recordings;
	     i++) {
		read_program(at);
		if (at->reader->status == PHILOX_OK &&
		    text->program.programs[i].recording !=
			    text->recordings[i].number)
			reader_refuse(at->reader,
				      "the program of recording %" PRIu64
				      " is expected",
				      text->recordings[i].number);
	}
}

/* --- times ----------------------------------------------------------------- */

static void read_function_times(struct runner_reader *at, size_t index)
{
	struct reader *reader = at->reader;

	reader_expect(reader, "times of function ");
	if (reader_decimal(reader, 1, UINT64_MAX) != index + 1)
		reader_refuse(reader, "these are the times of function %zu",
			      index + 1);
	fields_read(reader, text_spent_fields,
		    &at->text->functions[index].counts, 0);
	reader_end_line(reader);
}

static void read_recording_times(struct runner_reader *at, size_t index)
{
	struct reader *reader = at->reader;
	struct runner_text *text = at->text;
	struct text_times times = {.recording = 0};

	reader_expect(reader, "times of recording ");
	fields_read(reader, text_times_fields, &times, 0);
	if (times.recording != text->recordings[index].number)
		reader_refuse(reader,
			      "these are the times of recording %" PRIu64,
			      text->recordings[index].number);
	reader_end_line(reader);
	reader_put(reader, &text->times, &text->n_times, &times, sizeof(times));
}

/* All of them, or none. */
static void read_all_times(struct runner_reader *at)
{
	struct reader *reader = at->reader;
	struct runner_text *text = at->text;

	if (!begins_with(reader, "times "))
		return;
	text->timed = 1;
	reader_expect(reader, "times of plans");
	fields_read(reader, text_loads_fields, text, 0);
	reader_end_line(reader);
	for (size_t i = 0;
	     reader->status == PHILOX_OK && i < text->n_functions; i++)
		read_function_times(at, i);
	for (size_t i = 0;
	     reader->status == PHILOX_OK && i < text->n_recordings; i++)
		read_recording_times(at, i);
}

/* --- what the whole shows --------------------------------------------------- */

static void refuse_text(struct reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void refuse_text(struct reader *reader, const char *format, ...)
{
	char why[200];
	va_list arguments;

	if (reader->status != PHILOX_OK)
		return;
	va_start(arguments, format);
	vsnprintf(why, sizeof(why), format, arguments);
	va_end(arguments);
	reader->status = status_set(PHILOX_ERROR_INVALID, "%s", why);
}

/* Functions may be named before their lines. */
static void check_sources(struct runner_reader *at)
{
	const struct runner_text *text = at->text;

	for (size_t i = 0; i < text->n_sources; i++) {
		const struct text_source *source = &text->sources[i];

		if (source->function > text->n_functions)
			refuse_text(at->reader,
				    "an input is of function %" PRIu64
				    ", but there are %zu",
				    source->function, text->n_functions);
		else if (source->function &&
			 (!source->output ||
			  source->output > text->functions[source->function - 1]
						   .outputs.n))
			refuse_text(at->reader,
				    "an input is output %" PRIu64
				    " of function %" PRIu64
				    ", which does not have it",
				    source->output, source->function);
		if (at->reader->status != PHILOX_OK)
			return;
	}
}

/* A recording that is there, and whose it is. */
struct recording_place {
	uint64_t number;
	uint64_t function; /* from 1 */
};

static int by_recording_number(const void *one, const void *other)
{
	const struct recording_place *a = one, *b = other;

	return (a->number > b->number) - (a->number < b->number);
}

/* What a recording gave is of its function; it may be gone by now. */
static void check_giver(struct runner_reader *at,
			const struct recording_place *places, const char *what,
			uint64_t recording, uint64_t function)
{
	const struct recording_place wanted = {.number = recording};
	const struct recording_place *found;

	if (!recording || at->reader->status != PHILOX_OK)
		return;
	found = bsearch(&wanted, places, at->text->n_recordings, sizeof(wanted),
			by_recording_number);
	if (found && found->function != function)
		refuse_text(at->reader,
			    "%s is of function %" PRIu64
			    " and recording %" PRIu64
			    ", but that is of function %" PRIu64,
			    what, function, recording, found->function);
}

static void check_givers(struct runner_reader *at,
			 const struct recording_place *places)
{
	const struct runner_text *text = at->text;

	for (size_t i = 0; i < text->n_sources; i++)
		check_giver(at, places, "an input", text->sources[i].recording,
			    text->sources[i].function);
	for (size_t i = 0; i < text->n_live; i++)
		check_giver(at, places, "an output", text->live[i].recording,
			    text->live[i].function);
	for (size_t i = 0; i < text->n_tickets; i++)
		check_giver(at, places, "a ticket", text->tickets[i].recording,
			    text->tickets[i].function);
}

static void check_recordings(struct runner_reader *at)
{
	const struct runner_text *text = at->text;
	struct recording_place *places;

	if (at->reader->status != PHILOX_OK)
		return;
	places = calloc(text->n_recordings + 1, sizeof(*places));
	if (!places) {
		at->reader->status =
			status_set(PHILOX_ERROR_MEMORY,
				   "no memory for the text of a runner");
		return;
	}
	for (size_t i = 0; i < text->n_recordings; i++)
		places[i] = (struct recording_place){
			text->recordings[i].number,
			text->recordings[i].function + 1};
	qsort(places, text->n_recordings, sizeof(*places), by_recording_number);
	for (size_t i = 1; i < text->n_recordings; i++)
		if (places[i].number == places[i - 1].number)
			refuse_text(at->reader,
				    "recording %" PRIu64 " comes twice",
				    places[i].number);
	check_givers(at, places);
	free(places);
}

static void check_blocks(struct runner_reader *at)
{
	const struct runner_text *text = at->text;

	for (size_t i = 0; i < text->n_live && at->reader->status == PHILOX_OK;
	     i++)
		if (text->live[i].block > text->pool.figures.blocks)
			refuse_text(at->reader,
				    "an output is in block %" PRIu64
				    ", but the pool has %" PRIu64,
				    text->live[i].block,
				    text->pool.figures.blocks);
}

/* --- the whole ------------------------------------------------------------ */

static void read_runner_text(struct runner_reader *at)
{
	struct reader *reader = at->reader;
	struct runner_sizes sizes;
	const char *line;

	read_runner_version(reader);
	sizes = read_runner(at);
	for (uint64_t i = 0; reader->status == PHILOX_OK && i < sizes.functions;
	     i++)
		read_function(at);
	for (uint64_t i = 0; reader->status == PHILOX_OK && i < sizes.live; i++)
		read_live_output(at);
	read_tickets(at);
	read_programs(at);
	read_all_times(at);
	reader_expect(reader, "begin pool");
	reader_end_line(reader);
	snapshot_read_lines(reader, &at->text->pool, "end pool");
	reader_end_line(reader);
	line = reader->at;
	reader_expect(reader, "checksum ");
	if (reader->status == PHILOX_OK)
		reader_checksum(reader, line);
	check_sources(at);
	check_recordings(at);
	check_blocks(at);
}

enum philox_status runner_text_read(const char *text, size_t size,
				    struct runner_text *read)
{
	struct reader reader = reader_start(text, size);
	struct runner_reader at = {.reader = &reader, .text = read};

	memset(read, 0, sizeof(*read));
	read_runner_text(&at);
	if (reader.status != PHILOX_OK)
		runner_text_finish(read);
	return reader.status;
}
