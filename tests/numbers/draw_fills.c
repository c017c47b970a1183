/*
 * tests/numbers/draw_fills.c - your own kernel draws the numbers of a fill
 *
 * Every kind of fill, from random states and first elements, with random
 * parameters, against the functions of philox/draw*.h and integers.h: each
 * element by itself and, where such functions exist, block by block.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include "tests/support/fills.h"

enum { MOST = 70, ROUNDS = 60 };

/* --- random numbers for the test ------------------------------------------ */

static uint64_t random_bits(void)
{
	static uint64_t x = 88172645463325252ULL;

	x ^= x << 13;
	x ^= x >> 7;
	return x ^= x << 17;
}

static double random_between(double low, double high)
{
	return low + (high - low) * (double)(random_bits() >> 11) * 0x1p-53;
}

/* Of any size: small and large ones are equally likely. */
static uint64_t random_size(void)
{
	return random_bits() >> random_bits() % 64;
}

/* One in eight states is poisoned. */
static struct philox_state random_state(void)
{
	struct philox_state state = {random_bits(), 4 * random_size()};

	if (random_bits() % 8 == 0)
		state.offset |= 1;
	return state;
}

static struct philox_span random_span(void)
{
	uint64_t count = 1 + random_bits() % MOST, first = random_size();

	if (random_bits() % 8 == 0 || first > UINT64_MAX - count)
		first = UINT64_MAX - count + 1;
	return philox_span_elements(first, count);
}

/* Both ends are numbers of the dtype, so that only the top is rounded. */
static void random_range(struct philox_fill_desc *fill)
{
	fill->low = (double)(int)(random_bits() % 200) / 8 - 9;
	fill->high = fill->low + (double)(1 + random_bits() % 80) / 8;
	if (fill->dtype == PHILOX_DTYPE_BF16 ||
	    fill->dtype == PHILOX_DTYPE_F16) {
		fill->low = 0;
		fill->high = 1;
	}
}

static void random_integers(struct philox_fill_desc *fill)
{
	uint64_t a = random_bits(), b = a + random_size();

	if (fill->dtype == PHILOX_DTYPE_U32 ||
	    fill->dtype == PHILOX_DTYPE_I32) {
		a = (uint32_t)a;
		b = random_bits() % 8 ? a + (random_size() >> 32) : UINT32_MAX;
		b = b > UINT32_MAX ? UINT32_MAX : b;
		a = b == UINT32_MAX && random_bits() % 2 ? 0 : a;
	} else if (a > b || random_bits() % 8 == 0) {
		a = 0;
		b = UINT64_MAX;
	}
	if (fill->dtype == PHILOX_DTYPE_I32) {
		a = (uint64_t)((int64_t)a + INT32_MIN);
		b = (uint64_t)((int64_t)b + INT32_MIN);
	} else if (fill->dtype == PHILOX_DTYPE_I64) {
		a += (uint64_t)1 << 63;
		b += (uint64_t)1 << 63;
	}
	fill->from = a;
	fill->to = b;
}

/* Of any size that the dtype has, and a span that ends in it. */
static void random_order(struct philox_fill_desc *fill, size_t size)
{
	uint64_t n = (random_size() >> 1) >> (64 - 8 * size);

	fill->n = n + 1;
	fill->span.first %= fill->n;
	if (fill->span.count > fill->n - fill->span.first)
		fill->span.count = fill->n - fill->span.first;
}

static struct philox_fill_desc random_fill(const struct fill_name *name)
{
	struct philox_fill_desc fill = plain_fill(name);
	uint64_t choice = random_bits() % 8;

	fill.span = random_span();
	if (fill.dist == PHILOX_DIST_SIGNS && fill.dtype == PHILOX_DTYPE_U32)
		fill.span.first >>= 5;
	if (fill.span.first > ((uint64_t)1 << 59) - MOST &&
	    fill.dist == PHILOX_DIST_SIGNS && fill.dtype == PHILOX_DTYPE_U32)
		fill.span.first = ((uint64_t)1 << 59) - fill.span.count;
	fill.p = choice < 2 ? (double)choice : random_between(0, 1);
	fill.mean = random_between(-3, 3);
	fill.std = random_between(0.01, 2);
	fill.rate = random_between(0.01, 20);
	random_range(&fill);
	random_integers(&fill);
	if (fill.dist == PHILOX_DIST_PERMUTATION)
		random_order(&fill, name->size);
	return fill;
}

