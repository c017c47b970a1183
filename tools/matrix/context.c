/*
 * tools/matrix/context.c - what concerns whole regions and contexts
 */
#include <stdlib.h>
#include "tools/matrix/bed.h"

#define SEED_FIRST  0x5eed
#define SEED_SECOND 0x0dd

int bed_make_region(struct matrix_bed *bed, struct site *site)
{
	struct philox_region_options options = {
		.size = sizeof(options),
		.name = site->name,
		.ops = bed->shape.op,
		.n_ops = bed->shape.ops,
		.pending = bed->limits.pending,
	};

	TRY(bed, philox_region_create(bed->context, &options, &site->region));
	return 0;
}

/* Graphs of a region that was destroyed refuse to be launched. */
static int check_stale(struct matrix_bed *bed, const struct site *site)
{
	const struct graph *graph = &site->graphs[GRAPH_FORWARD];
	struct philox_use use = {0};
	enum philox_status status;

	if (!graph->graph)
		return 0;
	status = philox_graph_launch(graph->graph, site->stream, &use, 1);
	if (status == PHILOX_ERROR_STALE)
		return 0;
	return bed_complain(bed, "a graph of a region destroyed gave %s",
			    philox_status_name(status));
}

int bed_remake(struct matrix_bed *bed, unsigned region)
{
	struct site *site = &bed->sites[region];

	TRY(bed, philox_stream_synchronize(bed->device, site->stream));
	TRY(bed, philox_region_destroy(site->region));
	if (check_stale(bed, site) || bed_make_region(bed, site))
		return -1;
	for (unsigned i = 0; i < GRAPHS; i++)
		if (bed_drop_graph(bed, &site->graphs[i]))
			return -1;
	for (unsigned i = 0; i < bed->limits.regions; i++) {
		struct site *other = &bed->sites[i];

		TRY(bed, philox_stream_synchronize(bed->device, other->stream));
		if (bed_drop_graph(bed,
				   &other->graphs[GRAPH_EXCHANGE + region]))
			return -1;
	}
	return 0;
}

/*
 * The second seed is set with an offset, which then advances: both are the
 * generator's own and must not be seen in what regions draw.
 */
int bed_seed(struct matrix_bed *bed, unsigned which)
{
	struct philox_generator *generator =
		philox_context_generator(bed->context);
	struct philox_state state = {SEED_SECOND, 400};

	bed->seed = which;
	if (!which) {
		TRY(bed, philox_generator_seed(generator, SEED_FIRST));
		return 0;
	}
	TRY(bed, philox_generator_set_state(generator, state));
	TRY(bed, philox_generator_advance(generator, 8, NULL));
	return 0;
}

/* --- saving --------------------------------------------------------------- */

/*
 * The old context releases what it holds; tickets that are owed get a saved
 * context again, on the new one.
 */
static int attach_again(struct matrix_bed *bed, const struct matrix_view *view)
{
	for (unsigned i = 0; i < view->next; i++) {
		const struct matrix_story *story = &view->of[i];

		if (!story->made || story->over)
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

static int renew_context(struct matrix_bed *bed)
{
	philox_context_destroy(bed->context);
	bed->context = NULL;
	for (unsigned i = 0; i < bed->limits.regions; i++)
		for (unsigned k = 0; k < GRAPHS; k++)
			bed->sites[i].graphs[k].graph = NULL;
	TRY(bed, philox_context_create(bed->device, &bed->context));
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
