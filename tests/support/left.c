/*
 * tests/support/left.c - see tests/support/left.h
 */
#include "tests/support/left.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include "lib/device/host/host.h"
#include "tests/simulated/simulated.h"
#include "tests/support/allocations.h"

#define KINDS (HOST_CONDITION + 1)

/* In programs with the simulated GPU. */
#pragma weak simulated_gpu

static const char *const kinds[KINDS] = {
	[HOST_MEMORY] = "allocations",     [HOST_MAPPED] = "mapped allocations",
	[HOST_STREAM] = "streams",         [HOST_EVENT] = "events",
	[HOST_NODE] = "nodes of graphs",   [HOST_GRAPH] = "native graphs",
	[HOST_EXEC] = "executable graphs", [HOST_CONDITION] = "conditions"};

/* What there is; HOST_ANY counts spaces and captures. */
struct objects {
	size_t n[KINDS];
};

static unsigned devices;
static int with_cuda;
static size_t files; /* that the environment named */
static uint64_t mark;
static struct objects before; /* on the simulated GPU */

/* --- objects of devices ---------------------------------------------------- */

static void count_objects(struct host_device *device, struct objects *objects)
{
	const struct host_registry *registry = &device->registry;

	host_lock(device);
	for (size_t i = 0; i < registry->bucket_count; i++)
		for (const struct host_object *object = registry->buckets[i];
		     object; object = object->next)
			objects->n[object->kind]++;
	for (const struct space *space = device->spaces.first; space;
	     space = space->next)
		objects->n[HOST_ANY]++;
	for (const struct host_capture *capture = device->captures; capture;
	     capture = capture->next)
		objects->n[HOST_ANY]++;
	host_unlock(device);
}

/* But for streams: each thread that names its own one keeps it. */
static struct objects on_simulated_gpus(void)
{
	struct objects objects = {{0}};
	struct host_device *gpu;

	for (unsigned i = 0; simulated_gpu && (gpu = simulated_gpu(i)); i++)
		count_objects(gpu, &objects);
	objects.n[HOST_STREAM] = 0;
	return objects;
}

static void is_empty(const struct objects *objects, const char *device)
{
	for (int kind = 0; kind < KINDS; kind++)
		cr_assert(!objects->n[kind], "%zu %s left on device %s",
			  objects->n[kind],
			  kinds[kind] ? kinds[kind] : "spaces and captures",
			  device);
}

void left_on(struct philox_device *device, int unfreed)
{
	struct objects objects = {{0}};

	with_cuda |= !philox_device_is_host(device);
	if (unfreed)
		return;
	if (philox_device_is_host(device)) {
		count_objects(host_of(device), &objects);
	} else if (devices == 1) {
		objects = on_simulated_gpus();
		for (int kind = 0; kind < KINDS; kind++)
			objects.n[kind] -= before.n[kind];
	}
	is_empty(&objects, philox_device_name(device));
}

/* --- memory of the host ---------------------------------------------------- */

void left_begin(void)
{
	if (devices++)
		return;
	with_cuda = 0;
	files = 0;
	before = on_simulated_gpus();
	mark = allocations_mark();
}

void left_end(void)
{
	struct allocations_left left;

	if (--devices || with_cuda)
		return;
	left = allocations_left(mark);
	cr_assert(left.n <= 2 * files, /* a record and its name, of each */
		  "%zu allocations are not freed; the first has %zu bytes and "
		  "was made at 0x%zx",
		  left.n, left.size, left.by);
}

void left_keep(const void *memory)
{
	allocations_forget(memory);
}

void left_file(void)
{
	files++;
}
