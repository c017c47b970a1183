/*
 * tools/train/model/pool.c - the arrays of a step, from a pool perhaps
 *
 * With --pool each run has a pool of its own: an array's memory is taken from
 * it where the array is made and freed where it is needed no more, eagerly or
 * in a capture, so that arrays whose times do not overlap share memory. Which
 * arrays have memory is noted with their pointers, since a session that is
 * rolled back and a checkpoint that is restored change both.
 */
#include <string.h>
#include <time.h>
#include "tools/train/model/model.h"

#define STEP      ((uint64_t)256 << 10) /* of growth: the arrays are small */
#define WAITS_MAX 5000                  /* of a millisecond */

static int pooled(const struct train_model *model)
{
	return model->pool.pool && !model->status;
}

/* --- arrays --------------------------------------------------------------- */

void *train_take(struct train_model *model, philox_stream stream, void *array,
		 size_t size, const char *tag)
{
	struct train_arrays *arrays = &model->arrays;
	struct philox_pool_block *block = &arrays->blocks[arrays->n_blocks];

	if (array || !pooled(model) || model->pool.held)
		return array;
	if (arrays->n_blocks == TRAIN_BLOCKS_MAX) {
		train_fail(model, "more than %d arrays", TRAIN_BLOCKS_MAX);
		return NULL;
	}
	train_check(model, philox_pool_alloc(model->pool.pool, stream, size, 0,
					     tag, block));
	if (model->status)
		return NULL;
	arrays->n_blocks++;
	return block->address;
}

static void drop_block(struct train_arrays *arrays, const void *array)
{
	for (size_t i = 0; i < arrays->n_blocks; i++) {
		if (arrays->blocks[i].address != array)
			continue;
		arrays->blocks[i] = arrays->blocks[--arrays->n_blocks];
		return;
	}
}

void *train_give(struct train_model *model, philox_stream stream, void *array)
{
	if (!pooled(model) || model->pool.held)
		return array;
	train_check(model, philox_pool_free(model->pool.pool, stream, array));
	drop_block(&model->arrays, array);
	return NULL;
}

/* --- all activations of a slot -------------------------------------------- */

/* One array; returns the one to keep instead. */
typedef void *array_visitor(struct train_model *model, void *array,
			    size_t size);

static void visit_arrays(struct train_model *model, unsigned slot,
			 array_visitor *visit)
{
	struct train_activations *a = train_activations(model, slot);

	for (int layer = 0; layer < TRAIN_DEPTH; layer++) {
		a->hidden[layer] =
			visit(model, a->hidden[layer], TRAIN_LAYER_SIZE);
		a->dropped[layer] =
			visit(model, a->dropped[layer], TRAIN_LAYER_SIZE);
		a->redrawn[layer] =
			visit(model, a->redrawn[layer], TRAIN_LAYER_SIZE);
		a->gradient[layer] =
			visit(model, a->gradient[layer], TRAIN_LAYER_SIZE);
	}
	a->words = visit(model, a->words, TRAIN_BATCH * sizeof(*a->words));
	a->logits = visit(model, a->logits,
			  TRAIN_BATCH * model->columns * sizeof(float));
	a->losses = visit(model, a->losses, TRAIN_BATCH * sizeof(float));
}

/* An array that has memory now. */
static void *forget_array(struct train_model *model, void *array, size_t size)
{
	if (!array)
		return NULL;
	train_set(model, array, 0xff, size);
	return train_give(model, model->stream, array);
}

void train_forget(struct train_model *model, unsigned slot)
{
	visit_arrays(model, slot, forget_array);
}

static void *take_array(struct train_model *model, void *array, size_t size)
{
	return train_take(model, model->stream, array, size, "micro-batch");
}

void train_hold(struct train_model *model, unsigned slot)
{
	visit_arrays(model, slot, take_array);
	model->pool.held = 1;
}

static void *give_array(struct train_model *model, void *array, size_t size)
{
	(void)size;
	return array ? train_give(model, model->stream, array) : NULL;
}

