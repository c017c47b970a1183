/*
 * tests/graph/bodies/iterations_word.c - iterations that a captured pass takes
 * by number, or from a word of device memory, in bodies and outside
 */
#include "tests/support/loops.h"

enum { LIMIT = 6 };

/* --- from a word ---------------------------------------------------------- */

/* A forward in a loop, and a backward after it at the tape's next word. */
static struct philox_graph *record_at_word(struct fixture *f,
					   struct philox_region *region,
					   struct tape tape, struct tape order,
					   struct log *forth, struct log *back)
{
	struct philox_conditional loop;
	struct philox_pass pass, view;
	struct philox_ticket ticket;

	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	ticket = forward_in(f, region, f->side, forth);
	end_while(f, f->side, tape, &loop);
	take_word(f, f->stream, order);
	OK(philox_backward_begin(region, f->stream, ticket, 0, &pass));
	OK(philox_pass_at_word(&pass, order.word, &view));
	draw_to_log(f, &view, back);
	OK(philox_pass_commit(&pass, 0, NULL));
	return record_end(f);
}

GRAPH_PROMISE(at_word, each_launch_draws_the_iteration_of_the_word)
{
	static const uint32_t order[] = {3, 0, 5, 5, 1, 4, 2};
	struct philox_region *region = make_wide(f, "layer", 0);
	struct tape tape = make_tape(f), words = make_tape(f);
	struct philox_graph *graph;
	struct log forth, back;

	make_log(f, &forth);
	make_log(f, &back);
	graph = record_at_word(f, region, tape, words, &forth, &back);
	set_tape(f, words, order, 7);
	for (unsigned launch = 0; launch < 7; launch++) {
		struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}};

		OK(philox_graph_launch(graph, f->stream, uses, 2));
	}
	read_log(f, &back);
	LOGGED_IN_ALL(&back, 7);
	for (uint64_t launch = 0; launch < 7; launch++)
		LOGGED(&back, launch,
		       predict(0, "layer",
			       WIDE_ADVANCE *
				       (LIMIT * launch + order[launch])));
	nothing_wrong(f);
}

GRAPH_PROMISE(at_word, an_iteration_that_there_is_not_is_poison)
{
	static const uint32_t order[] = {LIMIT, 5, UINT32_MAX, 0, LIMIT + 1};
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f), words = make_tape(f);
	struct philox_graph *graph;
	struct log forth, back;

	make_log(f, &forth);
	make_log(f, &back);
	graph = record_at_word(f, region, tape, words, &forth, &back);
	set_tape(f, words, order, 5);
	for (unsigned launch = 0; launch < 5; launch++) {
		struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}};

		clear_log(f, &back);
		OK(philox_graph_launch(graph, f->stream, uses, 2));
		read_log(f, &back);
		LOGGED_IN_ALL(&back, 1);
		if (launch % 2) {
			LOGGED(&back, 0,
			       predict(0, "layer",
				       4 * (LIMIT * launch + order[launch])));
			nothing_wrong(f);
		} else {
			POISON_LOGGED(&back, 0);
			beyond_limits(f, 1);
		}
	}
}

/* A ticket that is named at launch may have more or fewer than the last one. */
GRAPH_PROMISE(at_word, a_ticket_named_at_launch_has_its_own_iterations)
{
	static const uint32_t order[] = {4, 4, 1, 0};
	static const uint32_t has[] = {5, 4, 2, 1};
	struct philox_region *region = make_region(f, "layer");
	struct tape words = make_tape(f);
	struct philox_graph *graph;
	struct philox_pass pass, view;
	struct log back;
	uint64_t at = 0;

	make_log(f, &back);
	record_begin(f);
	take_word(f, f->stream, words);
	OK(philox_backward_begin(region, f->stream,
				 (struct philox_ticket){0, 0}, 0, &pass));
	OK(philox_pass_at_word(&pass, words.word, &view));
	draw_to_log(f, &view, &back);
	OK(philox_pass_commit(&pass, 0, NULL));
	graph = record_end(f);
	set_tape(f, words, order, 4);
	for (int i = 0; i < 4; i++) {
		struct philox_launch_pass use = {{0, 0}, 0, 0};

		OK(philox_forward_begin_loop(region, f->stream, 0, has[i],
					     &pass));
		OK(philox_pass_commit(&pass, 0, &use.ticket));
		clear_log(f, &back);
		OK(philox_graph_launch(graph, f->stream, &use, 1));
		read_log(f, &back);
		LOGGED_IN_ALL(&back, 1);
		if (order[i] < has[i]) {
			LOGGED(&back, 0,
			       predict(0, "layer", at + 4 * order[i]));
			nothing_wrong(f);
		} else {
			POISON_LOGGED(&back, 0);
			beyond_limits(f, 1);
		}
		at += 4 * has[i];
	}
	PENDING(region, 0);
}

