/*
 * graph/pool/steps.c - what captures do to a pool, for texts
 */
#include <stdlib.h>
#include <string.h>
#include "graph/pool/pool.h"
#include "lib/containers/array.h"

/* A capture begins with its first pass or parameter. */
static void place_step(struct philox_context *context, uint64_t id,
		       struct pool_step *step)
{
	const struct capture *capture;

	context_lock(context);
	capture = capture_find(context->graphs, id);
	step->after = capture ? capture->program.n : 0;
	step->order = ++context->graphs->pool_steps;
	context_unlock(context);
}

static void add_step(struct pool_steps *steps, const struct pool_step *step)
{
	struct pool_step *made = NULL;

	if (!steps->lost && steps->n < PROGRAM_MOST)
		made = array_grow(&steps->items, steps->n, 1, sizeof(*made));
	if (!made) {
		steps->lost++;
		return;
	}
	*made = *step;
	steps->n++;
}

void pool_step_note(struct philox_pool *pool, const struct capture_info *info,
		    enum program_kind kind, const struct pool_block *block,
		    size_t alignment)
{
	struct pool_capture *capture;
	struct pool_step step;

	if (!info->id || pool->runner)
		return;
	step = (struct pool_step){.kind = (uint8_t)kind,
				  .alignment = alignment,
				  .block = *block,
				  .pool = pool};
	place_step(pool->context, info->id, &step);
	pthread_mutex_lock(&pool->lock);
	capture = pool->session ? pool->session->capture : NULL;
	if (capture && capture->id == info->id)
		add_step(&capture->steps, &step);
	pthread_mutex_unlock(&pool->lock);
}

/* --- of a graph ----------------------------------------------------------- */

static int append_steps(const struct pool_steps *from, struct pool_steps *to)
{
	struct pool_step *made;

	to->lost += from->lost;
	if (!from->n)
		return 1;
	made = array_grow(&to->items, to->n, from->n, sizeof(*made));
	if (!made)
		return 0;
	memcpy(made, from->items, from->n * sizeof(*made));
	to->n += from->n;
	return 1;
}

static int by_order(const void *one, const void *other)
{
	const struct pool_step *a = one, *b = other;

	return (a->order > b->order) - (a->order < b->order);
}

int pool_steps_copy(const struct pool_capture *pools, struct pool_steps *to)
{
	int whole = 1;

	for (; whole && pools; pools = pools->sibling) {
		pthread_mutex_lock(&pools->pool->lock);
		whole = append_steps(&pools->steps, to);
		pthread_mutex_unlock(&pools->pool->lock);
	}
	if (to->n)
		qsort(to->items, to->n, sizeof(*to->items), by_order);
	return whole;
}
