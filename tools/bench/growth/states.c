/*
 * tools/bench/growth/states.c - regions, operators, generators, tickets, rows
 */
#include <stdlib.h>
#include "tools/bench/growth/growth.h"

/* --- regions -------------------------------------------------------------- */

static enum philox_status make_region(struct growth_bed *bed, size_t i)
{
	return growth_region(bed, growth_name("region", i), 1, NULL,
			     (struct philox_region **)&bed->things[i]);
}

static enum philox_status make_regions(struct growth_bed *bed)
{
	return growth_each(bed, make_region);
}

static enum philox_status forward(struct growth_bed *bed,
				  struct philox_region *region, size_t i)
{
	struct philox_pass pass;
	enum philox_status status =
		philox_forward_begin(region, bed->stream, 0, &pass);

	if (status == PHILOX_OK)
		status = philox_pass_commit(&pass, 0, &bed->tickets[i]);
	return status;
}

static enum philox_status backward(struct growth_bed *bed,
				   struct philox_region *region, size_t i)
{
	struct philox_pass pass;
	enum philox_status status = philox_backward_begin(
		region, bed->stream, bed->tickets[i], 0, &pass);

	if (status == PHILOX_OK)
		status = philox_pass_commit(&pass, 0, NULL);
	return status;
}

static enum philox_status forward_region(struct growth_bed *bed, size_t i)
{
	return forward(bed, bed->things[bed->order[i]], bed->order[i]);
}

static enum philox_status forward_regions(struct growth_bed *bed)
{
	return growth_each(bed, forward_region);
}

static enum philox_status digest(struct growth_bed *bed)
{
	struct philox_rank_digest of_rank =
		PHILOX_INIT(struct philox_rank_digest);
	uint64_t of_context;
	enum philox_status status =
		philox_context_digest(bed->context, &of_context);

	if (status == PHILOX_OK)
		status = philox_context_rank_digest(bed->context, &of_rank);
	return status;
}

static enum philox_status backward_region(struct growth_bed *bed, size_t i)
{
	return backward(bed, bed->things[i], i);
}

static enum philox_status backward_regions(struct growth_bed *bed)
{
	return growth_each(bed, backward_region);
}

static enum philox_status destroy_region(struct growth_bed *bed, size_t i)
{
	return philox_region_destroy(bed->things[i]);
}

static enum philox_status destroy_regions(struct growth_bed *bed)
{
	return growth_each(bed, destroy_region);
}

/* --- operators of one region ---------------------------------------------- */

static enum philox_status make_operators(struct growth_bed *bed)
{
	char(*names)[24] = calloc(bed->n, sizeof(*names));
	const char **of = (const char **)bed->others;
	enum philox_status status = PHILOX_ERROR_MEMORY;

	for (size_t i = 0; names && i < bed->n; i++) {
		const char *name = growth_name("op", i);

		for (size_t k = 0; k < sizeof(*names); k++)
			names[i][k] = name[k];
		of[i] = names[i];
	}
	if (names)
		status = philox_region_create_named(bed->context, "region", of,
						    bed->n, &bed->region);
	free(names);
	return status;
}

static enum philox_status pass_operators(struct growth_bed *bed)
{
	enum philox_status status = forward(bed, bed->region, 0);

	return status == PHILOX_OK ? backward(bed, bed->region, 0) : status;
}

static enum philox_status destroy_one_region(struct growth_bed *bed)
{
	return philox_region_destroy(bed->region);
}

/* --- generators, each with a region --------------------------------------- */

static enum philox_status make_generator(struct growth_bed *bed, size_t i)
{
	struct philox_generator *made;
	enum philox_status status =
		philox_generator_create(bed->context, i, &made);

	bed->things[i] = made;
	if (status == PHILOX_OK)
		status = growth_region(
			bed, growth_name("region", i), 1, made,
			(struct philox_region **)&bed->others[i]);
	return status;
}

static enum philox_status make_generators(struct growth_bed *bed)
{
	return growth_each(bed, make_generator);
}

static enum philox_status seed_generator(struct growth_bed *bed, size_t i)
{
	return philox_generator_seed(bed->things[bed->order[i]], i + 1);
}

static enum philox_status seed_generators(struct growth_bed *bed)
{
	return growth_each(bed, seed_generator);
}

/* The oldest first. */
static enum philox_status destroy_generator(struct growth_bed *bed, size_t i)
{
	enum philox_status status = philox_region_destroy(bed->others[i]);

	if (status == PHILOX_OK)
		status = philox_generator_destroy(bed->things[i]);
	return status;
}

static enum philox_status destroy_generators(struct growth_bed *bed)
{
	return growth_each(bed, destroy_generator);
}

/* --- tickets of one region ------------------------------------------------ */

static enum philox_status forward_ticket(struct growth_bed *bed, size_t i)
{
	return forward(bed, bed->region, i);
}

static enum philox_status make_tickets(struct growth_bed *bed)
{
	enum philox_status status =
		growth_region(bed, "region", bed->n, NULL, &bed->region);

	return status == PHILOX_OK ? growth_each(bed, forward_ticket) : status;
}

static enum philox_status backward_ticket(struct growth_bed *bed, size_t i)
{
	return backward(bed, bed->region, bed->order[i]);
}

static enum philox_status use_tickets(struct growth_bed *bed)
{
	return growth_each(bed, backward_ticket);
}

/* --- tables of rows ------------------------------------------------------- */

static enum philox_status make_table(struct growth_bed *bed, size_t i)
{
	struct philox_rows_desc options = PHILOX_INIT(struct philox_rows_desc);

	options.name = growth_name("table", i);
	options.count = 1;
	return philox_rows_create(bed->context, &options,
				  (struct philox_rows **)&bed->things[i]);
}

static enum philox_status make_tables(struct growth_bed *bed)
{
	return growth_each(bed, make_table);
}

static enum philox_status restart_table(struct growth_bed *bed, size_t i)
{
	return philox_rows_restart(bed->things[bed->order[i]], bed->stream);
}

static enum philox_status restart_tables(struct growth_bed *bed)
{
	return growth_each(bed, restart_table);
}

static enum philox_status destroy_table(struct growth_bed *bed, size_t i)
{
	return philox_rows_destroy(bed->things[i]);
}

static enum philox_status destroy_tables(struct growth_bed *bed)
{
	return growth_each(bed, destroy_table);
}

const struct growth_kind growth_states[] = {
	{"regions",
	 1000000,
	 {{"create", make_regions},
	  {"forward", forward_regions},
	  {"digest", digest},
	  {"save", growth_save},
	  {"backward", backward_regions},
	  {"load", growth_load},
	  {"destroy", destroy_regions}}},
	{"operators",
	 1000000,
	 {{"create", make_operators},
	  {"pass", pass_operators},
	  {"save", growth_save},
	  {"load", growth_load},
	  {"destroy", destroy_one_region}}},
	{"generators",
	 100000,
	 {{"create", make_generators},
	  {"seed", seed_generators},
	  {"save", growth_save},
	  {"load", growth_load},
	  {"destroy", destroy_generators}}},
	{"tickets",
	 1000000,
	 {{"forward", make_tickets},
	  {"digest", digest},
	  {"save", growth_save},
	  {"load", growth_load},
	  {"backward", use_tickets},
	  {"destroy", destroy_one_region}}},
	{"tables of rows",
	 100000,
	 {{"create", make_tables},
	  {"restart", restart_tables},
	  {"save", growth_save},
	  {"load", growth_load},
	  {"destroy", destroy_tables}}},
	{0}};
