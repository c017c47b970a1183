/*
 * tests/ledger/names.c - names that would break a line or move a cursor are
 * refused wherever they are given
 */
#include <stdio.h>
#include "tests/support/beds/runner.h"
#include "tests/support/beds/verify_job.h"

/* Each gives a name, in its way. */
typedef enum philox_status give(struct fixture *f, struct philox_runner *r,
				const char *name);

static enum philox_status region_with(struct fixture *f, const char *name,
				      const char *op)
{
	struct philox_region_desc options =
		PHILOX_INIT(struct philox_region_desc);
	struct philox_op_desc ops[2] = {{.name = NULL}, {.name = op}};
	struct philox_region *region;

	options.name = name;
	options.ops = ops;
	options.n_ops = 2;
	options.op_size = sizeof(*ops);
	return philox_region_create(f->context, &options, &region);
}

static enum philox_status region(struct fixture *f, struct philox_runner *r,
				 const char *name)
{
	(void)r;
	return region_with(f, name, NULL);
}

static enum philox_status op(struct fixture *f, struct philox_runner *r,
			     const char *name)
{
	(void)r;
	return region_with(f, "of ops", name);
}

static enum philox_status rows(struct fixture *f, struct philox_runner *r,
			       const char *name)
{
	struct philox_rows_desc options = PHILOX_INIT(struct philox_rows_desc);
	struct philox_rows *made;

	(void)r;
	options.name = name;
	options.count = 4;
	return philox_rows_create(f->context, &options, &made);
}

static enum philox_status axis(struct fixture *f, struct philox_runner *r,
			       const char *name)
{
	struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);

	(void)f;
	(void)r;
	mesh.n_axes = 1;
	mesh.axes[0].name = name;
	mesh.axes[0].n_ranks = 2;
	return philox_mesh_check(&mesh);
}

static enum philox_status pool(struct fixture *f, struct philox_runner *r,
			       const char *name)
{
	struct philox_pool_desc options = PHILOX_INIT(struct philox_pool_desc);
	struct philox_pool *made;

	(void)r;
	options.name = name;
	return philox_pool_create(f->context, &options, &made);
}

static enum philox_status tag(struct fixture *f, struct philox_runner *r,
			      const char *name)
{
	static struct philox_context *context;
	static struct philox_pool *made;
	struct philox_pool_desc options = PHILOX_INIT(struct philox_pool_desc);
	struct philox_pool_block block;

	(void)r;
	options.name = "of tags";
	if (context != f->context)
		OK(philox_pool_create(f->context, &options, &made));
	context = f->context;
	return philox_pool_alloc(made, f->stream, 64, 0, name, &block);
}

static enum philox_status param(struct fixture *f, struct philox_runner *r,
				const char *name)
{
	uint32_t value = 0;
	struct philox_graph *graph;
	enum philox_status status;
	void *cell;

	(void)r;
	OK(philox_capture_begin(f->context, f->stream));
	status = philox_capture_param(f->context, f->stream, name, &value, 4,
				      &cell);
	if (status == PHILOX_OK) {
		OK(philox_capture_end(f->context, f->stream, &graph));
		OK(philox_graph_destroy(graph));
	} else if (philox_capture_end(f->context, f->stream, &graph) ==
		   PHILOX_OK) {
		OK(philox_graph_destroy(graph));
	}
	return status;
}

static enum philox_status runner(struct fixture *f, struct philox_runner *r,
				 const char *name)
{
	struct philox_runner_desc options =
		PHILOX_INIT(struct philox_runner_desc);
	struct philox_runner *made;

	(void)r;
	options.name = name;
	return philox_runner_create(f->context, &options, &made);
}

static enum philox_status body(void *user, struct philox_run *run)
{
	(void)user;
	(void)run;
	return PHILOX_OK;
}

static enum philox_status make_it(struct philox_runner *r,
				  struct philox_function_desc *options)
{
	struct philox_function *made;
	enum philox_status status;

	options->size = sizeof(*options);
	options->name = options->name ? options->name : "f";
	options->body = body;
	status = philox_function_create(r, options, &made);
	if (status == PHILOX_OK)
		OK(philox_function_destroy(made));
	return status;
}

