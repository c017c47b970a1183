/*
 * tests/tools/train/rounded.c - `philox train --weights bf16`: weights of 16 bits
 * and moments of 8, without others in f32
 *
 * The library rounds the same numbers to the same bits, all runs agree, and the
 * run with f32 masters is the one without the option.
 */
#include <math.h>
#include <string.h>
#include "tests/support/support.h"
#include "tools/train/train.h"

#define TEXT  2000
#define STEPS 6

/* --- the kernel ----------------------------------------------------------- */

enum { N = 80, SCALES = 3, GUARD = 0x5a }; /* the last block is short */

/* A set, with its state where moments of f32 would be. */
static struct set {
	float parameters[N], gradient[N], first[N], second[N];
} set;

static struct train_clock clock_now;
static const struct philox_rng rngs[TRAIN_ROUNDINGS] = {
	{.state = {11, 8}}, {.state = {22, 12}}, {.state = {33, 16}}};

/* Numbers of many sizes; every seventh is 0. */
static float some_number(uint64_t seed, uint64_t i)
{
	const struct philox_state state = {seed, 0};

	return i % 7 == 3 ? 0
			  : ldexpf(philox_normal_at(state, i), (int)(i % 9));
}

static void begin_set(void)
{
	const struct train_state state =
		train_state_of(set.first, set.second, N);

	memset(&set, GUARD, sizeof(set));
	memset(set.first, 0, 3 * N + SCALES);
	memset(set.second, 0, N + SCALES);
	clock_now = train_clock_start();
	for (size_t i = 0; i < N; i++) {
		set.parameters[i] = some_number(1, i);
		set.gradient[i] = some_number(2, i);
		train_narrow(
			&(struct train_narrow){.parameters = set.parameters,
					       .weights = state.weights},
			i);
	}
}

static void update_set(const struct philox_rng by[TRAIN_ROUNDINGS], float rate)
{
	struct train_adamw_block args = {.set = {.parameters = set.parameters,
						 .gradient = set.gradient,
						 .first = set.first,
						 .second = set.second,
						 .clock = &clock_now,
						 .rates = {rate, 0.01f}},
					 .n = N};

	memcpy(args.rngs, by, sizeof(args.rngs));
	for (size_t block = 0; block < SCALES; block++)
		train_adamw_block(&args, block);
}

/* By the library, from f32: codes of 16 bits, or of 8 with scales. */
static void expect_rounded(int what, const float *x, const void *codes,
			   const uint8_t *scales)
{
	uint16_t expected[N];
	uint8_t expected_scales[SCALES];
	struct philox_quantize_desc tensor =
		PHILOX_INIT(struct philox_quantize_desc);

	tensor.span = philox_span_elements(0, N);
	tensor.in_dtype = PHILOX_DTYPE_F32;
	tensor.format = what == TRAIN_WEIGHT  ? PHILOX_FORMAT_BF16
			: what == TRAIN_FIRST ? PHILOX_FORMAT_E4M3
					      : PHILOX_FORMAT_E5M2;
	tensor.rule = PHILOX_ROUND_EXACT;
	tensor.bits = what == TRAIN_WEIGHT ? 16 : 8;
	tensor.scaling = scales ? PHILOX_SCALING_MX_UP : PHILOX_SCALING_NONE;
	tensor.in = x;
	tensor.out = expected;
	tensor.scales = scales ? expected_scales : NULL;
	OK(philox_state_quantize(rngs[what].state, &tensor));
	cr_expect_arr_eq(codes, expected, (size_t)N * (scales ? 1 : 2), "%d",
			 what);
	if (scales)
		cr_expect_arr_eq(scales, expected_scales, SCALES, "%d", what);
}

/* A moment that is kept, in f32, from its bits: E4M3 or E5M2 times 2^k. */
static float moment_of(uint8_t code, int digits, int bias, uint8_t scale)
{
	const int power = (code & 0x7f) >> digits;
	const int rest = code & ((1 << digits) - 1);
	const double size =
		power ? ldexp((1 << digits) + rest, power - bias - digits)
		      : ldexp(rest, 1 - bias - digits);

	return (float)ldexp(code & 0x80 ? -size : size, scale - 127);
}

Test(train_rounded, an_update_has_the_bits_of_the_library)
{
	const struct train_state state =
		train_state_of(set.first, set.second, N);
	const struct train_rates rates = {0.01f, 0.01f};
	float x[N], m[N], v[N];

	begin_set();
	update_set(rngs, 0.5f); /* so that there are moments */
	for (size_t i = 0; i < N; i++) {
		const size_t block = i / 32;
		const struct train_weight w = {
			set.parameters[i],
			moment_of(state.codes[TRAIN_FIRST][i], 3, 7,
				  state.scales[TRAIN_FIRST][block]),
			moment_of(state.codes[TRAIN_SECOND][i], 2, 15,
				  state.scales[TRAIN_SECOND][block])};
		const struct train_weight next =
			train_next(w, set.gradient[i], &clock_now, rates);

		x[i] = next.x;
		m[i] = next.m;
		v[i] = next.v;
	}
	update_set(rngs, rates.rate);
	expect_rounded(TRAIN_WEIGHT, x, state.weights, NULL);
	expect_rounded(TRAIN_FIRST, m, state.codes[TRAIN_FIRST],
		       state.scales[TRAIN_FIRST]);
	expect_rounded(TRAIN_SECOND, v, state.codes[TRAIN_SECOND],
		       state.scales[TRAIN_SECOND]);
}

Test(train_rounded, an_update_stays_in_the_memory_of_its_set)
{
	const char *first = (const char *)set.first + 3 * N + SCALES;
	const char *second = (const char *)set.second + N + SCALES;

	begin_set();
	update_set(rngs, 0.5f);
	for (const char *at = first; at < (const char *)set.second; at++)
		cr_assert_eq(*at, GUARD);
	for (const char *at = second; at < (const char *)(&set + 1); at++)
		cr_assert_eq(*at, GUARD);
}

