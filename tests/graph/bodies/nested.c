/*
 * tests/graph/bodies/nested.c - bodies in bodies: each counts its own runs over
 * the whole launch
 */
#include "tests/support/loops.h"

/* --- an IF in a WHILE ----------------------------------------------------- */

enum { LIMIT = 6 };

/* A letter for each run of the loop: 'y' if it takes its branch. */
static void set_letters(struct fixture *f, struct tape tape,
			const char *letters)
{
	uint32_t words[TAPE] = {0};

	for (size_t i = 0; letters[i]; i++) {
		words[2 * i] = 1;
		words[2 * i + 1] = letters[i] == 'y';
	}
	set_tape(f, tape, words, TAPE);
}

static unsigned yes(const char *letters)
{
	unsigned count = 0;

	for (; *letters; letters++)
		count += *letters == 'y';
	return count;
}

/* A forward in a loop, and one in a branch in it. */
static struct philox_graph *record_branch_in_loop(
	struct fixture *f, struct philox_region *region, philox_stream inmost,
	struct tape tape, struct log *loops, struct log *branches)
{
	struct philox_conditional loop, branch;

	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	forward_in(f, region, f->side, loops);
	begin_if(f, f->side, inmost, tape, &branch);
	forward_in(f, region, inmost, branches);
	OK(philox_conditional_end(&branch));
	end_while(f, f->side, tape, &loop);
	return record_end(f);
}

GRAPH_PROMISE(nested, a_branch_in_a_loop_counts_how_often_it_is_taken)
{
	static const char *const launches[] = {"nyyny", "y",      "",
					       "n",     "yyyyyy", "nny"};
	struct philox_region *region = make_region(f, "layer");
	struct philox_graph_pass_info info =
		PHILOX_INIT(struct philox_graph_pass_info);
	struct tape tape = make_tape(f);
	struct philox_graph *graph;
	struct log loops, branches;
	philox_stream inmost;

	OK(philox_stream_create(f->device, 0, &inmost));
	make_log(f, &loops);
	make_log(f, &branches);
	graph = record_branch_in_loop(f, region, inmost, tape, &loops,
				      &branches);
	for (size_t i = 0; i < 2; i++) {
		OK(philox_graph_get_pass_info(graph, i, &info));
		cr_assert_eq(info.iterations, LIMIT, "pass %zu", i);
	}
	for (size_t launch = 0; launch < 6; launch++) {
		unsigned n = (unsigned)strlen(launches[launch]);
		unsigned m = yes(launches[launch]);
		struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}};
		uint64_t at = launch * 4 * 2 * LIMIT;

		set_letters(f, tape, launches[launch]);
		OK(philox_graph_launch(graph, f->stream, uses, 2));
		read_log(f, &loops);
		read_log(f, &branches);
		LOGGED_IN_ALL(&loops, n);
		LOGGED_IN_ALL(&branches, m);
		for (unsigned i = 0; i < n; i++)
			LOGGED(&loops, i, predict(0, "layer", at + 4 * i));
		for (unsigned i = 0; i < m; i++)
			LOGGED(&branches, i,
			       predict(0, "layer", at + 4 * (LIMIT + i)));
		clear_log(f, &loops);
		clear_log(f, &branches);
	}
	nothing_wrong(f);
	OK(philox_stream_destroy(f->device, inmost));
}

/* --- a WHILE in a WHILE --------------------------------------------------- */

enum { INNER_LIMIT = 7 };

/* Digits: how often the inner loop runs in each run of the outer one. */
static unsigned set_digits(struct fixture *f, struct tape tape,
			   const char *digits)
{
	uint32_t words[TAPE] = {0};
	unsigned total = 0;
	size_t at = 0;

	for (; *digits; digits++) {
		words[at++] = 1;
		for (char i = '0'; i < *digits; i++) {
			words[at++] = 1;
			total++;
		}
		words[at++] = 0;
	}
	set_tape(f, tape, words, TAPE);
	return total;
}

static struct philox_graph *record_loop_in_loop(
	struct fixture *f, struct philox_region *region, philox_stream inmost,
	struct tape tape, struct log *outer, struct log *inner)
{
	struct philox_conditional loop, loops;

	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	begin_while(f, f->side, inmost, INNER_LIMIT, tape, &loops);
	forward_in(f, region, inmost, inner);
	end_while(f, inmost, tape, &loops);
	forward_in(f, region, f->side, outer);
	end_while(f, f->side, tape, &loop);
	return record_end(f);
}

