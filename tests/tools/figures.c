/*
 * tests/tools/figures.c - the costs of philox: nodes, device calls, memory
 *
 * Counted, not timed.
 */
#include <stdio.h>
#include <stdlib.h>
#include "lib/state/state.h"
#include "tests/support/allocations.h"
#include "tests/support/support.h"
#include "tools/matrix/matrix.h"

/* --- nodes ---------------------------------------------------------------- */

static struct philox_region *make_region_of_ops(struct philox_context *context,
						const char *name, size_t n_ops,
						uint32_t pending)
{
	struct philox_op_desc *ops = calloc(n_ops, sizeof(*ops));
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = name,
					     .ops = ops,
					     .n_ops = n_ops,
					     .pending = pending};
	struct philox_region *region;

	cr_assert(ops);
	OK(philox_region_create(context, &options, &region));
	free(ops);
	return region;
}

static size_t nodes_of(struct fixture *f, philox_native_graph graph)
{
	size_t nodes;

	OK(philox_native_graph_node_count(f->device, graph, &nodes));
	return nodes;
}

/* The nodes of a graph with `draws` draws from states by value. */
static size_t nodes_by_value(struct fixture *f, size_t draws)
{
	struct philox_fill_desc fill = {.size = sizeof(fill),
					.dist = PHILOX_DIST_BITS,
					.dtype = PHILOX_DTYPE_U32,
					.span = {.count = 4},
					.out = f->scratch};
	philox_native_graph graph;
	size_t nodes;

	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_GLOBAL));
	for (size_t i = 0; i < draws; i++) {
		struct philox_rng rng = {{1, 4 * i}, NULL};

		OK(philox_rng_fill(f->device, f->stream, rng, &fill));
	}
	OK(philox_stream_end_capture(f->device, f->stream, &graph));
	nodes = nodes_of(f, graph);
	OK(philox_native_graph_destroy(f->device, graph));
	return nodes;
}

/*
 * A graph of as many passes over regions of `n_ops`, each drawing from each op.
 */
static struct philox_graph *record_passes(struct fixture *f,
					  struct philox_region **regions,
					  size_t n_regions, size_t n_passes,
					  uint32_t n_ops)
{
	record_begin(f);
	for (size_t i = 0; i < n_passes; i++) {
		struct philox_span span = {.count = 4};
		struct philox_pass pass;

		OK(philox_forward_begin(regions[i % n_regions], f->stream,
					PHILOX_PASS_INFERENCE, &pass));
		for (uint32_t op = 0; op < n_ops; op++)
			OK(philox_pass_bits(&pass, op, PHILOX_DTYPE_U32, span,
					    f->scratch));
		OK(philox_pass_commit(&pass, 0, NULL));
	}
	return record_end(f);
}

GRAPH_PROMISE(figures, a_graph_gains_one_node_whatever_it_holds)
{
	static const struct {
		size_t n_regions, n_passes, n_ops;
	} rows[] = {{1, 1, 1},   {1, 1, 10},  {1, 1, 1000}, {1, 50, 1},
		    {1, 50, 10}, {50, 50, 1}, {7, 50, 3}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct philox_region *regions[50];
		philox_native_graph native;
		struct philox_graph *graph;
		size_t draws = rows[i].n_passes * rows[i].n_ops;
		char name[32];

		for (size_t k = 0; k < rows[i].n_regions; k++) {
			snprintf(name, sizeof(name), "row %zu, %zu", i, k);
			regions[k] = make_region_of_ops(f->context, name,
							rows[i].n_ops, 0);
		}
		graph = record_passes(f, regions, rows[i].n_regions,
				      rows[i].n_passes,
				      (uint32_t)rows[i].n_ops);
		OK(philox_graph_native(graph, &native, NULL));
		cr_assert_eq(nodes_of(f, native), nodes_by_value(f, draws) + 1,
			     "row %zu", i);
	}
}

