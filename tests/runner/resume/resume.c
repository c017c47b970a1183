/*
 * tests/runner/resume/resume.c - runs that stop and resume with outputs that
 * are alive
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tests/support/beds/runner_resume.h"

/* --- the whole run -------------------------------------------------------- */

enum when { NO_PLAN, PLAN_FIRST, PLAN_LAST };

static void load_all(struct resumed *resumed, const struct stopped *stopped,
		     enum when plan)
{
	OK(philox_context_load_text(resumed->f.context, stopped->context,
				    strlen(stopped->context)));
	if (plan == PLAN_FIRST)
		OK(philox_plan_load_text(resumed->t.r, stopped->plan,
					 strlen(stopped->plan)));
	OK(try_outputs(&resumed->t, stopped));
	if (plan == PLAN_LAST)
		OK(philox_plan_load_text(resumed->t.r, stopped->plan,
					 strlen(stopped->plan)));
	accum_find(&resumed->t);
}

/* Steps go on with the same sums, in this process and in the other one. */
static void resumes(struct fixture *f, struct accum *t, uint32_t pool_flags,
		    enum when plan)
{
	struct stopped stopped;
	struct resumed resumed;

	accum_stop(t);
	stopped_save(&stopped, t);
	resumed_open(&resumed, f, pool_flags);
	load_all(&resumed, &stopped, plan);
	SAME(accum_go_on(&resumed.t), accum_go_on(t), "the step, plan %d",
	     plan);
	for (int step = 0; step < 3; step++)
		SAME(accum_step(&resumed.t), accum_step(t), "step %d, plan %d",
		     step, plan);
	LIVE(&resumed.f, resumed.t.r, 0);
	resumed_close(&resumed);
	stopped_free(&stopped);
}

RUNNER_PROMISE(runner_resume, a_run_in_mid_accumulation_continues_bit_for_bit)
{
	struct accum t;

	accum_make(&t, f, r);
	for (int step = 0; step < 4; step++)
		accum_step(&t);
	cr_assert(counts_of(&t.forth).replay, "nothing was replayed");
	for (int plan = NO_PLAN; plan <= PLAN_LAST; plan++)
		resumes(f, &t, 0, (enum when)plan);
}

RUNNER_PROMISE(runner_resume, a_run_continues_in_a_pool_with_guards)
{
	const uint32_t flags = PHILOX_POOL_GUARDS | PHILOX_POOL_FILL;
	struct accum t;

	OK(philox_runner_destroy(r));
	r = make_runner_of(f, "runner", flags);
	accum_make(&t, f, r);
	accum_step(&t);
	resumes(f, &t, flags, NO_PLAN);
	resumes(f, &t, 0, NO_PLAN);
}

/* What is recorded is not in a file: it is made again. */
RUNNER_PROMISE(runner_resume, the_first_calls_after_a_load_are_no_replays)
{
	struct stopped stopped;
	struct resumed resumed;
	struct accum t;

	accum_make(&t, f, r);
	accum_step(&t);
	accum_stop(&t);
	stopped_save(&stopped, &t);
	resumed_open(&resumed, f, 0);
	load_all(&resumed, &stopped, NO_PLAN);
	KIND(&resumed.t.forth, resumed.t.x[0], 0, PHILOX_CALL_WARMUP);
	KIND(&resumed.t.forth, resumed.t.x[0], 0, PHILOX_CALL_RECORD);
	KIND(&resumed.t.forth, resumed.t.x[0], 0, PHILOX_CALL_REPLAY);
	resumed_close(&resumed);
	resumed_open(&resumed, f, 0);
	load_all(&resumed, &stopped, PLAN_FIRST);
	KIND(&resumed.t.forth, resumed.t.x[3], 0, PHILOX_CALL_WARMUP);
	KIND(&resumed.t.forth, resumed.t.x[3], 0, PHILOX_CALL_RECORD);
	KIND(&resumed.t.forth, resumed.t.x[3], 0, PHILOX_CALL_REPLAY);
	resumed_close(&resumed);
	stopped_free(&stopped);
}

