/*
 * alloc/pool/memory.h - the calls that a pool makes to its device
 *
 * Those that map memory are made in relaxed mode, for captures may be in
 * progress, and are undone whole if they fail. Offsets in a segment are from an
 * address that is aligned to POOL_ALIGNMENT_MAX on every device, so that places
 * do not depend on addresses.
 */
#ifndef ALLOC_POOL_MEMORY_H
#define ALLOC_POOL_MEMORY_H

#include "alloc/pool/extents.h"

/* Reserves the addresses of an EXPANDABLE pool; writes space, base, range. */
enum philox_status memory_reserve(struct extents *extents, size_t bytes);
void memory_release(struct extents *extents);

/* Fills in the extent's addresses. */
enum philox_status memory_map(struct extents *extents, struct extent *extent);
enum philox_status memory_unmap(struct extents *extents, struct extent *extent);

#endif
