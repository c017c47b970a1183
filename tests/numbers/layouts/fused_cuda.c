/*
 * tests/numbers/layouts/fused_cuda.c - the example's kernel draws the mask of
 * its loop
 */
#include <math.h>
#include <stdlib.h>
#include "examples/fused_dropout.h"
#include "tests/support/support.h"

enum { ELEMENTS = 10007, COLS = 61 };

/* A device with the arrays of the example; arrays[0] is the output. */
struct place {
	struct philox_device *device;
	struct philox_context *context;
	struct philox_region *region;
	philox_stream stream;
	void *arrays[3];
};

static float inputs[2][ELEMENTS]; /* x, bias */

static void open_place(struct place *at, struct philox_device *device)
{
	struct philox_op_desc op = {.name = "dropout"};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "layer",
					     .ops = &op,
					     .n_ops = 1};

	at->device = device;
	OK(philox_context_create(device, &at->context));
	OK(philox_region_create(at->context, &options, &at->region));
	OK(philox_stream_create(device, 0, &at->stream));
	for (int i = 0; i < 3; i++)
		OK(philox_memory_alloc(device, sizeof(inputs[0]),
				       &at->arrays[i]));
	for (int i = 0; i < 2; i++)
		OK(philox_memory_copy(device, at->stream, at->arrays[i + 1],
				      inputs[i], sizeof(inputs[i])));
}

static void close_place(struct place *at)
{
	philox_context_destroy(at->context);
	for (int i = 0; i < 3; i++)
		OK(philox_memory_free(at->device, at->arrays[i]));
	OK(philox_stream_destroy(at->device, at->stream));
	philox_device_close(at->device);
}

static void forward_at(struct place *at, uint64_t count)
{
	struct fused_dropout args = {.threshold = philox_threshold(0.3),
				     .scale = philox_dropout_scale(0.3),
				     .count = count,
				     .cols = COLS,
				     .x = at->arrays[1],
				     .bias = at->arrays[2],
				     .out = at->arrays[0]};
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin(at->region, at->stream, 0, &pass));
	OK(philox_pass_rng(&pass, 0, 0, &args.rng));
	if (philox_device_is_host(at->device))
		OK(fused_dropout_host(at->device, at->stream, &args));
	else
		cr_assert_eq(fused_dropout_cuda(at->stream, &args), 0);
	OK(philox_pass_commit(&pass, 0, &ticket));
}

/* One forward in a graph, launched twice: the second launch's output. */
static float *second_launch(struct place *at)
{
	struct philox_graph *graph;
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	float *out = malloc(ELEMENTS * sizeof(float));

	/* a kernel is loaded by its first use, which a capture may refuse */
	forward_at(at, ELEMENTS);
	OK(philox_capture_begin(at->context, at->stream));
	forward_at(at, ELEMENTS);
	OK(philox_capture_end(at->context, at->stream, &graph));
	for (int i = 0; i < 2; i++)
		OK(philox_graph_launch(graph, at->stream, &use, 1));
	OK(philox_memory_copy(at->device, at->stream, out, at->arrays[0],
			      ELEMENTS * sizeof(float)));
	OK(philox_stream_synchronize(at->device, at->stream));
	return out;
}

Test(fused_cuda, the_kernel_draws_the_mask_of_the_loop, .timeout = 120)
{
	struct philox_device *gpu = NULL, *host;
	struct place on_gpu, on_host;
	float *seen, *want;

	if (philox_device_open("cuda", &gpu) == PHILOX_ERROR_NO_DEVICE)
		cr_skip_test("no GPU");
	for (int i = 0; i < ELEMENTS; i++) {
		inputs[0][i] = (float)(i % 23) * 0.25f - 2.6f;
		inputs[1][i] = (float)(i % COLS) * 0.01f;
	}
	cr_assert_not_null(gpu, "%s", philox_error_message());
	OK(philox_device_open("host", &host));
	open_place(&on_gpu, gpu);
	open_place(&on_host, host);
	seen = second_launch(&on_gpu);
	want = second_launch(&on_host);
	for (int i = 0; i < ELEMENTS; i++) {
		cr_assert_eq(seen[i] == 0, want[i] == 0, "element %d", i);
		cr_assert_float_eq(seen[i], want[i],
				   1e-6 + 1e-5 * fabsf(want[i]));
	}
	free(seen);
	free(want);
	close_place(&on_gpu);
	close_place(&on_host);
}

Test(fused_cuda, no_elements_are_not_an_error, .timeout = 120)
{
	struct philox_device *gpu = NULL;
	struct place at;
	float first;

	if (philox_device_open("cuda", &gpu) == PHILOX_ERROR_NO_DEVICE)
		cr_skip_test("no GPU");
	cr_assert_not_null(gpu, "%s", philox_error_message());
	open_place(&at, gpu);
	OK(philox_memory_set(gpu, at.stream, at.arrays[0], 0x77,
			     sizeof(first)));
	forward_at(&at, 0);
	OK(philox_memory_copy(gpu, at.stream, &first, at.arrays[0],
			      sizeof(first)));
	OK(philox_stream_synchronize(gpu, at.stream));
	cr_assert(first > 1e30f, "past the end");
	close_place(&at);
}
