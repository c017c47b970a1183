/*
 * graph/runner/plan/save.c - saving and loading the plan of a runner
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <philox/runner.h>
#include "graph/pool/pool.h"
#include "graph/runner/plan/plan.h"
#include "graph/runner/state/state.h"
#include "lib/state/state.h"
#include "lib/text/text.h"

/* --- saving -------------------------------------------------------------------- */

static enum philox_status save_entered(struct philox_runner *runner,
				       struct text *text)
{
	struct plan plan;
	enum philox_status status = plan_take(runner, &plan);

	if (status != PHILOX_OK)
		return status;
	status = plan_write(&plan, text);
	plan_finish(&plan);
	return status;
}

static enum philox_status save_plan(struct philox_runner *runner,
				    struct text_target to)
{
	const struct runner_subject subject = runner_subject(runner, NULL);
	struct text text;
	enum philox_status status = runner_acquire(runner);

	if (status == PHILOX_OK)
		status = runner_release(runner, save_entered(runner, &text));
	if (status == PHILOX_OK)
		status = text_put(&text, to);
	return subject_report(&subject, status);
}

enum philox_status philox_plan_save_text(struct philox_runner *runner,
					 char **text, size_t *bytes)
{
	if (!runner || !text)
		return context_null(runner ? runner->context : NULL,
				    runner ? "text" : "runner");
	NEED_PROCESS(runner->context);
	return save_plan(runner,
			 (struct text_target){.text = text, .size = bytes});
}

enum philox_status philox_plan_save(struct philox_runner *runner,
				    const char *path)
{
	if (!runner || !path)
		return context_null(runner ? runner->context : NULL,
				    runner ? "path" : "runner");
	NEED_PROCESS(runner->context);
	return save_plan(runner, (struct text_target){.path = path,
					 .readers = FILE_FOR_ALL});
}

/* --- loading ------------------------------------------------------------------- */

static void post_plan(struct philox_runner *runner, enum philox_log_level level,
		      uint64_t nanoseconds, const char *text)
{
	const struct philox_log_entry subject = {.pool = runner->name,
						 .nanoseconds = nanoseconds};

	log_post(runner->context, level, "plan", &subject, "runner '%s' %s",
		 runner->name, text);
}

static void post_loaded(const struct plan *plan, struct philox_runner *runner,
			uint64_t took)
{
	char text[160];
	size_t keys = 0;
	uint64_t recordings = 0;

	for (size_t i = 0; i < plan->n_functions; i++) {
		const struct plan_function *function = &plan->functions[i];

		keys += function->n_keys;
		for (size_t k = 0; k < function->n_keys; k++)
			recordings += function->keys[k].expected.n;
	}
	snprintf(text, sizeof(text),
		 "has a plan of %zu function%s, %zu key%s and %" PRIu64
		 " recording%s",
		 plan->n_functions, status_s(plan->n_functions), keys,
		 status_s(keys), recordings, status_s(recordings));
	post_plan(runner, PHILOX_LOG_INFO, took, text);
}

/* Nothing depends on it: without it the pool grows when it must. */
static void take_plan_memory(struct philox_runner *runner)
{
	struct philox_pool *pool = runner->pool;
	enum philox_status status = PHILOX_OK;
	struct pool_figures figures;

	pool_lock(pool);
	if (runner->plan.mapped)
		status = pool_take_ahead(pool, (size_t)runner->plan.mapped);
	pool_figures(pool->blocks, &figures);
	pool_unlock(pool);
	runner->plan.taken = figures.mapped_peak;
	if (status != PHILOX_OK) {
		char text[400];

		snprintf(text, sizeof(text),
			 "cannot take the memory of its plan ahead: %.300s",
			 philox_error_message());
		post_plan(runner, PHILOX_LOG_WARNING, 0, text);
	}
}

static enum philox_status load_entered(struct philox_runner *runner,
				       const struct plan *plan, uint64_t began)
{
	struct philox_function **functions =
		calloc(plan->n_functions + 1, sizeof(*functions));
	struct status_message kept;
	enum philox_status status;
	uint64_t took;

	if (!functions)
		return plan_no_room();
	status = plan_check(plan, runner, functions);
	if (status == PHILOX_OK)
		status = plan_apply(plan, runner, functions);
	free(functions);
	if (status != PHILOX_OK)
		return status;
	kept = status_kept();
	took = clock_now() - began;
	runner->plan.load_ns += took;
	context_lock(runner->context);
	journal_trace(runner->context, EVENT("plan-load", PLAN_LOAD),
		      journal_name(runner->name).text, took);
	context_unlock(runner->context);
	post_loaded(plan, runner, took);
	take_plan_memory(runner);
	status_restore(&kept);
	return PHILOX_OK;
}

static enum philox_status load_plan(struct philox_runner *runner,
				    const char *text, size_t size)
{
	struct plan plan;
	const uint64_t began = clock_now();
	enum philox_status status = plan_read(text, size, &plan);

	if (status != PHILOX_OK)
		return status;
	status = runner_acquire(runner);
	if (status == PHILOX_OK)
		status = runner_release(runner, load_entered(runner, &plan, began));
	plan_finish(&plan);
	return status;
}

enum philox_status philox_plan_load_text(struct philox_runner *runner,
					 const char *text, size_t bytes)
{
	struct runner_subject subject;

	if (!runner || !text)
		return context_null(runner ? runner->context : NULL,
				    runner ? "text" : "runner");
	NEED_PROCESS(runner->context);
	subject = runner_subject(runner, NULL);
	return subject_report(&subject, load_plan(runner, text, bytes));
}

enum philox_status philox_plan_load(struct philox_runner *runner,
				    const char *path)
{
	static const char *const starts[] = {PLAN_START, NULL};
	static const struct file_kind kind = {starts, FILE_TEXT_MOST};
	struct runner_subject subject;
	struct text text;
	enum philox_status status;

	if (!runner || !path)
		return context_null(runner ? runner->context : NULL,
				    runner ? "path" : "runner");
	NEED_PROCESS(runner->context);
	subject = runner_subject(runner, NULL);
	status = file_read(path, &kind, &text);
	if (status == PHILOX_OK)
		status = text_done(&text, path,
				   load_plan(runner, text.bytes, text.size));
	return subject_report(&subject, status);
}
