/*
 * lib/base/float_mode.h - rounding to nearest, and denormals
 *
 * A thread may flush denormals to zero or round differently (-ffast-math at the
 * link, torch.set_flush_denormal()), and new threads inherit that. Work that
 * makes numbers, or parameters of numbers, sets the default first and then puts
 * the caller's mode back. Compilers may move arithmetic across these calls, but
 * not a function call: put the work between them into a function.
 */
#ifndef LIB_BASE_FLOAT_MODE_H
#define LIB_BASE_FLOAT_MODE_H

#ifdef __x86_64__
#include <xmmintrin.h>

struct float_mode {
	unsigned control;
};

/* All exceptions masked, rounding to nearest, denormals kept. */
#define FLOAT_MODE_DEFAULT 0x1f80

static inline struct float_mode float_mode_set(void)
{
	struct float_mode mode = {_mm_getcsr()};

	_mm_setcsr(FLOAT_MODE_DEFAULT);
	return mode;
}

static inline void float_mode_restore(struct float_mode mode)
{
	_mm_setcsr(mode.control);
}

#else
#include <fenv.h>

struct float_mode {
	fenv_t control;
};

static inline struct float_mode float_mode_set(void)
{
	struct float_mode mode;

	fegetenv(&mode.control);
	fesetenv(FE_DFL_ENV);
	return mode;
}

static inline void float_mode_restore(struct float_mode mode)
{
	fesetenv(&mode.control);
}

#endif
#endif
