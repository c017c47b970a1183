/*
 * graph/runner/function/uses.c - in which order recordings were used, what of
 * the pool each of them writes, and which of them were evicted
 */
#include <stdlib.h>
#include "graph/pool/pool.h"
#include "graph/runner/function/function.h"

/* --- the order of use ----------------------------------------------------- */

uint64_t function_calls(const struct philox_function *function)
{
	const struct philox_function_stats *counts = &function->counts;

	return counts->eager + counts->warmup + counts->record + counts->replay;
}

static struct use_list *list_of(const struct recording *recording, int which)
{
	return which == USE_OF_KEY ? &recording->key->by_use
				   : &recording->function->by_use;
}

static void put_newest(struct recording *recording, int which)
{
	struct use_list *list = list_of(recording, which);

	recording->links[which] = (struct use_links){NULL, list->newest};
	if (list->newest)
		list->newest->links[which].newer = recording;
	else
		list->oldest = recording;
	list->newest = recording;
}

static void take_out(struct recording *recording, int which)
{
	struct use_list *list = list_of(recording, which);
	struct use_links *links = &recording->links[which];

	if (links->newer)
		links->newer->links[which].older = links->older;
	else
		list->newest = links->older;
	if (links->older)
		links->older->links[which].newer = links->newer;
	else
		list->oldest = links->newer;
	*links = (struct use_links){0};
}

void use_begin(struct recording *recording)
{
	recording->key_call = recording->key->calls;
	recording->function_call = function_calls(recording->function);
	for (int which = 0; which < USE_LISTS; which++)
		put_newest(recording, which);
}

void use_again(struct recording *recording)
{
	use_end(recording);
	use_begin(recording);
}

void use_end(struct recording *recording)
{
	for (int which = 0; which < USE_LISTS; which++)
		take_out(recording, which);
}

/* --- extents of the pool -------------------------------------------------- */

/* What only this recording writes has become more, or less. */
static void count_alone(struct recording *recording, uint64_t more,
			uint64_t less)
{
	struct philox_function *function = recording->function;

	recording->alone += more - less;
	recording->key->recorded += more - less;
	function->counts.pool_bytes += more - less;
	function->counts.bytes += more - less;
}

static struct recording *only_user(const struct pool_use *use)
{
	return use->users == 1 ? (struct recording *)use->users_mixed : NULL;
}

static void change_user(struct pool_use *use, struct recording *recording,
			size_t users)
{
	struct recording *only = only_user(use);

	if (only)
		count_alone(only, 0, use->bytes);
	use->users = users;
	use->users_mixed ^= (uintptr_t)recording;
	only = only_user(use);
	if (only)
		count_alone(only, use->bytes, 0);
}

static void free_if_unused(struct philox_runner *runner, struct pool_use *use)
{
	if (use->users)
		return;
	map_remove(&runner->pool_uses, use->extent, use);
	free(use);
}

static struct pool_use *find_pool_use(struct philox_runner *runner,
				      const struct pool_extent *extent)
{
	struct pool_use *use = map_value(&runner->pool_uses, extent->number);

	if (use ||
	    !map_reserve(&runner->pool_uses, runner->pool_uses.count + 1))
		return use;
	use = calloc(1, sizeof(*use));
	if (!use)
		return NULL;
	use->extent = extent->number;
	use->bytes = extent->bytes;
	map_put(&runner->pool_uses, use->extent, use);
	return use;
}

static int put_pool_use(struct recording *recording, size_t *room,
			const struct pool_extent *extent)
{
	const size_t n = recording->n_pool_uses;
	struct pool_use *use;

	if (n && recording->pool_uses[n - 1]->extent == extent->number)
		return 1;
	if (runner_room(&recording->pool_uses, room, n + 1,
			sizeof(struct pool_use *)) != PHILOX_OK)
		return 0;
	use = find_pool_use(recording->function->runner, extent);
	if (use)
		recording->pool_uses[recording->n_pool_uses++] = use;
	return use != NULL;
}

/* Extents that neighbour may lie in any order; ranges are in order. */
static int put_pool_uses(struct recording *recording, size_t *room,
			 struct range range)
{
	const struct pool *pool = recording->function->runner->pool->blocks;
	struct pool_extent extent;

	while (range.begin < range.end) {
		if (!pool_extent_at(pool, (const void *)range.begin, &extent))
			return 1;
		if (!put_pool_use(recording, room, &extent))
			return 0;
		range.begin = (uintptr_t)extent.address + extent.bytes;
	}
	return 1;
}

/* With the pool's lock. */
int pool_uses_reserve(struct recording *recording)
{
	size_t room = 0;
	int whole = 1;

	for (size_t i = 0; whole && i < recording->n_ranges; i++)
		whole = put_pool_uses(recording, &room, recording->ranges[i]);
	return whole;
}

void pool_uses_begin(struct recording *recording)
{
	for (size_t i = 0; i < recording->n_pool_uses; i++)
		change_user(recording->pool_uses[i], recording,
			    recording->pool_uses[i]->users + 1);
}

void pool_uses_end(struct recording *recording)
{
	for (size_t i = 0; i < recording->n_pool_uses; i++)
		change_user(recording->pool_uses[i], recording,
			    recording->pool_uses[i]->users - 1);
	pool_uses_free(recording);
}

void pool_uses_free(struct recording *recording)
{
	for (size_t i = 0; i < recording->n_pool_uses; i++)
		free_if_unused(recording->function->runner,
			       recording->pool_uses[i]);
	recording->n_pool_uses = 0;
	free(recording->pool_uses);
	recording->pool_uses = NULL;
}

void pool_uses_finish(struct philox_runner *runner)
{
	map_finish(&runner->pool_uses);
}

/* --- recordings that were evicted ----------------------------------------- */

const char *evicted_find(const struct philox_function *function, uint64_t hash)
{
	for (size_t i = 0; i < EVICTED_CALLS; i++)
		if (function->evicted[i].why &&
		    function->evicted[i].hash == hash)
			return function->evicted[i].why;
	return NULL;
}

void evicted_forget(struct philox_function *function, uint64_t hash)
{
	for (size_t i = 0; i < EVICTED_CALLS; i++)
		if (function->evicted[i].hash == hash)
			function->evicted[i] = (struct evicted_call){0};
}
