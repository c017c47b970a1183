/*
 * tests/graph/bodies/iterations.c - forwards of several iterations outside of
 * bodies: eager, unrolled in a capture, and against the same loop as a WHILE
 */
#include <stdlib.h>
#include "tests/support/loops.h"

enum { LIMIT = 6 };

/* Draws one iteration of an open pass. */
static struct numbers drawn_at(struct fixture *f,
			       const struct philox_pass *pass,
			       uint32_t iteration)
{
	struct philox_pass view;

	OK(philox_pass_at(pass, iteration, &view));
	draw(&view, f->scratch);
	return read_numbers(f, f->scratch);
}

static struct philox_ticket eager_loop(struct fixture *f,
				       struct philox_region *region,
				       uint32_t limit)
{
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin_loop(region, f->stream, 0, limit, &pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
	return ticket;
}

/* --- eager ---------------------------------------------------------------- */

PROMISE(iterations, of_an_eager_forward_draw_one_after_another)
{
	struct philox_region *region = make_wide(f, "layer", 0);
	struct philox_ticket ticket;
	struct philox_pass pass;

	forward(f, region);
	OK(philox_forward_begin_loop(region, f->stream, 0, LIMIT, &pass));
	PENDING(region, 2);
	draw(&pass, f->scratch);
	SAME(read_numbers(f, f->scratch), predict(0, "layer", WIDE_ADVANCE),
	     "the pass itself draws iteration 0");
	for (unsigned i = 0; i < LIMIT; i++) /* 5, 3, 1, 5, 3, 1: any order */
		SAME(drawn_at(f, &pass, LIMIT - 1 - (2 * i) % LIMIT),
		     predict(0, "layer",
			     WIDE_ADVANCE * (LIMIT - (2 * i) % LIMIT)),
		     "iteration %u", LIMIT - 1 - (2 * i) % LIMIT);
	for (uint64_t i = 0; i < LIMIT; i++)
		SAME(drawn_at(f, &pass, (uint32_t)i),
		     predict(0, "layer", WIDE_ADVANCE * (1 + i)), "again");
	OK(philox_pass_commit(&pass, 0, &ticket));
	PENDING(region, 2);
	SAME(peek(f, region), predict(0, "layer", WIDE_ADVANCE * (1 + LIMIT)),
	     "the next forward begins after all of them");
	for (uint64_t i = LIMIT; i-- > 0;)
		SAME(iteration_of(f, region, ticket, (uint32_t)i),
		     predict(0, "layer", WIDE_ADVANCE * (1 + i)), "backward");
	SAME(backward_numbers(f, region, ticket, 0),
	     predict(0, "layer", WIDE_ADVANCE), "names iteration 0");
	PENDING(region, 1);
}

PROMISE(iterations, are_as_many_as_the_forward_has)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_pass pass, view, kept;
	struct philox_ticket ticket;

	memset(&view, 0x5a, sizeof(view));
	OK(philox_forward_begin_loop(region, f->stream, 0, LIMIT, &pass));
	OK(philox_pass_at(&pass, LIMIT - 1, &view));
	kept = view;
	FAILS(philox_pass_at(&pass, LIMIT, &view), PHILOX_ERROR_INVALID);
	NAMES("layer");
	FAILS(philox_pass_at(&pass, UINT32_MAX, &view), PHILOX_ERROR_INVALID);
	FAILS(philox_pass_at(&pass, 0, NULL), PHILOX_ERROR_INVALID);
	FAILS(philox_pass_at(NULL, 0, &view), PHILOX_ERROR_INVALID);
	cr_assert_eq(view.iteration, kept.iteration);
	OK(philox_pass_commit(&pass, 0, &ticket));
	FAILS(philox_pass_at(&pass, 0, &view), PHILOX_ERROR_STATE);
	OK(philox_backward_begin(region, f->stream, ticket, 0, &pass));
	FAILS(philox_pass_at(&pass, LIMIT, &view), PHILOX_ERROR_INVALID);
	OK(philox_pass_at(&pass, LIMIT - 1, &view));
	OK(philox_pass_commit(&pass, 0, NULL));
	/* every other forward has one */
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	SAME(drawn_at(f, &pass, 0), predict(0, "layer", 4 * LIMIT), "one");
	FAILS(philox_pass_at(&pass, 1, &view), PHILOX_ERROR_INVALID);
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_backward_begin(region, f->stream, ticket, 0, &pass));
	OK(philox_pass_at(&pass, 0, &view));
	FAILS(philox_pass_at(&pass, 1, &view), PHILOX_ERROR_INVALID);
	OK(philox_pass_abort(&pass));
	PENDING(region, 1);
}

