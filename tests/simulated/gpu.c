/*
 * tests/simulated/gpu.c - see tests/simulated/gpu.h
 *
 * `turn` is held by the thread in which the GPUs work; it is taken before a
 * device's lock, never after it. A run is a task in progress, or a body of a
 * conditional node of one; a job is one kernel, copy or call of it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "lib/base/float_mode.h"
#include "tests/simulated/chance.h"
#include "tests/simulated/gpu.h"
#include "tests/simulated/simulated.h"

#define MOST_GPUS  8
#define MOST_JOBS  16      /* at once: fewer than any GPU runs */
#define PIECES     4       /* of a copy */
#define STALL      1000000 /* nanoseconds */
#define TICK       20000000
#define IDLE_TICKS 25 /* until the GPUs go on without a call */

struct run {
	struct host_stream *stream; /* NULL: of a body */
	struct host_task *task;
	const struct host_program *program; /* NULL: one piece of work */
	const struct gpu_edges *edges;      /* of the program */
	size_t *missing, *ready; /* of each node; those that may begin */
	size_t ready_count, left;
	struct run *parent; /* whose node the body is of */
	size_t node;
	struct run *next;
};

struct job {
	struct run *run;
	size_t node;
	const struct host_work *work;
	struct simulated_grid *grid; /* of a kernel */
	size_t done;                 /* bytes of a copy */
};

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static struct host_device *devices[MOST_GPUS];
static atomic_int is_lost[MOST_GPUS];
static size_t device_count;
static struct run *runs;
static struct job jobs[MOST_JOBS];
static size_t job_count, ready_count; /* of all runs */
static struct chance chance;
static atomic_int has_work;
static atomic_uint_fast64_t heartbeat;

static size_t below(size_t n)
{
	return chance_below(&chance, 0, n);
}

static void *need(void *memory)
{
	if (memory)
		return memory;
	fprintf(stderr, "simulated GPU: out of memory\n");
	abort();
}

void gpu_has_work(void)
{
	atomic_store(&has_work, 1);
}

/* --- faults --------------------------------------------------------------- */

static size_t number_of(const struct host_device *device)
{
	size_t i = 0;

	while (i < device_count && devices[i] != device)
		i++;
	return i;
}

int gpu_is_lost(const struct host_device *device)
{
	const size_t number = number_of(device);

	return number < device_count && atomic_load(&is_lost[number]);
}

/* --- runs ----------------------------------------------------------------- */

static struct host_device *device_of(const struct run *run)
{
	while (run->parent)
		run = run->parent;
	return run->stream->device;
}

static struct run *run_of(const struct host_stream *stream)
{
	struct run *run = runs;

	while (run && run->stream != stream)
		run = run->next;
	return run;
}

static void make_ready(struct run *run, size_t node)
{
	run->ready[run->ready_count++] = node;
	ready_count++;
}

/* Of a program, or of one piece of work. */
static struct run *make_run(const struct host_task *task,
			    const struct host_program *program)
{
	struct run *run = need(calloc(1, sizeof(*run)));

	run->task = (struct host_task *)task;
	run->program = program;
	run->edges = program ? gpu_edges_of(program) : NULL;
	run->left = program ? program->count : 1;
	run->missing = need(calloc(2 * run->left + 1, sizeof(size_t)));
	run->ready = run->missing + run->left;
	if (run->edges)
		memcpy(run->missing, run->edges->missing,
		       run->left * sizeof(size_t));
	for (size_t i = 0; i < run->left; i++)
		if (!run->missing[i])
			make_ready(run, i);
	run->next = runs;
	runs = run;
	return run;
}

/* [condition-default], [condition-undefined] */
static void start_run(struct host_stream *stream)
{
	const struct host_task *task = stream->head;
	const struct host_program *program =
		task->work.kind == HOST_REPLAY ? task->work.replay->program
					       : NULL;

	if (program)
		host_program_begin(program);
	make_run(task, program)->stream = stream;
}

static void free_run(struct run *run)
{
	struct run **link = &runs;

	while (*link != run)
		link = &(*link)->next;
	*link = run->next;
	free(run->missing);
	free(run);
}

/* The task has ended; one of a stream that was destroyed may end that. */
static void end_task(struct run *run)
{
	struct host_stream *stream = run->stream;
	struct host_device *device = stream->device;

	host_lock(device);
	host_work_drop(device, &run->task->work);
	if (run->task->timed)
		run->task->ended = clock_now();
	run->task->done = 1;
	stream->head = run->task->next;
	host_task_drop(device, run->task);
	if (stream->stopping && !stream->head) {
		host_stream_free(device, stream);
		free(stream);
	}
	host_unlock(device);
	free_run(run);
	gpu_has_work();
}

