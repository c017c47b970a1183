/*
 * tools/matrix/model/model.c - what events must give, found from the run only
 *
 * The list of events is the only state here: each fact about a ticket is found
 * by reading the list from its beginning. The model does not know how the
 * library keeps tickets.
 */
#include <string.h>
#include "tools/matrix/model/model.h"

const struct matrix_kind_word matrix_kinds[MATRIX_KINDS] = {
	[MATRIX_FORWARD] = {'F', HAS_TICKET | HAS_REGION, 0},
	[MATRIX_INFERENCE] = {'I', HAS_REGION, MATRIX_UNTRACKED},
	[MATRIX_WARMUP] = {'W', HAS_REGION, MATRIX_UNTRACKED},
	[MATRIX_BACKWARD] = {'B', HAS_TICKET, 0},
	[MATRIX_RECOMPUTE] = {'R', HAS_TICKET, MATRIX_RECOMPUTES},
	[MATRIX_PAIR] = {'P', HAS_REGION | HAS_GRAPH, MATRIX_ONE_GRAPH},
	[MATRIX_KEEP] = {'Q', HAS_TICKET | HAS_REGION | HAS_GRAPH,
			 MATRIX_ONE_GRAPH},
	[MATRIX_EXCHANGE] = {'X',
			     HAS_TICKET | HAS_OTHER | HAS_REGION | HAS_GRAPH,
			     MATRIX_ONE_GRAPH},
	[MATRIX_DOUBLE] = {'D', HAS_TICKET | HAS_OTHER | HAS_GRAPH,
			   MATRIX_ONE_GRAPH},
	[MATRIX_RELEASE] = {'L', HAS_TICKET, MATRIX_RELEASES},
	[MATRIX_SEED] = {'S', HAS_REGION, MATRIX_SEEDS},
	[MATRIX_RESEED] = {'N', HAS_REGION, MATRIX_SEEDS},
	[MATRIX_REMAKE] = {'Z', HAS_REGION, MATRIX_REMAKES},
	[MATRIX_SAVE] = {'V', 0, MATRIX_SAVES},
	[MATRIX_MIXED] = {'M', HAS_TICKET | HAS_OTHER | HAS_REGION | HAS_GRAPH,
			  MATRIX_ONE_GRAPH},
	[MATRIX_STRANGE] = {'O', HAS_TICKET | HAS_REGION, 0},
	[MATRIX_CAPTURE] = {'C', HAS_REGION, MATRIX_CAPTURES},
	[MATRIX_ADVANCE] = {'A', HAS_REGION, MATRIX_GENERATORS},
	[MATRIX_FOLD] = {'K', HAS_REGION, MATRIX_GENERATORS},
	[MATRIX_AT_END] = {'E', HAS_REGION, MATRIX_GENERATORS},
	[MATRIX_BACK] = {'G', HAS_REGION, MATRIX_GENERATORS},
	[MATRIX_LINKED] = {'T', HAS_TICKET | HAS_GRAPH, MATRIX_ONE_GRAPH},
	[MATRIX_NESTED] = {'U', HAS_TICKET | HAS_GRAPH, MATRIX_ONE_GRAPH},
	[MATRIX_BODIES] = {'H', HAS_REGION | HAS_GRAPH | HAS_FORM,
			   MATRIX_LOOPS},
	[MATRIX_LOOP] = {'Y', HAS_TICKET | HAS_REGION, MATRIX_LOOPS},
	[MATRIX_SPOILED] = {'J', HAS_REGION | HAS_FORM,
			    MATRIX_LOOPS | MATRIX_CAPTURES},
};

unsigned matrix_makes(const struct matrix_event *event)
{
	switch (event->kind) {
	case MATRIX_FORWARD:
	case MATRIX_KEEP:
	case MATRIX_EXCHANGE:
	case MATRIX_LOOP:
		return 1;
	case MATRIX_MIXED:
		return 2;
	case MATRIX_BODIES:
		return event->fate == MATRIX_UNTOLD
			       ? 0
			       : form_of(event->form)->makes;
	default:
		return 0;
	}
}