/* --- f32 ------------------------------------------------------------------ */

static float ranged(const struct philox_fill_desc *fill, struct philox_state s,
		    float u)
{
	float low = (float)fill->low, high = (float)fill->high;

	return philox_or_poison(s,
				philox_range_f32(u, high - low, low, low,
						 nextafterf(high, -FLT_MAX)));
}

static double ranged_f64(const struct philox_fill_desc *fill,
			 struct philox_state s, double u)
{
	double low = fill->low, top = nextafter(fill->high, -DBL_MAX);

	return philox_or_poison_f64(
		s, philox_range_f64(u, fill->high - low, low, low, top));
}

static float scaled(const struct philox_fill_desc *fill, struct philox_state s,
		    float x)
{
	switch (fill->dist) {
	case PHILOX_DIST_UNIFORM:
		return ranged(fill, s, x);
	case PHILOX_DIST_NORMAL:
		return philox_multiply_add(x, (float)fill->std,
					   (float)fill->mean);
	case PHILOX_DIST_EXPONENTIAL:
		return philox_multiply(x, (float)(1 / fill->rate));
	default:
		return x;
	}
}

static float draw_one(const struct philox_fill_desc *fill,
		      struct philox_state s, uint64_t e, float x)
{
	switch (fill->dist) {
	case PHILOX_DIST_UNIFORM:
		return philox_uniform_at(s, e);
	case PHILOX_DIST_NORMAL:
		return philox_normal_at(s, e);
	case PHILOX_DIST_LOG_NORMAL:
		return philox_log_normal_at(s, e, (float)fill->mean,
					    (float)fill->std);
	case PHILOX_DIST_EXPONENTIAL:
		return philox_exponential_at(s, e);
	case PHILOX_DIST_GUMBEL:
		return philox_gumbel_at(s, e);
	case PHILOX_DIST_BERNOULLI:
		return philox_bernoulli_at(s, e, philox_threshold(fill->p));
	case PHILOX_DIST_SIGNS:
		return philox_sign_at(s, e);
	default:
		return philox_dropout_at(s, e, x, philox_threshold(fill->p),
					 philox_dropout_scale(fill->p));
	}
}

static struct philox_f32x4 draw_four(const struct philox_fill_desc *fill,
				     struct philox_state s, uint64_t b,
				     struct philox_f32x4 x)
{
	switch (fill->dist) {
	case PHILOX_DIST_UNIFORM:
		return philox_uniform4(s, b);
	case PHILOX_DIST_NORMAL:
		return philox_normal4(s, b);
	case PHILOX_DIST_LOG_NORMAL:
		return philox_log_normal4(s, b, (float)fill->mean,
					  (float)fill->std);
	case PHILOX_DIST_EXPONENTIAL:
		return philox_exponential4(s, b);
	case PHILOX_DIST_GUMBEL:
		return philox_gumbel4(s, b);
	case PHILOX_DIST_BERNOULLI:
		return philox_bernoulli4(s, b, philox_threshold(fill->p));
	default:
		return philox_dropout4(s, b, x, philox_threshold(fill->p),
				       philox_dropout_scale(fill->p));
	}
}

/* --- f64 ------------------------------------------------------------------ */

static double scaled_f64(const struct philox_fill_desc *fill,
			 struct philox_state s, double x)
{
	switch (fill->dist) {
	case PHILOX_DIST_UNIFORM:
		return ranged_f64(fill, s, x);
	case PHILOX_DIST_NORMAL:
		return philox_multiply_add_f64(x, fill->std, fill->mean);
	case PHILOX_DIST_EXPONENTIAL:
		return philox_multiply_f64(x, 1 / fill->rate);
	default:
		return x;
	}
}

