/*
 * tests/graph/bodies/report.c - runs beyond the limit, and launches that philox
 * was not told about: poison, and a report
 */
#include <stdlib.h>
#include <stdio.h>
#include <unistd.h>
#include "tests/support/loops.h"

enum { LIMIT = 3 };

/* --- beyond the limit ----------------------------------------------------- */

/* A loop whose condition the caller's kernels set. */
static struct philox_graph *record_endless(struct fixture *f,
					   struct philox_region *region,
					   struct tape tape, struct log *log)
{
	struct philox_conditional loop;

	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	forward_in(f, region, f->side, log);
	end_while_own(f, f->side, tape, &loop);
	return record_end(f);
}

GRAPH_PROMISE(beyond, each_run_counts_when_the_caller_goes_on)
{
	static const unsigned counts[] = {LIMIT + 4, 1, LIMIT, LIMIT + 1};
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	struct philox_graph *graph;
	struct log log;

	make_log(f, &log);
	graph = record_endless(f, region, tape, &log);
	set_counts(f, tape, counts, 4);
	for (uint64_t launch = 0; launch < 4; launch++) {
		clear_log(f, &log);
		launch_one(f, graph);
		read_log(f, &log);
		LOGGED_IN_ALL(&log, counts[launch]);
		for (unsigned i = 0; i < counts[launch]; i++) {
			if (i < LIMIT)
				LOGGED(&log, i,
				       predict(0, "layer",
					       4 * (LIMIT * launch + i)));
			else
				POISON_LOGGED(&log, i);
		}
	}
	FAILS(philox_context_check(f->context, &report), PHILOX_ERROR_LIMIT);
	cr_assert_eq(report.beyond, 4 + 1);
	cr_assert_eq(report.cut, 0);
	cr_assert_str_eq(report.graph, philox_graph_name(graph));
	nothing_wrong(f);
}

/* A backward in the same body is poison, too, and so is one around it. */
GRAPH_PROMISE(beyond, all_passes_of_the_run_are_poison)
{
	struct philox_region *a = make_region(f, "a"), *b = make_region(f, "b");
	struct tape tape = make_tape(f);
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	struct philox_conditional loop;
	struct philox_ticket ticket;
	struct philox_graph *graph;
	struct philox_launch_pass uses[4] = {{{0, 0}, 0, 0}};
	struct log logs[3];
	const unsigned count = LIMIT + 1;

	for (int i = 0; i < 3; i++)
		make_log(f, &logs[i]);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	ticket = forward_in(f, a, f->side, &logs[0]);
	backward_in(f, a, ticket, f->side, 0, &logs[1]);
	forward_in(f, b, f->side, &logs[2]);
	end_while_own(f, f->side, tape, &loop);
	graph = record_end(f);
	set_counts(f, tape, &count, 1);
	OK(philox_graph_launch(graph, f->stream, uses, 3));
	for (int i = 0; i < 3; i++) {
		read_log(f, &logs[i]);
		LOGGED_IN_ALL(&logs[i], LIMIT + 1);
		LOGGED(&logs[i], LIMIT - 1,
		       predict(0, i == 2 ? "b" : "a", 4 * (LIMIT - 1)));
		POISON_LOGGED(&logs[i], LIMIT);
	}
	FAILS(philox_context_check(f->context, &report), PHILOX_ERROR_LIMIT);
	cr_assert_eq(report.beyond, 1, "one run, whatever it holds");
	cr_assert_str_eq(report.regions, "a, b");
	nothing_wrong(f);
}

