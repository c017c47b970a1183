/*
 * tests/device/device.c - what all devices share: names, arguments, counting
 *
 * What lib/device/device.c and lib/device/call.c do before a device sees a
 * call, shown on the host device: bad arguments are refused by name, each
 * operation is counted under its own name, and each can be made to fail without
 * being carried out.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <philox/device.h>
#include "lib/base/base.h"
#include "lib/device/device.h"

#define EXPECT_REFUSED(call, word)                                     \
	do {                                                           \
		cr_expect_eq(call, PHILOX_ERROR_INVALID, "%s", #call); \
		cr_expect(strstr(philox_error_message(), word),        \
			  "%s says \"%s\", not %s", #call,             \
			  philox_error_message(), word);               \
	} while (0)

#define ASSERT_OK(call) \
	cr_assert_eq(call, PHILOX_OK, "%s: %s", #call, philox_error_message())

/* --- names ---------------------------------------------------------------- */

Test(device, opens_under_its_name)
{
	static const char *const names[] = {"host", "host:sync", "host:strict"};

	for (int i = 0; i < 3; i++) {
		struct philox_device *device;

		ASSERT_OK(philox_device_open(names[i], &device));
		cr_expect_str_eq(philox_device_name(device), names[i]);
		cr_expect_neq(philox_device_description(device)[0], 0);
		cr_expect_eq(philox_device_is_host(device), 1);
		cr_expect_eq(device_is_strict(device), i == 2);
		philox_device_close(device);
	}
}

Test(device, wrong_names_are_refused)
{
	static const char *const names[] = {
		"",
		"hos",
		"hosts",
		"Host",
		"host:",
		"host:0",
		"host:1",
		"host:sync:",
		"host:stric",
		"host:strict:",
		"host: sync",
		":",
		"gpu",
		"cud",
		"a name that is longer than any device has"};
	struct philox_device *untouched = (void *)names;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct philox_device *device = untouched;

		EXPECT_REFUSED(philox_device_open(names[i], &device),
			       "host:sync, host:strict");
		cr_expect_eq(device, untouched);
	}
}

/* The same in every build and on every machine: no driver is asked. */
Test(device, names_that_no_gpu_can_have_are_refused)
{
	static const char *const names[] = {"cuda:",
					    "cuda:-1",
					    "cuda:-",
					    "cuda:-18446744073709551615",
					    "cuda:+1",
					    "cuda: 1",
					    "cuda:1 ",
					    "cuda:x",
					    "cuda:1x",
					    "cuda:0x1",
					    "cuda:1:",
					    "cuda::1",
					    "cuda:1,2",
					    "cuda:sync",
					    "Cuda",
					    "CUDA:0",
					    "cuda0",
					    "cuda\n",
					    " cuda",
					    "cuda:2147483648",
					    "cuda:4294967296",
					    "cuda:18446744073709551616",
					    "cuda:99999999999999999999"};
	struct philox_device *device = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char quoted[64];

		snprintf(quoted, sizeof(quoted), "\"%s\"", names[i]);
		EXPECT_REFUSED(philox_device_open(names[i], &device), quoted);
		EXPECT_REFUSED(philox_device_open(names[i], &device), "cuda:N");
		cr_expect_null(device);
	}
	EXPECT_REFUSED(philox_device_open(NULL, &device), "name is NULL");
	EXPECT_REFUSED(philox_device_open("host", NULL), "device is NULL");
}

/* Whether it is there or not, these can be. */
Test(device, names_that_a_gpu_can_have_are_not_invalid)
{
	static const char *const names[] = {"cuda", "cuda:0", "cuda:7",
					    "cuda:2147483647"};
	struct philox_device *device = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		enum philox_status status =
			philox_device_open(names[i], &device);

		cr_expect_neq(status, PHILOX_ERROR_INVALID, "%s", names[i]);
		if (status == PHILOX_OK)
			philox_device_close(device);
	}
}

Test(device, a_cuda_device_that_is_not_there_says_why)
{
	struct philox_device *device = NULL;
	unsigned count = 0;
	enum philox_status status = philox_device_count("cuda", &count);

	if (!status) {
		cr_expect_gt(count, 0);
		cr_expect_eq(philox_device_open("cuda:999999999", &device),
			     PHILOX_ERROR_NO_DEVICE);
		EXPECT_REFUSED(philox_device_open("cuda:x", &device), "cuda:x");
		EXPECT_REFUSED(philox_device_open("cuda:", &device), "cuda:");
		EXPECT_REFUSED(philox_device_open("cuda:-1", &device), "-1");
		return;
	}
	cr_expect(status == PHILOX_ERROR_NO_DEVICE ||
			  status == PHILOX_ERROR_UNSUPPORTED,
		  "%s", philox_status_name(status));
	cr_expect_neq(philox_error_message()[0], 0);
	cr_expect_eq(philox_device_open("cuda", &device), status);
	cr_expect_eq(philox_device_open("cuda:1", &device), status);
	cr_expect_null(device);
}

