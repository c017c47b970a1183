/*
 * tools/matrix/model/choices.c - which events may follow a run
 *
 * A pass may be tried in every form that has a meaning; an event that the model
 * says must be refused is listed too, once, in its plainest form.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/matrix/model/model.h"

struct list {
	const struct matrix_limits *limits;
	struct matrix_view view;
	struct matrix_event *events; /* room for MATRIX_CHOICES, or */
	const struct matrix_event
		*sought; /* NULL, or only this is looked for */
	unsigned n;
};

static void begin_list(struct list *list, const struct matrix_run *run,
		       struct matrix_event *events)
{
	list->limits = &run->limits;
	list->events = events;
	list->sought = NULL;
	list->n = 0;
	matrix_look(run, &list->view);
}

unsigned matrix_classes(const struct matrix_event *event)
{
	unsigned classes = 0;

	if (event->how == MATRIX_IN_GRAPH)
		classes |= MATRIX_GRAPHS;
	if (event->how == MATRIX_ON_CELLS)
		classes |= MATRIX_DEVICE_CELLS;
	if (event->fate == MATRIX_KEPT)
		classes |= MATRIX_RETAINS;
	if (event->fate == MATRIX_ABORTED || event->fate == MATRIX_FAILED)
		classes |= MATRIX_ABORTS;
	if (event->fate == MATRIX_BROKEN || event->fate == MATRIX_UNTOLD ||
	    event->fate == MATRIX_DECLINED || event->fate == MATRIX_UNCAPTURED)
		classes |= MATRIX_BREAKS;
	if (matrix_is_call(event))
		classes |= MATRIX_RUNNERS;
	if (event->part != MATRIX_WHOLE)
		classes |= MATRIX_OVERLAPS;
	if (matrix_is_refused(event))
		classes |= MATRIX_REFUSALS;
	return classes | matrix_kinds[event->kind].classes;
}

int matrix_is_left_out(unsigned classes, const struct matrix_event *event)
{
	if (!(classes & MATRIX_ONLY_RUNNERS) || event->part != MATRIX_WHOLE)
		return 0;
	switch (event->kind) {
	case MATRIX_WARMUP:
	case MATRIX_RELEASE:
	case MATRIX_REMAKE:
	case MATRIX_SAVE:
	case MATRIX_CAPTURE:
		return 0;
	default:
		return !matrix_is_call(event) && !matrix_is_restart(event) &&
		       !matrix_is_move(event) && event->kind != MATRIX_ADVANCE;
	}
}

/* An event that did not fit would never be tried. */
static void keep(struct list *list, const struct matrix_event *event)
{
	if (list->n == MATRIX_CHOICES) {
		fprintf(stderr,
			"philox matrix: more than %d events may follow\n",
			MATRIX_CHOICES);
		abort();
	}
	list->events[list->n++] = *event;
}

/* The same, but for what the model says about it. */
static int is_same(const struct matrix_event *event,
		   const struct matrix_event *sought)
{
	struct matrix_event same = *event;

	same.status = sought->status;
	same.call = sought->call;
	same.burnt = sought->burnt;
	return !memcmp(&same, sought, sizeof(same));
}

/* A refused event is listed once, in its plainest form. */
static void add(struct list *list, struct matrix_event event)
{
	unsigned unwanted = ~list->limits->classes;

	event.status = PHILOX_OK;
	if ((matrix_classes(&event) & unwanted) ||
	    matrix_is_left_out(list->limits->classes, &event))
		return;
	matrix_judge(&list->view, list->limits, &event);
	if (matrix_is_refused(&event) &&
	    ((unwanted & MATRIX_REFUSALS) ||
	     (event.fate != MATRIX_DONE && event.kind != MATRIX_DOUBLE) ||
	     event.part != MATRIX_WHOLE))
		return;
	if (list->sought)
		list->n += is_same(&event, list->sought);
	else
		keep(list, &event);
}

static void add_fates(struct list *list, struct matrix_event event,
		      const char *fates)
{
	for (; *fates; fates++) {
		event.fate = (uint8_t)(*fates - '0');
		add(list, event);
	}
}

/* The event as the body of a function of a runner, in all ways. */
static void add_calls(struct list *list, struct matrix_event event,
		      const char *fates)
{
	if (!(list->limits->classes & MATRIX_RUNNERS))
		return;
	for (event.how = MATRIX_CALL_EAGER; event.how <= MATRIX_CALL_AGAIN;
	     event.how++)
		add_fates(list, event, fates);
	event.how = MATRIX_CALL_RECORD;
	add_fates(list, event, "567");
}

