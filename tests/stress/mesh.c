/*
 * tests/stress/mesh.c - processes on a mesh that ask each other if they agree
 *
 * Four ranks, data 2 x tensor 2, draw eagerly and by graphs whose work is still
 * under way when they ask. Along data they draw noise of their own, as often as
 * they like. That is no difference; but then one of them does something alone,
 * and all are told the same. In the end one is killed, and the others do not
 * wait for it.
 *
 * A plain program, so that it also runs with the thread sanitizer.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <philox.h>
#include "tests/support/ranks/world.h"

enum { RANKS = 4, STEPS = 40, ELEMENTS = 4096, PENDING = 3 };

#define CHECK(condition)                                                       \
	do {                                                                   \
		if (!(condition)) {                                            \
			fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__,  \
				__LINE__, #condition, philox_error_message()); \
			_exit(1);                                              \
		}                                                              \
	} while (0)

#define OK(call) CHECK((call) == PHILOX_OK)

struct rank {
	struct world *world;
	struct philox_device *device;
	struct philox_context *context;
	struct philox_region *block, *noise;
	struct philox_graph *graph;
	philox_stream stream;
	uint32_t *numbers;
	struct philox_ticket pending[PENDING];
	unsigned gathers;
};

static enum philox_status gather_world(void *user, const void *mine,
				       size_t size, void *all)
{
	struct rank *rank = user;

	rank->gathers++;
	return world_gather(rank->world, mine, size, all) ? PHILOX_OK
							  : PHILOX_ERROR_DEVICE;
}

/* --- a rank --------------------------------------------------------------- */

static void draw_numbers(const struct philox_pass *pass, uint32_t *to)
{
	OK(philox_pass_bits(pass, 0, PHILOX_DTYPE_U32,
			    philox_span_elements(0, ELEMENTS), to));
}

static void capture(struct rank *rank)
{
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_capture_begin(rank->context, rank->stream));
	OK(philox_forward_begin(rank->block, rank->stream, 0, &pass));
	draw_numbers(&pass, rank->numbers);
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_backward_begin(rank->block, rank->stream, ticket, 0, &pass));
	draw_numbers(&pass, rank->numbers + ELEMENTS);
	OK(philox_pass_commit(&pass, 0, NULL));
	OK(philox_capture_end(rank->context, rank->stream, &rank->graph));
}

static void make_regions(struct rank *rank)
{
	static const struct philox_op_desc op = {"dropout", 1, ELEMENTS};
	static const char *const data = "data";
	struct philox_region_desc options =
		PHILOX_INIT(struct philox_region_desc);

	options.ops = &op;
	options.n_ops = 1;
	options.name = "block";
	options.pending = 16;
	OK(philox_region_create(rank->context, &options, &rank->block));
	options.name = "noise";
	options.differs = &data;
	options.n_differs = 1;
	OK(philox_region_create(rank->context, &options, &rank->noise));
}

static void open_rank(struct rank *rank, struct world *world)
{
	struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);

	*rank = (struct rank){.world = world};
	mesh.n_axes = 2;
	mesh.axes[0] = (struct philox_axis){.name = "data", .n_ranks = 2};
	mesh.axes[1] = (struct philox_axis){.name = "tensor", .n_ranks = 2};
	OK(philox_mesh_set_rank(&mesh, (uint64_t)world->rank, RANKS));
	OK(philox_device_open("host", &rank->device));
	OK(philox_context_create(rank->device, &rank->context));
	OK(philox_context_set_mesh(rank->context, &mesh));
	OK(philox_stream_create(rank->device, 0, &rank->stream));
	OK(philox_memory_alloc(rank->device, 2 * ELEMENTS * sizeof(uint32_t),
			       (void **)&rank->numbers));
	make_regions(rank);
	capture(rank);
}

static void close_rank(struct rank *rank)
{
	OK(philox_stream_synchronize(rank->device, rank->stream));
	OK(philox_graph_destroy(rank->graph));
	OK(philox_memory_free(rank->device, rank->numbers));
	OK(philox_stream_destroy(rank->device, rank->stream));
	philox_context_destroy(rank->context);
	OK(philox_device_close(rank->device));
}

/* --- a program ------------------------------------------------------------ */

static struct philox_ticket draw_eagerly(struct rank *rank,
					 struct philox_region *region)
{
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin(region, rank->stream, 0, &pass));
	draw_numbers(&pass, rank->numbers);
	OK(philox_pass_commit(&pass, 0, &ticket));
	return ticket;
}

