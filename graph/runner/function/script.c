/*
 * graph/runner/function/script.c - what a body does under a key, compared with
 * before
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/runner/function/function.h"

/* Whether it is asked for by the body, on its thread and while it runs. */
int run_is_ours(const struct run *run)
{
	return callback_is_here(&run->callback);
}

enum philox_status run_fail(struct run *run, enum philox_status status)
{
	if (status != PHILOX_OK && run_is_ours(run) &&
	    run->status == PHILOX_OK) {
		run->status = status;
		run->message = status_kept();
	}
	return status;
}

enum philox_status run_check(const struct run *run)
{
	if (!run)
		return status_set(PHILOX_ERROR_INVALID, "run is NULL");
	if (run_is_ours(run))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_STATE,
			  "runner '%s': no body of it is running on this "
			  "thread",
			  run->runner->name);
}

const struct philox_function *run_called(const struct run *run)
{
	const struct nested *nested = run->nested;

	while (nested && nested->around)
		nested = nested->around;
	return nested ? nested->function : run->function;
}

void script_begin(struct run *run)
{
	struct script *script = &run->key->script;

	run->step = 0;
	run->comparing = script->known;
	if (!run->comparing)
		script->n = 0;
}

void script_unshare(struct script_share *share)
{
	if (share && --share->refs == 0)
		free(share);
}

void script_share(struct script *script, struct script_share *share, size_t n)
{
	share->refs++;
	*script = (struct script){.steps = share->steps,
				  .n = n,
				  .room = n,
				  .known = 1,
				  .share = share};
}

void script_free(struct script *script)
{
	if (script->share)
		script_unshare(script->share);
	else
		free(script->steps);
	*script = (struct script){0};
}

/* --- words ------------------------------------------------------------------ */

#define STEP_TEXT 160

static void describe(const struct philox_function *function,
		     const struct step *step, char text[STEP_TEXT])
{
	switch (step->kind) {
	case STEP_FORWARD:
		snprintf(text, STEP_TEXT,
			 "a forward of region '%.60s' with flags 0x%x",
			 step->region, step->flags);
		break;
	case STEP_BACKWARD:
		if (step->a == UINT64_MAX)
			snprintf(text, STEP_TEXT,
				 "a backward of region '%.60s' with flags 0x%x",
				 step->region, step->flags);
		else
			snprintf(text, STEP_TEXT,
				 "a backward of its pass %" PRIu64
				 " with flags 0x%x",
				 step->a, step->flags);
		break;
	case STEP_ALLOC:
		snprintf(text, STEP_TEXT,
			 "an allocation of %" PRIu64
			 " bytes with alignment %" PRIu64,
			 step->a, step->b);
		break;
	case STEP_FREE:
		snprintf(text, STEP_TEXT, "a free of its allocation %" PRIu64,
			 step->a);
		break;
	case STEP_OUTPUT:
		snprintf(text, STEP_TEXT, "output '%.60s' of %" PRIu64 " bytes",
			 function->outputs[step->a].name, step->b);
		break;
	case STEP_VALUE:
		snprintf(text, STEP_TEXT, "parameter '%.60s'",
			 function->params[step->a].name);
		break;
	case STEP_CALL:
		snprintf(text, STEP_TEXT, "a call of function '%.60s'",
			 step->region);
		break;
	case STEP_INNER_OUTPUT:
		snprintf(text, STEP_TEXT,
			 "output '%.60s' of %" PRIu64
			 " bytes of a function that it calls",
			 step->region, step->b);
		break;
	case STEP_INNER_VALUE:
		snprintf(text, STEP_TEXT,
			 "parameter '%.60s' of a function that it calls",
			 step->region);
		break;
	case STEP_RETURN:
		snprintf(text, STEP_TEXT, "the return from function '%.60s'",
			 step->region);
	}
}

int script_same_step(const struct step *one, const struct step *other)
{
	if (one->kind != other->kind || one->flags != other->flags ||
	    one->a != other->a || one->b != other->b)
		return 0;
	return one->region == other->region ||
	       (one->region && other->region &&
		strcmp(one->region, other->region) == 0);
}

int script_calls(const struct script *script, const char *function)
{
	for (size_t i = 0; i < script->n; i++)
		if (script->steps[i].kind == STEP_CALL &&
		    strcmp(script->steps[i].region, function) == 0)
			return 1;
	return 0;
}

/* --- steps ------------------------------------------------------------------ */

static enum philox_status refuse_step(struct run *run, const struct step *step)
{
	const struct script *script = &run->key->script;
	const struct philox_function *function = run_called(run);
	char now[STEP_TEXT], before[STEP_TEXT];

	describe(function, step, now);
	if (run->step >= script->n)
		snprintf(before, sizeof(before), "the end");
	else
		describe(function, &script->steps[run->step], before);
	return run_fail(
		run, status_set(PHILOX_ERROR_MISMATCH,
				"function '%s': step %zu of its body "
				"is %s, but was %s in earlier calls "
				"under %s",
				function->name, run->step, now, before,
				key_label(run->key, "", "this key", "").text));
}

enum philox_status script_step(struct run *run, const struct step *step)
{
	struct script *script = &run->key->script;
	enum philox_status status;

	if (run->comparing) {
		if (run->step >= script->n ||
		    !script_same_step(step, &script->steps[run->step]))
			return refuse_step(run, step);
		run->step++;
		return PHILOX_OK;
	}
	status = runner_room(&script->steps, &script->room, script->n + 1,
			     sizeof(*script->steps));
	if (status != PHILOX_OK)
		return run_fail(run, status);
	script->steps[script->n++] = *step;
	return PHILOX_OK;
}

enum philox_status script_end(struct run *run)
{
	const struct script *script = &run->key->script;
	char next[STEP_TEXT];

	if (!run->comparing || run->step == script->n)
		return PHILOX_OK;
	describe(run->function, &script->steps[run->step], next);
	return run_fail(
		run, status_set(PHILOX_ERROR_MISMATCH,
				"function '%s': its body ends after %zu "
				"step%s, but step %zu was %s in earlier "
				"calls under %s",
				run->function->name, run->step,
				status_s(run->step), run->step, next,
				key_label(run->key, "", "this key", "").text));
}

void script_forget(struct run *run)
{
	if (!run->comparing)
		run->key->script.n = 0;
}