PROMISE(iterations, a_view_of_a_view_is_one_of_its_pass)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_pass pass, view, second, third;
	struct philox_ticket of_pass, of_view, committed;

	OK(philox_forward_begin_loop(region, f->stream, 0, LIMIT, &pass));
	OK(philox_pass_at(&pass, 4, &view));
	OK(philox_pass_at(&view, 2, &second));
	draw(&second, f->scratch);
	SAME(read_numbers(f, f->scratch), predict(0, "layer", 8), "2, not 6");
	OK(philox_pass_at(&second, 5, &third));
	draw(&third, f->scratch);
	SAME(read_numbers(f, f->scratch), predict(0, "layer", 20), "5");
	FAILS(philox_pass_at(&second, LIMIT, &third), PHILOX_ERROR_INVALID);
	OK(philox_pass_ticket(&pass, &of_pass));
	OK(philox_pass_ticket(&second, &of_view));
	cr_assert_eq(of_pass.serial, of_view.serial);
	OK(philox_pass_on(&view, f->side, &third));
	draw(&third, f->scratch);
	SAME(read_numbers(f, f->scratch), predict(0, "layer", 16),
	     "on another stream");
	FAILS(philox_pass_commit(&view, 0, &committed), PHILOX_ERROR_STATE);
	FAILS(philox_pass_abort(&second), PHILOX_ERROR_STATE);
	OK(philox_pass_commit(&pass, 0, &committed));
	PENDING(region, 1);
}

PROMISE(iterations, a_loop_has_a_limit_that_fits_the_offset)
{
	const struct philox_op_desc op = {"huge", 1, (uint64_t)1 << 56};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "huge",
					     .ops = &op,
					     .n_ops = 1};
	struct philox_region *region, *plain = make_region(f, "layer");
	struct ledger_view before = look(f, plain);
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_region_create(f->context, &options, &region));
	FAILS(philox_forward_begin_loop(plain, f->stream, 0, 0, &pass),
	      PHILOX_ERROR_INVALID);
	NAMES("limit");
	FAILS(philox_pass_abort(&pass), PHILOX_ERROR_STATE);
	FAILS(philox_forward_begin_loop(NULL, f->stream, 0, 1, &pass),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_forward_begin_loop(plain, f->stream, 0, 1, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_forward_begin_loop(plain, f->stream, PHILOX_PASS_REVERSED,
					2, &pass),
	      PHILOX_ERROR_INVALID);
	unchanged(f, plain, &before);
	FAILS(philox_forward_begin_loop(region, f->stream, 0, 257, &pass),
	      PHILOX_ERROR_OVERFLOW);
	NAMES("huge");
	FAILS(philox_pass_abort(&pass), PHILOX_ERROR_STATE);
	FAILS(philox_forward_begin_loop(region, f->stream, 0, UINT32_MAX,
					&pass),
	      PHILOX_ERROR_OVERFLOW);
	PENDING(region, 0);
	OK(philox_forward_begin_loop(region, f->stream, 0, 200, &pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
	FAILS(philox_forward_begin_loop(region, f->stream, 0, 57, &pass),
	      PHILOX_ERROR_OVERFLOW);
	PENDING(region, 1);
	OK(philox_forward_begin_loop(region, f->stream, 0, 55, &pass));
	OK(philox_pass_abort(&pass));
}

PROMISE(iterations, an_aborted_loop_burns_all_of_its_numbers)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_pass pass;

	OK(philox_forward_begin_loop(region, f->stream, 0, LIMIT, &pass));
	OK(philox_pass_abort(&pass));
	PENDING(region, 0);
	SAME(forward(f, region).saw, predict(0, "layer", 4 * LIMIT), "after");
}

PROMISE(iterations, inference_reserves_them_and_a_warm_up_does_not)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_pass pass, view;

	OK(philox_forward_begin_loop(region, f->stream, PHILOX_PASS_WARMUP,
				     LIMIT, &pass));
	SAME(drawn_at(f, &pass, 3), predict(0, "layer", 12), "warm-up");
	FAILS(philox_pass_at(&pass, LIMIT, &view), PHILOX_ERROR_INVALID);
	OK(philox_pass_commit(&pass, 0, NULL));
	OK(philox_forward_begin_loop(region, f->stream, PHILOX_PASS_INFERENCE,
				     LIMIT, &pass));
	SAME(drawn_at(f, &pass, 3), predict(0, "layer", 12), "inference");
	OK(philox_pass_commit(&pass, 0, NULL));
	PENDING(region, 0);
	SAME(forward(f, region).saw, predict(0, "layer", 4 * LIMIT), "after");
}

