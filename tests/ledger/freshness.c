/*
 * tests/ledger/freshness.c - which numbers forwards get: none twice between two
 * seedings, and the same ones in every run with a seed
 */
#include <stdio.h>
#include "tests/support/support.h"

/* --- freshness ------------------------------------------------------------ */

PROMISE(freshness, no_two_forwards_share_numbers)
{
	struct block_set *seen = block_set_new();
	struct philox_region *regions[3];
	char name[16];

	for (unsigned i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "layer %u", i);
		regions[i] = make_region(f, name);
	}
	for (unsigned i = 0; i < 150; i++) {
		struct forward made = forward(f, regions[i % 3]);

		cr_assert_eq(block_set_add(seen, &made.saw), 0);
	}
	block_set_free(seen);
}

PROMISE(freshness, a_region_advances_by_its_largest_operator)
{
	const struct philox_op_desc ops[] = {{"small", 1, 0}, {"large", 1, 96}};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "wide",
					     .ops = ops,
					     .n_ops = 2};
	struct philox_region *region;

	OK(philox_region_create(f->context, &options, &region));
	for (unsigned i = 0; i < 4; i++) {
		struct philox_state want =
			predict_cell(0, "wide", 1, 0, 96 * i);
		struct philox_ticket ticket;
		struct philox_pass pass;
		struct philox_rng rng;

		OK(philox_forward_begin(region, f->stream, 0, &pass));
		OK(philox_pass_rng(&pass, 1, 0, &rng));
		OK(philox_pass_commit(&pass, 0, &ticket));
		cr_assert_null(rng.cell);
		cr_assert_eq(rng.state.seed, want.seed);
		cr_assert_eq(rng.state.offset, want.offset);
	}
}

PROMISE(freshness, an_aborted_forwards_numbers_are_burnt)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_ticket ticket;
	struct philox_pass pass;
	struct numbers burnt;

	OK(philox_forward_begin(region, f->stream, 0, &pass));
	draw(&pass, f->scratch);
	ticket = pass.ticket;
	PENDING(region, 1);
	OK(philox_pass_abort(&pass));
	burnt = read_numbers(f, f->scratch);
	PENDING(region, 0);
	FAILS(philox_backward_begin(region, f->stream, ticket, 0, &pass),
	      PHILOX_ERROR_RELEASED);
	FRESH(forward(f, region).saw, burnt, "burnt numbers were reissued");
}

PROMISE(freshness, the_same_seed_gives_the_same_run)
{
	struct philox_generator *root = philox_context_generator(f->context);
	struct philox_region *region = make_region(f, "layer");
	struct numbers first[6];

	for (unsigned run = 0; run < 3; run++) {
		OK(philox_generator_seed(root, 5));
		for (unsigned i = 0; i < 6; i++) {
			struct forward made = forward(f, region);

			if (run == 0)
				first[i] = made.saw;
			SAME(made.saw, first[i], "run %u, forward %u", run, i);
			backward(f, &made, 0);
		}
	}
}

PROMISE(freshness, the_order_in_which_regions_are_made_changes_nothing)
{
	struct philox_context *other;
	struct philox_region *a, *b;

	OK(philox_context_create(f->device, &other));
	b = make_region_of(other, "b", 0, NULL);
	a = make_region_of(other, "a", 0, NULL);
	SAME(forward(f, make_region(f, "a")).saw, forward(f, a).saw, "a");
	SAME(forward(f, make_region(f, "b")).saw, forward(f, b).saw, "b");
	philox_context_destroy(other);
}

