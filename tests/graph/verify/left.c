/*
 * tests/graph/verify/left.c - what verified launches leave behind
 */
#include "tests/support/beds/runner_scene.h"
#include "tests/support/beds/verify_job.h"

/* --- launches within a callback ------------------------------------------- */

static enum philox_status outer_work(struct job *job, struct job_stage *stage)
{
	struct philox_generator *generator =
		philox_context_generator(job->f->context);

	if (stage->run && job->prop)
		JOB_TRY(launch_job(job->prop));
	if (stage->run)
		JOB_TRY(philox_generator_advance(generator, 8, NULL));
	return forward_work(job, stage);
}

PROMISE(verify_left, generators_as_they_were_with_a_launch_in_a_callback)
{
	struct job inner = new_job(f, forward_work);
	struct job outer = new_job(f, outer_work);
	struct philox_generator *generator =
		philox_context_generator(f->context);
	struct philox_state before, after;

	inner.region = make_region(f, "inner");
	outer.region = make_region(f, "outer");
	inner.pool = make_pool(f, "inner", 0);
	make_job(&inner);
	make_job(&outer);
	outer.prop = &inner;
	OK(philox_generator_get_state(generator, &before));
	OK(launch_job(&outer));
	OK(philox_generator_get_state(generator, &after));
	cr_assert_eq(after.offset, before.offset);
	PENDING(inner.region, 1);
	PENDING(outer.region, 1);
}

/* --- callbacks that fail when they are run again -------------------------- */

static enum philox_status fails_again_work(struct job *job,
					   struct job_stage *stage)
{
	JOB_TRY(philox_memory_set(job->f->device, stage->stream,
				  stage->array[0], stage->run ? 2 : 1,
				  JOB_BYTES));
	return stage->run && job->runs > 1 ? PHILOX_ERROR_NOT_FOUND : PHILOX_OK;
}

PROMISE(verify_left, arrays_as_they_were_if_a_later_run_fails)
{
	struct job job = new_job(f, fails_again_work);
	struct numbers before = read_numbers(f, job.array[0]);

	job.n_uses = 0;
	make_job(&job);
	FAILS(launch_job(&job), PHILOX_ERROR_NOT_FOUND);
	cr_assert_eq(job.runs, 2);
	SAME(read_numbers(f, job.array[0]), before, "y is not put back");
}

/* --- tables that a callback destroys -------------------------------------- */

static enum philox_status table_work(struct job *job, struct job_stage *stage)
{
	JOB_TRY(forward_work(job, stage));
	if (!stage->run)
		return PHILOX_OK;
	JOB_TRY(philox_rows_advance(job->prop, stage->stream, NULL, 8));
	return philox_rows_destroy(job->prop);
}

PROMISE(verify_left, tables_that_a_callback_would_destroy)
{
	struct philox_rows_desc options = PHILOX_INIT(struct philox_rows_desc);
	struct job job = new_job(f, table_work);
	struct philox_rows *rows;
	struct philox_state before, after;

	options.name = "requests";
	options.count = 1;
	OK(philox_rows_create(f->context, &options, &rows));
	OK(philox_rows_get(rows, f->stream, 0, 1, &before));
	job.prop = rows;
	job.region = make_region(f, "layer");
	make_job(&job);
	FAILS(launch_job(&job), PHILOX_ERROR_UNSUPPORTED);
	NAMES("a table of rows is destroyed");
	OK(philox_rows_get(rows, f->stream, 0, 1, &after));
	OK(philox_stream_synchronize(f->device, f->stream));
	cr_assert_eq(after.offset, before.offset);
	OK(philox_rows_destroy(rows));
}

/* --- data that a callback moves ------------------------------------------- */

struct moved_data {
	struct philox_data *data;
	enum philox_status (*move)(struct philox_data *data);
};

static enum philox_status advance_data(struct philox_data *data)
{
	return philox_data_advance(data, 8, NULL);
}

static enum philox_status seek_data(struct philox_data *data)
{
	return philox_data_seek(data, 8);
}

