/*
 * lib/trace/slices.c - what begins and ends, and what only happens
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/containers/array.h"
#include "lib/trace/parts.h"

/* --- labels --------------------------------------------------------------- */

static const char *note_of(const struct timeline_step *step)
{
	static const char *const flags[] = {"inference", "warmup", "retain"};
	static const char *const notes[] = {" (inference)", " (warm-up)",
					    " (retained)"};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (written_has_flag(step->words, step->n, flags[i]))
			return notes[i];
	return "";
}

struct timeline_label timeline_number_label(const char *name, uint64_t number)
{
	struct timeline_label label = {.number = number, .note = ""};

	snprintf(label.name, sizeof(label.name), "%s", name);
	return label;
}

struct timeline_label timeline_pass_label(const struct timeline_step *step,
					  int backward)
{
	struct timeline_label label = timeline_number_label(
		backward ? "backward" : "forward", step_number(step, "ticket"));

	label.note = note_of(step);
	return label;
}

static struct timeline_label label_step(const struct timeline_step *step)
{
	const struct written_word miss = step_word(step, "miss");
	struct timeline_label label = {.note = ""};

	if (miss.text)
		snprintf(label.name, sizeof(label.name), "miss: %.*s",
			 (int)miss.length, miss.text);
	else
		snprintf(label.name, sizeof(label.name), "%.*s",
			 (int)step->words[0].length, step->words[0].text);
	return label;
}

void timeline_write_label(const struct timeline_label *label, char *text,
			  size_t size)
{
	if (label->number)
		snprintf(text, size, "%s %" PRIu64 "%s", label->name,
			 label->number, label->note);
	else
		snprintf(text, size, "%s%s", label->name, label->note);
}

/* --- rows, and the lanes on which slices do not overlap -------------------- */

static struct timeline_row *add_row(struct timeline *timeline,
				    enum timeline_group group, unsigned order,
				    struct written_word name)
{
	struct timeline_row *row = calloc(1, sizeof(*row) + name.length + 1);

	if (!row)
		return NULL;
	row->group = group;
	row->order = order;
	row->name = (struct written_word){
		memcpy(row + 1, name.text, name.length), name.length};
	*timeline->last_row = row;
	timeline->last_row = &row->next;
	return row;
}

struct timeline_row *timeline_find_row(struct timeline *timeline,
				       enum timeline_group group,
				       struct written_word name)
{
	unsigned order = 0;

	for (struct timeline_row *row = timeline->rows; row; row = row->next) {
		if (row->group != group)
			continue;
		if (written_same(row->name, name))
			return row;
		order++;
	}
	return add_row(timeline, group, order, name);
}

static struct timeline_lane *add_lane(struct timeline *timeline,
				      struct timeline_row *row, unsigned place)
{
	struct timeline_lane *lane = calloc(1, sizeof(*lane)), **link;

	if (!lane)
		return NULL;
	*lane = (struct timeline_lane){
		.row = row, .number = ++timeline->lanes, .place = place};
	for (link = &row->lanes; *link; link = &(*link)->next)
		;
	*link = lane;
	timeline->take(timeline->user,
		       &(struct timeline_item){.what = TIMELINE_LANE,
					       .kind = TIMELINE_OTHER,
					       .lane = lane});
	return lane;
}

/* The first lane of a row, or the first one on which nothing is open. */
static struct timeline_lane *find_lane(struct timeline *timeline,
				       enum timeline_group group,
				       struct written_word name, int idle)
{
	struct timeline_row *row = timeline_find_row(timeline, group, name);
	struct timeline_lane *lane;
	unsigned place = 0;

	if (!row)
		return NULL;
	for (lane = row->lanes; lane; lane = lane->next, place++)
		if (!idle || !lane->busy)
			return lane;
	return add_lane(timeline, row, place);
}

static void free_row(struct timeline_row *row)
{
	struct timeline_lane *lane;

	while ((lane = row->lanes)) {
		row->lanes = lane->next;
		free(lane);
	}
	free(row);
}

void timeline_free_rows(struct timeline *timeline)
{
	struct timeline_row *row;

	while ((row = timeline->rows)) {
		timeline->rows = row->next;
		free_row(row);
	}
}

/* --- items ---------------------------------------------------------------- */

struct timeline_item timeline_item(enum timeline_what what,
				   const struct timeline_slice *slice,
				   const struct timeline_step *step)
{
	return (struct timeline_item){.what = what,
				      .kind = slice->kind,
				      .mode = slice->mode,
				      .lane = slice->lane,
				      .time = step->time,
				      .words = step->words,
				      .n = step->n};
}

/* The row of the runner that has a pool of this name. */
static struct timeline_row *runner_row(const struct timeline *timeline,
				       struct written_word pool)
{
	struct timeline_row *row = timeline->rows;

