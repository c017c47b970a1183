/*
 * tests/device/per_thread_cuda.c - CUDA's handle of a thread's default stream
 */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include <cuda_runtime_api.h>
#include "tests/support/support.h"

Test(per_thread_cuda, the_handle_is_cudas)
{
	philox_stream none = NULL;

	cr_assert_eq(PHILOX_STREAM(none), cudaStreamPerThread);
	cr_assert_eq(PHILOX_STREAM(cudaStreamLegacy), cudaStreamLegacy);
}
