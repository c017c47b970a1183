/*
 * examples/recompute.c - activations recomputed in a captured backward
 *
 * The forward's graph keeps nothing. The backward's graph draws the forward's
 * numbers twice: for the activations, which it computes again, and for the
 * gradient. Both passes are of one ticket, so they are linked: a launch names
 * it once.
 */
#include <string.h>
#include "try.h"

enum { N = 1000 };

static const struct philox_span all = {.count = N};

/* The layer: h = x + noise, y = dropout(h). */
static void layer_forward(const struct philox_pass *pass, float *h, float *y)
{
	TRY(philox_normal(pass, 0, PHILOX_F32, all, 0, 1, h));
	TRY(philox_dropout(pass, 1, PHILOX_F32, all, 0.5, h, y));
}

static struct philox_graph *capture_forward(struct philox_context *context,
					    struct philox_region *layer,
					    philox_stream stream, float *h,
					    float *y)
{
	struct philox_graph *graph;
	struct philox_ticket placeholder;
	struct philox_pass pass;

	TRY(philox_capture_begin(context, stream));
	TRY(philox_forward_begin(layer, stream, 0, &pass));
	layer_forward(&pass, h, y);
	TRY(philox_forward_commit(&pass, &placeholder));
	TRY(philox_capture_end(context, stream, &graph));
	return graph;
}

static struct philox_graph *capture_backward(struct philox_context *context,
					     struct philox_region *layer,
					     philox_stream stream, float *h,
					     float *y, const float *dy,
					     float *dx)
{
	const struct philox_ticket named_at_launch = {0, 0};
	struct philox_graph *graph;
	struct philox_ticket ticket;
	struct philox_pass pass;

	TRY(philox_capture_begin(context, stream));
	TRY(philox_recompute_begin(layer, named_at_launch, stream, 0, &pass));
	TRY(philox_pass_ticket(&pass, &ticket)); /* to link the next pass */
	layer_forward(&pass, h, y);
	TRY(philox_backward_commit(&pass, 0));
	TRY(philox_backward_begin(layer, ticket, stream, 0, &pass));
	TRY(philox_dropout(&pass, 1, PHILOX_F32, all, 0.5, dy, dx));
	TRY(philox_backward_commit(&pass, 0));
	TRY(philox_capture_end(context, stream, &graph));
	return graph;
}

int main(void)
{
	const char *ops[] = {"noise", "dropout"};
	static float saved[2][N], again[N];
	struct philox_device *device;
	struct philox_context *context;
	struct philox_region *layer;
	struct philox_graph *forward, *backward;
	struct philox_use made[2] = {{{0, 0}, 0, 0}};
	philox_stream stream;
	void *memory;
	float *h, *y, *dy, *dx;

	TRY(philox_device_open("host", &device));
	TRY(philox_context_create(device, &context));
	TRY(philox_region_create_named(context, "layer", ops, 2, &layer));
	TRY(philox_stream_create(device, 0, &stream));
	TRY(philox_memory_alloc(device, 4 * sizeof(again), &memory));
	h = memory;
	y = h + N;
	dy = y + N;
	dx = dy + N;
	TRY(philox_memory_set(device, memory, 0, 4 * sizeof(again), stream));
	forward = capture_forward(context, layer, stream, h, y);
	backward = capture_backward(context, layer, stream, h, y, dy, dx);

	for (int i = 0; i < 2; i++) {
		TRY(philox_graph_launch(forward, stream, &made[i], 1));
		TRY(philox_memory_copy(device, saved[i], y, sizeof(again),
				       stream));
	}
	for (int i = 1; i >= 0; i--) { /* the last forward goes back first */
		struct philox_use uses[2] = {made[i]}; /* [1] is linked */

		TRY(philox_graph_launch(backward, stream, uses, 2));
		TRY(philox_memory_copy(device, again, y, sizeof(again),
				       stream));
		TRY(philox_stream_synchronize(device, stream));
		if (memcmp(again, saved[i], sizeof(again)))
			return 1;
	}
	puts("the activations of both forwards were computed again, bit for bit");

	philox_context_destroy(context);
	TRY(philox_memory_free(device, memory));
	TRY(philox_stream_destroy(device, stream));
	TRY(philox_device_close(device));
	return 0;
}
