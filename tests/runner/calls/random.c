/*
 * tests/runner/calls/random.c - random programs of calls, beside the same
 * program of plain passes in another context
 *
 * In the environment
 *
 *   PHILOX_RUNNER_SEED=n     plays the program of one seed alone
 *   PHILOX_RUNNER_SHRINK=1   makes a program that fails as short as can be:
 *                            steps are left out while it still fails, each
 *                            time in a process of its own
 *   PHILOX_RUNNER_LOG=1      shows each call, with the runner's reason
 *   PHILOX_RUNNER_COUNTS=1   shows how often what happened
 *   PHILOX_RUNNER_VERIFIED=n plays so many programs whose replays are verified
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tests/support/programs/game.h"
#include "tests/support/programs/sanitized.h"

enum {
	ENOUGH = 32, /* programs for what happens in them to have happened */
	PROGRAMS = SANITIZED ? 10 : ENOUGH,
	VERIFIED = SANITIZED ? 5 : 16,
	SHRINKING_SECONDS = 120
};

static void tell(const struct game_program *program, const char *message)
{
	fprintf(stderr,
		"PHILOX_RUNNER_SEED=%" PRIu64 ", device %s, step %u: %s\n",
		program->seed, program->device, program->step, message);
}

static void fail_test(const struct game_program *program, const char *message)
{
	tell(program, message);
	fprintf(stderr, "PHILOX_RUNNER_SHRINK=1 makes it shorter\n");
	cr_assert_fail("program %" PRIu64 " on %s, step %u: %s", program->seed,
		       program->device, program->step, message);
}

/* --- shrinking ------------------------------------------------------------ */

/* What a process that plays a program tells, even if it ends early. */
struct told {
	unsigned step;
	char message[1600];
};

static struct told *told;

static void fail_process(const struct game_program *program,
			 const char *message)
{
	told->step = program->step;
	snprintf(told->message, sizeof(told->message), "%s", message);
	_exit(1);
}

