/*
 * tools/matrix/bed/bed.c - making a bed, and a whole run on it
 *
 * A bed is an open device with a context, regions, and graphs captured when
 * they are first needed. A run begins with a re-seed and its closing leaves
 * nothing, so a bed serves any number of runs. The numbers of passes are copied
 * in stream order and checked at the end of the run: nothing waits before.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/matrix/bed/bed.h"

/* --- complaining ---------------------------------------------------------- */

int bed_complain(struct matrix_bed *bed, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(bed->message, bed->size, format, arguments);
	va_end(arguments);
	return -1;
}

int bed_failed(struct matrix_bed *bed, const char *what,
	       enum philox_status status)
{
	if (status == PHILOX_OK)
		return 0;
	return bed_complain(bed, "%s gave %s: %s", what,
			    philox_status_name(status), philox_error_message());
}

int bed_check_status(struct matrix_bed *bed, const struct matrix_event *event,
		     enum philox_status status)
{
	if (status == (enum philox_status)event->status)
		return 0;
	return bed_complain(bed, "gave %s, not %s (%s)",
			    philox_status_name(status),
			    philox_status_name(event->status),
			    status == PHILOX_OK ? "" : philox_error_message());
}

/* --- a whole run ---------------------------------------------------------- */

static int do_event(struct matrix_bed *bed, const struct matrix_event *event)
{
	struct site *site = &bed->sites[event->region];

	switch (event->kind) {
	case MATRIX_RELEASE:
		return bed_check_status(
			bed, event,
			philox_ticket_release(site->region, site->stream,
					      bed->tickets[event->ticket]));
	case MATRIX_SEED:
	case MATRIX_RESEED:
	case MATRIX_ADVANCE:
	case MATRIX_FOLD:
	case MATRIX_AT_END:
	case MATRIX_BACK:
		return bed_do_generator(bed, event);
	case MATRIX_CAPTURE:
		return bed_do_capture(bed, event->region);
	case MATRIX_BODIES:
		return bed_do_bodies(bed, event);
	case MATRIX_SPOILED:
		return bed_do_spoiled(bed, event);
	case MATRIX_STRANGE:
		if (event->how == MATRIX_EAGER)
			return bed_do_strange(bed, event);
		break;
	case MATRIX_REMAKE:
		return bed_remake(bed, event->region);
	case MATRIX_SAVE:
		return bed_save_and_load(bed);
	}
	if (matrix_is_call(event))
		return bed_do_call(bed, event);
	return event->how == MATRIX_IN_GRAPH ? bed_do_graph(bed, event)
					     : bed_do_eager(bed, event);
}

static int check_pending(struct matrix_bed *bed, const struct matrix_view *view)
{
	for (unsigned i = 0; i < bed->limits.regions; i++) {
		size_t pending = 0;

		TRY(bed, philox_region_pending_count(bed->sites[i].region,
						     &pending));
		if (pending != view->pending[i])
			return bed_complain(
				bed, "region %u holds %zu tickets, not %u", i,
				pending, view->pending[i]);
	}
	return 0;
}

static int check_saved(struct matrix_bed *bed, const struct matrix_view *view)
{
	for (unsigned i = 0; i < view->next; i++) {
		const struct matrix_story *story = &view->of[i];
		unsigned expected =
			story->made && story->ended && !story->readers;

		if (bed->released[i] != expected)
			return bed_complain(
				bed,
				"the saved context of ticket %u was "
				"released %u times, not %u",
				i, bed->released[i], expected);
	}
	return 0;
}

/* The model reads the run so far, which therefore grows with the events. */
static int step(struct matrix_bed *bed, const struct matrix_event *event)
{
	struct matrix_view view;

	bed->place = bed->run.n;
	if (bed->n_seen + SEEN_EVENT > SEEN_MAX)
		return bed_complain(bed, "the run is too long");
	if (do_event(bed, event))
		return -1;
	bed->run.events[bed->run.n++] = *event;
	matrix_look(&bed->run, &view);
	bed->places = view.places;
	if (check_pending(bed, &view) || check_saved(bed, &view))
		return -1;
	return bed_check_generators(bed);
}

static int synchronize(struct matrix_bed *bed)
{
	for (unsigned i = 0; i < bed->limits.regions; i++)
		TRY(bed, philox_stream_synchronize(bed->device,
						   bed->sites[i].stream));
	TRY(bed, philox_context_check(bed->context, NULL));
	return 0;
}

static int carry_out(struct matrix_bed *bed, const struct matrix_run *run,
		     struct matrix_result *result)
{
	if (bed_ready_calls(bed, run))
		return -1;
	for (unsigned i = 0; i < matrix_generators(&bed->limits); i++)
		if (bed_seed(bed, i, MATRIX_SEED_FIRST))
			return -1;
	for (unsigned i = 0; i < run->n; i++) {
		if (step(bed, &run->events[i]))
			return -1;
		result->n_events++;
	}
	return 0;
}

