/*
 * lib/device/host/queue.c - queues of work and the threads that run them
 *
 * A stream is a first-in-first-out queue with a thread of its own, started with
 * the first task. A task names the tasks of other streams that it waits for;
 * all of them were submitted before it, so there can be no cycle. In
 * synchronous mode there are neither threads nor tasks: work runs in the
 * caller, one call at a time, before the call returns. Guarded by the device's
 * lock, which is not held while work runs.
 */
#include <stdlib.h>
#include "lib/device/host/host.h"

static struct host_task *task_share(struct host_task *task)
{
	if (task)
		task->refs++;
	return task;
}

void host_task_drop(struct host_device *device, struct host_task *task)
{
	if (!task || --task->refs)
		return;
	host_work_drop(device, &task->work);
	free(task);
}

/* Waits, with the lock released, until some task has run. */
static void wait_ran(struct host_device *device)
{
	device->waiters++;
	pthread_cond_wait(&device->ran, &device->lock);
	device->waiters--;
}

void host_task_wait(struct host_device *device, struct host_task *task)
{
	if (!task)
		return;
	task->refs++;
	while (!task->done)
		wait_ran(device);
	host_task_drop(device, task);
}

/* --- the thread of a stream ----------------------------------------------- */

static void run_task(struct host_device *device, struct host_task *task)
{
	for (size_t i = 0; i < task->wait_count; i++) {
		while (!task->waits[i]->done)
			wait_ran(device);
		host_task_drop(device, task->waits[i]);
	}
	task->wait_count = 0;
	pthread_mutex_unlock(&device->lock);
	host_work_run(&task->work);
	pthread_mutex_lock(&device->lock);
	host_work_drop(device, &task->work);
	if (task->timed)
		task->ended = clock_now();
	task->done = 1;
}

static void *stream_thread(void *argument)
{
	struct host_stream *stream = argument;
	struct host_device *device = stream->device;

	host_lock(device);
	while (stream->head || !stream->stopping) {
		struct host_task *task = stream->head;

		if (!task) {
			pthread_cond_wait(&stream->wake, &device->lock);
			continue;
		}
		run_task(device, task);
		stream->head = task->next;
		host_task_drop(device, task);
		if (device->waiters)
			pthread_cond_broadcast(&device->ran);
		if (device->due) { /* releases run without the lock */
			host_unlock(device);
			host_lock(device);
		}
	}
	host_unlock(device);
	return NULL;
}

static enum philox_status start_thread(struct host_stream *stream)
{
	if (stream->has_thread)
		return PHILOX_OK;
	if (pthread_create(&stream->thread, NULL, stream_thread, stream))
		return status_set(PHILOX_ERROR_DEVICE,
				  "device %s: cannot start a stream's thread",
				  stream->device->base.name);
	stream->has_thread = 1;
	return PHILOX_OK;
}

/* --- submitting ----------------------------------------------------------- */

/* How many streams this one always waits for. */
static size_t implicit_waits(const struct host_stream *stream)
{
	const struct host_device *device = stream->device;
	size_t count = 0;

	if (stream != &device->legacy)
		return stream->blocking ? 1 : 0;
	for (struct host_stream *other = device->blocking; other;
	     other = other->next_blocking)
		count++;
	return count;
}

static void add_wait(struct host_task *task, struct host_task *other)
{
	if (other && !other->done)
		task->waits[task->wait_count++] = task_share(other);
}

static void add_implicit_waits(const struct host_stream *stream,
			       struct host_task *task)
{
	const struct host_device *device = stream->device;

	if (stream != &device->legacy) {
		if (stream->blocking)
			add_wait(task, device->legacy.tail);
		return;
	}
	for (struct host_stream *other = device->blocking; other;
	     other = other->next_blocking)
		add_wait(task, other->tail);
}

static void append_task(struct host_stream *stream, struct host_task *task)
{
	task->number = ++stream->device->submitted;
	if (stream->head)
		stream->tail->next = task;
	else
		stream->head = task;
	host_task_drop(stream->device, stream->tail);
	stream->tail = task_share(task);
	pthread_cond_signal(&stream->wake);
}

static void run_now(struct host_device *device, struct host_work *work)
{
	host_unlock(device);
	pthread_mutex_lock(&device->turn);
	host_work_run(work);
	pthread_mutex_unlock(&device->turn);
	host_lock(device);
	host_work_drop(device, work);
}

enum philox_status host_submit(struct host_stream *stream,
			       struct host_work *work, struct host_task *after,
			       struct host_task **task)
{
	size_t waits = 1 + implicit_waits(stream);
	struct host_task *made;
	enum philox_status status;

	if (stream->device->synchronous) {
		if (task)
			*task = NULL;
		run_now(stream->device, work);
		return PHILOX_OK;
	}
	status = start_thread(stream);
	if (status != PHILOX_OK)
		return status;
	made = calloc(1, sizeof(*made) + waits * sizeof(*made->waits));
	if (!made)
		return host_no_memory("a task");
	made->refs = 1; /* the queue's */
	made->work = *work;
	add_implicit_waits(stream, made);
	add_wait(made, after);
	append_task(stream, made);
	if (task)
		*task = task_share(made);
	return PHILOX_OK;
}

static int any_unfinished(const struct host_device *device, uint64_t number)
{
	for (struct host_stream *stream = device->streams; stream;
	     stream = stream->next)
		if (stream->head && stream->head->number <= number)
			return 1;
	return 0;
}

void host_wait_idle(struct host_device *device)
{
	uint64_t number = device->submitted;

	while (any_unfinished(device, number))
		wait_ran(device);
}