/* A resumed run stops again, before anything and after some more. */
RUNNER_PROMISE(runner_resume, a_run_is_resumed_several_times)
{
	struct stopped stopped, again, more;
	struct resumed first, second;
	struct accum t;

	accum_make(&t, f, r);
	accum_stop(&t);
	stopped_save(&stopped, &t);
	resumed_open(&first, f, 0);
	load_all(&first, &stopped, NO_PLAN);
	OK(philox_context_save_text(first.f.context, &again.context, NULL));
	cr_assert_str_eq(again.context, stopped.context,
			 "a context that was loaded is saved as it was");
	free(again.context);
	stopped_save(&again, &first.t);
	accum_backward(&first.t, 1);
	accum_backward(&t, 1);
	stopped_save(&more, &first.t);
	resumed_open(&second, f, 0);
	load_all(&second, &again, NO_PLAN);
	accum_backward(&second.t, 1);
	SAME(read_numbers(&second.f, second.t.grad.address),
	     read_numbers(f, t.grad.address), "from the second file");
	resumed_close(&second);
	resumed_open(&second, f, 0);
	OK(philox_context_load_text(second.f.context, more.context,
				    strlen(more.context)));
	OK(try_outputs(&second.t, &more));
	OK(philox_outputs_find(second.t.r, "add", "sum", "grad", 0,
			       &second.t.grad));
	SAME(read_numbers(&second.f, second.t.grad.address),
	     read_numbers(f, t.grad.address), "from the third file");
	resumed_close(&second);
	resumed_close(&first);
	stopped_free(&stopped);
	stopped_free(&again);
	stopped_free(&more);
}

/* The recordings stay, and are replayed again. */
RUNNER_PROMISE(runner_resume, a_run_goes_back_in_the_same_process)
{
	struct stopped stopped;
	struct accum t;
	struct numbers first;
	uint64_t replays;

	accum_make(&t, f, r);
	for (int step = 0; step < 3; step++)
		accum_step(&t);
	accum_stop(&t);
	stopped_save(&stopped, &t);
	first = accum_go_on(&t);
	accum_step(&t);
	for (int time = 0; time < 2; time++) {
		OK(philox_context_load_text(f->context, stopped.context,
					    strlen(stopped.context)));
		OK(try_outputs(&t, &stopped));
		accum_find(&t);
		replays = counts_of(&t.back).replay;
		SAME(accum_go_on(&t), first, "time %d", time);
	}
	cr_assert_gt(counts_of(&t.back).replay, replays, "recordings went");
	stopped_free(&stopped);
}

/* --- files ---------------------------------------------------------------- */

RUNNER_PROMISE(runner_resume, files_hold_the_same_as_texts)
{
	char path[64], of_context[64], *text;
	struct resumed resumed;
	struct accum t;

	snprintf(path, sizeof(path), "resume-%ld.outputs", (long)getpid());
	snprintf(of_context, sizeof(of_context), "resume-%ld.philox",
		 (long)getpid());
	accum_make(&t, f, r);
	accum_stop(&t);
	OK(philox_outputs_save(r, f->stream, path));
	OK(philox_context_save(f->context, of_context));
	resumed_open(&resumed, f, 0);
	OK(philox_context_load(resumed.f.context, of_context));
	OK(philox_outputs_load(resumed.t.r, resumed.f.stream, path));
	accum_find(&resumed.t);
	SAME(accum_go_on(&resumed.t), accum_go_on(&t), "from files");
	OK(philox_context_load(resumed.f.context, of_context));
	FAILS(philox_outputs_load(resumed.t.r, resumed.f.stream, of_context),
	      PHILOX_ERROR_INVALID);
	NAMES(of_context);
	OK(unlink(path) ? PHILOX_ERROR_FILE : PHILOX_OK);
	FAILS(philox_outputs_load(resumed.t.r, resumed.f.stream, path),
	      PHILOX_ERROR_FILE);
	NAMES(path);
	accum_step(&t);
	FAILS(philox_outputs_save(r, f->stream, "no/folder/file"),
	      PHILOX_ERROR_FILE);
	OK(philox_context_save_text(f->context, &text, NULL));
	cr_assert(!strstr(text, "outputs"), "a file that is not there");
	free(text);
	OK(unlink(of_context) ? PHILOX_ERROR_FILE : PHILOX_OK);
	resumed_close(&resumed);
}