Test(device, there_is_one_host_device)
{
	unsigned count = 0;

	ASSERT_OK(philox_device_count("host", &count));
	cr_expect_eq(count, 1);
	EXPECT_REFUSED(philox_device_count("host:sync", &count), "host:sync");
	EXPECT_REFUSED(philox_device_count("tpu", &count), "tpu");
	EXPECT_REFUSED(philox_device_count(NULL, &count), "family");
	EXPECT_REFUSED(philox_device_count("host", NULL), "count");
}

Test(device, a_null_device_has_no_name_and_no_calls)
{
	philox_device_close(NULL);
	cr_expect_str_eq(philox_device_name(NULL), "");
	cr_expect_str_eq(philox_device_description(NULL), "");
	cr_expect_eq(philox_device_is_host(NULL), 0);
	cr_expect_eq(philox_device_call_count(NULL, NULL), 0);
}

/* --- a device with one of everything -------------------------------------- */

struct stage {
	struct philox_device *device;
	philox_stream stream, capturing;
	philox_event event, timed;
	uint64_t elapsed;
	philox_native_graph graph;
	philox_native_exec exec;
	device_node root, inner;
	struct fill_args args;
	struct kernel_call call;
	void *memory, *shared; /* shared: mapped memory */
	void *space, *empty;   /* of two units, the first mapped; of one */
	size_t unit;
	uint32_t words[16];
	union { /* the result of the last operation */
		void *any;
		philox_stream stream;
		philox_event event;
		philox_native_graph graph;
		philox_native_exec exec;
		device_node node;
		device_condition condition;
		philox_native_graph body;
	} made;
	device_condition condition;
	void *mapped;
	size_t nodes;
	struct capture_info info;
	enum philox_capture_mode mode;
};

static void open_stage(struct stage *s)
{
	struct capture_info info;
	void *mapped;

	memset(s, 0, sizeof(*s));
	ASSERT_OK(philox_device_open("host", &s->device));
	ASSERT_OK(philox_stream_create(s->device, 0, &s->stream));
	ASSERT_OK(philox_stream_create(s->device, 0, &s->capturing));
	ASSERT_OK(philox_event_create(s->device, &s->event));
	ASSERT_OK(device_event_create_timed(s->device, &s->timed));
	ASSERT_OK(philox_event_record(s->device, s->stream, s->timed));
	ASSERT_OK(philox_stream_synchronize(s->device, s->stream));
	ASSERT_OK(philox_memory_alloc(s->device, 64, &s->memory));
	ASSERT_OK(device_mapped_alloc(s->device, 64, &s->shared, &mapped));
	ASSERT_OK(device_space_granularity(s->device, &s->unit));
	ASSERT_OK(device_space_reserve(s->device, 2 * s->unit, &s->space));
	ASSERT_OK(device_space_map(s->device, s->space, 0, s->unit));
	ASSERT_OK(device_space_reserve(s->device, s->unit, &s->empty));
	s->args.count = 16;
	s->args.rows = 1;
	s->args.threads = 1;
	s->args.out = s->memory;
	s->call = (struct kernel_call){
		KERNEL_bits_u32, &s->args, sizeof(s->args), 4, NULL, 0};
	ASSERT_OK(philox_stream_begin_capture(s->device, s->stream,
					      PHILOX_CAPTURE_RELAXED));
	ASSERT_OK(device_capture_info(s->device, s->stream, &info));
	ASSERT_OK(device_graph_add_kernel(s->device, info.graph, NULL, 0,
					  &s->call, &s->root));
	ASSERT_OK(philox_stream_end_capture(s->device, s->stream, &s->graph));
	ASSERT_OK(
		philox_native_graph_instantiate(s->device, s->graph, &s->exec));
	ASSERT_OK(philox_stream_begin_capture(s->device, s->capturing,
					      PHILOX_CAPTURE_RELAXED));
	ASSERT_OK(device_capture_info(s->device, s->capturing, &s->info));
	ASSERT_OK(device_graph_add_kernel(s->device, s->info.graph, NULL, 0,
					  &s->call, &s->inner));
	ASSERT_OK(device_condition_create(s->device, s->info.graph, 0, 0,
					  &s->condition));
}

/* --- arguments ------------------------------------------------------------ */

static void nothing(const void *args)
{
	(void)args;
}

static void release_nothing(void *object)
{
	(void)object;
}

