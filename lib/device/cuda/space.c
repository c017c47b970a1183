/*
 * lib/device/cuda/space.c - how much memory there is, and spaces
 *
 * An extent is an allocation of the driver's (cuMemCreate) that is mapped at
 * its addresses (cuMemMap) and that the GPU may use (cuMemSetAccess). Which
 * spaces and extents there are is kept here, since the driver wants the size of
 * a space back and may take a range that is several extents; both are guarded
 * by a lock, under which the driver is called.
 *
 * cuda.h does not say that these functions are refused in a capture, and
 * PyTorch's allocator maps memory in captures without a guard. So a call that
 * CUDA's rules do refuse (cudaThreadExchangeStreamCaptureMode), the query of an
 * event, comes first: it gives the contract's answer.
 */
#include <stdio.h>
#include "lib/device/cuda/cuda.h"
#include "lib/base/base.h"

/* The driver's errors that only these functions have: see context.c. */
#define SAME(driver, runtime) \
	_Static_assert((int)(driver) == (int)(runtime), #driver " is " #runtime)
SAME(CUDA_ERROR_NOT_PERMITTED, cudaErrorNotPermitted);
SAME(CUDA_ERROR_NOT_SUPPORTED, cudaErrorNotSupported);
SAME(CUDA_ERROR_ILLEGAL_STATE, cudaErrorIllegalState);
#undef SAME

static struct cuda_spaces *spaces_of(struct philox_device *device)
{
	return &((struct cuda_device *)device)->spaces;
}

/* A call of one of the driver's functions for spaces. */
#define ON_DRIVER(device, name, member, ...) \
	ON_AS(device, name, (cudaError_t)spaces_of(device)->member(__VA_ARGS__))

/* --- memory --------------------------------------------------------------- */

/* A question must not break a capture, so it is asked in relaxed mode. */
enum philox_status cuda_mem_info(struct philox_device *device,
				 size_t *free_bytes, size_t *total_bytes)
{
	size_t unused, all;
	enum philox_status status =
		ON_RELAXED(device, cudaMemGetInfo, &unused, &all);

	if (status != PHILOX_OK)
		return status;
	*free_bytes = unused;
	*total_bytes = all;
	return PHILOX_OK;
}

/* An address that CUDA does not know is the host's. */
int cuda_is_memory(struct philox_device *device, const void *address)
{
	struct cudaPointerAttributes attributes = {
		.type = cudaMemoryTypeUnregistered};

	return ON(device, cudaPointerGetAttributes, &attributes, address) ==
		       PHILOX_OK &&
	       attributes.type == cudaMemoryTypeDevice;
}

/* --- what there is -------------------------------------------------------- */

/* Memory of the GPU, for this process alone. */
static CUmemAllocationProp properties(const struct cuda_device *cuda)
{
	return (CUmemAllocationProp){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE,
			     .id = cuda->context.gpu},
	};
}

