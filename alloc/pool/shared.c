/*
 * alloc/pool/shared.c - what a pool and its checkpoints share
 */
#include <stdlib.h>
#include "alloc/pool/inner.h"

struct shared *shared_create(void)
{
	struct shared *shared = calloc(1, sizeof(*shared));

	if (!shared)
		return NULL;
	shared->tags = tags_create();
	if (!shared->tags) {
		free(shared);
		return NULL;
	}
	atomic_init(&shared->holders, 1);
	return shared;
}

void shared_hold(struct shared *shared)
{
	atomic_fetch_add_explicit(&shared->holders, 1, memory_order_relaxed);
}

/* The last holder is alone. */
void shared_release(struct shared *shared)
{
	if (!shared || atomic_fetch_sub_explicit(&shared->holders, 1,
						 memory_order_acq_rel) != 1)
		return;
	shared_reclaim(shared);
	tags_destroy(shared->tags);
	free(shared);
}

void shared_end(struct pool_checkpoint *checkpoint)
{
	struct shared *shared = checkpoint->shared;

	checkpoint->next =
		atomic_load_explicit(&shared->ended, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(
		&shared->ended, &checkpoint->next, checkpoint,
		memory_order_release, memory_order_relaxed))
		;
	shared_release(shared);
}

void shared_reclaim(struct shared *shared)
{
	struct pool_checkpoint *checkpoint = atomic_exchange_explicit(
		&shared->ended, NULL, memory_order_acquire);
	struct pool_checkpoint *next;

	for (; checkpoint; checkpoint = next) {
		next = checkpoint->next;
		for (size_t i = 0; i < checkpoint->n; i++)
			tags_drop(shared->tags, checkpoint->blocks[i].tag);
		free(checkpoint);
	}
}
