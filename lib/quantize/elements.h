/*
 * lib/quantize/elements.h - tensors rounded stochastically, for host loop and
 * kernel alike
 *
 * A tensor is cut into units, which touch distinct elements and scales and may
 * be done in any order. A unit of a tensor as it lies is one block of a line. A
 * unit of a transposed one is the same block of up to PATCH lines beside each
 * other, which are columns: so the elements of a Philox block, which lie in a
 * row, are drawn by one thread. Swizzled scales have units more, of lines and
 * blocks that only fill up tiles.
 */
#ifndef LIB_QUANTIZE_ELEMENTS_H
#define LIB_QUANTIZE_ELEMENTS_H

#include <philox/quantize.h>
#include "lib/device/kernels.h"

#define QUANTIZE_PATCH       4
#define QUANTIZE_TILE_LINES  128
#define QUANTIZE_TILE_BLOCKS 4

/* QUANTIZE_ADD(to, value): *to += value, where others do so, too. */
#ifdef __CUDA_ARCH__
#define QUANTIZE_ADD(to, value) \
	atomicAdd((unsigned long long *)(to), (unsigned long long)(value))
#else
#define QUANTIZE_ADD(to, value) __atomic_fetch_add(to, value, __ATOMIC_RELAXED)
#endif

/*
 * Loops over registers of a GPU, which have no index, are unrolled; those
 * around them are not.
 */
#ifdef __NVCC__
#define QUANTIZE_EACH   _Pragma("unroll")
#define QUANTIZE_ROLLED _Pragma("unroll 1")
#else
#define QUANTIZE_EACH
#define QUANTIZE_ROLLED
#endif

/* --- lines, blocks and units ---------------------------------------------- */

PHILOX_FN uint64_t quantize_up(uint64_t a, uint64_t b)
{
	return (a + (b - 1)) / b;
}

PHILOX_FN uint64_t quantize_lines(const struct quantize_item *item)
{
	return item->transposed ? item->cols : item->rows;
}

PHILOX_FN uint64_t quantize_length(const struct quantize_item *item)
{
	return item->transposed ? item->rows : item->cols;
}

PHILOX_FN uint32_t quantize_block(const struct quantize_item *item)
{
	return item->scaling >= PHILOX_SCALING_MX ? PHILOX_MX_BLOCK
						  : PHILOX_NVFP4_BLOCK;
}

/* Blocks of a line. */
PHILOX_FN uint64_t quantize_blocks(const struct quantize_item *item)
{
	return quantize_up(quantize_length(item), quantize_block(item));
}

/* The lines and the blocks of each that scales have room for. */
PHILOX_FN uint64_t quantize_room_lines(const struct quantize_item *item)
{
	const uint64_t lines = quantize_lines(item);

	return item->swizzled ? quantize_up(lines, QUANTIZE_TILE_LINES) *
					QUANTIZE_TILE_LINES
			      : lines;
}

PHILOX_FN uint64_t quantize_room_blocks(const struct quantize_item *item)
{
	const uint64_t blocks = quantize_blocks(item);

	return item->swizzled ? quantize_up(blocks, QUANTIZE_TILE_BLOCKS) *
					QUANTIZE_TILE_BLOCKS
			      : blocks;
}

PHILOX_FN uint32_t quantize_patch(const struct quantize_item *item)
{
	return item->transposed ? QUANTIZE_PATCH : 1;
}

PHILOX_FN uint64_t quantize_units(const struct quantize_item *item)
{
	return quantize_up(quantize_room_lines(item), quantize_patch(item)) *
	       quantize_room_blocks(item);
}

/* Where the scale of a block is. */
PHILOX_FN uint64_t quantize_scale_place(const struct quantize_item *item,
					uint64_t line, uint64_t block)
{
	const uint64_t blocks = quantize_room_blocks(item);
	const uint64_t tile =
		line / QUANTIZE_TILE_LINES * (blocks / QUANTIZE_TILE_BLOCKS) +
		block / QUANTIZE_TILE_BLOCKS;
	const uint64_t i = line % QUANTIZE_TILE_LINES;

	if (!item->swizzled)
		return line * blocks + block;
	return tile * (QUANTIZE_TILE_LINES * QUANTIZE_TILE_BLOCKS) +
	       16 * (i % 32) + 4 * (i / 32) + block % QUANTIZE_TILE_BLOCKS;
}

/* --- elements ------------------------------------------------------------- */

