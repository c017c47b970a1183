/*
 * tests/device/device_host.c - what is special about the host device
 *
 * The contract suite tests what every device promises. Here: where work runs,
 * how arguments reach it, in which orders a graph runs, combined rules of
 * capture, captures on several threads, and closing while everything is open.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include "lib/device/device.h"

#define ASSERT_OK(call) \
	cr_assert_eq(call, PHILOX_OK, "%s: %s", #call, philox_error_message())

#define EXPECT_STATUS(expected, call)                                    \
	do {                                                             \
		enum philox_status status_ = call;                       \
		cr_expect_eq(status_, expected, "%s gave %s: %s", #call, \
			     philox_status_name(status_),                \
			     philox_error_message());                    \
	} while (0)

static struct philox_device *open_device(const char *name)
{
	struct philox_device *device;

	ASSERT_OK(philox_device_open(name, &device));
	return device;
}

static philox_stream make_stream(struct philox_device *device, unsigned flags)
{
	philox_stream stream;

	ASSERT_OK(philox_stream_create(device, flags, &stream));
	return stream;
}

static philox_event make_event(struct philox_device *device)
{
	philox_event event;

	ASSERT_OK(philox_event_create(device, &event));
	return event;
}

static void begin(struct philox_device *device, philox_stream stream,
		  enum philox_capture_mode mode)
{
	ASSERT_OK(philox_stream_begin_capture(device, stream, mode));
}

static philox_native_graph end(struct philox_device *device,
			       philox_stream stream)
{
	philox_native_graph graph;

	ASSERT_OK(philox_stream_end_capture(device, stream, &graph));
	return graph;
}

static philox_native_exec instantiate(struct philox_device *device,
				      philox_native_graph graph)
{
	philox_native_exec exec;

	ASSERT_OK(philox_native_graph_instantiate(device, graph, &exec));
	return exec;
}

static enum philox_capture_status capture_status(struct philox_device *device,
						 philox_stream stream)
{
	enum philox_capture_status status;

	ASSERT_OK(philox_stream_capture_info(device, stream, &status, NULL));
	return status;
}

/* Makes `second` wait for the work that is on `first` now. */
static enum philox_status join(struct philox_device *device,
			       philox_stream first, philox_stream second)
{
	philox_event event = make_event(device);
	enum philox_status status;

	ASSERT_OK(philox_event_record(device, first, event));
	status = philox_event_wait(device, second, event);
	ASSERT_OK(philox_event_destroy(device, event));
	return status;
}

/* --- where work runs ------------------------------------------------------ */

struct whereabouts {
	pthread_t *thread;
	int *aligned;
	char padding[3]; /* an odd size */
};

static void note_whereabouts(const void *args)
{
	const struct whereabouts *where = args;

	*where->thread = pthread_self();
	*where->aligned = (uintptr_t)args % 16 == 0;
}

static void run_once(const char *name, pthread_t *thread, int *aligned)
{
	struct whereabouts where = {thread, aligned, {0}};
	struct philox_device *device = open_device(name);
	philox_stream stream = make_stream(device, 0);

	ASSERT_OK(philox_stream_launch_host(device, stream, note_whereabouts,
					    &where, sizeof(where)));
	memset(&where, 0, sizeof(where)); /* the call has a copy */
	if (!strcmp(name, "host"))
		ASSERT_OK(philox_stream_synchronize(device, stream));
	cr_expect_eq(*aligned, 1, "%s: arguments are not aligned", name);
	philox_device_close(device);
}

Test(device_host, sync_runs_work_in_the_caller_before_returning)
{
	pthread_t thread;
	int aligned = 0;

	run_once("host:sync", &thread, &aligned);
	cr_expect(pthread_equal(thread, pthread_self()));
}

Test(device_host, async_runs_work_on_another_thread)
{
	pthread_t thread;
	int aligned = 0;

	run_once("host", &thread, &aligned);
	cr_expect_not(pthread_equal(thread, pthread_self()));
}

/* --- functions that a stream runs ------------------------------------------ */

/* What such a function must not do, and what it was told. */
struct caller {
	struct philox_device *device;
	philox_stream stream, other;
	philox_event event;
	philox_native_exec exec;
	void *memory;
	enum philox_status status[12];
	char message[256]; /* of the first */
	int runs;
};

static void nothing(const void *args)
{
	(void)args;
}

static void calls_philox(const void *args)
{
	struct caller *caller = *(struct caller *const *)args;
	struct philox_device *device = caller->device;
	enum philox_status *status = caller->status;

	caller->runs++;
	*status++ = philox_stream_synchronize(device, caller->stream);
	strncpy(caller->message, philox_error_message(),
		sizeof(caller->message) - 1);
	*status++ = philox_stream_synchronize(device, caller->other);
	*status++ = philox_stream_synchronize(device, NULL);
	*status++ = philox_device_synchronize(device);
	*status++ = philox_event_record(device, caller->stream, caller->event);
	*status++ = philox_event_synchronize(device, caller->event);
	*status++ = philox_event_wait(device, caller->stream, caller->event);
	*status++ = philox_stream_launch_host(device, caller->stream, nothing,
					      "", 1);
	*status++ = philox_native_exec_launch(device, caller->stream,
					      caller->exec);
	*status++ = philox_stream_destroy(device, caller->stream);
	*status++ = philox_memory_free(device, caller->memory);
	*status++ = philox_device_close(device);
}

static void all_were_refused(struct caller *caller)
{
	for (size_t i = 0; i < 12; i++)
		cr_expect_eq(caller->status[i], PHILOX_ERROR_STATE,
			     "call %zu gave %s", i,
			     philox_status_name(caller->status[i]));
	cr_expect(strstr(caller->message, "philox_stream_synchronize: "),
		  "%s", caller->message);
	memset(caller->status, 0, sizeof(caller->status));
	memset(caller->message, 0, sizeof(caller->message));
}

