/*
 * tests/graph/capture/nothing_waits.c - passes are captured while the device is
 * full: no call waits for it, and the context is not locked while it might
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <philox/rows.h>
#include <philox/save.h>
#include <philox/device.h>
#include "graph/launch/launch.h"
#include "tests/support/support.h"

/* --- a device on which nothing runs --------------------------------------- */

static const struct device_ops *plain;

/*
 * While the gate is closed, no work that is queued is waited for, whatever its
 * stream, as if all streams had to share one queue. Blocking streams do wait
 * for the gate, which the legacy stream waits for.
 */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static struct device_ops full;

static void pass_gate(const void *args)
{
	(void)args;
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
}

static enum philox_status never_ends(const char *operation)
{
	cr_assert_fail("%s waits for a device that is full", operation);
	return PHILOX_ERROR_DEVICE;
}

static enum philox_status full_stream_sync(struct philox_device *device,
					   philox_stream stream)
{
	(void)device;
	(void)stream;
	return never_ends("stream_sync");
}

static enum philox_status full_device_sync(struct philox_device *device)
{
	(void)device;
	return never_ends("device_sync");
}

static enum philox_status full_event_sync(struct philox_device *device,
					  philox_event event)
{
	(void)device;
	(void)event;
	return never_ends("event_sync");
}

static enum philox_status full_free(struct philox_device *device, void *memory)
{
	(void)device;
	(void)memory;
	return never_ends("mem_free");
}

static void fill_device(struct fixture *f)
{
	pthread_mutex_lock(&gate);
	OK(philox_stream_launch_host(f->device, NULL, pass_gate, "", 1));
	plain = f->device->ops;
	full = *plain;
	full.stream_sync = full_stream_sync;
	full.device_sync = full_device_sync;
	full.event_sync = full_event_sync;
	full.mem_free = full_free;
	full.mapped_free = full_free;
	f->device->ops = &full;
}

static void drain_device(struct fixture *f)
{
	f->device->ops = plain;
	FAILS(philox_stream_query(f->device, f->stream), PHILOX_NOT_READY);
	pthread_mutex_unlock(&gate);
	OK(philox_device_synchronize(f->device));
}

static void on_a_full_device(void (*promise)(struct fixture *f), int own)
{
	struct fixture f;

	fixture_open(&f, "host:strict");
	f.own = own;
	promise(&f);
	fixture_close(&f);
}

#define FULL_PROMISE(name)                        \
	static void name(struct fixture *f);      \
	Test(nothing_waits, name, .timeout = 120) \
	{                                         \
		on_a_full_device(name, 0);        \
		on_a_full_device(name, 1);        \
	}                                         \
	static void name(struct fixture *f)

/* --- capturing ------------------------------------------------------------ */

/* Operations that wait, or whose work would be waited for. */
static uint64_t calls_that_wait(struct fixture *f)
{
	static const char *const waiting[] = {
		"stream_sync", "event_sync", "device_sync", "mem_free",
		"mapped_free", "copy",       "set"};
	uint64_t calls = 0;

	for (size_t i = 0; i < sizeof(waiting) / sizeof(waiting[0]); i++)
		calls += philox_device_call_count(f->device, waiting[i]);
	return calls;
}

/* Some passes of it need more cells than an arena has in its first chunk. */
static struct philox_region *make_large_region(struct fixture *f)
{
	const struct philox_op_desc op = {
		.name = "op", .calls = 1000, .advance = 4};
	const struct philox_region_desc options = {.size = sizeof(options),
						   .name = "large",
						   .ops = &op,
						   .n_ops = 1};
	struct philox_region *region;

	OK(philox_region_create(f->context, &options, &region));
	return region;
}

FULL_PROMISE(a_capture_on_a_full_device)
{
	enum { PASSES = 100 };
	struct philox_region *region = make_region(f, "layer");
	struct philox_region *large = make_large_region(f);
	struct philox_launch_pass uses[1 + PASSES] = {0};
	uint32_t *array = make_array(f);
	struct philox_graph *graph;
	uint64_t before;

	fill_device(f);
	record_begin(f);
	captured_forward(f, region, 0, array);
	before = calls_that_wait(f);
	for (unsigned i = 0; i < PASSES; i++) {
		struct philox_pass pass;

		OK(philox_forward_begin(large, f->stream, PHILOX_PASS_INFERENCE,
					&pass));
		OK(philox_pass_commit(&pass, 0, NULL));
	}
	cr_assert_eq(calls_that_wait(f), before);
	graph = record_end(f);
	cr_assert_eq(calls_that_wait(f), before);
	OK(philox_graph_launch(graph, f->side, uses, 1 + PASSES));
	OK(philox_graph_launch(graph, f->stream, uses, 1 + PASSES));
	drain_device(f);
	SAME(read_numbers(f, array), predict(0, "layer", 4), "the second");
	OK(philox_context_check(f->context, NULL));
}

