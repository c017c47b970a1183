/*
 * tests/test_simd.c - vector functions, and how an instruction set is chosen
 *
 * tests/test_shards.c draws every fill with each; check_simd.sh runs the
 * contract of numbers with each.
 */
#include <stdlib.h>
#include "../lib/simd.h"
#include "lanes_list.h"
#include "support.h"

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

/* Denormals: what a caller's thread makes of them is not our streams' way. */
static void draw_denormals(uint32_t *out)
{
	struct philox_rng rng = {.state = {1, 0}};
	struct philox_device *device;
	philox_stream stream;
	uint32_t *in;
	struct philox_fill fill = {.size = sizeof(fill),
				   .dist = PHILOX_DROPOUT,
				   .dtype = PHILOX_F32,
				   .span = philox_elements(0, 4096),
				   .p = 0.5};

	OK(philox_device_open("host", &device));
	OK(philox_stream_create(device, 0, &stream));
	OK(philox_memory_alloc(device, 4 * 4096, (void **)&in));
	for (uint32_t i = 0; i < 4096; i++)
		in[i] = i * 1999u & 0x7fffffu;
	fill.in = fill.out = in;
	OK(philox_rng_fill(device, stream, rng, &fill));
	OK(philox_stream_synchronize(device, stream));
	memcpy(out, in, 4 * 4096);
	OK(philox_memory_free(device, in));
	OK(philox_stream_destroy(device, stream));
	philox_device_close(device);
}

Test(simd, a_caller_that_flushes_denormals_changes_no_number)
{
	static uint32_t plain[4096], flushed[4096];
	unsigned mode = _mm_getcsr();

	draw_denormals(plain);
	_mm_setcsr(mode | 0x8040 | 0x6000); /* FTZ, DAZ, towards 0 */
	draw_denormals(flushed);
	cr_assert_eq(_mm_getcsr() & 0xe040, 0xe040);
	_mm_setcsr(mode);
	cr_assert_arr_eq(plain, flushed, sizeof(plain));
}
#endif

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
	cr_assert_null(simd_used());
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

Test(simd, without_a_wish_the_best_is_taken)
{
	enum simd simd, best = SIMD_SCALAR;

	unsetenv("PHILOX_SIMD");
	for (enum simd s = SIMD_SCALAR; s < SIMD_COUNT; s++)
		if (simd_has(s))
			best = s;
	OK(simd_choose(&simd));
	cr_assert_eq(simd, best);
}
