/*
 * lib/trace/timeline.c - see Note [Trace] in lib/trace/trace.h
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/trace/parts.h"

/* --- eager passes --------------------------------------------------------- */

#define KEY_MAX 1024

/* "forward" and the fields before the flags, which a commit may add to. */
static void write_pass_key(char key[KEY_MAX], const struct timeline_step *step,
			   int backward)
{
	const char *fields = step->text + step->words[0].length;
	size_t length = step->length - step->words[0].length;
	const char *flags = memmem(fields, length, " flags ", 7);

	if (flags)
		length = (size_t)(flags - fields);
	snprintf(key, KEY_MAX, "%s%.*s", backward ? "backward" : "forward",
		 (int)length, fields);
}

static struct timeline_slice pass_slice(enum timeline_mode mode, int backward)
{
	return (struct timeline_slice){.kind = backward ? TIMELINE_BACKWARD
							: TIMELINE_FORWARD,
				       .mode = mode};
}

static void begin_eager_pass(struct timeline *timeline,
			     const struct timeline_step *step, int backward)
{
	const struct timeline_slice like = pass_slice(TIMELINE_EAGER, backward);
	struct timeline_label label = timeline_pass_label(step, backward);
	struct timeline_slice *slice;
	char key[KEY_MAX];

	write_pass_key(key, step, backward);
	slice = timeline_begin_slice(timeline, &like, TIMELINE_REGION,
				     step_word(step, "region"), step, key,
				     &label);
	if (!slice || !backward)
		return;
	timeline_find_forward(slice, step);
	timeline_link_ticket(timeline, slice, step);
}

static void end_eager_pass(struct timeline *timeline,
			   const struct timeline_step *step, int backward,
			   const char *outcome)
{
	struct timeline_slice *slice;
	char key[KEY_MAX];

	write_pass_key(key, step, backward);
	slice = timeline_find_slice(timeline, key);
	if (!slice) {
		timeline_mark(timeline, step);
		return;
	}
	timeline_end_slice(timeline, slice, step, outcome);
	if (!strcmp(outcome, "commit"))
		timeline_settle_ticket(slice, step);
	timeline_forget_slice(timeline, slice);
}

/* --- captures ------------------------------------------------------------- */

static void write_capture_key(char key[KEY_MAX],
			      const struct timeline_step *step)
{
	snprintf(key, KEY_MAX, "capture %" PRIu64,
		 step_number(step, "capture"));
}

static struct timeline_slice *find_capture(struct timeline *timeline,
					   const struct timeline_step *step)
{
	char key[KEY_MAX];

	write_capture_key(key, step);
	return timeline_find_slice(timeline, key);
}

static void begin_capture(struct timeline *timeline,
			  const struct timeline_step *step)
{
	const struct timeline_slice like = {.kind = TIMELINE_CAPTURE};
	const struct written_word name = {"captures", 8};
	const struct timeline_label label =
		timeline_number_label("capture", step_number(step, "capture"));
	char key[KEY_MAX];

	write_capture_key(key, step);
	timeline_begin_slice(timeline, &like, TIMELINE_CAPTURES, name, step,
			     key, &label);
}

static void begin_captured(struct timeline *timeline,
			   const struct timeline_step *step, int backward)
{
	const struct timeline_slice like =
		pass_slice(TIMELINE_CAPTURED, backward);
	struct timeline_slice *capture = find_capture(timeline, step), *slice;
	struct timeline_label label = timeline_pass_label(step, backward);

	if (!capture) {
		timeline_mark(timeline, step);
		return;
	}
	slice = timeline_begin_slice(timeline, &like, TIMELINE_REGION,
				     step_word(step, "region"), step, NULL,
				     &label);
	if (!slice)
		return;
	if (timeline_add_part(capture, slice)) {
		timeline_end_slice(timeline, slice, step, "open");
		timeline_forget_slice(timeline, slice);
		return;
	}
	timeline_link_part(timeline, slice, step,
			   timeline_find_part(capture, step, "forward"));
}

static void end_captured(struct timeline *timeline,
			 const struct timeline_step *step, const char *outcome)
{
	struct timeline_slice *capture = find_capture(timeline, step);
	struct timeline_slice *slice =
		capture ? timeline_find_part(capture, step, "pass") : NULL;

	if (slice && !slice->over)
		timeline_end_slice(timeline, slice, step, outcome);
	else
		timeline_mark(timeline, step);
}

