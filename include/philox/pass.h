/*
 * philox/pass.h - passes and tickets
 *
 * A pass is one execution of a region. A forward pass draws numbers; a backward
 * (or recompute) pass of a ticket sees exactly the numbers that its forward
 * saw.
 *
 *   philox_forward_begin(region, stream, 0, &pass);
 *   philox_pass_dropout(&pass, 0, PHILOX_DTYPE_F32, span, p, x, y);
 *   philox_pass_commit(&pass, 0, &ticket);
 *   ...
 *   philox_backward_begin(region, stream, ticket, 0, &pass);
 *   philox_pass_dropout(&pass, 0, PHILOX_DTYPE_F32, span, p, dy, dx);
 *   philox_pass_commit(&pass, 0, NULL);
 *
 * Within a forward, one call of one operator has one number for each element: a
 * second dropout through operator 0 above would drop the same elements as the
 * first. So a tensor may be drawn in chunks, and drawn again; what is to have
 * other numbers needs an operator of its own, or another call of one
 * (philox/region.h). Two fills of a forward that overlap are reported by the
 * device host:strict, and by a debug build of philox: a warning through the log
 * with region, operator and ticket, once for each operator and pass. Numbers
 * that your own kernels draw (philox_pass_rng(), philox_pass_states()) are not
 * seen, and neither are warm-ups.
 *
 * Rules of tickets, for eager and captured passes and any mix of them:
 *
 *  - A forward reserves its numbers when it begins; whether it commits or
 *    aborts, they are never issued again.
 *  - A committed forward's ticket is pending until a backward consumes it or it
 *    is released. Backwards may come in any order, and passes with
 *    PHILOX_PASS_RETAIN, such as recomputes, may repeat a forward any number of
 *    times.
 *  - A backward that aborts, or a launch that fails, leaves its ticket as it
 *    was. At most one open pass of a ticket may be consuming.
 *  - While a graph launch is using a ticket up, no other pass of it may begin
 *    (PHILOX_ERROR_BUSY).
 *  - A ticket that is used up, released or of a destroyed region is refused,
 *    and so is one that was never issued: serials do not repeat.
 *
 * Rules of passes on a stream that is capturing:
 *
 *  - No numbers are drawn and no live ticket is made: each launch of the graph
 *    executes every pass in it once, in order of begin (philox/graph.h).
 *  - A forward's commit gives a placeholder. A backward in the same capture
 *    takes it and repeats that forward, at every launch. A backward begun with
 *    the zero ticket, (struct philox_ticket){0, 0}, is named at each launch.
 *  - A recompute and a backward of one forward that is named at launch are
 *    linked: the first of them begins with the zero ticket, and the others with
 *    the placeholder that philox_pass_ticket() gives for it. A launch names the
 *    ticket once, for the first; it is used up if one of them is a consuming
 *    backward and the launch does not retain it. Passes that begin with the
 *    zero ticket are named one by one.
 *  - An invalidated capture is detected at begin, at fills and at
 *    philox_pass_on(), not at commit.
 *
 * A begin that fails writes a pass that is not open: committing or aborting it
 * is refused with PHILOX_ERROR_STATE. So clean-up may abort a pass without
 * knowing whether its begin succeeded.
 *
 * A pass is a value that the caller holds, on its stack for instance; it may
 * begin on one thread and end on another, but only one thread at a time may use
 * it. Its fields belong to the library. An eager pass touches no device memory
 * (unless ON_DEVICE) and makes one device call, which asks whether its stream
 * is capturing; each fill asks again, so that no number is ever captured by
 * value.
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
	uint32_t iterations;  /* that it, or its forward, has */
	uint32_t iteration;   /* a view: which of them */
	uint64_t run;         /* of a body of a runner; 0: none */
	uint64_t reserved[2]; /* room to grow; 0 */
};

enum philox_pass_flags {
	/* forward: there will be no backward; no ticket, nothing is kept */
	PHILOX_PASS_INFERENCE = 1,
	/* forward: draws what the next forward will draw and reserves nothing,
	 * for warm-ups that must not change results; exempt from freshness */
	PHILOX_PASS_WARMUP = 2,
	/* backward: the ticket stays usable afterwards (retain_graph, the
	 * input-gradient half of a split backward, a recompute) */
	PHILOX_PASS_RETAIN = 4,
	/* fill a block of device cells for kernels that read pointers */
	PHILOX_PASS_ON_DEVICE = 8,
	/* captured backward in a body: from the forward's last iteration of the
	 * launch to its first (philox/graph.h) */
	PHILOX_PASS_REVERSED = 16
};