/* The input at a place of the array. */
PHILOX_FN float quantize_in(const struct quantize_item *item, uint64_t at)
{
	if (item->in_dtype == PHILOX_DTYPE_F32)
		return ((const float *)item->in)[at];
	return item->in_dtype == PHILOX_DTYPE_BF16
		       ? philox_bf16_to_f32(((const uint16_t *)item->in)[at])
		       : philox_f16_to_f32(((const uint16_t *)item->in)[at]);
}

/* Writes the results of two elements, of which there may be one. */
PHILOX_FN void quantize_out(const struct quantize_item *item, uint32_t format,
			    uint64_t at, const uint32_t *codes, uint32_t n)
{
	if (format == PHILOX_FORMAT_E2M1) {
		((uint8_t *)item->out)[at / 2] =
			(uint8_t)(codes[0] | codes[1] << 4);
		return;
	}
	QUANTIZE_EACH
	for (uint32_t i = 0; i < 2; i++)
		if (i < n && format <= PHILOX_FORMAT_F16)
			((uint16_t *)item->out)[at + i] = (uint16_t)codes[i];
		else if (i < n)
			((uint8_t *)item->out)[at + i] = (uint8_t)codes[i];
}

/* What one unit knows; `saturated` counts its elements beyond the largest. */
struct quantize_job {
	const struct quantize_item *item;
	struct philox_state state;
	struct philox_rounding how;
	float tensor_scale;
	uint32_t saturated;
	int is_poison;
};

PHILOX_FN struct quantize_job quantize_begin(const struct quantize_item *item,
					     struct philox_state state)
{
	struct quantize_job job;

	job.item = item;
	job.state = state;
	job.how.format = item->format;
	job.how.rule = item->rule;
	job.how.bits = item->bits;
	job.how.saturate = item->saturate;
	job.tensor_scale = item->scaling == PHILOX_SCALING_NVFP4
				   ? *item->tensor_scale
				   : 0.0f;
	job.saturated = 0;
	job.is_poison = philox_is_poison(state);
	return job;
}

PHILOX_FN void quantize_end(const struct quantize_job *job)
{
	if (job->saturated && job->item->saturated)
		QUANTIZE_ADD(job->item->saturated, job->saturated);
}

/* The number at a place of the array, as it is rounded. */
PHILOX_FN float quantize_value(const struct quantize_job *job, float x,
			       float scale)
{
	if (job->item->scaling)
		x = philox_scaled_down(x, scale);
	return job->is_poison ? philox_f32_from_bits(0x7fc00000u) : x;
}

/*
 * A number rounded by rule FIXED; QUANTIZE_TIE is added where the field is the
 * first bits of a fraction that has more.
 */
#define QUANTIZE_TIE 0x80000000u

PHILOX_FN uint32_t quantize_fixed(struct philox_rounding how, float x,
				  uint32_t field)
{
	const struct philox_place place = philox_place_of(how.format, x);
	const uint32_t first =
		philox_fraction_first(place.rest, place.shift, how.bits);
	const uint32_t left =
		philox_fraction_left(place.rest, place.shift, how.bits);
	const struct philox_state none = {0, 0};

	how.rule = PHILOX_ROUND_FIXED;
	return philox_round_of(none, 0, x, field, how) |
	       (left && field == first ? QUANTIZE_TIE : 0);
}

/* The result of an element, by rule FIXED. */
PHILOX_FN uint32_t quantize_code(struct quantize_job *job, float x, float scale,
				 uint32_t field)
{
	x = quantize_value(job, x, scale);
	if (!job->is_poison)
		job->saturated +=
			(uint32_t)philox_round_is_beyond(job->how.format, x);
	return quantize_fixed(job->how, x, field);
}

/* The result of an element by rule EXACT, from the beginning. */
PHILOX_RARE uint32_t quantize_exact(struct philox_state state, uint64_t element,
				    float x, struct philox_rounding how)
{
	return philox_round_of(state, element, x,
			       philox_round_field(state, element, how.bits),
			       how);
}

/* `n` results by rule FIXED; the ties among them are a bit each. */
PHILOX_FN uint32_t quantize_ties(const struct quantize_job *job,
				 uint32_t *codes, uint32_t n)
{
	uint32_t ties = 0;

	QUANTIZE_EACH
	for (uint32_t k = 0; k < n; k++) {
		ties |= codes[k] >> 31 << k;
		codes[k] &= ~QUANTIZE_TIE;
	}
	return job->how.rule == PHILOX_ROUND_EXACT ? ties : 0;
}

