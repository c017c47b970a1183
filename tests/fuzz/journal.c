/*
 * tests/fuzz/journal.c - any bytes as a journal
 *
 * `make fuzz` builds it with clang's libFuzzer and sanitizers and runs it for a
 * while, starting from tests/fuzz/journals.
 *
 * An input is read as it is, and again as events of one context that have no
 * numbers yet. What is read are the lines of the text, and the journal up to any
 * line can be read, too. A journal can be summed up, drawn, made a trace and
 * compared: with itself there is no difference.
 * tests/tools/journal.c runs the corpus.
 */
#include "tests/fuzz/journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/trace/events.h"
#include "tools/diff/diff.h"
#include "tools/formats/formats.h"
#include "tools/inspect/inspect.h"

/* Anything that fails here is a finding. */
static void must(int holds)
{
	if (!holds)
		abort();
}

/* --- reading --------------------------------------------------------------- */

static enum philox_status read_journal(const char *text, size_t size,
				       struct written *written)
{
	*written = (struct written){.kind = WRITTEN_JOURNAL};
	return journal_read(text, size, written);
}

static size_t count_lines(const char *text, size_t size)
{
	size_t lines = 0;

	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	return lines;
}

/* A line is an event or a header; each event is in a line of its own. */
static void check_events(const struct written *written, const char *text,
			 size_t size)
{
	const size_t lines = count_lines(text, size);

	must(written->n_events < lines);
	for (size_t i = 0; i < written->n_events; i++) {
		const struct written_event *event = &written->events[i];

		must(event->line > 1 && event->line <= lines);
		must(event->text > text && event->length);
		must(event->text + event->length < text + size);
		must(event->text[event->length] == '\n');
		must(!memchr(event->text, '\n', event->length));
	}
}

/* --- what is said of it ----------------------------------------------------- */

static void show(const struct written *journal)
{
	static FILE *nowhere;
	struct inspect_regions regions;

	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	must(nowhere && !inspect_regions(journal, &regions));
	inspect_regions_finish(&regions);
	must(!trace_journal(journal, "/none", "/dev/null"));
	if (follow_last(journal))
		must(!svg_journal(journal, "/none", 1, 0, nowhere));
}

/* With the journal up to half of its lines. */
static void compare(const struct written *journal, const char *text,
		    size_t size)
{
	size_t part = size / 2;
	struct written half;
	int events, passes;

	while (part && text[part - 1] != '\n')
		part--;
	must(diff_events(journal, journal) == 0);
	must(diff_passes(journal, journal, NULL) == 0);
	if (!part)
		return;
	must(!read_journal(text, part, &half));
	events = diff_events(journal, &half);
	passes = diff_passes(journal, &half, NULL);
	must(events == (journal->n_events > half.n_events));
	must((passes == 0 || passes == 1) && passes <= events);
	must(diff_passes(&half, journal, NULL) == passes);
	free(half.events);
}

static int read_once(const char *text, size_t size)
{
	struct written journal;
	enum philox_status status = read_journal(text, size, &journal);

	if (status == PHILOX_OK) {
		check_events(&journal, text, size);
		show(&journal);
		compare(&journal, text, size);
	} else {
		must(status == PHILOX_ERROR_INVALID ||
		     status == PHILOX_ERROR_UNSUPPORTED);
	}
	free(journal.events);
	return status == PHILOX_OK;
}

/* --- events without numbers -------------------------------------------------- */

static char *number_events(const char *data, size_t size, size_t *length)
{
	const char *end = data + size;
	unsigned number = 1;
	char *text;
	FILE *out = open_memstream(&text, length);

	must(out != NULL);
	fprintf(out, JOURNAL_FIRST "0 1 context digest %016x\n", 0);
	while (data < end) {
		const char *stop = memchr(data, '\n', (size_t)(end - data));

		stop = stop ? stop + 1 : end;
		fprintf(out, "0 %u ", ++number);
		fwrite(data, 1, (size_t)(stop - data), out);
		data = stop;
	}
	must(!fclose(out));
	return text;
}

int fuzz_journal(const uint8_t *data, size_t size)
{
	size_t length;
	char *text = malloc(size + 1), *numbered;
	int read;

	must(text != NULL);
	memcpy(text, data, size);
	read = read_once(text, size);
	numbered = number_events(text, size, &length);
	read |= read_once(numbered, length);
	free(numbered);
	free(text);
	return read;
}

#ifdef PHILOX_FUZZ
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *silent;

	if (!silent)
		silent = freopen("/dev/null", "w", stdout);
	must(silent != NULL);
	fuzz_journal(data, size);
	return 0;
}
#endif
