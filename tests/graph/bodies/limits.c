/*
 * tests/graph/bodies/limits.c - how often a WHILE runs its body: not more often
 * than its limit if philox sets the condition, and what tells that it wanted to
 */
#include <stdio.h>
#include "lib/device/device.h"
#include "tests/support/loops.h"

enum { LIMIT = 3 };

/* Words in device memory that no kernel changes. */
static uint32_t *make_word(struct fixture *f, uint32_t value)
{
	uint32_t *word = make_memory(f, 16);

	OK(philox_memory_copy(f->device, f->stream, word, &value,
			      sizeof(value)));
	OK(philox_stream_synchronize(f->device, f->stream));
	return word;
}

static uint32_t first_word(const struct log *log, unsigned i)
{
	cr_assert_lt(i, log->n, "entry %u of %u", i, log->n);
	return log->run[i].word[0];
}

/* --- one kernel in each run ------------------------------------------------ */

static char heard[512];

static void hear(void *user, const struct philox_log_entry *entry)
{
	(void)user;
	if (entry->status == PHILOX_ERROR_LIMIT)
		snprintf(heard, sizeof(heard), "%s", entry->text);
}

/* Copies in the body stand for the user's kernels: there is one for each run. */
GRAPH_PROMISE(limits, a_loop_runs_as_often_as_its_limit_and_no_more)
{
	static const unsigned many[] = {40}, exact[] = {LIMIT};
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	struct philox_graph *graph;
	struct log log;

	make_log(f, &log);
	graph = record_while(f, region, LIMIT, tape, &log);
	OK(philox_graph_set_name(graph, "decode"));
	for (uint64_t launch = 0; launch < 3; launch++) {
		const unsigned *counts = launch == 1 ? many : exact;

		clear_log(f, &log);
		set_counts(f, tape, counts, 1);
		launch_one(f, graph);
		read_log(f, &log);
		LOGGED_IN_ALL(&log, LIMIT);
		for (unsigned i = 0; i < LIMIT; i++)
			LOGGED(&log, i,
			       predict(0, "layer", 4 * (LIMIT * launch + i)));
		if (launch != 1) {
			nothing_wrong(f);
			continue;
		}
		OK(philox_context_set_log(f->context, hear, NULL));
		FAILS(philox_context_check(f->context, &report),
		      PHILOX_ERROR_LIMIT);
		NAMES("1 loop ended at the limit while the condition still "
		      "held, first in 'decode' (regions: layer)");
		OK(philox_context_set_log(f->context, NULL, NULL));
		cr_assert_str_eq(heard,
				 "'decode': 1 loop ended at the limit while "
				 "the condition still held, the last at "
				 "conditional node 0: its limit is 3 runs in "
				 "one launch");
		cr_assert_eq(report.cut, 1);
		cr_assert_eq(report.beyond, 0);
		cr_assert_eq(report.launches, 0);
		cr_assert_eq(report.graphs, 0);
		cr_assert_str_eq(report.graph, "decode");
		cr_assert_str_eq(report.regions, "layer");
	}
}

/* A loop without a pass of philox is a loop, too. */
GRAPH_PROMISE(limits, a_loop_of_the_users_work_alone_ends_at_its_limit)
{
	static const unsigned counts[] = {1, 9};
	struct tape tape = make_tape(f);
	struct philox_conditional loop;
	struct philox_graph *graph;
	const uint32_t *run;
	struct log log;

	make_log(f, &log);
	record_begin(f);
	begin_while(f, f->stream, f->side, 1, tape, &loop);
	OK(philox_conditional_iteration(&loop, 0, &run));
	copy_to_log(f, f->side, &log, run, 4);
	end_while(f, f->side, tape, &loop);
	graph = record_end(f);
	set_counts(f, tape, counts, 2);
	for (unsigned launch = 0; launch < 2; launch++) {
		clear_log(f, &log);
		OK(philox_graph_launch(graph, f->stream, NULL, 0));
		read_log(f, &log);
		LOGGED_IN_ALL(&log, 1);
		if (launch)
			loops_cut(f, 1);
		else
			nothing_wrong(f);
	}
}

