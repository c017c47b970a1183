/*
 * tools/bench/growth/growth.c - how n things of a kind are run
 */
#include "tools/bench/growth/growth.h"

#include <stdio.h>
#include <stdlib.h>

const struct growth_kind *const growth_lists[] = {
	growth_states, growth_graphs, growth_pools, growth_runners, NULL};

/* --- what kinds share ----------------------------------------------------- */

const char *growth_name(const char *word, size_t number)
{
	static char name[64];

	snprintf(name, sizeof(name), "%s %zu", word, number);
	return name;
}

enum philox_status growth_each(struct growth_bed *bed,
			       enum philox_status (*one)(struct growth_bed *bed,
							 size_t i))
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < bed->n; i++)
		status = one(bed, i);
	return status;
}

enum philox_status growth_region(struct growth_bed *bed, const char *name,
				 size_t pending, struct philox_generator *of,
				 struct philox_region **region)
{
	const struct philox_op_desc op = {.name = "op"};
	struct philox_region_desc options =
		PHILOX_INIT(struct philox_region_desc);

	options.name = name;
	options.ops = &op;
	options.n_ops = 1;
	options.pending = (uint32_t)pending;
	options.generator = of;
	return philox_region_create(bed->context, &options, region);
}

enum philox_status growth_save(struct growth_bed *bed)
{
	return philox_context_save_text(bed->context, &bed->text, &bed->bytes);
}

enum philox_status growth_load(struct growth_bed *bed)
{
	return philox_context_load_text(bed->context, bed->text, bed->bytes);
}

/* --- a bed ---------------------------------------------------------------- */

/* The same order each time, without a run that is in order. */
static void shuffle(struct growth_bed *bed)
{
	for (size_t i = 0; i < bed->n; i++)
		bed->order[i] = i;
	for (size_t i = bed->n; i > 1; i--) {
		size_t j = philox_mulhi(philox_block(3, i, 0).w[0],
					(uint32_t)i);
		size_t kept = bed->order[i - 1];

		bed->order[i - 1] = bed->order[j];
		bed->order[j] = kept;
	}
}

static int make_arrays(struct growth_bed *bed)
{
	bed->order = calloc(bed->n, sizeof(*bed->order));
	bed->things = calloc(bed->n, sizeof(*bed->things));
	bed->others = calloc(bed->n, sizeof(*bed->others));
	bed->tickets = calloc(bed->n, sizeof(*bed->tickets));
	bed->ids = calloc(bed->n, sizeof(*bed->ids));
	if (!bed->order || !bed->things || !bed->others || !bed->tickets ||
	    !bed->ids)
		return 0;
	shuffle(bed);
	return 1;
}

static void free_arrays(struct growth_bed *bed)
{
	free(bed->text);
	free(bed->ids);
	free(bed->tickets);
	free(bed->others);
	free(bed->things);
	free(bed->order);
}

static enum philox_status run_phases(const struct growth_kind *kind,
				     struct growth_bed *bed,
				     const struct growth_watch *watch)
{
	const struct growth_phase *phase = kind->phases;
	enum philox_status status = PHILOX_OK;

	for (; status == PHILOX_OK && phase->name; phase++) {
		watch->begin(watch->user);
		status = phase->run(bed);
		watch->end(watch->user, phase);
	}
	return status;
}

static enum philox_status run_bed(const struct growth_kind *kind,
				  struct growth_bed *bed,
				  const struct growth_watch *watch)
{
	enum philox_status status =
		philox_context_create(bed->device, &bed->context);

	if (status != PHILOX_OK)
		return status;
	status = philox_stream_create(bed->device, 0, &bed->stream);
	if (status == PHILOX_OK)
		status = run_phases(kind, bed, watch);
	/* After a failure all that is there stays, and so does the message */
	if (status == PHILOX_OK)
		status = philox_stream_destroy(bed->device, bed->stream);
	return status == PHILOX_OK ? philox_context_destroy(bed->context)
				   : status;
}

enum philox_status growth_run(const struct growth_kind *kind,
			      struct philox_device *device, size_t n,
			      const struct growth_watch *watch)
{
	struct growth_bed bed = {.device = device, .n = n};
	enum philox_status status = PHILOX_ERROR_MEMORY;

	if (make_arrays(&bed))
		status = run_bed(kind, &bed, watch);
	free_arrays(&bed);
	return status;
}
