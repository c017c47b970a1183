/*
 * alloc/pool/extents.h - the mapped memory of a pool
 *
 * Where it lies, how the pool grows, and what is given back. Of a pool with one
 * endless extent (EXTENTS_ENDLESS) there is no memory: it grows by what is
 * needed, without calls to a device (alloc/pool/session.h).
 */
#ifndef ALLOC_POOL_EXTENTS_H
#define ALLOC_POOL_EXTENTS_H

#include <stddef.h>
#include <stdint.h>
#include "alloc/pool/blocks.h"
#include "alloc/pool/fit.h"

enum extents_kind { EXTENTS_PLAIN, EXTENTS_EXPANDABLE, EXTENTS_ENDLESS };

struct extent {
	uint64_t number;
	uint64_t place, units;
	char *address;
	void *memory; /* PLAIN: what the device gave */
	struct extent *older, *newer;
};

struct extents {
	struct philox_device *device;
	enum extents_kind kind;
	uint64_t step, limit; /* units; limit UINT64_MAX: none */
	uint64_t granularity; /* units */
	void *space;          /* EXPANDABLE: as reserved */
	char *base;           /* the same, aligned; its first unit is place 0 */
	uint64_t range;       /* units from there on */
	struct index by_place, by_address;
	struct extent *oldest, *newest;
	uint64_t last_number;
	uint64_t units, units_peak;
	uint64_t growths, grown; /* times, units, over its life */
	uint64_t trims;
};

enum philox_status extents_init(struct extents *extents,
				struct philox_device *device,
				const struct pool_settings *settings);
void extents_init_endless(struct extents *extents);

/* Gives everything back to the device. */
void extents_finish(struct extents *extents);

/*
 * Maps an extent, so that the request fits, which does not; the memory belongs
 * to `owner`. pre: the blocks have room for two more free ones.
 */
enum philox_status extents_grow(struct extents *extents, struct blocks *blocks,
				const struct fit_need *need, uint32_t owner,
				uint64_t *units);

/*
 * Gives a wholly free extent back. pre: the blocks have room for one more free
 * one.
 */
enum philox_status extents_unmap(struct extents *extents, struct blocks *blocks,
				 struct extent *extent);

/* The extent that a place or an address is in; NULL: none. */
const struct extent *extents_at(const struct extents *extents, uint64_t place);
const struct extent *extents_holding(const struct extents *extents,
				     const void *address);

/*
 * Whether an address is the beginning of a unit of the pool, and its place; in
 * an expandable pool it need not be mapped.
 */
int extents_place(const struct extents *extents, const void *address,
		  uint64_t *place);

/* The address of a place that is mapped. */
char *extents_address(const struct extents *extents, uint64_t place);

/* "1 extent of ...": NULL, or which invariant does not hold. */
const char *extents_check(const struct extents *extents, size_t *nodes);

#endif
