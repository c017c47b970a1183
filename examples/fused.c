/*
 * examples/fused.c - the fused kernel of fused_dropout.h, forward and backward
 *
 * Runs on a GPU if there is one and the program was compiled with nvcc's object
 * (-DWITH_CUDA, fused_dropout.cu), else on the host device, with the same
 * numbers.
 */
#include "fused_dropout.h"
#include "try.h"

enum { N = 12, COLS = 4 };

static struct philox_device *open_device(void)
{
	struct philox_device *device;

#ifdef WITH_CUDA
	if (philox_device_open("cuda", &device) == PHILOX_OK)
		return device;
	printf("%s\n", philox_error_message());
#endif
	TRY(philox_device_open("host", &device));
	return device;
}

/* Puts the fused kernel on the stream of a pass. */
static void launch(struct philox_device *device, const struct philox_pass *pass,
		   philox_stream stream, struct fused_dropout args)
{
	TRY(philox_pass_rng(pass, 0, 0, &args.rng));
#ifdef WITH_CUDA
	if (!philox_device_is_host(device)) {
		if (fused_dropout_cuda(stream, &args))
			exit(1);
		return;
	}
#endif
	TRY(fused_dropout_host(device, stream, &args));
}

static void show(struct philox_device *device, philox_stream stream,
		 const char *name, const float *on_device)
{
	float values[N];

	TRY(philox_memory_copy(device, stream, values, on_device,
			       sizeof(values)));
	TRY(philox_stream_synchronize(device, stream));
	printf("%s", name);
	for (int i = 0; i < N; i++)
		printf(" %7.4f", (double)values[i]);
	printf("\n");
}

int main(void)
{
	const char *op = "dropout";
	struct philox_device *device = open_device();
	struct philox_context *context;
	struct philox_region *layer;
	struct philox_ticket ticket;
	struct philox_pass pass;
	struct fused_dropout args = {.threshold = philox_threshold(0.5),
				     .scale = philox_dropout_scale(0.5),
				     .count = N,
				     .cols = COLS};
	philox_stream stream;
	float in[2 * N + COLS], *x;
	void *memory;

	for (int i = 0; i < 2 * N + COLS; i++)
		in[i] = i < N ? 0.25f * (float)i - 1 : i < 2 * N ? 1 : 0.5f;
	TRY(philox_context_create(device, &context));
	TRY(philox_region_create_named(context, "layer", &op, 1, &layer));
	TRY(philox_stream_create(device, 0, &stream));
	TRY(philox_memory_alloc(device, sizeof(in) + N * sizeof(*in), &memory));
	TRY(philox_memory_copy(device, stream, memory, in, sizeof(in)));
	x = memory;
	args.x = x;
	args.bias = x + 2 * N;
	args.out = x + 2 * N + COLS;

	TRY(philox_forward_begin(layer, stream, 0, &pass));
	launch(device, &pass, stream, args);
	TRY(philox_pass_commit(&pass, 0, &ticket));
	show(device, stream, "y ", args.out);

	args.dy = x + N; /* of ones */
	TRY(philox_backward_begin(layer, stream, ticket, 0, &pass));
	launch(device, &pass, stream, args);
	TRY(philox_pass_commit(&pass, 0, NULL));
	show(device, stream, "dx", args.out);

	philox_context_destroy(context);
	TRY(philox_memory_free(device, memory));
	TRY(philox_stream_destroy(device, stream));
	TRY(philox_device_close(device));
	return 0;
}
