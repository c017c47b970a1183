/*
 * tests/support/models/pool_calls.c - calls of a pool that only tests make
 */
#include "tests/support/models/pool_calls.h"

enum philox_status put_at(struct pool *pool, void *address, uint32_t owner,
			  struct pool_block *was)
{
	struct block *block = pool_locate(pool, address);

	if (!block)
		return PHILOX_ERROR_INVALID;
	pool_show(pool, block, was);
	return pool_put(pool, block, owner);
}

struct wanted {
	uint64_t id;
	struct pool_block *block;
	int found;
};

static void compare_id(void *user, const struct pool_block *block)
{
	struct wanted *wanted = user;

	if (!block->live || block->id != wanted->id)
		return;
	*wanted->block = *block;
	wanted->found = 1;
}

int find_id(const struct pool *pool, uint64_t id, struct pool_block *block)
{
	struct wanted wanted = {.id = id, .block = block};

	pool_walk_blocks(pool, compare_id, &wanted);
	return wanted.found;
}
