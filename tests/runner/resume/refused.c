/*
 * tests/runner/resume/refused.c - outputs that do not fit are refused, and
 * nothing changes
 */
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/allocations.h"
#include "tests/support/beds/runner_resume.h"

static void load_context(struct resumed *resumed, const struct stopped *stopped)
{
	OK(philox_context_load_text(resumed->f.context, stopped->context,
				    strlen(stopped->context)));
}

/* A train that stopped, saved, and another process with its context. */
static void stop_and_load(struct fixture *f, struct philox_runner *r,
			  struct accum *t, struct stopped *stopped,
			  struct resumed *resumed)
{
	accum_make(t, f, r);
	accum_stop(t);
	stopped_save(stopped, t);
	resumed_open(resumed, f, 0);
	load_context(resumed, stopped);
}

static void refuses_outputs(struct resumed *resumed,
			    const struct stopped *stopped,
			    enum philox_status expected)
{
	outputs_refused(&resumed->t, stopped->outputs, stopped->bytes,
			expected);
}

/* What was refused leaves a runner that can be loaded. */
static void loads_after_all(struct resumed *resumed,
			    const struct stopped *stopped, struct accum *t)
{
	load_context(resumed, stopped);
	OK(try_outputs(&resumed->t, stopped));
	accum_find(&resumed->t);
	SAME(accum_go_on(&resumed->t), accum_go_on(t), "after refusals");
}

/* --- another step --------------------------------------------------------- */

RUNNER_PROMISE(runner_refused, outputs_of_another_step_are_refused)
{
	struct stopped stopped, later;
	struct resumed resumed;
	struct accum t;

	stop_and_load(f, r, &t, &stopped, &resumed);
	accum_backward(&t, 1);
	stopped_save(&later, &t);
	refuses_outputs(&resumed, &later, PHILOX_ERROR_MISMATCH);
	NAMES("runner 'runner': the context was saved with outputs of digest ");
	NAMES("they are of another step");
	load_context(&resumed, &later);
	refuses_outputs(&resumed, &stopped, PHILOX_ERROR_MISMATCH);
	OK(try_outputs(&resumed.t, &later));
	resumed_close(&resumed);
	stopped_free(&stopped);
	stopped_free(&later);
}

enum change {
	NOTHING,
	CALL,
	RELEASE,
	LABEL,
	TIE,
	TICKET, /* used up */
	PASS,   /* of another region */
	CHANGES
};

static void change_something(struct accum *t, struct philox_region *other,
			     enum change change)
{
	struct forward passed;

	switch (change) {
	case CALL:
		accum_forward(t, 3);
		OK(philox_ticket_release(t->forth.region, t->f->stream,
					 t->ticket[3]));
		break;
	case RELEASE:
		OK(philox_output_release(t->r, t->f->stream, &t->y[1]));
		break;
	case LABEL:
		OK(philox_output_set_label(t->r, &t->y[1], "another"));
		break;
	case TIE:
		OK(philox_output_tie(t->r, &t->grad, t->forth.region,
				     t->ticket[2]));
		break;
	case TICKET:
		OK(philox_ticket_release(t->forth.region, t->f->stream,
					 t->ticket[2]));
		break;
	case PASS:
		passed = forward(t->f, other);
		OK(philox_ticket_release(other, t->f->stream, passed.ticket));
		break;
	default:
		break;
	}
}