FULL_PROMISE(a_backward_on_a_full_device)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_launch_pass uses[2] = {0};
	uint32_t *y = make_array(f), *dx = make_array(f);
	struct philox_graph *graph;

	fill_device(f);
	graph = record_pair(f, region, y, dx);
	OK(philox_graph_launch(graph, f->stream, uses, 2));
	drain_device(f);
	SAME(read_numbers(f, y), read_numbers(f, dx), "forward and backward");
	SAME(read_numbers(f, y), predict(0, "layer", 0), "the first");
}

/* Another capture and its launches on the same device must not matter. */
FULL_PROMISE(a_graph_is_destroyed_and_its_memory_used_again_on_a_full_device)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_launch_pass use = {0};
	uint32_t *array = make_array(f);
	struct philox_graph *graph;
	struct numbers saw;

	if (f->own)
		return;
	fill_device(f);
	for (unsigned i = 0; i < 20; i++) {
		graph = record_forward(f, region, 0, array);
		OK(philox_device_fail(f->device, "exec_launch", 1,
				      PHILOX_ERROR_DEVICE));
		FAILS(philox_graph_launch(graph, f->stream, &use, 1),
		      PHILOX_ERROR_DEVICE);
		OK(philox_graph_destroy(graph));
	}
	graph = record_forward(f, region, 0, array);
	OK(philox_graph_launch(graph, f->side, &use, 1));
	while (philox_stream_query(f->device, f->side) != PHILOX_OK)
		sched_yield();
	drain_device(f);
	SAME(read_numbers(f, array), predict(0, "layer", 4 * 20), "the last");
	OK(philox_context_check(f->context, NULL));
	OK(philox_native_exec_launch(f->device, f->side, native_exec(graph)));
	saw = read_numbers(f, array);
	cr_assert(all_poison(&saw), "a late copy has undone a launch");
}

FULL_PROMISE(a_pass_with_cells_on_a_full_device)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_state seen[2];
	const struct philox_state *cells;
	struct philox_pass pass;

	fill_device(f);
	for (unsigned i = 0; i < 2; i++) {
		philox_stream stream = i ? f->side : f->stream;

		OK(philox_forward_begin(
			region, stream,
			PHILOX_PASS_INFERENCE | PHILOX_PASS_ON_DEVICE, &pass));
		OK(philox_pass_states(&pass, &cells));
		OK(philox_memory_copy(f->device, stream, &seen[i], cells,
				      sizeof(seen[i])));
		OK(philox_pass_commit(&pass, 0, NULL));
	}
	drain_device(f);
	cr_assert_lt(seen[0].offset, seen[1].offset);
	cr_assert_eq(seen[0].seed, predict_cell(0, "layer", 0, 0, 0).seed);
	cr_assert_eq(seen[1].seed, seen[0].seed);
}

/* --- a launch that failed after the copy ---------------------------------- */

/*
 * The copy is queued on one stream, behind the gate; the launch that succeeds
 * is on another one, which does not wait for the legacy stream.
 */
static void launches_after_a_failure(struct fixture *f, const char *operation)
{
	struct philox_region *region = make_region(f, operation);
	struct philox_launch_pass use = {0};
	uint32_t *array = make_array(f);
	struct philox_graph *graph = record_forward(f, region, 0, array);

	fill_device(f);
	OK(philox_device_fail(f->device, operation, 1, PHILOX_ERROR_DEVICE));
	FAILS(philox_graph_launch(graph, f->stream, &use, 1),
	      PHILOX_ERROR_DEVICE);
	OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
	OK(philox_graph_launch(graph, f->side, &use, 1));
	OK(philox_graph_launch(graph, f->side, &use, 1));
	for (unsigned i = 0; i < 1000; i++)
		sched_yield();
	drain_device(f);
	SAME(read_numbers(f, array), predict(0, operation, 4 * 2), "the third");
	OK(philox_context_check(f->context, NULL));
	OK(philox_native_exec_launch(f->device, f->stream, native_exec(graph)));
	OK(philox_device_synchronize(f->device));
	FAILS(philox_context_check(f->context, NULL), PHILOX_ERROR_UNANNOUNCED);
}

