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
 * The name of one forward that is owed a backward. It is plain data and may be
 * copied, compared and stored. The zero ticket names no forward: a captured
 * backward that begins with it is named at launch.
 */
struct philox_ticket {
	uint64_t region_key; /* hash of the region's name */
	uint64_t serial;     /* counts the region's forwards from 1 */
};

/*
 * Create a context on an open device, with a default generator of seed 0.
 *
 *   device     the device; still the caller's, closed after the context is
 *              destroyed
 *   context    written: the context
 *
 * A child of fork() cannot use its parent's contexts (philox/device.h). The
 * environment may switch on a journal and a trace (philox/save.h).
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   an argument is NULL
 *   PHILOX_ERROR_FILE      PHILOX_JOURNAL or PHILOX_TRACE is set and its file
 *                          cannot be begun: the message names variable, path
 *                          and reason
 *   PHILOX_ERROR_MEMORY
 *   those of the device
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_context_create(
	struct philox_device *device, struct philox_context **context);

/*
 * Destroy a context with its graphs, regions, tables and generators.
 *
 *   context    the context; NULL is allowed. Work that uses its cells must have
 *              finished: synchronise first
 *
 * The saved contexts of pending tickets are released, and the log has these
 * tickets. Adopted graphs still belong to the caller but may no longer be
 * launched.
 *
 * Returns PHILOX_OK, or an error; then nothing is destroyed.
 * Errors:
 *   PHILOX_ERROR_STATE   in a child of fork()
 *   PHILOX_ERROR_BUSY    a call is in one of its runners: a body, or another
 *                        callback of the runner, asks for it
 * During capture: not legal.
 * Threads: one; no other thread may use the context.
 */
PHILOX_API enum philox_status philox_context_destroy(
	struct philox_context *context);

/*
 * Return the device that a context was created on.
 *
 *   context    the context
 *
 * During capture: legal.
 * Threads: any.
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
 * One message with the objects that it is about. Names that do not apply are
 * NULL, numbers 0. The entry and its strings are valid during the callback
 * only. The library alone makes entries, so a later version may add fields at
 * the end.
 */
struct philox_log_entry {
	uint32_t level;    /* enum philox_log_level */
	uint32_t status;   /* enum philox_status, when level is ERROR */
	const char *event; /* "error", "capture begun", ... */
	const char *text;  /* a sentence that names everything */
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
 * Set the function that receives the messages of a context.
 *
 *   context    the context
 *   log        the function; NULL (the default): none. The library prints
 *              nothing itself. It is called on the thread of the call that it
 *              reports, without a lock, possibly from several threads at once,
 *              and may call philox
 *   user       its first argument
 *
 * Functions that take a device and no context (those of philox/device.h and
 * philox_rng_fill()) do not log, and neither do functions that get a pass that
 * is not open. If the driver of a cuda device cannot load the largest heads
 * (philox/graph.h), this call logs a warning "limit" with the limit that is
 * left.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   context is NULL
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_context_set_log(
	struct philox_context *context,
	void (*log)(void *user, const struct philox_log_entry *entry),
	void *user);

/* --- what only the device can see ----------------------------------------- */

/*
 * What only the device could see: launches that philox was not told about,
 * bodies that ran more often than their limit allows, and loops that philox
 * ended at their limit (philox/graph.h). Begin with PHILOX_INIT().
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
	uint64_t cut;       /* loops that ended at their limits while their
			       conditions still held: no number is wrong, but
			       the loop wanted to go on */
};

/*
 * Check whether the device has seen launches without philox, runs of bodies
 * beyond their limits, or loops that wanted to go on at theirs.
 *
 *   context    the context
 *   report     written: what is new since the last check, or zeros; its size is
 *              set by the caller. NULL is allowed
 *
 * Replays of the first two kinds would have repeated numbers and wrote poison
 * instead. The call never synchronises: its answer is certain only for replays
 * whose stream was synchronised before. Each is reported once, each graph also
 * through the log.
 *
 * Returns PHILOX_OK if there is nothing new, or an error.
 * Errors:
 *   PHILOX_ERROR_UNANNOUNCED   launches that philox was not told about
 *   PHILOX_ERROR_LIMIT         all launches were announced, and `beyond` or
 *                              `cut` is not 0: `graph` and `regions` are those
 *                              of the first graph with such a body
 *   PHILOX_ERROR_INVALID       context is NULL; a size of the report that
 *                              cannot be: then nothing counts as reported
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_context_check(
	struct philox_context *context, struct philox_context_report *report);

/* --- generators ----------------------------------------------------------- */

/*
 * A generator is a root stream (seed, offset). Regions derive their seeds from
 * it: region seed = fold(generator seed, hash of the region's name). So the
 * seed decides all numbers. Neither the order in which regions are created nor
 * the offset of the generator changes the numbers of regions.
 */

struct philox_generator;

enum philox_generator_flags {
	/* Ranks of a mesh seed and move it each for itself. So its state is not
	 * compared between ranks (philox_context_agree(), philox_mesh_seal()),
	 * only that they all have it and this flag. No number depends on the
	 * flag. Data (philox/data.h), which all ranks read in one order, do not
	 * take such a generator. */
	PHILOX_GENERATOR_DIFFERS = 1
};

