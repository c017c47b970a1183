/*
 * lib/trace/perfetto.c - a context's events, seen while they happen
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "lib/trace/trace.h"

/* An array that is not closed is whole, too: readers allow for crashes. */
static const struct record_form form = {"trace", "[\n", "\n]\n", 2};

struct trace {
	struct record *file; /* NULL: ranges only */
	int error;           /* the file has ended */
	struct timeline *timeline;
	unsigned context;
	uint64_t time; /* of the last event */
	int ranges;
};

static void write_text(struct trace *trace, const char *text, size_t size)
{
	if (trace->file && !trace->error && size)
		trace->error = record_write(trace->file, text, size);
}

static void take(void *user, const struct timeline_item *item)
{
	struct trace *trace = user;
	char text[TRACE_JSON_MAX];

	if (trace->file)
		write_text(trace, text,
			   trace_json_item(text, trace->context, item));
	if (trace->ranges)
		nvtx_take(item);
}

/* Later than before, by a nanosecond at least. */
static uint64_t next_time(struct trace *trace)
{
	const uint64_t time = clock_now();

	trace->time = time > trace->time ? time : trace->time + 1;
	return trace->time;
}

enum philox_status trace_create(struct trace **trace)
{
	struct record *file;
	struct trace *made;
	enum philox_status status =
		record_open_variable(&form, "PHILOX_TRACE", &file);

	*trace = NULL;
	if (status != PHILOX_OK || (!file && !nvtx_wanted()))
		return status;
	made = calloc(1, sizeof(*made));
	if (made)
		made->timeline = timeline_create(take, made);
	if (!made || !made->timeline) {
		free(made);
		record_close(file);
		return status_set(PHILOX_ERROR_MEMORY, "no memory for a trace");
	}
	made->file = file;
	made->ranges = nvtx_wanted();
	*trace = made;
	return PHILOX_OK;
}

void trace_start(struct trace *trace, unsigned context)
{
	char text[TRACE_JSON_MAX], process[32];

	trace->context = context;
	if (!trace->file)
		return;
	record_keep(trace->file);
	snprintf(process, sizeof(process), "%ld", (long)getpid());
	write_text(trace, text,
		   trace_json_context(text, context, process,
				      "times of the host, monotonic clock"));
}

int trace_event(struct trace *trace, const char *text, size_t length)
{
	timeline_event(trace->timeline, next_time(trace), text, length);
	return trace->error;
}

const char *trace_path(const struct trace *trace)
{
	return record_path(trace->file);
}

void trace_end_file(struct trace *trace)
{
	record_close(trace->file);
	trace->file = NULL;
	trace->error = 0;
}

void trace_destroy(struct trace *trace)
{
	if (!trace)
		return;
	timeline_finish(trace->timeline, next_time(trace));
	record_close(trace->file);
	free(trace);
}

/* --- trace_json: a timeline as events of a trace -------------------------- */

/*
 * Importers sort events by time and keep the order of those with one time. So
 * an arrow begins at the begin of its forward, though that may be written long
 * before, and lies on the slice that begins there. Threads have numbers of
 * their own in the whole file, since importers take a number for one thread;
 * no process is number 0, which is the idle one on Linux.
 */

#define THREADS_MAX 1000000 /* of a context */

/* --- text ----------------------------------------------------------------- */

struct out {
	char *text;
	size_t length;
};

