/*
 * lib/device/fork.c - see lib/device/fork.h
 */
#include <pthread.h>
#include <string.h>
#include "lib/base/status.h"
#include "lib/device/fork.h"

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
