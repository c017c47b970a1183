/*
 * philox/round.h - stochastic rounding to bf16, f16, 8 and 4 bits, for host
 * code and kernels alike
 *
 * A number x lies between two neighbours in a format, of magnitudes a <= |x| <
 * b. f = (|x| - a) / (b - a) is its fraction. An element has a field, N of its
 * random bits as an integer, and a rule says when the result is b, the
 * neighbour that is larger in magnitude; else it is a. The sign is that of x.
 *
 *   rule    b if                                     expectation
 *   FIXED   field < floor(f 2^N)                     x if f 2^N is an integer,
 *                                                    else nearer to 0 by less
 *                                                    than (b - a) 2^-N
 *   EXACT   as FIXED; but where field = floor(f      x
 *           2^N) and f has more bits, the next 32
 *           of them are compared with a word more:
 *           that of the element at the state
 *           philox_retry_state(state, t), t = 0, 1
 *           ..., until they differ or f has no more
 *
 * So EXACT has the expectation x for every x up to the largest number. FIXED
 * falls short by half of (b - a) 2^-N on average: with 8 bits, step / 512.
 *
 * The field of element e (a global index, as in philox/state.h):
 *
 *   bits N   field
 *   32       word e % 4 of subsequence e / 4
 *   16       half e % 8 of subsequence e / 8: half h is in word h / 2, the low
 *            half first
 *   8        byte e % 16 of subsequence e / 16: byte b is in word b / 4, the
 *            lowest first
 *
 * Retries are words of 32 bits, whatever N is. An operator's call advances by
 * 4.
 *
 * The formats, whose numbers are given by their bits:
 *
 *   format   sign, exponent, digits   largest         NaN    infinity
 *   BF16     1, 8, 7                  2^128 - 2^120   yes    yes
 *   F16      1, 5, 10                 65504           yes    yes (IEEE 754)
 *   E4M3     1, 4, 3                  448             0x7f   none (OCP OFP8)
 *   E5M2     1, 5, 2                  57344           0x7f   0x7c (OCP OFP8)
 *   E2M1     1, 2, 1                  6               none   none (OCP MX)
 *
 * Subnormal numbers are among them all. What else happens to x:
 *
 *   x                                    result
 *   0, with either sign                  0, with its sign
 *   a result beyond the largest number,
 *   also of an infinity:
 *     saturating (always E2M1)           the largest number, with x's sign
 *     else: BF16, F16, E5M2              infinity, with x's sign
 *     else: E4M3                         NaN, with x's sign
 *   NaN: BF16, F16                       x's sign and upper digits, quiet
 *     E4M3, E5M2                         0x7f, without a sign
 *     E2M1                               6
 *
 * Without saturation infinity (for E4M3 NaN) is the neighbour that follows the
 * largest number. These are OCP's two modes of overflow (OFP8 1.0, section
 * 5.2), and for NaN what PTX says of cvt with .satfinite. BF16 and F16 with 32
 * bits and FIXED, not saturating, are philox_round_bf16() and
 * philox_round_f16().
 *
 * During capture: all functions here are legal.
 * Threads: any, at any time.
 */
#ifndef PHILOX_ROUND_H
#define PHILOX_ROUND_H

#include <philox/draw.h>

