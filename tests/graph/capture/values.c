/*
 * tests/graph/capture/values.c - values that change from launch to launch
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tests/support/scene.h"

enum { LAUNCHES = 200 };

struct bytes {
	unsigned char byte[16];
};

/* A graph that copies a value's cell to `to`, with a pass or without. */
static struct philox_graph *record_value(struct fixture *f,
					 struct philox_region *region,
					 uint32_t *array, const void *initial,
					 size_t size, struct bytes *to)
{
	void *cell;

	record_begin(f);
	if (region)
		captured_forward(f, region, 0, array);
	OK(philox_capture_param(f->context, f->stream, "step", initial, size,
				&cell));
	cr_assert_eq((uintptr_t)cell % 16, 0);
	OK(philox_memory_copy(f->device, f->stream, to, cell, 16));
	return record_end(f);
}

static struct bytes read_bytes(struct fixture *f, const struct bytes *from)
{
	struct bytes bytes;

	OK(philox_memory_copy(f->device, f->stream, &bytes, from, 16));
	OK(philox_stream_synchronize(f->device, f->stream));
	return bytes;
}

static void holds(struct fixture *f, const struct bytes *from,
		  const void *bytes, size_t size)
{
	struct bytes found = read_bytes(f, from);

	cr_assert_arr_eq(found.byte, bytes, size);
	for (size_t i = size; i < 16; i++)
		cr_assert_eq(found.byte[i], 0, "byte %zu", i);
}

/* --- what launches read --------------------------------------------------- */

GRAPH_PROMISE(values, are_what_was_set_last)
{
	const float first = 0.5F, second = -2;
	struct bytes *to = make_memory(f, 16);
	struct philox_graph *graph =
		record_value(f, NULL, NULL, &first, sizeof(first), to);
	size_t index = 99;

	cr_assert_eq(philox_graph_pass_count(graph), 0);
	cr_assert_eq(philox_graph_param_count(graph), 1);
	OK(philox_graph_param_index(graph, "step", &index));
	cr_assert_eq(index, 0);
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	holds(f, to, &first, sizeof(first));
	OK(philox_graph_set_param(graph, index, &second, sizeof(second)));
	for (int i = 0; i < 3; i++) {
		OK(philox_graph_launch(graph, f->stream, NULL, 0));
		holds(f, to, &second, sizeof(second));
	}
}

GRAPH_PROMISE(values, of_all_sizes_end_in_zeros)
{
	unsigned char bytes[16];
	struct bytes *to = make_memory(f, 16);

	memset(bytes, 0xab, sizeof(bytes));
	for (size_t size = 1; size <= 16; size++) {
		struct philox_graph *graph =
			record_value(f, NULL, NULL, bytes, size, to);

		OK(philox_graph_launch(graph, f->stream, NULL, 0));
		holds(f, to, bytes, size);
		bytes[0]++;
		OK(philox_graph_set_param(graph, 0, bytes, size));
		OK(philox_graph_launch(graph, f->stream, NULL, 0));
		holds(f, to, bytes, size);
	}
}

static void hold_up(const void *args)
{
	(void)args;
	usleep(20000);
}

/* Launches queue up behind work that takes long; each has its own value. */
Test(values, are_those_of_each_queued_launch, .timeout = 120)
{
	struct fixture f;
	struct bytes *to;
	struct philox_graph *graph;
	uint32_t *all, *seen, value = 0;

	fixture_open(&f, "host");
	to = make_memory(&f, 16);
	all = make_memory(&f, LAUNCHES * sizeof(*all));
	seen = calloc(LAUNCHES, sizeof(*seen));
	graph = record_value(&f, NULL, NULL, &value, sizeof(value), to);
	OK(philox_stream_launch_host(f.device, f.stream, hold_up, &value,
				     sizeof(value)));
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		value = 7 * i;
		OK(philox_graph_set_param(graph, 0, &value, sizeof(value)));
		OK(philox_graph_launch(graph, f.stream, NULL, 0));
		OK(philox_memory_copy(f.device, f.stream, all + i, to,
				      sizeof(value)));
	}
	OK(philox_memory_copy(f.device, f.stream, seen, all,
			      LAUNCHES * sizeof(*all)));
	OK(philox_stream_synchronize(f.device, f.stream));
	for (uint32_t i = 0; i < LAUNCHES; i++)
		cr_assert_eq(seen[i], 7 * i, "launch %u read %u", i, seen[i]);
	free(seen);
	fixture_close(&f);
}

