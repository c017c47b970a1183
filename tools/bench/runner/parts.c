/*
 * tools/bench/runner/parts.c - what the groups of part runner measure with
 */
#include "tools/bench/runner/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include "tools/bench/pools/pools.h"
#include "tools/cli/cli.h"

#define ELEMENTS 16 /* of a fill */

/* --- region, runner, pool ------------------------------------------------- */

int runner_parts_make(struct runner_parts *parts, struct bench *bench)
{
	static unsigned long made;
	const struct philox_op_desc ops[] = {{.name = "attention"},
					     {.name = "feed forward"}};
	char name[40];
	const struct philox_region_desc region = {.size = sizeof(region),
						  .name = name,
						  .ops = ops,
						  .n_ops = 2,
						  .pending = RUNNER_PENDING};
	struct philox_runner_desc options =
		PHILOX_INIT(struct philox_runner_desc);

	*parts = (struct runner_parts){.bench = bench};
	snprintf(name, sizeof(name), "bench runner %lu", ++made);
	options.name = name;
	return bench_try("region", philox_region_create(bench->context, &region,
							&parts->region)) ||
			       bench_try("runner",
					 philox_runner_create(
						 bench->context, &options,
						 &parts->runner)) ||
			       bench_try("pool", bench_pool_make(bench, 0,
								 &parts->pool))
		       ? -1
		       : 0;
}

void runner_parts_clean(struct runner_parts *parts)
{
	struct bench *bench = parts->bench;

	bench_wait(bench);
	philox_runner_destroy(parts->runner);
	philox_pool_destroy(parts->pool);
	philox_region_destroy(parts->region);
}

/* --- functions ------------------------------------------------------------ */

#define NAME_ROOM 16

struct descriptions {
	char (*names)[NAME_ROOM];
	struct philox_input_desc *inputs;
	struct philox_output_desc *outputs;
	struct philox_param_desc *values;
};

static int describe(const struct runner_shape *shape, struct descriptions *to)
{
	const uint32_t inputs = shape->statics + shape->copied;
	const uint32_t n = inputs + shape->outputs + shape->values;

	to->names = calloc(n + 1u, sizeof(*to->names));
	to->inputs = calloc(inputs + 1u, sizeof(*to->inputs));
	to->outputs = calloc(shape->outputs + 1u, sizeof(*to->outputs));
	to->values = calloc(shape->values + 1u, sizeof(*to->values));
	if (!to->names || !to->inputs || !to->outputs || !to->values) {
		perror("philox bench");
		return -1;
	}
	for (uint32_t i = 0; i < n; i++)
		snprintf(to->names[i], NAME_ROOM, "%u", i);
	for (uint32_t i = 0; i < inputs; i++)
		to->inputs[i] = (struct philox_input_desc){
			.name = to->names[i],
			.alignment = 16,
			.kind = i < shape->statics ? PHILOX_INPUT_STATIC
						   : PHILOX_INPUT_COPIED};
	for (uint32_t i = 0; i < shape->outputs; i++)
		to->outputs[i].name = to->names[i];
	for (uint32_t i = 0; i < shape->values; i++)
		to->values[i] = (struct philox_param_desc){
			.name = to->names[i], .bytes = RUNNER_VALUE};
	return 0;
}

static void forget_descriptions(struct descriptions *of)
{
	free(of->names);
	free(of->inputs);
	free(of->outputs);
	free(of->values);
}

int runner_function_make(const struct runner_parts *parts,
			 const struct runner_shape *shape,
			 struct philox_function_desc options,
			 struct philox_function **function)
{
	struct descriptions descriptions = {0};
	int failed = describe(shape, &descriptions);

	options.inputs = descriptions.inputs;
	options.n_inputs = shape->statics + shape->copied;
	options.outputs = descriptions.outputs;
	options.n_outputs = shape->outputs;
	options.params = descriptions.values;
	options.n_params = shape->values;
	if (!failed)
		failed = bench_try("function",
				   philox_function_create(parts->runner,
							  &options, function));
	forget_descriptions(&descriptions);
	return failed ? -1 : 0;
}

/* --- work ----------------------------------------------------------------- */

static enum philox_status draw_and_commit(struct philox_pass *pass, void *out)
{
	const struct philox_span span = {.count = ELEMENTS};
	enum philox_status status =
		philox_pass_bits(pass, 0, PHILOX_DTYPE_U32, span, out);

	return status == PHILOX_OK ? philox_pass_commit(pass, 0, NULL) : status;
}

enum philox_status runner_draw(const struct runner_parts *parts,
			       struct philox_run *run)
{
	struct philox_pass pass;
	void *numbers;
	enum philox_status status = philox_run_alloc(
		run, ELEMENTS * sizeof(uint32_t), 0, "numbers", &numbers);

	if (status == PHILOX_OK)
		status = philox_run_forward_begin(run, parts->region,
						  PHILOX_PASS_INFERENCE, &pass);
	return status == PHILOX_OK ? draw_and_commit(&pass, numbers) : status;
}

enum philox_status runner_capture(const struct runner_parts *parts,
				  enum philox_status (*work)(void *user),
				  void *user, struct philox_graph **graph)
{
	struct bench *bench = parts->bench;
	struct philox_pool_session *session;
	enum philox_status ended,
		status = philox_capture_begin(bench->context, bench->stream);

	if (status == PHILOX_OK)
		status = philox_pool_session_begin(parts->pool, bench->stream,
						   &session);
	if (status != PHILOX_OK)
		return status;
	status = work(user);
	ended = philox_pool_session_end(session, status, NULL);
	if (status == PHILOX_OK)
		status = ended;
	return status == PHILOX_OK ? philox_capture_end(bench->context,
							bench->stream, graph)
				   : status;
}

struct captured_draw {
	const struct runner_parts *parts;
	uint32_t values;
};

static enum philox_status capture_one_draw(void *user)
{
	const struct captured_draw *of = user;
	const struct runner_parts *parts = of->parts;
	philox_stream stream = parts->bench->stream;
	struct philox_pool_block block;
	struct philox_pass pass;
	enum philox_status status =
		bench_capture_values(parts->bench, of->values, RUNNER_VALUE);

	if (status == PHILOX_OK)
		status = philox_pool_alloc(parts->pool, stream,
					   ELEMENTS * sizeof(uint32_t), 0,
					   "numbers", &block);
	if (status == PHILOX_OK)
		status = philox_forward_begin(parts->region, stream,
					      PHILOX_PASS_INFERENCE, &pass);
	if (status == PHILOX_OK)
		status = draw_and_commit(&pass, block.address);
	return status == PHILOX_OK
		       ? philox_pool_free(parts->pool, stream, block.address)
		       : status;
}

enum philox_status runner_capture_draw(const struct runner_parts *parts,
				       uint32_t values,
				       struct philox_graph **graph)
{
	struct captured_draw of = {parts, values};

	return runner_capture(parts, capture_one_draw, &of, graph);
}

enum philox_status runner_call_differs(const struct philox_function *function,
				       uint32_t kind, uint32_t expected)
{
	complain("bench", "a call was of kind %u, not %u: %s", kind, expected,
		 philox_function_reason(function));
	return PHILOX_ERROR_STATE;
}
