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
 * first. So a tensor may be drawn in chunks, and drawn again. Other numbers
 * need another operator, or another call of one (philox/region.h). The device
 * host:strict and a debug build of philox report two fills of a forward that
 * overlap: the log has a warning with region, operator and ticket, once for
 * each operator and pass. They do not see numbers that your own kernels draw
 * (philox_pass_rng(), philox_pass_states()), nor warm-ups.
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
 *    ticket once, for the first. It is used up if one of them is a consuming
 *    backward and the launch does not retain it. Passes that begin with the
 *    zero ticket are named one by one.
 *  - An invalidated capture is detected at begin, at fills and at
 *    philox_pass_on(), not at commit.
 *
 * A begin that fails writes a pass that is not open: committing or aborting it
 * is refused with PHILOX_ERROR_STATE. So clean-up may abort a pass without
 * knowing whether its begin succeeded.
 *
 * The caller holds a pass, on its stack for instance. It may begin on one
 * thread and end on another; one thread at a time may use it. Its fields belong
 * to the library. An eager pass touches no device memory (unless ON_DEVICE) and
 * makes one device call, which asks whether its stream is capturing. Each fill
 * asks again, so that no number is ever captured by value. No call about a pass
 * asks more than three times, in a capture or out of it.
 */
#ifndef PHILOX_PASS_H
#define PHILOX_PASS_H

#include <stddef.h>
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
 * Begin a forward on a stream and reserve its numbers.
 *
 *   region     the region
 *   stream     the stream of its work
 *   flags      PHILOX_PASS_INFERENCE, PHILOX_PASS_WARMUP, PHILOX_PASS_ON_DEVICE
 *   pass       written: the pass; end it with philox_pass_commit() or
 *              philox_pass_abort()
 *
 * On a stream that is capturing it records the pass instead: numbers are
 * reserved when the graph is launched.
 *
 * Returns PHILOX_OK, or an error; then *pass is not open.
 * Errors:
 *   PHILOX_ERROR_INVALID    an argument is NULL; a flag that does not fit
 *   PHILOX_ERROR_LIMIT      the region has `pending` tickets already, or the
 *                           capture has no room for one more pass
 *   PHILOX_ERROR_OVERFLOW   the region's offset would pass 2^64
 *   PHILOX_ERROR_BUSY       PHILOX_REGION_SHARED: another forward of such a
 *                           region of the generator is open
 *   PHILOX_ERROR_STATE      this thread is in a body or an eager form
 *                           (philox/runner.h), on whatever stream: see
 *                           philox_run_forward_begin()
 *   PHILOX_ERROR_STALE      the region was destroyed
 *   PHILOX_ERROR_MEMORY
 *   PHILOX_ERROR_CAPTURE_INVALIDATED
 *   those of the device
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_forward_begin(struct philox_region *region,
						   philox_stream stream,
						   unsigned flags,
						   struct philox_pass *pass);

