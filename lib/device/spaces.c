/*
 * lib/device/spaces.c - which addresses are reserved, and what is mapped there
 */
#include <stdlib.h>
#include <string.h>
#include "lib/base/base.h"
#include "lib/containers/array.h"
#include "lib/device/device.h"

/* --- spaces --------------------------------------------------------------- */

static enum philox_status refuse_unit(const struct spaces *spaces,
				      const char *what, const char *noun,
				      size_t value)
{
	return status_set(PHILOX_ERROR_INVALID,
			  "%s: %s is %zu, which is no multiple of %zu", what,
			  noun, value, spaces->granularity);
}

enum philox_status spaces_may_reserve(const struct spaces *spaces, size_t bytes)
{
	if (bytes % spaces->granularity)
		return refuse_unit(spaces, "space_reserve", "size", bytes);
	return PHILOX_OK;
}

struct space *spaces_add(struct spaces *spaces, void *base, size_t bytes)
{
	struct space *space = calloc(1, sizeof(*space));

	if (!space)
		return NULL;
	space->base = base;
	space->size = bytes;
	space->next = spaces->first;
	spaces->first = space;
	return space;
}

void spaces_remove(struct spaces *spaces, struct space *space)
{
	struct space **link = &spaces->first;

	while (*link != space)
		link = &(*link)->next;
	*link = space->next;
	free(space->extents);
	free(space);
}

static enum philox_status find_space(const struct spaces *spaces,
				     const void *base, const char *what,
				     struct space **found)
{
	struct space *space = spaces->first;

	while (space && space->base != base)
		space = space->next;
	if (!space)
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: no space begins at %p", what, base);
	*found = space;
	return PHILOX_OK;
}

/* --- extents -------------------------------------------------------------- */

/* How many extents begin before an offset. */
static size_t extents_before(const struct space *space, size_t offset)
{
	size_t low = 0, high = space->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (space->extents[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The first extent that has a byte of [offset, + bytes), or NULL. */
static const struct space_extent *first_in(const struct space *space,
					   size_t offset, size_t bytes)
{
	size_t i = extents_before(space, offset);
	const struct space_extent *extent = space->extents + i;

	if (i && offset - extent[-1].offset < extent[-1].size)
		return extent - 1;
	if (i < space->count && extent->offset - offset < bytes)
		return extent;
	return NULL;
}

/* Finds the space, of which [offset, + bytes) is to be a part. */
static enum philox_status find_part(const struct spaces *spaces,
				    const void *base, size_t offset,
				    size_t bytes, const char *what,
				    struct space **space)
{
	enum philox_status status = find_space(spaces, base, what, space);

	if (status != PHILOX_OK)
		return status;
	if (offset % spaces->granularity)
		return refuse_unit(spaces, what, "offset", offset);
	if (bytes % spaces->granularity)
		return refuse_unit(spaces, what, "size", bytes);
	if (offset > (*space)->size || bytes > (*space)->size - offset)
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: %zu bytes from offset %zu on are not in "
				  "the space, which has %zu",
				  what, bytes, offset, (*space)->size);
	return PHILOX_OK;
}

enum philox_status spaces_may_map(const struct spaces *spaces, const void *base,
				  size_t offset, size_t bytes,
				  struct space **space)
{
	static const char what[] = "space_map";
	enum philox_status status =
		find_part(spaces, base, offset, bytes, what, space);
	const struct space_extent *extent;

	if (status != PHILOX_OK)
		return status;
	extent = first_in(*space, offset, bytes);
	if (extent)
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: of %zu bytes from offset %zu on some "
				  "are mapped: there are %zu from %zu on",
				  what, bytes, offset, extent->size,
				  extent->offset);
	if (!array_grow(&(*space)->extents, (*space)->count, 1,
			sizeof(*extent)))
		return status_set(PHILOX_ERROR_MEMORY,
				  "%s: no memory of the host for %zu extents",
				  what, (*space)->count + 1);
	return PHILOX_OK;
}

enum philox_status spaces_may_unmap(const struct spaces *spaces,
				    const void *base, size_t offset,
				    size_t bytes, struct space **space)
{
	static const char what[] = "space_unmap";
	enum philox_status status =
		find_part(spaces, base, offset, bytes, what, space);
	const struct space_extent *extent;

	if (status != PHILOX_OK)
		return status;
	extent = first_in(*space, offset, bytes);
	if (!extent)
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: of %zu bytes from offset %zu on none "
				  "is mapped",
				  what, bytes, offset);
	if (extent->offset != offset || extent->size != bytes)
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: %zu bytes from offset %zu on were not "
				  "mapped as one extent: there are %zu from "
				  "%zu on",
				  what, bytes, offset, extent->size,
				  extent->offset);
	return PHILOX_OK;
}

enum philox_status spaces_may_release(const struct spaces *spaces,
				      const void *base, struct space **space)
{
	enum philox_status status =
		find_space(spaces, base, "space_release", space);

	if (status != PHILOX_OK || !(*space)->count)
		return status;
	return status_set(PHILOX_ERROR_STATE,
			  "space_release: %zu extent%s of the space %s still "
			  "mapped, the first from offset %zu on",
			  (*space)->count, status_s((*space)->count),
			  status_is((*space)->count),
			  (*space)->extents[0].offset);
}

void space_add_extent(struct space *space, size_t offset, size_t bytes)
{
	size_t i = extents_before(space, offset);

	memmove(space->extents + i + 1, space->extents + i,
		(space->count - i) * sizeof(*space->extents));
	space->extents[i] = (struct space_extent){offset, bytes};
	space->count++;
}

void space_remove_extent(struct space *space, size_t offset)
{
	size_t i = extents_before(space, offset);

	space->count--;
	memmove(space->extents + i, space->extents + i + 1,
		(space->count - i) * sizeof(*space->extents));
}