/*
 * philox_forward_begin() begins a forward pass on a stream and reserves its
 * numbers. Flags: PHILOX_PASS_INFERENCE, PHILOX_PASS_WARMUP,
 * PHILOX_PASS_ON_DEVICE. On a stream that is capturing it records the pass
 * instead: no numbers are reserved until the graph is launched. Errors:
 * PHILOX_ERROR_INVALID, PHILOX_ERROR_LIMIT (the region already has `pending`
 * tickets, or the capture holds too many passes), PHILOX_ERROR_OVERFLOW (the
 * region's offset has reached 2^64), PHILOX_ERROR_STALE (region destroyed),
 * PHILOX_ERROR_CAPTURE_INVALIDATED. Legal during capture.
 */
PHILOX_API enum philox_status philox_forward_begin(struct philox_region *region,
						   philox_stream stream,
						   unsigned flags,
						   struct philox_pass *pass);

/*
 * philox_forward_begin_loop() does the same for a forward of `limit` iterations
 * under one ticket, each with numbers of its own, which philox_pass_at() gives;
 * the pass itself draws iteration 0. It reserves limit x the region's advance,
 * as each launch does for a forward in a body of that limit
 * (philox/graph.h), and draws the same numbers: the same loop, eager or
 * unrolled. Further errors: PHILOX_ERROR_INVALID (a limit of 0),
 * PHILOX_ERROR_STATE (a limit above 1, and the stream captures a body, whose
 * limit is the pass's).
 */
PHILOX_API enum philox_status philox_forward_begin_loop(
	struct philox_region *region, philox_stream stream, unsigned flags,
	uint32_t limit, struct philox_pass *pass);

/*
 * philox_backward_begin() begins a pass that repeats the numbers of a ticket.
 * With PHILOX_PASS_RETAIN the ticket is kept: a recompute, which may be nested
 * and may be inside a pass of another region.
 * Without PHILOX_PASS_RETAIN the pass is consuming; a ticket has at most one
 * such pass open. On a stream that is capturing the ticket is a placeholder of
 * the same capture, of a forward or of a backward named at launch, which may
 * still be open; or the zero ticket: then the forward is named at launch.
 * Errors: PHILOX_ERROR_RELEASED (used up, released or never issued),
 * PHILOX_ERROR_MISMATCH (of another region, a placeholder of another capture, a
 * live ticket in a capture, fewer iterations than the pass may take),
 * PHILOX_ERROR_INVALID (a flag that does not fit), PHILOX_ERROR_STATE (its
 * forward is still open; the captured pass of the placeholder was aborted),
 * PHILOX_ERROR_BUSY (a consuming backward of it is open), PHILOX_ERROR_STALE,
 * PHILOX_ERROR_LIMIT, PHILOX_ERROR_CAPTURE_INVALIDATED. Legal during capture.
 */
PHILOX_API enum philox_status philox_backward_begin(
	struct philox_region *region, philox_stream stream,
	struct philox_ticket ticket, unsigned flags, struct philox_pass *pass);

/*
 * philox_pass_commit() ends a pass. Legal during capture.
 *
 * A forward: `flags` is 0. Its backward is owed from now on, and *ticket names
 * it. With INFERENCE or WARMUP the ticket is the zero ticket, and `ticket` may
 * be NULL. In a capture the ticket is a placeholder that names the pass within
 * this capture only.
 *
 * A backward: the ticket is used up and its saved context released, unless the
 * pass was begun with PHILOX_PASS_RETAIN or is committed with it. If other
 * passes of the ticket are open, it is used up when the last of them ends;
 * until then new ones are refused. `ticket` may be NULL, and gets the zero
 * ticket.
 *
 * Errors: PHILOX_ERROR_STATE (the pass is not open), PHILOX_ERROR_INVALID (a
 * flag that does not fit; a forward that owes a backward, and `ticket` is
 * NULL), PHILOX_ERROR_STALE.
 */
PHILOX_API enum philox_status philox_pass_commit(struct philox_pass *pass,
						 unsigned flags,
						 struct philox_ticket *ticket);

/*
 * philox_pass_abort() ends a pass that failed. A forward's ticket is gone and
 * its numbers are burnt, never reissued; a backward leaves its ticket exactly
 * as it was. A capture with an aborted pass in it cannot be adopted. A pass of
 * a destroyed region can be aborted. Errors: PHILOX_ERROR_STATE. Legal during
 * capture.
 */
PHILOX_API enum philox_status philox_pass_abort(struct philox_pass *pass);

/*
 * philox_pass_on() writes a view of an open pass for another stream, which
 * draws the same numbers there. The stream must be in the same capture as the
 * pass (for an eager pass, in none), else PHILOX_ERROR_MISMATCH. The caller
 * orders the streams: a view that reads cells draws after the work that the
 * pass's stream had queued at begin (a view of a view by philox_pass_at() or
 * philox_pass_at_word(): when that one was made), and before the work that
 * stream does after commit. A pass in the body of a conditional node is drawn
 * in that body only. A view needs no end and cannot be committed or aborted.
 * Legal during capture.
 */
