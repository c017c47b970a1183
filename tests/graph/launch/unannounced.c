/*
 * tests/graph/launch/unannounced.c - replays that philox was not told about
 *
 * They would have repeated numbers: they write poison instead, and
 * philox_context_check() reports each of them once.
 */
#include <stdio.h>
#include "tests/support/support.h"

static void launch_raw(struct fixture *f, struct philox_graph *graph,
		       unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		OK(philox_native_exec_launch(f->device, f->stream,
					     native_exec(graph)));
}

static void reports(struct fixture *f, uint64_t launches, uint64_t graphs,
		    struct philox_context_report *report)
{
	memset(report, 0x55, sizeof(*report));
	report->size = sizeof(*report);
	OK(philox_device_synchronize(f->device));
	FAILS(philox_context_check(f->context, report),
	      PHILOX_ERROR_UNANNOUNCED);
	cr_assert(report->launches == launches, "%d launches reported, not %d",
		  (int)report->launches, (int)launches);
	cr_assert(report->graphs == graphs, "%d graphs reported, not %d",
		  (int)report->graphs, (int)graphs);
	cr_assert_not_null(memchr(report->graph, 0, sizeof(report->graph)));
	cr_assert_not_null(memchr(report->regions, 0, sizeof(report->regions)));
}

static void reports_nothing(struct fixture *f)
{
	const struct philox_context_report zeros =
		PHILOX_INIT(struct philox_context_report);
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);

	memset(&report, 0x55, sizeof(report));
	report.size = sizeof(report);
	OK(philox_device_synchronize(f->device));
	OK(philox_context_check(f->context, &report));
	cr_assert_eq(memcmp(&report, &zeros, sizeof(report)), 0);
	OK(philox_context_check(f->context, NULL));
}

/* A report of a later version: `later` is a field that it has gained. */
struct later_report {
	struct philox_context_report report;
	uint64_t later;
	uint64_t beside; /* after it: must not be written */
};

PROMISE(unannounced, a_report_of_another_size)
{
	struct later_report new;

	for (size_t size = 0; size < sizeof(new.report); size++) {
		memset(&new, 0x55, sizeof(new));
		new.report.size = size;
		FAILS(philox_context_check(f->context, &new.report),
		      PHILOX_ERROR_INVALID);
		NAMES("report: size is");
		cr_assert_eq(new.report.launches, 0x5555555555555555);
	}
	new.report.size = SIZE_MAX;
	FAILS(philox_context_check(f->context, &new.report),
	      PHILOX_ERROR_INVALID);
	new.report.size = offsetof(struct later_report, beside);
	OK(philox_context_check(f->context, &new.report));
	cr_assert_eq(new.report.size, offsetof(struct later_report, beside));
	cr_assert_eq(new.report.launches, 0);
	cr_assert_eq(new.later, 0, "a field that this version does not know");
	cr_assert_eq(new.beside, 0x5555555555555555);
}

GRAPH_PROMISE(unannounced, a_refused_report_is_not_lost)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *y = make_array(f), *dx = make_array(f);
	struct philox_graph *graph = record_pair(f, region, y, dx);
	struct philox_context_report report = {0};

	launch_raw(f, graph, 1);
	OK(philox_device_synchronize(f->device));
	FAILS(philox_context_check(f->context, &report), PHILOX_ERROR_INVALID);
	reports(f, 1, 1, &report);
	cr_assert_eq(report.size, sizeof(report));
}

GRAPH_PROMISE(unannounced, the_first_launch_of_all_writes_poison)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward kept = forward(f, region);
	struct ledger_view before = look(f, region);
	uint32_t *y = make_array(f), *dx = make_array(f);
	struct philox_graph *graph = record_pair(f, region, y, dx);
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	struct numbers saw;

	OK(philox_graph_set_name(graph, "the step"));
	reports_nothing(f);
	launch_raw(f, graph, 1);
	reports(f, 1, 1, &report);
	cr_assert_eq(report.sequence, 0);
	cr_assert_str_eq(report.graph, "the step");
	cr_assert_str_eq(report.regions, "layer");
	saw = read_numbers(f, y);
	cr_assert(all_poison(&saw));
	saw = read_numbers(f, dx);
	cr_assert(all_poison(&saw));
	reports_nothing(f);
	unchanged(f, region, &before);
	backward(f, &kept, 0);
}

