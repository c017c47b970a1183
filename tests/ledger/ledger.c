/*
 * tests/ledger/ledger.c - eager passes: pairing, retain, recompute, the table
 *
 * Refusals, and that they change nothing, are in refusals.c; which numbers
 * forwards get is in freshness.c.
 */
#include <pthread.h>
#include "tests/support/support.h"

/* --- pairing -------------------------------------------------------------- */

PROMISE(ledger, a_backward_sees_its_forwards_numbers)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward(f, region);

	PENDING(region, 1);
	backward(f, &made, 0);
	PENDING(region, 0);
}

PROMISE(ledger, numbers_follow_from_seed_name_and_count_alone)
{
	struct philox_region *region = make_region(f, "layer");

	OK(philox_generator_seed(philox_context_generator(f->context), 77));
	for (unsigned i = 0; i < 5; i++) {
		struct forward made = forward(f, region);

		SAME(made.saw, predict(77, "layer", 4 * i), "forward %u", i);
		cr_assert_eq(made.ticket.region_key, fnv1a("layer"));
		cr_assert_eq(made.ticket.serial, i + 1);
	}
}

/* Dropout of ones: the mask, scaled. */
static void drop_ones(const struct philox_pass *pass, float *array, size_t n)
{
	struct philox_span span = {.count = n};

	for (size_t i = 0; i < n; i++)
		array[i] = 1;
	OK(philox_pass_dropout(pass, 0, PHILOX_DTYPE_F32, span, 0.25, array,
			       array));
}

PROMISE(ledger, the_backwards_dropout_mask_is_the_forwards)
{
	enum { ELEMENTS = 4097 };
	struct philox_region *region = make_region(f, "dropout");
	float *y = make_memory(f, ELEMENTS * sizeof(*y));
	float *dx = make_memory(f, ELEMENTS * sizeof(*dx));
	struct philox_ticket ticket;
	struct philox_pass pass;
	unsigned dropped = 0;

	OK(philox_forward_begin(region, f->stream, 0, &pass));
	drop_ones(&pass, y, ELEMENTS);
	OK(philox_pass_commit(&pass, 0, &ticket));
	forward(f, region);
	OK(philox_backward_begin(region, f->stream, ticket, 0, &pass));
	drop_ones(&pass, dx, ELEMENTS);
	OK(philox_pass_commit(&pass, 0, NULL));
	OK(philox_stream_synchronize(f->device, f->stream));
	cr_assert_eq(memcmp(y, dx, ELEMENTS * sizeof(*y)), 0);
	for (unsigned i = 0; i < ELEMENTS; i++)
		dropped += y[i] == 0;
	cr_assert(dropped > 900 && dropped < 1150, "%u dropped", dropped);
}

PROMISE(ledger, four_backwards_pair_in_all_orders)
{
	struct philox_region *region = make_region(f, "layer");

	for (unsigned k = 0; k < factorial(4); k++) {
		struct forward made[4];
		unsigned order[4];

		permutation(k, 4, order);
		for (unsigned i = 0; i < 4; i++)
			made[i] = forward(f, region);
		PENDING(region, 4);
		for (unsigned i = 0; i < 4; i++)
			backward(f, &made[order[i]], 0);
		PENDING(region, 0);
	}
}

PROMISE(ledger, forwards_between_backwards_do_not_disturb_them)
{
	enum { WINDOW = 3, STEPS = 40 };
	struct philox_region *region = make_region(f, "layer");
	struct forward made[WINDOW];

	for (unsigned i = 0; i < STEPS; i++) {
		if (i >= WINDOW)
			backward(f, &made[i % WINDOW], 0);
		made[i % WINDOW] = forward(f, region);
	}
	PENDING(region, WINDOW);
}

