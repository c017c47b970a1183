/*
 * lib/base/options.h - structs that callers fill in or read, and their growth
 *
 * Such a struct begins with its own size, as the caller compiled it. A struct
 * smaller than that of the first version is refused; one of a later version is
 * fine as long as it asks for nothing that this version does not know. See
 * philox/sized.h.
 */
#ifndef LIB_BASE_OPTIONS_H
#define LIB_BASE_OPTIONS_H

#include <stddef.h>
#include <stdint.h>
#include "lib/base/status.h"

/*
 * OPTIONS_FIRST() is the size of a struct's first version, whose last member
 * was `last`. OPTIONS_NO_PADDING() states that the struct ends with it: a later
 * field in padding, which old callers leave undefined, would not change the
 * size.
 */
#define OPTIONS_FIRST(type, last) \
	(offsetof(type, last) + sizeof(((type *)NULL)->last))
#define OPTIONS_NO_PADDING(type, last)                            \
	_Static_assert(sizeof(type) == OPTIONS_FIRST(type, last), \
		       "a later field changes the size")

/* A page: more than any struct will need, so a larger size is garbage. */
#define OPTIONS_SIZE_MAX 4096

/*
 * options_check_size() checks `size`, the first field of *options; `least` is
 * the size of the first version, `known` of this one. ERROR_INVALID names
 * `what`.
 */
enum philox_status options_check_size(const char *what, const void *options,
				      size_t size, size_t least, size_t known);

/*
 * options_copy() also checks it, and copies the fields that this version knows
 * to *copy, of `known` bytes; fields that a shorter struct lacks are 0.
 */
enum philox_status options_copy(const char *what, const void *options,
				size_t size, size_t least, size_t known,
				void *copy);

/* options_check_reserved() refuses a reserved member of *what that is not 0. */
enum philox_status options_check_reserved(const char *what, uint32_t reserved);

/*
 * options_check_room() checks the size of a struct that is to be written;
 * options_write() then writes *from, of `known` bytes, to it: as much as it has
 * room for, zeros for what this version does not know. Its size stays.
 */
enum philox_status options_check_room(const char *what, size_t size,
				      size_t least, size_t known);
void options_write(void *to, const void *from, size_t known);

#endif
