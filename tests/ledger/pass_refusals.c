/*
 * tests/ledger/pass_refusals.c - every error of passes
 *
 * After each refusal the ledger is checked: no ticket was gained or lost, and
 * the next forward draws the numbers it would have drawn.
 */
#include <math.h>
#include "tests/support/support.h"

/* --- passes --------------------------------------------------------------- */

/* Nothing can be done with a pass that is not open. */
static void is_closed(struct fixture *f, struct philox_pass *pass)
{
	struct philox_ticket ticket = {7, 7};
	struct philox_pass view;
	struct philox_rng rng;
	const struct philox_state *states;
	struct philox_span span = {.count = 4};

	FAILS(philox_pass_commit(pass, 0, &ticket), PHILOX_ERROR_STATE);
	FAILS(philox_pass_commit(pass, 0, NULL), PHILOX_ERROR_STATE);
	FAILS(philox_pass_abort(pass), PHILOX_ERROR_STATE);
	FAILS(philox_pass_bits(pass, 0, PHILOX_DTYPE_U32, span, f->scratch),
	      PHILOX_ERROR_STATE);
	FAILS(philox_pass_on(pass, f->side, &view), PHILOX_ERROR_STATE);
	FAILS(philox_pass_rng(pass, 0, 0, &rng), PHILOX_ERROR_STATE);
	FAILS(philox_pass_states(pass, &states), PHILOX_ERROR_STATE);
	cr_assert_eq(ticket.serial, 7, "outputs are written on success only");
}

PROMISE(pass_refusals, passes_that_are_over)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_ticket ticket;
	struct philox_pass pass = {0};
	struct ledger_view before;

	is_closed(f, &pass);
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
	before = look(f, region);
	is_closed(f, &pass);
	unchanged(f, region, &before);
	OK(philox_backward_begin(region, f->stream, ticket, PHILOX_PASS_RETAIN,
				 &pass));
	OK(philox_pass_commit(&pass, 0, NULL));
	is_closed(f, &pass);
	OK(philox_backward_begin(region, f->stream, ticket, 0, &pass));
	OK(philox_pass_abort(&pass));
	is_closed(f, &pass);
	unchanged(f, region, &before);
}

/* As the stack may be where a program keeps its passes. */
static struct philox_pass *fill_with_garbage(struct philox_pass *pass)
{
	memset(pass, 0xa5, sizeof(*pass));
	return pass;
}

PROMISE(pass_refusals, passes_whose_begin_failed)
{
	struct philox_region *region = make_region(f, "layer");
	const struct philox_ticket none = {0, 0};
	struct philox_pass pass;

	FAILS(philox_forward_begin(NULL, f->stream, 0,
				   fill_with_garbage(&pass)),
	      PHILOX_ERROR_INVALID);
	is_closed(f, &pass);
	FAILS(philox_forward_begin(region, f->stream, PHILOX_PASS_RETAIN,
				   fill_with_garbage(&pass)),
	      PHILOX_ERROR_INVALID);
	is_closed(f, &pass);
	FAILS(philox_backward_begin(region, f->stream, none, 0,
				    fill_with_garbage(&pass)),
	      PHILOX_ERROR_MISMATCH);
	is_closed(f, &pass);
	FAILS(philox_backward_begin(region, f->stream, none, PHILOX_PASS_RETAIN,
				    fill_with_garbage(&pass)),
	      PHILOX_ERROR_MISMATCH);
	is_closed(f, &pass);
	OK(philox_region_destroy(region));
	FAILS(philox_forward_begin(region, f->stream, 0,
				   fill_with_garbage(&pass)),
	      PHILOX_ERROR_STALE);
	is_closed(f, &pass);
}

PROMISE(pass_refusals, a_copy_of_a_pass_that_is_over)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_ticket ticket;
	struct philox_pass pass, copy;
	struct ledger_view before;

	OK(philox_forward_begin(region, f->stream, 0, &pass));
	copy = pass;
	OK(philox_pass_commit(&pass, 0, &ticket));
	before = look(f, region);
	FAILS(philox_pass_commit(&copy, 0, &ticket), PHILOX_ERROR_STATE);
	FAILS(philox_pass_abort(&copy), PHILOX_ERROR_STATE);
	unchanged(f, region, &before);
	OK(philox_backward_begin(region, f->stream, ticket, 0, &pass));
	OK(philox_pass_commit(&pass, 0, NULL));
}

