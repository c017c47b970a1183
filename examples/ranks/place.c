/*
 * examples/ranks/place.c - where this rank is in the mesh, and what it holds
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "place.h"
#include "world.h"

static const char *const names[AXES] = {"data", "tensor", "pipeline"};

/* Adds the axis at the head of a text, NAME=SIZE; returns what follows it. */
static const char *add_axis(struct philox_mesh *mesh, const char *text)
{
	struct philox_axis *axis = &mesh->axes[mesh->n_axes];
	size_t length = strcspn(text, "=");
	unsigned long long size;
	char *end;

	for (int i = 0; i < AXES; i++)
		if (length == strlen(names[i]) &&
		    !strncmp(text, names[i], length))
			axis->name = names[i];
	if (!axis->name || text[length] != '=' || text[length + 1] < '0' ||
	    text[length + 1] > '9')
		return NULL;
	errno = 0;
	size = strtoull(text + length + 1, &end, 10);
	if (errno || size > UINT32_MAX || (*end && *end != ','))
		return NULL;
	axis->n_ranks = (uint32_t)size;
	if (axis->name == names[PIPELINE])
		axis->flags = PHILOX_AXIS_STAGES;
	mesh->n_axes++;
	return end;
}

static int read_mesh(struct philox_mesh *mesh, const char *text,
		     char message[200])
{
	const char *rest = text;

	for (;;) {
		if (mesh->n_axes < PHILOX_MESH_AXES)
			rest = add_axis(mesh, rest);
		else
			rest = NULL;
		if (!rest) {
			snprintf(
				message, 200,
				"--mesh '%.60s': must be sizes of data, tensor and pipeline, as in data=2,tensor=2",
				text);
			return -1;
		}
		if (!*rest)
			return 0;
		rest++;
	}
}

static void note_axes(struct place *place)
{
	for (int i = 0; i < AXES; i++) {
		place->size[i] = 1;
		place->at[i] = 0;
	}
	for (uint32_t k = 0; k < place->mesh.n_axes; k++)
		for (int i = 0; i < AXES; i++)
			if (!strcmp(place->mesh.axes[k].name, names[i])) {
				place->size[i] = place->mesh.axes[k].n_ranks;
				place->at[i] = place->mesh.axes[k].coordinate;
			}
}

/* Each rank needs a sample, a head and a layer at least. */
static int has_parts(const struct place *place, const struct shape *shape,
		     char message[200])
{
	const uint64_t most[AXES] = {shape->samples, shape->heads,
				     shape->layers};
	static const char *const what[AXES] = {"samples", "heads", "layers"};

	for (int i = 0; i < AXES; i++)
		if (place->size[i] > most[i]) {
			snprintf(message, 200,
				 "%u %s ranks: there are only %llu %s",
				 place->size[i], names[i],
				 (unsigned long long)most[i], what[i]);
			return -1;
		}
	return 0;
}

int place_read(struct place *place, const struct shape *shape, const char *mesh,
	       uint64_t rank, uint64_t world, char message[200])
{
	*place = (struct place){.mesh = PHILOX_INIT(struct philox_mesh),
				.rank = rank,
				.world = world};
	if (mesh && read_mesh(&place->mesh, mesh, message))
		return -1;
	if (!mesh) {
		place->mesh.n_axes = 1;
		place->mesh.axes[0] = (struct philox_axis){
			.name = names[DATA], .n_ranks = (uint32_t)world};
	}
	if (philox_mesh_set_rank(&place->mesh, rank, world)) {
		snprintf(message, 200, "--mesh %.60s: %.120s", mesh ? mesh : "",
			 philox_error_message());
		return -1;
	}
	note_axes(place);
	return has_parts(place, shape, message);
}

struct place place_of(const struct place *place, uint64_t rank)
{
	struct place other = *place;

	TRY(philox_mesh_set_rank(&other.mesh, rank, place->world));
	other.rank = rank;
	note_axes(&other);
	return other;
}

struct philox_shard_dim place_dim(const struct place *place, enum axis axis,
				  uint64_t n)
{
	return (struct philox_shard_dim){.extent = n,
					 .cut = PHILOX_CUT_BLOCK,
					 .parts = place->size[axis],
					 .part = place->at[axis]};
}

struct range place_range(const struct place *place, enum axis axis, uint64_t n)
{
	struct philox_shard_desc shard = PHILOX_INIT(struct philox_shard_desc);
	struct range range;

	shard.n_dims = 1;
	shard.dims[0] = place_dim(place, axis, n);
	TRY(philox_shard_extent(&shard, 0, &range.count));
	TRY(philox_shard_index(&shard, 0, 0, &range.first));
	return range;
}

int place_line(const struct place *place, enum axis axis)
{
	int line = 0;

	for (int i = 0; i < AXES; i++)
		if (i != (int)axis)
			line = line * (int)place->size[i] + (int)place->at[i];
	return line;
}
