/*
 * tests/tools/train/runner.c - the run of `philox train` whose layers are calls
 * of a runner's functions
 *
 * It gives the bits of the eager run, most of its calls are replays, it
 * releases what it is given, and what is broken on purpose is seen.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/train/train.h"

#define TEXT  2000
#define STEPS 8

static uint8_t symbols[TEXT];
static const struct train_text text = {
	.symbols = symbols, .size = TEXT, .vocabulary = 37, .entropy = 3};
static struct train_options options;
static struct train_model model;
static char logged[512]; /* the first message that is no event */

static void keep_warning(void *user, const struct philox_log_entry *entry)
{
	(void)user;
	if (entry->level != PHILOX_LOG_INFO && !*logged)
		snprintf(logged, sizeof(logged), "%s: %s", entry->event,
			 entry->text);
}

static void open_with(const char *device, uint64_t ops, const char *pool,
		      int kind, uint64_t steps)
{
	options = (struct train_options){.device = device,
					 .steps = steps,
					 .seed = 1,
					 .dropout = 0.25,
					 .ops = ops,
					 .runner = 1,
					 .pool_given = pool,
					 .pool = kind};
	for (size_t i = 0; i < TEXT; i++)
		symbols[i] = (uint8_t)(i * i / 7 % text.vocabulary);
	model = (struct train_model){.options = &options, .text = &text};
	train_model_open(&model);
	cr_assert_eq(model.status, PHILOX_OK, "%s", model.message);
	*logged = '\0';
	philox_context_set_log(model.context, keep_warning, NULL);
}

static void close_model(void)
{
	train_model_close(&model);
	cr_expect_eq(model.status, PHILOX_OK, "%s", model.message);
}

static struct train_result run(enum train_schedule schedule, float *losses)
{
	struct train_result result = {.losses = losses};

	train_run(&model, schedule, &result);
	return result;
}

/* --- the same bits -------------------------------------------------------- */

static float eager_losses[STEPS * TRAIN_SLOTS];
static float called_losses[STEPS * TRAIN_SLOTS];

static void expect_same(const struct train_result *eager,
			const struct train_result *called)
{
	cr_expect_arr_eq(eager_losses, called_losses, sizeof(eager_losses));
	cr_expect_eq(called->loss_checksum, eager->loss_checksum);
	cr_expect_eq(called->parameter_checksum, eager->parameter_checksum);
	cr_expect_eq(called->extra_checksum, eager->extra_checksum);
	cr_expect(called->extra_paired && called->retained_same);
}

static struct train_result same_bits(const char *device, uint64_t ops,
				     const char *pool, int kind, uint64_t steps)
{
	struct train_result eager, called;

	open_with(device, ops, pool, kind, steps);
	eager = run(TRAIN_EAGER, eager_losses);
	called = run(TRAIN_RUNNER, called_losses);
	cr_assert_eq(model.status, PHILOX_OK, "%s, %d operators: %s", device,
		     (int)ops, model.message);
	expect_same(&eager, &called);
	cr_expect_str_empty(logged);
	for (uint64_t i = 0; i < steps * TRAIN_SLOTS; i++)
		cr_expect(isfinite(called_losses[i]), "loss %d", (int)i);
	return called;
}

static const char *const devices[] = {"host", "host:sync", "host:strict"};
#define DEVICES 3

Test(train_runner, calls_of_functions_give_the_bits_of_the_eager_run)
{
	for (int i = 0; i < DEVICES; i++) {
		same_bits(devices[i], 0, NULL, 0, STEPS);
		close_model();
		same_bits(devices[i], 5, NULL, 0, STEPS);
		close_model();
	}
}

Test(train_runner, a_pool_of_either_kind_changes_no_bit)
{
	for (int kind = TRAIN_POOL_PLAIN; kind <= TRAIN_POOL_EXPANDABLE;
	     kind++) {
		struct train_result called =
			same_bits("host", 2, "given", kind, STEPS);

		cr_expect_gt(called.pool.allocations, 0);
		cr_expect_lt(called.pool.live_peak, model.arrays_size);
		close_model();
	}
}

Test(train_runner, two_runs_are_alike_and_change_no_other)
{
	struct train_result eager, called;

	open_with("host:sync", 1, NULL, 0, STEPS);
	train_try(&model, TRAIN_RUNNER);
	eager = run(TRAIN_EAGER, eager_losses);
	for (int i = 0; i < 2; i++) {
		called = run(TRAIN_RUNNER, called_losses);
		expect_same(&eager, &called);
	}
	called = run(TRAIN_EAGER, called_losses);
	expect_same(&eager, &called);
	cr_expect(!called.called && !called.all_counts.replays);
	close_model();
}

