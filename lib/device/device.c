/*
 * lib/device/device.c - common to all devices: a name, a limit of threads, and
 * how many contexts use it
 *
 * The limit and the count are atomic; nothing else here changes while a device
 * is open.
 */
#include <pthread.h>
#include <string.h>
#include "lib/base/base.h"
#include "lib/device/contract.h"
#include "lib/device/device.h"

void device_base_init(struct philox_device *device,
		      const struct device_ops *ops, int is_host)
{
	device->ops = ops;
	device->is_host = is_host;
	device->head_max = HEAD_CAPACITY_MAX;
	for (int op = 0; op < DEVICE_OP_COUNT; op++)
		atomic_init(&device->calls[op], 0);
	atomic_init(&device->memory_limit, 0);
	atomic_init(&device->fail_after, 0);
	atomic_init(&device->fail_op, -1);
	atomic_init(&device->fail_status, PHILOX_OK);
	atomic_init(&device->threads, 1);
	atomic_init(&device->contexts, 0);
	device->forks = forks_count();
}

/* --- contexts and closing ------------------------------------------------- */

void device_retain(struct philox_device *device)
{
	atomic_fetch_add_explicit(&device->contexts, 1, memory_order_relaxed);
}

/* What a context did comes before the close that this permits. */
void device_release(struct philox_device *device)
{
	atomic_fetch_sub_explicit(&device->contexts, 1, memory_order_release);
}

enum philox_status philox_device_close(struct philox_device *device)
{
	unsigned contexts;

	if (!device)
		return PHILOX_OK;
	if (fork_is_child(device))
		return fork_refuse(device);
	contexts =
		atomic_load_explicit(&device->contexts, memory_order_acquire);
	if (contexts)
		return status_set(PHILOX_ERROR_BUSY,
				  "device %s cannot be closed: %u context%s "
				  "on it %s not destroyed yet",
				  device->name, contexts, status_s(contexts),
				  status_is(contexts));
	return device->ops->close(device);
}

/* --- name and limit ------------------------------------------------------- */

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
	if (fork_is_child(device))
		return fork_refuse(device);
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

/* --- fork: whether this process is a fork of a device's ------------------- */

atomic_uint forks_counted;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int error;

/* Runs in the child, where there is one thread. */
static void count_fork(void)
{
	atomic_fetch_add_explicit(&forks_counted, 1, memory_order_relaxed);
}

static void add_handler(void)
{
	error = pthread_atfork(NULL, NULL, count_fork);
}

enum philox_status forks_watch(void)
{
	pthread_once(&once, add_handler);
	if (!error)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_MEMORY, "pthread_atfork: %s",
			  strerror(error));
}

enum philox_status fork_refuse(const struct philox_device *device)
{
	return status_set(PHILOX_ERROR_STATE,
			  "device %s: this process is a fork of the one that "
			  "opened the device, and cannot use it",
			  device->name);
}
