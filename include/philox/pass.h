/*
 * philox/pass.h - passes and tickets
 *
 * A pass is one execution of a region. A forward pass makes numbers; a backward
 * (or recompute) pass of a ticket sees exactly the numbers that forward saw.
 *
 *   philox_forward_begin(region, stream, 0, &pass);
 *   philox_dropout(&pass, 0, PHILOX_F32, span, p, x, y);
 *   philox_forward_commit(&pass, &ticket);
 *   ...
 *   philox_backward_begin(region, ticket, stream, 0, &pass);
 *   philox_dropout(&pass, 0, PHILOX_F32, span, p, dy, dx);
 *   philox_backward_commit(&pass, 0);
 *
 * Rules of tickets, whatever is eager, captured or mixed:
 *
 *  - A forward reserves its numbers when it begins; whether it commits or
 *    aborts, they are never issued again.
 *  - A committed forward's ticket is pending until a backward consumes it or it
 *    is released. Any order will do, and passes with PHILOX_RETAIN and
 *    recomputes may repeat it any number of times.
 *  - A backward that aborts, or a launch that fails, leaves its ticket as it
 *    was. Of the open passes of a ticket one at a time may be consuming.
 *  - While a graph launch is using a ticket up, nobody else may begin with it
 *    (PHILOX_ERROR_BUSY).
 *  - A ticket that is used up, released or of a destroyed region is refused, and
 *    so is one that never was: serials do not repeat.
 *
 * Rules of passes on a stream that is capturing:
 *
 *  - No numbers are drawn and no live ticket is made: each launch of the graph
 *    is one execution of every pass in it, in order of begin (philox/graph.h).
 *  - A forward's commit gives a placeholder. A backward in the same capture
 *    takes it and repeats that forward, at every launch. A backward begun with
 *    the zero ticket, (struct philox_ticket){0, 0}, is named at each launch.
 *  - Whether the capture has been invalidated is seen at begin, at fills and at
 *    philox_pass_on(), not at commit.
 *
 * A pass is a value the caller holds, on its stack for instance; it may begin
 * on one thread and end on another, but is used by one thread at a time. Its
 * fields are the library's. An eager pass touches no device memory (unless
 * ON_DEVICE) and makes one device call, the query whether its stream is
 * capturing; each fill asks again, so that no number by value is ever captured.
 */
#ifndef PHILOX_PASS_H
#define PHILOX_PASS_H

#include <stdint.h>
#include <philox/context.h>
#include <philox/kernel.h>
#include <philox/region.h>

