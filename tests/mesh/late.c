/*
 * tests/mesh/late.c - a mesh that comes after the regions: until the first pass
 * begins it is as if it had been there before them
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/allocations.h"
#include "tests/support/ranks/mesh.h"

static const struct along none = {{NULL}, 0}, data = {{"data"}, 1};
static const struct along both = {{"tensor", "data"}, 2};

static void same_place_as(struct fixture *f, const struct philox_mesh *mesh)
{
	struct philox_mesh back = PHILOX_INIT(struct philox_mesh);

	OK(philox_context_get_mesh(f->context, &back));
	cr_assert_eq(back.n_axes, mesh->n_axes);
	for (uint32_t i = 0; i < mesh->n_axes; i++) {
		cr_assert_str_eq(back.axes[i].name, mesh->axes[i].name);
		cr_assert_eq(back.axes[i].coordinate, mesh->axes[i].coordinate);
	}
}

static struct philox_generator *default_of(struct fixture *f)
{
	return philox_context_generator(f->context);
}

static char *text_of(struct fixture *f)
{
	char *text;

	OK(philox_context_save_text(f->context, &text, NULL));
	return text;
}

/* --- until the first pass --------------------------------------------------- */

/* By the formula, whichever of mesh, seed and regions comes first. */
PROMISE(late_mesh, regions_have_the_numbers_of_the_last_mesh)
{
	const struct philox_mesh first = mesh_of("data=0/2 tensor=1/3");
	const struct philox_mesh mesh = mesh_of("tensor=2/3 data=1/2");
	struct philox_region *plain = make_along(f->context, "plain", &none);
	struct philox_region *noise = make_along(f->context, "noise", &both);
	struct philox_region *some;

	OK(philox_context_set_mesh(f->context, &first));
	OK(philox_generator_seed(default_of(f), 5));
	some = make_along(f->context, "some", &data);
	OK(philox_context_set_mesh(f->context, &mesh));
	same_place_as(f, &mesh);
	for (uint64_t i = 0; i < 3; i++) {
		SAME(forward(f, plain).saw, predict(5, "plain", 4 * i),
		     "it is shared");
		SAME(forward(f, noise).saw,
		     model_numbers(model_region(5, "noise", &mesh, &both),
				   4 * i),
		     "it differs along both axes");
		SAME(forward(f, some).saw,
		     model_numbers(model_region(5, "some", &mesh, &data),
				   4 * i),
		     "it differs along one axis");
	}
}

enum { REGIONS = 5 };

static void make_all(struct fixture *f, const struct along *along)
{
	for (int i = 0; i < REGIONS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "region %d", i);
		make_along(f->context, name, &along[i]);
	}
}

/* The mesh is set after `at` of the regions, and after others. */
static char *text_with(struct fixture *f, const struct philox_mesh *mesh,
		       const struct along *along, int first)
{
	struct philox_context *own = f->context;
	struct philox_generator *generator;
	struct philox_region *dead;
	char *text;

	OK(philox_context_create(f->device, &f->context));
	if (first)
		OK(philox_context_set_mesh(f->context, mesh));
	OK(philox_generator_create(f->context, 1, &generator));
	dead = make_region_of(f->context, "dead", 0, generator);
	OK(philox_region_destroy(dead));
	OK(philox_generator_destroy(generator));
	make_all(f, along);
	if (!first)
		OK(philox_context_set_mesh(f->context, mesh));
	forward(f, make_region(f, "last"));
	text = text_of(f);
	philox_context_destroy(f->context);
	f->context = own;
	return text;
}

PROMISE(late_mesh, a_context_is_as_if_it_had_come_first)
{
	uint64_t random = 3;

	for (int round = 0; round < 40; round++) {
		struct philox_mesh mesh = random_mesh(&random, 30);
		struct along along[REGIONS];
		char *before, *after;

		for (int i = 0; i < REGIONS; i++)
			along[i] = random_along(&random, &mesh);
		for (uint32_t skip = bed_below(&random, 20); skip; skip--)
			next_place(&mesh);
		before = text_with(f, &mesh, along, 1);
		after = text_with(f, &mesh, along, 0);
		cr_assert_str_eq(after, before, "%s\nis not\n%s", after,
				 before);
		free(before);
		free(after);
	}
}

