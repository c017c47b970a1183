/*
 * tests/mesh/memory.c - what a rank takes to be set up, and what happens when
 * there is no memory for it
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/allocations.h"
#include "tests/support/ranks/mesh.h"

static const struct along along = {{"tensor", "data"}, 2};

/* A simulated GPU allocates memory in its own ways. */
#define ON_HOST(name)                           \
	static void name(struct fixture *f);    \
	Test(mesh_memory, name)                 \
	{                                       \
		unsetenv("PHILOX_TEST_DEVICE"); \
		on_host_devices(name);          \
	}                                       \
	static void name(struct fixture *f)

struct cost {
	uint64_t allocations, bytes, calls;
	struct numbers saw;
};

/* A context, its mesh, some regions, and a first forward of each. */
static struct cost set_up(struct fixture *f, const char *place)
{
	struct philox_mesh mesh = mesh_of(place);
	struct philox_context *own = f->context;
	struct cost before = {
		.allocations = allocations(),
		.bytes = allocated_bytes(),
		.calls = philox_device_call_count(f->device, NULL)};
	struct cost cost;

	OK(philox_context_create(f->device, &f->context));
	OK(philox_context_set_mesh(f->context, &mesh));
	for (int i = 0; i < 24; i++) {
		char name[16];

		snprintf(name, sizeof(name), "layer %d", i);
		cost.saw = forward(f, make_along(f->context, name, &along)).saw;
	}
	cost.allocations = allocations() - before.allocations;
	cost.bytes = allocated_bytes() - before.bytes;
	cost.calls = philox_device_call_count(f->device, NULL) - before.calls;
	philox_context_destroy(f->context);
	f->context = own;
	return cost;
}

ON_HOST(to_set_a_rank_up_costs_the_same_in_any_world)
{
	struct cost two, many;

	allocations_watch(f->device);
	set_up(f, "data=1/2 tensor=0/1 pipeline=0/1"); /* what comes once */
	two = set_up(f, "data=1/2 tensor=0/1 pipeline=0/1");
	many = set_up(f, "data=1/128 tensor=0/8 pipeline=0/16");
	cr_assert_gt(two.allocations, 24);
	cr_assert_gt(two.bytes, 24 * 64);
	cr_assert_eq(two.allocations, many.allocations,
		     "%" PRIu64 " and %" PRIu64 " allocations", two.allocations,
		     many.allocations);
	cr_assert_eq(two.bytes, many.bytes, "%" PRIu64 " and %" PRIu64 " bytes",
		     two.bytes, many.bytes);
	cr_assert_eq(two.calls, many.calls);
	SAME(two.saw, many.saw, "and the numbers are the same");
}

/* The largest world that there is, and a rank in the middle of it. */
ON_HOST(a_world_of_2_to_the_32_is_set_up_like_any)
{
	struct cost two, most;

	allocations_watch(f->device);
	set_up(f, "data=1/2 tensor=1/2 pipeline=0/1");
	two = set_up(f, "data=1/2 tensor=1/2 pipeline=0/1");
	most = set_up(f, "data=9/65536 tensor=7/256 pipeline=77/256");
	cr_assert_eq(two.allocations, most.allocations);
	cr_assert_eq(two.bytes, most.bytes);
	FRESH(two.saw, most.saw, "another place");
}

/* --- no memory ------------------------------------------------------------ */

static void has_mesh(struct fixture *f, uint32_t n_axes, const char *first)
{
	struct philox_mesh back = PHILOX_INIT(struct philox_mesh);

	OK(philox_context_get_mesh(f->context, &back));
	cr_assert_eq(back.n_axes, n_axes);
	cr_assert(!n_axes || !strcmp(back.axes[0].name, first));
}

PROMISE(mesh_memory, a_mesh_that_there_is_no_memory_for_is_not_set)
{
	struct philox_mesh one = mesh_of("data=1/2");
	struct philox_mesh mesh = mesh_of("a=1/2 b=0/2 c=1/2");
	uint64_t n;

	OK(philox_context_set_mesh(f->context, &one));
	for (n = 1; allocations_fail(n); n++) {
		enum philox_status status =
			philox_context_set_mesh(f->context, &mesh);

		if (status == PHILOX_OK)
			break;
		cr_assert_eq(status, PHILOX_ERROR_MEMORY);
		NAMES("no memory for a mesh of 3 axes");
		has_mesh(f, 1, "data");
	}
	if (!allocations_fail(0))
		return; /* a sanitizer has malloc(), which cannot fail */
	cr_assert_eq(n, 4, "a name each, not %d", (int)n);
	has_mesh(f, 3, "a");
}

PROMISE(mesh_memory, a_region_that_there_is_no_memory_for_is_not_made)
{
	struct philox_mesh mesh = mesh_of("data=1/2 tensor=1/3");
	struct philox_region *region = NULL;
	uint64_t n;
	unsigned named = 0;

	OK(philox_context_set_mesh(f->context, &mesh));
	for (n = 1; allocations_fail(n); n++) {
		enum philox_status status = try_along(f->context, "noise", 0,
						      along.names, 2, &region);

		if (status == PHILOX_OK)
			break;
		cr_assert_eq(status, PHILOX_ERROR_MEMORY);
		cr_assert_null(region);
		named += strstr(philox_error_message(),
				"no memory for the axes of region 'noise'") !=
			 NULL;
	}
	if (!allocations_fail(0))
		return;
	cr_assert_eq(named, 3, "the list, and each name, not %u of %d", named,
		     (int)n);
	SAME(forward(f, region).saw,
	     model_numbers(model_region(0, "noise", &mesh, &along), 0),
	     "made in the end");
}
