/*
 * examples/smallest.c - the smallest program: dropout, and its backward
 *
 * No mask is stored: the backward finds the numbers of its forward by a ticket.
 */
#include "try.h"

#define N 16

int main(int argc, char **argv)
{
	const char *op = "dropout";
	const struct philox_span all = {.count = N};
	struct philox_device *device;
	struct philox_context *context;
	struct philox_region *layer;
	struct philox_ticket ticket;
	struct philox_pass pass;
	philox_stream stream;
	void *memory;
	float *x, *y, values[N];

	TRY(philox_device_open(argc > 1 ? argv[1] : "host", &device));
	TRY(philox_context_create(device, &context));
	TRY(philox_generator_seed(philox_context_generator(context), 42));
	TRY(philox_region_create_named(context, "layer", &op, 1, &layer));
	TRY(philox_stream_create(device, 0, &stream));
	TRY(philox_memory_alloc(device, 2 * sizeof(values), &memory));
	x = memory;
	y = x + N;
	for (int i = 0; i < N; i++)
		values[i] = 1;
	TRY(philox_memory_copy(device, x, values, sizeof(values), stream));

	TRY(philox_forward_begin(layer, stream, 0, &pass));
	TRY(philox_dropout(&pass, 0, PHILOX_F32, all, 0.5, x, y));
	TRY(philox_forward_commit(&pass, &ticket));

	/* ... whatever happens in between ... */

	TRY(philox_backward_begin(layer, ticket, stream, 0, &pass));
	TRY(philox_dropout(&pass, 0, PHILOX_F32, all, 0.5, x, x));
	TRY(philox_backward_commit(&pass, 0));

	for (int back = 0; back < 2; back++) {
		TRY(philox_memory_copy(device, values, back ? x : y,
				       sizeof(values), stream));
		TRY(philox_stream_synchronize(device, stream));
		printf(back ? "backward" : "forward ");
		for (int i = 0; i < N; i++)
			printf(" %g", values[i]);
		printf("\n");
	}

	TRY(philox_memory_free(device, memory));
	TRY(philox_stream_destroy(device, stream));
	philox_context_destroy(context);
	TRY(philox_device_close(device));
	return 0;
}
