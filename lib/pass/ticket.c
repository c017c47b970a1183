/*
 * lib/pass/ticket.c - tickets outside passes
 *
 * Checks, release, and the saved context a ticket can carry. See Note [Ledger].
 */
#include <inttypes.h>
#include "lib/pass/pass.h"

enum philox_status ticket_check(const struct philox_region *region,
				struct philox_ticket ticket)
{
	if (!ticket.region_key && !ticket.serial)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "region '%s': no ticket is given: a backward "
				  "needs the ticket of its forward",
				  region->name);
	if (ticket.region_key != region->key)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "ticket {%016" PRIx64 ", %" PRIu64
				  "} is not of region '%s' {%016" PRIx64 "}",
				  ticket.region_key, ticket.serial,
				  region->name, region->key);
	if (ticket.serial & SERIAL_PLACEHOLDER)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "the ticket of region '%s' is a placeholder, "
				  "valid in its capture only",
				  region->name);
	return PHILOX_OK;
}

static enum philox_status report_ticket(const struct philox_region *region,
					struct philox_ticket ticket,
					enum philox_status status)
{
	struct philox_log_entry subject = {.region = region->name,
					   .ticket = ticket};

	return context_report(region->context, status, &subject);
}

static enum philox_status check_alive(const struct philox_region *region,
				      struct philox_ticket ticket)
{
	enum philox_status status = region_check_alive(region);

	return status == PHILOX_OK ? ticket_check(region, ticket) : status;
}

enum philox_status ticket_pending(struct philox_region *region,
				  struct philox_ticket ticket,
				  struct ledger_entry **entry)
{
	enum philox_status status = check_alive(region, ticket);

	if (status != PHILOX_OK)
		return status;
	status = ledger_pending(&region->ledger, ticket.serial, entry);
	return region_status(region, status);
}

static enum philox_status drop(struct philox_region *region,
			       struct philox_ticket ticket,
			       struct saved_context *released)
{
	enum philox_status status = check_alive(region, ticket);

	if (status != PHILOX_OK)
		return status;
	status = ledger_drop(&region->ledger, ticket.serial, released);
	if (status == PHILOX_OK)
		journal_ticket(region, ticket.serial, "release");
	return region_status(region, status);
}

enum philox_status philox_ticket_release(struct philox_region *region,
					 philox_stream stream,
					 struct philox_ticket ticket)
{
	struct saved_context released = {0};
	enum philox_status status;

	if (!region)
		return context_null(NULL, "region");
	NEED_PROCESS(region->context);
	context_lock(region->context);
	status = drop(region, ticket, &released);
	context_unlock(region->context);
	saved_context_release(released, stream);
	return report_ticket(region, ticket, status);
}

static enum philox_status attach(struct philox_region *region,
				 struct philox_ticket ticket, void *saved,
				 void (*release)(void *saved,
						 philox_stream stream))
{
	struct ledger_entry *entry;
	enum philox_status status = ticket_pending(region, ticket, &entry);

	if (status != PHILOX_OK)
		return status;
	if (entry->context.release)
		return status_set(PHILOX_ERROR_EXISTS,
				  "region '%s': ticket %" PRIu64
				  " has a saved context",
				  region->name, ticket.serial);
	entry->context.saved = saved;
	entry->context.release = release;
	journal_ticket(region, ticket.serial, "attach");
	return PHILOX_OK;
}

enum philox_status philox_ticket_attach(
	struct philox_region *region, struct philox_ticket ticket, void *saved,
	void (*release)(void *saved, philox_stream stream))
{
	enum philox_status status;

	if (!region)
		return context_null(NULL, "region");
	if (!release)
		return report_ticket(region, ticket,
				     status_set(PHILOX_ERROR_INVALID,
						"region '%s': release is NULL",
						region->name));
	NEED_PROCESS(region->context);
	context_lock(region->context);
	status = attach(region, ticket, saved, release);
	context_unlock(region->context);
	return report_ticket(region, ticket, status);
}

static enum philox_status get_context(struct philox_region *region,
				      struct philox_ticket ticket, void **saved)
{
	struct ledger_entry *entry;
	enum philox_status status = ticket_pending(region, ticket, &entry);

	if (status != PHILOX_OK)
		return status;
	if (!entry->context.release)
		return status_set(PHILOX_ERROR_NOT_FOUND,
				  "region '%s': ticket %" PRIu64
				  " has no saved context",
				  region->name, ticket.serial);
	*saved = entry->context.saved;
	return PHILOX_OK;
}

enum philox_status philox_ticket_context(struct philox_region *region,
					 struct philox_ticket ticket,
					 void **saved)
{
	enum philox_status status;

	if (!region)
		return context_null(NULL, "region");
	if (!saved)
		return context_null(region->context, "saved");
	NEED_PROCESS(region->context);
	context_lock(region->context);
	status = get_context(region, ticket, saved);
	context_unlock(region->context);
	return report_ticket(region, ticket, status);
}
