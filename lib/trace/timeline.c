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
static void write_pass_key(char key[KEY_MAX], const struct timeline_step *step)
{
	const char *fields = step->text + step->words[0].length;
	size_t length = step->length - step->words[0].length;
	const char *flags = memmem(fields, length, " flags ", 7);

	if (flags)
		length = (size_t)(flags - fields);
	snprintf(key, KEY_MAX, "%s%.*s",
		 step->backward ? "backward" : "forward", (int)length, fields);
}

static struct timeline_slice pass_slice(enum timeline_mode mode,
					const struct timeline_step *step)
{
	return (struct timeline_slice){
		.kind = step->backward ? TIMELINE_BACKWARD : TIMELINE_FORWARD,
		.mode = mode};
}

static void begin_eager_pass(struct timeline *timeline,
			     const struct timeline_step *step)
{
	const struct timeline_slice like = pass_slice(TIMELINE_EAGER, step);
	struct timeline_label label = timeline_pass_label(step, step->backward);
	struct timeline_slice *slice;
	char key[KEY_MAX];

	write_pass_key(key, step);
	slice = timeline_begin_slice(timeline, &like, TIMELINE_REGION,
				     step_word(step, "region"), step, key,
				     &label);
	if (!slice || !step->backward)
		return;
	timeline_find_forward(timeline, slice, step);
	timeline_link_ticket(timeline, slice, step);
}

static void end_eager_pass(struct timeline *timeline,
			   const struct timeline_step *step)
{
	struct timeline_slice *slice;
	char key[KEY_MAX];

	write_pass_key(key, step);
	slice = timeline_find_slice(timeline, key);
	if (!slice) {
		timeline_mark(timeline, step);
		return;
	}
	timeline_end_slice(timeline, slice, step, step->outcome);
	if (!strcmp(step->outcome, "commit"))
		timeline_settle_ticket(timeline, slice, step);
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
			   const struct timeline_step *step)
{
	const struct timeline_slice like = pass_slice(TIMELINE_CAPTURED, step);
	struct timeline_slice *capture = find_capture(timeline, step), *slice;
	struct timeline_label label = timeline_pass_label(step, step->backward);

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
			 const struct timeline_step *step)
{
	struct timeline_slice *capture = find_capture(timeline, step);
	struct timeline_slice *slice =
		capture ? timeline_find_part(capture, step, "pass") : NULL;

	if (slice && !slice->ended)
		timeline_end_slice(timeline, slice, step, step->outcome);
	else
		timeline_mark(timeline, step);
}

/* With the passes that are still open. */
static void close_capture(struct timeline *timeline,
			  struct timeline_slice *capture,
			  const struct timeline_step *step, const char *outcome)
{
	for (size_t i = 0; i < capture->n_parts; i++)
		if (!capture->parts[i]->ended)
			timeline_end_slice(timeline, capture->parts[i], step,
					   outcome);
	timeline_end_slice(timeline, capture, step, outcome);
	timeline_forget_slice(timeline, capture);
}

static void end_capture(struct timeline *timeline,
			const struct timeline_step *step)
{
	struct timeline_slice *capture = find_capture(timeline, step);

	if (capture)
		close_capture(timeline, capture, step, step->outcome);
	else
		timeline_mark(timeline, step);
}

/* --- launches and the passes that they execute ----------------------------- */

/*
 * "launch Q G": graphs of one name may have launches under way at once, but each
 * has one at a time, which begins and ends with one sequence. Of those that have
 * the same, too, the newest ends first.
 */
static void write_launch_key(char key[KEY_MAX],
			     const struct timeline_step *step)
{
	struct written_word graph = step_word(step, "graph");

	snprintf(key, KEY_MAX, "launch %" PRIu64 " %.*s",
		 step_number(step, "sequence"), (int)graph.length, graph.text);
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

static void begin_launch(struct timeline *timeline,
			 const struct timeline_step *step)
{
	const struct timeline_slice like = {.kind = TIMELINE_LAUNCH,
					    .number = ++timeline->launches};
	const struct written_word name = {"launches", 8};
	const struct timeline_label label = label_launch(step);
	char key[KEY_MAX];

	write_launch_key(key, step);
	timeline_begin_slice(timeline, &like, TIMELINE_LAUNCHES, name, step,
			     key, &label);
}

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
	struct timeline_row *row =
		timeline_find_row(timeline, TIMELINE_REGION, region);
	struct timeline_slice *use;

	if (!row)
		return NULL;

	like.kind = written_is(step_word(step, "pass"), "forward")
			    ? TIMELINE_FORWARD
			    : TIMELINE_BACKWARD;
	if (row->launch == launch->number)
		timeline_idle(timeline, row->use_lane);
	use = timeline_add_slice(timeline, &like, TIMELINE_REGION, region);
	if (!use)
		return NULL;
	row->launch = launch->number;
	row->use_lane = use->lane;
	return use;
}

