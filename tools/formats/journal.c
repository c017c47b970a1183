/*
 * tools/formats/journal.c - journals, read: Note [Journal] in lib/state/state.h
 */
#include <stdlib.h>
#include <string.h>
#include <philox/graph.h>
#include "lib/trace/events.h"
#include "tools/formats/formats.h"

/* --- the events ------------------------------------------------------------ */

/* Kinds of lib/trace/events.h. */
enum kind {
	KIND_END,
	KIND_U32,
	KIND_U64,
	KIND_SIZE,
	KIND_HEX,
	KIND_NAME,
	KIND_BYTES,
	KIND_PASS_FLAGS,
	KIND_FORWARD,
	KIND_STATUS,
	KIND_MAYBE_U32,
	KIND_MAYBE_NAME,
	KIND_ITERATIONS,
	KIND_FOUND,
	KIND_REGION_FLAGS, /* from here on one of a few words */
	KIND_NODE,
	KIND_PASS,
	KIND_REPEAT,
	KIND_SEGMENTS,
	KIND_SESSION
};

static const char *const choices[][4] = {
	[KIND_FOUND] = {"launches", "beyond", "cut"},
	[KIND_REGION_FLAGS] = {"none", "shared"},
	[KIND_NODE] = {"if", "while", "switch"},
	[KIND_PASS] = {"forward", "backward"},
	[KIND_REPEAT] = {"repeat"},
	[KIND_SEGMENTS] = {"plain", "expandable"},
	[KIND_SESSION] = {"capture", "warm-up"}};

struct row {
	const char *event;
	struct {
		const char *word;
		enum kind kind;
	} fields[12]; /* KIND_END comes after the last */
};

