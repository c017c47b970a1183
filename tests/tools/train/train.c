/*
 * tests/tools/train/train.c - the training of `philox train` is right
 *
 * tests/scripts/tool/train.sh checks that its runs agree; here, that their
 * results are right: matrix products, and gradients with dropout in them.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "tools/train/train.h"

#define ROWS    32
#define COLUMNS 24
#define DEPTH   20

static float left[ROWS * DEPTH] __attribute__((aligned(16)));
static float right[DEPTH * COLUMNS] __attribute__((aligned(16)));
static float out[ROWS * COLUMNS] __attribute__((aligned(16)));

static void fill(float *x, size_t count, uint64_t seed)
{
	for (size_t i = 0; i < count; i++) {
		struct philox_words block = philox_block(seed, i, 0);

		x[i] = (float)block.w[0] * 0x1p-32f - 0.5f;
	}
}

/* An element of the product, in the order of its definition. */
static double element(enum train_form form, size_t i, size_t j)
{
	double sum = 0;

	for (size_t k = 0; k < DEPTH; k++) {
		float l = left[form == TRAIN_LEFT_TURN ? k * ROWS + i
						       : i * DEPTH + k];
		float r = right[form == TRAIN_RIGHT_TURN ? j * DEPTH + k
							 : k * COLUMNS + j];

		sum += (double)l * (double)r;
	}
	return sum;
}

static double largest_error(struct train_backend *backend, enum train_form form)
{
	struct train_product product = {form, ROWS,  COLUMNS, DEPTH,
					left, right, out};
	double largest = 0;

	cr_assert_null(backend->product(backend, NULL, &product));
	for (size_t i = 0; i < ROWS; i++)
		for (size_t j = 0; j < COLUMNS; j++)
			largest = fmax(largest,
				       fabs((double)out[i * COLUMNS + j] -
					    element(form, i, j)));
	return largest;
}

Test(train, matrix_products_are_their_definition)
{
	struct train_backend *backend;
	struct philox_device *device;
	char message[256];

	cr_assert_eq(philox_device_open("host:sync", &device), PHILOX_OK);
	backend = train_host_open(device, NULL, message, sizeof(message));
	cr_assert_not_null(backend);
	fill(left, ROWS * DEPTH, 1);
	fill(right, DEPTH * COLUMNS, 2);
	for (int form = TRAIN_PLAIN; form <= TRAIN_RIGHT_TURN; form++)
		cr_expect_lt(largest_error(backend, (enum train_form)form),
			     1e-5, "form %d", form);
	backend->close(backend);
	philox_device_close(device);
}

/* --- gradients ------------------------------------------------------------ */

#define SLOT  1
#define TEXT  2000
#define PARTS (1 + 2 * TRAIN_DEPTH)

static struct train_options options = {
	.device = "host:sync", .steps = 1, .seed = 1, .dropout = 0.25};
static uint8_t symbols[TEXT];
static const struct train_text text = {
	.symbols = symbols, .size = TEXT, .vocabulary = 37, .entropy = 3};
static struct train_model model = {.options = &options, .text = &text};

static void open_model(void)
{
	for (size_t i = 0; i < TEXT; i++)
		symbols[i] = (uint8_t)(i * i / 7 % text.vocabulary);
	train_model_open(&model);
	train_model_start(&model);
	cr_assert_eq(model.status, PHILOX_OK, "%s", model.message);
}

/* forward() draws the same samples and masks each time: it seeds again. */
static void forward(void)
{
	cr_assert_eq(philox_generator_seed(
			     philox_context_generator(model.context), 1),
		     PHILOX_OK);
	train_forward(&model, SLOT);
}

static double loss(void)
{
	float value = NAN;

	forward();
	train_download(&model, &value, model.losses + SLOT, sizeof(value));
	for (int layer = 0; layer < TRAIN_DEPTH; layer++)
		philox_ticket_release(model.regions[layer], model.stream,
				      model.tickets[SLOT][layer]);
	return (double)value;
}

/* The loss after a step of length `by` along the gradient of one part. */
static double loss_along(float *part, const float *gradient, size_t count,
			 double by)
{
	float *kept = malloc(count * sizeof(*kept));
	double result;

	cr_assert_not_null(kept);
	for (size_t i = 0; i < count; i++) {
		kept[i] = part[i];
		part[i] += (float)(by * (double)gradient[i]);
	}
	result = loss();
	for (size_t i = 0; i < count; i++)
		part[i] = kept[i];
	free(kept);
	return result;
}

/* The measured slope along a part's gradient, over the one it promises. */
static double slope_ratio(size_t from, size_t to, const float *gradient)
{
	float *part = model.parameters + from;
	double square = 0, by, rise;

	gradient += from;
	for (size_t i = 0; i < to - from; i++)
		square += (double)gradient[i] * (double)gradient[i];
	by = 0.02 / sqrt(square);
	rise = loss_along(part, gradient, to - from, by) -
	       loss_along(part, gradient, to - from, -by);
	return rise / (2 * by * square);
}

Test(train, gradients_are_the_slope_of_the_loss_with_dropout)
{
	size_t begins[PARTS + 1] = {0};
	float *gradient;

	open_model();
	for (int layer = 0; layer < TRAIN_DEPTH; layer++) {
		begins[1 + 2 * layer] = model.weights[layer].weight;
		begins[2 + 2 * layer] = model.weights[layer].bias;
	}
	begins[PARTS] = model.n_parameters;
	gradient = malloc(model.n_parameters * sizeof(*gradient));
	cr_assert_not_null(gradient);
	forward();
	train_backward(&model, SLOT);
	train_download(&model, gradient,
		       model.arrays.gradients + SLOT * model.n_parameters,
		       model.n_parameters * sizeof(*gradient));
	for (int part = 0; part < PARTS; part++)
		cr_expect_float_eq(
			slope_ratio(begins[part], begins[part + 1], gradient),
			1, 2e-3, "part %d", part);
	cr_expect_eq(model.status, PHILOX_OK, "%s", model.message);
	free(gradient);
	train_model_close(&model);
}

