/*
 * lib/state/context_create.h - making and ending lib's part of a context
 *
 * Called by graph/, which makes and destroys whole contexts and knows the order
 * in which their parts end.
 */
#ifndef LIB_STATE_CONTEXT_CREATE_H
#define LIB_STATE_CONTEXT_CREATE_H

#include "lib/base/status.h"

struct context_hooks;
struct philox_context;
struct philox_device;

/* context_init() makes the part of a context that lib owns. */
enum philox_status context_init(struct philox_context *context,
				struct philox_device *device,
				const struct context_hooks *hooks);

/*
 * context_end_regions() destroys the regions that are alive, callbacks and all,
 * while the context is still whole.
 */
void context_end_regions(struct philox_context *context);

/* context_finish() undoes context_init(). */
void context_finish(struct philox_context *context);

#endif
