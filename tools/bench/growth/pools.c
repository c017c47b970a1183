/*
 * tools/bench/growth/pools.c - blocks, graphs and streams of one pool
 */
#include "tools/bench/growth/growth.h"

static enum philox_status open_pool(struct growth_bed *bed)
{
	struct philox_pool_desc options = PHILOX_INIT(struct philox_pool_desc);

	options.name = "pool";
	return philox_pool_create(bed->context, &options, &bed->pool);
}

static enum philox_status close_pool(struct growth_bed *bed,
				     enum philox_status status)
{
	return status == PHILOX_OK ? philox_pool_destroy(bed->pool) : status;
}

/* Of 1 to 4 units, so that neighbours that are free are not all alike. */
static size_t bytes_of(size_t i)
{
	return 512 + philox_block(4, i, 0).w[0] % 4 * 512;
}

static enum philox_status alloc_on(struct growth_bed *bed, size_t i,
				   philox_stream stream)
{
	struct philox_pool_block block;
	enum philox_status status = philox_pool_alloc(
		bed->pool, stream, bytes_of(i), 0, "growth", &block);

	if (status != PHILOX_OK)
		return status;
	bed->things[i] = block.address;
	bed->ids[i] = block.id;
	return PHILOX_OK;
}

/* --- blocks --------------------------------------------------------------- */

static enum philox_status alloc_block(struct growth_bed *bed, size_t i)
{
	return alloc_on(bed, i, bed->stream);
}

static enum philox_status alloc_blocks(struct growth_bed *bed)
{
	enum philox_status status = open_pool(bed);

	return status == PHILOX_OK ? growth_each(bed, alloc_block) : status;
}

static enum philox_status find_block(struct growth_bed *bed, size_t i)
{
	struct philox_pool_block_info info = {.size = sizeof(info)};

	return philox_pool_find(bed->pool, bed->things[bed->order[i]], &info);
}

static enum philox_status find_blocks(struct growth_bed *bed)
{
	return growth_each(bed, find_block);
}

static enum philox_status free_block(struct growth_bed *bed, size_t i)
{
	return philox_pool_free(bed->pool, bed->stream,
				bed->things[bed->order[i]]);
}

/* One is freed, and one of another size takes its place. */
static enum philox_status replace_block(struct growth_bed *bed, size_t i)
{
	enum philox_status status = free_block(bed, i);

	return status == PHILOX_OK ? alloc_block(bed, bed->order[i]) : status;
}

static enum philox_status replace_blocks(struct growth_bed *bed)
{
	return growth_each(bed, replace_block);
}

/* All are freed after the checkpoint, so that all are brought back. */
static enum philox_status restore_blocks(struct growth_bed *bed)
{
	struct philox_pool_checkpoint *kept;
	enum philox_status status =
		philox_pool_checkpoint_create(bed->pool, &kept);

	if (status != PHILOX_OK)
		return status;
	status = growth_each(bed, free_block);
	if (status == PHILOX_OK)
		status = philox_pool_restore(bed->pool, kept, bed->ids, bed->n,
					     NULL, 0);
	philox_pool_checkpoint_destroy(kept);
	return status;
}

static enum philox_status picture(struct growth_bed *bed)
{
	return philox_pool_snapshot_text(bed->pool, &bed->text, &bed->bytes);
}

static enum philox_status free_blocks(struct growth_bed *bed)
{
	return close_pool(bed, growth_each(bed, free_block));
}

/* --- graphs of a pool ----------------------------------------------------- */

static enum philox_status record_block(struct growth_bed *bed, size_t i)
{
	struct philox_pool_session *session;
	struct philox_pool_block block;
	enum philox_status status =
		philox_pool_session_begin(bed->pool, bed->stream, &session);

	if (status == PHILOX_OK)
		status = philox_pool_alloc(bed->pool, bed->stream, bytes_of(i),
					   0, "growth", &block);
	if (status == PHILOX_OK)
		status = philox_pool_free(bed->pool, bed->stream,
					  block.address);
	return status == PHILOX_OK
		       ? philox_pool_session_end(session, status, NULL)
		       : status;
}

static enum philox_status record(struct growth_bed *bed, size_t i)
{
	enum philox_status status =
		philox_capture_begin(bed->context, bed->stream);