static double draw_one_f64(const struct philox_fill_desc *fill,
			   struct philox_state s, uint64_t e, double x)
{
	switch (fill->dist) {
	case PHILOX_DIST_UNIFORM:
		return philox_uniform_f64_at(s, e);
	case PHILOX_DIST_NORMAL:
		return philox_normal_f64_at(s, e);
	case PHILOX_DIST_LOG_NORMAL:
		return philox_log_normal_f64_at(s, e, fill->mean, fill->std);
	case PHILOX_DIST_EXPONENTIAL:
		return philox_exponential_f64_at(s, e);
	case PHILOX_DIST_GUMBEL:
		return philox_gumbel_f64_at(s, e);
	case PHILOX_DIST_BERNOULLI:
		return (double)philox_bernoulli_at(s, e,
						   philox_threshold(fill->p));
	default:
		return philox_dropout_f64_at(s, e, x, philox_threshold(fill->p),
					     philox_dropout_scale_f64(fill->p));
	}
}

static struct philox_f64x2 draw_two(const struct philox_fill_desc *fill,
				    struct philox_state s, uint64_t b)
{
	switch (fill->dist) {
	case PHILOX_DIST_UNIFORM:
		return philox_uniform2(s, b);
	case PHILOX_DIST_NORMAL:
		return philox_normal2(s, b);
	case PHILOX_DIST_LOG_NORMAL:
		return philox_log_normal2(s, b, fill->mean, fill->std);
	case PHILOX_DIST_EXPONENTIAL:
		return philox_exponential2(s, b);
	default:
		return philox_gumbel2(s, b);
	}
}

/* --- an element of any kind ----------------------------------------------- */

/* With 64 bits per draw a block has two elements. */
static int is_wide(const struct philox_fill_desc *fill)
{
	return fill->dtype == PHILOX_DTYPE_U64 ||
	       fill->dtype == PHILOX_DTYPE_I64 ||
	       (fill->dtype == PHILOX_DTYPE_F64 &&
		fill->dist != PHILOX_DIST_BERNOULLI &&
		fill->dist != PHILOX_DIST_DROPOUT);
}

/* As many bits of x as the dtype has. */
static uint64_t narrow(enum philox_dtype dtype, float x)
{
	if (dtype == PHILOX_DTYPE_BF16)
		return philox_f32_to_bf16(x);
	return dtype == PHILOX_DTYPE_F16 ? philox_f32_to_f16(x)
					 : philox_f32_bits(x);
}

static float widen(const struct philox_fill_desc *fill, const void *in,
		   size_t i)
{
	if (fill->dist == PHILOX_DIST_STOCHASTIC_ROUND ||
	    fill->dtype == PHILOX_DTYPE_F32)
		return ((const float *)in)[i];
	return fill->dtype == PHILOX_DTYPE_BF16
		       ? philox_bf16_to_f32(((const uint16_t *)in)[i])
		       : philox_f16_to_f32(((const uint16_t *)in)[i]);
}

/* Prepared anew for each: only fills keep what philox_truncated_of() makes. */
static uint64_t truncated_at(const struct philox_fill_desc *fill,
			     struct philox_state s, uint64_t e)
{
	const struct philox_truncated d = philox_truncated_of(
		fill->mean, fill->std, fill->low, fill->high);

	if (fill->dtype == PHILOX_DTYPE_BF16)
		return philox_truncated_bf16_at(s, e, &d);
	return fill->dtype == PHILOX_DTYPE_F16
		       ? philox_truncated_f16_at(s, e, &d)
		       : philox_f32_bits(philox_truncated_at(s, e, &d));
}

static uint64_t whole_at(const struct philox_fill_desc *fill,
			 struct philox_state s, uint64_t e)
{
	int is_bits = fill->dist == PHILOX_DIST_BITS;

	if (fill->dist == PHILOX_DIST_SIGNS)
		return philox_sign_bits(s, e);
	if (fill->dist == PHILOX_DIST_PERMUTATION)
		return is_wide(fill) ? philox_permute(s, fill->n, e)
				     : (uint32_t)philox_permute(s, fill->n, e);
	if (fill->dist == PHILOX_DIST_CATEGORICAL)
		return philox_categorical_at(s, e, fill->in, fill->n) &
		       (is_wide(fill) ? UINT64_MAX : UINT32_MAX);
	if (is_wide(fill))
		return is_bits ? philox_word64_at(s, e)
			       : philox_integer64_at(
					 s, e,
					 philox_interval_u64(fill->from,
							     fill->to));
	return is_bits ? philox_word_at(s, e)
		       : philox_integer_at(
				 s, e,
				 philox_interval_u32((uint32_t)fill->from,
						     (uint32_t)fill->to));
}

