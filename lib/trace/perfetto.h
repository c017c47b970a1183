/*
 * lib/trace/perfetto.h - a context's events, seen while they happen
 *
 * The file that PHILOX_TRACE names, and ranges for NVIDIA's profilers: both
 * from the timeline of Note [Trace] in lib/trace/timeline.h.
 */
#ifndef LIB_TRACE_PERFETTO_H
#define LIB_TRACE_PERFETTO_H

#include <stddef.h>
#include <stdint.h>
#include "lib/base/status.h"

struct trace;

/*
 * trace_create() makes the trace of a new context if the environment or a tool
 * asks for one; else *trace is NULL. Errors: ERROR_FILE, ERROR_MEMORY.
 */
enum philox_status trace_create(struct trace **trace);

/* trace_start() says which context it is, before its first event. */
void trace_start(struct trace *trace, unsigned context);

/*
 * trace_event() adds an event and returns 0, or the error for which the file
 * has ended. With the context's lock held.
 */
int trace_event(struct trace *trace, const char *text, size_t length);

/*
 * trace_end_file() ends the file, whose path trace_path() is; ranges go on.
 * trace_destroy() ends what is open; NULL is allowed.
 */
const char *trace_path(const struct trace *trace);
void trace_end_file(struct trace *trace);
void trace_destroy(struct trace *trace);

#endif
