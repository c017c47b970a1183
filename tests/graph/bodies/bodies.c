/*
 * tests/graph/bodies/bodies.c - the numbers of forwards in branches and loops
 *
 * What is expected is computed from the public formulas alone: run i of a body
 * draws at offset + i x advance, and a launch reserves limit x advance.
 */
#include <unistd.h>
#include "tests/support/loops.h"

/* --- loops ---------------------------------------------------------------- */

enum { LIMIT = 5 };

GRAPH_PROMISE(bodies, each_run_of_a_while_draws_its_own_iteration)
{
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_graph *graph;
	struct log log;
	uint64_t at = 0;

	make_log(f, &log);
	graph = record_while(f, region, LIMIT, tape, &log);
	cr_assert_eq(philox_graph_pass_count(graph), 1);
	for (unsigned count = 0; count <= LIMIT; count++) {
		struct philox_launch_pass use;

		clear_log(f, &log);
		set_counts(f, tape, &count, 1);
		use = launch_one(f, graph);
		read_log(f, &log);
		LOGGED_IN_ALL(&log, count);
		for (unsigned i = 0; i < count; i++)
			LOGGED(&log, i, predict(0, "layer", at + 4 * i));
		PENDING(region, 1);
		for (unsigned i = LIMIT; i-- > 0;)
			SAME(iteration_of(f, region, use.ticket, i),
			     predict(0, "layer", at + 4 * i),
			     "count %u, iteration %u", count, i);
		SAME(backward_numbers(f, region, use.ticket, 0),
		     predict(0, "layer", at), "names iteration 0");
		PENDING(region, 0);
		at += 4 * LIMIT;
		SAME(peek(f, region), predict(0, "layer", at), "reserved");
	}
	nothing_wrong(f);
}

/* An eager forward begins where the launch before it has reserved up to. */
GRAPH_PROMISE(bodies, a_launch_reserves_its_limit_whatever_runs)
{
	static const unsigned counts[] = {2, 0, 5, 1, 3, 0, 0, 4};
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_graph *graph;
	struct log log;
	uint64_t at = 0;

	make_log(f, &log);
	graph = record_while(f, region, LIMIT, tape, &log);
	set_counts(f, tape, counts, 8);
	for (unsigned i = 0; i < 8; i++) {
		launch_one(f, graph);
		at += 4 * LIMIT;
		SAME(forward(f, region).saw, predict(0, "layer", at),
		     "after launch %u", i);
		at += 4;
	}
	PENDING(region, 16);
	nothing_wrong(f);
}

static void hold_up(const void *args)
{
	(void)args;
	usleep(20000);
}

/* Twenty launches wait behind work that takes long. */
Test(bodies, launches_that_are_queued_have_their_own_numbers, .timeout = 120)
{
	static const unsigned counts[20] = {3, 0, 1, 5, 2, 2, 0, 4, 1, 5,
					    5, 0, 0, 3, 1, 2, 4, 1, 5, 2};
	struct fixture f;
	struct philox_region *region;
	struct philox_graph *graph;
	struct tape tape;
	struct log log;
	unsigned entry = 0;

	fixture_open(&f, "host");
	region = make_region(&f, "layer");
	tape = make_tape(&f);
	make_log(&f, &log);
	graph = record_while(&f, region, LIMIT, tape, &log);
	set_counts(&f, tape, counts, 20);
	OK(philox_stream_launch_host(f.device, f.stream, hold_up, counts, 4));
	for (unsigned i = 0; i < 20; i++)
		launch_one(&f, graph);
	read_log(&f, &log);
	LOGGED_IN_ALL(&log, 46);
	for (unsigned i = 0; i < 20; i++)
		for (unsigned k = 0; k < counts[i]; k++)
			LOGGED(&log, entry++,
			       predict(0, "layer", 4 * (LIMIT * i + k)));
	nothing_wrong(&f);
	fixture_close(&f);
}

/* --- branches ------------------------------------------------------------- */

