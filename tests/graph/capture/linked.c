/*
 * tests/graph/capture/linked.c - passes of one capture that share a ticket
 *
 * A recompute and a backward of a forward that each launch names are linked by
 * the placeholder that philox_pass_ticket() gives.
 */
#include "tests/support/support.h"

static const struct philox_ticket named_at_launch = {0, 0};

static int is_zero(struct philox_ticket ticket)
{
	return !ticket.region_key && !ticket.serial;
}

static struct philox_ticket ticket_of(const struct philox_pass *pass)
{
	struct philox_ticket ticket = {1, 1};

	OK(philox_pass_ticket(pass, &ticket));
	return ticket;
}

/* A captured backward that draws; gives the ticket to link others by. */
static struct philox_ticket record_pass(struct fixture *f,
					struct philox_region *region,
					struct philox_ticket ticket,
					unsigned flags, uint32_t *array)
{
	struct philox_ticket placeholder;
	struct philox_pass pass;

	OK(philox_backward_begin(region, f->stream, ticket, flags, &pass));
	placeholder = ticket_of(&pass);
	draw(&pass, array);
	OK(philox_pass_commit(&pass, 0, NULL));
	return placeholder;
}

/* A recompute and, linked to it, a backward. */
static struct philox_graph *record_linked(struct fixture *f,
					  struct philox_region *region,
					  unsigned flags, uint32_t *again,
					  uint32_t *dx)
{
	struct philox_ticket ticket;

	record_begin(f);
	ticket = record_pass(f, region, named_at_launch, PHILOX_PASS_RETAIN,
			     again);
	record_pass(f, region, ticket, flags, dx);
	return record_end(f);
}

GRAPH_PROMISE(linked, a_launch_names_the_ticket_of_a_group_once)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *again = make_array(f), *dx = make_array(f);
	struct philox_graph *back = record_linked(f, region, 0, again, dx);
	struct forward made[2] = {forward(f, region), forward(f, region)};

	for (int i = 1; i >= 0; i--) {
		struct philox_launch_pass uses[2] = {
			{made[i].ticket, 0, 0},
			{{7, 8}, PHILOX_PASS_RETAIN, 0}, /* ignored */
		};

		OK(philox_graph_launch(back, f->stream, uses, 2));
		SAME(read_numbers(f, again), made[i].saw, "recompute %d", i);
		SAME(read_numbers(f, dx), made[i].saw, "backward %d", i);
		PENDING(region, (size_t)i);
		cr_assert(uses[1].ticket.region_key == 7 &&
			  uses[1].ticket.serial == 8);
		FAILS(philox_graph_launch(back, f->stream, uses, 2),
		      PHILOX_ERROR_RELEASED);
	}
}

GRAPH_PROMISE(linked, a_launch_may_retain_the_ticket_of_a_group)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *again = make_array(f), *dx = make_array(f);
	struct philox_graph *back = record_linked(f, region, 0, again, dx);
	struct forward made = forward(f, region);
	struct philox_launch_pass uses[2] = {
		{made.ticket, PHILOX_PASS_RETAIN, 0}};

	for (int i = 0; i < 3; i++) {
		OK(philox_graph_launch(back, f->stream, uses, 2));
		SAME(read_numbers(f, dx), made.saw, "launch %d", i);
		PENDING(region, 1);
	}
	uses[0].flags = 0;
	OK(philox_graph_launch(back, f->stream, uses, 2));
	PENDING(region, 0);
}

GRAPH_PROMISE(linked, a_group_without_a_consumer_keeps_its_ticket)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *again = make_array(f), *dx = make_array(f);
	struct philox_graph *back =
		record_linked(f, region, PHILOX_PASS_RETAIN, again, dx);
	struct forward made = forward(f, region);
	struct philox_launch_pass uses[2] = {{made.ticket, 0, 0}};

	OK(philox_graph_launch(back, f->stream, uses, 2));
	OK(philox_graph_launch(back, f->stream, uses, 2));
	SAME(read_numbers(f, dx), made.saw, "retained");
	PENDING(region, 1);
	backward(f, &made, 0);
}

