/*
 * tools/matrix/runs.c - the runs of a search: all of them, or random ones
 *
 * The events make a tree of runs. It is searched once for each length, shortest
 * first, so that the first mismatch is a shortest one; every run is carried out
 * from its beginning and closed, and none replaces another.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/matrix/matrix.h"

#define GROWTH         10 /* of the work with each event more, about */
#define MISMATCHES_MAX 20 /* a worker stops after this many */

/* --- one run -------------------------------------------------------------- */

static const char *device_of(const struct worker *worker)
{
	const struct matrix_options *options = worker->options;

	if (worker->search->random && options->random_device)
		return options->random_device;
	return options->device;
}

static struct matrix_limits limits_of(const struct search *search)
{
	struct matrix_limits limits = {.classes = search->classes,
				       .regions = search->regions,
				       .shared = search->shared,
				       .generators = search->generators,
				       .forwards = search->forwards,
				       .open = search->open,
				       .forms = search->forms};

	/* Every search with refusals meets a full table. */
	limits.pending = search->random ? 6 : search->forwards;
	if ((search->classes & MATRIX_REFUSALS) && limits.pending > 2)
		limits.pending = search->random ? 6 : search->forwards - 1;
	return limits;
}

static int make_worker_bed(struct worker *worker)
{
	struct report *report = report_of(worker);
	struct matrix_limits limits = limits_of(worker->search);

	matrix_bed_destroy(worker->bed);
	worker->bed = matrix_bed_create(device_of(worker), &limits,
					&worker->shape, report->total.error,
					sizeof(report->total.error));
	return worker->bed ? 0 : -1;
}

/* Whether some worker has found a mismatch that is no longer than this. */
static int is_pointless(const struct worker *worker, unsigned length)
{
	for (unsigned i = 0; i < worker->workers; i++) {
		unsigned shortest = worker->reports[i].shortest;

		if (shortest && shortest < length)
			return 1;
	}
	return 0;
}

static void note_mismatch(struct worker *worker, const struct matrix_run *run,
			  const struct matrix_result *result)
{
	struct report *report = report_of(worker);
	char at[64] = "the closing";

	report->total.mismatches++;
	if (report->shortest && report->shortest <= run->n)
		return;
	matrix_run_text(run->events, run->n, report->total.first,
			sizeof(report->total.first));
	if (result->wrong < (int)run->n)
		matrix_event_text(&run->events[result->wrong], at, sizeof(at));
	snprintf(report->total.message, sizeof(report->total.message),
		 "%.40s: %.440s", at, result->message);
	report->total.limits = run->limits;
	report->total.device = report->device;
	report->shortest = run->n;
}

/*
 * A wrong run must be wrong on a new bed, too; else an earlier run is the
 * cause.
 */
static int confirm(struct worker *worker, const struct matrix_run *run,
		   struct matrix_result *result)
{
	struct matrix_result again;

	if (make_worker_bed(worker))
		return -1;
	matrix_bed_run(worker->bed, run, &again);
	if (again.wrong >= 0)
		*result = again;
	else
		snprintf(result->message + strlen(result->message),
			 sizeof(result->message) - strlen(result->message),
			 " (only after earlier runs)");
	return make_worker_bed(worker);
}

static int try_run(struct worker *worker, const struct matrix_run *run,
		   struct matrix_result *result)
{
	struct report *report = report_of(worker);

	matrix_bed_run(worker->bed, run, result);
	report->total.sequences++;
	report->total.by_search[report->search]++;
	report->total.random += worker->search->random != 0;
	report->total.events += result->n_events;
	report->total.comparisons += result->comparisons;
	report->total.calls += result->calls;
	report->total.replays += result->replays;
	return result->wrong >= 0;
}

/* --- all runs ------------------------------------------------------------- */

/* Whether a run means the same among the regions of a search. */
static int is_at_home(const struct search *search, const struct matrix_run *run)
{
	const struct matrix_limits *limits = &run->limits;

	if (search->shared != limits->shared ||
	    search->generators != limits->generators)
		return 0;
	for (unsigned i = 0; i < run->n; i++) {
		const struct matrix_event *event = &run->events[i];

		if (event->region >= search->regions)
			return 0;
		if (search->regions != limits->regions &&
		    (event->kind == MATRIX_MIXED ||
		     event->kind == MATRIX_CAPTURE ||
		     event->kind == MATRIX_BODIES))
			return 0;
	}
	return 1;
}

