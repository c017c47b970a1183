/*
 * lib/trace/trace_json.h - a timeline as events of a trace
 *
 * In the JSON of the Trace Event Format, which ui.perfetto.dev and
 * chrome://tracing load. A context is a process there, a lane a thread.
 */
#ifndef LIB_TRACE_TRACE_JSON_H
#define LIB_TRACE_TRACE_JSON_H

#include "lib/trace/timeline.h"

/* Room for what one item, or the name of a context, becomes. */
#define TRACE_JSON_MAX 16384

/*
 * Both write objects, each with a comma and a line feed before it, and return
 * how many bytes; 0 if an item has no place there. Times are nanoseconds.
 * `process` tells the context's process from another, NULL: nothing to tell;
 * `time` says what times are.
 */
size_t trace_json_context(char text[TRACE_JSON_MAX], unsigned context,
			  const char *process, const char *time);
size_t trace_json_item(char text[TRACE_JSON_MAX], unsigned context,
		       const struct timeline_item *item);

#endif
