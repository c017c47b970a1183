/*
 * tests/device/space_cuda.c - what lib/device/cuda/space.c takes from the
 * driver
 *
 * The driver's functions themselves, on the first GPU: that they exist under
 * these names, and refuse what cuda.h says they refuse.
 */
#include <criterion/criterion.h>
#include "lib/device/device.h"
#include "lib/device/cuda/cuda.h"
#include "tests/support/support.h"

static struct philox_device *device;
static struct cuda_spaces *driver;
static CUmemAllocationProp memory;
static size_t unit;

/* A device whose context is current, and a space of four units. */
static CUdeviceptr need_space(void)
{
	struct cuda_device *cuda;
	CUdeviceptr base = 0;
	unsigned count;
	int pushed;

	if (philox_device_count("cuda", &count) != PHILOX_OK)
		cr_skip_test("needs a GPU: %s", philox_error_message());
	OK(philox_device_open("cuda", &device));
	if (device_space_granularity(device, &unit) != PHILOX_OK)
		cr_skip_test("needs spaces: %s", philox_error_message());
	cuda = (struct cuda_device *)device;
	driver = &cuda->spaces;
	memory = (CUmemAllocationProp){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE,
			     .id = cuda->context.gpu}};
	cr_assert_eq(cuda_context_enter(&cuda->context, &pushed), cudaSuccess);
	cr_assert_eq(driver->reserve(&base, 4 * unit, 0, 0, 0), CUDA_SUCCESS);
	return base;
}

static CUmemGenericAllocationHandle make(size_t bytes)
{
	CUmemGenericAllocationHandle handle = 0;

	cr_assert_eq(driver->create(&handle, bytes, &memory, 0), CUDA_SUCCESS);
	return handle;
}

#define REFUSED(call) \
	cr_expect_eq(call, CUDA_ERROR_INVALID_VALUE, "%s is not refused", #call)

/* Half of a handle may be mapped, at least with a driver of CUDA 13.0. */
Test(space_cuda, the_driver_has_whole_units, .timeout = 120)
{
	CUdeviceptr base = need_space();
	CUmemGenericAllocationHandle handle = make(unit);

	REFUSED(driver->create(&handle, unit / 2, &memory, 0));
	REFUSED(driver->map(base + unit / 2, unit, 0, handle, 0));
	REFUSED(driver->release(base, 2 * unit));
	cr_expect_eq(driver->drop(handle), CUDA_SUCCESS);
	cr_expect_eq(driver->release(base, 4 * unit), CUDA_SUCCESS);
	OK(philox_device_close(device));
}

/* A handle that was released lasts as long as its mapping. */
Test(space_cuda, the_driver_maps_once_and_unmaps_whole, .timeout = 120)
{
	CUdeviceptr base = need_space();
	CUmemGenericAllocationHandle first = make(2 * unit),
				     second = make(unit);
	const CUmemAccessDesc access = {
		.location = memory.location,
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

	REFUSED(driver->allow(base, unit, &access, 1));
	cr_assert_eq(driver->map(base, 2 * unit, 0, first, 0), CUDA_SUCCESS);
	cr_assert_eq(driver->drop(first), CUDA_SUCCESS);
	REFUSED(driver->map(base + unit, unit, 0, second, 0));
	REFUSED(driver->map(base + 4 * unit, unit, 0, second, 0));
	cr_assert_eq(driver->allow(base, 2 * unit, &access, 1), CUDA_SUCCESS);
	REFUSED(driver->unmap(base, unit));
	OK(philox_memory_set(device, NULL, (void *)base, 1, 2 * unit));
	OK(philox_device_synchronize(device));
	cr_expect_eq(driver->unmap(base, 2 * unit), CUDA_SUCCESS);
	cr_assert_eq(driver->map(base + unit, unit, 0, second, 0),
		     CUDA_SUCCESS);
	cr_expect_eq(driver->unmap(base + unit, unit), CUDA_SUCCESS);
	cr_expect_eq(driver->drop(second), CUDA_SUCCESS);
	cr_expect_eq(driver->release(base, 4 * unit), CUDA_SUCCESS);
	OK(philox_device_close(device));
}