/* --- ties and paths ------------------------------------------------------- */

RUNNER_PROMISE(runner_resume, outputs_are_tied_to_their_tickets_again)
{
	struct stopped stopped;
	struct resumed resumed;
	struct philox_region *region;
	struct philox_ticket ticket;
	struct accum t, *u = &resumed.t;

	accum_make(&t, f, r);
	accum_stop(&t);
	stopped_save(&stopped, &t);
	resumed_open(&resumed, f, 0);
	load_all(&resumed, &stopped, NO_PLAN);
	for (int micro = 1; micro < 3; micro++) {
		cr_assert_eq(u->ticket[micro].serial, t.ticket[micro].serial);
		cr_assert_eq(u->ticket[micro].region_key,
			     t.ticket[micro].region_key);
	}
	OK(philox_output_get_tie(u->r, &u->grad, &region, &ticket));
	cr_assert(!region && !ticket.serial, "the gradient is not tied");
	plain_backward(&u->forth, u->ticket[1], u->f->stream, 0);
	FAILS(philox_output_check(u->r, &u->y[1]), PHILOX_ERROR_STALE);
	FAILS(philox_output_check(u->r, &u->echo[1]), PHILOX_ERROR_STALE);
	OK(philox_output_check(u->r, &u->y[2]));
	OK(philox_ticket_release(u->forth.region, u->f->stream, u->ticket[2]));
	FAILS(philox_output_check(u->r, &u->y[2]), PHILOX_ERROR_STALE);
	OK(philox_output_check(u->r, &u->grad));
	LIVE(u->f, u->r, 1);
	resumed_close(&resumed);
	stopped_free(&stopped);
}

/* Of two calls on a path, the second one's ticket keeps the first one's output. */
RUNNER_PROMISE(runner_resume, a_step_keeps_outputs_that_a_backward_may_need)
{
	struct stopped stopped;
	struct resumed resumed;
	struct layer_call first, second, other;
	struct accum t, *u = &resumed.t;
	struct philox_output found;

	accum_make(&t, f, r);
	other = made_call(&t.forth, t.x[1], 0);
	let_go(&t.forth, &other);
	first = made_call(&t.forth, t.x[0], 0);
	second = made_call_on(&t.forth, &first, 1);
	let_go(&t.forth, &first);
	OK(philox_output_set_label(r, &second.outputs[0], "second"));
	stopped_save(&stopped, &t);
	resumed_open(&resumed, f, 0);
	OK(philox_context_load_text(resumed.f.context, stopped.context,
				    strlen(stopped.context)));
	OK(try_outputs(u, &stopped));
	for (size_t i = 0; i < 3; i++)
		OK(philox_outputs_find(u->r, "forth", "y", NULL, i, &found));
	log_texts(u->f);
	STEP(u->r, u->f->stream, 4);
	STEP(r, f->stream, 4);
	LOGGED("output 'y' that was loaded kept, one of 4");
	FAILS(philox_outputs_find(u->r, "forth", "y", NULL, 2, &found),
	      PHILOX_ERROR_NOT_FOUND);
	OK(philox_outputs_find(u->r, "forth", "y", "second", 0, &found));
	let_go(&u->forth, &second);
	STEP(u->r, u->f->stream, 0);
	LIVE(u->f, u->r, 0);
	resumed_close(&resumed);
	stopped_free(&stopped);
}