/* Whether the event does what it is for; a call, if need be, eagerly. */
static int is_done(const struct matrix_event *event)
{
	return event->fate == MATRIX_DONE || event->fate == MATRIX_DECLINED ||
	       event->fate == MATRIX_UNCAPTURED;
}

static int succeeds(const struct matrix_event *event)
{
	return is_done(event) || event->fate == MATRIX_KEPT;
}

/* A forward's own event. */
static void tell_forward(struct matrix_story *story, struct matrix_draw draw,
			 const struct matrix_event *event)
{
	story->region = draw.region;
	story->iterations = draw.iterations;
	story->open = event->part == MATRIX_BEGIN;
	story->forward_how = event->how;
	story->known = event->how != MATRIX_IN_GRAPH || !story->open;
	if (story->open)
		return;
	story->made = succeeds(event);
	story->ended = !story->made;
	if (event->how == MATRIX_IN_GRAPH && story->ended)
		story->known = 0;
}

/* A backward or recompute of it. */
static void tell_pass(struct matrix_story *story,
		      const struct matrix_event *event)
{
	int consuming = event->kind == MATRIX_BACKWARD;

	if (event->part == MATRIX_BEGIN) {
		story->readers++;
		story->consuming |= consuming;
		if (consuming)
			story->backward_how = event->how;
		else
			story->recompute_how = event->how;
		return;
	}
	if (event->part == MATRIX_END) {
		story->readers--;
		if (consuming)
			story->consuming = 0;
	}
	if (consuming && is_done(event))
		story->ended = 1;
}

static void tell_remake(struct matrix_view *view, unsigned region)
{
	for (unsigned i = 0; i < view->next; i++)
		if (view->of[i].known && view->of[i].region == region)
			view->of[i].ended = 1;
}

/*
 * A generator has one open forward of SHARED regions; launches hold none open.
 */
static void tell_open(const struct matrix_limits *limits,
		      struct matrix_view *view,
		      const struct matrix_event *event)
{
	int change =
		(event->part == MATRIX_BEGIN) - (event->part == MATRIX_END);

	if (!change)
		return;
	view->open += (unsigned)change;
	view->open_in[event->region] += (unsigned)change;
	if (event->kind == MATRIX_FORWARD && event->how != MATRIX_IN_GRAPH &&
	    matrix_is_shared(limits, event->region))
		view->shared_open[matrix_generator(limits, event->region)] =
			change > 0;
}

static void tell_forwards(const struct matrix_limits *limits,
			  struct matrix_story *named,
			  const struct matrix_event *event)
{
	struct matrix_draw draws[2];
	unsigned n = matrix_makes(event);

	matrix_draws(limits, event, draws);
	for (unsigned i = 0; i < n; i++)
		tell_forward(named + i, draws[i], event);
}

static void tell(const struct matrix_limits *limits, struct matrix_view *view,
		 const struct matrix_event *event)
{
	struct matrix_story *named = &view->of[event->ticket];
	struct matrix_story *other = &view->of[event->other];

	tell_open(limits, view, event);
	if (matrix_makes(event))
		tell_forwards(limits, named, event);
	switch (event->kind) {
	case MATRIX_BACKWARD:
	case MATRIX_RECOMPUTE:
		tell_pass(named, event);
		break;
	case MATRIX_BODIES:
		if (is_done(event) && form_of(event->form)->consumes)
			other->ended = 1;
		break;
	case MATRIX_MIXED:
	case MATRIX_EXCHANGE:
		if (is_done(event))
			other->ended = 1;
		break;
	case MATRIX_DOUBLE:
		other->ended = 1;
		if (is_done(event))
			named->ended = 1;
		break;
	case MATRIX_LINKED:
	case MATRIX_NESTED:
		if (is_done(event))
			named->ended = 1;
		break;
	case MATRIX_RELEASE:
		named->ended = 1;
		break;
	case MATRIX_REMAKE:
		tell_remake(view, event->region);
	}
}