PROMISE(iterations, have_cells_on_the_device)
{
	struct philox_region *region = make_wide(f, "layer", 0);
	const struct philox_state *cells, *others;
	struct philox_state seen[SITES];
	struct philox_pass pass, view;

	OK(philox_forward_begin_loop(region, f->stream, PHILOX_PASS_ON_DEVICE,
				     LIMIT, &pass));
	OK(philox_pass_states(&pass, &cells));
	OK(philox_pass_at(&pass, 4, &view));
	OK(philox_pass_states(&view, &others));
	OK(philox_memory_copy(f->device, f->stream, seen, others,
			      sizeof(seen)));
	OK(philox_stream_synchronize(f->device, f->stream));
	for (uint32_t site = 0; site < SITES; site++) {
		struct philox_state cell =
			predict_cell(0, "layer", site < 2 ? site : site - 1,
				     site == 2, 4 * WIDE_ADVANCE);

		cr_assert_eq(seen[site].seed, cell.seed);
		cr_assert_eq(seen[site].offset, cell.offset);
	}
	draw(&pass, f->scratch);
	SAME(read_numbers(f, f->scratch), predict(0, "layer", 0), "the pass");
	SAME(drawn_at(f, &pass, 4), predict(0, "layer", 4 * WIDE_ADVANCE),
	     "the view");
	OK(philox_pass_abort(&pass));
}

PROMISE(iterations, of_a_shared_region_follow_one_another)
{
	struct philox_region *region =
		make_wide(f, "layer", PHILOX_REGION_SHARED);
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin_loop(region, f->stream, 0, LIMIT, &pass));
	for (uint64_t i = 0; i < LIMIT; i++)
		SAME(drawn_at(f, &pass, (uint32_t)i),
		     predict_shared((struct philox_state){0, i * WIDE_SUM}),
		     "iteration %d", (int)i);
	OK(philox_pass_commit(&pass, 0, &ticket));
	SAME(forward(f, region).saw,
	     predict_shared((struct philox_state){0, LIMIT * WIDE_SUM}),
	     "the next forward");
	SAME(iteration_of(f, region, ticket, 5),
	     predict_shared((struct philox_state){0, 5 * WIDE_SUM}),
	     "a backward");
}

PROMISE(iterations, a_word_is_for_captured_passes)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *word = make_memory(f, 16);
	struct philox_pass pass, view;

	OK(philox_forward_begin_loop(region, f->stream, 0, LIMIT, &pass));
	FAILS(philox_pass_at_word(&pass, word, &view), PHILOX_ERROR_STATE);
	OK(philox_pass_abort(&pass));
	FAILS(philox_pass_at_word(&pass, word, &view), PHILOX_ERROR_STATE);
	FAILS(philox_pass_at_word(NULL, word, &view), PHILOX_ERROR_INVALID);
}

/* --- saved and loaded ----------------------------------------------------- */

PROMISE(iterations, of_a_ticket_survive_a_save_and_load)
{
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct log log;
	struct philox_ticket tickets[3];
	struct philox_pass pass, view;
	struct fixture twin = *f;
	size_t size;
	char *text;

	make_log(f, &log);
	tickets[0] = eager_loop(f, region, LIMIT);
	tickets[1] =
		launch_one(f, record_while(f, region, 3, tape, &log)).ticket;
	tickets[2] = forward(f, region).ticket;
	OK(philox_context_save_text(f->context, &text, &size));
	OK(philox_context_create(f->device, &twin.context));
	region = make_region(&twin, "layer");
	OK(philox_context_load_text(twin.context, text, size));
	free(text);
	PENDING(region, 3);
	for (uint32_t i = 0; i < LIMIT; i++)
		SAME(iteration_of(&twin, region, tickets[0], i),
		     predict(0, "layer", 4 * i), "eager, iteration %u", i);
	for (uint32_t i = 0; i < 3; i++)
		SAME(iteration_of(&twin, region, tickets[1], i),
		     predict(0, "layer", 4 * (LIMIT + i)), "launched, %u", i);
	for (int i = 0; i < 3; i++) {
		static const uint32_t has[] = {LIMIT, 3, 1};

		OK(philox_backward_begin(region, f->stream, tickets[i], 0,
					 &pass));
		OK(philox_pass_at(&pass, has[i] - 1, &view));
		FAILS(philox_pass_at(&pass, has[i], &view),
		      PHILOX_ERROR_INVALID);
		OK(philox_pass_commit(&pass, 0, NULL));
	}
	SAME(peek(&twin, region), predict(0, "layer", 4 * (LIMIT + 3 + 1)),
	     "the next forward");
	OK(philox_device_synchronize(f->device));
	philox_context_destroy(twin.context);
}

