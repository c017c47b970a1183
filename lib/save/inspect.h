/*
 * lib/save/inspect.h - the digest of a context for the library's own use
 *
 * Called with the context's lock held.
 */
#ifndef LIB_SAVE_INSPECT_H
#define LIB_SAVE_INSPECT_H

#include "lib/state/context.h"

/* inspect_digest() is philox_context_digest(). */
enum philox_status inspect_digest(const struct philox_context *context,
				  uint64_t *digest);

#endif
