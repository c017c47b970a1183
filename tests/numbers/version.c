/*
 * tests/numbers/version.c - the library reports its version
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <philox/status.h>

Test(version, is_the_headers)
{
	char expected[32];

	snprintf(expected, sizeof(expected), "%d.%d.%d", PHILOX_VERSION_MAJOR,
		 PHILOX_VERSION_MINOR, PHILOX_VERSION_PATCH);
	cr_expect_str_eq(philox_version(), expected);
}

Test(version, build_names_the_compiler_the_devices_and_its_kind)
{
	cr_expect(strstr(philox_build(), __VERSION__));
	cr_expect(strstr(philox_build(), "host"));
#ifdef PHILOX_DEBUG
	cr_expect(strstr(philox_build(), "debug"));
#else
	cr_expect(strstr(philox_build(), "release"));
#endif
#ifdef PHILOX_WITH_CUDA
	cr_expect(strstr(philox_build(), "cuda"));
#else
	cr_expect_not(strstr(philox_build(), "cuda"));
#endif
}
