/*
 * graph/runner/function/runner_retire.c - recordings that are not used any more
 *
 * See Going in Note [Runner], graph/runner/state/runner.h.
 */
#include "graph/runner/function/recording.h"
#include "graph/runner/function/runner_retire.h"
#include "lib/device/captures.h"

void retired_mark(struct philox_runner *runner, philox_stream stream)
{
	struct philox_device *device = runner_device(runner);
	struct status_message kept;

	if (!runner->leaving || runner->left)
		return;
	status_keep(&kept);
	if ((runner->last ||
	     philox_event_create(device, &runner->last) == PHILOX_OK) &&
	    philox_event_record(device, runner->last, stream) == PHILOX_OK) {
		runner->left = runner->leaving;
		runner->leaving = NULL;
	}
	status_restore(&kept);
}

/* An output that is not released may have to be put back by its checkpoint. */
static int is_needed(const struct recording *recording)
{
	const struct philox_runner *runner = recording->function->runner;

	for (size_t i = 0; i < runner->n_live; i++)
		if (runner->live[i].from == recording)
			return 1;
	return 0;
}

static void free_some(struct recording **list,
		      const struct philox_function *function, int needed)
{
	struct recording *recording;

	while ((recording = *list)) {
		if ((function && recording->function != function) ||
		    (!needed && is_needed(recording))) {
			list = &recording->also;
			continue;
		}
		*list = recording->also;
		recording_free(recording);
	}
}

/* A question must not break somebody's capture. */
static int have_left(const struct philox_runner *runner)
{
	struct philox_device *device = runner_device(runner);
	enum philox_capture_mode mode;
	enum philox_status status = device_relaxed_begin(device, &mode);

	if (status != PHILOX_OK)
		return 0;
	status = philox_event_query(device, runner->last);
	return device_relaxed_end(device, mode, status) == PHILOX_OK;
}

void retired_sweep(struct philox_runner *runner)
{
	struct status_message kept;

	if (!runner->left)
		return;
	status_keep(&kept);
	if (have_left(runner))
		free_some(&runner->left, NULL, 0);
	status_restore(&kept);
}

void retired_free(struct philox_runner *runner,
		  const struct philox_function *function)
{
	free_some(&runner->leaving, function, 1);
	free_some(&runner->left, function, 1);
	if (!function)
		philox_event_destroy(runner_device(runner), runner->last);
}
