/*
 * tools/matrix/bed/context.c - whole regions and contexts
 */
#include <inttypes.h>
#include <stdlib.h>
#include "tools/matrix/bed/bed.h"

int bed_make_region(struct matrix_bed *bed, struct site *site)
{
	unsigned number = (unsigned)(site - bed->sites);
	struct philox_region_desc options = {
		.size = sizeof(options),
		.name = site->name,
		.ops = bed->shape.op,
		.n_ops = bed->shape.ops,
		.generator =
			bed->generators[matrix_generator(&bed->limits, number)],
		.pending = bed->limits.pending,
		.flags = matrix_is_shared(&bed->limits, number)
				 ? PHILOX_REGION_SHARED
				 : 0,
	};

	TRY(bed, philox_region_create(bed->context, &options, &site->region));
	return 0;
}

/* Graphs of a destroyed region refuse to be launched. */
static int check_stale(struct matrix_bed *bed, const struct site *site)
{
	const struct graph *graph = &site->graphs[MATRIX_FORWARD][0];
	struct philox_launch_pass use = {0};
	enum philox_status status;

	if (!graph->graph)
		return 0;
	status = philox_graph_launch(graph->graph, site->stream, &use, 1);
	if (status == PHILOX_ERROR_STALE)
		return 0;
	return bed_complain(bed, "a graph of a region destroyed gave %s",
			    philox_status_name(status));
}

static int drop_graphs(struct matrix_bed *bed, struct site *site,
		       unsigned region)
{
	struct graph *graphs = &site->graphs[0][0];

	TRY(bed, philox_stream_synchronize(bed->device, site->stream));
	for (unsigned i = 0; i < MATRIX_PLAIN * MATRIX_REGIONS; i++)
		if ((graphs[i].regions >> region & 1) &&
		    bed_drop_graph(bed, &graphs[i]))
			return -1;
	return bed_drop_bodies(bed, site, region);
}

int bed_remake(struct matrix_bed *bed, unsigned region)
{
	struct site *site = &bed->sites[region];

	TRY(bed, philox_stream_synchronize(bed->device, site->stream));
	TRY(bed, philox_region_destroy(site->region));
	bed_stale_calls(bed, region);
	if (check_stale(bed, site) || bed_make_region(bed, site))
		return -1;
	for (unsigned i = 0; i < bed->limits.regions; i++)
		if (drop_graphs(bed, &bed->sites[i], region))
			return -1;
	return 0;
}

/* --- generators ----------------------------------------------------------- */

int bed_make_generators(struct matrix_bed *bed)
{
	bed->generators[0] = philox_context_generator(bed->context);
	for (unsigned i = 1; i < matrix_generators(&bed->limits); i++)
		TRY(bed, philox_generator_create(bed->context, i,
						 &bed->generators[i]));
	return 0;
}

/*
 * The second seed is set with an offset, which then advances: both are the
 * generator's own and must have no effect on regions that are not SHARED. If it
 * is the present seed, setting the state does not seed.
 */
int bed_seed(struct matrix_bed *bed, unsigned generator, unsigned seed)
{
	struct philox_generator *of = bed->generators[generator];
	struct philox_state state = {bed->seeds.of[generator][seed], 400};

	if (seed == MATRIX_SEED_FIRST ||
	    seed == bed->places.own[generator].seed)
		TRY(bed, philox_generator_seed(of, state.seed));
	if (seed == MATRIX_SEED_FIRST)
		return 0;
	TRY(bed, philox_generator_set_state(of, state));
	TRY(bed, philox_generator_advance(of, 8, NULL));
	return 0;
}

/* With its present seed: to one forward before the end, or as after seeding. */
static int move(struct matrix_bed *bed, unsigned generator, int at_end)
{
	struct matrix_place place = bed->places.own[generator];

	place.at_end = (uint8_t)at_end;
	place.number = 0;
	TRY(bed, philox_generator_set_state(
			 bed->generators[generator],
			 matrix_own_state(&bed->seeds, &bed->shape, generator,
					  place)));
	return 0;
}

