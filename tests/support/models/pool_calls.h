/*
 * tests/support/models/pool_calls.h - calls of a pool that only tests make
 */
#ifndef TESTS_SUPPORT_POOL_CALLS_H
#define TESTS_SUPPORT_POOL_CALLS_H

#include "alloc/pool/pool.h"

/* Frees the live block that begins at an address; writes what it was. */
enum philox_status put_at(struct pool *pool, void *address, uint32_t owner,
			  struct pool_block *was);

/* The live block of an id; 0: none. */
int find_id(const struct pool *pool, uint64_t id, struct pool_block *block);

#endif