/* With the passes that are still open. */
static void close_capture(struct timeline *timeline,
			  struct timeline_slice *capture,
			  const struct timeline_step *step, const char *outcome)
{
	for (size_t i = 0; i < capture->n_parts; i++)
		if (!capture->parts[i]->over)
			timeline_end_slice(timeline, capture->parts[i], step,
					   outcome);
	timeline_end_slice(timeline, capture, step, outcome);
	timeline_forget_slice(timeline, capture);
}

static void end_capture(struct timeline *timeline,
			const struct timeline_step *step, const char *outcome)
{
	struct timeline_slice *capture = find_capture(timeline, step);

	if (capture)
		close_capture(timeline, capture, step, outcome);
	else
		timeline_mark(timeline, step);
}

/* --- calls of runners -------------------------------------------------------- */

/* The fields of the begin, which the end has, too. */
static void write_call_key(char key[KEY_MAX], const struct timeline_step *step)
{
	struct written_word runner = step_word(step, "runner");
	struct written_word function = step_word(step, "function");

	snprintf(key, KEY_MAX, "call %.*s %.*s", (int)runner.length,
		 runner.text, (int)function.length, function.text);
}

static void begin_call(struct timeline *timeline,
		       const struct timeline_step *step)
{
	const struct timeline_slice like = {.kind = TIMELINE_CALL};
	struct timeline_label label = {.note = ""};
	char key[KEY_MAX];

	write_call_key(key, step);
	written_name(step_word(step, "function"), label.name,
		     sizeof(label.name));
	timeline_begin_slice(timeline, &like, TIMELINE_RUNNER,
			     step_word(step, "runner"), step, key, &label);
}

static void end_call(struct timeline *timeline,
		     const struct timeline_step *step)
{
	struct timeline_slice *slice;
	char key[KEY_MAX], outcome[32];

	write_call_key(key, step);
	slice = timeline_find_slice(timeline, key);
	if (!slice) {
		timeline_mark(timeline, step);
		return;
	}
	written_name(step_word(step, "kind"), outcome, sizeof(outcome));
	timeline_end_slice(timeline, slice, step, outcome);
	timeline_forget_slice(timeline, slice);
}

/* --- events that end tickets ---------------------------------------------- */

static void lose(struct timeline *timeline, const struct timeline_step *step,
		 int all)
{
	struct timeline_row *row = timeline_find_row(timeline, TIMELINE_REGION,
						     step_word(step, "region"));

	timeline_mark(timeline, step);
	if (row && all)
		timeline_lose_tickets(row);
	else if (row)
		timeline_lose_ticket(row, step_number(step, "ticket"));
}

/* Which tickets are pending after a load is not said. */
static void lose_all(struct timeline *timeline,
		     const struct timeline_step *step)
{
	timeline_mark(timeline, step);
	for (struct timeline_row *row = timeline->rows; row; row = row->next)
		timeline_lose_tickets(row);
}

/* --- all events ----------------------------------------------------------- */

enum step_kind {
	PASS_BEGINS,
	PASS_ENDS,
	CAPTURE_BEGINS,
	CAPTURED_BEGINS,
	CAPTURED_ENDS,
	CAPTURE_ENDS,
	CALL_BEGINS,
	CALL_ENDS,
	LAUNCH_BEGINS,
	LAUNCH_USES,
	LAUNCH_ENDS,
	TICKET_ENDS,
	REGION_ENDS,
	TICKETS_CHANGE
};

