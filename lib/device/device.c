/*
 * lib/device/device.c - common to all devices: a name, a limit of threads
 *
 * The limit is atomic; nothing else here changes while a device is open.
 */
#include "lib/base/status.h"
#include "lib/device/contract.h"

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
