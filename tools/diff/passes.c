/*
 * tools/diff/passes.c - what took place in a journal: Note [By passes]
 */
#include "tools/diff/diff.h"

#include <stdlib.h>
#include <string.h>
#include "lib/containers/array.h"
#include "lib/names/keyed.h"

/* A launch that has begun. */
struct begun {
	size_t first_use; /* the step of its first use, if it has uses */
	size_t same; /* the next older one under way like it; SIZE_MAX: none */
};

/* What a journal's events are read into, and where that is. */
struct reader_of_steps {
	struct step_list *steps;
	struct keyed open;     /* the newest pass, by what begin and end say */
	struct keyed uses;     /* by their launches and numbers */
	struct keyed launches; /* the newest under way, likewise */
	struct begun *begun;   /* all launches, from 1 */
	size_t launch;         /* the one whose uses are read, from 1 */
	int failed;            /* no memory */
};

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

static void note(struct reader_of_steps *reader, struct keyed *keyed,
		 const struct keyed_by *key, size_t index)
{
	reader->failed |= !keyed_put(keyed, key, keyed_index(index));
}

/* --- eager passes --------------------------------------------------------- */

static void add_word(struct keyed_by *key, struct written_word word)
{
	keyed_by_word(key, word.text, word.length);
}

static struct keyed_by pass_key(const struct reading *reading,
				enum diff_kind kind)
{
	struct keyed_by key = keyed_by(reading->event->rank);

	keyed_by_number(&key, kind);
	keyed_by_number(&key,
			written_number(reading->words, reading->n, "ticket"));
	add_word(&key, field(reading, "region"));
	add_word(&key, field(reading, "offset"));
	add_word(&key, field(reading, "seed"));
	return key;
}

static struct diff_step *begin_pass(struct reader_of_steps *reader,
				    const struct reading *reading,
				    enum diff_kind kind)
{
	const struct keyed_by key = pass_key(reading, kind);
	struct diff_step *step = add_step(reader->steps, reading, kind);

	step->same = keyed_find(&reader->open, &key);
	note(reader, &reader->open, &key, reader->steps->n - 1);
	return step;
}

/* The open pass that an event ends; NULL: it began before the journal. */
static struct diff_step *end_pass(struct reader_of_steps *reader,
				  const struct reading *reading,
				  enum diff_kind kind)
{
	const struct keyed_by key = pass_key(reading, kind);
	const size_t found = keyed_find(&reader->open, &key);
	struct diff_step *step;

	if (found == SIZE_MAX)
		return NULL;
	step = &reader->steps->steps[found];
	if (step->same == SIZE_MAX)
		keyed_remove(&reader->open, &key);
	else
		note(reader, &reader->open, &key, step->same);
	return step;
}

/* What happens to an eager pass: "-begin", "-commit" or "-abort". */
static void read_pass(struct reader_of_steps *reader,
		      const struct reading *reading, enum diff_kind kind,
		      const char *what)
{
	struct diff_step *step;

	if (written_has_flag(reading->words, reading->n, "warmup"))
		return;
	if (!strcmp(what, "-begin")) {
		step = begin_pass(reader, reading, kind);
	} else {
		step = end_pass(reader, reading, kind);
		if (!step)
			return;
		step->left_out = !strcmp(what, "-abort");
	}
	take_flags(step, reading);
}

/* --- launches ------------------------------------------------------------- */

/*
 * Several graphs may have one name, and launches under way at once. A launch
 * begins and ends with one sequence; where that is the same, too, a journal does
 * not tell them apart, and the newest ends first.
 */
static struct keyed_by launch_key(const struct reading *reading)
{
	struct keyed_by key = keyed_by(reading->event->rank);

	keyed_by_number(&key,
			written_number(reading->words, reading->n, "sequence"));
	add_word(&key, field(reading, "graph"));
	return key;
}

static struct keyed_by use_key(const struct reader_of_steps *reader,
			       const struct reading *reading, const char *name)
{
	struct keyed_by key = keyed_by(reader->launch);

	keyed_by_number(&key, written_number(reading->words, reading->n, name));
	return key;
}

/* Its uses come next. */
static void begin_launch(struct reader_of_steps *reader,
			 const struct reading *reading)
{
	const struct keyed_by key = launch_key(reading);
	struct begun *begun =
		array_grow(&reader->begun, reader->launch, 1, sizeof(*begun));

	if (!begun) {
		reader->failed = 1;
		return;
	}
	begun->first_use = reader->steps->n;
	begun->same = keyed_find(&reader->launches, &key);
	note(reader, &reader->launches, &key, reader->launch++);
}