/* --- how calls are executed ----------------------------------------------- */

static uint64_t sum_of(const struct train_counts *counts)
{
	return counts->eager + counts->warmups + counts->recordings +
	       counts->replays;
}

/* In every second step one backward comes twice. */
Test(train_runner, each_function_is_called_for_all_its_layers)
{
	static const uint64_t expected[TRAIN_FUNCTIONS] = {
		[TRAIN_CALL_EXTRA] = STEPS,
		[TRAIN_CALL_INPUT] = STEPS * TRAIN_SLOTS,
		[TRAIN_CALL_HIDDEN] = STEPS * TRAIN_SLOTS * (TRAIN_DEPTH - 1),
		[TRAIN_CALL_LOSS] = STEPS * TRAIN_SLOTS,
		[TRAIN_CALL_LAYER] =
			(STEPS * TRAIN_SLOTS + STEPS / 2) * TRAIN_DEPTH,
		[TRAIN_CALL_EMBEDDING] = STEPS * TRAIN_SLOTS + STEPS / 2,
		[TRAIN_CALL_EXTRA_AGAIN] = STEPS,
		[TRAIN_CALL_UPDATE] = STEPS * TRAIN_SETS,
		[TRAIN_CALL_FINISH] = STEPS};
	struct train_result called = same_bits("host:sync", 1, NULL, 0, STEPS);

	for (int id = 0; id < TRAIN_FUNCTIONS; id++) {
		const struct train_counts *counts = &called.counts[id];

		cr_expect_eq(sum_of(counts), expected[id], "%s", counts->name);
		cr_expect_eq(counts->eager, 0, "%s", counts->name);
		cr_expect_gt(counts->replays, counts->warmups, "%s",
			     counts->name);
	}
	cr_expect_eq(called.replays, called.all_counts.replays);
	cr_expect_eq(called.pending, TRAIN_SLOTS * TRAIN_DEPTH + 1);
	close_model();
}

/* Memory that was not released would need recordings without end. */
Test(train_runner, after_four_steps_all_calls_are_replays)
{
	struct train_counts few, many;

	for (int i = 0; i < DEVICES; i++) {
		few = same_bits(devices[i], 1, NULL, 0, 4).all_counts;
		close_model();
		many = same_bits(devices[i], 1, NULL, 0, STEPS).all_counts;
		close_model();
		cr_expect_eq(many.recordings, few.recordings, "%s", devices[i]);
		cr_expect_eq(many.warmups, few.warmups, "%s", devices[i]);
		cr_expect_eq(sum_of(&many) - sum_of(&few),
			     many.replays - few.replays, "%s", devices[i]);
	}
}

Test(train_runner, what_replays_nothing_says_why)
{
	struct train_result called;

	setenv("PHILOX_RUNNER", "eager", 1);
	called = same_bits("host:sync", 0, NULL, 0, STEPS);
	unsetenv("PHILOX_RUNNER");
	cr_expect(called.called);
	cr_expect_eq(called.replays, 0);
	cr_expect_eq(called.all_counts.eager, sum_of(&called.all_counts));
	cr_expect(strstr(called.not_replayed, "PHILOX_RUNNER is 'eager'") &&
			  strstr(called.not_replayed, "'input'"),
		  "%s", called.not_replayed);
	close_model();
}

Test(train_runner, what_the_environment_has_wrong_is_an_error)
{
	open_with("host:sync", 0, NULL, 0, STEPS);
	setenv("PHILOX_RUNNER", "often", 1);
	train_try(&model, TRAIN_RUNNER);
	unsetenv("PHILOX_RUNNER");
	cr_expect_eq(model.status, PHILOX_ERROR_INVALID);
	cr_expect(strstr(model.message, "'often'"), "%s", model.message);
	train_model_close(&model);
}

/* --- broken runs ---------------------------------------------------------- */

static const char *(*kernel)(struct train_backend *backend,
			     philox_stream stream, enum train_kernel kernel,
			     const void *args, size_t size, size_t count);
static int seen, fails_at; /* kernels of the run */
static size_t compared;

/* Where a body should have read a value of its call. */
static const uint64_t always_0;
static const struct train_rates no_rates;
static int frozen_step, frozen_rates;

static const char *broken_kernel(struct train_backend *backend,
				 philox_stream stream, enum train_kernel which,
				 const void *args, size_t size, size_t count)
{
	struct train_adamw adamw;
	struct train_finish finish;

	if (seen++ == fails_at)
		return "a kernel failed";
	if (which == TRAIN_compare)
		compared += count;
	if (which == TRAIN_finish && frozen_step) {
		memcpy(&finish, args, sizeof(finish));
		finish.step = &always_0;
		return kernel(backend, stream, which, &finish, size, count);
	}
	if (which == TRAIN_adamw && frozen_rates) {
		memcpy(&adamw, args, sizeof(adamw));
		adamw.rates_at = &no_rates;
		return kernel(backend, stream, which, &adamw, size, count);
	}
	return kernel(backend, stream, which, args, size, count);
}