/* Values and passes do not take each other's places in the message. */
GRAPH_PROMISE(values, stand_beside_passes)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct bytes *to = make_memory(f, 16);
	uint64_t value = 5;
	struct philox_graph *graph =
		record_value(f, region, array, &value, sizeof(value), to);

	for (int i = 0; i < 4; i++) {
		struct numbers next = peek(f, region);
		struct forward of;

		value = (uint64_t)i << 40;
		OK(philox_graph_set_param(graph, 0, &value, sizeof(value)));
		of = launch_forward(f, graph, region, array);
		SAME(of.saw, next, "launch %d", i);
		holds(f, to, &value, sizeof(value));
	}
}

GRAPH_PROMISE(values, are_poison_in_launches_made_without_philox)
{
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	struct bytes *to = make_memory(f, 16), poison;
	uint32_t value = 5;
	struct philox_graph *graph =
		record_value(f, NULL, NULL, &value, sizeof(value), to);

	memset(&poison, 0xff, sizeof(poison));
	OK(philox_native_exec_launch(f->device, f->stream, native_exec(graph)));
	holds(f, to, &poison, 16);
	FAILS(philox_context_check(f->context, &report),
	      PHILOX_ERROR_UNANNOUNCED);
	cr_assert_str_eq(report.graph, philox_graph_name(graph));
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	holds(f, to, &value, sizeof(value));
	OK(philox_native_exec_launch(f->device, f->stream, native_exec(graph)));
	holds(f, to, &poison, 16);
	FAILS(philox_context_check(f->context, &report),
	      PHILOX_ERROR_UNANNOUNCED);
}

/* --- what they cost ------------------------------------------------------- */

static uint64_t calls_of_launch(struct fixture *f, struct philox_graph *graph)
{
	struct philox_launch_pass use = {0};
	uint64_t before = 0, after = 0;

	OK(philox_graph_launch(graph, f->stream, &use,
			       1)); /* the first copies */
	for (size_t i = 0; device_operations[i]; i++)
		before += philox_device_call_count(f->device,
						   device_operations[i]);
	OK(philox_graph_launch(graph, f->stream, &use, 1));
	for (size_t i = 0; device_operations[i]; i++)
		after += philox_device_call_count(f->device,
						  device_operations[i]);
	return after - before;
}

static size_t nodes_of(struct fixture *f, struct philox_graph *graph)
{
	philox_native_graph native;
	size_t nodes;

	OK(philox_graph_native(graph, &native, NULL));
	OK(philox_native_graph_node_count(f->device, native, &nodes));
	return nodes;
}

GRAPH_PROMISE(values, cost_no_node_and_no_call)
{
	struct philox_region *region = make_region_of(f->context, "r", 8, NULL);
	uint32_t *array = make_array(f), value = 1;
	struct philox_graph *without, *with;
	char name[16];
	void *cell;

	without = record_forward(f, region, 0, array);
	record_begin(f);
	captured_forward(f, region, 0, array);
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "value %d", i);
		OK(philox_capture_param(f->context, f->stream, name, &value, 4,
					&cell));
	}
	with = record_end(f);
	cr_assert_eq(nodes_of(f, with), nodes_of(f, without));
	cr_assert_eq(calls_of_launch(f, with), calls_of_launch(f, without));
}

/* --- eager code ----------------------------------------------------------- */