GRAPH_PROMISE(nested, the_count_of_an_inner_loop_runs_on_over_the_launch)
{
	static const char *const launches[] = {"203", "",    "7",
					       "001", "222", "000000"};
	struct philox_region *region = make_wide(f, "layer", 0);
	struct tape tape = make_tape(f);
	struct philox_graph *graph;
	struct log outer, inner;
	philox_stream inmost;

	OK(philox_stream_create(f->device, 0, &inmost));
	make_log(f, &outer);
	make_log(f, &inner);
	graph = record_loop_in_loop(f, region, inmost, tape, &outer, &inner);
	for (size_t launch = 0; launch < 6; launch++) {
		unsigned n = (unsigned)strlen(launches[launch]);
		unsigned total = set_digits(f, tape, launches[launch]);
		struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}};
		uint64_t at = launch * (INNER_LIMIT + LIMIT);

		OK(philox_graph_launch(graph, f->stream, uses, 2));
		read_log(f, &inner);
		read_log(f, &outer);
		LOGGED_IN_ALL(&inner, total);
		LOGGED_IN_ALL(&outer, n);
		for (unsigned i = 0; i < total; i++)
			LOGGED(&inner, i,
			       predict(0, "layer", WIDE_ADVANCE * (at + i)));
		for (unsigned i = 0; i < n; i++)
			LOGGED(&outer, i,
			       predict(0, "layer",
				       WIDE_ADVANCE * (at + INNER_LIMIT + i)));
		clear_log(f, &inner);
		clear_log(f, &outer);
		SAME(iteration_of(f, region, uses[0].ticket, INNER_LIMIT - 1),
		     predict(0, "layer", WIDE_ADVANCE * (at + INNER_LIMIT - 1)),
		     "a ticket has the inner loop's iterations");
	}
	nothing_wrong(f);
	OK(philox_stream_destroy(f->device, inmost));
}

/*
 * The limit of an inner loop is for all its runs in a launch: one that begins
 * again when they are used up runs no more.
 */
GRAPH_PROMISE(nested, the_limit_of_an_inner_loop_is_the_total)
{
	/* 4 runs, 3 of many, and none of more: outer loops around them */
	static const uint32_t words[] = {1, 1, 1, 1, 1, 0, 1, 1,
					 1, 1, 1, 1, 1, 0};
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_graph *graph;
	struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}};
	struct log outer, inner;
	philox_stream inmost;

	OK(philox_stream_create(f->device, 0, &inmost));
	make_log(f, &outer);
	make_log(f, &inner);
	graph = record_loop_in_loop(f, region, inmost, tape, &outer, &inner);
	set_tape(f, tape, words, sizeof(words) / sizeof(words[0]));
	OK(philox_graph_launch(graph, f->stream, uses, 2));
	read_log(f, &inner);
	read_log(f, &outer);
	LOGGED_IN_ALL(&outer, 3);
	LOGGED_IN_ALL(&inner, INNER_LIMIT);
	for (unsigned i = 0; i < INNER_LIMIT; i++)
		LOGGED(&inner, i, predict(0, "layer", 4 * i));
	loops_cut(f, 2);
clear_log(f, &inner);
	set_digits(f, tape, "1");
	OK(philox_graph_launch(graph, f->stream, uses, 2));
	read_log(f, &inner);
	LOGGED_IN_ALL(&inner, 1);
	LOGGED(&inner, 0, predict(0, "layer", 4 * (LIMIT + INNER_LIMIT)));
	nothing_wrong(f);
	OK(philox_stream_destroy(f->device, inmost));
}

/* --- iterations for kernels ----------------------------------------------- */

static uint32_t first_word(const struct log *log, unsigned i)
{
	cr_assert_lt(i, log->n, "entry %u of %u", i, log->n);
	return log->run[i].word[0];
}

/* The address is good in the body and in those within. */
GRAPH_PROMISE(nested, kernels_read_the_number_of_the_run)
{
	struct tape tape = make_tape(f);
	struct philox_conditional loop, loops;
	const uint32_t *outer = NULL, *inner = NULL;
	struct log outer_log, inner_log;
	struct philox_graph *graph;
	philox_stream inmost;

	OK(philox_stream_create(f->device, 0, &inmost));
	make_log(f, &outer_log);
	make_log(f, &inner_log);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	OK(philox_conditional_iteration(&loop, 0, &outer));
	cr_assert_not_null(outer);
	begin_while(f, f->side, inmost, INNER_LIMIT, tape, &loops);
	OK(philox_conditional_iteration(&loops, 0, &inner));
	cr_assert_neq(inner, outer);
	copy_to_log(f, inmost, &outer_log, outer, 4);
	copy_to_log(f, inmost, &inner_log, inner, 4);
	end_while(f, inmost, tape, &loops);
	end_while(f, f->side, tape, &loop);
	graph = record_end(f);
	for (int launch = 0; launch < 3; launch++) {
		static const uint32_t of_outer[] = {0, 0, 2, 2, 2, 3};

		cr_assert_eq(set_digits(f, tape, "20310"), 6);
		OK(philox_graph_launch(graph, f->stream, NULL, 0));
		read_log(f, &outer_log);
		read_log(f, &inner_log);
		LOGGED_IN_ALL(&inner_log, 6);
		for (unsigned i = 0; i < 6; i++) {
			cr_assert_eq(first_word(&inner_log, i), i);
			cr_assert_eq(first_word(&outer_log, i), of_outer[i]);
		}
		clear_log(f, &outer_log);
		clear_log(f, &inner_log);
	}
	nothing_wrong(f);
	OK(philox_stream_destroy(f->device, inmost));
}