#ifdef __cplusplus
extern "C" {
#endif

struct philox_pass {
	struct philox_region *region;      /* NULL when not open */
	philox_stream stream;              /* where its work goes */
	struct philox_ticket ticket;       /* the forward it is or repeats */
	struct philox_state state;         /* region seed and offset (eager) */
	const struct philox_state *states; /* device cells, or NULL */
	void *cells;                       /* owner of the cells, or NULL */
	uint64_t capture_id;               /* 0: eager */
	uint64_t life;                     /* which life of the region's name */
	uint32_t index;                    /* captured: place in its capture */
	uint16_t kind;
	uint16_t flags;
};

enum philox_pass_flags {
	/* forward: no backward will come; no ticket, nothing is kept */
	PHILOX_INFERENCE = 1,
	/* forward: draws what the next forward will draw and reserves nothing,
	 * for warm-ups that must not change results; exempt from freshness */
	PHILOX_WARMUP = 2,
	/* backward: the ticket stays usable afterwards (retain_graph, the
	 * input-gradient half of a split backward, a recompute) */
	PHILOX_RETAIN = 4,
	/* fill a block of device cells for kernels that read pointers */
	PHILOX_ON_DEVICE = 8
};

/*
 * philox_forward_begin() begins a forward pass on a stream and reserves its
 * numbers. Flags: PHILOX_INFERENCE, PHILOX_WARMUP, PHILOX_ON_DEVICE. On a
 * stream that is capturing it records a template instead: nothing is reserved
 * until the graph is launched. Errors: PHILOX_ERROR_INVALID,
 * PHILOX_ERROR_LIMIT (all `pending` tickets are owed, or the capture holds too
 * many passes), PHILOX_ERROR_OVERFLOW (the region's offset has reached 2^64),
 * PHILOX_ERROR_STALE (region destroyed), PHILOX_ERROR_CAPTURE_INVALIDATED.
 * Legal during capture.
 */
PHILOX_API enum philox_status philox_forward_begin(struct philox_region *region,
						   philox_stream stream,
						   unsigned flags,
						   struct philox_pass *pass);

/*
 * philox_forward_commit() ends a forward pass: its backward is owed from now
 * on, and *ticket names it. With INFERENCE or WARMUP the ticket is the zero
 * ticket, and `ticket` may be NULL. In a capture the ticket is a placeholder
 * that names the pass within this capture only. Errors: PHILOX_ERROR_STATE (the
 * pass is not an open forward), PHILOX_ERROR_STALE. Legal during capture.
 */
PHILOX_API enum philox_status philox_forward_commit(
	struct philox_pass *pass, struct philox_ticket *ticket);

/*
 * philox_backward_begin() begins a pass that repeats the numbers of a ticket.
 * Without PHILOX_RETAIN the pass is a consuming one, of which a ticket has one
 * open at a time. On a stream that is capturing the ticket is a placeholder of
 * the same capture, or the zero ticket: the forward is then named at launch.
 * Errors: PHILOX_ERROR_RELEASED (used up, released or never issued),
 * PHILOX_ERROR_MISMATCH (of another region, a placeholder of another capture,
 * a live ticket in a capture), PHILOX_ERROR_STATE (its forward is still open),
 * PHILOX_ERROR_BUSY (a consuming backward of it is open), PHILOX_ERROR_STALE,
 * PHILOX_ERROR_LIMIT, PHILOX_ERROR_CAPTURE_INVALIDATED. Legal during capture.
 */
PHILOX_API enum philox_status philox_backward_begin(
	struct philox_region *region, struct philox_ticket ticket,
	philox_stream stream, unsigned flags, struct philox_pass *pass);

/*
 * philox_backward_commit() ends a backward pass. The ticket is used up and its
 * saved context released, unless the pass was begun with PHILOX_RETAIN or is
 * committed with it. A use-up while other passes of the ticket are open takes
 * effect when the last of them ends; until then new ones are refused. Errors:
 * PHILOX_ERROR_STATE, PHILOX_ERROR_STALE. Legal during capture.
 */
PHILOX_API enum philox_status philox_backward_commit(struct philox_pass *pass,
						     unsigned flags);

/*
 * philox_recompute_begin() is philox_backward_begin() with PHILOX_RETAIN: the
 * same numbers again, nothing consumed. It may nest and may lie inside a pass
 * of another region. It ends with philox_backward_commit(). Errors as
 * philox_backward_begin(). Legal during capture.
 */
PHILOX_API enum philox_status philox_recompute_begin(
	struct philox_region *region, struct philox_ticket ticket,
	philox_stream stream, unsigned flags, struct philox_pass *pass);

/*
 * philox_pass_abort() ends a pass that failed. A forward's ticket is gone and
 * its numbers are burnt, never reissued; a backward leaves its ticket exactly
 * as it was. A capture with an aborted pass in it cannot be adopted. A pass of
 * a destroyed region can be aborted. Errors: PHILOX_ERROR_STATE. Legal during
 * capture.
 */
PHILOX_API enum philox_status philox_pass_abort(struct philox_pass *pass);

/*
 * philox_pass_on() writes a view of an open pass for another stream: the same
 * numbers, drawn there. The stream must be in the same capture as the pass (for
 * an eager pass, in none), else PHILOX_ERROR_MISMATCH. The caller orders the
 * streams: a view that reads cells draws after what the pass's stream had
 * queued at begin, and before what that stream does after commit. A view needs
 * no end and cannot be committed or aborted. Legal during capture.
 */
PHILOX_API enum philox_status philox_pass_on(const struct philox_pass *pass,
					     philox_stream stream,
					     struct philox_pass *view);

/*
 * philox_pass_states() writes the device address of the pass's cells, one
 * struct philox_state per call of each operator (philox_region_cell()), for
 * kernels that read {seed, offset} from device memory. The same array shape in
 * forward, backward and recompute. The cells are valid for work queued on the
 * pass's stream until the pass ends; in a capture, within its graph.
 * PHILOX_ERROR_STATE for an eager pass begun without PHILOX_ON_DEVICE. Legal
 * during capture.
 */
PHILOX_API enum philox_status philox_pass_states(
	const struct philox_pass *pass, const struct philox_state **states);

/*
 * philox_pass_rng() writes the argument for a kernel of one's own that draws as
 * call `call` of operator `op`: by value in an eager pass, by the cell's
 * address in a captured or ON_DEVICE one. PHILOX_ERROR_INVALID if op or call is
 * out of range. Legal during capture.
 */
PHILOX_API enum philox_status philox_pass_rng(const struct philox_pass *pass,
					      uint32_t op, uint32_t call,
					      struct philox_rng *rng);

/*
 * philox_ticket_release() drops a ticket: its backward will not come. The saved
 * context is released on the given stream. Errors: PHILOX_ERROR_RELEASED (dead
 * already), PHILOX_ERROR_MISMATCH, PHILOX_ERROR_BUSY (passes of it are open),
 * PHILOX_ERROR_STATE (its forward is open: abort that). Legal during capture.
 */
PHILOX_API enum philox_status philox_ticket_release(
	struct philox_region *region, struct philox_ticket ticket,
	philox_stream stream);

/*
 * philox_ticket_attach() gives a pending ticket a saved context: a pointer and
 * a function that releases it, called exactly once, when the ticket is used up,
 * released or destroyed, with the stream of that event, in whose order it must
 * free. It may call philox, but must not destroy the graph or the context whose
 * call releases it. It survives PHILOX_RETAIN. A ticket holds one
 * (PHILOX_ERROR_EXISTS). philox_ticket_context() writes the pointer
 * (PHILOX_ERROR_NOT_FOUND if there is none). Further errors as
 * philox_ticket_release(). Legal during capture.
 */
PHILOX_API enum philox_status philox_ticket_attach(
	struct philox_region *region, struct philox_ticket ticket, void *saved,
	void (*release)(void *saved, philox_stream stream));
PHILOX_API enum philox_status philox_ticket_context(
	struct philox_region *region, struct philox_ticket ticket,
	void **saved);

#ifdef __cplusplus
}
#endif
#endif
