/*
 * tests/graph/bodies/backward.c - backwards in bodies: the table of
 * philox/graph.h line by line
 */
#include "tests/support/loops.h"

enum { LIMIT = 6 };

static const struct philox_ticket named_at_launch = {0, 0};

/* Two logs of one graph: what a forward and a backward drew. */
struct pair {
	struct philox_region *region;
	struct tape tape;
	struct log forth, back;
	philox_stream inmost;
};

static void open_pair(struct fixture *f, struct pair *p)
{
	p->region = make_region(f, "layer");
	p->tape = make_tape(f);
	make_log(f, &p->forth);
	make_log(f, &p->back);
	OK(philox_stream_create(f->device, 0, &p->inmost));
}

static void close_pair(struct fixture *f, struct pair *p)
{
	OK(philox_device_synchronize(f->device));
	OK(philox_stream_destroy(f->device, p->inmost));
}

static void read_pair(struct fixture *f, struct pair *p)
{
	read_log(f, &p->forth);
	read_log(f, &p->back);
}

static void clear_pair(struct fixture *f, struct pair *p)
{
	clear_log(f, &p->forth);
	clear_log(f, &p->back);
}

/* Launches a pair that leaves no ticket. */
static void launch_pair(struct fixture *f, struct pair *p,
			struct philox_graph *graph)
{
	struct philox_launch_pass uses[2] = {{{6, 6}, 0, 0}, {{7, 7}, 0, 0}};

	clear_pair(f, p);
	OK(philox_graph_launch(graph, f->stream, uses, 2));
	cr_assert_eq(uses[0].ticket.serial, 0, "the backward uses it up");
	read_pair(f, p);
	PENDING(p->region, 0);
}

/* --- in the same capture -------------------------------------------------- */

GRAPH_PROMISE(backwards, of_a_forward_outside_repeat_it_in_each_run)
{
	static const unsigned counts[] = {3, 0, 6};
	struct pair p;
	struct philox_conditional loop;
	struct philox_ticket ticket;
	struct philox_graph *graph;

	open_pair(f, &p);
	record_begin(f);
	ticket = forward_in(f, p.region, f->stream, &p.forth);
	begin_while(f, f->stream, f->side, LIMIT, p.tape, &loop);
	backward_in(f, p.region, ticket, f->side, 0, &p.back);
	end_while(f, f->side, p.tape, &loop);
	graph = record_end(f);
	set_counts(f, p.tape, counts, 3);
	for (uint64_t launch = 0; launch < 3; launch++) {
		launch_pair(f, &p, graph);
		LOGGED_IN_ALL(&p.forth, 1);
		LOGGED_IN_ALL(&p.back, counts[launch]);
		LOGGED(&p.forth, 0, predict(0, "layer", 4 * launch));
		for (unsigned i = 0; i < counts[launch]; i++)
			LOGGED(&p.back, i, p.forth.run[0]);
	}
	nothing_wrong(f);
	close_pair(f, &p);
}

GRAPH_PROMISE(backwards, in_the_body_of_their_forward_repeat_the_run)
{
	static const unsigned counts[] = {3, 0, 6};
	struct pair p;
	struct philox_conditional loop;
	struct philox_ticket ticket;
	struct philox_graph *graph;

	open_pair(f, &p);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, p.tape, &loop);
	ticket = forward_in(f, p.region, f->side, &p.forth);
	backward_in(f, p.region, ticket, f->side, 0, &p.back);
	end_while(f, f->side, p.tape, &loop);
	graph = record_end(f);
	set_counts(f, p.tape, counts, 3);
	for (uint64_t launch = 0; launch < 3; launch++) {
		launch_pair(f, &p, graph);
		LOGGED_IN_ALL(&p.back, counts[launch]);
		for (unsigned i = 0; i < counts[launch]; i++) {
			LOGGED(&p.forth, i,
			       predict(0, "layer", 4 * (LIMIT * launch + i)));
			LOGGED(&p.back, i, p.forth.run[i]);
		}
	}
	nothing_wrong(f);
	close_pair(f, &p);
}