static void refuse_callers(const char *name)
{
	struct caller caller = {.device = open_device(name)}, *of = &caller;
	struct philox_device *device = caller.device;
	philox_native_graph graph;

	caller.stream = make_stream(device, 0);
	caller.other = make_stream(device, PHILOX_STREAM_BLOCKING);
	caller.event = make_event(device);
	ASSERT_OK(philox_memory_alloc(device, 64, &caller.memory));
	begin(device, caller.stream, PHILOX_CAPTURE_RELAXED);
	ASSERT_OK(philox_stream_launch_host(device, caller.stream, calls_philox,
					    &of, sizeof(of)));
	graph = end(device, caller.stream);
	caller.exec = instantiate(device, graph);
	ASSERT_OK(philox_stream_launch_host(device, caller.stream, calls_philox,
					    &of, sizeof(of)));
	ASSERT_OK(philox_stream_synchronize(device, caller.stream));
	all_were_refused(&caller);
	ASSERT_OK(
		philox_native_exec_launch(device, caller.stream, caller.exec));
	ASSERT_OK(philox_stream_synchronize(device, caller.stream));
	all_were_refused(&caller);
	cr_expect_eq(caller.runs, 2);
	/* all is there, and this thread may do what its functions may not */
	ASSERT_OK(philox_event_record(device, caller.stream, caller.event));
	ASSERT_OK(philox_event_synchronize(device, caller.event));
	ASSERT_OK(philox_memory_free(device, caller.memory));
	ASSERT_OK(philox_native_exec_destroy(device, caller.exec));
	ASSERT_OK(philox_native_graph_destroy(device, graph));
	ASSERT_OK(philox_stream_destroy(device, caller.stream));
	ASSERT_OK(philox_device_close(device));
}

/* Eagerly and in a graph: each of these would wait for itself for ever. */
Test(device_host, a_function_of_a_stream_neither_waits_nor_launches,
     .timeout = 30)
{
	refuse_callers("host");
	refuse_callers("host:sync");
}

/* --- streams run side by side --------------------------------------------- */

struct meeting {
	atomic_int *here, *there;
	atomic_int *met;
};

/* Ends only when the other stream is at the same place at the same time. */
static void meet(const void *args)
{
	const struct meeting *meeting = args;
	const struct timespec moment = {.tv_nsec = 1000000};

	atomic_store(meeting->here, 1);
	for (int i = 0; i < 5000 && !atomic_load(meeting->there); i++)
		nanosleep(&moment, NULL);
	atomic_fetch_add(meeting->met, atomic_load(meeting->there));
}

Test(device_host, streams_run_side_by_side, .timeout = 60)
{
	struct philox_device *device = open_device("host");
	philox_stream first = make_stream(device, 0);
	philox_stream second = make_stream(device, PHILOX_STREAM_BLOCKING);
	atomic_int here = 0, there = 0, met = 0;
	struct meeting one = {&here, &there, &met};
	struct meeting other = {&there, &here, &met};

	ASSERT_OK(philox_stream_launch_host(device, first, meet, &one,
					    sizeof(one)));
	ASSERT_OK(philox_stream_launch_host(device, second, meet, &other,
					    sizeof(other)));
	ASSERT_OK(philox_device_synchronize(device));
	cr_expect_eq(atomic_load(&met), 2);
	philox_device_close(device);
}

/* --- orders of nodes ------------------------------------------------------ */

#define NODES 8

struct trace {
	int order[NODES];
	int count;
};

struct step {
	struct trace *trace;
	int number;
};

static void note_step(const void *args)
{
	const struct step *step = args;

	step->trace->order[step->trace->count++] = step->number;
}

static void put_step(struct philox_device *device, philox_stream stream,
		     struct trace *trace, int number)
{
	struct step step = {trace, number};

	ASSERT_OK(philox_stream_launch_host(device, stream, note_step, &step,
					    sizeof(step)));
}

/* Two chains of four, 0 2 4 6 and 1 3 5 7, with nothing between them. */
static philox_native_graph capture_chains(struct philox_device *device,
					  struct trace *trace)
{
	philox_stream even = make_stream(device, 0);
	philox_stream odd = make_stream(device, 0);

	begin(device, even, PHILOX_CAPTURE_RELAXED);
	ASSERT_OK(join(device, even, odd));
	for (int i = 0; i < NODES; i++)
		put_step(device, i % 2 ? odd : even, trace, i);
	ASSERT_OK(join(device, odd, even));
	return end(device, even);
}

static void replay(struct philox_device *device, philox_native_exec exec,
		   struct trace *trace)
{
	int place[NODES] = {0};

	trace->count = 0;
	ASSERT_OK(philox_native_exec_launch(device, NULL, exec));
	ASSERT_OK(philox_stream_synchronize(device, NULL));
	cr_assert_eq(trace->count, NODES);
	for (int i = 0; i < NODES; i++)
		place[trace->order[i]] = i;
	for (int i = 2; i < NODES; i++)
		cr_expect_lt(place[i - 2], place[i], "the edge %d -> %d", i - 2,
			     i);
}

Test(device_host, graphs_run_in_legal_orders_that_differ)
{
	enum { EXECS = 16 };
	int different = 0, other_than_captured = 0;
	int first_run[EXECS][NODES];

	for (int run = 0; run < 2; run++) {
		struct philox_device *device = open_device("host");
		struct trace trace = {{0}, 0};
		philox_native_graph graph = capture_chains(device, &trace);

		for (int k = 0; k < EXECS; k++) {
			philox_native_exec exec = instantiate(device, graph);
			struct trace again;

			replay(device, exec, &trace);
			again = trace;
			replay(device, exec, &trace);
			cr_expect_arr_eq(trace.order, again.order,
					 sizeof(trace.order));
			if (run == 0)
				memcpy(first_run[k], trace.order,
				       sizeof(trace.order));
			else
				cr_expect_arr_eq(trace.order, first_run[k],
						 sizeof(trace.order),
						 "exec %d is not repeatable",
						 k);
		}
		philox_device_close(device);
	}
	for (int k = 0; k < EXECS; k++) {
		different += !!memcmp(first_run[k], first_run[0],
				      sizeof(first_run[0]));
		for (int i = 0; i < NODES; i++)
			other_than_captured |= first_run[k][i] != i;
	}
	cr_expect_geq(different, EXECS / 2);
	cr_expect(other_than_captured);
}