RUNNER_PROMISE(runner_refused, outputs_that_change_before_the_context_is_saved)
{
	for (int change = NOTHING; change < CHANGES; change++) {
		struct fixture of;
		struct philox_region *other;
		struct accum t;
		char *outputs, *text;

		fixture_open(&of, philox_device_name(f->device));
		accum_make(&t, &of, make_runner_of(&of, "runner", 0));
		other = make_region(&of, "other");
		accum_stop(&t);
		OK(philox_outputs_save_text(t.r, of.stream, &outputs, NULL));
		change_something(&t, other, (enum change)change);
		log_texts(&of);
		for (int time = 0; time < 2; time++) {
			static const char changed[] =
				"runner 'runner': its outputs were saved, but "
				"they or the context have changed";
			const char *said;

			OK(philox_context_save_text(of.context, &text, NULL));
			cr_assert_eq(strstr(text, "outputs \"runner\"") != NULL,
				     change == NOTHING, "change %d", change);
			said = strstr(logged_texts(), changed);
			cr_assert_eq(said != NULL, change != NOTHING,
				     "change %d: %s", change, logged_texts());
			cr_assert(!said || !strstr(said + 1, changed),
				  "said twice");
			free(text);
		}
		free(outputs);
		fixture_close(&of);
	}
}

RUNNER_PROMISE(runner_refused, a_text_that_names_no_outputs)
{
	struct stopped stopped;
	struct resumed resumed;
	struct accum t;
	char *text;

	accum_make(&t, f, r);
	accum_stop(&t);
	OK(philox_context_save_text(f->context, &text, NULL));
	stopped_save(&stopped, &t);
	resumed_open(&resumed, f, 0);
	OK(philox_context_load_text(resumed.f.context, text, strlen(text)));
	refuses_outputs(&resumed, &stopped, PHILOX_ERROR_MISMATCH);
	NAMES("the text that the context was loaded from names no outputs of "
	      "this runner");
	loads_after_all(&resumed, &stopped, &t);
	free(text);
	resumed_close(&resumed);
	stopped_free(&stopped);
}

RUNNER_PROMISE(runner_refused, a_context_that_was_not_loaded)
{
	struct stopped stopped;
	struct resumed resumed;
	struct accum t;

	accum_make(&t, f, r);
	accum_stop(&t);
	stopped_save(&stopped, &t);
	resumed_open(&resumed, f, 0);
	refuses_outputs(&resumed, &stopped, PHILOX_ERROR_STATE);
	NAMES("the context was not loaded from a text");
	loads_after_all(&resumed, &stopped, &t);
	resumed_close(&resumed);
	stopped_free(&stopped);
}

RUNNER_PROMISE(runner_refused, a_context_that_has_changed_since_its_load)
{
	struct stopped stopped;
	struct resumed resumed;
	struct accum t;

	stop_and_load(f, r, &t, &stopped, &resumed);
	OK(philox_ticket_release(resumed.t.forth.region, resumed.f.stream,
				 t.ticket[1]));
	refuses_outputs(&resumed, &stopped, PHILOX_ERROR_STATE);
	NAMES("the context has changed since it was loaded");
	loads_after_all(&resumed, &stopped, &t);
	resumed_close(&resumed);
	stopped_free(&stopped);
}

/* --- another runner ------------------------------------------------------- */

RUNNER_PROMISE(runner_refused, a_runner_with_outputs_of_its_own)
{
	struct stopped stopped;
	struct resumed resumed;
	struct accum t, *u = &resumed.t;

	stop_and_load(f, r, &t, &stopped, &resumed);
	accum_begin(u);
	FAILS(try_outputs(u, &stopped), PHILOX_ERROR_STATE);
	NAMES("runner 'runner': output 'sum' of function 'zero' is not "
	      "released");
	OK(philox_output_release(u->r, u->f->stream, &u->grad));
	OK(try_outputs(u, &stopped));
	FAILS(try_outputs(u, &stopped), PHILOX_ERROR_STATE);
	accum_find(u);
	SAME(accum_go_on(u), accum_go_on(&t), "once");
	resumed_close(&resumed);
	stopped_free(&stopped);
}

RUNNER_PROMISE(runner_refused, a_runner_of_another_name)
{
	struct stopped stopped;
	struct resumed resumed;
	struct accum t, other;

	stop_and_load(f, r, &t, &stopped, &resumed);
	other = resumed.t;
	other.r = make_runner_of(&resumed.f, "other", 0);
	outputs_refused(&other, stopped.outputs, stopped.bytes,
			PHILOX_ERROR_MISMATCH);
	NAMES("runner 'other': the outputs are those of runner 'runner'");
	loads_after_all(&resumed, &stopped, &t);
	resumed_close(&resumed);
	stopped_free(&stopped);
}