/* The branch's own count lags behind; it is the loop's run that matters. */
GRAPH_PROMISE(backwards, in_a_body_within_repeat_the_run_around)
{
	static const uint32_t words[] = {1, 0, 1, 0, 1, 1, 1, 0, 1, 1, 0};
	struct pair p;
	struct philox_conditional loop, branch;
	struct philox_ticket ticket;
	struct philox_graph *graph;

	open_pair(f, &p);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, p.tape, &loop);
	ticket = forward_in(f, p.region, f->side, &p.forth);
	begin_if(f, f->side, p.inmost, p.tape, &branch);
	backward_in(f, p.region, ticket, p.inmost, 0, &p.back);
	OK(philox_conditional_end(&branch));
	end_while(f, f->side, p.tape, &loop);
	graph = record_end(f);
	set_tape(f, p.tape, words, 11);
	launch_pair(f, &p, graph);
	LOGGED_IN_ALL(&p.forth, 5);
	LOGGED_IN_ALL(&p.back, 2);
	LOGGED(&p.back, 0, predict(0, "layer", 4 * 2));
	LOGGED(&p.back, 1, predict(0, "layer", 4 * 4));
	nothing_wrong(f);
	close_pair(f, &p);
}

/* A forward in one loop, its backward in another after it. */
static struct philox_graph *record_two_loops(struct fixture *f, struct pair *p,
					     uint32_t limit, uint32_t back,
					     unsigned flags)
{
	struct philox_conditional loop;
	struct philox_ticket ticket;

	record_begin(f);
	begin_while(f, f->stream, f->side, limit, p->tape, &loop);
	ticket = forward_in(f, p->region, f->side, &p->forth);
	end_while(f, f->side, p->tape, &loop);
	begin_while(f, f->stream, f->side, back, p->tape, &loop);
	backward_in(f, p->region, ticket, f->side, flags, &p->back);
	end_while(f, f->side, p->tape, &loop);
	return record_end(f);
}

GRAPH_PROMISE(backwards, in_another_body_take_the_iterations_in_order)
{
	/* forwards, backwards; backwards of iterations that did not run, too */
	static const unsigned counts[][2] = {{3, 3}, {6, 4}, {0, 0}, {2, 5}};
	struct pair p;
	struct philox_graph *graph;

	open_pair(f, &p);
	graph = record_two_loops(f, &p, LIMIT, LIMIT, 0);
	for (uint64_t launch = 0; launch < 4; launch++) {
		set_counts(f, p.tape, counts[launch], 2);
		launch_pair(f, &p, graph);
		LOGGED_IN_ALL(&p.forth, counts[launch][0]);
		LOGGED_IN_ALL(&p.back, counts[launch][1]);
		for (unsigned i = 0; i < counts[launch][1]; i++)
			LOGGED(&p.back, i,
			       predict(0, "layer", 4 * (LIMIT * launch + i)));
	}
	nothing_wrong(f);
	close_pair(f, &p);
}

GRAPH_PROMISE(backwards, reversed_go_from_the_last_run_to_the_first)
{
	static const unsigned counts[][2] = {{3, 3}, {6, 6}, {0, 0},
					     {5, 2}, {1, 1}, {6, 1}};
	struct pair p;
	struct philox_graph *graph;

	open_pair(f, &p);
	graph = record_two_loops(f, &p, LIMIT, LIMIT, PHILOX_PASS_REVERSED);
	for (uint64_t launch = 0; launch < 6; launch++) {
		unsigned ran = counts[launch][0];

		set_counts(f, p.tape, counts[launch], 2);
		launch_pair(f, &p, graph);
		LOGGED_IN_ALL(&p.back, counts[launch][1]);
		for (unsigned i = 0; i < counts[launch][1]; i++)
			LOGGED(&p.back, i, p.forth.run[ran - 1 - i]);
	}
	nothing_wrong(f);
	close_pair(f, &p);
}

