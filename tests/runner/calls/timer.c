/*
 * tests/runner/calls/timer.c - what the device takes for launches, if a runner is
 * asked to time them
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "tests/support/beds/runner.h"

enum { CALLS = 6, FIRST = 1 }; /* the first call is a warm-up */

static const char *device_name(void)
{
	return named_device() ? named_device() : "host";
}

static struct philox_runner *timed_runner(struct fixture *f, uint32_t flags)
{
	struct philox_runner_desc options =
		PHILOX_INIT(struct philox_runner_desc);
	struct philox_runner *r;

	options.name = "runner";
	options.flags = flags;
	OK(philox_runner_create(f->context, &options, &r));
	return r;
}

/* Each waits for its work. */
static void call_often(struct layer *layer, const uint32_t *x, int n)
{
	for (int i = 0; i < n; i++) {
		kind_of_call(layer, x, 1);
		OK(philox_device_synchronize(layer->f->device));
	}
}

static void open_timed(struct fixture *f, struct layer *layer, uint32_t flags)
{
	fixture_open(f, device_name());
	*layer = make_layer(f, timed_runner(f, flags), "layer");
	make_function(layer, layer->runner, "layer");
}

static const char *program_of(const struct layer *layer)
{
	static char text[1 << 14];
	char *made;

	OK(philox_function_explain_text(layer->function, NULL, &made, NULL));
	snprintf(text, sizeof(text), "%s", made);
	free(made);
	return text;
}

/* The number after `part` in what explain says; 0: it says no such thing. */
static uint64_t told(const struct layer *layer, const char *part)
{
	struct philox_explain_desc options =
		PHILOX_INIT(struct philox_explain_desc);
	uint64_t number = 0;
	const char *at;
	char *text;

	options.flags = PHILOX_EXPLAIN_TIMES;
	OK(philox_function_explain_text(layer->function, &options, &text,
					NULL));
	at = strstr(text, part);
	if (at)
		number = strtoull(at + strlen(part), NULL, 10);
	free(text);
	return number;
}

Test(runner_timer, adds_up_what_the_device_took_for_launches, .timeout = 60)
{
	struct philox_function_stats counts;
	struct fixture f;
	struct layer layer;
	uint64_t first, replays;

	open_timed(&f, &layer, PHILOX_RUNNER_TIMES);
	call_often(&layer, make_words(&f, 1), CALLS);
	counts = counts_of(&layer);
	cr_assert_eq(counts.device_launches, CALLS - FIRST);
	first = told(&layer, "times of the device (ns): first launch ");
	replays = told(&layer, ", 4 replays ");
	cr_assert(first && replays);
	cr_assert_eq(counts.device_ns, first + replays);
	cr_assert(!strstr(program_of(&layer), "times of the device"));
	fixture_close(&f);
}

Test(runner_timer, makes_no_events_unless_it_is_asked_to, .timeout = 60)
{
	struct fixture f;
	struct layer layer;

	open_timed(&f, &layer, 0);
	call_often(&layer, make_words(&f, 1), CALLS);
	cr_assert_eq(philox_device_call_count(f.device, "event_create_timed"),
		     0);
	cr_assert_eq(counts_of(&layer).device_launches, 0);
	cr_assert_eq(told(&layer, "times of the device"), 0);
	fixture_close(&f);
}

/* --- nothing waits, and nothing fails for it ------------------------------ */

static atomic_int gate;

static void wait_at_gate(const void *args)
{
	const struct timespec moment = {.tv_nsec = 1000000};

	(void)args;
	for (int i = 0; i < 20000 && !atomic_load(&gate); i++)
		nanosleep(&moment, NULL);
}

/* Its work has not begun. */
static void call_behind_gate(struct layer *layer, const uint32_t *x)
{
	struct layer_call call = new_call(layer, x, 1);

	OK(try_call(layer, &call));
	cr_assert_eq(call.call.kind, PHILOX_CALL_REPLAY);
	release_outputs(layer, &call);
}

Test(runner_timer, waits_for_no_launch_to_time_the_next, .timeout = 60)
{
	struct fixture f;
	struct layer layer;
	uint32_t *x;

	if (named_device())
		cr_skip_test("needs work that waits for the host");
	open_timed(&f, &layer, PHILOX_RUNNER_TIMES);
	x = make_words(&f, 1);
	call_often(&layer, x, 3);
	cr_assert_eq(counts_of(&layer).device_launches, 2);
	OK(philox_stream_launch_host(f.device, f.stream, wait_at_gate, "", 1));
	for (int i = 0; i < 3; i++)
		call_behind_gate(&layer, x);
	cr_assert_eq(counts_of(&layer).device_launches, 2);
	atomic_store(&gate, 1);
	OK(philox_device_synchronize(f.device));
	cr_assert_eq(counts_of(&layer).device_launches, 3);
	call_often(&layer, x, 1);
	cr_assert_eq(counts_of(&layer).device_launches, 4);
	fixture_close(&f);
}

