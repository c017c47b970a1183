/*
 * tests/support/beds/verify_job.c - see tests/support/beds/verify_job.h
 */
#include "tests/support/beds/verify_job.h"
#include "tests/support/beds/runner.h"

struct job new_job(struct fixture *f,
		   enum philox_status (*work)(struct job *job,
					      struct job_stage *stage))
{
	static const char *const names[JOB_ARRAYS] = {"y", "z", "x"};
	struct job job = {.f = f, .work = work, .n_arrays = 1, .n_uses = 1};

	for (int i = 0; i < JOB_ARRAYS; i++) {
		job.array[i] = make_words(f, 3);
		job.arrays[i] = (struct philox_array_desc){
			.name = names[i],
			.address = job.array[i],
			.bytes = JOB_BYTES,
			.elements = PHILOX_ELEMENTS(PHILOX_DTYPE_U32)};
	}
	return job;
}

static enum philox_status do_eagerly(void *user, struct philox_run *run)
{
	struct job *job = user;
	struct job_stage stage = {.run = run, .stream = philox_run_stream(run)};

	job->runs++;
	for (unsigned i = 0; i < JOB_ARRAYS; i++) {
		void *address = job->array[i];

		if (i < job->n_arrays)
			JOB_TRY(philox_run_input(run, i, &address, NULL));
		stage.array[i] = address;
	}
	return job->work(job, &stage);
}

void make_job(struct job *job)
{
	struct job_stage stage = {.stream = job->f->stream};

	memcpy(stage.array, job->array, sizeof(stage.array));
	record_begin(job->f);
	OK(job->work(job, &stage));
	job->graph = record_end(job->f);
	cr_assert_eq(philox_graph_pass_count(job->graph), job->n_uses);
	if (!job->pool)
		job->pool = make_pool(job->f, "copies", 0);
	job->options = PHILOX_INIT(struct philox_verify_desc);
	job->options.pool = job->pool;
	job->options.arrays = job->arrays;
	job->options.n_arrays = job->n_arrays;
	job->options.eager = do_eagerly;
	job->options.user = job;
}

/* The job may have moved since it was made. */
enum philox_status launch_job(struct job *job)
{
	job->options.user = job;
	if (job->options.arrays)
		job->options.arrays = job->arrays;
	return philox_graph_launch_verified(job->graph, job->f->stream,
					    job->uses, job->n_uses,
					    &job->options);
}

/* --- work -------------------------------------------------------------------
 */

enum philox_status job_forward(struct job_stage *stage,
			       struct philox_region *region, unsigned flags,
			       struct philox_pass *pass)
{
	if (stage->run)
		return philox_run_forward_begin(stage->run, region, flags,
						pass);
	return philox_forward_begin(region, stage->stream, flags, pass);
}

enum philox_status job_backward(struct job_stage *stage,
				struct philox_region *region,
				struct philox_ticket ticket, unsigned flags,
				struct philox_pass *pass)
{
	if (stage->run)
		return philox_run_backward_begin(stage->run, region, ticket,
						 flags, pass);
	return philox_backward_begin(region, stage->stream, ticket, flags,
				     pass);
}

enum philox_status job_copy(struct job *job, struct job_stage *stage, void *to,
			    const void *from, size_t words)
{
	return philox_memory_copy(job->f->device, stage->stream, to, from,
				  4 * words);
}

enum philox_status forward_work(struct job *job, struct job_stage *stage)
{
	struct philox_ticket ticket;
	struct philox_pass pass;

	JOB_TRY(job_forward(stage, job->region, 0, &pass));
	JOB_TRY(draw_or_fail(&pass, stage->array[0]));
	return philox_pass_commit(&pass, 0, &ticket);
}

enum philox_status backward_work(struct job *job, struct job_stage *stage)
{
	const struct philox_ticket none = {0, 0};
	struct philox_pass pass;

	JOB_TRY(job_backward(stage, job->region, none, 0, &pass));
	JOB_TRY(draw_or_fail(&pass, stage->array[0]));
	return philox_pass_commit(&pass, 0, NULL);
}
