/*
 * tools/bench/ranks.c - the cost of a digest that ranks compare
 *
 * Of a large model: REGIONS regions with OPS operators each, without tickets
 * and with TICKETS in each region. It is computed on the host.
 */
#include <stdio.h>
#include "tools/bench/bench.h"
#include "tools/cli/cli.h"

enum { REGIONS = 2000, OPS = 20, TICKETS = 8 };

static int make_mesh(struct philox_context *context)
{
	struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);

	mesh.n_axes = 3;
	mesh.axes[0] = (struct philox_axis){.name = "data", .n_ranks = 128};
	mesh.axes[1] = (struct philox_axis){
		.name = "pipeline", .n_ranks = 16, .flags = PHILOX_AXIS_STAGES};
	mesh.axes[2] = (struct philox_axis){.name = "tensor", .n_ranks = 8};
	return bench_try("mesh", philox_context_set_mesh(context, &mesh));
}

static int make_regions(struct philox_context *context,
			struct philox_region *regions[])
{
	const char *op_names[OPS];
	char names[OPS][16], name[32];

	for (int i = 0; i < OPS; i++) {
		snprintf(names[i], sizeof(names[i]), "op.%d", i);
		op_names[i] = names[i];
	}
	for (int i = 0; i < REGIONS; i++) {
		snprintf(name, sizeof(name), "model.layers.%d", i);
		if (bench_try("region", philox_region_create_named(
						context, name, op_names, OPS,
						&regions[i])))
			return -1;
	}
	return 0;
}

static int make_tickets(struct bench *bench, struct philox_region *regions[])
{
	struct philox_ticket ticket;
	struct philox_pass pass;

	for (int i = 0; i < REGIONS * TICKETS; i++)
		if (bench_try("forward",
			      philox_forward_begin(regions[i / TICKETS],
						   bench->stream, 0, &pass)) ||
		    bench_try("forward", philox_pass_commit(&pass, 0, &ticket)))
			return -1;
	return 0;
}

/* Of the digest, and of that of philox_context_digest(), which sorts. */
enum { RANK, CONTEXT, FIGURES };

static int time_digests(void *context, double *figures)
{
	struct philox_rank_digest digest =
		PHILOX_INIT(struct philox_rank_digest);
	double start = bench_now(), middle;
	uint64_t other;

	if (bench_try("digest", philox_context_rank_digest(context, &digest)))
		return -1;
	middle = bench_now();
	if (bench_try("digest", philox_context_digest(context, &other)))
		return -1;
	figures[RANK] = middle - start;
	figures[CONTEXT] = bench_now() - middle;
	return 0;
}

static int measure(struct bench *bench, struct philox_context *context,
		   double figures[FIGURES])
{
	bench_step(bench);
	return bench_rounds(bench->quick ? 1 : BENCH_ROUNDS, FIGURES,
			    time_digests, context, figures);
}

static void print_digests(struct bench *bench, const char *name,
			  const double figures[FIGURES], double n)
{
	bench_print_wanted(
		bench, &(struct bench_row){.name = name,
					   .value = figures[RANK] / n,
					   .unit = "ns",
					   .peer = "context",
					   .peer_value = figures[CONTEXT] / n});
}

static int measure_digests(struct bench *bench, struct philox_context *context)
{
	static struct philox_region *regions[REGIONS];
	double bare[FIGURES], full[FIGURES], more[FIGURES];

	if (make_mesh(context) || make_regions(context, regions) ||
	    measure(bench, context, bare) || make_tickets(bench, regions) ||
	    measure(bench, context, full))
		return -1;
	for (int i = 0; i < FIGURES; i++)
		more[i] = full[i] - bare[i];
	print_digests(bench, "ranks/digest", full, 1);
	print_digests(bench, "ranks/digest/region", bare, REGIONS);
	print_digests(bench, "ranks/digest/ticket", more, REGIONS * TICKETS);
	return 0;
}

size_t bench_ranks_steps(const struct bench *bench)
{
	(void)bench;
	return 2;
}

int bench_ranks(struct bench *bench)
{
	struct philox_context *context;
	int failed;

	if (bench_try("context",
		      philox_context_create(bench->device, &context)))
		return -1;
	failed = measure_digests(bench, context);
	philox_context_destroy(context);
	return failed ? -1 : 0;
}
