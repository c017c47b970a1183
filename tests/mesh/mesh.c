/*
 * tests/mesh/mesh.c - meshes: places and ranks, what is refused, and what a
 * context keeps of one
 */
#include <inttypes.h>
#include <stdio.h>
#include "tests/support/ranks/mesh.h"

static uint64_t world_of(const struct philox_mesh *mesh)
{
	uint64_t world = 0;

	OK(philox_mesh_world_size(mesh, &world));
	return world;
}

static uint64_t rank_of(const struct philox_mesh *mesh)
{
	uint64_t rank = UINT64_MAX;

	OK(philox_mesh_rank(mesh, &rank));
	return rank;
}

static void same_mesh(const struct philox_mesh *a, const struct philox_mesh *b)
{
	cr_assert_eq(a->n_axes, b->n_axes);
	for (uint32_t i = 0; i < a->n_axes; i++) {
		cr_assert_str_eq(a->axes[i].name, b->axes[i].name);
		cr_assert_eq(a->axes[i].n_ranks, b->axes[i].n_ranks);
		cr_assert_eq(a->axes[i].coordinate, b->axes[i].coordinate);
		cr_assert_eq(a->axes[i].flags, b->axes[i].flags);
		cr_assert_eq(a->axes[i].reserved, 0);
	}
}

/* --- places and ranks ----------------------------------------------------- */

/* Counted one by one, the last axis fastest. */
Test(mesh, ranks_are_counted_with_the_last_axis_fastest)
{
	uint64_t random = 1;

	for (int round = 0; round < 200; round++) {
		struct philox_mesh mesh = random_mesh(&random, 2000);
		uint64_t world = 0;

		do {
			struct philox_mesh placed = mesh;

			for (uint32_t i = 0; i < placed.n_axes; i++)
				placed.axes[i].coordinate =
					(uint32_t)bed_random(&random);
			cr_assert_eq(rank_of(&mesh), world);
			OK(philox_mesh_set_rank(&placed, world,
						world_of(&mesh)));
			same_mesh(&placed, &mesh);
			world++;
		} while (next_place(&mesh));
		cr_assert_eq(world_of(&mesh), world);
	}
}

Test(mesh, ranks_of_the_largest_world_fit)
{
	struct philox_mesh mesh = mesh_of("a=0/65536 b=0/256 c=0/256");

	cr_assert_eq(world_of(&mesh), UINT64_C(1) << 32);
	OK(philox_mesh_set_rank(&mesh, 0xfedcba98, UINT64_C(1) << 32));
	cr_assert_eq(mesh.axes[0].coordinate, 0xfedc);
	cr_assert_eq(mesh.axes[1].coordinate, 0xba);
	cr_assert_eq(mesh.axes[2].coordinate, 0x98);
	cr_assert_eq(rank_of(&mesh), 0xfedcba98);
	OK(philox_mesh_set_rank(&mesh, UINT32_MAX, UINT64_C(1) << 32));
	cr_assert_eq(rank_of(&mesh), UINT32_MAX);
	mesh = mesh_of("a=4294967294/4294967295");
	cr_assert_eq(world_of(&mesh), UINT32_MAX);
	cr_assert_eq(rank_of(&mesh), UINT32_MAX - 1);
}

Test(mesh, without_axes_there_is_one_rank)
{
	struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);

	OK(philox_mesh_check(&mesh));
	cr_assert_eq(world_of(&mesh), 1);
	cr_assert_eq(rank_of(&mesh), 0);
	OK(philox_mesh_set_rank(&mesh, 0, 1));
	SAYS(philox_mesh_set_rank(&mesh, 0, 2), PHILOX_ERROR_INVALID,
	     "mesh: the product of n_ranks is 1, the world has 2 ranks");
}

Test(mesh, flags_stay_when_a_rank_gets_its_place)
{
	struct philox_mesh mesh = mesh_of("stage=0/2 data=0/3");

	mesh.axes[0].flags = PHILOX_AXIS_STAGES;
	OK(philox_mesh_set_rank(&mesh, 4, 6));
	cr_assert_eq(mesh.axes[0].flags, PHILOX_AXIS_STAGES);
	cr_assert_eq(mesh.axes[0].coordinate, 1);
	cr_assert_eq(mesh.axes[1].coordinate, 1);
}

