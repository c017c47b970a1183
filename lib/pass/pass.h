/*
 * lib/pass/pass.h - passes: what they hold, draw and check
 */
#ifndef LIB_PASS_PASS_H
#define LIB_PASS_PASS_H

#include <philox/fill.h>
#include "lib/state/state.h"

/* --- hold: the parts of a region that a pass or a launch holds ------------ */

/*
 * The rules of Note [Ledger] are carried out here and nowhere else. An open
 * eager pass has one hold; a launch in progress has one for each pass of its
 * graph. A hold is taken, and then ended in one of three ways:
 *
 *   hold_forward(), hold_backward()   begin
 *   hold_commit()                     the pass committed, the launch succeeded
 *   hold_abort()                      the pass aborted, the launch failed: the
 *                                     numbers of a forward are burnt
 *   hold_rewind()                     the launch was refused before its
 *                                     numbers could be seen: they are free
 *                                     again
 *
 * All functions are called with the context's lock held.
 */

enum hold_kind {
	HOLD_NOTHING, /* repeats the numbers of another hold of the launch */
	HOLD_WARMUP,  /* draws the next forward's numbers, reserves none */
	HOLD_NUMBERS, /* a forward that owes no backward: its numbers */
	HOLD_FORWARD, /* a forward: its numbers, and an open entry */
	HOLD_BACKWARD /* a reader of a pending entry */
};

struct hold {
	struct philox_region *region;
	uint64_t life;       /* of the region, when it was taken */
	uint64_t serial;     /* of the ticket; 0: no entry of the ledger */
	enum hold_kind kind; /* HOLD_NOTHING: not taken; ending it is fine */
	enum ledger_use use; /* BACKWARD: how it reads */
	int launch;          /* held by a launch, not by an eager pass */
	uint32_t iterations; /* of a forward; BACKWARD: that it may take, then
				that its forward has; at least 1 */
};

/* hold_kind() returns the kind of hold of a forward whose pass has `flags`. */
enum hold_kind hold_kind(unsigned flags);

/*
 * hold_forward() takes a hold for a forward and writes the state to draw from.
 * Errors: PHILOX_ERROR_BUSY (SHARED, and a forward of the generator is open),
 * PHILOX_ERROR_OVERFLOW, PHILOX_ERROR_LIMIT. On an error nothing has changed.
 */
enum philox_status hold_forward(struct hold *hold, struct philox_state *state);

/* hold_tell() warns, once the forward is there, of numbers that may surprise. */
void hold_tell(const struct hold *hold);

/*
 * hold_backward() takes a hold that reads a ticket and writes the state to draw
 * from, and how many iterations there are. Errors: those of ticket_check() and
 * ledger_begin(); then nothing has
 * changed.
 */
enum philox_status hold_backward(struct hold *hold, struct philox_ticket ticket,
				 struct philox_state *state);

/*
 * hold_commit() makes a forward's ticket pending, or ends a backward, whose
 * ticket is used up unless it is retained, by the hold's use or by `retain`.
 * The region must still be in the life that the hold was taken in. Writes the
 * saved context to release, if there is one. PHILOX_ERROR_STATE if the hold has
 * already ended.
 */
enum philox_status hold_commit(const struct hold *hold, int retain,
			       struct saved_context *released);

/*
 * hold_abort() gives a hold back; tickets are as they were. This, too, may
 * release a saved context: that of a ticket that was used up while this hold
 * read it. If the region has been destroyed since, there is nothing to give
 * back.
 */
enum philox_status hold_abort(const struct hold *hold,
			      struct saved_context *released);

/*
 * hold_rewind() gives the newest hold of a region back, including its numbers.
 * Only for holds that were taken since the lock was taken.
 */
void hold_rewind(const struct hold *hold);

/* --- ticket: whether a ticket is one of a region -------------------------- */

/*
 * ticket_check() gives PHILOX_ERROR_MISMATCH for the zero ticket, a placeholder
 * and another region's ticket. Only the ledger can tell whether a ticket is
 * pending.
 */
enum philox_status ticket_check(const struct philox_region *region,
				struct philox_ticket ticket);

