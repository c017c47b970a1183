/*
 * philox/quantize.h - tensors rounded stochastically to 8 and 4 bits, with the
 * scales of their blocks
 *
 * philox/round.h says how a number is rounded, and what the scales of blocks
 * are. Here whole tensors are rounded, several by one kernel. Which bits an
 * element gets depends only on its state and its index: not on the tensor's
 * other elements, its shards, the launch shape, the device, or whether it is
 * written transposed.
 *
 *   struct philox_quantize_desc weights =
 *           PHILOX_INIT(struct philox_quantize_desc);
 *   weights.span = philox_span_rows(0, 64, 256, 256);
 *   weights.in_dtype = PHILOX_DTYPE_BF16;
 *   weights.format = PHILOX_FORMAT_E2M1;
 *   weights.scaling = PHILOX_SCALING_NVFP4;
 *   weights.in = bf16s;
 *   weights.out = halves;
 *   weights.scales = scales;
 *   weights.tensor_scale = scale;
 *   philox_pass_quantize(&pass, &weights, 1);
 *
 * Two tensors with the same `op` and `call` have the same bits where their
 * elements have the same index. That is wanted for a tensor and its transposed
 * copy, whose results are then equal where their scales are. Others need
 * operators or calls of their own.
 *
 * Lines and blocks: a line is a row of the span or, where it is transposed, a
 * column. A block is 16 (NVFP4) or 32 (MX) consecutive elements of a line, of
 * the tensor, counted from its beginning; the last of a line may be shorter, as
 * if zeros followed. A span that begins or ends within a block is refused. A
 * tensor's rows have row_stride elements. A span of one row whose row_stride is
 * not above its count is of a flat tensor: one line, of which the span has the
 * end, or ends between two blocks.
 */
#ifndef PHILOX_QUANTIZE_H
#define PHILOX_QUANTIZE_H

#include <stddef.h>
#include <stdint.h>
#include <philox/device.h>
#include <philox/fill.h>
#include <philox/pass.h>
#include <philox/round.h>
#include <philox/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the numbers of a tensor are divided by before they are rounded. */
enum philox_scaling {
	PHILOX_SCALING_NONE = 0,  /* nothing */
	PHILOX_SCALING_NVFP4 = 1, /* E2M1: philox_nvfp4_scale() */
	PHILOX_SCALING_MX = 2,   /* E4M3, E5M2, E2M1: philox_mx_scale(), up 0 */
	PHILOX_SCALING_MX_UP = 3 /*   up 1 */
};

enum philox_quantize_flags {
	/* E4M3 and E5M2, BF16 and F16: nothing becomes infinite or NaN by
	 * overflow. Always so in E2M1 and with scales. */
	PHILOX_QUANTIZE_SATURATE = 1,
	/* `out` has a row for each column of the span, and blocks run down its
	 * columns. */
	PHILOX_QUANTIZE_TRANSPOSED = 2,
	/* scales lie as cuBLASLt takes them: tiles of 128 lines x 4 blocks,
	 * line by line of tiles. In a tile that of line i and block j is at
	 * 16 (i % 32) + 4 (i / 32) + j. Lines and blocks that fill tiles up
	 * are 0. */
	PHILOX_QUANTIZE_SWIZZLED = 4
};

/*
 * One tensor, or a shard of it. Begin with PHILOX_INIT(), then set fields.
 */
struct philox_quantize_desc {
	size_t size;   /* sizeof(this struct) */
	uint32_t op;   /* of a pass: the operator, by its place in the region */
	uint32_t call; /*   which of the operator's calls */
	struct philox_span span; /* which elements the arrays hold */
	uint32_t in_dtype;       /* enum philox_dtype: f32, bf16 or f16 */
	uint32_t format;         /* enum philox_format */
	uint32_t rule;           /* enum philox_round_rule */
	uint32_t bits;           /* of an element: 32, 16 or 8; 0 is 32 */
	uint32_t scaling;        /* enum philox_scaling */
	uint32_t flags;          /* of enum philox_quantize_flags, added up */
	/* the span's elements, aligned to their dtype */
	const void *in;
	/* as many, apart from `in`: of 16 bits (BF16, F16), a byte (E4M3,
	 * E5M2), or half of one (E2M1, the first of two in the low half; then
	 * span's first, count and row_stride are even, and so are its rows
	 * where it is transposed) */
	void *out;
	/* with scaling: philox_quantize_scales_size() bytes, line after line or
	 * swizzled: of NVFP4 the E4M3 number s, of MX the code */
	uint8_t *scales;
	const float *tensor_scale; /* NVFP4: t; read when the work runs */
	/* NULL, or a count, to which the elements are added whose magnitude,
	 * after scaling, was above the format's largest number, and the NaNs in
	 * E2M1 */
	uint64_t *saturated;
	/* transposed shards with scaling: the rows of the whole tensor; 0: the
	 * span has the last of them. Else it is not looked at. */
	uint64_t tensor_rows;
	uint64_t reserved; /* 0 */
};

