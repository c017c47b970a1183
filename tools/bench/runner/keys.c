/*
 * tools/bench/runner/keys.c - memory of recordings of several sizes
 *
 * One function is recorded under keys of falling size, as a model is for
 * batches of several sizes. All recordings share the runner's pool, which
 * should not be larger than for the largest of them alone.
 */
#include <math.h>
#include <stdio.h>
#include "tools/bench/runner/runner.h"
#include "tools/cli/cli.h"

#define LAYERS 12
#define MIB    ((double)(1 << 20))
#define AIM    1.05 /* of the largest */

/* Tokens of a batch, which is the key: largest first. */
static const uint32_t batches[] = {2048, 1536, 1024, 768, 512, 256};

/* Bytes for each token: what a layer keeps, and temporaries on the way. */
static const size_t kept[] = {512, 8, 1536, 512, 32, 2048, 512};
static const size_t temporaries[] = {1024, 4, 1000, 4096, 24, 6, 512};

#define N(array) (sizeof(array) / sizeof((array)[0]))

static const char *const kinds[] = {"expandable", "plain"};

struct keys {
	struct bench *bench;
	struct philox_runner *runner;
	struct philox_function *function;
	uint32_t tokens; /* of the call on its way */
};

/* --- the body ------------------------------------------------------------- */

/* What is kept is free when the body returns. */
static enum philox_status run_batch_layer(const struct keys *of,
					  struct philox_run *run)
{
	enum philox_status status = PHILOX_OK;
	void *temporary, *result;

	for (size_t i = 0; status == PHILOX_OK && i < N(kept); i++) {
		status = philox_run_alloc(run, of->tokens * temporaries[i], 0,
					  "temporary", &temporary);
		if (status == PHILOX_OK)
			status = philox_run_alloc(run, of->tokens * kept[i], 0,
						  "kept", &result);
		if (status == PHILOX_OK)
			status = philox_run_free(run, temporary);
	}
	return status;
}

static enum philox_status run_batch(void *user, struct philox_run *run)
{
	enum philox_status status = PHILOX_OK;

	for (int i = 0; status == PHILOX_OK && i < LAYERS; i++)
		status = run_batch_layer(user, run);
	return status;
}

/* --- recordings ----------------------------------------------------------- */

static enum philox_status record_batch(struct keys *of, uint32_t tokens)
{
	struct philox_call call = {.size = sizeof(call),
				   .stream = of->bench->stream,
				   .key = &tokens,
				   .key_bytes = sizeof(tokens)};
	enum philox_status status;

	of->tokens = tokens;
	status = philox_function_call(of->function, &call);
	if (status != PHILOX_OK || call.kind == PHILOX_CALL_RECORD)
		return status;
	complain("bench", "%u tokens were not recorded: %s", tokens,
		 philox_function_reason(of->function));
	return PHILOX_ERROR_STATE;
}

static enum philox_status make_runner(struct keys *of, size_t kind)
{
	static unsigned long made;
	char name[40];
	struct philox_runner_desc runner =
		PHILOX_INIT(struct philox_runner_desc);
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	enum philox_status status;

	snprintf(name, sizeof(name), "bench, keys %lu", ++made);
	runner.name = name;
	runner.pool_flags = kind ? 0 : PHILOX_POOL_EXPANDABLE;
	options.name = "batch";
	options.body = run_batch;
	options.user = of;
	options.policy.warmups = PHILOX_NEVER;
	status = philox_runner_create(of->bench->context, &runner, &of->runner);
	return status == PHILOX_OK
		       ? philox_function_create(of->runner, &options,
						&of->function)
		       : status;
}

static enum philox_status record_batches(struct bench *bench, size_t kind,
					 size_t n, double *mapped)
{
	struct keys of = {.bench = bench};
	struct philox_pool_stats found = PHILOX_INIT(struct philox_pool_stats);
	enum philox_status status = make_runner(&of, kind);

	for (size_t i = 0; status == PHILOX_OK && i < n; i++)
		status = record_batch(&of, batches[i]);
	if (status == PHILOX_OK)
		status = philox_pool_get_stats(philox_runner_pool(of.runner),
					       &found);
	*mapped = (double)found.mapped_peak;
	if (status == PHILOX_OK)
		status = bench_wait(bench);
	if (status == PHILOX_OK)
		return philox_runner_destroy(of.runner);
	return status;
}

/* --- rows ----------------------------------------------------------------- */

static const char *keys_name(size_t kind)
{
	return bench_name("runner/keys/%zu/%s", N(batches), kinds[kind]);
}

static int keys_are_wanted(const struct bench *bench, size_t kind)
{
	return bench_wants(bench, keys_name(kind));
}

static void print_keys(struct bench *bench, size_t kind, double all, double one,
		       const char *note)
{
	struct bench_row row = {.name = keys_name(kind),
				.value = all / MIB,
				.unit = "MiB",
				.peer = "largest",
				.peer_value = one / MIB,
				.note = note};

	bench_print(bench, &row);
	row.peer = "aim";
	row.peer_value = AIM * one / MIB;
	bench_print(bench, &row);
}

static int measure_keys(void *user, size_t kind)
{
	struct bench *bench = user;
	double all = NAN, one = NAN;
	enum philox_status status;

	bench_step(bench);
	status = record_batches(bench, kind, N(batches), &all);
	if (status == PHILOX_OK)
		status = record_batches(bench, kind, 1, &one);
	if (status == PHILOX_ERROR_UNSUPPORTED)
		print_keys(bench, kind, NAN, NAN, philox_error_message());
	else if (bench_try("keys", status))
		return -1;
	else
		print_keys(bench, kind, all, one, NULL);
	return 0;
}

/* --- the group ------------------------------------------------------------ */

static const struct bench_series keys_series = {N(kinds), keys_are_wanted,
						measure_keys};

static int run_keys(struct bench *bench)
{
	return bench_series_run(bench, &keys_series, bench);
}

const struct bench_group runner_keys = {.run = run_keys,
					.series = &keys_series};
