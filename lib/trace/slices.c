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

static struct keyed_by row_key(enum timeline_group group,
			       struct written_word name)
{
	struct keyed_by key = keyed_by(group);

	keyed_by_word(&key, name.text, name.length);
	return key;
}

static struct timeline_row *add_row(struct timeline *timeline,
				    enum timeline_group group,
				    struct written_word name)
{
	const struct keyed_by key = row_key(group, name);
	struct timeline_row *row = calloc(1, sizeof(*row) + name.length + 1);

	if (!row || !keyed_put(&timeline->by_name, &key, row)) {
		free(row);
		return NULL;
	}
	row->group = group;
	row->order = timeline->groups[group]++;
	row->number = ++timeline->n_rows;
	row->last_lane = &row->lanes;
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
	const struct keyed_by key = row_key(group, name);
	struct timeline_row *row = keyed_value(&timeline->by_name, &key);

	return row ? row : add_row(timeline, group, name);
}

/* Room for one more lane or ticket in the indexes of both. */
static int reserve_nodes(struct timeline *timeline)
{
	const size_t entries = timeline->lanes + timeline->tickets.count + 1;

	return slab_reserve(&timeline->nodes, index_nodes(entries, 2));
}

static struct index_key idle_key(const struct timeline_lane *lane)
{
	return (struct index_key){lane->row->number, lane->place};
}

/* A lane that is not busy is among the idle ones. */
static struct timeline_lane *add_lane(struct timeline *timeline,
				      struct timeline_row *row)
{
	struct timeline_lane *lane = calloc(1, sizeof(*lane));

	if (!lane || !reserve_nodes(timeline)) {
		free(lane);
		return NULL;
	}
	*lane = (struct timeline_lane){.row = row,
				       .number = ++timeline->lanes,
				       .place = row->n_lanes++};
	*row->last_lane = lane;
	row->last_lane = &lane->next;
	index_insert(&timeline->idle, &timeline->nodes, idle_key(lane), lane);
	timeline->take(timeline->user,
		       &(struct timeline_item){.what = TIMELINE_LANE,
					       .kind = TIMELINE_OTHER,
					       .lane = lane});
	return lane;
}

/* The first lane of a row. */
static struct timeline_lane *first_lane(struct timeline *timeline,
					enum timeline_group group,
					struct written_word name)
{
	struct timeline_row *row = timeline_find_row(timeline, group, name);

	if (!row)
		return NULL;
	return row->lanes ? row->lanes : add_lane(timeline, row);
}

/* The first lane of a row on which nothing is open. */
static struct timeline_lane *take_lane(struct timeline *timeline,
				       enum timeline_group group,
				       struct written_word name)
{
	struct timeline_row *row = timeline_find_row(timeline, group, name);
	struct timeline_lane *lane;
	struct index_cursor at;

	if (!row)
		return NULL;
	at = index_at_least(&timeline->idle,
			    (struct index_key){row->number, 0});
	lane = at.leaf && index_key_at(at).high == row->number
		       ? index_value(at)
		       : add_lane(timeline, row);
	if (!lane)
		return NULL;
	index_remove(&timeline->idle, &timeline->nodes, idle_key(lane));
	lane->busy = 1;
	return lane;
}

void timeline_idle(struct timeline *timeline, struct timeline_lane *lane)
{
	if (!lane->busy)
		return;
	lane->busy = 0;
	index_insert(&timeline->idle, &timeline->nodes, idle_key(lane), lane);
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
	keyed_finish(&timeline->by_name);
	keyed_finish(&timeline->by_key);
	slab_finish(&timeline->nodes);
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
	const struct keyed_by key = row_key(TIMELINE_RUNNER, pool);

	return pool.text ? keyed_value(&timeline->by_name, &key) : NULL;
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
		return first_lane(timeline, TIMELINE_RUNNER, runner);
	if (region.text)
		return first_lane(timeline, TIMELINE_REGION, region);
	if (graph.text)
		return first_lane(timeline, TIMELINE_LAUNCHES, launches);
	return first_lane(timeline, TIMELINE_CONTEXT, context);
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
	struct timeline_slice *slice = malloc(sizeof(*slice));

	if (!slice)
		return NULL;
	*slice = *like;
	slice->lane = take_lane(timeline, group, name);
	if (slice->lane)
		return slice;
	free(slice);
	return NULL;
}

static struct keyed_by slice_key(const char *key)
{
	struct keyed_by by = keyed_by(0);

	keyed_by_word(&by, key, strlen(key));
	return by;
}

