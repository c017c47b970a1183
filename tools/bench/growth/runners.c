/*
 * tools/bench/growth/runners.c - functions of a runner, and keys of a function
 */
#include "tools/bench/growth/growth.h"

static enum philox_status open_runner(struct growth_bed *bed)
{
	struct philox_runner_desc options =
		PHILOX_INIT(struct philox_runner_desc);

	options.name = "runner";
	return philox_runner_create(bed->context, &options, &bed->runner);
}

static enum philox_status close_runner(struct growth_bed *bed,
				       enum philox_status status)
{
	return status == PHILOX_OK ? philox_runner_destroy(bed->runner)
				   : status;
}

/* A body with one output, and nothing else. */
static enum philox_status body(void *user, struct philox_run *run)
{
	void *output;
	enum philox_status status =
		philox_run_alloc(run, 512, 0, "output", &output);

	(void)user;
	return status == PHILOX_OK ? philox_run_output(run, 0, output, 512)
				   : status;
}

static enum philox_status make_function(struct growth_bed *bed, size_t i)
{
	const struct philox_output_desc output = {.name = "output"};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);

	options.name = growth_name("function", i);
	options.mode = PHILOX_MODE_INFERENCE;
	options.body = body;
	options.outputs = &output;
	options.n_outputs = 1;
	options.policy.bytes = UINT64_MAX;
	return philox_function_create(
		bed->runner, &options,
		(struct philox_function **)&bed->things[i]);
}

static enum philox_status call(struct growth_bed *bed,
			       struct philox_function *function, size_t key)
{
	struct philox_output output;
	struct philox_call of = {.size = sizeof(of),
				 .stream = bed->stream,
				 .key = &key,
				 .key_bytes = sizeof(key),
				 .outputs = &output,
				 .n_outputs = 1};
	enum philox_status status = philox_function_call(function, &of);

	return status == PHILOX_OK ? philox_output_release(
					     bed->runner, bed->stream, &output)
				   : status;
}

/* --- functions ------------------------------------------------------------ */

static enum philox_status make_functions(struct growth_bed *bed)
{
	enum philox_status status = open_runner(bed);

	return status == PHILOX_OK ? growth_each(bed, make_function) : status;
}

/* The first call of each runs the body, the second records it. */
static enum philox_status call_function(struct growth_bed *bed, size_t i)
{
	return call(bed, bed->things[bed->order[i]], 0);
}

static enum philox_status call_functions(struct growth_bed *bed)
{
	return growth_each(bed, call_function);
}

static enum philox_status destroy_function(struct growth_bed *bed, size_t i)
{
	return philox_function_destroy(bed->things[i]);
}

static enum philox_status destroy_functions(struct growth_bed *bed)
{
	return close_runner(bed, growth_each(bed, destroy_function));
}

/* --- keys ----------------------------------------------------------------- */

static enum philox_status call_key(struct growth_bed *bed, size_t i)
{
	return call(bed, bed->things[0], bed->order[i]);
}

static enum philox_status warm_keys(struct growth_bed *bed)
{
	enum philox_status status = open_runner(bed);

	if (status == PHILOX_OK)
		status = make_function(bed, 0);
	return status == PHILOX_OK ? growth_each(bed, call_key) : status;
}

static enum philox_status call_keys(struct growth_bed *bed)
{
	return growth_each(bed, call_key);
}

static enum philox_status plan(struct growth_bed *bed)
{
	return philox_plan_save_text(bed->runner, &bed->text, &bed->bytes);
}

static enum philox_status destroy_keys(struct growth_bed *bed)
{
	return close_runner(bed, philox_function_destroy(bed->things[0]));
}

const struct growth_kind growth_runners[] = {
	{"functions",
	 100000,
	 {{"create", make_functions},
	  {"warm up", call_functions},
	  {"record", call_functions},
	  {"replay", call_functions},
	  {"destroy", destroy_functions}}},
	{"keys of a function",
	 100000,
	 {{"warm up", warm_keys},
	  {"record", call_keys},
	  {"replay", call_keys},
	  {"save a plan", plan},
	  {"destroy", destroy_keys}}},
	{0}};
