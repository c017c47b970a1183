/*
 * tools/matrix/model/kinds.c - as what calls of a runner's functions are
 * executed
 *
 * The rules of philox/runner.h: a function is warmed up, recorded, then
 * replayed; a recording whose region was destroyed is recorded again; a runner
 * that went with its context knows nothing; and where a forward was not
 * recorded since its body refused or its capture broke, backwards of it in
 * other functions are not recorded, either.
 */
#include <string.h>
#include "tools/matrix/model/model.h"

static int has_beside(unsigned kind)
{
	return kind == MATRIX_EXCHANGE || kind == MATRIX_MIXED;
}

struct matrix_function matrix_function(const struct matrix_view *view,
				       const struct matrix_event *event)
{
	struct matrix_function function = {.kind = event->kind,
					   .region = event->region};

	if (event->kind == MATRIX_STRANGE)
		function.kind = MATRIX_BACKWARD;
	if (has_beside(event->kind))
		function.other = view->of[event->other].region;
	return function;
}

/* Whether a ticket that an event repeats is of a forward that was barred. */
static int is_barred(const struct matrix_view *view,
		     const struct matrix_event *event)
{
	switch (event->kind) {
	case MATRIX_BACKWARD:
	case MATRIX_RECOMPUTE:
	case MATRIX_LINKED:
	case MATRIX_NESTED:
	case MATRIX_STRANGE:
		return view->of[event->ticket].barred;
	case MATRIX_EXCHANGE:
	case MATRIX_MIXED:
		return view->of[event->other].barred;
	case MATRIX_DOUBLE:
		return view->of[event->ticket].barred ||
		       view->of[event->other].barred;
	default:
		return 0;
	}
}

/* The regions of a function's passes, in order of begin. */
static unsigned regions_of(const struct matrix_limits *limits,
			   struct matrix_function function, uint8_t regions[3])
{
	if (function.kind == MATRIX_EXCHANGE) {
		regions[0] = function.region;
		regions[1] = function.other;
		return 2;
	}
	if (function.kind == MATRIX_MIXED) {
		regions[0] = function.other;
		regions[1] = function.region;
		regions[2] =
			(uint8_t)matrix_next_region(limits, function.region);
		return 3;
	}
	regions[0] = function.region;
	return 1;
}

int matrix_is_inside(const struct matrix_limits *limits,
		     struct matrix_function function, unsigned region)
{
	uint8_t regions[3];
	unsigned n = regions_of(limits, function, regions);

	while (n--)
		if (regions[n] == region)
			return 1;
	return 0;
}

/*
 * A launch takes its uses one after the other: it finds that a region was
 * destroyed unless a use before is refused.
 */
static int is_stale(const struct matrix_limits *limits,
		    struct matrix_function function, unsigned gone,
		    unsigned refused)
{
	uint8_t regions[3];
	unsigned n = regions_of(limits, function, regions);

	for (unsigned i = 0; i < n && gone; i++) {
		if (gone >> regions[i] & 1)
			return 1;
		if (i == refused)
			return 0;
	}
	return 0;
}

static uint8_t *stage_of(struct matrix_view *view,
			 const struct matrix_event *event,
			 struct matrix_function at)
{
	return event->how == MATRIX_CALL_REPLAY
		       ? &view->replay[at.kind][at.region][at.other]
		       : &view->again[at.kind][at.region][at.other];
}

uint8_t matrix_kind(const struct matrix_view *view,
		    const struct matrix_limits *limits,
		    const struct matrix_event *event, unsigned refused)
{
	struct matrix_function at;
	unsigned stage;

	if (!matrix_is_call(event))
		return PHILOX_CALL_NONE;
	if (event->how == MATRIX_CALL_EAGER || event->fate == MATRIX_DECLINED ||
	    event->fate == MATRIX_UNCAPTURED)
		return PHILOX_CALL_EAGER;
	if (event->how == MATRIX_CALL_RECORD)
		return PHILOX_CALL_RECORD;
	at = matrix_function(view, event);
	stage = *stage_of((struct matrix_view *)view, event, at);
	if (stage == MATRIX_AT_FIRST)
		return PHILOX_CALL_WARMUP;
	if (stage >= MATRIX_RECORDED &&
	    !is_stale(limits, at, stage - MATRIX_RECORDED, refused))
		return PHILOX_CALL_REPLAY;
	/* which uses are backwards is known when the body has run */
	return stage != MATRIX_UNKNOWN && is_barred(view, event)
		       ? PHILOX_CALL_EAGER
		       : PHILOX_CALL_RECORD;
}

/* A recording stays, whether its launch succeeds or not. */
static void tell_call(struct matrix_view *view,
		      const struct matrix_event *event)
{
	uint8_t *stage = stage_of(view, event, matrix_function(view, event));

	if (event->how == MATRIX_CALL_EAGER || event->how == MATRIX_CALL_RECORD)
		return;
	if (event->call == PHILOX_CALL_RECORD)
		*stage = MATRIX_RECORDED;
	if (event->call == PHILOX_CALL_EAGER ||
	    (event->call == PHILOX_CALL_WARMUP && event->status == PHILOX_OK))
		*stage = MATRIX_WARM;
}

static void tell_barred(struct matrix_view *view,
			const struct matrix_event *event)
{
	int barred = event->status == PHILOX_OK &&
		     (event->fate == MATRIX_DECLINED ||
		      event->fate == MATRIX_UNCAPTURED);

	for (unsigned i = 0; barred && i < matrix_makes(event); i++)
		view->of[event->ticket + i].barred = 1;
}

static void tell_destroyed(struct matrix_view *view, unsigned region)
{
	uint8_t *again = &view->again[0][0][0];
	uint8_t *replay = &view->replay[0][0][0];

	for (unsigned i = 0; i < sizeof(matrix_stages); i++) {
		if (again[i] >= MATRIX_RECORDED)
			again[i] |= (uint8_t)(1u << region);
		if (replay[i] >= MATRIX_RECORDED)
			replay[i] |= (uint8_t)(1u << region);
	}
}

static void tell_lost(struct matrix_view *view)
{
	memset(view->again, MATRIX_AT_FIRST, sizeof(view->again));
	memset(view->replay, MATRIX_UNKNOWN, sizeof(view->replay));
	for (unsigned i = 0; i < view->next; i++)
		view->of[i].barred = 0;
}

void matrix_tell_kind(struct matrix_view *view,
		      const struct matrix_event *event)
{
	if (matrix_is_call(event)) {
		tell_call(view, event);
		tell_barred(view, event);
	} else if (event->kind == MATRIX_REMAKE) {
		tell_destroyed(view, event->region);
	} else if (event->kind == MATRIX_SAVE) {
		tell_lost(view);
	}
}