Test(device, arguments_of_memory_are_checked)
{
	struct stage s;
	void *out;

	open_stage(&s);
	EXPECT_REFUSED(philox_memory_alloc(NULL, 1, &out), "device");
	EXPECT_REFUSED(philox_memory_alloc(s.device, 0, &out), "size is 0");
	EXPECT_REFUSED(philox_memory_alloc(s.device, 1, NULL), "memory");
	EXPECT_REFUSED(philox_memory_free(NULL, s.memory), "device");
	EXPECT_REFUSED(philox_memory_copy(NULL, NULL, s.memory, s.memory, 1),
		       "device");
	EXPECT_REFUSED(philox_memory_copy(s.device, NULL, NULL, s.memory, 1),
		       "destination");
	EXPECT_REFUSED(philox_memory_copy(s.device, NULL, s.memory, NULL, 1),
		       "source");
	EXPECT_REFUSED(philox_memory_copy(s.device, NULL, s.memory, s.words, 0),
		       "size");
	EXPECT_REFUSED(philox_memory_set(NULL, NULL, s.memory, 0, 1), "device");
	EXPECT_REFUSED(philox_memory_set(s.device, NULL, NULL, 0, 1), "memory");
	EXPECT_REFUSED(philox_memory_set(s.device, NULL, s.memory, 0, 0),
		       "size");
	EXPECT_REFUSED(device_mapped_alloc(s.device, 0, &out, &out), "size");
	EXPECT_REFUSED(device_mapped_alloc(s.device, 1, NULL, &out), "host");
	EXPECT_REFUSED(device_mapped_alloc(s.device, 1, &out, NULL), "mapped");
	cr_expect_eq(philox_memory_alloc(s.device, SIZE_MAX, &out),
		     PHILOX_ERROR_MEMORY);
	cr_expect_eq(philox_memory_alloc(s.device, SIZE_MAX / 2, &out),
		     PHILOX_ERROR_MEMORY);
	/* rounded up to the alignment, it would be 0 */
	cr_expect_eq(philox_memory_alloc(s.device, SIZE_MAX - 100, &out),
		     PHILOX_ERROR_MEMORY);
	philox_device_close(s.device);
}

Test(device, arguments_of_spaces_are_checked)
{
	struct stage s;
	size_t bytes;
	void *out;

	open_stage(&s);
	EXPECT_REFUSED(philox_device_memory_info(NULL, &bytes, &bytes),
		       "device");
	EXPECT_REFUSED(philox_device_memory_info(s.device, NULL, NULL),
		       "free_bytes and total_bytes are NULL");
	EXPECT_REFUSED(device_space_granularity(NULL, &bytes), "device");
	EXPECT_REFUSED(device_space_granularity(s.device, NULL), "bytes");
	EXPECT_REFUSED(device_space_reserve(NULL, s.unit, &out), "device");
	EXPECT_REFUSED(device_space_reserve(s.device, 0, &out), "bytes is 0");
	EXPECT_REFUSED(device_space_reserve(s.device, s.unit, NULL), "base");
	EXPECT_REFUSED(device_space_map(NULL, s.empty, 0, s.unit), "device");
	EXPECT_REFUSED(device_space_map(s.device, NULL, 0, s.unit), "base");
	EXPECT_REFUSED(device_space_map(s.device, s.empty, 0, 0), "bytes is 0");
	EXPECT_REFUSED(device_space_unmap(NULL, s.space, 0, s.unit), "device");
	EXPECT_REFUSED(device_space_unmap(s.device, NULL, 0, s.unit), "base");
	EXPECT_REFUSED(device_space_unmap(s.device, s.space, 0, 0),
		       "bytes is 0");
	EXPECT_REFUSED(device_space_release(NULL, s.empty), "device");
	EXPECT_REFUSED(philox_device_limit_memory(NULL, 1), "device");
	philox_device_close(s.device);
}

Test(device, arguments_of_streams_and_events_are_checked)
{
	struct stage s;
	philox_stream stream;
	philox_event event;

	open_stage(&s);
	EXPECT_REFUSED(philox_device_synchronize(NULL), "device");
	EXPECT_REFUSED(philox_stream_create(NULL, 0, &stream), "device");
	EXPECT_REFUSED(philox_stream_create(s.device, 0, NULL), "stream");
	EXPECT_REFUSED(philox_stream_create(s.device, 6, &stream), "flags");
	EXPECT_REFUSED(philox_stream_destroy(NULL, s.stream), "device");
	EXPECT_REFUSED(philox_stream_synchronize(NULL, s.stream), "device");
	EXPECT_REFUSED(philox_stream_query(NULL, s.stream), "device");
	EXPECT_REFUSED(philox_event_create(NULL, &event), "device");
	EXPECT_REFUSED(philox_event_create(s.device, NULL), "event");
	EXPECT_REFUSED(philox_event_destroy(NULL, s.event), "device");
	EXPECT_REFUSED(philox_event_record(NULL, NULL, s.event), "device");
	EXPECT_REFUSED(philox_event_record(s.device, s.stream, NULL), "event");
	EXPECT_REFUSED(philox_event_wait(NULL, NULL, s.event), "device");
	EXPECT_REFUSED(philox_event_wait(s.device, s.stream, NULL), "event");
	EXPECT_REFUSED(philox_event_synchronize(s.device, NULL), "event");
	EXPECT_REFUSED(philox_event_query(s.device, NULL), "event");
	EXPECT_REFUSED(device_event_create_timed(s.device, NULL), "event");
	EXPECT_REFUSED(
		device_event_elapsed(s.device, NULL, s.timed, &s.elapsed),
		"begin");
	EXPECT_REFUSED(
		device_event_elapsed(s.device, s.timed, NULL, &s.elapsed),
		"end");
	EXPECT_REFUSED(device_event_elapsed(s.device, s.timed, s.timed, NULL),
		       "nanoseconds");
	philox_device_close(s.device);
}

