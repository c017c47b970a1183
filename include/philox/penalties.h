/*
 * philox/penalties.h - biases, and penalties for tokens that rows have had
 *
 * A sample (philox/rows.h) may change the logits of some tokens before it does
 * anything else with them: by a bias, and by penalties for tokens that the
 * entry's row has seen. Of a token that is allowed, a logit l becomes, in this
 * order and rounded to f32 each time,
 *
 *   l + bias                  where the token has one
 *   l / r, or l r if l <= 0   where the row has seen it; prompts count
 *   l - f count               where it has drawn it, count times; the product
 *                             is rounded, too
 *   l - p                     where it has drawn it
 *
 * with the repetition penalty r (Keskar et al.: "CTRL", 2019; as transformers
 * and vLLM have it), the frequency penalty f and the presence penalty p (as
 * OpenAI's API has them: prompts do not count). What philox/rows.h says of
 * logits is said of these: scores, the order of tokens, filters, and logprobs
 * but for raw ones, which are of the logits as they were. A NaN that comes out,
 * as of +inf - inf, is a NaN among the logits.
 *
 * Which tokens a row has had is in device memory of the caller:
 *
 *   struct philox_history history = {
 *           .size = sizeof(history), .counts = counts, .seen = seen,
 *           .counts_pitch = vocab, .seen_pitch = (vocab + 31) / 32,
 *           .rows = 4096, .vocab = vocab};
 *   struct philox_penalty_desc penalties = {
 *           .size = sizeof(penalties), .history = &history,
 *           .repetition = 1.1, .presences = of_entry};
 *
 *   ...                       a request begins: zeros, then its prompt
 *   philox_history_add(device, stream, &history, &slot, &prompt);
 *   sample.penalties = &penalties;
 *   philox_sample_rows(rows, stream, &slots, &sample);   each step, or captured
 *
 * A sample from a table that advances its rows, and writes tokens, notes the
 * token of each entry when all are drawn: so all entries see the history as it
 * was before the call, also those of one row. Other samples note nothing:
 * drafts that are kept, and tokens that ranks have found, are noted by
 * philox_history_add(). So ranks that share a vocabulary and sample by keys
 * write no tokens: what one of them has found may not be what is drawn. In
 * rounds (philox/split.h) the last notes the token.
 *
 * Calls that use one history are in the order of their stream; on several
 * streams they must be ordered by events (philox/device.h).
 */
#ifndef PHILOX_PENALTIES_H
#define PHILOX_PENALTIES_H

#include <stddef.h>
#include <stdint.h>
#include <philox/rows.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Which tokens rows have had, by vocabulary index, in device memory. Begin with
 * PHILOX_INIT(). Row r is that of a table, or state or slot r of a sample
 * without one.
 *
 * Bit v % 32 of word v / 32 of a row's `seen` is 1 if the row has seen token v,
 * and then its counts[v] is how often the token was drawn; the count of another
 * token is not read. Both are zeros for a row that begins.
 */
struct philox_history {
	size_t size;           /* sizeof(this struct) */
	uint32_t *counts;      /* row r begins at r * counts_pitch */
	uint64_t counts_pitch; /* >= vocab */
	uint32_t *seen;        /* row r begins at word r * seen_pitch */
	uint64_t seen_pitch;   /* >= (vocab + 31) / 32 */
	uint32_t rows;         /* 1 .. 2^24; >= those of the table or slots */
	uint32_t vocab;        /* 1 .. 2^31 - 1; at least first + vocab of it */
};

/*
 * Penalties of a sample. Begin with PHILOX_INIT(). A value is that of the field
 * for all entries, or of its array, in device memory and one per entry, where
 * that is not NULL. All arrays, and the history, are read when the kernel runs:
 * in a captured graph, at each launch.
 *
 * Repetition is finite and not negative; 0 changes nothing, as 1 does. The
 * others are finite. A value in an array that is not gives the entry token -1.
 *
 * The drafts of an entry count as drawn before it: entry i has those from i *
 * n_drafts on, and what is negative is none. Position j of a draft has the j
 * tokens before it there.
 */
struct philox_penalty_desc {
	size_t size;                          /* sizeof(this struct) */
	const struct philox_history *history; /* read during the call only */
	double repetition;                    /* r, rounded to f32 */
	const float *repetitions;
	double frequency; /* f, rounded to f32 */
	const float *frequencies;
	double presence; /* p, rounded to f32 */
	const float *presences;
	const int32_t *drafts; /* device memory; NULL: none */
	uint32_t n_drafts;     /* of each entry; 0 without `drafts` */
	uint32_t reserved;     /* 0 */
};

/*
 * Biases of a sample. Begin with PHILOX_INIT(). Entry i has the tokens ids[i *
 * count], ids[i * count + 1] and so on: vocabulary indices, ascending and each
 * once; a bias for each is in `biases`. Ids that are not used are negative, and
 * come last; those of columns that the sample does not have are ignored. In
 * another order it is not said which of them count. Both arrays are device
 * memory, and read when the kernel runs.
 */
struct philox_bias_desc {
	size_t size; /* sizeof(this struct) */
	const int32_t *ids;
	const float *biases;
	uint32_t count;    /* of each entry, at least 1 */
	uint32_t reserved; /* 0 */
};

/*
 * Tokens for a history. Begin with PHILOX_INIT(). Entry i has tokens[i *
 * pitch], tokens[i * pitch + 1] and so on: `count` of them, or counts[i] where
 * that is less. Negative tokens, and those that are not below the history's
 * vocab, are none.
 */
struct philox_token_list {
	size_t size;            /* sizeof(this struct) */
	const int32_t *tokens;  /* device memory */
	uint64_t pitch;         /* from entry to entry, >= count */
	const uint32_t *counts; /* device memory, one per entry; or NULL */
	uint32_t count;         /* of each entry, at most */
	uint32_t prompt;        /* 1: seen, but not drawn; 0: drawn */
};

/*
 * Note tokens that rows have had.
 *
 *   device   the device of the history's memory
 *   stream   the stream
 *   history  where they are noted
 *   list     the rows, several times each if you like; its steps are ignored;
 *            NULL: all rows of the history
 *   tokens   of each entry
 *
 * A token that is noted twice, in one entry or in two of a row, counts twice.
 * An entry whose index is not below history->rows is left out.
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
PHILOX_API enum philox_status philox_history_add(
	struct philox_device *device, philox_stream stream,
	const struct philox_history *history,
	const struct philox_row_list *list,
	const struct philox_token_list *tokens);

#ifdef __cplusplus
}
#endif

#endif