/* The first pass of the group may be the one that uses the ticket up. */
GRAPH_PROMISE(linked, a_recompute_inside_its_backward_is_linked)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *again = make_array(f), *dx = make_array(f);
	struct philox_pass outer, inner, other;
	struct philox_graph *back;
	struct forward made;
	struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}};

	record_begin(f);
	OK(philox_backward_begin(region, f->stream, named_at_launch, 0,
				 &outer));
	OK(philox_backward_begin(region, f->stream, ticket_of(&outer),
				 PHILOX_PASS_RETAIN, &inner));
	cr_assert_eq(inner.states, outer.states, "one set of cells");
	FAILS(philox_backward_begin(region, f->stream, ticket_of(&inner), 0,
				    &other),
	      PHILOX_ERROR_BUSY);
	NAMES("layer");
	draw(&inner, again);
	OK(philox_pass_commit(&inner, 0, NULL));
	draw(&outer, dx);
	OK(philox_pass_commit(&outer, 0, NULL));
	back = record_end(f);
	made = forward(f, region);
	uses[0].ticket = made.ticket;
	OK(philox_graph_launch(back, f->stream, uses, 2));
	SAME(read_numbers(f, again), made.saw, "recompute");
	SAME(read_numbers(f, dx), made.saw, "backward");
	PENDING(region, 0);
}

GRAPH_PROMISE(linked, a_group_has_one_consumer)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_ticket ticket;
	struct philox_pass pass;
	struct philox_graph *back;
	struct forward made;
	struct philox_launch_pass use = {{0, 0}, 0, 0};

	record_begin(f);
	ticket = record_pass(f, region, named_at_launch, 0, array);
	FAILS(philox_backward_begin(region, f->stream, ticket, 0, &pass),
	      PHILOX_ERROR_RELEASED);
	NAMES("layer");
	FAILS(philox_backward_begin(region, f->stream, ticket,
				    PHILOX_PASS_RETAIN, &pass),
	      PHILOX_ERROR_RELEASED);
	back = record_end(f);
	made = forward(f, region);
	use.ticket = made.ticket;
	OK(philox_graph_launch(back, f->stream, &use, 1));
	PENDING(region, 0);
}

/* A consumer that commits with RETAIN leaves the place to another one. */
GRAPH_PROMISE(linked, a_consumer_that_retains_after_all_leaves_room)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f), *dx = make_array(f);
	struct philox_ticket ticket;
	struct philox_graph *back;
	struct philox_pass pass;
	struct forward made;
	struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}};

	record_begin(f);
	OK(philox_backward_begin(region, f->stream, named_at_launch, 0, &pass));
	ticket = ticket_of(&pass);
	draw(&pass, array);
	OK(philox_pass_commit(&pass, PHILOX_PASS_RETAIN, NULL));
	record_pass(f, region, ticket, 0, dx);
	back = record_end(f);
	made = forward(f, region);
	uses[0].ticket = made.ticket;
	OK(philox_graph_launch(back, f->stream, uses, 2));
	SAME(read_numbers(f, dx), made.saw, "the second one");
	PENDING(region, 0);
}

