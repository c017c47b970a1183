/*
 * examples/forward_backward.c - a training step as two captured graphs
 *
 * One graph is the forward of a layer with dropout, the other its backward. Two
 * forwards run, then their backwards, last first: each finds the mask of its
 * own forward, and no mask is stored.
 */
#include "try.h"

#define N 1000

static struct philox_graph *capture(struct philox_context *context,
				    struct philox_region *layer,
				    philox_stream stream, int backward,
				    const float *in, float *out)
{
	const struct philox_ticket named_at_launch = {0, 0};
	const struct philox_span whole = {.count = N};
	struct philox_ticket placeholder;
	struct philox_graph *graph;
	struct philox_pass pass;

	TRY(philox_capture_begin(context, stream));
	if (backward)
		TRY(philox_backward_begin(layer, named_at_launch, stream, 0,
					  &pass));
	else
		TRY(philox_forward_begin(layer, stream, 0, &pass));
	TRY(philox_dropout(&pass, 0, PHILOX_F32, whole, 0.5, in, out));
	if (backward)
		TRY(philox_backward_commit(&pass, 0));
	else
		TRY(philox_forward_commit(&pass, &placeholder));
	TRY(philox_capture_end(context, stream, &graph));
	return graph;
}

int main(int argc, char **argv)
{
	const char *op = "dropout";
	struct philox_device *device;
	struct philox_context *context;
	struct philox_region *layer;
	struct philox_graph *forward, *backward;
	struct philox_use use[2] = {{{0, 0}, 0, 0}};
	static float ones[N], mask[4][N];
	philox_stream stream;
	void *x, *y;

	for (int i = 0; i < N; i++)
		ones[i] = 1;
	TRY(philox_device_open(argc > 1 ? argv[1] : "host", &device));
	TRY(philox_context_create(device, &context));
	TRY(philox_region_create_named(context, "layer", &op, 1, &layer));
	TRY(philox_stream_create(device, 0, &stream));
	TRY(philox_memory_alloc(device, sizeof(ones), &x));
	TRY(philox_memory_alloc(device, sizeof(ones), &y));
	TRY(philox_memory_copy(device, x, ones, sizeof(ones), stream));
	forward = capture(context, layer, stream, 0, x, y);
	backward = capture(context, layer, stream, 1, x, y);

	for (int i = 0; i < 2; i++) { /* two forwards ... */
		TRY(philox_graph_launch(forward, stream, &use[i], 1));
		TRY(philox_memory_copy(device, mask[i], y, sizeof(ones),
				       stream));
	}
	for (int i = 0; i < 2; i++) { /* ... and their backwards, last first */
		TRY(philox_graph_launch(backward, stream, &use[1 - i], 1));
		TRY(philox_memory_copy(device, mask[3 - i], y, sizeof(ones),
				       stream));
	}
	TRY(philox_stream_synchronize(device, stream));

	for (int i = 0; i < N; i++)
		if (mask[0][i] != mask[2][i] || mask[1][i] != mask[3][i])
			return 1;
	puts("each backward saw the mask of its own forward");

	TRY(philox_memory_free(device, y));
	TRY(philox_memory_free(device, x));
	TRY(philox_stream_destroy(device, stream));
	philox_context_destroy(context);
	TRY(philox_device_close(device));
	return 0;
}