PROMISE(ledger, a_ticket_outlives_thousands_of_newer_ones)
{
	struct philox_region *region =
		make_region_of(f->context, "layer", 3, NULL);
	struct forward old = forward(f, region), older = forward(f, region);

	for (unsigned i = 0; i < 3000; i++) {
		struct philox_ticket ticket;
		struct philox_pass pass;

		OK(philox_forward_begin(region, f->stream, 0, &pass));
		OK(philox_pass_commit(&pass, 0, &ticket));
		OK(philox_ticket_release(region, f->stream, ticket));
	}
	backward(f, &older, PHILOX_PASS_RETAIN);
	backward(f, &old, 0);
	backward(f, &older, 0);
	PENDING(region, 0);
}

static void *commit_elsewhere(void *pass)
{
	static struct philox_ticket ticket;

	OK(philox_pass_commit(pass, 0, &ticket));
	return &ticket;
}

PROMISE(ledger, a_pass_may_end_on_another_thread)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_ticket *ticket;
	struct philox_pass pass;
	pthread_t thread;

	OK(philox_forward_begin(region, f->stream, 0, &pass));
	draw(&pass, f->scratch);
	cr_assert_eq(pthread_create(&thread, NULL, commit_elsewhere, &pass), 0);
	cr_assert_eq(pthread_join(thread, (void **)&ticket), 0);
	SAME(read_numbers(f, f->scratch),
	     backward_numbers(f, region, *ticket, 0), "backward");
}

PROMISE(ledger, passes_may_run_on_the_legacy_stream)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin(region, NULL, 0, &pass));
	draw(&pass, f->scratch);
	OK(philox_pass_commit(&pass, 0, &ticket));
	SAME(read_numbers(f, f->scratch), predict(0, "layer", 0), "forward");
	OK(philox_backward_begin(region, NULL, ticket, 0, &pass));
	draw(&pass, f->scratch);
	OK(philox_pass_commit(&pass, 0, NULL));
	SAME(read_numbers(f, f->scratch), predict(0, "layer", 0), "backward");
}

PROMISE(ledger, a_backward_redraws_parts_in_any_order_and_number)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward(f, region);
	struct philox_pass pass;
	uint32_t *part = make_array(f);

	OK(philox_backward_begin(region, f->stream, made.ticket, 0, &pass));
	for (unsigned first = COUNT; first-- > 0;) {
		struct philox_span span = {.first = first,
					   .count = COUNT - first};

		OK(philox_pass_bits(&pass, 2, PHILOX_DTYPE_U32, span, part));
		OK(philox_stream_synchronize(f->device, f->stream));
		cr_assert_eq(memcmp(part, &made.saw.word[3 * COUNT + first],
				    (COUNT - first) * sizeof(*part)),
			     0);
	}
	OK(philox_pass_commit(&pass, 0, NULL));
}

/* --- retain, recompute, release ------------------------------------------- */

PROMISE(ledger, a_retained_ticket_serves_any_number_of_backwards)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward(f, region);

	for (unsigned i = 0; i < 10; i++) {
		backward(f, &made, PHILOX_PASS_RETAIN);
		PENDING(region, 1);
		forward_numbers(f, region, PHILOX_PASS_INFERENCE);
	}
	backward(f, &made, 0);
	PENDING(region, 0);
}

PROMISE(ledger, a_backward_may_decide_to_retain_when_it_commits)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward(f, region);
	struct philox_pass pass;

	OK(philox_backward_begin(region, f->stream, made.ticket, 0, &pass));
	OK(philox_pass_commit(&pass, PHILOX_PASS_RETAIN, NULL));
	PENDING(region, 1);
	backward(f, &made, 0);
}

PROMISE(ledger, an_aborted_backward_leaves_its_ticket)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward(f, region);
	struct ledger_view before = look(f, region);
	struct philox_pass pass;

	for (unsigned i = 0; i < 3; i++) {
		OK(philox_backward_begin(region, f->stream, made.ticket,
					 i == 2 ? PHILOX_PASS_RETAIN : 0,
					 &pass));
		draw(&pass, f->scratch);
		OK(philox_pass_abort(&pass));
		unchanged(f, region, &before);
	}
	backward(f, &made, 0);
}

