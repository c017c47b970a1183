/*
 * examples/resume.c - save in the middle of a step, and go on elsewhere
 *
 * The forward has run and its backward is owed when the program saves. Another
 * process, or another device, sets up the same regions, loads, and gives the
 * backward the forward's mask.
 *
 *   resume            both halves, one after the other
 *   resume save FILE  the first half: prints the forward's mask
 *   resume load FILE  the second one: prints the backward's
 */
#include <string.h>
#include "try.h"

enum { N = 64 };

struct run {
	struct philox_device *device;
	struct philox_context *context;
	struct philox_region *layer;
	philox_stream stream;
	void *memory;
};

static void set_up(struct run *run, const char *device)
{
	const char *op = "dropout";

	TRY(philox_device_open(device, &run->device));
	TRY(philox_context_create(run->device, &run->context));
	TRY(philox_region_create_named(run->context, "layer", &op, 1,
				       &run->layer));
	TRY(philox_stream_create(run->device, 0, &run->stream));
	TRY(philox_memory_alloc(run->device, N * sizeof(float), &run->memory));
}

static void take_down(struct run *run)
{
	philox_context_destroy(run->context);
	TRY(philox_memory_free(run->device, run->memory));
	TRY(philox_stream_destroy(run->device, run->stream));
	TRY(philox_device_close(run->device));
}

/* Draws which elements a pass keeps, as a line of 0 and 1. */
static void draw_mask(struct run *run, const struct philox_pass *pass,
		      char mask[N + 1])
{
	const struct philox_span all = {.count = N};
	float kept[N];

	TRY(philox_bernoulli(pass, 0, PHILOX_F32, all, 0.5, run->memory));
	TRY(philox_memory_copy(run->device, kept, run->memory, sizeof(kept),
			       run->stream));
	TRY(philox_stream_synchronize(run->device, run->stream));
	for (int i = 0; i < N; i++)
		mask[i] = kept[i] != 0 ? '1' : '0';
	mask[N] = '\0';
}

static void save(const char *path, char mask[N + 1])
{
	struct run run;
	struct philox_pass pass;
	struct philox_ticket ticket;

	set_up(&run, "host");
	TRY(philox_generator_seed(philox_context_generator(run.context), 7));
	TRY(philox_forward_begin(run.layer, run.stream, 0, &pass));
	draw_mask(&run, &pass, mask);
	TRY(philox_forward_commit(&pass, &ticket));
	TRY(philox_context_save(run.context, path));
	printf("forward  %s\n", mask);
	take_down(&run);
}

static void load(const char *path, char mask[N + 1])
{
	struct run run;
	struct philox_pass pass;
	struct philox_ticket ticket;
	size_t owed;

	set_up(&run, "host:sync"); /* any other device */
	TRY(philox_context_load(run.context, path));
	TRY(philox_region_tickets(run.layer, &ticket, 1, &owed));
	TRY(philox_backward_begin(run.layer, ticket, run.stream, 0, &pass));
	draw_mask(&run, &pass, mask);
	TRY(philox_backward_commit(&pass, 0));
	printf("backward %s\n", mask);
	take_down(&run);
}

int main(int argc, char **argv)
{
	const char *path = argc > 2 ? argv[2] : "resume.philox";
	char first[N + 1] = "", second[N + 1] = "";

	if (argc < 3 || !strcmp(argv[1], "save"))
		save(path, first);
	if (argc < 3 || !strcmp(argv[1], "load"))
		load(path, second);
	if (argc > 2)
		return 0;
	remove(path);
	return strcmp(first, second) != 0;
}