GRAPH_PROMISE(backwards, reversed_find_poison_when_no_iteration_is_left)
{
	static const unsigned too_many[] = {2, 4}, none[] = {0, 1},
			      right[] = {2, 2};
	struct pair p;
	struct philox_graph *graph;

	open_pair(f, &p);
	graph = record_two_loops(f, &p, LIMIT, LIMIT, PHILOX_PASS_REVERSED);
	set_counts(f, p.tape, too_many, 2);
	launch_pair(f, &p, graph);
	LOGGED(&p.back, 0, p.forth.run[1]);
	LOGGED(&p.back, 1, p.forth.run[0]);
	LOGGED_IN_ALL(&p.back, 4);
	POISON_LOGGED(&p.back, 2);
	POISON_LOGGED(&p.back, 3);
	beyond_limits(f, 2);
	set_counts(f, p.tape, none, 2);
	launch_pair(f, &p, graph);
	LOGGED_IN_ALL(&p.back, 1);
	POISON_LOGGED(&p.back, 0);
	beyond_limits(f, 1);
	set_counts(f, p.tape, right, 2);
	launch_pair(f, &p, graph);
	LOGGED(&p.back, 0, p.forth.run[1]);
	LOGGED(&p.back, 1, p.forth.run[0]);
	nothing_wrong(f);
	close_pair(f, &p);
}

/*
 * Beyond the limit of the forward's body: an iteration that was poison is
 * poison to a REVERSED backward, too. A body that has more runs than its own
 * limit still repeats the forward around it.
 */
GRAPH_PROMISE(backwards, beyond_a_limit_find_what_the_forward_has)
{
	const unsigned first[] = {LIMIT + 1, 3, 0};
	struct pair p;
	struct philox_conditional loop;
	struct philox_ticket ticket, outside;
	struct philox_graph *graph;
	struct philox_launch_pass uses[4] = {{{0, 0}, 0, 0}};
	struct log around, source;
	const unsigned last[] = {0, 0, 3};

	open_pair(f, &p);
	make_log(f, &around);
	make_log(f, &source);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, p.tape, &loop);
	ticket = forward_in(f, p.region, f->side, &p.forth);
	end_while_own(f, f->side, p.tape, &loop);
	begin_while(f, f->stream, f->side, LIMIT, p.tape, &loop);
	backward_in(f, p.region, ticket, f->side, PHILOX_PASS_REVERSED,
		    &p.back);
	end_while(f, f->side, p.tape, &loop);
	outside = forward_in(f, p.region, f->stream, &source);
	begin_while(f, f->stream, f->side, 2, p.tape, &loop);
	backward_in(f, p.region, outside, f->side, 0, &around);
	end_while_own(f, f->side, p.tape, &loop);
	graph = record_end(f);
	set_counts(f, p.tape, first, 3);
	OK(philox_graph_launch(graph, f->stream, uses, 4));
	read_pair(f, &p);
	LOGGED_IN_ALL(&p.forth, LIMIT + 1);
	POISON_LOGGED(&p.forth, LIMIT);
	LOGGED_IN_ALL(&p.back, 3);
	POISON_LOGGED(&p.back, 0);
	LOGGED(&p.back, 1, predict(0, "layer", 4 * (LIMIT - 1)));
	LOGGED(&p.back, 2, predict(0, "layer", 4 * (LIMIT - 2)));
	beyond_limits(f, 2);
	set_counts(f, p.tape, last, 3);
	OK(philox_graph_launch(graph, f->stream, uses, 4));
	read_log(f, &around);
	read_log(f, &source);
	LOGGED_IN_ALL(&around, 3);
	for (unsigned i = 0; i < 3; i++)
		LOGGED(&around, i, source.run[1]);
	beyond_limits(f, 1);
	close_pair(f, &p);
}

/* The forwards of a branch, reversed by how often that was taken. */
GRAPH_PROMISE(backwards, reversed_count_the_body_of_the_forward)
{
	/* a loop whose branch is taken in runs 1 and 3; then 2 runs back */
	static const uint32_t words[] = {1, 0, 1, 1, 1, 0, 1, 1, 0, 1, 1, 0};
	struct pair p;
	struct philox_conditional loop, branch;
	struct philox_ticket ticket;
	struct philox_graph *graph;

	open_pair(f, &p);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, p.tape, &loop);
	begin_if(f, f->side, p.inmost, p.tape, &branch);
	ticket = forward_in(f, p.region, p.inmost, &p.forth);
	OK(philox_conditional_end(&branch));
	end_while(f, f->side, p.tape, &loop);
	begin_while(f, f->stream, f->side, LIMIT, p.tape, &loop);
	backward_in(f, p.region, ticket, f->side, PHILOX_PASS_REVERSED,
		    &p.back);
	end_while(f, f->side, p.tape, &loop);
	graph = record_end(f);
	set_tape(f, p.tape, words, 12);
	launch_pair(f, &p, graph);
	LOGGED_IN_ALL(&p.forth, 2);
	LOGGED_IN_ALL(&p.back, 2);
	LOGGED(&p.back, 0, predict(0, "layer", 4));
	LOGGED(&p.back, 1, predict(0, "layer", 0));
	nothing_wrong(f);
	close_pair(f, &p);
}