/*
 * Begin a forward of several iterations under one ticket.
 *
 *   region     as for philox_forward_begin()
 *   stream     as for philox_forward_begin()
 *   flags      as for philox_forward_begin()
 *   limit      how many iterations, at least 1
 *   pass       written: the pass; it draws iteration 0, and philox_pass_at()
 *              gives the others
 *
 * Each iteration has numbers of its own. The pass reserves limit x the region's
 * advance, as each launch does for a forward in a body of that limit
 * (philox/graph.h). It draws the same numbers: an eager, an unrolled and a
 * captured loop are equal.
 *
 * Returns PHILOX_OK, or an error; then *pass is not open.
 * Errors:
 *   PHILOX_ERROR_INVALID   a limit of 0
 *   PHILOX_ERROR_STATE     a limit above 1, and the stream captures a body,
 *                          whose limit is the pass's
 *   those of philox_forward_begin()
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_forward_begin_loop(
	struct philox_region *region, philox_stream stream, unsigned flags,
	uint32_t limit, struct philox_pass *pass);

/*
 * Begin a pass that repeats the numbers of a ticket: a backward or a recompute.
 *
 *   region     the ticket's region
 *   stream     the stream of its work
 *   ticket     the ticket. On a stream that is capturing: a placeholder of the
 *              same capture, of a forward or of a backward named at launch,
 *              either of which may still be open; or the zero ticket, which
 *              lets each launch name the forward
 *   flags      PHILOX_PASS_RETAIN, PHILOX_PASS_ON_DEVICE, PHILOX_PASS_REVERSED
 *   pass       written: the pass; end it with philox_pass_commit() or
 *              philox_pass_abort()
 *
 * With PHILOX_PASS_RETAIN the ticket is kept: a recompute, which may be nested
 * and may be inside a pass of another region. Without it the pass is consuming;
 * a ticket has at most one such pass open.
 *
 * Returns PHILOX_OK, or an error; then *pass is not open and the ticket is as
 * it was.
 * Errors:
 *   PHILOX_ERROR_RELEASED   the ticket was used up, released or never issued
 *   PHILOX_ERROR_MISMATCH   a ticket of another region; a placeholder of
 *                           another capture; a live ticket in a capture; fewer
 *                           iterations than the pass may take
 *   PHILOX_ERROR_INVALID    a flag that does not fit
 *   PHILOX_ERROR_STATE      its forward is still open; the captured pass of the
 *                           placeholder was aborted; this thread is in a body
 *                           or an eager form: see philox_run_backward_begin()
 *   PHILOX_ERROR_BUSY       a consuming backward of it is open, or a launch is
 *                           using it up
 *   PHILOX_ERROR_STALE      the region was destroyed
 *   PHILOX_ERROR_LIMIT      the capture has no room for one more pass
 *   PHILOX_ERROR_MEMORY
 *   PHILOX_ERROR_CAPTURE_INVALIDATED
 *   those of the device
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_backward_begin(
	struct philox_region *region, philox_stream stream,
	struct philox_ticket ticket, unsigned flags, struct philox_pass *pass);

/*
 * Commit a pass: end it as one that succeeded.
 *
 *   pass       the pass
 *   flags      of a forward: 0. Of a backward: 0 or PHILOX_PASS_RETAIN
 *   ticket     written. Of a forward: its ticket, the zero ticket with
 *              INFERENCE or WARMUP, in a capture a placeholder that names the
 *              pass within this capture. Of a backward: the zero ticket. NULL
 *              is allowed where the zero ticket would be written
 *
 * A committed forward is owed a backward. A committed backward uses its ticket
 * up and releases its saved context, unless it was begun or is committed with
 * PHILOX_PASS_RETAIN. If other passes of the ticket are open, it is used up
 * when the last of them ends; until then new ones are refused.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_STATE     the pass is not open
 *   PHILOX_ERROR_INVALID   a flag that does not fit; a forward that owes a
 *                          backward, and `ticket` is NULL
 *   PHILOX_ERROR_STALE     the region was destroyed
 * During capture: legal.
 * Threads: any; one at a time for a pass.
 */
PHILOX_API enum philox_status philox_pass_commit(struct philox_pass *pass,
						 unsigned flags,
						 struct philox_ticket *ticket);

/*
 * Abort a pass: end it as one that failed.
 *
 *   pass       the pass; its region may have been destroyed
 *
 * A forward makes no ticket, and its numbers are burnt, never issued again. A
 * backward leaves its ticket exactly as it was. A capture with an aborted pass
 * cannot be adopted.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_STATE   the pass is not open
 * During capture: legal.
 * Threads: any; one at a time for a pass.
 */
PHILOX_API enum philox_status philox_pass_abort(struct philox_pass *pass);

/*
 * Forwards that begin and commit in one call. Begin with PHILOX_INIT(). All
 * arrays are memory of the host, used during the call only.
 *
 * `states` becomes those of regions[0], as many as philox_region_cell_count()
 * says and in the order of philox_region_cell_index(), then those of
 * regions[1], and so on. Iteration i of a forward draws at these offsets + i x
 * the region's advance.
 */