GRAPH_PROMISE(unannounced, a_repeated_launch_writes_poison)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *graph = record_forward(f, region, 0, array);
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	uint64_t sequence = 0;
	struct numbers saw;

	for (unsigned i = 0; i < 5; i++) {
		struct forward made = launch_forward(f, graph, region, array);

		SAME(made.saw, predict(0, "layer", 4 * i), "announced %u", i);
		reports_nothing(f);
		launch_raw(f, graph, 1 + i);
		reports(f, 1 + i, 1, &report);
		cr_assert_gt(report.sequence, sequence);
		sequence = report.sequence;
		saw = read_numbers(f, array);
		cr_assert(all_poison(&saw));
		reports_nothing(f);
		PENDING(region, i + 1);
		backward(f, &made, PHILOX_PASS_RETAIN);
	}
}

GRAPH_PROMISE(unannounced, launches_are_found_among_announced_ones)
{
	/* a: announced, r: raw */
	static const char order[] = "aararrraaraarrrrara";
	enum { N = sizeof(order) - 1 };
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	uint32_t *seen = make_memory(f, N * sizeof(struct numbers));
	struct philox_graph *graph = record_forward(f, region, 0, array);
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	struct philox_launch_pass use = {0};
	unsigned raw = 0, announced = 0;

	for (unsigned i = 0; i < N; i++) {
		if (order[i] == 'r')
			launch_raw(f, graph, 1);
		else
			OK(philox_graph_launch(graph, f->stream, &use, 1));
		OK(philox_memory_copy(f->device, f->stream, seen + i * WORDS,
				      array, sizeof(struct numbers)));
	}
	OK(philox_device_synchronize(f->device));
	for (unsigned i = 0; i < N; i++) {
		struct numbers saw = read_numbers(f, seen + i * WORDS);

		if (order[i] == 'r') {
			cr_assert(all_poison(&saw), "launch %u", i);
			raw++;
		} else {
			SAME(saw, predict(0, "layer", 4 * announced),
			     "launch %u", i);
			announced++;
		}
	}
	reports(f, raw, 1, &report);
	reports_nothing(f);
	PENDING(region, announced);
}

GRAPH_PROMISE(unannounced, launches_of_several_graphs_are_reported_together)
{
	struct philox_region *one = make_region(f, "one");
	struct philox_region *two = make_region(f, "two");
	struct philox_graph *first, *second;
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	uint32_t *array = make_array(f);

	record_begin(f);
	captured_forward(f, one, 0, array);
	captured_forward(f, two, 0, array);
	first = record_end(f);
	second = record_forward(f, two, 0, array);
	OK(philox_graph_set_name(first, "first"));
	OK(philox_graph_set_name(second, "second"));
	launch_raw(f, second, 3);
	reports(f, 3, 1, &report);
	cr_assert_str_eq(report.graph, "second");
	cr_assert_str_eq(report.regions, "two");
	launch_raw(f, first, 2);
	launch_raw(f, second, 1);
	reports(f, 3, 2, &report);
	cr_assert(!strcmp(report.graph, "first") ||
		  !strcmp(report.graph, "second"));
	launch_raw(f, first, 1);
	reports(f, 1, 1, &report);
	cr_assert_str_eq(report.graph, "first");
	cr_assert_str_eq(report.regions, "one, two");
	reports_nothing(f);
}

GRAPH_PROMISE(unannounced, long_lists_of_regions_are_cut)
{
	struct philox_region *regions[12];
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	struct philox_graph *graph;
	char name[64];

	for (unsigned i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "a region with a long name, %u",
			 i);
		regions[i] = make_region(f, name);
	}
	record_begin(f);
	for (unsigned i = 0; i < 12; i++)
		captured_forward(f, regions[i], 0, f->scratch);
	graph = record_end(f);
	launch_raw(f, graph, 1);
	reports(f, 1, 1, &report);
	cr_assert_gt(strlen(report.regions), 150);
	cr_assert_eq(
		strncmp(report.regions, "a region with a long name, 0, ", 30),
		0);
}

