/*
 * tools/bench/runner/verify.c - replays that are verified
 *
 * One body is called by three functions of a runner: one that is never
 * recorded, one that is replayed, and one whose replays are all verified. A
 * verified call waits for the device, so all calls are waited for. The body
 * draws a dropout into an output, and another one into an input that it
 * mutates.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include "tools/bench/bench.h"
#include "tools/bench/runner/runner.h"
#include "tools/cli/cli.h"

#define MIB    ((double)(1 << 20))
#define SIZE   ((size_t)4 << 20) /* bytes of each input, and of the output */
#define COUNT  (SIZE / sizeof(float))
#define BUDGET 1.5e9 /* nanoseconds of the race, about */

/* What a host device may have while its memory is counted: more than it has. */
#define PLENTY ((size_t)1 << 46)

/*
 * A verified call has an output of its own, and the mutated input as it was
 * and as the body makes it.
 */
#define COPIES 3

/*
 * A comparison reads two arrays: its limit is a copy, which reads one and
 * writes another. The output and the mutated input are compared.
 */
#define COMPARED 2

enum { EAGER, REPLAY, VERIFIED, FUNCTIONS, COPY = FUNCTIONS, RACERS };
static const char *const figures[] = {"eager", "replay", "verified", "memory"};

#define MEMORY    3
#define N_FIGURES 4

/* Places of arrays in the memory. */
enum { X, MUTATED, TARGET, ARRAYS };

struct verified {
	struct bench *bench;
	struct runner_parts parts;
	struct philox_function *functions[FUNCTIONS];
	char *memory;
	double times[RACERS]; /* nanoseconds */
	double bytes;         /* that the first verified call took */
};

/* --- the body ------------------------------------------------------------- */

static enum philox_status drop_into(struct philox_pass *pass, const void *x,
				    void *output, void *mutated)
{
	const struct philox_span span = {.count = COUNT};
	enum philox_status status = philox_pass_dropout(
		pass, 0, PHILOX_DTYPE_F32, span, 0.1, x, output);

	if (status == PHILOX_OK)
		status = philox_pass_dropout(pass, 1, PHILOX_DTYPE_F32, span,
					     0.1, x, mutated);
	return status == PHILOX_OK ? philox_pass_commit(pass, 0, NULL) : status;
}

static enum philox_status run_dropouts(void *user, struct philox_run *run)
{
	const struct verified *of = user;
	void *x, *mutated, *output;
	struct philox_pass pass;
	enum philox_status status = philox_run_input(run, X, &x, NULL);

	if (status == PHILOX_OK)
		status = philox_run_input(run, MUTATED, &mutated, NULL);
	if (status == PHILOX_OK)
		status = philox_run_alloc(run, SIZE, 0, "output", &output);
	if (status == PHILOX_OK)
		status = philox_run_output(run, 0, output, SIZE);
	if (status == PHILOX_OK)
		status = philox_run_forward_begin(run, of->parts.region,
						  PHILOX_PASS_INFERENCE, &pass);
	return status == PHILOX_OK ? drop_into(&pass, x, output, mutated)
				   : status;
}

/* --- calls ---------------------------------------------------------------- */

static enum philox_status call_dropouts(const struct verified *of, int which,
					uint32_t *kind)
{
	const struct philox_call_input inputs[] = {
		{.address = of->memory, .bytes = SIZE},
		{.address = of->memory + MUTATED * SIZE, .bytes = SIZE}};
	struct philox_launch_pass use = {0};
	struct philox_output output;
	struct philox_call call = {.size = sizeof(call),
				   .stream = of->bench->stream,
				   .inputs = inputs,
				   .n_inputs = 2,
				   .passes = &use,
				   .n_passes = 1,
				   .outputs = &output,
				   .n_outputs = 1};
	enum philox_status status =
		philox_function_call(of->functions[which], &call);

	*kind = call.kind;
	if (status == PHILOX_OK)
		status = philox_output_release(of->parts.runner,
					       of->bench->stream, &output);
	return status == PHILOX_OK ? bench_wait(of->bench) : status;
}

static enum philox_status expect_dropouts(const struct verified *of, int which,
					  uint32_t expected)
{
	uint32_t kind;
	enum philox_status status = call_dropouts(of, which, &kind);

	if (status != PHILOX_OK || kind == expected)
		return status;
	return runner_call_differs(of->functions[which], kind, expected);
}