PROMISE(ledger, a_released_ticket_is_gone_and_its_numbers_too)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward one = forward(f, region), two = forward(f, region);
	struct philox_pass pass;

	OK(philox_ticket_release(region, f->stream, one.ticket));
	PENDING(region, 1);
	FAILS(philox_ticket_release(region, f->stream, one.ticket),
	      PHILOX_ERROR_RELEASED);
	FAILS(philox_backward_begin(region, f->stream, one.ticket, 0, &pass),
	      PHILOX_ERROR_RELEASED);
	PENDING(region, 1);
	SAME(forward(f, region).saw, predict(0, "layer", 8), "not reissued");
	backward(f, &two, 0);
}

/* R of `outer` with, in it, R of `inner` twice and a backward of `inner`. */
PROMISE(ledger, recomputes_nest_also_in_other_regions_passes)
{
	struct philox_region *outer = make_region(f, "stage");
	struct philox_region *inner = make_region(f, "layer");
	struct forward stage = forward(f, outer), layer = forward(f, inner);
	struct philox_pass a, b, c;
	uint32_t *seen_a = make_array(f), *seen_b = make_array(f);
	uint32_t *seen_c = make_array(f);

	forward(f, inner);
	forward(f, outer);
	OK(philox_backward_begin(outer, f->stream, stage.ticket,
				 PHILOX_PASS_RETAIN, &a));
	OK(philox_backward_begin(inner, f->stream, layer.ticket,
				 PHILOX_PASS_RETAIN, &b));
	OK(philox_backward_begin(inner, f->stream, layer.ticket,
				 PHILOX_PASS_RETAIN, &c));
	draw(&c, seen_c);
	draw(&a, seen_a);
	OK(philox_pass_commit(&c, 0, NULL));
	draw(&b, seen_b);
	backward(f, &stage, PHILOX_PASS_RETAIN);
	OK(philox_pass_commit(&b, 0, NULL));
	backward(f, &layer, 0);
	OK(philox_pass_commit(&a, 0, NULL));
	SAME(read_numbers(f, seen_a), stage.saw, "outer recompute");
	SAME(read_numbers(f, seen_b), layer.saw, "inner recompute");
	SAME(read_numbers(f, seen_c), layer.saw, "recompute in a recompute");
	PENDING(outer, 2);
	PENDING(inner, 1);
	backward(f, &stage, 0);
}

PROMISE(ledger, a_use_up_waits_for_the_other_passes_of_the_ticket)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward(f, region);
	struct philox_pass reader, consumer, late;

	OK(philox_backward_begin(region, f->stream, made.ticket,
				 PHILOX_PASS_RETAIN, &reader));
	OK(philox_backward_begin(region, f->stream, made.ticket, 0, &consumer));
	FAILS(philox_backward_begin(region, f->stream, made.ticket, 0, &late),
	      PHILOX_ERROR_BUSY);
	OK(philox_pass_commit(&consumer, 0, NULL));
	FAILS_EITHER(philox_backward_begin(region, f->stream, made.ticket,
					   PHILOX_PASS_RETAIN, &late),
		     PHILOX_ERROR_RELEASED, PHILOX_ERROR_BUSY);
	draw(&reader, f->scratch);
	SAME(read_numbers(f, f->scratch), made.saw, "the reader goes on");
	OK(philox_pass_commit(&reader, 0, NULL));
	FAILS(philox_backward_begin(region, f->stream, made.ticket, 0, &late),
	      PHILOX_ERROR_RELEASED);
	PENDING(region, 0);
}

PROMISE(ledger, two_retaining_passes_may_overlap)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward(f, region);
	struct philox_pass one, two;

	OK(philox_backward_begin(region, f->stream, made.ticket,
				 PHILOX_PASS_RETAIN, &one));
	OK(philox_backward_begin(region, f->side, made.ticket,
				 PHILOX_PASS_RETAIN, &two));
	OK(philox_pass_commit(&one, 0, NULL));
	draw(&two, f->scratch);
	OK(philox_pass_commit(&two, 0, NULL));
	SAME(read_numbers(f, f->scratch), made.saw, "overlapping");
	backward(f, &made, 0);
}

