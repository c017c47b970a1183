/*
 * philox/save.h - a context as a text, to resume a run from
 *
 * A text holds everything that decides future numbers: the generators, the
 * regions with the state and the serial of their next forward, destroyed names
 * included, every ticket that is pending or retained with its state, and the
 * tables of rows, which are copied from the device and back. Loaded into a
 * context that was set up in the same way (in a new process, on another device)
 * it makes that context continue bit for bit as the saved one would have.
 *
 *   philox_context_save(context, "step-1000.philox");
 *   ... later, after the same generators and regions were made ...
 *   philox_context_load(context, "step-1000.philox");
 *
 * It does not hold device memory, pools (philox/pool.h), graphs (capture them
 * again, or keep those the context has: they follow at their next launch) and
 * saved contexts, which are pointers: philox_region_tickets() tells which
 * tickets are pending after a load, and philox_ticket_attach() attaches them
 * again.
 *
 * The text is plain ASCII, with one object per line in an order that does not
 * depend on the order of creation, so that texts can be compared line by line.
 * Its first line has the version of the format, its last a checksum. The format
 * is described in Note [Saved context] in lib/save/save.h.
 *
 * Thread rule: every function here may be called from any thread, at the same
 * time as any other, unless its comment says otherwise.
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
 * philox_context_save_text() writes a context as a text that ends with a NUL,
 * and its size without that (`size` may be NULL). The caller frees the text
 * with free(). Waits for the device; other threads must not queue work on
 * tables of rows meanwhile. Errors: PHILOX_ERROR_BUSY, which names the first
 * pass that is open, capture that neither became a graph nor was dropped, or
 * graph between prologue and epilogue (an eager pass with PHILOX_PASS_INFERENCE
 * or PHILOX_PASS_WARMUP of a region that is not SHARED leaves no trace and
 * prevents nothing); PHILOX_ERROR_STATE for a row that holds poison instead of
 * a state; PHILOX_ERROR_UNANNOUNCED after a launch without philox,
 * PHILOX_ERROR_LIMIT after a run beyond a limit (philox/graph.h), until
 * philox_context_check() has reported it; PHILOX_ERROR_MEMORY; those of the
 * device. Not legal during any capture on the device, of whatever thread and
 * mode: if philox knows of the capture, by a pass of this context in it, the
 * call fails with PHILOX_ERROR_BUSY and the capture continues; any other
 * capture, your own with only calls on tables of rows for example, is
 * invalidated by the wait, as philox_device_synchronize() says, and the call
 * fails with PHILOX_ERROR_CAPTURE_UNSUPPORTED. Then nothing of the context has
 * changed, and the message says what to do before the next attempt: end the
 * captures, and synchronize the streams that this context's graphs, passes and
 * tables of rows were put on. Nothing else in philox waits for the device.
 */
PHILOX_API enum philox_status philox_context_save_text(
	struct philox_context *context, char **text, size_t *size);

/*
 * philox_context_load_text() loads a text of `size` bytes (a NUL at its end is
 * not counted) into a context that was set up like the saved one: as many
 * generators, in the same order of creation (the default one comes first); and
 * the same place in the same mesh (philox/mesh.h), its axes in the same order;
 * and the same regions, each with the same generator, flags, axes along which
 * it differs and operators (name, calls, advance) and with `pending` large
 * enough for the tickets to be loaded; and the same tables of rows, each with
 * the same generator and count. philox_context_load_ranks() (philox/mesh.h)
 * loads the texts of another mesh. The order in which regions and tables are
 * made does not matter. Waits for the device; other threads must not queue work
 * on tables of rows meanwhile. On an error nothing has changed, unless the
 * device fails twice, while rows are written and while they are put back.
 *
 * Loading replaces the ledger. Tickets that were pending are dropped, their
 * saved contexts released (with the null stream) and their number reported
 * through the log. Serials never go back: if the context's next serial of a
 * region is above the one in the text it stays, so a ticket that was issued
 * after the save is refused from then on (PHILOX_ERROR_RELEASED) and never
 * issued again. A ticket whose serial was issued before the save means what the
 * text says about it: in the run that was saved, itself.
 *
 * Destroyed names of the text are known after the load, and continue where they
 * were if they are made again. Destroyed names that are not in the text begin
 * at offset 0 again, as in the saved context.
 *
 * Errors: PHILOX_ERROR_INVALID, which names the line, for a text that is
 * malformed, cut or changed; PHILOX_ERROR_UNSUPPORTED for a newer version of
 * the format; PHILOX_ERROR_MISMATCH, which names the first difference, for a
 * context that was not set up like the saved one; and all those of
 * philox_context_save_text(). Not legal during capture, see there.
 */
PHILOX_API enum philox_status philox_context_load_text(
	struct philox_context *context, const char *text, size_t size);

/*
 * philox_context_save() writes the text of a context to a file, completely or
 * not at all: it is written and synchronised under another name in the same
 * folder and then replaces any file that was there. philox_context_load() loads
 * such a file. Errors: PHILOX_ERROR_FILE, which names the path and the reason,
 * and all those of the functions above. Not legal during capture.
 *
 * A process that is killed while it saves leaves the file with the other name,
 * .philox-PID-N.tmp. The next save into that folder removes it, unless another
 * process has that id by then, or files there cannot be locked: then it stays.
 * Files of living processes stay. The files of processes on other machines that
 * share the folder are recognised by their locks, which the file system must
 * show to all of them.
 */