PROMISE(freshness, generators_of_their_own_do_not_disturb_each_other)
{
	struct philox_generator *own;
	struct philox_region *region, *other = make_region(f, "other");
	struct forward kept;

	OK(philox_generator_create(f->context, 11, &own));
	region = make_region_of(f->context, "layer", 0, own);
	kept = forward(f, region);
	SAME(kept.saw, predict(11, "layer", 0), "seed of the own generator");
	SAME(forward(f, other).saw, predict(0, "other", 0), "default");
	OK(philox_generator_seed(own, 12));
	SAME(forward(f, region).saw, predict(12, "layer", 0), "seeded anew");
	SAME(forward(f, other).saw, predict(0, "other", 4), "undisturbed");
	backward(f, &kept, 0);
}

/* --- seeds and states ----------------------------------------------------- */

PROMISE(freshness, tickets_keep_their_numbers_over_a_new_seed)
{
	struct philox_generator *root = philox_context_generator(f->context);
	struct philox_region *region = make_region(f, "layer");
	struct forward old[3];

	for (unsigned i = 0; i < 3; i++) {
		OK(philox_generator_seed(root, 100 + i));
		old[i] = forward(f, region);
		SAME(old[i].saw, predict(100 + i, "layer", 0), "restarted");
	}
	PENDING(region, 3);
	backward(f, &old[1], PHILOX_PASS_RETAIN);
	backward(f, &old[2], 0);
	OK(philox_generator_seed(root, 100));
	backward(f, &old[0], 0);
	backward(f, &old[1], 0);
}

PROMISE(freshness, a_new_seed_reaches_forwards_after_it_only)
{
	struct philox_generator *root = philox_context_generator(f->context);
	struct philox_region *region = make_region(f, "layer");
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin(region, f->stream, 0, &pass));
	OK(philox_generator_seed(root, 9));
	draw(&pass, f->scratch);
	OK(philox_pass_commit(&pass, 0, &ticket));
	SAME(read_numbers(f, f->scratch), predict(0, "layer", 0),
	     "the open pass keeps its state");
	SAME(forward(f, region).saw, predict(9, "layer", 0), "the next");
	SAME(backward_numbers(f, region, ticket, 0), predict(0, "layer", 0),
	     "its backward");
}

PROMISE(freshness, setting_a_state_re_seeds_with_that_offset)
{
	struct philox_generator *root = philox_context_generator(f->context);
	struct philox_region *region = make_region(f, "layer");
	struct philox_state state = {21, 400}, got;
	struct forward old = forward(f, region);

	OK(philox_generator_set_state(root, state));
	OK(philox_generator_get_state(root, &got));
	cr_assert(got.seed == 21 && got.offset == 400);
	SAME(forward(f, region).saw, predict(21, "layer", 0),
	     "regions restart at offset 0 whatever the generator's offset");
	backward(f, &old, 0);
	OK(philox_generator_seed(root, 22));
	OK(philox_generator_get_state(root, &got));
	cr_assert(got.seed == 22 && got.offset == 0);
}

PROMISE(freshness, advancing_a_generator_moves_its_own_offset_only)
{
	struct philox_generator *root = philox_context_generator(f->context);
	struct philox_region *region = make_region(f, "layer");
	struct ledger_view before = look(f, region);
	struct philox_state state;

	OK(philox_generator_advance(root, 12, &state));
	cr_assert(state.seed == 0 && state.offset == 0);
	OK(philox_generator_advance(root, 4, NULL));
	OK(philox_generator_advance(root, 0, &state));
	cr_assert(state.seed == 0 && state.offset == 16);
	unchanged(f, region, &before);
}

PROMISE(freshness, a_region_made_again_goes_on_after_its_numbers)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward last = {0};
	struct forward next;
	struct philox_pass pass;

	for (unsigned i = 0; i < 3; i++)
		last = forward(f, region);
	OK(philox_region_destroy(region));
	region = make_region(f, "layer");
	PENDING(region, 0);
	FAILS(philox_backward_begin(region, f->stream, last.ticket, 0, &pass),
	      PHILOX_ERROR_RELEASED);
	next = forward(f, region);
	SAME(next.saw, predict(0, "layer", 12), "goes on");
	cr_assert(next.ticket.serial > last.ticket.serial);
	cr_assert_eq(next.ticket.region_key, last.ticket.region_key);
	FAILS(philox_backward_begin(region, f->stream, last.ticket, 0, &pass),
	      PHILOX_ERROR_RELEASED);
	backward(f, &next, 0);
}