/* The forward that another use of the launch being read repeats, or NULL. */
static const struct diff_step *find_use(const struct reader_of_steps *reader,
					const struct reading *reading)
{
	const struct keyed_by key = use_key(reader, reading, "forward");
	const size_t found = keyed_find(&reader->uses, &key);

	return found == SIZE_MAX ? NULL : &reader->steps->steps[found];
}

static void read_use(struct reader_of_steps *reader,
		     const struct reading *reading)
{
	const struct keyed_by key = use_key(reader, reading, "use");
	int forward = written_is(field(reading, "pass"), "forward");
	int repeat = written_is(field(reading, "pass"), "repeat");
	const struct diff_step *of = NULL;
	struct diff_step *step;

	if (written_has_flag(reading->words, reading->n, "warmup"))
		return;
	if (repeat)
		of = find_use(reader, reading);
	step = add_step(reader->steps, reading,
			forward ? DIFF_FORWARD : DIFF_BACKWARD);
	take_flags(step, reading);
	if (of) {
		step->seed = of->seed;
		step->offset = of->offset;
		step->ticket = of->ticket;
	}
	step->launch = reader->launch;
	note(reader, &reader->uses, &key, reader->steps->n - 1);
}

/* The launch that an event ends; SIZE_MAX: it began before the journal. */
static size_t end_launch(struct reader_of_steps *reader,
			 const struct reading *reading)
{
	const struct keyed_by key = launch_key(reading);
	const size_t found = keyed_find(&reader->launches, &key);

	if (found == SIZE_MAX)
		return SIZE_MAX;
	if (reader->begun[found].same == SIZE_MAX)
		keyed_remove(&reader->launches, &key);
	else
		note(reader, &reader->launches, &key,
		     reader->begun[found].same);
	return found;
}

/* It was aborted. */
static void drop_launch(struct reader_of_steps *reader,
			const struct reading *reading)
{
	const size_t launch = end_launch(reader, reading);
	struct diff_step *steps = reader->steps->steps;

	if (launch == SIZE_MAX)
		return;
	for (size_t i = reader->begun[launch].first_use;
	     i < reader->steps->n && steps[i].launch == launch + 1; i++)
		steps[i].left_out = 1;
}

/* --- all events ----------------------------------------------------------- */

static void read_step(struct reader_of_steps *reader,
		      const struct reading *reading)
{
	static const char *const ends[] = {"-begin", "-commit", "-abort"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t length = reading->words[0].length - strlen(ends[i]);
		int fits = reading->words[0].length > strlen(ends[i]) &&
			   !memcmp(reading->words[0].text + length, ends[i],
				   strlen(ends[i]));

		if (fits && length == 7 && starts(reading, "forward")) {
			read_pass(reader, reading, DIFF_FORWARD, ends[i]);
			return;
		}
		if (fits && length == 8 && starts(reading, "backward")) {
			read_pass(reader, reading, DIFF_BACKWARD, ends[i]);
			return;
		}
	}
	if (is(reading, "launch-begin")) {
		begin_launch(reader, reading);
	} else if (is(reading, "launch-use")) {
		read_use(reader, reading);
	} else if (is(reading, "launch-commit")) {
		end_launch(reader, reading);
	} else if (is(reading, "launch-abort")) {
		drop_launch(reader, reading);
	} else if (!starts(reading, "launch-") &&
		   !starts(reading, "capture-") && !starts(reading, "pool-") &&
		   !is(reading, "value-set") && !is(reading, "graph-destroy")) {
		add_step(reader->steps, reading, DIFF_OTHER);
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
	struct reader_of_steps reader = {.steps = steps};
	struct reading reading;

	memset(steps, 0, sizeof(*steps));
	steps->steps = calloc(journal->n_events + 1, sizeof(*steps->steps));
	if (!steps->steps)
		return -1;
	for (size_t i = 0; i < journal->n_events; i++) {
		reading.event = &journal->events[i];
		reading.n = written_words(reading.event, reading.words);
		read_step(&reader, &reading);
	}
	keyed_finish(&reader.open);
	keyed_finish(&reader.uses);
	keyed_finish(&reader.launches);
	free(reader.begun);
	drop_left_out(steps);
	return reader.failed ? -1 : 0;
}

void steps_finish(struct step_list *steps)
{
	free(steps->steps);
	memset(steps, 0, sizeof(*steps));
}
