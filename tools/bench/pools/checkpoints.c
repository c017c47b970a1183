/*
 * tools/bench/pools/checkpoints.c - how long checkpoint and restore take
 *
 * Blocks of mixed sizes are live, with a hole after each. All are freed after
 * the checkpoint, so that the restore brings every one of them back.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "tools/bench/pools/pools.h"

static const uint32_t counts[] = {10, 1000, 10000, 100000};

#define N_COUNTS (sizeof(counts) / sizeof(counts[0]))

enum { CHECKPOINT, RESTORE, TIMES };

static const char *const figures[] = {"checkpoint", "restore",
				      "checkpoint-bytes"};

struct checkpoints {
	struct bench *bench;
	struct philox_pool *pool;
	uint32_t count;
	struct philox_pool_block *blocks; /* of them */
	uint64_t *ids;
	double bytes;        /* of a checkpoint */
	double fewer[TIMES]; /* the times of the count before */
	uint32_t fewer_of;   /* that count; 0: not measured */
};

static enum philox_status alloc_block(const struct checkpoints *of, uint32_t i,
				      struct philox_pool_block *block)
{
	return philox_pool_alloc(of->pool, of->bench->stream,
				 bench_pool_size(i), 0, "bench", block);
}

static enum philox_status free_block(const struct checkpoints *of,
				     struct philox_pool_block block)
{
	return philox_pool_free(of->pool, of->bench->stream, block.address);
}

/* Every second block of twice as many. */
static enum philox_status make_blocks(struct checkpoints *of)
{
	struct philox_pool_block *holes = calloc(of->count, sizeof(*holes));
	enum philox_status status = PHILOX_OK;

	if (!holes)
		return PHILOX_ERROR_MEMORY;
	for (uint32_t i = 0; status == PHILOX_OK && i < of->count; i++) {
		status = alloc_block(of, 2 * i, &of->blocks[i]);
		of->ids[i] = of->blocks[i].id;
		if (status == PHILOX_OK)
			status = alloc_block(of, 2 * i + 1, &holes[i]);
	}
	for (uint32_t i = 0; status == PHILOX_OK && i < of->count; i++)
		status = free_block(of, holes[i]);
	free(holes);
	return status;
}

static int time_round(void *user, double times[TIMES])
{
	struct checkpoints *of = user;
	struct philox_pool_checkpoint *checkpoint;
	double heap = bench_heap();
	double start = bench_now();
	enum philox_status status =
		philox_pool_checkpoint_create(of->pool, &checkpoint);

	times[CHECKPOINT] = bench_now() - start;
	if (status != PHILOX_OK)
		return (int)status;
	of->bytes = bench_heap() - heap;
	for (uint32_t i = 0; status == PHILOX_OK && i < of->count; i++)
		status = free_block(of, of->blocks[i]);
	start = bench_now();
	if (status == PHILOX_OK)
		status = philox_pool_restore(of->pool, checkpoint, of->ids,
					     of->count, NULL, 0);
	times[RESTORE] = bench_now() - start;
	philox_pool_checkpoint_destroy(checkpoint);
	return (int)status;
}

static const char *checkpoint_name(int figure, uint32_t count)
{
	return bench_name("pool/%s/%u", figures[figure], count);
}

/* Beside the time of the count before: how it grows. */
static void print_times(struct checkpoints *of, const double medians[TIMES])
{
	char peer[32];
	struct bench_row row = {.unit = "ns"};

	snprintf(peer, sizeof(peer), "of %u", of->fewer_of);
	for (int what = 0; what < TIMES; what++) {
		row.name = checkpoint_name(what, of->count);
		row.value = medians[what];
		row.peer = of->fewer_of ? peer : NULL;
		row.peer_value = of->fewer[what];
		bench_print_wanted(of->bench, &row);
		of->fewer[what] = medians[what];
	}
	of->fewer_of = of->count;
}

/* Only large pieces of the heap are counted where they are made and freed. */
static int is_counted(uint32_t count)
{
	return count >= 1000;
}

/* A sanitizer's heap does not say how much is in use. */
static void print_bytes(const struct checkpoints *of)
{
	int known = of->bytes > 0;

	bench_print_wanted(
		of->bench,
		&(struct bench_row){
			.name = checkpoint_name(TIMES, of->count),
			.value = known ? of->bytes / of->count : NAN,
			.unit = "bytes a block",
			.note = known ? NULL : "malloc does not say"});
}

static int measure_pool(struct checkpoints *of)
{
	double medians[TIMES];
	enum philox_status status;

	if (bench_try("pool", bench_pool_make(of->bench, 0, &of->pool)))
		return -1;
	status = make_blocks(of);
	if (status == PHILOX_OK)
		status = (enum philox_status)bench_rounds(
			of->bench->quick ? 1 : BENCH_ROUNDS, TIMES, time_round,
			of, medians);
	for (uint32_t i = 0; status == PHILOX_OK && i < of->count; i++)
		status = free_block(of, of->blocks[i]);
	if (status == PHILOX_OK)
		print_times(of, medians);
	else
		bench_try("checkpoint", status);
	if (status == PHILOX_OK && is_counted(of->count))
		print_bytes(of);
	return bench_try("pool", philox_pool_destroy(of->pool)) || status ? -1
									  : 0;
}

static int measure_blocks(void *user, size_t i)
{
	struct checkpoints *of = user;
	const uint32_t count = counts[i];
	int failed = -1;

	bench_step(of->bench);
	of->count = count;
	of->blocks = calloc(count, sizeof(*of->blocks));
	of->ids = calloc(count, sizeof(*of->ids));
	if (of->blocks && of->ids)
		failed = measure_pool(of);
	else
		perror("philox bench");
	free(of->blocks);
	free(of->ids);
	return failed;
}

static int checkpoint_is_wanted(const struct bench *bench, size_t i)
{
	for (int what = 0; what < TIMES + is_counted(counts[i]); what++)
		if (bench_wants(bench, checkpoint_name(what, counts[i])))
			return 1;
	return 0;
}

static const struct bench_series checkpoints_series = {
	N_COUNTS, checkpoint_is_wanted, measure_blocks};

static int run_checkpoints(struct bench *bench)
{
	struct checkpoints of = {.bench = bench};

	return bench_series_run(bench, &checkpoints_series, &of);
}

const struct bench_group bench_pool_checkpoints = {
	.run = run_checkpoints, .series = &checkpoints_series};
