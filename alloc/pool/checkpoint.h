/*
 * alloc/pool/checkpoint.h - what a checkpoint holds
 *
 * Its blocks are sorted by place, as the list of blocks is, so that both are
 * gone through side by side.
 */
#ifndef ALLOC_POOL_CHECKPOINT_H
#define ALLOC_POOL_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>
#include "lib/containers/intern.h"

struct saved_block {
	uint64_t id, place, units, size;
	uint32_t session, tag;
};

struct pool_checkpoint {
	uint64_t serial; /* of the pool */
	uint64_t trims;  /* of it by then */
	struct tags *tags;
	size_t n;
	struct saved_block blocks[];
};

#endif
