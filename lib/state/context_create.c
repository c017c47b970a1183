/*
 * lib/state/context_create.c - making and ending lib's part of a context
 */
#include <stdlib.h>
#include "lib/mesh/mesh.h"
#include "lib/state/state.h"

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

	for (size_t i = 0; (generator = order_next(&context->generators, &i));)
		free(generator);
	order_finish(&context->generators);
}

void context_finish(struct philox_context *context)
{
	free_regions(context);
	map_finish(&context->names);
	free_generators(context);
	mesh_finish(&context->mesh);
	for (size_t i = 0; i < context->n_loaded_outputs; i++)
		free(context->loaded_outputs[i].runner);
	free(context->loaded_outputs);
	pthread_mutex_destroy(&context->lock);
}

/* --- context_mesh: a context's place in a mesh ---------------------------- */

#define MESH_SIZE_FIRST OPTIONS_FIRST(struct philox_mesh, axes)

static enum philox_status check_unsettled(const struct philox_context *context)
{
	if (context->drawn)
		return status_set(PHILOX_ERROR_STATE,
				  "region '%s' has begun a pass: the context's "
				  "mesh cannot change any more",
				  context->drawn->name);
	if (context->took_text)
		return status_set(PHILOX_ERROR_STATE,
				  "a text was loaded, of the place that the "
				  "context had: its mesh cannot change any "
				  "more");
	if (context->comparing)
		return status_set(PHILOX_ERROR_BUSY,
				  "the context is being compared with other "
				  "ranks, by its mesh");
	return PHILOX_OK;
}

/* What is checked of a region that is made when there is a mesh. */
static enum philox_status check_regions(const struct philox_context *context,
					const struct philox_mesh *mesh)
{
	enum philox_status status = PHILOX_OK;

	for (const struct philox_region *region = context->regions;
	     status == PHILOX_OK && region; region = region->next)
		status = region_axes_find(
			mesh, region->name,
			(const char *const *)region->axes.names,
			region->axes.n);
	return status;
}

/* With the context's lock held; takes the names of *mesh, or gives others. */
static enum philox_status set_mesh(struct philox_context *context,
				   struct philox_mesh *mesh)
{
	struct philox_mesh before = context->mesh;
	enum philox_status status = check_unsettled(context);

	if (status == PHILOX_OK)
		status = check_regions(context, mesh);
	if (status != PHILOX_OK)
		return status;
	context->mesh = *mesh;
	*mesh = before;
	for (struct philox_region *region = context->regions; region;
	     region = region->next)
		if (region->generator)
			region_restart(region);
	return PHILOX_OK;
}

enum philox_status philox_context_set_mesh(struct philox_context *context,
					   const struct philox_mesh *mesh)
{
	struct philox_mesh taken, copy;
	enum philox_status status;

	if (!context || !mesh)
		return context_null(context, context ? "mesh" : "context");
	NEED_PROCESS(context);
	status = mesh_take(mesh, &taken);
	if (status == PHILOX_OK)
		status = mesh_copy(&taken, &copy);
	if (status == PHILOX_OK) {
		context_lock(context);
		status = set_mesh(context, &copy);
		if (status == PHILOX_OK)
			journal_mesh(context);
		context_unlock(context);
		mesh_finish(&copy);
	}
	return context_report(context, status, NULL);
}

enum philox_status philox_context_get_mesh(struct philox_context *context,
					   struct philox_mesh *mesh)
{
	enum philox_status status;

	if (!context || !mesh)
		return context_null(context, context ? "mesh" : "context");
	NEED_PROCESS(context);
	status = options_check_room("mesh", mesh->size, MESH_SIZE_FIRST,
				    sizeof(*mesh));
	if (status == PHILOX_OK) {
		context_lock(context);
		options_write(mesh, &context->mesh, sizeof(*mesh));
		context_unlock(context);
	}
	return context_report(context, status, NULL);
}