static void hook_kernels(int fail)
{
	kernel = model.backend->kernel;
	model.backend->kernel = broken_kernel;
	seen = 0;
	fails_at = fail;
	compared = 0;
}

static void losses_differ(int *broken)
{
	open_with("host:sync", 0, NULL, 0, STEPS);
	run(TRAIN_EAGER, eager_losses);
	hook_kernels(-1);
	*broken = 1;
	run(TRAIN_RUNNER, called_losses);
	*broken = 0;
	cr_expect_eq(model.status, PHILOX_OK, "%s", model.message);
	cr_expect_arr_neq(eager_losses, called_losses, sizeof(eager_losses));
	train_model_close(&model);
}

Test(train_runner, a_step_that_is_not_the_call_s_gives_other_losses)
{
	losses_differ(&frozen_step);
}

Test(train_runner, rates_that_are_not_the_call_s_give_other_losses)
{
	losses_differ(&frozen_rates);
}

/* A graph's kernels do not come by here: two steps, and one is captured. */
Test(train_runner, gradients_of_a_backward_that_comes_twice_are_compared)
{
	open_with("host:sync", 0, NULL, 0, STEPS);
	hook_kernels(-1);
	cr_expect(run(TRAIN_RUNNER, called_losses).retained_same);
	cr_expect_eq(compared, STEPS / 2 * model.n_parameters);
	close_model();
}

/* In a warm-up or while it is recorded: nothing stays open, nothing is lost. */
Test(train_runner, a_kernel_that_fails_ends_the_run)
{
	int kernels;

	open_with("host:sync", 1, NULL, 0, 2);
	hook_kernels(-1);
	run(TRAIN_RUNNER, called_losses);
	kernels = seen;
	close_model();
	cr_expect_gt(kernels, 100);
	for (int at = 0; at < kernels; at++) {
		open_with("host:sync", 1, NULL, 0, 2);
		hook_kernels(at);
		run(TRAIN_RUNNER, called_losses);
		cr_expect_neq(model.status, PHILOX_OK, "kernel %d", at);
		cr_expect_str_eq(model.message, "a kernel failed", "kernel %d",
				 at);
		cr_expect_null(model.runner);
		train_model_close(&model);
	}
}

/* --- the kernels that changed for it -------------------------------------- */

Test(train_runner, gradients_are_reduced_wherever_they_are)
{
	const float parts[TRAIN_SLOTS][2] = {
		{1, 10}, {2, 20}, {3, 30}, {6, 60}};
	float mean[2] = {0};
	struct train_reduce args = {
		.parts = {parts[2], parts[0], parts[3], parts[1]}, .out = mean};

	for (size_t i = 0; i < 2; i++)
		train_reduce(&args, i);
	cr_expect_eq(mean[0], 3);
	cr_expect_eq(mean[1], 30);
}

Test(train_runner, rates_come_by_value_or_from_memory)
{
	const struct train_clock clock = train_clock_start();
	const struct train_rates rates = {0.5f, 0.25f};
	const float gradient = 2;
	float x[2] = {1, 1}, m[2] = {0}, v[2] = {0};

	for (int i = 0; i < 2; i++) {
		struct train_adamw args = {.parameters = &x[i],
					   .gradient = &gradient,
					   .first = &m[i],
					   .second = &v[i],
					   .clock = &clock};

		if (i)
			args.rates_at = &rates;
		else
			args.rates = rates;
		train_adamw(&args, 0);
	}
	cr_expect_eq(x[0], x[1]);
	cr_expect_float_eq(x[0], 1 - 0.5f * (1 + 0.25f), 1e-5);
}

Test(train_runner, losses_go_to_the_row_of_the_step)
{
	struct train_clock clock = train_clock_start();
	const float losses[TRAIN_SLOTS] = {1, 2, 3, 4};
	float history[2 * TRAIN_SLOTS] = {0};
	uint64_t step = 1;
	struct train_finish args = {&clock, &step, losses, history, 2};

	train_finish(&args, 0);
	cr_expect_eq(history[0], 0);
	cr_expect_arr_eq(history + TRAIN_SLOTS, losses, sizeof(losses));
	cr_expect_eq(clock.step, 1);
	step = UINT64_MAX; /* of a launch that philox was not told about */
	train_finish(&args, 0);
	cr_expect_eq(clock.step, 1);
	cr_expect_eq(history[0], 0);
}