struct philox_reserve_desc {
	size_t size; /* sizeof(this struct) */
	/* of the context; one that is there k times gets k forwards, or with
	 * PHILOX_PASS_WARMUP the numbers of one k times */
	struct philox_region *const *regions;
	const uint32_t *limits; /* iterations of each, at least 1; NULL: 1 */
	size_t n_regions;
	struct philox_state *states; /* NULL: not wanted, with tickets only */
	size_t n_states; /* that are written: the sum of cells; 0 without */
	struct philox_ticket *tickets; /* n_regions; with flags NULL, or zero
					  tickets are written */
	uint32_t flags;    /* 0, PHILOX_PASS_INFERENCE or PHILOX_PASS_WARMUP */
	uint32_t reserved; /* 0 */
};

/*
 * Begin and commit a forward of each of many regions, and write their states.
 *
 *   context    the context
 *   stream     the stream of the work that draws, which must not be capturing
 *   reserve    regions and their iterations; what is written of their forwards
 *
 * It does what philox_forward_begin_loop(), philox_pass_rng() for each call of
 * each operator, and philox_pass_commit() do, for one region after the other in
 * the order of the array. The numbers, the tickets and the journal are the
 * same, but it is all or none, no other call comes between, and the stream is
 * asked once whether it is capturing.
 *
 * The states are data: arguments of kernels (struct philox_rng), or of
 * philox_context_write_states(). What draws a forward again may get its state
 * in the same way. That needs no ticket, so PHILOX_PASS_INFERENCE will do.
 * Without it the forwards are owed backwards, as all that have a ticket:
 * philox_backward_begin() repeats them, and a save keeps them.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed and nothing is
 * written. The message names the first region that failed, and its place in
 * the array.
 * Errors:
 *   PHILOX_ERROR_INVALID       an argument, or a region, is NULL; an array is
 *                              NULL that the flags need; a limit of 0; flags
 *                              that are none of these; n_states is another
 *                              number than that of the regions' cells
 *   PHILOX_ERROR_MISMATCH      a region of another context
 *   PHILOX_ERROR_CAPTURE_UNSUPPORTED
 *                              the stream is capturing
 *   those of philox_forward_begin_loop() for one of the regions
 * During capture: not legal on a stream that captures. Numbers of a captured
 * forward are reserved at each launch, and its kernels read them from cells:
 * philox_forward_begin().
 * Threads: any.
 */
PHILOX_API enum philox_status philox_context_reserve(
	struct philox_context *context, philox_stream stream,
	const struct philox_reserve_desc *reserve);

