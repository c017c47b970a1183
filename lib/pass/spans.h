/*
 * lib/pass/spans.h - a check for spans that are drawn twice in a forward
 *
 * Drawing the same elements of one call of one operator twice in a forward
 * gives the same numbers twice. That is allowed (chunks may be drawn again) but
 * rarely intended: on a strict device, and in a build with PHILOX_DEBUG, the
 * first overlap of each operator in each forward is logged as a warning that
 * names region, operator and ticket. Other contexts note nothing.
 *
 * Only fills through a pass are seen. What the caller's own kernels draw from a
 * pass is not, nor is a warm-up: all that are open draw the same numbers.
 */
#ifndef LIB_PASS_SPANS_H
#define LIB_PASS_SPANS_H

#include <philox/fill.h>
#include "lib/state/context.h"

/* spans_watched() is 1 if the spans of a context's passes are noted. */
static inline int spans_watched(const struct philox_context *context)
{
#ifdef PHILOX_DEBUG
	(void)context;
	return 1;
#else
	return device_is_strict(context->device);
#endif
}

/*
 * spans_draw() notes a span that a pass has drawn and logs an overlap; takes
 * the context's lock.
 */
void spans_draw(const struct philox_pass *pass, uint32_t op, uint32_t call,
		struct philox_span span);

/* spans_forget() forgets those of a pass that ends; with the lock held. */
void spans_forget(const struct philox_pass *pass);

/* spans_finish() forgets all of a context. */
void spans_finish(struct philox_context *context);

#endif
