/*
 * graph/pool/create.c - pools: made, destroyed, counted
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/pool/pool.h"
#include "lib/base/base.h"
#include "lib/containers/list.h"
#include "lib/names/names.h"
#include "lib/state/state.h"

/* The sizes of the structs' first versions. */
#define OPTIONS_SIZE_FIRST OPTIONS_FIRST(struct philox_pool_desc, limit)
OPTIONS_NO_PADDING(struct philox_pool_desc, limit);
#define STATISTICS_SIZE_FIRST OPTIONS_FIRST(struct philox_pool_stats, waits)
OPTIONS_NO_PADDING(struct philox_pool_stats, waits);

#define POOL_FOR_OTHERS                                               \
	(PHILOX_POOL_RDMA | PHILOX_POOL_EXPORT | PHILOX_POOL_FABRIC | \
	 PHILOX_POOL_PEERS)
#define POOL_FLAGS                                                          \
	(PHILOX_POOL_EXPANDABLE | PHILOX_POOL_STRICT | PHILOX_POOL_GUARDS | \
	 PHILOX_POOL_FILL | PHILOX_POOL_UNMAP | POOL_FOR_OTHERS)

/* The flags of an expandable pool alone, by their names. */
static const struct {
	uint32_t flag;
	const char *name;
} expandable_flags[] = {
	{PHILOX_POOL_UNMAP, "PHILOX_POOL_UNMAP"},
	{PHILOX_POOL_RDMA, "PHILOX_POOL_RDMA"},
	{PHILOX_POOL_EXPORT, "PHILOX_POOL_EXPORT"},
	{PHILOX_POOL_FABRIC, "PHILOX_POOL_FABRIC"},
	{PHILOX_POOL_PEERS, "PHILOX_POOL_PEERS"},
};

_Static_assert(PHILOX_POOL_RDMA == SPACE_RDMA << 5 &&
		       PHILOX_POOL_EXPORT == SPACE_EXPORT << 5 &&
		       PHILOX_POOL_FABRIC == SPACE_FABRIC << 5 &&
		       PHILOX_POOL_PEERS == SPACE_PEERS << 5,
	       "traits of a space are flags of its pool");

/* --- making --------------------------------------------------------------- */

static enum philox_status check_expandable(
	const struct philox_pool_desc *options)
{
	const size_t n = sizeof(expandable_flags) / sizeof(expandable_flags[0]);

	if (options->flags & PHILOX_POOL_EXPANDABLE)
		return PHILOX_OK;
	for (size_t i = 0; i < n; i++)
		if (options->flags & expandable_flags[i].flag)
			return status_set(PHILOX_ERROR_INVALID,
					  "pool '%s': %s is for an expandable "
					  "pool",
					  options->name,
					  expandable_flags[i].name);
	return PHILOX_OK;
}

static enum philox_status check_options(const struct philox_pool_desc *options)
{
	enum philox_status status;

	if (!options->name || !*options->name)
		return status_set(PHILOX_ERROR_INVALID,
				  "pool options: name is %s",
				  options->name ? "empty" : "NULL");
	status = name_check(options->name, "pool options: name");
	if (status != PHILOX_OK)
		return status;
	if (strlen(options->name) >= sizeof(((struct philox_pool *)0)->name))
		return status_set(PHILOX_ERROR_INVALID,
				  "pool options: name has more than %zu bytes",
				  sizeof(((struct philox_pool *)0)->name) - 1);
	if (options->flags & ~(uint32_t)POOL_FLAGS)
		return status_set(PHILOX_ERROR_INVALID,
				  "pool '%s': flags is 0x%" PRIx32
				  ", but all that are known are 0x%x",
				  options->name, options->flags, POOL_FLAGS);
	if (options->range && !(options->flags & PHILOX_POOL_EXPANDABLE))
		return status_set(PHILOX_ERROR_INVALID,
				  "pool '%s': range is for an expandable pool",
				  options->name);
	status = check_expandable(options);
	if (status != PHILOX_OK)
		return status;
	return options_check_reserved("pool options", options->reserved);
}

/* Numbers that no size_t holds are above what any device has. */
static size_t bytes_of(uint64_t bytes)
{
	return bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes;
}

static enum philox_status create_blocks(struct philox_pool *pool,
					const struct philox_pool_desc *options)
{
	const struct pool_settings settings = {
		.kind = options->flags & PHILOX_POOL_EXPANDABLE
				? POOL_EXPANDABLE
				: POOL_PLAIN,
		.reserve = bytes_of(options->range),
		.step = bytes_of(options->step),
		.limit = bytes_of(options->limit),
		.traits = (options->flags & POOL_FOR_OTHERS) >> 5,
		.margin = options->flags & PHILOX_POOL_GUARDS ? POOL_UNIT : 0,
	};
	enum philox_status status =
		pool_create(pool_device(pool), &settings, &pool->blocks);

	if (status == PHILOX_OK)
		return PHILOX_OK;
	return status_prefix(status, "pool '%s': ", pool->name);
}