/* What the joining stream stood at before is waited for as well. */
Test(device_host, a_join_adds_to_what_a_stream_waits_for)
{
	struct philox_device *device = open_device("host");
	philox_stream stream = make_stream(device, 0);
	philox_stream fork = make_stream(device, 0);
	struct trace trace = {{0}, 0};
	philox_native_graph graph;

	begin(device, stream, PHILOX_CAPTURE_RELAXED);
	ASSERT_OK(join(device, stream, fork));
	put_step(device, stream, &trace, 0);
	put_step(device, fork, &trace, 1);
	ASSERT_OK(join(device, fork, stream));
	put_step(device, stream, &trace, 2);
	graph = end(device, stream);
	for (int i = 0; i < 16; i++) {
		trace.count = 0;
		ASSERT_OK(philox_native_exec_launch(
			device, stream, instantiate(device, graph)));
		ASSERT_OK(philox_stream_synchronize(device, stream));
		cr_assert_eq(trace.count, 3);
		cr_assert_eq(trace.order[2], 2, "executable graph %d", i);
	}
	philox_device_close(device);
}

/* Kernels that write to arrays of their own, each told to write elsewhere. */
enum { ROOTS = 4 };

static void update_roots(const int order[ROOTS])
{
	struct philox_device *device = open_device("host");
	philox_stream stream = make_stream(device, 0);
	uint32_t old[ROOTS] = {0}, updated[ROOTS] = {0};
	struct fill_args args = {.count = 1, .rows = 1, .threads = 1};
	struct kernel_call call = {
		KERNEL_bits_u32, &args, sizeof(args), 1, NULL, 0};
	device_node roots[ROOTS];
	philox_native_graph graph;
	philox_native_exec exec;

	begin(device, stream, PHILOX_CAPTURE_RELAXED);
	graph = end(device, stream);
	for (int i = 0; i < ROOTS; i++) {
		args.out = &old[i];
		ASSERT_OK(device_graph_add_kernel(device, graph, NULL, 0, &call,
						  &roots[i]));
	}
	exec = instantiate(device, graph);
	for (int i = 0; i < ROOTS; i++) {
		args.out = &updated[order[i]];
		ASSERT_OK(device_exec_set_kernel(device, exec, roots[order[i]],
						 &call));
	}
	ASSERT_OK(philox_native_exec_launch(device, stream, exec));
	ASSERT_OK(philox_stream_synchronize(device, stream));
	for (int i = 0; i < ROOTS; i++)
		cr_assert(!old[i] && updated[i], "node %d", i);
	philox_device_close(device);
}

Test(device_host, nodes_take_new_arguments_in_any_order)
{
	static const int upwards[ROOTS] = {0, 1, 2, 3};
	static const int downwards[ROOTS] = {3, 2, 1, 0};

	update_roots(upwards);
	update_roots(downwards);
}

/* --- rules in combination ------------------------------------------------- */

Test(device_host, an_unsafe_call_breaks_all_captures_in_question)
{
	struct philox_device *device = open_device("host");
	philox_stream global = make_stream(device, 0);
	philox_stream local = make_stream(device, 0);
	philox_stream relaxed = make_stream(device, 0);
	philox_native_graph graph;
	void *memory;

	begin(device, global, PHILOX_CAPTURE_GLOBAL);
	begin(device, local, PHILOX_CAPTURE_THREAD_LOCAL);
	begin(device, relaxed, PHILOX_CAPTURE_RELAXED);
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_UNSUPPORTED,
		      philox_memory_alloc(device, 64, &memory));
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_INVALIDATED,
		      philox_stream_end_capture(device, global, &graph));
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_INVALIDATED,
		      philox_stream_end_capture(device, local, &graph));
	end(device, relaxed);
	ASSERT_OK(philox_memory_alloc(device, 64, &memory));
	philox_device_close(device);
}

Test(device_host, synchronizing_a_device_breaks_all_its_captures)
{
	struct philox_device *device = open_device("host");
	struct philox_device *other = open_device("host");
	philox_stream elsewhere = make_stream(other, 0);
	philox_stream streams[3];
	philox_native_graph graph;

	begin(other, elsewhere, PHILOX_CAPTURE_GLOBAL);
	for (int mode = 0; mode < 3; mode++) {
		streams[mode] = make_stream(device, 0);
		begin(device, streams[mode], mode);
	}
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_UNSUPPORTED,
		      philox_device_synchronize(device));
	for (int mode = 0; mode < 3; mode++)
		EXPECT_STATUS(PHILOX_ERROR_CAPTURE_INVALIDATED,
			      philox_stream_end_capture(device, streams[mode],
							&graph));
	end(other, elsewhere);
	ASSERT_OK(philox_device_close(other));
	ASSERT_OK(philox_device_close(device));
}

/* Something another thread may do while this one has a GLOBAL capture. */
static void *allocate_in_local_mode(void *argument)
{
	enum philox_capture_mode mode = PHILOX_CAPTURE_THREAD_LOCAL;
	struct philox_device *device = argument;
	void *memory;

	ASSERT_OK(philox_capture_exchange_mode(device, &mode));
	ASSERT_OK(philox_memory_alloc(device, 16, &memory));
	ASSERT_OK(philox_memory_free(device, memory));
	return NULL;
}

Test(device_host, a_thread_in_local_mode_ignores_captures_of_others)
{
	struct philox_device *device = open_device("host");
	philox_stream stream = make_stream(device, 0);
	pthread_t thread;

	begin(device, stream, PHILOX_CAPTURE_GLOBAL);
	cr_assert_eq(
		pthread_create(&thread, NULL, allocate_in_local_mode, device),
		0);
	pthread_join(thread, NULL);
	end(device, stream);
	philox_device_close(device);
}

Test(device_host, a_capture_cannot_wait_for_an_event_never_recorded)
{
	struct philox_device *device = open_device("host");
	philox_stream stream = make_stream(device, 0);
	philox_native_graph graph;

	begin(device, stream, PHILOX_CAPTURE_RELAXED);
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_ISOLATION,
		      philox_event_wait(device, stream, make_event(device)));
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_INVALIDATED,
		      philox_stream_end_capture(device, stream, &graph));
	philox_device_close(device);
}

