/*
 * graph/runner/state/fence.c - where on which streams outputs were released
 *
 * See Order in Note [Runner], graph/runner/state/state.h.
 */
#include <stdlib.h>
#include "graph/pool/pool.h"
#include "graph/runner/state/state.h"
#include "lib/containers/array.h"
#include "lib/device/device.h"

static int is_fence_of(const struct fence *fence, philox_stream stream)
{
	return fence->stream == stream &&
	       pool_means_ours(stream, fence->thread);
}

static enum philox_status add_fence(struct philox_runner *runner,
				    philox_stream stream, struct fence **fence)
{
	struct fence *made =
		array_grow(&runner->fences, runner->n_fences, 1, sizeof(*made));
	enum philox_status status;

	if (!made)
		return status_set(PHILOX_ERROR_MEMORY,
				  "runner '%s': no memory for a release",
				  runner->name);
	made->stream = stream;
	made->thread = pthread_self();
	status = philox_event_create(runner_device(runner), &made->event);
	if (status != PHILOX_OK)
		return status;
	runner->n_fences++;
	*fence = made;
	return PHILOX_OK;
}

static enum philox_status find_fence(struct philox_runner *runner,
				     philox_stream stream, struct fence **fence)
{
	for (size_t i = 0; i < runner->n_fences; i++)
		if (is_fence_of(&runner->fences[i], stream)) {
			*fence = &runner->fences[i];
			return PHILOX_OK;
		}
	return add_fence(runner, stream, fence);
}

/* A later fence of a stream takes the place of an earlier one. */
static enum philox_status record_fence(const struct philox_runner *runner,
				       struct fence *fence)
{
	enum philox_status status = philox_event_record(
		runner_device(runner), fence->stream, fence->event);

	if (status != PHILOX_OK)
		return status;
	fence->noted++;
	return PHILOX_OK;
}

static enum philox_status note_locked(struct philox_runner *runner,
				      philox_stream stream)
{
	struct fence *fence = NULL;
	enum philox_status status =
		device_refuse_capture(runner_device(runner), stream);

	if (status == PHILOX_OK)
		status = find_fence(runner, stream, &fence);
	return status == PHILOX_OK ? record_fence(runner, fence) : status;
}

enum philox_status fences_note(struct philox_runner *runner,
			       philox_stream stream)
{
	enum philox_status status;

	pthread_mutex_lock(&runner->fences_lock);
	status = note_locked(runner, stream);
	pthread_mutex_unlock(&runner->fences_lock);
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

	for (size_t i = 0; status == PHILOX_OK && i < runner->n_fences; i++) {
		struct fence *fence = &runner->fences[i];

		if (fence->noted == fence->done)
			continue;
		if (!stream)
			status = philox_event_synchronize(device, fence->event);
		else if (!is_fence_of(fence, *stream))
			status = philox_event_wait(device, *stream,
						   fence->event);
		if (status != PHILOX_OK)
			break;
		fence->awaited = fence->noted;
		if (!stream) /* it is over, whatever the chain is */
			fence->done = fence->noted;
	}
	return status;
}

static enum philox_status await(struct philox_runner *runner,
				const philox_stream *stream)
{
	enum philox_status status;

	pthread_mutex_lock(&runner->fences_lock);
	status = await_locked(runner, stream);
	pthread_mutex_unlock(&runner->fences_lock);
	if (status == PHILOX_OK)
		return PHILOX_OK;
	return status_prefix(status, "runner '%s': ", runner->name);
}

enum philox_status fences_await(struct philox_runner *runner,
				philox_stream stream)
{
	return await(runner, &stream);
}

enum philox_status fences_wait(struct philox_runner *runner)
{
	return await(runner, NULL);
}

void fences_passed(struct philox_runner *runner)
{
	pthread_mutex_lock(&runner->fences_lock);
	for (size_t i = 0; i < runner->n_fences; i++)
		runner->fences[i].done = runner->fences[i].awaited;
	pthread_mutex_unlock(&runner->fences_lock);
}

void fences_finish(struct philox_runner *runner)
{
	for (size_t i = 0; i < runner->n_fences; i++)
		philox_event_destroy(runner_device(runner),
				     runner->fences[i].event);
	free(runner->fences);
	pthread_mutex_destroy(&runner->fences_lock);
}

/* --- the legacy stream -------------------------------------------------------------- */

/* CUDA has two handles for it. */
static int is_legacy(philox_stream stream)
{
	return (uintptr_t)stream <= 1;
}

static enum philox_status make_own_stream(struct philox_runner *runner)
{
	struct philox_device *device = runner_device(runner);
	enum philox_status status = PHILOX_OK;

	for (int i = 0; status == PHILOX_OK && i < 2; i++)
		if (!runner->joins[i])
			status = philox_event_create(device, &runner->joins[i]);
	if (status == PHILOX_OK)
		status = philox_stream_create(device, 0, &runner->own);
	return status;
}

enum philox_status legacy_stream(struct philox_runner *runner,
				 philox_stream of_call, philox_stream *stream)
{
	enum philox_status status = PHILOX_OK;

	*stream = of_call;
	if (!is_legacy(of_call))
		return PHILOX_OK;
	if (!runner->own)
		status = make_own_stream(runner);
	if (status != PHILOX_OK)
		return status_prefix(status, "runner '%s': ", runner->name);
	*stream = runner->own;
	return PHILOX_OK;
}

enum philox_status legacy_join(struct philox_runner *runner,
			       philox_stream of_call, int after)
{
	struct philox_device *device = runner_device(runner);
	philox_stream first = after ? runner->own : of_call;
	philox_stream second = after ? of_call : runner->own;
	enum philox_status status;

	if (!is_legacy(of_call))
		return PHILOX_OK;
	status = philox_event_record(device, first, runner->joins[after]);
	if (status == PHILOX_OK)
		status =
			philox_event_wait(device, second, runner->joins[after]);
	if (status == PHILOX_OK)
		return PHILOX_OK;
	return status_prefix(status, "runner '%s': ", runner->name);
}
