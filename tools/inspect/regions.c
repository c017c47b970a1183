/*
 * tools/inspect/regions.c - following the tickets of a journal
 *
 * A launch counts from the event that ends it; its uses come right after the
 * event that begins it. A ticket that was pending before the journal began, or
 * that came with a load, is unknown here and its wait has no beginning.
 */
#include <stdlib.h>
#include <string.h>
#include "lib/containers/array.h"
#include "tools/inspect/inspect.h"

struct event {
	const struct written *journal;
	size_t index;
	struct written_word words[WRITTEN_WORDS_MAX];
	size_t n;
};

static void read_words(const struct written *journal, size_t index,
		       struct event *event)
{
	event->journal = journal;
	event->index = index;
	event->n = written_words(&journal->events[index], event->words);
}

static uint64_t context_of(const struct event *event)
{
	return event->journal->events[event->index].context;
}

static int names_region(const struct event *event)
{
	struct written_word name =
		written_field(event->words, event->n, "region");

	return name.text && *name.text == '"';
}

/* NULL: out of memory. */
static struct inspect_region *find_region(struct inspect_regions *regions,
					  const struct event *event)
{
	struct written_word name =
		written_field(event->words, event->n, "region");
	struct inspect_region *added;

	for (size_t i = regions->n; i--;)
		if (regions->regions[i].context == context_of(event) &&
		    written_same(regions->regions[i].name, name))
			return &regions->regions[i];
	added = array_grow(&regions->regions, regions->n, 1, sizeof(*added));
	if (!added)
		return NULL;
	regions->n++;
	added->context = context_of(event);
	added->name = name;
	return added;
}

/* --- tickets -------------------------------------------------------------- */

#define MANY_TICKETS 16

/* Forgets the tickets that have ended, if they are most of many. */
static void compact(struct inspect_region *region)
{
	size_t kept = 0;

	if (region->n_tickets < MANY_TICKETS ||
	    2 * region->pending > region->n_tickets)
		return;
	for (size_t i = 0; i < region->n_tickets; i++)
		if (!region->tickets[i].ended)
			region->tickets[kept++] = region->tickets[i];
	region->n_tickets = kept;
}

/* The first ticket from a serial on, in order of serial. */
static size_t find_place(const struct inspect_region *region, uint64_t serial)
{
	size_t first = 0, last = region->n_tickets;

	while (first < last) {
		size_t middle = first + (last - first) / 2;

		if (region->tickets[middle].serial < serial)
			first = middle + 1;
		else
			last = middle;
	}
	return first;
}

/* Almost always the newest: forwards commit nearly in order. */
static void insert_ticket(struct inspect_region *region,
			  struct inspect_ticket ticket)
{
	size_t place = find_place(region, ticket.serial);

	memmove(&region->tickets[place + 1], &region->tickets[place],
		(region->n_tickets - place) * sizeof(ticket));
	region->tickets[place] = ticket;
	region->n_tickets++;
	region->pending++;
}

static int add_ticket(struct inspect_region *region, uint64_t serial,
		      size_t since)
{
	compact(region);
	if (!array_grow(&region->tickets, region->n_tickets, 1,
			sizeof(*region->tickets)))
		return -1;
	insert_ticket(region, (struct inspect_ticket){serial, since, 0});
	return 0;
}

static void note_wait(struct inspect_region *region, size_t since, size_t now)
{
	if (now - since > region->longest_for)
		region->longest_for = now - since;
}

static void end_ticket(struct inspect_region *region, uint64_t serial,
		       size_t now)
{
	size_t place = find_place(region, serial);
	struct inspect_ticket *ticket;

	if (place == region->n_tickets)
		return;
	ticket = &region->tickets[place];
	if (ticket->serial != serial || ticket->ended)
		return;
	note_wait(region, ticket->since, now);
	ticket->ended = 1;
	region->pending--;
}

static void end_all_tickets(struct inspect_region *region, size_t now)
{
	for (size_t i = 0; i < region->n_tickets; i++)
		if (!region->tickets[i].ended)
			note_wait(region, region->tickets[i].since, now);
	region->n_tickets = 0;
	region->pending = 0;
}

/* --- events --------------------------------------------------------------- */

