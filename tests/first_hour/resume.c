/*
 * tests/first_hour/resume.c - a run that ends in the middle of a step, and goes
 * on in another process
 *
 *   resume straight       all steps; prints the weights' sum
 *   resume save FOLDER    ends between a forward and its backward
 *   resume load FOLDER    goes on from there; prints the weights' sum
 *
 * Weights and activations are the program's own to save; philox saves what its
 * context knows.
 */
#include <string.h>
#include "try.h"

enum { WIDTH = 64, STEPS = 6, ENDS_IN = 3 };

struct model {
	struct philox_device *device;
	struct philox_context *context;
	struct philox_region *layer;
	struct philox_graph *forward, *backward;
	philox_stream stream;
	float *weights, *y; /* device memory */
};

struct arrays {
	float *weights, *y;
};

static void multiply(const void *args)
{
	const struct arrays *a = args;

	for (int i = 0; i < WIDTH; i++)
		a->y[i] = a->weights[i];
}

static void descend(const void *args)
{
	const struct arrays *a = args;

	for (int i = 0; i < WIDTH; i++)
		a->weights[i] -= 0.125f * a->y[i];
}

/* The two halves of a step, as graphs. The backward is named at launch. */
static struct philox_graph *capture(struct model *m, int is_backward)
{
	const struct philox_ticket named_at_launch = {0, 0};
	const struct philox_span all = {.count = WIDTH};
	const struct arrays arrays = {m->weights, m->y};
	struct philox_ticket placeholder;
	struct philox_graph *graph;
	struct philox_pass pass;

	TRY(philox_capture_begin(m->context, m->stream));
	if (is_backward) {
		TRY(philox_backward_begin(m->layer, m->stream, named_at_launch,
					  0, &pass));
		TRY(philox_pass_dropout(&pass, 0, PHILOX_DTYPE_F32, all, 0.5,
					m->y, m->y));
		TRY(philox_pass_commit(&pass, 0, NULL));
		TRY(philox_stream_launch_host(m->device, m->stream, descend,
					      &arrays, sizeof(arrays)));
	} else {
		TRY(philox_stream_launch_host(m->device, m->stream, multiply,
					      &arrays, sizeof(arrays)));
		TRY(philox_forward_begin(m->layer, m->stream, 0, &pass));
		TRY(philox_pass_dropout(&pass, 0, PHILOX_DTYPE_F32, all, 0.5,
					m->y, m->y));
		TRY(philox_pass_commit(&pass, 0, &placeholder));
	}
	TRY(philox_capture_end(m->context, m->stream, &graph));
	return graph;
}

static void begin(struct model *m)
{
	const char *op = "dropout";
	float ones[WIDTH];
	void *memory;

	for (int i = 0; i < WIDTH; i++)
		ones[i] = 1;
	TRY(philox_device_open("host", &m->device));
	TRY(philox_context_create(m->device, &m->context));
	TRY(philox_generator_seed(philox_context_generator(m->context), 99));
	TRY(philox_region_create_named(m->context, "layer", &op, 1, &m->layer));
	TRY(philox_stream_create(m->device, 0, &m->stream));
	TRY(philox_memory_alloc(m->device, 2 * sizeof(ones), &memory));
	m->weights = memory;
	m->y = m->weights + WIDTH;
	TRY(philox_memory_copy(m->device, m->stream, m->weights, ones,
			       sizeof(ones)));
	TRY(philox_stream_synchronize(m->device, m->stream));
}

static void end(struct model *m)
{
	TRY(philox_stream_synchronize(m->device, m->stream));
	TRY(philox_context_destroy(m->context));
	TRY(philox_memory_free(m->device, m->weights));
	TRY(philox_stream_destroy(m->device, m->stream));
	TRY(philox_device_close(m->device));
}

static struct philox_ticket go_forward(struct model *m)
{
	struct philox_launch_pass pass = {{0, 0}, 0, 0};

	TRY(philox_graph_launch(m->forward, m->stream, &pass, 1));
	return pass.ticket;
}

static void go_back(struct model *m, struct philox_ticket ticket)
{
	struct philox_launch_pass pass = {ticket, 0, 0};

	TRY(philox_graph_launch(m->backward, m->stream, &pass, 1));
}

/* The bits of weights and activations, to or from a file. */
static void keep(struct model *m, const char *folder, const char *mode)
{
	float all[2 * WIDTH];
	char path[4096];
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "%s/tensors", folder);
	file = fopen(path, mode);
	if (!file)
		exit(1);
	if (*mode == 'w') {
		TRY(philox_memory_copy(m->device, m->stream, all, m->weights,
				       sizeof(all)));
		TRY(philox_stream_synchronize(m->device, m->stream));
		n = fwrite(all, sizeof(float), 2 * WIDTH, file);
	} else {
		n = fread(all, sizeof(float), 2 * WIDTH, file);
		TRY(philox_memory_copy(m->device, m->stream, m->weights, all,
				       sizeof(all)));
		TRY(philox_stream_synchronize(m->device, m->stream));
	}
	if (fclose(file) || n != 2 * WIDTH)
		exit(1);
}

static void tell(struct model *m)
{
	float weights[WIDTH];
	double sum = 0;

	TRY(philox_memory_copy(m->device, m->stream, weights, m->weights,
			       sizeof(weights)));
	TRY(philox_stream_synchronize(m->device, m->stream));
	for (int i = 0; i < WIDTH; i++)
		sum += weights[i] * (double)(i + 1);
	printf("%.17g\n", sum);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "straight";
	const char *folder = argc > 2 ? argv[2] : ".";
	const int loads = !strcmp(what, "load"), saves = !strcmp(what, "save");
	struct philox_ticket ticket;
	char path[4096];
	struct model m;
	size_t n_pending;

	snprintf(path, sizeof(path), "%s/context", folder);
	begin(&m);
	if (loads) {
		TRY(philox_context_load(m.context, path));
		keep(&m, folder, "rb");
	}
	m.forward = capture(&m, 0);
	m.backward = capture(&m, 1);
	for (int i = loads ? ENDS_IN : 0; i < STEPS; i++) {
		if (loads && i == ENDS_IN)
			TRY(philox_region_tickets(m.layer, &ticket, 1,
						  &n_pending));
		else
			ticket = go_forward(&m);
		if (saves && i == ENDS_IN) {
			keep(&m, folder, "wb");
			TRY(philox_context_save(m.context, path));
			end(&m);
			return 0;
		}
		go_back(&m, ticket);
	}
	tell(&m);
	end(&m);
	return 0;
}