Test(mesh, a_place_that_there_is_not_changes_nothing)
{
	struct philox_mesh mesh = mesh_of("data=1/2 tensor=2/3"), before = mesh;

	SAYS(philox_mesh_set_rank(&mesh, 0, 8), PHILOX_ERROR_INVALID,
	     "mesh: the product of n_ranks is 6, the world has 8 ranks");
	SAYS(philox_mesh_set_rank(&mesh, 0, 1), PHILOX_ERROR_INVALID,
	     "mesh: the product of n_ranks is 6, the world has 1 rank");
	SAYS(philox_mesh_set_rank(&mesh, 0, 0), PHILOX_ERROR_INVALID,
	     "mesh: the product of n_ranks is 6, the world has 0 ranks");
	SAYS(philox_mesh_set_rank(&mesh, 6, 6), PHILOX_ERROR_INVALID,
	     "mesh: rank 6 in a world of 6");
	SAYS(philox_mesh_set_rank(&mesh, UINT64_MAX, 6), PHILOX_ERROR_INVALID,
	     "mesh: rank 18446744073709551615 in a world of 6");
	FAILS(philox_mesh_set_rank(NULL, 0, 1), PHILOX_ERROR_INVALID);
	same_mesh(&mesh, &before);
}

/* --- what is no mesh ------------------------------------------------------ */

enum fault {
	NO_NAME,
	EMPTY_NAME,
	NAME_TWICE,
	ONE_HASH,
	SIZE_0,
	BEYOND,
	FLAGS,
	AXIS_RESERVED,
	RESERVED,
	NINE,
	WORLD,
	WORLD_TWICE,
	SIZE_OF_NOTHING,
	SIZE_LESS,
	SIZE_HUGE,
	FAULTS
};

static const struct {
	const char *says;
	int unplaced; /* philox_mesh_set_rank() refuses it, too */
} faults[FAULTS] = {
	[NO_NAME] = {"mesh: the name of axis 1 is NULL", 1},
	[EMPTY_NAME] = {"mesh: the name of axis 1 is empty", 1},
	[NAME_TWICE] = {"mesh: axes 0 and 2 are both named 'data'", 1},
	/* Both are 0x4eac0c95540867e4 */
	[ONE_HASH] = {"mesh: the names of axes '8yn0iYCKYHlIj4-BwPqk' and "
		      "'GReLUrM4wMqfg9yzV3KQ' have the same hash",
		      1},
	[SIZE_0] = {"mesh: n_ranks of axis 'tensor' is 0", 1},
	[BEYOND] = {"mesh: the coordinate along axis 'tensor' is 3, not below "
		    "its n_ranks, 3",
		    0},
	[FLAGS] = {"mesh: flags 0x2 of axis 'tensor' is not 0 or "
		   "PHILOX_AXIS_STAGES",
		   1},
	[AXIS_RESERVED] = {"mesh: reserved of axis 'tensor' is not 0", 1},
	[RESERVED] = {"mesh: reserved is 0x5, not 0", 1},
	[NINE] = {"mesh: n_axes is 9, above 8", 1},
	[WORLD] = {"mesh: more than 2^32 ranks with axis 'pipeline'", 1},
	/* 2^64 ranks and more would be few, if they were counted in 64 bits */
	[WORLD_TWICE] = {"mesh: more than 2^32 ranks with axis 'tensor'", 1},
	[SIZE_OF_NOTHING] = {"mesh: size is 0, not that of the struct (208): "
			     "begin with PHILOX_INIT()",
			     1},
	[SIZE_LESS] = {"mesh: size is 207, not that of the struct (208): "
		       "begin with PHILOX_INIT()",
		       1},
	[SIZE_HUGE] = {"mesh: size is 4097, not that of the struct (208): "
		       "begin with PHILOX_INIT()",
		       1},
};

static struct philox_mesh faulty(enum fault fault)
{
	struct philox_mesh mesh = mesh_of("data=1/2 tensor=2/3 pipeline=3/4");

	if (fault == NO_NAME)
		mesh.axes[1].name = NULL;
	if (fault == EMPTY_NAME)
		mesh.axes[1].name = "";
	if (fault == NAME_TWICE)
		mesh.axes[2].name = "data";
	if (fault == ONE_HASH) {
		mesh.axes[0].name = "8yn0iYCKYHlIj4-BwPqk";
		mesh.axes[2].name = "GReLUrM4wMqfg9yzV3KQ";
	}
	if (fault == SIZE_0)
		mesh.axes[1].n_ranks = 0;
	if (fault == BEYOND)
		mesh.axes[1].coordinate = 3;
	mesh.axes[1].flags = fault == FLAGS ? 2 : 0;
	mesh.axes[1].reserved = fault == AXIS_RESERVED;
	mesh.reserved = fault == RESERVED ? 5 : 0;
	if (fault == NINE)
		mesh.n_axes = 9;
	if (fault == WORLD)
		mesh.axes[2].n_ranks = 715827883; /* 2^32 + 2, with 6 */
	if (fault == WORLD_TWICE)
		mesh.axes[0].n_ranks = mesh.axes[1].n_ranks = UINT32_MAX;
	if (fault == SIZE_OF_NOTHING)
		mesh.size = 0;
	if (fault == SIZE_LESS)
		mesh.size = sizeof(mesh) - 1;
	if (fault == SIZE_HUGE)
		mesh.size = 4097;
	return mesh;
}