GRAPH_PROMISE(figures, forwards_backwards_and_recomputes_share_the_one_node)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_graph *graph;
	philox_native_graph native;
	struct philox_ticket ticket;

	record_begin(f);
	for (unsigned i = 0; i < 10; i++) {
		ticket = captured_forward(f, region, 0, f->scratch);
		captured_backward(f, region, ticket, PHILOX_PASS_RETAIN,
				  f->scratch);
		captured_backward(f, region, ticket, 0, f->scratch);
		captured_backward(f, region, (struct philox_ticket){0, 0}, 0,
				  f->scratch);
	}
	graph = record_end(f);
	OK(philox_graph_native(graph, &native, NULL));
	cr_assert_eq(nodes_of(f, native), 40 * SITES + 1);
}

/* --- device calls --------------------------------------------------------- */

struct calls {
	uint64_t of[64], all;
};

static struct calls count_calls(struct fixture *f)
{
	struct calls calls = {.all = philox_device_call_count(f->device, NULL)};

	for (size_t i = 0; device_operations[i]; i++)
		calls.of[i] = philox_device_call_count(f->device,
						       device_operations[i]);
	return calls;
}

/*
 * Since `before`: `replays` of each of the three calls, and one copy for the
 * first launch of each graph; no other.
 */
static void only_replays(struct fixture *f, const struct calls *before,
			 uint64_t replays, uint64_t graphs)
{
	struct calls now = count_calls(f);

	for (size_t i = 0; device_operations[i]; i++) {
		const char *name = device_operations[i];
		int belongs = !strcmp(name, "exec_launch") ||
			      !strcmp(name, "exec_set_kernel") ||
			      !strcmp(name, "capture_info");
		uint64_t copies = strcmp(name, "copy") ? 0 : graphs;

		cr_assert_eq(now.of[i] - before->of[i],
			     belongs ? replays : copies, "%s: %d calls", name,
			     (int)(now.of[i] - before->of[i]));
	}
	cr_assert_eq(now.all - before->all, 3 * replays + graphs);
}

/* Runs a stage of a schedule on two graphs and returns the replays made. */
static unsigned replay_schedule(struct fixture *f, struct philox_graph *forth,
				struct philox_graph *back,
				const struct schedule *schedule)
{
	struct philox_launch_pass uses[SCHEDULE_CHUNKS_MAX]
				      [SCHEDULE_MICROBATCHES_MAX] = {0};
	struct schedule_place place = {
		.stages = 4, .stage = 1, .microbatches = 8};
	struct schedule_order order = {0};

	schedule->make(&place, &order);
	for (unsigned i = 0; i < order.n; i++) {
		const struct schedule_action *action = &order.actions[i];
		struct philox_launch_pass *use =
			&uses[action->chunk][action->microbatch];

		use->flags =
			strchr("IR", action->what) ? PHILOX_PASS_RETAIN : 0;
		OK(philox_graph_launch(action->what == 'F' ? forth : back,
				       f->stream, use, 1));
	}
	return order.n;
}

GRAPH_PROMISE(figures, a_replay_makes_three_device_calls_in_any_order)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_graph *forth = record_forward(f, region, 0, f->scratch);
	struct philox_graph *back = record_backward(f, region, f->scratch);
	struct calls before = count_calls(f);
	uint64_t replays = 0;

	for (const struct schedule *s = schedules; s->name; s++)
		replays += replay_schedule(f, forth, back, s);
	only_replays(f, &before, replays, 2);
	PENDING(region, 0);
}

GRAPH_PROMISE(figures, a_replay_of_much_makes_three_device_calls_too)
{
	struct philox_region *regions[50];
	struct philox_launch_pass uses[50] = {0};
	struct philox_graph *graph;
	struct calls before;
	char name[16];

	for (unsigned i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "layer %u", i);
		regions[i] = make_region_of_ops(f->context, name, 20, 0);
	}
	graph = record_passes(f, regions, 50, 50, 20);
	before = count_calls(f);
	for (unsigned i = 0; i < 10; i++)
		OK(philox_graph_launch(graph, f->stream, uses, 50));
	only_replays(f, &before, 10, 1);
}

