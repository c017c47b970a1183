/*
 * tests/support/allocations.h - which calls allocate memory on the host
 *
 * malloc(), calloc() and realloc() of this process are counted, by thread. What
 * a device allocates while it carries out an operation is not: that is a
 * driver's, which a host device only stands in for.
 */
#ifndef TESTS_SUPPORT_ALLOCATIONS_H
#define TESTS_SUPPORT_ALLOCATIONS_H

#include <stddef.h>
#include <stdint.h>
#include <philox.h>

/*
 * allocations_watch() prepares for counting on a device: what its operations
 * allocate, those that a launch, a release or a pass calls, is not counted from
 * now on. allocations() returns how many this thread has made so far, and
 * allocated_bytes() how many bytes they asked for together.
 *
 * allocations_fail() makes the n-th allocation of this thread from now on fail,
 * once; 0: none any more. It returns 0 where a sanitizer has malloc(), which
 * cannot fail there.
 *
 * allocations_mark() returns a number for now. allocations_left() says what of
 * that was allocated since then, by this program's code and on any thread, is
 * not free: how many pieces, and of the oldest its size and which code asked
 * for it, as addr2line takes it. It knows of none where a sanitizer has
 * malloc(), which looks for leaks itself.
 * allocations_forget() takes one out of what that looks at.
 *
 * bytes_in_use() returns the bytes that the process has allocated now, by
 * malloc's or a sanitizer's count.
 */
void allocations_watch(struct philox_device *device);
uint64_t allocations(void);
uint64_t allocated_bytes(void);
int allocations_fail(uint64_t n);
size_t bytes_in_use(void);

struct allocations_left {
	size_t n, size, by;
};
uint64_t allocations_mark(void);
struct allocations_left allocations_left(uint64_t mark);
void allocations_forget(const void *memory);

#endif
