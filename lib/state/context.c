/*
 * lib/state/context.c - the part of a context that lib owns: lock, lists, device
 */
#include <stdio.h>
#include <stdlib.h>
#include "lib/state/context.h"
#include "lib/state/journal.h"
#include "lib/state/region.h"
#include "lib/rows/rows.h"
#include "lib/state/spans.h"

void context_lock(struct philox_context *context)
{
	pthread_mutex_lock(&context->lock);
}

/* Every change of a ledger happens under the lock: it is whole again here. */
static void check_invariants(const struct philox_context *context)
{
#ifdef PHILOX_DEBUG
	for (const struct philox_region *region = context->regions; region;
	     region = region->next)
		region_check(region);
#else
	(void)context;
#endif
}

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

enum philox_status context_init(struct philox_context *context,
				struct philox_device *device,
				const struct context_hooks *hooks)
{
	enum philox_status status;

	context->device = device;
	context->hooks = hooks;
	pthread_mutex_init(&context->lock, NULL);
	status = philox_generator_create(context, 0, &context->generator);
	if (status == PHILOX_OK)
		journal_begin(context);
	else
		pthread_mutex_destroy(&context->lock);
	return status;
}

static void finish_journal(struct philox_context *context)
{
	context_lock(context);
	journal_write(context, "context-destroy");
	journal_end(context);
	context_unlock(context);
	context_report(context, PHILOX_OK, NULL);
}

void context_end(struct philox_context *context)
{
	struct philox_region *region = context->regions;

	for (; region; region = region->next)
		if (region->alive)
			philox_region_destroy(region);
	rows_finish(context);
	finish_journal(context);
}

static void free_regions(struct philox_context *context)
{
	struct philox_region *region;

	while ((region = context->regions)) {
		context->regions = region->next;
		region_free(region);
	}
}

void context_finish(struct philox_context *context)
{
	struct philox_generator *generator;

	free_regions(context);
	finish_journal(context); /* of one that could not be made */
	spans_finish(context);
	while ((generator = context->generators)) {
		context->generators = generator->next;
		free(generator);
	}
	pthread_mutex_destroy(&context->lock);
}

struct philox_device *philox_context_device(
	const struct philox_context *context)
{
	return context ? context->device : NULL;
}