/* In a body the word is read in each run. */
GRAPH_PROMISE(at_word, each_run_reads_the_word_again)
{
	static const uint32_t order[] = {5, 3, 1, 0, 2, 4};
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f), words = make_tape(f);
	struct philox_conditional loop;
	struct philox_pass pass, view;
	struct philox_ticket ticket;
	struct philox_graph *graph;
	struct log forth, back, own;
	const unsigned counts[] = {6, 6, 2, 3};

	make_log(f, &forth);
	make_log(f, &back);
	make_log(f, &own);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	ticket = forward_in(f, region, f->side, &forth);
	end_while(f, f->side, tape, &loop);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	OK(philox_backward_begin(region, f->side, ticket, 0, &pass));
	take_word(f, f->side, words);
	OK(philox_pass_at_word(&pass, words.word, &view));
	draw_to_log(f, &view, &back);
	draw_to_log(f, &pass, &own);
	OK(philox_pass_commit(&pass, 0, NULL));
	end_while(f, f->side, tape, &loop);
	graph = record_end(f);
	set_counts(f, tape, counts, 4);
	for (uint64_t launch = 0; launch < 2; launch++) {
		struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}};

		set_tape(f, words, order, 6);
		clear_log(f, &back);
		clear_log(f, &own);
		OK(philox_graph_launch(graph, f->stream, uses, 2));
		read_log(f, &back);
		read_log(f, &own);
		LOGGED_IN_ALL(&back, counts[2 * launch + 1]);
		for (unsigned i = 0; i < back.n; i++) {
			LOGGED(&back, i,
			       predict(0, "layer",
				       4 * (LIMIT * launch + order[i])));
			LOGGED(&own, i,
			       predict(0, "layer", 4 * (LIMIT * launch + i)));
		}
	}
	nothing_wrong(f);
}

GRAPH_PROMISE(at_word, a_run_with_a_wrong_word_is_poison_alone)
{
	static const uint32_t order[] = {2, LIMIT, 1, 99};
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f), words = make_tape(f);
	struct philox_conditional loop;
	struct philox_pass pass, view;
	struct philox_ticket ticket;
	struct philox_graph *graph;
	struct log log;
	const unsigned count = 4;

	make_log(f, &log);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	OK(philox_forward_begin(region, f->side, 0, &pass));
	take_word(f, f->side, words);
	OK(philox_pass_at_word(&pass, words.word, &view));
	draw_to_log(f, &view, &log);
	OK(philox_pass_commit(&pass, 0, &ticket));
	end_while(f, f->side, tape, &loop);
	graph = record_end(f);
	set_tape(f, words, order, 4);
	set_counts(f, tape, &count, 1);
	launch_one(f, graph);
	read_log(f, &log);
	LOGGED_IN_ALL(&log, 4);
	LOGGED(&log, 0, predict(0, "layer", 8));
	POISON_LOGGED(&log, 1);
	LOGGED(&log, 2, predict(0, "layer", 4));
	POISON_LOGGED(&log, 3);
	beyond_limits(f, 2);
}

/* The number of a body's run is such a word: a loop of an unrolled forward. */
GRAPH_PROMISE(at_word, the_number_of_the_run_is_a_word)
{
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_conditional loop;
	struct philox_pass pass, view;
	struct philox_ticket ticket;
	struct philox_graph *graph;
	const uint32_t *iteration;
	struct log forth, back;
	const unsigned counts[] = {LIMIT, 2};

	make_log(f, &forth);
	make_log(f, &back);
	record_begin(f);
	OK(philox_forward_begin_loop(region, f->stream, 0, LIMIT, &pass));
	OK(philox_pass_at(&pass, 2, &view));
	draw_to_log(f, &view, &forth);
	OK(philox_pass_commit(&pass, 0, &ticket));
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	OK(philox_conditional_iteration(&loop, 0, &iteration));
	OK(philox_backward_begin(region, f->side, ticket, 0, &pass));
	OK(philox_pass_at_word(&pass, iteration, &view));
	draw_to_log(f, &view, &back);
	OK(philox_pass_commit(&pass, 0, NULL));
	end_while(f, f->side, tape, &loop);
	graph = record_end(f);
	set_counts(f, tape, counts, 2);
	for (uint64_t launch = 0; launch < 2; launch++) {
		struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}};

		clear_log(f, &back);
		OK(philox_graph_launch(graph, f->stream, uses, 2));
		read_log(f, &back);
		LOGGED_IN_ALL(&back, counts[launch]);
		for (unsigned i = 0; i < back.n; i++)
			LOGGED(&back, i,
			       predict(0, "layer", 4 * (LIMIT * launch + i)));
	}
	read_log(f, &forth);
	LOGGED(&forth, 1, predict(0, "layer", 4 * (LIMIT + 2)));
	nothing_wrong(f);
}