/* The other passes keep the ticket alive; the copy must not end one of them. */
PROMISE(pass_refusals, a_copy_of_a_backward_that_is_over_while_others_read)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward(f, region);
	struct philox_pass reader, pass, copy;
	struct ledger_view before = look(f, region);

	OK(philox_backward_begin(region, f->stream, made.ticket,
				 PHILOX_PASS_RETAIN, &reader));
	for (unsigned i = 0; i < 2; i++) {
		OK(philox_backward_begin(region, f->stream, made.ticket, 0,
					 &pass));
		copy = pass;
		if (i == 0)
			OK(philox_pass_abort(&pass));
		else
			OK(philox_pass_commit(&pass, PHILOX_PASS_RETAIN, NULL));
		FAILS(philox_pass_commit(&copy, 0, NULL), PHILOX_ERROR_STATE);
		FAILS(philox_pass_abort(&copy), PHILOX_ERROR_STATE);
		unchanged(f, region, &before);
	}
	draw(&reader, f->scratch);
	OK(philox_pass_commit(&reader, 0, NULL));
	SAME(read_numbers(f, f->scratch), made.saw, "the reader goes on");
	backward(f, &made, 0);
}

PROMISE(pass_refusals, commits_with_what_does_not_fit_the_pass)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_ticket ticket, none = {1, 1};
	struct philox_pass pass;

	OK(philox_forward_begin(region, f->stream, 0, &pass));
	FAILS(philox_pass_commit(&pass, 0, NULL), PHILOX_ERROR_INVALID);
	FAILS(philox_pass_commit(&pass, PHILOX_PASS_RETAIN, &ticket),
	      PHILOX_ERROR_INVALID);
	PENDING(region, 1);
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_backward_begin(region, f->stream, ticket, 0, &pass));
	FAILS(philox_pass_commit(&pass, PHILOX_PASS_ON_DEVICE, NULL),
	      PHILOX_ERROR_INVALID);
	PENDING(region, 1);
	OK(philox_pass_commit(&pass, 0, &none));
	PENDING(region, 0);
	cr_assert(!none.region_key && !none.serial);
}

PROMISE(pass_refusals, a_view_committed_or_aborted)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward(f, region);
	struct philox_pass pass, view;

	OK(philox_backward_begin(region, f->stream, made.ticket, 0, &pass));
	OK(philox_pass_on(&pass, f->side, &view));
	FAILS(philox_pass_commit(&view, 0, NULL), PHILOX_ERROR_STATE);
	FAILS(philox_pass_abort(&view), PHILOX_ERROR_STATE);
	PENDING(region, 1);
	OK(philox_pass_commit(&pass, 0, NULL));
}

PROMISE(pass_refusals, flags_that_do_not_belong)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward(f, region);
	struct ledger_view before = look(f, region);
	const unsigned not_forward[] = {PHILOX_PASS_RETAIN, 16, 1u << 31,
					PHILOX_PASS_INFERENCE |
						PHILOX_PASS_WARMUP};
	const unsigned not_backward[] = {PHILOX_PASS_INFERENCE,
					 PHILOX_PASS_WARMUP, 16, 1u << 16};
	struct philox_pass pass;

	for (size_t i = 0; i < 4; i++)
		FAILS(philox_forward_begin(region, f->stream, not_forward[i],
					   &pass),
		      PHILOX_ERROR_INVALID);
	for (size_t i = 0; i < 4; i++)
		FAILS(philox_backward_begin(region, f->stream, made.ticket,
					    not_backward[i], &pass),
		      PHILOX_ERROR_INVALID);
	unchanged(f, region, &before);
	OK(philox_backward_begin(region, f->stream, made.ticket, 0, &pass));
	FAILS(philox_pass_commit(&pass, PHILOX_PASS_INFERENCE, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_pass_commit(&pass, 64, NULL), PHILOX_ERROR_INVALID);
	OK(philox_pass_commit(&pass, 0, NULL));
}

static void never_called(void *saved, philox_stream stream)
{
	cr_assert_fail("released %p on %p", saved, (void *)stream);
}