static void use_up(struct rank *rank, struct philox_region *region,
		   struct philox_ticket ticket)
{
	struct philox_pass pass;

	OK(philox_backward_begin(region, rank->stream, ticket, 0, &pass));
	draw_numbers(&pass, rank->numbers);
	OK(philox_pass_commit(&pass, 0, NULL));
}

/* A forward and its backward. */
static void launch_pair(struct rank *rank)
{
	struct philox_launch_pass uses[2] = {{{0}, 0, 0}, {{0}, 0, 0}};

	OK(philox_graph_launch(rank->graph, rank->stream, uses, 2));
}

/* Some tickets are pending; noise is made along data as often as it is. */
static void step(struct rank *rank, unsigned n)
{
	struct philox_ticket *oldest = &rank->pending[n % PENDING];
	const unsigned noise = rank->world->rank / 2 ? n % 3 : 1;

	launch_pair(rank);
	if (oldest->serial)
		use_up(rank, rank->block, *oldest);
	*oldest = draw_eagerly(rank, rank->block);
	for (unsigned i = 0; i < noise; i++)
		use_up(rank, rank->noise, draw_eagerly(rank, rank->noise));
}

static enum philox_status ask(struct rank *rank)
{
	return philox_context_agree(rank->context, gather_world, rank);
}

static void run_steps(struct rank *rank, unsigned steps)
{
	for (unsigned i = 0; i < steps; i++) {
		step(rank, i);
		OK(ask(rank));
		CHECK(rank->gathers == i + 1);
	}
}

/* --- faults --------------------------------------------------------------- */

static void get_ahead(struct rank *rank)
{
	draw_eagerly(rank, rank->block);
}

static void launch_once_more(struct rank *rank)
{
	launch_pair(rank);
}

static void take_another_seed(struct rank *rank)
{
	OK(philox_generator_seed(philox_context_generator(rank->context), 1));
}

static void drop_a_region(struct rank *rank)
{
	OK(philox_region_destroy(rank->noise));
}

static void release_a_ticket(struct rank *rank)
{
	OK(philox_ticket_release(rank->block, rank->stream, rank->pending[0]));
}

static const struct {
	void (*make)(struct rank *rank);
	int odd;
	const char *words;
} faults[] = {
	{get_ahead, 3,
	 "along axis 'tensor': region 'block': the serial of its next forward "
	 "is 41 on ranks 0, 1 and 2, 42 on rank 3"},
	{launch_once_more, 1,
	 "along axis 'tensor': region 'block': the offset of its next forward "
	 "is 327680 on ranks 0, 2 and 3, 331776 on rank 1"},
	{take_another_seed, 2,
	 "along axis 'data': generator 0: seed is 0x0000000000000000 on ranks "
	 "0, 1 and 3, 0x0000000000000001 on rank 2"},
	{drop_a_region, 0,
	 "along axis 'tensor': region 'noise': it is missing on rank 0, there "
	 "on ranks 1, 2 and 3"},
	{release_a_ticket, 3,
	 "along axis 'tensor': region 'block', ticket 40: it is pending on "
	 "ranks 0, 1 and 2, gone on rank 3"},
};

static void run_fault(struct world *world, void *user)
{
	const size_t number = *(size_t *)user;
	struct rank rank;

	open_rank(&rank, world);
	run_steps(&rank, STEPS);
	CHECK(world_same(world, (uint32_t)number));
	if (world->rank == faults[number].odd)
		faults[number].make(&rank);
	CHECK(ask(&rank) == PHILOX_ERROR_MISMATCH);
	CHECK(strstr(philox_error_message(), faults[number].words));
	CHECK(rank.gathers == STEPS + 8);
	CHECK(world_same(world, rank.gathers));
	close_rank(&rank);
}

/* Without the last of them, in the middle of a question. */
static void run_death(struct world *world, void *user)
{
	struct rank rank;

	(void)user;
	open_rank(&rank, world);
	run_steps(&rank, STEPS);
	if (world->rank == RANKS - 1)
		kill(getpid(), SIGKILL);
	CHECK(ask(&rank) == PHILOX_ERROR_DEVICE);
	CHECK(!strcmp(philox_error_message(),
		      "the ranks cannot be compared: gather() returned "
		      "PHILOX_ERROR_DEVICE"));
	close_rank(&rank);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		if (world_run(RANKS, run_fault, &i, NULL))
			return 1;
	return world_run(RANKS, run_death, NULL, NULL) != 1u << (RANKS - 1);
}