static int has_forms(const struct search *search, const struct matrix_run *run)
{
	for (unsigned i = 0; i < run->n; i++)
		if ((run->events[i].kind == MATRIX_BODIES ||
		     run->events[i].kind == MATRIX_SPOILED) &&
		    !(search->forms >> run->events[i].form & 1))
			return 0;
	return 1;
}

static int holds(const struct search *search, unsigned length,
		 const struct matrix_run *run)
{
	struct matrix_limits limits = limits_of(search);
	struct matrix_view view;
	unsigned classes = 0;

	if (run->n > length || search->random ||
	    limits.pending != run->limits.pending || !is_at_home(search, run))
		return 0;
	for (unsigned i = 0; i < run->n; i++) {
		if (matrix_is_left_out(search->classes, &run->events[i]))
			return 0;
		classes |= matrix_classes(&run->events[i]);
	}
	if ((classes & MATRIX_OVERLAPS) && search->open < run->limits.open)
		return 0;
	if ((classes & MATRIX_LOOPS) && !has_forms(search, run))
		return 0;
	matrix_look(run, &view);
	return !(classes & ~search->classes) && view.next <= search->forwards;
}

static unsigned length_of(const struct worker *worker,
			  const struct search *search)
{
	return worker->options->longer ? search->longer : search->length;
}

static int was_made(const struct worker *worker, const struct matrix_run *run)
{
	for (const struct search *search = worker->table;
	     search != worker->search; search++)
		if (holds(search, length_of(worker, search), run))
			return 1;
	return 0;
}

/* Refused events change nothing: two in a row are left out. */
static int is_dull(const struct matrix_run *run,
		   const struct matrix_event *event)
{
	return matrix_is_refused(event) && run->n &&
	       matrix_is_refused(&run->events[run->n - 1]);
}

/* Which call of a capture is the n-th depends on the memory there is already. */
static int needs_new_bed(const struct matrix_run *run)
{
	for (unsigned i = 0; i < run->n; i++)
		if (run->events[i].kind == MATRIX_SPOILED)
			return 1;
	return 0;
}

static int visit_leaf(struct worker *worker, struct matrix_run *run)
{
	struct matrix_result result;

	if (was_made(worker, run))
		return 0;
	if (needs_new_bed(run) && make_worker_bed(worker))
		return -1;
	if (!try_run(worker, run, &result))
		return 0;
	if (confirm(worker, run, &result))
		return -1;
	note_mismatch(worker, run, &result);
	return report_of(worker)->total.mismatches >= MISMATCHES_MAX ? -1 : 0;
}

/*
 * How far the search is. All runs of a length take about ten times as long as
 * the shorter ones; how many first events there are to share is known from the
 * length before.
 */
static void note_part(struct worker *worker, unsigned length)
{
	unsigned longest = length_of(worker, worker->search);
	double part = 1.0 / GROWTH;

	if (worker->prefixes_before)
		part += (1 - part) * worker->prefixes / worker->prefixes_before;
	for (part = part > 1 ? 1 : part; length < longest; length++)
		part /= GROWTH;
	report_of(worker)->part = part;
}

/* All runs of `length` that begin with this one. */
static int visit(struct worker *worker, struct matrix_run *run, unsigned length)
{
	struct matrix_event *choices =
		worker->choices + (size_t)run->n * MATRIX_CHOICES;
	unsigned n;

	if (run->n == length)
		return visit_leaf(worker, run);
	n = matrix_choices(run, choices);
	for (unsigned i = 0; i < n; i++) {
		unsigned before = run->n;

		if (is_dull(run, &choices[i]))
			continue;
		if (run->n == (length > 2 ? 1 : length - 1) &&
		    worker->prefixes++ % worker->workers != worker->number)
			continue;
		if (run->n <= 1)
			note_part(worker, length);
		run->events[run->n++] = choices[i];
		if (visit(worker, run, length))
			return -1;
		run->n = before;
	}
	return is_pointless(worker, length) ? -1 : 0;
}

