/*
 * alloc/pool/check.h - the invariants of a pool, checked after each operation
 */
#ifndef ALLOC_POOL_CHECK_H
#define ALLOC_POOL_CHECK_H

#include "alloc/pool/inner.h"

/*
 * In builds with PHILOX_DEBUG check_now_and_then() calls pool_check(): each time
 * in a small pool, less often the more blocks there are; it ends the program if
 * an invariant does not hold. In other builds it does nothing.
 */
#ifdef PHILOX_DEBUG
void check_now_and_then(struct pool *pool);
#else
static inline void check_now_and_then(struct pool *pool)
{
	(void)pool;
}
#endif

#endif