/* --- memory --------------------------------------------------------------- */

/* Two handles of one block are of one block again. */
RUNNER_PROMISE(runner_resume, outputs_that_share_memory_share_it_again)
{
	struct stopped stopped;
	struct resumed resumed;
	struct philox_output first, sum, zero;
	struct philox_call_input inputs[2] = {{.bytes = WORDS * 4},
					      {.bytes = WORDS * 4}};
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct accum t, *u = &resumed.t;

	accum_make(&t, f, r);
	accum_begin(&t);
	first = t.grad;
	inputs[0].address = first.address;
	inputs[0].output = &first;
	inputs[1].address = t.x[0];
	call.stream = f->stream;
	call.inputs = inputs;
	call.n_inputs = 2;
	call.outputs = &sum;
	call.n_outputs = 1;
	OK(philox_function_call(t.add, &call));
	stopped_save(&stopped, &t);
	resumed_open(&resumed, f, 0);
	OK(philox_context_load_text(resumed.f.context, stopped.context,
				    strlen(stopped.context)));
	OK(try_outputs(u, &stopped));
	OK(philox_outputs_find(u->r, "zero", "sum", "grad", 0, &zero));
	OK(philox_outputs_find(u->r, "add", "sum", "", 0, &sum));
	cr_assert_eq(zero.id, sum.id);
	cr_assert_eq(zero.address, sum.address);
	cr_assert_eq((uintptr_t)zero.address % 1024, 0, "its alignment");
	OK(philox_output_release(u->r, u->f->stream, &zero));
	LIVE(u->f, u->r, 1);
	SAME(read_numbers(u->f, sum.address), all_words(10), "its words");
	OK(philox_output_release(u->r, u->f->stream, &sum));
	LIVE(u->f, u->r, 0);
	resumed_close(&resumed);
	stopped_free(&stopped);
}

enum { PIECE = 40, PIECES = 3 };

/* Outputs in the middle of a block, the later one first, and an empty one. */
static enum philox_status pieces_body(void *user, struct philox_run *run)
{
	struct accum *t = user;
	void *block;
	char *at;

	OK(philox_run_alloc(run, 1000, 4096, "pieces", &block));
	at = block;
	OK(philox_memory_copy(t->f->device, philox_run_stream(run), at + 100,
			      t->x[0], PIECE));
	OK(philox_memory_copy(t->f->device, philox_run_stream(run), at + 300,
			      t->x[1], PIECE));
	OK(philox_run_output(run, 0, at + 300, PIECE));
	OK(philox_run_output(run, 1, at + 100, PIECE));
	return philox_run_output(run, 2, at + 200, 0);
}

static struct philox_function *make_pieces(struct accum *t)
{
	static const struct philox_output_desc outputs[PIECES] = {
		{.name = "last"}, {.name = "first"}, {.name = "none"}};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_function *function;

	options.name = "pieces";
	options.body = pieces_body;
	options.user = t;
	options.outputs = outputs;
	options.n_outputs = PIECES;
	OK(philox_function_create(t->r, &options, &function));
	return function;
}

