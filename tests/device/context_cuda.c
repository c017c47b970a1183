/*
 * tests/device/context_cuda.c - the thread's current context does not change
 *
 * Checked with the driver's own functions, which the runtime hands out, on the
 * last GPU: not GPU 0 where there are two.
 */
#include <criterion/criterion.h>
#include <cudaTypedefs.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "lib/device/cuda/compat.h"
#include "lib/device/device.h"
#include "tests/support/support.h"

/* --- the driver ----------------------------------------------------------- */

#define DRIVER_LIST(X)                      \
	X(cuInit, 2000)                     \
	X(cuDeviceGet, 2000)                \
	X(cuDevicePrimaryCtxGetState, 7000) \
	X(cuCtxGetCurrent, 4000)            \
	X(cuCtxPopCurrent, 4000)            \
	X(cuCtxCreate, 11040)               \
	X(cuCtxDestroy, 4000)

#define DRIVER_POINTER(name, version) static PFN_##name##_v##version the_##name;
DRIVER_LIST(DRIVER_POINTER)

static void find_driver(void)
{
#define DRIVER_FIND(name, version)                                        \
	cr_assert_eq(compat_driver_function(#name, (void **)&the_##name), \
		     cudaSuccess);
	DRIVER_LIST(DRIVER_FIND)
	cr_assert_eq(the_cuInit(0), CUDA_SUCCESS);
}

static CUcontext current(void)
{
	CUcontext context = (CUcontext)1;

	the_cuCtxGetCurrent(&context);
	return context;
}

static int is_active(int index)
{
	unsigned flags;
	CUdevice gpu;
	int active;

	cr_assert_eq(the_cuDeviceGet(&gpu, index), CUDA_SUCCESS);
	cr_assert_eq(the_cuDevicePrimaryCtxGetState(gpu, &flags, &active),
		     CUDA_SUCCESS);
	return active;
}

/* --- what is done with a device ------------------------------------------- */

static unsigned need_gpus(unsigned wanted)
{
	unsigned count;

	if (philox_device_count("cuda", &count) != PHILOX_OK)
		cr_skip_test("needs a GPU: %s", philox_error_message());
	if (count < wanted)
		cr_skip_test("needs %u GPUs: there is one", wanted);
	find_driver();
	return count;
}

static struct philox_device *open_gpu(unsigned index)
{
	struct philox_device *device;
	char name[32];

	snprintf(name, sizeof(name), "cuda:%u", index);
	OK(philox_device_open(name, &device));
	return device;
}

/* One call; the function returns what is wrong afterwards, or NULL. */
#define STEP(call)                                                    \
	do {                                                          \
		if ((call) != PHILOX_OK)                              \
			return #call " failed";                       \
		if (current() != context)                             \
			return #call " left another context current"; \
	} while (0)

/* Work in a stream, then the same from a graph, and its numbers. */
static const char *use(struct philox_device *device, CUcontext context)
{
	struct fill_args args = {.count = 64, .rows = 1};
	struct kernel_call call = {
		KERNEL_bits_u32, &args, sizeof(args), 16, NULL, 0};
	uint32_t numbers[2][64];
	philox_native_graph graph;
	philox_native_exec exec;
	philox_stream stream;
	philox_event event;

	STEP(philox_memory_alloc(device, 256, &args.out));
	STEP(philox_stream_create(device, 0, &stream));
	STEP(philox_event_create(device, &event));
	STEP(device_launch(device, stream, &call));
	STEP(philox_memory_copy(device, stream, numbers[0], args.out, 256));
	STEP(philox_memory_set(device, stream, args.out, 0, 256));
	STEP(philox_event_record(device, stream, event));
	STEP(philox_event_synchronize(device, event));

	/* Other threads allocate in the meantime */
	STEP(philox_stream_begin_capture(device, stream,
					 PHILOX_CAPTURE_THREAD_LOCAL));
	STEP(device_launch(device, stream, &call));
	STEP(philox_stream_end_capture(device, stream, &graph));
	STEP(philox_native_graph_instantiate(device, graph, &exec));
	STEP(philox_native_exec_launch(device, stream, exec));
	STEP(philox_memory_copy(device, stream, numbers[1], args.out, 256));
	STEP(philox_stream_synchronize(device, stream));
	if (memcmp(numbers[0], numbers[1], sizeof(numbers[0])) != 0 ||
	    numbers[0][0] == numbers[0][1])
		return "the numbers are wrong";

	STEP(philox_native_exec_destroy(device, exec));
	STEP(philox_native_graph_destroy(device, graph));
	STEP(philox_event_destroy(device, event));
	STEP(philox_stream_destroy(device, stream));
	STEP(philox_memory_free(device, args.out));
	return NULL;
}

static void check_use(struct philox_device *device)
{
	const char *wrong = use(device, current());

	cr_assert_null(wrong, "%s: %s", wrong, philox_error_message());
}

/* --- promises ------------------------------------------------------------- */

Test(context_cuda, a_thread_without_a_context_has_none_afterwards,
     .timeout = 120)
{
	unsigned last = need_gpus(1) - 1;
	struct philox_device *device = open_gpu(last);

	cr_assert_null(current());
	check_use(device);
	philox_device_close(device);
	cr_assert_null(current());
}

Test(context_cuda, no_other_gpu_is_initialised, .timeout = 120)
{
	unsigned last = need_gpus(2) - 1;
	struct philox_device *device = open_gpu(last);

	check_use(device);
	cr_assert(is_active((int)last));
	philox_device_close(device);
	for (unsigned i = 0; i < last; i++)
		cr_assert_not(is_active((int)i), "GPU %u", i);
}

Test(context_cuda, a_context_of_the_callers_stays_current, .timeout = 120)
{
	unsigned last = need_gpus(1) - 1;
	struct philox_device *device;
	CUcontext own, popped;
	CUdevice gpu;

	/* On the GPU in use, and on another if there is one */
	for (unsigned i = 0; i <= last; i++) {
		cr_assert_eq(the_cuDeviceGet(&gpu, (int)i), CUDA_SUCCESS);
		cr_assert_eq(the_cuCtxCreate(&own, NULL, 0, 0, gpu),
			     CUDA_SUCCESS);
		device = open_gpu(last);
		cr_assert_eq(current(), own);
		check_use(device);
		philox_device_close(device);
		cr_assert_eq(the_cuCtxPopCurrent(&popped), CUDA_SUCCESS);
		cr_assert_eq(popped, own);
		cr_assert_null(current(), "a context was left below");
		cr_assert_eq(the_cuCtxDestroy(own), CUDA_SUCCESS);
	}
}

Test(context_cuda, the_device_that_the_caller_chose_stays_chosen,
     .timeout = 120)
{
	unsigned count = need_gpus(2);
	struct philox_device *devices[] = {open_gpu(0), open_gpu(count - 1)};
	int now;

	for (int chosen = 0; chosen < (int)count; chosen++) {
		cr_assert_eq(cudaSetDevice(chosen), cudaSuccess);
		for (int i = 0; i < 4; i++) {
			check_use(devices[i % 2]);
			cr_assert_eq(cudaGetDevice(&now), cudaSuccess);
			cr_assert_eq(now, chosen);
		}
	}
	philox_device_close(devices[1]);
	check_use(devices[0]);
	philox_device_close(devices[0]);
}

/* Each device's capture goes on while the thread uses the other device. */
Test(context_cuda, two_devices_capture_on_one_thread, .timeout = 120)
{
	unsigned count = need_gpus(2);
	struct philox_device *devices[] = {open_gpu(0), open_gpu(count - 1)};
	philox_native_graph graphs[2];
	philox_stream streams[2];
	void *memory[2];
	size_t nodes;

	for (int i = 0; i < 2; i++) {
		OK(philox_memory_alloc(devices[i], 64, &memory[i]));
		OK(philox_stream_create(devices[i], 0, &streams[i]));
		OK(philox_stream_begin_capture(devices[i], streams[i],
					       PHILOX_CAPTURE_GLOBAL));
	}
	for (int i = 0; i < 6; i++)
		OK(philox_memory_set(devices[i % 2], streams[i % 2],
				     memory[i % 2], i, 64));
	for (int i = 0; i < 2; i++) {
		OK(philox_stream_end_capture(devices[i], streams[i],
					     &graphs[i]));
		OK(philox_native_graph_node_count(devices[i], graphs[i],
						  &nodes));
		cr_assert_eq(nodes, 3);
		OK(philox_native_graph_destroy(devices[i], graphs[i]));
		OK(philox_stream_destroy(devices[i], streams[i]));
		OK(philox_memory_free(devices[i], memory[i]));
		philox_device_close(devices[i]);
	}
	cr_assert_null(current());
}

static void *use_often(void *device)
{
	const char *wrong = NULL;

	for (int i = 0; !wrong && i < 8; i++)
		wrong = use(device, NULL);
	return (void *)wrong;
}

Test(context_cuda, threads_without_a_context_work_and_have_none_afterwards,
     .timeout = 120)
{
	struct philox_device *device = open_gpu(need_gpus(1) - 1);
	pthread_t threads[4];
	void *wrong;

	for (int i = 0; i < 4; i++)
		cr_assert_eq(
			pthread_create(&threads[i], NULL, use_often, device),
			0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &wrong);
		cr_assert_null(wrong, "%s", (const char *)wrong);
	}
	cr_assert_null(current());
	philox_device_close(device);
}