/* --- made ----------------------------------------------------------------- */

static int make_verified_function(struct verified *of, int which)
{
	static const struct philox_input_desc inputs[] = {
		{.name = "x"},
		{.name = "mutated", .flags = PHILOX_INPUT_MUTATED}};
	static const struct philox_output_desc output = {.name = "y"};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);

	options.name = figures[which];
	options.mode = PHILOX_MODE_INFERENCE;
	options.flags = which == EAGER ? PHILOX_FUNCTION_EAGER : 0;
	options.body = run_dropouts;
	options.user = of;
	options.inputs = inputs;
	options.n_inputs = 2;
	options.outputs = &output;
	options.n_outputs = 1;
	options.policy.warmups = PHILOX_NEVER;
	options.policy.verify = which == VERIFIED;
	return bench_try("function",
			 philox_function_create(of->parts.runner, &options,
						&of->functions[which]));
}

static int make_verified(struct verified *of)
{
	void *memory;

	if (bench_try("memory", philox_memory_alloc(of->bench->device,
						    ARRAYS * SIZE, &memory)))
		return -1;
	of->memory = memory;
	for (int i = 0; i < FUNCTIONS; i++)
		if (make_verified_function(of, i))
			return -1;
	/* floats of about 0.7 */
	return bench_try("memory",
			 philox_memory_set(of->bench->device, of->bench->stream,
					   memory, 0x3f, ARRAYS * SIZE));
}

/* --- memory --------------------------------------------------------------- */

/*
 * The second pool is the runner's own, and what it maps stays mapped: so this
 * is what the device has less after the first verified call. That is all of the
 * copies, and the pool's smallest piece for the places of differences. On a GPU
 * other programs use the memory, too.
 */
static enum philox_status measure_verified_memory(struct verified *of)
{
	struct philox_device *device = of->bench->device;
	size_t before = 0, after = 0;
	enum philox_status status =
		philox_device_memory_info(device, &before, NULL);

	if (status == PHILOX_OK)
		status = expect_dropouts(of, VERIFIED, PHILOX_CALL_REPLAY);
	if (status == PHILOX_OK)
		status = philox_device_memory_info(device, &after, NULL);
	of->bytes = (double)before - (double)after;
	return status;
}

/* A host device counts what it has given only while it has a limit. */
static enum philox_status count_verified_memory(struct verified *of)
{
	struct philox_device *device = of->bench->device;
	const int is_host = philox_device_is_host(device);
	enum philox_status status =
		is_host ? philox_device_limit_memory(device, PLENTY)
			: PHILOX_OK;

	if (status == PHILOX_OK)
		status = measure_verified_memory(of);
	if (is_host)
		philox_device_limit_memory(device, 0);
	return status;
}

/* Until every function is called as it will be in the race. */
static int record_verified(struct verified *of)
{
	return bench_try("eager",
			 expect_dropouts(of, EAGER, PHILOX_CALL_EAGER)) ||
			       bench_try("recording",
					 expect_dropouts(of, REPLAY,
							 PHILOX_CALL_RECORD)) ||
			       bench_try("replay",
					 expect_dropouts(of, REPLAY,
							 PHILOX_CALL_REPLAY)) ||
			       bench_try("recording",
					 expect_dropouts(of, VERIFIED,
							 PHILOX_CALL_RECORD)) ||
			       bench_try("verified replay",
					 count_verified_memory(of))
		       ? -1
		       : 0;
}

/* --- times ---------------------------------------------------------------- */

static enum philox_status call_eager(void *of)
{
	uint32_t kind;

	return call_dropouts(of, EAGER, &kind);
}

static enum philox_status call_replay(void *of)
{
	uint32_t kind;

	return call_dropouts(of, REPLAY, &kind);
}

static enum philox_status call_verified(void *of)
{
	uint32_t kind;

	return call_dropouts(of, VERIFIED, &kind);
}

static enum philox_status copy_once(void *user)
{
	const struct verified *of = user;

	return philox_memory_copy(of->bench->device, of->bench->stream,
				  of->memory + TARGET * SIZE, of->memory, SIZE);
}

/* The work of a racer, one of those of a struct verified. */
struct dropouts {
	struct verified *of;
	enum philox_status (*work)(void *of);
};

