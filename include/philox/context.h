/*
 * philox/context.h - a context: one device, its generators, regions and graphs
 */
#ifndef PHILOX_CONTEXT_H
#define PHILOX_CONTEXT_H

#include <stddef.h>
#include <stdint.h>
#include <philox/device.h>
#include <philox/status.h>
#include <philox/kernel.h>

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
 * may switch on a journal and a trace of it (philox/save.h). Errors:
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
 * graphs still belong to the caller but may no longer be launched. Errors:
 * PHILOX_ERROR_STATE in a child of fork(), which has destroyed nothing. Not
 * legal during capture.
 */
PHILOX_API enum philox_status philox_context_destroy(
	struct philox_context *context);

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
	uint32_t level;  /* enum philox_log_level */
	uint32_t status; /* enum philox_status, when level is ERROR */
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
 * struct philox_context_report describes what only the device could see:
 * launches that were made without philox, and bodies that ran more often than
 * their limit allows (philox/graph.h). Begin with PHILOX_INIT().
 */
struct philox_context_report {
	size_t size;       /* sizeof(this struct), set by the caller and kept */
	uint64_t launches; /* unannounced launches seen since the last check */
	uint64_t graphs;   /* graphs they were launches of */
	uint64_t sequence; /* of the first such graph: the last sequence number
			      it was launched with properly */
	char graph[64];    /* name of the first such graph */
	char regions
		[192]; /* names of its regions, ", " between, cut at the end */
	uint64_t
		beyond; /* runs of bodies beyond their limits, and in other runs
			    REVERSED passes without an iteration, and device
			    words that are none */
};

/*
 * philox_context_check() checks whether any graph of the context was launched
 * without philox_graph_launch() or its prologue: a replay that would have
 * repeated numbers and wrote poison instead; and whether a body ran beyond its
 * limit, and wrote poison. It never synchronises: its answer is certain only
 * for replays whose stream was synchronised before. Returns PHILOX_OK and zeros
 * in *report (which may be NULL) when there is nothing new; otherwise a filled
 * report and PHILOX_ERROR_UNANNOUNCED, or PHILOX_ERROR_LIMIT if all launches
 * were announced and only `beyond` is not 0: then `graph` and `regions` are
 * those of the first graph with such a body. Each is reported once, each graph
 * also through the log. Errors: PHILOX_ERROR_INVALID for a report with a wrong
 * `size`; nothing counts as reported then. Legal during capture.
 */
PHILOX_API enum philox_status philox_context_check(
	struct philox_context *context, struct philox_context_report *report);

/* --- generators ----------------------------------------------------------- */

/*
 * A generator is a root stream (seed, offset). Regions derive their own seed
 * from it: region seed = fold(generator seed, hash of the region's name). So
 * the seed decides all numbers, and neither the order in which regions are made
 * nor the offset of the generator itself changes the numbers of regions.
 *
 * Thread rule: every function here may be called from any thread, at the same
 * time as any other, unless its comment says otherwise.
 */

struct philox_generator;

/*
 * philox_generator_create() makes a generator of a context with offset 0. It is
 * destroyed by philox_generator_destroy() or with the context.
 * philox_generator_destroy() refuses with PHILOX_ERROR_BUSY while regions or
 * tables of rows use the generator or a captured graph reads its state; NULL
 * and the default generator are PHILOX_ERROR_INVALID. Legal during capture.
 * CUDA says on a thread of its own, and only some time after a graph has been
 * destroyed and its last launch is over, that the graph has gone: until then it
 * counts as one that reads the state.
 */
PHILOX_API enum philox_status philox_generator_create(
	struct philox_context *context, uint64_t seed,
	struct philox_generator **generator);
PHILOX_API enum philox_status philox_generator_destroy(
	struct philox_generator *generator);

/*
 * philox_context_generator() returns the default generator of a context:
 * regions that name no generator use it. It lives as long as the context. Legal
 * during capture.
 */
PHILOX_API struct philox_generator *philox_context_generator(
	struct philox_context *context);

/*
 * philox_generator_seed() gives a generator a new seed, at offset 0, and
 * restarts its regions: they derive their seed again and begin at offset 0, so
 * the same seed gives the same run. Pending tickets keep the numbers they had.
 * Captured graphs follow at their next launch. Tables of rows, which live on
 * the device, keep their states until philox_rows_restart(). Errors:
 * PHILOX_ERROR_INVALID (generator is NULL). Legal during capture.
 */
PHILOX_API enum philox_status philox_generator_seed(
	struct philox_generator *generator, uint64_t seed);

/*
 * philox_generator_get_state() writes seed and offset, which are the whole
 * state: in memory (on a little-endian machine) the 16 bytes that
 * torch.cuda.get_rng_state() returns. philox_generator_set_state() sets both. A
 * state with another seed than the generator has re-seeds (see above) and gives
 * the generator itself the offset. One with the seed that it has only moves the
 * generator to the offset, as advancing does: its regions go on where they are,
 * so that to get a state, draw, set it for a recompute, and set it back repeats
 * no numbers in them. PHILOX_REGION_SHARED regions draw from the generator
 * itself and follow its offset, forwards and backwards; to run again from the
 * beginning, seed. An offset that is not a multiple of 4 is
 * PHILOX_ERROR_INVALID. Legal during capture.
 */
PHILOX_API enum philox_status philox_generator_get_state(
	struct philox_generator *generator, struct philox_state *state);
PHILOX_API enum philox_status philox_generator_set_state(
	struct philox_generator *generator, struct philox_state state);

/*
 * philox_generator_advance() moves a generator's own offset by `words` 32-bit
 * words, a multiple of 4, and writes the state before that to *before (`before`
 * may be NULL): the numbers in between are reserved for stateless draws. Its
 * regions are not touched. Errors: PHILOX_ERROR_INVALID (not a multiple of 4),
 * PHILOX_ERROR_OVERFLOW. Legal during capture; a state obtained then is used by
 * value and frozen in the graph.
 */
PHILOX_API enum philox_status philox_generator_advance(
	struct philox_generator *generator, uint64_t words,
	struct philox_state *before);

/*
 * philox_generator_fold() seeds a generator with fold(seed, index), at offset
 * 0: the way to give each replica or worker its own numbers from one seed, in
 * all regions of the generator; for some regions only, see philox/mesh.h. They
 * restart as with philox_generator_seed(). Folding twice is not the same as
 * folding once. Errors: PHILOX_ERROR_INVALID (generator is NULL). Legal during
 * capture.
 */
PHILOX_API enum philox_status philox_generator_fold(
	struct philox_generator *generator, uint64_t index);

/*
 * philox_generator_copy_state() writes a generator's state to 16 bytes of
 * device memory, aligned to 8, in stream order: a snapshot from which kernels,
 * and philox_rng_fill() given its address, can draw later. During capture it is
 * recorded as one copy node: each launch of the graph writes the state that the
 * generator has at this point among the graph's passes, which matters for
 * regions that are PHILOX_REGION_SHARED. A generator that a captured graph
 * reads cannot be destroyed before that graph. Errors: PHILOX_ERROR_INVALID (a
 * null or misaligned pointer, or on a host device one to less memory,
 * philox/device.h), PHILOX_ERROR_LIMIT, PHILOX_ERROR_UNSUPPORTED (in a body
 * that may run again, philox/graph.h), PHILOX_ERROR_CAPTURE_INVALIDATED, those
 * of the device.
 */
PHILOX_API enum philox_status philox_generator_copy_state(
	struct philox_generator *generator, philox_stream stream,
	struct philox_state *to);

#ifdef __cplusplus
}
#endif
#endif
