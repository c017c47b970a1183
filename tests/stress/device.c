/*
 * tests/stress/device.c - the host device under several threads at once
 *
 * A plain program, to be built with the thread sanitizer as well. Each thread
 * has streams of its own and works on memory of its own; all share the device,
 * one chain of events through which a token goes round, one executable graph
 * that any of them updates and launches, and one space, in which each maps
 * units of its own. The results are checked, so the program is useful without a
 * sanitizer, too.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/device/device.h"

#define THREADS 4
#define ROUNDS  150
#define WORDS   256
#define BYTES   (WORDS * 4)

#define OK(call)                                                              \
	do {                                                                  \
		enum philox_status status_ = call;                            \
		if (status_) {                                                \
			fprintf(stderr, "%s:%d: %s: %s: %s\n", __FILE__,      \
				__LINE__, #call, philox_status_name(status_), \
				philox_error_message());                      \
			exit(1);                                              \
		}                                                             \
	} while (0)

#define CHECK(condition)                                                 \
	do {                                                             \
		if (!(condition)) {                                      \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, \
				__LINE__, #condition);                   \
			exit(1);                                         \
		}                                                        \
	} while (0)

struct shared {
	struct philox_device *device;
	pthread_mutex_t lock; /* of the token's event and of the updates */
	philox_event token;   /* the last step of the token */
	uint64_t *steps;      /* steps it has made: device memory */
	uint64_t made;        /* steps ordered */
	philox_native_exec exec;
	device_node node;
	uint32_t *out; /* filled by the shared graph */
	char *space;   /* every THREADS-th unit is a thread's own */
	size_t unit;
	uint64_t last; /* offset of its last update */
	atomic_int released;
};

struct worker {
	struct shared *shared;
	pthread_t thread;
	unsigned number;
};

static struct kernel_call fill_call(struct fill_args *args, void *out,
				    uint64_t offset)
{
	*args = (struct fill_args){.rng.state = {5, offset},
				   .count = WORDS,
				   .rows = 1,
				   .threads = 1,
				   .out = out};
	return (struct kernel_call){KERNEL_bits_u32, args, sizeof(*args),
				    WORDS / 4,       NULL, 0};
}

static void check_fill(const uint32_t *words, uint64_t offset)
{
	struct philox_state state = {5, offset};

	for (uint64_t i = 0; i < WORDS; i++)
		CHECK(words[i] == philox_draw4(state, i / 4).w[i % 4]);
}

static void release_one(void *object)
{
	atomic_fetch_add((atomic_int *)object, 1);
}

static void step(const void *args)
{
	uint64_t *const *steps = args;

	++**steps;
}

/* The token: work on a plain counter that only events order. */
static void pass_token(struct shared *shared, philox_stream stream)
{
	struct philox_device *device = shared->device;

	pthread_mutex_lock(&shared->lock);
	OK(philox_event_wait(device, stream, shared->token));
	OK(philox_stream_launch_host(device, stream, step, &shared->steps,
				     sizeof(shared->steps)));
	OK(philox_event_record(device, stream, shared->token));
	shared->made++;
	pthread_mutex_unlock(&shared->lock);
}

/* Launches of one executable graph, each with its own arguments. */
static void launch_shared(struct shared *shared, philox_stream stream)
{
	struct philox_device *device = shared->device;
	struct kernel_call call;
	struct fill_args args;

	pthread_mutex_lock(&shared->lock);
	call = fill_call(&args, shared->out, shared->last += 4);
	OK(device_exec_set_kernel(device, shared->exec, shared->node, &call));
	OK(philox_native_exec_launch(device, stream, shared->exec));
	pthread_mutex_unlock(&shared->lock);
}

/* Forks, joins, replays, and destroys all of it while it may be running. */
static void capture_and_replay(struct shared *shared, philox_stream *streams,
			       philox_event event, void *memory,
			       uint64_t offset)
{
	struct philox_device *device = shared->device;
	struct capture_info info;
	philox_native_graph graph;
	philox_native_exec exec;
	struct kernel_call call;
	struct fill_args args;

	OK(philox_stream_begin_capture(device, streams[0],
				       PHILOX_CAPTURE_THREAD_LOCAL));
	call = fill_call(&args, memory, offset);
	OK(device_launch(device, streams[0], &call));
	OK(philox_event_record(device, streams[0], event));
	OK(philox_event_wait(device, streams[1], event));
	OK(philox_memory_copy(device, streams[1], (char *)memory + BYTES,
			      memory, BYTES));
	OK(philox_event_record(device, streams[1], event));
	OK(philox_event_wait(device, streams[0], event));
	OK(device_capture_info(device, streams[0], &info));
	OK(device_graph_retain(device, info.graph, release_one,
			       &shared->released));
	OK(philox_stream_end_capture(device, streams[0], &graph));
	OK(philox_native_graph_instantiate(device, graph, &exec));
	OK(philox_native_exec_launch(device, streams[1], exec));
	OK(philox_native_graph_destroy(device, graph));
	OK(philox_native_exec_destroy(device, exec));
	OK(philox_stream_synchronize(device, streams[1]));
	check_fill((uint32_t *)memory + WORDS, offset);
}

