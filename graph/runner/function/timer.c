/*
 * graph/runner/function/timer.c - what the device takes for launches of recordings
 *
 * Note [Times of the device]
 *
 * A recording of a runner with PHILOX_RUNNER_TIMES has two events, which are
 * recorded around the work of a launch: copies in, the graph, copies back. They
 * are read at the next launch of the recording, or when its times are asked for.
 * If the later one is not reached by then, nobody waits: that launch goes on
 * being timed, and the next one is not. What fails here fails no call.
 */
#include <inttypes.h>
#include "graph/runner/function/function.h"
#include "lib/device/device.h"

/* --- reading -------------------------------------------------------------- */

static void count_time(struct recording *recording, uint64_t nanoseconds)
{
	struct philox_function *function = recording->function;
	struct recording_times *times = &recording->times;

	function->counts.device_ns += nanoseconds;
	function->counts.device_launches++;
	if (recording->timer.of == TIMER_REPLAY) {
		times->device_replay += nanoseconds;
		times->device_replays++;
		return;
	}
	times->device_first = nanoseconds;
	runner_post(function, PHILOX_LOG_INFO, "timed", PHILOX_CALL_RECORD,
		    NULL, nanoseconds,
		    "has a recording, %" PRIu64 ", whose first launch took the "
		    "device %" PRIu64 " ns",
		    recording->number, nanoseconds);
}

static void timer_read(struct recording *recording)
{
	struct launch_timer *timer = &recording->timer;
	struct status_message kept;
	uint64_t nanoseconds;
	enum philox_status status;

	if (timer->of == TIMER_IDLE)
		return;
	kept = status_kept();
	status =
		device_event_elapsed(runner_device(recording->function->runner),
				     timer->begin, timer->end, &nanoseconds);
	status_restore(&kept);
	if (status == PHILOX_NOT_READY)
		return;
	if (status == PHILOX_OK)
		count_time(recording, nanoseconds);
	timer->of = TIMER_IDLE;
}

void timers_read(struct philox_function *function)
{
	struct recording *recording = function->by_use.newest;

	for (; recording; recording = recording->links[USE_OF_FUNCTION].older)
		timer_read(recording);
}

/* --- timing --------------------------------------------------------------- */

static enum philox_status create_events(struct philox_device *device,
					struct launch_timer *timer)
{
	enum philox_status status = PHILOX_OK;

	if (!timer->begin)
		status = device_event_create_timed(device, &timer->begin);
	if (status == PHILOX_OK && !timer->end)
		status = device_event_create_timed(device, &timer->end);
	return status;
}

int timer_begin(struct recording *recording, philox_stream stream)
{
	struct philox_runner *runner = recording->function->runner;
	struct philox_device *device = runner_device(runner);
	struct launch_timer *timer = &recording->timer;
	struct status_message kept;
	enum philox_status status;

	if (!runner->timed)
		return 0;
	timer_read(recording);
	if (timer->of != TIMER_IDLE)
		return 0;
	kept = status_kept();
	status = create_events(device, timer);
	if (status == PHILOX_OK)
		status = philox_event_record(device, stream, timer->begin);
	status_restore(&kept);
	return status == PHILOX_OK;
}

void timer_end(struct recording *recording, philox_stream stream)
{
	struct launch_timer *timer = &recording->timer;
	const struct status_message kept = status_kept();

	if (philox_event_record(runner_device(recording->function->runner),
				stream, timer->end) == PHILOX_OK)
		timer->of = recording->launched ? TIMER_REPLAY : TIMER_FIRST;
	status_restore(&kept);
}

void timer_finish(struct recording *recording)
{
	struct philox_device *device =
		runner_device(recording->function->runner);

	philox_event_destroy(device, recording->timer.begin);
	philox_event_destroy(device, recording->timer.end);
}
