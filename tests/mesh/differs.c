/*
 * tests/mesh/differs.c - regions that differ along axes, against a derivation
 * that is written from philox/mesh.h alone (tests/support/ranks/mesh.c)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/ranks/mesh.h"

static struct philox_generator *default_of(struct fixture *f)
{
	return philox_context_generator(f->context);
}

static void in_mesh(struct fixture *f, const struct philox_mesh *mesh,
		    uint64_t seed)
{
	OK(philox_context_set_mesh(f->context, mesh));
	OK(philox_generator_seed(default_of(f), seed));
}

/* A context of its own for a moment. */
static struct philox_context *step_out(struct fixture *f)
{
	struct philox_context *own = f->context;

	OK(philox_context_create(f->device, &f->context));
	return own;
}

static void step_back(struct fixture *f, struct philox_context *own)
{
	OK(philox_device_synchronize(f->device));
	philox_context_destroy(f->context);
	f->context = own;
}

static uint64_t seed_of(struct fixture *f, struct philox_region *region)
{
	struct philox_pass pass;
	uint64_t seed;

	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_WARMUP, &pass));
	seed = pass.state.seed;
	OK(philox_pass_abort(&pass));
	return seed;
}

#define SEED_IS(f, region, expected)                                         \
	do {                                                                 \
		uint64_t seed_ = seed_of(f, region), expected_ = (expected); \
		cr_assert(seed_ == expected_,                                \
			  "the seed is %016" PRIx64 ", not %016" PRIx64,     \
			  seed_, expected_);                                 \
	} while (0)

/* --- the formula ---------------------------------------------------------- */

PROMISE(differs, each_place_of_a_mesh_has_the_seed_that_the_formula_gives)
{
	uint64_t random = 1;

	for (int round = 0; round < 60; round++) {
		struct philox_mesh mesh = random_mesh(&random, 30);
		struct along along = random_along(&random, &mesh);
		uint64_t seed = bed_random(&random);

		do {
			struct philox_context *own = step_out(f);
			struct philox_region *region;

			in_mesh(f, &mesh, seed);
			region = make_along(f->context, "noise", &along);
			SEED_IS(f, region,
				model_region(seed, "noise", &mesh, &along));
			step_back(f, own);
		} while (next_place(&mesh));
	}
}

PROMISE(differs, its_operators_draw_from_that_seed)
{
	const struct along along = {{"tensor", "data"}, 2};
	struct philox_mesh mesh = mesh_of("data=3/4 tensor=1/2");
	struct philox_region *region;
	uint64_t seed = model_region(42, "noise", &mesh, &along);
	struct forward first, second;

	in_mesh(f, &mesh, 42);
	region = make_along(f->context, "noise", &along);
	first = forward(f, region);
	second = forward(f, region);
	SAME(first.saw, model_numbers(seed, 0), "the first forward");
	SAME(second.saw, model_numbers(seed, 4), "the second forward");
	backward(f, &second, 0);
	backward(f, &first, 0);
	SAME(model_numbers(model_region(42, "noise", NULL, &along), 0),
	     predict(42, "noise", 0), "the two models are one without a mesh");
}

/* By the bytes of the names: "ab" after "a b", 0xc3 after "~". */
PROMISE(differs, the_order_of_axes_changes_nothing)
{
	uint64_t random = 2;

	for (int round = 0; round < 60; round++) {
		struct philox_mesh mesh = random_mesh(&random, 1u << 20);
		struct philox_mesh other = shuffled(&random, &mesh);
		struct along along = random_along(&random, &mesh);
		struct along turned = {.n = along.n};
		struct philox_context *own = step_out(f);
		uint64_t seeds[2];

		for (uint32_t i = 0; i < mesh.n_axes; i++) {
			uint32_t at = bed_below(&random, mesh.axes[i].n_ranks);

			for (uint32_t k = 0; k < mesh.n_axes; k++)
				if (!strcmp(other.axes[k].name,
					    mesh.axes[i].name))
					other.axes[k].coordinate = at;
			mesh.axes[i].coordinate = at;
		}
		for (size_t i = 0; i < along.n; i++)
			turned.names[i] = along.names[along.n - 1 - i];
		in_mesh(f, &mesh, 7);
		seeds[0] = seed_of(f, make_along(f->context, "x", &along));
		step_back(f, own);
		own = step_out(f);
		in_mesh(f, &other, 7);
		seeds[1] = seed_of(f, make_along(f->context, "x", &turned));
		step_back(f, own);
		cr_assert_eq(seeds[0], seeds[1], "round %d", round);
		cr_assert_eq(seeds[0], model_region(7, "x", &mesh, &along));
	}
}

