/*
 * tools/matrix/choices.c - which events may follow a run
 *
 * A pass may be tried in every form that has a meaning; an event that the model
 * says must be refused is listed too, once, in its plainest form.
 */
#include <string.h>
#include "tools/matrix/forms.h"
#include "tools/matrix/matrix.h"

struct list {
	const struct matrix_limits *limits;
	struct matrix_view view;
	struct matrix_event *events;
	unsigned n;
};

static void begin_list(struct list *list, const struct matrix_run *run,
		       struct matrix_event *events)
{
	list->limits = &run->limits;
	list->events = events;
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
	if (event->fate == MATRIX_ABORTED)
		classes |= MATRIX_ABORTS;
	if (event->fate == MATRIX_BROKEN || event->fate == MATRIX_UNTOLD)
		classes |= MATRIX_BREAKS;
	if (event->part != MATRIX_WHOLE)
		classes |= MATRIX_OVERLAPS;
	if (matrix_is_refused(event))
		classes |= MATRIX_REFUSALS;
	switch (event->kind) {
	case MATRIX_INFERENCE:
	case MATRIX_WARMUP:
		return classes | MATRIX_UNTRACKED;
	case MATRIX_RECOMPUTE:
		return classes | MATRIX_RECOMPUTES;
	case MATRIX_PAIR:
	case MATRIX_KEEP:
	case MATRIX_EXCHANGE:
	case MATRIX_DOUBLE:
	case MATRIX_MIXED:
	case MATRIX_LINKED:
	case MATRIX_NESTED:
		return classes | MATRIX_ONE_GRAPH;
	case MATRIX_RELEASE:
		return classes | MATRIX_RELEASES;
	case MATRIX_SEED:
	case MATRIX_RESEED:
		return classes | MATRIX_SEEDS;
	case MATRIX_REMAKE:
		return classes | MATRIX_REMAKES;
	case MATRIX_SAVE:
		return classes | MATRIX_SAVES;
	case MATRIX_CAPTURE:
		return classes | MATRIX_CAPTURES;
	case MATRIX_BODIES:
	case MATRIX_LOOP:
		return classes | MATRIX_LOOPS;
	case MATRIX_SPOILED:
		return classes | MATRIX_LOOPS | MATRIX_CAPTURES;
	case MATRIX_ADVANCE:
	case MATRIX_FOLD:
	case MATRIX_AT_END:
	case MATRIX_BACK:
		return classes | MATRIX_GENERATORS;
	default:
		return classes;
	}
}

/* A refused event is listed once, in its plainest form. */
static void add(struct list *list, struct matrix_event event)
{
	unsigned unwanted = ~list->limits->classes;

	event.status = PHILOX_OK;
	if (matrix_classes(&event) & unwanted)
		return;
	event.status =
		(uint8_t)matrix_expect(&list->view, list->limits, &event);
	if (matrix_is_refused(&event) &&
	    ((unwanted & MATRIX_REFUSALS) ||
	     (event.fate != MATRIX_DONE && event.kind != MATRIX_DOUBLE) ||
	     event.part != MATRIX_WHOLE))
		return;
	if (list->n < MATRIX_CHOICES)
		list->events[list->n++] = event;
}

static void add_fates(struct list *list, struct matrix_event event,
		      const char *fates)
{
	for (; *fates; fates++) {
		event.fate = (uint8_t)(*fates - '0');
		add(list, event);
	}
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
}

static void add_untracked(struct list *list, struct matrix_event event)
{
	for (event.how = MATRIX_EAGER; event.how <= MATRIX_IN_GRAPH;
	     event.how++)
		add_fates(list, event,
			  event.kind == MATRIX_INFERENCE ? "02" : "0");
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
	event.how = MATRIX_IN_GRAPH;
	add_fates(list, event, "023");
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
	event.how = MATRIX_IN_GRAPH;
	add_fates(list, event, "023");
}

/* Graphs that repeat a ticket and make one or two. */
static void add_exchanges(struct list *list, unsigned other)
{
	static const uint8_t kinds[] = {MATRIX_EXCHANGE, MATRIX_MIXED};
	unsigned next = list->view.next;
	struct matrix_event event = {.how = MATRIX_IN_GRAPH,
				     .ticket = (uint8_t)next,
				     .other = (uint8_t)other};

	for (unsigned k = 0; k < sizeof(kinds); k++) {
		event.kind = kinds[k];
		if (next + matrix_makes(&event) > list->limits->forwards)
			return;
		for (unsigned i = 0; i < list->limits->regions; i++) {
			event.region = (uint8_t)i;
			add_fates(list, event, "0123");
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
		event.how = MATRIX_EAGER;
		if (i != own)
			add(list, event);
		event.how = MATRIX_IN_GRAPH;
		if (i != own)
			add(list, event);
	}
}

static void add_doubles(struct list *list, struct matrix_event event)
{
	event.kind = MATRIX_DOUBLE;
	event.how = MATRIX_IN_GRAPH;
	for (unsigned other = 0; other < list->view.next; other++) {
		const struct matrix_story *story = &list->view.of[other];

		if (!story->known || story->region != event.region)
			continue;
		event.other = (uint8_t)other;
		add_fates(list, event, "012");
	}
}

/* A backward and a recompute of one ticket that is named once. */
static void add_links(struct list *list, struct matrix_event event)
{
	event.how = MATRIX_IN_GRAPH;
	event.kind = MATRIX_LINKED;
	add_fates(list, event, "0123");
	event.kind = MATRIX_NESTED;
	add_fates(list, event, "012");
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

unsigned matrix_choices(const struct matrix_run *run,
			struct matrix_event *choices)
{
	struct list list;
	struct matrix_event event = {.ticket = MATRIX_NONE,
				     .other = MATRIX_NONE};

	begin_list(&list, run, choices);
	for (unsigned region = 0; region < run->limits.regions; region++)
		add_region(&list, region);
	for (unsigned ticket = 0; ticket < list.view.next; ticket++)
		add_ticket(&list, ticket);
	for (unsigned i = 0; i < matrix_generators(&run->limits); i++)
		add_generator(&list, i);
	event.kind = MATRIX_SAVE;
	if (!list.view.open)
		add(&list, event);
	return list.n;
}

int matrix_possible(const struct matrix_run *run,
		    const struct matrix_event *event)
{
	static _Thread_local struct matrix_event choices[MATRIX_CHOICES];
	unsigned n = matrix_choices(run, choices);

	for (unsigned i = 0; i < n; i++) {
		choices[i].status = event->status;
		if (!memcmp(&choices[i], event, sizeof(*event)))
			return 1;
	}
	return 0;
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
		if (view.of[i].made && !view.of[i].over)
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
