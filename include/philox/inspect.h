/*
 * philox/inspect.h - looking at what a context will do, to compare two runs
 *
 * When two runs that should agree do not, compare their digests every now and
 * then to find the step, the journals of that step (philox/journal.h) to find
 * the event, and the states of tickets to find the numbers.
 *
 * Thread rule: every function here may be called from any thread, at the same
 * time as any other, unless its comment says otherwise.
 */
#ifndef PHILOX_INSPECT_H
#define PHILOX_INSPECT_H

#include <stdint.h>
#include <philox/context.h>
#include <philox/kernel.h>
#include <philox/region.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * philox_context_digest() writes 64 bits that two contexts share if and only if
 * (but for chance, one in 2^64) their passes will give the same numbers, and
 * their calls the same answers. In it are the generators in order of creation;
 * the regions with their operators and with the state and serial of their next
 * forward, destroyed names that have issued something included; every ticket
 * and open pass with its state; and the name, generator and size of every table
 * of rows. Not in it is what the rows hold, which the device knows alone: two
 * contexts with one digest may draw different numbers from their tables, whose
 * states are compared with philox_rows_get(). Nor is in it the order in which
 * regions were made, how many tickets a region has room for, what was used up,
 * the device, graphs, and saved contexts. So a context that was loaded has the
 * digest of the one that was saved. Digests of different versions of the
 * library are not to be compared. Does not wait for the device. Errors:
 * PHILOX_ERROR_INVALID, PHILOX_ERROR_MEMORY. Legal during capture.
 */
PHILOX_API enum philox_status philox_context_digest(
	struct philox_context *context, uint64_t *digest);

/*
 * philox_ticket_state() writes the state that call `call` of operator `op`
 * draws from in every pass of a ticket that is pending or retained: what
 * philox_pass_rng() gives, without a pass. Errors: PHILOX_ERROR_INVALID (names
 * what is out of range), PHILOX_ERROR_STALE (the region was destroyed), and
 * those of philox_ticket_context(). Legal during capture.
 */
PHILOX_API enum philox_status philox_ticket_state(struct philox_region *region,
						  struct philox_ticket ticket,
						  uint32_t op, uint32_t call,
						  struct philox_state *state);

#ifdef __cplusplus
}
#endif
#endif
