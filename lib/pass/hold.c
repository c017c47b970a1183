/*
 * lib/pass/hold.c - the rules of Note [Ledger], carried out
 *
 * Holds of passes and of launches differ in two ways only. A launch that will
 * use a ticket up claims it: no other pass of the ticket may begin until the
 * launch has succeeded or failed. And an eager forward of a SHARED region
 * blocks its generator for other such forwards while it is open; for the
 * generator, the forwards of a launch are over when the lock is given back.
 */
#include <inttypes.h>
#include "lib/pass/pass.h"

enum hold_kind hold_kind(unsigned flags)
{
	if (flags & PHILOX_PASS_WARMUP)
		return HOLD_WARMUP;
	return flags & PHILOX_PASS_INFERENCE ? HOLD_NUMBERS : HOLD_FORWARD;
}

/* --- forwards ------------------------------------------------------------- */

/* The state of the next forward. */
static struct philox_state *next_state(struct philox_region *region)
{
	return region->flags & PHILOX_REGION_SHARED ? &region->generator->state
						    : &region->state;
}

static enum philox_status check_shared(const struct philox_region *region)
{
	if (!(region->flags & PHILOX_REGION_SHARED) || !region->generator->open)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_BUSY,
			  "region '%s' is SHARED, and a forward of region "
			  "'%s' is open on its generator",
			  region->name, region->generator->open->name);
}

/* All iterations; beyond 2^64 it is a number that no offset has room for. */
static uint64_t reserved_by(const struct hold *hold)
{
	uint64_t words;

	return __builtin_mul_overflow(hold->region->advance, hold->iterations,
				      &words)
		       ? UINT64_MAX
		       : words;
}

static enum philox_status check_room(const struct hold *hold)
{
	struct philox_region *region = hold->region;
	uint64_t words = reserved_by(hold);

	if (words <= UINT64_MAX - 3 &&
	    next_state(region)->offset <= UINT64_MAX - 3 - words)
		return PHILOX_OK;
	if (hold->iterations > 1)
		return status_set(PHILOX_ERROR_OVERFLOW,
				  "the offset of region '%s' would pass 2^64 "
				  "within %" PRIu32
				  " iterations: give its generator a new seed",
				  region->name, hold->iterations);
	return status_set(PHILOX_ERROR_OVERFLOW,
			  "the offset of region '%s' has reached 2^64: give "
			  "its generator a new seed",
			  region->name);
}

static enum philox_status open_entry(struct hold *hold)
{
	struct philox_region *region = hold->region;
	enum philox_status status =
		ledger_open(&region->ledger, region->serial,
			    *next_state(region), hold->iterations);

	if (status == PHILOX_OK)
		hold->serial = region->serial++;
	return region_status(region, status);
}

/* An eager forward blocks a generator that its region shares. */
static void keep_off(const struct hold *hold, const struct philox_region *open)
{
	if ((hold->region->flags & PHILOX_REGION_SHARED) && !hold->launch &&
	    hold->kind != HOLD_BACKWARD)
		hold->region->generator->open = open;
}

enum philox_status hold_forward(struct hold *hold, struct philox_state *state)
{
	struct philox_region *region = hold->region;
	enum philox_status status = check_shared(region);

	if (status == PHILOX_OK)
		status = check_room(hold);
	if (status == PHILOX_OK && hold->kind == HOLD_FORWARD)
		status = open_entry(hold);
	if (status != PHILOX_OK)
		return status;
	*state = *next_state(region);
	if (hold->kind != HOLD_WARMUP)
		next_state(region)->offset += reserved_by(hold);
	keep_off(hold, region);
	return PHILOX_OK;
}

void hold_tell(const struct hold *hold)
{
	if (!(hold->region->flags & PHILOX_REGION_SHARED))
		generator_tell_back(hold->region);
}

/* --- backwards ------------------------------------------------------------ */

enum philox_status hold_backward(struct hold *hold, struct philox_ticket ticket,
				 struct philox_state *state)
{
	struct philox_region *region = hold->region;
	enum philox_status status = ticket_check(region, ticket);

	if (status != PHILOX_OK)
		return status;
	status = ledger_begin(&region->ledger, ticket.serial, hold->use,
			      &hold->iterations, state);
	if (status == PHILOX_OK)
		hold->serial = ticket.serial;
	return region_status(region, status);
}

/* --- the end -------------------------------------------------------------- */

static enum philox_status end(const struct hold *hold, int commit, int consume,
			      struct saved_context *released)
{
	struct ledger *ledger = &hold->region->ledger;
	enum philox_status status = PHILOX_OK;

	if (hold->kind == HOLD_BACKWARD)
		status = ledger_end(ledger, hold->serial, hold->use, consume,
				    released);
	else if (hold->kind == HOLD_FORWARD && commit)
		status = ledger_commit(ledger, hold->serial);
	else if (hold->kind == HOLD_FORWARD)
		status = ledger_abort(ledger, hold->serial);
	if (status != PHILOX_OK)
		return region_status(hold->region, status);
	keep_off(hold, NULL);
	return PHILOX_OK;
}

enum philox_status hold_commit(const struct hold *hold, int retain,
			       struct saved_context *released)
{
	return end(hold, 1, hold->use != LEDGER_RETAIN && !retain, released);
}

enum philox_status hold_abort(const struct hold *hold,
			      struct saved_context *released)
{
	if (!region_is_life(hold->region, hold->life))
		return PHILOX_OK; /* its ledger went with it */
	return end(hold, 0, 0, released);
}

void hold_rewind(const struct hold *hold)
{
	struct philox_region *region = hold->region;
	struct saved_context none; /* no other can have used the ticket up */

	hold_abort(hold, &none);
	if (hold->kind == HOLD_FORWARD)
		region->serial--;
	if (hold->kind == HOLD_FORWARD || hold->kind == HOLD_NUMBERS)
		next_state(region)->offset -= reserved_by(hold);
}