Test(device, arguments_of_captures_are_checked)
{
	enum philox_capture_mode wrong = (enum philox_capture_mode)7;
	struct stage s;

	open_stage(&s);
	EXPECT_REFUSED(philox_stream_begin_capture(NULL, s.stream,
						   PHILOX_CAPTURE_GLOBAL),
		       "device");
	EXPECT_REFUSED(philox_stream_begin_capture(s.device, s.stream, wrong),
		       "mode 7");
	EXPECT_REFUSED(device_capture_begin_to(NULL, s.stream, s.graph,
					       PHILOX_CAPTURE_RELAXED),
		       "device");
	EXPECT_REFUSED(device_capture_begin_to(s.device, s.stream, NULL,
					       PHILOX_CAPTURE_RELAXED),
		       "graph");
	EXPECT_REFUSED(
		device_capture_begin_to(s.device, s.stream, s.graph, wrong),
		"there is no mode 7");
	EXPECT_REFUSED(philox_stream_end_capture(NULL, s.stream, &s.graph),
		       "device");
	EXPECT_REFUSED(philox_stream_end_capture(s.device, s.stream, NULL),
		       "graph");
	EXPECT_REFUSED(philox_stream_capture_info(NULL, s.stream, NULL, NULL),
		       "device");
	EXPECT_REFUSED(device_capture_info(s.device, s.stream, NULL), "info");
	EXPECT_REFUSED(device_capture_depend(s.device, s.stream, NULL), "node");
	EXPECT_REFUSED(philox_capture_exchange_mode(s.device, NULL), "mode");
	EXPECT_REFUSED(philox_capture_exchange_mode(s.device, &wrong),
		       "mode 7");
	ASSERT_OK(philox_stream_capture_info(s.device, s.stream, NULL, NULL));
	philox_device_close(s.device);
}

Test(device, arguments_of_graphs_are_checked)
{
	struct stage s;
	size_t count;

	open_stage(&s);
	EXPECT_REFUSED(philox_native_graph_instantiate(s.device, NULL, &s.exec),
		       "graph");
	EXPECT_REFUSED(philox_native_graph_instantiate(s.device, s.graph, NULL),
		       "exec");
	EXPECT_REFUSED(philox_native_exec_launch(NULL, NULL, s.exec), "device");
	EXPECT_REFUSED(philox_native_exec_launch(s.device, NULL, NULL), "exec");
	EXPECT_REFUSED(philox_native_exec_destroy(NULL, s.exec), "device");
	EXPECT_REFUSED(philox_native_graph_destroy(NULL, s.graph), "device");
	EXPECT_REFUSED(philox_native_graph_node_count(s.device, NULL, &count),
		       "graph");
	EXPECT_REFUSED(philox_native_graph_node_count(s.device, s.graph, NULL),
		       "nodes");
	EXPECT_REFUSED(device_graph_retain(s.device, NULL, release_nothing, &s),
		       "graph");
	EXPECT_REFUSED(device_graph_retain(s.device, s.graph, NULL, &s),
		       "release");
	EXPECT_REFUSED(philox_stream_launch_host(s.device, NULL, NULL, &s, 1),
		       "fn");
	EXPECT_REFUSED(
		philox_stream_launch_host(s.device, NULL, nothing, NULL, 1),
		"args");
	EXPECT_REFUSED(
		philox_stream_launch_host(s.device, NULL, nothing, &s, 0),
		"size");
	philox_device_close(s.device);
}

Test(device, kernel_calls_are_checked)
{
	struct kernel_call bad[4];
	struct stage s;
	device_node node;

	open_stage(&s);
	for (int i = 0; i < 4; i++)
		bad[i] = s.call;
	bad[0].kernel = KERNEL_COUNT;
	bad[1].args = NULL;
	bad[2].size = 0;
	bad[3].kernel = KERNEL_NONE;
	for (int i = 0; i < 4; i++) {
		EXPECT_REFUSED(device_launch(s.device, s.stream, &bad[i]),
			       "call");
		EXPECT_REFUSED(device_graph_add_kernel(s.device, s.graph, NULL,
						       0, &bad[i], &node),
			       "call");
		EXPECT_REFUSED(
			device_graph_set_kernel(s.device, s.root, &bad[i]),
			"call");
		EXPECT_REFUSED(device_exec_set_kernel(s.device, s.exec, s.root,
						      &bad[i]),
			       "call");
	}
	EXPECT_REFUSED(device_launch(s.device, s.stream, NULL), "call");
	EXPECT_REFUSED(device_graph_add_kernel(s.device, NULL, NULL, 0, &s.call,
					       &node),
		       "graph");
	EXPECT_REFUSED(device_graph_add_kernel(s.device, s.graph, NULL, 0,
					       &s.call, NULL),
		       "node");
	EXPECT_REFUSED(device_graph_set_kernel(s.device, NULL, &s.call),
		       "node");
	EXPECT_REFUSED(device_exec_set_kernel(s.device, NULL, s.root, &s.call),
		       "exec");
	EXPECT_REFUSED(device_exec_set_kernel(s.device, s.exec, NULL, &s.call),
		       "node");
	philox_device_close(s.device);
}

Test(device, stream_0_is_the_legacy_stream_unless_compiled_otherwise)
{
	philox_stream none = NULL;

	cr_assert_null(PHILOX_STREAM(none));
	cr_assert_eq(PHILOX_STREAM((philox_stream)64), (philox_stream)64);
}