Test(device_host, an_idle_stream_does_not_join_an_invalidated_capture)
{
	struct philox_device *device = open_device("host");
	philox_stream stream = make_stream(device, 0);
	philox_stream idle = make_stream(device, 0);
	philox_event event = make_event(device);
	philox_native_graph graph;

	begin(device, stream, PHILOX_CAPTURE_RELAXED);
	ASSERT_OK(philox_event_record(device, stream, event));
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_UNSUPPORTED,
		      philox_stream_query(device, stream));
	EXPECT_STATUS(PHILOX_ERROR_INVALID,
		      philox_event_wait(device, idle, event));
	cr_expect(strstr(philox_error_message(), "philox_stream_query"));
	cr_expect_eq(capture_status(device, idle), PHILOX_CAPTURE_NONE);
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_INVALIDATED,
		      philox_stream_end_capture(device, stream, &graph));
	philox_device_close(device);
}

Test(device_host, the_legacy_stream_never_joins_a_capture)
{
	struct philox_device *device = open_device("host");
	philox_stream stream = make_stream(device, 0);
	philox_native_graph graph;

	begin(device, stream, PHILOX_CAPTURE_RELAXED);
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_UNSUPPORTED,
		      join(device, stream, NULL));
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_INVALIDATED,
		      philox_stream_end_capture(device, stream, &graph));
	EXPECT_STATUS(PHILOX_ERROR_STATE,
		      philox_stream_end_capture(device, NULL, &graph));
	philox_device_close(device);
}

Test(device_host, a_blocking_fork_binds_the_legacy_stream_too)
{
	struct philox_device *device = open_device("host");
	philox_stream stream = make_stream(device, 0);
	philox_stream fork = make_stream(device, PHILOX_STREAM_BLOCKING);
	philox_native_graph graph;

	begin(device, stream, PHILOX_CAPTURE_RELAXED);
	ASSERT_OK(philox_stream_synchronize(device, NULL));
	ASSERT_OK(join(device, stream, fork));
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_IMPLICIT,
		      philox_stream_synchronize(device, NULL));
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_INVALIDATED,
		      philox_stream_end_capture(device, stream, &graph));
	ASSERT_OK(philox_stream_synchronize(device, NULL));
	philox_device_close(device);
}

Test(device_host, the_legacy_stream_breaks_all_blocking_captures)
{
	struct philox_device *device = open_device("host");
	philox_stream streams[3];

	for (int i = 0; i < 3; i++) {
		streams[i] = make_stream(device, PHILOX_STREAM_BLOCKING);
		begin(device, streams[i], PHILOX_CAPTURE_RELAXED);
	}
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_IMPLICIT,
		      philox_stream_synchronize(device, NULL));
	for (int i = 0; i < 3; i++)
		cr_expect_eq(capture_status(device, streams[i]),
			     PHILOX_CAPTURE_INVALIDATED, "stream %d", i);
	philox_device_close(device);
}

/* It is that already: no wait breaks another rule, or another capture. */
Test(device_host, a_wait_in_an_invalidated_capture_says_that_it_is)
{
	struct philox_device *device = open_device("host");
	philox_stream broken = make_stream(device, 0);
	philox_stream whole = make_stream(device, 0);
	philox_event event = make_event(device);
	uint32_t word;
	struct fill_args args = {
		.count = 1, .rows = 1, .threads = 1, .out = &word};
	struct kernel_call call = {
		KERNEL_bits_u32, &args, sizeof(args), 1, NULL, 0};
	struct capture_info info;
	device_node node;

	begin(device, broken, PHILOX_CAPTURE_RELAXED);
	ASSERT_OK(philox_event_record(device, broken, event));
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_UNSUPPORTED,
		      philox_stream_query(device, broken));
	begin(device, whole, PHILOX_CAPTURE_RELAXED);
	ASSERT_OK(device_capture_info(device, whole, &info));
	ASSERT_OK(device_graph_add_kernel(device, info.graph, NULL, 0, &call,
					  &node));
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_INVALIDATED,
		      philox_event_wait(device, broken, event));
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_INVALIDATED,
		      philox_event_wait(device, broken, make_event(device)));
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_INVALIDATED,
		      join(device, whole, broken));
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_INVALIDATED,
		      device_capture_depend(device, broken, node));
	end(device, whole);
	philox_device_close(device);
}

Test(device_host, an_event_belongs_to_the_capture_it_was_recorded_in_last)
{
	struct philox_device *device = open_device("host");
	philox_stream stream = make_stream(device, 0);
	philox_stream fork = make_stream(device, 0);
	philox_event event = make_event(device);

	for (int i = 0; i < 2; i++) {
		begin(device, stream, PHILOX_CAPTURE_RELAXED);
		ASSERT_OK(philox_event_record(device, stream, event));
		ASSERT_OK(philox_event_wait(device, fork, event));
		cr_expect_eq(capture_status(device, fork),
			     PHILOX_CAPTURE_ACTIVE);
		end(device, stream);
	}
	philox_device_close(device);
}

Test(device_host, an_invalidated_capture_still_has_its_origin_and_thread)
{
	struct philox_device *device = open_device("host");
	philox_stream stream = make_stream(device, 0);
	philox_stream fork = make_stream(device, 0);
	philox_native_graph graph;

	begin(device, stream, PHILOX_CAPTURE_RELAXED);
	ASSERT_OK(join(device, stream, fork));
	for (int i = 0; i < 2; i++)
		EXPECT_STATUS(PHILOX_ERROR_CAPTURE_UNMATCHED,
			      philox_stream_end_capture(device, fork, &graph));
	EXPECT_STATUS(PHILOX_ERROR_STATE,
		      philox_stream_begin_capture(device, fork,
						  PHILOX_CAPTURE_RELAXED));
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_INVALIDATED,
		      philox_stream_end_capture(device, stream, &graph));
	cr_expect(strstr(philox_error_message(), "philox_stream_end_capture"));
	cr_expect_eq(capture_status(device, fork), PHILOX_CAPTURE_NONE);
	philox_device_close(device);
}