static void free_pool(struct philox_pool *pool)
{
	struct philox_pool_session *session;

	pool_forget_captures(pool);
	lifelines_put(pool->gone);
	map_finish(&pool->by_id);
	free(pool->session);
	for (size_t i = 0; i < POOL_ENDED; i++)
		free(pool->ended[i]);
	while ((session = pool->undone)) {
		pool->undone = session->next;
		free(session);
	}
	philox_event_destroy(pool_device(pool), pool->event);
	pool_destroy(pool->blocks);
	ranges_finish(&pool->put_away);
	ranges_finish(&pool->filled);
	ranges_finish(&pool->unfilled);
	pthread_cond_destroy(&pool->turned);
	pthread_mutex_destroy(&pool->lock);
	map_finish(&pool->by_stream);
	free(pool->joining);
	free(pool->streams);
	free(pool);
}

static enum philox_status no_memory(const char *name)
{
	return status_set(PHILOX_ERROR_MEMORY, "pool '%s': no memory for it",
			  name);
}

static enum philox_status make_pool(struct philox_context *context,
				    const struct philox_pool_desc *options,
				    struct philox_pool **out)
{
	struct philox_pool *pool = calloc(1, sizeof(*pool));
	enum philox_status status;

	if (!pool)
		return no_memory(options->name);
	pool->context = context;
	pool->flags = options->flags;
	pool->range = options->range;
	pool->step = options->step;
	pool->limit = options->limit;
	pool->marked = device_has_marks(context->device);
	pool->fills = (options->flags & PHILOX_POOL_FILL) != 0;
	if (options->flags & PHILOX_POOL_UNMAP)
		pool->unmap = pool_unmap_now;
	snprintf(pool->name, sizeof(pool->name), "%s", options->name);
	pool->gone = lifelines_create();
	status = pool->gone ? philox_event_create(context->device, &pool->event)
			    : no_memory(options->name);
	if (status == PHILOX_OK)
		status = create_blocks(pool, options);
	if (status != PHILOX_OK) {
		philox_event_destroy(context->device, pool->event);
		lifelines_put(pool->gone);
		free(pool);
		return status;
	}
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->turned, NULL);
	*out = pool;
	return PHILOX_OK;
}

static const char *name_of(const void *pool)
{
	return ((const struct philox_pool *)pool)->name;
}

/* And makes room for it. */
static enum philox_status check_name(struct graph_context *graphs,
				     const char *name)
{
	if (!names_reserve(&graphs->pool_names))
		return no_memory(name);
	if (!names_find(&graphs->pool_names, name, name_of))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_EXISTS,
			  "a pool of this context has the name '%s'", name);
}

static enum philox_status enlist_pool(struct graph_context *graphs,
				      struct philox_pool *pool)
{
	enum philox_status status;

	context_lock(graphs->context);
	pthread_mutex_lock(&graphs->pools_lock);
	status = check_name(graphs, pool->name);
	if (status == PHILOX_OK) {
		LIST_ADD(&graphs->pools, pool);
		map_put(&graphs->pool_names, names_key(pool->name), pool);
		journal_write(
			graphs->context, EVENT("pool-create", POOL_CREATE),
			journal_name(pool->name).text,
			pool->flags & PHILOX_POOL_EXPANDABLE ? "expandable"
							     : "plain");
	}
	pthread_mutex_unlock(&graphs->pools_lock);
	context_unlock(graphs->context);
	return status;
}

enum philox_status philox_pool_create(struct philox_context *context,
				      const struct philox_pool_desc *options,
				      struct philox_pool **pool)
{
	struct philox_pool_desc known;
	struct philox_pool *made = NULL;
	enum philox_status status;

	if (!context)
		return context_null(NULL, "context");
	if (!options || !pool)
		return context_null(context, options ? "pool" : "options");
	NEED_PROCESS(context);
	status = options_copy("pool options", options, options->size,
			      OPTIONS_SIZE_FIRST, sizeof(known), &known);
	if (status == PHILOX_OK)
		status = check_options(&known);
	if (status == PHILOX_OK)
		status = make_pool(context, &known, &made);
	if (status == PHILOX_OK)
		status = enlist_pool(context->graphs, made);
	if (status == PHILOX_OK)
		*pool = made;
	else if (made)
		free_pool(made);
	return context_report(context, status, NULL);
}

/* --- destroying ----------------------------------------------------------- */

static const char *graph_of(const struct pool_capture *capture, char *text,
			    size_t size)
{
	if (capture->graph)
		snprintf(text, size, "'%s'", capture->graph);
	else
		snprintf(text, size, "the graph of capture %" PRIu64,
			 capture->id);
	return text;
}

static enum philox_status check_no_users(struct philox_pool *pool)
{
	char graph[96];

	pool_settle(pool);
	pool_reap(pool);
	if (pool->session)
		return pool_is_idle(pool);
	if (pool->undone)
		return status_set(
			PHILOX_ERROR_BUSY,
			"pool '%s': a session that was rolled back "
			"has not been ended: see philox_pool_session_end()",
			pool->name);
	if (!pool->captures)
		return PHILOX_OK;
	return status_set(
		PHILOX_ERROR_BUSY,
		"pool '%s': %s, which was captured in it, lives; destroy that "
		"and all made from it first",
		pool->name, graph_of(pool->captures, graph, sizeof(graph)));
}