PROMISE(values, of_eager_code_are_written_in_stream_order)
{
	struct bytes *cells = make_memory(f, 32);
	const uint16_t value = 0x1234;
	philox_native_graph native;
	philox_native_exec exec;
	uint64_t other = 0;

	OK(philox_param_write(f->context, f->stream, cells, &value,
			      sizeof(value)));
	holds(f, cells, &value, sizeof(value));
	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_THREAD_LOCAL));
	OK(philox_param_write(f->context, f->stream, cells + 1, &value,
			      sizeof(value)));
	OK(philox_stream_end_capture(f->device, f->stream, &native));
	OK(philox_native_graph_instantiate(f->device, native, &exec));
	OK(philox_param_write(f->context, f->stream, cells + 1, &other,
			      sizeof(other)));
	OK(philox_native_exec_launch(f->device, f->stream, exec));
	holds(f, cells + 1, &value, sizeof(value));
	OK(philox_native_exec_destroy(f->device, exec));
	OK(philox_native_graph_destroy(f->device, native));
	FAILS(philox_param_write(f->context, f->stream, (char *)cells + 8,
				 &value, sizeof(value)),
	      PHILOX_ERROR_INVALID);
	NAMES("aligned");
	FAILS(philox_param_write(f->context, f->stream, cells, &value, 0),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_param_write(f->context, f->stream, cells, &value, 17),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_param_write(f->context, f->stream, NULL, &value, 2),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_param_write(f->context, f->stream, cells, NULL, 2),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_param_write(NULL, f->stream, cells, &value, 2),
	      PHILOX_ERROR_INVALID);
}

/* --- bad input ------------------------------------------------------------ */