Test(device_host, the_first_reason_is_kept)
{
	struct philox_device *device = open_device("host");
	philox_stream stream = make_stream(device, 0);
	philox_native_graph graph;

	begin(device, stream, PHILOX_CAPTURE_GLOBAL);
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_UNSUPPORTED,
		      philox_device_synchronize(device));
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_INVALIDATED,
		      philox_stream_synchronize(device, stream));
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_INVALIDATED,
		      philox_stream_end_capture(device, stream, &graph));
	cr_expect(strstr(philox_error_message(),
			 "invalidated by philox_device_synchronize"),
		  "%s", philox_error_message());
	philox_device_close(device);
}

/* Not even as the one that ends on the wrong stream, which would break it. */
static void *end_a_fork(void *argument)
{
	void **device_and_fork = argument;
	philox_native_graph graph;

	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_WRONG_THREAD,
		      philox_stream_end_capture(device_and_fork[0],
						device_and_fork[1], &graph));
	return NULL;
}

Test(device_host, another_thread_cannot_break_a_capture_by_ending_it)
{
	struct philox_device *device = open_device("host");
	philox_stream stream = make_stream(device, 0);
	philox_stream fork = make_stream(device, 0);
	void *device_and_fork[] = {device, fork};
	pthread_t thread;

	begin(device, stream, PHILOX_CAPTURE_THREAD_LOCAL);
	ASSERT_OK(join(device, stream, fork));
	cr_assert_eq(pthread_create(&thread, NULL, end_a_fork, device_and_fork),
		     0);
	pthread_join(thread, NULL);
	end(device, stream);
	philox_device_close(device);
}

Test(device_host, a_thread_in_local_mode_keeps_its_own_captures_rules)
{
	enum philox_capture_mode mode = PHILOX_CAPTURE_THREAD_LOCAL;
	struct philox_device *device = open_device("host");
	philox_stream stream = make_stream(device, 0);
	philox_native_graph graph;
	void *memory;

	ASSERT_OK(philox_capture_exchange_mode(device, &mode));
	begin(device, stream, PHILOX_CAPTURE_THREAD_LOCAL);
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_UNSUPPORTED,
		      philox_memory_alloc(device, 16, &memory));
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_INVALIDATED,
		      philox_stream_end_capture(device, stream, &graph));
	ASSERT_OK(philox_capture_exchange_mode(device, &mode));
	philox_device_close(device);
}

/* Writes the mode that a new thread begins with to argument[1]. */
static void *read_mode(void *argument)
{
	void **device_and_mode = argument;

	ASSERT_OK(philox_capture_exchange_mode(device_and_mode[0],
					       device_and_mode[1]));
	return NULL;
}

Test(device_host, every_thread_has_a_mode_of_its_own_global_at_first)
{
	enum philox_capture_mode mode = PHILOX_CAPTURE_RELAXED;
	enum philox_capture_mode other = PHILOX_CAPTURE_THREAD_LOCAL;
	struct philox_device *device = open_device("host");
	void *device_and_mode[] = {device, &other};
	pthread_t thread;

	ASSERT_OK(philox_capture_exchange_mode(device, &mode));
	cr_expect_eq(mode, PHILOX_CAPTURE_GLOBAL);
	cr_assert_eq(pthread_create(&thread, NULL, read_mode, device_and_mode),
		     0);
	pthread_join(thread, NULL);
	cr_expect_eq(other, PHILOX_CAPTURE_GLOBAL);
	ASSERT_OK(philox_capture_exchange_mode(device, &mode));
	cr_expect_eq(mode, PHILOX_CAPTURE_RELAXED);
	philox_device_close(device);
}

Test(device_host, what_is_not_in_a_capture_may_be_destroyed_during_it)
{
	struct philox_device *device = open_device("host");
	philox_stream stream = make_stream(device, 0);
	philox_stream other = make_stream(device, 0);
	philox_event event = make_event(device);
	philox_native_graph graph;
	philox_native_exec exec;

	begin(device, other, PHILOX_CAPTURE_RELAXED);
	graph = end(device, other);
	exec = instantiate(device, graph);
	ASSERT_OK(philox_event_record(device, other, event));
	begin(device, stream, PHILOX_CAPTURE_GLOBAL);
	ASSERT_OK(philox_native_exec_destroy(device, exec));
	ASSERT_OK(philox_native_graph_destroy(device, graph));
	ASSERT_OK(philox_event_destroy(device, event));
	ASSERT_OK(philox_stream_destroy(device, other));
	end(device, stream);
	philox_device_close(device);
}

/* The node of b, had it stayed in the event, would count as joined. */
Test(device_host, an_event_recorded_again_forgets_the_nodes_before)
{
	struct philox_device *device = open_device("host");
	philox_stream stream = make_stream(device, 0);
	philox_stream a = make_stream(device, 0), b = make_stream(device, 0);
	philox_stream both = make_stream(device, 0);
	philox_event event = make_event(device);
	struct trace trace = {{0}, 0};
	philox_native_graph graph;

	begin(device, stream, PHILOX_CAPTURE_RELAXED);
	ASSERT_OK(join(device, stream, a));
	ASSERT_OK(join(device, stream, b));
	put_step(device, a, &trace, 0);
	put_step(device, b, &trace, 1);
	ASSERT_OK(join(device, a, both));
	ASSERT_OK(join(device, b, both));
	ASSERT_OK(philox_event_record(device, both, event));
	ASSERT_OK(philox_event_record(device, a, event));
	ASSERT_OK(philox_event_wait(device, stream, event));
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_UNJOINED,
		      philox_stream_end_capture(device, stream, &graph));
	philox_device_close(device);
}

