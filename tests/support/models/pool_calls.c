/*
 * tests/support/models/pool_calls.c - calls of a pool that only tests make
 */
#include "tests/support/models/pool_calls.h"

enum philox_status put_at(struct pool *pool, void *address, uint32_t owner,
			  struct pool_block *was)
{
	struct block *block = pool_locate(pool, address, was);

	return block ? pool_put(pool, block, owner) : PHILOX_ERROR_INVALID;
}
