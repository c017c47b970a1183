/*
 * tests/support/fills.c - see tests/support/fills.h
 */
#include "tests/support/fills.h"

#define REAL_NAMES(text, dist, f64_bits)                               \
	{text " f32", dist, PHILOX_DTYPE_F32, 4, 4, 32},               \
		{text " f64", dist, PHILOX_DTYPE_F64, 8, 8, f64_bits}, \
		{text " bf16", dist, PHILOX_DTYPE_BF16, 2, 2, 32},     \
	{                                                              \
		text " f16", dist, PHILOX_DTYPE_F16, 2, 2, 32          \
	}

const struct fill_name fill_names[] = {
	{"bits u32", PHILOX_DIST_BITS, PHILOX_DTYPE_U32, 4, 4, 32},
	{"bits u64", PHILOX_DIST_BITS, PHILOX_DTYPE_U64, 8, 8, 64},
	{"integers u32", PHILOX_DIST_INTEGERS, PHILOX_DTYPE_U32, 4, 4, 32},
	{"integers i32", PHILOX_DIST_INTEGERS, PHILOX_DTYPE_I32, 4, 4, 32},
	{"integers u64", PHILOX_DIST_INTEGERS, PHILOX_DTYPE_U64, 8, 8, 64},
	{"integers i64", PHILOX_DIST_INTEGERS, PHILOX_DTYPE_I64, 8, 8, 64},
	REAL_NAMES("uniform", PHILOX_DIST_UNIFORM, 64),
	REAL_NAMES("normal", PHILOX_DIST_NORMAL, 64),
	REAL_NAMES("log-normal", PHILOX_DIST_LOG_NORMAL, 64),
	REAL_NAMES("exponential", PHILOX_DIST_EXPONENTIAL, 64),
	REAL_NAMES("Gumbel", PHILOX_DIST_GUMBEL, 64),
	REAL_NAMES("Bernoulli", PHILOX_DIST_BERNOULLI, 32),
	REAL_NAMES("dropout", PHILOX_DIST_DROPOUT, 32),
	{"rounding bf16", PHILOX_DIST_STOCHASTIC_ROUND, PHILOX_DTYPE_BF16, 4, 2,
	 32},
	{"rounding f16", PHILOX_DIST_STOCHASTIC_ROUND, PHILOX_DTYPE_F16, 4, 2,
	 32},
	{"signs f32", PHILOX_DIST_SIGNS, PHILOX_DTYPE_F32, 4, 4, 32},
	{"signs bf16", PHILOX_DIST_SIGNS, PHILOX_DTYPE_BF16, 2, 2, 32},
	{"signs f16", PHILOX_DIST_SIGNS, PHILOX_DTYPE_F16, 2, 2, 32},
	{"signs u32", PHILOX_DIST_SIGNS, PHILOX_DTYPE_U32, 4, 4, 32},
	{"permutation u32", PHILOX_DIST_PERMUTATION, PHILOX_DTYPE_U32, 4, 4,
	 32},
	{"permutation i32", PHILOX_DIST_PERMUTATION, PHILOX_DTYPE_I32, 4, 4,
	 32},
	{"permutation u64", PHILOX_DIST_PERMUTATION, PHILOX_DTYPE_U64, 8, 8,
	 64},
	{"permutation i64", PHILOX_DIST_PERMUTATION, PHILOX_DTYPE_I64, 8, 8,
	 64},
	{"truncated normal f32", PHILOX_DIST_TRUNCATED_NORMAL, PHILOX_DTYPE_F32,
	 4, 4, 64},
	{"truncated normal bf16", PHILOX_DIST_TRUNCATED_NORMAL,
	 PHILOX_DTYPE_BF16, 2, 2, 64},
	{"truncated normal f16", PHILOX_DIST_TRUNCATED_NORMAL, PHILOX_DTYPE_F16,
	 2, 2, 64},
	{"categorical u32", PHILOX_DIST_CATEGORICAL, PHILOX_DTYPE_U32, 4, 4,
	 64},
	{"categorical i32", PHILOX_DIST_CATEGORICAL, PHILOX_DTYPE_I32, 4, 4,
	 64},
	{"categorical u64", PHILOX_DIST_CATEGORICAL, PHILOX_DTYPE_U64, 8, 8,
	 64},
	{"categorical i64", PHILOX_DIST_CATEGORICAL, PHILOX_DTYPE_I64, 8, 8,
	 64},
};

const size_t n_fill_names = sizeof(fill_names) / sizeof(fill_names[0]);

/* Integers of which nearly half are drawn again. */
struct philox_fill_desc plain_fill(const struct fill_name *name)
{
	int is_long = name->dtype == PHILOX_DTYPE_U64 ||
		      name->dtype == PHILOX_DTYPE_I64;

	return (struct philox_fill_desc){
		.size = sizeof(struct philox_fill_desc),
		.dist = name->dist,
		.dtype = name->dtype,
		.p = 0.3,
		.low = -1,
		.high = 3,
		.mean = 0.5,
		.std = 2,
		.rate = 3,
		.from = 5,
		.to = 5 + ((uint64_t)1 << 30) * 2 - 7,
		.n = name->dist == PHILOX_DIST_CATEGORICAL
			     ? PLAIN_CATEGORIES
			     : ((uint64_t)1 << (is_long ? 63 : 31)) - 25};
}

const uint64_t *plain_sums(void)
{
	static uint64_t sums[PLAIN_CATEGORIES];
	uint64_t sum = 0;

	for (uint64_t i = 0; i < PLAIN_CATEGORIES; i++) {
		sum += i % 3 == 1 ? 0 : (i % 3 + i % 7) * 0x84598185839ec;
		sums[i] = sum;
	}
	return sums;
}

void give_sums(struct fixture *f, struct philox_fill_desc *fill)
{
	if (fill->dist != PHILOX_DIST_CATEGORICAL)
		return;
	if (!f->sums)
		f->sums = upload(f, plain_sums(), PLAIN_CATEGORIES * 8);
	fill->in = f->sums;
}

int has_element(const struct fill_name *name, uint64_t element)
{
	return name->dist != PHILOX_DIST_PERMUTATION ||
	       element < plain_fill(name).n;
}

void scatter(void *bytes, size_t size)
{
	uint32_t x = 1;

	for (size_t i = 0; i < size; i++) {
		x = x * 1664525u + 1013904223u;
		((unsigned char *)bytes)[i] = (unsigned char)(x >> 24);
	}
}
