/*
 * tests/graph/capture/cells.c - states in device memory, and views of a pass
 */
#include <pthread.h>
#include "tests/support/support.h"

PROMISE(cells, cells_are_in_order_of_operator_then_call)
{
	struct philox_region *region = make_region(f, "layer");

	cr_assert_eq(philox_region_cell_count(region), SITES);
	cr_assert_eq(philox_region_cell_index(region, 0, 0), 0);
	cr_assert_eq(philox_region_cell_index(region, 1, 0), 1);
	cr_assert_eq(philox_region_cell_index(region, 1, 1), 2);
	cr_assert_eq(philox_region_cell_index(region, 2, 0), 3);
	cr_assert_eq(philox_region_cell_index(region, 2, 1), SIZE_MAX);
	cr_assert_eq(philox_region_cell_index(region, OPS, 0), SIZE_MAX);
	cr_assert_str_eq(philox_region_name(region), "layer");
}

PROMISE(cells, cells_on_the_device_hold_the_same_in_forward_and_backward)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_state seen[2][SITES];
	struct philox_state want = predict_cell(0, "layer", 1, 1, 4);
	struct philox_ticket ticket;
	struct philox_pass pass;
	struct philox_rng rng;

	forward(f, region);
	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_ON_DEVICE,
				&pass));
	read_cells(f, &pass, seen[0]);
	draw(&pass, f->scratch);
	OK(philox_pass_rng(&pass, 1, 1, &rng));
	cr_assert_not_null(rng.cell);
	OK(philox_pass_commit(&pass, 0, &ticket));
	SAME(read_numbers(f, f->scratch), predict(0, "layer", 4), "from cells");
	OK(philox_backward_begin(region, f->stream, ticket,
				 PHILOX_PASS_ON_DEVICE, &pass));
	read_cells(f, &pass, seen[1]);
	OK(philox_pass_commit(&pass, 0, NULL));
	OK(philox_stream_synchronize(f->device, f->stream));
	cr_assert_eq(memcmp(seen[0], seen[1], sizeof(seen[0])), 0);
	cr_assert_eq(memcmp(&seen[0][2], &want, sizeof(want)), 0);
}

PROMISE(cells, cells_on_the_device_are_not_overwritten_while_in_use)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_state seen[20][SITES];
	struct philox_ticket ticket;
	struct philox_pass pass;

	for (unsigned i = 0; i < 20; i++) {
		OK(philox_forward_begin(region, f->stream,
					PHILOX_PASS_ON_DEVICE, &pass));
		read_cells(f, &pass, seen[i]);
		OK(philox_pass_commit(&pass, 0, &ticket));
		OK(philox_backward_begin(region, f->side, ticket,
					 PHILOX_PASS_ON_DEVICE, &pass));
		OK(philox_pass_commit(&pass, 0, NULL));
	}
	OK(philox_device_synchronize(f->device));
	for (unsigned i = 0; i < 20; i++) {
		cr_assert_eq(seen[i][0].offset, 4 * i);
		cr_assert_eq(seen[i][0].seed,
			     predict_cell(0, "layer", 0, 0, 0).seed);
	}
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void wait_at_gate(const void *args)
{
	(void)args;
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
}

static const struct philox_state *cells_of_one_pass(
	struct philox_region *region, philox_stream stream)
{
	const struct philox_state *cells;
	struct philox_pass pass;

	OK(philox_forward_begin(region, stream,
				PHILOX_PASS_INFERENCE | PHILOX_PASS_ON_DEVICE,
				&pass));
	OK(philox_pass_states(&pass, &cells));
	OK(philox_pass_commit(&pass, 0, NULL));
	return cells;
}

/*
 * A pass has ended, but its work still waits, on a stream with its own thread.
 */
Test(cells, go_to_the_next_pass_once_the_device_is_done_with_them,
     .timeout = 120)
{
	const struct philox_state *first, *second, *third;
	struct philox_region *region;
	struct fixture f;

	fixture_open(&f, "host:strict");
	region = make_region(&f, "layer");
	pthread_mutex_lock(&gate);
	OK(philox_stream_launch_host(f.device, f.stream, wait_at_gate, "", 1));
	first = cells_of_one_pass(region, f.stream);
	second = cells_of_one_pass(region, f.side);
	pthread_mutex_unlock(&gate);
	cr_assert_neq(first, second, "the device is not done with them");
	OK(philox_device_synchronize(f.device));
	third = cells_of_one_pass(region, f.side);
	cr_assert(third == first || third == second, "they are used again");
	fixture_close(&f);
}

PROMISE(cells, of_a_backward_go_to_the_next_pass)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward(f, region);
	const struct philox_state *cells[6];

	for (unsigned i = 0; i < 6; i++) {
		struct philox_pass pass;

		OK(philox_backward_begin(
			region, f->stream, made.ticket,
			PHILOX_PASS_RETAIN | PHILOX_PASS_ON_DEVICE, &pass));
		OK(philox_pass_states(&pass, &cells[i]));
		if (i % 2)
			OK(philox_pass_abort(&pass));
		else
			OK(philox_pass_commit(&pass, 0, NULL));
		OK(philox_device_synchronize(f->device));
		cr_assert_eq(cells[i], cells[0]);
	}
	backward(f, &made, 0);
}

PROMISE(cells, a_view_draws_the_same_numbers_on_another_stream)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_pass pass, view;
	struct philox_ticket ticket;
	uint32_t *seen = make_array(f);

	OK(philox_forward_begin(region, f->stream, 0, &pass));
	OK(philox_pass_on(&pass, f->side, &view));
	draw(&view, seen);
	draw(&pass, f->scratch);
	FAILS(philox_pass_commit(&view, 0, &ticket), PHILOX_ERROR_STATE);
	FAILS(philox_pass_abort(&view), PHILOX_ERROR_STATE);
	OK(philox_pass_commit(&pass, 0, &ticket));
	SAME(read_numbers(f, seen), read_numbers(f, f->scratch), "view");
	SAME(backward_numbers(f, region, ticket, 0), read_numbers(f, seen),
	     "its backward");
}
