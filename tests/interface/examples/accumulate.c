/*
 * examples/accumulate.c - gradient accumulation, backwards out of order
 *
 * Four micro-batches go forward through one layer before the first of them goes
 * back, as in a pipeline. The backwards come in any order, one of them twice.
 * Each finds the mask of its own forward by its ticket.
 */
#include <string.h>
#include "try.h"

enum { N = 1000, MICROBATCHES = 4 };

static const struct philox_span all = {.count = N};

/* A row of the arrays on the device is a micro-batch. */
static float *row(void *memory, int i)
{
	return (float *)memory + i * N;
}

static struct philox_ticket forward(struct philox_region *layer,
				    philox_stream stream, const float *x,
				    float *y)
{
	struct philox_ticket ticket;
	struct philox_pass pass;

	TRY(philox_forward_begin(layer, stream, 0, &pass));
	TRY(philox_dropout(&pass, 0, PHILOX_F32, all, 0.1, x, y));
	TRY(philox_forward_commit(&pass, &ticket));
	return ticket;
}

static void backward(struct philox_region *layer, philox_stream stream,
		     struct philox_ticket ticket, unsigned flags,
		     const float *dy, float *dx)
{
	struct philox_pass pass;

	TRY(philox_backward_begin(layer, ticket, stream, flags, &pass));
	TRY(philox_dropout(&pass, 0, PHILOX_F32, all, 0.1, dy, dx));
	TRY(philox_backward_commit(&pass, 0));
}

int main(void)
{
	static const int order[MICROBATCHES] = {2, 0, 3, 1};
	static float ones[N], y[MICROBATCHES][N], dx[MICROBATCHES][N];
	const struct philox_op op = {.name = "dropout"};
	const struct philox_region_options options = {.size = sizeof(options),
						      .name = "layer",
						      .ops = &op,
						      .n_ops = 1,
						      .pending = MICROBATCHES};
	struct philox_ticket tickets[MICROBATCHES];
	struct philox_device *device;
	struct philox_context *context;
	struct philox_region *layer;
	philox_stream stream;
	void *in, *forth, *back;

	TRY(philox_device_open("host", &device));
	TRY(philox_context_create(device, &context));
	TRY(philox_region_create(context, &options, &layer));
	TRY(philox_stream_create(device, 0, &stream));
	TRY(philox_memory_alloc(device, sizeof(ones), &in));
	TRY(philox_memory_alloc(device, sizeof(y), &forth));
	TRY(philox_memory_alloc(device, sizeof(dx), &back));
	for (int i = 0; i < N; i++)
		ones[i] = 1;
	TRY(philox_memory_copy(device, in, ones, sizeof(ones), stream));

	for (int i = 0; i < MICROBATCHES; i++)
		tickets[i] = forward(layer, stream, in, row(forth, i));
	/* the first half of a split backward keeps its ticket */
	backward(layer, stream, tickets[2], PHILOX_RETAIN, in, row(back, 2));
	for (int i = 0; i < MICROBATCHES; i++)
		backward(layer, stream, tickets[order[i]], 0, in,
			 row(back, order[i]));

	TRY(philox_memory_copy(device, y, forth, sizeof(y), stream));
	TRY(philox_memory_copy(device, dx, back, sizeof(dx), stream));
	TRY(philox_stream_synchronize(device, stream));
	for (int i = 0; i < MICROBATCHES; i++)
		if (memcmp(y[i], dx[i], sizeof(y[i])) ||
		    (i && !memcmp(y[i], y[i - 1], sizeof(y[i]))))
			return 1;
	puts("four masks, all different; each backward has its forward's");

	philox_context_destroy(context);
	TRY(philox_memory_free(device, back));
	TRY(philox_memory_free(device, forth));
	TRY(philox_memory_free(device, in));
	TRY(philox_stream_destroy(device, stream));
	TRY(philox_device_close(device));
	return 0;
}