Test(device_host, asking_for_a_capture_in_vain_writes_nothing)
{
	struct capture_info info = {.status = PHILOX_CAPTURE_ACTIVE, .id = 7};
	struct philox_device *device = open_device("host");
	enum philox_capture_status status = PHILOX_CAPTURE_ACTIVE;
	philox_stream stream = make_stream(device, PHILOX_STREAM_BLOCKING);
	uint64_t id = 7;

	begin(device, stream, PHILOX_CAPTURE_RELAXED);
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_IMPLICIT,
		      device_capture_info(device, NULL, &info));
	cr_expect(info.status == PHILOX_CAPTURE_ACTIVE && info.id == 7);
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_IMPLICIT,
		      philox_stream_capture_info(device, NULL, &status, &id));
	cr_expect(status == PHILOX_CAPTURE_ACTIVE && id == 7);
	end(device, stream);
	philox_device_close(device);
}

Test(device_host, mapped_memory_is_not_freed_as_memory)
{
	struct philox_device *device = open_device("host");
	void *host, *mapped, *memory;

	ASSERT_OK(device_mapped_alloc(device, 16, &host, &mapped));
	ASSERT_OK(philox_memory_alloc(device, 16, &memory));
	EXPECT_STATUS(PHILOX_ERROR_INVALID, philox_memory_free(device, host));
	EXPECT_STATUS(PHILOX_ERROR_INVALID, device_mapped_free(device, memory));
	ASSERT_OK(device_mapped_free(device, host));
	ASSERT_OK(philox_memory_free(device, memory));
	philox_device_close(device);
}

Test(device_host, a_graph_under_capture_is_left_alone)
{
	struct philox_device *device = open_device("host");
	philox_stream stream = make_stream(device, 0);
	struct capture_info info;
	philox_native_exec exec;

	begin(device, stream, PHILOX_CAPTURE_RELAXED);
	ASSERT_OK(device_capture_info(device, stream, &info));
	EXPECT_STATUS(PHILOX_ERROR_STATE,
		      philox_native_graph_destroy(device, info.graph));
	EXPECT_STATUS(PHILOX_ERROR_STATE, philox_native_graph_instantiate(
						  device, info.graph, &exec));
	cr_expect_eq(end(device, stream), info.graph);
	philox_device_close(device);
}

Test(device_host, nodes_belong_to_their_graph)
{
	struct philox_device *device = open_device("host");
	philox_stream stream = make_stream(device, 0);
	uint32_t words[4];
	struct fill_args args = {
		.count = 4, .rows = 1, .threads = 1, .out = words};
	struct kernel_call call = {
		KERNEL_bits_u32, &args, sizeof(args), 1, NULL, 0};
	philox_native_graph first, second;
	philox_native_exec exec;
	device_node inside, late, none = NULL;

	begin(device, stream, PHILOX_CAPTURE_RELAXED);
	first = end(device, stream);
	ASSERT_OK(device_graph_add_kernel(device, first, NULL, 0, &call,
					  &inside));
	exec = instantiate(device, first);
	ASSERT_OK(
		device_graph_add_kernel(device, first, NULL, 0, &call, &late));
	ASSERT_OK(device_exec_set_kernel(device, exec, inside, &call));
	EXPECT_STATUS(PHILOX_ERROR_INVALID,
		      device_exec_set_kernel(device, exec, late, &call));
	EXPECT_STATUS(PHILOX_ERROR_STATE,
		      device_capture_depend(device, stream, inside));
	begin(device, stream, PHILOX_CAPTURE_RELAXED);
	EXPECT_STATUS(PHILOX_ERROR_INVALID,
		      device_capture_depend(device, stream, inside));
	second = end(device, stream);
	EXPECT_STATUS(PHILOX_ERROR_INVALID,
		      device_graph_add_kernel(device,
					      (philox_native_graph)stream, NULL,
					      0, &call, &none));
	cr_expect_null(none);
	ASSERT_OK(philox_native_graph_destroy(device, second));
	philox_device_close(device);
}

Test(device_host, a_stream_waits_for_its_own_event)
{
	struct philox_device *device = open_device("host");
	philox_stream stream = make_stream(device, 0);
	struct trace trace = {{0}, 0};
	size_t nodes;

	ASSERT_OK(join(device, stream, stream));
	ASSERT_OK(philox_stream_synchronize(device, stream));
	begin(device, stream, PHILOX_CAPTURE_RELAXED);
	ASSERT_OK(join(device, stream, stream));
	put_step(device, stream, &trace, 0);
	ASSERT_OK(join(device, stream, stream));
	ASSERT_OK(philox_native_graph_node_count(device, end(device, stream),
						 &nodes));
	cr_expect_eq(nodes, 1);
	philox_device_close(device);
}

Test(device_host, capture_ids_are_never_used_again)
{
	uint64_t last = 0;

	for (int i = 0; i < 20; i++) {
		struct philox_device *device = open_device("host:sync");
		philox_stream stream = make_stream(device, 0);
		uint64_t id;

		begin(device, stream, PHILOX_CAPTURE_RELAXED);
		ASSERT_OK(
			philox_stream_capture_info(device, stream, NULL, &id));
		cr_expect_gt(id, last);
		last = id;
		philox_device_close(device);
	}
}

/* --- many edges ----------------------------------------------------------- */

Test(device_host, large_graphs_keep_all_their_edges, .timeout = 60)
{
	enum { STEPS = 2000, WIDTH = 4 };
	struct philox_device *device = open_device("host");
	philox_stream streams[WIDTH];
	philox_native_graph graph;
	uint32_t *values;
	size_t nodes;

	ASSERT_OK(philox_memory_alloc(device, (STEPS + 1) * sizeof(*values),
				      (void **)&values));
	for (int i = 0; i < WIDTH; i++)
		streams[i] = make_stream(device, 0);
	begin(device, streams[0], PHILOX_CAPTURE_RELAXED);
	ASSERT_OK(philox_memory_set(device, streams[0], values, 1, 4));
	for (int i = 1; i <= STEPS; i++) {
		/* Each step computes its value from the previous one. */
		ASSERT_OK(join(device, streams[(i - 1) % WIDTH],
			       streams[i % WIDTH]));
		ASSERT_OK(philox_memory_copy(device, streams[i % WIDTH],
					     values + i, values + i - 1, 4));
	}
	for (int i = 1; i < WIDTH; i++)
		ASSERT_OK(join(device, streams[i], streams[0]));
	graph = end(device, streams[0]);
	ASSERT_OK(philox_native_graph_node_count(device, graph, &nodes));
	cr_expect_eq(nodes, STEPS + 1);
	for (int k = 0; k < 3; k++) {
		memset(values, 0, (STEPS + 1) * sizeof(*values));
		ASSERT_OK(philox_native_exec_launch(
			device, streams[0], instantiate(device, graph)));
		ASSERT_OK(philox_stream_synchronize(device, streams[0]));
		for (int i = 0; i <= STEPS; i++)
			cr_assert_eq(values[i], 0x01010101u, "step %d", i);
	}
	philox_device_close(device);
}