/* A capture that is broken and ended, while others go on. */
static void break_capture(struct shared *shared, philox_stream stream)
{
	struct philox_device *device = shared->device;
	philox_native_graph graph;

	OK(philox_stream_begin_capture(device, stream,
				       PHILOX_CAPTURE_THREAD_LOCAL));
	CHECK(philox_stream_query(device, stream) ==
	      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	CHECK(philox_stream_end_capture(device, stream, &graph) ==
	      PHILOX_ERROR_CAPTURE_INVALIDATED);
}

/* Where another thread maps and unmaps beside it. */
static void fill_mapped(struct shared *shared, unsigned number,
			philox_stream stream)
{
	const size_t offset = number * shared->unit;
	struct philox_device *device = shared->device;
	void *memory = shared->space + offset;
	struct kernel_call call;
	struct fill_args args;

	OK(device_space_map(device, shared->space, offset, shared->unit));
	call = fill_call(&args, memory, 4 * (uint64_t)number);
	OK(device_launch(device, stream, &call));
	OK(philox_stream_synchronize(device, stream));
	check_fill(memory, 4 * (uint64_t)number);
	OK(device_space_unmap(device, shared->space, offset, shared->unit));
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct shared *shared = worker->shared;
	struct philox_device *device = shared->device;
	philox_stream streams[2], passing;
	philox_event event;
	void *memory, *scratch;

	OK(philox_stream_create(device, 0, &streams[0]));
	OK(philox_stream_create(device, PHILOX_STREAM_BLOCKING, &streams[1]));
	OK(philox_event_create(device, &event));
	OK(philox_memory_alloc(device, 2 * BYTES, &memory));
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t offset = 4 * (uint64_t)(worker->number * ROUNDS + i);
		enum philox_status status;

		OK(philox_memory_alloc(device, 64, &scratch));
		OK(philox_memory_set(device, streams[i % 2], scratch, 1, 64));
		pass_token(shared, streams[i % 2]);
		fill_mapped(shared, worker->number + i % 8 * THREADS,
			    streams[i % 2]);
		capture_and_replay(shared, streams, event, memory, offset);
		launch_shared(shared, streams[i % 2]);
		break_capture(shared, streams[0]);
		OK(philox_stream_create(device, 0, &passing));
		pass_token(shared, passing);
		OK(philox_stream_destroy(device, passing));
		status = philox_stream_query(device, streams[0]);
		CHECK(!status || status == PHILOX_NOT_READY);
		OK(philox_memory_free(device, scratch));
	}
	OK(philox_event_destroy(device, event));
	OK(philox_stream_destroy(device, streams[0]));
	OK(philox_stream_destroy(device, streams[1]));
	OK(philox_memory_free(device, memory));
	return NULL;
}

/* Makes the executable graph that the workers share. */
static void make_shared(struct shared *shared, const char *name)
{
	struct philox_device *device;
	philox_native_graph graph;
	struct capture_info info;
	struct kernel_call call;
	struct fill_args args;
	philox_stream stream;

	OK(philox_device_open(name, &shared->device));
	device = shared->device;
	pthread_mutex_init(&shared->lock, NULL);
	OK(philox_event_create(device, &shared->token));
	OK(philox_memory_alloc(device, 8, (void **)&shared->steps));
	OK(philox_memory_alloc(device, BYTES, (void **)&shared->out));
	*shared->steps = 0;
	OK(device_space_granularity(device, &shared->unit));
	OK(device_space_reserve(device, 8 * THREADS * shared->unit,
				(void **)&shared->space));
	OK(philox_stream_create(device, 0, &stream));
	OK(philox_stream_begin_capture(device, stream, PHILOX_CAPTURE_RELAXED));
	OK(device_capture_info(device, stream, &info));
	call = fill_call(&args, shared->out, 0);
	OK(device_graph_add_kernel(device, info.graph, NULL, 0, &call,
				   &shared->node));
	OK(philox_stream_end_capture(device, stream, &graph));
	OK(philox_native_graph_instantiate(device, graph, &shared->exec));
}

static void stress(const char *name)
{
	struct shared shared = {.last = 0};
	struct worker workers[THREADS];

	make_shared(&shared, name);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.shared = &shared, .number = i};
		CHECK(!pthread_create(&workers[i].thread, NULL, work,
				      &workers[i]));
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	OK(philox_device_synchronize(shared.device));
	CHECK(*shared.steps == shared.made);
	CHECK(shared.made == 2 * THREADS * ROUNDS);
	CHECK(shared.last == 4 * THREADS * ROUNDS);
	CHECK(atomic_load(&shared.released) == THREADS * ROUNDS);
	check_fill(shared.out, shared.last);
	OK(device_space_release(shared.device, shared.space));
	philox_device_close(shared.device);
	pthread_mutex_destroy(&shared.lock);
	printf("%s: %d threads, %d rounds each\n", name, THREADS, ROUNDS);
}

int main(void)
{
	stress("host");
	stress("host:sync");
	return 0;
}
