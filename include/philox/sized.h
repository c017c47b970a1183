/*
 * philox/sized.h - structs that begin with their size, so that they can grow
 *
 * A struct that callers fill in, or have filled in, begins with `size`: the
 * size that the struct had where the caller was compiled. PHILOX_INIT() gives
 * such a struct with its size set and everything else 0, in C and in C++:
 *
 *   struct philox_fill fill = PHILOX_INIT(struct philox_fill);
 *
 *   fill.dist = PHILOX_NORMAL;
 *   ...
 *
 * A later version of the library may add fields at the end of these structs,
 * with a meaning for 0 that keeps what was before. So a program need not be
 * compiled again:
 *
 *  - A smaller struct, of an older header: the fields it lacks are taken as 0.
 *    Of a report only as many bytes as the caller has are written.
 *  - A larger struct, of a newer header: it is accepted as long as all bytes
 *    that this library does not know are 0. Of a report they are written as 0.
 *  - A size below that of the first version, 0 for example, is refused with
 *    PHILOX_ERROR_INVALID, and the message names the argument.
 *
 * The same is true of arrays of structs whose element size the caller says
 * (`op_size` in philox/region.h). struct philox_log_entry has no size: only
 * the library makes it, and it may grow at its end. Other structs stay as they
 * are.
 */
#ifndef PHILOX_SIZED_H
#define PHILOX_SIZED_H

#include <stddef.h>

/* An expression, for use within functions; `type` is one of these structs. */
#ifdef __cplusplus
#define PHILOX_INIT(type)                        \
	([]() {                                  \
		type philox_made = {};           \
		philox_made.size = sizeof(type); \
		return philox_made;              \
	}())
#else
#define PHILOX_INIT(type) ((type){.size = sizeof(type)})
#endif

#endif