/* A pass ended, by itself or as part of a launch. */
static int count_pass(struct inspect_regions *regions,
		      const struct event *event, int backward, size_t now)
{
	struct inspect_region *region = find_region(regions, event);
	uint64_t serial = written_number(event->words, event->n, "ticket");

	if (!region)
		return -1;
	if (!backward) {
		region->forwards++;
		return serial ? add_ticket(region, serial, now) : 0;
	}
	region->backwards++;
	if (serial && !written_has_flag(event->words, event->n, "retain"))
		end_ticket(region, serial, now);
	return 0;
}

/*
 * The begin of the launch that ends with this event; SIZE_MAX: before the
 * journal.
 */
static size_t find_launch(const struct event *end)
{
	struct written_word graph = written_field(end->words, end->n, "graph");
	struct event event;

	for (size_t i = end->index; i--;) {
		read_words(end->journal, i, &event);
		if (context_of(&event) != context_of(end))
			break;
		if (written_is(event.words[0], "launch-begin") &&
		    written_same(written_field(event.words, event.n, "graph"),
				 graph))
			return i;
	}
	return SIZE_MAX;
}

static int count_launch(struct inspect_regions *regions,
			const struct event *end)
{
	size_t begin = find_launch(end);
	struct event use;
	int result = 0;

	for (size_t i = begin; !result && i != SIZE_MAX && ++i < end->index;) {
		read_words(end->journal, i, &use);
		if (!written_is(use.words[0], "launch-use") ||
		    !names_region(&use))
			break;
		result = count_pass(
			regions, &use,
			!written_is(written_field(use.words, use.n, "pass"),
				    "forward"),
			end->index);
	}
	return result;
}

static int count_ticket_end(struct inspect_regions *regions,
			    const struct event *event)
{
	struct inspect_region *region = find_region(regions, event);

	if (!region)
		return -1;
	if (written_is(event->words[0], "region-destroy"))
		end_all_tickets(region, event->index);
	else
		end_ticket(region,
			   written_number(event->words, event->n, "ticket"),
			   event->index);
	return 0;
}

/* A journal does not say which tickets are pending after a load. */
static void forget_context(struct inspect_regions *regions,
			   const struct event *event)
{
	for (size_t i = 0; i < regions->n; i++)
		if (regions->regions[i].context == context_of(event))
			end_all_tickets(&regions->regions[i], event->index);
}

static int count_event(struct inspect_regions *regions,
		       const struct event *event)
{
	struct written_word kind = event->words[0];

	if (written_is(kind, "launch-commit"))
		return count_launch(regions, event);
	if (written_is(kind, "context-load"))
		forget_context(regions, event);
	if (!names_region(event))
		return 0;
	if (written_is(kind, "forward-commit"))
		return count_pass(regions, event, 0, event->index);
	if (written_is(kind, "backward-commit"))
		return count_pass(regions, event, 1, event->index);
	if (written_is(kind, "ticket-release") ||
	    written_is(kind, "region-destroy"))
		return count_ticket_end(regions, event);
	if (written_is(kind, "region-create"))
		return find_region(regions, event) ? 0 : -1;
	return 0;
}

/* --- all ------------------------------------------------------------------ */

/* Index of the last event of each region's context. */
static size_t last_event(const struct written *journal, uint64_t context)
{
	size_t last = journal->n_events;

	while (last && journal->events[last - 1].context != context)
		last--;
	return last - 1;
}

static void find_oldest(struct inspect_region *region, size_t last)
{
	for (size_t i = 0; !region->oldest && i < region->n_tickets; i++) {
		const struct inspect_ticket *ticket = &region->tickets[i];

		if (ticket->ended)
			continue;
		region->oldest = ticket->serial;
		region->oldest_for = last - ticket->since;
		note_wait(region, ticket->since, last);
	}
}

int inspect_regions(const struct written *journal,
		    struct inspect_regions *regions)
{
	struct event event;

	memset(regions, 0, sizeof(*regions));
	for (size_t i = 0; i < journal->n_events; i++) {
		read_words(journal, i, &event);
		if (count_event(regions, &event)) {
			inspect_regions_finish(regions);
			return -1;
		}
	}
	for (size_t i = 0; i < regions->n; i++)
		find_oldest(&regions->regions[i],
			    last_event(journal, regions->regions[i].context));
	return 0;
}

void inspect_regions_finish(struct inspect_regions *regions)
{
	for (size_t i = 0; i < regions->n; i++)
		free(regions->regions[i].tickets);
	free(regions->regions);
	memset(regions, 0, sizeof(*regions));
}