/* The number of the lowest bit of a mask that is not 0. */
PHILOX_FN uint32_t quantize_lowest(uint32_t mask)
{
#ifdef __CUDA_ARCH__
	return (uint32_t)__ffs((int)mask) - 1;
#else
	return (uint32_t)__builtin_ctz(mask);
#endif
}

/*
 * Rule EXACT: makes those of n consecutive elements again that were ties. The
 * codes are registers on a GPU, so each is looked at.
 */
PHILOX_FN void quantize_end_ties(const struct quantize_job *job,
				 uint64_t element, uint64_t at, float scale,
				 uint32_t *codes, uint32_t n)
{
	uint32_t ties = quantize_ties(job, codes, n);

	QUANTIZE_ROLLED
	for (; ties; ties &= ties - 1) {
		const uint32_t i = quantize_lowest(ties);
		const uint32_t code = quantize_exact(
			job->state, element + i,
			quantize_value(job, quantize_in(job->item, at + i),
				       scale),
			job->how);

		QUANTIZE_EACH
		for (uint32_t k = 0; k < n; k++)
			codes[k] = k == i ? code : codes[k];
	}
}

/* --- blocks --------------------------------------------------------------- */

/* A magnitude; 0 of a NaN. */
PHILOX_FN float quantize_size(float x)
{
	const uint32_t bits = philox_f32_bits(x) & 0x7fffffffu;

	return philox_f32_from_bits(bits > 0x7f800000u ? 0 : bits);
}

/* Writes the scale of a block, and returns it. */
PHILOX_FN float quantize_scale(const struct quantize_job *job, uint64_t line,
			       uint64_t block, float amax)
{
	const struct quantize_item *item = job->item;
	const int is_nvfp4 = item->scaling == PHILOX_SCALING_NVFP4;
	const uint32_t nan = is_nvfp4 ? 0x7f : 0xff;
	uint32_t code;

	if (!item->scaling)
		return 1.0f;
	if (is_nvfp4)
		code = philox_nvfp4_scale(amax, job->tensor_scale);
	else
		code = philox_mx_scale(job->how.format,
				       item->scaling == PHILOX_SCALING_MX_UP,
				       amax);
	item->scales[quantize_scale_place(item, line, block)] =
		(uint8_t)(job->is_poison ? nan : code);
	return is_nvfp4 ? philox_nvfp4_scale_to_f32(code, job->tensor_scale)
			: philox_mx_scale_to_f32(code);
}

/* Zeros in the places of scales that no block has. */
PHILOX_FN void quantize_fill_up(const struct quantize_item *item, uint64_t line,
				uint64_t block)
{
	item->scales[quantize_scale_place(item, line, block)] = 0;
}

/*
 * The words of the four elements from e on, a multiple of 4, as their fields.
 */
PHILOX_FN void quantize_fields4(struct philox_state state, uint64_t e,
				uint32_t bits, uint32_t *fields)
{
	const uint32_t shift = bits == 32 ? 0 : bits == 16 ? 1 : 2;
	const uint64_t word = e >> shift;
	const struct philox_words words = philox_draw4(state, word / 4);
	const uint32_t high = word & 2, odd = word & 1;
	const uint32_t w0 = high ? words.w[2] : words.w[0];
	const uint32_t w1 = high ? words.w[3] : words.w[1];

	QUANTIZE_EACH
	for (uint32_t i = 0; i < 4; i++)
		if (bits == 32)
			fields[i] = words.w[i];
		else if (bits == 16)
			fields[i] = (i < 2 ? w0 : w1) >> i % 2 * 16 & 0xffffu;
		else
			fields[i] = (odd ? w1 : w0) >> i * 8 & 0xffu;
}

/* As quantize_fields16(), for bits that the compiler knows. */
PHILOX_FN void quantize_fields_of(struct philox_state state, uint64_t e,
				  uint32_t bits, uint32_t *fields)
{
	const uint32_t shift = bits == 32 ? 0 : bits == 16 ? 1 : 2;
	const uint32_t each = 4u << shift; /* elements of a Philox block */
	const uint32_t mask = bits == 32 ? 0xffffffffu : (1u << bits % 32) - 1;

	QUANTIZE_EACH
	for (uint32_t i = 0; i < 16; i += each) {
		const struct philox_words words =
			philox_draw4(state, e / each + i / each);

		QUANTIZE_EACH
		for (uint32_t k = 0; k < each; k++)
			fields[i + k] = words.w[k >> shift] >>
						k % (1u << shift) * bits % 32 &
					mask;
	}
}

