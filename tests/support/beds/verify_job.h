/*
 * tests/support/beds/verify_job.h - graphs that are launched with their eager
 * form
 *
 * A job is work on arrays "y", "z" and "x", of WORDS words each, that can be
 * captured, and done by the callback of philox_graph_launch_verified().
 */
#ifndef TESTS_SUPPORT_VERIFY_JOB_H
#define TESTS_SUPPORT_VERIFY_JOB_H

#include "tests/support/beds/pool.h"
#include "tests/support/support.h"

enum { JOB_ARRAYS = 3, JOB_USES = 4, JOB_BYTES = WORDS * sizeof(uint32_t) };

struct job;

/* The work, when it is captured (`run` is NULL) or done eagerly. */
struct job_stage {
	struct philox_run *run;
	philox_stream stream;
	uint32_t *array[JOB_ARRAYS];
};

struct job {
	struct fixture *f;
	struct philox_pool *pool;
	struct philox_region *region, *other;
	enum philox_status (*work)(struct job *job, struct job_stage *stage);
	uint32_t *array[JOB_ARRAYS];
	unsigned n_arrays; /* that it writes; it may read the others */
	struct philox_launch_pass uses[JOB_USES];
	size_t n_uses;
	struct philox_graph *graph;
	struct philox_array_desc arrays[JOB_ARRAYS];
	struct philox_verify_desc options;
	unsigned runs; /* of the callback */
	unsigned n;    /* for the work */
	void *prop;
};

/* One array, which is written; x holds words of 3. */
struct job new_job(struct fixture *f,
		   enum philox_status (*work)(struct job *job,
					      struct job_stage *stage));
/* The graph, the pool and the options, of the job where it is. */
void make_job(struct job *job);
enum philox_status launch_job(struct job *job);

enum philox_status job_forward(struct job_stage *stage,
			       struct philox_region *region, unsigned flags,
			       struct philox_pass *pass);
enum philox_status job_backward(struct job_stage *stage,
				struct philox_region *region,
				struct philox_ticket ticket, unsigned flags,
				struct philox_pass *pass);
enum philox_status job_copy(struct job *job, struct job_stage *stage, void *to,
			    const void *from, size_t words);

/* y is the numbers of a forward; of a backward that is named at launch. */
enum philox_status forward_work(struct job *job, struct job_stage *stage);
enum philox_status backward_work(struct job *job, struct job_stage *stage);

#define JOB_TRY(call)                      \
	do {                               \
		enum philox_status tried_; \
                                           \
		tried_ = (call);           \
		if (tried_ != PHILOX_OK)   \
			return tried_;     \
	} while (0)

#endif