/* A node of several bodies, each with a forward of one region to its own log. */
static struct philox_graph *record_bodies(struct fixture *f,
					  struct philox_region *region,
					  enum philox_conditional_kind kind,
					  uint32_t bodies, struct tape tape,
					  struct log *logs)
{
	struct philox_conditional node;

	record_begin(f);
	begin_node(f, f->stream, kind, bodies, 0, tape, &node);
	for (uint32_t i = 0; i < bodies; i++) {
		OK(philox_conditional_body(&node, i, f->side));
		forward_in(f, region, f->side, &logs[i]);
	}
	OK(philox_conditional_end(&node));
	runs(f, f->side);
	return record_end(f);
}

/* Body `taken` of `bodies` is run for a word, or none. */
static void takes_a_branch(struct fixture *f, enum philox_conditional_kind kind,
			   uint32_t bodies, const uint32_t words[],
			   const uint32_t taken[], size_t n)
{
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_graph *graph;
	struct log logs[4];
	struct philox_launch_pass uses[4];
	uint64_t at = 0;

	for (uint32_t i = 0; i < bodies; i++)
		make_log(f, &logs[i]);
	graph = record_bodies(f, region, kind, bodies, tape, logs);
	cr_assert_eq(philox_graph_pass_count(graph), bodies);
	for (size_t launch = 0; launch < n; launch++) {
		memset(uses, 0, sizeof(uses));
		set_tape(f, tape, &words[launch], 1);
		OK(philox_graph_launch(graph, f->stream, uses, bodies));
		for (uint32_t i = 0; i < bodies; i++) {
			read_log(f, &logs[i]);
			LOGGED_IN_ALL(&logs[i], i == taken[launch]);
			if (i == taken[launch])
				LOGGED(&logs[i], 0, predict(0, "layer", at));
			clear_log(f, &logs[i]);
			SAME(backward_numbers(f, region, uses[i].ticket, 0),
			     predict(0, "layer", at), "a ticket of body %u", i);
			at += 4;
		}
		SAME(peek(f, region), predict(0, "layer", at), "reserved");
	}
	nothing_wrong(f);
	OK(philox_graph_destroy(graph));
	OK(philox_region_destroy(region));
}

GRAPH_PROMISE(bodies, an_if_runs_its_body_unless_the_word_is_0)
{
	const uint32_t words[] = {1, 0, 0, 7, 0x80000000, 0};
	const uint32_t taken[] = {0, 9, 9, 0, 0, 9};

	takes_a_branch(f, PHILOX_CONDITIONAL_IF, 1, words, taken, 6);
}

GRAPH_PROMISE(bodies, an_if_of_two_runs_one_of_them)
{
	const uint32_t words[] = {0, 1, 1, 0, 5, 0xffffffff};
	const uint32_t taken[] = {1, 0, 0, 1, 0, 0};

	takes_a_branch(f, PHILOX_CONDITIONAL_IF, 2, words, taken, 6);
}

GRAPH_PROMISE(bodies, a_switch_runs_the_body_of_the_number_or_none)
{
	const uint32_t words[] = {0, 2, 1, 3, 2, 0xffffffff, 0};
	const uint32_t taken[] = {0, 2, 1, 9, 2, 9, 0};

	takes_a_branch(f, PHILOX_CONDITIONAL_SWITCH, 3, words, taken, 7);
}

GRAPH_PROMISE(bodies, a_switch_may_have_one_body)
{
	const uint32_t words[] = {0, 1, 0};
	const uint32_t taken[] = {0, 9, 0};

	takes_a_branch(f, PHILOX_CONDITIONAL_SWITCH, 1, words, taken, 3);
}