int bed_do_generator(struct matrix_bed *bed, const struct matrix_event *event)
{
	struct philox_generator *of = bed->generators[event->region];
	unsigned seed =
		bed->places.own[event->region].seed & MATRIX_SEED_SECOND;

	switch (event->kind) {
	case MATRIX_ADVANCE:
		return bed_check_status(
			bed, event,
			philox_generator_advance(of, bed->shape.sum, NULL));
	case MATRIX_FOLD:
		TRY(bed, philox_generator_fold(of, MATRIX_FOLD_INDEX));
		return 0;
	case MATRIX_AT_END:
	case MATRIX_BACK:
		return move(bed, event->region, event->kind == MATRIX_AT_END);
	case MATRIX_SEED:
		return bed_seed(bed, event->region, seed);
	default:
		return bed_seed(bed, event->region, !seed);
	}
}

int bed_check_generators(struct matrix_bed *bed)
{
	for (unsigned i = 0; i < matrix_generators(&bed->limits); i++) {
		struct philox_state must = matrix_own_state(
			&bed->seeds, &bed->shape, i, bed->places.own[i]);
		struct philox_state state;

		TRY(bed,
		    philox_generator_get_state(bed->generators[i], &state));
		if (state.seed != must.seed || state.offset != must.offset)
			return bed_complain(bed,
					    "generator %u is at seed %" PRIx64
					    ", offset %" PRIu64
					    ", not seed %" PRIx64
					    ", offset %" PRIu64,
					    i, state.seed, state.offset,
					    must.seed, must.offset);
	}
	return 0;
}

/* --- saving --------------------------------------------------------------- */

/*
 * The old context releases its saved contexts; pending tickets get one again,
 * on the new context.
 */
static int attach_again(struct matrix_bed *bed, const struct matrix_view *view)
{
	for (unsigned i = 0; i < view->next; i++) {
		const struct matrix_story *story = &view->of[i];

		if (!story->made || story->ended)
			continue;
		if (bed->released[i] != 1)
			return bed_complain(
				bed,
				"the saved context of ticket %u was "
				"released %u times with its context",
				i, bed->released[i]);
		bed->released[i] = 0;
		if (bed_keep_ticket(bed, i, story->region, bed->tickets[i]))
			return -1;
	}
	return 0;
}

/* They went with their context; adopted native graphs are ours. */
static int lose_graphs(struct matrix_bed *bed, struct site *site)
{
	struct graph *graphs = &site->graphs[0][0];

	for (unsigned i = 0; i < MATRIX_PLAIN * MATRIX_REGIONS; i++) {
		graphs[i].graph = NULL;
		if (bed_drop_graph(bed, &graphs[i]))
			return -1;
	}
	return bed_lose_bodies(bed, site);
}

static int renew_context(struct matrix_bed *bed)
{
	philox_context_destroy(bed->context);
	bed->context = NULL;
	bed_lose_calls(bed);
	for (unsigned i = 0; i < bed->limits.regions; i++)
		if (lose_graphs(bed, &bed->sites[i]))
			return -1;
	TRY(bed, philox_context_create(bed->device, &bed->context));
	if (bed_make_generators(bed))
		return -1;
	for (unsigned i = 0; i < bed->limits.regions; i++)
		if (bed_make_region(bed, &bed->sites[i]))
			return -1;
	return 0;
}

int bed_save_and_load(struct matrix_bed *bed)
{
	struct matrix_view view;
	char *text;
	size_t size;
	enum philox_status status;

	matrix_look(&bed->run, &view);
	TRY(bed, philox_context_save_text(bed->context, &text, &size));
	if (renew_context(bed)) {
		free(text);
		return -1;
	}
	status = philox_context_load_text(bed->context, text, size);
	free(text);
	return bed_failed(bed, "load", status) || attach_again(bed, &view) ? -1
									   : 0;
}
