/*
 * lib/device/spaces.h - which addresses are reserved, and what is mapped there
 *
 * The bookkeeping of a device that has spaces (lib/device/contract.h): which
 * there are, and the extents of each. It refuses what no device may do, and
 * says why; what is done with memory is the device's. Not locked: the device
 * does it.
 */
#ifndef LIB_DEVICE_SPACES_H
#define LIB_DEVICE_SPACES_H

#include <stddef.h>
#include <philox/status.h>

struct space_extent {
	size_t offset, size;
};

struct space {
	char *base;
	size_t size;
	struct space_extent *extents; /* by offset; they do not overlap */
	size_t count, capacity;
	struct space *next;
};

/* All that a device has. */
struct spaces {
	size_t granularity;
	struct space *first;
};

/* Whether a space may have this size. */
enum philox_status spaces_may_reserve(const struct spaces *spaces,
				      size_t bytes);

/* Adds the space that was reserved; NULL: no memory. */
struct space *spaces_add(struct spaces *spaces, void *base, size_t bytes);

/*
 * Whether an extent may be mapped, be unmapped, a space be released; *space is
 * then the one with this base. After the first, space_add_extent() cannot fail.
 */
enum philox_status spaces_may_map(const struct spaces *spaces, const void *base,
				  size_t offset, size_t bytes,
				  struct space **space);
enum philox_status spaces_may_unmap(const struct spaces *spaces,
				    const void *base, size_t offset,
				    size_t bytes, struct space **space);
enum philox_status spaces_may_release(const struct spaces *spaces,
				      const void *base, struct space **space);

void space_add_extent(struct space *space, size_t offset, size_t bytes);
void space_remove_extent(struct space *space, size_t offset);

/* Frees the record of a space, with those of its extents. */
void spaces_remove(struct spaces *spaces, struct space *space);

#endif
