/*
 * examples/quantize/kernel.h - a random Hadamard transform and NVFP4 in one
 * kernel of your own
 *
 * A few large numbers make the steps of their whole block large. Before the
 * numbers are rounded, the transform spreads each of them over a block: 16
 * numbers x of a row become H S x / 4, where S has random signs and H is the
 * Hadamard matrix, of 1 and -1. That is a rotation. So the product of two
 * matrices stays what it is if both are transformed with the same signs, along
 * the dimension that the product sums over: both draw them from one state, by
 * the column.
 *
 * The work on a block of 16 is written once, here, for the kernels (kernel.cu)
 * and for the host device's loops (kernel_host.c). It needs philox/kernel.h
 * alone, and its bits are those of the library: of the transform in f32, then
 * philox_tensor_scale() and philox_pass_quantize() (main.c).
 */
#ifndef EXAMPLES_QUANTIZE_KERNEL_H
#define EXAMPLES_QUANTIZE_KERNEL_H

#include <philox.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BLOCK PHILOX_NVFP4_BLOCK

/* The parts of the work; a grid does one of them. */
enum quantize_part {
	QUANTIZE_LARGEST,  /* the largest magnitude, to be 0 before */
	QUANTIZE_ROUND,    /* codes and scales */
	QUANTIZE_TRANSFORM /* for the library: the transform in f32 */
};

/* struct quantize is the argument of a launch; both copy it. */
struct quantize {
	struct philox_rng signs; /* of columns: the same for both operands */
	struct philox_rng roundings; /* of elements */
	uint64_t rows, cols;         /* cols: a multiple of 16 */
	int is_transformed;          /* 0: rounded as they are */
	int to_nearest;              /* 1: to compare with */
	const float *x;              /* device memory, as are the next */
	float *largest;
	float *transformed; /* rows x cols, of QUANTIZE_TRANSFORM alone */
	uint8_t *out;    /* two numbers in a byte, the first in its low half */
	uint8_t *scales; /* a byte for each block */
};

struct block {
	float x[BLOCK];
};

/* Signs, then four steps of additions; H's rows are divided by their length. */
PHILOX_FN struct block transform(struct block b, uint32_t minus)
{
	for (uint32_t i = 0; i < BLOCK; i++)
		b.x[i] = minus >> i & 1 ? -b.x[i] : b.x[i];
	for (uint32_t h = 1; h < BLOCK; h *= 2)
		for (uint32_t i = 0; i < BLOCK; i++) {
			const float sum = b.x[i] + b.x[i | h];
			const float difference = b.x[i] - b.x[i | h];

			b.x[i] = i & h ? b.x[i] : sum;
			b.x[i | h] = i & h ? b.x[i | h] : difference;
		}
	for (uint32_t i = 0; i < BLOCK; i++)
		b.x[i] *= 0.25f;
	return b;
}

/* Block k of the rows, one after the other, as it is rounded. */
PHILOX_FN struct block block_of(const struct quantize *q, uint64_t k)
{
	const uint64_t column = BLOCK * k % q->cols;
	struct block b;

	for (uint32_t i = 0; i < BLOCK; i++)
		b.x[i] = q->x[BLOCK * k + i];
	if (!q->is_transformed)
		return b;
	return transform(
		b, philox_sign_bits(philox_resolve(q->signs), column / 32) >>
			   column % 32);
}

PHILOX_FN float largest_of(struct block b)
{
	float largest = 0;

	for (uint32_t i = 0; i < BLOCK; i++) {
		const float size = b.x[i] < 0 ? -b.x[i] : b.x[i];

		largest = size > largest ? size : largest;
	}
	return largest;
}

PHILOX_FN void store_transformed(const struct quantize *q, uint64_t k)
{
	const struct block b = block_of(q, k);

	for (uint32_t i = 0; i < BLOCK; i++)
		q->transformed[BLOCK * k + i] = b.x[i];
}

/*
 * Element i of the block is element 16 k + i of the operator's call. Its field
 * has all 32 bits: a block draws four blocks of words, once.
 */
PHILOX_FN void store_rounded(const struct quantize *q, uint64_t k)
{
	const struct philox_rounding how = {PHILOX_FORMAT_E2M1,
					    PHILOX_ROUND_EXACT, 32, 1};
	const struct philox_state state = philox_resolve(q->roundings);
	const struct block b = block_of(q, k);
	const float t = philox_nvfp4_tensor_scale(*q->largest);
	const uint32_t s = philox_nvfp4_scale(largest_of(b), t);
	const float scale = philox_nvfp4_scale_to_f32(s, t);
	struct philox_words words = {{0, 0, 0, 0}};
	uint32_t before = 0;

	for (uint32_t i = 0; i < BLOCK; i++) {
		const float x = philox_or_poison(
			state, philox_scaled_down(b.x[i], scale));
		uint32_t code;

		if (i % 4 == 0)
			words = philox_draw4(state, 4 * k + i / 4);
		code = q->to_nearest ? philox_round_nearest(how.format, x)
				     : philox_round_of(state, BLOCK * k + i, x,
						       words.w[i % 4], how);
		if (i % 2)
			q->out[(BLOCK * k + i) / 2] =
				(uint8_t)(before | code << 4);
		before = code;
	}
	q->scales[k] = philox_is_poison(state) ? 0x7f : (uint8_t)s;
}

/* Puts a part of the work on a stream; a kernel's status is a cudaError_t. */
int quantize_cuda(philox_stream stream, enum quantize_part part,
		  const struct quantize *args);
enum philox_status quantize_host(struct philox_device *device,
				 philox_stream stream, enum quantize_part part,
				 const struct quantize *args);

#ifdef __cplusplus
}
#endif
#endif
