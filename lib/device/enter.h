/*
 * lib/device/enter.h - how an operation of a device is entered
 *
 * Arguments are checked, the call is counted and fails if a failure was ordered
 * (philox/testing.h); then the device's table is called.
 */
#ifndef LIB_DEVICE_ENTER_H
#define LIB_DEVICE_ENTER_H

#include "lib/device/contract.h"
#include "lib/base/status.h"

/*
 * device_enter() refuses a fork of the process that opened the device
 * (lib/device/fork.h). It counts one operation and returns the failure ordered
 * for it, or PHILOX_ERROR_UNSUPPORTED if the device does not offer it, or
 * PHILOX_OK: continue.
 */
enum philox_status device_enter(struct philox_device *device, enum device_op op,
				int offered);

/*
 * The user knows the public call that he made, not the operations that it does:
 * what an operation leaves behind for later messages, such as the reason why a
 * capture is broken, names that call. device_within() names the call that this
 * thread is in, NULL for none, and returns the name before, to be restored.
 * device_caller() returns that name, or else the operation's.
 */
const char *device_within(const char *call);
const char *device_caller(const char *operation);

/*
 * These return from the function that uses them, with an error that names
 * argument and function.
 */
#define NEED(condition, argument, problem)                             \
	do {                                                           \
		if (!(condition))                                      \
			return status_set(PHILOX_ERROR_INVALID,        \
					  "%s: %s " problem, __func__, \
					  argument);                   \
	} while (0)
#define NEED_POINTER(argument) NEED(argument, #argument, "is NULL")
#define NEED_SIZE(argument)    NEED(argument, #argument, "is 0")
#define NEED_KERNEL(call)                                           \
	do {                                                        \
		NEED_POINTER(call);                                 \
		NEED(call->kernel != KERNEL_NONE &&                 \
			     (unsigned)call->kernel < KERNEL_COUNT, \
		     #call, "names no kernel");                     \
		NEED_POINTER(call->args);                           \
		NEED_SIZE(call->size);                              \
	} while (0)

#define CALL(name, ...)                                                    \
	do {                                                               \
		enum philox_status refused = device_enter(                 \
			device, DEVICE_##name, device->ops->name != NULL); \
		if (refused != PHILOX_OK)                                  \
			return refused;                                    \
		return device->ops->name(__VA_ARGS__);                     \
	} while (0)

#endif
