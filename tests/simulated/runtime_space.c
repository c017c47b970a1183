/*
 * tests/simulated/runtime_space.c - the driver's virtual memory management
 *
 * As cuda.h describes it: memory is made (cuMemCreate), mapped where addresses
 * were reserved, and cannot be used before access is set; a handle may be
 * released while its mapping lasts. What a GPU is given in a capture these
 * functions take, since cuda.h does not say that they refuse it. Stricter than
 * the driver may be: reserved sizes are whole units, a handle is mapped once,
 * and whole, and what is unmapped was mapped by one call.
 */
#include <cudaTypedefs.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "tests/simulated/runtime.h"

#define FABRIC_SUPPORTED 128 /* from CUDA 12.3 on in cuda.h */

/* Memory that was made; it counts as used from then on. */
struct handle {
	size_t size;
	int mapped;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static CUresult said(enum philox_status status)
{
	switch (status) {
	case PHILOX_OK:
		return CUDA_SUCCESS;
	case PHILOX_ERROR_INVALID:
	case PHILOX_ERROR_STATE:
		return CUDA_ERROR_INVALID_VALUE;
	case PHILOX_ERROR_MEMORY:
		return CUDA_ERROR_OUT_OF_MEMORY;
	default:
		return CUDA_ERROR_UNKNOWN;
	}
}

/* An operation of the current GPU that no capture forbids. */
#define GPU(name, ...)                                                  \
	({                                                              \
		struct philox_device *gpu = runtime_gpu();              \
		enum philox_capture_mode mode = PHILOX_CAPTURE_RELAXED; \
		enum philox_status status = PHILOX_ERROR_MEMORY;        \
                                                                        \
		if (gpu) {                                              \
			gpu->ops->capture_mode(gpu, &mode);             \
			status = gpu->ops->name(gpu, __VA_ARGS__);      \
			gpu->ops->capture_mode(gpu, &mode);             \
		}                                                       \
		said(status);                                           \
	})

static int is_whole(size_t bytes)
{
	return bytes && bytes % RUNTIME_UNIT == 0;
}

static CUresult attribute(int *value, CUdevice_attribute which, CUdevice gpu)
{
	(void)gpu;
	switch ((int)which) {
	case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
		*value = 1;
		return CUDA_SUCCESS;
	case FABRIC_SUPPORTED:
		*value = 0;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static int is_memory_of_gpu(const CUmemAllocationProp *prop)
{
	return prop->type == CU_MEM_ALLOCATION_TYPE_PINNED &&
	       prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
	       (prop->requestedHandleTypes == 0 ||
		prop->requestedHandleTypes ==
			CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

static CUresult granularity(size_t *bytes, const CUmemAllocationProp *prop,
			    CUmemAllocationGranularity_flags option)
{
	if (!is_memory_of_gpu(prop) ||
	    option != CU_MEM_ALLOC_GRANULARITY_MINIMUM)
		return CUDA_ERROR_INVALID_VALUE;
	*bytes = RUNTIME_UNIT;
	return CUDA_SUCCESS;
}

/* --- addresses ------------------------------------------------------------ */

static CUresult reserve(CUdeviceptr *address, size_t size, size_t alignment,
			CUdeviceptr hint, unsigned long long flags)
{
	CUresult result;
	void *base;

	if (!is_whole(size) || alignment > RUNTIME_UNIT ||
	    (alignment & (alignment - 1)) || hint || flags)
		return CUDA_ERROR_INVALID_VALUE;
	result = GPU(space_reserve, size, 0, &base);
	if (result == CUDA_SUCCESS)
		*address = (CUdeviceptr)base;
	return result;
}

/* The space that an address lies in; *base and *size are its own. */
static int find_space(CUdeviceptr address, char **base, size_t *size)
{
	struct philox_device *gpu = runtime_gpu();
	struct space *space = NULL;

	if (!gpu)
		return 0;
	host_lock(host_of(gpu));
	space = host_of(gpu)->spaces.first;
	while (space && address - (CUdeviceptr)space->base >= space->size)
		space = space->next;
	if (space) {
		*base = space->base;
		*size = space->size;
	}
	host_unlock(host_of(gpu));
	return space != NULL;
}

static CUresult release(CUdeviceptr address, size_t size)
{
	size_t whole;
	char *base;

	if (!find_space(address, &base, &whole) ||
	    address != (CUdeviceptr)base || size != whole)
		return CUDA_ERROR_INVALID_VALUE;
	return GPU(space_release, base);
}

/* --- memory --------------------------------------------------------------- */

/* Counts memory that no space has. */
static CUresult use_memory(size_t size)
{
	struct host_device *gpu = host_of(runtime_gpu());
	enum philox_status status;

	host_lock(gpu);
	status = host_within_limit(gpu, size, "cuMemCreate");
	if (status == PHILOX_OK)
		gpu->used += size;
	host_unlock(gpu);
	return said(status);
}

static void unuse_memory(size_t size)
{
	struct host_device *gpu = host_of(runtime_gpu());

	host_lock(gpu);
	gpu->used -= size;
	host_unlock(gpu);
}

static CUresult create(CUmemGenericAllocationHandle *result, size_t size,
		       const CUmemAllocationProp *prop,
		       unsigned long long flags)
{
	struct handle *handle;
	CUresult used;

	if (!is_whole(size) || !is_memory_of_gpu(prop) || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!runtime_gpu())
		return CUDA_ERROR_OUT_OF_MEMORY;
	used = use_memory(size);
	if (used != CUDA_SUCCESS)
		return used;
	handle = calloc(1, sizeof(*handle));
	if (!handle) {
		unuse_memory(size);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	handle->size = size;
	*result = (CUmemGenericAllocationHandle)(uintptr_t)handle;
	return CUDA_SUCCESS;
}

/* What is mapped is the space's, and goes with its mapping. */
static CUresult drop(CUmemGenericAllocationHandle value)
{
	struct handle *handle = (struct handle *)(uintptr_t)value;

	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	if (!handle->mapped)
		unuse_memory(handle->size);
	free(handle);
	return CUDA_SUCCESS;
}

static CUresult map_handle(CUdeviceptr address, struct handle *handle)
{
	CUresult result;
	size_t whole;
	char *base;

	if (handle->mapped || !find_space(address, &base, &whole))
		return CUDA_ERROR_INVALID_VALUE;
	unuse_memory(handle->size);
	result =
		GPU(space_map, base, address - (CUdeviceptr)base, handle->size);
	handle->mapped = result == CUDA_SUCCESS;
	if (!handle->mapped)
		(void)use_memory(handle->size);
	else if (mprotect((void *)address, handle->size, PROT_NONE))
		return CUDA_ERROR_UNKNOWN;
	return result;
}

static CUresult map(CUdeviceptr address, size_t size, size_t offset,
		    CUmemGenericAllocationHandle value,
		    unsigned long long flags)
{
	struct handle *handle = (struct handle *)(uintptr_t)value;
	CUresult result;

	if (!handle || size != handle->size || offset || flags)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	result = map_handle(address, handle);
	pthread_mutex_unlock(&lock);
	return result;
}

/* Whether all of a range is mapped. */
static int is_mapped(CUdeviceptr address, size_t size)
{
	struct host_device *gpu = host_of(runtime_gpu());
	CUdeviceptr end = address + size;

	host_lock(gpu);
	while (address < end) {
		struct host_block *block = host_block_at(gpu, (void *)address);

		if (!block || !block->space)
			break;
		address = (CUdeviceptr)block->memory + block->size;
	}
	host_unlock(gpu);
	return address >= end;
}

/* Each GPU once. */
static int are_gpus(const CUmemAccessDesc *access, size_t count)
{
	unsigned seen = 0;

	for (size_t i = 0; i < count; i++) {
		const CUmemLocation *location = &access[i].location;

		const int gpu = location->id - RUNTIME_FIRST;

		if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || gpu < 0 ||
		    gpu >= RUNTIME_GPUS || seen >> gpu & 1 ||
		    access[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
			return 0;
		seen |= 1u << gpu;
	}
	return seen != 0;
}

static CUresult allow(CUdeviceptr address, size_t size,
		      const CUmemAccessDesc *access, size_t count)
{
	if (!are_gpus(access, count) || !is_whole(size) ||
	    address % RUNTIME_UNIT || !is_mapped(address, size))
		return CUDA_ERROR_INVALID_VALUE;
	if (mprotect((void *)address, size, PROT_READ | PROT_WRITE))
		return CUDA_ERROR_OUT_OF_MEMORY;
	return CUDA_SUCCESS;
}

static CUresult unmap(CUdeviceptr address, size_t size)
{
	size_t whole;
	char *base;

	if (!find_space(address, &base, &whole) || !is_whole(size))
		return CUDA_ERROR_INVALID_VALUE;
	return GPU(space_unmap, base, address - (CUdeviceptr)base, size);
}

/* --- finding them --------------------------------------------------------- */

void *runtime_space_function(const char *name)
{
	static const struct {
		const char *name;
		void *function;
	} functions[] = {
		{"cuDeviceGetAttribute", attribute},
		{"cuMemGetAllocationGranularity", granularity},
		{"cuMemAddressReserve", reserve},
		{"cuMemAddressFree", release},
		{"cuMemCreate", create},
		{"cuMemRelease", drop},
		{"cuMemMap", map},
		{"cuMemSetAccess", allow},
		{"cuMemUnmap", unmap},
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (!strcmp(functions[i].name, name))
			return functions[i].function;
	return NULL;
}