static uint64_t half_at(const struct philox_fill_desc *fill,
			struct philox_state s, uint64_t e, float x)
{
	int is_bf16 = fill->dtype == PHILOX_DTYPE_BF16;

	if (fill->dist == PHILOX_DIST_UNIFORM)
		return is_bf16 ? philox_uniform_bf16_at(s, e)
			       : philox_uniform_f16_at(s, e);
	if (fill->dist == PHILOX_DIST_STOCHASTIC_ROUND)
		return is_bf16 ? philox_round_bf16_at(s, e, x)
			       : philox_round_f16_at(s, e, x);
	return narrow(fill->dtype, scaled(fill, s, draw_one(fill, s, e, x)));
}

/* The bits of element number i of a fill, drawn by itself. */
static uint64_t bits_at(const struct philox_fill_desc *fill,
			struct philox_state s, size_t i)
{
	uint64_t e = fill->span.first + i;
	double x;

	if (fill->dist == PHILOX_DIST_TRUNCATED_NORMAL)
		return truncated_at(fill, s, e);
	switch (fill->dtype) {
	case PHILOX_DTYPE_F32:
		return philox_f32_bits(
			scaled(fill, s,
			       draw_one(fill, s, e, widen(fill, fill->in, i))));
	case PHILOX_DTYPE_F64:
		x = ((const double *)fill->in)[i];
		return philox_f64_bits(
			scaled_f64(fill, s, draw_one_f64(fill, s, e, x)));
	case PHILOX_DTYPE_BF16:
	case PHILOX_DTYPE_F16:
		return half_at(fill, s, e, widen(fill, fill->in, i));
	default:
		return whole_at(fill, s, e);
	}
}

/* --- blocks --------------------------------------------------------------- */

static void whole_block(const struct philox_fill_desc *fill,
			struct philox_state s, uint64_t block, uint64_t bits[4])
{
	struct philox_words four = philox_words4(s, block);
	struct philox_words64 two = philox_words2(s, block);

	if (fill->dist == PHILOX_DIST_INTEGERS) {
		four = philox_integers4(
			s, block,
			philox_interval_u32((uint32_t)fill->from,
					    (uint32_t)fill->to));
		two = philox_integers2(
			s, block, philox_interval_u64(fill->from, fill->to));
	}
	for (int i = 0; i < (is_wide(fill) ? 2 : 4); i++)
		bits[i] = is_wide(fill) ? two.w[i] : four.w[i];
}

/* The inputs of a block: those outside the span are not compared. */
static struct philox_f32x4 inputs(const struct philox_fill_desc *fill,
				  uint64_t block)
{
	struct philox_f32x4 x = {{0, 0, 0, 0}};

	for (unsigned i = 0; i < 4; i++) {
		uint64_t index = 4 * block + i - fill->span.first;

		if (index < fill->span.count)
			x.v[i] = widen(fill, fill->in, index);
	}
	return x;
}

/* Makes the elements of a block; returns 0 if there is no function for it. */
static int block_bits(const struct philox_fill_desc *fill,
		      struct philox_state s, uint64_t block, uint64_t bits[4])
{
	struct philox_f32x4 four;
	struct philox_f64x2 two;

	if (fill->dist == PHILOX_DIST_PERMUTATION ||
	    fill->dist == PHILOX_DIST_TRUNCATED_NORMAL ||
	    fill->dist == PHILOX_DIST_CATEGORICAL)
		return 0;
	if (fill->dist == PHILOX_DIST_BITS ||
	    fill->dist == PHILOX_DIST_INTEGERS) {
		whole_block(fill, s, block, bits);
	} else if (is_wide(fill)) {
		two = draw_two(fill, s, block);
		for (int i = 0; i < 2; i++)
			bits[i] =
				philox_f64_bits(scaled_f64(fill, s, two.v[i]));
	} else if (fill->dtype == PHILOX_DTYPE_F64 ||
		   fill->dist == PHILOX_DIST_STOCHASTIC_ROUND ||
		   fill->dist == PHILOX_DIST_SIGNS ||
		   (fill->dist == PHILOX_DIST_UNIFORM &&
		    fill->dtype != PHILOX_DTYPE_F32)) {
		return 0;
	} else {
		four = draw_four(fill, s, block, inputs(fill, block));
		for (int i = 0; i < 4; i++)
			bits[i] =
				narrow(fill->dtype, scaled(fill, s, four.v[i]));
	}
	return 1;
}