struct other_function {
	const char *from, *to; /* in the outputs */
	enum philox_status status;
	const char *named;
};

static const struct other_function others[] = {
	{"output \"forth\" \"y\"", "output \"first\" \"y\"",
	 PHILOX_ERROR_MISMATCH,
	 "function 'first' of the saved outputs is not in this runner"},
	{"output \"forth\" \"y\"", "output \"forth\" \"z\"",
	 PHILOX_ERROR_MISMATCH,
	 "function 'forth' has no output 'z', which was saved"},
	{"bytes 128 elements 3 path", "bytes 128 elements 9 path",
	 PHILOX_ERROR_MISMATCH,
	 "output 'sum' of function 'add': elements is 9 in what was saved, but "
	 "3 here"},
	{"tie \"layer\" 2", "tie \"other\" 2", PHILOX_ERROR_MISMATCH,
	 "output 'y' of function 'forth' cannot be tied: there is no region "
	 "'other'"},
	{"tie \"layer\" 2", "tie \"layer\" 1", PHILOX_ERROR_RELEASED,
	 "output 'y' of function 'forth' cannot be tied: "},
	{"tie \"layer\" 2", "tie \"layer\" 77", PHILOX_ERROR_RELEASED,
	 "ticket 77"},
	{"owed \"layer\" 2", "owed \"layer\" 1", PHILOX_ERROR_RELEASED,
	 "ticket 1"},
};

RUNNER_PROMISE(runner_refused, functions_outputs_and_tickets_that_are_others)
{
	struct stopped stopped;
	struct resumed resumed;
	struct accum t;

	accum_make(&t, f, r);
	accum_stop(&t);
	resumed_open(&resumed, f, 0);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		const struct other_function *other = &others[i];

		stopped_save(&stopped, &t);
		stopped_change(&stopped, other->from, other->to);
		load_context(&resumed, &stopped);
		refuses_outputs(&resumed, &stopped, other->status);
		NAMES(other->named);
		stopped_free(&stopped);
	}
	stopped_save(&stopped, &t);
	loads_after_all(&resumed, &stopped, &t);
	resumed_close(&resumed);
	stopped_free(&stopped);
}

/* --- memory and devices --------------------------------------------------- */

RUNNER_PROMISE(runner_refused, a_pool_without_room)
{
	struct philox_runner_desc options =
		PHILOX_INIT(struct philox_runner_desc);
	struct stopped stopped;
	struct resumed resumed;
	struct accum t, small;
	char to[64];

	accum_make(&t, f, r);
	accum_stop(&t);
	stopped_save(&stopped, &t);
	snprintf(to, sizeof(to), "block bytes %zu", (size_t)64 << 20);
	stopped_change(&stopped, "block bytes 228", to);
	fixture_open(&resumed.f, philox_device_name(f->device));
	options.name = "runner";
	options.pool_limit = 4 << 20;
	OK(philox_runner_create(resumed.f.context, &options, &small.r));
	accum_make(&resumed.t, &resumed.f, small.r);
	load_context(&resumed, &stopped);
	refuses_outputs(&resumed, &stopped, PHILOX_ERROR_LIMIT);
	NAMES("runner 'runner'");
	stopped_free(&stopped);
	stopped_save(&stopped, &t);
	loads_after_all(&resumed, &stopped, &t);
	resumed_close(&resumed);
	stopped_free(&stopped);
}