static void begin_bodies(struct run *run, size_t node, int again);

static void end_run(struct run *run)
{
	struct run *parent = run->parent;
	size_t node = run->node;

	if (!parent) {
		end_task(run);
		return;
	}
	free_run(run);
	begin_bodies(parent, node, 1);
}

static void end_node(struct run *run, size_t node)
{
	const struct gpu_edges *edges = run->edges;

	for (size_t i = edges ? edges->first[node] : 0;
	     edges && i < edges->first[node + 1]; i++)
		if (!--run->missing[edges->users[i]])
			make_ready(run, edges->users[i]);
	if (!--run->left)
		end_run(run);
}

/* A conditional node begins, or a body of it has run: the next one, if any. */
static void begin_bodies(struct run *run, size_t node, int again)
{
	const struct host_branch *branch = run->program->works[node].branch;
	struct run *body;
	uint32_t which;

	if ((again && branch->what.kind != CONDITIONAL_WHILE) ||
	    gpu_is_lost(device_of(run)) || !host_branch_picks(branch, &which)) {
		end_node(run, node);
		return;
	}
	body = make_run(run->task, branch->bodies[which]);
	body->parent = run;
	body->node = node;
}

static int may_start(struct host_device *device, struct host_task *task)
{
	while (task->wait_count) {
		struct host_task *other = task->waits[task->wait_count - 1];

		if (!other->done)
			return 0;
		host_task_drop(device, other);
		task->wait_count--;
	}
	return 1;
}

static void start_runs(void)
{
	for (size_t i = 0; i < device_count; i++) {
		host_lock(devices[i]);
		for (struct host_stream *stream = devices[i]->streams; stream;
		     stream = stream->next)
			if (stream->head && !run_of(stream) &&
			    may_start(devices[i], stream->head))
				start_run(stream);
		host_unlock(devices[i]);
	}
}

/* An empty graph has nothing to wait for. */
static int end_empty_run(void)
{
	for (struct run *run = runs; run; run = run->next)
		if (!run->left) {
			end_run(run);
			return 1;
		}
	return 0;
}

/* --- jobs ----------------------------------------------------------------- */

static const struct host_work *work_of(const struct run *run, size_t node)
{
	const struct host_replay *replay = run->task->work.replay;

	if (!run->program)
		return &run->task->work;
	if (run->parent)
		return &run->program->works[node];
	for (size_t i = 0; i < replay->overrides.count; i++)
		if (replay->overrides.items[i].position == node)
			return &replay->overrides.items[i].work;
	return &replay->program->works[node];
}

/*
 * Begins one of the nodes that may, by its number among them all; NULL: it was
 * a conditional node.
 */
static struct job *begin_job(size_t number)
{
	struct run *run = runs;
	struct job *job;
	size_t node;

	while (number >= run->ready_count) {
		number -= run->ready_count;
		run = run->next;
	}
	node = run->ready[number];
	run->ready[number] = run->ready[--run->ready_count];
	ready_count--;
	if (work_of(run, node)->kind == HOST_BRANCH) {
		begin_bodies(run, node, 0);
		return NULL;
	}
	job = &jobs[job_count++];
	*job = (struct job){
		.run = run, .node = node, .work = work_of(run, node)};
	if (job->work->kind == HOST_KERNEL)
		job->grid = simulated_begin(job->work->args->bytes);
	return job;
}

static void end_job(struct job *job)
{
	struct run *run = job->run;
	size_t node = job->node;

	*job = jobs[--job_count];
	end_node(run, node);
}

/* [copy-piecewise] Other work sees a copy that is half done. */
static int copy_piece(struct job *job)
{
	const struct host_work *work = job->work;
	size_t piece = (work->size - job->done) / (1 + below(PIECES));
	unsigned char *to = work->destination;
	const unsigned char *from = work->source;

	if (to < from + work->size && from < to + work->size) {
		memmove(to, from, work->size);
		return 1;
	}
	piece = piece ? piece : work->size - job->done;
	memcpy(to + job->done, from + job->done, piece);
	job->done += piece;
	return job->done == work->size;
}

static int set_piece(struct job *job)
{
	const struct host_work *work = job->work;
	size_t piece = (work->size - job->done) / (1 + below(PIECES));

	piece = piece ? piece : work->size - job->done;
	memset((char *)work->destination + job->done, work->value, piece);
	job->done += piece;
	return job->done == work->size;
}

