/*
 * tools/diff/passes.c - what took place in a journal: Note [By passes]
 */
#include "tools/diff/diff.h"

#include <stdlib.h>
#include <string.h>

/* An event while it is read. */
struct reading {
	const struct written_event *event;
	struct written_word words[WRITTEN_WORDS_MAX];
	size_t n;
};

static struct written_word field(const struct reading *reading,
				 const char *name)
{
	return written_field(reading->words, reading->n, name);
}

static int is(const struct reading *reading, const char *event)
{
	return written_is(reading->words[0], event);
}

static int starts(const struct reading *reading, const char *text)
{
	return reading->words[0].length > strlen(text) &&
	       !memcmp(reading->words[0].text, text, strlen(text));
}

/* --- steps ---------------------------------------------------------------- */

/* Fields of a pass; there is room for each event. */
static struct diff_step *add_step(struct step_list *steps,
				  const struct reading *reading,
				  enum diff_kind kind)
{
	struct diff_step *step = &steps->steps[steps->n++];

	memset(step, 0, sizeof(*step));
	step->event = reading->event;
	step->kind = kind;
	if (kind == DIFF_OTHER)
		return step;
	step->region = field(reading, "region");
	step->seed = field(reading, "seed");
	step->offset = field(reading, "offset");
	step->ticket = written_number(reading->words, reading->n, "ticket");
	return step;
}

static void take_flags(struct diff_step *step, const struct reading *reading)
{
	step->flags_known = field(reading, "flags").text != NULL;
	step->inference =
		written_has_flag(reading->words, reading->n, "inference");
	step->retain = written_has_flag(reading->words, reading->n, "retain");
}

/* --- eager passes --------------------------------------------------------- */

static int is_same_pass(const struct diff_step *step,
			const struct reading *reading, enum diff_kind kind)
{
	return step->open && step->kind == kind &&
	       step->ticket ==
		       written_number(reading->words, reading->n, "ticket") &&
	       written_same(step->region, field(reading, "region")) &&
	       written_same(step->offset, field(reading, "offset")) &&
	       written_same(step->seed, field(reading, "seed"));
}

/* The open pass that an event ends; NULL: it began before the journal. */
static struct diff_step *find_open(struct step_list *steps,
				   const struct reading *reading,
				   enum diff_kind kind)
{
	for (size_t i = steps->n; i--;) {
		struct diff_step *step = &steps->steps[i];

		if (step->event->rank != reading->event->rank)
			return NULL;
		if (is_same_pass(step, reading, kind))
			return step;
	}
	return NULL;
}

/* What happens to an eager pass: "-begin", "-commit" or "-abort". */
static void read_pass(struct step_list *steps, const struct reading *reading,
		      enum diff_kind kind, const char *what)
{
	struct diff_step *step;

	if (written_has_flag(reading->words, reading->n, "warmup"))
		return;
	if (!strcmp(what, "-begin")) {
		step = add_step(steps, reading, kind);
		step->open = 1;
	} else {
		step = find_open(steps, reading, kind);
		if (!step)
			return;
		step->open = 0;
		step->left_out = !strcmp(what, "-abort");
	}
	take_flags(step, reading);
}

/* --- launches ------------------------------------------------------------- */

/* The forward that another use of the launch being read repeats, or NULL. */
static const struct diff_step *find_use(const struct step_list *steps,
					size_t launch, uint64_t use)
{
	for (size_t i = steps->n; i-- && steps->steps[i].launch == launch;)
		if (steps->steps[i].use == use)
			return &steps->steps[i];
	return NULL;
}

static void read_use(struct step_list *steps, const struct reading *reading,
		     struct written_word graph, size_t launch)
{
	int forward = written_is(field(reading, "pass"), "forward");
	int repeat = written_is(field(reading, "pass"), "repeat");
	const struct diff_step *of = NULL;
	struct diff_step *step;

	if (written_has_flag(reading->words, reading->n, "warmup"))
		return;
	if (repeat)
		of = find_use(
			steps, launch,
			written_number(reading->words, reading->n, "forward"));
	step = add_step(steps, reading, forward ? DIFF_FORWARD : DIFF_BACKWARD);
	take_flags(step, reading);
	if (of) {
		step->seed = of->seed;
		step->offset = of->offset;
		step->ticket = of->ticket;
	}
	step->use = written_number(reading->words, reading->n, "use");
	step->graph = graph;
	step->launch = launch;
}

/* The last launch of a graph was aborted. */
static void drop_launch(struct step_list *steps, const struct reading *reading)
{
	struct written_word graph = field(reading, "graph");
	size_t launch = 0;

	for (size_t i = steps->n; i--;) {
		struct diff_step *step = &steps->steps[i];

		if (step->event->rank != reading->event->rank)
			break;
		if (!launch && step->launch && !step->left_out &&
		    written_same(step->graph, graph))
			launch = step->launch;
		if (launch && step->launch == launch)
			step->left_out = 1;
		else if (launch && step->launch && step->launch < launch)
			break;
	}
}

/* --- all events ----------------------------------------------------------- */

/* The launch whose uses are being read. */
struct launch {
	size_t number; /* from 1 */
	struct written_word graph;
};

static void read_step(struct step_list *steps, const struct reading *reading,
		      struct launch *launch)
{
	static const char *const ends[] = {"-begin", "-commit", "-abort"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t length = reading->words[0].length - strlen(ends[i]);
		int fits = reading->words[0].length > strlen(ends[i]) &&
			   !memcmp(reading->words[0].text + length, ends[i],
				   strlen(ends[i]));

		if (fits && length == 7 && starts(reading, "forward")) {
			read_pass(steps, reading, DIFF_FORWARD, ends[i]);
			return;
		}
		if (fits && length == 8 && starts(reading, "backward")) {
			read_pass(steps, reading, DIFF_BACKWARD, ends[i]);
			return;
		}
	}
	if (is(reading, "launch-begin")) {
		launch->number++;
		launch->graph = field(reading, "graph");
	} else if (is(reading, "launch-use")) {
		read_use(steps, reading, launch->graph, launch->number);
	} else if (is(reading, "launch-abort")) {
		drop_launch(steps, reading);
	} else if (!starts(reading, "launch-") &&
		   !starts(reading, "capture-") && !starts(reading, "pool-") &&
		   !is(reading, "value-set") && !is(reading, "graph-destroy")) {
		add_step(steps, reading, DIFF_OTHER);
	}
}

static void drop_left_out(struct step_list *steps)
{
	size_t kept = 0;

	for (size_t i = 0; i < steps->n; i++) {
		if (steps->steps[i].left_out)
			continue;
		steps->n_passes += steps->steps[i].kind != DIFF_OTHER;
		steps->steps[kept++] = steps->steps[i];
	}
	steps->n = kept;
}

int steps_read(const struct written *journal, struct step_list *steps)
{
	struct launch launch = {0};
	struct reading reading;

	memset(steps, 0, sizeof(*steps));
	steps->steps = calloc(journal->n_events + 1, sizeof(*steps->steps));
	if (!steps->steps)
		return -1;
	for (size_t i = 0; i < journal->n_events; i++) {
		reading.event = &journal->events[i];
		reading.n = written_words(reading.event, reading.words);
		read_step(steps, &reading, &launch);
	}
	drop_left_out(steps);
	return 0;
}

void steps_finish(struct step_list *steps)
{
	free(steps->steps);
	memset(steps, 0, sizeof(*steps));
}
