/*
 * tests/runner/agree/clock.c - what is decided depends on no clock
 *
 * The same calls are made with clocks that stand, run back and leap, and with
 * delays of the host and on the stream: each is of the same kind, for the same
 * reason. A process that decided otherwise than others, since it was slower,
 * would cost all of them care.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "tests/support/beds/runner_scene.h"

/* --- clocks --------------------------------------------------------------- */

enum clock { TRUE_CLOCK, STANDS, RUNS_BACK, LEAPS, CLOCKS };

static enum clock clock_now;
static unsigned asked;

/* Of the whole program; as it should be unless a test says otherwise. */
int clock_gettime(clockid_t id, struct timespec *time)
{
	const long done = syscall(SYS_clock_gettime, id, time);

	asked += clock_now != TRUE_CLOCK;
	if (clock_now == STANDS)
		*time = (struct timespec){.tv_sec = 1000};
	else if (clock_now == RUNS_BACK)
		*time = (struct timespec){.tv_sec = 1000000 - (long)asked};
	else if (clock_now == LEAPS)
		*time = (struct timespec){.tv_sec = asked % 2 ? 1L << 40 : 1};
	return (int)done;
}

/* --- calls of all kinds --------------------------------------------------- */

enum { CALLS = 400, PLACES = 4, KEYS = 3, KEPT = 4 };

/* What each call was, and why. */
struct decided {
	uint32_t kind[CALLS];
	char reason[CALLS][256];
};

struct program {
	struct fixture *f;
	struct philox_runner *r;
	struct layer layer;
	uint32_t *x[PLACES];
	struct layer_call kept[KEPT];
	unsigned n_kept;
	int delays;
	uint32_t random;
};

static uint32_t pick(struct program *program, uint32_t n)
{
	program->random = program->random * 1664525 + 1013904223;
	return (program->random >> 16) % n;
}

static enum philox_status sometimes_refuse(struct layer *layer,
					   struct philox_run *run)
{
	return layer->bodies % 7 == 3 ? philox_run_refuse(run, "now and then")
				      : PHILOX_OK;
}

static void sleep_there(const void *args)
{
	usleep(*(const unsigned *)args);
}

/* In the host, or in what the stream has to do. */
static void wait_a_while(struct program *program, unsigned i)
{
	const unsigned long_time = i % 50 == 7 ? 20000 : 300;
	struct fixture *f = program->f;

	if (!program->delays)
		return;
	if (i % 3 == 0)
		usleep(long_time);
	if (i % 3 == 1 && philox_device_is_host(f->device))
		OK(philox_stream_launch_host(f->device, f->stream, sleep_there,
					     &long_time, sizeof(long_time)));
	if (i % 3 == 2)
		OK(philox_stream_synchronize(f->device, f->stream));
}

/* Outputs are kept for some calls; every so often one step ends. */
static void keep_or_release(struct program *program, struct layer_call *call)
{
	if (program->n_kept < KEPT && pick(program, 4) == 0) {
		program->kept[program->n_kept++] = *call;
		return;
	}
	release_outputs(&program->layer, call);
	if (program->n_kept && pick(program, 3) == 0)
		release_outputs(&program->layer,
				&program->kept[--program->n_kept]);
}

/* Ids of blocks count on from one runner to the next. */
static const char *without_id(const char *reason)
{
	return strncmp(reason, "block ", 6) == 0 ? strchr(reason + 6, ' ')
						 : reason;
}

static void make_calls(struct program *program, struct decided *decided)
{
	for (unsigned i = 0; i < CALLS; i++) {
		const uint32_t place =
			pick(program, 3) ? 0 : pick(program, PLACES);
		const uint32_t key = pick(program, 3) ? 0 : pick(program, KEYS);
		struct layer_call call =
			new_call(&program->layer, program->x[place], key);

		wait_a_while(program, i);
		OK(try_call(&program->layer, &call));
		OK(philox_ticket_release(program->layer.region,
					 program->f->stream, call.use.ticket));
		decided->kind[i] = call.call.kind;
		snprintf(decided->reason[i], sizeof(decided->reason[i]), "%s",
			 without_id(philox_function_reason(
				 program->layer.function)));
		keep_or_release(program, &call);
	}
	while (program->n_kept)
		release_outputs(&program->layer,
				&program->kept[--program->n_kept]);
}

static struct decided *play(struct fixture *f, struct philox_runner *r,
			    uint32_t *const x[PLACES], enum clock clock,
			    int delays)
{
	const struct philox_policy policy = {.recordings = 2,
					     .retry = 5,
					     .keys = KEYS - 1,
					     .bytes = 1 << 16};
	struct decided *decided = calloc(1, sizeof(*decided));
	struct program program = {.f = f,
				  .r = r,
				  .layer = make_layer(f, r, "layer"),
				  .delays = delays};

	memcpy(program.x, x, sizeof(program.x));
	program.layer.hook = sometimes_refuse;
	make_function_under(&program.layer, r, "layer", &policy);
	clock_now = clock;
	make_calls(&program, decided);
	clock_now = TRUE_CLOCK;
	OK(philox_device_synchronize(f->device));
	OK(philox_function_destroy(program.layer.function));
	OK(philox_region_destroy(program.layer.region));
	return decided;
}

static void same(const struct decided *one, const struct decided *other,
		 unsigned seen[5])
{
	for (unsigned i = 0; i < CALLS; i++) {
		cr_assert_eq(one->kind[i], other->kind[i],
			     "call %u: %u (%s), not %u (%s)", i, other->kind[i],
			     other->reason[i], one->kind[i], one->reason[i]);
		cr_assert_str_eq(one->reason[i], other->reason[i],
				 "call %u: %s, not %s", i, other->reason[i],
				 one->reason[i]);
		seen[one->kind[i]]++;
	}
}

static void on_device(const char *device)
{
	struct decided *first = NULL, *decided;
	unsigned seen[5] = {0};
	uint32_t *x[PLACES];
	struct fixture f;

	fixture_open(&f, device);
	for (uint32_t i = 0; i < PLACES; i++)
		x[i] = make_words(&f, i);
	for (int clock = TRUE_CLOCK; clock < CLOCKS; clock++)
		for (int delays = 0; delays < 2; delays++) {
			struct philox_runner *r = make_runner_of(&f, "r", 0);

			decided = play(&f, r, x, (enum clock)clock, delays);
			OK(philox_runner_destroy(r));
			if (!first)
				first = decided;
			same(first, decided, seen);
			if (first != decided)
				free(decided);
		}
	free(first);
	fixture_close(&f);
	cr_assert_gt(asked, 1000, "the clocks are asked");
	for (int kind = PHILOX_CALL_EAGER; kind <= PHILOX_CALL_REPLAY; kind++)
		cr_assert_gt(seen[kind], 8 * 10, "%u of kind %d", seen[kind],
			     kind);
}

Test(runner_agree_clock, decides_alike_at_any_time, .timeout = 120)
{
	on_device(named_device() ? named_device() : "host");
}

Test(runner_agree_clock, decides_alike_at_any_time_at_once, .timeout = 120)
{
	on_device(named_device() ? named_device() : "host:sync");
}
