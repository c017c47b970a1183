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
#include <philox/context.h>
#include <philox/region.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * philox_context_save_text() writes a context as a text that ends with a NUL,
 * and its size without that (`size` may be NULL). The caller frees the text
 * with free(). Waits for the device; other threads must not queue work on
 * tables of rows meanwhile. Errors: PHILOX_ERROR_BUSY, which names the first
 * pass that is open, capture that neither became a graph nor was dropped, or
 * graph between prologue and epilogue (an eager pass with PHILOX_INFERENCE or
 * PHILOX_WARMUP of a region that is not SHARED leaves no trace and prevents
 * nothing); PHILOX_ERROR_STATE for a row that holds poison instead of a state;
 * PHILOX_ERROR_UNANNOUNCED after a launch without philox, PHILOX_ERROR_LIMIT
 * after a run beyond a limit (philox/conditional.h), until philox_check()
 * has reported it; PHILOX_ERROR_MEMORY; those of the device. Not legal during
 * any capture on the device, of whatever thread and mode: if philox knows of
 * the capture, by a pass of this context in it, the call fails with
 * PHILOX_ERROR_BUSY and the capture continues; any other capture, your own with
 * only calls on tables of rows for example, is invalidated by the wait, as
 * philox_device_synchronize() says, and the call fails with
 * PHILOX_ERROR_CAPTURE_UNSUPPORTED. Then nothing of the context has changed,
 * and the message says what to do before the next attempt: end the captures,
 * and synchronize the streams that this context's graphs, passes and tables of
 * rows were put on. Nothing else in philox waits for the device.
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
 * the same generator and count. philox_mesh_load() (philox/mesh_save.h) loads
 * the texts of another mesh. The order in which regions and tables are made
 * does not matter. Waits for the device; other threads must not queue work on
 * tables of rows meanwhile. On an error nothing has changed, unless the device
 * fails twice, while rows are written and while they are put back.
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

#ifdef __cplusplus
}
#endif
#endif
