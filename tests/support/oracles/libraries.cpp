/*
 * tests/support/oracles/libraries.cpp - other libraries' numbers, made as they
 * make them
 */
#ifdef PHILOX_ORACLE_CURAND

#define QUALIFIERS static inline __attribute__((unused))
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <curand_kernel.h>
#include "tests/support/oracles/libraries.h"

using state_t = curandStatePhilox4_32_10_t;
using bf16 = __nv_bfloat16;
using f16 = __half;

/* --- element types, converted by NVIDIA's headers ------------------------- */

template <typename T> static T cast(double x)
{
	return (T)x;
}

template <typename T> static T cast(float x)
{
	return (T)x;
}

template <> bf16 cast<bf16>(float x)
{
	return __float2bfloat16(x);
}

template <> f16 cast<f16>(float x)
{
	return __float2half(x);
}

/* c10's types are made of float */
template <> bf16 cast<bf16>(double x)
{
	return __float2bfloat16((float)x);
}

template <> f16 cast<f16>(double x)
{
	return __float2half((float)x);
}

static float widen(bf16 x)
{
	return __bfloat162float(x);
}

static float widen(f16 x)
{
	return __half2float(x);
}

static float widen(float x)
{
	return x;
}

static double widen(double x)
{
	return x;
}

/* The type PyTorch computes in. */
template <typename T>
using math_t = std::conditional_t<std::is_same_v<T, double>, double, float>;

/* nvcc fuses a product and a sum of one expression. */
static float fused(float a, float b, float c)
{
	return fmaf(a, b, c);
}

static double fused(double a, double b, double c)
{
	return fma(a, b, c);
}

/* --- cuRAND's device generator -------------------------------------------- */

/* How many words were drawn since curand_init(): STATE of the last block. */
static uint64_t drawn(const layout_case *c, const state_t &state)
{
	uint64_t block = (uint64_t)state.ctr.y << 32 | state.ctr.x;

	return (block - c->offset / 4) * 4 + state.STATE;
}

/* Thread t of n draws elements t, t + n, ...; the first one draws the most. */
template <typename T, typename draw_t>
static uint64_t stride(const layout_case *c, T *out, draw_t draw)
{
	uint64_t words = 0;

	for (uint64_t t = 0; t < c->threads; t++) {
		state_t state;

		curand_init(c->seed, t, c->offset, &state);
		for (uint64_t i = t; i < c->elements; i += c->threads)
			out[i] = draw(&state);
		words = t == 0 ? drawn(c, state) : words;
	}
	return words;
}

/* Thread t draws `n` elements at once, once. */
template <int n, typename T, typename draw_t>
static void once(const layout_case *c, T *out, draw_t draw)
{
	for (uint64_t t = 0; n * t < c->elements; t++) {
		state_t state;

		curand_init(c->seed, t, c->offset, &state);
		auto values = draw(&state);
		for (uint64_t i = n * t; i < n * (t + 1); i++)
			if (i < c->elements)
				out[i] = (&values.x)[i - n * t];
	}
}

