/*
 * tests/tools/train/loop.c - the run of `philox train` whose micro-batches are
 * a loop of the graph
 *
 * It gives the bits of the eager run, and loops that are broken on purpose do
 * not: their kernel is changed on its way to the device.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>
#include "tools/train/train.h"

#define TEXT  2000
#define STEPS 3

static uint8_t symbols[TEXT];
static const struct train_text text = {
	.symbols = symbols, .size = TEXT, .vocabulary = 37, .entropy = 3};
static struct train_options options;
static struct train_model model;

static void open_with(const char *device, uint64_t ops, const char *pool,
		      int kind)
{
	options = (struct train_options){.device = device,
					 .steps = STEPS,
					 .seed = 1,
					 .dropout = 0.25,
					 .ops = ops,
					 .loop = 1,
					 .pool_given = pool,
					 .pool = kind};
	for (size_t i = 0; i < TEXT; i++)
		symbols[i] = (uint8_t)(i * i / 7 % text.vocabulary);
	model = (struct train_model){.options = &options, .text = &text};
	train_model_open(&model);
	cr_assert_eq(model.status, PHILOX_OK, "%s", model.message);
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
static float looped_losses[STEPS * TRAIN_SLOTS];

static void expect_same(const struct train_result *eager,
			const struct train_result *looped)
{
	cr_expect_arr_eq(eager_losses, looped_losses, sizeof(eager_losses));
	cr_expect_eq(looped->loss_checksum, eager->loss_checksum);
	cr_expect_eq(looped->parameter_checksum, eager->parameter_checksum);
	cr_expect_eq(looped->extra_checksum, eager->extra_checksum);
	cr_expect(looped->extra_paired && looped->retained_same);
}

static struct train_result same_bits(const char *device, uint64_t ops,
				     const char *pool, int kind)
{
	struct train_result eager, looped;

	open_with(device, ops, pool, kind);
	eager = run(TRAIN_EAGER, eager_losses);
	looped = run(TRAIN_LOOPED, looped_losses);
	cr_assert_eq(model.status, PHILOX_OK, "%s, %d operators: %s", device,
		     (int)ops, model.message);
	expect_same(&eager, &looped);
	for (int i = 0; i < STEPS * TRAIN_SLOTS; i++)
		cr_expect(isfinite(looped_losses[i]), "loss %d", i);
	return looped;
}

static const char *const devices[] = {"host", "host:sync", "host:strict"};
#define DEVICES 3

Test(train_loop, a_loop_of_the_graph_gives_the_bits_of_the_eager_run)
{
	for (int i = 0; i < DEVICES; i++) {
		same_bits(devices[i], 0, NULL, 0);
		close_model();
		same_bits(devices[i], 5, NULL, 0);
		close_model();
	}
}

Test(train_loop, a_pool_changes_no_bit_of_a_loop)
{
	for (int i = 0; i < DEVICES; i++)
		for (int kind = TRAIN_POOL_PLAIN; kind <= TRAIN_POOL_EXPANDABLE;
		     kind++) {
			struct train_result looped =
				same_bits(devices[i], 2, "given", kind);

			cr_expect_gt(looped.pool.allocations, 0);
			cr_expect_eq(looped.pool.blocks, 0);
			cr_expect_lt(looped.pool.live_peak, model.arrays_size);
			close_model();
		}
}

/*
 * One graph, updated once for each step. Outside of the loop it has its head
 * more, and the kernel with which the loop begins.
 */
Test(train_loop, a_step_is_one_launch_of_one_graph)
{
	struct train_result looped = same_bits("host:sync", 5, NULL, 0);

	cr_expect_eq(looped.graphs, 1);
	cr_expect_eq(looped.passes, 2 * (TRAIN_DEPTH + 1));
	cr_expect_eq(looped.replays, STEPS);
	cr_expect_eq(looped.nodes_added[0], 2);
	cr_expect_eq(looped.nodes_added[1], 2);
	cr_expect_eq(looped.calls[1].all, 3);
	cr_expect_eq(looped.calls[1].launch, 1);
	cr_expect_eq(looped.calls[1].set_kernel, 1);
	close_model();
}

Test(train_loop, trying_a_run_changes_no_other)
{
	struct train_result eager, looped;

	open_with("host:sync", 1, NULL, 0);
	eager = run(TRAIN_EAGER, eager_losses);
	train_try(&model, TRAIN_LOOPED);
	looped = run(TRAIN_LOOPED, looped_losses);
	expect_same(&eager, &looped);
	close_model();
}

/* --- broken loops --------------------------------------------------------- */

static const char *(*kernel)(struct train_backend *backend,
			     philox_stream stream, enum train_kernel kernel,
			     const void *args, size_t size, size_t count);
static void (*break_loop)(struct train_place *args, philox_stream stream);

/* Runs in the backend's place: the kernel that ends a micro-batch is changed. */
static const char *broken_kernel(struct train_backend *backend,
				 philox_stream stream, enum train_kernel which,
				 const void *args, size_t size, size_t count)
{
	struct train_place place;

	if (which != TRAIN_place || model.baked)
		return kernel(backend, stream, which, args, size, count);
	memcpy(&place, args, sizeof(place));
	break_loop(&place, stream);
	return kernel(backend, stream, which, &place, sizeof(place), count);
}