/* --- threads -------------------------------------------------------------- */

struct worker {
	struct philox_device *device;
	pthread_t thread;
	int number;
	int failed;
};

/* Captures and replays again and again; other threads do the same. */
static void *capture_and_replay(void *argument)
{
	struct worker *worker = argument;
	struct philox_device *device = worker->device;
	philox_stream stream;
	unsigned char bytes[64];
	enum philox_status status;

	status = philox_stream_create(device, 0, &stream);
	for (int i = 0; i < 50 && !status; i++) {
		philox_native_graph graph;
		philox_native_exec exec;

		status = philox_stream_begin_capture(
			device, stream, PHILOX_CAPTURE_THREAD_LOCAL);
		if (!status)
			status = philox_memory_set(device, stream, bytes,
						   worker->number + i,
						   sizeof(bytes));
		if (!status)
			status = philox_stream_end_capture(device, stream,
							   &graph);
		if (!status)
			status = philox_native_graph_instantiate(device, graph,
								 &exec);
		if (!status)
			status =
				philox_native_exec_launch(device, stream, exec);
		if (!status)
			status = philox_native_exec_destroy(device, exec);
		if (!status)
			status = philox_native_graph_destroy(device, graph);
		if (!status)
			status = philox_stream_synchronize(device, stream);
		worker->failed += status || bytes[0] != worker->number + i ||
				  bytes[63] != worker->number + i;
	}
	return NULL;
}

static void capture_on_threads(const char *name)
{
	enum { WORKERS = 4 };
	struct philox_device *device = open_device(name);
	struct worker workers[WORKERS];

	for (int i = 0; i < WORKERS; i++) {
		workers[i] =
			(struct worker){.device = device, .number = 50 * i};
		cr_assert_eq(pthread_create(&workers[i].thread, NULL,
					    capture_and_replay, &workers[i]),
			     0);
	}
	for (int i = 0; i < WORKERS; i++) {
		pthread_join(workers[i].thread, NULL);
		cr_expect_eq(workers[i].failed, 0, "%s: worker %d", name, i);
	}
	philox_device_close(device);
}

Test(device_host, captures_on_several_threads_stay_apart, .timeout = 60)
{
	capture_on_threads("host");
	capture_on_threads("host:sync");
}

/* --- releases and turns --------------------------------------------------- */

struct gate {
	atomic_int *open;
};

static void wait_at_gate(const void *args)
{
	const struct gate *gate = args;
	const struct timespec moment = {.tv_nsec = 1000000};

	for (int i = 0; i < 5000 && !atomic_load(gate->open); i++)
		nanosleep(&moment, NULL);
}

static void count_release(void *object)
{
	atomic_fetch_add((atomic_int *)object, 1);
}

static int becomes_one(atomic_int *value)
{
	const struct timespec moment = {.tv_nsec = 1000000};

	for (int i = 0; i < 5000 && !atomic_load(value); i++)
		nanosleep(&moment, NULL);
	return atomic_load(value) == 1;
}

Test(device_host, the_last_launch_releases_without_being_asked, .timeout = 60)
{
	struct philox_device *device = open_device("host");
	philox_stream stream = make_stream(device, 0);
	atomic_int open = 0, released = 0;
	struct gate gate = {&open};
	struct capture_info info;
	philox_native_graph graph;
	philox_native_exec exec;

	begin(device, stream, PHILOX_CAPTURE_RELAXED);
	ASSERT_OK(philox_stream_launch_host(device, stream, wait_at_gate, &gate,
					    sizeof(gate)));
	ASSERT_OK(device_capture_info(device, stream, &info));
	ASSERT_OK(device_graph_retain(device, info.graph, count_release,
				      &released));
	graph = end(device, stream);
	exec = instantiate(device, graph);
	ASSERT_OK(philox_native_exec_launch(device, stream, exec));
	ASSERT_OK(philox_native_graph_destroy(device, graph));
	ASSERT_OK(philox_native_exec_destroy(device, exec));
	cr_expect_eq(atomic_load(&released), 0);
	atomic_store(&open, 1);
	cr_expect(becomes_one(&released));
	philox_device_close(device);
}

static void query_legacy(unsigned flags, enum philox_status expected)
{
	struct philox_device *device = open_device("host");
	philox_stream stream = make_stream(device, flags);
	atomic_int open = 0;
	struct gate gate = {&open};

	ASSERT_OK(philox_stream_launch_host(device, stream, wait_at_gate, &gate,
					    sizeof(gate)));
	EXPECT_STATUS(expected, philox_stream_query(device, NULL));
	atomic_store(&open, 1);
	ASSERT_OK(philox_stream_synchronize(device, stream));
	EXPECT_STATUS(PHILOX_OK, philox_stream_query(device, NULL));
	philox_device_close(device);
}

Test(device_host, asking_the_legacy_stream_asks_the_blocking_ones,
     .timeout = 60)
{
	query_legacy(PHILOX_STREAM_BLOCKING, PHILOX_NOT_READY);
	query_legacy(0, PHILOX_OK);
}

