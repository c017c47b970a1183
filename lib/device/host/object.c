/*
 * lib/device/host/object.c - the lock of a host device, and which of its handles
 * are alive
 *
 * A hash table with chains through the objects themselves, so that adding one
 * cannot fail: if the bucket array cannot grow, the chains do. A handle is
 * looked up before it is followed, so a destroyed or foreign one is an error
 * and never a crash; if its address is in use again, it names the new object.
 * Guarded by the device's lock.
 */
#include <stdlib.h>
#include "lib/device/host/host.h"

/* --- the lock -------------------------------------------------------------- */

enum philox_status host_no_memory(const char *what)
{
	return status_set(PHILOX_ERROR_MEMORY, "no memory for %s", what);
}

void host_lock(struct host_device *device)
{
	pthread_mutex_lock(&device->lock);
}

void host_unlock(struct host_device *device)
{
	struct host_release *due = device->due, *next;

	device->due = NULL;
	pthread_mutex_unlock(&device->lock);
	for (; due; due = next) {
		next = due->next;
		due->release(due->object);
		free(due);
	}
}

struct host_device *host_enter(struct philox_device *base)
{
	struct host_device *device = host_of(base);

	host_lock(device);
	return device;
}

enum philox_status host_leave(struct host_device *device,
			      enum philox_status status)
{
	host_unlock(device);
	return status;
}

/* --- what a graph shares with what is made of it --------------------------- */

void host_condition_drop(struct host_condition *condition)
{
	if (!--condition->refs)
		free(condition);
}

void host_keep_drop(struct host_device *device, struct host_keep *keep)
{
	struct host_release **end = &device->due;

	if (--keep->refs)
		return;
	while (*end)
		end = &(*end)->next;
	*end = keep->releases;
	free(keep);
}

/* --- the registry ---------------------------------------------------------- */

#define FIRST_BUCKETS 64

static struct host_object **bucket_of(const struct host_registry *registry,
				      const void *key)
{
	uint64_t hash = (uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u;

	return &registry->buckets[hash >> 32 & (registry->bucket_count - 1)];
}

static void registry_grow(struct host_registry *registry)
{
	struct host_registry larger = {.count = registry->count};
	struct host_object *object, *next;

	larger.bucket_count = registry->bucket_count * 2;
	larger.buckets = calloc(larger.bucket_count, sizeof(*larger.buckets));
	if (!larger.buckets)
		return;
	for (size_t i = 0; i < registry->bucket_count; i++) {
		for (object = registry->buckets[i]; object; object = next) {
			struct host_object **bucket =
				bucket_of(&larger, object->key);

			next = object->next;
			object->next = *bucket;
			*bucket = object;
		}
	}
	free(registry->buckets);
	*registry = larger;
}

int host_registry_open(struct host_registry *registry)
{
	registry->bucket_count = FIRST_BUCKETS;
	registry->buckets = calloc(FIRST_BUCKETS, sizeof(*registry->buckets));
	return registry->buckets != NULL;
}

void host_register(struct host_device *device, struct host_object *object,
		   enum host_kind kind, const void *key)
{
	struct host_registry *registry = &device->registry;
	struct host_object **bucket;

	if (registry->count >= registry->bucket_count)
		registry_grow(registry);
	bucket = bucket_of(registry, key);
	object->kind = kind;
	object->key = key;
	object->next = *bucket;
	*bucket = object;
	registry->count++;
}

void host_forget(struct host_device *device, struct host_object *object)
{
	struct host_object **link = bucket_of(&device->registry, object->key);

	while (*link != object)
		link = &(*link)->next;
	*link = object->next;
	device->registry.count--;
}

struct host_object *host_find(struct host_device *device, enum host_kind kind,
			      const void *key)
{
	struct host_object *object = *bucket_of(&device->registry, key);

	while (object && (object->key != key || object->kind != kind))
		object = object->next;
	return object;
}

struct host_object *host_first_object(struct host_device *device,
				      enum host_kind kind)
{
	struct host_registry *registry = &device->registry;

	for (size_t i = 0; i < registry->bucket_count; i++)
		for (struct host_object *object = registry->buckets[i]; object;
		     object = object->next)
			if (object->kind == kind)
				return object;
	return NULL;
}

/* --- handles of each kind ------------------------------------------------- */

/* What a handle is that is not of the kind it was given for. */
static const char *what_it_is(struct host_device *device, const void *handle)
{
	static const struct {
		enum host_kind kind;
		const char *words;
	} known[] = {{HOST_MEMORY, ": it is memory"},
		     {HOST_MAPPED, ": it is mapped memory"},
		     {HOST_STREAM, ": it is a stream"},
		     {HOST_EVENT, ": it is an event"},
		     {HOST_NODE, ": it is a node of a graph"},
		     {HOST_GRAPH, ": it is a native graph"},
		     {HOST_EXEC, ": it is an executable graph"},
		     {HOST_CONDITION, ": it is a condition"}};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (host_find(device, known[i].kind, handle))
			return known[i].words;
	return "";
}

enum philox_status host_not_alive(struct host_device *device,
				  const void *handle, const char *what,
				  const char *noun)
{
	return status_set(PHILOX_ERROR_INVALID,
			  "%s: %p is not a live %s of device %s%s", what,
			  (void *)(uintptr_t)handle, noun, device->base.name,
			  what_it_is(device, handle));
}

#define FINDER(name, handle_type, host_kind, noun)                         \
	enum philox_status host_##name##_find(                             \
		struct host_device *device, handle_type handle,            \
		const char *what, struct host_##name **name)               \
	{                                                                  \
		struct host_object *object =                               \
			host_find(device, host_kind, handle);              \
                                                                           \
		if (!object)                                               \
			return host_not_alive(device, handle, what, noun); \
		*name = (struct host_##name *)object;                      \
		return PHILOX_OK;                                          \
	}

FINDER(event, philox_event, HOST_EVENT, "event")
FINDER(graph, philox_native_graph, HOST_GRAPH, "native graph")
FINDER(node, device_node, HOST_NODE, "node")
FINDER(exec, philox_native_exec, HOST_EXEC, "executable graph")
