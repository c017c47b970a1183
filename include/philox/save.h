/*
 * philox/save.h - a context as a text, to resume a run from
 *
 * A text holds everything that decides future numbers: the generators; the
 * regions, destroyed ones included, with the state and the serial of their next
 * forward; every ticket that is pending or retained, with its state; and the
 * tables of rows. Rows are copied from the device and back. Loaded into a
 * context that was set up in the same way (in a new process, on another device)
 * it makes that context continue bit for bit as the saved one would have.
 *
 *   philox_context_save(context, "step-1000.philox");
 *   ... later, after the same generators and regions were made ...
 *   philox_context_load(context, "step-1000.philox");
 *
 * A program that makes regions when it needs them can load the text before it
 * makes them, and each then begins with what the text says of it
 * (PHILOX_LOAD_AHEAD below).
 *
 * It does not hold device memory, pools (philox/pool.h), graphs and saved
 * contexts, which are pointers. Outputs of runners are saved beside it, and it
 * then has their digest (philox_outputs_save() in philox/runner.h). Capture
 * graphs again, or keep those that the context has: they follow at their next
 * launch. philox_region_tickets() tells which tickets are pending after a load,
 * and philox_ticket_attach() attaches saved contexts again.
 *
 * The text is plain ASCII, with one object per line in an order that does not
 * depend on the order of creation, so that texts can be compared line by line.
 * Its first line has the version of the format, its last a checksum. The format
 * is described in Note [Saved context] in lib/save/save.h.
 */
#ifndef PHILOX_SAVE_H
#define PHILOX_SAVE_H

#include <stddef.h>
#include <stdint.h>
#include <philox/context.h>
#include <philox/region.h>
#include <philox/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Write a context as a text, and wait for the device.
 *
 *   context    the context
 *   text       written: the text, which ends with a NUL; free it with free()
 *   bytes      written: its size without the NUL; NULL is allowed
 *
 * An eager pass with PHILOX_PASS_INFERENCE or PHILOX_PASS_WARMUP of a region
 * that is not SHARED leaves no trace and prevents nothing. Nothing else in
 * philox waits for the device.
 *
 * Returns PHILOX_OK, or an error; then nothing of the context has changed.
 * Errors:
 *   PHILOX_ERROR_BUSY      names the first pass that is open, capture that
 *                          neither became a graph nor was dropped, or graph
 *                          between prologue and epilogue
 *   PHILOX_ERROR_STATE     a row holds poison instead of a state
 *   PHILOX_ERROR_UNANNOUNCED
 *                          a launch without philox, until
 *                          philox_context_check() has reported it
 *   PHILOX_ERROR_LIMIT     a run beyond a limit (philox/graph.h), likewise
 *   PHILOX_ERROR_CAPTURE_UNSUPPORTED
 *                          a capture on the device, see below
 *   PHILOX_ERROR_INVALID   an argument is NULL
 *   PHILOX_ERROR_MEMORY
 *   those of the device
 * During capture: not legal during any capture on the device, of any thread and
 * mode. If philox knows of the capture, by a pass of this context in it, the
 * call fails with PHILOX_ERROR_BUSY and the capture continues. The wait
 * invalidates any other capture, for example your own with only calls on tables
 * of rows, as philox_device_synchronize() says. Then the call fails with
 * PHILOX_ERROR_CAPTURE_UNSUPPORTED. The message says what to do before the next
 * attempt: end the captures, and synchronize the streams on which this
 * context's graphs, passes and tables of rows were put.
 * Threads: any; no other thread may queue work on tables of rows meanwhile.
 */
PHILOX_API enum philox_status philox_context_save_text(
	struct philox_context *context, char **text, size_t *bytes);