/* --- recomputing ---------------------------------------------------------- */

static void slot_gradient(float *gradient)
{
	train_download(&model, gradient,
		       model.arrays.gradients + SLOT * model.n_parameters,
		       model.n_parameters * sizeof(*gradient));
	cr_assert_eq(model.status, PHILOX_OK, "%s", model.message);
}

Test(train, activations_that_were_dropped_are_not_used)
{
	float *gradient;
	size_t finite = 0;

	open_model();
	gradient = malloc(model.n_parameters * sizeof(*gradient));
	cr_assert_not_null(gradient);
	forward();
	train_forget(&model, SLOT);
	train_backward(&model, SLOT);
	slot_gradient(gradient);
	for (size_t i = 0; i < model.n_parameters; i++)
		finite += isfinite(gradient[i]) && gradient[i] != 0;
	cr_expect_eq(finite, 0, "%zu gradients without activations", finite);
	free(gradient);
	train_model_close(&model);
}

Test(train, a_recompute_brings_back_the_gradient)
{
	float *kept, *again;
	size_t size;

	open_model();
	size = model.n_parameters * sizeof(float);
	kept = malloc(size);
	again = malloc(size);
	cr_assert(kept && again);
	forward();
	train_backward(&model, SLOT);
	slot_gradient(kept);
	forward();
	train_forget(&model, SLOT);
	train_recompute(&model, SLOT);
	train_backward(&model, SLOT);
	slot_gradient(again);
	cr_expect_arr_eq(kept, again, size);
	free(kept);
	free(again);
	train_model_close(&model);
}

/* --- arrays from a pool --------------------------------------------------- */

#define STEPS 3

static struct train_result run(enum train_schedule schedule)
{
	static float losses[STEPS * TRAIN_SLOTS];
	struct train_result result = {.losses = losses};

	train_run(&model, schedule, &result);
	cr_assert_eq(model.status, PHILOX_OK, "%s", model.message);
	return result;
}

static void open_with(const char *device, const char *pool_given, int pool)
{
	options.device = device;
	options.steps = STEPS;
	options.pool_given = pool_given;
	options.pool = pool;
	options.ops = 2;
	memset(&model, 0, sizeof(model));
	model.options = &options;
	model.text = &text;
	open_model();
}

/* A run's figures of the pool; its bits are those of `plain`. */
static struct philox_pool_stats pooled(enum train_schedule schedule,
				       const struct train_result *plain)
{
	struct train_result result = run(schedule);

	cr_expect_eq(result.loss_checksum, plain->loss_checksum, "losses of %s",
		     result.name);
	cr_expect_eq(result.parameter_checksum, plain->parameter_checksum,
		     "parameters of %s", result.name);
	cr_expect_eq(result.extra_checksum, plain->extra_checksum);
	cr_expect(result.extra_paired && result.retained_same, "%s",
		  result.name);
	return result.pool;
}

/* Arrays whose times do not overlap share memory, and all is given back. */
static void train_from_pool(const char *device, int kind)
{
	struct philox_pool_stats pool;
	struct train_result plain;

	open_with(device, NULL, 0);
	plain = run(TRAIN_EAGER);
	cr_expect_eq(plain.pool.mapped, 0);
	train_model_close(&model);
	open_with(device, "given", kind);
	for (int i = 0; i <= TRAIN_REORDERED; i++) {
		pool = pooled((enum train_schedule)i, &plain);
		cr_expect_lt(pool.mapped_peak, model.arrays_size, "run %d", i);
		cr_expect_lt(pool.live_peak, model.arrays_size, "run %d", i);
		cr_expect_eq(pool.blocks, 0, "run %d", i);
		cr_expect_gt(pool.allocations, 0, "run %d", i);
	}
	cr_expect_eq(pool.restores, TRAIN_SLOTS + 2);
	train_model_close(&model);
	cr_expect_eq(model.status, PHILOX_OK, "%s", model.message);
}

Test(train, a_plain_pool_changes_no_bit)
{
	train_from_pool("host:sync", TRAIN_POOL_PLAIN);
	train_from_pool("host", TRAIN_POOL_PLAIN);
}

Test(train, an_expandable_pool_changes_no_bit)
{
	train_from_pool("host:sync", TRAIN_POOL_EXPANDABLE);
	train_from_pool("host", TRAIN_POOL_EXPANDABLE);
}

/* Graphs of the same work take the same memory: nothing more at each step. */
Test(train, a_step_takes_from_a_pool_what_the_first_did)
{
	struct philox_pool_stats first, last;
	struct train_result plain;

	open_with("host:sync", NULL, 0);
	plain = run(TRAIN_EAGER);
	train_model_close(&model);
	open_with("host:sync", "given", TRAIN_POOL_PLAIN);
	last = pooled(TRAIN_EAGER, &plain);
	train_model_close(&model);
	open_with("host:sync", "given", TRAIN_POOL_PLAIN);
	options.steps = 1;
	first = run(TRAIN_EAGER).pool;
	train_model_close(&model);
	cr_expect_eq(first.mapped_peak, last.mapped_peak);
	cr_expect_eq(first.allocations * STEPS, last.allocations);
}
