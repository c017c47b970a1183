/*
 * tests/first_hour/ranks.c - two processes that train to the bits of one
 *
 *   ranks 1    one process
 *   ranks 2    two, each with half of the samples
 *
 * Dropout is shared: each rank draws the rows of its samples. The noise on the
 * gradient differs along "data": each rank has its own, and rank 0 that of a
 * single process. Both runs print the sum of rank 0's weights without noise,
 * and the noise of each rank. The ranks check each other after every step.
 */
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "try.h"

enum { SAMPLES = 8, WIDTH = 16, STEPS = 5 };

struct rank {
	struct philox_device *device;
	struct philox_context *context;
	struct philox_region *layer, *noise;
	float *h, *z; /* device memory */
	float weights[WIDTH];
	uint32_t rank, n_ranks;
	int other; /* a socket to the other rank, or -1 */
};

/* What each has at `mine`, of both at `all`, rank 0's first. */
static enum philox_status gather(void *user, const void *mine, size_t bytes,
				 void *all)
{
	const struct rank *r = user;
	char *at = all;
	size_t got = 0;

	memcpy(at + r->rank * bytes, mine, bytes);
	if (r->n_ranks == 1)
		return PHILOX_OK;
	if (write(r->other, mine, bytes) != (ssize_t)bytes)
		return PHILOX_ERROR_DEVICE;
	while (got < bytes) {
		ssize_t n = read(r->other, at + !r->rank * bytes + got,
				 bytes - got);

		if (n <= 0)
			return PHILOX_ERROR_DEVICE;
		got += (size_t)n;
	}
	return PHILOX_OK;
}

static void begin(struct rank *r)
{
	struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);
	struct philox_region_desc options =
		PHILOX_INIT(struct philox_region_desc);
	static const char *const axis = "data";
	const char *op = "dropout";
	struct philox_op_desc normal = {.name = "normal"};
	void *memory;

	mesh.n_axes = 1;
	mesh.axes[0] = (struct philox_axis){
		.name = axis, .n_ranks = r->n_ranks, .coordinate = r->rank};
	TRY(philox_device_open("host", &r->device));
	TRY(philox_context_create(r->device, &r->context));
	TRY(philox_context_set_mesh(r->context, &mesh));
	TRY(philox_region_create_named(r->context, "layer", &op, 1, &r->layer));
	options.name = "noise";
	options.ops = &normal;
	options.n_ops = 1;
	options.differs = &axis;
	options.n_differs = 1;
	TRY(philox_region_create(r->context, &options, &r->noise));
	TRY(philox_memory_alloc(
		r->device, (SAMPLES + 1) * WIDTH * sizeof(float), &memory));
	r->h = memory;
	r->z = r->h + SAMPLES * WIDTH;
	for (int i = 0; i < WIDTH; i++)
		r->weights[i] = 1;
}

/* The rank's rows of the batch, kept or dropped; then each row's gradient. */
static void step(struct rank *r)
{
	const uint64_t rows = SAMPLES / r->n_ranks;
	const struct philox_span mine =
		philox_span_rows(r->rank * rows * WIDTH, rows, WIDTH, WIDTH);
	float all[SAMPLES][WIDTH];
	struct philox_ticket ticket;
	struct philox_pass pass;

	for (uint64_t i = 0; i < rows * WIDTH; i++)
		r->h[i] = r->weights[i % WIDTH];
	TRY(philox_forward_begin(r->layer, NULL, 0, &pass));
	TRY(philox_pass_dropout(&pass, 0, PHILOX_DTYPE_F32, mine, 0.5, r->h,
				r->h));
	TRY(philox_pass_commit(&pass, 0, &ticket));
	TRY(philox_backward_begin(r->layer, NULL, ticket, 0, &pass));
	TRY(philox_pass_dropout(&pass, 0, PHILOX_DTYPE_F32, mine, 0.5, r->h,
				r->h));
	TRY(philox_pass_commit(&pass, 0, NULL));
	TRY(philox_stream_synchronize(r->device, NULL));
	/* summed in one order, whoever has the rows */
	TRY(gather(r, r->h, rows * sizeof(all[0]), all));
	for (int i = 0; i < SAMPLES; i++)
		for (int j = 0; j < WIDTH; j++)
			r->weights[j] -= all[i][j] / 256;
}

/* Noise that each rank makes for itself. */
static float make_noise(struct rank *r)
{
	struct philox_pass pass;

	TRY(philox_forward_begin(r->noise, NULL, PHILOX_PASS_INFERENCE, &pass));
	TRY(philox_pass_normal(&pass, 0, PHILOX_DTYPE_F32,
			       philox_span_elements(0, WIDTH), 0, 1, r->z));
	TRY(philox_pass_commit(&pass, 0, NULL));
	TRY(philox_stream_synchronize(r->device, NULL));
	return r->z[0];
}

static void run(struct rank *r)
{
	float noise[2] = {0, 0}, mine;
	double sum = 0;

	begin(r);
	for (int i = 0; i < STEPS; i++) {
		step(r);
		mine = make_noise(r);
		TRY(philox_context_agree(r->context, gather, r));
	}
	TRY(gather(r, &mine, sizeof(mine), noise));
	for (int i = 0; i < WIDTH; i++)
		sum += r->weights[i] * (double)(i + 1);
	if (r->rank == 0)
		printf("weights %.17g\nnoise %.9g\n", sum, noise[0]);
	TRY(philox_context_destroy(r->context));
	TRY(philox_memory_free(r->device, r->h));
	TRY(philox_device_close(r->device));
	if (r->n_ranks == 2 && noise[0] == noise[1])
		exit(1);
}

int main(int argc, char **argv)
{
	struct rank r = {.n_ranks = argc > 1 ? (uint32_t)atoi(argv[1]) : 1,
			 .other = -1};
	int sockets[2], status = 0;
	pid_t child = 0;

	if (r.n_ranks < 1 || r.n_ranks > 2)
		return 2;
	/* before a device is opened */
	if (r.n_ranks == 2) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
			return 1;
		child = fork();
		r.rank = child == 0;
		r.other = sockets[r.rank];
		close(sockets[!r.rank]);
	}
	run(&r);
	if (child > 0 && (waitpid(child, &status, 0) != child || status))
		return 1;
	return 0;
}
