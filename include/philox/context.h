/*
 * philox/context.h - a context: one device, its generators, regions and graphs
 */
#ifndef PHILOX_CONTEXT_H
#define PHILOX_CONTEXT_H

#include <stddef.h>
#include <stdint.h>
#include <philox/device.h>
#include <philox/sized.h>
#include <philox/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct philox_context;

/*
 * struct philox_ticket names one forward whose backward is owed. It is plain
 * data and may be copied, compared and stored. The zero ticket names none: a
 * captured backward begun with it is "named at launch".
 */
struct philox_ticket {
	uint64_t region_key; /* hash of the region's name */
	uint64_t serial;     /* counts the region's forwards from 1 */
};

/*
 * philox_context_create() makes a context on an open device, with a default
 * generator of seed 0. The device still belongs to the caller and cannot be
 * closed before the context is destroyed. All of a context's functions are safe
 * to call from several threads unless their comment says otherwise. A child of
 * fork() cannot use its parent's contexts (philox/device.h). The environment
 * may switch on a journal and a trace of it (philox/journal.h). Errors:
 * PHILOX_ERROR_INVALID, PHILOX_ERROR_MEMORY, PHILOX_ERROR_FILE (PHILOX_JOURNAL
 * or PHILOX_TRACE is set and its file cannot be begun: the message names
 * variable, path and reason), those of the device. Legal during capture.
 */
PHILOX_API enum philox_status philox_context_create(
	struct philox_device *device, struct philox_context **context);

/*
 * philox_context_destroy() destroys a context with its graphs, regions, tables
 * and generators; NULL is allowed. Every pending ticket's saved context is
 * released; tickets that were still pending are reported through the log. Work
 * that uses the context's cells must have finished: synchronise first. Adopted
 * graphs still belong to the caller but may no longer be launched. Not legal
 * during capture.
 */
PHILOX_API void philox_context_destroy(struct philox_context *context);

/*
 * philox_context_device() returns the device a context was made on. Legal
 * during capture.
 */
PHILOX_API struct philox_device *philox_context_device(
	const struct philox_context *context);

/* --- log ------------------------------------------------------------------ */

enum philox_log_level {
	PHILOX_LOG_ERROR = 0, /* a call failed */
	PHILOX_LOG_WARNING = 1,
	PHILOX_LOG_INFO = 2 /* a notable event: capture begun, adopted, ... */
};

/*
 * struct philox_log_entry is one message with the objects it is about; names
 * that do not apply are NULL, numbers 0. It and its strings are valid during
 * the callback only. Only the library makes entries, so a later version may add
 * fields at the end.
 */
struct philox_log_entry {
	enum philox_log_level level;
	enum philox_status status; /* of the call, when level is ERROR */
	const char *event;         /* "error", "capture begun", ... */
	const char *text;          /* a sentence that names everything */
	const char *device;
	const char *region;
	const char *op;
	const char *graph;
	struct philox_ticket ticket;
	uint64_t capture_id;
	const char *pool;
	uint64_t bytes;       /* that a call on a pool was about */
	uint64_t nanoseconds; /* that it took, if it is one worth timing */
	const char *function; /* of a runner (philox/runner.h) */
	const char *input;    /* of it: the first that the message is about */
	const char *kind;     /* of its call: "eager", "warm-up", "record" or
				 "replay" */
};

/*
 * philox_context_set_log() sets the function that receives messages, or NULL
 * for none (the default; the library itself prints nothing). It is called on
 * the thread of the call it reports on, with no lock held, possibly from
 * several threads at once; it may call philox. Functions that take a device and
 * no context (those of philox/device.h and philox_rng_fill()) do not log, and
 * neither do functions that are given a pass that is not open. If the driver of
 * a cuda device cannot load the largest heads (philox/graph.h), the function
 * gets a warning "limit" at once, in this call, with the limit that is left.
 * Errors: PHILOX_ERROR_INVALID (context is NULL). Legal during capture.
 */
PHILOX_API enum philox_status philox_context_set_log(
	struct philox_context *context,
	void (*log)(void *user, const struct philox_log_entry *entry),
	void *user);

/* --- what only the device can see ----------------------------------------- */

/*
 * struct philox_report describes what only the device could see: launches that
 * were made without philox, and bodies that ran more often than their limit
 * allows (philox/conditional.h). Begin with PHILOX_INIT().
 */
struct philox_report {
	size_t size;       /* sizeof(this struct), set by the caller and kept */
	uint64_t launches; /* unannounced launches seen since the last check */
	uint64_t graphs;   /* graphs they were launches of */
	uint64_t sequence; /* of the first such graph: the last sequence number
			      it was launched with properly */
	char graph[64];    /* name of the first such graph */
	char regions
		[192]; /* names of its regions, ", " between, cut at the end */
	uint64_t beyond; /* runs of bodies beyond their limits, and in other runs
			    REVERSED passes without an iteration, and device
			    words that are none */
};

/*
 * philox_check() checks whether any graph of the context was launched without
 * philox_graph_launch() or its prologue: a replay that would have repeated
 * numbers and wrote poison instead; and whether a body ran beyond its limit,
 * and wrote poison. It never synchronises: its answer is certain only for
 * replays whose stream was synchronised before. Returns PHILOX_OK and zeros in
 * *report (which may be NULL) when there is nothing new; otherwise a filled
 * report and PHILOX_ERROR_UNANNOUNCED, or PHILOX_ERROR_LIMIT if all launches
 * were announced and only `beyond` is not 0: then `graph` and `regions` are
 * those of the first graph with such a body. Each is reported once, each graph
 * also through the log. Errors: PHILOX_ERROR_INVALID for a report with a wrong
 * `size`; nothing counts as reported then. Legal during capture.
 */
PHILOX_API enum philox_status philox_check(struct philox_context *context,
					   struct philox_report *report);

#ifdef __cplusplus
}
#endif
#endif