#define FIELD_OF_ROW(word, kind) {word, KIND_##kind},
#define ROW(event, fields) \
	{event, {EVENT_FIELDS_##fields(FIELD_OF_ROW){NULL, KIND_END}}},

static const struct row rows[] = {EVENTS_OF_JOURNALS(ROW)};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

/* --- values ---------------------------------------------------------------- */

static void read_name(struct reader *reader)
{
	free(reader_name(reader));
}

static void read_flags(struct reader *reader)
{
#define FLAG(word, flag) word,
	static const char *const words[] = {EVENT_PASS_FLAGS(FLAG)};
#undef FLAG
	int any = reader_accept(reader, "none");

	if (any)
		return;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct reader ahead = *reader;

		if ((any && !reader_accept(&ahead, ",")) ||
		    !reader_accept(&ahead, words[i]))
			continue;
		*reader = ahead;
		any = 1;
	}
	if (!any)
		reader_expected(reader, "'none' or a flag of passes");
}

/* Some names begin with others. */
static void read_status(struct reader *reader)
{
#define NAME(name, value, sentence) "PHILOX_" #name,
	static const char *const names[] = {PHILOX_STATUS_LIST(NAME)};
#undef NAME
	const char *end = reader->at;

	for (size_t i = 1; i < sizeof(names) / sizeof(names[0]); i++) {
		struct reader ahead = *reader;

		if (reader_accept(&ahead, names[i]) && ahead.at > end)
			end = ahead.at;
	}
	if (end == reader->at)
		reader_expected(reader, "the name of an error");
	reader->at = end;
}

static void read_bytes(struct reader *reader)
{
	unsigned char bytes[PHILOX_PARAM_BYTES];
	size_t n = (reader_digits(reader) + 1) / 2;

	if (!n)
		n = 1;
	reader_bytes(reader, bytes, n < sizeof(bytes) ? n : sizeof(bytes));
}

static void read_value(struct reader *reader, enum kind kind)
{
	switch (kind) {
	case KIND_FORWARD:
		if (!reader_accept(reader, "launch"))
			reader_decimal(reader, 0, UINT32_MAX);
		break;
	case KIND_U32:
	case KIND_MAYBE_U32:
		reader_decimal(reader, 0, UINT32_MAX);
		break;
	case KIND_ITERATIONS:
		reader_decimal(reader, 2, UINT32_MAX);
		break;
	case KIND_U64:
	case KIND_SIZE:
	case KIND_FOUND:
		reader_decimal(reader, 0, UINT64_MAX);
		break;
	case KIND_HEX:
		reader_hex(reader);
		break;
	case KIND_NAME:
	case KIND_MAYBE_NAME:
		read_name(reader);
		break;
	case KIND_BYTES:
		read_bytes(reader);
		break;
	case KIND_PASS_FLAGS:
		read_flags(reader);
		break;
	case KIND_STATUS:
		read_status(reader);
		break;
	default:
		reader_choice(reader, choices[kind]);
	}
}

/* --- events ---------------------------------------------------------------- */

/* Takes the name of a field; 0: the line leaves the field out. */
static int take_word(struct reader *reader, const char *word, enum kind kind)
{
	struct reader ahead = *reader;

	switch (kind) {
	case KIND_MAYBE_U32:
	case KIND_MAYBE_NAME:
	case KIND_ITERATIONS:
		if (!reader_accept(&ahead, " ") ||
		    !reader_accept_word(&ahead, word))
			return 0;
		*reader = ahead;
		return 1;
	case KIND_FOUND:
		reader_expect(reader, " ");
		reader_choice(reader, choices[kind]);
		reader_expect(reader, " ");
		return 1;
	default:
		reader_expect_apart(reader, word);
		return 1;
	}
}

static void read_fields(struct reader *reader, const struct row *row)
{
	reader_expect(reader, row->event);
	for (size_t i = 0; row->fields[i].kind != KIND_END; i++)
		if (take_word(reader, row->fields[i].word, row->fields[i].kind))
			read_value(reader, row->fields[i].kind);
	reader_end_line(reader);
}

static int is_of_row(const struct reader *reader, const struct row *row)
{
	struct reader ahead = *reader;

	return reader_accept(&ahead, row->event) &&
	       (ahead.at == ahead.end || *ahead.at == ' ' || *ahead.at == '\n');
}

/*
 * Events of one name may have several lists of fields. If none fits, an error is
 * about the one that fits furthest.
 */
static void read_fitting(struct reader *reader)
{
	const struct row *best = NULL;
	const char *furthest = NULL;

	for (const struct row *row = rows; row < rows + N_ROWS; row++) {
		struct reader ahead = *reader;

		if (!is_of_row(reader, row))
			continue;
		read_fields(&ahead, row);
		if (ahead.status == PHILOX_OK) {
			*reader = ahead;
			return;
		}
		if (!furthest || ahead.at > furthest) {
			best = row;
			furthest = ahead.at;
		}
	}
	if (best)
		read_fields(reader, best);
	else
		reader_expected(reader, "the name of an event");
}

static void read_event(struct reader *reader, struct written *written)
{
	struct written_event event = {.line = reader->line,
				      .place = written->n_events + 1};

	event.context = reader_decimal(reader, 0, UINT32_MAX);
	reader_expect(reader, " ");
	event.number = reader_decimal(reader, 1, UINT64_MAX);
	reader_expect(reader, " ");
	event.text = reader->at;
	read_fitting(reader);
	event.length = (size_t)(reader->at - event.text) - 1;
	reader_put(reader, &written->events, &written->n_events, &event,
		   sizeof(event));
}

/* --- their order ----------------------------------------------------------- */

/* The lines of one context keep their order. */
static int compare_events(const void *a, const void *b)
{
	const struct written_event *left = a, *right = b;

	if (left->context != right->context)
		return left->context < right->context ? -1 : 1;
	return (left->line > right->line) - (left->line < right->line);
}

static void sort_events(struct written_event *events, size_t n)
{
	if (n)
		qsort(events, n, sizeof(*events), compare_events);
	for (size_t i = 1; i < n; i++)
		events[i].rank = events[i - 1].rank +
				 (events[i].context != events[i - 1].context);
}

/* Whether it is the event of a name without others that begin with it. */
static int is_event(const struct written_event *event, const char *name)
{
	const size_t length = strlen(name);

	return event->length >= length && !memcmp(event->text, name, length);
}

/* Where a context's journal begins, or begins again. */
static int begins(const struct written_event *event)
{
	return is_event(event, "context ");
}

/* Whether an event comes after the one before it in its context, or NULL. */
static int is_in_order(const struct written_event *event,
		       const struct written_event *before)
{
	if (!before)
		return begins(event);
	if (is_event(before, "context-destroy"))
		return 0;
	if (begins(event))
		return event->number > before->number;
	return event->number - 1 == before->number;
}

static const struct written_event *before(const struct written *written,
					  size_t index)
{
	const struct written_event *events = written->events;

	return index && events[index - 1].rank == events[index].rank
		       ? &events[index - 1]
		       : NULL;
}

static const char *start_of(const struct written_event *event)
{
	const char *at = event->text;

	while (at[-1] != '\n')
		at--;
	return at;
}

static void refuse_event(struct reader *reader,
			 const struct written_event *event,
			 const struct written_event *last)
{
	char what[96];

	reader->line = event->line;
	reader->start = start_of(event);
	reader->at = event->text;
	if (!last) {
		reader_expected(reader, "'context', with which a journal of a "
					"context begins,");
		return;
	}
	reader->at = reader->start;
	if (is_event(last, "context-destroy")) {
		reader_refuse(reader,
			      "context %" PRIu64 " was destroyed in line %zu",
			      event->context, last->line);
		return;
	}
	reader->at = strchr(reader->start, ' ') + 1;
	snprintf(what, sizeof(what),
		 "%s%" PRIu64 ", after event %" PRIu64 " of context %" PRIu64
		 ",",
		 begins(event) ? "at least " : "", last->number + 1,
		 last->number, event->context);
	reader_expected(reader, what);
}

/* The first line that is out of order is reported. */
static void check_order(struct reader *reader, const struct written *written)
{
	const struct written_event *events = written->events, *wrong = NULL;
	const struct written_event *last = NULL;

	for (size_t i = 0; i < written->n_events; i++) {
		const struct written_event *of = before(written, i);

		if (is_in_order(&events[i], of) ||
		    (wrong && wrong->line < events[i].line))
			continue;
		wrong = &events[i];
		last = of;
	}
	if (wrong)
		refuse_event(reader, wrong, last);
}

/* --- journals -------------------------------------------------------------- */

static int has_line(const struct reader *reader)
{
	return reader->at < reader->end &&
	       memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
}

enum philox_status journal_read(const char *text, size_t size,
				struct written *written)
{
	struct reader reader = reader_start(text, size);

	reader_version(&reader, JOURNAL_START, "journal", 1);
	while (reader.status == PHILOX_OK && has_line(&reader)) {
		if (reader_accept(&reader, JOURNAL_START "1"))
			reader_end_line(&reader);
		else
			read_event(&reader, written);
	}
	if (reader.status != PHILOX_OK)
		return reader.status;
	written->cut = reader.at < reader.end;
	sort_events(written->events, written->n_events);
	check_order(&reader, written);
	return reader.status;
}