/* Every allocation of the host fails once. */
RUNNER_PROMISE(runner_refused, a_load_and_a_save_without_memory)
{
	struct stopped stopped;
	struct resumed resumed;
	struct accum t;
	uint64_t n;

	stop_and_load(f, r, &t, &stopped, &resumed);
	resumed.f.injected = 1;
	allocations_watch(resumed.f.device);
	if (!allocations_fail(0))
		cr_skip_test("a sanitizer has malloc()");
	for (n = 1;; n++) {
		enum philox_status status;
		struct philox_output found;

		allocations_fail(n);
		status = try_outputs(&resumed.t, &stopped);
		allocations_fail(0);
		if (status == PHILOX_OK)
			break;
		cr_assert_eq(status, PHILOX_ERROR_MEMORY, "allocation %d: %s",
			     (int)n, philox_error_message());
		FAILS(philox_outputs_find(resumed.t.r, "add", "sum", NULL, 0,
					  &found),
		      PHILOX_ERROR_NOT_FOUND);
		LIVE(&resumed.f, resumed.t.r, 0);
	}
	cr_assert_gt(n, 10, "too few allocations were tried");
	accum_find(&resumed.t);
	for (n = 1;; n++) {
		char *text = NULL;
		enum philox_status status;

		allocations_fail(n);
		status = philox_outputs_save_text(resumed.t.r, resumed.f.stream,
						  &text, NULL);
		allocations_fail(0);
		if (status == PHILOX_OK) {
			free(text);
			break;
		}
		cr_assert_eq(status, PHILOX_ERROR_MEMORY);
		cr_assert(!text);
	}
	cr_assert_gt(n, 10, "too few allocations were tried");
	SAME(accum_go_on(&resumed.t), accum_go_on(&t), "after all failures");
	resumed_close(&resumed);
	stopped_free(&stopped);
}

/* Every operation of the device fails once. */
RUNNER_PROMISE(runner_refused, a_load_and_a_save_that_the_device_refuses)
{
	struct stopped stopped;
	struct resumed resumed;
	struct accum t;
	unsigned failures = 0;

	stop_and_load(f, r, &t, &stopped, &resumed);
	resumed.f.injected = f->injected = 1;
	for (size_t i = 0; device_operations[i]; i++)
		for (int n = 1;; n++) {
			enum philox_status status;

			OK(philox_device_fail(resumed.f.device,
					      device_operations[i], n,
					      PHILOX_ERROR_DEVICE));
			status = try_outputs(&resumed.t, &stopped);
			OK(philox_device_fail(resumed.f.device, NULL, 0,
					      PHILOX_OK));
			if (status == PHILOX_OK) {
				OK(philox_runner_step_begin(
					resumed.t.r, resumed.f.stream,
					PHILOX_STEP_RELEASE_ALL, NULL));
				break;
			}
			failures++;
			cr_assert_eq(status, PHILOX_ERROR_DEVICE);
			LIVE(&resumed.f, resumed.t.r, 0);
		}
	cr_assert_gt(failures, 3, "%u operations failed", failures);
	failures = 0;
	for (size_t i = 0; device_operations[i]; i++)
		for (int n = 1;; n++) {
			enum philox_status status;
			char *text = NULL;

			OK(philox_device_fail(f->device, device_operations[i],
					      n, PHILOX_ERROR_DEVICE));
			status = philox_outputs_save_text(r, f->stream, &text,
							  NULL);
			OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
			free(text);
			if (status == PHILOX_OK)
				break;
			failures++;
			cr_assert_eq(status, PHILOX_ERROR_DEVICE);
		}
	cr_assert_gt(failures, 1, "%u operations failed", failures);
	loads_after_all(&resumed, &stopped, &t);
	resumed_close(&resumed);
	stopped_free(&stopped);
}