/*
 * Put the rounding of tensors on the stream of an open pass.
 *
 *   pass       the pass, forward or backward
 *   tensors    n_tensors of them, of one size; each names its operator
 *   n_tensors  how many; each 256 of them, or 32 with drivers before 530, are
 *              one kernel
 *
 * In a backward pass they are rounded as in the forward, any number of times.
 * With scales x is divided before it is rounded, so the expectation promised by
 * philox/round.h is that of the quotient, and only where it is not above the
 * largest number. A poisoned state gives NaN, and scales that are NaN (0x7f, MX
 * 0xff); without scales E2M1 has no NaN and gives 6. It adds nothing to
 * `saturated`.
 *
 * All tensors are rounded at once: what is written for one is not used for
 * another, except that they may share `saturated`.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors: the message names the region, the tensor if there are several, and
 * the field or array.
 *   PHILOX_ERROR_INVALID   a field is outside its range; a pointer is NULL or
 *                          misaligned; arrays overlap, or rows of the span; a
 *                          block or a byte is cut; op or call is out of range;
 *                          an array is outside its memory on a host device
 *   PHILOX_ERROR_OVERFLOW  a span's last element exceeds 2^64, or it has more
 *                          than 2^54
 *   PHILOX_ERROR_MEMORY    the list needs memory
 *   PHILOX_ERROR_STATE     the pass is not open
 *   PHILOX_ERROR_STALE     its region was destroyed
 *   PHILOX_ERROR_MISMATCH  its stream has begun or ended a capture since
 *   those of the device, and of memory on a host device: of several kernels
 *                          earlier ones may be on the stream
 * During capture: recorded, as kernel nodes. Pointers are those of replays.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_pass_quantize(
	const struct philox_pass *pass,
	const struct philox_quantize_desc *tensors, size_t n_tensors);

/*
 * Put the rounding of tensors from explicit states on a stream.
 *
 *   device     the device
 *   stream     the stream
 *   rngs       n_tensors states, by value or as device addresses, poisoned
 *              ones only as addresses (philox_rng_fill())
 *   tensors    n_tensors of them, of one size; op and call are not looked at
 *   n_tensors  how many, as for philox_pass_quantize()
 *
 * No seed is derived and no state advances.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors: those of philox_pass_quantize() but for passes, and
 *   PHILOX_ERROR_INVALID   a state's offset is not a multiple of 4
 * During capture: recorded, as kernel nodes.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_rng_quantize(
	struct philox_device *device, philox_stream stream,
	const struct philox_rng *rngs,
	const struct philox_quantize_desc *tensors, size_t n_tensors);

/*
 * Round a tensor in memory of the host, before returning.
 *
 *   state   its offset a multiple of 4, or poisoned
 *   tensor  its arrays are memory that the host can access
 *
 * The results are those of philox_rng_quantize() on any device. The calling
 * thread does it.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors: those of philox_rng_quantize() but for those of the device.
 * During capture: legal, and not recorded: it is done once, now.
 * Threads: any, at any time, on different memory.
 */
PHILOX_API enum philox_status philox_state_quantize(
	struct philox_state state, const struct philox_quantize_desc *tensor);

/*
 * Find how many bytes the scales of a tensor have.
 *
 *   tensor  its span, format, scaling, flags and tensor_rows; nothing else is
 *           looked at
 *   bytes   written; 0 without scaling
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors: those of philox_pass_quantize() for these fields; bytes is NULL.
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_quantize_scales_size(
	const struct philox_quantize_desc *tensor, uint64_t *bytes);

/*
 * Find the scale t of a tensor for NVFP4, on a stream:
 * philox_nvfp4_tensor_scale() of the largest magnitude, without NaNs.
 *
 *   device  the device
 *   stream  the stream
 *   dtype   f32, bf16 or f16
 *   in      the elements, aligned to their dtype
 *   count   how many; 0: the scale is 0
 *   scale   device memory for an f32, apart from `in`
 *
 * The scale of a tensor is the largest of those of its shards, to the bit:
 * ranks combine them by a maximum (of an all-reduce).
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   a pointer is NULL or misaligned; dtype is another;
 *                          an array is outside its memory on a host device
 *   PHILOX_ERROR_OVERFLOW  the size in bytes exceeds 2^64
 *   those of the device; then the scale may be 0
 * During capture: recorded, as a kernel node, on a GPU after a memset.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_tensor_scale(struct philox_device *device,
						  philox_stream stream,
						  enum philox_dtype dtype,
						  const void *in,
						  uint64_t count, float *scale);

#ifdef __cplusplus
}
#endif
#endif