GRAPH_PROMISE(values, have_names_and_sizes_that_can_be)
{
	struct scene scene = make_scene(f);
	uint64_t value[3] = {1, 2, 3};
	void *cell = NULL;

	FAILS(philox_capture_param(f->context, f->stream, "v", value, 8, &cell),
	      PHILOX_ERROR_STATE);
	NAMES("philox_param_write()");
	record_begin(f);
	captured_forward(f, scene.region, 0, scene.array);
	FAILS(philox_capture_param(f->context, f->stream, "v", value, 0, &cell),
	      PHILOX_ERROR_INVALID);
	NAMES("bytes");
	FAILS(philox_capture_param(f->context, f->stream, "v", value, 17,
				   &cell),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_capture_param(f->context, f->stream, "", value, 8, &cell),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_capture_param(f->context, f->stream, NULL, value, 8,
				   &cell),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_capture_param(f->context, f->stream, "v", NULL, 8, &cell),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_capture_param(f->context, f->stream, "v", value, 8, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_capture_param(NULL, f->stream, "v", value, 8, &cell),
	      PHILOX_ERROR_INVALID);
	cr_assert_null(cell);
	OK(philox_capture_param(f->context, f->stream, "v", value, 8, &cell));
	FAILS(philox_capture_param(f->context, f->stream, "v", value, 8, &cell),
	      PHILOX_ERROR_EXISTS);
	NAMES("'v'");
	cr_assert_eq(philox_graph_param_count(record_end(f)), 1);
	end_scene(f, &scene);
}

GRAPH_PROMISE(values, are_set_by_index_and_size_when_no_launch_is_open)
{
	struct philox_graph_param_info info =
		PHILOX_INIT(struct philox_graph_param_info);
	struct bytes *to = make_memory(f, 16);
	uint64_t value = 5, other = 6;
	struct philox_graph *graph =
		record_value(f, NULL, NULL, &value, sizeof(value), to);
	size_t index = 99;

	FAILS(philox_graph_set_param(graph, 1, &other, 8),
	      PHILOX_ERROR_INVALID);
	NAMES("there is no parameter 1");
	FAILS(philox_graph_set_param(graph, 0, &other, 4),
	      PHILOX_ERROR_INVALID);
	NAMES("'step' has 8 bytes, not 4");
	FAILS(philox_graph_set_param(graph, 0, &other, 32),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_graph_set_param(graph, 0, NULL, 8), PHILOX_ERROR_INVALID);
	FAILS(philox_graph_set_param(NULL, 0, &other, 8), PHILOX_ERROR_INVALID);
	FAILS(philox_graph_param_index(graph, "stop", &index),
	      PHILOX_ERROR_NOT_FOUND);
	NAMES("'stop'");
	cr_assert_eq(index, 99);
	FAILS(philox_graph_param_index(graph, NULL, &index),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_graph_param_index(NULL, "step", &index),
	      PHILOX_ERROR_INVALID);
	OK(philox_graph_get_param_info(graph, 0, &info));
	cr_assert_str_eq(info.name, "step");
	cr_assert_eq(info.bytes, 8);
	FAILS(philox_graph_get_param_info(graph, 1, &info),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_graph_get_param_info(graph, 0, NULL),
	      PHILOX_ERROR_INVALID);
	info.size = 1;
	FAILS(philox_graph_get_param_info(graph, 0, &info),
	      PHILOX_ERROR_INVALID);
	cr_assert_eq(philox_graph_param_count(NULL), 0);
	OK(philox_graph_prologue(graph, f->stream, NULL, 0));
	FAILS(philox_graph_set_param(graph, 0, &other, 8), PHILOX_ERROR_BUSY);
	OK(philox_native_exec_launch(f->device, f->stream, native_exec(graph)));
	OK(philox_graph_epilogue(graph, PHILOX_OK));
	holds(f, to, &value, sizeof(value));
	OK(philox_graph_set_param(graph, 0, &other, 8));
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	holds(f, to, &other, sizeof(other));
}

GRAPH_PROMISE(values, are_as_many_as_a_head_takes)
{
	uint32_t value = 0;
	struct philox_graph *graph;
	struct bytes *to = make_memory(f, 16);
	char name[16];
	void *cell;

	record_begin(f);
	for (value = 0; value < 2040; value++) {
		snprintf(name, sizeof(name), "%u", value);
		OK(philox_capture_param(f->context, f->stream, name, &value, 4,
					&cell));
	}
	OK(philox_memory_copy(f->device, f->stream, to, cell, 16));
	FAILS(philox_capture_param(f->context, f->stream, "one more", &value, 4,
				   &cell),
	      PHILOX_ERROR_LIMIT);
	graph = record_end(f);
	value = 2039;
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	holds(f, to, &value, sizeof(value));
}

/* --- failures ------------------------------------------------------------- */

/* Whatever call of the device fails, the capture is as it was. */
GRAPH_PROMISE(values, that_cannot_be_made_leave_their_capture_whole)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f), value = 3;
	struct bytes *to = make_memory(f, 16);
	struct philox_graph *graph;
	struct philox_launch_pass use = {0};
	unsigned failures = 0;
	void *cell;

	f->injected = 1;
	record_begin(f);
	for (size_t i = 0; device_operations[i]; i++) {
		const char *name = device_operations[i];

		if (i == 3)
			captured_forward(f, region, 0, array);
		OK(philox_device_fail(f->device, name, 1, PHILOX_ERROR_DEVICE));
		if (philox_capture_param(f->context, f->stream, name, &value, 4,
					 &cell) != PHILOX_OK) {
			failures++;
			OK(philox_capture_param(f->context, f->stream, name,
						&value, 4, &cell));
		}
		OK(philox_device_fail(f->device, name, 0, PHILOX_OK));
	}
	cr_assert_geq(failures, 2);
	OK(philox_memory_copy(f->device, f->stream, to, cell, 16));
	graph = record_end(f);
	OK(philox_graph_launch(graph, f->stream, &use, 1));
	holds(f, to, &value, sizeof(value));
}

/* --- the journal ---------------------------------------------------------- */

GRAPH_PROMISE(values, are_in_the_journal)
{
	struct bytes *to = make_memory(f, 16);
	const unsigned char value[3] = {1, 0x20, 0xff};
	char path[] = "/tmp/philox-values-XXXXXX", text[4096];
	int file = mkstemp(path);
	struct philox_graph *graph;
	ssize_t length;

	OK(philox_context_set_journal(f->context, path));
	graph = record_value(f, NULL, NULL, value, 3, to);
	OK(philox_graph_set_name(graph, "adam"));
	OK(philox_graph_set_param(graph, 0, value, 3));
	OK(philox_context_set_journal(f->context, NULL));
	length = read(file, text, sizeof(text) - 1);
	close(file);
	unlink(path);
	text[length > 0 ? length : 0] = '\0';
	cr_assert(strstr(text, " value 0 name \"step\" size 3\n"), "%s", text);
	cr_assert(strstr(text, " value-set graph \"adam\" value 0 bytes "
			       "0120ff\n"),
		  "%s", text);
}
