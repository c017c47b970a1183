/*
 * lib/change/change.h - biases and penalties, for host loop and kernel alike
 *
 * philox/penalties.h says what a logit becomes. Few tokens of a vocabulary have a
 * bias, or were seen; a bit tells which, and the others are as they are.
 */
#ifndef LIB_CHANGE_CHANGE_H
#define LIB_CHANGE_CHANGE_H

#include "lib/rows/elements.h"

/* What changes the logits of an entry. */
struct change {
	const uint32_t *seen; /* of its row; NULL: nothing was */
	const uint32_t *counts;
	const int32_t *drafts;
	const int32_t *ids; /* of biases, ascending */
	const float *biases;
	uint32_t n_drafts, n_biases;
	float repetition, frequency, presence;
};

PHILOX_FN float change_divide(float a, float b)
{
#ifdef __CUDA_ARCH__
	return __fdiv_rn(a, b);
#else
	return a / b;
#endif
}

/* change_is_asked() says whether a call changes logits. */
PHILOX_FN int change_is_asked(const struct sample_args *args)
{
	return args->change.n_biases || args->change.history.seen;
}

PHILOX_FN int change_is_finite(float x)
{
	return (philox_f32_bits(x) & 0x7fffffffu) < 0x7f800000u;
}

/*
 * change_begin() looks up what changes the logits of an entry, whose row or
 * state has an index; 0 if a penalty is out of range.
 */
PHILOX_FN int change_begin(const struct sample_args *args, uint64_t entry,
			   uint64_t index, struct change *of)
{
	const struct sample_change *from = &args->change;

	of->seen = from->history.seen;
	of->counts = from->history.counts;
	if (of->seen) {
		of->seen += index * from->history.seen_pitch;
		of->counts += index * from->history.counts_pitch;
	}
	of->n_drafts = from->n_drafts;
	of->n_biases = from->n_biases;
	of->drafts = from->drafts;
	if (of->n_drafts)
		of->drafts += entry * from->n_drafts;
	of->ids = from->ids;
	of->biases = from->biases;
	if (of->n_biases) {
		of->ids += entry * from->n_biases;
		of->biases += entry * from->n_biases;
	}
	of->repetition =
		from->repetitions ? from->repetitions[entry] : from->repetition;
	of->frequency =
		from->frequencies ? from->frequencies[entry] : from->frequency;
	of->presence =
		from->presences ? from->presences[entry] : from->presence;
	return change_is_finite(of->repetition) && of->repetition >= 0.0f &&
	       change_is_finite(of->frequency) &&
	       change_is_finite(of->presence);
}

/* change_place() returns the first place of those ids that are v or above. */
PHILOX_FN uint32_t change_place(const struct change *of, uint32_t v)
{
	uint32_t low = 0, high = of->n_biases;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		/* one that is not used, negative, is above all */
		if ((uint32_t)of->ids[middle] < v)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* change_logit() returns what the logit of token v becomes. */
PHILOX_FN float change_logit(const struct change *of, uint32_t v, float logit)
{
	const uint32_t place = change_place(of, v);
	uint32_t count = 0;
	int seen = 0;

	if (place < of->n_biases && (uint32_t)of->ids[place] == v)
		logit = philox_subtract(logit, philox_minus(of->biases[place]));
	if (!of->seen)
		return logit;
	if (of->seen[v / 32] >> v % 32 & 1) {
		seen = 1;
		count = of->counts[v];
	}
	for (uint32_t i = 0; i < of->n_drafts; i++)
		count += (uint32_t)of->drafts[i] == v;
	if ((seen || count) && of->repetition != 0.0f)
		logit = logit > 0.0f ? change_divide(logit, of->repetition)
				     : philox_multiply(logit, of->repetition);
	if (!count)
		return logit;
	logit = philox_subtract(
		logit,
		philox_multiply(of->frequency, PHILOX_CAST(float, count)));
	return philox_subtract(logit, of->presence);
}

/* --- what was drawn ------------------------------------------------------- */

#ifdef __CUDA_ARCH__
#define CHANGE_OR(to, bits) atomicOr(to, bits)
#define CHANGE_INCREASE(to) atomicAdd(to, 1u)
#else
#define CHANGE_OR(to, bits) (*(to) |= (bits))
#define CHANGE_INCREASE(to) ((*(to))++)
#endif

/* change_note() notes that a row has seen a token, and, if `drawn`, had it. */
PHILOX_FN void change_note(const struct sample_history *history, uint64_t row,
			   int32_t token, int drawn)
{
	const uint32_t v = (uint32_t)token;

	if (token < 0 || v >= history->vocab)
		return;
	CHANGE_OR(&history->seen[row * history->seen_pitch + v / 32],
		  (uint32_t)1 << v % 32);
	if (drawn)
		CHANGE_INCREASE(
			&history->counts[row * history->counts_pitch + v]);
}

/* change_note_drawn() notes the token of an entry that is drawn. */
PHILOX_FN void change_note_drawn(const struct sample_args *args, uint64_t entry)
{
	const uint64_t row = rows_of_entry(&args->list, entry);

	if (row < args->table.count)
		change_note(&args->change.history, row, args->tokens[entry], 1);
}

/* change_note_count() is how many tokens an entry of a history's has. */
PHILOX_FN uint32_t change_note_count(const struct sample_note_args *args,
				     uint64_t entry)
{
	if (args->counts && args->counts[entry] < args->n)
		return args->counts[entry];
	return args->n;
}

/* change_note_given() notes token k of an entry. */
PHILOX_FN void change_note_given(const struct sample_note_args *args,
				 uint64_t entry, uint32_t k)
{
	const uint64_t row = rows_of_entry(&args->list, entry);

	if (row < args->rows)
		change_note(&args->history, row,
			    args->tokens[entry * args->pitch + k],
			    (int)args->drawn);
}

#endif