PROMISE(freshness, a_name_without_a_region_is_seeded_anew_too)
{
	struct philox_generator *root = philox_context_generator(f->context);
	struct philox_region *region = make_region(f, "layer");
	struct forward old = forward(f, region), made;

	OK(philox_region_destroy(region));
	OK(philox_generator_seed(root, 3));
	region = make_region(f, "layer");
	made = forward(f, region);
	SAME(made.saw, predict(3, "layer", 0), "of the new run");
	cr_assert(made.ticket.serial > old.ticket.serial);
	backward(f, &made, 0);
}

/* Numbers issued under one of two could repeat when the other is seeded. */
PROMISE(freshness, a_name_stays_with_its_generator)
{
	const struct philox_op_desc op = {"only", 1, 0};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "layer",
					     .ops = &op,
					     .n_ops = 1};
	struct philox_generator *one, *other;
	struct philox_region *region, *refused = NULL;
	struct numbers seen;

	OK(philox_generator_create(f->context, 5, &one));
	OK(philox_generator_create(f->context, 7, &other));
	region = make_region_of(f->context, "layer", 0, one);
	seen = forward(f, region).saw;
	OK(philox_region_destroy(region));
	options.generator = other;
	FAILS(philox_region_create(f->context, &options, &refused),
	      PHILOX_ERROR_MISMATCH);
	NAMES("layer");
	options.generator = NULL;
	FAILS(philox_region_create(f->context, &options, &refused),
	      PHILOX_ERROR_MISMATCH);
	cr_assert_null(refused);
	OK(philox_generator_destroy(other));
	region = make_region_of(f->context, "layer", 0, one);
	SAME(forward(f, region).saw, predict(5, "layer", 4), "goes on");
	FRESH(forward(f, region).saw, seen, "repeated");
}

PROMISE(freshness, a_name_outlives_its_generator)
{
	struct philox_generator *one, *other;
	struct philox_region *region;

	OK(philox_generator_create(f->context, 5, &one));
	OK(philox_generator_create(f->context, 5, &other));
	region = make_region_of(f->context, "layer", 0, one);
	forward(f, region);
	OK(philox_region_destroy(region));
	OK(philox_generator_destroy(one));
	region = make_region_of(f->context, "layer", 0, other);
	SAME(forward(f, region).saw, predict(5, "layer", 4),
	     "goes on though the seed is the same");
}

static void has_no_numbers_left(struct fixture *f, struct philox_region *region,
				struct philox_graph *warm_up)
{
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	struct philox_pass pass;

	FAILS(philox_forward_begin(region, f->stream, PHILOX_PASS_INFERENCE,
				   &pass),
	      PHILOX_ERROR_OVERFLOW);
	FAILS(philox_forward_begin(region, f->stream, PHILOX_PASS_WARMUP,
				   &pass),
	      PHILOX_ERROR_OVERFLOW);
	NAMES("huge");
	FAILS(philox_graph_launch(warm_up, f->stream, &use, 1),
	      PHILOX_ERROR_OVERFLOW);
	NAMES("huge");
}