/* Only what outputs take of a block is in the file. */
RUNNER_PROMISE(runner_resume, outputs_within_a_block_are_where_they_were)
{
	struct stopped stopped;
	struct resumed resumed;
	struct philox_output made[PIECES], found[PIECES];
	struct philox_call call = PHILOX_INIT(struct philox_call);
	uint32_t words[PIECE / 4];
	struct accum t, *u = &resumed.t;

	accum_make(&t, f, r);
	accum_forward(&t, 0); /* its outputs come before the block */
	call.stream = f->stream;
	call.outputs = made;
	call.n_outputs = PIECES;
	OK(philox_function_call(make_pieces(&t), &call));
	stopped_save(&stopped, &t);
	cr_assert(strstr(stopped.outputs,
			 "block bytes 1000 alignment 4096 "
			 "tag \"pieces\" from 100 saved 240\n"));
	resumed_open(&resumed, f, 0);
	make_pieces(u);
	OK(philox_context_load_text(resumed.f.context, stopped.context,
				    strlen(stopped.context)));
	OK(try_outputs(u, &stopped));
	OK(philox_outputs_find(u->r, "pieces", "last", "", 0, &found[0]));
	OK(philox_outputs_find(u->r, "pieces", "first", "", 0, &found[1]));
	OK(philox_outputs_find(u->r, "pieces", "none", "", 0, &found[2]));
	cr_assert_eq((char *)found[0].address - (char *)found[1].address, 200);
	cr_assert_eq((char *)found[2].address - (char *)found[1].address, 100);
	cr_assert_eq((uintptr_t)found[1].address % 4096, 100);
	cr_assert_eq(found[2].bytes, 0);
	for (int i = 0; i < 2; i++) {
		OK(philox_memory_copy(u->f->device, u->f->stream, words,
				      found[i].address, PIECE));
		OK(philox_device_synchronize(u->f->device));
		cr_assert_eq(words[0], i ? 10u : 11u);
		cr_assert_eq(words[PIECE / 4 - 1], i ? 10u : 11u);
		OK(philox_output_release(u->r, u->f->stream, &found[i]));
		LIVE(u->f, u->r, 3);
	}
	OK(philox_output_release(u->r, u->f->stream, &found[2]));
	LIVE(u->f, u->r, 2);
	resumed_close(&resumed);
	stopped_free(&stopped);
}

/* Places of handles are used again, in whatever order. */
RUNNER_PROMISE(runner_resume, outputs_are_found_in_the_order_of_handing_out)
{
	struct stopped stopped;
	struct resumed resumed;
	struct layer_call calls[4];
	struct philox_output found;
	struct accum t, *u = &resumed.t;
	static const int left[] = {2, 3, 0,
				   1}; /* the order of the last calls */

	accum_make(&t, f, r);
	for (int i = 0; i < 4; i++)
		calls[i] = made_call(&t.forth, t.x[i], 0);
	for (int i = 0; i < 2; i++) {
		OK(philox_output_set_label(r, &calls[i].outputs[1], "before"));
		release_outputs(&t.forth, &calls[i]);
	}
	for (int i = 0; i < 2; i++)
		calls[i] = made_call(&t.forth, t.x[i], 0);
	stopped_save(&stopped, &t);
	resumed_open(&resumed, f, 0);
	OK(philox_context_load_text(resumed.f.context, stopped.context,
				    strlen(stopped.context)));
	OK(try_outputs(u, &stopped));
	for (size_t i = 0; i < 4; i++) {
		const struct numbers x = all_words((uint32_t)(10 + left[i]));

		OK(philox_outputs_find(r, "forth", "echo", "", i, &found));
		cr_assert(!memcmp(&found, &calls[left[i]].outputs[1],
				  sizeof(found)),
			  "index %zu here", i);
		OK(philox_outputs_find(u->r, "forth", "echo", NULL, i, &found));
		SAME(read_numbers(u->f, found.address), x, "index %zu there",
		     i);
	}
	resumed_close(&resumed);
	stopped_free(&stopped);
}

/* Nothing is given the memory of outputs that were loaded. */
RUNNER_PROMISE(runner_resume, memory_of_loaded_outputs_is_theirs)
{
	struct stopped stopped;
	struct resumed resumed;
	struct accum t, *u = &resumed.t;
	struct numbers before;

	accum_make(&t, f, r);
	accum_stop(&t);
	stopped_save(&stopped, &t);
	resumed_open(&resumed, f, 0);
	load_all(&resumed, &stopped, NO_PLAN);
	before = read_numbers(u->f, u->y[2].address);
	SAME(before, read_numbers(f, t.y[2].address), "the numbers");
	for (int i = 0; i < 6; i++) {
		struct layer_call call = made_call(&u->forth, u->x[0], 0);

		release_outputs(&u->forth, &call);
		let_go(&u->forth, &call);
	}
	SAME(read_numbers(u->f, u->y[2].address), before, "overwritten");
	resumed_close(&resumed);
	stopped_free(&stopped);
}

