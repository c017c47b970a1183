/*
 * lib/trace/timeline_tickets.c - pending tickets, and arrows from their forwards
 */
#include <inttypes.h>
#include <stdlib.h>
#include "lib/trace/slices.h"
#include "lib/trace/timeline_tickets.h"

struct timeline_ticket {
	struct timeline_ticket *next;
	uint64_t serial;
	const struct timeline_lane *lane;
	uint64_t since;
};

static struct timeline_ticket **find_ticket(struct timeline_row *row,
					    uint64_t serial)
{
	struct timeline_ticket **link = &row->tickets;

	while (*link && (*link)->serial != serial)
		link = &(*link)->next;
	return link;
}

static void add_ticket(const struct timeline_slice *slice, uint64_t serial)
{
	struct timeline_ticket *ticket = calloc(1, sizeof(*ticket));

	if (!ticket)
		return;
	*ticket = (struct timeline_ticket){.next = slice->lane->row->tickets,
					   .serial = serial,
					   .lane = slice->lane,
					   .since = slice->since};
	slice->lane->row->tickets = ticket;
}

static void remove_ticket(struct timeline_ticket **link)
{
	struct timeline_ticket *ticket = *link;

	if (!ticket)
		return;
	*link = ticket->next;
	free(ticket);
}

static void tell_arrow(struct timeline *timeline,
		       const struct timeline_slice *slice,
		       const struct timeline_step *step,
		       const struct timeline_lane *from, uint64_t since)
{
	struct timeline_item item = timeline_item(TIMELINE_ARROW, slice, step);
	uint64_t serial = step_number(step, "ticket");
	struct timeline_label label =
		timeline_number_label(serial ? "ticket" : "repeat", serial);

	item.time = slice->since;
	item.label = &label;
	item.from = from;
	item.from_time = since;
	item.arrow = ++timeline->arrows;
	timeline->take(timeline->user, &item);
}

void timeline_find_forward(struct timeline_slice *slice,
			   const struct timeline_step *step)
{
	const struct timeline_ticket *ticket =
		*find_ticket(slice->lane->row, step_number(step, "ticket"));

	if (!ticket)
		return;
	slice->from = ticket->lane;
	slice->from_time = ticket->since;
}

void timeline_link_ticket(struct timeline *timeline,
			  const struct timeline_slice *slice,
			  const struct timeline_step *step)
{
	if (slice->from)
		tell_arrow(timeline, slice, step, slice->from,
			   slice->from_time);
}

void timeline_link_part(struct timeline *timeline,
			const struct timeline_slice *slice,
			const struct timeline_step *step,
			const struct timeline_slice *forward)
{
	if (forward && forward != slice)
		tell_arrow(timeline, slice, step, forward->lane,
			   forward->since);
}

void timeline_settle_ticket(const struct timeline_slice *slice,
			    const struct timeline_step *step)
{
	uint64_t serial = step_number(step, "ticket");

	if (!serial)
		return;
	if (slice->kind == TIMELINE_FORWARD)
		add_ticket(slice, serial);
	else if (!written_has_flag(step->words, step->n, "retain"))
		remove_ticket(find_ticket(slice->lane->row, serial));
}

void timeline_lose_ticket(struct timeline_row *row, uint64_t serial)
{
	remove_ticket(find_ticket(row, serial));
}

void timeline_lose_tickets(struct timeline_row *row)
{
	while (row->tickets)
		remove_ticket(&row->tickets);
}