FULL_PROMISE(a_launch_after_one_that_failed_waits_for_its_copy)
{
	launches_after_a_failure(f, "exec_set_kernel");
	launches_after_a_failure(f, "exec_launch");
}

/* --- poison ----------------------------------------------------------------*/

/* Cells of an earlier graph hold its states, and are taken again. */
PROMISE(nothing_waits, cells_that_are_taken_again_hold_no_old_numbers)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *y = make_array(f), *dx = make_array(f);
	struct philox_graph *graph = record_forward(f, region, 0, y);
	struct philox_launch_pass use = {0};
	struct native native;
	struct numbers saw;

	OK(philox_graph_launch(graph, f->stream, &use, 1));
	OK(philox_device_synchronize(f->device));
	OK(philox_graph_destroy(graph));
	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_THREAD_LOCAL));
	captured_forward(f, region, 0, dx);
	OK(philox_stream_end_capture(f->device, f->stream, &native.graph));
	OK(philox_native_graph_instantiate(f->device, native.graph,
					   &native.exec));
	OK(philox_native_exec_launch(f->device, f->stream, native.exec));
	saw = read_numbers(f, dx);
	cr_assert(all_poison(&saw));
	FAILS(philox_context_check(f->context, NULL), PHILOX_ERROR_UNANNOUNCED);
	destroy_native(f, &native);
}

/* The two have the node's first message and the adopted one's. */
GRAPH_PROMISE(nothing_waits, a_second_exec_says_after_which_launch_it_came)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *graph = record_forward(f, region, 0, array);
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	struct philox_launch_pass use = {0};
	philox_native_graph native;
	philox_native_exec second;
	struct numbers saw;
	char *text;
	size_t size;

	OK(philox_graph_native(graph, &native, NULL));
	OK(philox_native_graph_instantiate(f->device, native, &second));
	for (unsigned i = 0; i < 3; i++)
		OK(philox_graph_launch(graph, f->stream, &use, 1));
	OK(philox_native_exec_launch(f->device, f->stream, second));
	saw = read_numbers(f, array);
	cr_assert(all_poison(&saw));
	FAILS(philox_context_check(f->context, &report),
	      PHILOX_ERROR_UNANNOUNCED);
	cr_assert_eq(report.launches, 1);
	cr_assert_eq(report.sequence, 3);
	OK(philox_native_exec_launch(f->device, f->stream, native_exec(graph)));
	FAILS(philox_context_save_text(f->context, &text, &size),
	      PHILOX_ERROR_UNANNOUNCED);
	OK(philox_native_exec_launch(f->device, f->stream, second));
	OK(philox_native_exec_launch(f->device, f->stream, native_exec(graph)));
	OK(philox_device_synchronize(f->device));
	FAILS(philox_context_check(f->context, &report),
	      PHILOX_ERROR_UNANNOUNCED);
	cr_assert_eq(report.launches, 3, "of both kinds");
	cr_assert_eq(report.sequence, 3);
	OK(philox_context_check(f->context, NULL));
	OK(philox_native_exec_destroy(f->device, second));
}

/* --- what is done without the context's lock ------------------------------ */

/* Operations of a device that call something first, and their originals. */
static struct fixture *watched;
static unsigned watched_calls;

static void context_is_free(void)
{
	watched_calls++;
	cr_assert_eq(pthread_mutex_trylock(&watched->context->lock), 0,
		     "the context is locked");
	pthread_mutex_unlock(&watched->context->lock);
}

static enum philox_status create_watched(struct philox_device *device,
					 philox_native_graph graph,
					 unsigned flags,
					 philox_native_exec *exec)
{
	context_is_free();
	return plain->exec_create(device, graph, flags, exec);
}

static enum philox_status set_watched(struct philox_device *device,
				      philox_native_exec exec, device_node node,
				      const struct kernel_call *call)
{
	context_is_free();
	return plain->exec_set_kernel(device, exec, node, call);
}

GRAPH_PROMISE(nothing_waits, no_lock_is_held_while_a_graph_is_made)
{
	struct philox_region *region = make_region(f, "layer");
	struct device_ops ops = *f->device->ops;
	struct philox_graph *graph;
	struct philox_launch_pass use = {0};

	plain = f->device->ops;
	ops.exec_create = create_watched;
	ops.exec_set_kernel = set_watched;
	watched = f;
	watched_calls = 0;
	f->device->ops = &ops;
	graph = record_forward(f, region, 0, f->scratch);
	cr_assert_geq(watched_calls, 2);
	OK(philox_graph_launch(graph, f->stream, &use, 1));
	f->device->ops = plain;
}

