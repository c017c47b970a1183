/*
 * tests/device/close.c - what keeps a device open, and what goes with it
 */
#include <pthread.h>
#include <stdlib.h>
#include <philox/device.h>
#include "tests/support/support.h"

static struct philox_device *open_device(const char *name)
{
	struct philox_device *device;

	OK(philox_device_open(name, &device));
	return device;
}

static struct philox_context *make_context(struct philox_device *device)
{
	struct philox_context *context;

	OK(philox_context_create(device, &context));
	return context;
}

static void refuse_while_used(const char *name)
{
	struct philox_device *device = open_device(name);
	struct philox_device *other = open_device(name);
	struct philox_context *first = make_context(device);
	struct philox_context *second = make_context(device);
	struct philox_context *third = make_context(other);
	struct philox_state *state;

	FAILS(philox_device_close(device), PHILOX_ERROR_BUSY);
	NAMES(name);
	NAMES("2 contexts on it are not");
	philox_context_destroy(second);
	FAILS(philox_device_close(device), PHILOX_ERROR_BUSY);
	NAMES("1 context on it is not");
	OK(philox_memory_alloc(device, sizeof(*state), (void **)&state));
	OK(philox_generator_copy_state(philox_context_generator(first), NULL,
				       state));
	OK(philox_memory_free(device, state));
	philox_context_destroy(third);
	OK(philox_device_close(other));
	philox_context_destroy(first);
	OK(philox_device_close(device));
}

Test(close, waits_for_the_contexts_of_the_device)
{
	refuse_while_used("host");
	refuse_while_used("host:sync");
	refuse_while_used("host:strict");
}

Test(close, of_no_device_succeeds)
{
	OK(philox_device_close(NULL));
}

Test(close, a_context_that_could_not_be_made_uses_nothing)
{
	struct philox_device *device = open_device("host");
	struct philox_context *context = NULL;

	setenv("PHILOX_JOURNAL", "/there/is/no/such/folder", 1);
	cr_assert_neq(philox_context_create(device, &context), PHILOX_OK);
	unsetenv("PHILOX_JOURNAL");
	cr_assert_null(context);
	OK(philox_device_close(device));
}

/* So none of them can make it fail, or wait. */
Test(close, a_context_is_made_without_an_operation_of_the_device)
{
	struct philox_device *device = open_device("host");
	struct philox_context *context = make_context(device);

	cr_assert_eq(philox_device_call_count(device, NULL), 0);
	philox_context_destroy(context);
	OK(philox_device_close(device));
}

static void *make_and_destroy(void *device)
{
	for (int i = 0; i < 100; i++)
		philox_context_destroy(make_context(device));
	return NULL;
}

Test(close, contexts_of_several_threads_are_counted, .timeout = 120)
{
	struct philox_device *device = open_device("host:sync");
	struct philox_context *context = make_context(device);
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		cr_assert(!pthread_create(&threads[i], NULL, make_and_destroy,
					  device));
	FAILS(philox_device_close(device), PHILOX_ERROR_BUSY);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	FAILS(philox_device_close(device), PHILOX_ERROR_BUSY);
	NAMES("1 context on it");
	philox_context_destroy(context);
	OK(philox_device_close(device));
}

/* --- during captures ------------------------------------------------------ */

Test(close, is_refused_by_a_capture_of_the_device)
{
	struct philox_device *device = open_device("host");
	philox_native_graph graph;
	philox_stream stream;

	OK(philox_stream_create(device, 0, &stream));
	OK(philox_stream_begin_capture(device, stream,
				       PHILOX_CAPTURE_THREAD_LOCAL));
	FAILS(philox_device_close(device), PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	NAMES("philox_device_close");
	FAILS(philox_stream_end_capture(device, stream, &graph),
	      PHILOX_ERROR_CAPTURE_INVALIDATED);
	NAMES("philox_device_close");
	OK(philox_stream_synchronize(device, stream));
	OK(philox_device_close(device));
}

Test(close, and_open_leave_captures_of_other_devices_alone)
{
	struct philox_device *device = open_device("host"), *other;
	philox_native_graph graph;
	philox_stream stream;

	OK(philox_stream_create(device, 0, &stream));
	OK(philox_stream_begin_capture(device, stream, PHILOX_CAPTURE_GLOBAL));
	other = open_device("host");
	OK(philox_device_close(other));
	OK(philox_stream_end_capture(device, stream, &graph));
	OK(philox_device_close(device));
}
