/*
 * lib/pass/ticket.h - whether a ticket is one of a region
 */
#ifndef LIB_PASS_TICKET_H
#define LIB_PASS_TICKET_H

#include "lib/state/region.h"

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

#endif
