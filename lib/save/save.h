/*
 * lib/save/save.h - saving and loading a context, for all public forms of it
 *
 * `call` is the public function, for messages. Without the context's lock.
 */
#ifndef LIB_SAVE_SAVE_H
#define LIB_SAVE_SAVE_H

#include <stddef.h>
#include <stdint.h>
#include "lib/base/status.h"

struct philox_context;
struct saved;

/* A text of a context, its rank, and the digest of what it says, for traces. */
struct written_text {
	char *text;
	size_t size;
	uint64_t rank;
	uint64_t digest;
	int has_digest;
};

/*
 * save_text() saves a context as a text that the caller frees;
 * save_trace() says so in its trace, when the text is where it is to be.
 */
enum philox_status save_text(struct philox_context *context, const char *call,
			     struct written_text *out);
void save_trace(struct philox_context *context,
		const struct written_text *saved);

/* save_apply() loads what was read into a context, all or nothing. */
enum philox_status save_apply(struct philox_context *context, const char *call,
			      const struct saved *saved);

#endif
