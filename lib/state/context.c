/*
 * lib/state/context.c - a context's lock, and what all its parts need of it
 */
#include <assert.h>
#include <stdio.h>
#include "lib/state/state.h"

void context_lock(struct philox_context *context)
{
#ifdef PHILOX_DEBUG
	assert(!fork_is_child(context->device)); /* see NEED_PROCESS() */
#endif
	pthread_mutex_lock(&context->lock);
}

#ifdef PHILOX_DEBUG

static void check_region(const struct philox_region *region)
{
	assert(region->state.offset % 4 == 0);
	assert(region->serial > 0 && !(region->serial & SERIAL_PLACEHOLDER));
	assert(!region->alive || !region->unclaimed);
	if (!region_is_whole(region))
		return;
	assert(region->ops && region->cells >= region->n_ops);
	assert(region->advance >= 4 && region->advance % 4 == 0);
	ledger_check(&region->ledger);
}

/* Every change of a ledger happens under the lock: it is whole again here. */
static void check_invariants(const struct philox_context *context)
{
	for (const struct philox_region *region = context->regions; region;
	     region = region->next)
		check_region(region);
}

#else

static void check_invariants(const struct philox_context *context)
{
	(void)context;
}

#endif

void context_unlock(struct philox_context *context)
{
	check_invariants(context);
	pthread_mutex_unlock(&context->lock);
}

void context_broken(struct philox_context *context, philox_stream stream,
		    enum philox_status status, const char *call,
		    const char *region)
{
	char text[128];

	if (status != PHILOX_ERROR_CAPTURE_INVALIDATED)
		return;
	snprintf(text, sizeof(text), "%s() of region '%.60s'", call, region);
	context_lock(context);
	context->hooks->broken(context, stream, text);
	context_unlock(context);
}

struct philox_device *philox_context_device(
	const struct philox_context *context)
{
	return context ? context->device : NULL;
}
