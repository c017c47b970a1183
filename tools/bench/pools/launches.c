/*
 * tools/bench/pools/launches.c - device calls of a launch, with pools
 *
 * Each graph has one pass of one draw, into a block of a pool, or into memory
 * of its own. Counts do not depend on the machine.
 */
#include <stdio.h>
#include "tools/bench/pools/pools.h"

#define ELEMENTS 16
#define LAUNCHES 20
#define SHARING  2 /* graphs of one pool */

struct launches {
	struct bench *bench;
	struct philox_region *region;
	void *out; /* without a pool */
	double without;
};

static enum philox_status record_draw(const struct launches *of, void *out)
{
	const struct philox_span span = {.count = ELEMENTS};
	struct philox_pass pass;
	enum philox_status status = philox_forward_begin(
		of->region, of->bench->stream, PHILOX_PASS_INFERENCE, &pass);

	if (status == PHILOX_OK)
		status =
			philox_pass_bits(&pass, 0, PHILOX_DTYPE_U32, span, out);
	return status == PHILOX_OK ? philox_pass_commit(&pass, 0, NULL)
				   : status;
}

static enum philox_status draw_in_pool(const struct launches *of,
				       struct philox_pool *pool)
{
	philox_stream stream = of->bench->stream;
	struct philox_pool_session *session;
	struct philox_pool_block block;
	enum philox_status status =
		philox_pool_session_begin(pool, stream, &session);
	enum philox_status ended;

	if (status != PHILOX_OK)
		return status;
	status = philox_pool_alloc(pool, stream, ELEMENTS * 4, 0, "bench",
				   &block);
	if (status == PHILOX_OK)
		status = record_draw(of, block.address);
	if (status == PHILOX_OK)
		status = philox_pool_free(pool, stream, block.address);
	ended = philox_pool_session_end(session, status, NULL);
	return status == PHILOX_OK ? ended : status;
}

/* `pool` may be NULL. */
static enum philox_status capture_draw(const struct launches *of,
				       struct philox_pool *pool,
				       struct philox_graph **graph)
{
	struct bench *bench = of->bench;
	enum philox_status status =
		philox_capture_begin(bench->context, bench->stream);

	if (status == PHILOX_OK)
		status = pool ? draw_in_pool(of, pool)
			      : record_draw(of, of->out);
	if (status == PHILOX_OK)
		status = philox_capture_end(bench->context, bench->stream,
					    graph);
	return status;
}

/* The graphs take turns; the first launches are not counted. */
static enum philox_status count_launches(const struct launches *of,
					 struct philox_graph *const *graphs,
					 int n, double *calls)
{
	struct bench *bench = of->bench;
	enum philox_status status = PHILOX_OK;
	uint64_t before = 0;

	for (int i = 0; i < n + LAUNCHES && status == PHILOX_OK; i++) {
		struct philox_launch_pass use = {0};

		if (i == n)
			before = philox_device_call_count(bench->device, NULL);
		status = philox_graph_launch(graphs[i % n], bench->stream, &use,
					     1);
	}
	*calls = (double)(philox_device_call_count(bench->device, NULL) -
			  before) /
		 LAUNCHES;
	if (status == PHILOX_OK)
		status = bench_wait(bench);
	return status;
}

/* The calls of a launch of `n` graphs that share a pool, if there is one. */
static enum philox_status count_graphs(const struct launches *of,
				       struct philox_pool *pool, int n,
				       double *calls)
{
	struct philox_graph *graphs[SHARING] = {NULL};
	enum philox_status status = PHILOX_OK, ended = PHILOX_OK;

	for (int i = 0; i < n && status == PHILOX_OK; i++)
		status = capture_draw(of, pool, &graphs[i]);
	if (status == PHILOX_OK)
		status = count_launches(of, graphs, n, calls);
	for (int i = 0; i < n && ended == PHILOX_OK; i++)
		ended = philox_graph_destroy(graphs[i]);
	return status == PHILOX_OK ? ended : status;
}

static const struct {
	const char *name;
	int graphs;
	unsigned flags;
} rows[] = {{"pool/launch/alone", 1, 0},
	    {"pool/launch/shared", SHARING, 0},
	    {"pool/launch/strict", SHARING, PHILOX_POOL_STRICT}};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static int measure_row(const struct launches *of, size_t i)
{
	struct philox_pool *pool;
	double calls = 0;

	if (bench_try("pool",
		      bench_pool_make(of->bench, rows[i].flags, &pool)) ||
	    bench_try("launches",
		      count_graphs(of, pool, rows[i].graphs, &calls)) ||
	    bench_try("pool", philox_pool_destroy(pool)))
		return -1;
	bench_row(of->bench, rows[i].name, calls, "calls", "no pool",
		  of->without);
	return 0;
}

static int count_rows(struct launches *of)
{
	if (bench_try("launches", count_graphs(of, NULL, 1, &of->without)))
		return -1;
	for (size_t i = 0; i < N_ROWS; i++)
		if (bench_wants(of->bench, rows[i].name) && measure_row(of, i))
			return -1;
	return 0;
}

static size_t launches_steps(const struct bench *bench)
{
	for (size_t i = 0; i < N_ROWS; i++)
		if (bench_wants(bench, rows[i].name))
			return 1;
	return 0;
}

static int run_launches(struct bench *bench)
{
	const struct philox_op_desc op = {.name = "op"};
	const struct philox_region_desc options = {.size = sizeof(options),
						   .name = "bench",
						   .ops = &op,
						   .n_ops = 1,
						   .pending = 1};
	struct launches of = {.bench = bench};
	int failed;

	bench_step(bench);
	if (bench_try("region", philox_region_create(bench->context, &options,
						     &of.region)))
		return -1;
	failed = bench_try("memory",
			   philox_memory_alloc(bench->device, ELEMENTS * 4,
					       &of.out)) ||
		 count_rows(&of);
	philox_memory_free(bench->device, of.out);
	philox_region_destroy(of.region);
	return failed ? -1 : 0;
}

const struct bench_group bench_pool_launches = {.run = run_launches,
						.steps = launches_steps};
