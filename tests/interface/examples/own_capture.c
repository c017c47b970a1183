/*
 * examples/own_capture.c - a capture of your own, with a fork, adopted
 *
 * Two branches draw for one pass on two streams. The graph is captured,
 * instantiated and destroyed by the program; philox adopts it, so that it can be
 * launched with tickets. own_capture_cuda.c is the same with CUDA's own calls.
 */
#include <string.h>
#include "try.h"

enum { N = 1000, HALF = N / 2 };

int main(void)
{
	const char *op = "noise";
	static float first[N], second[N];
	struct philox_use use = {{0, 0}, 0, 0};
	struct philox_device *device;
	struct philox_context *context;
	struct philox_region *layer;
	struct philox_graph *graph;
	struct philox_ticket placeholder;
	struct philox_pass pass, branch;
	philox_native_graph native;
	philox_native_exec exec;
	philox_event fork, join;
	philox_stream main_stream, side;
	uint64_t id;
	void *out;

	TRY(philox_device_open("host", &device));
	TRY(philox_context_create(device, &context));
	TRY(philox_region_create_named(context, "layer", &op, 1, &layer));
	TRY(philox_stream_create(device, 0, &main_stream));
	TRY(philox_stream_create(device, 0, &side));
	TRY(philox_event_create(device, &fork));
	TRY(philox_event_create(device, &join));
	TRY(philox_memory_alloc(device, sizeof(first), &out));

	TRY(philox_stream_begin_capture(device, main_stream,
					PHILOX_CAPTURE_THREAD_LOCAL));
	TRY(philox_stream_capture_info(device, main_stream, NULL, &id));
	TRY(philox_forward_begin(layer, main_stream, 0, &pass));
	TRY(philox_event_record(device, fork, main_stream));
	TRY(philox_event_wait(device, side, fork));
	TRY(philox_pass_on(&pass, side, &branch)); /* the same numbers there */
	TRY(philox_normal(&pass, 0, PHILOX_F32, philox_elements(0, HALF), 0, 1,
			  out));
	TRY(philox_normal(&branch, 0, PHILOX_F32, philox_elements(HALF, HALF),
			  0, 1, (float *)out + HALF));
	TRY(philox_event_record(device, join, side));
	TRY(philox_event_wait(device, main_stream, join));
	TRY(philox_forward_commit(&pass, &placeholder));
	TRY(philox_stream_end_capture(device, main_stream, &native));
	TRY(philox_native_instantiate(device, native, &exec));
	TRY(philox_graph_adopt(context, id, native, exec, &graph));

	TRY(philox_graph_launch(graph, main_stream, &use, 1));
	TRY(philox_memory_copy(device, first, out, sizeof(first), main_stream));
	TRY(philox_graph_launch(graph, main_stream, &use, 1));
	TRY(philox_memory_copy(device, second, out, sizeof(second),
			       main_stream));
	TRY(philox_stream_synchronize(device, main_stream));
	if (!memcmp(first, second, sizeof(first)))
		return 1;
	puts("two launches, two tensors of fresh numbers");

	TRY(philox_graph_destroy(graph)); /* ends the adoption */
	TRY(philox_native_exec_destroy(device, exec));
	TRY(philox_native_graph_destroy(device, native));
	philox_context_destroy(context);
	TRY(philox_memory_free(device, out));
	TRY(philox_event_destroy(device, join));
	TRY(philox_event_destroy(device, fork));
	TRY(philox_stream_destroy(device, side));
	TRY(philox_stream_destroy(device, main_stream));
	TRY(philox_device_close(device));
	return 0;
}