RUNNER_PROMISE(runner_refused, a_stream_that_captures)
{
	struct stopped stopped;
	struct resumed resumed;
	struct accum t;
	char *text;

	stop_and_load(f, r, &t, &stopped, &resumed);
	record_begin(f);
	FAILS(philox_outputs_save_text(r, f->stream, &text, NULL),
	      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	NAMES("runner 'runner'");
	OK(philox_graph_destroy(record_end(f)));
	record_begin(&resumed.f);
	FAILS(try_outputs(&resumed.t, &stopped),
	      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	OK(philox_graph_destroy(record_end(&resumed.f)));
	loads_after_all(&resumed, &stopped, &t);
	resumed_close(&resumed);
	stopped_free(&stopped);
}

/* --- names ---------------------------------------------------------------- */

RUNNER_PROMISE(runner_refused, labels_and_names_that_cannot_be)
{
	char longest[65];
	struct philox_output found;
	struct philox_region *region;
	struct philox_ticket ticket;
	struct accum t;

	accum_make(&t, f, r);
	accum_begin(&t);
	memset(longest, 'a', sizeof(longest));
	longest[64] = '\0';
	FAILS(philox_output_set_label(r, &t.grad, longest),
	      PHILOX_ERROR_INVALID);
	NAMES("output 'sum' of function 'zero': a label has at most 63 bytes, "
	      "not 64");
	longest[63] = '\0';
	OK(philox_output_set_label(r, &t.grad, longest));
	FAILS(philox_output_set_label(r, &t.grad, "a\nb"),
	      PHILOX_ERROR_INVALID);
	NAMES("byte 1 of its label is a control character");
	OK(philox_outputs_find(r, "zero", "sum", longest, 0, &found));
	cr_assert(!memcmp(&found, &t.grad, sizeof(found)));
	OK(philox_output_set_label(r, &t.grad, NULL));
	OK(philox_outputs_find(r, "zero", "sum", "", 0, &found));
	FAILS(philox_outputs_find(r, "zero", "sum", longest, 0, &found),
	      PHILOX_ERROR_NOT_FOUND);
	SAYS(philox_outputs_find(r, "zero", "sum", "", 1, &found),
	     PHILOX_ERROR_NOT_FOUND,
	     "runner 'runner' has 1 output 'sum' of function 'zero' with label "
	     "'' that is not released, and so none of index 1");
	SAYS(philox_outputs_find(r, "zero", "y", NULL, 0, &found),
	     PHILOX_ERROR_NOT_FOUND,
	     "runner 'runner' has 0 outputs 'y' of function 'zero' that are "
	     "not released, and so none of index 0");
	FAILS(philox_outputs_find(NULL, "", "", NULL, 0, &found),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_outputs_find(r, NULL, "", NULL, 0, &found),
	      PHILOX_ERROR_INVALID);
	NAMES("function");
	FAILS(philox_outputs_find(r, "", NULL, NULL, 0, &found),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_outputs_find(r, "", "", NULL, 0, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_output_get_tie(r, &t.grad, NULL, &ticket),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_output_get_tie(r, &t.grad, &region, NULL),
	      PHILOX_ERROR_INVALID);
	found = t.grad;
	OK(philox_output_release(r, f->stream, &t.grad));
	FAILS(philox_output_set_label(r, &found, "gone"), PHILOX_ERROR_STALE);
	FAILS(philox_output_get_tie(r, &found, &region, &ticket),
	      PHILOX_ERROR_STALE);
}

RUNNER_PROMISE(runner_refused, arguments_that_are_missing)
{
	char *text;

	FAILS(philox_outputs_save(NULL, NULL, "a"), PHILOX_ERROR_INVALID);
	FAILS(philox_outputs_save(r, NULL, NULL), PHILOX_ERROR_INVALID);
	FAILS(philox_outputs_save_text(NULL, NULL, &text, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_outputs_save_text(r, NULL, NULL, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_outputs_load(NULL, NULL, "a"), PHILOX_ERROR_INVALID);
	FAILS(philox_outputs_load(r, NULL, NULL), PHILOX_ERROR_INVALID);
	FAILS(philox_outputs_load_text(NULL, NULL, "", 0),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_outputs_load_text(r, NULL, NULL, 0), PHILOX_ERROR_INVALID);
}
