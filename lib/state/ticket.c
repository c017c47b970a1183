/*
 * lib/state/ticket.c - what is done with tickets outside of passes
 *
 * Release, and the saved context a ticket can carry. See Note [Ledger].
 */
#include "lib/state/journal.h"
#include "lib/state/region.h"

static enum philox_status finish(const struct philox_region *region,
				 struct philox_ticket ticket,
				 enum philox_status status)
{
	struct philox_log_entry subject = {.region = region->name,
					   .ticket = ticket};

	return context_report(region->context, status, &subject);
}

/* Whether a region is alive and a ticket its own. */
static enum philox_status check(const struct philox_region *region,
				struct philox_ticket ticket)
{
	enum philox_status status = region_check_alive(region);

	if (status != PHILOX_OK)
		return status;
	return region_check_ticket(region, ticket);
}

static enum philox_status name_region(const struct philox_region *region,
				      enum philox_status status)
{
	if (status != PHILOX_OK)
		status_prefix(status, "region '%s': ", region->name);
	return status;
}

static enum philox_status find(struct philox_region *region,
			       struct philox_ticket ticket,
			       struct ledger_entry **entry)
{
	enum philox_status status = check(region, ticket);

	if (status != PHILOX_OK)
		return status;
	return name_region(
		region, ledger_pending(&region->ledger, ticket.serial, entry));
}

enum philox_status philox_ticket_release(struct philox_region *region,
					 struct philox_ticket ticket,
					 philox_stream stream)
{
	struct saved_context released = {0};
	enum philox_status status;

	if (!region)
		return status_set(PHILOX_ERROR_INVALID, "region is NULL");
	context_lock(region->context);
	status = check(region, ticket);
	if (status == PHILOX_OK)
		status = name_region(
			region,
			ledger_drop(&region->ledger, ticket.serial, &released));
	if (status == PHILOX_OK)
		journal_ticket(region, ticket.serial, "release");
	context_unlock(region->context);
	saved_context_release(released, stream);
	return finish(region, ticket, status);
}

static enum philox_status attach(struct philox_region *region,
				 struct philox_ticket ticket,
				 struct saved_context context)
{
	struct ledger_entry *entry;
	enum philox_status status = find(region, ticket, &entry);

	if (status != PHILOX_OK)
		return status;
	if (entry->context.release)
		return status_set(PHILOX_ERROR_EXISTS,
				  "region '%s': ticket %llu has a saved "
				  "context",
				  region->name,
				  (unsigned long long)ticket.serial);
	entry->context = context;
	journal_ticket(region, ticket.serial, "attach");
	return PHILOX_OK;
}

enum philox_status philox_ticket_attach(
	struct philox_region *region, struct philox_ticket ticket, void *saved,
	void (*release)(void *saved, philox_stream stream))
{
	struct saved_context context = {saved, release};
	enum philox_status status;

	if (!region)
		return status_set(PHILOX_ERROR_INVALID, "region is NULL");
	if (!release)
		return finish(region, ticket,
			      status_set(PHILOX_ERROR_INVALID,
					 "region '%s': release is NULL",
					 region->name));
	context_lock(region->context);
	status = attach(region, ticket, context);
	context_unlock(region->context);
	return finish(region, ticket, status);
}

static enum philox_status get_context(struct philox_region *region,
				      struct philox_ticket ticket, void **saved)
{
	struct ledger_entry *entry;
	enum philox_status status = find(region, ticket, &entry);

	if (status != PHILOX_OK)
		return status;
	if (!entry->context.release)
		return status_set(PHILOX_ERROR_NOT_FOUND,
				  "region '%s': ticket %llu has no saved "
				  "context",
				  region->name,
				  (unsigned long long)ticket.serial);
	*saved = entry->context.saved;
	return PHILOX_OK;
}

enum philox_status philox_ticket_context(struct philox_region *region,
					 struct philox_ticket ticket,
					 void **saved)
{
	enum philox_status status;

	if (!region)
		return status_set(PHILOX_ERROR_INVALID, "region is NULL");
	if (!saved)
		return context_null(region->context, "saved");
	context_lock(region->context);
	status = get_context(region, ticket, saved);
	context_unlock(region->context);
	return finish(region, ticket, status);
}
