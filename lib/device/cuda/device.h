/*
 * lib/device/cuda/device.h - the operations of the CUDA device
 */
#ifndef LIB_DEVICE_CUDA_DEVICE_H
#define LIB_DEVICE_CUDA_DEVICE_H

#include "lib/device/cuda/on.h"

/* The operations of the contract, except launch_host, which CUDA lacks. */
#define CUDA_OP_DECLARE(name, arguments) \
	enum philox_status cuda_##name arguments;
DEVICE_OP_LIST(CUDA_OP_DECLARE)
#undef CUDA_OP_DECLARE
enum philox_status cuda_conditional_check(struct philox_device *device,
					  const struct conditional *what);

#endif
