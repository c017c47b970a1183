/*
 * philox/split.h - samples of a vocabulary that is split over ranks
 *
 * A rank that has some columns of the logits cannot filter by itself: what is
 * kept depends on all columns. Here the ranks sample together, in rounds. After
 * a round each rank has written some unsigned 64-bit numbers. Their
 * element-wise sums, or maxima, over all ranks take their place, and are what
 * the next round begins with: any library of collectives has that. No logits
 * leave a rank. How many rounds and numbers there are does not depend on
 * logits, so that all of it can be captured:
 *
 *   split.part = rank;           and what is the same on all ranks
 *   philox_split_plan(&split, n_entries, &info);
 *   philox_memory_alloc(device, info.work_bytes, &split.work);
 *
 *   ...    for each token, and split.round from 0 to info.n_rounds - 1:
 *   philox_rows_sample_round(rows, stream, &slots, &split);
 *   philox_split_plan(&split, n_entries, &info);
 *   add_up(info.sums, info.n_sums, stream);
 *   take_most(info.maxima, info.n_maxima, stream);
 *
 * where add_up() and take_most() are your allreduces, in place: ncclAllReduce()
 * of ncclUint64 with ncclSum and ncclMax, or MPI_Allreduce() of MPI_UINT64_T.
 *
 * The tokens, keys, cuts, counts of what is kept, and logprobs are then on each
 * rank. They are those that philox_sample_rows() gives on one rank for all
 * columns, bit for bit, for any number of parts and whichever columns they
 * have.
 *
 * In struct philox_sample_desc `logits`, `pitch`, `first` and `vocab` are those
 * of a rank's own columns; the parts are disjoint, and none is empty. A column
 * of no part is as if it did not exist. Addresses are a rank's own, but which
 * are NULL is the same on all ranks, and so are all other fields, lists,
 * states, parameters, biases, masks and histories. Masks and biases go by
 * vocabulary index, and a history has the whole vocabulary. `kept` is NULL,
 * since a list of what is kept is long; cuts say the same.
 *
 * Between the first round and the end of the last, a table is not used for
 * anything else, and arrays and parameters are not changed. Rows advance, and
 * tokens are noted, in the last round. Where a call fails, the other ranks wait
 * for its numbers: tell them, as in any program with collectives.
 */
#ifndef PHILOX_SPLIT_H
#define PHILOX_SPLIT_H

#include <stddef.h>
#include <stdint.h>
#include <philox/rows.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A round of a sample. Begin with PHILOX_INIT(). `work` is device memory of
 * this rank, which a sample has for itself from its first round until its last
 * is done; only the numbers that philox_split_plan() names are for others.
 */
struct philox_split_desc {
	size_t size;                             /* sizeof(this struct) */
	const struct philox_sample_desc *sample; /* read during a call only */
	void *work;       /* info.work_bytes, aligned to 8 */
	uint32_t vocab;   /* of all parts: 1 .. 2^31 - 1 */
	uint32_t n_parts; /* 1 .. 1024 */
	uint32_t part;    /* below n_parts: which this is */
	uint32_t round;   /* 0 for the first */
};

/* What a sample in rounds needs. Begin with PHILOX_INIT(). */
struct philox_split_info {
	size_t size;       /* sizeof(this struct), set by the caller */
	size_t work_bytes; /* of all rounds */
	uint64_t *sums;    /* in `work`: to be added up after the round */
	uint64_t n_sums;   /* 0: nothing is, as after the last */
	uint64_t *maxima;  /* in `work`: of which the maximum is taken */
	uint64_t n_maxima; /* 0: of nothing */
	uint32_t n_rounds; /* 3 .. 22 */
	uint32_t reserved; /* 0 */
};

/*
 * Say what a sample in rounds needs, and what a round gives to the others.
 *
 *   split   the sample and its round; with `work` NULL, so are the addresses
 *   count   entries of the list that the rounds are given, 0 .. 2^24
 *   info    written
 *
 * It depends on the count, on n_parts and `vocab`, and on the filters, their
 * order and the results that the sample has; all ranks find the same. A sample
 * has at most 65536 / n_parts first tokens (n_top).
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   the message names the field
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_split_plan(
	const struct philox_split_desc *split, uint32_t count,
	struct philox_split_info *info);

/*
 * Do one round of a sample for the entries of a list.
 *
 *   rows    the table
 *   stream  the stream
 *   list    the rows; NULL: all rows
 *   split   the sample, its round, and arrays
 *
 * The rounds 0 to info.n_rounds - 1 are done in this order, with the sums and
 * maxima of all parts between two of them, and none after the last. Results are
 * written in the last three rounds. What philox_rows_check() reports is found
 * in the last.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   the message names the field, or two arrays that
 *                          overlap; on a host device also an array outside its
 *                          memory (philox/device.h)
 *   PHILOX_ERROR_OVERFLOW  an array does not fit 2^64 bytes
 *   those of a stream      (philox/rows.h)
 * During capture: recorded, as one kernel node.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_rows_sample_round(
	struct philox_rows *rows, philox_stream stream,
	const struct philox_row_list *list,
	const struct philox_split_desc *split);

#ifdef __cplusplus
}
#endif

#endif