PHILOX_API enum philox_status philox_context_save(
	struct philox_context *context, const char *path);
PHILOX_API enum philox_status philox_context_load(
	struct philox_context *context, const char *path);

/*
 * philox_region_tickets() writes the tickets of a region that are pending or
 * retained, in order of serial and at most `capacity` of them, and in *n how
 * many there are in all. `tickets` may be NULL if capacity is 0. Forwards that
 * are still open have no ticket yet. Errors: PHILOX_ERROR_INVALID,
 * PHILOX_ERROR_STALE (the region was destroyed), PHILOX_ERROR_MEMORY. Legal
 * during capture.
 */
PHILOX_API enum philox_status philox_region_tickets(
	struct philox_region *region, struct philox_ticket *tickets,
	size_t capacity, size_t *n);

/* --- comparing and looking inside ----------------------------------------- */

/*
 * When two runs that should agree do not, compare their digests from time to
 * time to find the step, the journals of that step (philox/save.h) to find
 * the event, and the states of tickets to find the numbers.
 *
 * Thread rule: every function here may be called from any thread, at the same
 * time as any other, unless its comment says otherwise.
 */

/*
 * philox_context_digest() writes 64 bits that two contexts share if and only if
 * (except by chance, one in 2^64) their passes will give the same numbers, and
 * their calls the same answers. It covers the generators in order of creation;
 * the regions with their operators and with the state and serial of their next
 * forward, including destroyed names under which anything was issued; every
 * ticket and open pass with its state; and the name, generator and size of
 * every table of rows. It does not cover the contents of the rows, which only
 * the device knows: two contexts with the same digest may draw different
 * numbers from their tables; compare the states of rows with philox_rows_get().
 * Nor does it cover the order in which regions were made, how many tickets a
 * region has room for, which tickets were used up, the device, graphs, and
 * saved contexts. So a context that was loaded has the digest of the one that
 * was saved. Do not compare digests of different versions of the library. Does
 * not wait for the device. Errors: PHILOX_ERROR_INVALID, PHILOX_ERROR_MEMORY.
 * Legal during capture.
 */
PHILOX_API enum philox_status philox_context_digest(
	struct philox_context *context, uint64_t *digest);

/*
 * philox_ticket_state() writes the state from which call `call` of operator
 * `op` draws in every pass of a ticket that is pending or retained: the state
 * that philox_pass_rng() gives, without a pass. Errors: PHILOX_ERROR_INVALID
 * (names the argument that is out of range), PHILOX_ERROR_STALE (the region was
 * destroyed), and those of philox_ticket_context(). Legal during capture.
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
 * gives every context of a process a journal from its creation on, in one file;
 * "%p" in the name becomes the process id, which ranks need, and a program that
 * makes contexts in children of fork(), too: a file that another process writes
 * is refused. The lines look like
 *
 *   philox journal 1
 *   0 1 context digest b7dc7e81a37ae0f5
 *   0 2 generator-set generator 0 seed 000000000000002a offset 0
 *   0 3 region-create region "layer" generator 0 flags none cells 4 ...
 *   0 4 forward-begin region "layer" ticket 1 seed 9f86d081884c7d65 ...
 *   0 5 forward-commit region "layer" ticket 1
 *
 * The first number is the context's, counted from 0 in order of creation in the
 * process; the second counts the events of that context that were written. The
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
 * backwards of their tickets, captures, launches, and all other events of a
 * journal, and saves too, as marks. Times are the host's, of CLOCK_MONOTONIC: a
 * launch ends when the device has it, and the passes within one are shown in
 * turn, since only the device knows when they run. The rules of PHILOX_JOURNAL
 * hold for "%p", for a file that cannot be begun and for one that ends. A
 * program that crashes leaves a trace that can be loaded. Each event costs a
 * write to the file, or two; nothing is spent if there is no trace.
 *
 * Under a profiler that takes NVTX ranges, eager and captured passes, captures
 * and launches are ranges of the domain "philox" ("layer forward", "step
 * launch"; the number of ticket or launch is the payload), in a library built
 * with the CUDA toolkit.
 *
 * Thread rule: every function here may be called from any thread, at the same
 * time as any other, unless its comment says otherwise.
 */

/*
 * philox_context_set_journal() begins a journal of a context at `path`, in
 * place of the one it has, or ends it (NULL). An existing file is replaced,
 * unless a context of this process is writing to that path: then the journal
 * continues and the contexts share it. The first line has the context's digest
 * (philox/save.h), which tells whether two journals begin at the same point.
 * Errors: PHILOX_ERROR_FILE, which names the path and the reason,
 * PHILOX_ERROR_INVALID, PHILOX_ERROR_MEMORY. Legal during capture.
 */
PHILOX_API enum philox_status philox_context_set_journal(
	struct philox_context *context, const char *path);

#ifdef __cplusplus
}
#endif
#endif
