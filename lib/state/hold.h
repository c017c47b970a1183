/*
 * lib/state/hold.h - what a pass or a launch holds of a region
 *
 * The rules of Note [Ledger] are carried out here and nowhere else. An open
 * eager pass has one hold; a launch under way has one for each pass of its
 * graph. Either takes it, and then ends it in one of three ways:
 *
 *   hold_forward(), hold_backward()   begin
 *   hold_commit()                     the pass committed, the launch succeeded
 *   hold_abort()                      the pass aborted, the launch failed: the
 *                                     numbers of a forward are burnt
 *   hold_rewind()                     the launch was refused before anybody
 *                                     could see its numbers: they are free again
 *
 * All functions are called with the context's lock held.
 */
#ifndef LIB_STATE_HOLD_H
#define LIB_STATE_HOLD_H

#include "lib/state/region.h"

enum hold_kind {
	HOLD_NOTHING, /* repeats what another hold of the same launch draws */
	HOLD_WARMUP, /* draws what the next forward will draw, reserves nothing */
	HOLD_NUMBERS, /* a forward that owes no backward: its numbers */
	HOLD_FORWARD, /* a forward: its numbers, and an open entry */
	HOLD_BACKWARD /* a reader of a pending entry */
};

struct hold {
	struct philox_region *region;
	uint64_t life;       /* of the region, when it was taken */
	uint64_t serial;     /* of the ticket; 0: no entry of the ledger */
	enum hold_kind kind; /* HOLD_NOTHING: all functions do nothing */
	enum ledger_use use; /* BACKWARD: how it reads */
	int launch;          /* held by a launch, not by an eager pass */
};

/* hold_kind() returns what a forward with these flags of its pass takes. */
enum hold_kind hold_kind(unsigned flags);

/*
 * hold_forward() takes what a forward needs and writes the state it draws from.
 * Errors: PHILOX_ERROR_BUSY (SHARED, and a forward of the generator is open),
 * PHILOX_ERROR_OVERFLOW, PHILOX_ERROR_LIMIT. Then nothing has changed.
 */
enum philox_status hold_forward(struct hold *hold, struct philox_state *state);

/*
 * hold_backward() takes a reader of a ticket and writes the state to draw from.
 * Errors as ticket_check() and ledger_begin() have them; nothing has changed.
 */
enum philox_status hold_backward(struct hold *hold, struct philox_ticket ticket,
				 struct philox_state *state);

/*
 * hold_commit() makes a forward's ticket pending, or ends a backward; its ticket
 * is used up unless it is retained, by the hold's use or by `retain`. The saved
 * context to release is written, if there is one. PHILOX_ERROR_STATE if the hold
 * was ended before.
 */
enum philox_status hold_commit(const struct hold *hold, int retain,
			       struct saved_context *released);

/*
 * hold_abort() gives a hold back; tickets are as they were. That may release a
 * saved context, too: of a ticket that was used up while this hold read it. If
 * the region was destroyed meanwhile, there is nothing to give back.
 */
enum philox_status hold_abort(const struct hold *hold,
			      struct saved_context *released);

/*
 * hold_rewind() gives the newest hold of a region back, numbers and all. Only
 * for holds that were taken since the lock was.
 */
void hold_rewind(const struct hold *hold);

#endif