PROMISE(differs, coordinate_0_has_the_numbers_of_a_single_process)
{
	const struct along along = {{"data", "tensor"}, 2};
	struct philox_mesh mesh = mesh_of("tensor=0/8 pipeline=3/4 data=0/2");

	in_mesh(f, &mesh, 9);
	SAME(forward(f, make_along(f->context, "noise", &along)).saw,
	     predict(9, "noise", 0), "coordinate 0 of each");
}

/* It is no axis of the region's: along it, all ranks have the same. */
PROMISE(differs, along_its_own_axes_only)
{
	const struct along along = {{"data"}, 1}, none = {{0}, 0};
	uint64_t seeds[2];

	for (int i = 0; i < 2; i++) {
		struct philox_context *own = step_out(f);
		struct philox_mesh mesh =
			mesh_of(i ? "data=1/2 tensor=7/8" : "data=1/2");

		in_mesh(f, &mesh, 9);
		seeds[i] = seed_of(f, make_along(f->context, "noise", &along));
		SEED_IS(f, make_along(f->context, "mask", &none),
			model_region(9, "mask", NULL, &none));
		step_back(f, own);
	}
	cr_assert_eq(seeds[0], seeds[1]);
}

PROMISE(differs, without_a_mesh_any_names_change_nothing)
{
	const struct along along = {{"zebra", "any", "axis"}, 3};

	OK(philox_generator_seed(default_of(f), 9));
	SAME(forward(f, make_along(f->context, "noise", &along)).saw,
	     predict(9, "noise", 0), "without a mesh");
}

PROMISE(differs, along_an_axis_of_size_1_nothing_changes)
{
	const struct along along = {{"data"}, 1};
	struct philox_mesh mesh = mesh_of("data=0/1 tensor=1/2");

	in_mesh(f, &mesh, 9);
	SAME(forward(f, make_along(f->context, "noise", &along)).saw,
	     predict(9, "noise", 0), "size 1");
}

PROMISE(differs, no_number_depends_on_a_size)
{
	static const char *const meshes[] = {
		"data=1/2 tensor=2/3", "data=1/64 tensor=2/3",
		"data=1/2 tensor=2/67108864", "data=1/65536 tensor=2/65536",
		"data=1/2 tensor=2/3 more=0/7"};
	const struct along along = {{"data", "tensor"}, 2};
	uint64_t first = 0;

	for (size_t i = 0; i < sizeof(meshes) / sizeof(meshes[0]); i++) {
		struct philox_context *own = step_out(f);
		struct philox_mesh mesh = mesh_of(meshes[i]);
		uint64_t seed;

		in_mesh(f, &mesh, 11);
		seed = seed_of(f, make_along(f->context, "noise", &along));
		first = i ? first : seed;
		cr_assert_eq(seed, first, "%s", meshes[i]);
		step_back(f, own);
	}
}

Test(differs, coordinates_of_32_bits_have_planes_of_their_own)
{
	static const uint32_t at[] = {1,     2,        255,       256,
				      65536, 1u << 31, UINT32_MAX};
	const uint64_t axis = fnv1a("data");

	cr_assert_eq(philox_axis_seed(5, axis, 0), 5);
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		cr_assert_eq(
			philox_axis_seed(5, axis, at[i]),
			model_fold(5, 0x8000000000000007 | (uint64_t)at[i] << 8,
				   axis),
			"coordinate %" PRIu32, at[i]);
}

/* --- the life of a region ------------------------------------------------- */

static const struct along both = {{"tensor", "data"}, 2};

static struct philox_region *make_noise(struct fixture *f)
{
	return make_along(f->context, "noise", &both);
}

static struct philox_mesh place(void)
{
	return mesh_of("data=2/3 tensor=1/2");
}

static uint64_t noise(uint64_t seed, const struct philox_mesh *mesh)
{
	return model_region(seed, "noise", mesh, &both);
}

static struct numbers of(uint64_t seed, uint64_t offset)
{
	struct philox_mesh mesh = place();

	return model_numbers(noise(seed, &mesh), offset);
}

PROMISE(differs, a_new_seed_is_folded_anew)
{
	struct philox_mesh mesh = place();
	struct philox_region *region;
	struct philox_state state = {13, 40};
	struct forward old;

	in_mesh(f, &mesh, 1);
	region = make_noise(f);
	old = forward(f, region);
	OK(philox_generator_seed(default_of(f), 2));
	SAME(forward(f, region).saw, of(2, 0), "seeded");
	OK(philox_generator_fold(default_of(f), 3));
	SAME(forward(f, region).saw,
	     of(model_fold(2, 0x8000000000000003, 3), 0), "folded");
	OK(philox_generator_set_state(default_of(f), state));
	SAME(forward(f, region).saw, of(13, 0), "set");
	state.offset = 80;
	OK(philox_generator_set_state(default_of(f), state));
	SAME(forward(f, region).saw, of(13, 4), "set under the same seed");
	OK(philox_generator_advance(default_of(f), 400, NULL));
	SAME(forward(f, region).saw, of(13, 8), "advanced");
	backward(f, &old, 0); /* with the numbers it had */
}

