/*
 * tests/graph/launch/overlap.c - launches without philox that overlap announced
 * ones
 *
 * tests/graph/launch/head_steps.c tries every order of the steps of a head;
 * here are real threads, which need not take these steps in one piece.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include "lib/kernels/head/head_elements.h"
#include "graph/capture/capture.h"
#include "tests/support/support.h"

/* --- a cell that is written while it is read ------------------------------ */

static struct philox_state shared __attribute__((aligned(16)));
static const struct philox_state plain = {0x123456789abcdef0, 4096};
static const struct philox_state poison = {UINT64_MAX, PHILOX_POISON_OFFSET};
static atomic_int ended;

static void *store_often(void *state)
{
	while (!atomic_load_explicit(&ended, memory_order_relaxed))
		HEAD_STORE(&shared, *(const struct philox_state *)state);
	return NULL;
}

static void *store_both(void *unused)
{
	(void)unused;
	while (!atomic_load_explicit(&ended, memory_order_relaxed)) {
		HEAD_STORE(&shared, plain);
		HEAD_STORE(&shared, poison);
	}
	return NULL;
}

static void read_often(unsigned times, unsigned seen[2])
{
	struct philox_rng rng = {.cell = &shared};

	for (unsigned i = 0; i < times; i++) {
		struct philox_state saw = philox_resolve(rng);
		int poisoned = philox_is_poison(saw);

		seen[poisoned]++;
		if (!poisoned && memcmp(&saw, &plain, sizeof(saw)) != 0)
			cr_assert_fail("half a state: %" PRIx64 ", %" PRIx64,
				       saw.seed, saw.offset);
	}
}

