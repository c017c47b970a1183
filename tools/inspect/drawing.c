/*
 * tools/inspect/drawing.c - what a picture of a journal shows
 *
 * Slices before the first place are kept too, since arrows may come from them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/containers/array.h"
#include "tools/inspect/inspect.h"

/* --- collecting ----------------------------------------------------------- */

/* NULL is told by the drawing's `failed`. */
static void *add_drawn(struct drawing *drawing, void *array, size_t n,
		       size_t size)
{
	void *added = array_grow(array, n, 1, size);

	drawing->failed |= !added;
	return added;
}

#define ADD(drawing, of)                                        \
	add_drawn((drawing), &(drawing)->of, (drawing)->n_##of, \
		  sizeof(*(drawing)->of))

static char *copy_of(struct drawing *drawing, const char *text)
{
	char *copy = strdup(text);

	drawing->failed |= !copy;
	return copy;
}

static void note_drawn(struct drawing *drawing, struct keyed *keyed,
		       const struct keyed_by *key, size_t index)
{
	drawing->failed |= !keyed_put(keyed, key, keyed_index(index));
}

static struct keyed_by lane_key(uint64_t context,
				const struct timeline_lane *lane)
{
	struct keyed_by key = keyed_by(context);

	keyed_by_number(&key, lane->number);
	return key;
}

static struct keyed_by slice_key(size_t lane, uint64_t since)
{
	struct keyed_by key = keyed_by(lane);

	keyed_by_number(&key, since);
	return key;
}

static void add_drawn_lane(struct drawing *drawing, uint64_t context,
			   const struct timeline_lane *lane)
{
	const struct keyed_by key = lane_key(context, lane);
	struct drawn_lane *drawn = ADD(drawing, lanes);
	char name[512];

	if (!drawn)
		return;
	written_name(lane->row->name, name, sizeof(name));
	drawn->context = context;
	drawn->group = lane->row->group;
	drawn->order = lane->row->order;
	drawn->place = lane->place;
	drawn->number = lane->number;
	drawn->name = copy_of(drawing, name);
	drawn->before = drawing->n_lanes;
	note_drawn(drawing, &drawing->by_number, &key, drawing->n_lanes);
	drawing->n_lanes++;
}

static size_t lane_index(const struct drawing *drawing, uint64_t context,
			 const struct timeline_lane *lane)
{
	const struct keyed_by key = lane_key(context, lane);

	return keyed_find(&drawing->by_number, &key);
}

/* What is said of it when the pointer is over it. */
static char *describe(struct drawing *drawing, const struct timeline_item *item)
{
	char text[2048], word[640];
	size_t length = 0;

	text[0] = '\0';
	for (size_t i = 1; i < item->n && length + sizeof(word) < sizeof(text);
	     i++) {
		written_name(item->words[i], word, sizeof(word));
		length += (size_t)snprintf(text + length, sizeof(text) - length,
					   "%s%s", i % 2 ? "\n" : " ", word);
	}
	return copy_of(drawing, text);
}

static const char *look_of(const struct timeline_item *item)
{
	if (item->label && *item->label->note)
		return "lesser";
	return "plain";
}

static struct drawn_slice *add_drawn_slice(struct drawing *drawing,
					   uint64_t context,
					   const struct timeline_item *item)
{
	struct drawn_slice *drawn = ADD(drawing, slices);
	struct keyed_by key;
	char label[512];

	if (!drawn)
		return NULL;
	timeline_write_label(item->label, label, sizeof(label));
	drawn->lane = lane_index(drawing, context, item->lane);
	drawn->kind = item->kind;
	drawn->mode = item->mode;
	drawn->since = item->time;
	drawn->until = item->until;
	drawn->look = look_of(item);
	drawn->label = copy_of(drawing, label);
	drawn->about = describe(drawing, item);
	key = slice_key(drawn->lane, drawn->since);
	note_drawn(drawing, &drawing->by_time, &key, drawing->n_slices);
	item->lane->range = drawing->n_slices++;
	return drawn;
}

static void end_drawn_slice(struct drawing *drawing, uint64_t time,
			    size_t index, const char *outcome)
{
	struct drawn_slice *drawn = &drawing->slices[index];

	if (index >= drawing->n_slices)
		return;
	drawn->until = time;
	if (!strcmp(outcome, "abort") || !strcmp(outcome, "drop"))
		drawn->look = "abort";
	else if (!strcmp(outcome, "open"))
		drawn->look = "open";
}

/* Of a lane, the newest one that begins then. */
static size_t find_drawn_slice(const struct drawing *drawing, size_t lane,
			       uint64_t since)
{
	const struct keyed_by key = slice_key(lane, since);

	return keyed_find(&drawing->by_time, &key); /* SIZE_MAX: none */
}