	while (row && (row->group != TIMELINE_RUNNER || !pool.text ||
		       !written_same(row->name, pool)))
		row = row->next;
	return row;
}

/* On the first lane of the row that it is about. */
static struct timeline_lane *lane_of_mark(struct timeline *timeline,
					  const struct timeline_step *step)
{
	const struct written_word context = {"context", 7};
	const struct written_word launches = {"launches", 8};
	struct written_word region = step_word(step, "region");
	struct written_word graph = step_word(step, "graph");
	struct written_word runner = step_word(step, "runner");
	struct timeline_row *row =
		runner_row(timeline, step_word(step, "pool"));

	if (row)
		runner = row->name;
	if (runner.text)
		return find_lane(timeline, TIMELINE_RUNNER, runner, 0);
	if (region.text)
		return find_lane(timeline, TIMELINE_REGION, region, 0);
	if (graph.text)
		return find_lane(timeline, TIMELINE_LAUNCHES, launches, 0);
	return find_lane(timeline, TIMELINE_CONTEXT, context, 0);
}

void timeline_mark(struct timeline *timeline, const struct timeline_step *step)
{
	struct timeline_lane *lane = lane_of_mark(timeline, step);
	const struct timeline_slice at = {.kind = TIMELINE_OTHER, .lane = lane};
	struct timeline_item item = timeline_item(TIMELINE_MARK, &at, step);
	struct timeline_label label = label_step(step);

	item.label = &label;
	if (lane)
		timeline->take(timeline->user, &item);
}

/* --- slices --------------------------------------------------------------- */

struct timeline_slice *timeline_add_slice(struct timeline *timeline,
					  const struct timeline_slice *like,
					  enum timeline_group group,
					  struct written_word name)
{
	struct timeline_lane *lane = find_lane(timeline, group, name, 1);
	struct timeline_slice *slice = lane ? malloc(sizeof(*slice)) : NULL;

	if (!slice)
		return NULL;
	*slice = *like;
	slice->lane = lane;
	lane->busy = 1;
	return slice;
}

struct timeline_slice *timeline_begin_slice(struct timeline *timeline,
					    const struct timeline_slice *like,
					    enum timeline_group group,
					    struct written_word name,
					    const struct timeline_step *step,
					    const char *key,
					    const struct timeline_label *label)
{
	struct timeline_slice *slice =
		timeline_add_slice(timeline, like, group, name);
	struct timeline_item item;

	if (!slice)
		return NULL;
	slice->since = step->time;
	slice->text = key ? strdup(key) : NULL;
	if (key && !slice->text) {
		slice->lane->busy = 0;
		free(slice);
		return NULL;
	}
	if (key) {
		slice->next = timeline->slices;
		timeline->slices = slice;
	}
	item = timeline_item(TIMELINE_BEGIN, slice, step);
	item.label = label;
	timeline->take(timeline->user, &item);
	return slice;
}

void timeline_end_slice(struct timeline *timeline, struct timeline_slice *slice,
			const struct timeline_step *step, const char *outcome)
{
	struct timeline_item item = timeline_item(TIMELINE_END, slice, step);

	item.outcome = outcome;
	timeline->take(timeline->user, &item);
	slice->lane->busy = 0;
	slice->ended = 1;
}

struct timeline_slice *timeline_find_slice(const struct timeline *timeline,
					   const char *key)
{
	struct timeline_slice *slice = timeline->slices;

	while (slice && strcmp(slice->text, key) != 0)
		slice = slice->next;
	return slice;
}

void timeline_forget_slice(struct timeline *timeline,
			   struct timeline_slice *slice)
{
	struct timeline_slice **link = &timeline->slices;

	while (*link && *link != slice)
		link = &(*link)->next;
	if (*link)
		*link = slice->next;
	for (size_t i = 0; i < slice->n_parts; i++) {
		free(slice->parts[i]->text);
		free(slice->parts[i]);
	}
	free(slice->parts);
	free(slice->text);
	free(slice);
}

/* --- parts ---------------------------------------------------------------- */

int timeline_add_part(struct timeline_slice *whole, struct timeline_slice *part)
{
	if (!array_grow(&whole->parts, whole->n_parts, 1, sizeof(part)))
		return -1;
	whole->parts[whole->n_parts++] = part;
	return 0;
}

struct timeline_slice *timeline_find_part(const struct timeline_slice *whole,
					  const struct timeline_step *step,
					  const char *field)
{
	struct written_word word = step_word(step, field);
	uint64_t index = step_number(step, field);

	if (!word.text || *word.text < '0' || *word.text > '9' ||
	    index >= whole->n_parts)
		return NULL;
	return whole->parts[index];
}

/* --- pending tickets, and arrows from their forwards ----------------------- */

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