struct leak {
	struct pool_block first;
	uint64_t blocks, bytes;
};

static void see_leak(void *user, const struct pool_block *block)
{
	struct leak *leak = user;

	if (!block->live)
		return;
	if (!leak->blocks++)
		leak->first = *block;
	leak->bytes += block->size;
}

static void post_leaks(struct philox_pool *pool)
{
	struct leak leak = {.blocks = 0};

	pool_walk_blocks(pool->blocks, see_leak, &leak);
	if (leak.blocks)
		pool_post(
			pool, PHILOX_LOG_WARNING, "blocks left", leak.bytes, 0,
			"is destroyed with %" PRIu64 " live block%s of %" PRIu64
			" bytes, the first with tag '%s' and id %" PRIu64,
			leak.blocks, status_s(leak.blocks), leak.bytes,
			leak.first.tag, leak.first.id);
}

/* With the context's lock and that of the list. */
static enum philox_status unlink_pool(struct graph_context *graphs,
				      struct philox_pool *pool)
{
	enum philox_status status;

	pool_lock_both(pool);
	status = check_no_users(pool);
	pool_unlock_pool(pool);
	if (status != PHILOX_OK)
		return status;
	LIST_REMOVE(pool);
	map_remove(&graphs->pool_names, names_key(pool->name), pool);
	post_leaks(pool);
	journal_write(graphs->context, EVENT("pool-destroy", POOL),
		      journal_name(pool->name).text);
	return PHILOX_OK;
}

enum philox_status pool_remove(struct philox_pool *pool)
{
	struct philox_context *context = pool->context;
	enum philox_status status;

	NEED_PROCESS(context);
	context_lock(context);
	pthread_mutex_lock(&context->graphs->pools_lock);
	status = unlink_pool(context->graphs, pool);
	pthread_mutex_unlock(&context->graphs->pools_lock);
	context_unlock(context);
	if (status != PHILOX_OK)
		return pool_report(pool, status, 0);
	free_pool(pool);
	return context_report(context, PHILOX_OK, NULL);
}

enum philox_status philox_pool_destroy(struct philox_pool *pool)
{
	enum philox_status status;

	if (!pool)
		return PHILOX_OK;
	status = pool_refuse_owned(pool);
	return status == PHILOX_OK ? pool_remove(pool)
				   : pool_report(pool, status, 0);
}

void pools_finish(struct graph_context *graphs)
{
	struct philox_pool *pool;

	while ((pool = graphs->pools)) {
		graphs->pools = pool->next;
		post_leaks(pool);
		free_pool(pool);
	}
	map_finish(&graphs->pool_names);
	pthread_mutex_destroy(&graphs->pools_lock);
}

const char *philox_pool_name(const struct philox_pool *pool)
{
	return pool ? pool->name : "";
}

/* --- statistics ----------------------------------------------------------- */

struct pinned {
	uint64_t newest, bytes;
};

static void see_pinned(void *user, const struct pool_extent *extent)
{
	struct pinned *pinned = user;

	if (extent->number <= pinned->newest)
		pinned->bytes += extent->bytes;
}

void pool_count(struct philox_pool *pool, struct philox_pool_stats *stats)
{
	struct pinned pinned = {.newest = pool_pinned(pool)};
	struct pool_figures figures;

	pool_figures(pool->blocks, &figures);
	pool_walk_extents(pool->blocks, see_pinned, &pinned);
	*stats = (struct philox_pool_stats){
		.reserved = figures.reserved,
		.mapped = figures.mapped,
		.live = figures.live,
		.requested = figures.requested,
		.pinned = pinned.bytes,
		.largest_free = figures.largest_free,
		.mapped_peak = figures.mapped_peak,
		.live_peak = figures.live_peak,
		.blocks = figures.blocks,
		.graphs = pool->n_kept,
		.allocations = figures.allocations,
		.frees = figures.frees,
		.growths = figures.growths,
		.trims = figures.trims,
		.checkpoints = pool->checkpoints,
		.restores = figures.restores,
		.rollbacks = figures.undone,
		.waits = pool->waits,
	};
}

enum philox_status philox_pool_get_stats(struct philox_pool *pool,
					 struct philox_pool_stats *stats)
{
	struct philox_pool_stats found;
	enum philox_status status;

	if (!pool)
		return context_null(NULL, "pool");
	if (!stats)
		return context_null(pool->context, "stats");
	NEED_PROCESS(pool->context);
	status = options_check_room("stats", stats->size, STATISTICS_SIZE_FIRST,
				    sizeof(found));
	if (status != PHILOX_OK)
		return pool_report(pool, status, 0);
	pool_refresh(pool);
	pool_lock(pool);
	pool_settle(pool);
	pool_reap(pool);
	pool_count(pool, &found);
	pool_unlock(pool);
	options_write(stats, &found, sizeof(found));
	return pool_report(pool, PHILOX_OK, 0);
}
