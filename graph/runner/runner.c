/*
 * graph/runner/runner.c - runners: made and destroyed
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/pool/pool.h"
#include "graph/runner/state/state.h"
#include "graph/runner/function/function.h"
#include "graph/runner/runner.h"
#include "graph/runner/plan/plan.h"
#include "graph/runner/call/call.h"
#include "lib/base/base.h"

/* The size of the struct's first version. */
#define RUNNER_SIZE_FIRST OPTIONS_FIRST(struct philox_runner_desc, pool_limit)
OPTIONS_NO_PADDING(struct philox_runner_desc, pool_limit);

/* --- making -------------------------------------------------------------------- */

static enum philox_status read_environment(struct philox_runner *runner)
{
	const char *wanted = getenv("PHILOX_RUNNER");

	runner->eager = wanted && strcmp(wanted, "eager") == 0;
	runner->verify = wanted && strcmp(wanted, "verify") == 0;
	if (!wanted || !*wanted || runner->eager || runner->verify)
		return PHILOX_OK;
	return status_set(
		PHILOX_ERROR_INVALID,
		"PHILOX_RUNNER in the environment is '%.40s', but may "
		"only be 'eager' or 'verify'",
		wanted);
}

static enum philox_status check_runner(const struct philox_runner_desc *options)
{
	enum philox_status status;

	if (!options->name || !*options->name)
		return status_set(PHILOX_ERROR_INVALID,
				  "runner options: name is %s",
				  options->name ? "empty" : "NULL");
	status = name_check(options->name, "runner options: name");
	if (status != PHILOX_OK)
		return status;
	if (strlen(options->name) >= sizeof(((struct philox_pool *)0)->name))
		return status_set(PHILOX_ERROR_INVALID,
				  "runner options: name has more than %zu "
				  "bytes",
				  sizeof(((struct philox_pool *)0)->name) - 1);
	if (options->pool_flags & PHILOX_POOL_STRICT)
		return status_set(PHILOX_ERROR_INVALID,
				  "runner '%s': pool_flags has "
				  "PHILOX_POOL_STRICT, but its calls wait for "
				  "each other",
				  options->name);
	if (options->flags & ~(uint32_t)PHILOX_RUNNER_TIMES)
		return status_set(PHILOX_ERROR_INVALID,
				  "runner '%s': flags has 0x%" PRIx32
				  ", which is unknown",
				  options->name,
				  options->flags & ~(uint32_t)PHILOX_RUNNER_TIMES);
	return PHILOX_OK;
}

static enum philox_status make_pool_of(struct philox_context *context,
				       const struct philox_runner_desc *options,
				       struct philox_pool **pool)
{
	struct philox_pool_desc of_pool = PHILOX_INIT(struct philox_pool_desc);

	of_pool.name = options->name;
	of_pool.flags = options->pool_flags;
	of_pool.range = options->pool_range;
	of_pool.step = options->pool_step;
	of_pool.limit = options->pool_limit;
	return philox_pool_create(context, &of_pool, pool);
}

/* What nobody can see while a call is on its way need not be right. */
static void refresh_pool(struct philox_runner *runner)
{
	const struct status_message kept = status_kept();

	if (runner_read_begin(runner)) {
		outputs_drop_now(runner);
		runner_drain(runner, 0);
		live_settle(runner);
		runner_read_end(runner);
	}
	status_restore(&kept);
}

static enum philox_status make_runner(struct philox_context *context,
				      const struct philox_runner_desc *given,
				      struct philox_runner **out)
{
	struct philox_runner_desc options;
	struct philox_runner *made;
	enum philox_status status =
		options_copy("runner options", given, given->size,
			     RUNNER_SIZE_FIRST, sizeof(options), &options);

	if (status == PHILOX_OK)
		status = check_runner(&options);
	if (status != PHILOX_OK)
		return status;
	made = calloc(1, sizeof(*made));
	if (!made)
		return status_set(PHILOX_ERROR_MEMORY,
				  "runner '%s': no memory for it",
				  options.name);
	status = read_environment(made);
	if (status == PHILOX_OK)
		status = make_pool_of(context, &options, &made->pool);
	if (status != PHILOX_OK) {
		free(made);
		return status;
	}
	made->pool->runner = made;
	made->pool->refresh = refresh_pool;
	made->pool->wait = fences_wait;
	made->context = context;
	made->guards = (options.pool_flags & PHILOX_POOL_GUARDS) != 0;
	made->timed = (options.flags & PHILOX_RUNNER_TIMES) != 0;
	snprintf(made->name, sizeof(made->name), "%s", options.name);
	made->run.runner = made;
	pthread_mutex_init(&made->fences_lock, NULL);
	pthread_mutex_init(&made->reading, NULL);
	context_lock(context);
	made->next = context->graphs->runners;
	context->graphs->runners = made;
	context_unlock(context);
	*out = made;
	return PHILOX_OK;
}