/* Each body of a node counts its own runs. */
GRAPH_PROMISE(nested, bodies_of_a_node_count_apart)
{
	static const uint32_t words[] = {1, 2, 1, 0, 1, 2, 1, 2, 1, 0, 0};
	static const uint32_t of_2[] = {0, 1, 2}, of_0[] = {0, 1};
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_conditional loop, branch;
	struct philox_graph *graph;
	struct philox_launch_pass uses[3] = {{{0, 0}, 0, 0}};
	struct log logs[3], counts[3];
	philox_stream inmost;

	OK(philox_stream_create(f->device, 0, &inmost));
	for (int i = 0; i < 3; i++) {
		make_log(f, &logs[i]);
		make_log(f, &counts[i]);
	}
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	begin_node(f, f->side, PHILOX_CONDITIONAL_SWITCH, 3, 0, tape, &branch);
	for (uint32_t i = 0; i < 3; i++) {
		const uint32_t *iteration;

		OK(philox_conditional_body(&branch, i, inmost));
		OK(philox_conditional_iteration(&branch, i, &iteration));
		copy_to_log(f, inmost, &counts[i], iteration, 4);
		forward_in(f, region, inmost, &logs[i]);
	}
	OK(philox_conditional_end(&branch));
	end_while(f, f->side, tape, &loop);
	graph = record_end(f);
	set_tape(f, tape, words, 11);
	OK(philox_graph_launch(graph, f->stream, uses, 3));
	for (int i = 0; i < 3; i++) {
		read_log(f, &logs[i]);
		read_log(f, &counts[i]);
	}
	LOGGED_IN_ALL(&logs[0], 2);
	LOGGED_IN_ALL(&logs[1], 0);
	LOGGED_IN_ALL(&logs[2], 3);
	for (unsigned i = 0; i < 2; i++) {
		LOGGED(&logs[0], i, predict(0, "layer", 4 * i));
		cr_assert_eq(first_word(&counts[0], i), of_0[i]);
	}
	for (unsigned i = 0; i < 3; i++) {
		LOGGED(&logs[2], i, predict(0, "layer", 4 * (2 * LIMIT + i)));
		cr_assert_eq(first_word(&counts[2], i), of_2[i]);
	}
	nothing_wrong(f);
	OK(philox_stream_destroy(f->device, inmost));
}

/* --- other things in bodies ----------------------------------------------- */

/* A condition may be set in a branch of the loop: a way out of the middle. */
GRAPH_PROMISE(nested, a_branch_can_end_the_loop_around_it)
{
	static const uint32_t words[] = {1, 0, 0, 1, 0, 0, 1, 1, 1};
	struct philox_region *region = make_region(f, "layer");
	const uint32_t ones = 1, none = 0;
	uint32_t *one = upload(f, &ones, 4), *zero = upload(f, &none, 4);
	struct tape tape = make_tape(f);
	struct philox_conditional loop, branch;
	struct philox_graph *graph;
	struct log log;
	philox_stream inmost;

	OK(philox_stream_create(f->device, 0, &inmost));
	make_log(f, &log);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	forward_in(f, region, f->side, &log);
	take_word(f, f->side, tape);
	OK(philox_conditional_set(&loop, f->side, tape.word));
	OK(philox_conditional_set(&loop, f->side, one));
	begin_if(f, f->side, inmost, tape, &branch);
	OK(philox_conditional_set(&loop, inmost, zero));
	OK(philox_conditional_end(&branch));
	OK(philox_conditional_end(&loop));
	graph = record_end(f);
	/* begin, then in each run: a word that does not count, the branch */
	set_tape(f, tape, words, 9);
	launch_one(f, graph);
	read_log(f, &log);
	LOGGED_IN_ALL(&log, 3);
	for (unsigned i = 0; i < 3; i++)
		LOGGED(&log, i, predict(0, "layer", 4 * i));
	nothing_wrong(f);
	OK(philox_stream_destroy(f->device, inmost));
}