/* The GPU is lost if a thread makes a fault. 1: the kernel has ended */
static int kernel_piece(struct job *job)
{
	const size_t pieces = 1 + below((size_t)1 << below(10));
	const int ended = simulated_advance(job->grid, pieces);

	if (ended >= 0)
		return ended;
	atomic_store(&is_lost[number_of(device_of(job->run))], 1);
	simulated_drop(job->grid);
	return 1;
}

/* What a lost GPU has begun, or would begin: 1, it does nothing more. */
static int drop_piece(struct job *job)
{
	const enum host_work_kind kind = job->work->kind;

	if (kind == HOST_KERNEL)
		simulated_drop(job->grid);
	else if (kind != HOST_COPY && kind != HOST_SET)
		host_work_run(job->work);
	return 1;
}

/* 1: the job has ended */
static int run_piece(struct job *job)
{
	if (gpu_is_lost(device_of(job->run)))
		return drop_piece(job);
	switch (job->work->kind) {
	case HOST_KERNEL:
		return kernel_piece(job);
	case HOST_COPY:
		return copy_piece(job);
	case HOST_SET:
		return set_piece(job);
	default:
		host_work_run(job->work);
		return 1;
	}
}

/* [interleaving] Any job in progress, or one that may begin, goes on. */
static int step(void)
{
	struct float_mode mode;
	size_t chosen, choices;
	int ended;

	if (atomic_exchange(&has_work, 0))
		start_runs();
	atomic_fetch_add(&heartbeat, 1);
	if (end_empty_run())
		return 1;
	choices = job_count + (job_count < MOST_JOBS ? ready_count : 0);
	if (!choices)
		return 0;
	chosen = below(choices);
	if (chosen >= job_count) {
		if (!begin_job(chosen - job_count))
			return 1;
		chosen = job_count - 1;
	}
	mode = float_mode_set();
	ended = run_piece(&jobs[chosen]);
	float_mode_restore(mode);
	if (ended)
		end_job(&jobs[chosen]);
	return 1;
}

int gpu_go_on(void)
{
	int found;

	pthread_mutex_lock(&turn);
	found = step();
	pthread_mutex_unlock(&turn);
	return found;
}

/* --- calls ---------------------------------------------------------------- */

/* [gpu-stall] From not at all to all that there is. */
static size_t how_many_steps(void)
{
	switch (chance_pace()) {
	case CHANCE_NEVER:
		return 0;
	case CHANCE_ALWAYS:
		return SIZE_MAX;
	default:
		break;
	}
	switch (below(8)) {
	case 0:
		return SIZE_MAX;
	case 1:
		return below(1000);
	case 2:
	case 3:
		return below(16);
	default:
		return 0;
	}
}

/* [host-stall] A thread may be away between any two calls. */
static void stall(size_t chosen)
{
	const struct timespec time = {0, (long)chosen};

	if (chosen < STALL / 8)
		nanosleep(&time, NULL);
}

void gpu_call(void)
{
	size_t stalled;

	if (late_is_here()) {
		fprintf(stderr, "simulated GPU: a user object's destructor "
				"calls CUDA\n");
		abort();
	}
	late_call();
	atomic_fetch_add(&heartbeat, 1);
	if (pthread_mutex_trylock(&turn))
		return; /* the GPUs are at work in another thread */
	for (size_t n = how_many_steps(); n && step(); n--)
		;
	stalled = below((size_t)64 * STALL);
	pthread_mutex_unlock(&turn);
	stall(stalled);
}

/*
 * A program that waits without a call, for a flag in mapped memory, must not
 * wait for ever.
 */
static void *work_when_idle(void *unused)
{
	const struct timespec tick = {0, TICK};
	uint64_t before = 0;
	int ticks = 0;

	for (;;) {
		uint64_t now = atomic_load(&heartbeat);

		ticks = now == before ? ticks + 1 : 0;
		before = now;
		if (ticks < IDLE_TICKS)
			nanosleep(&tick, NULL);
		else if (gpu_go_on())
			before = atomic_load(&heartbeat);
		else
			ticks = 0;
	}
	return unused;
}

void gpu_add(struct host_device *device)
{
	pthread_t thread;

	if (device_count == MOST_GPUS)
		abort();
	if (!device_count &&
	    !pthread_create(&thread, NULL, work_when_idle, NULL))
		pthread_detach(thread);
	devices[device_count++] = device;
}
