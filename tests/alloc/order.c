/*
 * tests/alloc/order.c - places in an order, and lists, against plain arrays
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include "lib/containers/list.h"
#include "lib/names/names.h"
#include "lib/containers/order.h"

#define THINGS 3000

struct thing {
	struct thing *next, **link;
	size_t at;
	char name[16];
};

static uint32_t next_number(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* What an order should have: an array whose items move up. */
struct model {
	struct thing *there[THINGS];
	size_t n;
};

static void model_remove(struct model *model, size_t i)
{
	model->n--;
	memmove(&model->there[i], &model->there[i + 1],
		(model->n - i) * sizeof(model->there[0]));
}

static void compare(const struct order *order, const struct model *model)
{
	struct thing *thing;
	size_t n = 0;

	for (size_t i = 0; (thing = order_next(order, &i)); n++) {
		cr_assert_lt(n, model->n);
		cr_assert(thing == model->there[n]);
		cr_assert_eq(order_place(order, thing->at), n);
	}
	cr_assert_eq(n, model->n);
	cr_assert_eq(order->there, n);
}

Test(order, knows_how_many_that_are_there_came_before)
{
	static struct thing things[THINGS];
	static struct model model;
	struct order order = {.n = 0};
	uint32_t state = 9;
	size_t came = 0;

	/* first more come than leave, then all leave but a few, and again */
	for (int step = 0; came < THINGS; step++) {
		const int grows = step / 700 % 2 == 0;

		if (!model.n || next_number(&state) % 10 < (grows ? 8u : 2u)) {
			cr_assert(order_reserve(&order));
			order_add(&order, &things[came], &things[came].at);
			model.there[model.n++] = &things[came++];
		} else {
			const size_t i = next_number(&state) % model.n;

			order_remove(&order, model.there[i]->at);
			model_remove(&model, i);
		}
		if (step % 97 == 0)
			compare(&order, &model);
	}
	compare(&order, &model);
	order_finish(&order);
}

/* However many came before: room is that of those that were there at once. */
Test(order, keeps_no_room_for_those_that_left)
{
	struct thing things[4];
	struct order order = {.n = 0};

	for (int i = 0; i < 100000; i++) {
		if (i >= 4)
			order_remove(&order, things[i % 4].at);
		cr_assert(order_reserve(&order));
		order_add(&order, &things[i % 4], &things[i % 4].at);
	}
	cr_assert_leq(order.room, 64);
	order_finish(&order);
}

Test(order, lists_have_the_newest_first_whoever_leaves)
{
	struct thing things[5] = {{.at = 0}}, *list = NULL, *at;
	static const int left[] = {4, 2, 0};

	for (int i = 0; i < 5; i++)
		LIST_ADD(&list, &things[i]);
	for (int i = 0; i < 3; i++)
		LIST_REMOVE(&things[left[i]]);
	at = list;
	cr_assert(at == &things[3] && at->link == &list);
	cr_assert(at->next == &things[1] && at->next->link == &at->next);
	cr_assert(!at->next->next);
	LIST_REMOVE(&things[1]);
	LIST_REMOVE(&things[3]);
	cr_assert(!list);
}

static const char *name_of(const void *thing)
{
	return ((const struct thing *)thing)->name;
}

/* Under the key of another name's hash, as if both had it. */
Test(order, names_of_one_hash_are_told_apart)
{
	struct thing one = {.name = "one"}, other = {.name = "other"};
	struct map map = {.count = 0};

	cr_assert(names_reserve(&map));
	map_put(&map, names_key("other"), &one);
	cr_assert(!names_find(&map, "other", name_of));
	cr_assert(names_reserve(&map));
	map_put(&map, names_key("other"), &other);
	cr_assert(names_find(&map, "other", name_of) == &other);
	map_finish(&map);
}
