/*
 * alloc/pool/ids.c - see alloc/pool/ids.h
 */
#include <stdatomic.h>
#include "alloc/pool/ids.h"

static atomic_uint_fast64_t issued;

uint64_t ids_issue(void)
{
	return atomic_fetch_add_explicit(&issued, 1, memory_order_relaxed) + 1;
}

uint64_t ids_last(void)
{
	return atomic_load_explicit(&issued, memory_order_relaxed);
}