/* What is of no place, and what did not begin. */
PROMISE(late_mesh, other_draws_and_failures_do_not_settle_it)
{
	const struct philox_mesh mesh = mesh_of("data=1/2");
	struct philox_rows_desc options = PHILOX_INIT(struct philox_rows_desc);
	struct philox_region *region = make_along(f->context, "noise", &data);
	uint32_t *array = make_array(f);
	struct philox_rows *rows;
	struct philox_pass pass;
	uint64_t digest;

	options.name = "rows";
	options.count = 1;
	OK(philox_rows_create(f->context, &options, &rows));
	OK(philox_generator_advance(default_of(f), 8, NULL));
	OK(philox_generator_seed(default_of(f), 5));
	OK(philox_context_digest(f->context, &digest));
	free(text_of(f));
	FAILS(philox_forward_begin(region, NULL, 0x1000, &pass),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_backward_begin(region, NULL,
				    (struct philox_ticket){fnv1a("noise"), 1},
				    0, &pass),
	      PHILOX_ERROR_RELEASED);
	record_begin(f);
	OK(philox_memory_copy(f->device, f->stream, f->scratch, array,
			      WORDS * sizeof(*array)));
	OK(philox_graph_destroy(record_end(f)));
	OK(philox_context_set_mesh(f->context, &mesh));
	SAME(forward(f, region).saw,
	     model_numbers(model_region(5, "noise", &mesh, &data), 0),
	     "it was not too late");
}

/* --- from the first pass on -------------------------------------------------- */

static void is_settled(struct fixture *f, const struct philox_mesh *mesh)
{
	const struct philox_mesh other = mesh_of("data=0/2");

	SAYS(philox_context_set_mesh(f->context, &other), PHILOX_ERROR_STATE,
	     "region 'noise' has begun a pass: the context's mesh cannot change "
	     "any more");
	FAILS(philox_context_set_mesh(f->context, mesh), PHILOX_ERROR_STATE);
	same_place_as(f, mesh);
}

static void settles(struct fixture *f,
		    void (*pass)(struct fixture *f,
				 struct philox_region *region))
{
	const struct philox_mesh mesh = mesh_of("data=1/2");
	struct philox_context *own = f->context;
	struct philox_region *region;

	OK(philox_context_create(f->device, &f->context));
	make_region(f, "before");
	region = make_along(f->context, "noise", &data);
	OK(philox_context_set_mesh(f->context, &mesh));
	pass(f, region);
	is_settled(f, &mesh);
	OK(philox_region_destroy(region));
	is_settled(f, &mesh); /* its name has numbers of that place */
	forward(f, make_region(f, "after"));
	is_settled(f, &mesh);
	OK(philox_device_synchronize(f->device));
	philox_context_destroy(f->context);
	f->context = own;
}

static void draw_eagerly(struct fixture *f, struct philox_region *region)
{
	forward(f, region);
}

static void abort_one(struct fixture *f, struct philox_region *region)
{
	struct philox_pass pass;

	OK(philox_forward_begin(region, f->stream, 0, &pass));
	OK(philox_pass_abort(&pass));
}

static void warm_up(struct fixture *f, struct philox_region *region)
{
	forward_numbers(f, region, PHILOX_PASS_WARMUP);
}

static void infer(struct fixture *f, struct philox_region *region)
{
	forward_numbers(f, region, PHILOX_PASS_INFERENCE);
}

static struct philox_reserve_desc reserve_of(struct philox_region **regions,
					     size_t n, uint32_t flags,
					     struct philox_state *states,
					     struct philox_ticket *tickets)
{
	return (struct philox_reserve_desc){
		.size = sizeof(struct philox_reserve_desc),
		.regions = regions,
		.n_regions = n,
		.states = states,
		.n_states = n * SITES,
		.tickets = tickets,
		.flags = flags};
}

/* One that is refused does not. */
static void reserve_one(struct fixture *f, struct philox_region *region)
{
	const struct philox_mesh mesh = mesh_of("data=1/2");
	struct philox_region *regions[] = {region, NULL};
	struct philox_state states[2 * SITES];
	struct philox_ticket tickets[2];
	struct philox_reserve_desc reserve =
		reserve_of(regions, 2, 0, states, tickets);

	FAILS(philox_context_reserve(f->context, f->stream, &reserve),
	      PHILOX_ERROR_INVALID);
	OK(philox_context_set_mesh(f->context, &mesh));
	reserve = reserve_of(regions, 1, 0, states, tickets);
	OK(philox_context_reserve(f->context, f->stream, &reserve));
}

