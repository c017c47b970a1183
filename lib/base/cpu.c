/*
 * lib/base/cpu.c - which vector instructions the host's fills use
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "lib/base/base.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

static const char *const names[SIMD_COUNT] = {"scalar", "avx2", "avx512"};

#ifdef __x86_64__
/* clang 14 lacks __builtin_cpu_supports("f16c"). */
static int has_f16c(void)
{
	unsigned a, b, c = 0, d;

	return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

/*
 * __builtin_cpu_supports() also checks that the system supports the registers.
 */
int simd_has(enum simd simd)
{
	if (simd == SIMD_AVX2)
		return __builtin_cpu_supports("avx2") &&
		       __builtin_cpu_supports("fma") && has_f16c();
#ifdef PHILOX_SIMDE
	if (simd == SIMD_AVX512)
		return simd_has(SIMD_AVX2);
#endif
	if (simd == SIMD_AVX512)
		return simd_has(SIMD_AVX2) &&
		       __builtin_cpu_supports("avx512f") &&
		       __builtin_cpu_supports("avx512dq") &&
		       __builtin_cpu_supports("avx512bw") &&
		       __builtin_cpu_supports("avx512vl");
	return simd == SIMD_SCALAR;
}
#else
int simd_has(enum simd simd)
{
	return simd == SIMD_SCALAR;
}
#endif

const char *simd_name(enum simd simd)
{
	return names[simd];
}

/* --- the choice ----------------------------------------------------------- */

/* Made once; `wanted` is the name that the environment gives. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char wanted[16];
static enum simd choice, used;

static enum simd best_simd(void)
{
	for (enum simd simd = SIMD_COUNT - 1; simd > SIMD_SCALAR; simd--)
		if (simd_has(simd))
			return simd;
	return SIMD_SCALAR;
}

static enum simd simd_of(const char *name)
{
	enum simd simd = SIMD_SCALAR;

	while (simd < SIMD_COUNT && strcmp(name, names[simd]) != 0)
		simd++;
	return simd;
}

static void choose_simd(void)
{
	const char *name = getenv("PHILOX_SIMD");

	if (name && *name) {
		strncpy(wanted, name, sizeof(wanted) - 1);
		choice = simd_of(wanted);
	} else {
		choice = best_simd();
	}
	if (choice < SIMD_COUNT && simd_has(choice))
		simd_use(choice);
}

enum philox_status simd_choose(enum simd *simd)
{
	pthread_once(&once, choose_simd);
	if (choice == SIMD_COUNT)
		return status_set(PHILOX_ERROR_INVALID,
				  "PHILOX_SIMD is '%s', not scalar, avx2 or "
				  "avx512",
				  wanted);
	if (!simd_has(choice))
		return status_set(PHILOX_ERROR_INVALID,
				  "PHILOX_SIMD is %s, which this CPU lacks",
				  names[choice]);
	*simd = choice;
	return PHILOX_OK;
}

void simd_use(enum simd simd)
{
	__atomic_store_n(&used, simd, __ATOMIC_RELAXED);
}

enum simd simd_used(void)
{
	return __atomic_load_n(&used, __ATOMIC_RELAXED);
}