/* Saved again, the text is the same. */
PROMISE(iterations, are_saved_as_they_were_loaded)
{
	struct philox_region *region = make_region(f, "layer");
	size_t size, size_again;
	char *text, *again;

	eager_loop(f, region, LIMIT);
	forward(f, region);
	eager_loop(f, region, 1);
	OK(philox_context_save_text(f->context, &text, &size));
	OK(philox_context_load_text(f->context, text, size));
	OK(philox_context_save_text(f->context, &again, &size_again));
	cr_assert_eq(size, size_again);
	cr_assert_str_eq(text, again);
	free(text);
	free(again);
}

/* Texts of contexts without loops are as they were before there were any. */
PROMISE(iterations, are_in_texts_of_loops_only)
{
	static const char expected[] =
		"philox context 1\n"
		"generator 0 state 0000000000000000 0000000000000000\n"
		"region \"layer\" alive generator 0 flags 0 next "
		"361ae3cb4af1eeba 000000000000000c serial 4\n"
		"op \"a\" calls 1 advance 4\n"
		"op \"b\" calls 1 advance 4\n"
		"ticket 1 state 361ae3cb4af1eeba 0000000000000000\n"
		"ticket 2 state 361ae3cb4af1eeba 0000000000000004\n"
		"checksum 2c417057f4fa1f50 bytes 306\n";
	const char *const ops[] = {"a", "b"};
	struct philox_region *region;
	struct philox_ticket ticket;
	struct philox_pass pass;
	char *text;

	OK(philox_region_create_named(f->context, "layer", ops, 2, &region));
	for (int i = 0; i < 3; i++) {
		if (i == 1)
			ticket = eager_loop(f, region, 1);
		else
			OK(philox_forward_begin(region, f->stream, 0, &pass));
		if (i != 1)
			OK(philox_pass_commit(&pass, 0, &ticket));
	}
	OK(philox_ticket_release(region, f->stream, ticket));
	OK(philox_context_save_text(f->context, &text, NULL));
	cr_assert_str_eq(text, expected);
	free(text);
	eager_loop(f, region, 2);
	OK(philox_context_save_text(f->context, &text, NULL));
	cr_assert(strlen(text) > sizeof(expected) + 20, "%s", text);
	free(text);
}

/* --- the same loop in three ways ------------------------------------------ */

/* A forward with all of its iterations unrolled, in a capture. */
static struct philox_graph *record_unrolled(struct fixture *f,
					    struct philox_region *region,
					    struct log *log)
{
	struct philox_ticket ticket;
	struct philox_pass pass, view;

	record_begin(f);
	OK(philox_forward_begin_loop(region, f->stream, 0, LIMIT, &pass));
	for (uint32_t i = 0; i < LIMIT; i++) {
		OK(philox_pass_at(&pass, i, &view));
		draw_to_log(f, &view, log);
	}
	OK(philox_pass_commit(&pass, 0, &ticket));
	return record_end(f);
}

GRAPH_PROMISE(iterations, eager_unrolled_or_in_a_while_are_the_same)
{
	struct philox_region *region = make_wide(f, "layer", 0);
	struct philox_graph_pass_info info =
		PHILOX_INIT(struct philox_graph_pass_info);
	struct tape tape = make_tape(f);
	struct philox_graph *loop, *unrolled;
	struct philox_ticket ticket;
	struct philox_pass pass;
	struct log log;
	const unsigned count = LIMIT;

	make_log(f, &log);
	loop = record_while(f, region, LIMIT, tape, &log);
	unrolled = record_unrolled(f, region, &log);
	OK(philox_graph_get_pass_info(unrolled, 0, &info));
	cr_assert_eq(info.iterations, LIMIT);
	for (uint64_t round = 0; round < 9; round++) {
		struct philox_launch_pass use = {{0, 0}, 0, 0};
		uint64_t at = WIDE_ADVANCE * LIMIT * round;

		clear_log(f, &log);
		set_counts(f, tape, &count, 1);
		if (round % 3 == 0) {
			use = launch_one(f, loop);
		} else if (round % 3 == 1) {
			use = launch_one(f, unrolled);
		} else {
			OK(philox_forward_begin_loop(region, f->stream, 0,
						     LIMIT, &pass));
			for (uint32_t i = 0; i < LIMIT; i++) {
				struct philox_pass view;

				OK(philox_pass_at(&pass, i, &view));
				draw_to_log(f, &view, &log);
			}
			OK(philox_pass_commit(&pass, 0, &use.ticket));
		}
		ticket = use.ticket;
		read_log(f, &log);
		LOGGED_IN_ALL(&log, LIMIT);
		for (unsigned i = 0; i < LIMIT; i++) {
			LOGGED(&log, i,
			       predict(0, "layer", at + WIDE_ADVANCE * i));
			SAME(iteration_of(f, region, ticket, i), log.run[i],
			     "round %d, iteration %u", (int)round, i);
		}
		OK(philox_ticket_release(region, f->stream, ticket));
	}
	nothing_wrong(f);
}