static enum philox_status data_work(struct job *job, struct job_stage *stage)
{
	struct moved_data *moved = job->prop;

	JOB_TRY(forward_work(job, stage));
	return stage->run ? moved->move(moved->data) : PHILOX_OK;
}

PROMISE(verify_left, data_that_a_callback_would_move_or_destroy)
{
	static const struct {
		enum philox_status (*move)(struct philox_data *data);
		const char *says;
	} moves[] = {{advance_data, "data are advanced"},
		     {seek_data, "the position of data is set"},
		     {philox_data_destroy, "data are destroyed"}};
	const struct philox_source_desc source = {100, 1, 0};
	struct philox_data_desc options = PHILOX_INIT(struct philox_data_desc);
	struct job job = new_job(f, data_work);
	struct moved_data moved;
	uint64_t position;

	options.name = "train";
	options.sources = &source;
	options.n_sources = 1;
	OK(philox_data_create(f->context, &options, &moved.data));
	OK(philox_data_seek(moved.data, 5));
	job.prop = &moved;
	job.region = make_region(f, "layer");
	make_job(&job);
	for (int i = 0; i < 3; i++) {
		moved.move = moves[i].move;
		FAILS(launch_job(&job), PHILOX_ERROR_UNSUPPORTED);
		NAMES(moves[i].says);
		OK(philox_data_position(moved.data, &position));
		cr_assert_eq(position, 5);
	}
	OK(philox_data_destroy(moved.data));
}

/* --- passes that a callback leaves open ----------------------------------- */

struct left_pass {
	struct philox_pass pass;
	enum philox_status returns; /* of the callback; OK: it ends them */
	int leaves;
};

static enum philox_status leaving_work(struct job *job, struct job_stage *stage)
{
	struct left_pass *left = job->prop;
	const unsigned flags = PHILOX_PASS_INFERENCE |
			       (stage->run ? PHILOX_PASS_ON_DEVICE : 0);

	JOB_TRY(job_forward(stage, job->region, flags, &left->pass));
	JOB_TRY(draw_or_fail(&left->pass, stage->array[0]));
	if (stage->run && left->leaves)
		return left->returns;
	return philox_pass_commit(&left->pass, 0, NULL);
}

static void begin_eagerly(struct job *job, struct philox_pass *pass,
			  const struct philox_state **cells)
{
	OK(philox_forward_begin(job->region, job->f->stream,
				PHILOX_PASS_INFERENCE | PHILOX_PASS_ON_DEVICE,
				pass));
	OK(philox_pass_states(pass, cells));
}

/* It has ended, and nobody else's cells with it. */
static void leave_open(struct job *job, struct left_pass *left)
{
	struct philox_pass one, other;
	const struct philox_state *cells, *others;

	left->leaves = 1;
	FAILS(launch_job(job),
	      left->returns == PHILOX_OK ? PHILOX_ERROR_STATE : left->returns);
	OK(philox_stream_synchronize(job->f->device, job->f->stream));
	begin_eagerly(job, &one, &cells);
	FAILS(philox_pass_commit(&left->pass, 0, NULL), PHILOX_ERROR_STATE);
	FAILS(philox_pass_abort(&left->pass), PHILOX_ERROR_STATE);
	OK(philox_stream_synchronize(job->f->device, job->f->stream));
	begin_eagerly(job, &other, &others);
	cr_assert_neq(cells, others, "two open passes have the same cells");
	OK(philox_pass_states(&one, &cells));
	OK(philox_pass_abort(&one));
	OK(philox_pass_abort(&other));
}

PROMISE(verify_left, passes_that_a_callback_leaves_open)
{
	struct job job = new_job(f, leaving_work);
	struct left_pass left = {.returns = PHILOX_OK};

	job.region = make_region(f, "layer");
	job.prop = &left;
	make_job(&job);
	leave_open(&job, &left);
	left.returns = PHILOX_ERROR_NOT_FOUND;
	leave_open(&job, &left);
	left.leaves = 0;
	OK(launch_job(&job));
}