/*
 * Create a generator of a context, at offset 0.
 *
 *   context    the context
 *   seed       any
 *   generator  written: the generator; its context destroys it at the latest
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   an argument is NULL
 *   PHILOX_ERROR_MEMORY
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_generator_create(
	struct philox_context *context, uint64_t seed,
	struct philox_generator **generator);

/*
 * Create a generator of a context, at offset 0, with flags.
 *
 *   context    the context
 *   seed       any
 *   flags      enum philox_generator_flags, or 0: philox_generator_create()
 *   generator  written: the generator; its context destroys it at the latest
 *
 * Regions of a generator that differs are compared between ranks as any
 * others (philox/mesh.h). So if ranks give it different seeds, make regions of
 * it that differ along an axis, or none.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   an argument is NULL; an unknown flag
 *   PHILOX_ERROR_MEMORY
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_generator_create_flags(
	struct philox_context *context, uint64_t seed, uint32_t flags,
	struct philox_generator **generator);

/*
 * Destroy a generator.
 *
 *   generator  the generator; neither NULL nor the default one
 *
 * CUDA says on a thread of its own, some time after a graph was destroyed and
 * its last launch has ended, that the graph is destroyed. Until then it counts
 * as one that reads the state.
 *
 * Returns PHILOX_OK, or an error; then the generator is as it was.
 * Errors:
 *   PHILOX_ERROR_INVALID   NULL, or the default generator
 *   PHILOX_ERROR_BUSY      regions, unclaimed ones too (philox/save.h), tables
 *                          of rows or data use it, or a captured graph reads
 *                          its state
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_generator_destroy(
	struct philox_generator *generator);

/*
 * Return the default generator of a context.
 *
 *   context    the context, with which it is destroyed
 *
 * Regions that name no generator use it. It has no flags.
 *
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API struct philox_generator *philox_context_generator(
	struct philox_context *context);

/*
 * Give a generator a new seed, at offset 0, and restart its regions.
 *
 *   generator  the generator
 *   seed       any
 *
 * Its regions derive their seeds again and begin at offset 0, so the same seed
 * gives the same run. Its data (philox/data.h) get another order, and begin at
 * position 0. Pending tickets keep their numbers. Captured graphs follow at
 * their next launch. Tables of rows, which are on the device, keep their states
 * until philox_rows_restart().
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   generator is NULL
 *   PHILOX_ERROR_CAPTURE_UNSUPPORTED
 *                          this thread records a capture
 * During capture: not legal on a thread that records a capture which
 * philox_capture_begin() or a runner began: launches would not seed again.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_generator_seed(
	struct philox_generator *generator, uint64_t seed);

/*
 * Write the state of a generator: its seed and offset.
 *
 *   generator  the generator
 *   state      written. On a little-endian machine these are the 16 bytes that
 *              torch.cuda.get_rng_state() returns
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   an argument is NULL
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_generator_get_state(
	struct philox_generator *generator, struct philox_state *state);

/*
 * Set the state of a generator.
 *
 *   generator  the generator
 *   state      its seed and offset; the offset is a multiple of 4
 *
 * Another seed re-seeds as philox_generator_seed() does, and then sets the
 * generator's own offset. The same seed only moves the generator, as advancing
 * does: its regions continue where they are. So a program may get a state,
 * draw, set it for a recompute and set it back, and no region repeats numbers.
 * Tickets keep their numbers whatever is set.
 *
 * PHILOX_REGION_SHARED regions draw from the generator itself and follow its
 * offset. Other regions do not: two forwards would draw the same numbers. A
 * warning "offset set back" is logged if one of them begins a forward while the
 * offset is set back, once for a generator. Seed the generator to run again
 * from the beginning.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   generator is NULL; the offset is not a multiple of 4
 *   PHILOX_ERROR_CAPTURE_UNSUPPORTED
 *                          this thread records a capture, see below
 * During capture: not legal on a thread that records a capture which
 * philox_capture_begin() or a runner began: it would act once, and not at each
 * launch. philox_generator_set_state_on() sets a state in a capture. A capture
 * that you began yourself is not seen without its stream: the call acts at once
 * there.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_generator_set_state(
	struct philox_generator *generator, struct philox_state state);

/*
 * Set the state of a generator at a place of a stream: at once, or in a capture
 * at each launch.
 *
 *   generator  the generator. A generator that a captured graph sets cannot be
 *              destroyed before that graph
 *   stream     the stream. If it is capturing, nothing is set now, and no node
 *              is added. Each launch sets the offset on the host, in this place
 *              among the graph's passes and copies of states
 *   state      as for philox_generator_set_state(), in memory of the host; read
 *              before the call returns. In a capture its seed is the
 *              generator's: a launch does not restart regions
 *
 * Without a capture it does what philox_generator_set_state() does. So code
 * that names its stream, such as a runner's body, does the same in each call.
 * PHILOX_REGION_SHARED regions draw the same numbers in each launch if each
 * launch sets the same offset before them.
 *
 * A launch that is refused moves no generator. One that fails on the device
 * leaves the generator where the launch would have left it.
 *
 * A state in device memory is refused: the host reserves the numbers of a
 * generator's regions at each call, and cannot wait for what the device has
 * there. Stateless draws take such a state (philox_rng_fill(), philox/fill.h).
 * So do samplers (philox_sample_states()). A table of rows has its states in
 * device memory (philox/rows.h).
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID       an argument is NULL; the offset is no multiple
 *                              of 4; the state is in device memory
 *   PHILOX_ERROR_UNSUPPORTED   in a capture: another seed than the generator's;
 *                              in the body of a conditional node
 *   PHILOX_ERROR_LIMIT         the capture has no room for the head
 *   PHILOX_ERROR_MEMORY
 *   PHILOX_ERROR_CAPTURE_INVALIDATED
 *   those of the device
 * A launch gives PHILOX_ERROR_MISMATCH if the generator has been seeded since.
 * During capture: legal; see above.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_generator_set_state_on(
	struct philox_generator *generator, philox_stream stream,
	const struct philox_state *state);

/*
 * Advance a generator's own offset, to reserve numbers for stateless draws.
 *
 *   generator  the generator
 *   words      how many 32-bit words, a multiple of 4
 *   before     written: the state before; NULL is allowed
 *
 * Its regions are not touched.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID    generator is NULL; words is not a multiple of 4
 *   PHILOX_ERROR_OVERFLOW   the offset would pass 2^64
 * During capture: legal; a state obtained then is used by value and frozen in
 * the graph.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_generator_advance(
	struct philox_generator *generator, uint64_t words,
	struct philox_state *before);

/*
 * Seed a generator with fold(seed, index), at offset 0.
 *
 *   generator  the generator
 *   index      of the replica or worker
 *
 * It gives each replica numbers of its own from one seed, in all regions of the
 * generator; philox/mesh.h does so for some regions only. Regions and data
 * restart as with philox_generator_seed(). Folding twice differs from folding
 * once.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   generator is NULL
 *   PHILOX_ERROR_CAPTURE_UNSUPPORTED
 *                          this thread records a capture
 * During capture: not legal on a thread that records a capture which
 * philox_capture_begin() or a runner began: launches would not fold again.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_generator_fold(
	struct philox_generator *generator, uint64_t index);

/*
 * Write a generator's state to device memory, in stream order.
 *
 *   generator  the generator. A generator that a captured graph reads cannot be
 *              destroyed before that graph
 *   stream     the stream
 *   to         16 bytes of device memory, aligned to 8: kernels, and
 *              philox_rng_fill() given the address, can draw from it later
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID       a null or misaligned pointer; on a host device,
 *                              one to less memory (philox/device.h)
 *   PHILOX_ERROR_LIMIT         the capture has no room for one more
 *   PHILOX_ERROR_UNSUPPORTED   in a body that may run again (philox/graph.h)
 *   PHILOX_ERROR_CAPTURE_INVALIDATED
 *   those of the device
 * During capture: legal; it becomes one copy node. Each launch writes the state
 * that the generator has at this point among the graph's passes, which matters
 * for PHILOX_REGION_SHARED regions.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_generator_copy_state(
	struct philox_generator *generator, philox_stream stream,
	struct philox_state *to);

/* --- states that the caller has ------------------------------------------- */

