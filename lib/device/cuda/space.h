/*
 * lib/device/cuda/space.h - spaces: the driver's virtual memory management
 *
 * The runtime has none of it, so the driver's functions are looked up as those
 * of contexts are (lib/device/cuda/context.h). A device without them, or a GPU
 * that says that it has no virtual memory management, can do all else: its
 * spaces are unsupported, by name.
 */
#ifndef LIB_DEVICE_CUDA_SPACE_H
#define LIB_DEVICE_CUDA_SPACE_H

#include <cudaTypedefs.h>
#include <pthread.h>
#include "lib/device/spaces.h"

/* The driver's functions that are needed, and the version of their form. */
#define SPACE_DRIVER_LIST(X)                          \
	X(attribute, cuDeviceGetAttribute, 2000)      \
	X(unit, cuMemGetAllocationGranularity, 10020) \
	X(reserve, cuMemAddressReserve, 10020)        \
	X(release, cuMemAddressFree, 10020)           \
	X(create, cuMemCreate, 10020)                 \
	X(drop, cuMemRelease, 10020)                  \
	X(map, cuMemMap, 10020)                       \
	X(allow, cuMemSetAccess, 10020)               \
	X(unmap, cuMemUnmap, 10020)

struct cuda_spaces {
#define SPACE_MEMBER(member, name, version) PFN_##name##_v##version member;
	SPACE_DRIVER_LIST(SPACE_MEMBER)
#undef SPACE_MEMBER
	char lacking[160];    /* why there are no spaces; "": there are */
	pthread_mutex_t lock; /* of what follows, and of calls that change it */
	struct spaces records;
};

struct cuda_device;

/* Asks driver and GPU for spaces, in the device's context; cannot fail. */
void cuda_spaces_open(struct cuda_device *cuda);

/* Frees the records; addresses and memory are the primary context's. */
void cuda_spaces_close(struct cuda_device *cuda);

#endif
