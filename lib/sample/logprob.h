/*
 * lib/sample/logprob.h - logprobs of an entry, for host loop and kernel alike
 *
 * philox/rows.h says what they are. Those of a sample are made of what is kept,
 * those of raw logits of all columns above -infinity: in both, of the tokens
 * from a cut on.
 */
#ifndef LIB_SAMPLE_LOGPROB_H
#define LIB_SAMPLE_LOGPROB_H

#include "lib/sample/filter.h"

#define LOGPROB_TOP_MAX 1024

/* The cut of what is not filtered: all above -infinity. */
#define LOGPROB_ALL ((uint64_t)FILTER_LOWEST << 32)

/* What the logprobs of an entry are made of. */
struct logprob {
	struct filter_row row;
	uint64_t cut;
	double ln; /* of the total */
};

/* --- values --------------------------------------------------------------- */

/* logprob_ln() returns the logarithm of a total of 2^56 or more. */
PHILOX_FN double logprob_ln(struct filter_sum total)
{
	uint64_t low = total.low, high = total.high, power = 1023 + 52 - 56;

	for (; high || low >> 53; power++) {
		low = low >> 1 | high << 63;
		high >>= 1;
	}
	/* low 2^(power - 1075), of 53 digits */
	return philox_ln_f64(philox_f64_from_bits(
		power << 52 | (low & (((uint64_t)1 << 52) - 1))));
}

PHILOX_FN float logprob_none(void)
{
	return philox_f32_from_bits(0x7fc00000u);
}

PHILOX_FN float logprob_lowest(void)
{
	return philox_f32_from_bits(0xff800000u);
}

/* logprob_of() returns the logprob of the token with a key. */
PHILOX_FN float logprob_of(const struct logprob *of, uint64_t key)
{
	if (key < of->cut)
		return logprob_lowest();
	return philox_f32_of(filter_t(&of->row, filter_logit(key)) - of->ln);
}

/* --- what is written ------------------------------------------------------ */

/*
 * Those that follow write a part each: what thread `from` of `by` writes.
 */

/* logprob_end_none() ends an entry that has no logprobs. */
PHILOX_FN void logprob_end_none(const struct sample_logprobs *to,
				uint64_t entry, uint32_t from, uint32_t by)
{
	if (to->drawn && from == 0)
		to->drawn[entry] = logprob_none();
	for (uint32_t i = from; i < to->n_ids; i += by)
		to->of_ids[entry * to->n_ids + i] = logprob_none();
	for (uint32_t i = from; i < to->n_top; i += by) {
		to->top[entry * to->n_top + i] = -1;
		to->of_top[entry * to->n_top + i] = logprob_none();
	}
}

/*
 * logprob_end_top() writes the n tokens that are listed, in their order. They are
 * not more than n_top, unless somebody writes logits meanwhile.
 */
PHILOX_FN void logprob_end_top(const struct sample_logprobs *to, uint64_t entry,
			       const struct logprob *of, const uint64_t *keys,
			       uint32_t n, uint32_t from, uint32_t by)
{
	int32_t *top = to->top + entry * to->n_top;
	float *of_top = to->of_top + entry * to->n_top;

	n = n < to->n_top ? n : to->n_top;
	for (uint32_t i = from; i < to->n_top; i += by) {
		uint32_t rank = 0;

		for (uint32_t k = 0; i < n && k < n; k++)
			rank += keys[k] > keys[i];
		rank = i < n ? rank : i;
		top[rank] = i < n ? philox_sample_token(keys[i]) : -1;
		of_top[rank] =
			i < n ? logprob_of(of, keys[i]) : logprob_lowest();
	}
}

/* --- searches ------------------------------------------------------------- */

/* logprob_begin_top() begins a search for the last of the first n. */
PHILOX_FN void logprob_begin_top(uint64_t cut, uint32_t n,
				 struct filter *filter, struct filter_search *s)
{
	filter->next = FILTER_BY_NOTHING;
	filter->cut = cut;
	filter_search_begin(s, cut);
	s->count = n;
}

/* --- what is wanted ------------------------------------------------------- */

/* logprob_are_wanted() says whether a call asks for logprobs. */
PHILOX_FN int logprob_are_wanted(const struct sample_logprobs *to)
{
	return to->drawn || to->n_ids || to->n_top;
}

/* logprob_needs_cut() says whether a greedy entry needs its cut. */
PHILOX_FN int logprob_needs_cut(const struct sample_args *args)
{
	return filter_is_asked(&args->filters) ||
	       logprob_are_wanted(&args->logprobs);
}

#endif