/* A body may fork to another stream, which draws a view of its pass. */
GRAPH_PROMISE(nested, streams_that_join_a_body_draw_its_runs)
{
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	uint32_t *array = make_array(f);
	struct philox_conditional loop;
	struct philox_pass pass, view;
	struct philox_ticket ticket;
	struct philox_graph *graph;
	philox_event out, back;
	philox_stream beside;
	struct log log;
	const unsigned counts[] = {4, 2};

	OK(philox_stream_create(f->device, 0, &beside));
	OK(philox_event_create(f->device, &out));
	OK(philox_event_create(f->device, &back));
	make_log(f, &log);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	OK(philox_forward_begin(region, f->side, 0, &pass));
	OK(philox_event_record(f->device, f->side, out));
	OK(philox_event_wait(f->device, beside, out));
	OK(philox_pass_on(&pass, beside, &view));
	draw(&view, array);
	OK(philox_event_record(f->device, beside, back));
	OK(philox_event_wait(f->device, f->side, back));
	copy_to_log(f, f->side, &log, array, sizeof(struct numbers));
	OK(philox_pass_commit(&pass, 0, &ticket));
	end_while(f, f->side, tape, &loop);
	graph = record_end(f);
	runs(f, beside);
	set_counts(f, tape, counts, 2);
	launch_one(f, graph);
	launch_one(f, graph);
	read_log(f, &log);
	LOGGED_IN_ALL(&log, 6);
	for (unsigned i = 0; i < 6; i++)
		LOGGED(&log, i,
		       predict(0, "layer", 4 * (i < 4 ? i : LIMIT + i - 4)));
	nothing_wrong(f);
	OK(philox_event_destroy(f->device, out));
	OK(philox_event_destroy(f->device, back));
	OK(philox_stream_destroy(f->device, beside));
}

/* Inference keeps no ticket but takes its numbers; a warm-up takes none. */
GRAPH_PROMISE(nested, inference_and_warm_ups_may_be_in_loops)
{
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_conditional loop;
	struct philox_graph *graph;
	struct log logs[3];
	static const unsigned flags[] = {PHILOX_PASS_INFERENCE,
					 PHILOX_PASS_WARMUP, 0};
	const unsigned counts[] = {3, 6};

	for (int i = 0; i < 3; i++)
		make_log(f, &logs[i]);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	for (int i = 0; i < 3; i++) {
		struct philox_ticket ticket;
		struct philox_pass pass;

		OK(philox_forward_begin(region, f->side, flags[i], &pass));
		draw_to_log(f, &pass, &logs[i]);
		OK(philox_pass_commit(&pass, 0, &ticket));
	}
	end_while(f, f->side, tape, &loop);
	graph = record_end(f);
	set_counts(f, tape, counts, 2);
	for (unsigned launch = 0; launch < 2; launch++) {
		struct philox_launch_pass uses[3] = {{{6, 6}, 0, 0}};
		uint64_t at = (uint64_t)launch * 4 * 2 * LIMIT;

		OK(philox_graph_launch(graph, f->stream, uses, 3));
		cr_assert_eq(uses[0].ticket.serial, 0);
		cr_assert_eq(uses[1].ticket.serial, 0);
		cr_assert_eq(uses[2].ticket.serial, launch + 1);
		for (int i = 0; i < 3; i++) {
			read_log(f, &logs[i]);
			LOGGED_IN_ALL(&logs[i], counts[launch]);
			clear_log(f, &logs[i]);
		}
		for (unsigned i = 0; i < counts[launch]; i++) {
			LOGGED(&logs[0], i, predict(0, "layer", at + 4 * i));
			LOGGED(&logs[1], i,
			       predict(0, "layer", at + 4 * (LIMIT + i)));
			LOGGED(&logs[2], i,
			       predict(0, "layer", at + 4 * (LIMIT + i)));
		}
	}
	PENDING(region, 2);
	SAME(peek(f, region), predict(0, "layer", 4 * 4 * LIMIT), "reserved");
	nothing_wrong(f);
}

GRAPH_PROMISE(nested, loops_follow_a_new_seed)
{
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_graph *graph;
	struct log log;
	struct philox_launch_pass use;
	const unsigned counts[] = {2, 3};

	make_log(f, &log);
	graph = record_while(f, region, LIMIT, tape, &log);
	set_counts(f, tape, counts, 2);
	use = launch_one(f, graph);
	OK(philox_generator_seed(philox_context_generator(f->context), 77));
	launch_one(f, graph);
	read_log(f, &log);
	LOGGED_IN_ALL(&log, 5);
	for (unsigned i = 0; i < 2; i++)
		LOGGED(&log, i, predict(0, "layer", 4 * i));
	for (unsigned i = 0; i < 3; i++)
		LOGGED(&log, 2 + i, predict(77, "layer", 4 * i));
	SAME(iteration_of(f, region, use.ticket, 5), predict(0, "layer", 20),
	     "a ticket keeps its numbers");
}
