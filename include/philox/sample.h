/*
 * philox/sample.h - tokens from logits, one independent state per row
 *
 * A row of logits is sampled by the Gumbel-max rule: the token is the index v
 * of the highest score
 *
 *   score(v) = fma(logit(v), 1 / temperature, gumbel(w(v)))
 *
 * where the temperature is rounded to f32, 1 / temperature is again rounded to
 * f32, the sum is rounded once, and w(v) is the word of element v of a draw
 * from the row's state: word v % 4 of subsequence v / 4 (philox/state.h). With
 * u = (w + 1/2) 2^-32, gumbel(w) is -ln(-ln(1 - u)) in f32 (philox/values.h).
 * Token v is then drawn with probability exp(logit(v) / temperature) divided by
 * the sum of these over all tokens (Gumbel 1954; Maddison, Tarlow, Minka: "A*
 * Sampling", NIPS 2014). Gumbel numbers are between -3.14 and 22.9, so a token
 * whose logit / temperature is 27 below the highest is never drawn.
 *
 * The token depends only on the state and the logits of its row: not on the
 * row's place in the batch, the batch, the device, the launch shape, or on how
 * the vocabulary is split over ranks. No softmax is computed, nothing is
 * sorted, and only the logits are read.
 *
 *   temperature 0          greedy: score(v) = logit(v); so is one below 2^-100
 *   equal scores           the lowest index
 *   +inf logits            the lowest index of these
 *   -inf logits            never drawn; all of them -inf: token -1
 *   any NaN in the row     token -1
 *   a score beyond f32     an infinity, as if the logit were; none while the
 *                          logits are below 2^27
 *   a device temperature   that is negative, infinite or NaN: token -1; -0 is 0
 *   a row used up          (philox/rows.h), or poison: token -1
 *
 * Entries of one row have the same noise, in one call or in several, until the
 * row advances: four draft positions of a request need the steps of a list, or
 * positions of their own (philox_sample_seeds()). See "What repeats" in
 * philox/rows.h, with an example of decoding with drafts.
 *
 * If a vocabulary is split over ranks, each rank samples its columns with
 * `first`, their place in the vocabulary, into `keys` instead of `tokens`; the
 * maximum of the ranks' keys, as unsigned 64-bit numbers, is the key of the
 * whole, and philox_sample_token() gives its token. All ranks need the same
 * states.
 *
 * Thread rule: every function here may be called from any thread, at the same
 * time as any other, unless its comment says otherwise.
 */
#ifndef PHILOX_SAMPLE_H
#define PHILOX_SAMPLE_H

#include <stddef.h>
#include <stdint.h>
#include <philox/rows.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * struct philox_sample describes logits and the output. All arrays are device
 * memory and have as many entries as the list, or as `n` says. Tokens and keys
 * that overlap any other array, each other or the table are refused by name:
 * blocks may still read the logits of one entry when the token of another is
 * written.
 */
struct philox_sample {
	size_t size;               /* sizeof(this struct) */
	const void *logits;        /* entry i begins at element i * pitch */
	enum philox_dtype dtype;   /* of the logits: F32, BF16, F16 */
	uint32_t vocab;            /* columns, 1 .. 2^31 - 1 */
	uint32_t first;            /* vocabulary index of column 0 */
	uint64_t pitch;            /* elements from entry to entry, >= vocab */
	double temperature;        /* >= 0, for all entries; ignored if */
	const float *temperatures; /* this is not NULL: one per entry */
	int32_t *tokens;           /* NULL: not wanted */
	uint64_t *keys;            /* NULL: not wanted; one is needed */
	uint32_t flags;            /* enum philox_rows_flags */
	uint32_t reserved;         /* 0 */
};

/*
 * philox_sample_rows() samples one token for each entry of a list, drawing from
 * the rows of a table (philox/rows.h) and advancing each by 4, whatever its
 * temperature, or not at all with PHILOX_ROWS_KEEP, which a list with steps
 * needs. `list` may be NULL for all rows. For an entry that takes no part
 * nothing is written; one whose index is out of range, or whose step is past
 * the end of its row, gets token -1, and philox_rows_check() reports it.
 * Recorded during capture, as one kernel node. Errors: PHILOX_ERROR_INVALID
 * (names the field, or two arrays that overlap; on a host device also an array
 * outside its memory, philox/device.h), PHILOX_ERROR_OVERFLOW (the logits do
 * not fit 2^64 bytes), PHILOX_ERROR_CAPTURE_INVALIDATED, PHILOX_ERROR_MEMORY,
 * those of the device.
 */
PHILOX_API enum philox_status philox_sample_rows(
	struct philox_rows *rows, philox_stream stream,
	const struct philox_row_list *list, const struct philox_sample *sample);

/*
 * philox_sample_states() does the same with states[i], in device memory, for
 * each entry i below n, 0 .. 2^24, and advances nothing: for states that are
 * kept elsewhere, cells of a captured pass for example. `flags` must be 0.
 * Errors: as philox_sample_rows().
 */
PHILOX_API enum philox_status philox_sample_states(
	struct philox_device *device, philox_stream stream,
	const struct philox_state *states, uint32_t n,
	const struct philox_sample *sample);

/*
 * struct philox_seeds is what a server without a table has in device memory for
 * each of its slots: a seed, and how many tokens the slot has. Slot r is a row
 * whose state is {seeds[r], 4 x positions[r]}, that of a table's row which was
 * set to {seeds[r], 0} and has been drawn from positions[r] times. Begin with
 * PHILOX_INIT().
 */
struct philox_seeds {
	size_t size;               /* sizeof(this struct) */
	const uint64_t *seeds;     /* device array of `count` */
	const uint32_t *positions; /* device array of `count` */
	uint32_t count;            /* slots, 0 .. 2^24 */
	uint32_t reserved;         /* 0 */
};

/*
 * philox_sample_seeds() samples one token for each entry of a list from the
 * seed and position of its slot alone, as philox_sample_rows() does for rows:
 * `list` may be NULL for all slots, may name a slot several times, and may have
 * steps, which are added to positions. Nothing advances, since the positions
 * are the caller's: the same call gives the same tokens until they change, and
 * `flags` must be 0. An entry whose index is not below `count` gets token -1.
 * The arrays are read when the kernel runs: in a captured graph, at each
 * launch. Recorded as one kernel node. Errors: as philox_sample_rows().
 */
PHILOX_API enum philox_status philox_sample_seeds(
	struct philox_device *device, philox_stream stream,
	const struct philox_seeds *slots, const struct philox_row_list *list,
	const struct philox_sample *sample);

/*
 * Keys are ordered as the rule above orders columns: by score, then by lowest
 * index. 0 is the key of a row of -inf only, UINT64_MAX that of a row that has
 * no token for another reason. philox_sample_token() returns the token of a
 * key.
 */
PHILOX_FN int32_t philox_sample_token(uint64_t key)
{
	if (key == 0 || key == 0xffffffffffffffffULL)
		return -1;
	return PHILOX_CAST(int32_t, 0xffffffffu - PHILOX_CAST(uint32_t, key));
}

#ifdef __cplusplus
}
#endif
#endif
