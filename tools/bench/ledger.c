/*
 * tools/bench/ledger.c - the cost of a ticket, in time and memory
 *
 * Passes are eager and draw nothing: there remain the library's own work and
 * one query of the stream's capture, which is measured as the peer.
 */
#include "tools/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include "tools/cli/cli.h"

#define PASSES 20000

static const uint32_t pendings[] = {1, 1000, 1000000};

#define N_PENDINGS (sizeof(pendings) / sizeof(pendings[0]))

struct ledger_bench {
	struct bench *bench;
	struct philox_region *region;
	struct philox_ticket *tickets; /* PASSES of them */
};

static int make_region(struct bench *bench, uint32_t pending, uint32_t calls,
		       struct philox_region **region)
{
	struct philox_op_desc op = {.name = "op", .calls = calls};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "bench",
					     .ops = &op,
					     .n_ops = 1,
					     .pending = pending};

	return bench_try("region", philox_region_create(bench->context,
							&options, region));
}

static int forward(struct ledger_bench *of, struct philox_ticket *ticket)
{
	struct philox_pass pass;
	enum philox_status status;

	status = philox_forward_begin(of->region, of->bench->stream, 0, &pass);
	if (status == PHILOX_OK)
		status = philox_pass_commit(&pass, 0, ticket);
	return bench_try("forward", status);
}

static int backward(struct ledger_bench *of, struct philox_ticket ticket)
{
	struct philox_pass pass;
	enum philox_status status;

	status = philox_backward_begin(of->region, of->bench->stream, ticket, 0,
				       &pass);
	if (status == PHILOX_OK)
		status = philox_pass_commit(&pass, 0, NULL);
	return bench_try("backward", status);
}

static int fill_pending(struct ledger_bench *of, uint32_t count)
{
	struct philox_ticket ticket;

	for (uint32_t i = 0; i < count; i++)
		if (forward(of, &ticket))
			return -1;
	return 0;
}

/* The device call of every pass, and nothing else. */
static double query_time(struct ledger_bench *of)
{
	double start = bench_now();

	for (int i = 0; i < PASSES; i++)
		philox_stream_capture_info(of->bench->device, of->bench->stream,
					   NULL, NULL);
	return (bench_now() - start) / PASSES;
}

enum { FORWARDS, BACKWARDS, QUERIES, FIGURES };

static int round_time(void *user, double *figures)
{
	struct ledger_bench *of = user;
	double start = bench_now();

	for (int i = 0; i < PASSES; i++)
		if (forward(of, &of->tickets[i]))
			return -1;
	figures[FORWARDS] = (bench_now() - start) / PASSES;
	start = bench_now();
	for (int i = 0; i < PASSES; i++)
		if (backward(of, of->tickets[i]))
			return -1;
	figures[BACKWARDS] = (bench_now() - start) / PASSES;
	figures[QUERIES] = query_time(of);
	return 0;
}

static int measure_ledger(struct ledger_bench *of, uint32_t pending)
{
	static const char *const names[] = {"forward", "backward"};
	double figures[FIGURES];

	if (bench_rounds(BENCH_ROUNDS, FIGURES, round_time, of, figures))
		return -1;
	for (int i = FORWARDS; i <= BACKWARDS; i++)
		bench_row(of->bench,
			  bench_name("%s begin+commit, %u pending", names[i],
				     pending),
			  figures[i], "ns", "capture query", figures[QUERIES]);
	return 0;
}

static int measure_pending(struct ledger_bench *of, uint32_t pending)
{
	int failed;

	bench_step(of->bench);
	failed = make_region(of->bench, pending + PASSES, 1, &of->region);

	if (failed)
		return -1;
	failed = fill_pending(of, pending) || measure_ledger(of, pending);
	philox_region_destroy(of->region);
	return failed ? -1 : 0;
}

/* The table's memory, which does not depend on the number of operators. */
static int measure_bytes(struct ledger_bench *of, uint32_t ops)
{
	const uint32_t pending = 1000000;
	double before = bench_heap(), small;

	bench_step(of->bench);
	if (make_region(of->bench, 1, ops, &of->region))
		return -1;
	small = bench_heap() - before;
	philox_region_destroy(of->region);
	before = bench_heap();
	if (make_region(of->bench, pending, ops, &of->region))
		return -1;
	bench_row(of->bench,
		  bench_name("memory of a pending forward, %u op%s", ops,
			     plural(ops)),
		  (bench_heap() - before - small) / (pending - 1), "bytes",
		  NULL, 0);
	philox_region_destroy(of->region);
	return 0;
}

static int measure_dropped(struct ledger_bench *of)
{
	struct philox_ticket ticket;
	double before;

	bench_step(of->bench);
	if (make_region(of->bench, 64, 1, &of->region))
		return -1;
	before = bench_heap();
	for (int i = 0; i < 1000000; i++)
		if (forward(of, &ticket) ||
		    bench_try("release",
			      philox_ticket_release(of->region,
						    of->bench->stream, ticket)))
			return -1;
	bench_row(of->bench, "memory after 1000000 dropped forwards",
		  bench_heap() - before, "bytes", NULL, 0);
	philox_region_destroy(of->region);
	return 0;
}

size_t bench_ledger_steps(const struct bench *bench)
{
	return N_PENDINGS + 3 + bench_schedules_steps(bench);
}

int bench_ledger(struct bench *bench)
{
	struct ledger_bench of = {.bench = bench};
	int failed = 0;

	of.tickets = calloc(PASSES, sizeof(*of.tickets));
	if (!of.tickets) {
		perror("philox bench");
		return -1;
	}
	for (size_t i = 0; i < N_PENDINGS && !failed; i++)
		failed = measure_pending(&of, pendings[i]);
	failed = failed || measure_bytes(&of, 1) || measure_bytes(&of, 1000) ||
		 measure_dropped(&of) || bench_schedules(bench);
	free(of.tickets);
	return failed ? -1 : 0;
}
