/*
 * tests/device/per_thread.c - stream 0 in a file with per-thread default
 * streams
 */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include "tests/support/support.h"

PROMISE(per_thread,
	zero_is_the_stream_of_the_thread_and_no_other_handle_changes)
{
	philox_stream none = NULL;

	cr_assert_eq(PHILOX_STREAM(none), (philox_stream)2);
	cr_assert_eq(PHILOX_STREAM(f->stream), f->stream);
	FAILS(philox_stream_synchronize(f->device, PHILOX_STREAM(none)),
	      PHILOX_ERROR_INVALID);
	OK(philox_stream_synchronize(f->device, none));
}