/* A graph, and a body that does the same. */
static void add_graph(struct list *list, struct matrix_event event,
		      const char *fates)
{
	event.how = MATRIX_IN_GRAPH;
	add_fates(list, event, fates);
	add_calls(list, event, fates);
}

/*
 * Whether a pass or launch of this kind and ticket is open, and how it began.
 */
static int is_open(const struct matrix_view *view,
		   const struct matrix_event *event, uint8_t *how)
{
	const struct matrix_story *story = &view->of[event->ticket];

	if (event->ticket >= view->next)
		return 0;
	switch (event->kind) {
	case MATRIX_FORWARD:
		*how = story->forward_how;
		return story->open;
	case MATRIX_BACKWARD:
		*how = story->backward_how;
		return story->consuming;
	default:
		*how = story->recompute_how;
		return story->readers > story->consuming;
	}
}

static void add_begin(struct list *list, struct matrix_event event)
{
	uint8_t how;

	event.part = MATRIX_BEGIN;
	if (list->view.open < list->limits->open &&
	    !is_open(&list->view, &event, &how))
		add(list, event);
}

/* F, B and R in all their forms. */
static void add_pass(struct list *list, struct matrix_event event)
{
	const char *fates = event.kind == MATRIX_BACKWARD ? "0123" : "023";

	for (event.how = MATRIX_EAGER; event.how <= MATRIX_IN_GRAPH;
	     event.how++) {
		add_fates(list, event, fates);
		if (event.kind != MATRIX_RECOMPUTE ||
		    event.how != MATRIX_IN_GRAPH)
			add_begin(list, event);
	}
	add_calls(list, event, fates);
}

static void add_untracked(struct list *list, struct matrix_event event)
{
	for (event.how = MATRIX_EAGER; event.how <= MATRIX_IN_GRAPH;
	     event.how++)
		add_fates(list, event,
			  event.kind == MATRIX_INFERENCE ? "02" : "0");
	if (event.kind == MATRIX_INFERENCE)
		add_calls(list, event, "02");
}

static void add_ends(struct list *list, struct matrix_event event)
{
	static const uint8_t kinds[] = {MATRIX_FORWARD, MATRIX_BACKWARD,
					MATRIX_RECOMPUTE};

	event.part = MATRIX_END;
	for (unsigned i = 0; i < sizeof(kinds); i++) {
		event.kind = kinds[i];
		if (!is_open(&list->view, &event, &event.how))
			continue;
		if (kinds[i] == MATRIX_BACKWARD && event.how != MATRIX_IN_GRAPH)
			add_fates(list, event, "012");
		else
			add_fates(list, event, "02");
	}
}

/*
 * Launches of a graph with bodies. One that fails does not run, whatever the
 * device memory says: it is listed with the last choice only, and so is one that
 * philox is not told about.
 */
static void add_form(struct list *list, struct matrix_event event)
{
	const struct form *form = form_of(event.form);
	unsigned choices = form_choices(form);

	event.kind = MATRIX_BODIES;
	event.how = MATRIX_IN_GRAPH;
	if (form->makes)
		event.ticket = (uint8_t)list->view.next;
	if (list->view.next + form->makes > list->limits->forwards)
		return;
	for (unsigned i = 0; i < choices; i++) {
		event.choice = (uint8_t)i;
		add_fates(list, event, form->consumes ? "01" : "0");
	}
	add_fates(list, event, "23");
	event.ticket = MATRIX_NONE;
	if (!form->named)
		add_fates(list, event, "4");
}

static int is_listed(const struct list *list, unsigned form)
{
	return list->limits->forms >> form & 1;
}

static void add_forms(struct list *list, struct matrix_event event)
{
	for (unsigned i = 0; i < FORM_COUNT; i++) {
		event.form = (uint8_t)i;
		if (is_listed(list, i) && !form_of(i)->named)
			add_form(list, event);
	}
}

/* Those that name a ticket, which `event` says. */
static void add_named_forms(struct list *list, struct matrix_event event)
{
	event.other = event.ticket;
	event.ticket = MATRIX_NONE;
	for (unsigned i = 0; i < FORM_COUNT; i++) {
		event.form = (uint8_t)i;
		if (is_listed(list, i) && form_of(i)->named)
			add_form(list, event);
	}
}