/* Whether the body has run or not. */
GRAPH_PROMISE(backwards, outside_of_all_bodies_repeat_iteration_0)
{
	static const unsigned counts[] = {3, 0, 1};
	struct pair p;
	struct philox_conditional loop;
	struct philox_ticket ticket;
	struct philox_graph *graph;

	open_pair(f, &p);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, p.tape, &loop);
	ticket = forward_in(f, p.region, f->side, &p.forth);
	end_while(f, f->side, p.tape, &loop);
	backward_in(f, p.region, ticket, f->stream, 0, &p.back);
	graph = record_end(f);
	set_counts(f, p.tape, counts, 3);
	for (uint64_t launch = 0; launch < 3; launch++) {
		launch_pair(f, &p, graph);
		LOGGED_IN_ALL(&p.forth, counts[launch]);
		LOGGED_IN_ALL(&p.back, 1);
		LOGGED(&p.back, 0, predict(0, "layer", 4 * LIMIT * launch));
	}
	nothing_wrong(f);
	close_pair(f, &p);
}

/* Around the forward's body is another body, too. */
GRAPH_PROMISE(backwards, in_a_body_around_take_the_iterations_in_order)
{
	/* the outer loop runs twice: 2 and then 1 of the inner one */
	static const uint32_t words[] = {1, 1, 1, 0, 1, 1, 0, 0};
	struct pair p;
	struct philox_conditional loop, inner;
	struct philox_ticket ticket;
	struct philox_graph *graph;

	open_pair(f, &p);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, p.tape, &loop);
	begin_while(f, f->side, p.inmost, LIMIT, p.tape, &inner);
	ticket = forward_in(f, p.region, p.inmost, &p.forth);
	end_while(f, p.inmost, p.tape, &inner);
	backward_in(f, p.region, ticket, f->side, 0, &p.back);
	end_while(f, f->side, p.tape, &loop);
	graph = record_end(f);
	set_tape(f, p.tape, words, 8);
	launch_pair(f, &p, graph);
	LOGGED_IN_ALL(&p.forth, 3);
	LOGGED_IN_ALL(&p.back, 2);
	for (unsigned i = 0; i < 2; i++)
		LOGGED(&p.back, i, predict(0, "layer", 4 * i));
	nothing_wrong(f);
	close_pair(f, &p);
}

/* So is the other body of a node: each has its own count. */
GRAPH_PROMISE(backwards, in_the_other_branch_count_that_one_s_runs)
{
	/* branches of the loop's runs: backward, forward, backward */
	static const uint32_t words[] = {1, 0, 1, 1, 1, 0, 0};
	struct pair p;
	struct philox_conditional loop, branch;
	struct philox_ticket ticket;
	struct philox_graph *graph;

	open_pair(f, &p);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, p.tape, &loop);
	begin_node(f, f->side, PHILOX_CONDITIONAL_IF, 2, 0, p.tape, &branch);
	OK(philox_conditional_body(&branch, 0, p.inmost));
	ticket = forward_in(f, p.region, p.inmost, &p.forth);
	OK(philox_conditional_body(&branch, 1, p.inmost));
	backward_in(f, p.region, ticket, p.inmost, 0, &p.back);
	OK(philox_conditional_end(&branch));
	end_while(f, f->side, p.tape, &loop);
	graph = record_end(f);
	set_tape(f, p.tape, words, 7);
	launch_pair(f, &p, graph);
	LOGGED_IN_ALL(&p.forth, 1);
	LOGGED(&p.forth, 0, predict(0, "layer", 0));
	LOGGED_IN_ALL(&p.back, 2);
	for (unsigned i = 0; i < 2; i++)
		LOGGED(&p.back, i, predict(0, "layer", 4 * i));
	nothing_wrong(f);
	close_pair(f, &p);
}

