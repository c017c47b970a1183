/*
 * lib/trace/timeline_rows.c - rows, and the lanes on which slices do not overlap
 */
#include <stdlib.h>
#include <string.h>
#include "lib/trace/timeline_rows.h"

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

struct timeline_lane *timeline_find_lane(struct timeline *timeline,
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
