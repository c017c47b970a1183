/*
 * philox/subset.h - subsets by weight: draws without replacement
 *
 *   struct philox_subset_desc subset = PHILOX_INIT(struct philox_subset_desc);
 *
 *   subset.weights = weights;     device memory, as all arrays
 *   subset.dtype = PHILOX_DTYPE_F32;
 *   subset.items = 1000000;
 *   subset.wanted = 1000;
 *   subset.chosen = chosen;       1,000 indices, ascending
 *   philox_subset_scratch_size(&subset, &bytes);
 *   subset.scratch = ...          bytes of device memory
 *   philox_pass_subset(&pass, op, 0, &subset);
 *
 * Each item gets a key: the logarithm of its weight plus its Gumbel number. The
 * greatest key belongs to item i with a probability of weight i over the sum of
 * all, and so it is again among the items that are left: the items of the
 * greatest keys are a sample without replacement, and their order by falling
 * keys is the order in which they would be drawn one after another (J. I.
 * Yellott, The relationship between Luce's Choice Axiom, Thurstone's Theory of
 * Comparative Judgment, and the double exponential distribution, 1977). An item
 * of weight 0 is never chosen.
 *
 * Keys are compared as f32, so the odds of two items are those of their weights
 * within 2^-19 where keys are below 32; equal ones are ordered by index.
 *
 * Threads: see each call.
 */
#ifndef PHILOX_SUBSET_H
#define PHILOX_SUBSET_H

#include <stddef.h>
#include <stdint.h>
#include <philox/pass.h>
#include <philox/rows.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- keys ----------------------------------------------------------------- */

/*
 * Return the natural logarithm of a weight, within 1.08e-7 or an ulp of f32.
 *
 *   weight  0 gives -inf, +inf itself; one below 0, and a NaN, a NaN
 *
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_FN float philox_weight_ln(float weight)
{
	uint32_t bits = philox_f32_bits(weight);
	int k = 0;

	if (bits << 1 == 0)
		return philox_f32_from_bits(0xff800000u);
	if (bits > 0x7f800000u) /* below 0, or a NaN */
		return philox_f32_from_bits(0x7fffffffu);
	if (bits == 0x7f800000u)
		return weight;
	if (bits < 0x00800000u) { /* bits 2^-149, without denormals */
		bits = philox_f32_bits(PHILOX_CAST(float, bits));
		k = -149;
	}
	k += philox_ln_power_f32(bits);
	bits -= PHILOX_CAST(uint32_t, philox_ln_power_f32(bits)) << 23;
	return philox_ln_core(philox_subtract(philox_f32_from_bits(bits), 1.0f),
			      PHILOX_CAST(float, k));
}

/*
 * Return the key of an item by its Gumbel number.
 *
 *   item   its index, below 2^31
 *   logit  the logarithm of its weight
 *   noise  element `item` of a fill with Gumbel numbers in f32
 *
 * It is that of philox_subset_key(), but for poisoned states.
 *
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_FN uint64_t philox_subset_key_of(uint32_t item, float logit, float noise)
{
	return philox_sample_order(philox_multiply_add(logit, 1.0f, noise),
				   item);
}

/*
 * Return the key of an item: subsets have the items with the greatest keys.
 *
 *   state  of the draw
 *   item   its index, below 2^31
 *   logit  the logarithm of its weight
 *
 * It is philox_sample_order() of the sum, rounded once, of the logit and the
 * item's Gumbel number: the key that philox_sample_rows() gives a token at
 * temperature 1. 0, of a logit of -inf, is never chosen; UINT64_MAX is no key,
 * but says that the logit is a NaN or the state poisoned.
 *
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_FN uint64_t philox_subset_key(struct philox_state state, uint32_t item,
				     float logit)
{
	if (philox_is_poison(state))
		return 0xffffffffffffffffULL;
	return philox_subset_key_of(
		item, logit,
		philox_gumbel_of(state, item, philox_word_at(state, item)));
}

/* --- subsets -------------------------------------------------------------- */

/*
 * A subset that is to be drawn. Begin with PHILOX_INIT(). Arrays are device
 * memory, read and written when the work runs: in a captured graph, at each
 * launch. Those that are written must not overlap any other.
 */
struct philox_subset_desc {
	size_t size;         /* sizeof(this struct) */
	const void *weights; /* of the items, aligned to the dtype */
	uint32_t dtype;      /* enum philox_dtype: F32, BF16, F16 */
	uint32_t is_log;     /* 1: logarithms of weights; else 0 */
	uint32_t items;      /* 1 .. 2^31 - 1 */
	uint32_t wanted;     /* how many of them: 1 .. items */
	int32_t *chosen;     /* written: `wanted` indices */
	uint64_t *keys;      /* NULL, or written: their keys */
	uint32_t *count;     /* NULL, or written: how many there are */
	void *scratch;       /* philox_subset_scratch_size() bytes, aligned to
			  8; for one draw at a time */
};

/*
 * Find how many bytes of scratch memory a subset takes.
 *
 *   subset  its items; nothing else is looked at
 *   bytes   written: about 8 KiB, and 4 for each 4,096 items
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID  items are out of range; a pointer is NULL
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_subset_scratch_size(
	const struct philox_subset_desc *subset, uint64_t *bytes);

/*
 * Draw a subset by weight, without replacement, with an operator's numbers, on
 * the stream of an open pass.
 *
 *   pass    the pass, forward or backward
 *   op      the operator, by its place in the region
 *   call    which of the operator's calls
 *   subset  the weights, how many items are wanted, and where they go
 *
 * chosen[] gets the `wanted` items of the greatest keys, in ascending order of
 * their indices, and keys[i] the key of chosen[i]. If fewer items have a weight
 * above 0, all of those are chosen, and the rest is -1, with keys of 0. If a
 * weight is a NaN or below 0, or the state is poisoned, all are -1, the keys
 * UINT64_MAX, and the count is UINT32_MAX.
 *
 * A subset of `wanted` items includes the subset of fewer of the same state.
 * The results do not depend on the device.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed. After one of the
 * device, kernels may be on the stream.
 * Errors: the message names region and operator.
 *   PHILOX_ERROR_INVALID  op, call or a field is out of range, an array is
 *                         NULL, misaligned, overlaps another one or, on a host
 *                         device, is outside its memory
 *   those of philox_pass_fill() for passes, and those of the device
 * During capture: recorded, as nine kernel nodes.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_pass_subset(
	const struct philox_pass *pass, uint32_t op, uint32_t call,
	const struct philox_subset_desc *subset);

/*
 * Draw a subset by weight from an explicit state, as philox_pass_subset().
 *
 *   device  the device
 *   stream  the stream
 *   rng     the state by value (its offset a multiple of 4), or the device
 *           address of one, as for philox_rng_fill()
 *   subset  the weights, how many items are wanted, and where they go
 *
 * No seed is derived and no state advances.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed. After one of the
 * device, kernels may be on the stream.
 * Errors: those of philox_pass_subset() but for passes, and
 *   PHILOX_ERROR_INVALID  device is NULL; the offset is not a multiple of 4
 * During capture: recorded, as nine kernel nodes.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_rng_subset(
	struct philox_device *device, philox_stream stream,
	struct philox_rng rng, const struct philox_subset_desc *subset);

#ifdef __cplusplus
}
#endif
#endif