/* A retained one leaves the ticket of the whole launch. */
GRAPH_PROMISE(backwards, that_retain_leave_a_ticket_of_all_iterations)
{
	static const unsigned counts[] = {3, 0, 6};
	struct pair p;
	struct philox_conditional loop;
	struct philox_ticket ticket;
	struct philox_graph *graph;

	open_pair(f, &p);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, p.tape, &loop);
	ticket = forward_in(f, p.region, f->side, &p.forth);
	backward_in(f, p.region, ticket, f->side, PHILOX_PASS_RETAIN, &p.back);
	end_while(f, f->side, p.tape, &loop);
	graph = record_end(f);
	set_counts(f, p.tape, counts, 3);
	for (uint64_t launch = 0; launch < 3; launch++) {
		struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0},
						     {{7, 7}, 0, 0}};

		clear_pair(f, &p);
		OK(philox_graph_launch(graph, f->stream, uses, 2));
		read_pair(f, &p);
		for (unsigned i = 0; i < counts[launch]; i++)
			LOGGED(&p.back, i, p.forth.run[i]);
		for (uint32_t i = 0; i < LIMIT; i++)
			SAME(iteration_of(f, p.region, uses[0].ticket, i),
			     predict(0, "layer", 4 * (LIMIT * launch + i)),
			     "iteration %u", i);
		PENDING(p.region, 1);
		OK(philox_ticket_release(p.region, f->stream, uses[0].ticket));
	}
	close_pair(f, &p);
}

/* Both bodies of an IF have a backward; whichever runs, the ticket is used up
 * by the one that consumes it. */
GRAPH_PROMISE(backwards, in_either_branch_count_once)
{
	static const uint32_t words[] = {1, 0, 0};
	struct pair p;
	struct philox_conditional branch;
	struct philox_ticket ticket;
	struct philox_graph *graph;
	struct log other;

	open_pair(f, &p);
	make_log(f, &other);
	record_begin(f);
	ticket = forward_in(f, p.region, f->stream, &p.forth);
	begin_node(f, f->stream, PHILOX_CONDITIONAL_IF, 2, 0, p.tape, &branch);
	OK(philox_conditional_body(&branch, 0, f->side));
	backward_in(f, p.region, ticket, f->side, PHILOX_PASS_RETAIN, &p.back);
	OK(philox_conditional_body(&branch, 1, f->side));
	backward_in(f, p.region, ticket, f->side, 0, &other);
	OK(philox_conditional_end(&branch));
	graph = record_end(f);
	set_tape(f, p.tape, words, 3);
	for (unsigned launch = 0; launch < 3; launch++) {
		struct philox_launch_pass uses[3] = {{{0, 0}, 0, 0}};

		clear_pair(f, &p);
		clear_log(f, &other);
		OK(philox_graph_launch(graph, f->stream, uses, 3));
		PENDING(p.region, 0);
		read_pair(f, &p);
		read_log(f, &other);
		LOGGED_IN_ALL(&p.back, launch == 0);
		LOGGED_IN_ALL(&other, launch != 0);
		LOGGED(launch ? &other : &p.back, 0, p.forth.run[0]);
	}
	nothing_wrong(f);
	close_pair(f, &p);
}

/* --- named at launch ------------------------------------------------------ */

