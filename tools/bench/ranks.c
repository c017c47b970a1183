/*
 * tools/bench/ranks.c - the cost of a digest that ranks compare
 *
 * Of a large model: REGIONS regions with OPS operators each, without tickets
 * and with TICKETS in each region. It is computed on the host.
 */
#include <stdio.h>
#include "tools/bench/bench.h"
#include "tools/cli/cli.h"

#define ROUNDS 15

enum { REGIONS = 2000, OPS = 20, TICKETS = 8 };

static int make_mesh(struct philox_context *context)
{
	struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);

	mesh.n_axes = 3;
	mesh.axes[0] = (struct philox_axis){.name = "data", .size = 128};
	mesh.axes[1] = (struct philox_axis){
		.name = "pipeline", .size = 16, .flags = PHILOX_AXIS_STAGES};
	mesh.axes[2] = (struct philox_axis){.name = "tensor", .size = 8};
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
		    bench_try("forward", philox_forward_commit(&pass, &ticket)))
			return -1;
	return 0;
}

/* Of the digest, and of that of philox_context_digest(), which sorts. */
static int round_of(struct philox_context *context, double *ours,
		    double *context_digest)
{
	struct philox_rank_digest digest =
		PHILOX_INIT(struct philox_rank_digest);
	double start = bench_now(), middle;
	uint64_t other;

	if (bench_try("digest", philox_mesh_digest(context, &digest)))
		return -1;
	middle = bench_now();
	if (bench_try("digest", philox_context_digest(context, &other)))
		return -1;
	*ours = middle - start;
	*context_digest = bench_now() - middle;
	return 0;
}

static int measure(struct bench *bench, struct philox_context *context,
		   double *ours, double *context_digest)
{
	double times[ROUNDS], others[ROUNDS];
	const int rounds = bench->quick ? 1 : ROUNDS;

	bench_step(bench);
	/* the second round overwrites the first */
	for (int i = -1; i < rounds; i++)
		if (round_of(context, &times[i < 0 ? 0 : i],
			     &others[i < 0 ? 0 : i]))
			return -1;
	*ours = bench_median(times, rounds);
	*context_digest = bench_median(others, rounds);
	return 0;
}

static int measure_digests(struct bench *bench, struct philox_context *context)
{
	static struct philox_region *regions[REGIONS];
	double bare, bare_context, full, context_digest;

	if (make_mesh(context) || make_regions(context, regions) ||
	    measure(bench, context, &bare, &bare_context) ||
	    make_tickets(bench, regions) ||
	    measure(bench, context, &full, &context_digest))
		return -1;
	if (bench_wants(bench, "ranks/digest"))
		bench_row(bench, "ranks/digest", full, "ns", "context",
			  context_digest);
	if (bench_wants(bench, "ranks/digest/region"))
		bench_row(bench, "ranks/digest/region", bare / REGIONS, "ns",
			  "context", bare_context / REGIONS);
	if (bench_wants(bench, "ranks/digest/ticket"))
		bench_row(bench, "ranks/digest/ticket",
			  (full - bare) / (REGIONS * TICKETS), "ns", "context",
			  (context_digest - bare_context) /
				  (REGIONS * TICKETS));
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