_Static_assert(sizeof(struct philox_mesh) == 208, "as the messages say");

PROMISE(mesh, every_function_refuses_what_is_no_mesh)
{
	for (int i = 0; i < FAULTS; i++) {
		struct philox_mesh mesh = faulty((enum fault)i), kept = mesh;
		struct philox_mesh after = PHILOX_INIT(struct philox_mesh);
		uint64_t untouched = 77;

		SAYS(philox_mesh_check(&mesh), PHILOX_ERROR_INVALID,
		     faults[i].says);
		SAYS(philox_mesh_world_size(&mesh, &untouched),
		     PHILOX_ERROR_INVALID, faults[i].says);
		SAYS(philox_mesh_rank(&mesh, &untouched), PHILOX_ERROR_INVALID,
		     faults[i].says);
		SAYS(philox_context_set_mesh(f->context, &mesh),
		     PHILOX_ERROR_INVALID, faults[i].says);
		if (faults[i].unplaced)
			SAYS(philox_mesh_set_rank(&mesh, 0, 24),
			     PHILOX_ERROR_INVALID, faults[i].says);
		cr_assert_eq(untouched, 77);
		cr_assert_eq(memcmp(&mesh, &kept, sizeof(mesh)), 0);
		OK(philox_context_get_mesh(f->context, &after));
		cr_assert_eq(after.n_axes, 0);
	}
}

PROMISE(mesh, null_is_refused_by_name)
{
	struct philox_mesh mesh = mesh_of("data=0/1");
	uint64_t number;

	FAILS(philox_mesh_check(NULL), PHILOX_ERROR_INVALID);
	NAMES("mesh is NULL");
	FAILS(philox_mesh_world_size(NULL, &number), PHILOX_ERROR_INVALID);
	NAMES("mesh is NULL");
	FAILS(philox_mesh_rank(NULL, &number), PHILOX_ERROR_INVALID);
	NAMES("mesh is NULL");
	FAILS(philox_mesh_from_environment(NULL), PHILOX_ERROR_INVALID);
	NAMES("mesh is NULL");
	FAILS(philox_mesh_world_size(&mesh, NULL), PHILOX_ERROR_INVALID);
	NAMES("world is NULL");
	FAILS(philox_mesh_rank(&mesh, NULL), PHILOX_ERROR_INVALID);
	NAMES("rank is NULL");
	FAILS(philox_context_set_mesh(NULL, &mesh), PHILOX_ERROR_INVALID);
	NAMES("context is NULL");
	FAILS(philox_context_set_mesh(f->context, NULL), PHILOX_ERROR_INVALID);
	NAMES("mesh is NULL");
	FAILS(philox_context_get_mesh(NULL, &mesh), PHILOX_ERROR_INVALID);
	NAMES("context is NULL");
	FAILS(philox_context_get_mesh(f->context, NULL), PHILOX_ERROR_INVALID);
	NAMES("mesh is NULL");
}

/* What is in places that are no axes is nobody's business. */
Test(mesh, axes_beyond_the_last_are_not_read)
{
	struct philox_mesh mesh = mesh_of("data=1/2");

	memset(&mesh.axes[1], 0xff, sizeof(mesh.axes) - sizeof(mesh.axes[0]));
	OK(philox_mesh_check(&mesh));
	OK(philox_mesh_set_rank(&mesh, 0, 2));
	cr_assert_eq(mesh.axes[0].coordinate, 0);
	cr_assert_eq(mesh.axes[1].coordinate, UINT32_MAX);
}

/* --- a struct of a later version ------------------------------------------ */

struct later_mesh {
	struct philox_mesh mesh;
	uint64_t field;
};

PROMISE(mesh, one_of_a_later_version_is_taken_if_it_asks_for_nothing)
{
	struct later_mesh later = {.mesh = mesh_of("data=1/2 tensor=7/3")};
	struct later_mesh back = {.mesh.size = sizeof(back), .field = 5};

	later.mesh.size = sizeof(later);
	OK(philox_mesh_set_rank(&later.mesh, 4, 6));
	cr_assert_eq(rank_of(&later.mesh), 4);
	OK(philox_context_set_mesh(f->context, &later.mesh));
	OK(philox_context_get_mesh(f->context, &back.mesh));
	same_mesh(&back.mesh, &later.mesh);
	cr_assert_eq(back.mesh.size, sizeof(back));
	cr_assert_eq(back.field, 0, "what the library does not know is 0");
	later.field = 1;
	FAILS(philox_mesh_check(&later.mesh), PHILOX_ERROR_INVALID);
	NAMES("a field that this version does not know");
	FAILS(philox_mesh_set_rank(&later.mesh, 5, 6), PHILOX_ERROR_INVALID);
	cr_assert_eq(later.mesh.axes[1].coordinate, 1);
}