static void reserve_for_inference(struct fixture *f,
				  struct philox_region *region)
{
	struct philox_state states[SITES];
	const struct philox_reserve_desc reserve =
		reserve_of(&region, 1, PHILOX_PASS_INFERENCE, states, NULL);

	OK(philox_context_reserve(f->context, f->stream, &reserve));
}

PROMISE(late_mesh, any_pass_settles_it)
{
	settles(f, draw_eagerly);
	settles(f, abort_one);
	settles(f, warm_up);
	settles(f, infer);
	settles(f, reserve_one);
	settles(f, reserve_for_inference);
}

static void capture_one(struct fixture *f, struct philox_region *region)
{
	const struct philox_mesh other = mesh_of("data=0/2");

	record_begin(f);
	captured_forward(f, region, PHILOX_PASS_INFERENCE, f->scratch);
	FAILS(philox_context_set_mesh(f->context, &other), PHILOX_ERROR_STATE);
	OK(philox_graph_destroy(record_end(f)));
}

GRAPH_PROMISE(late_mesh, a_captured_pass_settles_it)
{
	settles(f, capture_one);
}

/* Of whatever is in the text: it says a mesh, or that there is none. */
PROMISE(late_mesh, a_text_settles_it)
{
	const struct philox_mesh mesh = mesh_of("data=1/2");
	char *text = text_of(f);

	FAILS(philox_context_load_text(f->context, text, 3),
	      PHILOX_ERROR_INVALID);
	OK(philox_context_set_mesh(f->context, &mesh)); /* nothing was loaded */
	free(text);
	text = text_of(f);
	OK(philox_context_load_text(f->context, text, strlen(text)));
	SAYS(philox_context_set_mesh(f->context, &mesh), PHILOX_ERROR_STATE,
	     "a text was loaded, of the place that the context had: its mesh "
	     "cannot change any more");
	same_place_as(f, &mesh);
	free(text);
}

/* --- a mesh that does not fit ------------------------------------------------- */

PROMISE(late_mesh, a_region_that_it_does_not_fit_is_named)
{
	const struct philox_mesh mesh = mesh_of("data=1/2");
	const struct philox_mesh other = mesh_of("tensor=1/2 rows=0/3");
	const struct philox_mesh alone = mesh_of("");
	struct philox_region *noise;
	char *before, *after;

	OK(philox_context_set_mesh(f->context, &mesh));
	noise = make_along(f->context, "noise", &data);
	make_region(f, "layer");
	before = text_of(f);
	SAYS(philox_context_set_mesh(f->context, &other), PHILOX_ERROR_INVALID,
	     "region 'noise': is to differ along 'data', which is no axis of "
	     "the context's mesh (tensor, rows)");
	after = text_of(f);
	cr_assert_str_eq(after, before);
	same_place_as(f, &mesh);
	free(before);
	free(after);
	OK(philox_context_set_mesh(f->context, &alone)); /* any names will do */
	SAME(forward(f, noise).saw, predict(0, "noise", 0), "without a mesh");
}

PROMISE(late_mesh, a_destroyed_region_fits_any)
{
	const struct philox_mesh mesh = mesh_of("tensor=1/2");
	const struct along tensor = {{"tensor"}, 1};

	OK(philox_region_destroy(make_along(f->context, "noise", &data)));
	OK(philox_context_set_mesh(f->context, &mesh));
	SAME(forward(f, make_along(f->context, "noise", &tensor)).saw,
	     model_numbers(model_region(0, "noise", &mesh, &tensor), 0),
	     "its name has drawn nothing");
}

PROMISE(late_mesh, regions_stay_as_they_were_if_there_is_no_memory)
{
	const struct philox_mesh one = mesh_of("tensor=0/2 data=1/2");
	const struct philox_mesh mesh = mesh_of("tensor=1/2 data=0/2");
	char *before, *after;
	uint64_t n;

	OK(philox_context_set_mesh(f->context, &one));
	make_along(f->context, "noise", &both);
	before = text_of(f);
	for (n = 1; allocations_fail(n); n++) {
		enum philox_status status =
			philox_context_set_mesh(f->context, &mesh);

		allocations_fail(0);
		if (status == PHILOX_OK)
			break;
		cr_assert_eq(status, PHILOX_ERROR_MEMORY);
		after = text_of(f);
		cr_assert_str_eq(after, before);
		free(after);
	}
	if (allocations_fail(0))
		cr_assert_eq(n, 3, "a name each, not %d", (int)n);
	free(before);
}
