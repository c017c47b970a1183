/*
 * tests/device/captures.c - asking for captures, and work during them
 */
#include <criterion/criterion.h>
#include <string.h>
#include "lib/device/device.h"
#include "tests/support/support.h"

struct asked {
	struct philox_device *device;
	philox_stream stream;
	struct capture_info info;
};

static void open_asked(struct asked *a)
{
	memset(a, 0, sizeof(*a));
	OK(philox_device_open("host", &a->device));
	OK(philox_stream_create(a->device, 0, &a->stream));
	memset(&a->info, 0xff, sizeof(a->info));
}

static void begin_capture(struct asked *a)
{
	OK(philox_stream_begin_capture(a->device, a->stream,
				       PHILOX_CAPTURE_THREAD_LOCAL));
}

static enum philox_status end_capture(struct asked *a)
{
	philox_native_graph graph;
	enum philox_status status =
		philox_stream_end_capture(a->device, a->stream, &graph);

	if (status == PHILOX_OK)
		OK(philox_native_graph_destroy(a->device, graph));
	return status;
}

/* Is unsafe during captures: it shows whether the thread is relaxed. */
static enum philox_status allocate(struct asked *a)
{
	void *memory;
	enum philox_status status = philox_memory_alloc(a->device, 16, &memory);

	if (status == PHILOX_OK)
		OK(philox_memory_free(a->device, memory));
	return status;
}

static void break_capture(struct asked *a)
{
	FAILS(allocate(a), PHILOX_ERROR_CAPTURE_UNSUPPORTED);
}

Test(captures, a_stream_that_is_not_capturing_has_none)
{
	struct asked a;

	open_asked(&a);
	OK(device_ask_capture(a.device, a.stream, &a.info));
	cr_assert_eq(a.info.status, PHILOX_CAPTURE_NONE);
	cr_assert_eq(a.info.id, 0);
	cr_assert_null(a.info.graph);
	OK(device_refuse_capture(a.device, a.stream));
	philox_device_close(a.device);
}

Test(captures, a_capture_in_progress_has_an_id_and_a_graph)
{
	struct asked a;

	open_asked(&a);
	begin_capture(&a);
	OK(device_ask_capture(a.device, a.stream, &a.info));
	cr_assert_eq(a.info.status, PHILOX_CAPTURE_ACTIVE);
	cr_assert_neq(a.info.id, 0);
	cr_assert_not_null(a.info.graph);
	OK(end_capture(&a));
	philox_device_close(a.device);
}

Test(captures, asking_about_an_invalidated_capture_is_an_error)
{
	struct asked a;

	open_asked(&a);
	begin_capture(&a);
	break_capture(&a);
	FAILS(device_ask_capture(a.device, a.stream, &a.info),
	      PHILOX_ERROR_CAPTURE_INVALIDATED);
	NAMES("must be ended");
	FAILS(end_capture(&a), PHILOX_ERROR_CAPTURE_INVALIDATED);
	philox_device_close(a.device);
}

Test(captures, a_capture_that_is_refused_stays_whole)
{
	struct asked a;

	open_asked(&a);
	begin_capture(&a);
	FAILS(device_refuse_capture(a.device, a.stream),
	      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	NAMES("capturing");
	OK(end_capture(&a));
	begin_capture(&a);
	break_capture(&a);
	FAILS(device_refuse_capture(a.device, a.stream),
	      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	FAILS(end_capture(&a), PHILOX_ERROR_CAPTURE_INVALIDATED);
	philox_device_close(a.device);
}

Test(captures, a_device_that_cannot_tell_is_an_error)
{
	struct asked a;

	open_asked(&a);
	OK(philox_device_fail(a.device, "capture_info", 1,
			      PHILOX_ERROR_DEVICE));
	FAILS(device_ask_capture(a.device, a.stream, &a.info),
	      PHILOX_ERROR_DEVICE);
	OK(philox_device_fail(a.device, "capture_info", 1,
			      PHILOX_ERROR_DEVICE));
	FAILS(device_refuse_capture(a.device, a.stream), PHILOX_ERROR_DEVICE);
	philox_device_close(a.device);
}

Test(captures, relaxed_work_leaves_captures_whole_and_ends)
{
	enum philox_capture_mode mode;
	struct asked a;

	open_asked(&a);
	begin_capture(&a);
	OK(device_relaxed_begin(a.device, &mode));
	OK(allocate(&a));
	OK(device_relaxed_end(a.device, mode, PHILOX_OK));
	OK(end_capture(&a));
	begin_capture(&a);
	break_capture(&a); /* the thread is no longer relaxed */
	FAILS(end_capture(&a), PHILOX_ERROR_CAPTURE_INVALIDATED);
	philox_device_close(a.device);
}

Test(captures, the_outcome_of_relaxed_work_survives_its_end)
{
	enum philox_capture_mode mode;
	enum philox_status status;
	struct asked a;
	void *memory;

	open_asked(&a);
	begin_capture(&a);
	OK(device_relaxed_begin(a.device, &mode));
	status = philox_memory_alloc(a.device, 0, &memory);
	OK(philox_device_fail(a.device, "capture_mode", 1,
			      PHILOX_ERROR_DEVICE));
	FAILS(device_relaxed_end(a.device, mode, status), PHILOX_ERROR_INVALID);
	NAMES("size is 0");
	break_capture(&a); /* the mode was restored at the second try */
	FAILS(end_capture(&a), PHILOX_ERROR_CAPTURE_INVALIDATED);
	philox_device_close(a.device);
}

Test(captures, a_thread_that_cannot_relax_stays_as_it_was)
{
	enum philox_capture_mode mode;
	struct asked a;

	open_asked(&a);
	OK(philox_device_fail(a.device, "capture_mode", 1,
			      PHILOX_ERROR_DEVICE));
	FAILS(device_relaxed_begin(a.device, &mode), PHILOX_ERROR_DEVICE);
	begin_capture(&a);
	break_capture(&a);
	FAILS(end_capture(&a), PHILOX_ERROR_CAPTURE_INVALIDATED);
	philox_device_close(a.device);
}