/*
 * The uses come right after the begin of their launch, which they do not name.
 * They wait for its end, which gives them their shares.
 */
static void add_use(struct timeline *timeline, const struct timeline_step *step)
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
		timeline_find_forward(timeline, use, step);
	if (use->text && !timeline_add_part(launch, use))
		return;
	timeline_idle(timeline, use->lane);
	timeline_forget_slice(timeline, use);
}

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
		timeline_settle_ticket(timeline, use, &step);
	timeline_idle(timeline, use->lane);
}

/* The begin of the launch has a share before them. */
static void share(struct timeline_slice *launch, uint64_t end)
{
	uint64_t each = (end - launch->since) / (launch->n_parts + 1);

	for (size_t i = 0; i < launch->n_parts; i++)
		launch->parts[i]->since = launch->since + each * (i + 1);
}

static void close_launch(struct timeline *timeline,
			 struct timeline_slice *launch,
			 const struct timeline_step *step, const char *outcome)
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

static void end_launch(struct timeline *timeline,
		       const struct timeline_step *step)
{
	struct timeline_slice *launch;
	char key[KEY_MAX];

	write_launch_key(key, step);
	launch = timeline_find_slice(timeline, key);
	if (launch)
		close_launch(timeline, launch, step, step->outcome);
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

static void lose_one(struct timeline *timeline,
		     const struct timeline_step *step)
{
	struct timeline_row *row = timeline_find_row(timeline, TIMELINE_REGION,
						     step_word(step, "region"));

	timeline_mark(timeline, step);
	if (row)
		timeline_lose_ticket(timeline, row,
				     step_number(step, "ticket"));
}

static void lose_region(struct timeline *timeline,
			const struct timeline_step *step)
{
	struct timeline_row *row = timeline_find_row(timeline, TIMELINE_REGION,
						     step_word(step, "region"));

	timeline_mark(timeline, step);
	if (row)
		timeline_lose_tickets(timeline, row);
}

/* Which tickets are pending after a load is not said. */
static void lose_all(struct timeline *timeline,
		     const struct timeline_step *step)
{
	timeline_mark(timeline, step);
	timeline_lose_tickets(timeline, NULL);
}

/* --- all events ----------------------------------------------------------- */

/* One that ends something has its outcome after the dash. */
static const struct kind_of_step {
	const char *event;
	void (*take)(struct timeline *timeline,
		     const struct timeline_step *step);
	int backward;
	const char *field; /* without it, it is a mark */
} kinds[] = {
	{"forward-begin", begin_eager_pass, 0, "region"},
	{"forward-commit", end_eager_pass, 0, "region"},
	{"forward-abort", end_eager_pass, 0, "region"},
	{"backward-begin", begin_eager_pass, 1, "region"},
	{"backward-commit", end_eager_pass, 1, "region"},
	{"backward-abort", end_eager_pass, 1, "region"},
	{"capture-begin", begin_capture, 0, "capture"},
	{"capture-forward", begin_captured, 0, "region"},
	{"capture-backward", begin_captured, 1, "region"},
	{"capture-commit", end_captured, 0, "pass"},
	{"capture-abort", end_captured, 0, "pass"},
	{"capture-adopt", end_capture, 0, "capture"},
	{"capture-drop", end_capture, 0, "capture"},
	{"function-begin", begin_call, 0, "function"},
	{"function-end", end_call, 0, "function"},
	{"launch-begin", begin_launch, 0, "graph"},
	{"launch-use", add_use, 0, "region"},
	{"launch-commit", end_launch, 0, "graph"},
	{"launch-abort", end_launch, 0, "graph"},
	{"ticket-release", lose_one, 0, "region"},
	{"region-destroy", lose_region, 0, "region"},
	{"context-load", lose_all, 0, "digest"},
};

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
		step.backward = kinds[i].backward;
		step.outcome = strchr(kinds[i].event, '-') + 1;
		kinds[i].take(timeline, &step);
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
	timeline->idle.wide = timeline->tickets.wide = 1;
	slab_init(&timeline->nodes, sizeof(struct index_node));
	return timeline;
}

static void close_slice(struct timeline *timeline, struct timeline_slice *slice,
			const struct timeline_step *step)
{
	if (slice->kind == TIMELINE_LAUNCH) {
		close_launch(timeline, slice, step, "open");
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
	timeline_lose_tickets(timeline, NULL);
	timeline_free_rows(timeline);
	free(timeline);
}