/*
 * Load a text into a context that was set up like the saved one, and wait for
 * the device.
 *
 *   context    the context
 *   text       the text
 *   bytes      its size; a NUL at its end is not counted
 *
 * The context must have as many generators, in the same order of creation (the
 * default one comes first), and the same place in the same mesh
 * (philox/mesh.h), its axes in the same order. It must have the same regions,
 * each with the same generator, flags, axes along which it differs and
 * operators (name, calls, advance), and with `pending` large enough for the
 * tickets of the text. It must have the same tables of rows, each with the same
 * generator and count, and the same data (philox/data.h), each with the same
 * generator and order. When regions, tables and data were created does not
 * matter. philox_context_load_ranks() (philox/mesh.h) loads the texts of
 * another mesh.
 *
 * A generator keeps the flag that it was created with, whatever the text says,
 * as no number depends on it. So a program that begins to use
 * PHILOX_GENERATOR_DIFFERS can load its older texts.
 *
 * Loading replaces the ledger. Tickets that were pending are dropped: their
 * saved contexts are released with the null stream, and the log has their
 * number. Serials never go back. If the context's next serial of a region is
 * above that of the text, it stays. A ticket that was issued after the save is
 * then refused (PHILOX_ERROR_RELEASED) and never issued again. A ticket whose
 * serial was issued before the save means what the text says about it: in the
 * run that was saved, itself.
 *
 * Destroyed names of the text are known after the load, and continue where they
 * were if they are created again. Destroyed names that the text does not have
 * begin at offset 0 again, as in the saved context.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed, unless the device
 * fails twice: while rows are written and while they are put back.
 * Errors:
 *   PHILOX_ERROR_INVALID       names the line of a text that is malformed, cut
 *                              or changed
 *   PHILOX_ERROR_UNSUPPORTED   a newer version of the format
 *   PHILOX_ERROR_MISMATCH      names the first difference to the saved context
 *   those of philox_context_save_text()
 * During capture: not legal during any capture on the device, see
 * philox_context_save_text().
 * Threads: any; no other thread may queue work on tables of rows meanwhile.
 */
PHILOX_API enum philox_status philox_context_load_text(
	struct philox_context *context, const char *text, size_t bytes);

/*
 * Write the text of a context to a file, completely or not at all.
 *
 *   context    the context
 *   path       the file, which is replaced
 *
 * The text is written and synchronised under another name beside the file, and
 * then replaces the file, which keeps its mode. A new file is for its owner
 * alone (0600). If the path is a link, what it leads to is replaced, and the
 * link stays.
 *
 * Things that are no files are not replaced. A character device and a pipe
 * that somebody reads are written to. /dev/stdout, /dev/stderr, /dev/fd/N and
 * /proc/self/fd/N are written to where they stand, even if they are files.
 * Folders, sockets, block devices, a pipe that nobody reads, and links of
 * another user in a sticky folder are refused.
 *
 * The other name is in a folder of the user beside the file, .philox-UID, mode
 * 0700; where that cannot be, it is beside the file itself. A process that is
 * killed while it saves leaves both, the file being .philox-PID-N.tmp. The same
 * user's next save into that folder removes them, unless another process has
 * that id by then, or files there cannot be locked. What another user has left,
 * such as root, is in the folder of that user, and stays. Files of living
 * processes stay. Processes on other machines that share the folder are
 * recognised by their locks, which the file system must show to all of them.
 *
 * What else is in the folder of the file is not looked at. But a save whose
 * other name is beside the file itself looks through all of that folder, and
 * what such a save leaves when it is killed, only such a save removes.
 *
 * Returns PHILOX_OK, or an error; then the file is as it was, unless the
 * message says that it was replaced and its folder cannot be synchronised.
 * Errors:
 *   PHILOX_ERROR_FILE   names the path and the reason; also a text of more than
 *                       4 GiB
 *   those of philox_context_save_text()
 * During capture: not legal during any capture on the device, see
 * philox_context_save_text().
 * Threads: any; no other thread may queue work on tables of rows meanwhile.
 */
PHILOX_API enum philox_status philox_context_save(
	struct philox_context *context, const char *path);

/*
 * Load a file that philox_context_save() wrote.
 *
 *   context    as for philox_context_load_text()
 *   path       the file
 *
 * If the first line is not that of a saved context, no more is read.
 *
 * Returns PHILOX_OK, or an error as of philox_context_load_text().
 * Errors:
 *   PHILOX_ERROR_FILE   names the path and the reason; also a file of more than
 *                       4 GiB
 *   those of philox_context_load_text()
 * During capture: not legal during any capture on the device, see
 * philox_context_save_text().
 * Threads: any; no other thread may queue work on tables of rows meanwhile.
 */
PHILOX_API enum philox_status philox_context_load(
	struct philox_context *context, const char *path);

/* --- loading ahead of regions --------------------------------------------- */

enum philox_load_flags {
	/* Regions of the text that the context does not have are no difference:
	 * they are kept aside, *unclaimed*, until a region is made under their
	 * name. */
	PHILOX_LOAD_AHEAD = 1
};

