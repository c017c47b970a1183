/*
 * lib/device/device.c - the devices there are: found by name, opened, described
 *
 * A device is opened by name, "family" or "family:option". The limit of threads
 * is atomic; nothing else here is shared.
 */
#include <stdlib.h>
#include <string.h>
#include "lib/device/call.h"
#include "lib/base/status.h"

static const struct device_family *const families[] = {
	&device_family_host,
#ifdef PHILOX_WITH_CUDA
	&device_family_cuda,
#endif
};

#define FAMILY_COUNT (sizeof(families) / sizeof(families[0]))

static enum philox_status unknown_device(const char *name)
{
	return status_set(PHILOX_ERROR_INVALID,
			  "unknown device \"%s\": there are host, host:sync, "
			  "cuda and cuda:N",
			  name);
}

/* The family named by the first `length` characters of `name`. */
static enum philox_status find_family(const char *name, size_t length,
				      const struct device_family **family)
{
	for (size_t i = 0; i < FAMILY_COUNT; i++) {
		if (strlen(families[i]->name) != length ||
		    strncmp(families[i]->name, name, length) != 0)
			continue;
		*family = families[i];
		return PHILOX_OK;
	}
	if (length == strlen("cuda") && !strncmp(name, "cuda", length))
		return status_set(PHILOX_ERROR_UNSUPPORTED,
				  "%s: this build has no CUDA", name);
	return unknown_device(name);
}

/* Turns the number behind the colon into an index below the family's count. */
static enum philox_status find_index(const struct device_family *family,
				     const char *name, const char *option,
				     unsigned *index)
{
	unsigned long number = strtoul(option, NULL, 10);
	enum philox_status status;
	unsigned count;

	if (option[strspn(option, "0123456789")])
		return unknown_device(name);
	status = family->count(&count);
	if (status != PHILOX_OK)
		return status;
	if (number >= count)
		return status_set(PHILOX_ERROR_NO_DEVICE,
				  "%s: there are %u %s devices", name, count,
				  family->name);
	*index = (unsigned)number;
	return PHILOX_OK;
}

/* --- devices ------------------------------------------------------------ */

void device_base_init(struct philox_device *device,
		      const struct device_ops *ops, int is_host)
{
	device->ops = ops;
	device->is_host = is_host;
	for (int op = 0; op < DEVICE_OP_COUNT; op++)
		atomic_init(&device->calls[op], 0);
	atomic_init(&device->fail_after, 0);
	atomic_init(&device->fail_op, -1);
	atomic_init(&device->fail_status, PHILOX_OK);
	atomic_init(&device->threads, 1);
}

enum philox_status philox_device_count(const char *family, unsigned *count)
{
	const struct device_family *found;
	enum philox_status status;

	NEED_POINTER(family);
	NEED_POINTER(count);
	status = find_family(family, strlen(family), &found);
	if (status != PHILOX_OK)
		return status;
	return found->count(count);
}

enum philox_status philox_device_open(const char *name,
				      struct philox_device **device)
{
	const struct device_family *family;
	struct philox_device *opened;
	enum philox_status status;
	const char *option = "";
	unsigned index = 0;
	size_t length;

	NEED_POINTER(name);
	NEED_POINTER(device);
	length = strcspn(name, ":");
	if (strlen(name) >= sizeof(opened->name) ||
	    (name[length] && !name[length + 1]))
		return unknown_device(name);
	status = find_family(name, length, &family);
	if (status != PHILOX_OK)
		return status;
	if (name[length])
		option = name + length + 1;
	/* What may stand behind "host:" is the host device's own matter. */
	if (family != &device_family_host)
		status = find_index(family, name, option, &index);
	if (status == PHILOX_OK)
		status = family->open(index, option, &opened);
	if (status != PHILOX_OK)
		return status;
	memcpy(opened->name, name, strlen(name) + 1);
	*device = opened;
	return PHILOX_OK;
}

void philox_device_close(struct philox_device *device)
{
	if (device)
		device->ops->close(device);
}

const char *philox_device_name(const struct philox_device *device)
{
	return device ? device->name : "";
}

const char *philox_device_description(const struct philox_device *device)
{
	return device ? device->description : "";
}

unsigned device_threads(const struct philox_device *device)
{
	return atomic_load_explicit(&device->threads, memory_order_relaxed);
}

enum philox_status philox_device_set_threads(struct philox_device *device,
					     unsigned threads)
{
	if (!device)
		return status_set(PHILOX_ERROR_INVALID, "device is NULL");
	if (!threads || threads > DEVICE_THREADS_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "threads is %u, not 1 .. %u", threads,
				  DEVICE_THREADS_MAX);
	atomic_store_explicit(&device->threads, threads, memory_order_relaxed);
	return PHILOX_OK;
}

int philox_device_is_host(const struct philox_device *device)
{
	return device && device->is_host;
}