static int find_functions(struct cuda_spaces *spaces)
{
#define FIND(member, name, version)                                    \
	if (compat_driver_function(#name, (void **)&spaces->member) != \
	    cudaSuccess) {                                             \
		cudaGetLastError();                                    \
		snprintf(spaces->lacking, sizeof(spaces->lacking),     \
			 "the driver has no %s", #name);               \
		return 0;                                              \
	}
	SPACE_DRIVER_LIST(FIND)
#undef FIND
	return 1;
}

static void ask_gpu(struct cuda_device *cuda)
{
	const CUdevice_attribute manages =
		CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
	const CUmemAllocationProp prop = properties(cuda);
	struct cuda_spaces *spaces = &cuda->spaces;
	struct philox_device *device = &cuda->base;
	size_t *unit = &spaces->records.granularity;
	enum philox_status status;
	int can = 0;

	status = ON_DRIVER(device, "cuDeviceGetAttribute", attribute, &can,
			   manages, cuda->context.gpu);
	/* The smallest unit: a pool decides itself how much it maps at once. */
	if (status == PHILOX_OK && can)
		status = ON_DRIVER(device, "cuMemGetAllocationGranularity",
				   unit, unit, &prop,
				   CU_MEM_ALLOC_GRANULARITY_MINIMUM);
	if (status != PHILOX_OK)
		snprintf(spaces->lacking, sizeof(spaces->lacking), "%.150s",
			 philox_error_message());
	else if (!can)
		snprintf(spaces->lacking, sizeof(spaces->lacking),
			 "the GPU has no virtual memory management");
}

void cuda_spaces_open(struct cuda_device *cuda)
{
	pthread_mutex_init(&cuda->spaces.lock, NULL);
	if (find_functions(&cuda->spaces))
		ask_gpu(cuda);
}

void cuda_spaces_close(struct cuda_device *cuda)
{
	while (cuda->spaces.records.first)
		spaces_remove(&cuda->spaces.records,
			      cuda->spaces.records.first);
	pthread_mutex_destroy(&cuda->spaces.lock);
}

static enum philox_status need_spaces(struct philox_device *device,
				      const char *what)
{
	const struct cuda_spaces *spaces = spaces_of(device);

	if (!spaces->lacking[0])
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_UNSUPPORTED,
			  "%s: device %s has no spaces: %s", what, device->name,
			  spaces->lacking);
}

/*
 * As the contract's unsafe operations begin, see the top of the file; then the
 * spaces are locked.
 */
static enum philox_status begin_unsafe(struct philox_device *device,
				       const char *what)
{
	enum philox_status status = need_spaces(device, what), destroyed;
	struct status_message kept;
	cudaEvent_t event;

	if (status == PHILOX_OK)
		status = ON(device, cudaEventCreateWithFlags, &event,
			    cudaEventDisableTiming);
	if (status != PHILOX_OK)
		return status;
	status = ON(device, cudaEventQuery, event);
	kept = status_kept();
	destroyed = ON(device, cudaEventDestroy, event);
	if (status != PHILOX_OK) {
		status_restore(&kept);
		return status_prefix(status, "%s: ", what);
	}
	if (destroyed == PHILOX_OK)
		pthread_mutex_lock(&spaces_of(device)->lock);
	return destroyed;
}

static enum philox_status end_unsafe(struct philox_device *device,
				     enum philox_status status)
{
	pthread_mutex_unlock(&spaces_of(device)->lock);
	return status;
}

enum philox_status cuda_space_granularity(struct philox_device *device,
					  size_t *bytes)
{
	enum philox_status status = need_spaces(device, "space_granularity");

	if (status == PHILOX_OK)
		*bytes = spaces_of(device)->records.granularity;
	return status;
}

/* --- spaces --------------------------------------------------------------- */

static enum philox_status reserve_space(struct philox_device *device,
					size_t bytes, void **base)
{
	struct spaces *records = &spaces_of(device)->records;
	enum philox_status status = spaces_may_reserve(records, bytes);
	CUdeviceptr address;

	if (status == PHILOX_OK)
		status = ON_DRIVER(device, "cuMemAddressReserve", reserve,
				   &address, bytes, records->granularity, 0, 0);
	if (status != PHILOX_OK)
		return status;
	if (spaces_add(records, (void *)address, bytes)) {
		*base = (void *)address;
		return PHILOX_OK;
	}
	(void)ON_DRIVER(device, "cuMemAddressFree", release, address, bytes);
	return status_set(PHILOX_ERROR_MEMORY,
			  "space_reserve: no memory of the host for a space");
}

enum philox_status cuda_space_reserve(struct philox_device *device,
				      size_t bytes, void **base)
{
	enum philox_status status = begin_unsafe(device, "space_reserve");

	if (status != PHILOX_OK)
		return status;
	return end_unsafe(device, reserve_space(device, bytes, base));
}

static enum philox_status release_space(struct philox_device *device,
					void *base)
{
	struct spaces *records = &spaces_of(device)->records;
	struct space *space;
	enum philox_status status = spaces_may_release(records, base, &space);

	if (status == PHILOX_OK)
		status = ON_DRIVER(device, "cuMemAddressFree", release,
				   (CUdeviceptr)base, space->size);
	if (status == PHILOX_OK)
		spaces_remove(records, space);
	return status;
}

enum philox_status cuda_space_release(struct philox_device *device, void *base)
{
	enum philox_status status = begin_unsafe(device, "space_release");

	if (status != PHILOX_OK)
		return status;
	return end_unsafe(device, release_space(device, base));
}

/* --- extents -------------------------------------------------------------- */

static void take_back(struct philox_device *device, CUdeviceptr address,
		      size_t bytes)
{
	const struct status_message kept = status_kept();

	(void)ON_DRIVER(device, "cuMemUnmap", unmap, address, bytes);
	status_restore(&kept);
}

static enum philox_status map_handle(struct philox_device *device,
				     CUmemGenericAllocationHandle handle,
				     CUdeviceptr address, size_t bytes)
{
	const CUmemAccessDesc access = {
		.location = properties((struct cuda_device *)device).location,
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	enum philox_status status = ON_DRIVER(device, "cuMemMap", map, address,
					      bytes, 0, handle, 0);

	if (status != PHILOX_OK)
		return status;
	status = ON_DRIVER(device, "cuMemSetAccess", allow, address, bytes,
			   &access, 1);
	if (status != PHILOX_OK)
		take_back(device, address, bytes);
	return status;
}

/*
 * The mapping keeps the memory: "The generic memory handle can be freed when
 * there are still outstanding mappings made with this handle" (cuda.h,
 * cuMemRelease). So unmapping is all that gives it back.
 */
static enum philox_status map_memory(struct philox_device *device,
				     CUdeviceptr address, size_t bytes)
{
	const CUmemAllocationProp prop =
		properties((struct cuda_device *)device);
	CUmemGenericAllocationHandle handle;
	enum philox_status status, dropped;
	struct status_message kept;

	status = ON_DRIVER(device, "cuMemCreate", create, &handle, bytes, &prop,
			   0);
	if (status != PHILOX_OK)
		return status;
	status = map_handle(device, handle, address, bytes);
	kept = status_kept();
	dropped = ON_DRIVER(device, "cuMemRelease", drop, handle);
	if (status != PHILOX_OK)
		status_restore(&kept);
	else if (dropped != PHILOX_OK)
		take_back(device, address, bytes);
	return status != PHILOX_OK ? status : dropped;
}

static enum philox_status map_extent(struct philox_device *device, void *base,
				     size_t offset, size_t bytes)
{
	struct space *space;
	enum philox_status status = spaces_may_map(&spaces_of(device)->records,
						   base, offset, bytes, &space);

	if (status == PHILOX_OK)
		status = map_memory(device, (CUdeviceptr)base + offset, bytes);
	if (status == PHILOX_OK)
		space_add_extent(space, offset, bytes);
	return status;
}

enum philox_status cuda_space_map(struct philox_device *device, void *base,
				  size_t offset, size_t bytes)
{
	enum philox_status status = begin_unsafe(device, "space_map");

	if (status != PHILOX_OK)
		return status;
	return end_unsafe(device, map_extent(device, base, offset, bytes));
}

static enum philox_status unmap_extent(struct philox_device *device, void *base,
				       size_t offset, size_t bytes)
{
	struct space *space;
	enum philox_status status = spaces_may_unmap(
		&spaces_of(device)->records, base, offset, bytes, &space);

	if (status == PHILOX_OK)
		status = ON_DRIVER(device, "cuMemUnmap", unmap,
				   (CUdeviceptr)base + offset, bytes);
	if (status == PHILOX_OK)
		space_remove_extent(space, offset);
	return status;
}

enum philox_status cuda_space_unmap(struct philox_device *device, void *base,
				    size_t offset, size_t bytes)
{
	enum philox_status status = begin_unsafe(device, "space_unmap");

	if (status != PHILOX_OK)
		return status;
	return end_unsafe(device, unmap_extent(device, base, offset, bytes));
}