PROMISE(figures, an_eager_pass_makes_one_device_call)
{
	struct philox_region *region = make_region(f, "layer");
	struct calls before = count_calls(f);
	struct philox_ticket ticket;
	struct philox_pass pass;
	struct calls after;

	OK(philox_forward_begin(region, f->stream, 0, &pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_backward_begin(region, f->stream, ticket, 0, &pass));
	OK(philox_pass_commit(&pass, 0, NULL));
	after = count_calls(f);
	cr_assert_eq(after.all - before.all, 2);
}

/* --- memory --------------------------------------------------------------- */

Test(figures, memory_in_use_can_be_measured)
{
	size_t before = bytes_in_use();
	/* volatile, or a compiler removes it all */
	char *volatile small = malloc(5000);
	char *volatile large = malloc(5000000);

	memset(small, 1, 5000);
	memset(large, 1, 5000000);
	cr_assert_geq(bytes_in_use() - before, 5005000);
	free(small);
	free(large);
	cr_assert_lt(bytes_in_use(), before + 5000);
}

/* The bytes of a region of `n_ops` with `pending` forwards, all pending. */
static size_t bytes_with_pending(struct fixture *f, const char *name,
				 size_t n_ops, uint32_t pending)
{
	size_t before = bytes_in_use(), after;
	struct philox_region *region =
		make_region_of_ops(f->context, name, n_ops, pending);

	for (uint32_t i = 0; i < pending; i++) {
		struct philox_ticket ticket;
		struct philox_pass pass;

		OK(philox_forward_begin(region, f->stream, 0, &pass));
		OK(philox_pass_commit(&pass, 0, &ticket));
	}
	after = bytes_in_use();
	cr_assert_geq(after, before);
	OK(philox_region_destroy(region));
	return after - before;
}

PROMISE(figures, a_pending_forward_costs_at_most_128_bytes)
{
	enum { MANY = 100000 };
	static const size_t n_ops[] = {1, 10, 1000};
	size_t cost[3];

	for (unsigned i = 0; i < 3; i++) {
		char few_name[16], many_name[16];
		size_t few, many;

		snprintf(few_name, sizeof(few_name), "few %u", i);
		snprintf(many_name, sizeof(many_name), "many %u", i);
		few = bytes_with_pending(f, few_name, n_ops[i], 1);
		many = bytes_with_pending(f, many_name, n_ops[i], MANY + 1);
		cr_assert_gt(many, few);
		cost[i] = (many - few + MANY / 2) / MANY;
		cr_assert(cost[i] <= 128, "%zu bytes with %zu operators",
			  cost[i], n_ops[i]);
	}
	for (unsigned i = 1; i < 3; i++) {
		/* malloc rounds, so the last byte does not count */
		cr_assert(cost[i] <= cost[0] + 1 && cost[0] <= cost[i] + 1,
			  "%zu bytes with one operator, %zu with %zu", cost[0],
			  cost[i], n_ops[i]);
	}
}

/* The table only: the rest of a region would hide so few bytes. */
Test(figures, the_first_pending_forwards_cost_no_more)
{
	for (uint32_t pending = 1; pending <= 64; pending++) {
		size_t before = bytes_in_use(), bytes;
		struct ledger ledger;

		OK(ledger_init(&ledger, pending));
		bytes = bytes_in_use() - before;
		ledger_finish(&ledger);
		cr_assert_gt(bytes, 0);
		cr_assert(bytes <= 128 * (size_t)pending,
			  "%zu bytes for %u forwards", bytes, pending);
	}
}

/* Even a small table finds its tickets. */
PROMISE(figures, small_tables_pair_in_any_order)
{
	for (uint32_t pending = 1; pending <= 6; pending++) {
		struct philox_region *region =
			make_region_of(f->context, "layer", pending, NULL);
		struct forward made[6];
		struct philox_pass pass;

		for (unsigned k = 0; k < factorial(pending); k += 1 + k / 8) {
			unsigned order[6];

			permutation(k, pending, order);
			for (uint32_t i = 0; i < pending; i++)
				made[i] = forward(f, region);
			FAILS(philox_forward_begin(region, f->stream, 0, &pass),
			      PHILOX_ERROR_LIMIT);
			for (uint32_t i = 0; i < pending; i++)
				backward(f, &made[order[i]], 0);
		}
		OK(philox_region_destroy(region));
	}
}

PROMISE(figures, dropout_keeps_nothing_per_element)
{
	enum { ELEMENTS = 1 << 20, CALLS = 8, BYTES = 1024 };
	struct philox_region *region = make_region(f, "layer");
	float *x = make_memory(f, ELEMENTS * sizeof(*x));
	struct philox_span span = {.count = ELEMENTS};
	uint64_t device_before, device_after;
	struct philox_ticket ticket;
	struct philox_pass pass;
	size_t before, after;

	memset(x, 0, ELEMENTS * sizeof(*x));
	/* once, for anything made on first use */
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	OK(philox_pass_dropout(&pass, 0, PHILOX_DTYPE_F32, span, 0.5, x, x));
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_stream_synchronize(f->device, f->stream));
	before = bytes_in_use();
	device_before = philox_device_call_count(f->device, "mem_alloc");
	for (unsigned i = 0; i < CALLS; i++) {
		OK(philox_forward_begin(region, f->stream, 0, &pass));
		OK(philox_pass_dropout(&pass, i % 3, PHILOX_DTYPE_F32, span,
				       0.5, x, x));
		OK(philox_pass_commit(&pass, 0, &ticket));
		OK(philox_stream_synchronize(f->device, f->stream));
	}
	after = bytes_in_use();
	device_after = philox_device_call_count(f->device, "mem_alloc");
	cr_assert_eq(device_before, device_after);
	cr_assert(after <= before + CALLS * BYTES, "%zu bytes for %d elements",
		  after - before, CALLS * ELEMENTS);
}

