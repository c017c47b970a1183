/*
 * tests/graph/verify/errors.c - verified launches that are refused or fail
 */
#include "tests/support/beds/runner_scene.h"
#include "tests/support/beds/verify_job.h"
#include <stdio.h>

static struct job forward_job(struct fixture *f)
{
	struct job job = new_job(f, forward_work);

	job.region = make_region(f, "layer");
	make_job(&job);
	return job;
}

/* A failure that came before anything was done. */
#define REFUSED(job, change, status, thing)                                 \
	do {                                                                \
		struct ledger_view before_ = look((job)->f, (job)->region); \
		const struct philox_verify_desc good_ = (job)->options;     \
		const struct philox_array_desc array_ = (job)->arrays[0];   \
                                                                            \
		change;                                                     \
		FAILS(launch_job(job), status);                             \
		NAMES(thing);                                               \
		unchanged((job)->f, (job)->region, &before_);               \
		cr_assert_eq((job)->runs, 0, "the callback has run");       \
		(job)->options = good_;                                     \
		(job)->arrays[0] = array_;                                  \
	} while (0)

/* --- arguments ------------------------------------------------------------ */

PROMISE(verify_errors, name_the_field)
{
	struct job job = forward_job(f);

	REFUSED(&job, job.options.size = 1, PHILOX_ERROR_INVALID, "size");
	REFUSED(&job, job.options.pool = NULL, PHILOX_ERROR_INVALID, "pool");
	REFUSED(&job, job.options.eager = NULL, PHILOX_ERROR_INVALID, "eager");
	REFUSED(&job, job.options.arrays = NULL, PHILOX_ERROR_INVALID,
		"arrays");
	REFUSED(&job, job.options.n_arrays = (1 << 20) + 1,
		PHILOX_ERROR_INVALID, "n_arrays");
	REFUSED(&job, job.arrays[0].name = NULL, PHILOX_ERROR_INVALID, "name");
	REFUSED(&job, job.arrays[0].address = NULL, PHILOX_ERROR_INVALID,
		"address");
	REFUSED(&job, job.arrays[0].elements = 99, PHILOX_ERROR_INVALID,
		"elements");
	REFUSED(&job, job.arrays[0].reserved = 1, PHILOX_ERROR_INVALID,
		"reserved");
	FAILS(philox_graph_launch_verified(NULL, f->stream, job.uses, 1,
					   &job.options),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_graph_launch_verified(job.graph, f->stream, job.uses, 1,
					   NULL),
	      PHILOX_ERROR_INVALID);
	OK(launch_job(&job));
}

PROMISE(verify_errors, name_arrays_that_overlap)
{
	struct job job = new_job(f, forward_work);

	job.region = make_region(f, "layer");
	job.n_arrays = 3;
	make_job(&job);
	job.arrays[1].address = job.array[0] + WORDS - 1;
	FAILS(launch_job(&job), PHILOX_ERROR_INVALID);
	NAMES("'y'");
	NAMES("'z'");
	job.arrays[1].address = job.array[0];
	FAILS(launch_job(&job), PHILOX_ERROR_INVALID);
	cr_assert_eq(job.runs, 0);
	job.arrays[1].address = job.array[1];
	OK(launch_job(&job));
}

/* Host devices know where memory ends. */
PROMISE(verify_errors, name_arrays_that_are_too_long)
{
	struct job job = forward_job(f);

	if (!philox_device_is_host(f->device))
		return;
	job.arrays[0].bytes = JOB_BYTES + 1;
	FAILS(launch_job(&job), PHILOX_ERROR_INVALID);
	cr_assert_eq(job.runs, 0);
	PENDING(job.region, 0);
	job.arrays[0].bytes = JOB_BYTES;
	OK(launch_job(&job));
}