Test(overlap, no_half_of_a_state_is_read, .timeout = 120)
{
	unsigned seen[2] = {0};
	pthread_t threads[3];

	/* One at first: where there are two cores, it runs beside the reads. */
	shared = poison;
	pthread_create(&threads[0], NULL, store_both, NULL);
	while (!seen[0] || !seen[1] || seen[0] + seen[1] < 10000000)
		read_often(1000, seen);
	pthread_create(&threads[1], NULL, store_often, (void *)&plain);
	pthread_create(&threads[2], NULL, store_often, (void *)&poison);
	read_often(3000000, seen);
	atomic_store(&ended, 1);
	for (unsigned i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

/* A state of the caller's need not be aligned as a cell is. */
Test(overlap, a_state_anywhere_can_be_resolved)
{
	uint64_t words[] = {1, 2, 3, 4, 5};

	for (unsigned i = 0; i < 4; i++) {
		const void *at = words + i;
		struct philox_rng rng = {.cell = at};
		struct philox_state state = philox_resolve(rng);

		cr_assert_eq(state.seed, i + 1);
		cr_assert_eq(state.offset, i + 2);
	}
	cr_assert_leq(_Alignof(struct philox_state), _Alignof(uint64_t));
}

/* --- two executable graphs of one capture --------------------------------- */

/*
 * Each word is one of these numbers or poison: two launches write the array, and
 * nothing says in which pieces. Returns how many are not.
 */
static unsigned count_others(const struct numbers *saw,
			     const struct numbers *expected)
{
	unsigned others = 0;

	for (unsigned i = 0; i < WORDS; i++)
		others += saw->word[i] != expected->word[i] &&
			  saw->word[i] != UINT32_MAX;
	return others;
}

GRAPH_PROMISE(overlap, a_second_executable_graph_draws_no_other_numbers)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *graph =
		record_forward(f, region, PHILOX_PASS_INFERENCE, array);
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	struct philox_launch_pass use = {0};
	philox_native_graph native;
	philox_native_exec second;

	OK(philox_graph_native(graph, &native, NULL));
	OK(philox_native_graph_instantiate(f->device, native, &second));
	for (unsigned i = 0; i < 50; i++) {
		struct numbers saw, expected = predict(0, "layer", 4 * i);

		if (i % 2)
			OK(philox_native_exec_launch(f->device, f->side,
						     second));
		OK(philox_graph_launch(graph, f->stream, &use, 1));
		if (!(i % 2))
			OK(philox_native_exec_launch(f->device, f->side,
						     second));
		OK(philox_device_synchronize(f->device));
		FAILS(philox_context_check(f->context, &report),
		      PHILOX_ERROR_UNANNOUNCED);
		cr_assert_eq(report.launches, 1, "launch %u", i);
		saw = read_numbers(f, array);
		cr_assert_eq(count_others(&saw, &expected), 0, "launch %u", i);
	}
	OK(philox_native_exec_destroy(f->device, second));
	OK(philox_graph_launch(graph, f->stream, &use, 1));
	OK(philox_device_synchronize(f->device));
	OK(philox_context_check(f->context, NULL));
	SAME(read_numbers(f, array), predict(0, "layer", 200), "alone again");
}

/* Many at once, on streams of their own: none is lost in the count. */
GRAPH_PROMISE(overlap, launches_that_overlap_are_all_counted)
{
	enum { STREAMS = 4, TIMES = 25 };
	struct philox_graph *graph =
		record_forward(f, make_region(f, "layer"),
			       PHILOX_PASS_INFERENCE, make_array(f));
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	philox_native_exec execs[STREAMS];
	philox_stream streams[STREAMS];
	philox_native_graph native;

	OK(philox_graph_native(graph, &native, NULL));
	for (unsigned i = 0; i < STREAMS; i++) {
		OK(philox_stream_create(f->device, 0, &streams[i]));
		OK(philox_native_graph_instantiate(f->device, native,
						   &execs[i]));
	}
	for (unsigned i = 0; i < STREAMS * TIMES; i++)
		OK(philox_native_exec_launch(f->device, streams[i % STREAMS],
					     execs[i % STREAMS]));
	OK(philox_device_synchronize(f->device));
	FAILS(philox_context_check(f->context, &report),
	      PHILOX_ERROR_UNANNOUNCED);
	cr_assert_eq(report.launches, STREAMS * TIMES);
	for (unsigned i = 0; i < STREAMS; i++) {
		OK(philox_native_exec_destroy(f->device, execs[i]));
		OK(philox_stream_destroy(f->device, streams[i]));
	}
}

/*
 * The graph's own executable graph repeats its message, the other one has none:
 * their heads have other control blocks, and reports.
 */
GRAPH_PROMISE(overlap, repeated_messages_and_missing_ones_are_counted_together)
{
	enum { TIMES = 50 };
	struct philox_graph *graph =
		record_forward(f, make_region(f, "layer"),
			       PHILOX_PASS_INFERENCE, make_array(f));
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	struct philox_launch_pass use = {0};
	philox_native_graph native;
	philox_native_exec second;

	OK(philox_graph_native(graph, &native, NULL));
	OK(philox_native_graph_instantiate(f->device, native, &second));
	OK(philox_native_exec_launch(f->device, f->side,
				     second)); /* before all */
	OK(philox_graph_launch(graph, f->stream, &use, 1));
	for (unsigned i = 0; i < TIMES; i++) {
		OK(philox_native_exec_launch(f->device, f->side, second));
		OK(philox_native_exec_launch(f->device, f->stream,
					     native_exec(graph)));
	}
	OK(philox_device_synchronize(f->device));
	FAILS(philox_context_check(f->context, &report),
	      PHILOX_ERROR_UNANNOUNCED);
	cr_assert_eq(report.launches, 1 + 2 * TIMES);
	OK(philox_native_exec_destroy(f->device, second));
	OK(philox_context_check(f->context, NULL));
}

/* --- heads of many parts -------------------------------------------------- */

/* A graph with one forward of an operator that draws so often. */
static struct philox_graph *record_wide(struct fixture *f, const char *name,
					uint32_t calls,
					const struct philox_state **states)
{
	const struct philox_op_desc op = {.calls = calls};
	struct philox_region_desc desc = PHILOX_INIT(struct philox_region_desc);
	struct philox_region *region;
	struct philox_pass pass;

	desc.name = name;
	desc.ops = &op;
	desc.n_ops = 1;
	OK(philox_region_create(f->context, &desc, &region));
	record_begin(f);
	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	OK(philox_pass_states(&pass, states));
	OK(philox_pass_commit(&pass, 0, NULL));
	return record_end(f);
}

/*
 * Cells that fill several parts, the last one not to its end. A larger graph
 * came before, whose memory is used again.
 */
GRAPH_PROMISE(overlap, graphs_of_many_cells_are_poisoned_or_filled_as_a_whole)
{
	enum { CALLS = 5 * HEAD_PART + 1 };
	struct philox_state *cells = make_memory(f, CALLS * sizeof(*cells));
	const struct philox_state *states;
	struct philox_launch_pass use = {0};
	struct philox_graph *graph;

	graph = record_wide(f, "wider", 3 * CALLS, &states);
	OK(philox_graph_launch(graph, f->stream, &use, 1));
	OK(philox_device_synchronize(f->device));
	OK(philox_graph_destroy(graph));
	graph = record_wide(f, "wide", CALLS, &states);
	for (unsigned launch = 0; launch < 6; launch++) {
		int raw = launch % 3 == 2;

		if (raw)
			OK(philox_native_exec_launch(f->device, f->stream,
						     native_exec(graph)));
		else
			OK(philox_graph_launch(graph, f->stream, &use, 1));
		OK(philox_memory_copy(f->device, f->stream, cells, states,
				      CALLS * sizeof(*cells)));
		OK(philox_stream_synchronize(f->device, f->stream));
		for (unsigned i = 0; i < CALLS; i++) {
			struct philox_state expected = predict_cell(
				0, "wide", 0, i, 4 * (launch - launch / 3));

			cr_assert_eq(philox_is_poison(cells[i]), raw,
				     "launch %u, cell %u", launch, i);
			cr_assert(raw || !memcmp(&cells[i], &expected, 16),
				  "launch %u, cell %u", launch, i);
		}
	}
	FAILS(philox_context_check(f->context, NULL), PHILOX_ERROR_UNANNOUNCED);
}

/* Another head's older count may arrive after a newer one. */
Test(overlap, a_count_that_has_gone_back_reports_nothing)
{
	struct head_report reports[2] = {{.count = 5, .sequence = 9}};
	struct head head = {.report.host = reports};
	uint64_t sequence = 0;

	cr_assert_eq(head_unannounced(&head, &sequence), 5);
	cr_assert_eq(sequence, 9);
	reports[0].count = 3;
	cr_assert_eq(head_untold(&head), 0);
	cr_assert_eq(head_unannounced(&head, &sequence), 0);
	reports[0].count = 6;
	reports[1].count = 1;
	cr_assert_eq(head_unannounced(&head, &sequence), 2);
	cr_assert_eq(head_untold(&head), 0);
}