static void warm_ups_end(struct fixture *f, unsigned flags, uint64_t last)
{
	const struct philox_op_desc op = {"huge", 1, UINT64_C(1) << 56};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "huge",
					     .ops = &op,
					     .n_ops = 1,
					     .flags = flags};
	struct philox_region *region;
	struct philox_pass pass;
	struct philox_graph *warm_up;
	struct philox_launch_pass use = {{0, 0}, 0, 0};

	OK(philox_region_create(f->context, &options, &region));
	record_begin(f);
	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_WARMUP, &pass));
	OK(philox_pass_commit(&pass, 0, NULL));
	warm_up = record_end(f);
	for (uint64_t i = 0; i <= last; i++) {
		OK(philox_graph_launch(warm_up, f->stream, &use, 1));
		OK(philox_forward_begin(region, f->stream, PHILOX_PASS_WARMUP,
					&pass));
		OK(philox_pass_commit(&pass, 0, NULL));
		OK(philox_forward_begin(region, f->stream,
					PHILOX_PASS_INFERENCE, &pass));
		OK(philox_pass_commit(&pass, 0, NULL));
	}
	has_no_numbers_left(f, region, warm_up);
	OK(philox_generator_seed(philox_context_generator(f->context), 1));
	OK(philox_graph_launch(warm_up, f->stream, &use, 1));
	OK(philox_region_destroy(region));
	OK(philox_graph_destroy(warm_up));
}

/*
 * A warm-up draws a forward's numbers: where no forward can draw, neither can
 * it.
 */
GRAPH_PROMISE(freshness, warm_ups_end_where_forwards_do)
{
	warm_ups_end(f, 0, 254);
}

GRAPH_PROMISE(freshness, warm_ups_end_where_their_generator_does)
{
	struct philox_state late = {0, UINT64_C(254) << 56};

	OK(philox_generator_set_state(philox_context_generator(f->context),
				      late));
	warm_ups_end(f, PHILOX_REGION_SHARED, 0);
}

PROMISE(freshness, the_last_offset_but_one_is_used)
{
	const struct philox_op_desc op = {"only", 1, 4};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "layer",
					     .ops = &op,
					     .n_ops = 1,
					     .flags = PHILOX_REGION_SHARED};
	struct philox_state late = {0, UINT64_MAX - 7};
	struct philox_region *region;
	struct philox_pass pass;

	OK(philox_generator_set_state(philox_context_generator(f->context),
				      late));
	OK(philox_region_create(f->context, &options, &region));
	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	cr_assert_eq(pass.state.offset, late.offset);
	OK(philox_pass_commit(&pass, 0, NULL));
	FAILS(philox_forward_begin(region, f->stream, PHILOX_PASS_INFERENCE,
				   &pass),
	      PHILOX_ERROR_OVERFLOW);
}

/* Offsets reach 2^64 after 2^24 forwards of the largest possible advance. */
Test(freshness, offsets_end_before_they_wrap)
{
	enum { FORWARDS = 1 << 8 };
	const struct philox_op_desc op = {"huge", 1, UINT64_C(1) << 56};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "huge",
					     .ops = &op,
					     .n_ops = 1};
	struct philox_region *region;
	struct philox_pass pass;
	struct philox_ticket ticket;
	struct philox_rng rng;
	enum philox_status status;
	unsigned made = 0;
	struct fixture f;

	fixture_open(&f, "host:sync");
	OK(philox_region_create(f.context, &options, &region));
	OK(philox_forward_begin(region, f.stream, 0, &pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
	for (made = 1;; made++) {
		status = philox_forward_begin(region, f.stream,
					      PHILOX_PASS_INFERENCE, &pass);
		if (status != PHILOX_OK || made > FORWARDS)
			break;
		OK(philox_pass_rng(&pass, 0, 0, &rng));
		cr_assert_eq(rng.state.offset, (uint64_t)made << 56);
		OK(philox_pass_commit(&pass, 0, NULL));
	}
	cr_assert_eq(status, PHILOX_ERROR_OVERFLOW);
	NAMES("huge");
	cr_assert(made == FORWARDS || made == FORWARDS - 1, "%u forwards",
		  made);
	PENDING(region, 1);
	OK(philox_backward_begin(region, f.stream, ticket, 0, &pass));
	OK(philox_pass_commit(&pass, 0, NULL));
	OK(philox_generator_seed(philox_context_generator(f.context), 1));
	OK(philox_forward_begin(region, f.stream, 0, &pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
	fixture_close(&f);
}