GRAPH_PROMISE(unannounced, all_kinds_of_values_are_poisoned)
{
	enum { N = 6 };
	struct philox_region *region = make_region(f, "layer");
	struct philox_span span = {.count = N};
	struct philox_pass pass;
	struct philox_graph *graph;
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	float *values = make_memory(f, 4 * N * sizeof(*values));
	uint64_t *wide = make_memory(f, N * sizeof(*wide));

	for (unsigned i = 0; i < N; i++)
		values[i] = 1;
	record_begin(f);
	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	OK(philox_pass_dropout(&pass, 0, PHILOX_DTYPE_F32, span, 0.5, values,
			       values));
	OK(philox_pass_uniform(&pass, 0, PHILOX_DTYPE_F32, span, 0, 1,
			       values + N));
	OK(philox_pass_normal(&pass, 0, PHILOX_DTYPE_F32, span, 0, 1,
			      values + 2 * N));
	OK(philox_pass_bernoulli(&pass, 0, PHILOX_DTYPE_F32, span, 0.5,
				 values + 3 * N));
	OK(philox_pass_bits(&pass, 0, PHILOX_DTYPE_U64, span, wide));
	OK(philox_pass_commit(&pass, 0, NULL));
	graph = record_end(f);
	launch_raw(f, graph, 1);
	reports(f, 1, 1, &report);
	for (unsigned i = 0; i < 4 * N; i++)
		cr_assert(values[i] != values[i], "value %u is no NaN", i);
	for (unsigned i = 0; i < N; i++)
		cr_assert_eq(wide[i], UINT64_MAX);
}

GRAPH_PROMISE(unannounced, a_second_executable_graph_is_found_out)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *graph = record_forward(f, region, 0, array);
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	philox_native_graph native;
	philox_native_exec second;
	struct numbers saw;

	OK(philox_graph_native(graph, &native, NULL));
	OK(philox_native_graph_instantiate(f->device, native, &second));
	for (unsigned i = 0; i < 3; i++) {
		SAME(launch_forward(f, graph, region, array).saw,
		     predict(0, "layer", 4 * i), "announced %u", i);
		OK(philox_native_exec_launch(f->device, f->stream, second));
		reports(f, 1, 1, &report);
		saw = read_numbers(f, array);
		cr_assert(all_poison(&saw));
	}
	OK(philox_native_exec_destroy(f->device, second));
}

GRAPH_PROMISE(unannounced, a_prologue_announces_one_launch_only)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *graph = record_forward(f, region, 0, array);
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	struct philox_launch_pass use = {0};

	OK(philox_graph_prologue(graph, f->stream, &use, 1));
	launch_raw(f, graph, 2);
	OK(philox_graph_epilogue(graph, PHILOX_OK));
	reports(f, 1, 1, &report);
	SAME(launch_forward(f, graph, region, array).saw,
	     predict(0, "layer", 4), "the next");
	reports_nothing(f);
}

GRAPH_PROMISE(unannounced, a_failed_launch_is_a_gap_and_no_alarm)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *graph = record_forward(f, region, 0, array);
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	struct philox_launch_pass use = {0};

	f->injected = 1;
	for (unsigned i = 0; i < 3; i++) {
		OK(philox_device_fail(f->device, "exec_launch", 1,
				      PHILOX_ERROR_DEVICE));
		FAILS(philox_graph_launch(graph, f->stream, &use, 1),
		      PHILOX_ERROR_DEVICE);
	}
	launch_forward(f, graph, region, array);
	reports_nothing(f);
	launch_raw(f, graph, 1);
	reports(f, 1, 1, &report);
}

GRAPH_PROMISE(unannounced, a_report_names_the_last_launch_that_succeeded)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *graph = record_forward(f, region, 0, array);
	static const char *const failing[] = {"exec_set_kernel", "exec_launch"};
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	struct philox_launch_pass use = {0};
	uint64_t good;

	f->injected = 1;
	for (unsigned i = 0; i < 3; i++)
		launch_forward(f, graph, region, array);
	launch_raw(f, graph, 1);
	reports(f, 1, 1, &report);
	good = report.sequence;
	cr_assert_eq(good, 3);
	for (unsigned i = 0; i < 2; i++) {
		OK(philox_device_fail(f->device, failing[i], 1,
				      PHILOX_ERROR_DEVICE));
		FAILS(philox_graph_launch(graph, f->stream, &use, 1),
		      PHILOX_ERROR_DEVICE);
		launch_raw(f, graph, 1);
		reports(f, 1, 1, &report);
		cr_assert_eq(report.sequence, good, "after a failed %s",
			     failing[i]);
	}
	launch_forward(f, graph, region, array);
	launch_raw(f, graph, 1);
	reports(f, 1, 1, &report);
	cr_assert_gt(report.sequence, good);
}

