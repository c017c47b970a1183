/*
 * graph/runner/state/fence.c - where on which streams outputs were released
 *
 * See Order in Note [Runner], graph/runner/state/state.h.
 */
#include <stdlib.h>
#include "graph/pool/pool.h"
#include "graph/runner/state/state.h"
#include "lib/device/device.h"

static int is_point_of(const struct release_point *point, philox_stream stream)
{
	return point->stream == stream &&
	       pool_means_ours(stream, point->thread);
}

static enum philox_status add_point(struct philox_runner *runner,
				    philox_stream stream,
				    struct release_point **point)
{
	struct release_point *points = realloc(
		runner->points, (runner->n_points + 1) * sizeof(*points));
	struct release_point made = {.stream = stream,
				     .thread = pthread_self()};
	enum philox_status status;

	if (!points)
		return status_set(PHILOX_ERROR_MEMORY,
				  "runner '%s': no memory for a release",
				  runner->name);
	runner->points = points;
	status = philox_event_create(runner_device(runner), &made.event);
	if (status != PHILOX_OK)
		return status;
	*point = &points[runner->n_points++];
	**point = made;
	return PHILOX_OK;
}

static enum philox_status find_point(struct philox_runner *runner,
				     philox_stream stream,
				     struct release_point **point)
{
	for (size_t i = 0; i < runner->n_points; i++)
		if (is_point_of(&runner->points[i], stream)) {
			*point = &runner->points[i];
			return PHILOX_OK;
		}
	return add_point(runner, stream, point);
}

/* A later point of a stream takes the place of an earlier one. */
static enum philox_status record_point(const struct philox_runner *runner,
				       struct release_point *point)
{
	enum philox_status status = philox_event_record(
		runner_device(runner), point->event, point->stream);

	if (status != PHILOX_OK)
		return status;
	point->noted++;
	return PHILOX_OK;
}

static enum philox_status note_locked(struct philox_runner *runner,
				      philox_stream stream)
{
	struct release_point *point = NULL;
	enum philox_status status =
		device_refuse_capture(runner_device(runner), stream);

	if (status == PHILOX_OK)
		status = find_point(runner, stream, &point);
	return status == PHILOX_OK ? record_point(runner, point) : status;
}

enum philox_status points_note(struct philox_runner *runner,
			       philox_stream stream)
{
	enum philox_status status;

	pthread_mutex_lock(&runner->points_lock);
	status = note_locked(runner, stream);
	pthread_mutex_unlock(&runner->points_lock);
	if (status == PHILOX_OK)
		return PHILOX_OK;
	return status_prefix(status, "runner '%s': ", runner->name);
}

/* Waits on a stream or, if that is NULL, itself. Waiting twice is harmless, so
 * that a failure leaves nothing to undo. */
static enum philox_status await_locked(struct philox_runner *runner,
				       const philox_stream *stream)
{
	struct philox_device *device = runner_device(runner);
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < runner->n_points; i++) {
		struct release_point *point = &runner->points[i];

		if (point->noted == point->done)
			continue;
		if (!stream)
			status = philox_event_synchronize(device, point->event);
		else if (!is_point_of(point, *stream))
			status = philox_event_wait(device, *stream,
						   point->event);
		if (status != PHILOX_OK)
			break;
		point->awaited = point->noted;
		if (!stream) /* it is over, whatever the chain is */
			point->done = point->noted;
	}
	return status;
}

static enum philox_status await(struct philox_runner *runner,
				const philox_stream *stream)
{
	enum philox_status status;

	pthread_mutex_lock(&runner->points_lock);
	status = await_locked(runner, stream);
	pthread_mutex_unlock(&runner->points_lock);
	if (status == PHILOX_OK)
		return PHILOX_OK;
	return status_prefix(status, "runner '%s': ", runner->name);
}

enum philox_status points_await(struct philox_runner *runner,
				philox_stream stream)
{
	return await(runner, &stream);
}

enum philox_status points_wait(struct philox_runner *runner)
{
	return await(runner, NULL);
}

void points_passed(struct philox_runner *runner)
{
	pthread_mutex_lock(&runner->points_lock);
	for (size_t i = 0; i < runner->n_points; i++)
		runner->points[i].done = runner->points[i].awaited;
	pthread_mutex_unlock(&runner->points_lock);
}

void points_finish(struct philox_runner *runner)
{
	for (size_t i = 0; i < runner->n_points; i++)
		philox_event_destroy(runner_device(runner),
				     runner->points[i].event);
	free(runner->points);
	pthread_mutex_destroy(&runner->points_lock);
}
