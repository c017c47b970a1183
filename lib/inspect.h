/*
 * lib/inspect.h - the digest of a context for the library's own use
 *
 * Called with the context's lock held.
 */
#ifndef INSPECT_H
#define INSPECT_H

#include "context.h"

/* inspect_digest() is philox_context_digest(). */
enum philox_status inspect_digest(const struct philox_context *context,
				  uint64_t *digest);

#endif
