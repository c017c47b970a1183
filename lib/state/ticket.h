/*
 * lib/state/ticket.h - whether a ticket is one of a region
 */
#ifndef LIB_STATE_TICKET_H
#define LIB_STATE_TICKET_H

#include "lib/state/region.h"

/*
 * ticket_check() gives PHILOX_ERROR_MISMATCH for the zero ticket, a placeholder
 * and another region's ticket. Only the ledger can tell whether a ticket is
 * pending.
 */
enum philox_status ticket_check(const struct philox_region *region,
				struct philox_ticket ticket);

#endif