/*
 * Load a text into a context, with flags.
 *
 *   context    the context
 *   text       the text
 *   bytes      its size; a NUL at its end is not counted
 *   flags      enum philox_load_flags, or 0: philox_context_load_text()
 *
 * With PHILOX_LOAD_AHEAD all rules of philox_context_load_text() hold but one.
 * A region that is alive in the text may be one that the context does not have,
 * or has destroyed. It is unclaimed then. If philox_region_create() makes a
 * region of its name, that is the saved one: it has the state and the serial of
 * its next forward, and all its tickets are pending. A region of the context
 * that the text does not have stays a difference, and so do generators, tables
 * of rows and data that either of them lacks.
 *
 * A region claims its name only with the generator, flags, axes along which it
 * differs and operators that the text has, and with `pending` large enough for
 * its tickets. Else making it fails with PHILOX_ERROR_MISMATCH, and the name
 * stays unclaimed.
 *
 * An unclaimed region is in the texts and the digest of the context. Its
 * generator cannot be destroyed, and a new seed restarts it. What needs the
 * region itself does not find it: ranks that are compared and their digests
 * (philox_context_agree()), outputs that were saved with its tickets
 * (philox_outputs_load()), and a load without the flag.
 * philox_context_unclaimed() lists the names.
 *
 * Each load that succeeds, with or without the flag and also of ranks, drops
 * what was unclaimed, and the log has the number of tickets. What is unclaimed
 * when the context is destroyed ends with it, and the log does not say so: to
 * keep it, save first.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed, unless the device
 * fails twice, as for philox_context_load_text().
 * Errors:
 *   PHILOX_ERROR_INVALID   an unknown flag; with PHILOX_LOAD_AHEAD a region of
 *                          the text that cannot be made, the message has the
 *                          line
 *   those of philox_context_load_text()
 * During capture: not legal during any capture on the device, see
 * philox_context_save_text().
 * Threads: any; no other thread may queue work on tables of rows meanwhile.
 */
PHILOX_API enum philox_status philox_context_load_text_flags(
	struct philox_context *context, const char *text, size_t bytes,
	uint32_t flags);

/*
 * Load a file that philox_context_save() wrote, with flags.
 *
 *   context    as for philox_context_load_text_flags()
 *   path       the file
 *   flags      enum philox_load_flags, or 0: philox_context_load()
 *
 * Returns PHILOX_OK, or an error as of philox_context_load_text_flags().
 * Errors:
 *   PHILOX_ERROR_FILE   as for philox_context_load()
 *   those of philox_context_load_text_flags()
 * During capture: not legal during any capture on the device, see
 * philox_context_save_text().
 * Threads: any; no other thread may queue work on tables of rows meanwhile.
 */
PHILOX_API enum philox_status philox_context_load_flags(
	struct philox_context *context, const char *path, uint32_t flags);

/*
 * Write the names of the regions that are unclaimed.
 *
 *   context    the context
 *   names      written: in ascending order of their bytes; may be NULL if
 *              capacity is 0. They live as long as the context
 *   capacity   how many there is room for
 *   n_names    written: how many there are in all
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   an argument is NULL
 *   PHILOX_ERROR_MEMORY
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_context_unclaimed(
	struct philox_context *context, const char **names, size_t capacity,
	size_t *n_names);

/* --- tickets that are pending --------------------------------------------- */

/*
 * Write the tickets of a region that are pending or retained.
 *
 *   region     the region
 *   tickets    written: in order of serial; may be NULL if capacity is 0
 *   capacity   how many there is room for
 *   n_tickets  written: how many there are in all
 *
 * Forwards that are still open have no ticket yet.
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   an argument is NULL
 *   PHILOX_ERROR_STALE     the region was destroyed
 *   PHILOX_ERROR_MEMORY
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_region_tickets(
	struct philox_region *region, struct philox_ticket *tickets,
	size_t capacity, size_t *n_tickets);

/* --- comparing and looking inside ----------------------------------------- */

/*
 * When two runs that should agree do not, compare their digests from time to
 * time to find the step, the journals of that step to find the event,
 * and the states of tickets to find the numbers.
 */