#ifdef __cplusplus
extern "C" {
#endif

enum philox_format {
	PHILOX_FORMAT_BF16 = 0,
	PHILOX_FORMAT_F16 = 1,
	PHILOX_FORMAT_E4M3 = 2,
	PHILOX_FORMAT_E5M2 = 3,
	PHILOX_FORMAT_E2M1 = 4
};

/* 2 to 7 are kept for other rules. */
enum philox_round_rule { PHILOX_ROUND_FIXED = 0, PHILOX_ROUND_EXACT = 1 };

/* How numbers are rounded. */
struct philox_rounding {
	uint32_t format;   /* enum philox_format */
	uint32_t rule;     /* enum philox_round_rule */
	uint32_t bits;     /* of a field: 32, 16 or 8 */
	uint32_t saturate; /* 1: nothing becomes infinite; 0 */
};

/* --- formats -------------------------------------------------------------- */

/* Return how many digits a format has after the point. */
PHILOX_FN uint32_t philox_format_digits(uint32_t format)
{
	return format == PHILOX_FORMAT_BF16   ? 7
	       : format == PHILOX_FORMAT_F16  ? 10
	       : format == PHILOX_FORMAT_E4M3 ? 3
	       : format == PHILOX_FORMAT_E5M2 ? 2
					      : 1;
}

/* Return 127 + the power of two of a format's smallest normal number. */
PHILOX_FN uint32_t philox_format_power(uint32_t format)
{
	return format == PHILOX_FORMAT_BF16   ? 1
	       : format == PHILOX_FORMAT_E4M3 ? 121
	       : format == PHILOX_FORMAT_E2M1 ? 127
					      : 113;
}

/* Return the bits of a format's largest number. */
PHILOX_FN uint32_t philox_format_largest(uint32_t format)
{
	return format == PHILOX_FORMAT_BF16   ? 0x7f7f
	       : format == PHILOX_FORMAT_F16  ? 0x7bff
	       : format == PHILOX_FORMAT_E4M3 ? 0x7e
	       : format == PHILOX_FORMAT_E5M2 ? 0x7b
					      : 0x7;
}

/* Return the bits of a format's largest number as f32. */
PHILOX_FN uint32_t philox_format_largest_f32(uint32_t format)
{
	return format == PHILOX_FORMAT_BF16   ? 0x7f7f0000u
	       : format == PHILOX_FORMAT_F16  ? 0x477fe000u
	       : format == PHILOX_FORMAT_E4M3 ? 0x43e00000u
	       : format == PHILOX_FORMAT_E5M2 ? 0x47600000u
					      : 0x40c00000u;
}

/* Return the bit that is a format's sign. */
PHILOX_FN uint32_t philox_format_sign(uint32_t format)
{
	return format <= PHILOX_FORMAT_F16    ? 0x8000
	       : format == PHILOX_FORMAT_E2M1 ? 0x8
					      : 0x80;
}

/* Return a number of a format, given by its bits, as f32; exact. */
PHILOX_FN float philox_format_to_f32(uint32_t format, uint32_t code)
{
	const uint32_t digits = philox_format_digits(format);
	const uint32_t sign = philox_format_sign(format);
	const uint32_t size = code & (sign - 1);
	const uint32_t high = code & sign ? 0x80000000u : 0;
	const uint32_t power = size >> digits;
	/* as a subnormal: a multiple of the least number */
	const uint32_t least = (philox_format_power(format) - digits) << 23;
	uint32_t bits = ((power + philox_format_power(format) - 1) << 23) |
			(size << (23 - digits) & 0x7fffffu);

	if (format == PHILOX_FORMAT_BF16)
		return philox_f32_from_bits(code << 16);
	if (format == PHILOX_FORMAT_F16)
		return philox_f16_to_f32(PHILOX_CAST(uint16_t, code));
	if (!power)
		bits = philox_f32_bits(philox_multiply(
			PHILOX_CAST(float, PHILOX_CAST(int, size)),
			philox_f32_from_bits(least)));
	if (size > philox_format_largest(format))
		bits = size == 0x7c ? 0x7f800000u : 0x7fc00000u;
	return philox_f32_from_bits(high | bits);
}

/* --- neighbours ----------------------------------------------------------- */

/*
 * Where a number lies: its neighbour towards 0, by the bits of its magnitude,
 * and its fraction f, which is rest 2^-shift; rest < 2^24. Beyond the largest
 * number they are as if the format went on.
 */
struct philox_place {
	uint32_t code;
	uint32_t rest;
	uint32_t shift; /* 13 .. 148 */
};

/* Return where x lies in a format. */
PHILOX_FN struct philox_place philox_place_of(uint32_t format, float x)
{
	const uint32_t bits = philox_f32_bits(x) & 0x7fffffffu;
	const uint32_t digits = philox_format_digits(format);
	const uint32_t least = philox_format_power(format);
	uint32_t power = bits >> 23, whole, below;
	const uint32_t number = (bits & 0x7fffffu) | (power ? 0x800000u : 0);
	struct philox_place place;

	power = power ? power : 1;
	below = power < least ? least - power : 0;
	power = power < least ? least : power;
	place.shift = 23 - digits + below;
	whole = place.shift < 31 ? number >> place.shift : 0;
	place.rest = number - (place.shift < 31 ? whole << place.shift : 0);
	place.code = ((power - least) << digits) + whole;
	return place;
}

/* Return floor(f 2^bits) of f = rest 2^-shift < 1. */
PHILOX_FN uint32_t philox_fraction_first(uint32_t rest, uint32_t shift,
					 uint32_t bits)
{
	const uint32_t down = shift < bits + 31 ? shift - bits : 31;

	return shift <= bits ? rest << (bits - shift) : rest >> down;
}

/* Return what is left of f after its first bits: its rest, of shift - bits. */
PHILOX_FN uint32_t philox_fraction_left(uint32_t rest, uint32_t shift,
					uint32_t bits)
{
	const uint32_t down = shift < bits + 31 ? shift - bits : 31;

	return shift <= bits ? 0 : rest & ((1u << down) - 1);
}

/*
 * Return whether EXACT takes the larger neighbour of an element whose field is
 * the first bits of its fraction; rest and shift are those of what is left.
 */
PHILOX_RARE int philox_round_again(struct philox_state state, uint64_t element,
				   uint32_t rest, uint32_t shift)
{
	for (uint64_t t = 0; rest; t++) {
		const uint32_t w =
			philox_word_at(philox_retry_state(state, t), element);
		const uint32_t first = philox_fraction_first(rest, shift, 32);

		if (w != first)
			return w < first;
		rest = philox_fraction_left(rest, shift, 32);
		shift -= 32; /* where nothing is left it does not matter */
	}
	return 0;
}

/* --- results -------------------------------------------------------------- */

/* Return what a NaN becomes in a format. */
PHILOX_FN uint32_t philox_round_nan(uint32_t format, float x)
{
	const uint32_t bits = philox_f32_bits(x), sign = bits >> 16 & 0x8000u;

	return format == PHILOX_FORMAT_BF16 ? (bits >> 16 | 0x40u)
	       : format == PHILOX_FORMAT_F16
		       ? (sign | 0x7e00u | (bits >> 13 & 0x3ffu))
	       : format == PHILOX_FORMAT_E2M1 ? 0x7u
					      : 0x7fu;
}

/* Return the bits of a magnitude that may be beyond the largest number. */
PHILOX_FN uint32_t philox_round_limit(uint32_t format, uint32_t saturate,
				      uint32_t code)
{
	const uint32_t largest = philox_format_largest(format);
	const uint32_t next = format == PHILOX_FORMAT_E2M1 || saturate
				      ? largest
				      : largest + 1;

	return code > largest ? next : code;
}

/*
 * Return whether rounding x to a format may change it by more than a step:
 * whether |x| is above the largest number, or, in E2M1, a NaN.
 */
PHILOX_FN int philox_round_is_beyond(uint32_t format, float x)
{
	const uint32_t bits = philox_f32_bits(x) & 0x7fffffffu;

	return bits > philox_format_largest_f32(format) &&
	       (bits <= 0x7f800000u || format == PHILOX_FORMAT_E2M1);
}

/*
 * Return the bits of x rounded stochastically.
 *
 *   state     the state, not poison; only EXACT's retries need it
 *   element   the element's index
 *   x         the number
 *   field     the element's
 *   how       the rounding
 */
PHILOX_FN uint32_t philox_round_of(struct philox_state state, uint64_t element,
				   float x, uint32_t field,
				   struct philox_rounding how)
{
	const struct philox_place place = philox_place_of(how.format, x);
	const uint32_t bits = philox_f32_bits(x);
	const uint32_t first =
		philox_fraction_first(place.rest, place.shift, how.bits);
	uint32_t away = field < first, code;

	if (how.rule == PHILOX_ROUND_EXACT && field == first) {
		const uint32_t left =
			philox_fraction_left(place.rest, place.shift, how.bits);

		if (left)
			away = PHILOX_CAST(
				uint32_t,
				philox_round_again(state, element, left,
						   place.shift - how.bits));
	}
	code = philox_round_limit(how.format, how.saturate, place.code + away);
	code |= bits >> 31 ? philox_format_sign(how.format) : 0;
	return (bits & 0x7fffffffu) > 0x7f800000u
		       ? philox_round_nan(how.format, x)
		       : code;
}

/*
 * Return the field of an element.
 *
 *   state     the state
 *   element   the element's index
 *   bits      32, 16 or 8
 */
PHILOX_FN uint32_t philox_round_field(struct philox_state state,
				      uint64_t element, uint32_t bits)
{
	/* words are consecutive, whatever their parts are called */
	const uint32_t shift = bits == 32 ? 0 : bits == 16 ? 1 : 2;
	const uint32_t part =
		PHILOX_CAST(uint32_t, element) & ((1u << shift) - 1);
	const uint32_t word = philox_word_at(state, element >> shift);

	return bits == 32 ? word : word >> part * bits & ((1u << bits) - 1);
}

/*
 * Return the bits of an element's number, rounded stochastically; a poisoned
 * state gives those of a NaN.
 *
 *   state     the state
 *   element   the element's index
 *   x         the number
 *   how       the rounding
 */
PHILOX_FN uint32_t philox_round_at(struct philox_state state, uint64_t element,
				   float x, struct philox_rounding how)
{
	return philox_round_of(state, element, philox_or_poison(state, x),
			       philox_round_field(state, element, how.bits),
			       how);
}

/* Return the bits of x rounded to nearest even, saturating. */
PHILOX_FN uint32_t philox_round_nearest(uint32_t format, float x)
{
	const struct philox_place place = philox_place_of(format, x);
	const uint32_t bits = philox_f32_bits(x);
	/* a fraction of 1/2 or more, and whether it is more */
	const uint32_t half = philox_fraction_first(place.rest, place.shift, 1);
	const uint32_t more = philox_fraction_left(place.rest, place.shift, 1);
	const uint32_t code = philox_round_limit(
		format, 1, place.code + (half && (more || place.code & 1)));

	if ((bits & 0x7fffffffu) > 0x7f800000u)
		return philox_round_nan(format, x);
	return code | (bits >> 31 ? philox_format_sign(format) : 0);
}

/* --- scales of blocks ----------------------------------------------------- */

/*
 * A block of numbers shares a scale, and what is rounded is x over the scale.
 * amax is the largest magnitude of the block's numbers that are not NaN.
 *
 *   NVFP4   16 numbers, E2M1. The scale is an E4M3 number s times the tensor's
 *           scale t, an f32. s is amax / (6 t), rounded to nearest even, at
 *           most 448, and at least 2^-9 unless amax is 0.
 *   MX      32 numbers, E4M3, E5M2 or E2M1. The scale is 2^(code - 127). By
 *           OCP's rule (MX 1.0, section 6.3) its power is floor(log2(amax))
 *           minus that of the format's largest number: 8, 15 or 2; so some
 *           numbers may be beyond the largest. The other rule takes the least
 *           power for which none is. Powers below -127 become -127.
 *
 * 6 t, amax / (6 t), s t and x / scale are f32 operations, each rounded once. t
 * is that of philox_nvfp4_tensor_scale(), or another number from 2^-126 on; t
 * = 0 is for a tensor of zeros.
 */
#define PHILOX_NVFP4_BLOCK 16
#define PHILOX_MX_BLOCK    32

/* Return a / b, rounded once. */
PHILOX_FN float philox_quotient(float a, float b)
{
#ifdef __CUDA_ARCH__
	float result;

	asm("div.rn.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
	return result;
#else
	/* options may let it be a product, or an approximation; clang does not
	 * tell of all of them */
#if (defined(__FAST_MATH__) || defined(__RECIPROCAL_MATH__) || \
     defined(__clang__)) &&                                    \
	!defined(PHILOX_VECTOR_QUOTIENT)
#ifdef __x86_64__
	__asm__("" : "+x"(b) : "x"(a));
#else
	__asm__("" : "+m"(b) : "m"(a));
#endif
#endif
	return a / b;
#endif
}

/*
 * Return the scale t of a tensor: its largest magnitude over 6 x 448, but at
 * least 2^-126, so that no scale of a block is 0; 0 of a tensor of zeros.
 */
PHILOX_FN float philox_nvfp4_tensor_scale(float amax)
{
	const float t = philox_quotient(amax, 2688.0f);

	return philox_f32_bits(amax) << 1
		       ? philox_greater(t, philox_f32_from_bits(0x00800000u))
		       : 0.0f;
}

/* Return the E4M3 number s of a block of NVFP4, without a sign. */
PHILOX_FN uint32_t philox_nvfp4_scale(float amax, float tensor_scale)
{
	const float six = philox_multiply(6.0f, tensor_scale);
	uint32_t code;

	if (!(philox_f32_bits(amax) << 1))
		return 0;
	/* a NaN, of a scale that is one, gives the largest number */
	code = philox_round_nearest(PHILOX_FORMAT_E4M3,
				    philox_quotient(amax, six)) &
	       0x7fu;
	code = code > 0x7eu ? 0x7eu : code;
	return code ? code : 1;
}

/* Return the scale of a block of NVFP4. */
PHILOX_FN float philox_nvfp4_scale_to_f32(uint32_t code, float tensor_scale)
{
	return philox_multiply(philox_format_to_f32(PHILOX_FORMAT_E4M3, code),
			       tensor_scale);
}

/*
 * Return the code of the scale of a block of MX numbers.
 *
 *   format   E4M3, E5M2 or E2M1
 *   up       1: rounded up; 0: OCP's rule
 *   amax     the block's
 */
PHILOX_FN uint32_t philox_mx_scale(uint32_t format, uint32_t up, float amax)
{
	const uint32_t bits = philox_f32_bits(amax);
	const uint32_t largest = philox_format_largest_f32(format);
	const uint32_t power = (largest >> 23) - 127;
	const uint32_t more = up && (bits & 0x7fffffu) > (largest & 0x7fffffu);
	const uint32_t high = (bits >> 23) + more;

	return high > power ? high - power : 0;
}

/* Return the scale of a block of MX numbers: 2^(code - 127); 255 is NaN. */
PHILOX_FN float philox_mx_scale_to_f32(uint32_t code)
{
	return philox_f32_from_bits(code == 0     ? 0x00400000u
				    : code == 255 ? 0x7fc00000u
						  : code << 23);
}

/*
 * Return x over the scale of its block. A zero stays what it is, also where the
 * scale is 0.
 */
PHILOX_FN float philox_scaled_down(float x, float scale)
{
	const float quotient = philox_quotient(x, scale);

	return philox_f32_bits(x) << 1 ? quotient : x;
}

/* --- signs ---------------------------------------------------------------- */

/*
 * Random signs, for random Hadamard transforms: -1 where Bernoulli(1/2) is 1,
 * which is where the word is below 2^31, else 1.
 */

/* Return whether the sign of a word is -1: 1, else 0. */
PHILOX_FN uint32_t philox_is_negative(uint32_t w)
{
	return ~w >> 31;
}

/* Return the sign of a word, -1 or 1. */
PHILOX_FN float philox_sign_f32(uint32_t w)
{
	return philox_f32_from_bits((w & 0x80000000u) ^ 0xbf800000u);
}

/* Return the sign of an element, -1 or 1; NaN of a poisoned state. */
PHILOX_FN float philox_sign_at(struct philox_state state, uint64_t element)
{
	return philox_or_poison(
		state, philox_sign_f32(philox_word_at(state, element)));
}

/*
 * Return the signs of elements 32 k to 32 k + 31, k < 2^59: bit i is 1 where
 * that of element 32 k + i is -1; all bits of a poisoned state are 1.
 */
PHILOX_FN uint32_t philox_sign_bits(struct philox_state state, uint64_t k)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i < 8; i++) {
		const struct philox_words words =
			philox_draw4(state, 8 * k + i);

		for (uint32_t j = 0; j < 4; j++)
			bits |= philox_is_negative(words.w[j]) << (4 * i + j);
	}
	return philox_is_poison(state) ? 0xffffffffu : bits;
}

#ifdef __cplusplus
}
#endif
#endif