PROMISE(differs, another_generator_is_folded_too)
{
	struct philox_op_desc op = {.name = "only"};
	struct philox_region_desc options =
		PHILOX_INIT(struct philox_region_desc);
	struct philox_mesh mesh = place();
	struct philox_region *region;

	in_mesh(f, &mesh, 1);
	OK(philox_generator_create(f->context, 99, &options.generator));
	options.name = "noise";
	options.ops = &op;
	options.n_ops = 1;
	options.differs = both.names;
	options.n_differs = both.n;
	OK(philox_region_create(f->context, &options, &region));
	SEED_IS(f, region, noise(99, &mesh));
}

/* The name keeps its offset whatever it differs along. */
PROMISE(differs, a_region_made_again_goes_on_where_it_was)
{
	static const struct along ways[] = {{{"data", "tensor"}, 2},
					    {{"data"}, 1},
					    {{0}, 0},
					    {{"tensor"}, 1},
					    {{0}, 0},
					    {{"tensor", "data"}, 2}};
	struct philox_mesh mesh = place();
	uint64_t offset = 0;

	in_mesh(f, &mesh, 5);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct philox_region *region =
			make_along(f->context, "noise", &ways[i]);

		SAME(forward_numbers(f, region, PHILOX_PASS_INFERENCE),
		     model_numbers(model_region(5, "noise", &mesh, &ways[i]),
				   offset),
		     "life %zu", i);
		offset += 4;
		OK(philox_region_destroy(region));
	}
	OK(philox_generator_seed(default_of(f), 6)); /* the name is not alive */
	SAME(forward_numbers(f, make_noise(f), PHILOX_PASS_INFERENCE), of(6, 0),
	     "after a new seed");
}

/* Names and order are copied: the caller's array may go. */
PROMISE(differs, the_names_are_copied)
{
	struct philox_mesh mesh = place();
	char data[] = "data", tensor[] = "tensor";
	const char *names[] = {tensor, data};
	struct philox_region *region;

	in_mesh(f, &mesh, 5);
	OK(try_along(f->context, "noise", 0, names, 2, &region));
	data[0] = tensor[0] = 'x';
	names[0] = names[1] = NULL;
	SEED_IS(f, region, noise(5, &mesh));
	OK(philox_generator_seed(default_of(f), 6));
	SEED_IS(f, region, noise(6, &mesh));
}

PROMISE(differs, a_loaded_one_goes_on_with_its_own_numbers)
{
	struct philox_mesh mesh = place();
	struct philox_region *region;
	struct forward first;
	char *text;
	size_t size;

	in_mesh(f, &mesh, 5);
	region = make_noise(f);
	first = forward(f, region);
	forward(f, region);
	OK(philox_context_save_text(f->context, &text, &size));
	philox_context_destroy(f->context);
	OK(philox_context_create(f->device, &f->context));
	in_mesh(f, &mesh, 77);
	region = make_noise(f);
	OK(philox_context_load_text(f->context, text, size));
	SAME(forward(f, region).saw, of(5, 8), "the next forward");
	SAME(backward_numbers(f, region, first.ticket, 0), first.saw,
	     "a ticket of before");
	OK(philox_generator_seed(default_of(f), 6));
	SAME(forward(f, region).saw, of(6, 0), "seeded after the load");
	free(text);
}

/* --- what is refused ------------------------------------------------------ */