static int race_dropouts(struct racer *racer, int times, struct race_time *time)
{
	const struct dropouts *dropouts = racer->of;
	const struct bench *bench = dropouts->of->bench;

	return race_note(racer, race_repeat(bench, times, dropouts->work,
					    dropouts->of, time));
}

static int race_verified_calls(struct verified *of)
{
	struct dropouts runs[RACERS] = {[EAGER] = {of, call_eager},
					[REPLAY] = {of, call_replay},
					[VERIFIED] = {of, call_verified},
					[COPY] = {of, copy_once}};
	struct racer racers[RACERS];

	for (int i = 0; i < RACERS; i++)
		racers[i] =
			(struct racer){.name = i == COPY ? "copy" : figures[i],
				       .run = race_dropouts,
				       .of = &runs[i]};
	race(racers, RACERS, of->bench->quick ? 0 : BUDGET);
	for (int i = 0; i < RACERS; i++)
		of->times[i] = racers[i].median.whole;
	return race_failed(racers, RACERS);
}

/* Were all replays verified, or none, as the function says? */
static int check_counts(const struct verified *of, int which)
{
	struct philox_function_stats found =
		PHILOX_INIT(struct philox_function_stats);

	if (bench_try("count",
		      philox_function_get_stats(of->functions[which], &found)))
		return -1;
	if (found.verified == (which == VERIFIED ? found.replay : 0) &&
	    (which == EAGER || found.eager + found.warmup == 0))
		return 0;
	complain("bench",
		 "%s: of %" PRIu64 " replays %" PRIu64
		 " were verified, beside %" PRIu64 " eager calls",
		 figures[which], found.replay, found.verified,
		 found.eager + found.warmup);
	return -1;
}

/* --- rows ----------------------------------------------------------------- */

static const char *verified_name(int figure)
{
	return bench_name("runner/verify/%s", figures[figure]);
}

static void print_verified_time(const struct verified *of, int which,
				const char *peer, double peer_value)
{
	bench_print_wanted(of->bench,
			   &(struct bench_row){.name = verified_name(which),
					       .value = of->times[which] / 1e3,
					       .unit = "us",
					       .peer = peer,
					       .peer_value = peer_value / 1e3});
}

/* A GPU that other programs use may have more free memory than before. */
static void print_verified_memory(const struct verified *of)
{
	bench_print_wanted(
		of->bench,
		&(struct bench_row){
			.name = verified_name(MEMORY),
			.value = of->bytes > 0 ? of->bytes / MIB : NAN,
			.unit = "MiB",
			.peer = "copies",
			.peer_value = of->bytes > 0 ? COPIES * SIZE / MIB : NAN,
			.note = of->bytes > 0 ? NULL
					      : "the device does not "
						"have less than before"});
}

static void print_verified(const struct verified *of)
{
	const double *times = of->times;

	print_verified_time(of, EAGER, NULL, 0);
	print_verified_time(of, REPLAY, "eager", times[EAGER]);
	print_verified_time(of, VERIFIED, "replay", times[REPLAY]);
	print_verified_time(of, VERIFIED, "aim",
			    times[REPLAY] + times[EAGER] +
				    COMPARED * times[COPY]);
	print_verified_memory(of);
}

/* --- the group ------------------------------------------------------------ */

static size_t verified_steps(const struct bench *bench)
{
	for (int i = 0; i < N_FIGURES; i++)
		if (bench_wants(bench, verified_name(i)))
			return 3;
	return 0;
}

static int measure_verified(struct verified *of)
{
	if (make_verified(of) || record_verified(of) || race_verified_calls(of))
		return -1;
	for (int i = 0; i < FUNCTIONS; i++)
		if (check_counts(of, i))
			return -1;
	print_verified(of);
	return 0;
}

static int run_verified(struct bench *bench)
{
	struct verified of = {.bench = bench};
	int failed;

	for (size_t i = 0; i < 3; i++)
		bench_step(bench);
	failed = runner_parts_make(&of.parts, bench) || measure_verified(&of);
	runner_parts_clean(&of.parts);
	philox_memory_free(bench->device, of.memory);
	return failed ? -1 : 0;
}

const struct bench_group runner_verified = {.run = run_verified,
					    .steps = verified_steps};
