// tools/bench/peers/random123.cpp - arrays filled as a user of Random123 would
//
// A separate library, with which `philox bench` compares fills. Plain loops
// over Philox4x32-10 and the header's own conversions: what they reach is up to
// the compiler. A counter of 32 bits, or a loop over a block's words, would
// keep clang 14 from vectorising them.

#include <stddef.h>
#include <stdint.h>
#include <Random123/philox.h>
#include <Random123/boxmuller.hpp>
#include <Random123/uniform.hpp>

using r123::Philox4x32;

#define EXPORT extern "C" __attribute__((visibility("default")))

static inline uint64_t join(uint32_t low, uint32_t high)
{
	return (uint64_t)high << 32 | low;
}

// convert() writes a block's numbers from its words: 16 bytes
template <typename T, typename Convert>
static inline void fill(T *__restrict out, size_t bytes, uint64_t seed,
			Convert convert)
{
	const Philox4x32::key_type key = {
		{(uint32_t)seed, (uint32_t)(seed >> 32)}};
	const size_t blocks = bytes / 16;
	Philox4x32 philox;

	for (size_t i = 0; i < blocks; i++) {
		Philox4x32::ctr_type counter = {
			{(uint32_t)i, (uint32_t)(i >> 32), 0, 0}};

		convert(out + 16 / sizeof(T) * i, philox(counter, key));
	}
}

// Was this compiled for what the processor can do?
static bool runs_here(void)
{
	bool runs = true;

#ifdef __AVX2__
	runs = runs && __builtin_cpu_supports("avx2");
#endif
#ifdef __AVX512F__
	runs = runs && __builtin_cpu_supports("avx512f");
#endif
#ifdef __AVX512VL__
	runs = runs && __builtin_cpu_supports("avx512vl");
#endif
	return runs;
}

// Null if it cannot run here
EXPORT const char *random123_version(void)
{
	if (!runs_here())
		return nullptr;
#ifdef __clang__
	return "Random123, " __VERSION__;
#else
	return "Random123, gcc " __VERSION__;
#endif
}

EXPORT void random123_bits_u32(uint32_t *out, size_t bytes, uint64_t seed)
{
	fill(out, bytes, seed, [](uint32_t *to, Philox4x32::ctr_type w) {
		to[0] = w[0];
		to[1] = w[1];
		to[2] = w[2];
		to[3] = w[3];
	});
}

// The same bytes
EXPORT void random123_bits_u64(uint32_t *out, size_t bytes, uint64_t seed)
{
	random123_bits_u32(out, bytes, seed);
}

EXPORT void random123_uniform_f32(float *out, size_t bytes, uint64_t seed)
{
	fill(out, bytes, seed, [](float *to, Philox4x32::ctr_type w) {
		to[0] = r123::u01<float>(w[0]);
		to[1] = r123::u01<float>(w[1]);
		to[2] = r123::u01<float>(w[2]);
		to[3] = r123::u01<float>(w[3]);
	});
}

EXPORT void random123_uniform_f64(double *out, size_t bytes, uint64_t seed)
{
	fill(out, bytes, seed, [](double *to, Philox4x32::ctr_type w) {
		to[0] = r123::u01<double>(join(w[0], w[1]));
		to[1] = r123::u01<double>(join(w[2], w[3]));
	});
}

EXPORT void random123_normal_f32(float *out, size_t bytes, uint64_t seed)
{
	fill(out, bytes, seed, [](float *to, Philox4x32::ctr_type w) {
		r123::float2 low = r123::boxmuller(w[0], w[1]);
		r123::float2 high = r123::boxmuller(w[2], w[3]);

		to[0] = low.x;
		to[1] = low.y;
		to[2] = high.x;
		to[3] = high.y;
	});
}

EXPORT void random123_normal_f64(double *out, size_t bytes, uint64_t seed)
{
	fill(out, bytes, seed, [](double *to, Philox4x32::ctr_type w) {
		r123::double2 pair =
			r123::boxmuller(join(w[0], w[1]), join(w[2], w[3]));

		to[0] = pair.x;
		to[1] = pair.y;
	});
}
