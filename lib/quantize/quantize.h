/*
 * lib/quantize/quantize.h - tensors rounded stochastically: checked, and run on
 * a CPU
 */
#ifndef LIB_QUANTIZE_QUANTIZE_H
#define LIB_QUANTIZE_QUANTIZE_H

#include <philox/quantize.h>
#include "lib/base/base.h"
#include "lib/device/contract.h"
#include "lib/device/kernels.h"

/* --- quantize.c: tensors: checked, and put on a stream -------------------- */

/* Those of one call, all checked before the first is put on a stream. */
struct quantize_work {
	size_t n; /* added so far */
	struct quantize_item *items;
};

/*
 * quantize_begin_work() makes room for n tensors, and quantize_end_work() gives
 * it back. ERROR_MEMORY.
 */
enum philox_status quantize_begin_work(struct quantize_work *work, size_t n);
void quantize_end_work(struct quantize_work *work);

/*
 * quantize_take() copies tensor i of n that a caller has; quantize_add() checks
 * it and adds it, unless it is empty. Errors are those of
 * philox_rng_quantize(); they name the tensor if there are several.
 */
enum philox_status quantize_take(const struct philox_quantize_desc *tensors,
				 size_t i, size_t n,
				 struct philox_quantize_desc *tensor);
enum philox_status quantize_add(struct quantize_work *work, size_t i, size_t n,
				const struct philox_quantize_desc *tensor,
				struct philox_rng rng);

/*
 * quantize_check_all() refuses what is written for one tensor and used for
 * another; counts may be shared. ERROR_INVALID, ERROR_MEMORY.
 */
enum philox_status quantize_check_all(const struct quantize_work *work);

/* quantize_put() puts what has been added on a stream. */
enum philox_status quantize_put(struct philox_device *device,
				philox_stream stream,
				const struct quantize_work *work);

/* --- host.c: tensors on the host ------------------------------------------ */

/* quantize_host_run() rounds a tensor, on the calling thread. */
void quantize_host_run(const struct quantize_item *item);

/*
 * quantize_host_plain() does it without vectors: the reference that everything
 * else is compared with.
 */
void quantize_host_plain(const struct quantize_item *item);

/* --- loops.h: the loops that round ---------------------------------------- */

#define QUANTIZE_LANES 64 /* loops do a multiple of it */

/*
 * The loops of one instruction set, in the order in which they are used.
 * `widen` makes numbers of inputs, and `part` fields of words. `largest` finds
 * the magnitude that a block's scale is made of, `divide` divides a block by
 * it, 16 numbers or 32, and `beyond` counts what is above a format's largest
 * number. `round` has the loops of each format, with 32, 16 and 8 bits:
 * quantize_fixed(). `pack` writes results.
 */
struct quantize_loops {
	void (*widen)(uint32_t dtype, const void *in, uint32_t n, float *x);
	void (*part)(uint32_t bits, const uint32_t *words, uint32_t skip,
		     uint32_t n, uint32_t *fields);
	float (*largest)(const float *x, uint32_t n);
	void (*divide)(float *x, uint32_t n, float scale);
	uint32_t (*beyond)(uint32_t format, const float *x, uint32_t n);
	void (*round[5][3])(uint32_t saturate, const float *x,
			    const uint32_t *fields, uint32_t n,
			    uint32_t *codes);
	void (*pack)(uint32_t format, const uint32_t *codes, uint32_t n,
		     void *out);
};

extern const struct quantize_loops quantize_loops_scalar, quantize_loops_avx2,
	quantize_loops_avx512;

#endif