/* Captures of some graphs in which one of the device calls fails. */
static void add_spoiled(struct list *list, struct matrix_event event)
{
	event.kind = MATRIX_SPOILED;
	for (unsigned i = 0; i < FORM_COUNT; i += FORM_SPOILED) {
		event.form = (uint8_t)i;
		for (event.choice = 1;
		     is_listed(list, i) && event.choice <= MATRIX_CALLS;
		     event.choice++)
			add(list, event);
	}
}

static void add_loops(struct list *list, struct matrix_event event)
{
	event.kind = MATRIX_LOOP;
	for (event.how = MATRIX_EAGER; event.how <= MATRIX_ON_CELLS;
	     event.how++)
		add_fates(list, event, "023");
}

/* The events that make a new ticket. */
static void add_forwards(struct list *list, struct matrix_event event)
{
	if (list->view.next >= list->limits->forwards)
		return;
	event.ticket = (uint8_t)list->view.next;
	event.kind = MATRIX_FORWARD;
	add_pass(list, event);
	if (list->limits->classes & MATRIX_LOOPS)
		add_loops(list, event);
	event.kind = MATRIX_KEEP;
	add_graph(list, event, "023");
}

static void add_region(struct list *list, unsigned region)
{
	struct matrix_event event = {.region = (uint8_t)region,
				     .ticket = MATRIX_NONE,
				     .other = MATRIX_NONE};

	add_forwards(list, event);
	if (list->limits->classes & MATRIX_LOOPS) {
		add_forms(list, event);
		add_spoiled(list, event);
	}
	event.kind = MATRIX_INFERENCE;
	add_untracked(list, event);
	event.kind = MATRIX_WARMUP;
	add_untracked(list, event);
	event.kind = MATRIX_CAPTURE;
	add(list, event);
	event.kind = MATRIX_REMAKE;
	if (!list->view.open_in[region])
		add(list, event);
	event.kind = MATRIX_PAIR;
	add_graph(list, event, "023");
}

/* Graphs that repeat a ticket and make one or two. */
static void add_exchanges(struct list *list, unsigned other)
{
	static const uint8_t kinds[] = {MATRIX_EXCHANGE, MATRIX_MIXED};
	unsigned next = list->view.next;
	struct matrix_event event = {.ticket = (uint8_t)next,
				     .other = (uint8_t)other};

	for (unsigned k = 0; k < sizeof(kinds); k++) {
		event.kind = kinds[k];
		if (next + matrix_makes(&event) > list->limits->forwards)
			return;
		for (unsigned i = 0; i < list->limits->regions; i++) {
			event.region = (uint8_t)i;
			add_graph(list, event, "0123");
		}
	}
}

/* The ticket in all regions except its own. */
static void add_strange(struct list *list, struct matrix_event event)
{
	unsigned own = event.region;

	event.kind = MATRIX_STRANGE;
	for (unsigned i = 0; i < list->limits->regions; i++) {
		event.region = (uint8_t)i;
		if (i == own)
			continue;
		event.how = MATRIX_EAGER;
		add(list, event);
		add_graph(list, event, "0");
	}
}

static void add_doubles(struct list *list, struct matrix_event event)
{
	event.kind = MATRIX_DOUBLE;
	for (unsigned other = 0; other < list->view.next; other++) {
		const struct matrix_story *story = &list->view.of[other];

		if (!story->known || story->region != event.region)
			continue;
		event.other = (uint8_t)other;
		add_graph(list, event, "012");
	}
}

/* A backward and a recompute of one ticket that is named once. */
static void add_links(struct list *list, struct matrix_event event)
{
	event.kind = MATRIX_LINKED;
	add_graph(list, event, "0123");
	event.kind = MATRIX_NESTED;
	add_graph(list, event, "012");
}

static void add_ticket(struct list *list, unsigned ticket)
{
	const struct matrix_story *story = &list->view.of[ticket];
	struct matrix_event event = {.region = story->region,
				     .ticket = (uint8_t)ticket,
				     .other = MATRIX_NONE};

	add_ends(list, event);
	if (!story->known)
		return;
	event.kind = MATRIX_BACKWARD;
	add_pass(list, event);
	event.kind = MATRIX_RECOMPUTE;
	add_pass(list, event);
	event.kind = MATRIX_RELEASE;
	add(list, event);
	add_strange(list, event);
	if (list->limits->classes & MATRIX_LOOPS)
		add_named_forms(list, event);
	if (!(list->limits->classes & MATRIX_ONE_GRAPH))
		return;
	add_exchanges(list, ticket);
	add_doubles(list, event);
	add_links(list, event);
}

