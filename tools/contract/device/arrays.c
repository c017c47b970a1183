/*
 * tools/contract/device/arrays.c - arrays of kernels lie in memory of the
 * device
 *
 * Only host devices look: a GPU would write where it should not, or fail so
 * that the process is lost. tests/device/memory.c has all arrays of all calls.
 */
#include <string.h>
#include "tools/contract/contract.h"

#define WORDS 1000
#define SIZE  (WORDS * 4)

#define SKIP_UNLESS_HOST                           \
	SKIP_IF(!philox_device_is_host(c->device), \
		"a GPU does not look where arrays end")

static enum philox_status put_words(struct contract *c, philox_stream stream,
				    void *out)
{
	const struct philox_rng rng = {.state = {1, 4}};
	const struct philox_fill_desc fill = {.size = sizeof(fill),
					      .dist = PHILOX_DIST_BITS,
					      .dtype = PHILOX_DTYPE_U32,
					      .span = {.count = WORDS},
					      .out = out};

	return philox_rng_fill(c->device, stream, rng, &fill);
}

/* The last call failed, and its message has this in it. */
static void expect_named(struct contract *c, const char *what)
{
	EXPECT_TEXT(strstr(philox_error_message(), what),
		    "\"%s\" does not name %s", philox_error_message(), what);
}

static void an_array_ends_in_its_allocation(struct contract *c)
{
	philox_stream stream;
	char *memory;

	SKIP_UNLESS_HOST;
	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_memory(c, 2 * SIZE, (void **)&memory));
	EXPECT_OK(contract_set(c, memory, 1, 2 * SIZE, stream));
	EXPECT_ERROR(INVALID, put_words(c, stream, memory + SIZE + 4));
	EXPECT_PART(expect_named(c, "fill: out: 4000 bytes"));
	EXPECT_PART(expect_named(c, "an allocation of 8000 bytes"));
	EXPECT_BYTES(stream, memory, 1, 2 * SIZE);
	EXPECT_OK(put_words(c, stream, memory + SIZE));
	EXPECT_BYTES(stream, memory, 1, SIZE);
}

static void a_refused_array_leaves_its_capture(struct contract *c)
{
	philox_native_graph graph;
	philox_stream stream;
	char *memory;
	size_t nodes;

	SKIP_UNLESS_HOST;
	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_memory(c, SIZE, (void **)&memory));
	EXPECT_OK(philox_stream_begin_capture(c->device, stream,
					      PHILOX_CAPTURE_GLOBAL));
	EXPECT_ERROR(INVALID, put_words(c, stream, memory + 4));
	EXPECT_OK(put_words(c, stream, memory));
	EXPECT_OK(contract_end_capture(c, stream, &graph));
	EXPECT_OK(philox_native_graph_node_count(c->device, graph, &nodes));
	EXPECT(nodes == 1);
}

static void a_freed_array_stops_its_graph(struct contract *c)
{
	philox_native_graph graph;
	philox_native_exec exec;
	philox_stream stream;
	void *memory;

	SKIP_UNLESS_HOST;
	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_memory(c, SIZE, &memory));
	EXPECT_OK(philox_stream_begin_capture(c->device, stream,
					      PHILOX_CAPTURE_GLOBAL));
	EXPECT_OK(put_words(c, stream, memory));
	EXPECT_OK(contract_end_exec(c, stream, &graph, &exec));
	EXPECT_OK(philox_native_exec_launch(c->device, stream, exec));
	contract_forget(c, memory);
	EXPECT_OK(philox_memory_free(c->device, memory));
	EXPECT_ERROR(INVALID,
		     philox_native_exec_launch(c->device, stream, exec));
	EXPECT_PART(expect_named(c, "fill: out: 4000 bytes"));
	EXPECT_PART(expect_named(c, "has been freed"));
}

/* Only a strict device asks that memory be its own. */
static void plain_arrays_are_for_lax_devices(struct contract *c)
{
	static uint32_t words[WORDS];
	philox_stream stream;

	SKIP_UNLESS_HOST;
	EXPECT_OK(contract_stream(c, 0, &stream));
	if (!device_is_strict(c->device)) {
		EXPECT_OK(put_words(c, stream, words));
		EXPECT_OK(philox_stream_synchronize(c->device, stream));
		return;
	}
	EXPECT_ERROR(INVALID, put_words(c, stream, words));
	EXPECT_PART(expect_named(c, "fill: out: 4000 bytes"));
}

const struct contract_check contract_arrays[] = {
	{"an array ends in its allocation",
	 .run = an_array_ends_in_its_allocation},
	{"a refused array leaves its capture",
	 .run = a_refused_array_leaves_its_capture},
	{"a freed array stops its graph", .run = a_freed_array_stops_its_graph},
	{"only host:strict refuses plain arrays",
	 .run = plain_arrays_are_for_lax_devices},
	{0}};
