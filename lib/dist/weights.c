/*
 * lib/dist/weights.c - integer weights of real ones
 *
 * All is done in integers, on the bits of the weights: results depend neither
 * on a compiler nor on the rounding of a thread.
 */
#include <string.h>
#include <philox/weights.h>
#include "lib/base/base.h"

/* --- a weight ------------------------------------------------------------- */

/* A weight above 0: digits x 2^(place - 1074), as denormal numbers have it. */
struct weight {
	uint64_t digits; /* below 2^53 */
	unsigned place;  /* 0 .. 2045 */
};

static struct weight weight_of(double value)
{
	struct weight weight;
	uint64_t bits;
	unsigned exponent;

	memcpy(&bits, &value, sizeof(bits));
	exponent = bits >> 52 & 0x7ff;
	weight.digits = bits & (((uint64_t)1 << 52) - 1);
	if (exponent)
		weight.digits |= (uint64_t)1 << 52;
	weight.place = exponent ? exponent - 1 : 0;
	return weight;
}

/* Whether a value is finite and not below 0; -0 is 0. */
static int is_weight(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits < (uint64_t)0x7ff << 52 || bits == (uint64_t)1 << 63;
}

static int is_zero(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return !(bits << 1);
}

/* --- the sum of all ------------------------------------------------------- */

/* A sum of 2^64 weights is below 2^(2045 + 53 + 64) places. */
#define LIMBS 34

/* A whole number of places, in limbs of 64 bits, the lowest first. */
struct exact {
	uint64_t limbs[LIMBS];
};

static void add_weight(struct exact *sum, struct weight weight)
{
	const unsigned shift = weight.place % 64;
	const uint64_t parts[2] = {weight.digits << shift,
				   shift ? weight.digits >> (64 - shift) : 0};
	unsigned limb = weight.place / 64;
	uint64_t carry = 0;

	for (unsigned i = 0; i < 2 || carry; i++, limb++) {
		uint64_t *to = &sum->limbs[limb];
		const uint64_t part = i < 2 ? parts[i] : 0;
		const int over = __builtin_add_overflow(*to, part, to);

		carry = (uint64_t)(__builtin_add_overflow(*to, carry, to) |
				   over);
	}
}

/* How many binary digits it has; 0 has none. */
static int digits_of(const struct exact *sum)
{
	for (int i = LIMBS - 1; i >= 0; i--)
		if (sum->limbs[i])
			return 64 * i + 64 - __builtin_clzll(sum->limbs[i]);
	return 0;
}

/* --- sums ----------------------------------------------------------------- */

/*
 * The integer weight where a place is 2^shift: half is rounded up, and what is
 * above 0 is at least 1.
 */
static uint64_t integer_of(double value, int shift)
{
	const struct weight weight = weight_of(value);
	const int by = (int)weight.place + shift;
	uint64_t rounded = 0;

	if (is_zero(value))
		return 0;
	if (by >= 0)
		return weight.digits << by;
	if (by >= -54)
		rounded = (weight.digits + ((uint64_t)1 << (-by - 1))) >> -by;
	return rounded ? rounded : 1;
}

/* Checks all weights, and adds them up. */
static enum philox_status add_all(const double *weights, size_t count,
				  struct exact *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (size_t i = 0; i < count; i++) {
		if (!is_weight(weights[i]))
			return status_set(PHILOX_ERROR_INVALID,
					  "weights: weight %zu is %g, not "
					  "finite and at least 0",
					  i, weights[i]);
		if (!is_zero(weights[i]))
			add_weight(sum, weight_of(weights[i]));
	}
	if (digits_of(sum))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "weights: all weights are 0, of count %zu", count);
}

enum philox_status philox_weight_sums(const double *weights, size_t count,
				      uint64_t *sums)
{
	enum philox_status status;
	struct exact sum;
	uint64_t total = 0;
	int shift;

	if (!weights || !sums)
		return status_set(PHILOX_ERROR_INVALID, "weights: %s is NULL",
				  weights ? "sums" : "weights");
	if (!count)
		return status_set(PHILOX_ERROR_INVALID, "weights: count is 0");
	status = add_all(weights, count, &sum);
	if (status != PHILOX_OK)
		return status;
	shift = 62 - digits_of(&sum);
	for (size_t i = 0; i < count; i++) {
		total += integer_of(weights[i], shift);
		sums[i] = total;
	}
	return PHILOX_OK;
}