void train_release(struct train_model *model, unsigned slot)
{
	model->pool.held = 0;
	visit_arrays(model, slot, give_array);
}

/* --- the pool of a run ---------------------------------------------------- */

void train_pool_open(struct train_model *model)
{
	struct philox_pool_desc options = PHILOX_INIT(struct philox_pool_desc);

	if (!model->options->pool_given || model->status)
		return;
	options.name = "arrays of a step";
	options.step = STEP;
	if (model->options->pool == TRAIN_POOL_EXPANDABLE)
		options.flags = PHILOX_POOL_EXPANDABLE;
	train_check(model, philox_pool_create(model->context, &options,
					      &model->pool.pool));
}

/* CUDA says a little later that a graph is gone, see philox/pool.h. */
static enum philox_status destroy_pool(struct philox_pool *pool)
{
	const struct timespec moment = {.tv_nsec = 1000 * 1000};
	enum philox_status status = philox_pool_destroy(pool);

	for (int i = 0; status == PHILOX_ERROR_BUSY && i < WAITS_MAX; i++) {
		nanosleep(&moment, NULL);
		status = philox_pool_destroy(pool);
	}
	return status;
}

/* The device has finished, and no graph lives. */
void train_pool_close(struct train_model *model, struct train_result *result)
{
	struct train_pool *pool = &model->pool;
	struct train_arrays *arrays = &model->arrays;

	philox_pool_checkpoint_destroy(pool->checkpoint);
	for (size_t i = 0; i < arrays->n_blocks && pooled(model); i++)
		train_check(model, philox_pool_free(pool->pool, model->stream,
						    arrays->blocks[i].address));
	result->pool = PHILOX_INIT(struct philox_pool_stats);
	if (pooled(model))
		train_check(model,
			    philox_pool_get_stats(pool->pool, &result->pool));
	if (pool->pool) {
		train_check(model, destroy_pool(pool->pool));
		memset(arrays, 0, sizeof(*arrays));
	}
	memset(pool, 0, sizeof(*pool));
}

/* --- captures ------------------------------------------------------------- */

void train_pool_begin(struct train_model *model)
{
	struct train_pool *pool = &model->pool;

	if (!pooled(model))
		return;
	pool->before = model->arrays;
	train_check(model, philox_pool_session_begin(pool->pool, model->stream,
						     &pool->session));
}

/* A session is always ended, as the pool has one at a time. */
void train_pool_end(struct train_model *model, enum philox_status went)
{
	struct train_pool *pool = &model->pool;

	if (!pool->session)
		return;
	train_check(model, philox_pool_session_end(pool->session, went, NULL));
	pool->session = NULL;
	if (went != PHILOX_OK)
		model->arrays = pool->before;
}

/* --- between captures ----------------------------------------------------- */

void train_pool_mark(struct train_model *model)
{
	struct train_pool *pool = &model->pool;

	if (!pooled(model))
		return;
	train_check(model, philox_pool_checkpoint_create(pool->pool,
							 &pool->checkpoint));
	pool->marked = model->arrays;
}

/* All captures in between gave back what they took: nothing is to be dead. */
static void restore(struct train_model *model, const struct train_arrays *after)
{
	uint64_t ids[TRAIN_BLOCKS_MAX];

	for (size_t i = 0; i < after->n_blocks; i++)
		ids[i] = after->blocks[i].id;
	train_check(model, philox_pool_restore(model->pool.pool,
					       model->pool.checkpoint, ids,
					       after->n_blocks, NULL, 0));
	model->arrays = *after;
}

void train_pool_return(struct train_model *model)
{
	if (pooled(model))
		restore(model, &model->pool.marked);
}

void train_pool_return_gradients(struct train_model *model)
{
	const struct train_arrays *marked = &model->pool.marked;
	struct train_arrays after = {.gradients = marked->gradients};

	if (!pooled(model))
		return;
	for (size_t i = 0; i < marked->n_blocks; i++)
		if (marked->blocks[i].address == marked->gradients)
			after.blocks[after.n_blocks++] = marked->blocks[i];
	restore(model, &after);
}