/* The fields of the 16 elements from e on, a multiple of 16. */
PHILOX_FN void quantize_fields16(struct philox_state state, uint64_t e,
				 uint32_t bits, uint32_t *fields)
{
	if (bits == 32)
		quantize_fields_of(state, e, 32, fields);
	else if (bits == 16)
		quantize_fields_of(state, e, 16, fields);
	else
		quantize_fields_of(state, e, 8, fields);
}

/* --- units of a tensor as it lies ----------------------------------------- */

/*
 * 16 elements of a block that begins at a multiple of 16 and whose arrays are
 * aligned to 16 bytes: in accesses of that size.
 */
struct __attribute__((aligned(16), may_alias)) quantize_f32x4 {
	float x[4];
};

struct __attribute__((aligned(16), may_alias)) quantize_u32x4 {
	uint32_t x[4];
};

struct __attribute__((aligned(8), may_alias)) quantize_u32x2 {
	uint32_t x[2];
};

PHILOX_FN void quantize_read16(const struct quantize_item *item, uint64_t at,
			       float *x)
{
	if (item->in_dtype == PHILOX_DTYPE_F32) {
		const struct quantize_f32x4 *from =
			(const struct quantize_f32x4 *)((const float *)
								item->in +
							at);

		QUANTIZE_EACH
		for (uint32_t i = 0; i < 4; i++) {
			const struct quantize_f32x4 part = from[i];

			QUANTIZE_EACH
			for (uint32_t k = 0; k < 4; k++)
				x[4 * i + k] = part.x[k];
		}
		return;
	}
	const struct quantize_u32x4 *from =
		(const struct quantize_u32x4 *)((const uint16_t *)item->in +
						at);

	QUANTIZE_EACH
	for (uint32_t i = 0; i < 2; i++) {
		const struct quantize_u32x4 part = from[i];

		QUANTIZE_EACH
		for (uint32_t k = 0; k < 8; k++) {
			const uint16_t bits =
				(uint16_t)(part.x[k / 2] >> k % 2 * 16);

			x[8 * i + k] = item->in_dtype == PHILOX_DTYPE_BF16
					       ? philox_bf16_to_f32(bits)
					       : philox_f16_to_f32(bits);
		}
	}
}

/* `size` bits of each of `n` codes, the first lowest, as words. */
PHILOX_FN void quantize_pack(const uint32_t *codes, uint32_t n, uint32_t size,
			     uint32_t *words)
{
	const uint32_t each = 32 / size;

	QUANTIZE_EACH
	for (uint32_t i = 0; i < n / each; i++) {
		words[i] = 0;
		QUANTIZE_EACH
		for (uint32_t k = 0; k < each; k++)
			words[i] |= codes[each * i + k] << k * size;
	}
}

PHILOX_FN void quantize_write16(const struct quantize_item *item,
				uint32_t format, uint64_t at,
				const uint32_t *codes)
{
	struct quantize_u32x4 part;
	struct quantize_u32x2 half;

	if (format <= PHILOX_FORMAT_F16) {
		struct quantize_u32x4 *to =
			(struct quantize_u32x4 *)((uint16_t *)item->out + at);

		QUANTIZE_EACH
		for (uint32_t i = 0; i < 2; i++) {
			quantize_pack(codes + 8 * i, 8, 16, part.x);
			to[i] = part;
		}
	} else if (format == PHILOX_FORMAT_E2M1) {
		quantize_pack(codes, 16, 4, half.x);
		*(struct quantize_u32x2 *)((uint8_t *)item->out + at / 2) =
			half;
	} else {
		quantize_pack(codes, 16, 8, part.x);
		*(struct quantize_u32x4 *)((uint8_t *)item->out + at) = part;
	}
}

/* Whether all arrays of a tensor, and its rows, allow such accesses. */
PHILOX_FN int quantize_is_aligned(const struct quantize_item *item)
{
	const uint64_t out = item->format == PHILOX_FORMAT_E2M1 ? 8 : 16;

	return item->first % 16 == 0 &&
	       (item->rows == 1 ||
		(item->cols % 16 == 0 && item->stride % 16 == 0)) &&
	       PHILOX_ADDRESS(item->in) % 16 == 0 &&
	       PHILOX_ADDRESS(item->out) % out == 0;
}

