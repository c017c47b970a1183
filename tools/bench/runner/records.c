/*
 * tools/bench/runner/records.c - recordings, by what else is live in the pool
 *
 * In each round a function is replayed whose outputs are kept. Another one is
 * then called once more as it is, which puts the pool back first, and recorded
 * under a key of its own, which does, too.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "tools/bench/pools/pools.h"
#include "tools/bench/runner/runner.h"

static const uint32_t counts[] = {0, 10, 100, 1000};

#define N_COUNTS (sizeof(counts) / sizeof(counts[0]))

enum { RECORD, RESTORE, BYTES, DEVICE_BYTES, FIGURES };
static const char *const figures[FIGURES] = {"record", "restore",
					     "record-bytes", "device-bytes"};

/* A capture and a launch without a runner: beside those of a recording. */
enum { CAPTURE = FIGURES, COUNTED, MEASURED };

struct records {
	struct bench *bench;
	uint32_t live; /* blocks */
	struct runner_parts parts;
	struct philox_function *keeps, *draws, *eager;
	struct philox_output *kept;
	double none;  /* nanoseconds of a restore of none */
	uint32_t key; /* the last one */
	/* the rounds so far, and what was free on the device after the first */
	int rounds;
	double free;
};

static const char *record_name(int figure, uint32_t live)
{
	return bench_name("runner/%s/%u", figures[figure], live);
}

static int record_is_wanted(const struct bench *bench, size_t i)
{
	for (int figure = 0; figure < FIGURES; figure++)
		if (bench_wants(bench, record_name(figure, counts[i])))
			return 1;
	return 0;
}

/* --- bodies --------------------------------------------------------------- */

static enum philox_status keep_outputs(void *user, struct philox_run *run)
{
	const struct records *of = user;
	enum philox_status status = PHILOX_OK;
	void *output;

	for (uint32_t i = 0; status == PHILOX_OK && i < of->live; i++) {
		status = philox_run_alloc(run, bench_pool_size(i), 0, "output",
					  &output);
		if (status == PHILOX_OK)
			status = philox_run_output(run, i, output,
						   bench_pool_size(i));
	}
	return status;
}

static enum philox_status draw_numbers(void *user, struct philox_run *run)
{
	const struct records *of = user;

	return runner_draw(&of->parts, run);
}

/* --- a round -------------------------------------------------------------- */

static enum philox_status call(const struct records *of,
			       struct philox_function *function, uint32_t key,
			       uint32_t expected)
{
	struct philox_launch_pass use = {0};
	const int keeps = function == of->keeps;
	struct philox_call call = {.size = sizeof(call),
				   .stream = of->bench->stream,
				   .key = &key,
				   .key_bytes = sizeof(key),
				   .passes = keeps ? NULL : &use,
				   .n_passes = !keeps,
				   .outputs = keeps ? of->kept : NULL,
				   .n_outputs = keeps ? of->live : 0};
	enum philox_status status = philox_function_call(function, &call);

	if (status != PHILOX_OK || call.kind == expected)
		return status;
	return runner_call_differs(function, call.kind, expected);
}

static enum philox_status replace_outputs(struct records *of)
{
	enum philox_status status = PHILOX_OK;

	for (uint32_t i = 0; status == PHILOX_OK && i < of->live; i++)
		status = philox_output_release(of->parts.runner,
					       of->bench->stream, &of->kept[i]);
	if (status == PHILOX_OK)
		status = call(of, of->keeps, 0, PHILOX_CALL_REPLAY);
	return status == PHILOX_OK ? bench_wait(of->bench) : status;
}

static enum philox_status counted_bytes(const struct records *of, double *bytes)
{
	struct philox_function_stats found =
		PHILOX_INIT(struct philox_function_stats);
	enum philox_status status =
		philox_function_get_stats(of->draws, &found);

	*bytes = (double)found.bytes;
	return status;
}

static enum philox_status time_record(struct records *of,
				      double times[MEASURED])
{
	double heap = bench_heap(), counted, start;
	enum philox_status status = counted_bytes(of, &counted);

	times[DEVICE_BYTES] = 0; /* of all rounds */
	start = bench_now();
	if (status == PHILOX_OK)
		status = call(of, of->draws, ++of->key, PHILOX_CALL_RECORD);
	times[RECORD] = bench_now() - start;
	if (status == PHILOX_OK)
		status = bench_wait(of->bench);
	times[BYTES] = bench_heap() - heap;
	if (status == PHILOX_OK)
		status = counted_bytes(of, &times[COUNTED]);
	times[COUNTED] -= counted;
	return status;
}

static enum philox_status time_capture(const struct records *of,
				       double times[MEASURED])
{
	struct philox_graph *graph = NULL;
	struct philox_launch_pass use = {0};
	double start = bench_now();
	enum philox_status status = runner_capture_draw(&of->parts, 0, &graph);

	if (status == PHILOX_OK)
		status = philox_graph_launch(graph, of->bench->stream, &use, 1);
	times[CAPTURE] = bench_now() - start;
	if (status == PHILOX_OK)
		status = bench_wait(of->bench);
	return status == PHILOX_OK ? philox_graph_destroy(graph) : status;
}

