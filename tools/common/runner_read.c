/*
 * tools/common/runner_read.c - reading the text of a runner: see Note [Runner
 * snapshot]
 */
#include "tools/common/runner_read.h"

#include <stdarg.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "tools/common/runner_lines.h"
#include "tools/common/snapshot.h"

static const char *const modes[] = {"plain", "eager", "verify", NULL};
static const char *const ties[] = {"untied", "tied", NULL};

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

	lines_quoted(reader, "runner", text->name, sizeof(text->name));
	if (!*text->name)
		reader_refuse(reader, "%s", "a runner without a name");
	reader_expect(reader, " mode ");
	text->mode = (enum text_mode)lines_choice(reader, modes);
	text->calls = lines_count(reader, "calls");
	text->made = lines_count(reader, "made");
	sizes.functions = lines_count(reader, "functions");
	sizes.live = lines_count(reader, "live");
	reader_end_line(reader);
	return sizes;
}

/* --- live outputs ---------------------------------------------------------- */

static void check_live_output(struct runner_reader *at,
			      const struct text_output *output)
{
	const struct runner_text *text = at->text;
	struct reader *reader = at->reader;
	const struct text_function *function;

	if (reader->status != PHILOX_OK)
		return;
	if (!output->function || output->function > text->n_functions) {
		reader_refuse(reader, "there is no function %" PRIu64,
			      output->function);
		return;
	}
	function = &text->functions[output->function - 1];
	if (!output->output || output->output > function->outputs.n)
		reader_refuse(reader,
			      "function %" PRIu64 " has no output %" PRIu64,
			      output->function, output->output);
	else if (output->recording > text->made)
		reader_refuse(reader,
			      "%" PRIu64 " recording%s were made, but this is "
			      "of recording %" PRIu64,
			      text->made, status_s(text->made),
			      output->recording);
	else if (output->call > text->calls)
		reader_refuse(reader,
			      "%" PRIu64 " call%s began, but this is of call "
			      "%" PRIu64,
			      text->calls, status_s(text->calls), output->call);
}

static void read_live_output(struct runner_reader *at)
{
	struct reader *reader = at->reader;
	struct runner_text *text = at->text;
	struct text_output output;

	reader_expect(reader, "live");
	output.function = lines_count(reader, "function");
	output.output = lines_count(reader, "output");
	output.recording = lines_count(reader, "recording");
	output.block = lines_count(reader, "block");
	output.bytes = lines_count(reader, "size");
	output.call = lines_count(reader, "call");
	reader_expect(reader, " ");
	output.tied = (int)lines_choice(reader, ties);
	check_live_output(at, &output);
	reader_end_line(reader);
	text->live =
		reader_grow(reader, text->live, text->n_live, sizeof(output));
	if (reader->status == PHILOX_OK)
		text->live[text->n_live++] = output;
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
			    "an %s is of function %" PRIu64
			    " and recording %" PRIu64
			    ", but that is of function %" PRIu64,
			    what, function, recording, found->function);
}

static void check_givers(struct runner_reader *at,
			 const struct recording_place *places)
{
	const struct runner_text *text = at->text;

	for (size_t i = 0; i < text->n_sources; i++)
		check_giver(at, places, "input", text->sources[i].recording,
			    text->sources[i].function);
	for (size_t i = 0; i < text->n_live; i++)
		check_giver(at, places, "output", text->live[i].recording,
			    text->live[i].function);
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
		lines_function(at);
	for (uint64_t i = 0; reader->status == PHILOX_OK && i < sizes.live; i++)
		read_live_output(at);
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
	struct reader reader = {.text = text,
				.at = text,
				.end = text + size,
				.start = text,
				.line = 1};
	struct runner_reader at = {.reader = &reader, .text = read};

	memset(read, 0, sizeof(*read));
	read_runner_text(&at);
	if (reader.status != PHILOX_OK)
		runner_text_finish(read);
	return reader.status;
}