GRAPH_PROMISE(backwards, named_at_launch_take_the_iterations_in_order)
{
	static const unsigned counts[] = {4, 0, 6};
	struct pair p;
	struct philox_graph *forth, *back;
	struct philox_graph_pass_info info =
		PHILOX_INIT(struct philox_graph_pass_info);
	const unsigned ran = 5;

	open_pair(f, &p);
	forth = record_while(f, p.region, LIMIT, p.tape, &p.forth);
	back = record_while_backward(f, p.region, LIMIT, p.tape, &p.back);
	OK(philox_graph_get_pass_info(forth, 0, &info));
	cr_assert_eq(info.iterations, LIMIT);
	OK(philox_graph_get_pass_info(back, 0, &info));
	cr_assert_eq(info.named, 1);
	cr_assert_eq(info.iterations, LIMIT);
	set_counts(f, p.tape, &ran, 1);
	for (uint64_t launch = 0; launch < 3; launch++) {
		struct philox_launch_pass use = launch_one(f, forth);

		set_counts(f, p.tape, &counts[launch], 1);
		use.flags = launch == 1 ? PHILOX_PASS_RETAIN : 0;
		clear_log(f, &p.back);
		OK(philox_graph_launch(back, f->stream, &use, 1));
		read_log(f, &p.back);
		LOGGED_IN_ALL(&p.back, counts[launch]);
		for (unsigned i = 0; i < counts[launch]; i++)
			LOGGED(&p.back, i,
			       predict(0, "layer", 4 * (LIMIT * launch + i)));
		PENDING(p.region, launch == 0 ? 0 : 1);
	}
	nothing_wrong(f);
	close_pair(f, &p);
}

GRAPH_PROMISE(backwards, need_a_ticket_of_enough_iterations)
{
	struct pair p;
	struct philox_graph *few, *many, *back;
	struct philox_launch_pass use, plain = {{0, 0}, 0, 0};
	struct ledger_view before;
	const unsigned counts[] = {2, 3};

	open_pair(f, &p);
	few = record_while(f, p.region, LIMIT - 1, p.tape, &p.forth);
	many = record_while(f, p.region, LIMIT + 1, p.tape, &p.forth);
	back = record_while_backward(f, p.region, LIMIT, p.tape, &p.back);
	plain.ticket = forward(f, p.region).ticket;
	use = launch_one(f, few);
	before = look(f, p.region);
	FAILS(philox_graph_launch(back, f->stream, &use, 1),
	      PHILOX_ERROR_MISMATCH);
	NAMES("layer");
	FAILS(philox_graph_prologue(back, f->stream, &use, 1),
	      PHILOX_ERROR_MISMATCH);
	FAILS(philox_graph_launch(back, f->stream, &plain, 1),
	      PHILOX_ERROR_MISMATCH);
	unchanged(f, p.region, &before);
	set_counts(f, p.tape, counts, 2);
	use = launch_one(f, many);
	OK(philox_graph_launch(back, f->stream, &use, 1));
	read_log(f, &p.back);
	LOGGED_IN_ALL(&p.back, 3);
	for (unsigned i = 0; i < 3; i++)
		LOGGED(&p.back, i,
		       predict(0, "layer", 4 + 4 * (LIMIT - 1 + i)));
	PENDING(p.region, 2);
	nothing_wrong(f);
	close_pair(f, &p);
}

/* Refused in the capture, which goes on as it was. */
GRAPH_PROMISE(backwards, captured_of_too_few_iterations_are_refused)
{
	struct pair p;
	struct philox_conditional loop;
	struct philox_ticket ticket;
	struct philox_pass pass;
	struct philox_graph *graph;
	const unsigned counts[] = {3, 1, 2};

	open_pair(f, &p);
	record_begin(f);
	begin_while(f, f->stream, f->side, 5, p.tape, &loop);
	ticket = forward_in(f, p.region, f->side, &p.forth);
	end_while(f, f->side, p.tape, &loop);
	begin_while(f, f->stream, f->side, 8, p.tape, &loop);
	FAILS_EITHER(philox_backward_begin(p.region, f->side, ticket, 0, &pass),
		     PHILOX_ERROR_MISMATCH, PHILOX_ERROR_INVALID);
	NAMES("layer");
	FAILS(philox_pass_commit(&pass, 0, NULL), PHILOX_ERROR_STATE);
	end_while(f, f->side, p.tape, &loop);
	begin_while(f, f->stream, f->side, 5, p.tape, &loop);
	backward_in(f, p.region, ticket, f->side, 0, &p.back);
	end_while(f, f->side, p.tape, &loop);
	graph = record_end(f);
	set_counts(f, p.tape, counts, 3);
	launch_pair(f, &p, graph);
	LOGGED_IN_ALL(&p.back, 2);
	for (unsigned i = 0; i < 2; i++)
		LOGGED(&p.back, i, p.forth.run[i]);
	nothing_wrong(f);
	close_pair(f, &p);
}