GRAPH_PROMISE(linked, groups_and_passes_of_their_own_share_a_graph)
{
	struct philox_region *one = make_region(f, "one");
	struct philox_region *two = make_region(f, "two");
	uint32_t *array[5];
	struct philox_ticket first, second;
	struct forward a, b, c;
	struct philox_graph *back;
	struct philox_graph_pass_info info = {.size = sizeof(info)};

	for (int i = 0; i < 5; i++)
		array[i] = make_array(f);
	record_begin(f);
	first = record_pass(f, one, named_at_launch, PHILOX_PASS_RETAIN,
			    array[0]);
	second = record_pass(f, two, named_at_launch, PHILOX_PASS_RETAIN,
			     array[1]);
	record_pass(f, one, named_at_launch, 0, array[2]);
	record_pass(f, two, second, 0, array[3]);
	record_pass(f, one, first, 0, array[4]);
	back = record_end(f);
	OK(philox_graph_get_pass_info(back, 3, &info));
	cr_assert(info.backward && !info.named && info.forward == 1);
	OK(philox_graph_get_pass_info(back, 4, &info));
	cr_assert(info.backward && !info.named && info.forward == 0);
	OK(philox_graph_get_pass_info(back, 2, &info));
	cr_assert(info.named, "not linked: named by itself");
	a = forward(f, one);
	b = forward(f, two);
	c = forward(f, one);
	{
		struct philox_launch_pass uses[5] = {
			{a.ticket, 0, 0}, {b.ticket, 0, 0}, {c.ticket, 0, 0}};

		OK(philox_graph_launch(back, f->stream, uses, 5));
	}
	SAME(read_numbers(f, array[0]), a.saw, "0");
	SAME(read_numbers(f, array[1]), b.saw, "1");
	SAME(read_numbers(f, array[2]), c.saw, "2");
	SAME(read_numbers(f, array[3]), b.saw, "3");
	SAME(read_numbers(f, array[4]), a.saw, "4");
	PENDING(one, 0);
	PENDING(two, 0);
}

static void count(void *saved, philox_stream stream)
{
	(void)stream;
	++*(int *)saved;
}

GRAPH_PROMISE(linked, the_saved_context_of_a_group_is_released_once)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_graph *back =
		record_linked(f, region, 0, f->scratch, make_array(f));
	struct forward made = forward(f, region);
	struct philox_launch_pass uses[2] = {
		{made.ticket, PHILOX_PASS_RETAIN, 0}};
	int released = 0;

	OK(philox_ticket_attach(region, made.ticket, &released, count));
	OK(philox_graph_launch(back, f->stream, uses, 2));
	cr_assert_eq(released, 0);
	uses[0].flags = 0;
	OK(philox_graph_launch(back, f->stream, uses, 2));
	cr_assert_eq(released, 1);
}

/* --- what cannot be linked ------------------------------------------------ */

GRAPH_PROMISE(linked, a_placeholder_is_of_its_region_and_capture)
{
	struct philox_region *one = make_region(f, "one");
	struct philox_region *two = make_region(f, "two");
	struct forward made = forward(f, one);
	struct philox_ticket ticket;
	struct philox_graph *graph;
	struct philox_pass pass;

	record_begin(f);
	ticket = record_pass(f, one, named_at_launch, PHILOX_PASS_RETAIN,
			     f->scratch);
	FAILS(philox_backward_begin(two, f->stream, ticket, 0, &pass),
	      PHILOX_ERROR_MISMATCH);
	NAMES("two");
	ticket.serial++; /* of no pass */
	FAILS(philox_backward_begin(one, f->stream, ticket, 0, &pass),
	      PHILOX_ERROR_MISMATCH);
	ticket.serial--;
	graph = record_end(f);
	FAILS(philox_backward_begin(one, f->stream, ticket, 0, &pass),
	      PHILOX_ERROR_MISMATCH); /* eager */
	record_begin(f);
	captured_backward(f, one, named_at_launch, PHILOX_PASS_RETAIN,
			  f->scratch);
	FAILS(philox_backward_begin(one, f->stream, ticket, 0, &pass),
	      PHILOX_ERROR_MISMATCH); /* another capture */
	OK(philox_graph_destroy(record_end(f)));
	OK(philox_graph_destroy(graph));
	backward(f, &made, 0);
}

