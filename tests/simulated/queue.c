/*
 * tests/simulated/queue.c - the host device's queues, without threads
 *
 * In place of lib/device/host/queue.c and order.c: a stream has no thread, and
 * its tasks wait until gpu.c runs them; who waits for a task has it work. An
 * executable graph has no order but its edges. The host's files see no
 * difference.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/simulated/gpu.h"

/* --- tasks ---------------------------------------------------------------- */

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

/* A piece of work. Another thread may have done the last one in between. */
static void need_work(struct host_device *device, int *idle)
{
	host_unlock(device);
	*idle = gpu_go_on() ? 0 : *idle + 1;
	host_lock(device);
	if (*idle < 1000)
		return;
	fprintf(stderr, "simulated GPU: it waits for work that cannot run\n");
	abort();
}

void host_task_wait(struct host_device *device, struct host_task *task)
{
	int idle = 0;

	if (!task)
		return;
	task->refs++;
	while (!task->done)
		need_work(device, &idle);
	host_task_drop(device, task);
}

static size_t implicit_waits(const struct host_stream *stream)
{
	size_t count = 1;

	for (struct host_stream *other = stream->device->streams; other;
	     other = other->next)
		count += other->blocking;
	return count;
}

static void add_wait(struct host_task *task, struct host_task *other)
{
	if (other && !other->done)
		task->waits[task->wait_count++] = task_share(other);
}

/* The legacy stream and all blocking streams wait for each other. */
static void add_implicit_waits(const struct host_stream *stream,
			       struct host_task *task)
{
	const struct host_device *device = stream->device;

	if (stream->blocking)
		add_wait(task, device->legacy.tail);
	if (stream != &device->legacy)
		return;
	for (struct host_stream *other = device->streams; other;
	     other = other->next)
		if (other->blocking)
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
}

enum philox_status host_submit(struct host_stream *stream,
			       struct host_work *work, struct host_task *after,
			       struct host_task **task)
{
	size_t waits = 1 + implicit_waits(stream);
	struct host_task *made =
		calloc(1, sizeof(*made) + waits * sizeof(*made->waits));

	if (!made)
		return host_no_memory("a task");
	made->refs = 1; /* the queue's */
	made->work = *work;
	add_implicit_waits(stream, made);
	add_wait(made, after);
	append_task(stream, made);
	if (task)
		*task = task_share(made);
	gpu_has_work();
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
	int idle = 0;

	while (any_unfinished(device, number))
		need_work(device, &idle);
}

/* --- executable graphs ---------------------------------------------------- */

static void edges_free(void *pointer)
{
	struct gpu_edges *edges = pointer;

	free(edges->missing);
	free(edges);
}

static size_t edge_count(const struct host_graph *graph)
{
	size_t count = 0;

	for (size_t i = 0; i < graph->nodes.count; i++)
		count += graph->nodes.items[i]->deps.count;
	return count;
}

static struct gpu_edges *edges_make(const struct host_graph *graph)
{
	size_t count = graph->nodes.count;
	struct gpu_edges *edges = calloc(1, sizeof(*edges));
	size_t *words =
		calloc(2 * count + 2 + edge_count(graph), sizeof(*words));

	if (!edges || !words) {
		free(edges);
		free(words);
		return NULL;
	}
	*edges = (struct gpu_edges){count, words, words + count,
				    words + 2 * count + 2};
	return edges;
}

/* Turns the nodes' lists of dependencies into lists of users. */
static void edges_fill(struct gpu_edges *edges, const struct host_graph *graph)
{
	size_t *place = edges->first + 1; /* ends up shifted into shape */

	for (size_t i = 0; i < edges->count; i++) {
		const struct host_nodes *deps = &graph->nodes.items[i]->deps;

		edges->missing[i] = deps->count;
		for (size_t k = 0; k < deps->count; k++)
			place[deps->items[k]->index + 1]++;
	}
	for (size_t i = 1; i < edges->count; i++)
		place[i] += place[i - 1];
	for (size_t i = 0; i < edges->count; i++) {
		const struct host_nodes *deps = &graph->nodes.items[i]->deps;

		for (size_t k = 0; k < deps->count; k++)
			edges->users[place[deps->items[k]->index]++] = i;
	}
}

static struct gpu_edges *edges_find(const struct host_keep *keep, size_t count)
{
	for (const struct host_release *entry = keep->releases; entry;
	     entry = entry->next) {
		struct gpu_edges *edges = entry->object;

		if (entry->release == edges_free && edges->count == count)
			return edges;
	}
	return NULL;
}

const struct gpu_edges *gpu_edges_of(const struct host_program *program)
{
	return edges_find(program->keep, program->count);
}

/*
 * Nodes keep their places. Nothing is added to a graph's edges but by new nodes,
 * so its number of nodes tells which edges a program has.
 */
int host_order(const struct host_graph *graph, uint64_t seed, size_t *position)
{
	struct host_release *entry;
	struct gpu_edges *edges;

	(void)seed;
	for (size_t i = 0; i < graph->nodes.count; i++)
		position[i] = i;
	if (edges_find(graph->keep, graph->nodes.count))
		return 1;
	entry = malloc(sizeof(*entry));
	edges = edges_make(graph);
	if (!entry || !edges) {
		free(entry);
		if (edges)
			edges_free(edges);
		return 0;
	}
	edges_fill(edges, graph);
	*entry =
		(struct host_release){edges_free, edges, graph->keep->releases};
	graph->keep->releases = entry;
	return 1;
}