static struct train_result run_broken(void (*how)(struct train_place *,
						  philox_stream))
{
	open_with("host:sync", 0, NULL, 0);
	run(TRAIN_EAGER, eager_losses);
	cr_assert_eq(model.status, PHILOX_OK, "%s", model.message);
	break_loop = how;
	kernel = model.backend->kernel;
	model.backend->kernel = broken_kernel;
	return run(TRAIN_LOOPED, looped_losses);
}

static const uint32_t always_0;
static uint32_t other_word;
static struct train_micro other_micro;

static void iteration_0(struct train_place *args, philox_stream stream)
{
	(void)stream;
	args->iteration = &always_0;
}

static void go_on(const void *args)
{
	struct train_micro *const *micro = args;

	(*micro)->more = 1;
}

static void more_goes_elsewhere(struct train_place *args, philox_stream stream)
{
	cr_expect_eq(philox_stream_launch_host(model.device, stream, go_on,
					       &args->micro,
					       sizeof(args->micro)),
		     PHILOX_OK);
	args->micro = &other_micro;
}

/* A loop that would not end is ended, and does not pass for a run. */
static void is_reported(void (*how)(struct train_place *, philox_stream))
{
	run_broken(how);
	cr_expect_neq(model.status, PHILOX_OK);
	train_model_close(&model);
}

Test(train_loop, a_loop_that_does_not_count_ends_and_is_reported)
{
	is_reported(iteration_0);
}

Test(train_loop, a_loop_that_always_goes_on_ends_and_is_reported)
{
	is_reported(more_goes_elsewhere);
}

/* other_word = the iteration that is put in place of another one */
static void turn(const void *args)
{
	const uint32_t *const *iteration = args;

	other_word = (**iteration + 1) % TRAIN_SLOTS;
}

static void stop(const void *args)
{
	(void)args;
	other_word = TRAIN_SLOTS - 1;
}

static void at_the_next_place(struct train_place *args, philox_stream stream)
{
	cr_expect_eq(philox_stream_launch_host(model.device, stream, turn,
					       &args->iteration,
					       sizeof(args->iteration)),
		     PHILOX_OK);
	args->iteration = &other_word;
}

static void at_the_last_place(struct train_place *args, philox_stream stream)
{
	cr_expect_eq(philox_stream_launch_host(model.device, stream, stop, args,
					       sizeof(*args)),
		     PHILOX_OK);
	args->iteration = &other_word;
}

static void losses_differ(void (*how)(struct train_place *, philox_stream))
{
	run_broken(how);
	cr_expect_eq(model.status, PHILOX_OK, "%s", model.message);
	cr_expect_arr_neq(eager_losses, looped_losses, sizeof(eager_losses));
	train_model_close(&model);
}

Test(train_loop, a_loop_that_counts_from_1_gives_other_losses)
{
	losses_differ(at_the_next_place);
}

Test(train_loop, a_loop_that_runs_once_gives_other_losses)
{
	losses_differ(at_the_last_place);
}

/* --- the kernel at the end of a micro-batch ------------------------------- */

static uint32_t place(uint32_t iteration, float *gradients, float *losses)
{
	static const float gradient[2] = {5, 6};
	struct train_micro micro = {.loss = 7, .more = 99};
	struct train_place args = {&iteration, gradient, &micro,
				   gradients,  2,        losses};

	for (size_t i = 0; i < 2; i++)
		train_place(&args, i);
	cr_expect_eq(micro.loss, 7);
	return micro.more;
}

Test(train_loop, a_micro_batch_goes_to_the_place_of_its_iteration)
{
	for (uint32_t slot = 0; slot < TRAIN_SLOTS; slot++) {
		float gradients[2 * TRAIN_SLOTS] = {0};
		float losses[TRAIN_SLOTS] = {0};

		cr_expect_eq(place(slot, gradients, losses),
			     slot < TRAIN_SLOTS - 1);
		for (uint32_t i = 0; i < TRAIN_SLOTS; i++) {
			float here = i == slot ? 1 : 0;

			cr_expect_eq(gradients[2 * i], 5 * here);
			cr_expect_eq(gradients[2 * i + 1], 6 * here);
			cr_expect_eq(losses[i], 7 * here);
		}
	}
}

/* As in runs beyond the limit and in launches that philox was not told about */
Test(train_loop, an_iteration_that_there_is_not_writes_nothing)
{
	static const uint32_t past[] = {TRAIN_SLOTS, TRAIN_SLOTS + 1,
					UINT32_MAX - 1, UINT32_MAX};

	for (size_t i = 0; i < sizeof(past) / sizeof(*past); i++) {
		float gradients[2 * TRAIN_SLOTS] = {0}, zeros[8] = {0};
		float losses[TRAIN_SLOTS] = {0};

		cr_expect_eq(place(past[i], gradients, losses), 0);
		cr_expect_arr_eq(gradients, zeros, sizeof(gradients));
		cr_expect_arr_eq(losses, zeros, sizeof(losses));
	}
}