/*
 * ticket_pending() finds a pending ticket, with the context's lock:
 * ERROR_STALE (the region is destroyed), ERROR_MISMATCH, ERROR_RELEASED,
 * ERROR_STATE.
 */
enum philox_status ticket_pending(struct philox_region *region,
				  struct philox_ticket ticket,
				  struct ledger_entry **entry);

/* --- ticket: what a ticket keeps ------------------------------------------ */

/*
 * kept_put() puts an item at a place of a list, if that has room for it, and
 * adds its bytes; its user counts `n`. Names are cut to what fits.
 */
void kept_put(struct kept_list *list, size_t place, const char *name,
	      const char *function, uint32_t elements, uint64_t bytes);

/*
 * ticket_list_kept() adds what a ticket keeps to a list, with the context's
 * lock; errors are those of ticket_pending().
 */
enum philox_status ticket_list_kept(struct philox_region *region,
				    struct philox_ticket ticket,
				    struct kept_list *list);

/* --- pass.c: shared by the files about passes ----------------------------- */

/*
 * pass_check_stream() checks that the pass's stream is still in the capture
 * that the pass is in, or still in none: ERROR_MISMATCH. Numbers that were
 * captured by value would repeat at every replay.
 */
enum philox_status pass_check_stream(const struct philox_pass *pass,
				     const char *call);

/* pass_check_drawn() checks that a pass can draw: views can, too. */
enum philox_status pass_check_drawn(const struct philox_pass *pass);

/*
 * pass_finish() ends a public call about a pass; see context_report().
 * pass_finish_unopened() does the same for a pass that may be NULL or not open.
 */
enum philox_status pass_finish(const struct philox_pass *pass,
			       enum philox_status status);
enum philox_status pass_finish_unopened(const struct philox_pass *pass,
					enum philox_status status);

/*
 * pass_fail_op() ends a call that failed for an operator: names it and its
 * region, and reports it.
 */
enum philox_status pass_fail_op(const struct philox_pass *pass, uint32_t op,
				enum philox_status status);

/* --- pass_view.c: what a captured pass draws from, noted ------------------ */

/*
 * What is drawn while it is captured is noted, for the text of its program. An
 * eager pass notes nothing.
 */
struct pass_note {
	const struct philox_fill_desc *fill; /* NULL: states are handed out */
	int all;                             /* those of all operators */
	uint32_t op, call;
};

/* pass_note() gives a note to the context's hook; takes the context's lock. */
void pass_note(const struct philox_pass *pass, const struct pass_note *note);

/* pass_find_rng() is philox_pass_rng() without a note. */
enum philox_status pass_find_rng(const struct philox_pass *pass, uint32_t op,
				 uint32_t call, struct philox_rng *rng);

/* --- spans: a check for spans that are drawn twice in a forward ----------- */

/*
 * Drawing the same elements of one call of one operator twice in a forward
 * gives the same numbers twice. That is allowed (chunks may be drawn again) but
 * rarely intended: on a strict device, and in a build with PHILOX_DEBUG, the
 * first overlap of each operator in each forward is logged as a warning that
 * names region, operator and ticket. Other contexts note nothing.
 *
 * Only fills through a pass are seen, and tensors that it rounds as they lie. What the caller's own kernels draw from a
 * pass is not, nor is a warm-up: all that are open draw the same numbers.
 */

/* spans_watched() is 1 if the spans of a context's passes are noted. */
static inline int spans_watched(const struct philox_context *context)
{
#ifdef PHILOX_DEBUG
	(void)context;
	return 1;
#else
	return device_is_strict(context->device);
#endif
}

/*
 * spans_draw() notes a span that a pass has drawn and logs an overlap; takes
 * the context's lock.
 */
void spans_draw(const struct philox_pass *pass, uint32_t op, uint32_t call,
		struct philox_span span);

/* spans_forget() forgets those of a pass that ends; with the lock held. */
void spans_forget(const struct philox_pass *pass);

/* spans_finish() forgets all of a context. */
void spans_finish(struct philox_context *context);

#endif