/* One of three blocking streams is held up: the legacy stream is, too. */
static void hold_up_legacy(int held)
{
	const struct timespec moment = {.tv_nsec = 20000000};
	struct philox_device *device = open_device("host");
	philox_event event = make_event(device);
	atomic_int open[3] = {1, 1, 1};
	philox_stream streams[3];

	atomic_store(&open[held], 0);
	for (int i = 0; i < 3; i++) {
		struct gate gate = {&open[i]};

		streams[i] = make_stream(device, PHILOX_STREAM_BLOCKING);
		ASSERT_OK(philox_stream_launch_host(
			device, streams[i], wait_at_gate, &gate, sizeof(gate)));
	}
	ASSERT_OK(philox_event_record(device, NULL, event));
	for (int i = 0; i < 3; i++)
		if (i != held)
			ASSERT_OK(
				philox_stream_synchronize(device, streams[i]));
	nanosleep(&moment, NULL); /* it would have come by now */
	EXPECT_STATUS(PHILOX_NOT_READY, philox_event_query(device, event));
	atomic_store(&open[held], 1);
	ASSERT_OK(philox_event_synchronize(device, event));
	philox_device_close(device);
}

Test(device_host, the_legacy_stream_waits_for_all_blocking_ones, .timeout = 60)
{
	for (int held = 0; held < 3; held++)
		hold_up_legacy(held);
}

struct visit {
	atomic_int *inside;
	atomic_int *clashes;
};

static void visit(const void *args)
{
	const struct timespec moment = {.tv_nsec = 200000};
	const struct visit *visit = args;

	if (atomic_fetch_add(visit->inside, 1))
		atomic_fetch_add(visit->clashes, 1);
	nanosleep(&moment, NULL);
	atomic_fetch_sub(visit->inside, 1);
}

struct visitor {
	struct philox_device *device;
	philox_stream stream;
	struct visit visit;
	enum philox_status status;
};

static void *visit_often(void *argument)
{
	struct visitor *visitor = argument;

	for (int i = 0; i < 50 && !visitor->status; i++)
		visitor->status = philox_stream_launch_host(
			visitor->device, visitor->stream, visit,
			&visitor->visit, sizeof(visitor->visit));
	return NULL;
}

Test(device_host, sync_runs_the_work_of_all_threads_one_by_one, .timeout = 60)
{
	enum { VISITORS = 3 };
	struct philox_device *device = open_device("host:sync");
	atomic_int inside = 0, clashes = 0;
	struct visitor visitors[VISITORS];
	pthread_t threads[VISITORS];

	for (int i = 0; i < VISITORS; i++) {
		visitors[i] = (struct visitor){device,
					       make_stream(device, 0),
					       {&inside, &clashes},
					       PHILOX_OK};
		cr_assert_eq(pthread_create(&threads[i], NULL, visit_often,
					    &visitors[i]),
			     0);
	}
	for (int i = 0; i < VISITORS; i++) {
		pthread_join(threads[i], NULL);
		cr_expect_eq(visitors[i].status, PHILOX_OK);
	}
	cr_expect_eq(atomic_load(&clashes), 0);
	philox_device_close(device);
}

/* --- closing -------------------------------------------------------------- */

static void nap(const void *args)
{
	const struct timespec moment = {.tv_nsec = 20000000};

	nanosleep(&moment, NULL);
	atomic_fetch_add(*(atomic_int *const *)args, 1);
}

Test(device_host, synchronizing_a_device_waits_for_the_legacy_stream_too)
{
	struct philox_device *device = open_device("host");
	atomic_int ran = 0, *where = &ran;
	void *memory;

	ASSERT_OK(philox_memory_alloc(device, 16, &memory));
	ASSERT_OK(philox_stream_launch_host(device, NULL, nap, &where,
					    sizeof(where)));
	ASSERT_OK(philox_device_synchronize(device));
	cr_expect_eq(atomic_load(&ran), 1);
	ASSERT_OK(philox_stream_launch_host(device, NULL, nap, &where,
					    sizeof(where)));
	ASSERT_OK(philox_memory_free(device, memory));
	cr_expect_eq(atomic_load(&ran), 2);
	philox_device_close(device);
}

/* Leaves work queued, graphs and memory alive, and two captures in progress. */
static void leave_all_open(struct philox_device *device, atomic_int *ran,
			   atomic_int *released)
{
	philox_stream stream = make_stream(device, 0);
	philox_stream capturing = make_stream(device, PHILOX_STREAM_BLOCKING);
	philox_stream broken = make_stream(device, 0);
	struct capture_info info;
	void *memory, *mapped;

	make_event(device);
	ASSERT_OK(philox_memory_alloc(device, 1000, &memory));
	ASSERT_OK(device_mapped_alloc(device, 1000, &memory, &mapped));
	begin(device, stream, PHILOX_CAPTURE_RELAXED);
	ASSERT_OK(philox_stream_launch_host(device, stream, nap, &ran,
					    sizeof(ran)));
	ASSERT_OK(device_capture_info(device, stream, &info));
	ASSERT_OK(device_graph_retain(device, info.graph, count_release,
				      released));
	instantiate(device, end(device, stream));
	for (int i = 0; i < 3; i++)
		ASSERT_OK(philox_stream_launch_host(device, stream, nap, &ran,
						    sizeof(ran)));
	begin(device, broken, PHILOX_CAPTURE_RELAXED);
	EXPECT_STATUS(PHILOX_ERROR_CAPTURE_UNSUPPORTED,
		      philox_stream_query(device, broken));
	begin(device, capturing, PHILOX_CAPTURE_RELAXED);
	ASSERT_OK(philox_stream_launch_host(device, capturing, nap, &ran,
					    sizeof(ran)));
	ASSERT_OK(device_capture_info(device, capturing, &info));
	ASSERT_OK(device_graph_retain(device, info.graph, count_release,
				      released));
}

Test(device_host, closing_finishes_work_and_frees_what_is_open, .timeout = 60)
{
	static const char *const names[] = {"host", "host:sync"};

	for (int i = 0; i < 2; i++) {
		struct philox_device *device = open_device(names[i]);
		atomic_int ran = 0, released = 0;

		leave_all_open(device, &ran, &released);
		philox_device_close(device);
		cr_expect_eq(atomic_load(&ran), 3, "%s", names[i]);
		cr_expect_eq(atomic_load(&released), 2, "%s", names[i]);
	}
}