/* --- against fills -------------------------------------------------------- */

struct bed {
	struct philox_state *cell;
	void *in, *out;
};

static uint64_t written(const struct philox_fill_desc *fill, size_t size,
			size_t i)
{
	uint64_t bits = 0;

	memcpy(&bits, (const char *)fill->out + i * size, size);
	return bits;
}

static void compare(const struct philox_fill_desc *fill,
		    const struct fill_name *name, struct philox_state s)
{
	uint64_t per_block = is_wide(fill) ? 2 : 4, four[4];

	for (size_t i = 0; i < fill->span.count; i++) {
		uint64_t e = fill->span.first + i;
		uint64_t wanted = written(fill, name->size, i);

		cr_assert_eq(bits_at(fill, s, i), wanted,
			     "%s: element %" PRIu64 " of {%" PRIu64 ", %" PRIu64
			     "}",
			     name->name, e, s.seed, s.offset);
		if (block_bits(fill, s, e / per_block, four))
			cr_assert_eq(four[e % per_block], wanted,
				     "%s: element %" PRIu64 " of its block",
				     name->name, e);
	}
}

static void compare_once(struct fixture *f, const struct bed *bed,
			 const struct fill_name *name)
{
	struct philox_fill_desc fill = random_fill(name);
	struct philox_rng rng = {.cell = bed->cell};

	*bed->cell = random_state();
	fill.in = bed->in;
	give_sums(f, &fill);
	fill.out = bed->out;
	OK(philox_rng_fill(f->device, f->stream, rng, &fill));
	OK(philox_stream_synchronize(f->device, f->stream));
	compare(&fill, name, *bed->cell);
}

PROMISE(draw, elements_and_blocks_of_every_kind_are_those_of_fills)
{
	struct bed bed = {.cell = make_memory(f, sizeof(*bed.cell)),
			  .in = make_memory(f, MOST * 8),
			  .out = make_memory(f, MOST * 8)};

	scatter(bed.in, MOST * 8);
	for (size_t k = 0; k < n_fill_names; k++)
		for (int i = 0; i < ROUNDS; i++)
			compare_once(f, &bed, &fill_names[k]);
}

/* --- integers ------------------------------------------------------------- */

/* 2^32 and 2^64 mod n, bit by bit. */
static uint64_t power_modulo(int bits, uint64_t n)
{
	uint64_t rest = 1 % n;

	for (int i = 0; i < bits; i++)
		rest = rest >= n - rest ? rest - (n - rest) : rest + rest;
	return rest;
}

Test(draw, an_interval_is_all_of_its_integers)
{
	struct philox_interval all32 = philox_interval_u32(0, UINT32_MAX);
	struct philox_interval all64 = philox_interval_u64(0, UINT64_MAX);

	cr_assert_eq(all32.n, (uint64_t)1 << 32);
	cr_assert_eq(all32.reject, 0);
	cr_assert_eq(all64.n, 0);
	cr_assert_eq(all64.reject, 0);
	for (int i = 0; i < 10000; i++) {
		uint64_t from = random_bits(), n = 1 + (random_size() >> 1);
		uint32_t n32 = (uint32_t)(n >> 32 ? n >> 32 : n);
		struct philox_interval wide, narrow;

		wide = philox_interval_u64(from, from + n - 1);
		cr_assert_eq(wide.from, from);
		cr_assert_eq(wide.n, n);
		cr_assert_eq(wide.reject, power_modulo(64, n));
		/* an i32 range includes 0 */
		narrow = philox_interval_u32((uint32_t)from,
					     (uint32_t)from + n32 - 1);
		cr_assert_eq((uint32_t)narrow.from, (uint32_t)from);
		cr_assert_eq(narrow.n, n32);
		cr_assert_eq(narrow.reject, power_modulo(32, n32));
	}
}
