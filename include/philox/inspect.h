/*
 * philox/inspect.h - queries about a context's future, to compare two runs
 *
 * When two runs that should agree do not, compare their digests from time to
 * time to find the step, the journals of that step (philox/journal.h) to find
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

#ifdef __cplusplus
}
#endif
#endif
