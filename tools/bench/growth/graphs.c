/*
 * tools/bench/growth/graphs.c - graphs, captures in progress, streams
 */
#include "tools/bench/growth/growth.h"

static enum philox_status open_region(struct growth_bed *bed)
{
	return bed->region ? PHILOX_OK
			   : growth_region(bed, "region", bed->n, NULL,
					   &bed->region);
}

static enum philox_status close_region(struct growth_bed *bed,
				       enum philox_status status)
{
	return status == PHILOX_OK ? philox_region_destroy(bed->region)
				   : status;
}

static enum philox_status forward_on(struct growth_bed *bed, philox_stream stream)
{
	struct philox_ticket ticket;
	struct philox_pass pass;
	enum philox_status status =
		philox_forward_begin(bed->region, stream, 0, &pass);

	if (status == PHILOX_OK)
		status = philox_pass_commit(&pass, 0, &ticket);
	return status;
}

/* --- graphs --------------------------------------------------------------- */

static enum philox_status capture(struct growth_bed *bed, size_t i)
{
	enum philox_status status =
		philox_capture_begin(bed->context, bed->stream);

	if (status == PHILOX_OK)
		status = forward_on(bed, bed->stream);
	if (status == PHILOX_OK)
		status = philox_capture_end(
			bed->context, bed->stream,
			(struct philox_graph **)&bed->things[i]);
	return status;
}

static enum philox_status capture_all(struct growth_bed *bed)
{
	enum philox_status status = open_region(bed);

	return status == PHILOX_OK ? growth_each(bed, capture) : status;
}

static enum philox_status launch(struct growth_bed *bed, size_t i)
{
	struct philox_launch_pass pass = {0};
	struct philox_graph *graph = bed->things[bed->order[i]];
	enum philox_status status =
		philox_graph_launch(graph, bed->stream, &pass, 1);

	bed->tickets[i] = pass.ticket;
	return status;
}

static enum philox_status launch_all(struct growth_bed *bed)
{
	return growth_each(bed, launch);
}

static enum philox_status release(struct growth_bed *bed, size_t i)
{
	return philox_ticket_release(bed->region, bed->stream,
				     bed->tickets[i]);
}

static enum philox_status release_all(struct growth_bed *bed)
{
	return growth_each(bed, release);
}

/* The oldest first. */
static enum philox_status destroy(struct growth_bed *bed, size_t i)
{
	return philox_graph_destroy(bed->things[i]);
}

static enum philox_status destroy_all(struct growth_bed *bed)
{
	return close_region(bed, growth_each(bed, destroy));
}

/* --- captures that are in progress at once -------------------------------- */

static enum philox_status begin_one(struct growth_bed *bed, size_t i)
{
	enum philox_status status = philox_stream_create(
		bed->device, 0, (philox_stream *)&bed->others[i]);

	if (status == PHILOX_OK)
		status = philox_capture_begin(bed->context, bed->others[i]);
	return status == PHILOX_OK ? forward_on(bed, bed->others[i]) : status;
}

static enum philox_status begin_all(struct growth_bed *bed)
{
	enum philox_status status = open_region(bed);

	return status == PHILOX_OK ? growth_each(bed, begin_one) : status;
}

static enum philox_status end_one(struct growth_bed *bed, size_t i)
{
	const size_t k = bed->order[i];
	enum philox_status status = philox_capture_end(
		bed->context, bed->others[k],
		(struct philox_graph **)&bed->things[k]);

	if (status == PHILOX_OK)
		status = philox_stream_destroy(bed->device, bed->others[k]);
	return status;
}

static enum philox_status end_all(struct growth_bed *bed)
{
	return growth_each(bed, end_one);
}

/* --- streams -------------------------------------------------------------- */

static enum philox_status make_stream(struct growth_bed *bed, size_t i)
{
	return philox_stream_create(bed->device, 0,
				    (philox_stream *)&bed->things[i]);
}

static enum philox_status make_streams(struct growth_bed *bed)
{
	enum philox_status status = open_region(bed);

	return status == PHILOX_OK ? growth_each(bed, make_stream) : status;
}

static enum philox_status use_stream(struct growth_bed *bed, size_t i)
{
	philox_stream stream = bed->things[bed->order[i]];
	struct philox_ticket *ticket = &bed->tickets[i];
	struct philox_pass pass;
	uint32_t bits[4];
	enum philox_status status =
		philox_forward_begin(bed->region, stream, 0, &pass);
	const struct philox_fill_desc fill = {.size = sizeof(fill),
					      .dist = PHILOX_DIST_BITS,
					      .dtype = PHILOX_DTYPE_U32,
					      .span = {.count = 4},
					      .out = bits};

	if (status == PHILOX_OK)
		status = philox_pass_fill(&pass, 0, 0, &fill);
	if (status == PHILOX_OK)
		status = philox_pass_commit(&pass, 0, ticket);
	return status;
}

static enum philox_status use_streams(struct growth_bed *bed)
{
	return growth_each(bed, use_stream);
}

static enum philox_status leave_stream(struct growth_bed *bed, size_t i)
{
	return philox_ticket_release(bed->region, bed->things[i],
				     bed->tickets[bed->n - 1 - i]);
}

static enum philox_status leave_streams(struct growth_bed *bed)
{
	return growth_each(bed, leave_stream);
}

static enum philox_status destroy_stream(struct growth_bed *bed, size_t i)
{
	return philox_stream_destroy(bed->device, bed->things[i]);
}

static enum philox_status destroy_streams(struct growth_bed *bed)
{
	return close_region(bed, growth_each(bed, destroy_stream));
}

const struct growth_kind growth_graphs[] = {
	{"graphs",
	 100000,
	 {{"capture", capture_all},
	  {"launch", launch_all},
	  {"release", release_all},
	  {"save", growth_save},
	  {"destroy", destroy_all}}},
	{"captures",
	 100000,
	 {{"begin", begin_all}, {"end", end_all}, {"destroy", destroy_all}}},
	{"streams",
	 100000,
	 {{"create", make_streams},
	  {"forward", use_streams},
	  {"release", leave_streams},
	  {"destroy", destroy_streams}}},
	{0}};
