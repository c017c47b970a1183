/*
 * lib/device/fork.h - whether this process is a fork of a device's
 *
 * The threads of a host device's streams do not exist in a child that fork()
 * made, and its locks may be held by threads that do not exist there; CUDA does
 * not work in such a child either. So every operation of a device, and every
 * call that takes a lock, first asks whether this is the process that opened
 * the device. That must cost next to nothing: forks are counted, in the child,
 * by a handler of pthread_atfork(), and a device remembers the count at its
 * opening. A child made without handlers, by _Fork() or clone(), is not
 * noticed.
 */
#ifndef LIB_DEVICE_FORK_H
#define LIB_DEVICE_FORK_H

#include "lib/device/contract.h"

/* forks_watch() begins to count, before the first device is opened. */
enum philox_status forks_watch(void);

extern atomic_uint forks_counted;

/* forks_count() returns how many forks led to this process, since then. */
static inline unsigned forks_count(void)
{
	return atomic_load_explicit(&forks_counted, memory_order_relaxed);
}

/* fork_is_child() is 1 in a fork of the process that opened the device. */
static inline int fork_is_child(const struct philox_device *device)
{
	return device->forks != forks_count();
}

/* fork_refuse() says so: PHILOX_ERROR_STATE. */
enum philox_status fork_refuse(const struct philox_device *device);

#endif
