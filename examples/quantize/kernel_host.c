/*
 * examples/quantize/kernel_host.c - the same on the host device, where loops
 * take the kernels' place; see examples/quantize/kernel.h
 */
#include "kernel.h"

static uint64_t blocks_of(const struct quantize *q)
{
	return q->rows * q->cols / BLOCK;
}

static void largest_loop(const void *args)
{
	const struct quantize *q = args;

	for (uint64_t k = 0; k < blocks_of(q); k++) {
		const float largest = largest_of(block_of(q, k));

		*q->largest = largest > *q->largest ? largest : *q->largest;
	}
}

static void round_loop(const void *args)
{
	const struct quantize *q = args;

	for (uint64_t k = 0; k < blocks_of(q); k++)
		store_rounded(q, k);
}

static void transform_loop(const void *args)
{
	const struct quantize *q = args;

	for (uint64_t k = 0; k < blocks_of(q); k++)
		store_transformed(q, k);
}

enum philox_status quantize_host(struct philox_device *device,
				 philox_stream stream, enum quantize_part part,
				 const struct quantize *args)
{
	static void (*const loops[])(const void *) = {
		[QUANTIZE_LARGEST] = largest_loop,
		[QUANTIZE_ROUND] = round_loop,
		[QUANTIZE_TRANSFORM] = transform_loop};

	return philox_stream_launch_host(device, stream, loops[part], args,
					 sizeof(*args));
}