/* A ticket takes room until it is over and no pass reads it. */
static int takes_room(const struct matrix_story *story)
{
	return story->open ||
	       (story->made && (!story->ended || story->readers));
}

static void count_pending(struct matrix_view *view)
{
	for (unsigned i = 0; i < view->next; i++)
		view->pending[view->of[i].region] += takes_room(&view->of[i]);
}

static unsigned count_forwards(const struct matrix_run *run)
{
	unsigned forwards = 0;

	for (unsigned i = 0; i < run->n; i++)
		if (run->events[i].part != MATRIX_END &&
		    !matrix_is_refused(&run->events[i]))
			forwards += matrix_makes(&run->events[i]);
	return forwards;
}

void matrix_look(const struct matrix_run *run, struct matrix_view *view)
{
	memset(view, 0, offsetof(struct matrix_view, of));
	memset(view->replay, MATRIX_RECORDED, sizeof(view->replay));
	view->next = count_forwards(run);
	memset(view->of, 0, view->next * sizeof(view->of[0]));
	for (unsigned i = 0; i < run->n; i++) {
		struct matrix_place taken[2];

		matrix_places_tell(&run->limits, &view->places, &run->events[i],
				   taken);
		matrix_tell_kind(view, &run->events[i]);
		if (run->events[i].status == PHILOX_OK)
			tell(&run->limits, view, &run->events[i]);
	}
	count_pending(view);
}

int matrix_is_refused(const struct matrix_event *event)
{
	return event->status != PHILOX_OK &&
	       event->status != PHILOX_ERROR_DEVICE;
}

/* --- what an event must give ---------------------------------------------- */

/* Whether a launch in progress will use it up. */
static int is_claimed(const struct matrix_story *story)
{
	return story->consuming && story->backward_how == MATRIX_IN_GRAPH;
}

static enum philox_status may_read(const struct matrix_story *story,
				   int consuming)
{
	if (story->ended)
		return PHILOX_ERROR_RELEASED;
	if (story->open)
		return PHILOX_ERROR_STATE;
	if (is_claimed(story) || (consuming && story->consuming))
		return PHILOX_ERROR_BUSY;
	return PHILOX_OK;
}

static enum philox_status may_release(const struct matrix_story *story)
{
	enum philox_status status = may_read(story, 0);

	if (status == PHILOX_OK && story->readers)
		return PHILOX_ERROR_BUSY;
	return status;
}

static enum philox_status may_double(const struct matrix_view *view,
				     const struct matrix_event *event)
{
	int kept = event->fate == MATRIX_KEPT;
	enum philox_status status = may_read(&view->of[event->ticket], !kept);

	if (status != PHILOX_OK)
		return status;
	if (event->ticket == event->other && !kept)
		return PHILOX_ERROR_BUSY;
	return may_read(&view->of[event->other], 1);
}

/* Whether the graph of an event is between prologue and epilogue. */
static int is_launching(const struct matrix_view *view,
			const struct matrix_event *event)
{
	if (event->how != MATRIX_IN_GRAPH || !view->open)
		return 0;
	for (unsigned i = 0; i < view->next; i++) {
		const struct matrix_story *story = &view->of[i];

		if (story->region != event->region)
			continue;
		if (event->kind == MATRIX_FORWARD && story->open &&
		    story->forward_how == MATRIX_IN_GRAPH)
			return 1;
		if ((event->kind == MATRIX_BACKWARD ||
		     event->kind == MATRIX_STRANGE) &&
		    is_claimed(story))
			return 1;
	}
	return 0;
}

/* Whether one forward may begin, after those of the event before it. */
static enum philox_status may_forward(const struct matrix_limits *limits,
				      const struct matrix_view *view,
				      const struct matrix_places *places,
				      struct matrix_draw draw, unsigned room)
{
	unsigned region = draw.region;