PROMISE(pass_refusals, null_arguments_of_passes)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward(f, region);
	struct ledger_view before = look(f, region);
	struct philox_ticket ticket;
	struct philox_pass pass;
	void *saved;

	FAILS(philox_forward_begin(NULL, f->stream, 0, &pass),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_forward_begin(region, f->stream, 0, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_backward_begin(NULL, f->stream, made.ticket, 0, &pass),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_backward_begin(region, f->stream, made.ticket, 0, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_backward_begin(region, f->stream, made.ticket,
				    PHILOX_PASS_RETAIN, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_ticket_release(NULL, f->stream, made.ticket),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_ticket_context(NULL, made.ticket, &saved),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_ticket_context(region, made.ticket, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_ticket_attach(NULL, made.ticket, &pass, never_called),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_ticket_attach(region, made.ticket, &pass, NULL),
	      PHILOX_ERROR_INVALID);
	unchanged(f, region, &before);
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	FAILS(philox_pass_commit(&pass, 0, NULL), PHILOX_ERROR_INVALID);
	FAILS(philox_pass_states(&pass, NULL), PHILOX_ERROR_INVALID);
	FAILS(philox_pass_rng(&pass, 0, 0, NULL), PHILOX_ERROR_INVALID);
	FAILS(philox_pass_on(&pass, f->side, NULL), PHILOX_ERROR_INVALID);
	OK(philox_pass_commit(&pass, 0, &ticket));
	FAILS_EITHER(philox_pass_commit(NULL, 0, &ticket), PHILOX_ERROR_INVALID,
		     PHILOX_ERROR_STATE);
	FAILS_EITHER(philox_pass_commit(NULL, 0, NULL), PHILOX_ERROR_INVALID,
		     PHILOX_ERROR_STATE);
	FAILS_EITHER(philox_pass_abort(NULL), PHILOX_ERROR_INVALID,
		     PHILOX_ERROR_STATE);
}

PROMISE(pass_refusals, operators_out_of_range)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_ticket ticket;
	struct philox_pass pass;
	struct philox_rng rng;
	struct philox_fill_desc fill = {.size = sizeof(fill),
					.dist = PHILOX_DIST_BITS,
					.dtype = PHILOX_DTYPE_U32,
					.span = {.count = 4},
					.out = f->scratch};

	memset(f->scratch, 0x5a, 16);
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	FAILS(philox_pass_fill(&pass, OPS, 0, &fill), PHILOX_ERROR_INVALID);
	NAMES("layer");
	NAMES("3");
	FAILS(philox_pass_fill(&pass, UINT32_MAX, 0, &fill),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_pass_fill(&pass, 1, 2, &fill), PHILOX_ERROR_INVALID);
	NAMES("layer");
	FAILS(philox_pass_fill(&pass, 0, 1, &fill), PHILOX_ERROR_INVALID);
	FAILS(philox_pass_bits(&pass, OPS, PHILOX_DTYPE_U32, fill.span,
			       f->scratch),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_pass_rng(&pass, OPS, 0, &rng), PHILOX_ERROR_INVALID);
	FAILS(philox_pass_rng(&pass, 2, 1, &rng), PHILOX_ERROR_INVALID);
	OK(philox_device_synchronize(f->device));
	cr_assert_eq(f->scratch[0], 0x5a5a5a5a, "nothing was drawn");
	draw(&pass, f->scratch);
	OK(philox_pass_commit(&pass, 0, &ticket));
}

PROMISE(pass_refusals, fills_name_region_and_operator)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_pass pass;
	struct philox_span span = {.count = 4};

	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	FAILS(philox_pass_dropout(&pass, 1, PHILOX_DTYPE_F32, span, 1.5,
				  f->scratch, f->scratch),
	      PHILOX_ERROR_INVALID);
	NAMES("layer");
	NAMES("second");
	FAILS(philox_pass_bernoulli(&pass, 2, PHILOX_DTYPE_F32, span, NAN,
				    f->scratch),
	      PHILOX_ERROR_INVALID);
	NAMES("third");
	FAILS(philox_pass_uniform(&pass, 0, PHILOX_DTYPE_F32, span, 0, 1, NULL),
	      PHILOX_ERROR_INVALID);
	NAMES("first");
	OK(philox_pass_abort(&pass));
}

PROMISE(pass_refusals, device_cells_of_a_pass_without)
{
	struct philox_region *region = make_region(f, "layer");
	const struct philox_state *states = NULL;
	struct philox_pass pass;

	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	FAILS(philox_pass_states(&pass, &states), PHILOX_ERROR_STATE);
	cr_assert_null(states);
	OK(philox_pass_abort(&pass));
}

PROMISE(pass_refusals, a_placeholder_of_another_context)
{
	struct philox_region *regions[2];
	struct philox_context *other;
	struct philox_ticket tickets[2];
	philox_native_graph native;
	struct philox_pass pass;

	OK(philox_context_create(f->device, &other));
	regions[0] = make_region(f, "layer");
	regions[1] = make_region_of(other, "layer", 0, NULL);
	for (unsigned i = 0; i < 2; i++) {
		OK(philox_stream_begin_capture(f->device, f->stream,
					       PHILOX_CAPTURE_THREAD_LOCAL));
		tickets[i] = captured_forward(f, regions[i], 0, f->scratch);
		if (i == 1)
			FAILS(philox_backward_begin(regions[1], f->stream,
						    tickets[0], 0, &pass),
			      PHILOX_ERROR_MISMATCH);
		captured_backward(f, regions[i], tickets[i], 0, f->scratch);
		OK(philox_stream_end_capture(f->device, f->stream, &native));
		OK(philox_native_graph_destroy(f->device, native));
	}
	philox_context_destroy(other);
}

/* --- destroyed regions ---------------------------------------------------- */

PROMISE(pass_refusals, passes_of_a_destroyed_region)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward(f, region);
	struct philox_pass forward_pass, backward_pass;
	struct philox_ticket ticket;

	OK(philox_forward_begin(region, f->stream, 0, &forward_pass));
	OK(philox_backward_begin(region, f->stream, made.ticket, 0,
				 &backward_pass));
	OK(philox_region_destroy(region));
	FAILS(philox_pass_commit(&forward_pass, 0, &ticket),
	      PHILOX_ERROR_STALE);
	FAILS(philox_pass_commit(&backward_pass, 0, NULL), PHILOX_ERROR_STALE);
	OK(philox_pass_abort(&forward_pass));
	OK(philox_pass_abort(&backward_pass));
}