Test(device, destroying_null_is_not_counted)
{
	struct stage s;
	uint64_t calls;

	open_stage(&s);
	calls = philox_device_call_count(s.device, NULL);
	ASSERT_OK(philox_memory_free(s.device, NULL));
	ASSERT_OK(device_mapped_free(s.device, NULL));
	ASSERT_OK(philox_stream_destroy(s.device, NULL));
	ASSERT_OK(philox_event_destroy(s.device, NULL));
	ASSERT_OK(philox_native_graph_destroy(s.device, NULL));
	ASSERT_OK(philox_native_exec_destroy(s.device, NULL));
	cr_expect_eq(philox_device_call_count(s.device, NULL), calls);
	philox_device_close(s.device);
}

Test(device, arguments_of_conditions_are_checked)
{
	struct conditional what = {0, CONDITIONAL_IF, 1};
	const uint32_t word = 0;
	struct stage s;

	open_stage(&s);
	what.condition = s.condition;
	EXPECT_REFUSED(
		device_condition_create(NULL, s.graph, 0, 0, &s.condition),
		"device");
	EXPECT_REFUSED(
		device_condition_create(s.device, NULL, 0, 0, &s.condition),
		"graph");
	EXPECT_REFUSED(device_condition_create(s.device, s.graph, 0, 0, NULL),
		       "condition is NULL");
	EXPECT_REFUSED(device_graph_add_conditional(NULL, s.graph, NULL, 0,
						    &what, &s.made.node,
						    &s.made.body),
		       "device");
	EXPECT_REFUSED(device_graph_add_conditional(s.device, NULL, NULL, 0,
						    &what, &s.made.node,
						    &s.made.body),
		       "graph");
	EXPECT_REFUSED(device_graph_add_conditional(s.device, s.graph, NULL, 0,
						    NULL, &s.made.node,
						    &s.made.body),
		       "what");
	EXPECT_REFUSED(device_graph_add_conditional(s.device, s.graph, NULL, 0,
						    &what, NULL, &s.made.body),
		       "node");
	EXPECT_REFUSED(device_graph_add_conditional(s.device, s.graph, NULL, 0,
						    &what, &s.made.node, NULL),
		       "bodies");
	EXPECT_REFUSED(device_condition_record(s.device, s.capturing,
					       s.condition, NULL),
		       "word is NULL");
	EXPECT_REFUSED(device_condition_record(
			       s.device, s.capturing, s.condition,
			       (const uint32_t *)((const char *)&word + 2)),
		       "not aligned");
	EXPECT_REFUSED(device_condition_add(s.device, s.info.graph, NULL, 0,
					    s.condition, NULL, &s.made.node),
		       "word is NULL");
	philox_device_close(s.device);
}

/* --- each operation once -------------------------------------------------- */

/* A valid call of each operation; its results go to made and mapped. */
static enum philox_status try_mem_alloc(struct stage *s)
{
	return philox_memory_alloc(s->device, 64, &s->made.any);
}

static enum philox_status try_mem_free(struct stage *s)
{
	return philox_memory_free(s->device, s->memory);
}

static enum philox_status try_mapped_alloc(struct stage *s)
{
	return device_mapped_alloc(s->device, 64, &s->made.any, &s->mapped);
}

static enum philox_status try_mapped_free(struct stage *s)
{
	return device_mapped_free(s->device, s->shared);
}

static enum philox_status try_mem_info(struct stage *s)
{
	return philox_device_memory_info(s->device, &s->nodes, NULL);
}

static enum philox_status try_space_granularity(struct stage *s)
{
	return device_space_granularity(s->device, &s->nodes);
}

static enum philox_status try_space_reserve(struct stage *s)
{
	return device_space_reserve(s->device, s->unit, &s->made.any);
}

static enum philox_status try_space_map(struct stage *s)
{
	return device_space_map(s->device, s->space, s->unit, s->unit);
}

static enum philox_status try_space_unmap(struct stage *s)
{
	return device_space_unmap(s->device, s->space, 0, s->unit);
}

static enum philox_status try_space_release(struct stage *s)
{
	return device_space_release(s->device, s->empty);
}

static enum philox_status try_copy(struct stage *s)
{
	return philox_memory_copy(s->device, s->stream, s->memory, s->words,
				  64);
}

static enum philox_status try_set(struct stage *s)
{
	return philox_memory_set(s->device, s->stream, s->memory, 1, 64);
}

static enum philox_status try_stream_create(struct stage *s)
{
	return philox_stream_create(s->device, 0, &s->made.stream);
}

static enum philox_status try_stream_destroy(struct stage *s)
{
	return philox_stream_destroy(s->device, s->stream);
}

static enum philox_status try_stream_priority(struct stage *s)
{
	int priority = 77;
	enum philox_status status =
		device_stream_priority(s->device, s->stream, &priority);

	cr_assert_eq(priority, status ? 77 : 0);
	return status;
}

static enum philox_status try_stream_sync(struct stage *s)
{
	return philox_stream_synchronize(s->device, s->stream);
}