static int fails(struct game_program *program)
{
	pid_t child;
	int status;

	told->message[0] = '\0';
	told->step = program->n_steps - 1;
	fflush(NULL);
	child = fork();
	cr_assert_geq(child, 0);
	if (!child) {
		alarm(60);
		program->failed = fail_process;
		game_play(program);
		_exit(0);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	return status != 0;
}

static int still_fails(struct game_program *program, unsigned first, unsigned n)
{
	struct game_program shorter = *program;
	unsigned left = 0;

	for (unsigned i = first; i < first + n && i < program->n_steps; i++) {
		left += !shorter.left_out[i];
		shorter.left_out[i] = 1;
	}
	if (!left || !fails(&shorter))
		return 0;
	*program = shorter;
	return 1;
}

static void shrink(struct game_program *program)
{
	const time_t end = time(NULL) + SHRINKING_SECONDS;

	if (!fails(program)) {
		fprintf(stderr, "program %" PRIu64 " does not fail\n",
			program->seed);
		return;
	}
	program->n_steps = told->step + 1;
	for (unsigned n = (program->n_steps + 1) / 2; n; n /= 2)
		for (unsigned i = 0; i < program->n_steps && time(NULL) < end;
		     i += n)
			still_fails(program, i, n);
	cr_assert(fails(program), "it fails now and then");
	program->step = told->step;
	tell(program, told->message);
	fprintf(stderr, "the steps that are left:");
	for (unsigned i = 0; i < program->n_steps; i++)
		if (!program->left_out[i])
			fprintf(stderr, " %u", i);
	fprintf(stderr, "\n");
	cr_assert_fail("program %" PRIu64 " fails", program->seed);
}

/* --- programs ------------------------------------------------------------- */

static void play(struct game_program *program)
{
	if (!getenv("PHILOX_RUNNER_SHRINK")) {
		game_play(program);
		return;
	}
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq((void *)told, MAP_FAILED);
	shrink(program);
}

/* How often each thing has to happen in all programs together, at least. */
static const unsigned least[GAME_EVENTS] = {
	[GAME_EAGER] = 10000,
	[GAME_WARMUP] = 1000,
	[GAME_RECORD] = 5000,
	[GAME_REPLAY] = 7000,
	[GAME_INPUT_HANDLE] = 10000,
	[GAME_INPUT_FOREIGN] = 8000,
	[GAME_INPUT_SAVED] = 1000,
	[GAME_INPUT_MISALIGNED] = 2000,
	[GAME_INPUT_WRITTEN] = 10000,
	[GAME_INPUT_WRITTEN_BACK] = 1000,
	[GAME_OUTPUT_ALIAS] = 20000,
	[GAME_OUTPUTS_DROPPED] = 1000,
	[GAME_VALUES] = 10000,
	[GAME_RETAINED] = 2000,
	[GAME_SIDE] = 6000,
	[GAME_LEGACY] = 3000,
	[GAME_SWITCHED] = 1000,
	[GAME_SAVED_FROM_FAILURE] = 30,
	[GAME_PATTERN + PASSES_NONE] = 1000,
	[GAME_PATTERN + PASSES_FORWARD] = 7000,
	[GAME_PATTERN + PASSES_BACKWARD] = 4000,
	[GAME_PATTERN + PASSES_OWN] = 1000,
	[GAME_PATTERN + PASSES_OWN_RETAINED] = 1000,
	[GAME_PATTERN + PASSES_TWO_FORWARDS] = 4000,
	[GAME_PATTERN + PASSES_LINKED] = 2000,
	[GAME_PATTERN + PASSES_BACK_AND_FORTH] = 2000,
	[GAME_PATTERN + PASSES_INFERENCE] = 1000,
	[GAME_PATTERN + PASSES_TWO_BACKWARDS] = 400,
	[GAME_PATTERN + PASSES_FIRST_OF_TWO] = 1000,
	[GAME_FAILED_BODY] = 100,
	[GAME_FAILED_DEVICE] = 700,
	[GAME_FAILED_REFUSED] = 40,
	[GAME_FAILED_DIFFERENT] = 100,
	[GAME_FAILED_MOVED] = 900,
	[GAME_FAILED_ARGUMENTS] = 500,
	[GAME_BURNT] = 400,
	[GAME_BROKE] = 80,
	[GAME_REFUSED] = 300,
	[GAME_AGAIN] = 100,
	[GAME_KEPT_LONG] = 700,
	[GAME_TIED] = 2000,
	[GAME_ATTACHED] = 1000,
	[GAME_UNBOUND] = 2000,
	[GAME_RELEASED] = 10000,
	[GAME_STEPS_BEGUN] = 2000,
	[GAME_STEPS_ENDED] = 700,
	[GAME_STEPS_OWED] = 1000,
	[GAME_PREPARED] = 100,
	[GAME_STALE] = 60,
	[GAME_FAILED_RELEASE] = 500,
	[GAME_RESEEDED] = 70,
	[GAME_REFILLED] = 400,
	[GAME_LOADED] = 40,
	[GAME_LOADED_LATE] = 60,
	[GAME_LOADED_ANEW] = 20,
	[GAME_PLANNED] = 15,
	[GAME_FUNCTION_REMADE] = 80,
	[GAME_REGION_REMADE] = 40,
	[GAME_RUNNER_REMADE] = 20,
	[GAME_POOL_CHECKED] = 300,
	[GAME_COMPARED] = 100000,
	[GAME_DIGESTS] = 10000,
	[GAME_MISSED_NEW] = 2000,
	[GAME_MISSED_MOVED] = 7000,
	[GAME_MISSED_LIVE] = 8000,
	[GAME_MISSED_STALE] = 100,
	[GAME_MISSED_EVICTED] = 1000,
	[GAME_MISSED_BOUND] = 3000,
	[GAME_MISSED_REFUSED] = 2000,
	[GAME_MISSED_EAGER] = 2000,
	[GAME_COPIES] = 10000,
	[GAME_DRY] = 600,
	[GAME_KEYS_DROPPED] = 1000};

static void all_happened(const uint64_t counts[GAME_EVENTS])
{
	cr_assert_geq(counts[GAME_EAGER] + counts[GAME_WARMUP] +
			      counts[GAME_RECORD] + counts[GAME_REPLAY],
		      50000 / ENOUGH * PROGRAMS,
		      "the two tests are 10^5 calls");
	for (unsigned i = 0; i < GAME_EVENTS; i++) {
		if (getenv("PHILOX_RUNNER_COUNTS"))
			fprintf(stderr, "%8" PRIu64 " %s\n", counts[i],
				game_event_names[i]);
		if (PROGRAMS == ENOUGH) /* fewer may lack what is rare */
			cr_assert_geq(counts[i], least[i],
				      "%s: %" PRIu64 ", not %u at least",
				      game_event_names[i], counts[i], least[i]);
	}
}

static void play_all(const char *device, unsigned first)
{
	const char *alone = getenv("PHILOX_RUNNER_SEED");
	struct game_program program = {
		.device = device, .n_steps = GAME_STEPS, .failed = fail_test};

	for (unsigned i = 0; i < (alone ? 1 : PROGRAMS); i++) {
		program.seed = alone ? strtoull(alone, NULL, 0) : first + i;
		play(&program);
	}
	if (!alone)
		all_happened(program.counts);
}

Test(runner_random, programs_draw_what_plain_passes_draw_on_host_sync,
     .timeout = 600)
{
	play_all(named_device() ? named_device() : "host:sync", 1);
}

Test(runner_random, programs_draw_what_plain_passes_draw_on_host,
     .timeout = 600)
{
	play_all(named_device() ? named_device() : "host", 1001);
}

/* --- verification --------------------------------------------------------- */

/* A replay is never said to differ, and nothing else changes. */
static void play_verified(const char *device, unsigned first)
{
	const char *alone = getenv("PHILOX_RUNNER_SEED");
	const char *many = getenv("PHILOX_RUNNER_VERIFIED");
	const unsigned n = alone  ? 1
			   : many ? (unsigned)strtoul(many, NULL, 0)
				  : VERIFIED;
	struct game_program program = {.device = device,
				       .n_steps = GAME_STEPS,
				       .verify = 1,
				       .failed = fail_test};

	for (unsigned i = 0; i < n; i++) {
		program.seed = alone ? strtoull(alone, NULL, 0) : first + i;
		play(&program);
	}
	fprintf(stderr,
		"%" PRIu64 " replays on %s, %" PRIu64 " verified, %" PRIu64
		" could not be\n",
		program.counts[GAME_REPLAY], device,
		program.counts[GAME_VERIFIED], program.counts[GAME_UNVERIFIED]);
	if (!alone)
		cr_assert_geq(program.counts[GAME_VERIFIED], 100 * n);
}

Test(runner_verify_random, programs_are_what_they_are_on_host_sync,
     .timeout = 3600)
{
	play_verified(named_device() ? named_device() : "host:sync", 2001);
}

Test(runner_verify_random, programs_are_what_they_are_on_host, .timeout = 3600)
{
	play_verified(named_device() ? named_device() : "host", 3001);
}