enum philox_status philox_runner_create(
	struct philox_context *context,
	const struct philox_runner_desc *options, struct philox_runner **runner)
{
	if (!context)
		return context_null(NULL, "context");
	if (!options || !runner)
		return context_null(context, options ? "runner" : "options");
	NEED_PROCESS(context);
	return context_report(context, make_runner(context, options, runner),
			      NULL);
}

struct philox_pool *philox_runner_pool(const struct philox_runner *runner)
{
	return runner ? runner->pool : NULL;
}

/* --- destroying ------------------------------------------------------------------ */

static void free_run(struct run *run)
{
	free(run->callback.passes);
	free(run->blocks);
	free(run->steps.items);
	free(run->inputs);
	free(run->copied);
	free(run->params);
	free(run->outputs);
}

static void delist_runner(struct philox_runner *runner)
{
	struct philox_runner **link;

	context_lock(runner->context);
	link = &runner->context->graphs->runners;
	while (*link != runner)
		link = &(*link)->next;
	*link = runner->next;
	context_unlock(runner->context);
}

static void free_runner(struct philox_runner *runner)
{
	struct philox_device *device = runner_device(runner);
	struct philox_function *function;

	delist_runner(runner);
	philox_stream_destroy(device, runner->own);
	for (int i = 0; i < 2; i++)
		philox_event_destroy(device, runner->joins[i]);
	ties_finish(runner);
	fences_finish(runner);
	retired_free(runner, NULL);
	pool_uses_finish(runner);
	outputs_finish(runner);
	plan_forget(runner);
	free(runner->owed);
	free(runner->input_slots);
	while ((function = runner->functions)) {
		runner->functions = function->next;
		function_free(function);
	}
	map_finish(&runner->names);
	free_run(&runner->run);
	pthread_mutex_destroy(&runner->reading);
	free(runner);
}

/* A pool that is in use is not destroyed, and then nothing else is. */
static enum philox_status check_idle(const struct philox_runner *runner)
{
	struct philox_pool *pool = runner->pool;
	enum philox_status status;

	pool_lock(pool);
	pool_settle(pool);
	status = pool_is_idle(pool);
	pool_unlock(pool);
	return status;
}

/*
 * The pool reports the outputs that were not released; for that it must know
 * them, but nothing keeps a context from ending.
 */
static enum philox_status end_runner(struct philox_runner *runner, int ends)
{
	enum philox_status status = live_settle(runner);

	if (status == PHILOX_OK)
		status = check_idle(runner);
	if (status == PHILOX_OK || ends)
		status = replay_checks_finish(runner);
	if (status != PHILOX_OK && !ends)
		return status;
	for (struct philox_function *function = runner->functions; function;
	     function = function->next)
		function_end(function);
	return pool_remove(runner->pool);
}

enum philox_status philox_runner_destroy(struct philox_runner *runner)
{
	struct philox_context *context;
	enum philox_status status;

	if (!runner)
		return PHILOX_OK;
	context = runner->context;
	NEED_PROCESS(context);
	status = runner_acquire(runner);
	if (status == PHILOX_OK)
		status = end_runner(runner, 0);
	else
		return runner_report(runner, NULL, status);
	if (status != PHILOX_OK)
		return runner_leave(runner, NULL, status);
	free_runner(runner);
	return context_report(context, PHILOX_OK, NULL);
}

enum philox_status runners_check_idle(const struct graph_context *graphs)
{
	const struct philox_runner *runner;
	enum philox_status status = PHILOX_OK;

	context_lock(graphs->context);
	for (runner = graphs->runners; runner; runner = runner->next)
		if (atomic_load(&runner->owner))
			status = status_set(PHILOX_ERROR_BUSY,
					    "a call is in runner '%s'",
					    runner->name);
	context_unlock(graphs->context);
	return status;
}

void runners_finish(struct graph_context *graphs)
{
	while (graphs->runners) {
		outputs_drop_now(graphs->runners);
		runner_drain(graphs->runners, 0);
		end_runner(graphs->runners, 1);
		free_runner(graphs->runners);
	}
}