static enum philox_status try_stream_query(struct stage *s)
{
	return philox_stream_query(s->device, s->stream);
}

static enum philox_status try_device_sync(struct stage *s)
{
	return philox_device_synchronize(s->device);
}

static enum philox_status try_event_create(struct stage *s)
{
	return philox_event_create(s->device, &s->made.event);
}

static enum philox_status try_event_create_timed(struct stage *s)
{
	return device_event_create_timed(s->device, &s->made.event);
}

static enum philox_status try_event_destroy(struct stage *s)
{
	return philox_event_destroy(s->device, s->event);
}

static enum philox_status try_event_record(struct stage *s)
{
	return philox_event_record(s->device, s->stream, s->event);
}

static enum philox_status try_event_wait(struct stage *s)
{
	return philox_event_wait(s->device, s->stream, s->event);
}

static enum philox_status try_event_sync(struct stage *s)
{
	return philox_event_synchronize(s->device, s->event);
}

static enum philox_status try_event_query(struct stage *s)
{
	return philox_event_query(s->device, s->event);
}

static enum philox_status try_event_elapsed(struct stage *s)
{
	return device_event_elapsed(s->device, s->timed, s->timed, &s->elapsed);
}

static enum philox_status try_capture_begin(struct stage *s)
{
	return philox_stream_begin_capture(s->device, s->stream,
					   PHILOX_CAPTURE_RELAXED);
}

static enum philox_status try_capture_begin_to(struct stage *s)
{
	return device_capture_begin_to(s->device, s->stream, s->graph,
				       PHILOX_CAPTURE_RELAXED);
}

static enum philox_status try_capture_end(struct stage *s)
{
	return philox_stream_end_capture(s->device, s->capturing,
					 &s->made.graph);
}

static enum philox_status try_capture_info(struct stage *s)
{
	struct capture_info info;
	enum philox_status status =
		device_capture_info(s->device, s->capturing, &info);

	if (!status)
		s->made.graph = info.graph;
	return status;
}

static enum philox_status try_capture_depend(struct stage *s)
{
	return device_capture_depend(s->device, s->capturing, s->inner);
}

static enum philox_status try_capture_after(struct stage *s)
{
	return device_capture_after(s->device, s->capturing, s->inner);
}

static enum philox_status try_capture_tips(struct stage *s)
{
	device_node nodes[4];
	size_t n = 4;
	enum philox_status status =
		device_capture_tips(s->device, s->capturing, nodes, &n);

	if (!status)
		s->nodes = n;
	return status;
}

static enum philox_status try_capture_mode(struct stage *s)
{
	return philox_capture_exchange_mode(s->device, &s->mode);
}

static enum philox_status try_graph_add_kernel(struct stage *s)
{
	return device_graph_add_kernel(s->device, s->graph, NULL, 0, &s->call,
				       &s->made.node);
}

static enum philox_status try_graph_set_kernel(struct stage *s)
{
	return device_graph_set_kernel(s->device, s->root, &s->call);
}

static enum philox_status try_condition_create(struct stage *s)
{
	return device_condition_create(s->device, s->graph, 0, 0,
				       &s->made.condition);
}

static enum philox_status try_graph_add_conditional(struct stage *s)
{
	const struct conditional what = {s->condition, CONDITIONAL_IF, 1};

	return device_graph_add_conditional(s->device, s->info.graph, NULL, 0,
					    &what, &s->made.node,
					    &s->made.body);
}

static enum philox_status try_graph_retain(struct stage *s)
{
	return device_graph_retain(s->device, s->graph, release_nothing, s);
}

static enum philox_status try_graph_nodes(struct stage *s)
{
	return philox_native_graph_node_count(s->device, s->graph, &s->nodes);
}

static enum philox_status try_node_deps(struct stage *s)
{
	device_node nodes[4];
	size_t n = 4;
	enum philox_status status =
		device_node_deps(s->device, s->root, nodes, &n);

	if (!status)
		s->nodes = n;
	return status;
}

static enum philox_status try_node_priority(struct stage *s)
{
	return device_node_priority(s->device, s->root, 0);
}

static enum philox_status try_graph_destroy(struct stage *s)
{
	return philox_native_graph_destroy(s->device, s->graph);
}

static enum philox_status try_exec_create(struct stage *s)
{
	return philox_native_graph_instantiate(s->device, s->graph,
					       &s->made.exec);
}

static enum philox_status try_exec_set_kernel(struct stage *s)
{
	return device_exec_set_kernel(s->device, s->exec, s->root, &s->call);
}

static enum philox_status try_exec_launch(struct stage *s)
{
	return philox_native_exec_launch(s->device, s->stream, s->exec);
}

static enum philox_status try_exec_destroy(struct stage *s)
{
	return philox_native_exec_destroy(s->device, s->exec);
}

static enum philox_status try_launch(struct stage *s)
{
	return device_launch(s->device, s->stream, &s->call);
}

static enum philox_status try_launch_host(struct stage *s)
{
	return philox_stream_launch_host(s->device, s->stream, nothing, &s,
					 sizeof(s));
}