/* An unrolled backward of any loop's ticket. */
GRAPH_PROMISE(iterations, of_a_ticket_are_named_at_launch)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_graph_pass_info info =
		PHILOX_INIT(struct philox_graph_pass_info);
	struct tape tape = make_tape(f);
	struct philox_graph *loop, *back;
	struct philox_pass pass, view;
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	struct ledger_view before;
	struct log log, forth;

	make_log(f, &log);
	make_log(f, &forth);
	loop = record_while(f, region, LIMIT, tape, &forth);
	record_begin(f);
	OK(philox_backward_begin(region, f->stream,
				 (struct philox_ticket){0, 0}, 0, &pass));
	for (uint32_t i = LIMIT; i-- > 0;) {
		OK(philox_pass_at(&pass, i, &view));
		draw_to_log(f, &view, &log);
	}
	draw_to_log(f, &pass, &log);
	OK(philox_pass_commit(&pass, 0, NULL));
	back = record_end(f);
	OK(philox_graph_get_pass_info(back, 0, &info));
	cr_assert_eq(info.iterations, LIMIT);
	use.ticket = eager_loop(f, region, LIMIT - 1);
	before = look(f, region);
	FAILS(philox_graph_launch(back, f->stream, &use, 1),
	      PHILOX_ERROR_MISMATCH);
	NAMES("layer");
	unchanged(f, region, &before);
	for (uint64_t round = 0; round < 2; round++) {
		uint64_t at = 4 * (LIMIT - 1 + LIMIT * round);

		clear_log(f, &log);
		if (round)
			use = launch_one(f, loop);
		else
			use.ticket = eager_loop(f, region, LIMIT);
		OK(philox_graph_launch(back, f->stream, &use, 1));
		read_log(f, &log);
		LOGGED_IN_ALL(&log, LIMIT + 1);
		for (unsigned i = 0; i < LIMIT; i++)
			LOGGED(&log, i,
			       predict(0, "layer", at + 4 * (LIMIT - 1 - i)));
		LOGGED(&log, LIMIT, predict(0, "layer", at));
	}
	PENDING(region, 1);
	nothing_wrong(f);
}

/* Passes of one capture: a forward of the loop, a backward unrolled. */
GRAPH_PROMISE(iterations, of_a_placeholder_are_those_of_its_forward)
{
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_conditional loop;
	struct philox_pass pass, view;
	struct philox_ticket ticket;
	struct philox_graph *graph;
	struct log log, forth;
	const unsigned counts[] = {2, 6};

	make_log(f, &log);
	make_log(f, &forth);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	ticket = forward_in(f, region, f->side, &forth);
	end_while(f, f->side, tape, &loop);
	OK(philox_backward_begin(region, f->stream, ticket, 0, &pass));
	FAILS(philox_pass_at(&pass, LIMIT, &view), PHILOX_ERROR_INVALID);
	for (uint32_t i = LIMIT; i-- > 0;) {
		OK(philox_pass_at(&pass, i, &view));
		draw_to_log(f, &view, &log);
	}
	OK(philox_pass_commit(&pass, 0, NULL));
	graph = record_end(f);
	set_counts(f, tape, counts, 2);
	for (uint64_t launch = 0; launch < 2; launch++) {
		struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}};

		clear_log(f, &log);
		OK(philox_graph_launch(graph, f->stream, uses, 2));
		read_log(f, &log);
		LOGGED_IN_ALL(&log, LIMIT);
		for (unsigned i = 0; i < LIMIT; i++)
			LOGGED(&log, i,
			       predict(0, "layer",
				       4 * (LIMIT * launch + LIMIT - 1 - i)));
	}
	PENDING(region, 0);
	nothing_wrong(f);
}