/* --- several kernels, or one in a branch ----------------------------------- */

/* Each run first says `first`, and then the tape. */
static struct philox_graph *record_twice(struct fixture *f,
					 struct philox_region *region,
					 struct tape tape,
					 const uint32_t *first,
					 struct log *log)
{
	struct philox_conditional loop;

	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	OK(philox_conditional_set(&loop, f->side, first));
	forward_in(f, region, f->side, log);
	end_while(f, f->side, tape, &loop);
	return record_end(f);
}

GRAPH_PROMISE(limits, the_last_word_of_a_run_counts)
{
	static const unsigned counts[] = {LIMIT, 2, 30, 0};
	struct tape tape = make_tape(f);

	for (uint32_t first = 0; first < 2; first++) {
		struct philox_region *region =
			make_region(f, first ? "one" : "zero");
		struct philox_graph *graph;
		struct log log;

		make_log(f, &log);
		graph = record_twice(f, region, tape, make_word(f, first),
				     &log);
		for (unsigned launch = 0; launch < 4; launch++) {
			const unsigned n = counts[launch];

			clear_log(f, &log);
			set_counts(f, tape, &n, 1);
			launch_one(f, graph);
			read_log(f, &log);
			LOGGED_IN_ALL(&log, n < LIMIT ? n : LIMIT);
			if (n > LIMIT)
				loops_cut(f, 1);
			else
				nothing_wrong(f);
		}
	}
}

/* The condition is 1 until a branch of the body sets it to 0. */
static struct philox_graph *record_until(struct fixture *f,
					 struct philox_region *region,
					 philox_stream inmost, struct tape tape,
					 struct log *log)
{
	struct philox_conditional_desc options = {
		.size = sizeof(options),
		.kind = PHILOX_CONDITIONAL_WHILE,
		.limit = LIMIT};
	const uint32_t *zero = make_word(f, 0);
	struct philox_conditional loop, branch;

	record_begin(f);
	OK(philox_conditional_begin(f->context, f->stream, &options, &loop));
	OK(philox_conditional_body(&loop, 0, f->side));
	forward_in(f, region, f->side, log);
	begin_if(f, f->side, inmost, tape, &branch);
	OK(philox_conditional_set(&loop, inmost, zero));
	OK(philox_conditional_end(&branch));
	OK(philox_conditional_end(&loop));
	return record_end(f);
}

GRAPH_PROMISE(limits, a_loop_that_a_branch_ends_ends_at_its_limit)
{
	/* in run 1, in the last one, never, in run 0; ones after these, since a
	 * loop that goes on has to end */
	static const uint32_t words[] = {0, 1, 0, 0, 1, 0, 0,
					 0, 1, 1, 1, 1, 1};
	static const uint32_t more[] = {0, 0, 1, 1, 1, 1};
	static const unsigned ran[] = {2, LIMIT, LIMIT, 1};
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_graph *graph;
	philox_stream inmost;
	struct log log;

	make_log(f, &log);
	OK(philox_stream_create(f->device, 0, &inmost));
	graph = record_until(f, region, inmost, tape, &log);
	set_tape(f, tape, words, sizeof(words) / sizeof(words[0]));
	for (uint64_t launch = 0; launch < 4; launch++) {
		clear_log(f, &log);
		launch_one(f, graph);
		read_log(f, &log);
		LOGGED_IN_ALL(&log, ran[launch]);
		for (unsigned i = 0; i < ran[launch]; i++)
			LOGGED(&log, i,
			       predict(0, "layer", 4 * (LIMIT * launch + i)));
		if (launch == 2)
			loops_cut(f, 1);
		else
			nothing_wrong(f);
	}
	set_tape(f, tape, more, sizeof(more) / sizeof(more[0]));
	for (int launch = 0; launch < 2; launch++) {
		clear_log(f, &log);
		OK(philox_native_exec_launch(f->device, f->stream,
					     native_exec(graph)));
		read_log(f, &log);
		LOGGED_IN_ALL(&log, 1);
		POISON_LOGGED(&log, 0);
	}
	FAILS(philox_context_check(f->context, NULL), PHILOX_ERROR_UNANNOUNCED);
	OK(philox_stream_destroy(f->device, inmost));
}