static enum philox_status function(struct fixture *f, struct philox_runner *r,
				   const char *name)
{
	(void)f;
	return make_it(r, &(struct philox_function_desc){.name = name});
}

static enum philox_status input(struct fixture *f, struct philox_runner *r,
				const char *name)
{
	const struct philox_input_desc of = {.name = name};

	(void)f;
	return make_it(r, &(struct philox_function_desc){.inputs = &of,
							 .n_inputs = 1});
}

static enum philox_status input_origin(struct fixture *f,
				       struct philox_runner *r,
				       const char *name)
{
	const struct philox_input_desc of = {.name = "x", .origin = name};

	(void)f;
	return make_it(r, &(struct philox_function_desc){.inputs = &of,
							 .n_inputs = 1});
}

static enum philox_status output(struct fixture *f, struct philox_runner *r,
				 const char *name)
{
	const struct philox_output_desc of = {.name = name};

	(void)f;
	return make_it(r, &(struct philox_function_desc){.outputs = &of,
							 .n_outputs = 1});
}

static enum philox_status output_origin(struct fixture *f,
					struct philox_runner *r,
					const char *name)
{
	const struct philox_output_desc of = {.name = "y", .origin = name};

	(void)f;
	return make_it(r, &(struct philox_function_desc){.outputs = &of,
							 .n_outputs = 1});
}

static enum philox_status parameter(struct fixture *f, struct philox_runner *r,
				    const char *name)
{
	const struct philox_param_desc of = {.name = name, .bytes = 4};

	(void)f;
	return make_it(r, &(struct philox_function_desc){.params = &of,
							 .n_params = 1});
}

static enum philox_status nothing(struct job *job, struct job_stage *stage)
{
	(void)job;
	return philox_memory_set(job->f->device, stage->stream, stage->array[0],
				 0, 4);
}

static enum philox_status array(struct fixture *f, struct philox_runner *r,
				const char *name)
{
	struct job job = new_job(f, nothing);
	enum philox_status status;

	(void)r;
	job.n_uses = 0;
	make_job(&job);
	job.arrays[0].name = name;
	status = launch_job(&job);
	if (status == PHILOX_OK)
		OK(philox_graph_set_name(job.graph, name));
	else
		FAILS(philox_graph_set_name(job.graph, name),
		      PHILOX_ERROR_INVALID);
	OK(philox_graph_destroy(job.graph));
	OK(philox_pool_destroy(job.pool));
	return status;
}

static const struct {
	give *give;
	const char *what; /* the message begins so */
} places[] = {
	{region, "region options: name"},
	{op, "region 'of ops': the name of op 1"},
	{rows, "rows options: name"},
	{axis, "mesh: the name of axis 0"},
	{pool, "pool options: name"},
	{tag, "pool 'of tags': tag"},
	{param, "name"},
	{runner, "runner options: name"},
	{function, "function options: name"},
	{input, "function 'f': the name of input 0"},
	{input_origin, "function 'f': the origin of input 'x'"},
	{output, "function 'f': the name of output 0"},
	{output_origin, "function 'f': the origin of output 'y'"},
	{parameter, "function 'f': the name of parameter 0"},
	{array, NULL}, /* that, and the name of its graph */
};

static void refused(struct fixture *f, struct philox_runner *r, size_t i,
		    const char *name, const char *why)
{
	char expected[200];

	FAILS(places[i].give(f, r, name), PHILOX_ERROR_INVALID);
	snprintf(expected, sizeof(expected), "%s has a control character, %s",
		 places[i].what ? places[i].what : "its new name", why);
	NAMES(expected);
}

RUNNER_PROMISE(names, with_control_characters_are_refused_wherever_given)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		refused(f, r, i, "line\nfeed", "0x0a, after 'line'");
		refused(f, r, i, "\x1b[2J", "0x1b, after ''");
		refused(f, r, i, "del\x7f", "0x7f, after 'del'");
		refused(f, r, i, "c1 \xc2\x9b", "0x9b, after 'c1 '");
	}
}

RUNNER_PROMISE(names, may_have_all_other_bytes)
{
	char name[64];

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(name, sizeof(name),
			 "%zu a b'\"\\ \xc2\xa0\xc3\xa4\xff\x9b", i);
		OK(places[i].give(f, r, name));
	}
}