/* A step of 2^-10 is an eighth of what bf16 has between 1/2 and 1. */
Test(train_rounded, weights_move_by_the_mean_of_their_steps)
{
	enum { TIMES = 4096 };
	double sum = 0;

	for (uint64_t t = 0; t < TIMES; t++) {
		struct philox_rng by[TRAIN_ROUNDINGS];

		memcpy(by, rngs, sizeof(by));
		by[TRAIN_WEIGHT].state.offset = 4 * t;
		begin_set();
		for (size_t i = 0; i < N; i++) {
			((uint16_t *)set.first)[i] = 0x3f40; /* 3/4 */
			set.gradient[i] = 1;
		}
		update_set(by, 1.0f / 1024);
		for (size_t i = 0; i < N; i++)
			sum += (double)set.parameters[i];
	}
	/* decay adds 0.01 of 3/4; sd: steps of 2^-8, by chance 1/4 */
	cr_expect_float_eq(sum / TIMES / N, 0.75 - (1 + 0.0075) / 1024,
			   5 * 0.44 / 256 / sqrt((double)TIMES * N));
}

/* --- runs ----------------------------------------------------------------- */

static uint8_t symbols[TEXT];
static const struct train_text text = {
	.symbols = symbols, .size = TEXT, .vocabulary = 37, .entropy = 3};
static struct train_options options;
static struct train_model model;

static void open_with(const char *device, int weights)
{
	options = (struct train_options){.device = device,
					 .steps = STEPS,
					 .seed = 1,
					 .dropout = 0.25,
					 .loop = 1,
					 .runner = 1,
					 .weights = weights};
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

static struct train_result run(enum train_schedule schedule)
{
	static float losses[STEPS * TRAIN_SLOTS];
	struct train_result result = {.losses = losses};

	train_run(&model, schedule, &result);
	cr_assert_eq(model.status, PHILOX_OK, "%s", model.message);
	return result;
}

static void expect_same(const struct train_result *a,
			const struct train_result *b)
{
	cr_expect_eq(a->loss_checksum, b->loss_checksum, "%s", b->name);
	cr_expect_eq(a->parameter_checksum, b->parameter_checksum, "%s",
		     b->name);
}

Test(train_rounded, all_schedules_give_the_bits_of_the_eager_run)
{
	static const char *const devices[] = {"host", "host:sync",
					      "host:strict"};

	for (int i = 0; i < 3; i++) {
		struct train_result eager, other;

		open_with(devices[i], TRAIN_WEIGHTS_BF16);
		eager = run(TRAIN_EAGER);
		for (int k = TRAIN_CAPTURED; k <= TRAIN_RUNNER; k++) {
			other = run((enum train_schedule)k);
			expect_same(&eager, &other);
		}
		close_model();
	}
}

Test(train_rounded, masters_are_those_of_a_run_without_it)
{
	struct train_result plain, masters, rounded;

	open_with("host:sync", TRAIN_WEIGHTS_F32);
	plain = run(TRAIN_EAGER);
	close_model();
	open_with("host:sync", TRAIN_WEIGHTS_BF16);
	rounded = run(TRAIN_EAGER);
	masters = run(TRAIN_MASTERS);
	expect_same(&plain, &masters);
	cr_expect_neq(rounded.loss_checksum, plain.loss_checksum);
	cr_expect_neq(rounded.parameter_checksum, plain.parameter_checksum);
	close_model();
}

/* On the host device, whose memory a test may read. */
Test(train_rounded, parameters_are_what_the_weights_are_in_f32)
{
	open_with("host:sync", TRAIN_WEIGHTS_BF16);
	run(TRAIN_CAPTURED);
	for (int k = 0; k < TRAIN_SETS; k++) {
		const struct train_part part = train_part_of(&model, k);
		const uint16_t *weights =
			(const uint16_t *)(model.first + part.offset);

		for (size_t i = 0; i < part.floats; i++) {
			const uint32_t bits = (uint32_t)weights[i] << 16;

			cr_assert_arr_eq(&model.parameters[part.offset + i],
					 &bits, sizeof(bits), "set %d, %d", k,
					 (int)i);
		}
	}
	close_model();
}

/* --- whose numbers are drawn ---------------------------------------------- */

enum { STATES = STEPS * TRAIN_SETS * TRAIN_ROUNDINGS };

static struct philox_state states[STATES];
static size_t n_states;
static const char *(*kernel)(struct train_backend *backend,
			     philox_stream stream, enum train_kernel kernel,
			     const void *args, size_t size, size_t count);

static const char *note_states(struct train_backend *backend,
			       philox_stream stream, enum train_kernel which,
			       const void *args, size_t size, size_t count)
{
	const struct train_adamw_block *block = args;

	for (int op = 0; which == TRAIN_adamw_block && op < TRAIN_ROUNDINGS;
	     op++)
		states[n_states++ % STATES] = block->rngs[op].state;
	return kernel(backend, stream, which, args, size, count);
}

Test(train_rounded, each_rounding_of_each_step_has_numbers_of_its_own)
{
	open_with("host:sync", TRAIN_WEIGHTS_BF16);
	kernel = model.backend->kernel;
	model.backend->kernel = note_states;
	run(TRAIN_EAGER);
	cr_assert_eq(n_states, STATES);
	for (size_t i = 0; i < STATES; i++)
		for (size_t k = 0; k < i; k++)
			cr_assert(states[i].seed != states[k].seed ||
					  states[i].offset != states[k].offset,
				  "%d and %d", (int)k, (int)i);
	close_model();
}