static int carry_out_closing(struct matrix_bed *bed)
{
	static _Thread_local struct matrix_run closing;

	closing.limits = bed->run.limits;
	closing.n = bed->run.n;
	memcpy(closing.events, bed->run.events,
	       bed->run.n * sizeof(bed->run.events[0]));
	matrix_close(&closing);
	for (unsigned i = bed->run.n; i < closing.n; i++)
		if (step(bed, &closing.events[i]))
			return -1;
	return 0;
}

static void start(struct matrix_bed *bed, const struct matrix_run *run,
		  struct matrix_result *result)
{
	memset(result, 0, sizeof(*result));
	result->wrong = -1;
	bed->message = result->message;
	bed->size = sizeof(result->message);
	bed->run.limits = run->limits;
	bed->run.n = 0;
	bed->n_seen = 0;
	bed->place = 0;
	bed->called = bed->replayed = 0;
	memset(&bed->places, 0, sizeof(bed->places));
	memset(bed->released, 0, sizeof(bed->released));
	memset(bed->iterations, 0, sizeof(bed->iterations));
}

void matrix_bed_run(struct matrix_bed *bed, const struct matrix_run *run,
		    struct matrix_result *result)
{
	int failed;

	start(bed, run, result);
	failed = carry_out(bed, run, result) || carry_out_closing(bed) ||
		 synchronize(bed);
	result->calls = bed->called;
	result->replays = bed->replayed;
	if (failed) {
		result->wrong = (int)bed->place;
		return;
	}
	result->wrong = matrix_check(
		&bed->run, &bed->shape, &bed->seeds, bed->seen, bed->n_seen,
		&result->comparisons, result->message, sizeof(result->message));
}

/* --- making --------------------------------------------------------------- */

static int make_site(struct matrix_bed *bed, unsigned number)
{
	struct site *site = &bed->sites[number];

	matrix_region_name(number, site->name);
	TRY(bed, philox_stream_create(bed->device, 0, &site->stream));
	TRY(bed,
	    philox_memory_alloc(bed->device, sizeof(bed->seen[0].numbers.word),
				(void **)&site->words));
	return bed_make_region(bed, site);
}

/*
 * Beds are never new, so that the re-seed at the start of a run has an effect.
 */
static int wear_in(struct matrix_bed *bed)
{
	struct philox_pass pass;

	for (unsigned i = 0; i < bed->limits.regions; i++) {
		TRY(bed, philox_forward_begin(bed->sites[i].region,
					      bed->sites[i].stream,
					      PHILOX_PASS_INFERENCE, &pass));
		TRY(bed, philox_pass_commit(&pass, 0, NULL));
	}
	return 0;
}

static int make_bed(struct matrix_bed *bed, const char *device)
{
	TRY(bed, philox_device_open(device, &bed->device));
	TRY(bed, philox_context_create(bed->device, &bed->context));
	if (bed_make_generators(bed))
		return -1;
	for (unsigned i = 0; i < bed->limits.regions; i++)
		if (make_site(bed, i))
			return -1;
	return wear_in(bed);
}

static void free_site(struct matrix_bed *bed, struct site *site)
{
	struct graph *graphs = &site->graphs[0][0];

	bed_free_bodies(bed, site);
	for (unsigned i = 0; i < MATRIX_PLAIN * MATRIX_REGIONS; i++) {
		philox_native_exec_destroy(bed->device, graphs[i].exec);
		philox_native_graph_destroy(bed->device, graphs[i].native);
		philox_memory_free(bed->device, graphs[i].seen);
	}
	philox_memory_free(bed->device, site->words);
	philox_stream_destroy(bed->device, site->stream);
}

void matrix_bed_destroy(struct matrix_bed *bed)
{
	if (!bed)
		return;
	if (bed->device)
		philox_device_synchronize(bed->device);
	philox_context_destroy(bed->context);
	bed_lose_calls(bed);
	for (unsigned i = 0; bed->device && i < MATRIX_REGIONS; i++)
		free_site(bed, &bed->sites[i]);
	for (unsigned i = 0; bed->device && i < FORM_DEPTH; i++)
		philox_stream_destroy(bed->device, bed->inner[i]);
	philox_device_close(bed->device);
	free(bed);
}

void matrix_bed_calls(const struct matrix_bed *bed, uint64_t *launches,
		      uint64_t *calls)
{
	*launches += bed->launches;
	*calls += bed->calls;
}

struct matrix_bed *matrix_bed_create(const char *device,
				     const struct matrix_limits *limits,
				     const struct matrix_shape *shape,
				     char *message, size_t size)
{
	struct matrix_bed *bed = calloc(1, sizeof(*bed));

	if (!bed) {
		snprintf(message, size, "out of memory");
		return NULL;
	}
	bed->limits = *limits;
	bed->shape = *shape;
	matrix_seeds_init(&bed->seeds, limits, shape);
	bed->message = message;
	bed->size = size;
	if (make_bed(bed, device)) {
		matrix_bed_destroy(bed);
		return NULL;
	}
	return bed;
}