	if (status == PHILOX_OK)
		status = record_block(bed, i);
	if (status == PHILOX_OK)
		status = philox_capture_end(
			bed->context, bed->stream,
			(struct philox_graph **)&bed->things[i]);
	return status;
}

static enum philox_status record_all(struct growth_bed *bed)
{
	enum philox_status status = open_pool(bed);

	return status == PHILOX_OK ? growth_each(bed, record) : status;
}

static enum philox_status replay(struct growth_bed *bed, size_t i)
{
	return philox_graph_launch(bed->things[bed->order[i]], bed->stream,
				   NULL, 0);
}

static enum philox_status replay_all(struct growth_bed *bed)
{
	return growth_each(bed, replay);
}

static enum philox_status drop(struct growth_bed *bed, size_t i)
{
	return philox_graph_destroy(bed->things[i]);
}

static enum philox_status drop_all(struct growth_bed *bed)
{
	return close_pool(bed, growth_each(bed, drop));
}

/* --- streams of a pool ---------------------------------------------------- */

static enum philox_status take_on(struct growth_bed *bed, size_t i)
{
	enum philox_status status = philox_stream_create(
		bed->device, 0, (philox_stream *)&bed->others[i]);

	return status == PHILOX_OK ? alloc_on(bed, i, bed->others[i]) : status;
}

static enum philox_status take_on_streams(struct growth_bed *bed)
{
	enum philox_status status = open_pool(bed);

	return status == PHILOX_OK ? growth_each(bed, take_on) : status;
}

static enum philox_status free_on(struct growth_bed *bed, size_t i)
{
	const size_t k = bed->order[i];

	return philox_pool_free(bed->pool, bed->others[k], bed->things[k]);
}

static enum philox_status free_on_streams(struct growth_bed *bed)
{
	return growth_each(bed, free_on);
}

/* Each stream has again what it freed. */
static enum philox_status alloc_again(struct growth_bed *bed, size_t i)
{
	return alloc_on(bed, i, bed->others[i]);
}

static enum philox_status alloc_on_streams(struct growth_bed *bed)
{
	return growth_each(bed, alloc_again);
}

static enum philox_status give_stream(struct growth_bed *bed, size_t i)
{
	enum philox_status status =
		philox_pool_free(bed->pool, bed->others[i], bed->things[i]);

	return status == PHILOX_OK
		       ? philox_stream_destroy(bed->device, bed->others[i])
		       : status;
}

static enum philox_status give_streams(struct growth_bed *bed)
{
	return close_pool(bed, growth_each(bed, give_stream));
}

/* --- pools ---------------------------------------------------------------- */

static enum philox_status make_pool(struct growth_bed *bed, size_t i)
{
	struct philox_pool_desc options = PHILOX_INIT(struct philox_pool_desc);

	options.name = growth_name("pool", i);
	return philox_pool_create(bed->context, &options,
				  (struct philox_pool **)&bed->others[i]);
}

static enum philox_status make_pools(struct growth_bed *bed)
{
	return growth_each(bed, make_pool);
}

static enum philox_status destroy_pool(struct growth_bed *bed, size_t i)
{
	return philox_pool_destroy(bed->others[i]);
}

static enum philox_status destroy_pools(struct growth_bed *bed)
{
	return growth_each(bed, destroy_pool);
}

const struct growth_kind growth_pools[] = {
	{"blocks",
	 1000000,
	 {{"alloc", alloc_blocks},
	  {"find", find_blocks},
	  {"replace", replace_blocks},
	  {"restore", restore_blocks},
	  {"snapshot", picture},
	  {"free", free_blocks}}},
	{"graphs of a pool",
	 100000,
	 {{"capture", record_all},
	  {"launch", replay_all},
	  {"destroy", drop_all}}},
	{"streams of a pool",
	 100000,
	 {{"alloc", take_on_streams},
	  {"free", free_on_streams},
	  {"alloc again", alloc_on_streams},
	  {"destroy", give_streams}}},
	{"pools", /* each takes places of the kernel's, which has 65,530 */
	 10000,
	 {{"create", make_pools}, {"destroy", destroy_pools}}},
	{0}};