/*
 * Write 64 bits by which two contexts can be compared.
 *
 *   context    the context
 *   digest     written
 *
 * Two contexts share a digest if and only if (except by chance, one in 2^64)
 * their passes will give the same numbers and their calls the same answers. It
 * covers the generators in order of creation. It covers the regions with their
 * operators and with the state and serial of their next forward, including
 * destroyed names under which anything was issued. It covers every ticket and
 * open pass with its state, the name, generator and size of every table of
 * rows, and the name, order and position of all data. A context that was loaded
 * has the digest of the one that was saved.
 *
 * It does not cover the contents of the rows, which only the device knows:
 * compare the states of rows with philox_rows_get(). Nor does it cover the
 * order in which regions were created, how many tickets a region has room for,
 * which tickets were used up, the device, graphs and saved contexts. Do not
 * compare digests of different versions of the library. It does not wait for
 * the device.
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   an argument is NULL
 *   PHILOX_ERROR_MEMORY
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_context_digest(
	struct philox_context *context, uint64_t *digest);

/*
 * Write the state from which a ticket's passes draw for one call of an
 * operator.
 *
 *   region     the ticket's region
 *   ticket     a pending or retained ticket
 *   op         the operator, in the order of the region's table
 *   call       below the operator's `calls`
 *   state      written: what philox_pass_rng() gives, without a pass
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   names the argument that is out of range
 *   PHILOX_ERROR_STALE     the region was destroyed
 *   those of philox_ticket_context()
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_ticket_state(struct philox_region *region,
						  struct philox_ticket ticket,
						  uint32_t op, uint32_t call,
						  struct philox_state *state);

/* --- journals ------------------------------------------------------------- */

/*
 * A journal records in which order events happened in a context and which
 * states they drew from. Two runs of one program write the same bytes on any
 * device: it has no times, addresses or thread ids. `philox diff A B` names the
 * first difference of two journals, `philox inspect A` summarises one.
 *
 *   PHILOX_JOURNAL=run.journal ./train
 *
 * gives every context of a process a journal from its creation on, in one file.
 * "%p" in the name becomes the process id. Ranks need it, and programs that
 * make contexts in children of fork(): a file that another process writes is
 * refused, and so is the file of the parent, even when the parent has ended it.
 * A link to a file is refused, since the file would be emptied. /dev/stdout,
 * /dev/stderr and /dev/fd/N are written to where they stand. A new file is for
 * its owner alone (0600). The lines look like
 *
 *   philox journal 1
 *   0 1 context digest b7dc7e81a37ae0f5
 *   0 2 generator-set generator 0 seed 000000000000002a offset 0
 *   0 3 region-create region "layer" generator 0 flags none cells 4 ...
 *   0 4 forward-begin region "layer" ticket 1 seed 9f86d081884c7d65 ...
 *   0 5 forward-commit region "layer" ticket 1 seed 9f86d081884c7d65 ...
 *
 * The first number is the context's, counted from 0 in order of creation in the
 * process. The second counts the events of that context that were written. The
 * events of a context are in the order in which they took effect; those of
 * several contexts are mixed. All events and their fields are listed in Note
 * [Journal] in lib/state/state.h.
 *
 * If PHILOX_JOURNAL is set and not empty, and the file cannot be begun,
 * creating a context fails with PHILOX_ERROR_FILE and a message that names the
 * variable, the path and the reason. A journal that has begun never makes a
 * call fail: if it cannot be written any more it ends, with a warning through
 * the log. Each line is written at once, so a program that crashes leaves a
 * journal that is complete up to the crash.
 *
 *   philox inspect --trace run.json run.journal
 *   philox inspect --svg run.journal >run.svg
 *
 * show a journal as a picture. With times, and without a journal:
 *
 *   PHILOX_TRACE=run.json ./train
 *
 * writes what happens in the contexts of a process as a trace that
 * ui.perfetto.dev and chrome://tracing load, in the JSON of the Trace Event
 * Format: passes from begin to commit or abort, arrows from forwards to the
 * backwards of their tickets, captures and launches. All other events of a
 * journal, and saves, are marks. Times are the host's, of CLOCK_MONOTONIC: a
 * launch ends when the device has it, and the passes within one are shown in
 * turn, since only the device knows when they run. The rules of PHILOX_JOURNAL
 * hold for "%p", for a file that cannot be begun and for one that ends. A
 * program that crashes leaves a trace that can be loaded. Each event costs a
 * write to the file, or two; nothing is spent if there is no trace.
 *
 * A library built with the CUDA toolkit tells profilers of NVTX ranges: eager
 * and captured passes, captures and launches are ranges of the domain "philox"
 * ("layer forward", "step launch"). The number of ticket or launch is the
 * payload.
 */

/*
 * Begin a journal of a context, or end the one it has.
 *
 *   context    the context
 *   path       the file; NULL ends the journal. An existing file is replaced,
 *              unless a context of this process is writing to that path: then
 *              the journal continues and the contexts share it
 *
 * The first line has the context's digest, which tells whether two journals
 * begin at the same point.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_FILE      names the path and the reason
 *   PHILOX_ERROR_INVALID   context is NULL
 *   PHILOX_ERROR_MEMORY
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_context_set_journal(
	struct philox_context *context, const char *path);

#ifdef __cplusplus
}
#endif
#endif