/* Without a word the condition is 1 where the node begins. */
GRAPH_PROMISE(bodies, a_condition_without_a_word_is_1)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_conditional_desc options =
		PHILOX_INIT(struct philox_conditional_desc);
	struct philox_conditional node;
	struct tape tape = make_tape(f);
	struct philox_graph *graph;
	struct log log;

	make_log(f, &log);
	record_begin(f);
	OK(philox_conditional_begin(f->context, f->stream, &options, &node));
	OK(philox_conditional_body(&node, 0, f->side));
	forward_in(f, region, f->side, &log);
	OK(philox_conditional_end(&node));
	options.kind = PHILOX_CONDITIONAL_WHILE;
	options.limit = 3;
	OK(philox_conditional_begin(f->context, f->stream, &options, &node));
	OK(philox_conditional_body(&node, 0, f->side));
	forward_in(f, region, f->side, &log);
	end_while(f, f->side, tape, &node);
	options.kind = PHILOX_CONDITIONAL_SWITCH;
	options.limit = 0;
	options.bodies = 2;
	OK(philox_conditional_begin(f->context, f->stream, &options, &node));
	OK(philox_conditional_body(&node, 1, f->side));
	forward_in(f, region, f->side, &log);
	OK(philox_conditional_body(&node, 0, f->side));
	forward_in(f, region, f->side, &log);
	OK(philox_conditional_end(&node));
	graph = record_end(f);
	for (uint64_t launch = 0; launch < 3; launch++) {
		const unsigned count = (unsigned)launch;
		struct philox_launch_pass uses[4] = {{{0, 0}, 0, 0}};
		uint64_t at = launch * 4 * (1 + 3 + 1 + 1);

		clear_log(f, &log);
		set_counts(f, tape, &count, 1);
		OK(philox_graph_launch(graph, f->stream, uses, 4));
		read_log(f, &log);
		LOGGED_IN_ALL(&log, 1 + 1 + count + 1);
		LOGGED(&log, 0, predict(0, "layer", at));
		for (unsigned i = 0; i <= count; i++)
			LOGGED(&log, 1 + i,
			       predict(0, "layer", at + 4 + 4 * i));
		/* body 1 was captured first, so its pass comes first */
		LOGGED(&log, 2 + count, predict(0, "layer", at + 16));
	}
	nothing_wrong(f);
}

/* --- what a body holds ---------------------------------------------------- */

/* Passes take their numbers in order of begin, each for its whole loop. */
GRAPH_PROMISE(bodies, several_passes_of_several_regions_keep_apart)
{
	struct philox_region *a = make_region(f, "a"),
			     *b = make_wide(f, "b", 0);
	struct tape tape = make_tape(f);
	struct philox_conditional loop;
	struct philox_graph *graph;
	struct log logs[4];
	const unsigned counts[] = {3, 5, 0, 1};

	for (int i = 0; i < 4; i++)
		make_log(f, &logs[i]);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	forward_in(f, a, f->side, &logs[0]);
	forward_in(f, b, f->side, &logs[1]);
	forward_in(f, a, f->side, &logs[2]);
	end_while(f, f->side, tape, &loop);
	forward_in(f, a, f->stream, &logs[3]);
	graph = record_end(f);
	set_counts(f, tape, counts, 4);
	for (uint64_t launch = 0; launch < 4; launch++) {
		struct philox_launch_pass uses[4] = {{{0, 0}, 0, 0}};
		uint64_t at = launch * 4 * (2 * LIMIT + 1);

		OK(philox_graph_launch(graph, f->stream, uses, 4));
		for (int i = 0; i < 4; i++)
			read_log(f, &logs[i]);
		LOGGED_IN_ALL(&logs[0], counts[launch]);
		LOGGED_IN_ALL(&logs[1], counts[launch]);
		LOGGED_IN_ALL(&logs[2], counts[launch]);
		for (unsigned i = 0; i < counts[launch]; i++) {
			LOGGED(&logs[0], i, predict(0, "a", at + 4 * i));
			LOGGED(&logs[1], i,
			       predict(0, "b",
				       WIDE_ADVANCE * (launch * LIMIT + i)));
			LOGGED(&logs[2], i,
			       predict(0, "a", at + 4 * (LIMIT + i)));
		}
		LOGGED(&logs[3], 0, predict(0, "a", at + 8 * LIMIT));
		for (int i = 0; i < 4; i++)
			clear_log(f, &logs[i]);
	}
	SAME(peek(f, b), predict(0, "b", WIDE_ADVANCE * LIMIT * 4), "b");
	nothing_wrong(f);
}