/* n is 16 or 32 elements, whose first is at a place of the arrays. */
PHILOX_FN void quantize_whole(struct quantize_job *job, uint64_t line,
			      uint64_t block, uint64_t element, uint64_t at,
			      uint32_t n)
{
	float amax = 0.0f, scale, x[16];
	uint32_t codes[16];

	QUANTIZE_ROLLED
	for (uint32_t i = 0; job->item->scaling && i < n; i += 16) {
		quantize_read16(job->item, at + i, x);
		QUANTIZE_EACH
		for (uint32_t k = 0; k < 16; k++)
			amax = philox_greater(amax, quantize_size(x[k]));
	}
	scale = quantize_scale(job, line, block, amax);
	QUANTIZE_ROLLED
	for (uint32_t i = 0; i < n; i += 16) {
		quantize_read16(job->item, at + i, x);
		quantize_fields16(job->state, element + i, job->how.bits,
				  codes);
		QUANTIZE_EACH
		for (uint32_t k = 0; k < 16; k++)
			codes[k] = quantize_code(job, x[k], scale, codes[k]);
		quantize_end_ties(job, element + i, at + i, scale, codes, 16);
		quantize_write16(job->item, job->how.format, at + i, codes);
	}
}

/* The fields of up to 4 elements from one on. */
PHILOX_FN void quantize_some_fields(const struct quantize_job *job,
				    uint64_t element, uint32_t n,
				    uint32_t *fields)
{
	if (element % 4 == 0) {
		quantize_fields4(job->state, element, job->how.bits, fields);
		return;
	}
	QUANTIZE_EACH
	for (uint32_t k = 0; k < 4; k++)
		if (k < n)
			fields[k] = philox_round_field(job->state, element + k,
						       job->how.bits);
}

/* The results of up to 4 elements of a row. */
PHILOX_FN void quantize_some(struct quantize_job *job, uint64_t element,
			     uint64_t at, uint32_t n, const float *scales,
			     uint32_t *codes)
{
	quantize_some_fields(job, element, n, codes);
	QUANTIZE_EACH
	for (uint32_t k = 0; k < 4; k++)
		codes[k] = k < n ? quantize_code(job,
						 quantize_in(job->item, at + k),
						 scales[k], codes[k])
				 : 0;
}

/* The elements of a block one by one: n of them. */
PHILOX_FN void quantize_part(struct quantize_job *job, uint64_t line,
			     uint64_t block, uint64_t element, uint64_t at,
			     uint32_t n)
{
	const struct quantize_item *item = job->item;
	float amax = 0.0f, scales[4];

	QUANTIZE_ROLLED
	for (uint32_t i = 0; item->scaling && i < n; i++)
		amax = philox_greater(amax,
				      quantize_size(quantize_in(item, at + i)));
	scales[0] = quantize_scale(job, line, block, amax);
	scales[1] = scales[2] = scales[3] = scales[0];
	QUANTIZE_ROLLED
	for (uint32_t i = 0; i < n; i += 4) {
		const uint32_t some = n - i < 4 ? n - i : 4;
		uint32_t codes[4] = {0, 0, 0, 0};

		quantize_some(job, element + i, at + i, some, scales, codes);
		quantize_end_ties(job, element + i, at + i, scales[0], codes,
				  4);
		quantize_out(item, job->how.format, at + i, codes,
			     some < 2 ? some : 2);
		if (some > 2)
			quantize_out(item, job->how.format, at + i + 2,
				     codes + 2, some - 2);
	}
}

PHILOX_FN void quantize_row_unit(struct quantize_job *job, uint64_t line,
				 uint64_t block)
{
	const struct quantize_item *item = job->item;
	const uint32_t size = quantize_block(item);
	const uint64_t begin = block * size, left = item->cols - begin;
	const uint32_t n = left < size ? (uint32_t)left : size;
	const uint64_t element = item->first + line * item->stride + begin;
	const uint64_t at = line * item->cols + begin;

	/* of 32 elements there may be 16 */
	if (n % 16 == 0 && quantize_is_aligned(item))
		quantize_whole(job, line, block, element, at, n);
	else
		quantize_part(job, line, block, element, at, n);
}

/* --- units of a transposed tensor ----------------------------------------- */

/* Up to PATCH columns, and the rows of one block. */
struct quantize_patch {
	uint64_t column, row;
	uint32_t columns, rows;
	float scales[QUANTIZE_PATCH];
};

