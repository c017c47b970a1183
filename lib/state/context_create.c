/*
 * lib/state/context_create.c - see lib/state/context_create.h
 */
#include <stdlib.h>
#include "lib/mesh/mesh.h"
#include "lib/state/context.h"
#include "lib/state/context_create.h"
#include "lib/state/region.h"

enum philox_status context_init(struct philox_context *context,
				struct philox_device *device,
				const struct context_hooks *hooks)
{
	enum philox_status status;

	context->device = device;
	context->hooks = hooks;
	context->mesh.size = sizeof(context->mesh);
	pthread_mutex_init(&context->lock, NULL);
	status = philox_generator_create(context, 0, &context->generator);
	if (status != PHILOX_OK)
		pthread_mutex_destroy(&context->lock);
	return status;
}

void context_end_regions(struct philox_context *context)
{
	struct philox_region *region = context->regions;

	for (; region; region = region->next)
		if (region->alive)
			philox_region_destroy(region);
}

static void free_regions(struct philox_context *context)
{
	struct philox_region *region;

	while ((region = context->regions)) {
		context->regions = region->next;
		region_free(region);
	}
}

static void free_generators(struct philox_context *context)
{
	struct philox_generator *generator;

	while ((generator = context->generators)) {
		context->generators = generator->next;
		free(generator);
	}
}

void context_finish(struct philox_context *context)
{
	free_regions(context);
	free_generators(context);
	mesh_finish(&context->mesh);
	pthread_mutex_destroy(&context->lock);
}
