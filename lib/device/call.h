/*
 * lib/device/call.h - how lib/device/call.c checks and makes a call
 */
#ifndef LIB_DEVICE_CALL_H
#define LIB_DEVICE_CALL_H

#include "lib/device/contract.h"

/*
 * device_enter() counts one operation and returns the failure ordered for it,
 * or PHILOX_ERROR_UNSUPPORTED if the device does not offer it, or PHILOX_OK: go
 * on.
 */
enum philox_status device_enter(struct philox_device *device, enum device_op op,
				int offered);

/* Each ends the function it stands in; refusals name argument and function. */
#define NEED(condition, argument, problem)                             \
	do {                                                           \
		if (!(condition))                                      \
			return status_set(PHILOX_ERROR_INVALID,        \
					  "%s: %s " problem, __func__, \
					  argument);                   \
	} while (0)
#define NEED_POINTER(argument) NEED(argument, #argument, "is NULL")
#define NEED_SIZE(argument)    NEED(argument, #argument, "is 0")
#define NEED_KERNEL(call)                                          \
	do {                                                       \
		NEED_POINTER(call);                                \
		NEED((unsigned)call->kernel < KERNEL_COUNT, #call, \
		     "names no kernel");                           \
		NEED_POINTER(call->args);                          \
		NEED_SIZE(call->size);                             \
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