/* A branch in a loop has a limit of its own if it is told one. */
GRAPH_PROMISE(beyond, a_branch_is_taken_too_often)
{
	static const uint32_t words[] = {1, 1, 1, 1, 1, 1, 1, 0, 0};
	struct philox_region *region = make_region(f, "layer");
	struct philox_graph_pass_info info =
		PHILOX_INIT(struct philox_graph_pass_info);
	struct tape tape = make_tape(f);
	struct philox_conditional loop, branch;
	struct philox_graph *graph;
	philox_stream inmost;
	struct log log;

	OK(philox_stream_create(f->device, 0, &inmost));
	make_log(f, &log);
	record_begin(f);
	begin_while(f, f->stream, f->side, 5, tape, &loop);
	begin_node(f, f->side, PHILOX_CONDITIONAL_IF, 1, 2, tape, &branch);
	OK(philox_conditional_body(&branch, 0, inmost));
	forward_in(f, region, inmost, &log);
	OK(philox_conditional_end(&branch));
	end_while(f, f->side, tape, &loop);
	graph = record_end(f);
	OK(philox_graph_get_pass_info(graph, 0, &info));
	cr_assert_eq(info.iterations, 2);
	set_tape(f, tape, words, 9);
	launch_one(f, graph);
	read_log(f, &log);
	LOGGED_IN_ALL(&log, 3);
	LOGGED(&log, 0, predict(0, "layer", 0));
	LOGGED(&log, 1, predict(0, "layer", 4));
	POISON_LOGGED(&log, 2);
	beyond_limits(f, 1);
	SAME(peek(f, region), predict(0, "layer", 8), "reserved");
	OK(philox_stream_destroy(f->device, inmost));
}

/* Two graphs; the report names the first, the log both. */
struct heard {
	unsigned n;
	char graphs[4][64];
};

static void hear(void *user, const struct philox_log_entry *entry)
{
	struct heard *heard = user;

	if (entry->graph && heard->n < 4)
		snprintf(heard->graphs[heard->n++], 64, "%s", entry->graph);
}

GRAPH_PROMISE(beyond, each_graph_is_named_in_the_log)
{
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	struct heard heard = {0, {""}};
	struct philox_graph *graphs[2];
	struct log log;
	const unsigned counts[] = {9};

	make_log(f, &log);
	for (int i = 0; i < 2; i++)
		graphs[i] = record_while(f, region, LIMIT, tape, &log);
	OK(philox_graph_set_name(graphs[0], "one"));
	OK(philox_graph_set_name(graphs[1], "two"));
	for (int i = 0; i < 2; i++) {
		set_counts(f, tape, counts, 1);
		launch_one(f, graphs[i]);
		OK(philox_stream_synchronize(f->device, f->stream));
	}
	OK(philox_context_set_log(f->context, hear, &heard));
	FAILS(philox_context_check(f->context, &report), PHILOX_ERROR_LIMIT);
	OK(philox_context_set_log(f->context, NULL, NULL));
	cr_assert_eq(report.cut, 2);
	cr_assert_geq(heard.n, 2, "%u entries", heard.n);
	for (int i = 0; i < 2; i++) {
		unsigned found = 0;

		for (unsigned k = 0; k < heard.n; k++)
			found += !strcmp(heard.graphs[k], i ? "two" : "one");
		cr_assert_geq(found, 1, "graph %d", i);
	}
}

/* --- launches that philox was not told about ------------------------------ */

GRAPH_PROMISE(beyond, an_unannounced_loop_is_poison_and_ends)
{
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	struct philox_conditional loop;
	struct philox_ticket ticket;
	struct ledger_view before = look(f, region);
	struct philox_graph *graph;
	const uint32_t *iteration;
	struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}};
	struct log forth, back, runs_log;
	const unsigned many = 30, two = 2;

	make_log(f, &forth);
	make_log(f, &back);
	make_log(f, &runs_log);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	OK(philox_conditional_iteration(&loop, 0, &iteration));
	copy_to_log(f, f->side, &runs_log, iteration, 4);
	ticket = forward_in(f, region, f->side, &forth);
	backward_in(f, region, ticket, f->side, 0, &back);
	end_while(f, f->side, tape, &loop);
	graph = record_end(f);
	for (uint64_t round = 0; round < 3; round++) {
		set_counts(f, tape, &many, 1);
		clear_log(f, &forth);
		clear_log(f, &back);
		clear_log(f, &runs_log);
		OK(philox_native_exec_launch(f->device, f->stream,
					     native_exec(graph)));
		read_log(f, &forth);
		read_log(f, &back);
		read_log(f, &runs_log);
		LOGGED_IN_ALL(&forth, 1);
		POISON_LOGGED(&forth, 0);
		POISON_LOGGED(&back, 0);
		cr_assert_eq(runs_log.run[0].word[0], UINT32_MAX);
		FAILS(philox_context_check(f->context, &report),
		      PHILOX_ERROR_UNANNOUNCED);
		cr_assert_eq(report.launches, 1);
		nothing_wrong(f);
		if (!round)
			unchanged(f, region, &before);
		set_counts(f, tape, &two, 1);
		clear_log(f, &forth);
		OK(philox_graph_launch(graph, f->stream, uses, 2));
		read_log(f, &forth);
		LOGGED_IN_ALL(&forth, 2);
		for (unsigned i = 0; i < 2; i++)
			LOGGED(&forth, i,
			       predict(0, "layer", 4 * (LIMIT * round + i)));
		nothing_wrong(f);
	}
}