/* Rule EXACT: the ties of a row of a patch, whose columns have scales. */
PHILOX_FN void quantize_patch_ties(const struct quantize_job *job,
				   const struct quantize_patch *patch,
				   uint64_t element, uint64_t at,
				   uint32_t *codes)
{
	const uint32_t ties = quantize_ties(job, codes, QUANTIZE_PATCH);

	for (uint32_t k = 0; ties && k < QUANTIZE_PATCH; k++)
		if (ties >> k & 1)
			codes[k] = quantize_exact(
				job->state, element + k,
				quantize_value(job,
					       quantize_in(job->item, at + k),
					       patch->scales[k]),
				job->how);
}

/* The results of a row of a patch. */
PHILOX_FN void quantize_patch_row(struct quantize_job *job,
				  const struct quantize_patch *patch,
				  uint32_t i, uint32_t *codes)
{
	const struct quantize_item *item = job->item;
	const uint64_t row = patch->row + i;
	const uint64_t element =
		item->first + row * item->stride + patch->column;
	const uint64_t at = row * item->cols + patch->column;

	quantize_some(job, element, at, patch->columns, patch->scales, codes);
	quantize_patch_ties(job, patch, element, at, codes);
}

PHILOX_FN void quantize_patch_scales(struct quantize_job *job,
				     struct quantize_patch *patch,
				     uint64_t block)
{
	const struct quantize_item *item = job->item;
	float amax[QUANTIZE_PATCH] = {0.0f, 0.0f, 0.0f, 0.0f};

	QUANTIZE_ROLLED
	for (uint32_t i = 0; item->scaling && i < patch->rows; i++) {
		const uint64_t at =
			(patch->row + i) * item->cols + patch->column;

		for (uint32_t k = 0; k < QUANTIZE_PATCH; k++)
			if (k < patch->columns)
				amax[k] = philox_greater(
					amax[k], quantize_size(quantize_in(
							 item, at + k)));
	}
	for (uint32_t k = 0; k < QUANTIZE_PATCH; k++)
		patch->scales[k] =
			k < patch->columns
				? quantize_scale(job, patch->column + k, block,
						 amax[k])
				: 1.0f;
}

PHILOX_FN void quantize_patch_unit(struct quantize_job *job, uint64_t column,
				   uint64_t block)
{
	const struct quantize_item *item = job->item;
	const uint32_t size = quantize_block(item);
	struct quantize_patch patch;
	uint64_t left = item->cols - column;

	patch.column = column;
	patch.row = block * size;
	patch.columns = left < QUANTIZE_PATCH ? (uint32_t)left : QUANTIZE_PATCH;
	left = item->rows - patch.row;
	patch.rows = left < size ? (uint32_t)left : size;
	quantize_patch_scales(job, &patch, block);
	QUANTIZE_ROLLED
	for (uint32_t i = 0; i < patch.rows; i += 2) {
		uint32_t codes[2][QUANTIZE_PATCH] = {{0}};
		const uint32_t pair = patch.rows - i > 1 ? 2 : 1;

		quantize_patch_row(job, &patch, i, codes[0]);
		if (pair > 1)
			quantize_patch_row(job, &patch, i + 1, codes[1]);
		for (uint32_t k = 0; k < QUANTIZE_PATCH; k++) {
			const uint32_t two[2] = {codes[0][k], codes[1][k]};

			if (k < patch.columns)
				quantize_out(item, job->how.format,
					     (column + k) * item->rows +
						     patch.row + i,
					     two, pair);
		}
	}
}

/* --- all units ------------------------------------------------------------ */

/*
 * Does one unit of a tensor. Units beside each other are of one row: threads
 * that are beside each other read memory that is.
 */
PHILOX_FN void quantize_unit(struct quantize_job *job, uint64_t unit)
{
	const struct quantize_item *item = job->item;
	const uint64_t room = quantize_room_blocks(item);
	const uint32_t patch = quantize_patch(item);
	const uint64_t lines = quantize_up(quantize_room_lines(item), patch);
	const uint64_t line =
		patch * (item->transposed ? unit % lines : unit / room);
	const uint64_t block = item->transposed ? unit / lines : unit % room;

	for (uint32_t k = 0; item->swizzled && k < patch; k++)
		if (line + k >= quantize_lines(item) ||
		    block >= quantize_blocks(item))
			quantize_fill_up(item, line + k, block);
	if (line >= quantize_lines(item) || block >= quantize_blocks(item))
		return;
	if (item->transposed)
		quantize_patch_unit(job, line, block);
	else
		quantize_row_unit(job, line, block);
}

#endif