/* One that ends something has its outcome after the dash. */
static const struct kind_of_step {
	const char *event;
	enum step_kind kind;
	int backward;
	const char *field; /* without it, it is a mark */
} kinds[] = {
	{"forward-begin", PASS_BEGINS, 0, "region"},
	{"forward-commit", PASS_ENDS, 0, "region"},
	{"forward-abort", PASS_ENDS, 0, "region"},
	{"backward-begin", PASS_BEGINS, 1, "region"},
	{"backward-commit", PASS_ENDS, 1, "region"},
	{"backward-abort", PASS_ENDS, 1, "region"},
	{"capture-begin", CAPTURE_BEGINS, 0, "capture"},
	{"capture-forward", CAPTURED_BEGINS, 0, "region"},
	{"capture-backward", CAPTURED_BEGINS, 1, "region"},
	{"capture-commit", CAPTURED_ENDS, 0, "pass"},
	{"capture-abort", CAPTURED_ENDS, 0, "pass"},
	{"capture-adopt", CAPTURE_ENDS, 0, "capture"},
	{"capture-drop", CAPTURE_ENDS, 0, "capture"},
	{"function-begin", CALL_BEGINS, 0, "function"},
	{"function-end", CALL_ENDS, 0, "function"},
	{"launch-begin", LAUNCH_BEGINS, 0, "graph"},
	{"launch-use", LAUNCH_USES, 0, "region"},
	{"launch-commit", LAUNCH_ENDS, 0, "graph"},
	{"launch-abort", LAUNCH_ENDS, 0, "graph"},
	{"ticket-release", TICKET_ENDS, 0, "region"},
	{"region-destroy", REGION_ENDS, 0, "region"},
	{"context-load", TICKETS_CHANGE, 0, "digest"},
};

static void take_step(struct timeline *timeline,
		      const struct timeline_step *step,
		      const struct kind_of_step *kind)
{
	const char *outcome = strchr(kind->event, '-') + 1;

	switch (kind->kind) {
	case PASS_BEGINS:
		begin_eager_pass(timeline, step, kind->backward);
		break;
	case PASS_ENDS:
		end_eager_pass(timeline, step, kind->backward, outcome);
		break;
	case CAPTURE_BEGINS:
		begin_capture(timeline, step);
		break;
	case CAPTURED_BEGINS:
		begin_captured(timeline, step, kind->backward);
		break;
	case CAPTURED_ENDS:
		end_captured(timeline, step, outcome);
		break;
	case CAPTURE_ENDS:
		end_capture(timeline, step, outcome);
		break;
	case CALL_BEGINS:
		begin_call(timeline, step);
		break;
	case CALL_ENDS:
		end_call(timeline, step);
		break;
	case LAUNCH_BEGINS:
		timeline_begin_launch(timeline, step);
		break;
	case LAUNCH_USES:
		timeline_add_use(timeline, step);
		break;
	case LAUNCH_ENDS:
		timeline_end_launch(timeline, step, outcome);
		break;
	case TICKET_ENDS:
	case REGION_ENDS:
		lose(timeline, step, kind->kind == REGION_ENDS);
		break;
	case TICKETS_CHANGE:
		lose_all(timeline, step);
		break;
	}
}

void timeline_event(struct timeline *timeline, uint64_t time, const char *text,
		    size_t length)
{
	struct timeline_step step = {
		.time = time, .text = text, .length = length};

	step.n = written_split(text, length, step.words);
	if (!step.n)
		return;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!written_is(step.words[0], kinds[i].event) ||
		    !step_word(&step, kinds[i].field).text)
			continue;
		take_step(timeline, &step, &kinds[i]);
		return;
	}
	timeline_mark(timeline, &step);
}

/* --- beginning and end ---------------------------------------------------- */

struct timeline *timeline_create(timeline_take *take, void *user)
{
	struct timeline *timeline = calloc(1, sizeof(*timeline));

	if (!timeline)
		return NULL;
	timeline->take = take;
	timeline->user = user;
	timeline->last_row = &timeline->rows;
	return timeline;
}

static void close_slice(struct timeline *timeline, struct timeline_slice *slice,
			const struct timeline_step *step)
{
	if (slice->kind == TIMELINE_LAUNCH) {
		timeline_close_launch(timeline, slice, step, "open");
	} else if (slice->kind == TIMELINE_CAPTURE) {
		close_capture(timeline, slice, step, "open");
	} else {
		timeline_end_slice(timeline, slice, step, "open");
		timeline_forget_slice(timeline, slice);
	}
}

void timeline_finish(struct timeline *timeline, uint64_t time)
{
	const struct timeline_step end = {.time = time, .text = ""};

	if (!timeline)
		return;
	while (timeline->slices)
		close_slice(timeline, timeline->slices, &end);
	for (struct timeline_row *row = timeline->rows; row; row = row->next)
		timeline_lose_tickets(row);
	timeline_free_rows(timeline);
	free(timeline);
}