GRAPH_PROMISE(beyond, an_unannounced_branch_is_poison)
{
	static const uint32_t words[] = {1, 0, 1, 0};
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	struct philox_conditional branch;
	struct philox_graph *graph;
	struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}};
	struct log logs[2];

	for (int i = 0; i < 2; i++)
		make_log(f, &logs[i]);
	record_begin(f);
	begin_node(f, f->stream, PHILOX_CONDITIONAL_IF, 2, 0, tape, &branch);
	for (uint32_t i = 0; i < 2; i++) {
		OK(philox_conditional_body(&branch, i, f->side));
		forward_in(f, region, f->side, &logs[i]);
	}
	OK(philox_conditional_end(&branch));
	graph = record_end(f);
	set_tape(f, tape, words, 4);
	OK(philox_graph_launch(graph, f->stream, uses, 2));
	for (int i = 0; i < 2; i++)
		OK(philox_native_exec_launch(f->device, f->stream,
					     native_exec(graph)));
	OK(philox_graph_launch(graph, f->stream, uses, 2));
	for (int i = 0; i < 2; i++) {
		read_log(f, &logs[i]);
		LOGGED_IN_ALL(&logs[i], 2);
	}
	LOGGED(&logs[0], 0, predict(0, "layer", 0));
	POISON_LOGGED(&logs[1], 0);
	POISON_LOGGED(&logs[0], 1);
	LOGGED(&logs[1], 1, predict(0, "layer", 12));
	FAILS(philox_context_check(f->context, &report),
	      PHILOX_ERROR_UNANNOUNCED);
	cr_assert_eq(report.launches, 2);
	nothing_wrong(f);
}

/* Views by number or by word are poison then, too. */
GRAPH_PROMISE(beyond, unannounced_views_are_poison)
{
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f), order = make_tape(f);
	struct philox_conditional loop;
	struct philox_pass pass, view;
	struct philox_ticket ticket;
	struct philox_graph *graph;
	struct log logs[3];
	const unsigned count = 1;

	for (int i = 0; i < 3; i++)
		make_log(f, &logs[i]);
	record_begin(f);
	OK(philox_forward_begin_loop(region, f->stream, 0, LIMIT, &pass));
	OK(philox_pass_at(&pass, 1, &view));
	draw_to_log(f, &view, &logs[0]);
	OK(philox_pass_at_word(&pass, order.word, &view));
	draw_to_log(f, &view, &logs[1]);
	OK(philox_pass_commit(&pass, 0, &ticket));
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	OK(philox_backward_begin(region, f->side, ticket, 0, &pass));
	OK(philox_pass_at(&pass, 2, &view));
	draw_to_log(f, &view, &logs[2]);
	OK(philox_pass_commit(&pass, 0, NULL));
	end_while(f, f->side, tape, &loop);
	graph = record_end(f);
	set_counts(f, tape, &count, 1);
	OK(philox_native_exec_launch(f->device, f->stream, native_exec(graph)));
	for (int i = 0; i < 3; i++) {
		read_log(f, &logs[i]);
		LOGGED_IN_ALL(&logs[i], 1);
		POISON_LOGGED(&logs[i], 0);
	}
	FAILS(philox_context_check(f->context, NULL), PHILOX_ERROR_UNANNOUNCED);
}