GRAPH_PROMISE(linked, nothing_is_linked_to_an_aborted_pass)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_ticket ticket;
	struct philox_pass pass;

	record_begin(f);
	OK(philox_backward_begin(region, f->stream, named_at_launch,
				 PHILOX_PASS_RETAIN, &pass));
	ticket = ticket_of(&pass);
	OK(philox_pass_abort(&pass));
	FAILS(philox_backward_begin(region, f->stream, ticket, 0, &pass),
	      PHILOX_ERROR_STATE);
	NAMES("aborted");
	cr_assert_eq(record_end_failing(f), PHILOX_ERROR_STATE);
}

/* --- the ticket of a pass ------------------------------------------------- */

PROMISE(linked, an_eager_pass_has_a_live_ticket)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_ticket ticket;
	struct philox_pass pass, inner, view;
	struct numbers saw;

	OK(philox_forward_begin(region, f->stream, 0, &pass));
	ticket = ticket_of(&pass);
	FAILS(philox_backward_begin(region, f->stream, ticket, 0, &inner),
	      PHILOX_ERROR_STATE); /* its forward is open */
	draw(&pass, f->scratch);
	saw = read_numbers(f, f->scratch);
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_backward_begin(region, f->stream, ticket, 0, &pass));
	OK(philox_pass_on(&pass, f->side, &view));
	cr_assert_eq(ticket_of(&view).serial, ticket.serial);
	OK(philox_backward_begin(region, f->stream, ticket_of(&pass),
				 PHILOX_PASS_RETAIN, &inner));
	cr_assert_eq(ticket_of(&inner).serial, ticket.serial);
	cr_assert_eq(ticket_of(&inner).region_key, ticket.region_key);
	draw(&inner, f->scratch);
	SAME(read_numbers(f, f->scratch), saw, "recomputed inside");
	OK(philox_pass_commit(&inner, 0, NULL));
	OK(philox_pass_commit(&pass, 0, NULL));
	PENDING(region, 0);
	ticket = (struct philox_ticket){5, 6};
	FAILS(philox_pass_ticket(&pass, &ticket), PHILOX_ERROR_STATE);
	cr_assert_eq(ticket.serial, 6, "written on success only");
}

GRAPH_PROMISE(linked, a_forward_that_owes_no_backward_has_no_ticket)
{
	static const unsigned flags[] = {PHILOX_PASS_INFERENCE,
					 PHILOX_PASS_WARMUP};
	struct philox_region *region = make_region(f, "layer");
	struct philox_pass pass;

	for (int captured = 0; captured < 2; captured++) {
		if (captured)
			record_begin(f);
		for (int i = 0; i < 2; i++) {
			OK(philox_forward_begin(region, f->stream, flags[i],
						&pass));
			cr_assert(is_zero(ticket_of(&pass)));
			OK(philox_pass_commit(&pass, 0, NULL));
		}
	}
	OK(philox_graph_destroy(record_end(f)));
}

GRAPH_PROMISE(linked, a_captured_forward_has_the_placeholder_it_will_give)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_ticket ticket, made;
	struct philox_pass pass;

	record_begin(f);
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	ticket = ticket_of(&pass);
	OK(philox_pass_commit(&pass, 0, &made));
	cr_assert(made.serial == ticket.serial &&
		  made.region_key == ticket.region_key);
	OK(philox_backward_begin(region, f->stream, made, 0, &pass));
	cr_assert_eq(ticket_of(&pass).serial, made.serial,
		     "that of its forward");
	OK(philox_pass_commit(&pass, 0, NULL));
	OK(philox_graph_destroy(record_end(f)));
}

PROMISE(linked, the_ticket_of_nothing_is_refused)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_ticket ticket;
	struct philox_pass pass;

	FAILS(philox_pass_ticket(NULL, &ticket), PHILOX_ERROR_INVALID);
	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	FAILS(philox_pass_ticket(&pass, NULL), PHILOX_ERROR_INVALID);
	OK(philox_region_destroy(region));
	FAILS(philox_pass_ticket(&pass, &ticket), PHILOX_ERROR_STALE);
	OK(philox_pass_abort(&pass));
}