static bool is(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

static int curand_device(const layout_case *c, void *out, uint64_t *words)
{
	auto u32 = (uint32_t *)out;
	auto f32 = (float *)out;
	auto f64 = (double *)out;
	bool wide = is(c->dtype, "f64"), strided = c->threads;

	if (is(c->dist, "bits") && strided)
		*words = stride(c, u32, [](state_t *s) { return curand(s); });
	else if (is(c->dist, "bits"))
		once<4>(c, u32, [](state_t *s) { return curand4(s); });
	else if (is(c->dist, "uniform") && wide && strided)
		*words = stride(c, f64, [](state_t *s) {
			return curand_uniform_double(s);
		});
	else if (is(c->dist, "uniform") && wide)
		once<2>(c, f64,
			[](state_t *s) { return curand_uniform2_double(s); });
	else if (is(c->dist, "uniform") && strided)
		*words = stride(c, f32,
				[](state_t *s) { return curand_uniform(s); });
	else if (is(c->dist, "uniform"))
		once<4>(c, f32, [](state_t *s) { return curand_uniform4(s); });
	else if (is(c->dist, "normal") && wide && strided)
		*words = stride(c, f64, [](state_t *s) {
			return curand_normal_double(s);
		});
	else if (is(c->dist, "normal") && wide)
		once<2>(c, f64,
			[](state_t *s) { return curand_normal2_double(s); });
	else if (is(c->dist, "normal") && strided)
		*words = stride(c, f32,
				[](state_t *s) { return curand_normal(s); });
	else if (is(c->dist, "normal"))
		once<4>(c, f32, [](state_t *s) { return curand_normal4(s); });
	else
		return 0;
	return 1;
}

/* --- PyTorch's kernels over a TensorIterator ------------------------------ */

static const uint32_t BLOCK = 256;

static uint32_t pytorch_grid(const layout_case *c)
{
	uint64_t blocks = (c->elements + BLOCK - 1) / BLOCK;
	uint64_t most = (uint64_t)c->sms * (c->threads_per_sm / BLOCK);

	return (uint32_t)(blocks < most ? blocks : most);
}

template <typename T, typename draw_t, typename make_t>
static uint64_t distribution(const layout_case *c, T *out, draw_t draw,
			     make_t make)
{
	using tuple = decltype(draw((state_t *)nullptr));
	constexpr uint64_t unroll =
		sizeof(tuple) / sizeof(std::declval<tuple>().x);
	const uint64_t threads = (uint64_t)BLOCK * pytorch_grid(c);
	const uint64_t rounds = (c->elements - 1) / (threads * unroll) + 1;

	for (uint64_t t = 0; t < threads; t++) {
		state_t state;

		curand_init(c->seed, t, c->offset, &state);
		for (uint64_t round = 0; round < rounds; round++) {
			uint64_t at = t + round * threads * unroll;
			auto values = draw(&state);

			for (uint64_t i = 0; i < unroll; i++, at += threads)
				if (at < c->elements)
					out[at] = make((&values.x)[i]);
		}
	}
	return rounds * 4;
}

static ulonglong2 draw_u64(state_t *state)
{
	uint4 words = curand4(state);
	ulonglong2 pair;

	pair.x = (uint64_t)words.x << 32 | words.y;
	pair.y = (uint64_t)words.z << 32 | words.w;
	return pair;
}

template <typename T, typename make_t>
static uint64_t from_uniform(const layout_case *c, T *out, make_t make)
{
	if constexpr (std::is_same_v<T, double>)
		return distribution(
			c, out,
			[](state_t *s) { return curand_uniform2_double(s); },
			make);
	else
		return distribution(
			c, out, [](state_t *s) { return curand_uniform4(s); },
			make);
}

template <typename T, typename make_t>
static uint64_t from_normal(const layout_case *c, T *out, make_t make)
{
	if constexpr (std::is_same_v<T, double>)
		return distribution(
			c, out,
			[](state_t *s) { return curand_normal2_double(s); },
			make);
	else
		return distribution(
			c, out, [](state_t *s) { return curand_normal4(s); },
			make);
}

template <typename T>
static uint64_t pytorch_uniform(const layout_case *c, T *out)
{
	const T from = cast<T>(c->low), to = cast<T>(c->high);
	const auto range = widen(cast<T>(widen(to) - widen(from)));

	return from_uniform(c, out, [=](math_t<T> u) {
		T value = cast<T>(fused(u, range, widen(from)));

		return widen(value) == widen(to) ? from : value;
	});
}

template <typename T>
static uint64_t pytorch_normal(const layout_case *c, T *out)
{
	const math_t<T> mean = c->mean, std = c->std;

	return from_normal(c, out, [=](math_t<T> z) {
		return cast<T>(fused(z, std, mean));
	});
}

template <typename T>
static uint64_t pytorch_log_normal(const layout_case *c, T *out)
{
	const math_t<T> mean = c->mean, deviation = c->std;

	return from_normal(c, out, [=](math_t<T> z) {
		return cast<T>(std::exp(fused(z, deviation, mean)));
	});
}

template <typename T>
static uint64_t pytorch_exponential(const layout_case *c, T *out)
{
	using math = math_t<T>;
	const math rate = c->rate;
	const math half = std::numeric_limits<math>::epsilon() / 2;

	return from_uniform(c, out, [=](math u) {
		math log = u >= 1 - half ? -half : std::log(u);

		return cast<T>(math(-1) / rate * log);
	});
}

template <typename T>
static uint64_t pytorch_bernoulli(const layout_case *c, T *out)
{
	const math_t<T> p = c->p;

	return from_uniform(c, out, [=](math_t<T> u) {
		return cast<T>(u < p ? 1.0f : 0.0f);
	});
}

template <typename T>
static uint64_t pytorch_integer(const layout_case *c, T *out)
{
	const uint64_t range = c->to - c->from + 1, base = c->from;
	auto make = [=](uint64_t draw) { return (T)(draw % range + base); };

	if (range == 0 || range >= (uint64_t)1 << 28)
		return distribution(c, out, draw_u64, [=](uint64_t draw) {
			return range ? make(draw) : (T)draw;
		});
	return distribution(
		c, out, [](state_t *s) { return curand4(s); },
		[=](uint32_t draw) { return make(draw); });
}

/* Words, as random_() of whole tensors draws them: 32 bits or 64. */
static uint64_t pytorch_bits(const layout_case *c, void *out)
{
	if (is(c->dtype, "u64"))
		return distribution(c, (uint64_t *)out, draw_u64,
				    [](uint64_t draw) { return draw; });
	return distribution(
		c, (uint32_t *)out, [](state_t *s) { return curand4(s); },
		[](uint32_t draw) { return draw; });
}

/* --- PyTorch's native_dropout --------------------------------------------- */

/* r is 1 for an element that is kept, else 0. */
template <typename T> static T drop(uint64_t element, float r, math_t<T> scale)
{
	math_t<T> x = widen(cast<T>(layout_input(element)));

	return cast<T>(x * r * scale);
}

template <typename T>
static void dropout_vectors(const layout_case *c, T *out, uint64_t vector)
{
	const uint64_t threads = (uint64_t)BLOCK * pytorch_grid(c);
	const math_t<T> p = 1. - c->p, scale = 1.0 / p;

	for (uint64_t t = 0; t < threads; t++) {
		state_t state;

		curand_init(c->seed, t, c->offset, &state);
		for (uint64_t at = t * vector; at < c->elements;
		     at += threads * vector) {
			float4 values[2];

			for (uint64_t k = 0; k < (vector + 3) / 4; k++)
				values[k] = curand_uniform4(&state);
			for (uint64_t i = 0; i < vector; i++) {
				float u = (&values[i / 4].x)[i % 4];

				out[at + i] = drop<T>(at + i, u < p, scale);
			}
		}
	}
}

template <typename T>
static uint64_t pytorch_dropout(const layout_case *c, T *out)
{
	const uint64_t threads = (uint64_t)BLOCK * pytorch_grid(c);
	const math_t<T> p = 1. - c->p, scale = 1.0 / p;
	uint64_t vector = c->vector ? c->vector : 16 / sizeof(T);

	if (c->p == 1) {
		for (uint64_t i = 0; i < c->elements; i++)
			out[i] = cast<T>(0.0f);
		return 0;
	}
	while (c->elements % vector)
		vector /= 2;
	if (vector > 1) {
		dropout_vectors(c, out, vector);
	} else {
		layout_case copy = *c;
		float *u = new float[c->elements];

		distribution(
			&copy, u, [](state_t *s) { return curand_uniform4(s); },
			[](float value) { return value; });
		for (uint64_t i = 0; i < c->elements; i++)
			out[i] = drop<T>(i, u[i] < p, scale);
		delete[] u;
	}
	return ((c->elements - 1) / (threads * 4) + 1) * 4;
}

template <typename T>
static int pytorch(const layout_case *c, T *out, uint64_t *n)
{
	if (is(c->dist, "uniform"))
		*n = pytorch_uniform(c, out);
	else if (is(c->dist, "normal"))
		*n = pytorch_normal(c, out);
	else if (is(c->dist, "log_normal"))
		*n = pytorch_log_normal(c, out);
	else if (is(c->dist, "exponential"))
		*n = pytorch_exponential(c, out);
	else if (is(c->dist, "bernoulli"))
		*n = pytorch_bernoulli(c, out);
	else if (is(c->dist, "dropout"))
		*n = pytorch_dropout(c, out);
	else
		return 0;
	return 1;
}

/* --- nvFuser -------------------------------------------------------------- */

static uint4 nvfuser_block(const layout_case *c, uint64_t index)
{
	state_t state;

	curand_init(c->seed, index, c->offset, &state);
	return curand4(&state);
}

static float uniform_f32(uint32_t word)
{
	float u = _curand_uniform(word);

	return u == 1.0f ? 0.0f : u;
}

/* 16-bit dtypes take 1 for 0 after rounding, f32 and f64 before. */
template <typename T> static T nvfuser_uniform(const layout_case *c, uint64_t i)
{
	uint4 words = nvfuser_block(c, i / 4);
	float from = c->low, to = c->high, range = to - from;
	uint32_t word = (&words.x)[i % 4];

	if constexpr (std::is_same_v<T, float>) {
		return fused(range, uniform_f32(word), from);
	} else {
		T x = cast<T>(fused(range, _curand_uniform(word), from));

		return widen(x) == widen(cast<T>(to)) ? cast<T>(from) : x;
	}
}

template <> double nvfuser_uniform<double>(const layout_case *c, uint64_t i)
{
	uint4 words = nvfuser_block(c, i / 2);
	const uint32_t *w = &words.x + i % 2 * 2;
	double u = _curand_uniform_double_hq(w[0], w[1]);

	u = u == 1.0 ? 0.0 : u;
	return fused(c->high - c->low, u, c->low);
}

template <typename T> static T nvfuser_normal(const layout_case *c, uint64_t i)
{
	uint4 words = nvfuser_block(c, i / 4);
	const uint32_t *w = &words.x + i % 4 / 2 * 2;
	float u = uniform_f32(w[0]), v = uniform_f32(w[1]) * 6.2831855f;
	float radius = sqrtf(-2.0f * logf(u));
	float z = radius * (i % 2 ? cosf(v) : sinf(v));

	return cast<T>(fused(z, (float)c->std, (float)c->mean));
}

template <> double nvfuser_normal<double>(const layout_case *c, uint64_t i)
{
	uint4 w = nvfuser_block(c, i / 2);
	double u = _curand_uniform_double_hq(w.x, w.y);
	double v = _curand_uniform_double_hq(w.z, w.w);
	double z;

	u = u == 1.0 ? 0.0 : u;
	v = (v == 1.0 ? 0.0 : v) * 6.2831853071795860;
	z = sqrt(-2.0 * log(u)) * (i % 2 ? cos(v) : sin(v));
	return fused(z, c->std, c->mean);
}

static float nvfuser_dropout(const layout_case *c, uint64_t i)
{
	uint4 words = nvfuser_block(c, i / 4);
	double keep = 1 - c->p;
	float u = uniform_f32((&words.x)[i % 4]);

	return (float)layout_input(i) * (u < (float)keep ? 1.0f : 0.0f) *
	       (float)(1 / (keep == 0 ? 1 : keep));
}

template <typename T> static int nvfuser(const layout_case *c, T *out)
{
	for (uint64_t i = 0; i < c->elements; i++)
		if (is(c->dist, "uniform"))
			out[i] = nvfuser_uniform<T>(c, i);
		else if (is(c->dist, "normal"))
			out[i] = nvfuser_normal<T>(c, i);
		else if (is(c->dist, "dropout") && std::is_same_v<T, float>)
			out[i] = nvfuser_dropout(c, i);
		else
			return 0;
	return 1;
}

/* --- all of them ---------------------------------------------------------- */

template <typename T>
static int by_dtype(const layout_case *c, void *out, uint64_t *advance)
{
	if (is(c->layout, "pytorch"))
		return pytorch(c, (T *)out, advance);
	*advance = 4;
	return is(c->layout, "nvfuser") && nvfuser(c, (T *)out);
}

static int whole_numbers(const layout_case *c, void *out, uint64_t *advance)
{
	if (!is(c->layout, "pytorch"))
		return 0;
	if (is(c->dist, "bits"))
		*advance = pytorch_bits(c, out);
	else if (is(c->dist, "integer") && strstr(c->dtype, "64"))
		*advance = pytorch_integer(c, (uint64_t *)out);
	else if (is(c->dist, "integer"))
		*advance = pytorch_integer(c, (uint32_t *)out);
	else
		return 0;
	return 1;
}

int oracle_layout(const layout_case *c, void *out, uint64_t *advance)
{
	*advance = 4;
	if (is(c->layout, "curand_device"))
		return curand_device(c, out, advance);
	if (strchr("ui", c->dtype[0]))
		return whole_numbers(c, out, advance);
	if (is(c->dtype, "f64"))
		return by_dtype<double>(c, out, advance);
	if (is(c->dtype, "f32"))
		return by_dtype<float>(c, out, advance);
	if (is(c->dtype, "bf16"))
		return by_dtype<bf16>(c, out, advance);
	return is(c->dtype, "f16") && by_dtype<f16>(c, out, advance);
}

#endif