static void put(struct out *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void put(struct out *out, const char *format, ...)
{
	size_t room = TRACE_JSON_MAX - out->length;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(out->text + out->length, room, format, arguments);
	va_end(arguments);
	if (length > 0)
		out->length +=
			(size_t)length < room ? (size_t)length : room - 1;
}

static void put_byte(struct out *out, char byte)
{
	if (out->length + 1 < TRACE_JSON_MAX)
		out->text[out->length++] = byte;
}

/* Names have no control characters. */
static void put_string(struct out *out, const char *string)
{
	put_byte(out, '"');
	for (; *string; string++) {
		if (*string == '"' || *string == '\\')
			put_byte(out, '\\');
		put_byte(out, *string);
	}
	put_byte(out, '"');
}

static void put_name(struct out *out, struct written_word word)
{
	char name[1024];

	written_name(word, name, sizeof(name));
	put_string(out, name);
}

/* Seeds and large numbers as strings: most readers of JSON round them. */
static void put_value(struct out *out, struct written_word word)
{
	int number =
		word.length <= 15 && (word.length == 1 || *word.text != '0');

	for (size_t i = 0; i < word.length; i++)
		number &= word.text[i] >= '0' && word.text[i] <= '9';
	if (number)
		put(out, "%.*s", (int)word.length, word.text);
	else
		put_name(out, word);
}

static void put_time(struct out *out, const char *key, uint64_t time)
{
	put(out, ",\"%s\":%" PRIu64, key, time / 1000);
	if (time % 1000)
		put(out, ".%03u", (unsigned)(time % 1000));
}

/* --- events --------------------------------------------------------------- */

static void put_begin(struct out *out, char phase, unsigned context,
		      uint64_t thread)
{
	put(out, ",\n{\"ph\":\"%c\",\"pid\":%u,\"tid\":%" PRIu64, phase,
	    context + 1, ((uint64_t)context + 1) * THREADS_MAX + thread);
}

static void put_label(struct out *out, const char *category,
		      const struct timeline_label *label)
{
	char text[512];

	timeline_write_label(label, text, sizeof(text));
	put(out, ",\"cat\":\"%s\",\"name\":", category);
	put_string(out, text);
}

static void put_field(struct out *out, const char *comma, const char *name,
		      const char *value)
{
	put(out, "%s\"%s\":", comma, name);
	put_string(out, value);
}

/* Readers put the fields of begin and end together: each has one value. */
static int is_told(const struct timeline_item *item, struct written_word field)
{
	static const char *const fields[] = {"region",   "ticket",  "seed",
					     "offset",   "capture", "pass",
					     "sequence", "runner",  "function"};
	int told = item->kind == TIMELINE_LAUNCH && written_is(field, "graph");

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		told |= written_is(field, fields[i]);
	return told;
}

/* The fields of the event; of an end those that its begin has not. */
static void put_args(struct out *out, const struct timeline_item *item)
{
	const int end = item->what == TIMELINE_END;
	const char *comma = "";

	put(out, ",\"args\":{");
	if (item->outcome) {
		put_field(out, comma, "outcome", item->outcome);
		comma = ",";
	}
	for (size_t i = 1; i + 1 < item->n; i += 2) {
		if (end && is_told(item, item->words[i]))
			continue;
		put(out, "%s", comma);
		if (end && written_is(item->words[i], "flags"))
			put(out, "\"flags at the end\"");
		else
			put_name(out, item->words[i]);
		put(out, ":");
		put_value(out, item->words[i + 1]);
		comma = ",";
	}
	put(out, "}}");
}

static const char *category_of(const struct timeline_item *item)
{
	static const char *const passes[] = {"pass,eager", "pass,captured",
					     "pass,launched"};
	static const char *const others[] = {[TIMELINE_CAPTURE] = "capture",
					     [TIMELINE_LAUNCH] = "launch",
					     [TIMELINE_CALL] = "call",
					     [TIMELINE_OTHER] = "event"};

	return item->kind <= TIMELINE_BACKWARD ? passes[item->mode]
					       : others[item->kind];
}

static void put_metadata(struct out *out, unsigned context, uint64_t thread,
			 const char *name)
{
	put_begin(out, 'M', context, thread);
	put(out, ",\"name\":\"%s\",\"args\":{", name);
}

static void put_lane(struct out *out, unsigned context,
		     const struct timeline_lane *lane)
{
	static const char *const groups[] = {[TIMELINE_CONTEXT] = "",
					     [TIMELINE_CAPTURES] = "",
					     [TIMELINE_LAUNCHES] = "",
					     [TIMELINE_RUNNER] = "runner ",
					     [TIMELINE_REGION] = "region "};
	const struct timeline_row *row = lane->row;
	char name[1024];
	size_t length;

	length = (size_t)snprintf(name, sizeof(name), "%s", groups[row->group]);
	length += written_name(row->name, name + length,
			       sizeof(name) - length - 32);
	if (lane->place)
		snprintf(name + length, sizeof(name) - length, " (%u)",
			 lane->place + 1);
	put_metadata(out, context, lane->number, "thread_name");
	put_field(out, "", "name", name);
	put(out, "}}");
	put_metadata(out, context, lane->number, "thread_sort_index");
	put(out, "\"sort_index\":%u}}",
	    (unsigned)row->group * 10000000u + row->order * 1000u +
		    lane->place);
}

static void put_slice(struct out *out, unsigned context, char phase,
		      const struct timeline_item *item)
{
	put_begin(out, phase, context, item->lane->number);
	put_time(out, "ts", item->time);
	if (phase == 'X')
		put_time(out, "dur", item->until - item->time);
	if (phase == 'i')
		put(out, ",\"s\":\"t\"");
	if (phase != 'E')
		put_label(out, category_of(item), item->label);
	put_args(out, item);
}

static void put_arrow(struct out *out, unsigned context, char phase,
		      const struct timeline_item *item)
{
	put_begin(out, phase, context,
		  phase == 's' ? item->from->number : item->lane->number);
	put_time(out, "ts", phase == 's' ? item->from_time : item->time);
	put_label(out, "ticket", item->label);
	put(out, ",\"id\":%" PRIu64 "%s}",
	    ((uint64_t)context + 1) << 32 | (uint32_t)item->arrow,
	    phase == 's' ? "" : ",\"bp\":\"e\"");
}

/* --- for others ----------------------------------------------------------- */

size_t trace_json_context(char text[TRACE_JSON_MAX], unsigned context,
			  const char *process, const char *time)
{
	struct out out = {.text = text};

	put_metadata(&out, context, 1, "process_name");
	put(&out, "\"name\":\"philox context %u%s%s\"}}", context,
	    process ? ", process " : "", process ? process : "");
	put_metadata(&out, context, 1, "process_sort_index");
	put(&out, "\"sort_index\":%u}}", context);
	put_metadata(&out, context, 1, "process_labels");
	put_field(&out, "", "labels", time);
	put(&out, "}}");
	return out.length;
}

size_t trace_json_item(char text[TRACE_JSON_MAX], unsigned context,
		       const struct timeline_item *item)
{
	static const char phases[] = {[TIMELINE_BEGIN] = 'B',
				      [TIMELINE_END] = 'E',
				      [TIMELINE_USE] = 'X',
				      [TIMELINE_MARK] = 'i'};
	struct out out = {.text = text};

	if (item->what == TIMELINE_LANE) {
		put_lane(&out, context, item->lane);
	} else if (item->what == TIMELINE_ARROW) {
		put_arrow(&out, context, 's', item);
		put_arrow(&out, context, 'f', item);
	} else {
		put_slice(&out, context, phases[item->what], item);
	}
	return out.length;
}
