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
#include <string.h>
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

/* Those of CUDA 12.3, by the numbers that they have in its headers. */
#define HANDLE_FABRIC ((CUmemAllocationHandleType)8)
#define HAS_FABRIC    ((CUdevice_attribute)128)

static CUmemLocation location_of(CUdevice gpu)
{
	CUmemLocation location;

	memset(&location, 0, sizeof(location));
	location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	location.id = gpu;
	return location;
}

/* Memory of the GPU; without traits it is for this process and GPU alone. */
static CUmemAllocationProp properties(const struct cuda_device *cuda,
				      unsigned traits)
{
	CUmemAllocationProp prop;
	unsigned handles = 0;

	if (traits & SPACE_EXPORT)
		handles |= CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	if (traits & SPACE_FABRIC)
		handles |= HANDLE_FABRIC;
	memset(&prop, 0, sizeof(prop));
	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location = location_of(cuda->context.gpu);
	prop.requestedHandleTypes = (CUmemAllocationHandleType)handles;
	prop.allocFlags.gpuDirectRDMACapable = (traits & SPACE_RDMA) != 0;
	return prop;
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
	const CUmemAllocationProp prop = properties(cuda, 0);
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

/* --- traits --------------------------------------------------------------- */

static enum philox_status check_trait(struct philox_device *device,
				      CUdevice_attribute which,
				      const char *what)
{
	const struct cuda_device *cuda = (const struct cuda_device *)device;
	int has = 0;
	enum philox_status status =
		ON_DRIVER(device, "cuDeviceGetAttribute", attribute, &has,
			  which, cuda->context.gpu);

	/* a driver that does not know the attribute has not what it is of */
	if (status == PHILOX_ERROR_INVALID)
		has = 0;
	else if (status != PHILOX_OK)
		return status;
	return has ? PHILOX_OK
		   : status_set(PHILOX_ERROR_UNSUPPORTED,
				"space_reserve: device %s has no memory for %s",
				device->name, what);
}

/* Memory with the traits must come in the units of other memory. */
static enum philox_status check_unit(struct philox_device *device,
				     unsigned traits)
{
	const CUmemAllocationProp prop =
		properties((const struct cuda_device *)device, traits);
	const size_t needed = spaces_of(device)->records.granularity;
	size_t unit = 1;
	enum philox_status status =
		ON_DRIVER(device, "cuMemGetAllocationGranularity", unit, &unit,
			  &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);

	if (status != PHILOX_OK || needed % unit == 0)
		return status;
	return status_set(PHILOX_ERROR_UNSUPPORTED,
			  "space_reserve: memory that is to be shared comes in "
			  "units of %zu bytes, not of %zu",
			  unit, needed);
}

static enum philox_status check_traits(struct philox_device *device,
				       unsigned traits)
{
	static const struct {
		unsigned trait;
		CUdevice_attribute attribute;
		const char *what;
	} rows[] = {
		{SPACE_RDMA,
		 CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED,
		 "GPUDirect RDMA"},
		{SPACE_EXPORT,
		 CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
		 "export by file descriptors"},
		{SPACE_FABRIC, HAS_FABRIC, "export by fabric handles"},
	};
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (status == PHILOX_OK && traits & rows[i].trait)
			status = check_trait(device, rows[i].attribute,
					     rows[i].what);
	return status == PHILOX_OK && traits ? check_unit(device, traits)
					     : status;
}

/* --- spaces --------------------------------------------------------------- */

static enum philox_status reserve_space(struct philox_device *device,
					size_t bytes, unsigned traits,
					void **base)
{
	struct spaces *records = &spaces_of(device)->records;
	enum philox_status status = spaces_may_reserve(records, bytes);
	CUdeviceptr address;
	struct space *space;

	if (status == PHILOX_OK)
		status = check_traits(device, traits);
	if (status == PHILOX_OK)
		status = ON_DRIVER(device, "cuMemAddressReserve", reserve,
				   &address, bytes, records->granularity, 0, 0);
	if (status != PHILOX_OK)
		return status;
	space = spaces_add(records, (void *)address, bytes);
	if (space) {
		space->traits = traits;
		*base = (void *)address;
		return PHILOX_OK;
	}
	(void)ON_DRIVER(device, "cuMemAddressFree", release, address, bytes);
	return status_set(PHILOX_ERROR_MEMORY,
			  "space_reserve: no memory of the host for a space");
}

enum philox_status cuda_space_reserve(struct philox_device *device,
				      size_t bytes, unsigned traits,
				      void **base)
{
	enum philox_status status = begin_unsafe(device, "space_reserve");

	if (status != PHILOX_OK)
		return status;
	return end_unsafe(device, reserve_space(device, bytes, traits, base));
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

static CUmemAccessDesc access_of(CUdevice gpu)
{
	CUmemAccessDesc access;

	memset(&access, 0, sizeof(access));
	access.location = location_of(gpu);
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	return access;
}

/* A GPU that can reach this one. */
static enum philox_status add_peer(struct philox_device *device, int index,
				   CUmemAccessDesc access[], size_t *n)
{
	const struct cuda_device *cuda = (const struct cuda_device *)device;
	int can = 0;
	CUdevice gpu;
	enum philox_status status =
		ON(device, cudaDeviceCanAccessPeer, &can, index, cuda->index);

	if (status != PHILOX_OK || !can)
		return status;
	status = ON_AS(device, "cuDeviceGet",
		       (cudaError_t)cuda->context.find(&gpu, index));
	if (status == PHILOX_OK)
		access[(*n)++] = access_of(gpu);
	return status;
}

/* The GPU, and with that trait those that can reach it; how many. */
static enum philox_status list_access(struct philox_device *device,
				      unsigned traits, CUmemAccessDesc access[],
				      size_t *n)
{
	const struct cuda_device *cuda = (const struct cuda_device *)device;
	enum philox_status status = PHILOX_OK;
	int count = 0;

	access[0] = access_of(cuda->context.gpu);
	*n = 1;
	if (traits & SPACE_PEERS)
		status = ON(device, cudaGetDeviceCount, &count);
	for (int i = 0; i < count; i++)
		if (status == PHILOX_OK && i != cuda->index &&
		    *n <= SPACE_PEERS_MAX)
			status = add_peer(device, i, access, n);
	return status;
}

static enum philox_status map_handle(struct philox_device *device,
				     CUmemGenericAllocationHandle handle,
				     CUdeviceptr address, size_t bytes,
				     unsigned traits)
{
	CUmemAccessDesc access[1 + SPACE_PEERS_MAX];
	size_t n;
	enum philox_status status = list_access(device, traits, access, &n);

	if (status == PHILOX_OK)
		status = ON_DRIVER(device, "cuMemMap", map, address, bytes, 0,
				   handle, 0);
	if (status != PHILOX_OK)
		return status;
	status = ON_DRIVER(device, "cuMemSetAccess", allow, address, bytes,
			   access, n);
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
				     CUdeviceptr address, size_t bytes,
				     unsigned traits)
{
	const CUmemAllocationProp prop =
		properties((struct cuda_device *)device, traits);
	CUmemGenericAllocationHandle handle;
	enum philox_status status, dropped;
	struct status_message kept;

	status = ON_DRIVER(device, "cuMemCreate", create, &handle, bytes, &prop,
			   0);
	if (status != PHILOX_OK)
		return status;
	status = map_handle(device, handle, address, bytes, traits);
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
		status = map_memory(device, (CUdeviceptr)base + offset, bytes,
				    space->traits);
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
