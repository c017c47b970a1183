/*
 * lib/pass/hold.h - the parts of a region that a pass or a launch holds
 *
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
#ifndef LIB_PASS_HOLD_H
#define LIB_PASS_HOLD_H

#include "lib/state/region.h"

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

#endif