/* The numbers of a failed launch are burnt: no later launch may draw them. */
GRAPH_PROMISE(unannounced, a_failed_launch_announces_nothing)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *graph = record_forward(f, region, 0, array);
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	struct philox_launch_pass use = {0};
	struct numbers saw;

	f->injected = 1;
	for (unsigned i = 0; i < 3; i++) {
		if (i < 2) {
			OK(philox_device_fail(f->device,
					      i ? "exec_launch"
						: "exec_set_kernel",
					      1, PHILOX_ERROR_DEVICE));
			FAILS(philox_graph_launch(graph, f->stream, &use, 1),
			      PHILOX_ERROR_DEVICE);
		} else {
			OK(philox_graph_prologue(graph, f->stream, &use, 1));
			OK(philox_graph_epilogue(graph, PHILOX_ERROR_DEVICE));
		}
		launch_raw(f, graph, 1);
		reports(f, 1, 1, &report);
		saw = read_numbers(f, array);
		cr_assert(all_poison(&saw));
		launch_forward(f, graph, region, array);
		reports_nothing(f);
	}
}

GRAPH_PROMISE(unannounced, a_destroyed_graph_is_no_trouble)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_graph *graph =
		record_forward(f, region, 0, make_array(f));

	launch_raw(f, graph, 2);
	OK(philox_device_synchronize(f->device));
	OK(philox_graph_destroy(graph));
	philox_context_check(f->context, NULL);
	OK(philox_context_check(f->context, NULL));
	graph = record_forward(f, region, 0, make_array(f));
	reports_nothing(f);
}

static unsigned told;

static void on_message(void *user, const struct philox_log_entry *entry)
{
	if (strcmp(entry->event, "unannounced launch") != 0)
		return;
	cr_assert_eq(entry->level, PHILOX_LOG_ERROR);
	cr_assert_eq(entry->status, PHILOX_ERROR_UNANNOUNCED);
	cr_assert_eq(entry->capture_id, *(const uint64_t *)user);
	cr_assert_str_eq(entry->region, "layer");
	cr_assert_not_null(strstr(entry->text, "2 times"));
	told++;
}

/* Launches a new graph twice; no check asks about it. */
static struct philox_graph *launch_untold(struct fixture *f)
{
	struct philox_graph *graph =
		record_forward(f, make_region(f, "layer"), 0, make_array(f));

	told = 0;
	OK(philox_context_set_log(f->context, on_message, &f->capture_id));
	launch_raw(f, graph, 2);
	OK(philox_device_synchronize(f->device));
	return graph;
}

PROMISE(unannounced, the_log_reports_launches_when_a_graph_is_destroyed)
{
	OK(philox_graph_destroy(launch_untold(f)));
	cr_assert_eq(told, 1);
	OK(philox_context_check(f->context, NULL));
	cr_assert_eq(told, 1);
}

PROMISE(unannounced, the_log_reports_launches_of_a_capture_that_is_gone)
{
	struct philox_region *region = make_region(f, "layer");
	struct native native = capture_natively(f, region, f->scratch, NULL);

	told = 0;
	OK(philox_context_set_log(f->context, on_message, &native.id));
	for (unsigned i = 0; i < 2; i++)
		OK(philox_native_exec_launch(f->device, f->stream,
					     native.exec));
	OK(philox_device_synchronize(f->device));
	destroy_native(f, &native);
	cr_assert_eq(told, 0);
	OK(philox_graph_destroy(record_forward(f, region, 0, f->scratch)));
	cr_assert_eq(told, 1);
}

static void makes_no_device_call(struct fixture *f, enum philox_status expected)
{
	uint64_t calls = philox_device_call_count(f->device, NULL);
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	enum philox_status status = philox_context_check(f->context, &report);

	cr_assert_eq(philox_device_call_count(f->device, NULL), calls);
	cr_assert_eq(status, expected, "%s, not %s", philox_status_name(status),
		     philox_status_name(expected));
}