/* The bytes are those after the work of the runner on another stream. */
SLOW_PROMISE(runner_resume, a_save_comes_after_calls_on_other_streams)
{
	struct stopped stopped;
	struct resumed resumed;
	struct philox_output found;
	struct accum t;

	accum_make(&t, f, r);
	for (int step = 0; step < 2; step++)
		accum_step(&t);
	accum_stop(&t);
	delay(f, f->stream);
	accum_forward(&t, 3); /* nothing is released after it */
	OK(philox_outputs_save_text(r, f->side, &stopped.outputs,
				    &stopped.bytes));
	OK(philox_context_save_text(f->context, &stopped.context, NULL));
	OK(philox_plan_save_text(r, &stopped.plan, NULL));
	resumed_open(&resumed, f, 0);
	load_all(&resumed, &stopped, NO_PLAN);
	OK(philox_outputs_find(resumed.t.r, "forth", "y", "micro 3", 0,
			       &found));
	SAME(read_numbers(&resumed.f, found.address),
	     read_numbers(f, t.y[3].address), "what came late");
	resumed_close(&resumed);
	stopped_free(&stopped);
}

/* Memory of the caller's stays the caller's. */
RUNNER_PROMISE(runner_resume, outputs_in_memory_of_the_caller_are_not_loaded)
{
	struct stopped stopped;
	struct resumed resumed;
	struct philox_output sum, found;
	struct philox_call_input inputs[2] = {{.bytes = WORDS * 4},
					      {.bytes = WORDS * 4}};
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct accum t;

	accum_make(&t, f, r);
	accum_begin(&t);
	inputs[0].address = t.x[0];
	inputs[1].address = t.x[1];
	call.stream = f->stream;
	call.inputs = inputs;
	call.n_inputs = 2;
	call.outputs = &sum;
	call.n_outputs = 1;
	OK(philox_function_call(t.add, &call));
	stopped_save(&stopped, &t);
	cr_assert(strstr(stopped.outputs, "output \"add\" \"sum\" label \"\" "
					  "block none at 0 bytes 128"));
	resumed_open(&resumed, f, 0);
	log_texts(&resumed.f);
	OK(philox_context_load_text(resumed.f.context, stopped.context,
				    strlen(stopped.context)));
	OK(try_outputs(&resumed.t, &stopped));
	LOGGED("runner 'runner' has 1 output again, of 128 bytes");
	LOGGED("1 output in memory of the caller is not loaded");
	FAILS(philox_outputs_find(resumed.t.r, "add", "sum", NULL, 0, &found),
	      PHILOX_ERROR_NOT_FOUND);
	OK(philox_outputs_find(resumed.t.r, "zero", "sum", NULL, 0, &found));
	resumed_close(&resumed);
	stopped_free(&stopped);
}

RUNNER_PROMISE(runner_resume, a_runner_without_outputs_is_saved_too)
{
	struct stopped stopped;
	struct resumed resumed;
	struct accum t;
	char *outputs;

	accum_make(&t, f, r);
	accum_step(&t);
	stopped_save(&stopped, &t);
	resumed_open(&resumed, f, 0);
	OK(philox_context_load_text(resumed.f.context, stopped.context,
				    strlen(stopped.context)));
	OK(try_outputs(&resumed.t, &stopped));
	OK(philox_outputs_save_text(resumed.t.r, resumed.f.stream, &outputs,
				    NULL));
	cr_assert_str_eq(outputs, stopped.outputs);
	SAME(accum_step(&resumed.t), accum_step(&t), "the next step");
	free(outputs);
	resumed_close(&resumed);
	stopped_free(&stopped);
}