/* The cells themselves, as kernels of the caller find them. */
GRAPH_PROMISE(bodies, the_cells_hold_the_state_of_the_run)
{
	struct philox_region *region = make_wide(f, "layer", 0);
	struct tape tape = make_tape(f);
	const struct philox_state *cells;
	struct philox_conditional loop;
	struct philox_ticket ticket;
	struct philox_graph *graph;
	struct philox_pass pass;
	struct log log;
	const unsigned count = 4;

	make_log(f, &log);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	OK(philox_forward_begin(region, f->side, 0, &pass));
	OK(philox_pass_states(&pass, &cells));
	copy_to_log(f, f->side, &log, cells, SITES * sizeof(*cells));
	OK(philox_pass_commit(&pass, 0, &ticket));
	end_while(f, f->side, tape, &loop);
	graph = record_end(f);
	launch_one(f, graph);
	set_counts(f, tape, &count, 1);
	launch_one(f, graph);
	read_log(f, &log);
	LOGGED_IN_ALL(&log, count);
	for (unsigned i = 0; i < count; i++) {
		struct philox_state seen[SITES];
		uint64_t at = WIDE_ADVANCE * (uint64_t)(LIMIT + i);

		memcpy(seen, &log.run[i], sizeof(seen));
		for (uint32_t site = 0; site < SITES; site++) {
			struct philox_state cell = predict_cell(
				0, "layer", site < 2 ? site : site - 1,
				site == 2, at);

			cr_assert_eq(seen[site].seed, cell.seed);
			cr_assert_eq(seen[site].offset, cell.offset);
		}
	}
}

/* --- regions that share a generator's numbers ----------------------------- */

static struct philox_state shared_at(uint64_t forwards)
{
	return (struct philox_state){0, forwards * WIDE_SUM};
}

GRAPH_PROMISE(bodies, shared_regions_draw_one_iteration_after_another)
{
	struct philox_region *one = make_wide(f, "one", PHILOX_REGION_SHARED);
	struct philox_region *two = make_wide(f, "two", PHILOX_REGION_SHARED);
	struct tape tape = make_tape(f);
	struct philox_conditional loop;
	struct philox_graph *graph;
	struct log in, more, out;
	const unsigned counts[] = {2, 5, 0};

	make_log(f, &in);
	make_log(f, &more);
	make_log(f, &out);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	forward_in(f, one, f->side, &in);
	forward_in(f, two, f->side, &more);
	end_while(f, f->side, tape, &loop);
	forward_in(f, one, f->stream, &out);
	graph = record_end(f);
	set_counts(f, tape, counts, 3);
	for (uint64_t launch = 0; launch < 3; launch++) {
		struct philox_launch_pass uses[3] = {{{0, 0}, 0, 0}};
		uint64_t at = launch * (2 * LIMIT + 2);

		OK(philox_graph_launch(graph, f->stream, uses, 3));
		read_log(f, &in);
		read_log(f, &more);
		read_log(f, &out);
		LOGGED_IN_ALL(&in, counts[launch]);
		for (unsigned i = 0; i < counts[launch]; i++) {
			LOGGED(&in, i, predict_shared(shared_at(at + i)));
			LOGGED(&more, i,
			       predict_shared(shared_at(at + LIMIT + i)));
		}
		LOGGED(&out, launch, predict_shared(shared_at(at + 2 * LIMIT)));
		SAME(forward(f, two).saw,
		     predict_shared(shared_at(at + 2 * LIMIT + 1)), "eager");
		SAME(iteration_of(f, two, uses[1].ticket, 3),
		     predict_shared(shared_at(at + LIMIT + 3)), "a ticket");
		clear_log(f, &in);
		clear_log(f, &more);
	}
	nothing_wrong(f);
}