/* --- the caller's own kernels ----------------------------------------------- */

/*
 * A loop whose condition they set, with a log of the runs and one of the word
 * that tells whether the run is beyond the limit.
 */
static struct philox_graph *record_told(struct fixture *f,
					struct philox_region *region,
					struct tape tape, int own,
					struct log *log, struct log *told)
{
	struct philox_conditional loop;
	const uint32_t *beyond = NULL;

	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	OK(philox_conditional_beyond(&loop, 0, &beyond));
	copy_to_log(f, f->side, told, beyond, 4);
	forward_in(f, region, f->side, log);
	if (own)
		end_while_own(f, f->side, tape, &loop);
	else
		end_while(f, f->side, tape, &loop);
	return record_end(f);
}

GRAPH_PROMISE(limits, a_word_tells_the_runs_beyond_the_limit)
{
	static const unsigned counts[] = {LIMIT + 2, LIMIT, 1, LIMIT + 1};
	struct tape tape = make_tape(f);

	for (int own = 0; own < 2; own++) {
		struct philox_region *region =
			make_region(f, own ? "own" : "ours");
		struct philox_graph *graph;
		struct log log, told;

		make_log(f, &log);
		make_log(f, &told);
		graph = record_told(f, region, tape, own, &log, &told);
		for (unsigned launch = 0; launch < 4; launch++) {
			unsigned n = counts[launch];

			clear_log(f, &log);
			clear_log(f, &told);
			set_counts(f, tape, &n, 1);
			launch_one(f, graph);
			read_log(f, &log);
			read_log(f, &told);
			if (n > LIMIT && !own)
				loops_cut(f, 1);
			else if (n > LIMIT)
				beyond_limits(f, n - LIMIT);
			else
				nothing_wrong(f);
			n = n > LIMIT && !own ? LIMIT : n;
			LOGGED_IN_ALL(&log, n);
			for (unsigned i = 0; i < n; i++) {
				cr_assert_eq(first_word(&told, i), i >= LIMIT);
				if (i >= LIMIT)
					POISON_LOGGED(&log, i);
			}
		}
	}
}

GRAPH_PROMISE(limits, a_word_tells_that_a_launch_was_not_announced)
{
	static const unsigned counts[] = {2};
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_graph *graph;
	struct log log, told;

	make_log(f, &log);
	make_log(f, &told);
	graph = record_told(f, region, tape, 0, &log, &told);
	for (int launch = 0; launch < 4; launch++) {
		clear_log(f, &told);
		set_counts(f, tape, counts, 1);
		if (launch % 2)
			OK(philox_native_exec_launch(f->device, f->stream,
						     native_exec(graph)));
		else
			launch_one(f, graph);
		read_log(f, &told);
		for (unsigned i = 0; i < told.n; i++)
			cr_assert_eq(first_word(&told, i),
				     (uint32_t)(launch % 2));
		cr_assert_eq(told.n, launch % 2 ? 1u : 2u);
	}
	FAILS(philox_context_check(f->context, NULL), PHILOX_ERROR_UNANNOUNCED);
}

/* A kernel of theirs after the last one of philox has the last word. */
GRAPH_PROMISE(limits, a_kernel_of_the_caller_after_ours_counts)
{
	static const unsigned counts[] = {LIMIT + 2};
	struct philox_region *region = make_region(f, "layer");
	const uint32_t *one = make_word(f, 1);
	struct tape tape = make_tape(f);
	struct philox_conditional loop;
	struct philox_graph *graph;
	struct log log;

	make_log(f, &log);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	forward_in(f, region, f->side, &log);
	OK(philox_conditional_set(&loop, f->side, one));
	end_while_own(f, f->side, tape, &loop);
	graph = record_end(f);
	set_counts(f, tape, counts, 1);
	launch_one(f, graph);
	read_log(f, &log);
	LOGGED_IN_ALL(&log, LIMIT + 2);
	POISON_LOGGED(&log, LIMIT);
	POISON_LOGGED(&log, LIMIT + 1);
	FAILS(philox_context_check(f->context, NULL), PHILOX_ERROR_LIMIT);
}