	if (matrix_is_shared(limits, region) &&
	    view->shared_open[matrix_generator(limits, region)])
		return PHILOX_ERROR_BUSY;
	if (!matrix_place_exists(matrix_place(limits, places, region),
				 draw.iterations))
		return PHILOX_ERROR_OVERFLOW;
	return view->pending[region] < room ? PHILOX_OK : PHILOX_ERROR_LIMIT;
}

/* A body that is run holds the ticket of its pair until it has succeeded. */
static int takes_tickets(const struct matrix_event *event)
{
	return matrix_makes(event) ||
	       (event->kind == MATRIX_PAIR && matrix_runs_body(event));
}

/* All forwards of an event, one after the other. */
static enum philox_status may_draw(const struct matrix_limits *limits,
				   const struct matrix_view *view,
				   const struct matrix_event *event)
{
	unsigned room = takes_tickets(event) ? limits->pending : UINT32_MAX;
	struct matrix_places places;
	struct matrix_draw draws[2];
	unsigned n = matrix_draws(limits, event, draws);
	enum philox_status status;

	if (!n)
		return PHILOX_OK;
	status = may_forward(limits, view, &view->places, draws[0], room);
	if (status != PHILOX_OK || n == 1)
		return status;
	places = view->places;
	matrix_place_take(limits, &places, draws[0].region,
			  draws[0].iterations);
	room -= draws[1].region == draws[0].region;
	return may_forward(limits, view, &places, draws[1], room);
}

/* The ticket that a form names, which has enough iterations. */
static enum philox_status may_name(const struct matrix_view *view,
				   const struct matrix_event *event)
{
	const struct form *form = form_of(event->form);
	const struct matrix_story *story = &view->of[event->other];
	enum philox_status status;

	if (!form->named)
		return PHILOX_OK;
	status = may_read(story, form->consumes && event->fate != MATRIX_KEPT);
	if (status != PHILOX_OK)
		return status;
	return story->iterations < form->needs ? PHILOX_ERROR_MISMATCH
					       : PHILOX_OK;
}

static enum philox_status may_use(const struct matrix_view *view,
				  const struct matrix_event *event)
{
	int kept = event->fate == MATRIX_KEPT &&
		   (event->how == MATRIX_IN_GRAPH || matrix_is_call(event));

	switch (event->kind) {
	case MATRIX_BACKWARD:
	case MATRIX_LINKED:
	case MATRIX_NESTED:
		return may_read(&view->of[event->ticket], !kept);
	case MATRIX_RECOMPUTE:
		return may_read(&view->of[event->ticket], 0);
	case MATRIX_EXCHANGE:
	case MATRIX_MIXED:
		return may_read(&view->of[event->other], !kept);
	case MATRIX_DOUBLE:
		return may_double(view, event);
	case MATRIX_BODIES:
		return may_name(view, event);
	case MATRIX_RELEASE:
		return may_release(&view->of[event->ticket]);
	case MATRIX_STRANGE:
		return PHILOX_ERROR_MISMATCH;
	case MATRIX_ADVANCE:
		return matrix_place_exists(view->places.own[event->region], 1)
			       ? PHILOX_OK
			       : PHILOX_ERROR_OVERFLOW;
	default:
		return PHILOX_OK;
	}
}

/* Uses are checked in order of begin: a mixed graph's backward is first. */
static enum philox_status may_begin(const struct matrix_view *view,
				    const struct matrix_limits *limits,
				    const struct matrix_event *event)
{
	enum philox_status status;

	if (is_launching(view, event))
		return PHILOX_ERROR_BUSY;
	status = event->kind == MATRIX_MIXED ? may_use(view, event)
					     : may_draw(limits, view, event);
	if (status != PHILOX_OK)
		return status;
	return event->kind == MATRIX_MIXED ? may_draw(limits, view, event)
					   : may_use(view, event);
}

