/*
 * tools/contract/numbers/mesh.c - regions that differ along axes of a mesh
 *
 * Their seeds are derived on the host, for each rank; those of their operators
 * by the device when a graph is launched. Both are as philox/mesh.h says.
 */
#include <inttypes.h>
#include <string.h>
#include <philox.h>
#include "lib/base/base.h"
#include "tools/contract/contract.h"

enum { RANKS = 4, WORDS = 64, CALLS = 2 };

struct rank {
	struct philox_context *context;
	struct philox_region *region;
	philox_stream stream;
	uint32_t *words;
	uint64_t seed; /* that its region must have */
};

static uint64_t hash_of(const char *name)
{
	return hash_text(name, strlen(name));
}

static void make_rank(struct contract *c, uint64_t number, struct rank *rank)
{
	const char *const differs[] = {"tensor", "data"};
	const struct philox_op_desc op = {"bits", CALLS, 0};
	struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "noise",
					     .ops = &op,
					     .n_ops = 1,
					     .differs = differs,
					     .n_differs = 2};

	mesh.n_axes = 2;
	mesh.axes[0] = (struct philox_axis){.name = "data", .n_ranks = 2};
	mesh.axes[1] = (struct philox_axis){.name = "tensor", .n_ranks = 2};
	EXPECT_OK(philox_mesh_set_rank(&mesh, number, RANKS));
	EXPECT_OK(philox_context_set_mesh(rank->context, &mesh));
	EXPECT_OK(philox_region_create(rank->context, &options, &rank->region));
	rank->seed = philox_fold(0, PHILOX_FOLD_REGION, hash_of("noise"));
	rank->seed = philox_axis_seed(rank->seed, hash_of("data"),
				      (uint32_t)number / 2);
	rank->seed = philox_axis_seed(rank->seed, hash_of("tensor"),
				      (uint32_t)number % 2);
}

static void draw_rank(struct contract *c, const struct rank *rank)
{
	struct philox_fill_desc fill = {.size = sizeof(fill),
					.dist = PHILOX_DIST_BITS,
					.dtype = PHILOX_DTYPE_U32,
					.span = philox_span_elements(0, WORDS),
					.out = rank->words};
	struct philox_pass pass;

	EXPECT_OK(philox_forward_begin(rank->region, rank->stream,
				       PHILOX_PASS_INFERENCE, &pass));
	EXPECT_OK(philox_pass_fill(&pass, 0, CALLS - 1, &fill));
	EXPECT_OK(philox_pass_commit(&pass, 0, NULL));
}

static void expect_rank(struct contract *c, const struct rank *rank,
			uint64_t offset)
{
	struct philox_state state = {philox_op_seed(rank->seed, 0, CALLS - 1),
				     offset};
	uint32_t words[WORDS];

	EXPECT_OK(contract_read(c, rank->stream, rank->words, words,
				sizeof(words)));
	for (uint64_t i = 0; i < WORDS; i++)
		EXPECT_TEXT(words[i] == philox_draw4(state, i / 4).w[i % 4],
			    "word %" PRIu64 " is not that of offset %" PRIu64,
			    i, offset);
}

/* An eager forward, then two launches of a captured one. */
static void try_rank(struct contract *c, const struct rank *rank)
{
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	struct philox_graph *graph;

	EXPECT_PART(draw_rank(c, rank));
	EXPECT_PART(expect_rank(c, rank, 0));
	EXPECT_OK(philox_capture_begin(rank->context, rank->stream));
	EXPECT_PART(draw_rank(c, rank));
	EXPECT_OK(philox_capture_end(rank->context, rank->stream, &graph));
	for (uint64_t offset = 4; offset < 12; offset += 4) {
		EXPECT_OK(philox_graph_launch(graph, rank->stream, &use, 1));
		EXPECT_PART(expect_rank(c, rank, offset));
	}
}

static void each_rank_has_numbers_of_its_own(struct contract *c)
{
	struct rank rank = {0};

	EXPECT_OK(contract_stream(c, 0, &rank.stream));
	EXPECT_OK(contract_memory(c, WORDS * sizeof(uint32_t),
				  (void **)&rank.words));
	for (uint64_t number = 0; number < RANKS && !c->failure[0]; number++) {
		EXPECT_OK(philox_context_create(c->device, &rank.context));
		make_rank(c, number, &rank);
		if (!c->failure[0])
			try_rank(c, &rank);
		philox_stream_synchronize(c->device, rank.stream);
		philox_context_destroy(rank.context);
	}
}

const struct contract_check contract_mesh[] = {
	{"each rank of a mesh has numbers of its own",
	 .run = each_rank_has_numbers_of_its_own},
	{0},
};
