/*
 * tests/ledger/set_state.c - a generator's state is put back and forth
 *
 * The state of a generator is taken before a forward, set for its recompute,
 * and set back. Regions with keys of their own go on as if nothing had been
 * done; SHARED ones draw from the generator and follow it.
 */
#include "tests/support/support.h"

enum { SHARED_WORDS = 20 }; /* of a forward of make_of() */

static struct philox_generator *default_of(struct fixture *f)
{
	return philox_context_generator(f->context);
}

static struct philox_state get(struct fixture *f)
{
	struct philox_state state;

	OK(philox_generator_get_state(default_of(f), &state));
	return state;
}

static void set(struct fixture *f, struct philox_state state)
{
	OK(philox_generator_set_state(default_of(f), state));
}

static struct philox_region *make_of(struct fixture *f, uint32_t flags)
{
	struct philox_op_desc ops[OPS] = {{.name = "first"},
					  {.name = "twice", .calls = 2},
					  {.name = "wide", .advance = 8}};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "layer",
					     .ops = ops,
					     .n_ops = OPS,
					     .flags = flags};
	struct philox_region *region;

	OK(philox_region_create(f->context, &options, &region));
	return region;
}

/* A forward and a recompute, each eager or of a graph. */
struct way {
	struct philox_graph *forth, *again; /* NULL: eager */
	uint32_t *array;
};

static struct forward go_forward(struct fixture *f, const struct way *way,
				 struct philox_region *region)
{
	return way->forth ? launch_forward(f, way->forth, region, way->array)
			  : forward(f, region);
}

static void recompute(struct fixture *f, const struct way *way,
		      const struct forward *of)
{
	if (way->again)
		launch_backward(f, way->again, of, PHILOX_PASS_RETAIN,
				way->array);
	else
		backward(f, of, PHILOX_PASS_RETAIN);
}

/* get, forward, set(old), recompute, set(back), forward */
static void back_and_forth(struct fixture *f, const struct way *way,
			   uint32_t flags)
{
	struct philox_region *region = make_of(f, flags);
	struct philox_state old, back;
	struct forward first, second;
	struct way used = {0};

	if (way) {
		used.array = make_array(f);
		used.forth = record_forward(f, region, 0, used.array);
		used.again = record_backward(f, region, used.array);
	}
	set(f, (struct philox_state){11, 400});
	old = get(f);
	first = go_forward(f, &used, region);
	back = get(f);
	cr_assert_eq(back.offset,
		     old.offset +
			     (flags & PHILOX_REGION_SHARED ? SHARED_WORDS : 0));
	set(f, old);
	recompute(f, &used, &first);
	set(f, back);
	second = go_forward(f, &used, region);
	FRESH(second.saw, first.saw, "no number is drawn twice");
	cr_assert_eq(second.ticket.serial, first.ticket.serial + 1);
	if (!(flags & PHILOX_REGION_SHARED)) {
		SAME(first.saw, predict(11, "layer", 0), "first");
		SAME(second.saw, predict(11, "layer", 8), "second");
	}
	backward(f, &first, 0);
	backward(f, &second, 0);
	if (way) {
		OK(philox_graph_destroy(used.forth));
		OK(philox_graph_destroy(used.again));
	}
	OK(philox_region_destroy(region));
}

PROMISE(set_state, back_and_forth_repeats_nothing)
{
	back_and_forth(f, NULL, 0);
}

PROMISE(set_state, back_and_forth_repeats_nothing_in_shared_regions)
{
	back_and_forth(f, NULL, PHILOX_REGION_SHARED);
}

GRAPH_PROMISE(set_state, back_and_forth_repeats_nothing_in_graphs)
{
	struct way captured = {0};

	back_and_forth(f, &captured, 0);
	back_and_forth(f, &captured, PHILOX_REGION_SHARED);
}

PROMISE(set_state, under_the_present_seed_regions_go_on)
{
	struct philox_region *region = make_of(f, 0);
	struct forward first;

	OK(philox_generator_seed(default_of(f), 5));
	first = forward(f, region);
	set(f, (struct philox_state){5, 0});
	SAME(peek(f, region), predict(5, "layer", 8), "they are not restarted");
	set(f, (struct philox_state){5, 4000});
	SAME(peek(f, region), predict(5, "layer", 8), "nor moved");
	cr_assert_eq(get(f).offset, 4000);
	backward(f, &first, 0);
}

PROMISE(set_state, under_the_present_seed_shared_regions_follow)
{
	struct philox_region *region = make_of(f, PHILOX_REGION_SHARED);
	struct philox_state old;
	struct forward first, again;

	OK(philox_generator_seed(default_of(f), 5));
	old = get(f);
	first = forward(f, region);
	set(f, old);
	again = forward(f, region);
	SAME(again.saw, first.saw, "the same numbers by another ticket");
	cr_assert_neq(again.ticket.serial, first.ticket.serial);
	backward(f, &first, 0);
	backward(f, &again, 0);
}

PROMISE(set_state, another_seed_restarts_its_regions)
{
	struct philox_region *region = make_of(f, 0);

	forward(f, region);
	set(f, (struct philox_state){6, 40});
	SAME(peek(f, region), predict(6, "layer", 0), "at offset 0");
	forward(f, region);
	set(f, (struct philox_state){0, 0});
	SAME(peek(f, region), predict(0, "layer", 0), "again");
}

PROMISE(set_state, seeding_restarts_them_under_any_seed)
{
	struct philox_region *region = make_of(f, 0);

	forward(f, region);
	OK(philox_generator_seed(default_of(f), 0));
	SAME(peek(f, region), predict(0, "layer", 0), "the seed it had");
}
