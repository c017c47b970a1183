/*
 * tests/support/fills.c - see tests/support/fills.h
 */
#include "tests/support/fills.h"

#define REAL_NAMES(text, dist, f64_bits)                         \
	{text " f32", dist, PHILOX_F32, 4, 4, 32},               \
		{text " f64", dist, PHILOX_F64, 8, 8, f64_bits}, \
		{text " bf16", dist, PHILOX_BF16, 2, 2, 32},     \
	{                                                        \
		text " f16", dist, PHILOX_F16, 2, 2, 32          \
	}

const struct fill_name fill_names[] = {
	{"bits u32", PHILOX_BITS, PHILOX_U32, 4, 4, 32},
	{"bits u64", PHILOX_BITS, PHILOX_U64, 8, 8, 64},
	{"integers u32", PHILOX_INTEGERS, PHILOX_U32, 4, 4, 32},
	{"integers i32", PHILOX_INTEGERS, PHILOX_I32, 4, 4, 32},
	{"integers u64", PHILOX_INTEGERS, PHILOX_U64, 8, 8, 64},
	{"integers i64", PHILOX_INTEGERS, PHILOX_I64, 8, 8, 64},
	REAL_NAMES("uniform", PHILOX_UNIFORM, 64),
	REAL_NAMES("normal", PHILOX_NORMAL, 64),
	REAL_NAMES("log-normal", PHILOX_LOG_NORMAL, 64),
	REAL_NAMES("exponential", PHILOX_EXPONENTIAL, 64),
	REAL_NAMES("Gumbel", PHILOX_GUMBEL, 64),
	REAL_NAMES("Bernoulli", PHILOX_BERNOULLI, 32),
	REAL_NAMES("dropout", PHILOX_DROPOUT, 32),
	{"rounding bf16", PHILOX_STOCHASTIC_ROUND, PHILOX_BF16, 4, 2, 32},
	{"rounding f16", PHILOX_STOCHASTIC_ROUND, PHILOX_F16, 4, 2, 32},
};

const size_t n_fill_names = sizeof(fill_names) / sizeof(fill_names[0]);

/* Integers of which nearly half are drawn again. */
struct philox_fill plain_fill(const struct fill_name *name)
{
	return (struct philox_fill){.size = sizeof(struct philox_fill),
				    .dist = name->dist,
				    .dtype = name->dtype,
				    .p = 0.3,
				    .low = -1,
				    .high = 3,
				    .mean = 0.5,
				    .std = 2,
				    .rate = 3,
				    .from = 5,
				    .to = 5 + ((uint64_t)1 << 30) * 2 - 7};
}

void scatter(void *bytes, size_t size)
{
	uint32_t x = 1;

	for (size_t i = 0; i < size; i++) {
		x = x * 1664525u + 1013904223u;
		((unsigned char *)bytes)[i] = (unsigned char)(x >> 24);
	}
}