/*
 * Write a view of an open pass for another stream, which draws the same
 * numbers.
 *
 *   pass       the pass
 *   stream     in the same capture as the pass; of an eager pass, in none
 *   view       written: the view. It needs no end, and cannot be committed or
 *              aborted
 *
 * The caller orders the streams. A view that reads cells draws after the work
 * that the pass's stream had queued at begin, and before the work of that
 * stream after commit. A view of a view by philox_pass_at() or
 * philox_pass_at_word() draws after what was queued when that one was made. A
 * pass in the body of a conditional node is drawn in that body only.
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_MISMATCH   the stream is in another capture
 *   PHILOX_ERROR_STATE      the pass is not open
 *   PHILOX_ERROR_STALE      the region was destroyed
 *   PHILOX_ERROR_CAPTURE_INVALIDATED
 *   those of the device
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_pass_on(const struct philox_pass *pass,
					     philox_stream stream,
					     struct philox_pass *view);

/*
 * Write a view of an open pass that draws one of its iterations.
 *
 *   pass       a forward that philox_forward_begin_loop() began, or a backward
 *              of such a forward or of one in the body of a loop
 *              (philox/graph.h); a view counts as its pass
 *   iteration  which; 0 is what each pass draws that is in no body
 *   view       written: the view, on the same stream; it needs no end
 *
 * A captured view has cells of its own, which hold this iteration in each run
 * of a body, also beyond the body's limit.
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID    the forward does not have that iteration. A
 *                           captured backward that is named at launch has any
 *                           here: PHILOX_ERROR_MISMATCH at launch
 *   PHILOX_ERROR_STATE      the pass is not open
 *   PHILOX_ERROR_STALE      the region was destroyed
 *   PHILOX_ERROR_MISMATCH   the stream is not where the pass began
 *   PHILOX_ERROR_LIMIT      the capture has no room for one more
 *   PHILOX_ERROR_MEMORY
 *   PHILOX_ERROR_CAPTURE_INVALIDATED
 *   those of the device
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_pass_at(const struct philox_pass *pass,
					     uint32_t iteration,
					     struct philox_pass *view);

/*
 * Write a view of a captured pass whose iteration is read from device memory.
 *
 *   pass       a captured pass, as for philox_pass_at()
 *   word       device memory, aligned to 4: the iteration. A kernel that this
 *              call records reads it each time
 *   view       written: the view; what the stream records later sees its
 *              numbers
 *
 * An iteration that does not exist is poison, and philox_context_check()
 * reports it.
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   the word
 *   PHILOX_ERROR_STATE     an eager pass: its caller knows the iteration
 *   those of philox_pass_at()
 * During capture: legal, and only there.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_pass_at_word(
	const struct philox_pass *pass, const uint32_t *word,
	struct philox_pass *view);

/*
 * Write the device address of the cells of a pass.
 *
 *   pass       a captured pass, or an eager one with PHILOX_PASS_ON_DEVICE
 *   states     written: one struct philox_state for each call of each operator,
 *              at philox_region_cell_index()
 *
 * Kernels read {seed, offset} there. The array has the same shape in forward,
 * backward and recompute. It is valid for work that is queued on the pass's
 * stream until the pass ends; in a capture, within its graph.
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_STATE     an eager pass begun without PHILOX_PASS_ON_DEVICE;
 *                          the pass is not open
 *   PHILOX_ERROR_INVALID   an argument is NULL
 *   PHILOX_ERROR_STALE     the region was destroyed
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_pass_states(
	const struct philox_pass *pass, const struct philox_state **states);

/*
 * Write the ticket that an open pass makes or repeats.
 *
 *   pass       the pass, or a view of it
 *   ticket     written: the ticket; the zero ticket for a forward with
 *              INFERENCE or WARMUP. In a capture: a placeholder, good during
 *              the pass and after it in the same capture, of the forward or of
 *              the backward named at launch to which other passes can be linked
 *              by it
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   an argument is NULL
 *   PHILOX_ERROR_STATE     the pass is not open
 *   PHILOX_ERROR_STALE     the region was destroyed
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_pass_ticket(const struct philox_pass *pass,
						 struct philox_ticket *ticket);

/*
 * Write the argument for your own kernel that draws as one call of an operator.
 *
 *   pass       the pass
 *   op         the operator, in the order of the region's table
 *   call       below the operator's `calls`
 *   rng        written: by value in an eager pass, by the cell's address in a
 *              captured one or with PHILOX_PASS_ON_DEVICE
 *
 * Two requests in one pass give the same numbers twice, which nothing reports.
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   op or call is out of range
 *   PHILOX_ERROR_STATE     the pass is not open
 *   PHILOX_ERROR_STALE     the region was destroyed
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_pass_rng(const struct philox_pass *pass,
					      uint32_t op, uint32_t call,
					      struct philox_rng *rng);

/*
 * Release a ticket whose backward will not run.
 *
 *   region     the ticket's region
 *   stream     the stream on which its saved context is released
 *   ticket     a pending ticket
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_RELEASED   the ticket was used up or released already
 *   PHILOX_ERROR_MISMATCH   a ticket of another region
 *   PHILOX_ERROR_BUSY       passes of it are open
 *   PHILOX_ERROR_STATE      its forward is open: abort that
 *   PHILOX_ERROR_STALE      the region was destroyed
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_ticket_release(
	struct philox_region *region, philox_stream stream,
	struct philox_ticket ticket);

/*
 * Attach a saved context to a pending ticket.
 *
 *   region     the ticket's region
 *   ticket     a pending ticket
 *   saved      a pointer of the caller
 *   release    frees it. Called exactly once, when the ticket is used up,
 *              released or destroyed, with the stream of that event, in whose
 *              order it must free the context. It may call philox, but must not
 *              destroy the graph or the context whose call releases it
 *
 * A saved context survives PHILOX_PASS_RETAIN.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_EXISTS   the ticket has a saved context already
 *   those of philox_ticket_release()
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_ticket_attach(
	struct philox_region *region, struct philox_ticket ticket, void *saved,
	void (*release)(void *saved, philox_stream stream));

/*
 * A part of a saved context: what its caller keeps for the backward. Begin with
 * all 0.
 */