/* The bytes that a graph with a dropout of so many elements takes. */
static size_t bytes_of_graph(struct fixture *f, struct philox_region *region,
			     float *x, uint64_t elements)
{
	struct philox_span span = {.count = elements};
	size_t before = bytes_in_use();
	struct philox_graph *graph;
	struct philox_ticket ticket;
	struct philox_pass pass;
	struct philox_launch_pass uses[2] = {0};
	size_t after;

	OK(philox_capture_begin(f->context, f->stream));
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	OK(philox_pass_dropout(&pass, 0, PHILOX_DTYPE_F32, span, 0.5, x, x));
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_backward_begin(region, f->stream, ticket, 0, &pass));
	OK(philox_pass_dropout(&pass, 0, PHILOX_DTYPE_F32, span, 0.5, x, x));
	OK(philox_pass_commit(&pass, 0, NULL));
	OK(philox_capture_end(f->context, f->stream, &graph));
	OK(philox_graph_launch(graph, f->stream, uses, 2));
	OK(philox_stream_synchronize(f->device, f->stream));
	after = bytes_in_use();
	OK(philox_graph_destroy(graph));
	return after - before;
}

PROMISE(figures, a_captured_dropout_keeps_nothing_per_element)
{
	enum { ELEMENTS = 1 << 20 };
	struct philox_region *region = make_region(f, "layer");
	float *x = make_memory(f, ELEMENTS * sizeof(*x));
	size_t few, many;

	memset(x, 0, ELEMENTS * sizeof(*x));
	bytes_of_graph(f, region, x, 4); /* for anything made on first use */
	few = bytes_of_graph(f, region, x, 4);
	many = bytes_of_graph(f, region, x, ELEMENTS);
	cr_assert(many <= few + 4096, "%zu bytes for 4 elements, %zu for %d",
		  few, many, ELEMENTS);
}

GRAPH_PROMISE(figures, replays_allocate_nothing)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_graph *forth = record_forward(f, region, 0, f->scratch);
	struct philox_graph *back = record_backward(f, region, f->scratch);
	size_t before = 0;

	for (unsigned i = 0; i < 300; i++) {
		struct philox_launch_pass use = {0};

		OK(philox_graph_launch(forth, f->stream, &use, 1));
		OK(philox_graph_launch(back, f->stream, &use, 1));
		OK(philox_stream_synchronize(f->device, f->stream));
		if (i == 100)
			before = bytes_in_use();
	}
	cr_assert(bytes_in_use() <= before + 1024, "%zu bytes more",
		  bytes_in_use() - before);
}
