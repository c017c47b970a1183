/*
 * lib/trace/perfetto.c - see lib/trace/perfetto.h
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "lib/trace/nvtx.h"
#include "lib/trace/record.h"
#include "lib/trace/timeline.h"
#include "lib/trace/perfetto.h"
#include "lib/trace/trace_json.h"

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
	struct timespec now;
	uint64_t time;

	clock_gettime(CLOCK_MONOTONIC, &now);
	time = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
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