/* Of the device's memory; a host device's is the machine's. */
static double free_on_device(const struct bench *bench)
{
	size_t bytes = 0;

	philox_device_memory_info(bench->device, &bytes, NULL);
	return (double)bytes;
}

static int time_record_round(void *user, double times[MEASURED])
{
	struct records *of = user;
	double start;
	enum philox_status status;

	if (of->rounds++ == 1)
		of->free = free_on_device(of->bench);
	status = replace_outputs(of);
	start = bench_now();
	if (status == PHILOX_OK)
		status = call(of, of->eager, 0, PHILOX_CALL_EAGER);
	times[RESTORE] = bench_now() - start;
	if (status == PHILOX_OK)
		status = replace_outputs(of);
	if (status == PHILOX_OK)
		status = time_record(of, times);
	return (int)(status == PHILOX_OK ? time_capture(of, times) : status);
}

static int time_record_rounds(struct records *of, double medians[MEASURED])
{
	const int rounds = of->bench->quick ? 1 : BENCH_ROUNDS;
	int failed;

	of->rounds = 0;
	failed = bench_rounds(rounds, MEASURED, time_record_round, of, medians);
	medians[DEVICE_BYTES] = (of->free - free_on_device(of->bench)) / rounds;
	return failed;
}

/* --- rows ----------------------------------------------------------------- */

/* Beside what philox counts itself. */
static void print_record_bytes(const struct records *of, const double *medians)
{
	const int known = medians[BYTES] > 0, counted = medians[COUNTED] > 0;
	bench_print_wanted(
		of->bench,
		&(struct bench_row){
			.name = record_name(BYTES, of->live),
			.value = known ? medians[BYTES] : NAN,
			.unit = "bytes",
			.peer = "counted",
			.peer_value = known && counted ? medians[COUNTED] : NAN,
			.note = !known     ? "malloc does not say"
				: !counted ? "the function's counts do not say"
					   : NULL});
}

/* Of what is free on a GPU, which other programs use, too. */
static void print_device_bytes(const struct records *of, double bytes)
{
	if (philox_device_is_host(of->bench->device))
		return;
	bench_print_wanted(
		of->bench,
		&(struct bench_row){.name = record_name(DEVICE_BYTES, of->live),
				    .value = bytes,
				    .unit = "bytes"});
}

static void print_records(struct records *of, const double *medians)
{
	struct bench_row row = {.name = record_name(RECORD, of->live),
				.value = medians[RECORD],
				.unit = "ns",
				.peer = "capture",
				.peer_value = medians[CAPTURE]};

	bench_print_wanted(of->bench, &row);
	row.name = record_name(RESTORE, of->live);
	row.value = medians[RESTORE];
	row.peer = of->none > 0 ? "of 0" : NULL;
	row.peer_value = of->none;
	bench_print_wanted(of->bench, &row);
	print_record_bytes(of, medians);
	print_device_bytes(of, medians[DEVICE_BYTES]);
	if (!of->live)
		of->none = medians[RESTORE];
}

/* --- the group ------------------------------------------------------------ */

static int make_record_function(struct records *of, const char *name,
				uint32_t flags,
				struct philox_function **function)
{
	const int keeps = function == &of->keeps;
	const struct runner_shape shape = {.outputs = keeps ? of->live : 0};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);

	options.name = name;
	options.mode = PHILOX_MODE_INFERENCE;
	options.flags = flags;
	options.body = keeps ? keep_outputs : draw_numbers;
	options.user = of;
	options.policy.warmups = PHILOX_NEVER;
	return runner_function_make(&of->parts, &shape, options, function);
}

static int make_record_functions(struct records *of)
{
	return make_record_function(of, "keeps", 0, &of->keeps) ||
			       make_record_function(of, "draws", 0,
						    &of->draws) ||
			       make_record_function(of, "eager",
						    PHILOX_FUNCTION_EAGER,
						    &of->eager) ||
			       bench_try("recording", call(of, of->keeps, 0,
							   PHILOX_CALL_RECORD))
		       ? -1
		       : 0;
}

static int measure_records(void *user, size_t i)
{
	struct records *of = user;
	const uint32_t live = counts[i];
	double medians[MEASURED];
	int failed;

	bench_step(of->bench);
	of->live = live;
	of->kept = calloc(live + 1u, sizeof(*of->kept));
	if (!of->kept) {
		perror("philox bench");
		return -1;
	}
	failed = runner_parts_make(&of->parts, of->bench) ||
		 make_record_functions(of) ||
		 bench_try("recording",
			   (enum philox_status)time_record_rounds(of, medians));
	if (!failed)
		print_records(of, medians);
	for (uint32_t k = 0; !failed && k < live; k++)
		failed = bench_try("release",
				   philox_output_release(of->parts.runner,
							 of->bench->stream,
							 &of->kept[k]));
	runner_parts_clean(&of->parts);
	free(of->kept);
	return failed ? -1 : 0;
}

static const struct bench_series records_series = {N_COUNTS, record_is_wanted,
						   measure_records};

static int run_records(struct bench *bench)
{
	struct records of = {.bench = bench};

	return bench_series_run(bench, &records_series, &of);
}

const struct bench_group runner_records = {.run = run_records,
					   .series = &records_series};
