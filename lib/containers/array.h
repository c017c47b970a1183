/*
 * lib/containers/array.h - arrays that grow
 */
#ifndef LIB_CONTAINERS_ARRAY_H
#define LIB_CONTAINERS_ARRAY_H

#include <stddef.h>

/*
 * Makes room for `more` items of `size` bytes behind the `n` of an array;
 * `array` is the address of the pointer to its first item, NULL if there is
 * none. Returns the first of the new items, all of which are zero. NULL: no
 * memory, or more bytes than there are addresses; the array is as it was.
 *
 * An array of n items that grew by this function alone has room for the next
 * power of two, so nobody has to note how much. Items may be taken away from its
 * end, and its memory is for free().
 */
void *array_grow(void *array, size_t n, size_t more, size_t size);

#endif