static const struct {
	const char *name;
	enum philox_status (*call)(struct stage *s);
} operations[] = {
#define OPERATION(name, arguments) {#name, try_##name},
	DEVICE_OP_LIST(OPERATION)
#undef OPERATION
};

/* A device is not synchronized while a capture is in progress. */
static void open_stage_for(struct stage *s, int op)
{
	philox_native_graph graph;

	open_stage(s);
	if (op == DEVICE_device_sync)
		ASSERT_OK(philox_stream_end_capture(s->device, s->capturing,
						    &graph));
}

Test(device, every_operation_is_counted_under_its_name)
{
	for (int op = 0; op < DEVICE_OP_COUNT; op++) {
		const char *name = operations[op].name;
		struct stage s;
		uint64_t before, all;

		open_stage_for(&s, op);
		before = philox_device_call_count(s.device, name);
		all = philox_device_call_count(s.device, NULL);
		cr_expect_eq(operations[op].call(&s), PHILOX_OK, "%s: %s", name,
			     philox_error_message());
		cr_expect_eq(philox_device_call_count(s.device, name),
			     before + 1, "%s", name);
		cr_expect_eq(philox_device_call_count(s.device, NULL), all + 1,
			     "%s", name);
		philox_device_close(s.device);
	}
}

Test(device, what_is_no_operation_was_never_called)
{
	struct stage s;

	open_stage(&s);
	cr_expect_eq(philox_device_call_count(s.device, "mem"), 0);
	cr_expect_eq(philox_device_call_count(s.device, "launch_"), 0);
	cr_expect_eq(philox_device_call_count(s.device, ""), 0);
	philox_device_close(s.device);
}

Test(device, every_operation_fails_once_when_told_to)
{
	for (int op = 0; op < DEVICE_OP_COUNT; op++) {
		const char *name = operations[op].name;
		struct stage s;
		uint64_t before;

		open_stage_for(&s, op);
		before = philox_device_call_count(s.device, name);
		ASSERT_OK(philox_device_fail(s.device, name, 1,
					     PHILOX_ERROR_LIMIT));
		cr_expect_eq(operations[op].call(&s), PHILOX_ERROR_LIMIT, "%s",
			     name);
		cr_expect(strstr(philox_error_message(), name), "%s: \"%s\"",
			  name, philox_error_message());
		cr_expect(!s.made.any && !s.mapped && !s.nodes &&
				  s.mode == PHILOX_CAPTURE_GLOBAL,
			  "%s wrote an output", name);
		cr_expect_eq(philox_device_call_count(s.device, name),
			     before + 1);
		/* It was not carried out, so it can still be. */
		cr_expect_eq(operations[op].call(&s), PHILOX_OK, "%s: %s", name,
			     philox_error_message());
		philox_device_close(s.device);
	}
}

Test(device, orders_to_fail_are_checked)
{
	struct stage s;

	open_stage(&s);
	EXPECT_REFUSED(philox_device_fail(NULL, "set", 1, PHILOX_ERROR_LIMIT),
		       "device");
	EXPECT_REFUSED(
		philox_device_fail(s.device, "memset", 1, PHILOX_ERROR_LIMIT),
		"memset");
	EXPECT_REFUSED(philox_device_fail(s.device, "set", 1, PHILOX_OK),
		       "status 0");
	EXPECT_REFUSED(
		philox_device_fail(s.device, "set", 1, (enum philox_status)999),
		"status 999");
	ASSERT_OK(try_set(&s));
	philox_device_close(s.device);
}

Test(device, a_later_operation_can_be_told_to_fail)
{
	struct stage s;

	open_stage(&s);
	ASSERT_OK(philox_device_fail(s.device, "copy", 3, PHILOX_ERROR_DEVICE));
	for (int i = 1; i <= 5; i++) {
		ASSERT_OK(try_set(&s)); /* others are not counted */
		cr_expect_eq(try_copy(&s),
			     i == 3 ? PHILOX_ERROR_DEVICE : PHILOX_OK);
	}
	ASSERT_OK(philox_device_fail(s.device, NULL, 2, PHILOX_ERROR_DEVICE));
	ASSERT_OK(try_set(&s));
	cr_expect_eq(try_copy(&s), PHILOX_ERROR_DEVICE);
	ASSERT_OK(try_copy(&s));
	philox_device_close(s.device);
}

Test(device, a_new_order_to_fail_replaces_the_one_before)
{
	struct stage s;

	open_stage(&s);
	ASSERT_OK(philox_device_fail(s.device, "copy", 1, PHILOX_ERROR_DEVICE));
	ASSERT_OK(philox_device_fail(s.device, "set", 1, PHILOX_ERROR_LIMIT));
	ASSERT_OK(try_copy(&s));
	cr_expect_eq(try_set(&s), PHILOX_ERROR_LIMIT);
	ASSERT_OK(try_copy(&s));
	philox_device_close(s.device);
}

Test(device, one_failure_leaves_no_thread_relaxed)
{
	enum philox_capture_mode before, mode = PHILOX_CAPTURE_GLOBAL;
	struct stage s;

	open_stage(&s);
	ASSERT_OK(device_relaxed_begin(s.device, &before));
	ASSERT_OK(philox_device_fail(s.device, "capture_mode", 1,
				     PHILOX_ERROR_DEVICE));
	ASSERT_OK(device_relaxed_end(s.device, before, PHILOX_OK));
	ASSERT_OK(philox_capture_exchange_mode(s.device, &mode));
	cr_expect_eq(mode, PHILOX_CAPTURE_GLOBAL);
	philox_device_close(s.device);
}

