/*
 * philox/accept.h - drafts of another distribution, accepted by probabilities
 *
 * A draft model proposes some tokens, which the target model judges in one
 * pass (Leviathan, Kalman, Matias: "Fast Inference from Transformers via
 * Speculative Decoding", ICML 2023; the chain of drafts). What comes out has
 * the target's distribution, whatever the drafts are; good drafts only make it
 * more tokens at a time.
 *
 * These tokens are not those that philox_sample_rows() draws one by one, and a
 * filter may change which token is drawn: both have the distribution of the
 * target, but other random numbers. Where tokens must be the same with drafts
 * and without them, see "What repeats" in philox/rows.h instead.
 *
 * Entry i has drafts x(0), x(1), ... at its positions 0, 1, ..., and one more
 * position after the last. With the masses of philox/rows.h, after changes,
 * mask, temperature and filters, of token v at one position,
 *
 *   p(v), P  its mass among those that the target keeps; their sum
 *   q(v), Q  the same of the draft's distribution; where that is not given, 1
 *            for x and 0 for others, and 1: a point mass
 *
 * and at temperature 0 both are a point mass at the first token. A draft x is
 * accepted if
 *
 *   coin q(x) P < 2^64 p(x) Q
 *
 * which is so for p(x) / P >= q(x) / Q > 0, and never for p(x) = 0. Where it is
 * not accepted, the token of the position is drawn by inversion: the weights
 *
 *   weight(v) = max(0, p(v) Q - q(v) P)     W: their sum
 *
 * are added up in the order of v, and the first v whose sum, with its own
 * weight, is above rest W 2^-64 is drawn. If W is 0, which it is for a Q of 0,
 * p(v) is the weight. So it is at a position without a draft: that after the
 * last, and one whose draft is not the index of a column, as -1.
 *
 * The tokens of an entry end with the first position whose token is not its
 * draft, whether that was accepted or drawn; the last position has none. Where
 * the target keeps nothing - a NaN, no logit above -infinity, a parameter out
 * of range - the token is -1, and the last. Where the draft's distribution
 * keeps nothing, Q is 0.
 *
 * All is computed in integers, so it is the same on every device. `coin` and
 * `rest` have 64 bits, and each position its own: with s the state of the row,
 * as many steps on as the position says (struct philox_row_list), they are
 *
 *   coin = w1 2^32 + w0 of philox_draw4({fold(s.seed, PHILOX_FOLD_ACCEPT,
 *                                             s.offset / 4), 0}, 0)
 *   rest                   the same with PHILOX_FOLD_REST
 *
 * which are no words of the state itself: drafts that philox_sample_rows()
 * draws at these steps do not depend on them. The probability of each token is
 * that of its mass in the target within 2^-62 at each position, if the drafts
 * are drawn from q as it is here. Of these too, know:
 *
 *   - Drafts that are drawn by philox_sample_rows() follow q within 1e-4,
 *     relative, as that says; with several +inf logits it takes the first of
 *     these, while their masses are equal.
 *   - A draft of which q(x) is 0, but Q is not, is accepted if p(x) is not 0:
 *     logits that are not those which the draft was drawn from are not noticed.
 *   - A temperature below 2^-100 is 0.
 */
#ifndef PHILOX_ACCEPT_H
#define PHILOX_ACCEPT_H

#include <stddef.h>
#include <stdint.h>
#include <philox/rows.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What philox_rows_accept() reads and writes. Begin with PHILOX_INIT(). All
 * arrays are device memory, and read when the kernel runs: in a captured graph,
 * at each launch.
 *
 * The target has n_drafts + 1 positions for each entry of the list: what a
 * sample has one of per entry - a row of logits, a temperature, a mask, the
 * values of filters, biases, penalties - it has one of per position. Those of
 * entry i begin at i * (n_drafts + 1). The draft's have n_drafts for each
 * entry, and begin at i * n_drafts. Both have the same dtype, vocab and first.
 * Fields of results (tokens, keys, cuts, kept_counts, kept, logprobs,
 * raw_logprobs) are NULL, all of them, and flags 0. Penalties count the drafts
 * before a position as drawn, those that are the index of a column: their own
 * `drafts` are NULL.
 *
 * Drafts and tokens are vocabulary indices: first + column. Entry i gets
 * counts[i] tokens, 1 at least, from tokens[i * (n_drafts + 1)] on, a last one
 * of -1 included, and -1 in place of the rest of its n_drafts + 1. Without
 * drafts, if n_drafts is 0, `drafts` may be NULL.
 */
struct philox_accept_desc {
	size_t size; /* sizeof(this struct) */
	const struct philox_sample_desc *target; /* read during the call only */
	const struct philox_sample_desc *draft;  /* likewise; NULL: point mass */
	const int32_t *drafts; /* entry i begins at i * n_drafts */
	int32_t *tokens;       /* entry i begins at i * (n_drafts + 1) */
	uint32_t *counts;      /* one per entry */
	uint32_t n_drafts;     /* of each entry, 0 .. 1023 */
	uint32_t reserved;     /* 0 */
};

/*
 * Accept drafts for the entries of a list, or draw other tokens, from the rows
 * of a table.
 *
 *   rows    the table
 *   stream  the stream
 *   list    the rows, without steps, since positions are steps; NULL: all rows
 *   accept  distributions, drafts and output
 *
 * Nothing advances. A step of a server is this, then, with penalties,
 * philox_history_add() of the same tokens and counts:
 *
 *   philox_rows_accept(rows, stream, &slots, &accept);
 *   philox_rows_advance_by(rows, stream, &slots, 4, accept.counts);
 *
 * For an entry that takes no part nothing is written. One whose index is out of
 * range, or whose row holds poison, gets token -1 and count 1, and
 * philox_rows_check() reports it, the latter as used up; it reports such an
 * entry of philox_rows_advance_by(), too. A position past the end of its row
 * has token -1, and is not reported.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   the message names the field, or two arrays that
 *                          overlap; on a host device also an array outside its
 *                          memory (philox/device.h)
 *   PHILOX_ERROR_OVERFLOW  an array does not fit 2^64 bytes; or entries times
 *                          positions are more than 2^24
 *   those of a stream      (philox/rows.h)
 * During capture: recorded, as one kernel node.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_rows_accept(
	struct philox_rows *rows, philox_stream stream,
	const struct philox_row_list *list,
	const struct philox_accept_desc *accept);

#ifdef __cplusplus
}
#endif

#endif
