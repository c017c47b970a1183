/*
 * lib/device/device.c - the devices there are; counting and failing what they do
 *
 * A device is opened by name, "family" or "family:option". Every operation on
 * it comes through device_enter(), which counts it and makes it fail when that
 * was ordered; the operations themselves are in lib/device/call.c. Counters and
 * the order of a failure are atomic; nothing else here is shared.
 */
#include <stdlib.h>
#include <string.h>
#include "lib/device/call.h"
#include "lib/base/status.h"

static const char *const operation_names[DEVICE_OP_COUNT] = {
#define OPERATION_NAME(name, arguments) #name,
	DEVICE_OP_LIST(OPERATION_NAME)
#undef OPERATION_NAME
};

static const struct device_family *const families[] = {
	&device_family_host,
#ifdef PHILOX_WITH_CUDA
	&device_family_cuda,
#endif
};

#define FAMILY_COUNT (sizeof(families) / sizeof(families[0]))

/* The failure ordered for this operation, if it is due now. */
static enum philox_status take_failure(struct philox_device *device,
				       enum device_op op)
{
	uint_fast64_t after = atomic_load(&device->fail_after);
	int wanted = atomic_load(&device->fail_op);

	if (!after || (wanted != -1 && wanted != (int)op))
		return PHILOX_OK;
	while (after && !atomic_compare_exchange_weak(&device->fail_after,
						      &after, after - 1))
		;
	if (after != 1)
		return PHILOX_OK;
	return status_set(
		(enum philox_status)atomic_load(&device->fail_status),
		"%s on device %s: failed by order of philox_device_fail",
		operation_names[op], device->name);
}

enum philox_status device_enter(struct philox_device *device, enum device_op op,
				int offered)
{
	enum philox_status status;

	atomic_fetch_add_explicit(&device->calls[op], 1, memory_order_relaxed);
	status = take_failure(device, op);
	if (status != PHILOX_OK || offered)
		return status;
	return status_set(PHILOX_ERROR_UNSUPPORTED,
			  "device %s does not offer %s", device->name,
			  operation_names[op]);
}

static int find_operation(const char *name)
{
	for (int op = 0; op < DEVICE_OP_COUNT; op++)
		if (!strcmp(operation_names[op], name))
			return op;
	return -1;
}

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

uint64_t philox_device_calls(const struct philox_device *device,
			     const char *operation)
{
	uint64_t calls = 0;

	if (!device)
		return 0;
	for (int op = 0; op < DEVICE_OP_COUNT; op++)
		if (!operation || !strcmp(operation_names[op], operation))
			calls += atomic_load(&device->calls[op]);
	return calls;
}

enum philox_status philox_device_fail(struct philox_device *device,
				      const char *operation, uint64_t n,
				      enum philox_status status)
{
	int op = operation ? find_operation(operation) : -1;

	NEED_POINTER(device);
	if (operation && op < 0)
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: there is no operation \"%s\"", __func__,
				  operation);
	if (n && (status == PHILOX_OK ||
		  !strcmp(philox_status_name(status), "PHILOX_?")))
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: status %d is not an error", __func__,
				  (int)status);
	atomic_store(&device->fail_after, 0); /* no mix of two orders */
	atomic_store(&device->fail_op, op);
	atomic_store(&device->fail_status, (int)status);
	atomic_store(&device->fail_after, n);
	return PHILOX_OK;
}
