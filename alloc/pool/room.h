/*
 * alloc/pool/room.h - room for changes of a pool's blocks, made before them
 */
#ifndef ALLOC_POOL_ROOM_H
#define ALLOC_POOL_ROOM_H

#include <stddef.h>
#include "alloc/pool/blocks.h"

/*
 * Makes room for so many more free and live blocks, and extents. 0: no memory.
 */
int room_reserve(struct blocks *blocks, size_t more_free, size_t more_live,
		 size_t more_extents);

/* Nodes and pages that suffice for so many more blocks, and extents. */
size_t room_nodes(const struct blocks *blocks, size_t more,
		  size_t more_extents);
size_t room_pages(const struct blocks *blocks, size_t more);

#endif