static void add_arrow(struct drawing *drawing, uint64_t context,
		      const struct timeline_item *item)
{
	size_t from = find_drawn_slice(drawing,
				       lane_index(drawing, context, item->from),
				       item->from_time);
	size_t to = find_drawn_slice(
		drawing, lane_index(drawing, context, item->lane), item->time);
	struct drawn_arrow *drawn;

	if (from == SIZE_MAX || to == SIZE_MAX ||
	    !(drawn = ADD(drawing, arrows)))
		return;
	*drawn = (struct drawn_arrow){from, to};
	drawing->n_arrows++;
}

static void add_mark(struct drawing *drawing, uint64_t context,
		     const struct timeline_item *item)
{
	struct drawn_mark *drawn;
	char text[2560], *about;

	if (item->time < drawing->first || !(drawn = ADD(drawing, marks)))
		return;
	about = describe(drawing, item);
	snprintf(text, sizeof(text), "%s%s", item->label->name,
		 about ? about : "");
	free(about);
	drawn->lane = lane_index(drawing, context, item->lane);
	drawn->time = item->time;
	drawn->about = copy_of(drawing, text);
	drawing->n_marks++;
}

static void take_context(void *user, uint64_t context)
{
	(void)user;
	(void)context;
}

static void take_drawn(void *user, uint64_t context,
		       const struct timeline_item *item)
{
	struct drawing *drawing = user;

	if (drawing->failed)
		return;
	switch (item->what) {
	case TIMELINE_LANE:
		add_drawn_lane(drawing, context, item->lane);
		break;
	case TIMELINE_BEGIN:
		add_drawn_slice(drawing, context, item);
		break;
	case TIMELINE_END:
		end_drawn_slice(drawing, item->time, item->lane->range,
				item->outcome);
		break;
	case TIMELINE_USE:
		if (add_drawn_slice(drawing, context, item))
			end_drawn_slice(drawing, item->until, item->lane->range,
					item->outcome);
		break;
	case TIMELINE_ARROW:
		add_arrow(drawing, context, item);
		break;
	case TIMELINE_MARK:
		add_mark(drawing, context, item);
		break;
	}
}

/* --- order ---------------------------------------------------------------- */

static void note_shown(struct drawing *drawing)
{
	for (size_t i = 0; i < drawing->n_slices; i++)
		if (drawing->slices[i].until >= drawing->first)
			drawing->lanes[drawing->slices[i].lane].shown = 1;
	for (size_t i = 0; i < drawing->n_marks; i++)
		drawing->lanes[drawing->marks[i].lane].shown = 1;
}

static int compare_lanes(const void *a, const void *b)
{
	const struct drawn_lane *left = a, *right = b;

	if (left->context != right->context)
		return left->context < right->context ? -1 : 1;
	if (left->group != right->group)
		return left->group < right->group ? -1 : 1;
	if (left->order != right->order)
		return left->order < right->order ? -1 : 1;
	return (left->place > right->place) - (left->place < right->place);
}

/* Slices and marks name their lanes by index, which changes. */
static int sort_lanes(struct drawing *drawing)
{
	size_t n = drawing->n_lanes;
	size_t *places = calloc(n + 1, sizeof(*places));

	if (!places)
		return -1;
	qsort(drawing->lanes, n, sizeof(*drawing->lanes), compare_lanes);
	for (size_t i = 0; i < n; i++)
		places[drawing->lanes[i].before] = i;
	for (size_t i = 0; i < drawing->n_slices; i++)
		drawing->slices[i].lane = places[drawing->slices[i].lane];
	for (size_t i = 0; i < drawing->n_marks; i++)
		drawing->marks[i].lane = places[drawing->marks[i].lane];
	free(places);
	return 0;
}

int drawing_make(struct drawing *drawing, const struct written *journal,
		 uint64_t first, uint64_t last)
{
	const struct follow follow = {take_context, take_drawn, drawing, 1};

	memset(drawing, 0, sizeof(*drawing));
	drawing->first = first;
	drawing->last = last;
	if (follow_journal(journal, &follow, last) || drawing->failed)
		return -1;
	note_shown(drawing);
	return drawing->n_lanes ? sort_lanes(drawing) : 0;
}

void drawing_finish(struct drawing *drawing)
{
	for (size_t i = 0; i < drawing->n_lanes; i++)
		free(drawing->lanes[i].name);
	for (size_t i = 0; i < drawing->n_slices; i++) {
		free(drawing->slices[i].label);
		free(drawing->slices[i].about);
	}
	for (size_t i = 0; i < drawing->n_marks; i++)
		free(drawing->marks[i].about);
	free(drawing->lanes);
	free(drawing->slices);
	free(drawing->arrows);
	free(drawing->marks);
	keyed_finish(&drawing->by_number);
	keyed_finish(&drawing->by_time);
}