/* --- linked passes -------------------------------------------------------- */

GRAPH_PROMISE(backwards, a_recompute_and_a_backward_in_one_body_are_linked)
{
	struct pair p;
	struct philox_graph *forth, *both;
	struct philox_conditional loop;
	struct philox_ticket placeholder;
	struct philox_pass pass;
	struct philox_launch_pass use, uses[2] = {{{0, 0}, 0, 0}};
	const unsigned counts[] = {6, 4};

	open_pair(f, &p);
	forth = record_while(f, p.region, LIMIT, p.tape, &p.forth);
	clear_log(f, &p.forth);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, p.tape, &loop);
	OK(philox_backward_begin(p.region, f->side, named_at_launch,
				 PHILOX_PASS_RETAIN, &pass));
	OK(philox_pass_ticket(&pass, &placeholder));
	draw_to_log(f, &pass, &p.forth);
	OK(philox_pass_commit(&pass, 0, NULL));
	backward_in(f, p.region, placeholder, f->side, 0, &p.back);
	end_while(f, f->side, p.tape, &loop);
	both = record_end(f);
	set_counts(f, p.tape, counts, 2);
	use = launch_one(f, forth);
	clear_log(f, &p.forth);
	uses[0].ticket = use.ticket;
	OK(philox_graph_launch(both, f->stream, uses, 2));
	read_pair(f, &p);
	LOGGED_IN_ALL(&p.forth, 4);
	LOGGED_IN_ALL(&p.back, 4);
	for (unsigned i = 0; i < 4; i++) {
		LOGGED(&p.forth, i, predict(0, "layer", 4 * i));
		LOGGED(&p.back, i, predict(0, "layer", 4 * i));
	}
	PENDING(p.region, 0);
	nothing_wrong(f);
	close_pair(f, &p);
}

/* The group's ticket needs as many iterations as the greatest of its bodies. */
GRAPH_PROMISE(backwards, linked_in_different_bodies_need_the_most)
{
	struct pair p;
	struct philox_graph *few, *many, *both;
	struct philox_conditional loop;
	struct philox_ticket placeholder;
	struct philox_pass pass;
	struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}};
	const unsigned none[] = {0, 0, 3, 6};
	struct ledger_view before;

	open_pair(f, &p);
	few = record_while(f, p.region, 4, p.tape, &p.forth);
	many = record_while(f, p.region, LIMIT, p.tape, &p.forth);
	record_begin(f);
	begin_while(f, f->stream, f->side, 4, p.tape, &loop);
	OK(philox_backward_begin(p.region, f->side, named_at_launch,
				 PHILOX_PASS_RETAIN, &pass));
	OK(philox_pass_ticket(&pass, &placeholder));
	draw_to_log(f, &pass, &p.forth);
	OK(philox_pass_commit(&pass, 0, NULL));
	end_while(f, f->side, p.tape, &loop);
	begin_while(f, f->stream, f->side, LIMIT, p.tape, &loop);
	backward_in(f, p.region, placeholder, f->side, 0, &p.back);
	end_while(f, f->side, p.tape, &loop);
	both = record_end(f);
	set_counts(f, p.tape, none, 4);
	uses[0].ticket = launch_one(f, few).ticket;
	before = look(f, p.region);
	FAILS(philox_graph_launch(both, f->stream, uses, 2),
	      PHILOX_ERROR_MISMATCH);
	unchanged(f, p.region, &before);
	uses[0].ticket = launch_one(f, many).ticket;
	clear_pair(f, &p);
	OK(philox_graph_launch(both, f->stream, uses, 2));
	read_pair(f, &p);
	LOGGED_IN_ALL(&p.forth, 3);
	LOGGED_IN_ALL(&p.back, 6);
	for (unsigned i = 0; i < 3; i++)
		LOGGED(&p.forth, i, predict(0, "layer", 4 * (4 + i)));
	for (unsigned i = 0; i < 6; i++)
		LOGGED(&p.back, i, predict(0, "layer", 4 * (4 + i)));
	PENDING(p.region, 1);
	close_pair(f, &p);
}
