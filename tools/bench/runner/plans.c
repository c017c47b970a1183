/*
 * tools/bench/runner/plans.c - saving and loading what a runner has learned
 *
 * A function is recorded under many keys; its plan is saved, and loaded into a
 * runner that has made the same function.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "tools/bench/runner/runner.h"

#define RECORDINGS 10000
#define QUICK      500
#define ROUNDS     9
#define AIM_MS     50.0

struct plans {
	struct bench *bench;
	uint32_t n; /* keys, each with a recording */
	char *text;
	size_t size;
};

/* Without a pass, so that to record is not what takes the time. */
static enum philox_status take_little(void *user, struct philox_run *run)
{
	enum philox_status status = PHILOX_OK;
	void *memory = NULL;

	(void)user;
	for (int i = 0; status == PHILOX_OK && i < 4; i++)
		status = philox_run_alloc(run, 64, 0, "y", &memory);
	return status == PHILOX_OK ? philox_run_output(run, 0, memory, 64)
				   : status;
}

static enum philox_status make_planned(struct plans *of,
				       struct philox_runner **runner,
				       struct philox_function **function)
{
	static const struct philox_input_desc inputs[] = {{.name = "x"},
							  {.name = "weight"}};
	static const struct philox_output_desc output = {.name = "y"};
	static unsigned long made;
	char name[40];
	struct philox_runner_desc options =
		PHILOX_INIT(struct philox_runner_desc);
	struct philox_function_desc of_function =
		PHILOX_INIT(struct philox_function_desc);
	enum philox_status status;

	snprintf(name, sizeof(name), "bench, plans %lu", ++made);
	options.name = name;
	of_function.name = "layer";
	of_function.body = take_little;
	of_function.inputs = inputs;
	of_function.n_inputs = 2;
	of_function.outputs = &output;
	of_function.n_outputs = 1;
	of_function.policy.warmups = PHILOX_NEVER;
	status = philox_runner_create(of->bench->context, &options, runner);
	return status == PHILOX_OK
		       ? philox_function_create(*runner, &of_function, function)
		       : status;
}

static enum philox_status record_keys(struct plans *of,
				      struct philox_function *function)
{
	static char memory[64];
	const struct philox_call_input inputs[] = {{.address = memory},
						   {.address = memory}};
	enum philox_status status = PHILOX_OK;

	for (uint32_t key = 0; status == PHILOX_OK && key < of->n; key++) {
		struct philox_call call = {.size = sizeof(call),
					   .stream = of->bench->stream,
					   .key = &key,
					   .key_bytes = sizeof(key),
					   .inputs = inputs,
					   .n_inputs = 2};

		status = philox_function_call(function, &call);
	}
	return status == PHILOX_OK ? bench_wait(of->bench) : status;
}

/* --- times ---------------------------------------------------------------- */

static enum philox_status measure_save(struct plans *of,
				       struct philox_runner *runner,
				       double *milliseconds)
{
	double times[ROUNDS];
	enum philox_status status = PHILOX_OK;

	for (int i = 0; status == PHILOX_OK && i < ROUNDS; i++) {
		double began = bench_now();

		free(of->text);
		of->text = NULL;
		status = philox_plan_save_text(runner, &of->text, &of->size);
		times[i] = (bench_now() - began) / 1e6;
	}
	*milliseconds = bench_median(times, ROUNDS);
	return status;
}

static enum philox_status load_once(struct plans *of, double *milliseconds)
{
	struct philox_runner *runner;
	struct philox_function *function;
	enum philox_status status = make_planned(of, &runner, &function);
	double began = bench_now();

	if (status == PHILOX_OK)
		status = philox_plan_load_text(runner, of->text, of->size);
	*milliseconds = (bench_now() - began) / 1e6;
	return status == PHILOX_OK ? philox_runner_destroy(runner) : status;
}

static enum philox_status measure_load(struct plans *of, double *milliseconds)
{
	double times[ROUNDS];
	enum philox_status status = PHILOX_OK;

	for (int i = 0; status == PHILOX_OK && i < ROUNDS; i++)
		status = load_once(of, &times[i]);
	*milliseconds = bench_median(times, ROUNDS);
	return status;
}

static enum philox_status measure_both(struct plans *of, double *save,
				       double *load)
{
	struct philox_runner *runner;
	struct philox_function *function;
	enum philox_status status = make_planned(of, &runner, &function);

	if (status == PHILOX_OK)
		status = record_keys(of, function);
	bench_step(of->bench);
	if (status == PHILOX_OK)
		status = measure_save(of, runner, save);
	if (status == PHILOX_OK)
		status = measure_load(of, load);
	return status == PHILOX_OK ? philox_runner_destroy(runner) : status;
}

/* --- rows ----------------------------------------------------------------- */

static const char *const plan_rows[] = {"save", "load"};

static const char *plans_name(int row)
{
	return bench_name("runner/plans/%d/%s", RECORDINGS, plan_rows[row]);
}

static void print_plans(struct bench *bench, const double times[2])
{
	for (int i = 0; i < 2; i++)
		bench_print_wanted(
			bench,
			&(struct bench_row){.name = plans_name(i),
					    .value = times[i],
					    .unit = "ms",
					    .peer = i ? "aim" : NULL,
					    .peer_value = i ? AIM_MS : 0});
}

static size_t plans_steps(const struct bench *bench)
{
	return bench_wants(bench, plans_name(0)) ||
			       bench_wants(bench, plans_name(1))
		       ? 2
		       : 0;
}

static int run_plans(struct bench *bench)
{
	struct plans of = {.bench = bench,
			   .n = bench->quick ? QUICK : RECORDINGS};
	double times[2] = {NAN, NAN};
	enum philox_status status;

	bench_step(bench);
	status = measure_both(&of, &times[0], &times[1]);
	free(of.text);
	if (bench_try("plans", status))
		return -1;
	print_plans(bench, times);
	return 0;
}

const struct bench_group runner_plans = {.run = run_plans,
					 .steps = plans_steps};