struct philox_saved_desc {
	const char *name;    /* at most 63 bytes; copied */
	uint32_t elements;   /* what it has: PHILOX_ELEMENTS() of a dtype
				(philox/fill.h); 0: bytes */
	uint32_t reserved32; /* 0 */
	uint64_t bytes;      /* that it takes */
	uint64_t reserved;   /* 0 */
};

/*
 * Describe what the saved context of a ticket holds, for philox_ticket_kept(),
 * snapshots and explanations.
 *
 *   region     the ticket's region
 *   ticket     a pending ticket that has a saved context
 *   parts      its parts, which replace those described before; copied
 *   n_parts    how many, at most 2^16; 0: none
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID     parts is NULL; names the part and its field
 *   PHILOX_ERROR_NOT_FOUND   the ticket has no saved context
 *   PHILOX_ERROR_LIMIT       too many parts
 *   PHILOX_ERROR_MEMORY
 *   those of philox_ticket_release()
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_ticket_describe(
	struct philox_region *region, struct philox_ticket ticket,
	const struct philox_saved_desc *parts, size_t n_parts);

/* What a ticket keeps: a part of its saved context, or an output. */
struct philox_kept_item {
	char name[64];     /* of the part or output, cut to 63 bytes;
			      "saved context": one that nobody described */
	char function[64]; /* of an output: its function (philox/runner.h);
			      "": it is no output */
	uint32_t elements; /* PHILOX_ELEMENTS() of a dtype; 0: bytes */
	uint32_t reserved; /* 0 */
	uint64_t bytes;    /* 0 where nobody described it */
};

/*
 * List what a ticket keeps until it is used up or released.
 *
 *   region     the ticket's region
 *   ticket     a pending ticket
 *   items      written: the first `room` items. First come the parts of its
 *              saved context as described, then the outputs that are tied to it
 *              (philox_output_tie()), in the order in which they were tied.
 *              NULL is allowed if room is 0
 *   room       how many items fit
 *   n_items    written: how many there are
 *   bytes      written: the bytes of all of them; NULL is allowed. Memory that
 *              two outputs share is counted with each
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   an argument is NULL
 *   those of philox_ticket_release(), except that open passes are no error
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_ticket_kept(struct philox_region *region,
						 struct philox_ticket ticket,
						 struct philox_kept_item *items,
						 size_t room, size_t *n_items,
						 uint64_t *bytes);

/*
 * Write the saved context of a ticket.
 *
 *   region     the ticket's region
 *   ticket     a pending ticket
 *   saved      written: the pointer that philox_ticket_attach() was given
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_NOT_FOUND   the ticket has no saved context
 *   those of philox_ticket_release()
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_ticket_context(
	struct philox_region *region, struct philox_ticket ticket,
	void **saved);

#ifdef __cplusplus
}
#endif
#endif