/* 0: no memory. */
static int list_slice(struct timeline *timeline, struct timeline_slice *slice,
		      const char *key)
{
	const struct keyed_by by = slice_key(key);

	slice->text = strdup(key);
	slice->same = keyed_value(&timeline->by_key, &by);
	if (!slice->text || !keyed_put(&timeline->by_key, &by, slice))
		return 0;
	slice->older = timeline->slices;
	if (slice->older)
		slice->older->newer = slice;
	timeline->slices = slice;
	slice->listed = 1;
	return 1;
}

/* The newest one with its key, as a rule. */
static void unlist_slice(struct timeline *timeline,
			 struct timeline_slice *slice)
{
	const struct keyed_by by = slice_key(slice->text);
	struct timeline_slice *with = keyed_value(&timeline->by_key, &by);

	if (with == slice && slice->same)
		keyed_put(&timeline->by_key, &by, slice->same);
	else if (with == slice)
		keyed_remove(&timeline->by_key, &by);
	for (; with != slice && with; with = with->same)
		if (with->same == slice)
			with->same = slice->same;
	if (slice->newer)
		slice->newer->older = slice->older;
	else
		timeline->slices = slice->older;
	if (slice->older)
		slice->older->newer = slice->newer;
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
	if (key && !list_slice(timeline, slice, key)) {
		timeline_idle(timeline, slice->lane);
		free(slice->text);
		free(slice);
		return NULL;
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
	timeline_idle(timeline, slice->lane);
	slice->ended = 1;
}

struct timeline_slice *timeline_find_slice(const struct timeline *timeline,
					   const char *key)
{
	const struct keyed_by by = slice_key(key);

	return keyed_value(&timeline->by_key, &by);
}

void timeline_forget_slice(struct timeline *timeline,
			   struct timeline_slice *slice)
{
	if (slice->listed)
		unlist_slice(timeline, slice);
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
	const struct timeline_lane *lane;
	uint64_t since;
};

static int is_same_key(struct index_key a, struct index_key b)
{
	return a.high == b.high && a.low == b.low;
}

static struct index_key ticket_key(const struct timeline_row *row,
				   uint64_t serial)
{
	return (struct index_key){row->number, serial};
}

static struct timeline_ticket *find_ticket(const struct timeline *timeline,
					   struct index_key key)
{
	const struct index_cursor at = index_at_least(&timeline->tickets, key);

	return at.leaf && is_same_key(index_key_at(at), key) ? index_value(at)
							     : NULL;
}

static void remove_ticket(struct timeline *timeline, struct index_key key)
{
	free(index_remove(&timeline->tickets, &timeline->nodes, key));
}

static void add_ticket(struct timeline *timeline,
		       const struct timeline_slice *slice, uint64_t serial)
{
	const struct index_key key = ticket_key(slice->lane->row, serial);
	struct timeline_ticket *ticket;

	remove_ticket(timeline, key); /* of a context that began again */
	ticket = calloc(1, sizeof(*ticket));
	if (!ticket || !reserve_nodes(timeline)) {
		free(ticket);
		return;
	}
	*ticket = (struct timeline_ticket){slice->lane, slice->since};
	index_insert(&timeline->tickets, &timeline->nodes, key, ticket);
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

void timeline_find_forward(const struct timeline *timeline,
			   struct timeline_slice *slice,
			   const struct timeline_step *step)
{
	const struct timeline_ticket *ticket =
		find_ticket(timeline, ticket_key(slice->lane->row,
						 step_number(step, "ticket")));

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

void timeline_settle_ticket(struct timeline *timeline,
			    const struct timeline_slice *slice,
			    const struct timeline_step *step)
{
	uint64_t serial = step_number(step, "ticket");

	if (!serial)
		return;
	if (slice->kind == TIMELINE_FORWARD)
		add_ticket(timeline, slice, serial);
	else if (!written_has_flag(step->words, step->n, "retain"))
		timeline_lose_ticket(timeline, slice->lane->row, serial);
}

void timeline_lose_ticket(struct timeline *timeline,
			  const struct timeline_row *row, uint64_t serial)
{
	remove_ticket(timeline, ticket_key(row, serial));
}

void timeline_lose_tickets(struct timeline *timeline,
			   const struct timeline_row *row)
{
	const struct index_key first = {row ? row->number : 0, 0};
	struct index_cursor at;

	while ((at = index_at_least(&timeline->tickets, first)).leaf &&
	       (!row || index_key_at(at).high == row->number))
		remove_ticket(timeline, index_key_at(at));
}