/* What each call leaves in the message, tests/support/said checks. */
static void without(const char *operation, uint64_t launches)
{
	struct fixture f;
	struct layer layer;
	uint32_t *x;

	open_timed(&f, &layer, PHILOX_RUNNER_TIMES);
	x = make_words(&f, 1);
	OK(philox_device_fail(f.device, operation, 1, PHILOX_ERROR_DEVICE));
	call_often(&layer, x, CALLS);
	cr_assert_eq(counts_of(&layer).replay, CALLS - 2);
	cr_assert_eq(counts_of(&layer).device_launches, launches);
	cr_assert_gt(told(&layer, "first launch 0, 4 replays "), 0);
	fixture_close(&f);
}

Test(runner_timer, fails_no_call_where_a_time_cannot_be_had, .timeout = 60)
{
	without("event_create_timed", CALLS - FIRST - 1);
	without("event_elapsed", CALLS - FIRST - 1);
}

Test(runner_timer, is_asked_for_by_a_flag_that_exists, .timeout = 60)
{
	struct philox_runner_desc options =
		PHILOX_INIT(struct philox_runner_desc);
	struct philox_runner *r;
	struct fixture f;

	fixture_open(&f, device_name());
	options.name = "runner";
	options.flags = PHILOX_RUNNER_TIMES | 6;
	SAYS(philox_runner_create(f.context, &options, &r),
	     PHILOX_ERROR_INVALID,
	     "runner 'runner': flags has 0x6, which is unknown");
	fixture_close(&f);
}

static uint64_t events_alive(const struct fixture *f)
{
	return philox_device_call_count(f->device, "event_create") +
	       philox_device_call_count(f->device, "event_create_timed") -
	       philox_device_call_count(f->device, "event_destroy");
}

Test(runner_timer, keeps_no_event_longer_than_its_recording, .timeout = 60)
{
	struct fixture f;
	struct layer layer;
	uint64_t before;

	fixture_open(&f, device_name());
	before = events_alive(&f);
	layer = make_layer(&f, timed_runner(&f, PHILOX_RUNNER_TIMES), "layer");
	make_function(&layer, layer.runner, "layer");
	call_often(&layer, make_words(&f, 1), CALLS);
	OK(philox_runner_destroy(layer.runner));
	cr_assert_eq(events_alive(&f), before);
	fixture_close(&f);
}

/* --- the log, and a snapshot ---------------------------------------------- */

static char logged[200];
static unsigned n_logged;

static void keep(void *user, const struct philox_log_entry *entry)
{
	(void)user;
	if (strcmp(entry->event, "timed") != 0)
		return;
	n_logged++;
	snprintf(logged, sizeof(logged), "%s", entry->text);
}

Test(runner_timer, is_in_the_log_once_a_recording, .timeout = 60)
{
	struct fixture f;
	struct layer layer;

	open_timed(&f, &layer, PHILOX_RUNNER_TIMES);
	OK(philox_context_set_log(f.context, keep, NULL));
	call_often(&layer, make_words(&f, 1), CALLS);
	cr_assert_eq(n_logged, 1);
	cr_assert(strstr(logged, "function 'layer' has a recording, 1, whose "
				 "first launch took the device "),
		  "%s", logged);
	fixture_close(&f);
}

static char *snapshot_of(struct philox_runner *r, unsigned flags)
{
	char *text;

	OK(philox_runner_snapshot_text_with(r, flags, &text, NULL));
	return text;
}

Test(runner_timer, is_in_snapshots_with_times, .timeout = 60)
{
	struct fixture f;
	struct layer layer;
	char *plain, *timed;

	open_timed(&f, &layer, PHILOX_RUNNER_TIMES);
	call_often(&layer, make_words(&f, 1), CALLS);
	plain = snapshot_of(layer.runner, 0);
	timed = snapshot_of(layer.runner, PHILOX_SNAPSHOT_TIMES);
	cr_assert(!strstr(plain, "device"));
	cr_assert(strstr(timed, " device-first "), "%s", timed);
	cr_assert(strstr(timed, " of 4\n"), "of a recording: %s", timed);
	cr_assert(strstr(timed, " of 5\n"), "of a function: %s", timed);
	free(plain);
	free(timed);
	fixture_close(&f);
}