PROMISE(differs, what_cannot_be_is_refused_by_name)
{
	struct philox_mesh mesh = place();
	struct philox_region *region = NULL;
	const char *names[9] = {"data", "tensor", "a", "b", "c",
				"d",    "e",      "f", "g"};

	for (int with_mesh = 0; with_mesh < 2; with_mesh++) {
		if (with_mesh)
			OK(philox_context_set_mesh(f->context, &mesh));
		SAYS(try_along(f->context, "noise", 0, names, 9, &region),
		     PHILOX_ERROR_INVALID,
		     "region 'noise': n_differs is 9, above 8");
		SAYS(try_along(f->context, "noise", 0, NULL, 1, &region),
		     PHILOX_ERROR_INVALID, "region 'noise': differs is NULL");
		SAYS(try_along(f->context, "noise", 0,
			       (const char *[]){"data", NULL}, 2, &region),
		     PHILOX_ERROR_INVALID,
		     "region 'noise': differs[1] is NULL");
		SAYS(try_along(f->context, "noise", 0,
			       (const char *[]){"", "data"}, 2, &region),
		     PHILOX_ERROR_INVALID,
		     "region 'noise': differs[0] is empty");
		SAYS(try_along(f->context, "noise", 0,
			       (const char *[]){"data", "tensor", "data"}, 3,
			       &region),
		     PHILOX_ERROR_INVALID,
		     "region 'noise': differs names axis 'data' twice");
		SAYS(try_along(f->context, "noise", PHILOX_REGION_SHARED, names,
			       2, &region),
		     PHILOX_ERROR_INVALID,
		     "region 'noise': is PHILOX_REGION_SHARED, and is to differ along "
		     "axis 'data': it draws from its generator, which all "
		     "ranks share");
	}
	SAYS(try_along(f->context, "noise", 0, names, 3, &region),
	     PHILOX_ERROR_INVALID,
	     "region 'noise': is to differ along 'a', which is no axis of the "
	     "context's mesh (data, tensor)");
	FAILS(try_along(f->context, "noise", 0, (const char *[]){"Data"}, 1,
			&region),
	      PHILOX_ERROR_INVALID);
	NAMES("'Data'");
	cr_assert_null(region, "nothing was made");
	make_noise(f); /* and the name is free */
}

/* Options of the first version, after which there may be anything. */
PROMISE(differs, a_program_that_knows_no_axes_has_shared_regions)
{
	const struct philox_op_desc op = {.name = "only"};
	struct philox_mesh mesh = place();
	struct philox_region_desc options = {
		.size = offsetof(struct philox_region_desc, differs),
		.name = "noise",
		.ops = &op,
		.n_ops = 1};
	struct philox_region *region;

	memset(&options.differs, 0xff, sizeof(options.differs));
	options.n_differs = 2;
	in_mesh(f, &mesh, 5);
	OK(philox_region_create(f->context, &options, &region));
	SEED_IS(f, region, model_region(5, "noise", NULL, &both));
}

/* A shared region that names no axes is as it was. */
PROMISE(differs, shared_regions_draw_the_same_on_all_ranks)
{
	struct philox_mesh mesh = place();
	struct philox_region *region;
	struct numbers alone;
	struct philox_context *own = step_out(f);

	OK(philox_generator_seed(default_of(f), 5));
	OK(try_along(f->context, "x", PHILOX_REGION_SHARED, NULL, 0, &region));
	alone = forward_numbers(f, region, PHILOX_PASS_INFERENCE);
	step_back(f, own);
	in_mesh(f, &mesh, 5);
	OK(try_along(f->context, "x", PHILOX_REGION_SHARED, NULL, 0, &region));
	SAME(forward_numbers(f, region, PHILOX_PASS_INFERENCE), alone,
	     "SHARED");
}

/* A mesh whose names are long is named as far as there is room. */
PROMISE(differs, a_message_names_long_axes_in_part)
{
	char names[PHILOX_MESH_AXES][100];
	struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);
	struct philox_region *region;

	mesh.n_axes = PHILOX_MESH_AXES;
	for (int i = 0; i < PHILOX_MESH_AXES; i++) {
		memset(names[i], 'a' + i, sizeof(names[i]));
		names[i][sizeof(names[i]) - 1] = '\0';
		mesh.axes[i].name = names[i];
		mesh.axes[i].n_ranks = 1;
	}
	OK(philox_context_set_mesh(f->context, &mesh));
	FAILS(try_along(f->context, "noise", 0, (const char *[]){"none"}, 1,
			&region),
	      PHILOX_ERROR_INVALID);
	NAMES("is to differ along 'none'");
	NAMES("aaaaaaaa, bbbbbbb");
}

/* --- tables of rows ------------------------------------------------------- */

static struct philox_state row_state(struct fixture *f, uint32_t row)
{
	struct philox_rows_desc options = PHILOX_INIT(struct philox_rows_desc);
	struct philox_state state;
	struct philox_rows *rows;

	options.name = "requests";
	options.count = 8;
	OK(philox_rows_create(f->context, &options, &rows));
	OK(philox_rows_get(rows, f->stream, row, 1, &state));
	OK(philox_stream_synchronize(f->device, f->stream));
	OK(philox_rows_destroy(rows));
	return state;
}

PROMISE(differs, rows_of_a_table_are_the_same_on_all_ranks)
{
	struct philox_mesh mesh = place();
	struct philox_state alone, there;
	struct philox_context *own = step_out(f);

	OK(philox_generator_seed(default_of(f), 5));
	alone = row_state(f, 3);
	step_back(f, own);
	in_mesh(f, &mesh, 5);
	make_noise(f);
	there = row_state(f, 3);
	cr_assert(alone.seed == there.seed && alone.offset == there.offset);
}