PROMISE(pass_refusals, passes_of_a_destroyed_region_made_again)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward(f, region);
	struct philox_pass pass, tracked, inference;
	struct philox_ticket ticket;
	struct ledger_view before;

	OK(philox_backward_begin(region, f->stream, made.ticket, 0, &pass));
	OK(philox_forward_begin(region, f->stream, 0, &tracked));
	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_INFERENCE,
				&inference));
	OK(philox_region_destroy(region));
	region = make_region(f, "layer");
	made = forward(f, region);
	before = look(f, region);
	FAILS(philox_pass_commit(&pass, 0, NULL), PHILOX_ERROR_STALE);
	FAILS(philox_pass_commit(&tracked, 0, &ticket), PHILOX_ERROR_STALE);
	FAILS(philox_pass_commit(&inference, 0, NULL), PHILOX_ERROR_STALE);
	unchanged(f, region, &before);
	OK(philox_pass_abort(&pass));
	OK(philox_pass_abort(&tracked));
	OK(philox_pass_abort(&inference));
	unchanged(f, region, &before);
	backward(f, &made, 0);
}

PROMISE(pass_refusals, a_destroyed_region)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward(f, region);
	struct philox_pass pass;
	size_t count;

	OK(philox_region_destroy(region));
	FAILS(philox_forward_begin(region, f->stream, 0, &pass),
	      PHILOX_ERROR_STALE);
	FAILS(philox_backward_begin(region, f->stream, made.ticket, 0, &pass),
	      PHILOX_ERROR_STALE);
	FAILS(philox_region_pending_count(region, &count), PHILOX_ERROR_STALE);
	FAILS(philox_ticket_release(region, f->stream, made.ticket),
	      PHILOX_ERROR_STALE);
	FAILS(philox_region_destroy(region), PHILOX_ERROR_STALE);
	cr_assert_eq(philox_region_cell_count(region), 0);
	cr_assert_eq(philox_region_cell_index(region, 0, 0), SIZE_MAX);
}