GRAPH_PROMISE(at_word, a_word_must_be_a_word)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f), *word = make_memory(f, 16);
	struct philox_pass pass, view;
	struct philox_ticket ticket;
	struct philox_graph *graph;

	record_begin(f);
	OK(philox_forward_begin_loop(region, f->stream, 0, LIMIT, &pass));
	FAILS(philox_pass_at_word(&pass, NULL, &view), PHILOX_ERROR_INVALID);
	FAILS(philox_pass_at_word(&pass, (uint32_t *)((char *)word + 2), &view),
	      PHILOX_ERROR_INVALID);
	NAMES("aligned");
	FAILS(philox_pass_at_word(&pass, word, NULL), PHILOX_ERROR_INVALID);
	FAILS(philox_pass_at_word(NULL, word, &view), PHILOX_ERROR_INVALID);
	OK(philox_pass_at(&pass, 3, &view));
	draw(&view, array);
	OK(philox_pass_commit(&pass, 0, &ticket));
	FAILS(philox_pass_at_word(&pass, word, &view), PHILOX_ERROR_STATE);
	graph = record_end(f);
	SAME(launch_forward(f, graph, region, array).saw,
	     predict(0, "layer", 12), "the capture went on");
	nothing_wrong(f);
}

/* --- by number ------------------------------------------------------------ */

/* A view in a body holds its iteration in each run. */
GRAPH_PROMISE(at_word, a_view_in_a_body_is_the_same_in_each_run)
{
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_conditional loop;
	struct philox_pass pass, view, second;
	struct philox_ticket ticket;
	struct philox_graph *graph;
	struct log fixed, own;
	const unsigned counts[] = {4, 2};

	make_log(f, &fixed);
	make_log(f, &own);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	OK(philox_forward_begin(region, f->side, 0, &pass));
	FAILS(philox_pass_at(&pass, LIMIT, &view), PHILOX_ERROR_INVALID);
	OK(philox_pass_at(&pass, 5, &second));
	OK(philox_pass_at(&second, 3, &view));
	draw_to_log(f, &view, &fixed);
	draw_to_log(f, &pass, &own);
	OK(philox_pass_commit(&pass, 0, &ticket));
	end_while(f, f->side, tape, &loop);
	graph = record_end(f);
	set_counts(f, tape, counts, 2);
	for (uint64_t launch = 0; launch < 2; launch++) {
		uint64_t at = 4 * LIMIT * launch;

		clear_log(f, &fixed);
		clear_log(f, &own);
		launch_one(f, graph);
		read_log(f, &fixed);
		read_log(f, &own);
		LOGGED_IN_ALL(&fixed, counts[launch]);
		for (unsigned i = 0; i < counts[launch]; i++) {
			LOGGED(&fixed, i, predict(0, "layer", at + 12));
			LOGGED(&own, i, predict(0, "layer", at + 4 * i));
		}
	}
	nothing_wrong(f);
}

GRAPH_PROMISE(at_word, a_loop_in_a_body_has_the_limit_of_the_body)
{
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_conditional loop;
	struct philox_pass pass;
	struct philox_graph *graph;
	struct log log;
	const unsigned count = 2;

	make_log(f, &log);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	FAILS(philox_forward_begin_loop(region, f->side, 0, LIMIT, &pass),
	      PHILOX_ERROR_STATE);
	NAMES("layer");
	FAILS(philox_pass_abort(&pass), PHILOX_ERROR_STATE);
	forward_in(f, region, f->side, &log);
	end_while(f, f->side, tape, &loop);
	graph = record_end(f);
	cr_assert_eq(philox_graph_pass_count(graph), 1);
	set_counts(f, tape, &count, 1);
	launch_one(f, graph);
	read_log(f, &log);
	LOGGED_IN_ALL(&log, 2);
	LOGGED(&log, 1, predict(0, "layer", 4));
	nothing_wrong(f);
}

/* A capture may reserve more in one launch than there is. */
GRAPH_PROMISE(at_word, a_captured_loop_fits_the_offset)
{
	const struct philox_op_desc op = {"huge", 1, (uint64_t)1 << 56};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "huge",
					     .ops = &op,
					     .n_ops = 1};
	struct philox_region *region;
	struct philox_pass pass;
	struct philox_ticket ticket;
	struct philox_graph *graph;
	struct philox_launch_pass use = {{6, 6}, 0, 0};

	OK(philox_region_create(f->context, &options, &region));
	record_begin(f);
	FAILS(philox_forward_begin_loop(region, f->stream, 0, 0, &pass),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_forward_begin_loop(region, f->stream, 0, 300, &pass),
	      PHILOX_ERROR_OVERFLOW);
	NAMES("huge");
	OK(philox_forward_begin_loop(region, f->stream, 0, 100, &pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
	graph = record_end(f);
	for (int launch = 0; launch < 2; launch++) {
		OK(philox_graph_launch(graph, f->stream, &use, 1));
		OK(philox_ticket_release(region, f->stream, use.ticket));
	}
	use.ticket.serial = 6;
	FAILS(philox_graph_launch(graph, f->stream, &use, 1),
	      PHILOX_ERROR_OVERFLOW);
	NAMES("huge");
	cr_assert_eq(use.ticket.serial, 6);
	PENDING(region, 0);
	OK(philox_forward_begin_loop(region, f->stream, 0, 55, &pass));
	OK(philox_pass_abort(&pass));
}