PHILOX_API enum philox_status philox_pass_on(const struct philox_pass *pass,
					     philox_stream stream,
					     struct philox_pass *view);

/*
 * philox_pass_at() writes a view of an open pass, on the same stream, that
 * draws iteration `iteration` of it: of a forward begun by
 * philox_forward_begin_loop(), and of any backward of such a forward or of one
 * that was in the body of a loop (philox/graph.h). Iteration 0 is what
 * each pass draws that is in no body. A view of a view is one of its pass. A
 * captured view has cells of its own, which hold this iteration in each run of
 * a body, also beyond the body's limit. The view needs no end. Errors:
 * PHILOX_ERROR_INVALID (its forward does not have that iteration; a captured
 * backward whose forward is named at launch has any: PHILOX_ERROR_MISMATCH at
 * launch), PHILOX_ERROR_STATE, PHILOX_ERROR_STALE, PHILOX_ERROR_MISMATCH (the
 * stream is not where the pass began), PHILOX_ERROR_LIMIT, PHILOX_ERROR_MEMORY,
 * PHILOX_ERROR_CAPTURE_INVALIDATED, those of the device. Legal during capture.
 *
 * philox_pass_at_word() does so for a captured pass with an iteration that a
 * kernel, recorded by this call, reads from a word of device memory, aligned to
 * 4, each time; an iteration that there is not is poison, and
 * philox_context_check() reports it. What the stream records later sees the
 * view's numbers. Further errors: PHILOX_ERROR_INVALID (the word),
 * PHILOX_ERROR_STATE (an eager pass: its caller knows the iteration).
 */
PHILOX_API enum philox_status philox_pass_at(const struct philox_pass *pass,
					     uint32_t iteration,
					     struct philox_pass *view);
PHILOX_API enum philox_status philox_pass_at_word(
	const struct philox_pass *pass, const uint32_t *word,
	struct philox_pass *view);

/*
 * philox_pass_states() writes the device address of the pass's cells, one
 * struct philox_state per call of each operator (philox_region_cell_index()),
 * for kernels that read {seed, offset} from device memory. The array has the
 * same shape in forward, backward and recompute. The cells are valid for work
 * queued on the pass's stream until the pass ends; in a capture, within its
 * graph. Errors: PHILOX_ERROR_STATE for an eager pass begun without
 * PHILOX_PASS_ON_DEVICE. Legal during capture.
 */
PHILOX_API enum philox_status philox_pass_states(
	const struct philox_pass *pass, const struct philox_state **states);

/*
 * philox_pass_ticket() writes the ticket that an open pass, or the pass of a
 * view, is making or repeats: the zero ticket for a forward with INFERENCE or
 * WARMUP. In a capture it is a placeholder, good during the pass and after it
 * in the same capture: that of the forward, or of the backward named at launch
 * to which other passes can be linked by it (see the rules above). Errors:
 * PHILOX_ERROR_INVALID, PHILOX_ERROR_STATE (the pass is not open),
 * PHILOX_ERROR_STALE. Legal during capture.
 */
PHILOX_API enum philox_status philox_pass_ticket(const struct philox_pass *pass,
						 struct philox_ticket *ticket);

/*
 * philox_pass_rng() writes the argument for your own kernel that draws as call
 * `call` of operator `op`: by value in an eager pass, by the cell's address in
 * a captured or ON_DEVICE one. Asked twice in a pass it gives the same numbers
 * twice, which nothing reports. Errors: PHILOX_ERROR_INVALID if op or call is
 * out of range. Legal during capture.
 */
PHILOX_API enum philox_status philox_pass_rng(const struct philox_pass *pass,
					      uint32_t op, uint32_t call,
					      struct philox_rng *rng);

/*
 * philox_ticket_release() drops a ticket whose backward will not run. The saved
 * context is released on the given stream. Errors: PHILOX_ERROR_RELEASED (used
 * up or released already), PHILOX_ERROR_MISMATCH, PHILOX_ERROR_BUSY (passes of
 * it are open), PHILOX_ERROR_STATE (its forward is open: abort that). Legal
 * during capture.
 */
PHILOX_API enum philox_status philox_ticket_release(
	struct philox_region *region, philox_stream stream,
	struct philox_ticket ticket);

/*
 * philox_ticket_attach() gives a pending ticket a saved context: a pointer and
 * a function that releases it. The function is called exactly once, when the
 * ticket is used up, released or destroyed, with the stream of that event, in
 * whose order it must free the context. It may call philox, but must not
 * destroy the graph or the context whose call releases it. A saved context
 * survives PHILOX_PASS_RETAIN. A ticket holds at most one
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