/*
 * Write states to device memory, in stream order.
 *
 *   context    the context
 *   stream     the stream, which must not be capturing
 *   to         n_states x 16 bytes of device memory, aligned to 8: kernels,
 *              and calls that take the address of a state, can draw from each
 *   states     memory of the host, apart from `to`, which can be reused when
 *              the call returns; offsets are multiples of 4
 *   n_states   how many; 0 writes nothing, and the arrays may be NULL
 *
 * One kernel writes up to 192 states, which are its parameters. So the call
 * copies nothing to the device and waits for nothing. It suits states that
 * philox_context_reserve() has given (philox/pass.h), and graphs of your own
 * that read states from memory: write new ones before each launch, in the order
 * of its stream. A launch without new ones repeats the numbers, and nothing
 * reports that.
 *
 * Returns PHILOX_OK, or an error; then nothing is written. After an error of
 * the device, though, the first states may be written.
 * Errors:
 *   PHILOX_ERROR_INVALID       a null or misaligned pointer; an offset is no
 *                              multiple of 4; `states` overlaps `to`, or is in
 *                              device memory; on a host device, `to` is in less
 *                              memory (philox/device.h)
 *   PHILOX_ERROR_OVERFLOW      the states do not fit 2^64 bytes
 *   PHILOX_ERROR_CAPTURE_UNSUPPORTED
 *                              the stream is capturing
 *   PHILOX_ERROR_CAPTURE_INVALIDATED
 *   those of the device
 * During capture: not legal on a stream that captures: each launch would write
 * these states again, and its numbers would repeat. The capture goes on.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_context_write_states(
	struct philox_context *context, philox_stream stream,
	struct philox_state *to, const struct philox_state *states,
	size_t n_states);

#ifdef __cplusplus
}
#endif
#endif