GRAPH_PROMISE(unannounced, a_check_makes_no_device_call)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *graph;

	makes_no_device_call(f, PHILOX_OK);
	record_begin(f);
	captured_forward(f, region, 0, array);
	makes_no_device_call(f, PHILOX_OK);
	graph = record_end(f);
	makes_no_device_call(f, PHILOX_OK);
	launch_forward(f, graph, region, array);
	makes_no_device_call(f, PHILOX_OK);
	launch_raw(f, graph, 2);
	OK(philox_device_synchronize(f->device));
	makes_no_device_call(f, PHILOX_ERROR_UNANNOUNCED);
	makes_no_device_call(f, PHILOX_OK);
}

GRAPH_PROMISE(unannounced, the_log_reports_launches_when_a_context_is_destroyed)
{
	launch_untold(f);
	philox_context_destroy(f->context);
	cr_assert_eq(told, 1);
	OK(philox_context_create(f->device, &f->context));
}

static struct {
	struct fixture *f;
	struct philox_graph *graph;
	unsigned messages;
} again;

static void launch_again(void *user, const struct philox_log_entry *entry)
{
	(void)user;
	if (strcmp(entry->event, "unannounced launch") != 0)
		return;
	if (again.messages++)
		return;
	launch_raw(again.f, again.graph, 1);
	OK(philox_device_synchronize(again.f->device));
}

GRAPH_PROMISE(unannounced, a_context_is_gone_only_when_its_log_has_heard_all)
{
	again.f = f;
	again.messages = 0;
	again.graph = launch_untold(f);
	OK(philox_context_set_log(f->context, launch_again, NULL));
	philox_context_destroy(f->context);
	cr_assert_eq(again.messages, 2);
	OK(philox_context_create(f->device, &f->context));
}

/* --- captures that are not our graphs, or no longer ----------------------- */

static void native_draws_poison(struct fixture *f, const struct native *native,
				uint32_t *array)
{
	struct numbers saw;

	memset(array, 0, sizeof(saw));
	OK(philox_native_exec_launch(f->device, f->stream, native->exec));
	saw = read_numbers(f, array);
	cr_assert(all_poison(&saw));
}

PROMISE(unannounced, a_capture_launched_before_its_adoption_draws_poison)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct native native = capture_natively(f, region, array, NULL);
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	struct philox_graph *graph;

	native_draws_poison(f, &native, array);
	native_draws_poison(f, &native, array);
	reports(f, 2, 1, &report);
	cr_assert_str_eq(report.regions, "layer");
	OK(philox_graph_adopt(f->context, native.id, native.graph, native.exec,
			      &graph));
	SAME(launch_forward(f, graph, region, array).saw,
	     predict(0, "layer", 0), "adopted");
	reports_nothing(f);
	OK(philox_graph_destroy(graph));
	destroy_native(f, &native);
}

PROMISE(unannounced, a_capture_once_dropped_draws_poison)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct native native = capture_natively(f, region, array, NULL);

	OK(philox_capture_drop(f->context, native.id));
	native_draws_poison(f, &native, array);
	destroy_native(f, &native);
}

/* It keeps the memory it writes to until the native graph is gone. */
PROMISE(unannounced, a_graph_no_longer_adopted_does_no_harm)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f), *other = make_array(f);
	struct native native = capture_natively(f, region, array, NULL);
	struct native newer[8];
	struct philox_state before[8][SITES];
	const struct philox_state *cells[8];
	struct philox_graph *graph;
	struct philox_launch_pass use = {0};

	OK(philox_graph_adopt(f->context, native.id, native.graph, native.exec,
			      &graph));
	OK(philox_graph_launch(graph, f->stream, &use, 1));
	OK(philox_device_synchronize(f->device));
	OK(philox_graph_destroy(graph));
	for (unsigned i = 0; i < 8; i++) {
		newer[i] = capture_natively(f, region, other, &cells[i]);
		OK(philox_graph_adopt(f->context, newer[i].id, newer[i].graph,
				      newer[i].exec, &graph));
		OK(philox_graph_launch(graph, f->stream, &use, 1));
		OK(philox_device_synchronize(f->device));
		memcpy(before[i], cells[i], sizeof(before[i]));
	}
	native_draws_poison(f, &native, array);
	for (unsigned i = 0; i < 8; i++)
		cr_assert_eq(memcmp(before[i], cells[i], sizeof(before[i])), 0);
	philox_context_destroy(f->context);
	OK(philox_context_create(f->device, &f->context));
	destroy_native(f, &native);
	for (unsigned i = 0; i < 8; i++)
		destroy_native(f, &newer[i]);
}