/* A context whose loop wanted to go on is not saved before that is known. */
GRAPH_PROMISE(beyond, a_context_is_saved_after_the_report)
{
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_graph *graph;
	struct log log;
	char *text = NULL;
	const unsigned count = 9;

	make_log(f, &log);
	graph = record_while(f, region, LIMIT, tape, &log);
	set_counts(f, tape, &count, 1);
	launch_one(f, graph);
	OK(philox_device_synchronize(f->device));
	FAILS(philox_context_save_text(f->context, &text, NULL),
	      PHILOX_ERROR_LIMIT);
	NAMES(philox_graph_name(graph));
	NAMES("ended a loop at its limit while the condition still held");
	cr_assert_null(text);
	loops_cut(f, 1);
	OK(philox_context_save_text(f->context, &text, NULL));
	free(text);
}

/* Both: UNANNOUNCED, and the loops cut are in the report, too. */
GRAPH_PROMISE(beyond, unannounced_launches_come_first_in_the_report)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct tape tape = make_tape(f);
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	struct philox_graph *loop, *plain;
	struct log log;
	const unsigned counts[] = {9};

	make_log(f, &log);
	loop = record_while(f, region, LIMIT, tape, &log);
	plain = record_forward(f, region, 0, array);
	OK(philox_graph_set_name(plain, "plain"));
	set_counts(f, tape, counts, 1);
	launch_one(f, loop);
	OK(philox_native_exec_launch(f->device, f->stream, native_exec(plain)));
	OK(philox_device_synchronize(f->device));
	FAILS(philox_context_check(f->context, &report),
	      PHILOX_ERROR_UNANNOUNCED);
	cr_assert_eq(report.launches, 1);
	cr_assert_eq(report.graphs, 1);
	cr_assert_eq(report.cut, 1);
	cr_assert_eq(report.beyond, 0);
	cr_assert_str_eq(report.graph, "plain");
	nothing_wrong(f);
}

/* --- the journal ---------------------------------------------------------- */

/* A program with loops and branches, in a context of its own. */
static char *journal_of_a_run(const char *device)
{
	static const unsigned counts[] = {2, 3, 0, 4};
	char path[] = "/tmp/philox-bodies-XXXXXX";
	char *text = calloc(1, 1 << 16);
	int file = mkstemp(path);
	struct philox_region *region;
	struct philox_graph *forth, *back;
	struct philox_launch_pass use;
	struct fixture f;
	struct tape tape;
	struct log log;

	cr_assert(text && file >= 0);
	fixture_open(&f, device);
	OK(philox_context_set_journal(f.context, path));
	region = make_region(&f, "layer");
	tape = make_tape(&f);
	make_log(&f, &log);
	forth = record_while(&f, region, LIMIT, tape, &log);
	back = record_while_backward(&f, region, LIMIT, tape, &log);
	set_counts(&f, tape, counts, 4);
	for (int i = 0; i < 2; i++) {
		use = launch_one(&f, forth);
		iteration_of(&f, region, use.ticket, 1);
		OK(philox_graph_launch(back, f.stream, &use, 1));
	}
	loops_cut(&f, 1);
	OK(philox_context_set_journal(f.context, NULL));
	cr_assert_gt(read(file, text, (1 << 16) - 1), 0);
	close(file);
	unlink(path);
	fixture_close(&f);
	return text;
}

/*
 * Numbers of contexts, at the beginning of lines, and of captures are those of
 * the process; all the rest is the same.
 */
static char *without_numbers(const char *text)
{
	static const char digits[] = "0123456789", capture[] = " capture ";
	char *to = calloc(1, strlen(text) + 1), *at = to;

	cr_assert(to);
	for (int begins = 1; *text; begins = *text++ == '\n') {
		if (begins)
			text += strspn(text, digits);
		*at++ = *text;
		if (at - to >= 9 && !memcmp(at - 9, capture, 9))
			text += strspn(text + 1, digits);
	}
	return to;
}

Test(beyond, two_equal_runs_have_equal_journals, .timeout = 120)
{
	static const char *const devices[] = {"host:sync", "host:strict",
					      "host"};
	char *first = journal_of_a_run(devices[0]);
	char *expected = without_numbers(first);

	cr_assert(strstr(expected, "layer"));
	cr_assert(strstr(expected, " cut 1 sequence 0\n"), "%s", expected);
	for (int i = 0; i < 3; i++) {
		char *text = journal_of_a_run(devices[i]);
		char *found = without_numbers(text);

		cr_assert_str_eq(found, expected);
		free(text);
		free(found);
	}
	free(first);
	free(expected);
}