/* While one call makes a graph of a capture, what others get. */
static struct native contested;

static void *contest(void *pointer)
{
	struct fixture *f = pointer;
	struct philox_graph *graph = NULL;

	FAILS(philox_graph_adopt(f->context, contested.id, contested.graph,
				 contested.exec, &graph),
	      PHILOX_ERROR_BUSY);
	FAILS(philox_capture_drop(f->context, contested.id), PHILOX_ERROR_BUSY);
	cr_assert_null(graph);
	return NULL;
}

static enum philox_status set_contested(struct philox_device *device,
					philox_native_exec exec,
					device_node node,
					const struct kernel_call *call)
{
	pthread_t thread;

	if (!watched_calls++) {
		cr_assert(!pthread_create(&thread, NULL, contest, watched));
		pthread_join(thread, NULL);
	}
	return plain->exec_set_kernel(device, exec, node, call);
}

PROMISE(nothing_waits, one_call_at_a_time_makes_a_graph_of_a_capture)
{
	struct philox_region *region = make_region(f, "layer");
	struct device_ops ops = *f->device->ops;
	uint32_t *array = make_array(f);
	struct philox_graph *graph;

	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_THREAD_LOCAL));
	OK(philox_stream_capture_info(f->device, f->stream, NULL,
				      &contested.id));
	captured_forward(f, region, 0, array);
	OK(philox_stream_end_capture(f->device, f->stream, &contested.graph));
	OK(philox_native_graph_instantiate(f->device, contested.graph,
					   &contested.exec));
	plain = f->device->ops;
	ops.exec_set_kernel = set_contested;
	watched = f;
	watched_calls = 0;
	f->device->ops = &ops;
	OK(philox_graph_adopt(f->context, contested.id, contested.graph,
			      contested.exec, &graph));
	f->device->ops = plain;
	cr_assert_eq(watched_calls, 1);
	SAME(launch_forward(f, graph, region, array).saw,
	     predict(0, "layer", 0), "the one that was made");
	FAILS(philox_graph_adopt(f->context, contested.id, contested.graph,
				 contested.exec, &graph),
	      PHILOX_ERROR_EXISTS);
	OK(philox_graph_destroy(graph));
	destroy_native(f, &contested);
}

/* --- the name of the public call ------------------------------------------ */

static void names_the_call(struct fixture *f, enum philox_status status,
			   const char *call)
{
	struct philox_pass pass;
	struct philox_region *region = make_region(f, call);
	char text[128];

	cr_assert_eq(status, PHILOX_ERROR_CAPTURE_UNSUPPORTED, "%s", call);
	snprintf(text, sizeof(text), "invalidated by %s,", call);
	FAILS(philox_forward_begin(region, f->stream, 0, &pass),
	      PHILOX_ERROR_CAPTURE_INVALIDATED);
	FAILS(philox_memory_set(f->device, f->stream, f->scratch, 0, 4),
	      PHILOX_ERROR_CAPTURE_INVALIDATED);
	NAMES(text);
}

static void begin_foreign(struct fixture *f)
{
	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_GLOBAL));
}

static void end_broken(struct fixture *f)
{
	philox_native_graph native;

	FAILS(philox_stream_end_capture(f->device, f->stream, &native),
	      PHILOX_ERROR_CAPTURE_INVALIDATED);
}

PROMISE(nothing_waits, a_broken_capture_names_the_call_that_the_user_made)
{
	char *text = NULL;
	size_t size = 0;
	const struct philox_rows_desc options = {
		.size = sizeof(options), .name = "rows", .count = 4};
	struct philox_rows *rows;

	f->injected = 1; /* a table is freed in vain */
	OK(philox_rows_create(f->context, &options, &rows));
	begin_foreign(f);
	names_the_call(f, philox_context_save_text(f->context, &text, &size),
		       "philox_context_save_text");
	end_broken(f);
	begin_foreign(f);
	names_the_call(f, philox_context_save(f->context, "never written"),
		       "philox_context_save");
	end_broken(f);
	OK(philox_context_save_text(f->context, &text, &size));
	begin_foreign(f);
	names_the_call(f, philox_context_load_text(f->context, text, size),
		       "philox_context_load_text");
	end_broken(f);
	begin_foreign(f);
	names_the_call(f, philox_rows_destroy(rows), "philox_rows_destroy");
	end_broken(f);
	begin_foreign(f);
	names_the_call(f, philox_device_synchronize(f->device),
		       "philox_device_synchronize");
	end_broken(f);
	free(text);
}