Test(device, a_fill_uses_one_thread_until_told_otherwise)
{
	struct stage s;

	open_stage(&s);
	cr_expect_eq(device_threads(s.device), 1);
	for (unsigned threads = 256; threads; threads /= 16) {
		ASSERT_OK(philox_device_set_threads(s.device, threads));
		cr_expect_eq(device_threads(s.device), threads);
	}
	cr_expect_neq(philox_device_set_threads(s.device, 257), PHILOX_OK);
	cr_expect_eq(device_threads(s.device), 1);
	philox_device_close(s.device);
}

/* --- operations a device lacks -------------------------------------------- */

static enum philox_status close_nothing(struct philox_device *device)
{
	(void)device;
	return PHILOX_OK;
}

Test(device, operations_a_device_lacks_are_unsupported)
{
	static const struct device_ops none = {.close = close_nothing};

	for (int op = 0; op < DEVICE_OP_COUNT; op++) {
		const char *name = operations[op].name;
		static struct philox_device bare;
		struct philox_device *whole;
		struct stage s;

		open_stage(&s);
		device_base_init(&bare, &none, 0);
		whole = s.device;
		s.device = &bare;
		cr_expect_eq(operations[op].call(&s), PHILOX_ERROR_UNSUPPORTED,
			     "%s", name);
		cr_expect(strstr(philox_error_message(), name));
		cr_expect_eq(philox_device_call_count(&bare, name), 1);
		philox_device_close(whole);
	}
}

Test(device, no_operation_is_done_on_no_device)
{
	for (int op = 0; op < DEVICE_OP_COUNT; op++) {
		struct philox_device *device;
		struct stage s;

		open_stage(&s);
		device = s.device;
		s.device = NULL;
		EXPECT_REFUSED(operations[op].call(&s), "device is NULL");
		philox_device_close(device);
	}
}

/* --- statuses ------------------------------------------------------------- */

Test(status, every_status_has_a_name_and_a_sentence)
{
#define CHECK_STATUS(name, value, sentence)                                   \
	cr_expect_str_eq(philox_status_name(PHILOX_##name), "PHILOX_" #name); \
	cr_expect_str_eq(philox_status_text(PHILOX_##name), sentence);
	PHILOX_STATUS_LIST(CHECK_STATUS)
#undef CHECK_STATUS
	cr_expect_str_eq(philox_status_name((enum philox_status)999),
			 "PHILOX_?");
	cr_expect_neq(philox_status_text((enum philox_status)999)[0], 0);
}

static void *fail_elsewhere(void *before)
{
	/* none has failed on this thread */
	*(int *)before = philox_error_message()[0];
	status_set(PHILOX_ERROR_LIMIT, "elsewhere");
	cr_expect_str_eq(philox_error_message(), "elsewhere");
	return NULL;
}

Test(status, each_thread_has_a_message_of_its_own)
{
	pthread_t thread;
	int before = 1;

	cr_expect_str_eq(philox_error_message(), "");
	status_set(PHILOX_ERROR_LIMIT, "here");
	cr_assert_eq(pthread_create(&thread, NULL, fail_elsewhere, &before), 0);
	pthread_join(thread, NULL);
	cr_expect_eq(before, 0);
	cr_expect_str_eq(philox_error_message(), "here");
}

Test(status, a_call_that_succeeds_leaves_the_message)
{
	unsigned count;

	EXPECT_REFUSED(philox_device_count("tpu", &count), "tpu");
	ASSERT_OK(philox_device_count("host", &count));
	cr_expect(strstr(philox_error_message(), "tpu"));
}

/* What is cut are the last characters, and whatever is beside it stays. */
Test(status, a_message_that_is_too_long_is_cut)
{
	char wide[600];

	memset(wide, 'x', sizeof(wide));
	wide[sizeof(wide) - 1] = 0;
	status_set(PHILOX_ERROR_LIMIT, "%s", wide);
	cr_expect_eq(strlen(philox_error_message()), 511);
	status_prefix(PHILOX_ERROR_LIMIT, "before: ");
	cr_expect_eq(strlen(philox_error_message()), 511);
	cr_expect_eq(strncmp(philox_error_message(), "before: xxx", 11), 0);
	status_prefix(PHILOX_ERROR_LIMIT, "%s", wide);
	cr_expect_eq(strlen(philox_error_message()), 511);
}

Test(status, a_message_may_be_made_of_itself)
{
	status_set(PHILOX_ERROR_LIMIT, "cause");
	status_set(PHILOX_ERROR_LIMIT, "at a place: %s",
		   philox_error_message());
	cr_expect_str_eq(philox_error_message(), "at a place: cause");
	status_prefix(PHILOX_ERROR_LIMIT, "%s; ", philox_error_message());
	cr_expect_str_eq(philox_error_message(),
			 "at a place: cause; at a place: cause");
}