/* The events of a generator; each has one of the first, SHARED regions. */
static void add_generator(struct list *list, unsigned generator)
{
	struct matrix_event event = {.region = (uint8_t)generator,
				     .ticket = MATRIX_NONE,
				     .other = MATRIX_NONE};

	event.kind = MATRIX_SEED;
	add(list, event);
	event.kind = MATRIX_RESEED;
	add(list, event);
	event.kind = MATRIX_ADVANCE;
	add(list, event);
	event.kind = MATRIX_FOLD;
	if (!(list->view.places.own[generator].seed & MATRIX_SEED_FOLDED))
		add(list, event);
	event.kind = MATRIX_AT_END;
	if (generator < list->limits->shared)
		add(list, event);
	event.kind = MATRIX_BACK;
	add(list, event);
}

static void add_all(struct list *list)
{
	struct matrix_event event = {.kind = MATRIX_SAVE,
				     .ticket = MATRIX_NONE,
				     .other = MATRIX_NONE};

	for (unsigned i = 0; i < list->limits->regions; i++)
		add_region(list, i);
	for (unsigned i = 0; i < list->view.next; i++)
		add_ticket(list, i);
	for (unsigned i = 0; i < matrix_generators(list->limits); i++)
		add_generator(list, i);
	if (!list->view.open)
		add(list, event);
}

unsigned matrix_choices(const struct matrix_run *run,
			struct matrix_event *choices)
{
	struct list list;

	begin_list(&list, run, choices);
	add_all(&list);
	return list.n;
}

int matrix_possible(const struct matrix_run *run,
		    const struct matrix_event *event)
{
	struct list list;

	begin_list(&list, run, NULL);
	list.sought = event;
	add_all(&list);
	return list.n > 0;
}

/* --- closing -------------------------------------------------------------- */

static void end_open(struct matrix_run *run)
{
	struct matrix_event ends[16];
	struct matrix_limits limits = run->limits;
	struct list list;

	limits.classes = MATRIX_EVERYTHING & ~(MATRIX_ABORTS | MATRIX_RETAINS);
	begin_list(&list, run, ends);
	list.limits = &limits;
	for (unsigned ticket = 0; ticket < list.view.next; ticket++) {
		struct matrix_event event = {
			.ticket = (uint8_t)ticket,
			.other = MATRIX_NONE,
			.region = list.view.of[ticket].region};

		list.n = 0;
		add_ends(&list, event);
		for (unsigned i = 0; i < list.n; i++)
			matrix_push(run, ends[i]);
	}
}

static void push_for(struct matrix_run *run, enum matrix_kind kind,
		     unsigned ticket, unsigned region)
{
	matrix_push(run, (struct matrix_event){.kind = (uint8_t)kind,
					       .ticket = (uint8_t)ticket,
					       .other = MATRIX_NONE,
					       .region = (uint8_t)region});
}

/* While a SHARED forward is open, others of its generator are refused. */
static void try_shared(struct matrix_run *run)
{
	struct matrix_view view;

	matrix_look(run, &view);
	for (unsigned i = 0; i < run->limits.shared; i++)
		if (i < run->limits.regions &&
		    view.shared_open[matrix_generator(&run->limits, i)])
			push_for(run, MATRIX_INFERENCE, MATRIX_NONE, i);
}

void matrix_close(struct matrix_run *run)
{
	struct matrix_view view;

	try_shared(run);
	end_open(run);
	matrix_look(run, &view);
	for (unsigned i = 0; i < view.next; i++)
		if (view.of[i].made && !view.of[i].ended)
			push_for(run, MATRIX_BACKWARD, i, view.of[i].region);
	for (unsigned i = 0; i < view.next; i++) {
		if (!view.of[i].known)
			continue;
		push_for(run, MATRIX_BACKWARD, i, view.of[i].region);
		push_for(run, MATRIX_RELEASE, i, view.of[i].region);
	}
	for (unsigned region = 0; region < run->limits.regions; region++) {
		if (matrix_is_shared(&run->limits, region))
			push_for(run, MATRIX_WARMUP, MATRIX_NONE, region);
		push_for(run, MATRIX_INFERENCE, MATRIX_NONE, region);
	}
}
