/*
 * graph/runner/state/live.c - which memory of a runner's pool holds outputs
 *
 * See Note [Runner] in graph/runner/state/state.h.
 */
#include <stdlib.h>
#include <string.h>
#include "graph/pool/pool.h"
#include "graph/runner/state/state.h"

struct range live_range(const struct philox_runner *runner,
			      const void *address, size_t bytes)
{
	const uintptr_t margin = runner->guards ? POOL_UNIT : 0;
	const uintptr_t begin = (uintptr_t)address;
	const uintptr_t taken = (bytes + POOL_UNIT - 1) / POOL_UNIT * POOL_UNIT;

	return (struct range){begin - margin, begin + taken + margin};
}

/* --- live blocks ------------------------------------------------------------ */

/* Where a block of an id is, or would be. */
static size_t live_place(const struct philox_runner *runner, uint64_t id)
{
	size_t low = 0, high = runner->n_live;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (runner->live[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct live_block *live_find(const struct philox_runner *runner,
				   uint64_t id)
{
	size_t place = live_place(runner, id);

	return place < runner->n_live && runner->live[place].id == id
		       ? &runner->live[place]
		       : NULL;
}

/* How many live blocks begin at an address or before it. */
static size_t live_until(const struct philox_runner *runner, uintptr_t address)
{
	size_t low = 0, high = runner->n_live;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (runner->begins[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Live blocks do not overlap, and neither do their margins. */
const struct live_block *live_at(const struct philox_runner *runner,
				 const void *address)
{
	const uintptr_t at = (uintptr_t)address;
	const size_t place = live_until(runner, at);
	const struct live_block *block =
		place ? live_find(runner, runner->begins[place - 1].id)
		      : NULL;

	return block && at < block->range.end ? block : NULL;
}

enum philox_status live_reserve(struct philox_runner *runner, size_t n)
{
	enum philox_status status =
		runner_room(&runner->live, &runner->live_room, n,
			    sizeof(*runner->live));

	if (status != PHILOX_OK)
		return status;
	return runner_room(&runner->begins, &runner->begin_room, n,
			   sizeof(*runner->begins));
}

/* Before `n_live` counts it. */
static void enter_begin(struct philox_runner *runner, uintptr_t begin,
			uint64_t id)
{
	const size_t place = live_until(runner, begin);
	struct live_begin *entered = &runner->begins[place];

	memmove(entered + 1, entered,
		(runner->n_live - place) * sizeof(*entered));
	*entered = (struct live_begin){begin, id};
}

static void leave_begin(struct philox_runner *runner, uintptr_t begin)
{
	const size_t next = live_until(runner, begin);
	struct live_begin *left = &runner->begins[next - 1];

	memmove(left, left + 1, (runner->n_live - next) * sizeof(*left));
}

static void add_slot(struct live_block *block, struct output_slot *slot)
{
	block->refs++;
	slot->beside = block->slots;
	block->slots = slot;
}

void live_hold(struct output_slot *slot, const struct output_place *place)
{
	struct philox_runner *runner = slot->function->runner;
	size_t at = live_place(runner, place->id);
	struct live_block *block = &runner->live[at];
	uintptr_t begin;

	if (at < runner->n_live && block->id == place->id) {
		add_slot(block, slot);
		return;
	}
	begin = place->range.begin + (runner->guards ? POOL_UNIT : 0);
	enter_begin(runner, begin, place->id);
	memmove(block + 1, block, (runner->n_live - at) * sizeof(*block));
	runner->n_live++;
	*block = (struct live_block){.id = place->id,
				     .range = place->range,
				     .begin = begin,
				     .bytes = place->block_bytes,
				     .from = place->from};
	add_slot(block, slot);
	pool_mark_used(runner->pool, place->range);
	if (place->from)
		runner->unsettled = 1;
}

struct range live_let_go(struct output_slot *slot)
{
	struct philox_runner *runner = slot->function->runner;
	size_t at = live_place(runner, slot->handle.id);
	struct live_block *block = &runner->live[at];
	const struct range range = block->range;
	struct output_slot **link = &block->slots;

	while (*link != slot)
		link = &(*link)->beside;
	*link = slot->beside;
	if (--block->refs)
		return (struct range){0};
	leave_begin(runner, block->begin);
	runner->n_live--;
	memmove(block, block + 1, (runner->n_live - at) * sizeof(*block));
	runner->unsettled = 1;
	return range;
}

/* --- ranges ----------------------------------------------------------------- */

static int by_begin(const void *one, const void *other)
{
	const struct range *a = one, *b = other;

	return (a->begin > b->begin) - (a->begin < b->begin);
}

size_t live_join(struct range *ranges, size_t n)
{
	size_t joined = 0;

	if (!n)
		return 0;
	qsort(ranges, n, sizeof(*ranges), by_begin);
	for (size_t i = 1; i < n; i++) {
		if (ranges[i].begin > ranges[joined].end)
			ranges[++joined] = ranges[i];
		else if (ranges[i].end > ranges[joined].end)
			ranges[joined].end = ranges[i].end;
	}
	return joined + 1;
}

/* Whether a range meets one of several that are in order. */
static int meets(const struct range *ranges, size_t n,
		 struct range range)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges[middle].end <= range.begin)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && ranges[low].begin < range.end;
}

const struct live_block *live_meets(const struct philox_runner *runner,
				    const struct range *ranges, size_t n)
{
	if (!n)
		return NULL;
	for (size_t i = 0; i < runner->n_live; i++)
		if (runner->live[i].range.begin < ranges[n - 1].end &&
		    runner->live[i].range.end > ranges[0].begin &&
		    meets(ranges, n, runner->live[i].range))
			return &runner->live[i];
	return NULL;
}

/* --- the pool's view --------------------------------------------------------- */

/* What a restore of the pool is made from. */
struct settling {
	const struct philox_runner *runner;
	const struct pool_checkpoint **parts; /* the pool as it is, first */
	size_t n_parts;
	uint64_t *live;
	uint64_t *dead;
	size_t n_dead, dead_room;
};

static void see_block(void *user, const struct pool_block *block)
{
	struct settling *settling = user;

	if (block->live && !live_find(settling->runner, block->id) &&
	    settling->n_dead < settling->dead_room)
		settling->dead[settling->n_dead++] = block->id;
}

static enum philox_status list_blocks(struct philox_runner *runner,
				      struct settling *settling)
{
	struct pool_figures figures;

	pool_figures(runner->pool->blocks, &figures);
	settling->dead_room = figures.blocks;
	settling->parts = calloc(runner->n_live + 1, sizeof(*settling->parts));
	settling->live = calloc(runner->n_live + 1, sizeof(uint64_t));
	settling->dead = calloc(figures.blocks + 1, sizeof(uint64_t));
	if (!settling->parts || !settling->live || !settling->dead)
		return status_set(PHILOX_ERROR_MEMORY,
				  "runner '%s': no memory to restore its pool",
				  runner->name);
	runner->settlings++;
	for (size_t i = 0; i < runner->n_live; i++) {
		struct recording *from = runner->live[i].from;

		settling->live[i] = runner->live[i].id;
		if (!from || from->settled == runner->settlings)
			continue;
		from->settled = runner->settlings;
		settling->parts[++settling->n_parts] = from->checkpoint;
	}
	pool_walk_blocks(runner->pool->blocks, see_block, settling);
	return PHILOX_OK;
}

/* With the pool's lock. */
static enum philox_status restore_pool(struct philox_runner *runner,
				       struct settling *settling)
{
	struct pool_checkpoint *now = NULL, *joined = NULL;
	struct pool_ids ids = {.live = settling->live,
			       .n_live = runner->n_live};
	enum philox_status status = pool_keep_blocks(runner->pool, &now);

	if (status == PHILOX_OK)
		status = list_blocks(runner, settling);
	if (status != PHILOX_OK)
		goto free_now;
	settling->parts[0] = now;
	ids.live = settling->live;
	ids.dead = settling->dead;
	ids.n_dead = settling->n_dead;
	status = pool_checkpoint_join(settling->parts, settling->n_parts + 1,
				      ids.live, ids.n_live, &joined);
	if (status == PHILOX_OK)
		status = pool_put_back(runner->pool, joined, &ids);
	pool_checkpoint_free(joined);
free_now:
	pool_checkpoint_free(now);
	return status;
}

enum philox_status function_settle(struct philox_function *function)
{
	const uint64_t began = runner_time();
	enum philox_status status = live_settle(function->runner);

	function->counts.restore_ns += runner_time() - began;
	return status;
}

enum philox_status live_settle(struct philox_runner *runner)
{
	struct settling settling = {.runner = runner};
	enum philox_status status = session_end_stuck(&runner->stuck);

	if (status != PHILOX_OK)
		return status;
	if (!runner->unsettled)
		return PHILOX_OK;
	pool_lock(runner->pool);
	status = restore_pool(runner, &settling);
	pool_unlock(runner->pool);
	free(settling.parts);
	free(settling.live);
	free(settling.dead);
	if (status != PHILOX_OK)
		return status;
	for (size_t i = 0; i < runner->n_live; i++)
		runner->live[i].from = NULL;
	runner->unsettled = 0;
	pool_unmap_free(runner->pool);
	return PHILOX_OK;
}