static int search_all(struct worker *worker)
{
	struct matrix_run *run = &report_of(worker)->run;
	unsigned longest = length_of(worker, worker->search);

	for (unsigned length = 1; length <= longest; length++) {
		worker->prefixes_before = length > 2 ? worker->prefixes : 0;
		worker->prefixes = 0;
		run->limits = limits_of(worker->search);
		run->n = 0;
		if (is_pointless(worker, length))
			return 0;
		if (visit(worker, run, length))
			return report_of(worker)->total.error[0] ? -1 : 0;
	}
	return 0;
}

/* --- random runs ---------------------------------------------------------- */

/* A stream of choices for each run, so that it depends on its number only. */
struct dice {
	uint64_t run, throws;
};

static unsigned throw(struct dice * dice, unsigned sides)
{
	struct philox_words words =
		philox_block(0xd1ce, dice->throws++, dice->run);

	return (unsigned)((uint64_t)words.w[0] * sides >> 32);
}

static void make_random(struct worker *worker, struct matrix_run *run,
			unsigned length, uint64_t number)
{
	struct dice dice = {.run = number};

	run->limits = limits_of(worker->search);
	run->n = 0;
	while (run->n < length) {
		unsigned n = matrix_choices(run, worker->choices);
		struct matrix_event *event = &worker->choices[throw(&dice, n)];

		/* A quarter of these, or they would be most of a run. */
		if ((matrix_is_refused(event) || event->kind == MATRIX_REMAKE ||
		     matrix_is_restart(event) || matrix_is_move(event)) &&
		    throw(&dice, 4))
			continue;
		run->events[run->n++] = *event;
	}
}

/* Leaves out an event and those it makes impossible; numbers move up. */
static void leave_out(const struct matrix_run *run, unsigned place,
		      struct matrix_run *shorter)
{
	uint8_t names[MATRIX_NONE + 1];

	memset(names, MATRIX_NONE, sizeof(names));
	shorter->limits = run->limits;
	shorter->n = 0;
	for (unsigned i = 0; i < run->n; i++) {
		struct matrix_event event = run->events[i];
		struct matrix_view view;

		if (i == place)
			continue;
		matrix_look(shorter, &view);
		if (matrix_makes(&event) && event.part != MATRIX_END) {
			uint8_t *name = &names[event.ticket];

			event.ticket = (uint8_t)view.next;
			for (unsigned k = matrix_makes(&event);
			     k-- && !matrix_is_refused(&event);)
				name[k] = (uint8_t)(view.next + k);
		} else {
			event.ticket = names[event.ticket];
		}
		event.other = names[event.other];
		if (matrix_possible(shorter, &event))
			matrix_push(shorter, event);
	}
}

/* Leaves out events as long as the rest is still wrong. */
static int shrink(struct worker *worker, struct matrix_run *run,
		  struct matrix_result *result)
{
	static struct matrix_run shorter;
	struct matrix_result again;

	for (unsigned place = run->n; place--;) {
		leave_out(run, place, &shorter);
		if (make_worker_bed(worker))
			return -1;
		matrix_bed_run(worker->bed, &shorter, &again);
		if (again.wrong < 0)
			continue;
		*run = shorter;
		*result = again;
		if (place > run->n)
			place = run->n;
	}
	return make_worker_bed(worker);
}

static int search_random(struct worker *worker)
{
	struct report *report = report_of(worker);
	unsigned length = length_of(worker, worker->search);
	unsigned count =
		worker->search->random * (worker->options->longer ? 10 : 1);

	for (unsigned i = worker->number; i < count; i += worker->workers) {
		struct matrix_result result;

		report->part = (double)i / count;
		if (is_pointless(worker, 4))
			return 0;
		make_random(worker, &report->run, length, i);
		if (!try_run(worker, &report->run, &result))
			continue;
		if (confirm(worker, &report->run, &result) ||
		    shrink(worker, &report->run, &result))
			return -1;
		note_mismatch(worker, &report->run, &result);
		return 0;
	}
	return 0;
}

int search_run(struct worker *worker)
{
	const struct matrix_options *options = worker->options;
	int status;

	report_of(worker)->device = device_of(worker);
	matrix_shape_init(&worker->shape, options->ops ? options->ops : 2,
			  worker->search->random != 0);
	if (make_worker_bed(worker))
		return -1;
	status = worker->search->random ? search_random(worker)
					: search_all(worker);
	matrix_bed_destroy(worker->bed);
	worker->bed = NULL;
	return status;
}