static enum philox_status expect(const struct matrix_view *view,
				 const struct matrix_limits *limits,
				 const struct matrix_event *event)
{
	enum philox_status status;

	if (event->part == MATRIX_END || event->fate == MATRIX_UNTOLD)
		return PHILOX_OK;
	if (event->fate == MATRIX_FAILED ||
	    (event->fate == MATRIX_BROKEN && event->how == MATRIX_EAGER))
		return PHILOX_ERROR_DEVICE;
	status = may_begin(view, limits, event);
	if (status != PHILOX_OK)
		return status;
	if (event->fate == MATRIX_BROKEN ||
	    (event->fate == MATRIX_ABORTED &&
	     (event->how == MATRIX_IN_GRAPH || matrix_is_call(event))))
		return PHILOX_ERROR_DEVICE;
	return PHILOX_OK;
}

/* A body that is run: its forwards before the pass that is refused draw. */
static unsigned burnt_by_refusal(const struct matrix_view *view,
				 const struct matrix_limits *limits,
				 const struct matrix_event *event)
{
	struct matrix_draw draws[2];

	if (event->kind == MATRIX_EXCHANGE)
		return may_draw(limits, view, event) == PHILOX_OK;
	if (event->kind != MATRIX_MIXED || may_use(view, event) != PHILOX_OK)
		return 0;
	matrix_draws(limits, event, draws);
	return may_forward(limits, view, &view->places, draws[0],
			   limits->pending) == PHILOX_OK;
}

/* A broken one fails when its last pass begins. */
static unsigned burnt_by_body(const struct matrix_event *event, unsigned n)
{
	int last_draws = event->kind == MATRIX_FORWARD ||
			 event->kind == MATRIX_INFERENCE ||
			 event->kind == MATRIX_MIXED;

	return event->fate == MATRIX_ABORTED ? n : n - (n && last_draws);
}

/* How many forwards of a call that fails draw; in a capture none does. */
static unsigned burnt_by(const struct matrix_view *view,
			 const struct matrix_limits *limits,
			 const struct matrix_event *event)
{
	struct matrix_draw draws[2];
	unsigned n = matrix_draws(limits, event, draws);

	if (!matrix_is_call(event) || event->status == PHILOX_OK ||
	    event->fate == MATRIX_FAILED)
		return 0;
	if (matrix_is_refused(event))
		return matrix_runs_body(event)
			       ? burnt_by_refusal(view, limits, event)
			       : 0;
	return matrix_runs_body(event) ? burnt_by_body(event, n) : n;
}

/* Which use a launch would refuse, in a graph with more than one region. */
static unsigned refused_use(const struct matrix_view *view,
			    const struct matrix_limits *limits,
			    const struct matrix_event *event)
{
	int draws = may_draw(limits, view, event) == PHILOX_OK;
	int uses = may_use(view, event) == PHILOX_OK;

	if (draws && uses)
		return MATRIX_NOT_REFUSED;
	if (event->kind == MATRIX_EXCHANGE)
		return draws;
	if (event->kind != MATRIX_MIXED || !uses)
		return 0;
	return 1 + burnt_by_refusal(view, limits, event);
}

void matrix_judge(const struct matrix_view *view,
		  const struct matrix_limits *limits,
		  struct matrix_event *event)
{
	unsigned refused = MATRIX_NOT_REFUSED;

	if (event->how >= MATRIX_CALL_REPLAY &&
	    (event->kind == MATRIX_EXCHANGE || event->kind == MATRIX_MIXED))
		refused = refused_use(view, limits, event);
	event->call = matrix_kind(view, limits, event, refused);
	event->status = (uint8_t)expect(view, limits, event);
	event->burnt = (uint8_t)burnt_by(view, limits, event);
}

void matrix_push(struct matrix_run *run, struct matrix_event event)
{
	struct matrix_view view;

	matrix_look(run, &view);
	matrix_judge(&view, &run->limits, &event);
	run->events[run->n++] = event;
}
