/*
 * tests/numbers/host/simd.c - vector functions, and how an instruction set is chosen
 *
 * tests/numbers/shards.c draws every fill with each;
 * tests/scripts/devices/simd.sh runs the contract of numbers with each.
 */
#include <stdio.h>
#include <stdlib.h>
#include "lib/base/base.h"
#include "tests/support/oracles/lanes_list.h"
#include "tests/support/support.h"

static void check_lanes(enum simd simd, int (*const checks[])(void))
{
	if (!simd_has(simd))
		cr_skip("this CPU has no %s", simd_name(simd));
	for (int i = 0; i < LANE_CHECKS; i++)
		cr_assert(checks[i](), "%s, function %d", simd_name(simd), i);
}

Test(simd, lanes_of_avx2_have_the_scalar_functions_bits)
{
	check_lanes(SIMD_AVX2, lanes_avx2);
}

Test(simd, lanes_of_avx512_have_the_scalar_functions_bits)
{
	check_lanes(SIMD_AVX512, lanes_avx512);
}

#ifdef __x86_64__
#include <xmmintrin.h>

/*
 * How a caller's thread treats denormals and rounds has no effect on our
 * streams, nor on parameters on their way to a kernel.
 */
enum { DRAWN = 4096, TOKENS = 64, VOCAB = 50 };

static const struct philox_layout_desc torch = {.size = sizeof(torch),
						.kind = PHILOX_LAYOUT_PYTORCH,
						.sms = 4,
						.threads_per_sm = 2048,
						.elements = DRAWN};
static const struct philox_fill_desc mode_fills[] = {
	{.dist = PHILOX_DIST_DROPOUT, .dtype = PHILOX_DTYPE_F32, .p = 0.5},
	{.dist = PHILOX_DIST_DROPOUT, .dtype = PHILOX_DTYPE_F32, .p = 0.1},
	{.dist = PHILOX_DIST_DROPOUT, .dtype = PHILOX_DTYPE_F64, .p = 0.1},
	{.dist = PHILOX_DIST_BERNOULLI, .dtype = PHILOX_DTYPE_F32, .p = 1e-310},
	{.dist = PHILOX_DIST_EXPONENTIAL, .dtype = PHILOX_DTYPE_F32, .rate = 3},
	{.dist = PHILOX_DIST_EXPONENTIAL, .dtype = PHILOX_DTYPE_F64, .rate = 3},
	{.dist = PHILOX_DIST_EXPONENTIAL,
	 .dtype = PHILOX_DTYPE_BF16,
	 .rate = 3},
	{.dist = PHILOX_DIST_EXPONENTIAL,
	 .dtype = PHILOX_DTYPE_F32,
	 .rate = 2e38},
	{.dist = PHILOX_DIST_UNIFORM,
	 .dtype = PHILOX_DTYPE_F32,
	 .low = .1,
	 .high = .7},
	{.dist = PHILOX_DIST_UNIFORM,
	 .dtype = PHILOX_DTYPE_F64,
	 .low = .1,
	 .high = .7},
	{.dist = PHILOX_DIST_UNIFORM, .dtype = PHILOX_DTYPE_F32, .high = 1e-40},
	{.dist = PHILOX_DIST_UNIFORM,
	 .dtype = PHILOX_DTYPE_F64,
	 .high = 1e-310},
	{.dist = PHILOX_DIST_NORMAL,
	 .dtype = PHILOX_DTYPE_F32,
	 .mean = .1,
	 .std = .02},
	{.dist = PHILOX_DIST_NORMAL,
	 .dtype = PHILOX_DTYPE_F16,
	 .mean = .1,
	 .std = .02},
	{.dist = PHILOX_DIST_NORMAL, .dtype = PHILOX_DTYPE_F32, .std = 1e-40},
	{.dist = PHILOX_DIST_NORMAL, .dtype = PHILOX_DTYPE_F64, .std = 1e-310},
	{.dist = PHILOX_DIST_LOG_NORMAL,
	 .dtype = PHILOX_DTYPE_F32,
	 .mean = .1,
	 .std = .3},
	{.dist = PHILOX_DIST_DROPOUT,
	 .dtype = PHILOX_DTYPE_F32,
	 .p = 0.1,
	 .layout = &torch},
	{.dist = PHILOX_DIST_EXPONENTIAL,
	 .dtype = PHILOX_DTYPE_F32,
	 .rate = 3,
	 .layout = &torch},
	{.dist = PHILOX_DIST_UNIFORM,
	 .dtype = PHILOX_DTYPE_F32,
	 .low = .1,
	 .high = .7,
	 .layout = &torch},
};

