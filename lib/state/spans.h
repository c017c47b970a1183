/*
 * lib/state/spans.h - a debug build's check for spans drawn twice in a forward
 *
 * Drawing the same span of one call of one operator twice in a forward gives
 * the same numbers twice. That is allowed (chunks may be drawn again) but
 * rarely intended: a build with PHILOX_DEBUG logs a warning that names operator
 * and spans. Other builds do nothing.
 */
#ifndef LIB_STATE_SPANS_H
#define LIB_STATE_SPANS_H

#include <philox/fill.h>
#include "lib/state/context.h"

#ifdef PHILOX_DEBUG

/* spans_draw() notes a span that a pass draws; takes the context's lock. */
void spans_draw(const struct philox_pass *pass, uint32_t op, uint32_t call,
		struct philox_span span);

/* spans_forget() forgets those of a pass that ends; with the lock held. */
void spans_forget(const struct philox_pass *pass);

/* spans_finish() forgets all of a context. */
void spans_finish(struct philox_context *context);

#else

static inline void spans_draw(const struct philox_pass *pass, uint32_t op,
			      uint32_t call, struct philox_span span)
{
	(void)pass, (void)op, (void)call, (void)span;
}

static inline void spans_forget(const struct philox_pass *pass)
{
	(void)pass;
}

static inline void spans_finish(struct philox_context *context)
{
	(void)context;
}

#endif
#endif