/* --- a context's mesh ----------------------------------------------------- */

PROMISE(mesh, a_context_has_none_until_it_is_given_one)
{
	struct philox_mesh mesh = mesh_of("data=1/2"), back;

	back = mesh;
	OK(philox_context_get_mesh(f->context, &back));
	cr_assert_eq(back.n_axes, 0);
	cr_assert_eq(back.size, sizeof(back));
	OK(philox_mesh_check(&back));
	OK(philox_context_set_mesh(f->context, &mesh));
	OK(philox_context_get_mesh(f->context, &back));
	same_mesh(&back, &mesh);
	OK(philox_mesh_check(&back));
	back.size = sizeof(back) - 8;
	FAILS(philox_context_get_mesh(f->context, &back), PHILOX_ERROR_INVALID);
	NAMES("begin with PHILOX_INIT()");
}

PROMISE(mesh, a_context_keeps_names_of_its_own)
{
	char name[] = "data";
	struct philox_mesh mesh = mesh_of("x=1/2 stage=0/5"), back;

	mesh.axes[0].name = name;
	mesh.axes[1].flags = PHILOX_AXIS_STAGES;
	back = mesh;
	OK(philox_context_set_mesh(f->context, &mesh));
	strcpy(name, "rest");
	OK(philox_context_get_mesh(f->context, &back));
	cr_assert_str_eq(back.axes[0].name, "data");
	cr_assert_neq(back.axes[0].name, name);
	strcpy(name, "data");
	same_mesh(&back, &mesh);
}

PROMISE(mesh, another_takes_its_place_before_the_first_pass)
{
	struct philox_mesh one = mesh_of("data=1/2 tensor=0/2");
	struct philox_mesh other = mesh_of("tensor=3/4"), back = one;
	struct philox_mesh none = PHILOX_INIT(struct philox_mesh);

	OK(philox_context_set_mesh(f->context, &one));
	OK(philox_context_set_mesh(f->context, &other));
	OK(philox_context_get_mesh(f->context, &back));
	same_mesh(&back, &other);
	OK(philox_context_set_mesh(f->context, &back)); /* with its own names */
	OK(philox_context_get_mesh(f->context, &back));
	same_mesh(&back, &other);
	OK(philox_context_set_mesh(f->context, &none));
	OK(philox_context_get_mesh(f->context, &back));
	cr_assert_eq(back.n_axes, 0);
}

PROMISE(mesh, a_context_that_has_drawn_keeps_the_one_it_has)
{
	struct philox_mesh mesh = mesh_of("data=1/2"), back = mesh;
	struct philox_mesh other = mesh_of("data=0/2");
	struct philox_region *region;

	OK(philox_context_set_mesh(f->context, &mesh));
	region = make_region(f, "layer");
	forward(f, region);
	SAYS(philox_context_set_mesh(f->context, &other), PHILOX_ERROR_STATE,
	     "region 'layer' has begun a pass: the context's mesh cannot change "
	     "any more");
	OK(philox_region_destroy(region));
	/* It may be made again, and would draw the numbers of another place */
	FAILS(philox_context_set_mesh(f->context, &other), PHILOX_ERROR_STATE);
	NAMES("region 'layer'");
	OK(philox_context_get_mesh(f->context, &back));
	same_mesh(&back, &mesh);
}

/* Neither generators nor tables of rows are made for a place. */
PROMISE(mesh, generators_and_rows_may_come_first)
{
	struct philox_mesh mesh = mesh_of("data=1/2");
	struct philox_generator *generator;
	struct philox_rows_desc options = PHILOX_INIT(struct philox_rows_desc);
	struct philox_rows *rows;

	options.name = "rows";
	options.count = 4;
	OK(philox_generator_create(f->context, 5, &generator));
	OK(philox_rows_create(f->context, &options, &rows));
	OK(philox_context_set_mesh(f->context, &mesh));
	OK(philox_rows_destroy(rows));
}

GRAPH_PROMISE(mesh, is_set_and_asked_for_during_capture)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_mesh mesh = mesh_of("data=1/2"), back = mesh;
	struct philox_context *other;

	OK(philox_context_create(f->device, &other));
	record_begin(f);
	captured_forward(f, region, PHILOX_PASS_INFERENCE, f->scratch);
	OK(philox_mesh_check(&mesh));
	OK(philox_mesh_set_rank(&mesh, 1, 2));
	OK(philox_context_set_mesh(other, &mesh));
	OK(philox_context_get_mesh(other, &back));
	same_mesh(&back, &mesh);
	OK(philox_graph_destroy(record_end(f)));
	philox_context_destroy(other);
}