enum { MODE_FILLS = sizeof(mode_fills) / sizeof(mode_fills[0]) };

struct mode_draws {
	uint64_t fill[MODE_FILLS][DRAWN]; /* 8 bytes are the most */
	uint64_t key[TOKENS];
	float own[DRAWN];
};

static void draw_fill(struct fixture *f, struct philox_fill_desc fill,
		      uint64_t *array, uint64_t *to)
{
	const struct philox_rng rng = {.state = {1, 0}};

	fill.size = sizeof(fill);
	fill.span = philox_span_elements(0, DRAWN);
	fill.in = fill.out = array;
	memset(array, 0, 8 * DRAWN);
	/* denormals of f32 */
	for (uint32_t i = 0; i < DRAWN; i++)
		((uint32_t *)array)[i] = i * 1999u & 0x7fffffu;
	OK(philox_rng_fill(f->device, f->stream, rng, &fill));
	OK(philox_stream_synchronize(f->device, f->stream));
	memcpy(to, array, 8 * DRAWN);
}

static void draw_tokens(struct fixture *f, struct philox_state *states,
			float *logits, uint64_t *keys)
{
	struct philox_sample_desc sample = {.size = sizeof(sample),
					    .logits = logits,
					    .dtype = PHILOX_DTYPE_F32,
					    .vocab = VOCAB,
					    .pitch = VOCAB,
					    .temperature = 0.1,
					    .keys = keys};

	for (int i = 0; i < TOKENS; i++)
		states[i] = (struct philox_state){(uint64_t)i, 0};
	for (int i = 0; i < TOKENS * VOCAB; i++)
		logits[i] = (float)(i * 7919 % 101) / 8;
	OK(philox_sample_states(f->device, f->stream, states, TOKENS, &sample));
	OK(philox_stream_synchronize(f->device, f->stream));
}

/* Your own kernel, which must draw as philox_pass_dropout() does. */
static void own_dropout(const void *args)
{
	float *array;

	memcpy(&array, args, sizeof(array));
	for (uint32_t i = 0; i < DRAWN; i++)
		array[i] = philox_dropout_at((struct philox_state){1, 0}, i,
					     philox_f32_from_bits(i * 1999u),
					     philox_threshold(0.1),
					     philox_dropout_scale(0.1));
}

static void draw_own(struct fixture *f, float *array, float *to)
{
	OK(philox_stream_launch_host(f->device, f->stream, own_dropout, &array,
				     sizeof(array)));
	OK(philox_stream_synchronize(f->device, f->stream));
	memcpy(to, array, 4 * DRAWN);
}

static void draw_in_mode(struct fixture *f, unsigned mode,
			 struct mode_draws *draws)
{
	uint64_t *array = make_memory(f, 8 * DRAWN);
	struct philox_state *states = make_memory(f, 16 * TOKENS);
	float *logits = make_memory(f, 4 * TOKENS * VOCAB);
	uint64_t *keys = make_memory(f, 8 * TOKENS);
	unsigned before = _mm_getcsr();

	_mm_setcsr(before | mode);
	for (int i = 0; i < MODE_FILLS; i++)
		draw_fill(f, mode_fills[i], array, draws->fill[i]);
	draw_tokens(f, states, logits, keys);
	memcpy(draws->key, keys, sizeof(draws->key));
	draw_own(f, (float *)array, draws->own);
	cr_assert_eq(_mm_getcsr() & 0xe040, (before | mode) & 0xe040);
	_mm_setcsr(before);
}

PROMISE(simd, a_caller_that_flushes_denormals_or_rounds_changes_no_number)
{
	/* FTZ and DAZ; down, up, towards 0; all of it */
	static const unsigned modes[] = {0x8040, 0x2000, 0x4000, 0x6000,
					 0xe040};
	static struct mode_draws plain, other;

	draw_in_mode(f, 0, &plain);
	for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
		draw_in_mode(f, modes[m], &other);
		for (int i = 0; i < MODE_FILLS; i++)
			cr_assert(!memcmp(plain.fill[i], other.fill[i],
					  sizeof(plain.fill[i])),
				  "fill %d, mode %#x", i, modes[m]);
		cr_assert(!memcmp(plain.key, other.key, sizeof(plain.key)),
			  "keys, mode %#x", modes[m]);
		cr_assert(!memcmp(plain.own, other.own, sizeof(plain.own)),
			  "your own loop, mode %#x", modes[m]);
	}
}