/* --- warm-up and inference ------------------------------------------------ */

PROMISE(ledger, a_warm_up_draws_what_the_next_forward_draws)
{
	struct philox_region *region = make_region(f, "layer");

	for (unsigned i = 0; i < 4; i++) {
		struct numbers warm =
			forward_numbers(f, region, PHILOX_PASS_WARMUP);

		SAME(forward_numbers(f, region, PHILOX_PASS_WARMUP), warm,
		     "a second warm-up reserves nothing either");
		PENDING(region, i);
		SAME(forward(f, region).saw, warm, "the forward after it");
	}
}

PROMISE(ledger, an_inference_pass_owes_no_backward)
{
	struct philox_region *region = make_region(f, "sampler");
	struct philox_ticket ticket = {1, 1};
	struct philox_pass pass;

	for (unsigned i = 0; i < 100; i++) {
		SAME(forward_numbers(f, region, PHILOX_PASS_INFERENCE),
		     predict(0, "sampler", 4 * i), "inference %u", i);
		PENDING(region, 0);
	}
	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
	cr_assert(ticket.region_key == 0 && ticket.serial == 0);
}

PROMISE(ledger, an_aborted_warm_up_or_inference_shifts_nothing_else)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_pass pass;

	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_WARMUP, &pass));
	OK(philox_pass_abort(&pass));
	SAME(peek(f, region), predict(0, "layer", 0), "after a warm-up");
	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	OK(philox_pass_abort(&pass));
	PENDING(region, 0);
	SAME(peek(f, region), predict(0, "layer", 4), "inference: burnt");
}

/* --- the table ------------------------------------------------------------ */

PROMISE(ledger, a_full_table_refuses_and_changes_nothing)
{
	struct philox_region *region =
		make_region_of(f->context, "layer", 3, NULL);
	struct forward made[3];
	struct ledger_view before;
	struct philox_pass pass;

	for (unsigned i = 0; i < 3; i++)
		made[i] = forward(f, region);
	before = look(f, region);
	for (unsigned i = 0; i < 3; i++) {
		FAILS(philox_forward_begin(region, f->stream, 0, &pass),
		      PHILOX_ERROR_LIMIT);
		NAMES("layer");
		FAILS(philox_forward_begin(region, f->stream,
					   PHILOX_PASS_ON_DEVICE, &pass),
		      PHILOX_ERROR_LIMIT);
		unchanged(f, region, &before);
	}
	SAME(forward_numbers(f, region, PHILOX_PASS_INFERENCE), before.next,
	     "inference needs no place in the table");
	backward(f, &made[1], 0);
	made[1] = forward(f, region);
	backward(f, &made[2], 0);
	backward(f, &made[1], 0);
	backward(f, &made[0], 0);
}

PROMISE(ledger, an_open_forward_takes_its_place_in_the_table)
{
	struct philox_region *region =
		make_region_of(f->context, "layer", 1, NULL);
	struct philox_pass open, late;

	OK(philox_forward_begin(region, f->stream, 0, &open));
	PENDING(region, 1);
	FAILS(philox_forward_begin(region, f->stream, 0, &late),
	      PHILOX_ERROR_LIMIT);
	OK(philox_pass_abort(&open));
	forward(f, region);
}

PROMISE(ledger, places_in_the_table_are_used_again_for_ever)
{
	struct philox_region *region =
		make_region_of(f->context, "layer", 2, NULL);
	struct forward old = forward(f, region);

	for (unsigned i = 0; i < 500; i++) {
		struct forward made = forward(f, region);
		struct philox_pass pass;

		backward(f, &old, 0);
		FAILS(philox_backward_begin(region, f->stream, old.ticket, 0,
					    &pass),
		      PHILOX_ERROR_RELEASED);
		old = made;
	}
}

PROMISE(ledger, sixty_four_forwards_fit_unless_told_otherwise)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_pass pass;

	for (unsigned i = 0; i < 64; i++)
		forward(f, region);
	FAILS(philox_forward_begin(region, f->stream, 0, &pass),
	      PHILOX_ERROR_LIMIT);
}
