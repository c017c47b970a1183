/*
 * lib/pass/ticket.c - tickets outside passes
 *
 * Checks, release, the saved context a ticket can carry, and what it keeps. See
 * Note [Ledger].
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <philox/fill.h>
#include "lib/pass/pass.h"

#define PARTS_MAX    (1u << 16)
#define ELEMENTS_MAX PHILOX_ELEMENTS(PHILOX_DTYPE_I64)

/* A saved context that was described takes its place in the ledger. */
struct described {
	void *saved;
	void (*release)(void *saved, philox_stream stream);
	size_t n;
	struct philox_kept_item parts[];
};

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

/* --- what a saved context holds ----------------------------------------------- */

static void release_described(void *saved, philox_stream stream)
{
	struct described *described = saved;

	described->release(described->saved, stream);
	free(described);
}

/* NULL: the saved context is as it was attached. */
static struct described *described_of(const struct ledger_entry *entry)
{
	return entry->context.release == release_described
		       ? entry->context.saved
		       : NULL;
}

static enum philox_status find_context(struct philox_region *region,
				       struct philox_ticket ticket,
				       struct ledger_entry **entry)
{
	enum philox_status status = ticket_pending(region, ticket, entry);

	if (status != PHILOX_OK || (*entry)->context.release)
		return status;
	return status_set(PHILOX_ERROR_NOT_FOUND,
			  "region '%s': ticket %" PRIu64
			  " has no saved context",
			  region->name, ticket.serial);
}

static enum philox_status refuse_part(const struct philox_region *region,
				      size_t index, const char *what)
{
	return status_set(PHILOX_ERROR_INVALID,
			  "region '%s': part %zu of a saved context: %s",
			  region->name, index, what);
}

static enum philox_status check_part(const struct philox_region *region,
				     const struct philox_saved_desc *part,
				     size_t index)
{
	if (!part->name || !*part->name)
		return refuse_part(region, index, "name is empty");
	if (strlen(part->name) >= sizeof(((struct philox_kept_item *)0)->name))
		return refuse_part(region, index, "name has over 63 bytes");
	if (part->elements > ELEMENTS_MAX)
		return refuse_part(region, index, "elements are not known");
	if (part->reserved32 || part->reserved)
		return refuse_part(region, index, "reserved is not 0");
	return PHILOX_OK;
}

static enum philox_status check_parts(const struct philox_region *region,
				      const struct philox_saved_desc *parts,
				      size_t n)
{
	enum philox_status status = PHILOX_OK;

	if (n && !parts)
		return context_null(region->context, "parts");
	if (n > PARTS_MAX)
		return status_set(PHILOX_ERROR_LIMIT,
				  "region '%s': a saved context has %u parts "
				  "at most, not %zu",
				  region->name, PARTS_MAX, n);
	for (size_t i = 0; status == PHILOX_OK && i < n; i++)
		status = check_part(region, &parts[i], i);
	return status;
}

static struct philox_kept_item kept_item(const char *name, const char *function,
					 uint32_t elements, uint64_t bytes)
{
	struct philox_kept_item item = {.elements = elements, .bytes = bytes};

	snprintf(item.name, sizeof(item.name), "%s", name);
	snprintf(item.function, sizeof(item.function), "%s", function);
	return item;
}

static struct described *make_description(const struct philox_saved_desc *parts,
					  size_t n)
{
	struct described *made =
		calloc(1, sizeof(*made) + n * sizeof(*made->parts));

	if (!made)
		return NULL;
	made->n = n;
	for (size_t i = 0; i < n; i++)
		made->parts[i] = kept_item(parts[i].name, "", parts[i].elements,
					   parts[i].bytes);
	return made;
}

/* Gives back what the ticket had before, or what it did not take. */
static enum philox_status describe(struct philox_region *region,
				   struct philox_ticket ticket,
				   struct described **made)
{
	struct ledger_entry *entry;
	struct described *before;
	enum philox_status status = find_context(region, ticket, &entry);

	if (status != PHILOX_OK)
		return status;
	before = described_of(entry);
	(*made)->saved = before ? before->saved : entry->context.saved;
	(*made)->release = before ? before->release : entry->context.release;
	entry->context.saved = *made;
	entry->context.release = release_described;
	*made = before;
	return PHILOX_OK;
}

enum philox_status philox_ticket_describe(struct philox_region *region,
					  struct philox_ticket ticket,
					  const struct philox_saved_desc *parts,
					  size_t n_parts)
{
	struct described *made;
	enum philox_status status;

	if (!region)
		return context_null(NULL, "region");
	NEED_PROCESS(region->context);
	status = check_parts(region, parts, n_parts);
	if (status != PHILOX_OK)
		return report_ticket(region, ticket, status);
	made = make_description(parts, n_parts);
	if (!made)
		return report_ticket(region, ticket,
				     status_set(PHILOX_ERROR_MEMORY,
						"region '%s': no memory to "
						"describe a saved context",
						region->name));
	context_lock(region->context);
	status = describe(region, ticket, &made);
	context_unlock(region->context);
	free(made);
	return report_ticket(region, ticket, status);
}

static enum philox_status get_context(struct philox_region *region,
				      struct philox_ticket ticket, void **saved)
{
	struct ledger_entry *entry;
	const struct described *described;
	enum philox_status status = find_context(region, ticket, &entry);

	if (status != PHILOX_OK)
		return status;
	described = described_of(entry);
	*saved = described ? described->saved : entry->context.saved;
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

/* --- what a ticket keeps ------------------------------------------------------ */

void kept_put(struct kept_list *list, size_t place, const char *name,
	      const char *function, uint32_t elements, uint64_t bytes)
{
	if (place < list->room)
		list->items[place] = kept_item(name, function, elements, bytes);
	list->bytes += bytes;
}

static void list_saved(const struct ledger_entry *entry, struct kept_list *list)
{
	const struct described *described = described_of(entry);

	if (!described) {
		kept_put(list, list->n++, "saved context", "", 0, 0);
		return;
	}
	for (size_t i = 0; i < described->n; i++) {
		const struct philox_kept_item *part = &described->parts[i];

		kept_put(list, list->n++, part->name, "", part->elements,
			 part->bytes);
	}
}

enum philox_status ticket_list_kept(struct philox_region *region,
				    struct philox_ticket ticket,
				    struct kept_list *list)
{
	struct ledger_entry *entry;
	enum philox_status status = ticket_pending(region, ticket, &entry);

	if (status != PHILOX_OK)
		return status;
	if (entry->context.release)
		list_saved(entry, list);
	if (entry->context.untie)
		region->context->hooks->tied(entry->context.tied, list);
	return PHILOX_OK;
}

enum philox_status philox_ticket_kept(struct philox_region *region,
				      struct philox_ticket ticket,
				      struct philox_kept_item *items,
				      size_t room, size_t *n_items,
				      uint64_t *bytes)
{
	struct kept_list list = {.items = items, .room = room};
	enum philox_status status;

	if (!region)
		return context_null(NULL, "region");
	if (!n_items || (room && !items))
		return context_null(region->context,
				    n_items ? "items" : "n_items");
	NEED_PROCESS(region->context);
	context_lock(region->context);
	status = ticket_list_kept(region, ticket, &list);
	context_unlock(region->context);
	if (status == PHILOX_OK)
		*n_items = list.n;
	if (status == PHILOX_OK && bytes)
		*bytes = list.bytes;
	return report_ticket(region, ticket, status);
}