/* 2^-150 is 0 in f32, and no std; rounded up, it would be one. */
Test(simd, a_caller_that_rounds_changes_no_advance)
{
	struct philox_fill_desc fill = {.size = sizeof(fill),
					.dist = PHILOX_DIST_NORMAL,
					.dtype = PHILOX_DTYPE_F32,
					.span = philox_span_elements(0, DRAWN),
					.std = 0x1p-150,
					.layout = &torch};
	unsigned before = _mm_getcsr(), after;
	enum philox_status status;
	uint64_t words;

	_mm_setcsr(before | 0x4000);
	status = philox_layout_advance(&fill, &words);
	after = _mm_getcsr();
	_mm_setcsr(before);
	cr_assert_eq(status, PHILOX_ERROR_INVALID);
	cr_assert_eq(after & 0xe040, (before | 0x4000) & 0xe040);
}
#endif

/* The system's list of the CPU's features, as " avx2 fma ... ". */
static int read_flags(char *line, int size)
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	int found = 0;

	while (file && !found && fgets(line, size, file))
		found = strncmp(line, "flags", 5) == 0;
	if (file)
		fclose(file);
	line[strcspn(line, "\n")] = ' ';
	return found;
}

Test(simd, avx2_is_available_if_all_that_its_loops_use_is)
{
	static char flags[16384];
	int has;

	if (!read_flags(flags, sizeof(flags)))
		cr_skip("no flags in /proc/cpuinfo");
	has = strstr(flags, " avx2 ") && strstr(flags, " fma ") &&
	      strstr(flags, " f16c ");
	cr_assert_eq(simd_has(SIMD_AVX2), has);
}

static void check_forced(const char *name, enum simd expected)
{
	struct philox_device *device;
	enum simd simd;

	setenv("PHILOX_SIMD", name, 1);
	if (!simd_has(expected)) {
		FAILS(philox_device_open("host", &device),
		      PHILOX_ERROR_INVALID);
		NAMES("lacks");
		return;
	}
	OK(philox_device_open("host", &device));
	OK(simd_choose(&simd));
	cr_assert_eq(simd, expected);
	cr_assert(strstr(philox_device_description(device), name));
	philox_device_close(device);
}

Test(simd, the_environment_forces_scalar)
{
	check_forced("scalar", SIMD_SCALAR);
	cr_assert_eq(simd_used(), SIMD_SCALAR);
}

Test(simd, the_environment_forces_avx2_or_is_refused)
{
	check_forced("avx2", SIMD_AVX2);
}

Test(simd, the_environment_forces_avx512_or_is_refused)
{
	check_forced("avx512", SIMD_AVX512);
}

Test(simd, an_unknown_name_is_refused)
{
	struct philox_device *device = NULL;

	setenv("PHILOX_SIMD", "neon", 1);
	FAILS(philox_device_open("host", &device), PHILOX_ERROR_INVALID);
	NAMES("neon");
	cr_assert_null(device);
}

Test(simd, the_environment_is_read_once)
{
	struct philox_device *first, *second;

	setenv("PHILOX_SIMD", "scalar", 1);
	OK(philox_device_open("host", &first));
	setenv("PHILOX_SIMD", "neon", 1);
	OK(philox_device_open("host", &second));
	cr_assert(strstr(philox_device_description(second), "scalar"));
	cr_assert_eq(simd_used(), SIMD_SCALAR);
	philox_device_close(second);
	philox_device_close(first);
}

static void takes_the_best(void)
{
	enum simd simd, best = SIMD_SCALAR;

	for (enum simd s = SIMD_SCALAR; s < SIMD_COUNT; s++)
		if (simd_has(s))
			best = s;
	OK(simd_choose(&simd));
	cr_assert_eq(simd, best);
}

Test(simd, the_best_is_chosen_by_default)
{
	unsetenv("PHILOX_SIMD");
	takes_the_best();
}

Test(simd, an_empty_name_chooses_the_best)
{
	setenv("PHILOX_SIMD", "", 1);
	takes_the_best();
}
