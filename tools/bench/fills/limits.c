/*
 * tools/bench/fills/limits.c - the limits of fills: set, copy, scale
 *
 * memset is the limit of fills without an input; copy and scale are those of a
 * dropout, which reads as much as it writes. For rounding, scale reads f32 and
 * rounds to nearest.
 */
#include "tools/bench/fills/fills.h"

#include <string.h>
#include "tools/bench/fills/cuda.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define SCALE 1.25

static int is_dropout(const struct fill_bench *of)
{
	return of->kind->dist == PHILOX_DIST_DROPOUT;
}

static int is_rounding(const struct fill_bench *of)
{
	return of->kind->dist == PHILOX_DIST_STOCHASTIC_ROUND;
}

/* --- memset and copy ------------------------------------------------------ */

static int has_memset(const struct fill_peer *peer, const struct fill_bench *of)
{
	(void)peer;
	return !is_dropout(of) && !is_rounding(of);
}

static int work_memset(const struct fill_peer *peer,
		       const struct fill_bench *of)
{
	(void)peer;
	if (of->cuda)
		return philox_memory_set(of->bench->device, of->bench->stream,
					 of->out, 1, of->bytes);
	memset(of->out, 1, of->bytes);
	return 0;
}

struct fill_peer fill_memset = {
	.name = "memset", .has = has_memset, .work = work_memset};

static int has_copy(const struct fill_peer *peer, const struct fill_bench *of)
{
	(void)peer;
	return is_dropout(of);
}

static int work_copy(const struct fill_peer *peer, const struct fill_bench *of)
{
	(void)peer;
	if (of->cuda)
		return philox_memory_copy(of->bench->device, of->bench->stream,
					  of->out, of->in, of->bytes);
	memcpy(of->out, of->in, of->bytes);
	return 0;
}

struct fill_peer fill_copy = {
	.name = "copy", .has = has_copy, .work = work_copy};

/* --- scale ---------------------------------------------------------------- */

/*
 * Loops over vectors of 64 bytes, which the compiler splits for the target:
 * written once, compiled for three targets, chosen at run time.
 */
typedef float floats __attribute__((vector_size(64)));
typedef double doubles __attribute__((vector_size(64)));
typedef uint32_t words __attribute__((vector_size(64)));
typedef uint16_t halves __attribute__((vector_size(32)));

#define INLINE static inline __attribute__((always_inline))

INLINE void loop_f32(const void *in, void *out, size_t bytes)
{
	const floats *x = in;
	floats *y = out;

	for (size_t i = 0; i < bytes / sizeof(*x); i++)
		y[i] = x[i] * (float)SCALE;
}

INLINE void loop_f64(const void *in, void *out, size_t bytes)
{
	const doubles *x = in;
	doubles *y = out;

	for (size_t i = 0; i < bytes / sizeof(*x); i++)
		y[i] = x[i] * SCALE;
}

/* A word has two bf16, each the upper half of an f32, rounded to it. */
INLINE void loop_bf16(const void *in, void *out, size_t bytes)
{
	const words *x = in;
	words *y = out;

	for (size_t i = 0; i < bytes / sizeof(*x); i++) {
		words low = x[i] << 16, high = x[i] & 0xffff0000;

		low = (words)((floats)low * (float)SCALE);
		high = (words)((floats)high * (float)SCALE);
		low += 0x7fff + ((low >> 16) & 1);
		high += 0x7fff + ((high >> 16) & 1);
		y[i] = (high & 0xffff0000) | low >> 16;
	}
}

INLINE void narrow_bf16(const void *in, void *out, size_t bytes)
{
	const floats *x = in;
	halves *y = out;

	for (size_t i = 0; i < bytes / sizeof(*y); i++) {
		words w = (words)(x[i] * (float)SCALE);

		w += 0x7fff + ((w >> 16) & 1);
		y[i] = __builtin_convertvector(w >> 16, halves);
	}
}

/* The factor's type: a dtype, or an f32 that is rounded to one. */
static int has_dtype(const struct fill_bench *of, const char *dtype)
{
	return !strcmp(of->kind->dtype_name, dtype);
}

#define DEFINE_SCALE(name, attribute)                            \
	attribute static void name(const struct fill_bench *of)  \
	{                                                        \
		if (is_rounding(of))                             \
			narrow_bf16(of->in, of->out, of->bytes); \
		else if (has_dtype(of, "f32"))                   \
			loop_f32(of->in, of->out, of->bytes);    \
		else if (has_dtype(of, "f64"))                   \
			loop_f64(of->in, of->out, of->bytes);    \
		else                                             \
			loop_bf16(of->in, of->out, of->bytes);   \
	}

DEFINE_SCALE(scale_plain, )

#if defined(__x86_64__)
DEFINE_SCALE(scale_avx2, __attribute__((target("avx2"))))
DEFINE_SCALE(scale_avx512, __attribute__((target("avx512f,avx512bw,avx512vl"))))

#define F16C __attribute__((target("avx,f16c")))

F16C static __m128i scale_eight(__m256 x)
{
	return _mm256_cvtps_ph(_mm256_mul_ps(x, _mm256_set1_ps((float)SCALE)),
			       _MM_FROUND_TO_NEAREST_INT);
}

F16C static void scale_f16(const void *in, void *out, size_t bytes)
{
	const __m128i *x = in;
	__m128i *y = out;

	for (size_t i = 0; i < bytes / sizeof(*x); i++)
		y[i] = scale_eight(_mm256_cvtph_ps(x[i]));
}

F16C static void narrow_f16(const void *in, void *out, size_t bytes)
{
	const __m256 *x = in;
	__m128i *y = out;

	for (size_t i = 0; i < bytes / sizeof(*y); i++)
		y[i] = scale_eight(x[i]);
}
#endif

/* All processors with avx2 have f16c, which clang 14 cannot test for. */
static int has_f16(void)
{
#if defined(__x86_64__)
	return __builtin_cpu_supports("avx2");
#else
	return 0;
#endif
}

static void scale(const struct fill_bench *of)
{
#if defined(__x86_64__)
	if (has_dtype(of, "f16"))
		(is_rounding(of) ? narrow_f16 : scale_f16)(of->in, of->out,
							   of->bytes);
	else if (__builtin_cpu_supports("avx512bw") &&
		 __builtin_cpu_supports("avx512vl"))
		scale_avx512(of);
	else if (__builtin_cpu_supports("avx2"))
		scale_avx2(of);
	else
#endif
		scale_plain(of);
}

static int has_scale(const struct fill_peer *peer, const struct fill_bench *of)
{
	(void)peer;
	return (is_dropout(of) || is_rounding(of)) &&
	       (of->cuda || !has_dtype(of, "f16") || has_f16());
}

static int work_scale(const struct fill_peer *peer, const struct fill_bench *of)
{
	(void)peer;
	if (of->cuda)
		return of->cuda->scale(
			of->cuda, of->bench->stream,
			is_rounding(of) ? "f32" : of->kind->dtype_name,
			of->kind->dtype_name, of->in, of->out, of->bytes);
	scale(of);
	return 0;
}

struct fill_peer fill_scale = {
	.name = "scale", .has = has_scale, .work = work_scale};
