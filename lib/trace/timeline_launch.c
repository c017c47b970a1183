/*
 * lib/trace/timeline_launch.c - launches and the passes that they execute
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/trace/timeline_launch.h"
#include "lib/trace/slices.h"
#include "lib/trace/timeline_tickets.h"

#define KEY_MAX 512

/* "graph G": a graph has one launch at a time. */
static void write_key(char key[KEY_MAX], const struct timeline_step *step)
{
	struct written_word graph = step_word(step, "graph");

	snprintf(key, KEY_MAX, "graph %.*s", (int)graph.length, graph.text);
}

/* "step launch", 3 */
static struct timeline_label label_launch(const struct timeline_step *step)
{
	struct timeline_label label =
		timeline_number_label("", step_number(step, "sequence"));
	size_t length = written_name(step_word(step, "graph"), label.name,
				     sizeof(label.name) - 8);

	memcpy(label.name + length, " launch", 8);
	return label;
}

void timeline_begin_launch(struct timeline *timeline,
			   const struct timeline_step *step)
{
	const struct timeline_slice like = {.kind = TIMELINE_LAUNCH};
	const struct written_word name = {"launches", 8};
	const struct timeline_label label = label_launch(step);
	char key[KEY_MAX];

	write_key(key, step);
	timeline_begin_slice(timeline, &like, TIMELINE_LAUNCHES, name, step,
			     key, &label);
}

/* --- uses ----------------------------------------------------------------- */

static char *copy_text(const struct timeline_step *step)
{
	char *text = malloc(step->length + 1);

	if (!text)
		return NULL;
	memcpy(text, step->text, step->length);
	text[step->length] = '\0';
	return text;
}

/* A launch has one lane in each of its regions, where it has them in turn. */
static struct timeline_slice *new_use(struct timeline *timeline,
				      const struct timeline_slice *launch,
				      const struct timeline_step *step)
{
	struct timeline_slice like = {.mode = TIMELINE_LAUNCHED};
	struct written_word region = step_word(step, "region");

	like.kind = written_is(step_word(step, "pass"), "forward")
			    ? TIMELINE_FORWARD
			    : TIMELINE_BACKWARD;
	for (size_t i = launch->n_parts; i--;) {
		struct timeline_lane *lane = launch->parts[i]->lane;

		if (!written_same(lane->row->name, region))
			continue;
		lane->busy = 0;
		break;
	}
	return timeline_add_slice(timeline, &like, TIMELINE_REGION, region);
}

/*
 * The uses come right after the begin of their launch, which they do not name.
 * They wait for its end, which gives them their shares.
 */
void timeline_add_use(struct timeline *timeline,
		      const struct timeline_step *step)
{
	struct timeline_slice *launch = timeline->slices, *use;

	if (!launch || launch->kind != TIMELINE_LAUNCH) {
		timeline_mark(timeline, step);
		return;
	}
	use = new_use(timeline, launch, step);
	if (!use)
		return;
	use->text = copy_text(step);
	if (use->kind == TIMELINE_BACKWARD)
		timeline_find_forward(use, step);
	if (use->text && !timeline_add_part(launch, use))
		return;
	use->lane->busy = 0;
	timeline_forget_slice(timeline, use);
}

/* --- the end -------------------------------------------------------------- */

static void tell_use(struct timeline *timeline, struct timeline_slice *use,
		     const struct timeline_step *step, uint64_t until,
		     const char *outcome)
{
	struct timeline_item item = timeline_item(TIMELINE_USE, use, step);
	struct timeline_label label =
		timeline_pass_label(step, use->kind == TIMELINE_BACKWARD);

	item.until = until;
	item.label = &label;
	item.outcome = outcome;
	timeline->take(timeline->user, &item);
}

static void end_use(struct timeline *timeline,
		    const struct timeline_slice *launch,
		    struct timeline_slice *use, uint64_t until,
		    const char *outcome)
{
	struct timeline_step step = {.time = use->since, .text = use->text};
	const struct timeline_slice *forward;

	step.length = strlen(use->text);
	step.n = written_split(step.text, step.length, step.words);
	tell_use(timeline, use, &step, until, outcome);
	forward = timeline_find_part(launch, &step, "forward");
	if (forward)
		timeline_link_part(timeline, use, &step, forward);
	else
		timeline_link_ticket(timeline, use, &step);
	if (!strcmp(outcome, "commit"))
		timeline_settle_ticket(use, &step);
	use->lane->busy = 0;
}

/* The begin of the launch has a share before them. */
static void share(struct timeline_slice *launch, uint64_t end)
{
	uint64_t each = (end - launch->since) / (launch->n_parts + 1);

	for (size_t i = 0; i < launch->n_parts; i++)
		launch->parts[i]->since = launch->since + each * (i + 1);
}

void timeline_close_launch(struct timeline *timeline,
			   struct timeline_slice *launch,
			   const struct timeline_step *step,
			   const char *outcome)
{
	share(launch, step->time);
	for (size_t i = 0; i < launch->n_parts; i++)
		end_use(timeline, launch, launch->parts[i],
			i + 1 < launch->n_parts ? launch->parts[i + 1]->since
						: step->time,
			outcome);
	timeline_end_slice(timeline, launch, step, outcome);
	timeline_forget_slice(timeline, launch);
}

void timeline_end_launch(struct timeline *timeline,
			 const struct timeline_step *step, const char *outcome)
{
	struct timeline_slice *launch;
	char key[KEY_MAX];

	write_key(key, step);
	launch = timeline_find_slice(timeline, key);
	if (launch)
		timeline_close_launch(timeline, launch, step, outcome);
	else
		timeline_mark(timeline, step);
}