PROMISE(verify_errors, are_those_of_a_launch)
{
	struct job job = forward_job(f), back = new_job(f, backward_work);
	struct forward one = forward(f, job.region);
	uint32_t *array = make_array(f);

	job.options.arrays = job.arrays;
	FAILS(philox_graph_launch_verified(job.graph, f->stream, job.uses, 2,
					   &job.options),
	      PHILOX_ERROR_INVALID);
	job.uses[0].reserved = 1;
	REFUSED(&job, (void)0, PHILOX_ERROR_INVALID, "pass 0");
	job.uses[0].reserved = 0;
	back.region = job.region;
	back.pool = job.pool;
	make_job(&back);
	backward(f, &one, 0);
	back.uses[0].ticket = one.ticket;
	REFUSED(&back, (void)0, PHILOX_ERROR_RELEASED, "pass 0");
	record_begin(f);
	captured_forward(f, job.region, PHILOX_PASS_INFERENCE, array);
	FAILS(launch_job(&job), PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	cr_assert_eq(job.runs, 0);
	OK(philox_graph_destroy(record_end(f)));
	OK(philox_graph_prologue(job.graph, f->stream, job.uses, 1));
	FAILS(launch_job(&job), PHILOX_ERROR_BUSY);
	OK(philox_graph_epilogue(job.graph, PHILOX_ERROR_DEVICE));
	OK(launch_job(&job));
	OK(philox_region_destroy(job.region));
	job.runs = 0;
	FAILS(launch_job(&job), PHILOX_ERROR_STALE);
	cr_assert_eq(job.runs, 0);
}

/* --- pools ---------------------------------------------------------------- */

PROMISE(verify_errors, name_a_pool_of_another_context)
{
	struct job job = forward_job(f);
	struct fixture other;

	fixture_open(&other, philox_device_name(f->device));
	REFUSED(&job, job.options.pool = make_pool(&other, "other", 0),
		PHILOX_ERROR_MISMATCH, "'other'");
	fixture_close(&other);
	OK(launch_job(&job));
}

PROMISE(verify_errors, name_a_pool_that_is_in_use)
{
	struct job job = forward_job(f);
	struct philox_pool_session *session;

	OK(philox_pool_session_begin(job.pool, f->side, &session));
	REFUSED(&job, (void)0, PHILOX_ERROR_BUSY, "'copies'");
	PENDING(job.region, 0);
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
	OK(launch_job(&job));
}

PROMISE(verify_errors, name_a_pool_of_the_graph)
{
	struct philox_pool *pool = make_pool(f, "memory", 0);
	struct job job = new_job(f, forward_work);
	struct philox_pool_session *session;
	struct philox_pool_block block;
	struct job_stage stage = {.stream = f->stream};

	job.region = make_region(f, "layer");
	job.pool = make_pool(f, "copies", 0);
	make_job(&job);
	OK(philox_graph_destroy(job.graph));
	memcpy(stage.array, job.array, sizeof(stage.array));
	record_begin(f);
	OK(philox_pool_session_begin(pool, f->stream, &session));
	OK(philox_pool_alloc(pool, f->stream, 64, 0, "between", &block));
	OK(forward_work(&job, &stage));
	OK(philox_pool_free(pool, f->stream, block.address));
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
	job.graph = record_end(f);
	REFUSED(&job, job.options.pool = pool, PHILOX_ERROR_BUSY, "'memory'");
	OK(launch_job(&job));
	OK(philox_pool_session_begin(pool, f->side, &session));
	FAILS(launch_job(&job), PHILOX_ERROR_BUSY);
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
	OK(launch_job(&job));
}

/* Twice the arrays and 16 KiB are enough, and less than twice is not. */
enum { LARGE = 4 << 20 };

static enum philox_status large_work(struct job *job, struct job_stage *stage)
{
	struct philox_pass pass;

	JOB_TRY(job_forward(stage, job->region, PHILOX_PASS_INFERENCE, &pass));
	JOB_TRY(philox_pass_commit(&pass, 0, NULL));
	return philox_memory_set(job->f->device, stage->stream, stage->array[0],
				 (int)job->n, LARGE);
}

static struct job large_job(struct fixture *f, const char *name, uint64_t limit)
{
	struct philox_pool_desc options = PHILOX_INIT(struct philox_pool_desc);
	struct job job = new_job(f, large_work);

	options.name = name;
	options.limit = limit;
	OK(philox_pool_create(f->context, &options, &job.pool));
	job.region = make_region(f, name);
	job.array[0] = make_memory(f, LARGE);
	job.arrays[0].address = job.array[0];
	job.arrays[0].bytes = LARGE;
	job.n = 3;
	make_job(&job);
	return job;
}

PROMISE(verify_errors, say_that_there_is_no_memory)
{
	struct job job = large_job(f, "small", 6 << 20);
	struct ledger_view before = look(f, job.region);

	FAILS_EITHER(launch_job(&job), PHILOX_ERROR_MEMORY, PHILOX_ERROR_LIMIT);
	NAMES("'small'");
	cr_assert_eq(job.runs, 0);
	unchanged(f, job.region, &before);
	cr_assert_eq(pool_look(job.pool).blocks, 0);
	OK(philox_graph_launch(job.graph, f->stream, job.uses, 1));
	OK(philox_device_synchronize(f->device));
}

PROMISE(verify_errors, need_no_more_than_twice_the_arrays)
{
	/* the pool grows by 2 MiB at a time */
	struct job job = large_job(f, "enough", 2 * LARGE + (2 << 20));

	OK(launch_job(&job));
	job.n = 4;
	FAILS(launch_job(&job), PHILOX_ERROR_DIFFERS);
	job.n = 3;
	OK(launch_job(&job));
}

/* --- a pool that cannot be left ------------------------------------------- */

static struct philox_device *failing;
static unsigned failures; /* that are still to come */

static void fail_event(void)
{
	if (!failures)
		return;
	failures--;
	OK(philox_device_fail(failing, "event_record", 1, PHILOX_ERROR_DEVICE));
}

/* Each failure that is logged has the next one made. */
static void fail_again(void *user, const struct philox_log_entry *entry)
{
	(void)user;
	if (entry->status == PHILOX_ERROR_DEVICE)
		fail_event();
}

static enum philox_status fails_after_work(struct job *job,
					   struct job_stage *stage)
{
	JOB_TRY(forward_work(job, stage));
	if (stage->run)
		fail_event();
	return PHILOX_OK;
}

PROMISE(verify_errors, leave_a_pool_that_a_later_launch_leaves)
{
	struct job job = new_job(f, fails_after_work);
	struct philox_pool_session *session;

	f->injected = 1;
	failing = f->device;
	job.region = make_region(f, "layer");
	make_job(&job);
	OK(philox_context_set_log(f->context, fail_again, NULL));
	failures = 4;
	OK(launch_job(&job)); /* as the graph was launched, and is right */
	cr_assert_eq(failures, 0);
	FAILS(philox_pool_session_begin(job.pool, f->stream, &session),
	      PHILOX_ERROR_BUSY);
	FAILS(launch_job(&job), PHILOX_ERROR_DEVICE);
	NAMES("'copies'");
	OK(launch_job(&job));
	OK(philox_pool_session_begin(job.pool, f->stream, &session));
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
	PENDING(job.region, 2);
	OK(philox_context_set_log(f->context, NULL, NULL));
}

/* --- every device call fails once ----------------------------------------- */

PROMISE(verify_errors, of_the_device_leave_nothing_behind)
{
	struct job job = forward_job(f);
	struct block_set *seen = block_set_new();
	unsigned failed = 0;
	enum philox_status status;
	uint64_t calls, n = 1;

	f->injected = 1;
	do {
		uint64_t before = philox_device_call_count(f->device, NULL);
		struct numbers saw;

		job.uses[0] = (struct philox_launch_pass){{5, 5}, 0, 0};
		OK(philox_device_fail(f->device, NULL, n++,
				      PHILOX_ERROR_DEVICE));
		status = launch_job(&job);
		calls = philox_device_call_count(f->device, NULL) - before;
		OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
		failed += status != PHILOX_OK;
		if (status == PHILOX_OK) {
			saw = read_numbers(f, job.array[0]);
			cr_assert_eq(block_set_add(seen, &saw), 0);
			OK(philox_ticket_release(job.region, f->stream,
						 job.uses[0].ticket));
		} else {
			cr_assert_eq(job.uses[0].ticket.serial, 5);
			cr_assert_neq(status, PHILOX_ERROR_DIFFERS);
		}
		PENDING(job.region, 0);
		job.uses[0] = (struct philox_launch_pass){{0, 0}, 0, 0};
		OK(launch_job(&job));
		saw = read_numbers(f, job.array[0]);
		cr_assert_eq(block_set_add(seen, &saw), 0);
		OK(philox_ticket_release(job.region, f->stream,
					 job.uses[0].ticket));
		cr_assert_eq(pool_look(job.pool).blocks, 0);
	} while (status != PHILOX_OK || n <= calls);
	cr_assert_geq(failed, 3);
	block_set_free(seen);
}

/* --- callbacks ------------------------------------------------------------ */

/* What the callback does wrong, by job->n; nothing when it is captured. */
enum wrong {
	RETURNS = 1,
	LEAVES_OPEN,
	TOO_FEW,
	TOO_MANY,
	OTHER_REGION,
	BACKWARD_INSTEAD,
	OTHER_FLAGS,
	NO_ARRAY,
	NO_REGION,
	NO_PASS,
	WRONGS
};

static enum philox_status wrong_pass(struct job *job, struct job_stage *stage,
				     struct philox_pass *pass)
{
	const struct philox_ticket none = {0, 0};
	const enum wrong wrong = stage->run ? (enum wrong)job->n : 0;

	if (wrong == OTHER_REGION)
		return job_forward(stage, job->other, 0, pass);
	if (wrong == BACKWARD_INSTEAD)
		return job_backward(stage, job->region, none, 0, pass);
	if (wrong == NO_REGION)
		return job_forward(stage, NULL, 0, pass);
	if (wrong == NO_PASS)
		return job_forward(stage, job->region, 0, NULL);
	return job_forward(stage, job->region,
			   wrong == OTHER_FLAGS ? PHILOX_PASS_INFERENCE : 0,
			   pass);
}

static enum philox_status wrong_work(struct job *job, struct job_stage *stage)
{
	const enum wrong wrong = stage->run ? (enum wrong)job->n : 0;
	struct philox_ticket ticket;
	struct philox_pass pass;
	void *address;

	JOB_TRY(philox_memory_set(job->f->device, stage->stream,
				  stage->array[0], 7, JOB_BYTES));
	if (wrong == TOO_FEW)
		return PHILOX_OK;
	if (wrong == NO_ARRAY)
		return philox_run_input(stage->run, 1, &address, NULL);
	JOB_TRY(wrong_pass(job, stage, &pass));
	JOB_TRY(draw_or_fail(&pass, stage->array[0]));
	if (wrong == LEAVES_OPEN)
		return PHILOX_OK;
	JOB_TRY(philox_pass_commit(&pass, 0, &ticket));
	if (wrong == TOO_MANY)
		return job_forward(stage, job->region, 0, &pass);
	return wrong == RETURNS ? PHILOX_ERROR_NOT_FOUND : PHILOX_OK;
}

static const enum philox_status statuses[WRONGS] = {
	[RETURNS] = PHILOX_ERROR_NOT_FOUND,
	[LEAVES_OPEN] = PHILOX_ERROR_STATE,
	[TOO_FEW] = PHILOX_ERROR_STATE,
	[TOO_MANY] = PHILOX_ERROR_MISMATCH,
	[OTHER_REGION] = PHILOX_ERROR_MISMATCH,
	[BACKWARD_INSTEAD] = PHILOX_ERROR_MISMATCH,
	[OTHER_FLAGS] = PHILOX_ERROR_MISMATCH,
	[NO_ARRAY] = PHILOX_ERROR_INVALID,
	[NO_REGION] = PHILOX_ERROR_INVALID,
	[NO_PASS] = PHILOX_ERROR_INVALID};

PROMISE(verify_errors, of_callbacks_are_those_of_the_launch)
{
	struct job job = new_job(f, wrong_work);
	struct block_set *seen = block_set_new();

	job.region = make_region(f, "layer");
	job.other = make_region(f, "other");
	make_job(&job);
	for (int wrong = RETURNS; wrong < WRONGS; wrong++) {
		struct numbers y = read_numbers(f, job.array[0]), saw;
		struct ledger_view other = look(f, job.other);

		job.n = (unsigned)wrong;
		job.uses[0] = (struct philox_launch_pass){{5, 5}, 0, 0};
		job.runs = 0;
		FAILS(launch_job(&job), statuses[wrong]);
		cr_assert_eq(job.runs, 1);
		cr_assert_eq(job.uses[0].ticket.serial, 5, "%d", wrong);
		SAME(read_numbers(f, job.array[0]), y, "y, %d", wrong);
		PENDING(job.region, 0);
		unchanged(f, job.other, &other);
		cr_assert_eq(pool_look(job.pool).blocks, 0);
		job.n = 0;
		job.uses[0] = (struct philox_launch_pass){{0, 0}, 0, 0};
		OK(launch_job(&job));
		saw = read_numbers(f, job.array[0]);
		cr_assert_eq(block_set_add(seen, &saw), 0);
		OK(philox_ticket_release(job.region, f->stream,
					 job.uses[0].ticket));
	}
	block_set_free(seen);
}

/* That a function of the callback failed is an error even if it returns OK. */
PROMISE(verify_errors, of_arguments_in_callbacks_are_theirs)
{
	struct job job = forward_job(f);
	struct philox_pass pass;
	void *address;

	FAILS(philox_run_input(NULL, 0, &address, NULL), PHILOX_ERROR_INVALID);
	FAILS(philox_run_forward_begin(NULL, job.region, 0, &pass),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_run_backward_begin(NULL, job.region,
					(struct philox_ticket){0, 0}, 0, &pass),
	      PHILOX_ERROR_INVALID);
	cr_assert_null(philox_run_stream(NULL));
	OK(launch_job(&job));
}

/* What only bodies of runners have is refused, and the form goes on. */
static enum philox_status body_work(struct job *job, struct job_stage *stage)
{
	const void *param = job;
	void *address = job;

	if (stage->run) {
		struct philox_run *run = stage->run;
		size_t bytes = 0;

		cr_assert_eq(philox_run_kind(run), PHILOX_CALL_EAGER);
		FAILS(philox_run_alloc(run, 64, 0, "y", &address),
		      PHILOX_ERROR_UNSUPPORTED);
		NAMES("'graph 1'");
		NAMES("memory of a pool");
		FAILS(philox_run_free(run, job->array[0]),
		      PHILOX_ERROR_UNSUPPORTED);
		FAILS(philox_run_output(run, 0, job->array[0], 4),
		      PHILOX_ERROR_UNSUPPORTED);
		NAMES("outputs");
		FAILS(philox_run_param(run, 0, &param),
		      PHILOX_ERROR_UNSUPPORTED);
		FAILS(philox_run_call(run, NULL, NULL),
		      PHILOX_ERROR_UNSUPPORTED);
		NAMES("calls of functions");
		FAILS(philox_run_refuse(run, "why"), PHILOX_ERROR_UNSUPPORTED);
		FAILS(philox_run_again(run), PHILOX_ERROR_UNSUPPORTED);
		cr_assert(address == job && param == job);
		OK(philox_run_input(run, 0, &address, &bytes));
		cr_assert_eq(bytes, JOB_BYTES);
		cr_assert_eq(address, stage->array[0]);
	}
	return forward_work(job, stage);
}

PROMISE(verify_errors, of_what_only_bodies_have_leave_the_launch_alone)
{
	struct job job = new_job(f, body_work);

	job.region = make_region(f, "layer");
	make_job(&job);
	OK(launch_job(&job));
	cr_assert_eq(job.runs, 1);
}

/* --- graphs that cannot be verified --------------------------------------- */

static enum philox_status nothing_work(struct job *job, struct job_stage *stage)
{
	(void)job;
	(void)stage;
	return PHILOX_OK;
}

PROMISE(verify_errors, say_that_a_graph_has_a_conditional_node)
{
	struct philox_conditional_desc options =
		PHILOX_INIT(struct philox_conditional_desc);
	struct philox_conditional node;
	struct job job = new_job(f, nothing_work);

	job.n_uses = 0;
	job.region = make_region(f, "layer");
	make_job(&job);
	OK(philox_graph_destroy(job.graph));
	record_begin(f);
	OK(philox_conditional_begin(f->context, f->stream, &options, &node));
	OK(philox_conditional_body(&node, 0, f->side));
	OK(philox_memory_set(f->device, f->side, job.array[0], 1, 4));
	OK(philox_conditional_end(&node));
	job.graph = record_end(f);
	REFUSED(&job, (void)0, PHILOX_ERROR_UNSUPPORTED, "conditional");
}

PROMISE(verify_errors, say_that_a_forward_has_several_iterations)
{
	struct job job = new_job(f, nothing_work);
	struct philox_ticket ticket;
	struct philox_pass pass;

	job.n_uses = 0;
	job.region = make_region(f, "layer");
	make_job(&job);
	OK(philox_graph_destroy(job.graph));
	record_begin(f);
	OK(philox_forward_begin_loop(job.region, f->stream, 0, 3, &pass));
	draw(&pass, job.array[0]);
	OK(philox_pass_commit(&pass, 0, &ticket));
	job.graph = record_end(f);
	job.n_uses = 1;
	REFUSED(&job, (void)0, PHILOX_ERROR_UNSUPPORTED, "iterations");
}

/* --- passes that the run does not begin ------------------------------------ */

static enum philox_status plain_work(struct job *job, struct job_stage *stage)
{
	struct philox_pass pass;

	if (stage->run) {
		FAILS(philox_forward_begin(job->region, job->f->side, 0, &pass),
		      PHILOX_ERROR_STATE);
		NAMES("region 'layer': this thread is in an eager form");
	}
	return forward_work(job, stage);
}

PROMISE(verify_errors, of_a_pass_that_an_eager_form_begins_by_itself)
{
	struct job job = new_job(f, plain_work);
	struct philox_pass pass;

	job.region = make_region(f, "layer");
	make_job(&job);
	OK(launch_job(&job));
	cr_assert_eq(job.runs, 1);
	OK(philox_forward_begin(job.region, f->side, PHILOX_PASS_INFERENCE,
				&pass));
	OK(philox_pass_abort(&pass));
}
